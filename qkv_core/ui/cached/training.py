"""What the training page asks of the engine: an experiment from the settings, its first look, lines to draw, files, checks."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import lru_cache

import numpy as np
import pyarrow
import streamlit as st
import torch

from qkv_core.nets import FROZEN
from qkv_core.experiment import Config, score_factor
from qkv_core.records import ArmCount, Moment, Records, wilson_interval
from qkv_core.replay import Replay, look, on_the_subject
from qkv_core.tasks import TASKS
from qkv_core.training import Trainer, gradient_step
from qkv_core.triad import cat_sat
from qkv_core.ui.player import Player
from qkv_core.ui.queue import heavy

EXAMPLES = 32
POINTS, FEW = 300, 100
"""Steps that the large chart and a small one draw at most."""
LARGE = 1e4
"""A loss above this is on its way to infinity and would flatten the picture; it is counted instead of drawn."""
CSV_ROWS = 300_000
READABLE = 0.9
"""The share of its row from which a map is said to point to the subject."""


def own_rate(task: str) -> tuple[float, str]:
    """The learning rate and optimizer that a task asks for."""
    made = Config(task)
    return made.lr, made.optimizer


def build(config: Config) -> Trainer:
    return Trainer.from_config(config)


# what there is to see


@st.cache_resource(show_spinner=False, max_entries=64)
def first(config: Config) -> Records:
    """The records of step 0, before anything is trained; shared by all viewers."""
    return Trainer.from_config(replace(config, device="cpu")).advance(1)


@st.cache_resource(show_spinner=False, max_entries=256)
def untrained(config: Config, arm: int, seed: int, example: int) -> Moment:
    """What one run answers before anything is trained."""
    return look(config, arm, seed, Replay(config, arm, seed).theta, 0, example)


def moment(trainer: Trainer | None, config: Config, arm: int, seed: int, example: int, step: int) -> Moment:
    """What one run answers at a step."""
    if trainer is None:
        return untrained(config, arm, seed, example)
    return trainer.at(step, arm, seed, example)


def lines(summary, measure: str, log: bool, points: int = POINTS) -> tuple[pyarrow.Table, int]:
    """What a chart draws of one measure: a table of step, arm, value, low, high, last; and how many values it leaves out.

    Seven of them are drawn at each tick, so it is made and sent without pandas, in an eighth of the time.
    """
    names = {"step": "step", "arm": "arm", "value": measure, "low": f"{measure}_low", "high": f"{measure}_high"}
    columns = {name: summary[of].to_numpy() for name, of in names.items()}
    arms = list(dict.fromkeys(columns["arm"]))
    place = np.arange(len(summary)) // len(arms)
    every = math.ceil(len(summary) / len(arms) / points)
    thinned = (place % every == 0) | (place == place[-1])
    good = ~np.isnan(columns["value"]) & (columns["high"] <= LARGE)
    if log:
        good &= columns["low"] > 0
    kept = {name: column[thinned & good] for name, column in columns.items()}
    last = np.zeros(len(kept["step"]), dtype=bool)
    for arm in arms:
        last[np.flatnonzero(kept["arm"] == arm)[-1:]] = True
    return pyarrow.table({**kept, "last": last}), int((thinned & ~good).sum())


def readable(trainer: Trainer | None) -> tuple[tuple[int, int], ...]:
    """(runs whose map points to the subject, runs) of the solved ones of each arm; () where the task has no subject."""
    if trainer is None or not trainer.step or not getattr(TASKS.get(trainer.config.task), "subject", ()):
        return ()
    solved = trainer.records(trainer.step - 1).solved[0]                                 # (arms, seeds)
    shares = [on_the_subject(trainer.config, arm, trainer.weights_now(arm), EXAMPLES) for arm in range(len(solved))]
    return tuple((int((share[right] >= READABLE).sum()), int(right.sum())) for share, right in zip(shares, solved))


def average_gradient(records: Records, arm: int) -> float:
    """The gradient norm of W_q, averaged over all steps and runs where it is finite."""
    values = records.norm_q[:, arm]
    return values[torch.isfinite(values)].double().mean().item()


def decided(weights: torch.Tensor) -> float:
    """The share of rows of a layer (h, T, T) with a weight above .99."""
    return (weights.amax(-1) > FROZEN).double().mean().item()


def stops(step: int, most: int = 1000) -> list[int]:
    """The steps to look back to: 0, the present one, and at most `most` between."""
    every = max(1, math.ceil(step / most))
    return [*range(0, step, every), step] if step else [0, 1]


def summary(player: Player, config: Config, records: Records):
    """What there is to draw, made once for each step of a viewer's run."""
    key = (config, len(records), player.step)
    if player.memo is None or player.memo[0] != key:
        player.memo = key, records.summary(POINTS)
    return player.memo[1]


def now(frame, measure: str) -> list[float]:
    """The last value of each arm."""
    return frame[measure].to_numpy()[-len(set(frame["arm"].tolist())) :].tolist()


