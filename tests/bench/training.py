"""Training steps against the notebook's: three nn.Linear, MSELoss, SGD and `.item()`, one run at a time."""

import math

import torch
from torch import nn

from qkv_core.training import Arm, Trainer, gradient_step
from qkv_core.triad import cat_sat


class Notebook:
    """The lesson's single head as one would write it."""

    def __init__(self):
        self.X, _, _, _, self.target, _ = cat_sat()
        self.W_q, self.W_k, self.W_v = (nn.Linear(4, 4, bias=False) for _ in range(3))
        parameters = [p for layer in (self.W_q, self.W_k, self.W_v) for p in layer.parameters()]
        self.optimizer, self.criterion = torch.optim.SGD(parameters, lr=0.1), nn.MSELoss()

    def step(self) -> float:
        Q, K, V = self.W_q(self.X), self.W_k(self.X), self.W_v(self.X)
        weights = torch.softmax(Q @ K.transpose(-2, -1) / math.sqrt(4), dim=-1)
        loss = self.criterion(weights @ V, self.target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def steps(self, n: int) -> None:
        for _ in range(n):
            self.step()


class Ours:
    """gradient_step on many runs, or on one without a run axis."""

    def __init__(self, runs: int | None):
        self.X, _, _, _, self.target, _ = cat_sat()
        shape, g = (4, 4) if runs is None else (runs, 4, 4), torch.Generator().manual_seed(0)
        self.W = tuple(torch.randn(shape, generator=g) / 2 for _ in range(3))

    def step(self):
        self.W, loss, _ = gradient_step(*self.W, self.X, self.target, 0.1)
        return loss.tolist()

    def steps(self, n: int) -> None:
        for _ in range(n):
            self.step()


def look_up(seeds: int, steps: int) -> None:
    Trainer("look_up", d_k=64, seeds=seeds, device="cpu").advance(steps)


def gpu_cases() -> list[dict]:
    """A graph of 16 steps against the same steps launched one by one, and against the notebook on the CPU."""
    if not torch.cuda.is_available():
        return []

    def trainer(seeds: int, graph: bool) -> Trainer:
        made = Trainer("cat_sat", d_k=4, seeds=seeds, arms=(Arm("with"),), device="cuda", max_steps=10 ** 7)
        made._graph = made._graph if graph else "none"
        made.advance(16)
        return made

    def rewound(made: Trainer):
        state = made.state_dict()                           # the history stays short, however often it is called

        def call():
            made.load_state_dict(state)
            made.advance(160)
        return call
    one, eager, many, notebook = trainer(1, True), trainer(1, False), trainer(4096, True), Notebook()
    return [
        dict(name="GPU, cat-sat, one run, 160 steps: graph against eager", target=4, naive=rewound(eager),
             ours=rewound(one), wall=True, steps=160),
        dict(name="GPU, cat-sat, 4,096 runs, 160 steps each", target=1000, naive_factor=4096,
             naive=lambda: notebook.steps(160), ours=rewound(many), wall=True, steps=160 * 4096,
             note="naive: the notebook's on the CPU, times 4,096; steps of all runs together"),
    ]


def cases() -> list[dict]:
    notebook, one, some, many = Notebook(), Ours(None), Ours(64), Ours(1024)
    return [
        dict(name="cat-sat, one run, 100 steps", target=1.6, repeats=9, steps=100,
             naive=lambda: notebook.steps(100), ours=lambda: one.steps(100)),
        dict(name="cat-sat, 64 runs, 100 steps each", target=45, repeats=9, naive_factor=64,
             naive=lambda: notebook.steps(100), ours=lambda: some.steps(100), note="naive: one run, times 64"),
        dict(name="cat-sat, 1,024 runs, 20 steps each", target=150, repeats=9, naive_factor=1024,
             naive=lambda: notebook.steps(20), ours=lambda: many.steps(20), note="naive: one run, times 1,024"),
        dict(name="look-up, 2 x 12 runs, d_k = 64, 300 steps", target=None, repeats=1,
             naive=lambda: look_up(1, 25), naive_factor=144, ours=lambda: look_up(12, 300),
             note="naive: our own single seeds, one after another; ours should stay under 8,000 ms"),
        *gpu_cases(),
    ]
