"""`pearl`, `pearl-paper` and `merf` as a user meets them: fit, condition, save, read back, refuse."""

from __future__ import annotations

import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.privacy_contract import checks
from tests.synthesizers.mixed import table

import nacre
from nacre.errors import NacreError, ReleaseFileError, SchemaError
from nacre.privacy.budget import Budget
from nacre.release.file import pack, unpack
from nacre.synthesizers.registry import METHODS
from nacre.table import Boolean, Categorical, Numeric, Schema

SCHEMA = Schema(
    {
        "x": Numeric(bounds=(0.0, 1.0)),
        "k": Numeric(bounds=(0, 20), integer=True, nullable=True),
        "c": Categorical(categories=("a", "b", "c")),
        "y": Boolean(),
    },
    rows=4000,
)
SMALL = {
    "pearl": {"frequencies": 120, "particles": 128, "steps": 120},
    "pearl-paper": {"frequencies": 100, "steps": 300, "batch": 200, "outputs": "exact"},
    "merf": {"frequencies": 100, "steps": 300, "batch": 200},
}


@pytest.fixture(scope="module")
def releases():
    return {
        method: nacre.fit(
            table(), schema=SCHEMA, epsilon=8.0, delta=1e-5, method=method, target="y", noise_seed=1, options=options
        )
        for method, options in SMALL.items()
    }


@pytest.mark.parametrize("method", SMALL)
def test_what_depends_on_the_class_is_kept(releases, method):
    """Means by class and the shares of labels; tolerances are three times what these seeds give."""
    fake, real = releases[method].sample(4000, seed=2), table()
    assert abs(fake["y"].mean() - real["y"].mean()) < 0.03
    for value in (False, True):
        ours, theirs = fake[fake["y"] == value], real[real["y"] == value]
        assert abs(ours["x"].mean() - theirs["x"].mean()) < 0.06
        assert abs(ours["k"].mean() - theirs["k"].mean()) < 1.5
        gap = ours["c"].value_counts(normalize=True).sub(theirs["c"].value_counts(normalize=True), fill_value=0)
        assert gap.abs().max() < 0.1
    assert 0.02 < fake["k"].isna().mean() < 0.2


@pytest.mark.parametrize("method", SMALL)
def test_conditions_and_rebalancing(releases, method):
    release = releases[method]
    assert release.sample(50, where={"y": True}, seed=0)["y"].all()
    both = release.sample(300, where={"y": False, "c": ["a", "b"]}, seed=0)
    assert not both["y"].any() and set(both["c"]) <= {"a", "b"} and len(both) == 300
    assert release.sample(40, where={"x": nacre.Between(0.4, None)}, seed=1)["x"].min() >= 0.4
    even = release.sample(2000, rebalance={"y": {True: 0.5, False: 0.5}}, seed=3)
    assert abs(even["y"].mean() - 0.5) < 0.06
    with pytest.raises(SchemaError):
        release.sample(5, where={"nobody": 1})


def test_a_class_that_training_never_saw_is_told(releases):
    """A noisy share of zero leaves the class out of the loss: drawing it warns, drawing the others does not."""
    from nacre.synthesizers.pearl.network_model import NetworkModel

    made = releases["merf"].model
    model = NetworkModel(made.layout, made.net, np.array([1.0, 0.0]), made.argmax, made.rows)
    release = replace(releases["merf"], model=model)
    for asked in ({"where": {"y": True}}, {"rebalance": {"y": {True: 0.5, False: 0.5}}}):
        with pytest.warns(UserWarning, match="y: the share .* zero, so nothing was learnt"):
            release.sample(20, **asked, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not release.sample(20, where={"y": [True, False]}, seed=0)["y"].any()
        release.sample(20, where={"y": False}, seed=0)


@pytest.mark.parametrize("method", SMALL)
def test_releases_are_saved_and_sampled_without_jax(releases, method, tmp_path):
    path = tmp_path / "r.nacre"
    releases[method].save(path)
    same = nacre.load(path).sample(30, seed=4)
    pd.testing.assert_frame_equal(same, releases[method].sample(30, seed=4))
    command = (
        "import sys, nacre; nacre.load(sys.argv[1]).sample(5, as_='pyarrow'); "
        "print([m for m in ('jax', 'optax', 'dp_accounting') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", command, str(path)], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stderr[-500:]


def test_a_hostile_network_file_is_refused(releases, tmp_path):
    path = tmp_path / "r.nacre"
    releases["merf"].save(path)
    documents, arrays = unpack(path)
    import json

    texts = {name: json.dumps(d) for name, d in documents.items()}
    spoilt = {
        "shape": {**arrays, "weight1": arrays["weight1"][:-1]},
        "missing": {k: v for k, v in arrays.items() if k != "mean0"},
        "not finite": {**arrays, "bias2": arrays["bias2"] * np.nan},
        "shares": {**arrays, "shares": arrays["shares"] * 2},
        "negative variance": {**arrays, "variance0": -arrays["variance0"]},
        "integers": {**arrays, "bias0": arrays["bias0"].astype(np.int32)},
    }
    for name, bad in spoilt.items():
        pack(path, texts, bad, force=True)
        with pytest.raises(ReleaseFileError):
            nacre.load(path)
            pytest.fail(name)


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("pearl", {"frequencies": 0}),
        ("pearl", {"orders": (0, 1, 0)}),
        ("pearl", {"orders": (1, 2)}),
        ("pearl", {"steps": True}),
        ("pearl-paper", {"outputs": "hard"}),
        ("pearl-paper", {"scale": -1}),
        ("pearl-paper", {"spread": ()}),
        ("pearl-paper", {"critic": -1}),
        ("merf", {"scale": "read"}),
        ("merf", {"batch": 3}),
    ],
)
def test_options_that_mean_nothing_are_refused(method, options):
    with pytest.raises(NacreError):
        nacre.fit(table(50), schema=SCHEMA, epsilon=1.0, method=method, target="y", options=options)


