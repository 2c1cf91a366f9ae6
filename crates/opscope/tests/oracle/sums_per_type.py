"""Sums up exported tables of operators by type, without any of opscope's code.

    sums_per_type.py op_summary_20251009085320.csv [more tables of the same run]

prints how often operators of each type ran and how many nanoseconds they took together, as JSON:
{"Conv2D": {"executions": 89, "nanoseconds": "1159000.000"}, ...}
"""

import csv
import json
import sys
from decimal import Decimal

executions, nanoseconds = {}, {}
for path in sys.argv[1:]:
    with open(path, newline="", encoding="utf-8") as table:
        for row in csv.DictReader(table):
            kind = row["OP Type"]
            executions[kind] = executions.get(kind, 0) + 1
            time = Decimal(row["Task Duration(us)"].strip()) * 1000
            nanoseconds[kind] = nanoseconds.get(kind, Decimal(0)) + time
sums = {kind: {"executions": executions[kind], "nanoseconds": str(nanoseconds[kind])} for kind in executions}
json.dump(sums, sys.stdout)
