"""The page in a real browser, with the network off."""

import json
import re
import shutil
import threading
from itertools import pairwise

import pytest
from made_runs import made
from made_store import EVIL, many_runs, with_recording, write

from gotta.experiment.run.memory_film import record_path
from gotta.experiment.sweep.store import Store
from gotta.report.results import read_results
from gotta.report.store.serve import server
from gotta.report.tables.views import views
from gotta.report.write import write_report

pytestmark = pytest.mark.thorough

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync"


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    root = tmp_path_factory.mktemp("store")
    made = write(root, many_runs())
    with_recording(root, "norm-fps-0")
    write_report(read_results(made), pictures=False)
    return made


@pytest.fixture
def visit(browser, store):
    """Opens the page and, at the end, asserts that nothing complained and nothing was asked for."""
    complaints, requests, pages = [], [], []

    def go(width=1280, address="", **options):
        page = browser.new_page(viewport={"width": width, "height": 900}, **options)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto((store.root / "report.html").as_uri() + address)
        pages.append(page)
        return page

    yield go
    for page in pages:
        page.close()
    assert complaints == []
    assert all(
        (url.startswith(("file:", "data:")) and "report.html" in url) or url.startswith("data:") for url in requests
    )


def numbers(page):
    return page.eval_on_selector_all(
        ".view:not([hidden]) tbody tr",
        """rows => rows.map(row => [row.querySelector("th").textContent,
            [...row.querySelectorAll("td")].map(td => td.querySelector(".number")?.textContent ?? null)])""",
    )


def expected(panel, key):
    """What the page shows of a reading."""
    tables = next(view for view in views(panel) if view.key == key).tables
    return [
        [row.names[0], [None if cell.value is None else cell.number for cell in row.cells]]
        for table in tables
        for row in table.rows
    ]


def test_the_numbers_are_the_stores_and_toggles_change_them(visit, store):
    page = visit()
    panel = read_results(store).placed.whole
    assert numbers(page) == expected(panel, "accuracy")
    for name, key in (
        ("Error", "error"),
        ("Gain over no memory", "none"),
        ("Gain over running statistics", "running_statistics"),
        ("Seconds per run", "seconds"),
    ):
        page.locator("fieldset").get_by_text(name, exact=True).click()
        assert numbers(page) == expected(panel, key)
        assert page.locator(".notes:not([hidden])").count() == 1
    page.keyboard.press("ArrowRight")  # radio buttons go round by the arrow keys
    assert numbers(page) == expected(panel, "accuracy")


def test_title_and_headline_answer_the_same_question_and_the_best_is_in_bold(visit, store):
    page = visit()
    (part,) = read_results(store).chapters
    assert "memory" in page.get_by_role("heading", level=1).text_content()
    headline = page.locator(".headline").text_content().replace("\xa0", " ")
    assert headline == part.answer.headline
    assert headline.startswith("Best memory")
    bold = page.locator(".view:not([hidden]) .number.best").all_text_contents()
    assert all(f"({number} %" in headline for number in bold)


@pytest.mark.parametrize(("width", "beside"), [(1280, True), (768, False), (390, False)])
def test_table_and_chart_stand_side_by_side_where_there_is_room(visit, width, beside):
    page = visit(width)
    table = page.locator(".tables").bounding_box()
    chart = page.locator(".explains figure > svg").bounding_box()
    assert (chart["x"] > table["x"] + table["width"] and chart["y"] < table["y"] + 100) is beside
    assert (chart["y"] >= table["y"] + table["height"]) is not beside
    assert chart["width"] >= min(480, width - 40)
    used = max(chart["x"] + chart["width"], table["x"] + table["width"])
    assert used > 0.9 * width


def lit(figure, kind):
    return figure.locator(f"svg [data-line].{kind}").evaluate_all("all => all.map(line => line.dataset.line)")


