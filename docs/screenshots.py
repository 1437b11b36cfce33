"""Screenshots of a report for the docs: `make screenshots ARGS=runs/mini`. Needs playwright and chromium."""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from gotta.report.page.webpage import films_of
from gotta.report.results import read_results
from gotta.report.write import write_report

HERE = Path(__file__).parent / "pictures"
FLAGS = "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync"


def main(folder: str) -> None:
    """First screen in light, dark and on a phone; figures; and the memory of a recorded run, if there is one."""
    results = read_results(folder)
    address = write_report(results).resolve().as_uri()
    films = [film for part in results.chapters for film in films_of(part, results.filmed)]
    films.sort(key=lambda film: "fps" not in film.name)
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS.split())
        for name, width, height, scheme in (
            ("light", 1280, 900, "light"),
            ("dark", 1280, 900, "dark"),
            ("phone", 390, 844, "light"),
        ):
            _save(_open(browser, address, width, height, scheme), f"report-{name}")
        page = _open(browser, address, 1200, 1500, "light")
        page.locator(".figures").first.scroll_into_view_if_needed()
        page.locator(".figures figure").first.screenshot(path=HERE / "report-figure.png")
        if films:
            _save(_open(browser, f"{address}#run={films[0].id}", 1200, 1150, "light"), "report-memory")
        browser.close()
    print("\n".join(sorted(path.name for path in HERE.glob("report-*.png"))))


def _open(browser: Browser, address: str, width: int, height: int, scheme: str) -> Page:
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(address)
    page.wait_for_timeout(300)
    return page


def _save(page: Page, name: str) -> None:
    page.screenshot(path=HERE / f"{name}.png")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "runs/mini")
