"""`nacre ledger`: the budget of a population over all releases."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from nacre.cli import options as o
from nacre.cli.groups import Voice, grouped
from nacre.cli.shell import Shell, help_text, plain, table
from nacre.privacy.certificate.rounding import exact

if TYPE_CHECKING:
    from nacre.privacy.ledger.books import Ledger
    from nacre.privacy.ledger.policy import Policy

app = typer.Typer(no_args_is_help=True, help="The budget of a population over all releases: caps that hold.")
Url = Annotated[
    str | None, typer.Argument(metavar="[LEDGER]", help="A path, or postgresql://...; default: NACRE_LEDGER.")
]
Population = Annotated[str | None, typer.Option("--population", "-p", metavar="NAME", help="Only this population.")]


def _opened(url: str | None, create: bool = False) -> Ledger:
    import os

    from nacre.errors import LedgerRequired
    from nacre.privacy.ledger.books import open_ledger
    from nacre.privacy.ledger.payment import LEDGER

    found = url or os.environ.get(LEDGER)
    if not found:
        raise LedgerRequired(f"name the ledger: a path or postgresql://..., or set {LEDGER}")
    return open_ledger(found, create)


@dataclass(frozen=True)
class Cap:
    """The budget of a population, for good."""

    epsilon: Annotated[str, typer.Option("--epsilon", "-e", metavar="NUMBER", help="Cap of all releases together.")]
    delta: Annotated[float, typer.Option(help="The delta of the cap.")] = 1e-6
    per_release: Annotated[float | None, typer.Option(help="Largest epsilon of one release, at that delta.")] = None
    neighbours: o.Neighbours = "add_or_remove_one"
    unit: Annotated[str | None, typer.Option(metavar="COLUMN", help="Who is protected; default: one row.")] = None
    who: Annotated[list[str] | None, typer.Option(metavar="USER", help="Who may spend; repeatable.")] = None

    def policy(self) -> Policy:
        from nacre.cli.inputs import parse_epsilon
        from nacre.errors import LedgerError
        from nacre.privacy.ledger.policy import Policy

        if (epsilon := parse_epsilon(self.epsilon)) is None:
            raise LedgerError("--epsilon none: a cap is a number; a run without a promise is charged to no ledger")
        return Policy(epsilon, self.delta, self.neighbours, self.unit, self.per_release, tuple(self.who or ()))


def init(
    population: Annotated[str, typer.Option("--population", "-p", metavar="NAME", help="Whose rows they are.")],
    cap: Cap,
    url: Url = None,
    *,
    voice: Voice,
) -> None:
    """Give a population its cap, in a new ledger or in one that is there. A cap is for good.

    Examples:
      nacre ledger init books.sqlite --population patients --epsilon 3 --per-release 1
      nacre ledger init postgresql://nacre@db/books -p patients -e 3 --unit patient --who ana --who ben
    """
    policy = cap.policy()
    ledger = _opened(url, create=True)
    row = ledger.create(population, policy)
    shell = voice.shell()
    shell.show(f"ledger       {ledger.url} ({ledger.identity})")
    shell.show(
        f"population   {population}: epsilon {exact(policy.epsilon)} at delta {exact(policy.delta)} for all releases "
        "together"
    )
    shell.show(f"next         nacre synth FILE -o fake.csv -e 1 --ledger {ledger.url} --population {population}")
    shell.answer({"command": "ledger init", "ledger": ledger.identity, "population": population, "head": row.hash})


def status(
    url: Url = None,
    population: Population = None,
    every: Annotated[bool, typer.Option("--all", help="Each request, however many there are.")] = False,
    *,
    voice: Voice,
) -> None:
    """Show what every population has spent, request by request, and what is left, in figures that add up.

    Units add, epsilons do not: see the lines below each table. What was spent is rounded up, what is left down.

    Examples:
      nacre ledger status books.sqlite
      nacre ledger status books.sqlite --population patients --all
    """
    from nacre.cli.ledger_status import lines
    from nacre.privacy.ledger.status import status as figures

    shell, ledger = voice.shell(), _opened(url)
    names = _named(ledger, population)
    ledger.verify(names)
    found = [figures(ledger.rows(name)) for name in names]
    for told in found:
        for line in lines(told, every):
            shell.show(line)
    _say_if_old(shell, ledger)
    shell.answer({"command": "ledger status", "ledger": ledger.identity, "populations": found})


def history(url: Url = None, population: Population = None, *, voice: Voice) -> None:
    """List every row: who reserved, opened, settled or refunded what, and when.

    Examples:
      nacre ledger history books.sqlite --population patients
    """

    shell, ledger = voice.shell(), _opened(url)
    rows = [row for name in _named(ledger, population) for row in ledger.rows(name)]
    shown = table("population", "row", "what", "reservation", "epsilon", "units", "by", "at", right=("row", "units"))
    for row in rows:
        facts = row.facts
        epsilon = facts.get("budget", {}).get("epsilon")
        told = f"{row.kind} ({facts['reason']})" if "reason" in facts else row.kind
        shown.add_row(plain(row.population), str(row.sequence), plain(told), row.reservation[:12],
                      "" if epsilon is None else exact(epsilon), f"{row.units:,}", plain(row.made_by),
                      row.made_at)  # fmt: skip
    shell.show(shown)
    shell.answer({"command": "ledger history", "ledger": ledger.identity, "rows": [row.as_dict() for row in rows]})


def verify(
    url: Url = None,
    population: Population = None,
    release: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="A release made with this ledger; repeatable.")
    ] = None,
    *,
    voice: Voice,
) -> None:
    """Check every row, and that no release knows more than the ledger: a restored backup is found out by that.

    Examples:
      nacre ledger verify books.sqlite
      nacre ledger verify books.sqlite --release people.nacre --release visits.nacre
    """
    from nacre.cli.plan import promise_in
    from nacre.errors import LedgerError
    from nacre.privacy.certificate.wording import ledger_stamps

    shell, ledger = voice.shell(), _opened(url)
    stamps = []
    for path in release or ():
        here = ledger_stamps(promise_in(path).extras)
        if len(here) > 1:  # sites with books of their own: only these can be checked here
            here = [stamp for stamp in here if stamp.get("ledger") == ledger.identity] or here
        if not here:
            raise LedgerError(f"{path}: its certificate names no ledger; it was made without one")
        stamps += here
    heads = ledger.verify([population] if population else (), stamps)
    for name, row in heads.items():
        shell.show(f"sound        {name}: {row.sequence + 1} rows, head {row.hash}")
    _say_if_old(shell, ledger)
    shell.answer({"command": "ledger verify", "ledger": ledger.identity, "releases": len(stamps),
                  "heads": {name: [row.sequence, row.hash] for name, row in heads.items()}})  # fmt: skip


def export(
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The JSON file to write.")],
    url: Url = None,
    force: o.Force = False,
    *,
    voice: Voice,
) -> None:
    """Write all rows as JSON, after verifying them: for archives and auditors.

    Examples:
      nacre ledger export books.sqlite -o books.json
    """
    from nacre.table.writing import write_text

    shell, ledger = voice.shell(), _opened(url)
    ledger.verify()
    rows = {name: [row.as_dict() for row in ledger.rows(name)] for name in ledger.populations()}
    write_text(output, json.dumps({"ledger": ledger.identity, "populations": rows}, indent=1) + "\n", force)
    shell.show(f"wrote        {output} ({sum(map(len, rows.values())):,} rows)")
    shell.answer({"command": "ledger export", "output": output, "ledger": ledger.identity})


def refund(
    reservation: Annotated[str, typer.Option(metavar="ID", help="As `nacre ledger history --json` shows it.")],
    reason: Annotated[str, typer.Option(help="Why; it is recorded.")],
    population: Annotated[str, typer.Option("--population", "-p", metavar="NAME", help="Its population.")],
    url: Url = None,
    *,
    voice: Voice,
) -> None:
    """Give back a reservation for which no answer was given. What was opened stays spent.

    Examples:
      nacre ledger refund books.sqlite -p patients --reservation 0f3a... --reason 'the machine was switched off'
    """
    shell, ledger = voice.shell(), _opened(url)
    row = ledger.refund(population, reservation, reason)
    shell.show(f"refunded     {reservation}: {-row.units:,} units")
    shell.answer({"command": "ledger refund", "reservation": reservation, "head": row.hash})


def upgrade(url: Url = None, *, voice: Voice) -> None:
    """Have the database refuse all that this version of nacre refuses, after looking at every row.

    For ledgers of earlier versions, and where rules were taken away. In PostgreSQL the owner of the tables does it: who
    could add rows by SQL can then add them by the rules only. A file is brought up to date by the first who spends.

    Examples:
      nacre ledger upgrade postgresql://nacre@db/books
    """
    shell, ledger = voice.shell(), _opened(url)
    names = ledger.upgrade()
    shell.show(f"upgraded     {ledger.url}: {len(names)} populations, every row is sound")
    shell.answer({"command": "ledger upgrade", "ledger": ledger.identity, "populations": names})


def grant(
    url: Annotated[str, typer.Argument(metavar="LEDGER", help="postgresql://..., as its owner.")],
    users: Annotated[list[str], typer.Argument(metavar="USER...", help="Roles of the database.")],
    *,
    voice: Voice,
) -> None:
    """Let users of the database read a ledger in PostgreSQL and spend by its rules, and nothing else.

    Whom a population lets spend, and how much, is up to its policy (`nacre ledger init --who`).

    Examples:
      nacre ledger grant postgresql://nacre@db/books ana ben
    """
    shell, ledger = voice.shell(), _opened(url)
    for user in users:
        ledger.grant(user)
        shell.show(f"granted      {user} may read {ledger.url} and spend by its rules")
    shell.answer({"command": "ledger grant", "ledger": ledger.identity, "users": users})


def _say_if_old(shell: Shell, ledger: Ledger) -> None:
    if told := ledger.old_rules():
        shell.say(f"nacre: {told}")


def _named(ledger: Ledger, population: str | None) -> list[str]:
    return [population] if population else ledger.populations()


for _command in (init, status, history, verify, export, refund, upgrade, grant):
    app.command(help=help_text(_command))(grouped(_command))
