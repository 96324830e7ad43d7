"""Options that come in groups: a dataclass whose fields are options, taken by a command as one parameter."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, cast, get_type_hints

import typer

from nacre.cli import options as o
from nacre.cli.shell import Shell
from nacre.errors import NacreError

if TYPE_CHECKING:
    from nacre.privacy.ledger.payment import Account
    from nacre.run.terms import Terms
    from nacre.table import Schema
    from nacre.table.sources import Options

READING = "How the table is written (docs/sources.md)"
_WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}


def grouped(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the fields of its groups as options of their own, in their place, but for those that say how a
    table is written: they come last."""
    parameters = inspect.signature(command, eval_str=True).parameters.values()
    found = [e for p in parameters for e in _expanded(p.name, p.annotation, p.default)]
    every = [p for last in (False, True) for p, reading in found if reading is last]

    @functools.wraps(command)
    def called(**given: object) -> Any:
        return command(**{p.name: _collected(p.name, p.annotation, given) for p in parameters})

    called.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    called.__annotations__ = {p.name: p.annotation for p in every}
    return called


def _expanded(name: str, kind: object, default: object, reading: bool = False) -> list[tuple[inspect.Parameter, bool]]:
    """The options of a parameter, each with whether it says how a table is written."""
    if not dataclasses.is_dataclass(kind):
        return [(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind), reading)]
    hints, found = get_type_hints(kind, include_extras=True), []
    for f in dataclasses.fields(kind):
        start = inspect.Parameter.empty if f.default is dataclasses.MISSING else f.default
        found += _expanded(f.name, hints[f.name], start, reading or kind is Reading)
    return found


def _collected(name: str, kind: object, given: dict[str, Any]) -> Any:
    if not dataclasses.is_dataclass(kind):
        return given[name]
    hints, make = get_type_hints(kind, include_extras=True), cast(Callable[..., Any], kind)
    return make(**{f.name: _collected(f.name, hints[f.name], given) for f in dataclasses.fields(kind)})


# ------------------------------------------------------------------------------------------------------------ the voice


@dataclass(frozen=True)
class Voice:
    as_json: o.Json = False
    quiet: o.Quiet = False

    def shell(self, taken: bool = False) -> Shell:
        return Shell(self.as_json, self.quiet, taken)


# ------------------------------------------------------------------------------------------------------------ the table


def _option(name: str, metavar: str, help: str) -> Any:
    return typer.Option(name, metavar=metavar, rich_help_panel=READING, help=help)


@dataclass(frozen=True)
class Reading:
    """How the table is written."""

    input_format: Annotated[
        str | None,
        _option("--input-format", "FORMAT", "csv, jsonl, parquet, arrow or excel. Default: the ending of the name."),
    ] = None
    encoding: Annotated[
        str | None, _option("--encoding", "NAME", "Of text. Default: what a byte order mark says, else utf-8.")
    ] = None
    delimiter: Annotated[
        str | None, _option("--delimiter", "CHAR", "Default: the one of , ; tab | most frequent in the header line.")
    ] = None
    quote: Annotated[str | None, _option("--quote", "CHAR", 'Or none. Default: ".')] = None
    decimal: Annotated[str | None, _option("--decimal", "MARK", "Of numbers in text: '.' or ','.")] = None
    null: Annotated[
        list[str] | None, _option("--null", "TEXT", "Stands for a missing value, besides nothing at all; repeatable.")
    ] = None
    skip_lines: Annotated[int | None, _option("--skip-lines", "N", "Lines before the header line.")] = None
    columns: Annotated[
        str | None,
        _option("--columns", "NAMES", "Names of JSON Lines, a,b,c. Default: the schema's, or keys of the first line."),
    ] = None
    sheet_name: Annotated[
        str | None, _option("--sheet-name", "NAME", "Of an Excel file. Default: its first sheet.")
    ] = None

    def options(self, schema: str | None = None) -> Options:
        """With the names of the schema file, which are public, as those of a source that has none of its own."""
        from nacre.table import Schema
        from nacre.table.sources import NO_QUOTE, Options

        delimiter, quote = self.delimiter, self.quote
        found = Options(
            format=self.input_format,
            encoding=self.encoding,
            delimiter=None if delimiter is None else _WORDS.get(delimiter.lower(), delimiter),
            quote=NO_QUOTE if quote is not None and quote.lower() in ("none", "") else quote,
            decimal=self.decimal,
            null_words=tuple(self.null or ()),
            skip_lines=self.skip_lines,
            columns=None if self.columns is None else names_of(self.columns),
            sheet=self.sheet_name,
        )
        return found if schema is None else found.named(Schema.load(schema).names)

    def described(self, schema: Schema) -> Schema:
        """With this decimal mark for numbers of which the schema says nothing else, where a table is only compared;
        runs see by its storage which columns are texts."""
        if self.decimal is None:
            return schema
        columns = {name: column.marked(self.decimal) for name, column in schema.columns.items()}
        return dataclasses.replace(schema, columns=columns)


