"""Train on one table, test on another: features, sampling, and scores against scikit-learn used directly."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import f1_score, mean_squared_error, r2_score, roc_auc_score

from nacre.errors import NacreError, SchemaError
from nacre.evaluation.downstream import at_most, scores
from nacre.evaluation.score import Judge, Protocol, summary
from nacre.metrics import MODELS, REGRESSORS
from nacre.metrics.domain import Domain, Variable
from nacre.metrics.features import Features
from nacre.metrics.models import SLOWEST_FIRST, SUITES, build, models_of


@pytest.fixture(scope="module")
def cancer():
    frame = load_breast_cancer(as_frame=True).frame.iloc[:, [0, 1, 4, 20, -1]]
    frame.columns = ["radius", "texture", "smooth", "worst", "benign"]
    domain = Domain.of({c: (float(frame[c].min()), float(frame[c].max())) for c in frame.columns[:-1]})
    domain = Domain((*domain.variables, Variable("benign", categories=("0", "1"))))
    return frame.iloc[:400], frame.iloc[400:], domain


def test_features_are_standardised_with_the_training_table_only():
    domain = Domain(
        (
            Variable("c", categories=("a", "b"), nullable=True),
            Variable("x", bounds=(0, 100)),
            Variable("y", bounds=(0, 9), nullable=True),
            Variable("t", categories=("0", "1")),
        )
    )
    train = pd.DataFrame({"c": ["a", None, "b"], "x": [1.0, 2, 6], "y": [4.0, np.nan, 8], "t": [0, 1, 0]})
    features = Features.of(train, domain, "t")
    x = features(train)
    assert x.dtype == np.float32 and x.shape == (3, 2 + 1 + 3)
    np.testing.assert_allclose(x[:, 0], (np.array([1, 2, 6]) - 3) / np.std([1, 2, 6]), rtol=1e-6)
    np.testing.assert_allclose(x[:, 1], (np.array([4, 6, 8]) - 6) / np.std([4, 6, 8]), rtol=1e-6)  # null -> median
    np.testing.assert_array_equal(x[:, 2], [0, 1, 0])  # y was missing
    np.testing.assert_array_equal(x[:, 3:], [[1, 0, 0], [0, 0, 1], [0, 1, 0]])
    other = features(pd.DataFrame({"c": ["z"], "x": [3.0], "y": [6.0], "t": [1]}))
    np.testing.assert_allclose(other, [[0, 0, 0, 0, 0, 0]], atol=1e-7)


def test_scores_equal_scikit_learn_used_directly(cancer):
    train, test, domain = cancer
    found = scores(train, test, domain, "benign", models=("lr",))["lr"]
    x = train.drop(columns="benign").to_numpy()
    scale = lambda z: ((z - x.mean(0)) / x.std(0)).astype(np.float32)  # noqa: E731
    model = LogisticRegression(max_iter=1000).fit(scale(x), train["benign"])
    z = scale(test.drop(columns="benign").to_numpy())
    assert found["auc"] == pytest.approx(roc_auc_score(test["benign"], model.predict_proba(z)[:, 1]), abs=1e-9)
    assert found["f1"] == pytest.approx(f1_score(test["benign"], model.predict(z), average="macro"), abs=1e-9)
    assert found["roc_hard"] == pytest.approx(roc_auc_score(test["benign"], model.predict(z)), abs=1e-9)
    assert found["auc"] > 0.95


def test_every_classifier_runs_and_the_means_are_those_of_the_suites(cancer):
    train, test, domain = cancer
    found = scores(train, test, domain, "benign", models=MODELS)
    assert set(found) == set(MODELS) == set(SLOWEST_FIRST) - {"linear", "ridge"}
    assert all(per["auc"] > 0.85 for per in found.values())
    flat = summary(found)
    assert flat["auc_mean10"] == pytest.approx(np.mean([found[m]["auc"] for m in SUITES["ten"]]))
    rest = [found[m]["auc"] for m in SUITES["ten"] if m != "gnb"]
    assert len(rest) == 9 and flat["auc_mean9_no_gnb"] == pytest.approx(np.mean(rest))
    assert flat["f1_mean9"] == pytest.approx(np.mean([found[m]["f1"] for m in SUITES["nine"]]))
    assert "auc_mean10" not in summary({m: found[m] for m in ("lr", "tree")})


def test_results_do_not_depend_on_the_number_of_processes(cancer):
    train, test, domain = cancer
    models = ("lr", "tree", "gnb")
    alone = scores(train, test, domain, "benign", models=models)
    assert scores(train, test, domain, "benign", models=models, n_jobs=2) == alone


def test_a_destroyed_target_scores_like_a_guess(cancer):
    train, test, domain = cancer
    shuffled = train.assign(benign=np.random.default_rng(0).permutation(train["benign"].to_numpy()))
    assert scores(shuffled, test, domain, "benign", models=("hgb",))["hgb"]["auc"] < 0.75
    constant = scores(train.assign(benign=1), test, domain, "benign", models=("lr", "svm"))
    assert constant["lr"]["auc"] == constant["svm"]["auc"] == 0.5


def test_many_classes_and_one_that_training_lacks():
    frame = load_iris(as_frame=True).frame
    frame.columns = ["a", "b", "c", "d", "kind"]
    domain = Domain.of({**dict.fromkeys("abcd", (0.0, 10.0)), "kind": ["0", "1", "2"]})
    train, test = frame.iloc[::2], frame.iloc[1::2]
    found = scores(train, test, domain, "kind", models=("lr", "svm", "forest"))
    assert all(per["f1"] > 0.9 and per["auc"] > 0.9 for per in found.values())
    assert "roc_hard" not in found["lr"]
    poor = scores(train[train["kind"] != 2], test, domain, "kind", models=("tree",))["tree"]
    assert poor["f1"] < 0.7 and poor["auc"] < 0.9


def test_the_sample_is_stratified_repeatable_and_keeps_rare_classes():
    y = np.array([0] * 9_000 + [1] * 990 + [2] * 10)
    keep = at_most(y, 1_000, seed=0)
    assert np.bincount(y[keep]).tolist() == [900, 99, 1]
    assert len(np.unique(keep)) == 1_000
    np.testing.assert_array_equal(keep, at_most(y, 1_000, seed=0))
    assert (keep != at_most(y, 1_000, seed=1)).any()
    np.testing.assert_array_equal(at_most(y, None, 0), np.arange(len(y)))


@pytest.mark.parametrize("model, rows", [("hgb", 10_500), ("mlp", 300)])
def test_a_class_with_one_row_can_be_trained_on(model, rows):
    """Early stopping divides rows by class, which a class of one row cannot be; other tables keep it."""
    rng = np.random.default_rng(0)
    x = rng.random(rows)
    kind = np.where(x < 0.5, "a", "b").astype(object)
    train = pd.DataFrame({"x": x, "kind": kind})
    train.loc[0, "kind"] = "rare"
    domain = {"x": (0.0, 1.0), "kind": ["a", "b", "rare"]}
    found = scores(train, train.iloc[1:200], domain, "kind", models=(model,))[model]
    assert found["auc"] > 0.95
    assert found == scores(train.iloc[1:], train.iloc[1:200], domain, "kind", models=(model,))[model]


def test_suites_are_the_protocols():
    assert len(SUITES["ten"]) == 10 and len(SUITES["nine"]) == 9
    assert models_of(("ten", "strong", "lr")) == (*SUITES["ten"], "hgb")
    with pytest.raises(NacreError, match="no suite or classifier 'eleven'"):
        models_of(("eleven",))
    assert build("gbm").subsample == 0.5 and build("mlp").early_stopping and build("lr").max_iter == 1000


def test_bad_targets_are_named(cancer):
    train, test, domain = cancer
    with pytest.raises(NacreError, match="no suite or regressor 'lr'"):
        scores(train, test, domain, "radius", models=("lr",))
    one = Domain((*domain.variables[:-1], Variable("benign", categories=("1",))))
    with pytest.raises(SchemaError, match="'benign': classifiers need a categorical"):
        scores(train, test, one, "benign", models=("lr",))
    with pytest.raises(SchemaError, match="no row of the training table has a declared class"):
        scores(train.assign(benign="maybe"), test, domain, "benign", models=("lr",))
    with pytest.raises(SchemaError, match="169 test rows have no declared class"):
        scores(train, test.assign(benign=None), domain, "benign", models=("lr",))


def test_training_rows_without_a_class_are_left_out(cancer):
    train, test, domain = cancer
    extra = train.head(50).assign(benign="maybe", radius=1e9)
    with_extra = scores(pd.concat([extra, train]), test, domain, "benign", models=("lr",))
    assert with_extra == scores(train, test, domain, "benign", models=("lr",))


def test_the_judge_computes_the_ceiling_once_and_gaps_against_it(cancer, monkeypatch):
    train, test, domain = cancer
    judge = Judge(train, test, domain, "benign", Protocol(suites=("quick",)))
    half = train.assign(benign=np.random.default_rng(1).permutation(train["benign"].to_numpy()))
    figures = judge.score(half)
    gaps = judge.gaps(figures)
    assert (
        gaps["auc_hgb_gap"] == pytest.approx(judge.ceiling["auc_hgb"] - figures["auc_hgb"])
        and gaps["auc_hgb_gap"] > 0.1
    )
    assert "tvd1_gap" not in gaps
    first = judge.ceiling
    monkeypatch.setattr("nacre.evaluation.score.scores", None)
    assert judge.ceiling is first
    own = judge.distances(train)
    assert own["tvd1"] == own["tvd2"] == own["kendall_rmse"] == 0 and own["tvd2_holdout"] > 0


def test_regressors_equal_scikit_learn_used_directly(cancer):
    train, test, domain = cancer
    found = scores(train, test, domain, "worst", models=REGRESSORS)
    one_hot = lambda f: np.eye(2)[f["benign"].to_numpy()]  # noqa: E731
    numbers = ["radius", "texture", "smooth"]
    mean, scale = train[numbers].mean(), train[numbers].std(ddof=0)
    x, z = (np.hstack([((f[numbers] - mean) / scale).to_numpy(), one_hot(f)]) for f in (train, test))
    guess = Ridge().fit(x, train["worst"]).predict(z)
    assert found["ridge"]["mse"] == pytest.approx(mean_squared_error(test["worst"], guess), rel=1e-4)
    assert found["ridge"]["r2"] == pytest.approx(r2_score(test["worst"], guess), abs=1e-4)
    assert found["linear"]["r2"] > 0.9 and set(found) == set(REGRESSORS)
    flat = summary(found)
    assert flat["r2"] == pytest.approx(np.mean([per["r2"] for per in found.values()]))
    assert models_of(("default",), numeric=True) == tuple(REGRESSORS) and models_of(("fidelity",)) == ()


def test_rows_without_the_number_to_predict(cancer):
    train, test, domain = cancer
    extra = train.head(40).assign(worst=np.nan, radius=1e9)
    with_extra = scores(pd.concat([extra, train]), test, domain, "worst", models=("ridge",))
    assert with_extra == scores(train, test, domain, "worst", models=("ridge",))
    with pytest.raises(SchemaError, match="169 test rows have no declared number"):
        scores(train, test.assign(worst=None), domain, "worst", models=("ridge",))


def test_a_script_without_a_guard_may_ask_for_many_jobs(tmp_path):
    """Worker processes that import the caller's script again would run it twice, or for ever."""
    script = tmp_path / "plain.py"
    script.write_text(
        "import pandas as pd\n"
        "from nacre.evaluation.downstream import scores\n"
        "print('start')\n"
        "f = pd.DataFrame({'x': [0.0, 1, 2, 3] * 20, 'y': [0, 0, 1, 1] * 20})\n"
        "found = scores(f, f, {'x': (0.0, 3.0), 'y': ['0', '1']}, 'y', models=('lr', 'tree'), n_jobs=2)\n"
        "print(found['tree']['auc'])\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["start", "1.0"], done.stderr[-500:]
