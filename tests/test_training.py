"""The training page: what it says is what the engine counted, and a run is never lost or changed by surprise."""

from __future__ import annotations

import io
import math
import re
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

import pandas as pd
import pytest
import torch

from qkv_core import plan as plans
from qkv_core import settings
from qkv_core.plan import HISTORY
from qkv_core.presets import PRESETS
from qkv_core.records import wilson_interval
from qkv_core.text import player as player_words
from qkv_core.text import training as text
from qkv_core.training import Trainer
from qkv_core.ui.cached import training as cached
from qkv_core.ui.queue import Rooms
from tests.app import assert_healthy, go, open_page
from tests.app import words as screen

FAST = {"tr_speed": "0", "tr_seeds": "4", "tr_until": "40"}


@pytest.fixture(autouse=True)
def rooms(monkeypatch):
    from qkv_core.ui import player

    monkeypatch.setattr(player, "ROOMS", Rooms(most=24, idle=120))


def player_of(at):
    return at.session_state["_player_training"]


def button(at, key: str):
    return next(b for b in at.button if b.key == key)


def press(at, key: str):
    return button(at, key).click().run()


def play(at, key: str = "tr_play"):
    """Presses Play and ticks until the run stands still."""
    press(at, key)
    for _ in range(300):
        if not player_of(at).running:
            return at.run()
        at.run()
    raise AssertionError("it never came to a halt")


def values(**changes: Any) -> dict[str, Any]:
    return {**{k: v for k, v in settings.defaults().items() if k in plans.KEYS}, "device": "cpu", **changes}


def plan(**changes: Any) -> plans.Plan:
    return plans.plan(values(**changes))


# opening


@pytest.mark.parametrize("lang", ["en", "es"])
@pytest.mark.parametrize("task", ["cat_sat", "reverse", "key_value", "look_up", "agreement"])
def test_a_cold_link_opens_in_both_languages_and_says_what_holds_before_the_first_step(lang: str, task: str) -> None:
    at = open_page("training", lang=lang, tr_task=task, tr_seeds="2", tr_lr="0.01", tr_opt="adam")
    assert_healthy(at)
    config = plan(tr_task=task, tr_seeds=2, tr_lr=0.01, tr_opt="adam").config
    a, b = Trainer.from_config(config).advance(1).frozen[0].mean(-1).tolist()
    phrases = text.arm_names("scale", ("sqrt_dk", "none"), (), lang, text.WITH)
    msg = text.START_LEAD if b > a else text.START_ALIKE
    assert msg(lang, first=phrases[0], second=phrases[1], a=a, b=b) in screen(at)
    assert player_of(at).trainer is None  # a reader takes no place


@pytest.mark.parametrize(
    "params",
    [
        {"tr_task": "abc", "tr_lr": "-1", "tr_seeds": "nan", "tr_until": "1e9", "tr_run": "999", "tr_speed": "7"},
        {"tr_rates": "1,2;x", "tr_target": "inf", "tr_kind": "<b>", "tr_ex": "0", "tr_head": "16", "d_k": "1024"},
        {"tr_task": "look_up", "tr_seeds": "256", "tr_heads": "16", "d_k": "1024", "tr_kind": "heads", "tr_b_heads": "16"},
        {"mask": "prefix", "tau": "0.1", "scale": "dk", "tr_b_scale": "sqrt_dmodel", "tr_seeds": "1", "tr_task": "reverse"},
        {"tr_start": "lesson", "tr_kind": "layers", "tr_heads": "8", "tr_layers": "4", "tr_beat": "1"},
        {"tr_rates": "-5,1,1,1;3,0,-1,99999;" + ";".join(["0,0,0,0"] * 6), "device": "cuda"},
    ],
)
def test_no_link_breaks_it_and_a_step_can_be_trained(params: dict[str, str]) -> None:
    at = open_page("training", **params)
    assert_healthy(at)
    assert_healthy(press(at, "tr_step"))
    assert player_of(at).step == 1


