"""The command ``llise serve``."""

from __future__ import annotations

from pathlib import Path

import click

from llise.cli.options import examples, kinds_option, no_align_option, quiet_option
from llise.cli.running import note, one_line_warnings, say


@click.command(epilog=examples("llise serve", "llise serve --port 8080 --max-size 100 --open"))
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default="any free one", help="Port of the page.")
@click.option(
    "--max-size", type=click.IntRange(1, 2000), default=50, show_default=True, help="Largest file, in megabytes."
)
@click.option(
    "--max-files", type=click.IntRange(1, 10_000), default=200, show_default=True, help="Most copies at a time."
)
@no_align_option
@click.option("--open", "open_page", is_flag=True, help="Open the page in the browser.")
@kinds_option
@quiet_option
def serve(
    port: int, max_size: int, max_files: int, no_align: bool, open_page: bool, kind_files: tuple[Path, ...], quiet: bool
) -> int:
    """Show a page on this computer to drop pictures on.

    A reference and its copies are dropped on the page; verdicts appear one by one, then the report, which can be
    saved as HTML or JSON. Nothing leaves this computer: only its own browsers reach the page, by an address with a
    random token. Pictures are in a temporary folder that is removed when the command ends. Ctrl-C ends it.
    """
    try:
        from llise.serve.server import serve as run
        from llise.serve.uploads import Limits
    except ImportError as error:
        if (error.name or "").split(".")[0] not in ("starlette", "uvicorn", "python_multipart"):
            raise
        raise ImportError(
            "llise serve needs Starlette, uvicorn and python-multipart; install them with pip install 'llise[serve]'"
        ) from None

    def started(address: str) -> None:
        say(address)
        note("open this address in a browser of this computer; Ctrl-C ends the page and removes what was sent", quiet)
        if open_page:
            click.launch(address)

    limits = Limits(max_bytes=max_size * 1_000_000, max_files=max_files, align=not no_align)
    with one_line_warnings(quiet):
        try:
            run(port, limits, started)
        except KeyboardInterrupt:  # the usual end
            note("ended; what was sent is removed", quiet)
    return 0
