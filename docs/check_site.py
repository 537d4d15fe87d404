"""Check a built site: every link, anchor and picture inside resolves, and nothing is loaded from another address.

python docs/check_site.py docs/_build/html
"""

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("img", "src"), ("script", "src"), ("link", "href"), ("source", "src"), ("iframe", "src"), ("video", "src")}
"""Attributes whose address a browser loads to show the page."""


class Page(HTMLParser):
    """Anchors and addresses of a page."""

    def __init__(self, path):
        super().__init__()
        self.anchors = set()
        self.addresses = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if value and (name == "id" or (tag, name) == ("a", "name")):
                self.anchors.add(value)
            elif value and ((tag, name) in LOADED or (tag, name) == ("a", "href")):
                self.addresses.append((tag, name, value))
            elif value and name == "srcset":
                self.addresses += [(tag, "src", part.split()[0]) for part in value.split(",") if part.strip()]


@cache
def read_page(path):
    return Page(path)


def problem_of(page, folder, tag, name, address):
    """What is wrong with an address on a page; empty if nothing is."""
    parts = urlsplit(address)
    if parts.scheme in ("http", "https") or parts.netloc:
        return "is loaded from another address" if (tag, name) in LOADED and tag != "link" else ""
    if parts.scheme:  # data:, mailto:
        return ""
    target = page if not parts.path else (page.parent / unquote(parts.path)).resolve()
    target = target / "index.html" if target.is_dir() else target
    if not target.is_file():
        return "does not exist"
    if not target.is_relative_to(folder):
        return "is outside the site"
    anchor = unquote(parts.fragment)
    if anchor and target.suffix == ".html" and anchor not in read_page(target).anchors:
        return "has no such anchor"
    return ""


def pages(folder):
    """The pages of a site; the theme has templates among its files."""
    return sorted(path for path in folder.rglob("*.html") if "_static" not in path.relative_to(folder).parts)


def problems(folder):
    """All problems of a site, one line each."""
    folder = Path(folder).resolve()
    for page in pages(folder):
        for tag, name, address in dict.fromkeys(read_page(page).addresses):
            problem = problem_of(page, folder, tag, name, address)
            if problem:
                yield f"{page.relative_to(folder)}: {address} {problem}"


def main():
    folder = Path(sys.argv[1])
    if not (folder / "index.html").is_file():
        sys.exit(f"{folder} has no index.html; build the site first: make -C docs html")
    lines = list(problems(folder))
    print(*lines, sep="\n", end="\n" if lines else "")
    print(f"{len(pages(folder))} pages, {len(lines)} problems")
    sys.exit(1 if lines else 0)


if __name__ == "__main__":
    main()
