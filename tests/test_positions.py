"""The positions page: its sentences say what the tensors say, its checks can turn red, its links restore the screen."""

from __future__ import annotations

import json
import re
import struct
import zlib

import pytest

from qkv_core import settings
from qkv_core.presets import PRESETS
from qkv_core.text import number
from qkv_core.text import positions as text
from tests.app import assert_healthy, open_page
from tests.app import words as screen

ORDERS = settings.everything()["p_order"].choices
EXTREMES = [
    {"p_n": "4", "p_d": "2", "p_pos": "3", "p_k": "3", "p_pairs": "0"},
    {"p_n": "512", "p_d": "512", "p_pos": "511", "p_k": "64", "p_pairs": "0,100,200,255", "p_noise": "3.0"},
    {"p_n": "4", "p_d": "512", "p_pos": "0", "p_k": "1"},
    {"p_n": "512", "p_d": "2", "p_pos": "300", "p_k": "44", "p_order": "102"},
]


@pytest.fixture
def cached():
    from qkv_core.ui.cached import positions

    return positions


@pytest.fixture
def fresh_caches():
    import streamlit as st

    st.cache_resource.clear(), st.cache_data.clear()
    yield
    st.cache_resource.clear(), st.cache_data.clear()


def red(at) -> int:
    return sum(":material/error:" in str(m.value) for m in at.markdown)


# the screen


@pytest.mark.parametrize("locale", ["en-US", "es-MX"])
@pytest.mark.parametrize("params", [{}, *EXTREMES], ids=["default", "smallest", "largest", "short", "one_clock"])
def test_a_cold_link_opens_in_both_languages_without_a_red_check(params: dict[str, str], locale: str) -> None:
    at = open_page("positions", locale=locale, **params)
    assert_healthy(at)
    assert at.title[0].value == text.QUESTION(locale[:2])
    said = screen(at)
    assert not re.search(r"[{}]|\bnan\b|\bNone\b|\binf\b", re.sub(r"\$[^$]*\$", "", said)), said
    for key, value in params.items():
        setting = settings.everything()[key]
        assert at.session_state["_values"][key] == setting.parse(value), key


