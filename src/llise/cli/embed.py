"""The command ``llise embed``: the manifold of images of one's own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from llise.cli.options import FILE, OUTPUT, background_option, examples, jobs_option, quiet_option, scheduler_option
from llise.cli.running import note, progress, say, session

METHODS = {"llise": "LLISE", "kernel-llise": "KernelLLISE", "lle": "LLE", "kernel-lle": "KernelLLE"}
SETTINGS = {
    "method": None,
    "kernel": "kernel",
    "components": "n_components",
    "neighbors": "n_neighbors",
    "block_size": "block_size",
    "whole": None,
    "constraint": "constraint",
    "luminance": "luminance",
    "data_range": "data_range",
    "landmarks": "n_landmarks",
}
"""Options that describe the manifold, with the learner's names of them; --onto has them from the model."""

BLOCKWISE = ("llise", "kernel-llise")
ONLY = dict.fromkeys(("block_size", "constraint", "luminance", "landmarks"), BLOCKWISE) | {
    "kernel": ("kernel-llise", "kernel-lle"),
    "data_range": (*BLOCKWISE, "kernel-lle"),
}
"""Options that only some methods have."""

MOST_MEASURED = 3000
"""Images up to which neighbourhoods are measured: all pairs are compared."""


def _size(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, int] | None:
    if value is None:
        return None
    found = re.fullmatch(r"(\d{1,5})[xX](\d{1,5})", value.strip())
    if found is None or "0" in found.groups():
        raise click.BadParameter(f"is {value!r}; give width and height in pixels, such as 64x48")
    return int(found[1]), int(found[2])


def _plot(context: click.Context, parameter: click.Parameter, value: Path | None) -> Path | None:
    if value is not None and value.suffix.lower() not in (".html", ".png"):
        raise click.BadParameter(f"is {value.name!r}; name a .html page or a .png picture")
    return value


@click.command(
    epilog=examples(
        "llise embed photos/ -o coordinates.csv --plot map.html",
        "llise embed photos/ -o coordinates.npz --whole --components 8 --save photos.llise",
        "llise embed new/ -o new.csv --onto photos.llise --plot map.html",
    )
)
@click.argument("images", nargs=-1, required=True, type=FILE)
@click.option("-o", "--out", type=OUTPUT, required=True, help="Table to write: .csv, .parquet or .npz.")
@click.option("--plot", type=OUTPUT, callback=_plot, help="Map of the images to write: .html (zoom, search) or .png.")
@click.option("--labels", type=FILE, help="Classes: a text file, one a line or lines file,class. Else the subfolders.")
@click.option("--color", is_flag=True, help="Keep colours; otherwise the luma is embedded.")
@background_option
@click.option("--size", metavar="WxH", callback=_size, help="Resize all images; otherwise they must have one size.")
@click.option("--method", type=click.Choice(list(METHODS)), default="llise", show_default=True, help="The learner.")
@click.option("--kernel", type=click.Choice(["rbf", "poly", "sigmoid", "linear"]), help="Of the kernel methods.  [rbf]")
@click.option("--components", type=click.IntRange(1), default=4, show_default=True, help="Coordinates p of a manifold.")
@click.option("--neighbors", type=click.IntRange(1), help="Neighbours k.  [llise 5, lle 10]")
@click.option("--block-size", type=click.IntRange(2), help="Side of the blocks in pixels.  [8]")
@click.option("--whole", is_flag=True, help="One manifold of whole images instead of one at each block position.")
@click.option(
    "--constraint", type=click.Choice(["affine", "sphere"]), help="Weights of unit sum or unit norm.  [affine]"
)
@click.option("--luminance", type=click.FloatRange(0), help="How much the mean of a block counts.  [1]")
@click.option("--data-range", type=click.FloatRange(0, min_open=True), help="Largest value, for arrays of numbers.")
@click.option("--landmarks", type=click.IntRange(2), help="Learn the manifold of so many images, and place the others.")
@click.option("--save", type=OUTPUT, help="Save the learned manifold, for --onto.")
@click.option("--onto", type=FILE, help="Place the images on a saved manifold instead of learning one.")
@jobs_option
@scheduler_option
@quiet_option
@click.pass_context
def embed(
    ctx: click.Context,
    images: tuple[Path, ...],
    out: Path,
    plot: Path | None,
    labels: Path | None,
    color: bool,
    background: tuple[int, int, int] | None,
    size: tuple[int, int] | None,
    save: Path | None,
    onto: Path | None,
    jobs: int,
    scheduler: str | None,
    quiet: bool,
    **settings: Any,
) -> None:
    """Learn the manifold of a set of images, and write their coordinates.

    IMAGES are folders (subfolders are classes), image files, a .txt list of them, or one .npy or .npz array of
    images. At each block position of 8 x 8 pixels every image gets p coordinates; --whole makes p of the whole image.
    """
    given = [name for name in SETTINGS if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE]
    if onto is not None and (given or save is not None):
        name = (given or ["save"])[0].replace("_", "-")
        raise click.UsageError(f"--{name} does not go with --onto, whose model has its settings; leave it out")
    parameters = {} if onto is not None else _parameters(settings)
    with session(quiet, jobs, scheduler):
        from llise.manifold.collection import read_collection, read_labels
        from llise.manifold.coordinates import check_table, coordinates_of, write_table

        check_table(out)
        if plot is not None and plot.suffix.lower() == ".png":
            import llise.plot  # noqa: F401 (says which extra is missing)
        reading = lambda files: progress(files, len(files), "reading", quiet)
        found = read_collection(images, color=color, size=size, background=background, progress=reading)
        classes = found.classes if labels is None else read_labels(labels, found.names)
        learner = _learner(settings["method"], parameters) if onto is None else _loaded(onto)
        if onto is None:
            note(f"learning the manifold of {len(found.names)} images", quiet)
        result = coordinates_of(learner, found.images, fit=onto is None)
        write_table(out, found.names, result, classes)
        if save is not None:
            from llise.storage.models import save as save_model

            save_model(learner, save)
        if plot is not None:
            _write_plot(plot, learner, found.names, classes, found.images, result.places, placed=onto is not None)
    say(f"{out}: {_words(learner, len(found.names), classes)}")
    if len(found.names) <= MOST_MEASURED and len(found.names) > 2:
        from llise.manifold.neighborhoods import continuity, trustworthiness

        kept = trustworthiness(found.images, result.rows), continuity(found.images, result.rows)
        say("neighbourhoods of 5 kept: trustworthiness {:.3f}, continuity {:.3f} (1 is best)".format(*kept))
    for file, what in ((plot, "map"), (save, "manifold, for --onto")):
        if file is not None:
            say(f"{file}: {what}")


