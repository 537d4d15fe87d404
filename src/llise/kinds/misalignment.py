"""Misalignment: the whole picture is shifted, turned, scaled, or cut and enlarged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy

from llise.kinds.base import Draw, Kind, Path, drawn
from llise.kinds.estimation import STEP_OF, Pair, Trials, pair_of
from llise.kinds.fitting import Fit, exact_fit, interval
from llise.kinds.grey import quantise
from llise.kinds.resize import ENLARGING_NAMES, resize
from llise.kinds.warping import METHODS, Interpolator, Transform, warp

FILLS = ("repeated", "black", "mirrored", "wrapped")
"""What programs put where the picture has moved away from the border."""


@dataclass(frozen=True)
class MisalignmentSettings:
    """A shift in pixels, positive where the content lies further right and down, a rotation about the middle in
    degrees, counter-clockwise as seen, and a size in per cent, of which columns get `stretch` more and rows less.

    With `crop`, rows and columns (top, left, bottom, right) are cut off and the rest is enlarged by the filter
    `method`; the other numbers then say the same and are not used.
    """

    shift_x: float = 0.0
    shift_y: float = 0.0
    rotation: float = 0.0
    scale: float = 0.0
    stretch: float = 0.0
    method: str = "bicubic"
    fill: str = "repeated"
    crop: tuple[int, int, int, int] = (0, 0, 0, 0)

    def words(self) -> dict[str, float]:
        return {"shift_x": self.shift_x, "shift_y": self.shift_y, "rotation": self.rotation, "scale": self.scale}


class Misalignment(Kind):
    """A picture that is shifted to the right, with repeated borders; the strength is the shift in pixels.

    At random it is shifted in any direction, turned about its middle, scaled, or all of it, by up to 16 pixels, 3
    degrees and 3 per cent, with one of several interpolations and borders, or it is cut and enlarged.

    How a copy is misaligned is found by :mod:`llise.diagnosis.alignment.placing`, before anything else is judged.
    """

    name = "misalignment"
    title = "misalignment"
    short_title = "misaligned"
    strongest = 16.0
    random = False
    Settings = MisalignmentSettings
    exact = hides = True
    units: ClassVar = {"shift_x": (" px", 1.0), "shift_y": (" px", 1.0), "rotation": ("°", 1.0), "scale": (" %", 1.0)}
    letter, page_color = "M", "#785ef0"

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        return lambda strength: warp(image, Transform(shift_x=strength), "bicubic")

    def draw(self, image: np.ndarray, rng: np.random.Generator) -> Draw:
        if rng.random() < 0.2:
            return _draw_crop(self, image, rng)
        direction = rng.uniform(0, 2 * np.pi)
        moved, turned, scaled = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1))[rng.choice(4, p=[0.5, 0.15, 0.15, 0.2])]
        ends = (
            float(16 * moved * np.cos(direction)),
            float(16 * moved * np.sin(direction)),
            float(3 * turned * rng.choice([-1.0, 1.0])),
            float(3 * scaled * rng.choice([-1.0, 1.0])),
        )
        method, fill, whole = str(rng.choice(list(METHODS))), str(rng.choice(FILLS)), bool(rng.random() < 0.3)

        def at(strength: float) -> MisalignmentSettings:
            x, y, rotation, scale = (strength * end for end in ends)
            x, y = (float(round(x)), float(round(y))) if whole else (x, y)
            return MisalignmentSettings(x, y, rotation, scale, 0.0, method, fill)

        return drawn(self, image, at, 1.0)

    def fit(
        self, reference: np.ndarray, copy: np.ndarray, mask: np.ndarray, start: MisalignmentSettings | None = None
    ) -> Fit | None:
        pair = pair_of(reference, copy, mask)
        found = find_misalignment(pair, start) if pair is not None and min(mask.shape) >= 24 else None
        if found is None:
            return None
        settings, intervals = found
        return exact_fit(self, settings, intervals)

    def apply(self, image: np.ndarray, settings: MisalignmentSettings) -> np.ndarray:
        if any(settings.crop):
            top, left, bottom, right = settings.crop
            rows, cols = image.shape[:2]
            return resize(
                np.ascontiguousarray(image[top : rows - bottom, left : cols - right]), (rows, cols), settings.method
            )
        return quantise(moved(image, settings))


def _draw_crop(kind: Misalignment, image: np.ndarray, rng: np.random.Generator) -> Draw:
    """Up to a tenth of each side is cut off, here more and there less, and the rest enlarged."""
    shares, method = rng.dirichlet(np.ones(4)) * 0.2, str(rng.choice(ENLARGING_NAMES))
    (rows, cols), least = image.shape[:2], int(rng.integers(4))

    def at(strength: float) -> MisalignmentSettings:
        cut = np.rint(strength * shares * [rows, cols, rows, cols]).astype(int)
        if not cut.any():
            cut[least] = 1
        return crop_settings(tuple(int(n) for n in cut), (rows, cols), method)  # type: ignore[arg-type]

    return drawn(kind, image, at, 1.0)


def crop_settings(crop: tuple[int, int, int, int], shape: tuple[int, ...], method: str) -> MisalignmentSettings:
    """Settings of a picture that was cut and enlarged again."""
    top, left, bottom, right = crop
    down, across = shape[0] / (shape[0] - top - bottom), shape[1] / (shape[1] - left - right)
    scale, stretch = 50 * (down + across) - 100, 50 * (across - down)
    return MisalignmentSettings(
        across * (right - left) / 2, down * (bottom - top) / 2, 0.0, scale, stretch, method, crop=crop
    )


def sources(shape: tuple[int, ...], settings: MisalignmentSettings) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of the reference from which each pixel of the copy comes; they can be broadcast."""
    middle_y, middle_x = (shape[0] - 1) / 2, (shape[1] - 1) / 2
    v = (np.arange(shape[0], dtype=np.float64) - (middle_y + settings.shift_y))[:, None]
    u = np.arange(shape[1], dtype=np.float64) - (middle_x + settings.shift_x)
    angle = np.radians(settings.rotation)
    cosine, sine = float(np.cos(angle)), float(np.sin(angle))
    down, across = (1 + (settings.scale + sign * settings.stretch) / 100 for sign in (-1, 1))
    if sine == 0:  # rows and columns stay apart, which is quicker to interpolate
        return middle_y + v / down, middle_x + u / across
    return middle_y + (sine * u + cosine * v) / down, middle_x + (cosine * u - sine * v) / across


