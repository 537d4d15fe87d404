"""Kinds of one's own: given by a function or by examples, and named by a diagnosis beside the built-in ones.

What is registered here is only checked and kept; :mod:`llise.diagnosis.taught.taught_kinds` learns from it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from llise.kinds import registry, sources
from llise.kinds.base import Draw, Kind
from llise.kinds.base import Path as CopyPath
from llise.kinds.examples import Examples, find_examples
from llise.kinds.fitting import Fit, as_bytes
from llise.kinds.grey import mse, quantise
from llise.kinds.search import Search
from llise.kinds.sources import KindError, Source
from llise.labels import MISALIGNMENT, NAMED_KINDS

Function = Callable[[np.ndarray, float, np.random.Generator], np.ndarray]
"""``function(image, strength, rng)`` returns a copy of the image with a fault of this strength."""

RESERVED = ("original", "unknown", *NAMED_KINDS, MISALIGNMENT)
"""Names that a kind of one's own cannot have, whether or not they are registered."""

NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
LONGEST_TITLE = 60

ESTIMATE_STEPS = 12
"""Copies that are made to find the strength of a fault."""


@dataclass(frozen=True)
class OwnSettings:
    """Strength of a function, and the seed of its random numbers."""

    strength: float
    seed: int = 0

    def words(self) -> dict[str, float]:
        return {"strength": self.strength}