def test_what_gives_way_is_named() -> None:
    def notes(**changes: Any) -> dict[str, tuple[Any, Any]]:
        return {n.code: (n.asked, n.used) for n in plan(**changes).notes}

    assert notes() == {}
    assert notes(d_k=1024) == {"d_k": (1024, 256)}
    assert notes(tr_heads=8)["heads"] == (8, 4)
    assert "layers" in notes(tr_kind="layers") and plan(tr_kind="layers").kind == "scale"
    assert notes(tr_start="lesson", d_k=64)["lesson"]
    assert notes(tr_start="lesson", d_k=4) == {"alone": (30, 1)} and plan(tr_start="lesson", d_k=4).config.start == "lesson"
    assert notes(tr_task="look_up", tr_seeds=256)["seeds"] == (256, 32)
    assert notes(scale="none") == {"alike": (0, 0)}
    at = open_page("training", d_k="1024")
    assert text.NOTES["d_k"]("en", asked=1024, used=256) in screen(at)


def test_every_combination_of_settings_makes_an_experiment() -> None:
    for task in settings.everything()["tr_task"].choices:
        for kind in settings.everything()["tr_kind"].choices:
            for heads in (1, 16):
                made = plan(tr_task=task, tr_kind=kind, tr_heads=heads, tr_beat=True, tr_layers=4, d_k=1, tr_seeds=256)
                assert len(made.config.arms) == 3 and len(made.values) == 3
                size = 4 * 7 * 3 * len(made.config.seeds)
                assert made.config.max_steps * size <= HISTORY


def test_the_arms_differ_in_one_thing_alone() -> None:
    for kind in ("scale", "lr", "tau", "heads", "init"):
        first, second, *_ = plan(tr_kind=kind).config.arms
        differ = [f for f in first.__dataclass_fields__ if f != "name" and getattr(first, f) != getattr(second, f)]
        assert len(differ) == 1, (kind, differ)


# playing


@pytest.mark.parametrize("lang", ["en", "es"])
def test_the_claim_is_what_a_trainer_of_its_own_counts(lang: str) -> None:
    at = play(open_page("training", lang=lang, tr_speed="0", tr_seeds="12", tr_until="150"))
    assert_healthy(at)
    trainer = Trainer.from_config(plan(tr_seeds=12).config)
    trainer.advance(150)
    phrases = text.arm_names("scale", ("sqrt_dk", "none"), (), lang, text.WITH)
    counts = trainer.counts()
    assert counts[0].solved > 0
    assert text.claim(counts, phrases, 150, False, lang) in screen(at)
    for count, metric in zip(counts, at.metric, strict=True):
        assert metric.value == text.OF(lang, solved=count.solved, seeds=12)
        low, high = wilson_interval(count.solved, 12)
        assert text.INTERVAL(lang, low=low, high=high) in screen(at)
    assert (player_of(at).trainer.records().loss == trainer.records().loss).all()


def test_the_verdict_follows_the_intervals() -> None:
    class Count:
        def __init__(self, solved: int, seeds: int) -> None:
            self.arm, self.solved, self.seeds = "a", solved, seeds
            self.low, self.high = wilson_interval(solved, seeds)

    clear = text.claim((Count(29, 30), Count(3, 30)), ("with 1/√dₖ", "without the scale"), 500, False, "en")
    assert clear.startswith("After 500 steps: with 1/√dₖ **29** of 30 runs solved it, without the scale **3** of 30.")
    assert text.CLEAR("en") in clear
    assert text.OVERLAP("en") in text.claim((Count(30, 30), Count(28, 30)), ("a", "b"), 500, False, "en")
    assert text.OVERLAP_YET("en") in text.claim((Count(0, 30), Count(0, 30)), ("a", "b"), 5, True, "en")
    assert text.ONE_RUN("en") in text.claim((Count(1, 1), Count(0, 1)), ("a", "b"), 5, False, "en")
    assert [text.apart((Count(*a), Count(*b))) for a, b in (((29, 30), (3, 30)), ((3, 30), (29, 30)), ((5, 30), (6, 30)))] == [0, 1, 2]


def test_a_step_is_one_step_and_start_over_goes_back_to_none() -> None:
    at = open_page("training", **FAST)
    for n in (1, 2, 3):
        player_of(at)._stepped = 0.0
        press(at, "tr_step")
        assert player_of(at).step == n and not player_of(at).running
    press(at, "tr_reset")
    assert player_of(at).step == 0 and player_of(at).trainer is None
    assert_healthy(at)


