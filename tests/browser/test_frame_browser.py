"""What only a browser can show: the address, Back and Forward, reload, keyboard, phones, and that nothing outside is asked."""

from __future__ import annotations

import functools
import http.server
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from qkv_core import settings
from qkv_core.text import frame, take_home
from tests.browser.driver import DESK, PHONE, visitor
from tests.conftest import ROOT, Server

pytestmark = pytest.mark.browser

PAGES = ("home", "triad", "variance", "saturation", "training", "shapes", "heads", "positions", "complexity")
PATHS = {name: "/" if name == "home" else f"/{name}" for name in PAGES}


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    ("size", "scheme", "locale"),
    [(DESK, "light", "en-US"), (DESK, "dark", "es-ES"), (PHONE, "light", "es-MX"), (PHONE, "dark", "en-GB")],
    ids=["desk-light-en", "desk-dark-es", "phone-light-es", "phone-dark-en"],
)
def test_every_page_is_complete_at_every_width_in_both_themes(
    chromium: Any, server: Server, page: str, size: dict[str, int], scheme: str, locale: str
) -> None:
    with visitor(chromium, server.url, size=size, locale=locale, scheme=scheme) as v:
        v.open(PATHS[page])
        v.page.wait_for_timeout(700)
        assert v.trouble == []
        assert v.outside == []
        assert v.page.locator("[data-testid=stException], .st-key-failed").count() == 0
        assert v.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 1
        lang = locale[:2]
        assert frame.SOURCE(lang) in v.words()
        wide = v.page.evaluate(
            """() => [...document.querySelectorAll('[data-testid=stMain] [data-testid=stElementContainer]')]
                     .filter(e => e.getBoundingClientRect().right > innerWidth + 1 && e.offsetParent
                                  && ![...function*(){let p=e; while (p = p.parentElement) yield p}()]
                                      .some(p => getComputedStyle(p).overflowX === 'auto' && p.dataset.testid !== 'stMain'))
                     .map(e => e.className)"""
        )
        assert wide == []
        cut = v.page.locator(".stMarkdownBadge").evaluate_all("found => found.filter(e => e.scrollWidth > e.clientWidth).map(e => e.innerText)")
        assert cut == []


def test_a_slider_moved_is_in_the_address_and_back_and_forward_restore_it(chromium: Any, server: Server) -> None:
    with visitor(chromium, server.url) as v:
        v.open("/variance").press("d_k", "ArrowRight", "ArrowRight", "ArrowLeft")
        assert (v.shown("d_k"), v.parameter("d_k")) == ("128", "128")
        for go, expected in (("go_back", "256"), ("go_back", "128"), ("go_forward", "256")):
            getattr(v.page, go)()
            v.settled()
            v.page.wait_for_function(
                f"document.querySelector('.st-key-d_k input[type=range]').getAttribute('aria-valuetext') === '{expected}'"
            )
            assert v.parameter("d_k") == expected


def test_back_over_a_change_of_page_and_a_reload_keep_page_address_and_values_together(chromium: Any, server: Server) -> None:
    with visitor(chromium, server.url) as v:
        v.open("/variance?d_k=16&seed=5")
        v.follow(frame.MENU["saturation"]("en"))
        assert "/saturation" in v.page.url and v.parameter("d_k") == "16"
        v.press("d_k", "ArrowRight")
        v.page.reload()
        v.settled()
        assert (v.shown("d_k"), v.parameter("seed")) == ("32", "5")
        v.page.go_back()
        v.page.go_back()
        v.settled()
        v.page.wait_for_url("**/variance?**")
        v.page.wait_for_function(
            "document.querySelector('.st-key-d_k input[type=range]').getAttribute('aria-valuetext') === '16'"
        )


def test_the_shared_link_opens_the_same_screen_for_somebody_else_in_another_language(chromium: Any, server: Server) -> None:
    with visitor(chromium, server.url) as v:
        v.open("/saturation").press("d_k", "ArrowRight", "ArrowRight")
        v.page.locator(".st-key-share").get_by_role("button").first.click()
        link = v.page.get_by_test_id("stPopoverBody").locator("code").inner_text().replace("\n", "")
        assert link.startswith(f"{server.url}/saturation?v=1")
        numbers = v.words()
    with visitor(chromium, server.url, locale="es-ES") as friend:
        friend.page.goto(link)
        friend.settled()
        assert friend.shown("d_k") == "256"
        assert friend.words() == numbers  # the link says lang=en, so the friend reads the very same words
        friend.language("es")
        assert friend.shown("d_k") == "256" and friend.parameter("lang") is None  # their own browser's language


