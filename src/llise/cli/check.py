"""The command ``llise check``: a gate for CI."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from llise.cli import streams
from llise.cli.options import BACKGROUND, FILE, NO_ALIGN, OUTPUT, examples, jobs_option, kinds_option, quiet_option
from llise.cli.places import OutputFolder
from llise.cli.running import one_line_warnings, progress

if TYPE_CHECKING:
    from llise.gate.outcome import Outcome
    from llise.gate.pairs import Pair
    from llise.gate.rules import Rules
    from llise.gate.settings import Settings
    from llise.output.gate_reports import GateReport

RULES = ("max_mse", "min_psnr", "min_ssim", "max_color_difference", "max_area", "allow", "ignore", "mask", "align",
         "background")  # fmt: skip
"""Options that are rules, in which those of settings files are replaced."""


class CheckError(click.ClickException):
    """The check cannot be made: not a failure of a copy, hence another exit status."""

    exit_code = 2


class Gate(click.Command):
    """A command whose errors have the exit status 2, so that none looks like a copy that failed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments."""
        with _status_2():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _status_2():
            return super().invoke(ctx)


@contextmanager
def _status_2() -> Iterator[None]:
    try:
        yield
    except (click.ClickException, click.exceptions.Exit):
        raise
    except (ValueError, OSError, ImportError) as error:
        raise CheckError(str(error) or type(error).__name__) from error
    except MemoryError as error:
        raise CheckError("out of memory; use smaller images or fewer jobs") from error
    except Exception as error:
        message = f"{type(error).__name__}: {error}; set LLISE_TRACEBACK=1 and report what it shows"
        raise CheckError(message) from error


def _rule(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """A rule as the user wrote it, refused if it makes no sense."""
    from llise.gate.rules import RuleError, read_rule

    if value is None or value == ():
        return None
    try:
        read_rule((parameter.name or "").replace("_", "-"), value)
    except RuleError as error:
        raise click.UsageError(f"--{error}", context) from None
    return value


@click.command(
    cls=Gate,
    epilog=examples(
        "llise check original.png copy.png",
        "llise check original.png copy.jpg --allow jpeg:60 --allow luminance:2",
        "llise check --pairs originals/ copies/ --min-psnr 35 --junit results.xml",
        "llise check --pairs originals/ copies/ --markdown comment.md --diff differences/",
        "llise check --pairs originals/ copies/ --max-mse 20 --measures-only",
    ),
)
@click.argument("reference", type=FILE)
@click.argument("copy", type=FILE)
@click.option("--pairs", is_flag=True, help="Compare two folders: files with the same path in them are pairs.")
@click.option("--max-mse", type=float, callback=_rule, help="Largest mean squared error.")
@click.option("--min-psnr", type=float, callback=_rule, help="Smallest PSNR in dB.")
@click.option("--min-ssim", type=float, callback=_rule, help="Smallest mean SSIM, from 0 to 1.")
@click.option("--max-color-difference", type=float, callback=_rule, help="Largest mean colour difference (CIEDE2000).")
@click.option("--max-area", type=float, callback=_rule, help="Largest share of the area that differs, in per cent.")
@click.option("--allow", multiple=True, callback=_rule, metavar="KIND[:LIMIT]", help="Allow faults of this kind.")
@click.option("--ignore", multiple=True, callback=_rule, metavar="X,Y,W,H", help="Ignore this rectangle of pixels.")
@click.option("--mask", type=FILE, callback=_rule, help="Ignore the white pixels of this picture.")
@click.option("--no-align", "align", flag_value=False, type=bool, default=None, callback=_rule, help=NO_ALIGN)
@click.option("--background", metavar="COLOR", callback=_rule, help=BACKGROUND)
@click.option("--measures-only", is_flag=True, help="Compare measures with their limits, and name no faults.")
@click.option("--missing-ok", is_flag=True, help="With --pairs: a reference without copy passes.")
@click.option("--extra-ok", is_flag=True, help="With --pairs: a copy without reference passes.")
@click.option("--config", type=FILE, help="Take rules from this file.  [default: .llise.toml or pyproject.toml]")
@click.option("--no-config", is_flag=True, help="Take no rules from a file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of lines.")
@click.option("--junit", type=OUTPUT, help="Write the results as JUnit XML to this file.")
@click.option("--markdown", type=OUTPUT, help="Write a comment for a pull request to this file.")
@click.option("--picture-url", metavar="URL", help="Where the pictures of --markdown will be found.")
@click.option("--html", type=OUTPUT, help="Write a page with all results to this file.")
@click.option("--diff", type=OutputFolder("**/*.diff.png"), help="Write pictures of the differences to this folder.")
@kinds_option
@jobs_option
@quiet_option
def check(reference: Path, copy: Path, **options: Any) -> int:
    """Tell whether COPY is as good as REFERENCE, or as good as rules demand.

    Without rules, a copy passes if nothing differs beyond rounding. With limits, such as --min-psnr, it passes if it
    keeps them. With --allow, its faults must be of the allowed kinds, and no stronger than LIMIT: jpeg:60 allows
    quality 60 or better, luminance:2 two grey levels lighter or darker. Limits are in the units of a diagnosis.

    Exit status: 0 passed, 1 failed, 3 a fault of no known kind (--allow unknown lets it pass), 2 wrong usage or a
    file that cannot be read. Of many pairs the gravest counts, in the order 2, 3, 1, 0.

    An identical pair of 512 x 512 pixels takes a third of a second, nearly all of it to start the program; so do the
    measures of a different one. Naming its faults takes about a second more, less for each further pair.
    """
    _check_usage(options)
    if options["pairs"]:
        _refuse_pictures_among_images(reference, copy, options)
    with one_line_warnings(options["quiet"]):
        pairs = _pairs(reference, copy, options["pairs"])
        settings = _settings(options)
        if not options["pairs"] and not (reference.exists() and copy.exists()):
            missing = copy if reference.exists() else reference
            raise CheckError(f"{missing}: no such file; check the name")
        rules = {name.replace("_", "-"): options[name] for name in RULES}
        names = [_name_in_settings(pair, settings, options["pairs"]) for pair in pairs]
        tasks = [(pair, settings.rules_for(name, rules)) for pair, name in zip(pairs, names)]
        if options["measures_only"] and any(rule.allow is not None for _, rule in tasks):
            raise CheckError("--measures-only names no faults, so that none can be allowed; leave out one of them")
        return _run(tasks, options)


def _check_usage(options: Mapping[str, Any]) -> None:
    """Refuse options that exclude each other."""
    if options["config"] and options["no_config"]:
        raise click.UsageError("--config and --no-config exclude each other; choose one")
    if options["measures_only"] and options["allow"]:
        raise click.UsageError("--measures-only names no faults, so that --allow has no meaning; leave out one of them")
    if not options["pairs"] and (options["missing_ok"] or options["extra_ok"]):
        raise click.UsageError("--missing-ok and --extra-ok are for --pairs; add it or leave them out")
    if options["picture_url"] and not options["markdown"]:
        raise click.UsageError("--picture-url is for --markdown; add it or leave it out")


def _refuse_pictures_among_images(reference: Path, copy: Path, options: Mapping[str, Any]) -> None:
    """Pictures that the command writes must not lie where the next run would take them for images to compare."""
    places = {"--diff": options["diff"], "--markdown": options["markdown"] and options["markdown"].parent}
    for option, place in places.items():
        for folder in (reference, copy):
            if place and Path(os.path.realpath(place)).is_relative_to(os.path.realpath(folder)):
                raise click.UsageError(
                    f"{option} would write pictures into {folder}, which is compared; name another folder"
                )


def _pairs(reference: Path, copy: Path, folders: bool) -> list[Pair]:
    from llise.gate.pairs import Pair, match_folders

    if folders:
        return match_folders(reference, copy)
    for path in (reference, copy):
        if path.is_dir():
            raise CheckError(f"{path}: is a folder; add --pairs to compare two folders")
    return [Pair(copy.as_posix(), reference, copy)]


def _settings(options: Mapping[str, Any]) -> Settings:
    from llise.gate.settings import Settings, find_settings, read_settings

    if options["no_config"]:
        return Settings()
    return read_settings(options["config"]) if options["config"] else find_settings(Path.cwd())


def _name_in_settings(pair: Pair, settings: Settings, folders: bool) -> str:
    """What patterns are compared with: the path in the folders, or the copy's path from the settings file on."""
    if folders or settings.file is None or pair.copy is None:
        return pair.name
    path, folder = Path(os.path.abspath(pair.copy)), Path(os.path.abspath(settings.file)).parent
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else pair.name


