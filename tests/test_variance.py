"""The variance page: what it says is what was drawn, its checks can fail, and long runs report, queue and stop."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from qkv_core import presets, settings
from qkv_core.text import variance as words
from qkv_core.text import frame, number
from qkv_core.ui import controls
from qkv_core.ui.cached import variance as cached
from qkv_core.variance import Assumptions, theory, variance_sweep, variance_table
from tests.app import assert_healthy, open_page, setting

SEED = settings.everything()["seed"].default


def page(**link: str) -> AppTest:
    at = open_page("variance", **link)
    assert_healthy(at)
    return at


def said(at: AppTest) -> str:
    """Every sentence on the page."""
    return "\n".join(str(e.value) for kind in ("markdown", "caption", "text", "info", "success") for e in at.get(kind))


def study(n: int = 1_000, a: Assumptions = Assumptions(), seed: int = SEED) -> cached.Study:
    return cached.study(n, seed, a, "cpu")


def table_of(at: AppTest, first: str) -> Any:
    """The small table whose first heading is `first`."""
    return next(t.value for t in at.table if t.value.index.name == first)


def read(cell: str) -> float:
    return float(cell.strip("*\u2007 ").replace("\u2212", "-").replace("\u202f", "").replace(",", ""))


def histogram_spec(at: AppTest) -> dict:
    return json.loads(at.get("vega_lite_chart")[0].proto.spec)


# --- what is on the screen ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lang", ["en", "es"])
def test_the_first_sentence_says_the_spread_that_was_measured_and_the_one_predicted(lang: str) -> None:
    at = page(lang=lang, v_n="1000", d_k="16")
    row = variance_table((16,), 1_000, SEED).iloc[0]
    text = next(m.value for m in at.markdown if m.value.startswith(words.LEAD_FIRST(lang)[:20]))
    for value in (math.sqrt(row.unscaled), 4.0, math.sqrt(row.scaled)):
        assert number(value, ".2f", lang) in text, text


@pytest.mark.parametrize("d_k", ["64", "32"])
def test_the_table_is_the_cores_and_holds_the_chosen_d_k_in_bold(d_k: str) -> None:
    at = page(v_n="1000", d_k=d_k)
    shown = table_of(at, "dₖ")
    expected = variance_table(sorted({16, 64, 256, 512, int(d_k)}), 1_000, SEED)
    assert [read(i) for i in shown.index] == expected.d_k.tolist()
    assert [i for i in shown.index if i.startswith("**")] == [f"**{d_k}**"]
    for name, column, digits in (("theory", "theory", 2), ("q·k", "unscaled", 2), ("q·k / √dₖ", "scaled", 4)):
        assert [read(c) for c in shown[name]] == expected[column].round(digits).tolist()
    inside = ((expected.unscaled_low <= expected.theory) & (expected.theory <= expected.unscaled_high)).sum()
    assert words.COVERED("en", inside=int(inside), rows=len(expected)) in said(at)


def test_estimator_number_of_pairs_seed_and_device_are_named() -> None:
    text = said(page(v_n="100", seed="7"))
    assert words.ESTIMATOR("en", n=100, seed="7", where=words.WHERE["cpu"]("en")) in text and "n − 1" in text


@pytest.mark.parametrize("lang", ["en", "es"])
def test_one_pair_shows_dashes_and_never_nan(lang: str) -> None:
    at = page(v_n="1", lang=lang)
    shown = table_of(at, "dₖ")
    cells = [cell.strip("*\u2007") for cell in shown.iloc[:, 1:].to_numpy().ravel()]
    assert set(cells) == {words.DASH}
    assert "nan" not in said(at).lower() and not re.search(r"\binf\b", said(at))
    assert words.NO_CURVE(lang) in said(at)
    assert [m.value for m in at.metric][1:] == ["–", "–"]
    assert not at.radio


def test_a_variance_of_0_is_said_and_leaves_the_logarithmic_axis() -> None:
    at = page(v_dist="sign", v_rho="1.00", v_n="1000")
    text = said(at)
    assert words.LEAD_STILL("en", d_k=64, n=1_000, mean=64.0) in text
    assert words.LEFT_OUT("en", n=1024) in text and "nan" not in text.lower()
    at = page(v_dist="sign", v_rho="1.00", v_n="1000", v_axis="linear")
    assert words.STAYS("en", last=1024) in said(at)


def test_how_far_the_sample_is_from_the_normal_curve_is_said_with_what_chance_does() -> None:
    for d_k, far in (("1", True), ("256", False)):
        h = study(10_000).histograms[int(d_k)]
        text = said(page(d_k=d_k, v_n="10000"))
        assert words.NORMAL("en", distance=h.distance, noise=h.noise) in text
        assert (words.KURTOSIS("en", kurtosis=h.kurtosis, law=h.law.kurtosis) in text) == far == (h.distance > h.noise)


@pytest.mark.parametrize("preset", presets.PRESETS["variance"], ids=lambda p: p.key)
def test_every_preset_shows_what_it_says(preset: presets.Preset) -> None:
    values = {**preset.values, "v_n": min(preset.values.get("v_n", 1_000), 1_000)}
    link = {key: settings.everything()[key].format(value) for key, value in values.items()}
    at = page(**link)
    for key, value in values.items():
        assert at.session_state["_values"][key] == value


def test_pressing_a_preset_sets_the_page_and_the_address() -> None:
    at = page(v_n="100")
    at.button(key="try_variance_linear").click().run()
    assert_healthy(at)
    assert dict(at.query_params) == {"v_lin": "1"}
    assert read(next(m.value for m in at.metric)) == pytest.approx(7.139)


def test_layers_take_the_place_of_mean_and_correlation_and_cap_the_pairs() -> None:
    cached.LINEAR_PAIRS, kept = 100, cached.LINEAR_PAIRS
    try:
        at = page(v_lin="1", v_mu="1.0", v_rho="0.50", v_n="1000")
    finally:
        cached.LINEAR_PAIRS = kept
    assert dict(at.query_params) == {"v_lin": "1", "v_n": "100"}
    assert "v_mu_page" not in at.session_state


@pytest.mark.parametrize("lang", ["en", "es"])
def test_every_breaker_changes_the_theory_column_to_the_law_that_holds(lang: str) -> None:
    for link, a in (
        ({"v_mu": "1.0"}, Assumptions(mean=1.0)),
        ({"v_rho": "0.50"}, Assumptions(rho=0.5)),
        ({"v_mu": "-0.5", "v_rho": "-0.40", "v_dist": "heavy"}, Assumptions("heavy", -0.5, -0.4)),
        ({"v_lin": "1"}, Assumptions(linear=True)),
        ({"v_lin": "1", "v_bias": "0", "v_c": "128", "v_dist": "uniform"}, Assumptions("uniform", linear=True, d_model=128, bias=False)),
    ):
        at = page(v_n="100", lang=lang, **link)
        rows = table_of(at, words.HEAD[0](lang))[words.HEAD[1](lang)]
        law = [number(theory(d, a).variance, ",.2f", lang) for d in (16, 64, 256, 512)]
        assert [c.strip("*\u2007") for c in rows] == law
        last = at.get("latex")[-1].value if at.get("latex") else ""
        assert number(theory(64, a).variance / 64, ".4g", lang).replace(",", "{,}") in last


# --- the derivation -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("distribution", ["normal", "uniform", "sign", "heavy"])
@pytest.mark.parametrize("mean, rho", [(0.0, 0.0), (0.5, 0.0), (0.0, -0.4), (1.0, 0.5)])
def test_the_numbers_under_the_derivation_add_up_to_the_law(distribution: str, mean: float, rho: float) -> None:
    a = Assumptions(distribution, mean, rho)
    law = theory(64, a).variance
    lines = words.derivation(64, cached.kappa(a), mean, rho, False, 512, True, "en")
    assert len(lines) <= 6
    under = [float(x) for line in lines[:3] for x in re.findall(r"_\{(-?[\d.]+)\}(?=[^a-z]|$)", line)]
    if mean or rho:
        assert 64 * (1 + sum(under)) == pytest.approx(law, rel=1e-3)
    total = [float(line.replace("{,}", "").rsplit("=", 1)[1]) for line in lines[-2:]]
    assert total == [pytest.approx(law, rel=1e-3), pytest.approx(law / 64, rel=1e-3)]


@pytest.mark.parametrize("bias", [True, False])
def test_the_derivation_through_layers_adds_up_to_the_law(bias: bool) -> None:
    a = Assumptions(linear=True, d_model=64, bias=bias)
    lines = words.derivation(256, 3.0, 0.0, 0.0, True, 64, bias, "en")
    under = [float(x) for line in lines for x in re.findall(r"_\{([\d.]+)\}$", line)]
    assert len(under) == 1 + bias and sum(under) == pytest.approx(theory(256, a).variance, rel=1e-3)
    assert float(lines[-2].rsplit("=", 1)[1]) == pytest.approx(theory(256, a).variance, rel=1e-3)


def test_a_long_number_in_the_derivation_is_written_out() -> None:
    lines = words.derivation(1024, 6.0, 2.0, 1.0, False, 512, True, "es")
    assert lines[-2].endswith(r"=21\,504") and "e+" not in "".join(lines)


# --- the numbers behind it ------------------------------------------------------------------------------------------


def test_the_curve_is_the_cores_sweep() -> None:
    run = study()
    sweep = variance_sweep(1024, 1_000, SEED)
    assert run.curve.unscaled.tolist() == pytest.approx(sweep.unscaled.tolist(), rel=1e-5)
    assert run.curve.scaled.tolist() == pytest.approx(sweep.scaled.tolist(), rel=1e-5)


def test_each_check_turns_red_when_its_number_is_wrong() -> None:
    run = study()

    def red(broken: cached.Study) -> set[str]:
        return {name for name, (difference, tolerance) in cached.checks(broken, 64).items() if not difference <= tolerance}

    assert red(run) == set()
    curve = run.curve.copy()
    curve.loc[63, "unscaled"] *= 1.001
    assert red(replaced(run, curve=curve)) == {"same", "identity"}
    for wrong in (float("nan"), 1.001):
        curve = run.curve.copy()
        curve.loc[700, "scaled"] *= wrong
        assert red(replaced(run, curve=curve)) == {"identity"}
    assert red(replaced(run, brute=math.nan)) == {"brute"}
    histogram = run.histograms[64]
    frame_ = histogram.frame.assign(count=histogram.frame["count"] + 1)
    assert red(replaced(run, histograms={64: replaced(histogram, frame=frame_)})) == {"counted"}


def replaced(record: Any, **changes: Any) -> Any:
    from dataclasses import replace

    return replace(record, **changes)


def test_brute_force_is_done_again_for_every_study_and_agrees() -> None:
    for a in (Assumptions("heavy", 1.0, 0.5), Assumptions(linear=True, d_model=64)):
        run = study(a=a)
        assert run.brute_d == 64 and run.brute < 1e-5


def test_the_power_of_the_growth_is_that_of_the_law() -> None:
    run = study()
    assert cached.growth(run) == pytest.approx(np.polyfit(np.log(run.curve.d_k), np.log(run.curve.unscaled), 1)[0])
    exact = replaced(run, curve=run.curve.assign(unscaled=3.0 * run.curve.d_k))
    assert cached.growth(exact) == pytest.approx(1.0)
    assert math.isnan(cached.growth(study(1)))


@pytest.mark.parametrize("seed", [1, 42])
@pytest.mark.parametrize("d_k", [1, 16, 64, 256, 1024])
def test_the_question_is_answered_by_the_sample(seed: int, d_k: int) -> None:
    run = study(seed=seed)
    asked = cached.question(run, d_k)
    assert 1 <= asked.small < asked.large <= 1024 and d_k in (asked.small, asked.large)
    low, high = (math.sqrt(run.curve.unscaled[d - 1]) for d in (asked.small, asked.large))
    assert asked.measured == pytest.approx(high / low)
    assert cached.FACTORS[asked.nearest] == pytest.approx(math.sqrt(asked.large / asked.small))  # n = 1,000: within 10 %
    assert len(words.ANSWERS) == len(cached.FACTORS)


def test_no_question_is_asked_of_what_does_not_spread() -> None:
    assert cached.question(study(1), 64) is None
    assert cached.question(study(100, Assumptions("sign", rho=1.0)), 64) is None


@pytest.mark.parametrize("n", [1, 100, 1_000])
@pytest.mark.parametrize("a", [Assumptions(), Assumptions("sign"), Assumptions(mean=2.0, rho=1.0), Assumptions(mean=-2.0, rho=-1.0),
                               Assumptions("sign", rho=-1.0), Assumptions("heavy", rho=1.0)], ids=str)
def test_both_axes_of_the_histogram_hold_every_mark(n: int, a: Assumptions) -> None:
    run = study(n, a)
    for d_k in settings.POWERS:
        frame_ = cached.bells(run, d_k, ("a", "b"), "en")
        ends, marks = frame_[frame_.kind == "end"], frame_[frame_.kind.isin(("edge", "bin", "predicted"))]
        assert np.isfinite(frame_[["x", "y"]]).all(axis=None)
        assert ends.x.min() <= min(0, marks.x.min()) and max(0, marks.x.max()) <= ends.x.max()
        assert marks.y.max() < ends.y.max()
        bars = frame_[frame_.kind == "bin"]
        assert bars["count"].sum() <= 2 * n


def test_neighbouring_d_k_share_an_axis_so_that_the_hill_is_seen_to_widen() -> None:
    run = study()
    reach = [cached.bells(run, d, ("a", "b"), "en").query("kind == 'end'").x.max() for d in settings.POWERS]
    assert reach == sorted(reach) and len(set(reach)) < len(reach)


def test_the_specification_of_the_histogram_does_not_change_with_d_k() -> None:
    assert histogram_spec(page(v_n="100", d_k="1")) == histogram_spec(page(v_n="100", d_k="1024"))


@pytest.mark.parametrize("axis", ["log", "linear", "ratio"])
def test_the_curve_is_drawn_from_end_to_end_and_its_band_is_the_interval(axis: str) -> None:
    run = study()
    curve = cached.curve(run, 64, axis)
    assert len(run.curve) == 1024 and curve.left_out == 0
    assert {1, 64, 700, 1024} <= set(curve.frame.d_k) and curve.frame.d_k.is_monotonic_increasing
    steps = curve.frame.d_k.diff() if axis == "linear" else np.log(curve.frame.d_k[curve.frame.d_k > 64]).diff()
    assert steps.max() < (6 if axis == "linear" else 0.04)  # a two hundredth of the picture's width
    assert curve.frame[curve.frame.chosen].d_k.tolist() == [64]
    assert cached.curve(run, 512, axis).frame.query("chosen").d_k.tolist() == [512]
    drawn = run.curve.iloc[curve.frame.d_k - 1]
    unit = drawn.theory if axis == "ratio" else 1.0
    assert curve.frame.low.tolist() == pytest.approx((drawn.unscaled_low / unit).tolist())
    assert (curve.frame.low < curve.frame.unscaled).all() and (curve.frame.unscaled < curve.frame.high).all()
    if axis == "log":
        shown = curve.frame[["unscaled", "low", "high", "scaled", "theory"]]
        assert 0 < curve.low < shown.min().min() and shown.max().max() < curve.high


# --- one run for everyone, in line ----------------------------------------------------------------------------------


def test_the_same_study_is_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []
    real = cached.core.variance_study
    monkeypatch.setattr(cached.core, "variance_study", lambda *args: drawn.append(args) or real(*args))
    page(v_n="100", seed="991")
    page(v_n="100", seed="991", d_k="8", v_ds="3,5", v_axis="ratio", lang="es")
    assert len(drawn) == 1


def test_what_a_study_needs_is_in_its_key() -> None:
    a, b = study(100), study(100, Assumptions("uniform"))
    assert a.key != b.key and study(100) is a
    assert cached.assumptions("normal", 0.0, 0.0, False, 64, False) == Assumptions()
    assert cached.assumptions("sign", 1.0, 0.5, True, 64, False) == Assumptions("sign", linear=True, d_model=64, bias=False)


def test_progress_may_stop_a_run_and_frees_its_place_in_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cached, "LONG", 1)
    seen = []

    def stop(share: float) -> None:
        seen.append(share)
        raise KeyboardInterrupt  # as Streamlit's own signals, no Exception

    with pytest.raises(KeyboardInterrupt):
        cached.study(20_000, 993, Assumptions("sign"), "cpu", stop)
    assert len(seen) == 1 and seen[0] < 1
    assert cached.study(100, 993, Assumptions(), "cpu").n == 100


# --- the line of numbers --------------------------------------------------------------------------------------------

V_DS = settings.everything()["v_ds"]


@pytest.mark.parametrize(
    "typed, kept, refused",
    [
        ("16, 64, 256, 512", (16, 64, 256, 512), ()),
        ("512 64;16", (16, 64, 512), ()),
        ("7,7,7", (7,), ()),
        ("1,024", (1,), ("024",)),
        ("0 -3 2.5 1e2 abc 1025 8", (8,), ("0", "-3", "2.5", "1e2", "abc", "1025")),
        ("", (), ()),
        ("１２ ٣", (), ("１２", "٣")),
        (" ".join(map(str, range(1, 15))), tuple(range(1, 13)), ("13", "14")),
    ],
)
def test_a_typed_list_is_read_and_what_can_not_be_used_is_named(typed: str, kept: tuple, refused: tuple) -> None:
    assert controls.read_numbers(typed, V_DS) == (kept, refused)


def test_a_list_typed_on_the_page_moves_the_table_and_the_address_and_says_what_was_left_out() -> None:
    at = page(v_n="100")
    at.text_input(key="v_ds_page").set_value("8 abc 100").run()
    assert_healthy(at)
    assert [read(i) for i in table_of(at, "dₖ").index] == [8, 64, 100]
    assert at.query_params["v_ds"] == "8,100" and at.text_input(key="v_ds_page").value == "8, 100"
    told = frame.NOT_WHOLE("en", given="abc", low=1, high=1024, most=12)
    assert told in [t.value for t in at.text]
    at.text_input(key="v_ds_page").set_value("![x](http://example.invalid/t.png)").run()
    assert [read(i) for i in table_of(at, "dₖ").index] == [8, 64, 100]
    assert any("![x]" in t.value for t in at.text) and "![x]" not in " ".join(m.value for m in at.markdown)
    at.button(key="reset").click().run()
    assert not at.text and at.text_input(key="v_ds_page").value == "16, 64, 256, 512"


def test_the_settings_of_the_page_hold_and_are_in_the_address() -> None:
    at = page(v_n="100")
    at.select_slider(key="v_mu_page").set_value(0.5).run()
    at.select_slider(key="d_k_page").set_value(16).run()
    assert_healthy(at)
    assert dict(at.query_params) == {"v_n": "100", "v_mu": "0.5", "d_k": "16"}
    assert setting(at, "d_k") == 16
