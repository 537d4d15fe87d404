"""The figures of the reproduction, drawn from its results with matplotlib (extra ``plot``)."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

try:
    import matplotlib
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
except ImportError as error:
    raise ImportError("figures are drawn with matplotlib; install it with pip install 'llise[plot]'") from error

from PIL import Image

from llise.datasets import ImageSet
from llise.labels import KINDS, LABELS, LETTERS
from llise.output.words import COLOURS, NAMES
from llise.reproduction.methods import METHODS
from llise.storage.files import atomic_write

MARKERS = ("*", "s", "o", "^", "D", "X", "P")
"""Shapes in the order of LABELS, for readers who do not see the colours."""


class Theme(NamedTuple):
    """Colours of a figure, as the page has them in light and dark mode.

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
DPI = 110
SOLVERS = {  # name, colour and line style of each curve
    "admm": ("ADMM", COLOURS[5], "-"),
    "published": ("ADMM as published", COLOURS[5], "-"),
    "corrected": ("ADMM, errors corrected", COLOURS[1], "--"),
    "exact": ("exact solver", COLOURS[4], "-"),
}


def draw(folder: Path, results: dict[str, Any], training: ImageSet, test: ImageSet) -> list[Path]:
    """Draw all figures for which the results have data, as PNG files; those for dark mode into the subfolder ``dark``.

    Parameters
    ----------
    folder : Path
        Where the files are written; it must exist.
    results : dict
        The content of results.json.
    training, test : ImageSet
        The images that the results are about.

    Returns
    -------
    list of Path
        The files for light mode.

    Examples
    --------
    >>> draw(Path("figures"), done.results, training, test)  # doctest: +SKIP
    """
    (folder / "dark").mkdir(exist_ok=True)
    _draw_all(folder / "dark", DARK, results, training, test)
    return _draw_all(folder, LIGHT, results, training, test)


def _draw_all(folder: Path, theme: Theme, results: dict[str, Any], training: ImageSet, test: ImageSet) -> list[Path]:
    figures: dict[str, Callable[[], Figure | None]] = {
        "training": lambda: _training_samples(training),
        "test": lambda: _test_images(test),
        "confusion": lambda: _confusion(results, theme),
        "block-confusion": lambda: _block_confusion(results, theme),
        "manifold": lambda: _manifold(results),
        "manifolds": lambda: _manifolds(results),
        "convergence": lambda: _convergence(results),
    }
    written = []
    with matplotlib.rc_context(theme.style):
        for name, make in figures.items():
            figure = make()
            path = folder / f"{name}.png"
            if figure is None:
                path.unlink(missing_ok=True)  # it may be there from an earlier run with other methods
            else:
                _save(figure, path)
                written.append(path)
    return written


def _ink() -> str:
    """Colour of the text of the figure that is being drawn."""
    return matplotlib.rcParams["text.color"]


def _quiet() -> str:
    """Colour of what is less important in the figure that is being drawn."""
    return matplotlib.rcParams["xtick.color"]


