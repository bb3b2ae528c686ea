"""The heads on a sentence, computed once for each setting, and what the page draws and says of them.

The caches are keyed on Ask, which hashes itself: a step of the row looks some twenty things up, and Streamlit's own caches
take a millisecond for each such key. What they hold is shared by all viewers and read-only. A net that a viewer trained is
equal to no other one, so what was computed from it is found by that viewer alone.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor

from qkv_core import heads as core
from qkv_core import minilm, sentences, settings, trained, typed
from qkv_core.attention import attention_trace, divisor
from qkv_core.charts import heads as charts
from qkv_core.charts.base import RECT_CELLS, TEXT_CELLS, Look, nice_limit
from qkv_core.heads import HEADS, HeadTrace
from qkv_core.masks import build_mask, padding_mask
from qkv_core.measures import effective_keys, entropy
from qkv_core.records import Moment
from qkv_core.text import Msg, frame, number
from qkv_core.text import heads as words
from qkv_core.text import training
from qkv_core.trained import Trained

TYPED = tuple(name for name in settings.HEADS if HEADS[name].typed)
"""The heads that work on any text."""
D_MODEL = 512
"""The paper's width: eight heads of 64."""
SORTED = 8
"""Bars in the sorted picture of a row."""
BLANK = 0.005
"""A weight below this is left blank in its cell."""
TINY = 5e-4
"""A difference below this is none that could be seen."""
TERMS = 4
"""Terms of the softmax that are written out."""
THUMB = 142
"""Pixels of a small multiple."""
CODE = (core.head_trace, core.matrices, core.fired, attention_trace, core.concat_parts, core.reach_of)
CODE_REAL = (minilm.real_trace, minilm.states, attention_trace, core.concat_parts, core.reach_of)
CODE_TRAINED = (trained.layer_traces, trained.states, attention_trace, core.concat_parts, core.reach_of)

Nets = Callable[[int, int], Trained | None]
"""The net of an arm and a run (both from 0) that the viewer trained, None where there is none."""

ISOLATE, END = "\u2068", "\u2069"


@dataclass(frozen=True)
class Ask:
    """All that decides one head's weights. Hashable: caches are keyed on it.

    source: hand, typed, real or trained. sentence: "en_tired". text: what was typed. cells: the painted cells' token, "" for
    none. net, example: of a net that was trained here, and the place of its example.
    """

    source: str
    sentence: str
    head: str
    layer: int
    number: int
    text: str
    mask: str
    pad: int
    radius: int
    prefix: int
    cells: str
    tau: float
    scale: str
    net: Trained | None = None
    example: int = 0

    @property
    def d_k(self) -> int:
        if self.net:
            return self.net.net.d_k
        return minilm.D_K if self.source == "real" else core.D_K

    @property
    def d_model(self) -> int:
        if self.net:
            return self.net.net.heads * self.net.net.d_k
        return minilm.D_MODEL if self.source == "real" else D_MODEL

    @property
    def divisor(self) -> float:
        return divisor(self.scale, self.d_k, self.d_model)

    @property
    def by(self) -> bool | float:
        return True if self.scale == "sqrt_dk" else self.divisor

    @property
    def read(self) -> str:
        """The text that MiniLM reads: the typed one, or else the chosen sentence with its full stop."""
        return self.text if self.text.strip() else sentences.SENTENCES[self.sentence].text + "."

    @property
    def ours(self) -> bool:
        """Are the words the lab's own? Only then may they stand in a sentence with markup."""
        return self.source in ("hand", "trained") or (self.source == "real" and not self.text.strip())

    @property
    def layered(self) -> bool:
        """Do the heads of this source have a layer and a number, and no name?"""
        return self.source in ("real", "trained")

    @property
    def id(self) -> str:
        """What the chosen head is called among those beside it."""
        return str(self.number) if self.layered else self.head

    def family(self) -> Ask:
        """The same without the choice of a head."""
        return replace(self, head="", number=0, layer=self.layer if self.layered else 0)


def asked(shared: settings.Shared, get: Callable[[str], Any], nets: Nets | None = None) -> Ask:
    """What the settings ask for."""
    if get("h_src") == "trained":
        return _asked_net(shared, get, nets)
    return Ask(
        source=get("h_src"), sentence=f"{shared.lang}_{get('h_sent')}", head=get("h_head"), layer=get("h_layer"),
        number=get("h_rhead"), text=get("h_text") if get("h_src") != "hand" else "", mask=shared.mask, pad=get("h_pad"),
        radius=get("h_win"), prefix=get("h_pre"), cells=get("h_cells") if get("h_paint") else "", tau=shared.tau,
        scale=shared.scale,
    )  # fmt: skip


def _asked_net(shared: settings.Shared, get: Callable[[str], Any], nets: Nets | None) -> Ask:
    net = nets(get("h_arm") - 1, get("h_run") - 1) if nets else None
    return Ask(
        source="trained", sentence="", head="", layer=get("h_tl"), number=get("h_th"), text="", mask=shared.mask,
        pad=get("h_pad"), radius=get("h_win"), prefix=get("h_pre"), cells=get("h_cells") if get("h_paint") else "",
        tau=shared.tau, scale=shared.scale, net=net, example=_example(net, get("h_ex")),
    )  # fmt: skip


def _example(net: Trained | None, asked: int) -> int:
    """The place of an example; "The cat sat" is the only one of its task."""
    return asked - 1 if net and net.net.task else 0


def second(first: Ask, kind: str, lang: str, get: Callable[[str], Any], nets: Nets | None = None) -> Ask:
    """The other side of a comparison: `first` with one thing changed."""
    if first.source == "trained" and kind == "sentence":
        return replace(first, example=_example(first.net, get("h_ex2")))
    if first.source == "trained" and kind == "head":
        return _other_net(replace(first, layer=get("h_tl2"), number=get("h_th2")), nets and nets(get("h_arm2") - 1, get("h_run") - 1))
    if kind == "sentence":
        return replace(first, sentence=f"{lang}_{get('h_sent2')}", text=get("h_text2") if first.source != "hand" else "")
    if kind == "head":
        return replace(first, head=get("h_head2"), layer=get("h_layer2"), number=get("h_rhead2"))
    if kind == "tau":
        return replace(first, tau=get("h_tau2"))
    return replace(first, mask=get("h_mask2"), cells="")


def _other_net(ask: Ask, net: Trained | None) -> Ask:
    """A head of another arm: as that arm was trained where the first is so too, else through the same settings."""
    if net is None or net is ask.net or lens(ask):
        return replace(ask, net=net)
    return replace(ask, net=net, tau=net.tau, scale=scale_of(net))


def scale_of(net: Trained) -> str:
    """The name of the divisor that a net was trained with."""
    return str(net.config.arms[net.arm].scale)


