"""Broken twins: copies of nacre with one fault each. The contract passes on nacre and catches every twin."""

from __future__ import annotations

import dataclasses
import logging

import numpy as np
import pyarrow as pa
import pytest
from tests.privacy_contract import checks, instances, tables
from tests.privacy_contract.twins import Twins, budget_checked_after_the_step

from nacre.engines import MemoryRows, open_rows
from nacre.privacy import discovery, noise
from nacre.privacy import opening as room_module
from nacre.privacy.curator import Curator
from nacre.privacy.doors import categories
from nacre.privacy.doors import select as selection
from nacre.privacy.passes import feature_sums, units
from nacre.privacy.passes import tables as counting
from nacre.privacy.plan import Plan, Scope
from nacre.progress import silent
from nacre.release.release import Release
from nacre.run import fitting
from nacre.synthesizers.independent import Independent
from nacre.table import Numeric

TWINS = Twins()
twin = TWINS.caught_by


# ---------------------------------------------------------------------------------------------------------- the faults


@twin(instances.law)
def half_the_noise(patch):
    real = noise.rounded_gaussian
    patch.setattr(room_module, "rounded_gaussian", lambda sigma, size, source: real(sigma / 2, size, source))


@twin(instances.law)
def noise_of_variance_sigma(patch):
    real = noise.rounded_gaussian
    patch.setattr(room_module, "rounded_gaussian", lambda sigma, size, source: real(sigma**0.5, size, source))


@twin(instances.whole)
def float_noise(patch):
    def numpy_noise(sigma, size, source):
        return np.random.default_rng(0).normal(0, sigma, size)

    patch.setattr(room_module, "rounded_gaussian", numpy_noise)


@twin(instances.independence)
def noise_reused_for_two_doors(patch):
    real = noise.rounded_gaussian
    patch.setattr(room_module, "rounded_gaussian", lambda sigma, size, source: real(sigma, size, checks.FixedNoise(7)))


@twin(instances.tables_replace)
def noise_ignores_the_relation(patch):
    patch.setattr(Scope, "table", property(lambda self: float(self.cap)))


@twin(instances.tables_add_remove)
def one_record_in_two_cells(patch):
    real = counting.TableCounter._add_chunk

    def twice(self, chunk, rows, weights):
        real(self, chunk, rows, weights)
        for table in self._tables:  # every count also one cell further
            table += np.roll(table, 1)

    patch.setattr(counting.TableCounter, "_add_chunk", twice)


@twin(instances.tables_person)
def unit_cap_ignored(patch):
    patch.setattr(units.UnitCap, "keep", lambda self, batch: batch)


@twin(instances.tables_person)
def unit_cap_per_batch(patch):
    """Forgets who was seen, as a cap per batch or per worker would."""
    real = units.UnitCap.keep

    def forgetful(self, batch):
        parts = [batch.slice(i, 2) for i in range(0, batch.num_rows, 2)]
        kept = [real(units.UnitCap(self.column, self.cap), part) for part in parts]
        return pa.Table.from_batches(kept).combine_chunks().to_batches()[0]

    patch.setattr(units.UnitCap, "keep", forgetful)


@twin(instances.tables_nameless)
def rows_without_a_name_are_one_person(patch):
    patch.setattr(units, "_names", lambda identifiers: identifiers.cast(pa.string()).fill_null("nobody"))


@twin(instances.sums)
def total_without_clipping(patch):
    def unclipped(vectors, entry):
        return np.nan_to_num(np.clip(vectors / feature_sums.grid_step(entry), -1e15, 1e15)).astype(np.int64)

    patch.setattr(feature_sums, "_clipped", unclipped)


@twin(instances.sums)
def total_clips_coordinates_not_norms(patch):
    def boxed(vectors, entry):
        vectors = np.nan_to_num(vectors, nan=0.0)
        return np.trunc(np.clip(vectors, -entry.bound, entry.bound) / feature_sums.grid_step(entry)).astype(np.int64)

    patch.setattr(feature_sums, "_clipped", boxed)


