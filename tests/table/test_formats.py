"""Writings of numbers, dates and truth values: what is written is read, and what was read is written again."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.errors import SchemaError
from nacre.table.formats import DateFormat, NumberFormat, TruthFormat

EPOCH = dt.datetime(1970, 1, 1)
AFFIXES = ["", "$", "€ ", "CHF ", "Fr."]


@st.composite
def written_numbers(draw):
    """A format, a text in it and the number that the text stands for, put together digit by digit."""
    decimal = draw(st.sampled_from(".,"))
    thousands = draw(st.sampled_from(["", *(set(",. '\u00a0_") - {decimal})]))
    width = 0 if thousands else draw(st.integers(0, 6))
    fixed = draw(st.none() | st.integers(0, 4))
    least = 0 if fixed is not None else draw(st.sampled_from([0, 0, 1, 2]))
    negative = draw(st.sampled_from(["-$1", "$-1", "$1-", "($1)"]))
    prefix = draw(st.sampled_from(AFFIXES))
    suffix = draw(st.sampled_from(["", "%", " €", " kg", "kr"]))
    format = NumberFormat(decimal, thousands, prefix, suffix, fixed, least, width, negative)
    whole = draw(st.integers(0, 10**8))
    few, most = (0, 4) if fixed is None else (fixed, fixed)
    behind = draw(st.text("0123456789", min_size=few, max_size=most))
    if fixed is None:
        behind = behind.rstrip("0").ljust(least, "0")
    digits = f"{whole:,}".replace(",", thousands) if thousands else str(whole).zfill(width)
    body = digits + (decimal + behind if behind else "")
    number = Decimal(f"{whole}.{behind or 0}")
    if number and draw(st.booleans()):
        number = -number
        minus = {
            "-$1": f"-{prefix}{body}{suffix}",
            "$-1": f"{prefix}-{body}{suffix}",
            "$1-": f"{prefix}{body}-{suffix}",
        }
        return format, minus.get(negative, f"({prefix}{body}{suffix})"), number
    return format, f"{prefix}{body}{suffix}", number


@settings(max_examples=120, deadline=None)
@given(written_numbers())
def test_a_number_in_its_writing_is_read_and_written_again(case):
    format, text, number = case
    values, null, bad = format.read(pa.array([text]))
    assert not null[0] and not bad[0]
    assert values[0] == float(number)
    assert format.write(values).to_pylist() == [text]
    if number == int(number):
        whole, null, bad = format.read(pa.array([text]), integer=True)
        assert whole.dtype == np.int64 and not null[0] and not bad[0] and whole[0] == int(number)
        assert format.write(whole).to_pylist() == [text]


@settings(max_examples=25, deadline=None)
@given(written_numbers(), st.lists(st.text(max_size=8) | st.sampled_from(["", "1,2", "1.234", "(5)", "5-", "-"])))
def test_a_number_is_read_by_itself(case, others):
    """Alone, in company, sliced: the same; and nothing raises."""
    format, text, _ = case
    array = pa.array([text, *others, None])
    whole = format.read(array)
    for i in range(len(array)):
        alone = format.read(array[i : i + 1])
        for a, b in zip(alone, whole):
            np.testing.assert_array_equal(a, b[i : i + 1])


@pytest.mark.parametrize(
    ("format", "text", "value"),
    [
        (NumberFormat(decimal=","), "3,14", 3.14),
        (NumberFormat(decimal=","), "3.14", None),  # a point is no mark of this writing
        (NumberFormat(decimal=",", thousands="."), "1.234,5", 1234.5),
        (NumberFormat(decimal=",", thousands="."), "1234,5", 1234.5),
        (NumberFormat(decimal=",", thousands="."), "12.34,5", None),
        (NumberFormat(prefix="$", thousands=",", decimals=2), "$ 1,941.32", 1941.32),
        (NumberFormat(prefix="$", thousands=",", decimals=2), "1,941.32", None),
        (NumberFormat(suffix="%"), "40.8 %", 40.8),
        (NumberFormat(suffix="%"), "40.8", None),
        (NumberFormat(negative="($1)"), "(12)", -12),
        (NumberFormat(), "(12)", None),
        (NumberFormat(thousands=" "), "1\u202f234", 1234),
        (NumberFormat(decimal=","), "1,5e3", 1500),
        (NumberFormat(decimal=","), "\u22121,5", -1.5),
    ],
)
def test_what_a_text_is_read_as(format, text, value):
    values, null, bad = format.read(pa.array([text]))
    assert (None if null[0] else values[0]) == value
    assert bad[0] == (value is None)


def test_numbers_keep_their_digits_and_zero_has_no_minus():
    format = NumberFormat(decimal=",")
    values = np.array([0.1, 12345.678, 1e-7, 123456789.125, -0.0, 1e17, -7.25])
    assert format.write(values).to_pylist() == [
        "0,1", "12345,678", "0,0000001", "123456789,125", "0", "100000000000000000", "-7,25"
    ]  # fmt: skip
    cents = NumberFormat(thousands=",", decimals=2, negative="($1)")
    assert cents.write(np.array([-0.004, 0.996, 999.999, -1e6, 2.0**60])).to_pylist() == [
        "0.00", "1.00", "1,000.00", "(1,000,000.00)", "1,152,921,504,606,846,976.00"
    ]  # fmt: skip
    assert format.write(np.array([1.23456, 2.0]), decimals=2).to_pylist() == ["1,23", "2"]
    assert format.write(np.array([1.5, 0.0]), np.array([False, True])).to_pylist() == ["1,5", None]


PATTERNS = [
    "%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%d", "%Y%m%d", "%d-%b-%Y", "%d %B %Y", "%Y-%m-%d 00:00:00", "%d/%m/%y",
    "%m/%d/%Y %I:%M %p", "%Y-%m-%dT%H:%M:%S", "%d.%m.%Y %H:%M", "%A, %d %b %Y %H:%M:%S.%f", "%a %b %d %Y", "%d%b%Y",
]  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(PATTERNS), st.lists(st.datetimes(dt.datetime(1969, 1, 1), dt.datetime(2068, 12, 31)), min_size=1)
)
def test_dates_agree_with_python_both_ways(pattern, moments):
    format = DateFormat(pattern)
    texts = [m.strftime(pattern) for m in moments]
    expected = [(dt.datetime.strptime(t, pattern) - EPOCH) // dt.timedelta(microseconds=1) for t in texts]
    values, null, bad = format.read(pa.array(texts))
    assert not null.any() and not bad.any()
    assert values.tolist() == expected
    assert format.write(values).to_pylist() == texts
    micros = [(m - EPOCH) // dt.timedelta(microseconds=1) for m in moments]
    assert format.write(np.array(micros)).to_pylist() == texts


@settings(max_examples=60, deadline=None)
@given(st.dates(dt.date(1, 1, 1), dt.date(9999, 12, 31)), st.integers(0, 23))
def test_dates_without_leading_zeros(day, hour):
    text = f"{day.month}/{day.day}/{day.year:04d} {hour}:05"
    format = DateFormat("%-m/%-d/%Y %-H:%M")
    values, null, _ = format.read(pa.array([text]))
    assert not null[0] and format.write(values).to_pylist() == [text]
    half = f"{day.day} {day:%b}".upper() + f" {hour % 12 or 12}{'pm' if hour > 11 else 'am'}"
    format = DateFormat("%-d %^b %Y %-I%P")
    assert format.write(values)[0].as_py().replace(f" {day.year:04d}", "") == half


@pytest.mark.parametrize(
    "text", ["29.02.2021", "32.01.2020", "00.01.2020", "01.13.2020", "1.1.20", "2020-01-01", "x", "31.12.0000"]
)
def test_dates_that_are_none(text):
    _, null, bad = DateFormat("%d.%m.%Y").read(pa.array([text, "", None]))
    assert null.all() and bad.tolist() == [True, False, False]


def test_two_digit_years_and_zones():
    array = pa.array(["01.01.68", "01.01.69"])
    late = DateFormat("%d.%m.%y").read(array)[0].astype("datetime64[us]")
    assert late.astype("datetime64[Y]").astype(str).tolist() == ["2068", "1969"]
    early = DateFormat("%d.%m.%y", first_year=1900).read(array)[0].astype("datetime64[us]")
    assert early.astype("datetime64[Y]").astype(str).tolist() == ["1968", "1969"]
    local = DateFormat("%d.%m.%Y %H:%M")
    values, _, _ = local.read(pa.array(["01.07.2020 12:00"]), "Europe/Oslo")
    assert str(values.astype("datetime64[us]")[0]) == "2020-07-01T10:00:00.000000"
    assert local.write(values, None, "Europe/Oslo").to_pylist() == ["01.07.2020 12:00"]


def test_truth_words():
    format = TruthFormat("Ja", "Nein")
    values, null, bad = format.read(pa.array(["Ja", "nein", " JA ", "yes", "", None]))
    assert values[:3].tolist() == [1, 0, 1]
    assert null.tolist() == [False, False, False, True, True, True] and bad.tolist() == [False] * 3 + [
        True,
        False,
        False,
    ]
    assert format.write(values, null).to_pylist() == ["Ja", "Nein", "Ja", None, None, None]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: NumberFormat(decimal=";"), "decimal is ';'"),
        (lambda: NumberFormat(decimal=",", thousands=","), "cannot mark both"),
        (lambda: NumberFormat(prefix="1"), "a number may hold"),
        (lambda: NumberFormat(suffix=",-"), "a number may hold"),
        (lambda: NumberFormat(width=3, thousands=","), "leading zeros"),
        (lambda: NumberFormat(decimals=True), "decimals is True"),
        (lambda: NumberFormat(decimals=2, least=1), "leave out least"),
        (lambda: NumberFormat(negative="minus"), "negative is 'minus'"),
        (lambda: NumberFormat.given({"comma": True}), "write an object with some of"),
        (lambda: DateFormat("%d.%m"), "needs a year and a month|no year"),
        (lambda: DateFormat("%d.%m.%Y %I:%M"), "belong together"),
        (lambda: DateFormat("%d.%m.%Y %M"), "without what is coarser"),
        (lambda: DateFormat("%d.%m.%Y %Q"), "not a directive"),
        (lambda: DateFormat("%d.%m.%Y %"), "not a directive"),
        (lambda: DateFormat("%d.%d.%m.%Y"), "the day twice"),
        (lambda: DateFormat("%-d%m%Y"), "run together"),
        (lambda: DateFormat.given(7), "write a pattern"),
        (lambda: TruthFormat("yes", "YES"), "differ at most in their case"),
        (lambda: TruthFormat.given({"true": "x"}), "format is"),
        (lambda: TruthFormat("", "x"), "empty"),
    ],
)
def test_formats_that_cannot_be_read(make, said):
    with pytest.raises(SchemaError, match=said):
        make()


@pytest.mark.parametrize(
    ("format", "texts"),
    [
        (NumberFormat(prefix="$", thousands=","), ["$1,941.32", "-$5", "x", "", None]),
        (NumberFormat(decimal=","), ["3,14", "-2", None]),
        (DateFormat("%d.%m.%Y"), ["31.12.2020", "x", None]),
        (TruthFormat("ja", "nein"), ["Ja", "nein", "x", None]),
    ],
)
def test_texts_are_read_alike_in_every_type_of_text(format, texts):
    """pandas and polars store texts with offsets of 64 bits."""
    more = (None,) if isinstance(format, DateFormat) else ()
    short, long = (format.read(pa.array(texts, kind), *more) for kind in (pa.string(), pa.large_string()))
    assert all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(short, long))
