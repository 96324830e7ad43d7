"""A certificate in words: every sentence is made here from its figures, which are rounded to the side that flatters
least (`rounding`), and no two sentences are left to contradict each other."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from nacre.privacy.budget import NEIGHBOURS
from nacre.privacy.certificate.rounding import down, exact, up
from nacre.privacy.doors import entry_from_json
from nacre.table.naming import quoted

if TYPE_CHECKING:
    from nacre.privacy.certificate.statement import Certificate

WIDTH = 110
SOURCES = {  # of the facts in a schema, and what each means
    "public": "Public facts, which are not protected",
    "bought": "Bought facts, learned with noise and paid for from a budget",
    "unattested": "Facts from another document, which nobody has attested to be public",
    "read": "Facts read from the table without protection",
}
SAME = {"counted": "public"}  # the number of rows that all neighbours have
FACTS = {
    "nullable": "whether a value may be missing",
    "edges": "cell edges",
    "atoms": "single values",
    "other": "the label for the rest",
    "rows": "the number of rows",
    "unit": "who is protected",
    "units": "the number of units",
    "keys": "by which keys rows are owned",
    "caps": "how many rows of a unit count",
    "public": "which tables are public",
    "dependencies": "which columns follow from others",
    "impossible": "what never occurs together",
}
STORAGE = "of {where}: the names and the order of its columns, and as what type each is stored"
UNPROVEN = (
    "Who made this: not proved by the text. What follows from the list above is composed anew wherever nacre loads it; "
    "that the doors were opened so, and no others, only a signature of whoever made it can vouch for"
)


def describe(c: Certificate) -> str:
    """The certificate in plain words."""
    lines = [f"nacre certificate: method {c.method}"]
    lines += [f"Method chosen by auto: {c.extras['chosen']}"] if "chosen" in c.extras else []
    lines += [f"Guarantee: {label(c)}"]
    lines += [f"  because {reason}" for reason in c.reasons]
    if c.epsilon is not None and c.delta is not None:
        lines += [
            f"Promise: ({exact(c.epsilon)}, {exact(c.delta)})-differential privacy for {whose(c.unit)}",
            f"Neighbours: {c.neighbours} ({neighbours_words(c)})",
            *keys_lines(c.unit),
        ]
        if c.curve:
            lines.append("The same promise at other deltas: " + ", ".join(curve_words(c)))
        lines.append("What was spent:")
    else:
        lines.append("No privacy promise is made: treat the output as if it were the data.")
        lines.append("What was opened:")
    lines += [f"  {e['name']}, through `{e['door']}`" + _spent(e) for e in c.entries]
    if "epsilon_tilde" in c.extras:
        lines.append(f"epsilon_tilde {exact(c.extras['epsilon_tilde'])}: a parameter of the target density, no budget")
    if "releases" in c.extras:
        lines.append(f"Parameter vectors released: {c.extras['releases']:,}")
    lines.append(f"Noise: {c.noise}")
    lines += facts_lines(c)
    lines += [f"Assumption: {a}" for a in c.assumptions]
    lines += [said for said in (hidden_sentence(c), shares_sentence(c), c.extras.get("statement")) if said]
    lines += [
        f"Audit: {f['view']}, {f['runs']:,} runs: {audit_sentence(f, c.extras['audit']['confidence'])}" + _tossed(c)
        for f in c.extras.get("audit", {}).get("findings", ())
    ]
    for books in ledger_stamps(c.extras):
        lines.append(f"Ledger: {books['ledger']}, population {quoted(books['population'])}, row {books['sequence']}, "
                     f"head {books['head']}")  # fmt: skip
    lines.append("Made with " + ", ".join(f"{k} {v}" for k, v in c.versions.items()))
    return "\n".join([*lines, UNPROVEN])


def label(c: Certificate) -> str:
    """The level of the guarantee. Only a method that promises nothing may say more about that."""
    said = c.extras.get("label", "")
    return said if c.guarantee == "none" and str(said).startswith("none") else c.guarantee


def whose(unit: Mapping[str, Any]) -> str:
    if table := unit.get("table"):
        most = ", ".join(f"{n:,} in {quoted(name)}" for name, n in unit["most"].items())
        return f"one row of {quoted(table)} and all rows that it owns" + (f" (at most {most})" if most else "")
    return f"all rows of one {quoted(unit['column'])} (at most {unit['cap']:,})" if unit["column"] else "one row"


def curve_words(c: Certificate) -> list[str]:
    return [f"epsilon {up(e)} at {exact(d)}" for d, e in c.curve]


def rows_source(c: Certificate) -> str | None:
    """Where the number of rows in the schema came from; None where none is stated."""
    whole = c.schema["provenance"].get("", {})
    return whole.get("rows") or whole.get("units")


def neighbours_words(c: Certificate) -> str:
    """What is compared, and what that and the schema mean for the number of rows."""
    if "table" in c.unit:
        return f"{NEIGHBOURS[c.neighbours]}; {_units_words(c)}"
    units = "how many units there are is not protected" if c.unit["column"] else ""
    if c.neighbours == "add_or_remove_one":
        rows = {
            "public": "the number of rows was declared public and is not protected",
            "bought": "the number of rows is protected too: a noisy one was bought",
            "read": "the number of rows was read and is not protected",
            "unattested": "the number of rows comes from another document and is not protected",
        }.get(rows_source(c) or "", "the number of rows is protected too")
    elif not units:
        rows = "the number of rows is the same in both tables and is not protected"
    else:
        rows = {
            "public": "the number of rows was declared public and is not protected either",
            "read": "the number of rows was read and is not protected either",
            "unattested": "the number of rows comes from another document and is not protected either",
        }.get(rows_source(c) or "", "the number of rows is")
        return f"{NEIGHBOURS[c.neighbours]}; {units}, {rows}"
    return f"{NEIGHBOURS[c.neighbours]}; {rows}"


def _units_words(c: Certificate) -> str:
    """What is protected of the numbers of units, and of their rows."""
    if c.neighbours != "add_or_remove_one":
        return "how many units there are is not protected, how many rows each of them owns is"
    if rows_source(c) == "public":
        return "how many units there are was declared public, how many rows each of them owns is protected"
    return "how many units there are, and how many rows each of them owns, is protected too"


def keys_lines(unit: Mapping[str, Any]) -> list[str]:
    """By which keys rows belong to a unit, and what was left out."""
    if not unit.get("keys"):
        return []
    told = [f"  - {key}" for key in unit["keys"]]
    return ["Rows belong to a unit by these keys; rows that hang on none, or lie beyond these numbers, were left out:",
            *told]  # fmt: skip


def _spent(entry: Mapping[str, Any]) -> str:
    return f": {entry_words(entry)}" if set(entry) - {"door", "name"} else ""


def entry_words(entry: Mapping[str, Any]) -> str:
    """What was asked through a door, and with how much noise."""
    return entry_from_json(entry).words


# --------------------------------------------------------------------------------------------------------------- facts


def facts_lines(c: Certificate) -> list[str]:
    """Every fact of the schema by its source, grouped by columns that have the same ones. Complete, however many."""
    lines = []
    for source, title in SOURCES.items():
        groups = facts_of(c.schema["provenance"], source)
        if source == "public":
            groups = [(STORAGE.format(where="every table" if "table" in c.unit else "the table"), ()), *groups]
        if not groups:
            continue
        lines.append(f"{title}:")
        for facts, columns in groups:
            told = f"{facts}: {columns_words(columns, c.schema['provenance'])}" if columns else facts
            lines += textwrap.wrap(told, WIDTH, initial_indent="  - ", subsequent_indent="    ",
                                   break_long_words=False, break_on_hyphens=False)  # fmt: skip
    return lines


def facts_of(provenance: Mapping[str, Mapping[str, str]], source: str) -> list[tuple[str, tuple[str, ...]]]:
    """(facts in words, columns that have exactly these from that source); facts of the table come first, alone."""
    groups: dict[str, list[str]] = {}
    for column, facts in provenance.items():
        if names := [FACTS.get(f, f) for f, how in facts.items() if SAME.get(how, how) == source]:
            told = ", ".join(names)
            whole = "database" if {"keys", "public"} & {*facts} else "table"
            groups.setdefault(told if column else f"of the {whole}: {told}", []).extend([column] if column else [])
    return sorted(((told, tuple(columns)) for told, columns in groups.items()), key=lambda group: bool(group[1]))


def columns_words(columns: Iterable[str], known: Mapping[str, Any]) -> str:
    """The names of columns, so that one ends where the next begins."""
    listed = [*columns]
    every = f"all {len(listed):,} columns: " if len(listed) > 1 and len(listed) == len([n for n in known if n]) else ""
    return every + ", ".join(map(quoted, listed))


# -------------------------------------------------------------------------------------------------------------- extras


def ledger_stamps(extras: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Where the books stood: of the run, or of the run at every site that kept some."""
    return [*extras.get("ledgers", ()), *([extras["ledger"]] if extras.get("ledger") else [])]


