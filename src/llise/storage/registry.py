"""The classes that can be saved, by name: the only ones that a model file may name."""

from importlib import import_module

SAVABLE = ("LLISE", "KernelLLISE", "LLE", "KernelLLE", "DistortionRecognizer")
"""Names of the classes, which are public names of llise.

Each has ``to_state()``, which returns arrays and settings, and the class method ``from_state(arrays, settings)``.
"""


def savable_class(name: str) -> type:
    """Class of a name in :data:`SAVABLE`."""
    if name not in SAVABLE:
        raise ValueError(f"{name!r} is not a class that can be saved; expected one of {', '.join(SAVABLE)}")
    return getattr(import_module("llise"), name)
