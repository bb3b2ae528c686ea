"""A page is taken home in a browser: the handout follows the last click, opens with every request blocked, prints on A4."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from qkv_core.ui import lessons, take_home
from tests.app import open_page
from tests.browser.driver import Visitor, visitor
from tests.conftest import Server

pytestmark = pytest.mark.browser


def take(v: Visitor, label: str, folder: Path) -> Path:
    """Opens the box if it is closed, and downloads one of its files."""
    box = v.page.locator(".st-key-take_home")
    if not box.get_by_role("tab").count():
        box.locator("summary").click()
        box.get_by_role("tab").first.wait_for()
        v.settled()
    box.get_by_role("tab").last.click()
    with v.page.expect_download() as waiting:
        box.get_by_role("tabpanel").last.get_by_role("button", name=label).click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def opened_alone(chromium: Any, file: Path) -> tuple[str, list[str], bytes]:
    """The words of a file opened with every other request blocked, what it asked for, and its print."""
    context = chromium.new_context(offline=True, color_scheme="dark")
    asked: list[str] = []
    trouble: list[str] = []
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: trouble.append(message.text))
    page.route(re.compile("^(?!file:)"), lambda route: route.abort())
    page.goto(file.as_uri())
    page.wait_for_timeout(300)
    words = page.locator("body").inner_text()
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    printed = page.pdf(prefer_css_page_size=True)
    context.close()
    assert trouble == [] and wide <= 0
    return words, [url for url in asked if url != file.as_uri() and not url.startswith("data:")], printed


@pytest.mark.parametrize("lang", ["en", "es"])
def test_the_handout_opens_with_everything_blocked_and_shows_the_same_digits(
    chromium: Any, server: Server, tmp_path: Path, lang: str
) -> None:
    with visitor(chromium, server.url) as v:
        v.open(f"/saturation?lang={lang}&d_k=16&seed=7")
        shown = "[data-testid=stMain] :is([data-testid=stMarkdown], [data-testid=stTable], [data-testid=stHeading])"
        digits = set(re.findall(r"\d+[.,]\d{2,}", "\n".join(v.page.locator(shown).all_inner_texts())))
        words, asked, printed = opened_alone(chromium, take(v, "HTML", tmp_path))
        assert v.trouble == []
    assert asked == []
    assert len(digits) > 20 and not {d for d in digits if d not in words}
    assert f"{server.url}/saturation?v=1" in words and "seed=7" in words
    assert re.search(rb"/MediaBox \[0 0 59[45](\.\d+)? 84[12](\.\d+)?\]", printed)


def test_the_handout_and_the_program_follow_a_part_of_the_page_that_was_drawn_alone(
    chromium: Any, server: Server, tmp_path: Path
) -> None:
    with visitor(chromium, server.url) as v:
        v.open("/triad")
        take(v, "HTML", tmp_path)  # the box is open from here on
        v.page.locator(".st-key-t_row_page").get_by_role("radio", name="sat").click(force=True)
        v.settled()
        told = v.page.locator("h3", has_text="sat reads").first.inner_text()
        words, asked, _ = opened_alone(chromium, take(v, "HTML", tmp_path))
        assert asked == [] and told in words and "t_row=2" in words
        program = take(v, ".py", tmp_path).read_text()
        assert "i, j = 2, 1" in program
        v.page.locator(".st-key-take_home").get_by_role("tab").first.click()
        assert "i, j = 2, 1" in v.page.locator(".st-key-take_home").get_by_test_id("stCode").first.inner_text()
        assert v.trouble == []


@pytest.mark.parametrize("page", lessons.ORDER)
def test_nothing_in_a_handout_is_wider_than_its_paper(chromium: Any, tmp_path: Path, page: str) -> None:
    at = open_page(page, lang="es")
    file = tmp_path / "handout.html"
    file.write_text(take_home.page_as_html(at.session_state["_screen"]), encoding="utf-8")
    context = chromium.new_context(viewport={"width": 680, "height": 960}, offline=True)  # 180 mm
    opened = context.new_page()
    opened.emulate_media(media="print")
    opened.goto(file.as_uri())
    wide = opened.evaluate(
        "[...document.querySelectorAll('body *')].filter(e => !e.closest('svg svg, math, defs') && "
        "e.getBoundingClientRect().right > 681).map(e => e.tagName + ' ' + e.textContent.slice(0, 60)).slice(0, 5)"
    )
    pages = len(re.findall(rb"/Type\s*/Page\b", opened.pdf(prefer_css_page_size=True)))
    context.close()
    assert wide == [] and 1 < pages < 16
