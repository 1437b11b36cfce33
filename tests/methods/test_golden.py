"""Whole trajectories of the authors' own implementations, run the way a user would: through `gotta.adapt`."""

import json
from functools import cache

import numpy as np
import pytest
import torch
from tiny import GOLDEN, golden_net

from gotta import Memory, adapt
from gotta.types import MemoryBatch

FOLDER = GOLDEN / "methods"
COMMON = np.load(FOLDER / "common.npz")
STREAM = torch.from_numpy(COMMON["stream_u8"]).float() / 255
CLEAN = torch.from_numpy(COMMON["clean_u8"]).float() / 255
TOLERANCES = json.loads((GOLDEN / "tolerances.json").read_text())["methods"]
OTHER = json.loads((GOLDEN / "tolerances.json").read_text())["other"]


def flip(x):
    return x.flip(3)


def same(x):
    return x


COTTA = {"method": "cotta", "augment": [same, flip], "anchor_threshold": 2.0, "restore": 0.0}
EATA = {"method": "eata", "fisher_batch_size": 32, "beta": 2000.0}
ROTTA = {"method": "rotta", "memory": "cstu", "capacity": 64, "augment": flip}
NOTE = {"method": "note", "memory": "fifo", "capacity": 64}
RESET = {"method": "sar", "lr": 1e-2}
SETTINGS = {
    "source": {"method": "source"},
    "norm": {"method": "norm"},
    "tent": {"method": "tent"},
    "pl_tea": {"method": "pl", "preset": "tea"},
    "pl_bn": {"method": "pl"},
    "pl_bn_lowconf": {"method": "pl", "quirks": "published"},
    "shot": {"method": "shot"},
    "shot_im": {"method": "shot", "beta": 0.0},
    "shot_lowconf": {"method": "shot"},
    "eta_d0.4": {"method": "eta"},
    "eta_d0.05": {"method": "eta", "d_margin": 0.05},
    "eta_d0.4_reset": {"method": "eta", "quirks": {"keep_q"}},
    "eta_tea": {"method": "eta", "preset": "tea"},
    "eata_beta2000": {**EATA, "fisher_data": CLEAN},
    "eata_given_fisher": {**EATA, "beta": 1.0},
    "eata_tea": {**EATA, "preset": "tea", "fisher_data": CLEAN},
    "sar": {"method": "sar"},
    "sar_tea": {"method": "sar", "preset": "tea"},
    "sar_empty": {**RESET, "quirks": {"step_on_empty"}},
    "sar_reset_official": {**RESET, "quirks": "published"},
    "sar_reset_fixed": {**RESET, "quirks": {"keep_momentum"}},
    "sar_reset_fixed_clear": RESET,
    "rotta_flip": ROTTA,
    "rotta_flip_M16": {**ROTTA, "capacity": 16},
    "rotta_identity": {**ROTTA, "augment": same},
    "note_fifo": NOTE,
    "note_fifo_wd5e-4": {**NOTE, "quirks": {"weight_decay"}},
    "note_fifo_bn": {**NOTE, "iabn": False},
    "note_pbrs": {"method": "note"},
    "cotta_flip_rst0": COTTA,
    "cotta_flip_ap0.92": {**COTTA, "anchor_threshold": 0.92},
    "cotta_flip_rst1": {**COTTA, "restore": 1.0},
    "cotta_flip_rst0.01": {**COTTA, "restore": 0.01},
    "cotta_identity_rst0": {**COTTA, "anchor_threshold": 0.0},
    "cotta_identity_rst1": {**COTTA, "anchor_threshold": 0.0, "restore": 1.0},
    "energy": {"method": "energy", "noise": 0.0},
    "energy_noise": {"method": "energy", "noise": 0.01, "steps": 3},
}


class Told(Memory):
    """A memory that holds the recorded rows of the stream, whatever it is offered."""

    def __init__(self, ids):
        super().__init__("fifo", 64, 10)
        self.told = iter(ids)

    def batch(self):
        held = super().batch()
        ids = torch.from_numpy(next(self.told))
        x = STREAM.flatten(0, 1)[ids[ids >= 0]]
        return MemoryBatch(x, held.label, held.uncertainty, held.embedding, held.age)


