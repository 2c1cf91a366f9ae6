#!/usr/bin/env python3
"""Compares `opscope export all` of an Ascend profile with a plain copy of as many bytes, in turn.

    cargo build --release -p opscope
    python3 benches/exports.py                                  a million tasks
    python3 benches/exports.py --tasks 300000 --against OLD     and another build of the program, in turn
    python3 benches/exports.py --memory returned                with memory that the host has taken back

The profile is a synthetic one (`opscope sample prof`). The copy reads each byte of it and writes as many bytes
as the export does, a file for each of its files. As the export, it has the system begin early with writing them out,
on a thread of its own, and syncs them together at the end. Printed are the medians of
all rounds, of elapsed time and of the processor's (user and system), the largest memory, and the ratios to the
copy and to the other build: medians of the ratios of each round, because what else the machine does changes from
round to round. Memory is what was resident at most, the mapped input among it.

All turns begin with the profile in memory, and with the rest of memory full of pages that nobody needs
(`used_memory.py` says why), or, with `--memory returned`, after a rest in which a virtual machine's host takes back
all free pages. The second is what a first export on an idle virtual machine costs; most of that is the host's, and as
a copy pays it too, the ratio to it is lower.

The copy's bytes are made by nobody: an export decodes, joins, and writes each number as text or as a value of a
database, which takes most of its processor time.
"""

import argparse
import ctypes
import os
import pathlib
import queue
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import used_memory

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = 1 << 20
# The bytes after which an export has the system begin with writing a file out.
WRITE_OUT_AFTER = 8 << 20
# Seconds after which a host has taken back the pages that are free: Linux reports them every two seconds, in parts.
REST = 30


def timed(command):
    """Elapsed seconds, the processor's, and mebibytes, of a program that ends well."""
    begin = time.monotonic()
    program = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(program.pid, 0)
    elapsed = time.monotonic() - begin
    program.returncode = os.waitstatus_to_exitcode(status)
    if program.returncode:
        sys.exit(f"{' '.join(map(str, command))}: ended with status {program.returncode}")
    return elapsed, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def sizes_below(folder):
    return [path.stat().st_size for path in sorted(folder.rglob("*")) if path.is_file()]


def copy(profile, sizes, folder):
    """Reads the profile, and writes files of these sizes."""
    folder.mkdir()
    room = memoryview(bytearray(BLOCK))
    for path in sorted(profile.rglob("*")):
        if path.is_file():
            with open(path, "rb", buffering=0) as file:
                while file.readinto(room):
                    pass
    waiting = queue.Queue(1)
    thread = threading.Thread(target=write_out, args=[waiting])
    thread.start()
    files = [open(folder / str(number), "wb", buffering=0) for number in range(len(sizes))]
    for file, size in zip(files, sizes):
        fresh = 0
        while size > 0:
            written = file.write(room[: min(size, BLOCK)])
            size, fresh = size - written, fresh + written
            if fresh >= WRITE_OUT_AFTER and not waiting.full():
                waiting.put(file.fileno())
                fresh = 0
    waiting.put(None)
    thread.join()
    for file in files:
        os.fdatasync(file.fileno())
        file.close()


def write_out(waiting):
    """Has the system begin with writing out files that still grow; nothing where it has no call for that."""
    begin = getattr(ctypes.CDLL(None), "sync_file_range", None)
    write = 2
    while (descriptor := waiting.get()) is not None:
        if begin:
            begin(descriptor, ctypes.c_int64(0), ctypes.c_int64(0), write)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser.add_argument("--opscope", default=str(target / "release" / "opscope"), help="the program")
    parser.add_argument("--against", help="another build of it")
    parser.add_argument("--tasks", type=int, default=1_000_000, help="how many tasks the profile has")
    parser.add_argument("--rounds", type=int, default=7, help="how often all take turns")
    parser.add_argument("--memory", choices=["used", "returned"], default="used", help="how memory is before a turn")
    parser.add_argument("--folder", help="the disk to write to [default: that of temporary files]")
    arguments = parser.parse_args()
    if arguments.tasks < 1 or arguments.rounds < 1:
        parser.error("--tasks and --rounds are at least 1")
    programs = {"opscope": arguments.opscope}
    if arguments.against:
        programs["the other build"] = arguments.against
    for program in programs.values():
        if not pathlib.Path(program).is_file():
            parser.error(f"{program}: there is no such program; the command above makes it")
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        place = pathlib.Path(folder)
        (profile, results, copied) = (place / name for name in ("profile", "results", "copied"))
        timed([arguments.opscope, "sample", "prof", "-o", profile, "--tasks", arguments.tasks, "-q"])

        def prepare():
            if arguments.memory == "used":
                used_memory.fill(place)
            else:
                time.sleep(REST)
            used_memory.read_all(profile)

        def export(program):
            prepare()
            figures = timed([program, "export", "all", profile, "-o", results, "-q"])
            sizes = sizes_below(results)
            shutil.rmtree(results)
            return figures, sizes

        sizes = export(arguments.opscope)[1]
        read = sum(sizes_below(profile))
        again = [sys.executable, __file__, "--copy", profile, copied, *sizes]

        def copy_once():
            prepare()
            figures = timed(again)
            shutil.rmtree(copied)
            return figures

        turns = {name: (lambda program=program: export(program)[0]) for name, program in programs.items()}
        turns["the copy"] = copy_once
        rounds = []
        for number in range(arguments.rounds):
            # Whoever comes first finds a machine that is less warm.
            names = list(turns) if number % 2 == 0 else list(turns)[::-1]
            rounds.append({name: turns[name]() for name in names})
    print(f"{arguments.tasks} tasks, {read / 1e6:.0f} MB read, {sum(sizes) / 1e6:.0f} MB written; memory {arguments.memory}; medians of {arguments.rounds} rounds\n")
    print("| | elapsed | processor | memory |\n|---|---|---|---|")
    for name in turns:
        elapsed, processor, memory = (statistics.median(figures) for figures in zip(*(it[name] for it in rounds)))
        print(f"| {name} | {elapsed:.2f} s | {processor:.2f} s | {memory:.0f} MiB |")
    print()
    for name in list(turns)[1:]:
        elapsed, processor = (
            statistics.median(round["opscope"][which] / round[name][which] for round in rounds) for which in (0, 1)
        )
        print(f"opscope takes {elapsed:.2f} times as long as {name}, and {processor:.2f} times its processor time.")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--copy"]:
        copy(pathlib.Path(sys.argv[2]), [int(size) for size in sys.argv[4:]], pathlib.Path(sys.argv[3]))
    else:
        main()
