"""Which lines of the package each test runs: sources that tell what is run, and the plugin of pytest that writes it
down, with how long a test takes and how it ends.

`mutants.py` copies this file beside the package it tests, so that any revision can be measured. Sources are marked
rather than traced: tests take hardly longer.
"""

import ast
import json
import os
from pathlib import Path

import pytest

MODULE = "hits"  # of the copy of the package
SOURCE = "SEEN = set()\nhit = SEEN.add\n"


def marked(source: str, name: str) -> str:
    """The same program, which tells at the beginning of every stretch of statements that it is run."""
    tree = ast.parse(source)
    for node in [n for n in ast.walk(tree) if not isinstance(n, ast.Module | ast.ClassDef)]:
        for field in ("body", "orelse", "finalbody"):
            if isinstance(getattr(node, field, None), list) and getattr(node, field):
                setattr(node, field, _told(getattr(node, field), name))
    start = 0
    while start < len(tree.body) and _leads(tree.body[start]):
        start += 1
    tree.body[start:start] = ast.parse(f"from nacre.{MODULE} import hit as _lines_hit").body
    return ast.unparse(ast.fix_missing_locations(tree))


def _leads(node: ast.stmt) -> bool:
    """Docstrings and imports from the future have to stay first."""
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return text or (isinstance(node, ast.ImportFrom) and node.module == "__future__")


def _told(body: list[ast.stmt], name: str) -> list[ast.stmt]:
    """What follows a statement with a body of its own is a stretch of its own: it may not be reached."""
    stretches: list[list[ast.stmt]] = [[]]
    for statement in body:
        stretches[-1].append(statement)
        if hasattr(statement, "body"):
            stretches.append([])
    out: list[ast.stmt] = []
    for stretch in filter(None, stretches):
        mark = (name, *(statement.lineno for statement in stretch))
        out += [*ast.parse(f"_lines_hit({mark!r})").body, *stretch]
    return out


def _seconds() -> float:
    """Of the processor: others use the machine too."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


class Notes:
    """A line for each part of each test."""

    def __init__(self, out: Path):
        from nacre import hits  # type: ignore[attr-defined]

        self.seen, self.out, self.since = hits.SEEN, out, _seconds()

    def pytest_runtest_logstart(self) -> None:
        self.seen.clear()
        self.since = _seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item):
        report = yield
        files: dict[str, list[int]] = {}
        for name, *lines in self.seen:
            files.setdefault(name, []).extend(lines)
        self.seen.clear()
        now = _seconds()
        note = {"test": item.nodeid, "when": report.when, "outcome": report.outcome, "s": now - self.since,
                "lines": files}  # fmt: skip
        self.since = now
        with self.out.open("a") as out:
            out.write(json.dumps(note) + "\n")
        return report


def pytest_configure(config):
    config.pluginmanager.register(Notes(Path(os.environ["LINES_HIT_OUT"])))
