"""An adapted model is called as its network, and gives what it gives."""

import inspect
from collections import UserDict, namedtuple
from copy import deepcopy
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tiny import TinyNet, seeded_net
from torch import nn

import gotta
from gotta import GottaError
from gotta.methods.parts.calls import join_outputs

Pair = namedtuple("Pair", "loss scores")
Named = namedtuple("Named", "hidden logits rest")
PARTS = {"hidden": torch.ones(2), "many": (torch.ones(1), [torch.zeros(1)])}


@dataclass(frozen=True)
class Result:
    logits: torch.Tensor
    hidden: Any = None


class Wrapped(nn.Module):
    """A network whose logits come in company."""

    def __init__(self, wrap):
        super().__init__()
        self.net, self.wrap = seeded_net(), wrap

    def forward(self, x):
        return self.wrap(self.net(x))


class TwoInputs(TinyNet):
    """An image and two numbers beside it, which count."""

    def forward(self, image, place, scale=1.0, labels=None):
        logits = scale * super().forward(image) + place.sum(1, keepdim=True) * torch.arange(10)
        return {"logits": logits, "loss": None if labels is None else logits[torch.arange(len(labels)), labels].sum()}


class Texts(nn.Module):
    """Token ids and a mask, by name."""

    def __init__(self):
        super().__init__()
        self.words, self.norm, self.head = nn.Embedding(50, 8), nn.LayerNorm(8), nn.Linear(8, 4)

    def forward(self, input_ids=None, attention_mask=None, labels=None):
        found = self.norm(self.words(input_ids)) * attention_mask[..., None]
        return SimpleNamespace(logits=self.head(found.sum(1)), states=found)


def images(count=6, seed=0):
    return torch.rand(count, 3, 8, 8, generator=torch.Generator().manual_seed(seed))


def texts(length=5, count=6):
    ids = torch.randint(50, (count, length), generator=torch.Generator().manual_seed(0))
    return {"input_ids": ids, "attention_mask": torch.ones(count, length)}


def seeded(make):
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return make().eval()


WRAPS = {
    "tuple": (lambda z: (z, PARTS), {}, lambda out: out[0], lambda out: out[1]),
    "list": (lambda z: [None, z, PARTS], {}, lambda out: out[1], lambda out: out[2]),
    "loss first": (lambda z: (z.sum(), z, PARTS), {}, lambda out: out[1], lambda out: out[2]),
    "dict": (lambda z: {"logits": z, "rest": PARTS}, {}, lambda out: out["logits"], lambda out: out["rest"]),
    "dict, named": (lambda z: {"a": 1, "y": z, "r": PARTS}, {"output": "y"}, lambda o: o["y"], lambda o: o["r"]),
    "user dict": (lambda z: UserDict(logits=z, r=PARTS), {}, lambda out: out["logits"], lambda out: out["r"]),
    "object": (lambda z: SimpleNamespace(logits=z, r=PARTS), {}, lambda out: out.logits, lambda out: out.r),
    "frozen": (lambda z: Result(z, PARTS), {}, lambda out: out.logits, lambda out: out.hidden),
    "named tuple": (lambda z: Pair(PARTS, z), {"output": "scores"}, lambda out: out.scores, lambda out: out.loss),
    "named tuple, logits": (lambda z: Named(z[:, :2], z, PARTS), {}, lambda out: out.logits, lambda out: out.rest),
    "position": (lambda z: (torch.ones(6, 2), z, PARTS), {"output": 1}, lambda out: out[1], lambda out: out[2]),
    "from the end": (lambda z: (PARTS, z), {"output": -1}, lambda out: out[-1], lambda out: out[0]),
}


@pytest.mark.parametrize("method", ["deskew", "tent"])
@pytest.mark.parametrize("kind", WRAPS)
def test_what_the_network_gives_comes_back_with_other_logits(kind, method):
    wrap, settings, logits_in, rest_in = WRAPS[kind]
    plain = gotta.adapt(seeded_net(), method)
    model = gotta.adapt(Wrapped(wrap), method, **settings)
    for seed in range(3):
        out = model(images(seed=seed))
        assert type(out) is type(wrap(torch.zeros(6, 10)))
        assert torch.equal(logits_in(out), plain(images(seed=seed)))
        assert not logits_in(out).requires_grad
        rest = rest_in(out)
        assert rest.keys() == PARTS.keys()
        assert torch.equal(rest["hidden"], PARTS["hidden"])


def test_a_function_finds_logits_and_they_are_all_that_comes_back():
    model = gotta.adapt(Wrapped(lambda z: ("no", z)), "source", output=lambda out: 2 * out[1])
    assert torch.equal(model(images()), 2 * seeded_net()(images()))


