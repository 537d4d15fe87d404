"""A small neural network as plain arrays: how it answers, and how it is trained, in NumPy alone.

The network has two hidden layers with rectified linear units.  It is trained on the cross-entropy by Adam with
dropout and a learning rate that rises and falls once.  scikit-learn's ``MLPClassifier`` was tried first: it has no
dropout, and named 2.5 points fewer samples of pictures kept aside rightly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

import numpy as np

Weights = list[np.ndarray]
"""Matrix and offset of each layer in turn."""

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8

HIDDEN, BATCH, RATE, DROPOUT, DECAY = (448, 224), 512, 2e-3, 0.35, 1e-3
"""Units in the hidden layers, samples in one step, largest learning rate, share of hidden units that are left out in a
step, and weight decay."""


def logits(weights: Weights, x: np.ndarray) -> np.ndarray:
    """Return the network's outputs before the softmax.

    Parameters
    ----------
    weights : list of ndarray
        Matrix and offset of each layer.
    x : ndarray of float32, shape (n, n_inputs)
        Standardised inputs.

    Returns
    -------
    ndarray of float32, shape (n, n_outputs)
        Unnormalised logarithms of the probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.judging.network import logits
    >>> layers = [np.eye(2), np.zeros(2), np.eye(2), np.zeros(2), np.ones((2, 1)), np.zeros(1)]
    >>> logits(layers, np.array([[3.0, -4.0]]))
    array([[3.]])
    """
    for matrix, offset in zip(weights[:-2:2], weights[1:-2:2]):
        x = np.maximum(x @ matrix + offset, 0)
    return x @ weights[-2] + weights[-1]


def softmax(values: np.ndarray) -> np.ndarray:
    """Return probabilities from logits, along the last axis.

    Parameters
    ----------
    values : ndarray, shape (..., n)
        Logits.

    Returns
    -------
    ndarray, shape (..., n)
        Positive numbers that sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.judging.network import softmax
    >>> softmax(np.array([0.0, 0.0]))
    array([0.5, 0.5])
    """
    values = np.exp(values - values.max(axis=-1, keepdims=True))
    return values / values.sum(axis=-1, keepdims=True)


def temperature(outputs: np.ndarray, codes: np.ndarray) -> float:
    """Return the divisor of outputs with the least cross-entropy.

    Parameters
    ----------
    outputs : ndarray, shape (n, n_classes)
        What networks say of samples that they have not seen.
    codes : ndarray of int, shape (n,)
        Class of each sample.

    Returns
    -------
    float
        Above 1 where the networks are too sure.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.judging.network import temperature
    >>> sure, half_right = np.array([[9.0, 0.0], [9.0, 0.0]]), np.array([0, 1])
    >>> temperature(sure, half_right) > 2
    True
    """
    from scipy.optimize import minimize_scalar  # only here: a diagnosis does not need it

    def loss(logarithm: float) -> float:
        probabilities = softmax(outputs / np.exp(logarithm))
        return float(-np.log(probabilities[np.arange(len(codes)), codes] + 1e-9).mean())

    return float(np.exp(minimize_scalar(loss, bounds=(-0.7, 1.6), method="bounded").x))


def train(
    x: np.ndarray,
    codes: np.ndarray,
    n_classes: int,
    *,
    hidden: tuple[int, int] = HIDDEN,
    epochs: int = 24,
    batch: int = BATCH,
    rate: float = RATE,
    dropout: float = DROPOUT,
    decay: float = DECAY,
    seed: int = 0,
    progress: Callable[[Iterable[int]], Iterable[int]] = iter,
) -> Weights:
    """Train a network to tell classes apart.

    Parameters
    ----------
    x : ndarray, shape (n, n_inputs)
        Standardised inputs; converted to float32 batch by batch.
    codes : ndarray of int, shape (n,)
        Class of each sample.
    n_classes : int
        Number of classes.
    hidden : tuple of two int
        Units in the hidden layers.
    epochs, batch : int
        Passes over the samples, and samples in one step.
    rate : float
        Largest learning rate.
    dropout : float
        Share of hidden units that are left out in a step.
    decay : float
        Weight decay.
    seed : int
        Seed of the first weights, of the order of samples and of the dropout.
    progress : callable
        Wraps the numbers of the epochs, such as tqdm.

    Returns
    -------
    list of ndarray
        Matrix and offset of each layer, float32.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.judging.network import logits, train
    >>> x = np.random.default_rng(0).standard_normal((600, 2))
    >>> codes = (x[:, 0] * x[:, 1] > 0).astype(int)
    >>> weights = train(x, codes, 2, hidden=(32, 16), epochs=40, batch=50)
    >>> bool((logits(weights, x).argmax(axis=1) == codes).mean() > 0.9)
    True
    """
    rng = np.random.default_rng(seed)
    batch = min(batch, len(x))
    weights = _first_weights((x.shape[1], *hidden, n_classes), rng)
    first, second = ([np.zeros_like(w) for w in weights] for _ in range(2))
    steps = epochs * max(len(x) // batch, 1)
    step = 0
    for _ in progress(range(epochs)):
        order = rng.permutation(len(x))
        for start in range(0, len(x) - batch + 1, batch):
            chosen = order[start : start + batch]
            gradient = _gradient(weights, x[chosen].astype(np.float32), codes[chosen], dropout, rng)
            step += 1
            speed = rate * one_cycle(step / steps)
            correction = np.sqrt(1 - BETA2**step) / (1 - BETA1**step)
            for w, g, m, v in zip(weights, gradient, first, second):
                m += (1 - BETA1) * (g - m)
                v += (1 - BETA2) * (g * g - v)
                w -= speed * (correction * m / (np.sqrt(v) + EPSILON) + decay * w)
    return weights


def _first_weights(sizes: tuple[int, ...], rng: np.random.Generator) -> Weights:
    weights: Weights = []
    for n_in, n_out in pairwise(sizes):
        weights += [
            (rng.standard_normal((n_in, n_out)) * np.sqrt(1.3 / n_in)).astype(np.float32),
            np.zeros(n_out, np.float32),
        ]
    return weights


def one_cycle(part: float) -> float:
    """Return the learning rate against its largest: up in the first 30 % of the steps, then down to nothing.

    Parameters
    ----------
    part : float
        Share of the steps that are done, 0 to 1.

    Returns
    -------
    float
        At most 1; rises and falls along cosines.

    Examples
    --------
    >>> from llise.diagnosis.judging.network import one_cycle
    >>> [round(float(one_cycle(part)), 2) for part in (0, 0.3, 1)]
    [0.04, 1.0, 0.0]
    """
    if part < 0.3:
        return 0.04 + 0.96 * 0.5 * (1 - np.cos(np.pi * part / 0.3))
    return 0.5 * (1 + np.cos(np.pi * (part - 0.3) / 0.7))


def _gradient(weights: Weights, x: np.ndarray, codes: np.ndarray, dropout: float, rng: np.random.Generator) -> Weights:
    """Gradient of the mean cross-entropy by back-propagation."""
    inputs, masks = [x], []
    for matrix, offset in zip(weights[:-2:2], weights[1:-2:2]):
        x = x @ matrix + offset
        mask = ((x > 0) & (rng.random(x.shape, dtype=np.float32) >= dropout)) / np.float32(1 - dropout)
        x = x * mask
        inputs.append(x)
        masks.append(mask)
    back = softmax(x @ weights[-2] + weights[-1])
    back[np.arange(len(codes)), codes] -= 1
    back /= len(codes)
    gradient: Weights = []
    for layer in range(len(inputs) - 1, -1, -1):
        gradient = [inputs[layer].T @ back, back.sum(axis=0), *gradient]
        if layer:
            back = (back @ weights[2 * layer].T) * masks[layer - 1]
    return gradient
