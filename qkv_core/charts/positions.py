"""The pictures of the positions page: the pattern, the waves, the clocks, and what dot products make of a distance.

The two positions that are compared have the pair of colours of two arms: the chosen one is solid with circles, the one
k steps later dashed with squares.
"""

from __future__ import annotations

import json
from typing import Any

import altair as alt
import pandas as pd

from qkv_core.charts import base
from qkv_core.charts.base import LABEL_SIZE, TITLE_SIZE, Look
from qkv_core.charts.palette import Palette, mix

FIT = alt.AutoSizeParams(type="fit-x", contains="padding")
"""Fills the width; the height is that of the marks, and axis and legend come on top of it."""
DASH = [7, 4]
INK = 0.92
"""How far the ends of the pattern's scale are from the paper: +1 is nearly the ink of the text, -1 the paper."""
MARGIN = 0.2
"""Room right of the pattern for the names of its rows, as a share of its width."""
ACROSS = 4
"""Clocks in a row."""
FACES = {1: (150, 222), 2: (116, 176)}
"""A clock's width and the height of a row in pixels, where there is room, for few rows; more have FACE."""
FACE = (84, 138)
HAND = "M0,0L0,-1"
ARMS = ("rope", "added", "none")

Names = tuple[str, str]
"""The names of the chosen position and of the one k steps later."""


def ramp(p: Palette, levels: int) -> list[str]:
    """The colours of the pattern from -1 to +1: the paper gains ink."""
    return [mix(p.background, p.text, INK * i / (levels - 1)) for i in range(levels)]


def colours(p: Palette, levels: int) -> bytes:
    """The same as the palette of a PNG."""
    return bytes.fromhex("".join(colour[1:] for colour in ramp(p, levels)))


def _ticks(size: int, most: int = 8) -> list[int]:
    """0, and each power of two's multiple below `size`, at most `most` of them."""
    step = 1
    while size / step > most:
        step *= 2
    return list(range(0, size, step))


def _columns() -> alt.ExprRef:
    """A legend in one line, or on a phone in one column."""
    return alt.ExprRef("width < 380 ? 1 : 3")


def _pair(p: Palette) -> dict[str, str]:
    return {"here": p.scaled, "there": p.unscaled}


def pattern(frame: pd.DataFrame, look: Look, *, n: int, d: int, x_title: str, y_title: str, value_title: str) -> alt.LayerChart:
    """The encoding as a picture, a row a position, with the chosen rows marked and named at its right.

    Args:
        frame: kind ("image" | "here" | "there"), x, x2, y, y2, url (the picture, as data), text, value (-1 and 1, for
            the legend). Above n x d of a few thousand a cell is no mark: all of them are one picture.
    """
    p = look.palette
    x = alt.X(
        "x:Q",
        title=x_title,
        scale=alt.Scale(domain=[-0.5, d - 0.5 + MARGIN * d], nice=False),
        axis=alt.Axis(values=_ticks(d), format="d", grid=False, orient="top", domain=False, titleAnchor="start"),
    )
    y = alt.Y(
        "y:Q",
        title=y_title,
        scale=alt.Scale(domain=[n - 0.5, -0.5], nice=False),
        axis=alt.Axis(values=_ticks(n), format="d", grid=False, domain=False, labelFlush=False),
    )
    whole = alt.Chart(frame)
    image = whole.transform_filter("datum.kind == 'image'")
    colour = alt.Color(
        "value:Q",
        scale=alt.Scale(domain=[-1, 1], range=ramp(p, 3), interpolate="rgb"),
        legend=alt.Legend(
            title=value_title, orient="bottom", direction="horizontal", gradientLength=180, values=[-1, 0, 1], format="d",
            titleFontWeight=400, titleLimit=400,
        ),
    )  # fmt: skip
    layers = [
        image.mark_point(opacity=0).encode(x=x, y=y, color=colour),
        image.mark_image(aspect=False).encode(x=x, x2=alt.X2("x2:Q"), y=y, y2=alt.Y2("y2:Q"), url=alt.Url("url:N")),
    ]
    for kind, ink in _pair(p).items():
        row = whole.transform_filter(f"datum.kind == '{kind}'").encode(x=x, y=y)
        dash = DASH if kind == "there" else [1, 0]
        layers += [
            row.mark_rule(color=p.background, strokeWidth=5, opacity=0.8).encode(x2=alt.X2("x2:Q")),
            row.mark_rule(color=ink, strokeWidth=2.5, strokeDash=dash).encode(x2=alt.X2("x2:Q")),
            row.mark_text(
                align="left", dx=8, dy=3 if kind == "here" else -3, baseline="bottom" if kind == "here" else "top",
                fontSize=TITLE_SIZE, fontWeight=600, color=ink,
            ).encode(x=alt.X("x2:Q", title=x_title), text=alt.Text("text:N")),
        ]  # fmt: skip
    return alt.layer(*layers).properties(height=430, autosize=FIT)


