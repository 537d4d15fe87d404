"""Programs of scikit-image, and some of a few lines of NumPy and SciPy, as people write them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import ndimage
from skimage import exposure, filters, restoration, transform, util

from faults.places import Place, draw_places
from faults.programs import Copies, Program, unknown_program
from llise.kinds.jpeg import code_jpeg
from llise.kinds.jpeg_tables import VIDEO_TABLE

TITLE = "scikit-image"


def programs() -> list[Program]:
    """Return the programs."""
    return [*_papers(), *_further(), *_unknown()]


def _papers() -> list[Program]:
    """The paper's six kinds."""
    return [
        Program("scikit-image gaussian", "blur", _gaussian),
        Program("JPEG, MPEG table", "jpeg", _mpeg),
        Program("scikit-image rescale_intensity", "contrast", _rescale),
        Program("arctangent about mid-grey", "contrast", _arctangent(lambda image: 127.5)),
        Program("arctangent about the mean", "contrast", _arctangent(lambda image: float(image.mean()))),
        Program("scikit-image random_noise gaussian", "gaussian_noise", _random_gaussian),
        Program("scikit-image random_noise s&p", "impulse_noise", _salt_and_pepper(0.5)),
        Program("scikit-image random_noise s&p, salt 0.2", "impulse_noise", _salt_and_pepper(0.2)),
        Program("scikit-image random_noise s&p, salt 0.9", "impulse_noise", _salt_and_pepper(0.9)),
    ]


def _further() -> list[Program]:
    """Kinds that are not in the paper."""
    return [
        Program("scikit-image random_noise speckle", "speckle_noise", _speckle),
        Program("NumPy poisson", "speckle_noise", _poisson),
        Program("scikit-image unsharp_mask", "sharpening", _unsharp),
        Program("NumPy whole steps", "quantization", _steps),
        Program("NumPy digitize", "quantization", _digitize),
        Program("NumPy every k-th pixel", "pixelation", _repeat),
        Program("scikit-image block means", "pixelation", _block_means),
        Program("NumPy constant patch", "content", _drawn(_constant)),
        Program("NumPy part from elsewhere", "content", _drawn(_elsewhere)),
        Program("NumPy dead columns", "content", _dead_columns),
        Program("NumPy noise patch", "content", _drawn(_noise_patch)),
    ]


def _unknown() -> list[Program]:
    """Other noises and filters, and what is far from all kinds."""
    near = {
        "NumPy film grain": (_film_grain, 60),
        "SciPy correlated noise": (_correlated, 60),
        "NumPy row noise": (_row_noise, 60),
        "NumPy hum": (_hum, 60),
        "scikit-image denoise_tv_chambolle": (lambda x, s, seed: 255 * restoration.denoise_tv_chambolle(x / 255, s), 2),
        "scikit-image equalize_adapthist": (lambda x, s, seed: 255 * exposure.equalize_adapthist(x, clip_limit=s), 0.2),
        "SciPy percentile_filter": (lambda x, s, seed: ndimage.percentile_filter(x, 25, round(s)), (3.0, 5.0, 7.0)),
    }  # fmt: skip
    far = {
        "scikit-image swirl": (lambda x, s, seed: 255 * transform.swirl(x / 255, strength=s, radius=min(x.shape)), 6),
        "NumPy ghost": (lambda x, s, seed: x + s * (np.roll(x, (6, 14), (0, 1)).astype(float) - x), 0.6),
        "NumPy exchanged blocks": (_exchanged, (1.0,)),
        "NumPy jitter of lines": (_jitter, 12),
    }
    return [
        unknown_program(name, damage, strengths, nearness)
        for nearness, group in (("near", near), ("far", far))
        for name, (damage, strengths) in group.items()
    ]


def _film_grain(image: np.ndarray, strength: float, seed: int) -> np.ndarray:
    """Soft grain that is strongest in the middle greys."""
    grain = ndimage.gaussian_filter(np.random.default_rng(seed).standard_normal(image.shape), 0.8)
    return image + strength * grain / grain.std() * 4 * image / 255 * (1 - image / 255)


