"""Compiled kernels from weights to coordinates (equation numbers: docs/math.md).

One block position at a time, everything of it in cache.  Coordinates are held transposed, (p, n), so that inner
loops run along images.  S is the sparse matrix of weights, row j on the neighbours of image j, and A = I - S.
"""

from __future__ import annotations

import numpy as np

from ._jit import FAST, jit
from ._numba_weights import _eigen

DAMPING = 1e-11  # of the mean diagonal, added to the preconditioner
MAX_PRODUCTS = 8  # Hessian products of one Newton step
START_ROUNDS = 12  # of inverse iteration, at the most
STIFFNESS = 1e3  # of the mean diagonal, holds the direction of ones


# ------------------------------------------------------------------------------------ objective, eq. 25-29


@jit()
def _times_S(w, nb, Y, out):
    """S Y."""
    p, n = Y.shape
    k = w.shape[1]
    for i in range(p):
        y = Y[i]
        for j in range(n):
            total = 0.0
            for r in range(k):
                total += w[j, r] * y[nb[j, r]]
            out[i, j] = total


@jit()
def _subtract_St(w, nb, V, out):
    """out -= S' V."""
    p, n = V.shape
    k = w.shape[1]
    for i in range(p):
        o = out[i]
        for j in range(n):
            v = V[i, j]
            for r in range(k):
                o[nb[j, r]] -= w[j, r] * v


@jit(fastmath=FAST)
def _theta(w, nb, Y, c, SY, AY, alpha, beta):
    """Fill SY, AY, alpha_j = |(AY)_j|^2, beta_j = |y_j|^2 + |(SY)_j|^2 + c; return sum alpha / beta (eq. 26)."""
    p, n = Y.shape
    _times_S(w, nb, Y, SY)
    for j in range(n):
        alpha[j] = 0.0
        beta[j] = c
    for i in range(p):
        for j in range(n):
            AY[i, j] = Y[i, j] - SY[i, j]
            alpha[j] += AY[i, j] * AY[i, j]
            beta[j] += Y[i, j] * Y[i, j] + SY[i, j] * SY[i, j]
    total = 0.0
    for j in range(n):
        total += alpha[j] / beta[j]
    return total


@jit(fastmath=FAST)
def _gradient(w, nb, Y, SY, AY, alpha, beta, work, G):
    """G = 2 [A' D(1/beta) A - D(theta/beta) - S' D(theta/beta) S] Y (eq. 27)."""
    p, n = Y.shape
    for i in range(p):
        for j in range(n):
            v = AY[i, j] / beta[j]
            tau = alpha[j] / (beta[j] * beta[j])
            work[i, j] = 2.0 * (v + tau * SY[i, j])
            G[i, j] = 2.0 * (v - tau * Y[i, j])
    _subtract_St(w, nb, work, G)


@jit(fastmath=FAST)
def _hessian(w, nb, Y, SY, AY, alpha, beta, U, SU, da, db, work, H):
    """H = derivative of the gradient along U (eq. 28)."""
    p, n = Y.shape
    _times_S(w, nb, U, SU)
    for j in range(n):
        da[j] = 0.0
        db[j] = 0.0
    for i in range(p):
        for j in range(n):
            da[j] += 2.0 * AY[i, j] * (U[i, j] - SU[i, j])
            db[j] += 2.0 * (Y[i, j] * U[i, j] + SY[i, j] * SU[i, j])
    for j in range(n):
        da[j] = (da[j] - 2.0 * alpha[j] * db[j] / beta[j]) / (beta[j] * beta[j])  # derivative of theta / beta
        db[j] /= beta[j]
    for i in range(p):
        for j in range(n):
            v = (U[i, j] - SU[i, j] - AY[i, j] * db[j]) / beta[j]
            tau = alpha[j] / (beta[j] * beta[j])
            work[i, j] = 2.0 * (v + tau * SU[i, j] + da[j] * SY[i, j])
            H[i, j] = 2.0 * (v - tau * U[i, j] - da[j] * Y[i, j])
    _subtract_St(w, nb, work, H)


