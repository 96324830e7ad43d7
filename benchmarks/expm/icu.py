"""Classifiers of simulated intensive-care stays: SGD, DP-SGD, ExpM+NF and what the mechanism itself gives.

Neighbours replace one stay for all methods. For `expm-nf` and `expm-nf-paper` the column epsilon holds epsilon_tilde, a
parameter of the target density that promises nothing; beside it `expm-exact` (rejection, where it ends), `expm-mh`
(chains that the flow proposes to) and `expm-hmc` (Hamiltonian chains) draw from that density. Rates, steps and priors
were chosen on seed 10, but for chains of GRU-D, whose prior and length were set beforehand. Features of the logistic
regression are last values carried forward, in the public bounds ±4; GRU-D sees values and gaps. All values of a method
and both outcomes are trained together (`icu_grid`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.catalogue import Options
from benchmarks.results import Results, Setting
from nacre.learners.descending import DpSgd, NoisyGd, Sgd
from nacre.learners.exponential import Rejection
from nacre.learners.flow import ExpmNf, FlowShape
from nacre.learners.flow_chain import FlowChain
from nacre.learners.grud import GRUD
from nacre.learners.hamiltonian import Hamiltonian
from nacre.learners.labelled import Scale
from nacre.nets.gru_d import GruD
from nacre.table.simulate.icu import simulate_icu

DELTA = 1e-5
GRID = (1e-3, 1.0, 1e-4, 10.0, 1e-2, 0.1, 3.5, 0.5, 2.0, 7.0)  # most telling ones first
EXACT = (1e-3, 1e-4)  # where rejection ends: ε·rows/2 is at most about 10
METHODS = ("dpsgd-l2", "dpsgd-bce", "noisy-gd", "expm-nf-paper", "expm-nf", "expm-mh", "expm-exact")
TRAIN = 0.7
GRUD_GRID, GRUD_SEEDS, HIDDEN = (1e-3, 1.0, 10.0, 1e-2, 0.1), 3, 10
GRUD_METHODS = ("expm-nf-paper", "dpsgd-l2", "dpsgd-bce", "noisy-gd", "expm-nf", "expm-mh", "expm-exact", "expm-hmc")
# Parameter vectors and rows of one step: a network is evaluated for every pair.
FEW = FlowShape(layers=4, steps=600, rate=1e-2, draws=8, batch=128)
WIDE = 0.1  # prior of Hamiltonian chains on GRU-D: within the default, 0.011, no network is far from its start weights
LINEAR_METHODS = (*METHODS, "expm-hmc")
PROVEN, CHAINS = ("proven (real arithmetic)", DELTA), ("conditional", DELTA)
PROMISES = {"dpsgd-l2": PROVEN, "dpsgd-bce": PROVEN, "noisy-gd": PROVEN, "expm-exact": ("proven", DELTA),
            "expm-mh": CHAINS, "expm-hmc": CHAINS}  # fmt: skip
DATASETS = ("lr-mortality", "lr-los", "grud-mortality", "grud-los")


def training(method: str, epsilon: float | None, wide: bool) -> Any:
    steps, small = (800, {"draws": 16, "batch": 256}) if wide else (600, {"draws": 32, "batch": 512})
    shape = FlowShape(layers=4, steps=600, rate=1e-2, **small)
    # Squared losses saturate at a rate of 4 where 7 % of the labels are 1 and features are many.
    descent: Any = {"loss": "bce", "steps": 150, "rate": 2.0} if wide else {"loss": "l2", "steps": 50, "rate": 4.0}
    made = {
        "sgd": lambda e: Sgd(rate=0.1 if wide else 1.0, steps=steps),
        "dpsgd-l2": lambda e: DpSgd("l2", 300, 512.0, 2.0, epsilon=e, delta=DELTA),
        "dpsgd-bce": lambda e: DpSgd("bce", 300, 512.0, 0.5, epsilon=e, delta=DELTA),
        "noisy-gd": lambda e: NoisyGd(**descent, epsilon=e, delta=DELTA),
        "expm-nf-paper": lambda e: ExpmNf.paper(
            e, 0.02, 3.0, kind="sylvester", layers=4, steps=600, rate=1e-2, **small
        ),
        "expm-nf": lambda e: ExpmNf(e, shape=shape),
        "expm-mh": lambda e: FlowChain(e, shape=shape, moves=200, delta=DELTA),
        "expm-exact": lambda e: Rejection(e, patience=200, delta=DELTA),
        "expm-hmc": lambda e: Hamiltonian(e, moves=300, delta=DELTA),
    }
    return made[method](epsilon)


def features(stays: Any, wide: bool) -> np.ndarray:
    filled = stays.filled()
    return (filled if wide else filled[:, -1:]).reshape(len(filled), -1)


# ------------------------------------------------------------------------------------------------------------- GRU-D


# At epsilon_tilde 0.001 the utility is worth about 0.1 nat and a volume about 5 a layer: from a tilt of 0.5 the layers
# widen and do not move, whatever the draws and rows of a step. Tilted they shift, like a descent on the mean.
SHIFTED = FlowShape("planar", 10, affine=False, sd=0.02, draws=8, batch=256, steps=800, rate=4e-4, tilt=3.0)


def grud_training(method: str, epsilon: float | None) -> Any:
    e: Any = epsilon
    made = {
        "sgd": lambda: Sgd("bce", 600, 256.0, 3e-3),
        "dpsgd-l2": lambda: DpSgd("l2", 300, 512.0, 1e-2, epsilon=e, delta=DELTA),
        "dpsgd-bce": lambda: DpSgd("bce", 300, 512.0, 1e-2, epsilon=e, delta=DELTA),
        "noisy-gd": lambda: NoisyGd("l2", 50, rate=1e-2, epsilon=e, delta=DELTA),
        "expm-nf-paper": lambda: ExpmNf(e, 30.0, SHIFTED, diagnostic_draws=32),
        "expm-nf": lambda: ExpmNf(e, shape=FEW, diagnostic_draws=32),
        "expm-mh": lambda: FlowChain(e, shape=FEW, moves=200, delta=DELTA),
        "expm-exact": lambda: Rejection(e, patience=200, delta=DELTA),
        "expm-hmc": lambda: Hamiltonian(e, WIDE, moves=120, leaps=8, delta=DELTA),
    }
    return made[method]()


def series(stays: Any) -> np.ndarray:
    return np.where(stays.observed, stays.values, np.nan).astype(np.float32)


# -------------------------------------------------------------------------------------------------------------- grid


def logistic_data(stays: Any) -> Any:
    from benchmarks.expm.icu_data import Data

    x = features(stays, wide=True)
    return Data(Scale.of((-4.0, 4.0), x)(x), np.stack([stays.died, stays.stayed]), int(TRAIN * len(x)))


def series_data(stays: Any, hidden: int = HIDDEN) -> Any:
    """Records as the learner `GRUD` makes them."""
    from benchmarks.expm.icu_data import Data

    x = series(stays)
    network = GruD(*x.shape[1:], hidden)
    learner = GRUD(hidden=hidden)
    learner.scale_ = Scale.of((-4.0, 4.0), np.nan_to_num(x.reshape(-1, x.shape[2])))
    return Data(learner._records(x), np.stack([stays.died, stays.stayed]), int(TRAIN * len(x)), network)


def values_of(method: str, grud: bool, quick: bool) -> tuple[float | None, ...]:
    if method == "sgd":
        return (None,)
    grid = EXACT if method == "expm-exact" else GRUD_GRID if grud else GRID
    return grid[:1] if quick else grid


def measure_grid(options: Options, results: Results, seed: int, grud: bool) -> None:
    """All methods and values of one seed that were not measured yet, on both outcomes."""
    from benchmarks.expm import icu_grid

    data, datasets = None, DATASETS[2:] if grud else DATASETS[:2]
    for method in ("sgd", *(GRUD_METHODS if grud else LINEAR_METHODS)):
        lacking = [
            v
            for v in values_of(method, grud, options.quick)
            if not all(results.has(f"{d}/{method}/{v}", seed) for d in datasets)
        ]
        if not lacking or not options.wants(method):
            continue
        if data is None:
            stays = simulate_icu(600 if options.quick else 21_877, seed)
            data = series_data(stays) if grud else logistic_data(stays)
        make = grud_training if grud else lambda m, e: training(m, e, True)
        found = icu_grid.found(method, {v: make(method, v) for v in lacking}, data, seed)
        for (outcome, value), figures in found.items():
            keep(results, datasets[outcome], method, value, seed, figures)
        results.write()


def keep(results: Results, dataset: str, method: str, value: float | None, seed: int, figures: dict) -> None:
    guarantee, delta = PROMISES.get(method, ("none", None))
    setting = Setting(method, dataset, value, delta, guarantee)
    results.add(setting, seed, figures, f"{dataset}/{method}/{value}")
    print(f"{dataset}/{method}/{value} seed {seed}: {figures}", flush=True)


def add_shares(results: Results) -> None:
    """auc over that of plain SGD of the same seed, wherever both were measured."""
    for dataset in DATASETS:
        plain = Setting("sgd", dataset, None, None, "none")
        for setting in results.settings(dataset):
            for seed in range(10):
                found, base = results.of(setting, seed), results.of(plain, seed)
                if setting != plain and "auc" in found and "auc" in base and "auc_share" not in found:
                    case = f"{dataset}/{setting.method}/{setting.epsilon}/share"
                    results.add(setting, seed, {"auc_share": found["auc"] / base["auc"]}, case)


ONLY = ("sgd", *LINEAR_METHODS)


def run(options: Options, results: Results) -> None:
    for seed in range(options.seeds):
        measure_grid(options, results, seed, grud=False)
    for seed in range(min(options.seeds, GRUD_SEEDS)):
        measure_grid(options, results, seed, grud=True)
    add_shares(results)
