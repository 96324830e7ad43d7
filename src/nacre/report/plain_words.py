"""The certificate in plain words, for readers who have never met epsilon. Words only; pages set them.

Every figure follows from the definition: for any set S of outcomes and neighbouring tables D and D',
P[S | D] ≤ e^ε·P[S | D'] + δ, both ways.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nacre.privacy.certificate.rounding import exact, one_in, percent_up, up
from nacre.privacy.certificate.wording import neighbours_words, rows_source
from nacre.privacy.certificate.wording import whose as of_database

if TYPE_CHECKING:
    from nacre.privacy.certificate.statement import Certificate

FALSE_ALARMS = (0.001, 0.01, 0.05, 0.1)
LEVELS = {
    "proven": "Every step that read private rows has a written proof, and the proof covers the arithmetic as the "
    "computer does it, rounding included.",
    "proven (real arithmetic)": "Every step that read private rows has a written proof, which takes arithmetic with "
    "unlimited precision for granted. Computers round, and what rounding could reveal is not covered by the proof.",
    "conditional": "The promise holds only if the conditions listed below hold, and at least one is not proved.",
    "none": "No privacy promise is made. Treat the synthetic table and everything made with it as if it were the "
    "private data.",
}
NEIGHBOUR_WORDS = {
    "add_or_remove_one": "the {data} with {whose} and the same {data} without",
    "zero_out": "the {data} with {whose} and the same {data} in which {that} is left out of every count",
    "replace_one": "the {data} with {whose} and the same {data} in which {that} is exchanged for any other",
}


@dataclass(frozen=True)
class Words:
    """`headline` says it in one sentence, `paragraphs` explain it, `not_promised` lists what it does not cover."""

    headline: str
    paragraphs: tuple[str, ...]
    not_promised: tuple[str, ...]


def whose(unit: Mapping[str, Any]) -> str:
    """Whose data the promise is about."""
    if "table" in unit:
        return of_database(unit)
    if not unit.get("column"):
        return "one row"
    cap = unit.get("cap", 1)
    return f"all rows of one {unit['column']} (at most {cap} {'row' if cap == 1 else 'rows'} each)"


def detection(epsilon: float, delta: float, false_alarm: float) -> float:
    """The most that any test can detect, as a share, at a given rate of false alarms.

    The definition read both ways: power ≤ e^ε·α + δ and power ≤ 1 − e^−ε·(1 − δ − α).
    """
    grown = false_alarm * math.exp(min(epsilon, 700.0)) + delta
    return min(1.0, grown, 1 - math.exp(-epsilon) * max(0.0, 1 - delta - false_alarm))


def plain(certificate: Certificate) -> Words:
    """The promise of a certificate, or that there is none."""
    return _promised(certificate) if certificate.epsilon is not None else _nothing(certificate)


def _nothing(certificate: Certificate) -> Words:
    because = f" The reason: {'; '.join(certificate.reasons)}." if certificate.reasons else ""
    return Words(
        "No privacy promise is made.",
        (
            LEVELS["none"] + because,
            "Without a promise there is no number to give: any figure that looks like a measure of privacy would be "
            "misleading, so none is printed here.",
        ),
        ("Nothing is promised. Rows of the synthetic table may repeat rows of private people.",),
    )


def _promised(c: Certificate) -> Words:
    assert c.epsilon is not None and c.delta is not None  # a promise has both
    who, factor = whose(c.unit), math.exp(c.epsilon)
    that = "that row" if not c.unit.get("column") else f"that {c.unit['column']}"
    that = "that unit" if "table" in c.unit else that
    pair = NEIGHBOUR_WORDS.get(c.neighbours, "two neighbouring tables")
    pair = pair.format(whose=who, that=that, data="database" if "table" in c.unit else "table")
    sure = factor / (1 + factor)
    strength = " A factor this large rules out little by itself." if factor > 50 else ""
    epsilon, delta = f"epsilon\u00a0=\u00a0{exact(c.epsilon)}", f"Delta\u00a0=\u00a0{exact(c.delta)}"
    return Words(
        f"What anyone can learn from this release about {who} has a limit, whatever they know already.",
        (
            f"The promise compares two worlds: {pair}. Whatever is released, its probability in one world is at most "
            f"{up(factor)} times its probability in the other, save for the slack delta. The factor is e to the "
            f"power epsilon, with {epsilon}. This holds whatever an attacker knows already and however much they "
            f"compute, now or later.{strength}",
            f"For example, leaving delta aside, someone who thought it as likely as not that {who} was used may be at "
            f"most {at_most_percent(sure)} sure of it after seeing the release.",
            f"{delta} is the slack of the promise: no set of outcomes is more likely than the factor allows by more "
            f"than {_one_in(c.delta)}. It should lie far below one in the number of rows.",
            LEVELS.get(c.guarantee, f"The level of this promise is: {c.guarantee}."),
        ),
        _limits(c, who),
    )


def _limits(c: Certificate, who: str) -> tuple[str, ...]:
    limits = [
        "Facts about people in general are meant to come through. If a trait is common in a group, the release shows "
        "it, and it may be guessed of members of that group, whether or not they are in the table.",
        "A synthetic row may equal a real one by chance. The promise is that a row's own data changed the odds "
        "of that by no more than the factor above, not that it cannot happen.",
        "Every other release about the same people adds to this one: at worst, the epsilons and the deltas of all "
        "releases add up.",
        "Facts marked public in the schema, all of which are listed here, are not protected.",
        "The promise is about privacy. It does not say that the synthetic table is accurate.",
        "This page does not prove who made the release: what it lists was composed anew to make the page, but that the "
        "doors were opened so, and no others, only a signature of whoever made it can vouch for.",
    ]
    if not c.unit.get("column") and "table" not in c.unit:
        limits.insert(
            0,
            "The promise is for one row. A person with k rows is protected less: the factor above is raised to the "
            "power k, and delta grows too.",
        )
    else:
        limits.insert(0, f"It protects {who}. Rows beyond that number were left out, and no other unit is protected.")
    return tuple(limits)


def numbers(c: Certificate) -> list[tuple[str, str]]:
    """The promise in numbers: pairs of name and figure. Without a promise no epsilon and no delta appear."""
    found = [("Guarantee", c.guarantee), ("Method", c.method)]
    if c.epsilon is not None and c.delta is not None:
        found += [
            ("Epsilon", exact(c.epsilon)),
            ("Delta", exact(c.delta)),
            ("Largest change of odds, e to the power epsilon", up(math.exp(c.epsilon))),
            ("Neighbours", f"{c.neighbours}: {neighbours_words(c)}"),
            ("Protected unit", whose(c.unit)),
        ]
    rows = c.schema.get("rows")
    what = "Units" if "table" in c.unit else "Rows"
    found += [(what, f"{rows:,}, {_source(c)}" if rows is not None else "not stated")]
    return [*found, ("Source of the noise", c.noise), ("Fingerprint of the schema", str(c.schema.get("digest", "")))]


def _source(c: Certificate) -> str:
    """Where the number of rows came from."""
    return {
        "bought": "learned with noise, paid for out of the budget",
        "read": "read from the table without protection",
        "unattested": "from another document, not attested to be public",
    }.get(rows_source(c) or "", "public")


def at_most_percent(share: float) -> str:
    """A bound on a chance; only certainty reads 100 %."""
    if share > 0.999999:
        return "100\u00a0%" if share >= 1 else "nearly 100\u00a0%"
    return f"{percent_up(share, 3 if share < 0.999 else 6)}\u00a0%"


def _one_in(delta: float) -> str:
    return f"1 in {one_in(delta)}" if delta < 0.5 else up(delta)
