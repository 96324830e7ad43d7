"""The estimator: agreement with scikit-learn, certificates, refusals, estimator checks."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression as Reference
from sklearn.utils import estimator_checks
from tests.learners import small

from nacre.errors import NacreError, PlanError
from nacre.learners.descending import DpSgd, NoisyGd, Sgd
from nacre.learners.exponential import Rejection
from nacre.learners.flow import ExpmNf, FlowShape
from nacre.learners.logistic import LogisticRegression

X, Y = small.data(400, 2)
PUBLIC = {"bounds": (-1.0, 1.0), "classes": (0, 1)}


def test_descent_without_noise_finds_the_maximum_likelihood():
    ours = LogisticRegression(Sgd(batch=1e9, steps=600, rate=4.0), **PUBLIC).fit(X, Y)
    reference = Reference(C=1e8, tol=1e-10).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, reference.coef_, atol=0.02)
    np.testing.assert_allclose(ours.intercept_, reference.intercept_, atol=0.02)
    np.testing.assert_allclose(ours.predict_proba(X), reference.predict_proba(X), atol=0.01)
    assert ours.certificate_.guarantee == "none" and ours.certificate_.epsilon is None


def test_more_than_two_classes():
    labels = np.digitize(X[:, 0], (-0.3, 0.3)).astype(str)
    ours = LogisticRegression(Sgd(batch=1e9, steps=300, rate=4.0), bounds=(-1, 1), classes=("0", "1", "2")).fit(
        X, labels
    )
    assert ours.predict_proba(X).shape == (400, 3)
    assert ours.score(X, labels) > Reference().fit(X, labels).score(X, labels) - 0.05


@pytest.mark.parametrize(
    ("training", "level"),
    [(NoisyGd(epsilon=4.0, steps=8), "proven (real arithmetic)"), (Rejection(epsilon=0.01, patience=50), "proven")],
)
def test_promises(training, level):
    certificate = LogisticRegression(training, **PUBLIC).fit(X, Y).certificate_
    assert (certificate.guarantee, certificate.epsilon) == (level, training.epsilon)
    # What nobody declared was read from the rows, and costs the guarantee.
    for left_out in PUBLIC:
        declared = {k: v for k, v in PUBLIC.items() if k != left_out}
        assert LogisticRegression(Rejection(0.01, patience=5), **declared).fit(X, Y).certificate_.guarantee == "none"
    assert LogisticRegression(training, **PUBLIC, noise_seed=1).fit(X, Y).certificate_.guarantee == "none"


def test_the_number_of_rows_is_private_under_add_or_remove():
    with pytest.raises(PlanError, match="rows"):
        LogisticRegression(DpSgd(), **PUBLIC, neighbours="add_or_remove_one").fit(X, Y)
    exact = Rejection(epsilon=0.02, patience=50)
    made = LogisticRegression(exact, **PUBLIC, neighbours="add_or_remove_one", rows=500).fit(X, Y)
    assert made.certificate_.guarantee == "proven"


def test_flow_is_labelled_and_counts_its_releases():
    shape = FlowShape(layers=1, rank=2, steps=5, draws=8)
    made = LogisticRegression(ExpmNf(0.5, shape=shape, diagnostic_draws=50), **PUBLIC).fit(X, Y)
    assert made.certificate_.guarantee == "none" and made.certificate_.epsilon is None
    assert made.certificate_.extras == {"epsilon_tilde": 0.5, "label": "none (empirical only)", "releases": 1}
    assert "no privacy proof" in str(made.certificate_)
    made.draw(3)
    made.bayes_proba(X, draws=10)
    assert made.certificate_.extras["releases"] == 14
    exact = LogisticRegression(Rejection(0.01, patience=5), **PUBLIC).fit(X, Y)
    with pytest.raises(NacreError, match="second"):
        exact.draw()


def test_refusals():
    with pytest.raises(PlanError, match="bounds"):
        LogisticRegression(Sgd(steps=1), bounds=(1, -1), classes=(0, 1)).fit(X, Y)
    with pytest.raises(PlanError, match="tau"):
        LogisticRegression(Rejection(0.1, tau=0.0), **PUBLIC).fit(X, Y)
    with pytest.raises(PlanError, match="tau"):
        LogisticRegression(ExpmNf(0.1, tau=float("inf")), **PUBLIC).fit(X, Y)
    with pytest.raises(PlanError, match="loss"):
        LogisticRegression(Sgd(loss="hinge"), **PUBLIC).fit(X, Y)


QUICK = (
    "check_estimator_cloneable",
    "check_parameters_default_constructible",
    "check_no_attributes_set_in_init",
    "check_estimators_unfitted",
    "check_estimators_nan_inf",
    "check_classifiers_one_label",
    "check_n_features_in",
    "check_fit2d_1feature",
    "check_classifiers_regression_target",
    "check_get_params_invariance",
    "check_set_params",
)


@pytest.mark.parametrize("name", QUICK)
def test_relevant_estimator_checks(name):
    estimator = LogisticRegression(Sgd(steps=20, rate=2.0))
    getattr(estimator_checks, name)("LogisticRegression", estimator)


@pytest.mark.slow
def test_all_estimator_checks():
    estimator_checks.check_estimator(LogisticRegression(Sgd(steps=400, rate=4.0, batch=1e9)))


def test_an_undeclared_label_is_no_error_and_counts_as_a_blank_row():
    from nacre.learners import labelled

    assert labelled.label_codes(np.array([1, 7, 0]), np.array([0, 1])).tolist() == [1, -1, 0]
