"""What models learn from the synthetic table, beside the real one and its bootstrap; tested on real rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nacre.evaluation.downstream import TRAIN_ROWS, Task, constant, predict, prepare, targets
from nacre.metrics import METRICS, Score
from nacre.metrics.models import SLOWEST_FIRST
from nacre.metrics.predictions import RESAMPLES, Figures, figures, interval, resamples, summary

if TYPE_CHECKING:
    from nacre.evaluation.evaluate import Tables

TEST_ROWS = 50_000


@dataclass(frozen=True)
class Trial:
    """The models and, for each table they are trained on, the task: features, targets and the same test rows."""

    models: tuple[str, ...]
    tasks: dict[str, Task]  # by whose figures they give: synthetic, real, bootstrap
    weights: np.ndarray
    notes: list[str]

    @classmethod
    def of(cls, tables: Tables, models: tuple[str, ...]) -> Trial:
        assert tables.holdout is not None and tables.target is not None
        domain, target, seed = tables.domain, tables.target, tables.seed
        real, test, notes = tables.train.frame, tables.holdout.frame, []
        _, known = targets(test, domain, target)
        if not known.all():
            notes.append(f"{(~known).sum():,} held-out rows without a declared {target} were left out of the test.")
            test = test.loc[known]
        if len(test) > TEST_ROWS:
            keep = np.random.default_rng([seed, 2]).choice(len(test), TEST_ROWS, replace=False)
            test = test.iloc[np.sort(keep)]
            notes.append(f"Models were tested on {TEST_ROWS:,} held-out rows drawn at random.")
        again = real.iloc[np.random.default_rng([seed, 3]).integers(0, len(real), len(real))]
        trained = {"synthetic": tables.synthetic.frame, "real": real, "bootstrap": again}
        tasks = {of: prepare(table, test, domain, target, TRAIN_ROWS, seed) for of, table in trained.items()}
        if any(len(table) > TRAIN_ROWS for table in trained.values()):
            notes.append(f"Models were trained on at most {TRAIN_ROWS:,} rows, sampled in the shares of the classes.")
        notes.append(f"Intervals of models: {RESAMPLES} bootstrap samples of the {len(test):,} held-out rows.")
        return cls(models, tasks, resamples(len(test), RESAMPLES, seed), notes)

    def jobs(self) -> dict[Any, Callable[[], Figures]]:
        """One per model and table; the slowest models first."""
        order = sorted(self.models, key=SLOWEST_FIRST.index)
        jobs = {("fit", of, m): self._job(m, task) for m in order for of, task in self.tasks.items()}
        real = self.tasks["real"]
        guess = lambda: figures(real.y_test, constant(real), real.classes, self.weights[:1])  # noqa: E731
        return {**jobs, ("fit", "majority"): guess}

    def _job(self, model: str, task: Task) -> Callable[[], Figures]:
        return lambda: figures(task.y_test, predict(model, task), task.classes, self.weights)

    def scores(self, found: dict[Any, Any]) -> list[Score]:
        """Figures of every table with their intervals, the constant guess, and the gaps to the real table."""
        by = {of: summary({m: found["fit", of, m] for m in self.models}) for of in self.tasks}
        guess: Figures = found["fit", "majority"]
        by["majority"] = summary(dict.fromkeys(self.models, guess))
        scores = [self._score(name, values, of) for of, flat in by.items() for name, values in flat.items()]
        for name, values in by["synthetic"].items():
            if f"{name}_gap" in METRICS:  # paired: the same resamples on both sides
                scores.append(self._score(f"{name}_gap", by["real"][name] - values, "synthetic"))
        return [s for s in scores if np.isfinite(s.value)]

    def _score(self, name: str, values: np.ndarray, of: str) -> Score:
        low, high = interval(values[1:]) or (None, None)
        return Score(name, float(values[0]), of, (), low, high, self.weights.shape[1])