@lru_cache(maxsize=64)
def _moment(ask: Ask) -> Moment:
    """What the net on screen sees and answers."""
    return ask.net.moment(ask.example)


def lens(ask: Ask) -> bool:
    """Do the settings differ from those that the net on screen was trained with?"""
    return ask.net is not None and not trained.as_trained(ask.net, family(ask.family()).mask, ask.tau, ask.by)


@dataclass(frozen=True, eq=False)
class Family:
    """All heads of one kind on one sentence, under one setting. heads: by id. read only, shared by all viewers.

    labels: the tokens as written. found: how many tokens there were. reason: why there are none.
    """

    ask: Ask
    heads: Mapping[str, HeadTrace]
    labels: tuple[str, ...]
    found: int
    reason: str
    mask: Tensor | None
    pad: int


@lru_cache(maxsize=1)
def available() -> minilm.Available:
    return minilm.available()


@lru_cache(maxsize=32)
def family(ask: Ask) -> Family:
    """All heads that stand beside each other, for an Ask without a head."""
    if ask.source == "real":
        ready = available()
        if not ready.ready:
            return Family(ask, {}, (), 0, ready.reason, None, 0)
        pieces = minilm.pieces(ask.read, ask.pad)
        labels, found, pad = pieces.written, pieces.found, ask.pad
        if not found:
            return Family(ask, {}, (), 0, "no_words", None, 0)
        mask = _mask(ask, len(labels), pad)
        traces = minilm.layer_traces(ask.read, ask.layer, mask, ask.tau, ask.by, pad)
        return Family(ask, {str(n): t for n, t in enumerate(traces)}, labels, found, "", mask, pad)
    if ask.source == "trained":
        return _trained_family(ask)
    if ask.source == "typed":
        tokens = typed.tokenise(ask.text)
        labels = tokens.words
        if not labels:
            return Family(ask, {}, (), 0, "no_words", None, 0)
        pad = min(ask.pad, len(labels))
        mask = _mask(ask, len(labels), pad)
        found = {name: core.typed_trace(ask.text, name, mask, ask.tau, ask.by).head for name in TYPED}
        return Family(ask, found, labels, tokens.found, "", mask, pad)
    labels = (*sentences.SENTENCES[ask.sentence].tokens, *[sentences.PAD] * ask.pad)
    mask = _mask(ask, len(labels), ask.pad)
    found = {name: core.head_trace(ask.sentence, name, mask, ask.tau, ask.by, ask.pad) for name in settings.HEADS}
    return Family(ask, found, labels, len(labels), "", mask, ask.pad)


def _trained_family(ask: Ask) -> Family:
    """The heads of a layer of a net that was trained here; its task's own mask always holds."""
    net = ask.net
    if net is None:
        return Family(ask, {}, (), 0, "no_run", None, 0)
    T, own = net.net.T, net.own_mask()
    pad = min(ask.pad, T)
    mask = _mask(ask, T, pad)
    mask = own if mask is None else mask if own is None else mask & own
    found = trained.layer_traces(net, min(ask.layer, net.net.layers), ask.example, mask, ask.tau, ask.by)
    if not all(part.square().sum().isfinite() for head in found for part in (head.trace.raw, head.trace.v, head.trace.output)):
        return Family(ask, {}, (), 0, "not_finite", None, 0)
    return Family(ask, {str(n): head for n, head in enumerate(found, 1)}, found[0].tokens, T, "", mask, pad)


def _mask(ask: Ask, T: int, pad: int) -> Tensor | None:
    named = build_mask(ask.mask, T, pad, ask.radius, min(ask.prefix, T))
    return core.hide(T, typed.parse_cells(ask.cells, T), named)


@dataclass(frozen=True, eq=False)
class Shown:
    """One head on one sentence, with the checks on it. head is None where there is a reason."""

    ask: Ask
    family: Family
    head: HeadTrace | None
    reason: str
    checks: tuple[tuple[str, float, float], ...] = ()

    @property
    def T(self) -> int:
        return len(self.family.labels)

    @property
    def labels(self) -> tuple[str, ...]:
        return self.family.labels

    @property
    def weights(self) -> Tensor:
        return self.head.trace.weights

    @property
    def first(self) -> int:
        """The number of the first token: 0 where it is a start token, else 1."""
        return 1 if self.ask.source in ("typed", "trained") else 0

    @cached_property
    def hidden(self) -> Tensor:
        """Which cells the mask hides."""
        return self.head.trace.masked == -math.inf

    @cached_property
    def tops(self) -> tuple[int | None, ...]:
        """The key with the largest weight of each row, None for a row that reads nothing."""
        empty = self.hidden.all(-1).tolist()
        return tuple(None if e else j for e, j in zip(empty, self.weights.argmax(-1).tolist(), strict=True))

    def matrix(self, view: str) -> Tensor:
        return {"weights": self.weights, "scores": self.head.trace.scaled, "raw": self.head.trace.raw}[view]

    def visible(self, i: int) -> list[int]:
        return [j for j, hidden in enumerate(self.hidden[i].tolist()) if not hidden]

    def top(self, i: int) -> int | None:
        """The key with the largest weight, None for a row that reads nothing."""
        return self.tops[i]

    def col(self, i: int, asked: int) -> int:
        """The key that is looked at: the chosen one, or the strongest."""
        return asked if 0 <= asked < self.T else self.top(i) or 0

    def name(self, i: int, lang: str) -> str:
        """A token in a sentence of the page: its word where it is ours, else its number."""
        if not self.ask.ours:
            return words.TOKEN_NAME(lang, n=i + self.first)
        label = self.labels[i]
        if label == sentences.START:
            return words.START_NAME(lang)
        if self.ask.source == "hand" and i >= self.T - self.family.pad:
            return words.PAD_NAME(lang, n=i - self.T + self.family.pad + 1)
        return words.REPEATED_NAME(lang, word=label, n=i + self.first) if self.labels.count(label) > 1 else label


@lru_cache(maxsize=256)
def shown(ask: Ask) -> Shown:
    beside = family(ask.family())
    if beside.reason:
        return Shown(ask, beside, None, beside.reason)
    if ask.id not in beside.heads:
        return Shown(ask, beside, None, "needs_features")
    head = beside.heads[ask.id]
    return Shown(ask, beside, head, "", _checks(ask, beside, head))


