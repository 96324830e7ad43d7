"""nacre itself, started and timed like a peer: a fresh process, nothing compiled or imported before the clock."""

from __future__ import annotations

from job import Fitted, Job, main


def fit(job: Job) -> Fitted:
    import nacre

    schema = nacre.Schema.load(job.schema)
    release = nacre.fit(
        job.rows,
        schema=schema,
        epsilon=job.epsilon,
        delta=job.delta,
        method=job.method.removesuffix("-no-target"),
        target=None if job.method.endswith("-no-target") else job.target,
        seed=job.seed,
    )
    promise = release.certificate
    facts = {"spent": f"epsilon = {promise.epsilon:.4g}, delta = {promise.delta:.3g}", "guarantee": promise.guarantee}
    return Fitted(lambda rows: release.sample(rows, as_="pandas", seed=job.seed), facts)


if __name__ == "__main__":
    main("nacre", fit)
