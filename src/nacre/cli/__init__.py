"""The command line. What its exit codes mean is in `shell.EXIT_CODES` and, at length, in docs/cli.md.

Commands import what they need when they run, so that `nacre --help` stays fast.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from nacre.cli import audit, demo, evaluate, ledger, plan, records, schema, sketching, synth, tables
from nacre.cli.shell import BUG, EXIT_CODES, INTERRUPTED, MISTAKE, OK, OWNER, WARNINGS, Interrupted, help_text, visible
from nacre.cli.streams import close_all
from nacre.errors import NacreError, OwnerWarning

app = typer.Typer(
    name="nacre",
    no_args_is_help=True,
    rich_markup_mode="rich",
    add_completion=False,
    pretty_exceptions_enable=False,
)
_COMMANDS = (synth.synth, synth.fit, synth.sample, evaluate.evaluate, plan.plan, plan.certificate, plan.methods)
for _command in (
    *_COMMANDS,
    tables.tables,
    records.patients,
    audit.audit,
    sketching.sketch,
    sketching.merge,
    demo.demo,
):
    app.command(help=help_text(_command))(_command)
app.add_typer(schema.app, name="schema")
app.add_typer(ledger.app, name="ledger")


def _version(wanted: bool) -> None:
    if wanted:
        from nacre import __version__

        typer.echo(f"nacre {__version__}")
        raise typer.Exit()


def _root(
    version: Annotated[
        bool, typer.Option("--version", metavar="", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", metavar="", help="Show the traceback of an error. Also: NACRE_DEBUG=1.")
    ] = False,
) -> None:
    """Private synthetic tables, with a certificate of what was promised.

    Examples:
      nacre demo --output demo
      nacre synth people.csv -o fake.csv --epsilon 1
      nacre plan people.csv --rows 20000 --epsilon 1
    """


_ENDINGS = "Exit codes: " + "; ".join(f"{code} {what}" for code, what in EXIT_CODES.items()) + "."
app.callback(help=help_text(_root), epilog=_ENDINGS)(_root)


def main() -> None:
    """The program `nacre`."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command; returns the exit code. Nothing but `--debug` shows a traceback."""
    debug = "--debug" in arguments or os.environ.get("NACRE_DEBUG", "") not in ("", "0")
    arguments = [a for a in arguments if a != "--debug"]
    as_json = "--json" in arguments
    WARNINGS.clear()
    try:
        with warnings.catch_warnings():
            _quieten(debug, quiet="--quiet" in arguments or "-q" in arguments)
            before = _stop_like_ctrl_c()
            try:
                code = app(args=arguments, prog_name="nacre", standalone_mode=False) or OK
            finally:
                close_all()
                if before is not None:
                    signal.signal(signal.SIGTERM, before)
        if code == INTERRUPTED:  # some versions of typer turn Ctrl-C into this code, others raise
            raise KeyboardInterrupt
        return code
    except Interrupted as stop:
        return _fail(INTERRUPTED, str(stop), "Interrupted", as_json)
    except (KeyboardInterrupt, typer.Abort):
        return _fail(INTERRUPTED, "interrupted; nothing was written and nothing was spent", "Interrupted", as_json)
    except SystemExit:  # typer's way when the reader of our output has gone: nothing to say, nobody to say it to
        return OK
    except NacreError as error:
        if debug:
            raise
        return _fail(MISTAKE, str(error), type(error).__name__, as_json)
    except Exception as error:
        usage = getattr(error, "format_message", None)
        if usage is not None:
            return _usage(error, usage(), as_json)
        if debug:
            raise
        return _fail(BUG, _bug(error), "Bug", as_json)


def _bug(error: Exception) -> str:
    """What kind of error, and where. Not its text: errors of libraries quote values, and logs keep what is printed."""
    ours = [f for f in traceback.extract_tb(error.__traceback__) if f"{os.sep}nacre{os.sep}" in f.filename]
    where = f" at {os.path.basename(ours[-1].filename)}, line {ours[-1].lineno}" if ours else ""
    return (
        f"this is a bug in nacre ({type(error).__name__}{where}); what was not reported as written does not exist. "
        "Add --debug to see more, which may quote the data, and please report it, without the data"
    )


def _fail(code: int, message: str, kind: str, as_json: bool) -> int:
    typer.echo(f"nacre: {'error: ' if code != INTERRUPTED else ''}{message}", err=True)
    if as_json:
        told = {"warnings": list(WARNINGS)} if WARNINGS else {}
        typer.echo(json.dumps({"error": message, "type": kind, "exit_code": code, **told}, ensure_ascii=False))
    return code


def _usage(error: object, message: str, as_json: bool) -> int:
    """A mistake in the arguments, in one line; a bare `nacre` gets the help."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(message)
        return MISTAKE
    name = context.command_path if context is not None else "nacre"
    message = " ".join(message.split()).rstrip(".")
    return _fail(MISTAKE, f"{message}; see `{name} --help`", "UsageError", as_json)


def _quieten(debug: bool, quiet: bool) -> None:
    """Our own warnings in one line each, once, none with --quiet; those of libraries only with --debug."""
    said: set[str] = set()

    def show(
        message: object, category: type, filename: str, lineno: int, file: object = None, line: object = None
    ) -> None:
        text, private = str(message), issubclass(category, OwnerWarning)
        if text in said:
            return
        said.add(text)
        if not private:
            WARNINGS.append(text)
        if not quiet:
            typer.echo(visible(f"{OWNER if private else 'nacre: warning:'} {text}"), err=True)

    if not debug:
        warnings.simplefilter("ignore")
        warnings.filterwarnings("always", category=UserWarning, module=r"nacre(\.|$)")
        warnings.showwarning = show


def _stop_like_ctrl_c() -> Any:
    """A polite kill ends like Ctrl-C, so that temporary files are taken away. Only where signals may be set."""

    def stop(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    try:
        return signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not in the main thread
        return None
