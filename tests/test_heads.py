"""The heads page: what it shows and says are its tensors, whatever is typed, painted or linked."""

from __future__ import annotations

import itertools
import math
import os
import struct
import zlib

import pytest
import torch

from qkv_core import heads as core
from qkv_core import minilm, presets, sentences, settings, typed
from qkv_core.attention import SCALES
from qkv_core.charts import heads as charts
from qkv_core.charts.base import Look
from qkv_core.masks import MASKS, causal_mask
from qkv_core.text import heads as words
from qkv_core.text import number
from qkv_core.ui.cached import heads as cached
from tests.app import assert_healthy, choose_language, open_page
from tests.app import words as screen

PRESETS = {p.key: p for p in presets.PRESETS["heads"]}
SETTINGS = settings.everything()
LANGUAGES = ("en", "es")
READY = minilm.available().ready
installed = pytest.mark.skipif(
    not READY and not os.environ.get("QKV_REAL"), reason=f"no real weights ({minilm.available().reason}): {minilm.INSTALL}"
)
HOSTILE = (
    "the dog saw ![x](http://example.invalid/t.png) $x^2$ *bold* **b** <img src=x onerror=alert(1)> :smile: :red[hi] "
    "[a](http://e.invalid) `code` 日本 مرحبا! שלום e\u0301 👩\u200d👩\u200d👧 👩\u200d👩\u200d👧 " + "w" * 60 + " {q} {0} %s \\ \"it\" null NaN # x | y"
)


def link(values) -> dict[str, str]:
    return {key: SETTINGS[key].format(value) for key, value in values.items()}


def ask(**changes) -> cached.Ask:
    values = {**settings.defaults(), **changes}
    shared = settings.Shared(**{s.key: values[s.key] for s in settings.SHARED})
    return cached.asked(shared, values.__getitem__)


def badges(at) -> list[str]:
    return [m.value for m in at.markdown if ":material/check:" in m.value]


def markup(at) -> str:
    """Everything that Streamlit reads as markdown: texts and the labels of controls."""
    labels = [w.label for kind in ("button", "selectbox", "toggle", "slider", "select_slider", "radio", "text_area") for w in at.get(kind)]
    texts = [str(e.value) for kind in ("title", "header", "subheader", "markdown", "caption", "success", "info", "error", "warning") for e in at.get(kind)]
    metrics = [m.label for m in at.metric]
    groups = [option.content for g in at.get("button_group") for option in g.proto.options]
    radios = [option for r in at.radio for option in r.options]
    tables = [str(cell) for t in at.table for cell in t.value.to_numpy().flatten()]
    return "\n".join([*labels, *texts, *metrics, *groups, *radios, *tables])


def parameter(at, key: str) -> str:
    value = at.query_params[key]
    return value if isinstance(value, str) else value[-1]


# every sentence, head, mask and scale


@pytest.mark.parametrize("sentence", sentences.SENTENCES)
def test_every_sentence_head_mask_and_scale_has_rows_that_sum_to_1_or_are_empty_and_passes_its_checks(sentence: str) -> None:
    lang, stem = sentence[:2], sentence[3:]
    for mask, scale, tau in itertools.product(MASKS, SCALES, (0.1, 1.0, 5.0)):
        for head in settings.HEADS:
            run = cached.shown(ask(lang=lang, h_sent=stem, h_head=head, mask=mask, scale=scale, tau=tau, h_pad=2))
            sums = run.weights.sum(-1)
            empty = run.hidden.all(-1)
            assert run.weights.isfinite().all()
            assert ((sums - 1).abs()[~empty] < 1e-5).all() and (sums[empty] == 0).all()
            for name, difference, tolerance in run.checks:
                assert difference <= tolerance, (head, mask, scale, tau, name, difference)


@pytest.mark.parametrize("pair", sentences.pairs(), ids=lambda p: f"{p.sentence}-{p.head}-{p.i}")
def test_the_page_says_what_each_head_was_written_to_find(pair) -> None:
    run = cached.shown(ask(lang=pair.sentence[:2], h_sent=pair.sentence[3:], h_head=pair.head))
    assert run.top(pair.i) in pair.keys
    lang = pair.sentence[:2]
    said = " ".join(cached.notices(run, pair.i, lang))
    assert all(run.name(k, lang) in said for k in pair.keys) and run.name(pair.i, lang) in said
    share = number(run.weights[pair.i, pair.keys[0]].item(), ".1%", lang)
    if len(pair.keys) == 1:
        assert share in said


