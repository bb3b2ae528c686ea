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
