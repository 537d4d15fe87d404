"""Measurements of a copy against its reference that tell the kinds of distortion apart.

Each kind leaves its own trace: a point operation (contrast, luminance) moves the mean of every block along
one curve; blur lowers the gain of high frequencies, for strong and weak structures alike; JPEG lowers it on
the 8 x 8 grid and for weak ones only, and its rounding error is a sawtooth of the reference's own
coefficients; noise adds what the reference does not explain, evenly over all frequencies; impulses are few
and far out.

Everything is measured on a few windows of the image, cut on the 8 x 8 grid, so that the cost does not grow
with the image and synthetic copies need be made of the windows alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import fft
from scipy.ndimage import uniform_filter

BLOCK = 8
"""Side of JPEG's blocks."""
ROUNDING = 0.2
"""Power about that of rounding once or twice; below it a measurement tells programs apart, not
distortions."""
MARGIN = 32
"""Border around a window, so that blur finds its neighbourhood there."""


@dataclass(frozen=True)
class Windows:
    """Places of the windows: top left corners on the 8 x 8 grid, one size for all."""

    corners: tuple[tuple[int, int], ...]
    size: tuple[int, int]

    def cut(self, image: np.ndarray, margin: int = 0) -> np.ndarray:
        """Return the windows with `margin` around them, mirrored at the image's border: (m, h, w)."""
        if min(image.shape) < BLOCK:
            image = np.pad(image, [(0, max(BLOCK - n, 0)) for n in image.shape], mode="edge")
        padded = np.pad(image, margin, mode="symmetric") if margin else image
        rows, cols = (n + 2 * margin for n in self.size)
        return np.stack([padded[r : r + rows, c : c + cols] for r, c in self.corners])


