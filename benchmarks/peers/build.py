"""python benchmarks/peers/build.py [NAME ...]: one virtual environment per requirements-NAME.txt.

Uses nothing but the Python that runs it and pip. An environment that cannot be built is left with a file
failed.txt that holds the reason, which the benchmark then reports; the others are built all the same.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).parent
ENVIRONMENTS = HERE.parent / ".work" / "peers"


def names() -> list[str]:
    return sorted(p.stem.removeprefix("requirements-") for p in HERE.glob("requirements-*.txt"))


def build(name: str) -> str:
    """The reason why it failed, or nothing. An environment that already holds these pins is left alone."""
    wanted, folder = (HERE / f"requirements-{name}.txt").read_text(), ENVIRONMENTS / name
    stamp, failed = folder / "installed.txt", folder / "failed.txt"
    if stamp.exists() and stamp.read_text() == wanted:
        return ""
    venv.create(folder, with_pip=True, clear=True)
    python = folder / "bin" / "python"
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "/dev/stdin"]
    done = subprocess.run(command, input=wanted, text=True, stderr=subprocess.PIPE, check=False)
    if done.returncode == 0:
        stamp.write_text(wanted)
        return ""
    said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    reason = said[-1] if said else f"pip ended with status {done.returncode}"
    python.unlink()  # so that nobody takes half an environment for a whole one
    failed.write_text(reason)
    return reason


def main(asked: list[str]) -> int:
    unknown = set(asked) - set(names())
    if unknown:
        print(f"no requirements for {', '.join(sorted(unknown))}; known: {', '.join(names())}", file=sys.stderr)
        return 2
    failures = {name: reason for name in asked or names() if (reason := build(name))}
    for name in asked or names():
        print(f"{name:12} {failures.get(name, 'ready')}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
