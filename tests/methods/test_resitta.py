"""ResiTTA beside its published code."""

import torch
from rivals import STREAM, Told, assert_same, assert_same_state, build, published, run
from tiny import seeded_net

FLIP = {"augment": lambda x: x.flip(3)}


def test_the_published_trajectory():
    recorded = published("resitta")
    model = build("resitta", memory=Told(recorded["memory_ids"], 32), quirks="published", **FLIP)
    assert_same(run(model)[0], recorded["logits"], 2e-4)
    assert_same_state(model.method.model, recorded, "student", 8)
    assert_same_state(model.method.teacher, recorded, "teacher", 8)


def test_statistics_are_pulled_back_by_twice_the_setting():
    x = torch.rand(16, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    free, pulled = (
        build("resitta", seeded_net(), memory="fifo", capacity=16, pull=pull, **FLIP) for pull in (0.0, 0.25)
    )
    free(x)
    pulled(x)
    now, before = free.model.bn1.running_mean, seeded_net().bn1.running_mean
    torch.testing.assert_close(pulled.model.bn1.running_mean, 0.5 * now + 0.5 * before)
    deviations = [(var + 1e-5).sqrt() for var in (free.model.bn1.running_var, seeded_net().bn1.running_var)]
    torch.testing.assert_close((pulled.model.bn1.running_var + 1e-5).sqrt(), sum(deviations) / 2)


def test_ages_do_not_count():
    young, old = (
        build("resitta", seeded_net(), memory="fifo", capacity=size, adapt_every=12, **FLIP) for size in (12, 24)
    )
    x = STREAM[0][:12]
    assert young.step(x).diagnostics == old.step(x).diagnostics