def counts(trainer: Trainer | None, config: Config) -> tuple[ArmCount, ...]:
    """How many runs of each arm are solved; none before anything is trained."""
    if trainer is not None:
        return trainer.counts()
    n = len(config.seeds)
    return tuple(ArmCount(arm.name, n, 0, *wilson_interval(0, n), 0, None) for arm in config.arms)


def table(frame, names: tuple[str, ...], config: Config):
    """The data behind the pictures, with the arms as they are called."""
    called = dict(zip((arm.name for arm in config.arms), names))
    return frame.assign(arm_name=frame["arm"].map(called))


# files


def in_turn(make: Callable[[Trainer], bytes], trainer: Trainer) -> bytes:
    """A file of a training, made while no slice is trained."""
    with heavy():
        return make(trainer)


def history(trainer: Trainer) -> bytes:
    """The history as CSV; every n-th step where the whole would be too large to open."""
    records = trainer.records()
    runs = len(records.arms) * len(records.seeds)
    every = max(1, math.ceil(len(records) * runs / CSV_ROWS))
    parts = {name: getattr(records, name)[::every] for name in Records.__dataclass_fields__ if name not in ("arms", "seeds")}
    return Records(**parts, arms=records.arms, seeds=records.seeds).frame().to_csv(index=False).encode()


def matrices(trainer: Trainer) -> dict[str, dict[str, torch.Tensor]]:
    """The weights of every arm by name, each (seeds, rows, columns)."""
    config, out = trainer.config, {}
    groups = trainer.state_dict()["groups"]
    S = len(config.seeds)
    for group, state in zip(trainer._lockstep.groups, groups, strict=True):
        for name, matrix in group.net.unpack(state["theta"]).items():
            for i in range(0, len(group.runs), S):
                arm = out.setdefault(config.arms[group.runs[i] // S].name, {})
                mine = matrix[i : i + S].clone()
                if not name.startswith("W_qkv"):
                    arm[name] = mine
                    continue
                for part, piece in zip("qkv", mine.split(group.net.columns, -1), strict=True):
                    arm[f"W_{part}{name.removeprefix('W_qkv')}"] = piece.clone()
    return out


def weights_file(trainer: Trainer) -> bytes:
    """The weights as torch.load(..., weights_only=True) reads them, with the settings, the seeds and the step."""
    config = {name: value for name, value in asdict(trainer.config).items() if name not in ("seeds", "arms")}
    arms = [asdict(arm) for arm in trainer.config.arms]
    out = io.BytesIO()
    torch.save(
        {
            "step": trainer.step, "config": config, "arms": arms, "seeds": list(trainer.config.seeds),
            "rates": [[at, list(rates)] for at, rates in trainer.rates], "weights": matrices(trainer),
        },
        out,
    )  # fmt: skip
    return out.getvalue()


# checks


@dataclass(frozen=True)
class Checks:
    """Differences: a run alone to the same run among the others, row sums to 1, the gradient written out to autograd."""

    alone: float
    tolerance: float
    sums: float
    gradient: float


def checks(trainer: Trainer | None, config: Config, run: int, step: int, d_k: int, tau: float) -> Checks:
    """alone and sums are those of the run on screen, replayed from the last snapshot."""
    arms = range(len(config.arms))
    if trainer is None:
        seen = [untrained(config, arm, run, 0) for arm in arms]
    else:
        back = step if step < trainer.step else max(0, step - 1)
        seen = [trainer.at(back, arm, run) for arm in arms]
    allowed = [torch.cat([w.sum(-1).flatten() for w in m.weights]) for m in seen]
    sums = max(torch.minimum((s - 1).abs(), s.abs()).max().item() for s in allowed)
    tolerance = 1e-5 if trainer is None or trainer.device.type == "cpu" else 1e-3
    return Checks(max(m.difference for m in seen), tolerance, sums, written_out(d_k, tau, config.seeds[run]))


@lru_cache(maxsize=256)
def written_out(d_k: int, tau: float, seed: int) -> float:
    """The largest difference of the lesson's gradient step to autograd, relative to the largest gradient, in float64."""
    X, *_, target, _ = cat_sat()
    X, target, worst = X.double(), target.double(), 0.0
    for scale in (True, False):
        g = torch.Generator().manual_seed(seed)
        W = [(torch.randn(4, n, generator=g, dtype=torch.float64) / 2).requires_grad_() for n in (d_k, d_k, 4)]
        weights = torch.softmax((X @ W[0]) @ (X @ W[1]).T * score_factor(d_k, tau, scale), -1)
        gradients = torch.autograd.grad((weights @ (X @ W[2]) - target).square().mean(), W)
        largest = max(g.abs().max().item() for g in gradients)
        stepped, *_ = gradient_step(*(w.detach() for w in W), X, target, 1 / largest, tau, scale)
        for w, gradient, after in zip(W, gradients, stepped, strict=True):
            worst = max(worst, (w.detach() - after - gradient / largest).abs().max().item())
    return worst


CODE = (gradient_step, Trainer.advance)
