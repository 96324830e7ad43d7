"""Options in groups: every field is an option of its own, in its place, and the command gets the groups whole."""

import inspect
from dataclasses import dataclass, field
from typing import Annotated

import typer
from typer.testing import CliRunner

from nacre.cli.groups import Reading, grouped


@dataclass(frozen=True)
class Inner:
    deep: Annotated[int, typer.Option(help="Within.")] = 1


@dataclass(frozen=True)
class Outer:
    wanted: Annotated[str, typer.Option(help="Required.")]
    inner: Inner = field(default_factory=Inner)
    null: Annotated[int, typer.Option(help="Named as one of Reading is elsewhere.")] = 2


@dataclass(frozen=True)
class Table:
    reading: Reading = field(default_factory=Reading)
    rows: Annotated[int, typer.Option(help="Of the table.")] = 3


def test_fields_are_options_and_arrive_as_groups():
    seen = []

    @grouped
    def command(name: str, outer: Outer, last: Annotated[bool, typer.Option("--last")] = False) -> None:
        seen.append((name, outer, last))

    app = typer.Typer()
    app.command()(command)
    done = CliRunner().invoke(app, ["a", "--wanted", "b", "--deep", "7", "--last"])
    assert done.exit_code == 0, done.output
    assert seen == [("a", Outer("b", Inner(7)), True)]
    assert CliRunner().invoke(app, ["a"]).exit_code == 2  # a field without a default is required


def test_only_what_says_how_a_table_is_written_comes_last():
    @grouped
    def plain(outer: Outer, end: int = 0) -> None: ...

    @grouped
    def reads(table: Table, end: int = 0) -> None: ...

    assert [*inspect.signature(plain).parameters] == ["wanted", "deep", "null", "end"]
    names = [*inspect.signature(reads).parameters]
    assert names[:2] == ["rows", "end"] and names[2] == "input_format" and "null" in names[2:]
