"""How one token reads the others: the small example of the lesson, every number of which can be checked.

Row vectors throughout, as in the paper's code: Q = X W_q, one row a token.
"""
import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv_core.attention import AttentionTrace, attention_trace, scaled_dot_product_attention, stable_softmax
from qkv_core.masks import whole


class Triad(NamedTuple):
    """The given numbers of one lesson.

    X: tensor (T, C), a row a token. W_q, W_k: tensors (C, d_k). W_v: tensor (C, d_v).
    target: tensor (T, d_v), what training aims the output at. tokens: tuple of T str, their labels.
    """
    X: Tensor
    W_q: Tensor
    W_k: Tensor
    W_v: Tensor
    target: Tensor
    tokens: tuple[str, ...]


class CatSat(Triad):
    """"The cat sat", written by hand: T = 3, C = d_k = d_v = 4."""
    __slots__ = ()


def cat_sat() -> CatSat:
    """Return the three tokens of "The cat sat" with their hand-written projections and target.

    Returns:
        CatSat(X (3, 4), W_q, W_k, W_v (4, 4), target (3, 4), tokens), fresh float32 tensors at every call.
    Source: the lesson's own example; its scores, weights and output are in tests/reference.py.
    """
    return CatSat(
        X=torch.tensor([[1, .5, .2, .1], [.1, 2, .8, .2], [.2, .1, 1.5, 1.8]]),
        W_q=torch.tensor([[1, 0, .1, 0], [0, 1, 0, .2], [.1, 0, 1, 0], [0, .2, 0, 1]]),
        W_k=torch.tensor([[.8, .1, 0, 0], [.1, .9, .2, 0], [0, .2, .7, .1], [0, 0, .1, .9]]),
        W_v=torch.tensor([[.5, .5, 0, 0], [0, .5, .5, 0], [0, 0, .5, .5], [.5, 0, 0, .5]]),
        target=torch.tensor([[.8, .2, .4, .6], [.2, 1.2, .5, .8], [.5, .3, .9, 1.0]]),
        tokens=("The", "cat", "sat"),
    )


def random_triad(T: int, C: int, d_k: int, d_v: int, seed: int) -> Triad:
    """Return a random lesson of these sizes.

        X, target ~ N(0, 1);   W_q, W_k, W_v ~ N(0, 1/C), so that every entry of q, k and v has variance 1

    Args:
        T, C, d_k, d_v: int >= 1.
        seed: int, of a generator of its own on the CPU; drawn in the order X, W_q, W_k, W_v, target.
    Returns:
        Triad, float32 on the CPU, tokens "x1" to "xT".
    Raises:
        ValueError: for a size below 1 or not whole.
    Source: the assumption of unit variance is that of Vaswani et al. 2017, section 3.2.1, footnote 4.
    """
    T, C, d_k, d_v = whole("T", T), whole("C", C), whole("d_k", d_k), whole("d_v", d_v)
    g = torch.Generator().manual_seed(seed)
    X = torch.randn(T, C, generator=g)
    W_q, W_k, W_v = (torch.randn(C, d, generator=g) / math.sqrt(C) for d in (d_k, d_k, d_v))
    return Triad(X, W_q, W_k, W_v, torch.randn(T, d_v, generator=g), tuple(f"x{i + 1}" for i in range(T)))


