"""Links between the pages, the README and files of the repository lead somewhere; `make docs` checks the site's own."""

import re

import pytest
from page_blocks import ROOT, pages

LINK = re.compile(r"\]\(([^)\s]+)\)")
MADE = "reference"  # pages that `make docs` writes
OTHERS = ["CHANGELOG.md", "examples/plugin/README.md"]


def anchors(text):
    """The names of a page's headings, as the site and code hosts make them."""
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", [*pages(), *OTHERS])
def test_links_of_a_page_lead_somewhere(page):
    path = ROOT / page
    dead = []
    for link in LINK.findall(path.read_text(encoding="utf-8")):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        if MADE in target.relative_to(ROOT).parts[:2]:
            continue
        if not target.exists() or (anchor and anchor not in anchors(target.read_text(encoding="utf-8"))):
            dead.append(link)
    assert dead == []


def test_links_are_found():
    linking = [page for page in pages() if LINK.search((ROOT / page).read_text(encoding="utf-8"))]
    assert len(linking) > 20
    assert anchors("# One `two`\n\n## In a service\n") == {"one-two", "in-a-service"}
