"""The page of the functional triad: its numbers are the lesson's, its sentences follow the tensors, its grids can be edited."""

from __future__ import annotations

import math
import re

import pytest
import torch
import torch.nn.functional as F
from streamlit.testing.v1 import AppTest

from qkv_core import settings, triad
from qkv_core.presets import PRESETS
from qkv_core.text import frame
from qkv_core.text import triad as words
from qkv_core.ui import grid
from qkv_core.ui.cached import triad as cached
from tests.app import assert_healthy, choose_language, open_page, setting
from tests.app import words as screen
from tests.reference import CAT_SAT, assert_close

ORIGINAL = ("cat", *(settings.everything()[key].default for key in words.GRIDS))
DEFAULT = (ORIGINAL, 1.0, "none", 1, "sqrt_dk")
EYE = tuple(tuple(float(i == j) for j in range(4)) for i in range(4))
BIG = tuple((100.0, -100.0, 99.9999, -0.001) for _ in range(4))


def tables(at: AppTest) -> str:
    """Every cell of the small tables on the screen."""
    return "\n".join(" | ".join(map(str, row)) for t in at.table for row in t.value.reset_index().values.tolist())


def everything(at: AppTest) -> str:
    return screen(at) + "\n" + tables(at)


def panel(at: AppTest, name: str) -> list[list[str]]:
    """The numbers as they stand in the cells of a matrix."""
    key = (*state_key(at), at.session_state["_values"]["t_row"], at.session_state["_values"]["t_col"])
    rows = cached.panels(*key, (name,), at.session_state["_values"]["lang"])[name].frame.to_pylist()
    out: dict[int, list[str]] = {}
    for cell in rows:
        out.setdefault(cell["row"], []).append(cell["text"])
    return list(out.values())


def state_key(at: AppTest) -> tuple:
    v = at.session_state["_values"]
    given = ("cat", *(v[k] for k in words.GRIDS)) if v["t_in"] == "cat" else (
        "random", v["t_len"], v["t_c"], v["d_k"], v["t_dv"], v["seed"])  # fmt: skip
    return given, v["tau"], v["mask"], v["t_n"], v["scale"]


def lesson_of(at: AppTest) -> cached.Lesson:
    return cached.lesson(*state_key(at))


# the lesson's numbers


def test_the_settings_hold_the_lessons_own_matrices() -> None:
    given = triad.cat_sat()
    for key, name in words.GRIDS.items():
        assert_close(settings.everything()[key].default, getattr(given, name), 1e-7, name)


def test_the_default_page_shows_the_reference_digits() -> None:
    at = open_page("triad")
    assert_healthy(at)
    shown = tables(at).replace(" ", "")
    row = [CAT_SAT[step][1] for step in ("raw", "scaled", "weights")]
    for value in (v for values in row for v in values):
        assert f"{value:.6f}" in shown
    assert "1.000000/1.537138" in shown and "0.650560" in shown
    assert all(f"{w:.6f}" in screen(at) for w in CAT_SAT["weights"][1]), "the coefficients of the output"


@pytest.mark.parametrize("name", ["raw", "scaled", "weights", "output"])
def test_every_matrix_shows_the_reference_digits_in_its_cells(name: str) -> None:
    at = open_page("triad")
    for shown, expected in zip(panel(at, name), CAT_SAT[name], strict=True):
        for text, value in zip(shown, expected, strict=True):
            digits = len(text.split(".")[1])
            assert digits >= 4 and abs(float(text) - value) <= 0.5 * 10**-digits + 1e-9, (name, text, value)


def test_spanish_writes_the_same_numbers_with_a_comma() -> None:
    at = open_page("triad", locale="es-ES")
    assert_healthy(at)
    assert "0,650560" in tables(at) and "65,1" in screen(at)
    assert not re.search(r"\d\.\d", tables(at))


def test_what_is_read_is_told_with_the_weights_of_the_row() -> None:
    at = open_page("triad", t_row="2")
    weights = CAT_SAT["weights"][2]
    assert f"**sat** reads **{weights[2]:.1%}** from **sat**, **{weights[1]:.1%}** from **cat**" in screen(at)


# choosing a cell


