"""Networks that adapting would not work for are refused or named."""

import pytest
import torch
from tiny import seeded_net
from torch import nn

import gotta
from gotta import GottaError
from gotta.core.inputs import NetworkWarning


def images(seed=0, count=8):
    return torch.rand(count, 3, 8, 8, generator=torch.Generator().manual_seed(seed))


class Sure(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = seeded_net()

    def forward(self, x):
        return self.net(x).softmax(1)


def test_probabilities_are_named_once_and_the_way_out_works():
    model = gotta.adapt(Sure(), "source")
    with pytest.warns(NetworkWarning, match="gives probabilities"):
        model(images())
    model(images(1))
    right = gotta.adapt(Sure(), "source", output=lambda p: p.clamp_min(1e-12).log())
    torch.testing.assert_close(right(images()).softmax(1), seeded_net()(images()).softmax(1))


def test_an_input_of_the_network_that_is_called_as_one_of_ours_is_refused():
    class Streamed(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = seeded_net()

        def forward(self, x, stream=None):
            return self.net(x)

    model = gotta.adapt(Streamed(), "norm", num_classes=10)
    x = torch.rand(4, 3, 8, 8)
    model(x)
    with pytest.raises(GottaError, match="'stream' is an argument of gotta's own, and the network takes"):
        model(x, stream=1)


def test_float16_is_not_trained_with_adam():
    with pytest.raises(GottaError, match=r"'tent' trains with Adam.*float16.*autocast"):
        gotta.adapt(seeded_net().half(), "tent")


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
def test_half_precision_is_named(half):
    with pytest.warns(NetworkWarning, match=f"weights are {half}.*autocast"):
        gotta.adapt(seeded_net().to(half), "deskew")
    with pytest.warns(NetworkWarning, match="most steps of training are smaller"):
        gotta.adapt(seeded_net().to(half), "tent", optimizer="sgd")


def counting(runs):
    """A compiler that runs a graph as it is, and counts."""

    def backend(graph, inputs):
        def run(*given):
            runs.append(len(given))
            return graph(*given)

        return run

    return backend


@pytest.mark.parametrize(
    ("settings", "compiled"),
    [
        ({"method": "source"}, True),
        ({"method": "norm", "statistics": "running", "fed_by": "batch"}, True),
        ({"method": "tent", "statistics": "batch"}, True),
        ({"method": "deskew"}, False),
        ({"method": "tent", "statistics": "gated"}, False),
    ],
)
def test_a_compiled_network_runs_compiled_or_it_is_said(settings, compiled, recwarn):
    torch._dynamo.reset()
    runs = []
    model = gotta.adapt(torch.compile(seeded_net(), backend=counting(runs)), **settings)
    assert bool([warned for warned in recwarn if issubclass(warned.category, NetworkWarning)]) != compiled
    assert ("runs uncompiled" in repr(model)) != compiled
    for seed in range(10, 17):  # until the first trial is over, which trains on a forward of its own
        model(images(seed))
    recwarn.clear()
    before = len(runs)
    model(images(9))
    assert (len(runs) > before) == compiled
    torch._dynamo.reset()


def test_a_data_parallel_network_is_not_said_to_be_compiled(recwarn):
    model = gotta.adapt(torch.nn.DataParallel(seeded_net()))
    assert not [warned for warned in recwarn if issubclass(warned.category, NetworkWarning)]
    assert "runs uncompiled" not in repr(model)


def test_compiling_an_adapted_model_leaves_it_alone():
    torch._dynamo.reset()
    runs = []
    plain, compiled = (gotta.adapt(seeded_net(), "tent", memory="fps", capacity=8) for _ in "ab")
    fast = torch.compile(compiled, backend=counting(runs))
    with pytest.warns(NetworkWarning, match=r"adapt\(torch\.compile\(net\)"):
        found = [fast(images(seed)) for seed in range(4)]
    assert torch.equal(torch.stack(found), torch.stack([plain(images(seed)) for seed in range(4)]))
    assert not runs
    torch._dynamo.reset()


@pytest.fixture
def one_process(tmp_path):
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/group", rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


def test_a_distributed_network_is_refused_and_the_one_inside_works(one_process):
    parallel = nn.parallel.DistributedDataParallel(seeded_net())
    with pytest.raises(GottaError, match=r"adapt\(ddp\.module\)"):
        gotta.adapt(parallel)
    assert torch.equal(gotta.adapt(parallel.module, "tent")(images()), gotta.adapt(seeded_net(), "tent")(images()))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("make", [torch.jit.script, lambda net: torch.jit.trace(net, torch.rand(2, 3, 8, 8))])
def test_a_scripted_network_is_refused_with_the_way_out(make):
    for method in ("deskew", "norm", "tent"):
        with pytest.raises(GottaError, match=r"TorchScript.*Adapt the network that it was made from"):
            gotta.adapt(nn.Sequential(make(seeded_net())), method)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_network_that_keeps_tensors_of_a_training_forward_is_copied():
    net, x = seeded_net(), torch.rand(4, 3, 8, 8)
    torch.nn.utils.weight_norm(next(module for module in net.modules() if isinstance(module, nn.Conv2d)))
    expected = net(x)
    net.last, net.cache = expected, {"cpu": net(x)}  # with their graphs, as networks of users and LeViT have them
    assert torch.equal(gotta.adapt(net, "source")(x), expected.detach())
    gotta.adapt(net, "tent", guard="warn")(x)
    assert torch.equal(net(x), expected)
