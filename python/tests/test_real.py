"""A profile of real hardware, as somebody in a notebook reads it: open, frame, questions, which must agree.

Run by crates/python/tests/module.rs with the path of a folder of outputs of the vendor's profiler.
"""

import sys
import time
import warnings

import duckdb
import pandas
import polars
import pyarrow

import opscope

warnings.simplefilter("ignore", opscope.LossWarning)
steps = []
begun = time.perf_counter()
p = opscope.open(sys.argv[1], progress=steps.append)
tasks = polars.DataFrame(p.tasks)
print(repr(p), f"{time.perf_counter() - begun:.2f} s to a frame of {tasks.estimated_size()} bytes")
assert len(tasks) > 0 and len(p.operators) > 0 and len(p.calls) > 0, repr(p)
assert tasks["start_ns"].null_count() == 0 and (tasks["duration_ns"] >= 0).all()

# The same rows by three ways: the table, the program's SQL on it, DuckDB on the table.
by_sql = {row["task"]: row["time"] for row in pyarrow.table(
    p.sql("SELECT task, sum(duration_ns) AS time FROM task_details GROUP BY 1")).to_pylist()}
by_polars = dict(tasks.group_by(polars.col("task").cast(polars.String)).agg(polars.col("duration_ns").sum()).iter_rows())
ours = p.tasks
by_duckdb = dict(duckdb.sql("SELECT task, sum(duration_ns)::BIGINT FROM ours GROUP BY 1").fetchall())
by_pandas = pyarrow.table(ours).to_pandas().groupby("task", observed=True)["duration_ns"].sum().to_dict()
assert by_sql == by_polars == by_duckdb == by_pandas and by_sql, (len(by_sql), len(by_polars), len(by_duckdb))

# Everything is in one row whatever the key; operators that are named are those of the table.
whole = None
for key in ("operator", "type", "name", "unit", "stream", "shape"):
    answer = polars.DataFrame(p.analyze(group_by=key))
    total = answer["time_ns"].sum()
    assert whole is None or abs(total - whole) <= len(answer), (key, total, whole)
    assert abs(answer["share"].sum() - 1) < 1e-9, key
    whole = whole or total
named = set(tasks["name"].drop_nulls().cast(polars.String))
assert named and named <= set(polars.DataFrame(p.operators)["name"].cast(polars.String))
for name in ("iterations", "counters", "ranges", "losses"):
    assert len(pandas.DataFrame(pyarrow.table(getattr(p, name)).to_pydict())) == len(getattr(p, name))
print(p.analyze(group_by="type"))
assert p.analyze(group_by="type")._repr_html_().startswith("<table>")
print("the module does what it says, on", p.format)
