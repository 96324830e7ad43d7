"""Figures of runs: costs, speed, the ledger, settings of a benchmark, and what a plan foretold."""

from __future__ import annotations

from collections.abc import Iterator

from nacre.metrics.metric import COMPARED, INF, SHARE, TRAINED, Metric, lower


def _costs() -> list[Metric]:
    def seconds(name: str, text: str) -> Metric:
        return Metric(name, "lower", (0.0, INF), "s", ("clock",), text)

    return [
        seconds("fit_s", "wall time from a table in memory to a release"),
        seconds("train_s", "wall time of that without the pass over the rows: training, compilation included"),
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
        seconds(
            "evaluate_s", "wall time of a fresh process from three tables in Parquet to a report, imports included"
        ),
        seconds("import_s", "wall time of `import nacre` in a fresh process, over starting Python alone"),
        seconds("help_s", "wall time of `nacre --help` in a fresh process"),
        Metric("rows_per_s", "higher", (0.0, INF), "rows/s", ("clock",), "rows counted per second in one pass"),
        Metric(
            "trained_rows_per_s", "higher", (0.0, INF), "rows/s", ("clock",), "rows that judges learn from, a second"
        ),
        Metric("finite_share", "higher", SHARE, "1", ("clock",), "share of seeds whose loss was finite at every look"),
        Metric("peak_mb", "lower", (0.0, INF), "MiB", ("memory",), "highest resident memory of the process"),
        Metric(
            "step_ms", "lower", (0.0, INF), "ms", ("clock",), "wall time of one step of training, best of several runs"
        ),
        Metric(
            "step_processor_ms",
            "lower",
            (0.0, INF),
            "ms",
            ("clock",),
            "CPU time of such a step without an accelerator, over all cores",
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


def _attacked() -> list[Metric]:
    """The accountant against bounds from elsewhere, and loaders against hostile files."""
    over = "of an answer divided by what it must not be below, minus 1"
    return [
        Metric("settings", "none", (0.0, INF), "1", ("accountant",), "answers that were compared with a bound"),
        Metric("violations", "lower", (0.0, INF), "1", ("accountant",), "answers below the bound"),
        Metric("least_excess", "none", (-1.0, INF), "1", ("accountant",), f"least {over}"),
        Metric("median_excess", "none", (-1.0, INF), "1", ("accountant",), f"median {over}"),
        Metric("least_delta", "none", SHARE, "1", ("accountant",), "smallest bound that was compared"),
        Metric("cases", "none", (0.0, INF), "files", ("files",), "changed files that were tried"),
        Metric("loaded", "none", (0.0, INF), "files", ("files",), "of these, files that still say nothing wrong"),
        Metric(
            "refused", "none", (0.0, INF), "files", ("files",), "of these, files refused with an error that says why"
        ),
        Metric(
            "untyped", "lower", (0.0, INF), "files", ("files",), "of these, files that ended in another error or never"
        ),
        Metric(
            "over_2_s",
            "lower",
            (0.0, INF),
            "files",
            ("files", "clock"),
            "of these, files that took over two seconds of CPU time",
        ),
        Metric("slowest_s", "lower", (0.0, INF), "s", ("files", "clock"), "CPU time of the file that took longest"),
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
        *(
            Metric(
                f"mse_linear_q{i}",
                "lower",
                (0.0, INF),
                "squared target",
                TRAINED,
                f"{word} of mse_linear over folds",
                group="mse",
            )
            for i, word in enumerate(("lower quartile", "median", "upper quartile"), 1)
        ),
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


def _learners() -> list[Metric]:
    """Classifiers trained on private rows, samplers of their parameters, and audits."""
    read, chains = ("private", "holdout"), ("private",)
    return [
        Metric(
            "auc",
            "higher",
            SHARE,
            "1",
            read,
            "area under the ROC curve of a learner trained on the real rows",
            group="auc",
        ),
        Metric("auc_share", "higher", (0.0, INF), "1", read, "auc over that of plain SGD, same seed", group="auc"),
        Metric("variance_ratio", "none", (0.0, INF), "1", chains, "variance of drawn parameters over the exact one"),
        Metric("ess_share", "higher", SHARE, "1", chains, "effective share of importance weights of a flow's draws"),
        Metric("accepted", "higher", SHARE, "1", chains, "share of proposals that a chain accepted"),
        Metric("r_hat", "lower", (0.0, INF), "1", chains, "split R-hat of chains, the worst of five directions"),
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


def _intervals() -> list[Metric]:
    """What releases say of their own counts."""
    what = {1: "columns", 2: "pairs of columns"}
    covered = [Metric(f"coverage_{k}", "none", SHARE, "1", COMPARED, f"share of 95 % intervals of cells of {text} that "
                      "hold the exact count") for k, text in what.items()]  # fmt: skip
    told = [Metric(f"told_{k}", "higher", SHARE, "1", ("synthetic",), f"share of cells of {text} with an interval")
            for k, text in what.items()]  # fmt: skip
    return [*covered, *told]


def _choosing() -> list[Metric]:
    """Methods beside one another."""
    error = "1 - AUC, or squared error over variance, of a linear model and of boosted trees, mean"
    behind = "median model_error of the method that auto takes over the smallest of all methods of ours"
    return [
        Metric("model_error", "lower", (0.0, INF), "1", TRAINED, error),
        Metric("over_best", "lower", (1.0, INF), "1", TRAINED, behind),
    ]


def _rules() -> list[Metric]:
    """What drawn rows make of the rules of a schema."""
    return [
        Metric("rules_broken", "lower", SHARE, "1", ("synthetic",), "share of drawn rows that break a rule"),
        Metric("drawing_cpu_s", "lower", (0.0, INF), "s", ("clock",), "processor time of 100,000 drawn rows"),
    ]


def _law() -> list[Metric]:
    """How tables are read, searched for a break of the law and for a crash."""
    moved = "largest movement of what a door adds up, of one row or person more, over what the promise declares"
    pairs, cases, speed = "pairs of neighbouring tables", "damaged files", "the earlier version, same rows, by turns"

    def fact(name: str, unit: str, text: str) -> Metric:
        return Metric(name, "none", (0.0, INF), unit, ("private",), text)

    return [
        Metric("moved_over_declared", "lower", (0.0, INF), "1", ("private",), moved),
        fact("pairs_read", "pairs", f"{pairs} of which both were read"),
        fact("tables_refused", "tables", "of these tables, refused with an error of nacre's own"),
        fact("cases_read", "files", f"{cases} that were read"),
        fact("cases_refused", "files", f"{cases} that were refused with an error of nacre's own"),
        Metric("faults", "lower", (0.0, INF), "files", ("private",), f"{cases} that did neither within two seconds"),
        Metric("longest_s", "lower", (0.0, INF), "s", ("clock",), "wall time of the table or file that took longest"),
        Metric("read_s", "lower", (0.0, INF), "s", ("clock",), "processor time of one pass over all columns, encoded"),
        Metric("over_earlier", "lower", (0.0, INF), "1", ("clock",), f"processor time over that of {speed}"),
    ]


def _reading() -> list[Metric]:
    """How the columns of a table come back."""
    wrong = "columns with a value in another writing or kind than the table's, or with a label it never had"
    gone = "share of rows that the most frequent label held which no synthetic row has"
    return [
        Metric("columns", "none", (0.0, INF), "columns", COMPARED, "columns of the table"),
        Metric("columns_wrong", "lower", (0.0, INF), "columns", COMPARED, wrong),
        Metric("columns_made_anew", "none", (0.0, INF), "columns", COMPARED, "columns that are not learnt"),
        Metric("unreadable_share", "lower", SHARE, "1", COMPARED, "values of the worst column that it cannot read"),
        Metric("missing_error", "lower", SHARE, "1", COMPARED, "largest error of a column's share of missing values"),
        Metric("label_lost", "lower", SHARE, "1", COMPARED, gone),
    ]


def _boards() -> list[Metric]:
    """Scores of other people's comparisons, as benchmarks compute them."""
    return [
        *(lower(f"tvd{k}", 1.0, f"total variation of {name} tables, mean over 300 random sets of columns")
          for k, name in ((4, "four-way"), (5, "five-way"))),
        Metric("kmarginal", "higher", (0.0, 1000.0), "points", COMPARED,
               "NIST's k-marginal score: 1000 less 500 times the mean L1 distance of all pairs of columns by area"),
        *_tails(),
        Metric("spikes_within", "higher", SHARE, "1", COMPARED,
               "share of single numbers with 1 % of the rows or more that come as often, within a fifth"),
        Metric("sdm_shapes", "higher", SHARE, "1", COMPARED, "Column Shapes of SDMetrics' QualityReport"),
        Metric("sdm_pairs", "higher", SHARE, "1", COMPARED, "Column Pair Trends of SDMetrics' QualityReport"),
    ]  # fmt: skip


def _tails() -> Iterator[Metric]:
    """Upper ends of numbers, over how far the real one lies above the real median: the mean column and the worst."""
    figures = {"tail_99": "the .99 quantile", "tail_999": "the .999 quantile", "tail_top1": "the mean of the top 1 %"}
    for name, what in figures.items():
        yield lower(name, INF, f"error of {what} over its distance from the median, mean over numeric columns")
        yield lower(f"{name}_max", INF, f"error of {what} over its distance from the median, worst numeric column")


METRICS = (*_costs(), *_calls(), *_books(), *_attacked(), *_settings(), *_learners(), *_plans(), *_intervals(),
           *_choosing(), *_rules(), *_law(),
           *_reading(), *_boards())  # fmt: skip