def moved(image: np.ndarray, settings: MisalignmentSettings) -> np.ndarray:
    """The moved picture (float32), with the border filled in one of the usual ways."""
    planes = image[None] if image.ndim == 2 else np.moveaxis(image, -1, 0)
    y, x = sources(planes.shape[1:], settings)
    result = Interpolator(planes, settings.method)(y, x)
    if settings.fill != "repeated":
        y, x = np.broadcast_arrays(y, x)
        outside = (y < 0) | (y > image.shape[0] - 1) | (x < 0) | (x > image.shape[1] - 1)
        mode = {"mirrored": "reflect", "wrapped": "grid-wrap"}.get(settings.fill)
        for made, plane in zip(result, planes):
            made[outside] = (
                0.0
                if mode is None
                else scipy.ndimage.map_coordinates(
                    plane.astype(np.float32), [y[outside], x[outside]], order=1, mode=mode
                )
            )
    return result[0] if image.ndim == 2 else np.moveaxis(result, 0, -1)


FIELDS = "shift_x", "shift_y", "rotation", "scale"

COARSE = 3.0
"""Deviation in pixels of the Gaussian after which large motions are looked for."""

SURELY = 0.5
"""Share of the squared error that a motion may leave at most."""


def find_misalignment(
    pair: Pair, start: MisalignmentSettings | None = None
) -> tuple[MisalignmentSettings, dict[str, tuple[float, float]]] | None:
    """The motion of least squared error and intervals of its words; None where none comes near."""
    plane = pair.plane()
    first = start if start is not None else MisalignmentSettings(*_whole_shift(plane))
    smooth, kind = _smoothed(plane), Misalignment()
    guess = _followed(
        smooth, min((first, MisalignmentSettings()), key=lambda one: smooth.error(moved(smooth.before, _halved(one))))
    )
    plain = _polished(plane, replace(guess, method="bicubic"), FIELDS, 3)[0]
    crops = []
    if plain.scale > 0 and abs(plain.rotation) < 0.3:
        crops = _crops(_polished(plane, replace(plain, stretch=1e-3), (*FIELDS, "stretch"), 3)[0], plane.mask.shape)
    ranked = sorted((replace(plain, method=method) for method in METHODS), key=lambda one: _left(plane, one))
    x, y = (float(round(shift)) for shift in (plain.shift_x, plain.shift_y))
    exact = [MisalignmentSettings(x, y, method="bilinear"), *crops]
    trials = [_polished(plane, one, FIELDS, 3) for one in ranked[:2]]
    best, deviations = min(trials, key=lambda trial: _left(plane, trial[0]))
    nearest = min(exact, key=lambda one: plane.error(kind.apply(plane.before, one)))
    if plane.error(kind.apply(plane.before, nearest)) <= _left(plane, best):
        best = nearest
    if not any(best.crop):
        best = min(
            (replace(best, fill=fill) for fill in FILLS), key=lambda one: plane.error(kind.apply(plane.before, one))
        )
    if plane.error(kind.apply(plane.before, best)) > SURELY * plane.change:
        return None
    words = best.words()
    return best, {name: interval(words[name], deviations[name], 0.05 * STEP_OF[name]) for name in words}


