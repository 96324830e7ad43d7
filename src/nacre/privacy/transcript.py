"""What went through the doors: the questions (public) and the noisy answers, in order.

A recorded transcript can be replayed in place of the doors' answers. If a run on a neighbouring table, given the
same answers, produces the same bytes and asks the same questions, nothing bypassed the doors on that pair.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nacre.errors import PlanError


@dataclass
class Transcript:
    """A list of (question, answer). With `replay`, answers come from a recording and questions must match it."""

    replay: Transcript | None = None
    questions: list[Any] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)
    begun: bool = False  # noise was drawn, though no answer may have come yet: a training that was broken off

    def settle(self, question: object, answer: object) -> Any:
        """Record the question; return the door's own answer, or the recorded one when replaying."""
        index = len(self.questions)
        self.questions.append(question)
        if self.replay is not None:
            if index >= len(self.replay.questions) or self.replay.questions[index] != question:
                raise PlanError(f"replay: question {index} differs from the recording: {question}")
            answer = self.replay.answers[index]
        self.answers.append(answer)
        return answer


def digest(value: object) -> str:
    """A short name for public arrays in a question."""
    if isinstance(value, np.ndarray):
        return hashlib.sha256(repr((value.shape, str(value.dtype))).encode() + value.tobytes()).hexdigest()[:16]
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{k}:{digest(v)}" for k, v in sorted(value.items())) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(digest, value)) + "]"
    return repr(value)
