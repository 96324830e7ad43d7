"""A made-up intensive-care table: hourly means of 104 measurements over the first day of a stay, most of them missing.

Nobody is in it. Severity, trend and expected stay of a patient drive measurements, which of them are taken, death and
a long stay, so that the best attainable accuracy is known. Defaults: 21,877 stays, 89.1 % missing, 7.4 % deaths, 47 %
stays above three days.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacre.errors import DataError

STAYS, HOURS, MEASUREMENTS = 21_877, 24, 104
_FACTORS = 6
_VITALS, _LABS = 9, 25  # the other 70 are rarely measured


@dataclass(frozen=True)
class Stays:
    """values [stays, hours, measurements] (0 where missing), observed, died, stayed, and the true chances of both."""

    values: np.ndarray
    observed: np.ndarray
    died: np.ndarray
    stayed: np.ndarray
    chance_died: np.ndarray
    chance_stayed: np.ndarray

    def filled(self) -> np.ndarray:
        """Last value carried forward within a stay, 0 before the first: a row-local map."""
        filled = np.zeros_like(self.values)
        last = np.zeros_like(self.values[:, 0])
        for hour in range(self.values.shape[1]):
            last = np.where(self.observed[:, hour], self.values[:, hour], last)
            filled[:, hour] = last
        return filled


def _sigmoid(t: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-t))


def simulate_icu(stays: int = STAYS, seed: int = 0) -> Stays:
    """Stays of one made-up hospital; `seed` fixes everything, and loadings do not depend on the number of stays."""
    if isinstance(stays, bool) or not isinstance(stays, int) or stays < 1:
        raise DataError(f"stays={stays!r}: expected a whole number, 1 or more")
    rng, shared = np.random.default_rng([seed, 1]), np.random.default_rng([seed, 0])
    vital = np.arange(MEASUREMENTS) < _VITALS
    rare = np.arange(MEASUREMENTS) >= _VITALS + _LABS
    loadings = 0.35 * shared.standard_normal((MEASUREMENTS, _FACTORS))
    by_severity = shared.standard_normal(MEASUREMENTS) * np.where(vital, 0.45, 0.35)
    by_trend = shared.standard_normal(MEASUREMENTS) * np.where(vital, 0.35, 0.20)
    by_stay = 0.12 * shared.standard_normal(MEASUREMENTS)
    skewed = ~vital & (shared.permutation(MEASUREMENTS) % 2 == 0)
    severity, trend, stay = rng.standard_normal((3, stays))
    taken = np.where(vital, 0.80, np.where(rare, 0.018, 0.115))
    usual = np.log(taken / (1 - taken)) - 0.031
    chance = _sigmoid(usual + np.where(vital, 0.1, 0.35) * severity[:, None])
    own = 0.5 * rng.standard_normal((stays, MEASUREMENTS), dtype=np.float32)
    values = np.empty((stays, HOURS, MEASUREMENTS), np.float32)
    observed = np.empty((stays, HOURS, MEASUREMENTS), bool)
    factors = rng.standard_normal((stays, _FACTORS))
    for hour in range(HOURS):
        if hour:
            factors = 0.9 * factors + np.sqrt(0.19) * rng.standard_normal((stays, _FACTORS))
        level = factors @ loadings.T + by_severity * severity[:, None] + by_stay * stay[:, None] + own
        level += by_trend * (trend * hour / (HOURS - 1))[:, None]
        level += 0.6 * rng.standard_normal((stays, MEASUREMENTS), dtype=np.float32)
        observed[:, hour] = rng.random((stays, MEASUREMENTS), dtype=np.float32) < chance
        values[:, hour] = np.where(observed[:, hour], np.where(skewed, np.exp(0.5 * level), level), 0)
    died = _sigmoid(-3.92 + 1.7 * severity + 0.8 * trend + 0.35 * severity * np.maximum(trend, 0))
    stayed = _sigmoid(-0.143 + 0.75 * severity + 0.55 * stay + 0.3 * trend)
    outcomes = (rng.random(stays) < died, rng.random(stays) < stayed)
    return Stays(values, observed, *outcomes, died, stayed)
