"""Shares of columns: reading what was asked for, and raking weights until every column has its shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nacre.errors import ConvergenceError, DataError, NacreError, SchemaError
from nacre.table import Condition, Schema
from nacre.table.conditions import overlapping, spelled
from nacre.table.encoding import Values
from nacre.table.naming import choices

CLOSE = 1e-6  # largest error of a share at which raking stops
SWEEPS = 200

Asked = Mapping[str, Mapping[Condition, float]]


def checked(shares: object, schema: Schema, option: str) -> dict[str, dict[Condition, float]]:
    """Shares asked for as {column: {value, set of values or Between: share}}, read; NacreError or SchemaError, naming
    the column, for others. What this returns may be given again."""
    if not isinstance(shares, Mapping) or not shares or not all(isinstance(s, Mapping) for s in shares.values()):
        raise NacreError(f"{option}={shares!r}: expected {{column: {{value: share}}}}")
    found: dict[str, dict[Condition, float]] = {}
    for name, own in shares.items():
        if name not in schema.columns:
            raise SchemaError(f"{option}: there is no column {name!r}; choose among {choices(name, schema.names)}")
        column = schema.columns[name]
        if not column.counted:
            raise SchemaError(f"{option}: column {name!r} is of kind {column.kind}; only values can have shares")
        if column.missing:
            raise SchemaError(f"{option}: column {name!r} has no declared {column.missing[0]}; declare them first")
        values = list(own.values())
        if not values or not all(map(_is_share, values)) or sum(values) <= 0:
            raise NacreError(f"{option}: shares of {name!r} are {dict(own)}; expected numbers >= 0, not all zero")
        if abs(sum(values) - 1) > 1e-6:
            raise NacreError(
                f"{option}: the shares of {name!r} sum to {sum(values):g}, not 1; give every value that is to occur "
                "its share"
            )
        place = f"{option}: column {name!r}"
        pairs = [(Condition.of(value, column, place, key=True), float(share)) for value, share in own.items()]
        pairs = [(condition, share) for condition, share in pairs if share > 0]
        if twice := overlapping([condition for condition, _ in pairs]):
            raise NacreError(
                f"{option}: shares of {name!r}: {twice} overlaps another value (both ends belong to a range); a row "
                "can count only once"
            )
        found[name] = dict(pairs)
    return found


def _is_share(value: Any) -> bool:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return number and bool(np.isfinite(value) and value >= 0)


def places(values: Values, wanted: Sequence[Condition]) -> np.ndarray:
    """Which of the wanted conditions each row meets, -1 for none; no two of them overlap."""
    found = np.full(len(values), -1)
    for i, condition in enumerate(wanted):
        found[condition.matches(values)] = i
    return found


def rake(
    spots: Sequence[np.ndarray], shares: Sequence[Sequence[float]], names: Sequence[str], values: Any = None
) -> np.ndarray:
    """Weights of mean 1 that give every column its shares (iterative proportional fitting; one column: one sweep).

    `spots`: per column, which of its `values` (named in messages) each row has (-1: none of them, weight 0). DataError
    where no row has a wanted value, or none has one in every column; ConvergenceError where the shares of several
    columns contradict each other.
    """
    w = np.ones(len(spots[0]))
    for spot in spots:
        w[spot < 0] = 0.0
    for _ in range(SWEEPS):
        worst = 0.0
        for c, (spot, share, name) in enumerate(zip(spots, shares, names)):
            wanted = np.asarray(share, np.float64) / sum(share)
            mass = np.bincount(spot[w > 0], w[w > 0], minlength=len(wanted))
            if (mass <= 0).any():
                lacking = int(np.flatnonzero(mass <= 0)[0])
                value = f"value {values[c][lacking]}" if values else f"value number {lacking + 1}"
                raise DataError(f"shares of {name!r}: no row has {value} (with the other columns as asked); leave it "
                                "out, or merge it with another")  # fmt: skip
            mass = mass / mass.sum()
            worst = max(worst, float(np.abs(mass - wanted).max()))
            w = np.where(spot >= 0, w * (wanted / mass)[spot], 0.0)
        if worst <= CLOSE:
            return w / w.mean()
    raise ConvergenceError(
        f"the shares of {', '.join(map(repr, names))} cannot all be met after {SWEEPS} sweeps (off by {worst:.2g}): "
        "combinations that they need do not occur; ask for fewer columns, or shares nearer to the table"
    )


def to_json(shares: Asked) -> list[Any]:
    """Shares as JSON; `from_json` restores how they were asked for."""
    return [[name, [[condition.to_json(), float(s)] for condition, s in own.items()]] for name, own in shares.items()]


def from_json(found: Any) -> dict[str, dict[Any, float]]:
    """What `checked` takes. ValueError or TypeError for what `to_json` does not write."""
    return {str(name): {spelled(c): float(s) for c, s in own} for name, own in found}