def test_every_feature_and_rule_has_words_in_both_languages() -> None:
    for lang in LANGUAGES:
        for head in core.HEADS.values():
            for rule in head.rules:
                assert cached.feature(rule.query, lang) and cached.feature(rule.key, lang)
        for name in (*sentences.FEATURES, "place_7", "word_3"):
            assert "_" not in cached.feature(name, lang)
    assert cached.feature("verb_2", "en") == "verb of clause 2" and cached.feature("verb", "en") == "verb"
    assert cached.feature("looks_1", "es").endswith("oración 1")


def test_every_code_of_the_core_has_words() -> None:
    assert set(words.HEADS) == set(core.HEADS)
    assert set(minilm.NOTES) <= set(words.NOTES)
    assert set(words.REASONS) == {"no_words", "needs_features", "no_run", "run_gone", "not_finite", *words.INSTALLS}
    assert set(words.REAL_NAMES) == set(minilm.NAMED)


# the page


@pytest.mark.parametrize("locale", ["en-US", "es-MX"])
@pytest.mark.parametrize("key", [key for key in PRESETS if key not in ("real", "trained")])
def test_every_preset_opens_cold_in_both_languages_with_green_checks(key: str, locale: str) -> None:
    at = open_page("heads", locale, **link(PRESETS[key].values))
    assert_healthy(at)
    assert len(badges(at)) >= 4
    assert "{" not in "".join(m.value for m in (*at.markdown, *at.caption, *at.subheader)).replace("$W_", "")


def test_the_first_screen_answers_with_the_tensors_own_numbers() -> None:
    at = open_page("heads")
    trace = core.head_trace("en_tired", "coreference").trace
    share = trace.weights[8, 2].item()
    assert at.subheader[0].value == f"it reads animal: {share:.1%}"
    values = {m.label: m.value for m in at.metric}
    assert values["Largest weight"] == f"{share:.1%}"
    entropy = -(trace.weights[8] * trace.weights[8].clamp(min=1e-45).log()).sum().item()
    assert values["Entropy"] == f"{entropy:.3f}" and values["Keys it reads, in effect"] == f"{math.exp(entropy):.2f}"
    assert "A person wrote the features" in screen(at)


def test_a_preset_pressed_on_the_page_is_the_preset_and_tired_becomes_wide() -> None:
    at = open_page("heads")
    at.button(key="try_heads_wide").click().run()
    assert_healthy(at)
    assert at.selectbox(key="h_sent_page").value == "wide"
    assert at.subheader[0].value.startswith("it reads street: ")


@pytest.mark.parametrize("lang, query", [("en", "it"), ("es", "parecía")])
def test_under_a_causal_mask_the_page_says_why_both_readings_are_equal(lang: str, query: str) -> None:
    at = open_page("heads", "en-US" if lang == "en" else "es-ES", mask="causal")
    weights = core.head_trace(f"{lang}_tired", "coreference", causal_mask(len(sentences.SENTENCES[f"{lang}_tired"].tokens))).trace.weights
    share = number(weights[8, 2].item(), ".1%", lang)
    said = screen(at)
    noun, other, hidden = ("animal", "street", "tired") if lang == "en" else ("animal", "camino", "cansado")
    expected = words.PREDICATE_HIDDEN(lang, what=hidden, q=query, a=noun, b=other, first=weights[8, 2].item(), second=weights[8, 6].item())
    assert expected in said and share in said and weights[8, 2] == weights[8, 6]
    assert (words.COMPARE_TINY.en[:20] if lang == "en" else words.COMPARE_TINY.es[:20]) in said or words.COMPARE_SAME(lang) in said
    if lang == "es":
        assert "El español omite el pronombre, así que la consulta es el verbo **parecía**" in said


def test_the_lessons_marks_of_the_temperature_set_it() -> None:
    at = open_page("heads")
    for tau in (0.2, 2.5, 1.0):
        at.button(key=f"h_tau_{tau}").click().run()
        assert_healthy(at)
        share = core.head_trace("en_tired", "coreference", tau=tau).trace.weights[8, 2].item()
        assert at.subheader[0].value == f"it reads animal: {share:.1%}"
        assert at.select_slider(key="tau_page").value == tau and at.button(key=f"h_tau_{tau}").disabled


