"""The document that travels with a release. Public facts only: nothing in it was computed from private rows."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from nacre.errors import BudgetError
from nacre.privacy import accounting
from nacre.privacy.budget import NEIGHBOURS, Level
from nacre.privacy.plan import Plan

CURVE_DELTAS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
_NUMBER = (int, float, type(None))
_KINDS = {  # what a file must hold under each name
    "method": str, "guarantee": str, "reasons": tuple, "neighbours": str, "unit": Mapping, "epsilon": _NUMBER,
    "delta": _NUMBER, "curve": tuple, "entries": tuple, "schema": Mapping, "assumptions": tuple, "noise": str,
    "versions": Mapping, "extras": Mapping,
}  # fmt: skip


@dataclass(frozen=True)
class Certificate:
    """What is promised, what it cost, what is assumed. `guarantee` is the weakest level of all parts."""

    method: str
    guarantee: str
    reasons: tuple[str, ...]
    neighbours: str
    unit: Mapping[str, Any]
    epsilon: float | None
    delta: float | None
    curve: tuple[tuple[float, float], ...]
    entries: tuple[Mapping[str, Any], ...]
    schema: Mapping[str, Any]
    assumptions: tuple[str, ...]
    noise: str
    versions: Mapping[str, str]
    extras: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return json.loads(json.dumps(asdict(self)))

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Certificate:
        """What `to_json` gave; ValueError for anything else, since the file may come from anybody."""
        fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
        try:
            for name, kinds in _KINDS.items():
                if name in fields and not isinstance(fields[name], kinds):
                    raise TypeError(f"{name} is {type(fields[name]).__name__}")
            fields["curve"] = tuple((float(delta), float(epsilon)) for delta, epsilon in fields["curve"])
            made = Certificate(**fields)
            describe(made)  # what cannot be told in words is no certificate
        except (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise ValueError(f"not a certificate: {type(error).__name__}, {error}") from None
        return made

    def __str__(self) -> str:
        return describe(self)


def certify(plan: Plan, schema: Any, *, seeded: bool, noise: str, assumptions: tuple[str, ...] = ()) -> Certificate:
    """The certificate of a run that opened the doors of `plan` on a table described by `schema`."""
    level, reasons = plan.level, [e.reason for e in plan.entries if getattr(e, "reason", "")]
    reasons += [e.caveat for e in plan.entries if plan.budget.epsilon is not None and getattr(e, "caveat", "")]
    if plan.budget.epsilon is None and not reasons:
        reasons.append("no budget was given (epsilon=None): the tables were released without noise")
    provenance, read = schema.weakest()
    if provenance == "read":
        level = Level.NONE
        facts = ", ".join(f"{column or 'table'}.{fact}" for column, fact in read[:6]) + (
            ", ..." if len(read) > 6 else ""
        )
        reasons.append(f"these schema facts were read from the data without budget: {facts}")
    if seeded:
        level = Level.NONE
        reasons.append("seeded: the noise can be reproduced by anyone who knows the seed")
    private = level > Level.NONE
    events = plan.events()
    curve = [(d, accounting.epsilon_at(events, d)) for d in CURVE_DELTAS] if private else []
    return Certificate(
        method=plan.method,
        guarantee=level.label,
        reasons=tuple(reasons),
        neighbours=plan.budget.neighbours,
        unit={"column": schema.unit.column, "cap": schema.unit.cap} if schema.unit else {"column": None, "cap": 1},
        # The promise is the budget that the plan was checked against, rounded up by nobody.
        epsilon=plan.budget.epsilon if private else None,
        delta=plan.budget.delta if private else None,
        curve=tuple((d, e) for d, e in curve if math.isfinite(e)),
        entries=tuple(e.to_json() if private else {"door": e.door, "name": e.name} for e in plan.entries),
        schema={"digest": schema.digest(), "rows": schema.rows, "provenance": _provenance(schema)},
        assumptions=assumptions if private else (),
        noise=noise,
        versions=_versions(),
    )


def verify(stated: Certificate, schema: Any) -> None:
    """Compose once more, by this machine's own accountant, what a certificate says was spent on a release of `schema`.

    BudgetError when it promises more than that pays for, or more than its parts can give. That the doors were opened
    so, and no others, is the word of whoever made the release.
    """
    levels = {level.label: level for level in Level}
    if stated.epsilon is None or stated.delta is None or stated.guarantee not in levels:
        if (stated.epsilon, stated.delta, stated.guarantee) != (None, None, Level.NONE.label):
            raise BudgetError(f"its certificate states {stated.guarantee!r} without a whole promise, or one without it")
        return
    unit = {"column": schema.unit.column, "cap": schema.unit.cap} if schema.unit else {"column": None, "cap": 1}
    if stated.schema.get("digest") != schema.digest() or dict(stated.unit) != unit:
        raise BudgetError("its certificate is that of another schema or unit")
    budget = {"epsilon": stated.epsilon, "delta": stated.delta, "neighbours": stated.neighbours, "large": True}
    told = {"method": stated.method, "entries": stated.entries, "budget": budget, "cap": unit["cap"], "rows": None}
    try:
        plan = Plan.from_json(told)
    except BudgetError:
        raise BudgetError(
            f"its certificate promises ({stated.epsilon:g}, {stated.delta:g})-differential privacy, but what it says "
            "was spent costs more"
        ) from None
    level = Level.NONE if schema.weakest()[0] == "read" else plan.level
    if levels[stated.guarantee] > level or level == Level.NONE:
        raise BudgetError(f"its certificate states {stated.guarantee!r}, but its parts give {level.label!r} at most")


def _provenance(schema: Any) -> dict[str, dict[str, str]]:
    """column -> fact -> public, bought or read; facts about the whole table stand under the empty name."""
    found: dict[str, dict[str, str]] = {}
    for (column, fact), source in schema.facts().items():
        found.setdefault(column or "", {})[fact] = source
    return found


def _versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in ("nacre", "numpy", "scipy", "jax"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # training may run where the accountant is not installed
            found[name] = "not installed"
    return found


def ledger_stamps(extras: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Where the books stood: of the run, or of the run at every site that kept some."""
    return [*extras.get("ledgers", ()), *([extras["ledger"]] if extras.get("ledger") else [])]


