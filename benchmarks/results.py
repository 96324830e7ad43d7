"""Figures of a run: kept per seed, written as mean and spread after every seed, so that nothing is lost."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.places import RESULTS, ROOT, WORK
from nacre.metrics import metric

QUICK = ".quick"  # behind the names of files of quick runs
ABOUT = ("command", "commit", "date", "versions", "hardware")  # of a run
PACKAGES = ("nacre", "jax", "numpy", "scipy", "pandas", "pyarrow", "scikit-learn")


@dataclass(frozen=True)
class Setting:
    """What one column of figures belongs to. `epsilon` is None for a table made without privacy."""

    method: str
    dataset: str
    epsilon: float | None = None
    delta: float | None = None
    guarantee: str | None = "none"


class Results:
    """Collects figures and writes `<folder>/<name>.json` in the layout that the results page reads.

    Only registered metrics are accepted. With `resume`, values of an interrupted run are read back. `notes`
    say under what conditions the figures were taken; `tell` keeps facts about the methods of others. With `keep`,
    figures and notes that the file holds already stay in it until they are measured anew. Every figure keeps the run it
    is of, so that logs of several machines can be put one behind the other and written with `--only none`.
    """

    def __init__(
        self,
        name: str,
        command: str,
        folder: Path = RESULTS,
        work: Path = WORK,
        resume: bool = False,
        keep: bool = False,
    ):
        self.name, self.command, self.resume = name, command, resume
        self.notes: list[str] = []
        self._told: dict[str, dict[str, Any]] = {}
        self.path = folder / f"{name}.json"
        self.log = work / f"{name}.jsonl"
        self.published: list[dict[str, Any]] = []
        self._values: dict[tuple[Setting, str], dict[int, float]] = {}
        self._runs: dict[tuple[Setting, str], dict[str, Any]] = {}  # of which run the newest value is
        self._run: dict[str, Any] | None = None  # of the last line of the log
        self._commit = commit()  # of the code that was loaded, whatever is committed while it runs
        self._date = datetime.now(UTC).date().isoformat()  # of its beginning
        self._done: set[tuple[str, int]] = set()
        self._before: dict[str, Any] = json.loads(self.path.read_text()) if keep and self.path.exists() else {}
        if resume and self.log.exists():
            for line in self.log.read_text().splitlines():
                self._keep(json.loads(line))
        else:
            self.log.unlink(missing_ok=True)

    @property
    def benchmark(self) -> str:
        """The name to run it by; that of a quick run's file has a mark behind it."""
        return self.name.removesuffix(QUICK)

    def add(self, setting: Setting, seed: int, figures: Mapping[str, float], case: str = "") -> None:
        """Keep the figures of one seed, in place of earlier ones of that seed, and append them to the log.

        `case` names what was asked for, so that `has` can tell it was done: the δ of a setting, for one, may
        have been left to a default that is known only afterwards.
        """
        for name in figures:
            metric(name)
        numbers = {k: float(v) for k, v in figures.items()}
        self._begin()
        record = {"case": case, "setting": asdict(setting), "seed": seed, "figures": numbers}
        self._log(record)

    def _begin(self) -> None:
        """The run of the figures that follow, where it is not that of the figures before."""
        if self._run != self._this():
            self._log({"run": self._this()})

    def _log(self, record: Mapping[str, Any]) -> None:
        self._keep(record)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("a") as out:
            out.write(json.dumps(record) + "\n")

    def tell(self, case: str, about: Mapping[str, Any]) -> None:
        """Keep facts about a case that are no figures (package, outcome, yes or no), and write the file."""
        if about:
            self._log({"case": case, "about": dict(about)})
            self.write()

    def note(self, text: str) -> None:
        """Keep a remark about the conditions of the run, once; a resumed run has it too."""
        if text not in self.notes:
            self._log({"note": text})

    def only_note(self, text: str) -> None:
        """Keep this remark in place of all earlier ones, those of the file included."""
        self._before.pop("notes", None)
        self._log({"note": text, "alone": True})

    def _keep(self, record: Mapping[str, Any]) -> None:
        if "run" in record:
            self._run = record["run"]
            return
        if "note" in record:
            self.notes = [*([] if record.get("alone") else self.notes), record["note"]]
            return
        if "about" in record:
            self._told[record["case"]] = record["about"]
            return
        self._done.add((record["case"], record["seed"]))
        for name, value in record["figures"].items():
            what = Setting(**record["setting"]), name
            self._values.setdefault(what, {})[record["seed"]] = value
            self._runs[what] = self._run or self._this()

    def has(self, case: str, seed: int) -> bool:
        """Was this case measured with this seed, in this run or in the one that is resumed?"""
        return (case, seed) in self._done

    def of(self, setting: Setting, seed: int) -> dict[str, float]:
        """The figures of that setting and seed; empty where it was not measured."""
        return {name: v[seed] for (where, name), v in self._values.items() if where == setting and seed in v}

    def settings(self, dataset: str) -> list[Setting]:
        """What was measured on that table."""
        return list(dict.fromkeys(s for s, _ in self._values if s.dataset == dataset))

    def find(self, method: str, dataset: str, epsilon: float | None) -> Setting | None:
        """The setting of that method and budget, if it was measured."""
        found = [s for s in self.settings(dataset) if (s.method, s.epsilon) == (method, epsilon)]
        return found[0] if found else None

    def rows(self) -> list[dict[str, Any]]:
        """Every figure, ours and those of other packages (`source` names them), then the published ones."""
        return [*self._figures()[0], *self.published]

    def _measured(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """(row, run) of what this log holds."""
        packages = {t["method"]: f"{t['package']} {t['version']}" for t in self._told.values() if "package" in t}
        found = []
        for (setting, name), values in self._values.items():
            source = packages.get(setting.method, "nacre")
            row = _row(setting, name, values, "nacre" if source.startswith("nacre ") else source)
            found.append((row, self._runs[setting, name]))
        return found

    def _kept(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """(row, run) of what the file held and was not measured anew."""
        new = {_what(row) for row, _ in self._measured()}
        runs = [*self._before.get("earlier", ()), {name: self._before.get(name) for name in ABOUT}]
        old = [r for r in self._before.get("rows", ()) if r["published"] is None and _what(r) not in new]
        return [({n: v for n, v in row.items() if n != "run"}, runs[row.get("run", -1)]) for row in old]

    def _figures(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Rows, and the earlier runs: a row that is not of the run at the top of the file says in `run` of which."""
        top, rows, earlier = self._about(), [], []
        for row, run in [*self._measured(), *self._kept()]:
            if run != top:
                earlier += [] if run in earlier else [run]
                row = {**row, "run": earlier.index(run)}
            rows.append(row)
        return rows, earlier

    def _about(self) -> dict[str, Any]:
        """This run, or the last one that measured anything."""
        if self._run is not None:
            return self._run
        if self._before and not (self._values or self._told):
            return {name: self._before.get(name) for name in ABOUT}
        return self._this()

    def _this(self) -> dict[str, Any]:
        return dict(zip(ABOUT, (self.command, self._commit, self._date, versions(), hardware())))

    def document(self) -> dict[str, Any]:
        rows, earlier = self._figures()
        before = self._before.get("notes", ()) if self._kept() else ()  # they are about the figures that are kept
        notes = list(dict.fromkeys([*before, *self.notes]))
        peers = list(self._told.values()) or self._before.get("peers", [])
        return {
            "name": self.name,
            **self._about(),
            "rows": [*rows, *self.published],
            **({"earlier": earlier} if earlier else {}),
            **({"notes": notes} if notes else {}),
            **({"peers": peers} if peers else {}),
        }

    def write(self) -> None:
        """Replace the file at once: a reader never sees half of it. A run that measured nothing leaves it as it is."""
        if self._before and not (self._values or self._told or self.notes):
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_suffix(".json.part")
        part.write_text(json.dumps(self.document(), indent=1, ensure_ascii=False, allow_nan=False) + "\n")
        part.replace(self.path)


def _row(setting: Setting, name: str, values: Mapping[int, float], source: str) -> dict[str, Any]:
    found = np.array([v for v in values.values() if np.isfinite(v)])
    return {
        **asdict(setting),
        "metric": name,
        "mean": float(found.mean()) if len(found) else None,
        "std": float(found.std(ddof=1)) if len(found) > 1 else None,
        "seeds": len(found),
        "published": None,
        "source": source,
    }


def _what(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Which figure a row is."""
    return (*(row[f.name] for f in fields(Setting)), row["metric"])


def published_row(setting: Setting, name: str, value: float, source: str) -> dict[str, Any]:
    """A figure that somebody else reported: `mean` stays empty, because this run did not measure it."""
    metric(name)
    return {
        **asdict(setting),
        "metric": name,
        "mean": None,
        "std": None,
        "seeds": 0,
        "published": value,
        "source": source,
    }


def commit() -> str:
    """The commit of the working tree, with `+changes` when code that was run differs from it; NACRE_COMMIT where a copy
    has no history."""

    def git(*args: str) -> str | None:
        done = subprocess.run(["git", *args], cwd=ROOT / "benchmarks", capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else None

    head = git("rev-parse", "HEAD")
    if head is None:
        return os.environ.get("NACRE_COMMIT", "unknown")
    changed = git("status", "--porcelain", "--untracked-files=no", "--", "../src", ".", ":!results")
    return head + ("+changes" if changed else "")


def versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def hardware() -> dict[str, Any]:
    """Processor, cores this process may use, memory, and the accelerator if jax was used and found one."""
    import sys

    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    model = next((x.split(":", 1)[1].strip() for x in lines if x.startswith("model name")), platform.processor())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    device = "none"
    if "jax" in sys.modules:
        found = sys.modules["jax"].devices()[0]
        device = "none" if found.platform == "cpu" else found.device_kind
    return {"cpu": model or "unknown", "cores": cores(), "memory_gib": round(memory, 1), "accelerator": device}
