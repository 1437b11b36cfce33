"""What two processes do in the tests of replicas: each adapts to its half of every batch."""

from pathlib import Path

import torch
from tiny import seeded_net
from torch import distributed

import gotta

SETTINGS = {
    "norm": {"method": "norm", "statistics": "batch"},
    "running": {"method": "norm", "statistics": "running", "fed_by": "batch", "rate": 0.1},
    "tent": {"method": "tent", "statistics": "batch", "lr": 0.01},
    "tent by sgd": {"method": "tent", "statistics": "running", "fed_by": "batch", "optimizer": "sgd", "lr": 0.1},
    "after": {"method": "tent", "statistics": "batch", "lr": 0.01, "score": "after"},
}
WHOLE = 16  # samples of a batch, half of them in each process


def batch(seed):
    return torch.rand(WHOLE, 3, 8, 8, generator=torch.Generator().manual_seed(seed)) * (1 + seed)


def refusal(call):
    try:
        call()
    except gotta.GottaError as error:
        return str(error)
    return ""


def work(rank, folder):
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{folder}/group", rank=rank, world_size=2)
    half = slice(rank * WHOLE // 2, (rank + 1) * WHOLE // 2)
    found = {}
    for name, settings in SETTINGS.items():
        model = gotta.adapt(seeded_net(), sync=True, **settings)
        logits = [model(batch(seed)[half]) for seed in range(4)]
        copied = torch.load(save(model.state_dict(), folder, rank), weights_only=True)
        again = gotta.adapt(seeded_net(), sync=True, **settings)
        again.load_state_dict(copied)
        logits += [again(batch(4)[half])]
        found[name] = {"logits": torch.stack(logits), "state": again.model.state_dict()}
        if name == "running":
            again.freeze()
            found["folded"] = {"by itself": again.fold()(batch(9)), "model": again(batch(9))}
    found["refused"] = refuse(rank, half)
    torch.save(found, Path(folder) / f"{rank}.pt")
    distributed.barrier()  # gloo may abort a process whose partner leaves first
    distributed.destroy_process_group()


def other_net(rank):
    net = seeded_net()
    net.bn1.weight.data += rank
    return net


def save(state, folder, rank):
    torch.save(state, file := Path(folder) / f"state-{rank}.pt")
    return file


def refuse(rank, half):
    """What is refused in both processes, and leaves both as they were."""
    model = gotta.adapt(seeded_net(), sync=True, **SETTINGS["tent"])
    before = {name: value.clone() for name, value in model.model.state_dict().items()}
    x = batch(0)[half]
    broken = x.clone()
    broken[0] = torch.nan if rank else 0.5
    refused = {
        "broken": refusal(lambda: model(broken)),
        "sizes": refusal(lambda: model(x[: 4 + rank])),
        "streams": refusal(lambda: model(x, stream="a")),
        "class": refusal(lambda: gotta.adapt(seeded_net(), sync=True)),
        "method": refusal(lambda: gotta.adapt(seeded_net(), "lame", statistics="batch", sync=True)),
        "memory": refusal(lambda: gotta.adapt(seeded_net(), "tent", "fps", capacity=8, sync=True)),
        "networks": refusal(lambda: gotta.adapt(other_net(rank), "norm", statistics="batch", sync=True)),
    }
    large = x.clone()
    large[0] *= 1e7 if rank else 1.0
    undone = model.step(x).diagnostics.get("undone"), model.step(large).diagnostics.get("undone")
    fresh = gotta.adapt(seeded_net(), sync=True, **SETTINGS["tent"])
    fresh(x)
    same = all(torch.equal(value, fresh.model.state_dict()[name]) for name, value in model.model.state_dict().items())
    moved = any(not torch.equal(value, before[name]) for name, value in model.model.state_dict().items())
    return {**refused, "undone": undone, "only the good batch counted": same and moved}
