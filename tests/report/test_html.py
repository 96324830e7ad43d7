"""The owner's report: the numbers given are the numbers shown, nothing injected, readable by machine and by ear."""

from __future__ import annotations

import dataclasses
import re
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from tests.report import sample
from tests.report.reading import Page
from tests.report.sample import EVIL

from nacre.errors import CertificateError
from nacre.metrics.score import Matrix, Score
from nacre.report.html import report_html
from nacre.report.markup import number
from nacre.report.promise import promise
from nacre.report.ranking import describe, weakest
from nacre.report.report import Comparison, Report
from nacre.report.text import to_markdown

LIMIT = 3_000_000
NAN = float("nan")


@pytest.fixture(scope="module")
def report():
    return sample.report()


@pytest.fixture(scope="module")
def html(report):
    return report_html(report)


def hostile() -> Report:
    bar = Comparison(EVIL, EVIL, np.array([0.5, 0.5]), np.array([0.1, 0.9]), (EVIL, "\x00\u202eb"), nulls=(0.0, 1.0))
    line = Comparison("b\ud800" + EVIL, "numeric", np.ones(2) / 2, np.ones(2) / 2, ends=(EVIL, EVIL), bins=(EVIL, EVIL))
    square = np.array([[1.0, NAN, 0.3], [NAN, 1.0, -0.2], [0.3, -0.2, 1.0]])
    matrix = Matrix("kendall", (EVIL, "b", "c" * 5_000), square, -square)
    scores = (Score("tvd1", NAN), Score("auc_lr", NAN, low=NAN, high=NAN), Score("auc_lr", 0.9, "real"))
    scores += (Score("tvd2", 0.5, columns=(EVIL, "b")), Score("tvd1", 0.5, columns=(EVIL,)))
    return Report(scores, (bar, line), (matrix,), EVIL, {EVIL: EVIL}, (EVIL,), certificate())


def certificate(**changes):
    return dataclasses.replace(sample.release().certificate, **changes)


def no_promise():
    why = ("no budget was given: the tables were released without noise",)
    return certificate(guarantee="none", epsilon=None, delta=None, reasons=why, curve=(), entries=(), assumptions=())


REPORTS = {
    "full": sample.report,
    "empty": lambda: Report(()),
    "hostile": hostile,
    "no promise": lambda: dataclasses.replace(sample.report(), certificate=no_promise()),
    "no certificate": lambda: dataclasses.replace(sample.report(), certificate=None),
    "no target": lambda: Report((), sample.report().columns, target=None, certificate=certificate()),
    "two columns": lambda: Report((), sample.report().columns[:2], sample.wide(2).matrices),
    "wide": lambda: sample.wide(200),
}


@pytest.mark.parametrize("name", REPORTS)
def test_every_report_is_one_well_formed_page_that_fetches_and_runs_nothing(name):
    html = report_html(REPORTS[name]())
    page = Page(html)
    for tag, attributes, _ in page.elements:
        assert tag not in ("script", "link", "img", "iframe", "object", "form", "use", "image", "foreignobject"), tag
        assert not any(k.startswith("on") or k == "src" for k in attributes)
        assert attributes.get("href", "#").startswith("#")
    assert not re.search(r"https?://|url\(|@import|javascript:", html)
    assert "default-src 'none'" in html
    assert len(html.encode()) < LIMIT
    assert page.text.count("not for release") >= 1
    assert html.index("Contains unprotected statistics: not for release") < html.index("<h1>")


@pytest.mark.parametrize("name", REPORTS)
def test_every_report_can_be_heard_and_reached_by_keyboard(name):
    page = Page(report_html(REPORTS[name]()))
    ids = [a["id"] for _, a, _ in page.elements if "id" in a]
    assert len(set(ids)) == len(ids)
    for a, _ in page.all("a"):
        assert a["href"][1:] in ids
    for a, _ in page.all("svg"):
        assert a["role"] == "img" and len(a["aria-label"]) > 5
    captions = [text for _, text in page.all("caption")]
    assert len(captions) == len(page.all("table")) and all(captions)
    assert all(a.get("scope") in ("col", "row") for a, _ in page.all("th"))
    assert all("tabindex" in a and a["aria-label"] for a, _ in page.all("div") if a.get("class") == "scroll")
    assert len(page.all("summary")) == len(page.all("details"))
    levels = [int(t[1]) for t in page.parents() if re.fullmatch(r"h[1-6]", t)]
    assert levels[0] == 1 and levels.count(1) == 1 and all(b - a <= 1 for a, b in pairwise(levels))
    assert page.all("html")[0][0]["lang"] == "en" and page.all("main") and page.all("title")


