"""What the saturation page shows, computed once for all viewers of the same settings. Small records and frames."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd
import streamlit as st
import torch
import torch.nn.functional as F

from qkv_core import saturation as core
from qkv_core import settings
from qkv_core.attention import SCALES, divisor
from qkv_core.bring import Brought

MEASURES = ("peak", "entropy", "effective", "jacobian")
"""In the order of the page."""
D_KS = settings.POWERS
FAR = 4
"""How many times larger the d_k of the question is."""
APART = 0.085
"""The least distance of two labels on the axis of the weights."""
CLEAR = 0.06
"""The least distance of a label above a stem."""
COVERED = 0.16
"""The share of the keys that a label is wide."""
LOW_TAU, HIGH_TAU, TAUS = 0.1, 5.0, 25
CODE = (core.ten_keys, core.saturation_curve, core.row_measures, core.same_product)


@dataclass(frozen=True)
class Arm:
    """One row of weights. code: unscaled, scaled or other; scale: the token of its divisor; key: the peak's, from 0.

    entry: the largest of the Jacobian, at (row, col), from 0.
    """

    code: str
    scale: str
    divisor: float
    weights: tuple[float, ...]
    jacobian: tuple[tuple[float, ...], ...]
    norm: float
    peak: float
    entropy: float
    effective: float
    key: int
    entry: float
    row: int
    col: int


@dataclass(frozen=True)
class Row:
    """One query over its keys: two arms, or three where the chosen divisor is another; and the checks on them.

    chosen: the code of the arm that the scale of the settings names.
    slack: what float32 rounds away of weights whose scores are this large.
    """

    arms: tuple[Arm, ...]
    chosen: str
    kernel: float
    jacobian: float
    norm: float
    sums: float
    slack: float

    def arm(self, code: str) -> Arm:
        return next(arm for arm in self.arms if arm.code == code)

    @property
    def unscaled(self) -> Arm:
        return self.arm("unscaled")

    @property
    def scaled(self) -> Arm:
        return self.arm("scaled")

    @property
    def beside(self) -> Arm:
        """The arm to set beside the undivided one: the chosen one, unless that is the undivided one itself."""
        return self.scaled if self.chosen == "unscaled" else self.arm(self.chosen)


@st.cache_resource(show_spinner=False, max_entries=256)
def row(d_k: int, heads: int, n_keys: int, seed: int, tau: float, scale: str) -> Row:
    value = divisor(scale, d_k, heads * d_k)
    drawn = core.ten_keys(d_k, n_keys, seed, tau, value)
    return _row(core.ten_keys(d_k, n_keys, seed, tau), drawn, tau, scale)


def own_row(brought: Brought, b: int, h: int, i: int, tau: float, scale: str) -> Row | None:
    """The same of query i of one head of a viewer's own tensors; None where its scores are too large. Never cached."""
    q, k = brought.q[b, h, i], brought.k[b, h]
    value = divisor(scale, len(q), brought.q.shape[1] * len(q))
    try:
        return _row(core.given_keys(q, k, tau), core.given_keys(q, k, tau, value), tau, scale)
    except ValueError:
        return None


def _row(two: core.TenKeys, drawn: core.TenKeys, tau: float, scale: str) -> Row:
    """two: with the divisor sqrt(d_k). drawn: with the one of the settings."""
    value = drawn.scaled.divisor
    found = [("unscaled", "none", two.unscaled), ("scaled", "sqrt_dk", two.scaled)]
    if scale == "none":
        chosen = "unscaled"
    elif value == two.scaled.divisor:
        chosen = "scaled"
    else:
        chosen = "other"
        found.append(("other", scale, drawn.scaled))
    checked = [_differences(two.q, two.k, arm, tau) for _, _, arm in found]
    largest = max(float(arm.scores.abs().max()) for _, _, arm in found)
    return Row(
        arms=tuple(_shown(code, token, arm) for code, token, arm in found),
        chosen=chosen,
        kernel=max(c[0] for c in checked),
        jacobian=max(c[1] for c in checked),
        norm=max(c[2] for c in checked),
        sums=max(c[3] for c in checked),
        slack=max(1e-6, 4 * torch.finfo(torch.float32).eps * largest),
    )


