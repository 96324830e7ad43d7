"""The adversarial methods with a promise: what they buy, what they ask of rows, and a short fit of each."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pyarrow as pa
import pytest

import nacre
from nacre.errors import NacreError
from nacre.nets.taps import Tape
from nacre.privacy.budget import Budget
from nacre.privacy.plan import Teach
from nacre.synthesizers.gans import bought, pategan, private
from nacre.synthesizers.gans.dpcgan import DpcganConfig
from nacre.synthesizers.gans.dpgan import CriticDescent, DpganConfig
from nacre.synthesizers.gans.gswgan import TURNS, CriticTeaching
from nacre.synthesizers.gans.pategan import KEPT, Votes
from nacre.synthesizers.gans.wgan import WganConfig
from nacre.synthesizers.parts.adversarial import ADAM
from nacre.synthesizers.parts.coding import Coding
from nacre.synthesizers.parts.heads import Heads
from nacre.synthesizers.parts.lipschitz import slope_norm
from nacre.synthesizers.registry import METHODS, make
from nacre.table import Boolean, Numeric
from nacre.table.encoding import encode
from nacre.table.grid import Grid
from nacre.table.simulate.people import people, people_schema

KEY = jax.random.key(1)
HEADS = Heads(2, (3,))
SMALL = {
    "dpgan": {"steps": 3, "width": 8, "turns": 1},
    "dpcgan": {"steps": 3, "width": 8, "turns": 1},
    "gswgan": {"steps": 3, "width": 8, "parts": 6, "batch": 3, "rows": 4},
    "pategan": {"steps": 3, "width": 8, "parts": 6, "rows": 4},
}


@pytest.mark.parametrize("method", SMALL)
def test_fit_sample_save_load(method, tmp_path):
    made = nacre.fit(people(300, 1), epsilon=2.0, schema=people_schema(), target="late_payment", method=method,
                     options=SMALL[method])  # fmt: skip
    assert made.certificate.guarantee == METHODS[method].guarantee and made.certificate.epsilon == 2.0
    made.save(tmp_path / "g.nacre")
    drawn = nacre.load(tmp_path / "g.nacre").sample(200, seed=2)
    assert drawn.equals(made.sample(200, seed=2))
    assert drawn["age"].between(16, 95).all() and drawn["late_payment"].notna().all()


@pytest.mark.parametrize("method", ["dpgan", "pategan"])
def test_without_epsilon_nothing_is_promised(method):
    made = nacre.fit(people(200, 1), epsilon=None, schema=people_schema(), method=method, options=SMALL[method])
    assert made.certificate.guarantee == "none" and made.certificate.epsilon is None


@pytest.mark.parametrize(
    ("method", "wrong"), [("dpgan", {"turns": 5, "steps": 4}), ("gswgan", {"batch": 11, "parts": 10})]
)
def test_settings_with_which_nothing_would_be_learnt_are_refused(method, wrong):
    with pytest.raises(NacreError, match=f"{next(iter(wrong))}=.*more than {list(wrong)[1]}="):
        make(method, wrong)


@pytest.mark.parametrize("wrong", [{"tables": 0}, {"tables": 1.0}, {"clip": -1.0}, {"turns": 0}, {"parts": 2}])
def test_settings_that_mean_nothing_are_refused(wrong):
    with pytest.raises(NacreError, match=next(iter(wrong))):
        make("dpgan", wrong)


@pytest.mark.parametrize("method", ["dpgan", "dpcgan"])
def test_a_batch_is_a_share_of_the_declared_rows_or_refused(method):
    schema, budget = people_schema(), Budget(None)
    made = make(method, {"batch": 60, "target": "late_payment"})
    assert made.plan(schema, 300, budget)["training"].q == 0.2
    assert made.plan(schema, 30, budget)["training"].q == 1
    assert make(method, {"target": "late_payment"}).plan(schema, None, budget)["training"].q == 1 / 32
    with pytest.raises(NacreError, match="batch=60: does nothing where the schema declares no number of rows"):
        made.plan(schema, None, budget)


def test_rows_that_are_not_there_or_have_no_class_count_for_nothing():
    duel = CriticDescent(DpcganConfig(HEADS, 2, 8), 1, 1, 1.0, 1e-3, group=2)
    critic = duel.config.start_critic(KEY)
    x = jax.random.normal(KEY, (3, 2, HEADS.width))
    there, present = np.array([[1, 1], [1, 0], [0, 0]], bool), np.array([[1, 0], [1, 1], [1, 1]], bool)
    units = {"x": x, "kind": jnp.zeros((3, 2), int), "there": jnp.asarray(there)}
    keys = jax.random.split(KEY, 3)
    kinds = jax.nn.one_hot(jnp.zeros(3, int), 2)
    found = jax.jit(lambda c: duel.loss(c, Tape(3), (units, jnp.asarray(present)), keys, None))(critic)
    first = jax.jit(lambda c: duel.config.of_real(duel.config.value(c, Tape(3), x[:, 0], kinds)))(critic)
    np.testing.assert_allclose(found, [first[0], first[1], 0.0], rtol=1e-6)


def test_records_without_a_class_are_not_there():
    schema = nacre.Schema({"y": Boolean(), "x": Numeric(bounds=(0.0, 1.0))})
    layout = make("dpcgan", {"target": "y"}).layout(schema)
    coding = Coding(layout, (("x",),), np.zeros(1), np.ones(1))
    rows = encode(pa.table({"y": [True, None, False], "x": [0.1, 0.2, 0.3]}), schema).columns
    made = private.records(rows, {"coding": coding})
    assert made["there"].tolist() == [True, False, True] and made["kind"].tolist() == [1, 0, 0]


def test_a_critic_of_slope_one_answers_with_a_vector_of_length_one(monkeypatch):
    config = WganConfig(HEADS, 1, 8)
    monkeypatch.setattr(WganConfig, "value", lambda self, critic, x, given: x[:, 0])
    state = {"generator": config.generator.start(KEY)[0], "log_shares": jnp.zeros(1), "key": jax.random.key_data(KEY)}
    for rows in (4, 25):
        said = jax.jit(CriticTeaching(config, 1, rows, 1e-3).answer)({"critic": None}, state)
        assert said.shape == (rows * HEADS.width,) and float(jnp.linalg.norm(said)) == pytest.approx(1, rel=1e-5)


def test_the_generator_starts_at_the_bought_shares():
    """Rows of an untrained generator have the noisy shares of labels, up to what its random weights add."""
    shares = np.array([0.7, 0.2, 0.1])
    outset = np.concatenate([np.zeros(2), np.log(shares)])
    coding = type("Coding", (), {"heads": lambda self, part: HEADS})()
    known = bought.Bought(coding, np.ones(1), outset, np.zeros((2, 5)))
    config = WganConfig(HEADS, 1, 32)
    generator = known.begun(config.generator.start(KEY)[0])
    made = jax.jit(lambda generator: private.generated_for(config, generator, None, KEY, 20_000))
    rows = np.asarray(made(generator))
    assert set(np.unique(rows[:, 2:])) == {0.0, 1.0} and (rows[:, 2:].sum(axis=1) == 1).all()
    np.testing.assert_allclose(rows[:, 2:].mean(axis=0), shares, atol=0.12)


def test_moments_of_bought_tables():
    """Mean and mean square of a standardised number, against the rows that were counted."""
    grid = Grid.of(people_schema().columns["age"])
    rng = np.random.default_rng(0)
    counts = np.bincount(rng.integers(5, 60, 5000), minlength=len(grid.low)).astype(np.int64)
    middle = (grid.low + grid.high) / 2
    share = (np.repeat(middle, counts[: len(middle)]) - grid.low[0]) / (grid.high[-1] - grid.low[0])
    standard = (share - 0.4) / 0.2
    found = bought._moments(grid, counts, 0.4, 0.2)
    np.testing.assert_allclose(found, [standard.mean(), (standard**2).mean()], rtol=1e-6)


@pytest.mark.parametrize("config", [DpganConfig(HEADS, 1, 8), DpcganConfig(HEADS, 2, 8)])
def test_the_generated_half_is_clipped_like_rows_and_needs_none(config):
    """Σ over generated rows of clipped gradients, against differentiation of one row at a time."""
    duel = CriticDescent(config, 10, 2, 0.05, 1e-3)
    state = {
        "generator": config.generator.start(KEY)[0],
        "critic": config.start_critic(KEY),
        "log_shares": jnp.log(jnp.ones(2) / 2),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(config), "steep", 0.0)
        found = duel.public_slope(state, KEY)
    x, given = private.made(config, state["generator"], state["log_shares"], jax.random.split(KEY)[0], config.batch)

    def one(critic, i):
        return config.of_fake(config.value(critic, Tape(1), x[i : i + 1], None if given is None else given[i : i + 1]))[
            0
        ]

    total = None
    for i in range(config.batch):
        slope = jax.grad(one)(state["critic"], i)
        norm = np.sqrt(sum(float(jnp.square(leaf).sum()) for leaf in jax.tree.leaves(slope)))
        slope = jax.tree.map(lambda g: g * min(1.0, 0.05 / norm) / config.batch, slope)  # noqa: B023
        total = slope if total is None else jax.tree.map(jnp.add, total, slope)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(total)):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-7)


def test_the_generator_follows_the_gradients_of_a_critic():
    """Without noise, a step along the answer of one critic is a step along the gradient of −mean f(G(z))·sqrt(rows)."""
    config, rows = WganConfig(HEADS, 1, 8), 4
    taught = CriticTeaching(config, 10, rows, 1e-3)
    generator = config.generator.start(KEY)[0]
    state = {"generator": generator, "log_shares": jnp.zeros(1), "key": jax.random.key_data(KEY)}
    critic = taught.start()["critic"]
    answer = taught.answer({"critic": critic}, state)
    assert answer.shape == (rows * HEADS.width,)
    _, back = jax.vjp(lambda m: taught.asked(state, m)[0], generator)
    (found,) = back(-answer.reshape(rows, -1))
    wanted = jax.grad(lambda m: -config.value(critic, taught.asked(state, m)[0], None).mean() * rows**0.5)(generator)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted)):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-7)


PAIR = Heads(2, ())
DUELS = {"dpgan": DpganConfig(PAIR, 1, 8, latent=4), "dpcgan": DpcganConfig(PAIR, 1, 8, latent=4)}


def made_around_zero(config):
    """The public state of a generator of two numbers that starts around 0."""
    known = bought.Bought(type("C", (), {"heads": lambda self, part: PAIR})(), np.ones(1), np.zeros(2), None)
    return private.start(config, known, KEY)


@partial(jax.jit, static_argnums=0)
def generated(config, state):
    return private.made(config, state["generator"], state["log_shares"], KEY, 200)[0]


def rows_beside(side, rows=64):
    """Rows whose first number lies around `side`, the second around 0."""
    return jnp.array([side, 0.0]) + jax.random.normal(KEY, (rows, 2))


def dueling(config, steps=60):
    critic = config.start_critic(KEY)
    return CriticDescent(config, steps, 2, 1.0, 1e-2), {
        **made_around_zero(config),
        "critic": critic,
        "critic_memory": ADAM.init(critic),
    }


def real_slope(duel, critic, x):
    """What `descend` would give without clip and noise: the mean over real rows of the gradient of their loss."""
    units = {"x": x, "kind": jnp.zeros(len(x), int), "there": jnp.ones(len(x), bool)}
    keys = jax.random.split(KEY, len(x))
    return jax.grad(lambda j: duel.loss(j, Tape(len(x)), units, keys, None).mean())(critic)


def short_step(weights, slope):
    """The weights a hundredth further down the slope."""
    norm = jnp.sqrt(sum(jnp.square(g).sum() for g in jax.tree.leaves(slope)))
    return jax.tree.map(lambda w, g: w - 1e-2 * g / norm, weights, slope)


@pytest.mark.parametrize("method", DUELS)
def test_the_critic_raises_real_rows_and_lowers_generated_ones(method):
    """A short step down each half of its loss alone: together, one half may hide the wrong sign of the other. The
    critic is flat, so that there is no penalty."""
    config = DUELS[method]
    duel, state = dueling(config)
    real, fake = rows_beside(3.0), generated(config, state)

    @jax.jit
    def raised(critic):
        value = lambda critic, x: config.value(critic, Tape(len(x)), x, None).mean()  # noqa: E731
        slopes = (real_slope(duel, critic, real), real), (duel.public_slope({**state, "critic": critic}, KEY), fake)
        return [value(short_step(critic, slope), x) - value(critic, x) for slope, x in slopes]

    up, down = raised(jax.tree.map(lambda w: w / 2, state["critic"]))
    assert up > 1e-3 and down < -1e-3


def test_the_penalty_makes_a_steep_critic_less_steep():
    """A critic with slopes far above one: they fall when the public half of its loss is followed."""
    config = DUELS["dpgan"]
    duel, state = dueling(config)
    near = generated(config, state)

    @jax.jit
    def steep(critic):
        after = short_step(critic, duel.public_slope({**state, "critic": critic}, KEY))
        return [slope_norm(lambda x: config.value(j, Tape(len(x)), x, None), near).mean() for j in (critic, after)]  # noqa: B023

    before, after = steep(jax.tree.map(lambda w: 2 * w, state["critic"]))
    assert before > 2, "this critic is not steep"
    assert after < before - 1e-3


@pytest.mark.parametrize("method", DUELS)
def test_a_duel_moves_generated_rows_to_the_real_ones(method):
    """Real rows around 3 or −3, no noise: sixty steps of the critic, thirty of the generator."""
    config = DUELS[method]
    duel, state = dueling(config)

    @jax.jit
    def trained(state, x):
        def step(state, key):
            return duel.update(state, {"gradient": real_slope(duel, state["critic"], x)}, key), None

        return jax.lax.scan(step, state, jax.random.split(KEY, duel.steps))[0]

    for side in (3.0, -3.0):
        end = trained(state, rows_beside(side))
        moved = float((generated(config, end) - generated(config, state))[:, 0].mean()) / side
        assert moved > 0.25, f"generated rows went {moved:.2f} of the way to the real ones"


def test_teachers_lead_the_generator_to_the_rows_of_their_part():
    """Rows around 3 or −3: a critic learns to value them above generated ones, with slopes of about one, as the penalty
    asks; the generator follows its answers. In one dimension a slope of one could not turn around: hence two."""
    config = WganConfig(PAIR, 1, 8, latent=4)
    taught = CriticTeaching(config, 100, 32, 2e-2)
    state = {**made_around_zero(config), "key": jax.random.key_data(KEY)}
    there = jnp.ones(TURNS * 16, bool)

    @jax.jit
    def learnt(x):
        part = {"x": x, "kind": jnp.zeros(len(x), int), "there": there}
        step = lambda teacher, key: (taught.learn(teacher, state, part, there, key), None)  # noqa: E731
        return jax.lax.scan(step, taught.start(), jax.random.split(KEY, 60))[0]

    answer, value = jax.jit(taught.answer), jax.jit(lambda teacher, x: config.value(teacher["critic"], x, None).mean())
    follow = jax.jit(lambda now, teacher, key: taught.update(now, taught.answer(teacher, now), key))
    for side in (3.0, -3.0):
        teacher = learnt(rows_beside(side, len(there)))
        assert value(teacher, rows_beside(side)) > value(teacher, generated(config, state)) + 1
        assert 0.5 < float(jnp.linalg.norm(answer(teacher, state))) < 1.5
        now = state
        for key in jax.random.split(KEY, 10):
            now = follow(now, teacher, key)
        assert float((generated(config, now) - generated(config, state))[:, 0].mean()) / side > 0.2


@pytest.mark.parametrize("total", [1, 20, 250, 2000])
def test_the_released_average_holds_little_of_the_start(total):
    """Weights that jump from 0 to -1 at the first step and stay: what is left of 0 at the end of a run."""
    generator = {"w": jnp.zeros(1)}
    state = {"generator": generator, "mean": generator, "generator_memory": ADAM.init(generator)}
    step = jax.jit(lambda s, rate: private.generator_step(s, {"w": jnp.ones(1)}, rate, total))
    for number in range(total):
        state = step(state, float(number == 0))
    assert 1 + float(state["mean"]["w"][0]) < np.exp(-2.5) * 1.001


def generated_around_zero(rows, rate=2e-2):
    config = WganConfig(Heads(1, ()), 1, 8, latent=4)
    voting = Votes(config, WganConfig(config.heads, 1, 8), 10, rows, rate)
    known = bought.Bought(type("C", (), {"heads": lambda self, part: config.heads})(), np.ones(1), np.zeros(1), None)
    student = config.start_critic(KEY)
    state = {
        **private.start(config, known, KEY),
        "student": student,
        "studying": ADAM.init(student),
        "key": jax.random.key_data(KEY),
        "seen": jnp.zeros((KEPT, rows, 1)),
        "votes": jnp.zeros((KEPT, rows)),
        "moments": jnp.zeros((2, 1)),
    }
    return voting, state


def test_a_teacher_learns_to_vote_for_the_rows_of_its_part():
    voting, state = generated_around_zero(64)
    teacher, rows = voting.start(), {"x": 5.0 + jax.random.normal(KEY, (32, 1))}
    learn = jax.jit(lambda t, key: voting.learn(t, state, rows, jnp.ones(32), key))
    for key in jax.random.split(KEY, 150):
        teacher = learn(teacher, key)
    said = np.asarray(voting.teacher.value(teacher["critic"], jnp.array([[0.0], [5.0]]), None))
    assert said[0] < 0 < said[1]
    assert np.mean(np.asarray(voting.answer(teacher, state))) < -0.3, "generated rows are seen for what they are"


def test_the_generator_goes_where_votes_are(monkeypatch):
    """Ten rounds of exact votes for large values move generated rows up, votes against them down."""
    monkeypatch.setattr(pategan, "HOLD", 0.0)
    voting, state = generated_around_zero(64)
    update = jax.jit(voting.update)
    ends = []
    for sign in (0.5, -0.5):
        now = state
        for key in jax.random.split(KEY, 10):
            now = update(now, sign * jnp.sign(voting.asked(now)[:, 0]), key)
        ends.append(float(private.made(voting.config, now["generator"], now["log_shares"], KEY, 500)[0].mean()))
    assert ends[0] > 0.5 and ends[1] < -0.5


def test_votes_are_as_long_as_planned():
    """±½ on B rows: a change of all votes moves the sum by 2·clip."""
    entry = make("pategan", {"rows": 16}).plan(people_schema(), 300, nacre.Budget(1.0, 1e-5))["training"]
    assert isinstance(entry, Teach) and entry.q == 1.0
    assert 2 * entry.clip == pytest.approx(np.linalg.norm(np.full(16, 0.5) - np.full(16, -0.5)))
