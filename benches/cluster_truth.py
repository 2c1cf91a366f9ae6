#!/usr/bin/env python3
"""Checks what `opscope cluster` names against faults that are known.

    cargo build --release -p opscope
    python3 benches/cluster_truth.py [--program target/release/opscope] [--ranks 8,64,512] [--seeds 1-30]
        [--format db|text|kineto] [--layouts usual|mixed|few] [--missing 1 | --missing any | --missing stage]
        [--steps 2] [--warm-up 1]

Timelines of PyTorch's (kineto) tell no links, so there are no faults of links in those.

With --missing, so many ranks of each collection, which have no fault, weren't recorded; with `any`, one rank wasn't,
whether it has a fault or not, which then counts as named where the rank is named as one that wasn't recorded; with
`stage`, only one stage of the pipeline was recorded, and nothing is asked but whether a healthy run is taken for one.
What the others cost is judged by the truth about the whole.

With mixed layouts, each seed has another number of ranks that share tensors, stages, and ranks that share experts. With
layouts of few, all ranks share one thing only, tensors, stages or copies, so that ranks or groups have no peers.

With --warm-up, the first step takes so many times as long on all ranks alike.

For each number of ranks and each seed, `opscope sample cluster` makes a collection with up to five faults that the seed
chooses, of random kinds, places and sizes, and `opscope cluster --json` is asked about it. A fault whose true saving is
1 % of the step or more must be named, and nobody else; a fault between half a percent and 1 % may be. Each saving must
lie within the larger of 10 % and 0.5 % of the step, the cause must be the fault's, and of two faults that are named
the one that costs a fifth more must come first. Besides, for each seed one collection has no faults, in which nothing
may be named, and a step without slow ranks and links may be at most 2 % shorter.

Printed is a line for each collection where something is wrong, and for each number of ranks the recall, the precision,
the share of right savings and causes, and how many healthy collections were taken for such. The exit status is 1 where
anything is wrong, but for one in thirty healthy collections.
"""

import argparse
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The cause that each fault of a rank must be told with.
CAUSES = {"low-frequency": "frequency", "more-tokens": "tokens", "ai-cpu": "ai_cpu", "late-input": "late_input",
          "host-bound": "host_bound"}
# GPUs have no AI CPU.
CAUSES_OF_KINETO = {**CAUSES, "low-frequency": "slow_device", "ai-cpu": "other_work"}


