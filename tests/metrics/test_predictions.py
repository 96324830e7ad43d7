"""Scores under weights against scikit-learn's, and their bootstrap."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score, mean_squared_error, r2_score, roc_auc_score

from nacre.metrics.predictions import RESAMPLES, Prediction, figures, interval, ranking, resamples

RNG = np.random.default_rng(0)
ROWS = 400
Y = RNG.integers(0, 2, ROWS)
SCORE = np.round(Y + RNG.normal(0, 1.2, ROWS), 1)  # many ties
GUESS = (SCORE > 0.6).astype(int)


def test_two_classes_equal_scikit_learn_under_every_weighting():
    weights = resamples(ROWS, 25, seed=1)
    found = figures(Y, Prediction(GUESS, np.column_stack([-SCORE, SCORE])), 2, weights)
    assert (weights[0] == 1).all() and (weights.sum(axis=1) == ROWS).all()
    for i, w in enumerate(weights):
        kept = w > 0  # scikit-learn counts rows of weight 0 among its thresholds
        expected = {
            "auc": roc_auc_score(Y, SCORE, sample_weight=w),
            "ap": average_precision_score(Y[kept], SCORE[kept], sample_weight=w[kept]),
            "f1": f1_score(Y, GUESS, average="macro", sample_weight=w),
            "roc_hard": roc_auc_score(Y, GUESS, sample_weight=w),
            "prc_hard": average_precision_score(Y, GUESS, sample_weight=w),
        }
        assert {name: value[i] for name, value in found.items()} == pytest.approx(expected, abs=1e-12)


def test_many_classes_are_one_versus_rest_over_those_present():
    y = RNG.integers(0, 3, ROWS)
    score = np.eye(4)[y] + RNG.normal(0, 1, (ROWS, 4))
    guess = score.argmax(axis=1)
    found = figures(y, Prediction(guess, score), 4, np.ones((1, ROWS)))
    assert found["auc"][0] == pytest.approx(np.mean([roc_auc_score(y == c, score[:, c]) for c in range(3)]))
    assert found["ap"][0] == pytest.approx(np.mean([average_precision_score(y == c, score[:, c]) for c in range(3)]))
    assert found["f1"][0] == pytest.approx(f1_score(y, guess, average="macro"))


def test_numbers_equal_scikit_learn_under_every_weighting():
    y, guess = RNG.normal(5, 2, ROWS), RNG.normal(5, 2, ROWS)
    weights = resamples(ROWS, 10, seed=2)
    found = figures(y, Prediction(guess), 0, weights)
    for i, w in enumerate(weights):
        assert found["mse"][i] == pytest.approx(mean_squared_error(y, guess, sample_weight=w))
        assert found["r2"][i] == pytest.approx(r2_score(y, guess, sample_weight=w))
    assert np.isnan(figures(np.ones(5), Prediction(np.zeros(5)), 0, np.ones((1, 5)))["r2"][0])


def test_a_test_set_of_one_class_has_no_ranking():
    found = figures(np.ones(10, int), Prediction(np.ones(10, int), np.zeros((10, 2))), 2, np.ones((1, 10)))
    assert np.isnan(found["auc"][0]) and found["f1"][0] == 1


def test_the_interval_covers_the_truth():
    """AUC of N(1, 1) against N(0, 1) is Phi(1 / sqrt(2)) = 0.7602. 200 tables: 95 % intervals that covered it in fewer
    than 175 or more than 199 would be wrong (false alarm below 1e-4)."""
    rng = np.random.default_rng(3)
    covered = 0
    for seed in range(200):
        y = np.repeat([0, 1], 100)
        score = y + rng.normal(size=200)
        found = figures(y, Prediction(y, np.column_stack([-score, score])), 2, resamples(200, 200, seed))["auc"]
        low, high = interval(found[1:])
        covered += low <= 0.7602 <= high
    assert 175 <= covered <= 199


def test_no_interval_from_too_few_figures():
    assert interval(np.full(200, np.nan)) is None and interval(np.array([])) is None


def test_intervals_of_the_auc_hold_the_true_one():
    """Scores N(1,1) and N(0,1): AUC = Phi(1/sqrt 2) = 0.7602. Of 300 intervals 95 % +- 1.3 %; 0.90 is four off."""
    rng, hits = np.random.default_rng(0), 0
    for seed in range(300):
        y = rng.random(300) < 0.4
        score = rng.normal(y.astype(float), 1)
        low, high = interval(ranking(y, score, resamples(300, RESAMPLES, seed).astype(float))[0][1:])
        hits += low <= 0.7602499 <= high
    assert 0.90 < hits / 300 < 0.99
