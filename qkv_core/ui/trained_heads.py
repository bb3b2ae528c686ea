"""The nets that this viewer trained on the training page, as the heads page reads them: one run at one step, kept still.

They live in the viewer's session. Nothing trains while the heads page is on the screen, and what it shows is a copy of the
weights, so all of its numbers belong to one step.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import streamlit as st

from qkv_core.text import training as words
from qkv_core.ui import experiment, own, player, state

if TYPE_CHECKING:
    from qkv_core.plan import Plan
    from qkv_core.trained import Trained

KEPT = "_trained_heads"


@dataclass(eq=False)
class Opened:
    """A training at the step that its page shows. plan: of its experiment. nets: those that were asked for so far, by (arm, run)."""

    trainer: weakref.ref
    step: int
    plan: Plan
    nets: dict[tuple[int, int], Trained] = field(default_factory=dict)

    @property
    def config(self) -> Any:
        return self.plan.config

    def net(self, arm: int, run: int) -> Trained | None:
        """The net of an arm and a run, both from 0; None once the training has been put away."""
        from qkv_core.trained import Trained

        if (arm, run) not in self.nets:
            trainer = self.trainer()
            if trainer is None:
                return None
            step, theta, *_ = trainer.weights_at(self.step, arm, run)
            self.nets[arm, run] = Trained(trainer.config, arm, run, step, theta)
        return self.nets[arm, run]

    def names(self, lang: str) -> list[str]:
        """The arms, as the training page calls them."""
        plan = self.plan
        names = words.arm_names(plan.kind, plan.values, plan.rates, lang)
        return [f"{mark} {name}" for mark, name in zip(words.MARKS, names)]


def opened() -> Opened | None:
    """This viewer's training, if it has come as far as a step."""
    mine = player.of(experiment.PAGE)
    trainer, kept = mine.trainer, mine.kept
    if trainer is None or kept is None or not trainer.step:
        st.session_state.pop(KEPT, None)
        return None
    found = st.session_state.get(KEPT)
    if found is None or found.trainer() is not trainer or found.step != mine.seen:
        found = st.session_state[KEPT] = Opened(weakref.ref(trainer), mine.seen, kept.plan)
    found.plan = kept.plan
    return found


def gone() -> bool:
    """Did a training have to give its place to another viewer?"""
    return player.of(experiment.PAGE).told == "put_away"


def settle(found: Opened) -> None:
    """Brings the settings that choose a net down to what this training has, so that the address says what is shown."""
    config = found.config
    own.clamp(h_arm=len(config.arms), h_arm2=len(config.arms), h_run=len(config.seeds))
    for arm, layer, head in (("h_arm", "h_tl", "h_th"), ("h_arm2", "h_tl2", "h_th2")):
        net = config.net(config.arms[state.get(arm) - 1])
        own.clamp(**{layer: net.layers, head: net.heads})
    if config.task == "cat_sat" and state.get("h_cmp") == "sentence":
        state.settle(h_cmp="head")  # there is one example only


def look_as_trained() -> None:
    """Sets temperature, mask and scale to those that the chosen net was trained with."""
    found = opened()
    net = found and found.net(state.get("h_arm") - 1, state.get("h_run") - 1)
    if net is None:
        return
    from qkv_core.ui.cached.heads import scale_of

    mask = found.config.mask
    sizes = {"padding": {"h_pad": 1}, "window": {"h_win": 1}, "prefix": {"h_pre": 1}}.get(mask, {})
    state.put(tau=net.tau, mask=mask, scale=scale_of(net), h_paint=False, **sizes)
