"""The experiment that the settings of the training page ask for, and what had to give way in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from qkv_core import device as devices
from qkv_core import settings
from qkv_core.attention import nearest_heads
from qkv_core.experiment import CAT_SAT, Arm, Config, own
from qkv_core.tasks import TASKS

FIRST, SECOND, THIRD = "first", "second", "third"
"""The arms: as the settings have it, with one thing different, and that with the class's own rate."""

MOST_D_K = 256
HISTORY = 36 * 2**20
"""Bytes that the records of one training on this page may take."""
MOST_SEEDS = {CAT_SAT: 256, "reverse": 64, "key_value": 64, "look_up": 32, "agreement": 64}
"""Seeds that one CPU core takes through a step within a tick, at d_k = 64."""

KEYS = tuple(s.key for s in settings.PAGES["training"]) + ("d_k", "tau", "mask", "scale", "seed", "device")
LIVE = ("tr_lr", "tr_b_lr", "tr_c_lr", "tr_speed", "tr_until", "tr_log", "tr_run", "tr_ex", "tr_head", "tr_rates")
"""Settings that act on the run on screen. Any other one makes another experiment."""


@dataclass(frozen=True)
class Note:
    """A setting that can't hold beside the others: which, what was asked, what is used."""

    code: str
    asked: Any = 0
    used: Any = 0


@dataclass(frozen=True)
class Plan:
    """An experiment: config, what had to give way, what its arms differ in, and what tells it from another."""

    config: Config
    notes: tuple[Note, ...]
    kind: str
    values: tuple[Any, ...]
    """What each arm has of that kind."""

    @property
    def rates(self) -> tuple[float, ...]:
        return tuple(own(arm.lr, self.config.lr) for arm in self.config.arms)

    @property
    def same(self) -> Config:
        """The config with its rates left out: a rate changes a run and does not begin another."""
        arms = tuple(replace(arm, lr=None) for arm in self.config.arms)
        return replace(self.config, lr=1.0, arms=arms)


def plan(values: Mapping[str, Any]) -> Plan:
    """The experiment of the settings in `values` (all of KEYS)."""
    return _plan(tuple(values[key] for key in KEYS), devices.resolve(values["device"]).type)


@lru_cache(maxsize=256)
def _plan(given: tuple[Any, ...], device: str) -> Plan:
    v, notes = dict(zip(KEYS, given)), list[Note]()
    task = v["tr_task"]
    plain = task == CAT_SAT

    def within(code: str, asked: Any, used: Any) -> Any:
        if asked != used:
            notes.append(Note(code, asked, used))
        return used

    def heads(asked: int) -> int:
        C = 4 if plain else TASKS[task].width
        return within("heads", asked, asked if C % asked == 0 else min(nearest_heads(C, asked), key=lambda h: abs(h - asked)))

    kind = v["tr_kind"]
    if kind == "layers" and plain:
        kind = within("layers", "layers", "scale")
    d_k, h = within("d_k", v["d_k"], min(v["d_k"], MOST_D_K)), heads(v["tr_heads"])
    layers = None if plain or not v["tr_layers"] else v["tr_layers"]
    lesson = v["tr_start"] == "lesson"
    if lesson and (not plain or d_k != 4 or h != 1 or kind == "heads"):
        lesson = within("lesson", True, False)
    most = 1 if lesson else MOST_SEEDS[task] if device == "cpu" else 256
    if not lesson and device == "cpu":
        most = max(4, most * 64 // max(64, d_k * h))
        most = max(s for s in settings.everything()["tr_seeds"].choices if s <= most)
    seeds = within("alone" if lesson else "seeds", v["tr_seeds"], min(v["tr_seeds"], most))
    first = {"scale": v["scale"], "lr": v["tr_lr"], "tau": v["tau"], "heads": h, "init": v["tr_init"], "layers": layers or _layers(task)}
    other = {**first, kind: heads(v["tr_b_heads"]) if kind == "heads" else v[f"tr_b_{kind}"]}
    if first[kind] == other[kind]:
        notes.append(Note("alike"))
    difference = {"scale": "scale", "lr": "lr", "tau": "tau", "heads": "heads", "init": "init_size", "layers": "layers"}[kind]
    second = Arm(SECOND, **{"scale": v["scale"], difference: other[kind]})
    arms = [Arm(FIRST, v["scale"]), second]
    if v["tr_beat"]:
        arms.append(replace(second, name=THIRD, lr=v["tr_c_lr"]))
    edited = v["tr_target"] != settings.everything()["tr_target"].default
    size = 4 * 7 * len(arms) * seeds
    config = Config(
        task, d_k, h, layers, v["tr_lr"], v["tr_opt"], tuple(arms), tuple(range(v["seed"], v["seed"] + seeds)), v["device"],
        tau=v["tau"], mask=v["mask"], init_size=v["tr_init"], start="lesson" if lesson else "random",
        target=tuple(tuple(map(float, row)) for row in v["tr_target"]) if plain and edited else None,
        max_steps=min(20_000, HISTORY // size),
    )  # fmt: skip
    return Plan(config, tuple(notes), kind, (first[kind], other[kind], other[kind])[: len(arms)])


def _layers(task: str) -> int:
    return 1 if task == CAT_SAT else TASKS[task].layers


def rate_changes(values: Mapping[str, Any], arms: int) -> tuple[tuple[int, tuple[float, ...]], ...]:
    """(step, rate of each arm) for each change of the learning rate that a link plans, in their order."""
    near = settings.everything()["tr_lr"].parse
    planned = [(int(at), tuple(near(f"{rate:.6g}") for rate in rates[:arms])) for at, *rates in values["tr_rates"] if at > 0]
    return tuple(sorted(planned))
