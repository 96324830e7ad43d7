"""The doors, a file each. A new one is a file and a line here (and its case in the privacy contract)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nacre.errors import PlanError
from nacre.privacy.doors.bounds import Bounds
from nacre.privacy.doors.categories import Categories
from nacre.privacy.doors.counts import Counts
from nacre.privacy.doors.descend import Descend
from nacre.privacy.doors.entry import Entry
from nacre.privacy.doors.nested import Nested
from nacre.privacy.doors.reveal import Reveal
from nacre.privacy.doors.sample import Sample
from nacre.privacy.doors.select import Select
from nacre.privacy.doors.teach import Teach
from nacre.privacy.doors.total import Total
from nacre.table.documents import UNFIT

DOORS: dict[str, type[Entry]] = {
    kind.door: kind for kind in (Counts, Nested, Bounds, Categories, Total, Select, Sample, Descend, Teach, Reveal)
}


def entry_from_json(data: Mapping[str, Any]) -> Entry:
    """One entry as `Entry.to_json` gave it; PlanError for anything else."""
    try:
        fields = {k: _tuples(v) for k, v in data.items() if k != "door"}
        return DOORS[data["door"]](**fields)
    except UNFIT as error:
        raise PlanError(f"not an entry of a plan ({error}); expected what `nacre plan --json` writes") from None


def _tuples(value: Any) -> Any:
    return tuple(_tuples(v) for v in value) if isinstance(value, list) else value
