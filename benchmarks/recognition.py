"""How well damage is recognised: which kinds, where, how strong, how sure. One command for cases, answers and figures.

    python benchmarks/recognition.py FOLDER                                         # both halves
    python benchmarks/recognition.py FOLDER --half photographs --photographs PHOTOS  # photographs of your own
    python benchmarks/recognition.py FOLDER --half everyday --against CHECKOUT       # two commits or models

Steps that are done are not done again: pictures are in FOLDER/pictures, cases in FOLDER/HALF-SPLIT, answers there too.
``--against`` judges the same cases by another checkout too, and says which rows moved. Figures go to FOLDER as Markdown
and JSON. The blind split is for a release: once it is judged it is spent, and the row that is printed belongs into
docs/recognition.md.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from figure_tables import put
from figures import report, tables
from judge import judge_all, read_rows, source_of
from measured import measure_all

HERE = Path(__file__).parent
MAKERS = {"everyday": "everyday/cases.py", "photographs": "photographs.py"}
"""Scripts that write cases; both take FOLDER, --pictures, --split, --share, --seed and --jobs."""

IN_DOCS = ("Exact verdicts by group", "Right by confidence", "Unknown", "Processor seconds a megapixel by size")
"""Tables that --docs writes."""


def main() -> None:
    """Lead from cases to figures."""
    options = parse()
    for half in MAKERS if options.half == "both" else (options.half,):
        folder = options.folder / f"{half}-{options.split}"
        if not (folder / "truth.jsonl").exists():
            make_cases(half, folder, options)
        trees = [options.tree, *([options.against] if options.against else [])][::-1]
        answers = [folder / f"answers-{source_of(tree)}.jsonl" for tree in trees]
        start = time.perf_counter()
        for tree, output in zip(trees, answers):
            judge_all(folder, tree, output, options.jobs)
        print(f"{half}, {options.split}: judged in {time.perf_counter() - start:.0f} s", file=sys.stderr)
        failures = options.failures and options.split == "look"
        for suffix in ("md", "json"):
            text = report(folder, answers, as_json=suffix == "json", failures=failures)
            (options.folder / f"{half}-{options.split}.{suffix}").write_text(text + "\n", encoding="utf-8")
        print((options.folder / f"{half}-{options.split}.md").read_text())
        print(ledger_row(half, options.split, folder, answers[-1]))
        if options.docs:
            found = {table.title: table for table in tables(measure_all(folder, answers[-1]))}
            text = "\n\n".join(found[title].markdown() for title in IN_DOCS if found[title].rows)
            put(text, options.docs, f"{half}-{options.split}")


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder for cases, answers and figures")
    parser.add_argument("--half", choices=(*MAKERS, "both"), default="both", help="which cases")
    parser.add_argument("--split", choices=("look", "blind"), default="look", help="half of the pictures")
    parser.add_argument("--spend", action="store_true", help="needed with --split blind, which can be judged once")
    parser.add_argument("--pictures", type=Path, help="folder of the listed pictures, by default FOLDER/pictures")
    parser.add_argument("--photographs", type=Path, help="other photographs for their half than the listed ones")
    parser.add_argument("--share", type=float, help="share of the cases to make, drawn at random")
    parser.add_argument("--seed", type=int, help="seed of all cases")
    parser.add_argument("--tree", type=Path, default=HERE.parent, help="checkout that judges")
    parser.add_argument("--against", type=Path, help="checkout to compare it with")
    parser.add_argument("--failures", action="store_true", help="list each wrong verdict of the look split")
    parser.add_argument("--docs", type=Path, help="document to write the main tables into, such as docs/recognition.md")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes")
    options = parser.parse_args()
    if options.split == "blind" and not options.spend:
        parser.error("--split blind is spent by judging it; add --spend if this is for a release")
    return options


def make_cases(half: str, folder: Path, options: argparse.Namespace) -> None:
    """Fetch the pictures where they are not there, and write the cases."""
    pictures = options.pictures or options.folder / "pictures"
    if half == "photographs" and options.photographs:
        pictures = options.photographs
    elif not pictures.exists():
        subprocess.run([sys.executable, HERE / "everyday" / "pictures.py", pictures], check=True)
    given = {"pictures": pictures} | {name: getattr(options, name) for name in ("split", "share", "seed", "jobs")}
    arguments = [text for name, value in given.items() if value is not None for text in (f"--{name}", str(value))]
    subprocess.run([sys.executable, HERE / MAKERS[half], folder, *arguments], check=True)


def ledger_row(half: str, split: str, folder: Path, answers: Path) -> str:
    """One row of the table of runs."""
    about = read_rows(answers)[0]["about"]
    cases = measure_all(folder, answers)
    exact, wrong = (sum(getattr(case, name) for case in cases) / len(cases) for name in ("exact", "sure_and_wrong"))
    pictures = len({case.truth["picture"] for case in cases})
    date = time.strftime("%Y-%m-%d")
    cells = (date, half, split, about["commit"], about["cases"], pictures, len(cases), f"{exact:.3f}", f"{wrong:.3f}")
    return "| " + " | ".join(map(str, cells)) + " |"


if __name__ == "__main__":
    main()
