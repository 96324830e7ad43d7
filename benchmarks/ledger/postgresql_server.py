"""A PostgreSQL server of our own in a temporary folder, started and stopped for a test or a benchmark."""

from __future__ import annotations

import contextlib
import glob
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

MISSING = (
    "no PostgreSQL server on this machine: install the package postgresql (Debian: apt install postgresql), or put "
    "initdb and postgres on the path; and the Python packages of nacre[postgresql]"
)


def find() -> Path | None:
    """The folder with initdb and postgres; None when there is none, or when its Python packages are missing."""
    from importlib.util import find_spec

    if find_spec("psycopg") is None or find_spec("sqlalchemy") is None:
        return None
    known = [Path(p).parent for p in sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), reverse=True)]
    on_path = shutil.which("initdb")
    for folder in ([Path(on_path).resolve().parent] if on_path else []) + known:
        if (folder / "postgres").exists() and (folder / "pg_ctl").exists():
            return folder
    return None


def _user() -> str | None:
    """initdb refuses root: somebody else then."""
    if os.geteuid():
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


@contextlib.contextmanager
def running(binaries: Path) -> Iterator[str]:
    """The URL of a fresh server that listens on a socket in its own folder only; it is gone afterwards."""
    user = _user()
    folder = Path(tempfile.mkdtemp(prefix="nacre-pg-", dir="/tmp"))
    folder.chmod(0o755)
    data = folder / "data"
    data.mkdir(mode=0o700)
    if user:
        shutil.chown(folder, user)
        shutil.chown(data, user)

    def call(*command: str) -> None:
        done = subprocess.run(command, user=user, cwd=folder, capture_output=True, text=True, check=False,
                              env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": str(folder)})  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{command[0]} ended with {done.returncode}: {done.stderr.strip() or done.stdout}")

    try:
        call(str(binaries / "initdb"), "-D", str(data), "-U", "nacre", "-A", "trust", "-E", "UTF8")
        options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c max_connections=120"
        call(str(binaries / "pg_ctl"), "-D", str(data), "-w", "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield f"postgresql://nacre@/postgres?host={folder}"
        finally:
            call(str(binaries / "pg_ctl"), "-D", str(data), "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
