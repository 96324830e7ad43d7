"""The linear part of PPEM's visible numbers, set right by generated rows: against laws whose moments are known."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from nacre.nets.branched import forward
from nacre.synthesizers.parts.heads import Heads
from nacre.synthesizers.ppem import finish, outset
from nacre.synthesizers.ppem.config import LATENT, TrainingConfig

KEY = jax.random.key(4)
LEAN = np.array([[[1.0, -2.0], [0.5, 0.3]], [[-3.0, 0.0], [0.0, 2.0]]])  # by class: mean and slope on the hidden number
MIX = np.array([[1.0, 0.7], [0.0, 0.5]])  # what the numbers of class 0 have in common; those of class 1 have nothing


def learnt_from(rare: int, n: int = 20_000):
    """Hidden and visible numbers, classes: `rare` rows of class 1."""
    rng = np.random.default_rng(0)
    kinds = (np.arange(n) < rare).astype(int)
    hidden, noise = rng.normal(2.0, 1.0, (n, 1)), rng.normal(size=(n, 2))
    known = np.concatenate([np.ones((n, 1)), hidden], axis=1)
    visible = np.einsum("ni,nij->nj", known, LEAN[kinds]) + np.where(kinds[:, None] == 1, noise, noise @ MIX)
    return hidden, visible, kinds


def untrained():
    """Networks whose numbers are related to each other, to the hidden one, and off their means."""
    config = TrainingConfig(Heads(1, ()), Heads(2, (3,)), 2, ((0,),), width=16)
    nets = {n: {k: np.array(a) for k, a in getattr(config, n).start(jax.random.fold_in(KEY, i))[0].items()}
            for i, n in enumerate(("omega", "v", "chooser"))}  # fmt: skip
    nets["v"]["out.weight"] += np.array([0.4, 0.5, 0, 0, 0], np.float32)
    nets["v"]["out.bias"] += np.array([1, -2, 0, 0, 0], np.float32)
    return config, nets


def generated(config, nets, last, seed=5):
    """(hidden, kinds, numbers before, numbers after) of rows that the correction was not made from."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((2, 80_000, LATENT)).astype(np.float32)
    hidden = forward(config.omega, nets["omega"], (z[0],))
    given, kinds = outset.with_class(config, nets, hidden, rng)
    before = forward(config.v, nets["v"], (z[1], given))[:, :2]
    return hidden, kinds, before, finish.finished(last, before, hidden, kinds)


def left_over(hidden, numbers):
    known = np.concatenate([np.ones((len(hidden), 1)), hidden], axis=1)
    lean = np.linalg.lstsq(known, numbers, rcond=None)[0]
    return lean, numbers - known @ lean


def slope_between(left):
    """Of the second number on the first, given the hidden one."""
    return (left[:, 0] @ left[:, 1]) / (left[:, 0] @ left[:, 0])


def test_moments_are_those_of_the_rows_by_how_often_they_count():
    hidden, visible, kinds = learnt_from(2_000)
    plain = finish.moments(hidden, visible, kinds, 2, np.ones(len(kinds), int))
    np.testing.assert_allclose(plain.lean, LEAN, atol=0.1)
    np.testing.assert_allclose(plain.root[0] @ plain.root[0].T, MIX.T @ MIX, atol=0.05)
    np.testing.assert_allclose(plain.rows, [18_000, 2_000])
    times = np.where(hidden[:, 0] > 2, 3, 0)
    places = np.repeat(np.arange(len(times)), times)
    some = finish.moments(hidden, visible, kinds, 2, times)
    wanted = finish.moments(hidden[places], visible[places], kinds[places], 2, np.ones(len(places), int))
    np.testing.assert_allclose(some.lean, wanted.lean, atol=1e-6)
    np.testing.assert_allclose(some.root, wanted.root, atol=1e-6)
    np.testing.assert_allclose(some.rows, [(times[kinds == c] > 0).sum() for c in (0, 1)])


def test_generated_numbers_get_the_linear_part_of_their_class():
    """Means and slopes on the hidden number, and of one number on the other, in both classes; the spread of the first,
    which nothing is regressed from, stays that of the generator."""
    config, nets = untrained()
    last = finish.finish_of(config, nets, finish.moments(*learnt_from(8_000), 2, np.ones(20_000, int)))
    hidden, kinds, before, after = generated(config, nets, last)
    for c, between in ((0, 0.7), (1, 0.0)):
        own = kinds == c
        assert own.sum() > 5_000
        lean, left = left_over(hidden[own], after[own])
        old, raw = left_over(hidden[own], before[own])
        np.testing.assert_allclose(lean, LEAN[c], atol=0.12)
        assert np.abs(old - LEAN[c]).max() > 0.5
        assert slope_between(left) == pytest.approx(between, abs=0.05)
        assert left[:, 0].std() == pytest.approx(raw[:, 0].std(), rel=0.05)


@pytest.mark.parametrize(("rare", "moved"), [(60, False), (100, True)])
def test_a_class_of_few_rows_is_left_as_it_is_made(rare, moved):
    """Twenty rows for each of two visible numbers, one hidden and the mean: 80."""
    config, nets = untrained()
    last = finish.finish_of(config, nets, finish.moments(*learnt_from(rare), 2, np.ones(20_000, int)))
    _, kinds, before, after = generated(config, nets, last)
    assert np.allclose(after[kinds == 1], before[kinds == 1], atol=1e-5) != moved
    assert not np.allclose(after[kinds == 0], before[kinds == 0], atol=0.1)


def test_a_class_without_rows_and_numbers_that_follow_from_others_are_left_alone():
    hidden, visible, kinds = learnt_from(0)
    visible[:, 1] = 2 * visible[:, 0]
    wanted = finish.moments(hidden, visible, kinds, 2, np.ones(len(kinds), int))
    assert wanted.rows[1] == 0 and np.isfinite(wanted.root).all()
    config, nets = untrained()
    last = finish.finish_of(config, nets, wanted)
    assert all(np.isfinite(a).all() for a in last.values())
    assert {n: a.shape for n, a in last.items()} == finish.shapes(config)
    np.testing.assert_array_equal(last["lean"][1], 0)


def test_no_row_looks_at_another():
    config, nets = untrained()
    last = finish.finish_of(config, nets, finish.moments(*learnt_from(2_000), 2, np.ones(20_000, int)))
    hidden, kinds, before, after = generated(config, nets, last)
    one = slice(7, 8)
    np.testing.assert_allclose(finish.finished(last, before[one], hidden[one], kinds[one]), after[one], rtol=1e-6)
