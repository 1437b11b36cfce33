"""The shadow: the source answers bit for bit, the adapted model's worth is counted, and there is a way back."""

import threading

import pytest
import torch
from tiny import seeded_net
from whole_state import frozen_state

import gotta
from gotta import GottaError
from gotta.core import resume
from gotta.core import shadow as module

CLASSES = 10
METHODS = {"deskew": {}, "tent": {"memory": "fps", "capacity": 16}, "norm": {"pairing": "paper"}}
pytestmark = pytest.mark.filterwarnings("ignore::gotta.priors.OrderWarning")


def batches(count=6, size=8, seed=0):
    return list(torch.rand(count, size, 3, 8, 8, generator=torch.Generator().manual_seed(seed)))


def shadowed(method="tent", **more):
    return gotta.adapt(seeded_net(), method, **METHODS[method], shadow=True, **more)


@pytest.mark.parametrize("method", METHODS)
def test_the_source_answers_and_the_adapted_model_runs_beside_it(method):
    net, model = seeded_net().eval(), shadowed(method)
    alone = gotta.adapt(seeded_net(), method, **METHODS[method])
    for x in batches():
        expected, outcome = alone(x), model.step(x)
        torch.testing.assert_close(outcome.output, net(x), rtol=0, atol=0)
        torch.testing.assert_close(outcome.beside.logits, expected, rtol=0, atol=0)
    model.promote()
    for x in batches(seed=1):
        expected, outcome = alone(x), model.step(x)
        torch.testing.assert_close(outcome.output, expected, rtol=0, atol=0)
        torch.testing.assert_close(outcome.beside.logits, net(x), rtol=0, atol=0)
    model.demote()
    x = batches(1, seed=2)[0]
    torch.testing.assert_close(model(x), net(x), rtol=0, atol=0)


def test_the_report_counts_agreement_and_the_gain_of_labels():
    model, source, adapted = shadowed("norm"), [], []
    for x in batches(12):
        outcome = model.step(x)
        source += outcome.prediction.label.tolist()
        adapted += outcome.beside.label.tolist()
    assert outcome.ids == list(range(88, 96))
    assert source != adapted
    truth = [a if place % 3 else s for place, (s, a) in enumerate(zip(source, adapted, strict=True))]
    model.feedback(list(range(40)), truth[:40])
    model.feedback(torch.arange(40, 90), torch.tensor(truth[40:90]))
    report = model.report()
    right = [[said == true for said, true in zip(one[:90], truth[:90], strict=True)] for one in (source, adapted)]
    assert (report.samples, report.labelled, report.waiting, report.live) == (96, 90, 6, False)
    assert report.agreement == sum(s == a for s, a in zip(source, adapted, strict=True)) / 96
    assert report.accuracy_source == pytest.approx(sum(right[0]) / 90)
    assert report.accuracy_adapted == pytest.approx(sum(right[1]) / 90)
    assert report.gain == pytest.approx((sum(right[1]) - sum(right[0])) / 90)
    assert report.gain_low < report.gain < report.gain_high
    assert "95 % interval" in str(report)
    assert 1 <= report.classes_adapted <= CLASSES


def test_before_anything_happened():
    report = shadowed().report()
    assert (report.samples, report.agreement, report.gain) == (0, None, None)
    assert str(report) == "the source answers; 0 samples"


def test_ids_of_the_callers_own():
    model = shadowed()
    x = batches(1)[0]
    model(x, ids=[f"request {place}" for place in range(8)])
    model.feedback(["request 3"], [1])
    assert model.report().labelled == 1
    for bad in (["a"] * 8, ["a"], [1.5] * 8, [f"request {place}" for place in range(8)]):
        with pytest.raises(GottaError, match=r"name each of the 8|named by"):
            model(x, ids=bad)
    assert model.report().samples == 8
    with pytest.raises(GottaError, match="shadow=True"):
        gotta.adapt(seeded_net())(x, ids=list(range(8)))


@pytest.mark.parametrize(
    ("ids", "labels", "words"),
    [
        ([99], [0], "never seen"),
        ([0, 99], [0, 0], "None of these"),
        ([1, 1], [0, 0], "no sample waits"),
        ([0, 1], [0], "do not go together"),
        ([0], [CLASSES], "from 0 to 9"),
        ([0], [-1], "from 0 to 9"),
        ([0], [1.0], "whole number"),
        ([None], [1], "a sample is named by"),
    ],
)
def test_bad_feedback_is_one_error_and_counts_nothing(ids, labels, words):
    model = shadowed()
    model(batches(1)[0])
    before = model.report()
    with pytest.raises(GottaError, match=words):
        model.feedback(ids, labels)
    assert model.report() == before
    model.feedback([0], [1])
    with pytest.raises(GottaError, match="has its label already"):
        model.feedback([0], [1])


def test_labels_that_come_too_late(monkeypatch):
    monkeypatch.setattr(module, "WAITING", 12)
    model = shadowed()
    for x in batches(3):
        model(x)
    assert model.report().waiting == 12
    with pytest.raises(GottaError, match="the last 12"):
        model.feedback([11], [0])
    model.feedback([12, 23], [0, 0])


def test_a_step_that_the_adapted_model_cannot_make_is_answered_by_the_source():
    net, model = seeded_net().eval(), shadowed("norm")
    x = batches(1)[0]
    model(x)
    torch.testing.assert_close(model(x[:1]), net(x[:1]), rtol=0, atol=0)  # no batch statistics of one sample
    report = model.report()
    assert (report.refused, report.samples) == (1, 8)
    assert "1 steps only the source" in str(report)
    model.promote()
    with pytest.raises(GottaError, match="one sample"):
        model(x[:1])
    with pytest.raises(GottaError, match="NaN"):
        shadowed()(torch.full((2, 3, 8, 8), torch.nan))


