"""A long descent can be interrupted: its state, how far it came, and which plan and rows it belongs to.

A checkpoint holds no key: a resumed run draws another, so no noise is used twice. It refuses other rows, another
entry, another shape of state and a file that was changed. Its state is public, but the digest of the rows is not, and a
second ending from the same checkpoint would be a second release: the file is the owner's, readable by nobody else, and
gone when the run ends.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from nacre.errors import DataError, PlanError
from nacre.table.writing import whole_file
from nacre.typed import Tree

if TYPE_CHECKING:
    from nacre.privacy.training.unit_arrays import Units


class Checkpoint:
    """The file of one descent."""

    def __init__(self, path: str | os.PathLike):
        self.path = Path(path)

    def save(self, state: Tree, done: int, descent: object, units: Units) -> None:
        from safetensors.numpy import save

        arrays = {f"{i:06d}": np.ascontiguousarray(leaf) for i, leaf in enumerate(jax.tree.leaves(state))}
        facts = {"done": done, "entry": _facts(descent), "salt": secrets.token_hex(16)}
        facts["seal"] = _seal(facts, list(arrays.values()), units)
        with whole_file(self.path, force=True, private=True) as part:
            part.write_bytes(save(arrays, metadata={"nacre": json.dumps(facts)}))

    def resume(self, state: Tree, descent: Any, units: Units) -> tuple[Any, int]:
        """(state, steps done) of the file, or the given state and 0 when there is none."""
        if not self.path.exists():
            return state, 0
        from safetensors import safe_open

        try:
            with safe_open(self.path, "numpy") as file:
                facts = json.loads(file.metadata()["nacre"])
                found = [file.get_tensor(name) for name in sorted(file.keys())]
            seal, done, entry = facts.pop("seal"), facts["done"], facts["entry"]
        except Exception as error:
            raise DataError(f"{self.path}: not a checkpoint of a descent ({type(error).__name__}); remove it") from None
        if entry != _facts(descent):
            raise PlanError(
                f"{self.path}: a checkpoint of another entry; resume with the plan it was made by, or remove it"
            )
        if seal != _seal(facts, found, units):
            raise DataError(
                f"{self.path}: the table is not the one this descent began with, whose steps were paid for, or the "
                "file was changed. Give the same table, or remove the checkpoint and plan anew"
            )
        if type(done) is not int or not 0 < done < descent.entry.steps:  # below 0 it would take steps nobody paid for
            raise DataError(f"{self.path}: {done!r} steps of {descent.entry.steps} are done, it says; remove it")
        leaves, structure = jax.tree.flatten(state)
        if [(np.shape(a), a.dtype) for a in leaves] != [(a.shape, a.dtype) for a in found]:
            raise PlanError(f"{self.path}: the state in it has other shapes or types than the one given; remove it")
        return jax.tree.unflatten(structure, [jnp.asarray(a) for a in found]), done

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def _seal(facts: object, leaves: list[np.ndarray], units: Units) -> str:
    """Changes with the rows and with everything else in the file: without the rows, nobody can write another."""
    found = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for leaf in leaves:
        found.update(leaf.tobytes())
    return units.digest(found.digest())


def _facts(descent: Any) -> Any:
    public = {"expected": descent.expected, "seed": descent.seed}
    return json.loads(json.dumps({**descent.entry.to_json(), **public}))