def _run(tasks: list[tuple[Pair, Rules]], options: Mapping[str, Any]) -> int:
    """Judge all pairs and write all forms of output."""
    from llise.gate.outcome import gravest
    from llise.output.gate_reports import GateJson, GateLines

    lines = GateLines(sys.stdout)
    printed: GateJson | GateLines = GateJson() if options["as_json"] else lines
    reports = _reports(options)
    silent = options["quiet"] or (printed is lines and sys.stdout.isatty())
    for outcome in progress(_outcomes(tasks, options), len(tasks), "checking", silent):
        printed.add(outcome)
        for report, _ in reports:
            report.add(outcome)
        if options["diff"] and "difference" in outcome.pictures:
            _write_difference(options["diff"], outcome)
        if streams.failure() and not reports and not options["diff"]:  # nobody reads the lines
            break
    for report, path in reports:
        report.write(path)
    if isinstance(printed, GateJson):
        printed.print_to(sys.stdout)
    else:
        printed.close()
    return gravest(printed.counts).exit_status


def _reports(options: Mapping[str, Any]) -> list[tuple[GateReport, Path]]:
    reports: list[tuple[GateReport, Path]] = []
    if path := options["junit"]:
        from llise.output.junit import JUnit

        reports.append((JUnit(), path))
    if path := options["markdown"]:
        from llise.output.markdown import Markdown

        reports.append((Markdown(path, options["picture_url"]), path))
    if path := options["html"]:
        from llise.output.gate_page import GatePage

        reports.append((GatePage(), path))
    return reports


