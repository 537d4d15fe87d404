"""Estimated settings of faults in words and with their units."""

from __future__ import annotations

import math

from llise.diagnosis.result import Fault, Interval
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
    """Write the settings of a kind for a narrow column."""
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
    """Say how a copy is misaligned."""
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
    """List the estimated settings of a fault with their intervals."""
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
    """Estimate how many pixels have impulses."""
    share = fault.estimate.get("impulse_noise", {}).get("share")
    return float(max(1, round(share.value * fault.area * n_pixels))) if share else math.inf


def number(value: float, digits: int = 2) -> str:
    """Write a number with some significant digits, or all digits before the decimal point if these are more."""
    if value == 0:
        return "0"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{value:.{decimals}f}".rstrip("0").rstrip(".") if decimals > 0 else f"{value:.0f}"


def about(interval: Interval, scale: float = 1.0) -> str:
    """Write an estimate, or its bounds where they are far apart."""
    value, low, high = (scale * bound for bound in interval)
    if low > 0 and abs(value) < high - low < math.inf:
        return f"{number(low)} to {number(high)}"
    return f"about {number(value)}"


def pixel_words(count: float) -> str:
    """Write a number of pixels."""
    return f"{count:.0f} pixel{'' if count == 1 else 's'}"