def describe(c: Certificate) -> str:
    """The certificate in plain words."""
    lines = [f"nacre certificate: method {c.method}", f"Guarantee: {c.extras.get('label', c.guarantee)}"]
    lines += [f"  because {reason}" for reason in c.reasons]
    whose = f"all rows of one {c.unit['column']} (at most {c.unit['cap']})" if c.unit["column"] else "one row"
    if c.epsilon is not None:
        lines += [
            f"Promise: ({c.epsilon:g}, {c.delta:g})-differential privacy for {whose}",
            f"Neighbours: {c.neighbours} ({NEIGHBOURS[c.neighbours]})",
            "The same promise at other deltas: " + ", ".join(f"epsilon {e:.3g} at {d:g}" for d, e in c.curve),
            "What was spent:",
        ]
    else:
        lines.append("No privacy promise is made: treat the output as if it were the data.")
    if "epsilon_tilde" in c.extras:
        lines.append(f"epsilon_tilde {c.extras['epsilon_tilde']:g}: a parameter of the target density, no budget")
    if "releases" in c.extras:
        lines.append(f"Parameter vectors released: {c.extras['releases']:,}")
    lines += [f"  {_entry_line(e)}" for e in c.entries]
    lines.append(f"Noise: {c.noise}")
    counted = c.schema["provenance"]
    lines.append("Schema facts: " + ", ".join(f"{n} {how}" for how, n in _tally(counted).items()))
    lines += [f"Assumption: {a}" for a in c.assumptions]
    lines += [said for said in (hidden_sentence(c), shares_sentence(c), c.extras.get("statement")) if said]
    lines += [
        f"Audit: {f['view']}, {f['runs']:,} runs: {f['text']}" for f in c.extras.get("audit", {}).get("findings", ())
    ]
    for books in ledger_stamps(c.extras):
        lines.append(f"Ledger: {books['ledger']}, population {books['population']}, row {books['sequence']}, "
                     f"head {books['head']}")  # fmt: skip
    lines.append("Made with " + ", ".join(f"{k} {v}" for k, v in c.versions.items()))
    return "\n".join(lines)


def hidden_sentence(c: Certificate) -> str:
    """Which columns were hidden and at which level: all that may be said of it in public. Empty where none was."""
    found = c.extras.get("hidden")
    if not found:
        return ""
    columns = "; ".join(", ".join(one) for one in found["sets"])
    how = "" if c.epsilon is None else ", by a penalty that has been seen to hide nothing by itself,"
    return (
        f"Hidden columns: {columns}. Training was asked{how} to move their distribution until a test at "
        f"level {found['alpha']:g} tells it from the real one. This is not differential privacy, and nothing here says "
        "that it succeeded: only a test on the private rows does, in the owner's report where one was made"
    )


def shares_sentence(c: Certificate) -> str:
    """Whom the rows were asked to stand for, where that is not whom the table holds. Empty where nobody asked."""
    names = ", ".join(name for name, _ in c.extras.get("target_shares") or ())
    asked = f"other shares of {names} than the table's" if names else c.extras.get("target")
    if not asked:
        return ""
    return f"Target: {asked} were asked for; how near the rows come to that is not promised"


def _entry_line(entry: Mapping[str, Any]) -> str:
    sigmas = entry.get("sigmas")
    if sigmas:
        spread = f"noise {min(sigmas):.4g}" + (f" to {max(sigmas):.4g}" if max(sigmas) > min(sigmas) else "")
        tables = "1 table" if len(sigmas) == 1 else f"{len(sigmas)} tables"
        return f"{entry['name']}: {tables} through `{entry['door']}`, {spread} counts per cell"
    if entry["door"] == "select" and "picks" in entry:
        return f"{entry['name']}: {entry['picks']} choices through `select`, range {entry['epsilon']:.4g} each"
    if entry["door"] == "total" and "sigma" in entry:
        return f"{entry['name']}: a sum of {entry['size']} numbers through `total`, noise {entry['sigma']:.4g}"
    if entry["door"] == "descend" and "steps" in entry:
        parts = ", ".join(
            f"{p['name']} (clip {p['clip']:.4g}, noise {p['sigma']:.4g} times that)" for p in entry["parts"]
        )
        return (
            f"{entry['name']}: {entry['steps']} steps through `descend`, each on a share {entry['q']:.4g}, of {parts}"
        )
    if entry["door"] == "teach" and "steps" in entry:
        return (
            f"{entry['name']}: {entry['steps']} steps through `teach`, each of a share {entry['q']:.4g} of "
            f"{entry['parts']} disjoint parts (clip {entry['clip']:.4g}, noise {entry['sigma']:.4g} times that)"
        )
    if entry["door"] == "sample" and "draws" in entry:
        how = f"chains of {entry['moves']:,} moves" if entry["moves"] else "exact draws"
        return f"{entry['name']}: {entry['draws']} draws through `sample` ({how}), range {entry['epsilon']:.4g} each"
    return f"{entry['name']}: through `{entry['door']}`"


def _tally(provenance: Mapping[str, Mapping[str, str]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for facts in provenance.values():
        for how in facts.values():
            found[how] = found.get(how, 0) + 1
    return found
