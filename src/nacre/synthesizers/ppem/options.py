"""What the options of `ppem` may be, and what the hidden columns are as numbers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from nacre.errors import NacreError
from nacre.synthesizers.options import inside
from nacre.synthesizers.parts.revealed import Rows
from nacre.table import Schema

Sets = tuple[Any, ...]
SHOWN = ("bounds", "edges", "atoms", "categories")  # facts of a column that speak of its values


def rank_columns(rows: Rows, hidden: tuple[str, ...]) -> np.ndarray:
    """One number per hidden column and row: the number itself, or the place of its label."""
    found = []
    for name in hidden:
        own = list(rows.coding.places(0, [name]))
        x = rows.vectors[0][:, own]
        found.append(x[:, 0] if name in rows.coding.layout.numbers else x.argmax(axis=1))
    return np.stack(found, axis=1)


def warn_of_read_bounds(schema: Schema, hidden: tuple[str, ...]) -> None:
    for name in hidden:
        read = [f for f, source in schema.columns[name].provenance.items() if source == "read" and f in SHOWN]
        if read:
            warnings.warn(
                f"hidden column {name!r}: {', '.join(read)} read from the rows, and the release shows it, of "
                "a number its exact least and greatest value; declare it in a schema",
                stacklevel=5,
            )


def sets_of(name: str, hide: object) -> Sets:
    """Columns as one set, or sets as they are. NacreError for anything else."""
    if isinstance(hide, str):
        hide = (hide,)
    if isinstance(hide, set | frozenset):  # whose order is another one in every process
        hide = sorted(hide, key=str)
    given = tuple(hide) if isinstance(hide, list | tuple) else (hide,)
    if all(isinstance(name, str) for name in given):
        return (tuple(dict.fromkeys(given)),) if given else ()
    sets = tuple(tuple(dict.fromkeys(one)) if isinstance(one, list | tuple) else () for one in given)
    if not all(one and all(isinstance(name, str) for name in one) for one in sets):
        raise NacreError(f"{name}={hide!r}: expected column names, or several lists of column names")
    return sets


def weights_of(weight: Any, sets: int) -> float | tuple[float, ...]:
    """λ_α as it is, or one for every hidden set."""
    if not isinstance(weight, list | tuple):
        inside("weight", weight, 0, 1e6)
        return weight
    for one in weight:
        inside("weight", one, 0, 1e6)
    if len(weight) != sets:
        raise NacreError(f"weight={weight!r}: expected one number, or one for each of the {sets} hidden sets")
    return tuple(weight)
