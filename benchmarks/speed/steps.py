"""Training steps, each timed in a process of its own: nacre's, and those of packages whose environments are named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.catalogue import Options
from benchmarks.child import LIMIT_S, answer, peer_answer
from benchmarks.results import Results, Setting


@dataclass(frozen=True)
class Peer:
    """Another package; `variables` name the Python of an environment with it, `notes` what its step leaves out."""

    package: str
    variables: tuple[str, ...]
    notes: str
    reports_spend: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """The task `task` of a module with these arguments; `name` is what `--only` calls it."""

    name: str
    dataset: str
    case: str
    module: str
    arguments: Mapping[str, Any]
    peer: Peer | None = None
    task: str = "step"
    one_core: bool = True
    method: str = ""  # where the figures go by another name

    def measured(self) -> dict[str, Any]:
        """Figures, of a peer its version too, or {"why"} it could not run."""
        if self.peer is None:
            return answer(self.module, self.task, self.arguments, limit_s=LIMIT_S, one_core=self.one_core)
        environment = self.peer.environment
        return peer_answer(
            self.peer.variables, self.module, self.task, self.arguments, environment, one_core=self.one_core
        )

    def about(self, version: str) -> dict[str, Any]:
        peer = self.peer
        assert peer is not None
        about = {"method": self.method or self.name, "package": peer.package, "version": version, "epsilon": None}
        told = {"outcome": "ran", "reads_domain": False, "reports_spend": peer.reports_spend, "notes": peer.notes}
        return {**about, **told, "dataset": self.dataset}


def measure(steps: Iterable[Step], options: Options, results: Results) -> None:
    """What has not been measured yet; a step that could not run is told in the notes."""
    for step in steps:
        if not options.wants(step.name) or results.has(step.case, 0):
            continue
        method = step.method or step.name
        found = step.measured()
        if "why" in found:
            results.note(f"{step.case}: {method} did not run: {found['why']}")
            continue
        if version := found.pop("version", None):
            results.tell(f"{step.case}: package", step.about(version))
        results.add(Setting(method, step.dataset, guarantee=None), 0, found, step.case)
        results.write()
        print(step.case, found, flush=True)
