"""Kinds of distortion: one file for each kind, the registry of all kinds, and the search for a wanted error.

A new kind is one file here and its name in :mod:`llise.labels`; ``docs/add-a-kind.md`` shows how.
:func:`register` adds a custom kind, which a diagnosis names too; ``docs/custom-kinds.md`` shows how.
:mod:`llise.distortions` is the public interface for making distorted copies.
"""

__all__ = ["register", "unregister"]


def __getattr__(name: str):
    # Imported on first use: the limits of kinds, which are here too, are read without loading the kinds.
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module 'llise.kinds' has no attribute {name!r}")
    return getattr(import_module("llise.kinds.own"), name)
