"""Random scenes from which the network learns: a piece of a picture, a faulty copy, and the kinds in each block.

A scene is a few steps, each a kind on all of the picture or in a region. A block has a kind where its step changed it
and where the copy would be another one without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from llise.kinds.grey import mse, quantise
from llise.kinds.registry import get
from llise.kinds.search import Search
from llise.labels import COLOR_KINDS, KINDS, NAMED_KINDS, NETWORK_KINDS, UNKNOWN
from training.disguises import disguised
from training.fields import MASKS, draw_mask, feathered, log_uniform
from training.labels import IGNORED
from training.pieces import GREY_SHARE, draw_piece
from training.unlisted import families, make_unlisted

LABELS = NETWORK_KINDS
"""Kind k sets bit k of a block's label."""

BLOCK = 8
LEFT_OUT = np.uint32(1 << IGNORED)
"""Label of blocks that the loss leaves out: padding, and blocks of which a region only touches the rim."""

CONTENT = "content"
ERRORS = 2.0, 1500.0  # mean squared errors that are asked for, evenly in the logarithm
NEAR = 0.35  # relative distance from it that will do, since errors are random anyway
LEAST_ERROR, LEAST_STRANGE = 1.5, 4.0  # of a kind, and of a fault without a name, which weaker tells nothing
LEAST_CHANGE = 0.3  # mean squared error of a block below which nobody sees a kind
LEAST_BLOCK_SHARE = 0.01  # of a block's error: of 192 values, less drowns in what else changed them
LEAST_SHARE = 0.03  # of a region's error that must be a step's, and must still be there after the others
LEAST_COVER = 0.1  # share of a block's pixels that a region must cover
LEAST_NOISE_RATIO = 1.25  # of its strength in light to dark parts, for noise that follows the signal
PRISTINE_SHARE, UNLISTED_SHARE, SMALL_SHARE = 0.05, 0.2, 0.12

OFTEN = {"jpeg2000": 0.7, "content": 1.6, "speckle_noise": 1.3}
"""How often kinds are drawn, 1.5 being the paper's: one takes long, one changes few blocks, one is often left out."""

FORMS = {
    "w": 0.22, "a": 0.16, "ww": 0.15, "www": 0.06, "aa": 0.08, "aaa": 0.02, "wa": 0.09, "aw": 0.05, "aA": 0.06,
    "ab": 0.05, "wab": 0.02, "wwa": 0.02, "aAw": 0.02,
}  # fmt: skip
"""Steps in their order, and how often: w the whole picture, a and b regions, A all but a."""


@dataclass(frozen=True, eq=False)
class Step:
    """One kind applied: `make` is the kind with its settings, `cover` the share of it in each pixel (None: all)."""

    kind: str
    make: Callable[[np.ndarray], np.ndarray]
    words: dict[str, float]
    cover: np.ndarray | None = None
    mask: str = "whole"
    program: str = ""  # family of a fault without a name

    def on(self, image: np.ndarray, made: np.ndarray | None = None) -> np.ndarray:
        """Apply to an 8-bit picture; `made` is what `make` gives for it, where that is known."""
        made = self.make(image) if made is None else made
        if self.cover is None:
            return made
        cover = self.cover if image.ndim == 2 else self.cover[..., None]
        return quantise(image + cover * (made.astype(np.float32) - image))


@dataclass(frozen=True, eq=False)
class Scene:
    """Reference and copy, uint8 (s, s, 3); labels, uint32 (s / 8, s / 8); settings of each kind, in its own words."""

    reference: np.ndarray
    copy: np.ndarray
    labels: np.ndarray
    settings: dict[str, dict[str, float]]
    form: str = ""
    steps: tuple[Step, ...] = ()
    shape: tuple[int, int] = (0, 0)  # of what is not padding
    grey: bool = False  # steps were made on one channel


