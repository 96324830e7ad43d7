"""Which pairs of a wide table are worth measuring: a noisy selection on how far each pair is from independence.

The score of a pair is u = ‖N_ab − round(ñ·p̃_a⊗p̃_b)‖₁ − sqrt(2/π)·σ·c_ab: p̃ and ñ come from the one-way tables
already released, so the product is public and one record moves u by at most 1. The first picks must join columns not
yet joined (a spanning tree), the rest are free.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from nacre.privacy.curator import Curator
from nacre.privacy.doors.select import Deviation
from nacre.privacy.plan import Plan
from nacre.synthesizers.parts import grouping


def choose_pairs(curator: Curator, plan: Plan, columns: list[str], free: list[int], coarse: list) -> list:
    """Pairs among the columns numbered `free`, as many as the plan's entry `pairs` allows, tree first."""
    pairs = list(itertools.combinations(free, 2))
    total = max(1.0, float(np.mean([c.counts.sum() for c in coarse])))
    shares = [grouping.simplex(c.counts / total, 1.0) for c in coarse]
    noise = math.sqrt(2 / math.pi) * plan["tables"].sigmas[0]
    handicaps = np.array([noise * len(shares[a]) * len(shares[b]) for a, b in pairs])
    score = Deviation(
        cliques=[(columns[a], columns[b]) for a, b in pairs],
        references=lambda i: np.rint(total * np.outer(shares[pairs[i][0]], shares[pairs[i][1]])).astype(np.int64),
        handicaps=np.rint(handicaps).astype(np.int64),
        groups={columns[j]: c.lut for j, c in enumerate(coarse)},
    )
    picked = curator.select(plan["pairs"], score, allowed=_tree_first(pairs, free))
    return [pairs[i] for i in picked]


def _tree_first(pairs: list[tuple[int, int]], free: list[int]):
    """Allowed candidates given earlier picks: while the picks do not span all columns, only pairs that join parts."""
    ends = np.array(pairs).reshape(-1, 2)

    def allowed(picked: list[int]) -> np.ndarray:
        part = {j: j for j in free}

        def root(j: int) -> int:
            while part[j] != j:
                part[j] = part[part[j]]
                j = part[j]
            return j

        for i in picked:
            part[root(pairs[i][0])] = root(pairs[i][1])
        roots = np.zeros(max(free) + 1, dtype=np.int64)
        for j in free:
            roots[j] = root(j)
        joins = roots[ends[:, 0]] != roots[ends[:, 1]]
        return joins if joins.any() else np.ones(len(pairs), dtype=bool)

    return allowed
