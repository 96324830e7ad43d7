"""The loop: steps of the judge where there is one, a step of the generator, compiled in chunks; many seeds by vmap."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from nacre.distances.kernels import RBFSum
from nacre.synthesizers.parts.adversarial import averaged, chunks, finite, moved, pace
from nacre.synthesizers.weighted import losses
from nacre.synthesizers.weighted.game import Data, Game

CHUNK = 500
RULES = {
    "adam": optax.scale_by_adam(b1=0.5, b2=0.99),
    "rmsprop": optax.scale_by_rms(decay=0.99),
}


def prepared(rows: Any, weights: Any, given: Any = None, copies: Any = None, fixed: bool = True) -> Data:
    """`copies`: how often each row is repeated, for importance duplication; by default the weights themselves. `fixed`:
    the kernel is fixed, and its bandwidths are in units of the rows' median distance."""
    from nacre.distances.kernels import median_distance

    rows = np.asarray(rows, np.float32)
    draw = np.cumsum(np.asarray(weights if copies is None else copies, np.float64))
    upto = np.minimum(np.rint(draw / draw[-1] * 2.0**32), 2.0**32 - 1).astype(np.uint32)  # floats are too coarse
    given = np.zeros((len(rows), 0)) if given is None else given
    if fixed and rows.ndim == 2:
        heavy = np.random.default_rng(0).choice(len(rows), min(2_000, len(rows)), p=weights / np.sum(weights))
        distance = median_distance(rows[heavy])
    else:
        distance = 1.0
    scaled = np.asarray(weights, np.float32)
    return Data(rows, scaled, upto, np.asarray(given, np.float32), np.float32(distance))


def start(game: Game, key: jax.Array) -> dict[str, Any]:
    one, two, three = jax.random.split(key, 3)
    maker = game.maker.start(one)
    judge = {} if game.judge is None else {"judge": game.judge.start(two)}
    judge |= {} if game.back is None else {"back": game.back.start(three)}
    rule = RULES[game.optimiser]
    return {
        "maker": maker,
        "judge": judge,
        "mean": jax.tree.map(jnp.array, maker),
        "making": rule.init(maker),
        "judging": rule.init(judge),
    }


# ------------------------------------------------------------------------------------------------------- batches


def batch(game: Game, data: Data, key: jax.Array) -> tuple[Any, Any, Any]:
    """(rows, weights, conditions), uniformly drawn, or by weight for losses that know no weights."""
    n = len(data.rows)
    if game.by_weight or game.scheme == "plain":
        u = jax.random.bits(key, (game.batch,), jnp.uint32)
        i = jnp.minimum(jnp.searchsorted(data.upto, u, side="right"), n - 1)
    else:
        i = jax.random.randint(key, (game.batch,), 0, n)
    return data.rows[i], data.weights[i], data.given[i]


def made(game: Game, maker: Any, given: Any, key: jax.Array) -> Any:
    """Generated rows for these conditions."""
    one, two = jax.random.split(key)
    z = jax.random.normal(one, (len(given), game.latent))
    raw = game.maker(maker, (z, given) if given.shape[1] else (z,))
    return raw if game.heads is None else game.heads.relaxed(raw, two)


def scheme_of(game: Game) -> str:
    return "plain" if game.by_weight else game.scheme


# -------------------------------------------------------------------------------------------------------- losses


def distance(game: Game, data: Data, judge: Any, x: Any, y: Any, w: Any, key: jax.Array) -> tuple[Any, Any, Any]:
    """(squared MMD on codes, or on the rows for a fixed kernel; codes of x; codes of y)."""
    if game.judge is None:
        kernel = RBFSum(tuple(s * data.distance for s in game.scales))
    else:
        x, y = (game.judge(judge["judge"], (r,)) for r in (x, y))
        kernel = RBFSum(game.scales)
    return losses.squared_mmd(kernel, x, y, w, scheme_of(game), game.form, key, game.groups), x, y


def judge_loss(judge: Any, game: Game, data: Data, x: Any, y: Any, w: Any, given: Any, key: jax.Array) -> Any:
    one, two = jax.random.split(key)
    p = losses.shares(w, scheme_of(game))
    if game.loss == "ce":
        value = lambda rows: game.judge(judge["judge"], (rows, given) if given.shape[1] else (rows,))[:, 0]  # noqa: E731
        found = losses.real_loss(value(x), w, scheme_of(game), one, game.groups) + losses.fake_loss(value(y))
        return found + game.flat * losses.flatness(value, x, p) if game.flat else found
    critic = game.critic
    u, ex, ey = distance(game, data, judge, x, y, w, one)
    again = [game.back(judge["back"], (e,)) for e in (ex, ey)]
    flat = [r.reshape(len(r), -1) for r in (x, y, *again)]
    even = jnp.full(len(y), 1 / len(y))
    found = critic.rebuild * (losses.rebuilding(flat[0], flat[2], p) + losses.rebuilding(flat[1], flat[3], even))
    found -= critic.pull * (losses.root(u) if critic.root else u)
    found -= critic.rank * losses.rank(ex, ey, p) if critic.rank else 0.0
    if critic.steep:
        found += critic.steep * losses.steepness(lambda r: game.judge(judge["judge"], (r,)), x, y, two)
    return found


