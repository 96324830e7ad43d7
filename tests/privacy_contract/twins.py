"""Broken twins: faults by name, each with the check that must catch it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nacre.privacy.curator import Curator

Break = Callable[[pytest.MonkeyPatch], None]
Check = Callable[..., None]


class Twins(dict[str, tuple[Break, Check]]):
    """The faults of one file of tests."""

    def caught_by(self, check: Check) -> Callable[[Break], Break]:
        """Register a fault and the check that must catch it."""

        def register(fault: Break) -> Break:
            assert fault.__name__ not in self, f"two faults are called {fault.__name__}"
            self[fault.__name__] = (fault, check)
            return fault

        return register


def budget_checked_after_the_step(patch: pytest.MonkeyPatch) -> None:
    """A fault of every door: rows are read before the entry is spent."""
    real = Curator._open

    def late(self, entry, kinds, columns=None):
        for _ in self._batches(None):
            pass
        return real(self, entry, kinds, columns)

    patch.setattr(Curator, "_open", late)
