"""The report of a reproduction, section by section.

Nothing is computed that results.json does not hold, and what the text says follows from the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llise.labels import LABELS, LETTERS
from llise.output.markup import Code, Heading, Items, Part, Picture, Table, Text, code_span
from llise.output.words import NAMES
from llise.reproduction.claims import claims
from llise.reproduction.findings import Findings, count_of, listed, number, percent
from llise.reproduction.methods import Method

DIVERGED = 2.0
"""Mean norm of the weights, which should be one, above which they are said to diverge."""


def report(results: dict[str, Any]) -> list[Part]:
    """Write the report.

    Parameters
    ----------
    results : dict
        The content of results.json.

    Returns
    -------
    list of parts
        The page from top to bottom, see :mod:`llise.output.markup`.

    Examples
    --------
    >>> parts = report(done.results)  # doctest: +SKIP
    """
    findings = Findings(results)
    return [
        *_opening(findings),
        *_comparison(findings),
        *_test_section(findings),
        *_training_section(findings),
        *_manifold_section(findings),
        *_solver_section(findings),
        *_errors_in_the_paper(findings),
        *_ending(findings),
    ]


def _opening(findings: Findings) -> list[Part]:
    results, settings = findings.results, findings.results["settings"]
    image, training = results["image"], results["data"]["training"]
    extent = "the middle of " if image["quick"] else ""
    return [
        Heading("The paper's experiments, reproduced", 1),
        Text(
            f"The experiments of {findings.table['source']} The reference is {extent}{code_span(image['name'])}, "
            f"{image['width']} × {image['height']} pixels; the paper used another image. {training['n']} training "
            f"images (the original and distortions at MSE {number(training['lowest_mse'])} to "
            f"{number(training['highest_mse'])}), blocks of {settings['block_size']} × {settings['block_size']}, "
            f"k = {settings['n_neighbors']}, p = {settings['n_components']}, seed {results['seed']}. Every number "
            "here is in `results.json`."
        ),
        Text(
            "*As published* follows the paper to the letter: its alternating iterations (ADMM) with the iteration "
            "counts of the authors' code, including the errors in the paper. *Solved* is the same problem with "
            "globally optimal weights and a stationary, feasible embedding. LLE and kernel LLE see the whole image, so "
            "they give one label."
        ),
        *_in_short(findings),
        overview(findings),
        Text(
            "Left to right: test images with a true kind among the top two votes, or whose first vote (the label of "
            "LLE) is one; mixtures whose two kinds are the top two; mean share of the blocks that vote for the true "
            "kind of a single distortion (≥ where the paper's two votes do not show it); training blocks and images "
            "recognised leave-one-out, for which the paper prints no numbers."
        ),
    ]


def _in_short(findings: Findings) -> list[Part]:
    """The main result of the first LLISE method in a sentence or two."""
    if not findings.blockwise:
        return []
    method = findings.blockwise[0]
    published, solved = findings.pair(method)
    a, b = (entry["train"]["block_accuracy"] for entry in (published, solved))
    counts, paper = published["summary"], findings.paper[method.name]
    improved = [m for m in findings.blockwise if findings.solved_is_better(m)]
    return [
        Text(
            f"**In short:** {method.name} as published has a true distortion among its top two votes in "
            f"{count_of(counts['hits'], counts['n'])} test images (paper: {paper['hits']}). Solving the same problem "
            f"exactly takes the training blocks recognised from {percent(a)} to {percent(b)}, and is better than the "
            "published iterations in blocks and in votes for "
            + (f"{listed([m.name for m in improved])}." if improved else "none of the methods.")
        )
    ]


def overview(findings: Findings) -> Table:
    """Make the table that compares all methods with the paper's.

    Parameters
    ----------
    findings : Findings
        The results beside the paper's table.

    Returns
    -------
    Table
        Counts and shares, one row for each method and solver.

    Examples
    --------
    >>> overview(Findings({"paper": {}, "methods": {}})).head[0]
    'method'
    """
    head = [
        "method",
        "true kind\nin top two",
        "top vote\nis true",
        "both of\na mixture",
        "share of the\ntrue kind",
        "blocks\nright",
        "images\nright",
    ]
    rows = []
    for method in findings.methods:
        rows.append([f"{method.name}: paper", *_summary_cells(findings.paper[method.name]), "", ""])
        if method.blockwise:
            versions = [("as published", findings.published(method)), ("**solved**", findings.solved(method))]
        else:
            versions = [("ours", findings.published(method))]
        for words, entry in versions:
            train = entry["train"]
            blocks = percent(train["block_accuracy"]) if method.blockwise else ""
            rows.append([f"→ {words}", *_summary_cells(entry["summary"]), blocks, percent(train["accuracy"])])
    return Table(head, rows)


def _summary_cells(summary: dict[str, Any]) -> list[str]:
    """Hits, top votes, pairs and share; a cell that does not apply to a method is empty."""
    n = summary["n"]
    if summary["single_share"] is None:
        return ["", count_of(summary["top_right"], n), "", ""]
    pairs = count_of(summary["pairs"], summary["n_mixtures"])
    bound = "≥ " if summary["share_unknown"] else ""
    share = f"{bound}{percent(summary['single_share'])}"
    return [count_of(summary["hits"], n), count_of(summary["top_right"], n), pairs, share]


def _comparison(findings: Findings) -> list[Part]:
    parts: list[Part] = []
    for agrees, heading in ((True, "What agrees with the paper"), (False, "What does not, and why")):
        if texts := [text for verdict, text in claims(findings) if verdict is agrees]:
            parts += [Heading(heading), Items(texts)]
    return parts


def _test_section(findings: Findings) -> list[Part]:
    test = findings.results["data"]["test"]
    errors = [entry["mse"] for entry in test]
    letters = ", ".join(f"{LETTERS[label]} {NAMES[label]}" for label in LABELS)
    head = ["image", *(str(entry["number"]) for entry in test)]
    rows = [["distortion", *(" + ".join(LETTERS[kind] for kind in entry["true"]) for entry in test)]]
    for method in findings.methods:
        paper = [_votes(votes, entry["true"]) for votes, entry in zip(findings.table["methods"][method.name], test)]
        rows.append([f"{method.name}: paper", *paper])
        versions = [("as published" if method.blockwise else "ours", findings.published(method))]
        if method.blockwise:
            versions.append(("solved", findings.solved(method)))
        for words, entry in versions:
            cells = [_votes(a["top"], a["true"], method.blockwise) for a in entry["test"]]
            rows.append([f"→ {words}", *cells])
    return [
        Heading("Test images"),
        Text(
            f"The paper's table, ours beside it: the top two votes with the share of blocks, or the one label of LLE; "
            f"a true kind is bold. {letters}. Test images were made for MSE "
            f"{number(findings.results['settings']['test_mse'])} and measure {number(min(errors))} to "
            f"{number(max(errors))}."
        ),
        Table(head, rows),
        Picture("figures/test.png", "The test images. Mixtures apply the first kind at half the error."),
    ]


def _votes(top: Sequence[Sequence], true: Sequence[str], shares: bool = True) -> str:
    """Votes of one image as in the paper's cell."""
    lines = []
    for label, share in top:
        text = f"{percent(share)} {LETTERS[label]}" if shares and share is not None else LETTERS[label]
        lines.append(f"**{text}**" if label in true else text)
    return "\n".join(lines)


