"""CSV: dialects, packed files, and the law: a value is read as what it is, whatever stands around it."""

import gzip
import io
import tempfile
import warnings
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.engines import open_rows
from nacre.errors import DataError, OwnerWarning
from nacre.table.sources import NO_QUOTE, Options
from nacre.table.sources import csv as reader
from nacre.table.sources.encodings import codec_of
from nacre.table.writing import write_table

TEXT = b"a,b\n1,x\n2,\n"


def read(path, options=None) -> dict:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pa.Table.from_batches(open_rows(path, options=options).batches()).to_pydict()


def made(folder, content: bytes, name="a.csv"):
    path = folder / name
    path.write_bytes(content)
    return path


def zipped(*members: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


def packed(content: bytes, how: str) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, how) as out:
        out.write(content)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        (b"a|b\n1|x\n", {}, {"a": ["1"], "b": ["x"]}),
        (b'"a,b";c\n1;x\n', {}, {"a,b": ["1"], "c": ["x"]}),
        (b"a,b\n1,'x,y'\n", {"quote": "'"}, {"a": ["1"], "b": ["x,y"]}),
        (b'a,b\n1,"x\n', {"quote": NO_QUOTE}, {"a": ["1"], "b": ['"x']}),
        (b"a:b\n1:x\n", {"delimiter": ":"}, {"a": ["1"], "b": ["x"]}),
        (b"a,b\nNA,-\n-9,x\n", {"null_words": ["NA", "-9"]}, {"a": [None, None], "b": ["-", "x"]}),
        (b"made by hand\r\n\r\na,b\r\n1,x\r\n", {"skip_lines": 2}, {"a": ["1"], "b": ["x"]}),
        (b"# a\n1\n", {"skip_lines": 0}, {"# a": ["1"]}),
        (b"#a,b\n1,2\n", {}, {"#a": ["1"], "b": ["2"]}),
        ("a,b\n1,ž\n".encode("cp1250"), {"encoding": "cp1250"}, {"a": ["1"], "b": ["ž"]}),
        ("a;b\n1;ž\n".encode("utf-16"), {}, {"a": ["1"], "b": ["ž"]}),
        ("a;b\n1;ž\n".encode("utf-16-be"), {"encoding": "utf-16-be"}, {"a": ["1"], "b": ["ž"]}),
        ("a,b\n東,x\n".encode("shift_jis"), {"encoding": "shift_jis"}, {"a": ["東"], "b": ["x"]}),
        (b"a,b\r1,x\r2,y\r", {}, {"a": ["1", "2"], "b": ["x", "y"]}),
        (b'a,b\n1,5" pipe\n2,"x"y\n', {}, {"a": ["1", "2"], "b": ['5" pipe', "xy"]}),
        (b"\n\n", {"skip_lines": 1, "delimiter": ","}, "no columns"),
        (b"a,b\n", {"skip_lines": 3}, "no columns"),
    ],
)
def test_dialects(tmp_path, content, options, expected):
    path = made(tmp_path, content)
    if isinstance(expected, str):
        with pytest.raises(DataError, match=expected):
            read(path, Options(**options))
    else:
        assert read(path, Options(**options)) == expected


def test_a_tsv_is_split_at_tabs_whatever_its_header_says(tmp_path):
    assert read(made(tmp_path, b"a,b,c\td\n1\t2\n", "a.tsv")) == {"a,b,c": ["1"], "d": ["2"]}


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"encoding": "klingon"}, "encoding 'klingon' is not known"),
        ({"encoding": "utf-7"}, "switches within the text"),
        ({"encoding": "iso2022_jp"}, "switches within the text"),
        ({"encoding": "rot13"}, "is none of texts"),
        ({"encoding": "unicode_escape"}, "is none of texts"),
        ({"delimiter": "::"}, "delimiter '::': write one character"),
        ({"delimiter": "é"}, "delimiter 'é': write one character"),
        ({"quote": "\n"}, "write one character"),
        ({"delimiter": "'", "quote": "'"}, "they must differ"),
        ({"decimal": ";"}, "the decimal mark is"),
        ({"null_words": "NA"}, "expected a list of texts"),
        ({"skip_lines": -1}, "at least 0"),
    ],
)
def test_dialects_that_are_none(options, part, tmp_path):
    with pytest.raises(DataError, match=part):
        open_rows(made(tmp_path, TEXT), options=Options(**options))


# -- the law