def _checks(ask: Ask, beside: Family, head: HeadTrace) -> tuple[tuple[str, float, float], ...]:
    trace, hidden = head.trace, head.trace.masked == -math.inf
    sums = trace.weights.sum(-1)
    full = ~hidden.all(-1)
    # Rows without a key are NaN in PyTorch's plain path and 0 in ours; they are compared where there is something to read.
    allowed = None if beside.mask is None else beside.mask[None]
    kernel = F.scaled_dot_product_attention(
        trace.q[None], trace.k[None], trace.v[None], allowed, scale=1 / (ask.divisor * ask.tau)
    )[0]
    spread = trace.scaled.abs().max().item()
    slack = max(1e-5, 8 * torch.finfo(torch.float32).eps * spread) * max(1.0, trace.v.abs().max().item())
    rows = [
        ("sums", (sums[full] - 1).abs().max().item() if full.any() else 0.0, 1e-5),
        ("kernel", (kernel - trace.output)[full].abs().max().item() if full.any() else 0.0, slack),
    ]
    if hidden.any():
        rows.append(("hidden", trace.weights[hidden].abs().max().item(), 0.0))
    if head.rules:
        points = _points(head)
        again = points * math.sqrt(core.D_K) / (ask.divisor * ask.tau)
        rows.append(("points", (again - trace.scaled).abs().max().item(), max(1e-4, 4e-6 * spread)))
    if ask.net and not lens(ask):
        theirs = _moment(ask).weights[head.layer - 1][ask.number - 1]
        sizes = trace.q.norm(dim=-1).max().item() * trace.k.norm(dim=-1).max().item() / (ask.divisor * ask.tau)
        rows.append(("net", (theirs - trace.weights).abs().max().item(), max(1e-5, 8 * torch.finfo(torch.float32).eps * sizes)))
    return tuple(rows)


def _points(head: HeadTrace) -> Tensor:
    """Every score as the sum of the points of the rules that match: a second way, without W_q and W_k."""
    at = {name: i for i, name in enumerate(head.features)}
    out = torch.zeros(len(head.tokens), len(head.tokens))
    for rule in head.rules:
        out += rule.points * head.X[:, at[rule.query], None] * head.X[None, :, at[rule.key]]
    return out


# labels


def isolated(word: str) -> str:
    """A word that may be written from right to left, kept apart from what stands beside it; any other as it is."""
    turned = any(unicodedata.bidirectional(c) in ("R", "AL", "AN", "RLE", "RLO") for c in word)
    return f"{ISOLATE}{word}{END}" if turned else word


@lru_cache(maxsize=256)
def axis(labels: tuple[str, ...]) -> tuple[str, ...]:
    """The words as labels of an axis."""
    return tuple(isolated(label) for label in labels)


def choices(shown: Shown) -> dict[int, str]:
    """Position -> number and word, for a list."""
    return {i: f"{i + shown.first}  {isolated(label)}" for i, label in enumerate(shown.labels)}


# the matrix


@dataclass(frozen=True, eq=False)
class Picture:
    """What a matrix chart needs: the frame of its marks, its labels, and its width on the page in pixels."""

    draw: Callable[..., Any]
    frame: pd.DataFrame
    labels: dict[str, Any]
    width: int
    large: bool = False
    window: tuple[int, int, int, int] | None = None


@lru_cache(maxsize=256)
def _cells(ask: Ask, view: str, lang: str) -> pd.DataFrame:
    """Every cell: row, col, value (None where hidden), text, exact, hidden, row_label, col_label."""
    run = shown(ask)
    return cell_frame(run.matrix(view), run.hidden, view, axis(run.labels), lang, numbers=run.T <= 2 * TEXT_CELLS)


def cell_frame(
    values: Tensor, hidden: Tensor, view: str, labels: tuple[str, ...], lang: str, numbers: bool = True
) -> pd.DataFrame:
    T = len(labels)
    flat, covered = values.flatten().tolist(), hidden.flatten().tolist()
    specs = {"weights": (".2f", ".6f"), "difference": ("+.2f", "+.6f"), "scores": (".1f", ".4f"), "raw": (".0f" if _whole(values) else ".1f", ".4f")}
    short, long = specs[view]
    blank = BLANK if view in ("weights", "difference") else 0.0
    texts = [
        "×" if h else "" if not numbers or abs(v) < blank else number(v, short, lang) for v, h in zip(flat, covered, strict=True)
    ]
    return pd.DataFrame(
        {
            "row": np.repeat(np.arange(T), T),
            "col": np.tile(np.arange(T), T),
            "value": [0.0 if h else v if math.isfinite(v) else None for v, h in zip(flat, covered, strict=True)],
            "text": texts,
            "exact": [words.EMPTY_CELL(lang) if h else number(v, long, lang) for v, h in zip(flat, covered, strict=True)],
            "hidden": covered,
            "row_label": np.repeat(np.array(labels, dtype=object), T),
            "col_label": np.tile(np.array(labels, dtype=object), T),
        }
    )


@lru_cache(maxsize=64)
def _url(ask: Ask, view: str, look: Look) -> str:
    """A whole matrix as the address of an image."""
    run = shown(ask)
    symbol = "weights" if view == "weights" else "scores"
    return charts.image(run.matrix(view).tolist(), run.hidden.tolist(), look, symbol, limit(ask, view))


def _whole(values: Tensor) -> bool:
    return bool((values == values.round()).all())


def limit(ask: Ask, view: str) -> float:
    """Where the colours of a view end: the next round number above its largest entry."""
    return 1.0 if view == "weights" else nice_limit(shown(ask).matrix(view).abs().max().item())


def picture(ask: Ask, view: str, i: int, j: int, lang: str, zoom: bool, paint: bool, look: Look) -> Picture:
    """The matrix on screen: cells with numbers, cells, or an image, by its size."""
    run = shown(ask)
    T, labels = run.T, axis(run.labels)
    titles = {"row_title": words.QUERIES(lang), "col_title": words.KEYS(lang), "value_title": words.VIEWS[view](lang)}
    symbol = "weights" if view == "weights" else "scores"
    if T > RECT_CELLS and not (zoom or paint):
        return _image(run, _url(ask, view, look), i, lang, titles)
    frame, window = _cells(ask, view, lang), None
    if T > TEXT_CELLS and (zoom or (paint and T > RECT_CELLS)):
        window = (*_around(i, T), *_around(j, T))
        a, b, c, d = window
        frame = frame[frame["row"].between(a, b) & frame["col"].between(c, d)]
    a, b, c, d = window or (0, T - 1, 0, T - 1)
    painted = typed.parse_cells(ask.cells, T)
    at = list(zip(frame["row"], frame["col"], strict=True))
    frame = frame.assign(
        mark=[(r == i) + (r == i and k == j) for r, k in at],
        turn=T * i + j,
        hide=[0 if cell in painted else 1 for cell in at] if paint else 0,
    )
    cols = d - c + 1
    cell = 52 if cols <= 8 else 46 if cols <= TEXT_CELLS else 24
    labels_ = dict(
        row_labels=labels[a : b + 1], col_labels=labels[c : d + 1], row_from=a, col_from=c, symbol=symbol,
        limit=limit(ask, view), numbers=cols <= TEXT_CELLS, pick=True, cell=cell, row_height=36 if cols <= TEXT_CELLS else cell, **titles,
    )  # fmt: skip
    return Picture(charts.matrix, frame, labels_, _room(labels) + cell * cols, window=window)


