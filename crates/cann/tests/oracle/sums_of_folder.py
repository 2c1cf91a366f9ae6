"""Sums up a folder of the Ascend tools' outputs, without any of opscope's code.

    sums_of_folder.py FOLDER

prints what its files hold as JSON: the files, the tasks that compute by type (executions and nanoseconds), and the
sums of its tables: each a count of rows and a total in nanoseconds or bytes.
"""

import csv
import json
import os
import sqlite3
import sys
from decimal import Decimal

folder = sys.argv[1]
outputs = os.path.join(folder, "ASCEND_PROFILER_OUTPUT")


def rows(name):
    path = os.path.join(outputs, name)
    if not os.path.exists(path):
        return None
    with open(path, newline="", encoding="utf-8-sig") as file:
        return [{key.strip(): (cell or "").strip() for key, cell in row.items()} for row in csv.DictReader(file)]


def total(table, column, factor):
    found = rows(table)
    if found is None or not found or column not in found[0]:
        return None
    values = [Decimal(row[column]) for row in found if row[column]]
    return [len(values), float(sum(values) * factor)]


def kernels():
    types = {}
    for row in rows("kernel_details.csv") or []:
        if row["Accelerator Core"] in ("HCCL", "COMMUNICATION", "N/A"):
            continue
        known = types.setdefault(row["Type"], [0, Decimal(0)])
        known[0] += 1
        known[1] += Decimal(row["Duration(us)"]) * 1000
    return {name: [count, float(time)] for name, (count, time) in types.items()}


def database(path):
    found = sqlite3.connect(path)
    query = """
        SELECT texts.value, count(*), sum(TASK.endNs - TASK.startNs)
        FROM TASK JOIN COMPUTE_TASK_INFO AS info ON info.globalTaskId = TASK.globalTaskId
        JOIN STRING_IDS AS texts ON texts.id = info.opType GROUP BY texts.value"""
    return {name: [count, time] for name, count, time in found.execute(query)}


files = sorted(
    os.path.relpath(os.path.join(place, name), folder) for place, _, names in os.walk(folder) for name in names
)
databases = [name for name in files if os.path.basename(name).startswith("ascend_pytorch_profiler")]
types = database(os.path.join(folder, databases[0])) if databases else kernels()
answer = {
    "files": files,
    "types": types,
    "tables": {
        "step_trace_time": total("step_trace_time.csv", "Computing", 1000),
        "op_statistic": total("op_statistic.csv", "Total Time(us)", 1000),
        "api_statistic": total("api_statistic.csv", "Time(us)", 1000),
        "operator_memory": total("operator_memory.csv", "Size(KB)", 1024),
        "static_op_mem": total("static_op_mem.csv", "Size(KB)", 1024),
        "operator_details": total("operator_details.csv", "Host Self Duration(us)", 1000),
    },
}
print(json.dumps(answer))
