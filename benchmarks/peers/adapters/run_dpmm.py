"""MST, AIM and PrivBayes as dpmm implements them, on public bins: its own private binning is not needed."""

from __future__ import annotations

from codes import Codes
from job import Fitted, Job, main


def fit(job: Job) -> Fitted:
    from dpmm.pipelines import AIMPipeline, MSTPipeline, PrivBayesPipeline

    pipelines = {"mst": MSTPipeline, "aim": AIMPipeline, "privbayes": PrivBayesPipeline}
    codes = Codes(job)
    model = pipelines[job.method](epsilon=job.epsilon, delta=job.delta, disable_processing=True)
    model.fit(codes.encode(job.rows), domain=codes.sizes, random_state=job.seed)
    return Fitted(lambda rows: codes.decode(model.generate(n_records=rows, random_state=job.seed)))


if __name__ == "__main__":
    main("dpmm", fit)
