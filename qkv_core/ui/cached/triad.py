"""The triad's attention, computed once for each input and setting, and its matrices as the cells that are drawn."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow
import streamlit as st
import torch
from torch import Tensor

from qkv_core import triad
from qkv_core.attention import AttentionTrace, attention_trace, divisor, stable_softmax
from qkv_core.bring import Brought
from qkv_core.charts import base
from qkv_core.masks import build_mask
from qkv_core.text import number
from qkv_core.text import triad as words
from qkv_core.triad import BatchShapes, CellArithmetic, ConvexCheck, Moved, Triad

GIVEN = ("X", "W_q", "W_k", "W_v", "Q", "K", "V")
STEPS = ("raw", "scaled", "masked", "weights", "sums", "output")
"""The matrices in the order of the lesson; `sums` are the row sums of the weights."""

W = ("W_q", "W_k", "W_v")

OWN_GIVEN = ("Q", "K", "V")
"""What is given where a viewer brings q, k and v."""

DRAWN, FIRST = 16, 8
"""A matrix of up to DRAWN columns is drawn whole, of a wider one only the FIRST; of a sum's terms, up to DRAWN."""

CODE = (attention_trace, stable_softmax, triad.project, triad.cell_arithmetic, triad.convex_check)
"""The functions that computed what the page shows."""

_EPS = torch.finfo(torch.float64).eps
_EPS_BATCH = torch.finfo(torch.float32).eps


@dataclass(frozen=True, eq=False)
class Lesson:
    """One run of the lesson, in float64 so that the six decimals on screen add up. Shared by all viewers: read only.

    kernel, sums, cells: largest difference of the output to PyTorch's fused kernel, of a row sum to 1, and of a weight to
    its own arithmetic, term by term. outside: how far an output is from a convex combination of the values it may read. tolerance: of a
    weight; float64 keeps sixteen digits of a score, so huge scores allow more. reach: of an output, likewise.
    """

    given: Triad
    trace: AttentionTrace
    mask: Tensor | None
    divisor: float
    d_model: int
    tau: float
    proof: ConvexCheck
    kernel: float
    sums: float
    cells: float
    outside: float
    tolerance: float
    reach: float

    @property
    def T(self) -> int:
        return len(self.given.tokens)

    @property
    def d_k(self) -> int:
        return self.trace.q.shape[-1]

    def matrix(self, name: str) -> Tensor:
        """A matrix of the lesson by the name of its panel."""
        if name == "sums":
            return self.trace.weights.sum(-1, keepdim=True)
        return getattr(self.given, name) if name == "X" or name in W else getattr(self.trace, name.lower())

    def visible(self, i: int) -> list[int]:
        """The keys that query i may read."""
        return [j for j, s in enumerate(self.trace.masked[i].tolist()) if s != -math.inf]


@st.cache_resource(show_spinner=False, max_entries=128)
def lesson(given: tuple, tau: float, mask: str, n: int, scale: str) -> Lesson:
    """The lesson for ("cat", X, W_q, W_k, W_v) as rows of numbers, or ("random", T, C, d_k, d_v, seed).

    n: how many tokens are padding, the radius of the window, or the length of the prefix.
    """
    if given[0] == "cat":
        shown = triad.cat_sat()
        fields = dict(zip(("X", "W_q", "W_k", "W_v"), map(_tensor, given[1:]), strict=True))
        shown = shown._replace(**fields)
    else:
        shown = triad.random_triad(*given[1:])
    shown = shown._replace(X=shown.X.double(), W_q=shown.W_q.double(), W_k=shown.W_k.double(), W_v=shown.W_v.double())
    return _run(shown, *triad.project(shown.X, shown.W_q, shown.W_k, shown.W_v), shown.X.shape[1], tau, mask, n, scale)


def own_lesson(brought: Brought, b: int, h: int, first: int, most: int, tau: float, mask: str, n: int, scale: str) -> Lesson:
    """The lesson for one head of a viewer's own tensors, at most `most` of their tokens from `first` (from 0).

    Never cached: it belongs to one viewer. X and the W of its `given` are None.
    """
    q, k, v = (x[b, h, first : first + most].double() for x in (brought.q, brought.k, brought.v))
    tokens = tuple(f"t{first + i + 1}" for i in range(len(q)))
    d_model = brought.q.shape[1] * q.shape[-1]
    return _run(Triad(None, None, None, None, None, tokens), q, k, v, d_model, tau, mask, min(n, len(q)), scale)


