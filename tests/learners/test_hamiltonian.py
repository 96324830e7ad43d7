"""Hamiltonian chains against the density of two parameters on a grid, and their promise."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.learners import small

from nacre.errors import PlanError
from nacre.learners import flow_chain
from nacre.learners.exponential import Walk, smooth_utility
from nacre.learners.flow import FlowShape
from nacre.learners.flow_chain import FlowChain
from nacre.learners.hamiltonian import Hamiltonian, Trajectories, _chains, _leapfrog
from nacre.learners.logistic import LogisticRegression
from nacre.owner import OwnerNotes
from nacre.privacy.noise import NoiseSource

RATE, TAU = 0.5, 3.0


def test_moments_of_the_exact_density():
    """8 chains of 1,500 moves, second halves: means to 0.15 sd and spreads to 12 % (about 4 standard errors)."""
    X, y = small.data(200)
    points, law = small.grid_law(X, y, RATE, TAU)
    mean = law @ points
    sd = np.sqrt(law @ (points - mean) ** 2)
    with jax.enable_x64(True):
        columns = jnp.asarray(np.concatenate([X.T, y[None]]).astype(np.float64))
        sampler = Trajectories(2, TAU, chains=8, leaps=8)
        states, moved = _chains(sampler, 1500, smooth_utility(1, 2).per_record, jax.random.key(0), columns, RATE)
    kept = np.asarray(states)[:, 750:].reshape(-1, 2)
    assert np.abs((kept.mean(0) - mean) / sd).max() < 0.15
    assert kept.std(0) == pytest.approx(sd, rel=0.12)
    assert 0.6 < np.asarray(moved)[:, 750:].mean() < 0.98


def test_leapfrog_keeps_energy_and_turns_back():
    energy = lambda s: 0.5 * (s**2).sum() + 0.1 * (s**4).sum()  # noqa: E731
    with jax.enable_x64(True):
        s, p = jnp.array([1.0, -0.5]), jnp.array([0.3, 0.8])
        slope = jax.value_and_grad(energy)
        there, after = _leapfrog(slope, (s, *slope(s)), p, jnp.asarray(0.01), jnp.asarray(100))
        (back, _, _), _ = _leapfrog(slope, there, -after, jnp.asarray(0.01), jnp.asarray(100))
        new = there[0]
        assert float(there[1]) == float(energy(new)) and np.array_equal(there[2], jax.grad(energy)(new))
        assert float(energy(new) + 0.5 * after @ after) == pytest.approx(float(energy(s) + 0.5 * p @ p), abs=1e-3)
        assert np.asarray(back) == pytest.approx(np.asarray(s), abs=1e-9)


def test_promise_names_and_refusals():
    X, y = small.data(60)
    notes = OwnerNotes()
    model = LogisticRegression(Hamiltonian(0.5, moves=40, leaps=4), bounds=(-1, 1), classes=(0, 1))
    model.fit(X, y, owner=notes)
    told = notes.diagnostics["draw"]
    assert model.certificate_.guarantee == "conditional" and {"r_hat", "bulk_ess", "moves"} <= {*told}
    assert 0 < told["accepted"] <= 1
    assert {Hamiltonian.name, Walk.name, FlowChain.name} == {"expm-hmc", "expm-walk", "expm-mh"}
    with pytest.raises(PlanError, match="moves"):
        LogisticRegression(Hamiltonian(0.5, moves=4), bounds=(-1, 1), classes=(0, 1)).fit(X, y)


class OneWord(NoiseSource):
    """A seeded source whose first 64 bits are the same for every seed."""

    def bits64(self, n):
        found = super().bits64(n)
        if not hasattr(self, "begun"):
            self.begun, found = True, np.append(np.uint64(7), found[1:])
        return found


@pytest.mark.parametrize(
    "training", [Hamiltonian(0.5, moves=8, leaps=2), FlowChain(0.5, moves=8, shape=FlowShape(layers=1, steps=2))]
)
def test_more_than_64_bits_stand_behind_a_draw(training, monkeypatch):
    """So few could be tried one after the other. Every proposal of a flow is accepted here, to see it alone."""
    places = lambda log_w, rng: (np.full(log_w.shape, 7), np.ones(log_w.shape, bool))  # noqa: E731
    monkeypatch.setattr(flow_chain, "accepted_places", places)
    tasks = [small.task(training, *small.data(60), OneWord(seed)) for seed in (1, 2, 2)]
    one, other, again = (training.train(task) for task in tasks)
    assert np.array_equal(other, again) and not np.array_equal(one, other)
