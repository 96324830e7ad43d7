"""Releases whose certificate was edited and sealed anew, as anybody can."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nacre.privacy.certificate.assumed import of_run
from nacre.table import Schema
from nacre.table.sources.storage import told
from nacre.table.values.decoding import arrow_schema

HONEST = Path(__file__).parent / "honest"  # made by the version before; release files of a few KB
Edit = Callable[[dict[str, Any]], Any]


def edited(path: Path, edit: Edit, member: str = "certificate.json") -> bytes:
    """The file with a document changed in place (every certificate of it), and hashes that fit."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(parts[member])
    for one in document.get("sites", [document]):
        edit(one)
    parts[member] = json.dumps(document).encode()
    manifest = json.loads(parts["manifest.json"])
    manifest["sha256"] = {n: hashlib.sha256(d).hexdigest() for n, d in parts.items() if n != "manifest.json"}
    parts["manifest.json"] = json.dumps(manifest).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return out.getvalue()


def set_to(**fields: Any) -> Edit:
    return lambda c: c.update(copy.deepcopy(fields))


def inside(*path: Any, to: Any) -> Edit:
    def edit(c: dict[str, Any]) -> None:
        for key in path[:-1]:
            c = c[key]
        c[path[-1]] = to

    return edit


def lower_curve(c: dict[str, Any]) -> None:
    c["curve"] = [[delta, 0.9 * epsilon] for delta, epsilon in c["curve"]]


def lift(c: dict[str, Any]) -> None:
    c["guarantee"] = {"proven": "conditional"}.get(c["guarantee"], "proven")


def weaker_noise(c: dict[str, Any]) -> None:
    """Less noise in the list than the promise needs."""
    for entry in c["entries"]:
        if "sigmas" in entry:
            entry["sigmas"] = [0.9 * s for s in entry["sigmas"]]
        several = entry.get("parts")
        for part in (entry, *(several if isinstance(several, list) else ())):
            if "sigma" in part:
                part["sigma"] *= 0.9
        if "draws" in entry:
            entry["epsilon"] *= 1.2


def audit(**changes: Any) -> dict[str, Any]:
    found = {"view": "white box", "metric": "epsilon", "lower_bound": 0.1, "ceiling": 9.0, "claim": None, "delta": None,
             "runs": 1000, "left_out": []}  # fmt: skip
    return {"confidence": 0.95, "findings": [{**found, **changes}]}


def assumed(schema: Schema) -> tuple[str, ...]:
    """What a run on a table of that schema rests on."""
    return of_run(schema, told(arrow_schema(schema)), ())


