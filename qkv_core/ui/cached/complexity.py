"""What the complexity page shows, computed once for all viewers of the same settings; a viewer's own timing is not here."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from qkv_core import complexity as core

SHOWN = 32
"""Most tokens in the pictures of stacks."""
STACKS = ("convolutional", "dilated", "restricted")
DEPTH_OF_NEVER = 3
"""Layers drawn of a stack that never reads further."""
COUNTED_N, COUNTED_D = 128, core.MAX_FLOP_D
"""Largest layers that are counted; a recurrent one is counted step by step, and the page has to stay quick."""
ENTRIES = 1 << 21
"""Most weights that are measured for a picture: 8 MB."""
FIRST_T, LONG = 64, 131_072
"""The ends of the axis of tokens in the picture of memory."""
GROWN = 4
FACTORS = (2, 4, 16, 64)
"""How many times as long the sequence of the question is, and what may come of it."""
CODE = (core.table_1, core.path_length, core.measured_path, core.flops, core.measure, core.fit_power, core.memory_of_weights)


@st.cache_data(show_spinner=False, max_entries=512)
def table(n: int, d: int, k: int, r: int) -> pd.DataFrame:
    return core.table_1(n, d, k, r)


@dataclass(frozen=True, eq=False)
class Curve:
    """The marks of the curves and the ends of their axes. frame: kind (line, now, cross), n, layer, operations, name, label."""

    frame: pd.DataFrame
    end: int
    low: int
    high: int


@st.cache_resource(show_spinner=False, max_entries=512)
def curve(n: int, d: int, k: int, r: int, names: tuple[tuple[str, str], ...], label: str) -> Curve:
    """names: (code, name) of the layers, in the order of the legend; label: of the crossing."""
    lines = core.crossover_curve(n, d, k, r).assign(kind="line", label="")
    cross = pd.DataFrame({"n": [d], "layer": ["self_attention"], "operations": [d**3], "kind": ["cross"], "label": [label]})
    frame = pd.concat([lines, lines[lines["n"] == n].assign(kind="now"), cross], ignore_index=True)
    frame["name"] = frame["layer"].map(dict(names))
    low, high = frame["operations"].min(), frame["operations"].max()
    return Curve(frame, int(lines["n"].max()), math.floor(math.log10(low)), max(1, math.ceil(math.log10(high))))


@dataclass(frozen=True, eq=False)
class Stack:
    """Which inputs the last output depends on after 1, 2, ... layers. frame: depth, token (from 1), reached."""

    frame: pd.DataFrame
    n: int
    depth: int
    first: int
    path: float


@st.cache_resource(show_spinner=False, max_entries=512)
def stack(layer: str, n: int, k: int, r: int, seed: int) -> Stack:
    n = min(n, SHOWN)
    path = core.path_length(layer, n, k, r)
    depth = DEPTH_OF_NEVER if math.isinf(path) else int(path)
    reached = core.reach(layer, n, k, r, depth, seed)
    frame = pd.DataFrame(
        {"depth": i + 1, "token": j + 1, "reached": bool(value)} for i, row in enumerate(reached.tolist()) for j, value in enumerate(row)
    )
    return Stack(frame, n, depth, int(reached[0].sum()), path)


@st.cache_data(show_spinner=False, max_entries=512)
def paths_off(n: int, k: int, r: int, seed: int) -> float:
    """The largest difference of a path by formula to the one found by differentiating real stacks of up to SHOWN tokens."""
    n = min(n, SHOWN)
    pairs = [(core.path_length(layer, n, k, r), core.measured_path(layer, n, k, r, seed)) for layer in core.LAYERS]
    return max(0.0 if one == other else abs(float(one) - float(other)) for one, other in pairs)


@dataclass(frozen=True, eq=False)
class Counted:
    """frame: of core.flops at n and d. off: the largest difference. share: of the projections in the multi-head layer."""

    frame: pd.DataFrame
    n: int
    d: int
    off: float
    share: float
    multi_head: int


@st.cache_resource(show_spinner=False, max_entries=256)
def counted(n: int, d: int, k: int, r: int, heads: int) -> Counted:
    n, d = min(n, COUNTED_N), min(d, COUNTED_D)
    frame = core.flops(n, d, k, min(r, n), heads)
    total = int(frame.set_index("layer")["counted"]["multi_head"])
    attention = int(frame.set_index("layer")["counted"]["self_attention"])
    return Counted(frame, n, d, float(frame["difference"].abs().max()), 1 - attention / total, total)


@dataclass(frozen=True, eq=False)
class Memory:
    """Bytes by formula at n tokens and at LONG, and measured at T: the largest up to n (or FIRST_T) that is.

    frame: kind (formula, peak), T, arm (weights, fused), bytes, now; table: a row a T, measured where it was (else nan).
    off: largest difference of the weights' bytes to their formula; fused_off: of the two outputs.
    """

    n: int
    heads: int
    d_k: int
    weights: int
    fused: int
    long: int
    long_weights: int
    long_fused: int
    T: int
    explicit_peak: float
    fused_peak: float
    frame: pd.DataFrame
    table: pd.DataFrame
    off: float
    fused_off: float


@st.cache_resource(show_spinner=False, max_entries=64)
def peaks(heads: int, d_k: int, seed: int) -> tuple[core.WeightsMemory, ...]:
    """Measured at FIRST_T, twice that, and so on, while the weights and outputs are small enough."""
    T, found = FIRST_T, []
    while heads * T * max(T, d_k) <= ENTRIES:
        found.append(core.memory_of_weights(T, heads, d_k, seed))
        T *= 2
    return tuple(found)


@st.cache_resource(show_spinner=False, max_entries=256)
def memory(n: int, heads: int, d_k: int, seed: int) -> Memory:
    found = peaks(heads, d_k, seed)
    curve = core.memory_curve(heads, d_k, LONG)
    by_T = {m.T: m for m in found}
    table = curve.assign(
        explicit_peak=[by_T[T].explicit_peak if T in by_T else math.nan for T in curve["T"]],
        fused_peak=[by_T[T].fused_peak if T in by_T else math.nan for T in curve["T"]],
    )
    marks = [
        {"kind": kind, "T": row.T, "arm": arm, "bytes": float(getattr(row, field))}
        for row in table.itertuples()
        for kind, arm, field in (
            ("formula", "weights", "weights_bytes"), ("formula", "fused", "fused_bytes"),
            ("peak", "weights", "explicit_peak"), ("peak", "fused", "fused_peak"),
        )
        if not math.isnan(getattr(row, field))
    ]  # fmt: skip
    long = curve.iloc[-1]
    last = max((m for m in found if m.T <= max(n, FIRST_T)), key=lambda m: m.T)
    return Memory(
        n, heads, d_k, 4 * heads * n * n, 4 * heads * n * d_k, int(long["T"]), int(long["weights_bytes"]), int(long["fused_bytes"]),
        last.T, last.explicit_peak, last.fused_peak, pd.DataFrame(marks).assign(now=float(n) if n >= FIRST_T else math.nan), table,
        float(max(abs(m.weights_bytes - m.weights_formula) for m in found)), max(m.difference for m in found),
    )  # fmt: skip


@dataclass(frozen=True)
class Question:
    """The operations now and with GROWN times as many tokens. answer: the index of the factor."""

    n: int
    longer: int
    d: int
    ours: int
    ours_then: int
    theirs_then: int
    factor: float
    other: float
    path: float
    answer: int


@st.cache_data(show_spinner=False, max_entries=512)
def question(n: int, d: int, k: int, r: int) -> Question:
    now, then = (core.table_1(m, d, k, r).set_index("layer") for m in (n, GROWN * n))
    a, b = (int(t["operations"]["self_attention"]) for t in (now, then))
    c, e = (int(t["operations"]["recurrent"]) for t in (now, then))
    factor = b / a
    answer = min(range(len(FACTORS)), key=lambda i: abs(math.log(factor / FACTORS[i])))
    return Question(n, GROWN * n, d, a, b, e, factor, e / c, float(then["path"]["recurrent"]), answer)
