"""Ctrl-C and the signals that ask a program to end: each ends a command in order, without a traceback.

The first signal raises :class:`KeyboardInterrupt` in the main thread, so that temporary files are removed; the second
one ends the process at once.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import Any

NUMBERS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Signals that end a command."""

AGAIN = 0.02
"""Seconds until an interrupt is raised again that was lost in a destructor or callback."""

_received: list[int] = []


def install() -> None:
    """Handle the signals of this module, except those that whoever started the program has switched off."""
    _received.clear()
    sys.unraisablehook = _unraisable
    for number in NUMBERS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as for jobs in the background and under nohup
            signal.signal(number, _stop)


def ignore() -> None:
    """Ignore the signals from now on: the work is done, and the process ends by itself."""
    for number in NUMBERS:
        signal.signal(number, signal.SIG_IGN)
    _raise_later(0)


def received() -> bool:
    """Tell whether one of the signals has come."""
    return bool(_received)


def status() -> int:
    """Exit status of a command that was interrupted, as shells count it."""
    return 128 + (_received[0] if _received else signal.SIGINT)


def _stop(number: int, frame: FrameType | None) -> None:
    if _received:
        os._exit(128 + number)
    _received.append(number)
    raise KeyboardInterrupt


def _unraisable(unraisable: Any) -> None:
    """Raise an interrupt again a little later where it came in a destructor or callback, which cannot pass it on."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        _raise_later(AGAIN)
    else:
        sys.__unraisablehook__(unraisable)


def _raise_later(seconds: float) -> None:
    """Raise an interrupt after some time; 0 to raise none."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _again if seconds else signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _again(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
