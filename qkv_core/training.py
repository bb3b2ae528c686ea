"""Training attention: one step written out, and many runs in lockstep, with and without 1/sqrt(d_k).

`gradient_step` is the lesson: the chain rule of one head, line by line. `Trainer` is the experiment: two or more arms
start from the same seeds, see the same batches, and differ in one thing.

Step s means: after s updates. Record s holds the loss of those weights on batch s, and `at(s)` shows those weights.
"""
import math
import time
from dataclasses import asdict, fields, replace

import torch
from torch import Tensor

from qkv_core import device as devices
from qkv_core.experiment import CAT_SAT, WITH_AND_WITHOUT, Arm, Config, own, positive, score_factor
from qkv_core.lockstep import MEASURES, Lockstep, group
from qkv_core.masks import whole
from qkv_core.nets import Net, accuracy, forward, inputs, lesson_start, losses, start, tenths
from qkv_core.records import (SOLVED_ACCURACY, SOLVED_LOSS, SOLVED_STEPS, ArmCount, Moment, Notice, Records,
                              wilson_interval)
from qkv_core.tasks import BLOCK, batches, words
from qkv_core.triad import cat_sat

SNAPSHOT_BYTES, SNAPSHOTS = 64 * 2 ** 20, 64
HISTORY_BYTES = 128 * 2 ** 20

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
    """An experiment that can be moved on, looked back on, saved and taken up again. It prints nothing, starts no thread.

    Args: those of Config, of which it makes one.
    Attributes:
        config: Config. step: int, updates done. device: torch.device in use. notices: list of Notice, oldest first.
    """

    def __init__(self, task: str = CAT_SAT, d_k: int = 64, heads: int = 1, lr: float | None = None,
                 optimizer: str | None = None, arms: tuple[Arm, ...] = WITH_AND_WITHOUT,
                 seeds: tuple[int, ...] | int = 8, device: str = "auto", **more):
        self.config = c = Config(task, d_k, heads, lr=lr, optimizer=optimizer, arms=arms, seeds=seeds, device=device,
                                 **more)
        self.step, self.notices = 0, []
        self.rates = [(0, tuple(own(arm.lr, c.lr) for arm in c.arms))]
        """(step, rate of each arm) for each change, the first at step 0."""
        runs = len(c.arms) * len(c.seeds)
        self._dtype = getattr(torch, c.dtype)
        self._rows = torch.zeros(0, len(MEASURES), runs, dtype=self._dtype)
        self._solved = torch.zeros(0, runs, dtype=torch.bool)
        self._snapshots, self._every, self._replay = [], BLOCK, (None, None)
        self.max_steps = min(c.max_steps, HISTORY_BYTES // (runs * (len(MEASURES) * self._dtype.itemsize + 1)))
        self._place()

    @classmethod
    def from_config(cls, config: Config) -> "Trainer":
        """Return a fresh Trainer of a Config."""
        return cls(**{f.name: getattr(config, f.name) for f in fields(config)})

    @property
    def notice(self) -> Notice | None:
        """The latest Notice, or None."""
        return self.notices[-1] if self.notices else None

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
        begun, first, each = time.perf_counter(), self.step, math.inf
        last = self.max_steps if most is None else min(self.max_steps, self.step + whole("most", most))
        while self.step < last and (left := begun + seconds - time.perf_counter()) > 0 or self.step == first < last:
            fit = 1 if each == math.inf else max(1, min(BLOCK, int(left / each)))
            count, before = min(fit, last - self.step, BLOCK - self.step % BLOCK), time.perf_counter()
            self._chunk(count)
            each = (time.perf_counter() - before) / count
        self._note_if_full(self.step + (most is None))
        return self.records(first)

    def set_lr(self, lr: float, arm: int | None = None) -> None:
        """Change the rate from here on: of one arm, or of all that have none of their own. Nothing else changes."""
        positive("lr", lr)
        arms = self.config.arms
        rates = tuple(lr if i == arm or arm is None and a.lr is None else rate
                      for i, (a, rate) in enumerate(zip(arms, self.rates[-1][1])))
        self._set_rates(rates)

    def _set_rates(self, rates: tuple[float, ...]) -> None:
        if self.rates[-1][0] == self.step:
            self.rates.pop()
        self.rates.append((self.step, rates))
        self._apply_rates()

    def _apply_rates(self) -> None:
        S = len(self.config.seeds)
        with torch.no_grad():
            for g in self._lockstep.groups:
                g.rate.copy_(torch.tensor([[self.rates[-1][1][run // S]] for run in g.runs], dtype=self._dtype))

    def _chunk(self, count: int) -> None:
        """`count` steps within one block; on a GPU that fails, once more from the same state on the CPU."""
        try:
            self._capture_once(count)
            rows = self._lockstep.run(self.step, count)
            if self._guarded:
                self._mirror = [g.state() for g in self._lockstep.groups]
        except RuntimeError as error:                       # out of memory and lost devices are RuntimeErrors too
            if not self._guarded:
                raise
            self._to_cpu(error)
            rows = self._lockstep.run(self.step, count)
        self._keep(rows)
        self.step += count
        if self.step % self._every == 0:
            self._snapshot()

    def _keep(self, rows: Tensor) -> None:
        end = self.step + len(rows)
        if end > len(self._rows):
            room = min(max(2 * len(self._rows), end, 4 * BLOCK), self.max_steps)
            self._rows = torch.cat((self._rows, self._rows.new_zeros(room - len(self._rows), *rows.shape[1:])))
            self._solved = torch.cat((self._solved, self._solved.new_zeros(room - len(self._solved), rows.shape[2])))
        self._rows[self.step:end] = rows
        if self.config.task == CAT_SAT:
            met = rows[:, MEASURES.index("loss")] < SOLVED_LOSS
        else:
            column = self._rows[max(0, self.step - SOLVED_STEPS + 1):end, MEASURES.index("accuracy")]
            met = torch.zeros(len(rows), rows.shape[2], dtype=torch.bool)
            if len(column) >= SOLVED_STEPS:
                full = column.unfold(0, SOLVED_STEPS, 1).mean(-1) >= SOLVED_ACCURACY
                met[-len(full):] = full
        if self.step:
            met[0] |= self._solved[self.step - 1]
        self._solved[self.step:end] = met.int().cummax(0).values.bool()

    def _note_if_full(self, wanted: int) -> None:
        if wanted > self.step >= self.max_steps and not any(n.code == "history_full" for n in self.notices):
            self.notices.append(Notice("history_full", str(self.max_steps), self.step))

    # looking back

    def records(self, first: int = 0, last: int | None = None) -> Records:
        """Return the Records of steps first to last - 1, all by default; views of the history, not to be written to."""
        c, last = self.config, self.step if last is None else min(last, self.step)
        shape = (-1, len(c.arms), len(c.seeds))
        rows = self._rows[first:last]
        measures = (rows[:, i].reshape(shape) for i in range(len(MEASURES)))
        return Records(torch.arange(first, max(first, last)), *measures, self._solved[first:last].reshape(shape),
                       tuple(arm.name for arm in c.arms), c.seeds)

    def counts(self) -> tuple[ArmCount, ...]:
        """Return, for each arm, how many runs are solved and how many diverged up to here."""
        solved, lost = self.records().solved, {name: 0 for name in (arm.name for arm in self.config.arms)}
        for name, _, _ in self.diverged():
            lost[name] += 1
        counts = []
        for a, name in enumerate(lost):
            n, done = len(self.config.seeds), solved[-1:, a].any(0)
            first = solved[:, a].int().argmax(0)[done].double().median().item() if done.any() else None
            counts.append(ArmCount(name, n, int(done.sum()), *wilson_interval(int(done.sum()), n), lost[name], first))
        return tuple(counts)

    def diverged(self) -> tuple[tuple[str, int, int], ...]:
        """Return (arm, seed, step) of every run that is no longer finite, and where that showed."""
        c, S = self.config, len(self.config.seeds)
        lost = []
        for g in self._lockstep.groups:
            lost += [run for run, alive in zip(g.runs, g.alive[:, 0].tolist()) if not alive]
        norms = self._rows[:self.step, :4]
        return tuple((c.arms[run // S].name, c.seeds[run % S], self._first_fault(norms[:, :, run])) for run in sorted(lost))

    @staticmethod
    def _first_fault(values: Tensor) -> int:
        faulty = ~torch.isfinite(values).all(1)
        return int(faulty.int().argmax()) if faulty.any() else len(values) - 1

    def at(self, step: int | None = None, arm: int = 0, seed: int = 0, example: int = 0, limit: int | None = 256) -> Moment:
        """Return what one run saw and answered after `step` updates.

        The weights come from the nearest snapshot before that step, and the run is trained on from there, alone on the
        CPU. Where that would take more than `limit` steps, the snapshot itself is shown; `Moment.step` tells.

        Args:
            step: int, 0 to the present one, or None for that. arm, seed: int, places in config.arms and config.seeds.
            example: int >= 0, which of the examples kept for looking at. limit: int, or None.
        """
        step = self.step if step is None else whole("step", step, 0, self.step)
        c = self.config
        run = whole("arm", arm, 0, len(c.arms) - 1) * len(c.seeds) + whole("seed", seed, 0, len(c.seeds) - 1)
        g = next(g for g in self._lockstep.groups if run in g.runs)
        if step == self.step:
            theta, replayed, difference = g.theta[g.runs.index(run)].detach().cpu(), 0, 0.0
        else:
            theta, step, replayed, difference = self._replay_to(step, run, limit)
        return self._look(c.arms[arm], c.seeds[seed], theta, step, example, replayed, difference)

    def _replay_to(self, step: int, run: int, limit: int | None) -> tuple[Tensor, int, int, float]:
        c, S = self.config, len(self.config.seeds)
        at, states = max((s for s in self._snapshots if s[0] <= step), key=lambda s: s[0], default=(0, None))
        who, alone = self._replay
        if who != run or not at <= alone.step <= step:
            arm = replace(c.arms[run // S], lr=None)
            alone = Trainer.from_config(replace(c, arms=(arm,), seeds=(c.seeds[run % S],), device="cpu"))
            alone.max_steps = self.max_steps
            if states is not None:
                g, state = next((g, state) for g, state in zip(self._lockstep.groups, states) if run in g.runs)
                i = g.runs.index(run)
                alone._take_over(at, [{name: x[i:i + 1] for name, x in state.items()}])
            self._replay = run, alone
        if limit is not None and step - alone.step > limit:
            step = alone.step
        began = alone.step
        while alone.step < step:
            alone._set_rates((max(r for r in self.rates if r[0] <= alone.step)[1][run // S],))
            alone.advance(min([step, *(s for s, _ in self.rates if s > alone.step)]) - alone.step)
        again, then = alone._rows[began:step, 0, 0], self._rows[began:step, 0, run]
        both = torch.isfinite(again) & torch.isfinite(then)
        difference = (again - then)[both].abs().max().item() if both.any() else 0.0
        return alone._lockstep.groups[0].theta[0].detach(), step, step - began, difference

    def _look(self, arm: Arm, seed: int, theta: Tensor, step: int, example: int, replayed: int, difference: float) -> Moment:
        c, net = self.config, self.config.net(arm)
        factor = torch.full((1, 1, 1), c.factor(arm), dtype=self._dtype)
        if net.task is None:
            x, target = self._given()
            x, names, said, answers = x[None], cat_sat().tokens, (), ()
        else:
            tokens, answers = (part[0, example % c.batch][None, None] for part in batches(c.task, seed, -1, c.batch))
            x, target, names = inputs(net, tokens, 1, self._dtype), answers[0], words(c.task, tokens[0, 0])
        with torch.no_grad():
            answer, weights = forward(net, theta[None], factor, x, net.allowed(), every_row=True)
            loss, right = losses(net, answer, target).item(), accuracy(net, answer, target).item()
        if net.task is not None:
            said, answers = (tuple(net.task.vocabulary[i] for i in part.flatten().tolist())
                             for part in (answer.argmax(-1), answers))
        output = answer[0, 0] if net.task is None else torch.softmax(answer[0, 0], -1)
        return Moment(step, arm.name, seed, names, tuple(w[0, 0] for w in weights), net.answers, output,
                      target if net.task is None else None, said, answers, loss, right, replayed, difference)

    def _snapshot(self) -> None:
        states = [g.state() for g in self._lockstep.groups]
        self._snapshots.append((self.step, states))
        size = sum(x.nbytes for state in states for x in state.values())
        if len(self._snapshots) > max(4, min(SNAPSHOTS, SNAPSHOT_BYTES // size)):
            self._every *= 2
            self._snapshots = [s for s in self._snapshots if s[0] % self._every == 0]

    # saving

    def state_dict(self) -> dict:
        """Return all that is needed to go on later, as plain values and CPU tensors (torch.load(weights_only=True))."""
        return {"version": 1, "config": asdict(self.config), "step": self.step, "rates": list(self.rates),
                "groups": [g.state() for g in self._lockstep.groups], "rows": self._rows[:self.step].clone(),
                "solved": self._solved[:self.step].clone()}

    def load_state_dict(self, state: dict) -> None:
        """Take over a state; history, rates and weights go on as if never interrupted.

        Raises:
            ValueError: for a state of another version or Config (its device may differ).
        """
        mine, theirs = ({**asdict(self.config), "device": ""}, {**state["config"], "device": ""})
        if state["version"] != 1 or mine != theirs:
            odd = sorted(name for name in mine if mine[name] != theirs.get(name))
            raise ValueError(f"the saved training is another one; it differs in: {', '.join(odd) or 'version'}")
        self._rows, self._solved = state["rows"].clone(), state["solved"].clone()
        self.rates, self._snapshots, self._every, self._replay = [tuple(r) for r in state["rates"]], [], BLOCK, (None, None)
        self._take_over(state["step"], state["groups"])

    @classmethod
    def from_state_dict(cls, state: dict) -> "Trainer":
        """Return a Trainer that goes on from a state."""
        config = dict(state["config"])
        config["arms"] = tuple(Arm(**arm) for arm in config["arms"])
        made = cls(**config)
        made.load_state_dict(state)
        return made

    def _take_over(self, step: int, states: list[dict[str, Tensor]]) -> None:
        self.step = step
        for g, state in zip(self._lockstep.groups, states):
            g.load(state)
        if self._guarded:
            self._mirror = states
        if len(self._rows) < step:                          # a replay starts in the middle, without what came before
            self._rows = self._rows.new_full((step, *self._rows.shape[1:]), math.nan)
            self._solved = self._solved.new_zeros(step, self._solved.shape[1])
        if step and step % self._every == 0:
            self._snapshot()

    # devices

    def _place(self) -> None:
        self.device, passed_over = devices.choose(self.config.device)
        if passed_over is not None:
            self.notices.append(Notice("device_replaced", f"{passed_over.name}: {passed_over.reason}"))
        if self.device.type == "mps" and self.config.dtype == "float64":
            raise ValueError("dtype must be float32 on mps; Apple GPUs have no float64")
        self._guarded = self.device.type != "cpu"
        self._graph = "wanted" if self.device.type == "cuda" else "none"
        try:
            self._lockstep = self._build(self.device)
            self._apply_rates()
            self._mirror = [g.state() for g in self._lockstep.groups] if self._guarded else None
        except RuntimeError as error:
            if not self._guarded:
                raise
            self._mirror = None
            self._to_cpu(error)

    def _build(self, device: torch.device) -> Lockstep:
        """Return the experiment at step 0 on a device; the weights are drawn on the CPU, the same for every device."""
        c, S = self.config, len(self.config.seeds)
        nets: dict[Net, list[int]] = {}
        for a, arm in enumerate(c.arms):
            nets.setdefault(c.net(arm), []).append(a)
        groups = []
        for net, arms in nets.items():
            theta = torch.stack([self._start(net, c.arms[a], seed) for a in arms for seed in c.seeds]).to(self._dtype)
            factor = torch.tensor([c.factor(c.arms[a]) for a in arms for _ in c.seeds], dtype=self._dtype)
            runs = [a * S + s for a in arms for s in range(S)]
            groups.append(group(net, runs, theta, factor, c.optimizer, device))
        return Lockstep(groups, c.task, c.seeds, c.batch, c.optimizer, self._given() if c.task == CAT_SAT else None)

    def _start(self, net: Net, arm: Arm, seed: int) -> Tensor:
        return lesson_start() if self.config.start == "lesson" else start(net, seed, own(arm.init_size, self.config.init_size))

    def _given(self) -> tuple[Tensor, Tensor]:
        X, *_, lesson, _ = cat_sat()
        target = tenths(lesson) if self.config.target is None else torch.tensor(self.config.target)
        return tenths(X).to(self._dtype), target.to(self._dtype)

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
            self._lockstep = self._build(self.device)
            for g, state in zip(self._lockstep.groups, self._mirror):
                g.load(state)

    def _to_cpu(self, error: Exception) -> None:
        """Leave a GPU that failed, and go on from the last state that was read back from it."""
        self.notices.append(Notice("gpu_failed", _first_line(error), self.step))
        self.device, self._guarded, self._graph = torch.device("cpu"), False, "none"
        self._lockstep = self._build(self.device)
        if self._mirror is not None:
            for g, state in zip(self._lockstep.groups, self._mirror):
                g.load(state)
        self._mirror = None
        self._apply_rates()


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
