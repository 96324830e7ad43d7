"""Names of types that several rooms share and no library has. Knows no room; imported for annotations only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date, datetime
    from decimal import Decimal

    import jax
    import numpy as np

Array: TypeAlias = "jax.Array | np.ndarray"
Number: TypeAlias = "float | Array"  # of Python, or traced
Tree: TypeAlias = "Array | Mapping[str, Tree] | Sequence[Tree]"  # what jax.tree calls a tree of arrays
State: TypeAlias = "Mapping[str, Any]"  # of a training: trees of arrays by name
Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
Value: TypeAlias = "bool | int | float | str | bytes | Decimal | date | datetime | None"  # one value of a table
