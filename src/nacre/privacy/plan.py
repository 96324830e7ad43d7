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
from typing import Any

from nacre.errors import BudgetError, PlanError
from nacre.privacy.accounting import accountant as accounting
from nacre.privacy.accounting.accountant import Event, Failure, Gaussian
from nacre.privacy.budget import Budget, Level
from nacre.privacy.certificate.rounding import exact, up
from nacre.privacy.doors import DOORS as DOORS
from nacre.privacy.doors import Bounds as Bounds
from nacre.privacy.doors import Categories as Categories
from nacre.privacy.doors import Counts as Counts
from nacre.privacy.doors import Descend as Descend
from nacre.privacy.doors import Entry as Entry
from nacre.privacy.doors import Nested as Nested
from nacre.privacy.doors import Reveal as Reveal
from nacre.privacy.doors import Sample as Sample
from nacre.privacy.doors import Select as Select
from nacre.privacy.doors import Teach as Teach
from nacre.privacy.doors import Total as Total
from nacre.privacy.doors import entry_from_json as entry_from_json
from nacre.privacy.doors.descend import CLIPPINGS as CLIPPINGS
from nacre.privacy.doors.descend import Part as Part
from nacre.privacy.doors.entry import Scope as Scope
from nacre.table.documents import UNFIT
from nacre.typed import Json

MOST_ENTRIES = 1_000
LARGEST = 10**15


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

    def to_json(self) -> dict[str, Json]:
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


def _whole(name: str, value: object, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LARGEST:
        raise ValueError(f"{name} {value!r}; expected a whole number from {least} to 10^15")
    return value


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
