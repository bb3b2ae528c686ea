"""Training attention: one step written out, and many runs in lockstep, with and without 1/sqrt(d_k).

`gradient_step` is the lesson: the chain rule of one head, line by line. `Trainer` is the experiment: two or more arms
start from the same seeds, see the same batches, and differ in one thing.

Step s means: after s updates. Record s holds the loss of those weights on batch s, and `at(s)` shows those weights.
"""
import math
import time
from dataclasses import asdict, dataclass, field, fields, replace

import torch
from torch import Tensor

from qkv_core import device as devices
from qkv_core.attention import SCALES, divisor
from qkv_core.lockstep import MEASURES, OPTIMIZERS, Group, Lockstep, group
from qkv_core.masks import MASKS, whole
from qkv_core.nets import Net, accuracy, forward, inputs, lesson_start, losses, start
from qkv_core.tasks import BLOCK, TASKS, batches, task, words
from qkv_core.triad import cat_sat

CAT_SAT = "cat_sat"
TASK_KEYS = (CAT_SAT, *TASKS)

SOLVED_LOSS = 1e-3
"""The cat sat is solved when the mean squared error is below this."""

SOLVED_ACCURACY, SOLVED_STEPS = 0.95, 8
"""Any other task is solved when this share is right over this many batches in a row, all of new examples."""

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


@dataclass(frozen=True)
class Arm:
    """One side of a comparison: a name, and what it does differently. None means "as the experiment has it".

    name: str, a code, not to be shown untranslated.
    scale: True divides the scores by sqrt(d_k), False by 1, a number by itself, or a name of attention.SCALES.
    tau, lr: float > 0. init_size: float > 0 on the first W_q. d_k, heads, layers: int.
    """
    name: str
    scale: bool | float | str = True
    tau: float | None = None
    lr: float | None = None
    init_size: float | None = None
    d_k: int | None = None
    heads: int | None = None
    layers: int | None = None


WITH_AND_WITHOUT = (Arm("with", True), Arm("without", False))


@dataclass(frozen=True)
class Config:
    """All that decides a training, so that the same Config gives the same numbers; hashable.

    task: one of TASK_KEYS. d_k, heads: int. layers: int, or None for what the task needs. lr: float > 0, or None for
    the task's own. optimizer: "sgd" or "adam"; None is sgd for the cat sat and adam for the others. arms: tuple of Arm
    with names of their own. seeds: tuple of int, or an int n for 0 to n-1. device: "auto", "cpu", "cuda" or "mps".
    tau, init_size: float > 0. mask: name of masks.MASKS, on top of the task's own. batch: examples a step.
    start: "random", or "lesson" for the hand-written matrices of the cat sat (d_k = 4, one head).
    target: 3 rows of 4 numbers for the cat sat, or None for the lesson's. dtype: "float32" or "float64".
    max_steps: int; fewer are kept where the history of many runs would take more than HISTORY_BYTES.
    Raises:
        ValueError: for anything out of range; it names what was expected and what came.
    """
    task: str = CAT_SAT
    d_k: int = 64
    heads: int = 1
    layers: int | None = None
    lr: float | None = None
    optimizer: str | None = None
    arms: tuple[Arm, ...] = WITH_AND_WITHOUT
    seeds: tuple[int, ...] | int = 8
    device: str = "auto"
    tau: float = 1.0
    mask: str = "none"
    init_size: float = 1.0
    batch: int = 32
    start: str = "random"
    target: tuple[tuple[float, ...], ...] | None = None
    dtype: str = "float32"
    max_steps: int = 20_000

    def __post_init__(self):
        known = {"task": TASK_KEYS, "mask": MASKS, "start": ("random", "lesson"), "dtype": ("float32", "float64"),
                 "optimizer": OPTIMIZERS}
        made = None if self.task == CAT_SAT or self.task not in TASKS else task(self.task)
        filled = {"layers": self.layers or (made.layers if made else 1), "lr": self.lr or (made.lr if made else 0.7),
                  "optimizer": self.optimizer or ("adam" if made else "sgd"), "arms": tuple(self.arms),
                  "seeds": tuple(range(self.seeds) if isinstance(self.seeds, int) else self.seeds)}
        for name, value in filled.items():
            object.__setattr__(self, name, value)
        for name, legal in known.items():
            if getattr(self, name) not in legal:
                raise ValueError(f"{name} must be one of {', '.join(legal)}; got {getattr(self, name)!r}")
        for name in ("lr", "tau", "init_size"):
            positive(name, getattr(self, name))
        whole("batch", self.batch)
        whole("max_steps", self.max_steps)
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds must be different whole numbers, at least one; got {self.seeds!r}")
        for seed in self.seeds:
            whole("seed", seed, 0, 2 ** 31 - 1)
        if not self.arms or len({arm.name for arm in self.arms}) < len(self.arms):
            raise ValueError(f"arms must be one or more with names of their own; got {[a.name for a in self.arms]}")
        if self.start == "lesson" and any((n.d_k, n.heads) != (4, 1) or n.task for n in map(self.net, self.arms)):
            raise ValueError("start = lesson needs the cat sat with d_k = 4 and one head")
        shape = None if self.target is None else [len(row) for row in self.target]
        if shape not in (None, [4, 4, 4]) or shape and not all(math.isfinite(x) for row in self.target for x in row):
            raise ValueError(f"target must be 3 rows of 4 finite numbers; got {self.target!r}")
        for arm in self.arms:
            self.net(arm)
            self.factor(arm)
            positive("lr", arm.lr or self.lr)
            positive("init_size", arm.init_size or self.init_size)

    def net(self, arm: Arm) -> Net:
        """Return the sizes of an arm's net."""
        return Net(None if self.task == CAT_SAT else task(self.task), arm.d_k or self.d_k, arm.heads or self.heads,
                   arm.layers or self.layers, self.mask)

    def factor(self, arm: Arm) -> float:
        """Return what an arm multiplies its scores by, 1 / (divisor * tau)."""
        net, scale = self.net(arm), arm.scale
        if isinstance(scale, str):
            scale = divisor(scale, net.d_k, net.heads * net.d_k)
        return score_factor(net.d_k, arm.tau or self.tau, scale)


