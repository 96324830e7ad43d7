"""Progress bars with the time left, on stderr, and only when a person is looking at it.

They show steps and rows read: for the owner of the data, on the screen, never saved. No loss or score is shown.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any


class Bars:
    """A progress callback `(what, done, total)` that draws one bar per step; silent when stderr is no terminal.

    `expected` gives totals for steps that do not know their own, by what they are called; an estimate that turns out
    too small grows with what was done.
    """

    def __init__(self, shown: bool, expected: dict[str, int | None] | None = None):
        self._expected = expected or {}
        self._progress: Any = _rich_progress() if shown and sys.stderr.isatty() else None
        self._task: Any = None
        self._what, self._done = "", 0

    def __enter__(self) -> Bars:
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._progress is not None:
            self._progress.stop()

    def __call__(self, what: str, done: int, total: int | None) -> None:
        if self._progress is None:
            return
        total = total or self._expected.get(what)
        total = max(total, done) if total else None
        if what != self._what or done < self._done:  # another step, or another pass over the rows
            if self._task is not None:
                self._progress.remove_task(self._task)
            self._task = self._progress.add_task(what, total=total)
        self._what, self._done = what, done
        self._progress.update(self._task, completed=done, total=total)


def _rich_progress() -> Any:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
