"""Bad schemas: the error that each of them must give, in its own words."""

import json
import time

import pytest

from nacre.errors import DataError, SchemaError
from nacre.table import Schema

AGE = {"kind": "numeric", "bounds": [0, 120]}
PAID = {"epsilon": 1.0, "delta": 1e-6, "neighbours": "zero_out", "cap": 1}
EDU = {"kind": "categorical", "categories": ["lo", "hi"]}


def one(**column):
    return {"format": 1, "columns": {"x": column}}


def two(**more):
    return {"format": 1, "columns": {"age": AGE, "edu": EDU, "id": {"kind": "identifier"}}, **more}


BAD_SCHEMAS = {
    "not json": ("{", "not JSON: Expecting property name"),
    "not utf-8": (b'{"format": \xff}', "not UTF-8 text: byte 11"),
    "a list": ("[]", "the schema is []; write an object"),
    "no format": ({"columns": {"x": AGE}}, 'the schema has no "format"; add "format": 1'),
    "format of tomorrow": ({"format": 2, "columns": {"x": AGE}}, "has format 2; this version of nacre reads format 1"),
    "format as truth value": ({"format": True, "columns": {"x": AGE}}, "has format True"),
    "no columns": ({"format": 1}, '"columns" is None; write an object'),
    "empty columns": ({"format": 1, "columns": {}}, "name at least one column"),
    "unknown key": ({"format": 1, "columns": {"x": AGE}, "row": 5}, "the schema has the unknown key 'row'"),
    "unknown column key": (one(kind="boolean", bounds=[0, 1]), "column 'x' has the unknown key 'bounds'"),
    "unknown kind": (one(kind="number"), "column 'x': kind is 'number'; choose one of numeric, categorical"),
    "kind missing": (one(bounds=[0, 1]), "column 'x': kind is None"),
    "column is text": ({"format": 1, "columns": {"x": "numeric"}}, "column 'x' is 'numeric'; write an object"),
    "repeated key": ('{"format": 1, "format": 1}', "the key 'format' appears twice"),
    "repeated column": ('{"format": 1, "columns": {"x": {}, "x": {}}}', "the key 'x' appears twice"),
    "nan": ('{"format": 1, "columns": {"x": {"kind": "numeric", "bounds": [0, NaN]}}}', "the number NaN is not finite"),
    "infinite": ('{"format": 1, "columns": {"x": {"kind": "numeric", "bounds": [0, 1e999]}}}', "is not finite"),
    "deep": ("[" * 100_000, "nested too deep"),
    "endless number": ('{"format": ' + "1" * 5_000 + "}", "thousands of digits"),
    "reversed bounds": (one(kind="numeric", bounds=[5, 1]), "column 'x': bounds are reversed: 5.0 is above 1.0"),
    "one bound": (one(kind="numeric", bounds=[5]), "column 'x': bounds has 1 value(s); write two"),
    "bounds as text": (one(kind="numeric", bounds="0-9"), "column 'x': bounds is '0-9'; write a list"),
    "bound as text": (one(kind="numeric", bounds=["0", 9]), "column 'x': bounds has '0', which is not a number"),
    "bounds too far apart": (one(kind="numeric", bounds=[-1e308, 1e308]), "too far apart for 64-bit arithmetic"),
    "half an integer": (one(kind="numeric", bounds=[0, 1.5], integer=True), "bounds has 1.5 but the column is integer"),
    "huge integer": (one(kind="numeric", bounds=[0, 2**63], integer=True), "integers reach from -2**62 to 2**62"),
    "integer as text": (one(kind="numeric", integer="yes"), "column 'x': integer is 'yes'; write true or false"),
    "edges not increasing": (one(kind="numeric", edges=[0, 2, 2]), "edges are not increasing: 2.0 is followed by 2.0"),
    "one edge": (one(kind="numeric", edges=[0]), "edges has 1 value(s); at least two"),
    "edges and bounds": (one(kind="numeric", bounds=[0, 9], edges=[0, 5]), "edges run from 0.0 to 5.0 but bounds are"),
    "atom outside": (one(kind="numeric", bounds=[0, 9], atoms=[10]), "atom 10.0 lies outside the bounds"),
    "atom twice": (one(kind="numeric", bounds=[0, 9], atoms=[1, 1.0]), "name the same value twice"),
    "duplicate category": (one(kind="categorical", categories=["a", "b", "a"]), "category 'a' is listed twice"),
    "no categories": (one(kind="categorical", categories=[]), "categories is empty; name at least one"),
    "number as category": (one(kind="categorical", categories=[1, 2]), "categories has 1, which is not text"),
    "empty category": (one(kind="categorical", categories=[""]), "the empty text means a missing value"),
    "NUL in a category": (one(kind="categorical", categories=["a\0"]), "with a NUL character"),
    "half a character": (one(kind="categorical", categories=["\ud800"]), "is not valid Unicode text"),
    "nullable as number": (one(kind="boolean", nullable=1), "column 'x': nullable is 1; write true or false"),
    "unknown unit": (one(kind="datetime", unit="week"), "unit is 'week'; choose one of us, ms, s, minute, hour, day"),
    "unknown zone": (one(kind="datetime", tz="Mars/Olympus"), "tz 'Mars/Olympus' is not a known time zone"),
    "zone as a path": (one(kind="datetime", tz="../../etc/passwd"), "is not a known time zone"),
    "date with a zone": (one(kind="datetime", unit="day", tz="UTC"), "unit 'day' is a date and has no zone"),
    "not a date": (
        one(kind="datetime", bounds=["1/2/2020", "2021-01-01"]),
        "'1/2/2020' is not a date; write it in ISO",
    ),
    "reversed dates": (one(kind="datetime", bounds=["2021-01-01", "2020-01-01"]), "'2021-01-01' is above '2020-01-01'"),
    "bound between units": (
        one(kind="datetime", unit="day", bounds=["2020-01-01T05:00", "2021-01-01"]),
        "bound '2020-01-01T05:00' is not a whole day",
    ),
    "shape": (one(kind="tensor", shape=[0]), "shape is [0]; write one or more positive whole numbers"),
    "huge shape": (one(kind="tensor", shape=[10**5, 10**5]), "more than 10,000,000 numbers per row"),
    "unknown provenance": (one(kind="boolean", provenance={"kind": "guessed"}), "provenance of kind is 'guessed'"),
    "provenance of nothing": (
        one(kind="boolean", provenance={"bounds": "read"}),
        "names the fact 'bounds', which this",
    ),
    "rows": (two(rows=0), "rows is 0; write the public number of rows, at least 1"),
    "rows as text": (two(rows="many"), "rows is 'many'"),
    "unit of nobody": (two(unit={"column": "who", "cap": 1}), "unit: column 'who' is no column of the schema"),
    "unit not an identifier": (two(unit={"column": "age", "cap": 1}), "unit: column 'age' is a numeric column"),
    "cap": (two(unit={"column": "id", "cap": 0}), "unit: cap is 0; write a whole number of rows per person"),
    "cap missing": (two(unit={"column": "id"}), "\"unit\" has no 'cap'; it needs column, cap"),
    "dependency on nothing": (
        two(dependencies=[{"determinant": "who", "dependent": "age", "mapping": [["a", 1]]}]),
        "dependency of 'age' on 'who': there is no column 'who'",
    ),
    "dependency with a gap": (
        two(dependencies=[{"determinant": "edu", "dependent": "age", "mapping": [["lo", 1]]}]),
        "the mapping has no entry for 'hi'",
    ),
    "dependency twice": (
        two(dependencies=[{"determinant": "edu", "dependent": "age", "mapping": [["lo", 1], ["lo", 2], ["hi", 3]]}]),
        "two entries for 'lo'",
    ),
    "dependency as object": (two(dependencies={"edu": "age"}), "\"dependencies\" is {'edu': 'age'}; write a list"),
    "impossible column": (two(impossible=[{"who": [1]}]), "impossible[0]: there is no column 'who'"),
    "impossible label": (two(impossible=[{"edu": ["mid"]}]), "impossible[0], column 'edu': 'mid' is not a category"),
    "impossible range": (two(impossible=[{"edu": {"low": "lo", "high": "hi"}}]), "a range needs an ordered column"),
    "impossible nothing": (two(impossible=[{"edu": []}]), "the list of values is empty"),
    "attestation": (two(attestations=[{"by": "", "why": "x", "facts": []}]), "by is ''; say in words who attests"),
    **{
        f"purchase {i}": (two(purchases=[{**PAID, **paid}]), part)
        for i, (paid, part) in enumerate(
            (
                (
                    {"neighbours": "zero_out\nGuarantee: proven"},
                    "expected the neighbours (add_or_remove_one, zero_out, ",
                ),
                ({"cap": True}, "and the cap of the promise"),
                ({"epsilon": 10**400}, "purchases: epsilon is 1000"),
                ({"epsilon": 1e300}, "expected what was paid"),
            )
        )
    },
    "too many columns": (
        {"format": 1, "columns": {f"c{i}": {"kind": "boolean"} for i in range(2_001)}},
        "the schema models 2,001 columns; at most 2,000",
    ),
}


