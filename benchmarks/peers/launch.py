"""One adapter as a process of its own, with a limit: what it made, what it cost, or why there is nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

LIMIT_S = 1800.0  # per peer and epsilon
WATCH_S = 0.2  # between two looks at the clock and at memory
TAIL = 300  # characters of the log that a reason may quote


@dataclass(frozen=True)
class Outcome:
    """`reason` is empty for a table that was made. Seconds and memory are those of the whole process group,
    from start to end, imports included; memory is that of the largest process."""

    reason: str = ""
    run_s: float = 0.0
    cpu_s: float = 0.0
    peak_mb: float = 0.0
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def finished(self) -> bool:
        return not self.reason


def launch(python: Path, adapter: Path, job: Mapping[str, Any], folder: Path, limit_s: float = LIMIT_S) -> Outcome:
    """Run `adapter` with `job` in `folder`, which then holds job.json, log.txt, table.parquet and facts.json.

    `PYTHONPATH` reaches the adapter only when `python` is the one that runs this: an environment of its own
    must not see the packages of another. A process group that outlives the limit is killed whole; on a busy
    machine the time that its first process waited for a core does not count towards the limit.
    """
    if not python.exists():
        return Outcome(reason="not installed" + _why_not(python))
    folder.mkdir(parents=True, exist_ok=True)
    files = {"table": str(folder / "table.parquet"), "facts": str(folder / "facts.json")}
    for path in files.values():
        Path(path).unlink(missing_ok=True)
    (folder / "job.json").write_text(json.dumps({**job, **files}))
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH" or python == Path(sys.executable)}
    command = [str(python), str(adapter), str(folder / "job.json")]
    with (folder / "log.txt").open("w") as log:
        outcome = _watched(command, folder, env, log, limit_s)
    return _judged(outcome, folder)


def _why_not(python: Path) -> str:
    """What `make peers` wrote when it could not build the environment."""
    note = python.parent.parent / "failed.txt"
    return f": {note.read_text().strip()}" if note.exists() else ": run `make peers`"


def _watched(command: Sequence[str], folder: Path, env: Mapping[str, str], log: Any, limit_s: float) -> Outcome:
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, env=env, stdout=log, stderr=log, start_new_session=True)
    peak, waited, late = 0.0, 0.0, False
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        seconds = time.perf_counter() - start
        if pid:
            break
        peak = max(peak, _largest_mb(process.pid))
        waited = max(waited, _waited_s(process.pid))
        if seconds - waited > limit_s and not late:
            late = True
            os.killpg(process.pid, signal.SIGKILL)
        time.sleep(WATCH_S)
    process.returncode = os.waitstatus_to_exitcode(status)
    _end_group(process.pid)  # workers that outlived their parent
    cpu = usage.ru_utime + usage.ru_stime
    reason = ""
    if late:
        reason = f"did not finish within {limit_s:,.0f} s ({cpu:,.0f} s of CPU time)"
    elif process.returncode:
        reason = f"ended with status {process.returncode}"
    return Outcome(reason, seconds, cpu, peak)


def _end_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def _waited_s(pid: int) -> float:
    """Seconds that the main thread was ready to run but had no core: they are the machine's, not the peer's."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0  # it has ended, or this system does not count it


def _largest_mb(group: int) -> float:
    """Highest resident memory so far of the largest process in the group, in MiB; Linux keeps that mark itself."""
    found = 0.0
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if os.getpgid(int(entry.name)) != group:
                continue
            lines = (entry / "status").read_text().splitlines()
        except OSError:
            continue  # it ended while we looked
        found = max([found, *(int(x.split()[1]) / 1024 for x in lines if x.startswith("VmHWM:"))])
    return found


def _judged(outcome: Outcome, folder: Path) -> Outcome:
    """Adds the adapter's facts, or the last words of its log to the reason."""
    facts, table = folder / "facts.json", folder / "table.parquet"
    if outcome.finished and facts.exists() and table.exists():
        return Outcome(**{**asdict(outcome), "facts": json.loads(facts.read_text())})
    words = (folder / "log.txt").read_text(errors="replace").strip().splitlines()
    last = next((line.strip() for line in reversed(words) if any(c.isalpha() for c in line)), "")
    reason = outcome.reason or "left no table"
    if last and not reason.startswith("did not finish"):
        reason += f": {last[:TAIL]}"
    return Outcome(**{**asdict(outcome), "reason": reason})
