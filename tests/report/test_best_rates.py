"""Rates are chosen from runs alone, and only where every rate was run."""

import pytest
from made_runs import made

from gotta import GottaError
from gotta.report.best_rates import as_data, measured, page

RATES = (0.01, 0.02, 0.05, 0.1, 0.2)


def swept(memory="fps", peak=0.1, top=70.0, rates=RATES, **options):
    return [
        made(
            memory, scores=tuple(top - 40 * abs(rate - peak) + k for k in (-3, -1, 1, 3)), method__rate=rate, **options
        )
        for rate in rates
    ]


def control(**options):
    return swept("none", control="running_statistics", regime__adapt_every=None, **options)


def test_the_best_rate_comes_with_all_it_was_chosen_from():
    content = as_data(measured([*swept(), *control(peak=0.05, top=68.0)]))
    assert content["rates"]["norm"]["fps"] == {
        "rate": 0.1,
        "accuracies": {0.01: 66.4, 0.02: 66.8, 0.05: 68.0, 0.1: 70.0, 0.2: 66.0},
    }
    assert content["rates"]["norm"]["running_statistics"]["rate"] == 0.05
    assert content["chosen_on"]["data"] == "cifar10-mini"
    assert content["chosen_on"]["domains"] == ["fog", "snow", "frost", "glass_blur"]
    assert content["chosen_on"]["seeds"] == [0]


def test_what_was_not_run_at_every_rate_has_no_entry():
    content = as_data(measured([*swept(), *swept("cstu", rates=RATES[:-1])]))
    assert list(content["rates"]["norm"]) == ["fps"]
    with pytest.raises(GottaError, match="gotta bench statistics"):
        as_data(measured(swept(rates=RATES[1:])))


def test_seeds_are_averaged():
    content = as_data(measured([*swept(peak=0.1), *swept(peak=0.2, seed=1), *swept(peak=0.2, seed=2)]))
    assert content["rates"]["norm"]["fps"]["rate"] == 0.2
    assert content["rates"]["norm"]["fps"]["accuracies"][0.2] == 68.67
    assert content["chosen_on"]["seeds"] == [0, 1, 2]


def test_of_equal_rates_the_smaller_is_chosen():
    content = as_data(measured(swept(peak=0.15)))
    assert content["rates"]["norm"]["fps"]["accuracies"][0.1] == content["rates"]["norm"]["fps"]["accuracies"][0.2]
    assert content["rates"]["norm"]["fps"]["rate"] == 0.1


def test_runs_of_several_set_ups_are_refused():
    with pytest.raises(GottaError, match="2 set-ups"):
        measured([*swept(), *swept("fifo", stream__gamma=1.0)])


def test_the_page_compares_at_the_papers_rate_and_at_the_best():
    told = page(measured([*swept(), *swept("fifo", peak=0.2, top=60.0), *control(peak=0.05, top=69.0)]))
    assert "At the paper's rate, 0.05, the best memory is fps with 68.0" in told
    assert "without a memory have 69.0 (-1.0 ± 0.0" in told
    assert "the best memory is fps (0.1) with 70.0, and running statistics (0.05) have 69.0 (+1.0" in told
    assert "chosen on these very runs" in told
    assert "At the edge of the rates that were tried, so that a rate beyond may be better: fifo." in told
    assert "| fps | 66.4 | 66.8 | 68.0 | **70.0** | 66.0 |" in told
    assert "| control: running statistics |" in told


def test_the_best_memory_at_the_papers_rate_need_not_be_the_best_of_all():
    told = page(measured([*swept(peak=0.2, top=70.0), *swept("fifo", peak=0.05, top=69.0), *control()]))
    assert "At the paper's rate, 0.05, the best memory is fifo with 69.0" in told
    assert "the best memory is fps (0.2) with 70.0" in told
