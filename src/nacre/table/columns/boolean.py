"""Columns of truth values."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from nacre.errors import NacreError, SchemaError
from nacre.table.columns.base import Labelled
from nacre.table.formats import TruthFormat
from nacre.table.formats.stated import stated_format
from nacre.table.values import casting
from nacre.table.values import labels as texts
from nacre.table.values.stored import Values

_TRUE, _FALSE = ("true", "yes", "t", "y", "1"), ("false", "no", "f", "n", "0")  # as they are typed


@dataclasses.dataclass(frozen=True)
class Boolean(Labelled):
    """True or false. With `format`, written as these words; with `text`, as texts also where the words are plain."""

    format: TruthFormat | None = None
    text: bool = False

    kind: ClassVar[str] = "boolean"
    spelt = True
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "format", "nullable", "null_words")

    def _check(self) -> None:
        self._set(**stated_format(self, TruthFormat))

    @property
    def labels(self) -> tuple[str, ...]:
        """As Python prints them."""
        return ("False", "True")

    @property
    def words(self) -> tuple[str, ...]:
        return ("false", "true")

    def domain_words(self, most: int | None = 8) -> str:
        return ", ".join(self.words if self.format is None else (self.format.false, self.format.true))

    def read(self, array: pa.Array) -> casting.Parts:
        array = self.without_null_words(array)
        if self.format is not None and texts.is_text(array.type):
            return self.format.read(array)
        return casting.booleans(array)

    def fitted(self, values: np.ndarray, null: np.ndarray, bad: np.ndarray) -> Values:
        return Values(np.where(null, np.int32(-1), values), null, bad)

    @property
    def typed(self) -> pa.DataType:
        return pa.bool_()

    def written(self, values: np.ndarray, null: np.ndarray | None) -> pa.Array:
        return pa.array(values == 1, mask=null)

    @property
    def format_given(self) -> TruthFormat | None:
        return self.format

    def spelled(self, values: np.ndarray, null: np.ndarray | None = None) -> pa.Array:
        return (self.format or TruthFormat()).write(values == 1, null)

    def place_of(self, value: Any, where: str) -> int:
        if isinstance(value, bool) or (hasattr(value, "item") and isinstance(value.item(), bool)):
            return int(value)
        raise SchemaError(f"{where}: {value!r} is not a truth value; write true or false")

    def every_value(self) -> list[Any]:
        return [False, True]

    def parsed(self, text: str, where: str) -> bool:
        if text.lower() not in (*_TRUE, *_FALSE):
            raise NacreError(f"{where}: {text!r} is not a truth value; write true or false")
        return text.lower() in _TRUE
