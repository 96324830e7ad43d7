"""Small tables as the bytes of a file."""

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq


def parquet(table, **options):
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **options)
    return sink.getvalue().to_pybytes()


def arrow(table, **options):
    sink = pa.BufferOutputStream()
    feather.write_feather(table, sink, **options)
    return sink.getvalue().to_pybytes()


def stream(batch):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as out:
        out.write_batch(batch)
    return sink.getvalue().to_pybytes()


SMALL = pa.table({"a": list(range(100)), "b": ["x", "y"] * 50})
