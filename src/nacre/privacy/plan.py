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
from nacre.privacy import accounting
from nacre.privacy.accounting import BoundedRange, Event, Failure, Gaussian, PoissonGaussian, Unbounded
from nacre.privacy.budget import Budget, Level
from nacre.privacy.noise import MAX_SIGMA


@dataclass(frozen=True)
class Scope:
    """Whose presence is hidden: the neighbour relation, and how many rows one unit may hold."""

    neighbours: str
    cap: int = 1

    @property
    def table(self) -> float:
        """L2 sensitivity of one contingency table: `cap` rows in one cell, or moved from one cell to another."""
        return self.cap * (math.sqrt(2) if self.neighbours == "replace_one" else 1.0)

    @property
    def sum(self) -> float:
        """Sensitivity of a sum of per-record vectors of norm at most 1."""
        return self.cap * (2.0 if self.neighbours == "replace_one" else 1.0)


@dataclass(frozen=True)
class Entry:
    """One use of one door. `level` is the guarantee the door can give at best.

    Numbers that the accountant or the noise could not use (NaN, zero, infinity...) are refused when it is made.
    """

    door: ClassVar[str]
    level: ClassVar[Level] = Level.PROVEN
    name: str

    def __post_init__(self) -> None:
        for scale in ("sigmas", "sigma", "bound", "epsilon"):
            found = getattr(self, scale, ())
            for value in found if isinstance(found, tuple | list) else (found,):
                if not 0 < value <= MAX_SIGMA:  # NaN fails every comparison
                    raise BudgetError(
                        f"entry {self.name!r}: {scale} {value!r}; expected numbers above 0, up to 2**34. "
                        "A budget that asks for more noise than that buys nothing"
                    )
        for number, least in (("picks", 1), ("size", 1), ("threshold", 1), ("parts", 1), ("draws", 1), ("moves", 0)):
            value = getattr(self, number, least)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise PlanError(f"entry {self.name!r}: {number} {value!r}; expected a whole number, {least} or more")

    def events(self, scope: Scope) -> list[Event]:
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        return {"door": self.door, **asdict(self)}


def _table_event(sigmas: Sequence[float], scope: Scope) -> Gaussian:
    """m tables with noise σ_j: one record moves table j by at most Δ in L2, so μ² = Δ²·Σ σ_j⁻²."""
    return Gaussian(scope.table * math.sqrt(math.fsum(s**-2 for s in sigmas)))


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


CLIPPINGS = ("flat", "per-layer", "per-unit", "sparse")


@dataclass(frozen=True)
class Part:
    """One named part of what a unit contributes to a step of `descend`.

    It is brought to L2 norm at most `clip` by the strategy `clipping`, and the sum gets noise of `sigma` times the
    sensitivity. `sigma=0` means no noise and no promise; only then may `clip` be None (contributions as they are).
    """

    name: str
    clip: float | None = 1.0
    sigma: float = 1.0
    clipping: str = "flat"
    sparsity: float = 0.5  # of the strategy "sparse"

    def __post_init__(self) -> None:
        where = f"part {self.name!r}"
        if self.clipping not in CLIPPINGS:
            raise PlanError(f"{where}: clipping {self.clipping!r}; expected one of {', '.join(CLIPPINGS)}")
        if not (0 <= self.sigma <= MAX_SIGMA):
            raise BudgetError(f"{where}: sigma {self.sigma!r}; expected a number from 0 to 2**34")
        if not (self.clip is None and self.sigma == 0) and not (self.clip is not None and 0 < self.clip <= MAX_SIGMA):
            raise BudgetError(f"{where}: clip {self.clip!r}; expected a number above 0 (None only without noise)")
        if not 0 <= self.sparsity < 1:
            raise PlanError(f"{where}: sparsity {self.sparsity!r}; expected a number in [0, 1)")