def test_scores_shown_are_scores_given(report, html):
    text = Page(html).text
    given = {(s.metric, s.of): s for s in report.scores if not s.columns}
    rows = [t for _, t in Page(html).all("tr")]
    for name in ("auc_lr", "auc_gnb", "f1_tree"):
        made, real = given[name, "synthetic"], given[name, "real"]
        row = next(r for r in rows if name in r)
        assert f"{made.value:.3f}" in row and f"{real.value:.3f}" in row
        assert f"{made.low:.3f} to {made.high:.3f}" in row
        assert f"{real.value - made.value:+.3f}".replace("-", "\u2212") in row
    for name in ("tvd1", "tvd2", "kendall_rmse"):
        assert any(f"{given[name, 'synthetic'].value:.3f}" in r for r in rows if name in r)
    for c in report.columns:
        assert re.search(rf"{c.name}\s*{c.kind}, distance (\S+)", text)


def test_the_farthest_column_comes_first(report, html):
    far = {s.columns[0]: s.value for s in report.scores if s.metric == "tvd1" and s.columns}
    order = sorted((c.name for c in report.columns), key=lambda name: -far[name])
    cards = [t for a, t in Page(html).all("article") if a["class"] == "card"]
    heads = [next(n for n in sorted(order, key=len, reverse=True) if t.startswith(n)) for t in cards]
    assert heads == order
    first = Page(html).all("article")[0][1]
    assert order[0] in first and number(max(far.values())) in first
    told = report.to_markdown().partition("## Column by column")[2]
    assert [told.index(f"| {name} |") for name in order] == sorted(told.index(f"| {name} |") for name in order)


def test_bars_are_as_long_as_shares():
    column = Comparison("a", "categorical", np.array([0.8, 0.2]), np.array([0.4, 0.6]), ("x", "y"))
    page = Page(report_html(Report((), (column,))))
    width = {"real": [], "made": []}
    for a, _ in page.all("rect"):
        if a.get("class") in width:
            width[a["class"]].append(float(a["width"]))
    assert np.array(width["real"]) / width["real"][0] == pytest.approx([1, 0.25], abs=0.01)
    assert np.array(width["made"]) / width["real"][0] == pytest.approx([0.5, 0.75], abs=0.01)


def test_missing_values_are_a_bar_of_the_same_scale():
    """Half of the real rows are missing: the bars of the others are halved."""
    column = Comparison("a", "boolean", np.array([1.0]), np.array([1.0]), ("x",), nulls=(0.5, 0.0))
    rects = [float(a["width"]) for a, _ in Page(report_html(Report((), (column,)))).all("rect") if "real" in a["class"]]
    assert rects[0] == rects[1]


def test_cells_tell_their_value_and_colour_follows_sign():
    names = ("a", "b", "c")
    real, made = np.eye(3), np.eye(3)
    for i, j, r, s in ((1, 0, 0.5, 0.25), (2, 0, -0.5, -0.5), (2, 1, NAN, 0.1)):
        real[i, j] = real[j, i] = r
        made[i, j] = made[j, i] = s
    html = report_html(Report((), (), (Matrix("kendall", names, real, made),)))
    cells = re.findall(r'<rect class="cell (s\w+)"[^>]*><title>([^<]*)</title>', html)
    assert ("sp4", "b, a: 0.50") in cells and ("sn4", "c, a: \u22120.50") in cells
    assert ("sn4", "b, a: \u22120.25") in cells  # the difference, on a scale that ends at 0.5
    assert sum(t == "c, a: 0.00" for _, t in cells) == 1
    assert html.count("<title>c, b: not defined</title>") == 2  # real and difference
    assert "1 pairs have no value" in html


def test_an_undefined_figure_is_said_to_be_undefined():
    page = Page(report_html(hostile()))
    assert "not defined" in page.text and not re.search(r"\bnan\b", page.text)
    assert "Figures that could not be computed" in page.text


def test_names_from_the_file_cannot_become_markup_or_disguise_themselves():
    html = report_html(hostile())
    assert "<script" not in html and "&lt;script&gt;" in html
    assert "\u202e" not in html and "\x00" not in html
    html.encode("utf-8")


def test_a_certificate_cannot_become_markup():
    html = promise(certificate(method=EVIL, noise=EVIL, assumptions=(EVIL,), reasons=(EVIL,)))
    assert "<script" not in html and html.count("&lt;script&gt;") >= 3


