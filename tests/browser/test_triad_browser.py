"""The triad in a browser: a click chooses a cell, typing changes a matrix, and the address follows both."""

from __future__ import annotations

from typing import Any

import pytest

from qkv_core.text import frame
from qkv_core.text import triad as words
from tests.browser.driver import PHONE, Visitor, visitor
from tests.conftest import Server

pytestmark = pytest.mark.browser


def heading(v: Visitor, q: str, k: str) -> None:
    """Waits until the arithmetic is that of query q and key k."""
    v.page.get_by_role("heading", name=words.CELL("en", q=q, k=k)).wait_for()


def click_cell(v: Visitor, name: str, row: int, col: int) -> None:
    """Clicks a cell of a 3 x 3 panel: the plot ends at the panel's right and bottom edge."""
    chart = v.page.locator(f".st-key-t_panel_{name} [data-testid=stVegaLiteChart]")
    chart.scroll_into_view_if_needed()
    v.page.wait_for_timeout(800)
    box = chart.bounding_box()
    v.page.mouse.click(box["x"] + box["width"] - 58 * (2.5 - col), box["y"] + box["height"] - 44 * (2.5 - row))
    v.settled()


def type_into(v: Visitor, text: str) -> None:
    """Types into the first cell of X."""
    box = v.page.locator("[data-testid=stDataFrame]").first.bounding_box()
    v.page.mouse.click(box["x"] + 110, box["y"] + 52)
    v.page.wait_for_timeout(400)
    v.page.keyboard.type(text, delay=30)
    v.page.keyboard.press("Enter")
    v.page.wait_for_timeout(600)
    v.settled()


def test_a_click_on_a_cell_and_the_keyboard_choose_the_same_thing(chromium: Any, server: Server) -> None:
    with visitor(chromium, server.url) as v:
        v.open("/triad")
        heading(v, "cat", "cat")
        for name, row, col, q, k in (("weights", 0, 2, "The", "sat"), ("raw", 2, 1, "sat", "cat")):
            click_cell(v, name, row, col)
            heading(v, q, k)
            assert (v.parameter("t_row") or "1", v.parameter("t_col") or "1") == (str(row), str(col))
        v.page.locator(".st-key-t_row_page").get_by_role("radio", name="The").focus()
        v.page.keyboard.press("Space")
        heading(v, "The", "cat")
        click_cell(v, "raw", 2, 1)
        heading(v, "sat", "cat")  # the same cell clicked a second time counts
        v.page.go_back()
        heading(v, "The", "cat")
        assert v.trouble == []


def test_a_matrix_is_edited_and_undone_and_the_link_holds_it(chromium: Any, server: Server) -> None:
    with visitor(chromium, server.url) as v:
        v.open("/triad")
        v.page.locator(".st-key-t_box summary").click()
        v.page.locator("[data-testid=stDataFrame]").first.wait_for()
        v.settled()
        type_into(v, "2,25")
        assert v.parameter("t_x").startswith("2.25%2C0.5")
        type_into(v, "abc")
        told = frame.NOT_A_NUMBER("en", name="X", row="The", col=1, given="abc", limit=100.0, kept="2.25")
        v.page.get_by_text(told, exact=True).wait_for()
        assert v.parameter("t_x").startswith("2.25%2C0.5")
        v.page.reload()
        v.settled()
        assert v.parameter("t_x").startswith("2.25%2C0.5")
        v.page.locator(".st-key-t_box summary").click()
        v.page.get_by_role("button", name=frame.ORIGINAL("en")).click()
        v.settled()
        v.page.wait_for_function("!location.search.includes('t_x')")
        v.page.get_by_role("button", name=frame.UNDO("en")).click()
        v.settled()
        v.page.wait_for_function("location.search.includes('t_x=2.25')")
        assert v.trouble == []


def test_the_prediction_answers_on_a_phone(chromium: Any, server: Server) -> None:
    with visitor(chromium, server.url, size=PHONE) as v:
        v.open("/triad")
        box = v.page.locator(".st-key-predict_triad_guess")
        box.scroll_into_view_if_needed()
        box.locator("label").nth(1).click()
        v.settled()
        v.page.locator(".st-key-predict_triad_go button").click()
        v.page.get_by_text("shared out again in proportion").wait_for()
        assert v.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 1
        assert v.trouble == []
