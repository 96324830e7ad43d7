"""Which tables of a database are counted, how much each is worth, and how rows are weighed: public facts alone.

Rows of a table are weighed so that a unit costs the same whatever its number of rows: a row by one over the number of
rows of its parent, and so on up. Where a row is the only one of its parent, pairs of consecutive rows cost nothing, and
its other tables are worth so much more (docs/methods/nested.md).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from nacre.privacy.doors.nested import Nested as Entry
from nacre.privacy.nested.views import View, worst
from nacre.table.database import Database
from nacre.table.database.forms import Form

Clique = tuple[str, ...]
LEVELS = {1: 4096, 2: 1024, 3: 100, 4: 32}  # denominators of a level's weights, by depth of the table
# What a table is worth, beside others: its share of a unit's cost.
UNIT, WITHIN, UPWARD, COUNTED, SAME, BESIDE = 1.6, 1.4, 1.0, 2.0, 5.0, 0.5
TARGET = 4.0  # times as much for tables that hold the target
MOST_CROSS = 40  # columns of a table up to which all its columns are counted with those of the row before


@dataclass(frozen=True)
class Priced:
    """A view and the tables to count over it, each with what it is worth: precision is worth times a common factor."""

    view: View
    cliques: tuple[Clique, ...]
    worth: tuple[float, ...]


def singles(database: Database, forms: Mapping[str, Form]) -> list[Priced]:
    """Every column by itself."""
    found = []
    for table in database.owned:
        cliques = tuple((f"{table}.{c}",) for c in forms[table].columns)
        if cliques:
            found.append(Priced(_rows(database, table, f"{table} alone", 1.0), cliques, (1.0,) * len(cliques)))
    return found


def tables(database: Database, forms: Mapping[str, Form], target: str | None) -> list[Priced]:
    """All tables of two columns of a unit that the model is fitted to."""
    found = [_root(database, forms)]
    for table in database.owned[1:]:
        found += _of_table(database, forms, table)
    for table in database.owned:
        for one, other in itertools.combinations(database.children(table), 2):
            view = View(f"{one} beside {other}", one, "pair", other, _above(database, one), ((1,),), _of(database, one))
            cliques = tuple(itertools.product(_named(forms, one), _named(forms, other)))
            # Of one pair, the own level has the weight 1.
            view = View(view.name, one, "pair", other, view.above, ((view.of,),), view.of)
            found.append(Priced(view, cliques, (BESIDE,) * len(cliques)))
    priced = [p for p in found if p.cliques]
    return [_targeted(p, target) for p in priced] if target is not None else priced


def entry(name: str, priced: Iterable[Priced], database: Database, mu2: float) -> Entry:
    """All these tables, with the noise that a unit's cost of `mu2` allows."""
    listed = list(priced)
    caps = {table: _cap(database, table) for table in database.owned[1:]}
    cost = worst([p.view for p in listed], [math.fsum(p.worth) for p in listed], caps)
    factor = mu2 / cost
    return Entry(
        name,
        views=tuple(p.view for p in listed),
        cliques=tuple(p.cliques for p in listed),
        sigmas=tuple(tuple(1 / math.sqrt(factor * w) for w in p.worth) for p in listed),
        mu=math.sqrt(mu2),
    )


def _root(database: Database, forms: Mapping[str, Form]) -> Priced:
    table = database.unit
    cliques = tuple(itertools.combinations(_named(forms, table), 2))
    return Priced(View(table, table), cliques, (UNIT,) * len(cliques))


def _of_table(database: Database, forms: Mapping[str, Form], table: str) -> list[Priced]:
    path, key = database.path(table), database.owner(table)
    assert key is not None
    ordered, own = key.order is not None, _named(forms, table)
    number = f"{key.parent}.{forms[key.parent].count[table]}"
    within = [(pair, WITHIN) for pair in itertools.combinations(own, 2)] + [((number, c), COUNTED) for c in own]
    upward = [((above, c), UPWARD) for t in path[:-1] for above in _named(forms, t) if above != number for c in own]
    after = _consecutive(own, ordered) if _cap(database, table) > 1 else []
    rows = math.fsum(w for _, w in within) + math.fsum(w for _, w in upward)
    # A parent of one row pays for its rows alone: their weight is 1, that of others less by this.
    less = math.sqrt(rows / (rows + math.fsum(w for _, w in after))) if after and rows else 1.0
    more = 1 / less**2
    views = [
        (_rows(database, table, table, less, strata=ordered), [(c, w * more) for c, w in within]),
        (_rows(database, table, f"{table} upward", less), [(c, w * more) for c, w in upward]),
        (_next(database, table), after),
    ]
    return [Priced(v, tuple(c for c, _ in some), tuple(w for _, w in some)) for v, some in views if some]


def _consecutive(own: list[str], ordered: bool) -> list[tuple[Clique, float]]:
    """Without an order, which of two rows comes first says nothing."""
    cross = [(a, b) for a in own for b in own if a != b and (ordered or a < b)] if len(own) <= MOST_CROSS else []
    same = [((c, f"{c}+"), SAME) for c in own]
    return same + [((a, f"{b}+"), SAME * len(own) / len(cross)) for a, b in cross]


def _targeted(priced: Priced, target: str) -> Priced:
    worth = tuple(w * (TARGET if {target, f"{target}+"} & {*c} else 1) for c, w in zip(priced.cliques, priced.worth))
    return Priced(priced.view, priced.cliques, worth)


def _rows(database: Database, table: str, name: str, less: float, strata: bool = False) -> View:
    if table == database.unit:
        return View(name, table)
    of, most = _of(database, table), _cap(database, table)
    if not strata:
        own = (tuple(_part(of, (1 if m == 1 else less) / m) for m in range(1, most + 1)),)
    else:
        others = tuple(_part(of, less / math.sqrt(2) / max(m - 1, 1)) for m in range(1, most + 1))
        own = ((of,) * most, others, (_part(of, less / math.sqrt(2)),) * most)
    return View(name, table, above=_above(database, table), own=own, of=of)


def _next(database: Database, table: str) -> View:
    of, most = _of(database, table), _cap(database, table)
    own = (tuple(_part(of, 1 / max(m - 1, 1)) for m in range(1, most + 1)),)
    return View(f"{table} next", table, "next", above=_above(database, table), own=own, of=of)


def _above(database: Database, table: str) -> tuple[tuple[int, ...], ...]:
    of = _of(database, table)
    return tuple(
        tuple(_part(of, 1 / m) for m in range(1, _cap(database, over) + 1)) for over in database.path(table)[1:-1]
    )


def _part(of: int, weight: float) -> int:
    """The numerator of a weight: rounded down, but something counts."""
    return max(1, math.floor(of * weight * (1 + 1e-12)))


def _of(database: Database, table: str) -> int:
    return LEVELS[len(database.path(table)) - 1]


def _cap(database: Database, table: str) -> int:
    key = database.owner(table)
    assert key is not None and key.cap is not None
    return key.cap


def _named(forms: Mapping[str, Form], table: str) -> list[str]:
    return [f"{table}.{column}" for column in forms[table].columns]
