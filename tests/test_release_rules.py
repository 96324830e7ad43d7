"""Releases of a schema with rules: every row keeps them, whatever is asked for; conditions are exact."""

from __future__ import annotations

import numpy as np
import pytest
from tests.privacy_contract.test_replay import SMALL
from tests.table.rules import tables

import nacre
from nacre import Between
from nacre.errors import ConvergenceError, NacreError, SchemaError
from nacre.synthesizers.registry import METHODS
from nacre.table import Schema
from nacre.table.encoding import encode
from nacre.table.sources.frames import to_arrow

ROWS = 3_000
SCHEMA = tables.schema(rows=ROWS)
# On made-up tables of numbers and labels; methods that take images or hidden columns have tests of their own.
PRIVATE = [name for name, method in METHODS.items() if method.guarantee != "none" and name != "ppem"]
SLOW = {"hflow", "hflow-paper", "pearl-paper", "dpgan", "dpcgan", "gswgan", "pategan"}  # compiled anew


@pytest.fixture(scope="module")
def release():
    return nacre.fit(tables.stays(ROWS), schema=SCHEMA, epsilon=3.0, noise_seed=1)


@pytest.mark.parametrize("method", [pytest.param(m, marks=[pytest.mark.slow] * (m in SLOW)) for m in PRIVATE])
def test_every_row_of_every_method_keeps_the_rules(method):
    target = "sex" if method in ("dpcgan", "gswgan") else None
    made = nacre.fit(
        tables.stays(ROWS), schema=SCHEMA, epsilon=8.0, method=method, options=SMALL.get(method), target=target
    )
    assert made.certificate.guarantee != "none" and made.certificate.epsilon == 8.0
    assert not tables.broken(made.sample(20_000, seed=1), SCHEMA)


def test_a_method_without_a_promise_keeps_them_too():
    made = nacre.fit(tables.stays(200), schema=tables.schema(rows=200), epsilon=None, method="medgan",
                     options={"steps": 2, "width": 8})  # fmt: skip
    assert not tables.broken(made.sample(2_000, seed=1), SCHEMA)


def test_what_the_table_has_comes_back(release):
    drawn, real = release.sample(50_000, seed=1), tables.stays(50_000, seed=5)
    assert list(drawn.columns) == list(SCHEMA.columns)
    for name in ("red", "green", "blue"):
        assert abs(drawn[name].mean() - real[name].mean()) < 0.03
    assert abs(drawn["came"].isna().mean() - real["came"].isna().mean()) < 0.03
    assert abs((drawn["rooms"] - drawn["beds"] == 1).mean() - (real["rooms"] - real["beds"] == 1).mean()) < 0.03
    stay, wanted = (f["left"].sub(f["came"]).dt.total_seconds().median() for f in (drawn, real))
    assert 0.8 < stay / wanted < 1.25
    assert drawn["stay"].is_unique


def met(drawn, name, asked):
    """Which rows meet a condition, by pandas alone."""
    if isinstance(asked, Between) and isinstance(asked.high, str):  # up to a day means to its end
        return drawn[name].between(asked.low, f"{asked.high} 23:59:59")
    if isinstance(asked, Between):
        return drawn[name].between(asked.low, asked.high)
    values = asked if isinstance(asked, list) else [asked]
    return drawn[name].isin([v for v in values if v is not None]) | (drawn[name].isna() & (None in values))


ASKED = [
    {"sex": "f"},
    {"pregnant": None},
    {"pregnant": ["yes", None]},
    {"pregnant": "yes", "relation": "wife"},
    {"blue": 1},
    {"red": False, "green": False},
    {"school": ["bachelor", "master"]},
    {"years": Between(10, 17)},
    {"rooms": Between(10, 20)},
    {"paid": Between(0.0, 20.0)},
    {"came": None},
    {"left": Between("2020-03-01", "2020-04-01")},
    {"discharged": Between("2020-03-01", "2020-04-01"), "sex": "m"},
]


@pytest.mark.parametrize("where", ASKED, ids=str)
def test_conditions_are_exact_on_every_column(release, where, tmp_path):
    release.save(tmp_path / "r.nacre")
    drawn = release.sample(2_000, where=where, seed=4)
    assert drawn.equals(nacre.load(tmp_path / "r.nacre").sample(2_000, where=where, seed=4))
    assert not tables.broken(drawn, SCHEMA)
    free = release.sample(60_000, seed=9)
    keep = np.ones(len(free), bool)
    for name, asked in where.items():
        assert met(drawn, name, asked).all()
        keep &= met(free, name, asked).to_numpy()
    # The law is that of free rows that happen to meet the condition: compared on columns of either kind.
    free = free[keep]
    assert len(free) > 100
    for name in ("beds", "days", "usual"):
        spread = free[name].std() * (1 / len(free) + 1 / len(drawn)) ** 0.5
        assert abs(free[name].mean() - drawn[name].mean()) < 5 * spread, name
    for name, value in (("red", True), ("sex", "f"), ("school", "bachelor"), ("relation", "single")):
        share = (free[name] == value).mean()
        spread = (max(share * (1 - share), 1e-3) * (1 / len(free) + 1 / len(drawn))) ** 0.5
        assert abs(share - (drawn[name] == value).mean()) < 5 * spread, name


