"""The settings of one kind or of two kinds that were applied one after the other, in whichever order fits better."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llise.diagnosis.region_pixels import RegionPixels
from llise.kinds.blur_fit import BlurFit, fit_blur
from llise.kinds.fitting import ROUNDING, Fit, fit_line, residual_power, robust_scale
from llise.kinds.gaussian_noise import noise_fit
from llise.kinds.impulse_noise import count_impulses, find_impulses, impulse_fit
from llise.kinds.jpeg import jpeg_fit
from llise.kinds.jpeg_quality import CoefficientPairs
from llise.kinds.registry import get

GREY = ("contrast", "luminance")
RANDOM = ("gaussian_noise", "impulse_noise")
EXTREMES = (255.0,), (0.0,)
CODED_LAST = 0.6
"""Share of coefficients at multiples of steps above which the coder came last."""


@dataclass(frozen=True, eq=False)
class Chain:
    """Kinds in the order in which they were applied, with their settings.

    Attributes
    ----------
    steps : tuple of (str, Fit)
        Kinds and settings.
    hit : ndarray of bool, shape (h, w), or None
        Pixels that impulses replaced, where they can be told.
    """

    steps: tuple[tuple[str, Fit], ...]
    hit: np.ndarray | None = None

    def images(self, reference: np.ndarray) -> list[np.ndarray]:
        """The reference and what it becomes after each step, without random parts."""
        images = [reference]
        for _, fit in self.steps:
            images.append(fit.apply(images[-1]))
        return images

    def draw(self, reference: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A copy with random parts."""
        image = reference
        for _, fit in self.steps:
            image = fit.draw(image, rng) if fit.draw else fit.apply(image)
        return image


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
    >>> from llise.diagnosis.chains import fit_chain
    >>> from llise.diagnosis.region_pixels import RegionPixels
    >>> image = np.tile(np.arange(60, 188, dtype=np.float32), (128, 1))
    >>> chain = fit_chain(RegionPixels(image, image + 5, np.ones(image.shape, bool)), ("luminance",), 120.0)
    >>> chain.steps[0][1].parameters
    {'offset': 5.0}
    """
    if len(kinds) == 1:
        fit = get(kinds[0]).estimate(*pixels)
        return None if fit is None else Chain(((kinds[0], fit),), _hit(pixels, kinds, fit))
    pair = set(kinds)
    if pair == set(GREY):
        return _both_grey(pixels, mean)
    if pair == set(RANDOM):
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


def _hit(pixels: RegionPixels, kinds: tuple[str, ...], fit: Fit) -> np.ndarray | None:
    return count_impulses(*pixels)[0] if kinds == ("impulse_noise",) else None


def _error(chain: Chain, pixels: RegionPixels) -> float:
    rest = (pixels.copy - chain.images(pixels.reference)[-1])[pixels.mask]
    return float(np.mean(rest * rest))


def _better(pixels: RegionPixels, *chains: Chain) -> Chain:
    return min(chains, key=lambda chain: _error(chain, pixels))


def _grey_fit(kind: str, gain: float, offset: float, mean: float = 128.0) -> Fit:
    """A straight line as contrast or luminance."""

    def apply(image: np.ndarray) -> np.ndarray:
        return np.clip(np.float32(gain) * image + np.float32(offset), 0, 255)

    if kind == "luminance":
        return Fit({"offset": offset}, apply)
    pivot = offset / (1 - gain) if abs(1 - gain) > 1e-3 else mean
    return Fit({"gain": gain, "pivot": float(np.clip(pivot, 0.0, 255.0))}, apply)


def _both_grey(pixels: RegionPixels, mean: float) -> Chain:
    """One line is all that can be seen: the pivot is taken to be the mean, the offset is what remains there."""
    gain, offset = fit_line(*pixels, slope=True)
    contrast = _grey_fit("contrast", gain, mean * (1 - gain))
    return Chain((("contrast", contrast), ("luminance", _grey_fit("luminance", 1.0, offset - mean * (1 - gain)))))


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
    sigma = float(np.sqrt(residual_power(copy - expected, expected, mask)))
    gain = fit.parameters.get("gain", 1.0)
    if grey == "contrast":
        _, offset = fit_line(reference, copy, mask, slope=True)
        if _is_table_last(copy[mask], gain, offset):
            return Chain(((random, noise_fit(sigma / gain)), (grey, fit)))
    return Chain(((grey, fit), (random, noise_fit(sigma))))


def _is_table_last(copy: np.ndarray, gain: float, offset: float) -> bool:
    """Whether grey levels occur as often as whole numbers fall on them when a line is applied to these last.

    A gain above 1 leaves gaps between the levels, a gain below 1 makes some levels twice as frequent.
    """
    values = np.rint(copy).astype(int)
    values = values[(values > 0) & (values < 255)]
    if values.size < 50 or abs(1 - gain) < 0.01:
        return False
    frequency = np.bincount(values, minlength=256) / values.size
    scores = []
    for shift in (-0.3, -0.15, 0.0, 0.15, 0.3):
        levels = np.rint(gain * np.arange(-300, 600) + offset + shift).astype(int)
        hits = np.bincount(levels[(levels >= 0) & (levels < 256)], minlength=256)
        scores.append(float(frequency @ np.log(np.maximum(hits * gain, 0.05))))
    return max(scores) > max(0.0, 3 / np.sqrt(values.size) - 0.05)


def _grey_and_blur(pixels: RegionPixels, grey: str) -> Chain:
    reference, copy, mask = pixels
    blur = fit_blur(reference, copy, mask, line=True)
    if grey == "luminance":
        offset = fit_line(blur.apply(reference), copy, mask, slope=False)[1]
        fit = _grey_fit(grey, 1.0, offset)
    else:
        fit = _grey_fit(grey, blur.gain, blur.offset)
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
    line = _grey_fit(grey, gain, offset)
    chains = []
    for fit in (line, get(grey).estimate(reference, copy, mask)):
        assert fit is not None
        coder = jpeg_fit(*CoefficientPairs(np.rint(fit.apply(reference)), copy, mask).nearest_table())
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
        # Coarse quantisation removes detail as blur does: narrower kernels are tried before the same coder.
        narrower = [blur.scaled(factor) for factor in (0.5, 0.64, 0.8, 1.0)]
        chains = [Chain((("blur", Fit(b.parameters, b.apply)), ("jpeg", coder))) for b in narrower]
        errors = [_error(chain, pixels) for chain in chains]
        best = int(np.argmin(errors))
        finer = [narrower[best].scaled(factor) for factor in (0.89, 0.945, 1.06)]
        return _better(
            pixels, chains[best], *(Chain((("blur", Fit(b.parameters, b.apply)), ("jpeg", coder))) for b in finer)
        )
    first = _jpeg_first(blur, pixels)
    again = fit_blur(first.apply(reference), copy, mask)
    return Chain((("jpeg", first), ("blur", Fit(again.parameters, again.apply))))


def _jpeg_first(blur: BlurFit, pixels: RegionPixels) -> Fit:
    """Coder before a blur, which hides its steps: most qualities are tried, since only the right one fits well."""
    narrower = blur.scaled(0.97)

    def error(quality: int) -> float:
        rest = (pixels.copy - narrower.apply(jpeg_fit(quality).apply(pixels.reference)))[pixels.mask]
        return float(rest @ rest)

    errors = {quality: error(quality) for quality in (*range(1, 36), *range(37, 60, 2), *range(62, 96, 4))}
    best = min(errors, key=errors.__getitem__)
    errors.update({quality: error(quality) for quality in range(max(best - 3, 1), best + 4) if quality not in errors})
    return jpeg_fit(float(min(errors, key=errors.__getitem__)))


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
    if likeness(error, mask) > 0.5 * alike and alike > 0.03:
        return Chain(((random, noise_fit(float(np.sqrt(measured / max(power, 1e-4))))), blur_step))
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


def likeness(field: np.ndarray, mask: np.ndarray) -> float:
    """Return the correlation between neighbours, mean of across and down.

    Parameters
    ----------
    field : ndarray, shape (h, w)
        Differences about zero.
    mask : ndarray of bool, shape (h, w)
        Pixels to use.

    Returns
    -------
    float
        Correlation, -1 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.chains import likeness
    >>> likeness(np.ones((4, 4)), np.ones((4, 4), bool))
    1.0
    """
    masked = np.where(mask, field, 0)
    power = float(np.mean(masked[mask] ** 2)) if mask.any() else 0.0
    if power < 1e-9:
        return 0.0
    total = 0.0
    for axis in (0, 1):
        one, two = (np.take(masked, np.arange(a, masked.shape[axis] - 1 + a), axis) for a in (0, 1))
        both = np.take(mask, np.arange(masked.shape[axis] - 1), axis) & np.take(
            mask, np.arange(1, masked.shape[axis]), axis
        )
        total += float((one * two).sum()) / max(np.count_nonzero(both), 1) / power
    return total / 2


def _random_and_jpeg(pixels: RegionPixels, random: str) -> Chain:
    reference, copy, mask = pixels
    quality, table, closeness = CoefficientPairs(reference, copy, mask).likely_table()
    if random == "impulse_noise":
        hit = find_impulses(reference, copy) & mask & ((copy <= 0) | (copy >= 255))
        if np.count_nonzero(hit) >= 3:
            # Blocks that were hit show the coder's steps only if the coder came last.
            closeness = CoefficientPairs(reference, copy, mask & _whole_blocks(hit)).closeness(table) * 2
    if closeness > CODED_LAST:
        coder = jpeg_fit(quality, table)
        error = copy - coder.apply(reference)
        solve = solve_impulses if random == "impulse_noise" else solve_noise
        return Chain(((random, solve(pixels, coder, error)), ("jpeg", coder)))
    if random == "gaussian_noise":
        coder = jpeg_fit(*CoefficientPairs(reference, copy, mask).nearest_table())
        expected = coder.apply(reference)
        sigma = float(np.sqrt(residual_power(copy - expected, expected, mask)))
        return Chain((("jpeg", coder), (random, noise_fit(sigma))))
    filled = np.where(hit, reference, copy)
    for _ in range(2):
        # What was hit is filled in with what the coder makes of the reference there.
        coder = jpeg_fit(*CoefficientPairs(reference, filled, mask).nearest_table())
        expected = coder.apply(reference)
        scale = robust_scale((copy - expected)[mask]) + 1.5
        hit, share, salt = count_impulses(expected, copy, mask, scale, EXTREMES)
        filled = np.where(hit, expected, copy)
    return Chain((("jpeg", coder), (random, impulse_fit(share, salt))), hit)


def _whole_blocks(pixels: np.ndarray) -> np.ndarray:
    """All pixels of the blocks of 8 x 8 in which at least one pixel is set."""
    rows, cols = (n // 8 for n in pixels.shape)
    any_set = pixels[: rows * 8, : cols * 8].reshape(rows, 8, cols, 8).any(axis=(1, 3))
    grown = np.zeros(pixels.shape, bool)
    grown[: rows * 8, : cols * 8] = np.kron(any_set, np.ones((8, 8), bool))
    return grown


def solve_noise(pixels: RegionPixels, after: Fit, error: np.ndarray) -> Fit:
    """Find the noise before a step, such that a simulated copy has as much of it as the real one.

    Parameters
    ----------
    pixels : RegionPixels
        Reference, copy, and the pixels to compare.
    after : Fit
        The step that follows the noise.
    error : ndarray, shape (h, w)
        Copy less what `after` makes of the reference.

    Returns
    -------
    Fit
        The noise.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.chains import solve_noise
    >>> from llise.diagnosis.region_pixels import RegionPixels
    >>> from llise.kinds.fitting import Fit
    >>> image = np.full((64, 64), 100, np.float32)
    >>> error = np.random.default_rng(1).normal(0, 6, image.shape)
    >>> half = Fit({}, lambda grey: 100 + (grey - 100) / 2)
    >>> pixels = RegionPixels(image, image + error, np.ones(image.shape, bool))
    >>> round(solve_noise(pixels, half, error).parameters["sigma"])
    12
    """
    reference, _, mask = pixels
    wanted = float(np.mean(error[mask] ** 2))
    expected = after.apply(reference)

    def power(sigma: float) -> float:
        simulated = after.apply(noise_fit(sigma).draw(reference, np.random.default_rng(0)))  # type: ignore[misc]
        return float(np.mean((simulated - expected)[mask] ** 2))

    return noise_fit(
        _solve(power, wanted, start=float(np.sqrt(max(wanted - ROUNDING, 0.05))), most=150.0, exponent=2.0)
    )


def solve_impulses(pixels: RegionPixels, after: Fit, error: np.ndarray) -> Fit:
    """Find the impulses before a step, such that a simulated copy has as much of them as the real one.

    Parameters
    ----------
    pixels, after, error
        As for :func:`solve_noise`.

    Returns
    -------
    Fit
        The impulses.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.chains import solve_impulses
    >>> from llise.diagnosis.region_pixels import RegionPixels
    >>> from llise.kinds.fitting import Fit
    >>> image = np.full((64, 64), 100, np.float32)
    >>> copy = np.where(np.random.default_rng(1).random(image.shape) < 0.03, 177.5, 100)
    >>> half = Fit({}, lambda grey: 100 + (grey - 100) / 2)
    >>> fit = solve_impulses(RegionPixels(image, copy, np.ones(image.shape, bool)), half, copy - image)
    >>> round(fit.parameters["share"], 2), fit.parameters["salt"]
    (0.03, 1.0)
    """
    reference, _, mask = pixels
    expected = after.apply(reference)
    # Small differences may come from a step that is not known exactly.
    least = 2 * robust_scale(error[mask])

    def large(values: np.ndarray) -> float:
        return float(np.mean(np.where(np.abs(values) > least, values, 0) ** 2))

    wanted, shift = large(error[mask]), float(np.mean(error[mask]))
    level = float(reference[mask].mean())
    square = float(np.mean(reference[mask] ** 2))
    salt, share = 0.5, 0.01
    for _ in range(3):
        strength = max(salt * (255**2 - 510 * level) + square, 25.0)

        def power(share: float, salt: float = salt) -> float:
            simulated = after.apply(impulse_fit(share, salt).draw(reference, np.random.default_rng(0)))  # type: ignore[misc]
            return large((simulated - expected)[mask])

        share = _solve(power, wanted, start=min(wanted / strength, 0.5), most=0.9, exponent=1.0)
        salt = float(np.clip((shift / max(share, 1e-6) + level) / 255, 0.0, 1.0))
    return impulse_fit(share, salt)


def _solve(power, wanted: float, start: float, most: float, exponent: float) -> float:
    """The argument at which a power that grows about with the given exponent reaches a wanted value."""
    at = min(max(start, 1e-5), most)
    best, miss = at, np.inf
    for _ in range(4):
        measured = power(at)
        ratio = (wanted + 1e-6) / (measured + 1e-6)
        if abs(np.log(ratio)) < miss:
            best, miss = at, abs(float(np.log(ratio)))
        if miss < 0.03:
            break
        at = float(np.clip(at * np.clip(ratio, 0.05, 20.0) ** (1 / exponent), 1e-5, most))
    return best
