# ruff: noqa: E501 (lines of HTML)
"""Pages that a browser renders and charts by matplotlib: the pictures that the benchmark makes itself."""

from __future__ import annotations

import html
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
SIZE = 780, 640
"""Width and height of a page in pixels."""

WORDS = [
    "report",
    "value",
    "river",
    "market",
    "weekly",
    "garden",
    "index",
    "open",
    "delivery",
    "window",
    "total",
    "account",
    "settings",
    "light",
    "number",
    "copper",
    "signal",
    "paper",
    "harbour",
    "morning",
    "results",
    "quarter",
    "request",
    "release",
    "train",
    "library",
    "colour",
    "winter",
    "engine",
    "between",
    "station",
    "model",
    "measure",
    "project",
    "invoice",
    "summary",
    "member",
    "north",
    "update",
    "review",
    "schedule",
    "budget",
    "field",
    "ticket",
    "orange",
    "system",
    "travel",
]
FONTS = ("sans-serif", "serif", "Georgia, serif", "Helvetica, Arial, sans-serif", "Verdana, sans-serif")
Rng = np.random.Generator


def words(rng: Rng, least: int, most: int) -> str:
    """A phrase."""
    text = " ".join(rng.choice(WORDS, rng.integers(least, most + 1)))
    return text[0].upper() + text[1:]


def hue(rng: Rng, light: int = 48) -> str:
    """A colour of CSS."""
    return f"hsl({rng.integers(360)} {rng.integers(40, 85)}% {light}%)"


def text(rng: Rng, count: int) -> str:
    """Paragraphs."""
    return "".join(
        f"<p id=p{i}>{'. '.join(words(rng, 6, 14) for _ in range(rng.integers(2, 5)))}.</p>" for i in range(count)
    )


def article(rng: Rng) -> str:
    """A long text with a heading and a link."""
    side = (
        f"<aside id=t0 style='float:right;width:34%;background:{hue(rng, 88)};color:#222'>{words(rng, 9, 16)}</aside>"
    )
    return f"<h1 id=t1>{words(rng, 3, 6)}</h1>{side}{text(rng, 5)}<p><a id=t2 href=x>{words(rng, 3, 5)}</a></p>"


def dashboard(rng: Rng) -> str:
    """Tiles with numbers and small charts."""
    tiles = ""
    for i in range(6):
        bars = "".join(
            f"<rect x={12 * k} y={50 - v} width=9 height={v} fill='{hue(rng)}'/>"
            for k, v in enumerate(rng.integers(8, 50, 14))
        )
        tiles += f"<div class=card id=t{i}><small>{words(rng, 1, 2)}</small><h2>{rng.integers(10, 9999)}</h2><svg width=170 height=52>{bars}</svg></div>"
    return f"<header id=bar>{words(rng, 2, 3)}</header><div class=grid>{tiles}</div>{text(rng, 1)}"


def form(rng: Rng) -> str:
    """Labels, fields, boxes and buttons."""
    rows = "".join(
        f"<label>{words(rng, 1, 3)}<br><input id=t{i} value='{words(rng, 1, 4)}' size=40></label><br>" for i in range(5)
    )
    boxes = "".join(
        f"<label><input type=checkbox {'checked' * (k % 2)}> {words(rng, 2, 5)}</label><br>" for k in range(3)
    )
    return f"<h2>{words(rng, 2, 4)}</h2>{rows}{boxes}<br><button id=t5>{words(rng, 1, 2)}</button> <button class=plain id=t6>Cancel</button>{text(rng, 1)}"


def table(rng: Rng) -> str:
    """Rows of numbers."""
    rows = "".join(
        f"<tr id=t{i}><td>{words(rng, 1, 3)}" + "".join(f"<td>{v:,.2f}" for v in rng.normal(400, 300, 5))
        for i in range(17)
    )
    head = "<tr>" + "".join(f"<th>{words(rng, 1, 1)}" for _ in range(6))
    return f"<h3>{words(rng, 2, 4)}</h3><table>{head}{rows}</table>"


def code(rng: Rng) -> str:
    """Source text with coloured words."""
    lines = ""
    for i in range(26):
        word = [w.lower() for w in rng.choice(WORDS, 4)]
        lines += f"<span style='color:#888'>{i:3} </span>{'    ' * int(rng.integers(0, 3))}<b style='color:{hue(rng, 55)}'>{rng.choice(['def', 'if', 'return', 'for'])}</b> <i id=t{i}>{word[0]}_{word[1]}</i>({word[2]}, <span style='color:{hue(rng, 45)}'>&quot;{word[3]}&quot;</span>)\n"
    return f"<pre>{lines}</pre>"


