"""What the kinds of colour faults share: they take pictures of red, green and blue."""

from __future__ import annotations

from typing import Any

import numpy as np

from llise.colours import planes_of
from llise.kinds.base import Kind, Path
from llise.kinds.grey import check_image


class ColorKind(Kind):
    """A kind that changes colours; its images are (h, w, 3), and its error is the mean over the three channels.

    Examples
    --------
    >>> from llise.kinds.registry import get
    >>> isinstance(get("saturation"), ColorKind), isinstance(get("blur"), ColorKind)
    (True, False)
    """


class LumaKind(ColorKind):
    """A kind of the luma for colour images: what it adds to the luma is added to red, green and blue alike.

    Parameters
    ----------
    kind : Kind
        A kind of grey images.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.registry import get
    >>> image = np.array([[[200, 100, 50]]], np.uint8)
    >>> LumaKind(get("luminance")).path(image, np.random.default_rng(0))(5.0).tolist()
    [[[205.0, 105.0, 55.0]]]
    """

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.name, self.title, self.short_title = kind.name, kind.title, kind.short_title
        self.strongest, self.two_sided = kind.strongest, kind.two_sided

    def path(self, image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Path:
        luma = np.rint(planes_of(image)[..., 0]).astype(np.uint8)
        path = self.kind.path(luma, rng, direction)
        return lambda strength: image + (path(strength).astype(np.float32) - luma)[..., None]

    def end(self, direction: int = 1) -> float:
        return self.kind.end(direction)

    def reported_strength(self, strength: float, direction: int = 1) -> float:
        return self.kind.reported_strength(strength, direction)


def suited(kind: Kind, image: Any, name: str = "image") -> tuple[Kind, np.ndarray]:
    """Return a kind that can change an image, and the image after a check.

    Parameters
    ----------
    kind : Kind
        Any kind.
    image : array-like
        Grey (h, w) or colour (h, w, 3), of uint8.
    name : str
        What the error message calls it.

    Returns
    -------
    kind : Kind
        The kind itself, or :class:`LumaKind` for a kind of grey images and a colour image.
    image : ndarray of uint8
        The image as an array.

    Raises
    ------
    ValueError
        The image has another form, or is grey while the kind changes colours.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.registry import get
    >>> suited(get("blur"), np.zeros((4, 6, 3), np.uint8))[0].name
    'blur'
    """
    if isinstance(kind, ColorKind) or np.ndim(image) == 3:
        return kind if isinstance(kind, ColorKind) else LumaKind(kind), check_color_image(image, name)
    return kind, check_image(image, name)


def check_color_image(image: Any, name: str = "image") -> np.ndarray:
    """Return an image as an array after making sure that it is 8-bit colour.

    Parameters
    ----------
    image : array-like
        Image to check.
    name : str
        What the error message calls it.

    Returns
    -------
    ndarray of uint8, shape (h, w, 3)
        The image as an array.

    Raises
    ------
    ValueError
        If the image is grey, has another depth or no pixels.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.kinds.color_base import check_color_image
    >>> check_color_image(np.zeros((4, 6, 3), np.uint8)).shape
    (4, 6, 3)
    """
    array = np.asarray(image)
    if array.ndim != 3 or array.shape[-1] != 3 or array.dtype != np.uint8 or array.size == 0:
        raise ValueError(
            f"{name} has shape {array.shape} and dtype {array.dtype}; this kind changes colours and needs an 8-bit "
            "colour image, (h, w, 3) of uint8: llise.read_image(file, color=True) reads one"
        )
    return array