def test_the_controls_choose_the_cell_and_the_address_says_so() -> None:
    at = open_page("triad")
    for key, value in (("t_row_page", 2), ("t_col_page", 0)):
        next(g for g in at.get("button_group") if g.key == key).set_value(value).run()
    assert_healthy(at)
    assert dict(at.query_params) == {"t_row": "2", "t_col": "0"}
    assert words.CELL("en", q="sat", k="The") in [s.value for s in at.subheader]
    assert f"{CAT_SAT['weights'][2][0]:.6f}" in tables(at)


def test_a_chosen_row_beyond_the_last_token_is_the_last_and_the_address_says_so() -> None:
    at = open_page("triad", t_row="9", t_col="4", d_k="40")
    assert_healthy(at)
    assert (at.session_state["_values"]["t_row"], at.session_state["_values"]["t_col"]) == (2, 2)
    assert at.query_params["t_row"] == ["2"] or at.query_params["t_row"] == "2"
    assert len(at.text) == 1, "what the link said is still told"


@pytest.mark.parametrize("i", range(3))
@pytest.mark.parametrize("j", range(3))
def test_the_arithmetic_of_every_cell_ends_in_its_weight(i: int, j: int) -> None:
    run = cached.lesson(*DEFAULT)
    cell = cached.row_arithmetic(run, i)[j]
    _, rows = words.chain(cell, "a", "b", run.d_k, "sqrt_dk", run.divisor, run.tau, "en")
    assert [float(x) for x in re.findall(r"[\d.]+", rows[0][1])] == pytest.approx(cell.terms.tolist(), abs=5e-7)
    assert rows[-1][2] == f"**{CAT_SAT['weights'][i][j]:.6f}**"
    assert sum(cached.terms(run, i, j)["product"]) == pytest.approx(CAT_SAT["raw"][i][j], abs=1e-6)


# masks, tau, scale


def test_hidden_scores_are_minus_infinity_and_their_weights_0() -> None:
    at = open_page("triad", mask="causal")
    assert_healthy(at)
    assert [row.count("−∞") for row in panel(at, "masked")] == [2, 1, 0]
    assert panel(at, "weights")[0] == ["1.0000", "0", "0"]
    assert words.HIDDEN_SOME("en", n=3, all=9) in screen(at)


def test_a_row_with_nothing_to_read_says_why_and_shows_zeros_not_nan() -> None:
    at = open_page("triad", mask="padding", t_n="3")
    assert_healthy(at)
    assert words.EMPTY_ROW("en", q="cat") in [s.value for s in at.subheader]
    assert words.EMPTY_ROWS("en", n=3, T=3) in screen(at)
    assert {text for row in panel(at, "weights") for text in row} == {"0"}
    assert {float(text) for row in panel(at, "output") for text in row} == {0.0}
    assert words.STEP_RULE("en") in tables(at)
    assert "nan" not in tables(at).lower() and "–" not in tables(at)


@pytest.mark.parametrize("mask, n", [("causal", 1), ("padding", 1), ("window", 0), ("window", 2), ("prefix", 2)])
@pytest.mark.parametrize("tau, scale", [(0.1, "none"), (1.0, "sqrt_dk"), (5.0, "dk"), (0.7, "sqrt_dmodel")])
def test_mask_tau_and_scale_apply_to_the_matrices(mask: str, n: int, tau: float, scale: str) -> None:
    at = open_page("triad", mask=mask, t_n=str(n), tau=str(tau), scale=scale)
    assert_healthy(at)
    run = lesson_of(at)
    divide_by = {"none": 1.0, "sqrt_dk": 2.0, "dk": 4.0, "sqrt_dmodel": 2.0}[scale]
    given = triad.cat_sat()
    q, k, v = (given.X.double() @ W.double() for W in (given.W_q, given.W_k, given.W_v))
    expected = F.scaled_dot_product_attention(q, k, v, run.mask, scale=1 / (divide_by * tau))
    assert_close(run.trace.output, expected, 1e-6)
    assert f"/ ({divide_by:g} · {tau:g})" in screen(at)


# random input


