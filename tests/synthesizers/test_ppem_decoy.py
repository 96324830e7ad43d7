"""The decoy of PPEM: which rows are imitated, and that the released columns are those of these rows."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from tests.synthesizers.untrained import untrained

import nacre
from nacre.errors import DataError, NacreError
from nacre.synthesizers.ppem import decoy, training
from nacre.table.simulate.people import people, people_schema

SMALL = {"steps": 60, "batch": 32, "width": 16}


def worth(weights):
    return weights.sum() ** 2 / (weights**2).sum()


def moved(x, weights):
    """max_t |F_weighted(t) − F(t)| of every column, straight from the definition."""
    found = []
    for column in np.asarray(x, float).T:
        below = column[:, None] <= np.unique(column)
        found.append(np.abs(weights @ below / weights.sum() - below.mean(axis=0)).max())
    return np.array(found)


def test_tilted_ranks_follow_the_truncated_exponential_law():
    """One column: F(u) = (e^{θu} − 1)/(e^θ − 1), so the weights' θ gives the distance in closed form."""
    x = np.random.default_rng(0).normal(size=(4000, 1)) ** 3
    weights = decoy.tilt(x, 0.25)
    rank = decoy.ranks(x)[:, 0]
    theta = np.polyfit(rank, np.log(weights), 1)[0]
    u = np.linspace(0, 1, 2001)
    assert np.abs((np.exp(theta * u) - 1) / (np.exp(theta) - 1) - u).max() == pytest.approx(0.25, abs=2e-3)
    assert moved(x, weights)[0] == pytest.approx(0.25, abs=1e-4)
    assert weights.mean() == pytest.approx(1.0)


def test_columns_that_run_against_each_other_are_tilted_apart():
    """For x and −x no tilt upwards moves either; in opposite directions the weights are those of one column."""
    x = np.random.default_rng(1).normal(size=(500, 1))
    both = np.concatenate([x, -x], axis=1)
    weights = decoy.tilt(both, 0.3)
    np.testing.assert_allclose(weights, decoy.tilt(x, 0.3), rtol=1e-6)
    means = np.average(both, axis=0, weights=weights)
    assert means[0] > 0.4 and means[1] < -0.4


@pytest.mark.parametrize("end", [1, -1])
def test_of_two_opposite_tilts_that_is_taken_which_leaves_more_of_the_rarest_class(end):
    """A class at one end of the hidden column, rows without a class and a class number that nobody has: the tilt goes
    towards it, by the distance that was asked for. Without classes, or with one, it goes upwards."""
    x = np.random.default_rng(2).normal(size=(3000, 1))
    kinds = np.where(end * x[:, 0] > 1.8, 2, 0)
    kinds[:50] = -1
    weights = decoy.tilt(x, 0.2, kinds=kinds)
    assert weights[kinds == 2].mean() > 1.2 and end * np.average(x[:, 0], weights=weights) > 0.3
    assert moved(x, weights)[0] == pytest.approx(0.2, abs=1e-4)
    for alone in (None, np.zeros(3000, int), np.full(3000, -1)):
        np.testing.assert_array_equal(decoy.tilt(x, 0.2, kinds=alone), decoy.tilt(x, 0.2))
    assert np.average(x[:, 0], weights=decoy.tilt(x, 0.2)) > 0.3


def test_a_decoy_that_cannot_be_is_refused():
    constant = np.column_stack([np.random.default_rng(1).normal(size=500), np.ones(500)])
    with pytest.raises(NacreError, match=r"no tilt of these rows.*; staying behind: 'b'. Hide fewer"):
        decoy.tilt(constant, 0.3, ["a", "b"])
    with pytest.raises(NacreError, match="staying behind: 'b'"):
        decoy.tilt(constant[:, 1:], 0.3, ["b"])


def flags(rows, columns, share=0.2):
    names = [f"c{i}" for i in range(columns)]
    values = np.random.default_rng(0).random((rows, columns)) < share
    schema = nacre.Schema({n: nacre.Boolean() for n in [*names, "seen"]})
    table = dict(zip(names, values.T)) | {"seen": values[:, 0] ^ values[:, 1]}
    return pd.DataFrame(table), schema, names


def test_a_decoy_that_imitates_a_few_people_is_refused_before_training(monkeypatch):
    """Forty flags, each asked to move: the tilt leaves about one row. Nothing may be trained on it."""
    frame, schema, names = flags(2000, 40)
    weights = decoy.tilt(frame[names].to_numpy(float), 0.15)
    assert worth(weights) < 50
    monkeypatch.setattr(training, "train", lambda *_: pytest.fail("trained"))
    with pytest.raises(DataError, match=r"decoy=0.15 over 40 hidden columns: 2,000 .*hide fewer columns, or ask for a"):
        nacre.fit(frame, epsilon=None, schema=schema, method="ppem", hide=names, options={**SMALL, "decoy": 0.15})