@twin(instances.sums_by_part)
def a_record_in_two_parts(patch):
    """As if features of neighbouring classes were shared without telling the accountant."""
    real = feature_sums.integer_sum

    def twice(features, public, encoded, rows, entry):
        found = real(features, public, encoded, rows, entry)
        return found + np.roll(found, 1, axis=0) if entry.parts > 1 else found

    patch.setattr(feature_sums, "integer_sum", twice)


@twin(instances.sums_by_part)
def parts_without_clipping(patch):
    def unclipped(vectors, entry):
        return np.nan_to_num(np.clip(vectors / feature_sums.grid_step(entry), -1e15, 1e15)).astype(np.int64)

    patch.setattr(feature_sums, "_clipped", unclipped)


@twin(instances.law_of_sums)
def half_the_noise_on_sums(patch):
    real = noise.rounded_gaussian
    patch.setattr(
        room_module,
        "rounded_gaussian",
        lambda sigma, size, source: real(sigma / 2 if sigma == 2**14 else sigma, size, source),
    )


@twin(instances.replay_pearl)
def sketch_divided_by_the_true_row_count(patch):
    from nacre.synthesizers.pearl.method import Pearl

    real = Pearl._first_round

    def leaky(self, curator, plan, columns, target):
        coarse, _ = real(self, curator, plan, columns, target)
        return coarse, float(sum(b.num_rows for b in curator._rows.batches()))

    patch.setattr(Pearl, "_first_round", leaky)


@twin(instances.replay_merf)
def frequency_scale_read_from_the_data(patch):
    from nacre.synthesizers.pearl import embedding

    def leaky(scale, curator, plan, layout, rows):
        ages = [a for b in curator._rows.batches(["age"]) for a in b.column(0).to_pylist() if a is not None]
        return 1.0 / max(float(np.std(ages)), 1e-3)

    patch.setattr(embedding, "frequency_scale", leaky)


@twin(instances.replay_points)
def bandwidth_read_from_the_data(patch):
    from nacre.synthesizers.support_points import bandwidth

    def leaky(width, curator, plan, geometry, numbers):
        ages = [a for b in curator._rows.batches(["age"]) for a in b.column(0).to_pylist() if a is not None]
        return min(0.5, max(0.005, float(np.std(ages)) / 1000))

    patch.setattr(bandwidth, "find", leaky)


@twin(instances.ranges_of_nearness)
def laplace_noise_as_if_the_list_had_no_end(patch):
    """Scale Δ/ε in place of 2Δ/ε: right for noise on a line, not for a law that is cut off and divided by its sum."""
    real = selection.Nearness.loss_range
    patch.setattr(selection.Nearness, "loss_range", lambda self, scope: real(self, scope) / 2)


@twin(instances.replay_laplace)
def widths_of_the_mean_over_the_true_rows(patch):
    """A mean over the exact number of rows, where the plan has a public one."""
    from nacre.synthesizers.support_points import bandwidth

    real = bandwidth.find

    def leaky(width, curator, plan, geometry, numbers):
        rows = sum(b.num_rows for b in curator._rows.batches(["age"]))
        return real(width, curator, plan.for_rows(rows), geometry, numbers)

    patch.setattr(bandwidth, "find", leaky)


@twin(instances.replay_chains)
def chain_diagnostics_decide_the_number_of_points(patch):
    """Points are kept only if their chain mixed: the diagnostics are statistics of private rows."""
    from nacre.synthesizers.support_points.method import SupportPoints

    real = SupportPoints._drawn

    def leaky(self, curator, plan, geometry, count, seed):
        drawn = real(self, curator, plan, geometry, count, seed)
        return drawn[: 3 + round(1e6 * curator.diagnostics["points"]["accepted"]) % 3]

    patch.setattr(SupportPoints, "_drawn", leaky)


@twin(instances.ranges)
def selection_with_half_the_range(patch):
    patch.setattr(selection.Deviation, "loss_range", lambda self, scope: scope.sum)


