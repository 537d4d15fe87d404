"""Images, maps of whole images, and maps of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.lines import Line2D
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from PIL import Image

from llise.diagnosis.result import BLOCK_LABELS, Diagnosis
from llise.labels import LABELS
from llise.output.class_colours import class_colours, in_order
from llise.output.label_words import COLOURS, NAMES, label_colours, label_name
from llise.output.thumbnails import eight_bits
from llise.plot.style import axes_of, ink, quiet

MARKERS = ("*", "s", "o", "^", "D", "X", "P")
"""Shapes in the order of LABELS, for readers who do not see the colours."""

PICTURE_SIDE = 192
"""Longest side of an image in a figure, in pixels."""

THUMBNAIL_SIDE = 34
"""Longest side of a thumbnail in a map, in points."""

MOST_IN_LEGEND = 40
"""Classes that a legend lists; the others are counted."""


def picture(image: np.ndarray, title: str = "", below: str = "", *, ax: Any = None) -> Any:
    """Draw an image, reduced for a figure.

    Parameters
    ----------
    image : ndarray of uint8, shape (h, w)
        Grey values.
    title, below : str
        Words above and below it.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        Where it was drawn.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = picture(np.zeros((8, 8), np.uint8), "black", ax=Figure().subplots())
    >>> axes.get_title()
    'black'
    """
    axes = axes_of(ax)
    axes.set_axis_off()
    axes.imshow(_reduced(image, PICTURE_SIDE), cmap="gray", vmin=0, vmax=255, interpolation="nearest")
    axes.set_title(title, fontsize=8.5)
    axes.text(0.5, -0.04, below, transform=axes.transAxes, ha="center", va="top", fontsize=7.5, color=quiet())
    return axes


def image_map(
    places: np.ndarray,
    labels: Sequence[str] | None = None,
    *,
    values: Sequence[float] | None = None,
    images: np.ndarray | None = None,
    thumbnails: int = 24,
    size: float = 30,
    background: np.ndarray | None = None,
    ax: Any = None,
) -> Any:
    """Draw a map of whole images, such as ``learner.image_map()``, by class or by a value, with thumbnails.

    Parameters
    ----------
    places : array (n, 2)
        Positions.
    labels : sequence, optional
        Class of each image: colours and shapes.  Kinds of distortion (:data:`llise.LABELS`) have their own, for which
        :func:`kind_legend` adds a legend; any other classes get a legend beside the map.
    values : sequence of float, optional
        A value of each image, such as its error: colours from dark to light. Not together with `labels`.
    images : ndarray of uint8, shape (n, h, w), optional
        Thumbnails of some of them are shown above their places, which are chosen so that they do not overlap.
    thumbnails : int, default 24
        Most thumbnails.
    size : float, default 30
        Area of a point in square points.
    background : array (m, 2), optional
        Places of other images, such as those of the training, which are drawn below in grey.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        Where it was drawn. The points are in ``collections``, for a colour bar.

    Raises
    ------
    ValueError
        Arrays do not belong together.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> places = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]])
    >>> axes = image_map(places, ["original", "blur", "jpeg"], ax=Figure().subplots())
    >>> len(axes.collections)
    3
    >>> axes = image_map(places, ["cat", "dog", "cat"], ax=Figure().subplots())
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['cat', 'dog']
    """
    places = np.asarray(places, dtype=float)
    _check_map(places, labels, values, images)
    axes = axes_of(ax)
    if background is not None:
        axes.scatter(*np.asarray(background, float).T, s=size / 2, color=quiet(), alpha=0.25, linewidth=0, zorder=1)
    styles = _styles(labels)
    if values is not None or labels is None:
        colours: dict[str, Any] = {"color": COLOURS[4]} if values is None else {"c": values, "cmap": "viridis"}
        axes.scatter(*places.T, s=size, edgecolor=ink(), linewidth=0.3, **colours)
    else:
        _points_by_class(axes, places, np.array([str(label) for label in labels]), styles, size)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.margins(0.06)
    axes.spines[:].set_visible(True)
    if images is not None:
        colours_of = [ink()] * len(places) if labels is None else [styles[str(label)][0] for label in labels]
        _add_thumbnails(axes, places, colours_of, np.asarray(images), thumbnails)
    return axes


def kind_legend(figure: Any, labels: Sequence[str] = LABELS) -> None:
    """Add a legend of the kinds' colours and shapes below a figure with a constrained layout.

    Parameters
    ----------
    figure : Figure
        As :func:`panels` makes it, or ``plt.figure(layout="constrained")``.
    labels : sequence of str
        The labels to show.

    Examples
    --------
    >>> from llise.plot import panels
    >>> figure, _ = panels(1, 1, 3, 3)
    >>> kind_legend(figure, ["original", "blur"])
    >>> [text.get_text() for text in figure.legends[0].get_texts()]
    ['original', 'blur']
    """
    handles = []
    for label in labels:
        code = LABELS.index(label)
        handles.append(
            Line2D([], [], linestyle="", marker=MARKERS[code], color=COLOURS[code], markeredgecolor=ink(),
                   markeredgewidth=0.4, markersize=9 if code == 0 else 6, label=NAMES[label])
        )  # fmt: skip
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), handletextpad=0.2, columnspacing=1.2)


def block_map(
    diagnosis: Diagnosis | np.ndarray,
    image: np.ndarray | None = None,
    *,
    block_size: int = 8,
    alpha: float = 0.55,
    ax: Any = None,
) -> Any:
    """Draw the label of each block as a colour over the image, with a legend of the labels that occur.

    Parameters
    ----------
    diagnosis : Diagnosis or array of int (rows, cols)
        A diagnosis, or the codes of labels (indices into :data:`llise.diagnosis.result.BLOCK_LABELS`).
    image : ndarray of uint8, shape (h, w), optional
        The image below; that of the diagnosis if left out.
    block_size : int, default 8
        Side of a block in pixels of the image.
    alpha : float, default 0.55
        Opacity of the colours; blocks that are ``original`` are left clear over an image.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        Where it was drawn.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = block_map(np.array([[0, 4], [4, 4]]), ax=Figure().subplots())
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['original 25 %', 'blur 75 %']
    """
    codes = np.asarray(diagnosis.block_labels if isinstance(diagnosis, Diagnosis) else diagnosis)
    labels = diagnosis.labels if isinstance(diagnosis, Diagnosis) else BLOCK_LABELS
    if codes.ndim != 2 or not np.isin(codes, range(len(labels))).all():
        raise ValueError(f"codes have shape {codes.shape}; expected rows and columns of 0 to {len(labels) - 1}")
    colours = label_colours(labels)
    if image is None and isinstance(diagnosis, Diagnosis):
        image = diagnosis.image
    axes = axes_of(ax)
    axes.set_axis_off()
    rows, cols = (block_size * count for count in codes.shape)
    shown: Any = codes
    if image is not None:
        height, width = image.shape[:2]
        axes.imshow(image, cmap="gray", vmin=0, vmax=255, extent=(0, width, height, 0))
        shown = np.ma.masked_equal(codes, 0)
    axes.imshow(
        shown, cmap=ListedColormap(colours), vmin=-0.5, vmax=len(colours) - 0.5, extent=(0, cols, rows, 0),
        alpha=alpha if image is not None else None, interpolation="nearest",
    )  # fmt: skip
    if image is not None:  # blocks at the edge may reach beyond it
        axes.set_xlim(0, width)
        axes.set_ylim(height, 0)
    shares = np.bincount(codes.ravel(), minlength=len(labels)) / codes.size
    handles = [
        Line2D([], [], linestyle="", marker="s", markersize=8, color=colours[code],
               markerfacecolor="none" if image is not None and code == 0 else colours[code],
               label=f"{label_name(labels[code])} {100 * shares[code]:.0f} %")
        for code in np.flatnonzero(shares)
    ]  # fmt: skip
    axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3, fontsize=8)
    return axes


def _reduced(image: np.ndarray, longest: int) -> np.ndarray:
    small = Image.fromarray(image)
    small.thumbnail((longest, longest), Image.Resampling.LANCZOS)
    return np.asarray(small)


def _check_map(places: np.ndarray, labels: Any, values: Any, images: Any) -> None:
    if places.ndim != 2 or places.shape[1] != 2:
        raise ValueError(f"places have shape {places.shape}; expected (n, 2), as image_map of a learner returns them")
    if labels is not None and values is not None:
        raise ValueError("labels and values exclude each other: a map has one set of colours; pass one of them")
    for name, array in {"labels": labels, "values": values, "images": images}.items():
        if array is not None and len(array) != len(places):
            raise ValueError(f"{len(array)} {name} for {len(places)} places; pass one for each")


def _styles(labels: Any) -> dict[str, tuple[str, str]]:
    """Colour and shape of each class: those of the kinds of distortion, or of any other classes."""
    classes = set(map(str, labels if labels is not None else ()))
    if classes <= set(LABELS):
        return {label: (COLOURS[code], MARKERS[code]) for code, label in enumerate(LABELS) if label in classes}
    ordered = in_order(classes)
    shapes = MARKERS[2:] + MARKERS[1:2]  # circles first
    return {
        label: (colour, shapes[number % len(shapes)])
        for number, (label, colour) in enumerate(zip(ordered, class_colours(len(ordered))))
    }


def _points_by_class(axes: Any, places: np.ndarray, labels: np.ndarray, styles: Any, size: float) -> None:
    for label, (colour, marker) in styles.items():
        best = label == "original"
        axes.scatter(
            *places[labels == label].T, s=4 * size if best else size, color=colour, marker=marker, edgecolor=ink(),
            linewidth=0.3, zorder=3 if best else 2, label=label,
        )  # fmt: skip
    if set(styles) <= set(LABELS):
        return
    handles, names = axes.get_legend_handles_labels()
    if len(names) > MOST_IN_LEGEND:
        names[MOST_IN_LEGEND - 1] = f"and {len(names) - MOST_IN_LEGEND + 1} more"
    axes.legend(
        handles[:MOST_IN_LEGEND], names[:MOST_IN_LEGEND], loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8,
        handletextpad=0.2, ncols=1 + (len(names) > MOST_IN_LEGEND // 2), borderaxespad=0.2, frameon=False,
    )  # fmt: skip


def _add_thumbnails(axes: Any, places: np.ndarray, colours: list[str], images: np.ndarray, most: int) -> None:
    """Thumbnails above the places of some images, with frames in the colours of their classes."""
    axes.margins(0.14, 0.06)
    low, high = axes.get_ylim()
    panel = axes.figure.get_size_inches()[1] * 72 * axes.get_position().height
    axes.set_ylim(low, high + (high - low) * 1.6 * THUMBNAIL_SIDE / panel)  # they stand above the points
    for i in _far_apart(places, THUMBNAIL_SIDE * 1.25 / _points_per_unit(axes, places), most):
        small = _reduced(eight_bits(images[i]), 2 * THUMBNAIL_SIDE)
        box = OffsetImage(small, cmap="gray", norm=Normalize(0, 255), zoom=THUMBNAIL_SIDE / max(small.shape))
        colour = colours[i]
        axes.add_artist(
            AnnotationBbox(
                box, places[i], xybox=(0, THUMBNAIL_SIDE / 2 + 9), boxcoords="offset points", pad=0.1, zorder=4,
                bboxprops={"edgecolor": colour, "lw": 1.5}, arrowprops={"arrowstyle": "-", "color": colour, "lw": 1.5},
            )
        )  # fmt: skip


def _points_per_unit(axes: Any, places: np.ndarray) -> np.ndarray:
    """Points of the figure for a unit of each coordinate, with the margins and some room for titles taken off."""
    span = np.ptp(places, axis=0)
    panel = axes.figure.get_size_inches() * 72 * axes.get_position().size
    return 0.75 * panel / np.where(span > 0, span, 1)


def _far_apart(places: np.ndarray, side: np.ndarray, most: int) -> list[int]:
    """Images whose places differ by a side in either coordinate: the first, then always the one farthest from all."""
    chosen = [0]
    while len(chosen) < most:
        apart = np.abs(places[:, None] - places[chosen]) / side
        distances = apart.max(axis=-1).min(axis=-1)
        farthest = int(distances.argmax())
        if distances[farthest] < 1:
            break
        chosen.append(farthest)
    return chosen
