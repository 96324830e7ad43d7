"""The certificate in words: its figures follow from the definition and never flatter."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.report.test_html import certificate, no_promise

from nacre.privacy.certificate.rounding import exact
from nacre.report.plain_words import FALSE_ALARMS, at_most_percent, detection, numbers, plain


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-3, 0.2])
@pytest.mark.parametrize("alarm", [0.0, 0.001, 0.05, 0.5, 1.0])
def test_detection_is_that_of_the_best_test_against_the_worst_mechanism(epsilon, delta, alarm):
    """The worst (ε, δ) mechanism has four outcomes; the best test orders them by likelihood ratio (Neyman-Pearson)."""
    share = (1 - delta) / (1 + math.exp(epsilon))
    present = [delta, share * math.exp(epsilon), share, 0.0]
    absent = [0.0, share, share * math.exp(epsilon), delta]
    power, left = 0.0, alarm
    for p, q in zip(present, absent, strict=True):
        taken = 1.0 if q <= left else left / q
        power, left = power + taken * p, left - taken * q
    assert detection(epsilon, delta, alarm) == pytest.approx(power, abs=1e-12)


def test_certainty_is_never_rounded_to():
    shown = [at_most_percent(s).replace("\u00a0", " ") for s in (0.7310585, 1 - 1e-5, 1 - 1e-9, 1.0)]
    assert shown == ["73.2 %", "99.999 %", "nearly 100 %", "100 %"]


def test_words_hold_the_numbers_and_the_limits():
    said = plain(certificate(epsilon=2.0, delta=1e-6))
    text = " ".join((said.headline, *said.paragraphs, *said.not_promised)).replace("\u00a0", " ")
    assert "7.39" in text and "epsilon = 2" in text and "1 in 1,000,000" in text and "88.1 %" in text
    assert "one row" in said.headline and "k rows" in said.not_promised[0]
    assert "rules out little" not in text
    assert "rules out little" in " ".join(plain(certificate(epsilon=8.0)).paragraphs)


@settings(max_examples=200, deadline=None)
@given(st.floats(1e-4, 30), st.floats(1e-12, 0.4))
def test_no_figure_of_the_page_reads_safer_than_it_is(epsilon, delta):
    made = certificate(epsilon=epsilon, delta=delta)
    told = {name: value.replace(",", "") for name, value in numbers(made)}
    assert float(told["Epsilon"]) == epsilon and float(told["Delta"]) == delta
    factor = math.exp(epsilon)
    assert factor <= float(told["Largest change of odds, e to the power epsilon"]) <= 1.01 * factor
    text = " ".join(plain(made).paragraphs).replace("\u00a0", " ").replace(",", "")
    assert factor <= float(re.search(r"at most ([\d.e+]+) times its", text).group(1)) <= 1.01 * factor
    sure = re.search(r"at most ([\d.]+ %|nearly 100 %) sure", text).group(1)
    assert sure == "nearly 100 %" or float(sure.split()[0]) / 100 >= factor / (1 + factor)
    assert Fraction(1, int(re.search(r"more than 1 in (\d+)", text).group(1))) >= Fraction(repr(delta))
    assert f"epsilon = {exact(epsilon)}" in text and f"Delta = {exact(delta)}" in text
    for alarm in FALSE_ALARMS:
        shown = at_most_percent(detection(epsilon, delta, alarm)).replace("\u00a0", " ")
        assert "100 %" in shown or float(shown.split()[0]) / 100 >= detection(epsilon, delta, alarm)


@pytest.mark.parametrize("neighbours", ["add_or_remove_one", "zero_out", "replace_one"])
def test_both_worlds_are_described(neighbours):
    worlds = plain(certificate(neighbours=neighbours)).paragraphs[0]
    assert "the table with one row and the same table" in worlds and "{" not in worlds


def test_nothing_promised_is_said_plainly_and_without_numbers():
    said = plain(no_promise())
    text = " ".join((said.headline, *said.paragraphs, *said.not_promised))
    assert "No privacy promise" in said.headline and "without noise" in text
    assert "epsilon" not in text and not any(c.isdigit() for c in text)


@pytest.mark.parametrize(
    "how, told",
    [("public", "public"), ("bought", "paid for out of the budget"), ("read", "without protection")],
)
def test_the_number_of_rows_says_where_it_came_from(how, told):
    rows = dict(numbers(certificate(schema={"rows": 7892, "provenance": {"": {"rows": how}}})))["Rows"]
    assert rows.startswith("7,892") and rows.endswith(told)
