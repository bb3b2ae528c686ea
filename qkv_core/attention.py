"""Scaled dot-product attention (Vaswani et al. 2017, section 3.2), one function a formula.

    Attention(Q, K, V) = softmax(Q K^T / (divisor * tau)) V          divisor = sqrt(d_k), tau = 1 in the paper

`attention_trace` is the lesson: every step kept. `scaled_dot_product_attention` is the same sum in fewer passes over
memory; tests/test_attention.py holds the two together, and both to PyTorch's fused kernel.

Masks are boolean and True may attend. (PyTorch's own two interfaces disagree: True takes part in
`F.scaled_dot_product_attention`, and is *left out* by `nn.MultiheadAttention`.)
"""
import math
import numbers
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from qkv_core.masks import whole

SCALES = ("sqrt_dk", "none", "dk", "sqrt_dmodel")

# Scores multiplied by this are already at the limit tau -> 0 (all weight on the largest, ties shared); a larger factor
# would only overflow float32, and inf - inf is NaN.
_MAX_FACTOR = 1e24

_BLOCK = 256                                                # queries at a time in long masked attention


@dataclass(frozen=True, eq=False)
class AttentionTrace:
    """Every step of one attention, each (..., rows, columns), in the order of the formula.

    q (..., T_q, d_k), k (..., T_k, d_k), v (..., T_k, d_v): what came in, float32 at least.
    raw = q k^T (..., T_q, T_k).
    scaled = raw / (divisor * tau): the divisor and the temperature are both in it.
    masked = scaled with -inf where the mask forbids; `scaled` itself without a mask.
    weights = softmax(masked) by rows; a row that is all -inf has weights 0.
    output = weights v (..., T_q, d_v), in the dtype of the inputs.
    """
    q: Tensor
    k: Tensor
    v: Tensor
    raw: Tensor
    scaled: Tensor
    masked: Tensor
    weights: Tensor
    output: Tensor


def stable_softmax(scores: Tensor, dim: int = -1) -> Tensor:
    """Return the softmax of `scores` along `dim`, without overflow and without NaN for a row of only -inf.

        a_i = exp(s_i - max s) / sum_j exp(s_j - max s)

    Args:
        scores: tensor of any shape; float16 and bfloat16 are summed in float32, integers are taken as float32.
            -inf is "not allowed"; +inf is the limit of a growing score: the +inf entries share the weight evenly.
            NaN stays NaN in its row, since hiding it would hide a fault.
        dim: int, the axis that sums to 1.
    Returns:
        tensor of the same shape and (floating) dtype; a row of only -inf is all 0.
    Raises:
        ValueError: for bool or complex scores.
    Source: Vaswani et al. 2017, section 3.2.1; the shift by the maximum is the usual one.
    """
    x = _at_least_float32("scores", scores)
    top = x.detach().amax(dim, keepdim=True)                # softmax does not change with the shift: no gradient
    top = top.masked_fill(top == -math.inf, 0.0)            # exp(-inf - 0) = 0, where -inf - -inf would be NaN
    shifted = torch.where(top == math.inf, torch.where(x == math.inf, 0.0, -math.inf), x - top)
    exps = shifted.exp()
    total = exps.sum(dim, keepdim=True)
    weights = exps / total.masked_fill(total == 0, 1.0)
    return weights.to(scores.dtype) if scores.is_floating_point() else weights


def divisor(name: str, d_k: int, d_model: int) -> float:
    """Return the number that one of the four named scales divides q.k by.

        sqrt_dk: sqrt(d_k)    none: 1    dk: d_k    sqrt_dmodel: sqrt(d_model)

    Args:
        name: str, one of SCALES.
        d_k, d_model: int >= 1.
    Returns:
        float, ready as the `scale` of `scaled_dot_product_attention`.
    Raises:
        ValueError: for an unknown name, or a size that is not a positive number.
    Source: Vaswani et al. 2017, section 3.2.1 (sqrt_dk); the others are the mistakes a lesson compares it with.
    """
    d_k, d_model = _positive("d_k", d_k), _positive("d_model", d_model)
    values = {"sqrt_dk": math.sqrt(d_k), "none": 1.0, "dk": d_k, "sqrt_dmodel": math.sqrt(d_model)}
    if name not in values:
        raise ValueError(f"scale must be one of {', '.join(SCALES)}; got {name!r}")
    return values[name]