def _left(pair: Pair, settings: MisalignmentSettings) -> float:
    return pair.error(quantise(moved(pair.before, settings)))


def _polished(
    pair: Pair, settings: MisalignmentSettings, fields: tuple[str, ...], most: int
) -> tuple[MisalignmentSettings, dict[str, float]]:
    return Trials(pair, lambda one: moved(pair.before, one)).polished(settings, fields, most)


def _smoothed(pair: Pair) -> Pair:
    """Smooth pictures of half the size."""
    before, after = (scipy.ndimage.gaussian_filter(image.astype(np.float32), COARSE)[::2, ::2] for image in pair[:2])
    return Pair(before, after, pair.mask[::2, ::2])


def _halved(settings: MisalignmentSettings, factor: float = 0.5) -> MisalignmentSettings:
    return replace(settings, shift_x=factor * settings.shift_x, shift_y=factor * settings.shift_y, method="bilinear")


def _followed(pair: Pair, settings: MisalignmentSettings) -> MisalignmentSettings:
    """After Gauss-Newton steps on smooth pictures of half the size."""
    return _halved(_polished(pair, _halved(settings), FIELDS, 6)[0], 2.0)


def _whole_shift(pair: Pair) -> tuple[float, float]:
    """Columns and rows by which the content moved, by the peak of the phase correlation (Kuglin and Hines 1975)."""
    window = np.outer(*(np.hanning(n) for n in pair.mask.shape)).astype(np.float32)
    before, after = (scipy.fft.rfft2((image - image.mean()) * window) for image in pair[:2])
    cross = after * before.conj()
    peak = scipy.fft.irfft2(cross / (np.abs(cross) + 1e-3 * np.abs(cross).max()), s=window.shape)
    place = np.unravel_index(int(peak.argmax()), peak.shape)
    rows, cols = (int(at) - n if at > n // 2 else int(at) for at, n in zip(place, peak.shape))
    return float(cols), float(rows)


def _crops(found: MisalignmentSettings, shape: tuple[int, ...]) -> list[MisalignmentSettings]:
    """Whole rows and columns that may have been cut off, by the filters with which programs enlarge."""
    if found.scale <= 0 or abs(found.rotation) > 0.1:
        return []
    rows, cols = shape
    factor = 1 + found.scale / 100
    trials = []
    for down in _cuts(rows, factor, found.shift_y):
        for across in _cuts(cols, factor, found.shift_x):
            crop = down[0], across[0], down[1], across[1]
            if any(crop):
                trials += [crop_settings(crop, shape, method) for method in ("bilinear", "lanczos")]
    kept = []
    for one in trials:
        kept += [one, *(crop_settings(one.crop, shape, method) for method in ("bicubic", "sharp bicubic"))]
    return kept


def _cuts(length: int, factor: float, shift: float) -> list[tuple[int, int]]:
    """Lines cut off before and after that fit to a factor and a shift, and those beside them."""
    total = length - length / factor
    last = total / 2 + shift / factor
    pairs = {(round(total - last) + i, round(last) + j) for i in (-1, 0, 1) for j in (-1, 0, 1)}
    return sorted(both for both in pairs if min(both) >= 0)
