"""Columns that go together in every row: found in noisy tables where they are, not where they are not; kept by fits."""

from __future__ import annotations

import numpy as np
import pandas as pd

import nacre
from nacre.synthesizers.mixture.fit import Fitted
from nacre.synthesizers.mixture.ties import Tie, divided, find
from nacre.table import Categorical, Numeric, Schema

NOISE = 60.0


def noisy(joint: np.ndarray, rng: np.random.Generator) -> dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]]:
    """The table of columns 0 and 1, and those of each, which are known better."""
    add = lambda x, s: (x + s * rng.normal(size=x.shape), np.full(x.shape, s**2))  # noqa: E731
    return {(0,): add(joint.sum(1), NOISE / 3), (1,): add(joint.sum(0), NOISE / 3), (0, 1): add(joint, NOISE)}


def test_columns_that_name_the_same_are_tied_value_by_value():
    share = np.array([0.4, 0.2, 0.15, 0.1, 0.08, 0.04, 0.03])
    order = np.array([3, 0, 6, 1, 5, 2, 4])
    joint = np.zeros((7, 7))
    joint[np.arange(7), order] = 30_000 * share
    (tie,) = find(noisy(joint, np.random.default_rng(0)))
    assert tie.columns == (0, 1) and len(tie.shares) == 7
    assert np.array_equal(tie.parts[0], tie.parts[1][order])
    held = np.bincount(tie.parts[0], share)
    assert np.allclose(tie.shares, held, atol=0.02)


def test_one_value_that_goes_with_one_leaves_the_others_free():
    rng = np.random.default_rng(1)
    joint = np.zeros((6, 5))
    joint[0, 0] = 20_000
    joint[1:, 1:] = 10_000 * np.outer(rng.dirichlet(np.ones(5)), rng.dirichlet(np.ones(4)))
    (tie,) = find(noisy(joint, rng))
    assert len(tie.shares) == 2
    assert (tie.parts[0] == tie.parts[0][0]).sum() == 1 and (tie.parts[1] == tie.parts[1][0]).sum() == 1


def test_what_also_happens_is_no_tie():
    """One row in ten breaks it, or the columns do not depend on each other, or too little is known."""
    rng = np.random.default_rng(2)
    share = np.full(6, 1 / 6)
    exact, free = 30_000 * np.diag(share), 30_000 * np.outer(share, share)
    for joint in (0.9 * exact + 0.1 * free, free, exact / 300):
        for _ in range(20):
            assert not find(noisy(joint, rng))
    assert find(noisy(exact, rng)) and not find(noisy(exact, rng), apart=1)


def test_every_particle_holds_one_part_and_shares_are_kept():
    rng = np.random.default_rng(3)
    blocks = np.concatenate([rng.dirichlet(np.ones(4), 512), rng.dirichlet(np.ones(3), 512)], 1).astype(np.float32)
    tie = Tie((0, 1), (np.array([0, 1, 1, 2]), np.array([2, 0, 1])), np.array([0.7, 0.28, 0.02]))
    found = divided(Fitted(blocks, np.ones(512)), [tie], [4, 3], rng)
    one, two = found.blocks[:, :4] @ np.eye(3)[tie.parts[0]], found.blocks[:, 4:] @ np.eye(3)[tie.parts[1]]
    assert np.array_equal(one.argmax(1), two.argmax(1)) and one.max(1).min() > 1 - 1e-6 and two.max(1).min() > 1 - 1e-6
    assert np.allclose(np.bincount(one.argmax(1), found.weights) / 1024, tie.shares)
    assert np.isclose(found.weights.mean(), 1) and np.allclose(found.blocks[:, :4].sum(1), 1, atol=1e-5)
    assert (one.argmax(1) == 2).sum() > 0.05 * 1024, "a rare part is not left with a handful"


def test_rows_keep_what_the_real_ones_keep():
    rng = np.random.default_rng(4)
    never = rng.random(12_000) < 0.8
    days, school = np.where(never, -1, rng.integers(1, 400, never.size)), rng.integers(0, 8, never.size)
    table = pd.DataFrame({
        "days": days, "calls": np.where(never, 0, 1 + rng.poisson(1.5, never.size)),
        "school": [f"s{i}" for i in school], "number": school + 1, "age": rng.integers(18, 90, never.size),
    })  # fmt: skip
    columns = {
        "days": Numeric((-1, 999), integer=True), "calls": Numeric((0, 100), integer=True),
        "school": Categorical(tuple(f"s{i}" for i in range(8))), "number": Numeric((1, 8), integer=True),
        "age": Numeric((0, 120), integer=True),
    }  # fmt: skip
    release = nacre.fit(table, schema=Schema(columns, rows=len(table)), epsilon=1, delta=1e-5, method="sketch", seed=0)
    made = release.sample(len(table), as_="pandas", seed=0)
    assert ((made["days"] == -1) != (made["calls"] == 0)).mean() <= 0.005
    assert (made["school"].str[1:].astype(int) + 1 != made["number"]).mean() <= 0.005
    given = release.sample(500, where={"calls": 0}, as_="pandas", seed=0)
    assert (given["days"] == -1).mean() >= 0.99
