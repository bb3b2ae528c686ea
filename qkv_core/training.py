"""Training attention: one step written out, and many runs in lockstep, with and without 1/sqrt(d_k).

`gradient_step` is the lesson: the chain rule of one head, line by line. `Trainer` is the experiment: two or more arms
start from the same seeds, see the same batches, and differ in one thing.

Step s means: after s updates. Record s holds the loss of those weights on batch s, and `at(s)` shows those weights.
"""
import math
import time
from collections.abc import Callable
from dataclasses import asdict, fields

import torch
from torch import Tensor

from qkv_core import device as devices
from qkv_core.experiment import CAT_SAT, WITH_AND_WITHOUT, Arm, Config, own, positive, score_factor
from qkv_core.lockstep import MEASURES, build
from qkv_core.masks import whole
from qkv_core.records import ArmCount, History, Moment, Notice, Records, wilson_interval
from qkv_core.replay import Replay, look
from qkv_core.tasks import BLOCK

SNAPSHOT_BYTES, SNAPSHOTS = 64 * 2 ** 20, 64

Weights = tuple[Tensor, Tensor, Tensor]


def gradient_step(W_q: Tensor, W_k: Tensor, W_v: Tensor, X: Tensor, target: Tensor, lr: float | Tensor,
                  tau: float = 1.0, scale: bool | float = True) -> tuple[Weights, Tensor, Weights]:
    """Return the projections after one step of plain gradient descent, with the loss and gradient norms before it.

        output = softmax(q k^T / (divisor * tau)) v,    loss = mean (output - target)^2,    W <- W - lr dloss/dW

    The gradient is the chain rule by hand, 4 times faster than autograd on matrices this small; the tests hold it to
    autograd, to torch.optim.SGD and to finite differences. The inputs are not changed.

    Args:
        W_q, W_k: tensors (..., C, d_k). W_v: tensor (..., C, d_v). Leading axes, the same for all three, are runs
            that share nothing: each gets the step that it would get alone.
        X: tensor (T, C), or (..., T, C) with one X a run. target: tensor (T, d_v), or one a run.
        lr: float, or a tensor (...) with one rate a run.
        tau: float > 0, the temperature.
        scale: True divides the scores by sqrt(d_k), False by 1, a number > 0 by itself.
    Returns:
        (W_q, W_k, W_v): the weights after the step.
        loss: tensor (...), before it.
        (norm_q, norm_k, norm_v): tensors (...), the Euclidean norms of the three gradients.
    Raises:
        ValueError: for shapes that do not fit, or a tau or scale that is not positive.
    Source: Vaswani et al. 2017, section 3.2.1; the softmax's Jacobian is a_i (delta_ij - a_j).
    """
    _check_step(W_q, W_k, W_v, X, target)
    factor = score_factor(W_q.shape[-1], tau, scale)
    with torch.no_grad():
        q, k, v = X @ W_q, X @ W_k, X @ W_v
        weights = torch.softmax(q @ k.mT * factor, -1)                                   # (..., T, T)
        error = weights @ v - target                                                     # (..., T, d_v)
        loss = error.square().mean((-2, -1))

        d_output = error * (2 / (error.shape[-2] * error.shape[-1]))
        d_weights = d_output @ v.mT
        d_scores = weights * (d_weights - (d_weights * weights).sum(-1, keepdim=True)) * factor
        gradients = X.mT @ (d_scores @ k), X.mT @ (d_scores.mT @ q), X.mT @ (weights.mT @ d_output)

        rate = lr[..., None, None] if isinstance(lr, Tensor) else lr
        stepped = tuple(W - rate * gradient for W, gradient in zip((W_q, W_k, W_v), gradients))
        return stepped, loss, tuple(torch.linalg.vector_norm(g, dim=(-2, -1)) for g in gradients)