@dataclass(frozen=True)
class Notice:
    """Something the viewer should know. code: "device_replaced", "graph_failed", "gpu_failed", "history_full" or "".

    detail: the reason code or the error message, not to be translated. step: when.
    """
    code: str
    detail: str = ""
    step: int = 0


@dataclass(frozen=True, eq=False)
class Records:
    """What was recorded, a column a measure, each (n, arms, seeds) but `step` (n,).

    step: updates done before. loss: on the batch of that step. norm_q, norm_k, norm_v: gradient norms, over all
    layers. entropy: of the weights, share of its maximum. frozen: share of rows with a weight above .99.
    accuracy: share of right answers in that batch, NaN for the cat sat. solved: bool, True from the first step at
    which the run met the definition (SOLVED_LOSS, or SOLVED_ACCURACY over SOLVED_STEPS batches).
    A diverged run is not finite at the step where that showed, and NaN after it.
    arms, seeds: the names of the axes.
    """
    step: Tensor
    loss: Tensor
    norm_q: Tensor
    norm_k: Tensor
    norm_v: Tensor
    entropy: Tensor
    frozen: Tensor
    accuracy: Tensor
    solved: Tensor
    arms: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.step)

    def frame(self):
        """Return a DataFrame[step, arm, seed, loss, norm_q, ..., solved], one row a step and run."""
        import pandas as pd
        n, A, S = self.loss.shape
        columns = {"step": self.step.repeat_interleave(A * S).numpy(),
                   "arm": [name for name in self.arms for _ in range(S)] * n,
                   "seed": list(self.seeds) * (n * A)}
        columns |= {name: getattr(self, name).flatten().numpy() for name in (*MEASURES, "solved")}
        return pd.DataFrame(columns)

    def summary(self, points: int = 400, band: float = 0.5):
        """Return what a chart can draw: at most `points` steps, the median over the seeds, and a band around it.

        Args:
            points: int >= 2; the first and the last step are always among them.
            band: float, the share of the seeds between low and high.
        Returns:
            DataFrame[step, arm, seeds, loss, loss_low, loss_high, ... the same for each measure, solved, solved_low,
            solved_high]: seeds is how many runs are still finite; non-finite values are left out of the quantiles;
            solved is a share of all seeds, with its 95 % Wilson interval.
        """
        import pandas as pd
        chosen = torch.linspace(0, len(self) - 1, min(whole("points", points, 2), len(self))).round().long()
        q = torch.tensor([0.5, 0.5 - band / 2, 0.5 + band / 2], dtype=self.loss.dtype)
        A, S = self.loss.shape[1:]
        finite = torch.isfinite(self.loss[chosen])
        columns = {"step": self.step[chosen].repeat_interleave(A).numpy(), "arm": list(self.arms) * len(chosen),
                   "seeds": finite.sum(-1).flatten().numpy()}
        for name in MEASURES:
            values = getattr(self, name)[chosen]
            middle, low, high = torch.nanquantile(values.where(torch.isfinite(values), torch.nan), q, dim=-1)
            columns |= {name: middle.flatten().numpy(), f"{name}_low": low.flatten().numpy(),
                        f"{name}_high": high.flatten().numpy()}
        counts = self.solved[chosen].sum(-1).flatten().tolist()
        intervals = [wilson_interval(k, S) for k in counts]
        columns |= {"solved": [k / S for k in counts], "solved_low": [low for low, _ in intervals],
                    "solved_high": [high for _, high in intervals]}
        return pd.DataFrame(columns)


