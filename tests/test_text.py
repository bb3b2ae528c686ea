"""Every text exists in both languages with the same fields, and numbers are written as each language writes them."""

from __future__ import annotations

import importlib
import pkgutil
import string
from collections.abc import Iterator

import pytest

import qkv_core.text
from qkv_core import settings
from qkv_core.presets import PRESETS
from qkv_core.text import NARROW_SPACE, Msg, number, read_number

MODULES = [m.name for m in pkgutil.iter_modules(qkv_core.text.__path__)]


def messages(value: object, name: str) -> Iterator[tuple[str, Msg]]:
    if isinstance(value, Msg):
        yield name, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from messages(item, f"{name}[{key!r}]")
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            yield from messages(item, f"{name}[{i}]")


def all_messages(module: str) -> list[tuple[str, Msg]]:
    space = vars(importlib.import_module(f"qkv_core.text.{module}"))
    return [m for name, value in space.items() if not name.startswith("_") for m in messages(value, name)]


def fields(text: str) -> set[tuple[str, str]]:
    return {(name, spec) for _, name, spec, _ in string.Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("module", MODULES)
def test_both_languages_have_the_same_fields_and_formats(module: str) -> None:
    for name, msg in all_messages(module):
        assert fields(msg.en) == fields(msg.es), f"{module}.{name}"


@pytest.mark.parametrize("module", MODULES)
def test_long_texts_are_translated_not_copied(module: str) -> None:
    for name, msg in all_messages(module):
        words = [w for w in msg.en.split() if w.isalpha() and len(w) > 3]
        if len(words) >= 4:
            assert msg.en != msg.es, f"{module}.{name}"


@pytest.mark.parametrize("module", MODULES)
def test_markup_is_balanced_in_both_languages(module: str) -> None:
    for name, msg in all_messages(module):
        for text in (msg.en, msg.es):
            assert text.count("$") % 2 == 0 and text.count("**") % 2 == 0 and text.count("`") % 2 == 0, f"{module}.{name}"
            assert text == text.strip(), f"{module}.{name} has blanks at an end"


@pytest.mark.parametrize("page", settings.PAGES)
def test_every_page_has_a_question_a_source_and_words_for_its_presets(page: str) -> None:
    texts = importlib.import_module(f"qkv_core.text.{page}")
    assert texts.QUESTION.en.endswith("?") and texts.QUESTION.es.startswith("¿")
    assert "2017" in texts.SOURCE.en
    for preset in PRESETS[page]:
        title, note = texts.TRY[preset.key]
        assert title.en and note.es


def test_a_missing_translation_is_an_error_at_once() -> None:
    with pytest.raises(ValueError, match="missing"):
        Msg(en="hello", es="")


def test_numbers_follow_the_language() -> None:
    assert number(10_000.5, ",.2f", "en") == "10,000.50"
    assert number(10_000.5, ",.2f", "es") == f"10{NARROW_SPACE}000,50"
    assert number(0.655, ".1%", "es") == f"65,5{NARROW_SPACE}%"
    assert number(-1.5, ".1f", "en") == "\u22121.5"
    assert number(float("nan"), ".2f", "en") == "–"
    assert Msg(en="{share:.1%} of {n:,}", es="{share:.1%} de {n:,}")("es", share=0.25, n=1234) == (
        f"25,0{NARROW_SPACE}% de 1{NARROW_SPACE}234"
    )


def test_a_typed_number_is_read_with_a_point_or_a_comma_and_nothing_else_is() -> None:
    assert read_number("0,5") == read_number(" 0.5 ") == 0.5
    assert read_number("\u22123") == -3
    for text in ("", "x", "1.2.3", "1;2", "nan", "inf", "1e999", "0x1"):
        assert read_number(text) is None
