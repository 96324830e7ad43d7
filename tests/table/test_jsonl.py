"""JSON Lines: public names, digits as they are written, and every line by itself."""

import gzip
import json
import tempfile
import warnings
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.engines import open_rows
from nacre.errors import DataError, OwnerWarning
from nacre.table.sources import Options
from nacre.table.sources import jsonl as reader


def read(path, columns=None, look=True, **options) -> dict:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = open_rows(path, options=Options(**options), look=look)
        return pa.Table.from_batches(rows.batches(columns)).to_pydict()


def made(folder, *lines: bytes | str, name="a.jsonl"):
    path = folder / name
    path.write_bytes(b"".join((s if isinstance(s, bytes) else s.encode()) + b"\n" for s in lines))
    return path


def test_values_keep_their_digits_and_become_text(tmp_path):
    long = "9" * 5_000
    path = made(tmp_path, '{"a": 1.10, "b": "é", "c": true}', '{"a": 1e5, "b": null, "c": false}', "",
                f'  {{"c": null, "b": "x\\ny", "a": {long}}}\t', '{"a": NaN, "b": "1", "c": 0}\r')  # fmt: skip
    assert read(path) == {
        "a": ["1.10", "1e5", long, "NaN"], "b": ["é", None, "x\ny", "1"], "c": ["true", "false", None, "0"]
    }  # fmt: skip
    assert set(open_rows(path).arrow_schema.types) == {pa.string()}
    assert read(path, ["c"])["c"] == read(path)["c"]


def test_null_words_encodings_and_packing(tmp_path):
    text = '{"a": "NA", "b": "ž"}\n{"a": -9, "b": "NA"}'
    plain = tmp_path / "a.ndjson.gz"
    plain.write_bytes(gzip.compress(text.encode("utf-16")))
    assert read(plain, null_words=("NA", "-9")) == {"a": [None, None], "b": ["ž", None]}


# -- names


def test_names_are_those_of_a_schema_or_declared_or_of_the_first_line_which_is_assumed(tmp_path):
    same = made(tmp_path, '{"a": 1, "b": 2}', '{"b": 3, "a": 4}')
    first = open_rows(same)
    assert first.column_names == ["a", "b"]
    (assumed,) = first.assumptions
    assert "keys of the first line" in assumed and str(tmp_path) not in assumed
    declared = open_rows(same, options=Options(columns=("b",)))
    assert declared.column_names == ["b"] and declared.assumptions == ()
    assert open_rows(pa.table({"a": [1]})).column_names == ["a"]


def test_lines_of_different_keys_need_declared_names(tmp_path):
    """Whether a line has a key may be a fact about a person: no line decides what the columns are."""
    for second in ('{"a": 1}', '{"a": 1, "b": 2, "c": 3}', '{"a": 1, "x": 2}'):
        path = made(tmp_path, '{"a": 1, "b": 2}', second)
        with pytest.raises(DataError, match=r"different keys; .* --columns \(the first lines have a,b"):
            open_rows(path)
        rows = open_rows(path, options=Options(columns=("a", "b")))
        assert pa.Table.from_batches(rows.batches())["a"].to_pylist() == ["1", "1"]


def test_a_key_that_only_a_later_line_has_changes_nothing(tmp_path):
    path = made(tmp_path, *['{"a": 1}'] * 40_000, '{"a": 2, "b": 3}')
    assert open_rows(path).column_names == ["a"]
    assert read(path)["a"] == ["1"] * 40_000 + ["2"]


def test_a_declared_name_that_no_line_has_is_told(tmp_path):
    with pytest.warns(OwnerWarning, match="none of the first 1 lines has agee"):
        open_rows(made(tmp_path, '{"age": 1}'), options=Options(columns=("age", "agee")))


@pytest.mark.parametrize(
    ("lines", "part"),
    [
        (["[1, 2]"], "the first line is no object; expected one per line"),
        (["{"], "the first line is no object"),
        (["{}"], "the file has no columns"),
        (['{"": 1}'], "column 1 has no name"),
        (['{"a": 1}', "x", "y", "z"], "most of the first 4 lines are no objects"),
        (['{"a": "é"}', *[b'{"a": "\xe9"}'] * 3], "is not valid utf-8"),
        ([" "], "the first line is no object"),
        (['{"\\ud800": 1}'], "a key of the first line is no text"),
    ],
)
def test_files_that_are_none(tmp_path, lines, part):
    with pytest.raises(DataError, match=part):
        open_rows(made(tmp_path, *lines))