def _outcomes(tasks: list[tuple[Pair, Rules]], options: Mapping[str, Any]) -> Iterator[Outcome]:
    """Outcomes in the order of the pairs; a file without partner has one at once."""
    from llise.gate.judging import unmatched
    from llise.gate.running import check_pairs

    wanted = {"difference"} if options["diff"] else set()
    if options["markdown"] or options["html"]:
        wanted.add("strip")
    illustrate = None
    if wanted:
        from llise.output.difference import illustrate as draw

        illustrate = partial(draw, wanted=frozenset(wanted))
    complete = [task for task in tasks if task[0].reference and task[0].copy]
    jobs = _number_of_jobs(options["jobs"])
    judged = check_pairs(complete, options["measures_only"], illustrate, jobs, options["kind_files"])
    for pair, _ in tasks:
        if pair.reference and pair.copy:
            yield next(judged)
        else:
            yield unmatched(pair, options["missing_ok"], options["extra_ok"])


def _number_of_jobs(jobs: int) -> int:
    """Number of processes: as given, or counted from all cores (-1 for all, -2 for all but one)."""
    if jobs > 0:
        return jobs
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores + 1 + jobs)


def _write_difference(folder: Path, outcome: Outcome) -> None:
    from llise.storage.files import atomic_write

    path = folder / difference_name(outcome.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(outcome.pictures["difference"])


def difference_name(name: str) -> Path:
    """Return the path of a difference picture inside its folder."""
    path = Path(name)
    if path.is_absolute() or ".." in path.parts:
        path = Path(path.name)
    stem = os.fsencode(path.name)
    # A file name has 255 bytes at most.
    return path.with_name(os.fsdecode(stem if len(stem) <= 240 else stem[:200] + b"-" + _digest(stem)) + ".diff.png")


def _digest(name: bytes) -> bytes:
    from hashlib import sha256

    return sha256(name).hexdigest()[:16].encode()
