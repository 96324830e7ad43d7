"""Curators of made-up rows: nobody is behind them, so there is no budget to spend, and no ledger is asked."""

from __future__ import annotations

from nacre.privacy.curator import Curator
from nacre.privacy.nested.curator import NestedCurator


class MadeUpRoom(Curator):
    """A curator for audits on made-up tables, which may run where a ledger is mandatory for all others."""

    def _pay(self) -> None:
        pass


class MadeUpUnits(NestedCurator):
    """The same for the tables of a database."""

    def _pay(self) -> None:
        pass
