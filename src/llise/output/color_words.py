"""Faults of colour in words."""

from __future__ import annotations

from collections.abc import Mapping

from llise.diagnosis.result import Interval
from llise.kinds import registry
from llise.output.settings import about, number

CHANNELS = ("red", "green", "blue")


def color_words(kind: str, settings: Mapping[str, Interval], alone: bool = True) -> str:
    """Name a fault of colour and its settings in a sentence."""
    at = {name: interval.value for name, interval in settings.items()}
    title = registry.get(kind).title
    if kind == "saturation" and "factor" in at:
        if abs(at["factor"]) < 0.03:
            return "all colour removed"
        change = "raised" if at["factor"] > 1 else "reduced"
        return _with(f"{change} saturation", f"factor about {number(at['factor'])}", alone)
    if kind == "color_cast" and (words := cast_words(at)):
        return _with(title, words, alone)
    if kind == "chroma_noise" and "sigma" in at:
        return _with(title, f"deviation {about(settings['sigma'])} levels", alone)
    if kind == "chroma_blur" and "sigma" in at:
        return f"{title} of {about(settings['sigma'])} px"
    return title


def cast_words(at: Mapping[str, float]) -> str:
    """Write the channels that a colour cast changes."""
    words = []
    for channel in CHANNELS:
        gain, offset = at.get(f"{channel}_gain", 1.0), at.get(f"{channel}_offset", 0.0)
        parts = [f"x {number(gain)}"] if abs(gain - 1) >= 0.005 else []
        parts += [f"{'-' if offset < 0 else '+'} {number(abs(offset))}"] if abs(offset) >= 0.5 else []
        words += [f"{channel} {' '.join(parts)}"] if parts else []
    mired = f" ({at['mired']:+.0f} mired)" if "mired" in at else ""
    return ", ".join(words) + mired


def _with(noun: str, setting: str, alone: bool) -> str:
    return f"{noun}, {setting}" if alone else f"{noun} ({setting})"
