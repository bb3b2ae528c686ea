"""What all charts share: the look of a viewer's page, and the matrix drawn as numbers in coloured cells.

Pure functions: a frame and labels in, an Altair chart out. Fields are plain identifiers; an axis is keyed by position
and words are only its labels, so a repeated word keeps its own row.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import altair as alt
import pandas as pd

from qkv_core.charts.palette import DARK, LIGHT, Palette, contrast, mix

LABEL_SIZE = 15
TITLE_SIZE = 16
TEXT_CELLS = 16
"""Largest number of columns whose cells still carry their number."""
NARROWEST = 22
"""Width in pixels of the narrowest cell that carries its number, e.g. on a phone; below, a touch shows it."""
RECT_CELLS = 32
"""Largest side drawn as rectangles; above it a picture is sharper and ten times lighter."""

SPANISH = {"decimal": ",", "thousands": "\u202f", "grouping": [3], "currency": ["", "\u00a0\u20ac"]}


@dataclass(frozen=True)
class Look:
    """How one viewer sees a chart: the theme of the page and the language of its numbers."""

    dark: bool = False
    lang: str = "en"

    @property
    def palette(self) -> Palette:
        return DARK if self.dark else LIGHT

    def config(self) -> dict[str, Any]:
        """Vega-Lite configuration: legible axes in the theme's own ink, and the language's number signs."""
        p = self.palette
        axis = {
            "labelColor": p.text,
            "titleColor": p.text,
            "labelFontSize": LABEL_SIZE,
            "titleFontSize": TITLE_SIZE,
            "titleFontWeight": 400,
            "gridColor": p.grid,
            "domainColor": p.muted,
            "tickColor": p.muted,
            "labelLimit": 240,
        }
        legend = {
            "labelColor": p.text,
            "titleColor": p.text,
            "labelFontSize": LABEL_SIZE,
            "titleFontSize": TITLE_SIZE,
            "orient": "top",
            "title": None,
            "symbolStrokeWidth": 3,
            "labelLimit": 400,
        }
        header = {"labelColor": p.text, "titleColor": p.text, "labelFontSize": LABEL_SIZE, "titleFontSize": TITLE_SIZE}
        out: dict[str, Any] = {
            "axis": axis,
            "legend": legend,
            "header": header,
            "title": {"color": p.text, "fontSize": TITLE_SIZE, "fontWeight": 600, "anchor": "start"},
            "view": {"stroke": None},
            "background": "transparent",
        }
        if self.lang == "es":
            out["locale"] = {"number": SPANISH}
        return out


def labels_by_position(labels: tuple[str, ...]) -> str:
    """A Vega expression that writes the label of an axis position. The words stand in it as JSON text only."""
    return f"{json.dumps(list(labels))}[datum.value]"


def nice_limit(largest: float) -> float:
    """The next of 1, 2, 5 x 10^n at or above `largest`: a colour scale that seldom changes while a slider moves."""
    if not math.isfinite(largest) or largest <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(largest))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= largest * (1 - 1e-9))


def colour_scale(look: Look, symbol: str, limit: float, numbers: bool) -> alt.Scale:
    """Sequential 0 to 1 for weights, else symmetric around 0. Soft where numbers stand in the cells, full elsewhere."""
    p = look.palette
    top, bottom = p.symbol(symbol), p.negative
    if numbers:
        top, bottom = _soft(p, top), _soft(p, bottom)
    if symbol == "weights":
        return alt.Scale(domain=[0, 1], range=[p.background, top], interpolate="rgb")
    return alt.Scale(domain=[-limit, 0, limit], range=[bottom, p.background, top], interpolate="rgb")


@cache
def _soft(p: Palette, colour: str) -> str:
    """The strongest mix of a colour with the page's own on which the page's text still reads at 4.6:1."""
    shares = (s / 100 for s in range(65, 0, -1))
    return next(c for s in shares if contrast(p.text, c := mix(p.background, colour, s)) >= 4.6)


def matrix(
    frame: pd.DataFrame,
    look: Look,
    *,
    symbol: str,
    row_labels: tuple[str, ...],
    col_labels: tuple[str, ...],
    row_title: str = "",
    col_title: str = "",
    value_title: str = "",
    limit: float = 1.0,
    numbers: bool = True,
    pick: bool = False,
    cell: int = 0,
    row_height: int = 0,
    row_axis: bool = True,
) -> alt.Chart:
    """A matrix as cells in reading order, each with its number where they fit.

    Args:
        frame: one row a cell: row, col (positions from 0), value (NaN where there is none), text (as written in the
            cell), chosen (bool: outlined).
        symbol: whose colour fills the cells ("weights" runs 0 to 1, any other is symmetric to +-limit).
        row_labels, col_labels: one a position.
        pick: a click on a cell selects it; the selection is named "pick" and holds row and col, and turn where the frame
            has such a column: a value that changes with the chosen cell lets a second click on the same cell count.
        cell: side of a cell in pixels; 0 chooses one for the number of columns. Numbers shrink with narrower cells.
        row_height: height of a row in pixels; 0 chooses one.
    """
    rows, cols = len(row_labels), len(col_labels)
    side = cell or (64 if cols <= 6 else 52 if cols <= 10 else 40 if cols <= TEXT_CELLS else 16)
    height = row_height or (40 if numbers and cols <= TEXT_CELLS else side)
    x = alt.X(
        "col:O",
        title=col_title or None,
        scale=alt.Scale(domain=list(range(cols)), paddingInner=0.04, paddingOuter=0),
        axis=alt.Axis(
            labelExpr=labels_by_position(col_labels), labelAngle=0, labelFlush=False, orient="top", ticks=False, domain=False, labelLimit=side + 20
        ),
    )
    y = alt.Y(
        "row:O",
        title=row_title or None,
        scale=alt.Scale(domain=list(range(rows)), paddingInner=0.05, paddingOuter=0),
        axis=alt.Axis(labelExpr=labels_by_position(row_labels), labelFlush=False, ticks=False, domain=False, labelLimit=120)
        if row_axis
        else None,
    )
    tooltip = [
        alt.Tooltip("row_label:N", title=row_title or " "),
        alt.Tooltip("col_label:N", title=col_title or "  "),
        alt.Tooltip("text:N", title=value_title or symbol),
    ]
    p = look.palette
    base = alt.Chart(frame).encode(x=x, y=y, tooltip=tooltip)
    cells = base.mark_rect(cornerRadius=3).encode(
        color=alt.Color("value:Q", scale=colour_scale(look, symbol, limit, numbers), legend=None),
        stroke=alt.StrokeValue(mix(p.background, p.text, 0.12), condition={"test": "datum.chosen", "value": p.text}),
        strokeWidth=alt.StrokeWidthValue(1, condition={"test": "datum.chosen", "value": 3}),
    )
    if pick:
        fields = ["row", "col", *({"turn"} & set(frame.columns))]
        cells = cells.add_params(alt.selection_point(name="pick", fields=fields, on="click", empty=False))
    layers = [cells]
    if numbers and cols <= TEXT_CELLS:
        layers.append(
            base.mark_text(fontSize=number_size(cols), font="Source Sans, sans-serif").encode(
                text=alt.Text("text:N"), color=alt.ColorValue(p.text)
            )
        )
    return alt.layer(*layers).properties(width=side * cols, height=height * rows)


def number_size(cols: int) -> alt.ExprRef:
    """The size of the numbers in cells: that of the axes, smaller in narrow cells, and none where nobody could read them."""
    return alt.ExprRef(f"width / {cols} < {NARROWEST} ? 0 : min({LABEL_SIZE}, width / {cols} / 2.8)")


VALIDATES = False
"""Is a specification held against Vega-Lite's schema? That takes a third of its time; the tests do it."""


def spec(chart: alt.Chart | alt.LayerChart | Any, look: Look) -> dict[str, Any]:
    """The Vega-Lite specification of a chart without its data, for st.vega_lite_chart(frame, spec)."""
    out = chart.to_dict(validate=VALIDATES)
    for name in ("data", "datasets", "config", "$schema"):
        out.pop(name, None)
    out["config"] = look.config()
    return out


def cells(values: Any, texts: Any, row_labels: tuple[str, ...], col_labels: tuple[str, ...], chosen: Any = ()) -> pd.DataFrame:
    """The frame that `matrix` draws, from a nested list of numbers and one of texts."""
    chosen = set(chosen)
    return pd.DataFrame(
        [
            {
                "row": i,
                "col": j,
                "value": value if math.isfinite(value) else None,
                "text": texts[i][j],
                "row_label": row_labels[i],
                "col_label": col_labels[j],
                "chosen": (i, j) in chosen,
            }
            for i, row in enumerate(values)
            for j, value in enumerate(row)
        ]
    )
