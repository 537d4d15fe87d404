"""The classes that can be saved, by name: the only ones that a model file may name."""

from importlib import import_module

SAVABLE = ("LLISE", "KernelLLISE", "LLE", "KernelLLE", "DistortionRecognizer", "Diagnoser")
"""Names of the classes, which are public names of llise.

Each has ``to_state()``, which returns arrays and settings, and the class method ``from_state(arrays, settings)``.
"""


def savable_class(name: str) -> type:
    """Class of a name in :data:`SAVABLE`.

    Parameters
    ----------
    name : str
        Name of the class.

    Returns
    -------
    type
        The class, as the attribute of :mod:`llise`.

    Raises
    ------
    ValueError
        No such class can be saved.

    Examples
    --------
    >>> savable_class("LLE")
    <class 'llise.manifold.baselines.LLE'>
    >>> savable_class("Popen")
    Traceback (most recent call last):
    ValueError: 'Popen' is not a class that can be saved; expected one of LLISE, KernelLLISE, LLE, KernelLLE, \
DistortionRecognizer, Diagnoser
    """
    if name not in SAVABLE:
        raise ValueError(f"{name!r} is not a class that can be saved; expected one of {', '.join(SAVABLE)}")
    return getattr(import_module("llise"), name)
