#!/usr/bin/env python3
"""Counts what a profile of another tool holds, without a line of opscope's.

    sums_of_files.py FILE...

Prints, for each file, how many executions of operators it holds and how many nanoseconds they take
together, as a JSON list: ONNX Runtime's and MegEngine's profiles, and `kernel_details.csv`.
"""

import csv
import decimal
import json
import sys


def onnxruntime(events):
    """Nodes: the events of that category that time a kernel, in microseconds."""
    nodes = [event for event in events if event.get("cat") == "Node" and event["name"].endswith("_kernel_time")]
    return [decimal.Decimal(event["dur"]) * 1000 for event in nodes]


def megengine(profiler):
    """Operators: from the begin to the end on each computing node, in seconds."""
    entries = [entry for nodes in profiler["device"].values() for entry in nodes.values()]
    return [(entry["end"] - entry["start"]) * 1_000_000_000 for entry in entries]


def kernels(rows):
    """Kernels: a row each, in microseconds."""
    return [decimal.Decimal(row["Duration(us)"].strip()) * 1000 for row in rows]


def durations(path):
    with open(path, newline="", encoding="utf-8") as file:
        if path.endswith(".csv"):
            return kernels(list(csv.DictReader(file)))
        content = json.load(file, parse_float=decimal.Decimal)
    return onnxruntime(content) if isinstance(content, list) else megengine(content["profiler"])


answers = []
for path in sys.argv[1:]:
    found = durations(path)
    answers.append({"executions": len(found), "nanoseconds": float(sum(found))})
print(json.dumps(answers))
