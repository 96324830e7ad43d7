"""Plan, then spend: every door a method will open, with its parameters, before a row is read.

An entry is a public record of one use of one door. It knows which privacy events that use causes for a
given neighbour relation and cap on rows per unit (docs/proofs/sensitivity.md). A plan is the list of entries,
fixed beforehand, together with the budget it was checked against.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from nacre.errors import BudgetError, PlanError
from nacre.privacy.accounting import accountant as accounting
from nacre.privacy.accounting.accountant import BoundedRange, Event, Failure, Gaussian, Unbounded
from nacre.privacy.budget import Budget, Level
from nacre.privacy.certificate.rounding import down, exact, up
from nacre.privacy.doors.entry import Entry, Scope
from nacre.privacy.doors.stepwise import CLIPPINGS as CLIPPINGS
from nacre.privacy.doors.stepwise import Descend, Teach
from nacre.privacy.doors.stepwise import Part as Part
from nacre.table.documents import UNFIT

MOST_ENTRIES = 1_000
LARGEST = 10**15


def _table_event(sigmas: Sequence[float], scope: Scope) -> Gaussian:
    """m tables with noise σ_j: one record moves table j by at most Δ in L2, so μ² = Δ²·Σ σ_j⁻²."""
    return Gaussian(scope.table * math.sqrt(math.fsum(s**-2 for s in sigmas)))


def _tables(sigmas: Sequence[float]) -> str:
    low, high = down(min(sigmas, default=0.0), 4), down(max(sigmas, default=0.0), 4)
    spread = low if low == high else f"{low} to {high}"
    return f"{len(sigmas):,} {'table' if len(sigmas) == 1 else 'tables'}, noise {spread} counts per cell"


@dataclass(frozen=True)
class Counts(Entry):
    """Contingency tables with rounded Gaussian noise σ_j on table j.

    `cliques` are the column sets, or None when they are chosen from earlier answers (their number is fixed).
    """

    door: ClassVar[str] = "counts"
    sigmas: tuple[float, ...] = ()
    cliques: tuple[tuple[str, ...], ...] | None = None

    def events(self, scope: Scope) -> list[Event]:
        return [_table_event(self.sigmas, scope)]

    @property
    def words(self) -> str:
        return _tables(self.sigmas)


@dataclass(frozen=True)
class Bounds(Counts):
    """One noisy histogram per column over a public grid of kinds or magnitudes."""

    door: ClassVar[str] = "bounds"


@dataclass(frozen=True)
class Categories(Entry):
    """Noisy counts of the texts found in a column; those at or above `threshold` come out, in lexicographic order.

    A unit can bring `cap` texts nobody else has, each with at most `cap` rows; each passes with probability
    at most P[noise ≥ threshold − cap]. Replacement involves two units (docs/proofs/thresholded_categories.md).
    """

    door: ClassVar[str] = "categories"
    sigmas: tuple[float, ...] = ()
    threshold: int = 0

    def events(self, scope: Scope) -> list[Event]:
        from scipy.special import ndtr

        missed = math.fsum(ndtr(-(self.threshold - scope.cap - 0.5) / s) for s in self.sigmas)
        units = 2 if scope.neighbours == "replace_one" else 1
        return [_table_event(self.sigmas, scope), Failure(units * scope.cap * missed)]

    @property
    def words(self) -> str:
        return f"{_tables(self.sigmas)}, shown from {self.threshold:,} on"


@dataclass(frozen=True)
class Total(Entry):
    """A sum of per-record vectors, each clipped to L2 norm `bound`, with rounded Gaussian noise of scale `sigma`.

    With several `parts` there is one sum per part and a record enters one of them, or none: since the parts are
    disjoint, their vectors side by side have the norm of the one that is not zero, and the price is that of one sum.
    """

    door: ClassVar[str] = "total"
    size: int = 0
    bound: float = 1.0
    sigma: float = 1.0
    exact: bool = True  # the record map is a bit-exact function of the record alone
    parts: int = 1

    @property
    def level(self) -> Level:  # type: ignore[override]
        return Level.PROVEN if self.exact else Level.REAL_ARITHMETIC

    def events(self, scope: Scope) -> list[Event]:
        return [Gaussian(scope.sum * self.bound / self.sigma)]

    @property
    def words(self) -> str:
        several = f" for each of {self.parts:,} groups" if self.parts > 1 else ""
        return f"a sum of {self.size:,} numbers{several}, norm {up(self.bound, 4)}, noise {down(self.sigma, 4)}"


@dataclass(frozen=True)
class Select(Entry):
    """`picks` successive exponential mechanisms on a finite public list, each of privacy-loss range `epsilon`."""

    door: ClassVar[str] = "select"
    picks: int = 1
    epsilon: float = 1.0
    exact: bool = True  # the score is a bit-exact function of the record alone

    @property
    def level(self) -> Level:  # type: ignore[override]
        return Level.PROVEN if self.exact else Level.REAL_ARITHMETIC

    def events(self, scope: Scope) -> list[Event]:
        return [BoundedRange(self.epsilon, self.picks)]

    @property
    def words(self) -> str:
        return f"{self.picks:,} {'choice' if self.picks == 1 else 'choices'}, range {up(self.epsilon, 4)} each"


@dataclass(frozen=True)
class Sample(Entry):
    """`draws` exponential mechanisms on a continuous space or a listed one, each of privacy-loss range `epsilon`.

    `moves` is the length of each Markov chain, fixed here so that no data can stop one; 0 means an exact draw from a
    finite list. A chain's law is the mechanism's only in the limit: the guarantee is then `conditional`.
    """

    door: ClassVar[str] = "sample"
    epsilon: float = 1.0
    draws: int = 1
    moves: int = 0

    @property
    def level(self) -> Level:  # type: ignore[override]
        return Level.CONDITIONAL if self.moves else Level.PROVEN

    @property
    def caveat(self) -> str:
        """What the certificate must say besides the level."""
        return (
            f"{self.name}: epsilon-DP conditional on convergence of a chain of {self.moves:,} moves; no bound on its "
            "distance tau from the target law is certified, and (1 + e^epsilon)·tau would add to delta"
            if self.moves
            else ""
        )

    def events(self, scope: Scope) -> list[Event]:
        return [BoundedRange(self.epsilon, self.draws)]

    @property
    def words(self) -> str:
        how = f"chains of {self.moves:,} moves" if self.moves else "exact"
        return f"{self.draws:,} {'draw' if self.draws == 1 else 'draws'} ({how}), range {up(self.epsilon, 4)} each"


@dataclass(frozen=True)
class Reveal(Entry):
    """Hands out the raw rows. No guarantee of any kind."""

    door: ClassVar[str] = "reveal"
    level: ClassVar[Level] = Level.NONE
    reason: str = ""

    def events(self, scope: Scope) -> list[Event]:
        return [Unbounded(self.reason)]

    @property
    def words(self) -> str:
        return "the raw rows"


DOORS: dict[str, type[Entry]] = {
    kind.door: kind for kind in (Counts, Bounds, Categories, Total, Select, Sample, Descend, Teach, Reveal)
}


@dataclass(frozen=True)
class Plan:
    """The entries a run may open, checked against the budget when the plan is made.

    `notes` holds public forecasts (expected error, memory, seconds) for people; nothing in nacre acts on them.
    """

    method: str
    entries: tuple[Entry, ...]
    budget: Budget
    cap: int = 1
    rows: int | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self):
        names = [e.name for e in self.entries]
        if len(set(names)) != len(names):
            raise PlanError(f"plan of {self.method}: entry names must differ, found {names}")
        if self.budget.epsilon is None:
            return
        spent = accounting.delta_at(self.events(), self.budget.epsilon)
        if not spent <= self.budget.delta:
            raise BudgetError(
                f"the plan of {self.method} would spend delta={up(spent)} at epsilon={exact(self.budget.epsilon)}, "
                f"but delta={exact(self.budget.delta)} is allowed; nothing was read. Raise the budget or lower the plan"
            )

    def __getitem__(self, name: str) -> Any:
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise PlanError(f"plan of {self.method}: no entry named {name!r}; it has {[e.name for e in self.entries]}")

    def for_rows(self, rows: int | None) -> Plan:
        """The same entries, already checked, for a number of rows that is known by now. Nothing gets cheaper by it."""
        known = copy.copy(self)
        object.__setattr__(known, "rows", rows)
        return known

    @property
    def scope(self) -> Scope:
        return Scope(self.budget.neighbours, self.cap)

    @property
    def level(self) -> Level:
        if self.budget.epsilon is None:
            return Level.NONE
        return min((e.level for e in self.entries), default=Level.PROVEN)

    def events(self) -> list[Event]:
        return [event for entry in self.entries for event in entry.events(self.scope)]

    def to_json(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "budget": asdict(self.budget),
            "cap": self.cap,
            "rows": self.rows,
            "entries": [e.to_json() for e in self.entries],
            "notes": dict(self.notes),
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Plan:
        try:
            if len(data["entries"]) > MOST_ENTRIES:
                raise ValueError(f"{len(data['entries']):,} entries; at most {MOST_ENTRIES:,}")
            entries = tuple(entry_from_json(e) for e in data["entries"])
            budget, cap = Budget(**data["budget"]), _whole("cap", data["cap"], 1)
            rows = None if data["rows"] is None else _whole("rows", data["rows"], 0)
            if budget.epsilon is not None:
                accounting.check_composable([x for e in entries for x in e.events(Scope(budget.neighbours, cap))])
            return Plan(str(data["method"]), entries, budget, cap, rows, dict(data.get("notes", {})))
        except UNFIT as error:
            raise PlanError(f"plan file: {error}; expected the JSON that `nacre plan --json` writes") from None


def entry_from_json(data: Mapping[str, Any]) -> Entry:
    """One entry as `Entry.to_json` gave it; PlanError for anything else."""
    try:
        fields = {k: _tuples(v) for k, v in data.items() if k != "door"}
        return DOORS[data["door"]](**fields)
    except UNFIT as error:
        raise PlanError(f"not an entry of a plan ({error}); expected what `nacre plan --json` writes") from None


def _whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LARGEST:
        raise ValueError(f"{name} {value!r}; expected a whole number from {least} to 10^15")
    return value


def _tuples(value: Any) -> Any:
    return tuple(_tuples(v) for v in value) if isinstance(value, list) else value


NO_NOISE = 1e7


def gaussian_share(budget: Budget, scope: Scope, others: Sequence[Entry] = ()) -> float:
    """μ² left for tables of sensitivity one record, in units where m tables of noise σ cost m·σ⁻².

    What `others` cost is taken off first, so that everything together meets the budget exactly. Without a budget
    (a non-private run, guarantee `none`) it is so large that the rounded noise is zero.
    """
    if budget.epsilon is None:
        return NO_NOISE
    events = [event for entry in others for event in entry.events(scope)]
    gaussians = math.fsum(e.mu**2 for e in events if isinstance(e, Gaussian))
    failure = math.fsum(e.delta for e in events if isinstance(e, Failure))
    rest = [e for e in events if not isinstance(e, Gaussian | Failure)]
    if failure >= budget.delta:
        raise BudgetError(
            f"delta={exact(budget.delta)} does not cover the failure probability {up(failure)} of the plan"
        )
    if accounting.sampler_cost(budget.epsilon) >= budget.delta - failure:
        raise BudgetError(
            f"epsilon={exact(budget.epsilon)} is beyond what the noise sampler's proof covers at "
            f"delta={exact(budget.delta)} (its error counts e^epsilon times); ask for at most 25, or for "
            "epsilon=None, which promises nothing"
        )
    mu = accounting.gaussian_mu(budget.epsilon, budget.delta - failure, rest)
    left = mu**2 - gaussians
    if left <= 0:
        raise BudgetError(f"epsilon={exact(budget.epsilon)} is spent before the tables are measured; raise it")
    return left / scope.table**2 * (1 - 1e-9)  # room for the rounding of sums of σ⁻², so that the plan never exceeds
