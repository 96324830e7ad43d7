"""Rows for a target, from any release: post-processing, as long as the target was chosen without the table.

One column of shares: its value is drawn first and the row given it, exactly. Several columns: a mixture of products
is tilted exactly. Otherwise rows are drawn from a pool in proportion to weights, and the pool grows until no row is
needed twice (specs/importance_weighted.md 14).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from nacre.errors import NacreError
from nacre.table import Condition, Schema
from nacre.table.encoding import Encoded, Values
from nacre.table.values.decoding import decode
from nacre.targets import Shares, Target, raking
from nacre.targets.weights import LEAST, resample

POOL = 20_000  # least rows of a pool
LARGEST = 1 << 20  # most
GROWTH = 4

Where = Mapping[str, Condition]
Draw = Callable[[int, np.random.Generator], Encoded]
TellWeights = Callable[[dict[str, float]], None]


class Source(Protocol):
    """What a release must have."""

    @property
    def schema(self) -> Schema: ...

    @property
    def model(self) -> Any: ...

    def possible(self, rows: int, rng: np.random.Generator, where: Mapping[str, Condition]) -> Encoded: ...

    def asked(self, where: Mapping[str, Condition]) -> tuple[dict[str, Condition], dict[str, Condition]]: ...

    def on_determinants(self, where: Mapping[str, Condition]) -> dict[str, Condition]: ...


def balanced(source: Source, target: object, where: Where, tell: TellWeights | None = None) -> Draw:
    """A function that draws so many rows of the release that meet `where` and stand for the target. `tell` gets what
    the weights of a pool are worth, where one is needed."""
    if target is None or (isinstance(target, Mapping) and not target):
        return lambda rows, rng: source.possible(rows, rng, where)
    if isinstance(target, Shares):
        target = target.shares
    if isinstance(target, Mapping):
        return _by_shares(source, raking.checked(target, source.schema, "rebalance"), where, tell)
    if not isinstance(target, Target):
        raise NacreError(f"rebalance={target!r}: expected {{column: {{value: share}}}}, or a target of nacre.targets")
    target.check(source.schema, source.schema.names)
    return lambda rows, rng: _from_pool(source, target, where, tell, rows, rng)


def _by_shares(
    source: Source, shares: Mapping[str, Mapping[Condition, float]], where: Where, tell: TellWeights | None
) -> Draw:
    for name, own in shares.items():
        fixed = {c for value in own for c in source.on_determinants({name: value})}
        if taken := fixed & set(where):
            raise NacreError(
                f"rebalance, or the target that the release was fitted for, and where both name {min(taken)!r}; use "
                "one of them (rebalance={}, on the command line --rebalance none, drops the target)"
            )
    if len(shares) == 1:
        ((name, own),) = shares.items()
        parts = [(share, source.on_determinants({name: value})) for value, share in own.items()]
        return lambda rows, rng: _by_value(source, parts, where, rows, rng)
    if not source.schema.impossible and not source.schema.rules:
        asked = [[(share, source.on_determinants({n: v})) for v, share in own.items()] for n, own in shares.items()]
        if (draw := source.model.tilted(asked, where)) is not None:
            return lambda rows, rng: Encoded(draw(rows, rng), rows)
    return lambda rows, rng: _from_pool(source, Shares(shares), where, tell, rows, rng)


def _by_value(source: Source, parts: list, where: Where, rows: int, rng: np.random.Generator) -> Encoded:
    """Exactly: how many rows have each value, then that many rows given it."""
    shares = np.array([share for share, _ in parts])
    sizes = rng.multinomial(rows, shares / shares.sum())
    drawn = [source.possible(int(n), rng, {**where, **fixed}) for n, (_, fixed) in zip(sizes, parts) if n]
    return _taken(drawn, rng.permutation(rows))


def _from_pool(source: Source, target: Target, where: Where, tell: TellWeights | None, rows: int,
               rng: np.random.Generator) -> Encoded:  # fmt: skip
    """Importance resampling: rows of a pool by their weights; DataError where no pool is worth 50 equal rows."""
    drawn: list[Encoded] = []
    size = min(max(POOL, GROWTH * rows), max(LARGEST, rows))
    while True:
        drawn.append(source.possible(size - sum(d.rows for d in drawn), rng, where))
        pool = _taken(drawn, np.arange(size))
        weights = target.weights(decode(pool, source.schema, rng=rng), source.schema)
        enough = rows * weights.largest <= size and weights.effective >= LEAST
        if enough or size >= LARGEST or weights.effective * LARGEST < LEAST * size:  # last: no pool would do
            weights.checked("rebalance", "ask for a target nearer to the release", private=False)
            if rows * weights.largest > size:
                warnings.warn(
                    f"rebalance: rows come up to {math.ceil(rows * weights.largest / size)} times, for the pool they "
                    f"are drawn from ends at {size:,} rows; draw fewer, or ask for a target nearer to the release",
                    stacklevel=2,
                )
            if tell is not None:
                tell(weights.facts())
            return _taken([pool], resample(weights.values, rows, rng))
        size = min(GROWTH * size, LARGEST)


def _taken(drawn: list[Encoded], order: np.ndarray) -> Encoded:
    """The rows of all parts, one after the other, at these places."""
    columns = {
        name: Values.of(
            np.concatenate([d[name].values for d in drawn]), np.concatenate([d[name].null for d in drawn])
        ).take(order)
        for name in drawn[0].columns
    }
    return Encoded(columns, len(order))
