"""The outcomes of a gate as JUnit XML, which CI servers show as the results of tests."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

from llise.gate.outcome import Outcome, Status
from llise.output.gate_reports import GateReport
from llise.output.gate_words import reason
from llise.storage.files import printable

SUITE = "llise check"


class JUnit(GateReport):
    """A test suite with a test case for each pair.

    A pair that fails is a failure of the type ``fail`` or ``unknown``; a file that cannot be read is an error.
    """

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0

    def entry(self, outcome: Outcome) -> str:
        self.seconds += outcome.seconds
        case = f'testcase name={_attribute(outcome.name)} classname={_attribute(SUITE)} time="{outcome.seconds:.3f}"'
        if outcome.status is Status.PASS:
            return f"<{case}/>\n"
        element = "error" if outcome.status is Status.ERROR else "failure"
        problem = f'{element} type="{outcome.status.value}" message={_attribute(reason(outcome))}'
        return f"<{case}>\n<{problem}/>\n</testcase>\n"

    def head(self) -> str:
        failures = self.counts[Status.FAIL] + self.counts[Status.UNKNOWN]
        errors = self.counts[Status.ERROR]
        common = f'name={_attribute(SUITE)} tests="{self.counts.total()}" failures="{failures}" errors="{errors}"'
        time = f'time="{self.seconds:.3f}"'
        return (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            f'<testsuites {common} {time}>\n<testsuite {common} skipped="0" {time}>\n'
        )

    def tail(self) -> str:
        return "</testsuite>\n</testsuites>\n"


def _attribute(text: str) -> str:
    """A quoted attribute; characters that XML cannot hold are escaped as on a terminal."""
    return quoteattr(printable(text))
