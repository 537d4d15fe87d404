"""The outcomes of a gate as one self-contained HTML page: what failed, why, and small pictures of it."""

from __future__ import annotations

import base64
import html
from importlib.resources import files

from llise.gate.outcome import Outcome
from llise.output.gate_reports import GateReport
from llise.output.gate_words import TITLES, reason, summary
from llise.output.policy import sealed
from llise.storage.files import printable


class GatePage(GateReport):
    """A page with an entry for each pair; those that passed are shown on demand."""

    def __init__(self) -> None:
        super().__init__()
        template = (files("llise.output") / "templates" / "check.html").read_text(encoding="utf-8")
        self._head, self._tail = sealed(template).split("<!--pairs-->\n")

    def entry(self, outcome: Outcome) -> str:
        picture = ""
        if "strip" in outcome.pictures:
            data = base64.b64encode(outcome.pictures["strip"]).decode("ascii")
            picture = f'<img src="data:image/webp;base64,{data}" alt="Reference, copy and difference">'
        name, words = (html.escape(printable(text)) for text in (outcome.name, reason(outcome)))
        text = f"<b>{TITLES[outcome.status]}</b><div><code>{name}</code><span>{words}</span></div>"
        return f'<li class="{outcome.status.value}">{text}{picture}</li>\n'

    def head(self) -> str:
        return self._head.replace("<!--summary-->", summary(self.counts))

    def tail(self) -> str:
        return self._tail
