"""How kinds and strengths of distortions are named and coloured, and a diagnosis as one sentence."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from llise.kinds import registry
from llise.labels import KINDS

if TYPE_CHECKING:
    from llise.diagnosis import Diagnosis

COLOURS = ("#009e73", "#e69f00", "#56b4e9", "#f0e442", "#0072b2", "#d55e00", "#cc79a7")
"""The palette of Okabe and Ito, distinguishable with every kind of colour vision; in the order of LABELS."""

NAMES = {"original": "original"} | {kind: registry.get(kind).short_title for kind in KINDS}
"""Name of each label in a table."""

NOUNS = {"original": "original"} | {kind: registry.get(kind).title for kind in KINDS}
"""Name of each distortion after a word for its strength."""

STRENGTHS = ((30, "slight"), (150, "moderate"), (600, "strong"), (math.inf, "severe"))
"""Words for an MSE up to each bound."""


def verdict_sentence(diagnosis: Diagnosis) -> str:
    """Say in one sentence what is wrong, how strongly, where, and how certain that is.

    Parameters
    ----------
    diagnosis : Diagnosis
        The diagnosis of one image.

    Returns
    -------
    str
        One sentence.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> verdict_sentence(SimpleNamespace(verdict=("blur",), confidence=0.93, severity={"blur": 312.4},
    ...                                  block_severity=np.ones((8, 8))))
    'Strong blur (MSE 312), 93 % confident.'
    """
    confidence = f"{100 * diagnosis.confidence:.0f} % confident"
    if diagnosis.verdict == ("original",):
        return f"No distortion found: a faithful copy of the reference, {confidence}."
    kinds = []
    for kind in diagnosis.verdict:
        mse = diagnosis.severity[kind]
        kinds.append(f"{strength_word(mse)} {NOUNS[kind]} (MSE {mse:.0f})")
    text = " and ".join(kinds)
    return f"{text[0].upper()}{text[1:]}{_place(diagnosis.block_severity)}, {confidence}."


def strength_word(mse: float) -> str:
    """Name a severity.

    Parameters
    ----------
    mse : float
        Mean squared error on the scale 0..255.

    Returns
    -------
    str
        One of the words in ``STRENGTHS``.

    Examples
    --------
    >>> strength_word(20), strength_word(700)
    ('slight', 'severe')
    """
    return next(word for bound, word in STRENGTHS if mse < bound)


def _place(severity: np.ndarray) -> str:
    """Name the ninth of the picture that is much worse than the mean, if there is one."""
    if min(severity.shape) < 3:
        return ""
    ninths = np.array([[part.mean() for part in np.array_split(row, 3, axis=1)] for row in np.array_split(severity, 3)])
    row, col = np.unravel_index(ninths.argmax(), ninths.shape)
    if ninths[row, col] < 1.5 * severity.mean():
        return ""
    place = " ".join(filter(None, [("top", "", "bottom")[row], ("left", "", "right")[col]])) or "centre"
    return f", most at the {place}"
