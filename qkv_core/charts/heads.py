"""The pictures of the heads page: weights as cells, as an image, as lines and as bars; q, k and their products.

Words of a sentence reach a chart as labels by position and as data only, so a word may be anything.
"""

from __future__ import annotations

import base64
import struct
import zlib
from functools import cache

import altair as alt
import numpy as np
import pandas as pd

from qkv_core.charts import base
from qkv_core.charts.base import LABEL_SIZE, Look
from qkv_core.charts.palette import Palette, mix

FONT = "Source Sans, sans-serif"
PLAIN = 32
"""Labels of an axis up to which all are written; of more, those that have room."""
CANVAS = 150
"""Marks above which a chart is painted on a canvas."""
LINE = 26
"""Pixels between two words of the lines."""
SHADES = 254
"""Colours of an image; two more hatch what the mask hides."""
EDGE = [0, 1, -2, -1]
"""The pixels of the frame of a small image."""
HATCH = 5
"""Pixels from one line of the hatching to the next."""

FIT = alt.AutoSizeParams(type="fit-x", contains="padding")


def _many(chart: alt.LayerChart, marks: int) -> alt.LayerChart:
    """A chart of many marks is painted on a canvas: a browser changes one picture instead of a thousand elements."""
    return chart.properties(usermeta={"embedOptions": {"renderer": "canvas"}}) if marks > CANVAS else chart


def _labels(labels: tuple[str, ...], start: int = 0) -> str:
    """As `base.labels_by_position`, for an axis that begins at `start`."""
    return base.labels_by_position(labels).replace("[datum.value]", f"[datum.value - {start}]")


def _axes(
    row_labels: tuple[str, ...], col_labels: tuple[str, ...], row_from: int, col_from: int, row_title: str, col_title: str, gap: float
) -> tuple[alt.Y, alt.X]:
    y = alt.Y(
        "row:O",
        title=row_title,
        scale=alt.Scale(domain=list(range(row_from, row_from + len(row_labels))), paddingInner=gap, paddingOuter=0),
        axis=alt.Axis(labelExpr=_labels(row_labels, row_from), ticks=False, domain=False, labelLimit=140, labelFlush=False, labelOverlap=len(row_labels) > PLAIN),
    )
    x = alt.X(
        "col:O",
        title=col_title,
        scale=alt.Scale(domain=list(range(col_from, col_from + len(col_labels))), paddingInner=gap, paddingOuter=0),
        axis=alt.Axis(
            labelExpr=_labels(col_labels, col_from), orient="top", ticks=False, domain=False, labelAngle=-50, labelAlign="left",
            labelLimit=120, labelFlush=False, labelOverlap=len(col_labels) > PLAIN,
        ),
    )  # fmt: skip
    return y, x


