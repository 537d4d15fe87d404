"""The report of a reproduction: our figures beside the paper's in tables, as Markdown, as a page and for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llise.labels import LABELS, LETTERS
from llise.output.markup import Code, Heading, Part, Picture, Table, Text, code_span, to_html, to_markdown, to_text
from llise.output.words import NAMES
from llise.reproduction.methods import METHODS
from llise.reproduction.paper import paper_table
from llise.storage.files import atomic_write


def write(folder: Path, results: dict[str, Any]) -> None:
    """Write report.md and report.html beside the figures, which must be drawn already."""
    parts = report(results)
    for name, page in {"report.md": to_markdown(parts), "report.html": to_html(parts, folder)}.items():
        with atomic_write(folder / name, "w", encoding="utf-8", newline="\n") as file:
            file.write(page)


def as_text(results: dict[str, Any]) -> str:
    """The table that compares all methods with the paper's, for a terminal."""
    return to_text(overview(results))


def report(results: dict[str, Any]) -> list[Part]:
    """The parts of the page from top to bottom; nothing is said that results.json does not hold."""
    settings, image, training = results["settings"], results["image"], results["data"]["training"]
    blocks = any(entry["summary"]["single_share"] is not None for entry in results["methods"].values())
    opening = (
        f"{paper_table()['source']} The reference is {'the middle of ' if image['quick'] else ''}"
        f"{code_span(image['name'])}, {image['width']} × {image['height']} pixels; the paper used another image. "
        f"{training['n']} training images at MSE {number(training['lowest_mse'])} to "
        f"{number(training['highest_mse'])}, "
        f"blocks of {settings['block_size']} × {settings['block_size']}, k = {settings['n_neighbors']}, "
        f"p = {settings['n_components']}, seed {results['seed']}. *As published*: the paper's iterations to the "
        "letter, with the counts of the authors' code. *Solved*: the same problem solved exactly. What agrees with the "
        "paper, what does not, and why: `docs/reproduction.md`."
    )
    columns = (
        "Columns: test images with a true kind among the top two votes; whose first vote is one; mixtures whose two "
        "kinds are the top two; mean share of the blocks that vote for the true kind of a single distortion (≥ where "
        "the paper's two votes do not show it); training blocks and images recognised leave-one-out."
    )
    letters = ", ".join(f"{LETTERS[label]} {NAMES[label]}" for label in LABELS)
    parts: list[Part] = [
        Heading("The paper's experiments, reproduced", 1), Text(opening), overview(results), Text(columns),
        Heading("Test images"), Text(f"The top two votes with their share of blocks; a true kind is bold. {letters}."),
        votes(results), Picture("figures/test.png", "The test images. Mixtures have the first kind at half the error."),
        Heading("Training images"),
        Picture("figures/training.png", "The original, and each kind at a low, a middle and the highest error."),
        Picture("figures/confusion.png", "Training images judged leave-one-out, in per cent of each true kind."),
    ]  # fmt: skip
    if blocks:
        parts += [
            Picture("figures/block-confusion.png", "The votes of the blocks, in per cent of each true kind's blocks."),
            Heading("The effect of the solver"), solutions(results),
            Picture("figures/convergence.png", "Medians over blocks, by iteration; dotted: the published count."),
            Picture("figures/manifold.png", "The map of whole images as published and solved, by kind and by error."),
        ]  # fmt: skip
    sha256 = image["sha256"][:12]
    return [
        *parts,
        Picture("figures/manifolds.png", "Every method's map of whole images, by kind."),
        Heading("Run it yourself"),
        Code("pip install 'llise[plot]'\nllise reproduce                 # this page\nllise reproduce --image FILE"),
        Text(f"Made by llise {results['llise']}; the image's checksum begins with `{sha256}`."),
    ]


def versions(results: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Method, words for the version, and its results: each method as published, then solved where it has blocks."""
    listed = []
    for method in METHODS:
        if method.name in results["methods"]:
            published = "as published" if method.blockwise else "ours"
            listed.append((method.name, published, results["methods"][method.name]))
            if method.blockwise:
                listed.append((method.name, "solved", results["methods"][f"{method.name}, solved"]))
    return listed


def overview(results: dict[str, Any]) -> Table:
    """Counts and shares, the paper's first."""
    head = ["method", "true kind\nin top two", "top vote\nis true", "both of\na mixture", "share of the\ntrue kind"]
    rows = []
    for method, words, entry in versions(results):
        if words != "solved":
            rows.append([f"{method}: paper", *_counts(results["paper"][method]), "", ""])
        accuracy = entry["train"]["block_accuracy"]
        blocks = "" if accuracy is None else percent(accuracy)
        rows.append([f"→ {words}", *_counts(entry["summary"]), blocks, percent(entry["train"]["accuracy"])])
    return Table([*head, "blocks\nright", "images\nright"], rows)


def _counts(summary: dict[str, Any]) -> list[str]:
    """Hits, top votes, pairs and share; a cell that does not apply to a method is empty."""
    top = f"{summary['top_right']} of {summary['n']}"
    if summary["single_share"] is None:
        return ["", top, "", ""]
    share = ("≥ " if summary["share_unknown"] else "") + percent(summary["single_share"])
    return [f"{summary['hits']} of {summary['n']}", top, f"{summary['pairs']} of {summary['n_mixtures']}", share]


def votes(results: dict[str, Any]) -> Table:
    """The paper's Table 1 with ours beside it."""
    test, paper = results["data"]["test"], paper_table()["methods"]
    rows = [["distortion", *(" + ".join(LETTERS[kind] for kind in entry["true"]) for entry in test)]]
    for method, words, entry in versions(results):
        if words != "solved":
            rows.append([f"{method}: paper", *(_votes(top, e["true"]) for top, e in zip(paper[method], test))])
        rows.append([f"→ {words}", *(_votes(a["top"], a["true"], words != "ours") for a in entry["test"])])
    return Table(["image", *(str(entry["number"]) for entry in test)], rows)


def _votes(top: Sequence[Sequence], true: Sequence[str], shares: bool = True) -> str:
    lines = []
    for label, share in top:
        text = f"{percent(share)} {LETTERS[label]}" if shares and share is not None else LETTERS[label]
        lines.append(f"**{text}**" if label in true else text)
    return "\n".join(lines)


def solutions(results: dict[str, Any]) -> Table:
    """Objectives, and how far constraints and stationarity are from being met."""
    head = ["method", "weights'\nobjective", "norm of\nthe weights", "embedding's\nobjective"]
    head += [f"{name}\nmedian, largest" for name in ("constraint violation", "stationarity", "iterations")]
    rows = []
    for method, words, entry in versions(results):
        if "weight_norm" in (solution := entry.get("solution") or {}):
            cells = [number(solution[name]) for name in ("reconstruction_error", "weight_norm", "embedding_error")]
            spreads = [solution[name] for name in ("constraint_violation", "stationarity", "iterations")]
            cells += [f"{number(spread['median'])}, {number(spread['max'])}" for spread in spreads]
            rows.append([f"{method}, {words}", *cells])
    return Table(head, rows)


def percent(share: float) -> str:
    """A share in per cent with one decimal."""
    return f"{share:.1%}".replace("%", " %")


def number(value: float) -> str:
    """A number with three digits, as a power of ten where it is very small or large."""
    if value and not 1e-3 <= abs(value) < 1e4:
        return f"{value:.1e}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
