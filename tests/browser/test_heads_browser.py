"""The heads in a browser: clicks, keys and typing choose, paint and rename; what is typed stays text and asks nobody."""

from __future__ import annotations

from typing import Any

import pytest

from qkv_core.text import heads as words
from tests.browser.driver import PHONE, Visitor, visitor
from tests.conftest import Server
from tests.test_heads import HOSTILE

pytestmark = pytest.mark.browser


def cell(v: Visitor, at: int) -> Any:
    return v.page.locator(".st-key-h_matrix svg .mark-rect path").nth(at)


def click(v: Visitor, at: int) -> None:
    cell(v, at).wait_for()
    v.page.wait_for_timeout(500)
    cell(v, at).scroll_into_view_if_needed()
    cell(v, at).click(force=True)
    v.settled()


def headline(v: Visitor, start: str) -> None:
    v.page.locator("h3").filter(has_text=start).first.wait_for()


def test_a_click_on_a_cell_chooses_its_row_and_the_address_follows(chromium: Any, server: Server) -> None:
    with visitor(chromium, server.url) as v:
        v.open("/heads")
        headline(v, "it reads animal")
        click(v, 4 * 12 + 0)
        headline(v, "cross reads ")
        v.page.wait_for_url("**h_row=4**")
        assert v.parameter("h_col") == "0"
        click(v, 8 * 12 + 6)
        headline(v, "it reads animal")
        v.page.wait_for_url("**h_col=6**")
        v.page.go_back()
        headline(v, "cross reads ")
        assert v.trouble == []


def test_painted_cells_hide_and_a_second_click_shows_them_again(chromium: Any, server: Server) -> None:
    with visitor(chromium, server.url) as v:
        v.open("/heads?h_paint=1")
        click(v, 8 * 12 + 2)
        headline(v, "it reads street")
        v.page.wait_for_url("**h_cells=**")
        click(v, 8 * 12 + 2)
        headline(v, "it reads animal")
        v.page.wait_for_function("!location.search.includes('h_cells')")
        assert v.trouble == []


def test_by_keyboard_alone_another_head_and_another_row_are_chosen(chromium: Any, server: Server) -> None:
    with visitor(chromium, server.url) as v:
        v.open("/heads")
        headline(v, "it reads animal")
        v.page.wait_for_timeout(2500)  # controls can be reached once the page has come to rest

        def tab_to(inside: str) -> None:
            for _ in range(90):
                v.page.keyboard.press("Tab")
                if v.page.evaluate(f"!!document.activeElement.closest('{inside}')"):
                    return
            raise AssertionError(f"{inside} can't be reached with Tab")

        tab_to(".st-key-h_head_page")
        v.page.keyboard.press("ArrowDown")
        v.page.locator("[role=option]").first.wait_for()
        v.page.keyboard.press("ArrowDown")
        v.page.keyboard.press("Enter")
        v.page.wait_for_url("**h_head=**")
        v.settled()
        tab_to(".st-key-h_draw_page")
        v.page.keyboard.press("ArrowRight")
        v.page.keyboard.press("Space")
        v.page.wait_for_url("**h_draw=lines**")
        v.settled()
        tab_to(".st-key-h_row_page input[type=range]")
        for _ in range(4):
            v.page.keyboard.press("ArrowLeft")  # quickly: the list beside it must not undo a step
        v.page.wait_for_url("**h_row=4**")
        headline(v, "cross reads ")
        assert v.trouble == []


@pytest.mark.parametrize("draw", ["matrix", "lines"])
@pytest.mark.parametrize("size", [None, PHONE], ids=["desk", "phone"])
def test_hostile_text_is_typed_shown_and_linked_and_nothing_is_asked_outside(
    chromium: Any, server: Server, draw: str, size: dict[str, int] | None
) -> None:
    with visitor(chromium, server.url, **({"size": size} if size else {})) as v:
        v.open(f"/heads?h_src=typed&h_head=previous&h_row=4&h_draw={draw}")
        box = v.page.locator("textarea").first
        box.fill(HOSTILE)
        box.press("Control+Enter")
        v.page.wait_for_url("**h_text=**")
        v.settled()
        v.page.get_by_text("5  $x^2$   →   4  ![x](http://example.invalid/t.png)").wait_for()
        v.page.wait_for_timeout(700)
        main = v.page.locator("[data-testid=stMain]")
        assert [e.get_attribute("src") for e in main.locator("img").all() if "/media/" not in (e.get_attribute("src") or "")] == []
        assert main.locator("a[href*=invalid]").count() == 0
        assert not [t for t in main.locator(".katex").all_inner_texts() if "x2" in t.replace("\n", "")]
        assert v.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 1
        options = v.page.locator("[role=option]")
        for _ in range(10):  # a list closes when the page below it moves, as it does while charts take their size
            v.page.locator(".st-key-h_row_list input").first.focus()
            v.page.keyboard.press("ArrowDown")
            v.page.wait_for_timeout(500)
            if options.count():
                break
        assert "![x](http://example.invalid/t.png)" in "".join(options.all_inner_texts())
        assert v.page.locator("[role=option] :is(img, a, em, .katex)").count() == 0
        v.page.keyboard.press("Escape")
        address = v.page.url
        assert v.outside == [] and v.trouble == []
    with visitor(chromium, server.url) as friend:
        friend.page.goto(address)
        friend.page.locator("textarea").first.wait_for()
        assert friend.page.locator("textarea").first.input_value() == HOSTILE
        assert friend.outside == [] and friend.trouble == []


def test_a_long_sentence_is_an_image_whose_rows_can_be_clicked_and_a_zoom_has_cells(chromium: Any, server: Server) -> None:
    with visitor(chromium, server.url) as v:
        v.open("/heads?h_src=typed&h_head=previous&h_text=" + "+".join(f"w{n}" for n in range(64)))
        chart = v.page.locator(".st-key-h_matrix_large [data-testid=stVegaLiteChart]")
        chart.wait_for()
        v.page.wait_for_timeout(1200)
        chart.scroll_into_view_if_needed()
        box = chart.bounding_box()
        v.page.mouse.click(box["x"] + 0.7 * box["width"], box["y"] + 0.6 * box["height"])
        v.page.wait_for_url("**h_row=**")
        row = int(v.parameter("h_row"))
        assert 16 < row < 56
        v.settled()
        v.page.get_by_text(f"{row + 1}  w{row}   →   {row}  w{row - 1}").wait_for()
        v.page.locator(".st-key-h_zoom_page label").first.click()
        v.page.wait_for_url("**h_zoom=1**")
        v.settled()
        cell(v, 255).wait_for(state="attached")
        assert words.ZOOM.en in v.words() and v.trouble == []
