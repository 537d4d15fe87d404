"""The width and the shape of a blur from the image before it and the image after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from llise.filters import from_spectrum, spectrum_of
from llise.kinds.blur_kernels import disc_kernel, motion_kernel
from llise.kinds.fitting import ROUNDING
from llise.kinds.free_kernel import free_kernel, is_alike, reach_for
from llise.kinds.frequency_filter import filtered
from llise.kinds.minimum import bounded_minimum, simplex_minimum

START_SIGMAS = (0.4, 0.8, 1.5, 2.7, 4.8, 8.5)
"""Widths of Gaussian kernels from which the search starts, whichever comes nearest."""

CLEARLY = 0.85
"""A motion or a disc is said where its squared error is at most this share of that of a Gaussian kernel."""

LEAVES_MUCH, MOVED_CLEARLY = 0.08, 0.8
"""Share of the error from which a shift is looked for, and share of what was left that it may leave."""

FURTHEST = 2.0
"""Largest shift against the kernel's greatest deviation; an even trail to one side has 1.7."""

FREE_FROM, FREE_CLEARLY = 0.01, 0.9
"""Share of the error from which a kernel of any form is looked for, and share of what was left that it may leave."""

WIDTH_FACTORS = (0.0, 0.3, 0.6, 1.7, 3.0)
"""Factors on the variances of a Gaussian kernel; a sum of such kernels follows other shapes."""


@dataclass(frozen=True, eq=False)
class BlurFit:
    """A blur, and the straight line between its grey levels and those of the image after it.

    Attributes
    ----------
    parameters : dict of str to float
        ``sigma``; for motion ``length`` and ``angle`` besides, for a disc ``radius``.
    response : ndarray, shape (h, w // 2 + 1)
        Factor on each coefficient of :func:`numpy.fft.rfft2`; 1 for the mean. Complex for a kernel of any form.
    gain, offset : float
        The line; 1 and 0 if it was not asked for.
    error : float
        Mean squared difference that remains.
    shape : tuple of int
        Shape of the images.
    shift : tuple of float
        Rows and columns by which the blur moves the image: a trail to one side moves it by half of its length.
    """

    parameters: dict[str, float]
    response: np.ndarray
    gain: float
    offset: float
    error: float
    shape: tuple[int, int]
    shift: tuple[float, float] = (0.0, 0.0)

    def apply(self, image: np.ndarray) -> np.ndarray:
        """Blur an image of any shape, without the line."""
        response = self.response
        if any(self.shift):
            response = response * _moving(self.shape, self.shift)
        return filtered(image, response, self.shape)

    def scaled(self, factor: float) -> BlurFit:
        """Return a blur of the same shape whose width is about `factor` times this one's."""
        parameters = {name: value if name == "angle" else value * factor for name, value in self.parameters.items()}
        size = np.abs(self.response) if np.iscomplexobj(self.response) else np.clip(self.response, 0, None)
        turn = self.response / np.maximum(size, 1e-6) if np.iscomplexobj(self.response) else np.float32(1)
        return replace(self, parameters=parameters, response=turn * size ** np.float32(factor**2))

    def gaussian(self, factor: float) -> BlurFit:
        """Return the round Gaussian blur whose width is `factor` times that of this one."""
        sigma = factor * self.parameters["sigma"]
        rows, cols = self.response.shape[0], self.shape[1]
        square = np.fft.fftfreq(rows)[:, None] ** 2 + np.fft.rfftfreq(cols) ** 2
        return replace(
            self, parameters={"sigma": sigma}, response=np.exp(-2 * (np.pi * sigma) ** 2 * square).astype(np.float32)
        )


class _Trial(NamedTuple):
    """An elliptic Gaussian kernel, its response, and what it makes of the pixels to compare."""

    variances: np.ndarray
    response: np.ndarray
    values: np.ndarray
    error: float


def _moving(shape: tuple[int, ...], shift: Sequence[float] | np.ndarray) -> np.ndarray:
    """Factor on the coefficients of :func:`numpy.fft.rfft2` that moves an image by rows and columns."""
    down, across = np.fft.fftfreq(shape[0])[:, None], np.fft.rfftfreq(shape[1])
    return np.exp(-2j * np.pi * (shift[0] * down + shift[1] * across)).astype(np.complex64)


