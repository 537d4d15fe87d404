"""How often distortions are recognised, on references and seeds that took no part in any choice.

    python benchmarks/recognition.py            # the references set apart for the final figure
    python benchmarks/recognition.py --quick    # one reference, fewer images
    python benchmarks/recognition.py --choosing # the references on which features and settings were chosen

Four methods judge the same images: the published one (LLISE by the paper's iterations, most votes), 1-NN on
the pixels of centred blocks (most votes), the statistics alone without any manifold, and ours. Prints
Markdown.
"""

from __future__ import annotations

import argparse
import io
import json
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from PIL import Image, ImageFilter
from scipy import ndimage
from scipy.signal import fftconvolve
from skimage import data

from llise import LLISE, datasets, distortions
from llise.diagnosis import random_copies as synthesis
from llise.diagnosis.diagnoser import Diagnoser
from llise.images import as_uint8
from llise.kinds import registry
from llise.labels import KINDS, LABELS, PAPER_MIXTURES
from llise.recognition import nearest_labels, vote_shares

MOST = 512  # sides are cut to this
CHOOSING = {
    "astronaut": data.astronaut,
    "chelsea": data.chelsea,
    "coins": data.coins,
    "brick": data.brick,
    "rocket": data.rocket,
    "moon": data.moon,
}
FINAL = {
    "camera": data.camera,
    "coffee": data.coffee,
    "motorcycle": lambda: data.stereo_motorcycle()[0],
    "gravel": data.gravel,
    "hubble": data.hubble_deep_field,
}
SINGLE_LEVELS = (50, 100, 200, 400, 900)
PAIR_LEVELS = (50, 200, 500)
FOREIGN_LEVELS = (60, 250, 700)
LEAST_TRACE = 0.04  # of a pair's error that its first part must still cause
SEED = 20_000  # of the test images; the diagnoser's own is 0


@dataclass(frozen=True, eq=False)
class Case:
    """A distorted image, what was done to it, and in which part of the table it counts."""

    image: np.ndarray
    kinds: tuple[str, ...]
    parts: dict[str, float]
    mse: float
    group: str
    name: str


# Implementations that take no part in training


def disc(image: np.ndarray, radius: float) -> np.ndarray:
    """Blur of a lens out of focus."""
    reach = int(np.ceil(radius)) + 1
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    kernel = np.clip(radius + 0.5 - np.hypot(x, y), 0, 1)
    return fftconvolve(np.pad(image, reach, mode="symmetric"), kernel / kernel.sum(), mode="valid")


def box(image: np.ndarray, half: float) -> np.ndarray:
    """Mean over a square, with a fraction at its rim."""
    whole = int(half)
    kernel = np.concatenate([[half - whole], np.ones(2 * whole + 1), [half - whole]])
    rows = ndimage.convolve1d(image, kernel / kernel.sum(), axis=0, mode="reflect")
    return ndimage.convolve1d(rows, kernel / kernel.sum(), axis=1, mode="reflect")


def pillow_blur(image: np.ndarray, radius: float) -> np.ndarray:
    """Pillow's Gaussian blur, which is three box filters on 8 bits."""
    return np.asarray(Image.fromarray(image.astype(np.uint8)).filter(ImageFilter.GaussianBlur(radius)))


def bicubic(image: np.ndarray, factor: float) -> np.ndarray:
    """Made smaller and large again by cubic interpolation."""
    rows, cols = image.shape
    small = max(round(cols / (1 + factor)), 2), max(round(rows / (1 + factor)), 2)
    picture = Image.fromarray(image.astype(np.uint8)).resize(small, Image.Resampling.BICUBIC)
    return np.asarray(picture.resize((cols, rows), Image.Resampling.BICUBIC))


def filtering(function: Callable[[np.ndarray, float], np.ndarray]) -> Callable:
    """A path from a filter of (image, strength)."""
    return lambda image, rng: lambda strength: function(image, strength) if strength > 1e-3 else image