def test_columns_are_rebalanced_by_what_stands_for_them(release):
    drawn = release.sample(5_000, rebalance={"blue": {0: 0.5, 1: 0.5}}, seed=1)
    assert abs(drawn["blue"].mean() - 0.5) < 0.03 and not tables.broken(drawn, SCHEMA)
    shares = {"rooms": {Between(0, 20): 0.8, Between(21, 100): 0.2}}
    drawn = release.sample(5_000, rebalance=shares, seed=1)
    assert abs((drawn["rooms"] <= 20).mean() - 0.8) < 0.03 and not tables.broken(drawn, SCHEMA)
    both = {"sex": {"f": 0.2, "m": 0.8}, "years": {Between(0, 12): 0.7, Between(13, 20): 0.3}}
    drawn = release.sample(5_000, rebalance=both, seed=1)
    assert abs((drawn["sex"] == "m").mean() - 0.8) < 0.03 and abs((drawn["years"] <= 12).mean() - 0.7) < 0.03
    assert not tables.broken(drawn, SCHEMA)


def test_what_no_row_can_meet_is_refused(release):
    with pytest.raises(SchemaError, match="no combination"):
        release.sample(10, where={"school": "primary", "years": 18})
    with pytest.raises(SchemaError, match="no combination"):
        release.sample(10, where={"red": True, "green": True})
    with pytest.raises((ConvergenceError, NacreError)):
        release.sample(10, where={"relation": "husband", "sex": "f"})


def test_a_target_that_a_rule_makes_is_refused_before_anything_is_spent():
    for target in ("rooms", "paid", "school"):
        with pytest.raises(SchemaError, match="made from other columns by a rule"):
            nacre.plan(SCHEMA, epsilon=1.0, target=target)
    assert nacre.plan(SCHEMA, epsilon=1.0, target="sex").forecast().verdict


def test_the_owner_hears_of_rows_that_break_a_rule_and_nobody_else(tmp_path):
    frame = tables.stays(ROWS)
    frame.loc[:4, "rooms"] = 0
    frame.loc[7, "years"] = 13
    notes = nacre.OwnerNotes()
    made = nacre.fit(frame, schema=SCHEMA, epsilon=1.0, method="independent", noise_seed=1, owner=notes)
    assert {name: m.outside for name, m in notes.rules.items()} == {
        "rule beds <= rooms <= places": (frame["beds"] > frame["rooms"]).sum(),
        "rule combinations of school, years": 1,
    }
    assert "rows break the rule beds <= rooms <= places, and were moved to rows near by" in str(notes)
    made.save(tmp_path / "r.nacre")
    assert b"rows break" not in (tmp_path / "r.nacre").read_bytes()


def test_rules_wait_for_what_is_bought_of_other_columns():
    columns = dict(SCHEMA.columns)
    columns["least"] = nacre.Numeric()
    columns["relation"] = nacre.Categorical()
    rules = [r for r in SCHEMA.rules if not {"least", "relation"} & set(r.names)]
    schema = Schema(columns, rows=ROWS, rules=tuple(rules))
    made = nacre.fit(tables.stays(ROWS), schema=schema, epsilon=8.0, method="independent", noise_seed=1)
    assert not made.schema.columns["least"].missing and made.schema.columns["relation"].missing == ()
    assert not tables.broken(made.sample(5_000, seed=1), made.schema)


def test_what_is_bought_cannot_be_in_a_rule():
    columns = {**SCHEMA.columns, "beds": nacre.Numeric(integer=True)}
    with pytest.raises(nacre.NacreError, match="a rule needs them before anything is bought"):
        nacre.plan(Schema(columns, rows=ROWS, rules=SCHEMA.rules), epsilon=1.0)


def test_sites_share_sketches_of_what_is_modelled(tmp_path):
    parts = [nacre.sketch(tables.stays(ROWS, seed), schema=SCHEMA, epsilon=4.0, frequencies=100) for seed in (1, 2)]
    parts[0].save(tmp_path / "one.sketch")
    made = nacre.merge([nacre.load_sketch(tmp_path / "one.sketch"), parts[1]]).release(particles=64, steps=20)
    made.save(tmp_path / "r.nacre")
    assert not tables.broken(nacre.load(tmp_path / "r.nacre").sample(5_000, seed=1), SCHEMA)


def test_rows_are_evaluated_by_the_columns_of_the_table(release):
    found = nacre.evaluate(release.sample(2_000, seed=1), train=tables.stays(ROWS), schema=SCHEMA, suites=("fidelity",))
    assert {score.columns for score in found.scores} >= {("rooms",), ("school",), ("left",)}
    assert 0 < next(s.value for s in found.scores if s.metric == "tvd1" and not s.columns) < 0.3


def test_rows_have_the_log_probability_of_what_they_are_mapped_to(release):
    fresh = tables.stays(500, seed=7)
    found = release.log_prob(fresh)
    inner = encode(to_arrow(fresh), SCHEMA.inner)
    np.testing.assert_allclose(found, release.model.log_prob(inner.columns))
    assert np.isfinite(found).all()