def project(X: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return q = X W_q, k = X W_k and v = X W_v.

    Args:
        X: tensor (..., T, C). W_q, W_k: tensors (..., C, d_k). W_v: tensor (..., C, d_v).
    Returns:
        q, k (..., T, d_k) and v (..., T, d_v).
    Raises:
        ValueError: when a W doesn't have C rows, or W_q and W_k differ in d_k.
    Source: Vaswani et al. 2017, section 3.2.2, one head.
    """
    for name, W in (("W_q", W_q), ("W_k", W_k), ("W_v", W_v)):
        if W.shape[-2] != X.shape[-1]:
            raise ValueError(f"{name} needs C = {X.shape[-1]} rows, as X {tuple(X.shape)} has columns; "
                             f"got {tuple(W.shape)}")
    if W_q.shape[-1] != W_k.shape[-1]:
        raise ValueError(f"W_q and W_k need the same d_k, got {W_q.shape[-1]} and {W_k.shape[-1]}")
    return X @ W_q, X @ W_k, X @ W_v


@dataclass(frozen=True, eq=False)
class CellArithmetic:
    """How one weight comes about, worked out again in float64 from q and k.

    i, j: the query's and the key's row.
    terms: tensor (d_k,) of q_i[m] * k_j[m].
    raw: their sum. scaled: raw / (divisor * tau).
    masked: True when query i may not attend to key j; exp and weight are then 0.
    row_max: the largest scaled score that query i may see, -inf when it may see none.
    exp: exp(scaled - row_max). denominator: the sum of these over the row. weight: exp / denominator, 0 by rule for
        an empty row.
    difference: |weight - the trace's weight|.
    """
    i: int
    j: int
    terms: Tensor
    raw: float
    scaled: float
    masked: bool
    row_max: float
    exp: float
    denominator: float
    weight: float
    difference: float


def cell_arithmetic(trace: AttentionTrace, i: int, j: int, divisor: float, tau: float = 1.0) -> CellArithmetic:
    """Return the arithmetic behind weight (i, j) of a trace, term by term.

        raw = sum_m q_i[m] k_j[m];  scaled = raw / (divisor * tau);
        weight = exp(scaled - row_max) / sum_j' exp(scaled_j' - row_max)

    Args:
        trace: AttentionTrace of one head, q (T_q, d_k).
        i: int, 0 to T_q - 1. j: int, 0 to T_k - 1.
        divisor: float > 0, what the trace was scaled by. tau: float > 0, its temperature.
    Returns:
        CellArithmetic; its `difference` grows when divisor or tau are not those of the trace.
    Raises:
        ValueError: for a cell that isn't there, or a trace with leading axes.
    Source: Vaswani et al. 2017, section 3.2.1, equation (1).
    """
    _one_head(trace)
    T_q, T_k = trace.raw.shape
    i, j = whole("i", i, 0, T_q - 1), whole("j", j, 0, T_k - 1)
    q_i, k = trace.q[i].detach().cpu().double(), trace.k.detach().cpu().double()     # .cpu() first: MPS has no float64
    allowed = (trace.masked[i] != -math.inf).cpu()
    products = k * q_i                                                               # (T_k, d_k)
    row = torch.where(allowed, products.sum(-1) / divisor / tau, -math.inf)          # (T_k,)
    row_max = row.max().item()
    exps = (row - row_max).exp() if allowed.any() else torch.zeros_like(row)
    denominator = exps.sum().item()
    weight = exps[j].item() / denominator if denominator else 0.0
    raw = products[j].sum().item()
    return CellArithmetic(i, j, products[j], raw, raw / divisor / tau, not allowed[j].item(), row_max, exps[j].item(),
                          denominator, weight, abs(weight - trace.weights[i, j].item()))


def output_terms(trace: AttentionTrace, i: int) -> Tensor:
    """Return what each key adds to the output of query i: weight_ij * v_j. Their sum over the keys is the output.

    Args:
        trace: AttentionTrace of one head.
        i: int, 0 to T_q - 1.
    Returns:
        tensor (T_k, d_v).
    Raises:
        ValueError: for a row that isn't there, or a trace with leading axes.
    """
    _one_head(trace)
    return trace.weights[whole("i", i, 0, len(trace.weights) - 1)][:, None] * trace.v


def without_key(trace: AttentionTrace, i: int, j: int) -> Tensor:
    """Return the weights of query i if it could not read key j.

        a'_m = a_m / (1 - a_j) for every other key m: the softmax shares out again what j had

    Args:
        trace: AttentionTrace of one head.
        i: int, 0 to T_q - 1. j: int, 0 to T_k - 1.
    Returns:
        tensor (T_k,), computed from the scores; all 0 when no key is left.
    Raises:
        ValueError: for a cell that isn't there, or a trace with leading axes.
    """
    _one_head(trace)
    T_q, T_k = trace.raw.shape
    scores = trace.masked[whole("i", i, 0, T_q - 1)].clone()
    scores[whole("j", j, 0, T_k - 1)] = -math.inf
    return stable_softmax(scores)


CHANGES = ("double", "negate", "random")


@dataclass(frozen=True)
class Moved:
    """What moved after one of Q, K, V ("changed") became another: the largest change of each later step."""
    changed: str
    raw: float
    weights: float
    output: float


def what_moves(trace: AttentionTrace, change: str, seed: int = 0, mask: Tensor | None = None, tau: float = 1.0,
               divisor: float | None = None) -> tuple[Moved, Moved, Moved]:
    """Return what moves when Q alone, K alone and V alone are changed, each attention computed anew.

    The values take no part in the scores, so a change of V moves the output and nothing before it.

    Args:
        trace: AttentionTrace of one head; mask, tau, divisor are those it was made with (sqrt(d_k) when None).
        change: str, one of CHANGES: twice the matrix, its negative, or N(0, 1) entries drawn from `seed`.
        seed: int.
    Returns:
        Moved for "q", "k" and "v", in that order.
    Raises:
        ValueError: for another change, or a trace with leading axes.
    Source: Vaswani et al. 2017, section 3.2.1, equation (1): V stands outside the softmax.
    """
    _one_head(trace)
    if change not in CHANGES:
        raise ValueError(f"change must be one of {', '.join(CHANGES)}; got {change!r}")
    old = {"q": trace.q, "k": trace.k, "v": trace.v}
    moved = []
    for name, x in old.items():
        g = torch.Generator().manual_seed(seed)
        new = {"double": lambda: 2 * x, "negate": lambda: -x, "random": lambda: torch.randn(x.shape, generator=g).to(x)}[change]()
        after = attention_trace(*(old | {name: new}).values(), mask, tau, True if divisor is None else divisor)
        moved.append(Moved(name, *((getattr(after, step) - getattr(trace, step)).abs().max().item()
                                   for step in ("raw", "weights", "output"))))
    return tuple(moved)


@dataclass(frozen=True, eq=False)
class ConvexCheck:
    """Whether each output is a convex combination of the values it may see.

    row_sum, min_weight: tensors (T_q,) of the weights. outside: tensor (T_q,), how far the output lies outside the
    smallest box around those values, 0 inside. empty: bool tensor (T_q,), rows with nothing to attend to; their
    weights and outputs are 0 by rule, and they are left out of what follows.
    difference: largest |weights v - output|, worked out in float64.
    holds: True when row sums are 1, no weight is negative, and outside and difference are 0, each within tolerance.
    """
    row_sum: Tensor
    min_weight: Tensor
    outside: Tensor
    empty: Tensor
    difference: float
    holds: bool


def convex_check(trace: AttentionTrace, tolerance: float = 1e-5) -> ConvexCheck:
    """Return the proof that every output row is a weighted mean of rows of V: weights >= 0 that sum to 1.

    Args:
        trace: AttentionTrace of one head.
        tolerance: float, relative to the largest |v| where it is above 1; half-precision outputs need about 1e-2.
    Returns:
        ConvexCheck.
    Raises:
        ValueError: for a trace with leading axes.
    """
    _one_head(trace)
    weights, v, output = (x.detach().cpu().double() for x in (trace.weights, trace.v, trace.output))
    allowed = (trace.masked != -math.inf).cpu()[..., None]                           # (T_q, T_k, 1)
    low = torch.where(allowed, v, math.inf).amin(1)                                  # (T_q, d_v)
    high = torch.where(allowed, v, -math.inf).amax(1)
    empty = ~allowed.any(1).squeeze(-1)
    outside = torch.maximum(low - output, output - high).amax(-1).clamp(min=0).masked_fill(empty, 0.0)
    row_sum, min_weight = weights.sum(-1), weights.amin(-1)
    difference = (weights @ v - output).abs().max().item()
    slack = tolerance * max(1.0, v.abs().max().item())
    holds = bool(((row_sum - 1).abs() <= tolerance)[~empty].all() and (min_weight >= 0).all()
                 and (outside <= slack).all() and difference <= slack
                 and (row_sum == 0)[empty].all() and (output == 0)[empty].all())
    return ConvexCheck(row_sum, min_weight, outside, empty, difference, holds)


def kernel_difference(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, tau: float = 1.0,
                      divisor: float | None = None) -> float:
    """Return the largest difference between our output and that of PyTorch's fused kernel.

    The kernel's `scale` argument multiplies the scores: 1 / (divisor * tau).

    Args:
        q, k, v, mask, tau: as for `scaled_dot_product_attention`.
        divisor: float > 0; sqrt(d_k) when None.
    Returns:
        float >= 0.
    Raises:
        ValueError: as `scaled_dot_product_attention`.
    Source: torch.nn.functional.scaled_dot_product_attention.
    """
    divisor = math.sqrt(q.shape[-1]) if divisor is None else divisor
    output, _ = scaled_dot_product_attention(q, k, v, mask, tau, divisor)
    kernel = F.scaled_dot_product_attention(q, k, v, mask, scale=1.0 / (divisor * tau))
    return (output - kernel).abs().max().item()


def random_batch(B: int, h: int, T: int, d_k: int, d_v: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return q, k (B, h, T, d_k) and v (B, h, T, d_v) with N(0, 1) entries, drawn in that order on the CPU.

    Args:
        B, h, T, d_k, d_v: int >= 1. seed: int, of a generator of its own.
    Raises:
        ValueError: for a size below 1 or not whole.
    """
    sizes = {"B": B, "h": h, "T": T, "d_k": d_k, "d_v": d_v}
    B, h, T, d_k, d_v = (whole(name, size) for name, size in sizes.items())
    g = torch.Generator().manual_seed(seed)
    q, k, v = (torch.randn(B, h, T, d, generator=g) for d in (d_k, d_k, d_v))
    return q, k, v


