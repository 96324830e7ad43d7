"""Figures of images, which benchmarks compute (`nacre.evaluation.images`)."""

from __future__ import annotations

from nacre.metrics.metric import COMPARED, INF, SHARE, TRAINED, Metric
from nacre.metrics.predictions import TOLD


def _images() -> list[Metric]:
    lenet = "on the 84 features of a LeNet trained on the real images"
    return [
        Metric("fid_lenet", "lower", (0.0, INF), "1", COMPARED, f"Fréchet distance of Gaussians {lenet}"),
        Metric("kid_lenet", "lower", (-INF, INF), "1", COMPARED, f"unbiased squared MMD, cubic kernel, {lenet}"),
        Metric("fid_over_real", "lower", (0.0, INF), "1", COMPARED, "fid_lenet over that of real training images"),
        Metric("fid_over_merf", "lower", (0.0, INF), "1", COMPARED, "fid_lenet over that of DP-MERF, same seed"),
        Metric("kid_over_merf", "lower", (-INF, INF), "1", COMPARED, "kid_lenet over that of DP-MERF, same seed"),
        Metric("cnn_accuracy", "higher", SHARE, "1", TRAINED, f"accuracy of a small convolutional network; {TOLD}"),
        *_weighted(),
    ]


def _weighted() -> list[Metric]:
    """Of generators that were asked for other shares than the table's."""
    told = "distance of predicted weights of generated rows from the weighted law of those of the table"
    measured = "distance of an attribute measured in generated rows from its law in the target"
    return [
        Metric("class_share_error", "lower", SHARE, "1", COMPARED, "largest error of a class's share of the target"),
        Metric("class_share", "none", SHARE, "1", COMPARED, "share of a class among generated rows"),
        Metric("classes_missed", "lower", (0.0, INF), "1", COMPARED, "classes with too few generated rows to judge"),
        Metric("fid_class", "lower", (0.0, INF), "1", COMPARED, "fid_lenet within a class, or its mean over classes"),
        Metric("ks_attribute", "lower", SHARE, "1", COMPARED, f"Kolmogorov-Smirnov {measured}"),
        Metric("ks_attribute_low", "none", SHARE, "1", COMPARED, "lower end of a 95 % interval of ks_attribute"),
        Metric("ks_attribute_high", "none", SHARE, "1", COMPARED, "upper end of a 95 % interval of ks_attribute"),
        Metric("ks_weights", "lower", SHARE, "1", COMPARED, f"Kolmogorov-Smirnov {told}"),
        Metric("ks_weights_low", "none", SHARE, "1", COMPARED, "lower end of a 95 % interval of ks_weights"),
        Metric("ks_weights_high", "none", SHARE, "1", COMPARED, "upper end of a 95 % interval of ks_weights"),
    ]


METRICS = (
    Metric("nll", "lower", (-INF, INF), "nats", ("holdout",),
           "negative log-probability of a held-out row, mean of an upper bound of it"),
    *_images(),
)  # fmt: skip
