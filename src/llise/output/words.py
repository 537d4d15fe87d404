"""A diagnosis in a person's words: names, places and strengths of faults, and one sentence for all of them."""

from __future__ import annotations

import math

import numpy as np

from llise.diagnosis.result import Diagnosis, Fault, Interval
from llise.labels import COLOR_KINDS, MISALIGNMENT, UNKNOWN
from llise.output.color_words import color_words
from llise.output.label_words import COLOURS, NAMES, NOUNS, kind_noun  # noqa: F401 (others import them from here)
from llise.output.settings import FEW, about, impulse_count, misalignment_words, number, pixel_words

STRENGTHS = ((30, "slight"), (150, "moderate"), (600, "strong"), (math.inf, "severe"))
"""Words for an MSE up to each bound."""

DOUBTFUL = 0.8
"""Confidence below which an answer is shown as doubtful."""

WHOLE = 0.97
"""Share of the area from which a region counts as the whole picture."""

PLACES = (
    ("upper left", "top", "upper right"),
    ("left", "middle", "right"),
    ("lower left", "bottom", "lower right"),
)
"""Names of the ninths of a picture."""


def verdict_sentence(diagnosis: Diagnosis) -> str:
    """Say in one sentence what is wrong, how strongly and where, and where that is doubtful.

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
    >>> import numpy as np
    >>> from llise.diagnosis.result import Fault, Interval
    >>> fault = Fault(("jpeg",), 0.97, np.ones((8, 8), bool), (0, 0, 64, 64), 1.0, {"jpeg": 80.0},
    ...               {"jpeg": {"quality": Interval(12, 10, 14)}})
    >>> verdict_sentence(SimpleNamespace(faults=[fault], is_copy=True, image=np.zeros((64, 64))))
    'JPEG compression, quality about 12, over the whole picture.'
    """
    if not diagnosis.is_copy:
        return "This does not look like a copy of the reference."
    if not diagnosis.faults:
        return "No difference beyond rounding."
    height, width = diagnosis.image.shape[:2]
    n_pixels = height * width
    text = "; ".join(fault_phrase(fault, n_pixels) for fault in diagnosis.faults)
    return f"{text[0].upper()}{text[1:]}."


def fault_phrase(fault: Fault, n_pixels: int) -> str:
    """Say what one fault is and where; a doubtful one says how doubtful it is."""
    alone = len(fault.kinds) == 1
    words = " and ".join(_kind_words(kind, fault, n_pixels, alone) for kind in fault.kinds)
    pause = "," if alone and _ends_with_setting(fault) else ""
    phrase = words if fault.kinds == (MISALIGNMENT,) else f"{words}{pause} {_place_phrase(fault, n_pixels)}"
    if fault.confidence >= DOUBTFUL:
        return phrase
    doubt = "probably" if fault.confidence >= 0.5 else "possibly"
    return f"{doubt} {phrase}, {100 * fault.confidence:.0f} % confident"


def place_words(fault: Fault) -> str:
    """Name the part of the picture in which the region lies."""
    if fault.area >= WHOLE or fault.is_whole:
        return "whole picture"
    at = (np.argwhere(fault.region) + 0.5) / fault.region.shape
    row, col = (int(third) for third in np.minimum(3 * at.mean(axis=0), 2))
    # "top" says nothing about left or right, so that the region may be as wide as it likes.
    inside = np.ones(len(at), bool)
    for values, third in ((at[:, 0], row), (at[:, 1], col)):
        if third != 1 or row == col == 1:
            low, high = ((0.0, 0.5), (0.2, 0.8), (0.5, 1.0))[third]
            inside &= (values >= low) & (values <= high)
    if inside.mean() >= 0.5 and not (row == col == 1 and fault.area >= 0.5):
        return PLACES[row][col]
    return "most of it" if fault.area >= 0.5 else "scattered"


def strength_word(mse: float) -> str:
    """Name a severity."""
    return next(word for bound, word in STRENGTHS if mse < bound)


def area_words(area: float) -> str:
    """Write a share of the picture in per cent."""
    percent = 100 * area
    if percent < 0.1:
        return "<0.1 %"
    return f"{percent:.1f} %" if percent < 0.95 else f"{percent:.0f} %"


def _place_phrase(fault: Fault, n_pixels: int) -> str:
    place = place_words(fault)
    if place == "whole picture":
        return "over the whole picture"
    phrase = {"most of it": "over most of the picture", "scattered": "in several places", "middle": "in the middle"}
    words = phrase.get(place, f"at the {place}")
    if fault.kinds == ("impulse_noise",) and impulse_count(fault, n_pixels) < FEW:
        return words
    return f"{words} ({area_words(fault.area).replace('<', 'less than ')} of the area)"


