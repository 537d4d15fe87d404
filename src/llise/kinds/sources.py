"""The kinds of one's own that are registered, by name; nothing is loaded to ask for them."""

from __future__ import annotations

from typing import Protocol

MOST = 50
"""Most kinds of one's own at a time."""


class KindError(ValueError):
    """A kind of one's own cannot be used; the message names it and says what to do."""


class Source(Protocol):
    """What a kind is learned from: a function, examples, or what was learned from them before."""

    @property
    def name(self) -> str:
        """Name of the kind."""

    @property
    def title(self) -> str:
        """How sentences call it."""


_SOURCES: dict[str, Source] = {}


def add(source: Source) -> None:
    """Add a kind; its name must have been checked."""
    if len(_SOURCES) >= MOST:
        raise KindError(f"kind {source.name!r} would be one of more than {MOST} of one's own; unregister some")
    _SOURCES[source.name] = source


def remove(name: str) -> None:
    """Remove a kind, if it is there."""
    _SOURCES.pop(name, None)


def sources() -> tuple[Source, ...]:
    """Return what each kind of one's own is learned from, in the order of registration."""
    return tuple(_SOURCES.values())


def names() -> tuple[str, ...]:
    """Return the names of the kinds of one's own, in the order of registration.

    Returns
    -------
    tuple of str
        The names.

    Examples
    --------
    >>> from llise.kinds.sources import names
    >>> names()
    ()
    """
    return tuple(_SOURCES)


def title_of(name: str) -> str:
    """Return how sentences call a kind of one's own."""
    return _SOURCES[name].title if name in _SOURCES else name.replace("_", " ")
