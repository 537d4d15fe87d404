"""Paths of one image that the searches for many copies of it share."""

from __future__ import annotations

import numpy as np

from llise.kinds.base import Kind, LevelPath, Path
from llise.kinds.search import Search


class SharedPaths:
    """Paths of one image, and the errors measured on them, for many copies of it.

    Parameters
    ----------
    image : ndarray of uint8, shape (h, w)
        Image to distort.
    reference : ndarray of uint8, shape (h, w), optional
        Image against which errors are measured; `image` if left out.

    Examples
    --------
    >>> from llise import datasets, distortions
    >>> paths = distortions.SharedPaths(datasets.reference())
    >>> [round(distortions.make(paths.image, "luminance", mse, paths=paths).strength) for mse in (100, 400)]
    [10, 20]
    """

    def __init__(self, image: np.ndarray, reference: np.ndarray | None = None) -> None:
        self.image = image
        self.reference = image if reference is None else reference
        self._paths: dict[tuple[str, int], tuple[Path, dict]] = {}
        self._line: tuple[np.ndarray, LevelPath] | None = None

    def search(self, kind: Kind, wanted: float, seed: int, direction: int) -> Search:
        """Return the search for a copy of a kind.

        Parameters
        ----------
        kind : Kind
            Kind of distortion.
        wanted : float
            Wanted mean squared error.
        seed : int
            Seed of the random numbers.
        direction : {1, -1}
            Direction of a two-sided kind.

        Returns
        -------
        Search
            Not run yet.

        Examples
        --------
        >>> import numpy as np
        >>> from llise.kinds.registry import get
        >>> from llise.kinds.shared_paths import SharedPaths
        >>> paths = SharedPaths(np.full((16, 16), 100, np.uint8))
        >>> paths.search(get("luminance"), 9.0, 0, 1).error(2.0)
        4.0
        """
        key = kind.name, direction
        shared = self._paths.get(key)
        if shared is None:
            shared = kind.path(self.image, np.random.default_rng(seed), direction), {}
            if not kind.random:
                shared = self._paths.setdefault(key, shared)
        return Search(shared[0], self.reference, wanted, known=shared[1])

    def line_to(self, copy: np.ndarray) -> LevelPath:
        """Return the path from the image through a copy, on which the change of the copy is multiplied.

        Parameters
        ----------
        copy : ndarray of uint8, shape (h, w)
            Copy of the image.

        Returns
        -------
        LevelPath
            The same as before where the copy is the same as before.

        Examples
        --------
        >>> import numpy as np
        >>> from llise.kinds.shared_paths import SharedPaths
        >>> paths = SharedPaths(np.array([[10, 20]], np.uint8))
        >>> paths.line_to(np.array([[11, 18]], np.uint8))(3.0)
        array([[13., 14.]], dtype=float32)
        """
        if self._line is None or not np.array_equal(self._line[0], copy):
            self._line = copy, LevelPath.between(self.image, copy)
        return self._line[1]
