"""The first page: its example is the lesson's, its sentences say what the tensors say, its links set everything."""

from __future__ import annotations

import itertools
import math
from urllib.parse import parse_qs

import pytest

from qkv_core import presets, settings
from qkv_core.charts.palette import DARK, LIGHT
from qkv_core.presets import IN_CLASS, PRESETS
from qkv_core.text import home as words
from qkv_core.text import number
from qkv_core.ui import lessons
from tests.app import assert_healthy, open_page
from tests.app import words as screen
from tests.reference import CAT_SAT, assert_close

SETTINGS = {s.key: s for s in (*settings.SHARED, *settings.PAGES["home"])}
SYMBOLS = SETTINGS["home_symbol"].choices
MASKS, SCALES = SETTINGS["mask"].choices, SETTINGS["scale"].choices


def example(tau: float = 1.0, mask: str = "none", scale: str = "sqrt_dk"):
    from qkv_core.ui.cached import home

    return home.example(tau, mask, scale)


# the example


@pytest.mark.parametrize("step", ["raw", "scaled", "weights", "output"])
def test_the_example_is_the_lessons_own(step: str) -> None:
    assert_close(getattr(example(), step), CAT_SAT[step], 5.1e-5, step)


@pytest.mark.parametrize("mask, scale", list(itertools.product(MASKS, SCALES)))
def test_the_checks_hold_at_both_ends_of_the_temperature(mask: str, scale: str) -> None:
    for tau in (0.1, 1.0, 5.0):
        e = example(tau, mask, scale)
        assert e.kernel <= 1e-5 and e.row_sum <= 1e-6 and e.cells <= 1e-5


def test_a_wrong_attention_turns_the_checks_red(monkeypatch: pytest.MonkeyPatch) -> None:
    import streamlit as st

    from qkv_core.ui.cached import home

    right = home.attention_trace
    monkeypatch.setattr(home, "attention_trace", lambda q, k, v, mask, tau, by: right(q, k, v, mask, tau, 1.1 * by))
    st.cache_resource.clear()
    try:
        e = home.example(1.0, "none", "sqrt_dk")
        assert e.kernel > 1e-3 and e.cells > 1e-3
        red = [m.value for m in open_page("home").markdown if ":material/error:" in str(m.value)]
        assert len(red) == 2
    finally:
        st.cache_resource.clear()


# the sentences


def test_who_reads_whom_is_ordered_by_weight_and_leaves_the_masked_out() -> None:
    assert words.reads(example(), 1, "en").startswith(
        "**“cat” reads 65.1% from itself, 23.0% from “sat” and 11.9% from “The”.**"
    )
    assert words.reads(example(mask="causal"), 0, "es").startswith("**«The» lee 100,0\u202f% de sí mismo.**")


@pytest.mark.parametrize("lang", ["en", "es"])
def test_every_symbol_says_something_whole_under_every_setting(lang: str) -> None:
    for symbol, mask, scale, row in itertools.product(SYMBOLS, MASKS, SCALES, range(3)):
        said = words.explain(symbol, example(1.0, mask, scale), row, 1.0, scale, mask, lang)
        assert said and "{" not in said and "nan" not in said and "None" not in said, said


def test_the_numbers_of_a_symbol_are_those_of_the_tensors() -> None:
    e = example(0.5, "none", "none")
    said = {s: words.explain(s, e, 1, 0.5, "none", "none", "en") for s in SYMBOLS}
    assert "(0.18, 2.04, 0.81, 0.60)" in said["q"]
    assert all(number(x, ".2f", "en") in said["scores"] for x in CAT_SAT["raw"][1])
    assert "1 × τ = 1.00 × 0.50 = **0.50**" in said["scale"]
    assert f"from {CAT_SAT['raw'][1][1]:.2f} to {CAT_SAT['raw'][1][1] / 0.5:.2f}" in said["scale"]
    exps = [math.exp((s - max(CAT_SAT["raw"][1])) / 0.5) for s in CAT_SAT["raw"][1]]
    assert all(f"{x / sum(exps):.3f}" in said["softmax"] for x in exps)


def test_a_mask_is_told_only_where_it_hides_something() -> None:
    told = [words.explain("mask", example(mask="causal"), row, 1.0, "sqrt_dk", "causal", "en") for row in range(3)]
    assert "“cat” and “sat”" in told[0] and "“sat” from “cat”" in told[1] and "hides nothing" in told[2]


@pytest.mark.parametrize("mask, row", list(itertools.product(MASKS, range(3))))
def test_the_prediction_is_graded_by_the_weights(mask: str, row: int) -> None:
    e, other = example(mask=mask), (row + 1) % 3
    _, answers, right, because = words.question(e, row, "en")
    back, forth = (round(1000 * w) for w in (e.weights[other][row], e.weights[row][other]))
    assert answers[right] == ("less" if back < forth else "more" if back > forth else "as much")
    assert f"{e.weights[other][row]:.1%}" in because
    assert ("mask decides" in because) == (not (e.allowed[row][other] and e.allowed[other][row]))


