"""The colours keep their promises: readable on their page, apart for every eye, and the same in theme and charts."""

from __future__ import annotations

import itertools
import math
import tomllib
from pathlib import Path

import pytest

from qkv_core.charts import palette
from qkv_core.charts.base import Look, colour_scale
from qkv_core.charts.palette import DARK, LIGHT, Palette, contrast, luminance

SYMBOLS = ("q", "k", "v", "scores", "weights", "output")
ARMS = ("unscaled", "scaled")
THEMES = {"light": LIGHT, "dark": DARK}

# Full-severity dichromacy in linear sRGB (Machado, Oliveira and Fernandes 2009).
EYES = {
    "trichromat": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "deuteranope": (
        (0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)
    ),
    "protanope": (
        (0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)
    ),
}  # fmt: skip


def lab(colour: str, eye: str) -> tuple[float, float, float]:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    r, g, b = (min(max(sum(m * c for m, c in zip(row, linear, strict=True)), 0.0), 1.0) for row in EYES[eye])
    x = (0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047
    y = 0.2126729 * r + 0.7151522 * g + 0.0721750 * b
    z = (0.0193339 * r + 0.1191920 * g + 0.9503041 * b) / 1.08883
    fx, fy, fz = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def apart(a: str, b: str) -> float:
    return min(math.dist(lab(a, eye), lab(b, eye)) for eye in EYES)


@pytest.mark.parametrize("theme", THEMES)
def test_every_colour_of_a_symbol_or_an_arm_is_readable_on_its_page(theme: str) -> None:
    p = THEMES[theme]
    for name in (*SYMBOLS, *ARMS, "text", "muted", "theory", "wrong", "negative"):
        for ground in (p.background, p.panel) if name in ("text", "muted") else (p.background,):
            ratio = contrast(getattr(p, name), ground)
            assert ratio >= 4.5, f"{theme} {name} on {ground}: {ratio:.2f}"


@pytest.mark.parametrize("theme", THEMES)
def test_symbols_stay_apart_for_every_eye(theme: str) -> None:
    for a, b in itertools.combinations(SYMBOLS, 2):
        distance = apart(getattr(THEMES[theme], a), getattr(THEMES[theme], b))
        assert distance >= 18, f"{theme} {a}/{b}: {distance:.1f}"


@pytest.mark.parametrize("theme", THEMES)
def test_the_two_arms_stay_apart_and_borrow_no_symbols_colour(theme: str) -> None:
    p = THEMES[theme]
    assert apart(p.unscaled, p.scaled) >= 18
    for arm, symbol in itertools.product(ARMS, SYMBOLS):
        assert apart(getattr(p, arm), getattr(p, symbol)) >= 12, f"{theme} {arm}/{symbol}"


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("symbol", ("x", *SYMBOLS))
def test_numbers_in_cells_are_readable_on_the_strongest_colour(theme: str, symbol: str) -> None:
    p = THEMES[theme]
    for colour in colour_scale(Look(dark=theme == "dark"), symbol, 1.0, numbers=True).range:
        assert contrast(p.text, colour) >= 4.5, f"{theme} {symbol} {colour}: {contrast(p.text, colour):.2f}"


@pytest.mark.parametrize("theme", THEMES)
def test_the_theme_file_and_the_palette_name_the_same_colours(theme: str) -> None:
    config = tomllib.loads((Path(__file__).parents[1] / ".streamlit" / "config.toml").read_text())["theme"][theme]
    p: Palette = THEMES[theme]
    assert config["backgroundColor"] == p.background
    assert config["secondaryBackgroundColor"] == p.panel
    assert config["textColor"] == p.text
    for symbol, colour in palette.SYMBOL_MARKUP.items():
        assert config[f"{colour}TextColor"] == p.symbol(symbol), symbol


@pytest.mark.parametrize("theme", THEMES)
def test_axis_legend_and_facet_text_is_readable_also_on_a_washed_out_projector(theme: str) -> None:
    look = Look(dark=theme == "dark")
    config, ground = look.config(), look.palette.background
    inks = [v for part in ("axis", "legend", "header", "title") for k, v in config[part].items() if k in ("labelColor", "titleColor", "color")]
    assert len(inks) == 7
    for ink in inks:
        assert contrast(ink, ground) >= 4.5
        assert contrast(palette.mix(ink, "#808080", 1 / 3), palette.mix(ground, "#808080", 1 / 3)) >= 4.5


def test_axis_text_is_at_least_fourteen_pixels() -> None:
    config = Look().config()
    assert all(config[part][size] >= 14 for part in ("axis", "legend", "header") for size in ("labelFontSize", "titleFontSize"))


def test_contrast_is_measured_as_wcag_says() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.478, abs=1e-3)
    assert luminance("#ff0000") == pytest.approx(0.2126)