def test_every_encoding_keeps_line_ends_and_delimiters_whatever_stands_before_them():
    """Else one row could swallow the next. All codecs of Python that are not refused, after every byte and pair."""
    import codecs
    import encodings
    import pkgutil
    from _multibytecodec import MultibyteIncrementalDecoder

    found = 0
    for name in sorted({m.name for m in pkgutil.iter_modules(encodings.__path__)}):
        try:
            codec = codec_of(name, b"")
            ends = ",\n".encode(codec)
        except (DataError, UnicodeError):
            continue
        found += 1
        width = len(ends) // 2
        starts = [bytes([b]) for b in range(256)]
        if codec == "utf-8" or issubclass(codecs.lookup(codec).incrementaldecoder, MultibyteIncrementalDecoder):
            starts += [bytes([a, b]) for a in range(128, 256) for b in range(256)]
            starts += [bytes([0x81, 0x30, b]) for b in range(128, 256)]
            starts += [bytes([0x8F, a, b]) for a in range(160, 256, 5) for b in range(128, 256)]
        if width > 1:
            starts = [bytes([b]) * width for b in range(256)] + [b"\xd8\x00" * (width // 2), b"\x00\xd8" * (width // 2)]
        decoded = [(s + ends).decode(codec, "nacre.unreadable") for s in starts]
        assert all(text.endswith(",\n") for text in decoded), name
        assert codecs.lookup(codec).name not in ("utf-7", "hz")
    assert found > 80


VALUES = (b"", b"1", b"NA", b"x y", "æ".encode(), b"\xe6", b"\xff\xfe", b"\0", b"\0ff", b"\xc3", b'a"b', b'"q,r"',
          b'"x\ny"', b'""', b'"say ""hi"""', b"1,5", b"#c", b" ", "\u2028".encode(), b"\xed\xa0\x80",
          b"\x1a", b'"x\r\ny"', b'"\r"', "\ufeff1".encode(), b"\xef")  # fmt: skip
ROWS = st.lists(st.tuples(st.sampled_from(VALUES), st.sampled_from(VALUES)), min_size=1, max_size=8)


def rows_of(folder, body: bytes, **options) -> list[tuple]:
    found = read(made(folder, b"id,v\n" + body), Options(**options)) if body.strip() else {"id": [], "v": []}
    return list(zip(found["id"], found["v"]))


@settings(max_examples=60, deadline=None)
@given(ROWS, st.sampled_from((1, 2, 131_072)), st.integers(40, 120), st.sampled_from((b"\n", b"\r\n")))
def test_rows_are_read_alone_as_in_company_in_any_block_and_batch(rows, batch, block, end):
    """read(D + r) = read(D) + read(r): what the file gives is what its rows give one by one, in any order of rows that
    cannot be told apart into values."""
    lines = [a + b"," + b + end for a, b in rows]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader.CsvSource, "look", lambda self: None)
        patch.setattr(reader, "_BLOCK", block)
        whole = rows_of(Path(folder), b"".join(lines), batch_rows=batch)
        patch.undo()
        patch.setattr(reader.CsvSource, "look", lambda self: None)
        alone = [row for line in lines for row in rows_of(Path(folder), line)]
    assert sorted(map(str, whole)) == sorted(map(str, alone))
    full = [row for row in alone if row != (None, None)]
    assert [row for row in whole if row != (None, None)] == full


def test_bytes_that_are_no_text_do_not_end_a_block_within_a_value(tmp_path, monkeypatch):
    """Arrow looks for quotes in words of bytes that end at a NUL; what stands in for one comes back as it was."""
    monkeypatch.setattr(reader.CsvSource, "look", lambda self: None)  # half of the rows are in no encoding
    rows = [b"\xff\xfe", b"aa\0aaaa", b"\x01", b"b\x01\x01c", b"\0\x0101", b"1"] * 2
    expected = ["\0ff\0fe", "aa\x0000aaaa", "\x01", "b\x01\x01c", "\x0000\x0101", "1"] * 2
    path = made(tmp_path, b"id,v\r\n" + b"".join(r + b',"x\r\ny"\r\n' for r in rows))
    for block in range(30, 90):
        monkeypatch.setattr(reader, "_BLOCK", block)
        found = read(path)
        assert found["id"] == expected and found["v"] == ["x\r\ny"] * 12, block


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("header", [b"v", b"v,w"])
def test_where_blocks_end_changes_nothing(tmp_path, monkeypatch, header, end):
    """Arrow drops an LF at the start of a block that follows a CR: within a value it is part of the value."""
    values = [b'"a\r\nb"', b"1", b"", b'"x\r"', b"abc", b'"\r\n\r\n"', b'""', b"", b'"y\n"'] * 2
    rows = [v if header == b"v" else v + b",k" for v in values]
    path = made(tmp_path, header + end + end.join([*rows, b""]))
    expected = read(path)["v"]
    assert expected[:4] == ["a\r\nb", "1", None, "x\r"] and len(expected) == len(values)
    for block in range(12, 60):
        monkeypatch.setattr(reader, "_BLOCK", block)
        assert read(path)["v"] == expected, block


def test_unreadable_bytes_mark_their_value_and_different_ones_stay_different(tmp_path):
    values = [b"\xff", b"\xfe", b"\0", b"\0ff", b"\xc3", b"\0\xff", b"\xc3\x28", "é".encode()]
    path = made(tmp_path, b"a,b\n" + b"".join(b"%b,1\n" % v for v in values))
    rows = open_rows(path, look=False)
    found = pa.Table.from_batches(rows.batches())["a"].to_pylist()
    assert len(set(found)) == len(values) and found[-1] == "é"
    assert all("\0" in text for text in found[:-1])


def test_rows_of_another_length_are_rows_without_values_and_the_owner_is_told(tmp_path):
    path = made(tmp_path, b"a,b\n" + "é,2\n".encode() * 10_000 + b"1\n\xff\xff,2,3\n" + b"3,4\n")
    rows = open_rows(path)
    with pytest.warns(OwnerWarning, match=r"a.csv: 2 rows \(2 lines\) have not the 2 fields.* is row 10,001"):
        table = pa.Table.from_batches(rows.batches())
    assert table.num_rows == 10_003 and table["a"].null_count == table["b"].null_count == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # told once
        assert sum(b.num_rows for b in rows.batches(["b"])) == 10_003


def test_a_quote_that_is_never_closed_is_no_single_row(tmp_path):
    lines = b"1,2\n" * 1_000
    with pytest.raises(DataError, match=r"1,001 of the first 1,011 lines have not the 2 fields.* close the quotes"):
        open_rows(made(tmp_path, b"a,b\n" + lines[:40] + b'"1,2\n' + lines))
    rows = open_rows(made(tmp_path, b"a,b\n" + lines * 100 + b'"1,2\n' + lines))
    with pytest.warns(UserWarning, match=r"1 rows \(1,001 lines\) .* is row 100,001 after .* close all quotes"):
        assert sum(b.num_rows for b in rows.batches()) == 100_001


def test_a_few_broken_bytes_are_no_wrong_encoding(tmp_path):
    path = made(tmp_path, b"a,b\n" + "1,é\n".encode() * 3 + b"2,\xe9\n")
    assert read(path)["b"] == ["é", "é", "é", "\0e9"]


def test_what_was_found_wrong_cost_nothing(tmp_path):
    """A wrong encoding, a title and a packed file that was cut are found when the table is opened."""
    rows = b"".join(b"%d,x\n" % (i * i) for i in range(200_000))
    cut = packed(b"a,b\n" + rows, "gzip")[:-30]
    for content, name in ((b"a,b\n1,\xe9\n2,\xe8\n", "a.csv"), (b"Title\na,b\n1,2\n", "a.csv"), (cut, "a.csv.gz")):
        with pytest.raises(DataError):
            open_rows(made(tmp_path, content, name))
        assert open_rows(tmp_path / name, look=False).column_names  # a plan needs the names alone


# -- packed


@pytest.mark.parametrize(("how", "name"), [("gzip", "a.csv.gz"), ("zstd", "a.csv.zst"), ("bz2", "A.CSV.BZ2")])
def test_packed_files(tmp_path, how, name):
    text = b"a,b\n" + b"".join(b"%d,x\n" % i for i in range(50_000))
    found = read(made(tmp_path, packed(text[:70_000], how) + packed(text[70_000:], how), name))  # in two pieces
    assert found["a"] == [str(i) for i in range(50_000)]


@pytest.mark.parametrize(
    ("members", "part"),
    [
        ([("x/people.tsv", b"a\tb\n1\tx\n")], None),
        ([("x/", b""), ("x/people.tsv", b"a\tb\n1\tx\n"), ("__MACOSX/x/._people.tsv", b"z")], None),
        ([("a.csv", TEXT), ("b.csv", TEXT)], "a.zip: the archive holds 2 files; expected one"),
        ([], "the archive holds 0 files"),
        ([("a.parquet", TEXT)], "a parquet file that was packed once more"),
        ([("a.exe", TEXT)], "the ending '.exe' is not one"),
    ],
)
def test_archives(tmp_path, members, part):
    path = made(tmp_path, zipped(*members), "a.zip")
    if part is None:
        assert read(path) == {"a": ["1"], "b": ["x"]}
    else:
        with pytest.raises(DataError, match=part):
            open_rows(path)


def test_damaged_and_locked_archives(tmp_path):
    whole = zipped(("a.csv", TEXT * 1000))
    locked = bytearray(whole)
    for mark, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        locked[locked.find(mark) + at] |= 1
    for content, part in ((whole[:-9], "not a readable zip"), (bytes(locked), "is encrypted"),
                          (whole[:50] + b"\xff" * 9 + whole[59:], "damaged or cut off")):  # fmt: skip
        with pytest.raises(DataError, match=part):
            open_rows(made(tmp_path, content, "a.csv.zip"))
    with pytest.raises(DataError, match=r"no such file"):
        open_rows(tmp_path / "none.zip")


def test_tables_are_written_packed(tmp_path):
    table = pa.table({"a": ["1", "2"], "b;c": ["x", "y"]})
    for name in ("t.csv.gz", "t.tsv.zst"):
        write_table(table, tmp_path / name)
        assert read(tmp_path / name) == table.to_pydict()
    assert gzip.decompress((tmp_path / "t.csv.gz").read_bytes()) == b'"a","b;c"\n"1","x"\n"2","y"\n'


def test_a_folder_holds_packed_parts_too(tmp_path):
    made(tmp_path, TEXT, "1.csv")
    made(tmp_path, packed(TEXT, "gzip"), "2.csv.gz")
    made(tmp_path, b"no table", "notes.md.gz")
    assert read(tmp_path)["a"] == ["1", "2", "1", "2"]
