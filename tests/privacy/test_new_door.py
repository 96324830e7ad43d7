"""A door is one file and one line: a toy one, registered here, is planned, opened, told in words, saved and audited."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.privacy_contract import checks, doors, tables

from nacre.audit.doors import audit_range_door
from nacre.engines import MemoryRows
from nacre.errors import CertificateError, PlanError
from nacre.privacy import noise
from nacre.privacy.accounting.events import BoundedRange, Event
from nacre.privacy.budget import Budget
from nacre.privacy.certificate.statement import Certificate, certify
from nacre.privacy.certificate.verification import verify
from nacre.privacy.curator import Curator
from nacre.privacy.doors import DOORS, entry_from_json
from nacre.privacy.doors.entry import Entry, Opened, Scope, Trial, one_column
from nacre.privacy.plan import Plan
from nacre.privacy.room import Room

# ------------------------------------------------------------------------------------------------- the file of the door


@dataclass(frozen=True)
class Median(Entry):
    """The value of a public list that has as many records below as above, `draws` times, by exponential mechanisms.

    A record moves the difference of the two numbers, of any value of the list, by at most 1: the range over candidates
    of what a unit changes is at most 2·cap, for each of the two units of a replacement.
    """

    door: ClassVar[str] = "median"
    epsilon: float = 1.0
    draws: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_scales(epsilon=self.epsilon)
        self._check_whole(draws=self.draws)

    def events(self, scope: Scope) -> list[Event]:
        return [BoundedRange(self.epsilon, self.draws)]

    @property
    def words(self) -> str:
        return f"a median, range {self.epsilon:g}"

    @classmethod
    def trial(cls) -> Trial | None:
        return Trial(_seen, "epsilon")


def median(room: Room, entry: Median, column: str, places: np.ndarray) -> list[float]:
    room._open(entry, Median)

    def apart(encoded: Mapping[str, Any], rows: int) -> np.ndarray:
        values = encoded[column].values[~encoded[column].null][:, None]
        return ((values > places).astype(np.int64) - (values < places)).sum(axis=0)

    scores = -np.abs(room._sum(apart, (len(places),)))
    rate = entry.epsilon / (2 * room._plan.scope.sum)
    chosen = [noise.exponential_choice(scores, rate, room._noise) for _ in range(entry.draws)]
    return room._answer(entry, {"column": column, "places": places.tolist()}, places[chosen].tolist())


def _seen(opened: Opened, epsilon: float, draws: int, here: bool) -> np.ndarray:
    """One record between the two values of a list, or none, beside some below both: the scores are −3, −5 or −4, −4."""
    entry = Median("audit", epsilon=epsilon, draws=draws)
    room = opened(entry, *one_column([0] * 4 + [2] * here, 3))
    return (np.array(median(room, entry, "x", np.array([1, 3]))) == 1).astype(np.int64)


# ------------------------------------------------------------------------------------------------------------ the line


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(DOORS, Median.door, Median)


# ------------------------------------------------------------------------------------------------------- what it brings

ENTRY = Median("age in the middle", epsilon=0.75)
AGES = np.arange(0, 101, 10)


@dataclass(frozen=True)
class Method:
    """What a method that opens the door declares."""

    guarantee: str = "proven"
    opens: Mapping[str, str] = None  # type: ignore[assignment]
    needs: tuple[tuple[str, ...], ...] = ((ENTRY.name,),)
    chosen: Mapping[str, str] = field(default_factory=dict)
    says: Mapping[str, str | None] = None  # type: ignore[assignment]
    auto: str | None = None
    rests: tuple[str, ...] = ("it holds",)


METHOD = Method(opens={ENTRY.name: "median"}, says={})


def plan() -> Plan:
    return Plan("middle", (ENTRY,), Budget(0.75, 1e-6))


def certificate() -> Certificate:
    return certify(plan(), tables.schema(), seeded=False, noise=noise.ENTROPY, assumptions=("it holds",))


def test_it_answers_once_and_only_what_was_planned():
    rows = checks.CountedRows(tables.people(200))
    room = Curator(rows, Plan("test", (ENTRY,), checks.FREE), tables.schema(), checks.FixedNoise(1))
    with pytest.raises(PlanError, match="not in the plan"):
        median(room, Median("another"), "age", AGES)
    assert rows.passes == 0
    assert set(median(room, ENTRY, "age", AGES)) <= {*AGES.tolist()}
    with pytest.raises(PlanError, match="opened before"):
        median(room, ENTRY, "age", AGES)


@pytest.mark.parametrize("relation", doors.RELATIONS)
def test_no_neighbour_moves_its_scores_further_than_told(relation, monkeypatch):
    """The exact scores, taken where the choice is made."""
    found: list[np.ndarray] = []
    monkeypatch.setattr(noise, "exponential_choice", lambda scores, rate, source: found.append(scores * rate) or 0)
    terms = Plan("test", (ENTRY,), Budget(None, neighbours=relation))
    for pair in doors.pairs(relation, None, seed=3, trials=8):
        for table in pair:
            median(Curator(MemoryRows(table), terms, tables.schema()), ENTRY, "age", AGES)
        one, other = found[-2:]
        assert np.ptp(one - other) <= ENTRY.epsilon * (1 + 1e-12)


def test_its_entry_travels_with_a_plan():
    text = json.dumps(plan().to_json())
    assert '"door": "median"' in text
    assert Plan.from_json(json.loads(text)) == plan()
    assert entry_from_json(ENTRY.to_json()) == ENTRY


def test_its_certificate_has_words_and_a_cost(tmp_path):
    made = certificate()
    assert "age in the middle, through `median`: a median, range 0.75" in str(made)
    assert (made.guarantee, made.epsilon) == ("proven", 0.75)
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(made.to_json()))
    again = Certificate.from_json(json.loads(path.read_text()))
    assert again == made and verify(again, METHOD) == made


def test_a_certificate_that_says_less_than_it_cost_is_refused():
    told = certificate().to_json()
    told["entries"][0]["epsilon"] = 1.5
    with pytest.raises(CertificateError, match="costs more"):
        verify(Certificate.from_json(told), METHOD)


def test_its_audit_stands_and_catches_half_the_noise(monkeypatch):
    draws, alpha = 3_000, 1e-6
    assert not audit_range_door("median", 2.0, draws, alpha).refuted
    real = noise.exponential_choice
    monkeypatch.setattr(noise, "exponential_choice", lambda scores, rate, source: real(scores, 2 * rate, source))
    assert audit_range_door("median", 2.0, draws, alpha).refuted
