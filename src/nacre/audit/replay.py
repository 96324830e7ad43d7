"""Replay for anyone: does a synthesizer look at the table outside its declared mechanisms?

The synthesizer is any function `f(table, noise)` that takes its noise from the source it is given (`Noise`). It runs
once on the table while the answers of its mechanisms are recorded, then on every neighbour with these same answers.
Whatever differs then did not come through a mechanism: what was asked, what was printed, errors, or the result.
"""

from __future__ import annotations

import contextlib
import inspect
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nacre.audit.digests import digest
from nacre.audit.mechanisms import Asked, Differs, Noise
from nacre.audit.neighbours import neighbours as neighbours_of
from nacre.audit.slicing import Place, Step, path_to
from nacre.audit.tracing import Call, Tracer
from nacre.errors import NacreError

Synthesize = Callable[[Any, Noise], Any]


@dataclass(frozen=True)
class Leak:
    """`what` differs on a neighbour. `step` is the first statement that depends on the table outside a mechanism (None:
    not found, where the code cannot be read); `through` leads from there to what differs."""

    neighbour: str
    what: str
    through: tuple[Step, ...] = ()

    @property
    def step(self) -> Step | None:
        return self.through[0] if self.through else None

    def __str__(self) -> str:
        where = f"first data-dependent step: {self.step}" if self.step else "the code of the step could not be read"
        return f"{self.neighbour}: {self.what}; {where}"


@dataclass(frozen=True)
class Replay:
    """What was found. No leak means that none showed on these pairs, and nothing about others."""

    leaks: tuple[Leak, ...]
    pairs: int
    mechanisms: tuple[str, ...]

    @property
    def first(self) -> Leak | None:
        return self.leaks[0] if self.leaks else None

    def __str__(self) -> str:
        declared = ", ".join(dict.fromkeys(self.mechanisms)) or "none"
        head = f"{self.pairs} neighbouring tables; declared mechanisms: {declared}"
        if self.leaks:
            return "\n".join([head, *map(str, self.leaks)])
        return (
            f"{head}\nNothing differed outside the mechanisms on these pairs. This cannot rule out leaks on other "
            "tables, in running times, or in the noise and the sensitivity of the mechanisms themselves"
        )


@dataclass
class _Run:
    asked: tuple[Asked, ...]
    result: str = ""
    error: str = ""
    printed: str = ""
    calls: tuple[Call, ...] = ()


def replay(
    synthesize: Synthesize, table: object, neighbours: Mapping[str, Any] | None = None, seed: int = 0,
    relation: str = "add_or_remove_one",
) -> Replay:  # fmt: skip
    """Check `synthesize(table, noise)` on neighbouring tables; by default on those of `neighbours`, small and nasty.

    Tables are handed over as they are: a synthesizer that changes its input must copy it. Where a mechanism declares a
    sensitivity, a neighbour that moves its exact value further is a leak too. Raises NacreError for no neighbours at
    all, when the run on the table itself fails, or when two runs on it with the same answers differ (other randomness
    than `noise` is in use).
    """
    near = neighbours_of(table, relation) if neighbours is None else neighbours
    if not near:
        raise NacreError(
            "neighbours: none given, so that nothing would be compared; leave it out for the usual ones, or name one"
        )
    recorded = _run(synthesize, table, seed, None)
    if recorded.error:
        raise NacreError(f"the synthesizer fails on the table itself: {recorded.error}")
    if _difference(recorded, _run(synthesize, table, seed, recorded.asked)) is not None:
        raise NacreError("two runs on the same table with the same answers differ: take all randomness from `noise`")
    found = []
    for name, other in near.items():
        again = _run(synthesize, other, seed, recorded.asked)
        differs = _difference(recorded, again)
        if differs is not None:
            found.append(Leak(name, differs[0], _where(synthesize, (table, other), seed, recorded, differs)))
    return Replay(tuple(found), len(near), tuple(a.name for a in recorded.asked))


