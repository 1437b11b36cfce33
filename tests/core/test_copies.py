"""Copies of many tensors bring back every bit, whatever their shapes, types and layouts."""

import torch

from gotta.core.copies import Copies


def some_tensors():
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(2, 3, 4, 4, generator=generator)
    return [
        torch.rand(5, generator=generator),
        torch.rand(3, generator=generator),
        images,
        images.clone(memory_format=torch.channels_last),
        torch.tensor(3),
        torch.tensor(4),
        torch.tensor(0.5),
        torch.arange(4),
        torch.rand(2, 2, generator=generator).bfloat16(),
        torch.complex(torch.ones(2), torch.zeros(2)),
        torch.rand(6, generator=generator)[::2],
        torch.zeros(0),
    ]


def test_all_come_back():
    tensors = some_tensors()
    copies = Copies(tensors)
    for value in tensors:
        value.zero_()
    copies.back()
    assert all(torch.equal(value, other) for value, other in zip(tensors, some_tensors(), strict=True))


def test_any_number_that_is_not_finite_is_found():
    assert Copies([]).finite()
    assert Copies(some_tensors()).finite()
    for at, value in enumerate(some_tensors()):
        if value.numel() and (value.is_floating_point() or value.is_complex()):
            for bad in (float("nan"), float("inf"), -float("inf")):
                tensors = some_tensors()
                tensors[at][(-1,) * value.ndim] = bad
                assert not Copies(tensors).finite(), at
