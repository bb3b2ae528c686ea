"""The words of the lab, each beside its translation, so that a missing one is an error at import.

`Msg(en=..., es=...)` holds one text. `msg("es", share=0.65)` fills its `{share:.1%}` fields with numbers written as
the language writes them: 10,000 and 0.65 in English; 10 000 and 0,65 in Spanish.
"""

from __future__ import annotations

import string
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from qkv_core import settings

LANGUAGES = ("en", "es")

NARROW_SPACE = "\u202f"
"""Groups thousands in Spanish, and stands before its per cent sign; it never breaks a line."""


@dataclass(frozen=True)
class Msg:
    """One text in every language of the lab."""

    en: str
    es: str

    def __post_init__(self) -> None:
        if not self.en or not self.es:
            raise ValueError(f"a text is missing in one language: {self.en!r} / {self.es!r}")

    def __call__(self, lang: str, **values: Any) -> str:
        """The text in `lang`, its fields filled; numbers follow the language's own signs."""
        return _FORMATTERS[lang].format(getattr(self, lang), **values)


def number(value: float, spec: str, lang: str) -> str:
    """`value` written with the format `spec`, in the signs of `lang`; a non-finite one as a dash.

    >>> number(10000.5, ",.2f", "es")
    '10\u202f000,50'
    """
    if isinstance(value, float) and value != value:
        return "–"
    text = f"{value:{spec}}"
    if text.startswith("-"):
        text = "\u2212" + text[1:]
    if lang == "es":
        text = text.translate({ord(","): NARROW_SPACE, ord("."): ","})
        if text.endswith("%"):
            text = text[:-1] + NARROW_SPACE + "%"
    return text


def vector(values: Iterable[float], spec: str, lang: str) -> str:
    """Numbers in brackets; where the decimal sign is a comma, semicolons keep them apart.

    >>> vector([0.5, 2], ".1f", "es")
    '(0,5; 2,0)'
    """
    return "(" + ("; " if lang == "es" else ", ").join(number(value, spec, lang) for value in values) + ")"


def read_number(text: str) -> float | None:
    """The number that a person typed with a decimal point or comma, else None."""
    return settings.read_number(text.replace("\u2212", "-").replace(NARROW_SPACE, ""))


class _Formatter(string.Formatter):
    def __init__(self, lang: str) -> None:
        self.lang = lang

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return number(value, format_spec, self.lang)
        return super().format_field(value, format_spec)


_FORMATTERS = {lang: _Formatter(lang) for lang in LANGUAGES}
