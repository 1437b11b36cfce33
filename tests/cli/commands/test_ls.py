"""`gotta ls` as a user types it."""

import re
from importlib.metadata import EntryPoint

from cli.shell import as_in_a_shell, gotta  # noqa: F401

from gotta.memory import policies


def test_ls_names_everything():
    listed = gotta("ls")
    for name in ("fps", "reservoir", "tent", "resnet20", "cifar10-mini", "glass_blur", "dirichlet", "gradual", "mini"):
        assert re.search(rf"\b{name}\b", listed), name
    assert "tent" not in gotta("ls", "memories")


def test_one_kind_is_listed_without_looking_at_the_others(monkeypatch):
    monkeypatch.delattr("gotta.models.zoo.parameters")  # which builds a network
    assert "table1" in gotta("ls", "recipes")
    assert "fps" in gotta("ls", "memories")


def test_ls_does_not_cut_sentences():
    listed = gotta("ls")
    entries = [entry for entry in re.split(r"\n(?=\S|  \S)", listed) if entry.startswith("  ")]
    assert len(entries) > 100
    text = " ".join(listed.split())
    assert " ".join(policies.get("fps").__doc__.split("\n\n")[0].split()) in text
    for kind in ("memories", "methods", "orders", "schedules"):
        for entry in re.split(r"\n(?=  \S)", gotta("ls", kind).rstrip())[1:]:
            assert " ".join(entry.split()).endswith((".", ")", "...")), entry


def test_a_plug_in_that_cannot_be_imported_is_named_beside_the_others(monkeypatch):
    policies.names()  # finds the plug-ins that there are
    monkeypatch.setitem(policies._plug_ins, "broken", EntryPoint("broken", "nowhere:Broken", "gotta_tta.memory"))
    listed = " ".join(gotta("ls", "memories").split())
    assert "broken the plug-in memory 'broken' (nowhere:Broken) cannot be imported" in listed
    assert "reservoir Keep a uniformly random subset" in listed


def test_streams_are_orders_and_schedules():
    listed = gotta("ls", "streams")
    assert all(word in listed for word in ("orders", "dirichlet", "schedules", "continual", "domain-orders"))
    assert "memories" not in listed
