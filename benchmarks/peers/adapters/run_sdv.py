"""CTGAN, TVAE and the Gaussian copula of SDV: no privacy, default settings, column kinds from the public schema."""

from __future__ import annotations

import pandas as pd
from job import Fitted, Job, main


def fit(job: Job) -> Fitted:
    import numpy as np
    import torch
    from sdv.metadata import Metadata
    from sdv.single_table import CTGANSynthesizer, GaussianCopulaSynthesizer, TVAESynthesizer

    np.random.seed(job.seed)
    torch.manual_seed(job.seed)
    synthesizers = {"ctgan": CTGANSynthesizer, "tvae": TVAESynthesizer, "copula": GaussianCopulaSynthesizer}
    kinds = {n: {"sdtype": "numerical" if n in job.numeric else "categorical"} for n in job.columns}
    metadata = Metadata.load_from_dict({"tables": {"table": {"columns": kinds}}})
    model = synthesizers[job.method](metadata)
    model.fit({"table": job.rows})

    def sample(rows: int) -> pd.DataFrame:
        drawn = model.sample(num_rows=rows)
        return drawn["table"] if isinstance(drawn, dict) else drawn

    return Fitted(sample)


if __name__ == "__main__":
    main("sdv", fit)
