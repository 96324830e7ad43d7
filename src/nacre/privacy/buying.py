"""From noisy answers to a column: what the votes found and what its owner had declared, completed by its domain.

Everything here is post-processing of answers that doors gave.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping

from nacre.table import Categorical, Column, Identifier

OTHERS = ("other", "others", "(other)", "other values", "none of these")  # the first that no label is called
_CLEAR = 2.5  # standard errors by which the mass of texts that were not bought stands out
_SOME = 0.001  # and the least share of it


@dataclasses.dataclass(frozen=True)
class Texts:
    """What was bought of a column of texts: those that passed with their noisy counts, how many values there are (None:
    not known) and the variance of that number and of each count."""

    counts: Mapping[str, int]
    values: float | None
    variance: float
    each: float
    missing: float = 0.0  # how many are missing, by a noisy count

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(t for t in self.counts if "\0" not in t)  # bytes that are not text, and no schema can list

    @property
    def lost(self) -> bool:
        """Whether the texts bought hold less than half of the values, as far as their number is known."""
        return not self.counts or (self.values is not None and sum(self.counts.values()) < 0.5 * self.values)

    @property
    def more(self) -> bool:
        """Whether texts that were not bought hold a share that stands out of the noise."""
        if self.values is None:
            return True
        beside = self.values - sum(self.counts.values())
        spread = math.sqrt(self.variance + self.each * len(self.counts))
        return beside > max(_CLEAR * spread, _SOME * self.values)


def with_labels(column: Categorical, texts: Texts, whole: bool) -> Column:
    """The column with the texts bought, and a label for the rest where there is one. `whole`: nothing of it had been
    declared; then a column without a frequent text is a name, made anew for every row, unless most rows have none."""
    labels = texts.labels
    if not labels and whole and not (texts.values is not None and texts.missing > texts.values):
        return Identifier(text=True, provenance={"kind": "bought"})
    other = column.other
    if other is None and (texts.more or not labels):
        other = other_word(labels)
    provenance = {**column.provenance, "categories": "bought"}
    if other is not None and column.other is None:
        provenance["other"] = "bought"
    words = tuple(w for w in column.null_words if w not in labels)
    return dataclasses.replace(
        column, categories=labels or (other,), other=other, null_words=words, provenance=provenance
    )


def other_word(labels: Collection[str]) -> str:
    """A word for all other labels that none of these is called, in capitals or not."""
    taken = {label.casefold() for label in labels}
    return next(w for w in (*OTHERS, *(f"other {i}" for i in range(len(taken) + 1))) if w not in taken)


def completed(declared: Column, filled: Column, nullable: bool) -> Column:
    """A declared column with its domain bought; nullable where nulls stand out of the noise."""
    if not nullable or declared.nullable:
        return filled
    return dataclasses.replace(filled, nullable=True, provenance={**filled.provenance, "nullable": "bought"})
