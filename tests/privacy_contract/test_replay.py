"""(1) Replay and (4) no data inside, for every registered method."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import MappingProxyType

import numpy as np
import pytest
from tests.privacy_contract import checks, tables

import nacre
from nacre.certificates import verified
from nacre.errors import DomainNotDeclared
from nacre.synthesizers.registry import METHODS
from nacre.table import Unit

SMALL = {
    "sketch": {"particles": 32, "steps": 20},
    "pearl": {"frequencies": 40, "particles": 32, "steps": 10},
    "pearl-paper": {"frequencies": 8, "steps": 4, "batch": 12},
    "merf": {"frequencies": 8, "steps": 4, "batch": 12},
    "support-points": {"frequencies": 12, "points": 4},
    "kme": {"features": 20, "points": 3},
    "hflow": {"hidden": 4, "depth": 1, "bins": 2, "steps": 2, "lessons": 2},
    "hflow-paper": {"hidden": 4, "depth": 1, "bins": 2, "steps": 2, "blocks": 2},
    "dpgan": {"steps": 2, "width": 8, "turns": 1},
    "dpcgan": {"steps": 2, "width": 8, "turns": 1},
    "gswgan": {"steps": 2, "batch": 3, "width": 8, "parts": 4, "rows": 2},
    "pategan": {"steps": 2, "width": 8, "parts": 4, "rows": 2},
}
DECLARED = {
    "pearl-paper",
    "merf",
    "support-points",
    "kme",
    "hflow",
    "hflow-paper",
    *(GANS := ("dpgan", "dpcgan", "gswgan", "pategan")),
}  # methods that plan from the declared domain and refuse to buy one
# Methods that read raw rows promise nothing; hiding columns has a contract of its own (test_ppem.py).
PRIVATE = [name for name, method in METHODS.items() if method.guarantee != "none" and name != "ppem"]
# Compiled anew for every table: under further terms only in the long run.
COMPILED = {"hflow", "hflow-paper", "pearl-paper", *GANS}
FURTHER = [pytest.param(m, marks=pytest.mark.slow) if m in COMPILED else m for m in PRIVATE]
CASES = [
    (m, domain, {}, None)
    for m in PRIVATE
    for domain in ("public", "bought")
    if (m, domain) not in {(method, "bought") for method in DECLARED}
]
CASES += [("pearl", "public", {}, "smoker"), ("pearl", "bought", {}, "city")]
CASES += [("pearl-paper", "public", {}, "city"), ("merf", "public", {"scale": "bought"}, "smoker")]
CASES += [("hflow", "public", {"clipping": "sparse", "encoding": "one-hot"}, "smoker")]
COLD = {"warm": 0.0, "lessons": 2000}  # without tables of pairs
CASES += [("hflow", "public", COLD, None), ("hflow", "public", {}, "smoker")]
CASES += [("sketch", "public", {"wide": 3}, None), ("sketch", "public", {}, "smoker"), ("sketch", "bought", {}, "city")]
POINTS = {"data": {"moves": 1000, "chains": 2}, "list": {"candidates": 16}}
CASES += [("support-points", "public", {"mode": m, "frequencies": 300, **o}, None) for m, o in POINTS.items()]
CASES += [("support-points", "public", {"bandwidth": how}, None) for how in ("bought", "laplace", "gaussian")]
CASES += [(m, "public", {}, "smoker") for m in ("dpcgan", "gswgan")]
CASES = [c for c in CASES if c[0] not in ("dpcgan", "gswgan") or c[3]]  # they have a class to condition on
RANGED = {"wide", "mode", "bandwidth"}  # options with selections or draws in their plan
ROWS = 600


def _slow(method, options=MappingProxyType({})):
    """Adversarial networks are compiled anew for every table; their doors are replayed in every run. So is a Laplace
    width, by the twins."""
    noisy_width = options.get("bandwidth") in ("laplace", "gaussian")
    return [pytest.mark.slow] if method in GANS or "warm" in options or noisy_width else []


SOME = [pytest.param(m, marks=_slow(m)) for m in PRIVATE]


def _id(case):
    method, domain, options, target = case
    how = [f"{k}={v}" if k == "bandwidth" else k for k, v in options.items()]
    return "-".join([method, domain, *how, *([f"target={target}"] if target else [])])


def fit_for(case):
    method, domain, options, target = case
    schema = tables.schema() if domain == "public" else None
    epsilon = 1.0 if RANGED & {*options} else 8.0  # privacy-loss grids are shorter
    return checks.fit_with(method, schema, {**SMALL.get(method, {}), **options}, target, epsilon)


@pytest.mark.parametrize("case", [pytest.param(c, marks=_slow(c[0], c[2])) for c in CASES], ids=_id)
def test_replay_on_neighbours_shows_the_same_bytes(case, tmp_path):
    base = tables.people(ROWS)
    others = tables.neighbours(base)
    networks = case[0].startswith("hflow") or case[0] in GANS
    slow = RANGED & {*case[2]} or case[0] == "support-points" or networks
    if slow:  # each run composes or compiles for a second or more
        others = {k: others[k] for k in ("first row removed", "row of nulls, pandas", "new category", "outlier")}
    if networks:
        others = {k: others[k] for k in ("row of nulls, pandas", "outlier")}
    checks.check_replay(fit_for(case), base, others, tmp_path)


@pytest.mark.parametrize("relation", ["replace_one", "zero_out"])
@pytest.mark.parametrize("method", FURTHER)
def test_replay_where_the_number_of_rows_is_public(method, relation, tmp_path):
    base = tables.people(200)
    sampled = {"batch": 40} if method in ("hflow", "hflow-paper", "dpgan", "dpcgan") else {}  # not all rows in a step
    fit = checks.fit_with(method, tables.schema(), {**SMALL.get(method, {}), **sampled}, neighbours=relation)
    checks.check_replay(fit, base, tables.replaced(base), tmp_path)


@pytest.mark.parametrize("method", FURTHER)
def test_replay_where_a_person_has_several_rows(method, tmp_path):
    base = tables.visits(80)
    fit = checks.fit_with(method, tables.schema(Unit("person", 2)), SMALL.get(method, {}), epsilon=2.0)
    checks.check_replay(fit, base, tables.persons_away(base), tmp_path)


def test_replay_with_thinning(tmp_path):
    base = tables.people(200)
    fit = checks.fit_with("sketch", tables.schema(), {**SMALL["sketch"], "thinning": True}, "smoker")
    near = {k: v for k, v in tables.neighbours(base).items() if k in ("first row removed", "outlier", "reordered")}
    checks.check_replay(fit, base, near, tmp_path)


def test_replay_with_target_shares(tmp_path):
    """Shares are public and met by the noisy model: neither what is asked nor what comes out follows exact counts."""
    base, shares = tables.people(200), {"smoker": {True: 0.9, False: 0.1}}
    fit = checks.fit_with("sketch", tables.schema(), SMALL["sketch"], target_shares=shares)
    near = {k: v for k, v in tables.neighbours(base).items() if k in ("first row removed", "outlier", "reordered")}
    checks.check_replay(fit, base, near, tmp_path)
    assert fit(base).sample(500, seed=1)["smoker"].mean() > 0.8


@pytest.mark.parametrize("method", sorted(DECLARED))
def test_a_method_without_a_domain_refuses_before_it_reads(method):
    rows = checks.CountedRows(tables.people(50))
    with pytest.raises(DomainNotDeclared, match="kind not declared"):
        checks.fit_with(method, None, SMALL[method])(rows)
    assert rows.passes == 0


@pytest.mark.parametrize("method", SOME)
def test_a_seeded_run_promises_nothing(method):
    fit = checks.fit_with(method, tables.schema(), SMALL.get(method, {}))
    checks.check_stamp(fit, tables.people(200))


@pytest.mark.parametrize("method", SOME)
def test_certificate_is_complete_and_public(method, tmp_path):
    outcome = checks.observe(
        checks.fit_with(method, tables.schema(), SMALL.get(method, {})), tables.people(300), tmp_path
    )
    loaded = nacre.load(tmp_path / "run.nacre")
    verified(loaded.certificate, loaded.schema)  # composed once more, from what the file says
    certificate = checks.certificate_of(outcome.release)
    assert certificate["guarantee"] == METHODS[method].guarantee and certificate["epsilon"] == 8.0
    for e in certificate["entries"]:
        assert e.get("sigmas") or e.get("sigma") or all(part["sigma"] > 0 for part in e["parts"])
    assert certificate["entries"][0]["name"] == "rows" and certificate["entries"][0]["cliques"] == [[]]
    assert certificate["schema"]["provenance"][""] == {"rows": "bought"}
    assert certificate["schema"]["rows"] == outcome.transcript.answers[0][0] != 300, "the noisy count, not the true one"


CANARIES = {
    "text": b"Zyxomma-canary-7f3a",
    "number as text": b"73591.246813",
    "number in binary": np.float64(73591.24681357913).tobytes(),
    "day as text": b"2003-02-11",
    "day in binary": np.datetime64("2003-02-11", "us").astype(np.int64).tobytes(),
}
CHILD = """
import datetime, json, sys, logging
logging.basicConfig(level=logging.DEBUG)
logging.getLogger("jax").setLevel(logging.WARNING)
import nacre
from tests.privacy_contract import tables
table = tables.people(300)
table = tables.with_row(table, income=73591.24681357913, city="Zyxomma-canary-7f3a", joined=datetime.date(2003, 2, 11))
for i, (method, domain, options) in enumerate(json.loads(sys.argv[1])):
    schema = tables.schema() if domain == "public" else None
    epsilon = 1.0 if {"wide", "mode", "bandwidth"} & {*options} else 8.0
    release = nacre.fit(table, epsilon=epsilon, delta=1e-5, schema=schema, method=method, options=options)
    release.save(f"{sys.argv[2]}/{i}.nacre")
    print(release.certificate)
