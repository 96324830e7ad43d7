"""What is linear, bought cheaply before training: scales, label shares, class means and one covariance of the numbers.

One-way tables give the place and spread of every number (quantiles of noisy counts: bounds may be far wider than the
data) and the shares of all labels, at which generators start; one noisy sum per class gives the class means, one noisy
sum the covariance around them. DP-SGD then learns what is left. All of it is post-processing of the doors `counts` and
`total`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from nacre.privacy.curator import Curator
from nacre.privacy.plan import Counts, Entry, Plan, Scope, Total
from nacre.synthesizers.parts.coding import Coding
from nacre.synthesizers.parts.grouping import simplex
from nacre.synthesizers.parts.layout import Layout
from nacre.synthesizers.parts.one_way import CLIP, place
from nacre.table.grid import Grid

SHARES = {"one-way": 0.06, "means": 0.08, "covariance": 0.06}  # of μ²
RIDGE = 0.02
LEAST_SHARE = 1e-4  # that a label starts with


def entries(layout: Layout, scope: Scope, mu2: float) -> tuple[Entry, ...]:
    """The doors that buy it."""
    names = layout.schema.modelled
    sigma = math.sqrt(len(names) / (SHARES["one-way"] * mu2))
    found: list[Entry] = [Counts("one-way", sigmas=(sigma,) * len(names), cliques=tuple((n,) for n in names))]
    d = len(layout.numbers)
    if d:
        noise = scope.sum / scope.table / math.sqrt(mu2)
        mean, square = mean_bound(d), square_bound(d)
        found.append(Total("means", size=d, bound=mean, sigma=mean * noise / SHARES["means"] ** 0.5, exact=False,
                           parts=layout.classes))  # fmt: skip
        found.append(Total("covariance", size=d * (d + 1) // 2, bound=square,
                           sigma=square * noise / SHARES["covariance"] ** 0.5, exact=False))  # fmt: skip
    return tuple(found)


def mean_bound(d: int) -> float:
    """Length to which a row of d standardised numbers is cut: a class that stands far out keeps its direction."""
    return 3.0 * math.sqrt(d)


def square_bound(d: int) -> float:
    """Length to which the products of such a row are cut: twice the squared length that a row has on average; of few
    numbers, whose squared length varies more (variance 2d), two standard deviations beyond it."""
    return max(2.0 * d, d + 2.0 * math.sqrt(2.0 * d))


def buy(
    curator: Curator, plan: Plan, layout: Layout, parts: tuple[tuple[str, ...], ...]
) -> tuple[Coding, np.ndarray, list[np.ndarray]]:
    """(the coding of the rows, class shares, log shares of the labels of each part)."""
    names = layout.schema.modelled
    d, rows = len(layout.numbers), max(float(plan.rows or 1), 1.0)
    shares = np.ones(1)
    mean, scale = np.full(d, 0.5), np.full(d, 0.25)
    tables = dict(zip(names, curator.counts(plan["one-way"], [(n,) for n in names])))
    for j, name in enumerate(layout.numbers):
        mean[j], scale[j] = place(Grid.of(layout.schema.columns[name]), tables[name], plan["one-way"].sigmas[0])
    if layout.target is not None:
        shares = simplex(tables[layout.target].astype(np.float64) / rows, 1.0)
    labels = [label_logits(layout, tables, part) for part in parts]
    coding = Coding(layout, parts, mean, scale, clip=CLIP)
    if not d:
        return coding, shares, labels
    public = {"coding": coding, "mean": mean, "scale": scale}
    sums = np.atleast_2d(curator.total(plan["means"], _class_sums, public))
    # A class with few rows has a noisy mean: shrink it by what noise explains (James and Stein, per class).
    noise = plan["means"].sigma / np.maximum(shares * rows, 1.0)
    centre = np.stack([shrunk(s / max(p * rows, 1.0), n) for s, p, n in zip(sums, shares, noise)])
    coding = Coding(layout, parts, mean, scale, centre=centre, clip=CLIP)
    products = curator.total(plan["covariance"], _products, {**public, "coding": coding, "centre": centre})
    cov = np.zeros((d, d))
    cov[np.triu_indices(d)] = products / rows
    slope, root = linear_parts(cov + np.triu(cov, 1).T, coding)
    return Coding(layout, parts, mean, scale, slope, root, centre, CLIP), shares, labels


def label_logits(layout: Layout, tables: Mapping[str, np.ndarray], part: tuple[str, ...]) -> np.ndarray:
    """Log shares of the labels of a part's columns, block after block, from noisy counts."""
    found = [np.zeros(0)]
    for name, size in layout.blocks:
        if name not in part:
            continue
        counts = tables[name].astype(np.float64)
        share = simplex(counts / counts.sum(), 1.0) if counts.sum() > 0 else np.full(len(counts), 1 / len(counts))
        if name in layout.numbers:  # present, missing
            missing = share[Grid.of(layout.schema.columns[name]).null]
            share = np.array([1 - missing, missing])
        found.append(np.log(np.maximum(share[:size], LEAST_SHARE)))
    return np.concatenate(found)


