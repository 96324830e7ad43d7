"""What a metric is, and the names of the models that end some of their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Direction = Literal["higher", "lower", "none"]
INF = float("inf")
# Classifiers by the short names that end a metric's name.
MODELS: Mapping[str, str] = {
    "lr": "logistic regression",
    "gnb": "Gaussian naive Bayes",
    "bnb": "Bernoulli naive Bayes",
    "svm": "linear support vector machine",
    "tree": "decision tree",
    "lda": "linear discriminant analysis",
    "ada": "AdaBoost",
    "bag": "bagged trees",
    "gbm": "gradient boosting",
    "mlp": "multilayer perceptron",
    "forest": "random forest of 100 trees",
    "hgb": "histogram gradient boosting",
}

REGRESSORS: Mapping[str, str] = {
    "linear": "least squares",
    "ridge": "ridge regression",
    "tree": "regression tree",
    "hgb": "histogram gradient boosting",
}


@dataclass(frozen=True)
class Metric:
    """One figure. `direction` says what is better ("none": a plain fact); `range` holds its possible values;
    `reads` names what it is computed from: synthetic, private, holdout, clock, memory, ledger, accountant, files."""

    name: str
    direction: Direction
    range: tuple[float, float]
    unit: str
    reads: tuple[str, ...]
    text: str


TRAINED = ("synthetic", "holdout")
COMPARED = ("synthetic", "private")
SHARE = (0.0, 1.0)
