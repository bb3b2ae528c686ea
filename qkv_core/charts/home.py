"""The pictures of the first page: one query reading three keys, and the matrix behind a symbol of the formula."""

from __future__ import annotations

import altair as alt
import pandas as pd

from qkv_core.charts import base
from qkv_core.charts.base import Look

SIZE = 17
LARGE = 19
LEFT, SCORE, SCALED, RIGHT = -1.1, -0.75, -0.15, 1.02
"""Where the words stand on an axis whose bars run from 0 to 1."""
CELL, HEAD, SIDE = (68, 38), 36, 48
"""A cell of the small matrix, and the room for its labels above and beside, in pixels."""


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
            labelFlush=False,
            ticks=False,
            domain=False,
            grid=False,
            labelPadding=10,
        ),
    )
    scale = alt.Scale(domain=[LEFT, RIGHT], nice=False, zero=False)

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", title=None, scale=scale, axis=None)

    tips = [
        alt.Tooltip("key_label:N", title=key_title),
        alt.Tooltip("raw_text:N", title=score),
        alt.Tooltip("scaled_text:N", title=scaled),
        alt.Tooltip("weight_text:N", title=weight),
    ]
    rows = alt.Chart(frame).encode(y=y)

    def words(field: str, at: float, colour: str) -> alt.Chart:
        marks = rows.transform_calculate(at=str(at)).mark_text(align="right", fontSize=SIZE)
        return marks.encode(x=x("at"), text=alt.Text(f"{field}:N"), color=alt.ColorValue(colour))

    def heading(title: str, at: float, colour: str, align: str) -> alt.Chart:
        once = alt.Chart(frame).transform_filter("datum.col == 0").transform_calculate(at=str(at))
        marks = once.mark_text(align=align, fontSize=SIZE, baseline="bottom")
        return marks.encode(x=x("at"), y=alt.value(-8), text=alt.TextValue(title), color=alt.ColorValue(colour))

    room = rows.transform_calculate(zero="0", one="1")
    seen, unseen = "datum.allowed", "!datum.allowed"
    layers = [
        room.mark_bar(color=p.grid, cornerRadius=3).encode(x=x("zero"), x2=alt.X2("one:Q"), tooltip=tips),
        room.mark_bar(color=p.weights, cornerRadius=3).encode(x=x("zero"), x2=alt.X2("weight:Q"), tooltip=tips),
        rows.transform_filter(f"{seen} && datum.weight < 0.5")
        .mark_text(align="left", dx=8, fontSize=LARGE, fontWeight=600)
        .encode(x=x("weight"), text=alt.Text("weight_text:N"), color=alt.ColorValue(p.text)),
        rows.transform_filter(f"{seen} && datum.weight >= 0.5")
        .mark_text(align="right", dx=-8, fontSize=LARGE, fontWeight=600)
        .encode(x=x("weight"), text=alt.Text("weight_text:N"), color=alt.ColorValue(p.background)),
        rows.transform_filter(unseen)
        .mark_text(align="left", dx=8, fontSize=SIZE, fontStyle="italic")
        .encode(x=x("weight"), text=alt.TextValue(hidden), color=alt.ColorValue(p.text)),
        words("raw_text", SCORE, p.scores),
        words("scaled_text", SCALED, p.scores),
        heading(score, SCORE, p.scores, "right"),
        heading(scaled, SCALED, p.scores, "right"),
        heading(weight, 0.0, p.weights, "left"),
    ]
    return alt.layer(*layers).properties(height=190)


def matrix(frame: pd.DataFrame, look: Look, **labels: object) -> alt.LayerChart:
    """The matrix behind one symbol of the formula, small enough to stand under it."""
    rows, columns = len(labels["row_labels"]), len(labels["col_labels"])
    chart = base.matrix(frame, look, **labels)
    return chart.properties(height=CELL[1] * rows + HEAD, width=CELL[0] * columns + SIDE)  # both hold the axes too
