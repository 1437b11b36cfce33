from gotta.experiment.spec.run_spec import RunSpec


def spec(**changes):
    return RunSpec.of({"method": {"name": "norm"}, "memory": {"name": "fps", "capacity": 32}, **changes})


def test_controls_are_named_combinations_in_steps_of_the_memory_rows():
    running = spec(control="running_statistics")
    assert (running.memory.name, running.method.statistics, running.method.fed_by) == ("none", "running", "batch")
    assert (running.regime.batch_size, running.regime.adapt_every) == (32, None)
    same = spec(control="same_samples")
    assert (same.memory.name, same.method.statistics, same.regime.batch_size) == ("none", "batch", 32)
    for name in ("true_kcenter", "true_cstu", "true_pbrs"):
        told = spec(control=name)
        assert (told.memory.name, told.method.statistics, told.regime.adapt_every) == (name, "running", 32)


def test_the_control_of_domain_statistics_leaves_them_as_they_are_told():
    known = spec(control="domain_statistics")
    assert (known.memory.name, known.method.statistics, known.method.rate) == ("none", "source", None)
    assert known.regime.batch_size == spec(control="same_samples").regime.batch_size
