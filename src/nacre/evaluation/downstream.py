"""Train on one table, test on real rows: the classifiers, their features and their scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.errors import SchemaError
from nacre.evaluation.domain import MISSING, UNKNOWN, Domain, Variable
from nacre.metrics import MODELS

if TYPE_CHECKING:
    import pandas as pd

TRAIN_ROWS = 50_000

# PEARL's ten classifiers, the nine used beside DP-HFlow (whose paper names only three), one strong model.
SUITES: Mapping[str, tuple[str, ...]] = {
    "ten": ("lr", "gnb", "bnb", "svm", "tree", "lda", "ada", "bag", "gbm", "mlp"),
    "nine": ("lr", "gnb", "svm", "tree", "forest", "ada", "hgb", "lda", "mlp"),
    "strong": ("hgb",),
    "quick": ("lr", "tree", "hgb"),
}
SLOWEST_FIRST = ("gbm", "bag", "ada", "mlp", "forest", "lr", "hgb", "svm", "tree", "lda", "gnb", "bnb")


def build(model: str) -> Any:
    """A fresh scikit-learn classifier with the settings of the protocol (`random_state` 0)."""
    from sklearn import discriminant_analysis, ensemble, linear_model, naive_bayes, neural_network, svm, tree

    makers = {
        "lr": lambda: linear_model.LogisticRegression(max_iter=1000),
        "gnb": lambda: naive_bayes.GaussianNB(),
        "bnb": lambda: naive_bayes.BernoulliNB(),
        "svm": lambda: svm.LinearSVC(dual=False),  # pyright: ignore[reportArgumentType]
        "tree": lambda: tree.DecisionTreeClassifier(random_state=0),
        "lda": lambda: discriminant_analysis.LinearDiscriminantAnalysis(),
        "ada": lambda: ensemble.AdaBoostClassifier(random_state=0),
        "bag": lambda: ensemble.BaggingClassifier(random_state=0),
        "gbm": lambda: ensemble.GradientBoostingClassifier(random_state=0, subsample=0.5),
        "mlp": lambda: neural_network.MLPClassifier(random_state=0, early_stopping=True, max_iter=30),
        "forest": lambda: ensemble.RandomForestClassifier(n_estimators=100, random_state=0),
        "hgb": lambda: ensemble.HistGradientBoostingClassifier(random_state=0),
    }
    return makers[model]()


def models_of(suites: Iterable[str]) -> tuple[str, ...]:
    """The classifiers of the named suites, each once; a name of a classifier stands for itself."""
    chosen: dict[str, None] = {}
    for name in suites:
        if name not in SUITES and name not in MODELS:
            raise ValueError(
                f"no suite or classifier {name!r}; suites: {', '.join(SUITES)}; classifiers: {', '.join(MODELS)}"
            )
        chosen.update(dict.fromkeys(SUITES.get(name, (name,))))
    return tuple(chosen)


@dataclass(frozen=True)
class Features:
    """The map from rows to float32 features, with the moments and medians of the *training* table.

    Numbers come first, standardised; a null takes the training median, and a nullable number gets one
    indicator more. Then one 0/1 column per category of the public domain, nulls being the last category
    of a nullable column. A value outside the domain is a row of zeros in its block. float32 because
    GaussianNB moves by 0.06 AUC on Adult between float64 and float32: the precision is part of the protocol.
    """

    variables: tuple[Variable, ...]
    median: np.ndarray
    mean: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, train: pd.DataFrame, domain: Domain, target: str) -> Features:
        variables = tuple(v for v in domain if v.name != target)
        raw = _numbers(train, variables)
        absent = np.isnan(raw)
        median = np.array([np.median(x[~a]) if (~a).any() else 0.0 for x, a in zip(raw.T, absent.T, strict=True)])
        full = np.where(absent, median, raw)
        scale = full.std(axis=0)
        return cls(variables, median, full.mean(axis=0), np.where(scale == 0, 1.0, scale))

    def __call__(self, table: pd.DataFrame) -> np.ndarray:
        raw = _numbers(table, self.variables)
        absent = np.isnan(raw)
        blocks = [(np.where(absent, self.median, raw) - self.mean) / self.scale]
        nullable = [v.nullable for v in self.variables if v.numeric]
        blocks.append(absent[:, np.array(nullable, dtype=bool)])
        blocks += [_one_hot(v, table[v.name]) for v in self.variables if not v.numeric]
        return np.hstack([b.astype(np.float32) for b in blocks])


def _numbers(table: pd.DataFrame, variables: tuple[Variable, ...]) -> np.ndarray:
    columns = [v.numbers(table[v.name]) for v in variables if v.numeric]
    return np.column_stack(columns) if columns else np.empty((len(table), 0))


def _one_hot(variable: Variable, values: Any) -> np.ndarray:
    assert variable.categories is not None
    k = len(variable.categories)
    codes = np.where((codes := variable.codes(values)) == MISSING, k, codes)
    return codes[:, None] == np.arange(k + variable.nullable)[None, :]


def labels(table: pd.DataFrame, domain: Domain, target: str) -> np.ndarray:
    """Class number of every row, in the order of the declared categories; MISSING or UNKNOWN where a row has
    none of them."""
    variable = domain[target]
    if variable.categories is None or len(variable.categories) < 2:
        raise SchemaError(f"target {target!r}: classifiers need a categorical or boolean target of 2 or more classes")
    return variable.codes(table[target])


def _with_class(table: pd.DataFrame, domain: Domain, target: str) -> tuple[pd.DataFrame, np.ndarray]:
    y = labels(table, domain, target)
    known = (y != MISSING) & (y != UNKNOWN)
    if not known.any():
        raise SchemaError(f"target {target!r}: no row of the training table has a declared class")
    return (table, y) if known.all() else (table.loc[known], y[known])


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


def scores(
    train: pd.DataFrame,
    test: pd.DataFrame,
    description: Any,
    target: str,
    models: Iterable[str] = SUITES["quick"],
    limit: int | None = TRAIN_ROWS,
    seed: int = 0,
    n_jobs: int = 1,
) -> dict[str, dict[str, float]]:
    """Scores of every classifier trained on `train` and tested on `test`, as {classifier: {score: value}}.

    Scores: `auc`, `ap` (average precision) from scores, `f1` (macro) from predictions, and for two
    classes `roc_hard`, `prc_hard` from 0/1 predictions. The positive class is the last declared category.
    With more classes, `auc` and `ap` are one-versus-rest means over the classes present in `test`.
    A training table of one class scores as a constant guess; training rows without a declared class teach
    nothing and are left out, test rows without one are an error. At most `limit` rows are trained on
    (stratified by `seed`). `n_jobs` classifiers run at a time, in processes; results do not depend on it.
    """
    from joblib import Parallel, delayed

    domain = Domain.of(description)
    domain.check(train, "training")
    domain.check(test, "test")
    wanted = models_of(models)
    train, y = _with_class(train, domain, target)
    keep = at_most(y, limit, seed)
    features = Features.of(train := train.iloc[keep], domain, target)
    x, x_test, y_test = features(train), features(test), labels(test, domain, target)
    if y_test.min() < 0:
        raise SchemaError(f"target {target!r}: {(y_test < 0).sum()} test rows have no declared class; drop them")
    classes = len(domain[target].categories or ())
    order = sorted(wanted, key=SLOWEST_FIRST.index)
    rest = (x, y[keep], x_test, y_test, classes)
    done: Any = Parallel(n_jobs=n_jobs)(delayed(_one)(m, *rest) for m in order)
    found = dict(zip(order, done, strict=True))
    return {m: found[m] for m in wanted}


def _one(
    model: str, x: np.ndarray, y: np.ndarray, x_test: np.ndarray, y_test: np.ndarray, classes: int
) -> dict[str, float]:
    score, guess = _predict(model, x, y, x_test, classes)
    return _binary(y_test, score[:, 1], guess) if classes == 2 else _many(y_test, score, guess)


def _predict(
    model: str, x: np.ndarray, y: np.ndarray, x_test: np.ndarray, classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Scores [rows, classes] and predicted classes; a class unseen in training scores below every other."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    if y.min() == y.max():
        return np.zeros((len(x_test), classes)), np.full(len(x_test), y[0])
    fitted = build(model)
    with warnings.catch_warnings():
        # The protocol stops the perceptron at 30 rounds on purpose; one warning per table would say nothing.
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted.fit(x, y)
    raw = fitted.decision_function(x_test) if model == "svm" else fitted.predict_proba(x_test)
    raw = np.column_stack([-raw, raw]) if raw.ndim == 1 else raw
    score = np.full((len(x_test), classes), raw.min() - 1.0)
    score[:, fitted.classes_] = raw
    return score, fitted.predict(x_test)


def _binary(y: np.ndarray, score: np.ndarray, guess: np.ndarray) -> dict[str, float]:
    from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

    return {
        "auc": float(roc_auc_score(y, score)),
        "ap": float(average_precision_score(y, score)),
        "f1": float(f1_score(y, guess, average="macro")),
        "roc_hard": float(roc_auc_score(y, guess)),
        "prc_hard": float(average_precision_score(y, guess)),
    }


def _many(y: np.ndarray, score: np.ndarray, guess: np.ndarray) -> dict[str, float]:
    from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

    present = [c for c in range(score.shape[1]) if 0 < (y == c).sum() < len(y)]
    return {
        "auc": float(np.mean([roc_auc_score(y == c, score[:, c]) for c in present])),
        "ap": float(np.mean([average_precision_score(y == c, score[:, c]) for c in present])),
        "f1": float(f1_score(y, guess, average="macro")),
    }
