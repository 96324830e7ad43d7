"""The acceptance check of the weighted generators, with the tables of their benchmark."""

from __future__ import annotations

import pytest
from benchmarks.weighted.synthetic import compared, generated, simulated


@pytest.mark.slow
def test_fifteen_of_twenty_seeds_come_close_to_the_target_in_two_dimensions():
    """Energy of at most .02 with 800 steps; seeds that no recorded figure uses."""
    seeds = list(range(30, 50))
    tables = [simulated("2d", seed) for seed in seeds]
    made = generated("sniw-mmd", tables, seeds, 800)
    assert sum(compared(rows, table.fresh)["energy"] <= 0.02 for rows, table in zip(made, tables)) >= 15
