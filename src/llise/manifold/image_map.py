"""The map of whole images in the plane: a principal component analysis of a few long rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llise.engine.tolerances import MOST_DENSE


@dataclass(frozen=True)
class ImageMap:
    """Mean and first two principal axes of rows, by which other rows are projected to the plane.

    The rows are few and long (121 of 16384 values for a 512 x 512 image), so the axes come from the eigenvectors of
    the small Gram matrix of the centred rows.  An axis has no sign of its own: its largest entry is made positive.

    Attributes
    ----------
    centre : ndarray (d,)
        Mean of the rows.
    axes : ndarray (2, d)
        Principal axes; a single one where there is only one row or one column.
    """

    centre: np.ndarray
    axes: np.ndarray

    @classmethod
    def of_rows(cls, rows: np.ndarray) -> ImageMap:
        """Compute the map from the rows of the training images."""
        centre = rows.mean(axis=0)
        centred = rows - centre
        largest = slice(None, -min(2, *rows.shape) - 1, -1)
        if len(rows) > max(MOST_DENSE, rows.shape[1]):  # many short rows
            axes = np.linalg.eigh(centred.T @ centred)[1][:, largest].T
        else:
            values, vectors = np.linalg.eigh(centred @ centred.T)
            axes = vectors[:, largest].T @ centred / np.sqrt(np.maximum(values[largest, None], 1e-12))
        signs = np.sign(np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1))
        return cls(centre, axes * signs)

    def place(self, rows: np.ndarray) -> np.ndarray:
        """Project rows to the plane."""
        return (rows - self.centre) @ self.axes.T

    def __repr__(self) -> str:
        return f"ImageMap(axes of shape {self.axes.shape})"
