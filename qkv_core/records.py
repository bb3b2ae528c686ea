"""What a training leaves behind: a record a step, counts with their intervals, one run at one moment, and notices."""
import math
from dataclasses import dataclass

import torch
from torch import Tensor

from qkv_core.lockstep import MEASURES
from qkv_core.masks import whole

SOLVED_LOSS = 1e-3
"""The cat sat is solved when the mean squared error is below this."""

SOLVED_ACCURACY, SOLVED_STEPS = 0.95, 8
"""Any other task is solved when this share is right over this many batches in a row, all of new examples."""

HISTORY_BYTES = 128 * 2 ** 20
"""Most that the records of one training may take."""


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
        wilson = {k: wilson_interval(k, S) for k in set(counts)}
        intervals = [wilson[k] for k in counts]
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


class History:
    """Every record of every step, and when each run was solved or lost; grows as needed, up to `max_steps`.

    Args:
        arms: tuple of str. seeds: tuple of int. by_loss: True where SOLVED_LOSS decides, as for the cat sat.
        dtype: torch.dtype of the records. max_steps: int; fewer where the whole would take more than HISTORY_BYTES.
    Attributes:
        solved_at, lost_at: int64 tensors (runs,), the step where it showed, -1 before that.
    """

    def __init__(self, arms: tuple[str, ...], seeds: tuple[int, ...], by_loss: bool, dtype: torch.dtype,
                 max_steps: int):
        self.arms, self.seeds, self.by_loss = arms, seeds, by_loss
        runs = len(arms) * len(seeds)
        self.max_steps = min(max_steps, HISTORY_BYTES // (runs * len(MEASURES) * dtype.itemsize))
        self.steps, self._rows = 0, torch.zeros(0, len(MEASURES), runs, dtype=dtype)
        self.solved_at, self.lost_at = (torch.full((runs,), -1) for _ in range(2))

    @property
    def rows(self) -> Tensor:
        """The records so far, (steps, measures, runs); a view."""
        return self._rows[:self.steps]

    def append(self, rows: Tensor) -> None:
        """Take over the records (n, measures, runs) of the next n steps."""
        begin, end = self.steps, self.steps + len(rows)
        if end > len(self._rows):
            room = min(max(2 * len(self._rows), end, 64), max(self.max_steps, end))
            self._rows = torch.cat((self._rows, self._rows.new_zeros(room - len(self._rows), *rows.shape[1:])))
        self._rows[begin:end], self.steps = rows, end
        _first(self.solved_at, self._met(begin), begin)
        _first(self.lost_at, ~torch.isfinite(rows[:, :MEASURES.index("accuracy")]).all(1), begin)

    def _met(self, begin: int) -> Tensor:
        if self.by_loss:
            return self.rows[begin:, MEASURES.index("loss")] < SOLVED_LOSS
        # Reach back, so that the first of the new steps has its full number of batches.
        right = self.rows[max(0, begin - SOLVED_STEPS + 1):, MEASURES.index("accuracy")]
        met = torch.zeros(self.steps - begin, right.shape[1], dtype=torch.bool)
        if len(right) >= SOLVED_STEPS:
            full = right.unfold(0, SOLVED_STEPS, 1).mean(-1) >= SOLVED_ACCURACY
            met[-len(full):] = full
        return met

    def records(self, first: int = 0, last: int | None = None) -> Records:
        """Return the Records of steps first to last - 1; views of the history, not to be written to."""
        rows = self.rows[first:last]
        step = torch.arange(first, first + len(rows))
        shape = (-1, len(self.arms), len(self.seeds))
        solved = (self.solved_at >= 0) & (self.solved_at <= step[:, None])
        return Records(step, *(rows[:, i].reshape(shape) for i in range(len(MEASURES))), solved.reshape(shape),
                       self.arms, self.seeds)

    def counts(self) -> tuple[ArmCount, ...]:
        """Return, for each arm, how many runs are solved and how many diverged so far."""
        n, counts = len(self.seeds), []
        for arm, solved, lost in zip(self.arms, self.solved_at.view(-1, n), self.lost_at.view(-1, n)):
            done = solved[solved >= 0]
            first = done.double().quantile(0.5).item() if len(done) else None
            counts.append(ArmCount(arm, n, len(done), *wilson_interval(len(done), n), int((lost >= 0).sum()), first))
        return tuple(counts)

    def diverged(self) -> tuple[tuple[str, int, int], ...]:
        """Return (arm, seed, step) of every run that is no longer finite, and where that showed."""
        S = len(self.seeds)
        return tuple((self.arms[run // S], self.seeds[run % S], int(self.lost_at[run]))
                     for run in (self.lost_at >= 0).nonzero()[:, 0].tolist())

    def state(self) -> dict[str, Tensor]:
        """Return a copy of what there is."""
        return {"rows": self.rows.clone(), "solved_at": self.solved_at.clone(), "lost_at": self.lost_at.clone()}

    def load(self, state: dict[str, Tensor]) -> None:
        """Take over a state."""
        self._rows, self.steps = state["rows"].clone(), len(state["rows"])
        self.solved_at, self.lost_at = state["solved_at"].clone(), state["lost_at"].clone()


def _first(at: Tensor, happened: Tensor, begin: int) -> None:
    """Write the first step of `happened` (n, runs) into `at`, for the runs that have none yet."""
    new = (at < 0) & happened.any(0)
    at[new] = begin + happened.int().argmax(0)[new]
