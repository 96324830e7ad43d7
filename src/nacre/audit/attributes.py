"""Attributes: can one fill in what is unknown of a person from synthetic rows alike? (specs/mmd_gan_ehr.md 8, E4-E6)

Half of the columns are known; the five nearest synthetic rows in those give a value for every other one. A value is
*claimed* when the five agree (numbers: their range within the tolerance; labels: at least four alike) and *right*
within 5 % of the public range (`paper_exact`: of the value itself), or equal. Population structure alone lets strangers
be guessed too: only what members lose beyond non-members, the excess, is due to the release.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacre.audit.rates import Rate, rate_of
from nacre.audit.records import Records, Scale, Space, blocks
from nacre.errors import DataError

NEIGHBOURS = 5
TOLERANCE = 0.05
AGREE = 4
FLOOR = 1e-6  # of a tolerance that is a share of the value
NORMAL = 1.96  # standard errors on each side of a `Difference`


@dataclass(frozen=True)
class Guesses:
    """Rates over all unknown values: `sensitivity` claimed and right, `precision` right among the claimed, `hit_rate`
    right whether claimed or not. `per_record`: share claimed and right of each person."""

    sensitivity: Rate
    precision: Rate
    hit_rate: Rate
    per_record: np.ndarray


@dataclass(frozen=True)
class Difference:
    """A difference of mean shares with an interval of 95 % over the people attacked, the pools of rows being fixed."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Attributes:
    """`members` and `others`: the same pool of synthetic rows on both; `strangers`: real rows not in the table as the
    pool. `excess` = members − others; `beyond_strangers` = synthetic − real pool, of equal size, on members."""

    known: tuple[str, ...]
    members: Guesses
    others: Guesses
    strangers: Guesses
    excess: Difference
    beyond_strangers: Difference


@dataclass(frozen=True)
class Attack:
    """The `seed` says which half of the columns of a space is known; pools are compared by `repeats` subsamples;
    `paper_exact`: a guessed number is right within 5 % of the true one."""

    space: Space
    seed: int = 0
    repeats: int = 20
    paper_exact: bool = False


def attributes(synthetic: Records, members: Records, others: Records, strangers: Records, attack: Attack) -> Attributes:
    """The attack with a random half of the columns known. `strangers` are real rows, disjoint from `others`.

    A pool of more rows has closer neighbours, so that the two pools are compared at the size of the smaller one, with
    subsamples of the larger.
    """
    space, paper_exact = attack.space, attack.paper_exact
    rng = np.random.default_rng([attack.seed, 3])
    width = members.columns
    if width < 2:
        raise DataError("attributes: the table has one column; expected one to know and one to guess")
    known = np.sort(rng.permutation(width)[: max(1, width // 2)])
    scale = Scale.of(synthetic, space)
    inside, outside, real = (guess(p, r, known, scale, space, paper_exact) for p, r in
                             ((synthetic, members), (synthetic, others), (strangers, members)))  # fmt: skip
    size = min(len(synthetic), len(strangers))
    gaps = []
    for _ in range(attack.repeats):
        pools = [p.take(rng.choice(len(p), size, replace=False)) for p in (synthetic, strangers)]
        ours, theirs = (guess(p, members, known, scale, space, paper_exact).per_record for p in pools)
        gaps.append(ours - theirs)
    names = (*space.numbers, *space.labels)
    return Attributes(
        known=tuple(names[c] for c in known),
        members=inside,
        others=outside,
        strangers=real,
        excess=_difference(inside.per_record, outside.per_record),
        beyond_strangers=_paired(np.mean(gaps, axis=0)),
    )


def guess(
    pool: Records, victims: Records, known: np.ndarray, scale: Scale, space: Space, paper_exact: bool = False
) -> Guesses:
    """Guess the columns that are not `known` of every victim from the pool."""
    near = _closest(scale.points(victims, known), scale.points(pool, known))
    d = victims.numbers.shape[1]
    claims, hits = [], []
    for c in np.setdiff1d(np.arange(victims.columns), known):
        if c < d:
            tolerance = None if paper_exact else TOLERANCE * float(space.ranges[c])
            claim, hit = _number(pool.numbers[near, c], victims.numbers[:, c], tolerance)
        else:
            claim, hit = _label(pool.labels[near, c - d], victims.labels[:, c - d])
        claims.append(claim)
        hits.append(hit)
    claim, hit = np.stack(claims, axis=1), np.stack(hits, axis=1)
    both = claim & hit
    return Guesses(
        rate_of(int(both.sum()), both.size),
        rate_of(int(both.sum()), int(claim.sum())),
        rate_of(int(hit.sum()), hit.size),
        both.mean(axis=1),
    )


def _closest(rows: np.ndarray, pool: np.ndarray) -> np.ndarray:
    """The five nearest rows of the pool, [n, 5]; all of them, repeated, where the pool is smaller."""
    take = min(NEIGHBOURS, len(pool))
    found = [np.argpartition(distances, take - 1, axis=1)[:, :take] for distances in blocks(rows, pool)]
    return np.resize(np.concatenate(found), (len(rows), take))[:, np.arange(NEIGHBOURS) % take]


def _number(values: np.ndarray, truth: np.ndarray, tolerance: float | None) -> tuple[np.ndarray, np.ndarray]:
    """Claims and hits of a number; a missing value is guessed when at least four of the five are missing. Without a
    tolerance, 5 % of the guess for a claim, which knows no more, and of the true value for a hit."""

    def around(v: np.ndarray) -> np.ndarray | float:
        return np.maximum(TOLERANCE * np.abs(v), FLOOR) if tolerance is None else tolerance

    missing = np.isnan(values).sum(axis=1)
    present = np.where(np.isnan(values), np.nan, values)
    few = missing < NEIGHBOURS - AGREE + 1
    with np.errstate(all="ignore"):
        filled = np.where(few[:, None], present, 0.0)
        mean = np.nanmean(filled, axis=1)
        spread = np.nanmax(filled, axis=1) - np.nanmin(filled, axis=1)
    gone = missing >= AGREE
    claim = gone | (few & (spread <= around(mean)))
    hit = np.where(gone, np.isnan(truth), few & (np.abs(mean - truth) <= around(truth)))
    return claim, hit.astype(bool)


def _label(values: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Majority of five; claimed when at least four agree."""
    votes = (values[:, :, None] == values[:, None, :]).sum(axis=2)
    best = votes.argmax(axis=1)
    rows = np.arange(len(values))
    return votes[rows, best] >= AGREE, values[rows, best] == truth


def _difference(one: np.ndarray, other: np.ndarray) -> Difference:
    gap = float(one.mean() - other.mean())
    error = NORMAL * float(np.sqrt(one.var(ddof=1) / len(one) + other.var(ddof=1) / len(other)))
    return Difference(gap, gap - error, gap + error)


def _paired(gaps: np.ndarray) -> Difference:
    error = NORMAL * float(gaps.std(ddof=1) / np.sqrt(len(gaps)))
    return Difference(float(gaps.mean()), float(gaps.mean() - error), float(gaps.mean() + error))
