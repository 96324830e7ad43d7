"""Thinning: independent halves, a judge that prefers the truth, and choices that follow the data."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from nacre.synthesizers.mixture import reconstruction
from nacre.synthesizers.mixture.fit import Config, Fitted
from nacre.synthesizers.mixture.loss import Table
from nacre.synthesizers.mixture.reconstruction import Choice, Problem, choose, misfit, reconstruct, split


def test_the_halves_are_unbiased_and_their_noise_is_uncorrelated():
    rng = np.random.default_rng(0)
    truth, sigma = np.full((400, 500), 7.0), 3.0
    noisy = Table((0, 1), truth + sigma * rng.normal(size=truth.shape), sigma)
    (held,), (judge,) = split([noisy], rng)
    a, b = held.counts - truth, judge.counts - truth
    # 200,000 cells: standard errors of the moments below are at most 0.4 %; 5 of them are allowed.
    assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 5 / np.sqrt(a.size)
    assert np.isclose(a.std(), held.sigma, rtol=0.02) and np.isclose(b.std(), judge.sigma, rtol=0.02)
    assert abs(a.mean()) < 5 * a.std() / np.sqrt(a.size) and abs(b.mean()) < 5 * b.std() / np.sqrt(b.size)
    assert np.isclose(held.sigma, sigma * np.sqrt(1.09))


def product_tables(rows, sigma, rng, dependent):
    """All pairs of five columns with six groups: independent, or each a noisy copy of the first."""
    first = rng.integers(0, 6, rows)
    codes = [first] + [
        np.where(rng.random(rows) < (0.8 if dependent else 0.0), first, rng.integers(0, 6, rows)) for _ in range(4)
    ]
    tables = []
    for a, b in itertools.combinations(range(5), 2):
        counts = np.bincount(codes[a] * 6 + codes[b], minlength=36).reshape(6, 6).astype(float)
        tables.append(Table((a, b), counts + sigma * rng.normal(size=(6, 6)), sigma))
    return Problem([6] * 5, tables, float(rows), None, 0)


def test_the_judge_prefers_the_truth():
    rng = np.random.default_rng(1)
    given = product_tables(20_000, 30.0, rng, dependent=False)
    even = Fitted(np.full((1, 30), 1 / 6, np.float32), np.ones(1))
    tilted = Fitted(np.tile([0.3, 0.2, 0.2, 0.1, 0.1, 0.1], 5)[None].astype(np.float32), np.ones(1))
    assert misfit(even, given) < misfit(tilted, given)
    # With a target, the misfit of a rare class counts as much as its share is small.
    share = np.array([0.99, 0.01])
    model = Fitted(np.concatenate([np.full((2, 2), 0.5), np.eye(2)], axis=1).astype(np.float32), 2 * share)
    table = Table((0, 1), model.table([2, 2], (0, 1)) * 1000.0, 1.0)
    rare, common = table.counts.copy(), table.counts.copy()
    rare[0, 1] += 1.0
    common[0, 0] += 1.0
    of = lambda counts: misfit(model, Problem([2, 2], [Table((0, 1), counts, 1.0)], 1000.0, 1, 0))  # noqa: E731
    assert of(rare) == pytest.approx(99 * of(common), rel=0.02)


def test_the_choice_follows_the_data():
    rng = np.random.default_rng(2)
    start = Choice(0.5, Config(particles=64, steps=100))
    seen = []
    given = product_tables(2_000, 60.0, rng, dependent=False)
    noise = choose(given, start, rng, progress=lambda *a: seen.append(a))
    assert noise.shrink == 1.0  # nothing but noise beside the margins: all of it is shrunk away
    assert noise.config.pull == max(reconstruction.PULLS)  # and independence is the whole truth
    assert [done for done, _ in seen] == list(range(1, len(seen) + 1))
    clear = choose(product_tables(200_000, 20.0, rng, dependent=True), start, rng)
    assert clear.config.pull < noise.config.pull  # strong dependence, hardly any noise
    assert clear.config == replace(start.config, pull=clear.config.pull)


def test_single_cliques_are_fitted_beside_the_pairs():
    """Three columns of which each pair is independent: only their joint table says that their sum is even."""
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 2, 8000), rng.integers(0, 2, 8000)
    codes = np.stack([a, b, (a + b) % 2])

    def table(*columns, **how):
        shape = (2,) * len(columns)
        counts = np.bincount(np.ravel_multi_index(codes[list(columns)], shape), minlength=2 ** len(columns))
        return Table(columns, counts.reshape(shape).astype(float), 5.0, **how)

    pairs = [table(*c) for c in itertools.combinations(range(3), 2)]
    start = Choice(0.5, Config(particles=256, steps=300, pull=1.0))
    odd = 1 - np.indices((2, 2, 2)).sum(0) % 2
    without = reconstruct(Problem([2] * 3, pairs, 8000.0, None, 0), start).table([2] * 3, (0, 1, 2))
    found = reconstruct(Problem([2] * 3, [*pairs, table(0, 1, 2, single=True)], 8000.0, None, 0), start)
    assert (without * odd).sum() < 0.7
    assert (found.table([2] * 3, (0, 1, 2)) * odd).sum() > 0.95


def test_a_release_can_be_made_with_thinning():
    import nacre
    from nacre.table.simulate.people import people, people_schema

    options = {"thinning": True, "particles": 32, "steps": 50}
    table = people(2_000, seed=5).select(["age", "smoker", "income"])
    schema = people_schema(2_000)
    schema = nacre.Schema({n: schema.columns[n] for n in table.column_names}, rows=2_000)
    steps = []
    release = nacre.fit(
        table, schema=schema, epsilon=2.0, options=options, progress=lambda name, *_: steps.append(name)
    )
    assert "choosing" in steps and release.certificate.guarantee == "proven"
    assert release.sample(10).shape == (10, 3)
