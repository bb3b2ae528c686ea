"""The pictures of the saturation page: one row's weights, the curves, the divisors, and the Jacobian.

The arms keep their marks everywhere: not divided is dashed with squares, divided by sqrt(d_k) is solid with circles, and
another divisor is dotted with diamonds.
"""

from __future__ import annotations

import json
from typing import Any

import altair as alt
import pandas as pd

from qkv_core.charts import base
from qkv_core.charts.base import LABEL_SIZE, Look
from qkv_core.charts.palette import Palette

Arms = tuple[tuple[str, str], ...]
"""(code, name) of each arm, in the order of the legend."""

FIT = alt.AutoSizeParams(type="fit-x", contains="padding")
"""Fills the width; the height is that of the marks, and axis and legend come on top of it."""

DASH = {"unscaled": [7, 4], "scaled": [1, 0], "other": [2, 3]}
MARK = {"unscaled": "square", "scaled": "circle", "other": "diamond"}
STD = (0.005, 500.0)
"""The ends of the axis of the scores' standard deviation; every setting lies between them."""
NORM = 0.5
"""The Jacobian norm of a softmax is never above this: two keys that share the weight."""
ENTRY = 0.25
"""No entry a (1 - a) of the Jacobian is above this."""


def colour(p: Palette, arm: str) -> str:
    return p.theory if arm == "other" else p.symbol(arm)


def _channels(arms: Arms, look: Look, marks: bool = True) -> dict[str, Any]:
    """Colour, mark and dash of the arms, with one legend: of marks, or of lines where there are no marks."""
    codes = [code for code, _ in arms]
    legend = alt.Legend(
        labelExpr=f"{json.dumps(dict(arms))}[datum.value]", symbolSize=140 if marks else 500, symbolOpacity=1, columnPadding=18,
        **({"symbolStrokeWidth": 0} if marks else {"symbolType": "stroke"}),
    )  # fmt: skip

    def scale(values: list[Any]) -> alt.Scale:
        return alt.Scale(domain=codes, range=values)

    return {
        "color": alt.Color("arm:N", scale=scale([colour(look.palette, c) for c in codes]), legend=legend),
        "shape": alt.Shape("arm:N", scale=scale([MARK[c] for c in codes]), legend=legend),
        "strokeDash": alt.StrokeDash("arm:N", scale=scale([DASH[c] for c in codes]), legend=legend),
    }


def _written(marks: alt.Chart, ground: str, ink: Any, **font: Any) -> list[alt.Chart]:
    """Words on a ground of the page's own colour, so that a line behind them does not cross them."""
    font = {"fontSize": LABEL_SIZE + 1, "baseline": "middle", **font}
    return [
        marks.mark_text(stroke=ground, strokeWidth=6, strokeJoin="round", **font).encode(color=alt.ColorValue(ground)),
        marks.mark_text(**font).encode(color=alt.ColorValue(ink) if isinstance(ink, str) else ink),
    ]


def weights(
    frame: pd.DataFrame, look: Look, *, keys: int, arms: Arms, x_title: str, y_title: str, pixels: int = 250
) -> alt.LayerChart:
    """The weights of one row as stems, a stem an arm at each key, and the name of each arm's peak beside it.

    Args:
        frame: key (from 0), arm, weight; text, name (for the tooltip), label ("" away from the peak), label_y, left
            (bool: the label stands left of the stem).
    """
    channels = _channels(arms, look)
    codes = [code for code, _ in arms]
    x = alt.X(
        "key:O",
        title=x_title,
        scale=alt.Scale(domain=list(range(keys)), paddingInner=0.45, paddingOuter=0.3),
        axis=alt.Axis(labelExpr="datum.value + 1", labelAngle=0, grid=False, ticks=False, labelPadding=6),
    )
    offset = alt.XOffset("arm:N", scale=alt.Scale(domain=codes))
    y = alt.Y(
        "weight:Q", title=y_title, scale=alt.Scale(domain=[0, 1], nice=False), axis=alt.Axis(tickCount=5, format=".1f")
    )
    tooltip = [
        alt.Tooltip("name:N", title=" "),
        alt.Tooltip("place:N", title=x_title),
        alt.Tooltip("text:N", title=y_title),
    ]
    all_marks = alt.Chart(frame).transform_calculate(place="datum.key + 1")
    stems = all_marks.mark_rule(strokeWidth=3).encode(
        x=x, xOffset=offset, y=y, y2=alt.datum(0), color=channels["color"], strokeDash=channels["strokeDash"]
    )
    size = alt.ExprRef(f"max(20, min(110, 3 * width / {keys}))")
    heads = all_marks.mark_point(filled=True, size=size, opacity=1).encode(
        x=x, xOffset=offset, y=y, color=channels["color"], shape=channels["shape"], tooltip=tooltip
    )
    layers = []
    for left in (False, True):
        side = {"align": "right", "dx": -12} if left else {"align": "left", "dx": 12}
        named = all_marks.transform_filter(f"datum.label && {'' if left else '!'}datum.left").encode(
            x=x, xOffset=offset, y=alt.Y("label_y:Q", title=y_title), text=alt.Text("label:N")
        )
        layers += _written(named, look.palette.background, channels["color"], fontWeight=700, **side)
    return alt.layer(*layers, stems, heads).properties(height=pixels, autosize=FIT)


