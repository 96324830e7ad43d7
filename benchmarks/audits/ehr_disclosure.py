"""The medical-record model on an open hospital table: what it keeps, and what two attacks find in it.

Diabetes inpatients of 130 US hospitals, one encounter per patient, 27 columns; 70 % of 20,000 patients are the table,
15 % are held out for the attacks and 15 % for the utility list, unseen by everything else. The attacks run on every
release and on the four controls made from the same rows. Weights raise the exposure of those they favour, so a model
with one group weighted up to half of the target is attacked on that group alone, beside the model without weights. No
figure here is a privacy guarantee. The thesis's own table is not public: its figures stand beside ours to compare the
pattern, not the numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

import nacre
from benchmarks.catalogue import Options
from benchmarks.hospital_table import DATASET, TARGET, hospital
from benchmarks.results import Results, Setting, published_row
from nacre.audit.disclosure import CONTROLS, Disclosure, disclosure
from nacre.table import Schema

STEPS = 3_000
PATIENTS = 20_000  # drawn at random: the attacks look at all pairs of rows
THESIS = "Diesendruck, thesis 2019, chapter 4, another hospital's table; 9.5 was the radius"
LISTED = ("ks", "tvd1", "dwp_rmse", "correlation_mae", "correlation_max", "energy", "mmd2", "auc_hgb", "auc_lr")
GROUP = "AfricanAmerican"  # of `race`: 18 % of the table, half of the target of the weighted model
OTHERS = frozenset({"Asian", "Caucasian", "Hispanic", "Other", None})
METHODS: Mapping[str, dict[str, Any]] = {
    "mmdgan-ehr": {"method": "mmdgan", "epsilon": None, "options": {"steps": STEPS}},
    "mmdgan-ehr-weighted": {
        "method": "mmdgan",
        "epsilon": None,
        "options": {"steps": STEPS},
        "target_shares": {"race": {GROUP: 0.5, OTHERS: 0.5}},
    },
    "mmdgan-li2017": {"method": "mmdgan", "epsilon": None, "options": {"mode": "li2017", "steps": STEPS}},
    "sketch": {"method": "sketch", "epsilon": 1.0, "delta": 1e-6},
}


def parts(frame: pd.DataFrame, seed: int) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """The table, the holdout of the attacks, and the test rows of the utility list."""
    order = np.random.default_rng([seed, 61]).permutation(len(frame))
    cuts = [round(0.7 * len(frame)), round(0.85 * len(frame))]
    a, b, c = (frame.iloc[part].reset_index(drop=True) for part in np.split(order, cuts))
    return a, b, c


def attacked(found: Disclosure, name: str) -> dict[str, float]:
    """The figures of both attacks on one table."""
    p, a = found.presence[name], found.attributes[name]
    precise = {} if p.precision is None else {"presence_precision": p.precision.value}
    radius = {} if p.radius_quantile is None else {"presence_radius": p.radius_quantile}
    return {
        **precise,
        **radius,
        "presence_auc": p.auc,
        "presence_auc_error": 1.96 * p.auc_error,
        "presence_tpr1": p.at[0.01].value,
        "presence_tpr01": p.at[0.001].value,
        "presence_sensitivity": p.found.value,
        "presence_hits": p.found.hits,
        "presence_alarms": p.alarms.hits,
        "copies": p.copies.value,
        "attribute_sensitivity": a.members.sensitivity.value,
        "attribute_precision": a.members.precision.value,
        "attribute_hits": a.members.hit_rate.value,
        "attribute_strangers": a.strangers.sensitivity.value,
        "attribute_excess": a.excess.value,
        "attribute_excess_low": a.excess.low,
        "attribute_excess_high": a.excess.high,
        "attribute_beyond": a.beyond_strangers.value,
    }


ONLY = tuple(METHODS)


def run(options: Options, results: Results) -> None:
    results.published = [
        published_row(Setting("mmdgan-ehr", DATASET, guarantee=None), name, value, THESIS)
        for name, value in (("presence_sensitivity", 0.0005), ("attribute_sensitivity", 0.31),
                            ("attribute_precision", 0.72), ("attribute_strangers", 0.30))
    ]  # fmt: skip
    frame, schema = hospital()
    frame = frame.sample(2_000 if options.quick else PATIENTS, random_state=0)
    for seed in range(options.seeds):
        train, holdout, test = parts(frame, seed)
        for name, asked in METHODS.items():
            if options.wants(name) and not results.has(name, seed):
                _case(results, name, dict(asked), seed, (train, holdout, test), schema, options)


def _case(results: Results, name: str, asked: dict[str, Any], seed: int, tables: tuple, schema: Schema,
          options: Options) -> None:  # fmt: skip
    train, holdout, test = tables
    small = {"steps": 20} if options.quick else {}
    asked["options"] = {**asked.get("options", {}), **small}
    release = nacre.fit(train, schema=schema, seed=seed, target=TARGET, **asked)
    made = release.sample(len(train), seed=seed)
    report = nacre.evaluate(made, train=train, holdout=test, schema=schema, target=TARGET, suites=("hgb", "lr"),
                            seed=seed, n_jobs=options.jobs)  # fmt: skip
    found = disclosure(made, train, holdout, schema, seed=seed, repeats=2 if options.quick else 20)
    if name.startswith("mmdgan-ehr"):
        alone = disclosure(made, train, holdout, schema, share=0.25, seed=seed, repeats=2 if options.quick else 20,
                           only=lambda rows: (rows["race"] == GROUP).to_numpy(bool))  # fmt: skip
        results.add(Setting(f"{name}: the group", DATASET), seed, attacked(alone, "synthetic"), f"{name}: the group")
    figures = {s.metric: s.value for s in report.scores if s.of == "synthetic" and not s.columns and s.metric in LISTED}
    c = release.certificate
    where = Setting(name, DATASET, c.epsilon, c.delta if c.epsilon is not None else None, c.guarantee)
    results.add(where, seed, figures | attacked(found, "synthetic"), name)
    for control in CONTROLS:
        results.add(Setting(f"control: {control}", DATASET), seed, attacked(found, control), f"control: {control}")
    real = {s.metric: s.value for s in report.scores if s.of == "real" and not s.columns and s.metric in LISTED}
    if real:
        results.add(Setting("real", DATASET), seed, real, "real")
    results.write()
    print(name, seed, found, {k: round(v, 4) for k, v in figures.items()}, flush=True)
