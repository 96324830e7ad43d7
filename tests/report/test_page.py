"""The page that compares columns: true numbers, nothing fetched, nothing injected."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from nacre.report.page import comparison_page

from nacre.evaluation.columns import compare_columns
from nacre.table import Boolean, Categorical, Datetime, Numeric, Schema

CERTIFICATE = SimpleNamespace(epsilon=1.0, delta=1e-6, guarantee="proven", neighbours="add_or_remove_one", reasons=())
EVIL = '<script>alert("x")</script>&\'"'


def schema_and_tables():
    schema = Schema(
        {
            "n": Numeric((0, 9), integer=True, nullable=True),
            "x": Numeric((0.0, 1.0)),
            EVIL: Categorical((EVIL, "b")),
            "ok": Boolean(),
            "day": Datetime(("2020-01-01", "2020-12-31"), unit="day"),
            "many": Categorical(tuple(f"label {i}" for i in range(30))),
        }
    )
    rng = np.random.default_rng(0)

    def table(rows, share):
        return pa.table(
            {
                "n": pa.array(rng.integers(0, 10, rows), mask=rng.random(rows) < share),
                "x": rng.random(rows),
                EVIL: [EVIL if i % 4 else "b" for i in range(rows)],
                "ok": rng.random(rows) < share,
                "day": pa.array(rng.integers(18262, 18627, rows).astype(np.int32), pa.int32()).cast(pa.date32()),
                "many": [f"label {i}" for i in rng.integers(0, 30, rows)],
            }
        )

    return schema, table(4_000, 0.25), table(6_000, 0.75)


@pytest.fixture(scope="module")
def columns():
    schema, real, synthetic = schema_and_tables()
    return compare_columns(real, synthetic, schema)


@pytest.fixture(scope="module")
def page(columns):
    return comparison_page(f"Title {EVIL}", "unprotected statistics", [("Rows", EVIL)], columns, CERTIFICATE)


def test_distances_are_those_of_the_tables(columns):
    found = {c.name: c for c in columns}
    assert list(found) == ["n", "x", EVIL, "ok", "day", "many"]
    assert found["ok"].distance == pytest.approx(0.5, abs=0.05)  # shares 0.25 and 0.75
    assert found["n"].nulls == pytest.approx((0.25, 0.75), abs=0.05)
    assert found["n"].distance == pytest.approx(0.5, abs=0.05)
    assert found[EVIL].distance < 0.001
    for c in columns:
        assert c.real.sum() == pytest.approx(1) and c.synthetic.sum() == pytest.approx(1)


def test_integers_get_bins_of_whole_numbers(columns):
    n = next(c for c in columns if c.name == "n")
    assert len(n.real) == 10 and n.ends == ("0", "9")


def test_many_categories_are_summed_up(columns):
    many = next(c for c in columns if c.name == "many")
    assert len(many.labels) == 12 and many.labels[-1] == "19 others"


def test_equal_tables_have_distance_zero():
    schema, real, _ = schema_and_tables()
    assert all(c.distance == 0 for c in compare_columns(real, real, schema))


def test_the_page_is_well_formed_and_fetches_nothing(page):
    stack, void = [], {"meta", "rect", "line", "path", "br"}

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            assert tag not in ("script", "link", "img", "iframe", "object"), tag
            assert not any(k in ("src", "href", "onload", "onclick") for k, _ in attrs)
            if tag not in void:
                stack.append(tag)

        def handle_startendtag(self, tag, attrs):
            pass

        def handle_endtag(self, tag):
            assert stack.pop() == tag

    Reader().feed(page)
    assert stack == []
    assert not re.search(r"https?://|url\(|@import", page)


def test_names_from_the_file_cannot_become_markup(page):
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_the_warning_comes_first(page):
    assert page.index("unprotected statistics") < page.index("<h1>")
    assert "prefers-color-scheme:dark" in page and 'name="viewport"' in page


def test_no_epsilon_next_to_no_guarantee(columns):
    nothing = SimpleNamespace(epsilon=None, delta=None, guarantee="none", neighbours="", reasons=("seeded",))
    text = comparison_page("t", "w", [], columns, nothing)
    assert "none: seeded" in text and "differential privacy" not in text
