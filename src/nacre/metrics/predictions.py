"""Scores of predictions under many weightings of the test rows at once: the figure itself and its bootstrap.

`weights` has one row per weighting and one column per test row. Row 0 of `resamples` is all ones, the figure
itself; the others count how often a bootstrap sample drew each test row. Nothing is fitted again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np

from nacre.metrics.metric import INF, SHARE, TRAINED, Direction, Metric
from nacre.metrics.models import MODELS, REGRESSORS, SUITES

RESAMPLES = 200
TOLD = "trained on synthetic rows, tested on real ones"
_HEADLINES = {"auc_mean10": 5, "auroc_mean9": 6, "auc_lr": 7, "auc_tree": 8, "auc_hgb": 9, "r2": 10, "r2_hgb": 11}
_CELLS = 4_000_000  # of a block of weights: bounds memory
Figures = dict[str, np.ndarray]
Value = TypeVar("Value", float, np.ndarray)


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


class Tested:
    """Predictions beside the truth `y`, under some weightings: what the computation of a measure is given."""

    def __init__(self, y: np.ndarray, found: Prediction, classes: int, weights: np.ndarray):
        self.y, self.found, self.classes, self.weights = y, found, classes, weights
        self._known: dict[str, Sequence[np.ndarray]] = {}  # a cached property of Python 3.11 would lock out all threads

    def ranked(self, place: int) -> np.ndarray:
        """Area under the ROC curve (0) and average precision (1) of the scores; of more than two classes
        one-versus-rest means over the classes that occur."""
        if "scores" not in self._known:
            assert self.found.score is not None
            y, score, classes = self.y, self.found.score, range(self.classes)
            present = [1] if self.classes == 2 else [c for c in classes if 0 < (y == c).sum() < len(y)]
            each = [ranking(y == c, score[:, c], self.weights) for c in present]
            self._known["scores"] = each[0] if self.classes == 2 else np.array(each).mean(axis=0)
        return self._known["scores"][place]

    def hard(self, place: int) -> np.ndarray:
        """The same of 0/1 predictions."""
        if "guesses" not in self._known:
            self._known["guesses"] = ranking(self.y == 1, self.found.guess, self.weights)
        return self._known["guesses"][place]

    def errors(self, name: str) -> np.ndarray:
        return regression(self.y, self.found.guess, self.weights)[name]


@dataclass(frozen=True)
class Measure:
    """One way to score predictions, under every weighting. It makes a metric of every model that can be scored so.

    `text` describes the metric, `title` heads its table in a report. `of`: what is predicted.
    """

    name: str
    of: Literal["classes", "two classes", "numbers"]
    text: str
    title: str
    computation: Callable[[Tested], np.ndarray]
    direction: Direction = "higher"
    range: tuple[float, float] = SHARE
    unit: str = "1"

    def fits(self, found: Prediction, classes: int) -> bool:
        if found.score is None:
            return self.of == "numbers"
        return self.of == "classes" or (self.of == "two classes" and classes == 2)

    def metric(self, name: str, about: str) -> Metric:
        model = name.removeprefix(f"{self.name}_")
        return Metric(
            name,
            self.direction,
            self.range,
            self.unit,
            TRAINED,
            f"{self.text}, {about}; {TOLD}",
            group=self.name,
            model=model if model in MODELS or model in REGRESSORS else None,
            headline=_HEADLINES.get(name),
        )


# In the order of a report, whose first table stands open.
MEASURES: Mapping[str, Measure] = {
    m.name: m
    for m in (
        Measure("auc", "classes", "area under the ROC curve",
                "Area under the ROC curve: how well scores rank the positive class first (0.5 is guessing, 1 perfect)",
                lambda tested: tested.ranked(0)),
        Measure("r2", "numbers", "share of the variance explained",
                "R squared: the share of the variance explained (0 is the mean as a guess, 1 perfect)",
                lambda tested: tested.errors("r2"), range=(-INF, 1.0)),
        Measure("ap", "classes", "average precision",
                "Average precision: how pure the top of the ranking is (guessing gives the share of positives, "
                "1 perfect)",
                lambda tested: tested.ranked(1)),
        Measure("f1", "classes", "macro-averaged F1 of the predicted classes",
                "Macro F1 of the predicted classes (1 is perfect)",
                lambda tested: f1_macro(tested.y, tested.found.guess, tested.weights)),
        Measure("roc_hard", "two classes", "area under the ROC curve of 0/1 predictions",
                "ROC area of hard 0/1 predictions (0.5 is guessing, 1 perfect)", lambda tested: tested.hard(0)),
        Measure("prc_hard", "two classes", "average precision of 0/1 predictions",
                "Average precision of hard 0/1 predictions", lambda tested: tested.hard(1)),
        Measure("mse", "numbers", "mean squared error", "Mean squared error of a predicted number (0 is perfect)",
                lambda tested: tested.errors("mse"), "lower", (0.0, INF), "squared target"),
    )
}  # fmt: skip


def figures(y: np.ndarray, found: Prediction, classes: int, weights: np.ndarray) -> Figures:
    """All measures of one model that fit what it predicts, each an array over the weightings; `classes` is 0 for
    numbers."""
    step = max(1, _CELLS // max(1, len(y)))
    measures = [m for m in MEASURES.values() if m.fits(found, classes)]
    parts = []
    for start in range(0, len(weights), step):
        tested = Tested(y, found, classes, weights[start : start + step].astype(np.float64))
        parts.append([m.computation(tested) for m in measures])
    return {m.name: np.concatenate(part) for m, part in zip(measures, zip(*parts))}


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


# ---------------------------------------------------------------------------------------------------------- metrics


def summary(found: Mapping[str, Mapping[str, Value]]) -> dict[str, Value]:
    """{model: {measure: figures}} flattened to `<measure>_<model>`, plus the means of complete suites."""
    if not found:
        return {}
    flat = {f"{s}_{m}": v for m, per in found.items() for s, v in per.items()}
    kinds = next(iter(found.values()))
    if "r2" in kinds:
        return flat | {s: _mean(found, s, tuple(found)) for s in kinds}
    if set(SUITES["ten"]) <= set(found):
        flat |= {f"{s}_mean10": _mean(found, s, SUITES["ten"]) for s in kinds}
        flat["auc_mean9_no_gnb"] = _mean(found, "auc", tuple(m for m in SUITES["ten"] if m != "gnb"))
    if set(SUITES["nine"]) <= set(found):
        names = {"auc": "auroc_mean9", "ap": "apc_mean9", "f1": "f1_mean9"}
        flat |= {name: _mean(found, s, SUITES["nine"]) for s, name in names.items()}
    flat["f1_macro"] = _mean(found, "f1", tuple(found))
    return flat


def _mean(found: Mapping[str, Mapping[str, Value]], score: str, models: Sequence[str]) -> Value:
    each: list = [found[m][score] for m in models]
    return np.mean(each, axis=0)


def _described() -> list[Metric]:
    classes = [m for m in MEASURES.values() if m.of != "numbers"]
    macro = replace(MEASURES["f1"], text="macro-F1")
    auc, ap, r2, mse = (MEASURES[name] for name in ("auc", "ap", "r2", "mse"))
    nine = "mean of the nine classifiers used beside DP-HFlow"
    named = [
        *((s, f"{s.name}_{m}", model) for s in classes for m, model in MODELS.items()),
        *((s, f"{s.name}_mean10", "mean of PEARL's ten classifiers") for s in classes),
        (auc, "auc_mean9_no_gnb", "mean of the ten without Gaussian naive Bayes"),
        (auc, "auroc_mean9", nine),
        (ap, "apc_mean9", nine),
        (macro, "f1_mean9", nine),
        (macro, "f1_macro", "mean of all the classifiers that were run"),
        *((s, f"{s.name}_{m}", model) for m, model in REGRESSORS.items() for s in (r2, mse)),
        (r2, "r2", "mean of the regressors run"),
        (mse, "mse", "mean of the regressors run"),
    ]
    return [s.metric(name, about) for s, name, about in named]


METRICS = tuple(_described())
