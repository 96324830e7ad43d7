"""Values that the schema does not describe: how many, said in words. A clamped value must not pass for a good one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nacre.evaluation.evaluate import Tables


def notes(tables: Tables) -> list[str]:
    """One sentence for every column of the real or synthetic table with values outside its range or list."""
    told, numbers = [], False
    for variable in tables.domain:
        where = "range" if variable.numeric else "list"
        for what, sample in (("real", tables.train), ("synthetic", tables.synthetic)):
            share = float(variable.outside(sample.frame[variable.name]).mean())
            if share > 0:
                numbers |= variable.numeric
                rows = f"{percent(share)} of the {what} rows lie outside the {where} that the schema gives"
                told.append(f"column {variable.name}: {rows}.")
    if numbers:
        told.append(
            "Numbers and dates outside their range count as cells of their own in tables of counts and as they are in "
            "ks and wasserstein; models, correlations and range queries read them at the end of the range."
        )
    return told


def percent(share: float) -> str:
    """A share above 0 for a sentence: never rounded to nothing or to all."""
    if share < 0.001:
        return "less than 0.1 %"
    return f"{100 * share:.1f} %" if share < 0.1 or 0.995 <= share < 1 else f"{100 * share:.0f} %"
