"""`sketch` and `merge`: several sites sketch their own rows, and one model is fitted to the sum of the sketches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer

from nacre.cli import options as o
from nacre.cli.groups import Charge, Reading, Voice, grouped
from nacre.cli.shell import Interrupted
from nacre.cli.streams import table

if TYPE_CHECKING:
    from nacre.release.release import Release
    from nacre.run.terms import Terms

SketchFile = Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The sketch to write.")]


@dataclass(frozen=True)
class Asked:
    """What sites agree on, and what each decides for itself."""

    epsilon: o.Epsilon
    schema: Annotated[str, typer.Option("--schema", metavar="FILE", help="The schema that all sites share, as JSON.")]
    delta: o.Delta = None
    target: o.Target = None
    neighbours: o.Neighbours = "add_or_remove_one"
    frequencies: Annotated[int, typer.Option(min=1, help="Numbers of the characteristic function per class.")] = 1000
    seed: o.Seed = 0
    noise_seed: o.NoiseSeed = None
    charge: Charge = field(default_factory=Charge)
    engine: o.Engine = None
    i_understand: o.Understand = False
    only_recipe: Annotated[
        bool,
        typer.Option("--only-recipe", help="Print the recipe's digest and stop: nothing is read or spent."),
    ] = False

    def terms(self) -> Terms:
        from nacre.cli.inputs import parse_epsilon
        from nacre.run.terms import Terms
        from nacre.sites.checks import METHOD

        epsilon = parse_epsilon(self.epsilon, self.i_understand)
        return Terms(epsilon, self.delta, self.neighbours, self.i_understand, METHOD, self.target, seed=self.seed,
                     noise_seed=self.noise_seed)  # fmt: skip


@grouped
def sketch(
    file: o.TableFile, output: SketchFile, asked: Asked, force: o.Force = False, *, voice: Voice, reading: Reading
) -> None:
    """Sketch this site's rows, with this site's noise, to be added to the sketches of other sites.

    All sites use the same schema, target, frequencies, seed and budget. These have a digest, the recipe: compare it
    with --only-recipe before any site pays. A sketch is public: it carries its promise.

    Examples:
      nacre sketch visits.csv -o 1.sketch --schema visits.json -e 1 --delta 1e-6 --target outcome --only-recipe
      nacre sketch visits.csv -o 1.sketch --schema visits.json -e 1 --delta 1e-6 --target outcome
      nacre merge 1.sketch 2.sketch -o all.sketch
      nacre fit --from-sketch all.sketch -o all.nacre
    """
    from nacre.cli.inputs import check_outputs
    from nacre.cli.progress import Bars
    from nacre.cli.running import tell
    from nacre.cli.writing import promise_lines
    from nacre.engines import open_rows
    from nacre.owner import OwnerNotes
    from nacre.run.terms import Access
    from nacre.sites.shared import digest_of, sketched
    from nacre.table import Schema

    shell, terms, schema = voice.shell(), asked.terms(), reading.described(Schema.load(asked.schema))
    if asked.only_recipe:
        recipe = digest_of(schema, terms, asked.frequencies)
        shell.show(f"recipe       {recipe}  (equal at all sites whose sketches add; nothing was read)")
        return shell.answer({"command": "sketch", "recipe": recipe})
    check_outputs({"--output": output}, force, [file, asked.schema])
    notes = OwnerNotes()
    try:
        with Bars(not voice.quiet, {"reading rows": None}) as bars:
            how = reading.options(asked.schema)
            rows = open_rows(table(file, how), options=how, engine=asked.engine)
            access = Access(asked.charge.account(), progress=bars, owner=notes)
            made = sketched(rows, schema, terms, asked.frequencies, access)
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; {output} was not written. If you keep books, count the run as spent") from None
    made.save(output, force)
    tell(shell, notes)
    shell.show(f"sketch       {output}")
    shell.show(f"recipe       {made.digest}  (equal at all sites whose sketches add)")
    for line in promise_lines(made.certificates[0]):
        shell.show(line)
    shell.answer({"command": "sketch", "output": output, "recipe": made.digest,
                  "certificate": made.certificates[0].to_json()})  # fmt: skip


@grouped
def merge(
    sketches: Annotated[list[str], typer.Argument(metavar="SKETCH...", help="Sketches of the sites.")],
    output: SketchFile,
    force: o.Force = False,
    *,
    voice: Voice,
) -> None:
    """Add the sketches of several sites. No data is touched and no budget is spent.

    Examples:
      nacre merge site1.sketch site2.sketch site3.sketch -o all.sketch
    """
    from nacre.cli.inputs import check_outputs
    from nacre.cli.writing import promise_lines
    from nacre.sites.shared import load_sketch
    from nacre.sites.shared import merge as add

    shell = voice.shell()
    check_outputs({"--output": output}, force, sketches)
    made = add([load_sketch(path) for path in sketches])
    made.save(output, force)
    shell.show(f"sketch       {output} ({made.sums.sites} site{'s' if made.sums.sites > 1 else ''})")
    for line in promise_lines(made.certificate):
        shell.show(line)
    shell.show(f"next         nacre fit --from-sketch {output} -o release.nacre")
    shell.answer(
        {"command": "merge", "output": output, "sites": made.sums.sites, "guarantee": made.certificate.guarantee}
    )


FREE = ("particles", "steps")  # options of the fit that a sketch leaves open


def fit_sketch(path: str, quiet: bool, options: Sequence[str] = ()) -> Release:
    """The release of a sketch file, for `nacre fit --from-sketch`."""
    from nacre.cli.inputs import parse_options
    from nacre.cli.progress import Bars
    from nacre.errors import NacreError
    from nacre.sites.shared import METHOD, load_sketch

    asked = parse_options(options, METHOD)
    if told := [name for name in asked if name not in FREE]:
        raise NacreError(
            f"--option {told[0]}: the sketch has settled that already; with --from-sketch only {' and '.join(FREE)} "
            "are open"
        )
    loaded = load_sketch(path)
    with Bars(not quiet) as bars:
        return loaded.release(**asked, progress=bars)