@pytest.mark.parametrize("name", BAD_SCHEMAS)
def test_bad_schema(name, tmp_path):
    source, part = BAD_SCHEMAS[name]
    with pytest.raises(SchemaError) as caught:
        Schema.from_json(source)
    assert part in str(caught.value)
    text = source if isinstance(source, (str, bytes)) else json.dumps(source)
    path = tmp_path / "s.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SchemaError) as again:  # the same from a file, which is named
        Schema.load(path)
    assert str(again.value).startswith(f"{path}: ") and part in str(again.value)


def test_schema_text_has_a_limit():
    with pytest.raises(SchemaError, match=r"the schema text has .* characters; at most 16,777,216"):
        Schema.from_json(" " * (2**26 + 1))


@pytest.mark.parametrize(("path", "part"), [("none.json", "no such schema file"), (".", "cannot read the schema file")])
def test_schema_file_that_is_none(tmp_path, path, part):
    with pytest.raises(DataError, match=part):
        Schema.load(tmp_path / path)


def _listed(names: int, more: str = "") -> str:
    """A schema of identifiers with long names that differ in the end only."""
    columns = ", ".join(f'"{"a" * 60}{i}": {{"kind": "identifier"}}' for i in range(names))
    return f'{{"format": 1, "columns": {{{columns}{more}}}'


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('{"format": 1, ' + ", ".join(f'"a{i}": 0' for i in range(100_000)) + ', "a99999": 0}', "'a99999' appears"),
        (_listed(10_000) + ', "impossible": [{"' + "a" * 59 + 'bbbb": ["x"]}]}', "there is no column 'aaa"),
        (_listed(2) + ', "impossible": [{"' + "a" * 5_000_000 + '": ["x"]}]}', "there is no column 'aaa"),
    ],
    ids=["a key twice among many", "a name like many", "a long name"],
)
def test_what_is_wrong_with_a_large_schema_is_said_at_once(text, part):
    start = time.process_time()
    with pytest.raises(SchemaError) as caught:
        Schema.from_json(text)
    assert part in str(caught.value) and time.process_time() - start < 2
