"""The paper's published iterations, transcribed literally: loops as the equations read, slow, and nothing of llise.

The fast code must agree with this from the same start.  Everything is for one block position: ``blocks`` (n, q) are
the i-th blocks of n images as vectors, with grey values in [0, 1].  Names in brackets are the labels of the paper's
equations.
"""

from __future__ import annotations

import math

import numpy as np

# ------------------------------------------------------------------------------------- blocks, kernels, neighbours


def ssim_constant(q: int, data_range: float = 1.0) -> float:
    """c = (q - 1) c_2, c_2 = (0.03 l)^2."""
    return (q - 1) * (0.03 * data_range) ** 2


def centred(block: np.ndarray) -> np.ndarray:
    """A block without its mean."""
    return block - sum(block) / len(block)


def kernel_value(x: np.ndarray, y: np.ndarray, kernel: str, gamma: float) -> float:
    """k(x, y) of the experiments' section; ``linear`` is the inner product of the centred blocks."""
    if kernel == "linear":
        return float(centred(x) @ centred(y))
    if kernel == "poly":
        return float((gamma * (x @ y) + 1) ** 3)
    if kernel == "rbf":
        return math.exp(-gamma * float((x - y) @ (x - y)))
    if kernel == "sigmoid":
        return math.tanh(gamma * float(x @ y) + 1)
    raise ValueError(kernel)


def gram(blocks: np.ndarray, kernel: str = "linear", gamma: float | None = None) -> np.ndarray:
    """K (n, n): K(a, b) / sqrt(K(a, a) K(b, b)), then HKH; the linear one is of blocks that are centred already."""
    n, q = blocks.shape
    gamma = 1 / q if gamma is None else gamma
    K = np.array([[kernel_value(x, y, kernel, gamma) for y in blocks] for x in blocks])
    if kernel == "linear":
        return K
    normalised = np.array([[K[a, b] / math.sqrt(K[a, a] * K[b, b]) for b in range(n)] for a in range(n)])
    H = np.eye(n) - np.ones((n, n)) / n
    return H @ normalised @ H


def neighbours(K: np.ndarray, k: int) -> np.ndarray:
    """The k nearest other images of each image (n, k), by feature-space distance; ties by index."""
    n = len(K)
    out = np.empty((n, k), int)
    for j in range(n):
        others = [r for r in range(n) if r != j]
        others.sort(key=lambda r: (K[j, j] - 2 * K[j, r] + K[r, r], r))
        out[j] = others[:k]
    return out


# -------------------------------------------------------------------------------------------------------- weights


def f(w: np.ndarray, K: np.ndarray, kv: np.ndarray, a: float, c: float) -> float:
    """[equation_kernel_LLISE_f]: the SSIM distance of a block and its reconstruction, by inner products."""
    return (a + w @ K @ w - 2 * w @ kv) / (a + w @ K @ w + c)


def f_of_blocks(w: np.ndarray, x: np.ndarray, X: np.ndarray, c: float) -> float:
    """[equation_LLISE_f]: the same from the block x (q,) and its neighbours as columns of X (q, k)."""
    return (x @ x + w @ X.T @ X @ w - 2 * w @ X.T @ x) / (x @ x + w @ X.T @ X @ w + c)


def gradient_f(w: np.ndarray, K: np.ndarray, kv: np.ndarray, a: float, c: float) -> np.ndarray:
    """[equation_kernel_LLISE_derivative_f]."""
    return 2 * ((1 - f(w, K, kv, a, c)) * (K @ w) - kv) / (a + w @ K @ w + c)


def gradient_f_of_blocks(w: np.ndarray, x: np.ndarray, X: np.ndarray, c: float) -> np.ndarray:
    """[equation_LLISE_derivative_f]."""
    return 2 * X.T @ ((1 - f_of_blocks(w, x, X, c)) * (X @ w) - x) / (x @ x + w @ X.T @ X @ w + c)


def admm_weights(K, kv, a, c, rho, eta, n_iter, start, affine: bool = False) -> np.ndarray:
    """[equation_LLISE_reconst_ADMM_updates] in Gram form from ``start`` = w, xi, j; returns w.

    ``affine`` projects onto 1'w = 1 instead, the constraint that the paper gives up.
    """
    w, xi, j = (np.array(part, float) for part in start)
    for _ in range(n_iter):
        w = w - eta * gradient_f(w, K, kv, a, c) - eta * rho * (w - xi + j)
        xi = _projected_weights(w + j, affine)
        j = j + w - xi
    return w


