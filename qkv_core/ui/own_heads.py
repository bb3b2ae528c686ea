"""The heads of a viewer's own q and k: every head of a sequence in small, one in large, and their figures.

Computed anew for this viewer and never cached.
"""

from __future__ import annotations

import pandas as pd
import streamlit as st
from torch import Tensor

from qkv_core.attention import attention_trace, divisor
from qkv_core.bring import Brought
from qkv_core.charts import heads as charts
from qkv_core.masks import build_mask
from qkv_core.measures import effective_keys, peak
from qkv_core.text import number
from qkv_core.text import own as words
from qkv_core.ui import own, show, state
from qkv_core.ui.controls import say

THUMB = 165
LARGE = 620
SHOWN = 16
"""Heads in small; the slider reaches the others."""


def weights(brought: Brought, b: int, tau: float, scale: str, mask: str, padding: int, radius: int, prefix: int) -> tuple[Tensor, Tensor]:
    """The weights of every head of sequence b, (h, T_q, T_k), in float64, and which cells the mask hides. A mask needs as
    many queries as keys; without them none is used."""
    q, k, v = (x[b].double() for x in (brought.q, brought.k, brought.v))
    T = q.shape[1]
    allowed = build_mask(mask, T, min(padding, T), radius, min(prefix, T)) if brought.square else None
    trace = attention_trace(q, k, v, allowed, tau, divisor(scale, q.shape[2], len(q) * q.shape[2]))
    return trace.weights, trace.masked[0] == -float("inf")


def figures(found: Tensor, lang: str) -> list[list[str]]:
    """A row a head: its mean largest weight, effective keys, and the mean distance of what is read."""
    T_q, T_k = found.shape[1:]
    columns = (peak(found).mean(-1), effective_keys(found).mean(-1), distance(found))
    return [[str(h + 1), *(number(column[h].item(), ".3f", lang) for column in columns)] for h in range(len(found))]


def distance(found: Tensor) -> Tensor:
    """The mean of |i - j| by weight, for each head."""
    i, j = (found.new_tensor(range(n)) for n in found.shape[1:])
    return (found * (i[:, None] - j).abs()).sum(-1).mean(-1)


def large(found: Tensor, hidden: Tensor, lang: str) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The frame of charts.overview for one head, and its labels."""
    labels = tuple(str(t + 1) for t in range(len(found)))
    tops, at = found.max(-1)
    empty = hidden.all(-1).tolist()
    return pd.DataFrame(
        {
            "row": range(len(labels)),
            "url": [charts.image(found.tolist(), hidden.tolist(), show.look(), "weights", 1.0), *[""] * (len(labels) - 1)],
            "row_label": labels,
            "top_label": ["–" if none else labels[j] for none, j in zip(empty, at.tolist())],
            "top_text": ["–" if none else number(top, ".6f", lang) for none, top in zip(empty, tops.tolist())],
            "mark": 0,
            "turn": 0,
        }
    ), labels


@state.fragment
def section() -> None:
    """The box at the end of the heads page."""
    opened = own.section(words.HEADS, words.HEADS_LEAD, key="h_own")
    if opened is None or opened[0] is None:
        return
    brought, place = opened
    shared, lang = state.shared(), state.get("lang")
    with place:
        with st.container(horizontal=True, gap="medium"):
            b, h = own.choose(brought.q.shape[:2], "h_ob", "h_oh")
        sizes = (state.get(key) for key in ("h_pad", "h_win", "h_pre"))
        found, hidden = weights(brought, b, shared.tau, shared.scale, shared.mask, *sizes)
        H, T_q, T_k = found.shape
        if not brought.square and shared.mask != "none":
            st.markdown(say(words.HEADS_NO_MASK, T_q=T_q, T_k=T_k))
        with st.container(horizontal=True, gap="medium"):
            for n in range(min(H, SHOWN)):
                with st.container(width=THUMB, gap="xxsmall"):
                    name = say(words.HEADS_ONE, h=n + 1)
                    st.button(name, key=f"h_own_{n}", on_click=state.put, kwargs={"h_oh": n + 1}, width="stretch", disabled=n == h)
                    png = charts.png(found[n].tolist(), hidden.tolist(), show.look(), "weights", 1.0, 2 * THUMB)
                    st.image(png, alt=says(found[n], n, lang), width=THUMB)
        left, right = st.columns((15, 11), gap="large")
        with left:
            st.markdown(says(found[h], h, lang))
            if brought.square:
                frame, labels = large(found[h], hidden, lang)
                titles = {key: say(msg) for key, msg in words.HEADS_TITLES.items()}
                cell = max(LARGE // T_q, 9)
                with st.container(width=cell * T_q + 70):
                    show.chart(
                        charts.overview, frame, key="h_own_large", says=says(found[h], h, lang), caption=False, labels=labels,
                        cell=cell, pick=False, **titles,
                    )  # fmt: skip
        with right:
            show.small_table([say(name) for name in words.HEADS_COLUMNS], figures(found, lang), numbers=(1, 2, 3))
            open_rows = ~hidden.all(-1)
            off = (found.sum(-1)[:, open_rows] - 1).abs().max().item() if open_rows.any() else 0.0
            show.checks((say(words.HEADS_CHECK), off, 1e-9))


def says(found: Tensor, h: int, lang: str) -> str:
    """The largest weight of a head in a sentence."""
    i, j = divmod(int(found.argmax()), found.shape[1])
    return words.HEADS_SAYS(lang, h=h + 1, T_q=found.shape[0], T_k=found.shape[1], weight=found.max().item(), i=i + 1, j=j + 1)
