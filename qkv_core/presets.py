"""Named settings to try on each page. Read-only; the words for them stand in the page's texts, under the same key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from qkv_core import settings


@dataclass(frozen=True)
class Preset:
    """The values that differ from the page's defaults."""

    key: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", MappingProxyType(dict(self.values)))

    def complete(self, page: str) -> dict[str, Any]:
        """Every setting of `page` under this preset; the viewer's language and device are not a preset's business."""
        default = {k: s.default for k, s in settings.known(page).items() if k not in ("lang", "device")}
        return {**default, **self.values}


_EYE = ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1))

_LOOK_UP = {"tr_task": "look_up", "tr_opt": "adam", "tr_lr": 0.003, "tr_seeds": 12, "tr_until": 400}

PRESETS: Mapping[str, tuple[Preset, ...]] = MappingProxyType(
    {
        "home": (
            Preset("sharp", {"tau": 0.2, "home_symbol": "softmax"}),
            Preset("flat", {"tau": 5.0, "home_symbol": "softmax"}),
            Preset("past", {"mask": "causal", "home_token": "the", "home_symbol": "mask"}),
            Preset("undivided", {"scale": "none", "home_symbol": "scale"}),
        ),
        "triad": (
            Preset("lesson"),
            Preset("causal", {"mask": "causal", "t_row": 0, "t_col": 0}),
            Preset("sharp", {"tau": 0.2}),
            Preset("plain", {"t_wq": _EYE, "t_wk": _EYE, "t_wv": _EYE}),
            Preset("blind", {"t_wk": ((0, 0, 0, 0),) * 4}),
            Preset("nothing", {"mask": "padding", "t_n": 3}),
            Preset("unscaled", {"t_in": "random", "t_len": 8, "t_c": 16, "t_dv": 8, "scale": "none"}),
        ),
        "variance": (
            Preset("one", {"d_k": 1, "v_ds": (1, 2, 4, 8)}),
            Preset("long", {"d_k": 1024, "v_ds": (16, 64, 256, 1024)}),
            Preset("few", {"v_n": 100, "v_axis": "ratio"}),
            Preset("many", {"v_n": 1_000_000, "v_axis": "ratio"}),
            Preset("heavy", {"d_k": 4, "v_dist": "heavy"}),
            Preset("mean", {"v_mu": 1.0}),
            Preset("alike", {"v_rho": 1.0}),
            Preset("still", {"v_dist": "sign", "v_rho": 1.0}),
            Preset("linear", {"v_lin": True}),
        ),
        "saturation": (
            Preset("one", {"d_k": 1}),
            Preset("top", {"d_k": 4}),
            Preset("long", {"d_k": 1024, "scale": "none"}),
            Preset("cold", {"tau": 0.2}),
            Preset("swap", {"d_k": 16, "tau": 4.0, "scale": "none"}),
            Preset("too_much", {"d_k": 512, "scale": "dk"}),
            Preset("width", {"heads": 16, "scale": "sqrt_dmodel"}),
            Preset("many", {"s_keys": 32}),
            Preset("few", {"s_trials": 25}),
        ),
        "shapes": (
            Preset("notebook", {"sh_step": 1}),
            Preset("one_head", {"H": 1}),
            Preset("thin", {"H": 12, "sh_step": 10}),
            Preset("bad_h", {"H": 5, "sh_step": 4}),
            Preset("paper", {"B": 1, "T": 10, "C": 512, "H": 8, "sh_b": 0, "sh_t": 9, "sh_c": 511}),
            Preset("one_token", {"T": 1, "sh_t": 0, "sh_step": 3}),
            Preset("value", {"sh_of": "v", "sh_step": 9}),
        ),
        "heads": (
            Preset("tired"),
            Preset("wide", {"h_sent": "wide", "h_sent2": "tired"}),
            Preset("causal", {"mask": "causal"}),
            Preset("sharp", {"tau": 0.1, "h_cmp": "tau"}),
            Preset("flat", {"tau": 5.0, "h_cmp": "tau", "h_tau2": 1.0}),
            Preset("unscaled", {"scale": "none"}),
            Preset("padding", {"h_sent": "she", "h_head": "next", "h_pad": 4, "h_row": 8, "h_cmp": "mask", "h_mask2": "padding"}),
            Preset("paint", {"h_paint": True, "h_cells": "12.AAAAAAAAAAAAAAAAIA", "h_cmp": "mask", "h_mask2": "none"}),  # row 8, column 2
            Preset("nothing", {"h_paint": True, "h_cells": "12.AAAAAAAAAAAAAAAA__A"}),  # all of row 8
            Preset("undecided", {"h_sent": "trophy", "h_row": 9}),
            Preset("typed", {"h_src": "typed", "h_head": "same_word", "h_row": 3, "h_text": "the dog saw the other dog 🐕 犬 $x$ *and* ran"}),
            Preset("real", {"h_src": "real", "h_sent": "she", "h_row": 7, "h_cmp": "head"}),
            Preset("trained", {"h_src": "trained", "h_cmp": "head"}),
        ),
        "positions": (
            Preset("paper", {"p_n": 512, "p_d": 512, "p_pos": 100, "p_k": 10, "p_pairs": (0, 64, 128, 255)}),
            Preset("one_clock", {"p_n": 32, "p_d": 2, "p_pos": 0, "p_k": 6, "p_pairs": (0,)}),
            Preset("turn", {"p_d": 8, "p_n": 64, "p_pos": 0, "p_k": 63, "p_pairs": (0, 1, 2, 3)}),
            Preset("noisy", {"p_d": 16, "p_noise": 1.5, "p_pairs": (0, 2, 4, 7)}),
            Preset("wide_noisy", {"p_d": 512, "p_noise": 1.5, "p_pairs": (0, 64, 128, 255)}),
            Preset("swap", {"p_order": "210"}),
        ),
        "training": (
            Preset("lesson", {"d_k": 4, "tr_start": "lesson", "tr_seeds": 1, "tr_lr": 0.1, "tr_until": 201}),
            Preset("small", {"d_k": 4}),
            Preset("large", {"d_k": 64}),
            Preset("look_up", {**_LOOK_UP}),
            Preset("layers", {**_LOOK_UP, "tr_kind": "layers"}),
            Preset("agreement", {"tr_task": "agreement", "tr_opt": "adam", "tr_lr": 0.001, "tr_seeds": 12, "tr_until": 200}),
            Preset("too_fast", {"tr_lr": 5.0}),
            Preset(
                "rescue",
                {
                    "tr_task": "key_value", "tr_opt": "adam", "tr_lr": 0.02, "tr_seeds": 12, "tr_until": 400,
                    "tr_beat": True, "tr_c_lr": 0.005,
                },
            ),  # fmt: skip
        ),
        "complexity": (
            Preset("sentence", {"x_n": 32}),
            Preset("even", {"x_n": 512}),
            Preset("book", {"x_n": 65_536, "x_r": 256}),
            Preset("feed_forward", {"x_k": 1}),
            Preset("pairs", {"x_n": 32, "x_k": 2}),
            Preset("whole", {"x_n": 64, "x_r": 64}),
            Preset("one_head", {"x_n": 512, "heads": 1}),
        ),
    }
)


@dataclass(frozen=True)
class Suggestion:
    """Something to do in class on another page: one link, or two to compare. The words are in the first page's texts."""

    key: str
    page: str
    links: tuple[Preset, ...]


IN_CLASS: tuple[Suggestion, ...] = (
    Suggestion("first_token", "triad", (Preset("causal", {"mask": "causal"}),)),
    Suggestion("temperature", "triad", (Preset("sharp", {"tau": 0.2}), Preset("flat", {"tau": 5.0}))),
    Suggestion("growth", "variance", (Preset("short", {"d_k": 16}), Preset("long", {"d_k": 256}))),
    Suggestion("same_law", "variance", (Preset("one", {"seed": 1}), Preset("two", {"seed": 2}))),
    Suggestion(
        "undivided",
        "saturation",
        (Preset("none", {"d_k": 512, "scale": "none"}), Preset("paper", {"d_k": 512, "scale": "sqrt_dk"})),
    ),
    Suggestion("too_much", "saturation", (Preset("dk", {"d_k": 512, "scale": "dk"}),)),
)
"""Suggestions for a class, in the order of the lessons. They set shared settings only; the rest of the page is default."""
