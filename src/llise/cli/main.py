"""The command line. Results go to standard output, everything else to standard error.

Exit status: 0 done, 1 a file or run failed, 2 wrong usage, 130 interrupted. Libraries are imported by the
commands that need them, so that ``llise --help`` answers at once.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from llise import __version__
from llise.labels import KINDS
from llise.storage.files import printable

if TYPE_CHECKING:
    import numpy as np

    from llise.diagnosis.diagnoser import Diagnoser, Diagnosis
    from llise.output.rows import Rows

REPORT_FOLDER = "llise-report"
REPRODUCTION_FOLDER = "llise-reproduction"
SAMPLES = 1500


class Interrupted(Exception):
    """Ctrl-C, as an exception that click passes on."""


class Commands(click.Group):
    """Commands in the order of a first acquaintance, not of the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted from None


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and turn whatever happens into an exit status and at most one line."""
    # Being told to end unwinds like an error, so that temporary files are removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        status = commands.main(arguments, prog_name="llise", standalone_mode=False)
        sys.stdout.flush()
    except (Interrupted, KeyboardInterrupt, click.Abort):
        status = _complain("interrupted; nothing was left half-written", 130)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        status = 2
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "llise"
        status = _complain(f"{error.format_message()} (see {command} --help)", 2)
    except click.ClickException as error:
        status = _complain(error.format_message(), 1)
    except BrokenPipeError:
        # Whoever read our output, such as head, has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    except (ValueError, OSError, ImportError) as error:
        _traceback_if_wanted()
        status = _complain(str(error) or type(error).__name__, 1)
    except MemoryError:
        status = _complain("out of memory; use a smaller image or fewer jobs", 1)
    except Exception as error:
        _traceback_if_wanted()
        status = _complain(f"{type(error).__name__}: {error}; set LLISE_TRACEBACK=1 and report what it shows", 1)
    sys.exit(status if isinstance(status, int) else 0)


def _complain(message: str, status: int) -> int:
    click.echo(f"llise: error: {printable(' '.join(message.split()))}", err=True)
    return status


def _traceback_if_wanted() -> None:
    if os.environ.get("LLISE_TRACEBACK"):
        import traceback

        traceback.print_exc()


def _note(message: str, quiet: bool) -> None:
    if not quiet:
        click.echo(f"llise: {message}", err=True)


# ------------------------------------------------------------------------------------------ options


def examples(*lines: str) -> str:
    """The end of a help text: commands to copy."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def _finite(context: click.Context, parameter: click.Parameter, value: float) -> float:
    if value != value:
        raise click.BadParameter("not a number")
    return value


def _not_zero(context: click.Context, parameter: click.Parameter, value: int) -> int:
    if value == 0:
        raise click.BadParameter("0 cores can do nothing; use 1 or more, or -1 for all")
    return value


FILE = click.Path(path_type=Path)
quiet_option = click.option("-q", "--quiet", is_flag=True, help="No progress, notes or warnings; errors only.")
seed_option = click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Of all random draws."
)
jobs_option = click.option(
    "-j",
    "--jobs",
    type=int,
    default=-1,
    show_default=True,
    help="Processor cores to use; -1 for all.",
    callback=_not_zero,
)
samples_option = click.option(
    "--samples",
    type=click.IntRange(42),
    default=SAMPLES,
    show_default=True,
    help="Random copies to learn from: more is surer and slower.",
)
scheduler_option = click.option("--scheduler", metavar="ADDRESS", help="Compute on the Dask cluster at this address.")


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=examples("llise demo", "llise diagnose original.png copies/ --html report.html"),
)
@click.version_option(__version__, prog_name="llise", message="%(prog)s %(version)s")
def commands() -> None:
    """See what went wrong with an image, and where.

    LLISE compares degraded copies with their reference block by block and names the distortion, its severity
    and its place: contrast, Gaussian noise, luminance, blur, impulse noise, JPEG, and mixtures of two.
    """


