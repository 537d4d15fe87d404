"""Names and colours of labels and kinds, also of kinds of one's own."""

from __future__ import annotations

from collections.abc import Sequence

from llise.diagnosis.result import BLOCK_LABELS
from llise.kinds import registry
from llise.kinds.sources import title_of
from llise.labels import UNKNOWN

COLOURS = (
    "#009e73", "#e69f00", "#56b4e9", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#999999",
    "#332288", "#117733", "#882255", "#ddcc77", "#aa4499", "#661100", "#785ef0",
    "#fe6100", "#5d8aa8", "#b07d62", "#888866",
)  # fmt: skip
"""The palette of Okabe and Ito, distinguishable with every kind of colour vision, then that of Tol; in the order of
BLOCK_LABELS."""

_KINDS = {kind: registry.get(kind) for kind in BLOCK_LABELS if kind not in ("original", UNKNOWN)}

NAMES = {"original": "original"} | {name: kind.short_title for name, kind in _KINDS.items()} | {UNKNOWN: "unknown"}
"""Name of each label in a table."""

NOUNS = {
    "original": "original",
    **{name: kind.title for name, kind in _KINDS.items()},
    UNKNOWN: "fault of no known kind",
}
"""Name of each kind in a sentence."""

OWN_COLOURS = (
    "#44aa99", "#cc6677", "#88ccee", "#999933", "#6699cc", "#994455", "#004488", "#bb5566", "#ee7733", "#0077bb",
)  # fmt: skip
"""Colours of kinds of one's own, other palettes of Tol; they are used again where there are more kinds."""


def label_name(label: str) -> str:
    """Return the name of a label in a table."""
    return NAMES.get(label) or title_of(label)


def kind_noun(kind: str) -> str:
    """Return the name of a kind in a sentence."""
    return NOUNS.get(kind) or title_of(kind)


def label_colours(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the colours of labels."""
    count = len(labels) - len(COLOURS)
    return (*COLOURS, *(OWN_COLOURS[number % len(OWN_COLOURS)] for number in range(count)))[: len(labels)]
