"""Programs of OpenCV."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from faults.places import Place, draw_places
from faults.programs import Copies, Parameters, Program, unknown_program

TITLE = "OpenCV"
SIZES = (1.0, 2.0, 3.0, 5.0)
"""Radii of filters in pixels."""


def programs() -> list[Program]:
    """Return the programs; ImportError if OpenCV is not installed."""
    import cv2

    cv2.setNumThreads(1)
    return [*_papers(), *_further(), *_unknown()]


def _papers() -> list[Program]:
    """The paper's six kinds."""
    return [
        Program("OpenCV GaussianBlur", "blur", _gaussian_blur),
        Program("OpenCV resize", "blur", _resize),
        Program("OpenCV imencode", "jpeg", _imencode),
        Program("OpenCV convertScaleAbs", "contrast", _scale),
        Program("OpenCV add", "luminance", _add),
        Program("OpenCV randn", "gaussian_noise", _randn),
    ]


def _further() -> list[Program]:
    """Kinds that are not in the paper."""
    import cv2

    return [
        Program("OpenCV imencode jp2", "jpeg2000", _jp2),
        Program("OpenCV filter2D", "sharpening", _filter2d),
        Program("OpenCV addWeighted, unsharp", "sharpening", _add_weighted),
        Program("OpenCV resize INTER_AREA, INTER_NEAREST", "pixelation", _mosaic(cv2.INTER_AREA)),
        Program("OpenCV resize INTER_NEAREST twice", "pixelation", _mosaic(cv2.INTER_NEAREST)),
        Program("OpenCV kmeans", "quantization", _kmeans, (24.0, 12.0, 8.0, 6.0, 4.0)),
        Program("OpenCV LUT", "quantization", _lut),
        Program("OpenCV multiply randn", "speckle_noise", _multiply),
        Program("OpenCV putText", "content", _drawn(_text)),
        Program("OpenCV rectangle", "content", _drawn(_rectangle)),
        Program("OpenCV line", "content", _drawn(_line)),
    ]


def _unknown() -> list[Program]:
    """Other coders and filters, and what is far from all kinds."""
    import cv2

    rgb = cv2.COLOR_GRAY2BGR
    ellipse = cv2.MORPH_ELLIPSE
    return [
        _filter("medianBlur", lambda x, s: cv2.medianBlur(x, 2 * round(s) + 1), SIZES),
        _filter("bilateralFilter", lambda x, s: cv2.bilateralFilter(x, 9, s, 4), 50),
        _filter("fastNlMeansDenoising", lambda x, s: cv2.fastNlMeansDenoising(x, None, s, 5, 13), 60),
        _filter("edgePreservingFilter", lambda x, s: cv2.edgePreservingFilter(
            cv2.cvtColor(x, rgb), None, 1, 30, s)[..., 0], 1.0),
        _filter("pyrMeanShiftFiltering", lambda x, s: cv2.pyrMeanShiftFiltering(cv2.cvtColor(x, rgb), 6, s)[..., 0],
                80),
        _filter("createCLAHE", lambda x, s: cv2.createCLAHE(s, (8, 8)).apply(x), 20),
        _filter("morphologyEx open", lambda x, s: cv2.morphologyEx(
            x, cv2.MORPH_OPEN, cv2.getStructuringElement(ellipse, (2 * round(s) + 1,) * 2)), SIZES),
        _filter("morphologyEx close", lambda x, s: cv2.morphologyEx(
            x, cv2.MORPH_CLOSE, cv2.getStructuringElement(ellipse, (2 * round(s) + 1,) * 2)), SIZES),
        _filter("randu", _even_noise, 80),
        _filter("stylization", lambda x, s: cv2.stylization(cv2.cvtColor(x, rgb), None, 30, s)[..., 0], (0.5, 1.0),
                "far"),
        _filter("flip", lambda x, s: cv2.flip(x, 1), (1.0,), "far"),
        _filter("Laplacian", lambda x, s: cv2.convertScaleAbs(cv2.Laplacian(x, cv2.CV_32F, ksize=3)), (1.0,), "far"),
        _filter("pencilSketch", lambda x, s: cv2.pencilSketch(cv2.cvtColor(x, rgb))[0], (1.0,), "far"),
        _filter("remap, ripples", _ripples, 12, "far"),
    ]  # fmt: skip


