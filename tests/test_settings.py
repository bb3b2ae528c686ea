"""An address may say anything. Whatever it says, the settings are legal, and what was replaced is named once."""

from __future__ import annotations

import math

import pytest

from qkv_core import settings
from qkv_core.presets import PRESETS
from qkv_core.typed import CHARACTERS, LIMIT, SIDE, format_cells

HOSTILE = [
    "", " ", "abc", "nan", "inf", "-inf", "1e400", "-1", "999999999999", "12.5", "1e3", "0x10", "１２", "٣", "1_000",
    "<img src=x onerror=alert(1)>", "![x](http://example.invalid/t.png)", "; DROP TABLE", "\x00", "a" * 10_000,
    "None", "True", "[1]", "1,2", "--1", "1e", "+", "💥",
]  # fmt: skip


@pytest.mark.parametrize("page", settings.PAGES)
@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_an_address_says_every_value_is_legal(page: str, text: str) -> None:
    for key, setting in settings.known(page).items():
        values, problems = settings.parse({key: text}, page)
        assert setting.legal(values[key]), f"{key}={text!r} became {values[key]!r}"
        assert len(problems) <= 1


@pytest.mark.parametrize("page", settings.PAGES)
def test_every_default_is_legal_and_survives_the_round_trip_through_a_full_link(page: str) -> None:
    values = settings.defaults()
    for key, setting in settings.known(page).items():
        assert setting.legal(setting.default), key
    again, problems = settings.parse(settings.format(values, page, full=True), page)
    assert problems == ()
    assert again == {key: values[key] for key in settings.known(page)}


@pytest.mark.parametrize("page", settings.PAGES)
def test_every_choice_and_end_of_a_range_survives_the_round_trip(page: str) -> None:
    for key, setting in settings.known(page).items():
        if isinstance(setting, settings.Choice):
            options = setting.choices
        elif isinstance(setting, settings.Steps):
            options = setting.options
        elif isinstance(setting, settings.Whole):
            options = (setting.low, setting.high)
        elif isinstance(setting, settings.Flag):
            options = (False, True)
        else:
            options = (setting.default,)
        for value in options:
            values, problems = settings.parse(settings.format({key: value}, page, own_lang="--"), page)
            assert (values.get(key, setting.default), problems) == (value, ()), key


def test_tokens_of_an_address_are_short_ascii_and_unique() -> None:
    keys = [s.key for s in settings.SHARED] + [s.key for page in settings.PAGES.values() for s in page]
    assert len(keys) == len(set(keys))
    assert not {*keys} & {*settings.FOREIGN, settings.LOST}
    for key in keys:
        assert key.isascii() and key.isidentifier() and len(key) <= 12, key


def test_an_off_step_number_becomes_the_nearest_legal_one_and_is_named() -> None:
    values, problems = settings.parse({"d_k": "40", "tau": "0.123"}, "variance")
    assert values == {"d_k": 32, "tau": 0.1}
    assert problems == (
        settings.Problem("d_k", "40", "32", "replaced"),
        settings.Problem("tau", "0.123", "0.10", "replaced"),
    )


def test_a_decimal_comma_and_other_spellings_of_the_same_number_are_no_problem() -> None:
    values, problems = settings.parse({"tau": "0,5", "d_k": "064", "heads": "4.0"}, "triad")
    assert values == {"tau": 0.5, "d_k": 64, "heads": 4}
    assert problems == ()


def test_the_last_of_a_repeated_value_counts_and_is_named() -> None:
    values, problems = settings.parse({"seed": ["1", "2"]}, "home")
    assert values == {"seed": 2}
    assert problems == (settings.Problem("seed", "1, 2", "2", "repeated"),)


def test_unknown_parameters_are_named_and_streamlits_own_are_not() -> None:
    values, problems = settings.parse({"foo": "1", "embed": "true", "v": "1"}, "home")
    assert values == {}
    assert problems == (settings.Problem("foo", "1", "", "unknown"),)


def test_a_rejected_value_is_repeated_on_one_line_and_clipped() -> None:
    _, (problem,) = settings.parse({"mask": "x\ny\u202e" + "z" * 10_000}, "home")
    assert len(problem.given) == settings.CLIP and problem.given.isprintable()


def test_temperature_steps_are_exact_and_never_show_binary_dust() -> None:
    tau = settings.everything()["tau"]
    assert tau.options[0] == 0.1 and tau.options[-1] == 5.0
    for k, value in enumerate(tau.options):
        assert math.isclose(value, 0.1 + 0.05 * k, abs_tol=1e-12)
        assert tau.format(value) == f"{value:.2f}"


def test_defaults_are_left_out_but_a_shared_link_writes_everything_and_a_version() -> None:
    values = {**settings.defaults(), "d_k": 8}
    assert settings.format(values, "variance") == {"d_k": "8"}
    assert settings.format(values, "variance", own_lang="es")["lang"] == "en"
    full = settings.format(values, "variance", full=True)
    assert full["v"] == settings.VERSION and full["d_k"] == "8"
    assert {"v", *settings.known("variance")} == set(full)


