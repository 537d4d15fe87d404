"""How much of each kind a gate may allow: which setting is limited, in which unit and in which direction.

The table imports none of the kinds, so that a limit can be checked before they are loaded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from llise.kinds.sources import sources


@dataclass(frozen=True)
class Limit:
    """The limit of one kind."""

    words: str
    value: Callable[[Mapping[str, float]], float]
    at_least: bool = False
    highest: float = 255.0

    def holds(self, value: float, limit: float) -> bool:
        """Tell whether a number keeps the limit."""
        return value >= limit if self.at_least else value <= limit


def limit_of(kind: str) -> Limit | None:
    """Return the limit of a kind."""
    if kind in LIMITS:
        return LIMITS[kind]
    strongest = next((getattr(source, "strongest", None) for source in sources() if source.name == kind), None)
    return None if strongest is None else Limit("strength {} at most", lambda at: at["strength"], highest=strongest)


def _largest_change(at: Mapping[str, float]) -> float:
    """Largest change of a channel: of its gain in per cent, or of its offset in levels."""
    changes = [100 * abs(value - 1) for name, value in at.items() if name.endswith("_gain")]
    changes += [abs(value) for name, value in at.items() if name.endswith("_offset")]
    if not changes:
        raise KeyError("gain")
    return max(changes)


LIMITS = {
    "contrast": Limit("a gain that differs from 1 by {} at most", lambda at: abs(at["gain"] - 1)),
    "gaussian_noise": Limit("a deviation of {} grey levels at most", lambda at: at["sigma"]),
    "luminance": Limit("{} grey levels lighter or darker at most", lambda at: abs(at["offset"])),
    "blur": Limit("{} px at most", lambda at: at["sigma"]),
    "impulse_noise": Limit("{} % of the pixels at most", lambda at: 100 * at["share"], highest=100.0),
    "misalignment": Limit(
        "a shift of {} px at most, neither turned nor scaled",
        lambda at: math.inf if at["rotation"] or at["scale"] else math.hypot(at["shift_x"], at["shift_y"]),
    ),
    "jpeg": Limit("quality {} or better", lambda at: at["quality"], at_least=True, highest=100.0),
    "jpeg2000": Limit("{} bits per pixel or more", lambda at: at["rate"], at_least=True, highest=8.0),
    "speckle_noise": Limit("a deviation of {} grey levels at most at mid-grey", lambda at: at["sigma"]),
    "pixelation": Limit("cells of {} px at most", lambda at: at["cell"]),
    "quantization": Limit("{} levels or more", lambda at: at["levels"], at_least=True, highest=256.0),
    "sharpening": Limit("an amount of {} at most", lambda at: at["amount"]),
    "content": Limit("{} % of the pixels at most", lambda at: 100 * at["coverage"], highest=100.0),
    "saturation": Limit("a factor that differs from 1 by {} at most", lambda at: abs(at["factor"] - 1)),
    "color_cast": Limit("a change of a channel by {} % or levels at most", lambda at: _largest_change(at)),
    "chroma_noise": Limit("a deviation of {} levels of chroma at most", lambda at: at["sigma"]),
    "chroma_blur": Limit("{} px of chroma at most", lambda at: at["sigma"]),
}
"""Limit of each kind that has one.

The settings are those of :meth:`llise.kinds.base.Kind.estimate`. The ``sigma`` of a blur is the standard deviation of
its kernel in pixels; for a lens blur that is half of the radius, for a motion blur the length over the root of 24. A
share of pixels, like every setting, is that inside the region of the fault.
"""