def test_a_language_switch_keeps_sentence_head_and_row() -> None:
    at = open_page("heads", h_sent="she", h_row="7", h_head="predicate")
    choose_language(at, "es")
    assert_healthy(at)
    assert [at.selectbox(key=f"{k}_page").value for k in ("h_sent", "h_head")] == ["she", "predicate"]
    assert at.selectbox(key="h_row_list").value == 7 and at.subheader[0].value.startswith("ella lee sonrió")


def test_the_row_is_chosen_by_slider_and_by_list_and_both_agree() -> None:
    at = open_page("heads")
    at.select_slider(key="h_row_page").set_value(4).run()
    assert at.selectbox(key="h_row_list").value == 4
    at.selectbox(key="h_row_list").set_value(9).run()
    assert at.select_slider(key="h_row_page").value == 9 and at.subheader[0].value.startswith("was reads ")


def test_a_row_beyond_the_sentence_becomes_the_last_and_the_address_says_so() -> None:
    at = open_page("heads", h_sent="cat", h_row="71", h_col="71")
    assert_healthy(at)
    assert at.select_slider(key="h_row_page").value == 3
    assert (parameter(at, "h_row"), parameter(at, "h_col")) == ("3", "3")


def test_the_rules_of_the_chosen_cell_and_their_points_are_those_that_fired() -> None:
    at = open_page("heads", h_col="6")
    fired = core.fired(core.head_trace("en_tired", "coreference"), 8, 6)
    shown = next(t.value for t in at.table if "points" in t.value.columns)
    points = [row.strip("\u2007*") for row in shown["points"]]
    assert points == [*(f"{f.points:.4f}" for f in fired), f"{sum(f.points for f in fired):.4f}"]


@pytest.mark.parametrize("view", ["weights", "scores", "raw"])
def test_the_cells_are_the_matrix_and_hidden_ones_are_crossed(view: str) -> None:
    one = ask(mask="causal")
    run = cached.shown(one)
    frame = cached.picture(one, view, 8, 2, "en", False, False, Look()).frame
    assert len(frame) == run.T**2
    for line in frame.to_dict("records"):
        i, j = line["row"], line["col"]
        if run.hidden[i, j]:
            assert line["text"] == "×" and line["exact"] == words.EMPTY_CELL.en
        else:
            assert math.isclose(line["value"], run.matrix(view)[i, j].item(), abs_tol=1e-6)
        assert line["mark"] == (2 if (i, j) == (8, 2) else 1 if i == 8 else 0)


def test_padding_without_a_mask_steals_the_share_that_was_measured() -> None:
    stolen = core.steal("en_she", "next", 4)
    at = open_page("heads", **link(PRESETS["padding"].values))
    said = screen(at)
    assert f"Padding takes **{stolen.mean:.1%}**" in said and f"{stolen.share.max():.1%} from smiled" in said
    assert "takes exactly 0." in said and stolen.masked == 0
    masked = open_page("heads", **link({**PRESETS["padding"].values, "mask": "padding"}))
    assert "padding takes exactly 0 of the weight" in screen(masked)


def test_painting_hides_a_cell_and_showing_all_again_brings_it_back() -> None:
    at = open_page("heads", h_paint="1")
    at.button(key="h_one").click().run()
    assert_healthy(at)
    hidden = core.head_trace("en_tired", "coreference", core.hide(12, [(8, 2)])).trace.weights
    assert at.subheader[0].value == f"it reads street: {hidden[8, 6].item():.1%}"
    assert typed.parse_cells(parameter(at, "h_cells"), 12) == {(8, 2)}
    assert "attn_mask=~keep" in "".join(c.value for c in at.code)
    at.button(key="h_all").click().run()
    assert at.subheader[0].value == "it reads nothing" and "not NaN" in screen(at) and "Rows 8 have nothing" in screen(at)
    assert_healthy(at)
    at.button(key="h_none").click().run()
    assert at.subheader[0].value.startswith("it reads animal")


