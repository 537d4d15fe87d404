"""What agrees with the paper, and what does not and why: each claim follows from the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from llise.labels import KINDS, LABELS, LETTERS
from llise.output.words import NAMES
from llise.reproduction.findings import Findings, count_of, kind_names, listed, percent
from llise.reproduction.methods import Method

CLOSE = 0.10
"""Shares nearer to each other than this are called alike."""

Claim = tuple[bool, str]
"""Whether it agrees with the paper, and what is claimed."""


def claims(findings: Findings) -> list[Claim]:
    """List what agrees with the paper and what does not.

    Parameters
    ----------
    findings : Findings
        The results beside the paper's table.

    Returns
    -------
    list of (bool, str)
        For each claim whether it agrees with the paper, and its text in Markdown.

    Examples
    --------
    >>> claims(Findings({"paper": {}, "methods": {}, "data": {}}))
    []
    """
    return [
        *_pattern_claims(findings),
        *_miss_claims(findings),
        *_share_claims(findings),
        *_luminance_claims(findings),
        *_noise_claims(findings),
        *_top_vote_claims(findings),
        *_baseline_claims(findings),
        *_by_kind_claims(findings),
    ]


def _at_least(summary: dict[str, Any]) -> str:
    """The paper prints only two votes, so that a mean over images may be a lower bound."""
    return f"{'at least ' if summary['share_unknown'] else ''}{percent(summary['single_share'])}"


def _split(cases: Sequence[tuple[bool, str]], good: str, bad: str) -> list[Claim]:
    """One claim for the cases that agree and one for the others."""
    split = []
    for verdict, sentence in ((True, good), (False, bad)):
        if texts := [text for agrees, text in cases if agrees is verdict]:
            split.append((verdict, sentence.format(listed(texts))))
    return split


def _pattern_claims(findings: Findings) -> list[Claim]:
    """At least one of the top two votes is true in as many images as in the paper, or in all but one."""
    cases = []
    for method in findings.blockwise:
        ours, theirs = findings.published(method)["summary"], findings.paper[method.name]
        text = f"{count_of(ours['hits'], ours['n'])} for {method.name} (paper: {theirs['hits']})"
        cases.append((ours["hits"] >= min(theirs["hits"], ours["n"] - 1), text))
    return _split(
        cases,
        "**The pattern of the table.** At least one of the top two votes is a true distortion in nearly every test "
        "image, as published: {}.",
        "**Fewer hits than the paper's.** As published, one of the top two votes is true in only {}; see the votes "
        "below for which images.",
    )


def _miss_claims(findings: Findings) -> list[Claim]:
    """Images without a true kind among the top two votes, where the paper has one."""
    data = findings.results["data"]
    cases, misled = [], []
    for method in findings.blockwise:
        theirs = findings.table["methods"][method.name]
        for entry, answer, votes in zip(data["test"], findings.published(method)["test"], theirs):
            top, paper = ([label for label, _ in list_] for list_ in (answer["top"], votes))
            if set(top) & set(entry["true"]) or not set(paper) & set(entry["true"]):
                continue
            letters = listed([LETTERS[label] for label in top])
            cases.append(f"{entry['number']} ({kind_names(entry['true'])}) with {method.name}, which votes {letters}")
            if top[0] == "luminance" and method.kernel is None and entry["unchanged"] > CLOSE:
                misled.append(
                    f" In image {entry['number']}, {percent(entry['unchanged'])} of the blocks equal the original's "
                    f"but for their mean, and {percent(answer['unchanged_luminance'])} of these vote for luminance."
                )
    if not cases:
        return []
    lighter = percent(data["training"]["luminance_unchanged"])
    reason = f" To LLISE they are duplicates of blocks in the lighter images, {lighter} of which equal the original's."
    missed = f"**Images missed** that the paper hits: {'; '.join(cases)}."
    return [(False, f"{missed}{''.join(misled)}{reason if misled else ''}")]


def _share_claims(findings: Findings) -> list[Claim]:
    """How many blocks vote for the true kind of a single distortion."""
    cases = []
    for method in findings.blockwise:
        ours, theirs = findings.published(method)["summary"], findings.paper[method.name]
        near = abs(ours["single_share"] - theirs["single_share"]) <= CLOSE
        cases.append((near, f"{percent(ours['single_share'])} with {method.name} (paper: {_at_least(theirs)})"))
    return _split(
        cases,
        "**Shares of the votes.** The mean share of blocks that vote for the true kind of a single distortion, as "
        "published, is {}.",
        "**Shares of the votes that differ.** The mean share of blocks that vote for the true kind of a single "
        "distortion, as published, is {}. The reference image differs and so do the data: each of our images has "
        "one distortion, while the authors' code mixes a change of luminance into several kinds (see the errors in the "
        "paper below).",
    )


def _luminance_claims(findings: Findings) -> list[Claim]:
    """Kernels see the luminance of a block, centred blocks have none."""
    linear = [method for method in findings.blockwise if method.kernel is None]
    kernels = [method for method in findings.blockwise if method.kernel]
    if not linear or not kernels:
        return []
    i = next(i for i, entry in enumerate(findings.results["data"]["test"]) if entry["true"] == ["luminance"])

    def share(method: Method) -> float:
        return findings.published(method)["test"][i]["shares"]["luminance"]

    theirs = {
        method.name: dict(findings.table["methods"][method.name][i])["luminance"] for method in findings.blockwise
    }
    shares = listed([f"{percent(share(m))} with {m.name} (paper: {percent(theirs[m.name])})" for m in kernels])
    alone = f"{percent(share(linear[0]))} with {linear[0].name} (paper: {percent(theirs[linear[0].name])})"
    unseen = percent(findings.results["data"]["training"]["luminance_unchanged"])
    reason = (
        f"LLISE subtracts the mean from every block, and {unseen} of the blocks in the lighter training images then "
        "equal the original's; kernels see the blocks as they are."
    )
    if min(share(method) for method in kernels) > share(linear[0]):
        return [
            (True, f"**Kernels see luminance better.** On the lighter image it has {shares}, but {alone}. {reason}")
        ]
    return [
        (
            False,
            f"**Kernels do not always see luminance better.** On the lighter image it has {shares}, and {alone}. "
            f"{reason} Such blocks coincide with those of the other lighter images, which LLISE recognises; other "
            "blocks differ through clipping and rounding of grey values.",
        )
    ]


def _noise_claims(findings: Findings) -> list[Claim]:
    """The pair of kinds whose blocks are most often mistaken for each other."""
    if not findings.blockwise:
        return []
    method = findings.blockwise[0]
    votes = findings.published(method)["train"]["block_confusion"]

    def confused(pair: tuple[str, str]) -> tuple[float, float]:
        i, j = (LABELS.index(kind) for kind in pair)
        return votes[i][j], votes[j][i]

    pair = max(combinations(KINDS, 2), key=lambda pair: sum(confused(pair)))
    a, b = (NAMES[kind] for kind in pair)
    there, back = confused(pair)
    text = (
        f"{percent(there)} of the {a} blocks are mistaken for {b} and {percent(back)} the other way round "
        f"({method.name} as published, training images)."
    )
    if set(pair) == {"gaussian_noise", "impulse_noise"}:
        return [(True, f"**The two noises are the pair most often confused,** as in the paper's noisy images. {text}")]
    return [
        (
            False,
            f"**Another pair is confused most.** In the paper's table the two noises are mistaken for each other; here "
            f"it is {a} and {b}: {text}",
        )
    ]


def _top_vote_claims(findings: Findings) -> list[Claim]:
    """Where the first vote is another than the paper's."""
    same, differ = [], []
    for method in findings.blockwise:
        theirs = (votes[0][0] for votes in findings.table["methods"][method.name])
        ours = (answer["top"][0][0] for answer in findings.published(method)["test"])
        images = [
            f"{image['number']} ({LETTERS[top]}{' is true' if top in image['true'] else ''}, paper {LETTERS[paper]})"
            for image, top, paper in zip(findings.table["images"], ours, theirs)
            if top != paper
        ]
        if images:
            differ.append(f"{method.name} in image {listed(images)}")
        else:
            same.append(method.name)
    texts = []
    if same:
        texts.append((True, f"**The top votes,** as published, are the paper's in every image with {listed(same)}."))
    if differ:
        texts.append((False, f"**Top votes that differ** from the paper's, as published: {'; '.join(differ)}."))
    return texts


