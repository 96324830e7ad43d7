"""The method that `auto` takes: by public facts, said in plan and certificate, and the same run as by its name."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

import nacre
from nacre.cli import run
from nacre.errors import CertificateError, NacreError, SchemaError
from nacre.privacy.budget import Budget
from nacre.run.job import plan
from nacre.synthesizers.auto import RULES, choose
from nacre.synthesizers.registry import METHODS
from nacre.table import Categorical, Identifier, Numeric, Schema, Tensor, Unit


def schema(rows: int | None, numbers: int = 5, labels: int = 1) -> Schema:
    columns = {f"x{i}": Numeric((0, 1)) for i in range(numbers)}
    return Schema({**columns, **{f"c{i}": Categorical(("a", "b")) for i in range(labels)}}, rows=rows)


def table(rows: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.beta(2, 3, (rows, 5))
    return pd.DataFrame({f"x{i}": x[:, i] for i in range(5)}).assign(c0=np.where(x[:, 0] > 0.4, "a", "b"))


def budget(epsilon: float | None = 1.0, neighbours: str = "add_or_remove_one") -> Budget:
    return Budget(epsilon, 1e-5, neighbours)


def taken(given: Schema, epsilon: float | None = 1.0, neighbours: str = "add_or_remove_one") -> str:
    return choose(given, budget(epsilon, neighbours), None).method


def test_few_rows_for_the_noise_take_support_points_and_many_the_sketch():
    assert taken(schema(400)) == "support-points" and taken(schema(400, 2, 4)) == "support-points"
    assert taken(schema(50_000)) == taken(schema(50_000, 0, 6)) == "sketch"
    assert taken(schema(6_000), 0.05) == "support-points" and taken(schema(6_000), 10.0) == "sketch"


def test_few_rows_of_labels_take_pearl_unless_a_number_is_to_be_learnt():
    assert taken(schema(400, 0, 6)) == taken(schema(400, 1, 6)) == "pearl"
    assert choose(schema(400, 1, 6), budget(), "c0").method == "pearl"
    assert choose(schema(400, 1, 6), budget(), "x0").method == "support-points"


def test_the_signal_counts_and_not_the_rows_alone():
    """Three rows of each person are worth a third, and replacing a row moves more than leaving it out."""
    rows = next(n for n in range(100, 20_000, 10) if taken(schema(n)) == "sketch")
    columns = {"p": Identifier(person=True), **schema(rows).columns}
    assert taken(Schema(columns, rows=rows, unit=Unit("p", 3))) == "support-points"
    assert taken(Schema(columns, rows=4 * rows, unit=Unit("p", 3))) == "sketch"
    assert taken(schema(rows), neighbours="replace_one") == "support-points"  # its noise is larger by a root of two


def test_numbers_to_learn_from_take_points_for_longer():
    assert choose(schema(2_000), budget(), "x0").method == "support-points"
    assert choose(schema(2_000, 3, 3), budget(), "x0").method == taken(schema(2_000)) == "sketch"
    assert choose(schema(8_000), budget(), "x0").method == "sketch"


def test_what_is_not_declared_needs_the_sketch():
    """It alone buys what is lacking, and takes a run without a budget as it is."""
    bare = schema(400)
    assert taken(schema(None)) == taken(bare, None) == "sketch"
    half = dataclasses.replace(bare, columns={**bare.columns, "c0": Categorical()})
    assert half.undeclared() and taken(half) == "sketch"
    assert choose(bare, budget(), "c0", shares=True).method == "sketch"


def test_a_table_of_arrays_or_of_nothing_takes_the_sketch_which_says_why_not():
    pictures = Schema({"image": Tensor((8, 8), bounds=(0, 1)), "label": Categorical(("a", "b"))}, rows=400)
    assert taken(pictures) == "sketch"


def test_a_run_by_auto_is_the_run_of_the_method_it_takes():
    frame = table(400)
    terms = {"schema": schema(400), "epsilon": 1.0, "delta": 1e-5, "target": "c0", "noise_seed": 7, "seed": 3}
    ours, named = (nacre.fit(frame, method=m, **terms) for m in ("auto", "support-points"))
    assert ours.method == "support-points"
    pd.testing.assert_frame_equal(ours.sample(50, seed=1), named.sample(50, seed=1))
    assert ours.certificate.extras["chosen"] == RULES["support-points"] == METHODS["support-points"].auto
    assert "chosen" not in named.certificate.extras
    assert f"Method chosen by auto: {RULES['support-points']}" in str(ours.certificate)
    assert dataclasses.replace(ours.certificate, extras=named.certificate.extras) == named.certificate


def test_releases_keep_the_rule_and_refuse_another(tmp_path):
    made = nacre.fit(table(400), schema=schema(400), epsilon=1.0, delta=1e-5, method="auto")
    made.save(tmp_path / "r.nacre")
    assert nacre.load(tmp_path / "r.nacre").certificate.extras["chosen"] == RULES["support-points"]
    for other in (RULES["sketch"], "it is the safest of all"):
        stated = dataclasses.replace(made.certificate, extras={"chosen": other})
        dataclasses.replace(made, certificate=stated).save(tmp_path / "other.nacre", force=True)
        with pytest.raises(CertificateError, match="no rule that chooses it"):
            nacre.load(tmp_path / "other.nacre")


def test_a_target_that_is_no_column_is_refused_as_by_any_method():
    for some in (schema(400), schema(400, 0, 6), schema(50_000)):
        with pytest.raises(SchemaError, match="target 'nosuch' is not a modelled column"):
            plan(some, epsilon=1.0, method="auto", target="nosuch")


def test_settings_need_the_name_of_their_method():
    with pytest.raises(NacreError, match="'auto' has no option 'particles'"):
        plan(schema(400), epsilon=1.0, method="auto", options={"particles": 5})
    with pytest.raises(NacreError, match="'auto' hides no columns"):
        plan(schema(400), epsilon=1.0, method="auto", hide=["x0"])


def test_the_plan_says_which_method_is_taken_and_why(tmp_path, capsys):
    schema(400).save(tmp_path / "few.json")
    assert run(["plan", str(tmp_path / "few.json"), "-e", "1", "--method", "auto", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["method"] == "support-points"
    found = {"method": "support-points", "rule": RULES["support-points"], "signal": pytest.approx(94.7, abs=0.1)}
    assert told["notes"]["auto"] == found
    assert {x["method"] for x in told["notes"]["compared"]} >= {"support-points", "sketch"}
    assert run(["plan", str(tmp_path / "few.json"), "-e", "1"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"auto takes support-points: {RULES['support-points']}" in out and "Plan of sketch" in out
    assert run(["plan", str(tmp_path / "few.json"), "-e", "1", "--method", "auto", "--option", "points=3"]) == 2
    assert "settings are of one method" in capsys.readouterr().err


def test_methods_lists_the_rule(capsys):
    assert run(["methods", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["auto"] == dict(RULES)


def test_every_rule_belongs_to_a_method_that_needs_no_settings():
    assert {name: m.auto for name, m in METHODS.items() if m.auto} == dict(RULES)
    for name in RULES:
        plan(schema(400), epsilon=1.0, method=name)


def test_tables_of_labels_alone_have_points():
    """No number, no bell: the labels are points by themselves."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({f"c{i}": rng.choice(["a", "b"], 400, p=[0.8, 0.2]) for i in range(6)})
    made = nacre.fit(frame, schema=schema(400, 0, 6), epsilon=4.0, delta=1e-5, method="support-points", noise_seed=1)
    assert ((made.sample(4_000) == "a").mean() - 0.8).abs().max() < 0.1


def test_tables_of_hundreds_of_labels_can_be_planned():
    """The mean shadow of a direction is a quotient of gamma functions, either of which overflows alone."""
    columns = {f"c{i}": Categorical(tuple(map(str, range(40)))) for i in range(10)}
    schema = Schema({**columns, "x": Numeric((0, 1))}, rows=400)
    assert plan(schema, epsilon=1.0, method="auto", target="x").method == "support-points"