@dataclass(frozen=True)
class TensorShape:
    """One tensor of the batch: its name, the names of its axes, their sizes, the entries and the bytes they take."""
    name: str
    axes: tuple[str, ...]
    shape: tuple[int, ...]
    numel: int
    bytes: int


@dataclass(frozen=True)
class BatchShapes:
    """A whole batch of heads, measured.

    tensors: TensorShape of q, k, v, raw, scaled, masked, weights, output, in the order of the formula.
    rows: how many rows of weights there are, B * h * T. empty_rows: those with nothing to attend to.
    row_sum_min, row_sum_max: of the other rows; None when there are none.
    difference: largest difference of the output to PyTorch's fused kernel.
    """
    tensors: tuple[TensorShape, ...]
    rows: int
    empty_rows: int
    row_sum_min: float | None
    row_sum_max: float | None
    difference: float


def batch_shapes(B: int, h: int, T: int, d_k: int, d_v: int, seed: int, mask: Tensor | None = None, tau: float = 1.0,
                 divisor: float | None = None) -> BatchShapes:
    """Return what one attention of a random batch looks like: every tensor's size, all row sums, the kernel's answer.

    Args:
        B, h, T, d_k, d_v: int >= 1. seed: int.
        mask: bool tensor as for `scaled_dot_product_attention`. tau: float > 0. divisor: float > 0, or sqrt(d_k).
    Returns:
        BatchShapes.
    Raises:
        ValueError: as `random_batch` and `scaled_dot_product_attention`.
    """
    q, k, v = random_batch(B, h, T, d_k, d_v, seed)
    trace = attention_trace(q, k, v, mask, tau, True if divisor is None else divisor)
    last = {"q": ("T_q", "d_k"), "k": ("T_k", "d_k"), "v": ("T_k", "d_v"), "output": ("T_q", "d_v")}
    tensors = tuple(
        TensorShape(name, ("B", "h", *last.get(name, ("T_q", "T_k"))), tuple(x.shape), x.numel(),
                    x.numel() * x.element_size())
        for name, x in vars(trace).items())
    empty = (trace.masked == -math.inf).all(-1)                                      # (B, h, T)
    sums = trace.weights.sum(-1)[~empty]
    low, high = (sums.min().item(), sums.max().item()) if sums.numel() else (None, None)
    difference = kernel_difference(q, k, v, mask, tau, divisor)
    return BatchShapes(tensors, empty.numel(), int(empty.sum()), low, high, difference)


