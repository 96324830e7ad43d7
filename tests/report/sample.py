"""A realistic report, made from simulated people: nobody real. The release is fitted with fresh noise on every run."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from tests.edited import assumed
from tests.metrics.marginals import marginals

import nacre
from nacre.evaluation.columns import compare_columns
from nacre.evaluation.score import Judge, Protocol
from nacre.metrics.cells import cells
from nacre.metrics.dependence import taus
from nacre.metrics.score import Matrix, Score
from nacre.privacy.budget import Budget
from nacre.privacy.certificate.statement import certify
from nacre.privacy.noise import ENTROPY
from nacre.report.report import Comparison, Report
from nacre.synthesizers.registry import make
from nacre.table.simulate.clinic import clinic
from nacre.table.simulate.people import people, people_schema

TARGET = "late_payment"
ROWS = 3_000
EVIL = '<script>alert("x")</script>&\'"'


@cache
def release() -> Any:
    return nacre.fit(people(ROWS, seed=1), schema=people_schema(ROWS), epsilon=1.0, method="independent")


def promised(epsilon: float, delta: float, schema: Any = None, neighbours: str = "add_or_remove_one") -> Any:
    """A true certificate of `independent` on a schema, without a fit."""
    schema = schema or people_schema(ROWS)
    budget = Budget(epsilon, delta, neighbours)
    plan = make("independent", {}).plan(schema, schema.rows, budget)
    return certify(plan, schema, seeded=False, noise=ENTROPY, assumptions=assumed(schema))


@cache
def tables() -> tuple[Any, Any, Any]:
    """Real people, a synthetic table without dependence between columns, and a holdout."""
    return people(ROWS, seed=1), release().sample(as_="pyarrow"), people(ROWS, seed=3)


@cache
def report() -> Report:
    real, synthetic, holdout = tables()
    return report_of(real, synthetic, holdout, release().certificate)


def report_of(
    real: Any, synthetic: Any, holdout: Any, certificate: Any, models: tuple[str, ...] = ("lr", "tree", "gnb")
) -> Report:
    """A full report from three Arrow tables of simulated people."""
    schema = people_schema(real.num_rows)
    a, b, h = (t.to_pandas() for t in (real, synthetic, holdout))
    judge = Judge(a, h, schema, TARGET, Protocol(suites=models))
    made, ceiling = judge.score(b), judge.ceiling
    scores = [_score(name, value) for name, value in made.items()]
    scores += [Score(name, value, "real") for name, value in ceiling.items()]
    scores += [Score(n, _guess(n, h), "majority") for n in ceiling if n.startswith(("auc", "roc_hard", "ap", "f1"))]
    one = marginals(cells(b, schema), cells(a, schema))
    again = marginals(cells(a.sample(len(a), replace=True, random_state=0), schema), cells(a, schema))
    scores += [Score("tvd1", again.tvd1, "bootstrap"), Score("tvd2", again.tvd2, "bootstrap")]
    scores += [Score("tvd1", value, columns=(name,)) for name, value in one.one.items()]
    return Report(
        tuple(scores),
        tuple(compare_columns(real, synthetic, schema)),
        (kendall(a, b, schema), cramers_v(compare_codes(a, schema), compare_codes(b, schema), schema)),
        TARGET,
        {
            "real table": f"{real.num_rows:,} rows",
            "synthetic table": f"{synthetic.num_rows:,} rows",
            "holdout": f"{holdout.num_rows:,} rows",
            "seed": "0",
            "versions": f"nacre {certificate.versions['nacre']}",
        },
        ("Intervals come from 200 bootstrap draws of the holdout.", "Models were trained on at most 50,000 rows."),
        certificate,
    )


def _score(name: str, value: float) -> Score:
    spread = 0.008 if name.startswith(("auc", "ap", "f1", "roc", "prc")) else None
    return Score(name, value, low=value - spread, high=value + spread) if spread else Score(name, value)


def _guess(name: str, holdout: Any) -> float:
    share = float(holdout[TARGET].mean())
    return (
        0.5 if name.startswith(("auc", "roc_hard")) else share if name.startswith("ap") else (1 - share) / (2 - share)
    )


def kendall(a: Any, b: Any, schema: Any) -> Matrix:
    real, made = taus(a, schema), taus(b, schema)
    names = tuple(dict.fromkeys(n for pair in real.pairs for n in pair))
    out = []
    for found in (real, made):
        square = np.eye(len(names))
        for (c, d), value in zip(found.pairs, found.values, strict=True):
            i, j = names.index(c), names.index(d)
            square[i, j] = square[j, i] = value
        out.append(square)
    return Matrix("kendall", names, out[0], out[1])


def compare_codes(frame: Any, schema: Any) -> dict[str, np.ndarray]:
    return dict(cells(frame, schema).codes)


def cramers_v(a: dict[str, np.ndarray], b: dict[str, np.ndarray], schema: Any) -> Matrix:
    names = tuple(a)
    return Matrix("cramers_v", names, _all_v(a, names), _all_v(b, names))


def _all_v(codes: dict[str, np.ndarray], names: tuple[str, ...]) -> np.ndarray:
    found = np.eye(len(names))
    for i, c in enumerate(names):
        for j, d in enumerate(names[:i]):
            counts = np.histogram2d(codes[c], codes[d], bins=(len(np.unique(codes[c])), len(np.unique(codes[d]))))[0]
            counts = counts[counts.sum(1) > 0][:, counts.sum(0) > 0]
            expected = np.outer(counts.sum(1), counts.sum(0)) / counts.sum()
            smaller = min(counts.shape) - 1
            chi2 = ((counts - expected) ** 2 / expected).sum()
            found[i, j] = found[j, i] = np.sqrt(chi2 / counts.sum() / smaller) if smaller else np.nan
    return found


@cache
def database() -> Report:
    """Of two simulated clinics."""
    made = [clinic(units, seed) for units, seed in ((400, 1), (400, 2), (300, 3))]
    tables = [m.tables for m in made]
    schema = made[0].database
    return nacre.evaluate(tables[1], train=tables[0], holdout=tables[2], schema=schema, target="visits.cost", n_jobs=1)


def wide(columns: int, seed: int = 0) -> Report:
    """A report of many columns with long names, of both kinds, and matrices over all of them."""
    rng = np.random.default_rng(seed)
    names = tuple(f"column {i} with quite a long name, as exports from old systems have them" for i in range(columns))
    drawn = tuple(_one(name, i, rng) for i, name in enumerate(names))
    square, noise = (np.tril(rng.uniform(-s, s, (columns, columns)), -1) for s in (0.9, 0.1))
    square, other = square + square.T, square + square.T + noise + noise.T
    matrices = tuple(Matrix(kind, names, square, other) for kind in ("kendall", "pearson", "cramers_v"))
    scores = [Score("tvd1", c.distance, columns=(c.name,)) for c in drawn]
    return Report(tuple(scores), drawn, matrices, names[0], {"rows": "1"}, (), release().certificate)


def _one(name: str, i: int, rng: np.random.Generator) -> Comparison:
    if i % 2:
        labels = tuple(f"a category with a long label, number {k}" for k in range(12))
        return Comparison(name, "categorical", rng.dirichlet(np.ones(12)), rng.dirichlet(np.ones(12)), labels)
    real, made = rng.dirichlet(np.ones(36)), rng.dirichlet(np.ones(36))
    bins = tuple(f"{k * 1_234_567:,} to {(k + 1) * 1_234_567:,}" for k in range(36))
    return Comparison(name, "numeric", real, made, ends=("0", "44,444,412"), nulls=(0.1, 0.2), bins=bins)
