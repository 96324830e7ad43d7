"""Texts that a spreadsheet would take for a formula: `=`, `@`, a tab or a line break in front, or a sign that no number
follows. Labels may be anybody's: one that is frequent enough comes out of a bought schema as it was planted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nacre.table import Schema

_START = r"^[=@\t\r\n\x{FF1D}\x{FF20}]"
_SIGN = r"^[+\-\x{FF0B}\x{FF0D}]."
_NUMBER = r"^[+\-]?(?:\d[\d.,' ]*|[.,]\d+)(?:[eE][+\-]?\d+)? ?%?\z"
MARK = "'"  # what spreadsheets take for "a text follows"


def _python(pattern: str) -> re.Pattern[str]:
    """RE2, which Arrow has, writes two things otherwise."""
    return re.compile(re.sub(r"\\x\{(....)\}", r"\\u\1", pattern).replace(r"\z", r"\Z"), re.DOTALL)


_RISKY = tuple(map(_python, (_START, _SIGN, _NUMBER)))


def risky(text: str) -> bool:
    """Whether a spreadsheet would run it."""
    start, sign, number = _RISKY
    return bool(start.search(text) or (sign.search(text) and not number.search(text)))


def marked(text: str) -> str:
    return MARK + text if risky(text) else text


def some_risky(schema: Schema) -> list[str]:
    """Names and labels of a schema, of columns that come out as texts, that a spreadsheet would run."""
    labels: Iterable[str] = (label for column in schema.columns.values() for label in column.labels)
    return [text for text in (*schema.columns, *labels) if risky(text)]


def guarded(table: Any) -> Any:
    """The table with an apostrophe before every text that a spreadsheet would run. Numbers, dates and their writings
    stay as they are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def column(values: Any) -> Any:
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
            return values
        mark, nothing = pa.scalar(MARK, values.type), pa.scalar("", values.type)
        signed = pc.match_substring_regex(values, f"(?s){_SIGN}")
        number = pc.match_substring_regex(values, _NUMBER)
        run = pc.or_(pc.match_substring_regex(values, f"(?s){_START}"), pc.and_(signed, pc.invert(number)))
        return pc.if_else(run, pc.binary_join_element_wise(mark, values, nothing), values)

    columns = [column(table.column(i)) for i in range(table.num_columns)]
    return pa.Table.from_arrays(columns, names=table.schema.names)