def random_faults(chance, ranks, layout, form):
    """Some faults, no two of which are at the same rank."""
    free = list(range(ranks))
    chance.shuffle(free)
    kinds = ["low-frequency", "slow-link", "more-tokens", "ai-cpu", "late-input", "host-bound"]
    if layout["ep"] < 2:
        kinds.remove("more-tokens")
    # The links between two ranks have no others like them.
    if layout["dp"] < 2 or form == "kineto" or ranks < 4:
        kinds.remove("slow-link")
    faults = []
    for kind in chance.sample(kinds, min(chance.randint(1, len(kinds)), ranks)):
        rank = free.pop()
        if kind == "low-frequency":
            faults.append(f"{kind}={rank}:{chance.uniform(1.1, 1.5):.3f}")
        elif kind == "more-tokens":
            faults.append(f"{kind}={rank}:{chance.uniform(1.1, 2.5):.3f}")
        elif kind == "ai-cpu":
            faults.append(f"{kind}={rank}:{chance.uniform(300, 2500):.0f}us")
        elif kind == "host-bound":
            faults.append(f"{kind}={rank}:{chance.uniform(20, 150):.0f}us")
        elif kind == "late-input":
            faults.append(f"{kind}={rank}:{chance.uniform(3, 20):.1f}ms")
        else:
            # A link is used if both ranks have the same place in all copies of the model.
            stage = layout["tp"] * layout["dp"]
            others = [r for r in range(ranks) if r != rank and r // stage == rank // stage and r % layout["tp"] == rank % layout["tp"]]
            faults.append(f"{kind}={rank}-{chance.choice(others)}:{chance.uniform(0.2, 0.6):.3f}")
    return faults


def random_layout(chance, ranks):
    """A layout of so many ranks: how many share tensors, how many stages there are, how many share experts."""
    tensor, stages = chance.choice([1, 2, 4, 8]), chance.choice([1, 2, 4])
    while tensor * stages > ranks // 2:
        tensor, stages = max(tensor // 2, 1), max(stages // 2, 1)
    copies = ranks // tensor // stages
    return {"tp": tensor, "pp": stages, "dp": copies, "ep": chance.choice([it for it in (1, 2, 4, 8) if copies % it == 0])}


def layout_of_few(chance, ranks):
    """A layout of so many ranks in which they share one thing only."""
    return {"tp": 1, "pp": 1, "dp": 1, "ep": 1, chance.choice(["tp", "pp", "dp"]): ranks}


def asked(program, words):
    """What the program prints."""
    answer = subprocess.run([program, *words], capture_output=True, text=True)
    if answer.returncode != 0:
        sys.exit(f"{program} {' '.join(words)} ended with status {answer.returncode}:\n{answer.stderr}")
    return answer.stdout


def not_recorded(chance, ranks, layout, faults, missing):
    """The ranks that weren't recorded: so many that no fault is at, any one, or all stages but one."""
    if missing == "any":
        return [chance.randrange(ranks)]
    if missing == "stage":
        size = ranks // layout["pp"]
        recorded = chance.randrange(layout["pp"])
        return [rank for rank in range(ranks) if rank // size != recorded]
    busy = {int(rank) for fault in faults for rank in fault.split("=")[1].split(":")[0].split("-")}
    return chance.sample([rank for rank in range(ranks) if rank not in busy], int(missing))


def examined(program, folder, ranks, seed, faults, form, layout=None, missing=(), steps=2, warm_up=1.0):
    """The truth about a collection, and what the program makes of it."""
    words = [word for fault in faults or ["none"] for word in ("--fault", fault)]
    words += [word for rank in missing for word in ("--damage", f"missing={rank}")]
    size = ["--layout", ",".join(f"{name}={count}" for name, count in layout.items())] if layout else ["--ranks", str(ranks)]
    size += ["--steps", str(steps), "--warm-up", str(warm_up)]
    made = ["sample", "cluster", "-o", str(folder), *size, "--seed", str(seed), "--format", form]
    path = pathlib.Path(asked(program, [*made, *words, "--quiet"]).strip())
    try:
        truth = json.loads((path / "truth.json").read_text())
        return truth, json.loads(asked(program, ["cluster", str(path / form), "--json", "--quiet"]))
    finally:
        shutil.rmtree(path)


def place_of(suspect):
    """Whom a suspect accuses: a rank, the two of a link, or the name of more."""
    if suspect["kind"] == "link":
        return suspect["src"], suspect["dst"]
    return (suspect["rank"] if suspect["kind"] == "rank" else suspect["name"],)


def counted_as(place, missing, named):
    """The suspect that stands for a fault: of a rank that wasn't recorded it is named after that."""
    absent = [f"rank {rank} (not recorded)" for rank in place if rank in missing]
    return next(((name,) for name in absent if (name,) in named), tuple(place))


def judged(truth, answer, count, expected, missing):
    """Adds to the counts what is right and wrong, causes by those that are expected; returns the mistakes in words."""
    step = truth["costs"]["step_ms"]
    named = {place_of(suspect): suspect for suspect in answer["suspects"] if suspect["named"]}
    costs = {counted_as(cost["ranks"], missing, named): cost for cost in truth["costs"]["faults"].values()}
    mistakes = []
    for place, cost in costs.items():
        saves = cost["without_it_saves_ms"]
        suspect = named.get(place)
        if saves >= 0.01 * step:
            count["due"] += 1
            count["found"] += suspect is not None
            if suspect is None:
                mistakes.append(f"{cost['name']} of {place} isn't named: it costs {saves:.2f} ms")
        if suspect is None:
            continue
        count["savings"] += 1
        told = suspect["saves_ns"] / 1e6
        if abs(told - saves) <= max(0.1 * saves, 0.005 * step):
            count["right savings"] += 1
        else:
            mistakes.append(f"{cost['name']} of {place} costs {saves:.2f} ms, not {told:.2f}")
        if cost["name"] in expected and suspect["kind"] != "unrecorded":
            count["causes"] += 1
            causes = suspect["evidence"]["causes"]
            if causes and causes[0]["cause"] == expected[cost["name"]]:
                count["right causes"] += 1
            else:
                mistakes.append(f"{cost['name']} of {place} is told without its cause")
    order = [costs[place] for place in named if place in costs]
    for at, first in enumerate(order):
        for second in order[at + 1 :]:
            if second["without_it_saves_ms"] > max(1.2 * first["without_it_saves_ms"], 0.005 * step):
                mistakes.append(f"{first['name']} of {first['ranks']} comes before {second['name']}, which costs a fifth more")
    for place, suspect in named.items():
        cost = costs.get(place)
        count["named"] += 1
        if cost and cost["without_it_saves_ms"] >= 0.005 * step:
            count["rightly named"] += 1
        else:
            mistakes.append(f"{suspect['name']} is named for {suspect['saves_ns'] / 1e6:.2f} ms and is innocent")
    count["reachable"] += 1
    if is_reachable(truth, answer):
        count["right reachable"] += 1
    else:
        reachable, without = answer["reachable_ns"] / 1e6, truth["costs"]["step_without_faults_ms"]
        mistakes.append(f"without faults a step takes {without:.1f} ms of {step:.1f}, not {reachable:.1f}")
    return mistakes


def is_reachable(truth, answer):
    """Whether a step without faults takes as long as is told, within 3 % of the step."""
    costs = truth["costs"]
    return abs(answer["reachable_ns"] / 1e6 - costs["step_without_faults_ms"]) <= 0.03 * costs["step_ms"]


def share(count, part, whole):
    return f"{count[part]} of {count[whole]}"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--program", default=str(ROOT / "target/release/opscope"))
    arguments.add_argument("--ranks", default="8,64,512")
    arguments.add_argument("--seeds", default="1-30", help="the first and the last")
    arguments.add_argument("--format", default="db", choices=["db", "text", "kineto"])
    arguments.add_argument("--layouts", default="usual", choices=["usual", "mixed", "few"])
    arguments.add_argument("--missing", default="0", help="how many ranks weren't recorded, or any, or stage")
    arguments.add_argument("--steps", type=int, default=2)
    arguments.add_argument("--warm-up", type=float, default=1.0, help="how many times as long the first step takes")
    chosen = arguments.parse_args()
    first, last = map(int, chosen.seeds.split("-"))
    causes = CAUSES_OF_KINETO if chosen.format == "kineto" else CAUSES
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for ranks in map(int, chosen.ranks.split(",")):
            keys = ["due", "found", "named", "rightly named", "savings", "right savings", "causes", "right causes",
                    "reachable", "right reachable"]
            count, healthy, wrong = dict.fromkeys(keys, 0), 0, 0
            usual = examined(chosen.program, folder, ranks, 0, [], chosen.format)[0]["layout"]
            for seed in range(first, last + 1):
                chance = random.Random(f"{ranks} {seed}")
                layouts = {"usual": lambda: usual, "mixed": lambda: random_layout(chance, ranks),
                           "few": lambda: layout_of_few(chance, ranks)}
                layout = layouts[chosen.layouts]()
                faults = random_faults(chance, ranks, layout, chosen.format)
                chance = random.Random(f"missing {ranks} {seed}")
                missing = not_recorded(chance, ranks, layout, faults, chosen.missing)
                about = [ranks, seed, faults, chosen.format, layout, missing, chosen.steps, chosen.warm_up]
                mistakes = []
                if chosen.missing != "stage":
                    mistakes = judged(*examined(chosen.program, folder, *about), count, causes, missing)
                wrong += len(mistakes)
                for mistake in mistakes:
                    size = f"{ranks} ranks" if layout is usual else f"{ranks} ranks ({layout})"
                    size += f" without {', '.join(map(str, missing))}" if missing else ""
                    print(f"{size}, seed {seed}, {' '.join(faults)}: {mistake}")
                about[2] = []
                _, answer = examined(chosen.program, folder, *about)
                accused = [suspect["name"] for suspect in answer["suspects"] if suspect["named"]]
                healthy += not accused
                if accused:
                    print(f"{ranks} ranks, seed {seed}, no faults: {', '.join(accused)} named")
                if answer["reachable_ns"] < 0.98 * answer["step_ns"]:
                    wrong += 1
                    print(f"{ranks} ranks, seed {seed}, no faults: {answer['reachable_ns'] / 1e6:.1f} ms of "
                          f"{answer['step_ns'] / 1e6:.1f} are said to be enough")
                sys.stdout.flush()
            seeds = last - first + 1
            print(f"{ranks} ranks: found {share(count, 'found', 'due')}, rightly named {share(count, 'rightly named', 'named')}, "
                  f"savings right {share(count, 'right savings', 'savings')}, causes right "
                  f"{share(count, 'right causes', 'causes')}, steps without faults right "
                  f"{share(count, 'right reachable', 'reachable')}, healthy {healthy} of {seeds}")
            failed = failed or wrong > 0 or (seeds - healthy) > seeds // 30
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