# ----------------------------------------------------------------------------------------- commands


@commands.command(epilog=examples("llise demo", "llise demo --out /tmp/demo"))
@click.option("--out", type=FILE, default=REPORT_FOLDER, show_default=True, help="Folder for images and report.")
@jobs_option
@seed_option
@quiet_option
def demo(out: Path, jobs: int, seed: int, quiet: bool) -> int:
    """Show the whole way on built-in data, in a minute at the most.

    Learns the manifold of the built-in image, diagnoses twelve distorted copies of it, prints the table and
    writes the images and an HTML report.
    """
    with _one_line_warnings(quiet), _workers(jobs):
        import json
        import warnings

        from llise import datasets, distortions
        from llise.storage.files import check_writable

        out.mkdir(parents=True, exist_ok=True)
        check_writable(out / "report.html")
        _note("making the twelve distorted copies of the built-in image", quiet)
        # JPEG ends before the error of the others: real files, as anybody would meet them.
        warnings.simplefilter("ignore", distortions.UnreachableWarning)
        copies = datasets.test_set(beyond_reach="stop", random_state=seed)
        manifest = json.loads(datasets.write(copies, out / "images").read_text())
        names = [out / "images" / entry["file"] for entry in manifest["images"]]
        diagnoser = _fitted(copies.reference, _settings(SAMPLES, seed), quiet)
        reference = out / "images" / manifest["reference"]
        outcome = _judge(diagnoser, str(reference), names, "table", out / "report.html", quiet)
    click.echo(f"\nReport: {out / 'report.html'}")
    return outcome


@commands.command(
    epilog=examples(
        "llise diagnose original.png copy.jpg",
        "llise diagnose original.png copies/ --html report.html",
        "llise diagnose original.png copies/ --json > results.json",
        "llise diagnose original.png copies/ --csv --quiet > results.csv",
    )
)
@click.argument("reference", type=FILE)
@click.argument("images", type=FILE, nargs=-1, required=True, metavar="IMAGE...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values.")
@click.option("--html", type=FILE, help="Write a report to look at into this file.")
@click.option("--model", type=FILE, help="Use this model, made by llise fit from the same reference.")
@click.option("--no-cache", is_flag=True, help="Neither read nor write the cache of fitted models.")
@samples_option
@jobs_option
@scheduler_option
@seed_option
@quiet_option
def diagnose(
    reference: Path, images: tuple[Path, ...], as_json: bool, as_csv: bool, html: Path | None,
    model: Path | None, no_cache: bool, samples: int, jobs: int, scheduler: str | None, seed: int, quiet: bool,
) -> int:  # fmt: skip
    """Say what is wrong with each IMAGE, a copy of REFERENCE of the same size.

    A folder stands for all images in it. The first run on a reference learns its manifold and keeps it in a
    cache, so that later runs answer at once. An image that cannot be read is reported and skipped; the exit
    status is then 1.
    """
    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other; choose one")
    with _one_line_warnings(quiet), _workers(jobs, scheduler):
        from llise.images import ImageError, check_reference, read_image

        if html:
            _check_output(html, reference, *images)
        problems = [problem for _, problem in _expand(images)]
        if all(problems):  # nothing to judge: say so before learning anything
            raise ImageError(problems[0])
        pixels = read_image(reference)
        check_reference(pixels, name=str(reference))
        diagnoser = (
            _loaded(model, pixels, reference)
            if model
            else _fitted(pixels, _settings(samples, seed), quiet, cached=not no_cache)
        )
        form = "json" if as_json else "csv" if as_csv else "table"
        return _judge(diagnoser, str(reference), images, form, html, quiet)


