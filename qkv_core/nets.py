"""The nets that are trained: attention and nothing else, many runs at once.

    x_0 = one-hot(token) W_token + one-hot(position) W_position
    x_l = x_(l-1) + [head_1 ... head_h],    head_i = Attention(x W_q, x W_k, x W_v),    logits = x_L W_out

No MLP, no norm, no bias, and W_o is left out (with one head W_v does its work). "The cat sat" is the lesson's single
attention: no embedding, no residual, no W_out.

All weights of a run lie in one row of `theta` (R, P), so a step of gradient descent, a snapshot or a frozen run is one
operation. R counts runs; no operation mixes them.
"""
import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from qkv_core.attention import attention_trace, nearest_heads, scaled_dot_product_attention
from qkv_core.masks import build_mask, causal_mask, whole
from qkv_core.tasks import Task
from qkv_core.triad import cat_sat

FROZEN = 0.99
"""A row whose largest weight is above this is decided: its softmax passes almost no gradient."""


@dataclass(frozen=True)
class Net:
    """The sizes of a net.

    task: Task that it learns, or None for "The cat sat". d_k: channels of q and k in each head. heads: h.
    layers: attention layers. mask: name of MASKS, on top of the task's own.
    """
    task: Task | None
    d_k: int
    heads: int = 1
    layers: int = 1
    mask: str = "none"

    def __post_init__(self):
        whole("d_k", self.d_k)
        whole("layers", self.layers, 1, 4 if self.task else 1)
        if self.C % whole("heads", self.heads):
            legal = " or ".join(map(str, nearest_heads(self.C, self.heads)))
            raise ValueError(f"heads must divide the net's {self.C} channels; got {self.heads}, nearest legal: {legal}")
        self.allowed()

    @property
    def C(self) -> int:
        return self.task.width if self.task else 4

    @property
    def T(self) -> int:
        return self.task.T if self.task else 3

    @property
    def answers(self) -> int:
        return self.task.answers if self.task else 3

    @property
    def columns(self) -> tuple[int, int, int]:
        """Columns of W_q, W_k and W_v, which stand side by side in one matrix a layer."""
        return self.heads * self.d_k, self.heads * self.d_k, self.C

    def shapes(self) -> dict[str, tuple[int, int]]:
        """Return the matrices of one run, in the order in which theta holds them."""
        layers = {f"W_qkv_{i + 1}": (self.C, sum(self.columns)) for i in range(self.layers)}
        if self.task is None:
            return layers
        symbols = len(self.task.vocabulary)
        return {"W_in": (symbols + self.T, self.C), "W_out": (self.C, symbols), **layers}

    def unpack(self, theta: Tensor) -> dict[str, Tensor]:
        """Return the matrices (R, rows, columns) as views of theta (R, P)."""
        shapes = self.shapes()
        parts = theta.split([math.prod(shape) for shape in shapes.values()], -1)
        return {name: part.view(-1, *shape) for (name, shape), part in zip(shapes.items(), parts)}

    def allowed(self) -> Tensor | None:
        """Return the (T, T) mask of the task and the setting together, or None when all may attend to all."""
        mask = build_mask(self.mask, self.T)
        if self.task is not None and self.task.causal:
            mask = causal_mask(self.T) if mask is None else mask & causal_mask(self.T)
        return mask


def start(net: Net, seed: int, init_size: float = 1.0) -> Tensor:
    """Return the first weights of one run, flat.

    Every entry of a matrix with C rows is N(0, 1/C), and of W_in N(0, 1/2): entries of x, q and k then have variance
    1, the paper's assumption. `init_size` multiplies W_q alone; the same seed draws the same numbers whatever it is.

    Returns:
        float32 tensor (P,) on the CPU.
    Source: Vaswani et al. 2017, section 3.2.1, footnote 4.
    """
    g = torch.Generator().manual_seed(seed)
    drawn = {}
    for name, (rows, columns) in net.shapes().items():
        drawn[name] = torch.randn(rows, columns, generator=g) * (2 if name == "W_in" else rows) ** -0.5
        if name.startswith("W_qkv"):
            drawn[name][:, :net.columns[0]] *= init_size
    return torch.cat([w.flatten() for w in drawn.values()])


def lesson_start() -> Tensor:
    """Return the hand-written W_q, W_k and W_v of the lesson as the first weights of a cat-sat run with d_k = 4.

    Returns:
        float64 tensor (48,).
    """
    return torch.cat([tenths(W) for W in cat_sat()[1:4]], -1).flatten()


def tenths(x: Tensor) -> Tensor:
    """Return the lesson's numbers, all of them tenths, in float64: float32's 0.1 is not the 0.1 that was meant."""
    return (x.double() * 10).round() / 10


def inputs(net: Net, tokens: Tensor, arms: int, dtype: torch.dtype) -> Tensor:
    """Return what the first layer reads, the same for every arm.

    Args:
        tokens: int64 tensor (S, B, T, 1 or 2), S seeds.
    Returns:
        tensor (arms * S, B * T, symbols + T): one-hot symbols beside one-hot positions.
    """
    S, B, T, _ = tokens.shape
    symbols = len(net.task.vocabulary)
    hot = (tokens[..., None] == torch.arange(symbols, device=tokens.device)).any(-2).to(dtype)
    place = torch.eye(T, dtype=dtype, device=tokens.device).expand(S, B, T, T)
    return torch.cat((hot, place), -1).view(S, B * T, -1).repeat(arms, 1, 1)


