"""One process in which nothing differs from run to run but the code: entropy, user, width of the screen, versions.

A case works in a folder of its own. What it printed and every file that it left is kept as text where that can be, with
only what must differ between two runs taken out: the clock, the version, the folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import io
import json
import os
import pwd
import random
import re
import sys
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

from benchmarks.places import ROOT

SETTINGS = {
    "COLUMNS": "100",
    "TERMINAL_WIDTH": "100",
    "NO_COLOR": "1",
    "TERM": "dumb",
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
    # One thread and little optimising: sums in one order, and most of the time is spent compiling.
    "XLA_FLAGS": "--xla_backend_optimization_level=1 --xla_cpu_use_fusion_emitters=false "
    "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
ARCHIVES = (".nacre", ".sketch", ".learner")
KEPT_SECONDS = 0.05  # programs that compiled faster are not worth a file


class Entropy:
    """What the operating system gives, made repeatable: one stream for every length that is asked for, so that one
    token more does not move the noise."""

    def __init__(self) -> None:
        self.case, self.asked = "", Counter[int]()

    def start(self, case: str) -> None:
        self.case, self.asked = case, Counter()

    def __call__(self, size: int) -> bytes:
        self.asked[size] += 1
        return hashlib.shake_256(f"{self.case}/{size}/{self.asked[size]}".encode()).digest(size)


def settle(cache: Path | None) -> Entropy:
    """Make this process repeatable. Before nacre or JAX is imported."""
    os.environ.update(SETTINGS)
    sys.path.insert(0, str(ROOT / "src"))  # the nacre beside these files, whichever is installed
    for name in [n for n in os.environ if n.startswith("NACRE_")]:
        del os.environ[name]
    entropy = Entropy()
    os.urandom = entropy
    random._urandom = entropy  # type: ignore[attr-defined]  # what `secrets` and numpy draw from
    version = importlib.metadata.version
    importlib.metadata.version = lambda name: "0" if name == "nacre" else version(name)  # installed or not
    pwd.getpwuid = lambda number: SimpleNamespace(pw_name="ana")  # type: ignore[assignment]
    if cache is not None:
        cache.mkdir(parents=True, exist_ok=True)
        os.environ["JAX_COMPILATION_CACHE_DIR"] = str(cache)
        _keep_programs()
    return entropy


def _keep_programs() -> None:
    """nacre keeps no program on disk that saw private rows; these rows are made up, so all may be kept."""
    from jax._src import compiler

    write = compiler._cache_write

    def kept(key: str, seconds: float, *rest: object) -> None:
        if seconds >= KEPT_SECONDS:
            write(key, 2e9, *rest)

    compiler._cache_write = kept


class Room:
    """The working folder of one case, and what is kept of it."""

    def __init__(self, work: Path, kept: Path):
        self.work, self.kept, self._steps = work, kept, 0
        kept.mkdir(parents=True)
        os.environ["NACRE_STATE"] = str(work / "state")
        self.harvested = False
        self._before = {p.name for p in work.iterdir()}

    def nacre(self, *arguments: object) -> int:
        """Run `nacre ARGUMENTS` in this process; what it says and how it ends is kept."""
        words = [str(a) for a in arguments]
        code, out, err = called(words)
        self.keep("$ nacre " + " ".join(words), f"exit {code}", "--- out", out, "--- err", err)
        return code

    def say(self, name: str, what: Callable[[], object]) -> None:
        """Keep the text of what a function gives, or of the error that it raises, and its warnings."""
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                found = str(what())
            except Exception as error:
                found = f"{type(error).__name__}: {error}"
        ours = [f"{w.category.__name__}: {w.message}" for w in said if issubclass(w.category, UserWarning)]
        self.keep(f"# {name}", found, *(["--- warnings", *ours] if ours else []))

    def keep(self, *parts: str) -> None:
        self._steps += 1
        text = "\n".join(parts).rstrip() + "\n"
        (self.kept / f"{self._steps:02}.txt").write_text(self.plain(text))

    def plain(self, text: str) -> str:
        return normalised(text.replace(str(self.work), "<here>"))

    def harvest(self) -> None:
        """Keep every file that the case has left."""
        self.harvested = True
        for path in sorted(self.work.iterdir()):
            if path.name in self._before or not path.is_file():
                continue
            if path.suffix in ARCHIVES:
                _unpacked(path, self.kept / path.name, self.plain)
            elif path.suffix in (".parquet", ".arrow"):
                (self.kept / f"{path.name}.txt").write_text(_table_text(path))
            elif not path.suffix.startswith(".sqlite"):
                (self.kept / path.name).write_text(self.plain(path.read_text()))


def called(words: list[str]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of the program."""
    from nacre.cli import main

    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["nacre", *words]
    code: int | str | None = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
            main()
    except SystemExit as end:
        code = end.code
    except BaseException:
        err.write(traceback.format_exc())
        code = 99
    finally:
        sys.argv = before
    return (code if isinstance(code, int) else 0), out.getvalue(), err.getvalue()


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


