"""The pictures of the triad: rows of numbers that add up, and an output between the values it mixes."""

from __future__ import annotations

import altair as alt
import pandas as pd

from qkv_core.charts import base
from qkv_core.charts.base import Look
from qkv_core.charts.palette import mix


def strips(
    frame: pd.DataFrame,
    look: Look,
    *,
    symbols: tuple[str, ...],
    limits: tuple[float, ...],
    row_labels: tuple[str, ...],
    col_labels: tuple[str, ...],
    cell: int,
    col_title: str = "",
) -> alt.LayerChart:
    """Rows of numbers, each in the colour of its own symbol.

    Args:
        frame: as `base.matrix` draws.
        symbols, limits, row_labels: one a row: whose colour it has, where the colour ends, what it is called.
        col_labels: one a column. cell: width of a cell in pixels.
    """
    p = look.palette
    rows, cols = len(row_labels), len(col_labels)
    x = alt.X(
        "col:O",
        title=col_title or None,
        scale=alt.Scale(domain=list(range(cols)), paddingInner=0.03, paddingOuter=0),
        axis=alt.Axis(labelExpr=base.labels_by_position(col_labels), labelAngle=0, orient="top", ticks=False, domain=False),
    )
    y = alt.Y(
        "row:O",
        title=None,
        scale=alt.Scale(domain=list(range(rows)), paddingInner=0.08, paddingOuter=0),
        axis=alt.Axis(labelExpr=base.labels_by_position(row_labels), ticks=False, domain=False, labelLimit=200, labelFlush=False),
    )
    tooltip = [alt.Tooltip("row_label:N", title=" "), alt.Tooltip("col_label:N", title=col_title or "  "), alt.Tooltip("text:N", title="=")]
    whole = alt.Chart(frame).encode(x=x, y=y, tooltip=tooltip)
    layers = []
    for symbol, limit in sorted(set(zip(symbols, limits, strict=True))):
        mine = [r for r, (s, end) in enumerate(zip(symbols, limits, strict=True)) if (s, end) == (symbol, limit)]
        layers.append(
            whole.transform_filter(alt.FieldOneOfPredicate(field="row", oneOf=mine))
            .mark_rect(cornerRadius=3, stroke=mix(p.background, p.text, 0.12))
            .encode(color=alt.Color("value:Q", scale=base.colour_scale(look, symbol, limit, True), legend=None))
        )
    text = whole.mark_text(fontSize=base.number_size(cols), font="Source Sans, sans-serif").encode(
        text=alt.Text("text:N"), color=alt.ColorValue(p.text)
    )
    return (
        alt.layer(*layers, text).resolve_scale(color="independent").properties(width=cell * cols, height=38 * rows)
    )


def hull(
    frame: pd.DataFrame, look: Look, *, channels: int, x_title: str, y_title: str, token_title: str, weight_title: str, labels: bool
) -> alt.LayerChart:
    """Each column of the output: the values it mixes as dots, as large as their weights, and where the mix came to lie.

    Args:
        frame: channel (from 0), kind ("range", "value", "output"), x, x2, token, weight, text, share.
        channels: columns of V. labels: write the token at each dot.
    """
    p = look.palette
    names = tuple(str(c + 1) for c in range(channels))
    y = alt.Y(
        "channel:O",
        title=y_title,
        scale=alt.Scale(domain=list(range(channels)), padding=0.5),
        axis=alt.Axis(labelExpr=base.labels_by_position(names), ticks=False, domain=False, grid=False),
    )
    x = alt.X("x:Q", title=x_title, scale=alt.Scale(zero=False, nice=True, padding=24), axis=alt.Axis(tickCount=6, labelFlush=False))
    tips = [
        alt.Tooltip("token:N", title=token_title),
        alt.Tooltip("text:N", title=x_title),
        alt.Tooltip("share:N", title=weight_title),
    ]
    whole = alt.Chart(frame).encode(y=y)
    ranges = whole.transform_filter("datum.kind == 'range'").mark_rule(strokeWidth=6, opacity=0.35, strokeCap="round").encode(
        x=x, x2=alt.X2("x2:Q"), color=alt.ColorValue(p.v)
    )
    dots = whole.transform_filter("datum.kind == 'value'").mark_circle(opacity=1).encode(
        x=x,
        size=alt.Size("weight:Q", scale=alt.Scale(domain=[0, 1], range=[30, 620]), legend=None),
        color=alt.ColorValue(p.v),
        tooltip=tips,
    )
    output = whole.transform_filter("datum.kind == 'output'").mark_point(
        shape="diamond", size=150, filled=True, stroke=p.background, strokeWidth=2, opacity=1
    ).encode(x=x, color=alt.ColorValue(p.output), tooltip=tips)
    layers = [ranges, dots, output]
    if labels:
        layers.append(
            whole.transform_filter("datum.kind == 'value'")
            .mark_text(dy=-19, fontSize=14, font="Source Sans, sans-serif")
            .encode(x=x, text=alt.Text("token:N"), color=alt.ColorValue(p.v))
        )
    return alt.layer(*layers).properties(height=(56 if labels else 30) * channels + 80)
