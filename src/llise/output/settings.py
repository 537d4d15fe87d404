"""Estimated settings of faults in words and with their units."""

from __future__ import annotations

import math

from llise.look.result import Fault, Interval
from llise.labels import MISALIGNMENT

FEW = 20
"""Number of pixels below which impulses are counted instead of given as a share."""

UNITS = {
    ("blur", "sigma"): (" px", 1.0),
    ("blur", "radius"): (" px", 1.0),
    ("blur", "length"): (" px", 1.0),
    ("blur", "angle"): ("°", 1.0),
    ("gaussian_noise", "sigma"): (" grey levels", 1.0),
    ("impulse_noise", "share"): (" % of the pixels", 100.0),
    ("impulse_noise", "salt"): (" % of the impulses", 100.0),
    ("luminance", "offset"): (" grey levels", 1.0),
    ("jpeg2000", "rate"): (" bits per pixel", 1.0),
    ("speckle_noise", "sigma"): (" grey levels", 1.0),
    ("pixelation", "cell"): (" px", 1.0),
    ("sharpening", "radius"): (" px", 1.0),
    ("content", "coverage"): (" % of the pixels", 100.0),
    (MISALIGNMENT, "shift_x"): (" px", 1.0),
    (MISALIGNMENT, "shift_y"): (" px", 1.0),
    (MISALIGNMENT, "rotation"): ("°", 1.0),
    (MISALIGNMENT, "scale"): (" %", 1.0),
    ("chroma_noise", "sigma"): (" levels", 1.0),
    ("chroma_blur", "sigma"): (" px", 1.0),
    ("color_cast", "mired"): (" mired", 1.0),
    **{("color_cast", f"{channel}_offset"): (" levels", 1.0) for channel in ("red", "green", "blue")},
}
"""Unit of each setting that has one, and the factor from its value to that unit."""

NARROW_WORDS = {
    "jpeg2000": ("rate", "{} bits per pixel", 1.0),
    "speckle_noise": ("sigma", "sigma {}", 1.0),
    "pixelation": ("cell", "{} px", 1.0),
    "quantization": ("levels", "{} levels", 1.0),
    "sharpening": ("amount", "amount {}", 1.0),
    "content": ("coverage", "{}% pixels", 100.0),
}
"""The one setting of a kind that a narrow column shows, how, and the factor from its value to the unit."""


def setting_words(kind: str, settings: dict[str, Interval], n_impulses: float = math.inf) -> str:
    """Write the settings of a kind for a narrow column.

    Parameters
    ----------
    kind : str
        The kind.
    settings : dict of str to Interval
        Its estimated settings by name.
    n_impulses : float
        Number of pixels that have impulses, if the kind is impulse noise.

    Returns
    -------
    str
        A few words; empty without settings.

    Examples
    --------
    >>> from llise.look.result import Interval
    >>> setting_words("blur", {"length": Interval(9.2, 8, 10), "angle": Interval(30, 25, 35)})
    '9.2 px at 30°'
    """
    at = {name: interval.value for name, interval in settings.items()}
    if kind in NARROW_WORDS and at:
        name, words, scale = NARROW_WORDS[kind]
        return words.format(number(scale * at[name]))
    if kind == MISALIGNMENT and at:
        parts = [f"{at['shift_x']:.2f}, {at['shift_y']:.2f} px"] if _is_shifted(settings) else []
        parts += [f"{at['rotation']:+.2f}°"] if at["rotation"] else []
        parts += [f"{at['scale']:+.2f}%"] if at["scale"] else []
        return ", ".join(parts)
    if "length" in at:
        return f"{number(at['length'])} px" + (f" at {at['angle']:.0f}°" if "angle" in at else "")
    if "radius" in at:
        return f"radius {number(at['radius'])} px"
    if kind == "impulse_noise" and "share" in at:
        return pixel_words(n_impulses) if n_impulses < FEW else f"{number(100 * at['share'])}% pixels"
    if kind == "luminance" and "offset" in at:
        return f"{'-' if at['offset'] < 0 else '+'}{number(abs(at['offset']))}"
    if kind == "blur" and "factor" in at:
        return f"reduced {number(at['factor'])} times"
    if kind == "blur" and "sigma" in at:
        return f"{number(at['sigma'])} px"
    if kind == "color_cast" and at:
        return _largest_change(at)
    if kind == "chroma_blur" and "sigma" in at:
        return f"{number(at['sigma'])} px"
    known = [name for name in ("quality", "sigma", "gain") if name in at] or list(at)[:1]
    return ", ".join(f"{name} {number(at[name])}" for name in known)


def misalignment_words(settings: dict[str, Interval]) -> str:
    """Say how a copy is misaligned.

    Parameters
    ----------
    settings : dict of str to Interval
        ``shift_x``, ``shift_y``, ``rotation`` and ``scale``.

    Returns
    -------
    str
        A part of a sentence.

    Examples
    --------
    >>> from llise.look.result import Interval
    >>> values = {"shift_x": 1.5, "shift_y": 0.0, "rotation": -0.3, "scale": 0.0}
    >>> misalignment_words({name: Interval(value, value, value) for name, value in values.items()})
    'shifted by (1.5, 0.0) px and turned clockwise by 0.3 degrees'
    """
    x, y, rotation, scale = (settings[name].value for name in ("shift_x", "shift_y", "rotation", "scale"))
    parts = [f"shifted by ({_hundredths(x)}, {_hundredths(y)}) px"] if _is_shifted(settings) else []
    if rotation:
        way = "counter-clockwise" if rotation > 0 else "clockwise"
        parts.append(f"turned {way} by {number(abs(rotation))} degrees")
    if scale:
        parts.append(f"{'larger' if scale > 0 else 'smaller'} by {number(abs(scale))} %")
    return " and ".join(parts)