def _correlated(image: np.ndarray, strength: float, seed: int) -> np.ndarray:
    noise = ndimage.uniform_filter(np.random.default_rng(seed).standard_normal(image.shape), 3)
    return image + strength * noise / noise.std()


def _row_noise(image: np.ndarray, strength: float, seed: int) -> np.ndarray:
    return image + strength * np.random.default_rng(seed).standard_normal((len(image), 1))


def _hum(image: np.ndarray, strength: float, seed: int) -> np.ndarray:
    period = np.random.default_rng(seed).uniform(6, 60)
    return image + strength * np.sin(2 * np.pi * np.arange(len(image)) / period)[:, None]


def _exchanged(image: np.ndarray, strength: float, seed: int) -> np.ndarray:
    """All blocks of 12 pixels change places; if only some did, they would be content."""
    copy = image.copy()
    tops, lefts = (np.arange(0, n - 11, 12) for n in image.shape)
    places = np.random.default_rng(seed).permutation([(top, left) for top in tops for left in lefts])
    for (top, left), (y, x) in zip(places, np.roll(places, 1, axis=0)):
        copy[top : top + 12, left : left + 12] = image[y : y + 12, x : x + 12]
    return copy


def _jitter(image: np.ndarray, strength: float, seed: int) -> np.ndarray:
    shifts = np.rint(strength * np.random.default_rng(seed).standard_normal(len(image))).astype(int)
    return np.stack([np.roll(row, shift) for row, shift in zip(image, shifts)])


def _gaussian(image: np.ndarray, seed: int, direction: int) -> Copies:
    return Copies(lambda s: 255 * filters.gaussian(image / 255.0, s, mode="reflect"), 20, lambda s: {"sigma": s})


def _mpeg(image: np.ndarray, seed: int, direction: int) -> Copies:
    return Copies(lambda s: code_jpeg(image, s * VIDEO_TABLE) if s > 0 else image, 32)


def _rescale(image: np.ndarray, seed: int, direction: int) -> Copies:
    """Stretch or squeeze the grey levels about 128."""

    def path(strength: float) -> np.ndarray:
        low, high = 128 - 128 / (1 + strength), 128 + 127 / (1 + strength)
        inner, whole = (low, high), (0.0, 255.0)
        ranges = (inner, whole) if direction > 0 else (whole, inner)
        return exposure.rescale_intensity(image.astype(float), in_range=ranges[0], out_range=ranges[1])

    return Copies(path, 3, lambda s: {"gain": (1 + s) ** direction, "pivot": 128.0})


def _arctangent(middle: Callable[[np.ndarray], float]) -> Callable[[np.ndarray, int, int], Copies]:
    def build(image: np.ndarray, seed: int, direction: int) -> Copies:
        levels, pivot = np.linspace(0, 1, 256), middle(image) / 255

        def path(strength: float) -> np.ndarray:
            if strength < 1e-6:
                return image
            raw = np.arctan(strength * (levels - pivot))
            curve = (raw - raw[0]) / (raw[-1] - raw[0])
            table = curve if direction > 0 else np.interp(levels, curve, levels)
            return (255 * table)[image]

        return Copies(path, 60)

    return build


def _random_gaussian(image: np.ndarray, seed: int, direction: int) -> Copies:
    def path(strength: float) -> np.ndarray:
        return 255 * util.random_noise(image, "gaussian", rng=seed, var=(strength / 255) ** 2)

    return Copies(path, 80, lambda s: {"sigma": s})


def _salt_and_pepper(salt: float) -> Callable[[np.ndarray, int, int], Copies]:
    def build(image: np.ndarray, seed: int, direction: int) -> Copies:
        def path(strength: float) -> np.ndarray:
            return 255 * util.random_noise(image, "s&p", rng=seed, amount=strength, salt_vs_pepper=salt)

        return Copies(path, 0.5, lambda s: {"share": s, "salt": salt})

    return build


