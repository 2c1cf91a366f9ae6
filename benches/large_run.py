#!/usr/bin/env python3
"""Measures what commands take on a run of a million tasks, in turn with another version of the program.

    cargo build --release -p opscope
    python3 benches/large_run.py --before ../opscope-before [--program target/release/opscope]
        [--tasks 1000000] [--rounds 5] [--dir FOLDER]

A raw directory is generated once. Then each round runs every command with the version before and with this one, so
that whatever else the machine does meets both. Printed are medians of the processor time (user and system), of the time
that went by and of the most anonymous memory (what isn't a file's, on Linux), the ratio of both versions, and how
each figure stands to its limit:

- `advise` takes at most 1.2 times what `analyze` takes;
- `compare` of the run with itself takes at most 2 s more than opening it twice, which `info` does once;
- `import` takes at most 3 s;
- `analyze` of what was imported takes no longer than of what wasn't;
- `export all` takes at most 1.5 GB of anonymous memory, `analyze`, `info` and `show` 2 GB, however many tasks there are.

The exit status is 1 where a figure is above its limit. Without `--before` this version is measured alone.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def anonymous(pid):
    """The anonymous memory of a process in GB; 0 where the system doesn't tell, or the process has ended."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("RssAnon:")) * 1024 / 1e9


def measured(program, words):
    """The processor time and the time of one run of a command, in seconds, and its most anonymous memory in GB."""
    began = time.monotonic()
    child = subprocess.Popen([program, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    most = 0
    while True:
        pid, status, used = os.wait4(child.pid, os.WNOHANG)
        if pid:
            break
        most = max(most, anonymous(child.pid))
        time.sleep(0.01)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{program} {' '.join(words)} ended with status {child.returncode}")
    return used.ru_utime + used.ru_stime, time.monotonic() - began, most


def one_round(program, profile, folder, times):
    """Runs every command once; the import comes last but one, for the commands before find none."""
    report = str(folder / "report.html")
    exported = folder / "exported"
    shutil.rmtree(profile / "sqlite", ignore_errors=True)
    commands = {
        "info": ["info"],
        "show": ["show"],
        "analyze": ["analyze"],
        "advise": ["advise"],
        "report": ["report", "-o", report, "--quiet"],
        "compare": ["compare", str(profile)],
        "export all": ["export", "all", "-o", str(exported), "--quiet"],
        "import": ["import"],
        "analyze, imported": ["analyze"],
    }
    for name, words in commands.items():
        # The profile stands behind the command, and behind the kind of an export.
        before = 2 if words[0] == "export" else 1
        figures = measured(program, [*words[:before], str(profile), *words[before:]])
        times.setdefault(name, []).append(figures)
        shutil.rmtree(exported, ignore_errors=True)
    shutil.rmtree(profile / "sqlite", ignore_errors=True)


def medians(times):
    return {name: [statistics.median(column) for column in zip(*rows)] for name, rows in times.items()}


def limits(now):
    """The limits, as name, figure, limit and unit: seconds of processor time, GB of anonymous memory."""
    cpu = {name: figures[0] for name, figures in now.items()}
    memory = {name: figures[2] for name, figures in now.items()}
    return [
        ("advise", cpu["advise"], 1.2 * cpu["analyze"], "s"),
        ("compare beyond opening both", cpu["compare"] - 2 * cpu["info"], 2.0, "s"),
        ("import", cpu["import"], 3.0, "s"),
        # A tenth is what figures of the same work differ by.
        ("analyze, imported", cpu["analyze, imported"], 1.1 * cpu["analyze"], "s"),
        ("export all", memory["export all"], 1.5, "GB"),
        *((name, memory[name], 2.0, "GB") for name in ("info", "show", "analyze")),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--program", default=str(ROOT / "target/release/opscope"))
    parser.add_argument("--before", help="the version before")
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dir", help="where the run is generated")
    arguments = parser.parse_args()
    programs = {"now": str(pathlib.Path(arguments.program).resolve())}
    if arguments.before:
        programs = {"before": str(pathlib.Path(arguments.before).resolve()), **programs}
    with tempfile.TemporaryDirectory(dir=arguments.dir) as folder:
        folder = pathlib.Path(folder)
        sample = ["sample", "prof", "--tasks", str(arguments.tasks), "-q", "-o", str(folder)]
        subprocess.run([programs["now"], *sample], check=True, stdout=subprocess.DEVNULL)
        profile = next(folder.glob("PROF_*"))
        times = {version: {} for version in programs}
        for _ in range(arguments.rounds):
            for version, program in programs.items():
                one_round(program, profile, folder, times[version])
    figures = {version: medians(rows) for version, rows in times.items()}
    print(f"{arguments.tasks} tasks, medians of {arguments.rounds} rounds: processor s (s that went by) GB of anonymous memory")
    for name in figures["now"]:
        columns = [f"{version} {cpu:6.2f} ({wall:5.2f}) {memory:5.2f}"
                   for version, rows in figures.items() for cpu, wall, memory in [rows[name]]]
        ratio = f"  {figures['before'][name][0] / figures['now'][name][0]:5.2f} times as fast" if "before" in figures else ""
        print(f"{name:20} {'   '.join(columns)}{ratio}")
    passed = False
    for name, figure, limit, unit in limits(figures["now"]):
        passed |= figure > limit
        print(f"{name}: {figure:.2f} {unit}, limit {limit:.2f} {unit}{'  ABOVE IT' if figure > limit else ''}")
    sys.exit(1 if passed else 0)


if __name__ == "__main__":
    main()