@commands.command(epilog=examples("llise fit original.png -o original.llise"))
@click.argument("reference", type=FILE)
@click.option("-o", "--out", type=FILE, required=True, help="The model file to write.")
@samples_option
@jobs_option
@scheduler_option
@seed_option
@quiet_option
def fit(reference: Path, out: Path, samples: int, jobs: int, scheduler: str | None, seed: int, quiet: bool) -> None:
    """Learn the manifold of REFERENCE and keep it as one file, for diagnose --model."""
    with _one_line_warnings(quiet), _workers(jobs, scheduler):
        from llise.images import check_reference, read_image
        from llise.storage import models

        _check_output(out, reference)
        pixels = read_image(reference)
        check_reference(pixels, name=str(reference))
        models.save(_fitted(pixels, _settings(samples, seed), quiet, cached=False), out)
    click.echo(f"{out}: model of {reference}, {out.stat().st_size / 1e6:.1f} MB")


@commands.command(
    epilog=examples(
        "llise distort original.png --kind jpeg --mse 300 -o copy.png",
        "llise distort original.png --kind blur --kind gaussian_noise --mse 500 -o copy.png",
    )
)
@click.argument("image", type=FILE)
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(KINDS),
    multiple=True,
    required=True,
    help="Distortion; again for a mixture.",
)
@click.option(
    "--mse",
    type=click.FloatRange(0, 255**2, min_open=True),
    callback=_finite,
    required=True,
    help="Mean squared error, 0..255 scale.",
)
@click.option("-o", "--out", type=FILE, required=True, help="The image to write: .png, .tif, .bmp or .pgm.")
@seed_option
@quiet_option
def distort(image: Path, kinds: tuple[str, ...], mse: float, out: Path, seed: int, quiet: bool) -> None:
    """Make a distorted copy of IMAGE with a wanted error.

    The error of several kinds is shared between them, in the order given.
    """
    with _one_line_warnings(quiet):
        from llise import datasets
        from llise.images import ImageError, read_image
        from llise.storage.files import atomic_write

        formats = {".png": "PNG", ".tif": "TIFF", ".tiff": "TIFF", ".bmp": "BMP", ".pgm": "PPM"}
        if out.suffix.lower() not in formats:
            raise click.UsageError(f"{out}: would not keep the pixels; name it {', '.join(formats)}")
        _check_output(out, image)
        made = datasets.mixture(read_image(image), kinds, mse, seed, warn=False)[-1]
        if abs(made.measured - mse) > 0.1 * mse:
            raise ImageError(
                f"{image}: the nearest that {' and '.join(kinds)} comes to an MSE of {mse:g} is {made.measured:.1f}; "
                "ask for that"
            )
        from PIL import Image

        with atomic_write(out) as file:
            Image.fromarray(made.image).save(file, formats[out.suffix.lower()])
    nearest = "" if made.reached else f", the nearest to {mse:g}"
    click.echo(f"{out}: {' + '.join(kinds)}, MSE {made.measured:.1f}{nearest}")


@commands.command(epilog=examples("llise info original.llise", "llise info original.llise --json"))
@click.argument("model", type=FILE)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def info(model: Path, as_json: bool) -> None:
    """Say what a model file holds, after checking that it is whole."""
    from dataclasses import asdict

    from llise.storage.models import read_header

    header = read_header(model)
    if as_json:
        import json

        click.echo(json.dumps({"schema": 1, "file": str(model), **asdict(header)}, indent=1))
        return
    click.echo(f"{model}: {header.class_name}, format {header.format_version}, {model.stat().st_size / 1e6:.1f} MB")
    click.echo(f"made by    {', '.join(f'{name} {number}' for name, number in header.versions.items())}")
    click.echo(f"reference  {header.reference_sha256 or 'none'}")
    for name, value in sorted(header.settings.items()):
        text = str(value)
        click.echo(f"setting    {name} = {text if len(text) <= 70 else text[:67] + '...'}")
    for name, (dtype, shape) in sorted(header.arrays.items()):
        click.echo(f"array      {name}: {dtype} {' x '.join(map(str, shape))}")


