"""What is printed of a stream."""

from streams.fake_data import FakeDataset, balanced

from gotta.show.stream_picture import show_text
from gotta.streams import Stream, StreamSpec


def stream(classes=10, each=20, **arguments):
    return Stream(FakeDataset(balanced(classes, each)), StreamSpec.of(**arguments))


def test_show_text_says_what_matters():
    found = stream(order="sorted", domains=("snow", "fog"))
    text = show_text(found)
    assert "sorted x continual, seed 0" in text
    assert found.hash in text
    assert "400 in 7 batches of up to 64" in text
    assert "2: snow-5, fog-5" in text
    assert "20; length mean 20.0, quartiles 20 / 20 / 20, longest 20" in text
    assert "domains      75 in 135 visits: gaussian_noise-1, " in show_text(stream(schedule="gradual"))
    assert "domains      2 in 6 visits: snow-5, fog-5\n" in show_text(
        stream(schedule="recurring", repeats=3, domains=("snow", "fog"))
    )


def test_the_text_tells_of_chains_sizes_and_a_gamma_that_is_too_large():
    arguments = {"order": "markov", "schedule": "mixed", "class_stay": 0.9, "class_imbalance": 5, "domains": "snow,fog"}
    text = show_text(stream(**arguments, domain_stay=1))
    assert "markov (class stays with 0.9, domain one after the other) x mixed, classes 5 to 1, seed 0" in text
    assert "domain runs  2;" in text
    assert "class sizes" in text
    assert "markov (class independent) x continual, seed 0" in show_text(stream(order="markov"))
    assert "iid x cdc delta=1" in show_text(stream(order="iid", schedule="cdc"))
    assert "note         gamma=50 does not make a Dirichlet order i.i.d." in show_text(stream(gamma=50))
    assert "note " not in show_text(stream())