def _parameters(settings: dict[str, Any]) -> dict[str, Any]:
    """The learner's parameters from the options that were given; those that the method has not are refused."""
    method = settings["method"]
    if settings["whole"] and settings["block_size"] is not None:
        raise click.UsageError("--whole and --block-size exclude each other; give one of them")
    for name, methods in ONLY.items():
        if settings[name] is not None and method not in methods:
            option = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{option} does not go with --method {method}; it is for {' and '.join(methods)}")
    parameters = {
        parameter: settings[name]
        for name, parameter in SETTINGS.items()
        if parameter is not None and settings[name] is not None
    }
    whole = settings["whole"] and method in BLOCKWISE  # LLE is of whole images anyway
    return parameters | ({"block_size": None} if whole else {})


def _learner(method: str, parameters: dict[str, Any]) -> Any:
    import llise

    return getattr(llise, METHODS[method])(**parameters)


def _loaded(file: Path) -> Any:
    """The learner of a model file."""
    from llise.storage.models import Header, ModelError, load

    def check(header: Header) -> None:
        if header.class_name not in METHODS.values():
            raise ModelError(f"{file}: a {header.class_name}, not a manifold; name a file made by llise embed --save")

    return load(file, check)


def _words(learner: Any, count: int, classes: list[str] | None) -> str:
    """What the table holds, in a line."""
    b, n, p = learner.embedding_.shape
    blocks = "the whole image" if b == 1 else "{} x {} blocks".format(*learner.block_grid_)
    kinds = "" if classes is None else f" of {len(set(classes))} classes"
    return f"{count} images{kinds}, {p} coordinates of {blocks} ({type(learner).__name__}, {n} training images)"


def _write_plot(
    file: Path, learner: Any, names: list[str], classes: list[str] | None, images: Any, places: Any, placed: bool
) -> None:
    about = _words(learner, len(names), classes)
    background = learner.image_map() if placed else None
    about += "; grey: the training images" if placed else ""
    shown = images if images.ndim > 2 else None
    if file.suffix.lower() == ".html":
        from llise.output.map_page import write_map

        write_map(file, places, names, classes, shown, background=background, about=about)
        return
    from llise.plot import panels, theme
    from llise.plot.maps import image_map
    from llise.storage.files import atomic_write

    with theme():
        figure, axes = panels(1, 1, 9, 6.5)
        image_map(places, classes, images=shown, thumbnails=60, background=background, ax=axes[0, 0])
        axes[0, 0].set_title(about)
        with atomic_write(file) as stream:
            figure.savefig(stream, format="png", dpi=150)