@commands.command(
    epilog=examples(
        "llise reproduce",
        "llise reproduce --quick --methods llise,lle --out results",
        "llise reproduce --image original.png",
    )
)
@click.option("--image", type=FILE, help="Reference image; the built-in one if left out.")
@click.option("--out", type=FILE, default=REPRODUCTION_FOLDER, show_default=True, help="Folder for all results.")
@click.option(
    "--methods",
    multiple=True,
    metavar="NAMES",
    help="Only these, by comma: llise, llise-poly, llise-rbf, llise-sigmoid, and lle in the same way.",
)
@click.option("--quick", is_flag=True, help="The middle of the image only; takes seconds.")
@click.option("--docs", type=FILE, hidden=True, help="Copy the Markdown page and its figures into this folder.")
@jobs_option
@scheduler_option
@seed_option
@quiet_option
def reproduce(
    image: Path | None, out: Path, methods: tuple[str, ...], quick: bool, docs: Path | None,
    jobs: int, scheduler: str | None, seed: int, quiet: bool,
) -> None:  # fmt: skip
    """Do the paper's experiments again: its eight methods, each result beside the paper's.

    Writes results.json, figures and a page (Markdown and HTML) on what agrees and what does not. A run that was
    interrupted goes on where it stopped.
    """
    with _one_line_warnings(quiet), _workers(jobs, scheduler):
        from llise.images import read_image

        pixels = read_image(image) if image else None
        from llise.reproduction import experiments, pages

        done = experiments.reproduce(
            pixels,
            out,
            name=image.name if image else None,
            methods=[name for names in methods for name in names.split(",")] or None,
            quick=quick,
            seed=seed,
            quiet=quiet,
        )
        if docs:
            pages.copy(done.folder, docs)
    click.echo(pages.as_text(done.results))
    click.echo(
        f"\nTook {done.timings['wall_seconds']:.0f} s and {done.timings['peak_memory_mb'] / 1000:.2f} GB at most."
    )
    click.echo(f"Report: {out / 'report.html'}")


