"""Settings of one to three kinds, one after the other in any order, with which a region becomes the copy.

Each order starts from the kinds' own fits. Then, turn by turn, one kind is improved: by its own fit, to the copy where
it came last, else to the copy without what the later kinds did; and by a search over its numbers through the rest of
the chain. What counts is the Gaussian log-likelihood of what is left, place by place, given the power that the
random kinds are expected to leave there.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields, replace
from itertools import permutations
from typing import Any

import numpy as np
from scipy import ndimage

from llise.differences import BLOCK, by_block, pixels_of
from llise.kinds import registry
from llise.kinds.fitting import ROUNDING, Fit, as_bytes, explained

FURTHEST = 6
"""Steps of the search in one direction: a number that runs further away does not belong to the kind's fit."""

GRID = 2 * BLOCK
"""Pieces start on this grid: it is that of JPEG's chroma too."""

LEAST_GAIN = 0.01
"""Fall of the log-likelihood of a pixel's error, in its own unit (nats), that is worth another turn."""

Steps = tuple[tuple[str, Fit], ...]

_NOT_YET = Fit({})
"""Stands for a kind that could not be fitted to what the others leave so far."""


@dataclass(frozen=True, eq=False)
class Piece:
    """A part of a region, at most so many pixels: reference and copy as float32, and the pixels of it that count."""

    reference: np.ndarray
    copy: np.ndarray
    mask: np.ndarray