@twin(instances.ledger)
def entry_opened_twice(patch):
    real = Curator._open

    def forgetful(self, entry, kinds, columns=None):
        self._opened.pop(entry.name, None)
        return real(self, entry, kinds, columns)

    patch.setattr(Curator, "_open", forgetful)


@twin(instances.ledger)
def plan_that_omits_an_entry(patch):
    real = Curator._open

    def lenient(self, entry, kinds, columns=None):
        if entry not in self._plan.entries:
            self._plan = dataclasses.replace(self._plan, entries=(*self._plan.entries, entry))
        return real(self, entry, kinds, columns)

    patch.setattr(Curator, "_open", lenient)


twin(instances.ledger)(budget_checked_after_the_step)


@twin(instances.no_free_lunch)
def budget_not_checked_at_all(patch):
    patch.setattr(Plan, "__post_init__", lambda self: None)


@twin(instances.lonely)
def category_threshold_too_low(patch):
    real = Curator.categories

    def lower(self, entry, columns):
        self._plan = dataclasses.replace(self._plan, entries=(low := dataclasses.replace(entry, threshold=2),))
        return real(self, low, columns)

    patch.setattr(Curator, "categories", lower)


@twin(instances.order)
def categories_in_data_order(patch):
    patch.setattr(categories, "sorted", list, raising=False)


@twin(instances.stamp)
def seeded_noise_not_declared(patch):
    patch.setattr("nacre.run.session.NoiseSource", checks.FixedNoise)


@twin(instances.replay)
def leaked_row_count(patch):
    real = Independent.fit

    def leaky(self, curator, plan, seed, progress=silent):
        model = real(self, curator, plan, seed, progress)
        model.rows = sum(b.num_rows for b in curator._rows.batches())
        return model

    patch.setattr(Independent, "fit", leaky)


@twin(instances.replay)
def row_count_in_the_log(patch):
    real = Curator._batches

    def chatty(self, columns):
        for batch in real(self, columns):
            logging.getLogger("nacre").info("read %d rows", batch.num_rows)
            yield batch

    patch.setattr(Curator, "_batches", chatty)


@twin(instances.replay)
def error_for_an_unknown_category(patch):
    from nacre.errors import DataError

    real = Curator._encoded

    def strict(self):
        for values, rows in real(self):
            if values["city"].outside.any():
                raise DataError("column 'city': a value is not in the declared domain")
            yield values, rows

    patch.setattr(Curator, "_encoded", strict)


@twin(instances.replay)
def questions_that_depend_on_the_data(patch):
    real = Independent.fit

    def curious(self, curator, plan, seed, progress=silent):
        first = next(curator._rows.batches(["age"])).column(0)[0].as_py()
        cut = 50 if first is None else int(first)
        grouped = {"age": np.roll(np.arange(101), cut)}
        counts = curator.counts
        curator.counts = lambda entry, cliques, groups=None: counts(entry, cliques, groups or grouped)
        return real(self, curator, plan, seed, progress)

    patch.setattr(Independent, "fit", curious)


@twin(instances.replay)
def output_type_from_the_file(patch):
    real = fitting.fit
    sample = Release.sample

    def fit(table, **options):
        release = real(table, **options)
        kinds = open_rows(table).arrow_schema
        object.__setattr__(release, "kinds", kinds)
        return release

    def typed(self, *args, **options):
        drawn = sample(self, *args, **options)
        age = drawn.schema.get_field_index("age")
        return drawn.set_column(age, "age", drawn["age"].cast(self.kinds.field("age").type))

    patch.setattr(fitting, "fit", fit)
    patch.setattr(Release, "sample", typed)


@twin(instances.replay_bought)
def leaked_bounds(patch):
    real = discovery.buy_domain

    def leaky(curator, plan, schema):
        bought = real(curator, plan, schema)
        values = [v for b in curator._rows.batches(["age"]) for v in b.column(0).to_pylist() if v is not None]
        low, high = int(np.nanmin(values)), int(np.nanmax(values))
        columns = {**bought.columns, "age": Numeric(bounds=(low, high), integer=True)}
        return dataclasses.replace(bought, columns=columns)

    patch.setattr(discovery, "buy_domain", leaky)