def _run(synthesize: Synthesize, table: object, seed: int, answers: Any, file: str | None = None) -> _Run:
    """One run, with all that it shows; its statements are kept when `file` names where they stand."""
    noise, said = Noise(seed, answers), io.StringIO()
    tracer = Tracer(file, noise, said) if file else None
    run = _Run(())
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), tracer or contextlib.nullcontext():
        try:
            run.result = digest(synthesize(table, noise))
        except Differs:
            run.error = "another question"
        except (Exception, SystemExit) as error:
            run.error = f"{type(error).__name__}: {error}"
    run.asked, run.printed = tuple(noise.asked), said.getvalue()
    run.calls = tuple(tracer.calls) if tracer else ()
    return run


def _difference(one: _Run, other: _Run) -> tuple[str, str, int] | None:
    """(what differs, its kind, which mechanism), the earliest first; None: nothing."""
    for place, (a, b) in enumerate(zip(one.asked, other.asked)):
        if (a.name, digest(a.question)) != (b.name, digest(b.question)):
            return f"mechanism {b.name!r} was asked {b.question}, not {a.name!r} {a.question}", "question", place
        moved = a.moved(b)
        if a.sensitivity is not None and moved is not None and moved > a.sensitivity * (1 + 1e-9):
            text = f"mechanism {a.name!r}: its exact value moved by {moved:.4g}, declared {a.sensitivity:g}"
            return text, "question", place
    if other.error:
        more = len(other.asked) > len(one.asked)
        text = f"mechanism {other.asked[-1].name!r} was asked once more" if more else f"an error: {other.error}"
        return text, "question" if more else "error", len(other.asked) - 1
    if len(other.asked) < len(one.asked):
        return f"mechanism {one.asked[len(other.asked)].name!r} was not asked", "end", 0
    if one.printed != other.printed:
        return "the printed text differs", "printed", 0
    return ("the result differs", "end", 0) if one.result != other.result else None


def _where(synthesize: Synthesize, tables: tuple, seed: int, recorded: _Run, differs: Any) -> tuple[Step, ...]:
    """The statements that lead to the difference, by running both tables once more, slowly."""
    _, kind, place = differs
    try:
        file = inspect.getfile(inspect.unwrap(synthesize))
        inspect.getsource(synthesize)
    except (TypeError, OSError):
        return ()
    runs = [_run(synthesize, t, seed, recorded.asked, file) for t in tables]
    spots = [_spot(run, kind, place) for run in runs]
    if kind == "printed":
        spots = _first_printed(*runs)
    if spots[1] is None:
        return ()
    if kind == "error" and spots[0] is not None:
        line = spots[1][0].events[spots[1][1]].line
        spots[0] = next((p for p in _walk(runs[0]) if p[0].events[p[1]].line == line), None)
    return path_to(file, spots[0], spots[1], whole=kind == "question")


def _walk(run: _Run) -> list[Place]:
    return [place for call in run.calls for place in call.walk()]


def _spot(run: _Run, kind: str, place: int) -> Place | None:
    """The statement that asked, or the last one of the run."""
    if kind == "question":
        return next((p for p in _walk(run) if p[0].events[p[1]].asked <= place < p[0].events[p[1]].asked_after), None)
    if kind == "error":
        return max(_walk(run), key=lambda p: p[0].events[p[1]].order, default=None)
    call = run.calls[-1] if run.calls else None
    return (call, len(call.events) - 1) if call is not None and call.events else None


def _first_printed(one: _Run, other: _Run) -> list[Place | None]:
    a, b = ([p for p in _walk(run) if p[0].events[p[1]].printed] for run in (one, other))
    for x, y in zip(a, b):
        if x[0].events[x[1]].printed != y[0].events[y[1]].printed:
            return [x, y]
    rest = b[len(a) :] or a[len(b) :]
    return [None, rest[0] if rest else None]
