"""The fit: gradients against brute force, tables reproduced, wide mode, denoising, the budget split."""

import itertools
import math
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.errors import NacreError
from nacre.synthesizers.mixture import fit as module
from nacre.synthesizers.mixture.denoise import denoise
from nacre.synthesizers.mixture.fit import Config, fit, strata
from nacre.synthesizers.mixture.loss import Problem, Table, pooled
from nacre.synthesizers.sketch.allocation import allocate, spread


def contingency(codes, sizes, columns):
    flat = np.ravel_multi_index([codes[:, j] for j in columns], [sizes[j] for j in columns])
    shape = [sizes[j] for j in columns]
    return np.bincount(flat, minlength=math.prod(shape)).reshape(shape).astype(float)


def rows(n=20_000, seed=0):
    """Four dependent columns; the last is a class of three values."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 6, n)
    b = (a + rng.integers(0, 3, n)) % 5
    c = np.where(rng.random(n) < 0.6, b % 4, rng.integers(0, 4, n))
    y = np.clip((a > 2).astype(int) + (rng.random(n) < 0.2 + 0.1 * c), 0, 2)
    return np.stack([a, b, c, y], 1), [6, 5, 4, 3]


def model_table(found, sizes, columns):
    edges = np.cumsum([0, *sizes])
    parts = [found.blocks[:, edges[j] : edges[j + 1]].astype(float) for j in columns]
    letters = "abc"[: len(columns)]
    names = ",".join("k" + x for x in letters)
    return np.einsum(f"k,{names}->{letters}", found.weights, *parts) / len(found.blocks)


def every_level(codes, sizes, rng, target):
    out = []
    for size in (1, 2, 3):
        for columns in itertools.combinations(range(len(sizes)), size):
            if size < 3 or target in columns:
                counts = contingency(codes, sizes, columns)
                sigma = 5.0 + 20 * rng.random(counts.shape)
                out.append(Table(columns[::-1], (counts + sigma * rng.normal(size=counts.shape)).T, sigma.T))
    return out


def brute_loss(logits, weights, sizes, tables, total):
    """Half chi^2 of the tables, by the definition, from logits [K, D]."""
    edges = np.cumsum([0, *sizes])
    blocks = [jax.nn.softmax(logits[:, a:b], axis=1) for a, b in itertools.pairwise(edges)]
    loss = 0.0
    for table in tables:
        parts = [blocks[j] for j in table.columns]
        for i, fold in enumerate(table.folds or ()):
            if fold is not None:
                parts[i] = parts[i] @ jnp.asarray(np.eye(int(fold.max()) + 1)[fold])
        letters = "abcde"[: len(parts)]
        names = ",".join("k" + x for x in letters)
        model = jnp.einsum(f"k,{names}->{letters}", weights, *parts) / logits.shape[0]
        loss += 0.5 * jnp.sum(((model - table.counts / total) / table.sigma) ** 2)
    return loss


def deep_tables(codes, sizes, rng):
    """All four columns, three of them, and three with the wide column folded."""
    found = []
    for columns, folds in (
        ((3, 0, 2, 1), None),
        ((2, 0, 1), None),
        ((1, 0, 3), (None, np.array([0, 0, 1, 1, 2, 2], np.int32), None)),
    ):
        counts = contingency(codes, sizes, columns)
        for axis, fold in enumerate(folds or ()):
            if fold is not None:
                counts = np.add.reduceat(counts, np.searchsorted(fold, np.arange(fold.max() + 1)), axis=axis)
        sigma = 5.0 + 20 * rng.random(counts.shape)
        found.append(Table(columns, counts + sigma * rng.normal(size=counts.shape), sigma, folds=folds))
    return found


@pytest.mark.parametrize("target", [3, 1, None])
def test_loss_and_gradient_equal_brute_force(target):
    """Tables of one to four columns, all levels at once, axes in any order, weighted particles."""
    codes, sizes = rows(3000)
    rng = np.random.default_rng(1)
    tables = every_level(codes, sizes, rng, target) + deep_tables(codes, sizes, rng)
    order = ([] if target is None else [target]) + [j for j in range(4) if j != target]
    problem = Problem(sizes, pooled(tables, 3000.0, order))
    w = rng.gamma(2.0, 0.5, size=40)
    w /= w.mean()
    edges = np.cumsum([0, *sizes])

    def blocks(logits):
        parts = [jax.nn.softmax(logits[:, a:b], axis=1) for a, b in itertools.pairwise(edges)]
        return np.ascontiguousarray(np.concatenate(parts, 1).T, np.float32)

    one, other = (rng.normal(size=(40, 18)) for _ in range(2))
    change = brute_loss(other, w, sizes, tables, 3000.0) - brute_loss(one, w, sizes, tables, 3000.0)
    loss, grad = problem.step(blocks(one), w.astype(np.float32))
    again, _ = problem.step(blocks(other), w.astype(np.float32))
    # Equal up to a constant: repeated measurements of one cell are averaged first.
    assert np.isclose((again - loss) * problem.scale, change, rtol=1e-3)
    wanted = np.asarray(jax.grad(brute_loss)(jnp.asarray(one), w, sizes, tables, 3000.0)).T * 40 / problem.scale
    p = blocks(one)
    found = np.concatenate(
        [p[a:b] * (grad[a:b] - (p[a:b] * grad[a:b]).sum(0)) for a, b in itertools.pairwise(edges)]
    ) * w.astype(np.float32)
    assert np.allclose(found, wanted, rtol=1e-3, atol=1e-4 * np.abs(wanted).max())


def test_the_pull_is_the_gradient_of_the_divergence_from_one_way_shares():
    sizes, total, rng = [3, 4], 500.0, np.random.default_rng(7)
    tables = [Table((0, 1), np.full((3, 4), total / 12), 1e9)]  # says nothing, so that only the pull is left
    shares = [rng.dirichlet(np.ones(s)) for s in sizes]
    descent = module._Descent(sizes, Problem(sizes, pooled(tables, total, [0, 1])), shares, total, Config(8, pull=50.0))
    descent.begin(rng, False, None)
    p = descent._softmax()
    grad = np.zeros_like(p)
    descent._through(p, grad)
    base = jnp.log(np.concatenate(shares))

    def divergence(logits):
        parts = [jax.nn.log_softmax(logits[:, a:b], axis=1) for a, b in ((0, 3), (3, 7))]
        logs = jnp.concatenate(parts, 1)
        return 50.0 * jnp.sum(jnp.exp(logs) * (logs - base)) / len(logits)

    scale = total**2 * descent.problem.scale
    wanted = np.asarray(jax.grad(divergence)(jnp.asarray(descent.logits.T))).T * 8 / scale
    assert np.allclose(grad, wanted, rtol=1e-3, atol=1e-5 * np.abs(wanted).max())


def test_exact_tables_are_reproduced():
    codes, sizes = rows()
    tables = [Table((a, b, 3), contingency(codes, sizes, (a, b, 3)), 1e-3) for a, b in ((0, 1), (0, 2), (1, 2))]
    tables = denoise(sizes, tables, 20_000.0, 3)
    seen = []
    found = fit(sizes, tables, 20_000.0, 3, Config(particles=512, steps=1020), 0, lambda *a: seen.append(a))
    assert seen == [(done, 1020) for done in (*range(50, 1020, 50), 1020)]
    for columns in ((0, 1, 3), (0, 2, 3), (1, 2, 3)):
        truth = contingency(codes, sizes, columns) / 20_000
        assert 0.5 * np.abs(model_table(found, sizes, columns) - truth).sum() < 0.005
    edges = np.cumsum([0, *sizes])
    assert all(np.allclose(found.blocks[:, a:b].sum(1), 1, atol=1e-5) for a, b in itertools.pairwise(edges))


def test_same_key_same_particles_and_no_target():
    codes, sizes = rows(5000)
    tables = [Table(c, contingency(codes, sizes, c), 10.0) for c in itertools.combinations(range(4), 2)]
    config = Config(particles=128, steps=300, pull=1.0)
    first = fit(sizes, tables, 5000.0, None, config, 3)
    again = fit(sizes, tables, 5000.0, None, config, 3)
    assert np.array_equal(first.blocks, again.blocks)
    further = fit(sizes, tables, 5000.0, None, replace(config, steps=1), 4, start=first)
    assert np.abs(further.blocks - first.blocks).max() < 0.2, "goes on where the first ended"
    for table in tables:
        assert 0.5 * np.abs(model_table(first, sizes, table.columns) - table.counts / 5000).sum() < 0.01


def test_wide_tables():
    """300 columns in a chain, 600 pairs: the neighbours' dependence is learnt without any 300 x 300 product."""
    rng = np.random.default_rng(8)
    n, d = 4000, 300
    codes = np.zeros((n, d), int)
    codes[:, 0] = rng.integers(0, 3, n)
    for j in range(1, d):
        codes[:, j] = np.where(rng.random(n) < 0.7, codes[:, j - 1], rng.integers(0, 3, n))
    sizes = [3] * d
    pairs = [(j, j + 1) for j in range(d - 1)] + [(j, j + 2) for j in range(d - 2)]
    tables = [Table(p, contingency(codes, sizes, p), 5.0) for p in pairs]
    found = fit(sizes, tables, float(n), None, Config(particles=256, steps=200, pull=30.0), 0)
    errors = [0.5 * np.abs(model_table(found, sizes, t.columns) - t.counts / n).sum() for t in tables[::20]]
    assert np.mean(errors) < 0.03


