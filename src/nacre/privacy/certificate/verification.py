"""Whether a certificate says the truth about what it lists: all that it promises is composed once more.

That the doors were opened as listed, and no others, is the word of whoever made the release; who that was, only a
signature could prove. What can be found out here is refused with a CertificateError that names what differs.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from nacre.errors import BudgetError, CertificateError, PlanError
from nacre.privacy.accounting import accountant as accounting
from nacre.privacy.budget import Budget, Level
from nacre.privacy.certificate import assumed
from nacre.privacy.certificate.rounding import exact, up
from nacre.privacy.certificate.statement import CURVE_DELTAS, Certificate, Described, caveats, told_of
from nacre.privacy.doors import entry_from_json
from nacre.privacy.noise import ENTROPY, SEEDED
from nacre.privacy.plan import Counts, Entry, Plan, Select
from nacre.table.columns import UNPROTECTED

# What any run may open before its method.
BUYING = {"rows": "counts", "readable": "bounds", "kinds": "bounds", "domain": "categories", "rules": "counts"}
SLACK = 0.01  # of epsilon: accountants of other versions may differ by so much; then the larger one is shown
_HAIR = 1e-9  # of epsilon: one accountant on two machines
_LEVELS = {level.label: level for level in Level}


class Declared(Protocol):
    """What a method may say in a certificate, declared beside it in the list of methods."""

    @property
    def guarantee(self) -> str:
        """The best level it can have."""
        ...

    @property
    def opens(self) -> Mapping[str, str]:
        """Entry -> door (or doors, with spaces between), for all entries of a run that promises something."""
        ...

    @property
    def needs(self) -> tuple[tuple[str, ...], ...]:
        """Sets of entries, one of which no such run goes without."""
        ...

    @property
    def chosen(self) -> Mapping[str, str]:
        """Entry -> the choice by which its tables were picked, each for one pick: neither goes without the other."""
        ...

    @property
    def says(self) -> Mapping[str, str | None]:
        """Extras of its own, with their text where it is always the same."""
        ...

    @property
    def auto(self) -> str | None:
        """The rule by which it is chosen where none was named, in words."""
        ...

    @property
    def rests(self) -> tuple[str, ...]:
        """What all its promises rest on besides the proofs; nothing where that depends on the table."""
        ...


def verify(stated: Certificate, declared: Declared | None, schema: Described | None = None) -> Certificate:
    """The certificate of a release of `schema` (None: what it says of that itself), with what follows from its entries
    as this machine's accountant gives it. CertificateError where it says more than that, or what cannot be."""
    if declared is None:
        raise CertificateError(f"its method {stated.method!r} is none that nacre knows")
    if schema is not None:
        _refuse_other_schema(stated, schema)
    _refuse_other_words(stated, declared)
    if stated.epsilon is None or stated.delta is None or stated.guarantee == Level.NONE.label:
        return _without_promise(stated)
    return _promised(stated, declared, schema)


def _refuse_other_schema(stated: Certificate, schema: Described) -> None:
    for name, value in told_of(schema).items():
        if stated.schema.get(name) != value:
            raise CertificateError(f"its certificate is that of another schema or unit: they differ in {name}")
    asked = [name for name, _ in stated.extras.get("target_shares") or ()]
    hidden = [name for names in stated.extras.get("hidden", {}).get("sets", ()) for name in names]
    if strange := [name for name in (*asked, *hidden) if name not in stated.schema["provenance"]]:
        raise CertificateError(f"its certificate names {strange[0]!r}, which is no column of its schema")
    if dict(stated.unit) != schema.protected:
        raise CertificateError("its certificate is that of another schema or unit: they differ in who is protected")