def test_another_setting_asks_before_it_drops_the_run() -> None:
    at = play(open_page("training", **FAST))
    before = player_of(at).trainer
    next(s for s in at.select_slider if s.key == "d_k_page").set_value(16).run()
    assert text.CHANGED("en", step=40) in screen(at)
    assert player_of(at).trainer is before and button(at, "tr_play").disabled and button(at, "tr_step").disabled
    press(at, "tr_back")
    assert at.session_state["d_k"] == 64 and text.CHANGED("en", step=40) not in screen(at)
    assert player_of(at).trainer is before and not button(at, "tr_play").disabled
    next(s for s in at.select_slider if s.key == "d_k_page").set_value(16).run()
    play(at, "tr_go")
    assert player_of(at).trainer is not before and player_of(at).trainer.config.d_k == 16
    assert text.CHANGED("en", step=40) not in screen(at)
    assert_healthy(at)


def test_a_learning_rate_acts_at_once_and_keeps_history_and_weights() -> None:
    at = play(open_page("training", **FAST))
    losses = player_of(at).trainer.records().loss.clone()
    next(s for s in at.select_slider if s.key == "tr_lr_page").set_value(0.1).run()
    assert text.CHANGED("en", step=40) not in screen(at)
    trainer = player_of(at).trainer
    assert trainer.rates == [(0, (0.7, 0.7)), (40, (0.1, 0.1))]
    play(at)
    assert trainer.step == 80 and (trainer.records(0, 40).loss == losses).all()
    expected = Trainer.from_config(plan(tr_seeds=4).config)
    expected.advance(40), expected.set_lr(0.1), expected.advance(40)
    assert (trainer.records().loss == expected.records().loss).all()


def test_the_classes_own_row_has_its_own_rate() -> None:
    at = play(open_page("training", tr_beat="1", tr_c_lr="0.05", **FAST))
    assert_healthy(at)
    trainer = player_of(at).trainer
    assert trainer.rates == [(0, (0.7, 0.7, 0.05))]
    next(s for s in at.select_slider if s.key == "tr_c_lr_page").set_value(0.2).run()
    next(s for s in at.select_slider if s.key == "tr_lr_page").set_value(0.5).run()
    assert trainer.rates[-1] == (40, (0.5, 0.5, 0.2))
    assert len(at.metric) == 3


def test_a_new_task_brings_its_rate_and_optimizer() -> None:
    at = open_page("training", **FAST)
    next(s for s in at.selectbox if s.key == "tr_task_page").set_value("look_up").run()
    assert (at.session_state["tr_lr_page"], at.session_state["tr_opt_page"]) == (0.003, "adam")
    assert_healthy(at)


def test_leaving_stops_the_work_and_coming_back_finds_the_run() -> None:
    at = open_page("training", **{**FAST, "tr_until": "1000"})
    press(at, "tr_play")
    step = player_of(at).step
    go(at, "variance")
    at.run()
    assert player_of(at).step == step  # nothing trains on another page
    go(at, "training")
    assert not player_of(at).running and player_of(at).step == step and 0 < step < 1000
    assert player_words.TOLD["away"]("en", step=step) in screen(at)
    play(at)
    assert player_of(at).step == 1000


def test_looking_back_shows_what_the_run_was_at_that_step() -> None:
    at = play(open_page("training", **FAST))
    trainer = player_of(at).trainer
    next(s for s in at.select_slider if s.key == "tr_look_40").set_value(7).run()
    assert_healthy(at)
    assert player_of(at).seen == 7 and text.MAPS("en", run=1, step=7) in screen(at)
    for arm, name in enumerate(("÷ √dₖ", "not divided")):
        then = Trainer.from_config(plan(tr_seeds=4).config)
        then.advance(7)
        assert torch.equal(trainer.at(7, arm).output, then.at(7, arm).output)
        table = at.table[0].value
        assert table[f"{text.MARKS[arm]} {name}"].tolist() == [text.row_text(r, "en") for r in then.at(7, arm).output.tolist()]
    play(at)
    assert player_of(at).look is None