class Trace:
    """A run of ours beside the recorded one."""

    def __init__(self, name):
        self.name, self.file = name, np.load(FOLDER / f"{name}.npz")
        self.model = self._build(dict(SETTINGS[name]))
        self.logits, self.seen, self.memory_ids, self.memory_ages, self.labels, self.uncertainty = (
            [],
            [],
            [],
            [],
            [],
            [],
        )
        self.q, self.buffers = [], []
        read = self.model.memory.batch

        def batch():
            held = read()
            self.memory_ids.append(self.model.memory.ids.copy())
            self.memory_ages.append(held.age.numpy())
            return held

        self.model.memory.batch = batch
        adapt_once, self.adaptations = self.model.method.adapt, []

        def adapting(batch):
            self.adaptations.append(adapt_once(batch))
            return self.adaptations[-1]

        self.model.method.adapt = adapting
        self._run()

    def _build(self, settings):
        net = golden_net(COMMON)
        if "fc_scale" in self.file:
            with torch.no_grad():
                net.fc.weight.mul_(float(self.file["fc_scale"]))
                net.fc.bias.mul_(float(self.file["fc_scale"]))
        if self.name == "note_pbrs":
            settings |= {"memory": Told(self.file["memory_ids"])}
        if self.name == "eata_given_fisher":
            settings |= {"fisher": self.tensors("fisher."), "anchor": self.tensors("anchor.")}
        if "restore_mask" in self.file:
            settings["draws"] = {"restore_mask": self.file["restore_mask"]}
        if "in.buffer" in self.file:
            names = [name for name in self.file.files if name.startswith("in.")]
            scale = {"buffer": 127, "fresh": 127, "noise": 40}
            arrays = {name[3:]: self.file[name] for name in names}
            settings["draws"] = {
                name: value.astype(np.float32) / scale[name] if name in scale else value
                for name, value in arrays.items()
            }
        return adapt(net, num_classes=10, **{"pairing": "paper", **settings})

    def _run(self):
        order = self.file["batch_order"] if "batch_order" in self.file else range(len(self.file["logits"]))
        for turn, index in enumerate(order):
            outcome = self.model.step(STREAM[index])
            self.logits.append(outcome.prediction.logits.numpy())
            self.labels.append(outcome.prediction.label.numpy())
            self.uncertainty.append(outcome.prediction.uncertainty.numpy())
            self.seen.append(outcome.diagnostics)
            q = getattr(self.model.method, "q", None)
            self.q.append(np.full(10, np.nan) if q is None else q.numpy().copy())
            self.buffers.append({name: b.numpy().copy() for name, b in self.model.model.named_buffers()})
            if self.name == "eta_d0.4_reset" and turn == 9:
                self.model.reset()

    def tensors(self, prefix):
        names = [name for name in self.file.files if name.startswith(prefix)]
        return {name[len(prefix) :]: torch.from_numpy(np.array(self.file[name])) for name in names}

    def measured(self, name):
        return np.array([seen.get(name, np.nan) for seen in self.seen])


@cache
def run(name):
    return Trace(name)


@pytest.fixture(params=sorted(SETTINGS))
def trace(request):
    return run(request.param)


def test_every_recorded_trajectory_is_run():
    files = {path.stem for path in FOLDER.glob("*.npz")} - {"common"}
    assert len(files) == 37
    assert files == set(SETTINGS) == set(TOLERANCES)


def test_logits(trace):
    got, recorded = np.stack(trace.logits), trace.file["logits"]
    assert len(got) == (4 if trace.name == "energy_noise" else 20)
    np.testing.assert_allclose(got, recorded, atol=TOLERANCES[trace.name]["logits"], rtol=0)
    if trace.name == "energy":
        np.testing.assert_allclose(got[:5], recorded[:5], atol=1e-4, rtol=0)


def compare(parameters, recorded, tolerance):
    for name, value in recorded.items():
        np.testing.assert_allclose(parameters[name].detach().numpy(), value.numpy(), atol=tolerance, rtol=0)