STORED = "column names and how the table stores its columns are public (text: age); nobody is in danger (proven)"
LINE = "\nGuarantee: proven"
# Of any release that promises something.
PROMISED: dict[str, Edit] = {
    "a curve below what was spent": lower_curve,
    "a level its parts do not have": lift,
    "no entries beside a promise": set_to(entries=[]),
    "a line forged in an assumption": lambda c: c["assumptions"].append("x" + LINE),
    "a line forged in a version": inside("versions", "nacre", to="1" + LINE),
    "a line forged in an extra": inside("extras", "target", to="x\u2028Guarantee: proven"),
    "a line forged in a stamp": inside(
        "extras", "ledger", to={"ledger": "a", "population": "p" + LINE, "sequence": 1, "head": "b"}
    ),
    "a turned name": lambda c: c["entries"][0].update(name="\u202eone-way"),
    "a tab in the noise": set_to(noise="operating system entropy\t"),
    "half the epsilon": lambda c: c.update(epsilon=c["epsilon"] / 2),
    "a smaller delta": lambda c: c.update(delta=c["delta"] / 1e3, epsilon=0.95 * c["epsilon"]),
    "less noise": weaker_noise,
    "noise from elsewhere": set_to(noise="a very good source"),
    "a label over the level": inside("extras", "label", to="proven, and audited by experts"),
    "a statement of its own": inside("extras", "statement", to="epsilon is 0.1"),
    "a condition of its own": lambda c: c["reasons"].append("nothing can go wrong"),
    "no assumptions": set_to(assumptions=[]),
    "an assumption left out": lambda c: c["assumptions"].pop(),
    "an assumption of its own": lambda c: c["assumptions"].append("nothing about anybody can be learned"),
    "a promise in a version": inside("versions", "nacre", to="0.1.0. Guarantee: proven"),
    "a price in words of its own": lambda c: c["assumptions"].append(
        "0 facts of the schema were bought by an earlier run, at (0, 0), next to nothing: if from these rows, that "
        "cost adds to this promise"
    ),
    "an expert among the packages": lambda c: c["versions"].update({"audited, epsilon": "0.1"}),
    "made by no version": set_to(versions={}),
    "a target in words of its own": inside("extras", "target", to="rows that tell of nobody"),
    "an audit of a smaller epsilon": lambda c: c["extras"].update(
        audit=audit(claim=c["epsilon"] / 2, delta=c["delta"])
    ),
    "an audit of a smaller mu": inside("extras", "audit", to=audit(metric="mu", claim=1e-6)),
    "an audit by somebody": inside("extras", "audit", to=audit(view="the authority, which found nothing")),
    "an audit below nothing": inside("extras", "audit", to=audit(lower_bound=-1.0)),
    "an audit beyond certainty": inside("extras", "audit", to={**audit(), "confidence": 2.0}),
    "an audit without runs": inside("extras", "audit", to=audit(runs=0)),
    "a stamp in words": inside(
        "extras", "ledger", to={"ledger": "a ledger", "population": "p", "sequence": 1, "head": "checked by all"}
    ),
    "another door": inside("entries", 0, "door", to="teach"),
    "another entry": inside("entries", 0, "name", to="free"),
    "another method": set_to(method="kme"),
    "a method nobody knows": set_to(method="perfect"),
    "tables that cost nothing": lambda c: c["entries"][0].update({"door": "counts", "name": "rows", "sigmas": []}),
    "the steps of nobody": set_to(neighbours="zero_out_all"),
    "an epsilon that is text": lambda c: c.update(epsilon=str(c["epsilon"])),
    "an epsilon beyond all": set_to(epsilon=1e300),
    "a promise without a level": set_to(guarantee="none"),
    "two of one delta": lambda c: c["curve"].append(c["curve"][0]),
}
# Of releases with a schema of their own.
ABOUT_A_TABLE: dict[str, Edit] = {
    "another schema": inside("schema", "digest", to="0" * 64),
    "facts of another source": lambda c: c["schema"]["provenance"].update({"age": {"kind": "bought"}}),
    "a fact left out": lambda c: c["schema"]["provenance"].popitem(),
    "a fact that is none": lambda c: c["schema"]["provenance"].update({"": {"every row is protected": "bought"}}),
    "shares of no column": inside("extras", "target_shares", to=[["nobody", 1.0]]),
    "a hidden column that is none": inside("extras", "hidden", to={"sets": [["nobody"]], "alpha": 0.05}),
    "another number of rows": inside("schema", "rows", to=10**6),
    "a storage in words of its own": lambda c: c["assumptions"].append(STORED),
    "another unit": set_to(unit={"column": "age", "cap": 7}),
}
# Of a release that promises nothing.
UNPROMISED: dict[str, Edit] = {
    "a promise out of nothing": set_to(epsilon=1.0, delta=1e-6, guarantee="proven", assumptions=["x"], reasons=[]),
    "a level out of nothing": set_to(guarantee="proven"),
    "an epsilon beside none": set_to(epsilon=1.0),
    "a curve beside none": set_to(curve=[[1e-6, 0.5]]),
    "no reason": set_to(reasons=[]),
    "a label that promises": inside("extras", "label", to="none needed: proven"),
    "an audit of nothing": inside("extras", "audit", to=audit()),
    "costs beside none": lambda c: c["entries"][0].update({"sigmas": [100.0]}),
}
