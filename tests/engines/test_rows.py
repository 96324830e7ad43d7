"""Rows: repeatable passes over memory and files, and every way to name a table."""

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nacre.engines import FileRows, MemoryRows, Rows, open_rows
from nacre.errors import DataError


@pytest.fixture
def parts(tmp_path):
    """Three files of one table."""
    for i in range(3):
        pq.write_table(pa.table({"a": [10 * i, 10 * i + 1], "b": ["x", None]}), tmp_path / f"part{i}.parquet")
    return tmp_path


def numbers(rows, columns=None):
    return [v for b in rows.batches(columns) for v in b["a"].to_pylist()]


def test_every_way_to_name_a_table(parts):
    expected = [0, 1, 10, 11, 20, 21]
    paths = [parts / f"part{i}.parquet" for i in range(3)]
    for source in (parts, str(parts / "part*.parquet"), paths, [str(p) for p in paths], pq.read_table(parts)):
        rows = open_rows(source)
        assert isinstance(rows, Rows)
        assert numbers(rows) == expected and numbers(rows) == expected  # each call is one pass
        assert rows.column_names == ["a", "b"] and rows.arrow_schema.field("a").type == pa.int64()
        assert open_rows(rows) is rows
    assert numbers(open_rows(paths[1])) == [10, 11]
    assert numbers(open_rows(pd.DataFrame({"a": [5]}))) == [5]


def test_passes_are_independent(parts):
    rows = open_rows(parts)
    first = rows.batches()
    next(first)
    assert len(numbers(rows)) == 6
    assert sum(b.num_rows for b in first) == 4


def test_columns_can_be_chosen(parts):
    for rows in (open_rows(parts), open_rows(pq.read_table(parts))):
        assert {tuple(b.schema.names) for b in rows.batches(["b"])} == {("b",)}
        with pytest.raises(DataError, match="no column 'q'; it has 'a', 'b'"):
            next(rows.batches(["q"]))


def test_memory_rows_come_in_batches():
    rows = MemoryRows(pa.table({"a": list(range(10))}), batch_rows=4)
    assert [b.num_rows for b in rows.batches()] == [4, 4, 2]


def test_an_empty_part_is_fine_if_another_has_rows(parts):
    pq.write_table(pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.string())}), parts / "part9.parquet")
    assert len(numbers(open_rows(parts))) == 6


def test_a_row_source_of_ones_own():
    class Mine:
        column_names = ["a"]  # noqa: RUF012
        arrow_schema = pa.schema([("a", pa.int64())])

        def batches(self, columns=None):
            yield pa.record_batch({"a": [1]})

    mine = Mine()
    assert open_rows(mine) is mine


def test_parts_need_the_same_columns(parts):
    pq.write_table(pa.table({"a": [1], "c": ["x"]}), parts / "part3.parquet")
    with pytest.raises(DataError, match=r"has other columns than .*: 'c' is new"):
        open_rows(parts)
    with pytest.raises(DataError, match="no file was named"):
        FileRows([])


def test_shards_give_the_rows_of_the_whole(parts):
    whole = pq.read_table(parts)
    shards = [numbers(open_rows(parts / f"part{i}.parquet")) for i in range(3)]
    assert [v for shard in shards for v in shard] == whole["a"].to_pylist()
