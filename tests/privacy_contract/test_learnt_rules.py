"""Rules that are bought are made of noisy tables alone: equal answers give equal rules, whatever the rows are."""

from __future__ import annotations

import dataclasses

import pyarrow as pa
import pytest
from tests.privacy.test_learnt_rules import messy, schema
from tests.privacy_contract import checks
from tests.privacy_contract.twins import Twins

from nacre.privacy import learnt_rules
from nacre.run import fitting

TWINS = Twins()
twin = TWINS.caught_by


def _with(frame, **values):
    return pa.Table.from_pandas(frame.iloc[:1].assign(**values), preserve_index=False)


def replay(tmp_path) -> None:
    """A row of a city that nobody has, one of a combination that nobody has, one of nulls, a row fewer."""
    frame = messy(300)
    base = pa.Table.from_pandas(frame, preserve_index=False)
    rows = {
        "a city of its own": _with(frame, city="Nowhere", country="FR"),
        "a combination of its own": _with(frame, plan="none", seats=4, support=True),
        "labels of nobody else": _with(frame, city="Atlantis", country="Sea", plan="gold"),
    }
    near = {name: pa.concat_tables([base, row.cast(base.schema)]).combine_chunks() for name, row in rows.items()}
    near["first row removed"] = base.slice(1)
    checks.check_replay(checks.fit_with("independent", schema(None), {}), base, near, tmp_path)


@twin(replay)
def a_mapping_learnt_from_the_rows(patch):
    real = fitting.carry_out

    def learnt(table, described, terms, access):
        pairs = {c: k for c, k in zip(table["city"].to_pylist(), table["country"].to_pylist()) if c and k != "Sea"}
        words = described.columns["city"].labels
        mapping = {c: pairs.get(c, "NO") for c in words}
        known = tuple(dataclasses.replace(rule, mapping=mapping) for rule in described.dependencies)
        return real(table, dataclasses.replace(described, dependencies=known), terms, access)

    patch.setattr(fitting, "carry_out", learnt)


@twin(replay)
def a_list_of_what_occurs(patch):
    real = learnt_rules.buy

    def exact(curator, plan, described):
        found = real(curator, plan, described)
        rows = {
            row for codes, n in curator._coded() for row in zip(*(codes[c].tolist() for c in found.rules[0].columns))
        }
        values = found.rules[0].values[: 1 + len(rows) % len(found.rules[0].values)]
        rules = (dataclasses.replace(found.rules[0], values=values),)
        return dataclasses.replace(found, rules=rules)

    patch.setattr(learnt_rules, "buy", exact)


def test_nacre_passes(tmp_path):
    replay(tmp_path)


@pytest.mark.parametrize("name", TWINS)
def test_twin_is_caught(name, tmp_path, monkeypatch):
    fault, check = TWINS[name]
    fault(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check(tmp_path)