def shop(rng: Rng) -> str:
    """Cards with drawn goods, prices and buttons."""
    cards = ""
    for i in range(6):
        back = f"background:radial-gradient(circle at {rng.integers(20, 80)}% {rng.integers(20, 80)}%,{hue(rng, 80)} 20%,{hue(rng)} 60%,{hue(rng, 20)})"
        cards += f"<div class=card id=t{i}><div style='height:95px;{back}'></div><b>{words(rng, 2, 3)}</b><br>€ {rng.integers(3, 300)}.{rng.integers(10, 99)} <button id=b{i}>Buy</button></div>"
    return f"<header id=bar>{words(rng, 1, 2)} <small>{words(rng, 3, 4)}</small></header><div class=grid>{cards}</div>"


def chat(rng: Rng) -> str:
    """Messages left and right."""
    rows = ""
    for i in range(9):
        side, back = ("right", hue(rng, 80)) if rng.random() < 0.5 else ("left", "#8883")
        color = ";color:#222" if side == "right" else ""
        rows += f"<div style='text-align:{side}'><span class=bubble id=t{i} style='background:{back}{color}'>{words(rng, 3, 12)}</span></div>"
    return f"<header id=bar>{words(rng, 1, 2)}</header>{rows}"


def mail(rng: Rng) -> str:
    """A list beside a letter."""
    rows = "".join(
        f"<div class=row id=t{i}><b>{words(rng, 1, 2)}</b><br><small>{words(rng, 4, 6)}</small></div>"
        for i in range(10)
    )
    return f"<div style='display:flex;gap:20px'><div style='width:36%'>{rows}</div><div style='width:60%'><h2>{words(rng, 3, 5)}</h2>{text(rng, 3)}<button id=t10>Reply</button></div></div>"


def calendar(rng: Rng) -> str:
    """A month with marked days."""
    cells = ""
    for i in range(35):
        mark = (
            f"<span class=bubble style='background:{hue(rng, 75)};color:#222'>{words(rng, 1, 1)}</span>"
            if rng.random() < 0.35
            else ""
        )
        cells += f"<td id=t{i} style='height:78px;vertical-align:top'>{i % 31 + 1}<br>{mark}" + (
            "<tr>" if i % 7 == 6 else ""
        )
    return f"<h2>{words(rng, 1, 1)} 2024</h2><table style='table-layout:fixed'><tr>{cells}</table>"


def map_page(rng: Rng) -> str:
    """Streets and fields as vectors."""
    shapes = "".join(
        f"<polygon id=t{i} fill='{hue(rng, 78)}' points='{' '.join(f'{x},{y}' for x, y in rng.normal(rng.uniform(60, 600, 2), 60, (5, 2)).round())}'/>"
        for i in range(14)
    )
    for _ in range(12):
        x, y, u, v = rng.integers(-40, 700, 4)
        shapes += f"<path d='M{x} {y} Q{y} {u} {u} {v}' stroke='white' stroke-width={rng.integers(3, 12)} fill=none />"
    shapes += "".join(
        f"<text x={rng.integers(20, 600)} y={rng.integers(20, 500)}>{words(rng, 1, 2)}</text>" for _ in range(14)
    )
    return f"<svg width=740 height=560 style='background:#e6efe0'>{shapes}</svg>"


def console(rng: Rng) -> str:
    """Lines of a terminal."""
    lines = "".join(
        f"<span id=t{i} style='color:{hue(rng, 60)}'>{rng.choice(['ok', 'warn', 'info', 'fail'])}</span> {rng.integers(24)}:{rng.integers(10, 60)} {words(rng, 3, 9)}\n"
        for i in range(30)
    )
    return f"<pre style='background:#101418;color:#cfd8dc;padding:12px'>{lines}</pre>"


def slide(rng: Rng) -> str:
    """A slide of a talk."""
    points = "".join(f"<li id=t{i}>{words(rng, 3, 7)}</li>" for i in range(5))
    return f"<div style='height:560px;padding:20px;background:linear-gradient({rng.integers(360)}deg,{hue(rng, 30)},{hue(rng, 45)});color:white;font-size:26px'><h1 id=t8>{words(rng, 2, 4)}</h1><ul>{points}</ul></div>"


PAGES: dict[str, Callable[[Rng], str]] = {
    page.__name__: page
    for page in (article, dashboard, form, table, code, shop, chat, mail, calendar, map_page, console, slide)
}


