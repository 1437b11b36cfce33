import pytest
import torch
from tiny import seeded_net

import gotta
from gotta import GottaError, Memory


def adapt(**more):
    return gotta.adapt(seeded_net(), method="tent", num_classes=10, **more)


def test_a_memory_with_arguments_is_chosen_in_one_word():
    model = adapt(memory=Memory.spec("fps", epsilon=0.1, refresh_every=3), capacity=8)
    assert (model.memory.policy.epsilon, model.memory.refresh_every, model.memory.capacity) == (0.1, 3, 8)
    assert adapt(memory=Memory.spec("fifo", capacity=4)).memory.capacity == 4


def test_a_model_with_a_chosen_memory_is_saved_and_loaded(tmp_path):
    model = adapt(memory=Memory.spec("fps", epsilon=0.1, capacity=8))
    x = torch.rand(16, 3, 8, 8)
    model(x)
    model.save(tmp_path / "state")
    again = gotta.load(tmp_path / "state", seeded_net())
    assert again.memory.policy.epsilon == 0.1
    assert torch.equal(model(x), again(x))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"memory": "fps", "epsilon": 0.1},
            r"'epsilon' is an argument of memory 'fps', not of method 'tent'.*Memory.spec\('fps', epsilon=0.1\)",
        ),
        ({"memory": "fps", "refresh_every": 3}, "'refresh_every' is an argument of memory 'fps'"),
        ({"memory": "fifo", "epsilon": 0.1}, r"Memories that take it: cds, .*fps"),
        ({"memory": "none", "capacity": None, "alpha": 1}, r"Memories that take it: rbm"),
        ({"memory": "fps", "epsilom": 0.1}, "argument of method 'tent' 'epsilom' is unknown"),
        ({"memory": "fps", "lrr": 0.1}, "Did you mean 'lr'"),
    ],
)
def test_an_argument_of_a_memory_given_to_the_method_says_where_it_belongs(given, words):
    with pytest.raises(GottaError, match=words):
        adapt(**{"capacity": 8, **given})


def test_a_choice_that_is_none_is_one_error():
    with pytest.raises(GottaError, match="Did you mean 'epsilon'"):
        Memory.spec("fps", epsilom=0.1)
    with pytest.raises(GottaError, match="Did you mean 'fps'"):
        Memory.spec("fsp")
    with pytest.raises(GottaError, match="capacity=8 and"):
        adapt(memory=Memory.spec("fps", capacity=4), capacity=8)
    with pytest.raises(GottaError, match="Give all arguments to"):
        adapt(memory=Memory.spec("fps"), capacity=8, policy={"epsilon": 1})
