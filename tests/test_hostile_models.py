"""Small files that could eat a machine, and mutated ones: a typed error or a sound object, soon, in little memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from benchmarks.fuzz.__main__ import tried
from benchmarks.fuzz.loaders import HONEST, loaders, models
from tests.hostile_child import LOADERS, tiny

from nacre.errors import NacreError

ROOT = Path(__file__).parent.parent
SECONDS, MEGABYTES = 2.0, 512
IMPORTS = 5.0  # seconds that a first use of JAX and scikit-learn may take
GOOD = ("a million labels", "fifty thousand columns", "edges without end")  # large, and all right


@pytest.mark.filterwarnings("ignore")
def test_tiny_files_that_could_eat_a_machine(tmp_path):
    for name, (kind, data) in tiny().items():
        path = tmp_path / f"hostile{kind if kind.startswith('.') else '.json'}"
        path.write_bytes(data)
        assert len(data) < 100_000
        start = time.process_time()
        with pytest.raises(NacreError):
            LOADERS[kind](path)
        assert time.process_time() - start < SECONDS + IMPORTS, name


@pytest.mark.slow
def test_small_files_that_could_eat_a_machine(tmp_path):
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "JAX_PLATFORMS": "cpu"}
    for step in ("write", "load"):
        done = subprocess.run([sys.executable, "-m", "tests.hostile_child", step, str(tmp_path)], cwd=ROOT, timeout=300,
                              capture_output=True, text=True, env=environment)  # fmt: skip
        assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout)
    assert len(told) > 20
    for name, found in told.items():
        assert (found["ended"] in ("loaded", "honest")) == (name in ("", *GOOD)), (name, found)
        assert found["seconds"] < SECONDS and found["peak"] < MEGABYTES, (name, found, told[""])


@pytest.fixture(scope="module")
def known():
    return {**loaders(), **{one.name: one for one in models(HONEST)}}


NAMES = ("release", "certificate", "certificate-chains", "certificate-steps", "sketch", "learner", "schema",
         "schema-rich", "plan", "certificate-text", "report", "model-bought", "model-merf", "model-merged",
         "ledger", "model-points", "model-weighted", "model-dpgan", "model-ppem")  # fmt: skip
FEW = ("certificate-steps", "learner", "model-dpgan", "model-ppem")  # JAX or privacy losses in every case


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_mutated_documents_and_models(known, name):
    loader = known[name]
    loader.load(loader.honest)
    found = [tried(loader, seed)[0] for seed in range(1_000_000, 1_000_000 + (40 if name in FEW else 200))]
    assert set(found) <= {"loaded", "refused"}, [f for f in found if f not in ("loaded", "refused")][:5]
    assert found.count("refused") > len(found) / 2
