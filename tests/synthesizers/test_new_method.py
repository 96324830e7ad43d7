"""What is asked of methods and models is declared: a method made here, in one class and one line of the registry, runs
through everything that nacre does with one."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import nacre
from nacre.cli import run
from nacre.errors import NacreError
from nacre.planning.forecast import forecast
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.plan import Counts, Entry, Plan, gaussian_share
from nacre.run.job import prepare
from nacre.run.terms import Terms
from nacre.synthesizers.base import Model, Progress, Synthesizer, scope_of, silent
from nacre.synthesizers.options import one_of, whole
from nacre.synthesizers.registry import METHODS, Method
from nacre.table import Condition, Schema
from nacre.table.encoding import Values
from nacre.table.grid import Grid
from nacre.table.simulate.people import people, people_schema

SOURCE = Path(nacre.__file__).parent


class Cells(Model):
    """One cell of each column, the fullest."""

    def __init__(self, schema: Schema, places: list[int], rows: int) -> None:
        self.schema, self.places, self.rows = schema, places, rows

    def draw(
        self, rows: int, rng: np.random.Generator, where: Mapping[str, Condition] | None = None
    ) -> dict[str, Values]:
        names = self.schema.modelled
        cells = {n: np.full(rows, p) for n, p in zip(names, self.places)}
        return {n: Grid.of(self.schema.columns[n]).place(c, rng.random(rows)) for n, c in cells.items()}

    def parts(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return {"rows": self.rows}, {"places": np.array(self.places, np.float64)}

    @classmethod
    def from_parts(cls, schema: Schema, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Cells:
        return cls(schema, arrays["places"].astype(int).tolist(), facts["rows"])


@dataclass(frozen=True)
class Fullest(Synthesizer):
    name: ClassVar[str] = "fullest"
    model: ClassVar[type[Cells]] = Cells

    times: int = whole(1, most=9)
    form: str = one_of("plain", ("plain", "fancy"))

    def plan(self, schema: Schema, rows: int | None, budget: Budget, before: tuple[Entry, ...] = ()) -> Plan:
        scope, columns = scope_of(schema, budget), len(schema.modelled)
        sigma = math.sqrt(columns / gaussian_share(budget, scope, before))
        return Plan(self.name, (*before, Counts("cells", sigmas=(sigma,) * columns)), budget, scope.cap, rows)

    def fit(self, curator: Curator, plan: Plan, seed: int, progress: Progress = silent) -> Cells:
        tables = curator.counts(plan["cells"], [(c,) for c in curator.schema.modelled])
        return Cells(curator.schema, [int(t.argmax()) for t in tables], plan.rows or 1)


@pytest.fixture
def fullest(monkeypatch):
    line = Method(f"{__name__}:Fullest", "proven", "the fullest cell of every column", {"cells": "counts"},
                  (("cells",),), says={"statement": "a toy"})  # fmt: skip
    monkeypatch.setitem(METHODS, "fullest", line)
    return "fullest"


def test_a_method_of_one_class_and_one_line_is_planned_fitted_drawn_saved_and_certified(fullest, tmp_path):
    schema, table = people_schema(500), people(500)
    job = prepare(schema.names, schema, Terms(1.0, 1e-6, method=fullest, options={"times": 2}))
    assert forecast(job.plan, job.schema, 500, job.synthesizer).verdict == "unknown"
    made = nacre.fit(table, schema=schema, epsilon=1.0, delta=1e-6, method=fullest, options={"times": 2})
    made.save(tmp_path / "made.nacre")
    again = nacre.load(tmp_path / "made.nacre")
    one, two = (r.sample(20, seed=1).to_csv() for r in (made, again))
    assert one == two and len(one.splitlines()) == 21
    assert again.certificate.guarantee == "proven" and again.certificate.extras["statement"] == "a toy"
    assert [e["name"] for e in again.certificate.entries] == ["cells"]
    with pytest.raises(NacreError, match="'fullest' has no log-probability; 'sketch' and 'hflow' have"):
        again.log_prob(table)
    with pytest.raises(NacreError, match="can only draw rows"):
        again.expected("age")
    assert again.sample(20, seed=1, independent=True, as_="pyarrow").num_rows == 20


def test_it_is_listed_with_its_options_and_read_on_the_command_line(fullest, tmp_path, capsys):
    assert run(["methods", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["methods"]["fullest"]
    assert listed["settings"] == {"times": 1, "form": "plain"} and listed["guarantee"] == "proven"
    people_schema(500).save(tmp_path / "people.json")
    asked = ["plan", str(tmp_path / "people.json"), "-e", "1", "--method", "fullest", "--json", "--option"]
    assert run([*asked, "times=3"]) == 0
    assert json.loads(capsys.readouterr().out)["entries"][-1]["name"] == "cells"
    told_of = {"times=10": "times=10: expected at most 9", "times=x": "expected a whole number",
               "form=odd": "expected one of plain, fancy", "speed=1": "has the options times, form"}  # fmt: skip
    for wrong, told in told_of.items():
        assert run([*asked, wrong]) == 2
        assert told in capsys.readouterr().err


@pytest.mark.parametrize("name", METHODS)
def test_every_hyperparameter_says_what_it_may_be(name):
    kind = METHODS[name].load()
    assert issubclass(kind, Synthesizer) and issubclass(kind.model, Model) and kind.name == name
    for option, value in kind.defaults().items():
        rule = kind.options()[option]
        assert rule.read(option, value) == value
        if rule.kind in ("whole", "number", "truth"):
            with pytest.raises(NacreError, match=f"^{option}="):
                kind(**{option: "much"})


def test_nothing_is_asked_of_methods_and_models_by_a_written_name():
    """`getattr(method, "verdict", None)` is a protocol that nobody declares."""
    asked = []
    for path in SOURCE.rglob("*.py"):
        calls = (n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call))
        for node in calls:
            if isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr"):
                whom = ast.unparse(node.args[0]).rsplit(".", 1)[-1].rstrip("()")
                inside = "synthesizers" in path.parts and whom in ("self", "cls")
                if inside or whom in ("synthesizer", "method", "model", "load", "game", "rules"):
                    asked.append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    assert asked == []
