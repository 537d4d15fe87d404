"""The HTML report of diagnoses: the public face of :mod:`llise.output.page`."""

from llise.output.page import HtmlReport, verdict_sentence, write_html

__all__ = ["HtmlReport", "verdict_sentence", "write_html"]
