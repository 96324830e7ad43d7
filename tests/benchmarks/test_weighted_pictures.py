"""Attributes of drawn digits, distances of their laws, and which trainings go together."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from benchmarks.weighted import mnist as m
from benchmarks.weighted import pictures as p
from scipy.stats import ks_2samp

from nacre.distances import weighted_ks


def seven(bar: int = 0) -> np.ndarray:
    """A stem three pixels wide under a roof, and across it at half height a bar `bar` pixels wide."""
    picture = np.full((28, 28), 0.1)
    picture[4:6, 7:19] = picture[4:24, 14:17] = 0.9
    picture[13:15, 15 - bar // 2 : 15 - bar // 2 + bar] = 0.9
    return picture


def two(foot: int) -> np.ndarray:
    """Twelve pixels wide, with so many of them inked at its foot."""
    picture = np.full((28, 28), 0.1)
    picture[4:6, 8:20] = picture[4:24, 8:10] = picture[20:24, 8 : 8 + foot] = 0.9
    return picture


def test_bars_and_feet_are_measured():
    sevens = np.stack([seven(), seven(3), seven(9), seven(12), np.zeros((28, 28))])
    assert m.bar(sevens).tolist() == [0, 0, 6, 9, 0]
    assert m.weight(m.bar(sevens), m.ENDS["sevens"]).tolist() == [1, 1, 5, 8, 1]
    assert m.flat(np.stack([two(12), two(6), two(0), np.zeros((28, 28))])).tolist() == [1, 0.5, 2 / 12, 0]


def test_distances_are_those_of_repeated_rows():
    """Digits repeated by their weights have the target's law; others the distance that SciPy finds to these."""
    rows = np.stack([seven(b) for b in (0, 0, 0, 7, 9, 12)]).reshape(6, -1).astype(np.float32)
    attribute = m.bar(rows)
    true = m.weight(attribute, m.ENDS["sevens"])
    pictures = p.Pictures("sevens", rows, np.full(6, 7), true / true.mean(), (7,))
    digits = m.Digits(pictures, attribute, true, true, lambda x: m.weight(m.bar(x), m.ENDS["sevens"]))
    target = np.repeat(rows, true.astype(int), axis=0)
    assert m.ks_figures(digits, target, 0)["ks_attribute"] == pytest.approx(0, abs=1e-12)
    found = m.ks_figures(digits, rows, 0)
    assert found["ks_attribute"] == pytest.approx(ks_2samp(attribute, m.bar(target)).statistic)
    assert found["ks_weights"] == pytest.approx(ks_2samp(true, m.weight(m.bar(target), m.ENDS["sevens"])).statistic)
    assert found["ks_attribute_low"] <= found["ks_attribute"] <= found["ks_attribute_high"]


@pytest.mark.parametrize("shift", [0.0, 0.1, 1.0])
def test_an_interval_holds_its_estimate_and_the_distance_of_the_laws(shift):
    """Uniform rows, and weighted ones of a uniform law that is shifted by that much: the estimate is always inside, the
    distance shift/2 in 52 of 60 tables or more (three standard deviations below 95 %)."""
    held = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        values = shift + 2 * rng.random(500) ** 2
        weights = 2 * np.sqrt((values - shift) / 2)  # the density of u² is 1/(2u): uniform on [shift, shift + 2]
        got = 2 * rng.random(400)
        distance, low, high = m.ks_interval(got, values, weights, rng, 60)
        assert distance == pytest.approx(weighted_ks(got, values, weights)) and low <= distance <= high
        held += low <= shift / 2 <= high
    assert held >= 52


def test_trainings_of_one_program_go_together(monkeypatch):
    pictures = [p.Pictures(str(n), np.zeros((n, 784)), np.zeros(n), np.ones(n), (0,)) for n in (30, 40)]
    jobs = [p.Job(pictures[n], method, s) for s in (0, 1) for method, n in
            (("sniw-mmd", 0), ("plain", 0), ("id-mmd", 0), ("miw-mmd", 0), ("sniw-mmd", 1))]  # fmt: skip
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    found = [sorted((j.method, j.seed) for j in group) for group in p.together(jobs)]
    assert [len(group) for group in found] == [4, 2, 2, 2]
    assert found[0] == [("plain", 0), ("plain", 1), ("sniw-mmd", 0), ("sniw-mmd", 1)]


@pytest.mark.slow
def test_several_trainings_at_once_are_those_of_each_alone():
    """Five steps of tiny networks: pictures of each job as if it were trained alone, up to the rounding of sums, which
    Adam's first steps make larger where a slope is near 0."""
    rng = np.random.default_rng(0)
    training = p.Training(steps=5, batch=14, channels=2)
    pictures = p.Pictures("noise", rng.random((40, 784)).astype(np.float32), rng.integers(0, 3, 40),
                          rng.random(40) + 0.5, (0, 1, 2), np.full(3, 1 / 3))  # fmt: skip
    jobs = [p.Job(pictures, "sniw-mmd", 0), p.Job(pictures, "plain", 1)]
    together = p.trained(jobs, training)
    for job, made in zip(jobs, together):
        (alone,) = p.trained([job], training)
        assert made.shape == (p.DRAWN, 28, 28)
        assert np.abs(made - alone).mean() < 2e-3
    assert np.abs(together[0] - together[1]).mean() > 0.05
