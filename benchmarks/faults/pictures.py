"""Pictures that come with the dependencies, by name."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image

SCIKIT_IMAGE = (
    "astronaut.png", "brick.png", "camera.png", "cell.png", "chelsea.png", "clock_motion.png", "coffee.png",
    "coins.png", "grass.png", "gravel.png", "hubble_deep_field.jpg", "ihc.png", "moon.png", "motorcycle_left.png",
    "page.png", "retina.jpg", "rocket.jpg", "text.png",
)  # fmt: skip
"""Files in scikit-image's data folder."""

SCIKIT_LEARN = ("china.jpg", "flower.jpg")
"""Files in scikit-learn's folder of sample images."""

NAMES = tuple(Path(name).stem for name in (*SCIKIT_IMAGE, *SCIKIT_LEARN))


@cache
def load(name: str) -> np.ndarray:
    """Load one of the pictures as 8-bit grey (h, w)."""
    import skimage.data
    import sklearn.datasets

    folders = Path(skimage.data.__file__).parent, Path(sklearn.datasets.__file__).parent / "images"
    for folder, files in zip(folders, (SCIKIT_IMAGE, SCIKIT_LEARN)):
        for file in files:
            if Path(file).stem == name:
                with Image.open(folder / file) as picture:
                    return np.asarray(picture.convert("L"))
    raise ValueError(f"there is no picture {name!r}; choose from {', '.join(NAMES)}")
