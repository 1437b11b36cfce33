"""What published code gave on the small network and stream of the golden trajectories, and a run of ours beside it."""

import numpy as np
import torch
from tiny import GOLDEN, golden_net

from gotta import Memory, adapt
from gotta.types import MemoryBatch

FOLDER = GOLDEN / "rivals"
COMMON = np.load(GOLDEN / "methods" / "common.npz")
STREAM = (torch.from_numpy(COMMON["stream_u8"]).float() / 255)[::2]  # ten batches of 32, the last five in runs


def published(name):
    return np.load(FOLDER / f"{name}.npz")


def build(method, net=None, **settings):
    settings = {"pairing": "paper", "num_classes": 10, **settings}
    return adapt(golden_net(COMMON) if net is None else net, method, **settings)


def run(model, stream=STREAM):
    """The logits of every batch, and what was measured with it."""
    outcomes = [model.step(x) for x in stream]
    return torch.stack([outcome.prediction.logits for outcome in outcomes]), [o.diagnostics for o in outcomes]


def assert_same(got, expected, tolerance=1e-4):
    np.testing.assert_allclose(torch.as_tensor(got).detach().numpy(), expected, atol=tolerance, rtol=0)


def assert_same_parameters(model, recorded, tolerance=1e-5):
    final = {name[len("final.") :]: recorded[name] for name in recorded.files if name.startswith("final.")}
    assert len(final) >= 4
    for name, value in final.items():
        assert_same(model.model.state_dict()[name], value, tolerance)


def assert_same_state(net, recorded, who, count, tolerance=1e-4):
    """Parameters and buffers of one of several networks, recorded as `<who>.<name>`."""
    names = [name for name in recorded.files if name.startswith(f"{who}.")]
    assert len(names) == count
    for name in names:
        assert_same(net.state_dict()[name[len(who) + 1 :]], recorded[name], tolerance)


class Told(Memory):
    """A memory that holds the recorded rows of the stream, whatever it is offered."""

    def __init__(self, ids, capacity):
        super().__init__("fifo", capacity, 10)
        self.told, self.stored = iter(ids), STREAM.flatten(0, 1)

    def batch(self):
        super().batch()
        ids = torch.from_numpy(next(self.told))
        ids = ids[ids >= 0]
        unused = torch.zeros(len(ids))
        return MemoryBatch(self.stored[ids], unused.long(), unused, unused[:, None], unused.long(), self.capacity)