@commands.command(
    epilog=examples('eval "$(llise completion bash)"', "llise completion fish > ~/.config/fish/completions/llise.fish")
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that completes llise commands in your shell."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(commands, {}, "llise", "_LLISE_COMPLETE").source())


# ------------------------------------------------------------------------------------- what they do


def _judge(
    diagnoser: Diagnoser,
    reference: str,
    paths: Sequence[str | Path],
    form: str,
    html: Path | None,
    quiet: bool,
) -> int:
    """Diagnose images one after the other into rows and a report; 1 where any failed."""
    from llise.output.page import HtmlReport

    files = _expand(paths)
    rows = _rows(form, reference, [name for name, _ in files])
    failed = 0
    with ExitStack() as stack:
        report = HtmlReport(html, diagnoser, f"Diagnosis against {Path(reference).name}") if html else None
        if report:
            stack.enter_context(report)
        # On a terminal the rows of a table show the progress themselves.
        silent = quiet or (form == "table" and sys.stdout.isatty())
        for name, problem in _progress(files, len(files), "diagnosing", silent):
            try:
                found = _diagnosis(diagnoser, name, problem)
            except ValueError as error:
                failed += 1
                _complain(str(error), 1)
                rows.add_failure(name, str(error))
                if report:
                    report.add_failure(str(error))
                continue
            rows.add(found)
            if report:
                report.add(found)
        rows.close()
    return 1 if failed else 0


def _expand(paths: Sequence[str | Path]) -> list[tuple[str, str | None]]:
    """Name of each image, and what is wrong with it already: a folder may have none."""
    from llise.images import ImageError, image_files

    files: list[tuple[str, str | None]] = []
    for path in paths:
        try:
            files += [(str(file), None) for file in image_files([path])]
        except ImageError as error:
            files.append((str(path), str(error)))
    return files


def _rows(form: str, reference: str, names: Sequence[str]) -> Rows:
    """Standard output as a table, CSV or JSON."""
    from llise.output.rows import Csv, Json, Table

    if form == "json":
        return Json(sys.stdout, reference)
    return Csv(sys.stdout) if form == "csv" else Table(sys.stdout, names)


def _diagnosis(diagnoser: Diagnoser, name: str, problem: str | None) -> Diagnosis:
    """Read and judge one image; ValueError says what is wrong with the file."""
    from llise.images import ImageError, check_same_size, read_image

    if problem:
        raise ImageError(problem)
    image = read_image(name)
    check_same_size(diagnoser.reference, image, name)
    try:
        found = next(iter(diagnoser.diagnose([image])))
    except ValueError as error:
        raise ImageError(f"{name}: {error}") from None
    found.file = name
    return found


def _check_output(out: Path, *inputs: Path) -> None:
    """Refuse, before any work, a place that cannot be written or that holds what is to be read."""
    from llise.storage.files import check_writable

    if any(os.path.exists(path) and os.path.exists(out) and os.path.samefile(path, out) for path in inputs):
        raise click.UsageError(f"{out}: would overwrite what is to be read; name another file")
    check_writable(out)


def _settings(samples: int, seed: int) -> dict[str, Any]:
    """Parameters of a Diagnoser; with the reference they are what the cache goes by."""
    return {"n_samples": samples, "random_state": seed}


def _fitted(reference: np.ndarray, settings: dict[str, Any], quiet: bool, cached: bool = True) -> Diagnoser:
    """A diagnoser of this reference, from the cache where it is there."""
    from llise.diagnosis.diagnoser import Diagnoser
    from llise.storage import cache

    known = cache.lookup(reference, settings) if cached else None
    if known is not None:
        return known
    _note(f"learning the manifold of the reference{' (once: it is kept)' if cached else ''}", quiet)
    diagnoser = Diagnoser(reference, **settings).fit(partial(_progress, what="learning", quiet=quiet))
    if cached:
        cache.keep(diagnoser, reference, settings)
    return diagnoser


def _loaded(path: Path, reference: np.ndarray, name: Path) -> Diagnoser:
    """The model at ``path``, which must be a diagnoser of this reference."""
    from llise.storage import models

    header = models.read_header(path)
    if header.class_name != "Diagnoser":
        raise models.ModelError(f"{path}: holds a {header.class_name}, not a Diagnoser; make one with llise fit")
    if header.reference_sha256 != models.content_hash(reference):
        raise models.ModelError(f"{path}: was fitted to another reference than {name}; run llise fit {name}")
    return models.load(path)


def _progress(items: Iterable[Any], total: int, what: str, quiet: bool) -> Iterable[Any]:
    """The items, counted with time left on standard error where that is a terminal."""
    from tqdm import tqdm

    return tqdm(items, what, total, file=sys.stderr, disable=True if quiet else None, leave=False)


@contextmanager
def _one_line_warnings(quiet: bool) -> Iterator[None]:
    """Warnings of libraries as one line each, or not at all."""
    import warnings

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        _note(f"warning: {' '.join(str(message).split())}", quiet)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


@contextmanager
def _workers(jobs: int, scheduler: str | None = None) -> Iterator[None]:
    """Let joblib use so many cores, or the Dask cluster at an address."""
    import logging

    import joblib

    if not scheduler:
        with joblib.parallel_config("threading", n_jobs=jobs):  # without a backend, n_jobs is ignored for threads
            yield
        return
    try:
        from distributed import Client
    except ImportError:
        raise ImportError("--scheduler needs Dask; install it with pip install 'llise[cluster]'") from None
    # The cluster's own remarks, such as on a busy event loop, are not for whoever waits for a diagnosis.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = Client(scheduler, timeout=4)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise OSError(f"{scheduler}: no scheduler answers there ({reason}); start one with dask scheduler") from None
    with client, joblib.parallel_config("dask", n_jobs=jobs):
        yield
