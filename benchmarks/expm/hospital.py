"""The learners on a real table: 101,766 stays of diabetics in hospital, readmitted within 30 days or at all.

80 features by public rules: labels of the code book as indicators, numbers in bounds fixed beforehand. Settings are
those chosen for `expm-icu-last` on simulated stays; the promise is per stay, of which a person may have several. The
column epsilon holds epsilon_tilde for `expm-nf` and `expm-nf-paper`.
"""

from __future__ import annotations

import numpy as np

from benchmarks import data as tables
from benchmarks.catalogue import Options
from benchmarks.expm.icu import TRAIN, keep, training
from benchmarks.expm.icu_data import Data
from benchmarks.results import Results

VALUES = (1e-3, 0.1, 1.0, 10.0)
EXACT = (1e-4,)  # where rejection ends
METHODS = ("sgd", "dpsgd-l2", "dpsgd-bce", "noisy-gd", "expm-nf-paper", "expm-nf", "expm-mh", "expm-exact")
DATASETS = ("lr-readmitted-30", "lr-readmitted")
LABELS = {
    "race": ("Caucasian", "AfricanAmerican", "Hispanic", "Asian", "Other"),
    "gender": ("Female", "Male"),
    "admission_type_id": tuple(map(str, range(1, 9))),
    "discharge_disposition_id": tuple(map(str, range(1, 31))),
    "admission_source_id": tuple(map(str, range(1, 27))),
}
BOUNDS = {
    "time_in_hospital": (1, 14), "num_lab_procedures": (0, 140), "num_procedures": (0, 6), "num_medications": (0, 80),
    "number_outpatient": (0, 10), "number_emergency": (0, 10), "number_inpatient": (0, 10),
    "number_diagnoses": (1, 16), "age": (0, 10),
}  # fmt: skip


def features(frame) -> np.ndarray:
    """[rows, 80] in [−1, 1]: every row alone, nothing read from the others."""
    found = [(frame[name].to_numpy()[:, None] == np.array(labels)) * 2.0 - 1 for name, labels in LABELS.items()]
    decade = frame["age"].str.extract(r"\[(\d+)-")[0].astype(float) / 10  # "[70-80)"
    for name, (low, high) in BOUNDS.items():
        values = decade if name == "age" else frame[name]
        found.append((2 * (np.clip(values.to_numpy(float), low, high) - low) / (high - low) - 1)[:, None])
    return np.concatenate(found, axis=1).astype(np.float32)


def stays(seed: int, rows: int | None) -> Data:
    frame = tables.diabetes130()
    order = np.random.default_rng([seed, 41]).permutation(len(frame))[:rows]
    told = frame["readmitted"].to_numpy()[order]
    return Data(features(frame)[order], np.stack([told == "<30", told != "NO"]), int(TRAIN * len(order)))


ONLY = METHODS


def run(options: Options, results: Results) -> None:
    from benchmarks.expm import icu_grid

    for seed in range(options.seeds):
        data = None
        for method in METHODS:
            values = (None,) if method == "sgd" else EXACT if method == "expm-exact" else VALUES
            lacking = [v for v in values if not all(results.has(f"{d}/{method}/{v}", seed) for d in DATASETS)]
            if not lacking or not options.wants(method):
                continue
            data = data or stays(seed, 2000 if options.quick else None)
            found = icu_grid.found(method, {v: training(method, v, False) for v in lacking}, data, seed)
            for (outcome, value), figures in found.items():
                keep(results, DATASETS[outcome], method, value, seed, figures)
            results.write()
