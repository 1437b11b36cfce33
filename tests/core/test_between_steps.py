"""One model, many threads: every call finds the model between two others, and nothing is lost or mixed."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from threading import Event

import pytest
import torch
from tiny import seeded_net
from whole_state import frozen_state, plain

from gotta import adapt
from gotta.core import saved

THREADS = 4


def batch(number):
    return torch.rand(2, 3, 8, 8, generator=torch.Generator().manual_seed(number))


def build(method, memory, **settings):
    return adapt(seeded_net(), method, memory, None if memory == "none" else 6, pairing="memory", **settings)


def first_values(numbers):
    return {float(batch(number)[0, 0, 0, 0]): number for number in numbers}


def serve(model, count, beside=lambda: None):
    """Batches 0 .. count - 1 from some threads at once, something else beside them; logits, and the order taken."""
    known, order = first_values(range(count)), []
    name = "predict" if model.memory.lasts else "predict_to_adapt"
    predict = getattr(model.method, name)

    def recording(x):
        number = known[float(x[0, 0, 0, 0])]
        if number not in order:  # a trial predicts a batch several times
            order.append(number)
        return predict(x)

    setattr(model.method, name, recording)
    done = Event()

    def keep_on():
        while not done.is_set():
            beside()

    with ThreadPoolExecutor(THREADS + 1) as pool:
        extra = pool.submit(keep_on)
        parts = [pool.submit(lambda k: [model(batch(n)) for n in range(k, count, THREADS)], k) for k in range(THREADS)]
        logits = {
            n: found
            for k, part in enumerate(parts)
            for n, found in zip(range(k, count, THREADS), part.result(), strict=True)
        }
        done.set()
        extra.result()
    setattr(model.method, name, predict)
    return logits, order


def check_alone(model, twin, logits, order, at_sample=lambda twin: None):
    """The same batches in the order taken, from one thread, give the same to the last bit."""
    assert sorted(order) == list(range(len(logits)))
    for number in order:
        assert torch.equal(twin(batch(number)), logits[number]), number
        at_sample(twin)
    assert frozen_state(model) == frozen_state(twin)


@pytest.mark.parametrize(
    ("method", "memory"), [("tent", "none"), ("rotta", "fps"), ("norm", "reservoir"), ("deskew", "none")]
)
def test_threads_give_what_one_would_in_the_same_order(method, memory):
    model, twin = build(method, memory), build(method, memory)
    logits, order = serve(model, 80, beside=lambda: (repr(model), model.state_dict()))
    check_alone(model, twin, logits, order)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "memory"), [("tent", "none"), ("rotta", "fps")])
def test_four_threads_of_three_hundred_batches(method, memory):
    model, twin = build(method, memory, guard="warn"), build(method, memory, guard="warn")
    logits, order = serve(model, 1200, beside=lambda: (repr(model), model.state_dict()))
    check_alone(model, twin, logits, order)


def test_a_save_is_always_a_state_between_two_steps(tmp_path):
    model, twin = build("rotta", "fps"), build("rotta", "fps")
    folders = []

    def save():
        folders.append(tmp_path / str(len(folders)))
        model.save(folders[-1])

    logits, order = serve(model, 60, beside=save)
    states = [saved.read(folder)[1] for folder in folders]
    assert len(states) > 3

    def without_clock(state):
        return plain({name: value for name, value in state.items() if name not in ("cost", "beside")})

    wanted = {state["counters"]["offered"]: without_clock(state) for state in states}
    met = [] if 0 not in wanted else [0]

    def compare(twin):
        if twin.offered in wanted:
            twin.save(tmp_path / "alone")
            assert without_clock(saved.read(tmp_path / "alone")[1]) == wanted[twin.offered], twin.offered
            met.append(twin.offered)

    check_alone(model, twin, logits, order, compare)
    assert set(met) == set(wanted)


def test_weights_read_beside_steps_are_those_between_two(tmp_path):
    model, twin = build("tent", "none", lr=0.1), build("tent", "none", lr=0.1)
    seen = []
    logits, order = serve(model, 60, beside=lambda: seen.append(plain(dict(model.state_dict()))))
    states = [plain(dict(twin.state_dict()))]
    check_alone(model, twin, logits, order, lambda twin: states.append(plain(dict(twin.state_dict()))))
    assert len(seen) > 3
    assert all(state in states for state in seen)


def test_every_public_call_from_many_threads(tmp_path):
    model = build("rotta", "fps", guard="rollback")
    model(batch(0))
    model.save(tmp_path / "first")
    calls = [
        lambda n: model(batch(n)),
        lambda n: model.save(tmp_path / f"{n % 3}"),
        lambda n: model.load(tmp_path / "first"),
        lambda n: model.reset(),
        lambda n: (model.freeze(), model(batch(n)), model.unfreeze()),
        lambda n: model.float().to("cpu"),
        lambda n: model.load_state_dict(model.state_dict()),
        lambda n: repr(model),
        lambda n: deepcopy(model)(batch(n)),
        lambda n: pickle.loads(pickle.dumps(model)),
    ]
    with ThreadPoolExecutor(THREADS) as pool:
        for found in [pool.submit(calls[n % len(calls)], n) for n in range(60)]:
            found.result()
    model.reset()
    fresh = build("rotta", "fps", guard="rollback")
    model.unfreeze()
    assert torch.equal(model(batch(1)), fresh(batch(1)))


def test_copies_and_pickles_have_a_lock_of_their_own():
    model = build("rotta", "fps")
    model(batch(0))
    copies = [deepcopy(model), pickle.loads(pickle.dumps(model))]
    assert len({id(one.lock) for one in [model, *copies]}) == 3
    expected = model(batch(1))
    with model.lock:  # held here, and still the others answer elsewhere
        with ThreadPoolExecutor(1) as pool:
            assert all(torch.equal(pool.submit(one, batch(1)).result(timeout=60), expected) for one in copies)
        assert torch.equal(model(batch(2)), copies[0](batch(2)))  # re-entrant


def test_a_state_dict_is_a_copy_unless_variables_are_asked_for():
    model = build("tent", "none")
    before = model.state_dict()
    model(batch(0))
    assert not torch.equal(before["model.bn1.weight"], model.state_dict()["model.bn1.weight"])
    assert model.state_dict(keep_vars=True)["model.bn1.weight"] is model.model.bn1.weight
    outer = torch.nn.Sequential(torch.nn.Linear(2, 2), model)
    assert "1.model.bn1.weight" in outer.state_dict()
    assert outer.state_dict()["0.weight"].data_ptr() == outer[0].weight.data_ptr()
