"""Programs that damage picture files in RGB, and the forms of the parts that are damaged.

A program reads ``in.png`` in a folder and writes ``out.png`` there. Command lines stand in :mod:`everyday.commands`,
functions of Python in :mod:`everyday.functions`; what is not installed is left out, which ``available`` says.
"""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from PIL import Image
from scipy import ndimage

from faults.masks import draw_mask

FORMS = ("rectangle", "ellipse", "blob", "stroke", "feathered")
LEAST_MSE = 4.0
"""Least mean squared error inside a part: two grey levels, below which nobody sees the damage."""

LEAST_SHARE = 0.002
"""Least share of a part's pixels that change."""

ONE_THREAD = {
    "OMP_NUM_THREADS": "1", "MAGICK_THREAD_LIMIT": "1", "VIPS_CONCURRENCY": "1", "GEGL_THREADS": "1",
    "GEGL_USE_OPENCL": "no",
}  # fmt: skip
MAGICK = next((name for name in ("magick", "convert-im6.q16", "convert") if shutil.which(name)), "convert")

Label = tuple[str, ...]
Settings = Callable[[SimpleNamespace], dict[str, float]]


@dataclass(frozen=True)
class Program:
    """One way to damage a file.

    ``run(folder, parameters)`` writes out.png; ``ranges`` are the intervals of the strength ``v``, drawn evenly in its
    logarithm; ``expected`` are the sets of labels that count as right; ``held_out`` families are never to be drawn in
    a training; ``needs`` are executables.
    """

    name: str
    tool: str
    kinds: Label
    run: Callable[[Path, SimpleNamespace], None]
    ranges: tuple[tuple[float, float], ...]
    settings: Settings
    expected: tuple[Label, ...]
    needs: tuple[str, ...] = ()
    family: str = ""
    near: bool = True
    held_out: bool = False
    group: str = ""


def parameters(program: Program, size: tuple[int, int], rng: np.random.Generator) -> SimpleNamespace:
    """Draw the parameters of a program for a picture of (width, height): the names that command lines may use."""
    low, high = program.ranges[rng.integers(len(program.ranges))]
    v = float(np.sign(low) * np.exp(rng.uniform(*sorted(np.log(np.abs([low, high]))))))
    angle, (w, h) = rng.uniform(0, 2 * np.pi), size
    small = max(round(w / max(v, 1)), 2), max(round(h / max(v, 1)), 2)
    return SimpleNamespace(
        v=round(v, 4), n=round(v), i=round(1 / v, 5), w=w, h=h, dw=small[0], dh=small[1],
        seed=int(rng.integers(1, 2**30)), odd=2 * max(round(v), 1) + 1, x=round(v * np.cos(angle), 3),
        y=round(v * np.sin(angle), 3), angle=round(np.degrees(angle) % 180, 1),
        u=round(float(rng.uniform(0.75, 1.3)), 3), im=MAGICK,
    )  # fmt: skip


def command(line: str) -> tuple[Callable[[Path, SimpleNamespace], None], tuple[str, ...]]:
    """The function that runs a shell line with parameters in braces, and the executables that it needs."""

    def run(folder: Path, values: SimpleNamespace) -> None:
        filled = line.format(**vars(values))
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", filled], cwd=folder, capture_output=True, timeout=120,
            env={**os.environ, **ONE_THREAD},
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{filled}: {done.stderr.decode(errors='replace').strip()[-200:]}")

    parts = (
        line.format_map({**vars(SimpleNamespace(im=MAGICK)), **dict.fromkeys(NAMES, 0)}).replace("&&", "|").split("|")
    )
    return run, tuple(dict.fromkeys(shlex.split(part)[0] for part in parts))


NAMES = ("v", "n", "i", "w", "h", "dw", "dh", "seed", "odd", "x", "y", "angle", "u")


def function(damage: Callable[[np.ndarray, SimpleNamespace], np.ndarray]) -> Callable[[Path, SimpleNamespace], None]:
    """The program of a function of an RGB array and parameters."""

    def run(folder: Path, values: SimpleNamespace) -> None:
        result = damage(read(folder / "in.png"), values)
        write(folder / "out.png", np.clip(np.rint(result), 0, 255).astype(np.uint8))

    return run


def read(path: Path) -> np.ndarray:
    """An RGB array of a file."""
    with Image.open(path) as opened:
        return np.asarray(opened.convert("RGB"))


