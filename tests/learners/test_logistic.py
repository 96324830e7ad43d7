"""The estimator: agreement with scikit-learn, certificates, refusals, estimator checks."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression as Reference
from sklearn.utils import estimator_checks
from tests.learners import small

import nacre
from nacre.errors import BudgetError, DataError, NacreError, PlanError
from nacre.learners import flow
from nacre.learners.descending import DpSgd, NoisyGd, Sgd
from nacre.learners.exponential import Rejection, Walk
from nacre.learners.flow import ExpmNf, FlowShape, equipartition, verdict
from nacre.learners.flow_chain import FlowChain
from nacre.learners.hamiltonian import Hamiltonian
from nacre.learners.logistic import LogisticRegression
from nacre.privacy.curator import Curator

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
    said = str(made.certificate_)
    assert "no privacy proof" in said and "Guarantee: none (empirical only)" in said and "tables" not in said
    assert "epsilon_tilde 0.5" in said and "released: 1" in said
    made.draw(3)
    made.bayes_proba(X, draws=10)
    assert made.certificate_.extras["releases"] == 14 and "released: 14" in str(made.certificate_)
    for wrong in (-3, 0, 1.5, True):
        with pytest.raises(NacreError, match="count"):
            made.draw(wrong)
    best = made.map_parameters()
    assert made.certificate_.extras["releases"] == 15
    theta = np.append(made.scale_(X) @ best[:-1] + best[-1], 0.0)[:-1]
    assert made.map_proba(X)[:, 1] == pytest.approx(1 / (1 + np.exp(-theta)))
    assert made.certificate_.extras["releases"] == 15  # the same vector again
    exact = LogisticRegression(Rejection(0.01, patience=5), **PUBLIC).fit(X, Y)
    with pytest.raises(NacreError, match="second"):
        exact.draw()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"training": "dpsgd"}, "training='dpsgd': expected"),
        ({"training": DpSgd}, "training=.*expected"),
        ({"classes": (0, 0)}, "stands there twice"),
        ({"classes": "ab"}, "classes='ab': expected"),
        ({"classes": (0, float("nan"))}, "classes=.*expected"),
        ({"classes": np.array([0, "a"], object)}, "classes=.*one type"),
        ({"rows": 1.5}, "rows=1.5: expected"),
        ({"rows": "many"}, "rows='many': expected"),
        ({"seed": None}, "seed=None: expected"),
        ({"noise_seed": -1}, "noise_seed=-1: expected"),
        ({"training": DpSgd(rate=float("nan"))}, "rate=nan: expected"),
        ({"training": DpSgd(l2=-1.0)}, "l2=-1.0: expected"),
        ({"training": DpSgd(clip="1")}, "clip='1': expected"),
        ({"training": DpSgd(batch=True)}, "batch=True: expected"),
        ({"training": Rejection(tau="wide")}, "tau='wide'"),
        ({"training": Walk(chains=1.5)}, "chains"),
        ({"training": Hamiltonian(leaps=1.5)}, "leaps=1.5: expected"),
        ({"training": Hamiltonian(chains=0)}, "chains=0: expected"),
        ({"training": FlowChain(chains=1.5)}, "chains=1.5: expected"),
        ({"training": FlowChain(shape=None)}, "shape=None: expected"),
        ({"training": ExpmNf("1")}, "epsilon_tilde='1': expected"),
        ({"training": ExpmNf(1.0, diagnostic_draws=0)}, "diagnostic_draws=0: expected"),
        ({"training": ExpmNf(1.0, shape=None)}, "shape=None: expected"),
        ({"bounds": (-1.0, 1.0, 2.0)}, "bounds=.*expected"),
        ({"bounds": 3.0}, "bounds=.*expected"),
        ({"bounds": ([-1.0] * 5, [1.0] * 5)}, "each of the 2 features"),
    ],
)
def test_settings_that_cannot_be_are_named(settings, words, monkeypatch):
    """Before a door opens: nothing would have been spent."""
    monkeypatch.setattr(Curator, "_open", lambda *any: pytest.fail("a door was opened"))
    with pytest.raises(PlanError, match=words):
        LogisticRegression(**{**PUBLIC, **settings}).fit(X, Y)


def test_a_draw_needs_an_epsilon_and_a_large_delta_is_told():
    with pytest.raises(BudgetError, match="expm-exact: epsilon None"):
        Rejection(None)
    with pytest.raises(BudgetError, match="learners have no such"):
        LogisticRegression(DpSgd(epsilon=30.0), **PUBLIC).fit(X, Y)
    with pytest.warns(UserWarning, match="delta=0.01 is at least 1/rows"):
        LogisticRegression(NoisyGd(epsilon=4.0, delta=0.01, steps=2), **PUBLIC).fit(X, Y)


def test_the_target_of_a_flow_is_that_of_the_mechanism(monkeypatch):
    """ε̃/(2s) for exchanged rows, as published; ε̃/s where a row is added or removed."""
    rates, real = [], flow.train

    def train(shape, size, target, *rest):
        rates.append(target.rate)
        return real(shape, size, target, *rest)

    monkeypatch.setattr(flow, "train", train)
    training = ExpmNf(0.5, shape=FlowShape(layers=1, rank=2, steps=2, draws=4), diagnostic_draws=20)
    for neighbours in ("replace_one", "zero_out", "add_or_remove_one"):
        LogisticRegression(training, **PUBLIC, neighbours=neighbours, rows=400).fit(X, Y)
    assert rates == [0.25, 0.5, 0.5]


@pytest.mark.parametrize(
    "wrong",
    [{"kind": "plannar"}, {"steps": 0}, {"draws": 0}, {"batch": 0}, {"rank": 0}, {"layers": 1.5}, {"layers": -1},
     {"sd": 0}, {"sd": float("nan")}, {"rate": -1.0}, {"rate": "fast"}, {"tilt": float("inf")}],
)  # fmt: skip
def test_a_flow_that_cannot_be_trained_is_refused_when_it_is_made(wrong):
    with pytest.raises(PlanError, match=f"flow: {next(iter(wrong))}.*expected"):
        FlowShape(**wrong)


def test_the_draw_of_a_flow_is_the_noise_sources_and_not_the_public_seeds():
    shape, told = FlowShape(layers=1, rank=2, steps=5, draws=8), []
    training = ExpmNf(0.5, shape=shape, diagnostic_draws=50)
    with pytest.warns(DeprecationWarning, match="tell_owner: use"):
        one, other = (LogisticRegression(training, **PUBLIC, seed=3).fit(X, Y, told.append) for _ in range(2))
    assert not np.array_equal(one.coef_, other.coef_) and "operating system" in str(one.certificate_)
    seeded = [LogisticRegression(training, **PUBLIC, seed=3, noise_seed=4).fit(X, Y) for _ in range(2)]
    assert np.array_equal(seeded[0].coef_, seeded[1].coef_)
    assert np.array_equal(seeded[0].map_parameters(), seeded[1].map_parameters())
    assert {"ess_share", "k_hat", "excess_loss", "equipartition_loss", "passed", "verdict"} <= set(told[0])
    assert "none (empirical only)" in told[0]["verdict"]


def test_equipartition_and_the_verdict_on_a_fit():
    """A normal target of a quadratic loss Σ hθ²/2 and prior τ, drawn exactly: to 5 % over 50 coordinates. A flow half
    as wide has a quarter of the excess and is called over-precise."""
    rng, rate, tau = np.random.default_rng(0), 2.0, 0.7
    h = np.linspace(0.5, 20, 50)
    sd = 1 / np.sqrt(rate * h + 1 / tau**2)
    fits = []
    for width in (1.0, 0.5):
        theta = width * sd * rng.standard_normal((4000, 50))
        fits.append(equipartition(0.5 * (h * theta**2).sum(1), 0.0, theta.std(axis=0) / tau, rate))
    assert fits[0]["excess_loss"] == pytest.approx(fits[0]["equipartition_loss"], rel=0.05)
    good = {"ess_share": 0.5, "k_hat": 0.2}
    assert verdict({**good, **fits[0]})["passed"]
    assert "over-precise" in verdict({**good, **fits[1]})["verdict"]
    assert "ESS" in verdict({**fits[0], "ess_share": 0.01, "k_hat": float("nan")})["verdict"]


def test_a_learner_is_saved_and_loaded(tmp_path):
    import nacre.learners as learners

    made = learners.LogisticRegression(Rejection(0.01, patience=5), **PUBLIC).fit(X, Y)
    made.save(tmp_path / "m.nacre")
    again = learners.load(tmp_path / "m.nacre")
    assert np.array_equal(again.predict_proba(X), made.predict_proba(X)) and again.score(X, Y) == made.score(X, Y)
    assert again.certificate_ == made.certificate_ and again.classes_.tolist() == made.classes_.tolist()
    with pytest.raises(NacreError, match="exists"):
        made.save(tmp_path / "m.nacre")
    with pytest.raises(NacreError, match="second"):
        again.draw()
    with pytest.raises(NacreError, match="release"):
        nacre.load(tmp_path / "m.nacre")
    with pytest.raises(AttributeError):
        _ = learners.NoSuchThing


def test_a_file_of_something_else_is_refused(tmp_path):
    from nacre.learners import load
    from nacre.release.file import pack

    certificate = json.dumps(LogisticRegression(Rejection(0.01, patience=5), **PUBLIC).fit(X, Y).certificate_.to_json())
    arrays = {"parameters": np.zeros(3), "low": np.zeros(2), "high": np.ones(2)}
    for model in (
        {"learner": "os", "facts": {}},
        {"learner": "LogisticRegression", "facts": {"classes": [0, 1], "features": 5}},
        {"learner": "LogisticRegression", "facts": {"classes": [0, [1]], "features": 2}},
        {"method": "independent"},
    ):
        documents = {"schema.json": "{}", "certificate.json": certificate, "model.json": json.dumps(model)}
        pack(tmp_path / "x.nacre", documents, arrays, True)
        with pytest.raises(NacreError, match="not the file of a learner"):
            load(tmp_path / "x.nacre")


def test_refusals():
    with pytest.raises(PlanError, match="batch"):
        LogisticRegression(DpSgd(batch=None), **PUBLIC).fit(X, Y)  # type: ignore[arg-type]
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


def test_one_text_among_the_labels_does_not_blank_the_other_rows():
    """A list turns into texts as a whole, and no number is found among them: one row would have changed all."""
    exact = Rejection(0.01, patience=5)
    for y in ([*Y[:-1].tolist(), "x"], np.array([*Y[:-1], "x"], object), Y.astype(str)):
        with pytest.raises(DataError, match="texts"):
            LogisticRegression(exact, **PUBLIC).fit(X, y)
    with pytest.raises(DataError, match="texts"):
        LogisticRegression(exact, bounds=(-1, 1), classes=("no", "yes")).fit(X, Y)
    texts = np.where(Y > 0, "yes", "no").astype(object)
    assert LogisticRegression(exact, bounds=(-1, 1), classes=("no", "yes")).fit(X, texts).certificate_.epsilon == 0.01
    assert LogisticRegression(exact, **PUBLIC).fit(X, Y > 0).classes_.tolist() == [0, 1]
