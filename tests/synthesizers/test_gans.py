"""The adversarial methods without a promise: their losses against independent ones, and a short fit of each."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pyarrow as pa
import pytest

import nacre
from nacre.errors import NacreError, ReleaseFileError
from nacre.synthesizers.gans.ebgan import EbganConfig
from nacre.synthesizers.gans.medgan import MedganConfig
from nacre.synthesizers.gans.model import GanModel
from nacre.synthesizers.gans.steingan import SteinConfig, direction
from nacre.synthesizers.gans.wgan import WganConfig
from nacre.synthesizers.parts.generator_model import GENERATOR, DrawsByClass
from nacre.synthesizers.parts.heads import Heads
from nacre.table import Condition
from nacre.table.simulate.people import people, people_schema

KEY = jax.random.key(1)
SMALL = {"steps": 40, "batch": 16, "width": 16}


@pytest.mark.parametrize("method", ["wgan", "ebgan", "steingan", "medgan"])
def test_fit_sample_save_load(method, tmp_path):
    made = nacre.fit(people(300, 1), epsilon=None, schema=people_schema(), target="late_payment", method=method,
                     options=SMALL)  # fmt: skip
    assert made.certificate.guarantee == "none"
    made.save(tmp_path / "g.nacre")
    again = nacre.load(tmp_path / "g.nacre")
    drawn = again.sample(200, seed=2)
    assert drawn.equals(made.sample(200, seed=2))
    assert again.sample(10, where={"late_payment": True})["late_payment"].all()
    assert drawn["age"].between(16, 95).all()


@pytest.mark.parametrize("method", ["wgan", "ebgan", "steingan", "medgan", "dpgan", "pategan"])
def test_a_layer_that_inputs_cannot_share_is_refused(method):
    with pytest.raises(NacreError, match=r"width=2: .*at least 4"):
        nacre.fit(people(30), epsilon=None, schema=people_schema(), method=method, options={"width": 2})


@pytest.mark.parametrize("method", ["wgan", "ebgan"])
def test_a_batch_of_one_row_is_refused(method):
    """The codes of ebgan are pulled apart in pairs: a lone row would end as a number that is none."""
    with pytest.raises(NacreError, match=r"batch=1: .*at least 2"):
        nacre.fit(people(30), epsilon=None, schema=people_schema(), method=method, options={"batch": 1})


@pytest.mark.parametrize("method", ["wgan", *(pytest.param(m, marks=pytest.mark.slow) for m in ("dpcgan", "gswgan"))])
def test_a_table_of_nothing_but_the_target_is_modelled(method):
    schema = nacre.Schema({"y": nacre.Categorical(("a", "b"))}, rows=60)
    table = {"y": ["a", "b", "b"] * 20}
    options = {"steps": 4, "batch": 8, "width": 8}
    made = nacre.fit(pa.table(table), epsilon=None, schema=schema, target="y", method=method, options=options)
    assert set(made.sample(50, seed=1)["y"]) <= {"a", "b"}


def test_a_file_whose_arrays_do_not_fit_is_refused():
    made = nacre.fit(people(100, 1), epsilon=None, schema=people_schema(), method="wgan", options=SMALL)
    facts, arrays = made.model.parts()
    for change in ({"width": 17}, {"latent": 10**9}, {"code": 5}, {"rows": -1}):
        with pytest.raises(ReleaseFileError):
            GanModel.from_parts(made.schema, {**facts, **change}, arrays)
    with pytest.raises(ReleaseFileError):
        GanModel.from_parts(made.schema, facts, {**arrays, "scale": -arrays["scale"]})


def test_stein_direction_is_the_definition():
    rng = np.random.default_rng(0)
    y, slope = rng.normal(size=(2, 6, 3))
    r2 = ((y[:, None] - y[None]) ** 2).sum(-1)
    h2 = np.median(r2)
    wanted = np.zeros_like(y)
    for i in range(6):
        for j in range(6):
            kernel = lambda a, i=i: jnp.exp(-0.5 * jnp.sum((a - y[i]) ** 2) / h2)  # noqa: E731
            wanted[i] += (-kernel(y[j]) * slope[j] + jax.grad(kernel)(jnp.asarray(y[j]))) / 6
    np.testing.assert_allclose(direction(jnp.asarray(y), jnp.asarray(slope)), wanted, rtol=1e-4, atol=1e-5)


def test_the_generator_of_steingan_follows_the_direction():
    config = SteinConfig(Heads(3, ()), 1, 8)
    critic = config.start_critic(KEY)
    y = jax.random.normal(KEY, (5, 3))
    slope = jax.grad(lambda x: config.energy(critic, x, None)[0].sum())(y)
    found = jax.grad(lambda x: config.generator_loss(critic, x, None))(y)
    np.testing.assert_allclose(found, -direction(y, slope) / 5, rtol=1e-5, atol=1e-6)


def test_losses_by_hand():
    real, fake = jax.random.normal(KEY, (2, 4, 3))
    wgan = WganConfig(Heads(3, ()), 1, 8)
    critic = wgan.start_critic(KEY)
    value = lambda x: np.asarray(wgan.value(critic, x, None))  # noqa: E731
    mix = np.asarray(jax.random.uniform(KEY, (4, 1)))
    slope = jax.vmap(jax.grad(lambda x: wgan.value(critic, x[None], None)[0]))(mix * real + (1 - mix) * fake)
    steep = (np.linalg.norm(slope, axis=1) - 1) ** 2
    wanted = (value(fake) - value(real) + 10 * steep).mean()
    assert float(wgan.critic_loss(critic, real, fake, None, KEY)) == pytest.approx(wanted, rel=1e-4)
    ebgan = EbganConfig(Heads(3, ()), 1, 8)
    critic = ebgan.start_critic(KEY)
    energy = [np.asarray(ebgan.energy(critic, x, None)[0]) for x in (real, fake)]
    wanted = (energy[0] + np.maximum(0, 10 - energy[1])).mean()
    assert float(ebgan.critic_loss(critic, real, fake, None, KEY)) == pytest.approx(wanted, rel=1e-5)


def softplus(x):
    return np.logaddexp(0.0, np.asarray(x, np.float64))


def test_losses_of_the_generators_by_hand():
    """What each judge is made to say of generated rows: a wrong sign trains the generator away from the data."""
    fake = jax.random.normal(KEY, (4, 3))
    wgan = WganConfig(Heads(3, ()), 1, 8)
    critic = wgan.start_critic(KEY)
    wanted = -float(wgan.value(critic, fake, None).mean())
    assert float(wgan.generator_loss(critic, fake, None)) == pytest.approx(wanted, rel=1e-5)
    ebgan = EbganConfig(Heads(3, ()), 1, 8)
    critic = ebgan.start_critic(KEY)
    energy, code = (np.asarray(a, np.float64) for a in ebgan.energy(critic, fake, None))
    unit = code / np.linalg.norm(code, axis=1, keepdims=True)
    apart = np.mean([(unit[i] @ unit[j]) ** 2 for i in range(4) for j in range(4) if i != j])
    assert float(ebgan.generator_loss(critic, fake, None)) == pytest.approx(energy.mean() + 0.1 * apart, rel=1e-4)
    medgan = MedganConfig(Heads(3, ()), 1, 8)
    critic = medgan.start_critic(KEY)
    value = medgan.value(critic, fake, None)
    assert float(medgan.generator_loss(critic, fake, None)) == pytest.approx(softplus(-value).mean(), rel=1e-5)


def test_the_judge_of_medgan_says_yes_to_real_rows():
    real, fake = jax.random.normal(KEY, (2, 4, 3))
    config = MedganConfig(Heads(3, ()), 1, 8)
    critic = config.start_critic(KEY)
    yes, no = (config.value(critic, x, None) for x in (real, fake))
    wanted = softplus(-yes).mean() + softplus(no).mean()
    assert float(config.critic_loss(critic, real, fake, None, KEY)) == pytest.approx(wanted, rel=1e-5)


class FastWgan(WganConfig):
    critic_rate, generator_rate = 5e-3, 1e-3


def test_a_short_game_moves_the_generator_towards_the_rows():
    """Rows around 2, a generator that starts around 0: a thousand steps of the critic bring it beyond 1. On a line the
    two-sided penalty keeps a critic from turning around, so that it overshoots: nothing is said of where it ends."""
    from nacre.nets.branched import forward
    from nacre.synthesizers.gans.training import train
    from nacre.synthesizers.parts.adversarial import prepared

    rng = np.random.default_rng(0)
    data = prepared(np.zeros((400, 0)), 2 + 0.5 * rng.normal(size=(400, 1)), np.zeros(400, int), 1, [1.0])
    config = FastWgan(Heads(1, ()), 1, 16, latent=4, batch=32)
    made = forward(config.generator, train(data, config, 1000, KEY)[GENERATOR], (rng.normal(size=(2000, 4)),))
    assert made.mean() > 1.0


def test_the_autoencoder_loss_is_squared_error_and_cross_entropy():
    from nacre.nets.branched import forward

    config = MedganConfig(Heads(2, (3,)), 1, 8)
    coder, decoder = config.coder.start(KEY)[0], config.decoder.start(KEY)[0]
    x = jnp.concatenate([jax.random.normal(KEY, (4, 2)), jnp.eye(3)[jnp.array([0, 2, 1, 1])]], axis=1)
    raw = forward(config.decoder, decoder, (forward(config.coder, coder, (x,)),))
    entropy = -jnp.take_along_axis(jax.nn.log_softmax(raw[:, 2:]), jnp.array([0, 2, 1, 1])[:, None], axis=1)[:, 0]
    wanted = (((raw[:, :2] - x[:, :2]) ** 2).sum(1) + entropy).mean()
    assert float(config.rebuilding_loss(coder, decoder, x)) == pytest.approx(float(wanted), rel=1e-5)


@pytest.mark.slow
def test_seeds_trained_together_equal_seeds_trained_alone():
    from nacre.synthesizers.gans.training import train, train_together
    from nacre.synthesizers.parts.adversarial import prepared

    def table(seed):
        rng = np.random.default_rng(seed)
        return prepared(np.zeros((50, 0)), rng.normal(size=(50, 3)), rng.integers(0, 2, 50), 2, [1.0])

    config, keys = MedganConfig(Heads(3, ()), 2, 16, batch=8), [jax.random.key(0), jax.random.key(1)]
    together = train_together([table(0), table(1)], config, 8, keys)
    alone = train(table(1), config, 8, keys[1])
    for net, weights in alone.items():
        for name, a in weights.items():
            np.testing.assert_allclose(together[1][net][name], a, atol=1e-4)


def test_a_class_that_nothing_was_learnt_of_is_drawn_with_a_warning():
    """All models that draw the class by its share say so, not only those of `pearl-paper`."""

    class Two(DrawsByClass):
        schema = nacre.Schema({"y": nacre.Categorical(("a", "b"))})  # type: ignore[assignment]
        shares = np.array([1.0, 0.0])
        class_column = "y"  # type: ignore[assignment]
        draw = parts = from_parts = None  # type: ignore[assignment]

    column = Two.schema.columns["y"]
    assert Two().take_direct({"y": Condition.of(["a"], column)}).tolist() == [1.0, 0.0]
    with pytest.warns(UserWarning, match="y: the share of what is asked for came out as zero"):
        assert Two().take_direct({"y": Condition.of(["b"], column)}).tolist() == [0.0, 1.0]
