"""Ways in which programs make the kinds of colour faults, for the training of the colour judge.

Programs change colours in many spaces: those of coders, perceptual ones, linear light. What they leave in the luma
differs accordingly. None of them is one of the programs with which ``benchmarks/colour.py`` measures.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import ndimage

from llise.colours import TO_PLANES, pixels_of, planes_of
from llise.kinds import registry

Change = Callable[[float], np.ndarray]
"""Takes a strength and returns the changed picture."""

Way = Callable[[np.ndarray, np.random.Generator], tuple[Change, float]]
"""Takes a picture and a source of random numbers, and returns a change and its largest strength."""

Space = tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray], float]
"""From red, green and blue to lightness and two chroma values, back, and about how many levels one of them is."""

LIGHT_TO_CONES = np.array([[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]], np.float32)
CONES_TO_OKLAB = np.array([[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]], np.float32)
"""Matrices of the space Oklab."""

BT709 = np.array([[0.2126, 0.7152, 0.0722], [-0.1146, -0.3854, 0.5], [0.5, -0.4542, -0.0458]], np.float32)
YCOCG = np.array([[0.25, 0.5, 0.25], [0.5, 0.0, -0.5], [-0.25, 0.5, -0.25]], np.float32)
"""Matrices of luma and chroma of other coders."""


def colour_way(name: str) -> Way:
    """Return a random way of making a kind.

    Parameters
    ----------
    name : str
        A kind of colour fault.

    Returns
    -------
    callable
        Takes a picture and a source of random numbers, and returns a change and its largest strength.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.training.colour_ways import colour_way
    >>> image = np.full((8, 8, 3), (90, 60, 30), np.uint8)
    >>> change, end = colour_way("saturation")(image, np.random.default_rng(0))
    >>> change(end).shape
    (8, 8, 3)
    """

    def build(image: np.ndarray, rng: np.random.Generator) -> tuple[Change, float]:
        if rng.random() < 0.4:
            return _in_space(name, image, rng)
        draw = registry.get(name).draw(image, rng)
        path = draw.path
        if name in ("saturation", "color_cast") and rng.random() < 0.3:
            path = _in_light(name, image, rng)
        if name in ("chroma_noise", "chroma_blur") and rng.random() < 0.3:
            path = _with_luma_error(path, image, float(rng.uniform(-0.25, 0.25)))
        return path, draw.end

    return build


def _in_space(name: str, image: np.ndarray, rng: np.random.Generator) -> tuple[Change, float]:
    """A kind as a change of the chroma values of some space."""
    forward, backward, level = _spaces(rng)[rng.integers(4)]
    values = forward(image.astype(np.float32))
    light, chroma = values[..., :1], values[..., 1:]

    def colours(changed: np.ndarray) -> np.ndarray:
        return backward(np.concatenate([light, changed], axis=-1))

    if name == "saturation":
        sign = rng.choice([-1.0, 1.0])
        return lambda s: colours(chroma * np.float32(1 + sign * s)), 3.0 if sign > 0 else 1.0
    if name == "color_cast":
        angle = rng.uniform(0, 2 * np.pi)
        shift = np.array([np.cos(angle), np.sin(angle)], np.float32) / level
        return lambda s: colours(chroma + np.float32(s) * shift), 80.0
    if name == "chroma_noise":
        field = rng.standard_normal(chroma.shape, dtype=np.float32) / level
        return lambda s: colours(chroma + np.float32(s) * field), 60.0
    return lambda s: colours(_without_detail(chroma, s)), 30.0


def _without_detail(chroma: np.ndarray, strength: float) -> np.ndarray:
    """Chroma of every few pixels, smoothed, with straight lines between them."""
    side = max(round(strength), 1)
    smooth = ndimage.uniform_filter(chroma, (side, side, 1), mode="nearest")
    return ndimage.uniform_filter(smooth, (side, side, 1), mode="nearest")


def _spaces(rng: np.random.Generator) -> tuple[Space, ...]:
    power = float(rng.uniform(1.8, 2.6))

    def to_light(colours: np.ndarray) -> np.ndarray:
        return (np.clip(colours, 0, 255) / 255) ** np.float32(power)

    def from_light(light: np.ndarray) -> np.ndarray:
        return 255 * np.clip(light, 0, 1) ** np.float32(1 / power)

    back_to_cones, back_to_light = np.linalg.inv(CONES_TO_OKLAB), np.linalg.inv(LIGHT_TO_CONES)
    return (
        (lambda c: np.rint(c @ BT709.T), lambda v: v @ np.linalg.inv(BT709).T, 1.0),
        (lambda c: c @ YCOCG.T, lambda v: v @ np.linalg.inv(YCOCG).T, 1.0),
        (
            lambda c: np.cbrt(to_light(c) @ LIGHT_TO_CONES.T) @ CONES_TO_OKLAB.T,
            lambda v: from_light((v @ back_to_cones.T) ** 3 @ back_to_light.T),
            350.0,
        ),
        (lambda c: to_light(c) @ TO_PLANES.T, lambda v: from_light(pixels_of(v)), 255.0),
    )


def _in_light(name: str, image: np.ndarray, rng: np.random.Generator) -> Change:
    """The kind applied to other values than those of the file, as programs do that work in another colour space."""
    power = float(np.exp(rng.uniform(-0.8, 0.8)))
    draw = registry.get(name).draw(255 * (image / 255.0) ** power, rng)
    return lambda strength: 255 * (np.clip(draw.path(strength), 0, 255) / 255.0) ** (1 / power)


def _with_luma_error(path: Change, image: np.ndarray, share: float) -> Change:
    """Chroma faults of programs whose luma is another one, so that some of the error is in ours."""
    chroma = planes_of(image)

    def change(strength: float) -> np.ndarray:
        planes = planes_of(path(strength))
        planes[..., 0] += share * ((planes - chroma)[..., 1] - 0.5 * (planes - chroma)[..., 2])
        return pixels_of(planes)

    return change


def other_rule(image: np.ndarray, rng: np.random.Generator) -> tuple[Change, float]:
    """Return changes of colours by rules that are none of the kinds.

    Parameters
    ----------
    image : ndarray of uint8, shape (h, w, 3)
        The picture.
    rng : numpy.random.Generator
        Source of all random numbers.

    Returns
    -------
    change : callable
        Takes a strength and returns the changed picture.
    end : float
        The largest strength.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.training.colour_ways import other_rule
    >>> image = np.full((8, 8, 3), (90, 60, 30), np.uint8)
    >>> change, end = other_rule(image, np.random.default_rng(0))
    >>> change(end).shape
    (8, 8, 3)
    """
    planes = planes_of(image)
    base = image.astype(np.float32)
    way = rng.integers(4)
    if way == 0:
        sign = rng.choice([-1.0, 1.0])

        def turned(strength: float) -> np.ndarray:
            a = sign * strength
            turn = np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]], np.float32)
            return pixels_of(np.concatenate([planes[..., :1], planes[..., 1:] @ turn.T], axis=-1))

        return turned, np.pi
    if way == 1:
        other = base[..., rng.permutation(3)]
        return lambda strength: base + np.float32(min(strength, 1.0)) * (other - base), 1.0
    if way == 2:
        matrix = rng.normal(0, 1, (3, 3)).astype(np.float32)
        return lambda strength: base + np.float32(strength) * ((base - 128) @ matrix.T), 2.0
    scale = np.array([1.0, -1.0], np.float32) if rng.random() < 0.5 else np.array([-1.0, 1.0], np.float32)
    change = pixels_of(np.concatenate([0 * planes[..., :1], planes[..., 1:] * scale], axis=-1))
    return lambda strength: base + np.float32(strength) * change, 2.0
