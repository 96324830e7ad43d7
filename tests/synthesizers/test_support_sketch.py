"""The sketch of support points: features, bounds, budget, and what is made of it."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from tests.privacy_contract import tables
from tests.synthesizers.support import MIXED, mixture, square

import nacre
from nacre.distances.energy import energy_distance
from nacre.privacy.accounting import accountant as accounting
from nacre.privacy.budget import Budget
from nacre.privacy.passes import feature_sums
from nacre.privacy.plan import Scope
from nacre.synthesizers.support_points.fitting import Target, even_normals, fit_points, homes
from nacre.synthesizers.support_points.geometry import Geometry
from nacre.synthesizers.support_points.method import SupportPoints
from nacre.synthesizers.support_points.waves import LOW, Waves, _waves, wave_map
from nacre.table import Numeric, Schema
from nacre.table.encoding import Values


def exact_features(geometry: Geometry, waves: Waves, x: np.ndarray) -> np.ndarray:
    return waves.amplitude * (np.exp(1j * (x @ waves.frequencies.T - waves.offset)) - 1 + waves.base)


@pytest.mark.parametrize("geometry", (square(3), MIXED), ids=("numbers", "mixed"))
def test_features_are_the_weighted_waves_and_hardly_longer_than_the_bound(geometry):
    schema = geometry.layout.schema
    records = feature_sums.made_up_records(schema, feature_sums.CHUNK, np.random.default_rng(2))
    count = 400
    waves = Waves.of(geometry, count, 0)
    step = 1e-7
    found = wave_map(geometry)(records, waves.public(geometry, step))
    x = geometry.record_map()(records, geometry.public())
    expected = exact_features(geometry, waves, x)
    assert np.allclose(found[:, :count] + 1j * found[:, count:], expected, atol=1.3 * step + 1e-9)
    norm = np.linalg.norm(found, axis=1)  # what is longer is cut by the door
    assert norm.max() <= 1.02 * waves.bound and np.mean(norm > waves.bound) < 0.2
    assert np.linalg.norm(x - geometry.centre, axis=1).max() <= geometry.radius + 1e-12
    low = Waves.energy(geometry, count // 3, 0)
    assert low.bound <= math.sqrt(2.4 * geometry.radius) + 1e-12
    lengths = np.abs(expected[0]) ** 2  # the plain waves of every record have the share that is not LOW
    assert lengths[count // 3 :].sum() == pytest.approx((1 - LOW) * waves.bound**2)
    assert np.array_equal(waves.amplitude[: count // 3], low.amplitude) and low.bound**2 == LOW * waves.bound**2
    public = waves.public(geometry, step)
    assert not feature_sums.coupled(lambda r: wave_map(geometry)(r, public), schema, waves.size, "waves")


def test_own_waves_are_exact_to_nine_digits():
    turns = np.random.default_rng(0).uniform(-40, 40, 10_000)
    real, imaginary = _waves(turns)
    assert np.allclose(real + 1j * imaginary, np.exp(2j * np.pi * turns) - 1, atol=1e-9)


def test_the_sketch_estimates_the_energy_distance():
    """|mean g(x) − mean g(y)|² is an unbiased estimate: within four standard errors (rate 6e-5)."""
    geometry, count = square(2), 4000
    x, y = mixture(300, 1), np.random.default_rng(5).random((200, 2))
    waves = Waves.energy(geometry, count, 3)
    terms = count * np.abs(exact_features(geometry, waves, x).mean(0) - exact_features(geometry, waves, y).mean(0)) ** 2
    error = terms.std() / math.sqrt(count)
    assert abs(terms.mean() - energy_distance(x, y)) < 4 * error < 0.2 * terms.mean()


def test_rounding_leaves_no_bias_in_large_sums():
    """The door rounds toward zero: without the quarter step the sums of 20,000 records would lose 10,000 steps."""
    geometry = square(1)
    waves = Waves.energy(geometry, 50, 0)
    waves = dataclasses.replace(waves, bound=2 * waves.bound)  # so that no record is clipped
    entry = SupportPoints(frequencies=50).sketch_entry(waves, Scope("zero_out"), 0.05)
    step = feature_sums.grid_step(entry)
    values = np.random.default_rng(1).random(20_000)
    records = {"c0": Values.of(values)}
    found = feature_sums.integer_sum(wave_map(geometry), waves.public(geometry, step), records, 20_000, entry)
    exact = exact_features(geometry, waves, values[:, None])
    exact = np.concatenate([exact.real, exact.imag], axis=1) / step
    gap, wide = np.abs(found - exact.sum(0)), np.ptp(exact, axis=0) > 100
    assert wide.sum() > 50 and gap[wide].max() < 500  # the waves that carry the shape: a twentieth of that loss
    assert (gap <= 20_000 / 2).all()  # a coordinate that spans less than a step is off by half a step at most


def test_the_sketch_uses_up_its_budget():
    schema = tables.schema(rows=500)
    for relation, moved in (("zero_out", 1), ("add_or_remove_one", 1), ("replace_one", 2)):
        plan = SupportPoints().plan(schema, 500, Budget(1.0, 1e-6, relation))
        entry = plan["sketch"]
        mu = moved * entry.bound / entry.sigma
        assert accounting.gaussian_delta(1.0, mu) == pytest.approx(1e-6, rel=1e-3)
        assert plan.level.label == "proven"


def test_even_normals_have_exact_moments():
    z = even_normals(40, 6, 1)
    assert np.allclose(z.mean(0), 0, atol=1e-12) and np.allclose(z.T @ z / 40, np.eye(6), atol=1e-9)
    assert even_normals(4, 6, 1).shape == (4, 6) and even_normals(3, 0, 1).shape == (3, 0)


def test_homes_lie_in_the_box_and_keep_the_moments_of_their_bell():
    mean, spread = np.array([0.5, 0.12, 0.7]), np.array([0.15, 0.08, 0.2])
    links = np.array([[1, 0.6, -0.3], [0.6, 1, 0.2], [-0.3, 0.2, 1]])
    y = homes(mean, links * np.outer(spread, spread), 12, 0)
    assert (y >= 0).all() and (y <= 1).all() and np.allclose(y.mean(0), mean, atol=1e-3)
    assert np.allclose(np.cov(y.T, bias=True), links * np.outer(spread, spread), atol=1e-3)
    assert homes(mean, links * np.outer(spread, spread), 3, 0).shape == (3, 3)


def test_fitted_points_recover_means_and_links_of_a_bell_without_noise():
    rng = np.random.default_rng(2)
    x = np.clip(0.5 + rng.standard_normal((4000, 2)) @ np.array([[0.12, 0.09], [0, 0.06]]), 0, 1)
    geometry = square(2)
    waves = Waves.of(geometry, 300, 0)
    value = exact_features(geometry, waves, x).mean(0)
    y, _ = fit_points(geometry, waves, Target(value, 1e-4), 30, 0, restarts=1)
    assert np.allclose(y.mean(0), x.mean(0), atol=0.01) and np.allclose(np.cov(y.T), np.cov(x.T), atol=0.003)
    assert energy_distance(x, y) < 0.003


def test_private_sketch_reaches_the_energy_of_the_spec():
    """10,000 rows of three clusters, ε = 1, δ = 1e-6, 300 frequencies: below .004 (a random subsample: .0175)."""
    x = mixture(10_000)
    schema = Schema({c: Numeric(bounds=(0.0, 1.0)) for c in "ab"}, rows=len(x))
    options = {"points": 20, "frequencies": 300, "bandwidth": 0.0}
    release = nacre.fit(
        pd.DataFrame(x, columns=["a", "b"]),
        epsilon=1.0,
        delta=1e-6,
        schema=schema,
        method="support-points",
        neighbours="zero_out",
        options=options,
    )
    assert release.certificate.guarantee == "proven"
    rows = release.sample(20, seed=0).to_numpy()
    assert energy_distance(x, rows) < 0.004
    assert np.array_equal(np.sort(rows[:, 0]), np.sort(release.model.numbers[:, 0]))  # each point once
