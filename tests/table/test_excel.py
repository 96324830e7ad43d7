"""Excel: every cell as text by its own type, one sheet, parsed once and before anything is spent."""

import datetime
import io
import sys
import warnings
import zipfile

import pyarrow as pa
import pytest

from nacre.engines import open_rows
from nacre.errors import DataError
from nacre.table.sources import Options
from nacre.table.sources import excel as reader

openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed: pip install nacre[excel]")


def book(path, *rows, title="people", formats=(), more=()):
    made = openpyxl.Workbook()
    sheet = made.active
    sheet.title = title
    for row in rows:
        sheet.append(list(row))
    for cell, format in formats:
        sheet[cell].number_format = format
    for name, cells in more:
        made.create_sheet(name).append(cells)
    made.save(path)
    return path


def read(path, **options) -> dict:
    return pa.Table.from_batches(open_rows(path, options=Options(**options)).batches()).to_pydict()


def test_cells_become_text_by_their_own_type(tmp_path):
    day, moment = datetime.date(2020, 1, 2), datetime.datetime(2020, 1, 2, 10, 30)
    values = [1, 1.0, 1.5, -0.25, 2**50, True, "x", " y ", "", None, day, moment, datetime.time(7, 5), "#N/A", "007",
              datetime.timedelta(hours=36), 1e300, "æ"]  # fmt: skip
    path = book(tmp_path / "a.xlsx", ["v", 7], *([v, "k"] for v in values), formats=[("A20", "0.00"), ("A3", "0%")])
    assert read(path) == {
        "v": ["1", "1", "1.5", "-0.25", str(2**50), "true", "x", " y ", None, None, "2020-01-02", "2020-01-02T10:30:00",
              "07:05:00", None, "007", "129600", "1e+300", "æ"],
        "7": ["k"] * len(values),
    }  # fmt: skip


def test_a_cell_is_read_alone_as_in_company(tmp_path):
    """No cell decides the type of a column: dates, numbers and texts in one column stay what they are."""
    values = [datetime.datetime(1999, 5, 6), 3, "x", False, 2.5, None, "4"]
    whole = read(book(tmp_path / "w.xlsx", ["id", "v"], *(["r", v] for v in values)))["v"]
    alone = [read(book(tmp_path / f"{i}.xlsx", ["id", "v"], ["r", v]))["v"][0] for i, v in enumerate(values)]
    assert whole == alone


def test_sheets_null_words_and_lines_before_the_header(tmp_path):
    path = book(tmp_path / "a.xlsx", ["People of 2020"], [], ["a", "b"], [1, "k.A."], more=[("two", ["c"])])
    assert read(path, skip_lines=2, null_words=("k.A.",)) == {"a": ["1"], "b": [None]}
    assert open_rows(path, options=Options(sheet="two")).column_names == ["c"]
    with pytest.raises(DataError, match=r"there is no sheet 'three'; it has 'people', 'two'"):
        open_rows(path, options=Options(sheet="three"))


def test_rows_shorter_longer_and_empty(tmp_path):
    path = book(tmp_path / "a.xlsx", ["a", "b", None], [1], [], [1, 2, 3, "beside"], [None, None, "note"], [None, 4])
    assert read(path) == {"a": ["1", "1", None], "b": [None, "2", "4"]}


def test_columns_batches_and_passes(tmp_path):
    path = book(tmp_path / "a.xlsx", ["a", "b"], *([i, f"x{i}"] for i in range(5_000)))
    rows = open_rows(path, options=Options(batch_rows=999))
    for _ in range(2):
        found = list(rows.batches(["b"]))
        assert max(b.num_rows for b in found) == 999 and found[0].schema.names == ["b"]
        assert [v for b in found for v in b["b"].to_pylist()] == [f"x{i}" for i in range(5_000)]


def changed(path, name, edit):
    """The archive with one member edited."""
    out = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.namelist():
            content = old.read(member)
            new.writestr(member, edit(content) if member == name else content)
    path.write_bytes(out.getvalue())
    return path


SHEET = "xl/worksheets/sheet1.xml"


@pytest.mark.parametrize(
    ("edit", "part"),
    [
        (lambda s: s[: len(s) // 2], "not a readable Excel file"),
        (lambda s: b"<!DOCTYPE x [<!ENTITY a 'b'>]>" + s, "declares entities"),
        (lambda s: s.replace(b'r="2"', b'r="99999999999"'), "more rows than an Excel sheet can have"),
        (lambda s: s.replace(b'"A2"', b'"ZZZZZZZ2"'), "not a readable Excel file"),
        (lambda s: b"", "not a readable Excel file"),
    ],
)
def test_damage_is_found_when_the_file_is_opened(tmp_path, edit, part):
    path = changed(book(tmp_path / "a.xlsx", ["a", "b"], [1, 2], [3, 4]), SHEET, edit)
    with pytest.raises(DataError, match=part):
        open_rows(path)


def test_what_the_file_says_of_its_size_is_not_believed(tmp_path):
    path = book(tmp_path / "a.xlsx", ["a", "b"], [1, 2], [3, 4])
    changed(path, SHEET, lambda s: s.replace(b'ref="A1:B3"', b'ref="A1:A2"'))
    assert read(path) == {"a": ["1", "3"], "b": ["2", "4"]}


def test_a_part_that_unpacks_to_far_too_much(tmp_path):
    path = changed(book(tmp_path / "a.xlsx", ["a"], [1]), SHEET, lambda s: s + b" " * 2**22)
    with pytest.raises(DataError, match=r"a part of the file unpacks to 4,19\d,\d+ bytes"):
        open_rows(path, options=Options(small_text=2**20, text_ratio=500))


def test_other_files_and_a_missing_library(tmp_path, monkeypatch):
    (tmp_path / "a.xlsx").write_bytes(b"a,b\n1,2\n")
    with pytest.raises(DataError, match=r"not a readable Excel file \(.xlsx\)"):
        open_rows(tmp_path / "a.xlsx")
    with pytest.raises(DataError, match=r"a.xlsx: the file has no columns"):
        open_rows(book(tmp_path / "a.xlsx"))
    path = book(tmp_path / "b.xlsx", ["a"], [1])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(DataError, match=r"pip install 'nacre\[excel\]'"):
        open_rows(path)


def test_a_header_costs_no_parsing(tmp_path, monkeypatch):
    path = book(tmp_path / "a.xlsx", ["a"], [1])
    monkeypatch.setattr(reader.ExcelSource, "_parsed", lambda self: pytest.fail("rows were read"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert open_rows(path, look=False).column_names == ["a"]