def _filter(
    name: str,
    function: Callable[[np.ndarray, float], np.ndarray],
    strengths: float | tuple[float, ...],
    nearness: str = "near",
) -> Program:
    return unknown_program(f"OpenCV {name}", lambda x, s, seed: function(x, s), strengths, nearness)


def _gaussian_blur(image: np.ndarray, seed: int, direction: int) -> Copies:
    import cv2

    return Copies(lambda s: cv2.GaussianBlur(image, (0, 0), s) if s > 0.05 else image, 20, lambda s: {"sigma": s})


def _resize(image: np.ndarray, seed: int, direction: int) -> Copies:
    import cv2

    rows, cols = image.shape

    def path(strength: float) -> np.ndarray:
        small = max(round(cols / (1 + strength)), 2), max(round(rows / (1 + strength)), 2)
        return cv2.resize(
            cv2.resize(image, small, None, 0, 0, cv2.INTER_AREA), (cols, rows), None, 0, 0, cv2.INTER_CUBIC
        )

    return Copies(path, 24, lambda s: {"factor": 1 + s})


def _imencode(image: np.ndarray, seed: int, direction: int) -> Copies:
    import cv2

    def quality(strength: float) -> int:
        return int(np.clip(round(100 - strength), 1, 100))

    def path(strength: float) -> np.ndarray:
        options = [cv2.IMWRITE_JPEG_QUALITY, quality(strength), cv2.IMWRITE_JPEG_OPTIMIZE, 1]
        _, coded = cv2.imencode(".jpg", image, options)
        return cv2.imdecode(coded, cv2.IMREAD_GRAYSCALE)

    return Copies(path, 99, lambda s: {"quality": float(quality(s))})


def _scale(image: np.ndarray, seed: int, direction: int) -> Copies:
    """A straight line about 128, as tutorials write it."""
    import cv2

    def gain(strength: float) -> float:
        return (1 + strength) ** direction

    # An offset below 0 would come back as its absolute value: the lowest grey is kept at 0 by the clipping of add.
    def path(strength: float) -> np.ndarray:
        return cv2.addWeighted(image, gain(strength), image, 0, 128 * (1 - gain(strength)))

    return Copies(path, 3, lambda s: {"gain": gain(s), "pivot": 128.0})


def _add(image: np.ndarray, seed: int, direction: int) -> Copies:
    import cv2

    def path(strength: float) -> np.ndarray:
        return cv2.addWeighted(image, 1.0, image, 0, direction * strength)

    return Copies(path, 150, lambda s: {"offset": direction * s})


def _randn(image: np.ndarray, seed: int, direction: int) -> Copies:
    import cv2

    cv2.setRNGSeed(seed % 2**31)
    noise = cv2.randn(np.zeros(image.shape, np.float32), 0, 1)
    return Copies(lambda s: cv2.add(image.astype(np.float32), s * noise), 80, lambda s: {"sigma": s})


def _even_noise(image: np.ndarray, strength: float) -> np.ndarray:
    import cv2

    cv2.setRNGSeed(int(image[:16].sum()))
    return cv2.add(image.astype(np.float32), strength * cv2.randu(np.zeros(image.shape, np.float32), -1, 1))


def _ripples(image: np.ndarray, strength: float) -> np.ndarray:
    import cv2

    y, x = np.indices(image.shape, np.float32)
    return cv2.remap(
        image, x + strength * np.sin(y / 15), y + strength * np.cos(x / 20), cv2.INTER_LINEAR, None,
        cv2.BORDER_REFLECT_101,
    )  # fmt: skip


def _jp2(image: np.ndarray, seed: int, direction: int) -> Copies:
    import cv2

    def path(strength: float) -> np.ndarray:
        option = [cv2.IMWRITE_JPEG2000_COMPRESSION_X1000, round(1000 * np.exp(-strength))]
        return cv2.imdecode(cv2.imencode(".jp2", image, option)[1], cv2.IMREAD_GRAYSCALE)

    return Copies(path, 6.9)


def _filter2d(image: np.ndarray, seed: int, direction: int) -> Copies:
    """The sharpening kernel of tutorials, with four or with eight neighbours."""
    import cv2

    ring = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]] if direction > 0 else [[1, 1, 1], [1, 0, 1], [1, 1, 1]], float)
    middle = np.array([[0, 0, 0], [0, 1, 0], [0, 0, 0]], float)
    return Copies(lambda s: cv2.filter2D(image, -1, middle + s * (ring.sum() * middle - ring)), 10)