def test_diverged_runs_are_counted_and_named_and_the_picture_stays_finite() -> None:
    at = play(open_page("training", tr_lr="5.0", **FAST))
    assert_healthy(at)
    trainer = player_of(at).trainer
    lost = trainer.diverged()
    assert lost
    counts = trainer.counts()
    said = text.diverged(counts, lost, text.arm_names("scale", ("sqrt_dk", "none"), (), "en", text.WITH), "en")
    assert said and said in screen(at)
    for count, sentence in zip(counts, re.split(r"(?<=pictures\.) ", said)):
        steps = [step for arm, _, step in lost if arm == count.arm]
        assert str(min(steps)) in sentence and str(len(steps)) in sentence
    for log in (True, False):
        drawn, left_out = cached.lines(trainer.records().summary(100), "loss", log)
        frame = drawn.to_pandas()
        assert left_out > 0 and frame[["value", "low", "high"]].map(math.isfinite).all(axis=None)
        assert frame["high"].max() <= cached.LARGE


def test_a_long_run_draws_few_points_and_a_zero_is_no_trouble_on_a_log_axis() -> None:
    trainer = Trainer.from_config(plan(tr_seeds=2).config)
    trainer.advance(1500)
    summary = trainer.records().summary(cached.POINTS)
    for points in (cached.POINTS, cached.FEW):
        frame = cached.lines(summary, "loss", True, points)[0].to_pandas()
        assert len(frame) <= 2 * (points + 1)
        assert frame["step"].min() == 0 and frame["step"].max() == 1499 and frame["last"].sum() == 2
    summary.loc[3, "loss_low"] = 0.0
    assert cached.lines(summary, "loss", True)[1] == 1 and cached.lines(summary, "loss", False)[1] == 0


def test_what_differs_is_what_the_legend_says() -> None:
    for kind, value, name in (("tau", "0.50", "τ = 0.50"), ("heads", "4", "heads: 4"), ("init", "0.125", "W_q × 0.125"), ("lr", "0.1", "rate 0.1")):
        at = open_page("training", tr_kind=kind, **{f"tr_b_{kind}": value}, **FAST)
        assert_healthy(at)
        assert at.metric[1].label == f"■ {name}"
    assert text.roles("scale", ("none", "sqrt_dk")) == ("unscaled", "scaled", "theory")


def test_a_target_of_ones_own_is_another_experiment_and_is_aimed_at() -> None:
    mine = ((0.0, 0.0, 0.0, 1.0), (0.2, 1.2, 0.5, 0.8), (0.5, 0.3, 0.9, 1.0))
    at = play(open_page("training", tr_target=settings.everything()["tr_target"].format(mine), **FAST))
    assert_healthy(at)
    assert player_of(at).trainer.at().target.tolist()[0] == [0, 0, 0, 1]
    assert plan(tr_target=mine).same != plan().same


# taking it along


def test_the_history_is_every_record_and_a_long_one_is_thinned() -> None:
    trainer = Trainer.from_config(plan(tr_seeds=3).config)
    trainer.advance(20)
    frame = pd.read_csv(io.BytesIO(cached.history(trainer)))
    assert len(frame) == 20 * 2 * 3 and list(frame["step"].unique()) == list(range(20))
    row = frame[(frame["step"] == 9) & (frame["arm"] == "second") & (frame["seed"] == 43)]
    assert row["loss"].item() == pytest.approx(trainer.records().loss[9, 1, 1].item(), rel=1e-6)


def test_a_very_long_history_is_thinned(monkeypatch) -> None:
    monkeypatch.setattr(cached, "CSV_ROWS", 30)
    trainer = Trainer.from_config(plan(tr_seeds=3).config)
    trainer.advance(20)
    assert len(pd.read_csv(io.BytesIO(cached.history(trainer)))) <= 30


