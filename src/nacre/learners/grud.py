"""GRU-D with a certificate: a classifier of series with missing values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted

from nacre.errors import DataError, PlanError
from nacre.learners import labelled
from nacre.learners.classifier import PrivateClassifier
from nacre.learners.training import Training, check_whole
from nacre.nets.gru_d import GruD
from nacre.owner import OwnerNotes
from nacre.privacy.ledger.books import Ledger
from nacre.privacy.ledger.payment import Account
from nacre.run.former import Former, Tell

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

CHUNK = 1024  # records predicted at a time


class GRUD(PrivateClassifier):
    """A recurrent network with decays for what is missing; two classes.

    X is [records, hours, measurements] with NaN where nothing was measured. Parameters as of `LogisticRegression`,
    whose trainings it shares (`Sgd` and `DpSgd` step with Adam here; draws lie around public start weights);
    `bounds` are public bounds of the measurements, (low, high) or one pair of arrays, and `hidden` the units of the
    network. After `fit`: `parameters_`, `network_`, `classes_`, `certificate_`.
    """

    def __init__(
        self,
        training: Training | None = None,
        *,
        hidden: int = 10,
        bounds: object = None,
        classes: object = None,
        rows: int | None = None,
        neighbours: str = "replace_one",
        seed: int = 0,
        noise_seed: int | None = None,
    ):
        self.training = training
        self.hidden = hidden
        self.bounds = bounds
        self.classes = classes
        self.rows = rows
        self.neighbours = neighbours
        self.seed = seed
        self.noise_seed = noise_seed

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        owner: OwnerNotes | Tell | None = None,
        *,
        ledger: Account | Ledger | str | None = None,
        **former: Unpack[Former],
    ) -> GRUD:
        """Train through a curator; see `LogisticRegression.fit`."""
        X = _series(X)
        y = np.asarray(y)
        check_whole(1, hidden=self.hidden)
        if y.shape != X.shape[:1]:
            raise DataError(f"y has shape {y.shape}; expected one label for each of {len(X)} records")
        self._find_classes(y)
        if len(self.classes_) != 2:
            raise PlanError(f"GRUD: found {len(self.classes_)} classes; it has one output and tells two apart")
        self.shape_ = X.shape[1:]
        flat = X.reshape(-1, X.shape[2])
        self.scale_ = labelled.Scale.of(self.bounds, np.nan_to_num(flat))
        self.network_ = GruD(X.shape[1], X.shape[2], self.hidden)
        self.parameters_ = self._train(self._records(X), y, self.network_, ledger, owner, former)
        return self

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        check_is_fitted(self)
        return self.proba_of(self.parameters_, X)

    def proba_of(self, parameters: np.ndarray, X: ArrayLike) -> np.ndarray:
        """Probabilities under another parameter vector, such as one that `draw` gives."""
        import jax
        import jax.numpy as jnp
        from jax.flatten_util import ravel_pytree

        X = _series(X)
        if X.shape[1:] != self.shape_:
            raise DataError(f"X has records of shape {X.shape[1:]}; the network was trained on {self.shape_}")
        records = self._records(X)
        weights = ravel_pytree(self.network_.start(0))[1](jnp.asarray(parameters, jnp.float32))
        run = jax.jit(jax.vmap(self.network_.logit, (None, 0)))
        parts = [np.asarray(run(weights, records[a : a + CHUNK])) for a in range(0, len(records), CHUNK)]
        p = 1 / (1 + np.exp(-np.concatenate(parts).astype(np.float64)))
        return np.stack([1 - p, p], axis=1)

    def bayes_proba(self, X: ArrayLike, draws: int = 100) -> np.ndarray:
        """Mean of the probabilities over `draws` further draws of a flow: Bayesian model averaging, not one release."""
        return np.mean([self.proba_of(theta, X) for theta in self.draw(draws)], axis=0)

    def map_proba(self, X: ArrayLike) -> np.ndarray:
        """Probabilities under `map_parameters` of a flow: a further release."""
        return self.proba_of(self.map_parameters(), X)

    def _parameters(self) -> np.ndarray:
        return self.parameters_

    def _facts(self) -> dict[str, Any]:
        return {"hours": int(self.shape_[0]), "measurements": int(self.shape_[1]), "hidden": int(self.network_.hidden)}

    def _restore(self, facts: dict[str, Any], parameters: np.ndarray) -> None:
        """What `fit` leaves, from a file; ValueError where sizes do not fit together."""
        self.hidden = int(facts["hidden"])
        self.shape_ = (int(facts["hours"]), int(facts["measurements"]))
        self.network_ = GruD(*self.shape_, self.hidden)
        if parameters.shape != (self.network_.size,) or self.scale_.low.shape != self.shape_[1:]:
            raise ValueError(f"{parameters.shape} parameters; expected {self.network_.size}")
        self.parameters_ = parameters

    def _records(self, X: np.ndarray) -> np.ndarray:
        """Values in [−1, 1], 0 where missing, then the masks: a row-local map with public bounds."""
        seen = np.isfinite(X)
        scaled = self.scale_(np.where(seen, X, 0).reshape(-1, X.shape[2])).reshape(X.shape)
        both = np.stack([np.where(seen, scaled, 0), seen], axis=1).astype(np.float32)
        return both.reshape(len(X), -1)


def _series(X: ArrayLike) -> np.ndarray:
    """[records, hours, measurements]; NaN stands for nothing measured, infinite values are refused."""
    finite: Any = "allow-nan"
    found = np.asarray(check_array(X, dtype="float32", allow_nd=True, ensure_all_finite=finite))
    if found.ndim != 3 or 0 in found.shape:
        raise DataError(
            f"X has the shape {found.shape}; expected three dimensions [records, hours, measurements], none of them 0, "
            "with NaN where nothing was measured"
        )
    return found
