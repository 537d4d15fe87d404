"""The command ``llise reproduce``."""

from __future__ import annotations

from pathlib import Path

import click

from llise.cli.options import FILE, examples, jobs_option, quiet_option, scheduler_option, seed_option
from llise.cli.places import OutputFolder
from llise.cli.running import say, session

FOLDER = "llise-reproduction"
FILES = ("results.json", "timings.json", "report.md", "report.html", "figures/*", "parts/*")
"""What the command writes in its folder."""


@click.command(
    epilog=examples(
        "llise reproduce",
        "llise reproduce --quick --methods llise,lle --out results",
        "llise reproduce --image original.png",
    )
)
@click.option("--image", type=FILE, help="Reference image; the built-in one if left out.")
@click.option("--out", type=OutputFolder(*FILES), default=FOLDER, show_default=True, help="Folder for all results.")
@click.option(
    "--methods",
    multiple=True,
    metavar="NAMES",
    help="Run only these methods, separated by commas: llise, llise-poly, llise-rbf, llise-sigmoid, lle, lle-poly, "
    "lle-rbf, lle-sigmoid.",
)
@click.option("--quick", is_flag=True, help="Use only the middle of the image; takes seconds.")
@jobs_option
@scheduler_option
@seed_option
@quiet_option
def reproduce(
    image: Path | None, out: Path, methods: tuple[str, ...], quick: bool,
    jobs: int, scheduler: str | None, seed: int, quiet: bool,
) -> None:  # fmt: skip
    """Run the experiments of the paper.

    Runs the paper's eight methods and writes results.json, figures and a report (Markdown and HTML)
    with the paper's table beside ours. A run that was interrupted continues where it stopped.
    """
    with session(quiet, jobs, scheduler):
        from llise.images import read_image

        pixels = read_image(image) if image else None
        from llise.reproduction import experiments, report

        reproduction = experiments.reproduce(
            pixels,
            out,
            name=image.name if image else None,
            methods=[name for names in methods for name in names.split(",")] or None,
            quick=quick,
            seed=seed,
            quiet=quiet,
        )
    timings = reproduction.timings
    for line in [*report.as_text(reproduction.results).splitlines(), ""]:
        say(line)
    say(f"Took {timings['wall_seconds']:.0f} s and {timings['peak_memory_mb'] / 1000:.2f} GB of memory.")
    say(f"Report: {out / 'report.html'}")
