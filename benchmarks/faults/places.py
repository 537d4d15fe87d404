"""Where foreign programs put content, and what they draw there: one to three boxes, apart from each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

GAP = 16
"""Least distance of two places in pixels."""

TEXTS = ("Sample", "PROOF 24", "(c) 2019", "Preview", "draft 3", "not for sale", "12:47:09", "CAM 2")


@dataclass(frozen=True)
class Place:
    """A box in a picture and what to draw there.

    Attributes
    ----------
    top, left, height, width : int
        In pixels.
    grey : int
        Grey level to draw with: far from the mean of the box.
    text : str
        Text to write.
    """

    top: int
    left: int
    height: int
    width: int
    grey: int
    text: str

    @property
    def bottom(self) -> int:
        """Row below the box."""
        return self.top + self.height

    @property
    def right(self) -> int:
        """Column to the right of the box."""
        return self.left + self.width


def draw_places(image: np.ndarray, seed: int, scale: float) -> list[Place]:
    """Draw one to three places that do not overlap."""
    rng = np.random.default_rng(seed)
    places: list[Place] = []
    wanted = int(rng.integers(1, 4))
    for _ in range(30):
        sides = [max(round(float(side * n * scale)), 4) for side, n in zip(rng.uniform(0.08, 0.4, 2), image.shape)]
        top, left = (int(at * max(n - side, 1)) for at, n, side in zip(rng.random(2), image.shape, sides))
        grey, text = int(rng.choice([0, 255, rng.integers(256)])), str(rng.choice(TEXTS))
        apart = all(
            max(top - p.bottom, p.top - top - sides[0], left - p.right, p.left - left - sides[1]) >= GAP for p in places
        )
        if apart and len(places) < wanted:
            mean = image[top : top + sides[0], left : left + sides[1]].mean()
            grey = grey if abs(grey - mean) > 50 else int(mean + 128) % 256
            places.append(Place(top, left, sides[0], sides[1], grey, text))
    return places
