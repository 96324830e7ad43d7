"""Train on one table, test on real rows: predictions and scores of classifiers and regressors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.errors import SchemaError
from nacre.evaluation.parallel import run_jobs
from nacre.metrics.domain import MISSING, UNKNOWN, Domain
from nacre.metrics.features import Features
from nacre.metrics.models import SLOWEST_FIRST, SUITES, build, build_regressor, models_of
from nacre.metrics.predictions import Prediction, figures

if TYPE_CHECKING:
    import pandas as pd

TRAIN_ROWS = 50_000


@dataclass(frozen=True)
class Task:
    """Features and targets of one training table and the test rows. `classes` is 0 for a numeric target."""

    x: np.ndarray
    y: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    classes: int


def labels(table: pd.DataFrame, domain: Domain, target: str) -> np.ndarray:
    """Class number of every row, in the order of the declared categories; MISSING or UNKNOWN where a row has
    none of them."""
    variable = domain[target]
    if variable.categories is None or len(variable.categories) < 2:
        raise SchemaError(f"target {target!r}: classifiers need a categorical or boolean target of 2 or more classes")
    return variable.codes(table[target])


def targets(table: pd.DataFrame, domain: Domain, target: str) -> tuple[np.ndarray, np.ndarray]:
    """What is predicted, a class number or a number, and in which rows it is known."""
    if domain[target].numeric:
        y = domain[target].numbers(table[target])
        return y, ~np.isnan(y)
    y = labels(table, domain, target)
    return y, (y != MISSING) & (y != UNKNOWN)


def at_most(y: np.ndarray, limit: int | None, seed: int) -> np.ndarray:
    """Row numbers of a sample of at most `limit` rows with the class shares of `y` (all rows if they fit).

    A class with any row keeps at least one, so the sample may exceed `limit` by the number of rare classes.
    """
    if limit is None or len(y) <= limit:
        return np.arange(len(y))
    rng = np.random.default_rng(seed)
    keep = []
    for c in np.unique(y):
        rows = np.flatnonzero(y == c)
        size = max(1, round(len(rows) * limit / len(y)))
        keep.append(rng.choice(rows, size=size, replace=False))
    return np.sort(np.concatenate(keep))


def prepare(train: pd.DataFrame, test: pd.DataFrame, domain: Domain, target: str, limit: int | None, seed: int) -> Task:
    """Features of at most `limit` training rows (stratified by class) and of all test rows.

    Training rows without a declared class or number teach nothing and are left out; such test rows are an error.
    """
    domain.check(train, "training")
    domain.check(test, "test")
    y, known = targets(train, domain, target)
    if not known.any():
        raise SchemaError(f"target {target!r}: no row of the training table has a declared {_value(domain, target)}")
    train, y = (train, y) if known.all() else (train.loc[known], y[known])
    keep = at_most(np.zeros(len(y)) if domain[target].numeric else y, limit, seed)
    y_test, known = targets(test, domain, target)
    if not known.all():
        raise SchemaError(
            f"target {target!r}: {(~known).sum()} test rows have no declared {_value(domain, target)}; drop them"
        )
    features = Features.of(train := train.iloc[keep], domain, target)
    return Task(features(train), y[keep], features(test), y_test, len(domain[target].categories or ()))


def _value(domain: Domain, target: str) -> str:
    return "number" if domain[target].numeric else "class"


def scores(
    train: pd.DataFrame,
    test: pd.DataFrame,
    description: object,
    target: str,
    models: Iterable[str] = SUITES["quick"],
    limit: int | None = TRAIN_ROWS,
    seed: int = 0,
    n_jobs: int | None = 1,
) -> dict[str, dict[str, float]]:
    """Scores of every model trained on `train` and tested on `test`, as {model: {score: value}}.

    For classes: `auc`, `ap` (average precision) from scores, `f1` (macro) from predictions, and for two
    classes `roc_hard`, `prc_hard` from 0/1 predictions. The positive class is the last declared category.
    With more classes, `auc` and `ap` are one-versus-rest means over the classes present in `test`.
    A training table of one class scores as a constant guess. For a numeric target the models are regressors and
    the scores `mse`, `r2`. At most `limit` rows are trained on (stratified by `seed`). `n_jobs` models run at a
    time, in threads; results do not depend on it.
    """
    domain = Domain.of(description)
    wanted = models_of(models, domain[target].numeric)
    task = prepare(train, test, domain, target, limit, seed)
    once = np.ones((1, len(task.y_test)))

    def job(model: str) -> Any:
        return lambda: figures(task.y_test, predict(model, task), task.classes, once)

    found = run_jobs({m: job(m) for m in sorted(wanted, key=SLOWEST_FIRST.index)}, n_jobs)
    return {m: {name: float(value[0]) for name, value in found[m].items()} for m in wanted}


def predict(model: str, task: Task) -> Prediction:
    """Fit one model and predict the test rows; a class unseen in training scores below every other."""
    if task.classes == 0:
        return Prediction(build_regressor(model).fit(task.x, task.y).predict(task.x_test))
    kept = _divisible(model, task.y)
    rows, classes, x, y = len(task.x_test), task.classes, task.x[kept], task.y[kept]
    if not len(y):
        return constant(task)
    if y.min() == y.max():
        return Prediction(np.full(rows, y[0]), np.zeros((rows, classes)))
    fitted = build(model).fit(x, y)
    raw = fitted.decision_function(task.x_test) if model == "svm" else fitted.predict_proba(task.x_test)
    raw = np.column_stack([-raw, raw]) if raw.ndim == 1 else raw
    score = np.full((rows, classes), raw.min() - 1.0)
    score[:, fitted.classes_] = raw
    return Prediction(fitted.predict(task.x_test), score)


def _divisible(model: str, y: np.ndarray) -> np.ndarray:
    """The rows to fit: all, but where scikit-learn stops early (the perceptron; boosting from 10,001 rows on) it sets
    rows of every class aside and refuses a class of one row. That row is left out: its class counts as unseen."""
    if model != "mlp" and not (model == "hgb" and len(y) > 10_000):
        return np.ones(len(y), dtype=bool)
    return np.bincount(y)[y] > 1


def constant(task: Task) -> Prediction:
    """The guess that looks at nothing: the most frequent class, or the mean, of the training rows."""
    rows = len(task.x_test)
    if task.classes == 0:
        return Prediction(np.full(rows, task.y.mean()))
    return Prediction(np.full(rows, np.bincount(task.y).argmax()), np.zeros((rows, task.classes)))