def test_a_language_and_a_slider_changed_at_once_are_both_kept_after_a_reload(chromium: Any, server: Server) -> None:
    with visitor(chromium, server.url) as v:
        v.open("/variance")
        v.slider("d_k").focus()
        v.slider("d_k").press("ArrowRight")
        v.page.locator(".st-key-lang").get_by_role("radio", name="ES").click(force=True)
        v.settled()
        v.page.reload()
        v.settled()
        assert (v.shown("d_k"), v.parameter("lang")) == ("128", "es")


def test_keys_pressed_faster_than_the_answers_lose_no_step(chromium: Any, server: Server) -> None:
    with visitor(chromium, server.url) as v:
        v.open("/saturation?heads=8")
        v.slider("heads").focus()
        for name in ("ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight"):
            v.slider("heads").press(name, no_wait_after=True)
        v.page.wait_for_url("**heads=16**")
        v.settled()
        assert v.shown("heads") == "16"


def test_a_key_held_on_one_of_two_controls_of_a_setting_loses_no_step(chromium: Any, server: Server) -> None:
    with visitor(chromium, server.url) as v:
        v.open("/")
        v.slider("tau").focus()
        for _ in range(20):
            v.slider("tau").press("ArrowRight", no_wait_after=True)
        v.page.wait_for_url("**tau=2.00**")
        v.settled()
        assert (v.shown("tau"), v.shown("tau_page")) == ("2.00", "2.00")


