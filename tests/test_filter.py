"""gotta.Filter: equal to the priors of the drop-in, one state per key, without torch, safe to save and to load."""

import io
import json
import subprocess
import sys
import threading
import zipfile

import numpy as np
import pytest
import torch

import gotta
from gotta import Filter, GottaError
from gotta.priors import make_prior
from gotta.types import Prediction

CLASSES = 6
pytestmark = pytest.mark.filterwarnings("ignore::gotta.priors.OrderWarning")


def stream(count, run, seed=0, sure=2.0):
    rng = np.random.default_rng(seed)
    labels = np.repeat(rng.integers(0, CLASSES, count // run + 1), run)[:count]
    logits = torch.from_numpy(rng.normal(size=(count, CLASSES)) + sure * np.eye(CLASSES)[labels])
    return logits, logits.softmax(1).numpy(), labels


def prior_probs(name, logits):
    return make_prior(name).follow(Prediction(logits)).logits.softmax(1).numpy()


def test_it_needs_no_torch():
    code = "import sys, gotta; f = gotta.Filter(3); f([.2, .3, .5]); f.explain(); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


@pytest.mark.parametrize("name", ["patient", "sticky"])
@pytest.mark.parametrize("run", [1, 7, 300])
@pytest.mark.parametrize("sure", [1.0, 6.0, 30.0])
def test_it_equals_the_prior_of_the_drop_in(name, run, sure):
    logits, probs, _ = stream(900, run, sure=sure)
    expected, found = prior_probs(name, logits), Filter(CLASSES, prior=name)
    whole = found(probs[:400], key=3)
    rest = np.stack([found(row, key=3) for row in probs[400:]])
    np.testing.assert_allclose(np.concatenate([whole, rest]), expected, atol=1e-12)


def test_keys_are_streams_of_their_own_however_they_are_mixed():
    rng = np.random.default_rng(1)
    streams = [stream(120, 9, seed) for seed in range(5)]
    turns = rng.permutation(np.repeat(np.arange(5), 120))
    places = [int((turns[:place] == who).sum()) for place, who in enumerate(turns)]
    mixed = np.stack([streams[who][1][place] for who, place in zip(turns, places, strict=True)])
    found, answers, start = Filter(CLASSES), [], 0
    for size in (1, 2, 37, 200, 360):
        answers.append(found(mixed[start : start + size], key=turns[start : start + size]))
        start += size
    answers = np.concatenate(answers)
    for who, (logits, _, _) in enumerate(streams):
        np.testing.assert_allclose(answers[turns == who], prior_probs("patient", logits), atol=1e-12)
        assert found.explain(who).samples == 120


@pytest.mark.parametrize("name", ["patient", "sticky"])
@pytest.mark.parametrize("classes", [2, 6, 300])
def test_calls_of_one_sample_give_what_a_call_of_many_gives_to_the_bit(name, classes):
    rng = np.random.default_rng(2)
    probs = rng.dirichlet(np.full(classes, 0.3), 200)[np.repeat(np.arange(100), 2)]
    keys = rng.integers(0, 3, 200)
    together, alone = Filter(classes, name), Filter(classes, name)
    whole = together(probs, key=keys)
    rows = [alone(row if at % 2 else row[None], key=key) for at, (row, key) in enumerate(zip(probs, keys, strict=True))]
    assert np.array_equal(whole, np.stack([row.reshape(-1) for row in rows]))
    for key in range(3):
        assert str(together.explain(key)) == str(alone.explain(key))
        assert np.array_equal(together._row(key), alone._row(key))


def test_it_corrects_lonely_errors_in_runs_and_says_why():
    _, probs, labels = stream(4000, 50)
    found = Filter(CLASSES)
    answers = found(probs, key=("camera", 2))
    assert (answers.argmax(1) == labels).mean() > (probs.argmax(1) == labels).mean() + 0.1
    why = found.explain(("camera", 2))
    np.testing.assert_allclose(why.answer, answers[-1], atol=1e-12)
    np.testing.assert_allclose(why.network, probs[-1])
    assert why.acts
    assert why.samples == 4000
    assert why.stickiness > 0.9
    other = (labels[-1] + 1) % CLASSES
    wrong = np.full(CLASSES, 0.13)
    wrong[other] = 0.35
    found(wrong, key=("camera", 2))
    why = found.explain(("camera", 2))
    assert why.changed
    assert (why.network.argmax(), why.prior.argmax(), why.answer.argmax()) == (other, labels[-1], labels[-1])
    assert f"the network says {other} (0.35)" in str(why)
    assert "outweighs" in str(why)


def test_without_proof_the_network_answers_alone():
    found = Filter(CLASSES)
    row = np.array([0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
    np.testing.assert_allclose(found(row), row)
    assert "has no say" in str(found.explain())


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_shape_and_type_are_those_given(kind):
    rows = np.full((3, CLASSES), 1 / CLASSES, kind)
    found = Filter(CLASSES)
    assert found(rows).dtype == found(rows[0]).dtype == kind
    assert found(rows[:0]).shape == (0, CLASSES)
    assert found(rows[0]).shape == (CLASSES,)
    assert found(torch.from_numpy(rows), key=torch.tensor([1, 2, 1])).shape == rows.shape
    assert found(np.eye(CLASSES)[0].astype(int)).dtype == np.float64


def test_a_class_of_probability_0_stays_there():
    found = Filter(3)
    for _ in range(20):
        found([1.0, 0.0, 0.0])
    np.testing.assert_allclose(found([0.0, 1.0, 0.0]), [0, 1, 0])


def test_the_least_recently_used_key_is_forgotten():
    found = Filter(CLASSES, keys=3)
    row = np.full(CLASSES, 1 / CLASSES)
    for key in "abca":
        found(row, key=key)
    found(row, key="d")
    assert list(found) == ["c", "a", "d"]
    assert "b" not in found
    assert found.explain("a").samples == 2
    found(np.tile(row, (5, 1)), key=list("vwxyz"))  # more than are kept
    assert list(found) == ["x", "y", "z"]
    found.forget("y")
    assert len(found) == 2
    found(row, key="y")
    assert found.explain("y").samples == 1


def test_a_hundred_thousand_keys():
    found = Filter(CLASSES, keys=100_000)
    rows = np.random.default_rng(0).dirichlet(np.ones(CLASSES), 1000)
    for start in range(0, 101_000, 1000):
        found(rows, key=np.arange(start, start + 1000))
    assert len(found) == 100_000
    assert 999 not in found
    assert 1000 in found


BAD = {
    "shape": (np.full((2, 5), 0.2), None, "Expected \\[6\\] or"),
    "dimensions": (np.full((1, 1, 6), 1 / 6), None, "do not fit"),
    "logits": (np.arange(6.0), None, "take the softmax"),
    "negative": (np.array([-0.1, 0.5, 0.2, 0.2, 0.1, 0.1]), None, "probabilities"),
    "nan": (np.full(6, np.nan), None, "NaN"),
    "text": ("six", None, "an array"),
    "ragged": ([[0.5, 0.5], [1.0]], None, "an array"),
    "too few keys": (np.full((3, 6), 1 / 6), [1, 2], "2 keys for 3 samples"),
    "many keys for one": (np.full(6, 1 / 6), [1], "one sample"),
    "a float": (np.full(6, 1 / 6), 1.5, "a key must be"),
    "a bool": (np.full(6, 1 / 6), True, "a key must be"),
    "a list of lists": (np.full((1, 6), 1 / 6), [[1]], "a key must be"),
    "bytes": (np.full(6, 1 / 6), b"a", "a key must be"),
    "an empty tuple": (np.full(6, 1 / 6), (), "a key must be"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_clear_error_and_changes_nothing(case):
    probs, key, words = BAD[case]
    found = Filter(CLASSES)
    found(np.full(CLASSES, 1 / CLASSES), key=1)
    with pytest.raises(GottaError, match=words):
        found(probs, key=key)
    assert list(found) == [1]
    assert found.explain(1).samples == 1


def test_bad_settings_and_keys_never_seen():
    for bad in ({"classes": 1}, {"classes": 2.0}, {"classes": 3, "keys": 0}, {"classes": 3, "prior": "patent"}):
        with pytest.raises(GottaError):
            Filter(**bad)
    with pytest.raises(GottaError, match="was not seen"):
        Filter(3).explain("nobody")
    with pytest.raises(GottaError, match="was not seen"):
        Filter(3).forget("nobody")


def test_save_and_load_go_on_bit_for_bit(tmp_path):
    _, probs, _ = stream(300, 20)
    found = Filter(CLASSES, prior="sticky", keys=4)
    keys = [1, "a", ("b", 2), None]
    for key in keys:
        found(probs[:200], key=key)
    found.forget("a")
    found.save(tmp_path / "f.npz")
    again = Filter.load(tmp_path / "f.npz")
    assert list(again) == [1, ("b", 2), None]
    assert repr(again) == repr(found)
    for key in keys:
        np.testing.assert_array_equal(again(probs[200:], key=key), found(probs[200:], key=key))


def test_damaged_foreign_and_hostile_files_are_refused(tmp_path):
    good, bad = tmp_path / "good.npz", tmp_path / "bad.npz"
    found = Filter(CLASSES)
    found(np.full((2, CLASSES), 1 / CLASSES), key=[1, 2])
    found.save(good)
    with np.load(good) as file:
        table, about = file["table"], json.loads(file["about"].tobytes())

    def write(table=table, save=np.savez, **changed):
        text = json.dumps({**about, **changed}).encode()
        save(bad, table=table, about=np.frombuffer(text, np.uint8))

    nan, lost = table.copy(), table.copy()
    nan[0, 0], lost[0, -2 * CLASSES - 4] = np.nan, 7  # the chosen temperature
    cases = [
        lambda: bad.write_bytes(good.read_bytes()[:300]),
        lambda: bad.write_bytes(b"not a zip"),
        lambda: write(nan),
        lambda: write(lost),
        lambda: write(table[:1]),
        lambda: write(table.astype(np.float32)),
        lambda: write(rows=[1, 1]),
        lambda: write(rows=[1, 2.5]),
        lambda: write(format=2),
        lambda: write(keys=1),
        lambda: write(classes=7),
        lambda: write(extra=1),
        lambda: write(np.array([object()])),
        lambda: write(save=np.savez_compressed),
    ]
    for make in cases:
        make()
        with pytest.raises(GottaError, match=r"bad\.npz"):
            Filter.load(bad)
    with pytest.raises(GottaError):
        Filter.load(tmp_path / "missing.npz")


def test_nothing_is_unpickled(tmp_path):
    content = io.BytesIO()
    np.save(content, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(tmp_path / "f.npz", "w") as archive:
        archive.writestr("table.npy", content.getvalue())
        archive.writestr("about.npy", content.getvalue())
    with pytest.raises(GottaError, match="allow_pickle"):
        Filter.load(tmp_path / "f.npz")


def test_threads_share_it():
    logits, probs, _ = stream(200, 10)
    found = Filter(CLASSES)
    answers = {}

    def work(key):
        answers[key] = np.stack([found(row, key=key) for row in probs])

    threads = [threading.Thread(target=work, args=(key,)) for key in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for key in range(4):
        np.testing.assert_allclose(answers[key], prior_probs("patient", logits), atol=1e-12)


class Cut(BaseException):
    """Stands for an interrupt."""


def test_an_interrupt_leaves_each_key_as_before_or_as_after():
    """Cut off at every line: the answer to the same samples again is that of the state before or of the one after."""
    _, probs, _ = stream(60, 10)

    def prepared():
        found = Filter(CLASSES, keys=3)
        found(probs[:40], key="a")
        found(probs[:30], key="b")
        return found

    def probe(found, key):
        return found(probs[50], key=key)

    before, after = prepared(), prepared()
    after(probs[40:44], key=["a", "c", "a", "d"])
    expected = {key: (probe(before, key), probe(after, key)) for key in "acd"}
    cuts, place = 0, 0
    while True:
        found, lines = prepared(), [0]

        def trace(frame, event, argument, lines=lines, place=place):
            if frame.f_code.co_filename != gotta.filter.__file__:
                return None
            if event == "line":
                lines[0] += 1
                if lines[0] > place:
                    raise Cut
            return trace

        sys.settrace(trace)
        try:
            found(probs[40:44], key=["a", "c", "a", "d"])
            done = True
        except Cut:
            done = False
        finally:
            sys.settrace(None)
        for key in "acd":
            answer = probe(found, key)
            assert any(np.array_equal(answer, state) for state in expected[key]), (place, key)
        assert len(found) <= 3
        if done:
            break
        cuts, place = cuts + 1, place + 1
    assert cuts > 50
