"""The paper's experiments: public names of :mod:`llise.reproduction`."""

from llise.reproduction.evaluation import judge
from llise.reproduction.experiments import Reproduction, reproduce
from llise.reproduction.methods import METHODS, Method, Run, runs

__all__ = ["METHODS", "Method", "Reproduction", "Run", "judge", "reproduce", "runs"]
