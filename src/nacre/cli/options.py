"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

MODEL, TABLE, FILES, VOICE = "The promise and the method", "What is declared about the table", "Files", "Output"

TableFile = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="The private table: CSV, JSON Lines, Parquet, Arrow, Excel, 'parts/*.csv', or - (stdin); or a database: "
        "a folder, a SQLite or DuckDB file.",
    ),
]
Epsilon = Annotated[
    str, typer.Option("--epsilon", "-e", metavar="NUMBER", rich_help_panel=MODEL, help="Privacy budget; 1 is usual.")
]
MaybeTableFile = Annotated[str | None, typer.Argument(metavar="[FILE]", help="The private table; or --from-sketch.")]
MaybeEpsilon = Annotated[
    str | None,
    typer.Option("--epsilon", "-e", metavar="NUMBER", rich_help_panel=MODEL, help="Privacy budget; 1 is usual."),
]
FromSketch = Annotated[
    str | None, typer.Option(metavar="FILE", rich_help_panel=MODEL, help="A sketch, merged or not, instead of a table.")
]
Delta = Annotated[
    float | None,
    typer.Option(
        rich_help_panel=MODEL, help="Default: 10^-max(6, 1.5 log10 rows, rounded up) of declared rows, else 1e-6."
    ),
]
Neighbours = Annotated[str, typer.Option(rich_help_panel=MODEL, help="add_or_remove_one, zero_out or replace_one.")]
Method = Annotated[str, typer.Option(rich_help_panel=MODEL, help="See `nacre methods`; auto chooses by public facts.")]
Target = Annotated[
    str | None, typer.Option(rich_help_panel=MODEL, help="The column to predict: its relation to all pairs is kept.")
]
Domain = Annotated[
    str,
    typer.Option(
        rich_help_panel=MODEL,
        help="What is not declared: buy it with part of the budget, refuse it (declared), or read it (from-data: no "
        "guarantee).",
    ),
]
MethodOption = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", rich_help_panel=MODEL, help="A setting of the method; repeatable."),
]
Hide = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN", rich_help_panel=MODEL,
        help="A column whose distribution must not be shown (method ppem); repeatable. Several sets with a test each: "
        "--option 'hide=[[\"a\",\"b\"],[\"c\"]]'. Not differential privacy.",
    ),
]  # fmt: skip
Alpha = Annotated[
    float | None,
    typer.Option(rich_help_panel=MODEL, help="Level of the test that tells hidden columns from real. [default: 0.05]"),
]
TargetShares = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SHARES", rich_help_panel=MODEL,
        help="Public shares that a column shall have instead of the table's: 'sex=F:0.5,M:0.5', "
        "'age=..40:0.3,41..:0.7'; repeatable.",
    ),
]  # fmt: skip
WeightsFrom = Annotated[
    str | None,
    typer.Option(
        "--weights", metavar="COLUMN", rich_help_panel=MODEL,
        help="A column that says how many people each row stands for (methods weighted and mmdgan).",
    ),
]  # fmt: skip
Understand = Annotated[
    bool, typer.Option("--i-understand", metavar="", rich_help_panel=MODEL, help="Allow an epsilon above 20.")
]
GoOn = Annotated[
    bool,
    typer.Option(
        "--go-on", rich_help_panel=MODEL,
        help="Do not stop where there is too little data, or where declared columns cannot be read.",
    ),
]  # fmt: skip
Seed = Annotated[int, typer.Option(rich_help_panel=MODEL, help="Seed of public randomness; no part of the promise.")]
NoiseSeed = Annotated[
    int | None, typer.Option(rich_help_panel=MODEL, help="Repeatable noise, for tests: there is no guarantee then.")
]
SchemaFile = Annotated[
    str | None, typer.Option("--schema", metavar="FILE", rich_help_panel=TABLE, help="Schema, as JSON.")
]
Rows = Annotated[
    int | None, typer.Option(min=1, rich_help_panel=TABLE, help="Number of rows of the table, if it is public.")
]
Identifiers = Annotated[
    list[str] | None,
    typer.Option("--id", metavar="COLUMN", rich_help_panel=TABLE, help="Identifier, never learnt; repeatable."),
]
Unit = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", rich_help_panel=TABLE, help="Whose rows are protected together; needs --cap."),
]
Cap = Annotated[
    int | None, typer.Option(min=1, rich_help_panel=TABLE, help="At most so many rows of each unit are used.")
]
Person = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", rich_help_panel=TABLE, help="Whose rows are histories; needs --cap. See --order."),
]
Order = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", rich_help_panel=TABLE, help="By which the rows of a person stand in order."),
]
Constant = Annotated[
    str | None,
    typer.Option(metavar="NAMES", rich_help_panel=TABLE, help="Columns with one value for each person, a,b,c."),
]
LedgerUrl = Annotated[
    str | None,
    typer.Option("--ledger", metavar="URL", rich_help_panel=MODEL, help="Charge the run there; see `nacre ledger`."),
]
Population = Annotated[
    str | None, typer.Option(metavar="NAME", rich_help_panel=MODEL, help="Whose rows they are, in the ledger.")
]
Request = Annotated[
    str | None, typer.Option(metavar="KEY", rich_help_panel=MODEL, help="Asked twice under this name, charged once.")
]
Engine = Annotated[
    str | None,
    typer.Option(metavar="NAME", rich_help_panel=FILES, help="Workers of a cluster: ray, ray:4 or ray://HOST:PORT."),
]
TableOut = Annotated[
    str, typer.Option("--output", "-o", metavar="FILE", help="The synthetic table to write; - for stdout.")
]
ReleaseOut = Annotated[
    str, typer.Option("--output", "-o", metavar="FILE", help="The release to write, *.nacre; - for stdout.")
]
OutputFormat = Annotated[
    str | None,
    typer.Option(metavar="FORMAT", rich_help_panel=FILES, help="For --output -: csv (default), tsv, parquet or arrow."),
]
Spreadsheet = Annotated[
    bool,
    typer.Option(
        "--spreadsheet",
        metavar="",
        rich_help_panel=FILES,
        help="For CSV that is opened in a spreadsheet: an apostrophe before texts that it would run as formulas.",
    ),
]
Independent = Annotated[
    bool,
    typer.Option(
        "--independent",
        metavar="",
        rich_help_panel=FILES,
        help="Draw every row for itself: counts vary as those of a sample do, not as little as they can.",
    ),
]
Force = Annotated[
    bool, typer.Option("--force", "-f", metavar="", rich_help_panel=FILES, help="Overwrite files that exist.")
]
Json = Annotated[
    bool, typer.Option("--json", metavar="", rich_help_panel=VOICE, help="One JSON object on stdout, for machines.")
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        metavar="",
        rich_help_panel=VOICE,
        help="Say nothing but errors, and which columns could not be read.",
    ),
]
SampleSeed = Annotated[int | None, typer.Option(help="Makes the drawing repeatable; has nothing to do with privacy.")]