def test_a_cold_link_is_right_as_the_very_first_request_of_a_fresh_server_in_a_folder_with_spaces_and_accents(
    chromium: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "años de café"
    folder.mkdir()
    for name in ("qkv_core", "pages", ".streamlit"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "dashboard.py", folder)
    fresh = Server(tmp_path, cwd=folder)
    try:
        with visitor(chromium, fresh.url, locale="es-ES") as v:
            v.open("/variance?d_k=16")
            assert v.shown("d_k") == "16" and frame.SOURCE("es") in v.words()
            assert v.page.locator("[data-testid=stSidebar]").get_by_role("link").count() >= len(PAGES)
            v.page.wait_for_timeout(1500)
            assert v.trouble == [] and v.outside == []
        assert "Traceback" not in fresh.log()
    finally:
        fresh.stop()


def test_the_lab_works_inside_a_frame_on_another_origin(chromium: Any, server: Server, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(f'<iframe src="{server.url}/variance?d_k=8" width=1200 height=900></iframe>')
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as host:
        threading.Thread(target=host.serve_forever, daemon=True).start()
        page = chromium.new_page(viewport={"width": 1300, "height": 1000})
        page.goto(f"http://localhost:{host.server_port}/")
        inside = page.frame_locator("iframe")
        inside.locator(".st-key-d_k input[type=range]").first.wait_for(timeout=60_000)
        assert inside.locator(".st-key-d_k input[type=range]").first.get_attribute("aria-valuetext") == "8"
        page.close()
        host.shutdown()


@pytest.mark.parametrize("page", PAGES)
def test_the_data_behind_a_picture_and_the_code_open_when_asked_and_download(chromium: Any, server: Server, page: str) -> None:
    with visitor(chromium, server.url) as v:
        v.open(PATHS[page])
        closed = v.page.locator("details:not([open])", has_text=frame.DATA("en"))
        assert closed.count() >= 1 and closed.get_by_test_id("stDataFrame").count() == 0  # nothing is built while closed
        v.page.get_by_text(frame.DATA("en")).first.click()
        v.page.get_by_test_id("stDataFrame").first.wait_for()
        v.settled()
        button = v.page.get_by_test_id("stDownloadButton").get_by_role("button", name=frame.DOWNLOAD("en")).first
        with v.page.expect_download() as download:
            button.click()
        lines = Path(download.value.path()).read_text().splitlines()
        assert len(lines) >= 3 and all(name.isidentifier() for name in lines[0].split(","))
        v.page.get_by_text(take_home.BOX("en")).click()
        v.page.get_by_role("tab", name=take_home.SOURCE("en")).click()
        v.page.locator("code:visible", has_text="def ").first.wait_for()
        assert v.trouble == [] and v.outside == []


@pytest.mark.parametrize(("locale", "lang"), [("en-US", "en"), ("es-MX", "es")])
def test_a_network_that_refuses_websockets_is_told_and_the_notice_goes_when_the_lab_comes(
    chromium: Any, server: Server, locale: str, lang: str
) -> None:
    with visitor(chromium, server.url, locale=locale) as v:
        refuses = [True]
        v.page.route_web_socket("**/_stcore/stream", lambda ws: ws.close() if refuses else ws.connect_to_server())
        v.page.goto(server.url + "/variance")
        notice = v.page.locator("#no-connection")
        notice.wait_for()
        assert notice.inner_text() == frame.NO_CONNECTION(lang)
        refuses.clear()
        v.page.get_by_role("heading", level=1).wait_for(state="attached")
        notice.wait_for(state="hidden")
        v.open("/saturation")
        v.page.wait_for_timeout(500)
        assert notice.is_hidden()


def test_two_viewers_at_the_same_time_keep_their_own_settings(chromium: Any, server: Server) -> None:
    with visitor(chromium, server.url) as a, visitor(chromium, server.url, locale="es-ES") as b:
        a.open("/saturation?d_k=4")
        b.open("/saturation?d_k=512")
        a.slider("d_k").press("ArrowRight")
        b.slider("d_k").press("ArrowLeft")
        a.page.wait_for_url("**d_k=8**")
        b.page.wait_for_url("**d_k=256**")
        assert (a.parameter("d_k"), b.parameter("d_k")) == ("8", "256")
        assert frame.SOURCE("en") in a.words() and frame.SOURCE("es") in b.words()


def test_back_from_a_shared_link_leads_out_and_not_in_a_circle(chromium: Any, server: Server) -> None:
    with visitor(chromium, server.url) as v:
        v.open("/variance?d_k=8")
        v.open("/saturation?v=1&d_k=16&heads=8&tau=1.00&mask=none&scale=sqrt_dk&seed=42&lang=en&device=auto")
        v.page.go_back()
        v.page.wait_for_url("**/variance?d_k=8")


def test_back_from_a_step_on_a_shared_link_leads_to_the_link_and_then_out(chromium: Any, server: Server) -> None:
    with visitor(chromium, server.url) as v:
        v.open("/variance?d_k=8")
        v.open("/saturation?v=1&d_k=16&heads=8&tau=1.00&mask=none&scale=sqrt_dk&seed=42&lang=en&device=auto")
        v.press("d_k", "ArrowRight")
        v.page.go_back()
        v.page.wait_for_url("**v=1&d_k=16**")
        v.settled()
        assert v.shown("d_k") == "16" and v.parameter("v") == "1"
        v.page.go_back()
        v.page.wait_for_url("**/variance?d_k=8")


def test_bad_links_get_a_working_page_and_load_nothing_from_outside(chromium: Any, server: Server) -> None:
    bad = "%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E%20!%5Bx%5D(http%3A%2F%2Fexample.invalid%2Ft.png)"
    with visitor(chromium, server.url) as v:
        v.open(f"/variance?d_k=40&mask={bad}&{bad}=1&seed=1&seed=2")
        assert v.outside == [] and v.trouble == []
        assert v.shown("d_k") == "32" and v.parameter("d_k") == "32" and v.parameter("mask") is None
        notice = v.page.locator(".st-key-notices")
        assert "<img src=x" in notice.inner_text()
        assert notice.locator("img").count() == 0


def test_the_lessons_can_be_reached_and_moved_by_keyboard_alone(chromium: Any, server: Server) -> None:
    with visitor(chromium, server.url) as v:
        v.open("/")
        names: list[str] = []
        for _ in range(40):
            v.page.keyboard.press("Tab")
            names.append(v.page.evaluate("document.activeElement.innerText || document.activeElement.getAttribute('aria-label') || ''"))
            if frame.MENU["variance"]("en") in names[-1]:
                break
        assert frame.MENU["variance"]("en") in names[-1], names
        v.page.keyboard.press("Enter")
        v.page.wait_for_url("**/variance**")
        v.settled()
        for _ in range(60):
            if v.page.evaluate("document.activeElement.type === 'range' && !!document.activeElement.closest('.st-key-d_k')"):
                break
            v.page.keyboard.press("Tab")
        v.page.keyboard.press("ArrowLeft")
        v.page.wait_for_url("**d_k=32**")


def test_the_log_of_the_server_is_clean_after_all_pages(chromium: Any, server: Server) -> None:
    with visitor(chromium, server.url) as v:
        for page in settings.PAGES:
            v.open(PATHS.get(page, f"/{page}"))
    log = server.log()
    for word in ("Traceback", "torch.classes", "missing ScriptRunContext", "deprecat", "will be removed", "ERROR"):
        assert word not in log, log[-3000:]
