"""One viewer's timing of real layers on this machine: asked for, queued, told, stopped, and kept in the session alone.

A timing is a measurement, not a computation: another moment or machine gives other numbers. So nobody else is shown it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
import streamlit as st

from qkv_core import complexity as core
from qkv_core.ui import queue

LIMIT = 3
"""Seconds that the viewer is told; it holds once it is the viewer's turn."""
SECONDS = 2.4
"""Of measuring, so that the whole stays below LIMIT."""
BUSY = 0.9
"""Share of a core below which the viewer is told that the machine was busy."""
FITTED = 24
"""Points that draw a fitted line."""
ASKED, RUNNING, RESULT = "_timing_asked", "_timing_running", "_timing_result"


@dataclass(frozen=True, eq=False)
class Timing:
    """points: of core.measure, in seconds and ms; found: of core.exponents; when: the time of day; share: of a core
    that the measuring thread had; the rest: how."""

    points: pd.DataFrame
    found: pd.DataFrame
    when: str
    device: str
    clock: str
    k: int
    r: int
    samples: int
    share: float

    def marks(self, axis: str, names: tuple[tuple[str, str], ...]) -> pd.DataFrame:
        """The points of one axis and the fitted lines through them. names: (code, name) of the layers."""
        swept = self.points[(self.points["sweep"] == axis) & self.points["seconds"].notna()]
        measured = swept[["layer", "size", "ms"]].assign(kind="point")
        lines = []
        for layer, part in swept.groupby("layer", sort=False):
            fit = part.iloc[0]
            low, high = math.log(part["size"].min()), math.log(part["size"].max())
            if math.isnan(fit["exponent"]):
                continue
            for i in range(FITTED + 1):
                size = math.exp(low + (high - low) * i / FITTED)
                ms = 1e3 * (fit["c0"] + fit["c1"] * size ** fit["exponent"])
                lines.append({"layer": layer, "size": size, "ms": ms, "kind": "fit"})
        frame = pd.concat([measured, pd.DataFrame(lines, columns=measured.columns)], ignore_index=True)
        return frame.assign(name=frame["layer"].map(dict(names)))

    def ends(self, axis: str) -> tuple[float, float]:
        """The ends of the axis of sizes."""
        sizes = self.points[self.points["sweep"] == axis]["size"]
        return float(sizes.min()) / 1.15, float(sizes.max()) * 1.15


def ask() -> None:
    """Callback of the button that measures."""
    st.session_state[ASKED] = True


def cancel() -> None:
    """Callback of the button that stops. Pressing it starts a run, and that alone ends the one that measures."""
    st.session_state[ASKED] = False


def begin() -> tuple[bool, bool]:
    """(Is a measurement asked for in this run? Was one stopped since the last?) Asks once: a later run does not repeat it."""
    return bool(st.session_state.pop(ASKED, False)), bool(st.session_state.pop(RUNNING, False))


def result() -> Timing | None:
    """The last measurement of this viewer."""
    return st.session_state.get(RESULT)


def run(device: str, seed: int, k: int, r: int, progress: Any, waiting: queue.Waiting) -> None:
    """Measures in this viewer's turn and keeps the result; what `progress` or `waiting` raises ends it, with nothing kept."""
    st.session_state[RUNNING] = True
    with queue.heavy(waiting, long=True) as let_others:

        def slice_done(share: float) -> None:
            progress(share)
            let_others()

        sizes = {"k": min(k, core.MAX_SWEEP_K), "r": min(r, core.MAX_SWEEP_R)}
        points = core.measure(SECONDS, **sizes, seed=seed, device=device, progress=slice_done)
    st.session_state[RESULT] = _timing(points)
    st.session_state.pop(RUNNING, None)


def _timing(points: pd.DataFrame) -> Timing:
    points = points.assign(
        ms=1e3 * points["seconds"], median_ms=1e3 * points["median"], fitted_ms=1e3 * points["fitted"]
    )
    one = points.iloc[0]
    return Timing(
        points, core.exponents(points), now(), str(one["device"]), str(one["clock"]), int(one["k"]), int(one["r"]), int(points["samples"].min()),
        float(one["share"]),
    )  # fmt: skip


def now() -> str:
    """The time of day where the viewer is, or in UTC where that is not known."""
    try:
        here: Any = ZoneInfo(st.context.timezone or "UTC")
    except (KeyError, ValueError, OSError):  # no such zone, or no list of zones on this machine
        here = timezone.utc
    moment = datetime.now(here)
    return f"{moment:%H:%M:%S} {moment.tzname() or ''}".strip()