def hidden_sentence(c: Certificate) -> str:
    """Which columns were hidden and at which level: all that may be said of it in public. Empty where none was."""
    found = c.extras.get("hidden")
    if not found:
        return ""
    columns = "; ".join(", ".join(map(quoted, one)) for one in found["sets"])
    how = "" if c.epsilon is None else ", by a penalty that has been seen to hide nothing by itself,"
    return (
        f"Hidden columns: {columns}. Training was asked{how} to move their distribution until a test at "
        f"level {exact(found['alpha'])} tells it from the real one. This is not differential privacy, and nothing here "
        "says that it succeeded: only a test on the private rows does, in the owner's report where one was made"
    )


def shares_sentence(c: Certificate) -> str:
    """Whom the rows were asked to stand for, where that is not whom the table holds. Empty where nobody asked."""
    names = ", ".join(quoted(name) for name, _ in c.extras.get("target_shares") or ())
    asked = f"other shares of {names} than the table's" if names else c.extras.get("target")
    if not asked:
        return ""
    return f"Target: {asked} were asked for; how near the rows come to that is not promised"


def _tossed(c: Certificate) -> str:
    coins = c.extras["audit"].get("coins", "operating")
    return "" if str(coins).startswith("operating") else "; its coins came from a seed: a test, which bounds nothing"