def test_lines_light_up_under_the_pointer_and_the_keyboard(visit):
    page = visit()
    figure = page.locator(".explains figure.lines")
    figure.locator(".keys button", has_text="norm + fps").hover()
    assert lit(figure, "lit") == ["norm + fps"]
    assert "norm + fps" not in lit(figure, "dim")
    assert "norm + fifo" in lit(figure, "dim")
    page.mouse.move(0, 0)
    assert lit(figure, "lit") == lit(figure, "dim") == []
    figure.locator(".keys button", has_text="norm + fifo").focus()
    assert lit(figure, "lit") == ["norm + fifo"]
    page.keyboard.press("Tab")
    assert lit(figure, "lit") != ["norm + fifo"]
    page.evaluate("document.activeElement.blur()")
    assert lit(figure, "lit") == []
    place = figure.locator('svg [data-line="norm + fps"] > :not(polyline)').first.bounding_box()
    page.mouse.move(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    assert lit(figure, "lit") == ["norm + fps"]


def test_the_legend_switches_lines_and_six_are_shown_at_first(visit):
    page = visit()
    figure = page.locator(".explains figure.lines")
    keys = figure.locator(".keys button")
    assert keys.count() > 6
    assert figure.locator(".keys [aria-pressed=true]").count() == 6
    first, last = keys.first, keys.last

    def is_shown(key):
        name = key.get_attribute("data-key")
        lines = figure.locator("svg [data-line]").evaluate_all(
            "(all, name) => all.filter(l => l.dataset.line === name).map(l => getComputedStyle(l).display !== 'none')",
            name,
        )
        assert len(lines) == 1
        return lines[0]

    assert is_shown(first)
    assert not is_shown(last)
    for key in (first, last):
        key.click()
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")
    assert not is_shown(first)
    assert is_shown(last)
    first.focus()
    page.keyboard.press("Enter")
    assert first.get_attribute("aria-pressed") == "true"
    page.keyboard.press("Space")
    assert first.get_attribute("aria-pressed") == "false"
    assert not is_shown(first)  # although the keyboard is on it


def test_ranks_stand_beside_the_paper_and_levels_are_folded(visit):
    page = visit()
    assert page.locator(".ranks").is_visible()
    assert page.locator(".ranks tbody tr", has_text="fps").locator("td").first.text_content() == "1"
    assert not page.locator(".beside").is_visible()
    page.locator("summary", has_text="Levels").click()
    page.locator(".beside").wait_for(state="visible")


def test_recordings_are_named_and_open(visit):
    page = visit()
    link = page.locator(".recordings a")
    assert link.all_text_contents() == ["norm + fps, seed 0"]
    marked = page.locator(".view:not([hidden]) td", has_text="▦")
    assert marked.locator(".number").all_text_contents() == ["65.0"]
    link.click()
    page.wait_for_selector(".recording")


@pytest.mark.parametrize("width", [360, 390, 768, 1280])
def test_nothing_sticks_out_at_any_width(visit, width):
    page = visit(width, "#run=norm-fps-0")
    page.wait_for_selector(".recording")
    outside = "document.documentElement.scrollWidth - innerWidth"
    assert page.evaluate(outside) <= 0
    assert page.eval_on_selector("dialog", "d => d.scrollWidth - d.clientWidth") <= 0
    page.keyboard.press("Escape")
    assert page.get_by_role("heading", level=1).is_visible()
    assert page.evaluate(outside) <= 0
    cut = """all => all.filter(text => {
        const svg = text.ownerSVGElement, edge = svg.getBoundingClientRect().right + 1
        const seen = getComputedStyle(svg).overflow === "visible" ? innerWidth : edge
        return text.getBoundingClientRect().right > seen
    }).map(text => text.textContent)"""
    assert page.eval_on_selector_all(".lines > svg text", cut) == []


def test_a_cell_opens_its_run_by_keyboard(visit, store):
    page = visit()
    cell = page.locator(".view:not([hidden]) tbody tr", has_text="fifo").locator("a").first
    cell.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    assert dialog.get_by_role("heading", level=2).text_content() == "norm + fifo, seed 0"
    run = store.read("norm-fifo-0")
    assert dialog.locator("dd").first.text_content() == f"{run.summary['accuracy']:.1f}"
    assert "was not recorded" in dialog.text_content() or "were not recorded" in dialog.text_content()
    dialog.get_by_role("combobox").select_option(label="seed 1")
    assert dialog.get_by_role("heading", level=2).text_content() == "norm + fifo, seed 1"
    assert "were not recorded" in dialog.text_content()  # of this run too
    assert page.evaluate("document.activeElement.tagName") == "SELECT"
    page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")
    page.wait_for_url(lambda address: "run" not in address.rpartition("#")[2])


def test_the_slider_moves_the_images(visit):
    page = visit(address="#run=norm-fps-0")
    slider = page.get_by_role("slider")

    def held():
        return page.eval_on_selector_all(
            ".groups .tile", "tiles => tiles.map(t => Number(t.dataset.sample)).sort((a, b) => a - b)"
        )

    assert held() == list(range(74, 80))  # the recording is of a queue of six
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert held() == list(range(64, 70))
    assert "step 7 of 8" in page.locator("output").text_content()
    page.keyboard.press("Home")
    assert held() == list(range(4, 10))
    assert "#4 (" in page.locator(".decisions").text_content()
    assert re.search(r"#6 \(.*?\) replaced #0: it was the oldest", page.locator(".decisions").text_content())
    assert page.locator(".held rect").count() == 6
    assert "Of 10 samples 10 were stored, 4 of them in place of another." in page.locator(".decisions").text_content()
    assert slider.get_attribute("aria-valuetext") == "step 1 of 8, fog-5"
    newest = page.locator(".decisions li").last  # both of its samples: the first is held, the other made way unseen
    assert [int(t) for t in newest.locator(".tile").evaluate_all("all => all.map(t => t.dataset.sample)")] == [9]
    page.keyboard.press("Tab")  # a long list can be scrolled by keys
    assert page.evaluate("document.activeElement.className") == "decisions"
    wrong = page.locator(".groups .tile.wrong").count()
    assert f"{wrong} under a wrong label" in page.locator("output").text_content()


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"decides": False}, ["The batch of each step", "There is no memory in this run", "None: without a memory"]),
        ({"true_labels": True}, ["This control is told the true classes", "images by true class"]),
    ],
)
def test_a_recording_of_a_control_says_what_it_is(browser, tmp_path, told, words):
    write(tmp_path, many_runs(seeds=(0,)))
    with_recording(tmp_path, "norm-fps-0")
    path = record_path(tmp_path, "norm-fps-0")
    path.write_text(json.dumps({**json.loads(path.read_text()), **told}))
    page = browser.new_page()
    page.goto(write_report(read_results(Store(tmp_path)), pictures=False).as_uri() + "#run=norm-fps-0")
    text = page.locator(".recording").text_content()
    assert [word for word in words if word not in text] == []
    assert ("under a wrong label" in text) is ("decides" in told)
    page.close()


