"""The shapes page: what it shows is what was executed, every line of code on it runs, and no size breaks it."""

from __future__ import annotations

import contextlib
import io
import re

import pytest
import torch

from qkv_core import presets, scripts, settings
from qkv_core import shapes as core
from qkv_core.charts import shapes as charts
from qkv_core.charts.palette import contrast, mix
from qkv_core.text import number
from qkv_core.text import shapes as words
from qkv_core.ui.cached import shapes as cached
from tests.app import assert_healthy, open_page
from tests.app import words as screen

PRESETS = {p.key: p for p in presets.PRESETS["shapes"]}
SETTINGS = {s.key: s for s in settings.PAGES["shapes"]}
LEGAL = [p.key for p in PRESETS.values() if p.complete("shapes")["C"] % p.complete("shapes")["H"] == 0]
NOTEBOOK = (2, 5, 12, 3)


def link(values) -> dict[str, str]:
    return {key: SETTINGS[key].format(value) for key, value in values.items() if key in SETTINGS}


def code_blocks(at) -> list[str]:
    return [block.value for block in at.code]


def printed(source: str) -> list[str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(source, {})
    return out.getvalue().splitlines()


# settings and words


def test_the_settings_know_the_limits_of_the_core() -> None:
    assert {k: (SETTINGS[k].low, SETTINGS[k].high) for k in "BTCH"} == {
        "B": (1, core.MAX_B), "T": (1, core.MAX_T), "C": (1, core.MAX_C), "H": (1, core.MAX_H),
    }
    assert (SETTINGS["sh_step"].low, SETTINGS["sh_step"].high) == (1, len(core.STEP_KEYS))
    assert [SETTINGS[k].high + 1 for k in ("sh_b", "sh_t", "sh_c")] == [core.MAX_B, core.MAX_T, core.MAX_C]


def test_every_step_note_role_property_and_purpose_has_words() -> None:
    assert tuple(words.STEP_NAMES) == core.STEP_KEYS
    assert set(words.NOTES) == set(core.NOTES)
    assert tuple(words.PROPERTIES) == core.PROPERTIES
    assert tuple(words.ROLES) == core.ROLES
    assert tuple(words.PARTS) == core.MEMORY_PARTS == tuple(charts.GLYPHS)
    assert set(words.PURPOSES) == {row.purpose for row in core.audit(*NOTEBOOK)}


def test_the_english_notes_are_the_core_s_own() -> None:
    for key, note in core.NOTES.items():
        plain = re.sub(r"sqrt\((.*?)\)", r"√\1", note).replace(" x ", " × ")
        assert words.NOTES[key].en == plain


# the page


@pytest.mark.parametrize("locale", ["en-US", "es-MX"])
@pytest.mark.parametrize("key", PRESETS)
def test_every_preset_opens_cold_in_both_languages_with_green_checks(key: str, locale: str) -> None:
    at = open_page("shapes", locale, **link(PRESETS[key].complete("shapes")))
    assert_healthy(at)
    badges = [m.value for m in at.markdown if ":material/check:" in m.value]
    assert len(badges) == (6 if key in LEGAL else 3)
    assert "{" not in "".join(m.value for m in at.markdown).replace(r"\mathbb{R}", "").replace("^{", "").replace("_{", "")


def test_a_preset_pressed_on_the_page_is_the_preset() -> None:
    at = open_page("shapes")
    at.button(key="try_shapes_paper").click().run()
    assert_healthy(at)
    assert [at.number_input(key=f"{k}_page").value for k in "BTCH"] == [1, 10, 512, 8]
    assert "512 = 8 × 64" in screen(at)


@pytest.mark.parametrize("step", range(1, 14))
def test_the_card_of_a_step_shows_what_was_executed(step: int) -> None:
    at = open_page("shapes", sh_step=str(step))
    assert_healthy(at)
    real = core.shape_walkthrough(*NOTEBOOK, seed=42)[step - 1]
    shown = at.table[0].value
    now = shown.columns[-1] if step == 1 else shown.columns[-2]
    row = dict(zip((i.replace("\u00a0", " ") for i in shown.index), (c.replace("\u00a0", " ") for c in shown[now])))
    assert row["shape"] == str(real.shape) and row["stride"] == str(real.stride)
    assert row["contiguous"] == ("yes" if real.contiguous else "no")
    assert row["count"] == str(real.numel) and row["bytes"] == number(real.bytes, ",d", "en")
    assert row["memory"] == number(real.storage_bytes, ",d", "en") + " bytes"
    assert row["axes"] == f"({', '.join(real.axes)})"
    if step > 1:
        marks = dict(zip((i.replace("\u00a0", " ") for i in shown.index), shown[shown.columns[-1]]))
        for name in core.PROPERTIES:
            assert (marks[words.PROPERTIES[name].en] == "preserved") == (name in real.preserved), name
    assert real.code in code_blocks(at)
    assert words.NOTES[real.note_key]("en", **core.walkthrough_numbers(*NOTEBOOK)) in screen(at)


@pytest.mark.parametrize("key", LEGAL)
def test_the_code_of_all_steps_put_together_runs_and_makes_these_tensors(key: str) -> None:
    values = PRESETS[key].complete("shapes")
    sizes = tuple(values[k] for k in "BTCH")
    steps = core.shape_walkthrough(*sizes, seed=42)
    shown = []
    for n, step in enumerate(steps, start=1):
        at = open_page("shapes", **link({**values, "sh_step": n}))
        shown.append(next(block for block in code_blocks(at) if block == step.code))
    namespace: dict = {"torch": torch}
    exec("\n".join(shown), namespace)
    for step in steps:
        made = namespace[step.tensor]
        assert tuple(made.shape) == step.shape and made.stride() == step.stride
    program = scripts.script("shapes", {**values, "seed": 42}, "en")
    assert printed(program) == [
        "\t".join(map(str, (step.tensor, step.shape, step.stride, step.contiguous))) for step in steps
    ]
    for block in (b for b in code_blocks(at) if b.startswith("q.")):  # the right and the wrong split
        assert eval(block, namespace).shape == steps[4].shape


@pytest.mark.parametrize("of", ["q", "k", "v"])
def test_the_followed_number_is_where_the_page_says(of: str) -> None:
    at = open_page("shapes", sh_of=of, sh_b="0", sh_t="4", sh_c="9", sh_step="5")
    tensors = core.walkthrough_tensors(*NOTEBOOK, seed=42)
    start = "qkv".index(of) * 12
    offset = start + 4 * 36 + 2 * 4 + 1 * 1
    value = tensors["qkv"].reshape(-1)[offset].item()
    assert value == tensors[f"{of}_heads"][0, 2, 4, 1].item()
    assert f"{start} + 0×180 + 2×4 + 4×36 + 1×1 = {offset}   (byte {4 * offset})" in code_blocks(at)
    said = screen(at)
    assert f"`{of}_heads[0, 2, 4, 1]`: number **{offset}** of this memory, value {number(value, '.4f', 'en')}" in said
    assert "9 = 2 × 4 + 1, it belongs to head 2, place 1" in said
    trace = next(frame.value for frame in at.dataframe if "offset" in frame.value.columns and "role" in frame.value.columns)
    assert len(trace) == 13
    assert list(trace["offset"]) == [str(s.offset) for s in core.follow(*NOTEBOOK, 42, 0, 4, 9, of)]


def test_a_number_outside_the_sizes_gives_way_to_the_nearest_and_says_so() -> None:
    at = open_page("shapes", B="1", T="3", C="4", H="2", sh_b="5", sh_t="9", sh_c="2047")
    assert_healthy(at)
    assert [at.number_input(key=f"{k}_page").value for k in ("sh_b", "sh_t", "sh_c")] == [0, 2, 3]
    assert "the nearest one, `q[0, 2, 3]`, is followed" in screen(at)
    assert at.query_params["sh_c"] in ("3", ["3"])


# sizes that clash


@pytest.mark.parametrize("C, H", [(12, 5), (24, 16), (1600, 48), (12, 2048), (1, 2), (7, 4)])
@pytest.mark.parametrize("locale", ["en-US", "es-ES"])
def test_a_bad_h_shows_the_real_error_the_reason_and_the_way_out(C: int, H: int, locale: str) -> None:
    at = open_page("shapes", locale, C=str(C), H=str(H), sh_step="4")
    assert_healthy(at)
    with pytest.raises(RuntimeError) as error:
        torch.zeros(2, 5, C).view(2, 5, H, -1)
    assert f">>> q.view(2, 5, {H}, -1)\nRuntimeError: {error.value}" in code_blocks(at)
    assert f"{C} = {H} × {C // H} + {C % H}:" in screen(at)
    nearest = core.nearest_legal(C, H)
    at.button(key=f"legal_H = {nearest}").click().run()
    assert_healthy(at)
    assert at.number_input(key="H_page").value == nearest
    assert f"({number(2, '', 'en')}, 5, {C})" in screen(at)


def test_moving_the_boxes_through_a_clash_never_fails() -> None:
    at = open_page("shapes", C="24", H="16")
    for key, value in (("C", 1600), ("H", 48), ("C", 48), ("C", 1), ("H", 1), ("T", 1), ("B", 1), ("H", 7), ("C", 7)):
        at.number_input(key=f"{key}_page").set_value(value).run()
        assert_healthy(at)
    assert "7" in screen(at)


@pytest.mark.parametrize("locale", ["en-US", "es-ES"])
@pytest.mark.parametrize("sizes", [(64, 512, 64, 8), (2, 5, 2048, 4), (64, 512, 2048, 2048), (64, 512, 13, 5)])
def test_sizes_too_large_are_named_before_anything_is_computed_with_a_way_out(sizes, locale: str) -> None:
    at = open_page("shapes", locale, **dict(zip("BTCH", map(str, sizes))))
    assert_healthy(at)
    assert len(at.warning) == 1 and number(core.total_bytes(*sizes) / 2**20, ",.1f", locale[:2]) in at.warning[0].value
    way_out = [b for b in at.button if (b.key or "").startswith("fit_")]
    assert way_out
    way_out[0].click().run()
    assert_healthy(at)
    assert cached.verdict(*(at.number_input(key=f"{k}_page").value for k in "BTCH")) != "large"


@pytest.mark.parametrize(
    "params",
    [
        {"B": "0", "T": "-3", "C": "99999", "H": "abc"},
        {"B": "2.5", "T": "1e9", "C": "", "H": "nan"},
        {"sh_step": "99", "sh_of": "<b>", "sh_b": "x" * 10_000},
        {"B": "64", "T": "512", "C": "2048", "H": "2048", "seed": "-1"},
        {"T": "512", "C": "1", "H": "1", "B": "1", "sh_step": "8"},
        {"B": "1", "T": "1", "C": "1", "H": "1"},
        {"C": "1999", "H": "1999"},
    ],
)
def test_anything_at_all_in_the_link_opens(params) -> None:
    assert_healthy(open_page("shapes", **params))


# the wrong order


@pytest.mark.parametrize("sizes", [NOTEBOOK, (1, 10, 512, 8), (2, 4, 6, 3), (3, 1, 4, 2), (2, 5, 12, 1)])
def test_the_wrong_order_is_told_as_torch_does_it(sizes) -> None:
    B, T, C, H = sizes
    q = torch.arange(B * T * C).view(B, T, C)
    right, wrong = q.view(B, T, H, C // H).transpose(1, 2), q.view(B, H, T, C // H)
    found = cached.order(*sizes, 42)
    assert found.count == int((right != wrong).sum()) and found.total == q.numel()
    assert found.share == found.count / found.total and found.equal == (found.count == 0)
    for _, cell in found.wrong.iterrows():
        held = wrong[0, cell["head"], cell["place"]]
        assert cell.token == held[0] // C
        assert cell.channels == f"{held[0] % C}:{held[-1] % C + 1}"
        assert cell.wrong == bool((held != right[0, cell["head"], cell["place"]]).any()) == ("✗" in cell.label)
    assert list(found.right.token) == list(found.right.place) and not found.right.wrong.any()
    at = open_page("shapes", **dict(zip("BTCH", map(str, sizes))))
    assert (f"**{found.share:.0%}** of the numbers" in screen(at)) == (not found.equal)
    assert ("Nothing is out of place" in screen(at)) == found.equal
    assert ("Two wrongs cancel" in screen(at)) == (not found.equal)


def test_the_errors_of_view_on_the_page_are_those_that_torch_raises() -> None:
    at = open_page("shapes")
    tensors = core.walkthrough_tensors(*NOTEBOOK, seed=42)
    for bad in (lambda: tensors["back"].view(2, 5, 12), lambda: tensors["q"].view(2, 3, 5, 4)):
        with pytest.raises(RuntimeError) as error:
            bad()
        assert f"RuntimeError: {error.value}" in code_blocks(at)


# parameters, predictions, checks


def test_the_audit_counts_the_parameters_and_none_depends_on_h() -> None:
    for H in (1, 3, 12):
        assert "**576** parameters: 432 make q, k and v, 144 mix the heads" in screen(open_page("shapes", H=str(H)))
    said = screen(open_page("shapes", "es-ES", C="512", H="8"))
    assert "**1\u202f048\u202f576** parámetros" in said and "**786\u202f432** parámetros; tres Linear" in said


@pytest.mark.parametrize("sizes", [NOTEBOOK, (2, 5, 12, 12), (1, 10, 512, 8), (1, 1, 1, 1), (1, 512, 1, 1)])
def test_the_prediction_is_graded_by_computed_tensors(sizes) -> None:
    asked = cached.what_if(*sizes, 42)
    now = dict(zip("BTCH", sizes))
    for values, p, s in ((now, asked.p_now, asked.s_now), ({**now, asked.name: asked.then}, asked.p_then, asked.s_then)):
        tensors = core.walkthrough_tensors(**values, seed=42)
        assert p == tensors["W_qkv"].numel() + tensors["W_o"].numel() and s == tensors["scores"].numel()
    assert asked.then != asked.now and asked.answer == 1  # H and T change the scores, never the parameters


def test_the_revealed_answer_is_the_computed_one() -> None:
    at = open_page("shapes")
    at.radio(key="predict_shapes_guess").set_value(0).run()
    at.button(key="predict_shapes_go").click().run()
    assert "Not quite" in screen(at) and "Parameters: 576 and 576. Scores: 150 and 200 numbers" in screen(at)


@pytest.mark.parametrize(
    "name, broken",
    [
        ("checks", core.WalkthroughChecks(1e-3, 0.0, True)),
        ("checks", core.WalkthroughChecks(0.0, float("nan"), True)),
        ("checks", core.WalkthroughChecks(0.0, 0.0, False)),
        ("fused", core.FusedCheck(12, 432, (144, 144, 144), True, 0.0, 0.0, 0.5, 0.5)),
    ],
)
def test_a_check_that_fails_is_red(monkeypatch: pytest.MonkeyPatch, name: str, broken) -> None:
    monkeypatch.setattr(cached, name, lambda *_: broken)
    red = [m.value for m in open_page("shapes").markdown if ":material/error:" in m.value]
    assert len(red) == 1


# the pictures


def test_the_path_draws_every_axis_of_every_step_and_where_it_goes() -> None:
    found = cached.walk(*NOTEBOOK, 42)
    frame = charts.path_frame(found.steps, found.flows, 4, 13)
    blocks = frame[frame.kind == "block"]
    for row, step in enumerate(found.steps):
        shown = [text.replace("Tₖ", "T") for text in blocks[blocks.row == row].text]
        assert shown == [f"{axis} = {size}" for axis, size in zip(step.axes, step.shape)]
    assert len(frame[frame.kind == "link"]) == sum(map(len, found.flows))
    assert list(frame[frame.kind == "note"].text) == ["Σ", "k", "Σ", "v"]
    assert list(frame[frame.kind == "join"].row) == [r for r, s in enumerate(found.steps) if s.shares_memory_with_previous]
    assert list(frame[frame.kind == "memory"].hollow) == [not s.contiguous for s in found.steps]
    assert list(frame[(frame.kind == "band") & frame.chosen].row) == [4]


def test_the_path_of_a_bad_h_stops_where_torch_stops() -> None:
    found = cached.walk(2, 5, 12, 5, 42)
    assert [s.key for s in found.steps] == ["x", "qkv", "chunk"] and len(found.names) == 13
    frame = charts.path_frame(found.steps, found.flows, 3, 13, "stop")
    assert list(frame[frame.kind == "stop"].row) == [3] and len(frame[frame.kind == "band"]) == 13


@pytest.mark.parametrize("sizes", [NOTEBOOK, (2, 5, 12, 1), (2, 5, 12, 12), (2, 1, 12, 3)])
def test_the_sentence_under_the_path_counts_what_moves_memory(sizes) -> None:
    found = cached.walk(*sizes, 42)
    copied = [s for s in found.steps if s.note_key == "contiguous.copied"]
    assert found.free == sum(s.shares_memory_with_previous for s in found.steps) and found.copied == len(copied)
    assert found.free + found.copied + found.computed == 13 and found.computed == 7


def test_the_memory_picture_puts_each_number_in_its_line() -> None:
    step = core.shape_walkthrough(*NOTEBOOK, seed=42)[4]
    here = core.follow(*NOTEBOOK, 42, 1, 2, 7, "k")[4]
    cells, window = cached.window(step, here)
    assert window.line_length == 36 and window.start == 12
    assert (cells.start + cells.place == cells.position).all()
    assert list(cells[cells.part == "element"].position) == [here.offset]
    assert len(cells) <= cached.LINES_SHOWN * cached.CELLS_SHOWN


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_words_on_every_block_can_be_read(theme: str) -> None:
    background, axes, ink = charts.axis_palettes()[theme]
    for colour in axes.values():
        assert contrast(mix(background, colour, charts.BLOCK_STRENGTH), ink) >= 7
        assert contrast(background, colour) >= 3
    assert contrast(mix(background, axes["T"], charts.ORIGIN_STRENGTH), ink) >= 4.5


def test_the_two_token_axes_of_the_scores_have_names_of_their_own() -> None:
    said = screen(open_page("shapes", T="300", B="1", C="64", H="8", sh_step="6"))
    assert "One step along Tₖ jumps 1; one step along T jumps 300." in said
    assert "written here in lines of 300" in said
