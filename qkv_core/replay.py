"""Looking back: the weights that one run had at any step, and what it saw and answered with them."""
from dataclasses import replace

import torch
from torch import Tensor

from qkv_core.experiment import CAT_SAT, Config
from qkv_core.lockstep import MEASURES, build, given
from qkv_core.nets import accuracy, forward, inputs, losses
from qkv_core.records import Moment
from qkv_core.tasks import BLOCK, batches, words
from qkv_core.triad import cat_sat

Rates = list[tuple[int, tuple[float, ...]]]


class Replay:
    """One run of an experiment, alone on the CPU, that can be taken forward to a step.

    Args:
        config: Config of the whole. arm, seed: int, places in it. step: int, where to begin.
        state: that run's state at that step, from a snapshot; None to begin at the start.
    """

    def __init__(self, config: Config, arm: int, seed: int, step: int = 0, state: dict[str, Tensor] | None = None):
        self.arm, self.step = arm, step
        self._alone = build(replace(config, arms=(config.arms[arm],), seeds=(config.seeds[seed],)), torch.device("cpu"))
        if state is not None:
            self._alone.load([state])

    @property
    def theta(self) -> Tensor:
        """The weights (P,) at the present step; a view."""
        return self._alone.groups[0].theta[0].detach()

    def to(self, step: int, rates: Rates) -> Tensor:
        """Train up to `step` with the rates of the experiment; return the losses on the way, (n,)."""
        changes, rows = [at for at, _ in rates], [torch.zeros(0, len(MEASURES), 1, dtype=self.theta.dtype)]
        while self.step < step:
            self._alone.set_rates((next(rate for at, rate in reversed(rates) if at <= self.step)[self.arm],))
            block = self.step - self.step % BLOCK + BLOCK
            until = min([step, block, *(at for at in changes if at > self.step)])
            rows.append(self._alone.run(self.step, until - self.step))
            self.step = until
        return torch.cat(rows)[:, MEASURES.index("loss"), 0]


def read(config: Config, seed: int, example: int, dtype: torch.dtype = torch.float32) \
        -> tuple[Tensor, Tensor, tuple[str, ...]]:
    """Return an example that is never trained on, as a net reads it.

    Args:
        config: Config. seed: int, place in config.seeds. example: int >= 0; the same number is the same example at every
            step and for every arm. The cat sat has one.
    Returns:
        x: tensor (1, T, symbols + T) of one-hot symbols and places; for the cat sat the tokens X (1, 3, 4).
        target: int64 tensor (1, answers), what should be answered; for the cat sat (3, 4).
        shown: tuple of T str, the tokens as written on screen.
    """
    if config.task == CAT_SAT:
        X, target = given(config)
        return X[None], target, cat_sat().tokens
    block = batches(config.task, config.seeds[seed], -1, config.batch)
    tokens, target = (part.flatten(0, 1)[example % (BLOCK * config.batch)][None] for part in block)
    return inputs(config.net(config.arms[0]), tokens[None], 1, dtype), target, words(config.task, tokens[0])


def on_the_subject(config: Config, arm: int, theta: Tensor, examples: int = 32) -> Tensor:
    """Return which share of its weight the answering row of each run gives to the tokens that hold the answer.

    Averaged over examples that are never trained on; in the last layer, and of several heads the one that gives most.

    Args:
        config: Config of a task with a subject. arm: int, place in it. theta: tensor (seeds, P) on the CPU.
    Returns:
        tensor (seeds,), 0 to 1.
    Raises:
        ValueError: for a task whose answer does not stand in the same places each time.
    """
    net, factor = config.net(config.arms[arm]), config.factor(config.arms[arm])
    if net.task is None or not net.task.subject:
        raise ValueError(f"task must be one whose answer stands in the same places; got {config.task!r}")
    tokens = [batches(config.task, seed, -1, config.batch)[0].flatten(0, 1)[:examples] for seed in config.seeds]
    x = inputs(net, torch.stack(tokens), 1, theta.dtype)
    with torch.no_grad():
        _, weights = forward(net, theta, theta.new_full((len(theta), 1, 1), factor), x, net.allowed())
    row = weights[-1][:, :, :, -1]                                                       # (seeds, examples, h, T)
    return row[..., list(net.task.subject)].sum(-1).amax(-1).mean(-1)


def look(config: Config, arm: int, seed: int, theta: Tensor, step: int, example: int, replayed: int = 0,
         difference: float = 0.0) -> Moment:
    """Return what a run with these weights sees and answers, on an example that is never trained on.

    Args:
        config: Config. arm, seed: int, places in it. theta: tensor (P,) on the CPU. example: int, as for `read`.
        step, replayed, difference: for the Moment.
    """
    net, factor = config.net(config.arms[arm]), config.factor(config.arms[arm])
    x, target, shown = read(config, seed, example, theta.dtype)
    with torch.no_grad():
        answer, weights = forward(net, theta[None], theta.new_full((1, 1, 1), factor), x, net.allowed(), every_row=True)
        loss, right = (float(measure(net, answer, target if net.task is None else target[None]))
                       for measure in (losses, accuracy))
    maps = tuple(a[0, 0] for a in weights)
    common = step, config.arms[arm].name, config.seeds[seed], shown, maps, net.answers
    if net.task is None:
        return Moment(*common, answer[0, 0], target, (), (), loss, right, replayed, difference)
    said, wanted = (tuple(net.task.vocabulary[i] for i in ids.tolist()) for ids in (answer[0, 0].argmax(-1), target[0]))
    return Moment(*common, torch.softmax(answer[0, 0], -1), None, said, wanted, loss, right, replayed, difference)