@dataclass(frozen=True, eq=False)
class Seed42:
    """What the course's notebook shows for seed 42: X (4, 12), W_q, W_k, W_v (12, 4), and their attention."""
    X: Tensor
    W_q: Tensor
    W_k: Tensor
    W_v: Tensor
    trace: AttentionTrace


def seed42_notebook() -> Seed42:
    """Return the notebook's first example, number for number, without touching the global generator.

    The notebook seeds the global generator with 42, calls `torch.randn(4, 12)`, then `nn.Linear(12, 4, bias=False)` three times,
    which draws U(-1/sqrt(12), 1/sqrt(12)). A generator of our own gives the same stream.

    Returns:
        Seed42; W_q is the transpose of the notebook's `Linear.weight`, since here Q = X W_q.
    Source: the course's notebook; `nn.Linear` draws by kaiming_uniform_(a=sqrt(5)), which is that interval.
    """
    return _seed42(torch.Generator().manual_seed(42))


@dataclass(frozen=True)
class Seed42Dots:
    """What the notebook draws next: the variance of q.k for each d_k, and the largest weight of one query at d = 64.

    d_k: tuple of int. unscaled, scaled: tuples of float, the n-1 estimator over n pairs. n: pairs a d_k.
    peak_unscaled, peak_scaled: largest of ten weights, without and with 1/sqrt(64).
    """
    d_k: tuple[int, ...]
    unscaled: tuple[float, ...]
    scaled: tuple[float, ...]
    n: int
    peak_unscaled: float
    peak_scaled: float