def test_nothing_of_the_graph_comes_back():
    model = gotta.adapt(Wrapped(lambda z: (z, 2 * z)), "tent")
    assert not model(images())[1].requires_grad


@pytest.mark.parametrize("wrong", [lambda z: "text", lambda z: {"scores": z}, lambda z: (), lambda z: None])
def test_an_output_without_logits_is_refused_with_the_way_out(wrong):
    with pytest.raises(GottaError, match=r"without logits.*output="):
        gotta.adapt(Wrapped(wrong), "source")(images())
    with pytest.raises(GottaError, match="without logits at 'nowhere'"):
        gotta.adapt(Wrapped(lambda z: {"logits": z}), "source", output="nowhere")(images())


@pytest.mark.parametrize("method", ["source", "deskew", "tent", "norm", "lame"])
def test_inputs_by_position_and_by_name_are_the_same(method):
    net, place = seeded(TwoInputs), torch.rand(6, 2, generator=torch.Generator().manual_seed(1))
    calls = [
        lambda model: model(images(), place, 2.0),
        lambda model: model(images(), place=place, scale=2.0),
        lambda model: model(scale=2.0, place=place, image=images()),
    ]
    found = [call(gotta.adapt(net, method)) for call in calls]
    assert found[0].keys() == {"logits", "loss"}
    for other in found[1:]:
        assert torch.equal(other["logits"], found[0]["logits"])
    if method == "source":
        assert torch.equal(found[0]["logits"], net(images(), place, 2.0)["logits"])
    # The second input counts: it is not taken for `starts`, or lost.
    assert not torch.equal(gotta.adapt(net, method)(images(), 1 - place, 2.0)["logits"], found[0]["logits"])


@pytest.mark.parametrize("background", [False, True])
def test_the_signature_is_that_of_the_network(background):
    net = TwoInputs()
    model = gotta.adapt(net, "tent", background=background)
    assert inspect.signature(model.forward) == inspect.signature(net.forward)
    assert "labels" in inspect.signature(type(model).forward).parameters
    assert inspect.signature(deepcopy(model).forward) == inspect.signature(net.forward)


def test_true_labels_make_a_loss_and_nothing_else():
    net, place = seeded(TwoInputs), torch.rand(6, 2, generator=torch.Generator().manual_seed(1))
    answers = [
        gotta.adapt(net, "tent")(labels=torch.full((6,), label), image=images(), place=place) for label in (0, 1)
    ]
    assert torch.equal(answers[0]["logits"], answers[1]["logits"])
    assert answers[0]["loss"] != answers[1]["loss"]
    assert not answers[0]["loss"].requires_grad


def test_a_memory_gives_samples_back_under_their_name():
    seen = []

    class Named(TinyNet):
        def forward(self, *, pixel_values, scale=1.0, labels=None):
            seen.append((len(pixel_values), scale, labels is not None))
            return Result(scale * super().forward(pixel_values))

    model = gotta.adapt(seeded(Named), "tent", "fps", capacity=8, sample="pixel_values")
    for seed in range(3):
        model(pixel_values=images(seed=seed), scale=2.0, labels=torch.zeros(6, dtype=torch.int64))
    assert len(model.memory)
    assert {scale for _, scale, _ in seen} == {2.0}
    assert (6, 2.0, True) in seen  # the batch
    rows = [with_labels for size, _, with_labels in seen if size != 6]
    assert rows
    assert not any(rows)


@pytest.mark.parametrize("stores", [{"memory": "fps", "capacity": 8, "method": "tent"}, {"guard": "freeze"}])
def test_samples_that_need_company_are_not_stored(stores):
    model = gotta.adapt(seeded(TwoInputs), **stores)
    with pytest.raises(GottaError, match=r"takes place beside each sample.*memory='none'"):
        model(images(), place=torch.rand(6, 2))
    assert model.offered == 0


def test_a_method_that_looks_at_part_of_a_batch_says_so():
    net, place = seeded(TwoInputs), torch.rand(6, 2, generator=torch.Generator().manual_seed(1))
    model = gotta.adapt(net, "tent", adapt_every=4, pairing="paper")
    with pytest.raises(GottaError, match=r"looks at 4 samples.*place"):
        model(images(), place)


@pytest.mark.parametrize("method", ["source", "deskew", "lame", "tent"])
def test_texts_of_any_length(method):
    net = seeded(Texts)
    model = gotta.adapt(net, method)
    for length in (5, 3, 9):
        out = model(**texts(length))
        assert out.logits.shape == (6, 4)
        assert out.states.shape == (6, length, 8)
    if method == "source":
        assert torch.equal(out.logits, net(**texts(9)).logits)


