"""The figures of the reproduction, drawn from its results with matplotlib (extra ``plot``)."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from llise import plot
from llise.datasets import ImageSet
from llise.labels import KINDS
from llise.output.words import COLOURS, NAMES
from llise.plot.style import quiet
from llise.reproduction.methods import METHODS
from llise.storage.files import atomic_write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 110
SOLVERS = {  # name, colour and line style of each curve
    "admm": ("ADMM", COLOURS[5], "-"),
    "published": ("ADMM as published", COLOURS[5], "-"),
    "corrected": ("ADMM, errors corrected", COLOURS[1], "--"),
    "exact": ("exact solver", COLOURS[4], "-"),
}
LINE_COLOURS = {name: colour for name, colour, _ in SOLVERS.values()}
DASHES = {name: dashes for name, _, dashes in SOLVERS.values()}


def draw(folder: Path, results: dict[str, Any], training: ImageSet, test: ImageSet) -> list[Path]:
    """Draw all figures for which the results have data, as PNG files."""
    (folder / "dark").mkdir(exist_ok=True)
    _draw_all(folder / "dark", True, results, training, test)
    return _draw_all(folder, False, results, training, test)


def _draw_all(folder: Path, dark: bool, results: dict[str, Any], training: ImageSet, test: ImageSet) -> list[Path]:
    figures: dict[str, Callable[[], Figure | None]] = {
        "training": lambda: _training_samples(training),
        "test": lambda: _test_images(test),
        "confusion": lambda: _confusion(results),
        "block-confusion": lambda: _block_confusion(results),
        "manifold": lambda: _manifold(results),
        "manifolds": lambda: _manifolds(results),
        "convergence": lambda: _convergence(results),
    }
    written = []
    with plot.theme(dark):
        for name, make in figures.items():
            figure = make()
            path = folder / f"{name}.png"
            if figure is None:
                path.unlink(missing_ok=True)  # it may be there from an earlier run with other methods
            else:
                _save(figure, path)
                written.append(path)
    return written


def _save(figure: Figure, path: Path) -> None:
    """Write a PNG of 256 colours, which is small and looks the same."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI)
    picture = Image.open(buffer).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    with atomic_write(path) as file:
        picture.save(file, "PNG", optimize=True)


# ---------------------------------------------------------------------------------------------- images


