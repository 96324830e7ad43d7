"""Figures of other methods, as reported or as measured with the same evaluation; shown beside ours.

Settings differ from ours where the source says so; nothing here was measured by the run that lists it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.results import Setting, published_row

PROTOTYPE = "prototype of the sketch, hand-made public bins, one 80/20 split"
DENOISED = "prototype of the sketch with denoising, one 80/20 split"
AIM = "AIM, mbi 1.0, all pairs, the prototype's bins; mean of two runs on one 80/20 split"
MST = "MST, mbi 1.0, about 100 bins, one 80/20 split"
DPMM = "dpmm 0.1.9, one 80/20 split"
MOSTLY = "MOSTLY AI engine with DP, one 80/20 split"
SDV = "CTGAN package, no privacy, one 80/20 split"
HFLOW = "Lee, Kim, Jeong, Ro: Differentially Private Normalizing Flows for Synthetic Tabular Data Generation"

Row = tuple[str, float | None, str, dict[str, float]]


def _six(*values: float | None, **more: float) -> dict[str, float]:
    """The six figures of the Adult comparison, in this order; None where the source has none."""
    names = ("auc_mean10", "auc_hgb", "ap_hgb", "tvd1", "tvd2", "kendall_rmse")
    return {n: v for n, v in zip(names, values, strict=True) if v is not None} | more


ADULT: tuple[Row, ...] = (
    ("real", None, PROTOTYPE, _six(0.874, 0.930, 0.830, None, None, None, auc_lr=0.908)),
    ("bootstrap", None, PROTOTYPE, _six(None, None, None, 0.004, 0.012, None)),
    ("sketch-prototype", 10.0, PROTOTYPE, _six(0.863, 0.916, 0.796, 0.017, 0.036, 0.018)),
    ("sketch-prototype", 1.0, PROTOTYPE, _six(0.853, 0.911, 0.787, 0.018, 0.045, 0.026, auc_lr=0.903)),
    ("sketch-prototype", 0.1, PROTOTYPE, _six(0.824, 0.891, 0.729, 0.032, 0.088, 0.047)),
    ("sketch-prototype-no-target", 1.0, PROTOTYPE, _six(0.840, 0.904, 0.769, 0.017, 0.045, 0.021)),
    ("sketch-prototype-denoised", 1.0, DENOISED, _six(0.868, 0.908, None, None, None, None)),
    ("sketch-prototype-denoised", 0.1, DENOISED, _six(0.846, 0.877, None, None, None, None)),
    ("aim", 1.0, AIM, _six(0.863, 0.8955, 0.747, 0.020, 0.057, 0.045, auc_lr=0.893)),
    ("aim", 0.1, AIM, _six(0.7605, 0.783, 0.4845, 0.059, 0.125, 0.070)),
    ("mostly-ai", 1.0, MOSTLY, _six(0.832, 0.862, 0.644, 0.071, 0.133, 0.055)),
    ("mst", 1.0, MST, _six(0.805, 0.836, 0.635, 0.006, 0.042, 0.063)),
    ("mst-dpmm", 1.0, DPMM, _six(0.810, 0.837, None, None, 0.050, 0.059)),
    ("privbayes", 1.0, DPMM, _six(0.806, 0.827, None, None, 0.060, 0.069)),
    ("tvae", None, SDV, _six(0.842, 0.883, 0.676, None, 0.113, 0.053)),
    ("ctgan", None, SDV, _six(0.852, 0.885, 0.705, None, 0.140, 0.041)),
)

COVERTYPE: tuple[Row, ...] = (
    ("real", None, PROTOTYPE, {"f1_lr": 0.504, "f1_tree": 0.805, "f1_forest": 0.849, "f1_hgb": 0.675}),
    ("sketch-prototype", 10.0, PROTOTYPE,
     {"f1_lr": 0.497, "f1_tree": 0.552, "f1_forest": 0.671, "f1_hgb": 0.656, "kendall_rmse": 0.022,
      "kendall_mae": 0.018}),
    ("sketch-prototype", 1.0, PROTOTYPE,
     {"f1_lr": 0.498, "f1_tree": 0.560, "f1_forest": 0.654, "f1_hgb": 0.628, "kendall_rmse": 0.027,
      "kendall_mae": 0.022}),
    ("sketch-prototype", 0.1, PROTOTYPE,
     {"f1_lr": 0.389, "f1_tree": 0.459, "f1_forest": 0.492, "f1_hgb": 0.531, "kendall_rmse": 0.051,
      "kendall_mae": 0.039}),
    ("real", None, HFLOW, {"f1_mean9": 0.77}),
    ("dp-hflow", 1.0, HFLOW, {"f1_mean9": 0.22, "kendall_rmse": 0.0717, "kendall_mae": 0.0482}),
    ("dp-merf", 1.0, HFLOW, {"f1_mean9": 0.31, "kendall_rmse": 0.1863, "kendall_mae": 0.1342}),
    ("gs-wgan", 1.0, HFLOW, {"f1_mean9": 0.11, "kendall_rmse": 0.2058, "kendall_mae": 0.1396}),
    ("dp-cgan", 1.0, HFLOW, {"f1_mean9": 0.15, "kendall_rmse": 0.4434, "kendall_mae": 0.3549}),
)  # fmt: skip

PEARL = "Liew, Takahashi, Ueno: PEARL: Data Synthesis via Private Embeddings and Adversarial Reconstruction Learning"


def _four(*values: float | None) -> dict[str, float]:
    """The four figures of the PEARL comparison, in this order; None where the source has none."""
    names = ("roc_hard_mean10", "prc_hard_mean10", "range_query", "marginal_l1")
    return {n: v for n, v in zip(names, values, strict=True) if v is not None}


ADULT_BALANCED: tuple[Row, ...] = (
    ("real", None, PEARL, _four(0.765, 0.654, None, None)),
    ("pearl", 1.0, PEARL, _four(0.721, 0.618, 0.06, 0.71)),
    ("dp-merf", 1.0, PEARL, _four(0.641, 0.536, 0.10, 1.37)),
)
CREDIT_BALANCED: tuple[Row, ...] = (
    ("pearl", 1.0, PEARL, _four(0.84, 0.68, 0.026, 0.72)),
    ("dp-merf", 1.0, PEARL, _four(0.66, 0.26, 0.049, 0.95)),
)


def _two(fid: float, kid: float) -> dict[str, float]:
    return {"fid_lenet": fid, "kid_lenet": kid}


OTHER_LENET = f"{PEARL}; another LeNet, so not comparable but in order"
MNIST: tuple[Row, ...] = (
    ("pearl", 1.0, OTHER_LENET, _two(3.52, 0.0705)),
    ("pearl-no-critic", 1.0, OTHER_LENET, _two(3.79, 0.0778)),
    ("dp-merf", 1.0, OTHER_LENET, _two(49.9, 0.148)),
)
FASHION: tuple[Row, ...] = (
    ("pearl", 1.0, OTHER_LENET, _two(1.92, 0.0269)),
    ("pearl-no-critic", 1.0, OTHER_LENET, _two(1.99, 0.024)),
    ("dp-merf", 1.0, OTHER_LENET, _two(37.0, 1.22)),
)
HFLOW_METHODS: tuple[tuple[str, float | None], ...] = (
    ("real", None), ("dp-cgan", 1.0), ("gs-wgan", 1.0), ("dp-merf", 1.0), ("dp-hflow", 1.0),
    ("ctgan", None), ("dp-merf-non-private", None), ("dp-hflow-non-private", None),
)  # fmt: skip
HFLOW_F1 = {
    "adult": (0.79, 0.46, 0.42, 0.37, 0.56, 0.74, 0.41, 0.75),
    "census": (0.75, 0.45, 0.44, 0.48, 0.52, 0.67, 0.50, 0.70),
    "covertype": (0.77, 0.15, 0.11, 0.31, 0.22, 0.22, 0.29, 0.49),
    "intrusion": (0.86, 0.19, 0.13, 0.36, 0.40, 0.54, 0.38, 0.46),
}
HFLOW_AUROC = {
    "adult": (0.90, 0.53, 0.48, 0.63, 0.75, 0.86, 0.65, 0.87),
    "census": (0.93, 0.50, 0.56, 0.68, 0.78, 0.89, 0.69, 0.91),
}
HFLOW_APC = {
    "adult": (0.77, 0.28, 0.25, 0.34, 0.50, 0.66, 0.39, 0.70),
    "census": (0.59, 0.07, 0.10, 0.15, 0.17, 0.43, 0.15, 0.49),
}
HFLOW_TAU = {"dp-cgan": (0.4434, 0.3549), "gs-wgan": (0.2058, 0.1396), "dp-merf": (0.1863, 0.1342),
             "dp-hflow": (0.0717, 0.0482)}  # fmt: skip


def _hflow(table: str) -> tuple[Row, ...]:
    """Tables 1 to 3 of the DP-HFlow paper for one table; their budget is read as (1, 1e-5)."""
    found = []
    for i, (method, epsilon) in enumerate(HFLOW_METHODS):
        named = {"f1_mean9": HFLOW_F1, "auroc_mean9": HFLOW_AUROC, "apc_mean9": HFLOW_APC}
        figures = {name: rows[table][i] for name, rows in named.items() if table in rows}
        if table == "covertype" and method in HFLOW_TAU:
            figures |= dict(zip(("kendall_rmse", "kendall_mae"), HFLOW_TAU[method]))
        found.append((method, epsilon, HFLOW, figures))
    return tuple(found)


PPEM = "Privacy-Preserving Energy-Based Generative Models, Table 1; anonymous, under review; delta 1/n"


def _five(ksd: float | None, mmd: float | None, auroc: float, mse: float, r2: float) -> dict[str, float]:
    found = {"ksd_p": ksd, "mmd_p": mmd, "auroc": auroc, "mse": mse, "r2": r2}
    return {name: value for name, value in found.items() if value is not None}


CREDIT_PPEM: tuple[Row, ...] = (
    ("real", None, PPEM, _five(None, None, 0.975, 0.124, 0.881)),
    ("wgan", None, PPEM, _five(None, 0.15, 0.966, 0.126, 0.879)),
    ("ebgan", None, PPEM, _five(None, 0.0, 0.871, 7.13, -5.86)),
    ("steingan", None, PPEM, _five(None, 0.0, 0.822, 1.81, -0.740)),
    ("ppem-2", None, PPEM, _five(0.0, 0.02, 0.922, 0.184, 0.822)),
    ("ppem-5", None, PPEM, _five(0.0, 0.0, 0.948, 0.196, 0.812)),
    ("ppem-2-dp", 1.0, PPEM, _five(0.0, 0.0, 0.872, 0.656, 0.368)),
    ("ppem-5-dp", 1.0, PPEM, _five(0.0, 0.0, 0.889, 0.485, 0.533)),
    ("dpgan", 1.0, PPEM, _five(None, 0.0, 0.857, 1.881, -0.811)),
    ("pategan", 1.0, PPEM, _five(None, 0.0, 0.879, 1.569, -0.510)),
)

MIMIC = "Privacy-Preserving Energy-Based Generative Models, Table 1, on MIMIC-III; anonymous, under review"
CODES_PPEM: tuple[Row, ...] = tuple(
    (method, epsilon, MIMIC, {"auroc_codes": auroc})
    for method, epsilon, auroc in (
        ("real", None, 0.970), ("wgan", None, 0.811), ("medgan", None, 0.625), ("ppem-50", None, 0.828),
        ("ppem-200", None, 0.769), ("ppem-50-dp", 1.0, 0.504), ("ppem-200-dp", 1.0, 0.511),
    )
)  # fmt: skip

PRIVMRF = "Cai, Lei, Wei, Xiao: Data Synthesis via Differentially Private Markov Random Fields, the same protocol"


def _kway(*budgets: tuple[float, float, float]) -> tuple[Row, ...]:
    """Three-, four- and five-way distances at ε .1, .8 and 3.2."""
    names = ("tvd3", "tvd4", "tvd5")
    return tuple(("privmrf", e, PRIVMRF, dict(zip(names, found))) for e, found in zip((0.1, 0.8, 3.2), budgets))


NIST = "NIST Collaborative Research Cycle, national2019, simple features; δ is not stated beside the figure"
NATIONAL: tuple[Row, ...] = (
    ("real-40", None, NIST, {"kmarginal": 941.0}),
    ("gsd", 1.0, NIST, {"kmarginal": 851.0}),
    ("gsd", 10.0, NIST, {"kmarginal": 927.0}),
    ("mst", 1.0, NIST, {"kmarginal": 774.0}),
    ("mst", 10.0, NIST, {"kmarginal": 796.0}),
)

FIGURES: Mapping[str, tuple[Row, ...]] = {
    **{f"{table}-hflow": _hflow(table) for table in HFLOW_F1},
    "covertype-55-hflow": _hflow("covertype"),  # the paper does not say which of the two it used
    "adult": ADULT,
    "covertype": COVERTYPE,
    "adult-balanced": ADULT_BALANCED,
    "credit-balanced": CREDIT_BALANCED,
    "mnist": MNIST,
    "fashion-mnist": FASHION,
    "credit-ppem": CREDIT_PPEM,
    "codes-ppem": CODES_PPEM,
    "nltcs-kway": _kway((0.018, 0.029, 0.042), (0.005, 0.008, 0.012), (0.002, 0.004, 0.006)),
    "br2000-kway": _kway((0.094, 0.159, 0.218), (0.028, 0.052, 0.082), (0.017, 0.033, 0.059)),
    "adult-kway": _kway((0.127, 0.199, 0.277), (0.044, 0.078, 0.123), (0.034, 0.066, 0.109)),
    "national2019-nist": NATIONAL,
}
WITHOUT_DELTA = ("-ppem", "-nist")  # studies that state none


def rows(dataset: str) -> list[dict[str, Any]]:
    """The figures of others on that table, as result rows; `guarantee` is empty, nacre did not check it."""
    found, table = [], dataset
    for study in ("-hflow", "-kway", *WITHOUT_DELTA):
        table = table.removesuffix(study)
    for method, epsilon, source, figures in FIGURES[dataset]:
        delta = None if epsilon is None or dataset.endswith(WITHOUT_DELTA) else 1e-5
        setting = Setting(method, table, epsilon, delta, None)
        found += [published_row(setting, name, value, source) for name, value in figures.items()]
    return found