def test_the_owner_is_told_what_the_rows_of_the_decoy_are_worth(monkeypatch):
    """A warning below a tenth of the rows; the number itself always, and to the owner alone."""
    from nacre.owner import diagnostic_lines

    monkeypatch.setattr(training, "train", untrained)
    frame, schema, names = flags(2000, 16)
    notes = nacre.OwnerNotes()
    fast = {**SMALL, "steps": 5, "width": 8, "decoy": 0.18}
    with pytest.warns(UserWarning, match="decoy=0.18 over 16 hidden columns: 2,000 weighted rows are worth"):
        made = nacre.fit(frame, epsilon=None, schema=schema, method="ppem", hide=names, options=fast,
                         owner=notes)  # fmt: skip
    weights = decoy.tilt(frame[names].to_numpy(float), 0.18)
    assert 50 < worth(weights) < 200 and notes.diagnostics["decoy"]["effective_rows"] == pytest.approx(worth(weights))
    (line,) = diagnostic_lines(notes.diagnostics["decoy"])
    assert line.startswith("the rows that the decoy imitates") and f"worth {worth(weights):.0f} equal ones" in line
    assert "effective" not in str(made.certificate.to_json())


def three_columns(n=3000):
    """One column that follows another closely, and one on its own."""
    rng = np.random.default_rng(4)
    a = rng.normal(size=n)
    return np.stack([a, a + 0.1 * rng.normal(size=n), rng.gamma(2.0, size=n)], axis=1)


@pytest.mark.parametrize("signs", [(1, 1, 1), (-1, -1, 1), (1, 1, -1)])
def test_every_column_moves_by_the_distance_in_its_own_direction(signs):
    """Log weights are linear in the ranks with a slope of the column's sign, or none: then others carry it along. What
    has a slope moves by the distance asked for and no further."""
    x, rank = three_columns(1000), decoy.ranks(three_columns(1000))
    weights, _, short, exact = decoy.along(decoy.Columns(rank), np.array(signs, float), 0.2)
    known = np.column_stack([np.ones(len(x)), rank])
    slope = np.linalg.lstsq(known, np.log(weights), rcond=None)[0]
    np.testing.assert_allclose(known @ slope, np.log(weights), atol=1e-9)
    theta, far = slope[1:] * signs, moved(x, weights)
    assert exact and not short.any() and (theta > -1e-9).all() and weights.mean() == pytest.approx(1.0)
    np.testing.assert_allclose(far[theta > 1e-9], 0.2, atol=1e-5)
    assert (far > 0.2 - 1e-5).all() and (theta > 1e-9).sum() >= 2
    assert (np.sign(np.average(x, axis=0, weights=weights) - x.mean(axis=0)) == signs).all()


def test_no_weights_that_move_the_columns_so_far_are_nearer_to_equal_ones():
    """The tilt is the least in Kullback-Leibler divergence with its mean ranks: no way to change weights that leaves
    these is downhill, and equal slopes, which move one column too far, are worth fewer rows."""
    x = three_columns(600)
    rank = decoy.ranks(x)
    weights = decoy.along(decoy.Columns(rank), np.ones(3), 0.2).weights
    known = np.column_stack([np.ones(len(rank)), rank])
    rng = np.random.default_rng(0)
    for _ in range(5):
        way = rng.normal(size=len(rank))
        way -= known @ np.linalg.lstsq(known, way, rcond=None)[0]  # the same mass and mean ranks
        near = weights + 1e-3 * weights.min() * way / np.abs(way).max()
        assert (near * np.log(near)).sum() > (weights * np.log(weights)).sum()
    alike = np.exp(np.linspace(0, 4, 81)[:, None] * rank.sum(axis=1))
    first = next(w for w in alike if moved(x, w).min() >= 0.2)
    assert worth(weights) > 1.05 * worth(first)


@pytest.mark.parametrize("distance", [0.05, 0.2])
def test_no_tilt_of_columns_that_depend_on_each_other_goes_further_than_asked(distance):
    """Tables on which plain Newton steps end far beyond the distance, or nowhere."""
    for seed in range(1070, 1090):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(500, 2)) @ rng.normal(size=(2, 4)) * 2 + 0.3 * rng.normal(size=(500, 4)) ** 3
        x[:, 0] = np.digitize(x[:, 0], np.quantile(x[:, 0], [0.3, 0.6, 0.85]))
        far = moved(x, decoy.tilt(x, distance))
        assert far.min() == pytest.approx(distance, rel=3e-4)


