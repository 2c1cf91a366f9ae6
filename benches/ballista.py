#!/usr/bin/env python3
"""How much longer a statement takes on a cluster than here: two executors of one core each, and two threads.

    cargo build --release --manifest-path reach-cluster/Cargo.toml
    python3 benches/ballista.py [--programs reach-cluster/target/release] [--ranks 64 --steps 24] [--rounds 3]

A set is generated, and a statement that joins each rank's operators with themselves is carried out in turn by the
embedded engine and by Apache Ballista, both with --jobs 2. Printed are the seconds of both and their ratio, of which
1.5 is the limit for statements of ten seconds or more, on two processors that are idle otherwise. The time grows with
the square of the steps.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST = 1.5
STATEMENT = """
SELECT a.rank % 8 AS place, count(*) AS pairs, sum(a.duration_ns - b.duration_ns) AS longer
FROM operators a JOIN operators b ON a.rank = b.rank AND a.duration_ns > b.duration_ns
GROUP BY a.rank % 8 ORDER BY place
"""


def start(programs, *words):
    """A scheduler or an executor, which ends with its standard input."""
    return subprocess.Popen([programs / "part", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def wait_for_executors(port, count):
    for _ in range(300):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/executors") as answer:
            if len(json.load(answer)) == count:
                return
        time.sleep(0.1)
    sys.exit("the executors don't join their scheduler")


def ask(program, folder, *words):
    """Rows of the answer, and the seconds that it took."""
    begun = time.monotonic()
    command = [program, "cluster", "sql", folder / "set", STATEMENT, "--jobs", "2", "--json", *words]
    answer = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return answer["rows"], time.monotonic() - begun


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "reach-cluster/target/release")
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    opscope = options.programs / "opscope"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        sample = ["--ranks", str(options.ranks), "--steps", str(options.steps), "--format", "db"]
        subprocess.run([opscope, "sample", "cluster", "-o", folder / "runs", *sample, "-q"], check=True)
        ranks = next(folder.glob("runs/*/db"))
        subprocess.run([opscope, "cluster", "import", ranks, "-o", folder / "set", "-q"], check=True)
        scheduler = start(options.programs, "scheduler")
        port = scheduler.stdout.readline().strip()
        executors = []
        for number in range(2):
            work = folder / f"executor-{number}"
            work.mkdir()
            executors.append(start(options.programs, "executor", port, work))
        try:
            wait_for_executors(port, len(executors))
            here, there = [], []
            for _ in range(options.rounds):
                rows, seconds = ask(opscope, folder)
                here.append(seconds)
                others, seconds = ask(opscope, folder, "--engine", f"ballista://127.0.0.1:{port}")
                there.append(seconds)
                assert rows == others, "the answers differ"
        finally:
            for part in [*executors, scheduler]:
                part.kill()
                part.wait()
    show = lambda seconds: " ".join(f"{value:.1f}" for value in seconds)
    ratio = statistics.median(there) / statistics.median(here)
    print(f"embedded {show(here)} s, Ballista {show(there)} s: {ratio:.2f} times as long (limit {MOST})")
    if min(here) < 10:
        sys.exit("the statement takes less than 10 s here, which judges nothing; take more --ranks or --steps")
    sys.exit(ratio > MOST)


if __name__ == "__main__":
    main()