def _room(labels: tuple[str, ...]) -> int:
    return 50 + min(9 * max(map(len, labels)), 150)


def _around(at: int, T: int) -> tuple[int, int]:
    """The first and last of TEXT_CELLS positions around `at`."""
    start = min(max(at - TEXT_CELLS // 2, 0), T - TEXT_CELLS)
    return start, start + TEXT_CELLS - 1


def _image(run: Shown, url: str, i: int, lang: str, titles: dict[str, str]) -> Picture:
    labels = axis(run.labels)
    tops, largest = run.tops, run.weights.amax(-1).tolist()
    frame = pd.DataFrame(
        {
            "row": range(run.T),
            "url": [url, *[""] * (run.T - 1)],
            "row_label": labels,
            "top_label": ["–" if t is None else labels[t] for t in tops],
            "top_text": ["–" if t is None else number(largest[r], ".6f", lang) for r, t in enumerate(tops)],
            "mark": [int(r == i) for r in range(run.T)],
            "turn": i,
        }
    )
    cell = max(9, 640 // run.T)
    titles = {**titles, "top_title": words.TOP(lang)}
    return Picture(charts.overview, frame, dict(labels=labels, cell=cell, **titles), _room(labels) + cell * run.T, large=True)


def small_picture(
    values: Tensor, hidden: Tensor, labels: tuple[str, ...], view: str, top: float, lang: str, look: Look
) -> Picture:
    """One side of a comparison, or the difference; never chosen by a click. view: weights or difference."""
    T, labels = len(labels), axis(labels)
    titles = {"row_title": words.QUERIES(lang), "col_title": words.KEYS(lang)}
    symbol = "weights" if view == "weights" else "scores"
    if T > RECT_CELLS:
        url = charts.image(values.tolist(), hidden.tolist(), look, symbol, top)
        frame = pd.DataFrame({"row": range(T), "url": [url, *[""] * (T - 1)], "row_label": labels, "top_label": "", "top_text": "", "mark": 0, "turn": 0})  # fmt: skip
        cell = max(5, 400 // T)
        return Picture(charts.overview, frame, dict(labels=labels, cell=cell, top_title=" ", value_title=" ", pick=False, **titles), _room(labels) + cell * T, large=True)  # fmt: skip
    frame = cell_frame(values, hidden, view, labels, lang, numbers=T <= TEXT_CELLS).assign(mark=0, turn=0, hide=0)
    cell = 28 if T <= TEXT_CELLS else 12
    labels_ = dict(
        row_labels=labels, col_labels=labels, row_from=0, col_from=0, symbol=symbol, limit=top, numbers=T <= TEXT_CELLS, pick=False,
        cell=cell, row_height=26 if T <= TEXT_CELLS else cell, value_title=words.WEIGHT(lang) if view == "weights" else words.DIFFERENCE(lang), **titles,
    )  # fmt: skip
    return Picture(charts.matrix, frame, labels_, _room(labels) + cell * T)


def matrix_says(ask: Ask, view: str, lang: str) -> str:
    """The matrix in a sentence."""
    run = shown(ask)
    values = run.matrix(view).masked_fill(run.hidden, -math.inf)
    if not run.first and run.T > 1:
        values = values.clone()
        values[0] = -math.inf  # the start token's own row says nothing about the sentence
    at = int(values.argmax())
    largest = values.flatten()[at].item()
    if largest == -math.inf:
        return words.MATRIX_NOTHING(lang)
    q, k = run.name(at // run.T, lang), run.name(at % run.T, lang)
    return words.MATRIX_SAYS[view](lang, T=run.T, largest=largest, q=q, k=k, divisor=ask.divisor, tau=ask.tau)


def lines_frame(run: Shown, i: int, lang: str) -> pd.DataFrame:
    """The lines from one query to its keys, and the two columns of words they run between."""
    weights, hidden, labels = run.weights[i].tolist(), run.hidden[i].tolist(), axis(run.labels)
    return pd.DataFrame(
        {
            "row": range(run.T),
            "from_row": i,
            "label": labels,
            "weight": weights,
            "text": [words.EMPTY_CELL(lang) if h else number(w, ".6f", lang) for w, h in zip(weights, hidden, strict=True)],
            "share": ["×" if h else number(w, ".0%", lang) if w >= BLANK else "" for w, h in zip(weights, hidden, strict=True)],
            "query": [int(r == i) for r in range(run.T)],
            "seen": [int(not h) for h in hidden],
            "turn": i,
        }
    )


# the row


@dataclass(frozen=True)
class Row:
    """One query's row. top: the strongest key; alike: how many keys share its weight; most: ln of the keys it may read."""

    top: int | None
    share: float
    alike: int
    entropy: float
    effective: float
    keys: int
    most: float
    before: float
    own: float
    after: float


def row(run: Shown, i: int) -> Row:
    weights = run.weights[i]
    share = weights.max().item()
    return Row(
        top=run.top(i), share=share, alike=int((weights >= share - 1e-6).sum()) if share else 0,
        entropy=entropy(weights).item(), effective=effective_keys(weights).item(), keys=len(run.visible(i)), most=math.log(max(len(run.visible(i)), 1)),
        before=weights[:i].sum().item(), own=weights[i].item(), after=weights[i + 1 :].sum().item(),
    )  # fmt: skip


def reads(run: Shown, i: int, lang: str) -> str:
    """Whom a query reads, in a few words: markup for our own words, plain text for those that were typed."""
    found = row(run, i)
    if not run.ask.ours:
        place, word = i + run.first, isolated(run.labels[i])
        if found.top is None:
            return words.READS_TYPED_NOTHING(lang, i=place, q=word)
        key = isolated(run.labels[found.top])
        return words.READS_TYPED(lang, i=place, q=word, j=found.top + run.first, k=key, share=found.share)
    q = run.name(i, lang)
    if found.top is None:
        return words.READS_NOTHING(lang, q=q)
    if found.alike > 2:
        return words.READS_ALIKE(lang, q=q, n=found.alike, share=found.share)
    k = run.name(found.top, lang)
    if found.alike == 2:
        also = int(run.weights[i].masked_fill(torch.arange(run.T) == found.top, -1).argmax())
        return words.READS_TWO(lang, q=q, a=k, b=run.name(also, lang), share=found.share)
    return words.READS(lang, q=q, k=k, share=found.share)


def bars(run: Shown, i: int, lang: str) -> pd.DataFrame:
    """A bar a key in the order of the sentence: position, rank, weight, label, text, kind ("own", "hidden", "seen")."""
    weights, hidden, labels = run.weights[i].tolist(), run.hidden[i].tolist(), axis(run.labels)
    ranks = {j: n for n, j in enumerate(sorted(range(run.T), key=lambda j: (-weights[j], j)))}
    return pd.DataFrame(
        {
            "position": range(run.T),
            "rank": [ranks[j] for j in range(run.T)],
            "weight": weights,
            "label": labels,
            "text": [words.EMPTY_CELL(lang) if h else number(w, ".6f", lang) for w, h in zip(weights, hidden, strict=True)],
            "short": ["×" if h else number(w, ".1%", lang) for w, h in zip(weights, hidden, strict=True)],
            "seen": [int(not h) for h in hidden],
        }
    )


def row_table(run: Shown, i: int, lang: str) -> pd.DataFrame:
    """The row's arithmetic: position, key, raw, scaled, hidden, exp, weight."""
    trace, hidden = run.head.trace, run.hidden[i]
    top = trace.masked[i].max()
    exps = (trace.masked[i] - top).exp() if run.visible(i) else torch.zeros(run.T)
    return pd.DataFrame(
        {
            "position": [j + run.first for j in range(run.T)],
            "key": run.labels,
            "raw": trace.raw[i].tolist(),
            "scaled": trace.scaled[i].tolist(),
            "hidden": [(words.HIDDEN if h else words.SEEN)(lang) for h in hidden.tolist()],
            "exp": exps.tolist(),
            "weight": trace.weights[i].tolist(),
        }
    )


def whole_row(run: Shown, i: int, lang: str) -> tuple[list[str], list[list[str]]]:
    """The arithmetic of the row's largest weights, as a short table of our own words and numbers."""
    table = row_table(run, i, lang).assign(at=range(run.T)).sort_values("weight", ascending=False, kind="stable").head(SORTED)
    head = [words.ROW_COLUMNS[name][0](lang) for name in ("key", "raw", "scaled", "weight")]
    rows = [
        [run.name(line["at"], lang), *(number(line[name], ".4f", lang) for name in ("raw", "scaled", "weight"))]
        for line in table.to_dict("records")
    ]
    return head, rows


def formula(run: Shown, i: int, j: int, lang: str) -> tuple[str, str]:
    """The score and the weight of a cell with the numbers of its row, as LaTeX."""
    trace, ask, n = run.head.trace, run.ask, run.first
    raw, score, weight = trace.raw[i, j].item(), trace.scaled[i, j].item(), trace.weights[i, j].item()
    a, b = i + n, j + n

    def tex(value: float, spec: str) -> str:
        return number(value, spec, lang).replace("\u202f", r"\,").replace(",", "{,}").replace("\u2212", "-")

    of_score = (
        rf"s_{{{a},{b}}}=\frac{{q_{{{a}}}\cdot k_{{{b}}}}}{{{tex(ask.divisor, '.6g')}\cdot\tau}}="
        rf"\frac{{{tex(raw, '.4f')}}}{{{tex(ask.divisor, '.6g')}\cdot {tex(ask.tau, '.2f')}}}={tex(score, '.4f')}"
    )
    if run.hidden[i, j]:
        return of_score, ""
    seen = sorted(run.visible(i), key=lambda c: -trace.scaled[i, c].item())
    drawn = sorted(seen[:TERMS])
    terms = "+".join(rf"e^{{{tex(trace.scaled[i, c].item(), '.2f')}}}" for c in drawn)
    more = r"+\dots" if len(seen) > TERMS else ""
    of_weight = rf"\alpha_{{{a},{b}}}=\frac{{e^{{{tex(score, '.2f')}}}}}{{{terms}{more}}}={tex(weight, '.6f')}"
    return of_score, of_weight


# one cell


def feature(name: str, lang: str) -> str:
    """A coordinate's name in words: "position_3" -> "position 3"."""
    base, _, tail = name.rpartition("_")
    if tail.isdigit():
        base = {"looks": "looks_in", "verb": "verb_of"}.get(base, base)
        return f"{words.FEATURE[base](lang)} {tail}"
    return words.FEATURE[name](lang)


def coordinate(run: Shown, m: int, lang: str) -> str:
    """What coordinate m of q and k stands for; nothing in a trained head."""
    return feature(run.head.features[m], lang) if run.head.features else ""


def products(run: Shown, i: int, j: int, lang: str) -> pd.DataFrame:
    """q_i, k_j and their products: m (from 1), name, q, k, product."""
    q, k = run.head.trace.q[i], run.head.trace.k[j]
    return pd.DataFrame(
        {
            "m": range(1, len(q) + 1),
            "name": [coordinate(run, m, lang) for m in range(len(q))],
            "q": q.tolist(),
            "k": k.tolist(),
            "product": (q * k).tolist(),
        }
    )


def strips(table: pd.DataFrame, lang: str) -> pd.DataFrame:
    """The marks of q, k and their products: row (0 to 2), col, share of the row's largest, text, name."""
    parts = [table[name].tolist() for name in ("q", "k", "product")]
    tops = [max(map(abs, values)) or 1.0 for values in parts]
    names = [f"{m}  {n}".strip() for m, n in zip(table["m"], table["name"], strict=True)]
    return pd.DataFrame(
        {
            "row": np.repeat(np.arange(3), len(table)),
            "col": np.tile(np.arange(len(table)), 3),
            "share": [value / top for values, top in zip(parts, tops, strict=True) for value in values],
            "text": [number(value, ".4f", lang) for values in parts for value in values],
            "name": names * 3,
        }
    )


def strips_say(table: pd.DataFrame, lang: str) -> str:
    product = table["product"]
    n = int((product != 0).sum())
    if not n:
        return words.STRIPS_NONE(lang, d_k=len(table))
    at = int(product.abs().argmax())
    return words.STRIPS_SAYS(lang, n=n, d_k=len(table), raw=float(product.sum()), largest=float(product[at]), at=at + 1)


def rules(run: Shown, i: int, j: int, lang: str) -> tuple[list[list[str]], float]:
    """The rules that matched in a cell, as rows of words, and the sum of their points."""
    found = core.fired(run.head, i, j)
    rows = [[feature(f.rule.query, lang), feature(f.rule.key, lang), number(f.points, ".4f", lang)] for f in found]
    return rows, sum(f.points for f in found)


@lru_cache(maxsize=64)
def all_rules(head: str, lang: str) -> pd.DataFrame:
    """Every rule of a hand-written head."""
    return pd.DataFrame(
        [(feature(r.query, lang), feature(r.key, lang), float(r.points)) for r in HEADS[head].rules],
        columns=["query", "key", "points"],
    )


def features_of(run: Shown, i: int, lang: str) -> str:
    """The coordinates of a token that are not 0, in words; with their share where the first layer wrote them."""
    out = []
    for name, value in zip(run.head.features, run.head.X[i].tolist(), strict=True):
        if value == 1:
            out.append(feature(name, lang))
        elif abs(value) >= BLANK:
            out.append(f"{feature(name, lang)} {number(value, '.2f', lang)}")
    return " · ".join(out)


# what to notice


def notices(run: Shown, i: int, lang: str) -> list[str]:
    """What the tensors on screen show, one sentence each, as markup; our own words and numbers only."""
    head, ask, out = run.head, run.ask, []
    if ask.source == "hand":
        out += _pair_notices(run, i, lang)
        if ask.sentence in ("es_tired", "es_wide", "es_trophy") and head.head in ("predicate", "coreference"):
            asks = next(p.i for p in sentences.pairs(ask.sentence) if p.head == "coreference")
            out.append(words.SPANISH_PAIR(lang, q=run.labels[asks]))
        if head.head != "same_word" and (share := _start_share(run)) >= 0.01:
            out.append(words.START_SHARE(lang, share=share))
    if ask.source != "hand" or head.head in TYPED:
        out.append(_offsets(run, lang))
    if run.family.pad:
        out.append(_steal(run, lang))
    if ask.net:
        out = [*_net_notices(run, lang), *out]
    empty = run.hidden.all(-1)
    if empty.any():
        out.append(words.EMPTY_ROWS(lang, n=int(empty.sum()), T=run.T))
    codes = (*head.notes, *(minilm.NOTES if ask.source == "real" else ()))
    return out + [words.NOTES[code](lang) for code in codes if code in words.NOTES]


def _net_notices(run: Shown, lang: str) -> list[str]:
    """What the net answers, and what its map can't say."""
    net, moment = run.ask.net, _moment(run.ask)
    if net.net.task is None:
        return [words.NET_CAT_SAT(lang, loss=moment.loss), words.NET_NO_MEANING(lang)]
    said, right = (" ".join(tokens) for tokens in (moment.predicted, moment.answers))
    answer = words.NET_RIGHT if moment.predicted == moment.answers else words.NET_WRONG
    out = [answer(lang, said=said, right=right)]
    if run.head.layer == net.net.layers and moment.rows < run.T:
        out.append(words.NET_ROWS(lang, q=run.name(run.T - 1, lang)))
    return out


def _offsets(run: Shown, lang: str) -> str:
    """Where the weight goes by distance, as shares of all rows that read something."""
    weights, rows = run.weights, max(int((~run.hidden.all(-1)).sum()), 1)
    shares = {"before": weights.diagonal(-1), "after": weights.diagonal(1), "own": weights.diagonal(), "first": weights[:, 0]}
    return words.OFFSETS(lang, **{name: part.sum().item() / rows for name, part in shares.items()})


def _start_share(run: Shown) -> float:
    full = ~run.hidden.all(-1)
    return run.weights[full][1:, 0].mean().item() if full[1:].any() else 0.0


def _pair_notices(run: Shown, i: int, lang: str) -> list[str]:
    head, out = run.head, []
    mine = [p for p in sentences.pairs(run.ask.sentence) if p.head == head.head]
    of_row = [p for p in mine if p.i == i] or mine[:1]
    for pair in of_row[:1]:
        q, keys = run.name(pair.i, lang), [run.name(k, lang) for k in pair.keys]
        weights = run.weights[pair.i]
        what = next((p.keys[0] for p in sentences.pairs(run.ask.sentence) if p.head == "predicate" and p.i == pair.i), None)
        unseen = head.mask is not None and what is not None and not head.mask[pair.i, what]
        if head.head == "coreference":
            nouns = [k for k in range(run.T) if head.X[k, head.features.index("noun")] == 1 and not run.hidden[pair.i, k]]
            nouns = sorted(nouns, key=lambda k: -weights[k].item())[:2]
            if unseen and len(nouns) == 2:
                a, b = sorted(nouns)
                out.append(words.PREDICATE_HIDDEN(lang, what=run.name(what, lang), q=q, a=run.name(a, lang), b=run.name(b, lang), first=weights[a].item(), second=weights[b].item()))  # fmt: skip
                continue
            if "undecided" in head.notes and len(nouns) == 2:
                out.append(words.UNDECIDED(lang, a=run.name(nouns[0], lang), b=run.name(nouns[1], lang), share=weights[nouns[0]].item()))
                continue
            if what is not None and head.below is not None and not unseen:
                share = head.below.trace.weights[pair.i, what].item()
                out.append(words.PREDICATE_READ(lang, q=q, what=run.name(what, lang), share=share))
        elif unseen:
            out.append(words.PREDICATE_UNSEEN(lang, what=run.name(what, lang), q=q))
            continue
        out.append(words.EXPECTED(lang, q=q, k=" / ".join(keys), share=sum(weights[k].item() for k in pair.keys)))
    if not mine and head.head in ("coreference", "predicate", "subject", "object", "modifier"):
        return [words.NO_PAIR(lang, share=_start_share(run))]
    return out


def _steal(run: Shown, lang: str) -> str:
    real = run.T - run.family.pad
    if not real:
        return words.STEAL_NONE(lang, mean=0.0)
    share = run.weights[:real, real:].sum(-1)
    if run.ask.mask == "padding":
        return words.STEAL_NONE(lang, mean=share.mean().item())
    masked = padding_mask([real], run.T)[0, 0].repeat(run.T, 1)
    trace = run.head.trace
    hidden = attention_trace(trace.q, trace.k, trace.v, masked, run.ask.tau, run.ask.by).weights[:real, real:].sum().item()
    most = int(share.argmax())
    return words.STEAL(lang, mean=share.mean().item(), most=share[most].item(), q=run.name(most, lang), masked=hidden)


# all heads side by side


@dataclass(frozen=True, eq=False)
class Thumb:
    """A small multiple. id: of the head, "" for the mean. opens: the settings that choose that head."""

    id: str
    opens: dict[str, Any]
    name: str
    png: bytes
    says: str


@dataclass(frozen=True, eq=False)
class Side:
    """All heads of a family as pictures, their mean last, and the mean of their weights."""

    thumbs: tuple[Thumb, ...]
    weights: Tensor
    mean: Tensor


@lru_cache(maxsize=64)
def side_by_side(ask: Ask, look: Look) -> Side:
    lang = look.lang
    found, stack = [], []
    for one in _beside(ask):
        run = shown(one)
        found.append(_thumb(one, head_name(one, lang), run, run.weights, look))
        stack.append(run.weights)
    weights = torch.stack(stack)
    mean = weights.mean(0)
    if len(stack) > 1:
        found.append(_thumb(None, words.MEAN(lang, n=len(stack)), run, mean, look))
    return Side(tuple(found), weights, mean)


def _beside(ask: Ask) -> list[Ask]:
    """The heads side by side: all of a sentence, those of a layer of MiniLM, or every one of a net that was trained here."""
    if ask.net:
        sizes = ask.net.net
        return [replace(ask, layer=layer, number=n) for layer in range(1, sizes.layers + 1) for n in range(1, sizes.heads + 1)]
    names = family(ask).heads
    return [replace(ask, number=int(name)) if ask.layered else replace(ask, head=name) for name in names]


def head_name(ask: Ask, lang: str) -> str:
    """A head among those beside it."""
    if ask.net and ask.net.net.layers > 1:
        return words.WHAT_REAL(lang, layer=ask.layer, head=ask.number)
    return words.HEAD_NUMBER(lang, n=ask.number) if ask.layered else words.HEADS[ask.head](lang)


def mean_says(side: Side, run: Shown, i: int, lang: str) -> str:
    """How the mean blurs one row."""
    tops = side.weights[:, i].amax(-1)
    best = int(tops.argmax())
    return words.MEAN_NOTE(
        lang, n=len(side.weights), q=run.name(i, lang), mean=side.mean[i].max().item(), most=tops[best].item(),
        name=side.thumbs[best].name,
    )  # fmt: skip


def _thumb(one: Ask | None, title: str, run: Shown, weights: Tensor, look: Look) -> Thumb:
    at = int(weights.argmax())
    q, k = run.name(at // run.T, look.lang), run.name(at % run.T, look.lang)
    says = words.THUMB_SAYS(look.lang, name=title, largest=weights.max().item(), q=q, k=k)
    png = charts.png(weights.tolist(), run.hidden.tolist(), look, "weights", 1.0, 2 * THUMB)
    if one is None:
        return Thumb("", {}, title, png, says)
    if one.net:
        return Thumb(f"{one.layer}_{one.number}", {"h_tl": one.layer, "h_th": one.number}, title, png, says)
    return Thumb(one.id, {"h_rhead": one.number} if one.layered else {"h_head": one.head}, title, png, says)


# together


@lru_cache(maxsize=16)
def together(ask: Ask, seed: int) -> core.Together:
    """All heads of a family put together."""
    if ask.source == "real":
        return minilm.together(ask.read, ask.layer, family(ask).mask, ask.tau, ask.by, ask.pad)
    if ask.net:
        return trained.together(tuple(family(ask).heads.values()))
    outputs = [head.trace.output for head in family(ask).heads.values()]
    return core.concat_parts(outputs, core.drawn_W_o(len(outputs), seed, D_MODEL), f"seed:{seed}")


def parts(run: Shown, i: int, seed: int, lang: str) -> tuple[pd.DataFrame, core.Together]:
    """The part of each head in the output of a token: at, head, share (along the output), norm, first, second, mine."""
    put = together(run.ask.family(), seed)
    mine, whole = put.parts[:, i].double(), put.output[i].double()
    size = (whole @ whole).item()
    names = list(run.family.heads)
    frame = pd.DataFrame(
        {
            "at": range(len(names)),
            "head": [words.HEAD_NUMBER(lang, n=int(n)) if run.ask.layered else words.HEADS[n](lang) for n in names],
            "share": [(part @ whole).item() / size if size else 0.0 for part in mine],
            "norm": mine.norm(dim=-1).tolist(),
            "first": mine[:, 0].tolist(),
            "second": mine[:, 1].tolist(),
            "mine": [int(n == run.ask.id) for n in names],
        }
    )
    frame["text"] = [number(s, ".1%", lang) for s in frame["share"]]
    return frame, put


def with_sum(frame: pd.DataFrame, put: core.Together, i: int, lang: str) -> pd.DataFrame:
    """The table of the parts, and the output itself as its last row."""
    whole = put.output[i]
    last = {
        "head": words.OUTPUT_ROW(lang), "share": frame["share"].sum(), "norm": whole.norm().item(), "first": whole[0].item(),
        "second": whole[1].item(),
    }  # fmt: skip
    return pd.concat([frame[list(words.PART_COLUMNS)], pd.DataFrame([last])], ignore_index=True)


# mask and leaks


@lru_cache(maxsize=256)
def reach(ask: Ask, i: int) -> core.Reach:
    """Which inputs can change output i."""
    run = shown(ask)
    if ask.layered:
        return core.layer_reach(run.head, i, ask.tau, ask.by)
    if ask.source == "typed":
        return core.typed_reach(ask.text, ask.head, i, run.family.mask, ask.tau, ask.by)
    return core.jacobian_reach(ask.sentence, ask.head, run.family.mask, ask.tau, ask.by, (i,), ask.pad)


def reach_frame(run: Shown, i: int, lang: str) -> pd.DataFrame:
    found, labels = reach(run.ask, i), axis(run.labels)
    norms, allowed = found.norms[0].tolist(), found.allowed[0].tolist()
    return pd.DataFrame(
        {
            "position": range(run.T),
            "label": labels,
            "weight": norms,
            "text": [number(n, ".6f", lang) for n in norms],
            "seen": [int(a) for a in allowed],
            "may": [(words.MAY if a else words.MAY_NOT)(lang) for a in allowed],
        }
    )


def reach_says(run: Shown, i: int, lang: str) -> str:
    found = reach(run.ask, i)
    hidden = int((~found.allowed).sum())
    msg = words.LEAK_SAYS if hidden else words.LEAK_SAYS_FREE
    return msg(lang, n=int((found.norms > 0).sum()), T=run.T, q=run.name(i, lang), hidden=hidden, leak=found.leak)


@lru_cache(maxsize=64)
def polarity(ask: Ask) -> core.Polarity:
    return core.polarity_example(family(ask).mask)


# compare


@dataclass(frozen=True, eq=False)
class Compared:
    """Two settings. difference is None where they can't be subtracted."""

    a: Shown
    b: Shown
    difference: core.Difference | None


def compare(first: Ask, other: Ask) -> Compared:
    a, b = shown(first), shown(other)
    same = a.head is not None and b.head is not None and a.T == b.T
    return Compared(a, b, core.difference(a.head, b.head) if same else None)


def compare_says(found: Compared, lang: str) -> str:
    """What differs most, or why nothing can be subtracted."""
    a, b, gap = found.a, found.b, found.difference
    if gap is None:
        return words.COMPARE_LENGTHS(lang, a=a.T, b=b.T)
    if gap.largest == 0:
        return words.COMPARE_SAME(lang)
    if gap.largest < TINY:
        return words.COMPARE_TINY(lang, largest=gap.largest)
    i, j = gap.cell
    weights = {"a": a.weights[i, j].item(), "b": b.weights[i, j].item()}
    said = words.COMPARE_SAYS(lang, largest=gap.largest, q=a.name(i, lang), k=a.name(j, lang), **weights)
    if gap.changed:
        places = ", ".join(str(c + a.first) for c in gap.changed)
        said = f"{words.COMPARE_CHANGED(lang, places=places)} {said}"
    return said


def described(ask: Ask, kind: str, lang: str, other: bool = False, arms: Sequence[str] = ()) -> str:
    """One side of a comparison in a few of our own words. arms: the names of those that were trained."""
    if ask.net and kind == "sentence":
        return words.WHAT_EXAMPLE(lang, n=ask.example + 1)
    if ask.net and kind == "head":
        return words.WHAT_TRAINED(lang, arm=arms[ask.net.arm], layer=ask.layer, head=ask.number)
    if kind == "sentence":
        if ask.ours:
            return sentences.SENTENCES[ask.sentence].text
        return (words.WHAT_YOURS_TOO if other else words.WHAT_YOURS)(lang)
    if kind == "head":
        if ask.source == "real":
            return words.WHAT_REAL(lang, layer=ask.layer, head=ask.number)
        return words.HEADS[ask.head](lang)
    if kind == "tau":
        return words.WHAT_TAU(lang, tau=ask.tau)
    msg = words.WHAT_PAINTED if ask.cells else words.WHAT_MASK
    return msg(lang, mask=frame.OPTIONS["mask"][ask.mask](lang))


# the prediction


@dataclass(frozen=True)
class Asked:
    question: Msg
    answers: tuple[str, ...]
    right: int
    because: str


def prediction(run: Shown, i: int, lang: str) -> Asked | None:
    """Whom does the chosen query read most when the mask becomes causal, or is taken away?"""
    ask = run.ask
    causal = ask.mask != "causal" or bool(ask.cells)
    then = shown(replace(ask, mask="causal" if causal else "none", cells=""))
    before, after = _tops(run, i), _tops(then, i)
    order = [(j,) for j in sorted(range(run.T), key=lambda j: -run.weights[i, j].item())]
    options = list(dict.fromkeys((before, after, *((j,) for t in (before, after) for j in t), *order)))
    options = sorted([o for o in options if o][:4])
    if not after or len(options) < 2 or (ask.net and then.hidden.equal(run.hidden)):
        return None
    names = {o: _together(run, o, lang) for o in options}
    shares = {"a": names.get(before, ""), "before": run.weights[i].max().item(), "b": names[after], "after": then.weights[i].max().item()}
    because = words.BECAUSE(lang, **shares) if before else words.BECAUSE_NOTHING(lang, b=shares["b"], after=shares["after"])
    return Asked(words.ASK_CAUSAL if causal else words.ASK_NONE, tuple(names.values()), options.index(after), because)


def _tops(run: Shown, i: int) -> tuple[int, ...]:
    """The keys that share the largest weight, if they are one or two; none for a row that reads nothing."""
    weights = run.weights[i]
    if not run.visible(i):
        return ()
    found = (weights >= weights.max() - 1e-6).nonzero().flatten().tolist()
    return tuple(found[:2])


def _together(run: Shown, positions: tuple[int, ...], lang: str) -> str:
    names = [run.name(j, lang) for j in positions]
    return names[0] if len(names) == 1 else words.ALIKE(lang, a=names[0], b=names[1])


# words around the pictures


def sentence_text(stem: str, lang: str) -> str:
    return sentences.SENTENCES[f"{lang}_{stem}"].text


def origin(run: Shown, lang: str, arms: Sequence[str] = ()) -> str:
    """Where the matrices of the head come from. arms: the names of those that were trained."""
    ask, head = run.ask, run.head
    if ask.net:
        net, moment = ask.net, _moment(ask)
        return words.ORIGIN_TRAINED(
            lang, task=training.TASKS[net.config.task](lang), arm=arms[net.arm], run=net.seed + 1, seed=str(moment.seed),
            step=net.step, loss=moment.loss, layer=head.layer, head=ask.number,
        )  # fmt: skip
    said = words.ORIGINS[ask.source](lang, layer=ask.layer, head=ask.number)
    if ask.source != "hand":
        return said
    layer = words.LAYERS["two" if head.layer == 2 else "one"](lang, below=words.HEADS["predicate"](lang))
    return f"{said} {layer}"


def kept(run: Shown) -> int:
    """How many of the tokens that were found are used; MiniLM adds two of its own."""
    return run.T - (2 + run.family.pad if run.ask.source == "real" else 0)


def legend(run: Shown, drawn: Picture, view: str, lang: str) -> list[str]:
    """What has to be said about the marks of a matrix."""
    out = []
    if drawn.window:
        a, b, c, d = (at + run.first for at in drawn.window)
        out.append(words.WINDOWED(lang, a=a, b=b, c=c, d=d, T=run.T))
    if drawn.large:
        out.append(words.LARGE(lang, T=run.T))
    elif view == "weights" and drawn.labels["numbers"]:
        out.append(words.SMALL_BLANK(lang, limit=BLANK))
    if run.hidden.any():
        out.append((words.HATCHED if drawn.large else words.CROSSES)(lang))
    return out


def parts_slack(put: core.Together) -> float:
    """What float32 may round away of a sum of this many products."""
    return 1e-5 * max(1.0, put.output.abs().max().item(), put.parts.abs().max().item())


def part_ends(frame: pd.DataFrame) -> tuple[float, float]:
    """The ends of the axis of shares, in steps of a quarter, with room for the numbers."""
    low, high = min(frame["share"].min(), 0.0), max(frame["share"].max(), 0.0)
    return math.floor(low * 4 - 0.6 * (low < 0)) / 4, math.ceil(high * 4 + 0.6) / 4


def reach_table(run: Shown, frame: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {"position": frame["position"] + run.first, "token": run.labels, "norm": frame["weight"], "may": frame["may"]}
    )


def reach_top(frame: pd.DataFrame) -> float:
    return nice_limit(float(frame["weight"].max()))


def sides(found: Compared, lang: str, look: Look) -> list[Picture]:
    """Both matrices on one scale of colours, and their difference where there is one."""
    out = [small_picture(run.weights, run.hidden, run.labels, "weights", 1.0, lang, look) for run in (found.a, found.b)]
    if found.difference is not None:
        both = found.a.hidden & found.b.hidden
        out.append(small_picture(found.difference.matrix, both, found.a.labels, "difference", 1.0, lang, look))
    return out


NAMED = minilm.NAMED


def tensors(run: Shown) -> dict[str, Tensor]:
    """The tensors on screen by name, in the order of the lesson."""
    head, trace = run.head, run.head.trace
    found = {"heads": torch.tensor(run.ask.net.net.heads)} if run.ask.net else {}
    found |= {"X": head.X, "W_q": head.W_q, "W_k": head.W_k, "W_v": head.W_v, "q": trace.q, "k": trace.k, "v": trace.v}
    steps = {"raw": trace.raw, "scaled": trace.scaled, "masked": trace.masked, "weights": trace.weights, "output": trace.output}
    return {**found, **steps}