def _training_section(findings: Findings) -> list[Part]:
    training = findings.results["data"]["training"]
    parts: list[Part] = [
        Heading("Training images"),
        Picture("figures/training.png", "The original, and each kind at a low, a middle and the highest error."),
        Picture(
            "figures/confusion.png",
            "Training images judged leave-one-out, in per cent of each true kind: LLISE as published, solved, and the "
            "baselines. There is only one original: when it is left out no image of its kind remains, so its row "
            "cannot be right.",
        ),
    ]
    if findings.blockwise:
        parts.append(
            Picture("figures/block-confusion.png", "The votes of the blocks, in per cent of each true kind's blocks.")
        )
    if training["n_amplified"]:
        parts.append(
            Text(
                f"JPEG cannot reach the higher errors on this image: in {training['n_amplified']} of its "
                f"{training['n_by_kind']['jpeg']} training images the coding error is amplified to reach them."
            )
        )
    return parts


def _manifold_section(findings: Findings) -> list[Part]:
    parts: list[Part] = [
        Heading("The manifold of images"),
        Text(
            "Distances between whole images, summed over the embeddings of their blocks and scaled to two dimensions. "
            "The paper has no such figure."
        ),
    ]
    if findings.blockwise:
        caption = f"{findings.blockwise[0].name} as published and solved: the same points by kind and by error."
        parts.append(Picture("figures/manifold.png", caption))
    return [*parts, Picture("figures/manifolds.png", "Every method's map, by kind.")]


def _solver_section(findings: Findings) -> list[Part]:
    if not findings.blockwise:
        return []
    head = [
        "method",
        "weights'\nobjective",
        "norm of\nthe weights",
        "embedding's\nobjective",
        "constraint violation\nmedian, largest",
        "stationarity\nmedian, largest",
        "iterations\nmedian, largest",
    ]
    rows = []
    for method in findings.blockwise:
        for words, entry in zip(("as published", "solved"), findings.pair(method)):
            solution = entry["solution"]
            cells = [number(solution[name]) for name in ("reconstruction_error", "weight_norm", "embedding_error")]
            pairs = [
                f"{number(solution[name]['median'])}, {number(solution[name]['max'])}"
                for name in ("constraint_violation", "stationarity", "iterations")
            ]
            rows.append([f"{method.name}, {words}", *cells, *pairs])
    curves = findings.results["convergence"]
    smallest = min(min(curves["embedding"][solver]["violation"][1]) for solver in ("published", "corrected"))
    largest = max(curves["embedding"]["exact"]["violation"][1])
    return [
        Heading("The effect of the solver"),
        Items([_gain(findings, method) for method in findings.blockwise]),
        Text(
            "Objectives are means over blocks and images. The constraints ask for weights of norm one and for "
            "coordinates of zero mean and unit covariance; an objective counts only where they hold. Stationarity is "
            "the relative gradient along the constraints, zero at a solution."
        ),
        Table(head, rows),
        Picture(
            "figures/convergence.png",
            f"{curves['method']} on {curves['n_blocks']} blocks spread over the image: medians over blocks, for the "
            "embedding with quartiles. The dotted line is the published iteration count. The embedding's violation is "
            f"at least {number(smallest)} at every ADMM iteration shown and at most {number(largest)} in the exact "
            "solver.",
        ),
    ]


