"""How like the tables are: the jobs, and their results as tidy scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.metrics import joint, metric
from nacre.metrics.columns import Figure, dimension_wise, numeric_figures
from nacre.metrics.counts import Cells, Distances, cells, distances, kendall_error, taus
from nacre.metrics.dependence import cramers_v, kendall_matrix, pearson, upper
from nacre.metrics.distinguish import p_value, two_sample
from nacre.metrics.domain import Domain
from nacre.metrics.predictions import interval
from nacre.metrics.queries import QUERIES, range_queries
from nacre.report.report import Matrix, Score

if TYPE_CHECKING:
    from nacre.evaluation.evaluate import Tables

PAIRS = 5_000  # two-way tables at most: all pairs of 100 columns
TRIPLES = 200
MATRIX_COLUMNS = 100
KENDALL_WORK = 2_000_000  # rows times pairs at most, never under 2,000 rows a pair


@dataclass(frozen=True)
class Marginal:
    """Distances of the synthetic table, of a bootstrap of the private one, and against the holdout."""

    synthetic: Distances
    bootstrap: Distances
    held: Distances | None
    real_held: Distances | None


@dataclass(frozen=True)
class Dependence:
    matrices: list[Matrix]
    kendall: dict[str, float]
    kendall_error: float
    kendall_rows: int


def jobs(tables: Tables, divergence: bool = False) -> dict[str, Callable[[], Any]]:
    """What can be done at once, by name."""
    a, b, domain, seed = tables.synthetic.frame, tables.train.frame, tables.domain, tables.seed
    ours, theirs = cells(a, domain), cells(b, domain)
    held = None if tables.holdout is None else cells(tables.holdout.frame, domain)
    redrawn = np.random.default_rng([seed, 1]).integers(0, theirs.rows, theirs.rows)
    again = theirs.take(redrawn)
    names = domain.names

    def marginal(sets: list[tuple[str, ...]], with_held: bool = True) -> Callable[[], Marginal]:
        def job() -> Marginal:
            far = (distances(ours, held, sets), distances(theirs, held, sets)) if held and with_held else (None, None)
            return Marginal(distances(ours, theirs, sets), distances(again, theirs, sets), *far)

        return job

    return {
        **_whole_rows(tables, divergence),
        "two": marginal(sampled(names, 2, PAIRS, seed)),
        "three": marginal(sampled(names, 3, TRIPLES, seed), with_held=False),
        "one": marginal([(name,) for name in names]),
        **_beside(tables, a, ours, theirs, "synthetic"),
        **_beside(tables, b.iloc[redrawn], again, theirs, "bootstrap"),
    }


def _whole_rows(tables: Tables, divergence: bool) -> dict[str, Callable[[], Any]]:
    """Of the synthetic table, and of the holdout in its place: what other real rows would have. A bootstrap would not
    do here: a row that was drawn twice tells on itself."""
    train, others = tables.train.frame, {"synthetic": tables.synthetic, "real": tables.holdout}

    def job(function: Callable[..., Any], frame: Any) -> Callable[[], Any]:
        return lambda: function(train, frame, tables.domain, tables.seed)

    there = {of: sample.frame for of, sample in others.items() if sample is not None}
    made = {"c2st": two_sample, "joint": joint.row_distances, **({"kl": joint.divergence} if divergence else {})}
    return {f"{name} {of}": job(function, frame) for name, function in made.items() for of, frame in there.items()}


def _beside(tables: Tables, a: Any, ours: Cells, theirs: Cells, of: str) -> dict[str, Callable[[], Any]]:
    """One table beside the private one: the synthetic table, and a bootstrap that says what is left to chance."""
    b, domain, seed = tables.train.frame, tables.domain, tables.seed
    pairs = sampled(domain.names, 2, PAIRS, seed)
    return {
        f"dependence {of}": lambda: _dependence(tables, a, ours, theirs),
        f"queries {of}": lambda: range_queries(a, b, domain, seed=seed),
        f"l1 {of}": lambda: distances(cells(a, domain, 10), cells(b, domain, 10), pairs),
        f"numbers {of}": lambda: {
            v.name: numeric_figures(v, v.raw(a[v.name]), v.raw(b[v.name])) for v in domain.numbers
        },
        f"dwp {of}": lambda: dimension_wise(_shares(ours, domain), _shares(theirs, domain)),
    }


def sampled(names: tuple[str, ...], size: int, limit: int, seed: int) -> list[tuple[str, ...]]:
    """All sets of `size` columns in order, or `limit` of them drawn at random."""
    from math import comb

    total = comb(len(names), size)
    if total <= limit:
        return list(combinations(names, size))
    rng = np.random.default_rng([seed, size])
    found: set[tuple[int, ...]] = set()
    while len(found) < limit:
        found.add(tuple(sorted(rng.choice(len(names), size, replace=False).tolist())))
    return [tuple(names[i] for i in chosen) for chosen in sorted(found)]


def _shares(table: Cells, domain: Domain) -> dict[str, np.ndarray]:
    return {v.name: np.bincount(table.codes[v.name], minlength=table.sizes[v.name]) for v in domain.classes}


def _dependence(tables: Tables, frame: Any, ours: Cells, theirs: Cells) -> Dependence:
    domain = _narrow(tables.domain, tables.seed)
    pairs = len(domain.numbers) * (len(domain.numbers) - 1) // 2
    limit = max(2_000, KENDALL_WORK // max(pairs, 1))
    real, fake = (taus(t, domain, limit, tables.seed) for t in (tables.train.frame, frame))
    numbers = tuple(v.name for v in domain.numbers)
    matrices = [Matrix("cramers_v", domain.names, cramers_v(theirs, domain.names), cramers_v(ours, domain.names))]
    if pairs:
        both = (pearson(t, domain) for t in (tables.train.frame, frame))
        matrices = [kendall_matrix(real, fake, numbers), Matrix("pearson", numbers, *both), *matrices]
    rows = min(real.rows, fake.rows)
    return Dependence(matrices, kendall_error(real, fake), max(real.error, fake.error), rows)


def _narrow(domain: Domain, seed: int) -> Domain:
    """The columns of the matrices: all, or a random choice that a page can show."""
    if len(domain.names) <= MATRIX_COLUMNS:
        return domain
    keep = np.sort(np.random.default_rng([seed, 4]).choice(len(domain.names), MATRIX_COLUMNS, replace=False))
    return Domain(tuple(domain.variables[i] for i in keep))


def scores(tables: Tables, found: dict[str, Any]) -> list[Score]:
    """Everything found, tidy: whole-table figures first, then columns and pairs."""
    rows = min(tables.synthetic.rows, tables.train.rows)
    whole: list[Score] = []
    for name, job in (("tvd1", "one"), ("tvd2", "two"), ("tvd3", "three")):
        whole += _means(name, found[job], rows)
    for of in ("synthetic", "bootstrap"):
        whole += _plain(found, of, rows, bool(tables.domain.classes))
    for of in ("synthetic", "real"):
        whole += _rowwise(found, of)
    for of in ("synthetic", "bootstrap"):
        whole += _errors(found[f"dependence {of}"], rows, of) + _numbers(found[f"numbers {of}"], rows, of)
    each = [s for name, job in (("tvd1", "one"), ("tvd2", "two")) for s in _each(name, found[job], rows)]
    return [s for s in whole if np.isfinite(s.value)] + each


def _plain(found: dict[str, Any], of: str, rows: int, classes: bool) -> list[Score]:
    """The worst column, two-way tables with ten bins, range queries and shares of categories."""
    one: Distances = getattr(found["one"], of)
    worst = max(one.values.items(), key=lambda item: item[1])
    made = [_score("tvd1_max", Figure(worst[1], one.errors[worst[0]]), rows, of)]
    l1: Distances = found[f"l1 {of}"]
    if l1.values:
        made.append(_score("marginal_l1", Figure(2 * l1.mean, 2 * l1.mean_error), rows, of))
    made.append(_score("range_query", found[f"queries {of}"], rows, of))
    return [*made, *([Score("dwp_rmse", found[f"dwp {of}"], of, rows=rows)] if classes else [])]


def _rowwise(found: dict[str, Any], of: str) -> list[Score]:
    """Telling rows apart, and distances of whole rows; nothing where there are no such rows."""
    if f"c2st {of}" not in found:
        return []
    auc, size = found[f"c2st {of}"]
    made = _bootstrapped("c2st_auc", auc, 2 * size, of)
    made.append(Score("c2st_p", p_value(float(auc[0]), size), of, rows=2 * size))
    figures, size = found[f"joint {of}"]
    made += [Score(name, value, of, rows=size) for name, value in figures.items()]
    if f"kl {of}" in found:
        value, size = found[f"kl {of}"]
        made.append(Score("kl_knn", value, of, rows=size))
    return made


def _means(name: str, found: Marginal, rows: int) -> list[Score]:
    given = [(name, "synthetic", found.synthetic), (name, "bootstrap", found.bootstrap)]
    if found.held is not None and found.real_held is not None:
        given += [(f"{name}_holdout", "synthetic", found.held), (f"{name}_holdout", "real", found.real_held)]
    return [_score(n, Figure(d.mean, d.mean_error), rows, of) for n, of, d in given if d.values]


def _each(name: str, found: Marginal, rows: int) -> list[Score]:
    return [
        _score(name, Figure(value, d.errors[columns]), rows, of, columns)
        for of, d in (("synthetic", found.synthetic), ("bootstrap", found.bootstrap))
        for columns, value in d.values.items()
    ]


def _numbers(found: dict[str, dict[str, Figure]], rows: int, of: str) -> list[Score]:
    """Per numeric column, and the mean over them. The mean has no interval: columns of one row go together."""
    scores = []
    for name in ("ks", "wasserstein"):
        each = [_score(name, per[name], rows, of, (c,)) for c, per in found.items() if name in per]
        mean = [Score(name, float(np.mean([s.value for s in each])), of, rows=rows)] if each else []
        scores += mean + each
    return scores


def _errors(found: Dependence, rows: int, of: str) -> list[Score]:
    by = {m.kind: upper(m) for m in found.matrices}
    figures = dict(found.kendall) if "kendall" in by else {}
    if "pearson" in by:
        gap = np.abs(by["pearson"]) if len(by["pearson"]) else np.array([np.nan])
        figures["correlation_rmse"] = float(np.sqrt(np.mean(gap**2)))
        figures |= {"correlation_mae": float(gap.mean()), "correlation_max": float(gap.max())}
    figures["cramers_v_mae"] = float(np.mean(np.abs(by["cramers_v"]))) if len(by["cramers_v"]) else np.nan
    used = {"kendall_rmse": found.kendall_rows, "kendall_mae": found.kendall_rows}
    return [Score(name, value, of, rows=used.get(name, rows)) for name, value in figures.items()]


def _score(name: str, f: Figure, rows: int, of: str = "synthetic", columns: tuple[str, ...] = ()) -> Score:
    """With the interval value +- 1.96 errors, inside the range of the metric."""
    least, most = metric(name).range
    low, high = max(least, f.value - 1.96 * f.error), min(most, f.value + 1.96 * f.error)
    return Score(name, f.value, of, columns, low, high, rows)


def _bootstrapped(name: str, values: np.ndarray, rows: int, of: str) -> list[Score]:
    low, high = interval(values[1:]) or (None, None)
    return [Score(name, float(values[0]), of, low=low, high=high, rows=rows)]


def notes(tables: Tables, found: dict[str, Any]) -> list[str]:
    """Samples and what they cost, and how to read distances of finite tables."""
    told = [
        "Distances of tables of counts are above 0 even between two samples of one population: compare them with those "
        "of a bootstrap of the private table. Intervals are for other rows, not for another run of the method."
    ]
    columns = len(tables.domain.names)
    if columns * (columns - 1) // 2 > PAIRS:
        told.append(f"Of all pairs of columns {PAIRS:,} drawn at random were compared.")
    if len(found["three"].synthetic.values) == TRIPLES:
        told.append(f"Three-way tables: {TRIPLES} triples of columns drawn at random.")
    if columns > MATRIX_COLUMNS:
        told.append(f"Dependence is shown for {MATRIX_COLUMNS} columns drawn at random of {columns:,}.")
    dependence: Dependence = found["dependence synthetic"]
    if dependence.kendall_error:
        told.append(
            f"Kendall's tau was computed on {dependence.kendall_rows:,} rows of each table drawn at random: standard "
            f"error at most {dependence.kendall_error:.4f} each."
        )
    size = found["c2st synthetic"][1]
    if size < min(tables.synthetic.rows, tables.train.rows):
        told.append(f"Telling rows apart (c2st_auc) was tried on {size:,} rows of each table drawn at random.")
    if "joint synthetic" in found and found["joint synthetic"][1] < min(tables.synthetic.rows, tables.train.rows):
        told.append(
            f"mmd2 and energy look at all pairs of rows: {found['joint synthetic'][1]:,} rows of each table drawn at "
            "random. Beside them stands the holdout against the private table."
        )
    if "kl synthetic" in found:
        told.append(
            f"kl_knn looks at the numeric columns of at most {joint.KL_ROWS:,} rows of each table drawn at random, of "
            "those without a missing number; repeated rows count once."
        )
    least = 1 / (1 + joint.PERMUTATIONS)
    told.append(f"mmd_p: {joint.PERMUTATIONS} permutations; no p-value of so many is below {least:.3f}.")
    told.append(f"range_query: {QUERIES:,} random queries of three columns.")
    return told
