"""Shares of columns: reading what was asked for, and raking weights until every column has its shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nacre.errors import ConvergenceError, DataError, NacreError, SchemaError
from nacre.table import Between, Schema
from nacre.table.encoding import Values
from nacre.table.rules import position
from nacre.table.schema_json import plain
from nacre.table.structure import matches

CLOSE = 1e-6  # largest error of a share at which raking stops
SWEEPS = 200

Asked = Mapping[str, Mapping[Any, float]]


def checked(shares: Any, schema: Schema, option: str) -> dict[str, dict[Any, float]]:
    """{column: {value, set of values or Between: share}}; NacreError or SchemaError, naming the column, otherwise."""
    if not isinstance(shares, Mapping) or not shares or not all(isinstance(s, Mapping) for s in shares.values()):
        raise NacreError(f"{option}={shares!r}: expected {{column: {{value: share}}}}")
    found: dict[str, dict[Any, float]] = {}
    for name, own in shares.items():
        if name not in schema.columns:
            raise SchemaError(f"{option}: there is no column {name!r}; choose among {', '.join(schema.names)}")
        column = schema.columns[name]
        if column.kind in ("identifier", "tensor"):
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
        empty = Values.of(np.zeros(0, np.int64 if column.kind == "datetime" else np.float64))
        for value in own:
            try:
                matches(empty, column, value)  # an undeclared value is refused here, before anything is read
            except SchemaError as error:
                raise SchemaError(f"{option}: column {name!r}, {error}") from None
        found[name] = {value: float(s) for value, s in own.items() if s > 0}
        _refuse_overlaps(column, list(found[name]), f"{option}: shares of {name!r}")
    return found


def _is_share(value: Any) -> bool:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return number and bool(np.isfinite(value) and value >= 0)


def _refuse_overlaps(column: Any, wanted: Sequence[Any], what: str) -> None:
    """Whether some value of the domain has two shares: if ranges meet, they do so at the end of one."""
    if column.kind in ("numeric", "datetime"):
        ends = [e for v in wanted for e in ((v.low, v.high) if isinstance(v, Between) else _listed(v)) if e is not None]
        spots = np.array([position(column, e, "condition") for e in ends] or [0])
    else:
        spots = np.arange(len(column.categories) if column.kind == "categorical" else 2)
    null = np.zeros(len(spots) + 1, bool)
    null[-1] = True
    places(Values.of(np.append(spots, spots[-1:]), null), column, wanted, what)


def _listed(value: Any) -> Sequence[Any]:
    return tuple(value) if isinstance(value, list | tuple | set | frozenset) else (value,)


def places(values: Values, column: Any, wanted: Sequence[Any], what: str) -> np.ndarray:
    """Which of the wanted values each row has, -1 for none; NacreError where a row has two of them."""
    found = np.full(len(values), -1)
    for i, value in enumerate(wanted):
        here = matches(values, column, value)
        if (found[here] >= 0).any():
            raise NacreError(
                f"{what}: {value!r} overlaps another value (both ends belong to a range); a row can count only once"
            )
        found[here] = i
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
                value = f"value {values[c][lacking]!r}" if values else f"value number {lacking + 1}"
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
    """Shares as JSON; `from_json` restores them."""
    return [[name, [[_condition(v), float(s)] for v, s in own.items()]] for name, own in shares.items()]


def from_json(found: Any) -> dict[str, dict[Any, float]]:
    """ValueError or TypeError for what `to_json` does not write."""
    return {str(name): {_value(v): float(s) for v, s in own} for name, own in found}


def _condition(value: Any) -> dict[str, Any]:
    if isinstance(value, Between):
        return {"from": plain(value.low), "to": plain(value.high)}
    if isinstance(value, frozenset | tuple):
        return {"any": sorted(map(plain, value), key=lambda v: (v is not None, str(v)))}
    return {"is": plain(value)}


def _value(found: Mapping[str, Any]) -> Any:
    if "any" in found:
        return frozenset(found["any"])
    return found["is"] if "is" in found else Between(found["from"], found["to"])