def _gain(findings: Findings, method: Method) -> str:
    """Whether solving helps one method, and if not, why."""
    measures = findings.gains(method)
    changes = listed([f"{measure} {percent(a)} → {percent(b)}" for measure, (a, b) in measures.items()])
    changes = f"{changes[0].upper()}{changes[1:]}."
    if findings.solved_is_better(method):
        return f"**{method.name}: solved is better in both.** {changes}"
    worse = listed([measure for measure, (a, b) in measures.items() if not b > a])
    a, b = (entry["solution"]["embedding_error"] for entry in findings.pair(method))
    return (
        f"**{method.name}: solved is not better in {worse}.** {changes} The solver works as intended: the embedding's "
        f"objective goes from {number(a)} to {number(b)} with the constraints met. But with weights that reconstruct "
        "almost perfectly many embeddings are nearly as good, and the objective does not say which of them separates "
        "the kinds."
    )


def _errors_in_the_paper(findings: Findings) -> list[Part]:
    if not findings.blockwise:
        return []
    method = findings.blockwise[0]
    published, solved = (entry["solution"] for entry in findings.pair(method))
    low, high = published["singular_values"]
    curves = findings.results["convergence"]["embedding"]
    last = {name: curves[name]["objective"][1][-1] for name in ("published", "corrected")}
    iterations = curves["published"]["iteration"][-1]
    training = findings.results["data"]["training"]
    return [
        Heading("Errors in the paper that the figures show"),
        Items(
            [
                f"**Singular values.** Unit covariance of n points asks for singular values of √n = "
                f"{number(published['wanted_singular_value'])}; the paper's projection sets them to n = "
                f"{training['n']}. The embedding as published has neither: {number(low)} to {number(high)} on average "
                f"({method.name}); solved, {number(solved['singular_values'][0])} to "
                f"{number(solved['singular_values'][1])}.",
                f"**The gradient of the embedding** ignores that its matrix is not symmetric. After "
                f"{iterations} iterations the objective is {number(last['published'])} with this error and "
                f"{number(last['corrected'])} without it (figure above).",
                f"**Stopping early.** The published counts end far from a solution: weights have a norm of "
                f"{number(published['weight_norm'])} on average where the constraint is one, and the embedding "
                f"violates its constraints by {number(published['constraint_violation']['median'])} in the median "
                f"block.{_divergence(findings)}",
                f"**Luminance.** Centring removes a block's mean, so that {percent(training['luminance_unchanged'])} "
                "of the blocks in the lighter images cannot be distinguished from the original's.",
                f"**Under-determined.** Weights on the sphere reconstruct so well that the solved embedding's "
                f"objective is {number(solved['embedding_error'])} per block and image, near its lowest possible "
                "value of zero: it hardly distinguishes between the embeddings that reach it.",
                "**Data.** The paper's text and the authors' code differ: in the code, contrast is a plain darkening, "
                "blur and impulse noise images are darkened first, and most of the JPEG images' error is a shift of "
                "the mean. We follow the text. Where the authors' data are used for comparison they are our "
                "reconstruction, in which the JPEG images are shifted towards black. `docs/math.md` has the "
                "derivations.",
            ]
        ),
    ]


def _divergence(findings: Findings) -> str:
    """Methods whose published weights grow instead of converging to norm one."""
    norms = {method.name: findings.published(method)["solution"]["weight_norm"] for method in findings.blockwise}
    grown = [f"{number(norm)} with {name}" for name, norm in norms.items() if norm > DIVERGED]
    return f" For other methods they diverge: a mean norm of {listed(grown)}." if grown else ""


def _ending(findings: Findings) -> list[Part]:
    return [
        Heading("Run it yourself"),
        Code(
            "pip install 'llise[plot]'\n"
            "llise reproduce                 # this page\n"
            "llise reproduce --image FILE    # with your own reference"
        ),
        Text(
            f"Made by llise {findings.results['llise']}. The image's checksum begins with "
            f"`{findings.results['image']['sha256'][:12]}`; the same seed gives the same `results.json` byte for byte."
        ),
    ]