def matrix(
    frame: pd.DataFrame,
    look: Look,
    *,
    row_labels: tuple[str, ...],
    col_labels: tuple[str, ...],
    row_from: int,
    col_from: int,
    symbol: str,
    limit: float,
    numbers: bool,
    pick: bool,
    cell: int,
    row_height: int,
    row_title: str,
    col_title: str,
    value_title: str,
) -> alt.LayerChart:
    """Queries by keys as cells: crosses where the mask hides, the chosen row and cell outlined.

    Args:
        frame: row, col (positions), value, text, exact, hidden, row_label, col_label, mark (1 in the chosen row, 2 the
            chosen cell), turn and hide (handed back by a click).
    """
    p = look.palette
    rows, cols = len(row_labels), len(col_labels)
    y, x = _axes(row_labels, col_labels, row_from, col_from, row_title, col_title, 0.05 if numbers else 0.02)
    tooltip = [
        alt.Tooltip("row_label:N", title=row_title),
        alt.Tooltip("col_label:N", title=col_title),
        alt.Tooltip("exact:N", title=value_title),
    ]
    every = alt.Chart(frame).encode(x=x, y=y, tooltip=tooltip)
    edge = mix(p.background, p.text, 0.12)
    cells = every.mark_rect(cornerRadius=3 if numbers else 0).encode(
        color=alt.condition(
            "datum.hidden",
            alt.value(p.panel),
            alt.Color("value:Q", scale=base.colour_scale(look, symbol, limit, numbers), legend=None),
        ),
        stroke=alt.StrokeValue(
            value=edge if numbers else None,
            condition=[
                {"test": "datum.mark > 1", "value": p.text},
                {"test": "datum.mark > 0", "value": p.q},
            ],
        ),
        strokeWidth=alt.StrokeWidthValue(
            value=1, condition=[{"test": "datum.mark > 1", "value": 3}, {"test": "datum.mark > 0", "value": 2}]
        ),
    )
    if pick:
        cells = cells.add_params(
            alt.selection_point(name="pick", fields=["row", "col", "turn", "hide"], on="click", empty=False)
        )
    texts = every if numbers else every.transform_filter("datum.hidden")
    texts = texts.mark_text(fontSize=base.number_size(cols), font=FONT).encode(
        text=alt.Text("text:N"), color=alt.condition("datum.hidden", alt.value(p.muted), alt.value(p.text))
    )
    chart = alt.layer(cells, texts).properties(width=cell * cols, height=row_height * rows, autosize=FIT)
    return _many(chart, rows * cols if rows > base.TEXT_CELLS else 0)


def overview(
    frame: pd.DataFrame,
    look: Look,
    *,
    labels: tuple[str, ...],
    cell: int,
    row_title: str,
    col_title: str,
    value_title: str,
    top_title: str,
    pick: bool = True,
) -> alt.LayerChart:
    """A large matrix as one image, with a band a row that can be clicked and tells the row's strongest key.

    Args:
        frame: row, url (of the image, in the first row), row_label, top_label, top_text, mark, turn.
    """
    p, T = look.palette, len(labels)
    y, x = _axes(labels, labels, 0, 0, row_title, col_title, 0)
    rows = alt.Chart(frame).encode(y=y)
    picture = (
        alt.Chart(frame)
        .transform_filter("datum.row == 0")
        .mark_image(width=alt.ExprRef("width"), height=alt.ExprRef("height"), aspect=False, align="left", baseline="top")
        .encode(x=alt.value(0), y=alt.value(0), url=alt.Url("url:N"))
    )
    columns = alt.Chart(frame).transform_calculate(col="datum.row").mark_rect(opacity=0).encode(x=x)
    bands = rows.mark_rect(fillOpacity=0, fill=p.text).encode(
        x=alt.value(0),
        x2=alt.value("width"),
        stroke=alt.StrokeValue(value=None, condition=[{"test": "datum.mark > 0", "value": p.q}]),
        strokeWidth=alt.StrokeWidthValue(2),
        tooltip=[
            alt.Tooltip("row_label:N", title=row_title),
            alt.Tooltip("top_label:N", title=top_title),
            alt.Tooltip("top_text:N", title=value_title),
        ]
        if pick
        else alt.value(None),
    )
    if pick:
        bands = bands.add_params(alt.selection_point(name="pick", fields=["row", "turn"], on="click", empty=False))
    return _many(alt.layer(picture, columns, bands).properties(width=cell * T, height=cell * T, autosize=FIT), 3 * T)


