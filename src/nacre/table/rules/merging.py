"""Columns of labels that are modelled as one: of all combinations, only those of a public list occur."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from nacre.errors import SchemaError
from nacre.table.checking import short
from nacre.table.conditions import Condition, plain
from nacre.table.rules.base import RowRule, named
from nacre.table.rules.lookup import Lookup
from nacre.table.rules.steps import Step
from nacre.table.rules.tabled import cell_values, check_table
from nacre.table.values.stored import Values

if TYPE_CHECKING:
    from nacre.table.columns import Column
    from nacre.typed import Value

MOST = 100_000  # combinations
_TRUTH = (("False", "True"), ("0", "1"))  # labels of one-hot columns


@dataclasses.dataclass(frozen=True)
class Combinations(RowRule):
    """Only these `values` of `columns` occur together: a list of rows, None for null. Without values they are bought:
    those that stand out of a noisy table."""

    columns: tuple[str, ...]
    values: tuple[tuple[Value, ...], ...] | None = None

    name: ClassVar[str] = "combinations"
    lacks: ClassVar[str] = "combinations"  # what is to be bought

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", named(self.columns, "a rule 'combinations': columns", 2))
        rows = self.values
        if rows is None:
            return
        if isinstance(rows, str) or not isinstance(rows, (list, tuple)) or not rows or len(rows) > MOST:
            raise SchemaError(f"{self}: values is {short(rows)}; list the combinations, at most {MOST:,}")
        for row in rows:
            if isinstance(row, str) or not isinstance(row, (list, tuple)) or len(row) != len(self.columns):
                raise SchemaError(f"{self}: values has {short(row)}; write one value for each of the columns")
            if any(isinstance(v, (list, dict)) for v in row):
                raise SchemaError(f"{self}: values has {short(row)}; write single values")
        object.__setattr__(self, "values", tuple(tuple(plain(v) for v in row) for row in rows))

    @property
    def names(self) -> tuple[str, ...]:
        return self.columns

    @property
    def bought(self) -> bool:
        """Whether the list is still to be bought."""
        return self.values is None

    @property
    def clique(self) -> tuple[str, ...]:
        """The columns of the table that it is learnt from."""
        return self.columns

    def learnt(self, counts: np.ndarray, sigma: float, columns: Mapping[str, Column]) -> tuple[Combinations, float]:
        """(with the combinations whose noisy counts stand out, at least one, the share of rows that have them)."""
        words = [cell_values(columns[name]) for name in self.columns]
        clear = counts >= max(sigma * math.sqrt(2 * math.log(max(counts.size, 2))), 1.0)
        clear.flat[counts.argmax()] = True
        spots = np.argwhere(clear)
        if len(spots) > MOST:
            spots = spots[np.argsort(-counts[clear], kind="stable")[:MOST]]
        kept = float(counts[tuple(spots.T)].sum()) / max(float(counts.sum()), 1.0)
        found = tuple(tuple(own[i] for own, i in zip(words, spot)) for spot in spots.tolist())
        return dataclasses.replace(self, values=found), kept

    def _checked(self, columns: Mapping[str, Column]) -> Self:
        if self.values is None:
            check_table(str(self), {name: columns[name] for name in self.columns})
            return self
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
        if self.bought:
            return np.zeros(len(values[self.columns[0]]), bool)
        return self._listed(columns).find(values) < 0

    def _listed(self, columns: Mapping[str, Column]) -> Merged:
        """Made once for the columns of a schema: long lists take longer than batches of rows."""
        last: tuple[Mapping[str, Column], Merged] | None = self.__dict__.get("_last")
        if last is None or last[0] is not columns:
            last = columns, Merged.of(self, columns)
            object.__setattr__(self, "_last", last)
        return last[1]

    def steps(self, columns: Mapping[str, Column]) -> tuple[Step, ...]:
        return (self._listed(columns),)

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

    def _listed(self, columns: Mapping[str, Column]) -> Hot:
        codes = np.eye(len(self.columns), dtype=np.int64)
        return Hot(self, self.columns, columns, codes, np.zeros(codes.shape, bool), self.columns)

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
        if rule.values is None:  # modelled as a column whose labels are not known yet
            none = np.zeros((0, len(rule.columns)), np.int64)
            return cls(rule, rule.columns, columns, none, none.astype(bool), ())
        null = np.array([[v is None for v in row] for row in rule.values])
        spots = []
        for name, own in zip(rule.columns, zip(*rule.values)):
            place = {v: 0 if v is None else columns[name].place_of(v, str(rule)) for v in set(own)}
            spots.append([place[v] for v in own])
        words = ["null" if v is None else str(v) for row in rule.values for v in row]
        width = len(rule.columns)
        labels = [" | ".join(words[i * width : (i + 1) * width]) for i in range(len(rule.values))]
        if len(set(labels)) < len(labels):
            labels = [f"{i}: {label}" for i, label in enumerate(labels)]
        return cls(rule, rule.columns, columns, np.array(spots, np.int64).T, null, tuple(labels))

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

        return Categorical(self.labels or None)

    @cached_property
    def _known(self) -> list[np.ndarray]:
        """By column, its values that occur, in order."""
        return [np.unique(self.codes[~self.null[:, j], j]) for j in range(len(self.members))]

    def _digits(self, own: list[np.ndarray], null: list[np.ndarray]) -> np.ndarray:
        """[rows, columns]: the place of each value among those of its column, 0 for null, -1 for no such value."""
        found = np.zeros((len(own[0]), len(own)), np.int64)
        for j, (known, value, absent) in enumerate(zip(self._known, own, null)):
            if not len(known):
                found[:, j] = np.where(absent, 0, -1)
                continue
            place = np.minimum(np.searchsorted(known, value), len(known) - 1)
            found[:, j] = np.where(absent, 0, np.where(known[place] == value, 1 + place, -1))
        return found

    @cached_property
    def _lookup(self) -> Lookup:
        return Lookup.of(self._digits(list(self.codes.T), list(self.null.T)))

    def _read(self, values: Mapping[str, Values]) -> np.ndarray:
        own = [values[n].values.astype(np.int64, copy=False) for n in self.members]
        null = [values[n].null | (v < 0 if self.columns[n].labelled else False) for n, v in zip(self.members, own)]
        return self._digits(own, null)

    def find(self, values: Mapping[str, Values]) -> np.ndarray:
        """Which combination each row has, -1 for none of the list."""
        return self._lookup.find(self._read(values))

    def nearest(self, values: Mapping[str, Values]) -> np.ndarray:
        """Which combination stands for each row that has none of the list."""
        return self._lookup.nearest(self._read(values))

    def encode(self, values: dict[str, Values]) -> None:
        code = self.find(values)
        if (lost := np.flatnonzero(code < 0)).size:
            code[lost] = self.nearest({n: values[n].take(lost) for n in self.members})
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


class Hot(Merged):
    """Of as many combinations as columns, each says that one is true: found column by column."""

    def find(self, values: Mapping[str, Values]) -> np.ndarray:
        true, first_true, first_null = self._seen(values)
        return np.where((true == 1) & (first_null < 0), first_true, -1)

    def nearest(self, values: Mapping[str, Values]) -> np.ndarray:
        """The first that is true, else the first that is null, else the first."""
        _, first_true, first_null = self._seen(values)
        return np.where(first_true >= 0, first_true, np.maximum(first_null, 0))

    def _seen(self, values: Mapping[str, Values]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """By row: how many are true, the first that is, and the first that is null; -1 for none."""
        rows = len(values[self.members[0]])
        count, first_true, first_null = np.zeros(rows, np.int64), np.full(rows, -1), np.full(rows, -1)
        for j, name in enumerate(self.members):
            own = values[name]
            absent = own.null | (own.values < 0)
            true = ~absent & (own.values == 1)
            count += true
            first_true[true & (first_true < 0)] = j
            first_null[absent & (first_null < 0)] = j
        return count, first_true, first_null
