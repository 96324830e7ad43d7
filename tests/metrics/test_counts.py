"""Distances between tables against slow, obvious versions."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from tests.metrics.marginals import marginals

from nacre.metrics import counts as fidelity
from nacre.metrics.cells import cells
from nacre.metrics.counts import distances
from nacre.metrics.dependence import kendall_error, taus

DESCRIPTION = {"x": (0.0, 10.0), "y": (-5.0, 5.0), "c": ["a", "b", "d"]}


def table(rows, seed, nulls=True):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 10, rows)
    frame = pd.DataFrame(
        {"x": x, "y": np.round(x / 2 + rng.normal(0, 2, rows) - 3), "c": rng.choice(["a", "b", "z"], rows)}
    )
    if nulls:
        frame.loc[rng.random(rows) < 0.1, "y"] = np.nan
        frame.loc[rng.random(rows) < 0.1, "c"] = None
    return frame


def label(column, value):
    """The cell of one value, written for one value at a time."""
    if value is None or value != value:
        return "null"
    if column == "c":
        return value if value in "abd" else "unknown"
    low, high = DESCRIPTION[column]
    if not low <= value <= high:
        return "below" if value < low else "above"
    return min(int((value - low) / (high - low) * 20), 19)


def slow_tvd(a, b, columns):
    def shares(frame):
        found = {}
        for row in frame[columns].itertuples(index=False):
            key = tuple(label(c, v) for c, v in zip(columns, row))
            found[key] = found.get(key, 0) + 1 / len(frame)
        return found

    p, q = shares(a), shares(b)
    return 0.5 * sum(abs(p.get(k, 0) - q.get(k, 0)) for k in p.keys() | q.keys())


def test_marginals_equal_brute_force():
    a, b = table(300, 0), table(217, 1)
    found = marginals(cells(a, DESCRIPTION), cells(b, DESCRIPTION))
    for c in DESCRIPTION:
        assert found.one[c] == pytest.approx(slow_tvd(a, b, [c]), abs=1e-12)
    for pair in combinations(DESCRIPTION, 2):
        assert found.two[pair] == pytest.approx(slow_tvd(a, b, list(pair)), abs=1e-12)
    assert found.tvd1 == pytest.approx(np.mean([slow_tvd(a, b, [c]) for c in DESCRIPTION]))
    assert found.tvd1_max == max(found.one.values())
    assert len(found.two) == 3 and found.tvd2 > found.tvd1 > 0.05


def test_a_table_has_no_distance_to_its_own_shuffle_and_all_to_a_disjoint_one():
    a = table(200, 0)
    same = marginals(cells(a, DESCRIPTION), cells(a.sample(frac=1, random_state=0), DESCRIPTION))
    assert same.tvd1 == 0 and same.tvd2 == 0
    ones = pd.DataFrame({"x": [1.0], "y": [1.0], "c": ["a"]})
    twos = pd.DataFrame({"x": [9.0], "y": [-4.0], "c": ["b"]})
    assert marginals(cells(ones, DESCRIPTION), cells(twos, DESCRIPTION)).tvd1 == 1


def test_leaving_values_out_does_not_pay():
    a = table(500, 0, nulls=False)
    hidden = a.assign(x=np.nan, c=None)
    found = marginals(cells(a, DESCRIPTION), cells(hidden, DESCRIPTION))
    assert found.one["x"] == 1 and found.one["c"] == 1


def test_tables_reduced_in_different_ways_are_refused():
    a = table(50, 0)
    with pytest.raises(ValueError, match="different descriptions or bins"):
        marginals(cells(a, DESCRIPTION), cells(a, DESCRIPTION, bins=10))


def slow_tau_b(x, y):
    concordant, only_x, only_y = 0, 0, 0
    for i, j in combinations(range(len(x)), 2):
        s = np.sign(x[i] - x[j]) * np.sign(y[i] - y[j])
        concordant += s
        only_x += x[i] != x[j]
        only_y += y[i] != y[j]
    return concordant / np.sqrt(only_x * only_y)


def test_taus_equal_the_definition_with_ties_and_nulls():
    frame = table(120, 3)
    found = taus(frame, DESCRIPTION)
    both = frame.dropna(subset=["x", "y"])
    y = both["y"].clip(-5, 5)
    assert found.pairs == (("x", "y"),) and found.error == 0 and found.rows == 120
    assert found.values[0] == pytest.approx(slow_tau_b(both["x"].to_numpy(), y.to_numpy()), abs=1e-12)


def test_taus_of_a_sample_stay_within_the_stated_error():
    frame = table(20_000, 4, nulls=False)
    whole, part = taus(frame, DESCRIPTION), taus(frame, DESCRIPTION, limit=2_000)
    assert part.rows == 2_000 and part.error == pytest.approx(np.sqrt(2 / 2_000))
    assert 0 < abs(whole.values[0] - part.values[0]) < 3 * part.error


def test_kendall_error_over_the_defined_pairs():
    description = {"x": (0, 10), "y": (0, 10), "z": (0, 10)}
    up = pd.DataFrame({"x": range(10), "y": range(10), "z": range(10)})
    down = up.assign(z=up["z"][::-1].to_numpy())
    found = kendall_error(taus(up, description), taus(down, description))
    assert found["kendall_rmse"] == pytest.approx(np.sqrt((0 + 4 + 4) / 3))
    assert found["kendall_mae"] == pytest.approx(4 / 3)
    constant = kendall_error(taus(up, description), taus(up.assign(z=1), description))
    assert constant == {"kendall_rmse": 0, "kendall_mae": 0, "kendall_undefined": 2}


def test_three_way_tables_equal_brute_force_also_when_they_are_too_large_to_hold(monkeypatch):
    a, b = table(300, 0), table(217, 1)
    sets = [("x", "y", "c")]
    dense = distances(cells(a, DESCRIPTION), cells(b, DESCRIPTION), sets)
    assert dense.mean == pytest.approx(slow_tvd(a, b, ["x", "y", "c"]), abs=1e-12)
    monkeypatch.setattr(fidelity, "DENSE", 100)
    sparse = distances(cells(a, DESCRIPTION), cells(b, DESCRIPTION), sets)
    assert sparse.values == pytest.approx(dense.values) and sparse.errors == pytest.approx(dense.errors)


def test_the_error_of_a_distance_is_that_of_fresh_tables():
    """Against the spread over 400 pairs of tables drawn anew: the ratio of two deviations, within 15 %."""
    rng = np.random.default_rng(0)
    description = {"c": ["a", "b", "d"], "e": ["f", "g"]}

    def draw(shares, rows):
        return pd.DataFrame({"c": rng.choice(["a", "b", "d"], rows, p=shares), "e": rng.choice(["f", "g"], rows)})

    found = []
    for _ in range(400):
        a, b = draw([0.2, 0.3, 0.5], 300), draw([0.5, 0.3, 0.2], 500)
        d = distances(cells(a, description), cells(b, description), [("c",)])
        found.append((d.mean, d.mean_error))
    values, errors = np.array(found).T
    assert values.std() == pytest.approx(errors.mean(), rel=0.15)


def test_cells_of_rows_taken_twice():
    a = cells(table(50, 0), DESCRIPTION)
    twice = a.take(np.repeat(np.arange(50), 2))
    assert twice.rows == 100 and marginals(a, twice).tvd2 == pytest.approx(0, abs=1e-12)


def test_values_beyond_the_public_range_are_cells_of_their_own():
    inside = pd.DataFrame({"x": np.linspace(0, 10, 100), "y": 0.0, "c": "a"})
    wild = inside.assign(x=np.where(np.arange(100) < 5, 1e9, inside["x"]))
    found = marginals(cells(wild, DESCRIPTION), cells(inside, DESCRIPTION))
    assert found.one["x"] == pytest.approx(0.05, abs=1e-12)
    up, down = inside.assign(x=11.0), inside.assign(x=-1.0)
    assert marginals(cells(up, DESCRIPTION), cells(inside, DESCRIPTION)).one["x"] == 1
    assert marginals(cells(up, DESCRIPTION), cells(down, DESCRIPTION)).one["x"] == 1
    single = inside.assign(x=np.float64(np.float32(10.0)) + 1e-7)  # a rounding error is not outside
    assert marginals(cells(single, DESCRIPTION), cells(inside.assign(x=10.0), DESCRIPTION)).one["x"] == 0
