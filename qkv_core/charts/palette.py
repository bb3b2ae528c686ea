"""The colours of the lab: one a symbol, the same in prose, tables and charts, for a light and a dark page.

The six symbols keep 4.5:1 on their background and a CIELAB difference of at least 18 for each pair, also as seen with
deuteranopia and protanopia; tests/test_palette.py measures it. The two arms of an experiment have a pair of their own,
and are told apart by dash and mark as well.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Palette:
    """Colours as #rrggbb."""

    background: str
    panel: str
    text: str
    muted: str
    grid: str
    q: str
    k: str
    v: str
    scores: str
    weights: str
    output: str
    negative: str
    unscaled: str
    scaled: str
    theory: str
    wrong: str

    def symbol(self, name: str) -> str:
        """The colour of q, k, v, scores, weights, output, an arm, or x (the given input: the text's own)."""
        return self.text if name == "x" else getattr(self, name)


LIGHT = Palette(
    background="#fdfaf3",
    panel="#f4ecdb",
    text="#1c1812",
    muted="#5d5548",
    grid="#e6dcc6",
    q="#3965a2",
    k="#672719",
    v="#136846",
    scores="#5a2552",
    weights="#865d1b",
    output="#1c1812",
    negative="#57626b",
    unscaled="#d1345b",
    scaled="#24789a",
    theory="#1c1812",
    wrong="#a3161f",
)

DARK = Palette(
    background="#1c1812",
    panel="#2a241c",
    text="#faf1de",
    muted="#c3b8a4",
    grid="#3a3327",
    q="#a1b9ff",
    k="#d96c41",
    v="#3dcc89",
    scores="#c670ac",
    weights="#f9d04a",
    output="#faf1de",
    negative="#94a1ab",
    unscaled="#f78fb3",
    scaled="#7ee8fa",
    theory="#faf1de",
    wrong="#ff9a8f",
)

SYMBOL_MARKUP = {"q": "blue", "k": "orange", "v": "green", "scores": "violet", "weights": "yellow"}
"""Streamlit's name for the colour of a symbol: `:blue[Q]` is drawn in the colour of Q (.streamlit/config.toml)."""


def mix(a: str, b: str, share: float) -> str:
    """The colour `share` of the way from a to b, in plain sRGB."""
    pairs = zip(_channels(a), _channels(b), strict=True)
    return "#" + "".join(f"{round(x + (y - x) * share):02x}" for x, y in pairs)


def luminance(colour: str) -> float:
    """Relative luminance of a colour, 0 to 1 (WCAG 2.1)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in _channels(colour))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    """Contrast ratio of two colours, 1 to 21 (WCAG 2.1)."""
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
