"""What is set for CUDA can be set without it."""

import os

import pytest
import torch

from gotta.experiment.run.environment import read_settings, settle_device
from gotta.experiment.spec.run_spec import RunSpec


@pytest.fixture
def as_before(monkeypatch):
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    torch.use_deterministic_algorithms(False)
    before = matmul.allow_tf32, cudnn.allow_tf32, cudnn.benchmark
    yield
    matmul.allow_tf32, cudnn.allow_tf32, cudnn.benchmark = before
    torch.use_deterministic_algorithms(False)
    os.environ.pop("CUBLAS_WORKSPACE_CONFIG", None)


def test_cuda_repeats_its_numbers_and_a_processor_is_left_alone(as_before):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.benchmark = True
    before = read_settings()
    settle_device("cpu")
    assert read_settings() == before
    settle_device("cuda:1")
    assert read_settings() == {
        "deterministic_algorithms": True,
        "cudnn.benchmark": False,
        "allow_tf32": False,
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    }
    settle_device("cuda", deterministic=False)
    assert read_settings() == {**before, "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}


def test_other_settings_of_the_device_are_another_run():
    one, two = RunSpec.of({}), RunSpec.of({"regime": {"deterministic": False}})
    assert one.regime.deterministic
    assert one.id != two.id
