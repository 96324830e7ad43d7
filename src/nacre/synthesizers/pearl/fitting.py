"""Fit a mixture of products to the sketch: particles with free logits, or a network that makes them from noise.

Pure post-processing: sees released numbers, their noise and the public characters, never a row. Particle m holds one
distribution per column, the target among them; the value of frequency i in class c is the mean over particles of
p_m(c)·Π_a Σ_g p_m(g) e^{i a_g}, exact for the rows that will be drawn (specs/pearl.md E7). The loss is the sum of
squared errors with true inverse variances; noise and batches add a constant and a known variance (E6), both
subtracted before the critic weighs them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from nacre.errors import ConvergenceError
from nacre.synthesizers.parts.adversarial import chunks
from nacre.synthesizers.pearl import critic
from nacre.synthesizers.pearl.characters import ORDER, Characters
from nacre.typed import Array, Tree

CHUNK = 50  # steps per jitted call


@dataclass(frozen=True)
class Effort:
    """How to fit: `particles` of the model (or of a batch of the network), steps, Adam's rate, whether a network
    makes the particles, and whether the critic plays (one step of its own in ten)."""

    particles: int = 1024
    steps: int = 300
    rate: float = 0.15
    network: bool = False
    critic: bool = False
    spread: float = 1.0
    latent: int = 16
    hidden: int = 128


@dataclass(frozen=True)
class Measured:
    """The released numbers. phi: complex [classes, k], shares of rows; sigma [k]: noise of a real part; shares and
    share_sigma: per column, group shares from the one-way tables and their noise; target: column or None. Where the
    characters were taken of fine cells, `folds` holds per column the share of each cell in its group [groups, cells].
    """

    phi: np.ndarray
    sigma: np.ndarray
    shares: Sequence[np.ndarray]
    share_sigma: Sequence[np.ndarray]
    target: int | None
    folds: Sequence[np.ndarray] | None = None


class Problem(NamedTuple):
    """The same as arrays. `cosine`, `sine` [Σ groups, atoms + 1]: tables of the atoms of positive harmonic, zero
    outside their column, the last one constant; `first`, `second`, `third` [k]: atoms of each frequency, with the
    signs of the second and third harmonic; `third` is None when no frequency has three columns. `member`: the column
    of each group; `start`: where the log scales of the critic begin."""

    cosine: jax.Array
    sine: jax.Array
    first: jax.Array
    second: jax.Array
    third: Any
    sign: jax.Array
    re: jax.Array
    im: jax.Array
    weight: jax.Array
    noise: jax.Array
    share: jax.Array
    share_weight: jax.Array
    harmonics: jax.Array
    member: jax.Array
    start: jax.Array


def problem(measured: Measured, characters: Characters) -> Problem:
    sizes = [len(s) for s in measured.shares]
    positive = np.flatnonzero(characters.harmonic > 0)
    cosine, sine = _atom_tables(characters, sizes, positive, measured.folds)
    number = {(int(characters.column[a]), int(characters.harmonic[a])): i for i, a in enumerate(positive)}
    number[-1, 0] = len(positive)
    column, harmonic = np.append(characters.column, -1), np.append(characters.harmonic, 0)
    atom = np.array([number[int(c), abs(int(h))] for c, h in zip(column, harmonic)])[characters.members]
    harmonics = np.zeros((len(atom), len(sizes) + 1))
    for place in range(ORDER):
        own = characters.members[:, place]
        harmonics[np.arange(len(atom)), column[own]] += harmonic[own]
    precision = measured.sigma**-2.0
    flat = np.concatenate([np.broadcast_to(s, (n,)) for s, n in zip(measured.share_sigma, sizes)]) ** -2.0
    scale = max(precision.max(initial=0.0), flat.max())
    floats = partial(jnp.asarray, dtype=jnp.float32)
    held = floats(harmonics[:, :-1])
    reach = jnp.sqrt(jnp.maximum((held**2).sum(0), 1e-6) / jnp.maximum((held != 0).sum(0), 1))
    return Problem(
        floats(cosine),
        floats(sine),
        jnp.asarray(atom[:, 0]),
        jnp.asarray(atom[:, 1]),
        jnp.asarray(atom[:, 2]) if (atom[:, 2] < len(positive)).any() else None,
        floats(np.where(harmonic < 0, -1.0, 1.0)[characters.members].T),
        floats(measured.phi.real),
        floats(measured.phi.imag),
        floats(precision / scale),
        floats(2 * measured.sigma**2),
        floats(np.concatenate(measured.shares)),
        floats(flat / scale),
        held,
        jnp.asarray(np.repeat(np.arange(len(sizes)), sizes)),
        jnp.log(reach),
    )


def _atom_tables(
    characters: Characters, sizes: list[int], positive: np.ndarray, folds: Sequence[np.ndarray] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Mean cosine and sine of every positive atom in each group."""
    edges = np.cumsum([0, *sizes])
    cosine, sine = np.zeros((2, edges[-1], len(positive) + 1))
    for i, a in enumerate(positive):
        column = int(characters.column[a])
        rows = slice(edges[column], edges[column + 1])
        phase = characters.angle[column] * characters.harmonic[a]
        fold = np.eye(len(phase)) if folds is None else folds[column]
        cosine[rows, i], sine[rows, i] = fold @ np.cos(phase), fold @ np.sin(phase)
    return cosine, sine