def test_what_needs_a_shadow_says_so():
    model = gotta.adapt(seeded_net())
    for ask in (model.report, model.promote, model.demote, lambda: model.feedback([0], [0])):
        with pytest.raises(GottaError, match="shadow=True"):
            ask()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shadow", [False, True])
def test_rollback_goes_back_bit_for_bit(method, shadow):
    model = gotta.adapt(seeded_net(), method, **METHODS[method], shadow=shadow)
    if shadow:
        model.promote()
    for x in batches(3):
        model(x)
    number = model.snapshot()
    expected = [model(x) for x in batches(4, seed=1)]
    model.rollback(number)
    assert model.offered == 24
    again = [model(x) for x in batches(4, seed=1)]
    torch.testing.assert_close(again, expected, rtol=0, atol=0)


def test_snapshots_are_numbered_and_bounded():
    model = shadowed()
    assert [model.snapshot() for _ in range(7)] == [1, 2, 3, 4, 5, 6, 7]
    assert list(model.snapshots) == [3, 4, 5, 6, 7]
    for bad in (2, 8, "3", None):
        with pytest.raises(GottaError, match=r"Kept: 3, 4, 5, 6, 7"):
            model.rollback(bad)


def test_save_and_load_keep_the_shadow_and_the_snapshots(tmp_path):
    model = shadowed()
    for x in batches(3):
        model(x)
    number = model.snapshot()
    model(batches(1, seed=3)[0], ids=[f"r{place}" for place in range(8)])
    model.feedback([1, "r2"], [0, 1])
    model.promote()
    model.save(tmp_path)
    again = gotta.load(tmp_path, seeded_net())
    assert again.report() == model.report()
    assert again.report().live
    for one in (model, again):
        one.feedback([5, "r3"], [0, 1])
        one.rollback(number)
    x = batches(1, seed=4)[0]
    torch.testing.assert_close(again(x), model(x), rtol=0, atol=0)
    assert again.report() == model.report()


def test_reset_forgets_what_was_counted_and_not_who_answers():
    model = shadowed()
    model(batches(1)[0])
    model.promote()
    model.reset()
    assert (model.report().samples, model.report().live) == (0, True)


def test_an_interrupt_leaves_shadow_and_model_as_they_were(monkeypatch):
    model = shadowed()
    for x in batches(3):
        model(x)
    before = model.report()
    with monkeypatch.context() as patch:

        def cut(*_):
            raise KeyboardInterrupt

        patch.setattr(model.method, "adapt", cut)
        with pytest.raises(KeyboardInterrupt):
            model(batches(1, seed=1)[0])
    assert model.report() == before
    assert model.offered == 24
    assert model.step(batches(1, seed=1)[0]).ids == list(range(24, 32))


def test_on_step_hears_of_each_step_and_its_errors_harm_none(caplog):
    heard = []
    model = gotta.adapt(seeded_net(), on_step=heard.append)
    x = batches(1)[0]
    out = model(x)
    assert len(heard) == 1
    assert heard[0].output is out

    def fail(outcome):
        model.snapshot()  # a step has ended by then
        raise RuntimeError("the log is full")

    model.on_step = fail
    model(x)
    assert "the log is full" in caplog.text
    assert (model.offered, list(model.snapshots)) == (16, [1])


def test_threads_predict_and_feed_back_at_once():
    model, failed = shadowed(), []

    def work(who):
        try:
            for turn, x in enumerate(batches(5, seed=who)):
                names = [f"{who}-{turn}-{place}" for place in range(8)]
                model(x, ids=names)
                model.feedback(names, [0] * 8)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert (model.report().samples, model.report().labelled, model.report().waiting) == (160, 160, 0)


def test_streams_go_with_a_shadow():
    net, model = seeded_net().eval(), shadowed("deskew")
    alone = gotta.adapt(seeded_net(), "deskew")
    for x in batches(3):
        keys = ["a", "b"] * 4
        outcome = model.step(x, stream=keys)
        torch.testing.assert_close(outcome.output, net(x), rtol=0, atol=0)
        torch.testing.assert_close(outcome.beside.logits, alone(x, stream=keys), rtol=0, atol=0)
    number = model.snapshot()
    model.forget("a")
    model.rollback(number)
    assert model.streams == ["a", "b"]
    assert model.report().samples == 24


def test_what_was_counted_of_streams_alone_is_loaded(tmp_path):
    """Without a sample of no stream, the model itself does not know how many classes there are."""
    model = shadowed("deskew")
    for x in batches(3):
        model(x, stream=[0, 1] * 4)
    assert model.classes is None
    model.save(tmp_path)
    again = gotta.load(tmp_path, seeded_net())
    assert frozen_state(again) == frozen_state(model)
    assert again.shadow.known.said.sum() == 2 * 3 * 8


def test_a_load_that_is_cut_off_at_its_end_leaves_the_snapshots_of_before(tmp_path, monkeypatch):
    saved, model = gotta.adapt(seeded_net()), gotta.adapt(seeded_net())
    for _ in range(3):
        saved.snapshot()
    saved.save(tmp_path)
    model.snapshot()
    put_back = resume.put_back

    def cut(*given):
        put_back(*given)
        raise KeyboardInterrupt

    monkeypatch.setattr(resume, "put_back", cut)
    with pytest.raises(KeyboardInterrupt):
        model.load(tmp_path)
    assert list(model.snapshots) == [1]
