"""What is loaded from files of others: from the bytes on, without the zip around them, so that many can be tried."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fuzz.mutate import mutated, mutated_arrays
from nacre.errors import NacreError

HONEST = Path(__file__).resolve().parents[2] / "tests" / "honest"


@dataclass(frozen=True)
class Loader:
    """`make(rng)` gives one hostile case, `load(case)` tries it: it ends well, or with an error of `errors`; the
    `honest` case ends well."""

    name: str
    honest: Any
    make: Callable[[np.random.Generator], Any]
    load: Callable[[Any], Any]
    errors: tuple[type[BaseException], ...] = (NacreError,)


def members_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def sealed(members: dict[str, bytes]) -> dict[str, bytes]:
    manifest = json.loads(members["manifest.json"])
    manifest["sha256"] = {n: hashlib.sha256(d).hexdigest() for n, d in members.items() if n != "manifest.json"}
    return {**members, "manifest.json": json.dumps(manifest).encode()}


def of_file(name: str, made_of: Callable[..., Any], path: Path, parts: tuple[str, ...]) -> Loader:
    """The loader of a release, sketch or learner: one of the `parts` of an honest file is changed, the seal renewed."""
    from safetensors.numpy import load, save

    from nacre.release.file import opened

    whole = members_of(path)
    documents = {n: json.loads(whole[n]) for n in whole if n.endswith(".json")}
    arrays = load(whole["arrays.safetensors"])

    def make(rng: np.random.Generator) -> dict[str, bytes]:
        part = parts[int(rng.integers(len(parts)))]
        if part == "arrays.safetensors":
            found = mutated_arrays(arrays, rng)
            data = save({k: np.ascontiguousarray(v) for k, v in found.items()})
        else:
            data = mutated(documents[part], rng)
        return sealed({**whole, part: data}) if part != "manifest.json" else {**whole, part: data}

    return Loader(name, whole, make, lambda members: made_of(path, *opened(dict(members), path)))


def of_text(name: str, document: Any, load: Callable[[bytes], Any], errors: Any = (NacreError,)) -> Loader:
    return Loader(name, json.dumps(document).encode(), lambda rng: mutated(document, rng), load, errors)


def loaders() -> dict[str, Loader]:
    """All of them by name."""
    found = (*_files(), *_documents(), ledger())
    return {one.name: one for one in found}


DOCUMENTS = ("manifest.json", "schema.json", "certificate.json", "model.json")


def _files() -> list[Loader]:
    from nacre.learners import files
    from nacre.release import release
    from nacre.sites import shared as sketching

    both = (*DOCUMENTS[1:], "arrays.safetensors")
    return [
        of_file("release", release.made_of, HONEST / "bought.nacre", (*DOCUMENTS, "arrays.safetensors")),
        of_file("certificate", release.made_of, HONEST / "merged.nacre", ("certificate.json",)),
        of_file("certificate-chains", release.made_of, HONEST / "points.nacre", ("certificate.json",)),
        of_file("certificate-steps", release.made_of, HONEST / "dpgan.nacre", ("certificate.json",)),
        of_file("sketch", sketching.made_of, HONEST / "merged.sketch", both),
        of_file("learner", files.made_of, HONEST / "dpsgd.learner", both),
    ]


def ledger() -> Loader:
    """The rows of a ledger, one body changed and all hashes made anew, as whoever can write to it can: checked and
    summed up."""
    import dataclasses

    from nacre.privacy.budget import Budget
    from nacre.privacy.ledger import chain, cost
    from nacre.privacy.ledger.checking import check_chain
    from nacre.privacy.ledger.policy import Policy
    from nacre.privacy.ledger.request import Asked
    from nacre.privacy.ledger.status import status
    from nacre.privacy.plan import Counts, Plan, Select

    entries = Counts("one-way", sigmas=(20.0, 20.0)), Select("s", picks=2, epsilon=0.01)
    policy = Policy(3.0, owner="ana")
    asked = Asked(Plan("independent", entries, Budget(1.0, 1e-6)), policy, "monday")
    debit: cost.Cost = asked.cost
    first = chain.first("books", "people", "ana", policy.to_json())
    debited = chain.Step(chain.RESERVED, asked.body(), "r", "monday", debit.units, debit.failure)
    taken = chain.following(first, "ana", debited)
    rows = [first, taken, chain.following(taken, "ana", chain.Step(chain.OPENED, {}, "r"))]

    def sealed_again(bodies: list[str]) -> list[Any]:
        found, previous = [], first.previous
        for row, body in zip(rows, bodies):
            row = dataclasses.replace(row, body=body, previous=previous, hash="")
            found.append(dataclasses.replace(row, hash=row.digest()))
            previous = found[-1].hash
        return found

    def make(rng: np.random.Generator) -> list[str]:
        bodies, place = [row.body for row in rows], int(rng.integers(2))
        bodies[place] = mutated(json.loads(bodies[place]), rng).decode("utf-8", "replace")
        return bodies

    def load(bodies: list[str]) -> Any:
        made = sealed_again(bodies)
        check_chain(made, "books", "people")
        return status(made)

    return Loader("ledger", [row.body for row in rows], make, load)


def models(folder: Path) -> list[Loader]:
    """The models of all releases in a folder: facts and arrays alone; what loads is drawn from."""
    from nacre.release import release

    parts = ("model.json", "model.json", "arrays.safetensors")

    def drawn(path: Path, documents: Any, opened: Any) -> Any:
        return release.made_of(path, documents, opened).sample(5, seed=0, as_="pyarrow")

    return [of_file(f"model-{p.stem}", drawn, p, parts) for p in sorted(folder.glob("*.nacre"))]


def _documents() -> list[Loader]:
    from nacre.certificates import MOST
    from nacre.learners.files import load as _  # noqa: F401  (imports what a report may need)
    from nacre.privacy.certificate.statement import Certificate
    from nacre.privacy.plan import Plan
    from nacre.release.release import load
    from nacre.report.report import Report
    from nacre.report.text import from_json as report_of
    from nacre.table import Schema, documents

    made = load(HONEST / "bought.nacre")
    plan = {"method": "independent", "entries": list(made.certificate.entries), "cap": 1, "rows": None, "notes": {},
            "budget": {"epsilon": 6.0, "delta": 1e-5, "neighbours": "replace_one", "large": False}}  # fmt: skip
    report = json.loads(Report((), certificate=made.certificate).to_json())
    parse = documents.parse
    typed = (NacreError, ValueError)  # `documents.parse` and `Certificate.from_json` promise a ValueError
    return [
        of_text("schema", json.loads(made.schema.to_json()), Schema.from_json),
        of_text("schema-rich", RICH, Schema.from_json),
        of_text("plan", plan, lambda data: Plan.from_json(parse(data, MOST)), typed),
        of_text("certificate-text", made.certificate.to_json(),
                lambda data: str(Certificate.from_json(parse(data, MOST))), typed),
        of_text("report", report, lambda data: report_of(parse(data, MOST)), typed),
    ]  # fmt: skip


RICH = {
    "format": 1,
    "columns": {
        "id": {"kind": "identifier", "person": True},
        "edu": {"kind": "categorical", "categories": ["lo", "mid", "hi"], "ordered": True, "other": "else"},
        "years": {"kind": "numeric", "bounds": [0, 20], "integer": True, "atoms": [0, 9], "nullable": True},
        "pay": {"kind": "numeric", "bounds": [0.0, 99.5], "edges": [0.0, 10.0, 50.0, 99.5]},
        "when": {"kind": "datetime", "bounds": ["2020-01-01T00:00", "2021-01-01T00:00"], "tz": "UTC", "unit": "minute"},
        "scan": {"kind": "tensor", "shape": [2, 3], "bounds": [0, 1]},
        "ok": {"kind": "boolean", "nullable": True, "provenance": {"kind": "read", "nullable": "read"}},
    },
    "rows": 1000,
    "unit": {"column": "id", "cap": 3},
    "dependencies": [{"determinant": "edu", "dependent": "ok",
                      "mapping": [["lo", True], ["mid", False], ["hi", None], ["else", None]]}],
    "impossible": [{"edu": ["lo"], "years": {"low": 10, "high": 20}}, {"pay": {"low": None, "high": 5}}],
    "provenance": {"rows": "bought"},
    "attestations": [{"by": "Ana", "why": "it is in the manual", "facts": [["edu", "categories"], [None, "rows"]]}],
}  # fmt: skip
