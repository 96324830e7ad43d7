"""Code run in a process of its own, with its time and its peak of memory."""

import subprocess
import sys
import textwrap

# VmHWM and not ru_maxrss: the latter survives exec and would report the peak of the process that started
# this one.
_HEAD = """
import time
from nacre.engines import open_rows
from nacre.errors import DataError
start = time.perf_counter()
"""
_TAIL = """
seconds = time.perf_counter() - start
kilobytes = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(seconds, kilobytes)
"""


def measured(code: str) -> tuple[str, float, float]:
    """(what the code printed, seconds without imports, peak of resident memory in MB)."""
    whole = _HEAD + textwrap.dedent(code) + _TAIL
    run = subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    *printed, figures = run.stdout.strip().splitlines()
    seconds, kilobytes = figures.split()
    return "\n".join(printed), float(seconds), float(kilobytes) / 1024
