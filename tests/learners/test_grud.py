"""GRU-D against a plain loop, its gaps by hand, and what each training promises."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from nacre.errors import DataError, LedgerRequired, PlanError
from nacre.learners import fixed_point
from nacre.learners.descending import NoisyGd, Sgd
from nacre.learners.exponential import Rejection, Walk, exact_prior
from nacre.learners.files import load
from nacre.learners.flow import ExpmNf, FlowShape
from nacre.learners.flow_chain import FlowChain
from nacre.learners.grud import GRUD
from nacre.learners.hamiltonian import Hamiltonian
from nacre.learners.logistic import LogisticRegression
from nacre.nets.gru_d import GruD, gaps
from nacre.owner import OwnerNotes
from nacre.privacy.doors import rejection
from nacre.privacy.ledger import Policy, open_ledger
from nacre.privacy.ledger.payment import Account
from nacre.privacy.noise import NoiseSource

NET = GruD(hours=5, inputs=3, hidden=4)
PUBLIC = {"bounds": (-3.0, 3.0), "classes": (0, 1), "hidden": 3}


def series(rows: int = 120, seed: int = 0):
    """The label is the sign of the mean of the first measurement; half of the values are missing."""
    rng = np.random.default_rng(seed)
    level = rng.normal(size=rows)
    X = rng.normal(size=(rows, 5, 3)) * 0.3
    X[:, :, 0] += level[:, None]
    X[rng.random(X.shape) < 0.5] = np.nan
    return X, (level > 0).astype(int)


def sigmoid(t):
    return 1 / (1 + np.exp(-t))


def by_hand(p, values, mask):
    """The equations of the spec, one step after the other, with NumPy."""
    h, last, gap = np.zeros(4), np.zeros(3), np.zeros(3)
    for t in range(5):
        if t:
            gap = 1 + (1 - mask[t - 1]) * gap
        gx, gh = np.exp(-np.maximum(0, p["wx"] * gap + p["bx"])), np.exp(-np.maximum(0, p["wh"] @ gap + p["bh"]))
        x = np.where(mask[t] > 0, values[t], gx * last)
        hh = gh * h
        z = sigmoid(p["w"][0] @ x + p["u"][0] @ hh + p["v"][0] @ mask[t] + p["b"][0])
        r = sigmoid(p["w"][1] @ x + p["u"][1] @ hh + p["v"][1] @ mask[t] + p["b"][1])
        new = np.tanh(p["w"][2] @ x + p["u"][2] @ (r * hh) + p["v"][2] @ mask[t] + p["b"][2])
        h = (1 - z) * hh + z * new
        last = np.where(mask[t] > 0, values[t], last)
    return p["wo"] @ h + p["bo"]


def test_network_by_hand():
    rng = np.random.default_rng(1)
    p = {k: v + 0.3 * rng.normal(size=v.shape).astype(np.float32) for k, v in NET.start(0).items()}
    mask = (rng.random((5, 3)) < 0.5).astype(np.float32)
    values = mask * rng.normal(size=(5, 3)).astype(np.float32)
    found = jax.jit(NET.logit)(p, np.concatenate([values.ravel(), mask.ravel()]))
    assert float(found) == pytest.approx(by_hand(p, values, mask), abs=1e-5)


def test_all_observed_and_no_decay_is_a_plain_gru():
    """Zero decay weights and masks of ones: what is left is a GRU whose bias has V·1 in it."""
    p = NET.start(3)
    p |= {name: np.zeros_like(p[name]) for name in ("wx", "wh", "bx", "bh")}
    values = np.random.default_rng(2).normal(size=(5, 3)).astype(np.float32)
    h, bias = np.zeros(4), p["b"] + p["v"].sum(axis=2)
    for x in values:
        z, r = (sigmoid(p["w"][i] @ x + p["u"][i] @ h + bias[i]) for i in (0, 1))
        h = (1 - z) * h + z * np.tanh(p["w"][2] @ x + p["u"][2] @ (r * h) + bias[2])
    found = NET.logit(p, np.concatenate([values.ravel(), np.ones(15, np.float32)]))
    assert float(found) == pytest.approx(float(p["wo"] @ h), abs=1e-5)


def test_gaps_on_a_hand_example():
    mask = np.array([[1.0], [0.0], [0.0], [1.0], [0.0]])
    assert np.asarray(gaps(mask)).ravel().tolist() == [0, 1, 2, 3, 1]


@pytest.mark.parametrize(("hidden", "size"), [(10, 7839), (38, 32_395), (67, 62_787), (100, 103_509)])
def test_size(hidden, size):
    network = GruD(24, 104, hidden)
    assert network.size == size == len(ravel_pytree(network.start(0))[0])


def test_it_learns_and_promises_nothing_without_noise():
    X, y = series()
    model = GRUD(Sgd(steps=150, batch=60.0, rate=0.03), **PUBLIC).fit(X, y)
    assert model.score(*series(200, 5)) > 0.8
    assert model.certificate_.guarantee == "none"
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1.0)


@pytest.mark.slow
def test_private_training_and_flows(tmp_path):
    X, y = series(60)
    private = GRUD(NoisyGd(epsilon=4.0, steps=3), **PUBLIC).fit(X, y)
    assert (private.certificate_.guarantee, private.certificate_.epsilon) == ("proven (real arithmetic)", 4.0)
    flow = GRUD(ExpmNf.paper(1.0, layers=1, steps=3, draws=4, batch=8), **PUBLIC).fit(X, y)
    assert flow.certificate_.guarantee == "none" and flow.certificate_.extras["epsilon_tilde"] == 1.0
    assert flow.proba_of(flow.draw(1)[0], X).shape == (60, 2) and flow.certificate_.extras["releases"] == 2
    assert flow.bayes_proba(X, 3).sum(axis=1) == pytest.approx(1.0) and flow.certificate_.extras["releases"] == 5
    before = flow.certificate_.extras["releases"]
    assert flow.map_proba(X).shape == (len(X), 2) and flow.certificate_.extras["releases"] == before + 1
    flow.save(tmp_path / "g.nacre")
    assert np.array_equal(load(tmp_path / "g.nacre").predict_proba(X), flow.predict_proba(X))


@pytest.mark.slow
@pytest.mark.parametrize(
    "training",
    [
        Hamiltonian(20.0, tau=1.0, moves=60, chains=2, leaps=8),
        FlowChain(20.0, tau=1.0, moves=16, chains=2, shape=FlowShape(layers=1, steps=300, draws=8, batch=64)),
        Walk(20.0, tau=1.0, moves=2000, chains=2),
    ],
    ids=lambda t: t.name,
)
def test_chains_draw_the_weights_of_a_network(training):
    """Conditional on their convergence, which the owner hears of; around the public start weights and, at ε = 20,
    nearer to what the rows say than those."""
    X, y = series()
    notes = OwnerNotes()
    found = GRUD(training, **PUBLIC, noise_seed=3).fit(X, y, owner=notes)
    told = notes.diagnostics["draw"]
    assert found.certificate_.guarantee == "none" and "seeded" in str(found.certificate_)
    assert found.certificate_.entries[0]["door"] == "sample" and {"r_hat", "bulk_ess", "accepted"} <= set(told)

    def loss(parameters):
        return np.square(found.proba_of(parameters, X)[:, 1] - y).mean()

    start = np.asarray(ravel_pytree(found.network_.start(0))[0])
    assert found.parameters_.shape == start.shape and loss(found.parameters_) < 0.8 * loss(start)


def whole_records(rows: int, seed: int):
    """(columns of the whole-number utility, the same records as the network sees them, labels)."""
    rng = np.random.default_rng(seed)
    mask = (rng.random((rows, 15)) < 0.5).astype(np.float64)
    values = mask * rng.integers(-4096, 4097, (rows, 15))
    labels = rng.integers(0, 2, rows)
    columns = np.concatenate([values, mask * 4096, labels[:, None]], axis=1).T
    return columns, np.concatenate([values / 4096, mask], axis=1), labels


def test_losses_in_whole_numbers_are_those_of_the_network():
    """Far from the start weights too, so that every part of the network matters; to the bit in any company."""
    columns, records, labels = whole_records(600, 2)
    utility, rng, start = fixed_point.network_utility(NET), np.random.default_rng(3), NET.start(0)
    for scale in (0.01, 0.5, 1.5):
        point = scale * rng.standard_normal(NET.size)
        p = ravel_pytree(start)[1](ravel_pytree(start)[0] + point)
        logits = np.asarray(jax.vmap(NET.logit, (None, 0))(p, records.astype(np.float32)))
        found = utility.per_record(columns, point)
        np.testing.assert_allclose(found, -np.square(sigmoid(logits) - labels), atol=6e-3)
        some = rng.permutation(600)[:77]
        assert np.array_equal(utility.per_record(np.ascontiguousarray(columns[:, some]), point), found[some])


def test_sums_in_whole_numbers_are_exact_at_the_largest_weights():
    """Weights at their limit and the widest network that is allowed: no partial sum leaves the exact numbers."""
    most = fixed_point.MOST_THETA * fixed_point.THETA_STEPS
    inputs = 2 * most * fixed_point.FEATURES * fixed_point.X_STEPS  # values and flags
    assert inputs + most * fixed_point.FEATURES * fixed_point.X_STEPS + most * fixed_point.X_STEPS < 2**53


def test_exact_draws_of_a_network():
    """Proven, around the public start weights. A candidate is kept with chance exp(−rate·Σ loss): the mean of draws
    is that of candidates by these weights (to 4 standard errors), far from the candidates' own."""
    X, y = series(40)
    notes = OwnerNotes()
    found = GRUD(Rejection(0.02, patience=50), **PUBLIC).fit(X, y, owner=notes)
    told = notes.diagnostics["draw"]
    assert found.certificate_.guarantee == "proven" and set(told) == {"tried", "accepted"}
    start = np.asarray(ravel_pytree(found.network_.start(0))[0])
    moved = (found.parameters_ - start) * np.sqrt(len(start))  # the default prior
    assert 0.5 < moved.std() < 1.5
    columns = whole_records(60, 4)[0]
    columns[-1] = 1  # of one class: the losses of all records go together, and draws differ much from candidates
    utility, prior = fixed_point.network_utility(NET), exact_prior(1.0, NET.size)
    points = prior(np.random.default_rng(5), 1000)
    losses = np.array([-utility.per_record(columns, p).sum() for p in points])
    weights = np.exp(-0.1 * losses)
    wanted = (weights * losses).sum() / weights.sum()
    spread = np.sqrt((weights * (losses - wanted) ** 2).sum() / weights.sum())
    sampler = rejection.Rejection(prior, NET.size, 10**6)
    drawn = [sampler._one(utility, [columns.T], 0.1 / rejection.STEPS, NoiseSource(seed))[0] for seed in range(40)]
    kept = np.mean([-utility.per_record(columns, p).sum() for p in drawn])
    error = spread * np.sqrt(1 / 40 + np.square(weights).sum() / weights.sum() ** 2)
    assert abs(kept - wanted) < 4 * error < losses.mean() - wanted


