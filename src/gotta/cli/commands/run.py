"""`gotta run`: one run, from a spec file and dotted settings."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from gotta.cli.terminal import Console

if TYPE_CHECKING:
    from gotta.workflow import Plan


def run(
    settings: list[str] | None = None,
    data: str = "",
    model: str = "",
    out: Path = Path("runs/single"),
    threads: int = 1,
    device: str = "cpu",
    show: bool = False,
    journal: Path | None = None,
    latency: bool = False,
    record: bool = False,
    log: list[str] | None = None,
) -> None:
    """Run one cell and print its summary. What is not given keeps its default. In Python: `gotta.run(...)`.

    Examples:

    - `gotta run method.name=norm memory.name=fps memory.capacity=32`

    - `gotta run --model my_nets:build method.name=tent` : a network of your own

    - `gotta run spec.yaml seed=3 stream.gamma=0.01 method.lr=1e-4` : `gotta show RUN` prints the spec file of a run

    - `gotta run memory.name=fifo memory.capacity=32 --journal fifo.npz` : then `gotta replay fifo.npz`

    - `gotta run method.name=rotta memory.name=fps memory.capacity=64 --latency` : p50 and p99 of a batch

    - `gotta run memory.name=fps memory.capacity=32 --record` : then open the run in `gotta report runs/single`

    - `gotta run runs/mini/runs/ID/spec.json --record --out runs/mini` : record a run of a sweep afterwards

    Arguments:
        settings: A YAML spec file first, if any; then settings as section.name=value.

    Options:
        data: This data set (gotta ls datasets); short for data.name=...
        model: This network: a name (gotta ls models) or module:function; short for model.name=...
        out: Where runs are kept.
        threads: Torch threads.
        device: Where the network runs: cpu, cuda, cuda:1, mps.
        show: Only print the complete spec.
        journal: Run anew and write every decision of the memory to this .npz file.
        latency: Run anew in this process and print p50 and p99 of a batch; nothing is stored.
        record: Also keep what the memory held, with its images, for `gotta report`; a finished run is run
            again.
        log: Log the run to tensorboard, wandb or mlflow, as name or name:where.
    """
    os.environ["OMP_NUM_THREADS"] = str(threads)
    from gotta.cli.commands.bench import conclude
    from gotta.cli.progress import follow
    from gotta.experiment.spec.text import dump, merged, split_settings
    from gotta.workflow.calls import plan_run

    console = Console()
    path, given = split_settings(settings or [])
    options = {section: {"name": name} for section, name in (("data", data), ("model", model)) if name}
    planned = plan_run(path or {}, out=out, record=record, **merged(options, given))
    if show:
        print(dump(planned.specs[0]), end="")
        return
    if journal is not None or latency:
        return run_beside(console, planned, device, journal, latency)
    planned.check(device)
    for line in planned.notices():
        console.print(line, soft_wrap=True)
    with follow(console, {spec.id: planned.labels[spec.id] for spec in planned.todo}) as listen:
        result = planned.run(1, threads, device, log=log or [], listen=listen)
    conclude(console, result)


def run_beside(console: Console, plan: "Plan", device: str, journal: Path | None, latency: bool) -> None:
    """A run in this process, beside the store: for its journal, or for how long a batch waits and a step takes."""
    from gotta.experiment.run.run import run as run_once
    from gotta.experiment.run.scoring import latency as latencies
    from gotta.files import check_writable
    from gotta.workflow.bench_plan import check_device

    if journal is None:
        plan.check(device)
    else:  # it needs no store
        check_device(device)
        check_writable(journal)
    steps, summary = run_once(plan.specs[0], journal=journal, device=device)
    if journal is not None:
        console.print(f"Journal: {journal}", soft_wrap=True)
    if latency:
        for name, (half, most) in latencies(steps).items():
            console.print(f"{name:6}  p50 {1000 * half:.2f} ms   p99 {1000 * most:.2f} ms")
        samples, peak = max(step["samples"] for step in steps), summary["cost"]["peak_mb"]
        line = f"{len(steps)} batches of {samples}, {summary['seconds']:.1f} s, {summary['cpu_seconds']:.1f} s of CPU"
        console.print(line + ("" if peak is None else f", at most {peak:.0f} MB"))
