"""How the values of a column are written as text: read that way, written back that way.

A format is a frozen value without any library behind it; reading and writing of arrays live in modules of their own
(`number_text`, `date_text`), so that a schema can be looked at without Arrow.
"""

from nacre.table.formats.base import Format
from nacre.table.formats.dates import DateFormat
from nacre.table.formats.numbers import NumberFormat
from nacre.table.formats.truth import TruthFormat
from nacre.table.formats.words import check_null_words

__all__ = ["DateFormat", "Format", "NumberFormat", "TruthFormat", "check_null_words"]
