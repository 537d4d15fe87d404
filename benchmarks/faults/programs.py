"""Programs that damage pictures: our own, and foreign ones that take no part in the training.

A program makes one kind. It gives a path, copies of a picture by strength, and where it is known what a strength means
in the kind's own units. Foreign programs are used when they are installed: ImageMagick (``magick`` or ``convert``),
ffmpeg (the package imageio-ffmpeg), OpenCV (opencv-python-headless), imagecorruptions, scikit-image.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llise.kinds import registry
from llise.kinds.base import Path
from llise.kinds.jpeg import quality_of
from llise.labels import KINDS

Parameters = Callable[[float], dict[str, float]]


@dataclass(frozen=True)
class Copies:
    """Copies of one picture by strength.

    Attributes
    ----------
    path : Path
        ``path(strength)`` is the copy.
    end : float
        Strength at which the path ends.
    parameters : callable
        ``parameters(strength)`` gives the settings in the kind's own units, as far as they are known.
    """

    path: Path
    end: float
    parameters: Parameters = lambda strength: {}


@dataclass(frozen=True)
class Program:
    """One way to make a kind.

    Attributes
    ----------
    name, kind : str
    build : callable
        ``build(image, seed, direction)`` returns the copies of a picture.
    levels : tuple of float, optional
        Strengths to choose from, for a program that has a few levels only.
    """

    name: str
    kind: str
    build: Callable[[np.ndarray, int, int], Copies]
    levels: tuple[float, ...] = ()


Programs = dict[str, list[Program]]
"""Programs by kind."""


def own() -> Programs:
    """Return llise's own programs, one for each kind.

    Returns
    -------
    Programs
    """
    return {kind: [Program(f"llise {kind}", kind, _builder(kind))] for kind in KINDS}


def _builder(name: str) -> Callable[[np.ndarray, int, int], Copies]:
    kind = registry.get(name)

    def build(image: np.ndarray, seed: int, direction: int) -> Copies:
        path = kind.path(image, np.random.default_rng(seed), direction)
        mean = float(image.mean())

        def parameters(strength: float) -> dict[str, float]:
            value = kind.reported_strength(strength, direction)
            return {
                "contrast": {"gain": value, "pivot": mean},
                "gaussian_noise": {"sigma": value},
                "luminance": {"offset": value},
                "blur": {"sigma": value},
                "impulse_noise": {"share": value, "salt": 0.5},
                "jpeg": {"quality": quality_of(max(value, 1e-3))},
            }[name]

        return Copies(path, kind.end(direction), parameters)

    return build


def foreign() -> tuple[Programs, list[str]]:
    """Return the foreign programs that are installed, and for each one that is not why it is left out.

    Returns
    -------
    programs : Programs
    skipped : list of str
    """
    from faults import corruptions, ffmpeg, imagemagick, opencv, python_programs

    programs: Programs = {kind: [] for kind in KINDS}
    skipped = []
    for source in (imagemagick, ffmpeg, opencv, corruptions, python_programs):
        try:
            found = source.programs()
        except (ImportError, OSError) as error:
            skipped.append(f"{source.TITLE}: {error}")
            continue
        for program in found:
            programs[program.kind].append(program)
    return programs, skipped
