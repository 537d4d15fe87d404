"""The command ``llise info``."""

from __future__ import annotations

from pathlib import Path

import click

from llise.cli.options import FILE, examples
from llise.cli.running import say


@click.command(epilog=examples("llise info original.llise", "llise info original.llise --json"))
@click.argument("model", type=FILE)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def info(model: Path, as_json: bool) -> None:
    """Check a model file and say what it holds."""
    from dataclasses import asdict

    from llise.storage.models import read_header

    header = read_header(model)
    if as_json:
        from llise.output.text import json_text

        for line in json_text({"schema": 1, "file": str(model), **asdict(header)}, indent=1).splitlines():
            say(line)
        return
    say(f"{model}: {header.class_name}, format {header.format_version}, {model.stat().st_size / 1e6:.1f} MB")
    say(f"made by    {', '.join(f'{name} {number}' for name, number in header.versions.items())}")
    say(f"reference  {header.reference_sha256 or 'none'}")
    for name, value in sorted(header.settings.items()):
        text = str(value)
        say(f"setting    {name} = {text if len(text) <= 70 else text[:67] + '...'}")
    for name, (dtype, shape) in sorted(header.arrays.items()):
        say(f"array      {name}: {dtype} {' x '.join(map(str, shape))}")