@dataclass(frozen=True)
class Descend(Entry):
    """`steps` noisy sums over Poisson samples of rate `q`, all parts of a step on one sample: one event each.

    A unit is a record, all rows of a person (where the schema declares one), or a fixed group of `group` records drawn
    beforehand; groups need a public number of rows, and one record then touches one group only.
    """

    door: ClassVar[str] = "descend"
    level: ClassVar[Level] = Level.REAL_ARITHMETIC
    q: float = 1.0
    steps: int = 1
    parts: tuple[Part, ...] = ()
    group: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(p if isinstance(p, Part) else Part(**p) for p in self.parts))
        names = [p.name for p in self.parts]
        if not names or len(set(names)) < len(names):
            raise PlanError(f"entry {self.name!r}: parts {names}; expected one or more, with different names")
        if not 2.0**-32 <= self.q <= 1:
            raise BudgetError(f"entry {self.name!r}: q {self.q!r}; expected a chance from 2**-32 to 1")
        for number in ("steps", "group"):
            value = getattr(self, number)
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 2**31:
                raise PlanError(f"entry {self.name!r}: {number} {value!r}; expected a whole number, 1 or more")

    @property
    def noise(self) -> float:
        """σ_eff = (Σ σ_i⁻²)^(−1/2): the noise multiplier of all parts together; 0 when a part has none."""
        if any(p.sigma == 0 for p in self.parts):
            return 0.0
        return math.fsum(p.sigma**-2 for p in self.parts) ** -0.5

    def events(self, scope: Scope) -> list[Event]:
        if self.group > 1 and (scope.neighbours == "add_or_remove_one" or scope.cap > 1):
            raise PlanError(
                f"entry {self.name!r}: groups of {self.group} records need a public number of rows and rows as units; "
                "use neighbours zero_out or replace_one, and a cap of 1"
            )
        if self.noise == 0:
            return [Unbounded(f"{self.name}: a part has no noise")]
        if self.q == 1:  # no sampling: plain Gaussians, which compose exactly
            moved = 2.0 if scope.neighbours == "replace_one" else 1.0
            return [Gaussian(moved * math.sqrt(self.steps) / self.noise)]
        return [PoissonGaussian(self.q, self.noise, self.steps, scope.neighbours)]


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


@dataclass(frozen=True)
class Reveal(Entry):
    """Hands out the raw rows. No guarantee of any kind."""

    door: ClassVar[str] = "reveal"
    level: ClassVar[Level] = Level.NONE
    reason: str = ""

    def events(self, scope: Scope) -> list[Event]:
        return [Unbounded(self.reason)]


DOORS: dict[str, type[Entry]] = {
    kind.door: kind for kind in (Counts, Bounds, Categories, Total, Select, Sample, Descend, Reveal)
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
                f"the plan of {self.method} would spend delta={spent:.3g} at epsilon={self.budget.epsilon:g}, "
                f"but delta={self.budget.delta:g} is allowed; nothing was read. Raise the budget or lower the plan"
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
            entries = tuple(_entry_from_json(e) for e in data["entries"])
            budget = Budget(**data["budget"])
            return Plan(data["method"], entries, budget, data["cap"], data["rows"], data.get("notes", {}))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise PlanError(f"plan file: {error}; expected the JSON that `nacre plan --json` writes") from None


def _entry_from_json(data: Mapping[str, Any]) -> Entry:
    fields = {k: _tuples(v) for k, v in data.items() if k != "door"}
    return DOORS[data["door"]](**fields)


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
        raise BudgetError(f"delta={budget.delta:g} does not cover the failure probability {failure:.3g} of the plan")
    if accounting.sampler_cost(budget.epsilon) >= budget.delta - failure:
        raise BudgetError(
            f"epsilon={budget.epsilon:g} is beyond what the noise sampler's proof covers at delta={budget.delta:g} "
            "(its error counts e^epsilon times); ask for at most 25, or for epsilon=None, which promises nothing"
        )
    mu = accounting.gaussian_mu(budget.epsilon, budget.delta - failure, rest)
    left = mu**2 - gaussians
    if left <= 0:
        raise BudgetError(f"epsilon={budget.epsilon:g} is spent before the tables are measured; raise it")
    return left / scope.table**2 * (1 - 1e-9)  # room for the rounding of sums of σ⁻², so that the plan never exceeds
