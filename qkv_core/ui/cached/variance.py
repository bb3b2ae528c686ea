"""What the variance page shows: one pass over the pairs for every d_k from 1 to 1024, kept for all viewers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd
import streamlit as st

from qkv_core import device, variance as core
from qkv_core.settings import POWERS
from qkv_core.text import number
from qkv_core.text.variance import EXACT_UP_TO
from qkv_core.ui import queue
from qkv_core.variance import Assumptions, DotHistogram, Law

D_MAX = POWERS[-1]
BINS = {1: 15, 100: 15, 1_000: 31}
"""Bins of a histogram of few pairs; of more, 61."""
LONG = 1 << 26
"""Entries drawn from which a run on the CPU takes seconds, and shows its progress."""
BRUTE = 1 << 22
"""Entries that the brute force computes: a tenth of a second."""
TOLERANCE = 1e-4
"""Relative. Signs, whose squares are all alike, round alike: 8e-6 in a float32 sum of 16,384 of them."""
LINEAR_PAIRS = 100_000
"""Most pairs through real layers: each token costs two products with matrices of up to 1024 x 1024."""
FEW = 0.03
"""Tooltips of the curve stand at every d up to 32, and then this share apart."""
POINTS = 257
"""Points of the curve's picture, some four pixels apart: each costs the browser time at every step of a slider."""
NAMED = 700
"""The d_k above which the names of the lines stand."""


@dataclass(frozen=True, eq=False)
class Study:
    """One pass over n pairs.

    curve: frame of core.variance_table for every d_k from 1 to D_MAX. histograms: by d_k, for every power of two.
    device: where it was drawn. brute_d, brute: the d_k that was computed again by brute force, and the relative
    difference to the curve (nan for one pair).
    """

    a: Assumptions
    n: int
    seed: int
    curve: pd.DataFrame
    histograms: dict[int, DotHistogram]
    device: str
    brute_d: int
    brute: float

    @property
    def key(self) -> tuple:
        """What the study is of, in plain values."""
        return (self.n, self.seed, self.a, self.device)

    def row(self, d_k: int) -> pd.Series:
        return self.curve.iloc[d_k - 1]

    def law(self, d_k: int) -> Law:
        return core.theory(d_k, self.a)


@st.cache_resource(show_spinner=False)
def _studies() -> queue.Kept:
    return queue.Kept(24)


def assumptions(distribution: str, mean: float, rho: float, linear: bool, width: int, bias: bool) -> Assumptions:
    """What the settings say; the width and the bias of layers count only where there are layers."""
    if linear:
        return Assumptions(distribution, linear=True, d_model=width, bias=bias)
    return Assumptions(distribution, mean, rho)


def study(
    n: int,
    seed: int,
    a: Assumptions,
    device_name: str,
    progress: Callable[[float], None] = lambda share: None,
    waiting: queue.Waiting | None = None,
) -> Study:
    """The pass for these settings. Drawn once for all viewers; `progress` and `waiting` may end it by raising."""
    where = device.resolve(device_name).type
    key = (n, seed, a, where)
    if found := _studies().get(key):
        return found
    with queue.heavy(waiting, long=n * D_MAX >= LONG) as let_others:
        if found := _studies().get(key):  # another viewer asked for the same, and this one has waited
            return found

        def slice_done(share: float) -> None:
            progress(share)
            let_others()

        curve, histograms = core.variance_study(
            range(1, D_MAX + 1), POWERS, n, seed, a, BINS.get(n, 61), where, slice_done
        )
        drawn = curve.attrs["device"]
        brute_d = max((d for d in POWERS[:7] if d * n <= BRUTE), default=1)
        brute = core.plain_variance(brute_d, n, seed, a, drawn)
        difference = relative(brute, curve.unscaled[brute_d - 1], curve.theory[brute_d - 1])
        return _studies().put(key, Study(a, n, seed, curve, histograms, drawn, brute_d, difference))


def kappa(a: Assumptions) -> float:
    """The kurtosis of one entry."""
    return core.MOMENTS[a.distribution][1]


def relative(one: float, other: float, unit: float) -> float:
    """The difference of two variances in units of the one that theory expects, or as it is where that is 0."""
    return abs(one - other) / (unit or 1.0)


