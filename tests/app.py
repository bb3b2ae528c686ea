"""The whole app in AppTest, opened at a page with an address and a browser language."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("home", "triad", "variance", "saturation", "training", "shapes", "heads", "positions", "complexity")


def open_page(page: str = "home", /, locale: str = "en-US", timeout: float = 60, **params: str | list[str]) -> AppTest:
    """The page after its first run, as a visitor with a cold link gets it."""
    at = AppTest.from_file(str(ROOT / "qkv_core" / "ui" / "main.py"), default_timeout=timeout)
    at.context["locale"] = locale
    for key, value in params.items():
        at.query_params[key] = value
    return go(at, page)


def go(at: AppTest, page: str) -> AppTest:
    """Moves to a page as the menu does, the settings on screen staying as they are."""
    return at.switch_page(str(ROOT / "pages" / f"{page}.py")).run()


def words(at: AppTest) -> str:
    """Every text on the screen, sidebar included."""
    kinds = ("title", "header", "subheader", "markdown", "caption", "text", "code", "success", "info", "error", "warning")
    return "\n".join(str(e.value) for kind in kinds for e in at.get(kind))


def assert_healthy(at: AppTest) -> None:
    """No exception, no failed page, no red check."""
    assert not at.exception, at.exception
    assert not at.error, [e.value for e in at.error]
    red = [m.value for m in at.markdown if ":material/error:" in str(m.value)]
    assert not red, red


def setting(at: AppTest, key: str) -> Any:
    """What a setting's own widget shows."""
    return at.session_state[key]


def choose_language(at: AppTest, lang: str) -> AppTest:
    """Presses EN or ES."""
    return next(g for g in at.get("button_group") if g.key == "lang").set_value(lang).run()
