"""Play, pause, step and reset for something that trains: slices of work on the browser's ticks, no threads.

A Player lives in its viewer's session and nobody else's. Ticks come from the browser (a fragment with `run_every`), so
leaving the page, closing the tab or losing the connection ends the work by itself. Every tick computes for a slice that
is shared fairly with the other viewers, and what a step computes does not depend on how steps fall into slices.
"""

from __future__ import annotations

import math
import os
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import streamlit as st

from qkv_core.text import player as words
from qkv_core.ui import state
from qkv_core.ui.controls import say
from qkv_core.ui.queue import Rooms, Sharing

TICKS = {2: 0.2, 4: 0.4, 8: 0.8, 14: 1.2, math.inf: 2.0}
"""Up to how many training viewers -> seconds between two ticks of each: every tick draws, and all share two cores with those
who read. Faster ones than the first deliver clicks twice."""
STAY = 3.0
"""Seconds that an interval stays at least: to change it the page is drawn whole."""
BUDGET = 0.08
"""Seconds that a tick computes at most, so that a button is answered at once."""
GAP = 10.0
"""Seconds without a tick after which the viewer was away."""
IDLE = 600.0
"""Seconds without a touch after which a training pauses."""
TWICE = 0.08
"""Seconds within which a second press of the step button is the same press delivered twice."""

ROOMS = Rooms(most=int(os.environ.get("QKV_MAX_TRAININGS", "24")), idle=120.0)
SHARING = Sharing(gone=2.5 * TICKS[math.inf])


def interval(viewers: int) -> float:
    """Seconds between two ticks where so many train."""
    return next(seconds for most, seconds in TICKS.items() if viewers <= most)


Rates = tuple[float, ...]


