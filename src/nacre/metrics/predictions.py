"""Scores of predictions under many weightings of the test rows at once: the figure itself and its bootstrap.

`weights` has one row per weighting and one column per test row. Row 0 of `resamples` is all ones, the figure
itself; the others count how often a bootstrap sample drew each test row. Nothing is fitted again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

RESAMPLES = 200
_CELLS = 4_000_000  # of a block of weights: bounds memory
Figures = dict[str, np.ndarray]


@dataclass(frozen=True)
class Prediction:
    """Scores [rows, classes] and the guessed classes; for regression `score` is None and `guess` holds numbers."""

    guess: np.ndarray
    score: np.ndarray | None = None


def resamples(rows: int, count: int, seed: int) -> np.ndarray:
    """Weights [1 + count, rows]: ones, then `count` bootstrap samples of the rows."""
    rng = np.random.default_rng(seed)
    weights = np.ones((1 + count, rows), dtype=np.uint16)
    for i in range(count):
        weights[1 + i] = np.bincount(rng.integers(0, rows, rows), minlength=rows)
    return weights


def interval(values: np.ndarray) -> tuple[float, float] | None:
    """The middle 95 % of bootstrap figures; None when there are none, or they are not numbers."""
    known = values[np.isfinite(values)]
    if len(known) < 20:
        return None
    low, high = np.quantile(known, [0.025, 0.975])
    return float(low), float(high)


def figures(y: np.ndarray, found: Prediction, classes: int, weights: np.ndarray) -> Figures:
    """All scores of one model, each an array over the weightings.

    Two classes: `auc`, `ap` from scores, `f1` (macro) from guesses, `roc_hard`, `prc_hard` from 0/1 guesses. More
    classes: `auc` and `ap` are one-versus-rest means over the classes that occur in `y`. No classes (0): `mse`, `r2`.
    """
    step = max(1, _CELLS // max(1, len(y)))
    parts = [_figures(y, found, classes, w.astype(np.float64)) for w in _blocks(weights, step)]
    return {name: np.concatenate([p[name] for p in parts]) for name in parts[0]}


def _blocks(weights: np.ndarray, step: int) -> list[np.ndarray]:
    return [weights[i : i + step] for i in range(0, len(weights), step)]


def _figures(y: np.ndarray, found: Prediction, classes: int, w: np.ndarray) -> Figures:
    if found.score is None:
        return regression(y, found.guess, w)
    if classes == 2:
        auc, ap = ranking(y == 1, found.score[:, 1], w)
        hard = ranking(y == 1, found.guess, w)
        return {"auc": auc, "ap": ap, "f1": f1_macro(y, found.guess, w), "roc_hard": hard[0], "prc_hard": hard[1]}
    present = [c for c in range(classes) if 0 < (y == c).sum() < len(y)]
    each = np.array([ranking(y == c, found.score[:, c], w) for c in present])
    auc, ap = each.mean(axis=0)
    return {"auc": auc, "ap": ap, "f1": f1_macro(y, found.guess, w)}


def ranking(positive: np.ndarray, score: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Area under the ROC curve and average precision, ties counted half and at once; NaN without both classes."""
    order = np.argsort(-score, kind="stable")
    ordered = score[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])  # runs of equal scores, the highest first
    w = w[:, order]
    every = np.add.reduceat(w, starts, axis=1)
    good = np.add.reduceat(w * positive[order], starts, axis=1)
    bad = every - good
    caught, passed = np.cumsum(good, axis=1), np.cumsum(every, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        wins = good * ((passed - caught)[:, -1:] - (passed - caught) + bad / 2)
        auc = wins.sum(axis=1) / (caught[:, -1] * (passed - caught)[:, -1])
        precision = np.where(passed > 0, caught / passed, 0.0)
        ap = (good * precision).sum(axis=1) / caught[:, -1]
    return auc, ap


def f1_macro(y: np.ndarray, guess: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Mean over the classes that occur in `y` or `guess` of 2 TP / (2 TP + FP + FN); 0 where that has no value."""
    each = []
    for c in np.union1d(y, guess):
        hit, said, true = w @ ((y == c) & (guess == c)), w @ (guess == c), w @ (y == c)
        each.append(2 * hit / np.maximum(said + true, 1e-300))
    return np.mean(each, axis=0)


def regression(y: np.ndarray, guess: np.ndarray, w: np.ndarray) -> Figures:
    """Mean squared error, and one minus its ratio to the variance of `y`; `r2` is NaN for a constant `y`."""
    total = w.sum(axis=1)
    mse = w @ (y - guess) ** 2 / total
    mean = w @ y / total
    variance = (w * (y[None, :] - mean[:, None]) ** 2).sum(axis=1) / total
    return {"mse": mse, "r2": 1 - mse / np.where(variance > 0, variance, np.nan)}
