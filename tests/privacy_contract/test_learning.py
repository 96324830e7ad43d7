"""The contract of exact draws and of learners, and broken twins, every one caught."""

from __future__ import annotations

import numpy as np
import pytest
from tests.privacy_contract import learning
from tests.privacy_contract.twins import Twins

from nacre.learners import descending, exponential
from nacre.privacy.doors import rejection
from nacre.privacy.plan import Scope

TWINS = Twins()
twin = TWINS.caught_by


@twin(learning.losses)
def a_rate_twice_as_large(patch):
    patch.setattr(Scope, "sum", property(lambda self: self.cap * (1.0 if self.neighbours == "replace_one" else 0.5)))


@twin(learning.losses)
def loss_beyond_its_declared_range(patch):
    real = rejection.Utility.steps
    patch.setattr(rejection.Utility, "steps", lambda self, v, p: 2 * real(self, v, p) - rejection.STEPS)


@twin(learning.law)
def a_cap_instead_of_a_public_end(patch):
    """The third candidate of a search comes out whatever it is worth."""
    real, tried = rejection.survives, [0]

    def capped(gap, rate, noise):
        tried[0] += 1
        kept = tried[0] == 3 or real(gap, rate, noise)
        tried[0] = 0 if kept else tried[0]
        return kept

    patch.setattr(rejection, "_ends", lambda patience, noise: False)
    patch.setattr(rejection, "survives", capped)


@twin(learning.law)
def the_best_candidate_of_a_block(patch):
    def best(self, utility, vectors, rate, noise):
        points = np.stack([self._candidate(noise) for _ in range(rejection.BLOCK)])
        lost = sum((rejection.STEPS - utility.steps(v, points)).sum(axis=0) for v in vectors)
        rejection.survives(int(lost.min()), rate, noise)
        return points[int(lost.argmin())], 1, True

    patch.setattr(rejection.Rejection, "_one", best)


@twin(learning.law)
def half_of_the_loss_is_forgotten(patch):
    real = rejection.survives
    patch.setattr(rejection, "survives", lambda gap, rate, noise: real(gap // 2, rate, noise))


@twin(learning.replay)
def scaled_by_the_rows(patch):
    real = descending.descend

    def leaky(task, loss, rate, l2):
        total = sum(
            b.num_rows * float(np.nan_to_num(b.column("x").flatten().to_numpy()[0]))
            for b in task.curator._rows.batches()
        )
        return real(task, loss, rate * (1 + 1e-3 * total), l2)

    patch.setattr(descending, "descend", leaky)


@twin(learning.replay)
def a_start_from_the_rows(patch):
    real = exponential.Rejection.train

    def leaky(self, task):
        theta = real(self, task)
        return theta + task.curator._rows._x.mean()

    patch.setattr(exponential.Rejection, "train", leaky)


@twin(learning.fixed_point)
def candidates_off_the_grid(patch):
    patch.setattr(exponential, "THETA_STEPS", 2.0**20 * np.pi)


CHECKS = sorted({check.__name__: check for _, check in TWINS.values()}.items())


@pytest.mark.parametrize("check", [c for _, c in CHECKS], ids=[n for n, _ in CHECKS])
def test_nacre_passes(check, tmp_path):
    check(tmp_path)


@pytest.mark.parametrize("name", TWINS)
def test_twin_is_caught(name, tmp_path, monkeypatch):
    fault, check = TWINS[name]
    fault(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check(tmp_path)