@twin(instances.replay)
def rows_counted_without_a_door(patch):
    real = discovery.buy_rows

    def leaky(curator, plan, schema):
        return dataclasses.replace(real(curator, plan, schema), rows=sum(b.num_rows for b in curator._rows.batches()))

    patch.setattr(discovery, "buy_rows", leaky)


@twin(instances.replay_bought)
def nullable_read_from_the_data(patch):
    real = discovery.buy_domain

    def leaky(curator, plan, schema):
        bought = real(curator, plan, schema)
        nulls = any(b.column(0).null_count for b in curator._rows.batches(["age"]))
        columns = {**bought.columns, "age": dataclasses.replace(bought.columns["age"], nullable=nulls)}
        return dataclasses.replace(bought, columns=columns)

    patch.setattr(discovery, "buy_domain", leaky)


@twin(instances.canaries)
def an_example_row_in_the_release(patch):
    from nacre.synthesizers.mixture.model import TableModel

    real_fit, real_parts = Independent.fit, TableModel.parts

    def keep(self, curator, plan, seed, progress=silent):
        model = real_fit(self, curator, plan, seed, progress)
        model.example = next(curator._rows.batches()).to_pylist()[0]["city"]
        return model

    def parts(self):
        facts, arrays = real_parts(self)
        return {**facts, "example": self.example}, arrays

    patch.setattr(Independent, "fit", keep)
    patch.setattr(TableModel, "parts", parts)


@twin(instances.coupling)
def coupled_features_accepted(patch):
    """The test by shuffling: it leaves means, maxima and ranks of the chunk as they are."""

    def shuffled_only(function, schema, size, where):
        home = feature_sums.made_up_records(schema, feature_sums.CHUNK, np.random.default_rng(0))
        order = np.random.default_rng(1).permutation(feature_sums.CHUNK)
        moved = {name: values.take(order) for name, values in home.items()}
        if not np.allclose(function(home)[order], function(moved), equal_nan=True):
            from nacre.errors import PlanError

            raise PlanError("a record's features depend on other records")
        return False

    patch.setattr(feature_sums, "coupled", shuffled_only)


# ----------------------------------------------------------------------------------------------------------- the tests


CHECKS = sorted({check.__name__: check for _, check in TWINS.values()}.items())


@pytest.mark.parametrize("check", [c for _, c in CHECKS], ids=[n for n, _ in CHECKS])
def test_nacre_passes(check, tmp_path):
    check(tmp_path)


@pytest.mark.parametrize("name", TWINS)
def test_twin_is_caught(name, tmp_path, monkeypatch):
    fault, check = TWINS[name]
    fault(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check(tmp_path)


def test_there_are_enough_twins():
    assert len(TWINS) >= 15


def test_the_audit_catches_half_the_noise():
    rng = checks.FixedNoise(3)
    honest = [noise.rounded_gaussian(2.0, 100_000, rng) for _ in range(2)]
    checks.check_audit(honest[0] + 1, honest[1], 0.5, 0.5)
    weak = [noise.rounded_gaussian(1.0, 100_000, rng) for _ in range(2)]
    with pytest.raises(AssertionError, match="at least"):
        checks.check_audit(weak[0] + 1, weak[1], 0.5, 0.5)
    strong = [noise.rounded_gaussian(3.0, 100_000, rng) for _ in range(2)]
    with pytest.raises(AssertionError, match="only"):
        checks.check_audit(strong[0] + 1, strong[1], 0.5, 0.5)


def test_memory_rows_are_what_the_twins_break():
    """The helpers themselves: zero noise is zero, and rows are counted."""
    assert not noise.rounded_gaussian(1e6, 1000, checks.ZeroNoise()).any()
    rows = checks.CountedRows(tables.people(3))
    list(rows.batches())
    assert rows.passes == 1 and isinstance(rows._rows, MemoryRows)
