"""Logistic regression with a certificate."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from nacre.learners import labelled, losses
from nacre.learners.classifier import OneClass, PrivateClassifier
from nacre.learners.training import Training
from nacre.owner import OwnerNotes
from nacre.privacy.ledger.books import Ledger
from nacre.privacy.ledger.payment import Account
from nacre.run.former import Former, Tell

__all__ = ["LogisticRegression", "OneClass"]


class LogisticRegression(PrivateClassifier):
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
        bounds: object = None,
        classes: object = None,
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

    def fit(
        self,
        X: Any,
        y: Any,
        owner: OwnerNotes | Tell | None = None,
        *,
        ledger: Account | Ledger | str | None = None,
        **former: Unpack[Former],
    ) -> LogisticRegression:
        """Train through a curator. `owner` gets diagnostics computed on private rows, for their owner alone.

        With a `ledger` (`nacre.Account`) the plan is charged to its population, durably, before a door opens.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        self._find_classes(y)
        self.scale_ = labelled.Scale.of(self.bounds, X)
        parameters = self._train(self.scale_(X), y, None, ledger, owner, former)
        self._keep(parameters)
        return self

    def bayes_proba(self, X: Any, draws: int = 1000) -> np.ndarray:
        """Mean of the probabilities over `draws` further draws of a flow: Bayesian model averaging, not one release."""
        X = validate_data(self, X, dtype=np.float64, reset=False)
        x = self.scale_(X)
        return np.mean([losses.probabilities(theta, x) for theta in self.draw(draws)], axis=0)

    def map_proba(self, X: Any) -> np.ndarray:
        """Probabilities under `map_parameters` of a flow: a further release."""
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return losses.probabilities(self.map_parameters(), self.scale_(X))

    def _keep(self, theta: np.ndarray) -> None:
        matrix = theta.reshape(losses.outputs(len(self.classes_)), -1)
        self.coef_, self.intercept_ = matrix[:, :-1], matrix[:, -1]

    def predict_proba(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return losses.probabilities(self._parameters(), self.scale_(X))

    def _parameters(self) -> np.ndarray:
        return np.concatenate([self.coef_, self.intercept_[:, None]], axis=1).ravel()

    def _facts(self) -> dict[str, Any]:
        return {"features": int(self.n_features_in_)}

    def _restore(self, facts: dict[str, Any], parameters: np.ndarray) -> None:
        """What `fit` leaves, from a file; ValueError where sizes do not fit together."""
        self.n_features_in_ = int(facts["features"])
        wanted = losses.size(self.n_features_in_, len(self.classes_))
        if parameters.shape != (wanted,) or self.scale_.low.shape != (self.n_features_in_,):
            raise ValueError(f"{parameters.shape} parameters and {self.scale_.low.shape} bounds; expected {wanted}")
        self._keep(parameters)
