"""The training page in a browser: it trains while sliders move, pauses, steps, looks back, and stops when it is left."""

from __future__ import annotations

import re
from typing import Any

import pytest

from qkv_core.text import player as player_words
from qkv_core.text import training as text
from tests.browser.driver import PHONE, Visitor, visitor
from tests.conftest import Server

pytestmark = pytest.mark.browser

MOUNTS = """() => { window.mounts = 0; new MutationObserver(records => { for (const r of records) for (const n of r.addedNodes)
    if (n.nodeType === 1 && n.closest('[data-testid=stVegaLiteChart]')
        && (n.matches('svg, canvas') || n.querySelector('svg.marks, canvas.marks'))) window.mounts += 1; })
    .observe(document.querySelector('[data-testid=stMain]'), {childList: true, subtree: true}); }"""


def step(v: Visitor) -> int:
    """The step that stands beside the chart."""
    return int(re.search(r"step ([\d,]+) · ", v.words()).group(1).replace(",", ""))


def press(v: Visitor, key: str) -> Visitor:
    v.page.locator(f".st-key-tr_{key} button:visible").click()  # the other one is for touch
    return v


def beyond(v: Visitor, n: int) -> None:
    v.page.wait_for_function(
        "n => { const m = document.body.innerText.match(/step ([\\d,]+) ·/); return m && +m[1].replaceAll(',', '') > n }",
        arg=n,
        timeout=90_000,
    )


def pause(v: Visitor) -> int:
    press(v, "pause")
    v.page.locator(".st-key-tr_play").wait_for()
    v.settled()
    return step(v)


def test_it_trains_while_the_rate_moves_and_pauses_steps_and_looks_back(chromium: Any, server: Server) -> None:
    with visitor(chromium, server.url) as v:
        v.open("/training?tr_until=20000&tr_seeds=8")
        v.page.keyboard.press("p")
        v.page.locator(".st-key-tr_pause").wait_for()
        beyond(v, 20)
        for key, rate in (("ArrowLeft", "0.5"), ("ArrowLeft", "0.3"), ("ArrowRight", "0.5")):
            v.slider("tr_lr_page").focus()
            v.slider("tr_lr_page").press(key)
            v.page.wait_for_function(f"() => new URLSearchParams(location.search).get('tr_lr') === '{rate}'")
            beyond(v, step(v) + 5)
        stood = pause(v)
        assert stood > 40
        v.page.wait_for_timeout(1200)
        assert step(v) == stood  # no tick is left
        for n in range(1, 6):
            press(v, "step")
            v.page.wait_for_function(f"() => document.body.innerText.includes('step {stood + n:,} ·')")
            v.page.wait_for_timeout(120)
        assert step(v) == stood + 5
        v.slider("tr_look_back").focus()
        v.slider("tr_look_back").press("Home")
        v.page.get_by_role("heading", name=text.MAPS("en", run=1, step=0)).wait_for()
        assert step(v) == stood + 5
        press(v, "reset")
        v.page.wait_for_function("() => document.body.innerText.includes('step 0 ·')")
        assert v.trouble == []
    assert "Traceback" not in server.log() and "page training failed" not in server.log()


def test_a_run_on_screen_is_drawn_without_making_its_charts_anew(chromium: Any, server: Server) -> None:
    with visitor(chromium, server.url) as v:
        v.open("/training?tr_until=20000&tr_seeds=2")
        press(v, "play")
        beyond(v, 10)
        v.settled()
        v.page.wait_for_timeout(3000)
        v.page.evaluate(MOUNTS)
        beyond(v, step(v) + 100)
        assert v.page.evaluate("window.mounts") == 0
        pause(v)
        assert v.trouble == []


def test_leaving_the_page_stops_the_work_and_coming_back_offers_to_go_on(chromium: Any, server: Server) -> None:
    with visitor(chromium, server.url) as v:
        v.open("/training?tr_until=20000&tr_seeds=4")
        press(v, "play")
        beyond(v, 10)
        v.follow("Variance")
        v.page.wait_for_timeout(1500)
        v.follow("Live training")
        v.page.locator(".st-key-tr_play").wait_for()
        stood = step(v)
        assert stood > 10
        assert player_words.TOLD["away"]("en", step=stood) in v.words()
        v.page.wait_for_timeout(1200)
        assert step(v) == stood
        press(v, "play")
        beyond(v, stood)
        v.page.reload()
        v.settled()
        v.page.wait_for_function("() => document.body.innerText.includes('step 0 ·')")
        assert v.parameter("tr_until") == "20000"
        assert v.trouble == []


def test_another_setting_asks_before_it_drops_the_run(chromium: Any, server: Server) -> None:
    with visitor(chromium, server.url) as v:
        v.open("/training?tr_seeds=4&tr_until=40")
        press(v, "play")
        v.page.locator(".st-key-tr_play").wait_for()
        v.settled()
        v.page.get_by_text(player_words.TOLD["done"]("en", step=40)).wait_for()
        v.page.get_by_role("heading", name=text.MAPS("en", run=1, step=40)).wait_for()
        v.press("d_k_page", "ArrowLeft")
        v.page.locator(".st-key-tr_changed").wait_for()
        assert step(v) == 40
        press(v, "back")
        v.page.locator(".st-key-tr_changed").wait_for(state="detached")
        v.settled()
        assert v.shown("d_k_page") == "64" and step(v) == 40
        assert v.trouble == []


def test_a_preset_pressed_in_mid_run_is_not_undone_by_a_tick_on_its_way(chromium: Any, server: Server) -> None:
    with visitor(chromium, server.url) as v:
        v.open("/training?tr_until=20000&tr_seeds=2")
        press(v, "play")
        for key, d_k in (("small", "4"), ("large", "64"), ("small", "4")):
            beyond(v, 5)
            v.page.locator(f".st-key-try_training_{key} button:visible").click()
            v.page.wait_for_function(f"() => (new URLSearchParams(location.search).get('d_k') || '64') === '{d_k}'")
            v.page.wait_for_timeout(2000)
            assert v.page.locator(".st-key-tr_changed").count() == 0
            assert (v.parameter("d_k") or "64") == d_k
        assert v.trouble == []


def test_it_trains_on_a_phone(chromium: Any, server: Server) -> None:
    with visitor(chromium, server.url, size=PHONE) as v:
        v.open("/training?tr_seeds=4&tr_until=60")
        press(v, "play")
        v.page.wait_for_function("() => document.body.innerText.includes('step 60 ·')", timeout=90_000)
        v.settled()
        assert v.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 1
        assert v.trouble == []
