"""What docs/results.md asks, and which result files answer it. Which figures a table shows is decided here, for every
method alike; how they are shown is `results_page.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Table:
    """Rows of `files` with one of `metrics`: a line for each value of `lines`, a column for each of `columns`. Both are
    names of a row's fields, or `file`. `where`: patterns that a row's fields match from end to end."""

    title: str
    files: tuple[str, ...]
    metrics: tuple[str, ...]
    lines: tuple[str, ...] = ("epsilon", "method")
    columns: tuple[str, ...] = ("metric",)
    where: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Topic:
    title: str
    text: str
    tables: tuple[Table, ...]
    page: str = ""  # a page of its own beside docs/results.md, which links it
    board: bool = False  # whether the picture and the count of the board stand before its tables


UTILITY = ("auc_hgb", "auc_lr", "auc_mean10", "f1_lr", "f1_tree", "f1_forest", "f1_hgb", "f1_macro", "f1_mean9", "tvd1",
           "tvd2", "kendall_rmse", "kendall_mae", "fit_s")  # fmt: skip
PEERS = ("auc_hgb", "auc_lr", "auc_mean10", "f1_hgb", "f1_macro", "tvd1", "tvd2", "kendall_rmse", "fit_s", "cpu_s",
         "peak_mb")  # fmt: skip
FLOW = tuple(f"hflow-{table}" for table in ("adult", "census", "covertype", "covertype-55", "intrusion"))
HIDDEN = ("ks_given", "mmd_p", "ksd_p", "ks_hidden", "ks_visible", "dwp_rmse", "recovered_error", "recovered_share",
          "untilted_error")  # fmt: skip
LEARNERS = ("expm-icu", "expm-icu-last", "expm-hospital")
BY_TABLE = ("dataset", "method")

TOPICS: tuple[Topic, ...] = (
    Topic(
        "The sketch and its peers",
        "What does a model learn from synthetic rows, how far are they from the private ones, and what does it "
        "cost? The prototype of the sketch is in the files.",
        (
            Table("Adult and Covertype (seven classes)", ("sketch-adult", "sketch-covertype"), UTILITY,
                  lines=("dataset", "epsilon", "delta", "method"), where={"method": "(?!sketch-prototype).*"}),
            Table("Every package in a process of its own", ("peers-adult", "peers-covertype"), PEERS,
                  lines=("dataset", "epsilon", "method")),
        ),
    ),
    Topic(
        "Tables of many columns",
        "How far are tables of three to five columns, beside the figures of PrivMRF's paper? All rows are private, 300 "
        "random sets of columns; what a bootstrap of the private rows loses, independent draws lose as well. "
        "NIST's score compares all pairs of columns within 20 areas, which `sketch-target` has as its target.",
        (
            Table("PrivMRF's protocol", ("kway",), ("tvd3", "tvd4", "tvd5"), lines=BY_TABLE,
                  columns=("epsilon", "metric")),
            Table("Seconds", ("kway",), ("fit_s", "sample_s"), lines=("dataset", "method"),
                  columns=("metric", "epsilon"), where={"method": "sketch"}),
            Table("NIST's k-marginal score, national2019", ("nist",), ("kmarginal", "tvd2", "fit_s"),
                  lines=("method",), columns=("metric", "epsilon")),
        ),
    ),
    Topic(
        "The board",
        "Ours and other packages on tables of many shapes, each run in a process of its own for ten minutes at most. "
        "What boosted trees lose stands over the same trees trained on private rows. Other figures are in the file.",
        page="board.md",
        board=True,
        tables=(
            Table("What boosted trees lose: AUC, or R² where a number is predicted", ("board",),
                  ("auc_hgb_gap", "r2_hgb_gap"), columns=("dataset",)),
            Table("Two-way tables", ("board",), ("tvd2",), columns=("dataset",)),
            Table("Distances, tails and seconds at ε = 1", ("board",),
                  ("tvd3", "c2st_auc", "correlation_mae", "tail_99", "tail_999", "tail_top1", "fit_s"),
                  lines=("metric", "method"), columns=("dataset",), where={"epsilon": "|1"}),
            Table("SDMetrics' report, and spikes, at ε = 1", ("board",), ("sdm_shapes", "sdm_pairs", "spikes_within"),
                  lines=("metric", "method"), columns=("dataset",), where={"epsilon": "|1"}),
        ),
    ),
    Topic(
        "Databases",
        "Units with all rows that are theirs, through every key; budgets are of units. `relinked` is a sketch of every "
        "table by itself with children hung on at random, `flat` one sketch of all rows joined, `bootstrap` one "
        "of units, `hma` another package without privacy. Planted effects: 1 is lost. Further figures are in the file.",
        (
            Table("Distances, planted effects and what models foresee", ("relational",),
                  ("integrity", "cardinality_tvd", "within_tvd2", "parent_child_tvd2", "child_count_tvd2",
                   "two_hop_tvd2", "sibling_tvd2", "consecutive_tvd2", "consecutive_same_tvd2", "join_error",
                   "planted_error", "planted_sibling_error", "planted_lag_error", "planted_gap_error", "auc_gap",
                   "c2st_units", "fit_s", "peak_mb"),
                  lines=("dataset", "epsilon", "method"), where={"dataset": "[^:]*"}),
            Table("What is foreseen of the next row: gaps to real units", ("relational",),
                  ("auc_trees_gap", "auc_logistic_gap"), lines=("dataset", "epsilon", "method"),
                  where={"dataset": ".*: .*"}),
        ),
    ),
    Topic(
        "The method that `auto` takes",
        "Models trained on synthetic rows, at δ = 1e-5 and with the target told, beside the best of ours by median "
        "error; which method is taken follows from public facts ([the rule](methods/auto.md)).",
        (
            Table("Over the best of ours", ("auto",), ("over_best",), lines=("dataset", "method"),
                  columns=("epsilon",)),
            Table("Mean error of a linear model and of boosted trees", ("auto",), ("model_error",),
                  lines=("dataset", "epsilon"), columns=("method",), where={"method": "(?!auto).*"}),
            Table("Two-way tables", ("auto",), ("tvd2",), lines=("dataset", "epsilon"), columns=("method",)),
        ),
    ),
    Topic(
        "Intervals",
        "How often the 95 % intervals of `release.expected` hold the exact count: each seed is a fit with noise of its "
        "own, the spread that of single fits.",
        (
            Table("Columns and pairs of columns", ("coverage",), ("coverage_1", "coverage_2", "told_1", "told_2"),
                  lines=("dataset", "epsilon")),
        ),
    ),
    Topic(
        "Rules",
        "Real tables of which 25 rules are known, fitted with them and without (docs/schema.md). Seconds are the "
        "processor's, for 100,000 rows.",
        (
            Table("Rows that break a rule, distances, seconds", ("rules",),
                  ("rules_broken", "tvd1", "tvd2", "drawing_cpu_s", "fit_s"), columns=("metric", "epsilon"),
                  lines=("dataset", "method")),
        ),
    ),
    Topic(
        "The flow",
        "The normalising flow, the sketch and re-made peers beside the figures of DP-HFlow's paper, at (1, 10⁻⁵) "
        "and without privacy. The paper does not say which of the two Covertypes it used. Single settings of the "
        "flow, tried with one seed, and ε = 10, are in the files.",
        (
            Table("Nine classifiers", FLOW, ("f1_mean9", "auroc_mean9"), columns=("metric", "dataset"),
                  where={"method": "(?!hflow-(constant-rate|no-.*|paper-marginals|small-batch|three-blocks)).*"}),
            Table("Distances and seconds at ε = 1", FLOW, ("tvd2", "kendall_rmse", "fit_s"),
                  columns=("metric", "dataset"), where={"epsilon": "1", "dataset": "[a-z]*|covertype-55",
                         "method": "hflow|hflow-paper|hflow-cold|sketch|merf|dpcgan|gswgan"}),
            Table("Clippings and dequantisations, Adult", ("hflow-ablation",),
                  ("auc_hgb", "f1_macro", "tvd1", "tvd2", "kendall_rmse", "nll", "fit_s"), where={"epsilon": "|1"}),
        ),
    ),
    Topic(
        "PEARL and DP-MERF",
        "Methods of random features, with hard labels as their papers measure, and pictures judged by one LeNet for "
        "each data set, beside the papers' figures. Cells of payments are in the file.",
        (
            Table("Adult and credit-card payments, thinned", ("pearl-adult", "pearl-credit"),
                  ("roc_hard_mean10", "prc_hard_mean10", "range_query", "marginal_l1", "fit_s"),
                  columns=("dataset", "metric"), where={"dataset": "[a-z-]*"}),
            Table("Pictures", ("pearl-mnist", "pearl-fashion"),
                  ("fid_lenet", "kid_lenet", "fid_over_real", "fid_over_merf", "cnn_accuracy", "train_s"),
                  columns=("dataset", "metric")),
        ),
    ),
    Topic(
        "Hidden columns: PPEM",
        "A public model with hidden columns, tilted to the private rows: what is recovered, beside Table 1 of the "
        "paper. What a private fit started from is in the file.",
        (
            Table("Payments, simulated medical codes, hospital stays", ("ppem-credit", "ppem-ehr"),
                  ("auroc", "auroc_codes", "r2", "mse", "auroc_given", "auroc_codes_given", "r2_given", *HIDDEN),
                  lines=("dataset", "epsilon", "method"), where={"method": "(?!.*-start).*"}),
        ),
    ),
    Topic(
        "Weighted generators",
        "Does a generator reach a population that its rows were not drawn from? No privacy. Single classes of "
        "clothes, and the squared MMD of simulated tables, are in the files.",
        (
            Table("Simulated tables", ("iw-synthetic",), ("kl_knn", "energy"), lines=("method",),
                  columns=("metric", "dataset")),
            Table("Classes of digits and clothes", ("iw-mnist", "iw-images"),
                  ("class_share_error", "fid_class", "fid_lenet", "classes_missed"), lines=("method",),
                  columns=("dataset", "metric"), where={"dataset": "[a-z-]*"}),
            Table("Attributes of digits", ("iw-mnist",),
                  ("ks_attribute", "ks_attribute_low", "ks_attribute_high", "ks_weights", "ks_weights_low",
                   "ks_weights_high"), lines=("method",), columns=("dataset", "metric")),
        ),
    ),
    Topic(
        "Few points for regression",
        "Least squares fitted to n synthetic rows, scored on real ones; settings are counted against the strongest "
        "other method, the published ones by their own study. 5% and 20% of rows, and published budgets alone, are "
        "in the file.",
        (
            Table("Settings", ("support-regression",),
                  ("settings_better", "settings_par", "settings_worse", "settings_ahead"), lines=BY_TABLE),
            Table("Mean squared error at 10% of rows", ("support-regression",), ("mse_linear",),
                  lines=("method",), columns=("dataset", "epsilon"),
                  where={"dataset": ".*, 10% of rows", "epsilon": ".+"}),
        ),
    ),
    Topic(
        "Private learners",
        "AUC of a predictor itself trained under a budget, and whether chains and flows mixed. A flow's parameter is "
        "no budget: what ExpM+NF makes is empirical only, however it scores. Further budgets are in the files.",
        (
            Table("AUC", LEARNERS, ("auc",), columns=("dataset",), where={"epsilon": "|0.1|1"}),
            Table("Mixing at ε = 1", (*LEARNERS, "expm-picture"), ("ess_share", "accepted", "r_hat", "variance_ratio"),
                  lines=("method",), columns=("metric", "dataset"), where={"epsilon": "1"}),
        ),
    ),
    Topic(
        "Privacy, attacked",
        "Lower bounds on what is really spent beside what is claimed (a bound above a claim would be a broken "
        "proof; the ceiling is the most that this attack could show), twins of doors broken on purpose, and attacks "
        "on models. Bounds on μ are in the file.",
        (
            Table("Lower bounds", ("audit-all",),
                  ("epsilon_lower_bound", "audit_claim", "audit_ceiling", "audit_draws"),
                  lines=("method",), columns=("epsilon", "metric"),
                  where={"dataset": "worst case", "method": r"(?!.*\(mu\)).*"}),
            Table("Broken twins, and the accountant", ("audit-all", "accountant"),
                  ("twins_caught", "twins", "settings", "violations", "least_excess", "median_excess", "least_delta"),
                  lines=BY_TABLE),
            Table("Likelihood-ratio attack", ("lira",), ("lira_auc", "lira_tpr_1", "lira_tpr_01", "shadows_s"),
                  columns=("dataset", "metric")),
            Table("Medical records: utility and two attacks", ("ehr-disclosure",),
                  ("auc_hgb", "dwp_rmse", "correlation_mae", "presence_auc", "presence_tpr1", "presence_tpr01",
                   "presence_sensitivity", "copies", "attribute_sensitivity", "attribute_precision", "attribute_excess",
                   "attribute_excess_low", "attribute_excess_high", "attribute_beyond")),
        ),
    ),
    Topic(
        "Reading, planning, bookkeeping",
        "What reading makes of columns that nobody declared, what the planner expects beside what came out, and the "
        "ledger under races and deaths.",
        (
            Table("Columns read without a schema; the planner's errors over those made", ("reading-columns", "planner"),
                  ("columns", "columns_wrong", "columns_made_anew", "unreadable_share", "missing_error", "label_lost",
                   "tvd1", "tvd1_max", "planned_tvd1", "inside_tvd1", "planned_tvd2", "inside_tvd2"),
                  lines=("file", "dataset", "epsilon")),
            Table("The law of reading, searched for a break", ("reading",), ("moved_over_declared", "pairs_read"),
                  lines=("metric",), columns=("dataset",)),
            Table("Hostile files and documents", ("fuzz-sources", "loaders"),
                  ("cases", "faults", "untyped"),
                  lines=("metric",),
                  columns=("method",)),
            Table("Seconds of one pass, and over those of the version before", ("speed-reading",),
                  ("read_s", "over_earlier"), lines=("dataset",)),
            Table("The ledger", ("ledger",), ("spent_over_cap", "kills_survived", "overhead_ms"), lines=("dataset",),
                  columns=("metric", "method")),
        ),
    ),
    Topic(
        "Speed",
        "Ours beside other packages on the same machine; what lost, lost. Memory of a training step is in the "
        "files.",
        (
            Table("Every day, and 1 to 100 million rows", ("speed", "scale", "hflow-adult", "speed-support"),
                  ("import_s", "help_s", "fit_cold_s", "fit_warm_s", "sample_write_s", "evaluate_s", "sketch_s",
                   "rows_per_s", "noise_s", "moves_per_s", "cpu_s", "peak_mb", "planned_time", "planned_memory",
                   "planned_cpu"), lines=BY_TABLE),
            Table("Milliseconds of a training step", ("speed-dpsgd", "speed-expm", "speed-ppem"), ("step_ms",),
                  lines=("method",), columns=("file", "dataset")),
            Table("Distances and tests", ("distances",),
                  ("wall_s", "first_call_s", "peak_mb", "speedup_numpy", "speedup_peer"), lines=BY_TABLE),
        ),
    ),
)  # fmt: skip
