"""How much memory a process has held at once. The standard library alone: environments of other packages use it too."""

from pathlib import Path


def peak_mb() -> float:
    """MiB; since the program was started, unlike `ru_maxrss`, which begins at that of who started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))