def curve(
    frame: pd.DataFrame,
    look: Look,
    *,
    arms: Arms,
    title: str,
    x_title: str,
    ticks: tuple[float, ...],
    ends: tuple[float, float],
    top: float,
    marked: tuple[float, float] | None = None,
    marks: bool = True,
    pixels: int = 190,
) -> alt.LayerChart:
    """One measure of both arms against d_k or tau on a logarithmic axis, with the intervals of the means.

    Args:
        frame: x, arm, value, low, high, now (where the rule stands, the same in every row).
        top: the end of the axis, from 0; marked: a range of x that is shaded; marks: whether each point has its mark.
    """
    p, channels = look.palette, _channels(arms, look, marks)
    x = alt.X(
        "x:Q",
        title=x_title,
        scale=alt.Scale(type="log", domain=list(ends), nice=False),
        axis=alt.Axis(values=list(ticks), format=",~r", grid=False, labelFlush=False, labelOverlap=False),
    )
    y = alt.Y("value:Q", title=None, scale=alt.Scale(domain=[0, top], nice=False), axis=alt.Axis(tickCount=5))
    rows = alt.Chart(frame)
    layers = []
    if marked:
        shade = rows.transform_aggregate(n="count()").transform_calculate(a=str(marked[0]), b=str(marked[1]))
        layers.append(
            shade.mark_rect(color=p.panel).encode(x=alt.X("a:Q", title=x_title), x2=alt.X2(field="b"))
        )
    tooltip = [
        alt.Tooltip("x:Q", title=x_title, format=",.3~f"),
        alt.Tooltip("value:Q", title=title, format=".4f"),
        alt.Tooltip("low:Q", title="2.5 %", format=".4f"),
        alt.Tooltip("high:Q", title="97.5 %", format=".4f"),
    ]
    fill = channels["color"]
    layers += [
        rows.transform_aggregate(now="max(now)")
        .mark_rule(color=p.muted, strokeWidth=1.5)
        .encode(x=alt.X("now:Q", title=x_title)),
        rows.mark_area(opacity=0.22, clip=True).encode(x=x, y=alt.Y("low:Q", title=None), y2=alt.Y2("high:Q"), color=fill),
        rows.mark_line(strokeWidth=2.5).encode(x=x, y=y, color=fill, strokeDash=channels["strokeDash"]),
    ]
    points = rows.mark_point(filled=True, size=60, opacity=1) if marks else rows.mark_point(size=200, opacity=0)
    shape = {"shape": channels["shape"]} if marks else {}
    layers.append(points.encode(x=x, y=y, color=fill, tooltip=tooltip, **shape))
    return alt.layer(*layers).properties(height=pixels, title=title, autosize=FIT)


def divisors(frame: pd.DataFrame, look: Look, *, names: tuple[str, ...], x_title: str) -> alt.LayerChart:
    """The spread of the scores under each divisor, on a logarithmic axis, beside the theory and the line at 1.

    Args:
        frame: place (from 0), std, std_low, std_high, theory, text, chosen (bool).
        names: of the divisors, by place.
    """
    p = look.palette
    y = alt.Y(
        "place:O",
        title=None,
        scale=alt.Scale(domain=list(range(len(names))), paddingInner=0.2, paddingOuter=0.1),
        axis=alt.Axis(labelExpr=base.labels_by_position(names), ticks=False, domain=False, labelPadding=10, labelFlush=False),
    )
    scale = alt.Scale(type="log", domain=list(STD), nice=False)
    axis = alt.Axis(values=[0.01, 0.1, 1, 10, 100], format="~r", labelFlush=False)

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", title=x_title, scale=scale, axis=axis)

    rows = alt.Chart(frame).encode(y=y)
    size = alt.SizeValue(120, condition={"test": "datum.chosen", "value": 260})
    layers = [
        alt.Chart(frame).transform_aggregate(n="count()").transform_calculate(at="1")
        .mark_rule(color=p.muted, strokeWidth=2).encode(x=x("at")),
        rows.mark_tick(color=p.muted, thickness=3, size=30).encode(x=x("theory")),
        rows.mark_rule(strokeWidth=3, color=p.scores).encode(x=x("std_low"), x2=alt.X2(field="std_high")),
        rows.mark_point(filled=True, opacity=1, color=p.scores).encode(x=x("std"), size=size),
    ]  # fmt: skip
    for where, side in (("datum.std < 30", {"align": "left", "dx": 16}), ("datum.std >= 30", {"align": "right", "dx": -16})):
        named = rows.transform_filter(where).encode(x=x("std"), text=alt.Text("text:N"))
        layers += _written(named, p.background, p.text, **side)
    return alt.layer(*layers).properties(height=44 * len(names), autosize=FIT)


def jacobian(
    frame: pd.DataFrame, look: Look, *, keys: int, arm: str, row_title: str, col_title: str, value_title: str
) -> alt.LayerChart:
    """The Jacobian of a row: weights that move down, scores that are moved across; the same colours for every arm."""
    labels = tuple(str(j + 1) for j in range(keys))
    chart = base.matrix(
        frame, look, symbol="theory" if arm == "other" else arm, row_labels=labels, col_labels=labels,
        row_title=row_title, col_title=col_title, value_title=value_title, limit=ENTRY, numbers=keys <= 12,
    )  # fmt: skip
    return chart.properties(height=min(38, 460 // keys) * keys)