def seed42_dots() -> Seed42Dots:
    """Return the notebook's dot products, which continue the stream of `seed42_notebook`: about 0.2 s.

    For d in 16, 64, 256, 512: q and k of 10,000 rows each; then one query and ten keys at d = 64.
    """
    g = torch.Generator().manual_seed(42)
    _seed42(g)
    d_ks, n = (16, 64, 256, 512), 10_000
    dots = [(torch.randn(n, d, generator=g) * torch.randn(n, d, generator=g)).sum(-1) for d in d_ks]
    scores = (torch.randn(1, 64, generator=g) @ torch.randn(10, 64, generator=g).T)[0]
    return Seed42Dots(
        d_ks,
        tuple(x.var().item() for x in dots),
        tuple((x / math.sqrt(d)).var().item() for x, d in zip(dots, d_ks)),
        n,
        torch.softmax(scores, -1).max().item(),
        torch.softmax(scores / math.sqrt(64), -1).max().item(),
    )


def _seed42(g: torch.Generator) -> Seed42:
    X = torch.randn(4, 12, generator=g)
    bound = 1 / math.sqrt(12)
    W_q, W_k, W_v = (torch.empty(4, 12).uniform_(-bound, bound, generator=g).T for _ in range(3))
    return Seed42(X, W_q, W_k, W_v, attention_trace(*project(X, W_q, W_k, W_v)))


def _one_head(trace: AttentionTrace) -> None:
    if trace.raw.dim() != 2:
        raise ValueError(f"needs the trace of one head, with scores (T_q, T_k); got {tuple(trace.raw.shape)}")
