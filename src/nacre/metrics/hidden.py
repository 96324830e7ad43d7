"""Figures of columns whose distribution was to be hidden (`nacre.evaluation.hidden`)."""

from __future__ import annotations

from nacre.metrics.metric import COMPARED, INF, SHARE, TRAINED, Metric
from nacre.metrics.predictions import TOLD


def _hidden() -> list[Metric]:
    """Of columns whose distribution was to be hidden: here a large distance is what was asked for."""

    def fact(name: str, high: float, text: str, unit: str = "1", chance: bool = False) -> Metric:
        return Metric(name, "none", (-INF if high is INF else 0.0, high), unit, COMPARED, text, chance=chance)

    def roc(name: str, text: str) -> Metric:
        return Metric(name, "higher", SHARE, "1", TRAINED, f"{text}; {TOLD}", group="auc")

    energy = "of the real hidden columns against the marginal energy"
    return [
        roc("auroc", "area under the ROC curve, logistic regression"),
        fact("ksd_p", 1.0, f"p-value of the quadratic Stein test {energy}, a diagnostic of training", chance=True),
        fact("ksd_u", INF, f"squared kernel Stein discrepancy {energy}, U-statistic"),
        fact("ksd_nu", INF, f"rows times ksd_u {energy}"),
        fact("ksd_ln", INF, f"normalised Stein statistic {energy}, on all pairs of rows"),
        fact("ksd_reject_128", 1.0, "share of batches of 128 real rows on which the normalised Stein test rejects"),
        fact("mmd_biased", 2.0, "root of the biased squared MMD of the hidden columns; not 0 for equal laws"),
        fact("reject_128", 1.0, "share of samples of 128 rows on which the MMD test tells hidden columns from real"),
        fact("mean_gap", INF, "error of the mean of a hidden column, in real standard deviations", "sd"),
        fact("quantile_gap", INF, "largest error of the deciles of a hidden column, in real standard deviations", "sd"),
        fact("share_gap", 1.0, "largest error of the share of a label in a hidden column"),
        fact("null_share", 1.0, "share of missing values in a hidden column; a decoy hardly moves it"),
        fact("ks_hidden", 1.0, "least Kolmogorov-Smirnov distance of the hidden columns from the real ones"),
        fact("ks_visible", 1.0, "mean Kolmogorov-Smirnov distance of the columns that were not hidden"),
        roc("auroc_given", "auroc of rows whose hidden columns are real and whose others are drawn given them"),
        roc("auroc_codes", "area under the ROC curve, mean over codes, ridge regression on all other codes"),
        roc("auroc_codes_given", "auroc_codes of rows whose hidden codes are real"),
        Metric("r2_given", "higher", (-INF, 1.0), "1", TRAINED, "r2 of rows whose hidden columns are real", group="r2"),
        Metric("ks_given", "lower", SHARE, "1", COMPARED, "ks_visible of rows whose hidden columns are real"),
    ]


METRICS = tuple(_hidden())
