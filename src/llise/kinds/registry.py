"""The known kinds of distortion, by name."""

from __future__ import annotations

from importlib import import_module

from llise.kinds.base import Kind
from llise.labels import COLOR_KINDS, MISALIGNMENT, NAMED_KINDS

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


def _defined_in_file(name: str) -> Kind:
    """The kind of a name, which the file of this name defines."""
    values = vars(import_module(f"llise.kinds.{name}")).values()
    return next(one() for one in values if isinstance(one, type) and vars(one).get("name") == name)


for _name in (*NAMED_KINDS, MISALIGNMENT, *COLOR_KINDS):
    register(_defined_in_file(_name))