def draw_scene(
    picture: np.ndarray, rng: np.random.Generator, side: int = 128, *, held_out: bool = False
) -> Scene | None:
    """Draw a scene from a picture (h, w, 3); None where its steps leave nothing that anybody could tell.

    `held_out` draws faults without a name from the families that are kept aside.
    """
    grey = bool(rng.random() < GREY_SHARE)
    small = rng.random() < SMALL_SHARE
    own = int(rng.integers(2, side // BLOCK + 1)) * BLOCK if small else side
    piece = draw_piece(picture, own, rng, grey)
    if min(piece.shape[:2]) < 2 * BLOCK or (piece[::2, ::2].std() < 2 and rng.random() < 0.9):
        return None
    if rng.random() < PRISTINE_SHARE:
        rows, cols = (n // BLOCK for n in piece.shape[:2])
        return _padded(piece, disguised(piece, rng), np.zeros((rows, cols), np.uint32), (), "", side)
    form = str(rng.choice(list(FORMS), p=list(FORMS.values())))
    made = _steps(piece, form, rng, held_out)
    if made is None:
        return None
    steps, images = made
    labels = label_blocks(steps, images)
    return None if labels is None else _padded(piece, images[-1], labels, steps, form, side)


def _padded(
    reference: np.ndarray, copy: np.ndarray, labels: np.ndarray, steps: tuple[Step, ...], form: str, side: int
) -> Scene:
    """Scene of full size; a grey picture gets three equal channels."""
    height, width = shape = reference.shape[:2]
    pages = np.zeros((2, side, side, 3), np.uint8)
    for page, image in zip(pages, (reference, copy)):
        page[:height, :width] = image if image.ndim == 3 else image[..., None]
    full = np.full((side // BLOCK, side // BLOCK), LEFT_OUT, np.uint32)
    full[: height // BLOCK, : width // BLOCK] = labels
    settings = {step.kind: step.words for step in steps if step.words}
    return Scene(pages[0], pages[1], full, settings, form, steps, shape, reference.ndim == 2)


def _steps(
    piece: np.ndarray, form: str, rng: np.random.Generator, held_out: bool
) -> tuple[tuple[Step, ...], list[np.ndarray]] | None:
    """Steps of a form, and the pictures before, between and after them."""
    regions = _regions(piece.shape[:2], form, rng)
    kinds = _draw_kinds(len(form), piece.ndim == 2, rng)
    total = log_uniform(rng, *ERRORS)
    shares = rng.uniform(0.25, 1, len(form))
    side_by_side = form in ("aA", "ab")
    shares = shares if side_by_side else shares / shares.sum()
    steps: list[Step] = []
    images = [piece]
    for kind, place, share in zip(kinds, form, shares):
        drawn = _draw_step(kind, images[-1], total * share, rng, held_out)
        if drawn is None:
            return None
        cover, mask = regions[place]
        steps.append(replace(drawn[0], cover=cover, mask=mask))
        after = steps[-1].on(images[-1], drawn[1])
        images.append(after)
    return tuple(steps), images


def _regions(shape: tuple[int, int], form: str, rng: np.random.Generator) -> dict[str, tuple[np.ndarray | None, str]]:
    regions: dict[str, tuple[np.ndarray | None, str]] = {"w": (None, "whole")}
    for place in sorted(set(form.lower()) - {"w"}):
        name = MASKS[int(rng.integers(len(MASKS)))]
        mask = draw_mask(shape, rng, name)
        if rng.random() < 0.2:
            mask, name = feathered(mask, rng.uniform(1, 0.08 * min(shape) + 1)), f"feathered {name}"
        regions[place] = mask, name
    if "A" in form and regions["a"][0] is not None:
        regions["A"] = 1 - regions["a"][0], f"all but {regions['a'][1]}"
    return regions


def _draw_kinds(count: int, grey: bool, rng: np.random.Generator) -> list[str]:
    """Different kinds, and sometimes a fault without a name in the place of one of them."""
    names = NAMED_KINDS if grey else (*NAMED_KINDS, *COLOR_KINDS)
    weights = np.array([1.5 if n in KINDS else OFTEN.get(n, 1.2 if n in COLOR_KINDS else 1.0) for n in names])
    kinds = [names[i] for i in rng.choice(len(names), count, replace=False, p=weights / weights.sum())]
    if rng.random() < UNLISTED_SHARE:
        kinds[int(rng.integers(count))] = UNKNOWN
    return kinds


def _draw_step(
    kind: str, image: np.ndarray, wanted: float, rng: np.random.Generator, held_out: bool
) -> tuple[Step, np.ndarray] | None:
    """A kind at about a wanted error on all of a picture, and what it makes of the picture."""
    seed = int(rng.integers(2**63))
    if kind == UNKNOWN:
        return _draw_unlisted(image, wanted if rng.random() < 0.5 else np.inf, seed, held_out)
    found = get(kind)
    draw = found.draw(image, np.random.default_rng(seed))
    search = Search(draw.path, image, wanted, NEAR)
    first = draw.end / 30 if draw.first is None else draw.first(wanted)
    search.bisect(draw.end, first=first, steps=2, at_zero=0.0)
    if search.measured < LEAST_ERROR:
        return None
    settings = draw.settings(search.strength)
    return Step(kind, lambda other: quantise(found.apply(other, settings)), settings.words()), search.image


def _draw_unlisted(image: np.ndarray, wanted: float, seed: int, held_out: bool) -> tuple[Step, np.ndarray] | None:
    """A fault without a name, mixed with the picture where it is stronger than wanted."""
    rng = np.random.default_rng(seed)
    choice = families(held_out, image.ndim == 3)
    family = choice[int(rng.integers(len(choice)))]
    state = int(rng.integers(2**63))
    strange = make_unlisted(family, image, np.random.default_rng(state))
    weight = np.float32(np.clip(np.sqrt(wanted / max(mse(image, strange), 1e-9)), 0.2, 1.0))

    def make(other: np.ndarray) -> np.ndarray:
        made = make_unlisted(family, other, np.random.default_rng(state))
        return made if weight == 1 else quantise(other + weight * (made.astype(np.float32) - other))

    made = strange if weight == 1 else quantise(image + weight * (strange.astype(np.float32) - image))
    return None if mse(image, made) < LEAST_STRANGE else (Step(UNKNOWN, make, {}, program=family.name), made)


def block_error(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Mean squared error of each block, float32 (rows, cols)."""
    rows, cols = (n // BLOCK for n in a.shape[:2])
    blocks = np.subtract(a, b, dtype=np.int16).astype(np.float32).reshape(rows, BLOCK, cols, -1)
    return np.einsum("rycx,rycx->rc", blocks, blocks) / (BLOCK * blocks.shape[-1])


def _block_mean(values: np.ndarray) -> np.ndarray:
    rows, cols = (n // BLOCK for n in values.shape)
    return np.einsum("rycx->rc", values.reshape(rows, BLOCK, cols, BLOCK)) / BLOCK**2


def label_blocks(steps: tuple[Step, ...], images: list[np.ndarray]) -> np.ndarray | None:
    """Bits of the kinds in each block; None where a step leaves next to nothing, or two look like one.

    A step's trace is the difference that it makes to the copy: all later steps are applied to the picture without it.
    """
    copy = images[-1]
    total = block_error(images[0], copy)
    labels = np.zeros(total.shape, np.uint32)
    for i, step in enumerate(steps):
        own = block_error(images[i], images[i + 1])
        trace = own
        if i + 1 < len(steps):
            without = images[i]
            for later in steps[i + 1 :]:
                without = later.on(without)
            trace = block_error(without, copy)
        changed = np.minimum(own, trace) >= np.maximum(LEAST_CHANGE, LEAST_BLOCK_SHARE * total)
        if not changed.any():
            return None
        inside = _covered(step, images[i], images[i + 1]) >= LEAST_COVER
        there = changed & inside
        if not there.any() or min(own[inside].sum(), trace[inside].sum()) < LEAST_SHARE * total[inside].sum():
            return None
        labels[there] |= np.uint32(1 << LABELS.index(step.kind))
        labels[changed & ~inside] |= LEFT_OUT
    if _are_like_another(steps) or _is_contrast_alone(steps, images):
        return None
    if not all(_can_be_told(*step_and_images) for step_and_images in zip(steps, images, images[1:])):
        return None
    unknown = np.uint32(1 << LABELS.index(UNKNOWN))
    labels[(labels & unknown) > 0] &= unknown | LEFT_OUT
    return labels


def _covered(step: Step, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Share of the pixels of each block that a step reaches; thin strokes of content count twice."""
    if step.kind == CONTENT:
        different = before != after
        return 2 * _block_mean(
            (different if before.ndim == 2 else different[..., 0] | different[..., 1] | different[..., 2]).astype(
                np.float32
            )
        )
    rows, cols = (n // BLOCK for n in before.shape[:2])
    return np.ones((rows, cols), np.float32) if step.cover is None else _block_mean(step.cover)


def _can_be_told(step: Step, before: np.ndarray, after: np.ndarray) -> bool:
    """Whether a kind could be another one for all that its region shows.

    Where the picture is flat, changes of contrast or saturation and many without a name are the same everywhere, as
    shifts and casts are, and noise that follows the signal is as strong everywhere as noise that does not.
    """
    if step.kind not in ("contrast", "saturation", "speckle_noise", UNKNOWN):
        return True
    inside = np.ones(before.shape[:2], bool) if step.cover is None else step.cover > 0.5 * step.cover.max()
    if step.kind == "speckle_noise":
        greys = before[inside] if before.ndim == 2 else before[inside][:, 1]
        low, high = np.quantile(greys, (0.1, 0.9)) + 1.0
        return bool((high / low) ** step.words.get("exponent", 1.0) > LEAST_NOISE_RATIO)
    change = after[inside].astype(np.float32) - before[inside]
    return bool(change.var(0).mean() > max(LEAST_CHANGE, LEAST_SHARE * float(np.mean(change**2))))


def _are_like_another(steps: tuple[Step, ...]) -> bool:
    """Whether a colour cast with a change of all channels by the same rule adds up to another colour cast."""
    words = {step.kind: step.words for step in steps}
    if "color_cast" not in words:
        return False
    cast = {word.partition("_")[2] for word in words["color_cast"]}
    contrast = words.get("contrast", {})
    by_gain = "gain" in contrast and abs(contrast.get("pivot", 0.0)) < 16
    return (
        ("luminance" in words and "offset" in cast)
        or ("gamma" in contrast and "gamma" in cast)
        or (by_gain and "gain" in cast)
    )


def _is_contrast_alone(steps: tuple[Step, ...], images: list[np.ndarray]) -> bool:
    """Whether a change of contrast and a shift of luminance add up to contrast about one of its usual pivots.

    These are the mean (to within half the spread), mid-grey, black and white (to within an eighth of it).
    """
    if not {"contrast", "luminance"} <= {step.kind for step in steps}:
        return False
    reference, copy = images[0], images[-1]
    inside = (copy > 0) & (copy < 255)
    for step in steps:
        if step.kind in ("contrast", "luminance") and step.cover is not None:
            inside &= (step.cover if reference.ndim == 2 else step.cover[..., None]) > 0.99
    if np.count_nonzero(inside) < 64:
        return False
    before, after = reference[inside].astype(float), copy[inside].astype(float)
    mean, spread = before.mean(), before.std() + 1.0
    slope = float((before - mean) @ (after - before)) / (before.size * spread**2)
    shift = float(np.mean(after - before))
    near = abs(shift) / 0.5
    near = min(near, *(abs(shift + slope * (grey - mean)) / 0.12 for grey in (0.0, 128.0, 255.0)))
    return bool(near < spread * abs(slope))
