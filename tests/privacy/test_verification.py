"""What methods declare is what they open, and extras say no more than they may."""

from __future__ import annotations

import dataclasses
import json

import pytest
from tests.edited import assumed
from tests.privacy_contract import tables

from nacre.certificates import declared, verified
from nacre.errors import CertificateError
from nacre.learners.declared import TRAININGS
from nacre.privacy.budget import Budget, Level
from nacre.privacy.certificate.assumed import of_sites
from nacre.privacy.certificate.statement import Certificate, certify
from nacre.privacy.noise import ENTROPY
from nacre.privacy.plan import Counts, Plan
from nacre.synthesizers.registry import METHODS, make
from nacre.table import Boolean, Categorical, Schema

CASES = (
    ("sketch", {"wide": 1, "target": "smoker"}, "add_or_remove_one"),
    ("support-points", {"mode": "data", "moves": 1000, "bandwidth": "bought"}, "add_or_remove_one"),
    ("support-points", {"mode": "data", "moves": 1000, "bandwidth": "laplace"}, "zero_out"),
    ("support-points", {"mode": "sketch", "bandwidth": "gaussian"}, "replace_one"),
    ("pearl-paper", {"target": "smoker"}, "add_or_remove_one"),
    ("merf", {"target": "smoker"}, "add_or_remove_one"),
    ("hflow", {"target": "smoker", "steps": 20}, "add_or_remove_one"),
    ("ppem", {"hide": ["age"], "steps": 20}, "zero_out"),
)


def promised(method, options, relation):
    schema = dataclasses.replace(tables.schema(), rows=1000, provenance={})
    plan = make(method, options).plan(schema, 1000, Budget(2.0, 1e-6, relation))
    made = certify(plan, schema, seeded=False, noise=ENTROPY, assumptions=assumed(schema))
    return Certificate.from_json(json.loads(json.dumps(made.to_json()))), schema


LONG = ("ppem", "sketch", "hflow")  # to compose
MARKED = [pytest.param(*c, id=c[0], marks=[pytest.mark.slow] if c[0] in LONG else []) for c in CASES]


@pytest.mark.parametrize(("method", "options", "relation"), MARKED)
def test_methods_declare_what_they_open(method, options, relation):
    made, schema = promised(method, options, relation)
    assert verified(made, schema) == made
    needs = {name for wanted in METHODS[method].needs for name in wanted}
    for lacking in needs & {e["name"] for e in made.entries}:
        fewer = tuple(e for e in made.entries if e["name"] != lacking)
        if not any(set(w) <= {e["name"] for e in fewer} for w in METHODS[method].needs):
            with pytest.raises(CertificateError, match="never goes without"):
                verified(dataclasses.replace(made, entries=fewer), schema)


def test_every_method_declares_or_promises_nothing():
    labels = {level.label for level in Level}
    for name, found in {**METHODS, **TRAININGS}.items():
        assert declared(name) is found and found.guarantee in labels
        assert bool(found.needs) == (found.guarantee != "none"), name
        assert {n for wanted in found.needs for n in wanted} <= set(found.opens), name


# ------------------------------------------------------------------------------------------------------------- extras


@pytest.fixture(scope="module")
def honest():
    schema = Schema({"a": Boolean(), "b": Categorical(("x", "y"))}, rows=100)
    plan = Plan("independent", (Counts("one-way", sigmas=(20.0, 20.0)),), Budget(1.0, 1e-6))
    return certify(plan, schema, seeded=False, noise=ENTROPY, assumptions=assumed(schema)), schema


FINDING = {"view": "white box", "metric": "epsilon", "lower_bound": 0.4, "claim": 1.0, "ceiling": 3.0, "delta": 1e-6,
           "runs": 1000, "left_out": []}  # fmt: skip
STAMP = {"ledger": "f0", "population": "people", "sequence": 3, "head": "ab"}


@pytest.mark.parametrize(
    "extras",
    (
        {"ledger": STAMP}, {"ledgers": [STAMP, STAMP], "sites": 2}, {"target": "rows weighted by column 'w'"},
        {"target_shares": [["b", [["x", 0.4], ["y", 0.6]]]]}, {"something new": {"of": ["another", "version"]}},
        {"audit": {"confidence": 0.95, "findings": [FINDING, {**FINDING, "claim": None, "metric": "mu"}]}},
    ),
    ids=lambda e: next(iter(e)),
)  # fmt: skip
def test_extras_that_runs_have_pass(honest, extras):
    made, schema = honest
    rests = (*made.assumptions, *(of_sites(2) if "sites" in extras else ()))
    given = dataclasses.replace(made, extras=extras, assumptions=rests).to_json()
    told = Certificate.from_json(json.loads(json.dumps(given)))
    assert verified(told, schema) == told and str(told)


@pytest.mark.parametrize(
    "extras",
    (
        {"ledger": {**STAMP, "sequence": "3"}}, {"ledger": {"ledger": "f0"}}, {"ledgers": STAMP}, {"sites": 0},
        {"target": 5}, {"target_shares": 5}, {"target_shares": [[1, 2]]}, {"audit": {"findings": []}},
        {"audit": {"confidence": 0.95, "findings": [{**FINDING, "lower_bound": "small"}]}}, {"releases": True},
        {"hidden": {"sets": ["a"], "alpha": 0.1}}, {"epsilon_tilde": float("inf")}, {"x": "a\nb"}, {"x\n": 1},
        {"x": {"y": [[["\x85"]]]}}, {"x": 10**400}, {"deep": [[[[[[[[[[[[[[1]]]]]]]]]]]]]]},
    ),
    ids=str,
)  # fmt: skip
def test_extras_that_no_run_has_are_refused(honest, extras):
    document = {**honest[0].to_json(), "extras": extras}
    with pytest.raises(ValueError, match="expected"):
        Certificate.from_json(document)


@pytest.mark.parametrize("name", ["label", "statement", "hidden", "epsilon_tilde", "releases"])
def test_extras_of_other_methods_are_refused(honest, name):
    found = {"hidden": {"sets": [["a"]], "alpha": 0.1}, "epsilon_tilde": 0.1, "releases": 1}.get(name, "proven")
    with pytest.raises(CertificateError, match=name):
        verified(dataclasses.replace(honest[0], extras={name: found}), honest[1])


def test_an_audit_in_a_certificate_is_told_from_its_figures(honest):
    """The text that the file gives for it is not shown."""
    lie = {**FINDING, "lower_bound": 1.23456, "text": "epsilon is at most 0.01"}
    told = str(dataclasses.replace(honest[0], extras={"audit": {"confidence": 0.95, "findings": [lie]}}))
    assert "at most 0.01" not in told and "epsilon is at least 1.234 at confidence 0.95: the claim of 1 is" in told
