"""Marginal recovery: what somebody who has only synthetic rows learns about the distribution of chosen columns.

The adversary estimates means, deciles and shares with the usual confidence intervals. The owner, who has the real
rows, then sees how far off these are. Differential privacy does not hide such aggregates, and is not meant to; for
columns that were hidden on purpose (method ppem) it is the attack that matters. One adversary takes the rows as they
are; another knows the method and the distance of its decoy, and undoes the tilt before estimating. Beside the truth
that adversary is as strong as can be: of all directions of the tilt the one that reveals most is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nacre.engines import open_rows
from nacre.errors import SchemaError
from nacre.table import Schema
from nacre.table.encoding import Values, encode
from nacre.table.naming import choices

DECILES = tuple(i / 10 for i in range(1, 10))
CONFIDENCE = 0.95

Interval = tuple[float, float, float]  # estimate, low, high


@dataclass(frozen=True)
class Recovered:
    """One quantity of one column: the adversary's estimate and interval, the truth, and the error in `unit`.

    `what` is "mean", "decile 0.1"... or "share of LABEL"; `unit` is "sd" (real standard deviations) or "share".
    `caught`: the truth lies inside the adversary's own interval, so they are as right as they believe to be.
    """

    column: str
    what: str
    estimate: float
    low: float
    high: float
    truth: float
    error: float
    unit: str

    @property
    def caught(self) -> bool:
        return self.low <= self.truth <= self.high


def estimate(
    synthetic: object,
    schema: Schema,
    columns: Sequence[str],
    decoy: float = 0.0,
    signs: Sequence[float] | None = None,
) -> dict[str, dict[str, Interval]]:
    """The adversary's part, from public things alone: column -> quantity -> (estimate, low, high) at 95 %.

    With `decoy` they know that the columns, in the order of `hide`, were hidden together by a tilt of this distance,
    and undo it first; with `signs` (±1 per column) also in which directions, which are guessed otherwise.
    """
    from nacre.audit.untilting import untilted

    read = _read(synthetic, schema, columns)
    known = None if signs is None else np.asarray(signs, np.float64)
    weights = untilted(_numbered(read), decoy, known) if decoy else None
    return {name: _estimates(schema, name, v, weights) for name, v in read.items()}


def recover(
    synthetic: object,
    real: object,
    schema: Schema,
    columns: Sequence[str],
    decoy: float = 0.0,
    signs: Sequence[float] | None = None,
) -> tuple[Recovered, ...]:
    """The attack beside the truth. Its result holds unprotected statistics of private rows: for the owner alone.

    With `decoy` and no `signs` it is tried with the directions that the real rows have and with all others (of up to
    6 columns), and what comes nearest to the truth is reported.
    """
    truth = _read(real, schema, columns)
    if decoy and signs is None:
        signs = _most_revealing(synthetic, truth, schema, columns, decoy)
    return _beside(estimate(synthetic, schema, columns, decoy, signs), truth, schema)


def _most_revealing(
    synthetic: object, truth: dict[str, Values], schema: Schema, columns: Sequence[str], decoy: float
) -> Sequence[float]:
    """The signs whose largest error is least, tried on some of the rows."""
    from nacre.audit.untilting import TRIED, patterns, untilted

    made = _read(synthetic, schema, columns)
    made = {name: v.take(np.arange(min(len(v), TRIED))) for name, v in made.items()}
    numbers = _numbered(made)

    def worst(signs: np.ndarray) -> float:
        weights = untilted(numbers, decoy, signs)
        guessed = {name: _estimates(schema, name, v, weights) for name, v in made.items()}
        return max((abs(r.error) for r in _beside(guessed, truth, schema)), default=0.0)

    tried = (*patterns(_numbered(truth), decoy), *patterns(numbers, decoy))
    return [float(s) for s in min({tuple(s): s for s in tried}.values(), key=worst)]


def _beside(guessed: dict[str, dict[str, Interval]], real: dict[str, Values], schema: Schema) -> tuple[Recovered, ...]:
    found = []
    for name, values in real.items():
        truth = {what: value for what, (value, _, _) in _estimates(schema, name, values).items()}
        numeric = schema.columns[name].measured
        here = values.values[~values.null].astype(np.float64)
        unit = (float(here.std()) if len(here) else 0.0) or 1.0
        for what, (value, low, high) in guessed[name].items():
            share = what.startswith("share of ")
            error = (value - truth[what]) / (1.0 if share or not numeric else unit)
            found.append(Recovered(name, what, value, low, high, truth[what], error, "share" if share else "sd"))
    return tuple(found)


def _numbered(read: dict[str, Values]) -> np.ndarray:
    """One number per column and row, [n, columns], missing ones where ppem puts them."""
    numbers = []
    for values in read.values():
        x = values.values.astype(np.float64)
        here = x[~values.null]
        numbers.append(np.where(values.null, here.mean() if len(here) else 0.0, x))
    return np.stack(numbers, axis=1)


def _read(table: object, schema: Schema, columns: Sequence[str]) -> dict[str, Values]:
    for name in columns:
        if name not in schema.modelled:
            raise SchemaError(f"column {name!r} is not modelled; choose among {choices(name, schema.modelled)}")
    small = Schema({name: schema.columns[name] for name in columns})
    parts = [encode(batch, small).columns for batch in open_rows(table).batches(list(columns))]
    if not sum(len(v) for p in parts for v in p.values()):
        raise SchemaError("the table has no rows to recover anything from")
    joined = {}
    for name in columns:
        joined[name] = Values.of(
            np.concatenate([p[name].values for p in parts]), np.concatenate([p[name].null for p in parts])
        )
    return joined


def _estimates(schema: Schema, name: str, values: Values, weights: np.ndarray | None = None) -> dict[str, Interval]:
    column = schema.columns[name]
    w = np.ones(len(values)) if weights is None else weights
    n = w.sum() ** 2 / (w**2).sum()  # rows that unequal weights are worth; all of them where they are equal
    share = w / w.sum()
    found = {}
    if column.nullable:
        found["share of null"] = _share(n * share[values.null].sum(), n)
    here = ~values.null
    if column.measured:
        if here.any():
            x = values.values[here].astype(np.float64)
            found |= _numbers(np.sort(x)) if weights is None else _weighted_numbers(x, w[here])
        return found
    known = here & (values.values >= 0)
    counts = np.bincount(values.values[known].astype(np.int64), share[known], minlength=len(column.labels))
    return found | {f"share of {label}": _share(n * c, n) for label, c in zip(column.labels, counts)}


def _weighted_numbers(x: np.ndarray, w: np.ndarray) -> dict[str, Interval]:
    """Mean and deciles of weighted rows, with normal intervals of as many rows as the weights are worth."""
    from scipy.stats import norm

    order = np.argsort(x, kind="stable")
    x, w = x[order], w[order] / w.sum()
    n, z = 1 / (w**2).sum(), float(norm.ppf(0.5 + CONFIDENCE / 2))
    mean = float(x @ w)
    half = z * float(np.sqrt(w @ (x - mean) ** 2 / n))
    found = {"mean": (mean, mean - half, mean + half)}
    upto = np.cumsum(w)
    for q in DECILES:
        off = z * float(np.sqrt(q * (1 - q) / n))
        places = [min(int(np.searchsorted(upto, p)), len(x) - 1) for p in (q, max(q - off, 0.0), min(q + off, 1.0))]
        found[f"decile {q:g}"] = (float(x[places[0]]), float(x[places[1]]), float(x[places[2]]))
    return found


def _numbers(x: np.ndarray) -> dict[str, Interval]:
    """Mean with a normal interval, deciles with intervals by order statistics."""
    from scipy.stats import binom, norm

    n, z = len(x), float(norm.ppf(0.5 + CONFIDENCE / 2))
    half = z * float(x.std(ddof=1)) / n**0.5 if n > 1 else float("inf")
    mean = float(x.mean())
    found = {"mean": (mean, mean - half, mean + half)}
    for q in DECILES:
        low, high = (int(binom.ppf(p, n, q)) for p in ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2))
        ends = x[max(low - 1, 0)], x[min(high, n - 1)]
        found[f"decile {q:g}"] = (float(np.quantile(x, q)), float(ends[0]), float(ends[1]))
    return found


def _share(count: float, n: float) -> Interval:
    """A share with the Clopper-Pearson interval."""
    from scipy.stats import beta

    tail = (1 - CONFIDENCE) / 2
    count = min(max(count, 0.0), n)
    low = float(beta.ppf(tail, count, n - count + 1)) if count > 0 else 0.0
    high = float(beta.ppf(1 - tail, count + 1, n - count)) if count < n else 1.0
    return count / n, low, high