# the formula


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_the_formula_is_the_one_that_is_computed_and_frames_the_chosen_symbol(palette) -> None:
    for scale, masked, chosen in itertools.product(SCALES, (False, True), SYMBOLS):
        tex = words.formula(palette, scale, masked, chosen)
        assert words.DIVISORS_TEX[scale] in tex and ("{M}" in tex) == masked
        assert tex.count("{") == tex.count("}")
        framed = tex.count(f"{{{palette.panel}}}")
        assert framed == (2 if chosen == "v" else 0 if chosen == "mask" and not masked else 1)
        assert all(palette.symbol(name) in tex for name in ("q", "k", "v", "scores", "weights"))


# the page


@pytest.mark.parametrize("locale", ["en-US", "es-ES"])
def test_the_page_opens_cold_in_both_languages(locale: str) -> None:
    at = open_page("home", locale=locale)
    assert_healthy(at)
    lang = locale[:2]
    assert at.title[0].value == words.QUESTION(lang)
    assert words.reads(example(), 1, lang) in screen(at)
    assert screen(at).count(":green-badge[") == 3


def test_a_link_restores_the_token_the_symbol_and_the_settings() -> None:
    at = open_page("home", home_token="sat", home_symbol="output", tau="0.50", mask="window", scale="none")
    assert_healthy(at)
    e = example(0.5, "window", "none")
    assert words.reads(e, 2, "en") in screen(at)
    assert words.explain("output", e, 2, 0.5, "none", "window", "en") in screen(at)


@pytest.mark.parametrize("token, symbol", [("dog", "q"), ("![x](http://h/x.png)", "softmax"), ("", "zz"), ("CAT", "1e400")])
def test_a_bad_link_opens_and_says_so(token: str, symbol: str) -> None:
    at = open_page("home", home_token=token, home_symbol=symbol)
    assert_healthy(at)
    assert any("home_token" in t.value for t in at.text)
    assert not any("http://h" in m.value for m in at.markdown)
    assert words.reads(example(), 1, "en") in screen(at)


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_pressing_each_symbol_explains_it(symbol: str) -> None:
    at = open_page("home")
    control = next(g for g in at.get("button_group") if g.key == "home_symbol_page")
    control.set_value(symbol).run()
    assert_healthy(at)
    assert words.explain(symbol, example(), 1, 1.0, "sqrt_dk", "none", "en") in screen(at)


@pytest.mark.parametrize("preset", PRESETS["home"], ids=lambda p: p.key)
def test_each_preset_sets_the_page(preset: presets.Preset) -> None:
    at = open_page("home", tau="3.00", home_token="sat")
    at.button(key=f"try_home_{preset.key}").click().run()
    assert_healthy(at)
    full = preset.complete("home")
    row = list(words.TOKENS).index(full["home_token"])
    assert words.reads(example(full["tau"], full["mask"], full["scale"]), row, "en") in screen(at)


def test_presets_and_suggestions_have_legal_values_and_words() -> None:
    assert {p.key for p in PRESETS["home"]} == set(words.TRY)
    assert {idea.key for idea in IN_CLASS} == set(words.IN_CLASS)
    for idea in IN_CLASS:
        assert idea.page in lessons.ORDER
        for link in idea.links:
            assert link.values, "a link that changes nothing would leave an empty address"
            for key, value in link.values.items():
                assert SETTINGS[key].legal(value) and key in settings.USES[idea.page]


# the map and the class


def test_the_map_holds_every_lesson_once_with_its_question() -> None:
    at = open_page("home")
    for name in lessons.ORDER[1:]:
        assert f"**{lessons.texts(name).QUESTION('en')}**" in [m.value for m in at.markdown]


def links(at) -> list[tuple[str, dict[str, list[str]]]]:
    """Page and parameters of each link in the body of the page."""
    return [(p.proto.page, parse_qs(p.proto.query_string)) for p in at.main.get("page_link")]


@pytest.mark.parametrize("screen_now", [{}, {"tau": "2.50", "mask": "prefix", "d_k": "8", "scale": "dk", "seed": "9"}])
def test_a_class_link_means_the_same_whatever_was_on_the_screen(screen_now: dict[str, str]) -> None:
    found = links(open_page("home", **screen_now))
    for idea in IN_CLASS:
        for link in idea.links:
            wanted = settings.format(link.complete(idea.page), idea.page)
            assert (idea.page, {k: [v] for k, v in wanted.items()}) in found
            values, problems = settings.parse(wanted, idea.page)
            assert not problems and {**settings.defaults(), **values} == {**settings.defaults(), **link.complete(idea.page)}


@pytest.mark.parametrize("idea", IN_CLASS, ids=lambda i: i.key)
def test_a_class_link_opens(idea: presets.Suggestion) -> None:
    for link in idea.links:
        at = open_page(idea.page, **settings.format(link.complete(idea.page), idea.page))
        assert not at.exception and not at.text