def _baseline_claims(findings: Findings) -> list[Claim]:
    """The paper finds LLE and kernel LLE poor on new images."""
    if not findings.whole:
        return []
    cases = []
    for method in findings.whole:
        ours, theirs = findings.published(method)["summary"], findings.paper[method.name]
        text = f"{count_of(ours['top_right'], ours['n'])} with {method.name} (paper: {theirs['top_right']})"
        cases.append((ours["top_right"] <= theirs["top_right"], text))
    return _split(
        cases,
        "**LLE is poor on new images:** the label is a true kind in {}.",
        "**LLE is not poor on new images.** Its label is a true kind in {}. " + _released_data(findings),
    )


def _released_data(findings: Findings) -> str:
    """How the baselines do on new images made in the authors' way."""
    test, authors = findings.results["data"]["test"], findings.results["released_data"]
    pure = [entry for entry in test if entry["true"] in (["blur"], ["impulse_noise"], ["jpeg"])]
    shifts = listed([f"{entry['mean_shift']:+.2f} ({NAMES[entry['true'][0]]})" for entry in pure])
    hits = listed([f"{authors[method.name]['top_right']} with {method.name}" for method in findings.whole])
    fewer = all(authors[m.name]["top_right"] < findings.published(m)["summary"]["top_right"] for m in findings.whole)
    return (
        "The data differ: in the authors' code blur and impulse noise come with a darker image, contrast is that "
        f"darkening, and most of the JPEG error is a shift; in ours the mean moves by {shifts} grey levels. On images "
        f"made in their way the label is true in {hits}: "
        + ("this explains a part of the difference." if fewer else "this does not explain the difference.")
    )