def test_refusals():
    X, y = series(20)
    with pytest.raises(PlanError, match="4,000 measurements and hidden units"):
        fixed_point.network_utility(GruD(1, 4001, 2))
    with pytest.raises(DataError, match="dimensions"):
        GRUD(**PUBLIC).fit(X[:, 0], y)
    with pytest.raises(DataError, match="dimensions"):
        GRUD(**PUBLIC).fit(X[:, :, :0], y)
    for hidden in (0, 1.5, "3"):
        with pytest.raises(PlanError, match=f"hidden={hidden!r}: expected"):
            GRUD(**{**PUBLIC, "hidden": hidden}).fit(X, y)
    with pytest.raises(DataError, match="one label"):
        GRUD(**PUBLIC).fit(X, y[:-1])


def test_a_learner_pays_into_a_ledger(tmp_path, monkeypatch):
    """Mandatory books: no fit without a population, a charge with one, nothing that promises nothing."""
    monkeypatch.setenv("NACRE_STATE", str(tmp_path / "state"))
    path = tmp_path / "books.sqlite"
    books = open_ledger(path, create=True)
    books.create("wards", Policy(1.0, 1e-6, neighbours="replace_one"))
    X, y = np.random.default_rng(0).uniform(-1, 1, (40, 2)), np.arange(40) % 2
    model = LogisticRegression(Rejection(0.05, patience=5, delta=1e-7), bounds=(-1, 1), classes=(0, 1))
    monkeypatch.setenv("NACRE_LEDGER", str(path))
    monkeypatch.delenv("NACRE_POPULATION", raising=False)
    with pytest.raises(LedgerRequired, match="population"):
        model.fit(X, y)
    model.fit(X, y, ledger=Account(None, "wards"))
    assert model.certificate_.extras["ledger"]["population"] == "wards"
    assert [row.kind for row in books.rows("wards")][-1] == "settled"
    for careless in (LogisticRegression(Sgd(steps=2), bounds=(-1, 1), classes=(0, 1)), LogisticRegression()):
        with pytest.raises(LedgerRequired, match="promises nothing"):
            careless.fit(X, y, ledger=Account(None, "wards"))
