"""The pictures of the shapes page: the path of the axes, the memory around one number, and where numbers came from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from qkv_core.charts.base import LABEL_SIZE, TITLE_SIZE, Look
from qkv_core.charts.palette import DARK, LIGHT, mix

ROW_HEIGHT = 44
HALF = 0.3
"""Half the height of a block; the gap to the next row shows where its axis goes."""
SLOTS = 4
LONG = 4
"""Characters of a name and its size that leave room for a sign between them on a phone."""
MEMORY_X, MEMORY_X2 = 4.22, 4.46
RIGHT_EDGE = 4.7

AXES = {
    False: {"B": "#5d5548", "T": "#0f7f8a", "Tk": "#0f7f8a", "C": "#b4532a", "H": "#b03a7a", "D": "#b07a00"},
    True: {"B": "#c3b8a4", "T": "#5fd4d6", "Tk": "#5fd4d6", "C": "#f0946a", "H": "#f08cc0", "D": "#e9bd55"},
}
"""The colour of each axis, on a light and on a dark page. Every block also carries its letter."""
BLOCK_STRENGTH = 0.3
ORIGIN_STRENGTH = 0.5

FIT = alt.AutoSizeParams(type="fit-x", contains="padding")
"""Fills the width; the height is that of the rows, and axis and legend come on top of it."""

PATH_FIELDS = ("kind", "row", "x", "x2", "y", "y2", "axis", "text", "tip", "chosen", "hollow", "now")
GLYPHS = {"element": "●", "row": "–", "column": "|", "tensor": "", "other": ""}


def path_frame(
    steps: Sequence[Any], flows: Sequence[Sequence[tuple[int | None, int | None]]], chosen: int, rows: int, stop: str = ""
) -> pd.DataFrame:
    """The marks of `path`.

    Args:
        steps: records with key, tensor, axes, shape, stride, contiguous, shares_memory_with_previous.
        flows: for each step but the first, where the axes of the step before go in it.
        chosen: the row that is pointed out; rows: how many rows the path has when none is missing.
        stop: words for the row after the last step, where the path breaks off.
    """
    marks = []

    def mark(kind: str, row: int, **fields: Any) -> None:
        blank = {"x": None, "x2": None, "y": None, "y2": None, "axis": "", "text": "", "tip": "", "hollow": False}
        marks.append({"kind": kind, "row": row, **blank, "chosen": row == chosen, "now": chosen, **fields})

    for row in range(rows):
        tip = _tip(steps[row]) if row < len(steps) else ""
        mark("band", row, x=0, x2=RIGHT_EDGE, y=row - 0.5, y2=row + 0.5, tip=tip)
    for row, step in enumerate(steps):
        letters = _letters(step.axes)
        for slot, (letter, size) in enumerate(zip(letters, step.shape)):
            name = "Tₖ" if letter == "Tk" else step.axes[slot]
            shown = f"{name} = {size}" if len(f"{name}{size}") <= LONG else f"{name} {size}"
            mark("block", row, x=slot + 0.06, x2=slot + 0.94, y=row - HALF, y2=row + HALF, axis=letter, text=shown)
        top = row - 1 + HALF if step.shares_memory_with_previous else row - HALF
        if step.shares_memory_with_previous:
            mark("join", row, x=MEMORY_X, x2=MEMORY_X2, y=top, y2=row - HALF)
        mark("memory", row, x=MEMORY_X, x2=MEMORY_X2, y=row - HALF, y2=row + HALF, hollow=not step.contiguous)
    for row, flow in enumerate(flows):
        before, after = _letters(steps[row].axes), _letters(steps[row + 1].axes)
        for i, j in flow:
            if j is None:
                mark("link", row, x=i + 0.28, x2=i + 0.28, y=row + HALF, y2=row + 0.6, axis=before[i])
                mark("note", row, x=i + 0.16, y=row + 0.49, axis="sum", text="Σ")
            elif i is None:
                symbol = {"scores": "k", "heads": "v"}[steps[row + 1].key]
                mark("link", row, x=j + 0.72, x2=j + 0.72, y=row + 0.4, y2=row + 1 - HALF, axis=after[j])
                mark("note", row, x=j + 0.84, y=row + 0.49, axis=symbol, text=symbol)
            else:
                axis = after[j] if before[i] == "C" else before[i]
                mark("link", row, x=i + 0.5, x2=j + 0.5, y=row + HALF, y2=row + 1 - HALF, axis=axis)
    if stop:
        mark("stop", len(steps), x=0.1, y=len(steps), axis="stop", text=stop)
    return pd.DataFrame(marks, columns=list(PATH_FIELDS))


def path(frame: pd.DataFrame, look: Look, *, names: tuple[str, ...], places_title: str, memory_title: str) -> alt.LayerChart:
    """The shape of every step as a row of blocks, one an axis, with a line from each axis to where it goes next.

    Args:
        frame: see `path_frame`.
        names: the tensor of each row, in order.
        places_title: over the places 0 to 3; memory_title: over the bar that shows which rows share memory.
    """
    p, colours = look.palette, AXES[look.dark]
    last = len(names) - 1
    top = f"datum.value < {SLOTS} ? format(floor(datum.value), 'd') : {json.dumps(memory_title)}"
    x = alt.X(
        "x:Q",
        title=places_title,
        scale=alt.Scale(domain=[0, RIGHT_EDGE], nice=False, zero=False),
        axis=alt.Axis(
            orient="top", values=[0.5, 1.5, 2.5, 3.5, 4.34], labelExpr=top, grid=False, ticks=False, domain=False,
            labelFlush=False, labelOverlap=False, titleAnchor="start",
        ),
    )
    y = alt.Y(
        "y:Q",
        title=None,
        scale=alt.Scale(domain=[-0.5, last + 0.5], nice=False, zero=False, reverse=True),
        axis=alt.Axis(
            values=list(range(len(names))), labelExpr=f"{json.dumps([f'{i + 1}  {n}' for i, n in enumerate(names)])}[datum.value]",
            grid=False, ticks=False, domain=False, labelFont="monospace", labelPadding=8, labelOverlap=False,
        ),
    )
    domain = [*colours, "k", "v", "sum", "stop", ""]
    strong = alt.Scale(domain=domain, range=[*colours.values(), p.k, p.v, p.text, p.wrong, p.text])
    soft = alt.Scale(
        domain=domain,
        range=[*(mix(p.background, c, BLOCK_STRENGTH) for c in colours.values()), p.k, p.v, p.text, p.wrong, p.text],
    )
    base = alt.Chart(frame).encode(x=x, y=y)
    span = {"x2": alt.X2(field="x2"), "y2": alt.Y2(field="y2")}

    def only(kind: str, **more: Any) -> alt.Chart:
        return base.transform_filter(f"datum.kind === '{kind}'").encode(**more)

    band = base.transform_filter("datum.kind === 'band' && datum.chosen").mark_rect(
        color=p.panel, stroke=p.muted, strokeWidth=1.5, cornerRadius=6
    ).encode(**span)
    links = only("link", color=alt.Color("axis:N", scale=strong, legend=None), **span).mark_rule(strokeWidth=3)
    blocks = only(
        "block", fill=alt.Fill("axis:N", scale=soft, legend=None), stroke=alt.Stroke("axis:N", scale=strong, legend=None), **span
    ).mark_rect(cornerRadius=5, strokeWidth=2)
    words = base.transform_filter("datum.kind === 'block'").transform_calculate(
        mx="(datum.x + datum.x2) / 2", my="(datum.y + datum.y2) / 2"
    ).mark_text(fontSize=LABEL_SIZE, fontWeight=600, color=p.text, baseline="middle").encode(
        x=alt.X("mx:Q", title=places_title), y=alt.Y("my:Q", title=None), text=alt.Text("text:N")
    )
    ink = {"text": "text:N", "color": alt.Color("axis:N", scale=strong, legend=None)}
    notes = only("note", **ink).mark_text(fontSize=LABEL_SIZE, fontWeight=700, baseline="middle")
    stops = only("stop", **ink).mark_text(fontSize=TITLE_SIZE, fontWeight=700, baseline="middle", align="left")
    joins = only("join", **span).mark_rect(color=p.muted, opacity=0.45)
    memory = only(
        "memory", fill=alt.condition("datum.hollow", alt.value(p.background), alt.value(p.muted)), **span
    ).mark_rect(stroke=p.muted, strokeWidth=2)
    hit = only("band", tooltip=alt.Tooltip("tip:N", title=" "), **span).mark_rect(
        fillOpacity=0, fill=p.panel, cursor="pointer"
    ).add_params(
        # `now` is part of what is picked, so that a row can be picked again after the slider has moved on
        alt.selection_point(name="pick", fields=["row", "now"], on="click", toggle=False, empty=False)
    )
    layers = alt.layer(band, links, joins, blocks, words, notes, stops, memory, hit)
    return layers.properties(height=ROW_HEIGHT * len(names), autosize=FIT)


def memory(
    frame: pd.DataFrame, look: Look, *, symbol: str, parts: tuple[tuple[str, str], ...], lines: int, title: str
) -> alt.LayerChart:
    """Memory written in lines, one cell a number, coloured by what the number is to the one that is followed.

    Args:
        frame: start (first position of the cell's line), place (in the line), position, part, glyph, part_name.
        symbol: whose colour the followed number has.
        parts: (code, words) of the parts, in the order of the legend.
    """
    p = look.palette
    ink = p.symbol(symbol)
    colours = {
        "element": ink,
        "row": mix(p.background, ink, 0.5),
        "column": mix(p.background, p.scaled, 0.55),
        "tensor": mix(p.background, p.muted, 0.3),
        "other": p.background,
    }
    codes = [code for code, _ in parts]
    words = json.dumps({code: f"{GLYPHS[code]}  {text}".strip() for code, text in parts})
    base = alt.Chart(frame).encode(
        x=alt.X("place:O", axis=None, scale=alt.Scale(paddingInner=0.08, paddingOuter=0)),
        y=alt.Y(
            "start:O",
            title=title,
            scale=alt.Scale(paddingInner=0.12, paddingOuter=0),
            axis=alt.Axis(labelExpr="format(datum.value, ',d')", ticks=False, domain=False),
        ),
        tooltip=[alt.Tooltip("position:Q", title=" ", format=",d"), alt.Tooltip("part_name:N", title="  ")],
    )
    cells = base.mark_rect(stroke=p.muted, strokeWidth=0.8).encode(
        fill=alt.Fill(
            "part:N",
            scale=alt.Scale(domain=codes, range=[colours[code] for code in codes]),
            legend=alt.Legend(labelExpr=f"{words}[datum.value]", symbolType="square", columns=2, symbolSize=220),
        )
    )
    glyphs = base.mark_text(fontSize=15, fontWeight=700, baseline="middle").encode(
        text=alt.Text("glyph:N"),
        color=alt.condition("datum.part === 'element'", alt.value(p.background), alt.value(p.text)),
    )
    return alt.layer(cells, glyphs).properties(height=28 * lines, autosize=FIT)


def origin(
    frame: pd.DataFrame, look: Look, *, tokens: int, heads: int, row_title: str, col_title: str
) -> alt.LayerChart:
    """What each head holds at each place: the token it came from, large, and the channels, small.

    Args:
        frame: head, place, token, channels, label (the token, marked where it is wrong), belongs, wrong (bool).
        tokens: how many tokens the colours span; heads: rows on the screen.
    """
    p, ink = look.palette, AXES[look.dark]["T"]
    shades = [mix(p.background, ink, 0.08), mix(p.background, ink, ORIGIN_STRENGTH)]
    base = alt.Chart(frame).encode(
        x=alt.X(
            "place:O", title=col_title, scale=alt.Scale(paddingInner=0.06, paddingOuter=0),
            axis=alt.Axis(orient="top", labelAngle=0, ticks=False, domain=False),
        ),
        y=alt.Y(
            "head:O", title=row_title, scale=alt.Scale(paddingInner=0.08, paddingOuter=0),
            axis=alt.Axis(ticks=False, domain=False),
        ),
        tooltip=[
            alt.Tooltip("head:O", title=row_title),
            alt.Tooltip("place:O", title=col_title),
            alt.Tooltip("channels:N", title=" "),
            alt.Tooltip("belongs:N", title="  "),
        ],
    )
    cells = base.mark_rect(cornerRadius=4).encode(
        color=alt.Color("token:Q", scale=alt.Scale(domain=[0, max(tokens - 1, 1)], range=shades), legend=None),
        stroke=alt.condition("datum.wrong", alt.value(p.wrong), alt.value(p.muted)),
        strokeWidth=alt.condition("datum.wrong", alt.value(2.5), alt.value(1)),
    )
    big = base.mark_text(fontSize=19, fontWeight=600, dy=-8, color=p.text).encode(text=alt.Text("label:N"))
    small = base.mark_text(fontSize=14, dy=13, color=p.text).encode(text=alt.Text("channels:N"))
    return alt.layer(cells, big, small).properties(height=56 * heads, autosize=FIT)


def axis_palettes() -> Mapping[str, tuple[str, dict[str, str], str]]:
    """(background, axis colours, text) of both themes, for the test of their contrast."""
    return {"light": (LIGHT.background, AXES[False], LIGHT.text), "dark": (DARK.background, AXES[True], DARK.text)}


def _letters(axes: Sequence[str]) -> list[str]:
    """The axes by colour: 3C is a wider C, and a second T are the keys."""
    return ["C" if a == "3C" else "Tk" if a == "T" and "T" in axes[:i] else a for i, a in enumerate(axes)]


def _tip(step: Any) -> str:
    return f"{step.tensor}  {step.shape}  stride {step.stride}"
