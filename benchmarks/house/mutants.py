"""How much the tests of privacy/ and table/ notice: small faults put into the sources, one at a time.

    python -m benchmarks.house.mutants --count 240 --seed 0 --jobs 16 --src . --out mutants.json

The tests are run once without a fault, noting the lines each of them runs. A fault is then shown the tests that run
its line (for a line that runs at import: its file), the quickest first and one case of every test before a second
one, as many as fit in a budget of seconds. It is caught when one of them fails or the time limit passes. Tests that
fail without a fault are left out and named. `--src` may be the tree of any revision. Tests run in forks of a process
that has imported what takes long to import, and are limited by their processor time. `--keep NAME` writes what was
found to benchmarks/results/house.json.
"""

import argparse
import ast
import contextlib
import copy
import importlib.util
import itertools
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from multiprocessing.pool import ThreadPool
from pathlib import Path
from queue import Queue

from benchmarks.house import lines_hit
from benchmarks.places import RESULTS

AREAS = ("privacy", "table")
TESTS = ("tests/privacy", "tests/table", "tests/privacy_contract", "tests/engines")
# Files that take minutes and compile networks; their subjects have quicker tests in the folders above.
LEFT_OUT = ("test_replay.py", "test_ppem.py", "test_learning.py", "test_sharded_descent.py", "test_cluster.py")
MOST_TESTS = 150
LIMIT_S, LIMIT_WITHOUT_FAULT_S = 60, 600  # of processor time
PATIENCE = 15  # seconds of the clock for each second of the limit, on a machine that others use too
WARM = ("pytest", "hypothesis", "numpy", "pandas", "pyarrow.compute", "scipy.stats", "sklearn.metrics", "jax", "optax")
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
    "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1",
    "PYTHONHASHSEED": "0",
}

COMPARISONS = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt,
}  # fmt: skip
EDGES = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
EXTREMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}


@dataclass(frozen=True)
class Mutant:
    file: str
    line: int
    last: int
    column: int
    kind: str
    was: str
    now: str
    span: tuple[int, int]

    def applied(self, source: bytes) -> bytes:
        return source[: self.span[0]] + self.now.encode() + source[self.span[1] :]


