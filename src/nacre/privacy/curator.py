"""What a method has of private rows: the doors of its plan, each a privacy mechanism, and what is public anyway."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nacre.privacy.doors import bounds, categories, counts, descend, reveal, sample, select, teach, total
from nacre.privacy.opening import Record as Record
from nacre.privacy.passes.tables import Clique
from nacre.privacy.room import Room


class Curator(Room):
    """Answers the questions of one plan about one table, once each.

    Each door enforces its own sensitivity bound, adds its own noise, and can be opened once per entry of the plan. What
    comes out is public.
    """

    counts_together = counts.counts_together
    bounds = bounds.bounds
    categories = categories.categories
    total = total.total
    select = select.select
    sample = sample.sample
    descend = descend.descend
    teach = teach.teach
    reveal = reveal.reveal

    def counts(
        self, entry: counts.Counts, cliques: Sequence[Clique], groups: counts.Groups | None = None
    ) -> list[np.ndarray]:
        """Noisy contingency tables (int64), one per clique, with noise `entry.sigmas[j]` on table j.

        `groups[column]` maps each fine cell of the column's grid to a coarser group (−1: no cell). The empty
        clique counts the rows, even while the schema still lacks facts.
        """
        return self.counts_together([(entry, cliques)], groups)[0]
