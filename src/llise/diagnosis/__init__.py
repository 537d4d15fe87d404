"""What is wrong with a degraded copy of a reference, where, and how strongly.

align -> one look of the network -> regions -> refit and score -> faults
"""

from llise.diagnosis.diagnoser import Diagnoser, diagnose
from llise.diagnosis.result import Diagnosis, Fault, Interval

__all__ = ["Diagnoser", "Diagnosis", "Fault", "Interval", "diagnose"]
