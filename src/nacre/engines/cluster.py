"""Ray: the shards of a table read by the workers of a cluster, on this machine or elsewhere.

Every task is a function of one shard and of public facts; its result enters once, when it is first received. A worker
that dies has its task done again by another, so that a death costs time and nothing else. Tasks, results and errors
cross the cluster sealed (`sealed`): nothing of the rows stands in object stores, spilled files or logs in clear.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from nacre.engines.interface import Rows, View, stored
from nacre.engines.sealed import new_key, seal, unseal
from nacre.errors import DataError, NacreError

RETRIES = 8  # of one task, each after the death of a worker
_STORE_BYTES = 2 << 30  # of shared memory, at most, for a cluster of our own
_MOST_SHARDS = 512
_NAME = re.compile(r"ray(:\d+)?|ray://.+")


class Cluster:
    """A Ray cluster, started or joined at the first use.

    "ray" is a cluster of this machine with a worker per core, "ray:4" one with four workers; both are stopped by
    `close`. "ray://host:10001" is a running one, whose workers need nacre installed and must reach the files. Where a
    program has called `ray.init` itself, that cluster is used and left running.
    """

    def __init__(self, name: str):
        self.address = name if name.startswith("ray://") else None
        self.workers = workers_of(name)
        self._folder: str | None = None
        self._ours = False
        _ray()  # say what is missing before anything is opened

    @property
    def shards(self) -> int:
        """Into how many pieces a table is cut: several per worker, so that none waits long for the last."""
        return _MOST_SHARDS if self.address else min(_MOST_SHARDS, 8 * self.workers)

    def each(self, task: Callable[..., Any], given: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
        """(i, task(*given[i])) for every i, once each, in the order in which they are ready."""
        ray = self._started()
        key = new_key()
        remote = ray.remote(num_cpus=1, max_retries=RETRIES, max_calls=0)(_sealed_task)
        waiting: dict[Any, int] = {}
        todo = iter(range(len(given)))
        most = 2 * self._cores(ray)  # the next task of a worker is there when it has done one
        try:
            while True:
                while len(waiting) < most and (i := next(todo, None)) is not None:
                    waiting[remote.remote(key, seal(key, _dumps((i, task, given[i]))))] = i
                if not waiting:
                    return
                (done,), _ = ray.wait(list(waiting), num_returns=1)
                place = waiting.pop(done)
                yield place, _result(ray, done, key, place)
        finally:
            for left in waiting:
                ray.cancel(left, force=False)

    def _cores(self, ray: Any) -> int:
        """How many tasks can run at a time: in a cluster that was joined, what it has and not what this machine has."""
        return self.workers if self._folder is not None else max(1, int(ray.cluster_resources().get("CPU", 1)))

    def _started(self) -> Any:
        ray = _ray()
        if ray.is_initialized():
            return ray
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        quiet = {"log_to_driver": False, "logging_level": "ERROR"}
        never_on_disk = {"automatic_object_spilling_enabled": False}
        self._ours = True
        if self.address:
            try:
                ray.init(self.address, **quiet)
            except Exception as error:
                raise NacreError(
                    f"engine {self.address}: no cluster answers there ({type(error).__name__}); start one with `ray "
                    "start --head`, give the port of its client server, and RAY_AUTH_TOKEN where it asks for a token"
                ) from None
            return ray
        # Readable by its owner only; Ray opens the folder it is given to everybody, hence one inside.
        self._folder = tempfile.mkdtemp(prefix="nacre-ray-")
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"os\.fork\(\)", RuntimeWarning)  # JAX's; Ray starts programs, no copies
            ray.init(
                num_cpus=self.workers, include_dashboard=False, _temp_dir=os.path.join(self._folder, "ray"),
                object_store_memory=_store_bytes(), _system_config=never_on_disk, **quiet,
            )  # fmt: skip
        return ray

    def close(self) -> None:
        """Stop or leave what this object has started or joined."""
        if self._ours:
            _ray().shutdown()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._folder, self._ours = None, False


class ClusterRows(View):
    """Rows in files, read by the workers of a cluster; `batches` reads them here. `close` closes the cluster too, if
    `ours`."""

    def __init__(self, rows: Rows, cluster: Cluster, ours: bool = True):
        self.rows, self.cluster, self._ours = rows, cluster, ours
        self.shards = stored(rows).split(cluster.shards)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        return self.rows.batches(columns)

    def each(self, task: Callable[..., Any], given: Sequence[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
        return self.cluster.each(task, given)

    def close(self) -> None:
        if self._ours:
            self.cluster.close()


@contextlib.contextmanager
def running(engine: Any) -> Iterator[Cluster]:
    """The cluster of that name, closed at the end; a `Cluster` is used and left to whoever opened it."""
    cluster = engine if isinstance(engine, Cluster) else Cluster(engine)
    try:
        yield cluster
    finally:
        if cluster is not engine:
            cluster.close()


def in_order(ready: Iterable[tuple[int, Any]]) -> Iterator[Any]:
    """The results by their numbers, each as soon as all before it are there."""
    waiting: dict[int, Any] = {}
    place = 0
    for i, found in ready:
        waiting[i] = found
        while place in waiting:
            yield waiting.pop(place)
            place += 1


def workers_of(name: str) -> int:
    """How many workers a name asks for; as many as this machine has cores where it does not say."""
    if not _NAME.fullmatch(name) or name == "ray:0":
        raise NacreError(f"engine {name!r} is not known; use ray, ray:4 (four workers here) or ray://HOST:PORT")
    if name.startswith("ray:") and not name.startswith("ray://"):
        return int(name.partition(":")[2])
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _sealed_task(key: bytes, message: bytes) -> bytes:
    """Runs in a worker. Whatever is raised is part of the sealed answer: a traceback in a log could quote a value. The
    number of the task is, too: rows of an answer that was given in place of another would count twice."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import pyarrow as pa

    pa.set_cpu_count(1)  # one core per worker
    place = None
    try:
        place, task, given = _loads(unseal(key, bytes(message)))
        answer = (place, True, task(*given))
    except Exception as error:
        answer = (
            place,
            False,
            error if isinstance(error, NacreError) else DataError(f"{type(error).__name__}: {error}"),
        )
    return seal(key, _dumps(answer))


def _result(ray: Any, done: Any, key: bytes, place: int) -> Any:
    try:
        message = ray.get(done)
    except ray.exceptions.RayError as error:
        raise NacreError(
            f"engine ray: a task failed {RETRIES + 1} times ({type(error).__name__}); is the memory of the workers too "
            "small? Nothing of it was used"
        ) from None
    number, fine, found = _loads(unseal(key, bytes(message)))
    if fine is False:
        raise found
    if number != place or fine is not True:
        raise DataError("a message of the cluster was damaged or is not of this task; nothing of it was used")
    return found


def _dumps(value: Any) -> bytes:
    return _ray().cloudpickle.dumps(value)


def _loads(text: bytes) -> Any:
    """What `seal` has authenticated: made by this run, by nobody else."""
    return _ray().cloudpickle.loads(text)


def _store_bytes() -> int:
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 4 * _STORE_BYTES
    return max(80 << 20, min(_STORE_BYTES, whole // 4))


def _ray() -> Any:
    try:
        import ray  # pyright: ignore[reportMissingImports]
        import ray.cloudpickle  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise NacreError("engine ray needs Ray: install nacre[distributed]") from None
    return ray
