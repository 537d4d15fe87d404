"""The settings of a fault in its kinds' own units, how much each kind contributes, and how much all of it explains."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from llise.diagnosis.estimates.accounts import Account, account_for
from llise.diagnosis.estimates.chains import HIDING, Chain, fit_chain
from llise.diagnosis.estimates.errors import EstimateErrors
from llise.diagnosis.estimates.region_pixels import (
    MARGIN,
    TILE,
    RegionPixels,
    region_error,
    region_pixels,
    whole_pixels,
    with_margin,
)
from llise.diagnosis.estimates.resampled import may_be_resampled, resampled_account
from llise.diagnosis.estimates.wide_blur import may_be_wider, wide_account
from llise.diagnosis.features.block_sums import BLOCK
from llise.diagnosis.result import Interval
from llise.differences import by_block
from llise.kinds import registry
from llise.kinds.fitting import ROUNDING, robust_scale
from llise.kinds.impulse_noise import count_impulses
from llise.kinds.own import OwnKind

TILES = (20, 4, 1)
"""Most tiles to measure on if none, one or both of the kinds take applying a filter or a coder many times."""

CONNECTED = ("jpeg2000", "pixelation", "content")
CONNECTED_SIDES = 64, 32
"""Kinds whose grid or extent goes through the picture, so that they need one large tile; its side in blocks, for one
kind and for two."""

MOST_CODED = 1_500_000
"""Pixels up to which a picture is coded, resampled or blurred as a whole to find the settings."""


@dataclass(frozen=True)
class FaultEstimate:
    """The settings of a fault.

    Attributes
    ----------
    parameters : dict of str to dict of str to Interval
        For each kind its settings with 90 % intervals.
    severity : dict of str to float
        Mean squared error that each kind contributes; the sum is the measured error of the region.
    explained : float
        Share of the error that the kinds with these settings account for, 0 to 1. Random parts count as explained as
        far as what remains is as strong as them and as little alike from pixel to pixel.
    unlike : float
        How far the copy is from all that the kinds can make, whatever their settings: of random parts, how differently
        they and what remains are spread over blocks; of kinds that give each grey another one, how much the greys of
        the copy differ where the reference has the same. 0 if not at all, or for other kinds.
    growth : float
        Of Gaussian and speckle noise, how much likelier noise is that grows with the grey level, see
        :func:`llise.kinds.speckle_noise.noise_growth`.
    detailed : float
        How much more is left in blocks of the reference with more detail, -1 to 1: noise is everywhere, but a filter
        that was not found exactly leaves something where there is detail.

    Examples
    --------
    >>> from llise.diagnosis.estimates.copy_estimates import FaultEstimate
    >>> FaultEstimate(severity={"blur": 4.0}).explained
    0.0
    """

    parameters: dict[str, dict[str, Interval]] = field(default_factory=dict)
    severity: dict[str, float] = field(default_factory=dict)
    explained: float = 0.0
    unlike: float = 0.0
    growth: float = 0.0
    detailed: float = 0.0


def estimate_fault(
    reference: np.ndarray,
    copy: np.ndarray,
    region: np.ndarray,
    kinds: tuple[str, ...],
    errors: EstimateErrors | None = None,
) -> FaultEstimate:
    """Estimate the settings of one kind or of two kinds in a region.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        Pristine image and faulty copy.
    region : ndarray of bool, shape (rows, cols)
        Blocks of 8 x 8 pixels over which the fault extends, at least one.
    kinds : tuple of str
        One kind or two, in any order: which was applied first is found out.
    errors : EstimateErrors, optional
        How far estimates lie from the truth; rough bounds if left out.

    Returns
    -------
    FaultEstimate
        Settings with intervals, contributions, explained share. Kinds without an estimate have no settings.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.copy_estimates import estimate_fault
    >>> image = np.tile(np.arange(60, 188, dtype=np.uint8), (128, 1))
    >>> found = estimate_fault(image, image + 5, np.ones((16, 16), bool), ("luminance",))
    >>> found.parameters["luminance"]["offset"].value, found.severity, found.explained
    (5.0, {'luminance': 25.0}, 1.0)
    """
    return CopyEstimates(reference, copy, errors).of(region, tuple(kinds))


def _tiles(kinds: tuple[str, ...]) -> tuple[int, int]:
    """Most tiles to measure on, and their side in blocks."""
    if set(kinds) & set(CONNECTED):
        return 1, CONNECTED_SIDES[len(kinds) - 1]
    return TILES[len(set(HIDING) & set(kinds))], TILE


class CopyEstimates:
    """Estimates of the faults of one copy, each made once.

    Parameters
    ----------
    reference, copy : ndarray of uint8, shape (h, w)
        Pristine image and faulty copy.
    errors : EstimateErrors, optional
        How far estimates lie from the truth; rough bounds if left out.

    Examples
    --------
    >>> import numpy as np
    >>> from llise.diagnosis.estimates.copy_estimates import CopyEstimates
    >>> image = np.tile(np.arange(60, 188, dtype=np.uint8), (128, 1))
    >>> estimates, everywhere = CopyEstimates(image, image + 5), np.ones((16, 16), bool)
    >>> estimates.of(everywhere, ("luminance",)) is estimates.of(everywhere, ("luminance",))
    True
    """

    def __init__(self, reference: np.ndarray, copy: np.ndarray, errors: EstimateErrors | None = None) -> None:
        self.reference = reference
        self.copy = copy
        self._errors = errors or EstimateErrors()
        self._made: dict[tuple[bytes, tuple[str, ...]], FaultEstimate] = {}
        self._pixels: dict[tuple[bytes, tuple[int, int] | None, bool], RegionPixels] = {}
        self._fitted: dict[tuple[int, tuple[str, ...]], Account | None] = {}
        self._wholes: dict[int, np.ndarray] = {}
        self._measured: dict[bytes, float] = {}
        self._mean = float(reference.mean())

    def of(self, region: np.ndarray, kinds: tuple[str, ...]) -> FaultEstimate:
        """Return the estimate of kinds in a region.

        Parameters
        ----------
        region : ndarray of bool, shape (rows, cols)
            Blocks of 8 x 8 pixels.
        kinds : tuple of str
            One kind or two.

        Returns
        -------
        FaultEstimate
            As :func:`estimate_fault` gives it.
        """
        key = _key(region), kinds
        if key not in self._made:
            if not region.any():
                raise ValueError("the region has no block; expected at least one that is True")
            self._made[key] = self._estimate(region, kinds)
        return self._made[key]

    def error(self, region: np.ndarray) -> float:
        """Return the mean squared error of a region.

        Parameters
        ----------
        region : ndarray of bool, shape (rows, cols)
            Blocks of 8 x 8 pixels.

        Returns
        -------
        float
            As :func:`region_error` gives it.
        """
        key = _key(region)
        if key not in self._measured:
            self._measured[key] = region_error(self.reference, self.copy, region)
        return self._measured[key]

    def with_settings_of(self, source: np.ndarray, region: np.ndarray, kinds: tuple[str, ...]) -> FaultEstimate:
        """Return how well kinds account for a region with the settings that they have in another one.

        Parameters
        ----------
        source : ndarray of bool, shape (rows, cols)
            Blocks in which the settings are found.
        region : ndarray of bool, shape (rows, cols)
            Blocks that are made again with them.
        kinds : tuple of str
            One kind or two, without content, whose places are not those of another region.

        Returns
        -------
        FaultEstimate
            Without settings; of kinds without random parts only the share that they explain.
        """
        fitted = self._fit(source, kinds)
        if fitted is None or fitted.chain.hit is not None:  # impulses are somewhere else in another region
            return FaultEstimate()
        if any(fit.draw for _, fit in fitted.chain.steps):
            account = account_for(fitted.chain, self._pixels_of(region, kinds))
            severity = {kind: self.error(region) * share for kind, share in account.shares.items()}
            return FaultEstimate({}, severity, *account[2:])
        left = region_error(self._whole(fitted.chain), self.copy, region)
        explained = 1 - max(left - 1.5 * ROUNDING, 0.0) / max(self.error(region), 1e-9)
        return FaultEstimate(explained=max(explained, 0.0))

    def left_by(self, source: np.ndarray, region: np.ndarray, kinds: tuple[str, ...]) -> float:
        """Return the error that kinds leave in a region with the settings that they have in another one.

        Parameters
        ----------
        source, region : ndarray of bool, shape (rows, cols)
            Blocks in which the settings are found, and blocks that are made again with them.
        kinds : tuple of str
            One kind or two; random ones do nothing.

        Returns
        -------
        float
            Mean squared error; all of it if one of the kinds has no estimate.
        """
        made = self.made_again(source, kinds)
        return self.error(region) if made is None else region_error(made, self.copy, region)

    def made_again(self, region: np.ndarray, kinds: tuple[str, ...]) -> np.ndarray | None:
        """Return the whole reference after kinds with the settings that they have in a region.

        Parameters
        ----------
        region : ndarray of bool, shape (rows, cols)
            Blocks in which the settings are found.
        kinds : tuple of str
            One kind or two.

        Returns
        -------
        ndarray of uint8, shape (h, w), or None
            Without random parts; None if one of the kinds has no estimate.
        """
        fitted = self._fit(region, kinds)
        return None if fitted is None else self._whole(fitted.chain)

    def rest(self, region: np.ndarray, kinds: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Return what kinds leave of the pixels on which they are measured in a region.

        Parameters
        ----------
        region : ndarray of bool, shape (rows, cols)
            Blocks of 8 x 8 pixels.
        kinds : tuple of str
            One kind or two.

        Returns
        -------
        rest : ndarray of float32, shape (h, w)
            The copy less what the kinds make of the reference, without random parts.
        reference : ndarray of float32, shape (h, w)
            The reference there.
        mask : ndarray of bool, shape (h, w)
            Which of the pixels belong to the region; None for all if one of the kinds has no estimate.
        """
        fitted = self._fit(region, kinds)
        if fitted is None:
            return None
        reference, copy, mask = self._pixels_of(region, kinds, fitted.chain.is_whole)
        return copy - fitted.chain.images(reference)[-1], reference, mask

    def hit_blocks(self, region: np.ndarray, kinds: tuple[str, ...]) -> np.ndarray | None:
        """Return the blocks of the whole picture that impulses hit after another kind.

        Parameters
        ----------
        region : ndarray of bool, shape (rows, cols)
            Blocks in which the settings of the kinds are found.
        kinds : tuple of str
            Impulses and another kind.

        Returns
        -------
        ndarray of bool, shape (rows, cols), or None
            None where the other kind came last, so that single pixels do not show any more.
        """
        fitted = self._fit(region, kinds)
        if fitted is None or fitted.chain.hit is None:
            return None
        expected, copy = self._whole(fitted.chain).astype(np.float32), self.copy.astype(np.float32)
        white, black = (float(fitted.chain.images(np.full((8, 8), grey, np.float32))[-1][0, 0]) for grey in (255, 0))
        levels = (float(np.rint(white)), 255.0), (float(np.rint(black)), 0.0)
        scale = robust_scale(copy - expected) + 1.5
        hit, _, _ = count_impulses(expected, copy, np.ones(copy.shape, bool), scale, levels)
        return np.asarray(by_block(hit).any(axis=-1))

    def _whole(self, chain: Chain) -> np.ndarray:
        """The whole reference after the steps of a chain, without random parts; made once."""
        if id(chain) not in self._wholes:
            is_whole = chain.is_whole or self._is_coded_whole(tuple(kind for kind, _ in chain.steps))
            if is_whole:
                image = chain.images(self.reference.astype(np.float32))[-1]
            else:
                fill = self._is_filled(kind for kind, _ in chain.steps)
                height, width = self.reference.shape
                extended = with_margin(self.reference, (0, 0, -(-height // BLOCK), -(-width // BLOCK)), fill=fill)
                edge = MARGIN * BLOCK
                image = chain.images(extended.astype(np.float32))[-1][edge : edge + height, edge : edge + width]
            self._wholes[id(chain)] = np.clip(np.rint(image), 0, 255).astype(np.uint8)
        return self._wholes[id(chain)]

    def _estimate(self, region: np.ndarray, kinds: tuple[str, ...]) -> FaultEstimate:
        measured = self.error(region)
        fitted = self._fit(region, kinds) if kinds[0] in registry.names() else None
        if fitted is None:  # also of a kind that was learned from examples: it has no settings
            return FaultEstimate({}, {kind: measured / len(kinds) for kind in kinds}, 0.0)
        blocks = int(np.count_nonzero(region))
        parameters = {
            kind: self._errors.intervals(kind, fit.parameters, _partner(kind, kinds), blocks, measured)
            for kind, fit in fitted.chain.steps
        }
        severity = {kind: measured * fitted.shares[kind] for kind in kinds}
        settings = {kind: parameters[kind] for kind in kinds}
        return FaultEstimate(settings, severity, *fitted[2:])

    def _fit(self, region: np.ndarray, kinds: tuple[str, ...]) -> Account | None:
        """Settings of the kinds on the pixels of a region; other regions may have led to the same pixels."""
        pixels = self._pixels_of(region, kinds)
        if (key := (id(pixels), kinds)) not in self._fitted:
            chain = fit_chain(pixels, kinds, self._mean)
            account = account_for(chain, pixels) if chain else None
            for may_be, found in ((may_be_wider, wide_account), (may_be_resampled, resampled_account)):
                if account and self.reference.size <= MOST_CODED and may_be(account):
                    account = found(account, self._pixels_of(region, kinds, whole=True)) or account
            self._fitted[key] = account
        return self._fitted[key]

    def _is_coded_whole(self, kinds: tuple[str, ...]) -> bool:
        """Whether kinds are measured on the whole picture, as a coder that shares bits out over all of it."""
        return kinds == ("jpeg2000",) and self.reference.size <= MOST_CODED

    def _is_filled(self, kinds: Iterable[str]) -> bool:
        """Whether a coder among the kinds fills blocks that go beyond the picture."""
        return "jpeg" in kinds and any(n % BLOCK for n in self.reference.shape)

    def _pixels_of(self, region: np.ndarray, kinds: tuple[str, ...], whole: bool = False) -> RegionPixels:
        """Pixels on which kinds are measured in a region."""
        whole = whole or isinstance(registry.get(kinds[0]), OwnKind) or self._is_coded_whole(kinds)
        tiles = None if whole else _tiles(kinds)
        fill = self._is_filled(kinds)
        key = _key(region), tiles, fill
        if key not in self._pixels:
            pixels = (
                whole_pixels(self.reference, self.copy, region)
                if tiles is None
                else region_pixels(self.reference, self.copy, region, *tiles, fill=fill)
            )
            self._pixels[key] = next((known for known in self._pixels.values() if known.equal(pixels)), pixels)
        return self._pixels[key]


def _key(region: np.ndarray) -> bytes:
    return np.packbits(region).tobytes()


def _partner(kind: str, kinds: tuple[str, ...]) -> str | None:
    return next((other for other in kinds if other != kind), None)
