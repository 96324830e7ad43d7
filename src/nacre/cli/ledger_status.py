"""`nacre ledger status` in print: every request with its units, and sums that a steward can check by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nacre.cli.shell import plain, table

SHOWN = 40  # requests of a population; earlier ones stand in one line, with their sum
STATES = ("settled", "opened", "reserved", "refunded")
MEANING = {
    "settled": "the run came to its end",
    "opened": "answers were given, or may have been; stays spent",
    "reserved": "no answer was given yet; can be refunded",
    "refunded": "given back before any answer; counts nothing",
}


def lines(told: Mapping[str, Any], every: bool) -> Iterator[Any]:
    """What is shown of one population, of `nacre.privacy.ledger.status.status`."""
    from nacre.privacy.certificate.rounding import down, exact, up

    policy, units, failure = told["policy"], told["units"], told["failure_units"]
    yield (
        f"population   {told['population']}: epsilon {exact(policy['epsilon'])} at delta {exact(policy['delta'])} for "
        f"all releases of one {policy['unit'] or 'row'} ({policy['neighbours']}); owner {policy['owner']}"
    )
    yield _entries(told, every)
    shown = table("", "requests", "units of mu\u00b2", "units of delta", "", right=("requests", "units of mu\u00b2",
                                                                              "units of delta"))  # fmt: skip
    for state in STATES:
        count = told["reservations"][state]
        shown.add_row(state, str(count), f"{units.get(state, 0):,}", f"{failure.get(state, 0):,}", MEANING[state])
    for name, meaning in (("spent", "settled + opened + reserved"), ("left", "cap - spent"), ("cap", "")):
        shown.add_row(name, "", f"{units[name]:,}", f"{failure[name]:,}", meaning)
    yield shown
    spent, most = up(told["epsilon_spent"], 4), policy["per_release"]
    yield (
        f"epsilon      spent {spent} of {exact(policy['epsilon'])}; one more release of epsilon "
        f"{down(told['epsilon_left'])} by Gaussian noise alone still fits"
        + (f" (by its policy one release takes {exact(most)} at most)" if most is not None else "")
    )
    yield (
        f"             Epsilons do not add: those above sum to {up(told['epsilon_added'])}, and all these releases "
        f"together cost {spent}.\n"
        "             What one row can change grows with mu\u00b2, the square of how far it moves an answer, "
        "in units of the noise:\n"
        f"             the columns of units add ({units['of']}, {failure['of']}), each up to its cap, and\n"
        "             an epsilon follows from their sums."
    )
    yield f"guarantee    {told['guarantee']}"


def _entries(told: Mapping[str, Any], every: bool) -> Any:
    from nacre.privacy.certificate.rounding import exact

    columns = ("units of mu\u00b2", "units of delta")
    shown = table("request", "at", "by", "state", "epsilon", *columns, right=("epsilon", *columns))
    found = told["entries"]
    early = [] if every else found[: max(0, len(found) - SHOWN)]
    if early:
        shown.add_row(f"{len(early):,} earlier ones", "", "", "", "", f"{sum(e['units'] for e in early):,}",
                      f"{sum(e['failure'] for e in early):,}")  # fmt: skip
    for e in found[len(early) :]:
        back = f" ({e['given_back']:,} given back)" if e["given_back"] else ""
        shown.add_row(plain(e["request"][:24]), e["made_at"][:16], plain(e["made_by"]), f"{e['state']}{back}",
                      "" if back else exact(e["epsilon"]), f"{e['units']:,}", f"{e['failure']:,}")  # fmt: skip
    shown.add_row("all", "", "", "", "", f"{sum(e['units'] for e in found):,}",
                  f"{sum(e['failure'] for e in found):,}", end_section=True)  # fmt: skip
    return shown