class OwnKind(Kind):
    """A kind that is given by a function of an image, a strength and a generator of random numbers."""

    def __init__(self, name: str, function: Function, strongest: float = 1.0, title: str | None = None) -> None:
        self.name = check_name(name)
        self.title = self.short_title = check_title(name, title)
        if not callable(function):
            raise KindError(f"kind {name!r}: {type(function).__name__} is not callable; give a function")
        if not (isinstance(strongest, int | float) and 0 < strongest < np.inf):
            raise KindError(f"kind {name!r}: strongest is {strongest!r}; expected a positive number")
        self.function, self.strongest = function, float(strongest)
        self.is_random = self._tried()

    def __repr__(self) -> str:
        return f"<OwnKind {self.name}, strengths up to {self.strongest:g}>"

    def _tried(self) -> bool:
        """Try the function on a small picture; return whether it uses random numbers."""
        rng = np.random.default_rng(0)
        ramp = np.add.outer(np.arange(40), 2 * np.arange(48)) + 40 + rng.integers(-12, 13, (40, 48))
        picture = ramp.astype(np.uint8)
        changed = 0.0
        for share in (0.0, 0.01, 0.3, 1.0):
            changed = max(changed, mse(picture, quantise(self.copy_of(picture, share * self.strongest, 1))))
        if changed < 0.5:
            raise KindError(
                f"kind {self.name!r}: the function changes nothing at any strength up to {self.strongest:g}; return a "
                "changed copy, or give a larger strongest"
            )
        one, other = (self.copy_of(picture, self.strongest / 2, seed) for seed in (1, 2))
        return not np.array_equal(one, other)

    def copy_of(self, image: np.ndarray, strength: float, seed: int) -> np.ndarray:
        """Return what the function makes of an image, after checking it."""
        where = f"kind {self.name!r}: the function, called with an image of {image.shape} and strength {strength:.4g},"
        try:
            copy = np.asarray(self.function(image.astype(np.float32), strength, np.random.default_rng(seed)))
        except Exception as error:
            raise KindError(f"{where} raised {type(error).__name__}: {error}; correct it") from error
        if copy.shape != image.shape:
            raise KindError(f"{where} returned the shape {copy.shape}; return an array of the image's shape")
        if copy.dtype.kind not in "uif":
            raise KindError(f"{where} returned {copy.dtype.name} values; return floats or integers from 0 to 255")
        if not np.isfinite(copy).all():
            raise KindError(f"{where} returned NaN or infinite values; return numbers from 0 to 255")
        return copy if copy.dtype == np.uint8 else copy.astype(np.float32)

    def apply(self, image: np.ndarray, settings: OwnSettings) -> np.ndarray:
        """The copy of an image of uint8; of colours, each channel by itself with the same random numbers."""
        made = [
            quantise(self.copy_of(plane, settings.strength, settings.seed))
            for plane in ([image] if image.ndim == 2 else np.moveaxis(image, -1, 0))
        ]
        return made[0] if image.ndim == 2 else np.stack(made, axis=-1)

    def fit(self, reference: np.ndarray, copy: np.ndarray, mask: np.ndarray, start: Any = None) -> Fit | None:
        """The strength at which the function makes the error that was measured; None if no strength comes near it."""
        before, after = as_bytes(reference), copy.astype(np.float32)
        target = before[mask]
        wanted = float(np.mean((after[mask] - target) ** 2))

        def made(strength: float) -> np.ndarray:
            return self.apply(before, OwnSettings(strength))[mask]

        search = Search(made, target, wanted, 0.01)
        search.bisect(self.strongest, first=start.strength if start else self.strongest / 20, steps=ESTIMATE_STEPS)
        if search.miss > 0.25:
            return None
        found = OwnSettings(search.strength)

        def draw(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
            return self.apply(as_bytes(image), OwnSettings(found.strength, int(rng.integers(2**31)))).astype(np.float32)

        if self.is_random:
            return Fit(found.words(), draw=draw, settings=found)
        return Fit(found.words(), lambda image: self.apply(as_bytes(image), found).astype(np.float32), settings=found)

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> CopyPath:
        seed = int(rng.integers(2**63))
        return lambda strength: self.copy_of(image, strength, seed)

    def draw(self, image: np.ndarray, rng: np.random.Generator) -> Draw:
        return Draw(self.path(image, rng), self.strongest, lambda strength: {"strength": strength})


def register(
    name: str, source: Function | str | os.PathLike[str], *, strongest: float = 1.0, title: str | None = None
) -> None:
    """Add a kind of one's own, which a diagnosis names from then on.

    Parameters
    ----------
    name : str
        Small letters, digits and underscores, such as ``"fog"``; no other kind has it.
    source : callable or path
        A function ``(image, strength, rng) -> copy``, or a folder of examples, see
        :func:`llise.kinds.examples.find_examples`. The function gets an image as float32 of shape (h, w) on the scale
        0..255, a strength from 0 to `strongest` and a :class:`numpy.random.Generator`.
    strongest : float
        Largest strength of the function.
    title : str, optional
        Name in sentences; the name with spaces instead of underscores if left out.

    Raises
    ------
    KindError
        The name is taken or cannot be used, or the function fails on a small picture. Nothing is registered then.
    ExampleError
        The folder has no examples, or a file of it is not half of a pair. Nothing is registered then either.

    Examples
    --------
    >>> from llise import distortions, kinds
    >>> kinds.register("fog", lambda image, strength, rng: image + strength * (230 - image))
    >>> distortions.kinds()[-1]
    'fog'
    >>> kinds.unregister("fog")
    """
    check_free(name)
    if callable(source):
        kind = OwnKind(name, source, strongest, title)
        sources.add(kind)
        registry.register(kind)
    elif isinstance(source, str | os.PathLike):
        add(Examples(check_name(name), check_title(name, title), find_examples(Path(source))))
    else:
        raise KindError(
            f"kind {name!r}: {type(source).__name__} is neither a function of (image, strength, rng) nor a folder"
        )


def add(source: Source) -> None:
    """Add a kind that can be named but not made: examples, or what was learned from them."""
    check_free(source.name)
    sources.add(source)


def unregister(name: str) -> None:
    """Remove a kind of one's own.

    Parameters
    ----------
    name : str
        Its name.

    Raises
    ------
    KindError
        There is no such kind.

    Examples
    --------
    >>> from llise import kinds
    >>> kinds.unregister("fog")
    Traceback (most recent call last):
    llise.kinds.sources.KindError: there is no kind of one's own named 'fog'; register adds one
    """
    if name not in sources.names():
        raise KindError(f"there is no kind of one's own named {name!r}; register adds one")
    sources.remove(name)
    if name in registry.names():
        registry.unregister(name)


def check_free(name: str) -> None:
    """Refuse a name that cannot be used or that another kind has."""
    if check_name(name) in (*RESERVED, *registry.names(), *sources.names()):
        raise KindError(f"there is a kind {name!r} already; choose another name")


def check_name(name: Any) -> str:
    """Refuse a text that cannot be the name of a kind."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise KindError(
            f"{_short(name)} cannot be the name of a kind; use 1 to 40 small letters, digits and underscores that "
            "begin with a letter, such as scan_lines"
        )
    return name


def check_title(name: str, title: Any) -> str:
    """Refuse a text that cannot be the title of a kind."""
    if title is None:
        return name.replace("_", " ")
    if not isinstance(title, str) or not title.strip() or len(title) > LONGEST_TITLE or not title.isprintable():
        raise KindError(
            f"kind {name!r}: {_short(title)} cannot be its title; use 1 to {LONGEST_TITLE} characters that can be "
            "printed"
        )
    return title


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
