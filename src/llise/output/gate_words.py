"""The outcome of a pair in a person's words: one line that says why."""

from __future__ import annotations

from collections import Counter

from llise.gate.outcome import JudgedFault, Outcome, Status

TITLES = {Status.PASS: "PASS", Status.FAIL: "FAIL", Status.UNKNOWN: "UNKNOWN", Status.ERROR: "ERROR"}
"""How a line begins."""

NOUNS = {Status.PASS: "passed", Status.FAIL: "failed", Status.UNKNOWN: "unknown", Status.ERROR: "not readable"}
"""What the summary says of a number of pairs."""


def outcome_line(outcome: Outcome) -> str:
    """Say in one line what became of a pair."""
    return f"{TITLES[outcome.status]:8} {outcome.name}: {reason(outcome)}"


def reason(outcome: Outcome) -> str:
    """Say why a pair passed or failed."""
    message = outcome.message.removeprefix(f"{outcome.name}: ")
    parts = [message] if message else []
    if outcome.is_copy:
        parts += [_fault_words(judged, outcome) for judged in outcome.faults]
    else:
        parts.append("does not look like a copy of the reference")
    parts += outcome.broken
    return "; ".join([*parts, *_measure_words(outcome)])


def _fault_words(judged: JudgedFault, outcome: Outcome) -> str:
    from llise.output.words import fault_phrase

    phrase = fault_phrase(judged.fault, outcome.size[0] * outcome.size[1])
    if judged.status is Status.PASS:
        return phrase if outcome.status is Status.PASS else f"{phrase} [allowed]"
    return f"{phrase} [allowed: {judged.rule}]" if judged.rule else f"{phrase} [not allowed]"


def _measure_words(outcome: Outcome) -> list[str]:
    """Measures of a copy that differs, and the colour difference where it was measured."""
    measures = outcome.measures
    if measures is None or outcome.message == "identical":
        return []
    words = [f"PSNR {measures.psnr:.2f} dB"]
    if measures.ssim is not None:
        words.append(f"SSIM {measures.ssim:.4f}")
    if measures.color_difference is not None:
        words.append(f"colour difference {measures.color_difference:.2f}")
    return [", ".join(words)]


def summary(counts: Counter[Status]) -> str:
    """Say how many pairs passed and how many did not."""
    total = sum(counts.values())
    parts = [f"{counts[status]} {NOUNS[status]}" for status in reversed(Status) if counts[status]]
    return f"{total} {'pair' if total == 1 else 'pairs'}: {', '.join(parts) or 'nothing to compare'}"
