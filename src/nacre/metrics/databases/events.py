"""What models learn of the next row: whether there is one, and what it holds. Trained on synthetic units, tested on
real ones that nothing was made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nacre.errors import SchemaError
from nacre.metrics.databases.linked import Level, Linked, LinkedPair
from nacre.metrics.databases.linking import series
from nacre.metrics.domain import Domain, Variable
from nacre.metrics.features import Features
from nacre.metrics.metric import SHARE, TRAINED, Metric
from nacre.metrics.predictions import RESAMPLES, TOLD, interval, ranking, resamples
from nacre.metrics.score import Measured, Score
from nacre.table.naming import choices

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    from nacre.table.database import Database

ROWS = 50_000  # to train on, and to test on
MODELS = {"trees": "boosted trees", "logistic": "logistic regression"}


@dataclass(frozen=True)
class Event:
    """What is predicted of a row in order, from its columns and those of the rows above: that a next one comes, or,
    with `column`, that the next one has a value among `labels`, or a number of at least `least`. Columns named in
    `without` are not shown to the models."""

    name: str
    table: str
    column: str | None = None
    labels: tuple[str, ...] = ()
    least: float | None = None
    without: tuple[str, ...] = ()

    def rows(self, level: Level) -> tuple[np.ndarray, np.ndarray]:
        """The rows it is asked of, and whether it happened."""
        if self.column is None:
            cap = level.key.cap if level.key is not None else None
            rows = np.flatnonzero(level.place < (cap or len(level)) - 1)  # after a row at the cap nothing can come
            return rows, level.per_parent[rows] > level.place[rows] + 1
        first = level.successive
        values = level.frame[self.column].iloc[first + 1]
        variable = level.domain[self.column]
        if self.labels:
            return first, np.isin(variable.codes(values), [variable.categories.index(w) for w in self.labels])  # type: ignore[union-attr]
        return first, variable.numbers(values) >= (self.least or 0.0)


def asked(database: Database, real: Linked, target: str | None = None) -> tuple[Event, ...]:
    """For every table in order: does a next row come? With a target "table.column": what does the next one hold, the
    most frequent label of real rows (or a number of at least their median) or not?"""
    found = [Event(f"next of {c.name}", c.name) for c in real.children if c.ordered]
    if target is None:
        return tuple(found)
    table, _, column = target.partition(".")
    ordered = [c.name for c in real.children if c.ordered]
    if table not in ordered:
        raise SchemaError(f"target {target!r}: name a column of a table whose rows have an order, as table.column; "
                          f"such tables are {', '.join(ordered) or 'none'}")  # fmt: skip
    level = real.levels[table]
    if column not in level.domain.names:
        raise SchemaError(f"target {target!r}: no such column to predict; choose among "
                          f"{choices(column, level.domain.names)}")  # fmt: skip
    variable, values = level.domain[column], level.frame[column]
    name = f"{target} of the next"
    if variable.categories is None:
        return (*found, Event(name, table, column, least=float(np.nanmedian(variable.numbers(values)))))
    codes = variable.codes(values)
    most = int(np.argmax(np.bincount(codes[codes >= 0], minlength=len(variable.categories))))
    return (*found, Event(name, table, column, (variable.categories[most],)))


@dataclass(frozen=True)
class Shown:
    """What models see of the rows an event is asked of, what happened, and to whom."""

    frame: pd.DataFrame
    domain: Domain
    y: np.ndarray
    unit: np.ndarray
    units: int

    @classmethod
    def of(cls, tables: Linked, event: Event, seed: int) -> Shown:
        """At most ROWS of them, drawn at random."""
        import pandas as pd

        level = tables.levels[event.table]
        rows, y = event.rows(level)
        if len(rows) > ROWS:
            keep = np.sort(np.random.default_rng([seed, 9]).choice(len(rows), ROWS, replace=False))
            rows, y = rows[keep], y[keep]
        parts: dict[str, pd.Series] = {}
        variables: list[Variable] = []
        for other, places in [(level, np.arange(len(level))), *tables.ancestors(level)]:
            for v in other.domain:
                if other is level and v.name in event.without:
                    continue
                name = f"{other.name}.{v.name}"
                parts[name] = series(other.frame, v.name).iloc[places[rows]].reset_index(drop=True)
                variables.append(Variable(**{**vars(v), "name": name}))
        return cls(pd.DataFrame(parts), Domain(tuple(variables)), y.astype(np.int64), level.unit[rows], tables.units)


def build(model: str) -> HistGradientBoostingClassifier | LogisticRegression:
    """Trees that are kept small, for events are often hard to foresee; logistic regression with some shrinkage."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    if model == "logistic":
        return LogisticRegression(max_iter=200, C=0.3)
    return HistGradientBoostingClassifier(
        max_iter=80, learning_rate=0.08, max_leaf_nodes=15, min_samples_leaf=50, l2_regularization=1.0, random_state=0
    )


def learnt(train: Shown, test: Shown, seed: int) -> dict[str, np.ndarray]:
    """AUC by model: the figure, then that of resamples of the test units. 1/2 where nothing is to be learnt."""
    weights = resamples(test.units, RESAMPLES, seed).astype(np.float64)[:, test.unit]
    if len(np.unique(test.y)) < 2:
        return {}
    if len(np.unique(train.y)) < 2:
        return {model: np.full(len(weights), 0.5) for model in MODELS}
    features = Features.of(train.frame, train.domain, None)
    x, x_test = features(train.frame), features(test.frame)
    found = {m: build(m).fit(x, train.y).predict_proba(x_test)[:, 1] for m in MODELS}
    return {m: ranking(test.y == 1, score, weights)[0] for m, score in found.items()}


def _events(pair: LinkedPair) -> Measured:
    """AUC of every event by model, and the mean of all."""
    found: dict[tuple[str, tuple[str, ...]], np.ndarray] = {}
    for event in pair.asked:
        train, test = (Shown.of(tables, event, pair.seed) for tables in (pair.ours, pair.real))
        for model, figures in learnt(train, test, pair.seed).items():
            found[f"auc_next_{model}", (event.name,)] = figures
    if not found:
        return Measured(())
    means = {("auc_next", ()): list(found.values())}
    for model in MODELS:
        means[f"auc_next_{model}", ()] = [v for (name, _), v in found.items() if name.endswith(model)]
    found = {**{key: np.mean(values, axis=0) for key, values in means.items()}, **found}
    return Measured(tuple(score(*key, figures, pair.real.units) for key, figures in found.items()), resampled=found)


def score(name: str, columns: Sequence[str], figures: np.ndarray, units: int) -> Score:
    low, high = interval(figures[1:]) or (None, None)
    return Score(name, float(figures[0]), columns=tuple(columns), low=low, high=high, rows=units)


def _metric(name: str, about: str, headline: int | None = None) -> Metric:
    text = f"area under the ROC curve of what is foreseen of the next row, {about}; {TOLD.replace('rows', 'units')}"
    return Metric(name, "higher", SHARE, "1", TRAINED, text, linked=_events, headline=headline)


def _gap(name: str, of: str) -> Metric:
    text = f"{of} of models trained on real units in the same run, minus that of synthetic ones"
    return Metric(name, "lower", (-1.0, 1.0), "1", ("synthetic", "private", "holdout"), text, gap_of=of)


METRICS = (
    _metric("auc_next", "mean of events and models", 28),
    *(_metric(f"auc_next_{model}", f"by {about}") for model, about in MODELS.items()),
    _gap("auc_gap", "auc_next"),
    *(_gap(f"auc_{model}_gap", f"auc_next_{model}") for model in MODELS),
)
