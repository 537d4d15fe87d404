"""Colours of figures, and where they are drawn."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine


class Theme(NamedTuple):
    """Colours of a figure, as the pages have them in light and dark mode.

    Attributes
    ----------
    ink, quiet, edge, line, background : str
        Of text, what is less important, axes, grids and the ground.
    shares : tuple of str
        From 0 to 100 %.

    Examples
    --------
    >>> LIGHT.style["figure.facecolor"], DARK.style["figure.facecolor"]
    ('#ffffff', '#1a1e24')
    """

    ink: str
    quiet: str
    edge: str
    line: str
    background: str
    shares: tuple[str, ...]

    @property
    def style(self) -> dict[Any, Any]:
        """Settings of matplotlib."""
        return {
            "font.family": "DejaVu Sans",
            "font.size": 9,
            "text.color": self.ink,
            "figure.facecolor": self.background,
            "axes.facecolor": self.background,
            "axes.labelcolor": self.ink,
            "axes.edgecolor": self.edge,
            "axes.titlesize": 10,
            "axes.titleweight": "bold",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "xtick.color": self.quiet,
            "ytick.color": self.quiet,
            "grid.color": self.line,
            "legend.frameon": False,
        }


LIGHT = Theme("#1b1f24", "#59626e", "#9aa5b1", "#dde1e6", "#ffffff", ("#f7fbff", "#6baed6", "#08306b"))
DARK = Theme("#e8ebef", "#9aa5b1", "#59626e", "#2d343d", "#1a1e24", ("#1a1e24", "#0b62a8", "#9fd3f8"))


def theme(dark: bool = False) -> AbstractContextManager[None]:
    """Use the colours of the pages for all figures that are drawn in a block.

    Parameters
    ----------
    dark : bool
        Those of dark mode.

    Returns
    -------
    context manager
        For ``with``.

    Examples
    --------
    >>> with theme(dark=True):
    ...     matplotlib.rcParams["figure.facecolor"]
    '#1a1e24'
    """
    return matplotlib.rc_context((DARK if dark else LIGHT).style)


def panels(rows: int, cols: int, width: float, height: float) -> tuple[Figure, np.ndarray]:
    """Make a figure with panels, for programs that write it to a file.

    Parameters
    ----------
    rows, cols : int
        Panels.
    width, height : float
        Of the figure, in inches.

    Returns
    -------
    figure : Figure
        The figure, which pyplot does not know of.
    axes : ndarray (rows, cols)
        Axes of the panels.

    Examples
    --------
    >>> figure, axes = panels(2, 3, 6, 4)
    >>> axes.shape
    (2, 3)
    """
    figure = Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(w_pad=0.05, h_pad=0.07))
    return figure, figure.subplots(rows, cols, squeeze=False)


def axes_of(ax: Any) -> Any:
    """Return the axes to draw into."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(layout="constrained")[1]


def ink() -> str:
    """Return the colour of the text of the figure that is being drawn."""
    return matplotlib.rcParams["text.color"]


def quiet() -> str:
    """Return the colour of what is less important in the figure that is being drawn."""
    return matplotlib.rcParams["xtick.color"]


def colours() -> Theme:
    """Return the theme that suits the ground of the figure that is being drawn."""
    ground = matplotlib.rcParams["axes.facecolor"]
    return DARK if sum(to_rgb(ground)) < 1.5 else LIGHT
