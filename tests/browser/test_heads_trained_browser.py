"""A net is trained, and its heads are opened on the heads page: by the menu, with the numbers of the training page's map."""

from __future__ import annotations

import re
from typing import Any

import pytest

from qkv_core.text import heads as words
from qkv_core.text import training as training_words
from tests.browser.driver import PHONE, Visitor, visitor
from tests.conftest import Server

pytestmark = pytest.mark.browser


def press(v: Visitor, key: str) -> None:
    v.page.locator(f".st-key-{key} button:visible").click()


def numbers(v: Visitor, chart: str) -> list[str]:
    """The numbers written into the cells of a matrix, in reading order; those that are 0 left out, as the heads page does."""
    cells = v.page.locator(f"{chart} svg .mark-text text")
    cells.first.wait_for()
    v.settled()
    return [t for t in cells.all_text_contents() if re.fullmatch(r"\d[.,]\d\d", t) and t not in ("0.00", "0,00")]


@pytest.mark.parametrize("lang", ["en", "es"])
def test_steps_are_trained_and_the_menu_leads_to_the_heads_of_that_net(chromium: Any, server: Server, lang: str) -> None:
    with visitor(chromium, server.url) as v:
        v.open(f"/training?lang={lang}&tr_seeds=4&d_k=16")
        for n in (1, 2, 3):
            press(v, "tr_step")
            v.page.get_by_role("heading", name=training_words.MAPS(lang, run=1, step=n)).wait_for()
            v.settled()
        names = [training_words.SHORT["scale"][scale](lang) for scale in ("sqrt_dk", "none")]
        first, second = (numbers(v, f"[aria-label='{name} 1']") for name in names)
        assert first != second and len(first) > 5
        v.follow("Heads" if lang == "en" else "Cabezas")
        v.page.locator(".st-key-h_src_page").get_by_role("radio", name=words.SOURCES["trained"](lang)).click(force=True)
        v.page.wait_for_url("**h_src=trained**")
        v.settled()
        v.page.get_by_text(words.CHECKS["net"](lang)).wait_for()
        assert f"{names[0]}. " in v.words() and words.NET_NO_MEANING(lang)[:30] in v.words()
        assert numbers(v, ".st-key-h_matrix") == first
        v.page.locator(".st-key-h_arm_page input").first.focus()
        v.page.keyboard.press("ArrowDown")
        v.page.locator("[role=option]").first.wait_for()
        v.page.keyboard.press("ArrowDown")
        v.page.keyboard.press("Enter")
        v.page.wait_for_url("**h_arm=2**")
        v.page.wait_for_url("**scale=none**")  # as that arm was trained
        v.settled()
        assert numbers(v, ".st-key-h_matrix") == second
        v.page.reload()
        v.settled()
        v.page.get_by_text(words.NO_RUN(lang)).wait_for()
        assert v.trouble == []
    assert "Traceback" not in server.log()


def test_a_cold_link_on_a_phone_leads_to_the_training_page_and_its_net_back_here(chromium: Any, server: Server) -> None:
    with visitor(chromium, server.url, size=PHONE) as v:
        v.open("/heads?h_src=trained")
        v.page.get_by_text(words.NO_RUN.en).wait_for()
        v.page.get_by_role("link", name=words.TO_TRAINING.en).click()
        v.settled()
        press(v, "tr_play")
        v.page.wait_for_function("() => /step \\d\\d+ ·/.test(document.body.innerText)", timeout=90_000)
        press(v, "tr_pause")
        v.page.get_by_role("link", name=training_words.TO_HEADS.en).click()
        v.settled()
        v.page.get_by_text(words.CHECKS["net"].en).wait_for()
        stood = re.search(r"after ([\d,]+) steps", v.words()).group(1)
        v.page.wait_for_timeout(1500)
        v.press("h_row_page", "ArrowLeft")
        assert re.search(r"after ([\d,]+) steps", v.words()).group(1) == stood  # nothing trains while one reads
        assert v.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 1
        assert v.trouble == []
