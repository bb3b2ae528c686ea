"""Runs in lockstep on one device: the same batches for every arm, a chunk of steps at a time.

A Lockstep holds everything a step reads or writes in tensors that stay where they are, so that on a GPU a whole chunk
of BLOCK steps is one CUDA graph, captured once: batches, rates and corrections are copied in, the records are read
once a chunk. On the CPU the same lines run one by one.
"""
from dataclasses import dataclass

import torch
from torch import Tensor

from qkv_core.experiment import CAT_SAT, Arm, Config, own
from qkv_core.nets import (Net, accuracy, forward, gradient_norms, inputs, lesson_start, losses, row_shares, sharpness,
                           start, tenths)
from qkv_core.tasks import BLOCK, batches
from qkv_core.triad import cat_sat

MEASURES = ("loss", "norm_q", "norm_k", "norm_v", "entropy", "frozen", "accuracy")
"""What a step records of each run, in the order of the buffer."""

_BETA_1, _BETA_2, _EPS = 0.9, 0.999, 1e-8


@dataclass
class Group:
    """Runs of one shape of net, arm by arm, and within each seed by seed.

    net: Net. runs: which of all the runs these are, list of int. factor: tensor (R, 1, 1), 1 / (divisor * tau).
    theta: tensor (R, P), the weights. m, v: tensors (R, P), Adam's moving means; empty (0, P) for SGD.
    alive: bool tensor (R, 1), False from the first loss or gradient that is not finite. rate: tensor (R, 1).
    """
    net: Net
    runs: list[int]
    factor: Tensor
    theta: Tensor
    m: Tensor
    v: Tensor
    alive: Tensor
    rate: Tensor

    STATE = ("theta", "m", "v", "alive")

    def state(self) -> dict[str, Tensor]:
        """Return a copy on the CPU of all that training changes."""
        return {name: getattr(self, name).detach().to("cpu", copy=True) for name in self.STATE}

    @torch.no_grad()
    def load(self, state: dict[str, Tensor]) -> None:
        """Take over a state, in place, so that a captured graph goes on with it."""
        for name in self.STATE:
            getattr(self, name).copy_(state[name])


