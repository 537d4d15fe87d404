"""Impulse noise: some pixels become black or white."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from llise.kinds.base import Draw, Kind, Path, SolvablePath, drawn
from llise.kinds.fitting import Fit, in_colour, random_fit
from llise.kinds.programs import draw_seed


@dataclass(frozen=True)
class ImpulseNoiseSettings:
    """A share of the pixels, or of the levels of each channel, becomes the `high` or the `low` level, or any level.

    `salt` is the chance of the high one. Where `any_level` holds, any level from low to high is as likely.
    """

    share: float
    salt: float = 0.5
    seed: int = 0
    whole: bool = True
    any_level: bool = False
    low: int = 0
    high: int = 255

    def words(self) -> dict[str, float]:
        return {"share": self.share} if self.any_level else {"share": self.share, "salt": self.salt}


class ImpulseNoise(Kind):
    """Pixels at random places become black or white with equal chance; the strength is the share of pixels hit.

    At random, the share of white pixels among those that are hit is one half or anything between none and all.
    Parameters of a draw are ``share``, the share of pixels hit, and ``salt``, the chance that one of them is
    white. The strength of a draw is the root of the share, since the error grows in proportion to the share.
    """

    name = "impulse_noise"
    title = short_title = "impulse noise"
    strongest = 1.0
    Settings = ImpulseNoiseSettings
    exact = True
    units: ClassVar = {"share": (" % of the pixels", 100.0), "salt": (" % of the impulses", 100.0)}
    letter, page_color = "I", "#d55e00"

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        return _OrderedImpulses(image, rng)

    def draw(self, image: np.ndarray, rng: np.random.Generator) -> Draw:
        salt = float(rng.choice([0.5, 0.0, 1.0, rng.uniform(0, 1)], p=[0.45, 0.06, 0.06, 0.43]))
        whole, any_level = bool(rng.random() < 0.5), bool(rng.random() < 0.22)
        low, high = 0, 255
        if not any_level and rng.random() < 0.1:
            low, high = int(rng.integers(0, 40)), int(rng.integers(216, 256))
        settings = ImpulseNoiseSettings(0.0, 0.5 if any_level else salt, draw_seed(rng), whole, any_level, low, high)
        return drawn(self, image, lambda s: replace(settings, share=s * s), 0.6, lambda e: (e / 18000) ** 0.5)

    def apply(self, image: np.ndarray, settings: ImpulseNoiseSettings) -> np.ndarray:
        rng = np.random.default_rng(settings.seed)
        shape = (*image.shape[:2], *[1] * (image.ndim - 2)) if settings.whole else image.shape
        hit = rng.random(shape, np.float32) < settings.share
        if settings.any_level:  # of whole pixels, each channel becomes any level
            values = rng.integers(settings.low, settings.high + 1, image.shape, dtype=np.uint8)
        else:
            white = rng.random(shape, np.float32) < settings.salt
            values = np.where(white, np.uint8(settings.high), np.uint8(settings.low))
        return np.where(hit, values, image)

    def fit(self, reference: np.ndarray, copy: np.ndarray, mask: np.ndarray, start: object = None) -> Fit | None:
        before, after = in_colour(reference), in_colour(copy)
        found = measure_impulses(before, after, mask)
        if found is None:
            return None
        settings, hit, count = found
        seen = max(count, 1)
        reach = 1.645 * ((settings.share + 2 / seen) * (1 - settings.share) / seen) ** 0.5 + 1 / seen
        intervals = {"share": (max(settings.share - reach, 0.0), min(settings.share + reach, 1.0))}
        if not settings.any_level:
            hits = max(settings.share * seen, 1.0)
            apart = 1.645 * (max(settings.salt * (1 - settings.salt), 1 / hits) / hits) ** 0.5 + 0.005
            intervals["salt"] = (max(settings.salt - apart, 0.0), min(settings.salt + apart, 1.0))
        values = after.reshape(copy.shape)
        hit = hit.reshape(copy.shape)

        def power(image: np.ndarray) -> np.ndarray:
            """Where the impulses are is known, so what they add is too."""
            if image.shape != hit.shape:
                return np.full(image.shape, settings.share * 128.0**2, np.float32)
            return np.where(hit, (values - image) ** 2, np.float32(0))

        return random_fit(self, settings, intervals, power)


def measure_impulses(
    before: np.ndarray, after: np.ndarray, mask: np.ndarray
) -> tuple[ImpulseNoiseSettings, np.ndarray, int] | None:
    """Find single levels that were hit in images (h, w, channels): settings, levels hit, number of those looked at."""
    error = after - before
    looked = np.broadcast_to(mask[..., None], error.shape)
    inner = looked & (after > 0) & (after < 255)
    usual = error[inner] if np.count_nonzero(inner) > 0.2 * np.count_nonzero(looked) else error[looked]
    least = 5 * 1.4826 * float(np.median(np.abs(usual))) + 0.5 if usual.size else 0.5
    hit = _scattered(looked & (np.abs(error) > least), looked)
    count = int(np.count_nonzero(hit))
    if count == 0:
        return None
    low, high = (_most_frequent(after[hit & (sign * error > 0)], other) for sign, other in ((-1, 0), (1, 255)))
    at_levels = hit & np.isin(after, [low, high])
    whole = hit.shape[2] > 1 and hit.all(axis=2).sum() > 0.35 * hit.any(axis=2).sum()
    seen = int(np.count_nonzero(mask)) * (1 if whole else hit.shape[2])
    if np.count_nonzero(at_levels) < 0.6 * count and count > 8:
        share = float((hit.any(axis=2) if whole else hit).sum()) / seen * (1 + 2 * least / 256) ** (not whole)
        return ImpulseNoiseSettings(min(share, 1.0), whole=bool(whole), any_level=True), hit, seen
    shares = []
    for level in (high, low):  # white impulses cannot be seen on white
        visible = int(np.count_nonzero(looked & (np.abs(before - level) > least)))
        shares.append(int(np.count_nonzero(hit & (after == level))) / max(visible, 1))
    share = max(sum(shares), 1e-9)
    settings = ImpulseNoiseSettings(min(share, 1.0), shares[0] / share, whole=bool(whole), low=low, high=high)
    return settings, at_levels, seen


def _most_frequent(values: np.ndarray, otherwise: int) -> int:
    return int(np.bincount(values.astype(np.intp)).argmax()) if values.size else otherwise


def _scattered(far: np.ndarray, looked: np.ndarray) -> np.ndarray:
    """Those pixels around which no more are far than chance puts there."""
    from scipy.ndimage import uniform_filter  # only here: slow to import

    if not far.any():
        return far
    around = np.rint(9 * uniform_filter(far.astype(np.float32), (3, 3, 0), mode="constant")) - far
    kept = far
    for _ in range(3):
        share = float(kept.sum()) / max(int(np.count_nonzero(looked)), 1)
        kept = far & (around <= 8 * share + 3.5 * (8 * share * (1 - share)) ** 0.5 + 1)
    return kept


class _OrderedImpulses(SolvablePath):
    """Pixels become 0 or 255 in a random order; a stronger copy hits the same pixels and more."""

    def __init__(self, image: np.ndarray, rng: np.random.Generator) -> None:
        self.image = image
        self.order = rng.permutation(image.size)
        self.values = np.where(rng.random(image.size) < 0.5, np.uint8(255), np.uint8(0))

    def __call__(self, strength: float) -> np.ndarray:
        hit = self.order[: round(strength * self.image.size)]
        copy = self.image.copy()
        copy.reshape(-1)[hit] = self.values[hit]
        return copy

    def solve(self, reference: np.ndarray, wanted: float) -> float:
        """Return the share of pixels whose error comes nearest: the error is a running sum along the order."""
        clean = reference.ravel().astype(np.int32)
        before = (self.image.ravel() - clean) ** 2
        gain = ((self.values - clean) ** 2 - before)[self.order]
        need = wanted * clean.size - before.sum(dtype=np.int64)
        total = np.cumsum(gain, dtype=np.int64)
        if total[-1] <= need or need <= 0:
            return float(need > 0)
        count = max(int(np.argmax(total > need)) - 1, 0)
        gap = need - (total[count - 1] if count else 0)
        chosen = best_fill(gain[count:], gap)
        left = self.order[count:]
        for place, index in enumerate(sorted(chosen)):
            left[place], left[index] = left[index], left[place]
        return (count + len(chosen)) / clean.size


def best_fill(values: np.ndarray, gap: float) -> list[int]:
    """Choose no value, one value or two values, whichever sum lies nearest to a gap."""
    least = int(values.min())
    counts = np.bincount(values - least)
    distinct = np.flatnonzero(counts)
    counts, distinct = counts[distinct], distinct + least
    misses = np.abs(distinct - gap)
    options = [[], [min(_place(values, v) for v in distinct[misses == misses.min()])]]
    partner = np.searchsorted(distinct, gap - distinct).clip(max=distinct.size - 1)
    itself = partner == np.arange(distinct.size)
    misses = np.abs(distinct + distinct[partner] - gap)
    misses[itself & (counts == 1)] = np.inf
    if np.isfinite(misses.min()):
        pairs = [
            [_place(values, distinct[i], int(itself[i])), _place(values, distinct[partner[i]])]
            for i in np.flatnonzero(misses == misses.min())
        ]
        options.append(min(pairs))
    return min(options, key=lambda option: abs(values[option].sum() - gap))


def _place(values: np.ndarray, value: int, number: int = 0) -> int:
    """Index of the first value of this size, or of a later one by its number."""
    places = values == value
    return int(np.flatnonzero(places)[number] if number else places.argmax())
