"""What the benchmark of columns calls wrong, and what it measures."""

from benchmarks.reading import columns

from nacre.metrics import METRICS
from nacre.table import Boolean, Categorical, Identifier, Numeric, Schema


def test_a_made_up_table_is_measured_by_metrics_that_are_registered():
    _, figures = columns.made_up("messy-declared", 0, quick=True)
    assert set(figures) <= set(METRICS)
    assert figures["columns"] == 10 and figures["columns_wrong"] == 0 and figures["unreadable_share"] == 0


def test_codes_as_numbers_new_labels_and_other_truth_words_are_wrong():
    schema = Schema({
        "code": Numeric((0, 999)), "ward": Categorical(("a", "b")), "rest": Categorical(("a",), other="other"),
        "drug": Boolean(), "who": Identifier(),
    })  # fmt: skip
    real = {"code": ["V27", "428"], "ward": ["a", None], "rest": ["a", "z"], "drug": ["Yes", "No"], "who": ["1"] * 2}
    fake = {
        "code": ["27", "428"],
        "ward": ["a", "b"],
        "rest": ["a", "other"],
        "drug": ["true", "No"],
        "who": ["8", "9"],
    }
    assert columns._wrong(real, fake, schema) == {"code", "ward", "drug"}


def test_the_most_frequent_label_that_is_gone_is_measured_over_all_rows():
    real = ["No"] * 6 + ["Up"] * 2 + ["Down"] + [None]
    assert columns._lost(real, ["No", "other"]) == 0.2
    assert columns._lost(real, ["No", "Up"]) == 0.1 and columns._lost(real, real) == 0.0