def replacements(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What one node may become, with the name of the fault."""
    new = copy.deepcopy(node)
    match new:
        case ast.Compare(ops=[op]):
            for kind, table in (("comparison", COMPARISONS), ("edge", EDGES)):
                if type(op) in table:
                    yield kind, ast.Compare(new.left, [table[type(op)]()], new.comparators)
        case ast.BinOp(op=op) if type(op) in ARITHMETIC:
            yield "arithmetic", ast.BinOp(new.left, ARITHMETIC[type(op)](), new.right)
        case ast.Constant(value=int() | float()) if not isinstance(new.value, bool):
            yield "constant", ast.Constant(new.value + 1)
        case ast.BoolOp(op=op, values=values):
            yield "and/or", ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not", operand
        case ast.Return(value=value) if value is not None and not (isinstance(value, ast.Constant) and not value.value):
            yield "return", ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise():
            yield "dropped", ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "dropped", ast.Pass()
        case ast.Name(id=name) if name in EXTREMES:
            yield "min/max", ast.Name(EXTREMES[name])
        case ast.Attribute(attr=name) if name in EXTREMES:
            yield "min/max", ast.Attribute(new.value, EXTREMES[name])


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def walked(node: ast.AST, statement: ast.stmt | None = None) -> Iterator[tuple[ast.AST, ast.stmt]]:
    """Every node that runs, with the statement it stands in: no annotations, and no parts of formatted texts."""
    for name, field in ast.iter_fields(node):
        if name in ("annotation", "returns", "type_params"):
            continue
        for child in field if isinstance(field, list) else [field]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr) or is_type_checking(child):
                continue
            inside = child if isinstance(child, ast.stmt) else statement
            if inside is not None and hasattr(child, "lineno"):
                yield child, inside
            yield from walked(child, inside)


def mutants_of(path: Path, name: str) -> list[Mutant]:
    source = path.read_bytes()
    starts = [0, *itertools.accumulate(len(line) for line in source.splitlines(keepends=True))]
    found = []
    for node, statement in walked(ast.parse(source)):
        for kind, new in replacements(node):
            span = (starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset)
            now = ast.unparse(ast.fix_missing_locations(new))
            whole = isinstance(node, ast.stmt | ast.Name | ast.Attribute)
            now = now if whole else f"({now})"
            where = (statement.lineno, node.end_lineno, node.col_offset)
            found.append(Mutant(name, *where, kind, ast.unparse(node), now, span))
    return found


def compiles(package: Path, mutant: Mutant) -> bool:
    try:
        compile(mutant.applied((package / mutant.file).read_bytes()), mutant.file, "exec")
    except SyntaxError:
        return False
    return True


def sources(package: Path) -> list[Path]:
    return sorted(p for area in AREAS for p in (package / area).rglob("*.py"))


def chosen(src: Path, count: int, seed: int, within: str = "") -> list[Mutant]:
    """First one of every file, then files in proportion to what can be changed in them; kinds come equally often."""
    package = src / "src" / "nacre"
    pool: dict[str, list[Mutant]] = {}
    for path in sources(package):
        name = path.relative_to(package).as_posix()
        if name.startswith(within) and (of_file := mutants_of(path, name)):
            pool[name] = of_file
    dice = random.Random(f"mutants {seed}")
    weights = {name: len(of_file) for name, of_file in pool.items()}
    order = dice.sample(sorted(pool), len(pool))
    while len(order) < count and any(weights.values()):
        order += dice.choices(list(weights), list(weights.values()), k=1)
    taken = []
    for name in order[:count]:
        left = pool[name]
        if not left:
            continue
        kind = dice.choice(sorted({m.kind for m in left}))
        pick = dice.choice([m for m in left if m.kind == kind])
        left.remove(pick)
        if compiles(package, pick):
            taken.append(pick)
    return taken


class Workplace:
    """A copy of the package that one job at a time may change; a marked one tells which lines are run."""

    def __init__(self, src: Path, folder: Path, marked: bool = False):
        self.src, self.folder = src, folder
        self.package = folder / "nacre"
        shutil.copytree(src / "src" / "nacre", self.package)
        shutil.copy(lines_hit.__file__, folder)
        self.clock = 1_000_000_000
        if marked:
            (self.package / f"{lines_hit.MODULE}.py").write_text(lines_hit.SOURCE)
            for path in sources(self.package):
                name = path.relative_to(self.package).as_posix()
                self.write(name, lines_hit.marked(path.read_text(), name).encode())

    def write(self, name: str, source: bytes) -> None:
        path = self.package / name
        path.write_bytes(source)
        self.clock += 2  # compiled files are known by their second: no two contents share one
        os.utime(path, (self.clock, self.clock))

    def pytest(self, args: list[str], limit_s: int, note: Path | None = None) -> int | None:
        """The exit status of pytest, or None where it ran past the limit."""
        env = {
            "PYTHONPATH": str(self.folder),
            "HYPOTHESIS_STORAGE_DIRECTORY": str(self.folder / "hypothesis"),
            "LINES_HIT_OUT": str(note),
        }
        options = ["-q", "-p", "no:cacheprovider", *(["-p", "lines_hit"] * bool(note))]
        if importlib.util.find_spec("hypothesis"):
            options.append("--hypothesis-seed=0")
        child = FORKS.Process(target=forked, args=(self.src, self.folder, env, [*options, *args], limit_s))
        child.start()
        child.join(PATIENCE * limit_s)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        ended = child.exitcode
        child.join()
        return None if ended in (None, -signal.SIGXCPU, -signal.SIGKILL) else ended


FORKS = multiprocessing.get_context("forkserver")


def forked(src: Path, folder: Path, env: dict[str, str], options: list[str], limit_s: int) -> None:
    """pytest in a process of its own session, with the copy of the package before all others."""
    os.setsid()
    with (folder / "log").open("wb") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s + 5))
    os.environ.update(env)
    os.chdir(src)
    sys.path[:0] = [str(folder), str(src)]
    for name in [m for m in sys.modules if m.split(".")[0] == "benchmarks"]:
        del sys.modules[name]  # those of the tree that is measured are to be found
    import pytest

    status = int(pytest.main(options))
    sys.stdout.flush()
    os._exit(status)


class Tests:
    """What the run without a fault has shown of every test."""

    def __init__(self):
        self.seconds: dict[str, float] = defaultdict(float)
        self.failed: set[str] = set()
        self.by_line: dict[tuple[str, int], set[str]] = defaultdict(set)
        self.by_file: dict[str, set[str]] = defaultdict(set)
        self.prepared: dict[tuple[str, int], set[str]] = defaultdict(set)  # test files whose fixtures run a line

    def learn(self, note: Path) -> None:
        for line in note.read_text().splitlines() if note.exists() else ():
            fact = json.loads(line)
            test = fact["test"]
            self.seconds[test] += fact["s"]
            if fact["outcome"] != "passed":
                self.failed.add(test)
            for name, lines in fact["lines"].items():
                self.by_file[name].add(test)
                for at in lines:
                    self.by_line[name, at].add(test)
                    if fact["when"] == "setup":
                        self.prepared[name, at].add(test.split("::")[0])

    def of(self, mutant: Mutant, budget_s: float) -> list[str]:
        at = [(mutant.file, n) for n in range(mutant.line, mutant.last + 1)]
        direct = set().union(*(self.by_line.get(a, set()) for a in at))
        files = set().union(*(self.prepared.get(a, set()) for a in at))
        users = {t for t in self.by_file[mutant.file] if not direct} | {
            t for t in self.seconds if t.split("::")[0] in files
        }
        return self.within(direct, budget_s) or self.within(users, budget_s)

    def within(self, tests: set[str], budget_s: float) -> list[str]:
        seen: Counter[str] = Counter()
        ranked = []
        for test in sorted(tests - self.failed, key=lambda t: (self.seconds[t], t)):
            function = test.split("[")[0]
            ranked.append((seen[function], self.seconds[test], test))
            seen[function] += 1
        taken, spent = [], 0.0
        for _, seconds, test in sorted(ranked)[:MOST_TESTS]:
            if spent + seconds <= budget_s or not taken:
                taken.append(test)
                spent += seconds
        return sorted(taken, key=lambda t: self.seconds[t])


def test_files(src: Path) -> list[Path]:
    """The largest first."""
    files = [f for d in TESTS for f in sorted((src / d).glob("test_*.py")) if f.name not in LEFT_OUT]
    return sorted(files, key=lambda f: -f.stat().st_size)


def measured(places: "Queue[Workplace]", pool: ThreadPool, src: Path, files: list[Path], folder: Path) -> Tests:
    """Every test file once without a fault; what an earlier run has noted of one in this folder is taken as it is."""

    def run(file: Path) -> Path:
        note = folder / f"{file.parent.name}.{file.stem}.lines"
        if note.exists():
            return note
        place, part = places.get(), note.with_suffix(".part")
        part.unlink(missing_ok=True)
        status = place.pytest([str(file.relative_to(src))], LIMIT_WITHOUT_FAULT_S, part)
        if status not in (0, 1):
            ending = (place.folder / "log").read_text(errors="replace")[-1000:]
            print(f"without a fault: {file.name} ended with {status}\n{ending}", flush=True)
        if part.exists():
            part.rename(note)
        places.put(place)
        return note

    tests = Tests()
    for note in pool.imap_unordered(run, files):
        tests.learn(note)
    return tests


def tried(place: Workplace, mutant: Mutant, tests: list[str]) -> str:
    path = place.package / mutant.file
    source = path.read_bytes()
    place.write(mutant.file, mutant.applied(source))
    listed = place.folder / "tests.txt"
    listed.write_text("\n".join(tests))
    try:
        status = place.pytest(["-x", f"@{listed}"], LIMIT_S)
    finally:
        place.write(mutant.file, source)
    return "timeout" if status is None else "survived" if status == 0 else "caught"


def keep(name: str, src: Path, report: dict[str, object]) -> None:
    """The sums of a run, and the faults that no test noticed, beside the figures of the house."""
    page = RESULTS / "house.json"
    kept = json.loads(page.read_text())
    head = subprocess.run(["git", "-C", src, "log", "-1", "--format=%h"], check=True, capture_output=True, text=True)
    rows = report.pop("mutants")
    survivors = sorted(f"{r['file']}:{r['line']}: {r['was']} -> {r['now']}" for r in rows if r["outcome"] == "survived")
    command = f"python -m benchmarks.house.mutants {' '.join(sys.argv[1:])}"
    told = {"tree": head.stdout.strip(), "command": command, **report, "survivors": survivors}
    kept.setdefault("mutants", {})[name] = told
    page.write_text(json.dumps(kept, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=240)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--src", type=Path, default=Path())
    parser.add_argument("--budget", type=float, default=20, help="seconds of tests for each fault")
    parser.add_argument(
        "--seconds", type=float, default=480, help="no fault is begun after this; those left are counted"
    )
    parser.add_argument("--within", default="", help="only sources whose name begins so, such as table/values")
    parser.add_argument("--tests", nargs="+", type=Path, help="only these test files")
    parser.add_argument("--lines", type=Path, help="a folder for what is noted of tests without a fault, to go on with")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--keep", metavar="NAME", help="the name of this run in benchmarks/results/house.json")
    given = parser.parse_args()
    began, src = time.monotonic(), given.src.resolve()
    mutants = chosen(src, given.count, given.seed, given.within)
    files = [src / test for test in given.tests] if given.tests else test_files(src)
    with tempfile.TemporaryDirectory(prefix="mutants-") as name, ThreadPool(given.jobs) as pool:
        folder = Path(name).resolve()
        os.environ.update(ENVIRONMENT, JAX_COMPILATION_CACHE_DIR=str(folder / "programs"))
        FORKS.set_forkserver_preload([*WARM])
        places: Queue[Workplace] = Queue()
        marked: Queue[Workplace] = Queue()
        for job in range(given.jobs):
            for name, queue in ((f"{job}", places), (f"{job} marked", marked)):
                (folder / name).mkdir()
                queue.put(Workplace(src, folder / name, queue is marked))
        noted = given.lines or folder / "lines"
        noted.mkdir(parents=True, exist_ok=True)
        tests = measured(marked, pool, src, files, noted.resolve())
        print(f"{len(tests.seconds)} tests, {len(tests.failed)} left out, {time.monotonic() - began:.0f} s", flush=True)

        def attempt(mutant: Mutant) -> dict[str, object]:
            shown = tests.of(mutant, given.budget)
            start = time.monotonic()
            if start - began > given.seconds:
                outcome = "untried"
            elif not shown:
                outcome = "survived"  # no test runs it
            else:
                place = places.get()
                outcome = tried(place, mutant, shown)
                places.put(place)
            print(f"{outcome:9}{mutant.file}:{mutant.line} {mutant.kind} ({len(shown)} tests)", flush=True)
            took = round(time.monotonic() - start, 1)
            return {**asdict(mutant), "outcome": outcome, "tests": len(shown), "seconds": took}

        rows = list(pool.imap_unordered(attempt, mutants))
    totals = Counter(str(row["outcome"]) for row in rows)
    by_area = {a: Counter(str(r["outcome"]) for r in rows if str(r["file"]).startswith(a)) for a in AREAS}
    left_out = sorted(tests.failed)
    report = {"totals": totals, "by_area": by_area, "seed": given.seed, "left_out": left_out, "mutants": rows}
    given.out.write_text(json.dumps(report, indent=1) + "\n")
    if given.keep:
        keep(given.keep, src, report)
    print(json.dumps({"totals": totals, "by_area": by_area, "seconds": round(time.monotonic() - began)}))


if __name__ == "__main__":
    main()
