"""A table held against a schema, for its owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nacre.cli.progress import Bars
    from nacre.engines import Rows
    from nacre.table import Schema
    from nacre.table.values.misfits import Misfits


def held_against(
    schema: Schema, rows: Rows, bars: Bars
) -> tuple[int, dict[str, Misfits], dict[str, int], dict[str, Misfits]]:
    """The number of rows; per column, how many values lie outside the schema, and how many are missing where none may
    be; how many rows break each rule."""
    from nacre.run.checks import check_rows
    from nacre.table.encoding import encode
    from nacre.table.rules.kept import Kept
    from nacre.table.values.misfits import Misfits

    check_rows(rows, schema)
    declared = [n for n in schema.modelled if not schema.columns[n].missing]
    done, strange, lacking = 0, dict.fromkeys(declared, Misfits()), dict.fromkeys(declared, 0)
    kept = Kept(schema)
    for batch in rows.batches():
        done += batch.num_rows
        bars("reading rows", done, None)
        encoded = encode(batch, schema)
        for name in declared:
            values = encoded.columns[name]
            strange[name] += Misfits.of(values)
            if not schema.columns[name].nullable:
                lacking[name] += int((values.null & ~values.outside).sum())
        kept.add(encoded, batch)
    return done, strange, lacking, kept.broken()
