"""Order and colours of any classes."""

from __future__ import annotations

import colorsys
import re
from collections.abc import Iterable

PALETTE = (
    "#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#332288", "#b8a800", "#882255", "#44aa99",
    "#999999", "#661100",
)  # fmt: skip
"""Okabe and Ito's palette, then Tol's, which differ with every kind of colour vision."""

NUMBERS = re.compile(r"(\d+)")
GOLDEN = 0.618034  # turns between the hues of further classes: never near one of the last


def class_colours(count: int) -> list[str]:
    """Colours of classes; those beyond the palette go around the circle of hues, light and dark by turns."""
    colours = list(PALETTE[:count])
    for number in range(count - len(colours)):
        red, green, blue = colorsys.hls_to_rgb((number * GOLDEN) % 1, (0.42, 0.6, 0.3)[number % 3], 0.65)
        colours.append(f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}")
    return colours


def in_order(classes: Iterable[str]) -> list[str]:
    """Classes sorted, with the numbers in their names by value: s2 comes before s10."""
    return sorted(
        classes,
        key=lambda name: [
            (part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in NUMBERS.split(name)
        ],
    )
