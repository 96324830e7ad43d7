"""What is bought of a column: its bounds on its step, its labels, a word for the rest only where there is a rest."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

import nacre
from nacre.privacy import buying
from nacre.table import Categorical, Datetime, Identifier, Numeric, Schema
from nacre.table.formats import NumberFormat
from nacre.table.votes import probe

N = 12_000
RNG = np.random.default_rng(5)


def _texts(counts, values, sigma=10.0):
    return buying.Texts(counts, values, sigma**2, sigma**2)


def test_other_only_where_its_mass_stands_out():
    start = Categorical(provenance={"kind": "bought"})
    few = buying.with_labels(start, _texts({"a": 500, "b": 480}, 1000.0), True)
    assert few.categories == ("a", "b") and few.other is None
    more = buying.with_labels(start, _texts({"a": 500, "b": 300}, 1000.0), True)
    assert more.other == "other" and more.provenance["other"] == "bought"
    assert buying.with_labels(start, _texts({"a": 500}, None), True).other == "other"


@pytest.mark.parametrize(
    ("labels", "word"), [(("a",), "other"), (("Other",), "others"), (("OTHER", "Others", "x"), "(other)")]
)
def test_the_word_for_the_rest_is_no_label(labels, word):
    assert buying.other_word(labels) == word
    found = buying.with_labels(Categorical(), _texts(dict.fromkeys(labels, 10), 1e6), True)
    assert found.other == word and set(labels) == set(found.categories)


def test_a_column_without_a_frequent_text_is_a_name_if_nothing_was_declared():
    assert isinstance(buying.with_labels(Categorical(), _texts({}, 900.0), True), Identifier)
    rare = dataclasses.replace(_texts({}, 900.0), missing=9_000.0)  # most are missing, and stay so
    assert buying.with_labels(Categorical(nullable=True), rare, True).labels == ("other",)
    kept = buying.with_labels(Categorical(other="rest"), _texts({}, 900.0), False)
    assert kept.categories == ("rest",) and kept.other == "rest"


def test_bounds_lie_on_the_step_and_in_the_years_that_two_digits_mean():
    histogram = np.zeros(probe.size("magnitude"))
    histogram[probe.codes(pa.array([0.3, 17.2, 941.0]), "magnitude")] = 1e5
    column = Numeric(decimals=1, provenance={"decimals": "bought"}).bounded_by(histogram[:-1], 5.0)
    assert column.bounds[0] <= 0.3 and column.bounds[1] >= 941.0
    assert all(round(b, 1) == b for b in column.bounds) and column.provenance["bounds"] == "bought"
    months = np.zeros(probe.size("month"))
    months[probe.codes(pa.array(["1901-05-01", "2050-06-01"]), "month")] = 1e5
    dated = Datetime(format="%d/%m/%y %H:%M").bounded_by(months[:-1], 5.0)
    assert dated.bounds == ("1969-01-01", "2050-06-30T23:59")


def test_what_cannot_be_read_has_a_cell_of_its_own():
    spec = probe.of_column(Numeric(format=NumberFormat(decimal=","), null_words=("NA",)))
    found = probe.codes(pa.array(["1,5", "1.5", "NA", "", None]), spec)
    assert found.tolist()[1:] == [probe.size(spec) - 1, -1, -1, -1] and 0 <= found[0] < probe.size(spec) - 1


def test_storage_types_are_respected():
    """In a source with types a text is a text, however much it looks like a number, and a number is a number."""
    table = pa.table({
        "code": RNG.choice(["100", "200", "350"], N), "flag": RNG.integers(0, 2, N),
        "answer": RNG.choice(["Yes", "No"], N), "day": RNG.choice(["2020-01-01", "2020-02-01"], N),
        "cost": np.round(RNG.gamma(2, 50, N), 2),
        "serial": [f"{i:07d}" for i in range(N)],
        "at": RNG.integers(18_000, 19_000, N).astype("datetime64[D]").astype("datetime64[us]"),
    })  # fmt: skip
    columns = nacre.fit(table, epsilon=2.0, method="independent", noise_seed=3).schema.columns
    assert columns["code"].categories == ("100", "200", "350") and columns["code"].other is None
    assert columns["answer"].categories == ("No", "Yes") and columns["day"].kind == "categorical"
    assert columns["flag"].integer and columns["flag"].bounds == (0, 1)
    assert columns["cost"].decimals == 2 and not columns["cost"].text
    assert columns["serial"].kind == "identifier"
    out = nacre.fit(table, epsilon=2.0, method="independent", noise_seed=3).sample(50, as_="pyarrow")
    assert out["at"].type == pa.timestamp("us") and all(v.hour == 0 for v in out["at"].to_pylist())


def test_texts_of_a_typed_source_come_out_as_texts():
    table = pa.table({"x": ["1", "2", "3"] * 100, "y": [1, 2, 3] * 100})
    schema = Schema({n: Numeric((1, 3), integer=True) for n in ("x", "y")}, rows=300)
    release = nacre.fit(table, epsilon=5.0, schema=schema, method="independent", noise_seed=0)
    out = release.sample(20, as_="pyarrow")
    assert out.schema.types == [pa.string(), pa.int64()] and set(out["x"].to_pylist()) <= {"1", "2", "3"}