def names_of(text: str, option: str = "--columns") -> tuple[str, ...]:
    import csv

    names = next(csv.reader([text]), [])
    if not names or "" in names or len({*names}) < len(names):
        raise NacreError(f"{option} {text!r}: expected names, each once, with commas between: a,b,c")
    return tuple(names)


@dataclass(frozen=True)
class Persons:
    """Who is in the rows."""

    identifiers: o.Identifiers = None
    unit: o.Unit = None
    cap: o.Cap = None

    def __post_init__(self) -> None:
        if (self._named is None) != (self.cap is None):
            given, lacking = (self._option, "--cap") if self.cap is None else ("--cap", self._option)
            raise NacreError(
                f"{given} without {lacking}: '{self._option} patient_id --cap 5' protects all rows of a person "
                "together and uses at most 5 rows of each"
            )

    @property
    def _named(self) -> str | None:
        return self.unit

    @property
    def _option(self) -> str:
        return "--unit"


@dataclass(frozen=True)
class Histories(Persons):
    """The same, or persons whose rows hang together."""

    person: o.Person = None
    order: o.Order = None
    constant: o.Constant = None

    def __post_init__(self) -> None:
        if self.person is not None and self.unit is not None:
            raise NacreError("--person and --unit both say who is in the rows: with --person the rows of one hang "
                             "together, with --unit each stands for itself; give one of them")  # fmt: skip
        for option, value in (("--order", self.order), ("--constant", self.constant)):
            if value is not None and self.person is None:
                raise NacreError(f"{option} is about the rows of persons; add --person COLUMN and --cap")
        super().__post_init__()

    @property
    def _named(self) -> str | None:
        return self.person if self.person is not None else self.unit

    @property
    def _option(self) -> str:
        return "--unit" if self.person is None else "--person"


@dataclass(frozen=True)
class Declared:
    """What the command line declares about a table besides, or instead of, a schema file, and how it is written."""

    schema: o.SchemaFile = None
    rows: o.Rows = None
    persons: Histories = field(default_factory=Histories)
    reading: Reading = field(default_factory=Reading)

    @functools.cached_property
    def options(self) -> Options:
        """How tables are written; of a database, whose tables have their own names, by what was said alone."""
        from nacre.table.database.documents import describes

        return self.reading.options(None if self.schema is None or describes(self.schema) else self.schema)


# ---------------------------------------------------------------------------------------------------------- the promise


@dataclass(frozen=True)
class Charge:
    """Where the run is to be charged."""

    ledger: o.LedgerUrl = None
    population: o.Population = None
    request: o.Request = None

    def account(self) -> Account:
        from nacre.privacy.ledger.payment import Account

        return Account(self.ledger, self.population, self.request)


@dataclass(frozen=True)
class Model:
    """The method, and the promise but for its epsilon."""

    delta: o.Delta = None
    target: o.Target = None
    method: o.Method = "sketch"
    neighbours: o.Neighbours = "add_or_remove_one"
    domain: o.Domain = "buy"
    hide: o.Hide = None
    alpha: o.Alpha = None
    target_shares: o.TargetShares = None
    weights: o.WeightsFrom = None
    option: o.MethodOption = None
    seed: o.Seed = 0
    noise_seed: o.NoiseSeed = None
    i_understand: o.Understand = False
    charge: Charge = field(default_factory=Charge)
    go_on: o.GoOn = False

    def of_databases(self) -> Model:
        """The same, where "sketch" is the method for databases of that kind."""
        return dataclasses.replace(self, method="nested") if self.method == "sketch" else self

    def terms(self, epsilon: str) -> Terms:
        """All but the shares of a target, which are read by the schema."""
        from nacre.cli.inputs import parse_epsilon, parse_options
        from nacre.run.requests import with_hiding
        from nacre.run.terms import Terms

        options = parse_options(self.option or (), self.method)
        return Terms(
            epsilon=parse_epsilon(epsilon, self.i_understand),
            delta=self.delta,
            neighbours=self.neighbours,
            large=self.i_understand,
            method=self.method,
            target=self.target,
            domain=self.domain,
            options=with_hiding(self.method, options, self.hide or None, self.alpha),
            weights=self.weights,
            seed=self.seed,
            noise_seed=self.noise_seed,
            go_on=self.go_on,
        )


# ------------------------------------------------------------------------------------------------------------ the files


@dataclass(frozen=True)
class Written:
    """How rows are drawn into a file."""

    engine: o.Engine = None
    output_format: o.OutputFormat = None
    spreadsheet: o.Spreadsheet = False
    independent: o.Independent = False
    force: o.Force = False
