#!/usr/bin/env python3
"""Takes the figures of docs/tune.md anew, and prints them as Markdown.

    cargo build --release && python3 benches/tuning.py > figures.md

Tunes the six sample models on both engines with the release build, one thread, two seconds for each
step (about five minutes), then runs the benchmarks of comparing and rewriting (--no-benches leaves
them out). Takes nothing but Python's own modules; ONNX Runtime is found as opscope finds it
(ORT_DYLIB_PATH, or the active Python's package). On a machine that does something else as well, the
intervals are as wide as docs/tune.md says.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ["mask-ssd", "yolo-mish", "yolo-leaky", "resnet50", "mobilenet-v2", "encoder"]
# Rewrites for other hardware say nothing about these engines.
SKIPPED = "G07,G11a"
# The limits of the benchmarks: the longest that each may take, in seconds.
LIMITS = {"compare": 2.0, "rewriting": 1.0}


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nended with status {done.returncode}:\n{done.stderr}")
    return done.stdout


def tune(opscope, model, engine, duration, folder):
    command = [opscope, "tune", f"{model}.onnx", "--engine", engine, "--threads", "1", "--json", "--quiet"]
    command += ["--duration", duration, "--skip", SKIPPED, "-o", f"{model}.{engine}.onnx"]
    if model == "yolo-mish":
        command.append("--allow-lossy")
    return json.loads(run(command, cwd=folder))


def interval(speedup, kept):
    if speedup is None:
        return "not measured"
    text = f"{speedup['median']:.2f} ({speedup['low']:.2f} to {speedup['high']:.2f})"
    return f"**{text}, kept**" if kept else f"{text}, refused"


def error(step):
    value = (step.get("agreement") or {}).get("max_relative_error")
    return "" if value is None else "0" if value == 0 else re.sub(r"e([+-])0(\d)", r"e\1\2", f"{float(value):.1e}").replace("e+", "e")


def table(answers):
    versions = [f"{engine} {answers[engine][MODELS[0]]['engine_version']}" for engine in answers]
    print(f"| model | step | {' | '.join(versions)} | largest relative error |")
    print(f"|---|---|{'---|' * len(versions)}---|")
    for model in MODELS:
        steps = {}
        for engine, of_engine in answers.items():
            for step in of_engine[model]["steps"]:
                name = "together: " * step["together"] + " ".join(step["rewrites"])
                steps.setdefault(f"{name} ({step['places']})", {})[engine] = step
        label = model
        for name, by_engine in steps.items() or [("none applies", {})]:
            cells = [
                interval(by_engine[engine]["speedup"], by_engine[engine]["kept"]) if engine in by_engine else ""
                for engine in answers
            ]
            errors = sorted({error(step) for step in by_engine.values()} - {""})
            print(f"| {label} | {name} | {' | '.join(cells)} | {', '.join(errors)} |")
            label = ""
    agreements = [(answers[engine][model]["other_engine"] or {}).get("agrees") for engine in answers for model in MODELS]
    print(f"\nThe engines agreed about {sum(a is True for a in agreements)} of {len(agreements)} before anything was changed.")


def benches():
    print("\n| what | time | limit | part of it |\n|---|---|---|---|")
    text = run(["cargo", "bench", "-q", "-p", "opscope-analyze", "--bench", "compare"], cwd=ROOT)
    for name, value, unit in re.findall(r"^(compare [^\n]*?)\s*\n?\s+time:\s+\[\S+ \S+ ([\d.]+) (m?s)", text, re.M):
        seconds = float(value) / (1000 if unit == "ms" else 1)
        print(f"| {name} | {seconds:.2f} s | {LIMITS['compare']} s | {seconds / LIMITS['compare']:.2f} |")
    text = run(["cargo", "bench", "-q", "-p", "opscope-rewrite", "--bench", "rewriting"], cwd=ROOT)
    for nodes, value in re.findall(r"(\d+) nodes: ([\d.]+) ms", text):
        seconds = float(value) / 1000
        print(f"| all rewrites on {nodes} nodes | {seconds:.3f} s | {LIMITS['rewriting']} s | {seconds / LIMITS['rewriting']:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser.add_argument("--opscope", default=str(target / "release" / "opscope"), help="the program to measure")
    parser.add_argument("--engines", default="ort,tract", help="the engines, with commas")
    parser.add_argument("--duration", default="2s", help="how long each step is measured")
    parser.add_argument("--no-benches", action="store_true", help="leave the benchmarks out")
    arguments = parser.parse_args()
    if not pathlib.Path(arguments.opscope).is_file():
        parser.error(f"{arguments.opscope}: there is no such program; cargo build --release makes it")
    answers = {}
    with tempfile.TemporaryDirectory() as folder:
        for model in MODELS:
            run([arguments.opscope, "sample", model, "-o", f"{model}.onnx", "--quiet"], cwd=folder)
        for engine in arguments.engines.split(","):
            answers[engine] = {}
            for model in MODELS:
                print(f"{engine}: {model}", file=sys.stderr)
                answers[engine][model] = tune(arguments.opscope, model, engine, arguments.duration, folder)
    table(answers)
    if not arguments.no_benches:
        benches()


if __name__ == "__main__":
    main()
