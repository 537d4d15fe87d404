"""The command ``llise demo``."""

from __future__ import annotations

from pathlib import Path

import click

from llise.cli.diagnose import judge_files
from llise.cli.options import examples, jobs_option, quiet_option, seed_option
from llise.cli.places import OutputFolder
from llise.cli.running import note, say, session

FOLDER = "llise-report"
FILES = ("report.html", "images/*")
"""What the command writes in the folder."""


@click.command(epilog=examples("llise demo", "llise demo --out /tmp/demo"))
@click.option(
    "--out", type=OutputFolder(*FILES), default=FOLDER, show_default=True, help="Folder for the images and the report."
)
@jobs_option
@seed_option
@quiet_option
def demo(out: Path, jobs: int, seed: int, quiet: bool) -> int:
    """Diagnose distorted copies of a built-in image.

    Diagnoses twelve distorted copies of the image, prints a table and writes the copies and an HTML report.
    """
    with session(quiet, jobs):
        import json
        import warnings

        from llise import Diagnoser, datasets, distortions
        from llise.storage.files import check_writable

        out.mkdir(parents=True, exist_ok=True)
        check_writable(out / "report.html")
        note("making twelve distorted copies of the built-in image", quiet)
        # JPEG cannot reach the error of the other kinds: its copies are real JPEGs with the largest error it has.
        warnings.simplefilter("ignore", distortions.UnreachableWarning)
        copies = datasets.test_set(beyond_reach="stop", random_state=seed)
        manifest = json.loads(datasets.write(copies, out / "images").read_text())
        names = [out / "images" / entry["file"] for entry in manifest["images"]]
        diagnoser = Diagnoser(copies.reference)
        reference = out / "images" / manifest["reference"]
        status = judge_files(diagnoser, str(reference), names, "table", out / "report.html", quiet)
    say("")
    say(f"Report: {out / 'report.html'}")
    return status
