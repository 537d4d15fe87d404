"""The known kinds of distortion, by name."""

from __future__ import annotations

from llise.kinds.base import Kind
from llise.kinds.blur import Blur
from llise.kinds.chroma_blur import ChromaBlur
from llise.kinds.chroma_noise import ChromaNoise
from llise.kinds.color_cast import ColorCast
from llise.kinds.content import Content
from llise.kinds.contrast import Contrast
from llise.kinds.gaussian_noise import GaussianNoise
from llise.kinds.impulse_noise import ImpulseNoise
from llise.kinds.jpeg import Jpeg
from llise.kinds.jpeg2000 import Jpeg2000
from llise.kinds.luminance import Luminance
from llise.kinds.misalignment import Misalignment
from llise.kinds.pixelation import Pixelation
from llise.kinds.quantization import Quantization
from llise.kinds.saturation import Saturation
from llise.kinds.sharpening import Sharpening
from llise.kinds.speckle_noise import SpeckleNoise

_KINDS: dict[str, Kind] = {}


def register(kind: Kind) -> None:
    """Add a kind under its name; a kind that had this name is replaced.

    Parameters
    ----------
    kind : Kind
        Kind to add.

    Examples
    --------
    >>> from llise.kinds.base import FunctionKind
    >>> from llise.kinds.registry import names, register, unregister
    >>> register(FunctionKind("fog", lambda image, rng: lambda s: image + s * (255 - image), strongest=1.0))
    >>> names()[-1]
    'fog'
    >>> unregister("fog")
    """
    _KINDS[kind.name] = kind


def unregister(name: str) -> None:
    """Remove a kind.

    Parameters
    ----------
    name : str
        Name of a registered kind.

    Examples
    --------
    >>> from llise.kinds.base import FunctionKind
    >>> from llise.kinds.registry import names, register, unregister
    >>> register(FunctionKind("fog", lambda image, rng: lambda s: image + s * (255 - image), strongest=1.0))
    >>> unregister("fog")
    >>> "fog" in names()
    False
    """
    del _KINDS[get(name).name]


def get(name: str) -> Kind:
    """Return the kind of a name.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Returns
    -------
    Kind
        The registered object.

    Raises
    ------
    ValueError
        If no kind has this name.

    Examples
    --------
    >>> from llise.kinds.registry import get
    >>> get("jpeg").title
    'JPEG compression'
    """
    try:
        return _KINDS[name]
    except (KeyError, TypeError):
        raise ValueError(f"unknown kind {name!r}; the known ones are {', '.join(_KINDS)}") from None


def names() -> tuple[str, ...]:
    """Return the names of all kinds, in the order of registration.

    Returns
    -------
    tuple of str
        Names that :func:`get` knows.

    Examples
    --------
    >>> from llise.kinds.registry import names
    >>> names()[:3]
    ('contrast', 'gaussian_noise', 'luminance')
    """
    return tuple(_KINDS)


# One line for each built-in kind, in the order of llise.labels.NAMED_KINDS.
register(Contrast())
register(GaussianNoise())
register(Luminance())
register(Blur())
register(ImpulseNoise())
register(Jpeg())
register(Jpeg2000())
register(SpeckleNoise())
register(Pixelation())
register(Quantization())
register(Sharpening())
register(Content())
register(Misalignment())
# Kinds of colour faults, in the order of llise.labels.COLOR_KINDS.
register(Saturation())
register(ColorCast())
register(ChromaNoise())
register(ChromaBlur())
