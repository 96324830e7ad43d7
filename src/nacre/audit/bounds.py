"""What counts of right and wrong guesses prove about epsilon: lower bounds that hold with a stated confidence.

A bound refutes a claim below it. A bound of 0 refutes nothing; it never says that a mechanism is safe. Attack, records,
thresholds, number of guesses and confidence must be fixed before the guesses are seen (`family` for several audits).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from nacre.errors import NacreError
from nacre.privacy.certificate.wording import bound_sentence


@dataclass(frozen=True)
class Bound:
    """`metric` (epsilon or mu) is at least `value` with confidence `confidence`, against the claim `claim`."""

    metric: str
    value: float
    confidence: float
    claim: float | None = None

    @property
    def refuted(self) -> bool:
        return self.claim is not None and self.value > self.claim

    def __str__(self) -> str:
        return bound_sentence(self.metric, self.value, self.confidence, self.claim)


# ------------------------------------------------------------------------------------------------------- one-run audit


def one_run_p_value(canaries: int, guesses: int, right: int, epsilon: float, delta: float = 0.0) -> float:
    """The probability of `right` or more right guesses under (epsilon, delta)-DP (Steinke, Nasr & Jagielski 2023).

    Each of `canaries` records was included by a fair coin of its own; `guesses` of the coins were guessed:
    p = P[B ≥ v] + 2·m·delta·max_{1≤i≤v} P[v − i ≤ B < v]/i with B ~ Bin(r, e^ε/(1 + e^ε)).
    """
    import numpy as np
    from scipy.stats import binom

    if not 0 <= right <= guesses <= canaries or guesses == 0:
        raise NacreError(
            f"one-run audit: {right} right of {guesses} guesses on {canaries} canaries; expected "
            "0 <= right <= guesses <= canaries and at least one guess"
        )
    chance = 1 / (1 + math.exp(-epsilon))
    tail = float(binom.sf(right - 1, guesses, chance))
    if delta == 0 or right == 0:
        return min(1.0, tail)
    i = np.arange(1, right + 1)
    below = binom.cdf(right - 1, guesses, chance)
    most = float(((below - binom.cdf(right - 1 - i, guesses, chance)) / i).max())
    return min(1.0, tail + 2 * canaries * delta * most)


def one_run_epsilon(canaries: int, guesses: int, right: int, delta: float = 0.0, alpha: float = 0.05) -> float:
    """The largest epsilon that the guesses refute at level `alpha`, from below; 0 where they refute none."""

    def refuted(epsilon: float) -> bool:
        return one_run_p_value(canaries, guesses, right, epsilon, delta) < alpha

    return _largest(refuted)


# ------------------------------------------------------------------------------------------------ two worlds, many runs


def clopper_pearson(successes: int, runs: int, alpha: float) -> tuple[float, float]:
    """Ends for a probability, each of which fails with probability at most `alpha`."""
    from scipy.stats import beta

    if runs < 1 or not 0 <= successes <= runs:
        raise NacreError(f"{successes} successes in {runs} runs: expected 0 <= successes <= runs, at least one run")
    low = float(beta.ppf(alpha, successes, runs - successes + 1)) if successes else 0.0
    high = float(beta.ppf(1 - alpha, successes + 1, runs - successes)) if successes < runs else 1.0
    return low, high


@dataclass(frozen=True)
class Guesses:
    """A fixed test in two neighbouring worlds: how often it said `in` with the record present, and with it absent."""

    hits: int
    present: int
    alarms: int
    absent: int

    def epsilon(self, delta: float = 0.0, alpha: float = 0.05) -> float:
        """max ln((TPR − delta)/FPR), ln((TNR − delta)/FNR) at Clopper-Pearson ends of alpha/2 each, at least 0.

        Both ratios use the same two ends (FNR = 1 − TPR, TNR = 1 − FPR), so that looking at both costs nothing.
        """
        tpr = clopper_pearson(self.hits, self.present, alpha / 2)[0]
        fpr = clopper_pearson(self.alarms, self.absent, alpha / 2)[1]
        return max(0.0, _log_ratio(tpr - delta, fpr), _log_ratio(1 - fpr - delta, 1 - tpr))

    def mu(self, alpha: float = 0.05) -> float:
        """Φ⁻¹(1 − FPR) − Φ⁻¹(FNR) at the same ends, at least 0: a bound for mechanisms that claim Gaussian DP."""
        from scipy.special import ndtri

        fnr = 1 - clopper_pearson(self.hits, self.present, alpha / 2)[0]
        fpr = clopper_pearson(self.alarms, self.absent, alpha / 2)[1]
        return max(0.0, float(ndtri(1 - fpr) - ndtri(fnr)))


def _log_ratio(above: float, below: float) -> float:
    return math.log(above / below) if above > 0 and below > 0 else -math.inf


def group_epsilon(
    passed: int, runs: int, passed_other: int, runs_other: int, changed: int, alpha: float = 0.05
) -> float:
    """log(p/p′)/k from an event's counts on a table and on one with k rows replaced: p ≤ e^{kε}·p′ under ε-DP."""
    if changed < 1:
        raise NacreError(f"changed={changed!r}: expected the number of rows that differ, 1 or more")
    low = clopper_pearson(passed, runs, alpha / 2)[0]
    high = clopper_pearson(passed_other, runs_other, alpha / 2)[1]
    return max(0.0, _log_ratio(low, high) / changed)


# --------------------------------------------------------------------------------------------------------- multiplicity


def family(alpha: float, audits: int) -> float:
    """The level of each of `audits` audits such that all their bounds hold with confidence 1 − alpha (Bonferroni)."""
    if audits < 1 or not 0 < alpha < 1:
        raise NacreError(f"family error {alpha!r} over {audits!r} audits: expected a level in (0, 1) and 1 or more")
    return alpha / audits


def exceedances(audits: int, least: int, alpha: float = 0.05) -> float:
    """P[at least `least` of `audits` independent bounds of level alpha are above the truth]."""
    from scipy.stats import binom

    return float(binom.sf(least - 1, audits, alpha))


def _largest(refuted) -> float:
    """The largest x with refuted(x), for a rule that is true up to some x and false from there on; 0 if never."""
    if not refuted(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while refuted(high):
        low, high = high, 2 * high
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low
