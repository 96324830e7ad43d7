"""Clipping of a record's features to whole numbers, whatever the numbers are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from nacre.privacy.passes import feature_sums
from nacre.privacy.plan import Total
from nacre.table.values.stored import Values

ENTRY = Total("x", size=4, bound=2.0, sigma=3.0)
LIMIT = Fraction(ENTRY.bound) / Fraction(feature_sums.grid_step(ENTRY))
ORDINARY = np.array([0.3, -0.2, 0.9, 0.0])


def clipped(*records) -> np.ndarray:
    return feature_sums._clipped(np.array(records, dtype=np.float64), ENTRY)


@pytest.mark.parametrize(
    "record, direction",
    [
        ((1e200, -1e200, 0, 0), (1, -1, 0, 0)),
        ((1e308, 1e308, 1e308, 1e308), (1, 1, 1, 1)),
        ((5.0, 0, 0, 0), (1, 0, 0, 0)),
        ((3.0, 4.0, 0, 0), (3, 4, 0, 0)),
        ((1e-200, 0, 0, 0), None),
        ((np.nan, 1, 0, 0), None),
        ((np.inf, 1, 0, 0), None),
        ((np.inf, -np.inf, np.nan, 1e300), None),
    ],
)
def test_a_wild_record_stays_within_the_bound_and_changes_no_other(record, direction):
    with np.errstate(all="raise"):
        found, beside = clipped(record, ORDINARY)
    norm = Fraction(int((found.astype(object) ** 2).sum()))
    assert norm <= LIMIT**2
    assert np.array_equal(beside, clipped(ORDINARY)[0]), "one record changes another"
    if direction is None:
        assert not found.any()
    else:
        length = int(LIMIT)
        np.testing.assert_allclose(found, length * np.array(direction) / np.linalg.norm(direction), atol=1.0)


def test_records_within_the_bound_are_rounded_toward_zero():
    records = np.random.default_rng(0).uniform(-0.9, 0.9, (500, 4))
    exact = [[int(Fraction(float(x)) / Fraction(feature_sums.grid_step(ENTRY))) for x in r] for r in records]
    assert np.abs(clipped(*records) - np.array(exact)).max() <= 1  # a product of floats may cross one step
    assert (np.abs(clipped(*records)) <= np.abs(records) / feature_sums.grid_step(ENTRY) + 1e-6).all()


def test_a_record_gives_the_same_steps_in_any_company():
    """Wide records beyond the bound: their norms are sums of many floats, which must not depend on the block."""
    entry = Total("x", size=2000, bound=2.0, sigma=3.0)
    records = np.random.default_rng(1).normal(size=(64, 2001))[:, 1:]  # not contiguous, as after a number of a part
    whole = feature_sums._clipped(records, entry)
    for start, size in ((0, 1), (3, 1), (5, 2), (7, 32), (17, 47)):
        part = feature_sums._clipped(records[start : start + size], entry)
        assert np.array_equal(part, whole[start : start + size])
    records[9, 4] = np.inf
    assert np.array_equal(np.delete(feature_sums._clipped(records, entry), 9, 0), np.delete(whole, 9, 0))


@pytest.mark.parametrize("record", np.linspace(1.7, 2.0, 40))
def test_numbers_that_lie_column_by_column_are_added_up_as_any_others(record):
    """NumPy orders such a sum by how many records there are: alone, a record would have another norm, and others move
    it by a step."""
    entry = Total("x", size=9, bound=3.0, sigma=1.0)

    def steps(rows: int) -> np.ndarray:
        columns = {"a": Values.of(np.full(rows, record))}
        return feature_sums.integer_sum(_by_columns, None, columns, rows, entry)

    limit = int(Fraction(entry.bound) / Fraction(feature_sums.grid_step(entry)))
    for rows in (1, 32, 64):
        moved = (steps(rows + 1) - steps(rows)).astype(object)
        assert (moved**2).sum() <= limit**2
    assert np.array_equal(steps(33), 33 * steps(1))


def _by_columns(columns, public) -> np.ndarray:
    return np.tile(columns["a"].values, (9, 1)).T
