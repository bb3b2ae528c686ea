"""The settings of the lab: their names, kinds, defaults and limits, and how an address spells them.

Standard library only. Parsing and formatting are pure: an address goes in, legal values and a list of what had to be
replaced come out, and nothing in between can fail. Tokens are short ASCII and are never translated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

VERSION = "1"
"""The version that a shared link carries, so that a later release can read today's links as they were meant."""

LOST = "page"
"""The parameter under which the server hands on the name of a page that does not exist."""

FOREIGN = ("v", "embed", "embed_options")
"""Parameters of the address that are no settings: the link version and Streamlit's own."""

CLIP = 40
"""Characters of a rejected value that are repeated to the viewer."""


_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Control characters but tab and line end, separators of lines and paragraphs, and those that turn the direction of a text."""


@dataclass(frozen=True)
class Problem:
    """One value of an address that could not be used as it came.

    key: the parameter, given: its text (clipped), used: the token that stands in for it ("" when nothing does),
    reason: "unknown", "repeated", "replaced", or "page" when the address named a page that does not exist.
    """

    key: str
    given: str
    used: str
    reason: str


@dataclass(frozen=True)
class Choice:
    """One of a few words or numbers, e.g. a mask or a power of two."""

    key: str
    default: Any
    choices: tuple[Any, ...]

    def parse(self, text: str) -> Any:
        by_token = {self.format(c): c for c in self.choices}
        if text in by_token:
            return by_token[text]
        number = read_number(text)
        if number is None or not all(isinstance(c, int | float) for c in self.choices):
            return self.default
        return min(self.choices, key=lambda c: (abs(c - number), c))

    def format(self, value: Any) -> str:
        return str(value)

    def legal(self, value: Any) -> bool:
        return value in self.choices


@dataclass(frozen=True)
class Whole:
    """A whole number from low to high."""

    key: str
    default: int
    low: int
    high: int

    def parse(self, text: str) -> int:
        number = read_number(text)
        if number is None:
            return self.default
        return int(min(max(round(number), self.low), self.high))

    def format(self, value: int) -> str:
        return str(value)

    def legal(self, value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and self.low <= value <= self.high


@dataclass(frozen=True)
class Steps:
    """A decimal number on a grid: start/per, (start+1)/per, ... stop/per, exact because the grid is whole numbers."""

    key: str
    default: float
    start: int
    stop: int
    per: int

    @property
    def options(self) -> tuple[float, ...]:
        return _grid(self.start, self.stop, self.per)

    @property
    def digits(self) -> int:
        """Decimals that write each value exactly: 2 for steps of 1/20."""
        return next(d for d in range(7) if 10**d % self.per == 0)

    def parse(self, text: str) -> float:
        number = read_number(text)
        if number is None:
            return self.default
        number = min(max(number, self.start / self.per), self.stop / self.per)
        return min(max(round(number * self.per), self.start), self.stop) / self.per

    def format(self, value: float) -> str:
        return f"{value:.{self.digits}f}"

    def legal(self, value: Any) -> bool:
        return value in self.options


@dataclass(frozen=True)
class Flag:
    """Yes or no, spelled 1 and 0."""

    key: str
    default: bool

    def parse(self, text: str) -> bool:
        return {"1": True, "0": False}.get(text, self.default)

    def format(self, value: bool) -> str:
        return "1" if value else "0"

    def legal(self, value: Any) -> bool:
        return isinstance(value, bool)


@dataclass(frozen=True)
class Numbers:
    """A short list of different whole numbers, each from low to high, at least one and at most `most` of them."""

    key: str
    default: tuple[int, ...]
    low: int
    high: int
    most: int

    def parse(self, text: str) -> tuple[int, ...]:
        numbers = [read_number(part) for part in text.split(",")[: self.most]]
        kept = [int(min(max(round(n), self.low), self.high)) for n in numbers if n is not None]
        return tuple(sorted(set(kept))) or self.default

    def format(self, value: Sequence[int]) -> str:
        return ",".join(str(n) for n in value)

    def legal(self, value: Any) -> bool:
        return (
            isinstance(value, tuple)
            and 0 < len(value) <= self.most
            and list(value) == sorted(set(value))
            and all(isinstance(n, int) and self.low <= n <= self.high for n in value)
        )


@dataclass(frozen=True)
class Grid:
    """A matrix of decimal numbers, rows apart by ";" and columns by ",", each entry between -limit and limit."""

    key: str
    default: tuple[tuple[float, ...], ...]
    limit: float = 100.0

    def parse(self, text: str) -> tuple[tuple[float, ...], ...]:
        if len(text) > 40 * sum(map(len, self.default)):
            return self.default
        rows = tuple(tuple(read_number(cell) for cell in row.split(",")) for row in text.split(";"))
        if [len(r) for r in rows] != [len(r) for r in self.default] or any(n is None for r in rows for n in r):
            return self.default
        return tuple(tuple(self.nearest(n) for n in r) for r in rows)

    def nearest(self, number: float) -> float:
        """The legal entry for a number: within the limit, and with no more digits than an address carries."""
        return float(f"{min(max(number, -self.limit), self.limit):.6g}") + 0.0  # no -0

    def format(self, value: Sequence[Sequence[float]]) -> str:
        return ";".join(",".join(f"{n:.6g}" for n in row) for row in value)

    def legal(self, value: Any) -> bool:
        return (
            isinstance(value, tuple)
            and [len(r) for r in value] == [len(r) for r in self.default]
            and all(math.isfinite(n) and abs(n) <= self.limit for r in value for n in r)
        )


@dataclass(frozen=True)
class Text:
    """A text as a person typed it, at most `most` characters of it; it is data everywhere and never markup.

    Any character may stand in it but those that steer a terminal or the direction of what follows: they are left out.
    """

    key: str
    default: str
    most: int

    def parse(self, text: str) -> str:
        return self.clean(text)

    def clean(self, text: str) -> str:
        """The legal text for what came. A lone half of a surrogate pair, which no address can carry, becomes \ufffd."""
        text = text[: 4 * self.most].replace("\r\n", "\n").replace("\r", "\n")
        return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in _UNSEEN.sub("", text))[: self.most]

    def format(self, value: str) -> str:
        return value

    def legal(self, value: Any) -> bool:
        return isinstance(value, str) and len(value) <= self.most and value == self.clean(value)


@dataclass(frozen=True)
class Token:
    """A short word that a page writes and reads itself, e.g. the painted cells of a mask; `pattern` says which are one."""

    key: str
    default: str
    pattern: str

    def parse(self, text: str) -> str:
        return text if self.legal(text) else self.default

    def format(self, value: str) -> str:
        return value

    def legal(self, value: Any) -> bool:
        if not isinstance(value, str):
            return False
        return value == self.default or re.fullmatch(self.pattern, value, re.ASCII) is not None


Setting = Choice | Whole | Steps | Flag | Numbers | Grid | Text | Token

POWERS = tuple(2**i for i in range(11))

RATES = (0.0005, 0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
"""Learning rates."""
SIZES = (0.03125, 0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Factors on the first W_q; 0.125 is 1/sqrt(64)."""

