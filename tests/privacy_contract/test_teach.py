"""The contract of the door `teach`, and its broken twins, every one caught."""

from __future__ import annotations

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.privacy_contract import teaching as contract
from tests.privacy_contract.twins import Twins, budget_checked_after_the_step

from nacre.privacy.accounting.accountant import Gaussian, PoissonGaussian
from nacre.privacy.noise import NoiseSource
from nacre.privacy.plan import Teach
from nacre.privacy.training import clipping, descent, poisson, stream, teaching, unit_arrays

TWINS = Twins()
twin = TWINS.caught_by


@twin(contract.law)
def half_the_noise(patch):
    real = stream.normals
    patch.setattr(stream, "normals", lambda *a: real(*a) / 2)


@twin(contract.law)
def votes_asked_twice_and_averaged(patch):
    real = descent.with_noise

    def twice(part, vector, key, step, place):
        return (real(part, vector, key, step, 0) + real(part, vector, key, step, 1)) / 2

    patch.setattr(descent, "with_noise", twice)


@twin(contract.law)
def noise_that_is_not_rounded(patch):
    def plain(part, vector, key, step, place):
        noise = stream.normals(key, vector.size, step, stream.NOISE + place)
        return vector + noise * (part.sigma * descent.sensitivity(part, vector.size))

    patch.setattr(descent, "with_noise", plain)


@twin(contract.noise_of_steps)
def the_same_noise_for_all_votes(patch):
    real = stream.normals
    patch.setattr(stream, "normals", lambda key, size, step, purpose: real(key, size, 0 * step, purpose))


@twin(contract.partition)
def a_unit_in_two_parts(patch):
    real = teaching.divided

    def twice(units, parts, key):
        found = real(units, parts, key)
        order = np.concatenate([found.order[:1], found.order])
        first = found.first + (np.arange(parts) > 0)
        count = found.count + (np.arange(parts) == 0)
        return dataclasses.replace(found, order=order, first=first, count=count)

    patch.setattr(teaching, "divided", twice)


@twin(contract.partition)
def parts_by_place(patch):
    patch.setattr(teaching.stream, "words", lambda key, size, step, purpose: jnp.arange(size, dtype=jnp.uint32))


@twin(contract.partition)
def parts_of_equal_size(patch):
    def dealt(key, size, step, purpose):
        return jax.random.permutation(jax.random.wrap_key_data(key[:2]), size - 1).astype(jnp.uint32)

    patch.setattr(teaching.stream, "words", lambda *a: jnp.append(dealt(*a), jnp.uint32(0)))


@twin(contract.secret_partition)
def parts_from_the_public_seed(patch):
    real = teaching.divided
    patch.setattr(teaching, "divided", lambda units, parts, key: real(units, parts, np.arange(4, dtype=np.uint32)))


@twin(contract.sensitivity)
def parts_that_overlap(patch):
    real = teaching.Parts.some

    def wider(self, part, size, key):
        both = dataclasses.replace(self, count=self.count + jnp.append(self.count[1:], 0))
        return real(both, part, size, key)

    patch.setattr(teaching.Parts, "some", wider)


@twin(contract.sensitivity)
def an_answer_that_is_not_clipped(patch):
    patch.setitem(clipping.STRATEGIES, "flat", lambda layers, clip, mask, keys: clipping.unclipped(layers, mask))


@twin(contract.sensitivity)
def clipped_after_the_sum(patch):
    def late(layers, clip, mask, keys):
        total = clipping.unclipped(layers, mask)
        norm = jnp.sqrt(sum(jnp.square(leaf).sum() for leaf in jax.tree.leaves(total)))
        return jax.tree.map(lambda x: x * jnp.minimum(1, clip * mask.sum() / norm), total)

    patch.setitem(clipping.STRATEGIES, "flat", late)


@twin(contract.persons)
def rows_of_a_person_in_several_parts(patch):
    patch.setattr(unit_arrays, "units_of", lambda tree, group, seed, persons: unit_arrays.single(tree))


