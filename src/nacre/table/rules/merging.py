"""Columns of labels that are modelled as one: of all combinations, only those of a public list occur."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from nacre.errors import SchemaError
from nacre.table.checking import short
from nacre.table.conditions import Condition, plain
from nacre.table.rules.base import RowRule, named
from nacre.table.rules.steps import Step
from nacre.table.values.stored import Values

if TYPE_CHECKING:
    from nacre.table.columns import Column

MOST = 100_000  # combinations
_TRUTH = (("False", "True"), ("0", "1"))  # labels of one-hot columns


@dataclasses.dataclass(frozen=True)
class Combinations(RowRule):
    """Only these `values` of `columns` occur together: a list of rows, None for null."""

    columns: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]

    name: ClassVar[str] = "combinations"

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", named(self.columns, "a rule 'combinations': columns", 2))
        rows = self.values
        if isinstance(rows, str) or not isinstance(rows, (list, tuple)) or not rows or len(rows) > MOST:
            raise SchemaError(f"{self}: values is {short(rows)}; list the combinations, at most {MOST:,}")
        for row in rows:
            if isinstance(row, str) or not isinstance(row, (list, tuple)) or len(row) != len(self.columns):
                raise SchemaError(f"{self}: values has {short(row)}; write one value for each of the columns")
        object.__setattr__(self, "values", tuple(tuple(plain(v) for v in row) for row in rows))

    @property
    def names(self) -> tuple[str, ...]:
        return self.columns

    def _checked(self, columns: Mapping[str, Column]) -> Self:
        for i, name in enumerate(self.columns):
            column = columns[name]
            if not column.finite:
                raise SchemaError(f"{self}: column {name!r} is {column.kind}; combine labels or whole numbers")
            for value in {row[i] for row in self.values}:
                if value is None and not column.nullable:
                    raise SchemaError(f"{self}: {name!r} is never null; declare it nullable")
                if value is not None and not column.missing:
                    column.place_of(value, f"{self}, column {name!r}")
        if len(set(self.values)) < len(self.values):
            raise SchemaError(f"{self}: values has a combination twice; list each once")
        return self

    def misses(self, values: Mapping[str, Values], columns: Mapping[str, Column]) -> np.ndarray:
        return Merged.of(self, columns).find(values) < 0

    def steps(self, columns: Mapping[str, Column]) -> tuple[Step, ...]:
        return (Merged.of(self, columns),)

    def __str__(self) -> str:
        return f"combinations of {', '.join(map(str, self.columns))}"


@dataclasses.dataclass(frozen=True)
class OneHot(RowRule):
    """Exactly one of `columns` is true, or 1; all others are false, or 0."""

    columns: tuple[str, ...]

    name: ClassVar[str] = "one_hot"

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", named(self.columns, "a rule 'one_hot': columns", 2))

    @property
    def names(self) -> tuple[str, ...]:
        return self.columns

    def _checked(self, columns: Mapping[str, Column]) -> Self:
        for name in self.columns:
            column = columns[name]
            truth = column.labels in _TRUTH if column.labelled else column.finite and tuple(column.limits) == (0, 1)
            if not column.missing and not truth:
                raise SchemaError(
                    f"{self}: column {name!r} is {column.title}; name boolean columns, or integers 0 and 1"
                )
        return self

    def _listed(self, columns: Mapping[str, Column]) -> Merged:
        codes = np.eye(len(self.columns), dtype=np.int64)
        return Merged(self, self.columns, columns, codes, np.zeros(codes.shape, bool), self.columns)

    def misses(self, values: Mapping[str, Values], columns: Mapping[str, Column]) -> np.ndarray:
        return self._listed(columns).find(values) < 0

    def steps(self, columns: Mapping[str, Column]) -> tuple[Step, ...]:
        return (self._listed(columns),)

    def __str__(self) -> str:
        return f"one of {', '.join(map(str, self.columns))}"


@dataclasses.dataclass(frozen=True, eq=False)
class Merged(Step):
    """One column of labels, one for each combination: `codes` and `null` [combinations, columns] are their values."""

    rule: RowRule
    members: tuple[str, ...]
    columns: Mapping[str, Column]
    codes: np.ndarray
    null: np.ndarray
    labels: tuple[str, ...]

    @classmethod
    def of(cls, rule: Combinations, columns: Mapping[str, Column]) -> Merged:
        null = np.array([[v is None for v in row] for row in rule.values])
        spots = [
            [0 if v is None else columns[n].place_of(v, str(rule)) for n, v in zip(rule.columns, row)]
            for row in rule.values
        ]
        words = ["null" if v is None else str(v) for row in rule.values for v in row]
        width = len(rule.columns)
        labels = [" | ".join(words[i * width : (i + 1) * width]) for i in range(len(rule.values))]
        if len(set(labels)) < len(labels):
            labels = [f"{i}: {label}" for i, label in enumerate(labels)]
        return cls(rule, rule.columns, columns, np.array(spots, np.int64), null, tuple(labels))

    @property
    def takes(self) -> tuple[str, ...]:
        return self.members

    @property
    def name(self) -> str:
        return str(self.rule)

    @property
    def makes(self) -> Mapping[str, Column]:
        return {self.name: self._column}

    @cached_property
    def _column(self) -> Column:
        from nacre.table.columns import Categorical

        return Categorical(self.labels)

    @cached_property
    def _known(self) -> list[np.ndarray]:
        """By column, its values that occur, in order; a row's place among them is a digit of its key, 0 for null."""
        return [np.unique(self.codes[~self.null[:, j], j]) for j in range(len(self.members))]

    def _key(self, values: list[np.ndarray], null: list[np.ndarray]) -> np.ndarray:
        """A number for every combination of known values, -1 for all others."""
        key, good = np.zeros(len(values[0]), np.int64), np.ones(len(values[0]), bool)
        rank = np.zeros(len(values[0]), np.int64)
        for known, own, absent in zip(self._known, values, null):
            place = np.minimum(np.searchsorted(known, own), max(len(known) - 1, 0))
            there = known[place] == own if len(known) else np.zeros(len(own), bool)
            rank = np.where(absent, 0, 1 + place)
            good &= absent | there
            key = key * (len(known) + 1) + rank
        return np.where(good, key, -1)

    @cached_property
    def _listed(self) -> tuple[np.ndarray, np.ndarray]:
        """(keys of the combinations in order, which combination each is of)."""
        keys = self._key(list(self.codes.T), list(self.null.T))
        order = np.argsort(keys)
        return keys[order], order

    @cached_property
    def _wide(self) -> bool:
        """Whether keys would not fit in 64 bits: then rows are compared whole."""
        return reduce(lambda a, known: a * (len(known) + 1), self._known, 1) >= 2**62

    def find(self, values: Mapping[str, Values]) -> np.ndarray:
        """Which combination each row has, -1 for none of the list."""
        own = [values[n].values.astype(np.int64, copy=False) for n in self.members]
        null = [values[n].null | (v < 0 if self.columns[n].labelled else False) for n, v in zip(self.members, own)]
        if self._wide:
            return self._nearest(own, null, exact=True)
        keys, order = self._listed
        key = self._key(own, null)
        place = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
        return np.where(keys[place] == key, order[place], -1)

    def _nearest(self, own: list[np.ndarray], null: list[np.ndarray], exact: bool = False) -> np.ndarray:
        """The first of the combinations that share the most values with a row; with `exact`, all of them or -1."""
        rows = np.stack([np.where(n, 0, v) for v, n in zip(own, null)] + [n.astype(np.int64) for n in null], axis=1)
        each, which = np.unique(rows, axis=0, return_inverse=True)
        width, found = len(self.members), np.zeros(len(each), np.int64)
        for i, row in enumerate(each):
            same = (self.null == row[width:].astype(bool)) & (self.null | (self.codes == row[:width]))
            count = same.sum(1)
            found[i] = count.argmax() if not exact or count.max() == width else -1
        return found[which.reshape(-1)]

    def encode(self, values: dict[str, Values]) -> None:
        code = self.find(values)
        if (lost := np.flatnonzero(code < 0)).size:
            own = [values[n].values[lost].astype(np.int64) for n in self.members]
            null = [values[n].null[lost] | (v < 0 if self.columns[n].labelled else False)
                    for n, v in zip(self.members, own)]  # fmt: skip
            code[lost] = self._nearest(own, null)
        values[self.name] = Values.of(code.astype(np.int32))
        self.decode(values)

    def decode(self, values: dict[str, Values]) -> None:
        code = values[self.name].values
        for j, name in enumerate(self.members):
            kind = np.int32 if self.columns[name].labelled else np.int64
            values[name] = Values.of(self.codes[:, j].astype(kind)[code], self.null[:, j][code])

    def asked(self, where: Mapping[str, Condition]) -> tuple[dict[str, Condition], set[str]]:
        """All of them, by the combinations that meet them."""
        mine = set(where) & set(self.members)
        if not mine:
            return {}, mine
        met = np.ones(len(self.labels), bool)
        for name in mine:
            j = self.members.index(name)
            met &= where[name].matches(Values.of(self.codes[:, j], self.null[:, j]))
        place = where[min(mine)].place
        if not met.any():
            told = " and ".join(f"{name} = {where[name]}" for name in sorted(mine))
            raise SchemaError(f"{place}: no combination of the list has {told} ({self.rule})")
        labels = [label for label, good in zip(self.labels, met) if good]
        return {self.name: Condition.of(labels, self._column, place)}, mine