# ------------------------------------------------------------------------ constraint set and tangent space


@jit(fastmath=FAST)
def _dot(x, y):
    total = 0.0
    for j in range(x.size):
        total += x[j] * y[j]
    return total


@jit(fastmath=FAST)
def _inner(X, Y):
    total = 0.0
    for i in range(X.shape[0]):
        total += _dot(X[i], Y[i])
    return total


@jit(fastmath=FAST)
def _project(Y, U):
    """Onto the tangent space in place: U - Y Y'U / n, centred (eq. 30)."""
    p, n = Y.shape
    for i in range(p):
        mean = 0.0
        for j in range(n):
            mean += U[i, j]
        mean /= n
        for j in range(n):
            U[i, j] -= mean
    for i in range(p):
        for s in range(p):
            part = _dot(Y[s], U[i]) / n
            for j in range(n):
                U[i, j] -= part * Y[s, j]


@jit(fastmath=FAST)
def _orthonormalise(Y):
    """Rows centred, orthogonal and of squared length n: modified Gram-Schmidt, twice (eq. 31).

    A row that vanishes (a start without enough directions) is replaced by a cosine of the image index.
    """
    p, n = Y.shape
    spare = 1
    for i in range(p):
        before = _dot(Y[i], Y[i])  # with its mean: a constant row vanishes too
        again = 0
        while again < 2:
            mean = 0.0
            for j in range(n):
                mean += Y[i, j]
            mean /= n
            for j in range(n):
                Y[i, j] -= mean
            for s in range(i):
                part = _dot(Y[s], Y[i]) / n
                for j in range(n):
                    Y[i, j] -= part * Y[s, j]
            square = _dot(Y[i], Y[i])
            if again == 0 and not square > 1e-20 * before and spare < n:
                for j in range(n):
                    Y[i, j] = np.cos(np.pi * spare * (j + 0.5) / n)
                before = _dot(Y[i], Y[i])
                spare += 1
                continue
            factor = np.sqrt(n / square)
            for j in range(n):
                Y[i, j] *= factor
            again += 1


# --------------------------------------------------------------------------------- Cholesky of A' D A, eq. 33


@jit(fastmath=FAST)
def _factor(w, nb, d, M):
    """Upper Cholesky factor of A' diag(d) A + (damping I + stiffness 11'/n) times its mean diagonal, in place."""
    n, k = w.shape
    for i in range(n):
        for j in range(n):
            M[i, j] = 0.0
    for j in range(n):
        M[j, j] += d[j]
        for r in range(k):
            u = d[j] * w[j, r]
            x = nb[j, r]
            M[min(x, j), max(x, j)] -= u
            for s in range(r + 1):
                y = nb[j, s]
                M[min(x, y), max(x, y)] += u * w[j, s]
    mean = 0.0
    for i in range(n):
        mean += M[i, i]
    mean /= n
    for i in range(n):
        M[i, i] += DAMPING * mean
        for j in range(i, n):
            M[i, j] += STIFFNESS * mean / n
    _cholesky(M, 1e-14 * mean)


@jit(fastmath=FAST)
def _cholesky(M, floor):
    """Upper Cholesky factor in place; four pivot rows at a time, so that each row is read a quarter as often."""
    n = M.shape[0]
    for i in range(0, n, 4):
        last = min(i + 4, n)
        for t in range(i, last):
            for s in range(i, t):
                _subtract(M[s, t], M[s, t:], M[t, t:])
            root = 1.0 / np.sqrt(max(M[t, t], floor))
            row = M[t, t:]
            for j in range(n - t):
                row[j] *= root
        for s in range(last, n):  # only full panels have rows below them
            _subtract_four(M[i : i + 4], s, M[s, s:])


@jit(fastmath=FAST)
def _subtract_four(X, s, y):
    """y -= X' X[:, s] for four rows X."""
    a, b, c, d = X[0, s:], X[1, s:], X[2, s:], X[3, s:]
    p, q, r, t = a[0], b[0], c[0], d[0]
    for j in range(y.size):
        y[j] -= p * a[j] + q * b[j] + r * c[j] + t * d[j]


