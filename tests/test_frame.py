"""The frame: settings hold on every page, links open as they were meant, and what a link says wrongly is named."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from qkv_core import settings
from qkv_core.text import frame
from qkv_core.ui import server
from tests.app import PAGES, assert_healthy, choose_language, go, open_page, setting, words

HOSTILE_TEXT = "<img src=x onerror=alert(1)> ![x](http://example.invalid/t.png) **bold** $x$ :red[y]"


def notices(at: AppTest) -> list[str]:
    return [t.value for t in at.text]


@pytest.mark.parametrize("lang", ["en", "es"])
@pytest.mark.parametrize("page", PAGES)
def test_every_page_opens_first_in_a_fresh_session_in_either_language(page: str, lang: str) -> None:
    at = open_page(page, locale={"en": "en-GB", "es": "es-MX"}[lang])
    assert_healthy(at)
    assert setting(at, "lang") == lang
    assert frame.SOURCE(lang) in words(at)
    assert notices(at) == []


@pytest.mark.parametrize("page", PAGES)
def test_a_cold_link_restores_the_shared_settings_and_the_link_decides_the_language(page: str) -> None:
    link = {"d_k": "16", "heads": "4", "tau": "0.70", "mask": "causal", "scale": "none", "seed": "7", "lang": "es"}
    at = open_page(page, locale="en-US", **link)
    assert_healthy(at)
    assert notices(at) == []
    for key, text in link.items():
        assert settings.everything()[key].format(setting(at, key)) == text
    assert dict(at.query_params) == link


def test_a_full_link_stays_as_it_came_until_something_changes() -> None:
    full = settings.format({**settings.defaults(), "d_k": 16}, "variance", full=True)
    at = open_page("variance", **full)
    assert dict(at.query_params) == full
    at.select_slider(key="d_k").set_value(32).run()
    assert dict(at.query_params) == {"d_k": "32"}


def test_settings_hold_over_all_pages_and_back() -> None:
    at = open_page("variance")
    at.select_slider(key="d_k").set_value(32).run()
    for page in (*PAGES[1:], "variance"):
        go(at, page)
        assert_healthy(at)
        assert setting(at, "d_k") == 32, page
        assert "d_k=32" in next(c.value for c in at.code if "d_k=" in c.value)


def test_switching_the_language_keeps_every_value_and_translates_the_screen() -> None:
    at = open_page("triad", tau="0.50", mask="causal", seed="3")
    assert frame.LABELS["tau"]("en") in [s.label for s in at.select_slider]
    choose_language(at, "es")
    assert_healthy(at)
    assert frame.LABELS["tau"]("es") in [s.label for s in at.select_slider]
    assert (setting(at, "tau"), setting(at, "mask"), setting(at, "seed")) == (0.5, "causal", 3)
    assert at.query_params["lang"] == "es"
    choose_language(at, "en")
    assert "lang" not in at.query_params


@pytest.mark.parametrize("page", PAGES)
def test_every_setting_of_every_page_survives_hostile_values(page: str) -> None:
    for bad in ("abc", "-1", "1e9", "nan", "inf", "", "12.5", "x" * 10_000, HOSTILE_TEXT):
        at = open_page(page, **dict.fromkeys(settings.known(page), bad))
        assert_healthy(at)
        for key, s in settings.known(page).items():
            assert s.legal(at.session_state["_values"][key]), (key, bad)


def test_what_was_replaced_is_named_in_one_line_and_shown_as_plain_text() -> None:
    at = open_page("variance", d_k="40", mask=HOSTILE_TEXT)
    first, second = notices(at)
    assert first == frame.REPLACED("en", key="d_k", given="40", used="32")
    assert second.startswith("mask = <img src=x")
    assert not any("<img" in str(e.value) for kind in ("markdown", "caption", "title") for e in at.get(kind))
    at.button(key="dismiss").click().run()
    assert notices(at) == []


def test_a_notice_goes_when_the_viewer_changes_a_setting() -> None:
    at = open_page("variance", d_k="40")
    assert notices(at)
    at.select_slider(key="d_k").set_value(64).run()
    assert notices(at) == []


def test_many_bad_parameters_are_counted_not_listed() -> None:
    at = open_page("home", **{f"x{i}": str(i) for i in range(30)})
    assert len(notices(at)) == 6 and notices(at)[-1] == frame.MORE_PROBLEMS("en", n=25)


def test_repeated_parameters_use_the_last_and_say_so() -> None:
    at = open_page("variance", seed=["1", "2"])
    assert setting(at, "seed") == 2
    assert notices(at) == [frame.REPEATED("en", key="seed", given="1, 2", used="2")]


def test_a_link_from_a_page_that_does_not_exist_is_told() -> None:
    at = open_page("home", page="nope")
    assert notices(at) == [frame.NO_PAGE("en", given="nope", key="page", used="")]


def test_reset_brings_the_defaults_back_and_keeps_the_language() -> None:
    at = open_page("variance", d_k="8", seed="5", lang="es")
    at.button(key="reset").click().run()
    assert (setting(at, "d_k"), setting(at, "seed"), setting(at, "lang")) == (64, 42, "es")
    assert dict(at.query_params) == {"lang": "es"}


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_does_not_use_is_disabled_with_the_reason(page: str) -> None:
    at = open_page(page)
    widgets = {w.key: w for w in (*at.select_slider, *at.selectbox, *at.number_input)}
    for key in ("d_k", "heads", "tau", "mask", "scale", "seed", "device"):
        assert widgets[key].disabled == (key not in settings.USES[page]), key
        assert (widgets[key].help == frame.NOT_USED("en")) == (key not in settings.USES[page])


def test_an_absent_device_is_replaced_and_named_once_it_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    from qkv_core import device

    monkeypatch.setattr(server, "is_warm", lambda: True)
    absent = next(d.name for d in device.available() if not d.usable)
    at = open_page("variance", device=absent)
    assert setting(at, "device") == "auto"
    assert notices(at) == [frame.DEVICE_ABSENT("en", key="device", given=absent, used="auto")]
    assert frame.OPTIONS["device"][absent]("en") not in at.selectbox(key="device").options


def test_viewers_do_not_see_each_other() -> None:
    a = open_page("variance", d_k="8", seed="77")
    b = open_page("variance")
    assert (setting(b, "d_k"), setting(b, "seed")) == (64, 42)
    a.select_slider(key="d_k").set_value(16).run()
    b.run()
    assert setting(b, "d_k") == 64


def test_above_the_limit_a_newcomer_is_asked_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.ViewerCount, "active", server.MAX_VIEWERS + 1)
    at = open_page("variance")
    assert [i.value for i in at.info] == [frame.BUSY("en")]
    assert not at.title


def test_a_second_control_that_still_says_what_it_showed_before_does_not_undo_the_first() -> None:
    at = open_page("saturation")
    at.select_slider(key="tau_page").set_value(2.0).run()
    assert at.select_slider(key="tau").value == 2.0
    at.select_slider(key="tau_page").set_value(3.0)
    at.select_slider(key="tau").set_value(1.0).run()  # what the browser showed before it saw the first answer
    assert at.select_slider(key="tau").value == at.select_slider(key="tau_page").value == 3.0
    at.select_slider(key="tau").set_value(2.0).run()  # alone it is a person's choice
    assert at.select_slider(key="tau_page").value == 2.0


@pytest.mark.parametrize(
    "page, before, after",
    [
        ("home", {"tau": "1"}, {"tau": "1.05"}),
        ("home", {"home_token": "0"}, {"home_token": "1"}),
        ("variance", {"d_k": "64"}, {"d_k": "128"}),
        ("saturation", {"d_k": "64"}, {"d_k": "128"}),
        ("saturation", {"tau": "1"}, {"tau": "1.05"}),
        ("heads", {"tau": "1"}, {"tau": "1.05"}),
        ("positions", {"p_pos": "1"}, {"p_pos": "2"}),
        ("positions", {"p_k": "1"}, {"p_k": "2"}),
        ("complexity", {"x_n": "64"}, {"x_n": "128"}),
    ],
)
def test_a_slider_moves_the_marks_of_a_picture_and_does_not_build_it_anew(
    page: str, before: dict[str, str], after: dict[str, str]
) -> None:
    """A browser builds a chart anew when its specification or its name for screen readers changes."""

    def pictures(**link: str) -> list[tuple[str, str]]:
        return [(chart.proto.spec, chart.proto.alt) for chart in open_page(page, **link).get("vega_lite_chart")]

    drawn = pictures(**before)
    assert drawn and pictures(**after) == drawn