def test_a_certificate_that_contradicts_itself_is_not_shown(report):
    forged = dataclasses.replace(report, certificate=certificate(epsilon=0.5))
    for show in (report_html, to_markdown):
        with pytest.raises(CertificateError, match="costs more"):
            show(forged)


def test_no_epsilon_next_to_no_guarantee():
    text = Page(report_html(dataclasses.replace(sample.report(), certificate=no_promise()))).text
    assert "Guarantee: none" in text and "No privacy promise is made" in text
    assert "released without noise" in text
    assert not re.search(r"epsilon\s*=?\s*\d|Epsilon\s*\d|Delta\s*\d", text)


def test_the_promise_is_printed_in_numbers():
    text = Page(report_html(Report((), certificate=sample.promised(0.75, 3e-8)))).text
    assert "Guarantee: proven (epsilon 0.75, delta 3e-08)" in text
    assert re.search(r"Epsilon\s*0\.75", text) and re.search(r"Delta\s*3e-08", text)


def test_a_score_nobody_described_is_refused():
    with pytest.raises(KeyError, match=r"nacre\.metrics"):
        report_html(Report((Score("accuracy", 1.0),)))


def test_a_stated_gap_and_an_error_that_should_be_low():
    scores = (Score("auc_lr", 0.7), Score("auc_lr", 0.8, "real"), Score("auc_lr_gap", 0.1234))
    assert "+0.123" in report_html(Report(scores))
    assert "+0.100" in report_html(Report(scores[:2]))


def test_thousands_of_columns_are_listed_and_the_farthest_drawn():
    real = np.array([0.5, 0.5])
    columns = tuple(
        Comparison(f"c{i}", "boolean", real, np.array([0.5 - i / 4e3, 0.5 + i / 4e3]), ("false", "true"))
        for i in range(2_000)
    )
    html = report_html(Report((), columns))
    page = Page(html)
    assert len(html.encode()) < LIMIT
    assert len([1 for a, _ in page.all("article") if a["class"] == "card"]) == 240
    assert "the 240 farthest are drawn" in html and ">c3</bdi></th>" in html


def test_units_and_levels_are_explained():
    unit = certificate(unit={"column": "person_id", "cap": 3}, guarantee="conditional", assumptions=("a is b",))
    text = Page(f"<html><body><main>{promise(unit)}</main></body></html>").text
    assert "all rows of one person_id (at most 3 rows each)" in text and "A is b" in text
    assert "at least one is not proved" in text


def test_scores_of_pairs_stand_worst_first():
    scores = [Score("tvd2", v, columns=("a", f"b{i}")) for i, v in enumerate((0.1, 0.3, 0.2))]
    rows = [t for _, t in Page(report_html(Report(tuple(scores)))).all("tr") if "tvd2" in t]
    assert [re.search(r"b\d", r).group() for r in rows[:3]] == ["b1", "b2", "b0"]


def test_a_plain_object_with_the_fields_of_a_certificate_will_do():
    c = SimpleNamespace(**{f.name: getattr(certificate(), f.name) for f in dataclasses.fields(certificate())})
    assert report_html(Report((), certificate=c)) == report_html(Report((), certificate=certificate()))


def test_the_first_paragraph_names_the_best_real_model():
    scores = [
        Score("auc_lr", 0.7),
        Score("auc_lr", 0.9, "real"),
        Score("auc_tree", 0.8),
        Score("auc_tree", 0.85, "real"),
    ]
    short = next(
        t for a, t in Page(report_html(Report((Score("tvd1", 0.0123), *scores)))).all("p") if a.get("class") == "short"
    )
    assert "0.012 on average" in short and "logistic regression, reaches 0.900 there and 0.700" in short


@pytest.mark.parametrize(
    "value, shown",
    [
        (0.0, "0.000"),
        (0.5, "0.500"),
        (0.00123, "0.0012"),
        (-0.25, "\u22120.250"),
        (1e-9, "1e-09"),
        (12345.6, "12,346"),
        (3e9, "3e+09"),
        (NAN, "not defined"),
        (None, "n/a"),
        (float("inf"), "infinite"),
    ],
)
def test_figures_for_people(value, shown):
    assert number(value) == shown


def test_a_paired_gap_is_shown_with_its_interval():
    scores = (Score("auc_lr", 0.7), Score("auc_lr", 0.8, "real"), Score("auc_lr_gap", 0.1, low=-0.02, high=0.22))
    assert "+0.100\u22120.020 to +0.220" in Page(report_html(Report(scores))).text