MPEG_TABLE = np.array(
    [
        [8, 16, 19, 22, 26, 27, 29, 34],
        [16, 16, 22, 24, 27, 29, 34, 37],
        [19, 22, 26, 27, 29, 34, 34, 38],
        [22, 22, 26, 27, 29, 34, 37, 40],
        [22, 26, 27, 29, 32, 35, 40, 48],
        [26, 27, 29, 32, 35, 40, 48, 58],
        [26, 27, 29, 34, 38, 46, 56, 69],
        [27, 29, 35, 38, 46, 56, 69, 83],
    ],
    dtype=float,
)


def quantiser(table: np.ndarray) -> Callable:
    """JPEG with another table."""

    def build(image: np.ndarray, rng: np.random.Generator) -> Callable:
        levels = image.astype(np.uint8)
        return lambda s: distortions.code_jpeg(levels, s * table) if s > 0 else levels

    return build


def pillow_quality(image: np.ndarray, rng: np.random.Generator) -> Callable:
    """JPEG as Pillow writes it, by whole qualities."""
    picture = Image.fromarray(image.astype(np.uint8))

    def path(strength: float) -> np.ndarray:
        stream = io.BytesIO()
        picture.save(stream, "JPEG", quality=int(np.clip(round(100 - strength), 1, 100)))
        return np.asarray(Image.open(stream))

    return path


