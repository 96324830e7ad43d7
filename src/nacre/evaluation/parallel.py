"""Many small jobs on all cores, in threads: scikit-learn and NumPy leave the interpreter lock for most of their work.

Processes would need a guarded `__main__` in the caller's script and copies of the rows; threads need neither.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Any, TypeVar

from nacre.progress import Progress, silent

Key = TypeVar("Key")


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_jobs(
    jobs: Mapping[Key, Callable[[], Any]],
    n_jobs: int | None = 1,
    progress: Progress = silent,
    what: str = "evaluating",
    engine: object = None,
) -> dict[Key, Any]:
    """The result of every job by its name; at most `n_jobs` at a time (None: all cores), started in the given order.

    Libraries below run on one thread each, so that results do not depend on `n_jobs` or on the machine's cores. An
    error in a job is raised here, and jobs not yet started are given up. With an `engine` the workers of a cluster do
    the jobs; what a job holds of the rows travels sealed.
    """
    if engine is not None:
        return _on_cluster(jobs, engine, progress, what)
    workers = min(cores() if n_jobs is None else max(1, n_jobs), max(1, len(jobs)))
    found: dict[Key, Any] = {}
    with _quiet(), _one_thread("blas"), ThreadPoolExecutor(workers) as pool:
        names = {pool.submit(_alone, job): name for name, job in jobs.items()}
        waiting = set(names)
        try:
            progress(what, 0, len(jobs))
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                found |= {names[future]: future.result() for future in done}
                progress(what, len(found), len(jobs))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return {name: found[name] for name in jobs}


def _on_cluster(jobs: Mapping[Key, Callable[[], Any]], engine: object, progress: Progress, what: str) -> dict[Key, Any]:
    """The jobs in bundles, so that the tables they share are sent once per bundle."""
    from nacre.engines.cluster import running

    found: dict[Key, Any] = {}
    progress(what, 0, len(jobs))
    with running(engine) as cluster:
        count = min(len(jobs), 2 * cluster.workers)
        bundles = [dict(list(jobs.items())[i::count]) for i in range(count)]
        for i, results in cluster.each(_bundle, [(list(b.values()),) for b in bundles]):
            found |= dict(zip(bundles[i], results))
            progress(what, len(found), len(jobs))
    return {name: found[name] for name in jobs}


def _bundle(jobs: list[Callable[[], Any]]) -> list[Any]:
    with _quiet(), _one_thread("blas"):
        return [_alone(job) for job in jobs]


def _alone(job: Callable[[], Any]) -> Any:
    with _one_thread("openmp"):  # a setting of the calling thread, unlike that of BLAS
        return job()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """The protocol stops the perceptron at 30 rounds on purpose: a warning per table would say nothing. Set here, in
    the calling thread, because filters belong to the whole process."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


@contextlib.contextmanager
def _one_thread(api: str) -> Iterator[None]:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, api):
        yield
