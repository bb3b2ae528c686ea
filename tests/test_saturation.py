"""The saturation page: its sentences say what the tensors say, its checks can turn red, its links restore the screen."""

from __future__ import annotations

import itertools
import json
import math
import re
from dataclasses import replace

import pytest

from qkv_core import settings
from qkv_core.presets import PRESETS, Preset
from qkv_core.text import number
from qkv_core.text import saturation as text
from tests.app import assert_healthy, open_page
from tests.app import words as screen

D_KS = settings.POWERS
SCALES = ("sqrt_dk", "none", "dk", "sqrt_dmodel")


@pytest.fixture
def cached():
    from qkv_core.ui.cached import saturation

    return saturation


@pytest.fixture
def fresh_caches():
    import streamlit as st

    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


def red(at) -> int:
    return sum(":material/error:" in str(m.value) for m in at.markdown)


# the checks


@pytest.mark.parametrize("d_k, tau, n", list(itertools.product((1, 64, 1024), (0.1, 1.0, 5.0), (2, 10, 32))))
def test_the_checks_hold_at_the_ends_of_every_setting(cached, d_k: int, tau: float, n: int) -> None:
    for scale, heads in itertools.product(SCALES, (1, 16)):
        row = cached.row(d_k, heads, n, 42, tau, scale)
        assert max(row.kernel, row.jacobian, row.norm) <= row.slack, (scale, heads)
        assert row.sums <= 1e-6 and cached.same(d_k, n, 42, tau).difference <= row.slack
        assert row.slack < 2e-3


@pytest.mark.parametrize("tau, trials", [(0.1, 25), (1.0, 400), (5.0, 100)])
def test_the_divisor_table_and_the_curve_are_one_draw(cached, tau: float, trials: int) -> None:
    assert all(cached.lab(d_k, 8, 10, trials, 7, tau).agrees <= 1e-5 for d_k in D_KS)


def test_a_wrong_temperature_in_the_row_turns_its_checks_red(cached, monkeypatch, fresh_caches) -> None:
    right = cached.core.ten_keys
    monkeypatch.setattr(cached.core, "ten_keys", lambda d, n, seed, tau, by=None: right(d, n, seed, 1.1 * tau, by))
    row = cached.row(64, 8, 10, 42, 1.0, "sqrt_dk")
    assert row.kernel > 1e-3
    assert red(open_page("saturation")) >= 1


def test_a_jacobian_without_its_diagonal_turns_its_check_red(cached, monkeypatch, fresh_caches) -> None:
    right = cached.core._arm

    def broken(*args):
        arm = right(*args)
        return replace(arm, jacobian=arm.jacobian - arm.jacobian.diag().diag())

    monkeypatch.setattr(cached.core, "_arm", broken)
    row = cached.row(64, 8, 10, 42, 1.0, "sqrt_dk")
    assert row.jacobian > 1e-2 and row.sums > 1e-2


def test_a_divisor_table_of_another_draw_turns_its_check_red(cached, monkeypatch, fresh_caches) -> None:
    right = cached.core.divisor_lab
    monkeypatch.setattr(cached.core, "divisor_lab", lambda d, c, n, t, seed, tau: right(d, c, n, t, seed + 1, tau))
    assert cached.lab(64, 8, 10, 400, 42, 1.0).agrees > 1e-3


# the row


def test_the_numbers_of_the_row_are_those_of_torch(cached) -> None:
    import torch

    row = cached.row(64, 8, 10, 42, 0.5, "dk")
    raw = cached.core.ten_keys(64, 10, 42).raw.double()
    for arm, by in zip(row.arms, (1, 8, 64), strict=True):
        a = torch.softmax(raw / (by * 0.5), -1)
        entropy = float(-(a * a.log()).sum())
        assert arm.divisor == by and arm.key == int(a.argmax())
        assert arm.peak == pytest.approx(float(a.max()), abs=1e-5)
        assert arm.entropy == pytest.approx(entropy / math.log(10), abs=1e-5)
        assert arm.effective == pytest.approx(math.exp(entropy), abs=1e-4)
        assert arm.norm == pytest.approx(float((a.diag() - a[:, None] * a).norm()), abs=1e-5)
        assert arm.entry == pytest.approx(float((a * (1 - a)).max()), abs=1e-5)


def test_the_setting_picks_its_arm_and_a_divisor_of_its_own_gets_a_third_one(cached) -> None:
    def arms(d_k: int, heads: int, scale: str):
        row = cached.row(d_k, heads, 10, 1, 1.0, scale)
        return row.chosen, len(row.arms), row.beside.code

    assert arms(64, 8, "sqrt_dk") == ("scaled", 2, "scaled")
    assert arms(64, 8, "none") == ("unscaled", 2, "scaled")
    assert arms(64, 8, "dk") == ("other", 3, "other")
    assert arms(64, 8, "sqrt_dmodel") == ("other", 3, "other")
    assert arms(64, 1, "sqrt_dmodel") == ("scaled", 2, "scaled")  # one head: d_model is d_k
    assert arms(1, 8, "dk") == ("scaled", 2, "scaled")


