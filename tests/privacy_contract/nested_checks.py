"""The privacy contract of the door `nested`: each check raises AssertionError when the door breaks it."""

from __future__ import annotations

import contextlib
import io
import logging
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from tests.privacy_contract import checks, nesting
from tests.privacy_contract.nesting import Tables

from nacre.privacy.doors.entry import Scope
from nacre.privacy.doors.nested import Nested
from nacre.privacy.opening import Record
from nacre.privacy.transcript import Transcript

ANCHOR = 900  # a unit that is in every table


def anchor() -> Tables:
    return nesting.unit(np.random.default_rng(0), ANCHOR, 2, 2, (2, 2))


def alike(who: int, stays: int, calls: int, below: int) -> Tables:
    """A unit all of whose rows fall into one cell, but for their order: the largest fan-out is the largest move."""
    found: Tables = {t: [] for t in nesting.TYPES}
    found["patients"].append({"id": who, "sex": "f", "old": True})
    for i in range(stays):
        stay = 1000 * who + i
        found["stays"].append({"id": stay, "patient": who, "day": 7, "ward": "a"})
        found["codes"] += [{"stay": stay, "patient": who, "code": "x", "drug": "d1"}] * below
        found["tests"] += [{"stay": stay, "level": 4}] * below
    found["calls"] = [{"patient": who, "topic": "p", "rank": "1"}] * calls
    return found


def pairs(relation: str, seed: int, trials: int = 20) -> Iterator[tuple[Tables, Tables]]:
    """Neighbouring databases: all rows of a unit left out, or exchanged for those of somebody else."""
    rng = np.random.default_rng(seed)
    shapes = [(s, c, b) for s in (0, 1, 2, 3, 6) for c in (0, 2, 6) for b in (0, 1, 2, 5)]
    for trial in range(trials):
        base = nesting.together(anchor(), nesting.random_tables(rng, int(rng.integers(5)), 10))
        if trial % 2:
            who = alike(500, *shapes[rng.integers(len(shapes))])
        else:
            who = nesting.unit(rng, 500, int(rng.integers(7)), int(rng.integers(8)), (5, 5))
        there = nesting.shuffled(nesting.together(base, who), rng)
        other = nesting.shuffled(base, rng)
        if relation == "replace_one":
            other = nesting.together(other, nesting.unit(rng, 400, int(rng.integers(7)), int(rng.integers(8)), (5, 5)))
        yield there, other
    largest = alike(500, 9, 9, 9)
    yield nesting.together(largest, anchor()), anchor()


def moved(one: Sequence[Sequence[np.ndarray]], other: Sequence[Sequence[np.ndarray]], sigmas: Any) -> float:
    """By how many noise deviations, all tables together."""
    return math.sqrt(
        math.fsum(
            float(np.square((a - b) / sigma).sum())
            for x, y, own in zip(one, other, sigmas)
            for a, b, sigma in zip(x, y, own)
        )
    )


def same(one: Sequence[Sequence[np.ndarray]], other: Sequence[Sequence[np.ndarray]]) -> bool:
    return all(np.array_equal(a, b) for x, y in zip(one, other) for a, b in zip(x, y))


def check_moves(entry: Nested, some: Iterable[tuple[Tables, Tables]], relation: str) -> float:
    """No pair of neighbours moves the exact answers further than the accountant was told; the furthest move."""
    (event,) = entry.events(Scope(relation))
    furthest = 0.0
    for one, other in some:
        found = moved(nesting.answers(one, entry), nesting.answers(other, entry), entry.sigmas)
        assert found <= event.mu * (1 + 1e-9), f"moved {found:.4f}, told {event.mu:.4f}"
        furthest = max(furthest, found)
    return furthest


def check_reading(entry: Nested, seeds: Iterable[int] = range(4)) -> None:
    """Shuffled rows, other batches and several parts give the same tables."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        tables = nesting.together(nesting.random_tables(rng, 8), alike(500, 5, 6, 4), anchor())
        first = nesting.answers(tables, entry)
        for batch_rows in (1, 2, 100):
            again = nesting.answers(nesting.shuffled(tables, rng), entry, batch_rows=batch_rows)
            assert same(first, again), "rows in another order"


def check_alone(entry: Nested, seeds: Iterable[int] = range(4)) -> None:
    """A unit gives to the tables what it gives alone: units add up."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        shapes = rng.integers(0, 7, (4, 2)).tolist()
        units = [nesting.unit(rng, 1 + i, s, c, (4, 4)) for i, (s, c) in enumerate(shapes)]
        whole = nesting.answers(nesting.shuffled(nesting.together(*units), rng), entry)
        each = [nesting.answers(u, entry) for u in units]
        for i, own in enumerate(whole):
            for j, table in enumerate(own):
                parts = sum(found[i][j] for found in each)
                np.testing.assert_allclose(table, parts, atol=1e-9, err_msg="units do not add up")


