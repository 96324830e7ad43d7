"""Figures of processes of their own: what they hold, and what is said where one fails."""

import pytest
from benchmarks.catalogue import Options
from benchmarks.speed import everyday, everyday_child

from nacre.metrics import METRICS


def test_the_recorded_delta_is_the_one_that_the_certificate_states(tmp_path, monkeypatch):
    def child(task, **asked):  # in this process, with fewer rows, whose default delta is another one
        return getattr(everyday_child, task)(**asked | ({"rows": 2000} if task == "shards" else {})), 0.0

    monkeypatch.setattr(everyday, "child", child)
    [(setting, figures)] = everyday.characters_of_rows(Options(quick=True), tmp_path)
    assert setting.delta == 1e-6 and set(figures) <= set(METRICS)


def test_speed_measures_in_a_process_of_its_own():
    figures, seconds = everyday.child("noise", cells=1_000, sigma=10.0)
    assert 0 < figures["noise_s"] < seconds
    assert set(figures) <= set(METRICS)
    assert everyday_child.peak_mb() > 10
    with pytest.raises(RuntimeError, match="'noise' ended with 1"):
        everyday.child("noise", cells="many", sigma=10.0)
