"""AIM as OpenDP implements it on mbi, on public bins; its budget is zero-concentrated.

Its MST is not run: version 0.16.0 refused its own split of ρ, by the last bit of a float, at every ρ that was tried.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
from codes import Codes
from job import Fitted, Job, main


def fit(job: Job) -> Fitted:
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    codes, rho = Codes(job), _rho(job)
    table = _table(job, codes, rho)

    def sample(rows: int) -> pd.DataFrame:
        made = table.synthesize(rows)
        # The package adds a null to every domain: what it puts there becomes the first code.
        return codes.decode(pd.DataFrame({name: made[name].fill_null(0).to_numpy() for name in codes.sizes}))

    return Fitted(sample, {"spent": f"rho = {rho:.5g}"})


def _table(job: Job, codes: Codes, rho: float) -> Any:
    import opendp.prelude as dp
    import polars as pl

    coded = pl.from_dict({name: values.to_numpy() for name, values in codes.encode(job.rows).items()})
    unit, loss = dp.unit_of(contributions=1), dp.loss_of(rho=rho)
    context = dp.Context.compositor(data=coded.lazy(), privacy_unit=unit, privacy_loss=loss)
    keys = {name: list(range(size)) for name, size in codes.sizes.items()}
    query = context.query(rho=rho).select(*codes.sizes)
    return query.contingency_table(keys=keys, algorithm=dp.mbi.AIM()).release()


def _rho(job: Job) -> float:
    """The largest ρ that the package itself converts to no more than (ε, δ)."""
    import opendp.prelude as dp

    space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=1), dp.l2_distance(T=float)

    def affordable(rho: float) -> bool:
        gauss = dp.m.make_gaussian(*space, scale=(1 / (2 * rho)) ** 0.5)
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(gauss), job.delta).map(1.0)[0] <= job.epsilon

    return dp.binary_search(affordable, (1e-6, 100.0))


if __name__ == "__main__":
    main("opendp", fit)
