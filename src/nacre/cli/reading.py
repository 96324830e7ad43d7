"""The options that say how a table is written, the same for every command that reads one, as one `Options`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from nacre.errors import NacreError

READING = "How the table is written (docs/sources.md)"
_WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}


def _option(name: str, metavar: str, help: str) -> Any:
    return typer.Option(name, metavar=metavar, rich_help_panel=READING, help=help)


_GROUP: dict[str, Any] = {
    "input_format": Annotated[
        str | None,
        _option("--input-format", "FORMAT", "csv, jsonl, parquet, arrow or excel. Default: the ending of the name."),
    ],
    "encoding": Annotated[
        str | None, _option("--encoding", "NAME", "Of text. Default: what a byte order mark says, else utf-8.")
    ],
    "delimiter": Annotated[
        str | None, _option("--delimiter", "CHAR", "Default: the one of , ; tab | most frequent in the header line.")
    ],
    "quote": Annotated[str | None, _option("--quote", "CHAR", 'Or none. Default: ".')],
    "decimal": Annotated[str | None, _option("--decimal", "MARK", "Of numbers in text: '.' or ','.")],
    "null": Annotated[
        list[str] | None, _option("--null", "TEXT", "Stands for a missing value, besides nothing at all; repeatable.")
    ],
    "skip_lines": Annotated[int | None, _option("--skip-lines", "N", "Lines before the header line.")],
    "columns": Annotated[
        str | None,
        _option("--columns", "NAMES", "Names of JSON Lines, a,b,c. Default: the schema's, or keys of the first line."),
    ],
    "sheet_name": Annotated[str | None, _option("--sheet-name", "NAME", "Of an Excel file. Default: its first sheet.")],
}


def reads(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the options of this group in place of its parameter `reading`, an `Options`."""
    signature = inspect.signature(command, eval_str=True)
    own = [p for p in signature.parameters.values() if p.name != "reading"]
    shared = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=kind)
        for name, kind in _GROUP.items()
    ]

    @functools.wraps(command)
    def called(**given: Any) -> Any:
        asked = {name: given.pop(name, None) for name in _GROUP}
        return command(**given, reading=_options(asked))

    called.__signature__ = signature.replace(parameters=[*own, *shared])  # type: ignore[attr-defined]
    called.__annotations__ = {p.name: p.annotation for p in (*own, *shared)}
    return called


def _options(asked: dict[str, Any]) -> Any:
    from nacre.table.sources import NO_QUOTE, Options

    delimiter, quote = asked["delimiter"], asked["quote"]
    columns = asked["columns"]
    return Options(
        format=asked["input_format"],
        encoding=asked["encoding"],
        delimiter=None if delimiter is None else _WORDS.get(delimiter.lower(), delimiter),
        quote=NO_QUOTE if quote is not None and quote.lower() in ("none", "") else quote,
        decimal=asked["decimal"],
        null_words=tuple(asked["null"] or ()),
        skip_lines=asked["skip_lines"],
        columns=None if columns is None else names_of(columns),
        sheet=asked["sheet_name"],
    )


def names_of(text: str) -> tuple[str, ...]:
    import csv

    names = next(csv.reader([text]), [])
    if not names or "" in names or len({*names}) < len(names):
        raise NacreError(f"--columns {text!r}: expected names, each once, with commas between: a,b,c")
    return tuple(names)


def for_schema(reading: Any, schema: str | None) -> Any:
    """With the names of the schema file, which are public, as those of a source that has none of its own."""
    if schema is None:
        return reading
    from nacre.table import Schema

    return reading.named(Schema.load(schema).names)