def test_the_lead_follows_the_row(cached) -> None:
    def said(d_k: int, seed: int = 42, tau: float = 1.0) -> tuple[str, float]:
        row = cached.row(d_k, 8, 10, seed, tau, "sqrt_dk")
        return text.lead(d_k, tau, 1.0, 10, row, "en"), row.unscaled.norm / row.scaled.norm

    assert "changes nothing" in said(1)[0]
    seen = set()
    for d_k, seed in itertools.product((4, 16, 64, 1024), range(12)):
        words, ratio = said(d_k, seed)
        wanted = "hardly moves" if ratio < text.HARDLY else "moves less" if ratio < 1 else "still moves well"
        assert wanted in words
        seen.add(wanted)
    assert len(seen) == 3
    assert "at τ = 0.20" in said(64, tau=0.2)[0] and "τ" not in said(64)[0]


def test_how_many_times_smaller_is_said_even_where_nothing_is_left(cached) -> None:
    assert text.times(0.3, 0.1, "en") == "3.0" and text.times(0.36, 0.0001, "es") == "3\u202f600"
    assert text.times(0.3, 0.0, "en") == "more than 1,000,000"
    row = cached.row(1024, 8, 10, 42, 0.1, "none")
    assert row.unscaled.norm < 1e-9
    assert "more than 1,000,000 times smaller" in text.lead(1024, 0.1, 32.0, 10, row, "en")


@pytest.mark.parametrize("n", [2, 10, 32])
@pytest.mark.parametrize("d_k", [1, 16, 64, 1024])
def test_the_names_of_the_peaks_overlap_neither_each_other_nor_a_stem(cached, d_k: int, n: int) -> None:
    for seed, tau, scale in itertools.product(range(6), (0.1, 1.0, 5.0), ("none", "dk", "sqrt_dmodel")):
        row = cached.row(d_k, 4, n, seed, tau, scale)
        places = cached.label_places(row)
        heights = sorted(places.values())
        assert all(b - a >= cached.APART - 1e-9 for a, b in zip(heights, heights[1:], strict=False))
        assert 0 < heights[0] and heights[-1] <= 1
        assert set(places) == {arm.code for arm in row.arms}


def test_a_name_is_lifted_above_the_stems_it_would_cover(cached) -> None:
    row = cached.row(64, 8, 10, 42, 1.0, "sqrt_dmodel")
    third = row.arm("other")
    next_key = max(arm.weights[third.key + 1] for arm in row.arms)
    assert next_key > third.peak  # or there would be nothing to lift it above
    assert cached.label_places(row)["other"] >= next_key + cached.CLEAR - 1e-9


# what to notice


def test_the_curve_is_the_reference(cached) -> None:
    curve = cached.curve(16, 1600, 42, 1.0)
    facts = curve.facts
    assert facts.top_d == 4 and facts.rises and facts.falls
    for value, expected in (
        (facts.jacobian_first, 0.283), (facts.jacobian_top, 0.322), (facts.jacobian_last, 0.049),
        (facts.peak_first, 0.208), (facts.peak_last, 0.964), (facts.scaled_jacobian_last, 0.305),
    ):  # fmt: skip
        assert abs(value - expected) < 0.01  # four standard errors of 1,600 trials or more
    told = text.notice(facts, curve.low, curve.high, 1600, 0.9, "en")
    assert "**rises**" in told[0] and "**collapses**" in told[0] and "dₖ = 4," in told[0]
    assert number(facts.jacobian_top, ".3f", "en") in told[0]


@pytest.mark.parametrize(
    "rises, falls, top_d, ratio, wanted, never",
    [
        (True, True, 4, 0.15, ("rises", "collapses"), ("No rise",)),
        (True, True, 32, 0.54, ("rises", "falls"), ("collapses",)),
        (False, True, 1, 0.03, ("collapses", "No rise shows"), ("**rises**",)),
        (False, True, 2, 0.9, ("falls", "within the intervals"), ("**rises**", "collapses")),
        (True, False, 1024, 1.0, ("rises", "no fall"), ("falls", "collapses")),
        (False, False, 8, 0.95, ("neither",), ("**rises**", "collapses", "**falls**")),
    ],
)
def test_what_is_said_of_the_norm_follows_the_curve(cached, rises, falls, top_d, ratio, wanted, never) -> None:
    curve = cached.curve(10, 400, 42, 1.0)
    facts = replace(curve.facts, rises=rises, falls=falls, top_d=top_d, ratio=ratio)
    said = text.notice(facts, curve.low, curve.high, 400, 0.9, "en")[0]
    assert all(word in said for word in wanted) and not any(word in said for word in never), said
    assert "{" not in text.notice(facts, curve.low, curve.high, 400, 0.9, "es")[0]


