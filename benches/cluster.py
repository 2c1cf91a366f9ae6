#!/usr/bin/env python3
"""Measures `opscope cluster` by the number of ranks: from folders, and from a set.

    cargo build --release -p opscope
    python3 benches/cluster.py                                  8, 64 and 512 ranks
    python3 benches/cluster.py --ranks 8,512,4096 --rounds 3    others
    python3 benches/cluster.py --form kineto                    timelines of PyTorch's in place of databases

The ranks are made by `opscope sample cluster`. Printed are the medians of the rounds: the processor's seconds (user and
system), the seconds that go by, and the most anonymous memory, for answering from the folders, for importing them, and
for answering from the set. Memory is read from the process a thousand times a
second, so the last pages of a short command may be missed.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def anonymous(process):
    """The process's anonymous memory in MiB, or 0 once it is gone."""
    try:
        for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) / 1024
    except (OSError, ValueError):
        pass
    return 0.0


def measured(command):
    """The processor's seconds, the seconds that went by, and the MiB of anonymous memory of a program that ends well."""
    with tempfile.TemporaryFile() as said:
        begin = time.monotonic()
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
        most, ended = 0.0, threading.Event()

        def watch():
            nonlocal most
            while not ended.wait(0.001):
                most = max(most, anonymous(process.pid))

        watcher = threading.Thread(target=watch)
        watcher.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - begin
        ended.set()
        watcher.join()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            said.seek(0)
            sys.exit(f"{' '.join(map(str, command))} ended with {process.returncode}:\n{said.read().decode()}")
    return usage.ru_utime + usage.ru_stime, wall, most


def row(ranks, what, rounds):
    processor, wall, memory = (statistics.median(it) for it in zip(*rounds))
    print(f"{ranks:>5}  {what:<26} {processor:>9.2f} {wall:>9.2f} {memory:>7.0f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opscope", type=pathlib.Path, default=ROOT / "target/release/opscope")
    parser.add_argument("--ranks", default="8,64,512")
    parser.add_argument("--steps", default="2")
    parser.add_argument("--form", choices=["db", "text", "kineto"], default="db")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dir", help="where to put the ranks; a temporary folder otherwise")
    arguments = parser.parse_args()
    print(f"{'ranks':>5}  {'':<26} {'processor':>9} {'wall s':>9} {'MiB':>7}")
    for ranks in arguments.ranks.split(","):
        with tempfile.TemporaryDirectory(dir=arguments.dir) as folder:
            sample = ["sample", "cluster", "--ranks", ranks, "--steps", arguments.steps]
            measured([arguments.opscope, *sample, "--format", arguments.form, "-o", folder])
            data = f"{folder}/cluster_{ranks}_ranks_seed_1/{arguments.form}"
            ask = lambda path: measured([arguments.opscope, "cluster", path])
            row(ranks, "from folders", [ask(data) for _ in range(arguments.rounds)])
            sets = [f"{folder}/set{number}" for number in range(arguments.rounds)]
            row(ranks, "importing into a set", [measured([arguments.opscope, "cluster", "import", data, "-o", it]) for it in sets])
            row(ranks, "from the set", [ask(it) for it in sets])


if __name__ == "__main__":
    main()
