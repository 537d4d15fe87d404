"""Confusion matrices and curves of convergence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.ticker import PercentFormatter

from llise.labels import LETTERS
from llise.output.words import COLOURS
from llise.plot.style import axes_of, colours, quiet


def confusion_matrix(
    matrix: np.ndarray, labels: Sequence[str] = tuple(LETTERS.values()), *, right: float | None = None, ax: Any = None
) -> Any:
    """Draw a confusion matrix as shares of each true label, in per cent.

    Parameters
    ----------
    matrix : array (n, n)
        Counts or shares: true labels in rows, recognised ones in columns.
    labels : sequence of str
        Names of rows and columns; the letters of the paper if left out.
    right : float, optional
        Share of all that is right, written above.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        Where it was drawn; :func:`share_bar` adds the scale of the colours.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = confusion_matrix([[3, 1], [0, 2]], ["a", "b"], ax=Figure().subplots())
    >>> [text.get_text() for text in axes.texts]
    ['75', '25', '100']
    """
    counts = np.asarray(matrix, dtype=float)
    if counts.shape != (len(labels), len(labels)):
        raise ValueError(f"the matrix has shape {counts.shape}; expected {len(labels)} x {len(labels)}, as labels has")
    total = counts.sum(axis=1, keepdims=True)
    shares = counts / np.where(total > 0, total, 1)
    axes, chosen = axes_of(ax), colours()
    shades = LinearSegmentedColormap.from_list("shares", chosen.shares)
    axes.imshow(shares, cmap=shades, vmin=0, vmax=1)
    if right is not None:
        axes.text(0.5, 1.03, f"{right:.1%} right", transform=axes.transAxes, ha="center", fontsize=8, color=quiet())
    axes.set_xticks(range(len(labels)), labels, fontsize=7.5)
    axes.set_yticks(range(len(labels)), labels, fontsize=7.5)
    axes.tick_params(length=0)
    for i, j in np.argwhere(shares >= 0.005):
        shade = chosen.background if shares[i, j] > 0.65 else chosen.ink
        axes.text(j, i, f"{100 * shares[i, j]:.0f}", ha="center", va="center", fontsize=6.5, color=shade)
    axes.spines[:].set_visible(False)
    return axes


def share_bar(figure: Any, axes: Any, unit: str) -> None:
    """Add the scale of the colours of confusion matrices beside them.

    Parameters
    ----------
    figure : Figure
        The figure.
    axes : Axes or array of Axes
        The panels, each with a :func:`confusion_matrix` or switched off.
    unit : str
        What the shares are of.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> figure = Figure()
    >>> share_bar(figure, confusion_matrix(np.eye(2), "ab", ax=figure.subplots()), "share of the images")
    >>> figure.axes[1].get_ylabel()
    'share of the images'
    """
    drawn = next(panel.images[0] for panel in np.ravel(axes) if panel.images)
    bar = figure.colorbar(drawn, ax=axes, shrink=0.5, aspect=30, pad=0.01)
    bar.set_label(unit)
    bar.ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    bar.outline.set_visible(False)


def convergence(
    curves: Mapping[str, Sequence[Any]],
    *,
    colors: Mapping[str, str] | None = None,
    dashes: Mapping[str, str] | None = None,
    marked: float | None = None,
    ax: Any = None,
) -> Any:
    """Draw how a measure goes with the iterations, over a logarithmic axis.

    Parameters
    ----------
    curves : mapping of str to (iterations, values)
        By name. The values are one for each iteration, or (low, middle, high), of which the first and last bound a
        band. A curve of a single iteration is drawn as a horizontal line: a solver without iterations.
    colors, dashes : mapping of str to str, optional
        Colour and line style of each curve.
    marked : float, optional
        An iteration that is marked by a vertical line.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        Where it was drawn; ``ax.legend()`` adds the names.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = convergence({"ADMM": ([1, 10, 100], [3.0, 2.0, 1.5]), "exact": ([1], [1.0])}, ax=Figure().subplots())
    >>> [line.get_label() for line in axes.lines], axes.get_xscale()
    (['ADMM', 'exact'], 'log')
    """
    axes = axes_of(ax)
    for number, (name, (iterations, values)) in enumerate(curves.items()):
        colour = (colors or {}).get(name, COLOURS[(4, 5, 1, 0, 6, 2)[number % 6]])
        array = np.asarray(values, dtype=float)
        low, middle, high = array if array.ndim == 2 else (None, array, None)
        if len(iterations) == 1:
            axes.axhline(middle[0], color=colour, linewidth=1.8, label=name)
            continue
        if low is not None:
            axes.fill_between(iterations, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.plot(iterations, middle, (dashes or {}).get(name, "-"), color=colour, linewidth=1.8, label=name)
    if marked is not None:
        axes.axvline(marked, color=quiet(), linewidth=1, linestyle=":")
    axes.grid(True, linewidth=0.6)
    axes.set_xscale("log")
    axes.set_xlabel("iteration")
    return axes
