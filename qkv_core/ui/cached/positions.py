"""What the positions page shows, computed once for all viewers of the same settings. Small records and frames."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from dataclasses import dataclass

import pandas as pd
import streamlit as st
import torch

from qkv_core import positions as core
from qkv_core.charts import positions as charts
from qkv_core.charts.palette import DARK, LIGHT
from qkv_core.masks import causal_mask
from qkv_core.text import number
from qkv_core.triad import cat_sat

LEVELS = 64
"""Shades of the pattern's picture."""
PIXELS = (768, 512)
"""The least width and height of that picture: each cell becomes as many pixels as it takes, so that its edges are sharp."""
CLOCKS = 12
SHOWN = 8
"""Rows and columns of R_k that are drawn: four blocks."""
TOLERANCE = 1e-5
CODE = (
    core.sinusoidal_encoding, core.rotation, core.rotation_check, core.dot_by_offset, core.nearest_position,
    core.shuffle_check, core.rope,
)  # fmt: skip


# --- the pattern --------------------------------------------------------------------------------------------------


@st.cache_data(show_spinner=False, max_entries=64)
def picture(n: int, d: int, dark: bool) -> str:
    """The whole encoding as a PNG in a data address, a cell an exact number of pixels."""
    shades = ((core.sinusoidal_encoding(n, d) + 1) / 2 * (LEVELS - 1)).round().to(torch.uint8)
    wide, tall = (max(1, math.ceil(least / size)) for least, size in zip(PIXELS, (d, n), strict=True))
    return "data:image/png;base64," + base64.b64encode(png(shades, wide, tall, dark)).decode()


def png(shades: torch.Tensor, wide: int, tall: int, dark: bool) -> bytes:
    """A PNG of shades (rows, columns), uint8 below LEVELS, each drawn `wide` x `tall` pixels in the theme's colours."""
    rows = shades.repeat_interleave(wide, 1)
    lines = torch.cat((torch.zeros(len(rows), 1, dtype=torch.uint8), rows), 1).repeat_interleave(tall, 0)
    height, width = len(lines), rows.shape[1]
    colours = charts.colours(DARK if dark else LIGHT, LEVELS)

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)  # 8 bits a pixel, colours from a palette
    body = zlib.compress(lines.numpy().tobytes(), 6)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"PLTE", colours) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def marks(n: int, d: int, pos: int, k: int, dark: bool) -> pd.DataFrame:
    """The picture, and the rows of the chosen position and of the one k later where it is on the picture."""
    edge = {"x": -0.5, "x2": d - 0.5, "url": "", "text": "", "value": 0.0}
    rows = [{**edge, "kind": "image", "y": -0.5, "y2": n - 0.5, "url": picture(n, d, dark)}]
    places = (("here", pos), ("there", pos + k))
    rows += [{**edge, "kind": kind, "y": float(y), "y2": float(y), "text": str(y)} for kind, y in places if y < n]
    return pd.DataFrame(rows)