@jit(fastmath=FAST)
def _subtract(part, x, y):
    """y -= part x."""
    for j in range(x.size):
        y[j] -= part * x[j]


@jit(fastmath=FAST)
def _solve(M, X):
    """X := (M'M)^-1 X for the upper factor M, row by row of X."""
    n = M.shape[0]
    p = X.shape[0]
    for i in range(n):
        row = M[i, i + 1 :]
        for c in range(p):
            X[c, i] /= M[i, i]
            _subtract(X[c, i], row, X[c, i + 1 :])
    for last in range(n):
        i = n - 1 - last
        row = M[i, i + 1 :]
        for c in range(p):
            X[c, i] = (X[c, i] - _dot(row, X[c, i + 1 :])) / M[i, i]


@jit(fastmath=FAST)
def _compress(M, Y, MB, C):
    """For the tangent space {U : B'U = 0}, B = [Y 1]: MB = M^-1 B and the Cholesky factor of B' M^-1 B."""
    p, n = Y.shape
    for i in range(p):
        for j in range(n):
            MB[i, j] = Y[i, j]
    for j in range(n):
        MB[p, j] = 1.0
    _solve(M, MB)
    for i in range(p + 1):
        for s in range(p):
            C[i, s] = _dot(MB[i], Y[s])
        total = 0.0
        for j in range(n):
            total += MB[i, j]
        C[i, p] = total
    for i in range(p + 1):  # lower Cholesky of a small matrix
        for s in range(i + 1):
            total = 0.5 * (C[i, s] + C[s, i]) if s < i else C[i, i]
            for t in range(s):
                total -= C[i, t] * C[s, t]
            C[i, s] = np.sqrt(max(total, 1e-300)) if i == s else total / C[s, s]


@jit(fastmath=FAST)
def _precondition(M, Y, MB, C, R, Z):
    """Z = M^-1 R made tangent: M^-1 (R - B lambda) with B'Z = 0 (eq. 34)."""
    p, n = Y.shape
    part = np.empty(p + 1)
    for i in range(p):
        for j in range(n):
            Z[i, j] = R[i, j]
    _solve(M, Z)
    for i in range(p):
        total = 0.0
        for j in range(n):
            total += Z[i, j]
        for s in range(p):
            part[s] = _dot(Y[s], Z[i])
        part[p] = total
        for s in range(p + 1):
            for t in range(s):
                part[s] -= C[s, t] * part[t]
            part[s] /= C[s, s]
        for s in range(p, -1, -1):
            for t in range(s + 1, p + 1):
                part[s] -= C[t, s] * part[t]
            part[s] /= C[s, s]
        for s in range(p + 1):
            for j in range(n):
                Z[i, j] -= part[s] * MB[s, j]
    _project(Y, Z)  # rounding


# ------------------------------------------------------------------------------------------- exact embedding


@jit(fastmath=FAST)
def _spectral_start(w, nb, M, Y, rounds):
    """The p lowest eigenvectors of A'A among centred vectors, by inverse subspace iteration from Y (eq. 32)."""
    p, n = Y.shape
    old = np.empty((p, n))
    _factor(w, nb, np.ones(n), M)
    _orthonormalise(Y)
    for _ in range(rounds):
        old[:] = Y
        _solve(M, Y)
        _orthonormalise(Y)
        kept = 0.0
        for i in range(p):
            for s in range(p):
                part = _dot(old[s], Y[i]) / n
                kept += part * part
        if p - kept < 1e-4 * p:
            break


