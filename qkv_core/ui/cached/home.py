"""The first page's example, computed once for each temperature, mask and scale."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd
import streamlit as st
import torch.nn.functional as F

from qkv_core import device, triad
from qkv_core.attention import attention_trace, divisor, stable_softmax
from qkv_core.charts import base
from qkv_core.masks import build_mask
from qkv_core.measures import effective_keys
from qkv_core.text import frame, number
from qkv_core.text import home as words

Rows = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Example:
    """ "The cat sat" under the settings on screen, as plain numbers; rows are tokens (queries), columns keys.

    divisor: what the scores were divided by, beside tau. best: the key each query reads most from.
    keys_read: exp(entropy) of each row. kernel, row_sum, cells: largest difference to PyTorch's fused kernel, of a row
    sum to 1, and of a weight to its own arithmetic in float64.
    """

    tokens: tuple[str, ...]
    d_model: int
    divisor: float
    q: Rows
    k: Rows
    v: Rows
    raw: Rows
    scaled: Rows
    masked: Rows
    weights: Rows
    output: Rows
    allowed: tuple[tuple[bool, ...], ...]
    best: tuple[int, ...]
    keys_read: tuple[float, ...]
    kernel: float
    row_sum: float
    cells: float


@st.cache_resource(show_spinner=False, max_entries=512)
def example(tau: float, mask: str, scale: str) -> Example:
    """The example and its checks."""
    given = triad.cat_sat()
    T, C = given.X.shape
    q, k, v = triad.project(given.X, given.W_q, given.W_k, given.W_v)
    by = divisor(scale, q.shape[-1], C)
    allowed = build_mask(mask, T)
    trace = attention_trace(q, k, v, allowed, tau, by)
    kernel = F.scaled_dot_product_attention(q, k, v, allowed, scale=1.0 / (by * tau))
    cells = [triad.cell_arithmetic(trace, i, j, by, tau).difference for i in range(T) for j in range(T)]
    steps = {name: _rows(getattr(trace, name)) for name in ("q", "k", "v", "raw", "scaled", "masked", "weights", "output")}
    return Example(
        tokens=given.tokens,
        d_model=C,
        divisor=by,
        **steps,
        allowed=_rows(trace.masked != -math.inf),
        best=tuple(trace.masked.argmax(-1).tolist()),
        keys_read=tuple(effective_keys(trace.weights).tolist()),
        kernel=(trace.output - kernel).abs().max().item(),
        row_sum=(trace.weights.sum(-1) - 1).abs().max().item(),
        cells=max(cells),
    )


@st.cache_data(show_spinner=False, max_entries=512)
def cells(tau: float, mask: str, scale: str, lang: str) -> pd.DataFrame:
    """All nine pairs of a query and a key: the scores, the weight, and each as it is written."""
    e = example(tau, mask, scale)
    return pd.DataFrame(
        [
            {
                "row": i,
                "col": j,
                "query": query,
                "key_label": key,
                "raw": e.raw[i][j],
                "scaled": e.scaled[i][j],
                "weight": e.weights[i][j],
                "allowed": e.allowed[i][j],
                "raw_text": number(e.raw[i][j], ".2f", lang),
                "scaled_text": number(e.scaled[i][j], ".2f", lang),
                "weight_text": number(e.weights[i][j], ".1%", lang),
            }
            for i, query in enumerate(e.tokens)
            for j, key in enumerate(e.tokens)
        ]
    )


STEPS = {"scores": "raw", "scale": "scaled", "mask": "masked", "softmax": "weights"}
"""Which step of the example stands behind a symbol, where the names differ."""


@st.cache_data(show_spinner=False, max_entries=512)
def matrix(symbol: str, row: int, tau: float, mask: str, scale: str, lang: str) -> tuple[pd.DataFrame, float]:
    """The matrix behind a symbol as cells, the row that its sentence speaks of outlined; and the end of its colours."""
    e = example(tau, mask, scale)
    values = getattr(e, STEPS.get(symbol, symbol))
    spec = ".3f" if symbol == "softmax" else ".2f"
    texts = [[number(x, spec, lang) if math.isfinite(x) else "\u2212∞" for x in r] for r in values]
    limit = base.nice_limit(max(abs(x) for r in values for x in r if math.isfinite(x)))
    outlined = told_row(symbol, row, e)
    columns = column_labels(symbol, e)
    return base.cells(values, texts, e.tokens, columns, [(outlined, j) for j in range(len(columns))]), limit


def told_row(symbol: str, row: int, e: Example) -> int:
    """The row that a symbol's sentence speaks of: for K and V, the token that the query reads most from."""
    return e.best[row] if symbol in ("k", "v") else row


def column_labels(symbol: str, e: Example) -> tuple[str, ...]:
    """Keys by their words, other columns by their number."""
    if symbol in STEPS:
        return e.tokens
    return tuple(str(j + 1) for j in range(len(getattr(e, symbol)[0])))


def devices(lang: str) -> pd.DataFrame:
    """Each device, whether it works or why not, and what it calls itself."""
    return pd.DataFrame(
        [
            {
                "device": frame.OPTIONS["device"][d.name](lang),
                "state": f"{words.REASONS[d.reason](lang)} {d.detail if d.usable else ''}".strip(),
            }
            for d in device.available()
        ]
    )


CODE = (attention_trace, stable_softmax, triad.project)
"""The functions that computed the example."""


def _rows(x) -> tuple:
    return tuple(tuple(r) for r in x.tolist())
