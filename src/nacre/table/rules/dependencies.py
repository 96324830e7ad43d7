"""Columns that follow from others."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from nacre.errors import SchemaError
from nacre.table.checking import keyed, short
from nacre.table.conditions import Condition, plain
from nacre.table.naming import choices, some
from nacre.table.rules.base import Rule
from nacre.table.rules.tabled import cell_values, check_table
from nacre.table.values.stored import Values

if TYPE_CHECKING:
    from nacre.table.columns import Column
    from nacre.typed import Value

MAX_DETERMINANT_VALUES = 1_000_000


@dataclasses.dataclass(frozen=True)
class Dependency(Rule):
    """The `dependent` column is a function of the `determinant`: `mapping` says which, and it is not
    modelled.

    The mapping covers the whole domain of the determinant. A null determinant gives a null dependent unless
    the mapping has an entry for None. Without a mapping it is bought: learnt from a noisy table of both.
    """

    determinant: str
    dependent: str
    lacks: ClassVar[str] = "mapping"  # what is to be bought
    mapping: Mapping[Value, Value] = dataclasses.field(default=None, hash=False)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        where = f"dependency of {self.dependent!r} on {self.determinant!r}"
        if not isinstance(self.determinant, str) or not isinstance(self.dependent, str):
            raise SchemaError(f"{where}: the two columns are given by name")
        if self.determinant == self.dependent:
            raise SchemaError(f"{where}: a column cannot depend on itself; name two columns")
        if self.bought:
            return
        if not isinstance(self.mapping, Mapping) or not self.mapping:
            raise SchemaError(f"{where}: mapping is {self.mapping!r}; write value: value pairs")
        object.__setattr__(self, "mapping", dict(self.mapping))

    @property
    def bought(self) -> bool:
        """Whether the mapping is still to be bought."""
        return self.mapping is None

    @property
    def clique(self) -> tuple[str, ...]:
        """The columns of the table that it is learnt from."""
        return self.determinant, self.dependent

    def learnt(self, counts: np.ndarray, sigma: float, columns: Mapping[str, Column]) -> tuple[Dependency, float]:
        """(with the mapping that noisy counts [determinant, dependent] show, the share of rows that keep it). A value
        that nothing stands out for has what is most frequent of all."""
        keys, values = (cell_values(columns[name]) for name in self.clique)
        best = counts.argmax(1)
        most = counts.max(1)
        clear = most > sigma * math.sqrt(2 * math.log(max(counts.shape[1], 2)))
        usual = int(np.where(clear[:, None], np.maximum(counts, 0), 0).sum(0).argmax()) if clear.any() else 0
        best = np.where(clear, best, usual)
        kept = float(counts[np.arange(len(best)), best].sum()) / max(float(counts.sum()), 1.0)
        mapping = {key: values[i] for key, i in zip(keys, best)}
        return dataclasses.replace(self, mapping=mapping), kept

    def check(self, columns: Mapping[str, Column]) -> Dependency:
        """Both columns exist, suit their roles, and the mapping covers the domain."""
        for name in (self.determinant, self.dependent):
            if name not in columns:
                raise SchemaError(f"{self}: there is no column {name!r}; choose among {choices(name, columns)}")
        source, target = columns[self.determinant], columns[self.dependent]
        if not source.finite:
            raise SchemaError(
                f"{self}: the determinant is {source.kind}; it must be categorical, boolean or an integer numeric "
                "column"
            )
        if self.bought:
            check_table(str(self), {name: columns[name] for name in self.clique})
            return self
        for key, value in self.mapping.items():
            if key is not None and not source.missing:
                source.place_of(key, f"{self}, determinant")
            if value is not None and not target.missing:
                target.place_of(value, f"{self}, dependent")
            if value is None and not target.nullable:
                raise SchemaError(f"{self}: {key!r} maps to null but {self.dependent!r} is not nullable; declare it so")
        lacking = [v for v in self._domain(source) if v not in self.mapping]
        if lacking:
            raise SchemaError(f"{self}: the mapping has no entry for {some(tuple(map(str, lacking)))}; add them")
        if source.nullable and None not in self.mapping and not target.nullable:
            raise SchemaError(f"{self}: the determinant may be null but the dependent may not; declare it nullable")
        return self

    def _domain(self, source: Column) -> list[Any]:
        """Every value of the determinant, in code order; empty while its domain is not declared."""
        many = source.ends[1] - source.ends[0] + 1 if source.ends else 0
        if many > MAX_DETERMINANT_VALUES:
            raise SchemaError(f"{self}: the determinant has {many:,} values; at most {MAX_DETERMINANT_VALUES:,}")
        return source.every_value()

    def keys(self, condition: Condition, nullable: bool) -> list[Any]:
        """The values of a determinant, null among them if it is `nullable`, whose dependent meets the condition."""
        mapping = {None: None, **self.mapping} if nullable else {k: v for k, v in self.mapping.items() if k is not None}
        return [key for key, value in mapping.items() if condition.holds(value)]

    def follow(self, values: Values, columns: Mapping[str, Column]) -> pa.Array:
        """The dependent of these values of the determinant, through a table over its domain whose last entry is for
        null."""
        source, target = columns[self.determinant], columns[self.dependent]
        keys = self._domain(source)
        entries = [self.mapping[key] for key in keys] + [self.mapping.get(None)]
        spots = [0 if v is None else target.place_of(v, str(self)) for v in entries]
        table = Values.of(np.array(spots), np.array([v is None for v in entries]))
        index = values.values - (source.ends[0] if source.ends else 0)
        outside = values.null | (index < 0) | (index >= len(keys))
        return target.decode(table.take(np.where(outside, len(keys), index)), self.dependent)

    def to_json(self) -> dict[str, Any]:
        pairs = None if self.bought else [[plain(k), plain(v)] for k, v in self.mapping.items()]
        return {"determinant": self.determinant, "dependent": self.dependent, "mapping": pairs}

    @classmethod
    def from_json(cls, raw: Any, where: str) -> Dependency:
        determinant, dependent, pairs = keyed(raw, where, ("determinant", "dependent", "mapping"))
        if pairs is None:
            return cls(determinant, dependent)
        if not isinstance(pairs, list) or not all(isinstance(p, list) and len(p) == 2 for p in pairs):
            raise SchemaError(f"{where}: mapping is {short(pairs)}; write pairs [[from, to], ...]")
        mapping: dict[Any, Any] = {}
        for key, value in pairs:
            if isinstance(key, (list, dict)) or isinstance(value, (list, dict)):
                raise SchemaError(f"{where}: mapping has the pair {short([key, value])}; write single values")
            if key in mapping:
                raise SchemaError(f"{where}: mapping has two entries for {key!r}; keep one")
            mapping[key] = value
        return cls(determinant, dependent, mapping)

    def __str__(self) -> str:
        return f"dependency of {self.dependent!r} on {self.determinant!r}"


def check_dependencies(rules: Sequence[Dependency], columns: Mapping[str, Column]) -> None:
    """Raise SchemaError unless each holds, and no column follows from two others or from one that follows itself."""
    dependents: set[str] = set()
    for rule in rules:
        if not isinstance(rule, Dependency):
            raise SchemaError(f"dependencies has {rule!r}; write Dependency(determinant, dependent, mapping)")
        rule.check(columns)
        if rule.dependent in dependents:
            raise SchemaError(f"{rule}: {rule.dependent!r} already depends on another column; keep one of them")
        dependents.add(rule.dependent)
    for rule in rules:
        if rule.determinant in dependents:
            raise SchemaError(
                f"{rule}: the determinant itself depends on another column; "
                "make both depend on the first column of the chain"
            )
