"""Are hidden columns hidden? Tests and effect sizes on private rows, for the owner's report (specs/ppem.md 5, E5, E8).

The MMD test on released rows decides. The Stein test looks at the marginal energy, which is not released: a
diagnostic of training. Both are reported with their sample sizes, beside effect sizes per column and the control
without penalty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.errors import NacreError
from nacre.evaluation.tables import Sample, read
from nacre.metrics.domain import MISSING, Domain
from nacre.metrics.features import Features
from nacre.metrics.score import Score
from nacre.report.report import Hidden
from nacre.table import Schema

if TYPE_CHECKING:
    from nacre.metrics.domain import Variable

ROWS = 2_000  # of each table in the MMD test: all pairs are looked at
SMALL, REPEATS = 128, 100  # the size of a training batch, and how many samples of it are tested
READ = 100_000
DECILES = np.arange(1, 10) / 10

Scores = Callable[[Any, Sequence[str]], tuple[np.ndarray, np.ndarray] | None]


@dataclass(frozen=True)
class Setting:
    """How a set is tested: at its share of α, on at most so many rows."""

    level: float
    rows: int
    seed: int


def hidden_marginals(
    synthetic: object,
    *,
    train: object,
    schema: Schema,
    hide: Sequence[Sequence[str]],
    alpha: float = 0.05,
    control: object = None,
    scores: Scores | None = None,
    rows: int = ROWS,
    seed: int = 0,
) -> tuple[Hidden, ...]:
    """One finding per hidden set, tested at α over the number of sets.

    `control` is a table of the same model without penalty; `scores` maps encoded rows and the columns of a set to (x',
    score of the energy) as `PpemModel.scores` does, and may return None. Unprotected statistics of private rows.
    """
    if isinstance(hide, str) or any(isinstance(one, str) for one in hide):
        raise NacreError("hide: expected sets of columns, such as [['age', 'income']]")
    names = list(dict.fromkeys(n for one in hide for n in one))
    tables = {"synthetic": synthetic, **({"control": control} if control is not None else {})}
    real = read(train, schema, names, "train", READ, seed)
    made = {of: read(t, schema, names, of, READ, seed + 1) for of, t in tables.items()}
    found = []
    for one in hide:
        test = Setting(alpha / len(hide), rows, seed)
        stein = _stein(train, schema, scores, one, test) if scores is not None else []
        domain = Domain.of(Schema({n: schema.columns[n] for n in one}))
        figures: list[Score] = [s for name in one for s in _missing(real, domain[name], "real")]
        told = False
        for of, sample in made.items():
            tests, rejects = _mmd(real, sample, domain, of, test)
            told = rejects if of == "synthetic" else told
            figures += tests
            figures += [s for name in one for s in _column(real, sample, domain[name], of)]
            figures += [s for name in one for s in _missing(sample, domain[name], of)]
        found.append(Hidden(tuple(one), alpha, len(hide), told, (*figures, *stein)))
    return tuple(found)


def _mmd(real: Sample, made: Sample, domain: Domain, of: str, how: Setting) -> tuple[list[Score], bool]:
    from nacre.distances import mmd_biased, mmd_test

    features = Features.of(real.frame, domain, None)
    rng = np.random.default_rng(how.seed)
    x, y = (features(s.frame)[rng.permutation(s.rows)].astype(np.float64) for s in (real, made))
    a, b = x[: how.rows], y[: how.rows]
    test = mmd_test(a, b, level=how.level, seed=how.seed)
    small = [
        mmd_test(x[i], y[j], permutations=199, level=how.level, seed=k).rejects
        for k in range(REPEATS)
        for i, j in [(rng.choice(len(x), SMALL), rng.choice(len(y), SMALL))]
    ]
    n = min(len(a), len(b))
    found = [
        Score("mmd_p", test.p_value, of, rows=n),
        Score("mmd2", test.statistic, of, rows=n),
        Score("mmd_biased", mmd_biased(a, b), of, rows=n),
        Score("reject_128", float(np.mean(small)), of, rows=SMALL),
    ]
    return found, test.rejects


def _column(real: Sample, made: Sample, variable: Variable, of: str) -> list[Score]:
    """Effect sizes of one column: what an observer would get wrong by trusting the released distribution."""
    from scipy.stats import ks_2samp, wasserstein_distance

    name, where = variable.name, (variable.name,)
    n = min(real.rows, made.rows)
    if not variable.numeric:
        assert variable.categories is not None
        shares = []
        for sample in (real, made):
            codes = variable.codes(sample.frame[name])
            shares.append(np.bincount(np.maximum(codes + 2, 0), minlength=len(variable.categories) + 2) / len(codes))
        gap = np.abs(shares[0] - shares[1])
        return [
            Score("tvd1", float(gap.sum() / 2), of, where, rows=n),
            Score("share_gap", gap.max(), of, where, rows=n),
        ]
    a, b = (variable.numbers(s.frame[name]) for s in (real, made))
    a, b = a[np.isfinite(a)], b[np.isfinite(b)]
    if not len(a) or not len(b):
        return []
    sd = float(a.std()) or 1.0
    assert variable.bounds is not None
    low, high = variable.bounds
    tests: Any = ks_2samp(a, b)
    deciles = np.abs(np.quantile(a, DECILES) - np.quantile(b, DECILES)).max() / sd
    return [
        Score("ks", float(tests.statistic), of, where, rows=n),
        Score("wasserstein", float(wasserstein_distance(a, b) / max(high - low, 1e-300)), of, where, rows=n),
        Score("mean_gap", float((b.mean() - a.mean()) / sd), of, where, rows=n),
        Score("quantile_gap", float(deciles), of, where, rows=n),
    ]


def _missing(sample: Sample, variable: Variable, of: str) -> list[Score]:
    """The share of missing values, where there may be any: a decoy hardly moves it, and it is part of the secret."""
    if not variable.nullable or not sample.rows:
        return []
    values = sample.frame[variable.name]
    gone = ~np.isfinite(variable.numbers(values)) if variable.numeric else variable.codes(values) == MISSING
    return [Score("null_share", float(np.mean(gone)), of, (variable.name,), rows=sample.rows)]


def _stein(train: object, schema: Schema, scores: Scores, columns: Sequence[str], how: Setting) -> list[Score]:
    """Stein tests of a hidden set of real rows against the energy, at the set's share of α: all three scales that a
    paper may mean (specs/ppem.md E10)."""
    from nacre.distances import ksd_normalised_test, ksd_test
    from nacre.table.encoding import encode

    table = read(train, schema, list(schema.modelled), "train", how.rows, how.seed).table.combine_chunks()
    batches = table.to_batches()
    got = scores(encode(batches[0], schema.inner).columns, columns) if batches else None
    if got is None:
        return []
    x, s = got
    test = ksd_test(x, s, seed=how.seed, level=how.level)
    whole = ksd_normalised_test(x, s, level=how.level)
    parts = [slice(i, i + SMALL) for i in range(0, len(x) - SMALL + 1, SMALL)]
    small = [ksd_normalised_test(x[p], s[p], level=how.level).rejects for p in parts]
    n = len(x)
    found = [
        Score("ksd_p", test.p_value, "energy", rows=n),
        Score("ksd_u", test.statistic, "energy", rows=n),
        Score("ksd_nu", n * test.statistic, "energy", rows=n),
        Score("ksd_ln", whole.statistic, "energy", rows=n),
    ]
    return found + ([Score("ksd_reject_128", float(np.mean(small)), "energy", rows=SMALL)] if small else [])