def _refuse_other_words(stated: Certificate, declared: Declared) -> None:
    """No sentence that the method does not have: a label or statement may say more than the guarantee."""
    for name in ("label", "statement", "hidden", "epsilon_tilde", "releases"):
        if name in stated.extras and name not in declared.says:
            raise CertificateError(f"its certificate holds {name!r}, which method {stated.method!r} does not have")
    for name, text in declared.says.items():
        if text is not None and stated.extras.get(name, text) != text:
            raise CertificateError(
                f"its certificate states {stated.extras[name]!r} as {name}; the method says {text!r}"
            )
    if "chosen" in stated.extras and stated.extras["chosen"] != declared.auto:
        raise CertificateError(
            f"its certificate says that method {stated.method!r} was chosen by {stated.extras['chosen']!r}, which is "
            "no rule that chooses it"
        )
    if "label" in stated.extras and stated.guarantee != Level.NONE.label:
        raise CertificateError("its certificate puts a label of its own over a guarantee")


def _without_promise(stated: Certificate) -> Certificate:
    whole = (stated.epsilon, stated.delta, stated.guarantee) == (None, None, Level.NONE.label)
    bare = all(set(e) == {"door", "name"} for e in stated.entries)
    if not (whole and bare and stated.reasons) or stated.curve or stated.assumptions or "audit" in stated.extras:
        raise CertificateError(
            f"its certificate states {stated.guarantee!r} without a whole promise, or one without it: epsilon, delta, "
            "curve, costs, assumptions and audits come with a guarantee, reasons without one"
        )
    if stated.noise not in (ENTROPY, SEEDED):
        raise CertificateError(f"its certificate names {stated.noise!r} as the source of noise, which nacre has not")
    return stated


def _promised(stated: Certificate, declared: Declared, schema: Described | None) -> Certificate:
    plan = _plan(stated, declared)
    level = min(e.level for e in plan.entries)
    if _reads(stated) or stated.noise != ENTROPY:
        level = Level.NONE
    most = min(level, _LEVELS[declared.guarantee])
    if _LEVELS[stated.guarantee] != most:
        raise CertificateError(f"its certificate states {stated.guarantee!r}, but its parts give {most.label!r}")
    reasons = tuple(caveats(plan.entries))
    if len(stated.reasons) != len(reasons):
        raise CertificateError(f"its certificate names {len(stated.reasons)} conditions; its parts have {len(reasons)}")
    _refuse_other_assumptions(stated, declared, schema)
    events = plan.events()
    _refuse_other_claims(stated, events)
    shown = {"epsilon": _spent(stated, events), "reasons": reasons, "curve": _curve(stated, events)}
    if not declared.rests:
        shown["assumptions"] = assumed.with_storage(stated.assumptions)
    changed = {name: value for name, value in shown.items() if getattr(stated, name) != value}
    return dataclasses.replace(stated, **changed) if changed else stated


def _reads(stated: Certificate) -> bool:
    """Whether a fact is unprotected: a number of rows that was counted is read, unless all neighbours have the same."""
    facts = {source for own in stated.schema["provenance"].values() for source in own.values()}
    same = stated.neighbours != "add_or_remove_one" and stated.unit["column"] is None
    return bool(facts & {*UNPROTECTED}) or ("counted" in facts and not same)


def _refuse_other_assumptions(stated: Certificate, declared: Declared, schema: Described | None) -> None:
    if not declared.rests:
        assumed.check(stated, schema)
    elif stated.assumptions != declared.rests or stated.unit["column"] is not None:
        raise CertificateError(f"its certificate assumes other things than {'; '.join(declared.rests)}")


def _plan(stated: Certificate, declared: Declared) -> Plan:
    """The entries of a promise, if its method can have opened them."""
    names = {e["name"] for e in stated.entries}
    for e in stated.entries:
        if e["door"] not in _doors(e["name"], stated, declared).split():
            raise CertificateError(
                f"its certificate lists {e['name']!r} through the door {e['door']!r}, which method {stated.method!r} "
                "never opens"
            )
    if not any(names >= {*wanted} for wanted in declared.needs):
        lacking = " or ".join(", ".join(wanted) for wanted in declared.needs) or "any entry with a promise"
        raise CertificateError(
            f"its certificate promises something and lists {', '.join(sorted(names)) or 'nothing'} as spent; method "
            f"{stated.method!r} never goes without {lacking}"
        )
    try:
        Budget(stated.epsilon, stated.delta or 0.0, stated.neighbours, large=True)
        entries = tuple(entry_from_json(e) for e in stated.entries)
        made = Plan(stated.method, entries, Budget(None, neighbours=stated.neighbours), stated.unit["cap"])
        accounting.check_composable(made.events())
    except (BudgetError, PlanError, ArithmeticError) as error:
        raise CertificateError(f"its certificate lists what no plan holds: {error}") from None
    _refuse_unchosen(entries, declared)
    if blank := [e.name for e in entries if e.blank]:
        raise CertificateError(f"its certificate lists {blank[0]!r} without a table: what was asked there is not said")
    return made