def _training_samples(training: ImageSet) -> Figure:
    """The original, and each kind at a low, a middle and the highest error."""
    labels = training.labels
    kinds = [kind for kind in KINDS if (labels == kind).any()]
    figure, axes = plot.panels(3, len(kinds) + 1, 9.4, 4.7)
    for row in range(3):
        if row == 1:
            plot.picture(training.reference, "", NAMES["original"], ax=axes[row, 0])
        else:
            axes[row, 0].set_axis_off()
        for col, kind in enumerate(kinds, start=1):
            mine = np.flatnonzero(labels == kind)
            i = mine[(1, len(mine) // 2, len(mine) - 1)[row]]
            title, below = NAMES[kind] if row == 0 else "", f"MSE {training.mse[i]:.0f}"
            plot.picture(training.images[i], title, below, ax=axes[row, col])
    return figure


def _test_images(test: ImageSet) -> Figure:
    """All test images with their kinds."""
    figure, axes = plot.panels(2, 6, 9.4, 4.0)
    for i, (axis, kinds) in enumerate(zip(axes.flat, test.kinds), start=1):
        names = " +\n".join(NAMES[kind] for kind in kinds)
        plot.picture(test.images[i - 1], f"({i}) {names}", f"MSE {test.mse[i - 1]:.0f}", ax=axis)
    return figure


# ------------------------------------------------------------------------------------------ recognition


def _confusion(results: dict[str, Any]) -> Figure:
    """Training images judged leave-one-out, as shares of each true kind."""
    trained = {name: entry["train"] for name, entry in _ordered(results)}
    matrices = {name: (train["confusion"], train["accuracy"]) for name, train in trained.items()}
    return _matrices(matrices, "share of the images")


def _block_confusion(results: dict[str, Any]) -> Figure | None:
    """Votes of the blocks, as shares of each true kind."""
    trained = {name: entry["train"] for name, entry in _ordered(results) if entry["train"]["block_confusion"]}
    if not trained:
        return None
    matrices = {name: (train["block_confusion"], train["block_accuracy"]) for name, train in trained.items()}
    return _matrices(matrices, "share of the blocks")


def _matrices(matrices: dict[str, tuple[Any, float]], unit: str) -> Figure:
    """Confusion matrices side by side; each with the share that is right."""
    cols = min(4, len(matrices))
    rows = -(-len(matrices) // cols)
    figure, axes = plot.panels(rows, cols, 0.6 + 2.35 * cols, 2.6 * rows + 0.2)
    for axis in axes.flat[len(matrices) :]:
        axis.set_axis_off()
    for axis, (name, (matrix, right)) in zip(axes.flat, matrices.items()):
        plot.confusion_matrix(matrix, right=right, ax=axis)
        axis.set_title(f"{_short(name)}\n", fontsize=8.5)
    for axis in axes[:, 0]:
        axis.set_ylabel("true", fontsize=8)
    for axis in axes[-1]:
        axis.set_xlabel("recognised", fontsize=8)
    plot.share_bar(figure, axes, unit)
    return figure


# ------------------------------------------------------------------------------------------- manifolds


def _manifold(results: dict[str, Any]) -> Figure | None:
    """The first block-wise method's map of whole images, published and solved, by kind and by error."""
    blockwise = [(name, entry) for name, entry in _ordered(results) if entry["solver"] != "eigen"]
    if not blockwise:
        return None
    shown = [item for item in blockwise if item[1]["method"] == blockwise[0][1]["method"]]
    training = results["data"]["training"]
    figure, axes = plot.panels(len(shown), 2, 9.4, 3.9 * len(shown))
    for (name, entry), (by_kind, by_error) in zip(shown, axes):
        plot.image_map(entry["map"]["train"], training["labels"], ax=by_kind)
        plot.image_map(entry["map"]["train"], values=training["mse"], ax=by_error)
        by_kind.set_title(f"{_solver_words(name, entry)}: kinds")
        by_error.set_title(f"{_solver_words(name, entry)}: error")
    points = axes[-1, 1].collections[0]
    figure.colorbar(points, ax=axes[:, 1], shrink=0.6, pad=0.02, label="MSE").outline.set_visible(False)
    plot.kind_legend(figure)
    return figure


def _manifolds(results: dict[str, Any]) -> Figure:
    """Every method's map of whole images, by kind."""
    shown = _ordered(results)
    cols = min(4, len(shown))
    rows = -(-len(shown) // cols)
    figure, axes = plot.panels(rows, cols, max(4.0, 2.35 * cols), 2.3 * rows + 0.5)
    for axis in axes.flat[len(shown) :]:
        axis.set_axis_off()
    for axis, (name, entry) in zip(axes.flat, shown):
        plot.image_map(entry["map"]["train"], results["data"]["training"]["labels"], size=12, ax=axis)
        axis.set_title(_short(name), fontsize=8.5)
    plot.kind_legend(figure)
    return figure


# ----------------------------------------------------------------------------------------- convergence


def _convergence(results: dict[str, Any]) -> Figure | None:
    """Objective and constraint violation by iteration: weights above, embedding below."""
    curves = results["convergence"]
    if curves is None:
        return None
    figure, axes = plot.panels(2, 2, 9.4, 6.2)
    for row, (step, title) in enumerate((("weights", "Reconstruction weights"), ("embedding", "Embedding"))):
        for axis, measure in zip(axes[row], ("objective", "violation")):
            shown, marked = _named(curves[step], measure, step == "embedding"), curves["published_iterations"][row]
            plot.convergence(shown, colors=LINE_COLOURS, dashes=DASHES, marked=marked, ax=axis)
            axis.set_title(f"{title}: {'objective' if measure == 'objective' else 'constraint violation'}")
        axes[row, 1].set_ylim(bottom=-0.04)
        axes[row, 1].legend(fontsize=8)
        axes[row, 0].set_ylabel("per block and image")
    axes[1, 0].set_yscale("log")
    axes[1, 0].set_ylim(bottom=max(1e-12, axes[1, 0].get_ylim()[0]))  # smaller values are rounding errors
    _label_published(axes[0, 0], curves["published_iterations"][0])
    return figure


def _named(curves: dict[str, Any], measure: str, band: bool) -> dict[str, tuple[Any, Any]]:
    """Iterations and values of each solver by its name: the median over blocks, with a band also the quartiles."""
    named = {}
    for solver, (name, _, _) in SOLVERS.items():
        if values := curves.get(solver):
            quartiles = values[measure]
            named[name] = (values["iteration"], quartiles if band else quartiles[1])
    return named


def _label_published(axis: Any, count: int) -> None:
    axis.annotate(
        "published count", (count, 1), xycoords=("data", "axes fraction"), xytext=(-4, -3), fontsize=8, color=quiet(),
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
