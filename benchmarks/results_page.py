"""docs/results.md from benchmarks/results/*.json: our figures, with those of others beside them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.results import RESULTS
from nacre.metrics import METRICS, metric

PAGE = Path(__file__).parent.parent / "docs" / "results.md"
# The columns of the page, in this order; every other figure is in the json files.
COLUMNS = (
    "auc_hgb", "auc_hgb_gap", "ap_hgb", "auc_lr", "auc_mean10", "auc_mean10_gap", "auc_mean9_no_gnb", "f1_lr",
    "f1_tree", "f1_forest", "f1_hgb", "f1_macro", "f1_mean9", "auroc_mean9", "apc_mean9", "roc_hard_mean10",
    "prc_hard_mean10", "range_query",
    "marginal_l1", "fid_lenet", "fid_over_real", "fid_over_merf", "kid_lenet", "kid_over_merf", "cnn_accuracy", "tvd1",
    "tvd2", "tvd2_holdout", "kendall_rmse", "kendall_mae", "fit_s", "train_s", "sample_s",
    "run_s", "cpu_s", "step_ms", "step_processor_ms", "peak_mb",
    "auroc", "auroc_given", "auroc_codes", "auroc_codes_given", "r2", "r2_given", "mse", "mmd_p", "ksd_p", "ks_hidden",
    "ks_visible", "ks_given", "dwp_rmse", "recovered_error", "recovered_share",
    "untilted_error",
)  # fmt: skip
ARROWS = {"higher": "↑", "lower": "↓", "none": ""}
HEAD = """# Results

Made by `python -m benchmarks page` from `benchmarks/results/*.json`; do not edit. Mean ± standard deviation
over the seeds of the whole pipeline (split, noise, training). *Slanted* figures were reported by others or
measured in an earlier study (see the source); the run on this page did not produce them. ↑: higher is
better, ↓: lower is better. `real` is the private table itself, `bootstrap` a resample of it, `independent`
the one-way tables alone; a `gap` is the figure of `real` minus that of the method in the same run.
"""


def documents(folder: Path = RESULTS) -> list[dict[str, Any]]:
    """The result files in order of name; smoke runs are left out."""
    paths = sorted(p for p in folder.glob("*.json") if not p.name.endswith(".quick.json"))
    return [json.loads(p.read_text()) for p in paths]


def write(folder: Path = RESULTS, page: Path = PAGE) -> Path:
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(render(documents(folder)))
    return page


def render(found: Iterable[Mapping[str, Any]]) -> str:
    parts, used = [HEAD], set()
    for document in found:
        parts.append(_about(document))
        for dataset in dict.fromkeys(row["dataset"] for row in document["rows"]):
            rows = [r for r in document["rows"] if r["dataset"] == dataset]
            names = [c for c in COLUMNS if any(r["metric"] == c for r in rows)]
            shown = _wide(dataset, rows, names) if _is_study(rows) else _long(dataset, rows)
            used |= {r["metric"] for r in rows} if not _is_study(rows) else set(names)
            parts.append(shown)
        parts.append(_peers(document.get("peers", ())))
    parts.append(_glossary(used))
    return "\n".join(parts)


def _is_study(rows: Iterable[Mapping[str, Any]]) -> bool:
    """Comparisons of methods have a ceiling; the others (speed) are lists of figures."""
    return any(r["method"] == "real" for r in rows)


def _about(document: Mapping[str, Any]) -> str:
    machine = document["hardware"]
    versions = ", ".join(f"{k} {v}" for k, v in document["versions"].items())
    commit, _, changes = document["commit"].partition("+")
    return (
        f"## {document['name']}\n\n`{document['command']}`, commit `{commit[:12]}`{' with changes' * bool(changes)}, "
        f"{machine['cores']} cores of {machine['cpu']}, accelerator {machine['accelerator']}; {versions}.\n"
    ) + "".join(f"\n{note}\n" for note in document.get("notes", ()))


def _wide(dataset: str, rows: list[Mapping[str, Any]], names: list[str]) -> str:
    """One line per method, budget and source; one column per metric."""
    lines: dict[tuple, dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        key = (row["method"], row["epsilon"], row["delta"], row["guarantee"], row["source"])
        lines.setdefault(key, {})[row["metric"]] = row
    head = [
        "method",
        "ε",
        "δ",
        "guarantee",
        *(f"{n} {ARROWS[metric(n).direction]}" for n in names),
        "seeds",
        "source",
    ]
    table = [head, ["---"] * len(head)]
    for key in sorted(lines, key=_order):
        figures = lines[key]
        method, epsilon, delta, guarantee, source = key
        seeds = max(row["seeds"] for row in figures.values())
        cells = [_figure(figures[n]) if n in figures else "" for n in names]
        budget = [_budget(epsilon), _budget(delta), guarantee or "not checked"]
        table.append([method, *budget, *cells, str(seeds or ""), source])
    return f"### {dataset}\n\n" + _markdown(table)


def _long(dataset: str, rows: list[Mapping[str, Any]]) -> str:
    table = [["method", "metric", "value", "unit", "seeds", "source"], ["---"] * 6]
    for r in rows:
        name = f"{r['metric']} {ARROWS[metric(r['metric']).direction]}"
        unit = metric(r["metric"]).unit
        table.append([r["method"], name, _figure(r), unit, str(r["seeds"] or ""), r["source"]])
    return f"### {dataset}\n\n" + _markdown(table)


def _peers(told: Iterable[Mapping[str, Any]]) -> str:
    """What is true or false of each package, and what became of each run; one line where budgets agree."""
    lines: dict[tuple[str, ...], list[str]] = {}
    for t in told:
        facts = (_yes(t["reads_domain"]), _yes(t["reports_spend"]), t["notes"])
        key = (t["dataset"], t["method"], f"{t['package']} {t['version']}".strip(), t["outcome"], *facts)
        lines.setdefault(key, []).append(_budget(t["epsilon"]))
    if not lines:
        return ""
    head = ["table", "method", "package", "ε", "outcome", "domain read from the rows", "reports what it spent", "notes"]
    table = [head, ["---"] * len(head)]
    table += [[*key[:3], ", ".join(budgets), *key[3:]] for key, budgets in lines.items()]
    return "### The packages\n\n" + _markdown(table)


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"


def _order(key: tuple) -> tuple:
    method, epsilon, delta, _, source = key
    first = {"real": 0, "bootstrap": 1}.get(method, 2)
    return (first, -(epsilon or 0.0), source != "nacre", method, delta or 0.0)


def _figure(row: Mapping[str, Any]) -> str:
    if row["mean"] is None:
        return f"*{_number(row['published'])}*" if row["published"] is not None else ""
    spread = f" ± {_number(row['std'])}" if row["std"] is not None else ""
    beside = f" (*{_number(row['published'])}*)" if row["published"] is not None else ""
    return _number(row["mean"]) + spread + beside


def _number(value: float) -> str:
    if abs(value) >= 10_000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.4f}"


def _budget(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _markdown(table: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in table) + "\n"


def _glossary(used: set[str]) -> str:
    lines = [f"- `{m.name}`: {m.text} ({_reads(m.unit, m.reads)})." for m in METRICS.values() if m.name in used]
    return "## What the figures are\n\n" + "\n".join(lines) + "\n"


def _reads(unit: str, reads: tuple[str, ...]) -> str:
    return ("" if unit == "1" else f"in {unit}; ") + "reads " + ", ".join(reads)