def test_a_grid_reads_only_its_own_shape_and_stays_within_its_limit() -> None:
    grid = settings.Grid("g", ((1.0, 0.5), (0.0, 2.0)), limit=10)
    assert grid.parse("1,.5;0,2") == grid.default
    assert grid.parse("3,-4e1;0.25,2") == ((3.0, -10.0), (0.25, 2.0))
    for wrong in ("1,2", "1,2;3", "1,2;3,nan", "1,2;3,x", "1,2;3,4;5,6", "1" * 10_000):
        assert grid.parse(wrong) == grid.default
    assert grid.parse(grid.format(((0.1, -2.5), (1e-3, 9)))) == ((0.1, -2.5), (0.001, 9.0))


def test_a_list_of_numbers_is_sorted_bounded_and_never_empty() -> None:
    numbers = settings.Numbers("n", (16, 64), 1, 1024, 4)
    assert numbers.parse("64,16,16") == (16, 64)
    assert numbers.parse("0,5000,x") == (1, 1024)
    assert numbers.parse("x") == numbers.default
    assert numbers.parse("1,2,3,4,5,6") == (1, 2, 3, 4)


@pytest.mark.parametrize("page", settings.PAGES)
def test_presets_are_legal_and_set_only_what_their_page_has(page: str) -> None:
    for preset in PRESETS[page]:
        for key, value in preset.complete(page).items():
            assert settings.known(page)[key].legal(value), f"{page}/{preset.key}: {key}={value!r}"


HEADS_TEXT = settings.everything()["h_text"]
AS_TYPED = [
    "El niño, ¿qué?", "  two  spaces ", "a\tb\nc", "日本語 中文", "مرحبا! שלום", "e\u0301 é", "👩\u200d👩\u200d👧 👩\u200d👩\u200d👧",
    "w" * 60, "$x^2$ *b* _i_ `c` <img src=x> ![x](http://e.invalid/t.png) :smile: {q} {0} %s \\", "a=b&c=d#e?f+g%20",
]  # fmt: skip


@pytest.mark.parametrize("text", AS_TYPED)
def test_a_typed_text_is_kept_as_it_was_typed_and_no_problem(text: str) -> None:
    assert HEADS_TEXT.legal(text)
    address = settings.format({"h_text": text}, "heads")
    assert settings.parse(address, "heads") == ({"h_text": text}, ())


def test_a_typed_text_is_cut_to_its_limit_and_named_once() -> None:
    values, (problem,) = settings.parse({"h_text": "x " * 20_000}, "heads")
    assert values["h_text"] == "x " * (HEADS_TEXT.most // 2) and HEADS_TEXT.most == CHARACTERS
    assert problem.reason == "replaced" and len(problem.used) <= settings.CLIP


def test_a_typed_text_holds_no_control_characters_and_no_half_characters() -> None:
    assert HEADS_TEXT.clean("a\x00b\x1b[31mc\x7f\x9f\u202ed\u2066e\u2028f") == "ab[31mcdef"
    assert HEADS_TEXT.clean("a\r\nb\rc") == "a\nb\nc"
    assert HEADS_TEXT.clean("a\ud800b") == "a\ufffdb"
    for text in ("a\x00", "a\ud800", "x" * (HEADS_TEXT.most + 1), None, 3):
        assert not HEADS_TEXT.legal(text)


def test_painted_cells_of_an_address_are_a_token_or_nothing() -> None:
    cells = settings.everything()["h_cells"]
    token = format_cells([(i, j) for i in range(SIDE) for j in range(SIDE) if (i + j) % 3], SIDE)
    assert cells.legal(token) and cells.parse(token) == token and token.isascii() and len(token) < 870
    for text in ("12.", "0.A", "12.A!", "12.A\n", "123.A", "12.é", "12." + "A" * 865, "x" * 10_000):
        assert cells.parse(text) == "" and not cells.legal(text)


def test_the_names_of_sentences_and_heads_are_those_of_the_core() -> None:
    from qkv_core import heads, minilm, sentences

    assert {f"{lang}_{stem}" for lang in ("en", "es") for stem in settings.SENTENCES} == set(sentences.SENTENCES)
    assert set(settings.HEADS) == set(heads.HEADS)
    known = settings.everything()
    assert (known["h_layer"].high + 1, known["h_rhead"].high + 1) == (minilm.LAYERS, minilm.HEADS)
    assert known["h_pad"].high == sentences.MOST_PADDING == minilm.MOST_PADDING
    longest = max(LIMIT, max(len(s.tokens) for s in sentences.SENTENCES.values())) + sentences.MOST_PADDING
    assert known["h_row"].high == known["h_col"].high == longest - 1 and known["h_pre"].high == longest
