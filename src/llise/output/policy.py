"""The content security policy of HTML pages: a page runs its own script and style, and nothing else.

The policy names the inline parts by their hashes. A script that reaches a page by another way, such as the name of a
file, is not run, and nothing is loaded from another place.
"""

from __future__ import annotations

import base64
import hashlib
import re

MARK = "<!--policy-->"
"""Place of the policy in a template: in the head, before any style or script."""

INLINE = re.compile(r"<(style|script)>(.*?)</\1>", re.DOTALL)
"""Styles and scripts; an element with a type, such as JSON data, is not run and needs no permission."""


def sealed(page: str) -> str:
    """Put the content security policy into a page."""
    if MARK not in page:
        raise ValueError(f"the page has no {MARK}; put it into the head of the template")
    sources: dict[str, list[str]] = {"style": [], "script": []}
    for kind, content in INLINE.findall(page):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode("ascii")
        sources[kind].append(f"'sha256-{digest}'")
    allowed = [f"{kind}-src {' '.join(hashes)}" for kind, hashes in sources.items() if hashes]
    policy = "; ".join(["default-src 'none'", "img-src data:", *allowed, "base-uri 'none'", "form-action 'none'"])
    return page.replace(MARK, f'<meta http-equiv="Content-Security-Policy" content="{policy}">', 1)