class Trainer:
    """An experiment that can be moved on, looked back on, saved and taken up again. No printing, no threads.

    Args: those of Config, of which it makes one.
    Attributes:
        config: Config. step: int, updates done. device: torch.device in use. notices: list of Notice, oldest first.
    """

    def __init__(self, task: str = CAT_SAT, d_k: int = 64, heads: int = 1, lr: float | None = None,
                 optimizer: str | None = None, arms: tuple[Arm, ...] = WITH_AND_WITHOUT,
                 seeds: tuple[int, ...] | int = 8, device: str = "auto", **more):
        self.config = c = Config(task, d_k, heads, lr=lr, optimizer=optimizer, arms=arms, seeds=seeds, device=device,
                                 **more)
        self.step, self.notices, self._pace = 0, [], math.inf                            # seconds a step
        self.rates = [(0, tuple(own(arm.lr, c.lr) for arm in c.arms))]
        """(step, rate of each arm) for each change, the first at step 0."""
        names, dtype = tuple(arm.name for arm in c.arms), getattr(torch, c.dtype)
        self._history = History(names, c.seeds, c.task == CAT_SAT, dtype, c.max_steps)
        self._forget()
        self._place()

    def _forget(self) -> None:
        self._snapshots, self._every, self._replay = [], BLOCK, (None, None)

    @classmethod
    def from_config(cls, config: Config) -> "Trainer":
        """Return a fresh Trainer of a Config."""
        return cls(**{f.name: getattr(config, f.name) for f in fields(config)})

    @property
    def notice(self) -> Notice | None:
        """The latest Notice, or None."""
        return self.notices[-1] if self.notices else None

    @property
    def max_steps(self) -> int:
        """Steps after which the history is full and training stops."""
        return self._history.max_steps

    # moving on

    def advance(self, n: int = 1) -> Records:
        """Train n steps, fewer where the history is full, and return their Records.

        Any split of the same steps gives the same numbers; on the CPU bit for bit.
        """
        first, last = self.step, min(self.step + whole("n", n, 0), self.max_steps)
        while self.step < last:
            self._chunk(min(last - self.step, BLOCK - self.step % BLOCK))
        self._note_if_full(first + n)
        return self.records(first)

    def advance_for(self, seconds: float, most: int | None = None) -> Records:
        """Train until about `seconds` have passed, at least one step, every one recorded; return their Records.

        Args:
            seconds: float. most: int, or None: steps at most.
        """
        begun, first = time.perf_counter(), self.step
        last = self.max_steps if most is None else min(self.max_steps, self.step + whole("most", most))
        while self.step < last and (left := begun + seconds - time.perf_counter()) > 0 or self.step == first < last:
            # A captured graph is a whole block; what goes step by step takes as many as should fit.
            fit = BLOCK if self._graph != "none" else max(1, int(min(BLOCK, left / self._pace)))
            count, before = min(fit, last - self.step, BLOCK - self.step % BLOCK), time.perf_counter()
            self._chunk(count)
            self._pace = max(1e-9, (time.perf_counter() - before) / count)
        self._note_if_full(self.step + (most is None))
        return self.records(first)

    def set_lr(self, lr: float, arm: int | None = None) -> None:
        """Change the rate from here on: of one arm, or of all that have none of their own. Nothing else changes."""
        positive("lr", lr)
        arms = self.config.arms
        rates = tuple(lr if i == arm or arm is None and a.lr is None else rate
                      for i, (a, rate) in enumerate(zip(arms, self.rates[-1][1])))
        if self.rates[-1][0] == self.step:
            self.rates.pop()
        self.rates.append((self.step, rates))
        self._safely(lambda: self._lockstep.set_rates(rates))

    def _chunk(self, count: int) -> None:
        """`count` steps within one block; on a GPU that fails, once more from the same state on the CPU."""
        def work():
            self._capture_once(count)
            rows = self._lockstep.run(self.step, count)
            self._mirror = self._lockstep.state() if self._guarded else None
            return rows
        rows = self._safely(work)
        self._history.append(rows)
        self.step += count
        if self.step % self._every == 0:
            self._snapshot()

    def _note_if_full(self, wanted: int) -> None:
        if wanted > self.step >= self.max_steps and not any(n.code == "history_full" for n in self.notices):
            self.notices.append(Notice("history_full", str(self.max_steps), self.step))

    # looking back

    def records(self, first: int = 0, last: int | None = None) -> Records:
        """Return the Records of steps first to last - 1, all by default; views of the history, not to be written to."""
        return self._history.records(first, last)

    def counts(self) -> tuple[ArmCount, ...]:
        """Return, for each arm, how many runs are solved and how many diverged so far."""
        return self._history.counts()

    def diverged(self) -> tuple[tuple[str, int, int], ...]:
        """Return (arm, seed, step) of every run that is no longer finite, and where that showed."""
        return self._history.diverged()

    def at(self, step: int | None = None, arm: int = 0, seed: int = 0, example: int = 0,
           limit: int | None = 256) -> Moment:
        """Return what one run saw and answered after `step` updates.

        The weights come from the nearest snapshot before that step, and the run is trained on from there, alone on the
        CPU. Where that would take more than `limit` steps, the snapshot itself is shown; `Moment.step` tells.

        Args:
            step: int, 0 to the present one, or None for that. arm, seed: int, places in config.arms and config.seeds.
            example: int >= 0, which of the examples kept for looking at. limit: int, or None.
        """
        step, theta, replayed, difference = self.weights_at(step, arm, seed, limit)
        return look(self.config, arm, seed, theta, step, example, replayed, difference)

    def weights_at(self, step: int | None = None, arm: int = 0, seed: int = 0,
                   limit: int | None = 256) -> tuple[int, Tensor, int, float]:
        """Return the weights that one run had after `step` updates, and how they were found.

        Args:
            step, arm, seed, limit: as for `at`.
        Returns:
            step: int, the one whose weights these are. theta: tensor (P,) on the CPU, a copy. replayed: int, steps run
            again. difference: float, the largest difference of a replayed loss to the recorded one.
        """
        step = self.step if step is None else whole("step", step, 0, self.step)
        c = self.config
        run = whole("arm", arm, 0, len(c.arms) - 1) * len(c.seeds) + whole("seed", seed, 0, len(c.seeds) - 1)
        if step == self.step:
            return step, self._state_of(run, self._mirror or self._lockstep.state())["theta"][0].clone(), 0, 0.0
        at, states = max((s for s in self._snapshots if s[0] <= step), key=lambda s: s[0], default=(0, None))
        who, replay = self._replay
        if who != run or not at <= replay.step <= step:
            replay = Replay(c, arm, seed, at, None if states is None else self._state_of(run, states))
            self._replay = run, replay
        if limit is not None and step - replay.step > limit:
            step = replay.step
        begun = replay.step
        again = replay.to(step, self.rates)
        then = self._history.rows[begun:step, MEASURES.index("loss"), run]
        gaps = (again - then).abs()[torch.isfinite(again) & torch.isfinite(then)]
        return step, replay.theta.clone(), step - begun, gaps.max().item() if len(gaps) else 0.0

    def weights_now(self, arm: int) -> Tensor:
        """Return the present weights of every run of an arm: tensor (seeds, P) on the CPU, a copy."""
        S = len(self.config.seeds)
        states = self._mirror or self._lockstep.state()
        return torch.cat([self._state_of(arm * S + seed, states)["theta"] for seed in range(S)])

    def _state_of(self, run: int, states: list[dict[str, Tensor]]) -> dict[str, Tensor]:
        g, state = next((g, state) for g, state in zip(self._lockstep.groups, states) if run in g.runs)
        i = g.runs.index(run)
        return {name: x[i:i + 1] for name, x in state.items()}

    def _snapshot(self) -> None:
        states = self._mirror or self._lockstep.state()
        self._snapshots.append((self.step, states))
        size = sum(x.nbytes for state in states for x in state.values())
        if len(self._snapshots) > max(4, min(SNAPSHOTS, SNAPSHOT_BYTES // size)):
            self._every *= 2
            self._snapshots = [s for s in self._snapshots if s[0] % self._every == 0]

    # saving

    def state_dict(self) -> dict:
        """Return all that is needed to go on later, as plain values and CPU tensors (torch.load(weights_only=True))."""
        return {"version": 1, "config": asdict(self.config), "step": self.step, "rates": list(self.rates),
                "groups": self._mirror or self._lockstep.state(), "history": self._history.state()}

    def load_state_dict(self, state: dict) -> None:
        """Take over a state; history, rates and weights go on as if never interrupted.

        Raises:
            ValueError: for a state of another version or Config (its device may differ).
        """
        mine, theirs = ({**asdict(self.config), "device": ""}, {**state["config"], "device": ""})
        if state["version"] != 1 or mine != theirs:
            odd = sorted(name for name in mine if mine[name] != theirs.get(name))
            raise ValueError(f"the saved training is another one; it differs in: {', '.join(odd) or 'version'}")
        self.step, self.rates = state["step"], [(at, tuple(rates)) for at, rates in state["rates"]]
        self._history.load(state["history"])
        self._forget()
        self._mirror = state["groups"] if self._guarded else None
        self._lockstep.load(state["groups"])
        self._lockstep.set_rates(self.rates[-1][1])
        self._snapshots.append((self.step, state["groups"]))

    @classmethod
    def from_state_dict(cls, state: dict) -> "Trainer":
        """Return a Trainer that goes on from a state."""
        config = dict(state["config"])
        config["arms"] = tuple(Arm(**arm) for arm in config["arms"])
        made = cls(**config)
        made.load_state_dict(state)
        return made

    # devices

    def _place(self) -> None:
        self.device, passed_over = devices.choose(self.config.device)
        if passed_over is not None:
            self.notices.append(Notice("device_replaced", f"{passed_over.name}: {passed_over.reason}"))
        if self.device.type == "mps" and self.config.dtype == "float64":
            raise ValueError("dtype must be float32 on mps; Apple GPUs have no float64")
        self._guarded = self.device.type != "cpu"
        self._graph = "wanted" if self.device.type == "cuda" else "none"
        self._lockstep = self._mirror = None
        self._lockstep = self._safely(lambda: self._lockstep or build(self.config, self.device))
        self._mirror = self._lockstep.state() if self._guarded else None

    def _safely(self, work: Callable):
        """Return work(); where that fails on a GPU, once more on the CPU, from the last state that was read back."""
        try:
            return work()
        except RuntimeError as error:                       # out of memory and lost devices are RuntimeErrors too
            if not self._guarded:
                raise
            self.notices.append(Notice("gpu_failed", _first_line(error), self.step))
        self.device, self._guarded, self._graph = torch.device("cpu"), False, "none"
        self._rebuild()
        self._mirror = None
        return work()

    def _rebuild(self) -> None:
        self._lockstep = build(self.config, self.device)
        if self._mirror is not None:
            self._lockstep.load(self._mirror)
        self._lockstep.set_rates(self.rates[-1][1])

    def _capture_once(self, count: int) -> None:
        """Capture the CUDA graph before the first whole block; where that fails, say so and go on without."""
        if self._graph != "wanted" or count < BLOCK:
            return
        self._graph = "none"
        try:
            self._lockstep.capture()
            self._graph = "captured"
        except RuntimeError as error:
            self.notices.append(Notice("graph_failed", _first_line(error), self.step))
            self._rebuild()


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


def _check_step(W_q: Tensor, W_k: Tensor, W_v: Tensor, X: Tensor, target: Tensor) -> None:
    runs, (C, d_k) = W_q.shape[:-2], W_q.shape[-2:]
    d_v = W_v.shape[-1]
    fits = (W_k.shape == W_q.shape and W_v.shape[:-1] == (*runs, C)
            and X.shape[-1] == C and X.shape[:-2] in ((), runs)
            and target.shape[-2:] == (X.shape[-2], d_v) and target.shape[:-2] in ((), runs))
    if not fits:
        shapes = ", ".join(f"{name} {tuple(x.shape)}" for name, x in
                           (("W_q", W_q), ("W_k", W_k), ("W_v", W_v), ("X", X), ("target", target)))
        raise ValueError("needs W_q and W_k (..., C, d_k), W_v (..., C, d_v), X (T, C) and target (T, d_v), with the "
                         f"same leading axes on all, or none on X and target; got {shapes}")