def scaled_dot_product_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, tau: float = 1.0,
                                 scale: bool | float = True) -> tuple[Tensor, Tensor]:
    """Return the attention output and all of its weights.

        weights = softmax(q k^T / (divisor * tau)),    output = weights v

    Args:
        q: tensor (..., T_q, d_k), any leading axes, or none. Integers are taken as float32.
        k: tensor (..., T_k, d_k), same leading axes and dtype.
        v: tensor (..., T_k, d_v), same leading axes and dtype.
        mask: bool tensor, True may attend: (T_q, T_k), or as many axes as the scores with every size equal or 1.
        tau: float > 0, finite. The temperature; below about 1e-24 it acts as the limit (argmax, ties shared).
        scale: True divides by sqrt(d_k), False by 1, a number > 0 by itself.
    Returns:
        output: tensor (..., T_q, d_v) in the dtype of the inputs.
        weights: tensor (..., T_q, T_k), float64 for float64 inputs and float32 for every other, so that rows sum to
            1 within 1e-6 in half precision too. A row with nothing to attend to has weights 0 and output 0.
    Raises:
        ValueError: sizes that do not fit, a mask of another shape or dtype, a tau or scale that is not positive.
    Source: Vaswani et al. 2017, section 3.2.1, equation (1).
    """
    dtype = v.dtype if v.is_floating_point() else torch.float32
    q, k, v = _checked_inputs(q, k, v)
    mask = _checked_mask(mask, q, k)
    factor = _factor(q.shape[-1], tau, scale)

    apart = torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad)
    if apart or mask is None or mask.dim() != 2 or len(mask) <= _BLOCK or q.device.type != "cpu":
        output, weights = _attend(q, k, v, mask, factor)
    else:
        output, weights = _attend_by_blocks(q, k, v, mask, factor)
    return output.to(dtype), weights


def attention_trace(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, tau: float = 1.0,
                    scale: bool | float = True) -> AttentionTrace:
    """Return every step of the attention of q, k and v, written out.

        raw = q k^T;  scaled = raw / (divisor * tau);  masked = scaled or -inf;  weights = softmax(masked);
        output = weights v

    Args, Raises: as for `scaled_dot_product_attention`.
    Returns:
        AttentionTrace(q, k, v, raw, scaled, masked, weights, output).
    Source: Vaswani et al. 2017, section 3.2.1, equation (1), and section 3.2.3 for the mask.
    """
    dtype = v.dtype if v.is_floating_point() else torch.float32
    q, k, v = _checked_inputs(q, k, v)
    mask = _checked_mask(mask, q, k)
    raw = q @ k.transpose(-2, -1)
    scaled = raw * _factor(q.shape[-1], tau, scale)
    masked = scaled if mask is None else scaled.masked_fill(~mask, -math.inf)
    weights = stable_softmax(masked)
    return AttentionTrace(q, k, v, raw, scaled, masked, weights, (weights @ v).to(dtype))


