"""The heads page with a net that the viewer trained: the numbers of the training page's map, of one step, and of this viewer alone."""

from __future__ import annotations

import contextlib
import io
import re

import pytest
import torch

from qkv_core import scripts, settings, trained
from qkv_core.text import heads as words
from qkv_core.text import number
from qkv_core.text import training as training_words
from qkv_core.typed import format_cells
from qkv_core.ui import player, take_home
from qkv_core.ui.cached import heads as cached
from qkv_core.ui.queue import Rooms
from tests.app import assert_healthy, go, open_page
from tests.app import words as screen

TASKS = {
    "cat_sat": {"tr_lr": "0.7", "tr_opt": "sgd", "d_k": "16"},
    "reverse": {"tr_lr": "0.01", "tr_opt": "adam", "d_k": "16", "tr_heads": "4"},
    "key_value": {"tr_lr": "0.01", "tr_opt": "adam", "d_k": "16"},
    "look_up": {"tr_lr": "0.003", "tr_opt": "adam", "d_k": "16", "tr_heads": "2"},
    "agreement": {"tr_lr": "0.001", "tr_opt": "adam", "d_k": "16"},
}
LANGUAGES = ("en", "es")


@pytest.fixture(autouse=True)
def rooms(monkeypatch):
    monkeypatch.setattr(player, "ROOMS", Rooms(most=24, idle=120))


def train(steps: int = 3, **params: str):
    """A visitor who has trained so many steps on the training page, and stands there."""
    at = open_page("training", **{"tr_seeds": "4", "device": "cpu", **params})
    for _ in range(steps):
        player_of(at)._stepped = 0.0  # a press so soon after another counts as the same one
        next(b for b in at.button if b.key == "tr_step").click().run()
    assert player_of(at).step == steps
    return at


def player_of(at):
    return at.session_state["_player_training"]


def put(at, **values):
    """Sets settings as their controls do."""
    at.session_state["_values"] = {**at.session_state["_values"], **values}
    return at


def to_heads(at, **values):
    return go(put(at, h_src="trained", **values), "heads")


def run_of(at) -> cached.Shown:
    """What the page shows, computed again from the nets that this visit holds."""
    values = at.session_state["_values"]
    shared = settings.Shared(**{s.key: values[s.key] for s in settings.SHARED})
    return cached.shown(cached.asked(shared, values.__getitem__, at.session_state["_trained_heads"].net))


def badges(at) -> list[str]:
    return [m.value for m in at.markdown if ":material/check:" in m.value]


def links(at) -> list[tuple[str, str]]:
    return [(link.proto.page, link.proto.label) for link in at.get("page_link")]


# without a run


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_cold_link_is_a_working_page_that_says_how_to_get_a_net(lang: str) -> None:
    at = open_page("heads", lang=lang, h_src="trained", h_arm="3", h_run="200", h_tl="4", h_th="16", h_cmp="sentence")
    assert_healthy(at)
    assert words.REASONS["no_run"](lang) in screen(at) and words.NO_RUN(lang) in screen(at)
    assert ("training", words.TO_TRAINING(lang)) in links(at)
    at = go(at, "training")
    assert_healthy(at)
    at = put(go(at, "heads"), h_src="hand").run()
    assert_healthy(at)
    assert len(badges(at)) >= 4


def test_a_run_that_was_reset_or_put_away_leaves_the_page_in_order() -> None:
    at = to_heads(train(), h_row=2)
    assert len(badges(at)) >= 4
    player_of(at).put_away()
    at.run()
    assert_healthy(at)
    assert words.REASONS["run_gone"].en in screen(at) and words.NO_RUN.en not in screen(at)
    at = train()
    player_of(at).reset()
    assert words.REASONS["no_run"].en in screen(to_heads(at))


# with one


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("task", TASKS)
def test_it_shows_the_same_numbers_as_the_training_pages_map(task: str, lang: str) -> None:
    at = train(4, tr_task=task, lang=lang, **TASKS[task])
    trainer = player_of(at).trainer
    sizes = trainer.config.net(trainer.config.arms[0])
    for arm, (layer, head) in enumerate(((1, 1), (sizes.layers, sizes.heads))):
        moment = trainer.at(4, arm, 2, 5)
        scale = trainer.config.arms[arm].scale
        at = to_heads(at, h_arm=arm + 1, h_run=3, h_ex=6, h_tl=layer, h_th=head, h_row=sizes.T - 1, scale=scale)
        assert_healthy(at)
        run = run_of(at)
        assert run.labels == moment.tokens
        assert (run.weights - moment.weights[layer - 1][head - 1]).abs().max() < 1e-5
        assert any(words.CHECKS["net"](lang) in badge for badge in badges(at))
        weights = run.weights[sizes.T - 1]
        share = number(weights.max().item(), ".1%", lang)
        assert {m.label: m.value for m in at.metric}[words.TOP(lang)] == share
        assert words.NOTES["lens"](lang) not in screen(at)
        said = words.ORIGIN_TRAINED(
            lang, task=training_words.TASKS[task](lang), arm=at.session_state["_trained_heads"].names(lang)[arm], run=3,
            seed=str(moment.seed), step=4, loss=moment.loss, layer=layer, head=head,
        )  # fmt: skip
        assert said in screen(at)
        if task == "cat_sat":
            assert words.NET_NO_MEANING(lang) in screen(at) and words.NET_CAT_SAT(lang, loss=moment.loss) in screen(at)
        else:
            answered = words.NET_RIGHT if moment.predicted == moment.answers else words.NET_WRONG
            assert answered(lang, said=" ".join(moment.predicted), right=" ".join(moment.answers)) in screen(at)
        assert words.NO_RULES(lang, step=4) in screen(at)
        assert (words.OWN_MASK(lang) in screen(at)) == (task == "look_up")
        at = go(at, "training")


