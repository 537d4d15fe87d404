"""How an image's blocks lie in the manifold of the training images, as one vector: its profile.

A vote for the nearest kind cannot name a mixture: its weaker part wins few blocks. The whole pattern of votes
can: which kinds, at which strength, in smooth or rough places, at what distance.
"""

from __future__ import annotations

import numpy as np

from llise.labels import KINDS, LABELS
from llise.recognition import squared_distances

N_QUARTERS = 4
N_STRATA = 3


class Profile:
    """Turns coordinates of images in a manifold into profiles.

    Parameters
    ----------
    embedding : ndarray, shape (b, n, p)
        Training images' coordinates.
    labels : sequence of str, length n
        Their labels, of :data:`llise.LABELS`.
    mse : ndarray, shape (n,)
        Their errors.
    texture : ndarray, shape (b,)
        Deviation of the reference in each block.
    """

    def __init__(self, embedding: np.ndarray, labels: list[str], mse: np.ndarray, texture: np.ndarray) -> None:
        self.embedding = embedding
        self.codes = np.array([LABELS.index(label) for label in labels])
        self.present = [code for code in range(len(LABELS)) if (self.codes == code).any()]
        self.quarters = np.minimum(mse / (mse.max() + 1e-9) * N_QUARTERS, N_QUARTERS - 1).astype(int)
        ranks = np.argsort(np.argsort(texture, kind="stable"), kind="stable")
        self.strata = ranks * N_STRATA // texture.size
        self.names = self._names()

    def __call__(self, coordinates: np.ndarray, misfit: np.ndarray) -> np.ndarray:
        """Return profiles (m, n_features) from coordinates (b, m, p) and reconstruction errors (b, m)."""
        distance = np.sqrt(squared_distances(coordinates, self.embedding)).astype(np.float32)
        nearest = distance.argmin(axis=2)
        kind, quarter = self.codes[nearest], self.quarters[nearest]
        b, m = nearest.shape
        image = np.broadcast_to(np.arange(m), (b, m))
        parts = [
            _shares(image, kind, m, len(LABELS)),
            _shares(image, kind * N_QUARTERS + quarter, m, len(LABELS) * N_QUARTERS)[:, N_QUARTERS:],
        ]
        for stratum in range(N_STRATA):
            here = self.strata == stratum
            parts.append(_shares(image[here], kind[here], m, len(LABELS)))
        to_class = np.stack([distance[:, :, self.codes == code].min(axis=2) for code in self.present], axis=2)
        parts.append(np.log(to_class.mean(axis=0) + 1e-4))
        parts.append(np.log(np.median(to_class, axis=0) + 1e-4))
        parts.append(np.log(np.quantile(misfit, [0.1, 0.5, 0.9], axis=0).T + 1e-6))
        parts.append(np.log(misfit.mean(axis=0) + 1e-6)[:, None])
        return np.concatenate(parts, axis=1).astype(np.float32)

    def _names(self) -> list[str]:
        present = [LABELS[code] for code in self.present]
        return [
            *(f"votes {label}" for label in LABELS),
            *(f"votes {kind} quarter {q}" for kind in KINDS for q in range(N_QUARTERS)),
            *(f"votes {label} stratum {s}" for s in range(N_STRATA) for label in LABELS),
            *(f"distance {label}" for label in present),
            *(f"middle distance {label}" for label in present),
            *(f"misfit {name}" for name in ("10 %", "50 %", "90 %", "mean")),
        ]


def _shares(image: np.ndarray, code: np.ndarray, m: int, n_codes: int) -> np.ndarray:
    """Share of each code among an image's blocks: (m, n_codes)."""
    counts = np.bincount((image * n_codes + code).ravel(), minlength=m * n_codes).reshape(m, n_codes)
    return counts / max(code.shape[0], 1)