def forward(net: Net, theta: Tensor, factor: Tensor, x: Tensor, mask: Tensor | None,
            every_row: bool = False) -> tuple[Tensor, list[Tensor]]:
    """Return what the runs answer, and the weights of every layer.

    The last layer asks only for the tokens that must answer: the rest would change nothing.

    Args:
        theta: tensor (R, P). factor: tensor (R, 1, 1), 1 / (divisor * tau) of each run.
        x: tensor (R, B * T, symbols + T) from `inputs`; for the cat sat (R, 3, 4), the tokens themselves.
        mask: bool tensor (T, T), True may attend, or None.
        every_row: True works out all rows of the last layer, for the picture.
    Returns:
        answer: tensor (R, B, answers, symbols) of logits; for the cat sat the output (R, 1, 3, 4).
        weights: list of tensors (R, B, h, T_q, T), one a layer.
    """
    W, T = net.unpack(theta), net.T
    R, B = len(theta), x.shape[1] // T
    hot, weights = x, []
    for layer in range(net.layers):
        T_q = net.answers if layer == net.layers - 1 and not every_row else T
        W_qkv = W[f"W_qkv_{layer + 1}"]
        if net.task is None:
            mixed, a = _attend(net, W_qkv, factor, x, mask, T_q)
            return mixed, [a]
        if layer == 0:      # hot (W_in W_qkv) is (hot W_in) W_qkv in half the time: hot is narrow and asks no gradient
            x, read, W_qkv = hot @ W["W_in"], hot, W["W_in"] @ W_qkv
        else:
            read = x
        mixed, a = _attend(net, W_qkv, factor, read, mask, T_q)
        weights.append(a)
        x = (x.view(R, B, T, -1)[:, :, -T_q:] + mixed).flatten(1, 2)                     # (R, B * T_q, C)
    last = x.view(R, B, T_q, -1)[:, :, -net.answers:].flatten(1, 2)
    return (last @ W["W_out"]).view(R, B, net.answers, -1), weights


def _attend(net: Net, W: Tensor, factor: Tensor, x: Tensor, mask: Tensor | None, T_q: int) -> tuple[Tensor, Tensor]:
    R, B, T, h = len(W), x.shape[1] // net.T, net.T, net.heads
    W_q, W_k, W_v = W.split(net.columns, -1)
    asked = x if T_q == T else x.view(R, B, T, -1)[:, :, -T_q:].flatten(1, 2)
    # Each run has a factor of its own, so it multiplies W_q: (factor W_q) x . k = factor (q . k).
    q, k, v = asked @ (factor * W_q), x @ W_k, x @ W_v
    q, k, v = (part.view(R, B, -1, h, part.shape[-1] // h).transpose(2, 3) for part in (q, k, v))
    mask = None if mask is None else mask[-T_q:]
    if q.device.type != "cpu":          # the trace reads nothing back on its way, which a CUDA graph would forbid
        trace = attention_trace(q, k, v, mask, scale=False)
        output, weights = trace.output, trace.weights
    else:
        output, weights = scaled_dot_product_attention(q, k, v, mask, scale=False)
    return output.transpose(2, 3).reshape(R, B, T_q, -1), weights


def losses(net: Net, answer: Tensor, target: Tensor) -> Tensor:
    """Return the loss of each run: mean squared error for the cat sat, cross-entropy for the others.

    Args:
        answer: tensor from `forward`.
        target: for the cat sat a tensor (3, 4); else int64 tensor (R, B, answers).
    Returns:
        tensor (R,).
    """
    if net.task is None:
        return (answer - target).square().mean((1, 2, 3))
    each = F.cross_entropy(answer.flatten(0, -2), target.flatten(), reduction="none")
    return each.view(len(answer), -1).mean(-1)


def accuracy(net: Net, answer: Tensor, target: Tensor) -> Tensor:
    """Return the share of right answers of each run (R,); NaN for the cat sat, which has no right or wrong."""
    if net.task is None:
        return torch.full_like(answer[:, 0, 0, 0], math.nan)
    return (answer.argmax(-1) == target).to(answer.dtype).mean((1, 2))


def row_shares(net: Net, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    """Return, for each layer, how its rows count: (2, T_q), for the entropy and for the frozen rows.

    Entropy is measured against ln of the keys that the row may see. Rows with one key only have nothing to decide and
    count for neither.
    """
    mask = net.allowed()
    keys = torch.full((net.T,), net.T) if mask is None else mask.sum(-1)
    shares = []
    for layer in range(net.layers):
        n = keys[-net.answers:] if layer == net.layers - 1 else keys
        counts = (n > 1).to(dtype) / (n > 1).sum().clamp(min=1) / net.layers
        shares.append(torch.stack((counts / n.to(dtype).log().clamp(min=0.5), counts)))
    return shares


def sharpness(weights: list[Tensor], shares: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Return the mean entropy (share of its maximum) and the share of frozen rows of each run, over all layers.

    Args:
        weights: list of tensors (R, B, h, T_q, T). shares: from `row_shares`.
    Returns:
        entropy: tensor (R,), 0 to 1. frozen: tensor (R,), 0 to 1, rows with a weight above FROZEN.
    """
    entropy = frozen = 0.0
    for a, share in zip(weights, shares):
        entropy = entropy + (torch.special.entr(a).sum(-1).mean((1, 2)) * share[0]).sum(-1)
        frozen = frozen + ((a.amax(-1) > FROZEN).to(a.dtype).mean((1, 2)) * share[1]).sum(-1)
    return entropy, frozen


def gradient_norms(net: Net, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the Euclidean norms of the gradients of W_q, W_k and W_v, each over all layers: tensors (R,)."""
    W = net.unpack(gradient)
    squares = sum(W[f"W_qkv_{i + 1}"].square().sum(-2) for i in range(net.layers))       # (R, columns)
    return tuple(part.sum(-1).sqrt() for part in squares.split(net.columns, -1))