@jit(fastmath=FAST)
def _newton_step(w, nb, Y, SY, AY, alpha, beta, G, R, M, MB, C, forcing, U):
    """Truncated conjugate gradients on Hess[U] = -grad in the tangent space (eq. 35); returns Hessian products."""
    p, n = Y.shape
    SU = np.empty((p, n))
    work = np.empty((p, n))
    H = np.empty((p, n))
    Z = np.empty((p, n))
    D = np.empty((p, n))
    da = np.empty(n)
    db = np.empty(n)
    YG = np.empty((p, p))
    for i in range(p):
        for s in range(p):
            YG[i, s] = 0.5 * (_dot(Y[s], G[i]) + _dot(Y[i], G[s])) / n
    U[:] = 0.0
    residual = R.copy()
    first = np.sqrt(_inner(residual, residual))
    _precondition(M, Y, MB, C, residual, Z)
    D[:] = -Z
    rz = _inner(residual, Z)
    products = 0
    while products < MAX_PRODUCTS:
        products += 1
        _hessian(w, nb, Y, SY, AY, alpha, beta, D, SU, da, db, work, H)
        for i in range(p):
            for s in range(p):
                for j in range(n):
                    H[i, j] -= YG[i, s] * D[s, j]
        _project(Y, H)
        curvature = _inner(D, H)
        if not curvature > 0.0:  # a saddle: go along D as far as the manifold bends, the line search comes back
            far = np.sqrt(n * p / _inner(D, D))
            for i in range(p):
                for j in range(n):
                    U[i, j] += far * D[i, j]
            break
        step = rz / curvature
        for i in range(p):
            for j in range(n):
                U[i, j] += step * D[i, j]
                residual[i, j] += step * H[i, j]
        if np.sqrt(_inner(residual, residual)) <= forcing * first:
            break
        _precondition(M, Y, MB, C, residual, Z)
        fresh = _inner(residual, Z)
        ratio = fresh / rz
        rz = fresh
        for i in range(p):
            for j in range(n):
                D[i, j] = -Z[i, j] + ratio * D[i, j]
    return products


@jit(fastmath=FAST)
def _gradient_scale(Y, G, beta):
    """What a gradient is small against: |G|, or where G vanishes 1e-8 of the terms 2/beta it is made of (eq. 36)."""
    terms = 0.0
    for j in range(beta.size):
        terms += 1.0 / (beta[j] * beta[j])
    return max(np.sqrt(_inner(G, G)), 2e-8 * np.sqrt(Y.shape[0] * terms))


@jit(fastmath=FAST)
def _minimise(w, nb, c, Y, M, tol, max_iter, result, history):
    """Riemannian Newton-CG with backtracking from Y; fills objective, stationarity and iterations."""
    p, n = Y.shape
    SY = np.empty((p, n))
    AY = np.empty((p, n))
    alpha = np.empty(n)
    beta = np.empty(n)
    G = np.empty((p, n))
    R = np.empty((p, n))
    U = np.empty((p, n))
    work = np.empty((p, n))
    trial = np.empty((p, n))
    MB = np.empty((p + 1, n))
    C = np.empty((p + 1, p + 1))
    value = _theta(w, nb, Y, c, SY, AY, alpha, beta)
    products = 0
    iteration = 0
    while True:
        _gradient(w, nb, Y, SY, AY, alpha, beta, work, G)
        R[:] = G
        _project(Y, R)
        relative = np.sqrt(_inner(R, R)) / _gradient_scale(Y, G, beta)
        if iteration < history.shape[0]:
            history[iteration, 0] = value
            history[iteration, 1] = relative
        if relative <= tol or iteration >= max_iter:
            break
        if iteration % 4 == 0:
            _factor(w, nb, 1.0 / beta, M)
        _compress(M, Y, MB, C)
        products += _newton_step(w, nb, Y, SY, AY, alpha, beta, G, R, M, MB, C, min(0.1, np.sqrt(relative)), U)
        iteration += 1
        length = np.sqrt(_inner(U, U))
        descent = _inner(R, U)
        if descent > 0.0:
            U[:] = -U
            descent = -descent
        step = min(1.0, np.sqrt(n * p) / length) if length > 0.0 else 0.0
        # near the solution rounding hides the decrease: AY = Y - SY has errors of eps, alpha of eps sqrt(alpha beta)
        noise = 1e-15 * np.sqrt(n * value) + 1e-14 * value
        moved = False
        for _ in range(30):
            for i in range(p):
                for j in range(n):
                    trial[i, j] = Y[i, j] + step * U[i, j]
            _orthonormalise(trial)
            fresh = _theta(w, nb, trial, c, SY, AY, alpha, beta)
            if fresh <= value + 1e-4 * step * descent + noise:
                moved = True
                break
            step *= 0.5
        if not moved:
            value = _theta(w, nb, Y, c, SY, AY, alpha, beta)
            break
        Y[:] = trial
        value = fresh
    result[0] = value
    result[1] = relative
    result[2] = products


