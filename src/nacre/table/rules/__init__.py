"""What a schema says across columns: persons, dependencies, combinations that cannot occur, and rules that every row
keeps. A file for each."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.errors import SchemaError
from nacre.table.checking import as_object
from nacre.table.naming import choices
from nacre.table.rules.base import RowRule, Rule
from nacre.table.rules.calendar import Calendar
from nacre.table.rules.dependencies import Dependency, check_dependencies
from nacre.table.rules.geo import Geo
from nacre.table.rules.implied import IfThen
from nacre.table.rules.impossible import Impossible
from nacre.table.rules.merging import Combinations, OneHot
from nacre.table.rules.ordered import Amid, Ordered
from nacre.table.rules.persons import MOST_CAP, Unit
from nacre.table.rules.presence import AllOrNone, NullIff
from nacre.table.rules.total import Total
from nacre.table.rules.unique import Unique

if TYPE_CHECKING:
    from nacre.table.encoding import Encoded

__all__ = [
    "MOST_CAP",
    "AllOrNone",
    "Amid",
    "Calendar",
    "Combinations",
    "Dependency",
    "Geo",
    "IfThen",
    "Impossible",
    "NullIff",
    "OneHot",
    "Ordered",
    "RowRule",
    "Rule",
    "Total",
    "Unique",
    "Unit",
    "check_dependencies",
    "row_rule",
    "violations",
]

ROW_RULES: dict[str, type[RowRule]] = {
    kind.name: kind
    for kind in (Ordered, Amid, Total, AllOrNone, NullIff, IfThen, Combinations, OneHot, Unique, Calendar, Geo)
}


def row_rule(raw: Any, where: str) -> RowRule:
    """A rule of `Schema.rules` from JSON, not checked yet: that takes the columns."""
    kind = as_object(raw, where).get("rule")
    if not isinstance(kind, str) or kind not in ROW_RULES:
        raise SchemaError(f"{where}: rule is {kind!r}; choose among {choices(str(kind), ROW_RULES)}")
    return ROW_RULES[kind].from_json(raw, where)


def violations(encoded: "Encoded", rules: Iterable[Rule]) -> np.ndarray:
    """bool [rows]: rows that break one of the rules.

    Rules on dependent columns must have been turned to the columns that determine them (`Release` does).
    """
    broken = np.zeros(encoded.rows, bool)
    for rule in rules:
        broken |= rule.broken(encoded)
    return broken
