#!/usr/bin/env python3
"""Finds commands whose cost grows faster than the run: each on a run and on one eight times as long.

    cargo build --release -p opscope
    python3 benches/growth.py [--program target/release/opscope] [--tasks 500000] [--only 310,950]
        [--dir FOLDER]

Raw directories of every processor and way of running are generated, and the chosen iterations of those that show one
are asked for as well as the usual ones. Each command begins with memory full of pages that nobody needs, because a
longer one would otherwise pay its virtual machine's host for memory that a shorter one finds (`used_memory.py`).
Printed is the processor time (user and system) of both lengths and how many times the longer takes: work for each task
alone makes that 8, and sorting hardly more. The exit status is 1 where it is above 10 and the longer takes a second or
more, because less is mostly the program's start.
"""

import argparse
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

import used_memory

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIMES = 8
MOST = 10
# Commands that take less are not judged.
SECONDS = 1
RUNS = [(chip, mode) for chip in ("310", "310p", "910") for mode in ("static", "dynamic")]
RUNS += [("910b", mode) for mode in ("static", "dynamic", "graph")] + [("950", "dynamic")]


def commands(profile, folder):
    """The commands by name."""
    out = str(folder / "out")
    return {
        "analyze": ["analyze", profile],
        "advise": ["advise", profile],
        "export": ["export", "all", profile, "-o", out],
        "export of all iterations": ["export", "all", profile, "-o", out, "--model-id", "1"],
        "report": ["report", profile, "-o", str(folder / "report.html")],
        "compare": ["compare", profile, profile],
        "import": ["import", profile],
    }


def cost(program, words, folder):
    """Processor seconds of a command, or why it refuses."""
    shutil.rmtree(folder / "out", ignore_errors=True)
    used_memory.fill(folder)
    used_memory.read_all(words[2] if words[0] == "export" else words[1])
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([program, *words, "-q"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        return None, done.stderr.strip().splitlines()[0]
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--program", default=str(ROOT / "target/release/opscope"))
    parser.add_argument("--tasks", type=int, default=500_000)
    parser.add_argument("--only", help="these processors alone, such as 310,950")
    parser.add_argument("--dir", help="where the runs are made")
    arguments = parser.parse_args()
    above = False
    chosen = arguments.only.split(",") if arguments.only else None
    for chip, mode in (run for run in RUNS if chosen is None or run[0] in chosen):
        with tempfile.TemporaryDirectory(dir=arguments.dir) as folder:
            folder = pathlib.Path(folder)
            profiles = []
            for tasks in (arguments.tasks, TIMES * arguments.tasks):
                place = folder / str(tasks)
                sample = ["sample", "prof", "--chip", chip, "--mode", mode, "--tasks", str(tasks), "-q", "-o", str(place)]
                subprocess.run([arguments.program, *sample], check=True, stdout=subprocess.DEVNULL)
                profiles.append(str(next(place.glob("PROF_*"))))
            for name, words in commands(profiles[0], folder).items():
                short, refusal = cost(arguments.program, words, folder)
                if refusal:
                    print(f"{chip} {mode}, {name}: {refusal}", flush=True)
                    continue
                long, refusal = cost(arguments.program, commands(profiles[1], folder)[name], folder)
                if refusal:
                    sys.exit(f"{chip} {mode}, {name}: {refusal}")
                is_above = long >= SECONDS and long > MOST * short
                above |= is_above
                print(f"{chip} {mode}, {name}: {short:.2f} and {long:.2f} s, {long / short:.1f} times"
                      + (" (GROWS FASTER THAN THE RUN)" if is_above else ""), flush=True)
    sys.exit(1 if above else 0)


if __name__ == "__main__":
    main()
