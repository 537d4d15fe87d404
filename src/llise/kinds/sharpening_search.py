"""Which program's sharpening, and how strong, comes nearest to a copy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from llise.colours import WEIGHTS
from llise.kinds.estimation import AS_GOOD, EXACT, RESOLUTION, Pair, Trials
from llise.kinds.fitting import ROUNDING, interval
from llise.kinds.grey import quantise
from llise.kinds.sharpening_programs import FIXED, KERNELS, SharpeningSettings, detail, sharpened

WINDOW, MARGIN = 80, 16
"""Side in pixels of the window in which programs are compared, and what is kept about it for filters."""

RADII = (0.4, 0.65, 1.05, 1.7, 2.8, 4.6)
"""Radii from which the search starts."""

KEPT = 3
"""Programs whose radius is refined."""

Intervals = dict[str, tuple[float, float]]


def find_sharpening(pair: Pair, start: SharpeningSettings | None = None) -> tuple[SharpeningSettings, Intervals] | None:
    """The settings of least squared error and the intervals of their words; None where edges lost contrast."""
    luma = pair.before.ndim == 3 and _is_of_luma(pair)
    whole = pair.cut(WINDOW, MARGIN)
    best, found = _found(_luma(whole) if luma else whole.plane(), start)
    if best.amount <= 0:
        return None
    if pair.before.ndim == 3:
        alone, of_luma = (whole.error(sharpened(whole.before, replace(best, luma=mode))) for mode in (False, True))
        if (of_luma < alone) != luma:
            luma = not luma
            best, found = _found(_luma(whole) if luma else whole.plane(), start)
    return (replace(best, luma=luma), found) if best.amount > 0 else None


def _found(part: Pair, start: SharpeningSettings | None) -> tuple[SharpeningSettings, Intervals]:
    """The best settings on a plane."""
    trials = Trials(part, lambda one: _made(part.before, one))
    first = [_scaled(part, one) for one in candidates()]
    if max(one.amount for one in first) <= 0:
        return first[0], {}
    ranked = sorted(first, key=trials.left)[:KEPT]
    if start is not None:
        ranked.append(replace(start, luma=False))
    ranked = [trials.improved(one, fields_of(one), 3) for one in ranked]
    best = trials.best(ranked)
    if trials.left(best) > EXACT:
        more = sorted(_variants(part, trials, ranked), key=trials.left)[:2]
        ranked += [trials.improved(one, fields_of(one), 3) for one in more]
        best = trials.best(ranked)
    best, deviations = trials.polished(best, fields_of(best), 5)
    if best.way == "pillow_unsharp":
        best = _in_whole_per_cent(trials, replace(best, amount=round(best.amount, 2)))
    found = {name: interval(value, deviations[name], RESOLUTION * value) for name, value in best.words().items()}
    gaussian = "unsharp", "pillow_unsharp"
    for one in ranked:
        alike = one.way == best.way or (one.way in gaussian and best.way in gaussian)
        if alike and trials.left(one) <= AS_GOOD * trials.left(best) + ROUNDING:
            for name in found.keys() & one.words().keys():
                value = one.words()[name]
                found[name] = min(found[name][0], value), max(found[name][1], value)
    return best, found


def _in_whole_per_cent(trials: Trials, best: SharpeningSettings) -> SharpeningSettings:
    """The best amount and radius near by: Pillow rounds so much that slopes do not tell the way."""
    for reach in (0.03, 0.01, 0.003):
        amount = max(round(reach * best.amount, 2), 0.01)
        moved = True
        while moved:
            near = [(a, r) for a in (-amount, 0.0, amount) for r in (1 - reach, 1.0, 1 + reach)]
            other = trials.best(
                replace(best, amount=round(best.amount + a, 2), radius=best.radius * r) for a, r in near
            )
            moved = trials.left(other) < trials.left(best)
            best = other if moved else best
    return best


def fields_of(settings: SharpeningSettings) -> tuple[str, ...]:
    """The numbers of a way that are not whole."""
    if settings.way in ("kernel", "fixed", "median"):
        return ("amount",)
    if settings.way == "unsharp" and settings.threshold:
        return "amount", "radius", "threshold"
    return ("amount", "radius", "shape") if settings.way == "frequencies" and settings.shape else ("amount", "radius")


def _is_of_luma(pair: Pair) -> bool:
    """Whether all channels changed alike."""
    free = pair.mask & ((pair.after > 0) & (pair.after < 255)).all(axis=2)
    change = (pair.after - pair.before)[free]
    spread = change - change.mean(axis=1, keepdims=True)
    return bool(np.mean(spread**2) < 0.02 * np.mean(change**2) + 2 * ROUNDING)


def _luma(pair: Pair) -> Pair:
    """The luma, and with what all channels that are not clipped got on average; pixels without any are left out."""
    free = (pair.after > 0) & (pair.after < 255)
    change = np.where(free, pair.after - pair.before, 0).sum(axis=2) / np.maximum(free.sum(axis=2), 1)
    luma = pair.before @ WEIGHTS
    return Pair(luma, luma + change, pair.mask & free.any(axis=2))


def candidates() -> Iterator[SharpeningSettings]:
    for radius in RADII:
        yield SharpeningSettings("unsharp", 1.0, radius)
        yield SharpeningSettings("frequencies", 1.0, radius)
    yield from (SharpeningSettings("kernel", 1.0, kernel=name) for name in KERNELS)
    yield from (SharpeningSettings("fixed", 1.0, kernel=name) for name in FIXED)
    yield from (SharpeningSettings("median", 1.0, side) for side in (3.0, 5.0))
    yield from (SharpeningSettings("deconvolution", 1.0, radius, shape=5.0) for radius in (0.7, 1.2, 1.8))


def _variants(part: Pair, trials: Trials, ranked: list[SharpeningSettings]) -> Iterator[SharpeningSettings]:
    """With a threshold, by Pillow, by a response of another order, or by other rounds of deconvolution."""
    smooth = [one for one in ranked if one.way in ("unsharp", "frequencies")]
    if smooth:
        best = trials.best(smooth)
        for threshold in (0.0, 2.0, 3.0, 5.0):
            yield replace(best, way="pillow_unsharp", amount=round(best.amount, 2), threshold=threshold, shape=0.0)
        for threshold in (1.5, 3.0, 5.0):
            yield _scaled(part, replace(best, way="unsharp", threshold=threshold, shape=0.0))
        yield from (_scaled(part, replace(best, way="frequencies", shape=order)) for order in (1.2, 1.7, 2.4))
    for one in ranked:
        if one.way == "deconvolution":
            yield from (_scaled(part, replace(one, shape=float(n))) for n in (2, 3, 4, 6, 7, 8))


def _made(before: np.ndarray, settings: SharpeningSettings) -> np.ndarray:
    """A plane sharpened, of a luma as floats."""
    if before.dtype == np.uint8:
        return sharpened(before, settings)
    if settings.way == "pillow_unsharp":
        return before + (sharpened(quantise(before), settings) - np.rint(before))
    return before + np.float32(settings.amount) * detail(before, settings)


def _scaled(part: Pair, settings: SharpeningSettings) -> SharpeningSettings:
    """With the amount of least squared error, among pixels that 8 bits do not clip."""
    free = part.mask & (part.after > 0.5) & (part.after < 254.5)
    free = free if np.count_nonzero(free) > 0.05 * np.count_nonzero(part.mask) else part.mask
    added, before, change = detail(part.before, settings)[free], part.before[free], (part.after - part.before)[free]
    amount = 0.0
    for _ in range(2):  # without the pixels that would be clipped, although they were not
        made = before + amount * added
        used = (made > -0.5) & (made < 255.5)
        x, y = added[used], change[used]
        power = float(x @ x)
        amount = float(x @ y) / power if power > 1e-3 * max(x.size, 1) else 0.0
    return replace(settings, amount=amount)
