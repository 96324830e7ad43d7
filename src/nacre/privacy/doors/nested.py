"""The door `nested`: weighted contingency tables over views of units that own rows of several tables.

All answers of one opening are one Gaussian event: whatever a unit owns, the door lets it move all tables together by at
most `mu` noise standard deviations (docs/proofs/units_in_tables.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from nacre.errors import PlanError
from nacre.privacy.accounting.events import Event, Gaussian
from nacre.privacy.certificate.rounding import down, up
from nacre.privacy.doors.entry import Entry, Scope
from nacre.privacy.nested.views import View
from nacre.privacy.noise import MAX_SIGMA
from nacre.privacy.passes.tables import Clique


@dataclass(frozen=True)
class Nested(Entry):
    """Tables over views, with rounded Gaussian noise of `sigmas[view][table]` in units of weight 1.

    A unit whose rows would move all tables together by more than `mu`, in L2 and in noise standard deviations, is left
    out: the bound holds for all units, whatever was planned.
    """

    door: ClassVar[str] = "nested"
    views: tuple[View, ...] = ()
    cliques: tuple[tuple[Clique, ...], ...] = ()
    sigmas: tuple[tuple[float, ...], ...] = ()
    mu: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("views", "cliques", "sigmas"):
            if not isinstance(getattr(self, field), tuple | list):
                raise PlanError(f"entry {self.name!r}: {field} {getattr(self, field)!r}; expected a list")
        views = tuple(v if isinstance(v, View) else View.from_json(v) for v in self.views)
        object.__setattr__(self, "views", views)
        object.__setattr__(self, "cliques", _tuples(self.cliques))
        object.__setattr__(self, "sigmas", _tuples(self.sigmas))
        self._check_tables()
        self._check_scales(mu=self.mu, sigmas=[s for own in self.sigmas for s in own])
        for view, sigmas in zip(self.views, self.sigmas):
            if max(sigmas) * view.scale > MAX_SIGMA:
                raise PlanError(
                    f"entry {self.name!r}, {view.where}: noise {max(sigmas):g} in parts of 1/{view.scale}; expected at "
                    "most 2**34 of them. Lower `of`"
                )

    def _check_tables(self) -> None:
        names = [v.name for v in self.views]
        if not names or len({*names}) < len(names):
            raise PlanError(f"entry {self.name!r}: views {names}; expected one or more, with different names")
        if not len(self.views) == len(self.cliques) == len(self.sigmas):
            raise PlanError(f"entry {self.name!r}: expected cliques and sigmas for each of {len(names)} views")
        for view, cliques, sigmas in zip(self.views, self.cliques, self.sigmas):
            if not cliques or not isinstance(sigmas, tuple) or len(cliques) != len(sigmas):
                raise PlanError(f"entry {self.name!r}, {view.where}: expected a table or more, each with its noise")
            for clique in cliques:
                good = isinstance(clique, tuple) and all(isinstance(c, str) for c in clique)
                if not good or len({*clique}) < len(clique):
                    raise PlanError(f"entry {self.name!r}, {view.where}: {clique!r}; expected different columns")

    @property
    def precisions(self) -> tuple[float, ...]:
        """S_V = Σ_j σ_j⁻² of every view: the square of what one row of weight 1 moves in its tables."""
        return tuple(math.fsum(s**-2 for s in own) for own in self.sigmas)

    def events(self, scope: Scope) -> list[Event]:
        """One Gaussian: contributions are not negative, so a replacement moves √2 times what a removal does."""
        return [Gaussian(self.mu * (math.sqrt(2) if scope.neighbours == "replace_one" else 1.0))]

    @property
    def words(self) -> str:
        listed = [s for own in self.sigmas for s in own]
        low, high = down(min(listed), 4), down(max(listed), 4)
        spread = low if low == high else f"{low} to {high}"
        tables = f"{len(listed):,} {'table' if len(listed) == 1 else 'tables'}"
        views = "; ".join(f"{v.name}: {_kind(v)}" for v in self.views)
        return (
            f"{tables} over units and the rows they own ({views}), noise {spread} counts of weight 1 per cell; a unit "
            f"moves all of them together by at most {up(self.mu, 4)} noise standard deviations, or is left out"
        )

    @property
    def sheet(self) -> tuple[str, str]:
        listed = [s for own in self.sigmas for s in own]
        return str(len(listed)), down(min(listed))


def _kind(view: View) -> str:
    if view.kind == "pair":
        return f"one row of {view.table} with one of {view.other}"
    return f"{'rows' if view.kind == 'rows' else 'consecutive rows'} of {view.table}"


def _tuples(value: object) -> object:
    return tuple(_tuples(v) for v in value) if isinstance(value, Sequence) and not isinstance(value, str) else value
