"""Pictures that travel within a chart's data are put on white paper, whatever theme they were drawn in."""

from __future__ import annotations

import re

import pytest

from qkv_core.charts import export, heads
from qkv_core.charts.base import Look
from qkv_core.ui import take_home
from qkv_core.ui.cached import positions
from tests.app import ROOT, AppTest, assert_healthy


@pytest.mark.parametrize("symbol", export.SYMBOLS)
def test_a_matrix_drawn_in_the_dark_is_printed_as_in_the_light(symbol: str) -> None:
    values, hidden = [[0.2, -0.5], [1.0, 0.0]], [[False, True], [False, False]]
    dark, light = (heads.image(values, hidden, Look(dark=d), symbol, 1.0) for d in (True, False))
    assert dark != light and export.on_paper(dark) == light == export.on_paper(light)


def test_the_pattern_drawn_in_the_dark_is_printed_as_in_the_light() -> None:
    dark, light = (positions.picture(5, 4, d) for d in (True, False))
    assert dark != light and export.on_paper(dark) == light == export.on_paper(light)


def test_anything_else_stays_as_it_is() -> None:
    for value in (1.5, None, "data:image/png;base64,", "data:image/png;base64,AAAA", "PLTE", True):
        assert export.on_paper(value) is value


def test_a_handout_made_in_the_dark_theme_holds_the_light_pictures() -> None:
    made = {}
    for theme in ("dark", "light"):
        at = AppTest.from_file(str(ROOT / "qkv_core" / "ui" / "main.py"), default_timeout=60)
        at.context["theme"] = theme
        at = at.switch_page(str(ROOT / "pages" / "positions.py")).run()
        assert_healthy(at)
        made[theme] = re.findall(r"data:image/png;base64,[^\"]+", take_home.page_as_html(at.session_state["_screen"]))
    assert made["dark"] == made["light"] != []
