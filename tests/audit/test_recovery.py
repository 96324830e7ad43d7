"""Marginal recovery: estimates with honest intervals, errors beside the truth."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from nacre.audit.recovery import estimate, recover
from nacre.audit.untilting import axis_signs, patterns, untilted
from nacre.errors import SchemaError
from nacre.table import Categorical, Numeric, Schema

SCHEMA = Schema({"x": Numeric((-10.0, 10.0), nullable=True), "c": Categorical(("a", "b", "c"))})


def table(n, shift, seed, shares=(0.5, 0.3, 0.2)):
    rng = np.random.default_rng(seed)
    x = rng.normal(shift, 1.0, n)
    x[: n // 10] = np.nan
    return pd.DataFrame({"x": x, "c": rng.choice(["a", "b", "c"], n, p=shares)})


def test_a_faithful_table_gives_its_distribution_away():
    """Two tables of one law: every quantity is recovered to a few standard errors."""
    found = recover(table(20_000, 0.0, 1), table(20_000, 0.0, 2), SCHEMA, ["x", "c"])
    assert {r.what for r in found if r.column == "x"} == {
        "share of null",
        "mean",
        *(f"decile {i / 10:g}" for i in range(1, 10)),
    }
    assert all(abs(r.error) < 0.05 for r in found)


def test_a_moved_table_misleads_by_the_distance_it_was_moved():
    found = {
        (r.column, r.what): r
        for r in recover(table(20_000, 0.5, 1, (0.2, 0.3, 0.5)), table(20_000, 0.0, 2), SCHEMA, ["x", "c"])
    }
    assert found["x", "mean"].error == pytest.approx(0.5, abs=0.04) and not found["x", "mean"].caught
    assert found["c", "share of a"].error == pytest.approx(-0.3, abs=0.02) and found["c", "share of a"].unit == "share"
    assert found["x", "share of null"].caught


def test_intervals_cover_what_they_should():
    """95 % intervals of mean, median and a share over 300 tables: between 91 and 98.5 % (three standard errors)."""
    caught = {"mean": 0, "decile 0.5": 0, "share of b": 0}
    truth = {"mean": 1.0, "decile 0.5": norm.ppf(0.5) + 1.0, "share of b": 0.3}
    for seed in range(300):
        found = estimate(table(220, 1.0, seed), SCHEMA, ["x", "c"])
        for what in caught:
            _, low, high = found["c" if "share" in what else "x"][what]
            caught[what] += low <= truth[what] <= high
    assert all(0.91 < n / 300 < 0.99 for n in caught.values()), caught


def test_one_column_is_untilted_by_the_inverse_of_its_law():
    """Rows whose ranks follow F(u) = (e^{θu} − 1)/(e^θ − 1), made by inverting it: weights are 1/(1 + g(e^θ − 1)) of
    the rank g among the tilted rows, and the uniform law comes back."""
    theta, n = 1.7, 4000
    g = (np.arange(n) + 0.5) / n
    tilted = np.log1p(g * np.expm1(theta)) / theta
    distance = np.abs(np.expm1(theta * (u := np.linspace(0, 1, 4001))) / np.expm1(theta) - u).max()
    weights = untilted(tilted[:, None], distance)
    wanted = 1 / (1 + g * np.expm1(theta))
    np.testing.assert_allclose(weights, wanted / wanted.mean(), rtol=2e-3)
    assert weights @ tilted / n == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize("way", [1, -1])
def test_who_knows_the_decoy_recovers_what_it_moved(way):
    """Two columns that run against each other, tilted as the method does it, towards a rare class at either end: taken
    as they are the rows mislead by 0.4 standard deviations and more; with the tilt undone the mean comes back to a few
    hundredths."""
    from nacre.synthesizers.ppem.decoy import tilt

    rng = np.random.default_rng(3)
    x = rng.normal(size=20_000)
    real = pd.DataFrame({"x": x, "y": -0.7 * x + 0.7 * rng.normal(size=len(x))})
    schema = Schema({n: Numeric((-10.0, 10.0)) for n in real})
    weights = tilt(real.to_numpy(), 0.2, kinds=(way * x > 2).astype(int))
    drawn = real.iloc[rng.choice(len(x), len(x), p=weights / weights.sum())]
    naive, knowing = (
        {r.column: r.error for r in recover(drawn, real, schema, ["x", "y"], decoy) if r.what == "mean"}
        for decoy in (0.0, 0.2)
    )
    assert way * naive["x"] > 0.4 and way * naive["y"] < -0.4
    assert abs(knowing["x"]) < 0.05 and abs(knowing["y"]) < 0.05


def test_signs_that_the_tilt_turned_around_do_not_mislead_the_attacker():
    """z rises with a in all rows and falls in those with large a, which a decoy prefers: the axis of the released rows
    has other signs than the decoy used. Undone by those the rows mislead by half a standard deviation and more; the
    attacker who tries all patterns, or knows them, is right to a twentieth, with and without the truth at hand."""
    from nacre.synthesizers.ppem.decoy import directions, ranks, tilt

    rng = np.random.default_rng(0)
    n, names = 8_000, ["a", "b", "z"]
    a = rng.normal(size=n)
    x = np.stack([a, a + 0.7 * rng.normal(size=n), 0.15 * a - 0.3 * a**2 + rng.normal(size=n)], axis=1)
    weights = tilt(x, 0.2)
    drawn = x[rng.choice(n, n, p=weights / weights.sum())]
    true, turned = directions(ranks(x)), axis_signs(drawn)
    assert true.tolist() == [1, 1, 1] and turned.tolist() == [1, 1, -1] and axis_signs(x).tolist() == [1, 1, 1]
    schema = Schema({name: Numeric((-20.0, 20.0)) for name in names})
    made, real = (pd.DataFrame(rows, columns=names) for rows in (drawn, x))

    def worst(signs):
        return max(abs(r.error) for r in recover(made, real, schema, names, 0.2, signs) if r.what == "mean")

    assert worst(turned) > 0.5
    assert worst(None) < 0.05 and worst(true) < 0.05
    blind = estimate(made, schema, names, 0.2)
    assert max(abs(blind[name]["mean"][0] - m) for name, m in zip(names, x.mean(axis=0))) < 0.05


def test_patterns_are_all_of_few_columns_and_a_guess_of_many():
    rng = np.random.default_rng(0)
    few, many = patterns(rng.normal(size=(50, 4))), patterns(rng.normal(size=(50, 9)))
    assert len({tuple(one) for one in few}) == len(few) == 16 and few[1].tolist() == (-few[0]).tolist()
    assert len(many) == 2 and many[1].tolist() == (-many[0]).tolist()


def test_a_column_of_one_value_does_not_protect_the_others():
    rng = np.random.default_rng(1)
    x = np.sort(rng.random(500))
    both = np.column_stack([np.ones(500), x])
    np.testing.assert_array_equal(untilted(both, 0.2), untilted(both[:, 1:], 0.2))
    np.testing.assert_array_equal(
        untilted(both, 0.2, np.array([1.0, -1.0])), untilted(both[:, 1:], 0.2, np.array([-1.0]))
    )
    assert np.ptp(untilted(both, 0.2)) > 0.5


def test_a_column_that_others_carry_along_is_undone_with_them():
    """The second follows the first closely and needs no slope of its own; a wrong sign misleads."""
    from nacre.synthesizers.ppem.decoy import Columns, along, ranks

    rng = np.random.default_rng(2)
    a = rng.normal(size=6_000)
    x = np.stack([a, a + 0.05 * rng.normal(size=6_000), rng.normal(size=6_000)], axis=1)
    weights = along(Columns(ranks(x)), np.ones(3), 0.2).weights
    drawn = x[rng.choice(len(x), len(x), p=weights / weights.sum())]
    right, wrong = (
        np.average(drawn, axis=0, weights=untilted(drawn, 0.2, np.array(s))) for s in ((1, 1, 1), (1, 1, -1))
    )
    assert np.abs(right - x.mean(axis=0)).max() < 0.06 and np.abs(wrong - x.mean(axis=0)).max() > 0.5


def test_untilting_equal_rows_leaves_them():
    np.testing.assert_array_equal(untilted(np.zeros((50, 1)), 0.2), np.ones(50))


def test_unknown_columns_are_refused():
    with pytest.raises(SchemaError, match="not modelled"):
        estimate(table(20, 0.0, 0), SCHEMA, ["nobody"])