def clocks(frame: pd.DataFrame, look: Look, *, count: int, names: Names, degrees_title: str, pair_title: str) -> alt.LayerChart:
    """Each pair of dimensions as a clock with two hands: the chosen position's, and that of k steps later.

    Args:
        frame: clock (from 0), hand ("here" | "there"), degrees (clockwise from twelve), col, row, pair, under, below
            (two lines of text), text (of the tooltip).
    """
    p = look.palette
    across = min(ACROSS, count)
    rows = -(-count // ACROSS)
    face, height = FACES.get(rows, FACE)
    hidden = {"title": None, "axis": None}
    below = 1 - (face / 2 + 8) / height
    x = alt.X("col:Q", scale=alt.Scale(domain=[-0.5, across - 0.5], nice=False), **hidden)
    y = alt.Y("row:Q", scale=alt.Scale(domain=[rows - 1 + below, below - 1], nice=False), **hidden)
    size = alt.ExprRef(f"pow(min({face}, width / {across} - 10), 2)")
    whole = alt.Chart(frame).encode(x=x, y=y)
    faces = whole.transform_filter("datum.hand == 'here'")
    two = _pair(p)
    legend = alt.Legend(
        labelExpr=f"{json.dumps(dict(zip(two, names)))}[datum.value]", symbolType="stroke", symbolSize=500, columnPadding=18
    )
    domain = list(two)
    layers = [
        faces.mark_point(shape="circle", filled=True, fill=p.panel, stroke=p.muted, strokeWidth=1, opacity=1, size=size),
        whole.mark_point(shape=HAND, filled=False, strokeWidth=4, opacity=1, strokeCap="round", size=size).encode(
            angle=alt.Angle("degrees:Q", scale=None),
            color=alt.Color("hand:N", scale=alt.Scale(domain=domain, range=list(two.values())), legend=legend),
            strokeDash=alt.StrokeDash("hand:N", scale=alt.Scale(domain=domain, range=[[1, 0], [5, 5]]), legend=legend),
            order=alt.Order("order:Q"),
        ),
        faces.mark_point(shape="circle", filled=True, color=p.text, opacity=1, size=40),
        faces.mark_point(shape="circle", filled=True, opacity=0, size=size).encode(
            tooltip=[alt.Tooltip("pair:Q", title=pair_title), alt.Tooltip("text:N", title=degrees_title)]
        ),
    ]
    for field, dy in (("under", face / 2 + 14), ("below", face / 2 + 32)):
        layers.append(faces.mark_text(dy=dy, fontSize=LABEL_SIZE, color=p.text).encode(text=alt.Text(f"{field}:N")))
    return alt.layer(*layers).properties(height=height * rows, autosize=FIT)


def cells(frame: pd.DataFrame, look: Look, **labels: Any) -> alt.LayerChart:
    """A small matrix whose rows keep their height; arguments as for `base.matrix`."""
    return base.matrix(frame, look, **labels).properties(autosize=FIT)


def waves(frame: pd.DataFrame, look: Look, *, rows: int, n: int, x_title: str, names: Names) -> alt.LayerChart:
    """Chosen pairs as waves one under another, the sine solid and the cosine dashed, with the two positions on them.

    Args:
        frame: kind ("wave" | "here" | "there" | "name"), wave ("sin" | "cos"), dim, pos, height (value and row in
            one number: each row is one unit), text.
    """
    p = look.palette
    x = alt.X(
        "pos:Q",
        title=x_title,
        scale=alt.Scale(domain=[0, n - 1], nice=False),
        axis=alt.Axis(values=_ticks(n), format="d", grid=False, labelFlush=False),
    )
    y = alt.Y(
        "height:Q", title=None, scale=alt.Scale(domain=[-rows + 0.4, 0.75], nice=False),
        axis=alt.Axis(values=[-r for r in range(rows)], labels=False, ticks=False, domain=False),
    )  # fmt: skip
    whole = alt.Chart(frame).encode(x=x, y=y)
    legend = alt.Legend(symbolType="stroke", symbolSize=500, columnPadding=18)
    kinds = ["sin", "cos"]
    layers = [
        whole.transform_filter("datum.kind == 'wave'")
        .mark_line(strokeWidth=2)
        .encode(
            detail=alt.Detail("dim:N"),
            color=alt.Color("wave:N", scale=alt.Scale(domain=kinds, range=[p.text, p.muted]), legend=legend),
            strokeDash=alt.StrokeDash("wave:N", scale=alt.Scale(domain=kinds, range=[[1, 0], [5, 3]]), legend=legend),
        ),
    ]
    for (kind, ink), shape, name in zip(_pair(p).items(), ("circle", "square"), names, strict=True):
        layers.append(
            whole.transform_filter(f"datum.kind == '{kind}'")
            .mark_point(shape=shape, filled=True, size=110, opacity=1, color=ink, stroke=p.background, strokeWidth=2)
            .encode(tooltip=[alt.Tooltip("text:N", title=name)])
        )
    named = whole.transform_filter("datum.kind == 'name'")
    font: dict[str, Any] = {"align": "left", "baseline": "middle", "fontSize": LABEL_SIZE, "dx": 4}
    layers.append(named.mark_text(stroke=p.background, strokeWidth=6, color=p.background, **font).encode(text=alt.Text("text:N")))
    layers.append(named.mark_text(color=p.text, **font).encode(text=alt.Text("text:N")))
    return alt.layer(*layers).properties(height=96 * rows, autosize=FIT)


def dots(frame: pd.DataFrame, look: Look, *, n: int, x_title: str, y_title: str, names: tuple[str, str]) -> alt.LayerChart:
    """The dot product of two encodings against how far apart they are, with the closed form on it.

    Args:
        frame: offset, low, high, mean, theory, chosen (bool), text. names: of what is measured and of the closed form.
    """
    p = look.palette
    x = alt.X(
        "offset:Q",
        title=x_title,
        scale=alt.Scale(domain=[0, n - 1], nice=False),
        axis=alt.Axis(values=_ticks(n), format="d", grid=False, labelFlush=False),
    )

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", title=y_title, scale=alt.Scale(zero=True, nice=True), axis=alt.Axis(tickCount=5))

    whole = alt.Chart(frame).encode(x=x)
    labels = dict(zip(("mean", "theory"), names, strict=True))
    legend = alt.Legend(labelExpr=f"{json.dumps(labels)}[datum.value]", symbolType="stroke", symbolSize=500, columnPadding=18, columns=_columns())
    scale = {"domain": ["mean", "theory"]}
    both = whole.transform_fold(["mean", "theory"], as_=["line", "value"])
    tips = [
        alt.Tooltip("offset:Q", title=x_title),
        alt.Tooltip("low:Q", title="min", format=".6f"),
        alt.Tooltip("high:Q", title="max", format=".6f"),
        alt.Tooltip("theory:Q", title=names[1], format=".6f"),
    ]
    layers = [
        whole.transform_filter("datum.chosen").mark_rule(color=p.muted, strokeWidth=1.5, strokeDash=[2, 3]),
        whole.mark_area(color=p.scores, opacity=0.3).encode(y=y("low"), y2=alt.Y2("high:Q")),
        *(
            both.transform_filter(f"datum.line == '{line}'")
            .mark_line(strokeWidth=width)
            .encode(
                y=y("value"),
                color=alt.Color("line:N", scale=alt.Scale(range=[p.scores, p.theory], **scale), legend=legend),
                strokeDash=alt.StrokeDash("line:N", scale=alt.Scale(range=[[1, 0], [1, 4]], **scale), legend=legend),
            )
            for line, width in (("mean", 4), ("theory", 2))
        ),
        whole.mark_rule(opacity=0, strokeWidth=6).encode(tooltip=tips),
        whole.transform_filter("datum.chosen")
        .mark_point(shape="square", filled=True, size=130, opacity=1, color=p.unscaled, stroke=p.background, strokeWidth=2)
        .encode(y=y("mean"), tooltip=tips),
    ]
    return alt.layer(*layers).properties(height=300, autosize=FIT)


def found(frame: pd.DataFrame, look: Look, *, n: int, x_title: str, y_title: str, names: tuple[str, str]) -> alt.LayerChart:
    """Which position was looked for and which was found; a right one lies on the diagonal.

    Args:
        frame: wanted, found, verdict ("right" | "wrong"). names: of the two verdicts.
    """
    p = look.palette
    scale = alt.Scale(domain=[-0.5, n - 0.5], nice=False)
    axis = {"values": _ticks(n), "format": "d", "labelFlush": False}
    whole = alt.Chart(frame).encode(
        x=alt.X("wanted:Q", title=x_title, scale=scale, axis=alt.Axis(grid=False, **axis)),
        y=alt.Y("found:Q", title=y_title, scale=scale, axis=alt.Axis(**axis)),
        tooltip=[alt.Tooltip("wanted:Q", title=x_title), alt.Tooltip("found:Q", title=y_title)],
    )
    domain = ["right", "wrong"]
    legend = alt.Legend(
        labelExpr=f"{json.dumps(dict(zip(domain, names)))}[datum.value]", symbolSize=140, symbolOpacity=1, columnPadding=18,
        symbolStrokeWidth=0,
    )  # fmt: skip
    marks = whole.mark_point(filled=True, opacity=1, size=alt.ExprRef(f"max(14, min(90, 2.2 * width / {n} * 10))")).encode(
        color=alt.Color("verdict:N", scale=alt.Scale(domain=domain, range=[p.scaled, p.unscaled]), legend=legend),
        shape=alt.Shape("verdict:N", scale=alt.Scale(domain=domain, range=["circle", "square"]), legend=legend),
    )
    return alt.layer(marks).properties(height=300, autosize=FIT)


def rope(frame: pd.DataFrame, look: Look, *, n: int, x_title: str, y_title: str, names: tuple[str, str, str]) -> alt.LayerChart:
    """One q against one k at every pair of places: the band holds all pairs with the same offset.

    Args:
        frame: arm ("rope" | "added" | "none"), offset, low, high, mean. names: of the arms, in that order.
    """
    p = look.palette
    colours = [p.scaled, p.unscaled, p.theory]
    legend = alt.Legend(
        labelExpr=f"{json.dumps(dict(zip(ARMS, names)))}[datum.value]", symbolType="stroke", symbolSize=500, columnPadding=18, columns=_columns(),
        symbolOpacity=1,
    )  # fmt: skip
    colour = alt.Color("arm:N", scale=alt.Scale(domain=list(ARMS), range=colours), legend=legend)
    dash = alt.StrokeDash("arm:N", scale=alt.Scale(domain=list(ARMS), range=[[1, 0], DASH, [2, 3]]), legend=legend)
    x = alt.X(
        "offset:Q",
        title=x_title,
        scale=alt.Scale(domain=[0, n - 1], nice=False),
        axis=alt.Axis(values=_ticks(n), format="d", grid=False, labelFlush=False),
    )

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", title=y_title, scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(tickCount=5))

    whole = alt.Chart(frame).encode(x=x)
    tips = [
        alt.Tooltip("offset:Q", title=x_title),
        alt.Tooltip("low:Q", title="min", format=".4f"),
        alt.Tooltip("high:Q", title="max", format=".4f"),
    ]
    layers = [
        whole.mark_area(opacity=0.25).encode(y=y("low"), y2=alt.Y2("high:Q"), color=colour),
        whole.mark_line(strokeWidth=2.5).encode(y=y("mean"), color=colour, strokeDash=dash),
        whole.mark_rule(opacity=0, strokeWidth=6).encode(y=y("low"), y2=alt.Y2("high:Q"), tooltip=tips),
    ]
    return alt.layer(*layers).properties(height=320, autosize=FIT)