_dot = partial(jnp.matmul, precision="highest")


def expectations(p: jax.Array, kind: jax.Array, task: Problem) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Mean over particles of each frequency's value in each class (real, imaginary part) and of its squared modulus
    times the squared class probability: three arrays [classes, k].

    Frequencies of one or two columns are entries of weighted Gram matrices of the atoms, a few small products;
    only those of three columns are multiplied out particle by particle.
    """
    rows = p.shape[0]
    one = jnp.zeros(task.cosine.shape[1]).at[-1].set(1.0)
    cosine, sine = _dot(p, task.cosine) + one, _dot(p, task.sine)
    if task.third is not None:
        return _multiplied(cosine, sine, kind, task)
    both = jnp.concatenate([cosine, sine], axis=1)
    count = cosine.shape[1]
    found = []
    for c in range(kind.shape[1]):
        gram = _dot((both * kind[:, c : c + 1]).T, both) / rows
        cc, ss = gram[task.first, task.second], gram[count + task.first, count + task.second]
        sc, cs = gram[count + task.first, task.second], gram[task.first, count + task.second]
        power = cosine**2 + sine**2
        square = (_dot((power * kind[:, c : c + 1] ** 2).T, power) / rows)[task.first, task.second]
        found.append((cc - task.sign[1] * ss, sc + task.sign[1] * cs, square))
    re, im, square = (jnp.stack(part) for part in zip(*found))
    return re, im, square


def _multiplied(cosine: jax.Array, sine: jax.Array, kind: jax.Array, task: Problem) -> tuple[Any, Any, Any]:
    cosine, sine = cosine.T, sine.T  # atoms first: whole rows are gathered
    re, im = cosine[task.first], sine[task.first]
    for atoms, sign in ((task.second, task.sign[1]), (task.third, task.sign[2])):
        c, s = cosine[atoms], sign[:, None] * sine[atoms]
        re, im = re * c - im * s, re * s + im * c
    rows = kind.shape[0]
    square = _dot(re**2 + im**2, kind**2).T / rows
    return _dot(re, kind).T / rows, _dot(im, kind).T / rows, square


def squared_error(p: jax.Array, task: Problem, last: slice | None, batch: bool) -> jax.Array:
    """|phi - model|² of each frequency, summed over classes, less what noise adds (and, for a batch of a network,
    less the variance of its mean): unbiased for the error of the model itself (specs/pearl.md E6)."""
    rows = p.shape[0]
    kind = p[:, last] if last is not None else jnp.ones((rows, 1), p.dtype)
    re, im, square = expectations(p, kind, task)
    error = (re - task.re) ** 2 + (im - task.im) ** 2
    if batch:
        error = error - (square - re**2 - im**2) / (rows - 1)
    return error.sum(0) - len(task.re) * task.noise


def loss(p: jax.Array, task: Problem, last: slice | None, batch: bool, weight: jax.Array) -> jax.Array:
    """Weighted error of the frequencies plus that of the one-way shares."""
    one = p.mean(0) - task.share
    square = one**2 - (p.var(0) / (p.shape[0] - 1) if batch else 0.0)
    return jnp.sum(weight * task.weight * squared_error(p, task, last, batch)) + jnp.sum(task.share_weight * square)


def probabilities(logits: jax.Array, member: jax.Array, blocks: int) -> jax.Array:
    """Softmax within each column's block of logits [rows, Σ groups]."""
    one_hot = jax.nn.one_hot(member, blocks, dtype=logits.dtype)
    mean = jnp.matmul(logits, one_hot, precision="highest") / one_hot.sum(0)
    weight = jnp.exp(jnp.clip(logits - mean[:, member], -40.0, 40.0))
    return weight / jnp.matmul(weight, one_hot, precision="highest")[:, member]


