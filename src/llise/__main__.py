"""The program ``llise``, also as ``python -m llise``."""

import os
import sys


def main() -> None:
    """Run the command line; an interrupt (Ctrl-C) during the imports is reported like a later one."""
    try:
        from llise.cli import signals, streams

        streams.guard()
        signals.install()
        status = _status()
        signals.ignore()
    except KeyboardInterrupt:
        status = _interrupted()
    except Exception:
        # Python turns an interrupt in a callback, such as __set_name__ of a class that is made, into another error.
        if not getattr(sys.modules.get("llise.cli.signals"), "received", lambda: False)():
            raise
        status = _interrupted()
    _leave(status)


def _status() -> int:
    """Run the command; return its exit status."""
    from llise.cli.main import main as run

    try:
        run()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1


def _interrupted() -> int:
    """The status of an interrupt that came outside the command itself."""
    if sys.stderr:
        print("llise: error: interrupted", file=sys.stderr)
    return getattr(sys.modules.get("llise.cli.signals"), "status", lambda: 130)()


def _leave(status: int) -> None:
    """End the process, after an interrupt or while threads still run without the usual steps.

    Stopping threads inside C++ code would abort the process. After an interrupt inside :func:`exec`, Python would end
    by the signal although the interrupt was handled.
    """
    from threading import active_count

    if status >= 128 or (status and active_count() > 1):
        getattr(sys.modules.get("llise.storage.files"), "remove_unfinished", lambda: None)()
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
        os._exit(status)
    sys.exit(status)


if __name__ == "__main__":
    main()
