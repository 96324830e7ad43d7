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


# -- parts of one table store a column in one family of types

KINDS = {
    "text": [pa.string(), pa.large_string(), pa.binary(), pa.dictionary(pa.int8(), pa.string())],
    "numbers": [pa.int8(), pa.uint64(), pa.float64(), pa.decimal128(9, 2)],
    "floats of 32 bits": [pa.float32()],
    "floats of 16 bits": [pa.float16()],
    "truth": [pa.bool_()],
    "dates": [pa.date32(), pa.date64()],
    "naive": [pa.timestamp("s"), pa.timestamp("ns")],
    "zoned": [pa.timestamp("us", "UTC"), pa.timestamp("s", "Europe/Oslo")],
    "clock": [pa.time32("s"), pa.time64("us")],
    "length": [pa.duration("s")],
    "nested": [pa.list_(pa.int8()), pa.list_(pa.float32(), 2)],
}


def written(folder, name, kind):
    path = folder / f"{name}.arrow"
    table = pa.table({"a": pa.array([None], kind), "b": [1]})
    with pa.ipc.new_file(path, table.schema) as out:
        out.write_table(table)
    return path


def test_parts_may_differ_within_a_family_and_nowhere_else(tmp_path):
    paths = {kind: written(tmp_path, i, kind) for i, kind in enumerate(k for some in KINDS.values() for k in some)}
    for name, some in KINDS.items():
        for kind in some:
            assert open_rows([paths[some[0]], paths[kind]]).arrow_schema.field("a").type == some[0]
        for other, (first, *_) in KINDS.items():
            if other != name:
                told = rf"{paths[first]}: column 'a' is stored as .* in {paths[some[0]]}; .* or as text"
                with pytest.raises(DataError, match=told):
                    open_rows([paths[some[0]], paths[first]])


def test_a_part_that_is_null_by_its_type_fits_any(tmp_path):
    empty, one, two = (
        written(tmp_path, 0, pa.null()),
        written(tmp_path, 1, pa.int64()),
        written(tmp_path, 2, pa.string()),
    )
    rows = open_rows([empty, one])
    assert rows.arrow_schema.field("a").type == pa.int64() and rows.arrow_schema.names == ["a", "b"]
    with pytest.raises(DataError, match="is stored as string, but as int64"):
        open_rows([empty, one, two])


def test_parts_of_a_dataset_and_of_shards_agree_too(tmp_path):
    import dataclasses

    import pyarrow.dataset as ds

    for i, kind in enumerate((pa.int64(), pa.string())):
        (tmp_path / str(i)).mkdir()
        pq.write_table(pa.table({"a": pa.array([None], kind)}), tmp_path / str(i) / f"{i}.parquet")
    with pytest.raises(DataError, match=r"1\.parquet: column 'a' is stored as string, but as int64 in the dataset"):
        open_rows(ds.dataset(tmp_path, format="parquet"))
    (shard,) = open_rows(tmp_path / "0").split(1)
    changed = dataclasses.replace(shard.pieces[0], path=str(tmp_path / "1" / "1.parquet"))
    with pytest.raises(DataError, match="is stored as string, but as int64 in the table"):
        list(dataclasses.replace(shard, pieces=(changed,)).batches())


def test_names_of_folders_are_texts(tmp_path):
    """Arrow reads `zip=007` as 7 unless some folder has another name: one row would change all others."""
    import pyarrow.dataset as ds

    for name in ("007", "12"):
        (tmp_path / f"zip={name}").mkdir()
        pq.write_table(pa.table({"a": [1]}), tmp_path / f"zip={name}" / "t.parquet")
    with pytest.raises(DataError, match=r"column 'zip' is made of the names of folders.*declare it as text"):
        open_rows(ds.dataset(tmp_path, partitioning="hive"))
    declared = ds.partitioning(pa.schema([("zip", pa.string())]), flavor="hive")
    (one, two) = open_rows(ds.dataset(tmp_path, partitioning=declared)).batches()
    assert one["zip"].to_pylist() + two["zip"].to_pylist() == ["007", "12"]


def test_datasets_that_are_not_whole_or_hold_text_files_are_refused(tmp_path):
    import pyarrow.dataset as ds

    (tmp_path / "a.csv").write_text("a\n1\n")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "b.parquet")
    typed = ds.dataset(tmp_path / "b.parquet")
    with pytest.raises(DataError, match="dataset of text files has types that depend on its rows"):
        open_rows(ds.dataset([ds.dataset(tmp_path / "a.csv", format="csv"), typed]))
    for part in (typed.filter(ds.field("a") > 1), typed.scanner()):
        with pytest.raises(DataError, match="only a whole Arrow dataset"):
            open_rows(part)


def test_floats_are_not_made_whole_numbers_by_a_dataset(tmp_path):
    """2**53 + 1 is another number in a part that one missing value made floats: persons would change names."""
    import pyarrow.dataset as ds

    pq.write_table(pa.table({"who": [2**53 + 1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"who": [float(2**53 + 1), None]}), tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"b\.parquet: column 'who' is stored as double, but as int64 in the dataset"):
        open_rows(ds.dataset(tmp_path, format="parquet"))