@pytest.mark.parametrize("task, kind", [("cat_sat", "scale"), ("look_up", "layers"), ("reverse", "heads")])
def test_the_weights_file_holds_the_matrices_that_answer(task: str, kind: str) -> None:
    trainer = Trainer.from_config(plan(tr_task=task, tr_kind=kind, tr_seeds=2, d_k=8, tr_lr=0.01, tr_opt="adam").config)
    trainer.advance(5)
    held = torch.load(io.BytesIO(cached.weights_file(trainer)), weights_only=True)
    assert held["step"] == 5 and held["seeds"] == [42, 43] and set(held["weights"]) == {"first", "second"}
    for arm, name in enumerate(("first", "second")):
        net = trainer.config.net(trainer.config.arms[arm])
        W = held["weights"][name]
        assert {n for n in W if n.startswith("W_q")} == {f"W_q_{i + 1}" for i in range(net.layers)}
        if task == "cat_sat":
            from qkv_core.attention import scaled_dot_product_attention
            from qkv_core.triad import cat_sat

            X = cat_sat().X.float()
            output, _ = scaled_dot_product_attention(X @ W["W_q_1"][1], X @ W["W_k_1"][1], X @ W["W_v_1"][1], scale=arm == 0)
            assert torch.allclose(output, trainer.at(arm=arm, seed=1).output, atol=1e-5)


def test_the_link_replays_the_run_with_its_changes_of_the_rate() -> None:
    at = play(open_page("training", **FAST))
    next(s for s in at.select_slider if s.key == "tr_lr_page").set_value(0.2).run()
    play(at)
    press(at, "tr_step")
    first = player_of(at).trainer
    address = next(str(c.value) for c in at.code if "tr_rates" in str(c.value) and "tr_until=81" in str(c.value))
    query = dict(parse_qsl(address.split("?")[1]))
    assert settings.parse(query, "training")[1] == ()
    again = open_page("training", **query)
    assert text.REPLAY("en", until=81, n=1) in screen(again)
    play(again)
    second = player_of(again).trainer
    assert second.step == 81 and second.rates == first.rates
    assert (second.records().loss == first.records().loss).all()
    assert again.session_state["tr_lr_page"] == 0.2  # the slider says what holds now
    assert_healthy(again)


def test_more_changes_than_a_link_holds_are_said() -> None:
    at = open_page("training", **FAST)
    for n in range(10):
        player_of(at)._stepped = 0.0
        press(at, "tr_step")
        next(s for s in at.select_slider if s.key == "tr_lr_page").set_value((0.1, 0.2)[n % 2]).run()
    assert text.LINK_MANY("en", n=10, most=8) in screen(at)


# checks and predictions


def red(at) -> int:
    return sum(":material/error:" in str(m.value) for m in at.markdown)


def test_a_wrong_gradient_turns_its_check_red(monkeypatch) -> None:
    right = cached.gradient_step
    monkeypatch.setattr(cached, "gradient_step", lambda *args: right(*args[:5], 1.001 * args[5], *args[6:]))
    cached.written_out.cache_clear()
    at = open_page("training", **FAST)
    assert red(at) == 1
    cached.written_out.cache_clear()


def test_a_run_that_is_not_what_it_was_among_others_turns_its_check_red() -> None:
    at = play(open_page("training", **FAST))
    assert red(at) == 0
    player_of(at).trainer._history._rows += 0.01
    assert red(at.run()) == 1


def test_the_prediction_can_be_revealed_when_the_run_is_there() -> None:
    at = open_page("training", **FAST)
    assert text.PREDICT_WAIT("en", step=40) in screen(at)
    play(at)
    assert text.PREDICT_WAIT("en", step=40) not in screen(at)
    assert [b.key for b in at.button if b.key == "predict_training_go"]


# presets


def test_a_preset_begins_at_once_and_its_words_exist() -> None:
    assert {p.key for p in PRESETS["training"]} == set(text.TRY)
    at = play(open_page("training", **FAST))
    press(at, "try_training_small")
    assert at.session_state["d_k"] == 4 and player_of(at).running
    assert_healthy(at)


@pytest.mark.parametrize("preset", PRESETS["training"], ids=lambda p: p.key)
def test_a_preset_runs_to_its_own_pause_and_not_to_that_of_the_settings_before(preset) -> None:
    at = press(open_page("training", **{**FAST, "tr_until": "7"}), f"try_training_{preset.key}")
    assert player_of(at).goal == preset.complete("training")["tr_until"]


