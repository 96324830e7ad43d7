"""The contract of the door `descend`, and its broken twins, every one caught."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from tests.privacy_contract import descending
from tests.privacy_contract.twins import Twins, budget_checked_after_the_step

from nacre.nets import taps
from nacre.privacy.noise import NoiseSource
from nacre.privacy.training import clipping, descent, poisson, query_checks, stream

TWINS = Twins()
twin = TWINS.caught_by


@twin(descending.law)
def half_the_noise(patch):
    real = stream.normals
    patch.setattr(stream, "normals", lambda *a: real(*a) / 2)


@twin(descending.law)
def noise_that_is_not_rounded(patch):
    def plain(part, total, key, step, place):
        noise = stream.normals(key, total.size, step, stream.NOISE + place)
        return total + noise * (part.sigma * descent.sensitivity(part, total.size))

    patch.setattr(descent, "with_noise", plain)


@twin(descending.law)
def a_sum_that_is_not_rounded(patch):
    real = descent.with_noise

    def kept(part, total, *where):
        return jax.tree.map(lambda x, y: x + y, total, real(part, jax.tree.map(jnp.zeros_like, total), *where))

    patch.setattr(descent, "with_noise", kept)


@twin(descending.law)
def one_noise_for_all_parts(patch):
    real = descent.with_noise
    patch.setattr(descent, "with_noise", lambda part, total, key, step, place: real(part, total, key, step, 0))


@twin(descending.exact_sums)
def mean_instead_of_sum(patch):
    def mean(chunk_sum, entered, size):
        total = poisson_sum(chunk_sum, entered, size)
        return jax.tree.map(lambda x: x / jnp.maximum(entered.sum(), 1), total)

    poisson_sum = poisson.batch_sum
    patch.setattr(poisson, "batch_sum", mean)


@twin(descending.exact_sums)
def actual_batch_size_as_divisor(patch):
    real = descent.Descent.answer

    def actual(self, state, units, key, step):
        size = (poisson.coins(key, len(units.there), step, self.entry.q) & units.there).sum()
        return jax.tree.map(lambda x: x * self.expected / jnp.maximum(size, 1), real(self, state, units, key, step))

    patch.setattr(descent.Descent, "answer", actual)


@twin(descending.exact_sums)
def what_does_not_fit_is_dropped(patch):
    def first_chunk(chunk_sum, entered, size):
        rank = jnp.cumsum(entered.astype(jnp.int32))
        wanted = 1 + jnp.arange(size)
        return chunk_sum(jnp.minimum(jnp.searchsorted(rank, wanted), len(entered) - 1), wanted <= rank[-1])

    patch.setattr(poisson, "batch_sum", first_chunk)


@twin(descending.coins)
def shuffled_batches(patch):
    def shuffled(key, units, step, q, shard=0):
        order = jax.random.permutation(jax.random.fold_in(jax.random.key(0), step), units)
        return order < round(q * units)

    patch.setattr(poisson, "coins", shuffled)


@twin(descending.coins)
def the_same_coins_at_every_step(patch):
    real = poisson.coins
    patch.setattr(poisson, "coins", lambda key, units, step, q, shard=0: real(key, units, 0, q) | (step < 0))


@twin(descending.sensitivity)
def clipped_after_the_sum(patch):
    def late(layers, clip, mask, keys):
        total = clipping.unclipped(layers, mask)
        norm2 = sum(jnp.square(leaf).sum() for leaf in jax.tree.leaves(total))
        factor = jnp.minimum(1, clip * len(mask) / jnp.sqrt(norm2))
        return jax.tree.map(lambda x: x * factor, total)

    patch.setitem(clipping.STRATEGIES, "flat", late)


@twin(descending.sensitivity)
def every_layer_to_the_whole_clip(patch):
    patch.setattr(clipping, "thresholds", lambda layers, clip: dict.fromkeys(layers, clip))


@twin(descending.couplings)
def a_coupled_loss_is_accepted(patch):
    patch.setattr(query_checks, "_close", lambda one, other, tolerance=0: True)


@twin(descending.forgotten)
def forgotten_uses_are_not_looked_for(patch):
    patch.setattr(query_checks, "_close", lambda one, other, tolerance=0: True)


@twin(descending.taps)
def a_tap_that_forgets_a_use(patch):
    real = taps.Outer
    patch.setattr(taps, "Outer", lambda inputs, outputs, mask, bias: real(inputs[:1], outputs[:1], mask, bias))


@twin(descending.taps)
def norms_of_uses_added_up(patch):
    patch.setattr(taps.Outer, "_pairs", lambda self: [(t, t, 1.0) for t in range(len(self.inputs))])


twin(descending.ledger)(budget_checked_after_the_step)


@twin(descending.fresh_keys)
def noise_key_reused_on_resume(patch):
    kept = stream.draw_key(NoiseSource())
    patch.setattr(stream, "draw_key", lambda source: kept)


@twin(descending.replay)
def divisor_from_the_rows(patch):
    real = descent.train

    def leaky(job, state, units, *rest):
        return real(job, jax.tree.map(lambda x: x + len(units.there) * 1e-3, state), units, *rest)

    patch.setattr(descent, "train", leaky)


@twin(descending.audit)
def seven_tenths_of_the_noise(patch):
    real = stream.normals
    patch.setattr(stream, "normals", lambda *a: real(*a) * 0.7)


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