def write(path: Path, image: np.ndarray) -> None:
    """Write an array as PNG."""
    Image.fromarray(image).save(path, compress_level=6)


def apply(program: Program, image: np.ndarray, values: SimpleNamespace) -> np.ndarray:
    """The damaged copy; RuntimeError where the program fails or makes another size."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write(folder / "in.png", image)
        program.run(folder, values)
        copy = read(folder / "out.png")
    if copy.shape != image.shape:
        raise RuntimeError(f"{program.name}: a picture of {copy.shape[:2]} instead of {image.shape[:2]}")
    return copy


@functools.cache
def available() -> tuple[list[Program], list[str]]:
    """The programs that can be run, and what is left out and why."""
    from everyday import commands, functions

    programs, said = [], []
    for source in (commands.programs, *functions.SOURCES):
        try:
            found = source()
        except (ImportError, OSError, subprocess.SubprocessError) as error:
            said.append(f"{source.__name__}: {error}")
            continue
        programs += [program for program in found if all(map(shutil.which, program.needs))]
        missing = {need for program in found for need in program.needs if shutil.which(need) is None}
        said += [f"{need}: not installed" for need in sorted(missing)]
    names = Counter(program.name for program in programs)
    named = [replace(p, name=f"{p.name} ({p.kinds[0]})") if names[p.name] > 1 else p for p in programs]
    return named, said


def draw_form(shape: tuple[int, int], form: str, area: float, rng: np.random.Generator) -> np.ndarray:
    """The weight of each pixel of a part: 0 or 1, in between at a feathered border; area is a share of the picture."""
    if form == "stroke":
        mask = _stroke(shape, area, rng)
    else:
        base = str(rng.choice(["rectangle", "ellipse", "blob"])) if form == "feathered" else form
        mask = draw_mask(shape, area, base, bool(rng.random() < 0.25), rng)
    if form != "feathered":
        return mask.astype(np.float32)
    width = rng.uniform(0.1, 0.25) * np.sqrt(mask.sum())
    return np.clip(ndimage.distance_transform_edt(mask) / width, 0, 1).astype(np.float32)


def _stroke(shape: tuple[int, int], area: float, rng: np.random.Generator) -> np.ndarray:
    """A bent line of a brush."""
    turns = np.cumsum(rng.normal(0, 0.04, 400)) + rng.uniform(0, 2 * np.pi)
    path = np.cumsum(np.stack([np.sin(turns), np.cos(turns)]), axis=1)
    path = (path - path.mean(axis=1, keepdims=True)) * 0.7 * min(shape) / np.ptp(path, axis=1).max()
    rows, cols = np.rint(path + np.array(shape)[:, None] * rng.uniform(0.4, 0.6, (2, 1))).astype(int)
    line = np.ones(shape, bool)
    line[np.clip(rows, 0, shape[0] - 1), np.clip(cols, 0, shape[1] - 1)] = False
    distance = ndimage.distance_transform_edt(line)
    return distance <= max(np.quantile(distance, area), 3)


def blend(before: np.ndarray, after: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The damaged picture where the weight is 1, the other where it is 0."""
    return np.rint(before + weight[..., None] * (after.astype(float) - before)).astype(np.uint8)


def visible(kinds: Label, before: np.ndarray, after: np.ndarray, mask: np.ndarray) -> bool:
    """Whether anybody could see and name a damage inside a mask (compare :mod:`faults.visible`)."""
    old, new = before[mask].astype(float), after[mask].astype(float)
    difference = new - old
    if (difference**2).mean() < LEAST_MSE or (difference != 0).any(axis=1).mean() < LEAST_SHARE:
        return False
    flat_after = np.ptp(np.quantile(new.mean(axis=1), (0.02, 0.98))) <= 2
    for kind in kinds:
        if kind in ("contrast", "color_matrix") and (
            (difference.mean(axis=1).var() < 0.04 * (difference**2).mean() and kind == "contrast") or flat_after
        ):
            return False  # an offset is as good a name
        if kind in ("blur", "pixelation", "quantization") and flat_after:
            return False  # one colour is left
        if kind == "speckle_noise" and old.mean(axis=1).var() < 0.04 * (old**2).mean():
            return False  # noise of one strength
        if kind == "quantization" and len(np.unique(new, axis=0)) < 3:
            return False
        if kind == "luminance" and np.ptp(np.quantile(difference.mean(axis=1), (0.2, 0.8))) > 6:
            return False  # clipping has made a curve of the offset
    return True