def _save(figure: Figure, path: Path) -> None:
    """Write a PNG of 256 colours, which is small and looks the same."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI)
    picture = Image.open(buffer).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    with atomic_write(path) as file:
        picture.save(file, "PNG", optimize=True)


def _panels(rows: int, cols: int, width: float, height: float) -> tuple[Figure, np.ndarray]:
    figure = Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(w_pad=0.05, h_pad=0.07))
    return figure, figure.subplots(rows, cols, squeeze=False)


# ---------------------------------------------------------------------------------------------- images


def _training_samples(training: ImageSet) -> Figure:
    """The original, and each kind at a low, a middle and the highest error."""
    labels = training.labels
    kinds = [kind for kind in KINDS if (labels == kind).any()]
    figure, axes = _panels(3, len(kinds) + 1, 9.4, 4.7)
    for row in range(3):
        _picture(axes[row, 0], training.reference if row == 1 else None, "", NAMES["original"])
        for col, kind in enumerate(kinds, start=1):
            mine = np.flatnonzero(labels == kind)
            i = mine[(1, len(mine) // 2, len(mine) - 1)[row]]
            _picture(axes[row, col], training.images[i], NAMES[kind] if row == 0 else "", f"MSE {training.mse[i]:.0f}")
    return figure


def _test_images(test: ImageSet) -> Figure:
    """All test images with their kinds."""
    figure, axes = _panels(2, 6, 9.4, 4.0)
    for i, (axis, kinds) in enumerate(zip(axes.flat, test.kinds), start=1):
        names = " +\n".join(NAMES[kind] for kind in kinds)
        _picture(axis, test.images[i - 1], f"({i}) {names}", f"MSE {test.mse[i - 1]:.0f}")
    return figure


def _picture(axis: Any, image: np.ndarray | None, title: str, below: str = "") -> None:
    axis.set_axis_off()
    if image is None:
        return
    small = Image.fromarray(image)
    small.thumbnail((192, 192), Image.Resampling.LANCZOS)
    axis.imshow(np.asarray(small), cmap="gray", vmin=0, vmax=255, interpolation="nearest")
    axis.set_title(title, fontsize=8.5)
    axis.text(0.5, -0.04, below, transform=axis.transAxes, ha="center", va="top", fontsize=7.5, color=_quiet())


# ------------------------------------------------------------------------------------------ recognition


def _confusion(results: dict[str, Any], theme: Theme) -> Figure:
    """Training images judged leave-one-out, as shares of each true kind."""
    counts = {name: np.array(entry["train"]["confusion"]) for name, entry in _ordered(results)}
    shares = {name: matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1) for name, matrix in counts.items()}
    accuracy = {name: entry["train"]["accuracy"] for name, entry in _ordered(results)}
    return _matrices(shares, "share of the images", accuracy, theme)


def _block_confusion(results: dict[str, Any], theme: Theme) -> Figure | None:
    """Votes of the blocks, as shares of each true kind."""
    trained = {name: e["train"] for name, e in _ordered(results) if e["train"]["block_confusion"]}
    if not trained:
        return None
    matrices = {name: np.array(train["block_confusion"]) for name, train in trained.items()}
    accuracy = {name: train["block_accuracy"] for name, train in trained.items()}
    return _matrices(matrices, "share of the blocks", accuracy, theme)


def _matrices(matrices: dict[str, np.ndarray], unit: str, right: dict[str, float], theme: Theme) -> Figure:
    cols = min(4, len(matrices))
    rows = -(-len(matrices) // cols)
    figure, axes = _panels(rows, cols, 0.6 + 2.35 * cols, 2.6 * rows + 0.2)
    letters = list(LETTERS.values())
    picture: Any = None
    shades = LinearSegmentedColormap.from_list("shares", theme.shares)
    for axis in axes.flat[len(matrices) :]:
        axis.set_axis_off()
    for axis, (name, matrix) in zip(axes.flat, matrices.items()):
        picture = axis.imshow(matrix, cmap=shades, vmin=0, vmax=1)
        axis.set_title(f"{_short(name)}\n", fontsize=8.5)
        axis.text(
            0.5, 1.03, f"{right[name]:.1%} right", transform=axis.transAxes, ha="center", fontsize=8, color=_quiet()
        )
        axis.set_xticks(range(len(letters)), letters, fontsize=7.5)
        axis.set_yticks(range(len(letters)), letters, fontsize=7.5)
        axis.tick_params(length=0)
        for i, j in np.argwhere(matrix >= 0.005):
            shade = theme.background if matrix[i, j] > 0.65 else theme.ink
            axis.text(j, i, f"{100 * matrix[i, j]:.0f}", ha="center", va="center", fontsize=6.5, color=shade)
        axis.spines[:].set_visible(False)
    for axis in axes[:, 0]:
        axis.set_ylabel("true", fontsize=8)
    for axis in axes[-1]:
        axis.set_xlabel("recognised", fontsize=8)
    bar = figure.colorbar(picture, ax=axes, shrink=0.5, aspect=30, pad=0.01)
    bar.set_label(unit)
    bar.ax.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1.0))
    bar.outline.set_visible(False)
    return figure


# ------------------------------------------------------------------------------------------- manifolds


def _manifold(results: dict[str, Any]) -> Figure | None:
    """The first block-wise method's map of whole images, published and solved, by kind and by error."""
    blockwise = [(name, entry) for name, entry in _ordered(results) if entry["solver"] != "eigen"]
    if not blockwise:
        return None
    shown = [item for item in blockwise if item[1]["method"] == blockwise[0][1]["method"]]
    training = results["data"]["training"]
    figure, axes = _panels(len(shown), 2, 9.4, 3.9 * len(shown))
    picture: Any = None
    for (name, entry), (by_kind, by_error) in zip(shown, axes):
        _points_by_kind(by_kind, entry["map"], results, size=30)
        place = np.array(entry["map"]["train"])
        picture = by_error.scatter(*place.T, c=training["mse"], cmap="viridis", s=30, edgecolor=_ink(), linewidth=0.3)
        by_kind.set_title(f"{_solver_words(name, entry)}: kinds")
        by_error.set_title(f"{_solver_words(name, entry)}: error")
        for axis in (by_kind, by_error):
            _plain_map(axis)
    figure.colorbar(picture, ax=axes[:, 1], shrink=0.6, pad=0.02, label="MSE").outline.set_visible(False)
    _kind_legend(figure)
    return figure