def _run(
    shown: Triad, q: Tensor, k: Tensor, v: Tensor, d_model: int, tau: float, mask: str, n: int, scale: str
) -> Lesson:
    T = len(q)
    by = divisor(scale, q.shape[-1], d_model)
    allowed = build_mask(mask, T, n, n, n)
    trace = attention_trace(q, k, v, allowed, tau, by)
    proof = triad.convex_check(trace)
    largest = (q.norm(dim=-1).max() * k.norm(dim=-1).max()).item() / (by * tau)
    tolerance = max(1e-9, _EPS * largest)
    cells = (triad.cell_arithmetic(trace, i, j, by, tau).difference for i in range(T) for j in range(T))
    return Lesson(
        given=shown,
        trace=trace,
        mask=allowed,
        divisor=by,
        d_model=d_model,
        tau=tau,
        proof=proof,
        kernel=triad.kernel_difference(q, k, v, allowed, tau, by),
        sums=(proof.row_sum - 1).abs()[~proof.empty].max().item() if not proof.empty.all() else 0.0,
        cells=max(cells),
        outside=max(proof.outside.max().item(), proof.difference, -proof.min_weight.min().item()),
        tolerance=tolerance,
        reach=tolerance * max(1.0, v.abs().max().item()),
    )


@st.cache_data(show_spinner=False, max_entries=256)
def moves(given: tuple, tau: float, mask: str, n: int, scale: str, how: str, seed: int) -> tuple[Moved, Moved, Moved]:
    """What moves when Q alone, K alone and V alone are changed."""
    return moves_of(lesson(given, tau, mask, n, scale), how, seed)


def moves_of(run: Lesson, how: str, seed: int) -> tuple[Moved, Moved, Moved]:
    """The same of a lesson that no cache holds."""
    return triad.what_moves(run.trace, how, seed, run.mask, run.tau, run.divisor)


@st.cache_data(show_spinner=False, max_entries=128)
def batch(
    B: int, h: int, T: int, d_k: int, d_v: int, seed: int, tau: float, mask: str, n: int, scale: str
) -> tuple[BatchShapes, float, float]:
    """A random batch measured, what its scores were divided by, and the tolerance of its difference to the kernel."""
    by = divisor(scale, d_k, h * d_k)
    n = min(n, T)
    shapes = triad.batch_shapes(B, h, T, d_k, d_v, seed, build_mask(mask, T, n, n, n), tau, by)
    return shapes, by, max(1e-5, _EPS_BATCH * 4 * d_k / (by * tau)) * 4


@dataclass(frozen=True, eq=False)
class Panel:
    """A matrix ready to be drawn: its cells, the labels of its chart, and its size on the page in pixels, axes included."""

    frame: pyarrow.Table
    labels: dict[str, Any]
    width: int
    height: int
    shape: tuple[int, int]


@st.cache_resource(show_spinner=False, max_entries=512)
def panels(
    given: tuple, tau: float, mask: str, n: int, scale: str, i: int, j: int, names: tuple[str, ...], lang: str
) -> dict[str, Panel]:
    """The panels `names`; query i, key j, their scores and the output row are outlined."""
    return panels_of(lesson(given, tau, mask, n, scale), i, j, names, lang)


def panels_of(run: Lesson, i: int, j: int, names: tuple[str, ...], lang: str) -> dict[str, Panel]:
    """The same of a lesson that no cache holds."""
    return {name: _panel(run, name, i, j, lang) for name in names}


_SYMBOLS = {"X": "x", "W_q": "q", "Q": "q", "W_k": "k", "K": "k", "W_v": "v", "V": "v", "sums": "x"}
_SAME_COLOURS = (("X",), ("W_q", "W_k", "W_v"), ("Q", "K"), ("V", "output"), ("raw", "scaled", "masked"), ("weights",))
"""Matrices that are compared share one scale of colours."""


