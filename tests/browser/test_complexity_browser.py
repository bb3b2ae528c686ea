"""In a browser: a measurement shows how far it is, can be cancelled at once, and ends within its three seconds of work."""

from __future__ import annotations

import time
from typing import Any

import pytest

from qkv_core.text import complexity as words
from tests.browser.driver import visitor
from tests.conftest import Server

pytestmark = pytest.mark.browser

PRESS = "key => document.querySelector(`.st-key-${key} button`).click()"


def test_a_measurement_is_told_cancelled_and_measured_again(chromium: Any, server: Server) -> None:
    with visitor(chromium, server.url) as v:
        v.open("/complexity")
        v.page.wait_for_selector(".st-key-complexity_measure button")
        v.page.evaluate(PRESS, "complexity_measure")
        v.page.wait_for_selector("[data-testid=stProgress]", timeout=20_000)
        began = time.monotonic()
        v.page.evaluate(PRESS, "complexity_cancel")
        v.page.get_by_text(words.STOPPED("en")).wait_for(timeout=20_000)
        assert time.monotonic() - began < 2.4, "it ran to its end"
        assert v.page.get_by_text(words.TIMED_NAME["n"]("en"), exact=True).count() == 0
        v.page.evaluate(PRESS, "complexity_measure")
        v.page.get_by_text(words.TIMED_NAME["n"]("en"), exact=True).wait_for(timeout=20_000)
        v.settled()
        assert v.trouble == [] and v.outside == []
        assert v.page.locator(".st-key-complexity_cancel, .st-key-failed").count() == 0
        assert v.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 1