@jit(fastmath=FAST)
def _canonical(w, nb, Y):
    """Coordinates are free up to a rotation: take the one that diagonalises Y'A'AY, ascending, skewed upwards."""
    p, n = Y.shape
    SY = np.empty((p, n))
    T = np.empty((p, p))
    _times_S(w, nb, Y, SY)
    for i in range(p):
        for j in range(n):
            SY[i, j] = Y[i, j] - SY[i, j]
    for i in range(p):
        for s in range(p):
            T[i, s] = _dot(SY[i], SY[s])
    values, vectors = _eigen(T)
    order = np.argsort(values)
    rotated = np.zeros((p, n))
    for i in range(p):
        for s in range(p):
            part = vectors[s, order[i]]
            for j in range(n):
                rotated[i, j] += part * Y[s, j]
        skew = 0.0
        for j in range(n):
            skew += rotated[i, j] * rotated[i, j] * rotated[i, j]
        if skew < 0.0:
            for j in range(n):
                rotated[i, j] = -rotated[i, j]
    Y[:] = rotated


@jit()
def _violation(Y):
    """max of |mean of Y| and |Y'Y / n - I| (eq. 31)."""
    p, n = Y.shape
    worst = 0.0
    for i in range(p):
        total = 0.0
        for j in range(n):
            total += Y[i, j]
        worst = max(worst, abs(total / n))
        for s in range(i + 1):
            target = 1.0 if i == s else 0.0
            worst = max(worst, abs(_dot(Y[i], Y[s]) / n - target))
    return worst


@jit()
def exact_embedding(weights, neighbors, c, start, tol, max_iter, out, results, history):
    """Feasible, stationary coordinates on every block (eq. 32-36).

    ``out`` (b, n, p); ``results`` (b, 4): objective, stationarity, Hessian products, constraint violation;
    ``history`` (b, steps, 2): objective and stationarity by outer step, as many as there is room for.
    """
    b, n, _ = weights.shape
    p = start.shape[2]
    M = np.empty((n, n))
    Y = np.empty((p, n))
    for i in range(b):
        w = weights[i]
        nb = neighbors[i]
        for j in range(n):
            for s in range(p):
                Y[s, j] = start[i, j, s]
        if _violation(Y) > 1e-8:  # a start that satisfies the constraints is taken as it is
            _spectral_start(w, nb, M, Y, START_ROUNDS)
        _minimise(w, nb, c, Y, M, tol, max_iter, results[i], history[i])
        _canonical(w, nb, Y)
        results[i, 3] = _violation(Y)
        for j in range(n):
            for s in range(p):
                out[i, j, s] = Y[s, j]


# -------------------------------------------------------------------------------------------- ADMM embedding


@jit(fastmath=FAST)
def _published_gradient(w, nb, Y, SY, AY, alpha, beta, work, G):
    """The paper's gradient with M_j = 1_j 1_j' + ww' - 2 1_j w' as printed, which is not symmetric (slip 2)."""
    p, n = Y.shape
    for i in range(p):
        for j in range(n):
            tau = alpha[j] / (beta[j] * beta[j])
            work[i, j] = -2.0 * (1.0 / beta[j] - tau) * SY[i, j]
            G[i, j] = 2.0 * ((Y[i, j] - 2.0 * SY[i, j]) / beta[j] - tau * Y[i, j])
    _subtract_St(w, nb, work, G)