def lines(
    frame: pd.DataFrame, look: Look, *, count: int, row_title: str, col_title: str, value_title: str
) -> alt.LayerChart:
    """Lines from one query (left) to its keys (right), as wide as their weights. A click on a word chooses that query.

    Args:
        frame: row, from_row, label, weight, text, share, query (1 for the chosen one), seen (0 where hidden), turn.
    """
    p = look.palette
    down = alt.Scale(domain=[-1.6, count - 0.5], reverse=True, nice=False)
    across = alt.Scale(domain=[0, 1], nice=False)
    size = LABEL_SIZE + 1 if count <= 40 else 14
    tooltip = [alt.Tooltip("label:N", title=col_title), alt.Tooltip("text:N", title=value_title)]

    def at(place: float, words: alt.Chart, y: str = "row") -> alt.Chart:
        x = alt.X("x:Q", scale=across, axis=None)
        return words.transform_calculate(x=str(place), top="-1.1").encode(x=x, y=alt.Y(f"{y}:Q", scale=down, axis=None))

    def written(words: alt.Chart, align: str, weight: int = 400) -> alt.Chart:
        return words.mark_text(align=align, fontSize=size, font=FONT, fontWeight=weight, limit=230)

    every = alt.Chart(frame)
    between = (
        every.transform_filter("datum.weight > 0")
        .transform_calculate(x="0.36", x2="0.64")
        .mark_rule(strokeCap="round")
        .encode(
            x=alt.X("x:Q", scale=across, axis=None),
            x2=alt.X2("x2:Q"),
            y=alt.Y("from_row:Q", scale=down, axis=None),
            y2=alt.Y2("row:Q"),
            color=alt.ColorValue(p.weights),
            strokeWidth=alt.StrokeWidth("weight:Q", scale=alt.Scale(domain=[0, 1], range=[0.3, 16]), legend=None),
            opacity=alt.Opacity("weight:Q", scale=alt.Scale(domain=[0, 0.3], range=[0.25, 0.9], clamp=True), legend=None),
            tooltip=tooltip,
        )
    )
    named = {"text": "label:N", "tooltip": [alt.Tooltip("label:N", title=row_title)]}
    asked = at(0.35, written(every.transform_filter("datum.query > 0"), "right", 700)).encode(color=alt.ColorValue(p.q), **named)
    query = at(0.35, written(every.transform_filter("datum.query == 0"), "right")).encode(color=alt.ColorValue(p.muted), **named)
    query = query.add_params(alt.selection_point(name="pick", fields=["row", "turn"], on="click", empty=False))
    key = at(0.65, written(every, "left")).encode(
        text=alt.Text("label:N"),
        color=alt.ColorValue(value=p.k, condition=[{"test": "datum.seen == 0", "value": p.muted}]),
        tooltip=tooltip,
    )
    share = at(1, written(every, "right")).encode(text=alt.Text("share:N"), color=alt.ColorValue(p.text))
    first = every.transform_filter("datum.row == 0")
    heads = [
        at(place, written(first, align, 600), "top").encode(text=alt.TextValue(title), color=alt.ColorValue(colour))
        for place, align, title, colour in ((0.35, "right", row_title, p.q), (0.65, "left", col_title, p.k), (1, "right", value_title, p.weights))
    ]
    step = LINE if count <= 40 else 19
    chart = alt.layer(between, query, asked, key, share, *heads).properties(height=step * (count + 1), autosize=FIT)
    return _many(chart, 4 * count)


def bars(
    frame: pd.DataFrame, look: Look, *, labels: tuple[str, ...], key_title: str, value_title: str, symbol: str = "weights", top: float = 1.0
) -> alt.LayerChart:
    """One bar a key in the order of the sentence; a cross where the mask hides.

    Args:
        frame: position, weight, label, text, seen.
        top: the end of the axis.
    """
    p, n = look.palette, len(labels)
    x = alt.X(
        "position:O",
        title=None,
        scale=alt.Scale(domain=list(range(n)), paddingInner=0.2, paddingOuter=0.1),
        axis=alt.Axis(
            labelExpr=base.labels_by_position(labels), labelAngle=-50, labelAlign="right", labelOverlap=n > PLAIN, labelLimit=110, ticks=False,
            labelFlush=False, labelBaseline="middle",
        ),
    )  # fmt: skip
    y = alt.Y("weight:Q", title=value_title, scale=alt.Scale(domain=[0, top], nice=False), axis=alt.Axis(tickCount=4, format="~r"))
    tooltip = [alt.Tooltip("label:N", title=key_title), alt.Tooltip("text:N", title=value_title)]
    every = alt.Chart(frame).encode(x=x, tooltip=tooltip)
    seen = every.transform_filter("datum.seen > 0").mark_bar(cornerRadiusEnd=2).encode(y=y, color=alt.ColorValue(p.symbol(symbol)))
    hidden = (
        every.transform_filter("datum.seen == 0")
        .mark_text(text="×", fontSize=LABEL_SIZE, dy=-8, font=FONT)
        .encode(y=alt.Y("weight:Q", title=value_title), color=alt.ColorValue(p.muted))
    )
    return _many(alt.layer(seen, hidden).properties(height=150, autosize=FIT), 3 * n)


