"""What is asked of a rule: something that a schema says across columns."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from nacre.errors import SchemaError
from nacre.table.checking import as_object, short
from nacre.table.naming import choices

if TYPE_CHECKING:
    from nacre.table.columns import Column
    from nacre.table.encoding import Encoded
    from nacre.table.rules.steps import Edge, Step
    from nacre.table.values.stored import Values


class Rule:
    """A kind of rule is one class that answers all of this; `str` is how messages name it."""

    def check(self, columns: Mapping[str, Column]) -> Self:
        """The rule as it holds for these columns; SchemaError where it cannot."""
        raise NotImplementedError

    def broken(self, encoded: Encoded) -> np.ndarray:
        """bool [rows]: which drawn rows break it. None do where it holds by construction."""
        return np.zeros(encoded.rows, bool)

    def to_json(self) -> Any:
        """As schemas state it."""
        raise NotImplementedError

    @classmethod
    def from_json(cls, raw: Any, where: str) -> Any:
        """The rule before it is checked; SchemaError, beginning with `where`, for what is none."""
        raise NotImplementedError


class RowRule(Rule):
    """A rule that every drawn row keeps: one of `Schema.rules`. A kind is a frozen dataclass of what people state.

    It holds by construction, through `edges` and `steps` that turn the columns of the table into those that methods
    model, and back (docs/proofs/rules.md); only `IfThen` has rows drawn again.
    """

    name: ClassVar[str] = ""  # in JSON

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it is about."""
        raise NotImplementedError

    @property
    def told(self) -> str:
        """What it asks of a row, for people; nothing where it forbids none."""
        return str(self)

    def check(self, columns: Mapping[str, Column]) -> Self:
        for name in self.names:
            if not isinstance(name, str) or name not in columns:
                raise SchemaError(f"{self}: there is no column {name!r}; choose among {choices(name, columns)}")
        if len({*self.names}) < len(self.names):
            raise SchemaError(f"{self}: a column is named twice; name each once")
        return self._checked(columns)

    def _checked(self, columns: Mapping[str, Column]) -> Self:
        """The rule as it holds for these columns, which are all there."""
        return self

    def misses(self, values: Mapping[str, Values], columns: Mapping[str, Column]) -> np.ndarray:
        """bool [rows]: which rows of a table, as they were read, break it. For their owner only."""
        raise NotImplementedError

    def edges(self) -> tuple[Edge, ...]:
        """Which columns lie below which."""
        return ()

    def steps(self, columns: Mapping[str, Column]) -> tuple[Step, ...]:
        """How it changes the columns that are modelled; the columns have domains."""
        return ()

    def to_json(self) -> dict[str, Any]:
        """Facts equal to their default are left out."""
        found: dict[str, Any] = {"rule": self.name}
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = vars(self)[field.name]
            if value != field.default:
                found[field.name] = _as_json(value)
        return found

    @classmethod
    def from_json(cls, raw: Any, where: str) -> RowRule:
        fields = dataclasses.fields(cls)  # type: ignore[arg-type]
        found = as_object(raw, where, ("rule", *(f.name for f in fields)))
        for field in fields:
            if field.default is dataclasses.MISSING and field.name not in found:
                raise SchemaError(f"{where} has no {field.name!r}; a rule {cls.name!r} needs it")
        return cls(**{name: value for name, value in found.items() if name != "rule"})


def named(value: object, what: str, least: int) -> tuple[str, ...]:
    """Names of columns as a rule keeps them."""
    if isinstance(value, str) or not isinstance(value, (list, tuple)) or len(value) < least:
        raise SchemaError(f"{what} is {short(value)}; name {'at least ' if least else ''}{least or 'some'} columns")
    for name in value:
        if not isinstance(name, str):
            raise SchemaError(f"{what} has {short(name)}; columns are given by name")
    return tuple(value)


def _as_json(value: object) -> object:
    if isinstance(value, tuple):
        return [_as_json(v) for v in value]
    return value.to_json() if isinstance(value, Rule) else value.item() if hasattr(value, "item") else value
