"""Declare what is public about a table, plan before spending, and read the forecast. Writes nothing, spends nothing."""

import nacre

schema = nacre.Schema(
    {
        "patient": nacre.Identifier(person=True),
        "age": nacre.Numeric((0, 110), integer=True),
        "ward": nacre.Categorical(("surgery", "medicine", "maternity"), other="elsewhere"),
        "cost": nacre.Numeric((0.0, 250_000.0), nullable=True),
        "admitted": nacre.Datetime(("2020-01-01", "2024-12-31"), unit="day"),
        "readmitted": nacre.Boolean(),
    },
    rows=50_000,
    unit=nacre.Unit("patient", cap=3),  # at most three stays of a patient are used, and protected together
)
for epsilon in (0.1, 1.0):
    expected = nacre.plan(schema, epsilon=epsilon, delta=1e-7, target="readmitted").forecast()
    print(f"epsilon {epsilon}: {expected.advice}; pairs within about {expected.pair_tvd:.2f}")
