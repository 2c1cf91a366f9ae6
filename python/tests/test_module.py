"""The module as its users have it: with pandas, polars, pyarrow and DuckDB, on a profile whose content is known.

Run by crates/python/tests/module.rs: PROFILE is a timeline that it wrote, BROKEN a file that is no
profile, CUT a timeline that ends too soon.
"""

import os
import resource
import signal
import sys
import threading
import time
import warnings

import duckdb
import numpy
import pandas
import polars
import pyarrow

import opscope

PROFILE, BROKEN, CUT = sys.argv[1:4]


def raises(kind, text, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except kind as error:
        assert text in str(error), f"no {text!r} in {error}"
    else:
        raise AssertionError(f"no {kind.__name__} of {call}")


def tables(p):
    return {name: getattr(p, name) for name in
            ("tasks", "operators", "calls", "iterations", "counters", "ranges", "losses")}


def the_same_rows_reach_every_library(p):
    for name, table in tables(p).items():
        arrow, given = pyarrow.table(table), table
        arrow.validate(full=True)
        frame, pandas_frame = polars.DataFrame(table), arrow.to_pandas()
        counted = duckdb.sql("SELECT count(*) FROM given").fetchall()[0][0]
        assert len(table) == table.num_rows == arrow.num_rows == len(frame) == len(pandas_frame) == counted, name
        assert table.column_names == arrow.column_names == frame.columns == list(pandas_frame.columns), name
        assert frame.to_dicts() == arrow.to_pylist(), name


def tasks_have_names_times_and_nulls(p):
    arrow = pyarrow.table(p.tasks)
    rows = arrow.to_pylist()
    assert [row["task"] for row in rows] == ["gemm", "relu", "gemm"], rows
    assert [row["start_ns"] for row in rows] == [10_000, 20_000, 30_000]
    assert [row["duration_ns"] for row in rows] == [2_500, 1_000, 4_000]
    assert [row["wait_ns"] for row in rows] == [None] * 3
    assert arrow.schema.field("task").type == pyarrow.dictionary(pyarrow.int32(), pyarrow.large_string())
    assert arrow.column("task").chunk(0).dictionary.to_pylist() == ["gemm", "relu"]
    assert duckdb.sql("SELECT task, sum(duration_ns) FROM arrow GROUP BY 1 ORDER BY 2 DESC").fetchall() == [
        ("gemm", 6_500), ("relu", 1_000)]


def times_are_not_copied(p):
    first, second = pyarrow.table(p.tasks), pyarrow.table(p.tasks)
    place = lambda table, name: table.column(name).chunk(0).buffers()[1].address
    for name in ("start_ns", "duration_ns"):
        assert place(first, name) == place(second, name), name
    # A view of the profile's own memory, which stays when the profile and the table are gone.
    numbers = first.column("start_ns").chunk(0).to_numpy(zero_copy_only=True)
    del first, second
    assert numbers.tolist() == [10_000, 20_000, 30_000]


def memory_outlives_the_profile(path):
    frame = polars.DataFrame(opscope.open(path).tasks)
    junk = [bytearray(1 << 16) for _ in range(200)]
    assert frame["duration_ns"].sum() == 7_500 and frame["task"].to_list() == ["gemm", "relu", "gemm"] and junk


def what_was_handed_out_is_freed(p):
    table = p.tasks

    def hand_out(times):
        for _ in range(times):
            pyarrow.table(table)
            table.__arrow_c_stream__(), table.__arrow_c_schema__()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    # One that isn't freed takes some kilobytes.
    before = hand_out(500)
    assert hand_out(4_000) - before < 8 << 20


def questions_are_answered(p):
    answer = pyarrow.table(p.analyze(group_by="name")).to_pylist()
    assert [(row["name"], row["time_ns"], row["count"]) for row in answer] == [("gemm", 6_500, 2), ("relu", 1_000, 1)]
    least = pyarrow.table(p.analyze(group_by="name", sort="time", ascending=True)).to_pylist()
    assert [row["name"] for row in least] == ["relu", "gemm"]
    only = pyarrow.table(p.analyze(name="^rel", iterations="all")).to_pylist()
    assert [row["name"] for row in only] == ["relu"]
    assert abs(sum(row["share"] for row in answer) - 1) < 1e-12
    sql = pyarrow.table(p.sql("SELECT task, duration_ns / 2.0 AS half, NULL AS none FROM task_details ORDER BY start_ns"))
    assert sql.to_pydict() == {"task": ["gemm", "relu", "gemm"], "half": [1250.0, 500.0, 2000.0], "none": [None] * 3}
    assert pyarrow.table(p.sql("SELECT 1 WHERE 0")).num_rows == 0


def mistakes_are_told(p):
    raises(FileNotFoundError, "there is no such file", opscope.open, PROFILE + ".nowhere")
    raises(opscope.Error, "not a profile that opscope can read", opscope.open, BROKEN)
    raises(TypeError, "", opscope.open, 7)
    raises(ValueError, "group_by='colour' is none of operator, type", p.analyze, group_by="colour")
    raises(ValueError, "sort='taste' is none of time_ns", p.analyze, sort="taste")
    raises(ValueError, "no regular expression", p.analyze, name="(")
    raises(opscope.Error, "there is no iteration 99", p.analyze, iterations=99)
    raises(opscope.Error, "there is no device 42", p.analyze, device=42)
    raises(opscope.Error, "no such column", p.sql, "SELECT colour FROM tasks")
    raises(opscope.Error, "more than read", p.sql, "DROP TABLE tasks")
    raises(opscope.Error, "one statement", p.sql, "SELECT 1; SELECT 2")
    assert pyarrow.table(p.sql("SELECT count(*) AS n FROM tasks")).to_pydict() == {"n": [3]}
    raises(AttributeError, "nothing", lambda: opscope.nothing)


def losses_are_warnings():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        p = opscope.open(CUT)
    told = [str(warning.message) for warning in caught if warning.category is opscope.LossWarning]
    grave = [row for row in pyarrow.table(p.losses).to_pylist() if row["severity"] != "remark"]
    assert len(told) == 1 and grave and grave[0]["sentence"] in told[0], (told, grave)


def what_is_printed_is_short_and_no_html_of_a_file(p):
    text = repr(p.tasks)
    assert text.startswith("tasks: 3 rows, 13 columns\n") and "gemm" in text, text
    html = p.ranges._repr_html_() + p.tasks._repr_html_()
    assert html.startswith("<table>") and "<td style=\"text-align:right\">2500</td>" in html, html
    assert "3 tasks" in repr(p) and PROFILE in repr(p), repr(p)


def progress_is_called_and_may_end_the_reading():
    steps = []
    opscope.open(PROFILE, progress=steps.append)
    assert all(isinstance(step, str) for step in steps)


def ctrl_c_ends_long_work_and_others_run_meanwhile(p):
    turns = [0]
    is_over = threading.Event()

    def turn():
        while not is_over.wait(0.01):
            turns[0] += 1

    threading.Thread(target=turn, daemon=True).start()
    # Whoever starts this in the background may have had the signal ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT]).start()
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    begun = time.monotonic()
    try:
        p.sql(endless)
    except KeyboardInterrupt:
        pass
    else:
        raise AssertionError("the statement came to an end")
    finally:
        is_over.set()
    assert time.monotonic() - begun < 30 and turns[0] > 3, turns
    assert pyarrow.table(p.sql("SELECT 1 AS one")).to_pydict() == {"one": [1]}


def marks_stay_as_they_are():
    assert not opscope.enabled() and opscope.push("x") == 0
    with opscope.range("infer"):
        opscope.mark("warm")
    assert opscope.range_end(opscope.range_start("y")) is False


def main():
    p = opscope.open(PROFILE)
    assert p.path == PROFILE and "Chrome" in p.format and p.remarks == []
    the_same_rows_reach_every_library(p)
    tasks_have_names_times_and_nulls(p)
    times_are_not_copied(p)
    memory_outlives_the_profile(PROFILE)
    what_was_handed_out_is_freed(p)
    questions_are_answered(p)
    mistakes_are_told(p)
    losses_are_warnings()
    what_is_printed_is_short_and_no_html_of_a_file(p)
    progress_is_called_and_may_end_the_reading()
    marks_stay_as_they_are()
    ctrl_c_ends_long_work_and_others_run_meanwhile(p)
    print("the module does what it says, with",
          ", ".join(f"{it.__name__} {it.__version__}" for it in (pandas, polars, pyarrow, duckdb, numpy)))


main()
