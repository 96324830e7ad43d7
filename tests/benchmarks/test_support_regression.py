"""The regression study of support points: its verdicts, its histogram, its noise beyond what nacre certifies."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.results import Results
from benchmarks.support import regression as study
from benchmarks.support.histogram import cells_per_axis, histogram_rows

from nacre.privacy.accounting import accountant as accounting


def test_a_setting_is_on_par_where_interquartile_ranges_overlap():
    one = np.array([1.0, 2.0, 3.0, 4.0, 5.0])  # quartiles 2 and 4
    for shift, found in ((2.1, "better"), (2.0, "par"), (0.0, "par"), (-2.0, "par"), (-2.1, "worse")):
        assert study.judge(one, [one + shift, one + 9]) == found
    assert study.judge(one, [one + 9, one - 3]) == "worse"  # the better of the others counts


def test_settings_are_counted_when_all_of_a_group_are_measured(tmp_path):
    cases = [("boston", 1.0, 0.1), ("boston", 2.0, 0.1), ("boston", 100.0, 0.1)]
    results = Results("counted", "", folder=tmp_path, work=tmp_path)
    level = {"sketch": (1.0, 1.0, 9.0), "data": (2.0, 0.5, 2.0), "kme": (3.0, 3.0, 3.0), "histogram": (4.0, 4.0, 4.0)}
    for method, values in level.items():
        for case, value in list(zip(cases, values))[: 2 if method == "kme" else 3]:
            for fold in range(5):
                results.add(study.setting(method, *case), fold, {"mse_linear": value})
    study.summarise(results, cases)
    found = {(r["method"], r["dataset"], r["metric"]): r["mean"] for r in results.rows()}
    title = "all tables, budgets 1 to 2"
    assert found["support-points", title, "settings_better"] == 2.0
    assert found["support-points", title, "settings_ahead"] == 0.5  # the chain was better once
    assert found["support-points, data", title, "settings_worse"] == 0.0
    assert not any("100" in d and m != "published private support points" and "settings" in k for m, d, k in found)


def test_the_file_holds_quartiles_and_two_baselines(tmp_path):
    """Five folds of a line y = x/2 with a target that is known: least squares finds it, the mean has its variance."""
    x = np.linspace(0, 1, 100)
    table = SimpleNamespace(name="line", rows=np.stack([x, x / 2], axis=1))
    results = Results("quartiles", "", folder=tmp_path, work=tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "load", lambda name: table)
        patch.setattr(study, "folds", lambda table, seed, count: [(table.rows, table.rows[i::5]) for i in range(count)])
        errors = {b: study.measure_baseline(results, b, "line") for b in study.BASELINES}
        assert study.measure_baseline(results, "mean", "line") == errors["mean"]  # and not measured again
    assert max(errors["real"]) < 1e-20
    assert errors["mean"] == [pytest.approx(np.mean((x[i::5] / 2 - 0.25) ** 2)) for i in range(5)]
    found = {(r["method"], r["metric"]): r["mean"] for r in results.rows()}
    wanted = np.quantile(errors["mean"], (0.25, 0.5, 0.75))
    assert [found["mean", f"mse_linear_q{i}"] for i in (1, 2, 3)] == wanted.tolist()


def test_the_histogram_has_the_published_cells_and_finds_a_crowd():
    """Cells per axis of the published study; with much budget and one crowded cell nearly all rows come from it."""
    sizes = {(404, 14): (3, 4, 5), (353, 11): (4, 5, 7), (400, 9): (5, 7, 10)}
    for (rows, columns), wanted in sizes.items():
        assert tuple(cells_per_axis(rows, columns, e) for e in (100.0, 1000.0, 10000.0)) == wanted
    side = cells_per_axis(400, 2, 50.0)
    made = histogram_rows(np.full((400, 2), 0.05), 200, 50.0, 0)
    assert ((made * side).astype(int) == int(0.05 * side)).all(axis=1).mean() > 0.9


@pytest.mark.parametrize("epsilon", (1.0, 20.0, 100.0, 10_000.0))
def test_the_noise_of_any_budget_spends_it(epsilon):
    assert accounting.gaussian_delta(epsilon, study.mu_at(epsilon)) == pytest.approx(study.DELTA, rel=0.02)
