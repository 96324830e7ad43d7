"""`expm-icu` on the last value of each of the 104 measurements: a public reduction that makes every method cheap.

Each case is a fit of the learner itself, through its curator.
"""

from __future__ import annotations

import numpy as np

from benchmarks.catalogue import Options
from benchmarks.expm.icu import GRID, METHODS, TRAIN, features, training
from benchmarks.results import Results, Setting
from nacre.learners.logistic import LogisticRegression
from nacre.owner import OwnerNotes
from nacre.table.simulate.icu import simulate_icu

ONLY = ("sgd", *METHODS)


def run(options: Options, results: Results) -> None:
    stays_wanted = 2000 if options.quick else 21_877
    for seed in range(options.seeds):
        stays = simulate_icu(stays_wanted, seed)
        x, cut = features(stays, wide=False), int(TRAIN * stays_wanted)
        for name, y in (("lr-mortality-last", stays.died), ("lr-los-last", stays.stayed)):
            cases = [("sgd", None), *((m, e) for e in (GRID[:1] if options.quick else GRID) for m in METHODS)]
            for method, epsilon in cases:
                if options.wants(method) and not results.has(f"{name}/{method}/{epsilon}", seed):
                    _one(results, (x, y, cut), (name, method, epsilon, seed))


def _one(results: Results, data: tuple, what: tuple) -> None:
    (x, y, cut), (dataset, method, epsilon, seed) = data, what
    notes = OwnerNotes()
    learner = LogisticRegression(training(method, epsilon, False), bounds=(-4.0, 4.0), classes=(False, True), seed=seed)
    learner.fit(x[:cut], y[:cut], owner=notes)
    if method.startswith("expm-nf"):  # the median draw: one draw of a flow says little
        draws = [learner.predict_proba(x[cut:])[:, 1], *_more(learner, x[cut:], 20)]
        auc = float(np.median([area(p, y[cut:]) for p in draws]))
    else:
        auc = area(learner.predict_proba(x[cut:])[:, 1], y[cut:])
    certificate, told = learner.certificate_, next(iter(notes.diagnostics.values()), {})
    setting = Setting(method, dataset, epsilon, certificate.delta, certificate.guarantee)
    figures = {"auc": auc, **{k: told[k] for k in ("ess_share",) if k in told}}
    if method == "expm-mh":
        figures["accepted"] = told["accepted"]
    plain = results.of(Setting("sgd", dataset, None, None, "none"), seed)
    if "auc" in plain:
        figures["auc_share"] = auc / plain["auc"]
    case = f"{dataset}/{method}/{epsilon}"
    results.add(setting, seed, figures, case)
    results.write()
    print(f"{case} seed {seed}: {figures}", flush=True)


def area(score: np.ndarray, truth: np.ndarray) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(truth, score))


def _more(learner: LogisticRegression, x: np.ndarray, count: int) -> list[np.ndarray]:
    scaled = learner.scale_(x)
    return [scaled @ theta[:-1] for theta in learner.draw(count)]