# ------------------------------------------------------------------------------------------------- what must differ

_CLOCK = re.compile(r"20(2[5-9]|[3-9]\d)-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?( UTC|Z|\+00:00)?")  # no data is so new
_SECONDS = re.compile(r'("seconds": ")[\d.]+|(\bseconds(?:</\w+><\w+[^>]*>|\W*\| ))[\d.]+')
_VERSION = re.compile(r'("nacre": )"[^"]+"|\bnacre \d+\.\d+\.\d+\S*')
_HASH = re.compile(r"\b[0-9a-f]{64}\b")


def normalised(text: str) -> str:
    """Without clock, seconds and version."""
    text = _CLOCK.sub("<now>", text)
    text = _SECONDS.sub(lambda m: f"{m[1] or m[2]}<s>", text)
    return _VERSION.sub(lambda m: f'{m[1]}"<version>"' if m[1] else "nacre <version>", text)


def numbered(folder: Path) -> None:
    """Hashes that hold the clock, by order of their first appearance: equal ones stay equal."""
    seen: dict[str, str] = {}
    for path in sorted(p for p in folder.rglob("*") if p.suffix in (".txt", ".json")):
        text = _HASH.sub(lambda m: seen.setdefault(m[0], f"<hash {len(seen) + 1}>"), path.read_text())
        path.write_text(text)


def _unpacked(path: Path, into: Path, plain: Callable[[str], str]) -> None:
    """Every member of a release file; of the manifest only whether its hashes are right."""
    into.mkdir()
    with zipfile.ZipFile(path) as archive:
        members = {i.filename: archive.read(i) for i in archive.infolist()}
        listed = [f"{i.filename} {i.compress_type} {i.date_time}" for i in archive.infolist()]
    manifest = json.loads(members["manifest.json"])
    right = {n: hashlib.sha256(d).hexdigest() for n, d in members.items() if n != "manifest.json"}
    manifest["sha256"] = {n: "right" if right.get(n) == h else h for n, h in manifest["sha256"].items()}
    members["manifest.json"] = json.dumps(manifest, indent=1).encode()
    (into / "members.txt").write_text("\n".join(listed) + "\n")
    for name, data in members.items():
        if name.endswith(".json"):
            (into / name).write_text(plain(data.decode()))
        else:
            (into / name).write_bytes(data)


def _table_text(path: Path) -> str:
    import pyarrow.feather as feather
    import pyarrow.parquet as pq

    table = pq.read_table(path) if path.suffix == ".parquet" else feather.read_table(path)
    rows = "\n".join(map(str, table.slice(0, 20).to_pylist()))
    digest = hashlib.sha256(repr(table.to_pylist()).encode()).hexdigest()
    return f"{table.schema}\n{table.num_rows} rows, {digest}\n{rows}\n"