def _panel(run: Lesson, name: str, i: int, j: int, lang: str) -> Panel:
    x = run.matrix(name)
    rows, cols = x.shape
    drawn = _drawn(x)
    shown = drawn.shape[1]
    by_token = name not in W
    keys = name in ("raw", "scaled", "masked", "weights")
    compact = name in GIVEN
    cell = 40 if compact or shown > 8 else 58 if keys and shown <= 4 else 54 if shown <= 4 else 48
    row_labels = run.given.tokens if by_token else tuple(str(r + 1) for r in range(rows))
    col_labels = run.given.tokens if keys else ("Σ",) if name == "sums" else tuple(str(c + 1) for c in range(shown))
    outlined = {
        "Q": [(i, c) for c in range(shown)],
        "K": [(j, c) for c in range(shown)],
        "V": [(j, c) for c in range(shown)],
        "output": [(i, c) for c in range(shown)],
        "sums": [(i, 0)],
        **dict.fromkeys(("raw", "scaled", "masked", "weights"), [(i, j)]),
    }.get(name, [])
    texts = cell_texts(drawn, lang, chars=5 if cell < 54 else 6)
    if name == "sums":
        texts = [[number(value, ".6f", lang) for value in row] for row in drawn.tolist()]
    if name == "weights":
        hidden = run.trace.masked == -math.inf
        texts = [["0" if hidden[r, c] else text for c, text in enumerate(row)] for r, row in enumerate(texts)]
    frame = base.cells(drawn.tolist(), texts, row_labels, col_labels, outlined)
    frame["turn"] = 100 * i + j
    labels = dict(
        symbol="weights" if name == "weights" else _SYMBOLS.get(name, "output" if name == "output" else "scores"),
        row_labels=row_labels,
        col_labels=col_labels,
        row_title=words.QUERIES(lang) if keys else "",
        col_title=words.KEYS(lang) if keys else "",
        value_title=words.PANEL_NAMES[name](lang),
        limit=_limit(run, name),
        pick=keys,
        cell=cell,
        row_height=34 if compact or rows > 4 else 44,
        row_axis=by_token,
    )
    room = (12 + 9 * max(map(len, row_labels)) if by_token else 4) + (24 if keys else 0)
    width = max(room + cell * shown, 110 if name == "sums" else 0)
    return Panel(_arrow(frame), labels, width, labels["row_height"] * rows + 30 + (24 if keys else 0), (rows, cols))


def columns_drawn(run: Lesson) -> int:
    """How many columns of V and of the output are drawn."""
    return _drawn(run.trace.v).shape[1]


def _drawn(x: Tensor) -> Tensor:
    return x if x.shape[1] <= DRAWN else x[:, :FIRST]


def _limit(run: Lesson, name: str) -> float:
    if name == "sums":
        return 10.0  # pale: a sum is told by its number, and is no weight
    group = next(g for g in _SAME_COLOURS if name in g)
    return base.nice_limit(max(_peak(run.matrix(other)) for other in group))


def _peak(x: Tensor) -> float:
    finite = x[x.isfinite()]
    return finite.abs().max().item() if finite.numel() else 0.0


def cell_texts(x: Tensor, lang: str, chars: int, most: int = 6) -> list[list[str]]:
    """The entries as they are written in cells of `chars` signs: all with the same decimals, as few as say them exactly."""
    peak, negative = _peak(x), bool((x < 0).any())
    room = chars - len(str(int(peak))) - negative - 1
    exact = next((d for d in range(most) if torch.allclose(x.nan_to_num(0, 0, 0), _rounded(x, d), rtol=0, atol=1e-7 * max(1.0, peak))), most)
    spec = ".1e" if room < -1 else f".{min(exact, max(room, 0))}f"
    return [[_text(value, spec, lang) for value in row] for row in x.tolist()]


def _rounded(x: Tensor, decimals: int) -> Tensor:
    return (x.nan_to_num(0, 0, 0).double() * 10**decimals).round().div(10**decimals).to(x.dtype)


