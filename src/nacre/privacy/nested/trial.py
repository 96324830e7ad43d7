"""The white-box audit of the door `nested`: units that cost all there is, each in cells of its own, there or not.

Every unit has as many rows as it may, all in the cells of its own label, and is seen in three views at once: what is
put together is weighed by the noise of each cell, as whoever wanted to find the unit would do. The sum tends to 1 for a
unit that is there and to 0 for one that is not, with noise 1/mu. A door that added less noise to one view than to the
accountant, or let the views exceed the bound together, would be found out.
"""

from __future__ import annotations

import math

import numpy as np

from nacre.privacy.doors.entry import Opened
from nacre.privacy.doors.nested import Nested
from nacre.privacy.nested.views import View, worst
from nacre.table import Categorical, Identifier, Schema
from nacre.table.database import Database, Key

CAP = 3
PARTS = 5040  # of a weight: rounding it down loses nothing that an audit could see
SHARES = (1.0, 1.5, 2.0)  # of what the views cost, before they are brought to the bound
VIEWS = (
    View("units", "units"),
    View("rows", "rows", own=((PARTS,), (0, 3000, 1500), (0, 3000, 3000)), of=PARTS),
    View("next", "rows", kind="next", own=((0, 4000, 2000),), of=PARTS),
)
CLIQUES = ((("units.x",),), (("rows.x",),), (("rows.x", "rows.y+"),))


def seen(opened: Opened, sigma: float, draws: int, here: bool) -> np.ndarray:
    """`draws` units, with noise so that each may move all tables together by 1/sigma deviations."""
    labels = tuple(map(str, range(draws + 1)))  # the last is that of a unit that is always there
    database = Database(
        tables={
            "units": Schema({"id": Identifier(), "x": Categorical(labels)}),
            "rows": Schema({"unit": Identifier(), "x": Categorical(labels), "y": Categorical(("a", "b"))}),
        },
        keys=[Key("rows.unit -> units.id", cap=CAP)],
        unit="units",
    )
    cost = worst(VIEWS, SHARES, {"rows": CAP})
    sigmas = [sigma * math.sqrt(cost / share) for share in SHARES]
    entry = Nested("audit", VIEWS, CLIQUES, tuple((s,) for s in sigmas), 1 / sigma)
    there = np.append(np.arange(draws), draws) if here else np.array([draws])
    rows = np.repeat(there, CAP + 1)  # one more than may count
    made_up = {
        "units": {"id": there, "x": [labels[i] for i in there]},
        "rows": {"unit": rows, "x": [labels[i] for i in rows], "y": ["a"] * len(rows)},
    }
    room = opened(entry, made_up, database)
    (units,), (own,), (pairs,) = room.nested(entry)
    cells = np.stack([units[:draws], own[1, :draws], own[2, :draws], pairs[:draws, 0]])
    moved = np.array([1.0, 2 * 1500 / PARTS, 3000 / PARTS, 2 * 2000 / PARTS])
    noise = np.array([sigmas[0], sigmas[1], sigmas[1], sigmas[2]])
    return (moved / noise**2) @ cells / np.square(moved / noise).sum()