@pytest.mark.parametrize("T, C, d_k, d_v", [(1, 1, 1, 1), (2, 3, 2, 5), (12, 16, 16, 16), (7, 5, 1024, 3)])
def test_random_input_of_every_size_is_computed_drawn_and_checked(T: int, C: int, d_k: int, d_v: int) -> None:
    at = open_page("triad", t_in="random", t_len=str(T), t_c=str(C), d_k=str(d_k), t_dv=str(d_v), t_row="11", mask="window")
    assert_healthy(at)
    run = lesson_of(at)
    assert tuple(run.trace.q.shape) == (T, d_k) and tuple(run.trace.v.shape) == (T, d_v)
    assert (words.FIRST_COLUMNS("en", d_k=d_k, drawn=cached.FIRST) in screen(at)) == (d_k > 16)
    assert len(panel(at, "Q")[0]) == (d_k if d_k <= 16 else cached.FIRST)
    table = cached.terms(run, T - 1, 0)
    assert len(table) == d_k and table["so_far"].iloc[-1] == pytest.approx(run.trace.raw[T - 1, 0].item(), abs=1e-9)


def test_the_terms_that_are_not_drawn_are_told() -> None:
    at = open_page("triad", t_in="random", d_k="64")
    table = cached.terms(lesson_of(at), 1, 1)["product"]
    left = words.TERMS_LEFT("en", drawn=16, left=48, part=table[:16].sum(), rest=table[16:].sum())
    assert left in screen(at)


def test_the_seed_decides_the_random_numbers() -> None:
    one, two = (open_page("triad", t_in="random", seed=seed) for seed in ("1", "2"))
    assert panel(one, "X") != panel(two, "X")
    assert_close(lesson_of(one).given.X, triad.random_triad(5, 8, 64, 4, 1).X, 0)


# numbers in cells


@pytest.mark.parametrize("values, chars, expected", [
    ([[1.0, 0.5]], 5, ["1.0", "0.5"]),
    ([[1.2708, 5.019]], 6, ["1.2708", "5.0190"]),
    ([[-0.0004, 0.3]], 5, ["0.00", "0.30"]),
    ([[-12.3456, 0.5]], 6, ["−12.35", "0.50"]),
    ([[40_000.0, -1.0]], 6, ["40000", "−1"]),
    ([[6.4e9, -1.0]], 6, ["6.4e9", "−1.0e0"]),
    ([[-math.inf, 2.0]], 6, ["−∞", "2"]),
    ([[-math.inf, -math.inf]], 6, ["−∞", "−∞"]),
])  # fmt: skip
def test_cells_write_as_many_decimals_as_they_need_and_have_room_for(values, chars, expected) -> None:
    assert cached.cell_texts(torch.tensor(values, dtype=torch.float64), "en", chars) == [expected]


# the output


@pytest.mark.parametrize("key", [DEFAULT, (ORIGINAL, 0.1, "causal", 1, "none"), (("random", 7, 5, 8, 3, 9), 1.0, "window", 1, "sqrt_dk")])
def test_the_pieces_add_up_to_the_output_and_the_dots_hold_it(key) -> None:
    run = cached.lesson(*key)
    for i in range(run.T):
        pieces = cached.pieces(run, i)
        totals = pieces.groupby("channel")["piece"].sum()
        assert_close(totals.tolist(), run.trace.output[i], 1e-12)
        marks = cached.hull(run, i, "en")
        assert set(marks[marks.kind == "value"].token) == {run.given.tokens[j] for j in run.visible(i)}
        ranges, output = (marks[marks.kind == kind].set_index("channel") for kind in ("range", "output"))
        assert ((ranges.x - 1e-12 <= output.x) & (output.x <= ranges.x2 + 1e-12)).all()


def test_a_broken_output_turns_the_page_red(monkeypatch: pytest.MonkeyPatch) -> None:
    right = cached.attention_trace

    def wrong(*args, **kwargs):
        trace = right(*args, **kwargs)
        trace.output.add_(1e-4)
        return trace

    monkeypatch.setattr(cached, "attention_trace", wrong)
    cached.lesson.clear()
    cached.panels.clear()
    try:
        at = open_page("triad")
        red = [m.value for m in at.markdown if ":material/error:" in m.value]
        assert any(words.CHECK_HULL("en") in text for text in red)
    finally:
        cached.lesson.clear()
        cached.panels.clear()


# values are never compared


@pytest.mark.parametrize("how", ["double", "negate", "random"])
def test_a_change_of_v_moves_the_output_alone(how: str) -> None:
    at = open_page("triad", t_how=how)
    assert_healthy(at)
    v = cached.moves(*DEFAULT, how, 42)[2]
    assert v.raw == v.weights == 0 and v.output > 0.1
    assert words.ROLES_SAY("en", raw=0.0, weights=0.0, output=v.output) in screen(at)


# the prediction