"""


@pytest.mark.parametrize("networks", (False, pytest.param(True, marks=pytest.mark.slow)))
def test_canaries_occur_in_no_file_and_no_log(networks, tmp_path):
    """Saved releases, temporary files, the compilation cache (made to keep everything) and all that was printed."""
    asked = [(m, d, o) for m, d, o, target in CASES if target is None and (m in COMPILED) == networks]
    cases = [(m, d, {**SMALL.get(m, {}), **o}) for m, d, o in asked]
    folders = {name: tmp_path / name for name in ("out", "temporary", "cache")}
    for folder in folders.values():
        folder.mkdir()
    environment = {
        **os.environ,
        "TMPDIR": str(folders["temporary"]),
        "JAX_COMPILATION_CACHE_DIR": str(folders["cache"]),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    command = [sys.executable, "-c", CHILD, json.dumps(cases), str(folders["out"])]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = {"standard output": done.stdout, "standard error": done.stderr}
    for folder in folders.values():
        found |= {str(f.relative_to(tmp_path)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}
    releases = [name for name in found if name.endswith(".nacre")]
    assert len(releases) == len(cases)
    assert any(name.startswith("cache") for name in found), "the cache kept nothing: the test would see no leak"
    found |= {f"{name}, unpacked": checks.members(found[name]) for name in releases}
    checks.check_no_canaries(found, CANARIES)
    with pytest.raises(AssertionError):
        checks.check_no_canaries({"a leak": b"..." + CANARIES["number in binary"]}, CANARIES)
