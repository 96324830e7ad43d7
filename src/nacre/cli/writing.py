"""What a command writes, and says of it at its end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from nacre.cli.progress import Bars
from nacre.cli.shell import Shell
from nacre.owner import weights_line
from nacre.privacy.certificate.rounding import exact
from nacre.privacy.certificate.wording import whose

if TYPE_CHECKING:
    from nacre.privacy.certificate.statement import Certificate
    from nacre.release.release import Release


def draw(release: Release, path: str, rows: int | None, shell: Shell, force: bool, **how: Any) -> int:
    """Write a sample with a progress bar; returns the number of rows."""
    wanted = release.rows if rows is None else rows
    told: list[dict[str, float]] = []
    how |= {} if how.get("engine") else {"tell_weights": told.append}
    with Bars(not shell.quiet) as bars:
        drawn = release.write(path, wanted, force=force, progress=lambda d: bars("writing rows", d, wanted), **how)
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
