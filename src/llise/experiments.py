"""The paper's experiments: the public face of :mod:`llise.reproduction`."""

from llise.reproduction.experiments import METHODS, Method, Reproduction, Run, judge, reproduce, runs

__all__ = ["METHODS", "Method", "Reproduction", "Run", "judge", "reproduce", "runs"]
