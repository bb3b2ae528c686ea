"""A viewer's own q, k, v on the pages: shown as they are, held by this session alone, refused in plain text."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from streamlit.testing.v1 import AppTest

from qkv_core import bring, scripts, settings
from qkv_core import saturation as saturation_core
from qkv_core import variance as variance_core
from qkv_core.text import own as words
from qkv_core.text import saturation as saturation_words
from qkv_core.text import triad as triad_words
from qkv_core.text import variance as variance_words
from qkv_core.ui import own, own_heads, state, take_home
from qkv_core.ui.cached import saturation as saturation_cached
from qkv_core.ui.cached import triad as triad_cached
from qkv_core.variance import own_variance
from tests.app import assert_healthy, go, open_page
from tests.app import words as screen
from tests.test_bring import npz, pt, safe
from tests.test_takehome import printed


def tensors(B: int = 2, h: int = 3, T_q: int = 5, T_k: int = 5, d_k: int = 4, d_v: int = 3) -> dict[str, torch.Tensor]:
    g = torch.Generator().manual_seed(7)
    return {name: torch.randn(B, h, T, d, generator=g) for name, T, d in (("q", T_q, d_k), ("k", T_k, d_k), ("v", T_k, d_v))}


def upload(at: AppTest, name: str, data: bytes) -> AppTest:
    at.file_uploader[0].upload(name, data, "application/octet-stream").run()
    return at


def paste(at: AppTest, text: str) -> AppTest:
    box = next(a for a in at.text_area if a.key.startswith("own_json"))
    box.set_value(text).run()
    return at.button(key="own_use").click().run()


def panel(at: AppTest, name: str) -> torch.Tensor:
    """What the page computed, from the matrices it offers as files."""
    return at.session_state["_screen"].matrices()[name]


def test_the_limits_that_are_told_are_those_of_the_core() -> None:
    assert own.LIMITS == {"T": bring.MAX_T, "d": bring.MAX_D, "megabytes": bring.MAX_BYTES // 1024**2, "numbers": bring.MAX_NUMBERS}
    assert set(words.REFUSED) == set(bring.MESSAGES)
    brought = bring.read_json(own.EXAMPLE)
    assert brought.square


def test_every_refusal_can_be_said_in_both_languages() -> None:
    values = dict(name="n", got=1, most=2, kind="npz", line=1, column=2, found="x", axis="T", q=1, k=2, v=3)
    for code, msg in words.REFUSED.items():
        for lang in ("en", "es"):
            shown = dict(values, got="(3,)") if code in ("dtype", "axes", "empty") else values
            assert "{" not in msg(lang, **shown)


@pytest.mark.parametrize("lang", ["en", "es"])
def test_before_anything_is_brought_the_page_says_what_it_shows(lang: str) -> None:
    at = open_page("triad", t_in="own", lang=lang)
    assert_healthy(at)
    assert triad_words.OWN_WAITING(lang) in screen(at)
    assert "X" in at.session_state["_screen"].matrices()
    assert words.LIMITS(lang, **own.LIMITS) in screen(at)


@pytest.mark.parametrize("name, make", [("a.npz", npz), ("a.pt", pt), ("a.safetensors", safe)])
@pytest.mark.parametrize("mask, tau, scale", [("none", 1.0, "sqrt_dk"), ("causal", 0.5, "none"), ("window", 2.0, "sqrt_dmodel")])
def test_an_uploaded_file_is_the_triad_on_the_screen(name, make, mask, tau, scale) -> None:
    given = tensors()
    at = upload(open_page("triad", t_in="own", mask=mask, tau=str(tau), scale=scale, t_ob="2", t_oh="3"), name, make(given))
    assert_healthy(at)
    q, k, v = (given[n][1, 2].double() for n in "qkv")
    by = {"sqrt_dk": 2.0, "none": 1.0, "sqrt_dmodel": 12**0.5}[scale] * tau
    allowed = triad_cached.build_mask(mask, 5, 1, 1, 1)
    assert torch.allclose(panel(at, "output"), F.scaled_dot_product_attention(q, k, v, allowed, scale=1 / by), atol=1e-9)
    assert torch.equal(panel(at, "Q"), q) and "X" not in at.session_state["_screen"].matrices()
    assert not at.file_uploader, "the raw file is let go"


def test_batch_and_head_are_chosen_by_settings_and_a_link_beyond_them_is_brought_down() -> None:
    given = tensors()
    at = upload(open_page("triad", t_in="own", t_ob="9", t_oh="64", t_row="11"), "a.npz", npz(given))
    assert_healthy(at)
    values = at.session_state["_values"]
    assert (values["t_ob"], values["t_oh"], values["t_row"]) == (2, 3, 2), "the row was brought down by the three tokens that were shown before"
    at.select_slider(key="t_oh_page").set_value(1).run()
    assert_healthy(at)
    assert torch.equal(panel(at, "K"), given["k"][1, 0].double())


@pytest.mark.parametrize("T, d_k, d_v", [(1, 1, 1), (12, 16, 17), (40, 1024, 1024), (13, 64, 2)])
def test_every_size_is_drawn_and_long_ones_say_which_part_is(T: int, d_k: int, d_v: int) -> None:
    given = tensors(1, 1, T, T, d_k, d_v)
    at = upload(open_page("triad", t_in="own", t_ot="64"), "a.npz", npz(given))
    assert_healthy(at)
    first = max(T - 12, 0)
    assert torch.equal(panel(at, "V"), given["v"][0, 0, first : first + 12].double())
    part = triad_words.OWN_PART("en", most=12, first=first + 1, last=T, all=T)
    assert (part in screen(at)) == (T > 12)
    assert (triad_words.OWN_COLUMNS("en", drawn=8) in screen(at)) == (max(d_k, d_v) > 16)


def test_pasted_json_is_taken_and_huge_numbers_stay_finite_on_the_screen() -> None:
    at = paste(open_page("triad", t_in="own"), own.EXAMPLE)
    assert_healthy(at)
    assert panel(at, "V").tolist() == [[1, 2], [3, 4]]
    at.button(key="own_remove").click().run()
    assert_healthy(at)
    assert triad_words.OWN_WAITING("en") in screen(at) and at.file_uploader
    at = paste(at, json.dumps([[3e38, -3e38], [1e-40, 2e38]]))
    assert_healthy(at)
    assert words.NOTES["alike"]("en") in screen(at) and panel(at, "weights").isfinite().all()


def test_more_keys_than_queries_is_said_and_nothing_breaks() -> None:
    at = upload(open_page("triad", t_in="own"), "a.npz", npz(tensors(T_k=7)))
    assert_healthy(at)
    assert triad_words.OWN_UNEQUAL("en", T_q=5, T_k=7) in screen(at)


@pytest.mark.parametrize("lang", ["en", "es"])
def test_what_cant_be_taken_is_named_in_plain_text_and_the_box_stays(lang: str) -> None:
    at = open_page("triad", t_in="own", lang=lang)
    paste(at, '{"q": [[1]], "![x](http://a.invalid/b.png)": 1}')
    assert_healthy(at)
    told = [t.value for t in at.text if "![x](" in t.value]
    assert told and not [m for m in at.markdown if "![x](" in m.value]
    upload(at, "a.npz", b"no zip")
    assert words.REFUSED["unreadable"](lang, kind="npz") in [t.value for t in at.text]
    paste(at, "[[1, 2], [3, 4]]")
    assert_healthy(at)
    assert own.REFUSED not in at.session_state or at.session_state[own.REFUSED] is None


def test_a_files_name_is_no_markup() -> None:
    at = upload(open_page("triad", t_in="own"), "**x** ![i](http://a.invalid) $q$.npz", npz(tensors()))
    assert_healthy(at)
    assert any("![i](" in t.value for t in at.text)
    assert "![i](" not in "".join(m.value for m in at.markdown) + "".join(c.value for c in at.caption)


def test_another_viewer_and_the_link_know_nothing_of_them() -> None:
    at = upload(open_page("triad", t_in="own"), "a.npz", npz(tensors()))
    link = dict(at.query_params)
    assert set(link) == {"t_in"}
    other = open_page("triad", **{key: value[0] if isinstance(value, list) else value for key, value in link.items()})
    assert own.HELD not in other.session_state
    assert triad_words.OWN_WAITING("en") in screen(other)


def test_they_stay_when_the_viewer_comes_back_from_another_page() -> None:
    given = tensors()
    at = upload(open_page("triad", t_in="own"), "a.npz", npz(given))
    at = go(go(at, "home"), "triad")
    assert_healthy(at)
    assert torch.equal(panel(at, "Q"), given["q"][0, 0].double())


def test_nothing_of_them_enters_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def cached(*_: object, **__: object) -> None:
        raise AssertionError("a cache was asked")

    at = upload(open_page("triad", t_in="own"), "a.npz", npz(tensors()))
    for name in ("lesson", "panels", "moves"):
        monkeypatch.setattr(triad_cached, name, cached)
    at.run()
    assert_healthy(at)


# the variance page


def opened(page: str, key: str, **link: str) -> AppTest:
    at = open_page(page, **link)
    at.session_state[key] = True
    return at.run()


@pytest.mark.parametrize("lang", ["en", "es"])
def test_the_variance_page_sets_own_tensors_beside_the_ideal(lang: str) -> None:
    given = tensors(T_k=7)
    at = opened("variance", "v_own", lang=lang, v_n="1000")
    assert_healthy(at)
    assert variance_words.OWN_LEAD(lang) in screen(at)
    upload(at, "a.npz", npz(given))
    assert_healthy(at)
    found = own_variance(given["q"], given["k"])
    for sentence in variance_words.own_says(found, lang):
        assert sentence in screen(at)
    shown = {m.label: m.value for m in at.metric}
    assert all(shown[name] == value for name, value in variance_words.own_figures(found, lang))
    rows = [t.value for t in at.table if t.value.index.name == variance_words.OWN_HEAD[0](lang)]
    assert len(rows[0]) == 6
    assert set(at.query_params) <= {"v_n", "lang"}


def test_own_tensors_that_do_not_vary_are_said_to_and_other_counts_follow() -> None:
    at = opened("variance", "v_own", v_n="100")
    paste(at, "[[1, 1], [1, 1]]")
    assert_healthy(at)
    assert variance_words.OWN_STILL("en") in screen(at)
    at.button(key="own_remove").click().run()
    upload(at, "a.npz", npz(tensors(4, 5)))
    assert_healthy(at)
    assert variance_words.OWN_MORE("en", shown=variance_words.OWN_ROWS, all=20) in screen(at)
    assert at.session_state[own.HELD].results["variance"].n == 4 * 5 * 25


def test_a_broken_sum_turns_the_variance_red(monkeypatch: pytest.MonkeyPatch) -> None:
    right = variance_core.own_variance
    monkeypatch.setattr(variance_core, "own_variance", lambda q, k: dataclasses.replace(right(q, k), difference=1e-3))
    at = upload(opened("variance", "v_own", v_n="100"), "a.npz", npz(tensors()))
    assert any(":material/error:" in m.value and variance_words.OWN_CHECK("en") in m.value for m in at.markdown)


# the saturation page


@pytest.mark.parametrize("lang", ["en", "es"])
@pytest.mark.parametrize("scale", ["sqrt_dk", "none", "sqrt_dmodel"])
def test_the_saturation_page_shows_any_row_of_own_tensors(lang: str, scale: str) -> None:
    given = tensors(T_k=64)
    at = upload(opened("saturation", "s_own", lang=lang, scale=scale, tau="0.50", s_oh="2", s_ot="99", s_trials="25"), "a.npz", npz(given))
    assert_healthy(at)
    assert at.session_state["_values"]["s_ot"] == 5
    brought = bring.Brought(given["q"], given["k"], given["v"])
    row = saturation_cached.own_row(brought, 0, 1, 4, 0.5, scale)
    by = {"sqrt_dk": 2.0, "none": 1.0, "sqrt_dmodel": 12**0.5}[scale] * 0.5
    expected = torch.softmax(given["k"][0, 1] @ given["q"][0, 1, 4] / by, -1)
    assert torch.allclose(torch.tensor(row.arm(row.chosen).weights), expected, atol=1e-6)
    assert saturation_words.own_says(saturation_core.own_rows(given["q"], given["k"], 0.5), 30, lang) in screen(at)
    assert saturation_words.row_says(row, 4, 0.5, lang) in screen(at)


def test_one_key_and_huge_numbers_do_not_break_the_saturation_page() -> None:
    at = paste(opened("saturation", "s_own", s_trials="25"), "[[1, 2]]")
    assert_healthy(at)
    at.button(key="own_remove").click().run()
    paste(at, "[[3e38, 1], [2, 3e38]]")
    assert_healthy(at)
    assert saturation_words.OWN_TOO_LARGE("en") in screen(at)


# the heads page


@pytest.mark.parametrize("lang", ["en", "es"])
@pytest.mark.parametrize("mask, T_k", [("none", 5), ("causal", 5), ("causal", 7), ("padding", 5)])
def test_the_heads_page_shows_every_head_of_own_tensors(lang: str, mask: str, T_k: int) -> None:
    given = tensors(T_k=T_k)
    at = upload(opened("heads", "h_own", lang=lang, mask=mask, h_ob="2", h_oh="3", h_pad="0"), "a.npz", npz(given))
    assert_healthy(at)
    allowed = torch.ones(5, T_k, dtype=torch.bool).tril() if mask == "causal" and T_k == 5 else torch.ones(5, T_k, dtype=torch.bool)
    scores = (given["q"][1].double() @ given["k"][1].double().mT / 2).masked_fill(~allowed, -torch.inf)
    weights = torch.softmax(scores, -1)
    assert own_heads.says(weights[2], 2, lang) in screen(at)
    table = next(t.value for t in at.table if t.value.index.name == words.HEADS_COLUMNS[0](lang))
    assert [list(row) for row in table.reset_index().astype(str).values] == [
        [cell.lstrip() for cell in row] for row in own_heads.figures(weights, lang)
    ]
    assert (words.HEADS_NO_MASK(lang, T_q=5, T_k=7) in screen(at)) == (T_k == 7)
    at.button(key="h_own_0").click().run()
    assert_healthy(at)
    assert own_heads.says(weights[0], 0, lang) in screen(at)


def test_a_row_that_may_read_nothing_and_many_heads_hold() -> None:
    at = upload(opened("heads", "h_own", mask="padding", h_pad="8"), "a.npz", npz(tensors(1, 20, 5, 5)))
    assert_healthy(at)
    distances = own_heads.distance(torch.eye(4)[None]), own_heads.distance(torch.eye(4).flip(0)[None])
    assert [d.item() for d in distances] == [0, 2]


# the programs


OPENED = {"triad": "t_box", "variance": "v_own", "saturation": "s_own", "heads": "h_own"}
LINKS = {
    "triad": dict(t_in="own", scale="sqrt_dmodel", t_ob="2", t_oh="2", t_ot="3", t_row="1", mask="causal"),
    "variance": dict(v_n="100"),
    "saturation": dict(s_trials="25", scale="sqrt_dmodel", tau="0.50", s_oh="2", s_ot="4"),
    "heads": dict(h_ob="2", h_oh="3", mask="padding", h_pad="1", tau="0.50"),
}
SIZES = {"few": (2, 3, 5, 5, 2, 1), "many": (2, 3, 17, 17, 4, 3), "unequal": (1, 1, 5, 7, 4, 3), "one": (1, 1, 1, 1, 1, 1), "wide": (1, 1, 1, 1, 60, 60)}


def with_own(page: str, given: dict[str, torch.Tensor], lang: str = "en") -> AppTest:
    return upload(opened(page, OPENED[page], lang=lang, **LINKS[page]), "a.npz", npz(given))


def runs(program: str, at: AppTest) -> list[str]:
    """What the program prints, with the file of own tensors beside it where it asks for one."""
    if scripts.OWN_FILE in program:
        Path(scripts.OWN_FILE).write_bytes(take_home.own_as_pt(at.session_state["_screen"]))
    return printed(program)


def triad_own(at: AppTest, given: dict[str, torch.Tensor], lines: list[str]) -> None:
    i, j = (at.session_state["_values"][key] for key in ("t_row", "t_col"))
    assert f"weight {panel(at, 'weights')[i, j]:.6f}" in lines
    for name in ("Q", "K", "V", "masked", "weights", "output"):
        for row in panel(at, name).tolist():
            assert "  ".join(f"{x:10.4f}" for x in row) in lines, name


def variance_own(at: AppTest, given: dict[str, torch.Tensor], lines: list[str]) -> None:
    found = own_variance(given["q"], given["k"])
    at_line = lines.index("own  Var(q.k)  d_k  Var(q) Var(k) d_k  Var(q.k / sqrt(d_k))")
    assert lines[at_line + 1].split()[1:] == [value for _, value in variance_words.own_figures(found, "en")]
    assert [line.split("  ") for line in lines[at_line + 2 :]] == variance_words.own_rows(found, given["q"].shape[1], "en")


def saturation_own(at: AppTest, given: dict[str, torch.Tensor], lines: list[str]) -> None:
    values = at.session_state["_values"]
    place = (values["s_ob"] - 1, values["s_oh"] - 1, values["s_ot"] - 1)
    row = saturation_cached.own_row(bring.Brought(given["q"], given["k"], given["v"]), *place, values["tau"], values["scale"])
    told = lines[-2 - 6 * len(row.arms) : -2]
    assert [line.split()[0] for line in told[::6]] == [{"other": values["scale"]}.get(arm.code, arm.code) for arm in row.arms]
    for arm, (_, weights, peak, entropy, effective, norm) in zip(row.arms, zip(*[iter(told)] * 6)):
        assert weights.split()[1:] == [f"{w:.4f}" for w in arm.weights]
        assert peak == f"  peak {arm.peak:.4f}, key {arm.key + 1}"
        for line, value in ((entropy, arm.entropy), (effective, arm.effective), (norm, arm.norm)):
            shown = saturation_words.cell(value, "en")
            assert line.split()[-1] == shown or (line.split()[-1] == "0.0000" and "<" in shown)
    means = saturation_core.own_rows(given["q"], given["k"], values["tau"])
    for line, (arm, mean) in zip(lines[-2:], means.items(), strict=True):
        assert line == f"{arm} mean peak {mean['peak']:.3f}  mean Jacobian norm {mean['jacobian']:.4f}"
    assert saturation_words.own_says(means, given["q"][..., 0].numel(), values["lang"]) in screen(at)


def heads_own(at: AppTest, given: dict[str, torch.Tensor], lines: list[str]) -> None:
    table = next(t.value for t in at.table if t.value.index.name == words.HEADS_COLUMNS[0](at.session_state["_values"]["lang"]))
    shown = [[cell.strip().replace(",", ".") for cell in row] for row in table.reset_index().astype(str).values]
    H = given["q"].shape[1]
    assert [line.split()[1:] for line in lines[-1 - H : -1]] == shown
    end = lines[-1].split(": ", 1)[1].removeprefix("its largest weight is ")
    assert at.session_state["_values"]["lang"] == "es" or any(m.value.startswith("Head ") and f"largest weight is {end}." in m.value for m in at.markdown)


OWN_SAYS = {"triad": triad_own, "variance": variance_own, "saturation": saturation_own, "heads": heads_own}
RUNS = [(page, size, lang) for page in OPENED for size, lang in zip(SIZES, ("en", "es", "en", "es", "en")) if (page, size) != ("triad", "unequal")]


@pytest.mark.parametrize(("page", "size", "lang"), RUNS)
def test_the_program_prints_what_the_page_shows_of_own_tensors(page: str, size: str, lang: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = tensors(*SIZES[size])
    at = with_own(page, given, lang)
    assert_healthy(at)
    brought = at.session_state["_screen"].own
    program = scripts.script(page, {**settings.defaults(), **at.session_state["_values"]}, lang, brought)
    numbers = sum(given[name].numel() for name in ("qkv" if page == "triad" else "qk"))
    assert (scripts.OWN_FILE in program) == (numbers > scripts.WRITTEN)
    assert max(map(len, program.splitlines())) <= 130
    OWN_SAYS[page](at, given, runs(program, at))


@pytest.mark.parametrize("page", OPENED)
def test_the_notebook_and_the_box_follow_own_tensors_until_they_are_removed(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = tensors(2, 3, 17, 17)
    at = with_own(page, given)
    at.session_state[state.TAKE_HOME] = True
    at.run()
    shown = at.session_state["_screen"]
    program = scripts.script(page, at.session_state["_values"], "en", shown.own)
    assert program.strip() in [c.value.strip() for c in at.code]
    assert [b for b in at.get("download_button") if "take_pt_short" in b.proto.id]
    cells = take_home.cells(shown)
    OWN_SAYS[page](at, given, runs("\n".join(c.text for c in cells if c.kind == "code"), at))
    at.button(key="own_remove").click().run()
    assert_healthy(at)
    assert at.session_state["_screen"].own is None
    assert not [b for b in at.get("download_button") if "take_pt_short" in b.proto.id]
    assert scripts.script(page, at.session_state["_values"], "en").strip() in [c.value.strip() for c in at.code]


def test_a_program_says_nothing_of_own_tensors_that_the_page_does_not_show() -> None:
    at = with_own("saturation", tensors())
    at.session_state["s_own"] = False
    at.run()
    assert at.session_state[own.HELD] is not None and at.session_state["_screen"].own is None


def test_written_numbers_are_the_shortest_that_give_the_same_float32() -> None:
    x = torch.tensor([0.1, 1 / 3, -3e38, 1e-40, 16777217.0, 0.0, 5.0])
    written = list(scripts._shortest(x.tolist()))
    assert torch.equal(torch.tensor([float(t) for t in written]), x) and written[0] == "0.1"