SHARED: tuple[Setting, ...] = (
    Choice("d_k", 64, POWERS),
    Choice("heads", 8, (1, 2, 4, 8, 16)),
    Steps("tau", 1.0, 2, 100, 20),
    Choice("mask", "none", ("none", "causal", "padding", "window", "prefix")),
    Choice("scale", "sqrt_dk", ("sqrt_dk", "none", "dk", "sqrt_dmodel")),
    Whole("seed", 42, 0, 999_999),
    Choice("lang", "en", ("en", "es")),
    Choice("device", "auto", ("auto", "cpu", "cuda", "mps")),
)
"""The settings of the frame: one value each, held on every page."""

TAU_LESSON = (0.2, 2.5)
"""The range of tau that the lesson uses, marked beside the slider."""

@dataclass(frozen=True)
class Shared:
    """The values of the frame's settings at one moment; hashable, so that a cache can be keyed on it."""

    d_k: int
    heads: int
    tau: float
    mask: str
    scale: str
    seed: int
    lang: str
    device: str

    @property
    def d_model(self) -> int:
        """The width C = heads x d_k, so that shared settings always divide."""
        return self.heads * self.d_k


LONGEST = 12
"""Tokens of a viewer's own tensors for which the triad page has room, since it draws every number; its program takes as many."""

