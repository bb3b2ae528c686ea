"""Heads of the nets that are trained here: one run at one step, read layer by layer on an example of its task.

    x_0 = what the net reads,    q = x W_q,  k = x W_k,  v = x W_v,    x_l = x_(l-1) + [head_1 ... head_h]

These are the nets of qkv_core.nets with every step of every head kept. A mask, tau and scale given here are a lens on one
head: the layers below it run as they were trained.
"""
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from qkv_core.attention import attention_trace, divisor, scaled_dot_product_attention
from qkv_core.experiment import Config, own
from qkv_core.heads import HeadTrace, Together, concat_parts
from qkv_core.masks import causal_mask, whole
from qkv_core.nets import Net
from qkv_core.records import Moment
from qkv_core.replay import look, read


@dataclass(frozen=True, eq=False)
class Trained:
    """The weights of one run at one step; they never change. Two of them are equal only when they are the same object.

    config: Config of the experiment. arm, seed: int, places in config.arms and config.seeds. step: int, updates done.
    theta: tensor (P,) on the CPU.
    """
    config: Config
    arm: int
    seed: int
    step: int
    theta: Tensor

    @cached_property
    def net(self) -> Net:
        """The sizes of the net."""
        return self.config.net(self.config.arms[self.arm])

    @property
    def tau(self) -> float:
        """The temperature that the run was trained with."""
        return own(self.config.arms[self.arm].tau, self.config.tau)

    @property
    def divisor(self) -> float:
        """What the run's scores were divided by, without the temperature."""
        return 1.0 / (self.config.factor(self.config.arms[self.arm]) * self.tau)

    def own_mask(self) -> Tensor | None:
        """Return the mask (T, T) that belongs to the task itself, whatever the settings: causal for the look-up."""
        task = self.net.task
        return causal_mask(self.net.T) if task is not None and task.causal else None

    def moment(self, example: int = 0) -> Moment:
        """Return what the run sees and answers on an example, as `Trainer.at`."""
        return look(self.config, self.arm, self.seed, self.theta, self.step, example)


def layer_traces(run: Trained, layer: int = 1, example: int = 0, mask: Tensor | None = None, tau: float = 1.0,
                 scale: bool | float = True) -> tuple[HeadTrace, ...]:
    """Return the heads of one layer of a trained net on an example, in their order.

    Args:
        run: Trained. layer: int, 1 to run.net.layers. example: int >= 0, one that is never trained on.
        mask: bool tensor (T, T), True may attend, or None; as trained it is `run.net.allowed()`.
        tau: float > 0; as trained it is `run.tau`. scale: as for `attention_trace`; as trained it is `run.divisor`.
    Returns:
        tuple of h HeadTrace; X (T, C) is what the layer reads, W_q and W_k (C, d_k), W_v (C, C / h), and notes hold
        "lens" when a setting differs from how it was trained, and "empty_rows" as for `heads.HeadTrace`.
    Raises:
        ValueError: for a layer out of range, and as `attention_trace`.
    """
    net, layer = run.net, whole("layer", layer, 1, run.net.layers)
    x, tokens = states(run, layer - 1, example)
    lens = not as_trained(run, mask, tau, scale)
    empty = mask is not None and not mask.any(-1).all()
    notes = tuple(code for code, true in (("lens", lens), ("empty_rows", empty)) if true)
    found = []
    for n, (W_q, W_k, W_v) in enumerate(_projections(run, layer), 1):
        trace = attention_trace(x @ W_q, x @ W_k, x @ W_v, mask, tau, scale)
        found.append(HeadTrace(tokens, trace, "trained", f"{layer}.{n}", layer, x, W_q, W_k, W_v, mask=mask, notes=notes))
    return tuple(found)


def states(run: Trained, layers: int, example: int = 0) -> tuple[Tensor, tuple[str, ...]]:
    """Return what layer `layers` + 1 reads (T, C), after `layers` layers as they were trained, and the tokens.

    Args:
        run: Trained. layers: int >= 0. example: int >= 0.
    """
    x, _, tokens = read(run.config, run.seed, example, run.theta.dtype)
    x = x[0]
    if run.net.task is not None:
        x = x @ run.net.unpack(run.theta[None])["W_in"][0]                               # (T, C)
    for layer in range(1, layers + 1):
        parts = [scaled_dot_product_attention(x @ W_q, x @ W_k, x @ W_v, run.net.allowed(), run.tau, run.divisor)[0]
                 for W_q, W_k, W_v in _projections(run, layer)]
        x = x + torch.cat(parts, -1)
    return x, tokens


def as_trained(run: Trained, mask: Tensor | None, tau: float, scale: bool | float) -> bool:
    """Return whether a mask, tau and scale are those that the run was trained with.

    Args:
        run: Trained. mask, tau, scale: as for `layer_traces`.
    """
    if isinstance(scale, bool):
        scale = divisor("sqrt_dk" if scale else "none", run.net.d_k, 1)
    theirs, mine = (torch.ones(run.net.T, run.net.T, dtype=torch.bool) if m is None else m
                    for m in (run.net.allowed(), mask))
    return tau == run.tau and abs(scale / run.divisor - 1) < 1e-9 and torch.equal(theirs, mine)


def together(heads: tuple[HeadTrace, ...]) -> Together:
    """Return the heads of a layer put together. These nets have no W_o: it is the identity, (C, C).

    Args:
        heads: of `layer_traces`.
    Returns:
        Together, heads in their order, origin "identity".
    """
    outputs = [head.trace.output for head in heads]
    return concat_parts(outputs, torch.eye(sum(o.shape[-1] for o in outputs), dtype=outputs[0].dtype), "identity")


def _projections(run: Trained, layer: int) -> list[tuple[Tensor, Tensor, Tensor]]:
    """W_q, W_k (C, d_k) and W_v (C, d_v) of each head of a layer."""
    W = run.net.unpack(run.theta[None])[f"W_qkv_{layer}"][0]
    parts = [part.chunk(run.net.heads, -1) for part in W.split(run.net.columns, -1)]
    return list(zip(*parts, strict=True))
