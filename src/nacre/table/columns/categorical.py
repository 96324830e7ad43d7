"""Columns of labels."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nacre.errors import DomainNotDeclared, SchemaError
from nacre.table.checking import check_label, need, sequence
from nacre.table.columns.base import Column, Labelled
from nacre.table.columns.hierarchy import wrong_with
from nacre.table.naming import some
from nacre.table.values import casting, labels
from nacre.table.values.stored import Values

if TYPE_CHECKING:
    from nacre.table.draft import Look

MAX_CATEGORIES = 1_000_000


@dataclasses.dataclass(frozen=True)
class Categorical(Labelled):
    """One label out of `categories`, in their order if `ordered`.

    Values outside the list become `other` (a label; it may be one of the categories) or land nowhere. `hierarchy` says
    to which group a label, or a group, belongs: methods that join rare labels join those of one group.
    The empty text is a missing value, never a label: a CSV file could not tell them apart.
    """

    categories: tuple[str, ...] | None = None
    ordered: bool = False
    other: str | None = None
    hierarchy: Mapping[str, str] | None = dataclasses.field(default=None, hash=False)

    kind: ClassVar[str] = "categorical"
    fact_names: ClassVar[tuple[str, ...]] = ("kind", "categories", "other", "hierarchy", "nullable", "null_words")

    def _check(self) -> None:
        need(isinstance(self.ordered, bool), f"ordered is {self.ordered!r}; write true or false")
        if self.other is not None:
            check_label("other", self.other)
        if self.hierarchy is not None:
            need(isinstance(self.hierarchy, Mapping), f"hierarchy is {self.hierarchy!r}; write label: group pairs")
            for one, group in self.hierarchy.items():
                check_label("hierarchy", one)
                check_label("hierarchy", group)
            self._set(hierarchy=dict(self.hierarchy) or None)
        if self.categories is None:
            return
        labels = tuple(sequence("categories", self.categories))
        need(bool(labels), "categories is empty; name at least one, or leave it out to have them bought")
        need(
            len(labels) <= MAX_CATEGORIES,
            f"categories has {len(labels):,} labels; at most {MAX_CATEGORIES:,}: group the rare ones under `other`",
        )
        seen: set[str] = set()
        for label in labels:
            check_label("categories", label)
            need(label not in seen, f"category {label!r} is listed twice; list it once")
            seen.add(label)
        for label in (*labels, self.other):
            need(label not in self.null_words, f"{label!r} is both a label and a null word; choose one")
        self._set(categories=labels)
        if self.hierarchy:
            wrong = wrong_with(self.hierarchy, self.labels)
            need(not wrong, wrong)

    @property
    def labels(self) -> tuple[str, ...]:
        """The categories, then `other` if it is not one of them: code i stands for labels[i]."""
        found = self.categories or ()
        return found if self.other is None or self.other in found else (*found, self.other)

    @cached_property
    def code_of(self) -> dict[str, int]:
        """label -> code."""
        return {label: code for code, label in enumerate(self.labels)}

    @property
    def missing(self) -> tuple[str, ...]:
        return () if self.categories is not None else ("categories",)

    @property
    def others(self) -> str | None:
        return self.other

    def domain_words(self, most: int | None = 8) -> str:
        if self.missing:
            return super().domain_words(most)
        text = ", ".join(self.labels[:most])
        return text if most is None or len(self.labels) <= most else f"{text}, ... ({len(self.labels)} in all)"

    @classmethod
    def drafted(cls, look: Look) -> Column | None:
        if not isinstance(look.found, cls) or not look.found.missing:
            return super().drafted(look)
        return cls(tuple(sorted(look.labels)), nullable=look.found.nullable) if look.labels else None

    def read(self, array: pa.Array) -> casting.Parts:
        """Codes; -1 for what is not in the list."""
        if self.categories is None:
            raise DomainNotDeclared("categories are not declared; declare them, or have them bought")
        array = self.without_null_words(array)
        text = labels.as_text(array)
        declared = labels.as_stored(self.labels, array.type)
        found = pc.index_in(text, value_set=pa.array(declared, text.type))
        code = pc.fill_null(found, -1).to_numpy(zero_copy_only=False)
        null = casting.absent(array)
        return code, null, (code < 0) & ~null

    def fitted(self, values: np.ndarray, null: np.ndarray, bad: np.ndarray) -> Values:
        if self.other is not None:
            values = np.where(bad, np.int32(self.code_of[self.other]), values)
        return Values(values.astype(np.int32, copy=False), null, bad)

    def place_of(self, value: object, where: str) -> int:
        if self.missing:
            raise SchemaError(f"{where}: the column has no declared categories; declare them first")
        if not isinstance(value, str) or value not in self.code_of:
            raise SchemaError(f"{where}: {value!r} is not a category; it is one of {some(self.labels)}")
        return self.code_of[value]
