"""docs/results.md from benchmarks/results/*.json: our figures, with those of others beside them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.places import RESULTS, ROOT
from nacre.metrics import METRICS, metric

PAGE = ROOT / "docs" / "results.md"
# The first columns of a comparison, in this order; what else was measured follows, but for DETAILS.
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
# One learner of a suite whose mean is shown, differences from `real`, quartiles: in the json files alone, unless in
# COLUMNS.
DETAILS = re.compile(r"(auc|ap|f1)_(lr|gnb|bnb|svm|tree|forest|ada|lda|bag|gbm|mlp)|.*_gap|.*_q[123]")
BLOCKS = (("presence_", "copies"), ("attribute_",))  # figures of these beginnings get a table of their own
MANY = 12  # a study of more tables than this shows those with the same figures together
ARROWS = {"higher": "↑", "lower": "↓", "none": ""}
HEAD = """# Results

Made by `python -m benchmarks page` from `benchmarks/results/*.json`; do not edit. Mean ± standard deviation
over the seeds of the whole pipeline (split, noise, training). *Slanted* figures were reported by others or
measured in an earlier study (see the source); the run on this page did not produce them. ↑: higher is
better, ↓: lower is better. A number in brackets behind a figure says how many seeds have it, where fewer do
than the line's `seeds`. `real` is the private table itself, `bootstrap` a resample of it, `independent`
the one-way tables alone; a `gap` is the figure of `real` minus that of the method in the same run. Figures of
single classifiers, quartiles and further gaps are in the json files where a mean over the suite stands here.
"""
EMPIRICAL = "none (empirical only)"  # whatever a flow made: its parameter is no budget (specs/expm_nf.md)


def documents(folder: Path = RESULTS) -> list[dict[str, Any]]:
    """The result files in order of name; smoke runs and figures of the source tree are left out."""
    paths = sorted(p for p in folder.glob("*.json") if not p.name.endswith(".quick.json"))
    return [d for d in map(json.loads, (p.read_text() for p in paths)) if "rows" in d]


def write(folder: Path = RESULTS, page: Path = PAGE) -> Path:
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(render(documents(folder)))
    return page


def render(found: Iterable[Mapping[str, Any]]) -> str:
    parts, used = [HEAD], set()
    for document in found:
        parts.append(_about(document))
        rows = document["rows"]
        datasets = list(dict.fromkeys(row["dataset"] for row in rows))
        shown, apart = _together(rows, datasets) if len(datasets) > MANY else ([], datasets)
        used |= {*_columns(r for r in rows if r["dataset"] not in apart)}
        for dataset in apart:
            own = [r for r in rows if r["dataset"] == dataset]
            names = _columns(own) if _is_study(own) else []
            shown += _wide(dataset, own, names) if names else [_long(dataset, own)]
            used |= set(names) if names else {r["metric"] for r in own}
        parts += [*shown, _peers(document.get("peers", ()))]
    parts.append(_glossary(used))
    return "\n".join(parts)


def _columns(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    measured = list(dict.fromkeys(r["metric"] for r in rows))
    more = [m for m in measured if m not in COLUMNS and not DETAILS.fullmatch(m)]
    return [c for c in COLUMNS if c in measured] + more


def _together(rows: list[Mapping[str, Any]], datasets: list[str]) -> tuple[list[str], list[str]]:
    """One table for all the tables with the same figures, which must be few; the tables that remain alone."""
    figures: dict[frozenset, list[str]] = {}
    for dataset in sorted(datasets, key=_natural):
        figures.setdefault(frozenset(_columns(r for r in rows if r["dataset"] == dataset)), []).append(dataset)
    shown, alone = [], []
    for names, own in figures.items():
        if len(own) == 1 or len(names) > 4:
            alone += own
            continue
        mine = [r for r in rows if r["dataset"] in own]
        shown += _wide(
            f"{len(own)} tables together", sorted(mine, key=lambda r: _natural(r["dataset"])), _columns(mine), True
        )
    return shown, [d for d in datasets if d in alone]


def _natural(text: str) -> list[tuple[float, str]]:
    """The order of a reader: 5 before 10."""
    return [(float(part), "") if part[0].isdigit() else (-1.0, part) for part in re.findall(r"\d+(?:\.\d+)?|\D+", text)]


def _is_study(rows: Iterable[Mapping[str, Any]]) -> bool:
    """Comparisons of methods have a ceiling; the others (speed) are lists of figures."""
    return any(r["method"] == "real" for r in rows)


def _about(document: Mapping[str, Any]) -> str:
    told = [f"## {document['name']}\n\n{_run(document)}\n"]
    told += [f"\nRun {i}: {_run(run)}\n" for i, run in enumerate(document.get("earlier", ()), 1)]
    return "".join([*told, *(f"\n{note}\n" for note in document.get("notes", ()))])


def _run(about: Mapping[str, Any]) -> str:
    machine = about["hardware"]
    versions = ", ".join(f"{k} {v}" for k, v in about["versions"].items())
    commit, _, changes = about["commit"].partition("+")
    return (
        f"`{about['command']}`, commit `{commit[:12]}`{' with changes' * bool(changes)}, "
        f"{machine['cores']} cores of {machine['cpu']}, accelerator {machine['accelerator']}; {versions}."
    )


def _source(row: Mapping[str, Any]) -> str:
    """Who made a figure, and in which of the earlier runs."""
    return row["source"] + (f", run {row['run'] + 1}" if "run" in row else "")


def _wide(title: str, rows: list[Mapping[str, Any]], names: list[str], mixed: bool = False) -> list[str]:
    """One line per method, budget and source (and table, where they are `mixed`); one column per metric. Lines without
    a figure of a block are left out of it."""
    lines: dict[tuple, dict[str, Mapping[str, Any]]] = {}
    places = {row["dataset"]: i for i, row in reversed(list(enumerate(rows)))}
    for row in rows:
        key = (row["method"], row["epsilon"], row["delta"], row["guarantee"], _source(row))
        lines.setdefault((row["dataset"], key), {})[row["metric"]] = row
    ordered = sorted(lines, key=lambda line: (places[line[0]] if mixed else 0, _order(line[1])))
    shown = []
    for block in _blocks(names):
        head = [
            "method",
            "ε",
            "δ",
            "guarantee",
            *(f"{n} {ARROWS[metric(n).direction]}" for n in block),
            "seeds",
            "source",
        ]
        table = [head, ["---"] * len(head)]
        for dataset, key in ordered:
            figures = {n: row for n, row in lines[dataset, key].items() if n in block}
            if figures:
                table.append(_line(key, figures, block))
                table[-1][:0] = [dataset] * mixed
        if mixed:
            table[0], table[1] = ["table", *head], ["---", *table[1]]
        shown.append(_markdown(table))
    return [f"### {title}\n\n" + "\n".join(shown)]


def _blocks(names: list[str]) -> list[list[str]]:
    apart = [[n for n in names if n.startswith(block)] for block in BLOCKS]
    rest = [n for n in names if not any(n in own for own in apart)]
    return [own for own in (rest, *apart) if own]


def _line(key: tuple, figures: Mapping[str, Mapping[str, Any]], names: list[str]) -> list[str]:
    method, epsilon, delta, guarantee, source = key
    seeds = max(row["seeds"] for row in figures.values())
    cells = [_figure(figures[n], seeds) if n in figures else "" for n in names]
    promise = EMPIRICAL if method.startswith("expm-nf") and guarantee == "none" else guarantee or "not checked"
    return [method, _budget(epsilon), _budget(delta), promise, *cells, str(seeds or ""), source]


def _long(dataset: str, rows: list[Mapping[str, Any]]) -> str:
    """One line per figure, with its budget where any has one."""
    private = any(r["epsilon"] is not None for r in rows)
    table = [["method", *["ε"] * private, "metric", "value", "unit", "seeds", "source"]]
    table.append(["---"] * len(table[0]))
    for r in rows:
        name = f"{r['metric']} {ARROWS[metric(r['metric']).direction]}"
        budget = [_budget(r["epsilon"])] * private
        unit = metric(r["metric"]).unit
        table.append([r["method"], *budget, name, _figure(r), unit, str(r["seeds"] or ""), _source(r)])
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
    return (first, -(epsilon or 0.0), not source.startswith("nacre"), method, delta or 0.0)


def _figure(row: Mapping[str, Any], seeds: int = 0) -> str:
    """Mean and spread; of how many seeds, where they are fewer than the `seeds` of its line."""
    if row["mean"] is None:
        return f"*{_number(row['published'])}*" if row["published"] is not None else ""
    spread = f" ± {_number(row['std'])}" if row["std"] is not None else ""
    beside = f" (*{_number(row['published'])}*)" if row["published"] is not None else ""
    fewer = f" ({row['seeds']})" if row["seeds"] < seeds else ""
    return _number(row["mean"]) + spread + fewer + beside


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