def test_final_parameters(trace):
    tolerances, method = TOLERANCES[trace.name], trace.model.method
    mine = dict(method.model.named_parameters()) | dict(method.model.named_buffers())
    if "params" in tolerances and trace.name != "norm":
        final = trace.tensors("final.")
        assert len(final) >= 4
        compare(mine, {name: value for name, value in final.items() if "running" not in name}, tolerances["params"])
        compare(mine, {name: value for name, value in final.items() if "running" in name}, OTHER["buffers"])
    for who in ("student", "teacher"):
        if who not in tolerances:
            continue
        recorded = trace.tensors(f"{who}.")
        assert len(recorded) == 8
        net = method.model if who == "student" else method.teacher
        state = net.state_dict()
        state |= {f"{layer}.mean": state[f"{layer}.running_mean"] for layer in ("bn1", "bn2")}
        state |= {f"{layer}.var": state[f"{layer}.running_var"] for layer in ("bn1", "bn2")}
        compare(state, recorded, tolerances[who])


def test_the_teachers_statistics_where_parameters_are_noise():
    trace = run("rotta_identity")
    state = trace.model.method.teacher.state_dict()
    for layer in ("bn1", "bn2"):
        for ours, theirs in (("running_mean", "mean"), ("running_var", "var")):
            np.testing.assert_allclose(
                state[f"{layer}.{ours}"], trace.file[f"teacher.{layer}.{theirs}"], atol=OTHER["buffers"]
            )


def test_a_full_restore_leaves_the_source():
    trace = run("cotta_identity_rst1")
    compare(trace.model.model.state_dict(), trace.tensors("student."), TOLERANCES[trace.name]["student"])


def test_losses(trace):
    if "losses" not in TOLERANCES[trace.name]:
        return
    recorded = trace.file["losses"]
    if trace.name.startswith("sar"):
        got = [seen.get(name, np.nan) for seen in trace.adaptations for name in ("loss", "sharp_loss")]
    elif trace.name.startswith(("eta", "eata")):
        got = [seen["loss"] for seen in trace.adaptations if "loss" in seen]
    else:
        got = [seen.get("loss", np.nan) for seen in trace.adaptations]
    if trace.name.startswith("shot"):  # as published, the loss of a batch without a confident sample is NaN
        unsure = trace.file["num_confident"] == 0
        if trace.name != "shot_im":
            assert np.array_equal(np.isnan(recorded), unsure)
        got = np.where(np.isnan(recorded), np.nan, got)
    np.testing.assert_allclose(got, recorded, atol=TOLERANCES[trace.name]["losses"], rtol=0)


@pytest.mark.parametrize("name", ["pl_tea", "pl_bn", "pl_bn_lowconf", "shot", "shot_im", "shot_lowconf"])
def test_confident_samples(name):
    trace = run(name)
    assert trace.measured("num_confident").tolist() == trace.file["num_confident"].tolist()


@pytest.mark.parametrize("name", [name for name in SETTINGS if name.startswith(("eta", "eata"))])
def test_selections_and_average_of_eata(name):
    trace = run(name)
    if "kept1" in trace.file:
        for count in ("kept1", "kept2"):
            assert trace.measured(count).tolist() == trace.file[count].tolist()
    np.testing.assert_allclose(np.stack(trace.q), trace.file["q"], atol=OTHER["q"])


@pytest.mark.parametrize("name", ["eata_beta2000", "eata_tea"])
def test_fisher_information(name):
    trace = run(name)
    recorded = trace.tensors("fisher.")
    assert len(recorded) == 4
    for parameter, value in recorded.items():
        got = trace.model.method.fisher[parameter]
        np.testing.assert_allclose(got, value, rtol=OTHER["fisher_rtol"], atol=OTHER["fisher_atol"])


@pytest.mark.parametrize("name", [name for name in SETTINGS if name.startswith("sar")])
def test_recoveries_and_average_of_sar(name):
    trace = run(name)
    assert trace.measured("recovered").tolist() == trace.file["reset"].tolist()
    np.testing.assert_allclose(trace.measured("ema"), trace.file["ema"], atol=OTHER["ema"])
    if "momentum_abs_sum_end" in trace.file:
        states = trace.model.method.optimizer.state.values()
        total = sum(float(state["momentum_buffer"].abs().sum()) for state in states)
        assert total == pytest.approx(float(trace.file["momentum_abs_sum_end"]), rel=1e-3)