@pytest.mark.parametrize("task", TASKS)
def test_every_head_of_every_layer_stands_beside_the_others_and_opens(task: str) -> None:
    at = to_heads(train(2, tr_task=task, **TASKS[task]))
    net = at.session_state["_trained_heads"].net(0, 0).net
    keys = [b.key for b in at.button if (b.key or "").startswith("h_open_")]
    wanted = [f"h_open_{layer}_{n}" for layer in range(1, net.layers + 1) for n in range(1, net.heads + 1)]
    assert keys == [*wanted, *(["h_open_mean"] if len(wanted) > 1 else [])]
    if len(wanted) > 1:
        at.button(key=wanted[-1]).click().run()
        assert_healthy(at)
        assert (run_of(at).ask.layer, run_of(at).ask.number) == (net.layers, net.heads)


def test_temperature_mask_and_scale_are_a_lens_that_is_named_and_can_be_taken_off() -> None:
    at = to_heads(train(tr_task="look_up", **TASKS["look_up"]))
    assert words.NOTES["lens"].en not in screen(at)
    plain = run_of(at)
    for values in ({"tau": 2.0}, {"scale": "none"}, {"mask": "window", "h_win": 0}):
        at = put(at, **values).run()
        assert_healthy(at)
        assert words.NOTES["lens"].en in screen(at) and not torch.equal(run_of(at).weights, plain.weights)
        assert not any(words.CHECKS["net"].en in badge for badge in badges(at))
        at.button(key="h_as_trained").click().run()
        assert_healthy(at)
        assert words.NOTES["lens"].en not in screen(at) and torch.equal(run_of(at).weights, plain.weights)
    trace = plain.head.trace
    lens = run_of(put(at, tau=2.0).run()).head.trace
    assert torch.allclose(lens.scaled, trace.scaled / 2) and torch.equal(lens.q, trace.q)
    assert run_of(at).hidden.equal(plain.hidden) and plain.hidden[0, 1:].all()  # the task's own mask


def test_choosing_the_other_arm_looks_at_it_as_it_was_trained() -> None:
    at = to_heads(train(tr_task="key_value", **TASKS["key_value"]))
    at.selectbox(key="h_arm_page").set_value(2).run()
    assert_healthy(at)
    assert at.session_state["_values"]["scale"] == "none" and words.NOTES["lens"].en not in screen(at)
    moment = player_of(at).trainer.at(3, 1, 0, 0)
    assert (run_of(at).weights - moment.weights[0][0]).abs().max() < 1e-4


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("kind", ["sentence", "head", "tau", "mask"])
def test_arms_heads_examples_and_settings_are_compared(kind: str, task: str, lang: str) -> None:
    at = to_heads(train(2, tr_task=task, lang=lang, **TASKS[task]), h_cmp=kind)
    assert_healthy(at)
    values = at.session_state["_values"]
    if task == "cat_sat" and kind == "sentence":
        assert values["h_cmp"] == "head"
        kind = "head"
    run = run_of(at)
    other = cached.second(run.ask, kind, lang, values.__getitem__, at.session_state["_trained_heads"].net)
    found = cached.compare(run.ask, other)
    assert cached.compare_says(found, lang) in screen(at)
    if kind == "head":
        moment = player_of(at).trainer.at(2, 1, 0, 0)
        assert (found.b.weights - moment.weights[0][0]).abs().max() < 1e-4
        assert words.COMPARE_OWN(lang) in screen(at)
    if kind == "sentence":
        assert found.b.labels == player_of(at).trainer.at(2, 0, 0, 1).tokens


def test_what_is_looked_back_at_there_is_shown_here() -> None:
    at = train(6, tr_task="reverse", **TASKS["reverse"])
    player_of(at).see(2)
    at = to_heads(at)
    assert "after 2 steps" in screen(at)
    assert (run_of(at).weights - player_of(at).trainer.at(2, 0, 0, 0).weights[0][0]).abs().max() < 1e-5


def test_a_net_that_trains_on_is_another_one_and_a_shown_one_keeps_its_step() -> None:
    at = to_heads(train(2))
    shown = run_of(at)
    before = shown.weights.clone()
    player_of(at).trainer.advance(5)
    assert torch.equal(run_of(at).weights, before) and run_of(at).ask.net is shown.ask.net  # a part that redraws alone
    at.run()
    assert run_of(at).ask.net.step == 7 and "after 7 steps" in screen(at)
    assert not torch.equal(run_of(at).weights, before) and torch.equal(shown.weights, before)


