"""The program ``llise``, also as ``python -m llise``."""

import contextlib
import os
import sys
import threading


def main() -> None:
    """Run the command line; Ctrl-C while it is still being imported ends it like Ctrl-C later."""
    try:
        from llise.cli.main import main as run
    except KeyboardInterrupt:
        print("llise: error: interrupted", file=sys.stderr)
        sys.exit(130)
    try:
        run()
    except SystemExit as end:
        if end.code and threading.active_count() > 1:
            _leave(end.code)
        raise


def _leave(code: int | str) -> None:
    """End at once, all files being closed: Python would stop threads in the middle of C++ code, which aborts."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    main()
