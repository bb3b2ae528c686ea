"""The complexity page: its numbers are Table 1's, its stacks and counts are real, and a timing is the viewer's own."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from streamlit.runtime.scriptrunner import StopException
from streamlit.testing.v1 import AppTest

from qkv_core import complexity as core
from qkv_core import presets, settings
from qkv_core.text import complexity as words
from qkv_core.text import frame, number
from qkv_core.ui import queue, timing
from qkv_core.ui.cached import complexity as cached
from tests.app import assert_healthy, open_page
from tests.app import words as screen

TINY = tuple(core.Sweep(layer, axis, (2, 3, 4), 4) for layer in core.LAYERS for axis in core.AXES)


@pytest.fixture(autouse=True)
def fresh_caches():
    import streamlit as st

    st.cache_resource.clear(), st.cache_data.clear()
    yield
    st.cache_resource.clear(), st.cache_data.clear()


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten sweeps that take no time."""
    monkeypatch.setattr(core, "SWEEPS", TINY)
    monkeypatch.setattr(timing, "SECONDS", 1.0)  # a busy machine must still give every point its turn


@pytest.fixture
def pretended(tiny: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock on which every layer takes what the table says, with an overhead."""
    slow = {"recurrent": 1.0}
    pretend(monkeypatch, lambda sweep, size: (3e-5 + 1e-5 * size ** core.THEORY[sweep.layer][sweep.axis]) * slow.get(sweep.layer, 1))


def pretend(monkeypatch: pytest.MonkeyPatch, seconds: Any) -> None:
    class Call:
        def __init__(self, sweep: core.Sweep, size: int) -> None:
            self.seconds = seconds(sweep, size)

        def __call__(self) -> None:
            pass

    monkeypatch.setattr(core, "_call", lambda sweep, size, *_: Call(sweep, size))
    monkeypatch.setattr(core, "_clock", lambda device: ("thread", lambda call: [call.seconds]))


def page(**link: str) -> AppTest:
    at = open_page("complexity", **link)
    assert_healthy(at)
    return at


def table_of(at: AppTest, second: str) -> pd.DataFrame:
    """The small table whose second heading is `second`."""
    return next(t.value for t in at.table if t.value.columns[0] == second)


def read(cell: str) -> float:
    return float(re.sub(r"[*\u2007,\u202f]", "", cell).replace("\u2212", "-"))


def red(at: AppTest) -> list[str]:
    return [m.value for m in at.markdown if ":material/error:" in str(m.value)]


# Table 1


@pytest.mark.parametrize("lang", ["en", "es"])
@pytest.mark.parametrize("n, d_k, heads", [(32, 64, 8), (512, 64, 8), (65_536, 1, 1)])
def test_the_first_sentence_counts_both_layers_and_says_which_is_cheaper(n: int, d_k: int, heads: int, lang: str) -> None:
    d = d_k * heads
    at = page(x_n=str(n), d_k=str(d_k), heads=str(heads), lang=lang)
    text = next(m.value for m in at.markdown if f"n = {number(n, ',d', lang)}" in m.value)
    assert number(n * n * d, ",d", lang) in text and (n == d or number(n * d * d, ",d", lang) in text)
    msg = words.LEAD_LESS if n < d else words.LEAD_MORE if n > d else words.LEAD_EQUAL
    assert text == msg(lang, n=n, d=d, ours=n * n * d, theirs=n * d * d, times=number(max(n / d, d / n), ",.0f", lang))


@pytest.mark.parametrize("n, k, r", [(128, 3, 16), (64, 2, 8), (1024, 16, 1024)])
def test_the_table_is_the_papers_with_the_numbers_on_screen(n: int, k: int, r: int) -> None:
    shown = table_of(page(x_n=str(n), x_k=str(k), x_r=str(r), lang="en"), words.HEAD[1]("en"))
    d, near = 512, min(r, n)
    here = [read(cell) for cell in shown[words.HEAD[2]("en")]]
    assert here == [n * n * d, n * d * d, k * n * d * d, k * n * d * d, near * n * d]
    bold = [cell.startswith("**") for cell in (c.strip("\u2007") for c in shown[words.HEAD[2]("en")])]
    assert [value == min(here) for value in here] == bold
    depth = 0
    while k**depth < n:
        depth += 1
    takes = [1, n, math.ceil((n - 1) / (k - 1)), depth, max(1, math.ceil((n - 1) / (near - 1)))]
    assert [read(cell.split("\u00a0")[0]) for cell in shown[words.HEAD[5]("en")]] == takes
    path = [cell.replace("\u00a0", " ") for cell in shown[words.HEAD[4]("en")]]
    assert path[2].startswith("O(n / k) = ") and path[3].startswith("O(logₖ n) = ") and path[0] == "O(1)"
    assert read(path[3].split(" = ")[1]) == pytest.approx(math.log(n, k), abs=0.06)


def test_a_width_of_one_is_said_never_to_reach_another_token() -> None:
    at = page(x_k="1", x_r="1", lang="en")
    shown = table_of(at, words.HEAD[1]("en"))
    never = words.NEVER("en").replace(" ", "\u00a0")
    assert [cell == never for cell in shown[words.HEAD[5]("en")]] == [False, False, True, True, True]
    text = screen(at)
    assert words.CONVOLVED_NEVER("en") in text and words.RESTRICTED_ALONE("en") in text and "inf" not in re.findall(r"\w+", text)
    assert text.count("**never** reads the others") == 3


def test_a_neighbourhood_of_all_tokens_is_said_to_change_nothing() -> None:
    assert words.RESTRICTED_WHOLE("en", r=64, n=64) in screen(page(x_n="64", x_r="64", lang="en"))


@pytest.mark.parametrize("lang", ["en", "es"])
@pytest.mark.parametrize("link", [
    {"x_n": "1", "x_k": "1", "x_r": "1", "d_k": "1", "heads": "1"}, {"x_n": "65536", "x_k": "16", "x_r": "1024", "d_k": "1024", "heads": "16"},
    {"x_n": "2", "x_k": "16", "x_r": "1", "d_k": "1024", "heads": "1"}, {"x_n": "65536", "x_k": "1", "x_r": "1", "d_k": "1", "heads": "16"},
])  # fmt: skip
def test_the_ends_of_every_setting_are_whole_pages_with_green_checks(link: dict[str, str], lang: str) -> None:
    at = page(lang=lang, **link)
    assert len(at.get("vega_lite_chart")) == 5 and len(at.table) == 2
    assert not re.search(r"\b(nan|inf|None)\b", screen(at))


@pytest.mark.parametrize("key", ["x_n", "x_k", "x_r"])
@pytest.mark.parametrize("value", ["abc", "-1", "1e9", "nan", "inf", "", "3.7", "9" * 10_000, "<b>", "![x](http://x/y.png)"])
def test_what_a_link_gets_wrong_is_replaced_and_said(key: str, value: str) -> None:
    at = page(**{key: value})
    setting = settings.everything()[key]
    assert setting.legal(at.session_state["_values"][key])
    assert any(t.value.startswith(f"{key} = ") for t in at.text)


def test_what_moves_the_page_is_what_it_says_it_uses() -> None:
    def shown(**link: str) -> str:
        at = page(**link)
        data = "".join(str(c.proto.data.data) for c in at.get("vega_lite_chart"))
        main = "\n".join(str(e.value) for kind in ("markdown", "caption") for e in at.main.get(kind))
        return main + "".join(str(t.value) for t in at.table) + data

    first, moved = shown(), {"d_k": "32", "heads": "4", "tau": "2", "mask": "causal", "scale": "none", "seed": "7"}
    changed = {key for key, value in moved.items() if shown(**{key: value}) != first}
    assert changed | {"device"} == settings.USES["complexity"]  # the device: see the test of the timing


# the pictures


def test_the_curves_are_the_formulas_and_cross_at_d() -> None:
    names = tuple((code, msg("en")) for code, msg in words.CURVES.items())
    for n, d in ((1, 1), (128, 512), (65_536, 64), (2, 16_384)):
        curve = cached.curve(n, d, 3, 16, names, "here")
        lines = curve.frame[curve.frame["kind"] == "line"]
        assert {row.operations for row in lines[lines["layer"] == "self_attention"].itertuples() if row.n == n} == {n * n * d}
        cross = curve.frame[curve.frame["kind"] == "cross"].iloc[0]
        at_d = lines[lines["n"] == d].set_index("layer")["operations"]
        assert cross["n"] == d and at_d["self_attention"] == at_d["recurrent"] == cross["operations"]
        assert (curve.frame[curve.frame["kind"] == "now"]["n"] == n).all() and curve.end >= max(n, d)
        assert 10**curve.low <= lines["operations"].min() and lines["operations"].max() <= 10**curve.high
        assert curve.frame["name"].notna().all()


@pytest.mark.parametrize("k", [2, 3, 7])
def test_the_stacks_reach_what_the_formulas_say(k: int) -> None:
    for layer, seen in (("convolutional", lambda i: 1 + i * (k - 1)), ("dilated", lambda i: k**i), ("restricted", lambda i: 1 + i * 4)):
        found = cached.stack(layer, 128, k, 5, 1)
        counts = found.frame.groupby("depth")["reached"].sum()
        assert found.n == 32 and counts.tolist() == [min(32, seen(i)) for i in range(1, found.depth + 1)]
        assert counts.iloc[-1] == 32 and (found.depth == 1 or counts.iloc[-2] < 32) and found.first == counts.iloc[0]
        assert words.takes(found.depth, layer, "en") in words.path_says(found.first, found.n, found.depth, found.path, "en")


def test_a_stack_that_is_not_what_it_says_turns_its_check_red(monkeypatch: pytest.MonkeyPatch) -> None:
    right = core.build_layer
    monkeypatch.setattr(core, "build_layer", lambda layer, d, k=3, r=8, seed=0, gap=None, device="cpu": right(layer, d, k, r, seed, 1, device))
    at = open_page("complexity")
    assert len(red(at)) == 1 and words.CHECKS["path"]("en", n=32) in red(at)[0]


def test_a_wrong_count_turns_its_check_red(monkeypatch: pytest.MonkeyPatch) -> None:
    right = core.count_flops
    monkeypatch.setattr(core, "count_flops", lambda call: right(call) + 2)
    at = open_page("complexity")
    assert len(red(at)) == 1 and words.CHECKS["counted"]("en") in red(at)[0]


def test_wrong_bytes_and_a_wrong_output_turn_their_checks_red(monkeypatch: pytest.MonkeyPatch) -> None:
    right = core.memory_of_weights
    monkeypatch.setattr(core, "memory_of_weights", lambda *a: replace(right(*a), weights_bytes=1, difference=1e-3))
    assert len(red(open_page("complexity"))) == 2


# counted


def test_the_counts_on_screen_are_pytorchs_and_their_differences_are_nought() -> None:
    at = page(x_n="64", lang="en")
    shown = table_of(at, words.COUNTED_HEAD[1]("en"))
    found = core.flops(64, 512, 3, 16, 8)
    assert [read(c) for c in shown[words.COUNTED_HEAD[3]("en")]] == found["counted"].tolist()
    assert {read(c) for c in shown[words.COUNTED_HEAD[4]("en")]} == {0}
    assert words.MULTI_HEAD("en", share=8 * 64 * 512**2 / (8 * 64 * 512**2 + 4 * 64**2 * 512), counted=int(found["counted"].iloc[-1])) in screen(at)


def test_large_layers_are_counted_at_a_size_that_is_named() -> None:
    text = screen(page(x_n="65536", heads="16", d_k="1024", lang="en"))
    assert words.COUNTED_LEAD("en", n=cached.COUNTED_N, d=cached.COUNTED_D) in text
    assert words.COUNTED_CAPPED("en", n=cached.COUNTED_N, d=cached.COUNTED_D) in text
    assert words.COUNTED_CAPPED("en", n=cached.COUNTED_N, d=cached.COUNTED_D) not in screen(page(lang="en"))


def test_the_table_and_its_pictures_do_not_wait_for_the_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("not yet")

    monkeypatch.setattr(core, "flops", broken)
    at = open_page("complexity")
    assert at.error and len(at.table) == 1 and len(at.get("vega_lite_chart")) == 5
    assert at.button(key="complexity_measure")


# memory


@pytest.mark.parametrize("lang", ["en", "es"])
@pytest.mark.parametrize("n, d_k", [(128, 64), (64, 64), (16, 256), (65_536, 8)])
def test_the_memory_is_said_as_the_formulas_give_it(n: int, d_k: int, lang: str) -> None:
    at = page(x_n=str(n), d_k=str(d_k), lang=lang)
    text = screen(at)
    for amount in (4 * 8 * n * n, 4 * 8 * n * d_k, 4 * 8 * cached.LONG**2):
        assert f"**{words.size(amount, lang)}**" in text
    msg = words.RATIO_LESS if n > d_k else words.RATIO_MORE if n < d_k else words.RATIO_SAME
    assert msg(lang, times=words.times(max(n / d_k, d_k / n), lang)) in text


def test_what_is_measured_is_quick_and_named() -> None:
    found = cached.memory(65_536, 8, 64, 42)
    assert 8 * found.T * max(found.T, 64) <= cached.ENTRIES < 8 * 2 * found.T * max(2 * found.T, 64)
    assert words.MEMORY_CAPPED("en", T=found.T) in screen(page(x_n="65536", lang="en"))
    measured = found.table["explicit_peak"].notna()
    assert found.table["T"][measured].tolist() == [64 << i for i in range(int(measured.sum()))]
    assert found.explicit_peak >= 4 * 8 * found.T**2 > found.fused_peak
    assert math.isnan(cached.memory(16, 8, 64, 42).frame["now"].iloc[0]), "no line where the axis does not reach"


def test_memory_without_a_record_is_said_and_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    right = core.memory_of_weights
    monkeypatch.setattr(core, "memory_of_weights", lambda *a: replace(right(*a), explicit_peak=math.nan, fused_peak=math.nan))
    assert words.MEMORY_UNKNOWN("en") in screen(page(lang="en"))


@pytest.mark.parametrize("amount, text", [(4, "4 B"), (1023, "1,023 B"), (1024, "1 KiB"), (1536, "1.5 KiB"), (3 << 29, "1.5 GiB"),
                                          (1 << 39, "512 GiB"), (1 << 52, "4 PiB"), (1 << 62, "4,096 PiB")])  # fmt: skip
def test_bytes_are_written_in_the_unit_that_suits_them(amount: int, text: str) -> None:
    assert words.size(amount, "en") == text.replace(" ", "\u00a0")


# timed


def measured(at: AppTest) -> AppTest:
    at.button(key="complexity_measure").click().run()
    assert_healthy(at)
    return at


@pytest.mark.parametrize("lang", ["en", "es"])
def test_real_layers_are_timed_behind_a_button_and_told_with_time_clock_and_device(tiny: None, lang: str) -> None:
    at = page(lang=lang)
    assert len(at.table) == 2 and timing.RESULT not in at.session_state
    at = measured(at)
    kept = at.session_state[timing.RESULT]
    assert len(at.table) == 3 and len(at.get("vega_lite_chart")) == 7 and kept.points["samples"].min() >= 1
    text = screen(at)
    assert words.TAKEN(lang, when=kept.when, k=3, r=16, samples=kept.samples, device=words.DEVICES["cpu"](lang), clock=words.CLOCKS["thread"](lang)) in text
    assert words.verdict(kept.found, core.TOLERANCE, lang) in text and words.overhead(kept.found, kept.points, lang) in text
    shown = table_of(at, words.EXPONENT_HEAD[1](lang))
    assert [c.strip("\u2007") for c in shown[words.EXPONENT_HEAD[3](lang)]] == [number(p, ".2f", lang) for p in kept.found["exponent"]]
    assert [c.startswith("✓") for c in shown[words.EXPONENT_HEAD[4](lang)]] == kept.found["within"].tolist()
    assert re.fullmatch(r"\d\d:\d\d:\d\d \S+", kept.when)
    at.select_slider(key="x_n_page").set_value(64).run()
    assert at.session_state[timing.RESULT] is kept, "a control keeps the measurement"


def test_a_measurement_is_its_viewers_alone(tiny: None) -> None:
    measured(page())
    assert timing.RESULT not in page().session_state and len(page().table) == 2


def test_times_that_follow_the_table_are_said_to(pretended: None) -> None:
    at = measured(page(lang="en"))
    kept = at.session_state[timing.RESULT]
    assert words.VERDICT_ALL("en", all=10, n="0.1", d="0.2") in screen(at)
    for axis in core.AXES:
        marks = kept.marks(axis, tuple((code, code) for code in core.LAYERS))
        low, high = kept.ends(axis)
        assert marks["size"].between(low, high).all() and (marks["ms"] > 0).all() and marks["name"].notna().all()
        points, lines = marks[marks["kind"] == "point"], marks[marks["kind"] == "fit"]
        for row in points.itertuples():
            assert row.ms == pytest.approx(1e3 * (3e-5 + 1e-5 * row.size ** core.THEORY[row.layer][axis]))
        assert set(lines["layer"]) == set(core.LAYERS)
    top, low = (kept.found[kept.found["sweep"] == "n"]["exponent"].agg(how) for how in ("max", "min"))
    assert f"p = {top:.2f}" in words.timed_says(kept.found, "n", "en") and f"p = {low:.2f}" in words.timed_says(kept.found, "n", "en")
    told = words.overhead(kept.found, kept.points, "en")
    assert "a smaller power" in told and f"**{kept.found['fixed_share'].max():.0%}**" in told


def test_the_one_that_is_furthest_off_is_named(tiny: None, monkeypatch: pytest.MonkeyPatch) -> None:
    power = {("restricted", "n"): 2.5, ("recurrent", "d"): 2.3}
    pretend(monkeypatch, lambda sweep, size: 1e-5 * size ** power.get((sweep.layer, sweep.axis), core.THEORY[sweep.layer][sweep.axis]))
    at = measured(page(lang="en"))
    kept = at.session_state[timing.RESULT]
    exponent = kept.found[(kept.found["layer"] == "restricted") & (kept.found["sweep"] == "n")]["exponent"].iloc[0]
    assert exponent == pytest.approx(2.5, abs=1e-3)
    assert words.VERDICT_SOME("en", within=8, all=10, n="0.1", d="0.2", layer="restricted attention", axis="n", exponent=exponent, theory="1") in screen(at)


def test_the_kernel_and_the_reach_of_the_settings_are_timed_within_their_limits(tiny: None) -> None:
    at = measured(page(x_k="16", x_r="1024"))
    points = at.session_state[timing.RESULT].points
    assert set(points["k"]) == {16} and set(points["r"]) == {core.MAX_SWEEP_R}


@pytest.mark.parametrize("lang", ["en", "es"])
@pytest.mark.parametrize(("share", "told"), [(0.4, True), (0.97, False), (float("nan"), False)])
def test_a_busy_machine_is_said(pretended: None, monkeypatch: pytest.MonkeyPatch, lang: str, share: float, told: bool) -> None:
    right = core.measure
    monkeypatch.setattr(core, "measure", lambda *a, **how: right(*a, **how).assign(share=share))
    assert (words.BUSY(lang, share=0.4) in screen(measured(page(lang=lang)))) == told


def test_sweeps_without_times_are_said_and_draw_nothing_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "SWEEPS", TINY)
    points = core.measure(1, progress=lambda share: False)
    kept = timing._timing(points)
    assert words.verdict(kept.found, core.TOLERANCE, "en") == words.VERDICT_UNFIT("en", n=10, all=10)
    assert words.overhead(kept.found, kept.points, "en") == "" and words.timed_says(kept.found, "n", "en") == words.TIMED_NOTHING("en")
    assert not len(kept.marks("n", ()))


def test_the_device_and_the_seed_of_the_settings_are_the_ones_that_are_timed(monkeypatch: pytest.MonkeyPatch, tiny: None) -> None:
    right, asked = core.measure, {}
    monkeypatch.setattr(core, "measure", lambda seconds, **how: asked.update(how) or right(seconds, **how))
    measured(page(device="cpu", seed="7"))
    assert (asked["device"], asked["seed"]) == ("cpu", 7)


def test_a_stopped_measurement_keeps_nothing_says_so_and_leaves_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    told = []

    def stopped(seconds: float, progress: Any, **_: Any) -> None:
        progress(0.3)
        told.append(0.3)
        raise StopException  # what Streamlit raises where the run touches the page after its viewer moved on

    monkeypatch.setattr(core, "measure", stopped)
    at = page(lang="en")
    at.button(key="complexity_measure").click().run()
    assert told and at.button(key="complexity_cancel") and timing.RESULT not in at.session_state
    at.button(key="complexity_cancel").click().run()
    assert_healthy(at)
    assert words.STOPPED("en") in [i.value for i in at.info] and at.button(key="complexity_measure")
    with queue.heavy(lambda place: pytest.fail("the line is not free"), long=True):
        pass
    at.select_slider(key="x_n_page").set_value(64).run()
    assert len(told) == 1, "it does not begin again by itself"
    assert words.STOPPED("en") not in [i.value for i in at.info]


def test_progress_is_told_and_others_get_their_turn(tiny: None, monkeypatch: pytest.MonkeyPatch) -> None:
    import streamlit as st

    shares: list[float] = []
    monkeypatch.setattr(st, "session_state", {})
    timing.run("cpu", 1, 3, 16, shares.append, lambda place: None)
    assert shares[-1] == 1 and timing.RESULT in st.session_state and timing.RUNNING not in st.session_state


def test_an_error_in_a_measurement_leaves_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(core, "measure", broken)
    at = open_page("complexity", lang="en")
    at.button(key="complexity_measure").click().run()
    assert [e.value for e in at.error] == [frame.FAILED("en")]
    at.run()
    assert not at.error and timing.RESULT not in at.session_state


# predict and try


@pytest.mark.parametrize("n, d", [(1, 1), (128, 512), (65_536, 16_384)])
def test_the_question_is_answered_by_the_table(n: int, d: int) -> None:
    q = cached.question(n, d, 3, 16)
    assert q.ours_then / q.ours == q.factor == cached.FACTORS[q.answer] == 16
    assert q.other == 4 and q.path == 4 * n


@pytest.mark.parametrize("preset", presets.PRESETS["complexity"], ids=lambda p: p.key)
def test_every_preset_shows_what_it_says(preset: presets.Preset) -> None:
    at = page(lang="en")
    at.button(key=f"try_complexity_{preset.key}").click().run()
    assert_healthy(at)
    for key, value in preset.values.items():
        assert at.session_state["_values"][key] == value
    n, d = at.session_state["_values"]["x_n"], at.session_state["_values"]["d_k"] * at.session_state["_values"]["heads"]
    holds = {
        "sentence": n < d / 4 and d == 512, "even": n == d, "book": n > d, "feed_forward": preset.values.get("x_k") == 1,
        "pairs": preset.values.get("x_k") == 2, "whole": preset.values.get("x_r") == n, "one_head": n > d,
    }  # fmt: skip
    assert holds[preset.key]
    assert set(words.TRY) == {p.key for p in presets.PRESETS["complexity"]}


def test_every_picture_is_described_and_legible_from_the_back_of_the_room(pretended: None) -> None:
    at = measured(page(lang="es"))
    charts = at.get("vega_lite_chart")
    captions = [re.sub(r":[a-z]+\[([^\]]*)\]", r"\1", c.value.replace("**", "")) for c in at.caption]
    assert len(charts) == 7 and all(chart.proto.alt in (*captions, frame.CHART("en"), frame.CHART("es")) for chart in charts)
    assert all(json.loads(chart.proto.spec)["config"]["axis"]["labelFontSize"] >= 14 for chart in charts)