def test_the_prediction_is_about_the_row_on_screen_and_its_answer_is_computed() -> None:
    run = cached.lesson(*DEFAULT)
    w = CAT_SAT["weights"][1]
    asked = cached.removal(run, 1)
    assert (asked.best, asked.second) == (1, 2)
    assert asked.answers[asked.right] == pytest.approx(w[2] / (1 - w[1]), abs=1e-5)
    at = open_page("triad")
    at.radio[0].set_value(asked.right).run()
    at.button(key="predict_triad_go").click().run()
    assert any(f"= {asked.after:.4f}" in s.value for s in at.success)


def test_with_few_keys_the_prediction_is_about_v() -> None:
    at = open_page("triad", mask="causal")
    assert at.radio[0].label == words.ASK_VALUES("en", q="cat", k="cat")
    at.radio[0].set_value(1).run()
    at.button(key="predict_triad_go").click().run()
    assert at.success


# the audit and the batch


@pytest.mark.parametrize("lang", ["en", "es"])
def test_the_audit_names_every_object_with_the_shape_it_has_here(lang: str) -> None:
    at = open_page("triad", t_in="random", t_len="7", t_c="5", d_k="8", t_dv="3", lang=lang)
    assert_healthy(at)
    table = at.table[3].value.reset_index()
    shapes = dict(zip((name for name, *_ in words.AUDIT_ROWS), table[words.AUDIT_COLUMNS["shape"](lang)], strict=True))
    assert shapes == {"X": "7 × 5", "W_q": "5 × 8", "W_k": "5 × 8", "W_v": "5 × 3", "Q": "7 × 8", "K": "7 × 8", "V": "7 × 3",
                      "raw": "7 × 7", "scaled": "7 × 7", "masked": "7 × 7", "weights": "7 × 7", "output": "7 × 3"}  # fmt: skip


def test_the_batch_is_the_notebooks_and_every_row_is_added_up() -> None:
    at = open_page("triad")
    shown = tables(at)
    assert "(2, 8, 16, 64)" in shown and "(2, 8, 16, 16)" in shown
    shapes, _, _ = cached.batch(2, 8, 16, 64, 64, 42, 1.0, "none", 1, "sqrt_dk")
    assert shapes.rows == 256
    assert words.BATCH_SAYS("en", rows=256, low=shapes.row_sum_min, high=shapes.row_sum_max) in screen(at)


def test_the_notebooks_batch_is_one_button_away_and_free_sizes_hold() -> None:
    at = open_page("triad", t_b="4", t_bt="3", t_bdv="1", heads="16", d_k="1", mask="padding", t_n="3")
    assert_healthy(at)
    assert "(4, 16, 3, 1)" in tables(at)
    assert words.BATCH_EMPTY("en", empty=192, rows=192) in screen(at)
    at.button(key="t_notebook").click().run()
    assert_healthy(at)
    assert "(2, 8, 16, 64)" in tables(at) and setting(at, "d_k") == 64 and setting(at, "heads") == 8


def test_the_largest_batch_is_quick_enough_for_a_class() -> None:
    import time

    started = time.process_time()
    cached.batch(4, 16, 32, 1024, 256, 123_456, 0.1, "causal", 1, "none")
    assert time.process_time() - started < 3


# presets and links


@pytest.mark.parametrize("lang", ["en", "es"])
@pytest.mark.parametrize("preset", PRESETS["triad"], ids=lambda p: p.key)
def test_every_preset_works_in_both_languages(preset, lang: str) -> None:
    at = open_page("triad", lang=lang, seed="7", tau="2.00")
    at.button(key=f"try_triad_{preset.key}").click().run()
    assert_healthy(at)
    values = at.session_state["_values"]
    assert all(values[key] == value for key, value in preset.complete("triad").items())
    assert preset.key in words.TRY and len(words.TRY) == len(PRESETS["triad"])


def test_what_the_presets_promise_is_so() -> None:
    def run(key: str) -> cached.Lesson:
        at = open_page("triad")
        at.button(key=f"try_triad_{key}").click().run()
        return lesson_of(at)

    causal, plain, blind, sharp = run("causal"), run("plain"), run("blind"), run("sharp")
    assert_close(causal.trace.output[0], causal.trace.v[0], 0)
    assert_close(plain.trace.raw, plain.trace.raw.T, 1e-12)
    assert (plain.trace.weights - plain.trace.weights.T).abs().max() > 0.01, "and the weights are not"
    assert not blind.trace.raw.any()
    assert_close(blind.trace.output, blind.trace.v.mean(0).expand(3, -1), 1e-12)
    assert (sharp.trace.weights.amax(-1) > cached.lesson(*DEFAULT).trace.weights.amax(-1)).all()
    soft, hard = (cached.lesson(("random", 8, 16, 64, 8, 42), 1.0, "none", 1, scale) for scale in ("sqrt_dk", "none"))
    assert (soft.trace.weights.amax(-1) < hard.trace.weights.amax(-1)).all()


