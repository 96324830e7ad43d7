"""Is it useful: distances between tables and models trained on synthetic rows, tested on real ones.

Everything here reads private rows and returns unprotected statistics: for the owner of the data only.
scikit-learn, pandas and scipy are imported inside the functions that use them.
"""

from nacre.metrics import METRICS, Metric, metric
from nacre.metrics.domain import Domain, Variable

__all__ = ["METRICS", "Domain", "Metric", "Variable", "metric"]
