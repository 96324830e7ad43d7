"""Statements of a function as they ran: which variables each read and wrote. For `replay`, on small tables.

Only functions of one file are followed; comprehensions and lambdas belong to the statement that holds them.
"""

from __future__ import annotations

import ast
import functools
import io
import linecache
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from nacre.audit.digests import digest
from nacre.audit.mechanisms import Noise

COMPOUND = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.FunctionDef, ast.ClassDef)


@dataclass
class Event:
    """One run of one statement: digests of the variables before it, those it changed, and the calls it made."""

    line: int
    order: int
    before: dict[str, str]
    asked: int  # uses of mechanisms before it, then after it
    asked_after: int = 0
    wrote: dict[str, str] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    printed: str = ""


@dataclass
class Call:
    """One call of a function and the statements it ran; `parent` is the call and the place of its statement."""

    name: str
    parent: tuple[Call, int] | None
    noises: frozenset[str]
    events: list[Event] = field(default_factory=list)
    returned: str = ""

    def walk(self) -> Iterator[tuple[Call, int]]:
        """Every statement, the innermost first where one called another."""
        for place, event in enumerate(self.events):
            for call in event.calls:
                yield from call.walk()
            yield self, place


class Tracer:
    """Follows the functions of `file` while it is entered; `calls` holds the outermost ones."""

    def __init__(self, file: str, noise: Noise, printed: io.StringIO):
        self.file, self.noise, self.printed = file, noise, printed
        self.calls: list[Call] = []
        self._open: list[tuple[FrameType, Call]] = []
        self._order, self._claimed = 0, 0

    def __enter__(self) -> Tracer:
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(self._before)

    def _trace(self, frame: FrameType, event: str, arg: object) -> Any:
        if frame.f_code.co_filename != self.file or frame.f_code.co_name.startswith("<"):
            return None
        if event == "call":
            self._enter(frame)
        elif event == "line":
            self._line(frame)
        elif event == "return":
            _, call = self._open.pop()
            self._finish(frame, call)
            call.returned = digest(arg)
        return self._trace

    def _enter(self, frame: FrameType) -> None:
        noises = frozenset(name for name, v in frame.f_locals.items() if isinstance(v, Noise))
        parent = (self._open[-1][1], len(self._open[-1][1].events) - 1) if self._open else None
        call = Call(frame.f_code.co_name, parent, noises)
        (parent[0].events[-1].calls if parent else self.calls).append(call)
        self._open.append((frame, call))

    def _line(self, frame: FrameType) -> None:
        call = self._open[-1][1]
        line = statement(self.file, frame.f_lineno).lineno
        if call.events and call.events[-1].line == line:
            return  # a further line of the same statement
        now = self._finish(frame, call)
        self._order += 1
        call.events.append(Event(line, self._order, now, len(self.noise.asked)))

    def _finish(self, frame: FrameType, call: Call) -> dict[str, str]:
        now = {name: digest(v) for name, v in frame.f_locals.items() if not isinstance(v, Noise)}
        if call.events:
            last = call.events[-1]
            last.wrote = {n: d for n, d in now.items() if last.before.get(n) != d}
            last.asked_after = len(self.noise.asked)
            text = self.printed.getvalue()
            last.printed, self._claimed = text[self._claimed :], len(text)
        return now


@functools.cache
def _tree(file: str) -> ast.Module:
    return ast.parse("".join(linecache.getlines(file)))


@functools.cache
def statement(file: str, line: int) -> ast.stmt:
    """The innermost statement on a line; for `if`, `for` and their kin, their heads."""
    found = [n for n in ast.walk(_tree(file)) if isinstance(n, ast.stmt) and n.lineno <= line <= (n.end_lineno or 0)]
    return min(found, key=lambda n: (n.end_lineno or 0) - n.lineno) if found else ast.Pass(lineno=line)


def governing(file: str, line: int) -> ast.stmt | None:
    """The `if`, `for` or `while` that decides whether the statement on a line runs; None: it always does."""
    found = [
        n
        for n in ast.walk(_tree(file))
        if isinstance(n, ast.If | ast.For | ast.While) and n.lineno < line <= (n.end_lineno or 0)
    ]
    return max(found, key=lambda n: n.lineno) if found else None


def reads(file: str, line: int, skip: Callable[[ast.Call], bool]) -> set[str]:
    """Names that the statement on a line reads, those inside calls to `skip` left out."""
    node = statement(file, line)
    heads: list[ast.AST] = [node]
    if isinstance(node, COMPOUND):
        heads = [getattr(node, part) for part in ("test", "iter") if hasattr(node, part)]
        heads += [item.context_expr for item in getattr(node, "items", [])]
    found: set[str] = set()
    while heads:
        one = heads.pop()
        if isinstance(one, ast.Call) and skip(one):
            continue
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load):
            found.add(one.id)
        if isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name):
            found.add(one.target.id)
        heads += ast.iter_child_nodes(one)
    return found