def test_a_link_with_edited_matrices_restores_them() -> None:
    text = settings.everything()["t_wk"].format(EYE)
    at = open_page("triad", t_wk=text)
    assert_healthy(at)
    assert not at.text and dict(at.query_params) == {"t_wk": text}
    assert panel(at, "K") == panel(at, "X") == [["1.0", "0.5", "0.2", "0.1"], ["0.1", "2.0", "0.8", "0.2"], ["0.2", "0.1", "1.5", "1.8"]]


def test_extreme_matrices_stay_finite_and_green() -> None:
    for scale, tau in (("none", "0.10"), ("dk", "5.00")):
        grids = {key: settings.everything()[key].format(BIG[: 3 if key == "t_x" else 4]) for key in words.GRIDS}
        at = open_page("triad", scale=scale, tau=tau, **grids)
        assert_healthy(at)
        assert lesson_of(at).trace.weights.isfinite().all()


def test_bad_values_are_named_and_replaced() -> None:
    at = open_page("triad", t_in="dog", t_len="99", t_wq="1,2;3", t_bdv="65", t_x="1e9,0,0,0;0,0,0,0;0,0,0,0")
    assert_healthy(at)
    values = at.session_state["_values"]
    assert (values["t_in"], values["t_len"], values["t_wq"], values["t_bdv"]) == ("cat", 12, ORIGINAL[2], 64)
    assert values["t_x"][0][0] == 100
    assert len(at.text) == 5


def test_the_sentences_change_with_the_language_and_the_numbers_stay() -> None:
    at = open_page("triad", tau="0.50", t_row="0")
    before = panel(at, "weights")
    choose_language(at, "es")
    assert_healthy(at)
    assert [[t.replace(",", ".") for t in row] for row in panel(at, "weights")] == before
    assert words.LEAD("es") in screen(at)


# editing


def test_typed_cells_are_read_with_a_point_or_a_comma() -> None:
    start = ORIGINAL[1]
    value, bad = grid.read(start, {0: {"1": "2,5", "4": "−3"}, 2: {"2": " 1.25 "}}, "t_x")
    assert not bad
    assert (value[0], value[2]) == ((2.5, 0.5, 0.2, -3.0), (0.2, 1.25, 1.5, 1.8))
    assert settings.everything()["t_x"].legal(value)


@pytest.mark.parametrize("text", ["abc", "", None, "1e9", "100.1", "nan", "1;2", "x" * 500])
def test_a_cell_that_is_no_number_is_named_and_keeps_its_value(text) -> None:
    value, bad = grid.read(ORIGINAL[1], {1: {"2": text, "3": "7"}}, "t_x")
    assert value[1] == (0.1, 2, 7.0, 0.2)
    assert [(b.row, b.col, b.kept) for b in bad] == [(1, 1, 2)] and len(bad[0].given) <= settings.CLIP


def test_what_is_kept_is_what_an_address_can_hold() -> None:
    value, _ = grid.read(ORIGINAL[1], {0: {"1": "0.123456789"}}, "t_x")
    s = settings.everything()["t_x"]
    assert value[0][0] == 0.123457 and s.parse(s.format(value)) == value


def test_the_editors_open_with_the_numbers_and_the_buttons_undo() -> None:
    at = open_page("triad", t_wk=settings.everything()["t_wk"].format(EYE))
    at.session_state["t_box"] = True
    at.run()
    assert_healthy(at)
    assert at.button(key="undo_t_x").disabled and not at.button(key="original_t_x").disabled
    at.button(key="original_t_x").click().run()
    assert state_key(at)[0] == ORIGINAL and at.button(key="original_t_x").disabled
    at.button(key="undo_t_x").click().run()
    assert state_key(at)[0][3] == EYE and at.button(key="undo_t_x").disabled
    assert frame.UNDO("en") in [b.label for b in at.button]
