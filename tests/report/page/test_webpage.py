"""The page asks for nothing and takes no text for markup."""

import re

import pytest
from made_store import many_runs, write

from gotta.report.page.webpage import bundle, embed, page
from gotta.report.results import read_results


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return read_results(write(tmp_path_factory.mktemp("store"), many_runs()))


def test_hostile_names_stay_text(results):
    text = page(results)
    assert "<script>document" not in text
    assert "&lt;script&gt;document" in text
    assert embed("</script>&<!--") == '"\\u003c/script\\u003e\\u0026\\u003c!--"'


def test_the_policy_forbids_requests_and_foreign_scripts(results):
    policy = re.search(r'Security-Policy" content="([^"]*)"', page(results))[1]
    assert "default-src &#39;none&#39;" in policy
    assert "connect-src &#39;none&#39;" in policy
    assert "unsafe" not in policy


def test_the_script_is_one_whole_without_imports():
    text = bundle()
    assert not re.search(r"^(import|export) ", text, re.M)
    names = re.findall(r"^(?:async )?(?:function|const|let) (\w+)", text, re.M)
    assert len(names) > 20
    assert len(names) == len(set(names))
