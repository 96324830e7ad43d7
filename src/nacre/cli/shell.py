"""What a command says and where: results on stdout, everything else on stderr, and one exit code per kind of ending."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import typer

OK, BUG, MISTAKE, NOT_HIDDEN, INTERRUPTED = 0, 1, 2, 3, 130
EXIT_CODES = {
    OK: "done",
    BUG: "a bug of ours",
    MISTAKE: "refused, or a mistake in what was asked",
    NOT_HIDDEN: "written, but the report finds that columns which were to be hidden are not",
    INTERRUPTED: "interrupted",
}
OWNER = "nacre: owner only:"
WARNINGS: list[str] = []  # public ones, given since the program was called


class Interrupted(Exception):
    """Ctrl-C, with what it means: what had been written, and whether anything was spent."""


def help_text(function: Callable[..., Any]) -> str:
    """The docstring as help: paragraphs flow, the block after `Examples:` keeps its lines."""
    told, _, examples = inspect.cleandoc(function.__doc__ or "").partition("Examples:\n")
    paragraphs = [" ".join(p.split()) for p in told.strip().split("\n\n")]
    shown = ["[bold]Examples[/bold]\n" + examples.rstrip()] if examples else []
    return "\n\n".join([*paragraphs, *shown])


class Shell:
    """The voice of one command.

    With `as_json` stdout carries exactly one JSON object; with `quiet` stderr carries errors only, and to the owner
    that columns could not be read. Where stdout is `taken` by the result itself, everything else goes to stderr.
    """

    def __init__(self, as_json: bool = False, quiet: bool = False, taken: bool = False):
        self.as_json, self.quiet, self.taken = as_json, quiet, taken

    def say(self, text: str) -> None:
        """A remark for people, on stderr."""
        if not self.quiet:
            typer.echo(visible(text), err=True)

    def tell_owner(self, lines: Sequence[str], always: bool = False) -> None:
        """What only the owner of the data may see: on stderr alone. The answer for machines is public, whole."""
        for line in lines:
            if always or not self.quiet:
                typer.echo(visible(f"{OWNER} {line}"), err=True)

    def show(self, renderable: object) -> None:
        """Text or a rich table for people, on stdout; nothing when stdout belongs to a machine."""
        if self.as_json or self.quiet:
            return
        if isinstance(renderable, str):
            typer.echo(visible(renderable), err=self.taken)
            return
        console(self.taken).print(renderable)

    def answer(self, data: Mapping[str, Any]) -> None:
        """The result for machines, with the warnings that were given; ignored without `--json`. Logs and pipelines keep
        it: public facts only."""
        self.document({**data, "warnings": list(WARNINGS)})

    def document(self, data: Mapping[str, Any]) -> None:
        """A document of a kind of its own (a certificate, a schema, a plan) for machines; ignored without `--json`."""
        if self.as_json:
            typer.echo(json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False))


def console(stderr: bool = False) -> Any:
    """A rich console; 120 characters wide when nobody is looking, so that pipes get whole lines."""
    from rich.console import Console

    looking = (sys.stderr if stderr else sys.stdout).isatty()
    return Console(highlight=False, stderr=stderr, width=None if looking else 120)


def table(*columns: str, title: str | None = None, right: tuple[str, ...] = ()) -> Any:
    """An empty rich table; the columns named in `right` are aligned to the right."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    for name in columns:
        made.add_column(name, justify="right" if name in right else "left", overflow="fold")
    return made


def plain(text: str) -> Any:
    """Text that rich must not read as markup: names and labels come from files."""
    from rich.text import Text

    return Text(visible(text))


def visible(text: str) -> str:
    """Text with control characters spelled out: names and certificates come from files, and a terminal obeys them."""
    return "".join(c if c in "\n\t" or c.isprintable() else repr(c)[1:-1] for c in text)
