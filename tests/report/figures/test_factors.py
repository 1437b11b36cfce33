"""How a memory was put together."""

from made_figures import composed, words

from gotta.report.figures.factors import factor_figures


def test_of_many_combinations_each_value_of_a_factor_gets_its_mean():
    (figure,) = factor_figures(composed(lambda a, b: a))
    told = words(figure)
    assert [told[told.index(f"evict=e{k}") + 1] for k in range(5)] == ["50.0", "51.0", "52.0", "53.0", "54.0"]
    assert {told[told.index(f"admit=a{k}") + 1] for k in range(5)} == {"52.0"}
    assert "the factor does not matter" in figure.caption


def test_few_combinations_are_shown_one_by_one_from_the_best():
    (figure,) = factor_figures(composed(lambda a, b: a + 0.1 * b, only=10))
    order = [(1, b) for b in (4, 3, 2, 1, 0)] + [(0, b) for b in (4, 3, 2, 1, 0)]
    assert [text for text in words(figure) if text.startswith("evict")] == [f"evict=e{a} admit=a{b}" for a, b in order]