def checks(run: Study, d_k: int) -> dict[str, tuple[float, float]]:
    """Largest differences and tolerances, by name. One pair has no variance to compare."""
    h = run.histograms[d_k]
    counted = h.frame[h.frame.arm == "unscaled"]["count"].sum() + round(h.outside * run.n)
    out = {"counted": (abs(float(counted - run.n)), 0.0)}
    if run.n > 1:
        row = run.row(d_k)
        identity = (run.curve.scaled - run.curve.unscaled / run.curve.d_k).abs()
        per_d = run.curve.theory / run.curve.d_k
        out["same"] = (relative(h.variance, row.unscaled, row.theory), TOLERANCE)
        out["brute"] = (run.brute, TOLERANCE)
        out["identity"] = (float((identity / per_d.where(per_d > 0, 1.0)).max(skipna=False)), TOLERANCE)
    return out


def inside(curve: pd.DataFrame) -> int:
    """How many of the intervals hold the theory."""
    return int(((curve.unscaled_low <= curve.theory) & (curve.theory <= curve.unscaled_high)).sum())


def growth(run: Study) -> float:
    """The power of d_k with which the unscaled variance grows: the slope of the curve on logarithmic axes."""
    if run.n < 2 or not (run.curve.unscaled > 0).all():
        return math.nan
    return float(np.polyfit(np.log(run.curve.d_k), np.log(run.curve.unscaled), 1)[0])


# --- the histogram ------------------------------------------------------------------------------------------------


TOPS = (0.45, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 40.0)
REACHES = (1.0, 2.0, 4.0)
"""Steps of the axis of values, per power of ten. Neighbouring d_k share an axis, so that a hill is seen to widen."""


def bells(run: Study, d_k: int, names: tuple[str, str], lang: str) -> pd.DataFrame:
    """The marks of both histograms at d_k; names of the two arms, to be written beside them."""
    return _bells(run, run.key, d_k, names, lang)


@st.cache_data(show_spinner=False, max_entries=512)
def _bells(_run: Study, key: tuple, d_k: int, names: tuple[str, str], lang: str) -> pd.DataFrame:
    h, marks = _run.histograms[d_k], []

    def mark(kind: str, arm: str, x: float, y: float, **more) -> None:
        marks.append({"kind": kind, "arm": arm, "x": x, "y": y, "x2": math.nan, "count": math.nan, "text": "", **more})

    for arm, name, unit in (("unscaled", names[0], 1.0), ("scaled", names[1], math.sqrt(d_k))):
        f = h.frame[h.frame.arm == arm]
        if not f["count"].sum():
            continue
        mark("edge", arm, f.left.iloc[0], 0.0)
        for b in f.itertuples():
            mark("edge", arm, b.left, b.density)
            mark("bin", arm, b.left, b.density, x2=b.right, count=b.count)
            if h.law.variance:
                mark("predicted", arm, (b.left + b.right) / 2, b.predicted)
            if d_k <= EXACT_UP_TO and not math.isnan(b.exact):
                mark("exact", arm, (b.left + b.right) / 2, b.exact)
        mark("edge", arm, f.right.iloc[-1], 0.0)
        spread = math.sqrt(h.variance) if _run.n > 1 else 0.0
        mean, expected = h.mean / unit, math.sqrt(h.law.variance) / unit
        peak = f.predicted.max() if h.law.variance else f.density.max()
        at, height = (1.0, 0.80) if arm == "scaled" else (1.6, 0.45)
        text = f"{name}: σ {number(spread / unit, '.2f', lang)}" if _run.n > 1 else name
        mark("name", arm, mean + at * expected, height * peak, text=text)
    tall = max(m["y"] for m in marks if m["kind"] in ("edge", "predicted"))
    top = next((t for t in TOPS if t >= tall * 1.04), tall * 1.1)
    xs = [m["x"] for m in marks if m["kind"] != "name"]
    mark("end", "", -_reach(-min(xs)), 0.0)
    mark("end", "", _reach(max(xs)), top)
    for m in marks:
        if m["kind"] == "name" and m["arm"] == "unscaled":
            m["y"] += 0.03 * top  # clear of the lowest hills
    return pd.DataFrame(marks)


