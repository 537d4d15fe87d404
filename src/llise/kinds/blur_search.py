"""Which program's blur, and of which size, comes nearest to a copy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import scipy

from llise.kinds.blur_programs import BlurSettings, blurred
from llise.kinds.estimation import AS_GOOD, EXACT, Pair, Trials
from llise.kinds.fitting import ROUNDING
from llise.kinds.resampling_search import find_resampling

WINDOW, MARGIN, FIRST = 96, 32, 64
"""Side in pixels of the window in which programs are compared, what is kept about it for filters, and the side of the
window in which they are compared first."""

KEPT = 3
"""Programs whose size is refined."""

BORDERS = ("reflect", "nearest", "mirror", "constant")
SIGMAS = (0.4, 0.8, 1.5, 2.7, 4.8, 8.5)
"""Deviations of the Gaussian kernels from which the search starts."""

FURTHEST = 2.0
"""Largest shift against the kernel's greatest deviation; an even trail to one side has 1.7."""

KERNELS = ("gaussian", "elliptic", "box", "disc", "motion", "trail", "boxes")
"""Ways that look beyond the border."""

Found = tuple[BlurSettings, list[BlurSettings]]
"""The nearest settings, and others that are about as near."""


def trials_of(part: Pair) -> Trials:
    return Trials(part, lambda settings: blurred(part.before, settings))


def find_blur(pair: Pair, start: BlurSettings | None = None) -> Found:
    """Settings of the blur of least squared error; `pair` may have colours."""
    plane = pair.plane()
    part = plane.inside(MARGIN).cut(WINDOW, MARGIN)
    trials = trials_of(part)
    ranked = []
    if start is not None:
        ranked = [trials.improved(start, fields_of(start), 3)]
        if trials.left(ranked[0]) <= EXACT:
            return _bordered(plane, ranked[0]), []
    few = part.cut(FIRST, MARGIN)
    rough = trials_of(few)
    first = [rough.improved(one, fields_of(one)[:1]) for one in candidates(*nearest_gaussian(few))]
    ranked += [trials.improved(one, fields_of(one), 2) for one in sorted(first, key=rough.left)[:KEPT]]
    best = trials.best(ranked)
    if trials.left(best) > EXACT:
        ranked += [trials.improved(one, fields_of(one), 2) for one in _variants(best)]
        best = trials.best(ranked)
    if trials.left(best) > EXACT and plane.mask.all() and min(plane.mask.shape) >= 24:
        resampled = find_resampling(plane, best.sigma())
        if resampled is not None:
            left = plane.error(blurred(plane.before, resampled))
            if left < 0.7 * plane.error(blurred(plane.before, best)):
                return resampled, []
    near = [one for one in ranked if trials.left(one) <= AS_GOOD * trials.left(best) + ROUNDING]
    return _bordered(plane, best), near


def fields_of(settings: BlurSettings) -> tuple[str, ...]:
    """The numbers of a way that are not whole."""
    if settings.way in ("boxes", "resampled"):
        return ()
    more = {"motion": ("angle",), "elliptic": ("angle", "stretch"), "cut_off": ("shape",)}
    more["trail"] = ("angle", "shape") if settings.shape else ("angle",)
    return ("size", *more.get(settings.way, ()))


def _variants(settings: BlurSettings) -> Iterator[BlurSettings]:
    """Cut off elsewhere, or in light instead of grey levels or the other way round."""
    if settings.way in ("gaussian", "elliptic", "box", "disc", "motion"):
        yield replace(settings, linear=not settings.linear)
    if settings.way == "gaussian":
        yield from (replace(settings, shape=cut) for cut in (4.0, 3.0, 2.5) if cut != settings.shape)


def nearest_gaussian(part: Pair) -> tuple[np.ndarray, np.ndarray]:
    """Variances of the Gaussian that comes nearest (columns, rows, both), and the shift that it takes (down, across).

    Gauss-Newton steps on the response of the kernel.
    """
    pad = 16
    before = np.pad(part.before.astype(np.float32), pad, mode="symmetric")
    spectrum, target = scipy.fft.rfft2(before), part.after[part.mask]
    y = (2 * np.pi * np.fft.fftfreq(len(before))).astype(np.float32)[:, None]
    x = (2 * np.pi * np.fft.rfftfreq(before.shape[1])).astype(np.float32)

    def made(response: np.ndarray) -> np.ndarray:
        levels = scipy.fft.irfft2(spectrum * response, s=before.shape)
        return levels[pad:-pad, pad:-pad][part.mask]

    def trial(at: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        across, down, both, rows, cols = (np.float32(value) for value in at)
        response = np.exp(
            -0.5 * (across * x**2 + down * y**2) - both * x * y - np.complex64(1j) * (rows * y + cols * x)
        )
        rest = target - made(response)
        return float(rest @ rest), at, response, rest

    best = min((trial(np.array([sigma**2, sigma**2, 0, 0, 0])) for sigma in SIGMAS), key=lambda one: one[0])
    factors = (-0.5 * x**2, -0.5 * y**2, -x * y, np.complex64(-1j) * y, np.complex64(-1j) * x)
    for _ in range(5):
        error, at, response, rest = best
        slopes = np.stack([made(factor * response) for factor in factors])
        gram = (slopes @ slopes.T).astype(np.float64)
        gram[np.diag_indices(5)] *= 1 + 1e-4
        step = np.linalg.lstsq(gram, (slopes @ rest).astype(np.float64), rcond=1e-9)[0]
        best = min((trial(_possible(at + part * step)) for part in (1.0, 0.4)), key=lambda one: one[0])
        if best[0] > 0.98 * error:
            best = best if best[0] < error else (error, at, response, rest)
            break
    return best[1][:3], best[1][3:]


def _possible(at: np.ndarray) -> np.ndarray:
    """The nearest kernel that is 0.1 to 40 pixels wide in all directions and moves a picture less than it blurs it."""
    values, axes = np.linalg.eigh([[at[0], at[2]], [at[2], at[1]]])
    values = np.clip(values, 0.01, 1600.0)
    fixed = (axes * values) @ axes.T
    far = float(np.hypot(at[3], at[4])) / (FURTHEST * float(values[-1]) ** 0.5)
    return np.array([fixed[0, 0], fixed[1, 1], fixed[0, 1], *(at[3:] / max(far, 1.0))])


def candidates(variances: np.ndarray, shift: np.ndarray) -> Iterator[BlurSettings]:
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
    yield BlurSettings("gaussian", sigma, shape=4.0)
    yield BlurSettings("disc", max(2 * sigma, 0.6))
    yield BlurSettings("box", max(width, 1.1))
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


def _bordered(plane: Pair, settings: BlurSettings) -> BlurSettings:
    """With the border that programs assume, where it shows."""
    edge = np.zeros_like(plane.mask)
    edge[[0, -1]] = edge[:, [0, -1]] = True
    if settings.way not in KERNELS or not (edge & plane.mask).any():
        return settings
    trials = trials_of(plane)
    return trials.best(replace(settings, border=border) for border in BORDERS)
