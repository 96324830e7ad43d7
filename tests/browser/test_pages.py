"""The pages in a real browser: no complaints, nothing wider than the screen, no clipped words, and pictures to look at.

`make test-browser` keeps the pictures in build/screenshots. Without a browser these tests are skipped, with the reason.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.browser import chromium

FOUND = chromium.find()
pytestmark = pytest.mark.skipif(FOUND is None, reason=chromium.MISSING)
PAGES = ("report", "sheet", "wide", "hostile", "no-promise", "database")
WIDE, NARROW = 1400, 390
OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"
# Words in drawings that reach beyond their drawing by more than a pixel.
CLIPPED = """[...document.querySelectorAll('main svg text')].filter(t => {
  const a = t.getBoundingClientRect(), b = t.closest('svg').getBoundingClientRect();
  return a.width && (a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1 || a.bottom > b.bottom + 1);
}).map(t => t.textContent)"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The pages as files, with room for pictures beside them."""
    from tests.report import sample
    from tests.report.test_html import REPORTS

    from nacre.evaluation.columns import profile_columns
    from nacre.report.html import report_html
    from nacre.report.sheet import sheet_html

    kept = os.environ.get("NACRE_SCREENSHOTS")
    place = Path(kept) if kept else tmp_path_factory.mktemp("pages")
    place.mkdir(parents=True, exist_ok=True)
    release = sample.release()
    pages = {
        "report": report_html(sample.report()),
        "sheet": sheet_html(
            release.certificate, release.schema, profile_columns(sample.tables()[1], release.schema), {}
        ),
        "wide": report_html(sample.wide(200)),
        "hostile": report_html(REPORTS["hostile"]()),
        "no-promise": report_html(REPORTS["no promise"]()),
        "database": report_html(sample.database()),
    }
    for name, html in pages.items():
        (place / f"{name}.html").write_text(html, encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    assert FOUND is not None
    running = chromium.Browser(FOUND, tmp_path_factory.mktemp("profile"))
    yield running
    running.close()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_without_complaint_and_fits_the_screen(folder, browser, name, width, dark):
    browser.open(folder / f"{name}.html", width, dark)
    assert browser.complaints() == []
    assert browser.evaluate("window.innerWidth") == width
    assert browser.evaluate(OVERFLOW) <= 0
    assert browser.evaluate("getComputedStyle(document.documentElement).colorScheme") == ("dark" if dark else "light")
    if name in ("report", "sheet", "database"):
        picture = folder / f"{name}-{width}-{'dark' if dark else 'light'}.png"
        pictures = browser.screenshot(picture)
        tall = browser.evaluate("document.documentElement.scrollHeight")
        assert len(pictures) == -(-tall // chromium.LONGEST)
        assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 20_000


@pytest.mark.parametrize("name", PAGES)
def test_everything_still_fits_when_all_is_opened(folder, browser, name):
    browser.open(folder / f"{name}.html", NARROW)
    browser.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert browser.evaluate(OVERFLOW) <= 0
    assert browser.evaluate(CLIPPED) == []


def test_the_keyboard_reaches_the_content_first(folder, browser):
    browser.open(folder / "report.html", WIDE)
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
    assert browser.evaluate("document.activeElement.className") == "skip"
    assert browser.evaluate("document.activeElement.getBoundingClientRect().left") >= 0


@pytest.mark.parametrize("name", ["report", "sheet"])
def test_a_page_prints(folder, browser, name):
    browser.open(folder / f"{name}.html", WIDE, dark=True)
    browser.pdf(folder / f"{name}.pdf")
    data = (folder / f"{name}.pdf").read_bytes()
    assert data.startswith(b"%PDF") and len(data) > 20_000
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"  # paper is light
    browser.call("Emulation.setEmulatedMedia", media="")


def test_a_broken_page_is_noticed(tmp_path, browser):
    """The checks above can fail: a script that throws, a fetch, a box wider than the screen, a clipped word."""
    page = tmp_path / "broken.html"
    page.write_text(
        "<!doctype html><meta name='viewport' content='width=device-width'><main><div style='width:3000px'>wide</div>"
        "<svg width='40' height='20'><text x='30' y='10'>clipped</text></svg><img src='nowhere.png'>"
        "<script>console.error('seen'); throw new Error('broken')</script></main>"
    )
    browser.open(page, WIDE)
    found = " ".join(browser.complaints())
    assert "broken" in found and "seen" in found and "nowhere.png" in found
    assert browser.evaluate(OVERFLOW) > 0
    assert browser.evaluate(CLIPPED) == ["clipped"]
