"""Figures of attacks and audits."""

from __future__ import annotations

from nacre.metrics.metric import COMPARED, INF, SHARE, Metric


def _attacks() -> list[Metric]:
    """Of attacks on a synthetic table by somebody who knows some people. None of these is a guarantee."""
    read, signed, models = ("synthetic", "private", "holdout"), (-1.0, 1.0), ("private",)
    found = [
        ("presence_auc", "area under the ROC curve of 'closer to a synthetic row means member'; 0.5: nothing found"),
        ("presence_tpr1", "share of members found at 1 % false alarms"),
        ("presence_tpr01", "share of members found at 0.1 % false alarms"),
        ("presence_sensitivity", "share of members within the largest radius of precision above 0.55"),
        (
            "copies",
            "share of members with a synthetic row closer than all other rows of the table (m fresh ones beside "
            "n: m/(m + n))",
        ),
        ("attribute_sensitivity", "share of unknown values of members that were claimed and right"),
        ("attribute_precision", "share of claimed values of members that were right"),
        ("attribute_hits", "share of unknown values of members guessed right, claimed or not"),
        ("attribute_strangers", "attribute_sensitivity with real rows of strangers in place of synthetic ones"),
    ]
    gaps = [
        ("attribute_excess", "attribute_sensitivity of members minus that of others: what the release gave away"),
        ("attribute_excess_low", "lower end of the 95 % interval of attribute_excess"),
        ("attribute_excess_high", "upper end of the 95 % interval of attribute_excess"),
        ("attribute_beyond", "attribute_sensitivity minus that of real strangers, pools of equal size"),
    ]
    return [
        *(Metric(name, "lower", SHARE, "1", read, text) for name, text in found),
        *(Metric(name, "lower", signed, "1", read, text) for name, text in gaps),
        Metric("presence_auc_error", "none", (0.0, INF), "1", read, "half of the 95 % interval of presence_auc"),
        Metric("presence_hits", "none", (0.0, INF), "rows", read, "members within that largest radius"),
        Metric("presence_alarms", "none", (0.0, INF), "rows", read, "others within that largest radius"),
        Metric("presence_precision", "none", SHARE, "1", read, "members among those within it, if at least 20 are"),
        Metric("presence_radius", "none", SHARE, "1", read, "share of members with another real row nearer than it"),
        Metric("density_auc", "lower", SHARE, "1", read, "members told from others by a density ratio; 0.5 is a coin"),
        Metric("density_tpr1", "lower", SHARE, "1", read, "members found by a density ratio at 1 % false alarms"),
        Metric("recovered_share", "none", SHARE, "1", COMPARED, "quantities inside the interval read off the release"),
        Metric("recovered_error", "none", (0.0, INF), "sd", COMPARED, "largest error of a mean, decile or share"),
        Metric("untilted_error", "none", (0.0, INF), "sd", COMPARED, "recovered_error of who knows the decoy"),
        Metric("nearest_distance", "none", (0.0, INF), "1", COMPARED, "median distance to a row; not a privacy figure"),
        Metric("nearest_copies", "none", SHARE, "1", COMPARED, "rows at distance 0 of a row; not a privacy figure"),
        Metric("lira_auc", "lower", SHARE, "1", models, "likelihood-ratio membership attack on a model; 0.5 is a coin"),
        Metric("lira_tpr_1", "lower", SHARE, "1", models, "members found by that attack at 1 % false alarms"),
        Metric("lira_tpr_01", "lower", SHARE, "1", models, "members found by that attack at 0.1 % false alarms"),
        Metric("shadows_s", "lower", (0.0, INF), "s", ("clock",), "wall time of training all shadow models"),
        Metric(
            "audit_claim", "none", (0.0, INF), "1", models, "what the audited mechanism claims, in the audit's unit"
        ),
        Metric("audit_ceiling", "none", (0.0, INF), "1", models, "the most that an attack which is always right finds"),
        Metric("audit_draws", "none", (0.0, INF), "1", models, "draws or runs per world behind an audit"),
        Metric("twins_caught", "higher", SHARE, "1", models, "share of deliberately broken copies that were caught"),
        Metric("twins", "none", (0.0, INF), "1", models, "number of deliberately broken copies"),
    ]


METRICS = tuple(_attacks())