@pytest.mark.parametrize("tau, n, trials", list(itertools.product((0.1, 1.0, 5.0), (2, 10, 32), (25, 400))))
def test_no_sentence_breaks_at_any_end(cached, tau: float, n: int, trials: int) -> None:
    curve = cached.curve(n, trials, 3, tau)
    for lang in ("en", "es"):
        for said in text.notice(curve.facts, curve.low, curve.high, trials, 0.9, lang):
            assert not re.search(r"[{}]|nan|None|inf\b", said), said


def test_ninety_per_cent_is_named_only_where_it_is_passed(cached) -> None:
    curve = cached.curve(10, 400, 42, 1.0)
    over = curve.facts.over_90_d
    assert curve.at(over, "unscaled")["peak"] > 0.9 >= curve.at(over // 2, "unscaled")["peak"]
    never = replace(curve.facts, over_90_d=None)
    assert "first passes 90% at" in text.notice(curve.facts, curve.low, curve.high, 400, 0.9, "en")[1]
    assert "never passes 90%" in text.notice(never, curve.low, curve.high, 400, 0.9, "en")[1]


@pytest.mark.parametrize("d_k, tau, trials", [(1, 1.0, 400), (64, 1.0, 400), (1024, 1.0, 25), (2, 5.0, 25), (4, 0.1, 100)])
def test_the_prediction_is_graded_by_the_curve(cached, d_k: int, tau: float, trials: int) -> None:
    curve = cached.curve(10, trials, 42, tau)
    asked = cached.asked(curve, d_k)
    a, b = curve.at(d_k, "unscaled"), curve.at(asked.then, "unscaled")
    assert asked.then in D_KS and asked.then != d_k
    apart = a["jacobian_high"] < b["jacobian_low"] or b["jacobian_high"] < a["jacobian_low"]
    assert asked.answer == (2 if not apart else 0 if b["jacobian"] > a["jacobian"] else 1)


# the pictures


def test_every_spread_lies_on_the_axis_of_the_divisors(cached) -> None:
    from qkv_core.charts.saturation import STD

    for d_k, heads, tau in itertools.product((1, 1024), (1, 16), (0.1, 5.0)):
        frame = cached.lab(d_k, heads, 2, 25, 1, tau).frame
        assert STD[0] < frame["std"].min() and frame["std"].max() < STD[1]


def test_the_charts_name_plain_fields_and_no_type_is_guessed(cached) -> None:
    import pandas as pd

    from qkv_core.charts import base
    from qkv_core.charts import saturation as charts

    arms = (("unscaled", 'a "b".c[0]'), ("scaled", "d: e"))
    drawn = (
        (charts.weights, cached.ten_frame(cached.row(4, 8, 10, 1, 1.0, "none"), arms, "{key} {weight}", lambda v, s: "x"),
         {"keys": 10, "arms": arms, "x_title": "x", "y_title": "y"}),
        (charts.curve, cached.d_k_line("peak", 4, 25, 1, 1.0, 4),
         {"arms": arms, "title": "t", "x_title": "x", "ticks": (1, 4), "ends": (1, 1024), "top": 1.0, "marked": (2, 3)}),
        (charts.divisors, cached.lab(4, 8, 4, 25, 1, 1.0).frame.assign(text="", chosen=False),
         {"names": ("a", "b", "c", "d"), "x_title": "x"}),
    )  # fmt: skip
    for draw, frame, labels in drawn:
        spec = base.spec(draw(pd.DataFrame(columns=list(frame.columns)), base.Look(), **labels), base.Look())
        fields = set(re.findall(r'"field": "([^"]*)"', json.dumps(spec)))
        assert all(re.fullmatch(r"\w+", field) for field in fields)
        made = {"a", "b", "at", "now", "place", "n"}  # by the chart's own transforms
        assert fields <= set(frame.columns) | made, fields


# the page


@pytest.mark.parametrize("locale", ["en-US", "es-ES"])
def test_the_page_opens_cold_in_both_languages(cached, locale: str) -> None:
    at = open_page("saturation", locale=locale)
    assert_healthy(at)
    lang = locale[:2]
    assert at.title[0].value == text.QUESTION(lang)
    row, lab = cached.row(64, 8, 10, 42, 1.0, "sqrt_dk"), cached.lab(64, 8, 10, 400, 42, 1.0)
    assert text.lead(64, 1.0, lab.std, 4000, row, lang) in screen(at)
    assert screen(at).count(":green-badge[") == 6
    curve = cached.curve(10, 400, 42, 1.0)
    for said in text.notice(curve.facts, curve.low, curve.high, 400, 0.9, lang):
        assert said in screen(at)


def test_a_link_restores_every_setting_of_the_page(cached) -> None:
    at = open_page(
        "saturation", d_k="256", heads="2", tau="2.00", scale="sqrt_dmodel", seed="5", s_keys="6", s_trials="100"
    )
    assert_healthy(at)
    row, lab = cached.row(256, 2, 6, 5, 2.0, "sqrt_dmodel"), cached.lab(256, 2, 6, 100, 5, 2.0)
    assert text.lead(256, 2.0, lab.std, 600, row, "en") in screen(at)
    assert "the divisor in the settings, √d_model = 22.63." in screen(at)
    assert "over 600 draws" in screen(at)


@pytest.mark.parametrize(
    "bad", [{"s_keys": "999"}, {"s_keys": "1"}, {"s_keys": "nan"}, {"s_trials": "7"}, {"s_trials": "<b>x"}, {"tau": "0"},
            {"d_k": "-5"}, {"scale": "![x](http://h/x.png)"}, {"s_keys": "1e400", "s_trials": ""}],
)  # fmt: skip
def test_a_bad_link_opens_and_says_what_was_replaced(bad: dict[str, str]) -> None:
    at = open_page("saturation", **bad)
    assert_healthy(at)
    for key in bad:
        assert any(t.value.startswith(key) for t in at.text), key
    assert not any("http://h" in m.value for m in at.markdown)


CHANGED = {
    "d_k": "16", "heads": "2", "tau": "0.50", "scale": "none", "seed": "7", "s_keys": "4", "s_trials": "100",
    "mask": "causal", "device": "cpu",
}  # fmt: skip


def told(at) -> str:
    """What the page itself says: no settings, and no link with their values."""
    kinds = ("markdown", "caption")
    said = [str(e.value) for kind in kinds for e in at.main.get(kind)]
    tables = [str(t.value.to_dict()) for t in at.main.get("table")]
    return "\n".join(said + tables)


@pytest.mark.parametrize("key", CHANGED)
def test_a_setting_moves_the_page_if_and_only_if_it_is_said_to(key: str) -> None:
    uses = settings.USES["saturation"] | {s.key for s in settings.PAGES["saturation"]}
    before, after = told(open_page("saturation")), told(open_page("saturation", **{key: CHANGED[key]}))
    assert (before != after) == (key in uses)


@pytest.mark.parametrize("preset", PRESETS["saturation"], ids=lambda p: p.key)
def test_each_preset_sets_the_page(cached, preset: Preset) -> None:
    at = open_page("saturation", tau="3.00", s_keys="3", seed="9")
    at.button(key=f"try_saturation_{preset.key}").click().run()
    assert_healthy(at)
    full = preset.complete("saturation")
    shared = (full["d_k"], full["heads"], full["s_keys"])
    row = cached.row(*shared, full["seed"], full["tau"], full["scale"])
    lab = cached.lab(*shared, full["s_trials"], full["seed"], full["tau"])
    n = full["s_keys"] * full["s_trials"]
    assert text.lead(full["d_k"], full["tau"], lab.std, n, row, "en") in screen(at)


def test_presets_have_words_and_legal_values_that_the_page_uses() -> None:
    assert {p.key for p in PRESETS["saturation"]} == set(text.TRY)
    own = {s.key for s in settings.PAGES["saturation"]}
    for preset in PRESETS["saturation"]:
        for key, value in preset.values.items():
            assert settings.everything()[key].legal(value) and key in settings.USES["saturation"] | own


def test_the_preset_that_swaps_scale_for_temperature_does(cached) -> None:
    swap = next(p for p in PRESETS["saturation"] if p.key == "swap").complete("saturation")
    hot = cached.row(swap["d_k"], 8, 10, 42, swap["tau"], "none").unscaled
    usual = cached.row(swap["d_k"], 8, 10, 42, 1.0, "sqrt_dk").scaled
    assert hot.weights == pytest.approx(usual.weights, abs=1e-6)


def test_a_right_and_a_wrong_guess_are_told_apart(cached) -> None:
    right = cached.asked(cached.curve(10, 400, 42, 1.0), 64).answer
    for guess, kind in ((right, "success"), ((right + 1) % 3, "info")):
        at = open_page("saturation")
        at.radio(key="predict_saturation_guess").set_value(guess).run()
        at.button(key="predict_saturation_go").click().run()
        assert_healthy(at)
        assert len(at.get(kind)) == 1
