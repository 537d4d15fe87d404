"""The judge: which kinds a region has, learned once for all references and shipped with the package.

Several small networks see the features of a region and those of the faulty area around it, and their probabilities
are averaged.  The file has plain arrays only (safetensors) and says in its header for which features and sets of
kinds it was trained, on what, and the fingerprint of its arrays.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import as_file, files
from typing import Any, Protocol

import numpy as np

from llise.diagnosis.features.block_sums import BLOCK
from llise.diagnosis.features.region_features import feature_names, features
from llise.diagnosis.judging import network
from llise.diagnosis.judging.judge_files import JudgeError, read_judge, write_judge
from llise.diagnosis.second_look.novelty import Novelty
from llise.diagnosis.second_look.weighing import EvidenceWeights
from llise.diagnosis.sets import SETS, UNKNOWN_CODE
from llise.storage.array_files import fingerprint_of

VERSION = 4
"""Version of the file's form; a judge of another version is refused."""

FILE, KEY = "judge.safetensors", "llise-judge"
N_LAYERS = 3
TRAIN_AGAIN = "train it again with python -m llise.diagnosis.train"
AT_ONCE = 500
"""Regions whose features are computed at once, so that they stay in a processor's cache."""

BACKGROUND_SCALE = 20
FURTHEST = 6.0
"""Standardised features are cut at so many deviations."""


class Taught(Protocol):
    """Kinds that are told by the standardised features of regions, besides those of the judge."""

    def probabilities(self, values: np.ndarray, blocks: np.ndarray, unknown: np.ndarray) -> np.ndarray:
        """Return the probability of each kind.

        Parameters
        ----------
        values : ndarray, shape (n, n_features)
            Standardised features of regions.
        blocks : ndarray, shape (n,)
            Sizes of the regions.
        unknown : ndarray, shape (n,)
            Probabilities of faults without a name, as the judge says.

        Returns
        -------
        ndarray, shape (n, n_kinds)
            Their sum is at most one.
        """


