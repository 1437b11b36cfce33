"""Only runs on the same stream are subtracted."""

import pytest
from made_runs import made

from gotta.report.pairs import difference, same_stream


def test_a_difference_is_taken_domain_by_domain_and_seed_by_seed():
    ours = [made(scores=(51, 62, 73, 84), seed=0), made(scores=(52, 63, 74, 85), seed=1)]
    base = [made("none", scores=(50, 60, 70, 80), seed=1), made("none", scores=(50, 60, 70, 80), seed=0)]
    found = difference(ours, base)
    assert found.seeds == (0, 1)
    assert found.refused == ()
    assert found.estimate.mean == pytest.approx((1 + 2 + 3 + 4 + 2 + 3 + 4 + 5) / 8)
    assert (found.estimate.seeds, found.estimate.domains) == (2, 4)


def test_other_streams_are_refused():
    ours = [made(seed=0), made(seed=1)]
    base = [made("none", seed=0), made("none", seed=1, stream_hash="another")]
    found = difference(ours, base)
    assert found.seeds == (0,)
    assert found.refused == ("seed 1: the streams differ",)
    nothing = difference(ours[1:], base[1:])
    assert nothing.estimate is None
    assert nothing.verdict is None


def test_a_seed_that_only_one_has_is_said():
    found = difference([made(seed=0), made(seed=2)], [made("none", seed=0)])
    assert found.refused == ("seed 2: only one of the two was run",)


def test_a_seed_that_changes_nothing_counts_once():
    """Classes in a fixed order: three seeds are one run."""
    ours = [made(scores=(51, 62, 73, 84), seed=seed, stream_hash="sorted") for seed in (0, 1, 2)]
    base = [made("none", scores=(50, 60, 70, 80), seed=seed, stream_hash="sorted") for seed in (0, 1, 2)]
    found = difference(ours, base)
    assert found.seeds == (0,)
    assert found.refused[0] == "seed 1: the same samples in the same order as seed 0, with the same results"
    trained = [made(scores=(51, 62, 73, 84 + seed), seed=seed, stream_hash="sorted") for seed in (0, 1, 2)]
    assert difference(trained, base).seeds == (0, 1, 2)


def test_cuts_do_not_matter_but_data_do():
    cut = made(regime__batch_size=64, summary={"stream": {"hash": "other cuts", "order_hash": "order 0"}})
    assert same_stream(made(), cut)
    assert not same_stream(made(), made(data__name="cifar10"))


def test_other_domains_are_refused():
    found = difference([made()], [made("none", scores=(1.0, 2.0))])
    assert found.refused == ("seed 0: the domains differ",)


def test_other_content_under_the_same_name_is_refused():
    ours, same, other = (made(summary={"data_sha256": content}) for content in ("a", "a", "b"))
    assert same_stream(ours, same)
    assert same_stream(ours, made()), "an earlier run does not tell"
    assert not same_stream(ours, other)


def test_of_several_runs_of_one_seed_the_first_by_name_is_paired():
    ours = [made(scores=(60.0,) * 4, memory__arguments={"epsilon": e}) for e in (0.2, 0.1)]
    ours[0] = made(scores=(70.0,) * 4, memory__arguments={"epsilon": 0.2})
    assert ours[1].id < ours[0].id
    assert difference(ours, [made("none", scores=(50.0,) * 4)]).estimate.mean == 10
