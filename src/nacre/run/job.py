"""Planning from public facts: everything that is decided before a row is read."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from nacre.engines import open_rows
from nacre.errors import NacreError, SchemaError
from nacre.privacy import discovery
from nacre.privacy.plan import Plan
from nacre.run.checks import refuse_read, refuse_undeclared
from nacre.run.described import Given, described
from nacre.run.requests import in_the_loss, share_target, with_hiding, without
from nacre.run.terms import DOMAINS, Access, AskedShares, Terms
from nacre.synthesizers import auto
from nacre.synthesizers.base import Synthesizer
from nacre.synthesizers.registry import METHODS, make
from nacre.table import Schema
from nacre.table.database import Database
from nacre.table.database.long import LongTable
from nacre.table.sources import Options

if TYPE_CHECKING:
    from nacre.planning.costs import Place
    from nacre.planning.forecast import Forecast
    from nacre.release.release import Release
    from nacre.run.databases import DatabaseJob


@dataclass(frozen=True)
class Job:
    """A planned run: the method, what is known, the doors it will open; and what it was planned from."""

    synthesizer: Synthesizer
    schema: Schema
    plan: Plan
    terms: Terms
    given: Schema | None = None
    table: Any = None

    @property
    def method(self) -> str:
        """By its name: the one asked for, or the one that `auto` chose."""
        return self.synthesizer.name

    @property
    def chosen(self) -> str | None:
        """The rule by which `auto` chose the method, in words; None where it was named."""
        return METHODS[self.method].auto if self.terms.method == auto.AUTO else None

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the method, those that follow from what was asked for among them."""
        return {"target": self.terms.target, **self.terms.options, **in_the_loss(self.terms)}

    def forecast(self, place: Place | None = None) -> Forecast:
        """Expected errors, time and memory, and whether there is enough data: from public facts alone."""
        from nacre.planning.forecast import forecast

        return forecast(self.plan, self.schema, self.schema.rows, self.synthesizer, place)

    def fit(self, table: object = None, access: Access | None = None) -> Release:
        """The release: `nacre.fit` on these terms, of the table that was planned for or, after a plan from a schema
        alone, of this one. How it stores its columns is known only now: where texts are to be read as something else,
        one more door counts those that cannot be."""
        from nacre.run.fitting import carry_out

        found = self.table if table is None else table
        if found is None:
            raise NacreError("the plan was made from a schema; name the table that is to be fitted")
        return carry_out(found, self.given, self.terms, access or Access())


@overload
def plan(table: Database | LongTable, **asked: object) -> DatabaseJob: ...


@overload
def plan(table: object, *, schema: Database | LongTable, **asked: object) -> DatabaseJob: ...


@overload
def plan(table: object, *, schema: Schema | str | os.PathLike | None = None, **asked: object) -> Job: ...


def plan(  # type: ignore[reportInconsistentOverload]  # the keywords of all stand here alone
    table: object,
    *,
    epsilon: float | None,
    delta: float | None = None,
    schema: Given | None = None,
    target: str | None = None,
    method: str = "sketch",
    neighbours: str = "add_or_remove_one",
    domain: str = "buy",
    large: bool = False,
    options: Mapping[str, Any] | None = None,
    hide: Sequence[Any] | None = None,
    alpha: float | None = None,
    target_shares: AskedShares | None = None,
    seed: int = 0,
) -> Job | DatabaseJob:
    """Plan what `nacre.fit` would do, with its keywords. No private row is read and nothing is spent.

    `table` is what `nacre.fit` takes, of which only the names of columns are looked at, or a `Schema` or `Database`
    alone. The job has the doors it would open (`plan`), what to expect (`forecast()`, where the schema declares the
    number of rows), and `fit()`.
    """
    found, schema = (None, table) if isinstance(table, Schema | Database | LongTable) else (table, schema)
    given = described(schema, found)
    options = with_hiding(method, options, hide, alpha)
    terms = Terms(epsilon, delta, neighbours, large, method, target, domain, options, target_shares, seed=seed)
    if given is not None and not isinstance(given, Schema):
        from nacre.run import databases

        return databases.plan(found, given, terms)
    names = Options().named(given and given.names)
    columns = () if found is None else open_rows(found, options=names, look=False).column_names
    return dataclasses.replace(prepare(columns, given, terms), table=found)


def prepare(columns: Sequence[str], schema: Schema | None, terms: Terms, written: Collection[str] = ()) -> Job:
    """Plan a run from public facts: column names, those that are stored as texts (`written`), schema, terms. Raises
    before anything is spent."""
    if terms.domain not in DOMAINS:
        raise NacreError(f"domain={terms.domain!r}: expected one of {', '.join(DOMAINS)}")
    terms = terms.settled(schema.rows if schema else None)
    budget, given = terms.budget, schema
    schema = without(schema or discovery.unknown(columns), terms.beside)
    target = share_target(terms, schema)
    refuse_undeclared(undeclared(schema), terms)
    schema = discovery.rows_by_promise(schema, budget)
    refuse_read(schema, terms)
    synthesizer = make(_method(terms, schema, target), {"target": target, **terms.options, **in_the_loss(terms)})
    _refuse_mapped(schema, target)
    synthesizer.supports(schema.inner)
    plan = synthesizer.plan(schema.inner, schema.rows, budget, discovery.entries(schema, budget, written))
    return Job(synthesizer, schema, plan, dataclasses.replace(terms, target=target), given)


def _method(terms: Terms, schema: Schema, target: str | None) -> str:
    """The method that was named, or the one that `auto` takes; settings are of one method, whose name they need."""
    if terms.method != auto.AUTO:
        return terms.method
    if terms.options:
        first = next(iter(terms.options))
        raise NacreError(f"method 'auto' has no option {first!r}: settings are of one method; name that method")
    return auto.choose(schema.inner, terms.budget, target, terms.target_shares is not None).method


def _refuse_mapped(schema: Schema, target: str | None) -> None:
    """A target must be a column that is modelled as it is."""
    if target in schema.modelled and target not in schema.inner.modelled:
        rule = next(r for r in schema.rules if target in r.names)
        raise SchemaError(
            f"target {target!r} is made from other columns by a rule ({rule}), so nothing is counted by it; name "
            "another target, state the rule so that another column is made, or leave it out"
        )


def undeclared(schema: Schema) -> list[tuple[str, str]]:
    """(column, fact) that the schema lacks: a kind, or what a column of a kind must state."""
    unknown = {name for name, column in schema.columns.items() if isinstance(column, discovery.Undeclared)}
    return [(name, "kind" if name in unknown else fact) for name, fact in schema.undeclared()]
