"""The exponential mechanism on parameters: sensitivity, exact draws against quadrature, flows and their repair.

Seeds are fixed; each p-value below has a false-alarm rate of 1e-2 or less were they drawn anew.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from tests.learners import small

from nacre.errors import PlanError
from nacre.learners import exponential, fixed_point, losses
from nacre.learners import flow as flows
from nacre.learners.flow_chain import FlowProposals, accepted_places
from nacre.privacy.doors.rejection import Rejection
from nacre.privacy.noise import NoiseSource
from nacre.privacy.plan import Sample

X, Y = small.data()


def worth(utility, x, y, theta):
    """−loss of every row [n] at every θ [m]: [m, n]."""
    columns = np.concatenate([x.T, y[None].astype(float)])
    return np.stack([np.asarray(utility.per_record(columns, t)) for t in theta])


def test_one_row_changes_the_utility_by_at_most_the_sensitivity():
    """10⁵ (row, θ), extreme ones included. One output: 1 is approached; one-hot: more than 1.99 is reached."""
    rng = np.random.default_rng(0)
    for classes, s in ((2, 1.0), (3, 2.0)):
        assert losses.sensitivity(classes) == s
        utility = exponential.smooth_utility(2, classes)
        assert utility.high - utility.low == s
        theta = rng.standard_normal((100, losses.size(2, classes))) * 10.0 ** rng.integers(-2, 3, (100, 1))
        found = worth(utility, rng.uniform(-1, 1, (1000, 2)), rng.integers(0, classes, 1000), theta)
        assert found.min() >= -s - 1e-6 and found.max() <= 0
        assert (found.max(axis=1) - found.min(axis=1)).max() > 0.995 * s


def test_fixed_point_utility_is_the_squared_loss():
    rng = np.random.default_rng(1)
    x, y, theta = rng.uniform(-1, 1, (500, 3)), rng.integers(0, 2, 500), rng.standard_normal((20, 4)) * 2
    utility = fixed_point.linear_utility(3, 2)
    columns = np.concatenate([np.rint(x * fixed_point.X_STEPS).T, y[None].astype(float)])
    found = np.stack([utility.per_record(columns, t) for t in theta])
    yhat = 1 / (1 + np.exp(-(theta[:, :3] @ x.T + theta[:, 3:])))
    np.testing.assert_allclose(found, -np.square(yhat - y), atol=1.5e-3)  # steps of 1/1024 in the logit, 2⁻¹² in x
    with pytest.raises(PlanError, match="two classes"):
        fixed_point.linear_utility(3, 3)


def exact_draws(rate_epsilon: float, tau: float, count: int, seed: int) -> np.ndarray:
    training = exponential.Rejection(rate_epsilon, tau)
    task = small.task(training, X, Y, NoiseSource(seed))
    entry = Sample("draw", epsilon=rate_epsilon, draws=count)
    object.__setattr__(task.plan, "entries", (entry,))  # many draws of one law, to look at the law

    def prior(rng, n):
        return np.rint(rng.standard_normal((n, 2)) * tau * fixed_point.THETA_STEPS) / fixed_point.THETA_STEPS

    return task.curator.sample(entry, fixed_point.linear_utility(1, 2), Rejection(prior, 2, 10_000))


def test_candidates_have_keys_of_their_own():
    """With one key for all, the draw that comes out would tell how many were refused before it."""
    keys = []

    def prior(rng, n):
        assert n == 1
        keys.append(tuple(rng.bit_generator.state["state"]["key"]))
        assert not rng.bit_generator.state["state"]["counter"].any()
        return rng.standard_normal((n, 2))

    Rejection(prior, 2, 3)._one(fixed_point.linear_utility(1, 2), [], 0.0, NoiseSource(4))
    for _ in range(40):
        Rejection(prior, 2, 1)._one(fixed_point.linear_utility(1, 2), [], 0.0, NoiseSource(None))
    assert len(set(keys)) == len(keys) > 600


def test_a_prior_that_carries_rows_is_refused():
    rows = np.zeros((100, 2))
    with pytest.raises(PlanError, match="prior"):
        Rejection(lambda rng, n: rows[:n], 2).check(Sample("draw", epsilon=1.0), fixed_point.linear_utility(1, 2))


def test_chains_cannot_pass_for_exact_draws():
    task = small.task(exponential.Rejection(0.1), X, Y, NoiseSource(1))
    sampler = Rejection(lambda rng, n: rng.standard_normal((n, 2)), 2)
    object.__setattr__(sampler, "exact", False)
    with pytest.raises(PlanError, match="moves=0"):
        task.curator.sample(Sample("draw", epsilon=0.1), fixed_point.linear_utility(1, 2), sampler)


def marginal_p(draws: np.ndarray, points: np.ndarray, law: np.ndarray) -> list[float]:
    """KS p-values of both marginals against the law on the grid."""
    found = []
    for i in (0, 1):
        axis, place = np.unique(points[:, i], return_inverse=True)
        cdf = np.cumsum(np.bincount(place, law))
        half = (axis[1] - axis[0]) / 2
        found.append(float(stats.kstest(draws[:, i], lambda t: np.interp(t, axis + half, cdf)).pvalue))  # noqa: B023
    return found


def test_rejection_draws_the_exact_law():
    """500 draws at ε = .1, replace-one: rate ε/2; a rate of ε or ε/4 is told apart."""
    tau = 3.0
    draws = exact_draws(0.1, tau, 500, 3)
    assert min(marginal_p(draws, *small.grid_law(X, Y, 0.05, tau))) > 0.01
    for wrong in (0.1, 0.0125):
        assert min(marginal_p(draws, *small.grid_law(X, Y, wrong, tau))) < 1e-3


def test_minibatches_estimate_the_objective_without_bias():
    with jax.enable_x64(True):
        from nacre.nets import sylvester

        utility = exponential.smooth_utility(1, 2)
        target = flows.Target(utility.per_record, 0.3, 2.0)
        flow = jax.tree.map(
            lambda v: v.astype(jnp.float64), sylvester.start(jax.random.key(0), 2, sylvester.Layers(2, "planar"))
        )
        z = jnp.asarray(np.random.default_rng(2).normal(size=(8, 2)))
        columns = jnp.asarray(np.stack([X[:, 0], Y]))
        objective = jax.jit(target.objective)
        whole = float(objective(flow, z, columns, 1.0))
        for scale, unbiased in ((4.0, True), (1.0, False)):
            parts = [float(objective(flow, z, columns[:, i::4], scale)) for i in range(4)]
            assert (abs(np.mean(parts) - whole) < 1e-10) == unbiased


SHAPE = flows.FlowShape(layers=4, rank=2, draws=128, batch=200, steps=900)
TAU, RATE = 3.0, 0.5


@pytest.fixture(scope="module")
def fitted():
    utility = exponential.smooth_utility(1, 2)
    target = flows.Target(utility.per_record, RATE, TAU)
    columns = jnp.asarray(np.stack([X[:, 0], Y]), jnp.float32)
    flow = flows.train(SHAPE, 2, target, columns, jax.random.key(0))
    return target, columns, flow


def moments(points, law):
    mean = law @ points
    return mean, np.sqrt(law @ np.square(points - mean))


def test_flow_with_affine_layer_fits(fitted):
    """Normalised reverse KL at most .05 by importance weights against quadrature, ESS/N at least .5."""
    target, columns, flow = fitted
    theta, log_q = flows.draw(flow, SHAPE, 2, 4000, jax.random.key(1))
    log_w = np.asarray(jax.jit(target.log_density)(theta, columns) - log_q, np.float64)
    points, law = small.grid_law(X, Y, RATE, TAU)
    step = points[1, 1] - points[0, 1]
    yhat = 1 / (1 + np.exp(-(points[:, :1] * X[:, 0] + points[:, 1:])))
    log_p = -RATE * np.square(yhat - Y).sum(axis=1) - 0.5 * np.square(points / TAU).sum(axis=1)
    log_z = np.log(np.exp(log_p).sum() * step**2)
    assert -0.01 < log_z - log_w.mean() < 0.05
    assert flows.fit_of_weights(log_w)["ess_share"] > 0.5
    mean, _ = moments(points, law)
    np.testing.assert_allclose(np.asarray(theta).mean(axis=0), mean, atol=0.15)


def test_a_narrow_flow_is_noticed_and_repaired(fitted):
    """Half of the spread: weights tell it, and chains with this proposal have the exact spread again (to 10 %)."""
    target, columns, flow = fitted
    narrow = {**flow, "affine": {"mu": flow["affine"]["mu"], "ls": flow["affine"]["ls"] - jnp.log(2.0)}}
    points, law = small.grid_law(X, Y, RATE, TAU)
    theta, log_q = flows.draw(narrow, SHAPE, 2, 2000, jax.random.key(2))
    _, sd = moments(points, law)
    assert (np.asarray(theta).std(axis=0) / sd).max() < 0.8
    told = flows.fit_of_weights(np.asarray(jax.jit(target.log_density)(theta, columns) - log_q, np.float64))
    assert told["ess_share"] < 0.5 or told["k_hat"] > 0.7
    proposals, log_w = FlowProposals(2, TAU, SHAPE).proposals(narrow, target, columns, 80_000, jax.random.key(3))
    kept, _ = accepted_places(log_w.reshape(200, 400), np.random.default_rng(4))
    states = proposals.reshape(200, 400, 2)[np.arange(200)[:, None], kept][:, 100:].reshape(-1, 2)
    np.testing.assert_allclose(states.std(axis=0) / sd, 1, atol=0.1)


def test_chains_have_the_law_of_the_weights():
    """Two proposals' weights 1 : 3 in equal number: a quarter and three quarters of the time."""
    rng = np.random.default_rng(5)
    log_w = np.where(rng.random((50, 4000)) < 0.5, 0.0, np.log(3.0))
    places, _ = accepted_places(log_w, rng)
    heavy = np.take_along_axis(log_w, places, axis=1)[:, 50:] > 0.5
    assert abs(heavy.mean() - 0.75) < 0.01


@pytest.mark.slow
def test_equipartition_on_a_gaussian():
    """d = 50, quadratic loss, wide prior: mean excess loss is d·s/epsilon_tilde (rate = ε̃/2s), to 5 %."""
    d, rate = 50, 0.7
    target = flows.Target(lambda columns, t: -0.5 * jnp.square(t - columns[:, 0]).sum()[None], rate, 1e3)
    columns = jnp.asarray(np.random.default_rng(6).normal(size=(d, 1)), jnp.float32)
    shape = flows.FlowShape(layers=2, steps=1500, rate=3e-2)
    flow = flows.train(shape, d, target, columns, jax.random.key(0))
    theta, _ = flows.draw(flow, shape, d, 4000, jax.random.key(1))
    excess = 0.5 * np.square(np.asarray(theta) - np.asarray(columns[:, 0])).sum(axis=1).mean()
    assert excess == pytest.approx(d / (2 * rate), rel=0.05)