def _shown(code: str, scale: str, arm: core.Arm) -> Arm:
    flat = int(arm.jacobian.argmax())
    i, j = divmod(flat, len(arm.jacobian))
    return Arm(
        code, scale, arm.divisor, tuple(arm.weights.tolist()), tuple(map(tuple, arm.jacobian.tolist())),
        arm.jacobian_norm, arm.peak, arm.entropy, arm.effective, int(arm.weights.argmax()),
        float(arm.jacobian[i, j]), i, j,
    )  # fmt: skip


def _differences(q: torch.Tensor, k: torch.Tensor, arm: core.Arm, tau: float) -> tuple[float, float, float, float]:
    """Largest differences: PyTorch's attention, autograd's Jacobian, the norm of the matrix, sums of the rows."""
    identity = torch.eye(len(k))  # values that hand the weights through
    kernel = F.scaled_dot_product_attention(q[None, None], k[None], identity[None], scale=1 / (arm.divisor * tau))
    auto = torch.autograd.functional.jacobian(lambda s: torch.softmax(s, -1), arm.scores.double())
    sums = max(abs(float(arm.weights.sum()) - 1), float(arm.jacobian.sum(-1).abs().max()))
    return (
        float((kernel[0, 0] - arm.weights).abs().max()),
        float((auto - arm.jacobian).abs().max()),
        abs(float(auto.norm()) - arm.jacobian_norm),
        sums,
    )


def ten_frame(shown: Row, words: tuple[tuple[str, str], ...], peak: str, number: object) -> pd.DataFrame:
    """The marks of the weights, with each arm's peak named. words: arm -> its name; number: how a share is written."""
    names = dict(words)
    n = len(shown.unscaled.weights)
    places = label_places(shown)
    rows = [
        {
            "key": j,
            "arm": arm.code,
            "weight": weight,
            "text": number(weight, ".4f"),
            "name": names[arm.code],
            "label": peak.format(key=j + 1, weight=number(weight, ".1%")) if j == arm.key else "",
            "label_y": places[arm.code] if j == arm.key else None,
            "left": left_of(j, n),
        }
        for arm in shown.arms
        for j, weight in enumerate(arm.weights)
    ]
    return pd.DataFrame(rows)


def left_of(key: int, n: int) -> bool:
    """Does the label of a key stand left of its stem? It does in the right half, where there is more room."""
    return key >= n / 2


def label_places(shown: Row) -> dict[str, float]:
    """How high the label of each arm's peak stands: at the peak, or above the stems of the keys it would cover."""
    n = len(shown.unscaled.weights)
    covered = math.ceil(COVERED * n)
    wanted = {}
    for arm in shown.arms:
        side = slice(max(arm.key - covered, 0), arm.key) if left_of(arm.key, n) else slice(arm.key + 1, arm.key + 1 + covered)
        beside = max((weight for other in shown.arms for weight in other.weights[side]), default=0.0)
        wanted[arm.code] = max(arm.peak, beside + CLEAR)
    return _apart({arm.code: wanted[arm.code] for arm in sorted(shown.arms, key=lambda arm: arm.peak)})


def _apart(wanted: dict[str, float]) -> dict[str, float]:
    """The same places, low to high in the order given, moved until each is APART from the next and none is above 1."""
    places: dict[str, float] = {}
    low = APART / 2
    for code, place in wanted.items():
        places[code] = low = max(place, low)
        low += APART
    high = 1.0
    for code in reversed(wanted):
        places[code] = high = min(places[code], high)
        high -= APART
    return places


@dataclass(frozen=True, eq=False)
class Curve:
    """The curve over d_k and what can be said of it.

    points: (d_k, arm) -> the measures there.   low, high: of the scaled arm's means, by measure.
    """

    frame: pd.DataFrame
    points: dict[tuple[int, str], dict[str, float]]
    facts: core.Noticed
    low: dict[str, float]
    high: dict[str, float]

    def at(self, d_k: int, arm: str) -> dict[str, float]:
        return self.points[d_k, arm]


@st.cache_resource(show_spinner=False, max_entries=256)
def curve(n_keys: int, trials: int, seed: int, tau: float) -> Curve:
    frame = core.saturation_curve(D_KS, n_keys, trials, seed, tau)
    points = {(line["d_k"], line["arm"]): line for line in frame.to_dict("records")}
    scaled = frame[frame["arm"] == "scaled"]
    low = {name: float(scaled[name].min()) for name in MEASURES}
    high = {name: float(scaled[name].max()) for name in MEASURES}
    return Curve(frame, points, core.noticed(frame), low, high)