def admm_weights_of_blocks(x, X, c, rho, eta, n_iter, start) -> np.ndarray:
    """[equation_LLISE_reconst_ADMM_updates] as the paper prints it, with the neighbours as columns of X."""
    w, xi, j = (np.array(part, float) for part in start)
    for _ in range(n_iter):
        w = w - eta * gradient_f_of_blocks(w, x, X, c) - eta * rho * (w - xi + j)
        xi = (w + j) / math.sqrt((w + j) @ (w + j))
        j = j + w - xi
    return w


def _projected_weights(v: np.ndarray, affine: bool) -> np.ndarray:
    return v + (1 - sum(v)) / len(v) if affine else v / math.sqrt(v @ v)


# ------------------------------------------------------------------------------------------------------ embedding


def dense(weights: np.ndarray, neighbors: np.ndarray) -> np.ndarray:
    """The vectors w_j as rows of one (n, n) matrix: zero where r is no neighbour of j."""
    n = len(weights)
    W = np.zeros((n, n))
    for j in range(n):
        for w, r in zip(weights[j], neighbors[j]):
            W[j, r] += w
    return W


def theta(Y: np.ndarray, w: np.ndarray, j: int, c: float) -> float:
    """[equation_LLISE_theta_Y]: tr(Y' M_j Y) / (tr(Y' Psi_j Y) + c)."""
    M, Psi = _M_and_Psi(w, j)
    return np.trace(Y.T @ M @ Y) / (np.trace(Y.T @ Psi @ Y) + c)


def gradient_theta(Y: np.ndarray, w: np.ndarray, j: int, c: float, as_printed: bool = False) -> np.ndarray:
    """[equation_LLISE_gradient_theta_Y], with M_j as printed, or with its symmetric part, which is the gradient."""
    M, Psi = _M_and_Psi(w, j)
    value = theta(Y, w, j, c)
    if not as_printed:
        M = (M + M.T) / 2
    return 2 / (np.trace(Y.T @ Psi @ Y) + c) * (M - value * Psi) @ Y


def _M_and_Psi(w: np.ndarray, j: int) -> tuple[np.ndarray, np.ndarray]:
    one = np.zeros(len(w))
    one[j] = 1
    Psi = np.outer(one, one) + np.outer(w, w)
    return Psi - 2 * np.outer(one, w), Psi


def project(A: np.ndarray, singular_value: float) -> np.ndarray:
    """Pi: remove the mean over images, then set every singular value."""
    n = len(A)
    H = np.eye(n) - np.ones((n, n)) / n
    Q, sigma, Omega = np.linalg.svd(H @ A, full_matrices=False)
    return Q @ np.diag(np.full(len(sigma), singular_value)) @ Omega


def admm_embedding(W, c, rho, eta, n_iter, start, as_published: bool = False) -> np.ndarray:
    """[equation_LLISE_ADMM_updates] from ``start`` = Y, V, J for dense weights W (n, n); returns Y.

    ``as_published`` keeps the two errors in the paper: M_j as printed in the gradient, and singular values n;
    otherwise M_j is made symmetric and the singular values are sqrt(n), which is what (1/n) Y'Y = I asks for.
    """
    Y, V, J = (np.array(part, float) for part in start)
    n = len(W)
    for _ in range(n_iter):
        total = sum(gradient_theta(Y, W[j], j, c, as_published) for j in range(n))
        Y = Y - eta * total - eta * rho * (Y - V + J)
        V = project(Y + J, n if as_published else math.sqrt(n))
        J = J + Y - V
    return Y


# -------------------------------------------------------------------------------------------------- a whole block


def local(K: np.ndarray, neighbors: np.ndarray, j: int) -> tuple[np.ndarray, np.ndarray, float]:
    """K_j among the neighbours of image j, k_j with them, and its squared norm, from the Gram matrix (n, n)."""
    return K[np.ix_(neighbors[j], neighbors[j])], K[neighbors[j], j], K[j, j]


def embed_block(
    blocks, k, kernel, weight_start, embedding_start, *, rho, eta, rho_embedding=0.01, eta_embedding=0.01,
    iterations, as_published=False, mend=lambda *problem: problem,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Weights (n, k), neighbours (n, k) and embedding (n, p) of the i-th blocks of n images, as published.

    ``weight_start`` (3, n, k) and ``embedding_start`` (3, n, p); ``iterations`` of weights and embedding.
    ``mend`` may change each local problem K_j, k_j, |x_j|^2 first, as is done for indefinite kernels when not
    following the paper to the letter.
    """
    n, q = blocks.shape
    c = ssim_constant(q)
    K = gram(blocks, kernel)
    near = neighbours(K, k)
    weights = np.empty((n, k))
    for j in range(n):
        weights[j] = admm_weights(*mend(*local(K, near, j)), c, rho, eta, iterations[0], weight_start[:, j])
    W = dense(weights, near)
    Y = admm_embedding(W, c, rho_embedding, eta_embedding, iterations[1], embedding_start, as_published)
    return weights, near, Y
