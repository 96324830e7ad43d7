"""The privacy contract as functions: each raises AssertionError when what it is given breaks the contract.

The tests run them on nacre itself; `test_twins.py` runs them on broken copies and expects every one to be caught.
Statistical checks use fixed seeds; `ALPHA` is the false-alarm rate of one comparison (see README.md).
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import math
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from scipy.special import ndtr, ndtri

from nacre.engines import MemoryRows
from nacre.errors import NacreError, PlanError
from nacre.privacy.accounting.accountant import Failure, Gaussian
from nacre.privacy.budget import Budget
from nacre.privacy.curator import Curator
from nacre.privacy.noise import NoiseSource
from nacre.privacy.plan import Entry, Plan
from nacre.privacy.transcript import Transcript
from nacre.run import fitting

ALPHA = 1e-6
FREE = Budget(None)  # plans without a budget: the doors themselves are under test, not what they cost


# ------------------------------------------------------------------------------------------------ sources of noise


class FixedNoise(NoiseSource):
    """Repeatable, but not declared as seeded, so that certificates are complete. Tests only."""

    def __init__(self, seed: int | None = None):
        super().__init__(0 if seed is None else seed)
        self.seeded = False


class ZeroNoise(NoiseSource):
    """Words for which every rounded Gaussian is 0: doors answer exactly. Tests only."""

    def bits64(self, n: int) -> np.ndarray:
        return np.full(n, 2**64 - 2**13, dtype=np.uint64)


class CountedRows:
    """Rows that count how often they were read."""

    def __init__(self, table: Any, batch_rows: int = 1 << 16):
        self._rows = MemoryRows(table, batch_rows)
        self.column_names, self.arrow_schema = self._rows.column_names, self._rows.arrow_schema
        self.passes = 0

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        self.passes += 1
        yield from self._rows.batches(columns)


# -------------------------------------------------------------------------------------------------------- (1) replay


@dataclass
class Outcome:
    """Everything of a run that somebody other than the owner could see."""

    release: bytes = b""
    sample: bytes = b""
    error: str = ""
    output: str = ""
    questions: str = ""
    transcript: Transcript = field(default_factory=Transcript, repr=False)


def observe(fit: Callable[..., Any], table: Any, folder: Path, replay: Transcript | None = None) -> Outcome:
    """Run `fit(table, transcript=...)` and keep all that comes out: release, sample, messages, questions."""
    outcome = Outcome(transcript=Transcript(replay=replay))
    log, out, err = io.StringIO(), io.StringIO(), io.StringIO()
    handler = logging.StreamHandler(log)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    path = folder / "run.nacre"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                release = fit(table, transcript=outcome.transcript)
                release.save(path, force=True)
                outcome.release = path.read_bytes()
                drawn = release.sample(50, seed=1, as_="pyarrow")
                outcome.sample = f"{drawn.schema}\n{drawn.to_pydict()}".encode()
            except NacreError as error:
                outcome.error = f"{type(error).__name__}: {error}"
    root.removeHandler(handler)
    root.setLevel(level)
    said = [f"{w.category.__name__}: {w.message}" for w in caught if not issubclass(w.category, ResourceWarning)]
    outcome.output = "\n".join([log.getvalue(), out.getvalue(), err.getvalue(), *said])
    outcome.questions = repr(outcome.transcript.questions)
    return outcome


def check_replay(fit: Callable[..., Any], base: Any, others: Mapping[str, Any], folder: Path) -> Outcome:
    """Given the answers recorded on `base`, a run on every neighbour shows the same bytes and asks the same. What the
    recorded run showed."""
    recorded = observe(fit, base, folder)
    assert not recorded.error, f"the recorded run failed: {recorded.error}"
    first = observe(fit, base, folder, recorded.transcript)  # libraries speak when first used: not in this one
    assert first.release == recorded.release, "the same table with the same answers gives another release"
    for name, table in others.items():
        again = observe(fit, table, folder, first.transcript)
        for what in ("error", "questions", "output", "sample", "release"):
            assert getattr(again, what) == getattr(first, what), f"{name}: {what} differs"
    return recorded


def check_stamp(fit: Callable[..., Any], table: Any) -> None:
    """A run with a seeded noise source promises nothing, and says why."""
    certificate = fit(table, noise_seed=5).certificate
    assert certificate.guarantee == "none" and certificate.epsilon is None and not certificate.curve
    assert any("seeded" in reason for reason in certificate.reasons)


# --------------------------------------------------------------------------------------------------- (2) sensitivity


@dataclass(frozen=True)
class Door:
    """One door as the checks use it. `answers` opens it and flattens what comes out, one array per noise scale."""

    name: str
    entry: Entry
    answers: Callable[[Curator, Any], list[np.ndarray]]
    truth: Callable[[Any, Any], list[np.ndarray]] | None = None  # exact answers of a table, where noise hides them


def curator(door: Door, table: Any, schema: Any, noise: NoiseSource, relation: str = "add_or_remove_one") -> Curator:
    cap = schema.unit.cap if schema.unit else 1
    plan = Plan("test", (door.entry,), Budget(None, neighbours=relation), cap)
    return Curator(MemoryRows(table), plan, schema, noise)


def exact(door: Door, table: Any, schema: Any) -> list[np.ndarray]:
    if door.truth is not None:
        return door.truth(table, schema)
    return door.answers(curator(door, table, schema, ZeroNoise()), door.entry)


def check_sensitivity(door: Door, pairs: Iterable[tuple[Any, Any]], schema: Any, relation: str) -> None:
    """No pair of neighbours moves the exact answer by more noise standard deviations than the accountant was told."""
    scope = Plan("test", (), Budget(None, neighbours=relation), schema.unit.cap if schema.unit else 1).scope
    told = told_mu(door.entry, scope)
    sigmas = getattr(door.entry, "sigmas", None) or (door.entry.sigma,)  # type: ignore[attr-defined]
    for one, other in pairs:
        moved = math.fsum(
            float(np.square((a - b) / sigma).sum())
            for a, b, sigma in zip(exact(door, one, schema), exact(door, other, schema), sigmas)
        )
        assert math.sqrt(moved) <= told * (1 + 1e-9), f"{door.name}: moved {math.sqrt(moved):.4f}, told {told:.4f}"


def check_loss_range(score: Any, pairs: Iterable[tuple[Any, Any]], schema: Any, relation: str) -> None:
    """The range over candidates of what one unit changes in a score stays within the range the door divides by."""
    cap = schema.unit.cap if schema.unit else 1
    plan = Plan("test", (), Budget(None, neighbours=relation), cap)
    for one, other in pairs:
        a, b = (score.totals(Curator(MemoryRows(t), plan, schema, ZeroNoise())) for t in (one, other))
        change = a - b
        spread = int(max(change.max(), 0) - min(change.min(), 0)) if relation != "replace_one" else int(np.ptp(change))
        assert spread <= score.loss_range(plan.scope), f"range {spread}, told {score.loss_range(plan.scope)}"


def told_mu(entry: Entry, scope: Any) -> float:
    return math.sqrt(math.fsum(e.mu**2 for e in entry.events(scope) if isinstance(e, Gaussian)))


# --------------------------------------------------------------------------------------------------- (3) the noise law


def law_p_value(draws: np.ndarray, sigma: float) -> float:
    """Chi-square of integers against round(σZ), in about forty cells of equal probability."""
    edges = np.unique(np.rint(sigma * ndtri(np.linspace(0, 1, 41)[1:-1]))) + 0.5
    expected = np.diff(np.concatenate([[0.0], ndtr(edges / sigma), [1.0]])) * len(draws)
    found = np.histogram(draws, np.concatenate([[-np.inf], edges, [np.inf]]))[0]
    keep = expected > 5
    expected = np.append(expected[keep], expected[~keep].sum())
    found = np.append(found[keep], found[~keep].sum())
    if expected[-1] == 0:
        assert found[-1] == 0
        expected, found = expected[:-1], found[:-1]
    return float(stats.chi2.sf((np.square(found - expected) / expected).sum(), len(expected) - 1))


def check_noise_law(draws: np.ndarray, sigma: float) -> None:
    """Integers of the law the accountant was told; the same law with 2/3 or 3/2 of the scale is rejected."""
    assert np.issubdtype(draws.dtype, np.integer) or np.array_equal(draws, np.rint(draws)), "noise is not whole"
    assert law_p_value(draws, sigma) > ALPHA, f"noise is not round({sigma}·Z)"
    for wrong in (2 / 3, 3 / 2):
        assert law_p_value(draws, wrong * sigma) < ALPHA, f"the check cannot tell {sigma} from {wrong * sigma}"


def check_door_noise(door: Door, table: Any, schema: Any, seed: int = 3) -> None:
    """What a door adds to its exact answer has, per noise scale, the law that the accountant was told."""
    truth = exact(door, table, schema)
    noisy = door.answers(curator(door, table, schema, FixedNoise(seed)), door.entry)
    sigmas = getattr(door.entry, "sigmas", None) or (door.entry.sigma,)  # type: ignore[attr-defined]
    scope = Plan("test", (door.entry,), FREE).scope
    # What the accountant believes of table j alone: one record moves it by Δ/μ_j of noise.
    unit = getattr(door.entry, "bound", 1.0)
    assert told_mu(door.entry, scope) == pytest.approx(unit * math.sqrt(sum(s**-2 for s in sigmas)), rel=1e-12)
    for a, b, sigma in zip(truth, noisy, sigmas):
        step = sigma / 2**14 if hasattr(door.entry, "bound") else 1.0
        check_noise_law(np.rint((b - a).ravel() / step), sigma / step)


def check_independence(first: np.ndarray, second: np.ndarray) -> None:
    """Noise of two answers has no correlation: |r|·sqrt(n) is a standard normal."""
    assert not np.array_equal(first, second), "the same noise twice"
    r = float(np.corrcoef(first, second)[0, 1])
    assert abs(r) * math.sqrt(len(first)) < -ndtri(ALPHA / 2), f"noise of two answers is correlated (r={r:.3f})"


def check_whole(answers: Sequence[np.ndarray]) -> None:
    """Answers are integers: no bit of a float can tell what was added to what."""
    assert all(a.dtype == np.int64 for a in answers), f"answers of type {[str(a.dtype) for a in answers]}"


# ------------------------------------------------------------------------------------------------- books and ledger


def check_ledger(make: Callable[[Any, Plan], Curator], table: Any, entry: Entry, stranger: Entry, ask: Any) -> None:
    """An entry opens once; one that is not in the plan, or too large for it, never; refusals read no row."""
    rows = CountedRows(table)
    room = make(rows, Plan("test", (entry,), FREE))
    with pytest.raises(PlanError):
        ask(room, stranger)
    assert rows.passes == 0, "rows were read for an entry that is not in the plan"
    ask(room, entry)
    passes = rows.passes
    with pytest.raises(PlanError):
        ask(room, entry)
    assert rows.passes == passes, "rows were read for an entry that was spent"
    assert room.opened == {entry.name}


def check_categories(pass_rate: float, draws: int, entry: Entry, scope: Any) -> None:
    """A text that one unit alone holds passes no more often than the accountant was told."""
    told = math.fsum(e.delta for e in entry.events(scope) if isinstance(e, Failure))
    passed = round(pass_rate * draws)
    assert stats.binom.sf(passed - 1, draws, min(1.0, told)) > ALPHA, f"passes {pass_rate:.4f}, told {told:.4f}"


# --------------------------------------------------------------------------------------------------- (4) no data inside


def members(release: bytes) -> bytes:
    """All members of a release file, unpacked, one after the other."""
    with zipfile.ZipFile(io.BytesIO(release)) as archive:
        return b"\n".join(archive.read(name) for name in archive.namelist())


def check_no_canaries(texts: Mapping[str, bytes], canaries: Mapping[str, bytes]) -> None:
    for where, data in texts.items():
        for name, canary in canaries.items():
            assert canary not in data, f"{where} holds the {name}"


# ------------------------------------------------------------------------------------------------------------ (5) audit


def mu_lower_bound(present: np.ndarray, absent: np.ndarray, threshold: float) -> float:
    """A lower bound on μ from a test fixed beforehand: Φ⁻¹(1 − FPR) − Φ⁻¹(FNR) at Clopper-Pearson ends."""
    misses, alarms = int((present <= threshold).sum()), int((absent > threshold).sum())
    fnr = stats.beta.ppf(1 - ALPHA, misses + 1, len(present) - misses)
    fpr = stats.beta.ppf(1 - ALPHA, alarms + 1, len(absent) - alarms)
    return float(ndtri(1 - fpr) - ndtri(fnr))


def check_audit(present: np.ndarray, absent: np.ndarray, threshold: float, told: float) -> None:
    """The audit does not refute the claim, and comes within 10 % of it: noise neither too small nor too large."""
    found = mu_lower_bound(present, absent, threshold)
    assert found <= told, f"audit: μ is at least {found:.3f}, told {told:.3f}"
    assert found >= 0.9 * told, f"audit: μ at least {found:.3f} only, told {told:.3f}"


# --------------------------------------------------------------------------------------------------------- whole fits


def fit_with(
    method: str,
    schema: Any,
    options: Mapping[str, Any],
    target: str | None = None,
    epsilon: float = 8.0,
    neighbours: str = "add_or_remove_one",
    **more: Any,
) -> Callable[..., Any]:
    """`fit(table, transcript=None, noise_seed=None)` with deterministic, undeclared noise unless a seed is named."""

    def fit(table: Any, transcript: Transcript | None = None, noise_seed: int | None = None) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            if noise_seed is None:
                patch.setattr("nacre.run.session.NoiseSource", FixedNoise)
            return fitting.fit(
                table,
                epsilon=epsilon,
                delta=1e-5,
                schema=schema,
                method=method,
                target=target,
                neighbours=neighbours,
                options=dict(options),
                **more,
                noise_seed=noise_seed,
                transcript=transcript,
            )

    return fit


def certificate_of(release: bytes) -> dict[str, Any]:
    with zipfile.ZipFile(io.BytesIO(release)) as archive:
        return json.loads(archive.read("certificate.json"))
