"""`nacre demo`."""

from __future__ import annotations

from typing import Annotated

import typer

from nacre.cli import options as o
from nacre.cli.groups import Voice, grouped


@grouped
def demo(
    output: Annotated[str, typer.Option("--output", "-o", metavar="FOLDER", help="Where the files go.")] = "demo",
    rows: Annotated[int, typer.Option(min=100, help="Size of the simulated table.")] = 20_000,
    epsilon: o.Epsilon = "1",
    *,
    voice: Voice,
) -> None:
    """Show the whole job on a simulated table: real file, synthetic file, certificate, release and a comparison.

    Examples:
      nacre demo
      nacre demo --output /tmp/demo --rows 5000 --epsilon 0.5
    """
    from nacre import demo as job
    from nacre.cli.inputs import parse_epsilon
    from nacre.cli.progress import Bars
    from nacre.cli.shell import Interrupted

    shell = voice.shell()
    try:
        with Bars(not voice.quiet) as bars:
            made = job.run(output, rows, parse_epsilon(epsilon, None), bars, shell.say)
    except KeyboardInterrupt:
        raise Interrupted(
            f"interrupted; what was finished is in {output}, and the table was simulated anyway"
        ) from None
    for line in job.story(made):
        shell.show(line)
    shell.answer({"command": "demo", **made.to_json()})
