"""Logistic regression with a certificate."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted, validate_data

from nacre.errors import DataError, NacreError, PlanError
from nacre.learners import labelled, losses
from nacre.learners.descending import DpSgd
from nacre.learners.training import Task, Tell, Training
from nacre.privacy.certificate import Certificate, certify
from nacre.privacy.curator import Curator
from nacre.privacy.noise import NoiseSource
from nacre.privacy.plan import Plan


class OneClass(DataError, ValueError):
    """Labels of one class only; also a ValueError, as scikit-learn expects."""


class LogisticRegression(ClassifierMixin, BaseEstimator):
    """A linear classifier; `training` says how it is trained and what that promises (default: DP-SGD at epsilon 1).

    `bounds` are public bounds of the features, (low, high) for all or one pair of arrays; `classes` the public labels.
    What is left out is read from the data, and then the certificate says `none`. The number of rows is public under
    `replace_one` and `zero_out`; under `add_or_remove_one` declare it in `rows`. `seed` fixes public randomness only,
    `noise_seed` makes the noise repeatable and the guarantee `none`.

    After `fit`: `coef_` [outputs, features] and `intercept_` on features scaled to [−1, 1], `classes_`, `certificate_`.
    """

    def __init__(
        self,
        training: Training | None = None,
        *,
        bounds: Any = None,
        classes: Any = None,
        rows: int | None = None,
        neighbours: str = "replace_one",
        seed: int = 0,
        noise_seed: int | None = None,
    ):
        self.training = training
        self.bounds = bounds
        self.classes = classes
        self.rows = rows
        self.neighbours = neighbours
        self.seed = seed
        self.noise_seed = noise_seed

    def fit(self, X: Any, y: Any, tell_owner: Tell | None = None) -> LogisticRegression:
        """Train through a curator. `tell_owner` gets diagnostics computed on private rows, for their owner alone."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_ = unique_labels(y) if self.classes is None else np.sort(np.asarray(self.classes))
        if len(self.classes_) < 2:
            raise OneClass(f"y: found {len(self.classes_)} class; a classifier needs two or more")
        self.scale_ = labelled.Scale.of(self.bounds, X)
        training: Training = self.training or DpSgd()
        task = Task(X.shape[1], len(self.classes_), self._units(X), self.neighbours, self.seed)
        task.plan = Plan(training.name, training.entries(task), training.budget(task), rows=task.rows)
        noise = NoiseSource(self.noise_seed)
        rows = labelled.LabelledRows(self.scale_(X), labelled.label_codes(y, self.classes_))
        schema = labelled.describe(task.features, task.classes, task.rows, self._read())
        task.curator = Curator(rows, task.plan, schema, noise)
        parameters = training.train(task, tell_owner or (lambda told: None))
        made = certify(task.plan, schema, seeded=noise.seeded, noise=noise.description, assumptions=_assumed(schema))
        self.certificate_: Certificate = dataclasses.replace(made, extras=dict(getattr(training, "extras", {})))
        self.flow_ = task.model
        self._keep(np.asarray(parameters, np.float64))
        return self

    def draw(self, count: int = 1) -> np.ndarray:
        """Further parameter vectors [count, d] of a flow. Each is one more release, and the certificate counts it."""
        check_is_fitted(self)
        if self.flow_ is None:
            raise NacreError(
                f"{self.certificate_.method}: one draw was paid for and it is in coef_; a second one would be a second "
                "release. Only a flow (guarantee none) can be drawn from again"
            )
        extras = dict(self.certificate_.extras)
        extras["releases"] = extras.get("releases", 1) + count
        self.certificate_ = dataclasses.replace(self.certificate_, extras=extras)
        return self.flow_.draw(count)

    def bayes_proba(self, X: Any, draws: int = 1000) -> np.ndarray:
        """Mean of the probabilities over `draws` further draws of a flow: Bayesian model averaging, not one release."""
        X = validate_data(self, X, dtype=np.float64, reset=False)
        x = self.scale_(X)
        return np.mean([losses.probabilities(theta, x) for theta in self.draw(draws)], axis=0)

    def _keep(self, theta: np.ndarray) -> None:
        matrix = theta.reshape(losses.outputs(len(self.classes_)), -1)
        self.coef_, self.intercept_ = matrix[:, :-1], matrix[:, -1]

    def _units(self, X: np.ndarray) -> int:
        if self.rows is not None:
            return int(self.rows)
        if self.neighbours == "add_or_remove_one" and getattr(self.training or DpSgd(), "epsilon", None) is not None:
            raise PlanError(
                "rows: under add_or_remove_one the number of rows is private; declare a public one in `rows`"
            )
        return len(X)

    def _read(self) -> dict[str, bool]:
        private = self.rows is None and self.neighbours == "add_or_remove_one"
        return {"bounds": self.bounds is None, "classes": self.classes is None, "rows": private}

    def predict_proba(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        theta = np.concatenate([self.coef_, self.intercept_[:, None]], axis=1).ravel()
        return losses.probabilities(theta, self.scale_(X))

    def predict(self, X: Any) -> np.ndarray:
        likeliest = self.predict_proba(X).argmax(axis=1)
        return self.classes_[likeliest]


def _assumed(schema: Any) -> tuple[str, ...]:
    return ("bounds of the features and the classes were not taken from these rows", "the promise is per row")
