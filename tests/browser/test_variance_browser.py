"""A long run of the variance page in a browser: it shows how far it is, moving a slider ends it, others need not wait for it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.driver import visitor
from tests.conftest import Server

pytestmark = pytest.mark.browser

RUNNING = "[data-testid=stApp][data-test-script-state=running]"
BAR = "[data-testid=stMain] [data-testid=stProgress]"


def test_a_million_pairs_show_progress_and_a_moved_slider_ends_them(chromium: Any, server: Server) -> None:
    with visitor(chromium, server.url) as v, visitor(chromium, server.url) as other:
        v.open("/variance?v_n=100000&seed=801")
        v.slider("v_n_page").focus()
        v.slider("v_n_page").press("ArrowRight")
        v.page.wait_for_selector(BAR, timeout=30_000)
        assert "1,000,000" in v.page.locator(BAR).inner_text()
        other.open("/variance?v_n=1000&seed=802")  # a short run goes between two slices of the long one
        assert v.page.locator(BAR).count() == 1
        assert "1,000 pairs" in other.words()
        v.slider("v_n_page").press("Home")
        v.settled()
        assert v.page.locator(BAR).count() == 0 and v.parameter("v_n") == "1"
        assert v.trouble == [] and other.trouble == []