def _doors(entry: str, stated: Certificate, declared: Declared) -> str:
    """Through which doors an entry of this name may have gone. What the schema of one table of a database is bought by
    is called after it."""
    what, of, table = entry.partition(" of ")
    if of and what in BUYING and table in {stated.unit.get("table"), *stated.unit.get("most", ())}:
        return BUYING[what]
    return {**BUYING, **declared.opens}.get(entry, "")


def _refuse_unchosen(entries: Sequence[Entry], declared: Declared) -> None:
    """Tables of what the data chose, without what the choice cost."""
    picks = {e.name: e.picks for e in entries if isinstance(e, Select)}
    for e in entries:
        choice = declared.chosen.get(e.name)
        if choice is not None and isinstance(e, Counts) and picks.get(choice, 0) < len(e.sigmas):
            raise CertificateError(
                f"its certificate lists {len(e.sigmas)} tables as {e.name!r}, but not by which of {choice!r} they were "
                "picked"
            )


def _refuse_other_claims(stated: Certificate, events: Sequence[Any]) -> None:
    """What an audit found is its auditor's word; what it was held against is the promise, and follows from it."""
    mu, _, others = accounting.split(events)
    for found in stated.extras.get("audit", {}).get("findings", ()):
        claim, delta = found["claim"], found["delta"]
        if claim is None:
            continue
        true = not others and claim >= mu * (1 - _HAIR)
        if found["metric"] == "epsilon":
            true = accounting.delta_at(events, claim * (1 + SLACK)) <= (0.0 if delta is None else delta)
        if not true:
            raise CertificateError(
                f"its certificate holds an audit of the claim that {found['metric']} is {exact(claim)}, which is not "
                "what it promises"
            )


def _spent(stated: Certificate, events: Sequence[Any]) -> float:
    """The epsilon to show: as stated, or a little more where this accountant finds a little more."""
    assert stated.epsilon is not None and stated.delta is not None
    if accounting.delta_at(events, stated.epsilon) <= stated.delta:
        return stated.epsilon
    found = accounting.epsilon_at(events, stated.delta)
    promise = f"({exact(stated.epsilon)}, {exact(stated.delta)})-differential privacy"
    if not found <= stated.epsilon * (1 + SLACK):
        raise CertificateError(
            f"its certificate promises {promise}, but what it says was spent costs more: epsilon {up(found)} at that "
            "delta"
        )
    shown = float(up(found, 6).replace(",", ""))
    warnings.warn(f"the certificate promises {promise}; this accountant finds epsilon {exact(shown)}", stacklevel=5)
    return shown


def _curve(stated: Certificate, events: Sequence[Any]) -> tuple[tuple[float, float], ...]:
    """The curve to show: as stated, or recomputed where it is a little below."""
    shown: list[tuple[float, float]] = []
    for delta, epsilon in stated.curve:
        if delta not in CURVE_DELTAS or delta in dict(shown):
            raise CertificateError(f"its certificate states a curve at delta {exact(delta)}, or has it twice")
        if accounting.delta_at(events, epsilon * (1 + _HAIR)) <= delta:  # one look where it holds
            shown.append((delta, epsilon))
            continue
        true = accounting.epsilon_at(events, delta)
        if not true <= epsilon * (1 + SLACK):
            raise CertificateError(
                f"its certificate states epsilon {exact(epsilon)} at delta {exact(delta)}, but what it says was spent "
                f"costs {up(true)} there"
            )
        shown.append((delta, max(epsilon, true)))
    return tuple(shown)