def shrunk(mean: np.ndarray, noise: float) -> np.ndarray:
    """Towards 0 by the share of its length that noise explains; positive part."""
    size = float(mean @ mean)
    return mean * max(0.0, 1.0 - len(mean) * noise**2 / max(size, 1e-300))


def linear_parts(cov: np.ndarray, coding: Coding) -> tuple[np.ndarray, np.ndarray]:
    """(slope, root) of a noisy covariance, made positive definite first."""
    values, axes = np.linalg.eigh(cov)
    cov = (axes * np.maximum(values, RIDGE)) @ axes.T
    first, last = coding.numbers_of(0), coding.numbers_of(1)
    within = cov[np.ix_(first, first)]
    slope = np.linalg.solve(within, cov[np.ix_(first, last)]) if first else np.zeros((0, len(last)))
    left = cov[np.ix_(last, last)] - cov[np.ix_(last, first)] @ slope
    return slope, np.linalg.cholesky(left + 1e-6 * np.eye(len(last)))


def chooser_weights(coding: Coding, shares: np.ndarray, width: int) -> dict[str, np.ndarray]:
    """p(class | x') by Bayes' rule with one covariance for all classes: linear in the numbers of x'.

    The `chooser` of a `TrainingConfig` without a middle layer holds it exactly: leaky(a) − leaky(−a) = (1 + slope)·a.
    """
    from nacre.nets.branched import SLOPE

    k = coding.layout.classes
    first = coding.numbers_of(0)
    weight, bias = np.zeros((width, k)), np.log(np.maximum(shares, 1e-9))
    if coding.centre is not None and first:
        centre = coding.centre[:, first]
        between = centre.T @ (shares[:, None] * centre)
        within = np.linalg.inv(np.eye(len(first)) + between)  # standardised numbers have a spread of about 1
        weight[: len(first)] = within @ centre.T
        bias = bias - 0.5 * np.einsum("ci,ij,cj->c", centre, within, centre)
    both = np.concatenate([weight, -weight]) / (1 + SLOPE)
    eye = np.eye(width)
    found = {"in0.weight": np.concatenate([eye, -eye], axis=1), "in0.bias": np.zeros(2 * width)}
    return {n: a.astype(np.float32) for n, a in (found | {"out.weight": both, "out.bias": bias}).items()}


# Record maps: one row at a time, public arrays through `public`.


def _class_sums(records: Any, public: Any) -> np.ndarray:
    standard, kinds = public["coding"].standard(records)
    return np.column_stack([kinds, standard]) if public["coding"].layout.classes > 1 else standard


def _products(records: Any, public: Any) -> np.ndarray:
    standard, kinds = public["coding"].standard(records)
    left = public["coding"].centred(standard, kinds)
    i, j = np.triu_indices(left.shape[1])
    return left[:, i] * left[:, j]
