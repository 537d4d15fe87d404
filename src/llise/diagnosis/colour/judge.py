"""The colour judge: which kind of colour fault an area has, and whether its luma has a fault besides.

Small networks that were trained once, by ``python -m llise.diagnosis.colour_train``; the file beside this module has
plain arrays only (safetensors), and says in its header what it was trained for.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import as_file, files
from typing import Any

import numpy as np

from llise.diagnosis.judging import network
from llise.diagnosis.judging.judge import standardised
from llise.diagnosis.judging.judge_files import JudgeError, read_judge, write_judge
from llise.labels import COLOR_KINDS, UNKNOWN
from llise.storage.array_files import fingerprint_of

FILE, KEY = "colour_judge.safetensors", "llise"
NONE = "none"

ANSWERS = (NONE, *COLOR_KINDS, UNKNOWN)
"""What the judge can say of the colours of an area: faults of its luma account for them, a kind, or another rule."""


@dataclass(frozen=True, eq=False)
class ColourJudge:
    """Networks that name the colour fault of an area.

    Attributes
    ----------
    mean, scale : ndarray of float32, shape (n_features,)
        What features are standardised with.
    colours, lumas : list of list of ndarray
        Networks for the answers, and for whether the luma has a fault besides; each list is averaged.
    temperature : ndarray of float32, shape (2,)
        Divisors of the outputs that make both probabilities honest.
    training : dict
        What it was trained on.

    Examples
    --------
    >>> from llise.diagnosis.colour.judge import shipped_colour_judge
    >>> judge = shipped_colour_judge()
    >>> probabilities, luma = judge(judge.mean)
    >>> len(probabilities), 0 <= luma <= 1
    (6, True)
    """

    mean: np.ndarray
    scale: np.ndarray
    colours: list[network.Weights]
    lumas: list[network.Weights]
    temperature: np.ndarray
    training: dict[str, Any] = field(default_factory=dict)

    def __call__(self, features: np.ndarray) -> tuple[np.ndarray, float]:
        """Judge an area.

        Parameters
        ----------
        features : ndarray, shape (n_features,)
            What :func:`llise.diagnosis.colour.features.fit_area` measures.

        Returns
        -------
        probabilities : ndarray, shape (n_answers,)
            Of each of :data:`ANSWERS`.
        luma : float
            Probability that the luma has a fault besides.
        """
        x = standardised(features[None], self.mean, self.scale)
        answers = [
            np.mean([network.softmax(network.logits(weights, x)[0] / divisor) for weights in networks], axis=0)
            for networks, divisor in zip((self.colours, self.lumas), self.temperature)
        ]
        return answers[0], float(answers[1][1])

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all arrays.

        Returns
        -------
        dict of str to ndarray
            By name.
        """
        arrays = {"mean": self.mean, "scale": self.scale, "temperature": self.temperature}
        for name, networks in (("colours", self.colours), ("lumas", self.lumas)):
            for number, weights in enumerate(networks):
                arrays |= {f"{name}.{number}.{layer}": values for layer, values in enumerate(weights)}
        return arrays

    def fingerprint(self) -> str:
        """Return the SHA-256 of all arrays.

        Returns
        -------
        str
            Hexadecimal digits.
        """
        return fingerprint_of(self.arrays())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the judge to one safetensors file.

        Parameters
        ----------
        path : str or path
            The file.
        """
        header = {"answers": list(ANSWERS), "training": self.training, "fingerprint": self.fingerprint()}
        write_judge(path, KEY, header, self.arrays())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ColourJudge:
        """Read a judge.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        ColourJudge
            The judge.

        Raises
        ------
        JudgeError
            The file is missing, damaged or for other answers.
        """
        advice = "train it again with python -m llise.diagnosis.colour_train"
        header, arrays = read_judge(path, KEY, "a colour judge", advice)
        if header.get("answers") != list(ANSWERS):
            raise JudgeError(f"{path}: was trained for other answers than {', '.join(ANSWERS)}; {advice}")
        try:
            judge = cls._from_arrays(arrays, header.get("training", {}))
        except KeyError as error:
            raise JudgeError(f"{path}: lacks the array {error}; {advice}") from None
        if judge.fingerprint() != header.get("fingerprint"):
            raise JudgeError(f"{path}: its arrays were changed; {advice}")
        return judge

    @classmethod
    def _from_arrays(cls, arrays: dict[str, np.ndarray], training: dict[str, Any]) -> ColourJudge:
        def networks(name: str) -> list[network.Weights]:
            numbers = sorted({int(key.split(".")[1]) for key in arrays if key.startswith(f"{name}.")})
            return [[arrays[f"{name}.{number}.{layer}"] for layer in range(6)] for number in numbers]

        return cls(
            arrays["mean"], arrays["scale"], networks("colours"), networks("lumas"), arrays["temperature"], training
        )


@cache
def shipped_colour_judge() -> ColourJudge:
    """Return the judge that comes with the package, read once.

    Returns
    -------
    ColourJudge
        The judge.

    Examples
    --------
    >>> from llise.diagnosis.colour.judge import shipped_colour_judge
    >>> shipped_colour_judge() is shipped_colour_judge()
    True
    """
    with as_file(files("llise.diagnosis") / FILE) as path:
        return ColourJudge.load(path)
