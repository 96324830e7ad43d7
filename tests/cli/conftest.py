"""One small table, one release, and a way to call the program in this process as `nacre` would be called."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROWS = 700
COLUMNS = ("sex", "age", "region", "income", "joined", "smoker", "late_payment")


@dataclass(frozen=True)
class Ending:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> str:
        """The one line of an error, without its prefix."""
        lines = self.err.strip().splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("nacre: error: "), self.err
        return lines[0].removeprefix("nacre: error: ")


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with people.csv, people.parquet and people.json (its public schema, seven columns)."""
    from nacre.table import Schema
    from nacre.table.simulate.people import people, people_schema
    from nacre.table.writing import write_table

    folder = tmp_path_factory.mktemp("small")
    table = people(ROWS, seed=5).select(["person_id", *COLUMNS])
    write_table(table, folder / "people.csv")
    write_table(table, folder / "people.parquet")
    columns = {name: people_schema().columns[name] for name in table.column_names}
    Schema(columns, rows=ROWS).save(folder / "people.json")
    return folder


@pytest.fixture(scope="session")
def release(small: Path) -> Path:
    """A release of the small table by the method `independent`."""
    import nacre

    path = small / "people.nacre"
    schema = nacre.Schema.load(small / "people.json")
    nacre.fit(str(small / "people.csv"), schema=schema, epsilon=1.0, method="independent").save(path)
    return path


@pytest.fixture
def call(capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch):
    """Run `nacre ARGUMENTS` and return how it ended."""
    from nacre.cli import run

    monkeypatch.delenv("NACRE_DEBUG", raising=False)

    def invoke(*arguments: object, go_on: bool = True) -> Ending:
        """The tables here are tiny: unless told otherwise, fits go on where the program would stop for that."""
        if go_on and arguments[0] in ("synth", "fit") and "--from-sketch" not in arguments:
            arguments = (*arguments, "--go-on")
        capsys.readouterr()
        with warnings.catch_warnings():
            code = run([str(a) for a in arguments])
        out, err = capsys.readouterr()
        return Ending(code, out, err)

    return invoke
