"""The training page's viewer: which experiment stands on the screen, which one the settings ask for, and how they meet.

A learning rate acts on the run at once. Any other setting makes another experiment; it begins when the viewer says so,
and until then the run on screen stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from qkv_core import settings
from qkv_core.plan import KEYS, LIVE, Plan, plan, rate_changes
from qkv_core.ui import controls, player, state
from qkv_core.ui.cached import training as cached

PAGE = "training"
PLANNED = len(settings.everything()["tr_rates"].default)
"""Changes of the learning rate that a link holds."""


@dataclass
class Kept:
    """What a trainer on screen was built from: its plan, and the settings that bring it back."""

    plan: Plan
    values: dict[str, Any]


@dataclass
class Scene:
    """What this run of the page is about."""

    player: player.Player
    wanted: Plan
    shown: Plan
    changed: bool

    @property
    def trainer(self) -> Any:
        return self.player.trainer

    @property
    def config(self) -> Any:
        return self.shown.config

    def records(self) -> Any:
        trainer = self.trainer
        return trainer.records() if trainer is not None and trainer.step else cached.first(self.config)


def values() -> dict[str, Any]:
    return {key: state.get(key) for key in KEYS}


def scene() -> Scene:
    """Settles the player for this run of the page."""
    mine = player.of(PAGE)
    mine.touch()
    wanted = plan(values())
    _pace(mine)
    if mine.trainer is None:
        mine.make = lambda: _build(mine, wanted)
        return Scene(mine, wanted, wanted, False)
    kept = mine.kept
    changed = kept.plan.same != wanted.same
    if not changed:
        _rates(mine, wanted)
    shown = kept.plan if changed else wanted
    return Scene(mine, wanted, shown, changed)


def _pace(mine: player.Player) -> None:
    """How far to play, and how fast."""
    mine.until, mine.speed = state.get("tr_until"), state.get("tr_speed")


def _build(mine: player.Player, wanted: Plan) -> Any:
    mine.kept = Kept(wanted, values())
    mine.plan = rate_changes(mine.kept.values, len(wanted.rates))
    return cached.build(wanted.config)


def _rates(mine: player.Player, wanted: Plan) -> None:
    """The rates of the sliders, unless a link's own changes are under way and nobody touched a slider."""
    touched = mine.kept.plan.rates != wanted.rates
    if state.get("tr_rates") != settings.everything()["tr_rates"].default:
        if not touched and mine.plan:
            return
        if not touched:  # the link's last change has come: the sliders now say what holds
            now = mine.trainer.rates[-1][1]
            moved = dict(zip(_sliders(wanted), now))
            state.settle(**moved, tr_rates=settings.everything()["tr_rates"].default)
            mine.kept = Kept(plan(values()), mine.kept.values)
            return
        mine.plan = ()
        state.settle(tr_rates=settings.everything()["tr_rates"].default)
    mine.set_rates(wanted.rates)
    if touched:
        mine.kept = Kept(wanted, mine.kept.values)


def _sliders(shown: Plan) -> tuple[str, ...]:
    """The setting of each arm's rate."""
    second = "tr_b_lr" if shown.kind == "lr" else "tr_lr"
    return ("tr_lr", second, "tr_c_lr")[: len(shown.rates)]


def start() -> None:
    """Drops the run on screen and begins the one that the settings ask for."""
    mine = player.of(PAGE)
    mine.reset()
    _pace(mine)  # play sets its goal now; the next run of the page is too late
    mine.play()


def keep() -> None:
    """Brings the settings of the run on screen back; the rates stay as they are now."""
    kept = player.of(PAGE).kept
    state.put(**{key: value for key, value in kept.values.items() if key not in LIVE})


def preset(**given: Any) -> None:
    """Sets the page and begins at once."""
    state.put(**given)
    start()


def take_task() -> None:
    """A new task brings the rate and the optimizer that suit it."""
    lr, optimizer = cached.own_rate(state.get("tr_task"))
    state.put(tr_lr=lr, tr_opt=optimizer)


def see(step: int, drawn_at: int) -> None:
    """Looks back to a step. What a browser still sends of a control that has been replaced, drawn at another step, is nothing."""
    if player.of(PAGE).drawn_at == drawn_at:
        player.of(PAGE).see(step)


def link(scene_: Scene) -> tuple[str, int]:
    """The address that replays the run up to its present step, and how often its rates were changed."""
    trainer, shown = scene_.trainer, scene_.shown
    (_, begun), *changes = trainer.rates
    rows = [(at, *rates, *(0,) * (3 - len(rates))) for at, rates in changes]
    if len(rows) > PLANNED:
        begun, rows = trainer.rates[-1][1], []
    rows += [(0, 0, 0, 0)] * (PLANNED - len(rows))
    moved = dict(zip(_sliders(shown), begun))
    base = {**{key: value for key, value in scene_.player.kept.values.items() if key not in LIVE}, **moved}
    until = max(1, trainer.step)
    return controls.link(PAGE, **base, tr_until=until, tr_rates=tuple(map(tuple, rows))), len(changes)
