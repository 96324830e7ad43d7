"""How well Markov chains mixed: rank-normalised split R-hat and effective sample sizes (Vehtari et al. 2021).

They read private rows through the chains, so they are for the owner alone; they certify nothing, and nothing may stop
or choose a chain by them. Chains that never moved have no R-hat (NaN), which is not a pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

R_HAT, ESS, ESS_PER_CHAIN = 1.01, 400.0, 50.0  # what is usually asked for
ACCEPTED = (0.15, 0.5)


def summary(series: Mapping[str, np.ndarray], accepted: float) -> dict[str, Any]:
    """The worst figures over all series [chains, draws], and whether all of them are what is usually asked for."""
    worst = max((r_hat(s) for s in series.values()), key=lambda r: np.inf if np.isnan(r) else r)
    bulk = min((bulk_ess(s) for s in series.values()), key=lambda e: -np.inf if np.isnan(e) else e)
    tail = min((tail_ess(s) for s in series.values()), key=lambda e: -np.inf if np.isnan(e) else e)
    chains = len(next(iter(series.values())))
    enough = min(bulk, tail) >= max(ESS, ESS_PER_CHAIN * chains)
    passed = bool(worst <= R_HAT and enough and ACCEPTED[0] <= accepted <= ACCEPTED[1])
    return {"r_hat": worst, "bulk_ess": bulk, "tail_ess": tail, "chains": chains, "passed": passed}


def r_hat(draws: np.ndarray) -> float:
    """The larger of R-hat of normalised ranks and of normalised ranks of the distance from the median."""
    draws = _split(draws)
    folded = np.abs(draws - np.median(draws))
    return float(max(_plain_r_hat(_normal_scores(draws)), _plain_r_hat(_normal_scores(folded))))


def bulk_ess(draws: np.ndarray) -> float:
    """Effective number of independent draws behind a mean."""
    return _plain_ess(_normal_scores(_split(draws)))


def tail_ess(draws: np.ndarray) -> float:
    """The smaller of the effective numbers of draws behind the 5 % and the 95 % quantile."""
    draws = _split(draws)
    return min(_plain_ess((draws <= np.quantile(draws, q)).astype(np.float64)) for q in (0.05, 0.95))


def _split(draws: np.ndarray) -> np.ndarray:
    """Every chain as two halves."""
    draws = np.atleast_2d(np.asarray(draws, dtype=np.float64))
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])


def _normal_scores(draws: np.ndarray) -> np.ndarray:
    """z = Φ⁻¹((rank − 3/8)/(S + 1/4)) of the pooled draws, ties averaged."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    return ndtri((rankdata(draws, axis=None).reshape(draws.shape) - 0.375) / (draws.size + 0.25))


def _plain_r_hat(draws: np.ndarray) -> float:
    length = draws.shape[1]
    if length < 2:
        return float("nan")
    within = draws.var(axis=1, ddof=1).mean()
    between = length * draws.mean(axis=1).var(ddof=1)
    if not within > 0:
        return float("nan")
    return float(np.sqrt(((length - 1) / length * within + between / length) / within))


def _plain_ess(draws: np.ndarray) -> float:
    """Draws divided by the autocorrelation time, sums of pairs kept positive and decreasing (Geyer 1992)."""
    chains, length = draws.shape
    if length < 2:
        return float("nan")
    covariance = _autocovariance(draws).mean(axis=0)
    within = covariance[0] * length / (length - 1)
    if not within > 0:
        return float("nan")
    total = within * (length - 1) / length + draws.mean(axis=1).var(ddof=1)
    rho = 1 - (within - covariance * length / (length - 1)) / total
    rho[0] = 1.0
    pairs = rho[0 : length - length % 2 : 2] + rho[1:length:2]
    negative = np.flatnonzero(pairs < 0)
    pairs = np.minimum.accumulate(pairs[: negative[0] if len(negative) else len(pairs)])
    time = max(-1 + 2 * pairs.sum(), 1 / np.log10(max(chains * length, 10)))
    return float(chains * length / time)


def _autocovariance(draws: np.ndarray) -> np.ndarray:
    """Biased autocovariances [chains, lags] by FFT."""
    length = draws.shape[1]
    centred = draws - draws.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, 2 * length, axis=1)
    return np.fft.irfft(np.abs(spectrum) ** 2, 2 * length, axis=1)[:, :length] / length
