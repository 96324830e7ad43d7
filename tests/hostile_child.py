"""Small files that could eat a machine, loaded one after the other: prints how each ended, the slowest and the peak.

Run by `test_hostile_files`, in a process of its own: peak memory is a matter of processes."""

from __future__ import annotations

import io
import json
import resource
import sys
import time
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save
from tests.edited import HONEST, edited, inside, set_to

import nacre
from nacre.certificates import MOST, load_certificate
from nacre.errors import NacreError
from nacre.learners import load as load_learner
from nacre.privacy.plan import Plan
from nacre.table import documents


def packed(base: Path, **members: bytes) -> bytes:
    """The honest file with other members and a seal that fits."""
    data = edited(base, lambda c: None)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts |= {name.replace("_", "."): data for name, data in members.items()}
    import hashlib

    manifest = json.loads(parts["manifest.json"])
    manifest["sha256"] = {n: hashlib.sha256(d).hexdigest() for n, d in parts.items() if n != "manifest.json"}
    parts["manifest.json"] = json.dumps(manifest).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return out.getvalue()


def entries(*listed: Any) -> Any:
    return set_to(entries=list(listed))


def point(**fields: Any) -> dict[str, Any]:
    return {"door": "sample", "name": "points", "epsilon": 1.0, "draws": 1, "moves": 0, **fields}


def train(q: float, sigma: float, steps: int) -> dict[str, Any]:
    part = {"name": "gradient", "clip": 1.0, "sigma": sigma, "clipping": "flat", "sparsity": 0.5}
    return {"door": "descend", "name": "train", "q": q, "steps": steps, "parts": [part], "group": 1}


def plan(*listed: Any, epsilon: float = 1.0) -> bytes:
    budget = {"epsilon": epsilon, "delta": 1e-6, "neighbours": "add_or_remove_one", "large": False}
    told = {"method": "m", "entries": list(listed), "budget": budget, "cap": 1, "rows": None, "notes": {}}
    return json.dumps(told).encode()


def select(name: str, picks: int, epsilon: float) -> dict[str, Any]:
    return {"door": "select", "name": name, "picks": picks, "epsilon": epsilon, "exact": True}


def columns(found: Any, **rest: Any) -> bytes:
    return json.dumps({"format": 1, "columns": found, **rest}).encode()


LOADERS = {
    ".nacre": nacre.load,
    ".sketch": nacre.load_sketch,
    ".learner": load_learner,
    "plan": lambda path: Plan.from_json(documents.read(path, MOST)),
    "schema": nacre.Schema.load,
    "certificate": load_certificate,
}


def tiny() -> dict[str, tuple[str, bytes]]:
    """A few kilobytes each: name -> (kind of loader, file)."""
    sketch, points, learner = HONEST / "merged.sketch", HONEST / "points.nacre", HONEST / "dpsgd.learner"
    facts, several, digits = "model.json", range(1, 60), 10**4000

    def wide(model: Any) -> None:
        model["facts"].update(width=16_384, depth=64)

    return {
        "a range of 3e3": (".nacre", edited(points, entries(point(epsilon=3e3)))),
        "a range of 3e3, many times": (".nacre", edited(points, entries(point(epsilon=3e3, draws=10**9)))),
        "a small range, 2^62 times": (".nacre", edited(points, entries(point(epsilon=1e-9, draws=2**62)))),
        "little noise on half": (".learner", edited(learner, entries(train(0.5, 0.01, 10)))),
        "2^31 steps": (".learner", edited(learner, entries(train(0.5, 1.0, 2**31 - 1)))),
        "2^31 steps of little": (".learner", edited(learner, entries(train(1e-6, 0.3, 2**31 - 1)))),
        "no noise to speak of": (".learner", edited(learner, entries(train(0.5, 1e-300, 5)))),
        "a billion picks": ("plan", plan(select("s", 10**9, 1e-4))),
        "a thousand kinds": ("plan", plan(*(select(f"s{i}", 3, 1e-3 * (1 + i)) for i in range(1000)))),
        "steps of every kind": ("plan", plan(*({**train(0.01 * i, 0.5, 10**4 * i), "name": f"t{i}"} for i in several))),
        "an epsilon of 1e300": ("plan", plan(select("s", 1, 1.0), epsilon=1e300)),
        "a cap of many digits": ("schema", columns({"x": {"kind": "identifier"}}, unit={"column": "x", "cap": digits})),
        "2^17 frequencies": (".sketch", edited(sketch, inside("facts", "frequencies", to=1 << 17), facts)),
        "2^31 frequencies": (".sketch", edited(sketch, inside("facts", "frequencies", to=2**31), facts)),
        "features without end": (".learner", edited(learner, inside("facts", "features", to=10**15), facts)),
        "a network without end": (".learner", edited(learner, lambda m: m.update(
            learner="GRUD", facts={"hidden": 10**9, "hours": 48, "measurements": 10**6, "classes": [0, 1]}), facts)),
        "a wide network": (".nacre", edited(HONEST / "ppem.nacre", wide, facts)),
    }  # fmt: skip


