"""What the owner of the data is told: everything that a run computed on private rows besides what it paid for.

It is on the screen, or in the owner's report, and nowhere else: notes have no way into a file of a release. Columns of
one fate share a line, the worst first: 300 columns that were clamped are one message, not 300.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from nacre.table.values.misfits import Misfits

if TYPE_CHECKING:  # the command line starts without NumPy and Arrow
    from nacre.table import Column

SHOWN = 8  # columns named in a line
LOST = 0.5  # of the values of a column: from here on it is the column that could not be read


class Described(Protocol):
    """A schema; or a database, whose columns are called "table.column"."""

    @property
    def columns(self) -> Mapping[str, Column]: ...


class OwnerNotes:
    """`nacre.fit(..., owner=notes)`, then `print(notes)`.

    `misfits` are values that did not fit the schema, by column; `rules` rows that broke a rule of it; `diagnostics` how
    Markov chains mixed and what weighted rows are worth, by entry of the plan; `dropped`, in words, rows of a database
    that belong to nobody or lie beyond a cap. Exact facts of private rows: for the owner of the data alone.
    """

    def __init__(self) -> None:
        self.schema: Described | None = None
        self.misfits: dict[str, Misfits] = {}
        self.rules: dict[str, Misfits] = {}
        self.diagnostics: dict[str, dict[str, Any]] = {}
        self.dropped: tuple[str, ...] = ()

    def hear(
        self, schema: Described, misfits: Mapping[str, Misfits], diagnostics: Mapping[str, dict[str, Any]],
        dropped: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """What a session found, in place of what an earlier one did."""
        self.schema = schema
        self.misfits = {name: n for name, n in misfits.items() if n and name in schema.columns}
        self.rules = {name: n for name, n in misfits.items() if n and name not in schema.columns}
        self.diagnostics = dict(diagnostics)
        self.dropped = tuple(dropped)

    @property
    def unreadable(self) -> list[str]:
        """Columns that could not be read: what is said even by a quiet command."""
        return misfit_lines(self.schema, self.misfits)[0] if self.schema else []

    @property
    def others(self) -> list[str]:
        """What was left out; every other column that has values which did not fit, the worst first; then rules that
        rows broke."""
        if self.schema is None:
            return []
        return [*self.dropped, *misfit_lines(self.schema, self.misfits)[1], *rule_lines(self.rules)]

    @property
    def figures(self) -> list[str]:
        """How chains mixed, and what weighted rows are worth."""
        return [line for facts in self.diagnostics.values() for line in diagnostic_lines(facts)]

    def __str__(self) -> str:
        return "\n".join([*self.unreadable, *self.others, *self.figures])

    def __repr__(self) -> str:
        return f"<OwnerNotes on {len(self.misfits)} columns and {len(self.diagnostics)} entries: print() shows them>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("notes for the owner of the data are written to no file")


@dataclass(frozen=True)
class Fate:
    """What is so of some values, and what is done with them; the worst comes first."""

    rank: int
    one: str
    many: str
    done: str
    cells: dict[str, tuple[int, int]] = field(default_factory=dict, compare=False)  # column -> (values, of so many)

    def line(self, would: bool) -> str:
        """`would`: nothing has been done yet."""
        ranked = sorted(self.cells.items(), key=lambda item: -item[1][0] / max(item[1][1], 1))
        if len(ranked) == 1:
            ((name, (n, given)),) = ranked
            state, past = (self.one, "was") if n == 1 else (self.many, "were")
            return (
                f"{n:,} of {given:,} values of column {name!r} {state} and {'would be' if would else past} {self.done}"
            )
        told = ", ".join(f"{name} ({n:,} of {given:,})" for name, (n, given) in ranked[:SHOWN])
        more = f" and {len(ranked) - SHOWN:,} more" if len(ranked) > SHOWN else ""
        verb = "would be" if would else "were"
        return f"{len(ranked):,} columns have values that {self.many} and {verb} {self.done}: {told}{more}"


UNREADABLE = (0, "cannot be read", "cannot be read", "taken as missing")
MISSING = (4, "is missing though none may be", "are missing though none may be",
           "counted nowhere")  # fmt: skip


def misfit_lines(schema: Described, found: Mapping[str, Misfits], would: bool = False) -> tuple[list[str], list[str]]:
    """(what is said even with --quiet: columns that could not be read, everything else), each with the worst first."""
    lost: dict[str, Misfits] = {}
    fates: dict[Fate, Fate] = {}
    for name, m in found.items():
        if m.unreadable and m.unreadable >= LOST * m.given:
            lost[name] = m
        elif m.unreadable:
            _put(fates, Fate(*UNREADABLE), name, m.unreadable, m.given)
        if m.rest:
            _put(fates, _fate(schema.columns[name]), name, m.rest, m.given)
    return _lost(schema, lost, would), [fate.line(would) for fate in sorted(fates, key=lambda f: f.rank)]


def rule_lines(found: Mapping[str, Misfits], would: bool = False) -> list[str]:
    """How many rows broke each rule of the schema, the worst first."""
    done = "" if would else ", and were moved to rows near by that keep it"
    return [
        f"{m.outside:,} of {m.given:,} rows break the {name}{done}"
        for name, m in sorted(found.items(), key=lambda item: -item[1].outside)
        if m
    ]


def missing_lines(lacking: Mapping[str, int], rows: int) -> list[str]:
    """Of columns that the schema says are never missing."""
    fate = Fate(*MISSING, {name: (n, rows) for name, n in lacking.items() if n})
    return [fate.line(would=True)] if fate.cells else []


def _lost(schema: Described, lost: Mapping[str, Misfits], would: bool) -> list[str]:
    """Columns of which most could not be read, in one line."""
    if not lost:
        return []
    ranked = sorted(lost.items(), key=lambda item: -item[1].unreadable / item[1].given)
    told = ", ".join(
        f"{name} as {schema.columns[name].kind} ({m.unreadable:,} of {m.given:,} values)" for name, m in ranked[:SHOWN]
    )
    more = f" and {len(ranked) - SHOWN:,} more" if len(ranked) > SHOWN else ""
    many = f"{len(lost):,} columns" if len(lost) > 1 else "1 column"
    fate = f"{'would be' if would else 'were'} taken as missing"
    advice = "look at the file, and declare what is in it"
    return [f"{many} could not be read as the schema says, and the values {fate}: {told}{more}; {advice}"]


def _put(fates: dict[Fate, Fate], fate: Fate, name: str, n: int, given: int) -> None:
    fates.setdefault(fate, fate).cells[name] = (n, given)


def _fate(column: Column) -> Fate:
    """What is done with values outside the domain of this column."""
    sources = {column.provenance.get(fact, "public") for fact in ("bounds", "categories")}
    source = "bought" if "bought" in sources else "read" if "read" in sources else "declared"
    if not column.labelled:
        where = f"outside the {source} range"
        return Fate(2, f"lies {where}", f"lie {where}", "clamped")
    where = f"not among the {source} categories"
    done = (1, "left out") if column.others is None else (3, f"counted as {column.others!r}")
    return Fate(done[0], f"is {where}", f"are {where}", done[1])


def diagnostic_lines(facts: Mapping[str, Any]) -> list[str]:
    """What the owner should know of weights or chains: computed on private rows, never part of a release."""
    if "effective_rows" in facts:
        return [weights_line(facts.get("what", "the rows of the table"), facts)]
    if "r_hat" not in facts:
        return []
    verdict = "as usually asked for" if facts["passed"] else "NOT as usually asked for: more moves may help"
    return [
        f"{facts['chains']} chains: R-hat {facts['r_hat']:.3f}, bulk ESS {facts['bulk_ess']:,.0f}, tail ESS "
        f"{facts['tail_ess']:,.0f}, accepted {facts.get('accepted', float('nan')):.2f}; {verdict}"
    ]


def weights_line(what: str, facts: Mapping[str, Any]) -> str:
    bias = ""
    if "truncation_bias" in facts:
        bias = f"; weights cut at {facts['truncated_at']:g} bias a share by at most {facts['truncation_bias']:.3f}"
    return (
        f"{what} are weighted: the largest weight is {facts['largest_weight']:,.1f} times the mean, and they are worth "
        f"{facts['effective_rows']:,.0f} equal ones ({facts['effective_share']:.0%}){bias}"
    )
