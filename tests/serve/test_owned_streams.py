import json

import pytest
import torch
from tiny import seeded_net

import gotta
from gotta import GottaError
from gotta.experiment.sweep import leases as leases_module
from gotta.serve.owned_streams import StreamStore, check_stream


class Note:
    """Something to save: one text."""

    def __init__(self, text=""):
        self.text = text

    def save(self, path, beside):
        path.mkdir(parents=True, exist_ok=True)
        (path / "note.json").write_text(json.dumps({"text": self.text, "beside": dict(beside)}))

    def load(self, path):
        said = json.loads((path / "note.json").read_text())
        self.text = said["text"]
        return said["beside"]


@pytest.fixture
def store(tmp_path):
    return StreamStore(tmp_path, beat=3600)


def take_over(store, lease, patch):
    """Another replica claims the stream, having found the owner dead."""
    other = StreamStore(store.root, beat=3600)
    with patch.context() as inside:
        inside.setattr(leases_module, "is_alive_here", lambda holder: False)
        return other, other.claim(lease.id)


def test_a_stream_has_one_owner(store):
    lease = store.claim("camera-1")
    with pytest.raises(GottaError, match=r"camera-1.*another replica"):
        StreamStore(store.root, beat=3600).claim("camera-1")
    store.claim("camera-2")
    store.release(lease)
    assert StreamStore(store.root, beat=3600).claim("camera-1").number == 2


def test_the_next_owner_goes_on_from_what_was_saved(store):
    lease = store.claim("a")
    assert store.restore(lease, Note()) == 0
    store.save(lease, Note("first"), 0)
    store.save(lease, Note("second"), samples=12)
    store.release(lease)
    note, next_lease = Note(), store.claim("a")
    assert store.restore(next_lease, note) == 12
    assert (note.text, next_lease.number) == ("second", 2)


def test_the_save_of_a_stale_owner_is_refused(store, monkeypatch):
    stale = store.claim("a")
    store.save(stale, Note("old"), 0)
    other, lease = take_over(store, stale, monkeypatch)
    assert lease.number == stale.number + 1
    for attempt in (
        lambda: store.save(stale, Note("stale"), 0),
        lambda: store.snapshot(stale, Note("stale"), 0),
        lambda: store.roll_back(stale, Note("stale"), 1, 0),
    ):
        with pytest.raises(GottaError, match="newer owner than number 1"):
            attempt()
    note = Note()
    other.restore(lease, note)
    assert note.text == "old"


@pytest.mark.parametrize("saved_first", [False, True])
def test_a_save_that_a_stale_owner_had_begun_overwrites_nothing(store, monkeypatch, saved_first):
    """It passed the check, was stopped, and its write arrives after the new owner's."""
    stale = store.claim("a")
    other, lease = take_over(store, stale, monkeypatch)
    if saved_first:
        other.save(lease, Note("new"), 0)
    monkeypatch.setattr("gotta.serve.owned_streams.check_owner", lambda lease: None)
    store.save(stale, Note("stale"), 0)
    if not saved_first:
        other.save(lease, Note("new"), 0)
    other.release(lease)
    note = Note()
    other.restore(other.claim("a"), note)
    assert note.text == "new"


def test_a_replica_elsewhere_is_thought_dead_after_the_limit_without_a_heartbeat(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(leases_module, "is_alive_here", lambda holder: None)
    monkeypatch.setattr(leases_module.time, "monotonic", lambda: now[0])
    StreamStore(tmp_path, beat=3600).claim("a")
    other = StreamStore(tmp_path, beat=3600, limit=10)
    for now[0] in (0.0, 9.0):
        with pytest.raises(GottaError, match="another replica"):
            other.claim("a")
    now[0] = 11.0
    assert other.claim("a").number == 2


def test_rolling_back_is_saved_at_once(store):
    lease = store.claim("a")
    assert [store.snapshot(lease, Note(text), 0) for text in ("one", "two")] == [1, 2]
    store.save(lease, Note("three"), 0)
    note = Note()
    store.roll_back(lease, note, 1, 0)
    assert note.text == "one"
    store.release(lease)
    store.restore(store.claim("a"), note := Note())
    assert note.text == "one"


def test_an_unknown_snapshot_is_refused_and_nothing_changes(store):
    lease = store.claim("a")
    store.snapshot(lease, Note("one"), 0)
    note = Note("now")
    with pytest.raises(GottaError, match=r"no snapshot 7. It has: 1"):
        store.roll_back(lease, note, 7, 0)
    assert note.text == "now"


def test_the_state_of_another_stream_is_refused(store):
    lease = store.claim("a")
    store.save(lease, Note("a"), 0)
    (store.root / "streams" / "a").rename(store.root / "streams" / "b")
    with pytest.raises(GottaError, match=r"is the state of stream 'a'\. Expected 'b'"):
        store.restore(store.claim("b"), Note())


def test_forgetting_takes_a_stream_that_nobody_holds(store):
    lease = store.claim("a")
    store.save(lease, Note("a"), 0)
    with pytest.raises(GottaError, match="another replica"):
        StreamStore(store.root, beat=3600).forget("a")
    store.release(lease)
    store.forget("a")
    assert store.restore(store.claim("a"), Note()) == 0


@pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "a/b", "a\\b", "a b", "ü", "a" * 129, "a\n", "../x"])
def test_a_name_that_is_no_folder_is_refused(name):
    with pytest.raises(GottaError, match="is not a name"):
        check_stream(name)


def test_all_replicas_read_one_mode(store):
    assert store.mode("live") == "live"
    assert store.mode("shadow") == "shadow"
    store.set_mode("shadow")
    assert StreamStore(store.root).mode("live") == "shadow"
    (store.root / "mode.json").write_text("{")
    with pytest.raises(GottaError, match=r"mode.json is damaged"):
        store.mode("live")


def test_an_adapted_model_goes_on_bit_for_bit_with_its_fencing_number(store):
    batches = torch.rand(4, 8, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    model, again = (gotta.adapt(seeded_net(), num_classes=10) for _ in range(2))
    lease = store.claim("a")
    for x in batches[:2]:
        model(x)
    store.save(lease, model, 0)
    record = json.loads(next((store.root / "streams" / "a").rglob("*.json")).read_text())
    assert record["state"]["beside"] == {"stream": "a", "fence": 1, "samples": 0}
    store.release(lease)
    store.restore(store.claim("a"), again)
    for x in batches[2:]:
        assert torch.equal(model(x), again(x))


def test_a_state_of_another_network_is_refused_and_kept(store):
    lease = store.claim("a")
    store.save(lease, gotta.adapt(seeded_net(seed=0), num_classes=10), 0)
    with pytest.raises(GottaError, match="another network"):
        store.restore(lease, gotta.adapt(seeded_net(seed=1), num_classes=10))
    store.release(lease)
    assert store.restore(store.claim("a"), gotta.adapt(seeded_net(seed=0), num_classes=10)) == 0
