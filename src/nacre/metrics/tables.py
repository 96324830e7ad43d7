"""Figures of a synthetic table beside the real one."""

from __future__ import annotations

from collections.abc import Callable

from nacre.metrics.metric import COMPARED, INF, MODELS, REGRESSORS, SHARE, TRAINED, Metric

_SCORES = {
    "auc": "area under the ROC curve",
    "ap": "average precision",
    "f1": "macro-averaged F1 of the predicted classes",
    "roc_hard": "area under the ROC curve of 0/1 predictions",
    "prc_hard": "average precision of 0/1 predictions",
}


def _score(name: str, text: str) -> Metric:
    return Metric(name, "higher", SHARE, "1", TRAINED, text + "; trained on synthetic rows, tested on real ones")


def _regression() -> list[Metric]:
    told = "; trained on synthetic rows, tested on real ones"
    found = []
    for name, about in [*((f"_{m}", text) for m, text in REGRESSORS.items()), ("", "mean of the regressors run")]:
        r2, mse = f"share of the variance explained, {about}{told}", f"mean squared error, {about}{told}"
        found.append(Metric(f"r2{name}", "higher", (-INF, 1.0), "1", TRAINED, r2))
        found.append(Metric(f"mse{name}", "lower", (0.0, INF), "squared target", TRAINED, mse))
    return found


def _per_classifier() -> list[Metric]:
    return [_score(f"{s}_{m}", f"{about}, {model}") for s, about in _SCORES.items() for m, model in MODELS.items()]


def _means() -> list[Metric]:
    ten = [_score(f"{s}_mean10", f"{about}, mean of PEARL's ten classifiers") for s, about in _SCORES.items()]
    return [
        *ten,
        _score("auc_mean9_no_gnb", "area under the ROC curve, mean of the ten without Gaussian naive Bayes"),
        _score("auroc_mean9", "area under the ROC curve, mean of the nine classifiers used beside DP-HFlow"),
        _score("apc_mean9", "average precision, mean of the nine classifiers used beside DP-HFlow"),
        _score("f1_mean9", "macro-F1, mean of the nine classifiers used beside DP-HFlow"),
        _score("f1_macro", "macro-F1, mean of all the classifiers that were run"),
    ]


def _distances() -> list[Metric]:
    def lower(name: str, high: float, text: str, reads: tuple[str, ...] = COMPARED, unit: str = "1") -> Metric:
        return Metric(name, "lower", (0.0, high), unit, reads, text)

    return [
        lower("tvd1", 1.0, "total variation of one-way tables, mean over columns"),
        lower("tvd1_max", 1.0, "total variation of the worst one-way table"),
        lower("tvd2", 1.0, "total variation of two-way tables, mean over all pairs"),
        lower("tvd3", 1.0, "total variation of three-way tables, mean over a random sample of triples"),
        lower("tvd1_holdout", 1.0, "tvd1 against the real holdout instead", TRAINED),
        lower("tvd2_holdout", 1.0, "tvd2 against the real holdout instead", TRAINED),
        lower("ks", 1.0, "largest difference of the distribution functions of a number, mean over numeric columns"),
        lower(
            "wasserstein", INF, "mean distance values must travel, as a share of the public range, mean over columns"
        ),
        lower("dwp_rmse", 1.0, "root mean square difference of the shares of all categories (dimension-wise)"),
        lower("range_query", 1.0, "mean error of 1,000 random counts over ranges of three columns, as a share of rows"),
        lower("marginal_l1", 2.0, "sum of differences of two-way tables with ten bins, mean over all pairs"),
        *_dependence(lower),
        Metric(
            "mmd2",
            "lower",
            (-INF, INF),
            "1",
            COMPARED,
            "squared MMD of encoded rows: unbiased, one Gaussian kernel; in iw-synthetic the V form (never negative, "
            "above 0 for equal laws) of a sum of kernels, as published",
        ),
        lower("energy", INF, "energy distance of encoded rows"),
        Metric(
            "c2st_auc",
            "lower",
            SHARE,
            "1",
            COMPARED,
            "how well gradient boosting tells synthetic rows from real ones it never saw; 0.5 or below: not at all",
        ),
        Metric("c2st_p", "higher", SHARE, "1", COMPARED, "p-value of c2st_auc: small says that the tables differ"),
        Metric("mmd_p", "none", SHARE, "1", COMPARED, "p-value of mmd2 by permutations: small says that they differ"),
        Metric(
            "kl_knn",
            "lower",
            (-INF, INF),
            "nats",
            COMPARED,
            "divergence of the numeric columns from the real to the synthetic table, by nearest neighbours",
        ),
        Metric(
            "nll",
            "lower",
            (-INF, INF),
            "nats",
            ("holdout",),
            "negative log-probability of a held-out row, mean of an upper bound of it",
        ),
    ]