def build(config: Config, device: torch.device) -> "Lockstep":
    """Return an experiment at step 0; the weights are drawn on the CPU, so that they are the same on every device."""
    S, dtype = len(config.seeds), getattr(torch, config.dtype)
    arms_of: dict[Net, list[int]] = {}
    for a, arm in enumerate(config.arms):
        arms_of.setdefault(config.net(arm), []).append(a)
    groups = []
    for net, arms in arms_of.items():
        runs = [a * S + s for a in arms for s in range(S)]
        theta = torch.stack([_start(config, config.arms[a], seed) for a in arms for seed in config.seeds])
        factor = torch.tensor([[[config.factor(config.arms[run // S])]] for run in runs], dtype=torch.float64)
        moments = torch.zeros(len(runs) if config.optimizer == "adam" else 0, theta.shape[1])
        floats = (x.to(device, dtype, copy=True) for x in (factor, theta, moments, moments, torch.zeros(len(runs), 1)))
        factor, theta, m, v, rate = floats
        alive = torch.ones(len(runs), 1, dtype=torch.bool, device=device)
        groups.append(Group(net, runs, factor, theta.requires_grad_(), m, v, alive, rate))
    made = Lockstep(config, groups)
    made.set_rates(tuple(own(arm.lr, config.lr) for arm in config.arms))
    return made


def _start(config: Config, arm: Arm, seed: int) -> Tensor:
    if config.start == "lesson":
        return lesson_start()
    return start(config.net(arm), seed, own(arm.init_size, config.init_size))


def given(config: Config) -> tuple[Tensor, Tensor]:
    """Return X (3, 4) and the target (3, 4) of a cat-sat experiment, on the CPU in its dtype."""
    X, *_, target, _ = cat_sat()
    target = tenths(target) if config.target is None else torch.tensor(config.target, dtype=torch.float64)
    return tuple(x.to(getattr(torch, config.dtype)) for x in (tenths(X), target))


class Lockstep:
    """All groups of an experiment on one device.

    Args:
        config: Config. groups: list of Group on that device, which `build` makes.
    """

    def __init__(self, config: Config, groups: list[Group]):
        self.config, self.groups = config, groups
        on = {"device": groups[0].theta.device, "dtype": groups[0].theta.dtype}
        self.given = tuple(x.to(**on) for x in given(config)) if config.task == CAT_SAT else None
        self.masks = [None if (mask := g.net.allowed()) is None else mask.to(on["device"]) for g in groups]
        self.shares = [[share.to(**on) for share in row_shares(g.net)] for g in groups]
        self.records = torch.zeros(BLOCK, len(MEASURES), sum(len(g.runs) for g in groups), **on)
        self.corrections = torch.ones(BLOCK, 2, **on)
        self.order = [torch.tensor(g.runs, device=on["device"]) for g in groups]
        self.block, self.tokens, self.answers, self.graph = None, None, None, None

    @torch.no_grad()
    def set_rates(self, rates: tuple[float, ...]) -> None:
        """Give each arm its learning rate, in place."""
        for g in self.groups:
            arms = [run // len(self.config.seeds) for run in g.runs]
            g.rate.copy_(torch.tensor([[rates[a]] for a in arms], dtype=torch.float64).to(g.rate.dtype))

    def state(self) -> list[dict[str, Tensor]]:
        """Return a copy on the CPU of all that training changes, group by group."""
        return [g.state() for g in self.groups]

    def load(self, states: list[dict[str, Tensor]]) -> None:
        """Take over a state, in place."""
        for g, state in zip(self.groups, states):
            g.load(state)

    def run(self, step: int, count: int) -> Tensor:
        """Train steps step + 1 to step + count, all within one block; return their records (count, measures, runs)."""
        self._load(step)
        first = step % BLOCK
        if self.graph is not None and count == BLOCK:
            self.graph.replay()
        else:
            self._steps(first, count)
        return self.records[first:first + count].to("cpu", copy=True)

    def capture(self) -> None:
        """Capture a whole block of steps as one CUDA graph; later calls of `run` replay it.

        The steps that warm the device up are undone. Raises whatever the driver does when it can't.
        """
        before = self.state()
        self._load(0)
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            self._steps(0, 3)
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._steps(0, BLOCK)
        self.load(before)
        self.graph = graph

    def _load(self, step: int) -> None:
        """Put the batches of the step's block, and Adam's corrections for each of its steps, where the steps look."""
        block = step // BLOCK
        if block == self.block:
            return
        counts = torch.arange(block * BLOCK + 1, (block + 1) * BLOCK + 1, dtype=torch.float64)
        corrections = torch.stack((1 / (1 - _BETA_1 ** counts), (1 - _BETA_2 ** counts).rsqrt()), -1)
        self.corrections.copy_(corrections.to(self.corrections.dtype))
        if self.given is None:
            c = self.config
            drawn = [batches(c.task, seed, block, c.batch) for seed in c.seeds]
            tokens, answers = (torch.stack(part, 1) for part in zip(*drawn))             # (BLOCK, S, B, ...)
            if self.tokens is None:
                self.tokens, self.answers = (x.to(self.records.device) for x in (tokens, answers))
            else:
                self.tokens.copy_(tokens)
                self.answers.copy_(answers)
        self.block = block

    def _steps(self, first: int, count: int) -> None:
        for k in range(first, first + count):
            for i in range(len(self.groups)):
                self._step(i, k)

    def _step(self, i: int, k: int) -> None:
        """One step of one group: a readable loss a run, the gradient of their sum, an update in place."""
        g, net = self.groups[i], self.groups[i].net
        arms = len(g.runs) // len(self.config.seeds)
        if self.given is None:
            x = inputs(net, self.tokens[k], arms, self.records.dtype)
            target = self.answers[k].repeat(arms, 1, 1)
        else:
            x, target = self.given[0].expand(len(g.runs), 3, 4), self.given[1]
        answer, weights = forward(net, g.theta, g.factor, x, self.masks[i])
        loss = losses(net, answer, target)
        gradient, = torch.autograd.grad(loss.sum(), g.theta)
        with torch.no_grad():
            row = (loss, *gradient_norms(net, gradient), *sharpness(weights, self.shares[i]),
                   accuracy(net, answer, target))
            row = torch.where(g.alive[:, 0], torch.stack(row), torch.nan)
            if len(self.groups) == 1:
                self.records[k].copy_(row)
            else:
                self.records[k].index_copy_(1, self.order[i], row)
            self._update(g, gradient, k, loss)

    def _update(self, g: Group, gradient: Tensor, k: int, loss: Tensor) -> None:
        # A run whose loss or gradient is not finite stops here, before it spoils its weights; the others go on.
        g.alive.logical_and_(torch.isfinite(gradient.sum(-1, keepdim=True) + loss[:, None]))
        gradient = torch.where(g.alive, gradient, 0.0)
        rate = g.rate * g.alive
        if self.config.optimizer == "sgd":
            g.theta.addcmul_(gradient, rate, value=-1)
            return
        mean, spread = self.corrections[k]
        g.m.lerp_(gradient, 1 - _BETA_1)
        g.v.mul_(_BETA_2).addcmul_(gradient, gradient, value=1 - _BETA_2)
        g.theta.addcdiv_(g.m * (rate * mean), (g.v.sqrt() * spread).add_(_EPS), value=-1)
