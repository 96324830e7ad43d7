"""Rows for a target, from any release: post-processing, as long as the target was chosen without the table.

One column of shares: its value is drawn first and the row given it, exactly. Several columns: a mixture of products
is tilted exactly. Otherwise rows are drawn from a pool in proportion to weights, and the pool grows until no row is
needed twice (specs/importance_weighted.md 14).
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from nacre.errors import NacreError
from nacre.release.conditions import on_determinants
from nacre.table import Condition, Schema
from nacre.targets import Shares, Target, raking
from nacre.targets.weights import LEAST, resample

POOL = 20_000  # least rows of a pool
LARGEST = 1 << 20  # most
GROWTH = 4

Where = Mapping[str, Condition]
TellWeights = Callable[[dict[str, float]], None]
D_co = TypeVar("D_co", covariant=True)
D = TypeVar("D")  # what is drawn: rows, or units with the rows they own


class Draw(Protocol[D_co]):
    """So many of them."""

    def __call__(self, size: int, rng: np.random.Generator, /) -> D_co: ...


class Source(Protocol[D]):
    """What is drawn from, and whose columns may be asked for."""

    @property
    def schema(self) -> Schema: ...

    def possible(self, size: int, rng: np.random.Generator, where: Where) -> D:
        """So many that meet `where`."""
        ...

    def tilted(self, asked: list, where: Where) -> Draw[D] | None:
        """The same of the nearest law in which columns have other shares; None where they must be drawn and weighed.
        `asked`: per column, (share, condition)."""
        ...

    def taken(self, parts: Sequence[D], order: np.ndarray) -> D:
        """Those of all parts, one after the other, at these places."""
        ...

    def table(self, drawn: D, rng: np.random.Generator) -> Any:
        """Their rows with the columns of `schema`, as they will be written."""
        ...


def balanced(source: Source[D], target: object, where: Where, tell: TellWeights | None = None) -> Draw[D]:
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
    source: Source[D], shares: Mapping[str, Mapping[Condition, float]], where: Where, tell: TellWeights | None
) -> Draw[D]:
    determined = functools.partial(on_determinants, source.schema)
    for name, own in shares.items():
        fixed = {c for value in own for c in determined({name: value})}
        if taken := fixed & set(where):
            raise NacreError(
                f"rebalance, or the target that the release was fitted for, and where both name {min(taken)!r}; use "
                "one of them (rebalance={}, on the command line --rebalance none, drops the target)"
            )
    if len(shares) == 1:
        ((name, own),) = shares.items()
        parts = [(share, determined({name: value})) for value, share in own.items()]
        return lambda rows, rng: _by_value(source, parts, where, rows, rng)
    asked = [[(share, determined({n: v})) for v, share in own.items()] for n, own in shares.items()]
    if (draw := source.tilted(asked, where)) is not None:
        return draw
    return lambda rows, rng: _from_pool(source, Shares(shares), where, tell, rows, rng)


def _by_value(source: Source[D], parts: list, where: Where, rows: int, rng: np.random.Generator) -> D:
    """Exactly: how many rows have each value, then that many rows given it."""
    shares = np.array([share for share, _ in parts])
    sizes = rng.multinomial(rows, shares / shares.sum())
    drawn = [source.possible(int(n), rng, {**where, **fixed}) for n, (_, fixed) in zip(sizes, parts) if n]
    return source.taken(drawn, rng.permutation(rows))


def _from_pool(source: Source[D], target: Target, where: Where, tell: TellWeights | None, rows: int,
               rng: np.random.Generator) -> D:  # fmt: skip
    """Importance resampling: rows of a pool by their weights; DataError where no pool is worth 50 equal rows."""
    drawn: list[D] = []
    size, before = min(max(POOL, GROWTH * rows), max(LARGEST, rows)), 0
    while True:
        drawn.append(source.possible(size - before, rng, where))
        pool = source.taken(drawn, np.arange(size))
        weights = target.weights(source.table(pool, rng), source.schema)
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
            return source.taken([pool], resample(weights.values, rows, rng))
        before, size = size, min(GROWTH * size, LARGEST)