@pytest.mark.parametrize("preset", PRESETS["positions"], ids=lambda p: p.key)
def test_every_preset_shows_what_it_says(cached, preset) -> None:
    at = open_page("positions")
    next(b for b in at.button if b.key == f"try_positions_{preset.key}").click().run()
    assert_healthy(at)
    values = at.session_state["_values"]
    assert {key: values[key] for key in preset.values} == dict(preset.values), "nothing in it had to be replaced"
    n, d, k, noise = (values[key] for key in ("p_n", "p_d", "p_k", "p_noise"))
    test = cached.nearest(n, d, k, noise, 42).test
    if preset.key == "one_clock":
        dots = cached.dots(n, d).frame["mean"]
        assert dots[6] > dots[1] and test.neighbours < 1
    if preset.key == "noisy":
        wide = dict(next(p for p in PRESETS["positions"] if p.key == "wide_noisy").values)
        assert test.right < cached.nearest(n, wide["p_d"], k, wide["p_noise"], 42).test.right
    if preset.key == "paper":
        right_half = cached.core.sinusoidal_encoding(n, d)[:, d // 2 + 64 :]
        assert (right_half[1:] - right_half[:-1]).abs().max() < 0.01
    if preset.key == "swap":
        run = cached.shuffled(values["p_order"])
        assert run.without.after.output[1].sub(run.without.before.output[1]).abs().max() < 1e-6


def test_hostile_and_impossible_values_are_replaced_and_named() -> None:
    at = open_page("positions", p_n="nan", p_d="7", p_pos="1e9", p_k="<script>", p_pairs="-1,9999,x", p_order="999", p_noise="inf")
    assert_healthy(at)
    values = at.session_state["_values"]
    assert values["p_n"] == 128 and values["p_d"] in (6, 8) and values["p_k"] == 5 and values["p_order"] == "201"
    assert values["p_pos"] == 127 and values["p_pairs"] == (0, values["p_d"] // 2 - 1) and values["p_noise"] == 0.0
    assert "p_pos" in screen(at) and "not a value" in screen(at)


@pytest.mark.parametrize("params", [{"p_n": "8", "p_pos": "100", "p_k": "64"}, {"p_d": "4", "p_pairs": "0,1,7,9"}])
def test_what_lies_beyond_the_last_position_or_pair_is_settled(params: dict[str, str]) -> None:
    at = open_page("positions", **params)
    assert_healthy(at)
    values = at.session_state["_values"]
    assert values["p_pos"] < values["p_n"] and values["p_k"] < values["p_n"] and max(values["p_pairs"]) < values["p_d"] // 2


def test_fewer_positions_take_the_sliders_along() -> None:
    at = open_page("positions", p_n="512", p_pos="400", p_k="60")
    at.select_slider(key="p_n_page").set_value(32).run()
    assert_healthy(at)
    assert (at.session_state["_values"]["p_pos"], at.session_state["_values"]["p_k"]) == (31, 31)
    assert (at.select_slider(key="p_pos_page").value, at.select_slider(key="p_k_page").value) == (31, 31)
    at.select_slider(key="p_pos_page").set_value(7).run()
    assert at.session_state["_values"]["p_pos"] == 7


def test_pair_zero_can_be_typed() -> None:
    at = open_page("positions")
    at.text_input(key="p_pairs_page").set_value("0, 31").run()
    assert at.session_state["_values"]["p_pairs"] == (0, 31)
    assert "λ = 47,117" in json.dumps(names_of_waves(at), ensure_ascii=False)


def names_of_waves(at) -> list[str]:
    import pyarrow as pa

    for chart in at.get("vega_lite_chart"):
        if "height:Q" not in chart.proto.spec and '"height"' not in chart.proto.spec:
            continue
        for data in (chart.proto.data.data, *(d.data.data for d in chart.proto.datasets)):
            if data:
                frame = pa.ipc.open_stream(data).read_pandas()
                if "wave" in frame:
                    return frame.loc[frame["kind"] == "name", "text"].tolist()
    return []


def test_the_seed_is_used_and_no_other_setting_of_the_frame(cached) -> None:
    assert settings.USES["positions"] == {"seed"}
    told = screen(open_page("positions", p_noise="1.5"))
    mine = told.split("Understand")[0]
    for params in ({"d_k": "8"}, {"heads": "2"}, {"tau": "0.5"}, {"mask": "causal"}, {"scale": "none"}):
        assert screen(open_page("positions", p_noise="1.5", **params)).split("Understand")[0] == mine, params
    assert screen(open_page("positions", p_noise="1.5", seed="1")).split("Understand")[0] != mine


# the sentences


@pytest.mark.parametrize("locale", ["en-US", "es-ES"])
@pytest.mark.parametrize("n, d, pos, k, order", [(128, 64, 20, 5, "201"), (32, 6, 31, 7, "102"), (16, 2, 3, 1, "210")])
def test_the_sentences_hold_the_numbers_of_the_tensors(cached, n, d, pos, k, order, locale) -> None:
    import torch

    from qkv_core.attention import scaled_dot_product_attention
    from qkv_core.triad import cat_sat, project

    lang = locale[:2]
    said = screen(open_page("positions", locale=locale, p_n=str(n), p_d=str(d), p_pos=str(pos), p_k=str(k), p_order=order))
    angle = torch.arange(n + k, dtype=torch.float64)[:, None] / 10_000 ** (torch.arange(0, d, 2) / d)
    E = torch.stack((angle.sin(), angle.cos()), -1).flatten(1)
    assert number((E[0] @ E[k]).item(), ".4f", lang) in said
    assert number(pos / (2 * torch.pi), ",.2f", lang) in said, "turns of the fastest hand"
    lesson = cat_sat()
    P = torch.eye(3)[[int(i) for i in order]]

    def out(X):
        return scaled_dot_product_attention(*project(X, *lesson[1:4]))[0]

    place = cached.core.sinusoidal_encoding(3, 4)
    moved = (out(P @ lesson.X + place) - P @ out(lesson.X + place)).abs().max().item()
    assert f"**{number(moved, '.2f', lang)}**" in said and f"**{number(moved, '.3f', lang)}**" in said
    check = cached.core.rotation_check(n, d, k)
    assert text.difference(check.difference, lang) in said


def test_a_difference_is_written_as_people_do() -> None:
    assert text.difference(1.19e-7, "en") == "1.2\u00a0×\u00a010⁻⁷" and text.difference(0.0, "en") == "0"
    assert text.difference(0.5, "es") == "5,0\u00a0×\u00a010⁻¹"


@pytest.mark.parametrize("noise", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("d", [2, 8, 64])
def test_the_nearest_position_is_told_as_it_is(cached, d: int, noise: float) -> None:
    run = cached.nearest(64, d, 5, noise, 42)
    wrong = int((run.test.frame["found"] != run.test.frame["wanted"]).sum())
    said = text.nearest(64, noise, run, "en")
    assert number(1 - wrong / 59, ".1%", "en") in said and run.tries == 59
    assert ("always" in said) == (run.test.neighbours == 1)
    assert (cached.nearest_marks(run)["verdict"] == "wrong").sum() == wrong


@pytest.mark.parametrize("n, d, k", [(128, 64, 5), (4, 2, 3), (4, 2, 1), (64, 2, 3), (512, 512, 64)])
def test_the_prediction_is_graded_by_the_dot_products(cached, n: int, d: int, k: int) -> None:
    asked = cached.question(n, d, k)
    E = cached.core.sinusoidal_encoding(n, d).double()
    a, b = ((E[0] @ E[offset]).item() for offset in (asked.first, asked.second))
    assert asked.first < asked.second < n
    assert asked.answer == (0 if a > b + 1e-5 else 1 if b > a + 1e-5 else 2)


def test_one_clock_makes_the_farther_pair_more_alike(cached) -> None:
    assert cached.question(64, 2, 3).answer == 1
    assert "not always" in text.BECAUSE_DOT("en", first=3, second=6, a=-1.0, b=1.0)


@pytest.mark.parametrize("order", ORDERS)
def test_the_second_prediction_is_about_a_token_and_its_own_change(cached, order: str) -> None:
    run = cached.shuffled(order)
    token, stays = cached.asked_token(run)
    assert stays == (order[token] == str(token)) and stays == any(c == str(i) for i, c in enumerate(order))
    assert cached.moved(run.without, token) < 1e-6 < 0.01 < cached.moved(run.added, token)
    assert sorted(run.after) == sorted(run.tokens)


# the pictures


@pytest.mark.parametrize("n, d, dark", [(4, 2, False), (128, 64, True), (96, 48, False)])
def test_the_picture_holds_every_value_of_the_encoding(cached, n: int, d: int, dark: bool) -> None:
    import base64

    import torch

    from qkv_core.charts import positions as charts
    from qkv_core.charts.palette import DARK, LIGHT

    data = base64.b64decode(cached.picture(n, d, dark).removeprefix("data:image/png;base64,"))
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    assert (depth, kind) == (8, 3) and width % d == 0 and height % n == 0
    chunks, at = {}, 8
    while at < len(data):
        size, name = struct.unpack(">I4s", data[at : at + 8])
        chunks[name] = data[at + 8 : at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0] == zlib.crc32(name + chunks[name])
        at += 12 + size
    rows = torch.frombuffer(bytearray(zlib.decompress(chunks[b"IDAT"])), dtype=torch.uint8).view(height, width + 1)[:, 1:]
    shades = rows[:: height // n, :: width // d].double() / (cached.LEVELS - 1) * 2 - 1
    assert (shades - cached.core.sinusoidal_encoding(n, d)).abs().max() <= 1.001 / (cached.LEVELS - 1)
    assert rows.view(n, height // n, d, width // d).amax((1, 3)).equal(rows.view(n, height // n, d, width // d).amin((1, 3)))
    assert chunks[b"PLTE"][:3].hex() == (DARK if dark else LIGHT).background[1:]
    assert len(chunks[b"PLTE"]) == 3 * cached.LEVELS and len(charts.ramp(LIGHT, 3)) == 3


@pytest.mark.parametrize("d", settings.everything()["p_d"].choices)
def test_clocks_run_from_the_fastest_pair_to_the_slowest_and_none_twice(cached, d: int) -> None:
    pairs = cached.clock_pairs(d)
    assert pairs[0] == 0 and pairs[-1] == d // 2 - 1 and len(set(pairs)) == len(pairs) == min(cached.CLOCKS, d // 2)


def test_the_hands_point_where_the_encoding_does(cached) -> None:
    import math

    frame = cached.clocks(64, 20, 5, "en")
    E = cached.core.sinusoidal_encoding(26, 64)
    for hand, place in (("here", 20), ("there", 25)):
        for line in frame[frame["hand"] == hand].itertuples():
            angle = math.radians(line.degrees)
            assert math.sin(angle) == pytest.approx(E[place, 2 * line.pair].item(), abs=1e-6)
            assert math.cos(angle) == pytest.approx(E[place, 2 * line.pair + 1].item(), abs=1e-6)
    assert frame["hand"].iloc[-1] == "here", "the chosen hand is drawn last, on top"


def test_the_marks_stay_on_the_picture_and_the_dots_on_their_waves(cached) -> None:
    marks = cached.marks(16, 8, 14, 5, False)
    assert marks["kind"].tolist() == ["image", "here"], "19 is below a picture of 16"
    frame = cached.waves(16, 8, (0, 2), 3, 4, "en", text.WAVE_NAME.en)
    E = cached.core.sinusoidal_encoding(16, 8)
    here = frame[frame["kind"] == "here"]
    assert here["text"].tolist() == [number(E[3, dim].item(), ".4f", "en") for dim in (0, 1, 4, 5)]
    assert here["height"].tolist() == pytest.approx([cached.SWING * E[3, dim].item() - row for dim, row in ((0, 0), (1, 0), (4, 1), (5, 1))])


def test_no_chart_has_more_marks_than_fit_and_none_looks_at_its_data() -> None:
    from qkv_core.ui.cached import positions as cached

    assert len(cached.marks(512, 512, 100, 10, False)) == 3
    assert len(cached.clocks(512, 100, 10, "en")) == 2 * cached.CLOCKS
    assert len(cached.nearest_marks(cached.nearest(512, 64, 5, 1.0, 0))) == 507


def test_the_whole_encoding_can_be_taken_away(cached) -> None:
    lines = cached.whole_csv(8, 4).decode().splitlines()
    assert lines[0] == "pos,dim_0,dim_1,dim_2,dim_3" and len(lines) == 9
    assert float(lines[2].split(",")[1]) == pytest.approx(0.8414710)


# the checks can fail


def test_a_rotation_the_wrong_way_turns_its_checks_red(cached, monkeypatch, fresh_caches) -> None:
    right = cached.core.rotation
    monkeypatch.setattr(cached.core, "rotation", lambda offset, d: right(-offset, d))
    assert red(open_page("positions")) == 2  # all positions and random pairs; lengths are kept


def test_a_rotation_that_stretches_turns_its_checks_red(cached, monkeypatch, fresh_caches) -> None:
    right = cached.core.rotation
    monkeypatch.setattr(cached.core, "rotation", lambda offset, d: 1.01 * right(offset, d))
    assert red(open_page("positions")) == 3


def test_an_encoding_without_its_cosines_turns_nearly_everything_red(cached, monkeypatch, fresh_caches) -> None:
    import torch

    right = cached.core.sinusoidal_encoding
    monkeypatch.setattr(cached.core, "sinusoidal_encoding", lambda n, d: right(n, d) * torch.tensor([1.0, 0.5]).repeat(d // 2))
    at = open_page("positions")
    assert red(at) >= 5  # formula, rotation, random pairs, same offset, closed form


def test_attention_that_knows_its_places_turns_the_shuffle_red(cached, monkeypatch, fresh_caches) -> None:
    right = cached.core.shuffle_check
    monkeypatch.setattr(cached.core, "shuffle_check", lambda lesson, order, positions, mask=None: right(lesson, order, True, mask))
    at = open_page("positions")
    assert red(at) == 2
    assert "keeps its numbers and only changes its row" not in screen(at)


def test_rope_that_slows_down_turns_its_check_red(cached, monkeypatch, fresh_caches) -> None:
    import torch

    right = cached.core.rope
    monkeypatch.setattr(cached.core, "rope", lambda x, places, base=1e4: right(x, torch.as_tensor(places).double().sqrt(), base))
    assert red(open_page("positions")) == 1


# what is taken home


@pytest.mark.parametrize("lang", ["en", "es"])
@pytest.mark.parametrize("n, d, pos, k, order", [(128, 64, 20, 5, "201"), (4, 2, 3, 3, "102"), (96, 12, 50, 64, "210")])
def test_the_program_prints_the_digits_of_the_page(cached, n, d, pos, k, order, lang) -> None:
    import subprocess
    import sys

    from qkv_core import scripts

    pairs = (0, d // 2 - 1) if d > 2 else (0,)
    values = {**settings.defaults(), "p_n": n, "p_d": d, "p_pos": pos, "p_k": k, "p_pairs": pairs, "p_order": order, "seed": 42}
    source = scripts.script("positions", values, lang)
    out = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True).stdout.splitlines()
    row, run = cached.dots(n, d).frame.loc[k], cached.shuffled(order)
    lambdas = cached.core.wavelengths(d)
    assert out[: len(pairs)] == [f"pair {pair}: {lambdas[pair]:,.2f}" for pair in pairs]
    assert [float(line.split()[-1]) <= 1e-5 for line in out if f"over {n} positions" in line] == [True]
    assert [line for line in out if " . " in line] == [f"{a} . {b} = {dot:.4f}" for a, b, dot in cached.examples(n, d, k)]
    assert f"sum of cos(k omega_i) = {row['theory']:.4f}" in out
    for name, check in (("without positions", run.without), ("with positions", run.added)):
        at = out.index(name) + 1
        assert [line.split() for line in out[at : at + 3]] == [[f"{x:.3f}" for x in line] for line in check.after.output.tolist()]
        assert float(out[at + 3].split()[-1]) == pytest.approx(check.difference, rel=0.06, abs=1e-6)
    gap = cached.rope(n, d, 42).gap
    assert float(out[-2].split()[-1]) < 1e-5 and out[-1].endswith(f"{gap['added']:.2f}")


def test_the_tensors_can_be_taken_away(cached) -> None:
    found = cached.tensors(16, 8, 3, cached.shuffled("201"))
    assert (found["PE"][:13] @ found["R_k"].T - found["PE"][3:]).abs().max() < 1e-6
    assert (found["output_shuffled"] - found["output"][[2, 0, 1]]).abs().max() < 1e-6
    assert len(found) == 7