def test_hostile_names_do_nothing(visit):
    page = visit()
    assert page.title().startswith("gotta: ")
    row = page.locator(".view:not([hidden]) tbody th", has_text="script")
    assert row.text_content() == EVIL
    row.locator("xpath=..").locator("a").first.click()
    assert EVIL in page.get_by_role("dialog").get_by_role("heading", level=2).text_content()
    assert page.title().startswith("gotta: ")


@pytest.mark.parametrize("width", [390, 1280])
def test_long_names_leave_the_numbers_in_sight(browser, tmp_path, width):
    write(tmp_path, [made(name, method) for name in ("none", "x" * 160) for method in ("norm", "m" * 30)])
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto(write_report(read_results(Store(tmp_path)), pictures=False).as_uri())
    numbers = page.locator(".view:not([hidden]) td:nth-of-type(1) .number")
    assert numbers.count() == 2
    for box in (number.bounding_box() for number in numbers.all()):
        assert 0 < box["x"] < width - 40
    page.locator(".view:not([hidden]) td a").first.click()  # nothing lies over it
    page.get_by_role("dialog").wait_for(state="visible", timeout=10_000)
    page.close()


def test_dark_and_light_differ(visit):
    shades = [
        visit(color_scheme=scheme).evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    ]
    assert shades == ["rgb(255, 255, 255)", "rgb(21, 23, 27)"]


def test_headings_and_pictures_have_names(visit):
    page = visit(address="#run=norm-fps-0")
    levels = page.eval_on_selector_all("main :is(h1,h2,h3,h4)", "all => all.map(h => Number(h.tagName[1]))")
    assert levels[0] == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))
    assert page.eval_on_selector_all(
        "svg:not([aria-hidden]), [role=img]", "all => all.every(s => s.getAttribute('aria-label'))"
    )


def test_a_served_page_updates_itself(browser, tmp_path):
    runs = list(many_runs(seeds=(0,)))
    store = write(tmp_path, runs[:-4])
    with server(tmp_path) as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        page = browser.new_page()
        complaints = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"http://127.0.0.1:{made.server_address[1]}/")
        page.get_by_text("Error", exact=True).click()
        page.locator("summary", has_text=re.compile("^Cost$")).click()
        key = page.locator(".explains .keys button").first
        key.click()
        cell = page.locator(".view:not([hidden]) tbody tr", has_text="fifo").locator("a").first
        cell.focus()
        address = cell.get_attribute("href")
        page.get_by_text(f"{len(runs) - 4} runs finished").wait_for()
        write(tmp_path, runs[-4:])
        page.get_by_text(f"· {len(runs)} finished runs").wait_for(timeout=20_000)
        assert numbers(page) == expected(read_results(store).placed.whole, "error")
        assert key.get_attribute("aria-pressed") == "false"
        assert page.locator("details[open] summary").all_text_contents() == ["Cost"]
        assert page.evaluate("document.activeElement.getAttribute('href')") == address
        assert complaints == []
        page.close()
        made.shutdown()
        thread.join()
