"""The command ``llise demo``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from llise.cli.diagnose import judge_files
from llise.cli.options import examples, jobs_option, quiet_option, seed_option
from llise.cli.places import OutputFolder
from llise.cli.running import note, say, session

FOLDER = "llise-report"
FILES = ("report.html", "images/*")
"""What the command writes in the folder."""

Votes = Sequence[tuple[str, float]]

WHY_THEY_DIFFER = (
    "Why they differ: in the paper each block votes for the one kind of its nearest training image, so the votes of",
    "a mixture scatter over its kinds and those that look alike, and nothing says how many kinds there are. The",
    "diagnosis refits each candidate, also two at once, and says where and how strong; it was trained on many other",
    "pictures, while the paper's method needs this one picture alone.",
)


@click.command(epilog=examples("llise demo", "llise demo --out /tmp/demo"))
@click.option(
    "--out", type=OutputFolder(*FILES), default=FOLDER, show_default=True, help="Folder for the images and the report."
)
@jobs_option
@seed_option
@quiet_option
def demo(out: Path, jobs: int, seed: int, quiet: bool) -> int:
    """Diagnose distorted copies of a built-in image, and let the paper's method vote on them.

    Makes the paper's twelve distorted copies of the image, diagnoses them, prints a table and writes the copies and
    an HTML report; then shows the votes of the paper's blocks beside the verdicts. Takes about a minute.
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
        verdicts: list[list[str]] = []
        status = judge_files(diagnoser, str(reference), names, "table", out / "report.html", quiet, verdicts=verdicts)
        if len(verdicts) == len(names):
            from llise.reproduction.votes import paper_votes

            note("letting the blocks vote as in the paper", quiet)
            votes = paper_votes(copies.reference, copies.images, seed=seed)
            _compare(copies.kinds, votes, verdicts)
    say("")
    say(f"Report: {out / 'report.html'}")
    return status


def _compare(applied: Sequence[Sequence[str]], votes: Sequence[Votes], verdicts: Sequence[Sequence[str]]) -> None:
    """Print the paper's votes beside the verdicts, how many are right, and why they differ."""
    rows = [("APPLIED", "THE PAPER'S METHOD: TOP VOTES OF THE BLOCKS", "VERDICT OF THE DIAGNOSIS")]
    for kinds, top, verdict in zip(applied, votes, verdicts):
        shares = ", ".join(f"{label} {100 * share:.0f} %" for label, share in top)
        rows.append(("+".join(kinds), shares, "+".join(verdict)))
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    say("")
    for first, second, third in rows:
        say(f"{first:{widths[0]}}  {second:{widths[1]}}  {third}")
    pairs = [(set(kinds), [label for label, _ in top]) for kinds, top in zip(applied, votes) if len(kinds) == 2]
    first_right = sum(top[0][0] in kinds for kinds, top in zip(applied, votes))
    both = sum(kinds == set(labels) for kinds, labels in pairs)
    exact = sum(set(kinds) == set(verdict) for kinds, verdict in zip(applied, verdicts))
    say("")
    say(
        f"The first vote is a kind that was applied in {first_right} of {len(applied)}, the top two are both kinds of "
        f"a mixture in {both} of {len(pairs)}; the verdict names exactly what was applied in {exact} of {len(applied)}."
    )
    for line in WHY_THEY_DIFFER:
        say(line)
