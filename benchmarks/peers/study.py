"""Peers as methods of a study: write the job, run the adapter, read the table and the facts it left."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.catalogue import Options
from benchmarks.methods import METHODS, Case, Made, Maker, NotMade, Task
from benchmarks.peers.launch import LIMIT_S, Outcome, launch
from benchmarks.peers.public_bins import public_bins
from benchmarks.peers.registry import ADAPTERS, HERE, PEERS, Peer
from benchmarks.places import WORK
from benchmarks.results import Results

RUNS = WORK / "peer-runs"


def methods(
    options: Options, results: Results, peers: Mapping[str, Peer] = PEERS, limit_s: float = LIMIT_S
) -> dict[str, Maker]:
    """The ceiling and the bootstrap in this process; every other method in one of its own.

    A resumed run takes up what adapters have already made. Those that failed are tried again only when
    --only names methods: a limit of half an hour is not spent twice by accident.
    """
    runs = Runs(RUNS / results.name, results.resume, bool(options.only), limit_s)
    made = {name: _maker(peer, runs) for name, peer in peers.items()}
    return {"real": METHODS["real"], "bootstrap": METHODS["bootstrap"], **made}


@dataclass(frozen=True)
class Runs:
    """Where runs are kept; whether those there are taken up, and what failed tried again; how long one may take."""

    folder: Path
    resume: bool
    again: bool
    limit_s: float


def _maker(peer: Peer, runs: Runs) -> Maker:
    def make(task: Task, case: Case) -> Made:
        shared = runs.folder / f"{task.dataset.name}-{task.seed}"
        folder = shared / f"{peer.name}-{case.epsilon}"
        job = _job(peer, task, case, shared)
        outcome = _remembered(folder, job) if runs.resume else None
        if outcome is None or (runs.again and not outcome.finished):
            outcome = launch(peer.python, ADAPTERS / peer.adapter, job, folder, runs.limit_s)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "outcome.json").write_text(json.dumps({"job": job, "outcome": asdict(outcome)}))
        facts = about(peer, task, case, outcome)
        if not outcome.finished:
            raise NotMade(outcome.reason, facts)
        figures = {name: outcome.facts[name] for name in ("fit_s", "sample_s")}
        figures |= {"run_s": outcome.run_s, "cpu_s": outcome.cpu_s, "peak_mb": outcome.peak_mb}
        promise = outcome.facts.get("guarantee") if peer.private else "none"
        return Made(pd.read_parquet(folder / "table.parquet"), promise, case.delta, figures, facts)

    return make


def _job(peer: Peer, task: Task, case: Case, shared: Path) -> dict[str, Any]:
    """Rows and public schema are written once per split; the job itself is small and says everything else."""
    rows, schema = shared / "rows.parquet", shared / "schema.json"
    bins = HERE / "bins" / f"{task.dataset.name}.json"
    if not (rows.exists() and schema.exists()):
        shared.mkdir(parents=True, exist_ok=True)
        task.private.to_parquet(rows)
        task.dataset.schema.save(schema, force=True)
    return {
        "method": peer.method,
        "rows": str(rows),
        "count": len(task.private),
        "schema": str(schema),
        "bins": json.loads(bins.read_text()) if bins.exists() else public_bins(task.dataset.schema),
        "target": task.dataset.target,
        "epsilon": case.epsilon,
        "delta": case.delta,
        "seed": task.seed,
    }


def _remembered(folder: Path, job: Mapping[str, Any]) -> Outcome | None:
    """The outcome of the same job in an earlier run, if its table is still there."""
    file = folder / "outcome.json"
    if not file.exists():
        return None
    kept = json.loads(file.read_text())
    outcome = Outcome(**kept["outcome"])
    there = not outcome.finished or (folder / "table.parquet").exists()
    return outcome if kept["job"] == job and there else None


def about(peer: Peer, task: Task, case: Case, outcome: Outcome) -> dict[str, Any]:
    """What the results page says of one run of a peer; an adapter may add to the notes."""
    spent = outcome.facts.get("spent")
    return {
        "method": peer.name,
        "dataset": task.dataset.name,
        "epsilon": case.epsilon,
        "package": outcome.facts.get("package", peer.environment or "nacre"),
        "version": outcome.facts.get("version", ""),
        "outcome": outcome.reason or "finished",
        "reads_domain": peer.reads_domain,
        "reports_spend": peer.reports_spend,
        "spent": spent,
        "notes": " ".join([peer.notes, *([outcome.facts["notes"]] if outcome.facts.get("notes") else [])]),
    }