def _manifolds(results: dict[str, Any]) -> Figure:
    """Every method's map of whole images, by kind."""
    shown = _ordered(results)
    cols = min(4, len(shown))
    rows = -(-len(shown) // cols)
    figure, axes = _panels(rows, cols, max(4.0, 2.35 * cols), 2.3 * rows + 0.5)
    for axis in axes.flat[len(shown) :]:
        axis.set_axis_off()
    for axis, (name, entry) in zip(axes.flat, shown):
        _points_by_kind(axis, entry["map"], results, size=12)
        axis.set_title(_short(name), fontsize=8.5)
        _plain_map(axis)
    _kind_legend(figure)
    return figure


def _points_by_kind(axis: Any, places: dict[str, list], results: dict[str, Any], size: float) -> None:
    labels = np.array(results["data"]["training"]["labels"])
    place = np.array(places["train"])
    for code, label in enumerate(LABELS):
        size_here = 4 * size if label == "original" else size
        mine = place[labels == label]
        axis.scatter(
            *mine.T, s=size_here, color=COLOURS[code], marker=MARKERS[code], edgecolor=_ink(), linewidth=0.3,
            zorder=3 if label == "original" else 2,
        )  # fmt: skip


def _plain_map(axis: Any) -> None:
    axis.set_xticks([])
    axis.set_yticks([])
    axis.margins(0.06)
    axis.spines[:].set_visible(True)


def _kind_legend(figure: Figure) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], linestyle="", marker=MARKERS[code], color=COLOURS[code], markeredgecolor=_ink(),
               markeredgewidth=0.4, markersize=9 if code == 0 else 6, label=NAMES[label])
        for code, label in enumerate(LABELS)
    ]  # fmt: skip
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), handletextpad=0.2, columnspacing=1.2)


# ----------------------------------------------------------------------------------------- convergence


def _convergence(results: dict[str, Any]) -> Figure | None:
    """Objective and constraint violation by iteration: weights above, embedding below."""
    curves = results["convergence"]
    if curves is None:
        return None
    figure, axes = _panels(2, 2, 9.4, 6.2)
    for row, (step, title) in enumerate((("weights", "Reconstruction weights"), ("embedding", "Embedding"))):
        for axis, measure in zip(axes[row], ("objective", "violation")):
            for solver in SOLVERS:
                if values := curves[step].get(solver):
                    _curve(axis, values["iteration"], values[measure], *SOLVERS[solver])
            axis.axvline(curves["published_iterations"][row], color=_quiet(), linewidth=1, linestyle=":")
            axis.set_title(f"{title}: {'objective' if measure == 'objective' else 'constraint violation'}")
            axis.grid(True, linewidth=0.6)
            axis.set_xscale("log")
            axis.set_xlabel("iteration")
        axes[row, 1].set_ylim(bottom=-0.04)
        axes[row, 1].legend(fontsize=8)
        axes[row, 0].set_ylabel("per block and image")
    axes[1, 0].set_yscale("log")
    axes[1, 0].set_ylim(bottom=max(1e-12, axes[1, 0].get_ylim()[0]))  # smaller values are rounding errors
    _label_published(axes[0, 0], curves["published_iterations"][0])
    return figure


def _curve(axis: Any, iteration: Sequence[int], quartiles: Sequence, name: str, colour: str, dashes: str) -> None:
    """Median over blocks, for the embedding with quartiles; a solver without iterations is a horizontal line."""
    low, middle, high = (np.array(values) for values in quartiles)
    if len(iteration) == 1:
        axis.axhline(middle[0], color=colour, linewidth=1.8, label=name)
        return
    if axis.get_subplotspec().rowspan.start == 1:
        axis.fill_between(iteration, low, high, color=colour, alpha=0.15, linewidth=0)
    axis.plot(iteration, middle, dashes, color=colour, linewidth=1.8, label=name)


def _label_published(axis: Any, count: int) -> None:
    axis.annotate(
        "published count", (count, 1), xycoords=("data", "axes fraction"), xytext=(-4, -3), fontsize=8, color=_quiet(),
        textcoords="offset points", ha="right", va="top",
    )  # fmt: skip


# ----------------------------------------------------------------------------------------------- words


def _ordered(results: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Published, then solved, then the baselines, each in the order of the paper's table."""
    order = [method.name for method in METHODS]
    solvers = ("admm", "exact", "eigen")
    entries = results["methods"].items()
    return sorted(entries, key=lambda item: (solvers.index(item[1]["solver"]), order.index(item[1]["method"])))


def _short(name: str) -> str:
    """A method's name in two short lines."""
    return name.replace("kernel ", "k. ").replace("polynomial", "poly")


def _solver_words(name: str, entry: dict[str, Any]) -> str:
    return f"{entry['method']} {'solved' if entry['solver'] == 'exact' else 'as published'}"
