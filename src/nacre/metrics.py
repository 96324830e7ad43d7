"""The one list of metrics: what a figure is called, which way is better, its range, and what it reads.

Reports and benchmark rows use these names and no others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

Direction = Literal["higher", "lower", "none"]
INF = float("inf")
# Classifiers by the short names that end a metric's name.
MODELS: Mapping[str, str] = {
    "lr": "logistic regression",
    "gnb": "Gaussian naive Bayes",
    "bnb": "Bernoulli naive Bayes",
    "svm": "linear support vector machine",
    "tree": "decision tree",
    "lda": "linear discriminant analysis",
    "ada": "AdaBoost",
    "bag": "bagged trees",
    "gbm": "gradient boosting",
    "mlp": "multilayer perceptron",
    "forest": "random forest of 100 trees",
    "hgb": "histogram gradient boosting",
}

REGRESSORS: Mapping[str, str] = {
    "linear": "least squares",
    "ridge": "ridge regression",
    "tree": "regression tree",
    "hgb": "histogram gradient boosting",
}


@dataclass(frozen=True)
class Metric:
    """One figure. `direction` says what is better ("none": a plain fact); `range` holds its possible values;
    `reads` names what it is computed from: synthetic, private, holdout, clock, memory, ledger."""

    name: str
    direction: Direction
    range: tuple[float, float]
    unit: str
    reads: tuple[str, ...]
    text: str


TRAINED = ("synthetic", "holdout")
COMPARED = ("synthetic", "private")
SHARE = (0.0, 1.0)
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
        Metric("mmd2", "lower", (-INF, INF), "1", COMPARED, "unbiased squared MMD of encoded rows, Gaussian kernel"),
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
        Metric("mmd_p", "higher", SHARE, "1", COMPARED, "p-value of mmd2 by permutations: small says that they differ"),
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


def _costs() -> list[Metric]:
    def seconds(name: str, text: str) -> Metric:
        return Metric(name, "lower", (0.0, INF), "s", ("clock",), text)

    return [
        seconds("fit_s", "wall time from a table in memory to a release"),
        seconds("train_s", "wall time of that without the pass over the rows: training, compilation included"),
        seconds("train_processor_s", "CPU time of train_s without an accelerator, over all cores"),
        seconds("sample_s", "wall time to sample as many rows as the private table has"),
        seconds("fit_cold_s", "wall time from a Parquet file to a saved release, fresh process, imports included"),
        seconds(
            "fit_warm_s",
            "wall time from a Parquet file to a saved release, in a process that has fitted once",
        ),
        seconds("sample_write_s", "wall time to sample rows from a loaded release and write them to Parquet"),
        seconds(
            "sketch_s", "wall time of the passes over the Parquet files that count every table or sum every feature"
        ),
        seconds("noise_s", "wall time to draw the noise of the stated number of cells"),
        seconds("run_s", "wall time of a fresh process from private rows in Parquet to synthetic rows in Parquet"),
        seconds("cpu_s", "CPU time of that process and its children, over all cores"),
        seconds("import_s", "wall time of `import nacre` in a fresh process, over starting Python alone"),
        seconds("help_s", "wall time of `nacre --help` in a fresh process"),
        Metric("rows_per_s", "higher", (0.0, INF), "rows/s", ("clock",), "rows counted per second in one pass"),
        Metric("peak_mb", "lower", (0.0, INF), "MiB", ("memory",), "highest resident memory of the process"),
        Metric(
            "step_ms", "lower", (0.0, INF), "ms", ("clock",), "wall time of one step of training, best of several runs"
        ),
    ]


def _calls() -> list[Metric]:
    """Cost of single functions, as the benchmark of distances measures it."""
    ratio = "divided by that of nacre, same rows, same run"
    return [
        Metric("wall_s", "lower", (0.0, INF), "s", ("clock",), "wall time of one call, compilation left out"),
        Metric(
            "first_call_s", "lower", (0.0, INF), "s", ("clock",), "wall time of the first call, compilation included"
        ),
        Metric("speedup_numpy", "higher", (0.0, INF), "1", ("clock",), f"wall time of the plain NumPy version {ratio}"),
        Metric(
            "speedup_peer", "higher", (0.0, INF), "1", ("clock",), f"wall time of the fastest other package {ratio}"
        ),
    ]


def _books() -> list[Metric]:
    """The ledger under load."""
    sound = "share of kill -9 after which the books were whole, within the cap, and held all that was read or released"
    return [
        Metric(
            "spent_over_cap", "none", (0.0, INF), "1", ("ledger",), "units spent after all requests, divided by the cap"
        ),
        Metric("kills_survived", "higher", SHARE, "1", ("ledger",), sound),
        Metric("overhead_ms", "lower", (0.0, INF), "ms", ("clock",), "wall time of reserve, open and settle, median"),
    ]


def _settings() -> list[Metric]:
    """Comparisons over many settings, and the speed of a Markov chain."""
    against = "than the best rival, by interquartile ranges of the error"
    return [
        Metric(
            "settings_better", "higher", (0.0, INF), "settings", TRAINED, f"settings with a smaller error {against}"
        ),
        Metric("settings_par", "none", (0.0, INF), "settings", TRAINED, "settings whose interquartile ranges overlap"),
        Metric("settings_worse", "lower", (0.0, INF), "settings", TRAINED, f"settings of larger error {against}"),
        Metric("settings_ahead", "higher", SHARE, "1", TRAINED, "share of settings with the smallest median error"),
        Metric(
            "speedup_incremental",
            "higher",
            (0.0, INF),
            "1",
            ("clock",),
            "wall time of a NumPy loop that updates sums divided by that of nacre, same rows, same run",
        ),
        Metric(
            "moves_per_s", "higher", (0.0, INF), "moves/s", ("clock",), "moves of single points per second and chain"
        ),
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
    told = "distance of the weights of generated rows from the weighted law of the table"
    return [
        Metric("class_share_error", "lower", SHARE, "1", COMPARED, "largest error of a class's share of the target"),
        Metric("fid_class", "lower", (0.0, INF), "1", COMPARED, "fid_lenet within a class, mean over the classes"),
        Metric("ks_weights", "lower", SHARE, "1", COMPARED, f"Kolmogorov-Smirnov {told}"),
        Metric("ks_weights_low", "none", SHARE, "1", COMPARED, "2.5 % bootstrap quantile of ks_weights"),
        Metric("ks_weights_high", "none", SHARE, "1", COMPARED, "97.5 % bootstrap quantile of ks_weights"),
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
        fact("ks_hidden", 1.0, "least Kolmogorov-Smirnov distance of the hidden columns from the real ones"),
        fact("ks_visible", 1.0, "mean Kolmogorov-Smirnov distance of the columns that were not hidden"),
    ]


def _learners() -> list[Metric]:
    """Classifiers trained on private rows, samplers of their parameters, and audits."""
    read, chains = ("private", "holdout"), ("private",)
    return [
        Metric("auc", "higher", SHARE, "1", read, "area under the ROC curve of a learner trained on the real rows"),
        Metric("auc_share", "higher", (0.0, INF), "1", read, "auc over that of plain SGD, same seed"),
        Metric("variance_ratio", "none", (0.0, INF), "1", chains, "variance of drawn parameters over the exact one"),
        Metric("ess_share", "higher", SHARE, "1", chains, "effective share of importance weights of a flow's draws"),
        Metric("accepted", "higher", SHARE, "1", chains, "share of proposals that a chain accepted"),
        Metric("epsilon_lower_bound", "none", (0.0, INF), "1", chains, "epsilon refuted below this by an audit"),
        Metric("mu_lower_bound", "none", (0.0, INF), "1", chains, "mu of Gaussian DP refuted below this by an audit"),
    ]


def _plans() -> list[Metric]:
    """What a plan had said beside what came out."""
    return [
        Metric("planned_time", "none", (0.0, INF), "1", ("clock",), "planned over measured wall time of a run"),
        Metric("planned_cpu", "none", (0.0, INF), "1", ("clock",), "planned time over the processor time of a run"),
        Metric("planned_memory", "none", (0.0, INF), "1", ("memory",), "planned over measured peak memory of a run"),
        Metric("planned_tvd1", "none", (0.0, INF), "1", COMPARED, "planned over found distance of a column, median"),
        Metric("planned_tvd2", "none", (0.0, INF), "1", COMPARED, "planned over found distance of a pair, median"),
        Metric("inside_tvd1", "higher", SHARE, "1", COMPARED, "share of columns within their planned spread"),
        Metric("inside_tvd2", "higher", SHARE, "1", COMPARED, "share of pairs within their planned spread"),
    ]


def _attacks() -> list[Metric]:
    """Of attacks on a synthetic table by somebody who knows some people. None of these is a guarantee."""
    read, signed, models = ("synthetic", "private", "holdout"), (-1.0, 1.0), ("private",)
    found = [
        ("presence_auc", "area under the ROC curve of 'closer to a synthetic row means member'; 0.5: nothing found"),
        ("presence_tpr1", "share of members found at 1 % false alarms"),
        ("presence_tpr01", "share of members found at 0.1 % false alarms"),
        ("presence_sensitivity", "share of members within the largest radius of precision above 0.55"),
        ("copies", "share of members with a synthetic row closer than their nearest real neighbour"),
        ("attribute_sensitivity", "share of unknown values of members that were claimed and right"),
        ("attribute_precision", "share of claimed values of members that were right"),
        ("attribute_hits", "share of unknown values of members guessed right, claimed or not"),
        ("attribute_strangers", "attribute_sensitivity with real rows of strangers in place of synthetic ones"),
    ]
    gaps = [
        ("attribute_excess", "attribute_sensitivity of members minus that of others: what the release gave away"),
        ("attribute_excess_low", "lower end of the 95 % interval of attribute_excess"),
        ("attribute_excess_high", "upper end of the 95 % interval of attribute_excess"),
        ("attribute_beyond", "attribute_sensitivity minus that of real strangers, pools of equal size"),
    ]
    return [
        *(Metric(name, "lower", SHARE, "1", read, text) for name, text in found),
        *(Metric(name, "lower", signed, "1", read, text) for name, text in gaps),
        Metric("presence_auc_error", "none", (0.0, INF), "1", read, "half of the 95 % interval of presence_auc"),
        Metric("presence_hits", "none", (0.0, INF), "rows", read, "members within that largest radius"),
        Metric("presence_alarms", "none", (0.0, INF), "rows", read, "others within that largest radius"),
        Metric("presence_tpr_1", "lower", SHARE, "1", read, "members found by distance at 1 % false alarms"),
        Metric("density_auc", "lower", SHARE, "1", read, "members told from others by a density ratio; 0.5 is a coin"),
        Metric("density_tpr_1", "lower", SHARE, "1", read, "members found by a density ratio at 1 % false alarms"),
        Metric("recovered_share", "none", SHARE, "1", COMPARED, "quantities inside the interval read off the release"),
        Metric("recovered_error", "none", (0.0, INF), "sd", COMPARED, "largest error of a mean, decile or share"),
        Metric("nearest_distance", "none", (0.0, INF), "1", COMPARED, "median distance to a row; not a privacy figure"),
        Metric("nearest_copies", "none", SHARE, "1", COMPARED, "rows at distance 0 of a row; not a privacy figure"),
        Metric("lira_auc", "lower", SHARE, "1", models, "likelihood-ratio membership attack on a model; 0.5 is a coin"),
        Metric("lira_tpr_1", "lower", SHARE, "1", models, "members found by that attack at 1 % false alarms"),
        Metric("lira_tpr_01", "lower", SHARE, "1", models, "members found by that attack at 0.1 % false alarms"),
        Metric("shadows_s", "lower", (0.0, INF), "s", ("clock",), "wall time of training all shadow models"),
        Metric(
            "audit_claim", "none", (0.0, INF), "1", models, "what the audited mechanism claims, in the audit's unit"
        ),
        Metric("audit_draws", "none", (0.0, INF), "1", models, "draws or runs per world behind an audit"),
        Metric("twins_caught", "higher", SHARE, "1", models, "share of deliberately broken copies that were caught"),
        Metric("twins", "none", (0.0, INF), "1", models, "number of deliberately broken copies"),
    ]


_BASE = [
    *_per_classifier(), *_means(), *_regression(), *_distances(), *_costs(), *_calls(), *_books(), *_settings(),
    *_images(), *_hidden(), *_learners(), *_plans(), *_attacks(),
]  # fmt: skip


def _gap(base: Metric) -> Metric:
    return replace(
        base,
        name=f"{base.name}_gap",
        direction="lower",
        range=(-(base.range[1] - base.range[0]), base.range[1] - base.range[0]),
        reads=("synthetic", "private", "holdout"),
        text=f"{base.name} of the real table in the same run, minus that of the synthetic table",
    )


def _index(metrics: list[Metric]) -> Mapping[str, Metric]:
    index = {m.name: m for m in metrics}
    if len(index) != len(metrics):
        raise ValueError("two metrics share a name")
    return index


METRICS: Mapping[str, Metric] = _index(
    [*_BASE, *(_gap(m) for m in _BASE if m.reads == TRAINED and m.unit == "1" and m.direction == "higher")]
)


def metric(name: str) -> Metric:
    """The metric of that name; KeyError says how to add one."""
    if name not in METRICS:
        raise KeyError(f"no metric {name!r}: add it to nacre.metrics before reporting it")
    return METRICS[name]
