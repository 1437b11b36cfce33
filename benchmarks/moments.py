"""A memory of moments in the place of class statistics: does it hurt less, does it gain more?

    python benchmarks/moments.py [--rules fps,fifo] [--only shifted,dirichlet-0.1] [--seeds 0] [--table]

The streams of `harm.py`, and those of `deskew.py` in seed 202, for which the rule was not tuned. Every finished part is
a line of `moments.jsonl` and is not run again; `--table` only prints the tables of what is there. All lines there are
of version 3 of the gate (`gated` in versions.yaml), those of `moments-4.jsonl` of version 4. One process, one thread.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any
from warnings import catch_warnings, simplefilter

import deskew
import harm
import torch

POLICIES = ("default", "fps", "fifo", "cstu", "reservoir", "pbrs", "cds")
SEED = 202  # of the streams of deskew.py
Job = tuple[str, str, int, str]  # kind, stream, seed, policy


def settings(policy: str) -> dict[str, Any]:
    return {} if policy == "default" else {"statistics": "moments", "memory": policy, "capacity": 64}


def list_jobs(seeds: list[int]) -> Iterator[Job]:
    for policy in POLICIES:
        for kind, streams in (("shifted", harm.shifted_streams()), ("clean", harm.clean_streams())):
            yield from ((kind, name, seed, policy) for seed in seeds for name in streams)
        yield from (("five", name, SEED, policy) for name in deskew.STREAMS if name != "sorted")


def run_job(kind: str, name: str, seed: int, policy: str) -> dict[str, Any]:
    if kind != "five":
        harm.RULES[policy] = settings(policy)
        return harm.run_job("resnet20", name, seed, policy)
    with catch_warnings():
        simplefilter("ignore")  # that the stickiness is high
        return deskew.score_adapted(deskew.load_network(kind), deskew.make_stream(kind, name, seed), **settings(policy))


def read_lines(path: Path) -> dict[Job, dict[str, Any]]:
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {(line["kind"], line["stream"], line["seed"], line["policy"]): line["scores"] for line in lines}


def gain_of(kind: str, scores: dict[str, Any]) -> float:
    """Over the source in points; the accuracy itself for the streams of deskew.py."""
    return float(scores["accuracy"]) if kind == "five" else harm.compare([scores])[1]


def print_tables(done: dict[Job, dict[str, Any]]) -> None:
    """Means over the seeds that a policy and the default both have, and what it adds to the default in brackets.

    Streams on which no policy differs from the default are counted.
    """
    for kind in ("shifted", "clean", "five"):
        policies = [policy for policy in POLICIES[1:] if any((job[0], job[3]) == (kind, policy) for job in done)]
        print(f"\n| {kind} | {' | '.join(policies)} |\n|---{'|---:' * len(policies)}|")
        same = 0
        for name in dict.fromkeys(job[1] for job in done if job[0] == kind):
            found = [compare(done, kind, name, policy) for policy in policies]
            if any(pair is not None and round(pair[1], 1) for pair in found):
                print(f"| {name} | {' | '.join('·' if pair is None else tell(*pair) for pair in found)} |")
            else:
                same += any(pair is not None for pair in found)
        print(f"\nThe same as the default: {same} streams.")


def compare(done: dict[Job, dict[str, Any]], kind: str, name: str, policy: str) -> tuple[float, float] | None:
    """What a policy reaches on a stream, and what it adds to the default."""
    seeds = [job[2] for job in done if (*job[:2], job[3]) == (kind, name, policy)]
    seeds = [seed for seed in seeds if (kind, name, seed, "default") in done]
    if not seeds:
        return None
    ours, usual = (mean(gain_of(kind, done[kind, name, seed, rule]) for seed in seeds) for rule in (policy, "default"))
    return ours, ours - usual


def tell(reached: float, added: float) -> str:
    return f"{reached:.1f} ({added:+.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rules", default=",".join(POLICIES), help="only these policies, by comma")
    parser.add_argument("--only", default="", help="only these kinds (shifted, clean, five) or streams, by semicolon")
    parser.add_argument("--seeds", default="0", help="of the streams of harm.py, by comma")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".jsonl"))
    parser.add_argument("--table", action="store_true", help="only print the tables of what is there")
    options = parser.parse_args()
    torch.set_num_threads(1)
    done, only = read_lines(options.out), set(filter(None, options.only.split(";")))
    for job in () if options.table else list_jobs([int(seed) for seed in options.seeds.split(",")]):
        if job in done or job[3] not in options.rules.split(",") or (only and not only & {*job[:2]}):
            continue
        done[job] = run_job(*job)
        line = dict(zip(("kind", "stream", "seed", "policy"), job, strict=True)) | {"scores": done[job]}
        with options.out.open("a") as file:
            file.write(json.dumps(line) + "\n")
        print(f"{job} {gain_of(job[0], done[job]):+.1f}", flush=True)
    print_tables(done)


if __name__ == "__main__":
    main()