def _text(value: float, spec: str, lang: str) -> str:
    if value == -math.inf:
        return "\u2212∞"
    text = re.sub(r"e([+-])0?(\d)", lambda m: "e" + m[1].strip("+") + m[2], number(value, spec, lang))
    return text if any(digit in text for digit in "123456789") else text.lstrip("\u2212")  # not -0.00


def long_table(run: Lesson, names: tuple[str, ...], lang: str) -> pd.DataFrame:
    """Every drawn entry of the matrices `names`: matrix, row, column, value; a hidden score has none."""
    rows = []
    for name in names:
        x = _drawn(run.matrix(name))
        labels = run.given.tokens if name not in W else tuple(str(r + 1) for r in range(len(x)))
        heads = run.given.tokens if name in ("raw", "scaled", "masked", "weights") else range(1, x.shape[1] + 1)
        title = words.PANEL_NAMES[name](lang)
        rows += [
            {"matrix": title, "row": labels[r], "column": str(c), "value": v if math.isfinite(v) else words.MINUS_INFINITY}
            for r, values in enumerate(x.tolist())
            for c, v in zip(heads, values, strict=False)
        ]
    return pd.DataFrame(rows)


# one cell


def row_arithmetic(run: Lesson, i: int) -> list[CellArithmetic]:
    """The arithmetic of every weight of query i."""
    return [triad.cell_arithmetic(run.trace, i, j, run.divisor, run.tau) for j in range(run.T)]


def terms(run: Lesson, i: int, j: int) -> pd.DataFrame:
    """The products of q_i and k_j: m (from 1), q, k, product and the sum so far, in float64."""
    product = run.trace.q[i].double() * run.trace.k[j].double()
    return pd.DataFrame(
        {
            "m": range(1, run.d_k + 1),
            "q": run.trace.q[i].tolist(),
            "k": run.trace.k[j].tolist(),
            "product": product.tolist(),
            "so_far": product.cumsum(0).tolist(),
        }
    )


def strip_of_terms(run: Lesson, i: int, j: int, lang: str) -> Panel:
    """q_i, k_j and their products as three rows of cells, for `charts.triad.strips`."""
    table = terms(run, i, j).head(DRAWN)
    values = torch.tensor([table[name].tolist() for name in ("q", "k", "product")], dtype=torch.float64)
    tokens = run.given.tokens
    row_labels = (f"q {tokens[i]}", f"k {tokens[j]}", words.PRODUCT(lang))
    return _strips(values, ("q", "k", "scores"), row_labels, tuple(map(str, table["m"])), lang)


def strip_of_output(run: Lesson, i: int, lang: str) -> Panel:
    """What each key adds to output i, weight x value, and their sum, as rows of cells."""
    pieces = triad.output_terms(run.trace, i) + 0.0  # + 0.0: a hidden key adds 0, not -0
    values = _drawn(torch.cat((pieces, run.trace.output[i : i + 1])))
    weights = run.trace.weights[i].tolist()
    row_labels = (
        *(f"{number(w, '.4f', lang)} × v {t}" for w, t in zip(weights, run.given.tokens, strict=True)),
        words.SUM_IS_OUTPUT(lang),
    )
    columns = tuple(str(c + 1) for c in range(values.shape[1]))
    return _strips(values, ("v",) * run.T + ("output",), row_labels, columns, lang)


def _strips(
    values: Tensor, symbols: tuple[str, ...], row_labels: tuple[str, ...], col_labels: tuple[str, ...], lang: str
) -> Panel:
    cols = len(col_labels)
    cell = 92 if cols <= 4 else 68 if cols <= 8 else 46
    texts = [cell_texts(row[None], lang, chars=9 if cols <= 4 else 7 if cols <= 8 else 5)[0] for row in values]
    decimals = max((len(re.split(r"[.,]", t)[-1]) if re.search(r"[.,]", t) else 0) for row in texts for t in row)
    texts = [[_text(v, f".{decimals}f", lang) if "e" not in t else t for v, t in zip(r, row, strict=True)]
             for r, row in zip(values.tolist(), texts, strict=True)]  # fmt: skip
    limits = tuple(base.nice_limit(max(_peak(row) for row, s in zip(values, symbols, strict=True) if s == symbol)) for symbol in symbols)
    frame = base.cells(values.tolist(), texts, row_labels, col_labels)
    labels = dict(symbols=symbols, limits=limits, row_labels=row_labels, col_labels=col_labels, cell=cell)
    width = 24 + 8 * max(map(len, row_labels)) + cell * cols
    return Panel(_arrow(frame), labels, width, 38 * len(row_labels) + 68, tuple(values.shape))