def s_curve(middle: Callable[[np.ndarray], float]) -> Callable:
    """S-shaped contrast through black and white by an arctangent, and its inverse."""

    def build(image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Callable:
        u, a = np.linspace(0, 1, 256), middle(image) / 255

        def path(strength: float) -> np.ndarray:
            if strength < 1e-6:
                return image
            raw = np.arctan(strength * (u - a))
            curve = (raw - raw[0]) / (raw[-1] - raw[0])
            table = curve if direction > 0 else np.interp(u, curve, u)
            return (255 * table).astype(np.float32)[image.astype(np.uint8)]

        return path

    return build


def line_about(pivot: Callable[[np.ndarray], float]) -> Callable:
    """Linear contrast about another pivot."""

    def build(image: np.ndarray, rng: np.random.Generator, direction: int = 1) -> Callable:
        p = pivot(image)
        return lambda strength: p + (1 + direction * strength) * (image - p)

    return build


def unequal(salt: float) -> Callable:
    """Impulses with another share of salt."""

    def build(image: np.ndarray, rng: np.random.Generator) -> Callable:
        when = rng.random(image.shape)
        values = np.where(rng.random(image.shape) < salt, np.float32(255), np.float32(0))
        return lambda strength: np.where(when < strength, values, image)

    return build


FOREIGN: dict[str, tuple[Callable, float, bool]] = {
    "blur: disc": (filtering(disc), 60, False),
    "blur: box": (filtering(box), 60, False),
    "blur: Pillow": (filtering(pillow_blur), 60, False),
    "blur: bicubic": (filtering(bicubic), 60, False),
    "jpeg: MPEG table": (quantiser(MPEG_TABLE), 32, False),
    "jpeg: flat table": (quantiser(np.full((8, 8), 16.0)), 16, False),
    "jpeg: Pillow": (pillow_quality, 99, False),
    "contrast: S-curve about mid-grey": (s_curve(lambda image: 127.5), 60, True),
    "contrast: S-curve about the mean": (s_curve(lambda image: float(image.mean())), 60, True),
    "contrast: line about 128": (line_about(lambda image: 128.0), 20, True),
    "impulse_noise: salt 0.2": (unequal(0.2), 1, False),
    "impulse_noise: salt 0.9": (unequal(0.9), 1, False),
}


# The images


def make_cases(reference: np.ndarray, seed: int, quick: bool) -> list[Case]:
    """All test images of a reference."""
    makers = [*_singles(quick), *_pairs(quick), *_foreign(quick)]
    cases = [_case(reference, *maker, seed=seed + i, direction=(-1) ** i) for i, maker in enumerate(makers)]
    return [case for case in cases if case is not None] + [Case(reference, ("original",), {}, 0.0, "pristine", "")]


def _singles(quick: bool) -> Iterable[tuple]:
    for kind in KINDS:
        for level in SINGLE_LEVELS[:: 2 if quick else 1]:
            yield (kind,), level, "single", kind


def _pairs(quick: bool) -> Iterable[tuple]:
    paper = {frozenset(pair): pair for pair in PAPER_MIXTURES}
    for pair in combinations(KINDS, 2):
        group = "paper's pairs" if frozenset(pair) in paper else "other pairs"
        for i, level in enumerate(PAIR_LEVELS[1:2] if quick else PAIR_LEVELS):
            order = paper.get(frozenset(pair), pair if i % 2 else pair[::-1])
            yield order, level, group, "+".join(pair)


def _foreign(quick: bool) -> Iterable[tuple]:
    for i, name in enumerate(FOREIGN):
        kind = name.split(":")[0]
        for level in FOREIGN_LEVELS[1:2] if quick else FOREIGN_LEVELS:
            yield (name,), level, "foreign single", name
        others = [k for k in KINDS if k != kind]
        for j in () if quick else (i, i + 2):
            other = others[j % len(others)]
            order = (name, other) if kind in ("blur", "jpeg") or j % 2 else (other, name)
            yield order, (80, 200, 450)[j % 3], "foreign pairs", name


def _case(
    reference: np.ndarray,
    recipe: tuple[str, ...],
    level: float,
    group: str,
    name: str,
    *,
    seed: int,
    direction: int,
) -> Case | None:
    """Make one image; None where nobody could name its kinds.

    That is so where a kind hardly changes this reference (a flat image cannot be blurred), or where the
    second part of a pair wipes out the first (impulses, then strong blur); a pair is then tried in the
    other order.
    """
    for order in (recipe, recipe[::-1])[: len(recipe)]:
        made = datasets.mixture(reference, order, level, seed, direction=direction, warn=False)
        errors = [0.0, *(part.measured for part in made)]
        kinds = [part.kind.split(":")[0] for part in made]
        parts = {kind: after - before for kind, before, after in zip(kinds, errors, errors[1:])}
        seen = len(made) == 1 or trace(reference, made, direction) >= LEAST_TRACE * errors[-1]
        if errors[-1] >= 30 and min(parts.values()) >= 0.2 * errors[-1] and seen:
            return Case(made[-1].image, tuple(sorted(kinds, key=KINDS.index)), parts, errors[-1], group, name)
    return None


def trace(reference: np.ndarray, made: list[distortions.Distorted], direction: int) -> float:
    """MSE between a pair and its second part alone: what the first still causes."""
    second = made[1]
    path = registry.get(second.kind).path(reference, np.random.default_rng(second.seed), direction)
    neutral = 1.0 if second.kind == "contrast" else 0.0  # strengths are shown as gain or signed shift
    return distortions.mse(second.image, distortions.quantise(path(abs(second.strength - neutral))))


# The methods


def votes(embedding: np.ndarray, labels: list[str], new: np.ndarray) -> list[tuple[str, ...]]:
    """Label with most votes over the blocks."""
    codes = np.array([LABELS.index(label) for label in labels])
    shares = vote_shares(nearest_labels(embedding, codes, len(LABELS), new), len(LABELS))
    return [(LABELS[best],) for best in shares.argmax(axis=1)]


def centred_blocks(mosaics: np.ndarray) -> np.ndarray:
    """Blocks (b, n, 64) without their means."""
    n, rows, cols = mosaics.shape
    blocks = mosaics.reshape(n, rows // 8, 8, cols // 8, 8).transpose(1, 3, 0, 2, 4).reshape(-1, n, 64)
    return blocks - blocks.mean(axis=2, keepdims=True, dtype=np.float32)


def judge(name: str, reference: np.ndarray, cases: list[Case], n_samples: int, n_jobs: int) -> list[dict]:
    """One record an image: what was done to it, and what each method says."""
    diagnoser = Diagnoser(reference, n_samples=n_samples, n_jobs=n_jobs).fit()
    found = [diagnoser._decide(case.image, case.mse) for case in cases]
    mosaics = np.stack([diagnoser._mosaic(case.image) for case in cases])
    paper = datasets.training_set(reference, n_jobs=n_jobs)
    paper_mosaics = np.stack([diagnoser._mosaic(image) for image in paper.images])
    published = LLISE(solver="admm", as_published=True, random_state=0, n_jobs=n_jobs).fit(paper_mosaics)
    labels = paper.labels.tolist()
    verdicts = {
        "published": votes(published.embedding_, labels, published.embed(mosaics)),
        "pixels": votes(centred_blocks(paper_mosaics), labels, centred_blocks(mosaics)),
        "statistics": control(diagnoser, cases),
        "ours": [verdict for verdict, _, _ in found],
    }
    return [
        {
            "reference": name,
            "group": case.group,
            "name": case.name,
            "kinds": "+".join(case.kinds),
            "parts": case.parts,
            "mse": case.mse,
            **{method: "+".join(said[i]) for method, said in verdicts.items()},
            "confidence": found[i][1],
            "severity": found[i][2],
        }
        for i, case in enumerate(cases)
    ]


def control(diagnoser: Diagnoser, cases: list[Case]) -> list[tuple[str, ...]]:
    """The same classifier on the statistics alone."""
    from sklearn.base import clone

    width = len(diagnoser._statistics.names)
    classifier = clone(diagnoser.classifier_).fit(diagnoser.features_[:, :width], diagnoser.codes_)
    features = np.stack([diagnoser._statistics(diagnoser.windows_.cut(case.image)) for case in cases])
    verdicts = [synthesis.SETS[code] for code in classifier.predict(features)]
    return [("original",) if case.mse < 0.5 else verdict for case, verdict in zip(cases, verdicts)]


# The tables

METHODS = {
    "published": "published (ADMM, most votes)",
    "pixels": "1-NN on pixels",
    "statistics": "statistics, no manifold",
    "ours": "ours",
}
GROUPS = ("single", "paper's pairs", "other pairs", "foreign single", "foreign pairs", "pristine")


def table(title: str, rows: dict[str, dict[str, list[bool]]], columns: dict[str, str]) -> None:
    """Print shares judged right, with the number of images."""
    print(f"\n### {title}\n")
    print("| | images | " + " | ".join(columns.values()) + " |")
    print("|---|---|" + "---|" * len(columns))
    for name, row in rows.items():
        count = len(next(iter(row.values())))
        print(f"| {name} | {count} | " + " | ".join(f"{np.mean(row[key]):.3f}" for key in columns) + " |")


def collect(records: list[dict], key: Callable[[dict], str | None]) -> dict[str, dict[str, list]]:
    """Right or wrong by `key` of a record, which may be None, and by method."""
    rows: dict[str, dict[str, list]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        name = key(record)
        if name is not None:
            for method in METHODS:
                rows[name][method].append(record[method] == record["kinds"])
    return rows


def report(records: list[dict]) -> None:
    """Print all tables."""
    by_group = collect(records, lambda r: r["group"])
    table("Exact verdict by group", {g: by_group[g] for g in GROUPS if g in by_group}, METHODS)
    two = {key: METHODS[key] for key in ("statistics", "ours")}
    own_pairs = ("paper's pairs", "other pairs")
    for title, groups, key, columns in (
        ("Single distortions by kind", ("single",), _name, METHODS),
        ("Single distortions by MSE", ("single",), _level, METHODS),
        ("Pairs by MSE", own_pairs, _level, two),
        ("Paper's pairs", own_pairs[:1], _name, two),
        ("Other pairs", own_pairs[1:], _name, two),
        ("Foreign implementations, single", ("foreign single",), _name, METHODS),
        ("Foreign implementations, in pairs", ("foreign pairs",), _name, two),
        ("By reference, without foreign ones", ("single", *own_pairs), lambda r: r["reference"], METHODS),
    ):
        table(title, collect([r for r in records if r["group"] in groups], key), columns)
    severity(records)
    confidence(records)
    confusions(records)


def _name(record: dict) -> str:
    return record["name"]


def _level(record: dict) -> str:
    edges = (0, 75, 150, 300, 600, 10_000)
    place = int(np.digitize(record["mse"], edges)) - 1
    return f"{edges[place]} to {edges[place + 1]}" if place < 4 else "over 600"


def severity(records: list[dict]) -> None:
    """Print how often the MSE of each named distortion is right within a factor."""
    print("\n### Severity\n\n| | images | within 1.5 | within 2 |\n|---|---|---|---|")
    for name, groups in (("single", ("single",)), ("pairs, both parts", ("paper's pairs", "other pairs"))):
        worst = []
        for record in records:
            if record["group"] in groups:
                found = record["severity"]
                ratios = [found.get(kind, 1e-9) / max(part, 1e-9) for kind, part in record["parts"].items()]
                worst.append(max(max(r, 1 / r) for r in ratios))
        shares = " | ".join(f"{np.mean(np.array(worst) <= factor):.3f}" for factor in (1.5, 2))
        print(f"| {name} | {len(worst)} | {shares} |")


def confidence(records: list[dict]) -> None:
    """Print whether confidence tells right from wrong."""
    records = [r for r in records if r["group"] != "pristine"]
    values = np.array([r["confidence"] for r in records])
    right = np.array([r["ours"] == r["kinds"] for r in records])
    print("\n### Confidence\n\n| confidence | images | right |\n|---|---|---|")
    for low, high in ((0, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.01)):
        here = (values >= low) & (values < high)
        if here.any():
            print(f"| {low} to {min(high, 1)} | {here.sum()} | {right[here].mean():.3f} |")


def confusions(records: list[dict], most: int = 15) -> None:
    """Print the commonest mistakes."""
    counts = Counter((r["name"], r["kinds"], r["ours"]) for r in records if r["ours"] != r["kinds"])
    print("\n### Commonest mistakes of ours\n\n| image | true | judged | images |\n|---|---|---|---|")
    for (name, true, judged), count in counts.most_common(most):
        print(f"| {name} | {true} | {judged} | {count} |")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one reference, fewer images")
    parser.add_argument("--choosing", action="store_true", help="the references used for choosing")
    parser.add_argument("--references", help="names, separated by commas")
    parser.add_argument("--samples", type=int, default=None, help="random copies to learn from")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--records", type=Path, help="file of JSON lines: references in it are not run again")
    options = parser.parse_args()
    warnings.simplefilter("ignore", distortions.UnreachableWarning)
    for name, (build, strongest, two_sided) in FOREIGN.items():
        distortions.register(name, strongest=strongest, two_sided=two_sided)(build)
    references = CHOOSING if options.choosing else FINAL
    names = options.references.split(",") if options.references else list(references)[: 1 if options.quick else None]
    samples = options.samples or Diagnoser.__init__.__kwdefaults__["n_samples"]
    records: list[dict] = []
    if options.records and options.records.exists():
        records = [json.loads(line) for line in options.records.read_text().splitlines()]
    for name in names:
        if any(record["reference"] == name for record in records):
            continue
        image = as_uint8(references[name]()[:MOST, :MOST])
        cases = make_cases(image, SEED + 1000 * list(references).index(name), options.quick)
        made = judge(name, image, cases, samples, options.jobs)
        records += made
        if options.records:
            with options.records.open("a") as file:
                file.writelines(json.dumps(record) + "\n" for record in made)
    counts = Counter(record["reference"] for record in records)
    print("References: " + ", ".join(f"{name} ({count} images)" for name, count in counts.items()))
    report(records)


if __name__ == "__main__":
    main()
