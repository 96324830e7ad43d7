"""The models that are trained on synthetic rows, with the settings of the protocol, and the suites that name them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nacre.errors import NacreError

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

# PEARL's ten classifiers, the nine used beside DP-HFlow (whose paper names only three), one strong model.
# "fidelity" trains nothing; "joint" neither, and adds the divergence kl_knn;
# "default" is what a report shows unless asked for more.
SUITES: Mapping[str, tuple[str, ...]] = {
    "default": ("lr", "tree", "hgb"),
    "fidelity": (),
    "joint": (),
    "quick": ("lr", "tree", "hgb"),
    "ten": ("lr", "gnb", "bnb", "svm", "tree", "lda", "ada", "bag", "gbm", "mlp"),
    "nine": ("lr", "gnb", "svm", "tree", "forest", "ada", "hgb", "lda", "mlp"),
    "strong": ("hgb",),
}
REGRESSION_SUITES: Mapping[str, tuple[str, ...]] = {
    "default": ("linear", "ridge", "tree", "hgb"),
    "fidelity": (),
    "joint": (),
    "quick": ("linear", "tree", "hgb"),
    "strong": ("hgb",),
}
SLOWEST_FIRST = ("gbm", "bag", "ada", "mlp", "forest", "lr", "hgb", "svm", "tree", "lda", "gnb", "bnb",
                 "ridge", "linear")  # fmt: skip


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


def build_regressor(model: str) -> Any:
    """A fresh scikit-learn regressor (`random_state` 0)."""
    from sklearn import ensemble, linear_model, tree

    makers = {
        "linear": lambda: linear_model.LinearRegression(),
        "ridge": lambda: linear_model.Ridge(),
        "tree": lambda: tree.DecisionTreeRegressor(random_state=0),
        "hgb": lambda: ensemble.HistGradientBoostingRegressor(random_state=0),
    }
    return makers[model]()


def models_of(suites: Iterable[str], numeric: bool = False) -> tuple[str, ...]:
    """The models of the named suites, each once; a name of a model stands for itself. `numeric`: regressors."""
    known, single = (REGRESSION_SUITES, REGRESSORS) if numeric else (SUITES, MODELS)
    what = "regressor" if numeric else "classifier"
    chosen: dict[str, None] = {}
    for name in suites:
        if name not in known and name not in single:
            raise NacreError(f"no suite or {what} {name!r}; suites: {', '.join(known)}; {what}s: {', '.join(single)}")
        chosen.update(dict.fromkeys(known.get(name, (name,))))
    return tuple(chosen)
