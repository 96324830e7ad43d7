"""docs/results.md from benchmarks/results/*.json: a table per question, ours beside what others measured.

What is asked, and which files answer it, stands in `topics.py`; here figures become cells. A figure that no table asks
for is in its json file, which the page links.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.board.picture import picture
from benchmarks.board.tally import tally
from benchmarks.catalogue import CATALOGUE
from benchmarks.places import RESULTS, ROOT
from benchmarks.topics import TOPICS, Table, Topic
from nacre.errors import NacreError
from nacre.metrics import METRICS, metric

PAGE = ROOT / "docs" / "results.md"
BOARD = "board.svg"  # beside the page
ARROWS = {"higher": "↑", "lower": "↓", "none": ""}
CEILINGS = {"real": 0, "bootstrap": 1}  # first in their table
EMPIRICAL = "none (empirical only)"  # whatever a flow made: its parameter is no budget (specs/expm_nf.md)
HEAD = """# Results

Made by `python -m benchmarks page` from the files of the [last table](#the-files); do not edit. One table per question;
losses stand where wins do. Every figure measured, with those of single classifiers, single classes, quartiles and every
run's versions, is in those files.

Mean ± standard deviation over the seeds of the whole pipeline (split, noise, training); a number in brackets says
how many seeds a figure has, where fewer than the `seeds` of its line. *Slanted* figures were reported by others or
measured in an earlier study (the source stands below the table): no run here produced them, and the settings may
differ. ↑: higher is better, ↓: lower is better. `real` is the private table itself, `bootstrap` a resample of it,
`independent` the one-way tables alone. An empty cell was not measured, or what was asked did not finish (then [The
packages](#the-packages) say so).
"""
Row = Mapping[str, Any]
Key = tuple[Any, ...]


def documents(folder: Path = RESULTS) -> list[dict[str, Any]]:
    """The result files in order of name; smoke runs and figures of the source tree are left out."""
    paths = sorted(p for p in folder.glob("*.json") if not p.name.endswith(".quick.json"))
    return [d for d in map(json.loads, (p.read_text() for p in paths)) if "rows" in d]


def write(folder: Path = RESULTS, page: Path = PAGE) -> Path:
    page.parent.mkdir(parents=True, exist_ok=True)
    for name, text in {page.name: render(documents(folder)), **pages(documents(folder))}.items():
        (page.parent / name).write_text(text)
    return page


def pages(found: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """What stands beside the page: topics with a page of their own, and the picture of the board."""
    files = {document["name"]: document for document in found}
    made = {}
    for topic in (t for t in TOPICS if t.page):
        if parts := _answered(topic, files, set()):
            head = f"# {topic.title}\n\nMade by `python -m benchmarks page`; [how to read it](results.md).\n"
            made[topic.page] = "\n".join([head, topic.text + "\n", *parts])
        if topic.board and "board" in files:
            made[BOARD] = picture(files["board"]["rows"])
    return made


def render(found: Iterable[Mapping[str, Any]], topics: Iterable[Topic] = TOPICS) -> str:
    files = {document["name"]: document for document in found}
    parts, told = [HEAD], set()
    for topic in topics:
        answered = _answered(topic, files, set() if topic.page else told)
        if answered:
            parts.append(f"## {topic.title}\n{topic.text}\n")
            parts += [f"All of it: [{topic.page}]({topic.page}).\n"] if topic.page else answered
    parts += [_peers(files.values()), _files(files.values())]
    return "\n".join(part for part in parts if part)


def _answered(topic: Topic, files: Mapping[str, Mapping[str, Any]], told: set[str]) -> list[str]:
    """The tables of a topic that have rows, and what their figures are, those apart that were `told`; adds to these."""
    answers = [(table, rows) for table in topic.tables if (rows := _rows(table, files))]
    if not answers:
        return []
    rows = [row for _, own in answers for row in own]
    used = {row["metric"] for row in rows}
    before = [_board(files["board"]["rows"])] if topic.board and "board" in files else []
    parts = [*before, *(_table(table, own) for table, own in answers), _sources(rows) + _glossary(used - told)]
    told |= used
    return parts


def _board(rows: list[Row]) -> str:
    """The picture, and on how many tables ours is ahead of each other method; the tables on which it is behind."""
    head = ["question", "ε", "`sketch` beside", "ahead on", "behind on", "which are"]
    lines = [head, ["---"] * len(head)]
    for found in tally(rows):
        counts = (str(len(found.ahead)), str(len(found.behind)), ", ".join(found.behind))
        lines.append([found.question, _budget(found.epsilon), found.method, *counts])
    drawn = f"![What rows of each method lose at ε = 1, table by table]({BOARD})\n"
    return f"{drawn}\n### Ahead and behind, tables by number\n{_markdown(lines)}"


def _rows(table: Table, files: Mapping[str, Mapping[str, Any]]) -> list[Row]:
    """What the files have for a table: nothing, where they were not measured."""
    rows = [{**row, "file": name} for name in table.files if name in files for row in files[name]["rows"]]
    return [row for row in rows if row["metric"] in table.metrics and _kept(table, row)]


def _table(table: Table, rows: list[Row]) -> str:
    columns = sorted({_key(row, table.columns) for row in rows}, key=_places(table, rows, table.columns))
    lines: dict[Key, dict[Key, list[Row]]] = {}
    for row in rows:
        lines.setdefault(_key(row, table.lines), {}).setdefault(_key(row, table.columns), []).append(row)
    promised = any(row["guarantee"] is not None for row in rows)
    head = [*(_named(field) for field in table.lines), *["guarantee"] * promised]
    head += [_column(table, key) for key in columns] + ["seeds"]
    shown = [head, ["---"] * len(head)]
    for key in sorted(lines, key=_places(table, rows, table.lines)):
        own = [row for cell in lines[key].values() for row in cell]
        seeds = max(row["seeds"] for row in own)
        cells = [_cell(lines[key].get(column, ()), seeds) for column in columns]
        told = [_value(field, value) for field, value in zip(table.lines, key)]
        shown.append([*told, *[_promise(own)] * promised, *cells, str(seeds or "")])
    return f"### {table.title}\n{_markdown(shown)}"


def _kept(table: Table, row: Row) -> bool:
    return all(re.fullmatch(pattern, _value(field, row[field])) for field, pattern in table.where.items())


def _key(row: Row, fields: Iterable[str]) -> Key:
    return tuple(row[field] for field in fields)


def _places(table: Table, rows: list[Row], fields: tuple[str, ...]) -> Callable[[Key], Key]:
    """An order of lines or columns: files and metrics as they are asked for, budgets falling, ours before others'."""
    theirs = {row["method"] for row in rows} - {row["method"] for row in rows if row["mean"] is not None}
    asked = (*table.metrics, *table.files)

    def place(field: str, value: Any) -> Key:
        if field in ("epsilon", "delta"):
            return (value is None, -(value or 0.0))
        if field == "method":
            return (value in theirs, value)
        return (asked.index(value) if value in asked else -1, _natural(value))

    cut = next((i for i, field in enumerate(fields) if field in ("epsilon", "method")), len(fields))

    def key(values: Key) -> Key:
        found = [place(field, value) for field, value in zip(fields, values)]
        ceiling = CEILINGS.get(dict(zip(fields, values)).get("method", ""), 2)
        return (*found[:cut], ceiling, *found[cut:])

    return key


def _natural(text: str) -> list[tuple[float, str]]:
    """The order of a reader: 5 before 10."""
    return [(float(part), "") if part[0].isdigit() else (-1.0, part) for part in re.findall(r"\d+(?:\.\d+)?|\D+", text)]


def _named(field: str) -> str:
    return {"epsilon": "ε", "delta": "δ", "dataset": "table"}.get(field, field)


def _value(field: str, value: Any) -> str:
    return _budget(value) if field in ("epsilon", "delta") else str(value)


def _column(table: Table, key: Key) -> str:
    named = dict(zip(table.columns, key))
    told = [f"ε {_budget(v) or 'none'}" if f == "epsilon" else str(v) for f, v in named.items() if f != "metric"]
    if "metric" in named and (len(table.metrics) > 1 or not told):
        told.append(named["metric"])
    name = named.get("metric", table.metrics[0])
    return ", ".join(told) + f" {ARROWS[metric(name).direction]}".rstrip()


def _cell(rows: Iterable[Row], seeds: int) -> str:
    """Ours, and behind it what others reported for the same."""
    measured = [row for row in rows if row["mean"] is not None]
    if len(measured) > 1:
        raise NacreError(f"two figures in one cell of the results page: {measured}")
    theirs = dict.fromkeys(f"*{_number(row['published'])}*" for row in rows if row["published"] is not None)
    return " ".join([*(_figure(row, seeds) for row in measured), *theirs])


def _figure(row: Row, seeds: int) -> str:
    spread = f" ± {_number(row['std'])}" if row["std"] is not None else ""
    return _number(row["mean"]) + spread + (f" ({row['seeds']})" if row["seeds"] < seeds else "")


def _promise(rows: Iterable[Row]) -> str:
    own = [row for row in rows if row["mean"] is not None]
    if not own:
        return "not checked"
    told = (
        EMPIRICAL if r["method"].startswith("expm-nf") and r["guarantee"] == "none" else r["guarantee"] for r in own
    )
    return ", ".join(dict.fromkeys(text or "not checked" for text in told))


def _sources(rows: Iterable[Row]) -> str:
    """Whose the figures are that are not nacre's."""
    methods: dict[str, dict[str, None]] = {}
    for row in rows:
        if row["source"] != "nacre":
            methods.setdefault(row["source"].strip(), {})[f"`{row['method']}`"] = None
    told = [f"{', '.join(names)}: {source}" for source, names in sorted(methods.items())]
    return f"Not nacre's: {'; '.join(told)}.\n" if told else ""


def _peers(found: Iterable[Mapping[str, Any]]) -> str:
    """What is true or false of each package, and what became of each run; one line where nothing else differs."""
    lines: dict[tuple[str, ...], dict[str, list[str]]] = {}
    tables: dict[tuple[str, ...], dict[str, None]] = {}
    for told in (t for document in found for t in document.get("peers", ())):
        key = (told["method"], told["package"], _yes(told["reads_domain"]), _yes(told["reports_spend"]), told["notes"])
        outcome = f"{told['outcome']} ({told['version']})" if told["version"] else told["outcome"]
        lines.setdefault(key, {}).setdefault(outcome, []).append(_budget(told["epsilon"]))
        tables.setdefault(key, {})[told["dataset"]] = None
    if not lines:
        return ""
    head = ["method", "package", "domain read from the rows", "reports what it spent", "notes", "tables", "outcome"]
    table = [head, ["---"] * len(head)]
    for key, outcomes in lines.items():
        became = [f"ε {', '.join(dict.fromkeys(b))}: {text}" if any(b) else text for text, b in outcomes.items()]
        table.append([*key, "; ".join(tables[key]), "; ".join(became)])
    return "## The packages\n" + _markdown(table)


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"


def _files(found: Iterable[Mapping[str, Any]]) -> str:
    """Every result file, with the command and the day of its newest run, and under what conditions it ran."""
    head = ["file", "what it measures", "command", "date", "commit", "machine", "earlier runs", "conditions"]
    table = [head, ["---"] * len(head)]
    for document in found:
        name, machine = document["name"], document["hardware"]
        accelerator = "" if machine["accelerator"] == "none" else f", {machine['accelerator']}"
        days = sorted(run.get("date") or "" for run in document.get("earlier", ()))
        table.append(
            [
                f"[{name}](../benchmarks/results/{name}.json)",
                CATALOGUE[name].text if name in CATALOGUE else "",
                f"`{document['command']}`",
                document.get("date") or "",
                _commit(document["commit"]),
                f"{machine['cores']} cores of {machine['cpu']}{accelerator}",
                f"{len(days)}, the first of {days[0]}" if days else "",
                " ".join(document.get("notes", ())),
            ]
        )
    return "## The files\n" + _markdown(table)


def _commit(told: str) -> str:
    commit, _, changes = told.partition("+")
    return f"`{commit[:12]}`{' with changes' * bool(changes)}"


def _number(value: float) -> str:
    if abs(value) >= 10_000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.4f}"


def _budget(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _markdown(table: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in table) + "\n"


def _glossary(names: set[str]) -> str:
    told = [f"`{m.name}`: {m.text} ({_reads(m.unit, m.reads)})" for m in METRICS.values() if m.name in names]
    return f"What the figures are: {'; '.join(told)}.\n" if told else ""


def _reads(unit: str, reads: tuple[str, ...]) -> str:
    return ("" if unit == "1" else f"in {unit}; ") + "reads " + ", ".join(reads)