def test_token_ids_go_into_no_memory():
    class Words(Texts):
        def forward(self, ids):
            return super().forward(ids, torch.ones(ids.shape))

    with pytest.raises(GottaError, match="int64: token ids"):
        gotta.adapt(seeded(Words), "tent", "fps", 8)(texts()["input_ids"])


def test_a_dict_is_an_input_where_the_network_takes_one():
    class OfDict(TinyNet):
        def forward(self, batch):
            return super().forward(batch["x"])

    class Deep(TinyNet):
        def forward(self, batch):
            return super().forward(batch["data"]["x"])

    plain = gotta.adapt(seeded(TinyNet), "tent")(images())
    for kind in (dict, UserDict):
        assert torch.equal(gotta.adapt(seeded(OfDict), "tent")(kind(x=images(), y=1)), plain)
        assert torch.equal(gotta.adapt(seeded(Deep), "tent")({"y": 1, "data": kind(x=images())}), plain)
    with pytest.raises(GottaError, match="expected a tensor among the inputs"):
        gotta.adapt(seeded(Deep), "tent")({"data": {"x": 1}})


def test_the_sample_is_the_named_one():
    class Late(TinyNet):
        def forward(self, mask, pixels):
            return super().forward(pixels * mask[:, None])

    mask = torch.ones(6, 8, 8)
    model = gotta.adapt(seeded(Late), "source", sample="pixels")
    model(mask, images())
    assert model.sample == (3, 8, 8)
    with pytest.raises(GottaError, match="'pixels'"):
        model(mask=mask)
    assert gotta.adapt(seeded(Late), "source", sample="pixels")(pixels=images(), mask=mask).shape == (6, 10)
    with pytest.raises(GottaError, match="sample must be the name"):
        gotta.adapt(seeded(Late), sample=1)
    with pytest.raises(GottaError, match="output must be"):
        gotta.adapt(seeded(Late), output=1.5)


def test_gottas_own_arguments_are_no_inputs():
    class Film(TinyNet):
        def forward(self, x, starts=None):
            return super().forward(x) + (0 if starts is None else starts)

    model = gotta.adapt(seeded(Film), "source")
    with pytest.raises(GottaError, match=r"'starts'.*by position"):
        model(images(), starts=torch.ones(6, 1))
    with pytest.raises(GottaError, match="'starts'"):
        model.step(images(), starts=[True] * 6)
    assert torch.equal(model(images(), torch.ones(6, 1)), seeded(Film)(images(), torch.ones(6, 1)))


def test_a_second_input_is_not_taken_for_starts():
    with pytest.raises(GottaError, match="TypeError"):
        gotta.adapt(seeded_net(), "source")(images(), [True] * 6)


def test_one_output_is_refused():
    model = gotta.adapt(nn.Sequential(nn.Flatten(), nn.Linear(192, 1)))
    with pytest.raises(GottaError, match=r"one output.*\[B, 1\].*two or more classes"):
        model(images())
    way_out = gotta.adapt(model.model, "source", output=lambda z: torch.cat([-z / 2, z / 2], 1))
    assert torch.allclose(way_out(images()).softmax(1)[:, 1:], model.model(images()).sigmoid())


def test_save_and_load_keep_the_names(tmp_path):
    net = Wrapped(lambda z: {"y": z})
    model = gotta.adapt(net, "tent", output="y", pairing="paper")
    model(images())
    model.save(tmp_path / "state")
    again = gotta.load(tmp_path / "state", net)
    assert torch.equal(again(images(seed=1))["y"], model(images(seed=1))["y"])


def test_inference_mode_and_callers_tensors_stay():
    net, place = seeded(TwoInputs), torch.rand(6, 2, requires_grad=True)
    model = gotta.adapt(net, "tent", pairing="paper")
    with torch.inference_mode():
        model(images(), torch.rand(6, 2))
    kept = {"image": images(), "place": place}
    model(**kept)
    assert kept["place"] is place
    assert place.grad is None


def test_outputs_of_parts_are_joined_inside_objects_that_also_hold_types():
    def given(*rows):
        layer = SimpleNamespace(keys=torch.tensor(rows), dtype=torch.float32, device=torch.device("cpu"))
        return {"logits": torch.tensor(rows), "past": SimpleNamespace(layers=[layer], kind=dict, name="a", last=None)}

    joined = join_outputs([given(1, 3), given(2)], [2, 1], torch.tensor([0, 2, 1]))
    assert joined["logits"].tolist() == joined["past"].layers[0].keys.tolist() == [1, 2, 3]
    assert (joined["past"].kind, joined["past"].layers[0].dtype) == (dict, torch.float32)
