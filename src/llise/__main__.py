"""The program ``llise``, also as ``python -m llise``."""

import os
import sys


def main() -> None:
    """Run the command line; an interrupt (Ctrl-C) during the imports is reported like a later one."""
    try:
        from llise.cli import signals, streams

        streams.guard()
        signals.install()
        from llise.cli.main import main as run

        status = run()
        signals.ignore()
    except KeyboardInterrupt:
        status = _interrupted()
    _leave(status)


def _interrupted() -> int:
    """The status of an interrupt that came outside the command itself."""
    print("llise: error: interrupted", file=sys.stderr, flush=True)
    return getattr(sys.modules.get("llise.cli.signals"), "status", lambda: 130)()


def _leave(status: int) -> None:
    """End the process; at once if threads still run, because stopping them inside C++ code aborts the process."""
    from threading import active_count

    if status and active_count() > 1:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(status)
    sys.exit(status)


if __name__ == "__main__":
    main()
