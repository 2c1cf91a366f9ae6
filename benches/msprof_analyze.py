#!/usr/bin/env python3
"""Compares `opscope msprof-analyze` with the vendor's msprof-analyze on the same ranks, in turn.

    cargo build --release -p opscope
    python3 benches/msprof_analyze.py --peer PATH-TO-MSPROF-ANALYZE                     8 and 64 ranks, the common modes
    python3 benches/msprof_analyze.py --peer … --ranks 8,64,512 --modes all,slow_rank   others
    python3 benches/msprof_analyze.py --peer … --form text --rounds 5

The ranks are made by `opscope sample cluster`. Printed are the medians of the rounds: the processor's seconds (user
and system, with all children), and the largest memory of a process, of either; and the medians of the ratios of each
round, because what else the machine does changes from round to round.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODES = "all,cluster_time_summary,compute_op_sum,hccl_sum,cann_api_sum,slow_rank,slow_link"


def measured(command):
    """The processor's seconds and mebibytes of a program that ends well."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            said.seek(0)
            sys.exit(f"{' '.join(map(str, command))} ended with {process.returncode}:\n{said.read().decode()}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opscope", type=pathlib.Path, default=ROOT / "target/release/opscope")
    parser.add_argument("--peer", type=pathlib.Path, default=os.environ.get("OPSCOPE_MSPROF_ANALYZE"))
    parser.add_argument("--ranks", default="8,64")
    parser.add_argument("--modes", default=MODES)
    parser.add_argument("--form", choices=["db", "text"], default="db")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    if arguments.peer is None:
        parser.error("--peer is missing: the vendor's msprof-analyze (pip install msprof-analyze)")
    modes = arguments.modes.split(",") if arguments.form == "db" else ["all"]
    print(f"{'ranks':>5}  {'mode':<24} {'opscope s':>9} {'MiB':>6} {'peer s':>8} {'MiB':>6} {'times':>6}")
    for ranks in arguments.ranks.split(","):
        with tempfile.TemporaryDirectory() as folder:
            sample = ["sample", "cluster", "--ranks", ranks, "--format", arguments.form, "-o", folder]
            measured([arguments.opscope, *sample])
            data = f"{folder}/cluster_{ranks}_ranks_seed_1/{arguments.form}"
            for mode in modes:
                own, peer = [], []
                for _ in range(arguments.rounds):
                    options = ["-m", mode, "-d", data]
                    own.append(measured([arguments.opscope, "msprof-analyze", *options, "-o", f"{folder}/own"]))
                    peer.append(measured([arguments.peer, *options, "-o", f"{folder}/peer"]))
                median = lambda figures, place: statistics.median(figure[place] for figure in figures)
                ratio = statistics.median(theirs[0] / ours[0] for ours, theirs in zip(own, peer))
                print(
                    f"{ranks:>5}  {mode:<24} {median(own, 0):9.3f} {median(own, 1):6.0f} "
                    f"{median(peer, 0):8.2f} {median(peer, 1):6.0f} {ratio:6.0f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
