"""What is asked of a rule: something that a schema says across columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    from nacre.table.columns import Column
    from nacre.table.encoding import Encoded


class Rule:
    """A kind of rule is one class that answers all of this; `str` is how messages name it."""

    def check(self, columns: Mapping[str, Column]) -> Self:
        """The rule as it holds for these columns; SchemaError where it cannot."""
        raise NotImplementedError

    def broken(self, encoded: Encoded) -> np.ndarray:
        """bool [rows]: which rows break it. None do where it holds by construction."""
        return np.zeros(encoded.rows, bool)

    def to_json(self) -> Any:
        """As schemas state it."""
        raise NotImplementedError

    @classmethod
    def from_json(cls, raw: Any, where: str) -> Any:
        """The rule before it is checked; SchemaError, beginning with `where`, for what is none."""
        raise NotImplementedError