def large() -> dict[str, tuple[str, bytes]]:
    """Up to the size that a loader takes, or small and many times as large when unpacked."""
    zeros = save({"blocks": np.zeros(60 << 20, np.uint8)})
    labels = [f"{i:x}" for i in range(990_000)]
    return {
        "a hundred thousand entries": ("plan", plan(*(select(f"s{i}", 3, 1e-3) for i in range(100_000)))),
        "lists of nothing": ("schema", b'{"format": 1, "columns": [' + b"[]," * 5_000_000 + b"[]]}"),
        "objects of nothing": ("schema", b'{"format": 1, "columns": [' + b"{}," * 5_000_000 + b"{}]}"),
        "a million labels": ("schema", columns({"x": {"kind": "categorical", "categories": labels}})),
        "fifty thousand columns": ("schema", columns({f"c{i}": {"kind": "identifier"} for i in range(50_000)})),
        "edges without end": ("schema", columns({"x": {"kind": "numeric", "edges": list(range(1_000_000))}})),
        "a deep schema": ("schema", b'{"a":' * 5_000_000),
        "zeros by the megabyte": (".nacre", packed(HONEST / "bought.nacre", arrays_safetensors=zeros)),
        "a certificate of lists": ("certificate", json.dumps({"extras": [[[[]]] * 10] * 10_000}).encode()),
        "a curve of a million": ("certificate", json.dumps({"curve": [[1e-6, 1.0]] * 200_000}).encode()),
    }  # fmt: skip


def write(folder: Path) -> None:
    for number, (kind, data) in enumerate((made := {**tiny(), **large()}).values()):
        (folder / f"{number}{kind if kind.startswith('.') else '.json'}").write_bytes(data)
    (folder / "cases").write_text(json.dumps([[name, kind] for name, (kind, _) in made.items()]))


def load(folder: Path) -> None:
    warnings.simplefilter("ignore")
    for path in HONEST.iterdir():  # what is imported first counts for nobody
        LOADERS[path.suffix](path)
    told = {"": {"ended": "honest", "seconds": 0.0, "peak": _peak()}}
    for number, (name, kind) in enumerate(json.loads((folder / "cases").read_text())):
        path = folder / f"{number}{kind if kind.startswith('.') else '.json'}"
        start = time.process_time()
        try:
            LOADERS[kind](path)
            ended = "loaded"
        except (NacreError, ValueError) as error:
            ended = f"{type(error).__name__}: {error}"[:160]
        told[name] = {"ended": ended, "seconds": time.process_time() - start, "peak": _peak()}
    json.dump(told, sys.stdout)


def _peak() -> int:
    """In MB, of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    {"write": write, "load": load}[sys.argv[1]](Path(sys.argv[2]))
