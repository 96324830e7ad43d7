"""Where modules were in the version before: their old names work for one more version, with a DeprecationWarning."""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
import types
import warnings
from collections.abc import Callable, Sequence

_LINES = """
aiming run.requests
audit.lessons audit.shadow_teachers
audit.likeness audit.canary_scores
audit.witness audit.likelihood_ratio
bought_schema run.buying
cli.outlook cli.comparison
cli.owner owner
evaluation.dependence metrics.dependence
evaluation.distinguish metrics.distinguish
evaluation.distributions metrics.columns
evaluation.domain metrics.domain
evaluation.features metrics.features
evaluation.fidelity metrics.counts
evaluation.joint metrics.joint
evaluation.models metrics.models
evaluation.queries metrics.queries
evaluation.scoring metrics.predictions
fitting run
privacy.calibration privacy.accounting.calibration
privacy.captured privacy.passes.captured
privacy.checkpoint privacy.training.checkpoint
privacy.clipping privacy.training.clipping
privacy.composition privacy.accounting.composition
privacy.descent privacy.training.descent
privacy.diagnostics privacy.doors.diagnostics
privacy.document privacy.certificate.document
privacy.entry privacy.doors.entry
privacy.events privacy.accounting.events
privacy.feature_sums privacy.passes.feature_sums
privacy.folding privacy.passes.folding
privacy.losses privacy.accounting.losses
privacy.poisson privacy.training.poisson
privacy.query_checks privacy.training.query_checks
privacy.ranges privacy.accounting.ranges
privacy.rejection privacy.doors.rejection
privacy.renyi privacy.accounting.renyi
privacy.rounding privacy.certificate.rounding
privacy.sampling privacy.doors.sample
privacy.selection privacy.doors.select
privacy.stepwise privacy.doors.descend
privacy.stream privacy.training.stream
privacy.tables privacy.passes.tables
privacy.tally privacy.passes.tally
privacy.teaching privacy.training.teaching
privacy.training_doors privacy.doors.teach
privacy.unit_arrays privacy.training.unit_arrays
privacy.units privacy.passes.units
privacy.verification privacy.certificate.verification
privacy.walk privacy.doors.walk
privacy.wording privacy.certificate.wording
privacy.work privacy.passes.work
rebalancing release.rebalance
release_file release.file
report.findings report.report
report.tiles report.weaknesses
report.words report.plain_words
sketch_checks sites.checks
sketching sites.shared
synthesizers.allocation synthesizers.sketch.allocation
synthesizers.costs planning.costs
synthesizers.denoising synthesizers.mixture.denoise
synthesizers.drawing synthesizers.mixture.sampling
synthesizers.expected planning.expected
synthesizers.forecast planning.forecast
synthesizers.gans.rules synthesizers.gans.config
synthesizers.grouping synthesizers.parts.grouping
synthesizers.hflow.marginals synthesizers.parts.one_way
synthesizers.outlook planning.comparison
synthesizers.particle_loss synthesizers.mixture.loss
synthesizers.particles synthesizers.mixture.fit
synthesizers.pearl.game synthesizers.pearl.config
synthesizers.pearl.layout synthesizers.parts.layout
synthesizers.ppem.game synthesizers.ppem.config
synthesizers.reconstruction synthesizers.mixture.reconstruction
synthesizers.rejection synthesizers.parts.conditioning
synthesizers.structural synthesizers.sketch.structural
synthesizers.table_model synthesizers.mixture.model
synthesizers.tabular synthesizers.parts
synthesizers.tabular.coding synthesizers.parts.coding
synthesizers.tabular.files synthesizers.parts.files
synthesizers.tabular.heads synthesizers.parts.heads
synthesizers.tabular.revealed synthesizers.parts.revealed
synthesizers.weighted.game synthesizers.weighted.config
synthesizers.wide synthesizers.sketch.wide
table.casting table.values.casting
table.decoding table.values.decoding
table.files table.sources
table.frames table.sources.frames
table.icu table.simulate.icu
table.instants table.values.instants
table.labels table.values.labels
table.lettering table.values.lettering
table.misfits table.values.misfits
table.pandas_columns table.sources.pandas_columns
table.probe table.votes.probe
table.reading table.columns
table.simulate_codes table.simulate.codes
table.structure table.rules
"""
HOMES = {old: home for old, _, home in (line.partition(" ") for line in _LINES.strip().splitlines())}


class Finder:
    """Finds and loads the old names, and no others. (`importlib.abc` would take longer to import than all of nacre.)"""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        old = fullname.removeprefix("nacre.")
        if old == fullname or old not in HOMES:
            return None
        return importlib.machinery.ModuleSpec(fullname, self)  # pyright: ignore[reportArgumentType]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        home = f"nacre.{HOMES[spec.name.removeprefix('nacre.')]}"
        warnings.warn(f"{spec.name} is {home} now; the old name goes with the next version", DeprecationWarning, 2)
        return types.ModuleType(spec.name, f"The former name of {home}.")

    def exec_module(self, module: types.ModuleType) -> None:
        home = HOMES[module.__name__.removeprefix("nacre.")]
        sys.modules[module.__name__] = importlib.import_module(f"nacre.{home}")


def old_names(package: str, home: str) -> Callable[[str], object]:
    """`__getattr__` for a package that was one module: what stood in it is in `home` now."""

    def get(name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(home), name)
        warnings.warn(f"{package}.{name} is in {home} now; the old place goes with the next version",
                      DeprecationWarning, 2)  # fmt: skip
        return value

    return get