def page_source(name: str, dark: bool) -> str:
    """The HTML of a page; always the same."""
    rng = np.random.default_rng([list(PAGES).index(name), dark])
    ink, paper, line = ("#e4e6ea", "#16181d", "#444a55") if dark else ("#1d2026", "#ffffff", "#ccd2da")
    style = f"""body{{font:{rng.integers(13, 17)}px {rng.choice(FONTS)};color:{ink};background:{paper};margin:20px}}
        .grid{{display:grid;grid-template-columns:1fr 1fr 1fr;gap:14px;margin-top:14px}} .card{{border:1px solid {line};
        border-radius:6px;padding:12px}} header{{background:{hue(rng, 35)};color:white;padding:12px;font-size:20px}}
        table{{border-collapse:collapse;width:100%}} td,th{{border-bottom:1px solid {line};padding:5px;text-align:left}}
        button{{background:{hue(rng, 42)};color:white;border:0;border-radius:4px;padding:8px 16px}} .plain{{background:#888}}
        .bubble{{display:inline-block;border-radius:10px;padding:6px 12px;margin:6px}} .row{{border-bottom:1px solid {line};
        padding:6px}} input{{margin:4px 0 10px;padding:6px}} aside{{padding:12px;margin:0 0 8px 14px}} a{{color:{hue(rng, 50)}}}"""
    return (
        f"<!doctype html><meta charset=utf-8><title>{html.escape(name)}</title><style>{style}</style>{PAGES[name](rng)}"
    )


def render(source: str, target: Path, *flags: str, scale: float = 1.0) -> None:
    """Write the picture of a page as the browser draws it; OSError where there is none."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        raise OSError(f"none of {', '.join(BROWSERS)} is installed")
    with tempfile.TemporaryDirectory() as folder:
        page, picture = Path(folder) / "page.html", Path(folder) / "page.png"
        page.write_text(source)
        subprocess.run(
            [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", *flags,
             f"--user-data-dir={folder}/profile", f"--window-size={SIZE[0]},{SIZE[1]}",
             f"--force-device-scale-factor={scale}", f"--screenshot={picture}", page.as_uri()],
            check=True, capture_output=True, timeout=120,
        )  # fmt: skip
        shutil.copyfile(picture, target)


CHARTS = (
    "lines",
    "bars",
    "scatter",
    "heat",
    "pie",
    "histogram",
    "contours",
    "boxes",
    "polar",
    "surface",
    "stacked",
    "log",
)


def chart(name: str, dark: bool, target: Path) -> None:
    """Write a chart; always the same."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rng = np.random.default_rng([CHARTS.index(name), dark, 7])
    x, y = np.linspace(0, 10, 60), rng.normal(0, 1, (4, 60)).cumsum(axis=1)
    with plt.style.context(["default", "dark_background" if dark else "bmh"]):
        figure = plt.figure(figsize=(7.2, 5.4), dpi=100)
        projection = {"polar": "polar", "surface": "3d"}.get(name)
        axes = figure.add_subplot(projection=projection)
        u, v = np.meshgrid(np.linspace(-3, 3, 50), np.linspace(-3, 3, 50))
        field = np.sin(u * rng.uniform(1, 2)) * np.cos(v) + 0.2 * u
        draw = {
            "lines": lambda: [axes.plot(x, row, label=words(rng, 1, 2)) for row in y],
            "bars": lambda: axes.bar(
                rng.choice(WORDS, 7, replace=False), rng.integers(3, 40, 7), color=plt.cm.Set2(range(7))
            ),
            "scatter": lambda: axes.scatter(
                *rng.normal(0, 1, (2, 300)), c=rng.random(300), s=rng.uniform(5, 90, 300), alpha=0.7
            ),
            "heat": lambda: figure.colorbar(axes.imshow(rng.normal(0, 1, (12, 16)).cumsum(axis=0))),
            "pie": lambda: axes.pie(
                rng.integers(5, 40, 6), labels=rng.choice(WORDS, 6, replace=False), autopct="%.0f %%"
            ),
            "histogram": lambda: [
                axes.hist(rng.normal(k, 1 + k / 2, 800), 40, alpha=0.6, label=words(rng, 1, 1)) for k in range(3)
            ],
            "contours": lambda: axes.clabel(axes.contour(u, v, field, 12)),
            "boxes": lambda: axes.boxplot([rng.normal(k, 1, 60) for k in range(8)], patch_artist=True),
            "polar": lambda: axes.fill_between(np.linspace(0, 6.28, 60), 0, np.abs(y[0]) + 1, alpha=0.6),
            "surface": lambda: axes.plot_surface(u, v, field, cmap="viridis"),
            "stacked": lambda: axes.stackplot(x, np.abs(y) + 0.5, labels=rng.choice(WORDS, 4)),
            "log": lambda: axes.loglog(x + 0.1, np.exp(y[:2].T / 2), "o-", label=words(rng, 1, 1)),
        }
        draw[name]()
        axes.set_title(words(rng, 2, 5))
        if axes.get_legend_handles_labels()[0]:
            axes.legend()
        figure.savefig(target, metadata={"Software": None})
        plt.close(figure)
