"""The pictures of the complexity page: operations against n, how far stacks read, timed layers with their fits, memory.

A layer keeps its colour, dash and mark everywhere. Attention has the colour of the weights, restricted attention too,
dashed; the recurrent layer has the ink of the page, and convolutions share a third colour.
"""

from __future__ import annotations

import json
from typing import Any

import altair as alt
import pandas as pd

from qkv_core.charts.base import LABEL_SIZE, Look, mix
from qkv_core.charts.palette import Palette

Names = tuple[tuple[str, str], ...]
"""(code, name), in the order of the legend."""

FIT = alt.AutoSizeParams(type="fit-x", contains="padding")
DASH = {"self_attention": [1, 0], "recurrent": [9, 4], "convolutional": [1, 0], "dilated": [3, 3], "restricted": [5, 3]}
MARK = {"self_attention": "circle", "recurrent": "square", "convolutional": "triangle-up", "dilated": "triangle-down", "restricted": "diamond"}
NARROW = 32
"""Below this n the name of the crossing stands right of its line: there is no room left of it."""
TICKS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144)
UNITS = {32**i: f"{32 if i % 2 else 1} {'B KiB MiB GiB TiB PiB'.split()[i // 2]}" for i in range(2, 11)}
RISEN = "⁰¹²³⁴⁵⁶⁷⁸⁹"


def colour(p: Palette, layer: str) -> str:
    return {"self_attention": p.weights, "restricted": p.weights, "recurrent": p.text}.get(layer, p.scaled)


def _channels(names: Names, look: Look) -> dict[str, Any]:
    """Colour, dash and mark of the layers, with one legend."""
    codes = [code for code, _ in names]
    legend = alt.Legend(
        labelExpr=f"{json.dumps(dict(names))}[datum.value]", symbolSize=150, symbolOpacity=1, columnPadding=18, columns=2, symbolStrokeWidth=0
    )

    def scale(values: list[Any]) -> alt.Scale:
        return alt.Scale(domain=codes, range=values)

    return {
        "color": alt.Color("layer:N", scale=scale([colour(look.palette, c) for c in codes]), legend=legend),
        "shape": alt.Shape("layer:N", scale=scale([MARK[c] for c in codes]), legend=legend),
        "strokeDash": alt.StrokeDash("layer:N", scale=scale([DASH[c] for c in codes]), legend=None),
    }


def _ten(exponent: int) -> str:
    """1, 10, 100, and from there 10 with its power raised."""
    return str(10**exponent) if exponent < 3 else "10" + "".join(RISEN[int(c)] for c in str(exponent))


def _labels(values: dict[Any, str]) -> str:
    return f"{json.dumps({str(key): text for key, text in values.items()})}[datum.value]"


