"""Broken twins: faults by name, each with the check that must catch it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

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