def audit_sentence(found: Mapping[str, Any], confidence: float) -> str:
    """One finding of an audit: the bound rounded down, the most that could have been found rounded up."""
    claim = found["claim"]
    said = bound_sentence(found["metric"], found["lower_bound"], confidence, claim)
    at = "" if found.get("delta") is None else f" (at delta {exact(found['delta'])})"
    most = f"at most {up(found['ceiling'], 4)} could have been found"
    most += "" if claim is None or found["ceiling"] > claim else ": this bound could not have refuted the claim"
    unseen = f"; answers of {', '.join(found['left_out'])} are left out" if found.get("left_out") else ""
    return f"{said}{at}; {most}{unseen}"


def bound_sentence(metric: str, value: float, confidence: float, claim: float | None) -> str:
    """What a lower bound says of a claim, and what it does not."""
    said = f"{metric} is at least {_bound(value, claim)} at confidence {down(confidence, 6)}"
    if claim is None:
        return f"{said}; the audit cannot rule out larger values"
    if value > claim:
        return f"{said}: the claim of {exact(claim)} is refuted"
    return f"{said}; the audit cannot rule out the claim of {exact(claim)}, nor a larger value"


def _bound(value: float, claim: float | None) -> str:
    """A lower bound, rounded down; one that refutes a claim keeps as many digits as show it."""
    for digits in range(4, 15):
        text = down(value, digits)
        if claim is None or value <= claim or float(text.replace(",", "")) > claim:
            return text
    return exact(value)