FEW = {
    "pearl": {"frequencies": 60, "particles": 32, "steps": 20},
    "pearl-paper": {"frequencies": 30, "steps": 20, "batch": 40},
}


@pytest.fixture(scope="module")
def arrays():
    def made(method, **options):
        asked = {"epsilon": 8.0, "delta": 1e-5, "target": "y", "noise_seed": 1, "options": {**FEW[method], **options}}
        return nacre.fit(table(), schema=SCHEMA, method=method, **asked).model.parts()[1]

    plain = {method: made(method) for method in FEW}
    return plain, made


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("pearl", {"network": True}),
        ("pearl", {"critic": True}),
        ("pearl", {"shrinking": False}),
        ("pearl-paper", {"critic": 0}),
        ("pearl-paper", {"spread": (0.5, 2.0)}),
    ],
)
def test_every_option_changes_the_model(arrays, method, options):
    plain, made = arrays
    found = made(method, **options)
    assert found.keys() == plain[method].keys()
    assert any(not np.array_equal(a, plain[method][name]) for name, a in found.items())


@pytest.mark.parametrize("method", ["pearl-paper", "merf"])
def test_a_count_that_nobody_uses_is_not_bought(method):
    """Without a target and with a known number of rows the whole budget goes to what is learnt."""
    made = METHODS[method].load()()
    plans = {rows: made.plan(SCHEMA, rows, Budget(1.0, 1e-5)) for rows in (4000, None)}
    assert "classes" not in [e.name for e in plans[4000].entries]
    assert "classes" in [e.name for e in plans[None].entries]
    assert plans[4000]["embedding"].sigma < plans[None]["embedding"].sigma
    release = nacre.fit(table(400), schema=replace(SCHEMA, rows=400), epsilon=8.0, delta=1e-5, method=method,
                        noise_seed=1, options={"frequencies": 10, "steps": 4, "batch": 8})  # fmt: skip
    assert len(release.sample(50, seed=0)) == 50


def test_a_target_without_labels_is_refused_by_the_network_methods():
    with pytest.raises(SchemaError, match="at most 64 labels"):
        nacre.fit(table(50), schema=SCHEMA, epsilon=1.0, method="merf", target="x")


def test_more_budget_is_better():
    """ε = 20 against ε = 0.05 on the two-way distances of this table."""
    from itertools import combinations

    from nacre.metrics.cells import cells
    from nacre.metrics.counts import distances

    def far(epsilon):
        options = {**SMALL["pearl"], "steps": 100}
        release = nacre.fit(
            table(),
            schema=SCHEMA,
            epsilon=epsilon,
            delta=1e-5,
            method="pearl",
            target="y",
            noise_seed=3,
            options=options,
        )
        drawn, real = cells(release.sample(4000, seed=0), SCHEMA), cells(table(), SCHEMA)
        return distances(drawn, real, combinations(drawn.sizes, 2)).mean

    assert far(20.0) < 0.6 * far(0.05)


@pytest.mark.parametrize("method", ("pearl-paper", "merf"))
def test_a_table_of_the_target_alone_is_refused_before_rows_are_read(method):
    rows = checks.CountedRows(table()[["y"]])
    with pytest.raises(SchemaError, match="the only column"):
        nacre.fit(rows, schema=Schema({"y": Boolean()}), epsilon=1.0, target="y", method=method, options=SMALL[method])
    assert rows.passes == 0


@pytest.mark.filterwarnings("ignore:too little")
@pytest.mark.parametrize("columns", (("y",), ("y", "one"), ("one",)))
def test_pearl_without_any_character_keeps_the_one_way_tables(columns):
    """Nothing to relate: columns of one category have no characters, and a target alone has no other column."""
    schema = Schema({n: {"y": Boolean(), "one": Categorical(categories=("a",))}[n] for n in columns}, rows=4000)
    frame = table().assign(one="a")[list(columns)]
    asked = {"schema": schema, "epsilon": 8.0, "delta": 1e-5, "target": "y" if "y" in columns else None}
    small = {"particles": 16, "steps": 5}
    for made in (
        nacre.fit(frame, **asked, method="pearl", noise_seed=1, options={"frequencies": 20, **small}),
        nacre.sketch(frame, **asked, noise_seed=1, frequencies=20).release(**small),
    ):
        fake = made.sample(4000, seed=1)
        assert list(fake) == list(columns)
        assert "y" not in columns or abs(fake["y"].mean() - frame["y"].mean()) < 0.08