def _kind_words(kind: str, fault: Fault, n_pixels: int, alone: bool) -> str:
    """Kind and settings; after another kind, or before one, the settings stand in brackets."""
    settings = fault.estimate.get(kind, {})
    noun = kind_noun(kind)
    if kind in FURTHER_WORDS and settings:
        return FURTHER_WORDS[kind](noun, settings, alone)
    if kind == MISALIGNMENT and settings:
        return misalignment_words(settings)
    if "length" in settings:
        angle = f" at {settings['angle'].value:.0f} degrees" if "angle" in settings else ""
        return f"motion blur of {about(settings['length'])} px{angle}"
    if "radius" in settings:
        return f"lens blur of radius {number(settings['radius'].value)} px"
    if kind == "blur" and "sigma" in settings:
        width = f"blur of {about(settings['sigma'])} px"
        if "factor" in settings:
            return _with(width, f"reduced by a factor of {about(settings['factor'])} and enlarged again", alone)
        return width
    if kind == "jpeg" and "quality" in settings:
        return _with(noun, f"quality {about(settings['quality'])}", alone)
    if kind == "contrast" and "gain" in settings:
        gain = settings["gain"].value
        change = "inverted" if gain < 0 else "raised" if gain > 1 else "reduced"
        return _with(f"{change} contrast", f"gain about {number(gain)}", alone)
    if kind == "luminance" and "offset" in settings:
        offset = settings["offset"].value
        shift = f"{'darker' if offset < 0 else 'lighter'} by about {number(abs(offset))} grey levels"
        return shift if alone else f"{noun} ({shift})"
    if kind == "gaussian_noise" and "sigma" in settings:
        deviation = about(settings["sigma"])
        return f"{noun} with a deviation of {deviation} grey levels" if alone else f"{noun} (deviation {deviation})"
    if kind == "impulse_noise" and "share" in settings:
        count = impulse_count(fault, n_pixels)
        share = f"{about(settings['share'], 100)} % of the pixels"
        return f"{noun} in {pixel_words(count) if count < FEW else share}"
    if kind == UNKNOWN:
        return _unknown_words(fault)
    if kind in COLOR_KINDS:
        return color_words(kind, settings, alone)
    words = f"{strength_word(fault.severity.get(kind, 0.0))} {noun}"
    return f"{words} (strength {about(settings['strength'])})" if "strength" in settings else words


def _jpeg2000_words(noun: str, settings: dict[str, Interval], alone: bool) -> str:
    return _with(noun, f"{about(settings['rate'])} bits per pixel", alone)


def _speckle_words(noun: str, settings: dict[str, Interval], alone: bool) -> str:
    strength = f"sigma {about(settings['sigma'])} at mid-grey"
    growth = growth_words(settings["exponent"].value)
    return f"{noun}, {strength} ({growth})" if alone else f"{noun} ({strength}, {growth})"


def growth_words(exponent: float) -> str:
    """Name the way in which noise grows with the grey level."""
    if exponent >= MULTIPLICATIVE:
        return "multiplicative"
    return "Poisson" if abs(exponent - 0.5) <= 0.15 else f"as the grey level to the power {number(exponent)}"


def _pixelation_words(noun: str, settings: dict[str, Interval], alone: bool) -> str:
    cells = f"cells of {number(settings['cell'].value)} px"
    return f"pixelated, {cells}" if alone else f"{noun} ({cells})"


def _quantization_words(noun: str, settings: dict[str, Interval], alone: bool) -> str:
    levels = f"{number(settings['levels'].value)} levels"
    return f"posterised to {levels}" if alone else f"{noun} ({levels})"


def _sharpening_words(noun: str, settings: dict[str, Interval], alone: bool) -> str:
    amount, radius = (number(settings[name].value) for name in ("amount", "radius"))
    return f"{'sharpened' if alone else noun} (amount {amount}, radius {radius} px)"


def _content_words(noun: str, settings: dict[str, Interval], alone: bool) -> str:
    return noun


FURTHER_WORDS = {
    "jpeg2000": _jpeg2000_words,
    "speckle_noise": _speckle_words,
    "pixelation": _pixelation_words,
    "quantization": _quantization_words,
    "sharpening": _sharpening_words,
    "content": _content_words,
}
"""How each of the kinds that are not in the paper is said with its settings."""

MULTIPLICATIVE = 0.8
"""Power of the grey level from which noise is called multiplicative."""


def _unknown_words(fault: Fault) -> str:
    """What can be said of a fault without a name: how strong it is, how it looks, what it is nearest to."""
    adjectives = [nature for nature in fault.nature if " " not in nature]
    grid = " on the 8x8 grid" if len(adjectives) < len(fault.nature) else ""
    words = f"{', '.join([strength_word(fault.severity.get(UNKNOWN, 0.0)), *adjectives])} {NOUNS[UNKNOWN]}{grid}"
    if not fault.nearest_kinds:
        return words
    return f"{words}, nearest to {' and '.join(kind_noun(kind) for kind in fault.nearest_kinds)},"


def _with(noun: str, setting: str, alone: bool) -> str:
    return f"{noun}, {setting}" if alone else f"{noun} ({setting})"


def _ends_with_setting(fault: Fault) -> bool:
    """Whether a comma belongs between the words for the only kind and those for the place."""
    (kind,) = fault.kinds
    settings = fault.estimate.get(kind, {})
    settings_first = ("quality", "gain", "angle", "rate", "exponent", "cell", "factor", "red_gain", "red_offset")
    return any(name in settings for name in settings_first)