def maker_loss(maker: Any, judge: Any, game: Game, data: Data, key: jax.Array) -> Any:
    one, two, three = jax.random.split(key, 3)
    x, w, given = batch(game, data, one)
    y = made(game, maker, given, two)
    if game.loss == "ce":
        return losses.maker_loss(game.judge(judge["judge"], (y, given) if given.shape[1] else (y,))[:, 0])
    u, ex, ey = distance(game, data, judge, x, y, w, three)
    if game.judge is None or not game.critic.root:
        return u
    extra = game.critic.rank * losses.rank(ex, ey, losses.shares(w, scheme_of(game)))
    return losses.root(u) + (extra if game.critic.rank_in_maker else 0.0)


# --------------------------------------------------------------------------------------------------------- steps


def turn(state: Any, data: Data, key: jax.Array, speed: Any, game: Game) -> Any:
    """One step of the judge."""
    a, b, c = jax.random.split(key, 3)
    judge = state["judge"]
    if game.critic.clamp and game.loss == "mmd":
        cut = game.critic.clamp
        judge = {**judge, "judge": jax.tree.map(lambda v: jnp.clip(v, -cut, cut), judge["judge"])}
    x, w, given = batch(game, data, a)
    y = jax.lax.stop_gradient(made(game, state["maker"], given, b))
    slope = jax.grad(judge_loss)(judge, game, data, x, y, w, given, c)
    judge, judging = moved(judge, slope, state["judging"], speed * game.judge_rate, RULES[game.optimiser])
    return {**state, "judge": judge, "judging": judging}


def step(state: Any, data: Data, key: jax.Array, number: Any, total: Any, game: Game) -> Any:
    speed = pace(number / total)
    one, two = jax.random.split(key)
    if game.judge is not None:
        turns: Any = game.turns
        if game.critic.warm and game.loss == "mmd":
            turns = jnp.where((number < 25) | (number % 500 == 0), 100, game.turns)
        state = jax.lax.fori_loop(0, turns, lambda i, s: turn(s, data, jax.random.fold_in(one, i), speed, game), state)
    slope = jax.grad(maker_loss)(state["maker"], state["judge"], game, data, two)
    maker, making = moved(state["maker"], slope, state["making"], speed * game.rate, RULES[game.optimiser])
    kept = jnp.minimum(game.memory, (1.0 + number) / (10.0 + number))  # the average forgets its start soon
    return {**state, "maker": maker, "making": making, "mean": averaged(state["mean"], maker, kept)}


@partial(jax.jit, static_argnames=("game", "length", "lanes"))
def chunk(state: Any, data: Data, key: Any, first: Any, total: Any, game: Game, length: int, lanes: bool) -> Any:
    """`length` steps from number `first`; with `lanes`, state, data and key have a leading axis of trainings."""

    def one(state: Any, data: Data, key: jax.Array) -> Any:
        def go(state: Any, number: Any) -> tuple[Any, None]:
            return step(state, data, jax.random.fold_in(key, number), number, total, game), None

        return jax.lax.scan(go, state, first + jnp.arange(length))[0]

    return jax.vmap(one)(state, data, key) if lanes else one(state, data, key)


def train(
    data: Data, game: Game, steps: int, key: Any, progress: Callable[[int, int], None] = lambda done, of: None,
    lanes: bool = False, keep: Callable[[Any, int], bool] | None = None,
) -> Any:  # fmt: skip
    """Weights of the generator, averaged over steps; with `lanes`, of many trainings at once, by their keys.

    `keep(state, done)` is called after every chunk and may end the training. ConvergenceError if a weight is not
    finite (with `lanes` the caller looks).
    """
    begin = jax.random.fold_in if not lanes else jax.vmap(jax.random.fold_in, (0, None))
    first = jax.vmap(partial(start, game)) if lanes else partial(start, game)
    state = first(begin(key, 2**31 - 1))
    data = jax.tree.map(jnp.asarray, data)
    for done, length in chunks(steps, CHUNK):
        state = chunk(state, data, key, done, float(steps), game, length, lanes)
        progress(done + length, steps)
        if keep is not None and keep(state, done + length):
            break
    if lanes:
        return jax.tree.map(lambda a: np.asarray(a, np.float32), state["mean"])
    return finite(state["mean"], "; train fewer steps, or lower the rates")