class _Search:
    def __init__(self, before: np.ndarray, after: np.ndarray, mask: np.ndarray, line: bool) -> None:
        self.shape = before.shape
        self.before = before
        if line:
            unclipped = mask & (after > 0.5) & (after < 254.5)
            mask = unclipped if np.count_nonzero(unclipped) > 0.1 * np.count_nonzero(mask) else mask
        self.pixels = np.flatnonzero(mask)
        self.unblurred, self.target = (image.ravel()[self.pixels].astype(np.float32) for image in (before, after))
        self.line = line
        self.spectrum = spectrum_of(before.astype(np.float32))
        self.y = (2 * np.pi * np.fft.fftfreq(self.shape[0]))[:, None].astype(np.float32)
        self.x = (2 * np.pi * np.fft.rfftfreq(self.shape[1])).astype(np.float32)

    def run(self) -> BlurFit:
        starts = (self.trial(np.array([sigma**2, sigma**2, 0.0])) for sigma in START_SIGMAS)
        shift, (variances, response, values, error) = self.moved(self.refine(min(starts, key=lambda at: at.error)))
        (small, large), axes = np.linalg.eigh([[variances[0], variances[2]], [variances[2], variances[1]]])
        sigma = float(np.sqrt(max((small + large) / 2, 0.0)))
        parameters = {"sigma": sigma}
        shape = None
        if large > 0.3 and small < 0.3 * large:
            angle = np.degrees(np.arctan2(-axes[1, 1], axes[0, 1])) % 180
            shape = self.motion(np.sqrt(12 * large), angle)
        elif sigma > 0.6 and small > 0.5 * large:
            shape = self.disc(2 * sigma)
        widths = [self.gaussian(factor * variances) for factor in WIDTH_FACTORS]
        if shape is not None and shape[2] < CLEARLY * error:
            parameters, response, error = shape
            values = self.values(response)
        response, values, error = self.mixture(response, values, widths, error)
        free = self.free(values, error, float(np.sqrt(max(large, 0.0))), shift)
        if free is not None:
            response, values, error = free
            shift = 0.0, 0.0  # the kernel itself moves the image
        gain, offset = self.straight(values)
        return BlurFit(parameters, response, gain, offset, error, self.shape, shift)

    def moved(self, unmoved: _Trial) -> tuple[tuple[float, float], _Trial]:
        """Gauss-Newton steps on a shift of the image, where the blur alone leaves much; the spectrum moves along."""
        change = self.target - self.unblurred
        if unmoved.error < LEAVES_MUCH * float(change @ change) / max(change.size, 1):
            return (0.0, 0.0), unmoved
        still, shift = self.spectrum, np.zeros(2)
        best, moved = unmoved, (0.0, 0.0)
        for _ in range(5):
            gain, _ = self.straight(best.values)
            columns = np.stack([gain * self.values(-1j * axis * best.response) for axis in (self.y, self.x)], axis=1)
            gram = (columns.T @ columns).astype(np.float64)
            gram[np.diag_indices(2)] *= 1 + 1e-4
            target = (columns.T @ self.residual(best.values)).astype(np.float64)
            shift = shift + np.linalg.lstsq(gram, target, rcond=1e-9)[0]
            self.spectrum = still * _moving(self.shape, shift)
            trial = self.refine(self.trial(best.variances))
            across, down, both = trial.variances
            widest = np.linalg.eigvalsh([[across, both], [both, down]])[-1]
            if trial.error > 0.98 * best.error or shift @ shift > FURTHEST**2 * widest:
                break
            best, moved = trial, (float(shift[0]), float(shift[1]))
        if best.error > MOVED_CLEARLY * unmoved.error:
            best, moved = unmoved, (0.0, 0.0)
        self.spectrum = still * _moving(self.shape, moved) if any(moved) else still
        return moved, best

    def free(
        self, values: np.ndarray, error: float, deviation: float, shift: tuple[float, float]
    ) -> tuple[np.ndarray, np.ndarray, float] | None:
        """A kernel of any form, where the others leave much that goes along with the picture."""
        change = self.target - self.unblurred
        reach = reach_for(deviation, shift, self.pixels.size)
        if reach is None or error < FREE_FROM * float(change @ change) / max(change.size, 1) + ROUNDING:
            return None
        still = self.before.astype(np.float32)
        if not is_alike(still, self.residual(values), self.pixels, reach):
            return None
        weights = free_kernel(still, self.target, self.pixels, reach, line=self.line)
        if weights is None or _is_shift(weights):
            return None
        response = self.kernel(weights, real=False)
        self.spectrum = spectrum_of(still)
        values = self.values(response)
        found = self.error_of(values)
        return (response, values, found) if found <= FREE_CLEARLY * error else None

    def trial(self, variances: np.ndarray) -> _Trial:
        """Blur by an elliptic Gaussian kernel."""
        response = self.gaussian(variances)
        values = self.values(response)
        return _Trial(variances, response, values, self.error_of(values))

    def gaussian(self, variances: np.ndarray) -> np.ndarray:
        across, down, both = (np.float32(v) for v in variances)
        return np.exp(-0.5 * (across * self.x**2 + down * self.y**2) - both * self.x * self.y)

    def kernel(self, weights: np.ndarray, *, real: bool = True) -> np.ndarray:
        """Response of a kernel about its centre, of which only the even part counts if it is to be real."""
        n = len(weights) // 2
        padded = np.zeros(self.shape, np.float32)
        rows, cols = (np.arange(-n, n + 1) % side for side in self.shape)
        np.add.at(padded, (rows[:, None], cols), weights / weights.sum())
        response = np.fft.rfft2(padded)
        return response.real if real else response.astype(np.complex64)

    def values(self, response: np.ndarray) -> np.ndarray:
        """The blurred image at the pixels to compare."""
        return from_spectrum(self.spectrum * response, self.shape).ravel()[self.pixels]

    def straight(self, values: np.ndarray) -> tuple[float, float]:
        if not self.line:
            return 1.0, 0.0
        mean, target_mean = float(values.mean()), float(self.target.mean())
        centred = values - mean
        power = float(centred @ centred)
        gain = float(centred @ (self.target - target_mean)) / power if power > 0.25 * values.size else 1.0
        gain = min(max(gain, 0.02), 20.0)
        return gain, target_mean - gain * mean

    def residual(self, values: np.ndarray) -> np.ndarray:
        gain, offset = self.straight(values)
        return self.target - (np.float32(gain) * values + np.float32(offset))

    def error_of(self, values: np.ndarray) -> float:
        rest = self.residual(values)
        return float(rest @ rest) / max(rest.size, 1)

    def error(self, response: np.ndarray) -> float:
        return self.error_of(self.values(response))

    def refine(self, best: _Trial) -> _Trial:
        """Gauss-Newton steps on the variances of an elliptic Gaussian kernel, halved until they help."""
        slopes = (-0.5 * self.x**2, -0.5 * self.y**2, -self.x * self.y)
        for _ in range(6):
            gain, _ = self.straight(best.values)
            columns = [gain * self.values(slope * best.response) for slope in slopes]
            if self.line:
                columns += [best.values, np.ones_like(best.values)]
            matrix = np.stack(columns, axis=1)
            gram = (matrix.T @ matrix).astype(np.float64)
            gram[np.diag_indices(3)] *= 1 + 1e-4
            target = (matrix.T @ self.residual(best.values)).astype(np.float64)
            step = np.linalg.lstsq(gram, target, rcond=1e-9)[0][:3]
            for part in (1.0, 0.5, 0.2):
                trial = self.trial(_positive(best.variances + part * step))
                if trial.error < best.error:
                    break
            else:
                break
            gained, best = best.error - trial.error, trial
            if gained < 1e-3 * best.error or np.abs(part * step).max() < 0.004 * best.variances[:2].sum():
                break
        return best

    def motion(self, length: float, angle: float) -> tuple[dict[str, float], np.ndarray, float]:
        def response(at: np.ndarray) -> np.ndarray:
            return self.kernel(motion_kernel(float(np.clip(np.exp(at[0]), 1.0, 90.0)), float(at[1] * 30)))

        start = np.array([np.log(max(length, 1.2)), angle / 30])
        simplex = start + np.array([[-0.1, -0.1], [0.12, 0.0], [0.0, 0.15]])
        best, error = simplex_minimum(lambda at: self.error(response(at)), simplex, near=0.01, alike=1e-3, most=26)
        size, angle = float(np.clip(np.exp(best[0]), 1.0, 90.0)), float(best[1] * 30 % 180)
        return {"sigma": size / np.sqrt(24), "length": size, "angle": angle}, response(best), error

    def disc(self, radius: float) -> tuple[dict[str, float], np.ndarray, float]:
        best, error = bounded_minimum(
            lambda r: self.error(self.kernel(disc_kernel(r))), 0.75 * radius, 1.25 * radius, 0.02 * radius, most=7
        )
        return {"sigma": best / 2, "radius": best}, self.kernel(disc_kernel(best)), error

    def mixture(
        self, main: np.ndarray, values: np.ndarray, others: list[np.ndarray], error: float
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Add to a response the differences to others that lessen the error."""
        gain, _ = self.straight(values)
        columns = np.stack([gain * (self.values(other) - values) for other in others], axis=1)
        columns = columns - columns.mean(axis=0) if self.line else columns
        gram = (columns.T @ columns).astype(np.float64)
        gram[np.diag_indices(len(gram))] += 1e-4 * np.trace(gram) / len(gram) + 1e-6
        weights = np.linalg.solve(gram, (columns.T @ self.residual(values)).astype(np.float64))
        mixed = main + sum(np.float32(w) * (other - main) for w, other in zip(weights, others))
        mixed_values = self.values(mixed)
        mixed_error = self.error_of(mixed_values)
        return (mixed, mixed_values, mixed_error) if mixed_error < error else (main, values, error)


def _is_shift(weights: np.ndarray) -> bool:
    """Whether a kernel moves an image by more than it blurs it."""
    offsets = np.arange(len(weights)) - len(weights) // 2
    down, across = offsets[:, None], offsets
    means = [float((weights * axis).sum()) for axis in (down, across)]
    spread = float((weights * ((down - means[0]) ** 2 + (across - means[1]) ** 2)).sum())
    return means[0] ** 2 + means[1] ** 2 > FURTHEST**2 * spread


def _positive(variances: np.ndarray) -> np.ndarray:
    """The nearest kernel that is at least 0.1 pixels wide in all directions, and at most 40."""
    values, axes = np.linalg.eigh([[variances[0], variances[2]], [variances[2], variances[1]]])
    fixed = (axes * np.clip(values, 0.01, 1600.0)) @ axes.T
    return np.array([fixed[0, 0], fixed[1, 1], fixed[0, 1]])