# -- the law


def test_lines_that_are_no_objects_are_rows_without_values(tmp_path):
    deep = '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}"
    bad = ["[1]", "{", '{"a": 1} {"a": 2}', '{"a": 1,}', '"a"', b'{"a": "\xff"}', b'{"a": "\0"}', deep, "nul", "}"]
    good = ['{"a": "é"}'] * (len(bad) + 1)
    rows = open_rows(made(tmp_path, *good, *bad))
    with pytest.warns(OwnerWarning, match="10 lines are no objects .*; 0 values"):
        found = pa.Table.from_batches(rows.batches())["a"].to_pylist()
    assert found == ["é"] * len(good) + [None] * len(bad)


def test_lists_and_objects_in_a_line_are_missing_values(tmp_path):
    rows = open_rows(made(tmp_path, '{"a": [1], "b": 2}', '{"a": {"c": 1}, "b": 3}'))
    with pytest.warns(UserWarning, match="0 lines are no objects .*; 2 values are lists"):
        assert pa.Table.from_batches(rows.batches()).to_pydict() == {"a": [None, None], "b": ["2", "3"]}


def test_strange_characters_mark_their_value_and_stay_different(tmp_path):
    values = ["\\ud800", "\\udcff", "\\u0000", "\\u0000ff", "\\u0000eda080", "\\u000000", "ff", "\\ud83d\\ude00"]
    found = read(made(tmp_path, *(f'{{"a": "{v}"}}' for v in values)))["a"]
    assert len(set(found)) == len(values) and found[-2:] == ["ff", "😀"]
    assert all("\0" in text for text in found[:-2])


@pytest.mark.parametrize("longer", [0, 1])
def test_the_longest_line(tmp_path, monkeypatch, longer):
    monkeypatch.setattr(reader, "_LINE", 200)
    line = '{"a": "' + "é" * ((200 - 9) // 2) + "x" * (1 + longer) + '"}'
    assert len(line.encode()) == 200 + longer
    for before in range(5):
        for block in (64, 150, 1 << 20):
            monkeypatch.setattr(reader, "_BLOCK", block)
            found = read(made(tmp_path, *['{"a": 1}'] * (before + 1), line, '{"a": 2}'), look=False)["a"][1:]
            assert (found[before] is None) == bool(longer) and found[before + 1] == "2"


CELLS = ("1", "1.0", '"x"', '"1"', "null", "true", "[1]", '{"a":1}', '"\\u0000"', '"\\ud800"', "1e999", "-0")
cells = st.sampled_from(CELLS)
lines = st.one_of(
    st.tuples(cells, cells).map(lambda p: f'{{"a": {p[0]}, "b": {p[1]}}}'),
    st.sampled_from(('{"b": 1, "a": 2, "b": 3}', "[]", "{", '{"a": 1', "x", '{"c": 1}', "", '{"a": "\x7f"}')),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(lines, max_size=8), st.sampled_from((1, 2, 131_072)), st.sampled_from((1, 7, 64, 1 << 20)))
def test_lines_are_read_alone_as_in_company_in_any_block_and_batch(some, batch, block):
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        folder, options = Path(name), Options(columns=("a", "b"), batch_rows=batch)

        def rows_of(*them):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                rows = open_rows(made(folder, '{"a": 9, "b": 9}', *them), options=options, look=False)
                found = pa.Table.from_batches(rows.batches()).to_pydict()
            return list(zip(found["a"], found["b"]))[1:]

        alone = [row for line in some for row in rows_of(line)]
        patch.setattr(reader, "_BLOCK", block)
        assert rows_of(*some) == alone


def test_json_of_anything_comes_back(tmp_path):
    texts = ["a,b", 'say "hi"', "x\ny", " ", "\u2028", "😀", "\\", "\x1f", "true"]
    assert read(made(tmp_path, *(json.dumps({"a": t}) for t in texts)))["a"] == texts
