"""Weighted losses against independent ones, their published properties, and short fits."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from tests.synthesizers.mixed import table

import nacre
from nacre.distances.kernels import RBF, RBFSum
from nacre.errors import DataError, NacreError, PlanError, ReleaseFileError
from nacre.synthesizers.parts import revealed
from nacre.synthesizers.parts.heads import Heads
from nacre.synthesizers.weighted import losses
from nacre.synthesizers.weighted.method import Weighted
from nacre.synthesizers.weighted.model import WeightedModel
from nacre.synthesizers.weighted.training import prepared, train
from nacre.targets import Shares, Thinning, WeightColumn, Weights

KEY = jax.random.key(3)
SCHEMA = nacre.Schema({
    "x": nacre.Numeric((0.0, 1.0)),
    "k": nacre.Numeric((0, 20), integer=True, nullable=True),
    "c": nacre.Categorical(("a", "b", "c")),
    "y": nacre.Boolean(),
})  # fmt: skip
SMALL = {"steps": 20, "batch": 32, "width": 8}
rng = np.random.default_rng(0)
X, Y, W = rng.normal(size=(12, 3)), rng.normal(size=(9, 3)), rng.random(12) + 0.2


def brute(x, y, w, scheme, h=1.3):
    """The U forms by loops over pairs, as printed."""
    k = lambda a, b: np.exp(-((a - b) ** 2).sum() / (2 * h * h))  # noqa: E731
    n, m = len(x), len(y)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    top = sum(w[i] * w[j] * k(x[i], x[j]) for i, j in pairs)
    xx = top / (n * (n - 1) if scheme == "iw" else sum(w[i] * w[j] for i, j in pairs))
    yy = sum(k(y[i], y[j]) for i in range(m) for j in range(m) if i != j) / (m * (m - 1))
    cross = sum(w[i] * k(x[i], y[j]) for i in range(n) for j in range(m)) / m / (n if scheme == "iw" else w.sum())
    return xx + yy - 2 * cross


@pytest.mark.parametrize("scheme", ["iw", "sniw"])
def test_squared_mmd_is_as_printed(scheme):
    found = losses.squared_mmd(RBF(1.3), jnp.array(X), jnp.array(Y), jnp.array(W), losses.Estimator(scheme))
    assert float(found) == pytest.approx(brute(X, Y, W, scheme), abs=1e-6)


def test_equal_weights_and_scale():
    one = jnp.ones(12)
    found = [float(losses.squared_mmd(RBF(1.3), X, Y, one, losses.Estimator(s))) for s in ("iw", "sniw", "plain")]
    assert found[0] == pytest.approx(found[2], abs=1e-6) and found[1] == pytest.approx(found[2], abs=1e-6)
    a, b = (float(losses.squared_mmd(RBF(1.3), X, Y, c * jnp.array(W), losses.Estimator("sniw"))) for c in (1.0, 7.0))
    assert a == pytest.approx(b, abs=1e-6)


def test_v_form_is_that_of_repeated_rows():
    x = X[:3]
    a = losses.squared_mmd(RBF(1.3), x, Y, jnp.array([1.0, 3.0, 2.0]), losses.Estimator("sniw", "v"))
    b = losses.squared_mmd(RBF(1.3), x[[0, 1, 1, 1, 2, 2]], Y, jnp.ones(6), losses.Estimator("plain", "v"))
    assert float(a) == pytest.approx(float(b), abs=1e-6) and float(a) >= 0


def test_unbiased_for_the_target():
    """P = N(0, 1) from rows of N(.5, 1), Q = N(.3, 1), variance 1: exactly 2/sqrt(3)·(1 − exp(−.09/6)). 2,000
    replications; within 4 standard errors, false alarm 6e-5 each."""
    exact = 2 / np.sqrt(3) * (1 - np.exp(-0.09 / 6))

    def one(key):
        a, b = jax.random.split(key)
        x, y = 0.5 + jax.random.normal(a, (64, 1)), 0.3 + jax.random.normal(b, (64, 1))
        w = jnp.exp(0.125 - 0.5 * x[:, 0])
        return jnp.array([losses.squared_mmd(RBF(1.0), x, y, w, losses.Estimator(s)) for s in ("iw", "sniw", "plain")])

    found = np.asarray(jax.jit(jax.vmap(one))(jax.random.split(KEY, 2_000)))
    mean, error = found.mean(axis=0), found.std(axis=0) / np.sqrt(2_000)
    assert abs(mean[0] - exact) < 4 * error[0]
    assert abs(mean[1] - exact) < 4 * error[1] + 0.002  # O(1/n)
    assert abs(mean[2] - exact) > 8 * error[2]  # unweighted rows estimate another distance


def test_median_of_means_is_robust_and_biased():
    """Pareto(2.5) of mean 5/3, 128 values in 8 groups: the far tail of the error halves, the bias is negative."""
    values = 1 + np.random.default_rng(1).pareto(2.5, (20_000, 128))
    ones = jnp.full(128, -np.log(np.e - 1))  # logits whose cost is 1: the loss is a mean of weights

    def loss(scheme):
        run = jax.vmap(lambda w, key: losses.real_loss(ones, w, scheme, key, 8))
        return np.asarray(jax.jit(run)(values, jax.random.split(KEY, len(values))))

    middle, mean = loss("miw"), loss("iw")
    tail = [np.quantile(np.abs(v - 5 / 3), 0.999) for v in (middle, mean)]
    assert tail[0] < tail[1] / 2 and middle.mean() - 5 / 3 == pytest.approx(-0.058, abs=0.01)
    assert mean.mean() == pytest.approx(5 / 3, abs=0.01)


@pytest.mark.parametrize("groups", [3, 4])
def test_the_gradient_of_the_median_is_that_of_the_chosen_groups(groups):
    y = jnp.array(Y[:8])
    x, w = jnp.array(X[:8]), jnp.array(W[:8])
    value = jax.jit(lambda y: losses.squared_mmd(RBF(1.3), x, y, w, losses.Estimator("miw", groups=groups), KEY))
    one, two = jax.random.split(KEY)
    i, j = losses.groups_of(one, 8, groups), losses.groups_of(two, 8, groups)
    part = jax.jit(lambda y, g: losses.squared_mmd(RBF(1.3), x[i[g]], y[j[g]], w[i[g]], losses.Estimator("iw")))
    order = np.argsort([float(part(y, g)) for g in range(groups)])
    middle = {3: [order[1]], 4: [order[1], order[2]]}[groups]
    wanted = sum(jax.grad(part)(y, int(g)) for g in middle) / len(middle)
    np.testing.assert_allclose(jax.grad(value)(y), wanted, atol=1e-6)
    step = 1e-2
    for place in [(0, 0), (3, 2)]:
        bump = jnp.zeros_like(y).at[place].set(step)
        slope = (value(y + bump) - value(y - bump)) / (2 * step)
        assert float(slope) == pytest.approx(float(wanted[place]), abs=2e-3)


def test_cross_entropy_by_hand():
    a, b = jnp.array(W) - 1, jnp.array(Y[:, 0])
    cost = np.log1p(np.exp(-np.asarray(a)))
    assert float(losses.real_loss(a, jnp.array(W), "iw")) == pytest.approx(np.mean(W * cost), rel=1e-5)
    assert float(losses.real_loss(a, jnp.array(W), "sniw")) == pytest.approx(np.average(cost, weights=W), rel=1e-5)
    assert float(losses.fake_loss(b)) == pytest.approx(np.mean(np.log1p(np.exp(Y[:, 0]))), rel=1e-5)
    i = np.asarray(losses.groups_of(KEY, 12, 3))
    wanted = np.median([(W * cost)[g].mean() for g in i])
    assert float(losses.real_loss(a, jnp.array(W), "miw", KEY, 3)) == pytest.approx(wanted, rel=1e-5)


def test_the_best_discriminator_has_the_density_of_the_target():
    """Three cells, target p, observed o = p/w, generated q: D* = p/(p + q) cell by cell, for both schemes."""
    p, o, q = np.array([0.2, 0.5, 0.3]), np.array([0.6, 0.3, 0.1]), np.array([0.3, 0.3, 0.4])
    counts = (1000 * o).astype(int)
    cell = np.repeat(np.arange(3), counts)
    w = (p / o)[cell]
    for scheme in ("iw", "sniw"):

        def loss(d, scheme=scheme):
            return losses.real_loss(d[cell], jnp.array(w), scheme) + jnp.sum(q * jax.nn.softplus(d))

        np.testing.assert_allclose(jax.jit(jax.grad(loss))(jnp.log(p / q)), 0, atol=1e-5)


def test_critic_terms():
    ex, ey, p = jnp.array(X), jnp.array(Y), jnp.array(W / W.sum())
    wanted = -np.maximum(Y.mean(axis=0) - np.average(X, axis=0, weights=W), 0).mean()
    assert float(losses.rank(ex, ey, p)) == pytest.approx(wanted, abs=1e-6)
    assert float(losses.rebuilding(ex, 0 * ex, p)) == pytest.approx(np.average((X**2).sum(1), weights=W), rel=1e-5)
    steep = losses.lipschitz_penalty(lambda r: 3.0 * r, ex[:9], ey, KEY)  # every slope is 3: (3 − 1)²
    assert float(steep) == pytest.approx(4.0, rel=1e-3)
    assert float(losses.flatness(lambda r: 2 * r[:, 0], ex, p)) == pytest.approx(4.0, rel=1e-5)
    same = lambda y: losses.root(losses.squared_mmd(RBFSum((1.0,)), y, y, jnp.ones(9), losses.Estimator("sniw", "v")))  # noqa: E731
    assert np.isfinite(jax.jit(jax.grad(same))(ey)).all()  # a root at 0


def test_sensitivity_of_a_weighted_embedding():
    """z = mean w(x)ψ(x) with w ≤ W and ψ of a Gaussian kernel (‖ψ‖ = 1, angles up to 90°): replacing one row moves z,
    and so its distance from any point, by at most √2·W/N: 10,000 random pairs. One row of a larger weight breaks that;
    a far one reaches most of it."""
    gen = np.random.default_rng(2)
    pairs, n, top = 10_000, 20, 6.0
    x, y = gen.normal(size=(pairs, n, 2)), gen.normal(size=(pairs, 1, 2))
    w = top * gen.random((pairs, n)) ** 0.3
    v_form = jax.jit(jax.vmap(lambda x, w, y: losses.squared_mmd(RBF(1.0), x, y, w, losses.Estimator("iw", "v"))))
    bound = np.sqrt(2) * top / n

    def moved(row, weight):
        others = x.copy(), w.copy()
        others[0][:, 0], others[1][:, 0] = row, weight
        return np.abs(np.sqrt(v_form(x, w, y)) - np.sqrt(v_form(*others, y))).max()

    assert moved(3 * gen.normal(size=(pairs, 2)), top * gen.random(pairs)) <= bound
    w[:, 0], x[:, 0] = 0.0, 50.0
    assert 0.5 * bound < moved(y[:, 0], top) <= bound < moved(y[:, 0], 3 * top)


# ------------------------------------------------------------------------------------------------------------ fits


@pytest.fixture(scope="module")
def even():
    return nacre.fit(table(800), epsilon=None, schema=SCHEMA, method="weighted",
                     target_shares={"y": {True: 0.7, False: 0.3}},
                     options={"steps": 700, "batch": 128, "width": 32})  # fmt: skip


def test_shares_of_the_target_come_out_of_training(even):
    """The table has 30 % true; the shares are learnt through the loss, not forced when drawing."""
    assert even.certificate.guarantee == "none" and even.shares is None
    assert even.sample(4_000, seed=1)["y"].mean() == pytest.approx(0.7, abs=0.06)


def test_repeated_rows_aim_at_the_target_too():
    """30 % true in the table, 70 % asked: `id` puts the weights into the drawing of rows alone."""
    made = nacre.fit(table(800), epsilon=None, schema=SCHEMA, method="weighted",
                     target_shares={"y": {True: 0.7, False: 0.3}},
                     options={"steps": 300, "batch": 128, "width": 32, "scheme": "id"})  # fmt: skip
    assert made.sample(4_000, seed=1)["y"].mean() == pytest.approx(0.7, abs=0.08)


def test_save_load_conditions_and_rebalancing(even, tmp_path):
    even.save(tmp_path / "w.nacre")
    again = nacre.load(tmp_path / "w.nacre")
    assert again.sample(100, seed=2).equals(even.sample(100, seed=2))
    assert again.sample(20, where={"y": True})["y"].all()
    found = again.sample(2_000, rebalance={"y": {True: 0.5, False: 0.5}, "c": {"a": 0.4, "b": 0.3, "c": 0.3}}, seed=1)
    assert found["y"].mean() == pytest.approx(0.5, abs=0.01) and (found["c"] == "b").mean() == pytest.approx(
        0.3, abs=0.01
    )
    facts, arrays = even.model.parts()
    for change in ({"width": 33}, {"latent": 10**9}, {"norm": "batch"}, {"rows": -1}, {"exact": "yes"}):
        with pytest.raises(ReleaseFileError):
            WeightedModel.from_parts(even.schema, {**facts, **change}, arrays)


@pytest.mark.parametrize(
    "options",
    [
        {"loss": "ce", "scheme": "id"},
        *(
            pytest.param(o, marks=pytest.mark.slow)
            for o in (
                {"scheme": "miw", "groups": 3},
                {"scheme": "id", "paper_exact": True},
                {"loss": "ce", "scheme": "miw", "groups": 3},
                {"kernel": "autoencoder"},
                {"kernel": "autoencoder", "paper_exact": True, "scheme": "iw"},
            )
        ),
    ],
    ids=str,
)
def test_other_kinds_fit(options):
    rows = table(300).assign(w=np.linspace(0.5, 2, 300))
    notes = nacre.OwnerNotes()
    made = nacre.fit(rows, epsilon=None, schema=SCHEMA, method="weighted", weights="w", options={**SMALL, **options},
                     owner=notes)  # fmt: skip
    assert "w" not in made.schema.columns and len(made.sample(50, seed=1)) == 50
    (facts,) = notes.diagnostics.values()
    assert facts["effective_rows"] == pytest.approx(nacre.distances.effective_size(rows["w"]))


def test_truncation_comes_before_the_refusal_and_its_bias_is_told():
    """300 rows, one of them of weight 3,000: worth 1.2 rows; cut at twice the mean, worth 140."""
    heavy = Weights(np.r_[np.ones(299), 3_000.0])
    with pytest.raises(DataError, match=r"fewer than 50; .* the option truncate"):
        revealed.weighed(heavy, None)
    cut, told = revealed.weighed(heavy, 2.0)
    share = 300 / 3299  # of the mean: what an ordinary row weighs
    assert told["truncation_bias"] == pytest.approx((3000 * share - 2) / 300) and told["truncated_at"] == 2.0
    assert told["effective_rows"] == pytest.approx((299 * share + 2) ** 2 / (299 * share**2 + 4))
    assert told["largest_weight"] == cut.largest and cut.values.max() == 2.0
    with pytest.raises(DataError, match="a smaller truncate"):
        revealed.weighed(heavy, 200.0)
    rows = table(300).assign(w=heavy.values)
    notes, options = nacre.OwnerNotes(), {**SMALL, "loss": "ce", "scheme": "id", "truncate": 2.0}
    made = nacre.fit(rows, epsilon=None, schema=SCHEMA, method="weighted", weights="w", options=options,
                     owner=notes)  # fmt: skip
    (facts,) = notes.diagnostics.values()
    assert facts["truncated_at"] == 2.0 and "weighted by column 'w'" in str(made.certificate)


@pytest.mark.slow
def test_the_conditional_baseline_draws_the_class_by_its_target_share():
    made = nacre.fit(table(300), epsilon=None, schema=SCHEMA, method="weighted", target="y",
                     target_shares={"y": {True: 0.9, False: 0.1}},
                     options={**SMALL, "loss": "ce", "scheme": "conditional"})  # fmt: skip
    np.testing.assert_allclose(made.model.shares, [0.1, 0.9], atol=1e-6)
    assert made.sample(2_000, seed=1)["y"].mean() == pytest.approx(0.9, abs=0.03)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"loss": "hinge"}, "expected one of"),
        ({"loss": "ce", "kernel": "autoencoder"}, "no kernel"),
        ({"scheme": "conditional"}, "add loss='ce'"),
        ({"scheme": "conditional", "loss": "ce"}, "few labels"),
        ({"paper_exact": True}, "leave it out"),
        ({"batches": "weighted", "scheme": "iw"}, "wants them"),
        ({"batches": "weighted"}, "batches='weighted': does nothing without weights"),
        ({"groups": 3}, "groups=3: does nothing with scheme 'sniw'"),
        ({"scheme": "miw", "batch": 8}, "at least two"),
        ({"weights": 3}, "expected a target"),
        ({"truncate": 3.0}, "leave it out"),
        ({"truncate": 3.0, "weights": WeightColumn("w"), "loss": "ce", "scheme": "conditional"}, "leave it out"),
        ({"truncate": 0.5, "weights": WeightColumn("w")}, "at least 1"),
    ],
)
def test_refused_options(options, match):
    with pytest.raises(NacreError, match=match):
        nacre.fit(table(50), epsilon=None, schema=SCHEMA, method="weighted", options=options)


def test_a_conditional_generator_meets_shares_of_its_class_alone():
    given = {"target": "y", "loss": "ce", "scheme": "conditional"}
    even = {"y": {True: 0.5, False: 0.5}}
    Weighted(weights=Shares(even), **given).supports(SCHEMA)
    for asked in ({"c": {"a": 0.5, "b": 0.5}}, {**even, "c": {"a": 1.0}}):
        with pytest.raises(NacreError, match="would not come out"):
            Weighted(weights=Shares(asked), **given).supports(SCHEMA)


def test_no_budget_can_be_kept():
    with pytest.raises(PlanError, match="promises nothing"):
        nacre.fit(table(50), epsilon=1.0, schema=SCHEMA, method="weighted")


@pytest.mark.slow
def test_weights_in_the_drawing_and_in_the_loss_aim_at_the_same_law():
    """A mixture at ±1, 20:80 in the rows, 50:50 in the target; both ways find the mean 0. Seeds run side by side."""
    gen = np.random.default_rng(4)
    sign = np.where(gen.random(2_000) < 0.2, 1.0, -1.0)
    x = sign[:, None] + 0.1 * gen.normal(size=(2_000, 1))
    w = np.where(sign > 0, 2.5, 0.625)
    for batches in ("uniform", "weighted"):
        config = Weighted(weights=WeightColumn("w"), batch=64, width=16, batches=batches).config(Heads(1, ()))
        data = jax.tree.map(lambda a: np.stack([a, a]), prepared(x, w))
        nets = train(data, config, 500, jax.random.split(KEY, 2))
        z = np.random.default_rng(0).normal(size=(1_000, config.latent)).astype(np.float32)
        means = [float(np.asarray(config.generator({k: v[i] for k, v in nets.items()}, (z,))).mean()) for i in range(2)]
        assert np.abs(means).max() < 0.25 and means[0] != means[1]


def test_of_many_rows_each_is_drawn_at_its_rate():
    """Three million rows, every third of double weight: each has its chance to 0.3 %; sums in float32 would give some
    of them none."""
    from nacre.synthesizers.weighted import training
    from nacre.synthesizers.weighted.config import TrainingConfig

    n = 3_000_000
    w = np.where(np.arange(n) % 3 == 0, 1.5, 0.75)
    data = prepared(np.arange(n, dtype=np.float32), w, fixed=False)
    chance = np.diff(data.upto.astype(np.int64), prepend=0) / 2.0**32 * n
    assert np.abs(chance / w - 1).max() < 0.003
    config = TrainingConfig(None, "mmd", "plain", batch=30_000)
    i = np.asarray(training.batch(config, data, jax.random.key(0))[0]).astype(int)
    assert abs((i % 3 == 0).mean() - 0.5) < 5 * 0.5 / np.sqrt(30_000) and abs(i.mean() / n - 0.5) < 0.01


def test_statements_reach_the_method():
    for stated in (Shares({"y": {True: 0.5, False: 0.5}}), WeightColumn("w"), Thinning(len)):
        assert Weighted(weights=stated).weights is stated


@pytest.mark.slow
def test_three_classes_within_three_points():
    """The acceptance check: shares .7/.2/.1 of a table of three classes, even in the target."""
    gen = np.random.default_rng(6)
    kind = gen.choice(3, 3_000, p=[0.7, 0.2, 0.1])
    rows = pd.DataFrame({"c": np.array(["a", "b", "c"])[kind], "x": np.clip(gen.normal(kind / 4 + 0.2, 0.08), 0, 1)})
    schema = nacre.Schema({"c": nacre.Categorical(("a", "b", "c")), "x": nacre.Numeric((0.0, 1.0))})
    made = nacre.fit(rows, epsilon=None, schema=schema, method="weighted",
                     target_shares={"c": dict.fromkeys("abc", 1 / 3)},
                     options={"steps": 3_000, "batch": 256, "width": 64})  # fmt: skip
    drawn = made.sample(20_000, seed=1)
    assert max(abs((drawn["c"] == v).mean() - 1 / 3) for v in "abc") < 0.03
    means = drawn.groupby("c")["x"].mean()
    np.testing.assert_allclose(means, [0.2, 0.45, 0.7], atol=0.05)