def hull(run: Lesson, i: int, lang: str) -> pd.DataFrame:
    """For each column of the output of query i: the values it may read, their range, and the output, as marks.

    Columns: channel (from 0), kind ("value", "range", "output"), x, x2 (end of the range), token, weight, text.
    """
    visible = run.visible(i)
    v, output = _drawn(run.trace.v)[visible], run.trace.output[i].tolist()
    rows: list[dict[str, Any]] = []
    for c in range(v.shape[1] if visible else 0):
        column = v[:, c].tolist()
        rows.append(_mark(c, "range", min(column), max(column), "", 0.0, lang))
        rows += [_mark(c, "value", x, x, run.given.tokens[j], run.trace.weights[i, j].item(), lang)
                 for j, x in zip(visible, column, strict=True)]  # fmt: skip
        rows.append(_mark(c, "output", output[c], output[c], words.PANEL_NAMES["output"](lang), 1.0, lang))
    return pd.DataFrame(rows, columns=["channel", "kind", "x", "x2", "token", "weight", "text", "share"])


def _mark(channel: int, kind: str, x: float, x2: float, token: str, weight: float, lang: str) -> dict[str, Any]:
    share = number(weight, ".4f", lang) if kind == "value" else ""
    return {"channel": channel, "kind": kind, "x": x, "x2": x2, "token": token, "weight": weight,
            "text": number(x, ".6f", lang), "share": share}  # fmt: skip


@dataclass(frozen=True)
class Removal:
    """A question about query i: its favourite key taken away, what does the runner-up get?

    best, second: positions of the keys. answers: the runner-up's old weight, that plus the favourite's, and the favourite's
    shared out in proportion, ascending. right: which of them the computation gives.
    """

    best: int
    second: int
    before: float
    lost: float
    after: float
    answers: tuple[float, ...]
    right: int


def removal(run: Lesson, i: int) -> Removal | None:
    """The question, or None where fewer than three keys are read or its answers could not be told apart."""
    weights = run.trace.weights[i].tolist()
    best, second, *others = sorted(run.visible(i), key=lambda j: (-weights[j], j)) + [None] * 2
    if len(run.visible(i)) < 3:
        return None
    after = triad.without_key(run.trace, i, best)[second].item()
    answers = tuple(sorted((weights[second], after, weights[second] + weights[best])))
    if min(b - a for a, b in zip(answers, answers[1:], strict=False)) < 0.01:
        return None
    return Removal(best, second, weights[second], weights[best], after, answers, answers.index(after))


def _arrow(frame: pd.DataFrame) -> pyarrow.Table:
    return pyarrow.Table.from_pandas(frame, preserve_index=False)


def _tensor(rows: tuple[tuple[float, ...], ...]) -> Tensor:
    return torch.tensor(rows, dtype=torch.float64)


# sentences about the tensors


def hidden(run: Lesson, lang: str) -> str:
    """How many scores the mask hides."""
    n = int((run.trace.masked == -math.inf).sum())
    return words.HIDDEN_SOME(lang, n=n, all=run.T**2) if n else words.HIDDEN_NONE(lang)


def panel_says(run: Lesson, name: str, lang: str) -> str:
    """A matrix in a sentence: its size and its largest entry."""
    x = run.matrix(name)
    rows, cols = x.shape
    title = words.PANEL_NAMES[name](lang)
    if not x.isfinite().any():
        return words.PANEL_EMPTY(lang, name=title, rows=rows, cols=cols)
    at = x.argmax().item()
    row, col = at // cols, at % cols
    tokens = run.given.tokens
    return words.PANEL_SAYS(
        lang,
        name=title,
        rows=rows,
        cols=cols,
        largest=x.max().item(),
        row=tokens[row] if name not in W else str(row + 1),
        col=tokens[col] if name in ("raw", "scaled", "masked", "weights") else str(col + 1),
    )