def test_the_leak_test_finds_exactly_0_where_the_mask_forbids() -> None:
    at = open_page("heads", mask="causal", h_head="subject", h_row="4")
    assert_healthy(at)
    assert "7 are forbidden, and the largest derivative among them is 0." in screen(at)
    run = cached.shown(ask(mask="causal", h_head="subject"))
    frame = cached.reach_frame(run, 4, "en")
    assert (frame[frame["seen"] == 0]["weight"] == 0).all() and list(frame[frame["seen"] == 1]["position"]) == [0, 1, 2, 3, 4]


def test_the_parts_of_the_heads_add_up_to_the_output_and_their_shares_to_1() -> None:
    run = cached.shown(ask())
    frame, put = cached.parts(run, 8, 42, "en")
    assert put.output.shape == (12, 512) and len(frame) == 8
    assert math.isclose(frame["share"].sum(), 1, abs_tol=1e-5) and put.difference < cached.parts_slack(put)
    table = cached.with_sum(frame, put, 8, "en")
    assert math.isclose(table["first"][:8].sum(), table["first"].iloc[-1], abs_tol=1e-5)


@pytest.mark.parametrize("kind", ["sentence", "head", "tau", "mask"])
@pytest.mark.parametrize("locale", ["en-US", "es-ES"])
def test_two_settings_are_compared_on_one_scale_with_their_difference(kind: str, locale: str) -> None:
    at = open_page("heads", locale, h_cmp=kind)
    assert_healthy(at)
    lang = locale[:2]
    first = ask(lang=lang)
    values = settings.defaults()
    found = cached.compare(first, cached.second(first, kind, lang, values.__getitem__))
    assert cached.compare_says(found, lang) in screen(at)
    gap = found.difference
    assert torch.equal(gap.matrix, found.b.weights - found.a.weights)
    sides = cached.sides(found, lang, Look())
    assert [s.labels["limit"] for s in sides] == [1.0, 1.0, 1.0]


def test_sentences_of_different_length_stand_side_by_side_without_a_difference() -> None:
    at = open_page("heads", h_sent2="cat")
    assert_healthy(at)
    assert "A has 12 tokens and B has 4" in screen(at)


def test_the_mean_is_named_a_mean_and_is_one() -> None:
    side = cached.side_by_side(ask().family(), Look())
    assert [t.id for t in side.thumbs] == [*settings.HEADS, ""] and side.thumbs[-1].name == "mean of the 8"
    assert torch.allclose(side.mean, torch.stack([core.head_trace("en_tired", h).trace.weights for h in settings.HEADS]).mean(0))
    assert "is the **mean** of the 8 weights, and no head" in screen(open_page("heads"))


@pytest.mark.parametrize("locale", ["en-US", "es-ES"])
@pytest.mark.parametrize("row", range(12))
def test_the_prediction_is_what_the_other_mask_gives(row: int, locale: str) -> None:
    lang = locale[:2]
    for mask in ("none", "causal", "window"):
        one = ask(lang=lang, mask=mask)
        run = cached.shown(one)
        if row >= run.T:
            continue
        asked = cached.prediction(run, row, lang)
        if asked is None:
            continue
        then = cached.shown(ask(lang=lang, mask="none" if mask == "causal" else "causal"))
        top = then.top(row)
        assert then.name(top, lang) in asked.answers[asked.right]
        assert number(then.weights[row].max().item(), ".1%", lang) in asked.because
        assert len(set(asked.answers)) == len(asked.answers) >= 2


def test_a_check_turns_red_when_its_tensor_is_wrong(monkeypatch) -> None:
    real = core.attention_trace

    def broken(*args, **kwargs):
        trace = real(*args, **kwargs)
        trace.weights[1, 0] += 0.01
        return trace

    cached.family.cache_clear()
    cached.shown.cache_clear()
    monkeypatch.setattr(core, "attention_trace", broken)
    try:
        run = cached.shown(ask(h_sent="cat"))
        red = [name for name, difference, tolerance in run.checks if not difference <= tolerance]
        assert "sums" in red
    finally:
        cached.family.cache_clear()
        cached.shown.cache_clear()


# typed text


