"""Programs of the package imagecorruptions (ImageNet-C's), which have five severities each."""

from __future__ import annotations

import warnings
from functools import partial
from unittest import mock

import numpy as np
from skimage import util

from faults.programs import Copies, Program
from llise.labels import UNKNOWN

TITLE = "imagecorruptions"
SEVERITIES = (1.0, 2.0, 3.0, 4.0, 5.0)
NAMES = {
    "defocus_blur": "blur",
    "motion_blur": "blur",
    "gaussian_noise": "gaussian_noise",
    "impulse_noise": "impulse_noise",
    "contrast": "contrast",
    "brightness": "luminance",
    "speckle_noise": "speckle_noise",
    "shot_noise": "speckle_noise",
    "pixelate": "pixelation",
    **dict.fromkeys(("elastic_transform", "fog", "frost", "snow", "spatter"), UNKNOWN),
}


def programs() -> list[Program]:
    """Return the programs; ImportError if the package is not installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import imagecorruptions  # noqa: F401
    return [
        Program(f"imagecorruptions {name}", kind, _Builder(name), SEVERITIES, "far" if kind == UNKNOWN else "")
        for name, kind in NAMES.items()
    ]


class _Builder:
    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, image: np.ndarray, seed: int, direction: int) -> Copies:
        from imagecorruptions import corrupt

        colour = np.repeat(image[..., None], 3, axis=2)

        def path(strength: float) -> np.ndarray:
            np.random.seed(seed % 2**32)  # noqa: NPY002 (the package draws from the global generator)
            # The package expects a name that NumPy no longer has, and scikit-image's noise to follow the global seed.
            with (
                warnings.catch_warnings(),
                mock.patch.object(np, "float_", np.float64, create=True),
                mock.patch.object(util, "random_noise", partial(util.random_noise, rng=seed)),
            ):
                warnings.simplefilter("ignore")
                return corrupt(colour, corruption_name=self.name, severity=round(strength))[..., 0].astype(np.uint8)

        return Copies(path, 5)