SENTENCES = ("cat", "tired", "wide", "she", "he", "they", "chase", "book", "relative", "trophy")
"""The curated sentences of the heads page, named alike in both languages (qkv_core.sentences adds the language)."""

HEADS = ("coreference", "predicate", "subject", "object", "modifier", "previous", "next", "same_word")
"""The hand-written heads (qkv_core.heads), meaning first."""

PAGES: dict[str, tuple[Setting, ...]] = {
    "home": (
        Choice("home_token", "cat", ("the", "cat", "sat")),
        Choice("home_symbol", "q", ("q", "k", "v", "scores", "scale", "mask", "softmax", "output")),
    ),
    "triad": (
        Choice("t_in", "cat", ("cat", "random", "own")),
        Whole("t_ob", 1, 1, 64),
        Whole("t_oh", 1, 1, 64),
        Whole("t_ot", 1, 1, 64),
        Whole("t_row", 1, 0, 11),
        Whole("t_col", 1, 0, 11),
        Whole("t_len", 5, 1, 12),
        Whole("t_c", 8, 1, 16),
        Whole("t_dv", 4, 1, 16),
        Whole("t_n", 1, 0, 12),
        Choice("t_how", "double", ("double", "negate", "random")),
        Grid("t_x", ((1, 0.5, 0.2, 0.1), (0.1, 2, 0.8, 0.2), (0.2, 0.1, 1.5, 1.8))),
        Grid("t_wq", ((1, 0, 0.1, 0), (0, 1, 0, 0.2), (0.1, 0, 1, 0), (0, 0.2, 0, 1))),
        Grid("t_wk", ((0.8, 0.1, 0, 0), (0.1, 0.9, 0.2, 0), (0, 0.2, 0.7, 0.1), (0, 0, 0.1, 0.9))),
        Grid("t_wv", ((0.5, 0.5, 0, 0), (0, 0.5, 0.5, 0), (0, 0, 0.5, 0.5), (0.5, 0, 0, 0.5))),
        Whole("t_b", 2, 1, 4),
        Whole("t_bt", 16, 1, 32),
        Choice("t_bdv", 64, POWERS[:9]),
    ),
    "variance": (
        Numbers("v_ds", (16, 64, 256, 512), 1, POWERS[-1], 12),
        Choice("v_n", 10_000, (1, 100, 1_000, 10_000, 100_000, 1_000_000)),
        Choice("v_axis", "log", ("log", "linear", "ratio")),
        Choice("v_dist", "normal", ("normal", "uniform", "sign", "heavy")),
        Steps("v_mu", 0.0, -20, 20, 10),
        Steps("v_rho", 0.0, -20, 20, 20),
        Flag("v_lin", False),
        Choice("v_c", 512, (64, 128, 256, 512, 1024)),
        Flag("v_bias", True),
    ),
    "saturation": (
        Whole("s_keys", 10, 2, 32),
        Choice("s_trials", 400, (25, 100, 400, 1600)),
        Whole("s_ob", 1, 1, 64),
        Whole("s_oh", 1, 1, 64),
        Whole("s_ot", 1, 1, 64),
    ),
    "shapes": (
        Whole("B", 2, 1, 64),
        Whole("T", 5, 1, 512),
        Whole("C", 12, 1, 2048),
        Whole("H", 3, 1, 2048),
        Whole("sh_step", 5, 1, 13),
        Choice("sh_of", "q", ("q", "k", "v")),
        Whole("sh_b", 1, 0, 63),
        Whole("sh_t", 2, 0, 511),
        Whole("sh_c", 7, 0, 2047),
    ),
    "heads": (
        Choice("h_src", "hand", ("hand", "typed", "real", "trained")),
        Choice("h_sent", "tired", SENTENCES),
        Choice("h_head", "coreference", HEADS),
        Whole("h_layer", 1, 0, 5),
        Whole("h_rhead", 3, 0, 11),
        Whole("h_arm", 1, 1, 3),
        Whole("h_run", 1, 1, 256),
        Whole("h_ex", 1, 1, 32),
        Whole("h_tl", 1, 1, 4),
        Whole("h_th", 1, 1, 16),
        Text("h_text", "", 2_000),
        Whole("h_row", 8, 0, 71),
        Whole("h_col", -1, -1, 71),
        Choice("h_view", "weights", ("weights", "scores", "raw")),
        Choice("h_draw", "matrix", ("matrix", "lines")),
        Flag("h_zoom", False),
        Whole("h_pad", 0, 0, 8),
        Whole("h_win", 1, 0, 63),
        Whole("h_pre", 3, 0, 72),
        Flag("h_paint", False),
        Token("h_cells", "", r"[1-9]\d?\.[A-Za-z0-9_-]{1,864}"),
        Choice("h_cmp", "sentence", ("sentence", "head", "tau", "mask")),
        Choice("h_sent2", "wide", SENTENCES),
        Text("h_text2", "", 2_000),
        Choice("h_head2", "previous", HEADS),
        Whole("h_layer2", 0, 0, 5),
        Whole("h_rhead2", 2, 0, 11),
        Whole("h_arm2", 2, 1, 3),
        Whole("h_ex2", 2, 1, 32),
        Whole("h_tl2", 1, 1, 4),
        Whole("h_th2", 1, 1, 16),
        Steps("h_tau2", 5.0, 2, 100, 20),
        Choice("h_mask2", "causal", ("none", "causal", "padding", "window", "prefix")),
        Whole("h_ob", 1, 1, 64),
        Whole("h_oh", 1, 1, 64),
    ),
    "positions": (
        Choice("p_n", 128, (4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512)),
        Choice("p_d", 64, (2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)),
        Whole("p_pos", 20, 0, 511),
        Whole("p_k", 5, 1, 64),
        Numbers("p_pairs", (0, 4, 8, 12), 0, 255, 4),
        Choice("p_order", "201", ("201", "120", "021", "102", "210")),
        Steps("p_noise", 0.0, 0, 30, 10),
    ),
    "training": (
        Choice("tr_task", "cat_sat", ("cat_sat", "reverse", "key_value", "look_up", "agreement")),
        Choice("tr_lr", 0.7, RATES),
        Choice("tr_opt", "sgd", ("sgd", "adam")),
        Choice("tr_seeds", 30, (1, 2, 4, 8, 12, 16, 30, 32, 64, 128, 256)),
        Choice("tr_kind", "scale", ("scale", "lr", "tau", "heads", "init", "layers")),
        Choice("tr_b_scale", "none", ("sqrt_dk", "none", "dk", "sqrt_dmodel")),
        Choice("tr_b_lr", 0.1, RATES),
        Steps("tr_b_tau", 0.5, 2, 100, 20),
        Choice("tr_b_heads", 4, (1, 2, 4, 8, 16)),
        Choice("tr_b_init", 0.125, SIZES),
        Choice("tr_b_layers", 1, (1, 2, 3, 4)),
        Flag("tr_beat", False),
        Choice("tr_c_lr", 0.1, RATES),
        Choice("tr_heads", 1, (1, 2, 4, 8, 16)),
        Choice("tr_layers", 0, (0, 1, 2, 3, 4)),
        Choice("tr_init", 1.0, SIZES),
        Choice("tr_start", "random", ("random", "lesson")),
        Grid("tr_target", ((0.8, 0.2, 0.4, 0.6), (0.2, 1.2, 0.5, 0.8), (0.5, 0.3, 0.9, 1.0))),
        Choice("tr_speed", 100, (5, 25, 100, 0)),
        Whole("tr_until", 500, 1, 20_000),
        Grid("tr_rates", ((0, 0, 0, 0),) * 8, 20_000),
        Flag("tr_log", True),
        Whole("tr_run", 1, 1, 256),
        Whole("tr_ex", 1, 1, 32),
        Whole("tr_head", 1, 1, 16),
    ),
    "complexity": (
        Choice("x_n", 128, tuple(2**i for i in range(17))),
        Choice("x_k", 3, (1, 2, 3, 4, 5, 7, 8, 16)),
        Choice("x_r", 16, POWERS),
    ),
}
"""The settings that one page adds, in the address of that page only. Keys are unique over all pages."""


