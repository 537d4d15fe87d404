"""The settings of one kind or of two kinds that were applied one after the other, in whichever order fits better."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from llise.diagnosis.estimates.coder_last import CODED_LAST, coder_last
from llise.diagnosis.estimates.fitted_chain import Chain
from llise.diagnosis.estimates.general_chains import fit_general
from llise.diagnosis.estimates.region_pixels import RegionPixels
from llise.diagnosis.estimates.simulated import likeness, solve_impulses, solve_noise
from llise.kinds.blur_fit import BlurFit, fit_blur
from llise.kinds.fitting import Fit, fit_line, line_fit, residual_power, robust_scale
from llise.kinds.gaussian_noise import noise_fit
from llise.kinds.impulse_noise import EXTREMES, count_impulses, find_impulses, impulse_fit
from llise.kinds.jpeg import jpeg_fit
from llise.kinds.jpeg2000 import fit_jpeg2000
from llise.kinds.jpeg_quality import CoefficientPairs
from llise.kinds.jpeg_tables import STANDARD_TABLE, VIDEO_TABLE, quality_of, scale_of
from llise.kinds.registry import get
from llise.labels import KINDS

GREY = ("contrast", "luminance")
"""Kinds that change each grey level into another one."""

BY_GREY = (*GREY, "quantization")
"""Kinds that can be made with a table of grey levels."""

RANDOM = ("gaussian_noise", "impulse_noise", "speckle_noise")
"""Kinds that cannot be made again pixel by pixel."""

VIDEO_STEPS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 19, 22, 26, 31, 38, 46, 56)
VIDEO_SCALE = float(VIDEO_TABLE[:4, :4].mean() / STANDARD_TABLE[:4, :4].mean()) / 8
"""Factors on an eighth of the table of video programs that are tried below a blur, and how coarse the first of them is
against the standard table, in the frequencies that a blur leaves."""

STRONGEST_NOISE = 128.0
"""Largest deviation of noise below a blur: in 8 bits there is no more."""

HIDING = ("blur", "jpeg", "jpeg2000", "pixelation", "sharpening")
"""Kinds that look beyond a pixel, so that they change noise that was there before them."""


def fit_chain(pixels: RegionPixels, kinds: tuple[str, ...], mean: float) -> Chain | None:
    """Find the settings of one kind or two.

    Parameters
    ----------
    pixels : RegionPixels
        Reference, copy, and the pixels to compare.
    kinds : tuple of str
        One kind or two, in any order.
    mean : float
        Mean grey level of the whole reference.

    Returns
    -------
    Chain or None
        The steps; None if one of the kinds has no estimate.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.chains import fit_chain
    >>> from llise.diagnosis.estimates.region_pixels import RegionPixels
    >>> image = np.tile(np.arange(60, 188, dtype=np.float32), (128, 1))
    >>> chain = fit_chain(RegionPixels(image, image + 5, np.ones(image.shape, bool)), ("luminance",), 120.0)
    >>> chain.steps[0][1].parameters
    {'offset': 5.0}
    """
    if len(kinds) == 1:
        fit = fit_jpeg2000(*pixels) if kinds == ("jpeg2000",) and pixels.is_whole else get(kinds[0]).estimate(*pixels)
        hit = count_impulses(*pixels)[0] if kinds == ("impulse_noise",) else None
        return None if fit is None else Chain(((kinds[0], fit),), hit)
    pair = set(kinds)
    if pair - set(KINDS):
        return fit_general(pixels, kinds)
    if pair == set(GREY):
        return _both_grey(pixels, mean)
    if pair <= set(RANDOM):
        return _both_random(pixels)
    random = next((kind for kind in kinds if kind in RANDOM), None)
    if random:
        other = next(kind for kind in kinds if kind != random)
        solve = {"blur": _random_and_blur, "jpeg": _random_and_jpeg}.get(other)
        if solve:
            return solve(pixels, random)
        return _random_and_grey(pixels, random, other) if other in GREY else None
    grey = next((kind for kind in kinds if kind in GREY), None)
    if grey and "blur" in pair:
        return _grey_and_blur(pixels, grey)
    if grey and "jpeg" in pair:
        return _grey_and_jpeg(pixels, grey)
    return _blur_and_jpeg(pixels) if pair == {"blur", "jpeg"} else None


def _error(chain: Chain, pixels: RegionPixels) -> float:
    rest = (pixels.copy - chain.images(pixels.reference)[-1])[pixels.mask]
    return float(np.mean(rest * rest))


def _better(pixels: RegionPixels, *chains: Chain) -> Chain:
    return min(chains, key=lambda chain: _error(chain, pixels))


def _both_grey(pixels: RegionPixels, mean: float) -> Chain:
    """One curve is all that can be seen: the pivot is taken to be the mean, the offset is what remains there."""
    gain, line = fit_line(*pixels, slope=True)
    both = get("contrast").estimate(*pixels)
    assert both is not None
    offset = float(line - mean * (1 - gain))
    contrast = Fit({"gain": gain, "pivot": float(mean)}, lambda image: both.apply(image) - np.float32(offset))
    return Chain((("contrast", contrast), ("luminance", line_fit("luminance", 1.0, offset))))


def _both_random(pixels: RegionPixels) -> Chain:
    error = pixels.copy - pixels.reference
    scale = robust_scale(error[pixels.mask])
    hit, share, salt = count_impulses(*pixels, scale=scale)
    sigma = np.sqrt(residual_power(error, pixels.reference, pixels.mask & ~hit))
    return Chain((("gaussian_noise", noise_fit(float(sigma))), ("impulse_noise", impulse_fit(share, salt))), hit)


def _random_and_grey(pixels: RegionPixels, random: str, grey: str) -> Chain:
    reference, copy, mask = pixels
    clean = mask & ~find_impulses(reference, copy) if random == "impulse_noise" else mask
    fit = get(grey).estimate(reference, copy, clean)
    assert fit is not None
    expected = fit.apply(reference)
    if random == "impulse_noise":
        black, white = (float(np.rint(fit.apply(np.full((1, 1), level, np.float32))[0, 0])) for level in (0, 255))
        scale = robust_scale((copy - expected)[mask])
        hit, share, salt = count_impulses(expected, copy, mask, scale + 0.5, ((white, 255.0), (black, 0.0)))
        return Chain(((grey, fit), (random, impulse_fit(share, salt))), hit)
    inside = mask & (expected > 0) & (expected < 255)
    if np.count_nonzero(inside) < 0.02 * np.count_nonzero(mask):
        inside = mask
    sigma = float(np.sqrt(residual_power(copy - expected, expected, inside)))
    gain = fit.parameters.get("gain", 1.0)
    if grey == "contrast":
        _, offset = fit_line(reference, copy, mask, slope=True)
        if _is_table_last(copy[mask], gain, offset):
            return Chain(((random, noise_fit(sigma / gain)), (grey, fit)))
    return Chain(((grey, fit), (random, noise_fit(sigma))))


def _is_table_last(copy: np.ndarray, gain: float, offset: float) -> bool:
    """Whether grey levels are as unevenly frequent as a line makes them that is applied to whole numbers last.

    A gain above 1 leaves gaps between the levels, a gain below 1 makes some levels twice as frequent.
    """
    values = np.rint(copy).astype(int)
    counts = np.bincount(values, minlength=256)[1:255].astype(float)
    levels = np.rint(gain * np.arange(-300, 600) + offset).astype(int)
    hits = np.bincount(levels[(levels > 0) & (levels < 255)], minlength=255)[1:].astype(float)
    if counts.sum() < 50:
        return False
    by_chance = 1.5 * counts.sum()
    uneven = (float(np.sum(np.diff(counts, 2) ** 2)) / 4 - by_chance) / float(np.sum(counts**2))
    expected = float(np.sum(np.diff(hits, 2) ** 2)) / 4 / max(float(np.sum(hits**2)), 1.0)
    return expected > 0.01 and uneven > 0.4 * expected


def _grey_and_blur(pixels: RegionPixels, grey: str) -> Chain:
    reference, copy, mask = pixels
    blur = fit_blur(reference, copy, mask, line=True)
    if grey == "luminance":
        offset = fit_line(blur.apply(reference), copy, mask, slope=False)[1]
        fit = line_fit(grey, 1.0, offset)
    else:
        fit = line_fit(grey, blur.gain, blur.offset)
    blur_step = "blur", Fit(blur.parameters, blur.apply)
    later = get(grey).estimate(blur.apply(reference), copy, mask)
    assert later is not None
    return _better(
        pixels, Chain((blur_step, (grey, fit))), Chain(((grey, fit), blur_step)), Chain((blur_step, (grey, later)))
    )


def _grey_and_jpeg(pixels: RegionPixels, grey: str) -> Chain:
    """The line is first fitted to means of blocks, since coarse quantisation lowers the contrast inside blocks."""
    reference, copy, mask = pixels
    gain, offset = fit_line(*_block_means(pixels), slope=grey == "contrast")
    line = line_fit(grey, gain, offset)
    chains: list[Chain] = []
    coded = None
    for fit in (line, get(grey).estimate(reference, copy, mask)):
        assert fit is not None
        levels = np.rint(fit.apply(reference))
        if coded is None or not np.array_equal(levels, coded):  # often both are the same line
            coder = jpeg_fit(*CoefficientPairs(levels, copy, mask).nearest_table())
        coded = levels
        chains.append(Chain(((grey, fit), ("jpeg", coder))))
    before = (copy - np.float32(offset)) / np.float32(gain)
    unclipped = mask & (copy > 0.5) & (copy < 254.5)
    filled = np.where(unclipped, before, reference)
    coder = jpeg_fit(*CoefficientPairs(reference, filled, mask).nearest_table())
    later = get(grey).estimate(coder.apply(reference), copy, mask)
    assert later is not None
    return _better(pixels, *chains, Chain((("jpeg", coder), (grey, later))))


def _block_means(pixels: RegionPixels) -> RegionPixels:
    """Means of blocks of 8 x 8 pixels, where all of these are to be compared and few are clipped."""
    rows, cols = (n // 8 for n in pixels.mask.shape)
    reference, copy, mask, inside = (
        a[: rows * 8, : cols * 8].reshape(rows, 8, cols, 8).mean(axis=(1, 3), dtype=np.float64)
        for a in (*pixels, (pixels.copy > 0.5) & (pixels.copy < 254.5))
    )
    full = (mask == 1) & (inside > 0.9)
    if np.count_nonzero(full) < 8:
        full = mask >= min(1.0, float(mask.max()))
    return RegionPixels(reference, copy, full)


def _blur_and_jpeg(pixels: RegionPixels) -> Chain:
    reference, copy, mask = pixels
    blur = fit_blur(reference, copy, mask)
    quality, table, closeness = CoefficientPairs(blur.apply(reference), copy, mask).likely_table()
    coder = jpeg_fit(quality, table)
    if closeness > CODED_LAST:
        return _blur_before(blur, coder, pixels)
    first = _jpeg_first(blur, pixels)
    again = fit_blur(first.apply(reference), copy, mask)
    return Chain((("jpeg", first), ("blur", Fit(again.parameters, again.apply))))


def _blur_before(blur: BlurFit, coder: Fit, pixels: RegionPixels) -> Chain:
    """Blur before a coder: coarse quantisation removes detail as blur does, so narrower kernels are tried."""

    def chain(kernel: BlurFit) -> Chain:
        return Chain((("blur", Fit(kernel.parameters, kernel.apply)), ("jpeg", coder)))

    kernels = [make(factor) for make in (blur.scaled, blur.gaussian) for factor in (0.5, 0.64, 0.8, 1.0)]
    best = min(kernels, key=lambda kernel: _error(chain(kernel), pixels))
    finer = [best.scaled(factor) for factor in (0.89, 0.945, 1.06, 1.12)]
    return _better(pixels, chain(best), *(chain(kernel) for kernel in finer))


def _jpeg_first(blur: BlurFit, pixels: RegionPixels) -> Fit:
    """Coder before a blur, which hides its steps: most tables are tried, since only the right one fits well."""
    narrower = blur.scaled(0.97)

    def error(fit: Fit) -> float:
        rest = (pixels.copy - narrower.apply(fit.apply(pixels.reference)))[pixels.mask]
        return float(rest @ rest)

    def standard(quality: float) -> Fit:
        whole = float(quality).is_integer()
        return jpeg_fit(float(quality), None if whole else scale_of(quality) * STANDARD_TABLE)

    def video(step: float) -> Fit:
        return jpeg_fit(quality_of(step * VIDEO_SCALE), np.maximum(VIDEO_TABLE * (step / 8), 1.0))

    qualities = (*range(1, 36), *range(37, 60, 2), *range(62, 96, 4))
    found = [
        _finest(standard, qualities, (3.0, 2.0, 1.0, -1.0, -2.0, -3.0), error),
        _finest(video, VIDEO_STEPS, (0.25, -0.25), error),
    ]
    return min(found, key=error)


def _finest(
    coder: Callable[[float], Fit],
    values: Sequence[float],
    beside: Sequence[float],
    error: Callable[[Fit], float],
) -> Fit:
    """The coder that fits best among some settings, those beside the best one, and finer ones around it."""
    errors: dict[float, float] = {float(value): error(coder(value)) for value in values}

    def best() -> float:
        return min(errors, key=errors.__getitem__)

    for steps in (beside, (0.75, 0.5, 0.25, -0.25, -0.5, -0.75), (0.12, 0.06, -0.06, -0.12)):
        near = [best() + step for step in steps if best() > 1 and best() + step >= 1]
        errors.update({value: error(coder(value)) for value in near if value not in errors})
    return coder(best())


def _random_and_blur(pixels: RegionPixels, random: str) -> Chain:
    reference, copy, mask = pixels
    rough = find_impulses(reference, copy) if random == "impulse_noise" else np.zeros(mask.shape, bool)
    blur = fit_blur(reference, copy, mask & ~rough, line=random == "impulse_noise")
    blur_step = "blur", Fit(blur.parameters, blur.apply)
    expected = blur.apply(reference)
    error = copy - expected
    if random == "impulse_noise":
        scale = robust_scale(error[mask]) + 1.5
        hit, share, salt = count_impulses(expected, copy, mask, scale, EXTREMES)
        if not _spread(error, rough & mask & (np.abs(error) > 10 * scale), blur):
            return Chain((blur_step, (random, impulse_fit(share, salt))), hit)
        return Chain(((random, solve_impulses(pixels, blur_step[1], error)), blur_step))
    # White noise through the kernel, at a deviation of 1, and how alike neighbours are in it.
    field = blur.apply(np.random.default_rng(0).standard_normal(mask.shape, dtype=np.float32))
    power, alike = float(np.mean(field[mask] ** 2)), likeness(field, mask)
    measured = residual_power(error, expected, mask)
    before = float(np.sqrt(measured / max(power, 1e-4)))
    if likeness(error, mask) > 0.5 * alike and alike > 0.03 and before <= STRONGEST_NOISE:
        return Chain(((random, noise_fit(before)), blur_step))
    return Chain((blur_step, (random, noise_fit(float(np.sqrt(measured))))))


def _spread(error: np.ndarray, hit: np.ndarray, blur: BlurFit) -> bool:
    """Whether the neighbours of impulses differ as if the blur had come after these."""
    if not hit.any():
        return True
    point = np.zeros(error.shape, np.float32)
    point[error.shape[0] // 2, error.shape[1] // 2] = 1
    kernel = blur.apply(point)
    y, x = (n // 2 for n in error.shape)
    around = ((0, 1), (1, 0), (0, -1), (-1, 0))
    expected = sum(float(kernel[y + i, x + j]) for i, j in around) / max(float(kernel[y, x]), 1e-6)
    sign = np.where(hit, np.sign(error), 0)
    shifted = sum(float((np.roll(sign, shift, (0, 1)) * error).sum()) for shift in around)
    return shifted / float((sign * error).sum()) > 0.5 * expected


def _random_and_jpeg(pixels: RegionPixels, random: str) -> Chain:
    reference, copy, mask = pixels
    if random == "impulse_noise":
        impulses_last = _jpeg_and_impulses(pixels)
        if _unexplained(impulses_last, pixels) < 0.1:
            return impulses_last
    coder = coder_last(pixels)
    if coder:
        error = copy - coder.apply(reference)
        solve = solve_impulses if random == "impulse_noise" else solve_noise
        return Chain(((random, solve(pixels, coder, error)), ("jpeg", coder)))
    if random == "impulse_noise":
        return impulses_last
    coder = jpeg_fit(*pixels.coefficients.nearest_table())
    expected = coder.apply(reference)
    sigma = float(np.sqrt(residual_power(copy - expected, expected, mask)))
    return Chain((("jpeg", coder), (random, noise_fit(sigma))))


def _jpeg_and_impulses(pixels: RegionPixels) -> Chain:
    """Impulses after a coder: what was hit is filled in with what the coder makes of the reference there."""
    reference, copy, mask = pixels
    hit = find_impulses(reference, copy) & mask & ((copy <= 0) | (copy >= 255))
    filled = np.where(hit, reference, copy)
    for _ in range(2):
        coder = jpeg_fit(*CoefficientPairs(reference, filled, mask).nearest_table())
        expected = coder.apply(reference)
        scale = robust_scale((copy - expected)[mask]) + 1.5
        hit, share, salt = count_impulses(expected, copy, mask, scale, EXTREMES)
        filled = np.where(hit, expected, copy)
    return Chain((("jpeg", coder), ("impulse_noise", impulse_fit(share, salt))), hit)


def _unexplained(chain: Chain, pixels: RegionPixels) -> float:
    """Share of the error that is left where no impulse hit."""
    reference, copy, mask = pixels
    left = mask if chain.hit is None else mask & ~chain.hit
    rest = (copy - chain.images(reference)[-1])[left]
    total = (copy - reference)[mask]
    return float(rest @ rest) / max(float(total @ total), 1e-9)
