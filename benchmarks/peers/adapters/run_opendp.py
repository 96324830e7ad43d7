"""MST and AIM as OpenDP implements them on mbi (Private-PGM), on public bins."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

from codes import Codes
from job import Fitted, Job, main


def delta_of(rho: float, epsilon: float) -> float:
    """Smallest δ at which ρ-zCDP implies (ε, δ): minimum over the order of Canonne, Kamath and Steinke's bound."""
    orders = (1 + 1.01**i * 1e-3 for i in range(2000))
    logs = ((a - 1) * (a * rho - epsilon) + a * math.log1p(-1 / a) - math.log(a - 1) for a in orders)
    return math.exp(min(0.0, *logs))


def rho_of(epsilon: float, delta: float) -> float:
    """Largest ρ, by bisection, whose zCDP implies (ε, δ)."""
    low, high = 0.0, epsilon + 1
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle, epsilon) <= delta else (low, middle)
    return low


def splits(rho: float, columns: int) -> bool:
    """Can OpenDP's MST split ρ over its `columns` - 1 choices? It divides its budget in floating point and adds
    the parts rounding up; for many a ρ the sum is one unit in the last place too large, and it refuses itself."""

    def below(x: float, times: int = 1) -> float:
        return x if not times else below(math.nextafter(x, 0.0), times - 1)

    def plus(a: float, b: float) -> float:
        near = a + b
        return near if Fraction(near) >= Fraction(a) + Fraction(b) else math.nextafter(near, math.inf)

    joint = below(rho - rho * 0.5, 2)
    choice = below(joint - joint * 0.9, 2)
    return functools.reduce(plus, [below(choice / (columns - 1))] * (columns - 1), 0.0) <= choice


def fit(job: Job) -> Fitted:
    import numpy as np
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    np.random.seed(job.seed)  # OpenDP draws its noise from the operating system; mbi samples rows with NumPy
    codes = Codes(job)
    most = rho_of(float(job.epsilon or 0), float(job.delta or 0))
    tries = (most * (1 - i * 1e-7) for i in range(1000))
    rho = next((r for r in tries if splits(r, len(codes.sizes))), most)
    table: Any = pl.LazyFrame({n: c.to_numpy() for n, c in codes.encode(job.rows).items()})
    context = dp.Context.compositor(
        data=table, privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(rho=rho), split_evenly_over=1
    )
    # Cuts between whole numbers make one cell per code; with keys there would be a further cell for nulls.
    cuts = {name: list(range(size - 1)) for name, size in codes.sizes.items()}
    algorithm = {"aim": dp.mbi.AIM, "mst": dp.mbi.MST}[job.method]()
    released = context.query().contingency_table(cuts=cuts, algorithm=algorithm).release()
    spent = {"spent": f"rho = {rho:.5g} of zero-concentrated DP"}
    # The default, "round", gives values in rising order to the rows of a group: columns that the model keeps apart
    # come out dependent (two-way distance .11 on Adult at ε = 1). Independent draws have no order.
    return Fitted(lambda rows: codes.decode(released.synthesize(rows, method="sample").to_pandas()), spent)


if __name__ == "__main__":
    main("opendp", fit)
