"""What is wrong with a degraded copy of a reference, where, and how strongly.

where it differs -> areas -> tiles judged -> parts -> faults -> estimates -> report
"""

from llise.diagnosis.diagnoser import Diagnoser, diagnose
from llise.diagnosis.result import Diagnosis, Fault, Interval

__all__ = ["Diagnoser", "Diagnosis", "Fault", "Interval", "diagnose"]