@pytest.mark.parametrize("name", ["rotta_flip", "rotta_flip_M16", "rotta_identity"])
def test_memory_of_rotta(name):
    trace = run(name)
    assert len(trace.memory_ids) == len(trace.file["memory_ids"])
    for got, ages, recorded, recorded_ages in zip(
        trace.memory_ids, trace.memory_ages, trace.file["memory_ids"], trace.file["memory_ages"], strict=True
    ):
        assert got.tolist() == recorded[recorded >= 0].tolist()
        there = recorded >= 0
        assert ages.tolist() == pytest.approx(recorded_ages[there].tolist())
    assert np.concatenate(trace.labels).tolist() == trace.file["pseudo_label"].tolist()
    np.testing.assert_allclose(np.concatenate(trace.uncertainty), trace.file["uncertainty"], atol=OTHER["uncertainty"])


@pytest.mark.parametrize("name", ["note_fifo", "note_fifo_bn", "note_fifo_wd5e-4"])
def test_memory_of_note(name):
    trace = run(name)
    assert [sorted(ids) for ids in trace.memory_ids] == [sorted(ids) for ids in trace.file["memory_ids"].tolist()]


@pytest.mark.parametrize("name", [name for name in SETTINGS if name.startswith("cotta")])
def test_confidence_of_the_anchor(name):
    trace = run(name)
    got = trace.measured("anchor_confidence")
    np.testing.assert_allclose(got, trace.file["anchor_confidence"], atol=OTHER["anchor_confidence"])


def test_restored_elements_are_in_the_recorded_order():
    recorded = np.load(FOLDER / "cotta_flip_rst0.01.npz")
    assert recorded["param_order"].tolist() == [name for name, _ in golden_net(COMMON).named_parameters()]


@pytest.mark.parametrize("name", ["energy", "energy_noise"])
def test_images_of_energy(name):
    trace = run(name)
    given = {"pairing": "paper", **SETTINGS[name], "draws": trace.model.method.hyper.draws}
    method = adapt(golden_net(COMMON), num_classes=10, **given).method
    fakes = method.dream(STREAM[0])
    np.testing.assert_allclose(fakes, trace.file["x_fake_batch0"], atol=OTHER["x_fake_batch0"])
    if name == "energy_noise":
        got, recorded = trace.model.method.buffer.numpy(), trace.file["buffer_final"]
        np.testing.assert_allclose(got, recorded, atol=OTHER["energy_noise.buffer_final"])


def test_running_statistics_of_norm():
    trace = run("norm")
    names = [name for name in trace.file.files if name.startswith("buffers.") and "num_batches" not in name]
    assert len(names) == 4
    for name in names:
        got = np.stack([buffers[name[len("buffers.") :]] for buffers in trace.buffers])
        np.testing.assert_allclose(got, trace.file[name], atol=OTHER["buffers"])


@pytest.mark.parametrize("name", ["pl_bn_lowconf", "sar_empty", "sar_reset_official", "eta_d0.4_reset"])
def test_the_sound_default_differs_where_the_quirk_acts(name, monkeypatch):
    monkeypatch.setitem(SETTINGS, name, {**SETTINGS[name], "quirks": ()})
    trace = Trace(name)
    off = np.abs(np.stack(trace.logits) - trace.file["logits"]).max((1, 2))
    tolerance = TOLERANCES[name]["logits"]
    assert off[0] < tolerance
    assert off.max() > 2 * tolerance


@pytest.mark.parametrize("memory", ["fifo", "none"])
def test_a_fifo_of_one_batch_is_the_batch(memory):
    """With capacity = batch size the memory holds just the batch, so TENT must not notice it."""
    capacity = 32 if memory == "fifo" else None
    model = adapt(golden_net(COMMON), "tent", memory, capacity, 10, pairing="paper")
    logits = torch.stack([model(x) for x in STREAM])
    np.testing.assert_allclose(logits, np.load(FOLDER / "tent.npz")["logits"], atol=2e-4)
