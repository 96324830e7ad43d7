"""The door `nested`: weighted contingency tables over views of units that own rows of several tables.

All answers of one opening are one Gaussian event: whatever a unit owns, the door lets it move all tables together by at
most `mu` noise standard deviations (docs/proofs/units_in_tables.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from nacre.errors import PlanError
from nacre.privacy.accounting.events import Event, Gaussian
from nacre.privacy.certificate.rounding import down, up
from nacre.privacy.doors.entry import Entry, Opened, Scope, Trial
from nacre.privacy.nested.views import View
from nacre.privacy.noise import MAX_SIGMA
from nacre.privacy.passes.tables import MAX_CELLS, Clique
from nacre.privacy.transcript import digest

if TYPE_CHECKING:
    from nacre.privacy.nested.counting import Look
    from nacre.privacy.nested.curator import NestedCurator
    from nacre.table.database import Database


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
        self._check_scales(mu=[self.mu], sigmas=[s for own in self.sigmas for s in own])
        if (least := min(s for own in self.sigmas for s in own)) < 1 / MAX_SIGMA:
            raise PlanError(f"entry {self.name!r}: noise {least:g}; expected at least 2**-34, or its square vanishes")
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

    @classmethod
    def trial(cls) -> Trial | None:
        return Trial(_seen, most=20_000)


def _seen(opened: Opened, sigma: float, draws: int, here: bool) -> np.ndarray:
    from nacre.privacy.nested import trial

    return trial.seen(opened, sigma, draws, here)


def _kind(view: View) -> str:
    if view.kind == "pair":
        return f"one row of {view.table} with one of {view.other}"
    return f"{'rows' if view.kind == 'rows' else 'consecutive rows'} of {view.table}"


def _tuples(value: object) -> object:
    return tuple(_tuples(v) for v in value) if isinstance(value, Sequence) and not isinstance(value, str) else value


def nested(
    room: NestedCurator, entry: Nested, groups: Mapping[str, np.ndarray] | None = None
) -> list[list[np.ndarray]]:
    """Noisy tables (float64) for each view and clique of the entry, in units of weight 1.

    Columns are "table.column" by the forms of the database, "table@place" the place of a row under its parent (only,
    first, middle, last); with "+" behind it, of the row after it in a view of kind "next". `groups["table.column"]`
    maps each fine cell to a coarser group (−1: no cell). Tables of a view with strata have them as their first axis.
    """
    from nacre.privacy.nested import counting

    looks = [looked_at(room, entry, view, cliques, groups or {}) for view, cliques in zip(entry.views, entry.cliques)]
    counters = [look.counter() for look in looks]  # refuses tables that do not fit before anything is spent
    if (cells := sum(counter.cells for counter in counters)) > MAX_CELLS:
        raise PlanError(f"entry {entry.name!r}: {cells:,} cells in all; at most {MAX_CELLS:,} fit in memory")
    room._open(entry, Nested)
    over = 0
    for units in room._units():
        allowed = counting.within(looks, entry.precisions, entry.mu, units)
        over += int((~allowed).sum())
        for look, counter in zip(looks, counters):
            counting.count(look, counter, units, allowed)
    room._over[entry.name] = over
    answers = []
    for view, sigmas, counter in zip(entry.views, entry.sigmas, counters):
        whole = room._noisy(counter.tables(), [sigma * view.scale for sigma in sigmas])
        answers.append([table / view.scale for table in whole])
    used = {c: digest(look.luts[c]) for look in looks for c in look.luts}
    return room._answer(
        entry, {"views": [v.to_json() for v in entry.views], "cliques": entry.cliques, "luts": used}, answers
    )


def looked_at(
    room: NestedCurator, entry: Nested, view: View, cliques: Sequence[Clique], groups: Mapping[str, np.ndarray]
) -> Look:
    """A view of this database with the columns of its tables, or a PlanError."""
    from nacre.privacy.nested.counting import PLACE, PLACES, Cell, Look
    from nacre.privacy.passes.work import lut_of

    check_view(entry.name, view, room.database)
    path = room.database.path(view.table)
    below = path if view.other is None else (*path, view.other)
    known = {f"{t}.{c}": Cell(t, c) for t in below for c in room.forms[t].columns}
    known |= {f"{t}{PLACE}": Cell(t, None) for t in below[1:]}
    if view.kind == "next":
        known |= {f"{name}+": Cell(c.table, c.name, True) for name, c in known.items() if c.table == view.table}
    columns, luts = {}, {}
    for name in dict.fromkeys(c for clique in cliques for c in clique):
        if name not in known:
            raise PlanError(
                f"entry {entry.name!r}, {view.where}: {name!r} is no column of it; expected one of {list(known)}"
            )
        columns[name] = cell = known[name]
        plain = name.removesuffix("+") if cell.after else name
        cells = PLACES if cell.name is None else room.grids[plain].cells
        lut = np.arange(cells) if plain not in groups else np.asarray(groups[plain])
        if lut.shape != (cells,) or lut.dtype.kind not in "iu":
            raise PlanError(f"column {name!r}: groups must be {cells} integers, one per fine cell")
        luts[name] = lut_of(lut, cells)
    return Look(view, path, columns, luts, cliques)


def check_view(entry: str, view: View, database: Database) -> None:
    """Refuse, before anything is spent, a view that this database does not have."""
    where = f"entry {entry!r}, {view.where}"
    for table in (view.table, *([view.other] if view.other else [])):
        if table not in database.owned:
            raise PlanError(f"{where}: {table!r} is no owned table; expected one of {list(database.owned)}")
    caps = caps_of(database)
    path = database.path(view.table)
    if len(path) == 1:
        if not view.plain:
            raise PlanError(f"{where}: a row of {view.table!r} is a unit and counts once; expected plain rows")
        return
    if view.other is not None and database.path(view.other)[:-1] != path[:-1]:
        raise PlanError(f"{where}: {view.table!r} and {view.other!r} hang on different tables; a pair has one parent")
    if [len(n) for n in view.above] != [caps[t] for t in path[1:-1]]:
        raise PlanError(
            f"{where}: numerators above for m up to {[len(n) for n in view.above]}; expected the caps of "
            f"{list(path[1:-1])}, {[caps[t] for t in path[1:-1]]}"
        )
    if max(len(n) for n in view.own) not in (1, caps[view.table]):
        raise PlanError(f"{where}: own numerators; expected one, or {caps[view.table]}, the cap of {view.table!r}")


def caps_of(database: Database) -> dict[str, int]:
    """The most rows of each owned table under one parent row, as `views.worst` takes them."""
    owners = {table: database.owner(table) for table in database.owned}
    return {table: key.cap for table, key in owners.items() if key is not None and key.cap is not None}