@dataclass(frozen=True, eq=False)
class Judge:
    """Networks that name the kinds of a region.

    Attributes
    ----------
    mean, scale : ndarray of float32, shape (n_inputs,)
        Mean and deviation of each input in the training.
    networks : list of list of ndarray
        Matrix and offset of each layer of each network.
    temperature : float
        What the networks' outputs are divided by, so that the probabilities are honest on pictures kept aside.
    errors : dict of str to ndarray
        Errors of the estimates in units of the kinds, see :mod:`llise.diagnosis.training.calibration`.
    verification : EvidenceWeights
        Weights of the evidence for doubtful parts, see :mod:`llise.diagnosis.second_look.verification`.
    novelty : Novelty or None
        Tells faults without a name; None if all faults have to be named.
    background : ndarray of int8, shape (n, n_inputs)
        Standardised inputs of some parts of the training, times :data:`BACKGROUND_SCALE`, from which a taught kind is
        told.
    training : dict
        What the judge was trained on: pictures, scenes, seed.

    Examples
    --------
    >>> from llise.diagnosis.judging.judge import shipped_judge
    >>> len(shipped_judge().networks)
    4
    """

    mean: np.ndarray
    scale: np.ndarray
    networks: list[network.Weights]
    temperature: float
    errors: dict[str, np.ndarray]
    verification: EvidenceWeights
    novelty: Novelty | None
    background: np.ndarray
    training: dict[str, Any]

    def __repr__(self) -> str:
        size = f"{len(self.networks)} networks, {len(SETS)} sets of kinds"
        return f"<Judge of {size}, fingerprint {self.fingerprint()[:12]}>"

    def __call__(
        self, sums: np.ndarray, context: np.ndarray, greys: tuple[float, float, float], taught: Taught | None = None
    ) -> np.ndarray:
        """Return the probabilities of all sets of kinds.

        Parameters
        ----------
        sums : ndarray, shape (n, n_sums)
            Sums of :mod:`llise.diagnosis.features.block_sums` over each region.
        context : ndarray, shape (n_sums,)
            The same over the whole faulty area in which the regions lie.
        greys : tuple of float
            Mean, deviation and median of the reference.
        taught : Taught, optional
            Kinds that the judge was not trained for.

        Returns
        -------
        ndarray of float32, shape (n, n_sets)
            Probabilities, in the order of :data:`llise.diagnosis.sets.SETS`; then those of the taught kinds.

        Examples
        --------
        >>> import numpy as np
        >>> from llise.diagnosis.features import block_sums
        >>> from llise.diagnosis.judging.judge import shipped_judge
        >>> picture = np.arange(64 * 64, dtype=np.uint8).reshape(64, 64)
        >>> sums = block_sums.measure(picture, picture + np.uint8(9) * (picture < 200)).sum((0, 1))
        >>> shipped_judge()(sums[None], sums, (127.5, 73.9, 127.5)).shape
        (1, 64)
        """
        if len(sums) > AT_ONCE:
            parts = [sums[first : first + AT_ONCE] for first in range(0, len(sums), AT_ONCE)]
            return np.concatenate([self(part, context, greys, taught) for part in parts])
        values = features(np.concatenate([sums, context[None]]), greys)
        n = values.shape[1]
        own = standardised(values[:-1], self.mean[:n], self.scale[:n])
        around = standardised(values[-1], self.mean[n:], self.scale[n:])
        # All regions lie in the same area, so that its features only add to the offset of the first layer.
        networks = [[first[:n], offset + around @ first[n:], *others] for first, offset, *others in self.networks]
        answers = self._mean_answer(networks, own)
        if taught is None:
            return answers
        others = taught.probabilities(own, sums[:, 0] / BLOCK**2, answers[:, UNKNOWN_CODE])
        return np.concatenate([answers * (1 - others.sum(axis=1, keepdims=True)), others], axis=1)

    def probabilities(self, inputs: np.ndarray) -> np.ndarray:
        """Return the probabilities of all sets of kinds.

        Parameters
        ----------
        inputs : ndarray, shape (n, n_inputs)
            Features of regions, then those of the areas around them.

        Returns
        -------
        ndarray of float32, shape (n, n_sets)
            Mean over the networks.

        Examples
        --------
        >>> from llise.diagnosis.judging.judge import shipped_judge
        >>> judge = shipped_judge()
        >>> judge.probabilities(judge.mean[None]).shape
        (1, 64)
        """
        return self._mean_answer(self.networks, standardised(inputs, self.mean, self.scale))

    def _mean_answer(self, networks: list[network.Weights], x: np.ndarray) -> np.ndarray:
        answers = [network.softmax(network.logits(weights, x) / self.temperature) for weights in networks]
        return np.mean(answers, axis=0)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all arrays by name, as they are saved.

        Returns
        -------
        dict of str to ndarray
            Arrays of the networks, of the standardisation and of the errors of estimates.

        Examples
        --------
        >>> from llise.diagnosis.judging.judge import shipped_judge
        >>> "network0.matrix0" in shipped_judge().arrays()
        True
        """
        named = {
            "mean": self.mean, "scale": self.scale, "temperature": np.array([self.temperature], np.float32),
            "background": self.background,
        }  # fmt: skip
        named |= {f"verification.{name}": values for name, values in self.verification.arrays().items()}
        for number, weights in enumerate(self.networks):
            for layer in range(N_LAYERS):
                named[f"network{number}.matrix{layer}"] = weights[2 * layer]
                named[f"network{number}.offset{layer}"] = weights[2 * layer + 1]
        if self.novelty is not None:
            named |= {"novelty.weights": self.novelty.weights, "novelty.scores": self.novelty.scores}
        return named | {f"errors.{name}": values for name, values in self.errors.items()}

    def fingerprint(self) -> str:
        """Return the SHA-256 of all arrays.

        Returns
        -------
        str
            64 hexadecimal digits.

        Examples
        --------
        >>> from llise.diagnosis.judging.judge import shipped_judge
        >>> len(shipped_judge().fingerprint())
        64
        """
        return fingerprint_of(self.arrays())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the judge to one safetensors file.

        Parameters
        ----------
        path : str or path
            Replaced as a whole when everything is written.

        Examples
        --------
        >>> from llise.diagnosis.judging.judge import shipped_judge
        >>> shipped_judge().save("judge.safetensors")  # doctest: +SKIP
        """
        header = {
            "version": VERSION,
            "features": feature_names(),
            "sets": ["+".join(kinds) for kinds in SETS],
            "fingerprint": self.fingerprint(),
            "training": self.training,
        }
        write_judge(path, KEY, header, self.arrays())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Judge:
        """Read a judge that :meth:`save` wrote.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        Judge
            The judge.

        Raises
        ------
        JudgeError
            The file is damaged, or was trained for other features, kinds or another version.

        Examples
        --------
        >>> from llise.diagnosis.judging.judge import Judge
        >>> Judge.load("judge.safetensors")  # doctest: +SKIP
        """
        header, arrays = read_judge(path, KEY, "a judge of llise", TRAIN_AGAIN)
        known = {"version": VERSION, "features": feature_names(), "sets": ["+".join(kinds) for kinds in SETS]}
        for name, expected in known.items():
            if header.get(name) != expected:
                raise JudgeError(f"{path}: was trained for another list of {name} than this llise has; {TRAIN_AGAIN}")
        try:
            judge = cls._from_arrays(arrays, header.get("training", {}))
        except (KeyError, IndexError) as error:
            raise JudgeError(f"{path}: lacks the array {error}; {TRAIN_AGAIN}") from None
        if judge.fingerprint() != header.get("fingerprint"):
            raise JudgeError(f"{path}: changed since it was trained; {TRAIN_AGAIN}")
        return judge

    @classmethod
    def _from_arrays(cls, arrays: dict[str, np.ndarray], training: dict[str, Any]) -> Judge:
        count = sum(name.endswith(".matrix0") for name in arrays)
        networks = [
            [arrays[f"network{number}.{part}{layer}"] for layer in range(N_LAYERS) for part in ("matrix", "offset")]
            for number in range(count)
        ]
        errors = {name.removeprefix("errors."): values for name, values in arrays.items() if name.startswith("errors.")}
        temperature = float(arrays["temperature"][0])
        verification = EvidenceWeights(*(arrays[f"verification.{part.name}"] for part in fields(EvidenceWeights)))
        novelty = Novelty(arrays["novelty.weights"], arrays["novelty.scores"]) if "novelty.weights" in arrays else None
        return cls(
            arrays["mean"], arrays["scale"], networks, temperature, errors, verification, novelty,
            arrays["background"], training,
        )  # fmt: skip


