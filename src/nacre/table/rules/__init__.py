"""What a schema says across columns: persons, dependencies, combinations that cannot occur. A file for each."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from nacre.table.rules.base import Rule
from nacre.table.rules.dependencies import Dependency, check_dependencies
from nacre.table.rules.impossible import Impossible
from nacre.table.rules.persons import MOST_CAP, Unit

if TYPE_CHECKING:
    from nacre.table.encoding import Encoded

__all__ = ["MOST_CAP", "Dependency", "Impossible", "Rule", "Unit", "check_dependencies", "violations"]


def violations(encoded: "Encoded", rules: Iterable[Rule]) -> np.ndarray:
    """bool [rows]: rows that break one of the rules.

    Rules on dependent columns must have been turned to the columns that determine them (`Release` does).
    """
    broken = np.zeros(encoded.rows, bool)
    for rule in rules:
        broken |= rule.broken(encoded)
    return broken
