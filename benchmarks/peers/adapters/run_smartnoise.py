"""DP-CTGAN and PATE-CTGAN of smartnoise-synth: public bounds, its own category lists."""

from __future__ import annotations

from typing import Any

from job import Fitted, Job, main


def fit(job: Job) -> Fitted:
    import numpy as np
    import torch
    from snsynth import Synthesizer

    np.random.seed(job.seed)
    torch.manual_seed(job.seed)
    model = Synthesizer.create(job.method, epsilon=job.epsilon, delta=job.delta, verbose=False, cuda=False)
    return _network(job, model)


def _network(job: Job, model: Any) -> Fitted:
    """Numbers are scaled on their public bounds; labels are collected by the package's own transformer."""
    from snsynth.transform import LabelTransformer, MinMaxTransformer, OneHotEncoder, TableTransformer
    from snsynth.transform.chain import ChainTransformer

    def transformer(name: str) -> Any:
        column = job.columns[name]
        if name in job.numeric:
            low, high = map(float, column["bounds"])
            return MinMaxTransformer(lower=low, upper=high, nullable=bool(column.get("nullable")))
        return ChainTransformer([LabelTransformer(nullable=bool(column.get("nullable"))), OneHotEncoder()])

    rows = job.rows.astype(dict.fromkeys(job.numeric, float))
    rows = rows.astype(object).where(rows.notna(), None)
    model.fit(rows, transformer=TableTransformer([transformer(name) for name in job.columns]))
    spent = getattr(model, "epsilon_list", None)
    facts = {"spent": f"epsilon = {spent[-1]:.4g} at the last check"} if spent else {}
    return Fitted(lambda n: model.sample(n), facts)


if __name__ == "__main__":
    main("smartnoise-synth", fit)
