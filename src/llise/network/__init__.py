"""The network that names the kinds of every block: its evaluation in NumPy, and its file."""

from llise.network.evaluator import Look, look
from llise.network.model import Model, load, model

__all__ = ["Look", "Model", "load", "look", "model"]