def test_a_column_moves_where_it_has_room():
    """A flag of nine rows in ten goes down; of twenty rare flags each goes up, whatever their first axis says."""
    rng = np.random.default_rng(2)
    often = (rng.random((500, 1)) < 0.9).astype(float)
    assert np.average(often[:, 0], weights=decoy.tilt(often, 0.2)) == pytest.approx(often.mean() - 0.2, abs=1e-4)
    rare = (rng.random((3000, 20)) < 0.04).astype(float)
    weights = decoy.tilt(rare, 0.05)
    np.testing.assert_allclose(np.average(rare, axis=0, weights=weights) - rare.mean(axis=0), 0.05, atol=1e-4)


def test_many_flags_of_all_frequencies_leave_most_rows():
    """A slope for each: with one for all, as steep as the rarest flag asks, a few rows would be left."""
    share = np.linspace(0.02, 0.4, 60)
    flags = np.random.default_rng(1).random((3000, 60)) < share
    weights = decoy.tilt(flags.astype(float), 0.01)
    assert worth(weights) > 0.7 * len(flags)
    np.testing.assert_allclose(np.abs(np.average(flags, axis=0, weights=weights) - flags.mean(axis=0)), 0.01, rtol=1e-3)


def test_of_all_directions_those_are_taken_that_leave_every_class_worth_most():
    """By trying all eight, with the worth of a class no more than its weight; a class of a few rows has no say."""
    x, rng = three_columns(1500), np.random.default_rng(5)
    kinds = np.where((x[:, 0] < -1) & (x[:, 2] > 1.5), 1, 0)
    kinds[rng.choice(1500, 15, replace=False)] = 2
    columns = decoy.Columns(decoy.ranks(x))

    def score(weights):
        own = [weights[kinds == c] for c in (0, 1)]
        return np.prod([min(worth(w), w.sum()) / len(w) for w in own])

    tried = [decoy.along(columns, np.array(s, float), 0.2) for s in product((1, -1), repeat=3)]
    tried = [one.weights for one in tried if one.exact]
    found = decoy.tilt(x, 0.2, kinds=kinds)
    np.testing.assert_allclose(found, max(tried, key=score), rtol=1e-6)
    assert found[kinds == 1].mean() > 1


@pytest.mark.slow
def test_a_single_hidden_number_keeps_its_shape():
    """One number alone has neither collapsed nor run to an end of its range: its spread and its distance are those of
    the tilted rows. With a Lipschitz penalty on both sides they are not."""
    data, column = people(3000, 3), "age"
    options = {"steps": 4000, "batch": 64, "width": 32, "decoy": 0.3}
    made = nacre.fit(data, epsilon=None, schema=people_schema(), method="ppem", hide=[column], options=options)
    real, fake = data.to_pandas()[column].dropna(), made.sample(4000, seed=1)[column].dropna()
    rank = decoy.ranks(real.to_numpy(float)[:, None])
    weights = decoy.tilt(rank, 0.3)
    spread = np.sqrt(np.cov(real, aweights=weights))
    assert 0.75 < fake.std() / spread < 1.25
    assert abs(fake.mean() - np.average(real, weights=weights)) < 0.25 * spread


@pytest.mark.slow
@pytest.mark.parametrize("hide", [["age"], ["income"], ["age", "income"]])
def test_a_decoy_moves_the_hidden_columns_to_the_tilted_rows(hide):
    """At the width and learning rates of the defaults: distances from the real columns as asked, and near the tilted
    rows everywhere; the control stays."""
    from scipy.stats import ks_2samp

    real, schema = people(4000, 3).to_pandas().dropna(subset=hide), people_schema()
    weights = decoy.tilt(real[hide].to_numpy(float), 0.3)
    drawn = real.iloc[np.random.default_rng(0).choice(len(real), 20_000, p=weights / weights.sum())]
    for distance, wanted in ((0.3, drawn), (0.0, real)):
        options = {"steps": 12_000, "decoy": distance, "weight": 0.0}
        made = nacre.fit(real, epsilon=None, schema=schema, method="ppem", hide=hide, options=options)
        found = made.sample(10_000, seed=1).dropna(subset=hide)
        for column in hide:
            assert ks_2samp(found[column], wanted[column]).statistic < 0.1
            if distance:
                assert ks_2samp(found[column], real[column]).statistic == pytest.approx(0.3, abs=0.06)
