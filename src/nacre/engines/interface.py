"""What rows are: to anybody who brings some, to those who read them in pieces, and to checks of where they lie."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from nacre.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa


@runtime_checkable
class Rows(Protocol):
    """A table that can be read again and again, batch by batch."""

    @property
    def column_names(self) -> list[str]: ...

    @property
    def arrow_schema(self) -> pa.Schema:
        """Physical types, as the file or the frame has them: a hint for reading, never for output."""
        ...

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """One pass: all rows in order, of the named columns only."""
        ...


@runtime_checkable
class ShardedRows(Rows, Protocol):
    """Rows in pieces that other processes can read: the table is the pieces one after the other, in this order."""

    @property
    def shards(self) -> Sequence[Rows]: ...

    def each(self, task: Callable[..., Any], given: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
        """(i, task(*given[i])) for every i, once each, in the order in which they are ready."""
        ...

    def close(self) -> None:
        """Stop what was started for it; a later call of `each` starts it again."""
        ...


class Stored:
    """Rows as nacre opens them: `Rows`, and what they answer about where they lie."""

    if TYPE_CHECKING:  # every kind of rows has its own

        @property
        def column_names(self) -> list[str]: ...

        @property
        def arrow_schema(self) -> pa.Schema: ...

        def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]: ...

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the names and types rest on besides what was declared: for the certificate."""
        return ()

    @property
    def stored_as(self) -> tuple[pa.Schema, ...]:
        """How each part of the table stores its columns."""
        return (self.arrow_schema,)

    @property
    def whole(self) -> Stored:
        """All rows of the table of which these may be some, for checks that concern the table as it is."""
        return self

    def split(self, parts: int) -> Sequence[Rows]:
        """At most `parts` runs of rows of about equal size, in order, that other processes can open."""
        raise DataError(
            "engine ray reads files that all workers can open; a table in memory would have to be sent to them. "
            "Leave engine out, or write the table to Parquet files first"
        )


class View(Stored):
    """Rows that have the columns of other `rows`, and lie where these do."""

    rows: Rows

    @property
    def column_names(self) -> list[str]:
        return self.rows.column_names

    @property
    def arrow_schema(self) -> pa.Schema:
        return self.rows.arrow_schema

    @property
    def assumptions(self) -> tuple[str, ...]:
        return stored(self.rows).assumptions

    @property
    def stored_as(self) -> tuple[pa.Schema, ...]:
        return stored(self.rows).stored_as


class _Brought(View):
    """Rows that somebody brings, who knows no more of them."""

    assumptions, stored_as = Stored.assumptions, Stored.stored_as

    def __init__(self, rows: Rows):
        self.rows = rows

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        return self.rows.batches(columns)


def stored(rows: Rows) -> Stored:
    """The rows, able to answer about where they lie."""
    return rows if isinstance(rows, Stored) else _Brought(rows)
