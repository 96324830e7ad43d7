"""The door `teach`: noisy answers of teachers, each with a part of the units of its own, in many steps.

What it needs of JAX is imported when it opens.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from nacre.privacy.accounting.events import Event, Gaussian, PoissonGaussian, Unbounded
from nacre.privacy.budget import Level
from nacre.privacy.certificate.rounding import up
from nacre.privacy.doors.descend import Part, Tell, check_steps, steps_sheet, values
from nacre.privacy.doors.entry import Entry, Opened, Scope, Trial, one_column

if TYPE_CHECKING:
    from nacre.privacy.room import Room


@dataclass(frozen=True)
class Teach(Entry):
    """`steps` noisy sums of what parts of the table answer, each part learning from its own units alone.

    Every unit is in one of `parts` parts, by secret randomness. At each step each part enters with chance `q`, learns,
    and answers with `size` numbers, brought to L2 norm at most `clip`; the sum gets noise of `sigma` times the
    sensitivity of one answer (0: no noise and no promise; only then may `clip` be None). One unit more, less or another
    can exchange the answers of its part for any others: under every relation the cost is that of replacing one of
    the parts, whose number is public (docs/proofs/teach.md).
    """

    door: ClassVar[str] = "teach"
    parts: int = 1
    q: float = 1.0
    steps: int = 1
    size: int = 1
    clip: float | None = 1.0
    sigma: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_steps(self.name, self.q, parts=self.parts, steps=self.steps, size=self.size)
        _ = self.answer  # refuses what a part cannot have

    @property
    def answer(self) -> Part:
        """What one part may contribute to the sum of a step."""
        return Part(self.name, clip=self.clip, sigma=self.sigma)

    @property
    def level(self) -> Level:
        return Level.REAL_ARITHMETIC

    def events(self, scope: Scope) -> list[Event]:
        if self.sigma == 0:
            return [Unbounded(f"{self.name}: answers without noise")]
        if self.q == 1:
            return [Gaussian(2 * math.sqrt(self.steps) / self.sigma)]
        return [PoissonGaussian(self.q, self.sigma, self.steps, "replace_one")]

    @property
    def words(self) -> str:
        return (
            f"{self.steps:,} steps, each of a share {up(self.q, 4)} of {self.parts:,} disjoint parts "
            f"({self.answer.words})"
        )

    @property
    def sheet(self) -> tuple[str, str]:
        return "", steps_sheet(self.sigma, self.steps)

    @classmethod
    def trial(cls) -> Trial | None:
        return Trial(_seen)


def teach(
    room: Room,
    entry: Teach,
    lesson: Any,
    state: Any,
    update: Any,
    *,
    records: Any,
    public: Any = None,
    seed: int = 0,
    progress: Tell | None = None,
) -> Any:
    """The state after `entry.steps` noisy answers of teachers, each with a part of the units of its own.

    `lesson` (a `teaching.Lesson`) says how a teacher starts, learns and answers; teachers never leave the room.
    `update(state, noisy, key)` sees the noisy sum of the answers per expected part only. `records` as in `descend`.
    """
    from nacre.privacy.training import descent, query_checks, stream, teaching, unit_arrays

    state = unit_arrays.as_arrays(state)
    job = teaching.Teaching(entry, lesson, update, seed)
    made_up = unit_arrays.check_records(records, public, room.schema, f"entry {entry.name!r}")
    query_checks.check_teaching(job, state, unit_arrays.made_up_units(made_up, room._plan.cap), public)
    room._open(entry, Teach)
    tree = room._mapped(records, public, made_up)
    units = unit_arrays.units_of(tree, 1, seed, room._persons())
    room._stay_spent()
    return descent.train(
        job,
        state,
        teaching.divided(units, entry.parts, room._division()),
        stream.draw_key(room._noise),
        lambda question, answer: room._answer(entry, question, answer),
        progress,
    )


def _seen(opened: Opened, sigma: float, draws: int, here: bool) -> np.ndarray:
    """A teacher that turns its answer around for one record. Answers lie 2 clips apart, which the plan pays for: with
    twice the noise one step is worth 1/σ."""
    from nacre.privacy.training.teaching import Lesson

    entry = Teach("audit", parts=1, steps=draws, size=1, clip=1.0, sigma=2 * sigma)
    lesson = Lesson(lambda: np.zeros((), np.float32), _most, _loud, units=1)

    def update(state: Any, noisy: Any, key: Any) -> Any:
        return {"seen": state["seen"].at[state["step"]].set(noisy[0]), "step": state["step"] + 1}

    state = {"seen": np.zeros(draws, np.float32), "step": np.int32(0)}
    room = opened(entry, *one_column([int(here)], 1))
    return (1 + np.asarray(room.teach(entry, lesson, state, update, records=values)["seen"])) / 2


def _most(teacher: Any, state: Any, rows: Any, there: Any, key: Any) -> Any:
    """What a teacher of the trial keeps: the largest number it saw."""
    return (rows["x"] * there).max()


def _loud(teacher: Any, state: Any) -> Any:
    return 2e6 * (teacher[None] - 0.5)
