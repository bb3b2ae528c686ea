"""A chart as a picture in a file: SVG or PNG, drawn by vl-convert without a browser or a network."""

from __future__ import annotations

import base64
import json
import math
import os
import subprocess
import sys
import threading
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

PATIENCE = 120
"""Seconds after which drawing is given up."""

WIDTH, HEIGHT = 560, 280
"""Pixels of the plot where a chart takes the width of its page: with its axes it fills a sheet of A4."""

NARROW, WIDENED = 64, 96
"""Pixels below which a plot is given more: one column of numbers, which on its page is as wide as its panel."""

VERSION = "6.1"
"""Of Vega-Lite, as Altair writes it."""


def complete(spec: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A specification that stands alone: with its data, a size and white paper."""
    out = {**spec, "data": {"values": [{k: on_paper(_finite(v)) for k, v in row.items()} for row in rows]}}
    config = {**out.get("config", {}), "background": "white"}
    config["view"] = {"continuousWidth": WIDTH, "continuousHeight": HEIGHT, **config.get("view", {})}
    config["font"] = "sans-serif"
    out["config"] = config
    if not any(key in out for key in ("facet", "hconcat", "vconcat", "concat", "repeat", "spec")):
        if out.get("width") in (None, "container"):
            out["width"] = WIDTH
        elif out["width"] < NARROW:
            out["width"] = WIDENED
    out.pop("usermeta", None)
    return out


def pictures(kind: str, charts: Sequence[tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]]) -> list[bytes]:
    """Each chart, a specification and its rows, as the bytes of an "svg" or a "png" of twice its size.

    vl-convert holds Python's lock while it draws, a tenth of a second a chart, and keeps 90 MB. So it draws in a process of
    its own that ends with the work, one at a time: nobody else's page waits for it.
    """
    if not charts:
        return []
    asked = json.dumps({"kind": kind, "specs": [complete(spec, rows) for spec, rows in charts]})
    with _one_at_a_time:
        done = subprocess.run(
            [sys.executable, __file__], input=asked.encode(), capture_output=True, timeout=PATIENCE, check=False
        )
    if done.returncode:
        raise RuntimeError(f"the pictures could not be drawn: {done.stderr.decode(errors='replace')[-500:]}")
    return [base64.b64decode(text) for text in json.loads(done.stdout)]


_one_at_a_time = threading.Lock()


PNG = "data:image/png;base64,"


def on_paper(value: Any) -> Any:
    """A picture within the data, drawn in the dark theme's colours, in those of the light one; anything else as it is."""
    if not isinstance(value, str) or not value.startswith(PNG):
        return value
    from qkv_core.charts import heads, positions
    from qkv_core.charts.palette import DARK, LIGHT

    data = base64.b64decode(value[len(PNG) :])
    at = data.find(b"PLTE")
    if at < 0:
        return value
    size = int.from_bytes(data[at - 4 : at], "big")
    colours = data[at + 4 : at + 4 + size]
    light = [positions.colours(LIGHT, size // 3)] + [heads.colours(LIGHT, symbol) for symbol in SYMBOLS]
    dark = [positions.colours(DARK, size // 3)] + [heads.colours(DARK, symbol) for symbol in SYMBOLS]
    if colours not in dark:
        return value
    chunk = b"PLTE" + light[dark.index(colours)]
    made = data[:at] + chunk + zlib.crc32(chunk).to_bytes(4, "big") + data[at + 8 + size :]
    return PNG + base64.b64encode(made).decode()


SYMBOLS = ("weights", "scores", "q", "k", "v", "output")
"""Whose colours a picture of a matrix may have."""


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _draw() -> None:
    """What the process of its own does: reads what is asked, writes the pictures."""
    import vl_convert

    if hasattr(os, "nice"):
        os.nice(10)
    asked = json.load(sys.stdin.buffer)
    out = []
    for spec in asked["specs"]:
        if asked["kind"] == "svg":
            made = vl_convert.vegalite_to_svg(spec, vl_version=VERSION, allowed_base_urls=[]).encode()
        else:
            made = vl_convert.vegalite_to_png(spec, vl_version=VERSION, scale=2, allowed_base_urls=[])
        out.append(base64.b64encode(made).decode())
    sys.stdout.write(json.dumps(out))


if __name__ == "__main__":
    _draw()