def _reach(largest: float) -> float:
    """The next of REACHES times a power of ten."""
    if largest <= 0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(largest))
    return next(step * power for step in (*REACHES, 10.0) if step * power >= largest * (1 - 1e-9))


def bins(run: Study, d_k: int, names: tuple[str, str]) -> pd.DataFrame:
    """The bins as a person reads them."""
    f = run.histograms[d_k].frame
    return f.assign(arm=f.arm.map(dict(zip(("unscaled", "scaled"), names))))


# --- the table and the curve --------------------------------------------------------------------------------------


def table(run: Study, d_ks: tuple[int, ...]) -> pd.DataFrame:
    """The rows of the curve for these d_k."""
    return run.curve.iloc[[d - 1 for d in d_ks]].reset_index(drop=True)


@dataclass(frozen=True, eq=False)
class Curve:
    """The marks of the curve, how many d_k have no place on it because their variance is 0 or unknown, and its ends."""

    frame: pd.DataFrame
    left_out: int
    low: float
    high: float


def curve(run: Study, d_k: int, axis: str) -> Curve:
    """The curve on the axes that are asked for."""
    c = run.curve
    out = pd.DataFrame(
        {
            "d_k": c.d_k, "unscaled": c.unscaled, "low": c.unscaled_low, "high": c.unscaled_high, "scaled": c.scaled,
            "theory": c.theory, "theory_scaled": c.theory / c.d_k, "chosen": c.d_k == d_k,
        }
    )  # fmt: skip
    if axis == "ratio":
        with np.errstate(invalid="ignore", divide="ignore"):
            for name in ("unscaled", "low", "high"):
                out[name] = out[name] / c.theory
        out["scaled"] = out["theory"] = out["theory_scaled"] = 1.0
    kept = out[np.isfinite(out.unscaled) & ((out.unscaled > 0) | (axis == "linear"))]
    left_out = len(out) - len(kept)
    kept = kept[kept.d_k.isin([*_spread_out(axis), NAMED, d_k])].copy()
    thinned = np.unique((np.geomspace(1, D_MAX, round(math.log(D_MAX) / FEW))).round()).astype(int)
    kept["tip"] = kept.d_k.isin([*range(1, 33), *thinned, d_k])
    kept["last"] = kept.d_k == NAMED
    low, high = 0.0, 0.0
    if axis == "log" and len(kept):
        shown = kept[["unscaled", "low", "scaled", "theory_scaled"]].min().min(), kept[["unscaled", "high"]].max().max()
        low = 10 ** (math.floor(4 * math.log10(shown[0] * 0.9)) / 4)
        high = 10 ** (math.ceil(4 * math.log10(shown[1] * 1.1)) / 4)
    return Curve(kept, left_out, low, high)


@lru_cache
def _spread_out(axis: str) -> tuple[int, ...]:
    """The d_k that the picture draws: as many as a line of its width can tell apart. The table behind it has all."""
    even = np.linspace(1, D_MAX, POINTS) if axis == "linear" else np.geomspace(1, D_MAX, POINTS)
    return tuple(int(d) for d in np.unique(even.round()))


# --- the question -------------------------------------------------------------------------------------------------


FACTORS = (1, 2, 4, 16)


@dataclass(frozen=True)
class Question:
    """From d_k small to large, the standard deviation grows by `measured`; nearest names the answer."""

    small: int
    large: int
    sd_small: float
    sd_large: float

    @property
    def measured(self) -> float:
        return self.sd_large / self.sd_small

    @property
    def nearest(self) -> int:
        return min(range(len(FACTORS)), key=lambda i: abs(math.log(self.measured / FACTORS[i])))


def question(run: Study, d_k: int) -> Question | None:
    """A question about two histograms of this run; None where their standard deviations do not exist or are 0."""
    step = 16 if run.seed % 2 and d_k * 16 <= D_MAX else 4
    small, large = (d_k, d_k * step) if d_k * step <= D_MAX else (d_k // step, d_k)
    sds = [math.sqrt(run.row(d).unscaled) if run.row(d).unscaled > 0 else math.nan for d in (small, large)]
    return None if any(math.isnan(sd) for sd in sds) else Question(small, large, *sds)


CODE = (core.variance_study, core._partial_dots, core._sums, core.sample_variance, core.theory)
"""The functions that computed what is on screen."""