def _speckle(image: np.ndarray, seed: int, direction: int) -> Copies:
    def path(strength: float) -> np.ndarray:
        return 255 * util.random_noise(image, "speckle", rng=seed, var=(strength / 128) ** 2)

    return Copies(path, 150, lambda s: {"sigma": s, "exponent": 1.0})


def _poisson(image: np.ndarray, seed: int, direction: int) -> Copies:
    def path(strength: float) -> np.ndarray:
        if strength < 0.1:
            return image
        scale = 128 / strength**2
        return np.random.default_rng(seed).poisson(image * scale) / scale

    return Copies(path, 150, lambda s: {"sigma": s, "exponent": 0.5})


def _unsharp(image: np.ndarray, seed: int, direction: int) -> Copies:
    radius = float(np.random.default_rng(seed).choice([1, 2, 3, 5]))

    def path(strength: float) -> np.ndarray:
        return filters.unsharp_mask(image, radius, strength, preserve_range=True)

    return Copies(path, 40, lambda s: {"amount": s, "radius": radius})


def _steps(image: np.ndarray, seed: int, direction: int) -> Copies:
    def path(strength: float) -> np.ndarray:
        return image // round(1 + strength) * round(1 + strength)

    return Copies(path, 127, lambda s: {"levels": float(np.ceil(256 / round(1 + s)))})


def _digitize(image: np.ndarray, seed: int, direction: int) -> Copies:
    """Ranges between the darkest and the brightest grey, each shown by its middle."""

    def levels(strength: float) -> int:
        return max(round(256 / (1 + strength)), 2)

    def path(strength: float) -> np.ndarray:
        edges = np.linspace(image.min(), image.max() + 1, levels(strength) + 1)
        return ((edges[1:] + edges[:-1]) / 2)[np.digitize(image, edges[1:-1])]

    return Copies(path, 127, lambda s: {"levels": float(levels(s))})


def _repeat(image: np.ndarray, seed: int, direction: int) -> Copies:
    def path(strength: float) -> np.ndarray:
        k = round(1 + strength)
        return image[::k, ::k].repeat(k, 0).repeat(k, 1)[: image.shape[0], : image.shape[1]]

    return Copies(path, 60, lambda s: {"cell": float(round(1 + s))})


def _block_means(image: np.ndarray, seed: int, direction: int) -> Copies:
    def path(strength: float) -> np.ndarray:
        k = round(1 + strength)
        padded = np.pad(image, [(0, -n % k) for n in image.shape], mode="edge")
        means = util.view_as_blocks(padded, (k, k)).mean((2, 3))
        return means.repeat(k, 0).repeat(k, 1)[: image.shape[0], : image.shape[1]]

    return Copies(path, 60, lambda s: {"cell": float(round(1 + s))})


def _drawn(draw: Callable[[np.ndarray, Place], np.ndarray | int]) -> Callable[[np.ndarray, int, int], Copies]:
    """Content: the strength, at most 1, scales the sides of the places."""

    def build(image: np.ndarray, seed: int, direction: int) -> Copies:
        def path(strength: float) -> np.ndarray:
            copy = image.copy()
            for place in draw_places(image, seed, strength) if strength > 0 else ():
                copy[place.top : place.bottom, place.left : place.right] = draw(image, place)
            return copy

        return Copies(path, 1)

    return build


def _constant(image: np.ndarray, place: Place) -> int:
    return place.grey


def _elsewhere(image: np.ndarray, place: Place) -> np.ndarray:
    top, left = image.shape[0] - place.bottom, image.shape[1] - place.right
    return image[top : top + place.height, left : left + place.width]


def _noise_patch(image: np.ndarray, place: Place) -> np.ndarray:
    return np.random.default_rng(place.top).integers(0, 256, (place.height, place.width))


def _dead_columns(image: np.ndarray, seed: int, direction: int) -> Copies:
    """A few columns at random places that stay black or white."""

    def path(strength: float) -> np.ndarray:
        rng, copy = np.random.default_rng(seed), image.copy()
        columns = rng.permutation(image.shape[1])[: round(8 * strength)]
        copy[:, columns] = rng.choice([0, 255])
        return copy

    return Copies(path, 1)
