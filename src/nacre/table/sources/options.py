"""How a table is written and how large it may be: what is declared about a source, besides what its schema says.

Everything here is public: it is fixed before a row is looked at, and what is guessed is guessed from the header line.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from nacre.errors import DataError

BATCH_ROWS = 131_072
NO_QUOTE = ""


@dataclasses.dataclass(frozen=True)
class Options:
    """The dialect of a source, and how large a file may declare itself to be.

    Streaming keeps memory bounded, so that many rows are no danger in themselves; what gives a bomb away
    is a few bytes that stand for very many cells. Real tables hold fewer than ten cells per byte even when
    most of them are constant; beyond `cells_per_byte`, files of more than `small_cells` cells are refused.
    Text that was packed may unpack to `text_ratio` times its bytes. Whoever owns such a file raises the limit.
    """

    format: str | None = None  # None: by the ending of the name
    delimiter: str | None = None  # None: the one that occurs most in the header line, see docs/sources.md
    quote: str | None = None  # None: '"'; NO_QUOTE: quotes are ordinary characters
    encoding: str | None = None  # None: what a byte order mark says, else UTF-8
    decimal: str | None = None  # of numbers without a format, and where votes leave it open
    null_words: tuple[str, ...] = ()  # texts that stand for a missing value, besides the empty text
    skip_lines: int | None = None  # lines before the header line; None: none, and a comment is refused
    columns: tuple[str, ...] | None = None  # the public names of JSON Lines; None: the keys of the first line
    sheet: str | None = None  # None: the first sheet of an Excel file
    batch_rows: int = BATCH_ROWS
    max_cells: int = 50_000_000_000
    cells_per_byte: int = 100
    small_cells: int = 20_000_000
    max_columns: int = 20_000
    max_batch_bytes: int = 2**30  # what one compressed piece of a file may unpack to
    max_value_bytes: int = 2**20  # the longest text or tensor in one cell, on average over a piece
    text_ratio: int = 1_000
    small_text: int = 2**27  # bytes that packed text may unpack to whatever its ratio

    def __post_init__(self) -> None:
        _one_character("delimiter", self.delimiter, "such as ',' or ';'")
        if self.quote != NO_QUOTE:
            _one_character("quote", self.quote, "such as '\"', or none at all")
        if self.decimal not in (None, ".", ","):
            raise DataError(f"decimal {self.decimal!r}: the decimal mark is '.' or ','")
        if self.skip_lines is not None and self.skip_lines < 0:
            raise DataError(f"skip_lines={self.skip_lines}: expected a number of lines, at least 0")
        if self.delimiter is not None and self.delimiter == self.quote:
            raise DataError(f"delimiter and quote are both {self.quote!r}; they must differ")
        object.__setattr__(self, "null_words", _texts("null_words", self.null_words))
        if self.columns is not None:
            object.__setattr__(self, "columns", _texts("columns", self.columns))

    def named(self, columns: Sequence[str] | None) -> Options:
        """With the names of a schema as the public names of columns, where none were declared for the source."""
        if columns is None or self.columns is not None:
            return self
        return dataclasses.replace(self, columns=tuple(columns))


def _one_character(option: str, value: str | None, example: str) -> None:
    if value is not None and (len(value) != 1 or ord(value) > 127 or value in "\r\n\0"):
        raise DataError(f"{option} {value!r}: write one character, {example}")


def _texts(option: str, value: Sequence[str]) -> tuple[str, ...]:
    if isinstance(value, str) or not all(isinstance(v, str) for v in value):
        raise DataError(f"{option}: expected a list of texts, not {value!r}")
    return tuple(value)