def ranked(
    frame: pd.DataFrame, look: Look, *, count: int, key_title: str, value_title: str
) -> alt.LayerChart:
    """The largest weights of a row, largest first, each with its word and its share.

    Args:
        frame: rank, weight, label, text, short, for the ranks below `count`.
    """
    p = look.palette
    y = alt.Y("rank:O", title=None, scale=alt.Scale(domain=list(range(count)), paddingInner=0.25, paddingOuter=0.1), axis=None)
    tooltip = [alt.Tooltip("label:N", title=key_title), alt.Tooltip("text:N", title=value_title)]
    every = alt.Chart(frame).encode(y=y, tooltip=tooltip)
    scale = alt.Scale(domain=[-0.42, 1.18], nice=False)
    x = alt.X("weight:Q", title=None, scale=scale, axis=None)
    zero = {"x": alt.X("zero:Q", scale=scale, axis=None)}
    size = LABEL_SIZE + 1
    bar = every.transform_calculate(zero="0").mark_bar(cornerRadiusEnd=2).encode(x=x, x2=alt.X2("zero:Q"), color=alt.ColorValue(p.weights))
    word = every.transform_calculate(zero="0").mark_text(align="right", dx=-8, fontSize=size, font=FONT, limit=150).encode(
        text=alt.Text("label:N"), color=alt.ColorValue(p.k), **zero
    )
    share = every.mark_text(align="left", dx=6, fontSize=size, font=FONT).encode(x=x, text=alt.Text("short:N"), color=alt.ColorValue(p.text))
    return alt.layer(bar, word, share).properties(height=27 * count, autosize=FIT)


def strips(
    frame: pd.DataFrame, look: Look, *, d_k: int, row_labels: tuple[str, ...], coordinate_title: str, value_title: str
) -> alt.LayerChart:
    """q, k and their products as three rows of cells, each row in its own colour and scaled to its own largest entry.

    Args:
        frame: row (0 to 2), col, share (-1 to 1), text, name.
    """
    p = look.palette
    x = alt.X(
        "col:O",
        title=coordinate_title,
        scale=alt.Scale(domain=list(range(d_k)), paddingInner=0.08, paddingOuter=0),
        axis=alt.Axis(
            labelExpr="datum.value + 1", labelAngle=0, values=[0, *range(7, d_k, 8)], orient="bottom", ticks=False, domain=False
        ),
    )
    y = alt.Y(
        "row:O",
        title=None,
        scale=alt.Scale(domain=[0, 1, 2], paddingInner=0.12, paddingOuter=0),
        axis=alt.Axis(labelExpr=base.labels_by_position(row_labels), ticks=False, domain=False, labelLimit=140),
    )
    tooltip = [alt.Tooltip("name:N", title=coordinate_title), alt.Tooltip("text:N", title=value_title)]
    every = alt.Chart(frame).encode(x=x, y=y, tooltip=tooltip)
    layers = [
        every.transform_filter(f"datum.row == {at}")
        .mark_rect(cornerRadius=2, stroke=mix(p.background, p.text, 0.14), strokeWidth=1)
        .encode(
            color=alt.Color(
                "share:Q",
                legend=None,
                scale=alt.Scale(domain=[-1, 0, 1], range=[p.negative, p.background, p.symbol(symbol)], interpolate="rgb"),
            )
        )
        for at, symbol in enumerate(("q", "k", "scores"))
    ]
    chart = alt.layer(*layers).resolve_scale(color="independent").properties(height=3 * 34, autosize=FIT)
    return _many(chart, 3 * d_k)