@jit(fastmath=FAST)
def _polar(B, singular_value):
    """Centre the rows of B (p, n) and set its singular values, by one-sided Jacobi (eq. 31)."""
    p, n = B.shape
    turn = np.eye(p)
    for i in range(p):
        mean = 0.0
        for j in range(n):
            mean += B[i, j]
        mean /= n
        for j in range(n):
            B[i, j] -= mean
    for _ in range(30):
        worst = 0.0
        for i in range(p - 1):
            for s in range(i + 1, p):
                x = _dot(B[i], B[i])
                y = _dot(B[s], B[s])
                xy = _dot(B[i], B[s])
                if xy * xy <= 1e-32 * x * y or xy == 0.0:
                    continue
                worst = max(worst, xy * xy / (x * y))
                gap = y - x
                tangent = 2.0 * xy / (abs(gap) + np.sqrt(gap * gap + 4.0 * xy * xy))
                tangent = tangent if gap >= 0.0 else -tangent
                cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
                _turn(B[i], B[s], cosine, tangent * cosine)
                _turn(turn[i], turn[s], cosine, tangent * cosine)
        if worst < 1e-30:
            break
    for i in range(p):
        length = np.sqrt(_dot(B[i], B[i]))
        for j in range(n):
            B[i, j] *= singular_value / length if length > 0.0 else 0.0
    rows = B.copy()  # turn' B undoes the rotations
    for i in range(p):
        for j in range(n):
            B[i, j] = 0.0
        for s in range(p):
            _subtract(-turn[s, i], rows[s], B[i])


@jit(fastmath=FAST)
def _turn(x, y, cosine, sine):
    for j in range(x.size):
        u = x[j]
        v = y[j]
        x[j] = cosine * u - sine * v
        y[j] = sine * u + cosine * v


@jit(fastmath=FAST)
def admm_embedding(weights, neighbors, c, rho, eta, max_iter, tol, published, start, out, results, history):
    """The paper's iterations (eq. 37) from ``start`` (b, 3, n, p) = Y, V, J; arrays as in the exact solver.

    Y is the output, as published, feasible or not.  ``published`` keeps the paper's gradient and its singular
    values n; otherwise both are the right ones.
    """
    b, n, _ = weights.shape
    p = out.shape[2]
    Y = np.empty((p, n))
    V = np.empty((p, n))
    J = np.empty((p, n))
    SY = np.empty((p, n))
    AY = np.empty((p, n))
    G = np.empty((p, n))
    work = np.empty((p, n))
    alpha = np.empty(n)
    beta = np.empty(n)
    singular_value = float(n) if published else np.sqrt(n)
    for i in range(b):
        w = weights[i]
        nb = neighbors[i]
        for j in range(n):
            for s in range(p):
                Y[s, j] = start[i, 0, j, s]
                V[s, j] = start[i, 1, j, s]
                J[s, j] = start[i, 2, j, s]
        rounds = max_iter
        for iteration in range(max_iter):
            value = _theta(w, nb, Y, c, SY, AY, alpha, beta)
            if iteration < history.shape[1]:
                history[i, iteration, 0] = value
                history[i, iteration, 1] = _violation(Y)
            if published:
                _published_gradient(w, nb, Y, SY, AY, alpha, beta, work, G)
            else:
                _gradient(w, nb, Y, SY, AY, alpha, beta, work, G)
            for s in range(p):
                for j in range(n):
                    Y[s, j] += -eta * G[s, j] - eta * rho * (Y[s, j] - V[s, j] + J[s, j])
                    work[s, j] = V[s, j]
                    V[s, j] = Y[s, j] + J[s, j]
            _polar(V, singular_value)
            worst = 0.0
            for s in range(p):
                for j in range(n):
                    J[s, j] += Y[s, j] - V[s, j]
                    worst = max(worst, max(abs(Y[s, j] - V[s, j]), abs(V[s, j] - work[s, j])))
            if worst <= tol:
                rounds = iteration + 1
                break
        results[i, 0] = _theta(w, nb, Y, c, SY, AY, alpha, beta)
        _gradient(w, nb, Y, SY, AY, alpha, beta, work, G)
        size = _gradient_scale(Y, G, beta)
        _project(Y, G)
        results[i, 1] = np.sqrt(_inner(G, G)) / size
        results[i, 2] = rounds
        results[i, 3] = _violation(Y)
        for j in range(n):
            for s in range(p):
                out[i, j, s] = Y[s, j]