def _is_shifted(settings: dict[str, Interval]) -> bool:
    """Whether a shift is worth mention: it is the only setting, or more than can be written."""
    x, y, *others = (settings[name].value for name in ("shift_x", "shift_y", "rotation", "scale"))
    return max(abs(x), abs(y)) >= 0.005 or not any(others)


def _hundredths(value: float) -> str:
    """A number with one digit behind the point, or two where the second is not zero; there is no minus zero."""
    text = f"{value:.2f}"
    text = text[:-1] if text.endswith("0") else text
    return "0.0" if text == "-0.0" else text


def _largest_change(at: dict[str, float]) -> str:
    """The change of temperature, or the channel that a colour cast changes most."""
    if "mired" in at:
        return f"{at['mired']:+.0f} mired"
    changes = {name: 100 * (value - 1) if name.endswith("_gain") else value for name, value in at.items()}
    name = max(changes, key=lambda name: abs(changes[name]))
    channel, _, setting = name.rpartition("_")
    return f"{channel} x {number(at[name])}" if setting == "gain" else f"{channel} {at[name]:+.0f}"


def setting_rows(fault: Fault) -> list[list[str]]:
    """List the estimated settings of a fault with their intervals.

    Parameters
    ----------
    fault : Fault
        The fault.

    Returns
    -------
    list of [kind, name, value, interval]
        What is shown of each setting; the interval is empty where its bounds are not known or equal.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.look.result import Fault, Interval
    >>> estimate = {"blur": {"sigma": Interval(2.1, 1.9, 2.3)}}
    >>> setting_rows(Fault(("blur",), 1.0, np.ones((1, 1), bool), (0, 0, 8, 8), 1.0, {"blur": 80.0}, estimate))
    [['blur', 'sigma', '2.1 px', '1.9 to 2.3']]
    """
    rows = []
    for kind, settings in fault.estimate.items():
        for name, interval in settings.items():
            unit, scale = UNITS.get((kind, name), ("", 1.0))
            value, low, high = (scale * bound for bound in interval)
            between = math.isfinite(low) and math.isfinite(high) and low < high
            bounds = f"{number(low, 3)} to {number(high, 3)}" if between else ""
            rows.append([kind, name, f"{number(value, 3)}{unit}", bounds])
    return rows


def impulse_count(fault: Fault, n_pixels: int) -> float:
    """Estimate how many pixels have impulses.

    Parameters
    ----------
    fault : Fault
        A fault of impulse noise, alone or in a mixture.
    n_pixels : int
        Number of pixels of the picture.

    Returns
    -------
    float
        A whole number; infinite where the share of impulses was not estimated.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.look.result import Fault, Interval
    >>> estimate = {"impulse_noise": {"share": Interval(3 / 64, 0.04, 0.05)}}
    >>> impulse_count(Fault(("impulse_noise",), 1.0, np.eye(2, dtype=bool), (0, 0, 16, 16), 1 / 64, {}, estimate), 4096)
    3.0
    """
    share = fault.estimate.get("impulse_noise", {}).get("share")
    return float(max(1, round(share.value * fault.area * n_pixels))) if share else math.inf


def number(value: float, digits: int = 2) -> str:
    """Write a number with some significant digits, or all digits before the decimal point if these are more.

    Parameters
    ----------
    value : float
        The number.
    digits : int
        Significant digits.

    Returns
    -------
    str
        Digits without an exponent and without zeros at the end.

    Examples
    --------
    >>> number(2.04), number(0.0123), number(345.6)
    ('2', '0.012', '346')
    """
    if value == 0:
        return "0"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{value:.{decimals}f}".rstrip("0").rstrip(".") if decimals > 0 else f"{value:.0f}"


def about(interval: Interval, scale: float = 1.0) -> str:
    """Write an estimate, or its bounds where they are far apart.

    Parameters
    ----------
    interval : Interval
        The estimate.
    scale : float
        Factor for all its numbers, 100 for per cent.

    Returns
    -------
    str
        The estimate in words.

    Examples
    --------
    >>> from llise.look.result import Interval
    >>> about(Interval(12, 10, 14)), about(Interval(12, 5, 30))
    ('about 12', '5 to 30')
    """
    value, low, high = (scale * bound for bound in interval)
    if low > 0 and abs(value) < high - low < math.inf:
        return f"{number(low)} to {number(high)}"
    return f"about {number(value)}"


def pixel_words(count: float) -> str:
    """Write a number of pixels.

    Parameters
    ----------
    count : float
        A whole number.

    Returns
    -------
    str
        The number and the noun.

    Examples
    --------
    >>> pixel_words(1), pixel_words(3)
    ('1 pixel', '3 pixels')
    """
    return f"{count:.0f} pixel{'' if count == 1 else 's'}"