@pytest.mark.parametrize("head", cached.TYPED)
@pytest.mark.parametrize("locale", ["en-US", "es-ES"])
def test_hostile_text_is_shown_as_typed_and_never_read_as_markup(head: str, locale: str) -> None:
    at = open_page("heads", locale, h_src="typed", h_head=head, h_text=HOSTILE, h_row="4", h_cmp="head", h_head2="next")
    assert_healthy(at)
    assert at.text_area(key="h_text_page").value == HOSTILE
    tokens = typed.tokenise(HOSTILE).words
    assert len(at.selectbox(key="h_row_list").options) == len(tokens)
    for token, option in zip(tokens, at.selectbox(key="h_row_list").options, strict=True):
        assert token in option
    assert any(tokens[4] in t.value for t in at.text)
    read_as_markup = markup(at)
    for token in ("![x]", "$x^2$", "*bold*", "<img", ":smile:", ":red[hi]", "[a](", "`code`", "{q}", "%s"):
        assert token not in read_as_markup, token
    assert parameter(at, "h_text") == HOSTILE


@pytest.mark.parametrize("draw", ["matrix", "lines"])
@pytest.mark.parametrize(
    "text", ["a", "a a", "日本語", "🐕", "\u00a0x\t y\n z", "w" * 3000, "x " * 64, "x " * 65, "x " * 512, "word " * 20_000, "a.b x[0] q:k \"it's\" \\ null NaN 2024"],
    ids=["one", "two", "cjk", "emoji", "spaces", "endless", "limit", "over", "512", "20000", "signs"],
)  # fmt: skip
def test_any_text_is_limited_before_anything_is_computed_and_the_limit_is_said(text: str, draw: str) -> None:
    at = open_page("heads", h_src="typed", h_head="previous", h_text=text, h_draw=draw)
    assert_healthy(at)
    kept = typed.tokenise(SETTINGS["h_text"].clean(text))
    assert len(at.selectbox(key="h_row_list").options) == len(kept.words) <= typed.LIMIT
    assert (words.CUT("en", found=kept.found, kept=len(kept.words)) in screen(at)) == (kept.found > len(kept.words))


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_no_words_are_an_invitation(text: str) -> None:
    at = open_page("heads", h_src="typed", h_head="previous", h_text=text)
    assert_healthy(at)
    assert words.REASONS["no_words"].en in screen(at)


@pytest.mark.parametrize("head", [h for h in settings.HEADS if h not in cached.TYPED])
def test_a_head_that_needs_features_says_why_it_cannot_read_typed_text_and_offers_those_that_can(head: str) -> None:
    at = open_page("heads", h_src="typed", h_head=head, h_text="the dog ran", h_row="0")
    assert_healthy(at)
    assert words.REASONS["needs_features"].en in screen(at)
    at.button(key="h_works_next").click().run()
    assert_healthy(at)
    assert "1  the   →   2  dog:" in screen(at)


def test_what_one_viewer_types_another_never_sees() -> None:
    open_page("heads", h_src="typed", h_head="previous", h_text="topsecretword ran")
    other = open_page("heads", h_src="typed", h_head="previous", h_text="plain ran")
    assert "topsecretword" not in screen(other) + str([s.options for s in other.selectbox])


def test_typing_into_the_box_is_cut_and_said() -> None:
    at = open_page("heads", h_src="typed", h_head="previous")
    at.text_area(key="h_text_page").set_value("zebra " * 1000).run()
    assert_healthy(at)
    assert len(at.text_area(key="h_text_page").value) == typed.CHARACTERS
    assert "6,000 characters are more than a link can carry: the first 2,000 are kept." in screen(at)


def test_sixty_four_tokens_are_an_image_with_a_zoom_and_painting_zooms_by_itself() -> None:
    text = " ".join(f"w{n}" for n in range(64))
    one = ask(h_src="typed", h_head="previous", h_text=text, mask="causal")
    whole = cached.picture(one, "weights", 40, 39, "en", False, False, Look())
    assert whole.large and len(whole.frame) == 64
    for zoom, paint in ((True, False), (False, True)):
        near = cached.picture(one, "weights", 40, 39, "en", zoom, paint, Look())
        assert not near.large and len(near.frame) == 256 and near.window[0] <= 40 <= near.window[1]
    assert_healthy(open_page("heads", h_src="typed", h_head="previous", h_text=text, h_zoom="1", h_row="63"))


# pictures