def choose_windows(reference: np.ndarray, side: int = 160, count: int = 3) -> Windows:
    """Choose windows from the smoothest to the roughest part of the reference.

    Parameters
    ----------
    reference : ndarray of uint8, shape (h, w)
    side : int
        Largest side of a window; smaller where the image is.
    count : int
        Most windows.
    """
    size = tuple(max(min(side, n // BLOCK * BLOCK), BLOCK) for n in reference.shape)
    steps = [max(n // 2 // BLOCK * BLOCK, BLOCK) for n in size]
    corners = [
        (r, c)
        for r in range(0, max(reference.shape[0] - size[0], 0) + 1, steps[0])
        for c in range(0, max(reference.shape[1] - size[1], 0) + 1, steps[1])
    ]
    image = reference.astype(np.float32)
    energy = np.array([_roughness(image[r : r + size[0], c : c + size[1]]) for r, c in corners])
    order = [corners[i] for i in np.argsort(energy, kind="stable")]
    chosen: list[tuple[int, int]] = []
    for part in np.linspace(0.98, 0.15, count):
        # The window nearest to this rank of roughness that does not overlap those chosen before.
        free = [i for i, corner in enumerate(order) if not _overlaps(corner, chosen, size)]
        if free:
            chosen.append(order[min(free, key=lambda i: abs(i - part * (len(order) - 1)))])
    return Windows(tuple(chosen), size)


def _roughness(window: np.ndarray) -> float:
    return float(np.mean(np.abs(np.diff(window, axis=0))) + np.mean(np.abs(np.diff(window, axis=1))))


def _overlaps(corner: tuple[int, int], others: list[tuple[int, int]], size: tuple[int, ...]) -> bool:
    return any(abs(corner[0] - r) < size[0] and abs(corner[1] - c) < size[1] for r, c in others)


_DCT_1D = fft.dct(np.eye(BLOCK), norm="ortho", axis=0)
_DCT = np.kron(_DCT_1D, _DCT_1D).T.astype(np.float32)  # both directions at once, on blocks as rows
_FREQUENCY = np.add.outer(np.arange(BLOCK), np.arange(BLOCK)).ravel()
_GROUPS = [np.flatnonzero(np.isin(_FREQUENCY, sums)) for sums in ((1, 2), (3, 4), (5, 6, 7), list(range(8, 15)))]
# Coefficients whose rounding is looked at: the lowest, which survive in most JPEGs.
_LOW = np.flatnonzero(_FREQUENCY <= 4)
_STEPS = np.unique(np.rint(np.geomspace(6, 255, 72)))


def block_dct(windows: np.ndarray, offset: int = 0) -> np.ndarray:
    """Cosine coefficients of the 8 x 8 blocks of a stack of windows: (blocks, 64)."""
    if offset:
        windows = windows[:, offset : offset - BLOCK, offset : offset - BLOCK]
    m, rows, cols = windows.shape
    blocks = windows.reshape(m, rows // BLOCK, BLOCK, cols // BLOCK, BLOCK).swapaxes(2, 3)
    return blocks.reshape(-1, BLOCK * BLOCK) @ _DCT


class Statistics:
    """Measures stacks of windows against those of one reference.

    Parameters
    ----------
    reference : ndarray of uint8, shape (h, w)
        The whole reference: contrast is a change about its mean, not that of the windows.
    places : Windows
        Where the windows lie.

    Attributes
    ----------
    names : list of str
        Names of the measurements, in order.
    """

    def __init__(self, reference: np.ndarray, places: Windows) -> None:
        self.mean, self.spread = float(reference.mean()), max(float(reference.std()), 1.0)
        self.reference = places.cut(reference).astype(np.float32)
        rows, cols = self.reference.shape[1:]
        self.coefficients = block_dct(self.reference)
        self.means = self.coefficients[:, 0] / BLOCK
        self.texture = np.sqrt(np.mean(self.coefficients[:, 1:] ** 2, axis=1))
        rank = np.argsort(np.argsort(self.texture, kind="stable"), kind="stable") / self.texture.size
        self.smooth, self.rough = rank < 1 / 3, rank >= min(2 / 3, rank.max())
        self.levels = self.reference.astype(np.int64).ravel()
        self.level_counts = np.bincount(self.levels, minlength=256)
        self._prepare_spectrum(rows, cols)
        self._prepare_sawtooth()
        self._prepare_strength()
        self.names = list(self._measure(self.reference))

    def __call__(self, windows: np.ndarray) -> np.ndarray:
        """Return the measurements of a copy's windows as one float32 vector, never a NaN."""
        values = np.fromiter(self._measure(windows.astype(np.float32)).values(), np.float64)
        return np.nan_to_num(values, nan=0.0, posinf=30.0, neginf=-30.0).clip(-1e4, 1e4).astype(np.float32)

    # Prepared once per reference

    def _prepare_spectrum(self, rows: int, cols: int) -> None:
        taper = np.outer(np.hanning(rows + 2)[1:-1], np.hanning(cols + 2)[1:-1]).astype(np.float32)
        self.taper = taper / np.sqrt(np.mean(taper**2))
        fy, fx = np.fft.fftfreq(rows)[:, None], np.fft.rfftfreq(cols)[None, :]
        radius = np.hypot(fy, fx)
        edges = np.array([0.006, 0.0135, 0.022, 0.035, 0.055, 0.08, 0.13, 0.19, 0.26, 0.34, 0.43, 0.75])
        band = np.digitize(radius, edges) - 1
        self.n_bands = len(edges) - 1
        self.band_radius = 0.5 * (edges[1:] + edges[:-1])
        self.band = np.where((band < 0) | (band >= self.n_bands), self.n_bands, band).ravel()
        steep, high = np.abs(fy) > 2 * fx, (radius > 0.1) & (radius < 0.4)
        flat = fx > 2 * np.abs(fy)
        self.cone = np.where(steep & high, 0, np.where(flat & high, 1, 2)).ravel()
        self.spectrum_shape = radius.shape
        self.spectrum = self._transform(self.reference)

    def _prepare_sawtooth(self) -> None:
        # Rounding a coefficient c to steps q makes the error q round(c/q) - c. What it shares with c itself
        # is no evidence (blur scales c too), so that part is taken out; each row then has norm one.
        c = self.coefficients[:, _LOW].T[:, None, :]
        q = _STEPS.astype(np.float32)[None, :, None]
        error = q * np.rint(c / q) - c
        error -= error.mean(axis=2, keepdims=True)
        unit = c - c.mean(axis=2, keepdims=True)
        unit /= np.linalg.norm(unit, axis=2, keepdims=True) + 1e-6
        error -= np.sum(error * unit, axis=2, keepdims=True) * unit
        self.sawtooth = error / (np.linalg.norm(error, axis=2, keepdims=True) + 1e-3)
        self.unit = unit[:, 0]

    def _prepare_strength(self) -> None:
        own, size = self.coefficients, np.abs(self.coefficients)
        # Coefficients where they are strong, or weak, and zero elsewhere.
        self.strong = np.where((size >= np.quantile(size, 0.9, axis=0)) & (size > 4), own, np.float32(0))
        self.weak = np.where(size <= np.quantile(size, 0.6, axis=0), own, np.float32(0))
        self.strong_power, self.weak_power, self.own_power = (
            np.sum(a * a, axis=0) for a in (self.strong, self.weak, own)
        )

    def _transform(self, windows: np.ndarray) -> np.ndarray:
        centred = windows - windows.mean(axis=(1, 2), keepdims=True)
        return fft.rfft2(centred * self.taper).reshape(len(windows), -1)

    # The measurements

    def _measure(self, image: np.ndarray) -> dict[str, float]:
        out: dict[str, float] = {}
        residual = image - self.reference
        clean = self._impulses(out, image, residual)
        curve, straightened = self._point_curve(out, clean)
        rest = clean - curve
        self._energies(out, residual, clean - self.reference, rest)
        self._shape(out, "residual", residual)
        self._shape(out, "rest", rest)
        self._point_scatter(out, clean)
        unfiltered = self._gains(out, straightened, out["slope"])
        self._shape(out, "unfiltered", unfiltered)
        self._smooth_parts(out, "unfiltered ", unfiltered)
        self._noise(out, rest)
        self._smooth_parts(out, "", rest)
        coded = block_dct(clean)
        self._coding(out, straightened, coded, clean, rest)
        in_blocks = block_dct(straightened)
        steps = self._sawtooth(out, "sawtooth", in_blocks)
        self._sawtooth(out, "unfiltered sawtooth", block_dct(unfiltered))
        self._steps_missed(out, in_blocks, steps)
        return out

    def _impulses(self, out: dict[str, float], image: np.ndarray, residual: np.ndarray) -> np.ndarray:
        """Measure pixels far from their neighbours' residual; return the image with them smoothed over."""
        around = _middle_of_neighbours(residual)
        lonely = residual - around
        scale = 1.4826 * float(np.median(np.abs(lonely[:, ::2, ::2]))) + 0.4
        # A pixel lost by blur is far from its neighbours in the residual too, but not in the image itself.
        peak = image - _middle_of_neighbours(image)
        far = (np.abs(lonely) > 4.5 * scale + 3) & (peak * np.sign(lonely) > 0.5 * np.abs(lonely))
        share = float(far.mean())
        values = image[far]
        counts = np.sort(np.bincount(values.astype(np.int64).clip(0, 255), minlength=256))
        total = float(np.sum(lonely**2)) + 1e-6
        out["impulse share"] = np.log(share + 1e-5)
        out["impulse energy"] = float(np.sum(lonely[far] ** 2)) / total
        out["impulse values"] = float(counts[-2:].sum()) / max(values.size, 1) if values.size > 3 else 0.0
        out["impulse salt"] = float(np.mean(lonely[far] > 0)) if values.size else 0.5
        out["impulse height"] = np.log(float(np.mean(np.abs(lonely[far]))) + 1) if values.size else 0.0
        out["impulse contrast"] = out["impulse height"] - np.log(scale)
        out["lonely scale"] = np.log(scale)
        out["lonely kurtosis"] = _kurtosis(lonely)
        for level, name in ((0, "black"), (255, "white")):
            more = float(np.mean(image == level) - np.mean(self.reference == level))
            out[f"more {name}"] = np.sign(more) * np.log1p(1e4 * abs(more))
        return np.where(far, self.reference + around, image)

    def _point_curve(self, out: dict[str, float], clean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Fit the curve that takes the reference's block means to the image's; return it and its inverse's image."""
        m, rows, cols = clean.shape
        blocks = clean.reshape(m, rows // BLOCK, BLOCK, cols // BLOCK, BLOCK)
        means = blocks.mean(axis=(2, 4), dtype=np.float64).ravel()
        inside = (blocks.max(axis=(2, 4)).ravel() < 254) & (blocks.min(axis=(2, 4)).ravel() > 1)
        if inside.mean() < 0.25:
            inside[:] = True
        x, y = self.means[inside].astype(np.float64), means[inside]
        centre = x.mean()
        spread = max(x.std(), 1.0)
        t = (x - centre) / spread
        slope = float(np.mean(t * (y - y.mean())) / max(np.mean(t * t), 1e-3) / spread) if x.std() > 0.5 else 1.0
        basis = np.polynomial.legendre.legvander(np.clip(t / 2.5, -1.2, 1.2), 3)
        ridge = 1e-3 * len(t) * np.diag([0, 1e-2, 1, 1])
        bend = np.linalg.solve(basis.T @ basis + ridge + 1e-9 * np.eye(4), basis.T @ (y - x))
        out["shift"] = float(np.mean(y - x)) + (slope - 1) * (self.mean - centre)
        out["shift of middle"] = float(np.median(y - x))
        out["slope"] = slope
        out["slope strength"] = (slope - 1) * self.spread
        shifted, stretched = out["shift"] ** 2, out["slope strength"] ** 2
        out["shift part"] = shifted / (shifted + stretched + float(np.sum(bend[2:] ** 2)) + 0.5)
        at_grey = out["shift"] + (slope - 1) * (127.5 - self.mean)  # a line about mid-grey leaves mid-grey where it was
        out["shift at mid-grey"] = np.log((at_grey**2 + 0.5) / (shifted + stretched + 0.5))
        out["bend 2"], out["bend 3"] = float(bend[2]), float(bend[3])
        for name, left in (
            ("line", y - x - (slope - 1) * (x - centre)),
            ("curve", y - x - basis @ bend),
            ("mean", y - x),
        ):
            out[f"{name} misfit"] = np.log(np.std(left) + 0.3)
        levels = np.arange(256)
        offset = np.polynomial.legendre.legval(np.clip((levels - centre) / (2.5 * spread), -1.2, 1.2), bend)
        curve = np.clip(levels + offset, 0, 255).astype(np.float32)[self.levels].reshape(clean.shape)
        gain = min(max(slope, 0.25), 4.0)
        straightened = ((clean - y.mean()) / gain + centre).astype(np.float32)
        return curve, straightened

    def _point_scatter(self, out: dict[str, float], clean: np.ndarray) -> None:
        """How far the image is from a function of the reference's grey level, and from a constant shift."""
        values = clean.ravel().astype(np.float64)
        counts = np.maximum(self.level_counts, 1)
        mean = np.bincount(self.levels, values, 256) / counts
        square = np.bincount(self.levels, values * values, 256) / counts
        scatter = np.sum(self.level_counts * np.maximum(square - mean**2, 0)) / values.size
        out["point scatter"] = np.log(scatter + ROUNDING)
        inside = (mean > 3) & (mean < 252) & (self.level_counts > 8)
        change = mean - np.arange(256)
        weight = self.level_counts * inside
        total = max(weight.sum(), 1)
        middle = float(np.sum(weight * change) / total)
        out["point shift"] = middle
        out["point spread"] = np.log(np.sqrt(np.sum(weight * (change - middle) ** 2) / total) + 0.3)
        clipped = (clean <= 0) | (clean >= 255)
        shift = np.rint(clean - self.reference).astype(np.int64)[~clipped]
        common = np.bincount((shift + 255).clip(0, 510), minlength=511) if shift.size else np.zeros(1)
        out["common shift"] = float(common.max() / max(shift.size, 1))
        out["clipped"] = float(clipped.mean())

    def _smooth_parts(self, out: dict[str, float], name: str, rest: np.ndarray) -> None:
        """What is left where the reference is smooth: blur leaves nothing there, noise and impulses do."""
        m, rows, cols = rest.shape
        blocks = rest.reshape(m, rows // BLOCK, BLOCK, cols // BLOCK, BLOCK).swapaxes(2, 3)
        blocks = blocks.reshape(-1, BLOCK, BLOCK)[self.smooth]
        blocks = blocks - blocks.mean(axis=(1, 2), keepdims=True)
        energy = np.mean(blocks**2, axis=(1, 2))
        power = float(energy.mean()) + ROUNDING
        out[f"{name}smooth power"] = np.log(power)
        out[f"{name}smooth middle"] = np.log((float(np.median(energy)) + ROUNDING) / power)
        out[f"{name}smooth kurtosis"] = _kurtosis(blocks)
        out[f"{name}smooth peaks"] = float(np.log((np.abs(blocks).max(axis=(1, 2)) + 0.5).mean() / np.sqrt(power)))
        out[f"{name}smooth skewness"] = _skewness(blocks)
        for lag in (1, 2, 3):
            across = float(np.mean(blocks[:, :, lag:] * blocks[:, :, :-lag]))
            down = float(np.mean(blocks[:, lag:] * blocks[:, :-lag]))
            out[f"{name}smooth correlation {lag}"] = 0.5 * (across + down) / power

    def _energies(self, out: dict[str, float], residual: np.ndarray, clean: np.ndarray, rest: np.ndarray) -> None:
        whole, without_impulses, without_curve = (float(np.mean(a**2)) + ROUNDING for a in (residual, clean, rest))
        out["mse"] = np.log(whole)
        out["clean mse"] = np.log(without_impulses)
        out["rest mse"] = np.log(without_curve)
        out["impulse part"] = np.log(without_impulses / whole)
        out["curve part"] = np.log(without_curve / without_impulses)

    def _shape(self, out: dict[str, float], name: str, residual: np.ndarray) -> None:
        """Spatial correlation and tails of a residual."""
        centred = residual - residual.mean()
        power = float(np.mean(centred**2)) + ROUNDING
        for dy, dx in ((0, 1), (1, 0), (1, 1), (0, 2), (2, 0), (0, 4), (4, 0)):
            h, w = residual.shape[1:]
            near = float(np.mean(centred[:, : h - dy, : w - dx] * centred[:, dy:, dx:]))
            out[f"{name} correlation {dy} {dx}"] = near / power
        out[f"{name} kurtosis"] = _kurtosis(centred)
        out[f"{name} skewness"] = _skewness(centred)
        out[f"{name} tails"] = float(np.median(np.abs(centred[:, ::2, ::2]))) / np.sqrt(power)

    def _gains(self, out: dict[str, float], straightened: np.ndarray, slope: float) -> np.ndarray:
        """Gain of the image on the reference, by frequency; return what no filter of the reference explains."""
        own, copy = self.spectrum, self._transform(straightened)
        cross = np.sum(own.conj() * copy, axis=0)
        own_power, copy_power = np.sum(np.abs(own) ** 2, axis=0), np.sum(np.abs(copy) ** 2, axis=0)
        size = straightened.size
        bands = self.n_bands
        sums = [np.bincount(self.band, a, bands + 1)[:-1] for a in (cross.real, own_power, copy_power)]
        count = np.maximum(np.bincount(self.band, minlength=bands + 1)[:-1], 1)
        gain = np.log(np.clip(sums[0] / (sums[1] + 1e-3), 0.02, 4))
        left = np.log(np.maximum(sums[2] - sums[0] ** 2 / (sums[1] + 1e-3), 0) / count / size + ROUNDING)
        # A filter of any shape has one gain at each frequency; noise has none. Neighbouring frequencies
        # share it.
        filter_gain, unexplained = self._best_filter(cross, own_power, copy_power)
        free = np.log(unexplained / count / size + ROUNDING)
        for i in range(bands):
            out[f"gain {i}"] = float(gain[i])
            if i >= 2:
                out[f"left {i}"], out[f"left {i} relative"] = float(left[i]), float(left[i] - left.mean())
                out[f"free {i}"], out[f"free {i} relative"] = float(free[i]), float(free[i] - free.mean())
                out[f"power {i}"] = float(np.log((sums[2][i] + 1) / (sums[1][i] + 1)))
        # log gain = log contrast - 2 pi^2 sigma^2 f^2 for a Gaussian: the line's value at zero is free of
        # blur.
        weight = np.array([1.0, 1.0, 0.7, 0.4])
        fit = np.polynomial.polynomial.polyfit(self.band_radius[:4] ** 2, gain[:4], 1, w=weight)
        out["gain at zero"] = float(np.clip(fit[0], -3, 3) + np.log(min(max(slope, 0.25), 4.0)))
        out["gain decay"] = float(np.clip(fit[1], -2e3, 2e3))
        cones = [np.bincount(self.cone, a, 3)[:2] for a in (cross.real, own_power)]
        cone_gain = np.log(np.clip(cones[0] / (cones[1] + 1e-3), 0.02, 4))
        out["gain across"], out["gain along"] = float(cone_gain[0]), float(cone_gain[1])
        out["gain anisotropy"] = float(abs(cone_gain[0] - cone_gain[1]))
        beyond = (copy - filter_gain * own).reshape(len(straightened), *self.spectrum_shape)
        return fft.irfft2(beyond, s=straightened.shape[1:]).astype(np.float32)

    def _best_filter(self, cross: np.ndarray, own: np.ndarray, copy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gain at each frequency, shared with its neighbours, and the power by band that it leaves."""
        parts = np.stack([cross.real, cross.imag, own, copy]).reshape(4, *self.spectrum_shape)
        parts = uniform_filter(parts, (0, 3, 3), mode=("constant", "wrap", "nearest"))
        left = np.maximum(parts[3] - (parts[0] ** 2 + parts[1] ** 2) / (parts[2] + 1e-3), 0)
        gain = (parts[0] + 1j * parts[1]) / (parts[2] + 1e-3)
        return gain.ravel(), np.bincount(self.band, left.ravel(), self.n_bands + 1)[:-1]

    def _noise(self, out: dict[str, float], rest: np.ndarray) -> None:
        """Fine detail that the reference does not have, in its smooth and in its rough parts."""
        power = block_dct(rest) ** 2
        detail, broad = power[:, _GROUPS[3]].mean(axis=1), power[:, 1:].mean(axis=1)
        peaks = np.abs(rest).reshape(len(rest), rest.shape[1] // BLOCK, BLOCK, -1, BLOCK).max(axis=(2, 4))
        typical = np.sqrt(broad + ROUNDING)
        for part in (0.5, 0.9, 0.99):
            out[f"peaks {part}"] = float(np.log(np.quantile(peaks, part) + 1))
            out[f"peaks {part} relative"] = float(np.log(np.quantile(peaks.ravel() / typical, part) + 0.1))
        out["peaks contrast"] = out["peaks 0.99"] - out["peaks 0.5"]
        for name, values in (("detail", detail), ("broad", broad)):
            smooth, rough = (np.log(np.median(values[part]) + ROUNDING) for part in (self.smooth, self.rough))
            out[f"{name} smooth"], out[f"{name} rough"] = float(smooth), float(rough)
            out[f"{name} contrast"] = float(rough - smooth)
            out[f"{name} low"] = float(np.log(np.quantile(values, 0.1) + ROUNDING))

    def _coding(
        self,
        out: dict[str, float],
        straightened: np.ndarray,
        coded: np.ndarray,
        clean: np.ndarray,
        rest: np.ndarray,
    ) -> None:
        """Traces of rounding on the 8 x 8 grid."""
        copy = block_dct(straightened)
        strong_sums, weak_sums = (np.sum(copy * part, axis=0) for part in (self.strong, self.weak))
        power = np.sum(copy * copy, axis=0)
        for i, group in enumerate(_GROUPS):
            strong = float(strong_sums[group].sum()) / (float(self.strong_power[group].sum()) + 1)
            weak = float(np.clip(weak_sums[group].sum() / (self.weak_power[group].sum() + 1), -1, 3))
            out[f"strong gain {i}"], out[f"weak gain {i}"] = strong, weak
            out[f"gain contrast {i}"] = strong - weak
            out[f"block power {i}"] = np.log((power[group].sum() + 1) / (self.own_power[group].sum() + 1))
        off_grid = block_dct(clean, offset=4) if min(clean.shape[1:]) >= 2 * BLOCK else coded
        for i, group in enumerate(_GROUPS):
            on, off = (float(np.mean(np.abs(a[:, group]) < 1)) for a in (coded, off_grid))
            out[f"zeros {i}"] = on
            out[f"zeros off grid {i}"] = on - off
        comb = np.max(_comb(coded[:, _LOW]) - _comb(off_grid[:, _LOW]), axis=0)
        out["comb most"], out["comb mean"] = float(comb.max()), float(comb.mean())
        for name, values, base in (("blockiness", clean, self.reference), ("rest blockiness", rest, None)):
            out[name] = _blockiness(values) - (_blockiness(base) if base is not None else 0.0)

    def _sawtooth(self, out: dict[str, float], name: str, copy: np.ndarray) -> np.ndarray:
        """Likeness of the low coefficients' error to that of rounding the reference's; return the best steps."""
        error = copy[:, _LOW].T
        error = error - error.mean(axis=1, keepdims=True)
        error = error - np.sum(error * self.unit, axis=1, keepdims=True) * self.unit
        error /= np.linalg.norm(error, axis=1, keepdims=True) + 1.0
        likeness = np.matmul(self.sawtooth, error[:, :, None])[:, :, 0]
        match = likeness.max(axis=1)
        waves = np.sort(match[1:])
        out[f"{name} of means"] = float(match[0])
        out[f"{name} most"], out[f"{name} mean"] = float(waves[-1]), float(waves.mean())
        out[f"{name} middle"], out[f"{name} least"] = float(np.median(waves)), float(waves[0])
        return _STEPS[likeness.argmax(axis=1)]

    def _steps_missed(self, out: dict[str, float], copy: np.ndarray, steps: np.ndarray) -> None:
        """By how many steps coefficients differ from the reference's own, coded with these steps.

        None after plain coding; one in many blocks if there was noise before; several in few, if impulses.
        """
        q = steps[1:].astype(np.float32)
        expected = q * np.rint(self.coefficients[:, _LOW[1:]] / q)
        missed = np.abs(copy[:, _LOW[1:]] - expected) / q
        one, more = missed > 0.6, missed > 1.6
        out["steps missed"], out["steps missed far"] = float(one.mean()), float(np.log(more.mean() + 1e-4))
        out["blocks missed"], out["blocks missed far"] = float(one.any(axis=1).mean()), float(more.any(axis=1).mean())
        out["blocks missed badly"] = float(np.mean(one.mean(axis=1) > 0.4))


def _middle_of_neighbours(values: np.ndarray) -> np.ndarray:
    """Mean of the middle two of the four neighbours: their median."""
    padded = np.pad(values, [(0, 0), (1, 1), (1, 1)], mode="edge")
    n, s, w, e = padded[:, :-2, 1:-1], padded[:, 2:, 1:-1], padded[:, 1:-1, :-2], padded[:, 1:-1, 2:]
    low = np.maximum(np.minimum(n, s), np.minimum(w, e))
    high = np.minimum(np.maximum(n, s), np.maximum(w, e))
    return 0.5 * (low + high)


def _kurtosis(values: np.ndarray) -> float:
    """Logarithm of the fourth moment over the squared second."""
    square = np.square(values - values.mean())
    power = float(square.mean()) + ROUNDING
    return float(np.log(float(np.mean(square * square)) / power**2 + 0.1))


def _skewness(values: np.ndarray) -> float:
    centred = values - values.mean()
    square = centred * centred
    return float(np.cbrt(float(np.mean(square * centred)) / (float(square.mean()) + ROUNDING) ** 1.5))


def _comb(coefficients: np.ndarray) -> np.ndarray:
    """Real part of the characteristic function of each column: peaks at 1/q where values are multiples of q."""
    levels = np.rint(coefficients).astype(np.int64).clip(-256, 255) + 256
    columns = levels.shape[1]
    counts = np.bincount((levels + 512 * np.arange(columns)).ravel(), minlength=512 * columns).reshape(columns, 512)
    # Centred at 256, a half period: the sign alternates, which the shift undoes.
    spectrum = fft.rfft(fft.ifftshift(counts, axes=1), axis=1).real / max(len(levels), 1)
    return spectrum[:, 3:86].T


def _blockiness(values: np.ndarray) -> float:
    """Log ratio of squared steps across the 8 x 8 grid to those elsewhere."""
    ratios = []
    for axis in (1, 2):
        step = np.mean(np.diff(values, axis=axis) ** 2, axis=(0, 3 - axis))
        border = np.arange(step.size) % BLOCK == BLOCK - 1
        if border.any():
            ratios.append(np.log((step[border].mean() + 0.05) / (step[~border].mean() + 0.05)))
    return float(np.mean(ratios)) if ratios else 0.0