def test_denoising_lowers_the_error_and_keeps_exact_tables():
    codes, sizes = rows()
    rng = np.random.default_rng(9)
    cliques = [(0, 1, 3), (2, 3, 0), (3, 1, 2)]
    truth = {c: contingency(codes, sizes, c) for c in cliques}
    exact = denoise(sizes, [Table(c, t, 1e-6) for c, t in truth.items()], 20_000.0, 3)
    for table in exact:
        assert np.allclose(table.counts, truth[table.columns], atol=1e-3)
    noisy = [Table(c, t + 300 * rng.normal(size=t.shape), 300.0) for c, t in truth.items()]
    better = denoise(sizes, noisy, 20_000.0, 3)
    before = sum(np.square(t.counts - truth[t.columns]).sum() for t in noisy)
    after = sum(np.square(t.counts - truth[t.columns]).sum() for t in better)
    assert after < 0.7 * before and all((t.counts >= 0).all() for t in better)


def test_bad_tables_are_refused_by_name():
    table = Table((0, 1), np.zeros((2, 2)), 1.0)
    config, key = Config(particles=8, steps=1), 0
    with pytest.raises(NacreError, match=r"table \(0, 1\) has shape \(2, 2\), its groups need \(2, 3\)"):
        fit([2, 3], [table], 10.0, None, config, key)
    with pytest.raises(NacreError, match="number of rows must be positive"):
        fit([2, 2], [table], 0.0, None, config, key)
    with pytest.raises(NacreError, match="different columns are expected"):
        fit([2, 2, 2], [Table((0, 1, 1), np.zeros((2, 2, 2)), 1.0)], 10.0, None, config, key)


