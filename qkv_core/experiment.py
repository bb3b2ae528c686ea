"""What an experiment is: two or more arms that differ in one thing, and all that decides the numbers they will give."""
import math
import numbers
from dataclasses import dataclass

from qkv_core.attention import SCALES, divisor
from qkv_core.masks import MASKS, whole
from qkv_core.nets import Net
from qkv_core.tasks import TASKS, task

CAT_SAT = "cat_sat"
TASK_KEYS = (CAT_SAT, *TASKS)
OPTIMIZERS = ("sgd", "adam")


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
        filled = {"layers": own(self.layers, made.layers if made else 1), "lr": own(self.lr, made.lr if made else 0.7),
                  "optimizer": own(self.optimizer, "adam" if made else "sgd"), "arms": tuple(self.arms),
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
            positive("lr", own(arm.lr, self.lr))
            positive("init_size", own(arm.init_size, self.init_size))

    def net(self, arm: Arm) -> Net:
        """Return the sizes of an arm's net."""
        learned = None if self.task == CAT_SAT else task(self.task)
        return Net(learned, own(arm.d_k, self.d_k), own(arm.heads, self.heads), own(arm.layers, self.layers), self.mask)

    def factor(self, arm: Arm) -> float:
        """Return what an arm multiplies its scores by, 1 / (divisor * tau)."""
        net, scale = self.net(arm), arm.scale
        if isinstance(scale, str):
            scale = divisor(scale, net.d_k, net.heads * net.d_k)
        return score_factor(net.d_k, own(arm.tau, self.tau), scale)


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


def positive(name: str, value: float) -> None:
    """Raise a ValueError unless `value` is a finite number > 0."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not 0 < value < math.inf:
        raise ValueError(f"{name} must be a finite number > 0; got {value!r}")


def own(value, otherwise):
    """Return `value`, or what stands in for None."""
    return otherwise if value is None else value
