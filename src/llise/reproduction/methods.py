"""The paper's eight methods and their settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llise.manifold.baselines import LLE, KernelLLE
from llise.manifold.estimators import LLISE
from llise.manifold.kernel_llise import KernelLLISE

SETTINGS = {"n_neighbors": 10, "n_components": 4}
"""The paper's k and p, the same for all methods."""

BLOCK_SIZE = 8
"""Side of the blocks in pixels."""

TEST_MSE = 500
"""Error of the test images."""


@dataclass(frozen=True)
class Method:
    """One row of the paper's table.

    Parameters
    ----------
    name : str
        The paper's name of the method.
    short : str
        Name on the command line.
    kernel : str or None
        Name of the kernel; None for the linear methods.
    blockwise : bool
        Whether the method works block by block (LLISE) or on whole images (LLE).

    Examples
    --------
    >>> METHODS[1]
    Method(name='kernel LLISE (polynomial)', short='llise-poly', kernel='poly', blockwise=True)
    """

    name: str
    short: str
    kernel: str | None
    blockwise: bool


def _all_methods() -> tuple[Method, ...]:
    kernels = {"poly": "polynomial", "rbf": "RBF", "sigmoid": "sigmoid"}
    methods = []
    for name, blockwise in (("LLISE", True), ("LLE", False)):
        short = name.lower()
        methods.append(Method(name, short, None, blockwise))
        methods += [Method(f"kernel {name} ({title})", f"{short}-{k}", k, blockwise) for k, title in kernels.items()]
    return tuple(methods)


METHODS = _all_methods()
"""The paper's eight methods, in the order of its table."""


@dataclass(frozen=True)
class Run:
    """A method together with the solver that it is run with.

    Parameters
    ----------
    method : Method
        The method.
    solver : {"admm", "exact", "eigen"}
        "admm" are the paper's iterations as published, "exact" solves the same problem to a feasible, stationary
        point; "eigen" is the solver of LLE.

    Examples
    --------
    >>> Run(METHODS[0], "exact").name
    'LLISE, solved'
    """

    method: Method
    solver: str

    @property
    def name(self) -> str:
        """Key of the run in the results: the paper's name, followed by "solved" for the exact solver."""
        return f"{self.method.name}, solved" if self.solver == "exact" else self.method.name

    def learner(self, seed: int, n_jobs: int | None, verbose: bool) -> Any:
        """Make the estimator with the paper's settings.

        Parameters
        ----------
        seed : int
            Seed for all random numbers.
        n_jobs : int or None
            Number of threads, as in joblib.
        verbose : bool
            Whether to show progress.

        Returns
        -------
        LLISE, KernelLLISE, LLE or KernelLLE
            Not fitted yet.
        """
        kernel = {"kernel": self.method.kernel} if self.method.kernel else {}
        if not self.method.blockwise:
            return (KernelLLE if kernel else LLE)(**SETTINGS, **kernel)
        return (KernelLLISE if kernel else LLISE).as_in_paper(
            **SETTINGS,
            **kernel,
            block_size=BLOCK_SIZE,
            solver=self.solver,
            as_published=self.solver == "admm",
            random_state=seed,
            n_jobs=n_jobs,
            verbose=int(verbose),
        )


def runs(names: Sequence[str] | None = None) -> list[Run]:
    """List the runs for some methods: LLISE methods as published and solved, LLE methods once.

    Parameters
    ----------
    names : sequence of str, optional
        Names or short names of methods; all methods if left out.

    Returns
    -------
    list of Run
        In the order of the paper's table.

    Raises
    ------
    ValueError
        A name is not one of the paper's methods, or there is none.

    Examples
    --------
    >>> [run.name for run in runs(["llise-rbf", "lle"])]
    ['kernel LLISE (RBF)', 'kernel LLISE (RBF), solved', 'LLE']
    """
    known = {name: method for method in METHODS for name in (method.short, method.name.lower())}
    if unknown := [name for name in names or () if name.strip().lower() not in known]:
        shorts = ", ".join(method.short for method in METHODS)
        raise ValueError(f"{unknown[0]!r} is not a method of the paper; choose from {shorts}.")
    chosen = METHODS if names is None else {known[name.strip().lower()] for name in names}
    if not chosen:
        raise ValueError("no method was named; leave methods out for all of them.")
    return [
        Run(method, solver)
        for method in METHODS
        if method in chosen
        for solver in (("admm", "exact") if method.blockwise else ("eigen",))
    ]
