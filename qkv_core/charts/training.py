"""The pictures of the training page: one measure of every arm over the steps, as a median with a band.

The first arm is solid with circles, the second dashed with squares, the third dotted with diamonds. The colours are the
lab's: an arm whose scores are not divided has the colour that such an arm has on every page.
"""

from __future__ import annotations

import json

import altair as alt
import pandas as pd

from qkv_core.charts.base import Look

Arms = tuple[tuple[str, str, str], ...]
"""(code, name, role) of each arm in the order of the legend; role is "scaled", "unscaled" or "theory"."""

FIT = alt.AutoSizeParams(type="fit-x", contains="padding")
TICKS = alt.ExprRef(
    "log(domain('y')[1] / domain('y')[0]) > 5 ? "
    + json.dumps([float(f"1e{i}") for i in range(-14, 5)])
    + " : "
    + json.dumps([float(f"{n}e{i}") for i in range(-14, 5) for n in (1, 1.5, 2, 2.5, 3, 4, 5, 7)])
)
"""Ticks of a logarithmic axis: powers of ten where there are more than two of them, finer ones where there are not."""
DASH = ([1, 0], [7, 4], [2, 3])
MARK = ("circle", "square", "diamond")


def lines(
    frame: pd.DataFrame,
    look: Look,
    *,
    arms: Arms,
    title: str = "",
    x_title: str,
    end: int,
    y_title: str = "",
    log: bool = False,
    share: bool = False,
    zoom: bool = False,
    legend: bool = True,
    pixels: int = 150,
) -> alt.LayerChart:
    """The median of a measure over the runs of each arm, the band around it, and a mark where it stands now.

    Args:
        frame: step, arm (code), value, low, high, last (bool).
        end: the last step of the axis.
        log: a logarithmic axis. share: an axis from 0 to 100 %. zoom: Shift with the wheel zooms, Shift with a drag moves.
    """
    codes = [code for code, *_ in arms]
    names = {code: name for code, name, _ in arms}
    mark = alt.Legend(
        labelExpr=f"{json.dumps(names)}[datum.value]", symbolSize=140, symbolOpacity=1, symbolStrokeWidth=0, columnPadding=18,
        symbolFillColor=None,
    ) if legend else None  # fmt: skip
    colour = alt.Color(
        "arm:N", scale=alt.Scale(domain=codes, range=[look.palette.symbol(role) for *_, role in arms]), legend=mark
    )
    shape = alt.Shape("arm:N", scale=alt.Scale(domain=codes, range=list(MARK[: len(arms)])), legend=mark)
    dash = alt.StrokeDash("arm:N", scale=alt.Scale(domain=codes, range=list(DASH[: len(arms)])), legend=None)
    x = alt.X("step:Q", title=x_title, scale=alt.Scale(domain=[0, end], nice=False, padding=6), axis=alt.Axis(tickMinStep=1, tickCount=6, format=",d", grid=False))
    if share:
        scale, axis = alt.Scale(domain=[0, 1], nice=False, padding=6), alt.Axis(tickCount=3, format=".0%")
    elif log:
        scale = alt.Scale(type="log", nice=True)  # whole decades: there is a number on the axis however little the measure moves
        axis = alt.Axis(values=TICKS, format="~g", labelOverlap="parity")
    else:
        scale, axis = alt.Scale(zero=True), alt.Axis(tickCount=4, format="~g")
    y = alt.Y("value:Q", title=y_title or None, scale=scale, axis=axis)
    rows = alt.Chart(frame)
    band = rows.mark_area(opacity=0.2, clip=True).encode(
        x=x, y=alt.Y("low:Q", title=y_title or None, scale=scale, axis=axis), y2=alt.Y2("high:Q"), color=colour
    )
    line = rows.mark_line(strokeWidth=2.5, clip=True).encode(x=x, y=y, color=colour, strokeDash=dash)
    tooltip = [
        alt.Tooltip("step:Q", title=x_title, format=",d"),
        alt.Tooltip("value:Q", title=y_title or title, format=".3~g"),
        alt.Tooltip("low:Q", title="▽", format=".3~g"),
        alt.Tooltip("high:Q", title="△", format=".3~g"),
    ]
    now = rows.transform_filter("datum.last").mark_point(filled=True, size=110, opacity=1, clip=True).encode(
        x=x, y=y, color=colour, shape=shape, tooltip=tooltip
    )  # fmt: skip
    if zoom:
        moved = alt.selection_interval(
            bind="scales",
            zoom="wheel![event.shiftKey]",
            translate="[pointerdown[event.shiftKey], window:pointerup] > window:pointermove!",
        )
        line = line.add_params(moved)
    chart = alt.layer(band, line, now).properties(height=pixels, autosize=FIT)
    return chart.properties(title=title) if title else chart