def test_words_reach_a_chart_as_labels_and_data_only() -> None:
    one = ask(h_src="typed", h_head="previous", h_text=HOSTILE)
    drawn = cached.picture(one, "weights", 3, 2, "en", False, False, Look())
    spec = drawn.draw(drawn.frame.iloc[:0], Look(), **drawn.labels).to_dict()
    for layer in spec["layer"]:
        for channel in layer["encoding"].values():
            if isinstance(channel, dict) and "field" in channel:
                assert channel["field"].isidentifier()
    assert len(set(drawn.frame["row"])) == len(typed.tokenise(HOSTILE).words)


def test_repeated_words_keep_their_own_rows() -> None:
    one = ask(h_src="typed", h_head="same_word", h_text="the cat saw the dog")
    frame = cached.picture(one, "weights", 0, 0, "en", False, False, Look()).frame
    assert len(frame) == 25 and list(frame[frame["col"] == 0]["row_label"]) == ["the", "cat", "saw", "the", "dog"]


@pytest.mark.parametrize("dark", [False, True])
def test_the_image_holds_the_matrix(dark: bool) -> None:
    weights = torch.tensor([[1.0, 0.0], [0.5, 0.5]])
    data = charts.png(weights.tolist(), [[False, True], [False, False]], Look(dark=dark), "weights", 1.0)
    width, height = struct.unpack(">II", data[16:24])
    at = data.index(b"IDAT")
    size = struct.unpack(">I", data[at - 4 : at])[0]
    lines = zlib.decompress(data[at + 4 : at + 4 + size])
    assert (width, height) == (2, 2)
    assert [lines[1], lines[4], lines[5]] == [charts.SHADES - 1, 126, 126] and lines[2] >= charts.SHADES
    assert data.count(b"PLTE") == 1 and len(charts.colours(Look(dark=dark).palette, "weights")) == 3 * (charts.SHADES + 2) <= 768


def test_a_word_from_right_to_left_is_kept_apart_and_any_other_is_untouched() -> None:
    assert cached.isolated("dog") == "dog" and cached.isolated("日本") == "日本"
    assert cached.isolated("שלום!") == "\u2068שלום!\u2069"


# real weights


def test_without_the_extra_the_page_says_how_to_get_it(monkeypatch) -> None:
    for reason in words.INSTALLS:
        monkeypatch.setattr(minilm, "available", lambda reason=reason: minilm.Available(False, reason))
        cached.available.cache_clear()
        cached.family.cache_clear()
        cached.shown.cache_clear()
        at = open_page("heads", h_src="real")
        assert_healthy(at)
        assert words.REASONS[reason].en in screen(at) and minilm.INSTALL in [c.value for c in at.code]
    cached.available.cache_clear()
    cached.family.cache_clear()
    cached.shown.cache_clear()


@installed
@pytest.mark.parametrize("locale", ["en-US", "es-ES"])
def test_real_she_finds_the_girl_and_the_notes_are_honest(locale: str) -> None:
    at = open_page("heads", locale, lang="en", **link(PRESETS["real"].values))
    assert_healthy(at)
    golden = minilm.GOLDEN[0]
    share = minilm.real_trace(golden.text, golden.layer, golden.head).head.trace.weights[7, 2].item()
    assert abs(share - golden.weight) < 1e-2
    assert at.subheader[0].value == f"she reads girl: {share:.1%}"
    said = screen(at)
    assert all(words.NOTES[code].en in said for code in minilm.NOTES) and words.NOTES["lens"].en not in said
    at.select_slider(key="tau_page").set_value(2.0).run()
    assert words.NOTES["lens"].en in screen(at)
    for name in minilm.NAMED:
        at.button(key=f"h_named_{name}").click().run()
        assert_healthy(at)


@installed
def test_real_heads_read_any_text_in_every_mask_and_compare_it() -> None:
    for mask in MASKS:
        at = open_page("heads", h_src="real", h_text=HOSTILE, mask=mask, h_pad="3", h_text2="the dog", h_paint="1", h_cells="12.AAAAAAAAAAAAAAAAIA")
        assert_healthy(at)
        assert "![x]" not in markup(at) and "*bold*" not in markup(at)
    for text in ("", " ", "x " * 500, "🐕" * 70):
        assert_healthy(open_page("heads", h_src="real", h_text=text, h_layer="5", h_rhead="11"))
    two = open_page("heads", h_src="real", h_cmp="head", h_sent="tired")
    assert_healthy(two)
    assert "The largest difference is" in screen(two)