class ScaledDotProductAttention(nn.Module):
    """Attention as a layer without parameters.

    Args:
        scale: True divides by sqrt(d_k), False by 1, a number > 0 by itself.
    Source: Vaswani et al. 2017, section 3.2.1.
    """

    def __init__(self, scale: bool | float = True):
        super().__init__()
        _factor(1, 1.0, scale)                              # a bad scale is refused here, not at the first batch
        self.scale = scale

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return (output, weights), as `scaled_dot_product_attention` does."""
        return scaled_dot_product_attention(q, k, v, mask, scale=self.scale)

    def extra_repr(self) -> str:
        return f"scale={self.scale}"


class MultiHeadAttention(nn.Module):
    """Self-attention in `heads` subspaces of d_k = d_model / heads channels each.

        [Q K V] = x W_qkv,   head_i = Attention(Q_i, K_i, V_i),   output = [head_1 ... head_h] W_o

    No bias, as in the paper. `W_qkv.weight` is (3C, C): its rows are those of W_q, W_k and W_v, in that order, and
    within each the heads follow one another. No dropout, so the weights sum to 1 in training too.

    Args:
        d_model: int >= 1, the width C.
        heads: int >= 1 that divides d_model.
        generator: torch.Generator on the CPU for the first weights, U(-1/sqrt(C), 1/sqrt(C)) like nn.Linear's own;
            a fresh one of seed 0 by default, never the global one.
    Raises:
        ValueError: when the heads do not divide d_model; it names both, and the nearest heads that do.
    Source: Vaswani et al. 2017, section 3.2.2.
    """

    def __init__(self, d_model: int, heads: int, generator: torch.Generator | None = None):
        super().__init__()
        d_model, heads = whole("d_model", d_model), whole("heads", heads)
        if d_model % heads:
            legal = " or ".join(map(str, nearest_heads(d_model, heads)))
            raise ValueError(f"d_model = {d_model} can't be split into heads = {heads} equal parts "
                             f"({d_model} / {heads} = {d_model / heads:g}); nearest legal heads: {legal}")
        self.d_model, self.heads, self.d_k = d_model, heads, d_model // heads
        # skip_init: nn.Linear alone would draw from the global generator, which all sessions share.
        self.W_qkv = nn.utils.skip_init(nn.Linear, d_model, 3 * d_model, bias=False, dtype=torch.float32)
        self.W_o = nn.utils.skip_init(nn.Linear, d_model, d_model, bias=False, dtype=torch.float32)
        generator = torch.Generator().manual_seed(0) if generator is None else generator
        for layer in (self.W_qkv, self.W_o):
            nn.init.uniform_(layer.weight, -d_model ** -0.5, d_model ** -0.5, generator=generator)

    def forward(self, x: Tensor, mask: Tensor | None = None, tau: float = 1.0,
                scale: bool | float = True) -> tuple[Tensor, Tensor]:
        """Return the mixed tokens and every head's weights.

        Args:
            x: tensor (B, T, C).
            mask: bool tensor, True may attend: (T, T), or 4 axes each equal to those of (B, h, T, T) or 1.
            tau, scale: as for `scaled_dot_product_attention`; the divisor of True is sqrt(d_k), d_k = C / h.
        Returns:
            output: tensor (B, T, C).
            weights: tensor (B, h, T, T).
        Raises:
            ValueError: for an x that is not (B, T, C), and as `scaled_dot_product_attention`.
        """
        if x.dim() != 3 or x.shape[-1] != self.d_model:
            raise ValueError(f"x must be (B, T, C) with C = {self.d_model}; got {tuple(x.shape)}")
        B, T, C = x.shape
        q, k, v = (part.view(B, T, self.heads, self.d_k).transpose(1, 2)                  # (B, h, T, d_k)
                   for part in self.W_qkv(x).chunk(3, dim=-1))
        output, weights = scaled_dot_product_attention(q, k, v, mask, tau, scale)
        return self.W_o(output.transpose(1, 2).reshape(B, T, C)), weights


def nearest_heads(d_model: int, heads: int) -> tuple[int, ...]:
    """Return the numbers of heads nearest to `heads` that divide d_model: the next below and the next above.

    Args:
        d_model: int >= 1.
        heads: int.
    Returns:
        tuple of one or two ints, ascending; (heads,) where it divides d_model already.
    """
    legal = [h for h in range(1, d_model + 1) if d_model % h == 0]
    below, above = [h for h in legal if h <= heads], [h for h in legal if h >= heads]
    return tuple(sorted({*below[-1:], *above[:1]}))


def _at_least_float32(name: str, x: Tensor) -> Tensor:
    if x.dtype == torch.bool or x.is_complex():
        raise ValueError(f"{name} must hold real numbers; got {x.dtype}")
    return x if x.dtype in (torch.float32, torch.float64) else x.float()


def _checked_inputs(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    shapes = f"q {tuple(q.shape)}, k {tuple(k.shape)}, v {tuple(v.shape)}"
    if min(q.dim(), k.dim(), v.dim()) < 2:
        raise ValueError(f"q, k and v need at least two axes, (tokens, channels); got {shapes}")
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"q and k need the same d_k, got {q.shape[-1]} and {k.shape[-1]}: {shapes}")
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(f"k and v need the same T_k, got {k.shape[-2]} and {v.shape[-2]}: {shapes}")
    if not q.shape[:-2] == k.shape[:-2] == v.shape[:-2]:
        raise ValueError(f"q, k and v need the same leading axes: {shapes}")
    if 0 in k.shape[-2:]:
        raise ValueError(f"T_k and d_k must be at least 1: {shapes}")
    if not q.dtype == k.dtype == v.dtype:
        raise ValueError(f"q, k and v need the same dtype; got {q.dtype}, {k.dtype}, {v.dtype}")
    return _at_least_float32("q", q), _at_least_float32("k", k), _at_least_float32("v", v)


def _checked_mask(mask: Tensor | None, q: Tensor, k: Tensor) -> Tensor | None:
    if mask is None:
        return None
    scores = (*q.shape[:-1], k.shape[-2])
    if mask.dtype != torch.bool:
        raise ValueError(f"mask must be bool, True may attend; got {mask.dtype}")
    exact = tuple(mask.shape) == scores[-2:]
    spread = mask.dim() == len(scores) and all(m in (1, s) for m, s in zip(mask.shape, scores))
    if not (exact or spread):
        raise ValueError(f"mask has shape {tuple(mask.shape)} but the scores have {tuple(scores)}; it must be "
                         f"{tuple(scores[-2:])}, or have {len(scores)} axes, each of the scores' size or 1")
    return mask.to(q.device)


def _factor(d_k: int, tau: float, scale: bool | float) -> float:
    """Return 1 / (divisor * tau), what the raw scores are multiplied by."""
    tau = _positive("tau", tau)
    divide_by = (math.sqrt(d_k) if scale else 1.0) if isinstance(scale, bool) else _positive("scale", scale)
    return min(1.0 / divide_by / tau, _MAX_FACTOR)


def _attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, factor: float) -> tuple[Tensor, Tensor]:
    # Scaled after the product, never before or inside it: equal scores then stay equal, so ties stay ties.
    scores = q @ k.transpose(-2, -1)                                                     # (..., T_q, T_k)
    # Fresh pages for each step would cost more than its arithmetic. Autograd needs the steps apart (and torch.func's
    # vmap and jacfwd know no out=: `attention_trace` serves them).
    room = scores if scores.device.type == "cpu" and not scores.requires_grad else None
    if mask is None:
        weights = torch.softmax(torch.mul(scores, factor, out=room), -1, out=room)
    else:
        bias, empty = _bias(mask, scores)
        weights = torch.softmax(torch.add(bias, scores, alpha=factor, out=room), -1, out=room)
        weights = weights.masked_fill(empty, 0.0) if empty is not None else weights
    return weights @ v, weights


def _attend_by_blocks(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, factor: float) -> tuple[Tensor, Tensor]:
    """Return `_attend` of a block of queries at a time, with only the keys from the first to the last it may see.

    Under a causal mask that leaves out almost half of the work, and a block's scores stay in the cache.
    """
    output, weights = q.new_zeros(*q.shape[:-1], v.shape[-1]), q.new_zeros(*q.shape[:-1], k.shape[-2])
    for start in range(0, len(mask), _BLOCK):
        rows = slice(start, start + _BLOCK)
        seen = mask[rows].any(0).nonzero()
        if len(seen):                                       # a block that sees nothing stays 0
            keys = slice(int(seen[0]), int(seen[-1]) + 1)
            output[..., rows, :], weights[..., rows, keys] = _attend(
                q[..., rows, :], k[..., keys, :], v[..., keys, :], mask[rows, keys], factor)
    return output, weights


def _bias(mask: Tensor, scores: Tensor) -> tuple[Tensor, Tensor | None]:
    """Return 0 where `mask` allows and -inf where not, and which rows allow nothing (None when there are none).

    Such a row gets bias 0, so that its softmax and the gradient through it are finite before it is set to 0.
    """
    bias = torch.where(mask, scores.new_zeros(()), -math.inf)
    empty = bias.amax(-1, keepdim=True) == -math.inf
    if not empty.any():
        return bias, None
    return bias.masked_fill_(empty, 0.0), empty


def _positive(name: str, value: float) -> float:
    # bool is a number to Python, and tau=True is a slip; a huge int has no float.
    if isinstance(value, numbers.Real) and not isinstance(value, bool) and 0 < value < math.inf:
        try:
            return float(value)
        except OverflowError:
            pass
    raise ValueError(f"{name} must be a finite number > 0; got {value!r}")