def check_orphans(entry: Nested) -> None:
    """Rows with a null or dangling key, or whose further keys disagree, change nothing."""
    tables = nesting.together(nesting.random_tables(np.random.default_rng(3), 6), anchor())
    first, stay = nesting.answers(tables, entry), tables["stays"][0]
    other = next(p["id"] for p in tables["patients"] if p["id"] != stay["patient"])
    broken: Tables = {t: [] for t in nesting.TYPES}
    broken["stays"] = [{"id": 7 + i, "patient": who, "day": 3, "ward": "b"} for i, who in enumerate((None, 12345))]
    drug = {"code": "x", "drug": "d2"}
    broken["codes"] = [
        {"stay": at, "patient": who, **drug}
        for at, who in ((7, 12345), (8, 12345), (None, ANCHOR), (99, ANCHOR), (stay["id"], None), (stay["id"], other))
    ]
    broken["tests"] = [{"stay": at, "level": 3} for at in (None, 7, 8, 99)]
    broken["calls"] = [{"patient": who, "topic": "q", "rank": "0"} for who in (None, 12345)]
    room = nesting.curator(nesting.together(broken, tables), entry)
    again = room.nested(entry)
    assert same(first, again), "orphans were counted"
    lost = {t: left.orphans + left.below for t, left in room.dropped.rows.items()}
    before = nesting.curator(tables, entry)
    before.nested(entry)
    had = {t: left.orphans + left.below for t, left in before.dropped.rows.items()}
    assert {t: lost[t] - had[t] for t in lost} == {t: len(rows) for t, rows in broken.items()}


def check_noise(entry: Nested, seeds: int = 40) -> None:
    """Noise comes in parts of the weights' denominators, with the scale that was planned, in every table."""
    tables = nesting.together(anchor(), nesting.random_tables(np.random.default_rng(1), 3))
    truth = nesting.answers(tables, entry)
    noisy = [nesting.curator(tables, entry, checks.FixedNoise(seed)).nested(entry) for seed in range(seeds)]
    for i, view in enumerate(entry.views):
        for j, sigma in enumerate(entry.sigmas[i]):
            noise = np.concatenate([(found[i][j] - truth[i][j]).ravel() for found in noisy]) * view.scale
            assert np.abs(noise - np.rint(noise)).max() < 1e-6, f"{view.name}: noise is not in parts of the weights"
            checks.check_noise_law(np.rint(noise), sigma * view.scale)


def check_replay(entry: Nested) -> None:
    """Given the same answers, whatever the rows, the door asks, answers and says the same."""
    rng = np.random.default_rng(9)
    base = nesting.together(anchor(), nesting.random_tables(rng, 8))
    recorded = Transcript()
    first = _told(base, entry, recorded)
    for name, tables in neighbours(base, rng).items():
        replayed = Transcript(replay=recorded)
        assert _told(tables, entry, replayed) == first, f"{name}: something else was said"
        assert replayed.questions == recorded.questions, f"{name}: something else was asked"


def neighbours(base: Tables, rng: np.random.Generator) -> dict[str, Tables]:
    """The same database with a unit more or less, and with rows that hang elsewhere or nowhere."""
    gone = base["patients"][0]["id"]
    stays = {s["id"] for s in base["stays"] if s["patient"] == gone}
    less = {t: [r for r in rows if r.get("patient") != gone and r.get("stay") not in stays] for t, rows in base.items()}
    less["patients"] = [p for p in base["patients"] if p["id"] != gone]
    people = [p["id"] for p in base["patients"]]
    moved = {**base, "calls": [{**c, "patient": people[rng.integers(len(people))]} for c in base["calls"]]}
    broken = {**base, "codes": [{**c, "stay": None if i % 2 else 10**9} for i, c in enumerate(base["codes"])]}
    return {
        "a unit less": less,
        "the largest unit": nesting.together(base, alike(500, 40, 40, 9)),
        "moved": moved,
        "broken": broken,
        "empty": {**base, "tests": [], "calls": []},
        "no rows below": {name: rows if name == "patients" else [] for name, rows in base.items()},
        "shuffled": nesting.shuffled(base, rng),
    }


def _told(tables: Tables, entry: Nested, transcript: Transcript) -> tuple[str, str]:
    """All that comes out of an opening: the answers, and what is printed, logged or warned of."""
    out, log = io.StringIO(), io.StringIO()
    handler = logging.StreamHandler(log)
    logging.getLogger().addHandler(handler)
    with (
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out),
    ):
        warnings.simplefilter("always")
        room = nesting.curator(tables, entry, checks.FixedNoise(4), record=Record(transcript))
        answers = room.nested(entry)
    logging.getLogger().removeHandler(handler)
    said = [str(w.message) for w in caught if not issubclass(w.category, ResourceWarning)]
    return repr([t.tobytes() for own in answers for t in own]), repr((out.getvalue(), log.getvalue(), said))
