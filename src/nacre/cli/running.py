"""One private run from the command line: everything is checked first, then the budget is spent, then files appear."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from nacre.cli.inputs import Declared, WatchedRows, check_target_column, estimated_rows, parse_epsilon, schema_for
from nacre.cli.owner import misfit_lines
from nacre.cli.progress import Bars
from nacre.cli.shell import Interrupted, Shell
from nacre.errors import DataError, NacreError, TooLittleData
from nacre.privacy.certificate.rounding import exact
from nacre.table.naming import choices


@dataclass(frozen=True)
class Terms:
    """The promise and the method, as asked for on the command line."""

    epsilon: str
    delta: float | None = None
    neighbours: str = "add_or_remove_one"
    method: str = "sketch"
    target: str | None = None
    domain: str = "buy"
    large: bool = False
    seed: int = 0
    noise_seed: int | None = None
    options: dict[str, Any] = field(default_factory=dict)
    shares: tuple[str, ...] = ()
    weights: str | None = None
    ledger: str | None = None
    population: str | None = None
    request: str | None = None
    engine: str | None = None
    go_on: bool = False
    fitted: float = 1.0  # the share of the rows that reaches the fit: public, and the declared size shrinks by it

    @property
    def reads(self) -> bool:
        """Whether what is not declared is read from the data."""
        return self.domain == "from-data" or parse_epsilon(self.epsilon) is None

    def budget(self, rows: int | None) -> Any:
        from nacre.privacy.budget import Budget, default_delta

        delta = default_delta(rows) if self.delta is None else self.delta
        return Budget(parse_epsilon(self.epsilon, self.large), delta, self.neighbours, self.large)


def run(file: Any, terms: Terms, declared: Declared, shell: Shell, owner: list[str] | None = None) -> Any:
    """The release of one run over a file, or over rows already opened. `owner` gets, in words, how chains mixed and
    what weighted rows are worth, for the owner's report.

    Whatever goes wrong, no file has been written; Ctrl-C says what had been opened.
    """
    from nacre.aiming import weighing_options
    from nacre.engines import open_rows
    from nacre.privacy.ledger.payment import Account
    from nacre.privacy.transcript import Transcript

    Account(terms.ledger, terms.population, terms.request).check(reads=terms.reads, seeded=terms.noise_seed is not None)
    terms.budget(None)  # a mistake in the budget shows before anything is opened
    weighing_options(terms.method, None, terms.weights)
    rows = open_rows(file, options=declared.reading, engine=terms.engine)
    if terms.weights is not None and terms.weights not in rows.column_names:
        others = choices(terms.weights, rows.column_names)
        raise DataError(f"--weights {terms.weights!r}: there is no such column; choose among {others}")
    transcript = Transcript()
    about = declared.rows or estimated_rows(file)
    with Bars(not shell.quiet, {"reading rows": about}) as bars:
        try:
            schema = _schema(rows, terms, declared, bars)
            check_target_column(terms.target, schema)
            with warnings.catch_warnings():
                if not terms.go_on:
                    warnings.simplefilter("error", TooLittleData)
                made, told = _fit(rows, schema, terms, transcript, bars)
        except KeyboardInterrupt:
            raise Interrupted(f"interrupted; nothing was written{_opened(transcript, terms)}") from None
        except TooLittleData as error:
            spent = f"nothing was written{_opened(transcript, terms)}"
            raise TooLittleData(f"{error}. Stopped before the fit ({spent}); --go-on makes it all the same") from None
        except NacreError as error:
            if not (transcript.begun or transcript.questions):
                raise
            raise type(error)(f"{error} (nothing was written{_opened(transcript, terms)})") from None
    lines = [line for facts in told.values() for line in diagnostic_lines(facts)]
    tell_misfits(shell, made.schema, told)
    shell.tell_owner(lines)
    if owner is not None:
        owner += lines
    return made


def tell_misfits(shell: Shell, schema: Any, told: Mapping[str, Any]) -> None:
    """Values that did not fit, of what a fit tells of itself; columns that could not be read even with --quiet."""
    unreadable, others = misfit_lines(schema, told.get("reading", {}).get("misfits", {}))
    shell.tell_owner(unreadable, always=True)
    shell.tell_owner(others)


def _opened(transcript: Any, terms: Terms) -> str:
    names = ", ".join(q["entry"] for q in transcript.questions)
    if not names and not transcript.begun:
        return " and nothing was spent"
    if parse_epsilon(terms.epsilon) is None:
        return "; the rows had been read, and what was found was thrown away unseen"
    given = f"answers to {names}" if names else "steps"
    return f"; the noisy {given} were thrown away unseen. If you keep books, count the whole run as spent"


def _schema(rows: Any, terms: Terms, declared: Declared, bars: Bars) -> Any:
    """What is declared; a whole draft when nothing is and the data may be read (the guarantee is `none` then)."""
    from nacre.table import Schema

    base = Schema.draft(WatchedRows(rows, bars)) if terms.reads and declared.schema is None else None
    schema = schema_for(rows.column_names, declared, base)
    if schema.rows is None or terms.fitted == 1:
        return schema
    return replace(schema, rows=max(1, round(terms.fitted * schema.rows)))


def _fit(rows: Any, schema: Any, terms: Terms, transcript: Any, bars: Bars) -> tuple[Any, dict[str, Any]]:
    from nacre.cli.conditions import parse_rebalance
    from nacre.run import fit

    told: dict[str, Any] = {}
    made = fit(
        rows,
        epsilon=parse_epsilon(terms.epsilon),
        delta=terms.delta,
        schema=schema,
        target=terms.target,
        method=terms.method,
        neighbours=terms.neighbours,
        domain=terms.domain,
        seed=terms.seed,
        noise_seed=terms.noise_seed,
        large=terms.large,
        options=terms.options,
        target_shares=parse_rebalance(terms.shares, schema, "--target-shares") or None,
        weights=terms.weights,
        progress=bars,
        transcript=transcript,
        tell_diagnostics=told.update,
        ledger=terms.ledger,
        population=terms.population,
        request=terms.request,
        go_on=terms.go_on,
    )
    return made, told


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


def draw(release: Any, path: str, rows: int | None, shell: Shell, force: bool, **how: Any) -> int:
    """Write a sample with a progress bar; returns the number of rows."""
    wanted = release.rows if rows is None else rows
    told: list[dict[str, float]] = []
    how |= {} if how.get("engine") else {"tell_weights": told.append}
    with Bars(not shell.quiet) as bars:
        drawn = release.write(path, wanted, force=force, progress=lambda d: bars("writing rows", d, wanted), **how)
    if told:
        shell.say(f"nacre: {weights_line('the rows of the release that were drawn from', told[0])}")
    return drawn


def promise_lines(certificate: Any) -> list[str]:
    """The promise in a line or two, for the end of a run."""
    if certificate.epsilon is None:
        return ["NO PRIVACY GUARANTEE: treat the output as if it were the data.", *map(_because, certificate.reasons)]
    unit = certificate.unit
    whose = f"all rows of one {unit['column']}, at most {unit['cap']}" if unit["column"] else "one row"
    return [
        f"guarantee    {certificate.guarantee}: ({exact(certificate.epsilon)}, {exact(certificate.delta)})-"
        f"differential privacy for {whose} ({certificate.neighbours})"
    ]


def _because(reason: str) -> str:
    return f"  because {reason}"