USES: dict[str, frozenset[str]] = {
    "home": frozenset({"tau", "mask", "scale"}),
    "triad": frozenset({"d_k", "heads", "tau", "mask", "scale", "seed"}),
    "variance": frozenset({"d_k", "seed", "device"}),
    "saturation": frozenset({"d_k", "heads", "tau", "scale", "seed"}),
    "shapes": frozenset({"seed"}),
    "heads": frozenset({"tau", "mask", "scale", "seed"}),
    "positions": frozenset({"seed"}),
    "training": frozenset({"d_k", "tau", "mask", "scale", "seed", "device"}),
    "complexity": frozenset({"d_k", "heads", "seed", "device"}),
}
"""The shared settings that move something on a page. The others are shown disabled there, with the reason."""


def known(page: str) -> dict[str, Setting]:
    """The settings that the address of `page` may carry, by key."""
    return {s.key: s for s in (*SHARED, *PAGES[page])}


@cache
def everything() -> dict[str, Setting]:
    """All settings of all pages, by key."""
    return {s.key: s for s in (*SHARED, *(s for page in PAGES.values() for s in page))}


def defaults() -> dict[str, Any]:
    """The default of every setting."""
    return {key: s.default for key, s in everything().items()}


def parse(raw: Mapping[str, str | Sequence[str]], page: str) -> tuple[dict[str, Any], tuple[Problem, ...]]:
    """Legal values for what an address says, and what had to be replaced.

    Args:
        raw: parameter -> text, or the texts when it is repeated. Anything at all may stand in them.
        page: the page that the address names.

    Returns:
        (values, problems): values holds a legal value for each setting the address names; the last of a repeated
        one counts. Nothing raises.
    """
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    for key, given in raw.items():
        texts = [given] if isinstance(given, str) else list(given) or [""]
        setting = everything().get(key)
        if key in FOREIGN:
            continue
        if setting is None:
            reason = "page" if key == LOST else "unknown"
            problems.append(Problem(_clip(key), _clip(texts[-1]), "", reason))
            continue
        text = texts[-1] if isinstance(setting, Text) else texts[-1].strip()
        value = setting.parse(text)
        values[key] = value
        used = setting.format(value)
        if isinstance(setting, Text):
            used = _clip(used)
        if len(texts) > 1:
            problems.append(Problem(key, _clip(", ".join(texts)), used, "repeated"))
        elif not _same(text, value, setting):
            problems.append(Problem(key, _clip(texts[0]), used, "replaced"))
    return values, tuple(problems)


