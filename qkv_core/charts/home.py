"""The pictures of the first page: one query reading three keys, and the matrix behind a symbol of the formula."""

from __future__ import annotations

import altair as alt
import pandas as pd

from qkv_core.charts import base
from qkv_core.charts.base import Look

SIZE = 17
LARGE = 19
LEFT, SCORE, SCALED, RIGHT = -1.28, -0.98, -0.45, 1.24
"""Where the words stand on an axis whose bars run from 0 to 1."""


def reading(
    frame: pd.DataFrame, look: Look, *, tokens: tuple[str, ...], score: str, scaled: str, weight: str, key_title: str, hidden: str
) -> alt.LayerChart:
    """The formula row by row for one query: each key's score, the scaled score, and its weight as a bar.

    Args:
        frame: one row a key: col (position), raw, scaled, weight, raw_text, scaled_text, weight_text, allowed (bool),
            and for the tooltip key_label.
        tokens: the keys' words, by position; score, scaled, weight, key_title: headings; hidden: said of a masked key.
    """
    p = look.palette
    y = alt.Y(
        "col:O",
        title=None,
        scale=alt.Scale(domain=list(range(len(tokens))), paddingInner=0.3, paddingOuter=0.15),
        axis=alt.Axis(
            labelExpr=base.labels_by_position(tokens),
            labelColor=p.k,
            labelFontSize=LARGE,
            labelFontWeight=600,
            ticks=False,
            domain=False,
            grid=False,
            labelPadding=10,
        ),
    )
    scale = alt.Scale(domain=[LEFT, RIGHT], nice=False, zero=False)
    x = alt.X("weight:Q", title=None, scale=scale, axis=None)
    tips = [
        alt.Tooltip("key_label:N", title=key_title),
        alt.Tooltip("raw_text:N", title=score),
        alt.Tooltip("scaled_text:N", title=scaled),
        alt.Tooltip("weight_text:N", title=weight),
    ]
    rows = alt.Chart(frame).encode(y=y)

    def words(field: str, at: float, colour: str) -> alt.Chart:
        return rows.mark_text(align="right", fontSize=SIZE).encode(
            x=alt.datum(at + 0.17, scale=scale), text=f"{field}:N", color=alt.value(colour)
        )

    def heading(title: str, at: float, colour: str, align: str) -> alt.Chart:
        first = alt.Chart(frame).transform_filter("datum.col == 0")
        return first.mark_text(align=align, fontSize=SIZE, baseline="bottom").encode(
            x=alt.datum(at, scale=scale), y=alt.value(-8), text=alt.value(title), color=alt.value(colour)
        )

    seen, unseen = "datum.allowed", "!datum.allowed"
    layers = [
        rows.mark_bar(color=p.grid, cornerRadius=3).encode(x=alt.datum(0, scale=scale), x2=alt.datum(1)),
        rows.mark_bar(color=p.weights, cornerRadius=3).encode(x=x, x2=alt.datum(0), tooltip=tips),
        rows.transform_filter(seen)
        .mark_text(align="left", dx=8, fontSize=LARGE, fontWeight=600)
        .encode(x=x, text="weight_text:N", color=alt.value(p.text)),
        rows.transform_filter(unseen)
        .mark_text(align="left", dx=8, fontSize=SIZE, fontStyle="italic")
        .encode(x=x, text=alt.value(hidden), color=alt.value(p.text)),
        words("raw_text", SCORE, p.scores),
        words("scaled_text", SCALED, p.scores),
        heading(score, SCORE + 0.17, p.scores, "right"),
        heading(scaled, SCALED + 0.17, p.scores, "right"),
        heading(weight, 0.0, p.weights, "left"),
    ]
    return alt.layer(*layers).properties(height=190)


def matrix(frame: pd.DataFrame, look: Look, **labels: object) -> alt.LayerChart:
    """The matrix behind one symbol of the formula, small enough to stand under it."""
    return base.matrix(frame, look, **labels)
