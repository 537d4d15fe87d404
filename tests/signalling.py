"""How tests start programs to which they send signals."""

import signal


def with_usual_signals() -> None:
    """Start as by hand: a shell may run the tests with some signals ignored, and children would ignore them too."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
