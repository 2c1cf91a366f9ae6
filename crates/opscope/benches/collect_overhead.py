"""What `opscope collect` costs: a ten-second program of ONNX Runtime under it against the same program
with the runtime's own profiling, and the collector's own time while it samples the host at 50 Hz.

    python3 crates/opscope/benches/collect_overhead.py target/release/opscope [--rounds N]

Needs a Python with onnxruntime and numpy. Both ways of the program are run in turn. Compared is the
processor time of an inference, in the lower quartile of all: other programs on the machine make
inferences slower and none faster, while what the collector costs is in every one. Ends with status 1
when a limit is broken.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile

LIMIT_PROGRAM = 0.02
LIMIT_SAMPLING = 0.01
SAMPLED_SECONDS = 10

PROGRAM = """
import sys, time
import numpy, onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
options.enable_profiling = sys.argv[2] == "own"
options.profile_file_prefix = sys.argv[3] + "/own"
session = onnxruntime.InferenceSession(sys.argv[1], options)
name = session.get_inputs()[0].name
image = numpy.zeros([1, 3, 260, 260], numpy.float32)
count = int(sys.argv[4])
for _ in range(3):
    session.run(None, {name: image})
times = [time.process_time_ns()]
for _ in range(count):
    session.run(None, {name: image})
    times.append(time.process_time_ns())
sys.stderr.write("TIMES " + " ".join(str(b - a) for a, b in zip(times, times[1:])) + "\\n")
"""


def run(command, folder):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit("%s failed:\n%s" % (" ".join(command), done.stderr))
    line = next(line for line in done.stderr.splitlines() if line.startswith("TIMES "))
    return [int(word) / 1e9 for word in line.split()[1:]]


def overhead(opscope, folder, rounds):
    program = os.path.join(folder, "program.py")
    with open(program, "w") as file:
        file.write(PROGRAM)
    subprocess.run([opscope, "sample", "mask-ssd"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    plain = lambda count: [sys.executable, program, "mask-ssd.onnx", "own", folder, str(count)]
    under = lambda count: [opscope, "--quiet", "collect", "--no-parse", "--", sys.executable, program, "mask-ssd.onnx", "collected", folder, str(count)]
    count = max(10, int(10 / statistics.mean(run(plain(20), folder))))
    times = {plain: [], under: []}
    for round_number in range(rounds):
        # Who comes first changes, so that a trend of the machine hits both.
        for way in [plain, under] if round_number % 2 == 0 else [under, plain]:
            times[way] += run(way(count), folder)
    quartiles = {way: statistics.quantiles(values, n=4)[0] for way, values in times.items()}
    print("%d rounds of %d inferences: %.3f ms with the runtime's own profiling, %.3f ms collected"
          % (rounds, count, quartiles[plain] * 1e3, quartiles[under] * 1e3), flush=True)
    return quartiles[under] / quartiles[plain] - 1


def processor_time(command, folder):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def sampling(opscope, folder):
    command = [opscope, "collect", "--no-parse"]
    sleep = ["--", "sleep", str(SAMPLED_SECONDS)]
    with_samples = processor_time(command + ["--host-sys=cpu,mem,disk,network", "--host-sys-usage-freq=50"] + sleep, folder)
    return (with_samples - processor_time(command + sleep, folder)) / SAMPLED_SECONDS


def main():
    parser = argparse.ArgumentParser(description="What opscope collect costs.")
    parser.add_argument("opscope")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    opscope = os.path.abspath(arguments.opscope)
    with tempfile.TemporaryDirectory() as folder:
        share = sampling(opscope, folder)
        print("sampling at 50 Hz: %.2f %% of a core, %.2f of the limit, %.0f %%"
              % (share * 100, share / LIMIT_SAMPLING, LIMIT_SAMPLING * 100), flush=True)
        more = overhead(opscope, folder, arguments.rounds)
        print("collect adds %.2f %% to a program with the runtime's own profiling, %.2f of the limit, %.0f %%"
              % (more * 100, more / LIMIT_PROGRAM, LIMIT_PROGRAM * 100))
    sys.exit(0 if share < LIMIT_SAMPLING and more <= LIMIT_PROGRAM else 1)


main()
