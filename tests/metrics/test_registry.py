"""The registry of metrics."""

import dataclasses

import pytest

from nacre.metrics import METRICS, MODELS, Metric, _index, metric

# Names that reports and result files rely on.
AGREED = (
    "auc_lr",
    "auc_hgb",
    "auc_mean10",
    "auc_mean9_no_gnb",
    "ap_hgb",
    "f1_macro",
    "f1_tree",
    "f1_forest",
    "tvd1",
    "tvd2",
    "kendall_rmse",
    "kendall_mae",
    "fit_s",
    "sample_s",
    "peak_mb",
    "rows_per_s",
    "auc_hgb_gap",
    "auc_mean10_gap",
    "roc_hard_mean10",
    "prc_hard_mean10",
    "auroc_mean9",
    "apc_mean9",
    "f1_mean9",
    "r2",
    "mse",
    "r2_ridge",
    "mse_hgb",
    "r2_tree_gap",
    "range_query",
    "marginal_l1",
    "dwp_rmse",
    "c2st_auc",
    "tvd3",
    "mmd2",
    "energy",
    "ks",
    "wasserstein",
    "correlation_rmse",
    "cramers_v_mae",
    "integrity",
    "cardinality_tvd",
    "parent_child_tvd2",
    "two_hop_tvd2",
    "sibling_tvd2",
    "within_tvd2",
    "consecutive_tvd2",
    "consecutive_same_tvd2",
    "planted_error",
    "auc_gap",
)


@pytest.mark.parametrize("name", AGREED)
def test_agreed_names_exist(name):
    assert metric(name).name == name


def test_every_metric_is_described():
    for name, m in METRICS.items():
        assert m.name == name and name == name.lower() and " " not in name
        assert m.direction in ("higher", "lower", "none")
        assert m.range[0] < m.range[1] and m.unit and m.reads and len(m.text) > 10
        assert set(m.reads) <= {"synthetic", "private", "holdout", "clock", "memory", "ledger", "accountant", "files"}
    assert metric("auc_hgb").direction == "higher" and metric("auc_hgb_gap").direction == "lower"
    assert all(f"auc_{m}" in METRICS and f"f1_{m}_gap" in METRICS for m in MODELS)
    assert not any(name.endswith(("tvd1_gap", "fit_s_gap")) for name in METRICS)


def test_a_metric_cannot_be_changed_or_named_twice():
    with pytest.raises(dataclasses.FrozenInstanceError):
        metric("tvd1").unit = "m"  # type: ignore[misc]
    twice = Metric("a", "lower", (0.0, 1.0), "1", ("synthetic",), "text")
    with pytest.raises(ValueError, match="share a name"):
        _index([twice, twice])


def test_an_unknown_name_says_what_to_do():
    with pytest.raises(KeyError, match="add it to nacre"):
        metric("accuracy")
