"""Rows for methods that promise nothing: through `reveal`, once, encoded by the schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from nacre.errors import DataError, NacreError, PlanError
from nacre.privacy.budget import Budget
from nacre.privacy.certificate.rounding import exact
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Entry, Plan, Reveal
from nacre.synthesizers.parts.coding import Coding, moments, whitening
from nacre.synthesizers.parts.layout import MAX_CLASSES, Layout
from nacre.table import Schema
from nacre.table.encoding import Values, encode
from nacre.table.grid import Grid
from nacre.targets import Target, Weights
from nacre.targets.weights import check_truncate
from nacre.typed import Tree

LEAST_ROWS = 16


def checked_target(name: str, weights: Tree) -> Target | None:
    if weights is not None and not isinstance(weights, Target):
        raise NacreError(f"{name}={weights!r}: expected a target of nacre.targets; see fit(weights=...)")
    return weights


def checked_truncate(name: str, most: float | None) -> float | None:
    if most is not None:
        check_truncate(most)
    return most


Show = Callable[["Rows"], "np.ndarray | str | None"]


@dataclass(frozen=True)
class Rows:
    """Encoded rows: one array per part, the class of each row (none is missing), how the coding was made, the weights
    where a target was stated, and the weights by which rows count in the moments of the coding, where not all alike."""

    coding: Coding
    vectors: list[np.ndarray]
    kinds: np.ndarray
    weights: Weights | None = None
    shown: np.ndarray | None = None

    @property
    def shares(self) -> np.ndarray:
        w = None if self.weights is None else self.weights.values
        found = np.bincount(self.kinds, w, minlength=self.coding.layout.classes)
        return found / found.sum()


def reveal_plan(method: str, schema: Schema, rows: int | None, budget: Budget, before: tuple[Entry, ...]) -> Plan:
    """One look at the raw rows. Raises PlanError for a budget, which such a method cannot keep."""
    if budget.epsilon is not None:
        raise PlanError(
            f"method {method!r} reads the raw rows and promises nothing, so epsilon={exact(budget.epsilon)} cannot be "
            "kept; ask for epsilon=None, or choose a private method (`nacre methods`)"
        )
    cap = schema.unit.cap if schema.unit else 1
    entry = Reveal("rows of the table", reason=f"method {method} reads the raw rows")
    return Plan(method, (*before, entry), budget, cap, rows)


def class_column(schema: Schema, target: str | None) -> str | None:
    """The target where it has few labels; a number, a column of many labels, or one that is all there is to model, is
    modelled like any other."""
    if target is None or target not in schema.modelled or len(schema.modelled) == 1:
        return None
    column = schema.columns[target]
    if column.measured or column.missing:
        return None
    return target if Grid.of(column).cells <= MAX_CLASSES else None


def read(
    curator: Curator,
    plan: Plan,
    layout: Layout,
    parts: tuple[tuple[str, ...], ...],
    target: Target | None = None,
    whiten: bool = True,
    show: Show | None = None,
    truncate: float | None = None,
) -> Rows:
    """All rows, encoded; rows whose class is missing are left out. DataError when there are almost none.

    With a `target` the rows have weights, of at most `truncate` times their mean; what they are worth, and the bias of
    truncation, is told to the owner, and too little is refused. `show` says of which rows a release may hold moments,
    where not of all alike.
    """
    batches: list[Mapping[str, Values]] = []
    raw = []
    entry: Any = next(e for e in plan.entries if isinstance(e, Reveal))
    for batch in curator.reveal(entry):
        batches.append(encode(batch, layout.schema).columns)
        raw += [batch] if target is not None else []
    rows = sum(len(next(iter(b.values()))) for b in batches)
    if rows < LEAST_ROWS:
        raise DataError(f"the table has {rows} rows; a network needs at least {LEAST_ROWS}")
    found, keep = encoded(layout, parts, batches, whiten)
    if not keep.any():
        raise DataError(f"no row has a declared class in column {layout.target!r}; correct its categories")
    if show is not None and (shown := show(found)) is not None:
        if isinstance(shown, str):
            found, keep = encoded(layout, parts, batches, whiten, shown)
        else:
            # Kept with the rows: weights made anew from this coding could be others, and moments of two kinds of rows
            # would tell more than those of one.
            found, keep = encoded(layout, parts, batches, whiten, _spread(shown, keep))
            found = replace(found, shown=shown)
    if target is None:
        return found
    whole = target.weights(pa.Table.from_batches(raw), layout.schema)
    weights, curator.diagnostics[entry.name] = weighed(Weights(whole.values[keep], whole.normalised), truncate)
    return replace(found, weights=weights)


def encoded(
    layout: Layout,
    parts: tuple[tuple[str, ...], ...],
    batches: list[Mapping[str, Values]],
    whiten: bool = True,
    shown: np.ndarray | str | None = None,
) -> tuple[Rows, np.ndarray]:
    """(the rows that have a class, which of all have one). The numbers are standardised by the moments of all rows, or
    of rows by their weight; "range" scales those of the first part by their public range and takes nothing of them out
    of the others, so that no array of the coding says anything about them."""
    apart = isinstance(shown, str)
    w = shown if isinstance(shown, np.ndarray) else None
    coding = Coding(layout, parts, *moments(layout, batches, w))
    if apart:
        coding.mean[coding.numbers_of(0)], coding.scale[coding.numbers_of(0)] = 0.5, 0.25
    made = [coding.encode(b) for b in batches]
    numbers = [np.concatenate([e[0][p][:, : coding.heads(p).numbers] for e in made]) for p in range(len(parts))]
    if numbers[-1].shape[1] and whiten:
        first = numbers[0] if len(parts) > 1 else numbers[0][:, :0]
        slope, root = whitening(first[:, :0] if apart else first, numbers[-1], w)
        slope = np.zeros((first.shape[1], root.shape[0])) if apart else slope
        coding = replace(coding, slope=slope, root=root)
        made = [coding.encode(b) for b in batches]
    kinds = np.concatenate([e[1] for e in made])
    keep = kinds >= 0
    return Rows(coding, [np.concatenate([e[0][p] for e in made])[keep] for p in range(len(parts))], kinds[keep]), keep


def _spread(weights: np.ndarray, keep: np.ndarray) -> np.ndarray:
    """Weights of the rows that are kept as weights of all rows."""
    found = np.zeros(len(keep))
    found[keep] = weights
    return found


def weighed(weights: Weights, truncate: float | None) -> tuple[Weights, dict[str, float]]:
    """(weights after truncation, what the owner is told of them); DataError when they are worth too few rows."""
    bias: dict[str, float] = {}
    if truncate is not None:
        weights, lost = weights.truncated(truncate)
        bias = {"truncated_at": float(truncate), "truncation_bias": lost}
    advice = f"{'a smaller' if bias else 'the option'} truncate trades variance for bias"
    checked = weights.checked("the table", f"ask for a target nearer to the table; {advice}")
    return checked, {**checked.facts(), **bias}