def _dependence(lower: Callable[..., Metric]) -> list[Metric]:
    numbers = "over pairs of numeric columns"
    return [
        lower("kendall_rmse", 2.0, f"root mean square error of Kendall's tau-b {numbers}"),
        lower("kendall_mae", 2.0, f"mean absolute error of Kendall's tau-b {numbers}"),
        lower(
            "kendall_undefined",
            INF,
            "pairs of numeric columns without a tau because one is constant; left out of the errors",
            unit="pairs",
        ),
        lower("correlation_rmse", 2.0, f"root mean square error of Pearson's correlation {numbers}"),
        lower("correlation_mae", 2.0, f"mean absolute error of Pearson's correlation {numbers}"),
        lower("correlation_max", 2.0, f"largest absolute error of Pearson's correlation {numbers}"),
        lower("cramers_v_mae", 1.0, "mean absolute error of Cramer's V over all pairs, numbers in 20 bins"),
    ]


def _images() -> list[Metric]:
    lenet = "on the 84 features of a LeNet trained on the real images"
    return [
        Metric("fid_lenet", "lower", (0.0, INF), "1", COMPARED, f"Fréchet distance of Gaussians {lenet}"),
        Metric("kid_lenet", "lower", (-INF, INF), "1", COMPARED, f"unbiased squared MMD, cubic kernel, {lenet}"),
        Metric("fid_over_real", "lower", (0.0, INF), "1", COMPARED, "fid_lenet over that of real training images"),
        Metric("fid_over_merf", "lower", (0.0, INF), "1", COMPARED, "fid_lenet over that of DP-MERF, same seed"),
        Metric("kid_over_merf", "lower", (-INF, INF), "1", COMPARED, "kid_lenet over that of DP-MERF, same seed"),
        _score("cnn_accuracy", "accuracy of a small convolutional network"),
        *_weighted(),
    ]


def _weighted() -> list[Metric]:
    """Of generators that were asked for other shares than the table's."""
    told = "distance of predicted weights of generated rows from the weighted law of those of the table"
    measured = "distance of an attribute measured in generated rows from its law in the target"
    return [
        Metric("class_share_error", "lower", SHARE, "1", COMPARED, "largest error of a class's share of the target"),
        Metric("class_share", "none", SHARE, "1", COMPARED, "share of a class among generated rows"),
        Metric("classes_missed", "lower", (0.0, INF), "1", COMPARED, "classes with too few generated rows to judge"),
        Metric("fid_class", "lower", (0.0, INF), "1", COMPARED, "fid_lenet within a class, or its mean over classes"),
        Metric("ks_attribute", "lower", SHARE, "1", COMPARED, f"Kolmogorov-Smirnov {measured}"),
        Metric("ks_attribute_low", "none", SHARE, "1", COMPARED, "lower end of a 95 % interval of ks_attribute"),
        Metric("ks_attribute_high", "none", SHARE, "1", COMPARED, "upper end of a 95 % interval of ks_attribute"),
        Metric("ks_weights", "lower", SHARE, "1", COMPARED, f"Kolmogorov-Smirnov {told}"),
        Metric("ks_weights_low", "none", SHARE, "1", COMPARED, "lower end of a 95 % interval of ks_weights"),
        Metric("ks_weights_high", "none", SHARE, "1", COMPARED, "upper end of a 95 % interval of ks_weights"),
    ]


def _hidden() -> list[Metric]:
    """Of columns whose distribution was to be hidden: here a large distance is what was asked for."""

    def fact(name: str, high: float, text: str, unit: str = "1") -> Metric:
        return Metric(name, "none", (-INF if high is INF else 0.0, high), unit, COMPARED, text)

    energy = "of the real hidden columns against the marginal energy"
    return [
        _score("auroc", "area under the ROC curve, logistic regression"),
        fact("ksd_p", 1.0, f"p-value of the quadratic Stein test {energy}, a diagnostic of training"),
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
        _score("auroc_given", "auroc of rows whose hidden columns are real and whose others are drawn given them"),
        _score("auroc_codes", "area under the ROC curve, mean over codes, ridge regression on all other codes"),
        _score("auroc_codes_given", "auroc_codes of rows whose hidden codes are real"),
        Metric("r2_given", "higher", (-INF, 1.0), "1", TRAINED, "r2 of rows whose hidden columns are real"),
        Metric("ks_given", "lower", SHARE, "1", COMPARED, "ks_visible of rows whose hidden columns are real"),
    ]


def listed() -> list[Metric]:
    return [*_per_classifier(), *_means(), *_regression(), *_distances(), *_images(), *_hidden()]
