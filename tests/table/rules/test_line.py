import numpy as np
import pytest

from nacre.table import Datetime, Numeric
from nacre.table.rules.line import Line

WHOLE = Line(Numeric((0, 100), integer=True))
CENTS = Line(Numeric((0, 100), decimals=2))
REAL = Line(Numeric((0.0, 100.0)))
DAYS = Line(Datetime(("1960-01-01", "2020-01-01"), unit="day"))
DAY = 86_400_000_000


@pytest.mark.parametrize(
    ("line", "value", "least", "above"),
    [
        (WHOLE, 3, 3, 4),
        (WHOLE, 3.0, 3, 4),
        (WHOLE, 3.2, 4, 4),
        (WHOLE, -3.2, -3, -3),
        (CENTS, 0.29, 0.29, 0.30),  # 0.29 * 100 is 28.999999999999996
        (CENTS, 0.291, 0.30, 0.30),
        (CENTS, 7, 7.0, 7.01),
        (REAL, 7, 7.0, np.nextafter(7.0, 8)),
        (DAYS, 5 * DAY, 5 * DAY, 6 * DAY),
        (DAYS, 5 * DAY + 1, 6 * DAY, 6 * DAY),
        (DAYS, -5 * DAY - 1, -5 * DAY, -5 * DAY),
    ],
)
def test_the_least_value_of_a_line_from_a_number_on(line, value, least, above):
    assert line.first(value, False) == least
    assert line.first(value, True) == above


@pytest.mark.parametrize(
    ("line", "values", "near"),
    [
        (WHOLE, [2.4, 2.6, -0.6], [2, 3, -1]),
        (CENTS, [0.1 + 0.2, 0.004], [0.3, 0.0]),
        (REAL, [0.1 + 0.2], [0.1 + 0.2]),
        (DAYS, np.array([DAY // 2 - 1, DAY // 2, -DAY]), [0, DAY, -DAY]),
    ],
)
def test_the_nearest_values(line, values, near):
    assert line.nearest(np.asarray(values)).tolist() == near


@pytest.mark.parametrize("line", [WHOLE, CENTS, REAL, DAYS])
def test_what_lies_apart_lies_so_far_beyond(line):
    rng = np.random.default_rng(0)
    values = line.nearest(rng.uniform(*line.ends, 2_000)).clip(*line.ends)
    base = np.minimum(values, line.nearest(rng.uniform(*line.ends, 2_000)))
    distance = line.apart(base, values)
    assert (distance >= 0).all()
    np.testing.assert_allclose(line.beyond(base, distance), values, rtol=0, atol=1e-13)
    assert (line.beyond(values, distance + 30_000) == line.ends[1]).all()
