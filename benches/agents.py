#!/usr/bin/env python3
"""Asks `opscope mcp` and the vendor community's server `msprof-mcp` the same questions about the same profile, and
prints for each question the calls that an agent needs and the tokens of the answers.

    benches/agents.py OPSCOPE MSPROF_MCP FOLDER [DATABASE]

OPSCOPE and MSPROF_MCP are the programs (`pip install msprof-mcp 'mcp<2'`), FOLDER is an output folder of the
profiler for PyTorch with its tables and timeline (ASCEND_PROFILER_OUTPUT), DATABASE the database of the same run.
The way to each answer is the shortest that the tools' own descriptions lead to. Tokens are of o200k_base where the
package bpe-openai is there, else a quarter of the bytes. A question that a server has no tool for is a dash, an
answer that is an error is printed as such.
"""

import json
import os
import subprocess
import sys

try:
    import bpe_openai

    ENCODING, COUNTED = bpe_openai.get_encoding("o200k_base"), "o200k_base"
except ImportError:
    ENCODING, COUNTED = None, "bytes / 4"


def tokens(text):
    return len(ENCODING.encode(text)) if ENCODING else (len(text.encode()) + 3) // 4


class Server:
    """A server that is spoken with in lines of JSON-RPC."""

    def __init__(self, words):
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.number = 0
        about = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "benches/agents.py", "version": "1"},
        }
        self.ask("initialize", about)
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        tools = self.ask("tools/list", {})["result"]["tools"]
        self.tools = len(tools)
        self.description = tokens(json.dumps(tools, ensure_ascii=False))

    def say(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.number += 1
        self.say({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self.number:
                return answer
        raise SystemExit(f"{method}: the server has ended")

    def call(self, tool, arguments):
        """The text of an answer, and whether it is an error."""
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        if "error" in answer:
            return answer["error"]["message"], True
        result = answer["result"]
        text = "\n".join(part.get("text", "") for part in result["content"])
        # The other server tells its errors within answers that are none by the protocol.
        return text, bool(result.get("isError")) or text.lstrip().lower().startswith(('{"error', "error"))


def main():
    program, peer, folder, *database = sys.argv[1:]
    folder = os.path.realpath(folder)
    database = os.path.realpath(database[0]) if database else None

    def within(name):
        return os.path.join(folder, name)

    served = [folder] + ([os.path.dirname(database)] if database else [])
    ours, theirs = Server([program, "mcp", *served]), Server([peer])
    timeline, kernels, types = within("trace_view.json"), within("kernel_details.csv"), within("op_statistic.csv")
    # The longest gaps between kernels, as one writes it for Perfetto's tables.
    gaps = (
        "SELECT ts, gap FROM (SELECT ts, ts - LAG(ts + dur) OVER (ORDER BY ts) AS gap FROM slice JOIN thread_track"
        " ON slice.track_id = thread_track.id JOIN thread USING (utid) JOIN process USING (upid) WHERE"
        " process.name = 'Ascend Hardware') ORDER BY gap DESC LIMIT 5"
    )
    per_type = "SELECT op_type, count(*) AS n, sum(duration_ns) AS ns FROM operator_executions GROUP BY 1 ORDER BY 3 DESC"
    per_name = (
        "SELECT s.value AS name, count(*) AS n, sum(t.endNs - t.startNs) AS ns FROM COMPUTE_TASK_INFO c JOIN TASK t"
        " ON t.globalTaskId = c.globalTaskId JOIN STRING_IDS s ON s.id = c.opType GROUP BY 1 ORDER BY 3 DESC"
    )
    launched = (
        "SELECT d.task, c.name AS call, d.duration_ns FROM task_details d"
        " JOIN api_call_details c ON c.id = d.launched_by_id ORDER BY d.duration_ns DESC"
    )
    questions = [
        ("What is this, and is it whole?", [("info", {"path": folder})],
         [("get_profiler_config", {"json_path": found_info(folder)})]),
        ("How busy was the device?", [("open", {"path": folder})], [("analyze_overlap", {"trace_path": timeline})]),
        ("Which types of operators cost the time?", [("analyze", {"path": folder, "group_by": "type"})],
         [("analyze_op_statistic", {"csv_path": types})]),
        ("Which operators cost most?", [("analyze", {"path": folder, "limit": 10})],
         [("analyze_kernel_details", {"csv_path": kernels})]),
        ("All about the Conv2D operators?", [("operators", {"path": folder, "type": ["Conv2D"]})],
         [("get_operator_details", {"csv_path": kernels, "operator_type": "Conv2D"})]),
        ("Where are the longest gaps?", [("timeline_window", {"path": folder, "limit": 5})],
         [("execute_sql_query", {"trace_path": timeline, "sql_query": gaps})]),
        ("What do the collectives move, how fast?", [("analyze", {"path": folder, "limit": 1, "with": ["stated"]})],
         [("analyze_communication", {"json_path": within("communication_matrix.json")})]),
        ("A question in SQL", [("sql", {"path": database or folder, "statement": per_type})],
         [("execute_sql", {"db_path": database, "query": per_name})] if database else None),
        ("Which call launched the longest tasks?", [("sql", {"path": folder, "statement": launched, "limit": 5})],
         [("find_slices", {"trace_path": timeline, "pattern": "Conv2D", "limit": 5}), ("get_flow_data", None)]),
        ("What should I change, and what can it save?", [("advise", {"path": folder})], None),
        ("What does that finding mean?", [("explain", {"text": "A29"})], None),
        ("What changed since the last run?", [("compare", {"before": folder, "after": database or folder})], None),
    ]
    print(f"tools: opscope {ours.tools} ({ours.description} tokens), msprof-mcp {theirs.tools} ({theirs.description})")
    print(f"tokens of answers ({COUNTED})\n")
    print(f"| {'question':45} | opscope: calls | tokens | msprof-mcp: calls | tokens |")
    print(f"| {'---':45} | ---: | ---: | ---: | ---: |")
    for question, way, other in questions:
        print(f"| {question:45} | {row(ours, way)} | {row(theirs, other)} |", flush=True)


def found_info(folder):
    """The profiler's own description of the run, which lies in the folder or above it."""
    for place in (folder, os.path.dirname(folder)):
        names = [name for name in os.listdir(place) if name.startswith("profiler_info")]
        if names:
            return os.path.join(place, names[0])
    return os.path.join(folder, "profiler_info.json")


def row(server, way):
    if way is None:
        return "– | –"
    total, last = 0, ""
    for tool, arguments in way:
        if arguments is None:
            arguments = following(last)
        last, is_error = server.call(tool, arguments)
        if os.environ.get("OPSCOPE_SHOW_ANSWERS"):
            print(tool, arguments, last[:2_000], file=sys.stderr)
        if is_error:
            return f"{len(way)} | error: {last.strip().splitlines()[0][:60]}"
        total += tokens(last)
    return f"{len(way)} | {total}"


def following(answer):
    """The arguments of the call that takes up an example of `find_slices`."""
    answer = json.loads(answer)

    def example(value):
        if isinstance(value, dict):
            if "ts" in value and "dur" in value:
                return value
            value = list(value.values())
        if isinstance(value, list):
            return next(filter(None, map(example, value)), None)
        return None

    found = example(answer) or {"ts": 0, "dur": 1}
    return {
        "trace_path": answer.get("trace_path") or sys.argv[3] + "/trace_view.json",
        "start_time": found["ts"],
        "end_time": found["ts"] + found["dur"],
        "category": "npu_op",
    }


if __name__ == "__main__":
    main()
