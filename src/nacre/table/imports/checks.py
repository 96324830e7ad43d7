"""What CHECK constraints of SQL say of single columns: ranges, lists, no missing values. The rest is listed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from nacre.table.imports.base import Described, Raw, Told

if TYPE_CHECKING:
    from sqlglot import exp


class Checks:
    """Reads constraints into the columns of one table."""

    def __init__(self, told: Mapping[str, Told], found: Described):
        self.told, self.found = told, found

    def read(self, condition: exp.Expr) -> None:
        """A condition that holds in every row; of several joined by AND, each does."""
        from sqlglot import exp

        condition = _bare(condition)
        if isinstance(condition, exp.And):
            for part in condition.flatten():
                self.read(part)
        elif not (self._present(condition) or self._affirmed(condition)):
            self.found.leave(f"the rule CHECK ({condition.sql('postgres')})")

    def _affirmed(self, condition: exp.Expr) -> bool:
        negated = bool(condition.args.get("negate"))  # NOT IN and the like
        return not negated and (self._range(condition) or self._list(condition))

    def _column(self, side: exp.Expr) -> Told | None:
        from sqlglot import exp

        side = _bare(side)
        if not isinstance(side, exp.Column):
            return None
        name = side.name if side.this.args.get("quoted") else side.name.lower()
        return self.told.get(name)

    def _range(self, condition: exp.Expr) -> bool:
        from sqlglot import exp

        if isinstance(condition, exp.Between):
            told = self._column(condition.this)
            low, high = (_value(condition.args[end]) for end in ("low", "high"))
            if told is None or low is None or high is None:
                return False
            return _raise(told, low, False) and _lower(told, high, False)
        kinds = {exp.GTE: (_raise, False), exp.GT: (_raise, True), exp.LTE: (_lower, False), exp.LT: (_lower, True)}
        if type(condition) not in kinds:
            return False
        move, opened = kinds[type(condition)]
        told, value = self._column(condition.this), _value(condition.expression)
        if told is None:  # 0 <= a is a >= 0
            told, value = self._column(condition.expression), _value(condition.this)
            move = _lower if move is _raise else _raise
        return told is not None and value is not None and move(told, value, opened)

    def _list(self, condition: exp.Expr) -> bool:
        """`a IN (...)`, as PostgreSQL keeps it too: `a = ANY (ARRAY[...])`; or `a = value`."""
        from sqlglot import exp

        if isinstance(condition, exp.In) and condition.expressions:
            listed = condition.expressions
        elif isinstance(condition, exp.EQ) and isinstance(condition.expression, exp.Any):
            array = _bare(condition.expression.this)
            listed = array.expressions if isinstance(array, exp.Array) else []
        elif isinstance(condition, exp.EQ):
            listed = [condition.expression]
        else:
            return False
        told, values = self._column(condition.this), [_value(one) for one in listed]
        if told is None or not values or None in values:
            return False
        told.values = values if told.values is None else [v for v in told.values if v in values]
        return True

    def _present(self, condition: exp.Expr) -> bool:
        """`a IS NOT NULL`, which versions of sqlglot spell in two ways."""
        from sqlglot import exp

        negated = bool(condition.args.get("negate"))
        if isinstance(condition, exp.Not):
            condition, negated = _bare(condition.this), True
        absent = isinstance(condition, exp.Is) and isinstance(condition.expression, exp.Null)
        told = self._column(condition.this) if absent and negated else None
        if told is None:
            return False
        told.nullable = False
        return True


def _bare(part: exp.Expr) -> exp.Expr:
    """Without parentheses and casts around it."""
    from sqlglot import exp

    while isinstance(part, exp.Paren | exp.Cast):
        part = part.this
    return part


def _value(part: exp.Expr) -> bool | float | str | None:
    """The number, text or truth value that is written out; None for anything else."""
    from sqlglot import exp

    part = _bare(part)
    if isinstance(part, exp.Neg):
        value = _value(part.this)
        return -value if isinstance(value, int | float) else None
    if isinstance(part, exp.Boolean):
        return bool(part.this)
    if not isinstance(part, exp.Literal):
        return None
    if part.is_string:
        return part.name
    return int(part.name) if part.name.isdigit() and len(part.name) < 20 else float(part.name)


def _raise(told: Told, value: Raw, opened: bool) -> bool:
    """A lower end, unless a higher one is known."""
    if told.low is None or value > told.low or (value == told.low and opened):
        told.low, told.open_low = value, opened
    return True


def _lower(told: Told, value: Raw, opened: bool) -> bool:
    if told.high is None or value < told.high or (value == told.high and opened):
        told.high, told.open_high = value, opened
    return True