def test_no_coverage_is_claimed_for_distances(html):
    text = Page(html).text
    assert "95 of 100" not in text and "perfect copy" not in text
    assert "above zero even for equal populations" in text


def test_one_ranking_for_all_formats_without_gaps_that_may_be_zero():
    scores = (
        Score("auc_lr_gap", 0.3, low=-0.1, high=0.7),
        Score("auc_tree_gap", 0.1, low=0.05, high=0.15),
        Score("tvd1", 0.2, columns=("a",), low=0.18, high=0.22),
        Score("tvd1", 0.05, "bootstrap", columns=("a",)),
        Score("tvd1", 0.06, columns=("b",), low=0.04, high=0.08),
        Score("tvd1", 0.05, "bootstrap", columns=("b",)),
    )
    report = Report(scores)
    assert [(s.metric, s.columns) for s in weakest(report)] == [("tvd1", ("a",)), ("auc_tree_gap", ())]
    html = report_html(report)
    page, markdown = html[html.index('id="weakest"') :], report.to_markdown()
    shown = [text for _, text in Page(html).all("li") if text in [describe(s) for s in weakest(report)]]
    assert shown == [describe(s) for s in weakest(report)] and 'class="ranked"' in page
    assert all(line in markdown for line in shown)


def test_pairs_say_their_kind_and_a_missing_target_is_told():
    text = Page(report_html(sample.wide(3))).text
    assert "Pair that changed most, Kendall's rank correlation" in text and "Pair that changed most, Cramér's V" in text
    assert "no target was given" in Page(report_html(Report((Score("tvd1", 0.1),)))).text
    assert "no target was given" not in text


def test_a_difference_among_rare_categories_is_not_hidden_in_their_common_bar():
    """Two columns look alike when drawn; the one whose rare categories changed places has the larger tvd1."""
    even = np.array([0.5, 0.5])
    columns = tuple(Comparison(name, "categorical", even, even, ("x", "30 others")) for name in ("a", "b"))
    html = report_html(Report((Score("tvd1", 0.001, columns=("a",)), Score("tvd1", 0.4, columns=("b",))), columns))
    tile, *cards = [t for a, t in Page(html).all("article")][1:]  # the first tile speaks of the lack of a certificate
    assert "b" in tile and "0.400" in tile
    assert cards[0].startswith("b") and "distance 0.400" in cards[0] and cards[1].startswith("a")


def test_the_tile_of_models_is_ranked_as_the_list_above_it():
    """The tree loses less in numbers, and more of the little that it gains from real rows."""
    scores = []
    for model, made, real in (("hgb", 0.90, 0.93), ("tree", 0.73, 0.75)):
        scores += [
            Score(f"auc_{model}", made),
            Score(f"auc_{model}", real, "real"),
            Score(f"auc_{model}_gap", real - made),
        ]
        scores += [Score(f"auc_{model}", 0.5, "majority")]
    page = Page(report_html(Report(tuple(scores))))
    assert [s.metric for s in weakest(Report(tuple(scores)))] == ["auc_tree_gap", "auc_hgb_gap"]
    tile = next(t for a, t in page.all("article") if "Model that loses most" in t)
    assert tile.index("decision tree") < tile.index("histogram gradient boosting")
    assert "8.0% of what real rows gain" in tile


def test_no_p_value_is_zero():
    told = (Score("c2st_auc", 0.9), Score("c2st_auc", 0.51, "real"), Score("c2st_p", 0.0), Score("mmd_p", 0.25))
    text = Page(report_html(Report(told))).text
    assert text.count("below 0.001") == 2 and "0.250" in text and "real rows in their place: 0.510" in text
    assert "| below 0.001 |" in Report((Score("c2st_p", 0.0),)).to_markdown()


def test_a_drawing_can_be_heard():
    """Its label says where the two tables differ most; without names of the bars only how far they are."""
    far = Comparison("a", "categorical", np.array([0.5, 0.3, 0.2]), np.array([0.6, 0.1, 0.3]), ("x", "y", "z"))
    line = dataclasses.replace(far, name="b", kind="numeric", labels=(), ends=("0", "3"), bins=("0 to 1", "2", "3"))
    bare = dataclasses.replace(line, name="c", bins=())
    labels = [a["aria-label"] for a, _ in Page(report_html(Report((), (far, line, bare)))).all("svg")]
    assert "farthest apart at y, real 30%, synthetic 10%" in labels[0]
    assert "farthest apart at 2, real 30%, synthetic 10%" in labels[1]
    assert labels[2].startswith("c: shares of real and synthetic rows") and "farthest" not in labels[2]