@dataclass(frozen=True, eq=False)
class Chain:
    """Kinds with settings, in their order, and what they make of a piece.

    images : the reference and what it becomes after each step, without random parts; drawn : the same with them;
    noise : power that the random parts add, by pixel and channel; loss : see the module; remakes : that it took.
    """

    steps: Steps
    images: tuple[np.ndarray, ...]
    drawn: tuple[np.ndarray, ...]
    noise: np.ndarray
    loss: float
    explained: float
    remakes: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether all of its kinds have been fitted."""
        return all(fit is not _NOT_YET for _, fit in self.steps)

    @property
    def is_random(self) -> bool:
        """Whether any kind of it has a random part."""
        return any(fit.draw is not None for _, fit in self.steps)

    def shares(self, mask: np.ndarray) -> dict[str, float]:
        """Share of each kind in the error."""
        pairs = zip(self.steps, self.drawn, self.drawn[1:])
        power = {kind: float(np.mean((after - before)[mask] ** 2)) for (kind, _), before, after in pairs}
        whole = sum(power.values())
        return {kind: one / whole if whole > 0 else 1 / len(power) for kind, one in power.items()}


def cut_piece(reference: np.ndarray, copy: np.ndarray, region: np.ndarray, most: int) -> Piece:
    """The part of a region (blocks), in a box of at most so many pixels, that holds most of it, and most detail."""
    height, width = reference.shape[:2]
    rows, cols = (np.flatnonzero(region.any(axis=axis)) for axis in (1, 0))
    top, left = (BLOCK * int(side[0]) // GRID * GRID for side in (rows, cols))
    bottom, right = min(BLOCK * int(rows[-1] + 1), height), min(BLOCK * int(cols[-1] + 1), width)
    if (bottom - top) * (right - left) > most:
        high = min(bottom - top, max(int(most**0.5), most // (right - left)) // GRID * GRID)
        wide = min(right - left, max(most // high // GRID, 1) * GRID)
        top, left = _best_place(reference, region, (top, left, bottom, right), (high, wide))
        bottom, right = min(top + high, height), min(left + wide, width)
    box = slice(top, bottom), slice(left, right)
    before, after = (np.ascontiguousarray(picture[box], np.float32) for picture in (reference, copy))
    return Piece(before, after, pixels_of(region, (height, width))[box])


def _best_place(
    reference: np.ndarray, region: np.ndarray, box: tuple[int, int, int, int], size: tuple[int, int]
) -> tuple[int, int]:
    """Top and left of the window in a box whose blocks in the region have most detail, a flat one counting half."""
    top, left, bottom, right = box
    part = reference[top:bottom, left:right]
    detail = by_block(part if part.ndim == 2 else part[..., 1]).std(axis=-1)
    inside = region[top // BLOCK : -(-bottom // BLOCK), left // BLOCK : -(-right // BLOCK)]
    worth = np.where(inside, 0.5 + 0.5 * detail / (detail + detail[inside].mean() + 1e-9), 0)
    sums = np.pad(worth, [(1, 0), (1, 0)]).cumsum(axis=0).cumsum(axis=1)
    high, wide = (-(-side // BLOCK) for side in size)
    found = sums[high:, wide:] - sums[:-high, wide:] - sums[high:, :-wide] + sums[:-high, :-wide]
    y, x = np.unravel_index(int(found[::2, ::2].argmax()), found[::2, ::2].shape)
    return top + GRID * int(y), left + GRID * int(x)


def fit_or_none(kind: str, reference: np.ndarray, copy: np.ndarray, mask: np.ndarray, start: Any = None) -> Fit | None:
    """Fit a kind; an error in one kind is said as a warning and must not take away the answer of the others."""
    try:
        return registry.get(kind).fit(reference, copy, mask, start)
    except (ArithmeticError, LookupError, ValueError, np.linalg.LinAlgError) as error:
        warnings.warn(f"{kind} could not be fitted ({type(error).__name__}: {error}); report this", RuntimeWarning, 2)
        return None


class Refit:
    """Fits of sets of kinds to one piece; what several sets need is computed once.

    start : settings to begin with, by kind; tuned : the numbers of ``tuned["refit"]``.
    """

    def __init__(self, piece: Piece, tuned: dict[str, Any], start: dict[str, Any] | None = None) -> None:
        self.piece, self.tuned, self.start = piece, tuned, start or {}
        self._alone: dict[str, Fit | None] = {}
        self._spent = 0

    def of(self, kinds: tuple[str, ...]) -> Chain | None:
        """The kinds in the order, and with the settings, that come nearest to the copy; None if they cannot."""
        self._spent, chains = 0, list[Chain]()
        for order in permutations(kinds):
            found = []
            for start in (self._one_after_the_other, self._from_the_last)[: len(kinds)]:
                steps = start(order)
                if steps and (chain := self._made(steps)):
                    found.append(chain)
                    # What random kinds account for, they account for in any order: the likeliest one is looked for.
                    if chain.explained >= self.tuned["enough"] and chain.is_whole and not chain.is_random:
                        return replace(chain, remakes=self._spent)
            chains += sorted(found, key=lambda chain: chain.loss)[:1]
        if not chains:
            return None
        best, *others = sorted(chains, key=lambda chain: (not chain.is_whole, chain.loss))
        if len(kinds) > 1 and not (best.is_whole and best.explained >= self.tuned["enough"]):
            best = min((self._turn(chain) for chain in (best, *others[:1])), key=lambda chain: chain.loss)
        while len(kinds) > 1 and best.explained < self.tuned["enough"]:
            better = self._turn(best)
            if better.loss > best.loss - LEAST_GAIN:
                break
            best = better
        return replace(best, remakes=min(self._spent, self.tuned["remakes"])) if best.is_whole else None

    def _spend(self) -> bool:
        """Count a fit or a remake; False if there were enough."""
        self._spent += 1
        return self._spent <= self.tuned["remakes"]

    def _fitted(self, kind: str, reference: np.ndarray, copy: np.ndarray, start: Any = None) -> Fit | None:
        if not self._spend():
            return None
        return fit_or_none(kind, reference, copy, self.piece.mask, start)

    def _fitted_alone(self, kind: str) -> Fit | None:
        if kind not in self._alone:
            start = self.start.get(kind)
            self._alone[kind] = fit_or_none(kind, self.piece.reference, self.piece.copy, self.piece.mask, start)
        return self._alone[kind]

    def _one_after_the_other(self, order: tuple[str, ...]) -> Steps | None:
        """Each kind fitted to the copy after those before it; one that cannot be is left for later turns."""
        steps, image = list[tuple[str, Fit]](), self.piece.reference
        for kind in order:
            fit = self._fitted(kind, image, self.piece.copy) if steps else self._fitted_alone(kind)
            steps.append((kind, fit or _NOT_YET))
            image = steps[-1][1].apply(image)
        return tuple(steps) if any(fit is not _NOT_YET for _, fit in steps) else None

    def _from_the_last(self, order: tuple[str, ...]) -> Steps | None:
        """The last kind fitted to the copy, the others to what that leaves, and the last one again."""
        if (last := self._fitted_alone(order[-1])) is None:
            return None
        target = np.clip(self.piece.copy - (last.apply(self.piece.reference) - self.piece.reference), 0, 255)
        steps, image = [], self.piece.reference
        for kind in order[:-1]:
            if (fit := self._fitted(kind, image, target)) is None:
                return None
            steps.append((kind, fit))
            image = fit.apply(image)
        again = self._fitted(order[-1], image, self.piece.copy, last.settings)
        return (*steps, (order[-1], again)) if again else None

    def _made(self, steps: Steps) -> Chain | None:
        """The chain of these steps; None if too many were made."""
        if not self._spend():
            return None
        rng = np.random.default_rng(0)
        images, drawn, spread = [self.piece.reference], [self.piece.reference], None
        for _, fit in steps:
            before, is_same = images[-1], drawn[-1] is images[-1]
            images.append(np.asarray(fit.apply(before), np.float32))
            if fit.draw is not None:
                spread = fit.noise(images[-1]) if fit.noise is not None and is_same else None
                drawn.append(np.asarray(fit.draw(drawn[-1], rng), np.float32))
            else:
                drawn.append(images[-1] if is_same else np.asarray(fit.apply(drawn[-1]), np.float32))
                spread = None if not is_same else spread
        noise = spread if spread is not None else (drawn[-1] - images[-1]) ** 2
        rest = (self.piece.copy - images[-1]) ** 2
        whole = Fit({}, lambda _: images[-1], noise=(lambda _: noise) if noise.any() else None)
        share = explained(whole, self.piece.reference, self.piece.copy, self.piece.mask)
        return Chain(steps, tuple(images), tuple(drawn), noise, self._loss(rest, noise), share)

    def _loss(self, rest: np.ndarray, noise: np.ndarray) -> float:
        """Mean of log(v) + r / v over places, where r is the power that is left and v that which is expected."""
        mask = self.piece.mask.astype(np.float32)
        count, left, expected = (_by_place(values * mask) for values in (np.ones_like(mask), _mean(rest), _mean(noise)))
        used = count > 0
        smooth, around = (ndimage.uniform_filter(values, 5, mode="constant") for values in (expected, count))
        expected = smooth[used] / around[used] + ROUNDING
        return float(((np.log(expected) + left[used] / count[used] / expected) * count[used]).sum() / count.sum())

    def _turn(self, chain: Chain) -> Chain:
        """Each kind is improved once, from the last to the first."""
        for number in reversed(range(len(chain.steps))):
            kind, fit = chain.steps[number]
            before, after = chain.images[number], chain.images[number + 1]
            target = self.piece.copy
            if number + 1 < len(chain.steps):
                target = np.clip(target - (chain.images[-1] - after), 0, 255)
            again = self._fitted(kind, before, target, fit.settings)
            trial = again and self._made(_exchanged(chain.steps, number, again))
            if trial and trial.loss < chain.loss:
                chain = trial
            elif number + 1 < len(chain.steps):
                chain = self._searched(chain, number)
        return chain

    def _searched(self, chain: Chain, number: int) -> Chain:
        """A pattern search over the numbers of one kind."""
        step = self.tuned["step"]
        for name in _numbers(chain.steps[number][1].settings):
            for factor in (1 - step, 1 + step, 1 - step / 4, 1 + step / 4):
                for _ in range(FURTHEST):
                    kind, fit = chain.steps[number]
                    value = factor * getattr(fit.settings, name)
                    if (
                        factor > 1 and abs(value) > max(self.piece.mask.shape) / 2
                    ):  # such lengths cost most, and say nothing
                        break
                    settings = replace(fit.settings, **{name: value})
                    try:
                        trial = self._made(_exchanged(chain.steps, number, _with_settings(kind, fit, settings)))
                    except ValueError:  # the kind has no such setting, as an even side of a median
                        break
                    if not trial or trial.loss >= chain.loss:
                        break
                    chain = trial
        return chain


def _exchanged(steps: Steps, number: int, fit: Fit) -> Steps:
    return (*steps[:number], (steps[number][0], fit), *steps[number + 1 :])


def _numbers(settings: Any) -> list[str]:
    """Names of the numbers of settings that are in use: those that are not nought."""
    if settings is None:
        return []
    values = ((one.name, getattr(settings, one.name)) for one in fields(settings))
    return [name for name, value in values if type(value) is float and value != 0]


def _with_settings(name: str, fit: Fit, settings: Any) -> Fit:
    """The fit with other settings; the intervals move along."""
    kind, old, new = registry.get(name), fit.settings.words(), settings.words()
    moved = {
        word: (low + new[word] - old[word], high + new[word] - old[word])
        for word, (low, high) in fit.intervals.items()
        if word in new and word in old
    }

    def apply(image: np.ndarray) -> np.ndarray:
        return kind.apply(as_bytes(image), settings).astype(np.float32)

    def draw(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return kind.apply(as_bytes(image), replace(settings, seed=int(rng.integers(2**31)))).astype(np.float32)

    parameters = {**fit.parameters, **new}
    if fit.draw is not None:
        return replace(fit, parameters=parameters, settings=settings, intervals=moved, draw=draw, noise=None)
    return replace(fit, parameters=parameters, settings=settings, intervals=moved, apply=apply)


def _mean(values: np.ndarray) -> np.ndarray:
    return values if values.ndim == 2 else values.mean(axis=2)


def _by_place(values: np.ndarray) -> np.ndarray:
    """Sums over squares of 16 x 16 pixels."""
    rows, cols = (np.arange(0, size, GRID) for size in values.shape)
    return np.add.reduceat(np.add.reduceat(values, rows, axis=0), cols, axis=1)
