"""What the classifiers share: plan, curator, certificate and, where there is one, the ledger."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted

from nacre.errors import DataError, NacreError, PlanError
from nacre.learners import labelled
from nacre.learners.descending import DpSgd
from nacre.learners.training import Task, Training, check_whole
from nacre.nets.gru_d import GruD
from nacre.owner import OwnerNotes
from nacre.privacy.budget import warn_weak_delta
from nacre.privacy.certificate.assumed import LEARNED
from nacre.privacy.certificate.statement import Certificate
from nacre.privacy.ledger.books import Ledger
from nacre.privacy.ledger.payment import Account
from nacre.privacy.plan import Plan
from nacre.run.former import Former, Tell, account_of
from nacre.run.session import session
from nacre.run.subjects import OneTable
from nacre.run.terms import Access, Terms

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike


class OneClass(DataError, ValueError):
    """Labels of one class only; also a ValueError, as scikit-learn expects."""


class PrivateClassifier(ClassifierMixin, BaseEstimator):
    """The part of a learner that meets the curator. A subclass says how its records become numbers."""

    training: Any
    bounds: Any
    classes: Any
    rows: Any
    neighbours: Any
    seed: Any
    noise_seed: Any

    def _find_classes(self, y: np.ndarray) -> None:
        public = None if self.classes is None else labelled.public_classes(self.classes)
        if public is not None:
            labelled.check_kind(y, public)
        check_classification_targets(y)
        self.classes_ = unique_labels(y) if public is None else public
        if len(np.unique(self.classes_)) < len(self.classes_):
            raise PlanError(f"classes={self.classes!r}: a class stands there twice; expected different labels")
        if len(self.classes_) < 2:
            raise OneClass(f"y: found {len(self.classes_)} class; a classifier needs two or more")

    def _train(
        self, x: np.ndarray, y: np.ndarray, network: GruD | None, ledger: Account | Ledger | str | None,
        owner: OwnerNotes | Tell | None, former: Former,
    ) -> np.ndarray:  # fmt: skip
        """The parameters, trained through a curator on records `x` in [−1, 1]; keeps the certificate and the flow."""
        training = self._training()
        check_whole(0, seed=self.seed, noise_seed=0 if self.noise_seed is None else self.noise_seed)
        task = Task(x.shape[1], len(self.classes_), self._units(x), self.neighbours, self.seed, network=network)
        schema = labelled.describe(task.features, task.classes, task.rows, self._read())
        budget = training.budget(task)
        warn_weak_delta(budget, task.rows)
        if callable(owner):  # the former third argument
            owner, former = None, {**former, "tell_owner": owner}
        notes = OwnerNotes() if owner is None else owner
        access = Access(account_of(ledger, former), owner=notes)
        read = bool(schema.unprotected) or budget.epsilon is None
        access.account.check(reads=read, seeded=self.noise_seed is not None)
        task.plan = Plan(training.name, training.entries(task), budget, rows=task.rows)
        rows = labelled.LabelledRows(x, labelled.label_codes(y, self.classes_))
        terms = Terms(budget.epsilon, budget.delta, budget.neighbours, seed=self.seed, noise_seed=self.noise_seed)
        with session(OneTable(rows, schema), task.plan, terms, access) as run:
            task.curator, task.noise = run.curator, run.noise
            parameters = training.train(task)
            self.certificate_: Certificate = run.certificate(schema, LEARNED, training.extras)
        self.flow_ = task.model
        if tell := former.get("tell_owner"):
            for facts in notes.diagnostics.values():
                tell(facts)
        return np.asarray(parameters, np.float64)

    def _training(self) -> Training:
        """How to train; PlanError for what cannot, such as the name of a way or a class in place of an object."""
        if self.training is None:
            return DpSgd()
        if isinstance(self.training, type) or not isinstance(self.training, Training):
            raise PlanError(
                f"training={self.training!r}: expected None or an object that says how to train, such as "
                "nacre.learners.DpSgd(epsilon=1.0)"
            )
        return self.training

    def draw(self, count: int = 1) -> np.ndarray:
        """Further parameter vectors [count, d] of a flow. Each is one more release, and the certificate counts it."""
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
            raise NacreError(f"count={count!r}: expected a whole number of draws, 1 or more")
        flow = self._flow()
        drawn = flow.draw(int(count))
        self._count(int(count))
        return drawn

    def map_parameters(self) -> np.ndarray:
        """The draw of the highest target density among those of a flow's diagnostics ("MAP"), [d]. One more release,
        counted once: it stays the same."""
        flow = self._flow()
        if not flow.told:
            self._count(1)
            flow.told = True
        return flow.best.copy()

    def _flow(self) -> Any:
        check_is_fitted(self)
        if self.flow_ is None:
            raise NacreError(
                f"{self.certificate_.method}: one draw was paid for, and this model predicts with it; a second one "
                "would be a second release. Only a flow (guarantee none) can be drawn from again"
            )
        return self.flow_

    def _count(self, more: int) -> None:
        extras = dict(self.certificate_.extras)
        extras["releases"] = extras.get("releases", 1) + more
        self.certificate_ = dataclasses.replace(self.certificate_, extras=extras)

    def save(self, path: str | os.PathLike, force: bool = False) -> None:
        """Write the fitted learner to a file that `nacre.learners.load` reads (`learners.files`)."""
        from nacre.learners.files import save

        check_is_fitted(self)
        save(self, path, force)

    def predict(self, X: ArrayLike) -> np.ndarray:
        likeliest = self.predict_proba(X).argmax(axis=1)  # type: ignore[attr-defined]
        return self.classes_[likeliest]

    def _units(self, X: np.ndarray) -> int:
        if self.rows is not None:
            check_whole(1, rows=self.rows)
            return int(self.rows)
        if self.neighbours == "add_or_remove_one" and self._training().private:
            raise PlanError(
                "rows: under add_or_remove_one the number of rows is private; declare a public one in `rows`"
            )
        return len(X)

    def _read(self) -> dict[str, bool]:
        private = self.rows is None and self.neighbours == "add_or_remove_one"
        return {"bounds": self.bounds is None, "classes": self.classes is None, "rows": private}
