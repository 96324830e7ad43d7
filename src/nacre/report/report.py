"""What an evaluation found: tidy scores, what the page draws, and where it came from. Unprotected: for the owner."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from nacre.metrics.score import Matrix, Score

if TYPE_CHECKING:
    from nacre.privacy.certificate.statement import Certificate


@dataclass(frozen=True)
class Comparison:
    """One column. `labels` name the bars of a categorical column; a number or date has `ends` of its axis instead."""

    name: str
    kind: str
    real: np.ndarray  # shares of the rows with a value
    synthetic: np.ndarray
    labels: tuple[str, ...] = ()
    ends: tuple[str, str] | None = None
    nulls: tuple[float, float] | None = None  # share without a value, real and synthetic; None: not nullable
    ticks: tuple[tuple[float, str], ...] = ()  # marks of the axis: place between 0 and 1, and text
    bins: tuple[str, ...] = ()  # what lies in every bar of a number or date

    @property
    def distance(self) -> float:
        """Total variation distance over the bars drawn and null: 0 is equal, 1 is disjoint."""
        null_r, null_s = self.nulls or (0.0, 0.0)
        gaps = np.abs((1 - null_r) * self.real - (1 - null_s) * self.synthetic).sum() + abs(null_r - null_s)
        return float(gaps / 2)


@dataclass(frozen=True)
class Profile:
    """One column of the synthetic table alone, with the fields of a `Comparison`: no private row stands behind it."""

    name: str
    kind: str
    shares: np.ndarray  # of the rows with a value
    labels: tuple[str, ...] = ()
    ends: tuple[str, str] | None = None
    nulls: float | None = None  # share without a value; None: not nullable
    ticks: tuple[tuple[float, str], ...] = ()
    bins: tuple[str, ...] = ()


@dataclass(frozen=True)
class Relation:
    """One key. `counts`: how many rows each parent row owns; `gap`: how far each row lies behind the one before it."""

    child: str
    parent: str
    cap: int
    order: str | None
    counts: Comparison
    gap: Comparison | None = None


@dataclass(frozen=True)
class Extract:
    """Rows of one table that belong to one synthetic unit, as texts. The first column numbers them; two keys and more
    below the unit, the second says to which row of the parent each belongs."""

    table: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    total: int  # rows that the unit has


@dataclass(frozen=True)
class Timeline:
    """When the rows of some synthetic units lie: places in [0, 1] between the `ends` of the axis, a tuple per unit."""

    table: str
    order: str
    ends: tuple[str, str]
    units: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Relations:
    """All of it for one database."""

    unit: str
    keys: tuple[Relation, ...]
    timelines: tuple[Timeline, ...] = ()
    history: tuple[Extract, ...] = ()


@dataclass(frozen=True)
class Hidden:
    """One set of hidden columns: was their released distribution told from the real one at this level?

    `told` is the verdict of the MMD test on the released rows, at α over the number of sets. `scores` hold the tests
    and, per column, effect sizes, of the release ("synthetic") and of the same model without penalty ("control").
    A small p-value is no effect size: with enough rows every imperfect model is told apart. None of it is differential
    privacy, and all of it was computed on private rows.
    """

    columns: tuple[str, ...]
    alpha: float
    sets: int
    told: bool
    scores: tuple[Score, ...]


@dataclass(frozen=True)
class Attack:
    """One attack on the release, for the owner: what it found in words, and its figures.

    `of` of a score says what was attacked: "synthetic", or a control: "copy" (the table itself), "fresh rows"...
    """

    name: str
    verdict: str
    scores: tuple[Score, ...]


@dataclass(frozen=True)
class Report:
    """The owner's document: what was measured on private rows. It never travels with a release."""

    scores: tuple[Score, ...]
    columns: tuple[Comparison, ...] = ()
    matrices: tuple[Matrix, ...] = ()
    target: str | None = None
    facts: Mapping[str, str] = field(default_factory=dict)  # rows, files, seed, versions, seconds: name to text
    notes: tuple[str, ...] = ()  # what a reader must know of the figures, such as samples and their errors
    certificate: Certificate | None = None  # of the release, where there is one
    hidden: tuple[Hidden, ...] = ()  # columns whose distribution was to be hidden, where there are any
    attacks: tuple[Attack, ...] = ()  # what attacks found, where any was made (`nacre audit`)
    relations: Relations | None = None  # of a database: then columns are named table.column

    def to_html(self, path: str | os.PathLike | None = None, force: bool = False) -> str:
        """One self-contained page; written to `path` when one is given (an existing file is kept unless `force`)."""
        from nacre.report.html import report_html

        return _written(report_html(self), path, force)

    def to_json(self, path: str | os.PathLike | None = None, force: bool = False) -> str:
        """JSON that `nacre.report.text.from_json` reads back; written to `path` when one is given."""
        import json

        from nacre.report.text import to_json

        return _written(json.dumps(to_json(self), indent=1, ensure_ascii=False, allow_nan=False) + "\n", path, force)

    def to_markdown(self, path: str | os.PathLike | None = None, force: bool = False) -> str:
        """Markdown for people; written to `path` when one is given."""
        from nacre.report.text import to_markdown

        return _written(to_markdown(self), path, force)


def _written(text: str, path: str | os.PathLike | None, force: bool) -> str:
    from nacre.table.writing import write_text

    if path is not None:
        write_text(path, text, force)
    return text
