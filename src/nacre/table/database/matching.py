"""Which columns of tables look like keys by their names, where nothing is declared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

_GENERIC = {"id", "rowid", "key", "code", "no", "nr", "num", "number", "index", "idx", "pk", "uuid", "guid"}
_LIKE_ID = re.compile(r"(id|key|code|no|nr|number|pk|uuid|guid)$")


def plain(name: str) -> str:
    """Letters and digits alone, in small letters."""
    return re.sub(r"[\W_]+", "", name.casefold())


def stems(table: str) -> set[str]:
    """What rows of a table may be called."""
    name = plain(table)
    found = {name}
    if name.endswith("ies"):
        found.add(f"{name[:-3]}y")
    if name.endswith("es"):
        found.add(name[:-2])
    if name.endswith("s"):
        found.add(name[:-1])
    return found | ({"person"} if name == "people" else set())


def is_like_id(column: str, table: str) -> bool:
    """Whether a column may be called so that names the rows of a table."""
    return _LIKE_ID.search(plain(column)) is not None or plain(column) in stems(table)


def refers(column: str, table: str, id: str) -> bool:
    """Whether a column is called as if it named rows of a table by that id."""
    name, there = plain(column), plain(id)
    if there not in _GENERIC and name == there:
        return True
    if there not in _GENERIC and not any(there.startswith(stem) for stem in stems(table)):
        return False
    return any(name in (stem, f"{stem}id", f"{stem}{there}") or name.endswith(f"{stem}id") for stem in stems(table))


def candidates(columns: Mapping[str, Sequence[str]]) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """((child, column), (parent, id)) of all that are called so, the best first: ids called as their table is."""
    found = [
        ((child, column), (parent, id))
        for parent, ids in columns.items()
        for id in ids
        if is_like_id(id, parent)
        for child, own in columns.items()
        if child != parent
        for column in own
        if refers(column, parent, id)
    ]
    yield from sorted(found, key=lambda pair: not _own(pair[1]))


def _own(id: tuple[str, str]) -> bool:
    table, column = id
    return plain(column) in _GENERIC or any(plain(column).startswith(stem) for stem in stems(table))
