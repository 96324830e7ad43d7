"""MNIST: classes rebalanced and boosted by weights, and digits by an attribute whose weight 200 labels teach.

Classes 0, 1, 2: shares 0.7, 0.2, 0.1 to even, and even to 0.1, 0.1, 0.8. Attributes, measured in the picture: the bar
of sevens (ink left of the stem at half height) and the flat bottom of twos (columns inked in the lowest rows); weights
go from 1 to 9 with the attribute. A network learns log-weights from 200 labelled digits and predicts those of all.
ks_weights: distance between the weights of generated digits, by the attribute measured in them, and the weighted law
of the training digits, with a bootstrap interval; the thesis has 0.03 and 0.07 by the predictions of its own network.
"""

from __future__ import annotations

import numpy as np

from benchmarks import iw_pictures as p
from benchmarks.catalogue import Options
from benchmarks.results import Results, Setting, published_row

DATASET = "mnist"
STEPS, ROWS, LABELS = 2_000, 1_500, 200
DIGITS = 1_150  # of one class
CLASSES = {
    "balance": ({0: 1060, 1: 300, 2: 150}, {0: 1 / 3, 1: 1 / 3, 2: 1 / 3}),
    "boost": ({0: 510, 1: 510, 2: 510}, {0: 0.1, 1: 0.1, 2: 0.8}),
}
ATTRIBUTES = {"sevens": 7, "twos": 2}
THESIS = "Diesendruck, thesis 2019, section 3.4; by the weight network's own predictions"


def bar(images: np.ndarray) -> np.ndarray:
    """Ink left of the stem of a seven, at half its height, as a share of the region."""
    found = np.empty(len(images))
    for i, image in enumerate(images.reshape(-1, p.SIDE, p.SIDE)):
        rows = np.flatnonzero(image.max(axis=1) > 0.3)
        top, bottom = (rows[0], rows[-1]) if len(rows) else (0, p.SIDE - 1)
        band = image[top + round(0.4 * (bottom - top)) : top + round(0.75 * (bottom - top)) + 1]
        stem = band.argmax(axis=1)
        left = [row[max(0, s - 8) : max(1, s - 2)].mean() for row, s in zip(band, stem)]
        found[i] = max(left, default=0.0)
    return found


def flat(images: np.ndarray) -> np.ndarray:
    """The share of a two's width that is inked in the lowest three of its rows."""
    found = np.empty(len(images))
    for i, image in enumerate(images.reshape(-1, p.SIDE, p.SIDE)):
        rows = np.flatnonzero(image.max(axis=1) > 0.3)
        columns = np.flatnonzero(image.max(axis=0) > 0.3)
        low = image[max(0, rows[-1] - 2) : rows[-1] + 1] if len(rows) else image[-3:]
        found[i] = (low.max(axis=0) > 0.3).sum() / max(len(columns), 1)
    return found


MEASURES = {"sevens": bar, "twos": flat}


def weight(attribute: np.ndarray, ends: tuple[float, float]) -> np.ndarray:
    """1 at the low end of the attribute, 9 at the high one."""
    return 1 + 8 * np.clip((attribute - ends[0]) / (ends[1] - ends[0]), 0, 1)


def by_attribute(name: str, seed: int) -> tuple[p.Pictures, np.ndarray, tuple[float, float]]:
    """(digits with learned weights, their true weights, the ends of the attribute)."""
    from nacre.targets.learned import predicted

    x, y, _, _ = p.loaded(DATASET)
    rows = x[y == ATTRIBUTES[name]][:DIGITS]
    attribute = MEASURES[name](rows)
    low, high = np.quantile(attribute, [0.05, 0.95])
    ends = (float(low), float(high))
    true = weight(attribute, ends)
    few = np.random.default_rng([seed, 47]).permutation(len(rows))[:LABELS]
    learned = predicted(rows[few].astype(np.float64), true[few], rows.astype(np.float64), seed)
    kinds = np.full(len(rows), ATTRIBUTES[name])
    return p.Pictures(name, rows, kinds, learned / learned.mean(), (ATTRIBUTES[name],)), true, ends


def ks_figures(name: str, made: np.ndarray, true: np.ndarray, ends: tuple[float, float], seed: int) -> dict[str, float]:
    from nacre.distances import weighted_ks

    got = weight(MEASURES[name](made), ends)
    rng = np.random.default_rng([seed, 53])
    again = []
    for _ in range(200):
        some = rng.integers(0, len(true), len(true))
        again.append(weighted_ks(got[rng.integers(0, len(got), len(got))], true[some], true[some]))
    low, high = np.quantile(again, [0.025, 0.975])
    return {"ks_weights": weighted_ks(got, true, true), "ks_weights_low": float(low), "ks_weights_high": float(high)}


METHODS = ("sniw-mmd", "id-mmd", "cgan", "plain")
ONLY = METHODS


def run(options: Options, results: Results) -> None:
    results.published = [
        published_row(Setting("sniw-mmd", f"mnist-{name}", guarantee=None), "ks_weights", value, THESIS)
        for name, value in (("sevens", 0.03), ("twos", 0.07))
    ]
    steps = 5 if options.quick else STEPS
    for seed in range(options.seeds):
        for name in CLASSES:
            for method in METHODS:
                if options.wants(method) and not results.has(f"{method}/{name}", seed):
                    pictures = p.by_class(DATASET, name, *CLASSES[name], seed, ROWS)
                    made = p.generated(pictures, method, seed, steps)
                    _keep(results, method, name, seed, made, p.classified(DATASET, pictures, made))
        for name in ATTRIBUTES:
            for method in ("sniw-mmd", "plain"):
                if options.wants(method) and not results.has(f"{method}/{name}", seed):
                    pictures, true, ends = by_attribute(name, seed)
                    made = p.generated(pictures, method, seed, steps)
                    _keep(results, method, name, seed, made, ks_figures(name, made, true, ends, seed))
                    if seed == 0:
                        p.keep_strip(f"mnist-{name}", "real", pictures.rows)
    if not options.quick:
        p.figure("weighted-mnist", [(f"mnist-{n}", m) for n in CLASSES for m in ("plain", "sniw-mmd")]
                 + [(f"mnist-{n}", m) for n in ATTRIBUTES for m in ("real", "plain", "sniw-mmd")])  # fmt: skip


def _keep(results: Results, method: str, name: str, seed: int, made: np.ndarray, figures: dict[str, float]) -> None:
    results.add(Setting(method, f"mnist-{name}"), seed, figures, f"{method}/{name}")
    results.write()
    print(method, name, seed, {k: round(v, 4) for k, v in figures.items()}, flush=True)
    if seed == 0:
        p.keep_strip(f"mnist-{name}", method, made)
