"""A target: whom the synthetic rows shall stand for, when that is not whom the table holds.

`Shares` (of one or several columns), `WeightColumn`, `Thinning` and `Labelled` say it; each turns a table into
`Weights`, one per row. Weights of private rows are facts about them: for their owner alone.
"""

from nacre.targets.statements import Labelled, Shares, Target, Thinning, WeightColumn
from nacre.targets.weights import Weights

__all__ = ["Labelled", "Shares", "Target", "Thinning", "WeightColumn", "Weights"]
