"""What a method is, and the model that it fits: everything that is asked of either is declared here.

A method is a frozen dataclass of hyperparameters with two steps: `plan` declares every door it will open without
touching data, `fit` opens those doors and returns a model. A model is public: it knows how to draw rows and how to
become JSON and arrays. What a method or model does not say for itself has the answer that stands here.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from nacre.errors import NacreError, ReleaseFileError, SchemaError
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Entry, Plan, Scope
from nacre.progress import Progress, silent
from nacre.synthesizers.basis import Basis, FromRows
from nacre.synthesizers.options import Option
from nacre.synthesizers.registry import METHODS
from nacre.table import Condition, Schema
from nacre.table.encoding import Values
from nacre.table.grid import Grid
from nacre.table.naming import choices

RATE = 1 / 32  # of the rows in a step, where their number is not declared

Draw: TypeAlias = "Callable[[int, np.random.Generator], dict[str, Values]]"  # so many rows


class Expected(NamedTuple):
    """Shares of combinations of cells, and where they were counted, the noisy counts and their standard errors; NaN
    where they were not."""

    shares: np.ndarray
    counts: np.ndarray
    errors: np.ndarray


class Model(ABC):
    """What a release holds: public numbers from which rows are drawn."""

    rows: int  # how many rows the table has, as far as the release knows
    likelihood: ClassVar[bool] = False  # whether there is a `log_prob`
    hiding: Mapping[str, Any] | None = None  # how columns were hidden: for the owner, in no file

    @abstractmethod
    def draw(
        self, rows: int, rng: np.random.Generator, where: Mapping[str, Condition] | None = None
    ) -> dict[str, Values]:
        """`rows` rows that satisfy `where`."""

    @abstractmethod
    def parts(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """What a release file keeps: facts as JSON has them, and arrays."""

    @classmethod
    @abstractmethod
    def from_parts(cls, schema: Schema, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Model:
        """The model that `parts` describes; ReleaseFileError where that is none."""

    def tilted(self, asked: list, where: Mapping[str, Condition]) -> Draw | None:
        """Rows that satisfy `where`, of the nearest law in which columns have other shares; None where rows must be
        drawn and weighed for that. `asked`: per column, (share, condition)."""
        return None

    def log_prob(self, records: Mapping[str, Values], samples: int, seed: int) -> np.ndarray:
        """A lower bound of the log-probability of each record, where there is a `likelihood`."""
        raise NotImplementedError

    def independent(self) -> Model:
        """The model that draws every row for itself, where this one spreads its rows more evenly than chance would."""
        return self

    def expected(self, cells: Mapping[str, np.ndarray]) -> Expected:
        """What the model expects of combinations of cells, where there are `cells`: of each column [cells, cells of its
        grid], the share of every cell of the grid that counts."""
        raise NotImplementedError

    def cells(self, column: str) -> tuple[Grid, np.ndarray] | None:
        """The grid of a column, and which of its cells the model keeps together: a number for each. None where only
        rows can be drawn."""
        return None

    def scores(
        self, records: Mapping[str, Values], columns: Sequence[str] | None = None
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """(coordinates of hidden columns, slope of their log-density) of these rows, for the owner; None where the
        model has none."""
        return None


@contextmanager
def reading_parts() -> Iterator[None]:
    """ReleaseFileError for whatever the parts of a damaged or hostile file make go wrong inside."""
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError, SchemaError) as error:
        raise ReleaseFileError(f"release file: the model does not hold what it should ({error})") from None


def expect_sound(good: bool) -> None:
    """Refuse arrays that do not fit: a hostile file ends here and not in the middle of drawing."""
    if not good:
        raise ReleaseFileError("release file: the model's arrays do not fit its schema")


@dataclass(frozen=True)
class Configured:
    """A frozen dataclass whose fields are hyperparameters, each with an `Option`, and a target."""

    name: ClassVar[str]

    target: str | None = None

    @classmethod
    def options(cls) -> dict[str, Option]:
        """All hyperparameters but the target, by name."""
        return {f.name: f.metadata["option"] for f in dataclasses.fields(cls) if f.name != "target"}

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        return {f.name: f.default for f in dataclasses.fields(cls) if f.name != "target"}

    def __post_init__(self) -> None:
        for name, option in self.options().items():
            object.__setattr__(self, name, option.read(name, vars(self)[name]))
        self.check()

    def check(self) -> None:
        """Raise NacreError for options that do not go together."""

    def refuse_idle(self, where: str, **used: bool) -> None:
        """Raise NacreError for a setting that was changed and would do nothing `where` the method is."""
        for option, does in used.items():
            value = vars(self)[option]
            if not does and value != self.defaults()[option]:
                raise NacreError(f"{option}={value!r}: does nothing {where}; leave it out")


@dataclass(frozen=True)
class Synthesizer(Configured, ABC):
    """A method."""

    model: ClassVar[type[Model]]

    def supports(self, schema: Schema) -> None:
        """Raise SchemaError, naming the column, if the method cannot model such a table."""
        refuse_tensors(schema, self.name)
        refuse_unknown_target(schema, self.target)

    @abstractmethod
    def plan(self, schema: Schema, rows: int | None, budget: Budget, before: tuple[Entry, ...] = ()) -> Plan:
        """Every door that `fit` will open, after the doors in `before`, within the budget.

        `schema` may lack facts that `before` will buy: then only its column names are known.
        """

    @abstractmethod
    def fit(self, curator: Curator, plan: Plan, seed: int, progress: Progress = silent) -> Model:
        """The model that the answers of the planned doors make."""

    def forecast(self, plan: Plan, schema: Schema, rows: int | None) -> Basis:
        """What is known of a plan's outcome before it is paid for; of networks trained on rows, nothing."""
        return FromRows()

    def public_facts(self, private: bool) -> dict[str, Any]:
        """Extras of its own in the certificate of a run, with or without an epsilon."""
        return METHODS[self.name].stated


def scope_of(schema: Schema, budget: Budget) -> Scope:
    """Whom a plan protects."""
    return Scope(budget.neighbours, schema.unit.cap if schema.unit else 1)


def refuse_tensors(schema: Schema, method: str) -> None:
    """Raise SchemaError for tables with arrays in their cells, or with nothing to model."""
    if not schema.modelled:
        raise SchemaError("the schema has no column to model: all are identifiers or follow from others")
    for name in schema.modelled:
        if schema.columns[name].shape:
            raise SchemaError(
                f"column {name!r} holds arrays; method {method!r} models single values: leave it out, or use "
                "'pearl-paper' or 'merf' for images with a label"
            )


def refuse_unknown_target(schema: Schema, target: str | None) -> None:
    """Raise SchemaError for a target that is not among the modelled columns; None is no target."""
    if target is not None and target not in schema.modelled:
        raise SchemaError(
            f"target {target!r} is not a modelled column; choose among {choices(target, schema.modelled)}"
        )


def target_place(columns: Sequence[str], target: str | None) -> int | None:
    """The number of the target among the columns that are learnt; None where nothing is left to relate it to.

    A bought schema may leave it as the only one, or turn it into a mere name.
    """
    return columns.index(target) if target in columns and len(columns) > 1 else None


def chance(method: Synthesizer, batch: int, rows: int | None) -> float:
    """Of a row to enter a step: `batch` of the declared rows, or one in 32 where the plan knows no number of rows."""
    if rows is None:
        method.refuse_idle("where the schema declares no number of rows: one row in 32 enters a step", batch=False)
        return RATE
    return min(1.0, batch / max(rows, 1))
