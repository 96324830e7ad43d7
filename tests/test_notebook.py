"""What a notebook shows: headline and columns, with nothing in it that a browser would run."""

from __future__ import annotations

import pyarrow as pa

import nacre
from nacre.table import Categorical, Numeric, Schema

SCRIPT = "<script>alert(1)</script>"
SCHEMA = Schema({SCRIPT: Categorical(("a", "b")), "age": Numeric((0, 9), integer=True)}, rows=500)


def test_a_release_shows_its_promise_and_escapes_its_names():
    table = pa.table({SCRIPT: ["a", "b"] * 250, "age": [1, 2, 3, 4, 5] * 100})
    made = nacre.fit(table, schema=SCHEMA, epsilon=8.0, delta=1e-6, method="independent")
    assert repr(made) == (
        "<Release by independent of 2 columns: proven: (8, 1e-06)-differential privacy for one row, add_or_remove_one>"
    )
    assert repr(made.certificate).startswith("<Certificate of independent: proven: (8, 1e-06)")
    for shown in (made._repr_html_(), made.schema._repr_html_(), made.certificate._repr_html_()):
        assert "<script" not in shown
    assert "&lt;script&gt;" in made._repr_html_() and "(8, 1e-06)" in made._repr_html_()
    assert "500 rows, 2 columns" in made._repr_html_()


def test_no_promise_is_not_shown_as_one():
    table = pa.table({SCRIPT: ["a", "b"] * 250, "age": [1, 2, 3, 4, 5] * 100})
    made = nacre.fit(table, schema=SCHEMA, epsilon=None, method="independent")
    assert "no privacy guarantee" in repr(made) and "(None" not in made._repr_html_()


def test_a_wide_table_is_cut():
    wide = Schema({f"c{i}": Numeric((0, 1)) for i in range(30)})
    assert repr(wide) == "<Schema of 30 columns>"
    assert "and 10 more" in wide._repr_html_() and "c25" not in wide._repr_html_()