def test_two_viewers_with_the_same_settings_never_share_a_net() -> None:
    one, two = to_heads(train(2)), to_heads(train(2))
    a, b = run_of(one), run_of(two)
    assert a.ask != b.ask and a.ask.net is not b.ask.net and a.family is not b.family
    assert torch.equal(a.weights, b.weights)  # the same experiment gives the same numbers all the same
    with torch.no_grad():
        b.ask.net.theta.mul_(0)
    assert not torch.equal(run_of(one).weights, torch.full((3, 3), 1 / 3)) and run_of(one).ask is not b.ask


def test_settings_beyond_the_net_come_down_to_it_and_the_address_says_so() -> None:
    at = to_heads(train(1), h_arm=3, h_run=200, h_tl=4, h_th=16, h_row=71, h_arm2=3)
    assert_healthy(at)
    values = at.session_state["_values"]
    assert [values[key] for key in ("h_arm", "h_run", "h_tl", "h_th", "h_row", "h_arm2")] == [2, 4, 1, 1, 2, 2]
    assert at.query_params["h_run"] in ("4", ["4"])


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("mask", ["none", "causal", "padding", "window", "prefix"])
def test_every_mask_and_scale_has_rows_that_sum_to_1_or_are_empty(task: str, mask: str) -> None:
    at = to_heads(train(1, tr_task=task, **TASKS[task]), mask=mask, h_pad=2, h_win=0, h_paint=True, h_cells=format_cells(((0, j) for j in range(10)), 10))
    assert_healthy(at)
    values, net = at.session_state["_values"], at.session_state["_trained_heads"].net
    for scale in ("sqrt_dk", "none", "dk", "sqrt_dmodel"):
        shared = settings.Shared(**{**{s.key: values[s.key] for s in settings.SHARED}, "scale": scale})
        run = cached.shown(cached.asked(shared, values.__getitem__, net))
        sums, empty = run.weights.sum(-1), run.hidden.all(-1)
        assert empty[0] and ((sums - 1).abs()[~empty] < 1e-5).all() and (sums[empty] == 0).all()
        assert all(difference <= tolerance for _, difference, tolerance in run.checks)


def test_a_run_that_diverged_is_a_card_or_finite_numbers_and_never_an_error() -> None:
    at = train(1, tr_lr="10", d_k="64")
    player_of(at).trainer.advance(60)
    assert player_of(at).trainer.diverged()
    for arm in (1, 2):
        at = to_heads(at, h_arm=arm)
        assert_healthy(at)
        if words.REASONS["not_finite"].en not in screen(at):
            assert run_of(at).weights.isfinite().all()
        at = go(at, "training")


def test_the_check_turns_red_when_a_head_reads_what_the_net_does_not(monkeypatch) -> None:
    right = trained.states
    monkeypatch.setattr(trained, "states", lambda *given: (right(*given)[0] * 1.01, right(*given)[1]))
    red = [name for name, difference, tolerance in run_of(to_heads(train(1))).checks if not difference <= tolerance]
    assert red == ["net"]


def test_numbers_that_are_not_finite_are_said_to_be_so() -> None:
    at = to_heads(train(1))
    at.session_state["_trained_heads"].net(0, 0).theta.fill_(float("inf"))
    cached.family.cache_clear()
    cached.shown.cache_clear()
    at.run()
    assert_healthy(at)
    assert words.REASONS["not_finite"].en in screen(at)


def test_the_training_page_leads_here_with_run_and_example() -> None:
    at = train(2, tr_task="key_value", tr_run="3", tr_ex="5", **TASKS["key_value"])
    link = next(link.proto for link in at.get("page_link") if link.proto.label == training_words.TO_HEADS.en)
    asked = dict(pair.split("=") for pair in link.query_string.split("&"))
    assert link.page == "heads"
    assert {k: asked.get(k) for k in ("h_src", "h_run", "h_ex", "h_row")} == {"h_src": "trained", "h_run": "3", "h_ex": "5", "h_row": "6"}
    assert training_words.TO_HEADS.en not in [label for _, label in links(open_page("training"))]


@pytest.mark.parametrize("task", TASKS)
def test_the_short_program_prints_the_pages_weights(task: str, tmp_path, monkeypatch) -> None:
    at = to_heads(train(2, tr_task=task, **TASKS[task]), scale="sqrt_dmodel", tau=0.5)
    held = at.session_state["_screen"]
    (tmp_path / "qkv_heads.pt").write_bytes(take_home.as_pt(held))
    monkeypatch.chdir(tmp_path)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(scripts.script("heads", at.session_state["_values"], "en"), "<program>", "exec"), {"__name__": "__main__"})
    run = run_of(at)
    rows = [re.findall(r"\d\.\d{4}", line) for line in out.getvalue().splitlines()[1 : run.T + 1]]
    assert rows == [[f"{x:.4f}" for x in row] for row in run.weights.tolist()]
