"""Rows of a Spark data frame as the shards of nacre: the lines of docs/engines.md."""

# [spark]
import pyarrow as pa
from pyspark import TaskContext, cloudpickle

from nacre.engines.sealed import new_key, seal, unseal


class Partition:
    """What a worker of Spark reads: its batches, once."""

    def __init__(self, batches):
        self.found = batches

    def batches(self, columns=None):
        return (b if columns is None else b.select(columns) for b in self.found)


class SparkRows:
    def __init__(self, frame):
        self.frame, self.arrow_schema = frame, frame.limit(0).toArrow().schema
        self.column_names, self.shards = frame.columns, range(frame.rdd.getNumPartitions())

    def batches(self, columns=None):  # for doors that read rows here; all of them at once
        return iter(self.frame.select(*(columns or self.column_names)).toArrow().to_batches())

    def each(self, task, given):
        key = new_key()

        def one(batches):
            i = TaskContext.get().partitionId()
            part = seal(key, cloudpickle.dumps(task(Partition(batches), *given[i][1:])))
            yield pa.record_batch({"i": [i], "part": [part]})

        for row in self.frame.mapInArrow(one, "i long, part binary").toLocalIterator():
            yield row.i, cloudpickle.loads(unseal(key, bytes(row.part)))

    def close(self):
        pass


# [end]
