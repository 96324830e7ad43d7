"""What a query and an update must not do, tried on made-up units before anything is spent.

- They carry no rows with them (`captured`) and call nothing outside the compiled code.
- A unit's contribution does not depend on the other units of its batch (one of them is changed, and the others must
  stay
  as they were), and taps give what differentiation of one unit at a time gives.
- The parts are those of the plan and the state keeps its shapes and types.

They are tests, not proofs: a query that misbehaves only where it was not tried is not noticed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from nacre.errors import PlanError
from nacre.privacy.passes.captured import refuse_captured
from nacre.privacy.training.descent import Descent, Stepwise, Tapped
from nacre.privacy.training.teaching import Parts, Teaching, divided
from nacre.privacy.training.unit_arrays import Units
from nacre.typed import Array, Tree

TRIED = 6  # units of the made-up batch
_CLOSE = 1e-3  # of the largest number of a unit's contribution: taps that forget a use are off by far more
# Of the same: one compiled function on equal shapes sums in one order, and then equal units give equal bits; where an
# accelerator adds by atomic operations the order is not fixed, and a few last bits may differ.
_EQUAL = 2.0**-20


def check_descent(descent: Descent, state: Tree, made_up: Units, public: object) -> None:
    """Raise PlanError for what the doors cannot answer safely."""
    where = f"entry {descent.entry.name!r}"
    for function in (descent.query, descent.update):
        refuse_captured(function, (state, public), where)
    with jax.default_matmul_precision("highest"):  # TF32 of a GPU would look like a dependence on the batch
        _check_contributions(descent, state, made_up, where)


def _check_contributions(descent: Descent, state: Tree, made_up: Units, where: str) -> None:
    units = made_up.take(np.arange(TRIED))
    keys = jax.random.split(jax.random.key(0), TRIED)
    moved = _moved(state)  # a start at zero would hide what depends on it
    _check_shapes(descent, state, units, keys, where)
    batch = jax.jit(lambda s, u, k: _flat(descent, s, u, k))
    found = batch(moved, units, keys)
    other = made_up.take(np.append(np.arange(TRIED - 1), TRIED))  # another last unit
    again = batch(moved, other, keys)
    if not np.isfinite(np.asarray(found[:-1])).all(axis=1).any():
        raise PlanError(
            f"{where}: what a unit contributes is not finite for any of {TRIED - 1} made-up units: whether it depends "
            "on the other units cannot be seen. Give a start and a query that are finite on ordinary records"
        )
    if not _close(found[:-1], again[:-1], _EQUAL):
        raise PlanError(
            f"{where}: what one unit contributes changes with the other units of the batch (a batch norm, a mean or "
            "a rank over the batch); expected one unit at a time"
        )
    if isinstance(descent.query, Tapped):
        alone = jax.jit(lambda s, u, k: _flat_trees(descent, jax.vmap(descent.query, (None, 0, 0))(s, u, k)))
        if not _close(found, alone(moved, units, keys)):
            raise PlanError(
                f"{where}: taps and differentiation of one unit at a time disagree: a use of a parameter does not go "
                "through the tape, or the loss is not first order in a tapped layer. Use a plain query instead"
            )


def _check_shapes(descent: Descent, state: Tree, units: Units, keys: jax.Array, where: str) -> None:
    one = jax.tree.map(lambda x: x[0], units)
    parts = jax.eval_shape(lambda s, u, k: descent.query(s, u, k), state, one, keys[0])
    wanted = {p.name for p in descent.entry.parts}
    if set(parts) != wanted:
        raise PlanError(f"{where}: the query gives the parts {sorted(parts)}; the plan has {sorted(wanted)}")
    asked = jax.make_jaxpr(lambda s, u, k: descent.query(s, u, k))(state, one, keys[0])
    noisy = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), dict(parts))
    _check_update(descent, state, noisy, asked, where)


def check_teaching(teaching: Teaching, state: Tree, made_up: Units, public: object) -> None:
    """Raise PlanError for lessons that the door cannot give safely: teachers and state keep their shapes, an answer is
    a vector of the planned size, nothing carries rows along or calls out."""
    where, lesson = f"entry {teaching.entry.name!r}", teaching.lesson
    for function in (lesson.start, lesson.learn, lesson.answer, teaching.update):
        refuse_captured(function, (state, public), where)
    parts = divided(made_up, teaching.entry.parts, np.zeros(4, np.uint32))
    teacher = jax.tree.map(jnp.asarray, lesson.start())
    key = jax.random.key(0)

    def lesson_of(teacher: Tree, state: Tree, parts: Parts) -> Any:
        rows, there = parts.some(0, lesson.units, key)
        return lesson.learn(teacher, state, rows, there, key)

    learnt = jax.eval_shape(lesson_of, teacher, state, parts)
    if not _alike(teacher, learnt):
        raise PlanError(f"{where}: learn must return a teacher of the structure, shapes and types that start gives")
    one = lambda t, s, p: teaching.taught(t, s, p, 0, key)  # noqa: E731
    said = jax.eval_shape(one, teacher, state, parts)[1]
    wanted = ((teaching.entry.size,), jnp.float32)
    if not hasattr(said, "shape") or (said.shape, said.dtype) != wanted:
        found = jax.tree.map(lambda a: (a.shape, str(a.dtype)), said)
        raise PlanError(f"{where}: a teacher answers with {found}; expected {teaching.entry.size} float32 numbers")
    noisy = jnp.zeros(teaching.entry.size)
    _check_update(teaching, state, noisy, jax.make_jaxpr(one)(teacher, state, parts), where)


def _check_update(job: Stepwise, state: Tree, noisy: Array, asked: object, where: str) -> None:
    if not _alike(state, jax.eval_shape(job.after, state, noisy, jnp.int32(0))):
        raise PlanError(f"{where}: update must return a state of the same structure, shapes and types as it was given")
    for traced in (asked, jax.make_jaxpr(job.after)(state, noisy, 0)):
        if traced.effects or any("callback" in name for name in _primitives(traced.jaxpr)):
            raise PlanError(f"{where}: a callback leaves the compiled code; a query or an update must not call out")


def _alike(one: object, other: object) -> bool:
    described = [[(a.shape, a.dtype) for a in jax.tree.leaves(tree)] for tree in (one, other)]
    return described[0] == described[1] and jax.tree.structure(one) == jax.tree.structure(other)


def _primitives(jaxpr: Any) -> Iterator[str]:
    """Names of all operations, inside loops and branches too."""
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        for value in jax.tree.leaves(list(equation.params.values()), is_leaf=lambda v: hasattr(v, "eqns")):
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                yield from _primitives(inner)


def _moved(state: Tree) -> Any:
    leaves, structure = jax.tree.flatten(state)
    rng = np.random.default_rng(2)

    def shifted(leaf: Any) -> Any:
        real = jnp.issubdtype(leaf.dtype, jnp.floating)
        return leaf + jnp.asarray(0.1 * rng.normal(size=leaf.shape), leaf.dtype) if real else leaf

    return jax.tree.unflatten(structure, [shifted(leaf) for leaf in leaves])


def _flat(descent: Descent, state: Tree, units: Units, keys: jax.Array) -> jax.Array:
    found = descent.contributions(state, units, keys)
    return _flat_trees(descent, {p: {n: layer.whole() for n, layer in layers.items()} for p, layers in found.items()})


def _flat_trees(descent: Descent, parts: Any) -> jax.Array:
    leaves = jax.tree.leaves({p.name: parts[p.name] for p in descent.entry.parts})
    return jnp.concatenate([leaf.reshape(TRIED, -1).astype(jnp.float32) for leaf in leaves], axis=1)


def _close(one: Any, other: Any, tolerance: float = _CLOSE) -> bool:
    one, other = np.asarray(one), np.asarray(other)
    scale = np.maximum(np.nanmax(np.abs(np.where(np.isfinite(one), one, 0)), axis=1, keepdims=True), 1e-30)
    return one.shape == other.shape and bool(
        np.allclose(one / scale, other / scale, rtol=0, atol=tolerance, equal_nan=True)
    )
