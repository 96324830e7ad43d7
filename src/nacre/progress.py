"""How far a run is, for whoever looks at the screen. Steps and rows alone: no loss, no score, and never kept."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int | None], None]  # what is being done, how far, out of how many


def silent(what: str, done: int, total: int | None) -> None:
    """A progress that shows nothing."""


def of_rows(progress: Progress) -> Callable[[int], None]:
    """What is told of each pass over the rows, whose number is not known to who reads them."""
    return lambda done: progress("reading rows", done, None)
