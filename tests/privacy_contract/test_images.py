"""The contract for tables of images: replay on neighbours, sensitivity of the sums, nothing private in a release."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from tests.privacy_contract import checks

from nacre.privacy.plan import Total
from nacre.synthesizers.parts.layout import Layout
from nacre.synthesizers.pearl import embedding, fourier
from nacre.table import Categorical, Schema, Tensor

SMALL = {"frequencies": 8, "steps": 3, "batch": 12}
SIDES = (4, 5)
CASES = [("pearl-paper", {}), ("pearl-paper", {"critic": 1, "scale": 0.5}), ("merf", {}), ("merf", {"scale": "bought"})]


def schema() -> Schema:
    return Schema({"image": Tensor(shape=SIDES, bounds=(0.0, 1.0)), "label": Categorical(categories=("a", "b", "c"))})


def images(rows: int, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    return table(rng.random((rows, 20)).tolist(), rng.choice(("a", "b", "c"), rows).tolist())


def table(pixels: list, labels: list) -> pa.Table:
    return pa.table({"image": pa.array(pixels, pa.list_(pa.float32())), "label": pa.array(labels, pa.string())})


def with_image(base: pa.Table, image: list | None, label: str | None = "a") -> pa.Table:
    return pa.concat_tables([base, table([image], [label])])


def neighbours(base: pa.Table) -> dict[str, pa.Table]:
    return {
        "first row removed": base.slice(1),
        "one image more": with_image(base, [0.5] * 20),
        "outside the bounds": with_image(base, [1e30] * 10 + [-1e30] * 10),
        "not a number": with_image(base, [float("nan")] * 20),
        "infinity": with_image(base, [float("inf")] * 20),
        "too short": with_image(base, [0.5] * 3),
        "missing": with_image(base, None, None),
        "new label": with_image(base, [0.5] * 20, "nobody else's"),
        "reordered": base.take(pa.array(np.arange(base.num_rows)[::-1])),
    }


@pytest.mark.parametrize("case", CASES, ids=lambda c: "-".join([c[0], *c[1]]))
def test_replay_on_neighbours_shows_the_same_bytes(case, tmp_path):
    method, options = case
    base = images(80)
    fit = checks.fit_with(method, schema(), {**SMALL, **options}, "label")
    checks.check_replay(fit, base, neighbours(base), tmp_path)


def test_replay_notices_a_scale_that_is_read_from_the_images(tmp_path, monkeypatch):
    """The broken twin: one over the mean distance of the rows themselves."""

    def leaky(scale, curator, plan, layout, rows):
        held = [x for b in curator._rows.batches(["image"]) for x in b.column(0).to_pylist() if x and len(x) == 20]
        return 1.0 / float(np.std(np.array(held)))

    monkeypatch.setattr(embedding, "frequency_scale", leaky)
    base = images(80)
    fit = checks.fit_with("merf", schema(), {**SMALL, "scale": "bought"}, "label")
    with pytest.raises(AssertionError, match="differs"):
        checks.check_replay(fit, base, {"more": with_image(base, [0.5] * 20)}, tmp_path)


@pytest.mark.parametrize("relation", ("add_or_remove_one", "replace_one"))
@pytest.mark.parametrize("which", ("waves", "moments"))
def test_no_image_moves_the_sums_further_than_the_accountant_was_told(relation, which):
    layout = Layout.of(schema(), "label", "test")
    t = fourier.frequencies(12, layout.width, 3.0, (1.0,), 0)
    if which == "waves":
        entry, made = Total("s", size=24, sigma=0.5, exact=False, parts=3), fourier.cosine_map(layout)
    else:
        entry, made = Total("s", size=21, sigma=0.5, exact=False), fourier.moment_map(layout)

    def answers(room, entry):
        return [room.total(entry, made, fourier.public_parameters(layout, t)).ravel()]

    base, pairs = images(6, seed=1), []
    rng = np.random.default_rng(2)
    extremes = [[0.0] * 20, [1.0] * 20, [1e30] * 20, [float("nan")] * 20, (rng.random(20) > 0.5).astype(float).tolist()]
    for image in extremes:
        for label in ("a", "b", None):
            more = with_image(base, image, label)
            pairs.append((more, with_image(base, [0.25] * 20, "b") if relation == "replace_one" else base))
    checks.check_sensitivity(checks.Door("total", entry, answers), pairs, schema(), relation)


def test_no_pixel_of_a_canary_image_is_in_a_release(tmp_path):
    """A row of pixels that nobody would make by chance, as floats and as text; with the certificate's guarantee."""
    canary = [round(0.1234567 + 0.0314159 * i, 7) for i in range(20)]
    fit = checks.fit_with("pearl-paper", schema(), SMALL, "label")
    outcome = checks.observe(fit, with_image(images(80), canary), tmp_path)
    assert not outcome.error
    assert checks.certificate_of(outcome.release)["guarantee"] == "proven (real arithmetic)"
    seen = {"release": outcome.release, "unpacked": checks.members(outcome.release), "output": outcome.output.encode()}
    forms = {"binary": np.array(canary[:4], np.float32).tobytes(), "text": str(canary[3]).encode()}
    checks.check_no_canaries(seen, forms)
    assert math.isfinite(outcome.transcript.answers[0][0])  # the noisy number of rows came first
