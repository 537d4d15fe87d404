"""Limits and tolerances that both engines share.

Numba compiles these numbers into the kernels, and its disk cache does not notice a change here: remove ``__pycache__``
in this folder after changing one.
"""

from __future__ import annotations

# Eigen-decompositions.
SWEEPS = 30  # of Jacobi rotations, at the most; one-sided takes 1 to 6, two-sided 5 to 8
RANK = 1e-14  # a pivot this small against the greatest is rounding
SKEW = 1e-31  # columns are orthogonal where the squared cosine is below rounding
LAST = 1e-16  # convergence is quadratic: a sweep that meets no greater squared cosine is the last

# Weights on the sphere.
NEWTON = 60  # steps for the secular equation, at the most; 3 to 8 are usual
REACH = 1e-6  # a direction with a smaller part in the null space does not reach into it
NULL = 1e-10  # an eigenvalue this near the least one, against the problem's scale, belongs to its space (hard case)
HARD = 1e-13  # a part of kv this small against the problem's scale is rounding

# Embedding.
DAMPING = 1e-11  # of the mean diagonal, added to the preconditioner
STIFFNESS = 1e3  # of the mean diagonal, added to the preconditioner along the vector of ones
MAX_PRODUCTS = 8  # Hessian products of one Newton step
ENOUGH = 0.3  # part of the wanted stationarity to which the last Newton step is solved
START_ROUNDS = 12  # of inverse iteration, at the most
MOST_DENSE = 1000  # images up to which a dense Cholesky factor is as fast as a sparse one
