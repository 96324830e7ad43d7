"""Arrows point one way: what may import what, and what is imported nowhere."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "nacre"
FILES = sorted(SOURCE.rglob("*.py"))

# Each part may import itself, `errors`, and the parts named here.
ALLOWED = {
    "errors": set(),
    "progress": set(),
    "notebook": set(),
    "typed": set(),
    "owner": {"table"},
    "moved": set(),
    "table": set(),
    "engines": {"table"},
    "privacy": {"moved", "table", "engines"},
    "distances": set(),
    "nets": set(),
    "targets": {"table"},
    "synthesizers": {"moved", "table", "privacy", "distances", "nets", "targets"},
    "planning": {"table", "privacy", "synthesizers"},
    "learners": {"owner", "table", "privacy", "distances", "nets", "release", "run"},
    "release": {"moved", "table", "engines", "privacy", "synthesizers", "targets"},
    "run": {"owner", "table", "engines", "privacy", "synthesizers", "planning", "release", "targets"},
    "sites": {"owner", "table", "engines", "privacy", "synthesizers", "planning", "release", "run"},
    "certificates": {"table", "privacy", "synthesizers", "learners"},
    "metrics": {"table", "distances"},
    "report": {"table", "privacy", "metrics", "certificates"},
    "evaluation": {"table", "engines", "distances", "nets", "metrics", "report", "certificates"},
    "audit": {"table", "engines", "privacy", "release", "distances", "metrics", "report"},
}
# Methods whose arithmetic sees only noisy tables: neither rows nor budgets.
PURE = {
    "synthesizers/mixture/fit.py",
    "synthesizers/mixture/loss.py",
    "synthesizers/mixture/sampling.py",
    "synthesizers/mixture/denoise.py",
    "synthesizers/mixture/refine.py",
    "synthesizers/parts/grouping.py",
}
# No way to run code from data.
FORBIDDEN_MODULES = {"pickle", "cPickle", "_pickle", "joblib", "dill", "cloudpickle", "marshal", "shelve"}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}


def part(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def imports(path: Path) -> set[str]:
    """Absolute names of all modules imported anywhere in the file, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = list(path.relative_to(SOURCE.parent).parts[:-1])
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(filter(None, [base, node.module]))
            found |= {module} if module != "nacre" else {f"nacre.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_arrows_point_one_way(path):
    own = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    if own not in ALLOWED:  # __init__, the command line and the demo may use everything
        assert own in ("__init__", "__main__", "cli", "demo"), (
            f"{own} has no place in the order of imports: give it one here"
        )
        return
    used = {part(m) for m in imports(path) if m.startswith("nacre.")}
    everywhere = {own, "errors", "progress", "notebook", "typed"}
    assert used <= everywhere | ALLOWED[own], f"{own} must not import {used - ALLOWED[own] - everywhere}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_nothing_can_run_code_from_data(path):
    assert not {m.split(".")[0] for m in imports(path)} & FORBIDDEN_MODULES
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in FORBIDDEN_CALLS, f"line {node.lineno}: {node.func.id}()"
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            assert isinstance(node.value, ast.Constant) and node.value.value is False, f"line {node.lineno}"


@pytest.mark.parametrize("name", sorted(PURE))
def test_arithmetic_on_noisy_tables_knows_neither_rows_nor_budgets(name):
    used = {part(m) for m in imports(SOURCE / name) if m.startswith("nacre.")}
    assert not used & {"table", "privacy", "engines", "run", "release"}


def test_a_method_does_not_import_engines():
    """Methods get their answers from a curator; only the curator may open rows."""
    for path in (SOURCE / "synthesizers").rglob("*.py"):
        assert "engines" not in {part(m) for m in imports(path) if m.startswith("nacre.")}, path.name


def test_only_the_room_and_its_passes_touch_private_rows():
    """Doors are given passes by the room; methods are given doors: neither holds rows, nor reaches into a room."""
    for path in (SOURCE / "privacy").rglob("*.py"):
        inside = path.relative_to(SOURCE / "privacy").parts
        if inside[0] in ("room.py", "nested", "passes", "ledger"):  # the ledger's rows are its own
            continue
        assert "engines" not in {part(m) for m in imports(path) if m.startswith("nacre.")}, path.name
        used = {n.attr for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Attribute)}
        assert "_rows" not in used, path.name
    for path in FILES:
        if path.relative_to(SOURCE).parts[0] in ("privacy", "audit"):  # audits have rooms of made-up rows
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
                owner = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
                private = node.attr.startswith("_") and not node.attr.startswith("__")
                assert not (private and owner in ("curator", "room")), f"{path.name}, line {node.lineno}: {node.attr}"


HEAVY = (
    "jax",
    "pandas",
    "polars",
    "sklearn",
    "scipy",
    "pyarrow",
    "dp_accounting",
    "opendp",
    "mpmath",
    "numpy",
    "typer",
)


def test_import_nacre_is_light():
    command = f"import sys, nacre; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_a_release_is_read_and_drawn_without_jax_and_accountants(tmp_path):
    from tests.privacy_contract import checks, tables

    path = tmp_path / "r.nacre"
    checks.fit_with("independent", tables.schema(), {})(tables.people(50)).save(path)
    command = (
        "import sys, nacre; nacre.load(sys.argv[1]).sample(5, as_='pyarrow'); "
        "print([m for m in ('jax', 'sklearn', 'dp_accounting', 'opendp') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", command, str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-500:]
    assert done.stdout.strip() == "[]"


def test_old_names_of_modules_work_and_say_where_they_went():
    from nacre.moved import HOMES

    command = (
        "import importlib, sys, warnings\n"
        "warnings.simplefilter('error', DeprecationWarning)\n"
        "for old, home in [pair.split('=') for pair in sys.argv[1:]]:\n"
        "    try: importlib.import_module('nacre.' + old)\n"
        "    except DeprecationWarning as w: assert 'nacre.' + home in str(w), w\n"
        "    else: raise SystemExit(old + ' did not warn')\n"
        "    warnings.simplefilter('ignore')\n"
        "    assert importlib.import_module('nacre.' + old) is importlib.import_module('nacre.' + home), old\n"
        "    warnings.simplefilter('error', DeprecationWarning)\n"
        "try: from nacre.release import load\n"
        "except DeprecationWarning: pass\n"
        "else: raise SystemExit('nacre.release.load did not warn')\n"
    )
    pairs = [f"{old}={home}" for old, home in HOMES.items()]
    done = subprocess.run([sys.executable, "-c", command, *pairs], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-800:]
