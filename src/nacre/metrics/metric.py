"""What a metric is: one object that says how its figure is called, computed and read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from nacre.metrics.pair import Pair
from nacre.metrics.score import Measured

if TYPE_CHECKING:
    from nacre.metrics.databases.linked import LinkedPair

Direction = Literal["higher", "lower", "none"]
Computation = Callable[[Pair], Measured]
LinkedComputation = Callable[["LinkedPair"], Measured]
INF = float("inf")


@dataclass(frozen=True)
class Metric:
    """One figure. `direction` says what is better ("none": a plain fact); `range` holds its possible values;
    `reads` names what it is computed from: synthetic, private, holdout, clock, memory, ledger, accountant,
    files.

    A metric of two tables has a `computation`, which several may share. It compares the synthetic table with the
    private one, or with the holdout where that is what it reads; `beside` its figure stands that of real rows, for what
    chance leaves. `whole_rows`: these are the holdout, as a row that a bootstrap draws twice tells on itself. `suite`:
    computed only where that suite is asked for. `linked` is the same of two databases instead of two tables.
    """

    name: str
    direction: Direction
    range: tuple[float, float]
    unit: str
    reads: tuple[str, ...]
    text: str
    computation: Computation | None = None
    whole_rows: bool = False
    suite: str | None = None
    group: str = ""  # the measure of predictions in whose table of a report it stands; "": with the other figures
    model: str | None = None  # the one model that it scores
    gap_of: str | None = None  # how far the figure of that name falls behind the one of real rows
    chance: bool = False  # a p-value, printed as one
    headline: int | None = None  # its place in the short table of the command line, if it has one
    linked: LinkedComputation | None = None

    @property
    def beside(self) -> Literal["bootstrap", "real"]:
        """What stands in the place of the synthetic table, for comparison."""
        return "real" if self.whole_rows or self.against == "holdout" else "bootstrap"

    @property
    def cost(self) -> bool:
        return bool({"clock", "memory"} & set(self.reads))

    @property
    def against(self) -> Literal["private", "holdout"]:
        return "private" if "private" in self.reads else "holdout"


TRAINED = ("synthetic", "holdout")
COMPARED = ("synthetic", "private")
SHARE = (0.0, 1.0)


def apart(name: str, text: str, linked: LinkedComputation, headline: int | None = None) -> Metric:
    """A total variation distance between two databases."""
    return Metric(name, "lower", SHARE, "1", COMPARED, text, linked=linked, headline=headline)


def lower(
    name: str,
    most: float,
    text: str,
    computation: Computation | None = None,
    reads: tuple[str, ...] = COMPARED,
    headline: int | None = None,
) -> Metric:
    """A distance: 0 is equal."""
    return Metric(name, "lower", (0.0, most), "1", reads, text, computation, headline=headline)
