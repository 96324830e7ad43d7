"""MNIST: classes rebalanced and boosted by weights, and digits by an attribute whose weight 200 labels teach.

Classes 0, 1, 2: shares 0.7, 0.2, 0.1 to even, and even to 0.1, 0.1, 0.8. Attributes, measured in the inked pixels of a
picture: how much wider than its stem a seven is at half height (its bar), and the share of a two's width that is inked
at its foot; weights go from 1 to 9 with the attribute. Networks learn weights from 200 labelled digits and predict
those of all, and these are used in the loss.

ks_attribute: distance of the attribute in generated digits from its law in the target, that is in the training digits
by their true weights. ks_weights: the same of predicted weights, as in the thesis (0.03 and 0.07), where the network
judges its own target. Both with bootstrap intervals. Beside them `plain`, a generator without weights, `table`, the
training digits as they are, and `resampled`, the training digits drawn by the learned weights, which no generator of
them can be expected to beat.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.catalogue import Options
from benchmarks.results import Results, Setting, published_row
from benchmarks.weighted import pictures as p

DATASET = "mnist"
ROWS, LABELS = 2_590, 200  # as many of one class as of three: one program trains all
CLASSES = {
    "balance": ({0: 1820, 1: 520, 2: 260}, {0: 1 / 3, 1: 1 / 3, 2: 1 / 3}),
    "boost": ({0: 870, 1: 870, 2: 870}, {0: 0.1, 1: 0.1, 2: 0.8}),
}
ATTRIBUTES = {"sevens": 7, "twos": 2}
ENDS = {"sevens": (2.0, 10.0), "twos": (0.3, 1.0)}  # of the attribute: weight 1 and weight 9
INK, FRAME = 0.5, 14
THESIS = "Diesendruck, thesis 2019, section 3.4; by the weight network's own predictions"


def bar(images: np.ndarray) -> np.ndarray:
    """How many more pixels are inked in the widest row at half height of a seven than in its stem."""
    found = np.zeros(len(images))
    for i, ink in enumerate(images.reshape(-1, p.SIDE, p.SIDE) > INK):
        rows = np.flatnonzero(ink.any(axis=1))
        if len(rows):
            top, height = rows[0], rows[-1] - rows[0]
            widths = np.sort(ink[top + round(0.4 * height) : top + round(0.75 * height) + 1].sum(axis=1))
            found[i] = widths[-1] - widths[len(widths) // 4]  # a bar is of few rows: the lower quartile is stem
    return found


def flat(images: np.ndarray) -> np.ndarray:
    """The share of a two's width that is inked in the lowest three of its rows."""
    found = np.zeros(len(images))
    for i, ink in enumerate(images.reshape(-1, p.SIDE, p.SIDE) > INK):
        rows = np.flatnonzero(ink.any(axis=1))
        if len(rows):
            found[i] = ink[max(0, rows[-1] - 2) : rows[-1] + 1].any(axis=0).sum() / ink.any(axis=0).sum()
    return found


def framed(images: np.ndarray) -> np.ndarray:
    """[n, 196]: the frame around the ink of each picture, stretched to 14×14 by linear interpolation; networks that see
    few labels need not learn where in the picture a digit stands."""
    found = np.zeros((len(images), FRAME, FRAME))
    for i, image in enumerate(images.reshape(-1, p.SIDE, p.SIDE)):
        for axis in (0, 1):
            places = np.flatnonzero((image > INK).any(axis=1 - axis))
            if not len(places):
                image = np.zeros((FRAME, FRAME))
                break
            spots = places[0] + np.linspace(0, 1, FRAME) * (places[-1] - places[0])
            low = np.floor(spots).astype(int)
            share = (spots - low)[:, None] if axis == 0 else spots - low
            high = np.minimum(low + 1, image.shape[axis] - 1)
            image = image.take(low, axis) * (1 - share) + image.take(high, axis) * share
        found[i] = image
    return found.reshape(len(images), -1)


MEASURES = {"sevens": bar, "twos": flat}


@dataclass(frozen=True, eq=False)
class Digits:
    """Digits with learned weights of mean 1; of each the attribute, its true and its learned weight; and what predicts
    weights of others."""

    pictures: p.Pictures
    attribute: np.ndarray
    true: np.ndarray
    learned: np.ndarray
    predict: Callable[[np.ndarray], np.ndarray]


def weight(attribute: np.ndarray, ends: tuple[float, float]) -> np.ndarray:
    """1 up to the low end of the attribute, 9 from the high one."""
    return 1 + 8 * np.clip((attribute - ends[0]) / (ends[1] - ends[0]), 0, 1)


@cache
def by_attribute(name: str, seed: int) -> Digits:
    from nacre.targets.learned import learner

    x, y, _, _ = p.loaded(DATASET)
    rows = x[y == ATTRIBUTES[name]][:ROWS]
    attribute = MEASURES[name](rows)
    true = weight(attribute, ENDS[name])
    few = np.random.default_rng([seed, 47]).permutation(len(rows))[:LABELS]
    seen = framed(rows)
    run = learner(seen[few], true[few], seen, seed)
    learned = run(seen)
    kinds = np.full(len(rows), ATTRIBUTES[name])
    pictures = p.Pictures(name, rows, kinds, learned / learned.mean(), (ATTRIBUTES[name],))
    return Digits(pictures, attribute, true, learned, lambda images: run(framed(images)))


