"""Programs of OpenCV."""

from __future__ import annotations

import numpy as np

from faults.programs import Copies, Program

TITLE = "OpenCV"


def programs() -> list[Program]:
    """Return the programs; ImportError if OpenCV is not installed."""
    import cv2

    cv2.setNumThreads(1)
    return [
        Program("OpenCV GaussianBlur", "blur", _gaussian_blur),
        Program("OpenCV resize", "blur", _resize),
        Program("OpenCV imencode", "jpeg", _imencode),
        Program("OpenCV convertScaleAbs", "contrast", _scale),
        Program("OpenCV add", "luminance", _add),
        Program("OpenCV randn", "gaussian_noise", _randn),
    ]


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