def parts(
    frame: pd.DataFrame, look: Look, *, names: tuple[str, ...], x_title: str, ends: tuple[float, float]
) -> alt.LayerChart:
    """What each head adds to an output, as a share along it.

    Args:
        frame: at, share, text, mine (1 for the head on screen).
        ends: of the axis of shares.
    """
    p = look.palette
    y = alt.Y(
        "at:O",
        title=None,
        scale=alt.Scale(domain=list(range(len(names))), paddingInner=0.25, paddingOuter=0.1),
        axis=alt.Axis(labelExpr=base.labels_by_position(names), ticks=False, domain=False, labelLimit=240, labelFlush=False),
    )
    x = alt.X("share:Q", title=x_title, scale=alt.Scale(domain=list(ends), nice=False), axis=alt.Axis(format="~%", tickCount=6))
    every = alt.Chart(frame).encode(y=y)
    bar = every.mark_bar(cornerRadiusEnd=2).encode(
        x=x,
        color=alt.ColorValue(value=mix(p.background, p.v, 0.55), condition=[{"test": "datum.mine > 0", "value": p.v}]),
    )
    right = every.transform_filter("datum.share >= 0").mark_text(align="left", dx=6, fontSize=LABEL_SIZE, font=FONT)
    left = every.transform_filter("datum.share < 0").mark_text(align="right", dx=-6, fontSize=LABEL_SIZE, font=FONT)
    texts = [mark.encode(x=x, text=alt.Text("text:N"), color=alt.ColorValue(p.text)) for mark in (right, left)]
    return alt.layer(bar, *texts).properties(height=30 * len(names), autosize=FIT)


# images


def png(
    values: list[list[float]], hidden: list[list[bool]], look: Look, symbol: str, limit: float, pixels: int = 0
) -> bytes:
    """A matrix as a PNG, at least `pixels` wide: weights from 0 to 1, anything else from -limit to limit."""
    x, covered = np.asarray(values, dtype=float), np.asarray(hidden, dtype=bool)
    share = x if symbol == "weights" else (x / limit + 1) / 2
    shades = np.rint(np.clip(np.nan_to_num(share, nan=0.0, posinf=1.0, neginf=0.0), 0, 1) * (SHADES - 1)).astype(np.uint8)
    times = max(1, -(-pixels // len(shades)))
    shades, covered = (a.repeat(times, 0).repeat(times, 1) for a in (shades, covered))
    height, width = shades.shape
    line = (np.arange(height)[:, None] + np.arange(width)) % HATCH == 0
    shades[covered] = SHADES
    shades[covered & line] = SHADES + 1
    if pixels:
        shades[EDGE] = shades[:, EDGE] = SHADES + 1  # weights of 0 have the page's own colour
    lines = np.concatenate([np.zeros((height, 1), np.uint8), shades], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        _chunk(name, data)
        for name, data in ((b"IHDR", header), (b"PLTE", colours(look.palette, symbol)), (b"IDAT", zlib.compress(lines.tobytes(), 6)), (b"IEND", b""))
    )


def image(values: list[list[float]], hidden: list[list[bool]], look: Look, symbol: str, limit: float) -> str:
    """The same as an address that holds its own data."""
    return "data:image/png;base64," + base64.b64encode(png(values, hidden, look, symbol, limit, 384)).decode()


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


@cache
def colours(p: Palette, symbol: str) -> bytes:
    """The palette of a picture of a matrix, as a PNG holds it."""
    top = p.symbol(symbol)
    shares = [n / (SHADES - 1) for n in range(SHADES)]
    if symbol == "weights":
        shades = [mix(p.background, top, s) for s in shares]
    else:
        shades = [mix(p.background, top, 2 * s - 1) if s >= 0.5 else mix(p.background, p.negative, 1 - 2 * s) for s in shares]
    return b"".join(bytes.fromhex(c[1:]) for c in (*shades, p.panel, mix(p.panel, p.muted, 0.6)))

