"""What is left of an effect that was planted in a simulated database."""

from __future__ import annotations

from nacre.metrics.metric import INF, Metric

_ABOUT = "of its exact size; about 1 where it is lost"


def _planted(name: str, what: str) -> Metric:
    return Metric(
        name, "lower", (0.0, INF), "1", ("synthetic",), f"error of a planted effect {what}, as a share {_ABOUT}"
    )


METRICS = (
    _planted("planted_error", "over two keys"),
    _planted("planted_sibling_error", "between rows of one parent"),
    _planted("planted_lag_error", "of a row on the next one"),
    _planted("planted_gap_error", "of a row on the time until the next one"),
)