def operations(
    frame: pd.DataFrame, look: Look, *, names: Names, end: int, low: int, high: int, x_title: str, y_title: str
) -> alt.LayerChart:
    """Operations a layer against n on logarithmic axes, with the n on screen and the crossing of n^2 d and n d^2.

    Args:
        frame: kind (line, now: at the n on screen, cross), n, layer, operations, name, label (of the crossing).
        end: of the axis of n, from 1; low, high: powers of ten at the ends of the other.
    """
    p = look.palette
    channels = _channels(names, look)
    powers = [2**i for i in range(0, 21, 2 if end > 64 else 1) if 2**i <= end]
    x = alt.X(
        "n:Q",
        title=x_title,
        scale=alt.Scale(type="log", base=2, domain=[1, end], nice=False),
        axis=alt.Axis(values=powers, format=",d", labelFlush=False, grid=False),
    )
    step = 1 if high - low <= 6 else 2 if high - low <= 12 else 3
    decades = {10**e: _ten(e) for e in range(low, high + 1, step)}
    y, foot = (
        alt.Y(
            f"{field}:Q",
            title=y_title,
            scale=alt.Scale(type="log", domain=[10**low, 10**high], nice=False),
            axis=alt.Axis(values=list(decades), labelExpr=_labels(decades)),
        )
        for field in ("operations", "foot")
    )
    whole = alt.Chart(frame).encode(x=x)
    now, lines = (whole.transform_filter(f"datum.kind === '{kind}'") for kind in ("now", "line"))
    tooltip = [
        alt.Tooltip("name:N", title=" "),
        alt.Tooltip("n:Q", title=x_title, format=",d"),
        alt.Tooltip("operations:Q", title=y_title, format=",d"),
    ]
    cross = whole.transform_filter("datum.kind === 'cross'").transform_calculate(foot=f"pow(10, {low})").encode(y=y)
    return alt.layer(
        now.mark_rule(color=p.muted, strokeWidth=1.5),
        lines.mark_line(strokeWidth=3).encode(y=y, color=channels["color"], strokeDash=channels["strokeDash"]),
        lines.mark_point(filled=True, size=45, opacity=1).encode(y=y, color=channels["color"], shape=channels["shape"], tooltip=tooltip),
        now.mark_point(filled=True, size=150, opacity=1, stroke=p.background, strokeWidth=1.5).encode(
            y=y, color=channels["color"], shape=channels["shape"], tooltip=tooltip
        ),
        cross.mark_rule(color=p.text, strokeWidth=1.5, strokeDash=[1, 4]).encode(y=foot, y2=alt.Y2("operations:Q")),
        cross.mark_point(filled=False, size=420, strokeWidth=2.5, color=p.text, opacity=1),
        *(
            cross.transform_filter(f"datum.n {side} {NARROW}")
            .mark_text(align=align, dx=dx, dy=-12, baseline="bottom", fontSize=LABEL_SIZE + 1, fontWeight=700, **ink)
            .encode(y=foot, text=alt.Text("label:N"))
            for side, align, dx in (("<", "left", 8), (">=", "right", -8))
            for ink in ({"color": p.background, "stroke": p.background, "strokeWidth": 6, "strokeJoin": "round"}, {"color": p.text})
        ),
    ).properties(height=330, autosize=FIT)


