"""The HTML report of diagnoses: public names of :mod:`llise.output`."""

from llise.output.page import HtmlReport
from llise.output.words import verdict_sentence

__all__ = ["HtmlReport", "verdict_sentence"]
