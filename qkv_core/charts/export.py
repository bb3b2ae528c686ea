"""A chart as a picture in a file: SVG or PNG, drawn by vl-convert without a browser or a network."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

WIDTH, HEIGHT = 560, 280
"""Pixels of the plot where a chart takes the width of its page: with its axes it fills a sheet of A4."""

NARROW = 48
"""Pixels below which a plot is given twice as many: one column of numbers, which on its page is as wide as its panel."""

VERSION = "6.1"
"""Of Vega-Lite, as Altair writes it."""


def complete(spec: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A specification that stands alone: with its data, a size and white paper."""
    out = {**spec, "data": {"values": [{k: _finite(v) for k, v in row.items()} for row in rows]}}
    config = {**out.get("config", {}), "background": "white"}
    config["view"] = {"continuousWidth": WIDTH, "continuousHeight": HEIGHT, **config.get("view", {})}
    config["font"] = "sans-serif"
    out["config"] = config
    if not any(key in out for key in ("facet", "hconcat", "vconcat", "concat", "repeat", "spec")):
        if out.get("width") in (None, "container"):
            out["width"] = WIDTH
        elif out["width"] < NARROW:
            out["width"] = 2 * NARROW
    out.pop("usermeta", None)
    return out


def svg(spec: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """The chart as the text of an SVG."""
    import vl_convert

    return vl_convert.vegalite_to_svg(complete(spec, rows), vl_version=VERSION, allowed_base_urls=[])


def png(spec: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> bytes:
    """The chart as a PNG of twice its size, sharp on a projector."""
    import vl_convert

    return vl_convert.vegalite_to_png(complete(spec, rows), vl_version=VERSION, scale=2, allowed_base_urls=[])


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