@st.cache_resource(show_spinner=False, max_entries=256)
def two_rows(d: int, pos: int, k: int) -> pd.DataFrame:
    """DataFrame[dim, pair, wavelength, here, there]: the encodings of pos and of pos + k, a row a dimension."""
    encoding = core.sinusoidal_encoding(pos + k + 1, d)
    dims = torch.arange(d)
    return pd.DataFrame(
        {
            "dim": dims.numpy(), "pair": (dims // 2).numpy(), "wavelength": core.wavelengths(d)[dims // 2].numpy(),
            "here": encoding[pos].numpy(), "there": encoding[pos + k].numpy(),
        }
    )  # fmt: skip


def whole_csv(n: int, d: int) -> bytes:
    """The whole encoding, a row a position and a column a dimension."""
    frame = pd.DataFrame(core.sinusoidal_encoding(n, d).numpy(), columns=[f"dim_{i}" for i in range(d)])
    return frame.to_csv(index_label="pos").encode()


def by_hand(d: int, pos: int) -> float:
    """Largest difference of the row of `pos` to the paper's formula, entry by entry in Python's own arithmetic."""
    row = core.sinusoidal_encoding(pos + 1, d)[pos].tolist()
    wave = (math.sin, math.cos)
    return max(abs(value - wave[j % 2](pos / 10_000 ** ((j - j % 2) / d))) for j, value in enumerate(row))


# --- clocks and waves ---------------------------------------------------------------------------------------------


def clock_pairs(d: int) -> tuple[int, ...]:
    """The pairs that are drawn as clocks: all of them, or CLOCKS spread evenly from the fastest to the slowest."""
    m = d // 2
    count = min(CLOCKS, m)
    return tuple(round(i * (m - 1) / max(count - 1, 1)) for i in range(count))


@st.cache_resource(show_spinner=False, max_entries=256)
def clocks(d: int, pos: int, k: int, lang: str) -> pd.DataFrame:
    """The hands of both positions, the later one behind, so that the chosen one is on top."""
    pairs = list(clock_pairs(d))
    rows = []
    for order, (hand, place) in enumerate((("there", pos + k), ("here", pos))):
        drawn = core.clock_hands(place, d).iloc[pairs]
        for c, line in enumerate(drawn.itertuples()):
            turns = f"{number(line.degrees, '.1f', lang)}° ({number(line.turns, ',.2f', lang)})"
            rows.append(
                {
                    "clock": c, "hand": hand, "order": order, "degrees": line.degrees, "col": c % charts.ACROSS,
                    "row": c // charts.ACROSS, "pair": line.pair, "under": f"i = {line.pair}",
                    "below": f"λ = {short(line.wavelength, lang)}", "text": turns, "turns": line.turns, "x": line.x,
                    "y": line.y, "wavelength": line.wavelength,
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


def short(wavelength: float, lang: str) -> str:
    """A wavelength with about three digits."""
    digits = 2 if wavelength < 10 else 1 if wavelength < 100 else 0
    return number(wavelength, f",.{digits}f", lang)


@st.cache_resource(show_spinner=False, max_entries=256)
def waves(n: int, d: int, pairs: tuple[int, ...], pos: int, k: int, lang: str, name: str) -> pd.DataFrame:
    """The marks of the waves. name: how a row is called, with {pair}, {sin}, {cos} and {wavelength}."""
    lines = _lines(n, d, pairs)
    parts = [lines]
    for kind, place in (("here", pos), ("there", pos + k)):
        at = lines[lines["pos"] == place]
        parts.append(at.assign(kind=kind, text=[number(value, ".4f", lang) for value in at["value"]]))
    lambdas = core.wavelengths(d).tolist()
    names = [
        {
            "kind": "name", "wave": "sin", "dim": -1, "pos": 0, "height": -r + 0.53,
            "text": name.format(pair=pair, sin=2 * pair, cos=2 * pair + 1, wavelength=short(lambdas[pair], lang)),
        }
        for r, pair in enumerate(pairs)
    ]  # fmt: skip
    return pd.concat([*parts, pd.DataFrame(names)], ignore_index=True).drop(columns="value")


@st.cache_resource(show_spinner=False, max_entries=128)
def _lines(n: int, d: int, pairs: tuple[int, ...]) -> pd.DataFrame:
    """The waves themselves, each pair on a row of its own."""
    frame = core.waves(n, d, [dim for pair in pairs for dim in (2 * pair, 2 * pair + 1)])
    row = frame["pair"].map({pair: -r for r, pair in enumerate(pairs)})
    columns = {name: frame[name] for name in ("dim", "pos", "value")}
    return pd.DataFrame({"kind": "wave", "wave": frame["kind"], "text": "", "height": row + SWING * frame["value"], **columns})


SWING = 0.3
"""How high a wave of 1 rises on its row of height 1."""


@st.cache_resource(show_spinner=False, max_entries=128)
def wave_table(n: int, d: int, pairs: tuple[int, ...]) -> pd.DataFrame:
    """DataFrame[pos, dim_0, dim_1, ...] of the chosen dimensions."""
    encoding = core.sinusoidal_encoding(n, d)
    dims = [dim for pair in pairs for dim in (2 * pair, 2 * pair + 1)]
    return pd.DataFrame({"pos": range(n), **{f"dim_{dim}": encoding[:, dim].numpy() for dim in dims}})


def ends(d: int) -> tuple[float, float]:
    """The shortest and the longest wavelength."""
    lambdas = core.wavelengths(d)
    return lambdas[0].item(), lambdas[-1].item()


def wavelength(d: int, pair: int, lang: str) -> str:
    """The wavelength of a pair, as it is written."""
    return short(core.wavelengths(d)[pair].item(), lang)


def turns(n: int, d: int, pair: int) -> float:
    """How many of its waves fit on n positions."""
    return n / core.wavelengths(d)[pair].item()


# --- the rotation -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Turn:
    """R_k on n positions (all) and on 1,000 random pairs (drawn); block: the first rows of R_k.

    rows: (dim, PE[pos], PE[pos] R_k^T, PE[pos + k], difference) of the first dimensions.
    """

    every: core.RotationCheck
    drawn: core.RotationCheck
    block: tuple[tuple[float, ...], ...]
    rows: tuple[tuple[int, float, float, float, float], ...]


@st.cache_resource(show_spinner=False, max_entries=256)
def turn(n: int, d: int, pos: int, k: int, seed: int) -> Turn:
    encoding = core.sinusoidal_encoding(pos + k + 1, d)
    R = core.rotation(k, d)
    moved = encoding[pos] @ R.T
    shown = min(SHOWN, d)
    columns = (encoding[pos], moved, encoding[pos + k], (moved - encoding[pos + k]).abs())
    return Turn(
        core.rotation_check(n, d, k),
        _drawn(d, seed),
        tuple(map(tuple, R[:shown, :shown].tolist())),
        tuple((j, *(column[j].item() for column in columns)) for j in range(shown)),
    )


@st.cache_resource(show_spinner=False, max_entries=256)
def _drawn(d: int, seed: int) -> core.RotationCheck:
    return core.random_rotation_check(d, seed=seed)


# --- dot products -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Dots:
    """The dot products by offset, and the proof that they depend on nothing else."""

    frame: pd.DataFrame
    check: core.OffsetCheck


@st.cache_resource(show_spinner=False, max_entries=128)
def dots(n: int, d: int) -> Dots:
    frame = core.dot_by_offset(n, d)
    return Dots(frame, core.offset_check(frame))


@st.cache_resource(show_spinner=False, max_entries=256)
def dot_marks(n: int, d: int, k: int) -> pd.DataFrame:
    frame = dots(n, d).frame
    return frame[["offset", "low", "high", "mean", "theory"]].assign(chosen=frame["offset"] == k)


@st.cache_data(show_spinner=False, max_entries=256)
def examples(n: int, d: int, k: int) -> tuple[tuple[int, int, float], ...]:
    """(a, b, PE[a] . PE[b]) for pairs k apart: at the beginning, in the middle, at the end."""
    encoding = core.sinusoidal_encoding(n, d).double()
    starts = sorted({0, (n - k) // 2, n - 1 - k})
    return tuple((a, a + k, (encoding[a] @ encoding[a + k]).item()) for a in starts)


@dataclass(frozen=True)
class Question:
    """Which of two offsets has the larger dot product. answer: 0 the first, 1 the second, 2 neither."""

    first: int
    second: int
    dots: tuple[float, float]
    answer: int


def question(n: int, d: int, k: int) -> Question:
    other = 2 * k if 2 * k < n else max(1, k // 2)
    near, far = sorted((k, other))
    a, b = (float(dots(n, d).frame["mean"][offset]) for offset in (near, far))
    return Question(near, far, (a, b), 2 if abs(a - b) <= TOLERANCE else 0 if a > b else 1)


@dataclass(frozen=True, eq=False)
class Nearest:
    """The nearest-position test. tries: how many queries; far: how far the farthest runner-up stands from what was looked for."""

    test: core.NearestPosition
    tries: int
    far: int


@st.cache_resource(show_spinner=False, max_entries=256)
def nearest(n: int, d: int, k: int, noise: float, seed: int) -> Nearest:
    test = core.nearest_position(n, d, k, noise, seed)
    far = (test.frame["runner_up"] - test.frame["wanted"]).abs().max()
    return Nearest(test, len(test.frame), int(far))


def nearest_marks(run: Nearest) -> pd.DataFrame:
    frame = run.test.frame
    return frame[["wanted", "found"]].assign(verdict=["right" if e == 0 else "wrong" for e in frame["error"]])


# --- the shuffle --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Shuffled:
    """"The cat sat" in another order. tokens, after: its words before and after; limit: the end of the outputs' colours."""

    tokens: tuple[str, ...]
    after: tuple[str, ...]
    without: core.ShuffleCheck
    added: core.ShuffleCheck
    causal: core.ShuffleCheck
    limit: float


@st.cache_resource(show_spinner=False, max_entries=16)
def shuffled(order: str) -> Shuffled:
    lesson = cat_sat()
    permutation = tuple(map(int, order))
    without, added = (core.shuffle_check(lesson, permutation, positions) for positions in (False, True))
    causal = core.shuffle_check(lesson, permutation, False, causal_mask(len(permutation)))
    limit = max(t.output.abs().max().item() for c in (without, added) for t in (c.before, c.after))
    after = tuple(lesson.tokens[i] for i in permutation)
    return Shuffled(lesson.tokens, after, without, added, causal, limit)


def asked_token(run: Shuffled) -> tuple[int, bool]:
    """A token that stays in its place, where there is one, else the middle one; and whether it stays."""
    stays = [i for i, token in enumerate(run.without.permutation) if i == token]
    return (stays[0], True) if stays else (len(run.tokens) // 2, False)


def moved(check: core.ShuffleCheck, token: int) -> float:
    """How far the output of a token is from its own before the shuffle."""
    row = check.permutation.index(token)
    return (check.after.output[row] - check.before.output[token]).abs().max().item()


def joined(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Frames one under another."""
    return pd.concat(frames, ignore_index=True)


def tensors(n: int, d: int, k: int, run: Shuffled) -> dict[str, torch.Tensor]:
    """The tensors of the page, by name."""
    both = {"": run.without, "_positions": run.added}
    outputs = {
        f"output{name}{when}": trace.output
        for name, check in both.items()
        for when, trace in (("", check.before), ("_shuffled", check.after))
    }
    return {"PE": core.sinusoidal_encoding(n, d), "R_k": core.rotation(k, d), "wavelengths": core.wavelengths(d), **outputs}


# --- RoPE ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Rope:
    """Scores by offset under three arms. gap: the widest band of each arm."""

    frame: pd.DataFrame
    check: core.RopeCheck
    gap: dict[str, float]


@st.cache_resource(show_spinner=False, max_entries=128)
def rope(n: int, d: int, seed: int) -> Rope:
    frame = core.rope_scores(n, d, seed)
    gap = (frame["high"] - frame["low"]).groupby(frame["arm"]).max()
    return Rope(frame, core.rope_check(d, seed=seed), {arm: float(gap[arm]) for arm in charts.ARMS})
