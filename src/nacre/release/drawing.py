"""Rows of a release that keep what the schema says, and that meet conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from nacre.errors import ConvergenceError
from nacre.release.conditions import breakable
from nacre.release.rebalance import Draw
from nacre.synthesizers.base import Model
from nacre.table import Condition, Schema
from nacre.table.encoding import Encoded
from nacre.table.rules import Rule, violations
from nacre.table.values.decoding import decode
from nacre.table.values.stored import Values

CHUNK = 250_000  # rows drawn at a time: memory does not grow with the number of rows asked for
ROUNDS = 200  # redraws of rows that break a declared impossibility
_TRIES = 64  # rows drawn for each that does not meet a condition


@dataclass(frozen=True)
class RowSource:
    """The rows of a table, as a model draws them."""

    schema: Schema
    model: Model

    def possible(self, size: int, rng: np.random.Generator, where: Mapping[str, Condition]) -> Encoded:
        """Rows of the table in which no declared impossibility occurs, and that meet conditions which are none on a
        modelled column: the others are drawn again."""
        rules, (direct, left) = breakable(self.schema), asked(self.schema, where)
        draw = self._drawing(rng, direct)
        encoded = draw(size)
        broken = np.flatnonzero(wrong(encoded, rules, left))
        for _ in range(ROUNDS):
            if not len(broken):
                return encoded
            times = min(_TRIES, CHUNK // len(broken) + 1) if left else 1  # conditions may be rare, rules are not
            again = draw(times * len(broken))
            good = np.flatnonzero(~wrong(again, rules, left))
            slots, first = np.unique(good % len(broken), return_index=True)
            for name, values in encoded.columns.items():
                values.values[broken[slots]] = again[name].values[good[first]]
                values.null[broken[slots]] = again[name].null[good[first]]
            broken = np.delete(broken, slots)
        raise not_possible(len(broken), f"{size} rows", left)

    def tilted(self, asked: list, where: Mapping[str, Condition]) -> Draw[Encoded] | None:
        """Rows of the nearest law in which columns have other shares; None where they must be drawn and weighed."""
        if self.schema.impossible or self.schema.rules:
            return None
        draw = self.model.tilted(asked, where)
        return None if draw is None else lambda rows, rng: Encoded(draw(rows, rng), rows)

    def taken(self, parts: Sequence[Encoded], order: np.ndarray) -> Encoded:
        """The rows of all parts, one after the other, at these places."""
        columns = {name: Values.joined([d[name] for d in parts]).take(order) for name in parts[0].columns}
        return Encoded(columns, len(order))

    def table(self, drawn: Encoded, rng: np.random.Generator) -> pa.Table:
        return decode(drawn, self.schema, rng=rng)

    def _drawing(self, rng: np.random.Generator, where: Mapping[str, Condition]) -> Callable[[int], Encoded]:
        """A function that draws so many rows of the table under conditions that the model meets."""
        row_map = self.schema.inner.row_map
        if row_map is None:
            return lambda rows: Encoded(self.model.draw(rows, rng, where), rows)
        donors = row_map.donors(lambda rows: self.model.draw(rows, rng, {}))
        return lambda rows: row_map.decode(Encoded(self.model.draw(rows, rng, where), rows), donors)


def asked(schema: Schema, where: Mapping[str, Condition]) -> tuple[dict[str, Condition], dict[str, Condition]]:
    """(conditions that the model meets, those that rows are drawn again for)."""
    row_map = schema.inner.row_map
    return (dict(where), {}) if row_map is None else row_map.asked(where)


def wrong(encoded: Encoded, rules: Sequence[Rule], left: Mapping[str, Condition]) -> np.ndarray:
    """Which rows break a rule, or do not meet a condition."""
    found = violations(encoded, rules)
    for name, condition in left.items():
        found |= ~condition.matches(encoded[name])
    return found


def not_possible(broken: int, of: str, left: Mapping[str, Condition]) -> ConvergenceError:
    words = ", ".join(map(repr, left))
    return ConvergenceError(
        f"after {ROUNDS} rounds {broken} of {of} still break "
        f"{f'the condition on {words}' if left else 'a declared impossibility'}; "
        "the condition asked for leaves almost nothing possible: widen it"
    )
