"""The command ``llise benchmark``."""

from __future__ import annotations

from pathlib import Path

import click

from llise.cli.options import FILE, examples, jobs_option, quiet_option
from llise.cli.places import OutputFolder
from llise.cli.running import complain, one_line_warnings, say

FILES = ("results.json", "report.html", "parts/*")
"""What the command writes in its folder."""

NAMES = ("tid2013", "kadid10k", "csiq", "live")
"""The databases, named here too so that the help text needs no heavy import."""

MOST_ERRORS = 10


@click.command(
    epilog=examples(
        "llise benchmark tid2013 tid2013/",
        "llise benchmark kadid10k kadid10k/ --references 5 --out first-look",
        "llise benchmark csiq csiq/ --jobs 8",
    )
)
@click.argument("database", type=click.Choice(NAMES, case_sensitive=False))
@click.argument("folder", type=FILE)
@click.option("--out", type=OutputFolder(*FILES), help="Folder for all results.  [default: llise-DATABASE]")
@click.option(
    "--references", type=click.IntRange(1), metavar="N", help="Judge only the images of the first N references."
)
@jobs_option
@quiet_option
def benchmark(database: str, folder: Path, out: Path | None, references: int | None, jobs: int, quiet: bool) -> int:
    """Judge a public image quality database.

    FOLDER is the database as its authors distribute it: TID2013, KADID-10k, CSIQ or LIVE (release 2). Each image is
    judged against its reference. Prints exact verdicts by type and level, what is said of types that are no kind of
    ours, and rank correlations of severity, PSNR and SSIM with the scores of people; writes results.json and
    report.html. A run that was interrupted continues where it stopped.

    An image of 512 x 384 pixels takes some tenths of a second of processor time, one to two seconds where its kind is
    doubtful; TID2013 has 3000 images, KADID-10k 10125.
    """
    with one_line_warnings(quiet):
        from llise.databases import benchmark, page
        from llise.databases.registry import DATABASES
        from llise.output.markup import to_text

        target = out or Path(f"llise-{database}")
        results = benchmark.run(DATABASES[database], folder, target, references=references, n_jobs=jobs, quiet=quiet)
        for table in (page.verdict_table(results), page.answer_table(results), page.correlation_table(results)):
            for line in [*to_text(table).splitlines(), ""]:
                say(line)
    say(page.totals_sentence(results))
    say(f"Report: {target / 'report.html'}")
    errors = [record["error"] for record in results["images"] if "error" in record]
    for error in errors[:MOST_ERRORS]:
        complain(error)
    if len(errors) > MOST_ERRORS:
        complain(f"{len(errors) - MOST_ERRORS} more images could not be judged; all are in {target / 'results.json'}")
    return 1 if errors else 0