def terms_say(run: Lesson, i: int, j: int, lang: str) -> str:
    """The products of one cell in a sentence."""
    table = terms(run, i, j)
    at = int(table["product"].abs().argmax())
    tokens = run.given.tokens
    total = float(table["product"].sum())
    told = words.TERMS_SAY(
        lang, n=run.d_k, q=tokens[i], k=tokens[j], raw=total, largest=float(table["product"][at]), at=at + 1
    )
    if run.d_k > DRAWN:
        part = float(table["product"][:DRAWN].sum())
        told += " " + words.TERMS_LEFT(lang, drawn=DRAWN, left=run.d_k - DRAWN, part=part, rest=total - part)
    return told


def output_says(run: Lesson, i: int, lang: str) -> str:
    """The coefficients of an output in a sentence."""
    visible = run.visible(i)
    if not visible:
        return words.OUTPUT_EMPTY(lang)
    weights = run.trace.weights[i].double()
    coefficients = " + ".join(words.six(weights[j].item(), lang) for j in visible)
    return words.OUTPUT_SAYS(lang, coefficients=coefficients, total=weights.sum().item())


def hull_says(run: Lesson, i: int, lang: str) -> str:
    """In how many columns the output lies between the values it may read."""
    v, output = run.trace.v[run.visible(i)], run.trace.output[i]
    slack = run.reach
    inside = (output >= v.amin(0) - slack) & (output <= v.amax(0) + slack)
    return words.HULL_SAYS(lang, q=run.given.tokens[i], inside=int(inside.sum()), all=inside.numel())


def pieces(run: Lesson, i: int) -> pd.DataFrame:
    """For each column of the output and each key: the value, its weight, and their product."""
    share = _drawn(triad.output_terms(run.trace, i) + 0.0)
    return pd.DataFrame(
        [
            {"channel": c + 1, "token": run.given.tokens[j], "x": run.trace.v[j, c].item(),
             "weight": run.trace.weights[i, j].item(), "piece": share[j, c].item()}
            for c in range(share.shape[1])
            for j in range(run.T)
        ]
    )  # fmt: skip


def prediction(run: Lesson, i: int, j: int, lang: str) -> tuple[str, list[str], int, str]:
    """A question about the tensors on screen, its answers, the right one, and why."""
    tokens = run.given.tokens
    asked = removal(run, i)
    if asked is not None:
        names = {"q": tokens[i], "best": tokens[asked.best], "second": tokens[asked.second]}
        shares = {"before": asked.before, "lost": asked.lost, "after": asked.after}
        answers = [words.ANSWER(lang, share=share) for share in asked.answers]
        return words.ASK_REMOVAL(lang, **names, **shares), answers, asked.right, words.BECAUSE_REMOVAL(lang, **shares)
    values = moves_of(run, "double", 0)[2]
    right = 1 if values.weights == 0 else 0
    because = words.BECAUSE_VALUES(lang, weights=values.weights, output=values.output)
    return words.ASK_VALUES(lang, q=tokens[i], k=tokens[j]), [m(lang) for m in words.ANSWERS_VALUES], right, because


def batch_table(shapes: BatchShapes, lang: str) -> words.Table:
    """Every tensor of the batch: name, axes, shape, how many numbers, and its memory in KiB."""
    rows = [
        [
            words.BATCH_NAMES.get(t.name) or words.PANEL_NAMES[t.name](lang),
            f"({', '.join(f'${axis}$' for axis in t.axes)})",
            f"({', '.join(map(str, t.shape))})",
            number(t.numel, ",d", lang),
            number(t.bytes / 1024, ",.1f", lang),
        ]
        for t in shapes.tensors
    ]
    return [m(lang) for m in words.BATCH_COLUMNS], rows


def worst_sum(shapes: BatchShapes) -> float:
    """The largest difference of a row sum to 1."""
    if shapes.row_sum_min is None:
        return 0.0
    return max(1 - shapes.row_sum_min, shapes.row_sum_max - 1)