def stack(frame: pd.DataFrame, look: Look, *, layer: str, n: int, depth: int, x_title: str, y_title: str, said: tuple[str, str]) -> alt.LayerChart:
    """The inputs that the last output depends on, a row a depth: filled where reached, empty where not.

    Args:
        frame: depth (from 1), token (from 1), reached. said: the words for not reached and reached.
    """
    p = look.palette
    every = max(1, -(-depth // 8))
    ticks = [t for t in range(1, n + 1) if t in (1, n) or (t % 8 == 0 and n - t > 3)]
    rows = [i for i in range(1, depth + 1) if i == 1 or i == depth or (i % every == 0 and depth - i >= every)]
    cells = (
        alt.Chart(frame)
        .transform_calculate(said=f"datum.reached ? {json.dumps(said[1])} : {json.dumps(said[0])}")
        .mark_rect(cornerRadius=2)
        .encode(
            x=alt.X(
                "token:O",
                title=x_title,
                scale=alt.Scale(domain=list(range(1, n + 1)), paddingInner=0.12, paddingOuter=0),
                axis=alt.Axis(values=ticks, labelAngle=0, ticks=False, domain=False, labelOverlap=False),
            ),
            y=alt.Y(
                "depth:O",
                title=y_title,
                scale=alt.Scale(domain=list(range(1, depth + 1)), paddingInner=0.14, paddingOuter=0),
                axis=alt.Axis(values=rows, ticks=False, domain=False, labelOverlap=False),
            ),
            color=alt.condition("datum.reached", alt.value(colour(p, layer)), alt.value(p.background)),
            stroke=alt.condition("datum.reached", alt.value(colour(p, layer)), alt.value(mix(p.background, p.text, 0.25))),
            strokeWidth=alt.StrokeWidthValue(1),
            tooltip=[
                alt.Tooltip("depth:O", title=y_title),
                alt.Tooltip("token:O", title=x_title),
                alt.Tooltip("said:N", title=" "),
            ],
        )
    )
    return alt.layer(cells).properties(height=max(44, min(26 * depth, 260)), autosize=FIT)


def timed(frame: pd.DataFrame, look: Look, *, names: Names, low: float, high: float, x_title: str, y_title: str) -> alt.LayerChart:
    """Measured times as points and what was fitted to them as lines, on logarithmic axes.

    Args:
        frame: kind (point, fit), layer, size, ms, name. low, high: ends of the axis of sizes.
    """
    channels = _channels(names, look)
    x = alt.X(
        "size:Q",
        title=x_title,
        scale=alt.Scale(type="log", base=2, domain=[low, high], nice=False),
        axis=alt.Axis(values=[t for t in TICKS if low <= t <= high], format=",d", labelFlush=False, grid=False),
    )
    y = alt.Y(
        "ms:Q",
        title=y_title,
        scale=alt.Scale(type="log", nice=False, padding=8),
        axis=alt.Axis(values=[m * 10.0**e for e in range(-4, 5) for m in (1, 2, 5)], format=",~g"),
    )
    whole = alt.Chart(frame).encode(x=x, y=y, color=channels["color"])
    tooltip = [
        alt.Tooltip("name:N", title=" "),
        alt.Tooltip("size:Q", title=x_title, format=",d"),
        alt.Tooltip("ms:Q", title=y_title, format=",.4~g"),
    ]
    return alt.layer(
        whole.transform_filter("datum.kind === 'fit'").mark_line(strokeWidth=2.5).encode(strokeDash=channels["strokeDash"]),
        whole.transform_filter("datum.kind === 'point'")
        .mark_point(filled=True, size=95, opacity=1)
        .encode(shape=channels["shape"], tooltip=tooltip),
    ).properties(height=340, autosize=FIT)


def memory(frame: pd.DataFrame, look: Look, *, names: Names, low: int, high: int, x_title: str, y_title: str) -> alt.LayerChart:
    """Bytes against tokens: by formula as lines, measured peaks as marks; all weights solid, the fused kernel dashed.

    Args:
        frame: kind (formula, peak), T, arm (weights, fused), bytes, now (the n on screen, in every row; null for none).
        low, high: ends of the axis of tokens.
    """
    p = look.palette
    codes = [code for code, _ in names]
    legend = alt.Legend(labelExpr=f"{json.dumps(dict(names))}[datum.value]", symbolSize=150, symbolOpacity=1, symbolStrokeWidth=0, columnPadding=18)
    color = alt.Color("arm:N", scale=alt.Scale(domain=codes, range=[p.weights, p.text]), legend=legend)
    shape = alt.Shape("arm:N", scale=alt.Scale(domain=codes, range=["circle", "square"]), legend=legend)
    dash = alt.StrokeDash("arm:N", scale=alt.Scale(domain=codes, range=[[1, 0], [7, 4]]), legend=None)
    ticks = [t for t in TICKS if low <= t <= high][::2]
    x = alt.X(
        "T:Q",
        title=x_title,
        scale=alt.Scale(type="log", base=2, domain=[low, high], nice=False),
        axis=alt.Axis(values=ticks, format=",d", labelFlush=False, grid=False),
    )
    y = alt.Y(
        "bytes:Q",
        title=y_title,
        scale=alt.Scale(type="log", base=2, nice=False, padding=10),
        axis=alt.Axis(values=list(UNITS), labelExpr=_labels(UNITS)),
    )
    whole = alt.Chart(frame).encode(x=x, y=y, color=color)
    tooltip = [alt.Tooltip("T:Q", title=x_title, format=",d"), alt.Tooltip("bytes:Q", title="B", format=",d")]
    return alt.layer(
        alt.Chart(frame)
        .transform_aggregate(now="max(now)")
        .transform_filter("isValid(datum.now)")
        .mark_rule(color=p.muted, strokeWidth=1.5)
        .encode(x=alt.X("now:Q", title=x_title)),
        whole.transform_filter("datum.kind === 'formula'").mark_line(strokeWidth=3).encode(strokeDash=dash),
        whole.transform_filter("datum.kind === 'peak'").mark_point(filled=True, size=120, opacity=1).encode(shape=shape, tooltip=tooltip),
    ).properties(height=330, autosize=FIT)
