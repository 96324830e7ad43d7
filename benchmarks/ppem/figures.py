"""Tables of the benchmarks of hidden columns as encoded rows, and figures of synthetic ones beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from nacre.audit.recovery import Recovered, recover
from nacre.engines import open_rows
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.synthesizers.parts import revealed
from nacre.synthesizers.parts.layout import Layout
from nacre.synthesizers.ppem.model import PpemModel
from nacre.table.encoding import Encoded, Values, encode
from nacre.table.schema import Schema
from nacre.table.values.decoding import decode

TESTED, STEIN = 2_000, 1_000  # rows of each table in the MMD test; rows of the Stein test
ATTACKED = 20_000  # rows that an attacker who knows the decoy looks at

Records = Mapping[str, Values]


@dataclass(frozen=True)
class Split:
    """One split of a table into private and held-out rows."""

    seed: int
    private: pd.DataFrame
    holdout: pd.DataFrame
    schema: Schema
    target: str | None

    @cached_property
    def real(self) -> Records:
        return _encoded(self.private, self.schema)

    @cached_property
    def held(self) -> Records:
        return _encoded(self.holdout, self.schema)

    def rows(self, parts: tuple[tuple[str, ...], ...], show: revealed.Show | None = None) -> revealed.Rows:
        plan = revealed.reveal_plan("benchmark", self.schema, None, Budget(None), ())
        curator = Curator(open_rows(self.private), plan, self.schema)
        return revealed.read(curator, plan, Layout.of(self.schema, self.target, "benchmark"), parts, show=show)


def _encoded(frame: pd.DataFrame, schema: Schema) -> Records:
    parts = [encode(batch, schema).columns for batch in open_rows(frame).batches()]
    return {
        name: Values.of(np.concatenate([p[name].values for p in parts]), np.concatenate([p[name].null for p in parts]))
        for name in parts[0]
    }


def matrix(records: Records, schema: Schema, names: Sequence[str]) -> np.ndarray:
    """Numbers as they are, a column per label, one for true and false; a missing value is a label of its own."""
    found = []
    for name in names:
        column, own = schema.columns[name], records[name]
        if column.kind in ("numeric", "datetime"):
            found.append(np.where(own.null, 0.0, own.values.astype(np.float64)))
        elif column.kind == "boolean":
            found.append((own.values == 1).astype(np.float64))
        else:
            found += [(own.values == i).astype(np.float64) for i in range(len(column.labels))]  # type: ignore[attr-defined]
        if column.nullable:
            found.append(own.null.astype(np.float64))
    return np.stack(found, axis=1)


def predicted(made: Records, one: Split, number: str) -> dict[str, float]:
    """Logistic regression of the target and least squares of a standardised number: trained on `made`, tested on
    held-out rows. auroc is 0.5 by convention where one class is missing (specs/ppem.md E15)."""
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.metrics import mean_squared_error, r2_score, roc_auc_score
    from sklearn.preprocessing import StandardScaler

    assert one.target is not None
    names = [n for n in one.schema.modelled if n != one.target]
    x, y = (matrix(r, one.schema, names) for r in (made, one.held))
    kinds, truth = made[one.target].values == 1, one.held[one.target].values == 1
    scaler = StandardScaler().fit(x)
    found = {"auroc": 0.5}
    if 0 < kinds.sum() < len(kinds):
        model = LogisticRegression(max_iter=200).fit(scaler.transform(x), kinds)
        found["auroc"] = float(roc_auc_score(truth, model.decision_function(scaler.transform(y))))
    others = [n for n in names if n != number]
    scale = matrix(one.real, one.schema, others).std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    own = one.real[number].values
    wanted = [(r[number].values - own.mean()) / own.std() for r in (made, one.held)]
    linear = LinearRegression().fit(matrix(made, one.schema, others) / scale, wanted[0])
    guess = linear.predict(matrix(one.held, one.schema, others) / scale)
    return {**found, "mse": float(mean_squared_error(wanted[1], guess)), "r2": float(r2_score(wanted[1], guess))}


def distances(made: Records, one: Split, hidden: Sequence[str]) -> dict[str, float]:
    """The MMD test of the hidden columns, distances of all columns, and the marginal-recovery attack."""
    from nacre.distances import mmd_test

    far = column_distances(made, one)
    found = {
        "ks_hidden": min(far[n] for n in hidden),
        "ks_visible": float(np.mean([d for n, d in far.items() if n not in hidden and n != one.target])),
        "dwp_rmse": shares_error(made, one),
    }
    x, y = (matrix(r, one.schema, hidden) for r in (one.real, made))
    scale = x.std(axis=0)
    some = [_some(a / np.where(scale > 0, scale, 1.0), one.seed) for a in (x, y)]
    return {"mmd_p": mmd_test(*some, seed=one.seed).p_value, **found, **recovered(made, one, hidden)}


def _some(rows: np.ndarray, seed: int) -> np.ndarray:
    return rows[np.random.default_rng([seed, 17]).permutation(len(rows))[:TESTED]]


def column_distances(made: Records, one: Split) -> dict[str, float]:
    """Kolmogorov-Smirnov distance of every column from the private one, labels in the order of the schema."""
    from scipy.stats import ks_2samp

    found = {}
    for name in one.schema.modelled:
        a, b = ((np.where(r[name].null, 1e18, r[name].values.astype(np.float64))) for r in (one.real, made))
        if one.schema.columns[name].kind == "boolean":
            found[name] = abs(float((a == 1).mean() - (b == 1).mean()))
        else:
            found[name] = float(ks_2samp(a, b, method="asymp").statistic)  # type: ignore[union-attr]
    return found


def shares_error(made: Records, one: Split) -> float:
    """Root mean square difference of the shares of all labels; numbers are left out."""
    names = [n for n in one.schema.modelled if one.schema.columns[n].kind not in ("numeric", "datetime")]
    a, b = (matrix(r, one.schema, names).mean(axis=0) for r in (one.real, made))
    return float(np.sqrt(np.mean((a - b) ** 2)))


def recovered(made: Records, one: Split, hidden: Sequence[str]) -> dict[str, float]:
    found = _recovery(made, one, hidden)
    return {
        "recovered_error": max(abs(f.error) for f in found),
        "recovered_share": float(np.mean([f.caught for f in found])),
    }


def untilted(made: Records, one: Split, hidden: Sequence[str], decoy: float) -> dict[str, float]:
    """The same by an attacker who knows the decoy, on some of the rows."""
    some = {n: made[n].take(np.arange(min(len(made[n]), ATTACKED))) for n in hidden}
    return {"untilted_error": max(abs(f.error) for f in _recovery(some, one, hidden, decoy))}


def _recovery(made: Records, one: Split, hidden: Sequence[str], decoy: float = 0.0) -> Sequence[Recovered]:
    small = Schema({n: one.schema.columns[n] for n in hidden})
    tables = [decode(Encoded({n: r[n] for n in hidden}, len(next(iter(r.values())))), small) for r in (made, one.real)]
    return recover(*tables, small, list(hidden), decoy)


def stein_p(model: PpemModel, one: Split) -> float:
    from nacre.distances import ksd_test

    places = np.random.default_rng([one.seed, 19]).permutation(len(one.private))[:STEIN]
    got = model.scores({n: v.take(places) for n, v in one.real.items()})
    assert got is not None
    return ksd_test(*got, seed=one.seed).p_value
