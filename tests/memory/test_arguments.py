import pytest
import torch
from tiny import seeded_net

import gotta
from gotta import GottaError, Memory
from gotta.memory import Policy, policies


def adapt(**more):
    return gotta.adapt(seeded_net(), method="tent", num_classes=10, **more)


def test_a_memory_with_arguments_is_an_object():
    model = adapt(memory=gotta.memory.FPS(epsilon=0.1), capacity=8)
    assert (model.memory.policy.epsilon, model.memory.capacity) == (0.1, 8)
    finished = Memory("fps", 4, refresh_every=3, epsilon=0.2)
    assert adapt(memory=finished).memory.refresh_every == 3


def test_a_model_of_objects_is_saved_and_loaded(tmp_path):
    memory, prior = gotta.memory.FPS(epsilon=0.1), gotta.priors.Sticky(order_in_batch="none")
    model = adapt(memory=memory, capacity=8, prior=prior, statistics=gotta.statistics.Running(rate=0.2))
    x = torch.rand(16, 3, 8, 8)
    model(x)
    model.save(tmp_path / "state")
    again = gotta.load(tmp_path / "state", seeded_net())
    assert again.memory.policy == memory
    assert (again.method.prior.name, again.method.prior.order_in_batch) == ("sticky", "none")
    assert again.method.statistics == gotta.statistics.Running(rate=0.2)
    assert torch.equal(model(x), again(x))
    assert prior.belief is None, "a model has a copy"


def test_every_policy_is_exported_by_its_room():
    own = {policies.get(name) for name in policies.names() if not policies.is_user_part(name)}
    exported = (getattr(gotta.memory, name) for name in gotta.memory.__all__)
    assert own == {part for part in exported if isinstance(part, type) and issubclass(part, Policy)} - {Policy}


def test_a_part_of_ones_own_must_be_given_again(tmp_path):
    class Mine(gotta.memory.FIFO):
        pass

    model = adapt(memory=Mine(), capacity=4)
    model.save(tmp_path)
    with pytest.raises(GottaError, match="cannot hold memory"):
        gotta.load(tmp_path, seeded_net())
    gotta.load(tmp_path, seeded_net(), memory=Mine())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"memory": "fps", "epsilon": 0.1},
            r"'epsilon' is an argument of memories \(.*fps.*\), not of method 'tent'.*gotta.Memory\('fps', ...,",
        ),
        (
            {"memory": "fps", "refresh_every": 3},
            r"'refresh_every' is an argument of memories .*gotta.Memory\('fps', ..., refresh_every=3\)",
        ),
        ({"memory": "fifo", "epsilon": 0.1}, r"argument of memories \(cds, .*fps.*gotta.Memory\('cds', "),
        ({"memory": "none", "capacity": None, "alpha": 1}, r"argument of memories \(rbm\)"),
        ({"memory": "fps", "epsilom": 0.1}, "argument of method 'tent' 'epsilom' is unknown"),
        ({"memory": "fps", "lrr": 0.1}, "Did you mean 'lr'"),
    ],
)
def test_an_argument_of_a_memory_given_to_the_method_says_where_it_belongs(given, words):
    with pytest.raises(GottaError, match=words):
        adapt(**{"capacity": 8, **given})
