"""One private run from the command line: everything is checked first, then the budget is spent, then files appear."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from nacre.cli.conditions import parse_rebalance
from nacre.cli.groups import Declared
from nacre.cli.inputs import WatchedRows, check_target_column, estimated_rows, schema_for
from nacre.cli.progress import Bars
from nacre.cli.shell import Interrupted, Shell
from nacre.engines import Rows, open_rows
from nacre.errors import DataError, NacreError, TooLittleData
from nacre.owner import OwnerNotes
from nacre.privacy import transcript
from nacre.privacy.ledger.payment import Account
from nacre.release.release import Release
from nacre.run.fitting import carry_out
from nacre.run.requests import in_the_loss
from nacre.run.terms import Access, Terms
from nacre.table import Schema
from nacre.table.naming import choices

R = TypeVar("R")


@dataclass(frozen=True)
class Request:
    """One run, as it was asked for on the command line."""

    terms: Terms
    declared: Declared
    account: Account
    engine: str | None = None
    shares: tuple[str, ...] = ()  # of a target; they are read by the schema
    fitted: float = 1.0  # the share of the rows that reaches the fit: public, and the declared size shrinks by it

    def uncharged(self, **options: object) -> Request:
        """The same with other options of the method, charged to nobody."""
        terms = replace(self.terms, options={**self.terms.options, **options})
        return replace(self, terms=terms, account=Account())


def run(file: Any, asked: Request, shell: Shell, notes: OwnerNotes) -> Release:
    """The release of one run over a file, or over rows already opened.

    Whatever goes wrong, no file has been written; Ctrl-C says what had been opened.
    """
    terms = asked.terms
    asked.account.check(reads=terms.reads, seeded=terms.noise_seed is not None)
    _ = terms.budget  # a mistake in it shows before anything is opened
    in_the_loss(terms)
    rows = open_rows(file, options=asked.declared.options, engine=asked.engine)
    if isinstance(terms.weights, str) and terms.weights not in rows.column_names:
        others = choices(terms.weights, rows.column_names)
        raise DataError(f"--weights {terms.weights!r}: there is no such column; choose among {others}")
    about = asked.declared.rows or estimated_rows(file)

    def make(access: Access, bars: Bars) -> Release:
        schema = _schema(rows, asked, bars)
        shares = parse_rebalance(asked.shares, schema, "--target-shares") or None
        return carry_out(rows, schema, replace(terms, target_shares=shares), access)

    return carried(asked, about, (shell, notes), make)


def carried(asked: Request, about: int | None, told: tuple[Shell, OwnerNotes], make: Callable[[Access, Bars], R]) -> R:
    """What `make` makes of rows that are opened, about so many; whatever goes wrong, it is said what it has cost."""
    (shell, notes), terms, seen = told, asked.terms, transcript.Transcript()
    with Bars(not shell.quiet, {"reading rows": about}) as bars:
        access = Access(asked.account, None, seen, bars, notes)
        try:
            with warnings.catch_warnings():
                if not terms.go_on:
                    warnings.simplefilter("error", TooLittleData)
                made = make(access, bars)
        except KeyboardInterrupt:
            raise Interrupted(f"interrupted; nothing was written{_opened(seen, terms)}") from None
        except TooLittleData as error:
            spent = f"nothing was written{_opened(seen, terms)}"
            raise TooLittleData(f"{error}. Stopped before the fit ({spent}); --go-on makes it all the same") from None
        except NacreError as error:
            if not (seen.begun or seen.questions):
                raise
            raise type(error)(f"{error} (nothing was written{_opened(seen, terms)})") from None
    tell(shell, notes)
    return made


def tell(shell: Shell, notes: OwnerNotes) -> None:
    """What a run found out for the owner; columns that could not be read even with --quiet."""
    shell.tell_owner(notes.unreadable, always=True)
    shell.tell_owner([*notes.others, *notes.figures])


def _opened(seen: transcript.Transcript, terms: Terms) -> str:
    names = ", ".join(dict.fromkeys(q["entry"] for q in seen.questions))
    if not names and not seen.begun:
        return " and nothing was spent"
    if terms.epsilon is None:
        return "; the rows had been read, and what was found was thrown away unseen"
    given = f"answers to {names}" if names else "steps"
    # not unseen: an error may say what they showed
    return f"; the noisy {given} were thrown away. If you keep books, count the whole run as spent"


def _schema(rows: Rows, asked: Request, bars: Bars) -> Schema:
    """What is declared; a whole draft when nothing is and the data may be read (the guarantee is `none` then)."""
    declared, terms = asked.declared, asked.terms
    base = Schema.draft(WatchedRows(rows, bars)) if terms.reads and declared.schema is None else None
    schema = schema_for(rows.column_names, declared, base)
    check_target_column(terms.target, schema)
    if schema.rows is None or asked.fitted == 1:
        return schema
    return replace(schema, rows=max(1, round(asked.fitted * schema.rows)))
