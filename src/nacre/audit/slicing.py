"""From what differs between two runs back to the first statement that made it differ.

A backward slice: a statement reads variables, and those that differ were written by earlier statements. What a
mechanism answered is the same in both runs, so that the slice never leads through one.
"""

from __future__ import annotations

import ast
import linecache
from dataclasses import dataclass

from nacre.audit.tracing import Call, Event, governing, reads

Place = tuple[Call, int]  # a statement of a call, as it ran


@dataclass(frozen=True)
class Step:
    """A statement of the synthesizer."""

    file: str
    line: int
    function: str

    @property
    def code(self) -> str:
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        return f"line {self.line} in {self.function}: {self.code}"


@dataclass(frozen=True)
class _Found:
    one: Place | None  # in the recorded run
    other: Place  # on the neighbour
    after: _Found | None  # the statement that it leads to


def path_to(file: str, one: Place | None, other: Place, whole: bool = False) -> tuple[Step, ...]:
    """Statements from the first that depends on the table to `other`, which reads or shows something that differs.

    `whole`: what `other` hands to a mechanism counts as well, because it is the question that differs.
    """
    todo, seen, sources = [_Found(one, other, None)], set(), []
    while todo:
        found = todo.pop()
        mark = (id(found.other[0]), found.other[1])
        if mark in seen:
            continue
        seen.add(mark)
        earlier = _earlier(file, found, whole and found.after is None)
        todo += earlier
        if not earlier:
            sources.append(found)
    return _steps(file, min(sources, key=lambda f: _event(f.other).order))


def _steps(file: str, found: _Found | None) -> tuple[Step, ...]:
    steps: list[Step] = []
    while found is not None:
        call, place = found.other
        step = Step(file, call.events[place].line, call.name)
        steps += [] if step in steps else [step]
        found = found.after
    return tuple(steps)


def _event(place: Place) -> Event:
    return place[0].events[place[1]]


def _earlier(file: str, found: _Found, whole: bool) -> list[_Found]:
    """What made this statement differ: calls inside it, writers of what it reads, or the branch it stands in."""
    if found.one is None or _event(found.one).line != _event(found.other).line:
        return _branch(file, found)
    a, b = _event(found.one), _event(found.other)
    inner = [
        _Found((x, len(x.events) - 1), (y, len(y.events) - 1), found)
        for x, y in zip(a.calls, b.calls)
        if x.name == y.name and x.returned != y.returned and x.events and y.events
    ]
    if inner:
        return inner
    differ, led = _read(file, found.one, found.other, found, whole)
    if not differ:
        return _branch(file, found)
    return led or _caller(file, found)


def _read(file: str, one: Place, other: Place, after: _Found, whole: bool) -> tuple[list[str], list[_Found]]:
    """Variables that a statement reads and that differ, and the statements that wrote them."""
    a, b = _event(one), _event(other)
    names = reads(file, b.line, lambda call: not whole and _mechanism(call, other[0].noises))
    differ = [n for n in sorted(names) if n in b.before and a.before.get(n) != b.before[n]]
    written = [(_writer(one, n), _writer(other, n)) for n in differ]
    return differ, [_Found(x, y, after) for x, y in written if y is not None]


def _caller(file: str, found: _Found) -> list[_Found]:
    """Only parameters differ: who wrote what was handed over? Nobody, where it is the table itself."""
    one, other = found.one and found.one[0].parent, found.other[0].parent
    while one is not None and other is not None and _event(one).line == _event(other).line:
        _, led = _read(file, one, other, found, whole=False)
        if led:
            return led
        one, other = one[0].parent, other[0].parent
    return []


def _branch(file: str, found: _Found) -> list[_Found]:
    call, place = found.other
    head = governing(file, call.events[place].line)
    if head is None:
        return []
    return [
        _Found(_last(found.one[0], head.lineno, len(found.one[0].events)) if found.one else None, where, found)
        for where in [_last(call, head.lineno, place)]
        if where is not None
    ]


def _last(call: Call, line: int, before: int) -> Place | None:
    found = [p for p in range(before) if call.events[p].line == line]
    return (call, found[-1]) if found else None


def _writer(place: Place, name: str) -> Place | None:
    call, before = place
    found = [p for p in range(before) if name in call.events[p].wrote]
    return (call, found[-1]) if found else None


def _mechanism(call: ast.Call, noises: frozenset[str]) -> bool:
    function = call.func
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id in noises
