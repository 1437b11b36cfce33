import pytest
from tiny import seeded_net

from gotta import GottaError, adapt
from gotta.core.pairing import PAIRINGS, choose_statistics
from gotta.methods import methods
from gotta.priors import Patient
from gotta.statistics import Running


def test_the_papers_pairing_is_the_methods_own():
    norm = methods.get("norm")
    assert choose_statistics(norm, has_memory=False) == norm.native
    assert choose_statistics(norm, has_memory=True) == Running("memory", 0.05)
    assert choose_statistics(methods.get("tent"), has_memory=True).name == "batch"


def test_pairing_memory_gives_running_statistics_to_all_that_have_a_memory():
    for name in methods.names():
        method = methods.get(name)
        assert choose_statistics(method, True, "memory").name == "running"
        assert choose_statistics(method, False, "memory") == method.native


def test_pairing_safe_gives_class_statistics_to_all_without_a_memory_whose_own_depend_on_others():
    for name, source in (("norm", "class"), ("tent", "class"), ("rotta", "class"), ("source", "source")):
        assert choose_statistics(methods.get(name), False, "safe").name == source
    assert choose_statistics(methods.get("tent"), True, "safe") == Running("memory")
    assert choose_statistics(methods.get("rotta"), False, "safe", rate=0.1).name == "running", "told a rate"


def test_what_is_given_wins():
    chosen = choose_statistics(methods.get("tent"), True, statistics="running", fed_by="batch", rate=0.2)
    assert chosen == Running("batch", 0.2)


def test_an_unknown_pairing():
    assert PAIRINGS == ("paper", "memory", "safe")
    with pytest.raises(GottaError, match="Did you mean 'paper'"):
        choose_statistics(methods.get("norm"), True, "papr")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"capacity": 8}, "capacity=8 is for a memory, and there is none"),
        ({"prior": Patient(), "order_in_batch": "none"}, "must be given to the prior itself"),
        ({"statistics": Running(), "rate": 0.1}, "must be given to the statistics themselves"),
        ({"memory": "fps", "capacity": 8}, "memory='fps' is for methods that adapt on samples, .* 'deskew'"),
        ({"embedding": "logits"}, "embedding='logits' is for methods that adapt on samples, .* 'deskew'"),
        ({"lr": 0.1}, "argument of method 'deskew' 'lr' is unknown"),
        ({"optimizer": "sgd"}, "argument of method 'deskew' 'optimizer' is unknown"),
        ({"method": "norm", "lr": 0.1}, "argument of method 'norm' 'lr' is unknown"),
        ({"temperature": 2.0}, "argument of method 'deskew' 'temperature' is unknown"),
        ({"method": "norm", "rate": 0.1}, "rate=0.1 is for statistics='running', not 'batch'"),
        ({"method": "tent", "statistics": "source", "rate": 0.1}, "statistics='running', not 'source'"),
        ({"method": "tent", "statistics": "batch", "fed_by": "batch"}, "fed_by='batch' is for statistics='running'"),
        ({"method": "norm", "statistics": "gated", "rate": 0.1}, "take no rate"),
        ({"method": "tent", "labels": "raw"}, "labels='raw' is for a prior, and there is none"),
        ({"prior": "none", "order_in_batch": "none"}, "order_in_batch='none' is for a prior"),
    ],
)
def test_a_setting_that_nothing_reads_is_one_error(settings, words):
    with pytest.raises(GottaError, match=words):
        adapt(seeded_net(), **settings)


def test_settings_that_something_reads_are_taken():
    adapt(seeded_net(), labels="raw", order_in_batch="none")
    adapt(seeded_net(), "tent", prior="sticky", labels="raw")
    adapt(seeded_net(), "norm", statistics="running", fed_by="batch", rate=0.1)
    adapt(seeded_net(), "norm", statistics="class", fed_by="batch")
    adapt(seeded_net(), "tent", "fps", 8, embedding="logits", adapt_every=4)