def format(values: Mapping[str, Any], page: str, own_lang: str = "en", full: bool = False) -> dict[str, str]:
    """The parameters of the address of `page` that restore `values`.

    Defaults are left out; the language's default is `own_lang`, the language of the viewer's browser. `full` writes
    every value and the version: a shared link must not change its meaning when a later release changes a default.
    """
    out = {"v": VERSION} if full else {}
    for key, setting in known(page).items():
        value = values.get(key, setting.default)
        default = own_lang if key == "lang" else setting.default
        if full or value != default:
            out[key] = setting.format(value)
    return out


def _same(text: str, value: Any, setting: Setting) -> bool:
    """Does the text of an address already say `value`, in any spelling of the same numbers?"""
    if text == setting.format(value):
        return True
    if isinstance(setting, Numbers | Grid):
        separator = r"[;,]"
        given = [read_number(part) for part in re.split(separator, text)]
        mine = [read_number(part) for part in re.split(separator, setting.format(value))]
        return given == mine
    number = read_number(text)
    return number is not None and not isinstance(value, str | bool) and number == value


def read_number(text: str) -> float | None:
    """The finite decimal number that `text` spells (a decimal comma is read too), else None."""
    text = text.strip()
    if len(text) > 40 or not re.fullmatch(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d{1,3})?", text, re.ASCII):
        return None
    number = float(text.replace(",", "."))
    return number if math.isfinite(number) else None


def _clip(text: str) -> str:
    """`text` on one line of printable characters, at most CLIP of them."""
    text = "".join(c if c.isprintable() else " " for c in text[: 4 * CLIP])
    return text if len(text) <= CLIP else text[: CLIP - 1] + "…"


@cache
def _grid(start: int, stop: int, per: int) -> tuple[float, ...]:
    return tuple(i / per for i in range(start, stop + 1))
