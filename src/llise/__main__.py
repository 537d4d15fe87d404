"""The program ``llise``, also as ``python -m llise``."""

import contextlib
import os
import sys
import threading


def main() -> None:
    """Run the command line; an interrupt (Ctrl-C) during the imports is reported like a later one."""
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
    """End the process at once: a normal exit would stop threads inside C++ code, which aborts the process."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    main()