@pytest.mark.parametrize("classes, pairs", [(2, None), (7, None), (0, None), (2, 30), (0, 30)])
@pytest.mark.parametrize("columns", [1, 2, 3, 15])
def test_the_split_spends_the_budget_exactly(columns, classes, pairs):
    if pairs is not None and columns < 15:
        pytest.skip("wide mode is for many columns")
    for mu in (0.01, 0.268, 5.0):
        parts = allocate(39_073, columns, classes, mu, pairs)
        features = columns - (classes > 0)
        count = math.comb(features, 2) if pairs is None else pairs
        cost = columns / parts.first**2
        cost += features / parts.near**2 if parts.near else 0.0
        cost += count / parts.deep**2 if parts.deep else 0.0
        assert math.isclose(cost, mu**2, rel_tol=1e-9)
        assert min(parts.groups, parts.steps, parts.floor(True)) > 0


@pytest.mark.parametrize("mu", [0.01, 0.268, 5.0])
def test_noise_planned_by_table_costs_what_equal_noise_costs(mu):
    parts = allocate(39_073, 15, 2, mu)
    cells = [4, 40, 400, 400]
    sigmas = spread(parts.deep, cells, parts)
    assert math.isclose(sum(s**-2 for s in sigmas), 4 * parts.deep**-2, rel_tol=1e-12)
    assert sigmas[0] >= sigmas[1] >= sigmas[2] == sigmas[3]
    # A clear sketch spends more on large tables; a faint one treats all alike.
    assert (sigmas[0] > 1.5 * sigmas[2]) == (mu > 1)


def test_particles_of_a_class_weigh_its_share():
    share = np.array([0.9, 0.09, 0.01])
    kind, weight = strata(share, 1000)
    assert kind.size == weight.size == 1000
    assert np.allclose(np.bincount(kind, weight) / 1000, share)
    # The root rule: 0.9487, 0.3, 0.1 in proportion, against 900, 90 and 10 particles by share.
    assert np.bincount(kind).tolist() == [703, 223, 74]


def test_the_table_of_a_fit_equals_brute_force():
    rng = np.random.default_rng(4)
    sizes = [3, 4, 2]
    blocks = np.concatenate([rng.dirichlet(np.ones(s), 50) for s in sizes], axis=1).astype(np.float32)
    found = module.Fitted(blocks, rng.gamma(2.0, 0.5, size=50))
    for columns in ((1,), (0, 2), (2, 1), (0, 1, 2), (2, 0, 1)):
        assert np.allclose(found.table(sizes, columns), model_table(found, sizes, columns), atol=1e-6)