def _by_kind_claims(findings: Findings) -> list[Claim]:
    """The paper: LLISE is better than LLE on the training images in all kinds except impulse noise."""
    if not findings.blockwise or not findings.whole:
        return []
    ours, baseline = findings.blockwise[0], findings.whole[0]
    rates = [findings.published(method)["train"]["recall"] for method in (ours, baseline)]
    groups: dict[str, list[str]] = {"better": [], "equal": [], "worse": []}
    for kind in KINDS:
        a, b = (rate[kind] for rate in rates)
        where = "better" if a > b else "equal" if a == b else "worse"
        groups[where].append(f"{NAMES[kind]} ({percent(a)} against {percent(b)})")
    comparison = "; ".join(f"{where} in {listed(kinds)}" for where, kinds in groups.items() if kinds)
    lost = [kind for kind in KINDS if kind != "impulse_noise" and rates[0][kind] < rates[1][kind]]
    text = f"{ours.name} as published against {baseline.name}, training images leave-one-out: {comparison}."
    if not lost:
        return [(True, f"**Better than LLE except in impulse noise.** {text}")]
    return [
        (
            False,
            "**Not better than LLE in every kind.** The paper finds LLISE better in all kinds except impulse noise, "
            f"above all in JPEG and contrast. {text} {_released_comparison(findings, ours, baseline)}",
        )
    ]


def _released_comparison(findings: Findings, ours: Method, baseline: Method) -> str:
    """The same two methods on images made in the authors' way."""
    a, b = (findings.results["released_data"][method.name] for method in (ours, baseline))
    kinds = listed(
        [f"{NAMES[k]} {percent(a['recall'][k])} against {percent(b['recall'][k])}" for k in ("contrast", "jpeg")]
    )
    text = (
        f"On images made in the authors' way {ours.name} recognises {percent(a['accuracy'])} of the training images "
        f"and {baseline.name} {percent(b['accuracy'])} ({kinds})"
    )
    if a["accuracy"] > b["accuracy"]:
        return f"{text}: there LLISE is better. These images have a shift of the mean, which LLISE does not see."
    return f"{text}: this does not explain the difference."
