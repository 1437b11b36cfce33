import pytest

from gotta.report.setting_words import describe


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("stream.order", "iid", "classes evenly mixed (iid)"),
        ("stream.order", "mine:Order", "order mine:Order"),
        ("stream.schedule", "mixed", "all domains mixed (mixed)"),
        ("regime.batch_size", 64, "batches of 64"),
        ("stream.run_length", 10.0, "runs of 10"),
        ("stream.per_class", 200, "200 images of each class"),
        ("stream.per_class", None, "all images of each class"),
        ("memory.capacity", 8, "capacity 8"),
        ("model.name", "resnet20", "resnet20"),
        ("stream.domains", list("abcde"), "domains a ... e (5)"),
    ],
)
def test_a_setting_is_told_in_words(name, value, told):
    assert describe(name, value) == told
