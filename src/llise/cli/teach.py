"""The command ``llise teach``."""

from __future__ import annotations

from pathlib import Path

import click

from llise.cli.options import FILE, OUTPUT, examples, quiet_option
from llise.cli.running import one_line_warnings, say


@click.command(
    epilog=examples(
        "llise teach fog examples/ -o fog.kind",
        "llise teach fog my_kinds.py -o fog.kind",
        "llise diagnose original.png copies/ --kinds fog.kind",
    )
)
@click.argument("name")
@click.argument("source", type=FILE)
@click.option("-o", "--out", type=OUTPUT, required=True, help="The .kind file to write.")
@click.option("--title", help="How sentences call the kind.  [default: NAME with spaces for underscores]")
@quiet_option
def teach(name: str, source: Path, out: Path, title: str | None, quiet: bool) -> None:
    """Learn a kind of your own, so that other commands can name it.

    NAME has small letters, digits and underscores. SOURCE is a folder of examples, or a Python file that registers a
    function under this name; it is run. Examples are pairs of a reference and a copy that shows the kind: in the
    sub-folders reference and copy under the same names, or as NAME.ref.png and NAME.copy.png. One example is enough to
    begin with; 5 are better and 20 good. The file holds numbers only; reading it runs nothing.

    An example of 512 x 512 pixels takes a quarter of a second, a function about five seconds.
    """
    if out.suffix != ".kind":
        raise click.UsageError(f"{out}: the file of a kind ends with .kind; name it {out.with_suffix('.kind').name}")
    with one_line_warnings(quiet):
        from llise.diagnosis import kind_files

        samples = kind_files.teach(name, source, title)
        kind_files.save_kind(samples, out)
    count = int(samples.groups.max()) + 1
    say(f"{out}: {name}, learned from {count} cop{'y' if count == 1 else 'ies'}; use it with --kinds {out}")
