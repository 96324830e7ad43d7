"""Votes on how a column is written: one class per value, and decisions that the noise does not make."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.table import Categorical, Numeric
from nacre.table.formats import DateFormat, NumberFormat
from nacre.table.votes import cells, dates, numbers
from nacre.table.votes.decision import decide

SAMPLES = (
    [(cells.NUMBER + numbers.cell(a, 0, i), p + text + q)
     for a, (p, q) in enumerate(numbers.AFFIXES) for i, text in enumerate(numbers.SHAPES.values())]
    + [(cells.DATE + dates.cell(d, c), day + clock)
       for d, day in enumerate(dates.DAYS.values()) for c, clock in enumerate(dates.CLOCKS.values())]
    + [(cells.DATE + len(dates.DAYS) * len(dates.CLOCKS) + i, text) for i, text in enumerate(dates.NAMED.values())]
)  # fmt: skip


def test_every_sample_lands_in_its_own_class():
    wanted, texts = zip(*SAMPLES)
    assert cells.of_column(pa.array(texts), True).tolist() == list(wanted)
    assert len(set(wanted)) == len(wanted) and max(wanted) < cells.COUNT


nasty = st.sampled_from(
    ["", " ", "NA", "-", "yes", "007", "-0", "+5", ".5", "5.", "1e5", "1,234", "1.234.567", "$1", "$", "(5)", "-(5)",
     "5-", "31.12.2024", "2024-02-30", "13/13/2020", "1/2/3", "12:30", "00/00/0000", "20200230", "20201231",
     "May 5, 2020", "31-foo-2020", "9" * 40, "1 2 3", "€ 5 €", "2020-01-01T10:00+02:00", "12/10/2020 13:00 PM",
     "٣", "1\u202f000"]
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(nasty | st.text(max_size=12) | st.none(), min_size=1, max_size=8))
def test_the_class_of_a_value_depends_on_the_value_alone(texts):
    array = pa.array(texts, pa.string())
    whole = cells.of_column(array, True)
    assert ((whole >= 0) & (whole < cells.COUNT)).all()
    for i in range(len(texts)):
        assert cells.of_column(array[i : i + 1], True)[0] == whole[i]
        assert cells.of_column(array[i : i + 1], False)[0] == (cells.TEXT if texts[i] else cells.NULL)


def test_typed_values_vote_for_what_they_are():
    def classes(array):
        return set(cells.of_column(array, False).tolist())

    assert classes(pa.array(["1", "2020-01-01"])) == {cells.TEXT}
    assert classes(pa.array([True, None])) == {cells.TRUTH, cells.NULL}
    assert classes(pa.array([dt.date(2020, 1, 1)])) == {cells.DAY}
    assert classes(pa.array([dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 5)])) == {cells.MIDNIGHT, cells.MOMENT}
    assert classes(pa.array([5.0, float("nan")])) == classes(pa.array([5, None]))
    assert classes(pa.array([2.0**60, 12345.0])) == classes(pa.array([12345]))
    assert decide(_votes(pa.array([1.25, 2.5, 7.0]), False), 0.0, False).decimals == 2


def _votes(array, untyped=True):
    return np.bincount(cells.of_column(array, untyped), minlength=cells.COUNT)


GROUPED = NumberFormat(thousands=",")
N = 20_000
RNG = np.random.default_rng(0)
MOMENTS = RNG.integers(0, 2 * 10**15, N)
MONEY = np.round(RNG.lognormal(5, 1.5, N), 2)


def _dates(pattern):
    return DateFormat(pattern).write(MOMENTS), (DateFormat(pattern), None)


def _money(decimals=2, **facts):
    format = NumberFormat(decimals=decimals, **facts)
    return format.write(MONEY * np.where(RNG.random(N) < 0.3, -1, 1)), (format, decimals)


COLUMNS = {
    **{p: _dates(p) for p in ("%d.%m.%Y", "%m/%d/%Y %I:%M %p", "%d/%m/%y", "%-m/%-d/%Y %-H:%M", "%d%^b%Y", "%b %-d, %Y",
                              "%Y-%m-%d 00:00:00", "%Y-%m-%dT%H:%M:%SZ", "%Y%m%d")},
    "$": _money(prefix="$", thousands=",", negative="($1)"),
    "euro": _money(decimal=",", thousands=".", suffix=" €"),
    "percent": _money(1, suffix="%"),
    "comma": _money(decimal=","),
    "thousands": (GROUPED.write((MONEY * 10).astype(np.int64)), (GROUPED, None)),
    "whole": (pa.array((MONEY * 10).astype(np.int64)).cast(pa.string()), (None, None)),
    "iso": (DateFormat("%Y-%m-%d").write(MOMENTS), (None, None)),
    "python": (pa.array([repr(x) for x in MONEY.tolist()]), (NumberFormat(least=1), 2)),
}  # fmt: skip


@pytest.mark.parametrize("sigma", [0.0, 60.0])
@pytest.mark.parametrize("name", COLUMNS)
def test_the_writing_is_found(name, sigma):
    texts, (format, decimals) = COLUMNS[name]
    exact = _votes(texts)
    wrong = 0
    for seed in range(12 if sigma else 1):
        noise = np.rint(np.random.default_rng(seed).normal(0, sigma, cells.COUNT)) if sigma else 0
        found = decide(exact + noise, sigma, True)
        stated = found.decimals if isinstance(found, Numeric) else None
        wrong += (found.format_given, stated) != (format, decimals)
    assert wrong <= (1 if sigma else 0)


@pytest.mark.parametrize("sigma", [0.0, 60.0])
@pytest.mark.parametrize(
    ("text", "mark", "decimals", "format"),
    [
        ("5,454", None, None, NumberFormat(thousands=",")),
        ("5,454", ",", 3, NumberFormat(decimal=",", decimals=3)),
        ("5,454", ".", None, NumberFormat(thousands=",")),
        ("5.454", None, 3, NumberFormat(decimals=3)),
        ("5.454", ",", None, NumberFormat(decimal=",", thousands=".")),
        ("$8,733.28", ",", 2, NumberFormat(thousands=",", prefix="$", decimals=2)),
        ("57", ",", None, None),
    ],
)
def test_the_mark_that_is_said_decides_what_the_votes_leave_open(text, mark, decimals, format, sigma):
    """Three digits behind a mark are decimals or thousands; what only one format can have written stays its own."""
    digits = RNG.integers(100, 1000, N)
    texts = pa.array([f"{d % 9 + 1}{text[1:-3]}{d}" if text != "57" else str(d) for d in digits])
    if text.startswith("$"):
        texts = pa.array([f"${d % 9 + 1},{d}.28" for d in digits])
    noise = np.rint(RNG.normal(0, sigma, cells.COUNT))
    found = decide(_votes(texts) + noise, sigma, True, mark)
    assert (found.format, found.decimals, found.integer) == (format, decimals, decimals is None)


TEXTS = {
    "zip": [f"{z:05d}" for z in RNG.integers(500, 99_999, N)],
    "ICD-9": RNG.choice(["250.00", "401.9", "V45.81", "038.9", "414.01", "486"], N).tolist(),
    "firsts": [f"0{m}/01/2020" for m in RNG.integers(1, 10, N)],  # which number is the month?
    "sex": RNG.choice(["M", "F"], N).tolist(),
    "few letters": RNG.choice(["428", "250.8", "250.83", "V27", "E909"], N, p=[0.9, 0.04, 0.04, 0.01, 0.01]).tolist(),
    "mixed": ["12", "a", "31.12.2020", "yes"] * (N // 4),
}


@pytest.mark.parametrize("sigma", [0.0, 60.0])
@pytest.mark.parametrize("name", TEXTS)
def test_what_is_text_stays_text(name, sigma):
    exact = _votes(pa.array(TEXTS[name]))
    for seed in range(8):
        noise = np.rint(np.random.default_rng(seed).normal(0, sigma, cells.COUNT))
        assert decide(exact + noise, sigma, True).kind == "categorical"


@pytest.mark.parametrize("sigma", [0.0, 100.0])
def test_no_decimals_are_rounded_away(sigma):
    texts = pa.array(RNG.choice(["428", "250.83"], N, p=[0.94, 0.06]).tolist())
    for seed in range(8):
        found = decide(_votes(texts) + np.rint(np.random.default_rng(seed).normal(0, sigma, cells.COUNT)), sigma, True)
        assert found.kind == "categorical" or (found.decimals or 9) >= 2


def test_a_sign_of_missing_values_makes_no_codes():
    texts = pa.array(RNG.choice(["428", "250.83", "see note", "n.d."], N, p=[0.5, 0.46, 0.02, 0.02]).tolist())
    assert decide(_votes(texts), 0.0, True).kind == "numeric"


def test_truth_words_and_null_words_are_kept():
    noise = np.rint(np.random.default_rng(1).normal(0, 60, cells.COUNT))
    words = decide(_votes(pa.array(["ja", "nein"] * 5000)) + noise, 60.0, True)
    assert (words.kind, words.format.true, words.format.false) == ("boolean", "ja", "nein")
    holes = decide(_votes(pa.array(["NA"] * 600 + ["?"] * 1500 + ["17", "3"] * 5000)) + noise, 60.0, True)
    assert holes.integer and holes.nullable and holes.null_words == ("?", "NA")
    one = decide(_votes(pa.array(["Yes"] * 5000)) + noise, 60.0, True)
    assert isinstance(one, Categorical)


@pytest.mark.parametrize("untyped", [True, False])
def test_noise_alone_makes_no_dates_and_no_numbers(untyped):
    for seed in range(40):
        noise = np.rint(np.random.default_rng(seed).normal(0, 80, cells.COUNT))
        assert decide(noise, 80.0, untyped).kind == "categorical"
    missing = np.bincount([cells.NULL] * 5000, minlength=cells.COUNT)
    empty = decide(missing + noise, 80.0, untyped)
    assert isinstance(empty, Categorical) and empty.labels == ("other",) and empty.nullable


def test_nullable_unless_the_noise_says_that_nothing_is_missing():
    votes = _votes(pa.array(["1", "2"] * 5000 + [""] * 300))
    assert decide(votes, 0.0, True).nullable and decide(votes, 60.0, True).nullable
    full = _votes(pa.array(["1", "2"] * 5000))
    assert not decide(full, 0.0, True).nullable and not decide(full, 60.0, True).nullable
    assert decide(full, 400.0, True).nullable  # so much noise could hide many