def ks_figures(digits: Digits, made: np.ndarray, seed: int) -> dict[str, float]:
    """Distances of the attribute, and of predicted weights, in `made` from their laws in the target."""
    pairs = {
        "ks_attribute": (MEASURES[digits.pictures.name](made), digits.attribute, digits.true),
        "ks_weights": (digits.predict(made.reshape(len(made), -1)), digits.learned, digits.learned),
    }
    found = {}
    for name, (got, values, weights) in pairs.items():
        ends = ks_interval(got, values, weights, np.random.default_rng([seed, 53]))
        found |= dict(zip((name, f"{name}_low", f"{name}_high"), ends))
    return found


def ks_interval(
    got: np.ndarray, values: np.ndarray, weights: np.ndarray, rng: np.random.Generator, rounds: int = 200
) -> tuple[float, float, float]:
    """(distance, low, high): `weighted_ks`, and how far it may be from that of the laws drawn from, at 95 %.

    Distances of resampled rows hold the noise of resampling on top, and none of them is near 0. Instead: the distance
    of the laws is within sup|G − g| of the one found, for the differences of distribution functions G of the laws and g
    of the rows, and resampled rows differ from the rows as those do from the laws.
    """
    grid = np.unique(np.concatenate([got, values]))
    here, there = np.searchsorted(grid, got), np.searchsorted(grid, values)

    def difference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        shares = np.bincount(here[a], minlength=len(grid)) / len(a)
        return np.cumsum(shares - np.bincount(there[b], weights[b], len(grid)) / weights[b].sum())

    found = difference(np.arange(len(got)), np.arange(len(values)))
    again = [difference(*(rng.integers(0, len(v), len(v)) for v in (got, values))) for _ in range(rounds)]
    away = float(np.quantile(np.abs(np.stack(again) - found).max(axis=1), 0.95))
    distance = float(np.abs(found).max())
    return distance, max(0.0, distance - away), min(1.0, distance + away)


def controls(name: str, seed: int, results: Results) -> None:
    """What real digits get: all as they are, and drawn by the learned weights."""
    from nacre.targets.weights import resample

    digits = by_attribute(name, seed)
    rows = digits.pictures.rows
    places = resample(digits.pictures.weights, p.DRAWN, np.random.default_rng([seed, 59]))
    for method, some in (("table", rows), ("resampled", rows[places])):
        figures = ks_figures(digits, some, seed)
        results.add(Setting(method, f"mnist-{name}"), seed, figures, f"{method}/{name}")
        print(method, name, seed, {k: round(v, 4) for k, v in figures.items()}, flush=True)
    if seed == 0:
        p.keep_strip(f"mnist-{name}", "table", rows)


def jobs(options: Options, results: Results) -> list[p.Job]:
    """What is asked for and not measured yet, attributes first."""
    cases = [(m, n) for n in ATTRIBUTES for m in ("sniw-mmd", "plain")]
    cases += [(m, n) for m in ("sniw-mmd", "plain", "id-mmd", "cgan") for n in CLASSES]
    return [
        p.Job(_pictures(name, seed), method, seed)
        for method, name in cases if options.wants(method)
        for seed in range(options.seeds) if not results.has(f"{method}/{name}", seed)
    ]  # fmt: skip


def _pictures(name: str, seed: int) -> p.Pictures:
    if name in ATTRIBUTES:
        return by_attribute(name, seed).pictures
    return p.by_class(DATASET, name, *CLASSES[name], seed, ROWS)


def judged(job: p.Job, made: np.ndarray, results: Results) -> None:
    name = job.pictures.name
    if name in ATTRIBUTES:
        p.keep(results, job, f"mnist-{name}", made, ks_figures(by_attribute(name, job.seed), made, job.seed))
    else:
        p.keep(results, job, f"mnist-{name}", made, *p.classified(DATASET, job.pictures, made))


ONLY = ("sniw-mmd", "id-mmd", "cgan", "plain", "table")


def run(options: Options, results: Results) -> None:
    results.published = [
        published_row(Setting("sniw-mmd", f"mnist-{name}", guarantee=None), "ks_weights", value, THESIS)
        for name, value in (("sevens", 0.03), ("twos", 0.07))
    ]
    for job, made in p.generated(jobs(options, results), p.training(options)):
        judged(job, made, results)
    for name in ATTRIBUTES:
        for seed in range(options.seeds):
            if options.wants("table") and not results.has(f"table/{name}", seed):
                controls(name, seed, results)
    if not options.quick:
        p.figure("weighted-mnist", [(f"mnist-{n}", m) for n in CLASSES for m in ("plain", "sniw-mmd")]
                 + [(f"mnist-{n}", m) for n in ATTRIBUTES for m in ("table", "plain", "sniw-mmd")])  # fmt: skip