class Player:
    """One viewer's training, which may be running.

    Attributes:
        trainer: what trains (step, max_steps, rates, advance, advance_for, set_lr), or None before the first step.
        running: whether ticks train. look: the past step that is shown, or None for the present.
        place: the place in line, 0 when there is no need to wait. told: why it stands still, a key of words.TOLD or "".
        drawn_at: the step at which the control that looks back was drawn. elapsed: seconds spent running. kept, memo: whatever the page wants to remember about the trainer.
    """

    def __init__(self) -> None:
        self.make: Callable[[], Any] | None = None
        self.until, self.speed = 500, 0
        self._moves = state.moves()
        self._touched = self._last = self._stepped = self._paced = 0.0
        self.interval = interval(1)
        self._clear()

    def _clear(self) -> None:
        self.trainer = self.kept = self.memo = None
        self.running, self.look, self.place, self.told = False, None, 0, ""
        self.elapsed, self.lost, self.goal, self.drawn_at = 0.0, 0, 0, 0
        self.plan: tuple[tuple[int, Rates], ...] = ()
        self._due, self._trail = 0.0, deque[tuple[float, int]](maxlen=16)

    # what the buttons do: each sets, none flips

    def play(self) -> None:
        now = time.monotonic()
        self.running, self.look, self.told, self._last, self._touched = True, None, "", now, now
        self.goal = self.next_goal()
        self._trail.clear()

    def pause(self) -> None:
        self.running, self.place = False, 0
        SHARING.leave(self)

    def step_once(self) -> None:
        now = time.monotonic()
        if now - self._stepped < TWICE:
            return
        self.pause()
        self._stepped, self.look, self.told = now, None, ""
        if self._ready():
            with SHARING.slice_(self, self.interval, BUDGET):
                self._advance(self.trainer, math.inf, 1)
        SHARING.leave(self)

    def reset(self) -> None:
        self.pause()
        ROOMS.leave(self)
        self._clear()

    def see(self, step: int | None) -> None:
        """Looks back to a step; training stands still meanwhile."""
        if step == self.seen:
            return
        self.pause()
        self.look = None if step is None or step >= self.step else step
        self.told = ""

    # what the page asks

    @property
    def step(self) -> int:
        trainer = self.trainer  # a reset may come from another thread at any time
        return trainer.step if trainer else 0

    @property
    def seen(self) -> int:
        """The step that is shown."""
        return self.step if self.look is None else min(self.look, self.step)

    def every(self) -> float | None:
        """The interval of the page's ticks from this drawing of it on: none while nothing runs."""
        if not self.running:
            return None
        self.interval, self._paced = interval(SHARING.count()), time.monotonic()
        return self.interval

    def next_goal(self) -> int:
        """The step at which a press of Play will pause."""
        last = self.trainer.max_steps if self.trainer else self.until
        return min(last, self.until * (self.step // self.until + 1))

    @property
    def end(self) -> int:
        """The last step of the pictures' axis: it moves only when a run goes on beyond it."""
        return self.goal if self.goal >= self.step and self.goal else self.next_goal()

    def pace(self) -> float:
        """Steps a second over the last few seconds, waiting included, or over the whole where it stands; NaN if unknown."""
        if not self.running:
            return self.step / self.elapsed if self.elapsed else math.nan
        if len(self._trail) < 2:
            return math.nan
        (begun, first), (ended, last) = self._trail[0], self._trail[-1]
        return (last - first) / (ended - begun) if ended > begun else math.nan

    def touch(self) -> None:
        """Called by a whole run of the page: a viewer is there. One who was on another page finds the run standing."""
        self._touched = time.monotonic()
        if self._moves != state.moves():
            self._moves = state.moves()
            self.pause()
            if self.trainer is not None and self.step:
                self.told = "away"

    def put_away(self) -> None:
        """Frees the training, since another viewer needs its place."""
        step = self.step
        self._clear()
        self.told, self.lost = "put_away", step

    def set_rates(self, rates: Rates) -> None:
        """Gives each arm its learning rate from here on."""
        if self.trainer is None:
            return
        for arm, (mine, wanted) in enumerate(zip(self.trainer.rates[-1][1], rates, strict=True)):
            if mine != wanted:
                self.trainer.set_lr(wanted, arm)

    # what a tick does

    def tick(self) -> bool:
        """Trains for a slice if it should. True when the whole page should be drawn: at a halt, or to tick at another interval."""
        now = time.monotonic()
        gap, self._last = now - self._last, now
        if not self.running:
            return False
        if gap > GAP:
            return self._halt("gap")
        if now - self._touched > IDLE:
            return self._halt("idle")
        if not self._ready():
            return self._crowd_changed(now)
        trainer = self.trainer
        self.elapsed += gap
        self._due = min(self._due + self.speed * gap, self.speed)
        most = self.goal - self.step if not self.speed else min(int(self._due), self.goal - self.step)
        self._due -= most if self.speed else 0
        if most > 0:
            with SHARING.slice_(self, self.interval, BUDGET) as budget:
                before = trainer.step
                self._advance(trainer, budget, most)
            if self.trainer is not trainer:
                return False  # reset, or another begun, while this tick waited for its turn or computed
            self._due += most - (self.step - before) if self.speed else 0
        self._trail.append((time.monotonic(), self.step))
        if self.step >= trainer.max_steps:
            return self._halt("full")
        if self.step >= self.goal:
            return self._halt("done")
        return self._crowd_changed(now)

    def _crowd_changed(self, now: float) -> bool:
        return now - self._paced > STAY and self.interval != interval(SHARING.count())

    def _ready(self) -> bool:
        """Is there a trainer, or a place for one?"""
        self.place = ROOMS.ask(self)
        if self.place == 0 and self.trainer is None:
            self.trainer = self.make()
            self.told, self.goal = "", self.goal or self.next_goal()
        return self.place == 0

    def _advance(self, trainer: Any, seconds: float, most: int) -> None:
        """At most `most` steps in about `seconds`, at least one; planned changes of the rates come exactly on time.

        Stops when `trainer` is no longer this player's: whoever pressed Reset did so on another thread.
        """
        begun, last = time.perf_counter(), min(trainer.step + most, trainer.max_steps)
        while trainer.step < last and self.trainer is trainer:
            while self.plan and self.plan[0][0] <= trainer.step:
                (_, rates), *rest = self.plan
                self.plan = tuple(rest)
                self.set_rates(rates)
            until = min([last, *(at for at, _ in self.plan[:1])])
            left = seconds - (time.perf_counter() - begun)
            if left <= 0:
                return
            if math.isinf(left):
                trainer.advance(until - trainer.step)
            else:
                trainer.advance_for(left, until - trainer.step)

    def _halt(self, why: str) -> bool:
        self.pause()
        self.told = why
        return True


def of(page: str) -> Player:
    """The player of a page, in the viewer's own session."""
    return st.session_state.setdefault(f"_player_{page}", Player())


def buttons(player: Player, key: str, blocked: bool = False) -> None:
    """Play or pause, one step, start over. They stand outside the part of the page that ticks, so no click is lost.

    blocked: nothing may go on, since what is on screen is no longer what would be trained.
    """
    full = player.trainer is not None and player.step >= player.trainer.max_steps
    if player.running:
        st.button(
            say(words.PAUSE), key=f"{key}_pause", icon=":material/pause:", shortcut="P", help=say(words.PAUSE_HELP),
            on_click=player.pause, width=130,
        )  # fmt: skip
    else:
        st.button(
            say(words.PLAY), key=f"{key}_play", icon=":material/play_arrow:", shortcut="P",
            help=say(words.PLAY_HELP, goal=player.next_goal()), on_click=player.play, disabled=blocked or full, width=130,
        )  # fmt: skip
    st.button(
        say(words.STEP), key=f"{key}_step", icon=":material/skip_next:", shortcut="S", help=say(words.STEP_HELP),
        on_click=player.step_once, disabled=blocked or full, width=150,
    )  # fmt: skip
    st.button(
        say(words.RESET), key=f"{key}_reset", icon=":material/replay:", shortcut="N", help=say(words.RESET_HELP),
        on_click=player.reset, disabled=player.trainer is None and not player.running, width=205,
    )  # fmt: skip


def standing(player: Player) -> str:
    """Why the training waits or stands still, or how many share the machine; "" when there is nothing to say."""
    if player.place:
        return say(words.IN_LINE, most=ROOMS.most, place=player.place)
    if player.told:
        return say(words.TOLD[player.told], step=player.lost or player.step, minutes=IDLE / 60)
    if player.running and (n := SHARING.count()) > 1:
        return say(words.SHARED, n=n, every=player.interval)
    return ""
