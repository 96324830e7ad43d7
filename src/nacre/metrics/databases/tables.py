"""Total variation of tables of counts of two databases, a metric for each kind of neighbours."""

from __future__ import annotations

from collections.abc import Callable

from nacre.metrics.counts import FINITE
from nacre.metrics.databases import families
from nacre.metrics.databases.joins import Family
from nacre.metrics.databases.joins import apart as distances
from nacre.metrics.databases.linked import LinkedPair
from nacre.metrics.metric import Metric, apart
from nacre.metrics.score import Measured

_NOTE = FINITE.replace("a bootstrap of the private table", "a bootstrap of the private units").replace(
    "other rows", "other units"
)


def _of(name: str, family: Family, same: str | None = None) -> Callable[[LinkedPair], Measured]:
    """The mean over all pairs of columns of all joins; where asked, under the name `same` that of pairs of a column
    with itself."""

    def computation(pair: LinkedPair) -> Measured:
        found = distances(pair, family).measured(name, pair.units)
        scores = found.scores
        if same is not None:
            scores += distances(pair, family, lambda a, b: a == b).measured(same, pair.units).scores
        return Measured(scores, (_NOTE,))

    return computation


def _metric(name: str, family: Family, text: str, headline: int | None = None) -> Metric:
    return apart(name, f"total variation of {text}, mean over all of them", _of(name, family), headline)


_ROWS = "tables of two columns"
_NEXT = _of("consecutive_tvd2", families.consecutive, "consecutive_same_tvd2")
METRICS = (
    _metric("cardinality_tvd", families.cardinalities, "the numbers of rows that a row owns", 20),
    _metric("within_tvd2", families.within, f"{_ROWS} of one row", 21),
    _metric("parent_child_tvd2", families.parent_child, f"{_ROWS}, one of a row and one of its parent", 22),
    _metric("two_hop_tvd2", families.two_hops, f"{_ROWS}, one of a row and one of a row two or more keys above", 23),
    _metric("parent_count_tvd2", families.parent_counts, "tables of a column and the number of rows owned"),
    _metric("child_count_tvd2", families.child_counts, "tables of a column and the number of rows of the parent"),
    _metric("sibling_tvd2", families.siblings, f"{_ROWS} of two rows of one parent, drawn at random", 24),
    _metric("cross_tvd2", families.cousins, f"{_ROWS} of rows of two child tables of one parent, drawn at random"),
    apart(
        "consecutive_tvd2", f"total variation of {_ROWS} of a row and the next one, mean over all of them", _NEXT, 25
    ),
    apart("consecutive_same_tvd2", "the same of one column in a row and in the next one", _NEXT, 26),
    _metric("reference_tvd2", families.referenced, f"{_ROWS} of a row and of the public row that it refers to"),
)
# Of metrics that tables have as well.
ALSO = {"tvd1": _of("tvd1", families.single)}
