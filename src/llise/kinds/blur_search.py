"""Which program's blur, and of which size, comes nearest to a copy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from llise.kinds.blur_fit import START_SIGMAS, _Search
from llise.kinds.blur_programs import BlurSettings, blurred
from llise.kinds.estimation import Pair
from llise.kinds.fitting import ROUNDING
from llise.kinds.minimum import bounded_minimum
from llise.kinds.resampling_fit import fit_resampling

WINDOW, MARGIN, FIRST = 128, 32, 64
"""Side in pixels of the window in which programs are compared, what is kept about it for filters, and the side of the
window in which they are compared first."""

EXACT = 1.5 * ROUNDING
"""Mean squared error up to which a copy is made again but for its rounding."""

KEPT = 3
"""Programs whose size is refined."""

ROUGHLY = (0.93, 1.0, 1.07)
"""Factors on the size with which programs are compared at first."""

AS_GOOD = 2.0
"""Ratio of two squared errors that chance makes in one of twenty cases, of some 25 independent squares each."""

BORDERS = ("reflect", "nearest", "mirror", "constant")

Found = tuple[BlurSettings, list[BlurSettings]]
"""The nearest settings, and others that are about as near."""


def find_blur(pair: Pair, start: BlurSettings | None = None) -> Found:
    """Settings of the blur of least squared error; `pair` may have colours."""
    plane = pair.plane()
    part = plane.inside(MARGIN).cut(WINDOW, MARGIN)
    trials = _Trials(part)
    ranked = []
    if start is not None:
        ranked = [trials.refined(start)]
        if trials.left(ranked[0]) <= EXACT:
            return _bordered(plane, ranked[0]), []
    rough = _Trials(part.cut(FIRST, FIRST // 2))
    variances, shift = _gaussian(part)
    sized = [replace(one, size=one.size * by) for one in candidates(variances, shift) for by in _factors(one)]
    first = sorted(sized, key=rough.left)
    distinct: dict[tuple, BlurSettings] = {}
    for one in first:
        distinct.setdefault((one.way, one.linear, one.shape), one)
    ranked += [trials.refined(one) for one in list(distinct.values())[:KEPT]]
    best = min(ranked, key=trials.left)
    ranked += [trials.refined(one) for one in _variants(best, trials.left(best) > EXACT)]
    best = min(ranked, key=trials.left)
    if trials.left(best) > EXACT:
        ranked += _further(trials, plane, best)
        best = min(ranked, key=trials.left)
    near = [one for one in ranked if trials.left(one) <= AS_GOOD * trials.left(best) + ROUNDING]
    return _bordered(plane, best), near


def _factors(settings: BlurSettings) -> tuple[float, ...]:
    return (1.0,) if settings.way == "boxes" else ROUGHLY


def _variants(settings: BlurSettings, light: bool) -> Iterator[BlurSettings]:
    """Cut off elsewhere, or in light instead of grey levels or the other way round."""
    if light and settings.way in ("gaussian", "elliptic", "box", "disc", "motion"):
        yield replace(settings, linear=not settings.linear)
    if settings.way == "gaussian":
        yield from (replace(settings, shape=cut) for cut in (4.0, 3.0, 2.5) if cut != settings.shape)


class _Trials:
    """Errors of settings in a window, each measured once."""

    def __init__(self, part: Pair) -> None:
        self.part = part
        self.known: dict[BlurSettings, float] = {}

    def left(self, settings: BlurSettings) -> float:
        if settings not in self.known:
            self.known[settings] = self.part.error(blurred(self.part.before, settings))
        return self.known[settings]

    def refined(self, settings: BlurSettings) -> BlurSettings:
        """The best size near by, and for some ways the best of another number."""
        if settings.way in ("boxes", "median", "resampled"):
            return settings
        for reach in (1.15, 1.03, 1.006)[: 3 if settings.way in ("motion", "elliptic", "trail") else 2]:
            settings = self.along(settings, "size", reach)
            if settings.way in ("motion", "elliptic", "trail"):
                settings = self.along(settings, "angle", reach)
            if settings.way == "elliptic":
                settings = self.along(settings, "stretch", reach)
            if settings.way in ("cut_off", "bilateral") or (settings.way == "trail" and settings.shape > 0):
                settings = self.along(settings, "shape", reach**2)
        return settings

    def along(self, settings: BlurSettings, field: str, reach: float) -> BlurSettings:
        """The best settings with another value of a field; an angle turns by 40 degrees for a factor of e."""
        value, far = float(getattr(settings, field)), float(np.log(reach))

        def at(x: float) -> BlurSettings:
            other = (value + 40 * x) % 360 if field == "angle" else value * float(np.exp(x))
            return replace(settings, **{field: other})

        place, error = bounded_minimum(lambda x: self.left(at(x)), -far, far, 0.01 * far, most=8)
        return at(place) if error < self.left(settings) else settings


def _gaussian(part: Pair) -> tuple[np.ndarray, tuple[float, float]]:
    """Variances of the Gaussian that comes nearest (columns, rows, both), and the shift that it takes."""
    widths = [(MARGIN, MARGIN)] * 2
    before, after = (np.pad(image.astype(np.float32), widths, mode="symmetric") for image in (part.before, part.after))
    search = _Search(before, after, np.pad(part.mask, widths), line=False)
    starts = (search.trial(np.array([sigma**2, sigma**2, 0.0])) for sigma in START_SIGMAS)
    shift, found = search.moved(search.refine(min(starts, key=lambda at: at.error)))
    return found.variances, shift


def candidates(variances: np.ndarray, shift: tuple[float, float]) -> Iterator[BlurSettings]:
    """Programs whose kernels have these variances."""
    (small, large), axes = np.linalg.eigh([[variances[0], variances[2]], [variances[2], variances[1]]])
    sigma, long = float(np.sqrt(max((small + large) / 2, 0.01))), float(np.sqrt(max(large, 0.01)))
    angle = float(np.degrees(np.arctan2(-axes[1, 1], axes[0, 1])) % 180)
    width = 3.3 * sigma + 0.2 / sigma  # responses meet where they are exp(-1/2)
    if small < 0.75 * large:
        yield BlurSettings("elliptic", long, float(np.sqrt(max(small, 0.01) / max(large, 0.01))), angle)
    if small < 0.4 * large:
        length = float(np.sqrt(12 * large))
        yield BlurSettings("motion", max(length, 1.2), angle=angle)
        if np.hypot(*shift) > 0.3:
            towards = float(np.degrees(np.arctan2(-shift[0], shift[1])) % 360)
            for fading in (0.0, 1.0, 2.0):
                yield BlurSettings("trail", max(length * (1 + 0.35 * fading), 1.2), angle=towards, shape=fading)
    if small < 0.2 * large:
        return
    yield BlurSettings("gaussian", sigma, shape=2.5)
    for linear in (False, True):
        yield BlurSettings("gaussian", sigma, shape=4.0, linear=linear)
        yield BlurSettings("disc", max(2 * sigma, 0.6), linear=linear)
        yield BlurSettings("box", max(width, 1.1), linear=linear)
    yield BlurSettings("pillow_gaussian", sigma)
    yield BlurSettings("pillow_box", (width - 1) / 2)
    for way, factor in (("heavy", 1.1), ("exponential", 1.4)):
        yield BlurSettings(way, sigma / factor)
    for power in (1.6, 3.0):
        yield BlurSettings("cut_off", sigma, shape=power)
    for count in (1, 2, 3):
        side = float(np.sqrt(12 * sigma**2 / count + 1))
        for whole in {max(round((side + d) / 2) * 2 - (count > 1), 2) for d in (-1, 1)} | {2 * round(side / 2) + 1}:
            yield BlurSettings("boxes", float(whole), shape=float(count))


def _further(trials: _Trials, plane: Pair, best: BlurSettings) -> Iterator[BlurSettings]:
    """Filters that no kernel makes, and reductions in size."""
    sigma = best.sigma()
    if plane.mask.all() and min(plane.mask.shape) >= 24:
        found = fit_resampling(
            plane.before, plane.after, plane.mask, sigma, 0.7 * plane.error(blurred(plane.before, best))
        )
        if found is not None:
            names = {"reducing": found.reducing.name, "enlarging": found.enlarging.name}
            resampled = BlurSettings("resampled", found.factor, small=found.small, **names)
            trials.known[resampled] = plane.error(blurred(plane.before, resampled))
            yield resampled
    yield from (BlurSettings("median", float(side)) for side in (3, 5, 7, 9) if 0.15 * side < sigma < 0.5 * side)
    if sigma < 2.5:
        first = min((BlurSettings("bilateral", s, shape=r) for s in (1.2, 2.2) for r in (15.0, 50.0)), key=trials.left)
        if trials.left(first) < 1.5 * trials.left(best):
            for reach in (2.0, 1.2):
                first = trials.along(trials.along(first, "shape", reach), "size", 0.6 + 0.4 * reach)
            yield first


def _bordered(plane: Pair, settings: BlurSettings) -> BlurSettings:
    """With the border that programs assume, where it shows."""
    edge = np.zeros_like(plane.mask)
    edge[[0, -1]] = edge[:, [0, -1]] = True
    if settings.way not in ("gaussian", "elliptic", "box", "disc", "motion", "trail", "boxes"):
        return settings
    if not (edge & plane.mask).any():
        return settings
    return min(
        (replace(settings, border=border) for border in BORDERS),
        key=lambda one: plane.error(blurred(plane.before, one)),
    )
