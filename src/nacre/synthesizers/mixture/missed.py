"""What a fit misses though it stands out of the noise, added to the tables that the next fit is to meet.

The pull to independence keeps a fit from its noise, and weakens strong dependence with it: two columns of rank
correlation .95 would come out at .8. What noisy tables hold beyond the fitted ones is white noise and this bias. Along
ordered columns the difference is written as cosines, of which smooth dependence has few. Those beyond what noise alone
would be likely to make, sqrt(2 log cells) standard errors (Donoho and Johnstone 1994, "Ideal spatial adaptation by
wavelet shrinkage"), are added to the table: one step of Bregman's iteration (Osher, Burger, Goldfarb, Xu and Yin 2005,
"An iterative regularization method for total variation-based image restoration"), on what is known. Single cells of
labels gain nothing from it. Post-processing of noisy answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dctn, idctn

from nacre.synthesizers.mixture.fit import Fitted
from nacre.synthesizers.mixture.loss import Table

Floats = NDArray[np.float64]

LEAST = 3.0  # standard errors, however small the table


def sharpened(
    tables: Sequence[Table], found: Fitted, sizes: Sequence[int], total: float, ordered: Sequence[bool]
) -> list[Table]:
    """The same tables with what `found` clearly misses of them added; a table that has nothing such is the same object.

    `ordered`: by column, whether neighbouring groups are near to each other.
    """
    return [_sharpened(t, found, sizes, total, ordered) for t in tables]


def _sharpened(table: Table, found: Fitted, sizes: Sequence[int], total: float, ordered: Sequence[bool]) -> Table:
    axes = [axis for axis, j in enumerate(table.columns) if ordered[j]]
    if len(table.columns) < 2 or not axes:
        return table
    sigma = np.broadcast_to(np.maximum(np.asarray(table.sigma, np.float64), 1e-9), table.counts.shape)
    known = np.isfinite(sigma) if table.empty is None else np.isfinite(sigma) & ~table.empty
    gap = table.counts - total * found.table(sizes, table.columns, table.folds)
    clear = clearly(np.divide(gap, sigma, out=np.zeros_like(gap), where=known), axes)
    if not clear.any():
        return table
    return replace(table, counts=table.counts + np.multiply(clear, sigma, out=np.zeros_like(gap), where=known))


def clearly(white: Floats, ordered: Sequence[int]) -> Floats:
    """The part of a table in units of its noise that noise is not likely to have made; axes in `ordered` are smooth."""
    level = max(LEAST, float(np.sqrt(2 * np.log(max(white.size, 2)))))
    waves = np.asarray(dctn(white, axes=list(ordered), norm="ortho"))
    kept = np.where(np.abs(waves) > level, waves, 0.0)
    return np.asarray(idctn(kept, axes=list(ordered), norm="ortho")) if kept.any() else np.zeros_like(white)
