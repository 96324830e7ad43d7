"""What a command writes, and says of it at its end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nacre.cli.progress import Bars
from nacre.cli.shell import Shell
from nacre.owner import weights_line
from nacre.privacy.certificate.rounding import exact
from nacre.privacy.certificate.wording import whose

if TYPE_CHECKING:
    from nacre.privacy.certificate.statement import Certificate
    from nacre.release.databases import DatabaseRelease
    from nacre.release.release import Release


def draw(release: Release | DatabaseRelease, path: str, rows: int | None, shell: Shell, force: bool, **how: Any) -> int:
    """Write a sample with a progress bar; returns the number of rows, or of units of a database."""
    from nacre.release.release import Release

    size, what = (release.rows, "rows") if isinstance(release, Release) else (release.units, "units")
    wanted = size if rows is None else rows
    told: list[dict[str, float]] = []
    how |= {} if how.get("engine") else {"tell_weights": told.append}
    with Bars(not shell.quiet) as bars:
        drawn = release.write(path, wanted, force=force, progress=lambda d: bars(f"writing {what}", d, wanted), **how)
    if told:
        shell.say(f"nacre: {weights_line('the rows of the release that were drawn from', told[0])}")
    return drawn


def promise_lines(certificate: Certificate) -> list[str]:
    """The promise in a line or two, for the end of a run."""
    if certificate.epsilon is None or certificate.delta is None:
        return ["NO PRIVACY GUARANTEE: treat the output as if it were the data.", *map(_because, certificate.reasons)]
    unit = certificate.unit
    who = f"all rows of one {unit['column']}, at most {unit['cap']}" if unit["column"] else whose(unit)
    return [
        f"guarantee    {certificate.guarantee}: ({exact(certificate.epsilon)}, {exact(certificate.delta)})-"
        f"differential privacy for {who} ({certificate.neighbours})"
    ]


def _because(reason: str) -> str:
    return f"  because {reason}"


def write_certificate(certificate: Certificate, path: str, force: bool) -> None:
    """As JSON or as text, as the ending of the name says."""
    from nacre.table.writing import write_text

    as_json = path.lower().endswith(".json")
    write_text(path, (json.dumps(certificate.to_json(), indent=1) if as_json else str(certificate)) + "\n", force)


def keep(made: Release | DatabaseRelease, outputs: Mapping[str, str | None], force: bool) -> dict[str, str]:
    """Write release, certificate and schema where asked. The release comes first: it is what the budget bought."""
    from nacre.release.release import Release

    written = {}
    for option, path in outputs.items():
        if path is None:
            continue
        if option == "--release":
            made.save(path, force)
        elif option == "--save-schema":
            (made.schema if isinstance(made, Release) else made.described).save(path, force)
        else:
            write_certificate(made.certificate, path, force)
        written[option] = path
    return written


def what_is_left(made: Release | DatabaseRelease, written: Mapping[str, str], output: str) -> str:
    """After a run whose rows were not all drawn."""
    if "--release" in written:
        return f"{output} was not written, but {written['--release']} was: draw from it with `nacre sample`"
    spent = "" if made.certificate.epsilon is None else f"; epsilon {exact(made.certificate.epsilon)} was spent"
    kept = ", ".join(written.values())
    return f"{output} was not written{spent}" + (f" ({kept} was written)" if kept else "")


LABELS = {"--output": "synthetic", "--release": "release", "--certificate": "certificate", "--save-schema": "schema",
          "--sheet": "sheet", "--report": "report"}  # fmt: skip
