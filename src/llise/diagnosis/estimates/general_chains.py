"""The settings of two kinds one after the other, for any two kinds that can be estimated alone.

Which kind came first is not known. Both orders are fitted, and the one that comes nearer to the copy is taken. Noise is
measured on what the other kind leaves, impulses and other content are left out while the other kind is fitted.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy

from llise.diagnosis.estimates.coder_last import coder_last
from llise.diagnosis.estimates.fitted_chain import Chain
from llise.diagnosis.estimates.region_pixels import RegionPixels
from llise.diagnosis.estimates.simulated import likeness, solve_impulses, solve_strength
from llise.kinds.blur_fit import BlurFit, fit_blur
from llise.kinds.content_fit import content_fit, find_content
from llise.kinds.fitting import Fit, fit_line, line_fit, residual_power, robust_scale
from llise.kinds.gaussian_noise import noise_fit
from llise.kinds.impulse_noise import EXTREMES, count_impulses, find_impulses, impulse_fit
from llise.kinds.jpeg import jpeg_fit
from llise.kinds.noise_by_grey import noise_by_grey
from llise.kinds.quantization import even_levels_fit, levels_before, levels_fit
from llise.kinds.registry import get
from llise.kinds.speckle_noise import far_from_noise, fit_speckle, fit_two_noises, speckle_fit

NOISES = ("gaussian_noise", "speckle_noise")
"""Kinds that change every pixel at random."""

GREY = ("contrast", "luminance")

ROUNDS = 2
"""How often the first of two kinds is fitted again after the second."""

SMOOTHING = ("pixelation", "jpeg2000")
"""Kinds that remove detail as blur does."""

NARROWER = (0.25, 0.4, 0.55, 0.7, 0.85, 1.0)
"""Factors on the width of a blur that another kind came after."""

EXPONENTS_BELOW, LEAST_MISFIT, BETTER = (0.0, 0.25, 0.5, 0.75, 1.0), 0.25, 0.7
"""Powers of the grey level that are tried for noise below a coder, the least misfit of noise of one strength (in
logarithms of powers) with which its power may follow the grey level, and how much smaller that of the best one must
be."""

PIECE = 192
"""Side in pixels of the piece of a picture on which many settings are tried."""

IMPULSES_LAST = 0.1
"""Share of the error that may be left where no impulse is, if impulses came last."""


def fit_general(pixels: RegionPixels, kinds: tuple[str, ...]) -> Chain | None:
    """Find the settings of any two kinds.

    Parameters
    ----------
    pixels : RegionPixels
        Reference, copy, and the pixels to compare.
    kinds : tuple of str
        Two kinds, in any order.

    Returns
    -------
    Chain or None
        The steps; None if one of the kinds has no estimate.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.general_chains import fit_general
    >>> from llise.diagnosis.estimates.region_pixels import RegionPixels
    >>> image = np.random.default_rng(0).integers(40, 200, (128, 128)).astype(np.float32)
    >>> copy = image + 20
    >>> copy[40:60, 40:60] = 0
    >>> chain = fit_general(RegionPixels(image, copy, image > 0), ("luminance", "content"))
    >>> {kind: {name: round(value, 2) for name, value in fit.parameters.items()} for kind, fit in chain.steps}
    {'luminance': {'offset': 20.0}, 'content': {'coverage': 0.02}}
    """
    for special, solve in (("content", _and_content), ("impulse_noise", _and_impulses)):
        if special in kinds:
            return solve(pixels, _other(kinds, special))
    if set(kinds) == set(NOISES):
        sigma, growing = fit_two_noises(pixels.copy - pixels.reference, pixels.reference, pixels.mask)
        return Chain((("speckle_noise", growing), ("gaussian_noise", noise_fit(sigma))))
    grey = next((kind for kind in kinds if kind in GREY), None)
    if grey and "quantization" in kinds:
        return _grey_and_levels(pixels, grey)
    noise = next((kind for kind in kinds if kind in NOISES), None)
    if noise:
        return _and_noise(pixels, noise, _other(kinds, noise))
    chains = [_in_order(pixels, *order) for order in (kinds, kinds[::-1])]
    fitted = [chain for chain in chains if chain is not None]
    return min(fitted, key=lambda chain: _error(chain, pixels)) if fitted else None


def _other(kinds: tuple[str, ...], kind: str) -> str:
    return next(other for other in kinds if other != kind)


def _error(chain: Chain, pixels: RegionPixels) -> float:
    rest = (pixels.copy - chain.images(pixels.reference)[-1])[pixels.mask]
    return float(np.mean(rest * rest)) if rest.size else 0.0


def _last(kind: str, pixels: RegionPixels) -> Fit | None:
    """The settings of a kind that came last, where the traces that it leaves in the copy tell them."""
    if kind == "quantization":
        return levels_fit(pixels.copy, pixels.mask)
    if kind == "jpeg":
        return coder_last(pixels)
    return None


def _in_order(pixels: RegionPixels, first: str, second: str) -> Chain | None:
    """Two kinds without random parts: each is fitted to what the other leaves, in turn."""
    reference, copy, mask = pixels
    known = _last(second, pixels)
    if known and first == "jpeg":
        return _coded_first(pixels, second, known)
    if first == "quantization":
        return _levels_first(pixels, second, known)
    target = copy
    best: tuple[float, Chain] | None = None
    for _ in range(ROUNDS if "jpeg2000" in (first, second) else ROUNDS + 1):  # coding is slow
        before = get(first).estimate(reference, target, mask)
        if before is None:
            break
        between = before.apply(reference)
        after = known or get(second).estimate(between, copy, mask)
        if after is None:
            break
        remade = after.apply(between)
        rest = (copy - remade)[mask]
        error = float(np.mean(rest * rest))
        if best is not None and error > 0.99 * best[0]:
            break
        best = error, Chain(((first, before), (second, after)))
        if first == "blur" and second in SMOOTHING:
            return _narrower(pixels, target, second, after)
        target = np.clip(copy - (remade - between), 0, 255)  # the copy without what the second kind did
    return None if best is None else best[1]


def _narrower(pixels: RegionPixels, target: np.ndarray, second: str, after: Fit) -> Chain:
    """Blur before a kind that removes detail as blur does: narrower kernels are tried."""
    blur = fit_blur(pixels.reference, target, pixels.mask)

    def chain(kernel: BlurFit) -> Chain:
        return Chain((("blur", Fit(kernel.parameters, kernel.apply)), (second, after)))

    kernels = [make(factor) for make in (blur.scaled, blur.gaussian) for factor in NARROWER]
    best = min(kernels, key=lambda kernel: _error(chain(kernel), pixels))
    finer = [best, *(best.scaled(factor) for factor in (0.87, 0.93, 1.07, 1.14))]
    return min((chain(kernel) for kernel in finer), key=lambda trial: _error(trial, pixels))


def _coded_first(pixels: RegionPixels, second: str, after: Fit) -> Chain:
    """JPEG before a kind whose settings are known: qualities are tried, first some of all, then those near the best."""

    def chain(quality: int) -> Chain:
        return Chain((("jpeg", jpeg_fit(float(quality))), (second, after)))

    def error(quality: int) -> float:
        return _error(chain(quality), pixels)

    best = min((*range(2, 30, 3), *range(30, 60, 5), *range(60, 96, 7)), key=error)
    return chain(min(range(max(best - 3, 1), min(best + 4, 100)), key=error))


def _levels_first(pixels: RegionPixels, second: str, known: Fit | None) -> Chain | None:
    """Levels before a kind that mixes them: they are found by trying, on a piece of the picture."""
    piece = pixels.window(PIECE)
    there = known or get(second).estimate(*piece)
    if there is None:
        return None
    levels = levels_before(there, *piece)
    after = known or get(second).estimate(levels.apply(pixels.reference), pixels.copy, pixels.mask)
    return None if after is None else Chain((("quantization", levels), (second, after)))


def _grey_and_levels(pixels: RegionPixels, grey: str) -> Chain:
    """A change of the greys after rounding to even levels, or before it; any table would explain both."""
    reference, copy, mask = pixels
    levels, gain, offset = even_levels_fit(reference, copy, mask)
    if grey == "luminance":
        gain, offset = 1.0, float(np.mean((copy - levels.apply(reference))[mask]))
    chains = [Chain((("quantization", levels), (grey, line_fit(grey, gain, offset))))]
    last = levels_fit(copy, mask)
    if last is not None:
        gain, offset = fit_line(reference, copy, mask, slope=grey == "contrast")
        gains = gain * np.linspace(0.94, 1.06, 13) if grey == "contrast" else np.ones(1)
        middle = float(reference[mask].mean())
        lines = [(float(g), offset + middle * (gain - float(g)) + shift) for g in gains for shift in range(-12, 13)]
        greys = RegionPixels(*_sampled(reference, copy, mask))
        trials = [Chain(((grey, line_fit(grey, *line)), ("quantization", last))) for line in lines]
        chains.append(min(trials, key=lambda chain: _error(chain, greys)))
    return min(chains, key=lambda chain: _error(chain, pixels))


def _sampled(reference: np.ndarray, copy: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A few thousand of the pixels in one row, on which tables can be compared quickly."""
    chosen = np.flatnonzero(mask)[:: max(np.count_nonzero(mask) // 4000, 1)]
    return reference.ravel()[None, chosen], copy.ravel()[None, chosen], np.ones((1, chosen.size), bool)


def _and_content(pixels: RegionPixels, kind: str) -> Chain | None:
    """Other content on top of a kind, which is fitted to the other pixels."""
    reference, copy, mask = pixels
    damaged = find_content(reference, copy, mask)
    expected, fit = reference, None
    for _ in range(ROUNDS):
        clean = mask & ~scipy.ndimage.binary_dilation(damaged, np.ones((5, 5), bool))
        clean = clean if np.count_nonzero(clean) > 0.1 * np.count_nonzero(mask) else mask & ~damaged
        filled = np.where(damaged, expected, copy)
        fit = get(kind).estimate(reference, filled, clean)
        if fit is None:
            return None
        expected = fit.apply(reference)
        damaged = find_content(expected, copy, mask)
    assert fit is not None
    hit = None
    if kind == "impulse_noise":
        hit, share, salt = count_impulses(reference, np.where(damaged, reference, copy), mask & ~damaged)
        fit = impulse_fit(share, salt)
    return Chain(((kind, fit), ("content", content_fit(copy, damaged, mask))), hit)


def _and_impulses(pixels: RegionPixels, kind: str) -> Chain | None:
    """Impulses after a kind, or before it where that leaves much."""
    reference, copy, mask = pixels
    if kind == "speckle_noise":
        return _speckle_and_impulses(pixels)
    expected, fit, hit = reference, None, find_impulses(reference, copy) & mask
    for _ in range(ROUNDS):
        filled = np.where(hit, expected if fit else reference, copy)
        fit = get(kind).estimate(reference, filled, mask & ~hit)
        if fit is None:
            return None
        expected = fit.apply(reference)
        scale = robust_scale((copy - expected)[mask & ~hit]) + 1.0
        hit, share, salt = count_impulses(expected, copy, mask, scale, _impulse_levels(fit))
    assert fit is not None
    last = Chain(((kind, fit), ("impulse_noise", impulse_fit(share, salt))), hit)
    left, total = (copy - expected)[mask & ~hit], (copy - reference)[mask]
    if share > 0 and float(left @ left) <= IMPULSES_LAST * float(total @ total):
        return last
    fit = _last(kind, pixels) or fit
    error = copy - fit.apply(reference)
    first = Chain((("impulse_noise", solve_impulses(pixels, fit, error)), (kind, fit)))
    return first if _hidden(error, first, last, pixels) else last


def _speckle_and_impulses(pixels: RegionPixels) -> Chain:
    """Impulses are what differs far more than the noise does at the same grey level."""
    reference, copy, mask = pixels
    error = copy - reference
    far = far_from_noise(error, reference, mask)
    noise, _ = fit_speckle(error, reference, mask & ~far & (copy > 0) & (copy < 255))
    # The noise may have come last, so that impulses are near black and white only.
    hit, share, salt = count_impulses(reference, np.where(far, copy, reference), mask, scale=1.0)
    return Chain((("speckle_noise", noise), ("impulse_noise", impulse_fit(share, salt))), hit)


def _impulse_levels(fit: Fit) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Greys that white and black impulses have before and after a kind."""
    if "levels" not in fit.parameters:
        return EXTREMES
    white, black = (float(np.rint(fit.apply(np.full((1, 1), grey, np.float32))[0, 0])) for grey in (255.0, 0.0))
    return (white, 255.0), (black, 0.0)


def _hidden(error: np.ndarray, first: Chain, last: Chain, pixels: RegionPixels) -> bool:
    """Whether neighbours are as alike in an error as if the random kind came first, rather than last."""
    measured = likeness(error, pixels.mask)
    expected = []
    for chain in (first, last):
        remade = chain.images(pixels.reference)[-1]
        expected.append(likeness(chain.draw(pixels.reference)[-1] - remade, pixels.mask))
    return abs(measured - expected[0]) < abs(measured - expected[1])


def _and_noise(pixels: RegionPixels, noise: str, kind: str) -> Chain | None:
    """Noise after a kind, or before it where neighbours are alike in what the kind leaves."""
    reference, copy, mask = pixels
    known = _last(kind, pixels)
    fit = known or get(kind).estimate(reference, copy, mask)
    if fit is None:
        return None
    if kind in GREY:
        return _grey_and_speckle(pixels, kind, fit)
    expected = fit.apply(reference)
    error = copy - expected
    if noise == "speckle_noise":
        later, _ = fit_speckle(error, expected, mask)
        exponent = _exponent_below(pixels, known, error) if known else later.parameters["exponent"]
        earlier = solve_strength(pixels, fit, error, lambda sigma: speckle_fit(sigma, exponent))
    else:
        later = noise_fit(float(np.sqrt(residual_power(error, expected, mask))))
        earlier = solve_strength(pixels, fit, error, noise_fit)
    first, last = Chain(((noise, earlier), (kind, fit))), Chain(((kind, fit), (noise, later)))
    return first if known or _hidden(error, first, last, pixels) else last


def _exponent_below(pixels: RegionPixels, coder: Fit, error: np.ndarray) -> float:
    """The power of the grey level with which noise below a coder grows; 0 where noise of one strength is as likely.

    What a coder leaves of noise depends on the detail around it, so that noise of each power is coded too, and compared
    in the logarithms of what is left at each grey level.
    """
    reference, _, mask = pixels
    expected = coder.apply(reference)
    _, powers, counts = noise_by_grey(error, expected, mask)
    misfits = []
    for exponent in EXPONENTS_BELOW:
        noise = solve_strength(pixels, coder, error, partial(speckle_fit, exponent=exponent))
        simulated = [coder.apply(noise.draw(reference, np.random.default_rng(seed))) for seed in (1, 2)]  # type: ignore[misc]
        own = np.mean([noise_by_grey(image - expected, expected, mask)[1] for image in simulated], axis=0)
        misfits.append(float(np.sqrt(np.average(np.log((powers + 0.35) / (own + 0.35)) ** 2, weights=counts))))
    best = int(np.argmin(misfits))
    return EXPONENTS_BELOW[best] if misfits[0] > LEAST_MISFIT and misfits[best] < BETTER * misfits[0] else 0.0


def _grey_and_speckle(pixels: RegionPixels, grey: str, fit: Fit) -> Chain:
    """Noise that follows the greys before a change of the greys, or those after it, whichever is likelier."""
    reference, copy, mask = pixels
    expected = fit.apply(reference)
    inside = mask & (expected > 0) & (expected < 255)
    if np.count_nonzero(inside) < 0.02 * np.count_nonzero(mask):
        inside = mask
    gain = fit_line(reference, copy, mask, slope=True)[0] if grey == "contrast" else 1.0
    later, after = fit_speckle(copy - expected, expected, inside)
    earlier, before = fit_speckle((copy - expected) / np.float32(gain), reference, inside)
    if before + np.count_nonzero(inside) * np.log(gain**2) < after:
        return Chain((("speckle_noise", earlier), (grey, fit)))
    return Chain(((grey, fit), ("speckle_noise", later)))
