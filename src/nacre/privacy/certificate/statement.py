"""The document that travels with a release. Public facts only: nothing in it was computed from private rows."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from nacre import notebook
from nacre.privacy.accounting import accountant as accounting
from nacre.privacy.budget import Level
from nacre.privacy.certificate.rounding import exact
from nacre.privacy.certificate.wording import describe, whose
from nacre.privacy.plan import Entry, Plan
from nacre.table.columns import UNPROTECTED
from nacre.table.schema import Attestation, Purchase
from nacre.typed import Json

CURVE_DELTAS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)


class Described(Protocol):
    """A schema, or a database: what a certificate says of it. Facts stand under the name of a column (in a database,
    "table.column"), or under None."""

    @property
    def rows(self) -> int | None: ...

    @property
    def protected(self) -> dict[str, Json]: ...

    @property
    def attestations(self) -> tuple[Attestation, ...]: ...

    @property
    def purchases(self) -> tuple[Purchase, ...]: ...

    def facts(self) -> dict[tuple[str | None, str], str]: ...

    def digest(self) -> str: ...


@dataclass(frozen=True, repr=False)
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

    def to_json(self) -> dict[str, Json]:
        return json.loads(json.dumps(asdict(self)))

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Certificate:
        """What `to_json` gave; ValueError for anything else, since the file may come from anybody. Whether it says the
        truth about what it lists is for `verification.verify`."""
        from nacre.privacy.certificate.document import checked

        fields = checked(data)
        fields |= {name: tuple(fields[name]) for name in ("reasons", "entries", "assumptions")}
        fields["curve"] = tuple((float(delta), float(epsilon)) for delta, epsilon in fields["curve"])
        return Certificate(**fields)

    def __str__(self) -> str:
        return describe(self)

    @property
    def headline(self) -> str:
        """The promise in a line."""
        if self.epsilon is None or self.delta is None:
            return "no privacy guarantee: treat it as if it were the data"
        promise = f"({exact(self.epsilon)}, {exact(self.delta)})-differential privacy for {whose(self.unit)}"
        return f"{self.guarantee}: {promise}, {self.neighbours}"

    def __repr__(self) -> str:
        return f"<Certificate of {self.method}: {self.headline}>"

    def _repr_html_(self) -> str:
        return notebook.panel(f"Certificate of {self.method}", {"Guarantee": self.headline},
                              ("entry", "door"), [(e["name"], e["door"]) for e in self.entries])  # fmt: skip


def certify(
    plan: Plan, schema: Described, *, seeded: bool, noise: str, assumptions: tuple[str, ...] = ()
) -> Certificate:
    """The certificate of a run that opened the doors of `plan` on a table, or a database, described by `schema`."""
    level, reasons = plan.level, [e.unprotected for e in plan.entries if e.unprotected]
    reasons += caveats(plan.entries) if plan.budget.epsilon is not None else []
    if plan.budget.epsilon is None and not reasons:
        reasons.append("no budget was given (epsilon=None): the tables were released without noise")
    for source, words in UNPROTECTED.items():
        if facts := [where for where, found in schema.facts().items() if found == source]:
            level = Level.NONE
            told = ", ".join(f"{column or 'table'}.{fact}" for column, fact in facts[:6])
            reasons.append(f"these schema facts {words}: {told}" + ", ..." * (len(facts) > 6))
    if seeded:
        level = Level.NONE
        reasons.append("seeded: the noise can be reproduced by anyone who knows the seed")
    private = level > Level.NONE
    return Certificate(
        method=plan.method,
        guarantee=level.label,
        reasons=tuple(reasons),
        neighbours=plan.budget.neighbours,
        unit=schema.protected,
        # The promise is the budget that the plan was checked against, rounded up by nobody.
        epsilon=plan.budget.epsilon if private else None,
        delta=plan.budget.delta if private else None,
        curve=curve_of(plan.events()) if private else (),
        entries=tuple(e.to_json() if private else {"door": e.door, "name": e.name} for e in plan.entries),
        schema=told_of(schema),
        assumptions=assumptions if private else (),
        noise=noise,
        versions=_versions(),
    )


def caveats(entries: Sequence[Entry]) -> list[str]:
    """What a promise hangs on besides the proofs, by entry."""
    return [e.caveat for e in entries if e.caveat]


def curve_of(events: Sequence[Any]) -> tuple[tuple[float, float], ...]:
    """(δ, ε) at usual deltas, as far as ε is finite there."""
    found = ((delta, accounting.epsilon_at(events, delta)) for delta in CURVE_DELTAS)
    return tuple((delta, epsilon) for delta, epsilon in found if math.isfinite(epsilon))


def told_of(schema: Described) -> dict[str, object]:
    """What a certificate says of what it is about."""
    return {"digest": schema.digest(), "rows": schema.rows, "provenance": provenance_of(schema)}


def provenance_of(schema: Described) -> dict[str, dict[str, str]]:
    """column -> fact -> where it comes from; facts about the whole table stand under the empty name."""
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
