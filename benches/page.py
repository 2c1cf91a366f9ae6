#!/usr/bin/env python3
"""Measures what the reader of a page waits for, beside other viewers of the same trace.

    cargo build --release -p opscope && npm ci --prefix crates/web/check
    python3 benches/page.py [--program target/release/opscope] [--rounds 3] [--events 1000000] [--tasks 10000000]
        [--peers FOLDER]

A Chrome trace of four streams and two threads three calls deep is made, the same for the same number of events, a trace
of 100,000 operators, and a raw directory of many tasks. Then, round by round in turn: the report of the trace in
Chromium, that of the operators, the comparison of the trace with itself, the trace served, the directory served, and
the viewers in FOLDER (see crates/web/check/peers.mjs for what it holds). Printed are medians: processor seconds of
writing a report beyond those of reading, and of all the browser's processes until the timeline answers, its time by the
clock, the memory of the page's process; of frames while zooming and panning the processor time of the main thread and
of all processes, and the 95th percentile of their distance; of clicks, moves, sorts and letters of a filter the main
thread's time (crates/web/check/reactions.mjs). Of the server: its processor time while it reads, for a screen of tiles,
a search and a table, its memory, and when its page is up. Tiles have their limit for ten million slices, a table for a
million executions: both are work for each of them. Each figure that has a limit is shown with it; the exit status is 1
where one is above it.

Processor time says what a page costs; the clock on a machine that does something else as well says little.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHECK = ROOT / "crates/web/check"
TICK = os.sysconf("SC_CLK_TCK")
TYPES = "Conv2D MatMul BatchNorm Relu Add Mul Softmax Cast Concat Split Gather LayerNorm Gelu Transpose MaxPool".split()

# By the figure: its limit for a report of a million slices, and for what is served.
LIMITS = {"write_cpu_s": (3, None), "shown_s": (2.5, None), "panel_ms": (50, 50), "hover_ms": (16, 16), "sort_ms": (100, 100), "filter_ms": (100, 100), "picture_p95_ms": (None, 60), "mb": (6, None), "ready_cpu_s": (1.9, None), "page_mb": (160, 150), "main_ms_per_frame": (6, 6), "all_ms_per_frame": (10, 10), "interval_p95_ms": (20, 20)}


def write_trace(path, events):
    """Half of the events are tasks, the others calls of which the outer hold the inner ones."""
    chance = random.Random(1)
    with open(path, "w", buffering=1 << 20) as out:
        rows = [(1, 0, "process_name", "Host"), (2, 0, "process_name", "Device")]
        rows += [(1, 100 + thread, "thread_name", f"Thread {100 + thread}") for thread in range(2)]
        rows += [(2, 10 + stream, "thread_name", f"Stream {stream}") for stream in range(4)]
        event = '{{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{"name":"{}"}}}}'
        out.write('{"traceEvents":[\n' + ",\n".join(event.format(*row) for row in rows))
        event = ',\n{{"ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"name":"{}"}}'
        now = [1000.0 + stream for stream in range(4)]
        for task in range(events // 2):
            stream, operator = task % 4, task // 4 % 2000
            duration = chance.lognormvariate(2.5, 1.0)
            start = now[stream] + (chance.uniform(0.3, 1.2) if chance.random() > 0.125 else chance.uniform(5, 120))
            out.write(event.format(2, 10 + stream, start, duration, f"{TYPES[operator % len(TYPES)]}_{operator}"))
            now[stream] = start + duration
        for thread in range(2):
            start = 900.0
            for outer in range(events // 4 // 7):
                duration = chance.uniform(30, 90)
                out.write(event.format(1, 100 + thread, start, duration, f"layer_{outer % 50}"))
                for middle in range(2):
                    begin, length = start + 1 + middle * duration / 2, duration / 2 - 2
                    out.write(event.format(1, 100 + thread, begin, length, "aclopExecuteV2"))
                    for inner in range(2):
                        out.write(event.format(1, 100 + thread, begin + 0.5 + inner * length / 2, length / 2 - 1, "launch"))
                start += duration + chance.uniform(1, 9)
        out.write("\n]}\n")


def write_operators(path, count):
    """As many operators of different names, each executed once."""
    chance = random.Random(1)
    now, events = 0.0, []
    for number in range(count):
        duration = round(chance.lognormvariate(2.5, 1.0), 3)
        name = f"/model/layers.{number >> 4}/{TYPES[number % len(TYPES)]}_{number}"
        events.append({"ph": "X", "cat": "kernel", "pid": 0, "tid": 1, "ts": round(now, 3), "dur": duration, "name": name})
        now += duration + 0.5
    path.write_text(json.dumps({"traceEvents": events}))


def processor_time(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().split(") ")[1].split(" ")
    return (int(fields[11]) + int(fields[12])) / TICK


def node(script, *words):
    """The last line that a script of the page's checks prints, which is JSON."""
    done = subprocess.run(["node", script, *map(str, words)], cwd=CHECK, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{script} {' '.join(map(str, words))}: {done.stderr.strip()[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


class Server:
    """`opscope serve` of one profile, from when it has read it."""

    def __init__(self, program, profile):
        began = time.monotonic()
        words = [program, "serve", "--no-open", "--port", "0", str(profile)]
        self.child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = self.child.stdout.readline().strip()
        self.origin, self.token = re.fullmatch(r"(http://[^/]+)/#token=(\w+)", self.url).groups()
        urllib.request.urlopen(self.origin + "/").read()
        self.up = time.monotonic() - began
        while (state := json.loads(self.ask("status"))["profiles"][0])["state"] != "ready":
            if state["state"] == "failed":
                sys.exit(f"{profile}: {state['error']}")
            time.sleep(0.02)
        self.read, self.read_cpu = time.monotonic() - began, processor_time(self.child.pid)

    def ask(self, path):
        request = urllib.request.Request(f"{self.origin}/api/{path}", headers={"authorization": f"Bearer {self.token}"})
        return urllib.request.urlopen(request).read()

    def cost(self, *paths):
        """Processor milliseconds of an answer, on average."""
        before = processor_time(self.child.pid)
        for path in paths:
            self.ask(path)
        return 1000 * (processor_time(self.child.pid) - before) / len(paths)

    def memory(self):
        status = pathlib.Path(f"/proc/{self.child.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def end(self):
        self.child.terminate()
        self.child.wait()


def served(program, profile):
    server = Server(program, profile)
    try:
        # The answers to the first questions are made behind the reading.
        settled = -1.0
        while processor_time(server.child.pid) != settled:
            settled = processor_time(server.child.pid)
            time.sleep(0.3)
        figures = node("bench.mjs", server.url, 1) | node("reactions.mjs", server.url)
        timeline = json.loads(server.ask("0/rows"))
        figures["million_slices"] = json.loads(server.ask("0/report"))["left_out"]["slices"] / 1e6
        rows = ",".join(str(row) for row in range(min(40, len(timeline["rows"]))))
        level = max(0, (timeline["end"] // 1600).bit_length() - 1)
        tiles = lambda level, first: f"0/tiles?level={level}&first={first}&count=4&rows={rows}"
        middle = lambda level: (timeline["end"] // 2) >> (level + 9)
        figures |= {
            "up_s": server.up, "read_s": server.read, "read_cpu_s": server.read_cpu, "server_mb": server.memory(),
            "tiles_ms": server.cost(*[tiles(level, 0)] * 20), "near_tiles_ms": server.cost(*[tiles(max(0, level - 8), middle(max(0, level - 8)))] * 20),
            "search_ms": server.cost(*[f"0/search?q=conv{number}" for number in range(20)]),
            "table_ms": server.cost(*[f"0/table?group-by=type&top={number + 1}" for number in range(5)]),
        }
        return figures
    finally:
        server.end()


def processor_time_of(*command):
    """Processor seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def report(program, trace, folder):
    page = folder / "report.html"
    reading = processor_time_of(program, "info", str(trace), "-q")
    writing = processor_time_of(program, "report", str(trace), "-o", str(page), "-q") - reading
    return {"write_cpu_s": writing} | node("bench.mjs", page, 1) | node("reactions.mjs", page)


def comparison(program, trace, folder):
    page = folder / "comparison.html"
    subprocess.run([program, "report", str(trace), "--against", str(trace), "-o", str(page), "-q"], check=True)
    return node("reactions.mjs", page, "compare")


def many_operators(program, trace, folder):
    page = folder / "operators.html"
    subprocess.run([program, "report", str(trace), "-o", str(page), "-q"], check=True)
    return {"mb": page.stat().st_size / 1e6} | node("reactions.mjs", page)


def show(name, rounds, limits):
    """Prints the medians of a subject; whether one is above its limit."""
    if not rounds:
        return False
    figures = {key: statistics.median(found[key] for found in rounds) for key, value in rounds[0].items() if isinstance(value, (int, float))}
    parts, above = [], False
    for key, figure in figures.items():
        limit = limits.get(key)
        if key == "tiles_ms" and limit is not None:
            limit = round(limit * max(1, figures["million_slices"] / 10), 1)
        is_above = limit is not None and figure > limit
        above |= is_above
        parts.append(f"{key} {figure:.4g}" + (f" (at most {limit}{'; ABOVE IT' if is_above else ''})" if limit is not None else ""))
    print(f"{name}: {', '.join(parts)}", flush=True)
    return above


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--program", default=str(ROOT / "target/release/opscope"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--tasks", type=int, default=10_000_000)
    parser.add_argument("--peers", help="where other viewers are installed")
    parser.add_argument("--dir", help="where the profiles are made")
    arguments = parser.parse_args()
    program = str(pathlib.Path(arguments.program).resolve())
    of_report = {key: limits[0] for key, limits in LIMITS.items()}
    # A table is asked of a million executions, and takes as much longer as there are more.
    of_directory = {"ready_s": 1.5, "table_ms": 150 * max(1, arguments.tasks / 1e6)}
    of_server = {key: limits[1] for key, limits in LIMITS.items()} | {"up_s": 0.3, "tiles_ms": 25, "near_tiles_ms": 3, "search_ms": 150, "table_ms": 150}
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(dir=arguments.dir)))
        trace = folder / "trace.json"
        write_trace(trace, arguments.events)
        operators = folder / "operators.json"
        write_operators(operators, 100_000)
        subjects = {
            f"report, {arguments.events} events": (lambda: report(program, trace, folder), of_report),
            "report, 100000 operators": (lambda: many_operators(program, operators, folder), of_report | {"mb": 8}),
            f"comparison, {arguments.events} events with as many": (lambda: comparison(program, trace, folder), of_report),
            f"served, {arguments.events} events": (lambda: served(program, trace), of_server),
        }
        if arguments.tasks:
            sample = ["sample", "prof", "--tasks", str(arguments.tasks), "-q", "-o", str(folder)]
            subprocess.run([program, *sample], check=True, stdout=subprocess.DEVNULL)
            directory = next(folder.glob("PROF_*"))
            subjects[f"served, {arguments.tasks} tasks"] = (lambda: served(program, directory), of_server | of_directory)
        if arguments.peers:
            for viewer in ["catapult", "perfetto"]:
                ask = lambda viewer=viewer: node("peers.mjs", viewer, trace, pathlib.Path(arguments.peers).resolve())
                subjects[viewer] = (ask, {})
        rounds = {name: [] for name in subjects}
        for _ in range(arguments.rounds):
            for name, (measure, _) in subjects.items():
                rounds[name].append(measure())
    above = [show(name, rounds[name], limits) for name, (_, limits) in subjects.items()]
    sys.exit(1 if any(above) else 0)


if __name__ == "__main__":
    main()
