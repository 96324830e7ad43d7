"""Positive controls of membership audits: networks that learn their rows by heart must be found out."""

from __future__ import annotations

import numpy as np
from sklearn.neural_network import MLPClassifier

from nacre.audit import lira
from nacre.audit.bounds import one_run_epsilon
from nacre.audit.one_run import guess


def memorised(x: np.ndarray, y: np.ndarray, seed: int) -> MLPClassifier:
    """More weights than rows, trained until it makes no mistake."""
    return MLPClassifier((128,), alpha=0.0, solver="lbfgs", max_iter=200, random_state=seed).fit(x, y)


def of_truth(model: MLPClassifier, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return model.predict_proba(x)[np.arange(len(y)), y]


def test_one_run_finds_flipped_labels_that_were_learnt_by_heart():
    """1,000 canaries, 50 guesses on each side: epsilon is at least 1 at 95 %. A coin for scores finds nothing."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1500, 60))
    y = (x[:, 0] > 0).astype(int)
    canaries = np.arange(1000)
    y[canaries] = 1 - y[canaries]
    present = rng.random(1000) < 0.5
    kept = np.concatenate([canaries[present], np.arange(1000, 1500)])
    scores = of_truth(memorised(x[kept], y[kept], 0), x[canaries], y[canaries])
    guesses, right = guess(scores, present, 50)
    assert one_run_epsilon(1000, guesses, right) > 1
    guesses, right = guess(rng.random(1000), present, 50)
    assert one_run_epsilon(1000, guesses, right) < 0.5


def test_lira_finds_members_of_an_overfitted_network():
    """5 % of the members at 1 % false alarms or more, and far more area than a coin has."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 30))
    y = ((x[:, 0] + rng.normal(size=400)) > 0).astype(int)
    members = lira.halves(26, len(x), 0)
    phi = np.stack([lira.confidence(of_truth(memorised(x[m], y[m], i), x, y)) for i, m in enumerate(members)])
    laws = lira.Shadows.of(phi[:24], members[:24])
    scores = laws.online(phi[24:])
    for one, inside in zip(scores, members[24:]):
        assert lira.area(one, inside) > 0.7 and lira.found_at(one, inside, 0.01) >= 0.05