@pytest.mark.parametrize("preset", PRESETS["training"], ids=lambda p: p.key)
def test_every_preset_trains(preset) -> None:
    made = plans.plan({k: preset.complete("training").get(k, settings.defaults()[k]) for k in plans.KEYS})
    assert not [n for n in made.notes if n.code not in ("alone",)]
    trainer = cached.build(replace(made.config, seeds=made.config.seeds[:2]))
    assert len(trainer.advance(2)) == 2


def counts_of(key: str):
    preset = next(p for p in PRESETS["training"] if p.key == key)
    made = plans.plan({k: preset.complete("training").get(k, settings.defaults()[k]) for k in plans.KEYS})
    trainer = cached.build(made.config)
    trainer.advance(preset.complete("training")["tr_until"])
    return trainer, trainer.counts()


def test_how_many_maps_point_to_the_subject_is_counted_by_hand_and_said_of_the_solved_alone() -> None:
    at = open_page("training", tr_task="agreement", tr_opt="adam", tr_lr="0.01", tr_seeds="4", d_k="16", device="cpu", tr_until="60")
    said = text.READABLE("en", least=cached.READABLE, n=cached.EXAMPLES, parts="").split(":")[0]
    assert said not in screen(at)
    for _ in range(60):
        at = press(at, "tr_step")
    trainer = player_of(at).trainer
    counted = []
    for arm, count in enumerate(trainer.counts()):
        solved = [seed for seed in range(4) if trainer.records().solved[-1, arm, seed]]
        shares = [
            sum(trainer.at(arm=arm, seed=seed, example=n).weights[-1][0, -1, :2].sum().item() for n in range(32)) / 32 for seed in solved
        ]
        counted.append((sum(share >= 0.9 for share in shares), count.solved))
    assert cached.readable(trainer) == tuple(counted) and counted[0][1] > 0
    phrases = text.arm_names("scale", ("sqrt_dk", "none"), (), "en", text.WITH)
    sentence = text.readable(counted, phrases, cached.READABLE, cached.EXAMPLES, "en")
    assert sentence in screen(at)
    assert (text.NOT_NEEDED("en") in sentence) == any(few < solved for few, solved in counted)
    assert text.readable(((0, 0), (0, 0)), phrases, 0.9, 32, "en") == ""
    assert text.NOT_NEEDED("es") not in text.readable(((2, 2), (0, 0)), phrases, 0.9, 32, "es")
    assert cached.readable(Trainer("reverse", seeds=1, device="cpu")) == () == cached.readable(None)


def overlaps(count, low: float, high: float) -> bool:
    return count.low <= high and low <= count.high


@pytest.mark.slow
def test_the_presets_say_what_the_study_says() -> None:
    trainer, (with_scale, without) = counts_of("large")
    assert text.apart((with_scale, without)) == 0, (with_scale, without)
    assert overlaps(with_scale, 0.83, 0.99)
    trainer, counts = counts_of("small")
    assert text.apart(counts) == 2 and counts[0].solved >= 27 and counts[1].solved >= 24
    trainer, (with_scale, without) = counts_of("look_up")
    assert (with_scale.solved, without.solved) == (12, 0)
    assert cached.average_gradient(trainer.records(), 1) > cached.average_gradient(trainer.records(), 0)
    trainer, (two, one) = counts_of("layers")
    assert (two.solved, one.solved) == (12, 0)
    trainer, (with_scale, without, slower) = counts_of("rescue")
    assert with_scale.solved == 12 and slower.solved >= 10 and slower.low > without.high, (with_scale, without, slower)
    trainer, counts = counts_of("agreement")
    assert counts[0].solved >= 11 and counts[1].solved < counts[0].solved, counts
    for (readable, solved), count in zip(cached.readable(trainer), counts):
        assert solved == count.solved and 0 < readable < solved  # right answers, and not in every run a map that points there
    trainer, counts = counts_of("too_fast")
    assert all(c.diverged > 0 for c in counts)
    trainer, counts = counts_of("lesson")
    losses = trainer.records().loss[:, 0, 0]
    assert losses[0].item() == pytest.approx(0.1113882584, rel=1e-5)
    assert trainer.at().loss == pytest.approx(0.0103993644, rel=1e-4)
