"""A handout on paper: what belongs together stays together, and nothing is said that only a screen means."""

from __future__ import annotations

import re
from typing import Any

import pytest

from qkv_core import handout
from qkv_core.handout import Figure, Heading, Prose, Question, Table
from qkv_core.text import frame
from qkv_core.ui import lessons, take_home
from tests.app import open_page

SVG = '<svg width="600" height="600" viewBox="0 0 600 600"><rect width="600" height="600"/></svg>'


def test_a_heading_with_nothing_below_it_is_left_out() -> None:
    made = handout.document("t", [Heading("empty"), Heading("full"), Heading("part", 3), Prose("x"), Heading("last")], lang="en")
    assert re.findall(r"<h[23]>(\w+)", made) == ["full", "part"]


@pytest.mark.parametrize("page", lessons.ORDER)
def test_no_picture_points_to_a_sentence_instead_of_saying_it(page: str) -> None:
    for block in take_home.page_blocks(open_page(page).session_state["_screen"]):
        assert not isinstance(block, Figure) or block.says != frame.CHART("en")


@pytest.mark.browser
def test_what_belongs_together_stays_on_one_page(chromium: Any, tmp_path: Any) -> None:
    """A block that its page has no room for takes along the line above it, however far that page is filled."""
    rows = tuple((str(i), "x") for i in range(handout.SHORT))
    cases = {
        "picture": [Prose("**before** picture"), Figure(SVG, "", "", "")],
        "caption": [Heading("before"), Prose("before picture", True), Figure(SVG, "", "", "")],
        "question": [Prose("**before** question"), Question("Which?", ("a", "b", "c"))],
        "table": [Prose("before table"), Table(("a", "b"), rows, total=len(rows))],
    }
    context = chromium.new_context(viewport={"width": 680, "height": 960}, offline=True)
    page = context.new_page()
    page.emulate_media(media="print")
    turned = 0
    for name, blocks in cases.items():
        for filling in range(20, 40):
            page.set_content(handout.document("t", [*(Prose(f"line {i}") for i in range(filling)), *blocks], lang="en"))
            columns = page.evaluate(COLUMNS)
            assert len(set(columns[filling:])) == 1, (name, filling, columns[filling:])
            turned += columns[filling] > 0
    context.close()
    assert turned > 20


COLUMNS = """() => {
    const main = document.querySelector('main');
    main.style.cssText = 'columns: 680px; column-gap: 20px; height: 940px; column-fill: auto; width: 680px';
    const at = x => Math.floor((x - main.getBoundingClientRect().left + 1) / 700);
    return [...main.children].flatMap(e => [...e.getClientRects()].map(r => at(r.left)));
}"""
"""The column of a page's size in which each block stands; a block that is cut has two."""
