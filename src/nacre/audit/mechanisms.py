"""The noise source that a synthesizer under test is given: mechanisms declare what they add, and can be replayed.

Noise here is repeatable on purpose, so nothing that is made with it is private. In production the same calls would
draw from the operating system.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nacre.audit.digests import digest
from nacre.errors import NacreError


@dataclass(frozen=True)
class Asked:
    """One use of a mechanism. `question` must not depend on the table; `exact` may, by `sensitivity` at most."""

    name: str
    question: tuple[Any, ...]
    answer: Any
    exact: Any = field(default=None, repr=False)
    norm: int = 2
    sensitivity: float | None = None

    def moved(self, other: Asked) -> float | None:
        """How far the exact value lies from another one's, in the norm of the mechanism; None: not known."""
        if self.exact is None or other.exact is None:
            return None
        return float(np.linalg.norm(np.ravel(self.exact) - np.ravel(other.exact), self.norm))


class Differs(Exception):
    """A replayed run asked something else than the recorded one."""


class Noise:
    """Declared mechanisms, each named, and `public`: a seeded generator for what needs no privacy.

    `replay`: answer from the uses of an earlier run. What a mechanism was asked must then be the same.
    """

    def __init__(self, seed: int = 0, replay: tuple[Asked, ...] | None = None):
        self._seed, self._replay = seed, replay
        self.public = np.random.default_rng([seed, 0])
        self.asked: list[Asked] = []

    def gaussian(self, name: str, exact: Any, sigma: float, sensitivity: float | None = None) -> np.ndarray:
        """exact + N(0, sigma²). `sensitivity`: the most that one row may move `exact` in L2."""
        exact = np.asarray(exact, np.float64)
        noisy = exact + sigma * self._own().standard_normal(exact.shape)
        return self._settle(Asked(name, ("gaussian", sigma, exact.shape), noisy, exact, 2, sensitivity))

    def laplace(self, name: str, exact: Any, scale: float, sensitivity: float | None = None) -> np.ndarray:
        """exact + Laplace(scale). `sensitivity`: the most that one row may move `exact` in L1."""
        exact = np.asarray(exact, np.float64)
        noisy = exact + self._own().laplace(scale=scale, size=exact.shape)
        return self._settle(Asked(name, ("laplace", scale, exact.shape), noisy, exact, 1, sensitivity))

    def choose(self, name: str, scores: Any, rate: float, sensitivity: float | None = None) -> int:
        """A place with chance in proportion to exp(rate·score). `sensitivity`: the most that a row moves any score."""
        scores = np.asarray(scores, np.float64)
        if scores.ndim != 1 or not len(scores):
            raise NacreError(f"choose {name!r}: scores of shape {scores.shape}; expected a list of one or more")
        picked = int((rate * scores + self._own().gumbel(size=scores.shape)).argmax())
        asked = Asked(name, ("choose", rate, scores.shape), picked, scores, np.inf, sensitivity)  # type: ignore[arg-type]
        return self._settle(asked)

    def declare(self, name: str, answer: object, *question: object) -> Any:
        """The noisy answer of a mechanism of one's own, drawn with `generator(name)`; `question` is what is public."""
        return self._settle(Asked(name, ("declared", *question), answer))

    def generator(self, name: str) -> np.random.Generator:
        """Randomness for a mechanism of one's own."""
        return self._own()

    def _own(self) -> np.random.Generator:
        """A stream per use, so that one mechanism does not shift the noise of the next."""
        return np.random.default_rng([self._seed, 1, len(self.asked)])

    def _settle(self, asked: Asked) -> Any:
        place = len(self.asked)
        if self._replay is not None:
            before = self._replay[place] if place < len(self._replay) else None
            if before is None or (before.name, digest(before.question)) != (asked.name, digest(asked.question)):
                self.asked.append(asked)
                raise Differs(place)
            asked = Asked(
                asked.name, asked.question, _copied(before.answer), asked.exact, asked.norm, asked.sensitivity
            )
        self.asked.append(asked)
        return _copied(asked.answer)


def _copied(answer: object) -> Any:
    """Arrays are handed out as copies: what is recorded stays as it was."""
    return answer.copy() if isinstance(answer, np.ndarray) else answer
