"""What chains draw through the door: the density of the plan's epsilon, whatever a utility says of its own range.

Seeds are fixed; were they drawn anew, each p-value would raise a false alarm once in a hundred times.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from tests.learners import small
from tests.learners.test_exponential import marginal_p

from nacre.learners.exponential import Walk
from nacre.learners.flow import FlowShape
from nacre.learners.flow_chain import FlowChain, FlowProposals
from nacre.learners.hamiltonian import Hamiltonian, Trajectories
from nacre.privacy.doors.sample import Utility
from nacre.privacy.noise import NoiseSource

X, Y = small.data(100)
TAU, CHAINS = 3.0, 400
FLOW = FlowShape(layers=2, rank=2, draws=32, batch=100, steps=300)


def drawn(training, seed: int) -> np.ndarray:
    """The draw of many chains in place of one: the training asks the door, which is given more chains than it has."""
    task = small.task(training, X, Y, NoiseSource(seed))
    entry = dataclasses.replace(task.plan["draw"], draws=CHAINS)
    object.__setattr__(task.plan, "entries", (entry,))
    real, kept = task.curator.sample, []

    def sample(asked, utility, sampler):
        kept.append(real(entry, utility, dataclasses.replace(sampler, chains=CHAINS)))
        return kept[0]

    task.curator.sample = sample
    released = training.train(task)
    states = kept[0].reshape(CHAINS, -1)
    return states + (released - states[0])  # what is released is the first, moved to where the parameters lie


@pytest.mark.parametrize(
    "training",
    [
        Hamiltonian(1.0, tau=TAU, moves=40, leaps=8),
        FlowChain(1.0, tau=TAU, moves=30, shape=FLOW),
        Walk(1.0, tau=TAU, moves=1000),
    ],
    ids=lambda t: t.name,
)
def test_a_chain_has_the_density_of_its_epsilon(training):
    """ε/2 for exchanged rows and the prior N(0, 9): both are told from twice and from half of them."""
    draws = drawn(training, 5)
    assert min(marginal_p(draws, *small.grid_law(X, Y, 0.5, TAU))) > 0.01
    for rate, tau in ((1.0, TAU), (0.25, TAU), (0.5, 2 * TAU), (0.5, TAU / 2)):
        assert min(marginal_p(draws, *small.grid_law(X, Y, rate, tau))) < 1e-3


def far_out(columns, point):
    """A thousand times what it declares."""
    return -1e3 * point[0] + 0 * columns[0]


@pytest.mark.parametrize("sampler", [Trajectories(2, 1.0, CHAINS, 4), FlowProposals(2, 1.0, FLOW, CHAINS)])
def test_chains_hold_a_utility_to_its_range(sampler):
    """−1 for every row where the first number is above 0, and 0 below: 100 rows at a rate of 1/100 leave a chance of
    1/(1 + e) above it, to 4 standard errors of 400 draws; unclipped, none would be there."""
    task = small.task(Hamiltonian(0.02, moves=40), X, Y, NoiseSource(6))
    entry = dataclasses.replace(task.plan["draw"], draws=CHAINS)
    object.__setattr__(task.plan, "entries", (entry,))
    utility = Utility(lambda columns, public: columns["x"].values[:, :1].repeat(2, 1), far_out, -1.0, 0.0)
    found = task.curator.sample(entry, utility, sampler)
    chance = 1 / (1 + np.e)
    assert (found[:, 0] > 0).mean() == pytest.approx(chance, abs=4 * np.sqrt(chance * (1 - chance) / CHAINS))
