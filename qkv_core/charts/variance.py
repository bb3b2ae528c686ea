"""The pictures of the variance page: two histograms on one axis, and the variance at every d_k."""

from __future__ import annotations

import altair as alt
import pandas as pd

from qkv_core.charts.base import TITLE_SIZE, Look

DASH = [7, 4]
"""How the arm that is not divided is drawn."""


def bells(frame: pd.DataFrame, look: Look, *, x_title: str, y_title: str, count_title: str) -> alt.LayerChart:
    """The values of q.k, not divided (a dashed outline) and divided (filled), over the normal curve predicted for each.

    Args:
        frame: kind ("edge": outline of a histogram; "bin": for the tooltip; "predicted", "exact": curves; "name"; "end":
            how far the axes reach), arm ("unscaled" | "scaled"), x, y, x2 (right edge of a bin), count, text (of a name).
            The reach of the axes is data, so that the specification stays the same while d_k moves.
    """
    p = look.palette
    x = alt.X("x:Q", title=x_title, scale=alt.Scale(nice=False, zero=True), axis=alt.Axis(tickCount=9, grid=False, labelFlush=False))
    y = alt.Y("y:Q", title=y_title, scale=alt.Scale(nice=False, zero=True), axis=alt.Axis(tickCount=5))
    whole = alt.Chart(frame).encode(x=x, y=y)

    def only(kind: str, arm: str = "") -> alt.Chart:
        test = f"datum.kind === '{kind}'" + (f" && datum.arm === '{arm}'" if arm else "")
        return whole.transform_filter(test)

    step = {"interpolate": "step-after", "clip": True}
    layers = [
        only("end").mark_point(opacity=0),
        only("edge", "scaled").mark_area(**step, color=p.scaled, opacity=0.45),
        only("edge", "scaled").mark_line(**step, color=p.scaled, strokeWidth=1.5),
        only("edge", "unscaled").mark_area(**step, color=p.unscaled, opacity=0.25),
        only("edge", "unscaled").mark_line(**step, color=p.unscaled, strokeWidth=2.5, strokeDash=DASH),
        only("predicted").mark_line(interpolate="monotone", color=p.theory, strokeWidth=1.2, clip=True).encode(detail=alt.Detail("arm:N")),
        only("exact")
        .mark_line(interpolate="monotone", color=p.theory, strokeWidth=2, strokeDash=[1, 3], clip=True)
        .encode(detail=alt.Detail("arm:N")),
        only("bin")
        .mark_bar(opacity=0)
        .encode(
            x2=alt.X2("x2:Q"),
            tooltip=[
                alt.Tooltip("x:Q", title=x_title, format=".2f"),
                alt.Tooltip("x2:Q", title="…", format=".2f"),
                alt.Tooltip("count:Q", title=count_title, format=",d"),
                alt.Tooltip("y:Q", title=y_title, format=".4f"),
            ],
        ),
    ]
    for arm, colour in (("scaled", p.scaled), ("unscaled", p.unscaled)):
        layers.append(
            only("name", arm)
            .mark_text(align="left", dx=6, dy=-6, fontSize=TITLE_SIZE, fontWeight=600, color=colour)
            .encode(text=alt.Text("text:N"))
        )
    return alt.layer(*layers).properties(height=430)


def curve(
    frame: pd.DataFrame,
    look: Look,
    *,
    axis: str,
    low: float,
    high: float,
    x_title: str,
    y_title: str,
    names: tuple[str, str],
    tips: tuple[str, ...],
) -> alt.LayerChart:
    """The variance of q.k at every d_k, not divided (dashed, with its interval) and divided, over what theory says.

    Args:
        frame: d_k, unscaled, low, high, scaled, theory, theory_scaled, chosen, tip, last (bool: where a tooltip and
            where the names of the lines stand). With axis "ratio" all of them as a share of the theory.
        axis: "log" (both axes), "linear", or "ratio" (d_k logarithmic). low, high: ends of a logarithmic axis.
        names: of the two arms. tips: headings of d_k, unscaled, scaled and theory in the tooltip.
    """
    p = look.palette
    powers = [2**i for i in range(11)] if axis != "linear" else [1, *range(128, 1025, 128)]
    x = alt.X(
        "d_k:Q",
        title=x_title,
        scale=alt.Scale(type="linear" if axis == "linear" else "log", base=2 if axis != "linear" else alt.Undefined, domain=[1, 1024], nice=False),
        axis=alt.Axis(values=powers, format=",d", labelFlush=False, grid=axis != "ratio"),
    )
    if axis == "log":
        decades = [10**e for e in range(-4, 7) if low <= 10**e <= high]
        scale, ticks = alt.Scale(type="log", domain=[low, high], nice=False), alt.Axis(format=",~g", values=decades)
    else:
        scale = alt.Scale(zero=axis == "linear", padding=6)
        ticks = alt.Axis(format="%" if axis == "ratio" else ",.12~g", tickCount=6)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", title=y_title, scale=scale, axis=ticks)

    whole = alt.Chart(frame).encode(x=x)
    number = ".1%" if axis == "ratio" else ",.4~g"
    tooltip = [alt.Tooltip("d_k:Q", title=tips[0], format=",d"), alt.Tooltip("unscaled:Q", title=tips[1], format=number)]
    if axis != "ratio":
        tooltip += [
            alt.Tooltip("scaled:Q", title=tips[2], format=".4~g"),
            alt.Tooltip("theory:Q", title=tips[3], format=",.4~g"),
        ]
    layers = [
        whole.transform_filter("datum.chosen").mark_rule(color=p.muted, strokeWidth=1.5, strokeDash=[2, 3]),
        whole.mark_area(color=p.unscaled, opacity=0.2).encode(y=y("low"), y2=alt.Y2("high:Q")),
        whole.mark_line(color=p.unscaled, strokeWidth=3, strokeDash=DASH).encode(y=y("unscaled")),
        whole.mark_line(color=p.theory, strokeWidth=1.2).encode(y=y("theory")),
    ]
    named = [("unscaled", names[0] if axis != "ratio" else "", p.unscaled, -16)]
    if axis != "ratio":
        layers += [
            whole.mark_line(color=p.scaled, strokeWidth=3).encode(y=y("scaled")),
            whole.mark_line(color=p.theory, strokeWidth=1.2).encode(y=y("theory_scaled")),
        ]
        named.append(("scaled", names[1], p.scaled, -16))
    dots = whole.transform_filter("datum.chosen")
    for field, name, colour, dy in named:
        layers.append(
            whole.transform_filter("datum.last")
            .mark_text(align="right", dy=dy, fontSize=TITLE_SIZE, fontWeight=600, color=colour)
            .encode(y=y(field), text=alt.TextValue(name))
        )
        layers.append(
            dots.mark_point(filled=True, size=110, opacity=1, color=colour, stroke=p.background, strokeWidth=2).encode(y=y(field))
        )
    layers.append(
        whole.transform_filter("datum.tip").mark_rule(opacity=0, strokeWidth=8).encode(tooltip=tooltip)
    )
    return alt.layer(*layers).properties(height=380)