def standardised(inputs: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return inputs with mean 0 and deviation 1 in the training, cut at :data:`FURTHEST` deviations.

    Parameters
    ----------
    inputs : ndarray, shape (n, n_inputs)
        Features.
    mean, scale : ndarray, shape (n_inputs,)
        Their mean and deviation in the training.

    Returns
    -------
    ndarray of float32, shape (n, n_inputs)
        What the networks see.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.judging.judge import standardised
    >>> standardised(np.array([[3.0, 99.0]]), np.float32([1, 0]), np.float32([2, 1]))
    array([[1., 6.]], dtype=float32)
    """
    return np.clip((inputs.astype(np.float32) - mean) / scale, -FURTHEST, FURTHEST)


def greys(reference: np.ndarray) -> tuple[float, float, float]:
    """Return mean, deviation and median of a reference.

    Parameters
    ----------
    reference : ndarray, shape (h, w)
        Grey values.

    Returns
    -------
    tuple of float
        The three numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.judging.judge import greys
    >>> greys(np.array([[1, 1], [1, 5]]))[::2]
    (2.0, 1.0)
    """
    return float(reference.mean()), float(reference.std()), float(np.median(reference))


@cache
def shipped_judge() -> Judge:
    """Return the judge that comes with the package, read once.

    Returns
    -------
    Judge
        The judge.

    Examples
    --------
    >>> from llise.diagnosis.judging.judge import shipped_judge
    >>> shipped_judge() is shipped_judge()
    True
    """
    with as_file(files("llise.diagnosis") / FILE) as path:
        return Judge.load(path)
