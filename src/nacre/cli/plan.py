"""`plan`, `certificate` and `methods`: what will be, what was, and what could be promised."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nacre.cli import options as o
from nacre.cli import streams
from nacre.cli.comparison import comparison_tables, pair_parts, spread
from nacre.cli.groups import Declared, Histories, Model, Reading, grouped
from nacre.cli.shell import Shell, plain, table

if TYPE_CHECKING:
    from nacre.planning.comparison import Case, Line
    from nacre.planning.costs import Place
    from nacre.planning.forecast import ColumnForecast, Forecast
    from nacre.privacy.certificate.statement import Certificate
    from nacre.privacy.plan import Plan
    from nacre.run.terms import Terms
    from nacre.synthesizers.auto import Choice
    from nacre.table.database import Database
    from nacre.table.database.long import LongTable


@dataclass(frozen=True)
class Planned:
    """What is asked for."""

    epsilon: o.Epsilon = "1"
    delta: o.Delta = None
    target: o.Target = None
    method: o.Method = "sketch"
    neighbours: o.Neighbours = "add_or_remove_one"
    domain: o.Domain = "buy"
    hide: o.Hide = None
    alpha: o.Alpha = None
    target_shares: o.TargetShares = None
    option: o.MethodOption = None
    i_understand: o.Understand = False

    @property
    def model(self) -> Model:
        return Model(self.delta, self.target, self.method, self.neighbours, self.domain, self.hide, self.alpha,
                     option=self.option, i_understand=self.i_understand)  # fmt: skip

    def terms(self) -> Terms:
        return self.model.terms(self.epsilon)


@dataclass(frozen=True)
class Told:
    """What is known of the table."""

    rows: o.Rows = None
    persons: Histories = field(default_factory=Histories)
    reading: Reading = field(default_factory=Reading)


@grouped
def plan(
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="A schema (*.json), or a table: only its header is read.")
    ] = None,
    columns_from: Annotated[
        str | None, typer.Option(metavar="FILE", help="The same as naming a table: take the column names of this file.")
    ] = None,
    *,
    asked: Planned,
    told: Told,
    engine: o.Engine = None,
    as_json: o.Json = False,
) -> None:
    """Say what a run would cost and give, before anything is spent: noise, expected error, time and memory; how other
    methods and budgets compare, and what would help.

    No row is read: everything follows from the schema (or the column names) and the declared number of rows. Of a
    database, name its schema, and with --columns-from its data where the ids of public tables are not declared.

    Examples:
      nacre plan people.json --rows 20000 --epsilon 1 --target income
      nacre plan people.csv --rows 20000 --epsilon 0.5
      nacre plan parts.parquet --rows 100000000 --engine ray:8
      nacre plan clinic.json --columns-from clinic.sqlite --epsilon 1
      nacre plan visits.json --person patient --order admitted --cap 8
    """
    from nacre.cli.conditions import parse_rebalance
    from nacre.cli.inputs import check_target_column, schema_for
    from nacre.planning.comparison import Case
    from nacre.run.job import prepare
    from nacre.synthesizers.auto import choose

    shell = Shell(as_json)
    if (known := _database(file, columns_from, told)) is not None:
        return _plan_of_database(known, columns_from, asked.model.of_databases().terms(asked.epsilon), shell)
    schema, columns = _schema_and_columns(file, columns_from, told.reading)
    described = schema_for(columns, Declared(schema, told.rows, told.persons, told.reading))
    check_target_column(asked.target, described)
    terms = asked.terms().settled(described.rows)
    shares = parse_rebalance(asked.target_shares or (), described, "--target-shares") or None
    job = prepare(columns, described, replace(terms, target_shares=shares))
    place = _place(file or columns_from or "", engine)
    seen = job.forecast(place)
    case = Case(job.schema, job.plan.budget, job.method, job.settings, place)
    others, helping = _beside(case, seen, job.chosen is not None)
    chosen = choose(job.schema.inner, job.plan.budget, job.synthesizer.target, shares is not None)
    for part in [*_tell(job.plan, seen), _auto_line(chosen), *comparison_tables(others, helping)]:
        shell.show(part)
    beside = {"compared": [asdict(x) for x in others], "would_help": [asdict(x) for x in helping]}
    shell.document({**job.plan.to_json(), "notes": {**seen.to_json(), **beside, "auto": chosen._asdict()}})


def _database(file: str | None, columns_from: str | None, told: Told) -> Database | LongTable | None:
    """The database, or the long table, that the plan is for; None where it is for a table of single rows."""
    from nacre.table.database import Database
    from nacre.table.database.documents import describes

    if told.persons.person is not None:
        from nacre.cli.databases import long_table

        schema, _ = _schema_and_columns(file, columns_from, told.reading)
        return long_table(columns_from or file, Declared(schema, told.rows, told.persons, told.reading))
    if file is None or not file.lower().endswith(".json") or not describes(file):
        return None
    return Database.load(file)


def _plan_of_database(known: Database | LongTable, data: str | None, terms: Terms, shell: Shell) -> None:
    from nacre.cli import databases
    from nacre.privacy.certificate.owned import Owned
    from nacre.privacy.certificate.wording import whose

    job = databases.plan(known, data, terms)
    shell.show(f"{_headline(job.plan)} Protected is {whose(Owned(job.schema).protected)}.")
    shell.show(_doors(job.plan))
    shell.document(job.plan.to_json())


def _auto_line(chosen: Choice) -> str:
    """What `auto` takes for this table and promise, whatever method was named."""
    signal = "" if chosen.signal is None else f" (here {chosen.signal:,.0f} times)"
    return f"auto           takes {chosen.method}: {chosen.rule}{signal}"


def _beside(case: Case, seen: Forecast, chosen: bool) -> tuple[tuple[Line, ...], tuple[Line, ...]]:
    """Other plans beside this one, where its forecast has errors to compare, or nobody named its method."""
    from nacre.planning.comparison import comparable, compare, what_helps

    if not comparable(case):
        return (), ()
    others = compare(case) if seen.columns or chosen else ()
    return others, what_helps(case, seen) if seen.columns else ()


def _place(file: str, engine: str | None) -> Place:
    """How a run would read the rows: CSV, unless a table of another format is named."""
    from nacre.engines.cluster import workers_of
    from nacre.planning.costs import Place
    from nacre.table.sources import FORMATS

    ending = "." + file.rsplit(".", 1)[-1].lower()
    return Place(FORMATS.get(ending, "csv"), workers_of(engine) if engine else 0)


def _schema_and_columns(file: str | None, columns_from: str | None, reading: Reading) -> tuple[str | None, list[str]]:
    """A schema file (it has its own names), or the names in a table's header, no row of which is looked at; exactly one
    of the two."""
    from nacre.engines import open_rows
    from nacre.errors import NacreError

    if (file is None) == (columns_from is None):
        raise NacreError("name a schema file (*.json), or a table: one of the two")
    if file is not None and file.lower().endswith(".json"):
        return file, []
    source = streams.table(file or columns_from, reading.options())
    return None, list(open_rows(source, options=reading.options(), look=False).column_names)


def _headline(plan: Plan) -> str:
    """The plan in a line."""
    from nacre.privacy.certificate.rounding import exact

    budget = plan.budget
    promise = (
        "no promise (epsilon none)"
        if budget.epsilon is None
        else f"epsilon {exact(budget.epsilon)}, delta {exact(budget.delta)}"
    )
    return f"Plan of {plan.method}: {promise}, {budget.neighbours}. Nothing has been read or spent."


def _tell(plan: Plan, seen: Forecast) -> list[Any]:
    """The plan for people."""
    parts: list[Any] = [_headline(plan), _doors(plan)]
    if seen.columns:
        parts.append(_errors(seen))
    if seen.pair_tvd is not None and seen.verdict != "too little":
        parts += pair_parts(seen)
    if seen.rarest is not None:
        parts.append(f"categories     texts with fewer than about {seen.rarest:,} rows go to 'other'")
    if seen.domain is not None:
        parts.append(f"bought domain  rare texts and thin ends of a range are lost: about {seen.domain:.2f} per column")
    parts.append(f"time, memory   about {_seconds(seen.seconds)} and {seen.memory_mb:,.0f} MB on two cores")
    parts.append(f"verdict        {seen.advice}")
    return parts


def _doors(plan: Plan) -> Any:
    made = table(
        "entry", "door", "tables", "noise per cell", title="What will be asked", right=("tables", "noise per cell")
    )
    for entry in plan.entries:
        made.add_row(entry.name, entry.door, *entry.sheet)
    return made


def _errors(seen: Forecast) -> Any:
    title = f"Expected error of each column with {seen.rows:,} rows (distance: eight of ten within the range)"
    numbers = ("cells", "groups", "error of a count", "relative", "distance", "range", "at most")
    made = table("column", *numbers, title=title, right=numbers)
    bought = [c for c in seen.columns if c.cells is None]  # nothing but a name is known: they all look alike
    for c in [c for c in seen.columns if c.cells is not None] + bought[:1]:
        name = plain(c.name) if c.cells is not None else f"{len(bought)} columns to be bought, each"
        made.add_row(name, "?" if c.cells is None else f"{c.cells:,}", str(c.groups), *_numbers(c))
    return made


def _numbers(column: ColumnForecast) -> tuple[str, ...]:
    if column.groups == 1 and column.cells != 1:
        return "", "", "no detail left", "", ""
    error = (f"±{column.count_error:,.4g}", f"{column.relative_error:.1%}")
    return *error, f"{column.expected.value:.3f}", spread(column.expected), f"{column.tvd:.3f}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def certificate(
    release: Annotated[str, typer.Argument(metavar="RELEASE", help="A release file, *.nacre, or a sketch.")],
    as_json: o.Json = False,
) -> None:
    """Print the certificate of a release or sketch: what is promised, what it cost, what is assumed.

    What it says was spent is composed once more here: a certificate that promises more is refused.

    Examples:
      nacre certificate people.nacre
      nacre certificate people.nacre --json > people.certificate.json
      nacre certificate site1.sketch
    """
    shell = Shell(as_json)
    found = promise_in(release)
    shell.show(str(found))
    if found.epsilon is not None:
        shell.show(
            "Checked here: what was spent, as listed, is within the promise, its curve and its level. That it was "
            "spent so, and by whom, is not checked: only a signature proves who made a release"
        )
    shell.document(found.to_json())


def promise_in(path: str) -> Certificate:
    """The verified certificate in a file of a release or sketch."""
    from nacre.release.file import unpack
    from nacre.release.release import SKETCH, load

    if unpack(path)[0]["model.json"].get("method") == SKETCH:
        from nacre.sites.shared import load_sketch

        return load_sketch(path).certificate
    return load(path).certificate


def methods(as_json: o.Json = False) -> None:
    """List the methods, what they guarantee and their settings.

    Examples:
      nacre methods
      nacre methods --json
    """
    from nacre.synthesizers.registry import DATABASES, METHODS

    shell = Shell(as_json)
    made = table("method", "guarantee", "what it does", "settings (--option)")
    found = {}
    for name, method in {**METHODS, **DATABASES}.items():
        settings = method.load().defaults()
        told = ", ".join(f"{k}={_setting(v)}" for k, v in settings.items())
        made.add_row(name, method.guarantee, method.summary, told)
        found[name] = {"guarantee": method.guarantee, "summary": method.summary, "settings": settings}
    rules = {name: method.auto for name, method in METHODS.items() if method.auto}
    shell.show(made)
    shell.show("--method auto takes, by public facts alone (docs/methods/auto.md):")
    for name, rule in rules.items():
        shell.show(f"  {name}: {rule}")
    shell.document({"methods": found, "auto": rules})


def _setting(value: object) -> str:
    """A default as `--option` takes it."""
    if isinstance(value, bool | tuple):
        return json.dumps(value)
    return "auto" if value is None else value if isinstance(value, str) else format(value, "g")
