"""Results as the report asks for them, and numbers and kinds in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llise.output.words import NAMES
from llise.reproduction.methods import METHODS, Method
from llise.reproduction.paper import paper_table


class Findings:
    """The results of a reproduction beside the paper's table.

    Parameters
    ----------
    results : dict
        The content of results.json.

    Attributes
    ----------
    paper : dict
        Summaries of the paper's methods.
    table : dict
        The paper's table.
    methods, blockwise, whole : list of Method
        Methods that the results hold: all, those that work on blocks, those that work on whole images.

    Examples
    --------
    >>> findings = Findings({"paper": {}, "methods": {"LLE": {"solver": "eigen"}}})
    >>> [method.name for method in findings.methods], findings.published(findings.whole[0])
    (['LLE'], {'solver': 'eigen'})
    """

    def __init__(self, results: dict[str, Any]) -> None:
        self.results = results
        self.paper = results["paper"]
        self.table = paper_table()
        self.methods = [method for method in METHODS if method.name in results["methods"]]
        self.blockwise = [method for method in self.methods if method.blockwise]
        self.whole = [method for method in self.methods if not method.blockwise]

    def published(self, method: Method) -> dict[str, Any]:
        """Look up a method's entry under the paper's name: LLISE as published, or LLE.

        Parameters
        ----------
        method : Method
            One of ``methods``.

        Returns
        -------
        dict
            Its results.
        """
        return self.results["methods"][method.name]

    def solved(self, method: Method) -> dict[str, Any]:
        """Look up the entry of the exact solver.

        Parameters
        ----------
        method : Method
            One of ``blockwise``.

        Returns
        -------
        dict
            Its results.
        """
        return self.results["methods"][f"{method.name}, solved"]

    def pair(self, method: Method) -> tuple[dict[str, Any], dict[str, Any]]:
        """Look up the entries as published and solved.

        Parameters
        ----------
        method : Method
            One of ``blockwise``.

        Returns
        -------
        tuple of dict
            The results of both.
        """
        return self.published(method), self.solved(method)

    def gains(self, method: Method) -> dict[str, tuple[float, float]]:
        """Compare what solving should improve.

        Parameters
        ----------
        method : Method
            One of ``blockwise``.

        Returns
        -------
        dict
            For each measure in words its values as published and solved.
        """
        published, solved = self.pair(method)
        return {
            "training blocks right": (published["train"]["block_accuracy"], solved["train"]["block_accuracy"]),
            "share of the true kind on single distortions": (
                published["summary"]["single_share"],
                solved["summary"]["single_share"],
            ),
        }

    def solved_is_better(self, method: Method) -> bool:
        """Say whether solving improves all measures of :meth:`gains`.

        Parameters
        ----------
        method : Method
            One of ``blockwise``.

        Returns
        -------
        bool
            True where all are better.
        """
        return all(solved > published for published, solved in self.gains(method).values())


def percent(share: float) -> str:
    """Write a share in per cent.

    Parameters
    ----------
    share : float
        Between 0 and 1.

    Returns
    -------
    str
        With one decimal.

    Examples
    --------
    >>> percent(0.1234)
    '12.3 %'
    """
    return f"{share:.1%}".replace("%", " %")


def number(value: float) -> str:
    """Write a number with three digits, as a power of ten where it is very small or large.

    Parameters
    ----------
    value : float
        Any finite number.

    Returns
    -------
    str
        The number for a table.

    Examples
    --------
    >>> number(0.51299), number(121.2), number(0.0000351)
    ('0.513', '121', '3.5e-05')
    """
    if value and not 1e-3 <= abs(value) < 1e4:
        return f"{value:.1e}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def count_of(count: int, total: int) -> str:
    """Write a count out of a total.

    Parameters
    ----------
    count, total : int
        Numbers of images.

    Returns
    -------
    str
        Such as "11 of 12".

    Examples
    --------
    >>> count_of(11, 12)
    '11 of 12'
    """
    return f"{count} of {total}"


def listed(words: Sequence[str]) -> str:
    """Join words by commas and a final "and".

    Parameters
    ----------
    words : sequence of str
        At least one.

    Returns
    -------
    str
        The enumeration.

    Examples
    --------
    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def kind_names(kinds: Sequence[str]) -> str:
    """Name the kinds of a distortion or mixture.

    Parameters
    ----------
    kinds : sequence of str
        Labels.

    Returns
    -------
    str
        Their names joined by a plus sign.

    Examples
    --------
    >>> kind_names(["blur", "gaussian_noise"])
    'blur + Gaussian noise'
    """
    return " + ".join(NAMES[kind] for kind in kinds)
