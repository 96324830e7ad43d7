"""Learners: trained on a few made-up rows, written, read back; their parameters, predictions and promise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from benchmarks.house.harness import Room

Made: TypeAlias = tuple[str, str, Mapping[str, object]]  # kind of learner, kind of training, its settings
TRAININGS: Mapping[str, Made] = {
    "sgd": ("LogisticRegression", "Sgd", {"batch": 50, "steps": 10}),
    "dpsgd": ("LogisticRegression", "DpSgd", {"epsilon": 4.0, "steps": 5, "batch": 50}),
    "noisy-gd": ("LogisticRegression", "NoisyGd", {"epsilon": 4.0, "steps": 5}),
    "rejection": ("LogisticRegression", "Rejection", {"epsilon": 0.02, "patience": 50}),
    "walk": ("LogisticRegression", "Walk", {"epsilon": 0.5}),
    "hamiltonian": ("LogisticRegression", "Hamiltonian", {"epsilon": 0.5}),
    "grud-sgd": ("GRUD", "Sgd", {"batch": 40, "steps": 2}),
    "grud-noisy-gd": ("GRUD", "NoisyGd", {"epsilon": 4.0, "steps": 2}),
}


def rows(kind: str) -> tuple[np.ndarray, np.ndarray, dict[str, object]]:
    """Features, labels and what is declared of them."""
    rng = np.random.default_rng(6)
    if kind == "GRUD":
        X = rng.normal(size=(80, 4, 2)).clip(-3, 3)
        X[rng.random(X.shape) < 0.4] = np.nan
        y = rng.integers(0, 2, 80)
        return X, y, {"bounds": (-3.0, 3.0), "classes": (0, 1), "hidden": 2}
    X = rng.uniform(-1, 1, (200, 2))
    y = (3 * X[:, 0] + 0.5 + rng.logistic(size=200) > 0).astype(int)
    return X, y, {"bounds": (-1.0, 1.0), "classes": (0, 1)}


def learner(name: str, room: Room) -> None:
    from nacre import learners

    kind, training, settings = TRAININGS[name]
    X, y, known = rows(kind)

    def made(**more: object) -> Callable[..., object]:
        return getattr(learners, kind)(getattr(learners, training)(**settings), **known, **more).fit(X, y)

    def told(one: object) -> str:
        return f"{one.certificate_}\n{one.predict_proba(X)[:20].tolist()}"  # type: ignore[attr-defined]

    seeded = made(noise_seed=3, seed=1)
    room.say("seeded", lambda: told(seeded))
    seeded.save("seeded.learner")  # type: ignore[attr-defined]
    room.say("read back", lambda: told(learners.load("seeded.learner")))
    room.say("promised", lambda: told(made()))