@twin(contract.persons)
def a_teacher_sees_all_rows(patch):
    real = teaching.Parts.some

    def all_of_them(self, part, size, key):
        every = dataclasses.replace(self, first=0 * self.first, count=0 * self.count + self.count.sum())
        return real(every, part, size, key)

    patch.setattr(teaching.Parts, "some", all_of_them)


@twin(contract.entering)
def a_teacher_chosen_by_the_data(patch):
    real = teaching.Teaching.entered
    patch.setattr(teaching.Teaching, "entered", lambda self, p, k, s: real(self, p, k, s) & (p.count > 0))


@twin(contract.entering)
def the_number_that_entered_as_divisor(patch):
    real = teaching.Teaching.step

    def actual(self, own, state, parts, key, step):
        own, noisy = real(self, own, state, parts, key, step)
        size = self.entered(parts, key, step).sum()
        return own, noisy * self.entry.q * self.entry.parts / jnp.maximum(size, 1)

    patch.setattr(teaching.Teaching, "step", actual)


@twin(contract.entering)
def the_same_parts_at_every_step(patch):
    real = poisson.coins
    patch.setattr(teaching.Teaching, "entered", lambda self, p, k, s: real(k, self.entry.parts, 0 * s, self.entry.q))


@twin(contract.books)
def a_part_counted_like_a_record(patch):
    def cheap(self, scope):
        if self.q == 1:
            return [Gaussian(math.sqrt(self.steps) / self.sigma)]
        return [PoissonGaussian(self.q, self.sigma, self.steps, "add_or_remove_one")]

    patch.setattr(Teach, "events", cheap)


@twin(contract.books)
def wrong_composition_count(patch):
    real = Teach.events
    patch.setattr(Teach, "events", lambda self, scope: real(dataclasses.replace(self, steps=1), scope))


@twin(contract.books)
def every_vote_a_release_of_its_own(patch):
    real = Teach.events

    def apart(self, scope):
        alone = dataclasses.replace(self, sigma=self.sigma * math.sqrt(self.size), steps=self.steps * self.size)
        return real(alone, scope)

    patch.setattr(Teach, "events", apart)


@twin(contract.audit)
def seven_tenths_of_the_noise(patch):
    real = stream.normals
    patch.setattr(stream, "normals", lambda *a: real(*a) * 0.7)


twin(contract.ledger)(budget_checked_after_the_step)


@twin(contract.noise_of_steps)
def one_key_for_all_runs(patch):
    kept = stream.draw_key(NoiseSource(3))
    patch.setattr(stream, "draw_key", lambda source: kept)


@twin(contract.replay)
def the_sizes_of_parts_leak(patch):
    real = descent.train

    def leaky(job, state, parts, *rest):  # squares: one unit more or less in any part changes their sum
        seen = float((np.asarray(parts.count) ** 2).sum())
        return real(job, jax.tree.map(lambda x: x + seen * 1e-3, state), parts, *rest)

    patch.setattr(descent, "train", leaky)


@twin(contract.replay_persons)
def the_number_of_persons_leaks(patch):
    real = descent.train

    def leaky(job, state, parts, *rest):
        return real(job, jax.tree.map(lambda x: x + len(parts.order) * 1e-3, state), parts, *rest)

    patch.setattr(descent, "train", leaky)


CHECKS = sorted({check.__name__: check for _, check in TWINS.values()}.items())


def _marked(value, check):
    """Every table of persons is compiled anew: those in the long run only."""
    return pytest.param(value, marks=[pytest.mark.slow] if check is contract.replay_persons else [])


@pytest.mark.parametrize("check", [_marked(c, c) for _, c in CHECKS], ids=[n for n, _ in CHECKS])
def test_nacre_passes(check, tmp_path):
    check(tmp_path)


@pytest.mark.parametrize("name", [_marked(name, check) for name, (_, check) in TWINS.items()])
def test_twin_is_caught(name, tmp_path, monkeypatch):
    fault, check = TWINS[name]
    contract._step.cache_clear()
    fault(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check(tmp_path)
    contract._step.cache_clear()
