"""The sheet that travels with the data: synthetic rows, public facts, the certificate, and nothing else."""

from __future__ import annotations

import inspect

import pyarrow as pa
import pytest
from tests.report import sample
from tests.report.reading import Page
from tests.report.sample import EVIL
from tests.report.test_html import certificate, no_promise

import nacre
from nacre.evaluation.columns import compare_columns, profile_columns
from nacre.report.sheet import sheet_html
from nacre.table import Categorical, Numeric, Schema

CANARY = 987_654


def sheet(synthetic, release):
    return sheet_html(release.certificate, release.schema, profile_columns(synthetic, release.schema), {"rows": "10"})


@pytest.fixture(scope="module")
def html():
    return sheet(sample.tables()[1], sample.release())


def test_it_is_well_formed_and_says_that_it_may_travel(html):
    page = Page(html)
    assert "May travel with the data" in page.text and "not for release" not in page.text
    assert all(a["role"] == "img" and a["aria-label"] for a, _ in page.all("svg"))
    assert len(page.all("caption")) == len(page.all("table"))
    assert not page.all("script") and len(html.encode()) < 3 * 1024 * 1024


def test_it_speaks_of_synthetic_shares_alone(html):
    assert 'class="real"' not in html.replace('<i class="real">', "")
    assert all("real" not in a["aria-label"] for a, _ in Page(html).all("svg"))


def test_it_cannot_be_given_private_rows():
    assert list(inspect.signature(sheet_html).parameters) == ["certificate", "schema", "columns", "facts"]
    real, synthetic, _ = sample.tables()
    columns = compare_columns(real, synthetic, sample.release().schema)
    with pytest.raises(TypeError, match="profile_columns"):
        sheet_html(certificate(), sample.release().schema, columns, {})


def test_a_real_value_does_not_appear_and_the_real_table_does_not_matter():
    """The rarest value of the private table, far from all others, is not drawn: axes and labels ignore private rows."""
    schema = Schema({"x": Numeric((0, 1_000_000), integer=True), "k": Categorical(("a", "b"))}, rows=400)
    real = pa.table({"x": [CANARY] * 4 + [7] * 396, "k": ["a", "b"] * 200})
    release = nacre.fit(real, schema=schema, epsilon=1.0, method="independent")
    synthetic = pa.table({"x": [3, 4, 5] * 100, "k": ["a"] * 300})
    html = sheet(synthetic, release)
    assert f"{CANARY:,}" not in html and str(CANARY) not in html
    other = nacre.fit(pa.table({"x": [1] * 400, "k": ["b"] * 400}), schema=schema, epsilon=1.0, method="independent")
    assert sheet(synthetic, other) == html
    assert "0 to 1,000,000" in Page(html).text


def test_without_a_promise_it_says_so_first():
    html = sheet_html(
        no_promise(), sample.release().schema, profile_columns(sample.tables()[1], sample.release().schema), {}
    )
    page = Page(html)
    assert (
        "No privacy promise" in page.text[: page.text.index("About this synthetic table", 40)]
        and "May travel" not in page.text
    )
    assert "costs no further privacy" not in page.text


def test_names_cannot_become_markup():
    schema = Schema({EVIL: Categorical((EVIL, "b"))})
    profiles = profile_columns(pa.table({EVIL: [EVIL, "b"]}), schema)
    html = sheet_html(sample.promised(1.0, 1e-6, schema), schema, profiles, {EVIL: EVIL})
    Page(html)
    assert "<script" not in html and "&lt;script&gt;" in html


def test_shares_drawn_are_shares_given():
    schema = Schema({"k": Categorical(("a", "b"), nullable=True)})
    profiles = profile_columns(pa.table({"k": ["a"] * 6 + ["b"] * 2 + [None] * 2}), schema)
    page = Page(sheet_html(sample.promised(1.0, 1e-6, schema), schema, profiles, {}))
    widths = [float(a["width"]) for a, _ in page.all("rect") if a["class"] == "made"]
    assert [w / widths[0] for w in widths] == pytest.approx([1, 1 / 3, 1 / 3], abs=0.01)
    assert "60%" in page.text and "20%" in page.text
