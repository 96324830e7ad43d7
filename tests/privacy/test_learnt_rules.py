"""Rules that are bought: learnt from noisy tables, then kept by every row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import nacre
from nacre.errors import BudgetError, DomainNotDeclared, NacreError, SchemaError
from nacre.run.buying import buy_schema
from nacre.table import Boolean, Categorical, Dependency, Numeric, Schema
from nacre.table.encoding import encode
from nacre.table.rules import Combinations

CITIES = {"Oslo": "NO", "Bergen": "NO", "Paris": "FR", "Lyon": "FR", "Rome": "IT", "Nowhere": "IT"}
PLANS = (("basic", 1, False), ("basic", 2, False), ("plus", 3, True), ("plus", 5, True), ("none", None, False))
ROWS = 6_000

COLUMNS = {
    "city": Categorical(tuple(CITIES), nullable=True),
    "country": Categorical(("FR", "IT", "NO"), nullable=True),
    "plan": Categorical(("none", "basic", "plus")),
    "seats": Numeric((1, 6), integer=True, nullable=True),
    "support": Boolean(),
    "age": Numeric((18, 90), integer=True),
}


def messy(rows=ROWS, seed=0):
    """Nobody lives Nowhere, cities may be missing, and one row in a hundred breaks each rule."""
    rng = np.random.default_rng(seed)
    city = rng.choice(list(CITIES)[:5], rows).astype(object)
    country = np.array([CITIES[c] for c in city], object)
    city[rng.random(rows) < 0.1] = None
    country[pd.isna(city)] = None
    plan = rng.integers(0, len(PLANS), rows)
    frame = pd.DataFrame([PLANS[i] for i in plan], columns=["plan", "seats", "support"])
    odd = rng.random(rows) < 0.01
    country[odd] = rng.choice(["NO", "FR", "IT"], odd.sum())
    frame.loc[odd[::-1], "seats"] = 6
    return frame.assign(city=city, country=country, age=rng.integers(18, 90, rows))


def schema(rows=ROWS, **more):
    return Schema(COLUMNS, rows=rows, dependencies=(Dependency("city", "country"),),
                  rules=(Combinations(("plan", "seats", "support")),), **more)  # fmt: skip


@pytest.fixture(scope="module")
def release():
    return nacre.fit(messy(), schema=schema(), epsilon=1.0, noise_seed=3, delta=1e-6)


def test_what_was_learnt_is_kept_by_every_row(release):
    found = release.schema.dependencies[0].mapping
    assert {c: found[c] for c in CITIES if c != "Nowhere"} == {c: v for c, v in CITIES.items() if c != "Nowhere"}
    assert found[None] is None and found["Nowhere"] in ("FR", "IT", "NO")
    assert {*release.schema.rules[0].values} == {*PLANS}
    drawn = release.sample(20_000, seed=1)
    pairs = drawn[["city", "country"]].astype(object).where(drawn[["city", "country"]].notna(), None)
    assert {*pairs.itertuples(index=False, name=None)} <= {*found.items()}
    assert not release.schema.rules[0].misses(encode(_arrow(drawn), Schema(COLUMNS)).columns, COLUMNS).any()
    assert abs((drawn["country"] == "NO").mean() - 0.36) < 0.04 and abs((drawn["plan"] == "plus").mean() - 0.4) < 0.04


def _arrow(frame):
    from nacre.table.sources.frames import to_arrow

    return to_arrow(frame)


def test_it_is_paid_for_and_said(release, tmp_path):
    entries = {e["name"]: e for e in release.certificate.entries}
    assert entries["rules"]["door"] == "counts"
    assert release.schema.provenance["rules"] == release.schema.provenance["dependencies"] == "read"  # seeded noise
    real = nacre.fit(messy(2_000), schema=schema(2_000), epsilon=4.0, delta=1e-6)
    assert real.schema.provenance["rules"] == "bought" and real.certificate.guarantee == "proven"
    assert real.certificate.epsilon == 4.0
    real.save(tmp_path / "r.nacre")
    assert nacre.load(tmp_path / "r.nacre").certificate.epsilon == 4.0  # what it lists is composed anew
    assert len(real.schema.purchases) == 1


def test_it_comes_back_from_a_file(release, tmp_path):
    release.save(tmp_path / "r.nacre")
    again = nacre.load(tmp_path / "r.nacre")
    assert again.schema == release.schema and again.sample(50, seed=1).equals(release.sample(50, seed=1))


def test_a_schema_can_be_bought_with_its_rules():
    found = buy_schema(messy(), epsilon=0.5, schema=schema(None), delta=1e-6)
    assert not found.schema.undeclared() and {*PLANS} <= {*found.schema.rules[0].values}
    assert found.schema.provenance["dependencies"] == "bought" and len(found.schema.purchases) == 1
    assert found.certificate.epsilon == 0.5
    again = nacre.fit(messy(), schema=found.schema, epsilon=1.0, delta=1e-6)
    assert "rules" not in [e["name"] for e in again.certificate.entries]


def test_json_says_what_is_to_be_bought():
    asked = schema()
    assert asked.undeclared() == [("country", "mapping"), ("support", "combinations")]
    again = Schema.from_json(asked.to_json())
    assert again == asked and again.open_rules == asked.open_rules


def test_rules_that_cannot_be_bought_are_refused_before_anything_is_spent():
    free = {**COLUMNS, "weight": Numeric((0, 1)), "code": Numeric((0, 5_000), integer=True), "word": Categorical()}
    for pair, words in ((("city", "weight"), "weight.* numeric"), (("code", "city"), "more than 512"),
                        (("word", "city"), "buy them first")):  # fmt: skip
        with pytest.raises(NacreError, match=words):
            Schema(free, dependencies=(Dependency(*pair),))
    many = {f"c{i}": Categorical(tuple("abcdefghij")) for i in range(7)}
    with pytest.raises(SchemaError, match="10,000,000 cells"):
        Schema(many, rules=(Combinations(tuple(many)),))
    with pytest.raises(DomainNotDeclared, match="mapping not declared"):
        nacre.fit(messy(100), schema=schema(), epsilon=1.0, domain="declared")
    with pytest.raises(BudgetError, match="cannot buy a rule"):
        nacre.fit(messy(100), schema=schema(), epsilon=None)


def test_where_nothing_follows_the_owner_is_warned():
    frame = messy()
    frame["country"] = np.random.default_rng(1).choice(["NO", "FR", "IT"], len(frame))
    with pytest.warns(UserWarning, match="only about 3.% of the rows keep what was bought"):
        nacre.fit(frame, schema=schema(), epsilon=5.0, noise_seed=0, delta=1e-6)


def test_pure_noise_makes_few_combinations():
    rng = np.random.default_rng(0)
    rule = Combinations(("plan", "seats", "support"))
    for _ in range(50):
        found, _ = rule.learnt(rng.normal(0, 30, (3, 7, 2)), 30.0, COLUMNS)
        assert found.values is not None and 1 <= len(found.values) <= 4
