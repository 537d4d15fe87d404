"""The command ``llise diagnose``, and judging files for the commands that do it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from llise.cli import streams
from llise.cli.options import (
    FILE,
    OUTPUT,
    background_option,
    examples,
    kinds_option,
    no_align_option,
    quiet_option,
)
from llise.cli.running import complain, note, progress, say, session

if TYPE_CHECKING:
    from llise.diagnosis import Diagnoser, Diagnosis
    from llise.output.rows import Rows
    from llise.picture_files.decoding import Background


@click.command(
    epilog=examples(
        "llise diagnose original.png copy.jpg",
        "llise diagnose original.png copies/ --html report.html",
        "llise diagnose original.png copies/ --json > results.json",
        "llise diagnose original.png copies/ --csv --quiet > results.csv",
        "llise diagnose original.png copies/ --kinds fog.kind",
    )
)
@click.argument("reference", type=FILE)
@click.argument("images", type=FILE, nargs=-1, required=True, metavar="IMAGE...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values.")
@click.option("--html", type=OUTPUT, help="Write an HTML report to this file.")
@click.option("--why", is_flag=True, help="Print what the network said and which kinds were tried, with their scores.")
@no_align_option
@click.option(
    "--false-alarms",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.01,
    show_default=True,
    metavar="SHARE",
    help="Share of the faults of known kinds that may be called unknown.",
)
@background_option
@kinds_option
@quiet_option
def diagnose(
    reference: Path, images: tuple[Path, ...], as_json: bool, as_csv: bool, html: Path | None,
    why: bool, no_align: bool, false_alarms: float, background: Background | None,
    kind_files: tuple[Path, ...], quiet: bool,
) -> int:  # fmt: skip
    """Say what is wrong with copies of an image, in luma and colour.

    Each IMAGE is a copy of REFERENCE and has the same size. A folder stands for all images in it. An image that
    cannot be read is reported and skipped; the exit status is then 1.
    """
    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other; choose one")
    with session(quiet, jobs=None):
        from llise.images import ImageError, as_uint8, check_reference, read_image

        files = _expand(images)
        problems = [problem for _, problem in files if problem]
        if len(problems) == len(files):  # there is nothing to judge: say so before learning anything
            raise ImageError(problems[0])
        for problem in problems:
            complain(problem)
        for skipped in _skipped(images):
            note(f"{skipped}: not an image format that is read; skipped", quiet)
        pixels = read_image(reference, color=True, background=background)
        check_reference(as_uint8(pixels), name=str(reference))
        from llise.diagnosis import Diagnoser

        diagnoser = Diagnoser(pixels)
        diagnoser.align, diagnoser.false_alarms = not no_align, false_alarms
        form = "json" if as_json else "csv" if as_csv else "table"
        return judge_files(diagnoser, str(reference), images, form, html, quiet, problems, background, why)


def judge_files(
    diagnoser: Diagnoser,
    reference: str,
    paths: Sequence[str | Path],
    form: str,
    html: Path | None,
    quiet: bool,
    reported: Sequence[str] = (),
    background: Background | None = None,
    why: bool = False,
    verdicts: list[list[str]] | None = None,
) -> int:
    """Diagnose images one after the other, print a row for each and write a report."""
    files = _expand(paths)
    rows = _rows(form, reference, [name for name, _ in files], color=diagnoser.pixels.ndim == 3)
    failures = 0
    with ExitStack() as stack:
        report = None
        if html:
            from llise.output.page import HtmlReport

            title = f"Diagnosis against {Path(reference).name}"
            report = stack.enter_context(HtmlReport(html, diagnoser, title, len(files)))
        # On a terminal the rows of a table show the progress themselves.
        silent = quiet or (form == "table" and sys.stdout.isatty())
        for name, problem in progress(files, len(files), "diagnosing", silent):
            if streams.failure() and not report:  # nobody reads the rows, and there is no file to write
                break
            try:
                diagnosis = _diagnosis(diagnoser, name, problem, background)
            except ValueError as error:
                failures += 1
                if str(error) not in reported:
                    complain(str(error))
                rows.add_failure(name, str(error))
                if report:
                    report.add_failure(str(error))
                continue
            rows.add(diagnosis)
            if why:
                say_why(diagnosis)
            if verdicts is not None:
                verdicts.append(list(diagnosis.verdict))
            if report:
                report.add(diagnosis)
        rows.close()
    return 1 if failures else 0


def say_why(diagnosis: Diagnosis) -> None:
    """Print on standard error what the network said of each region, and the scores of the kinds that were tried."""
    if diagnosis.model:
        say(f"{diagnosis.file}: model {diagnosis.model.name} {diagnosis.model.digest}", err=True)
    for line in (line for reason in diagnosis.why for line in str(reason).splitlines()):
        say(line, err=True)


def _expand(paths: Sequence[str | Path]) -> list[tuple[str, str | None]]:
    """Name of each image, and what is wrong with it before it is read: there is no such file, or a folder is empty."""
    from llise.images import ImageError, image_files

    files: list[tuple[str, str | None]] = []
    for path in paths:
        try:
            if not os.path.exists(path):
                raise ImageError(f"{path}: no such file; check the name")
            files += [(str(file), None) for file in image_files([path])]
        except ImageError as error:
            files.append((str(path), str(error)))
    return files


def _rows(form: str, reference: str, names: Sequence[str], color: bool) -> Rows:
    """Standard output as a table, CSV or JSON."""
    from llise.kinds.sources import names as own_names
    from llise.output.rows import Csv, Json, Table

    if form == "json":
        return Json(sys.stdout, reference)
    return Csv(sys.stdout, color, own_names()) if form == "csv" else Table(sys.stdout, names, color)


def _skipped(paths: Sequence[str | Path]) -> list[str]:
    """Files of the folders that are not read; hidden ones are not mentioned."""
    from llise.images import ImageError, image_files

    skipped: list[str] = []
    for folder in filter(os.path.isdir, paths):
        try:
            images = set(image_files([folder]))
        except ImageError:
            continue
        others = (path for path in Path(folder).iterdir() if path not in images and not path.name.startswith("."))
        skipped += sorted(str(path) for path in others if path.is_file())
    return skipped


def _diagnosis(diagnoser: Diagnoser, name: str, problem: str | None, background: Background | None) -> Diagnosis:
    """Read and judge one image; ValueError says what is wrong with the file."""
    from llise.images import ImageError, check_same_size, read_image

    if problem:
        raise ImageError(problem)
    image = read_image(name, color=True, background=background)
    check_same_size(diagnoser.reference, image, name)
    try:
        diagnosis = next(iter(diagnoser.diagnose([image])))
    except ValueError as error:
        raise ImageError(f"{name}: {error}") from None
    diagnosis.file = name
    return diagnosis
