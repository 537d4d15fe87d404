"""What is wrong with a degraded copy of a reference, where, and how strongly."""

from llise.diagnosis.diagnoser import Diagnoser, Diagnosis, diagnose

__all__ = ["Diagnoser", "Diagnosis", "diagnose"]