@dataclass(frozen=True)
class ArmCount:
    """How the runs of one arm ended so far. solved of seeds met the definition, with its 95 % Wilson interval.

    diverged: how many are no longer finite. first: median step at which the solved ones were solved, or None.
    """
    arm: str
    seeds: int
    solved: int
    low: float
    high: float
    diverged: int
    first: float | None


@dataclass(frozen=True, eq=False)
class Moment:
    """One run at one step, on an example that is never trained on.

    step: the step shown. arm: str. seed: int. tokens: tuple of T str, as written on screen.
    weights: tuple of tensors (h, T, T), one a layer. rows: how many of the last layer's last rows are asked; the ones
    above them play no part. output: tensor, (3, 4) for the cat sat, else (rows, symbols) of probabilities.
    target: tensor (3, 4), or None. predicted, answers: tuples of `rows` str, empty for the cat sat.
    loss: float, on this example. right: share of right answers, NaN for the cat sat.
    replayed: how many steps were run again to get here. difference: largest difference of a replayed loss to the
    recorded one, over the first values that are finite in both.
    """
    step: int
    arm: str
    seed: int
    tokens: tuple[str, ...]
    weights: tuple[Tensor, ...]
    rows: int
    output: Tensor
    target: Tensor | None
    predicted: tuple[str, ...]
    answers: tuple[str, ...]
    loss: float
    right: float
    replayed: int
    difference: float


def wilson_interval(k: int, n: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """Return the Wilson score interval of a share k / n; (0, 1) for n = 0.

        (p + z^2/2n +- z sqrt(p (1-p)/n + z^2/4n^2)) / (1 + z^2/n),    p = k/n

    Args:
        k: int, 0 to n. n: int >= 0. z: float; the default makes it a 95 % interval.
    Raises:
        ValueError: for k outside 0 to n.
    Source: Wilson 1927, Journal of the American Statistical Association 22.
    """
    n = whole("n", n, 0)
    k = whole("k", k, 0, n)
    if n == 0:
        return 0.0, 1.0
    p, z2 = k / n, z * z / n
    middle, half = p + z2 / 2, z * math.sqrt(p * (1 - p) / n + z2 / (4 * n))
    return (0.0 if k == 0 else (middle - half) / (1 + z2)), (1.0 if k == n else (middle + half) / (1 + z2))


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
        self.rates = [(0, tuple(arm.lr or c.lr for arm in c.arms))]
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
        return lesson_start() if self.config.start == "lesson" else start(net, seed, arm.init_size or self.config.init_size)

    def _given(self) -> tuple[Tensor, Tensor]:
        # Tenths, rounded again in the dtype of the work: float32's 0.1 is not float64's.
        X, *_, target, _ = cat_sat()
        given = (x.to(self._dtype).mul(10).round().div(10) for x in (X, target))
        X, target = given
        return X, target if self.config.target is None else torch.tensor(self.config.target, dtype=self._dtype)

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


def positive(name: str, value: float) -> None:
    """Raise a ValueError unless `value` is a finite number > 0."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 < value < math.inf:
        raise ValueError(f"{name} must be a finite number > 0; got {value!r}")


def score_factor(d_k: int, tau: float = 1.0, scale: bool | float = True) -> float:
    """Return 1 / (divisor * tau), what the scores are multiplied by.

    Args:
        d_k: int >= 1. tau: float > 0, finite.
        scale: True for sqrt(d_k), False for 1, or a number > 0 that is the divisor.
    Raises:
        ValueError: for a tau or scale that is not positive.
    """
    if isinstance(scale, bool):
        scale = math.sqrt(d_k) if scale else 1.0
    positive("tau", tau)
    positive("scale", scale)
    return 1.0 / (scale * tau)


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