def _add_weighted(image: np.ndarray, seed: int, direction: int) -> Copies:
    import cv2

    radius = float(np.random.default_rng(seed).uniform(1, 4))
    smooth = cv2.GaussianBlur(image, (0, 0), radius)
    settings: Parameters = lambda s: {"amount": s, "radius": radius}
    return Copies(lambda s: cv2.addWeighted(image, 1 + s, smooth, -s, 0), 40, settings)


def _mosaic(down: int) -> Callable[[np.ndarray, int, int], Copies]:
    def build(image: np.ndarray, seed: int, direction: int) -> Copies:
        import cv2

        rows, cols = image.shape

        def size(strength: float) -> tuple[int, int]:
            cell = max(1 + strength, 2)
            return max(int(cols / cell), 1), max(int(rows / cell), 1)

        def path(strength: float) -> np.ndarray:
            if strength <= 0:
                return image
            small = cv2.resize(image, size(strength), None, 0, 0, down)
            return cv2.resize(small, (cols, rows), None, 0, 0, cv2.INTER_NEAREST)

        return Copies(path, 60, lambda s: {"cell": float(np.sqrt(image.size / np.prod(size(s))))})

    return build


def _kmeans(image: np.ndarray, seed: int, direction: int) -> Copies:
    """Levels by k-means, as tutorials reduce colours; the strength is the number of levels."""
    import cv2

    def path(strength: float) -> np.ndarray:
        cv2.setRNGSeed(seed % 2**31)
        stop = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_MAX_ITER, 10, 1.0)
        _, labels, centres = cv2.kmeans(
            image.reshape(-1, 1).astype(np.float32), round(strength), None, stop, 1, cv2.KMEANS_PP_CENTERS
        )
        return np.uint8(centres)[labels.ravel()].reshape(image.shape)

    return Copies(path, 24, lambda s: {"levels": float(round(s))})


def _lut(image: np.ndarray, seed: int, direction: int) -> Copies:
    import cv2

    def path(strength: float) -> np.ndarray:
        step = max(round(1 + strength), 1)
        return cv2.LUT(image, np.uint8(np.minimum(np.arange(256) // step * step + step // 2, 255)))

    return Copies(path, 127, lambda s: {"levels": float(np.ceil(256 / max(round(1 + s), 1)))})


def _multiply(image: np.ndarray, seed: int, direction: int) -> Copies:
    import cv2

    cv2.setRNGSeed(seed % 2**31)
    noise = cv2.randn(np.zeros(image.shape, np.float32), 0, 1)
    grey = image.astype(np.float32)
    return Copies(lambda s: grey + cv2.multiply(grey, s / 128 * noise), 150, lambda s: {"sigma": s, "exponent": 1.0})


def _drawn(draw: Callable[[np.ndarray, Place], None]) -> Callable[[np.ndarray, int, int], Copies]:
    """Content: the strength, at most 1, scales the sides of the places."""

    def build(image: np.ndarray, seed: int, direction: int) -> Copies:
        def path(strength: float) -> np.ndarray:
            copy = image.copy()
            for place in draw_places(image, seed, strength) if strength > 0 else ():
                draw(copy, place)
            return copy

        return Copies(path, 1)

    return build


def _text(copy: np.ndarray, place: Place) -> None:
    import cv2

    size = max(min(place.height, place.width // 3) / 22, 0.4)
    font = cv2.FONT_HERSHEY_SIMPLEX
    at = place.left, place.top + round(22 * size)
    cv2.putText(copy, place.text, at, font, size, place.grey, max(round(2 * size), 1), cv2.LINE_AA)


def _rectangle(copy: np.ndarray, place: Place) -> None:
    import cv2

    thick = -1 if place.top % 2 else 3
    cv2.rectangle(copy, (place.left, place.top), (place.right, place.bottom), place.grey, thick)


def _line(copy: np.ndarray, place: Place) -> None:
    import cv2

    cv2.line(copy, (place.left, place.top), (place.right, place.bottom), place.grey, 2 + place.top % 4, cv2.LINE_AA)