# ------------------------------------------------------------------------------------------------------- the network


def start_network(key: jax.Array, effort: Effort, base: jax.Array) -> dict[str, jax.Array]:
    """Two hidden layers; the output starts at the one-way shares, spread like the particles."""
    sizes = [effort.latent, effort.hidden, effort.hidden, len(base)]
    found = {}
    for i, (a, b) in enumerate(pairwise(sizes)):
        key, own = jax.random.split(key)
        found[f"w{i}"] = jax.random.normal(own, (a, b)) * (2.0 / a) ** 0.5
        found[f"b{i}"] = jnp.zeros(b)
    found["b2"] = base
    return found


def run_network(net: dict[str, jax.Array], z: jax.Array) -> jax.Array:
    for i in range(2):
        z = jax.nn.relu(z @ net[f"w{i}"] + net[f"b{i}"])
    return z @ net["w2"] + net["b2"]


# ----------------------------------------------------------------------------------------------------------- descent


def fit(
    measured: Measured,
    characters: Characters,
    effort: Effort,
    key: jax.Array,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> np.ndarray:
    """Block probabilities [particles, Σ groups]; each column's block sums to one. Same key and device, same answer."""
    sizes = [len(s) for s in measured.shares]
    task = problem(measured, characters)
    edges = np.cumsum([0, *sizes]).tolist()
    target = measured.target
    last = None if target is None else (edges[target], edges[target + 1])
    floor = np.concatenate([np.maximum(s, 0.02 / len(s)) for s in measured.shares])
    base = jnp.log(jnp.asarray(floor, jnp.float32))
    key, own = jax.random.split(key)
    if effort.network:
        state: Tree = start_network(own, effort, base)
    else:
        state = base + effort.spread * jax.random.normal(own, (effort.particles, len(base)))
    players = (state, task.start)
    play = players, tuple(_optimiser(effort).init(part) for part in players)
    for numbers in chunks(effort.steps, CHUNK):
        key, own = jax.random.split(key)
        play = _chunk(play, own, numbers, task, last, effort)
        progress(int(numbers[-1]) + 1, effort.steps)
    blocks = np.asarray(_made(play[0][0], key, task, effort))
    if not np.isfinite(blocks).all():
        raise ConvergenceError(f"the fit left finite numbers in {effort.steps} steps: take fewer (`steps`)")
    return blocks


def _made(state: Any, key: jax.Array, task: Problem, effort: Effort) -> jax.Array:
    logits = state
    if effort.network:
        logits = run_network(state, jax.random.normal(key, (effort.particles, effort.latent)))
    return probabilities(logits, task.member, task.harmonics.shape[1])


def _optimiser(effort: Effort) -> optax.GradientTransformation:
    return optax.adam(effort.rate if not effort.network else effort.rate / 30)


@partial(jax.jit, static_argnames=("last", "effort"))
def _chunk(play: Any, key: jax.Array, numbers: Array, task: Problem, last: tuple[int, int] | None, effort: Effort):
    """Both players and the moments of their optimisers after the steps of these numbers."""
    place = None if last is None else slice(*last)
    optimiser = _optimiser(effort)

    def objective(state, log_scale, key):
        weight = critic.weights(task.harmonics, task.start, log_scale) if effort.critic else jnp.ones(len(task.weight))
        return loss(_made(state, key, task, effort), task, place, effort.network, weight)

    def step(carry, now):
        (state, log_scale), (first, second) = carry
        number, key = now
        grad = jax.grad(objective)(state, log_scale, key)
        update, first = optimiser.update(grad, first, state)
        state = optax.apply_updates(state, update)
        if effort.critic:

            def play(log_scale, second):
                up = -jax.grad(objective, argnums=1)(state, log_scale, jax.random.fold_in(key, 1))
                update, second = optax.adam(0.01).update(up, second, log_scale)
                moved = optax.apply_updates(log_scale, update)
                return critic.kept_in_play(task.start, log_scale, jnp.asarray(moved), task.harmonics), second

            log_scale, second = jax.lax.cond(
                number % 10 == 9, play, lambda log_scale, second: (log_scale, second), log_scale, second
            )
        return ((state, log_scale), (first, second)), None

    return jax.lax.scan(step, play, (numbers, jax.random.split(key, len(numbers))))[0]