@st.cache_resource(show_spinner=False, max_entries=1024)
def d_k_line(measure: str, n_keys: int, trials: int, seed: int, tau: float, d_k: int) -> pd.DataFrame:
    return _line(curve(n_keys, trials, seed, tau).frame, "d_k", measure, d_k)


@st.cache_resource(show_spinner=False, max_entries=1024)
def tau_line(measure: str, n_keys: int, trials: int, seed: int, tau: float, d_k: int) -> pd.DataFrame:
    return _line(temperatures(d_k, n_keys, trials, seed), "tau", measure, tau)


def _line(frame: pd.DataFrame, x: str, measure: str, now: float) -> pd.DataFrame:
    """The marks of one measure; `now` is where the rule stands."""
    names = {x: "x", measure: "value", f"{measure}_low": "low", f"{measure}_high": "high"}
    return frame[[x, "arm", *list(names)[1:]]].rename(columns=names).assign(now=float(now))


@st.cache_resource(show_spinner=False, max_entries=256)
def temperatures(d_k: int, n_keys: int, trials: int, seed: int) -> pd.DataFrame:
    step = (HIGH_TAU / LOW_TAU) ** (1 / (TAUS - 1))
    return core.temperature_curve([LOW_TAU * step**i for i in range(TAUS)], d_k, n_keys, trials, seed)


@dataclass(frozen=True, eq=False)
class Lab:
    """The four divisors on one draw. std: of q.k itself; nearest: the scale whose scores spread closest to 1.

    agrees: the largest difference from the curve's own row of the same two divisors.
    """

    frame: pd.DataFrame
    rows: dict[str, dict[str, float]]
    std: float
    nearest: str
    agrees: float

    def of(self, scale: str) -> dict[str, float]:
        return self.rows[scale]


@st.cache_resource(show_spinner=False, max_entries=256)
def lab(d_k: int, heads: int, n_keys: int, trials: int, seed: int, tau: float) -> Lab:
    frame = core.divisor_lab(d_k, heads * d_k, n_keys, trials, seed, tau)
    frame = frame.assign(place=range(len(SCALES)))
    rows = {line["divisor"]: line for line in frame.to_dict("records")}
    whole = curve(n_keys, trials, seed, tau)
    agrees = max(
        abs(rows[scale][name] - whole.at(d_k, arm)[name])
        for scale, arm in (("none", "unscaled"), ("sqrt_dk", "scaled"))
        for name in MEASURES
    )
    nearest = min(rows, key=lambda scale: abs(math.log(rows[scale]["std"])))
    return Lab(frame, rows, rows["none"]["std"] * tau, nearest, agrees)


@dataclass(frozen=True, eq=False)
class Same:
    """Two settings with one product: (tau, divisor) of each, the product, the weights and their difference."""

    product: float
    first: tuple[float, float]
    second: tuple[float, float]
    difference: float
    frame: pd.DataFrame


@st.cache_resource(show_spinner=False, max_entries=256)
def same(d_k: int, n_keys: int, seed: int, tau: float) -> Same:
    found = core.same_product(d_k, n_keys, seed, tau)
    frame = pd.DataFrame(
        {"key": j, "arm": arm, "weight": weight}
        for arm, weights in (("scaled", found.first_weights), ("unscaled", found.second_weights))
        for j, weight in enumerate(weights.tolist())
    )
    return Same(found.product, found.first, found.second, found.difference, frame)


@dataclass(frozen=True)
class Asked:
    """A question about the unscaled Jacobian norm at two d_k. answer: 0 it rises, 1 it falls, 2 within the intervals."""

    now: int
    then: int
    norms: tuple[float, float]
    lows: tuple[float, float]
    highs: tuple[float, float]
    peaks: tuple[float, float]
    answer: int


def asked(found: Curve, d_k: int) -> Asked:
    then = d_k * FAR if d_k * FAR <= D_KS[-1] else d_k // FAR
    a, b = found.at(d_k, "unscaled"), found.at(then, "unscaled")
    low, high = "jacobian_low", "jacobian_high"
    answer = 0 if b[low] > a[high] else 1 if b[high] < a[low] else 2
    pairs = [(a[name], b[name]) for name in ("jacobian", "jacobian_low", "jacobian_high", "peak")]
    return Asked(d_k, then, *pairs, answer)
