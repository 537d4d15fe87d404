"""Programs that damage pictures: our own, and foreign ones that take no part in the training.

A program makes one kind, or something that is none of them; it is then of the kind "unknown". It gives a path, copies
of a picture by strength, and where it is known what a strength means in the kind's own units. Foreign programs are used
when they are installed: ImageMagick (``magick`` or ``convert``), ffmpeg (the package imageio-ffmpeg), OpenCV
(opencv-python-headless), imagecodecs, imagecorruptions, scikit-image.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llise.kinds import registry
from llise.kinds.base import Path
from llise.kinds.jpeg import quality_of
from llise.labels import NAMED_KINDS, UNKNOWN

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
    nearness : {"", "near", "far"}
        Of an unknown fault: whether it is another coder, noise or filter, or farther from the named kinds.
    """

    name: str
    kind: str
    build: Callable[[np.ndarray, int, int], Copies]
    levels: tuple[float, ...] = ()
    nearness: str = ""

    @property
    def replaces(self) -> bool:
        """Whether the whole picture becomes another one; in a region, that is content which is not in the reference."""
        return len(self.levels) == 1


def unknown_program(
    name: str,
    damage: Callable[[np.ndarray, float, int], np.ndarray],
    strengths: float | tuple[float, ...],
    nearness: str = "near",
) -> Program:
    """Return a program of a fault that has no name."""
    levels = strengths if isinstance(strengths, tuple) else ()
    end = strengths[-1] if isinstance(strengths, tuple) else strengths

    def build(image: np.ndarray, seed: int, direction: int) -> Copies:
        return Copies(lambda s: damage(image, s, seed) if s > 1e-4 else image, end)

    return Program(name, UNKNOWN, build, levels, nearness)


Programs = dict[str, list[Program]]
"""Programs by kind."""


def own() -> Programs:
    """Return llise's own programs: that of ``llise distort`` for each kind, and content in all ways that are drawn."""
    programs: Programs = {kind: [Program(f"llise {kind}", kind, _builder(kind))] for kind in NAMED_KINDS}
    programs["content"].append(Program("llise content, drawn", "content", _drawn_content))
    return programs


def _builder(name: str) -> Callable[[np.ndarray, int, int], Copies]:
    kind = registry.get(name)

    def build(image: np.ndarray, seed: int, direction: int) -> Copies:
        path = kind.path(image, np.random.default_rng(seed), direction)
        settings = _settings(name, image, path)
        return Copies(path, kind.end(direction), lambda s: settings(kind.reported_strength(s, direction)))

    return build


def _settings(name: str, image: np.ndarray, path: Path) -> Parameters:
    """Return what a strength of our own program means in the kind's own units."""
    mean = float(image.mean())
    settings: dict[str, Parameters] = {
        "contrast": lambda s: {"gain": s, "pivot": mean},
        "gaussian_noise": lambda s: {"sigma": s},
        "luminance": lambda s: {"offset": s},
        "blur": lambda s: {"sigma": s},
        "impulse_noise": lambda s: {"share": s, "salt": 0.5},
        "jpeg": lambda s: {"quality": quality_of(max(s, 1e-3))},
        "jpeg2000": lambda s: {},
        "speckle_noise": lambda s: {"sigma": s, "exponent": 1.0},
        "pixelation": lambda s: {"cell": 1 + s},
        "quantization": lambda s: {"levels": 1 + 255 / (1 + s)},
        "sharpening": lambda s: {"amount": s, "radius": 1.0},
        "content": lambda s: {"coverage": float(np.mean(path(s) != image))},
    }
    return settings[name]


def _drawn_content(image: np.ndarray, seed: int, direction: int) -> Copies:
    draw = registry.get("content").draw(image, np.random.default_rng(seed))
    return Copies(draw.path, draw.end, draw.parameters)


def foreign() -> tuple[Programs, list[str]]:
    """Return the foreign programs that are installed, and for each one that is not why it is left out."""
    from faults import codecs, corruptions, ffmpeg, imagemagick, opencv, python_programs

    programs: Programs = {kind: [] for kind in (*NAMED_KINDS, UNKNOWN)}
    skipped = []
    for source in (imagemagick, ffmpeg, opencv, codecs, corruptions, python_programs):
        try:
            found = source.programs()
        except (ImportError, OSError) as error:
            skipped.append(f"{source.TITLE}: {error}")
            continue
        for program in found:
            programs[program.kind].append(program)
    return programs, skipped
