"""The leaderboard as files: every number leads to its spec and its command."""

import re

import pytest
from made_runs import made, stored
from report.board.made_boards import ranked_runs
from report.page.test_browser import browser  # noqa: F401

from gotta.errors import GottaError
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.spec.text import read_spec
from gotta.report.board import write_leaderboard
from gotta.report.results import read_results

EVIL = "<script>document.title='owned'</script>"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    root = tmp_path_factory.mktemp("board")
    runs = [*ranked_runs(), made(EVIL, "norm", (20, 20, 20, 20))]
    write_leaderboard(read_results(stored(root / "runs", runs)), root / "site")
    return root / "site"


def test_every_link_of_the_page_leads_to_a_file_or_a_run_with_a_command(site):
    text = (site / "index.html").read_text()
    ids = {id for group in re.findall(r'href="#run=([^"]+)"', text) for id in group.split(",")}
    assert len(ids) == len(list(ranked_runs())) + 1
    for id in ids:
        assert (site / "specs" / f"{id}.yaml").exists()
        assert f'"command":"gotta run specs/{id}.yaml"' in text
    for name in re.findall(r'href="(protocols/[^"]+)"', text):
        assert (site / name).read_text().startswith("title:")
    assert "<script>document.title" not in text
    assert not re.findall(r'(?:src|href)="https?:', text)


def test_a_spec_of_the_page_is_the_run(site):
    run = next(run for run in ranked_runs() if run.spec.method.name == "deskew")
    spec = RunSpec.of(read_spec(site / "specs" / f"{run.id}.yaml"))
    assert (spec.seed, spec.method.prior, spec.stream) == (run.seed, "sticky", RunSpec.of(run.stored.spec).stream)


def test_specs_of_runs_that_are_gone_go_and_nothing_else_does(tmp_path):
    stale, other = tmp_path / "site/specs/0123456789abcdef.yaml", tmp_path / "site/specs/notes.yaml"
    stale.parent.mkdir(parents=True)
    stale.touch()
    other.touch()
    write_leaderboard(read_results(stored(tmp_path / "runs", [made()])), tmp_path / "site")
    assert (stale.exists(), other.exists()) == (False, True)


def test_runs_of_no_protocol_are_nothing_to_rank(tmp_path):
    store = stored(tmp_path / "runs", [made(stream__gamma=0.7)])
    with pytest.raises(GottaError, match="is of a protocol, so there is nothing to rank"):
        write_leaderboard(read_results(store), tmp_path / "site")
    assert not (tmp_path / "site").exists()


@pytest.mark.thorough
@pytest.mark.parametrize("width", [1280, 768, 390])
def test_in_a_browser_it_fits_filters_and_opens_runs(site, browser, width):  # noqa: F811
    complaints = []
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme="dark")
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((site / "index.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width

    def methods():
        return page.eval_on_selector_all(
            ".board tbody tr:not([hidden])", "rows => rows.map(row => row.querySelector('th').textContent)"
        )

    assert len(methods()) == 11
    page.fill("[data-filter]", "TENT")
    assert methods() == ["tent"] * 4
    page.fill("[data-filter]", "sticky")
    assert methods() == ["deskew with sticky prior"]
    page.click(".board tbody tr:not([hidden]) a")
    told = page.inner_text("dialog")
    assert "gotta run specs/deskew-none-0" in told
    assert "prior: sticky" in told
    assert page.title() == "gotta: leaderboard"
    page.close()
    assert complaints == []
