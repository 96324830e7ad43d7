"""LiRA: scores by SciPy, curves by scikit-learn, shadows equal to the learners, memorisers caught, noise not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

from nacre.audit import lira
from nacre.errors import NacreError, PlanError
from nacre.learners import losses
from nacre.learners.descending import NoisyGd, Sgd
from nacre.learners.exponential import Rejection
from nacre.learners.flow import ExpmNf
from nacre.learners.logistic import LogisticRegression
from nacre.learners.shadows import batch_of, summed_gradient, train_shadows
from nacre.learners.training import Task

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (60, 3)).astype(np.float32)
Y = (X[:, 0] + 0.3 * RNG.normal(size=60) > 0).astype(np.int32)


def made_up(shift: float, points: int = 400, shadows: int = 200, targets: int = 20, seed: int = 1):
    """φ = N(shift·inside, 1) around a level of each point's own."""
    rng = np.random.default_rng(seed)
    members = lira.halves(shadows + targets, points, seed)
    phi = rng.normal(size=points) + shift * members + rng.normal(size=members.shape)
    return lira.Shadows.of(phi[:shadows], members[:shadows]), phi[shadows:], members[shadows:]


def test_scores_by_scipy():
    laws, phi, members = made_up(1.0)
    (mean_in, var_in), (mean_out, var_out) = laws.inside, laws.outside
    wanted = stats.norm.logpdf(phi, mean_in, var_in**0.5) - stats.norm.logpdf(phi, mean_out, var_out**0.5)
    assert laws.online(phi) == pytest.approx(wanted)
    assert laws.offline(phi) == pytest.approx(-stats.norm.logsf(phi, mean_out, var_out**0.5))
    scores = laws.online(phi)[0]
    assert lira.area(scores, members[0]) == pytest.approx(roc_auc_score(members[0], scores))


def test_power_is_that_of_the_normal_and_noise_is_chance():
    """Shift 2: area Φ(2/√2) = .921, found at 1 % Φ(2 − 2.326) = .372; no shift: .5. Four standard errors of 8,000."""
    laws, phi, members = made_up(2.0)
    scores = laws.online(phi)
    areas = [lira.area(s, m) for s, m in zip(scores, members)]
    assert np.mean(areas) == pytest.approx(stats.norm.cdf(2**0.5), abs=0.02)
    assert np.mean([lira.found_at(s, m, 0.01) for s, m in zip(scores, members)]) == pytest.approx(0.372, abs=0.1)
    laws, phi, members = made_up(0.0)
    assert np.mean([lira.area(s, m) for s, m in zip(laws.online(phi), members)]) == pytest.approx(0.5, abs=0.025)


def test_a_memoriser_is_caught_and_curves_are_monotone():
    laws, phi, members = made_up(8.0, shadows=40)  # few shadows: pooled variances
    curve = lira.Curve.of(laws.online(phi), members)
    assert np.mean([lira.found_at(s, m, 0.001) for s, m in zip(laws.online(phi), members)]) > 0.9
    assert curve.rates[0] == pytest.approx(10 / 200) and (np.diff(curve.median) >= 0).all()
    assert (curve.low <= curve.median).all() and (curve.median <= curve.high).all()


def test_halves_are_halves():
    members = lira.halves(50, 11, 3)
    assert (members.sum(axis=1) == 5).all() and members.mean() == pytest.approx(5 / 11)
    with pytest.raises(NacreError, match="every shadow"):
        lira.Shadows.of(np.zeros((2, 3)), np.ones((2, 3), bool))


def test_gradient_by_autodiff():
    import jax

    w = np.array([0.4, -0.2, 1.0, 0.1], np.float32)
    inside = RNG.random(60) < 0.5

    def loss(w, x, y):
        return losses.of_logits("l2", (x @ w[:-1] + w[-1])[None], y)

    each = np.asarray(jax.vmap(jax.grad(loss), (None, 0, 0))(w, X, Y))
    scale = np.minimum(1, 0.1 / np.linalg.norm(each, axis=1))
    for clip, weight in ((None, np.ones(60)), (0.1, scale)):
        found = summed_gradient("l2", w, X, Y, inside.astype(np.float32), clip)
        assert np.asarray(found) == pytest.approx((each * (weight * inside)[:, None]).sum(0), abs=1e-5)


def test_batches_are_coins():
    """Sizes are binomial and every row enters as often as the others; false alarm 1e-3 in all."""
    import jax
    from scipy import stats

    q, rows, times = 0.05, 80, 4000
    places, counts = jax.vmap(lambda k: batch_of(k, q, rows))(jax.random.split(jax.random.key(1), times))
    places, counts = np.asarray(places), np.asarray(counts)
    assert all(len(set(p[c])) == c.sum() for p, c in zip(places, counts))  # no row twice
    sizes = np.bincount(counts.sum(axis=1), minlength=12)
    expected = times * stats.binom.pmf(np.arange(12), rows, q)
    assert stats.chisquare(np.append(sizes[:11], sizes[11:].sum()), _summing(expected, times)).pvalue > 5e-4
    entered = np.bincount(places[counts], minlength=rows)
    assert np.abs(entered / times - q).max() < 4.9 * np.sqrt(q * (1 - q) / times)


def _summing(expected, total):
    return np.append(expected[:11], total - expected[:11].sum())


def test_shadows_are_the_learner_on_each_half():
    """Full batches and no noise: the same parameters as `LogisticRegression` on the same rows."""
    members = lira.halves(3, 60, 0)
    training = Sgd(rate=0.5, steps=40, batch=1e9)
    found = train_shadows(training, X, Y, members)
    model = LogisticRegression(training, bounds=(-1.0, 1.0), classes=(0, 1)).fit(X[members[1]], Y[members[1]])
    wanted = np.concatenate([model.coef_[0], model.intercept_])
    assert found[1] == pytest.approx(wanted, abs=1e-4)
    assert not np.allclose(found[0], found[1])


def test_private_and_flow_shadows_and_refusals():
    members = lira.halves(2, 60, 0)
    private = train_shadows(NoisyGd("l2", 5, epsilon=2.0, delta=1e-3), X, Y, members)
    flow = train_shadows(ExpmNf.paper(1.0, layers=1, steps=3, draws=4, batch=8), X, Y, members)
    assert private.shape == flow.shape == (2, 4) and np.isfinite([private, flow]).all()
    with pytest.raises(PlanError, match="one program"):
        train_shadows(Rejection(), X, Y, members)
    with pytest.raises(PlanError, match="same number"):
        train_shadows(Sgd(), X, Y, np.arange(120).reshape(2, 60) < 70)


def test_shadows_of_private_training_have_its_noise():
    """One step of full-batch descent on the same rows: only the noise differs, of a known size (5 standard errors)."""
    training, members = NoisyGd("l2", 1, rate=0.5, epsilon=2.0, delta=1e-3), np.ones((300, 60), bool)
    found = train_shadows(training, X, Y, members)
    sigma = training.entries(Task(3, 2, 60, "replace_one", 0))[0].parts[0].sigma
    wanted = training.rate * sigma * training.clip / 60
    assert found.std(axis=0) == pytest.approx(np.full(4, wanted), rel=5 / np.sqrt(2 * 300))


def test_variances_are_pooled_over_points_where_shadows_are_few():
    few, many = made_up(1.0, shadows=40)[0], made_up(1.0, shadows=200)[0]
    assert len(np.unique(few.inside[1])) == len(np.unique(few.outside[1])) == 1 < len(np.unique(many.outside[1]))
    assert few.outside[1][0] == pytest.approx(1.0, rel=0.1)
