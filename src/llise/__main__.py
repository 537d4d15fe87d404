"""The program ``llise``, also as ``python -m llise``."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is still being imported ends it like Ctrl-C later."""
    try:
        from .cli import main as run
    except KeyboardInterrupt:
        print("llise: error: interrupted", file=sys.stderr)
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
