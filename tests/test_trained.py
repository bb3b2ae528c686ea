"""Heads of trained nets: every matrix is the one that the net itself computes at that step, and a lens is named."""

from __future__ import annotations

import math

import pytest
import torch

from qkv_core import trained
from qkv_core.experiment import Arm
from qkv_core.heads import layer_reach
from qkv_core.masks import causal_mask
from qkv_core.tasks import TASKS
from qkv_core.trained import Trained
from qkv_core.training import Trainer

ARMS = (Arm("first", "sqrt_dk"), Arm("second", "none"), Arm("third", "sqrt_dmodel", tau=0.5))
SIZES = (("cat_sat", 8, 2, None), ("reverse", 16, 4, 2), ("key_value", 16, 1, None), ("look_up", 16, 2, None), ("agreement", 16, 1, None))


def trainer(task: str, d_k: int, heads: int, layers: int | None, steps: int = 12, **more) -> Trainer:
    made = Trainer(task, d_k, heads, layers=layers, arms=ARMS, seeds=(3, 4), device="cpu", **more)
    made.advance(steps)
    return made


def of(made: Trainer, arm: int = 0, seed: int = 0, step: int | None = None) -> Trained:
    step, theta, *_ = made.weights_at(step, arm, seed)
    return Trained(made.config, arm, seed, step, theta)


def own_traces(run: Trained, layer: int, example: int = 0):
    return trained.layer_traces(run, layer, example, run.net.allowed(), run.tau, run.divisor)


@pytest.mark.parametrize("task, d_k, heads, layers", SIZES)
@pytest.mark.parametrize("mask", ["none", "causal", "window"])
def test_every_head_of_every_layer_is_what_the_net_itself_computes_at_that_step(task, d_k, heads, layers, mask) -> None:
    made = trainer(task, d_k, heads, layers, mask=mask)
    for arm in range(3):
        for step in (0, 5, 12):
            moment = made.at(step, arm, 1, 7)
            run = of(made, arm, 1, step)
            assert run.step == moment.step == step and run.moment(7).tokens == moment.tokens
            assert len(moment.weights) == run.net.layers
            for layer, weights in enumerate(moment.weights, 1):
                found = own_traces(run, layer, 7)
                assert len(found) == heads
                for head, theirs in zip(found, weights, strict=True):
                    largest = (head.trace.weights - theirs).abs().max().item()
                    assert largest < 1e-5, (arm, step, layer, head.head, largest)
                    assert head.tokens == moment.tokens and head.notes == ()
                    assert torch.equal(head.X @ head.W_q, head.trace.q)


@pytest.mark.parametrize("task, d_k, heads, layers", SIZES)
def test_the_last_layer_put_together_gives_the_answer_of_the_net(task, d_k, heads, layers) -> None:
    run = of(trainer(task, d_k, heads, layers), 1)
    moment, last = run.moment(2), run.net.layers
    put = trained.together(own_traces(run, last, 2))
    x, _ = trained.states(run, last - 1, 2)
    assert put.output.shape == (run.net.T, run.net.C) and put.difference < 1e-5
    if run.net.task is None:
        assert (put.output - moment.output).abs().max() < 1e-5
        return
    logits = ((x + put.output) @ run.net.unpack(run.theta[None])["W_out"][0])[-run.net.answers:]
    assert (logits.softmax(-1) - moment.output).abs().max() < 1e-5


def test_the_weights_do_not_change_when_the_training_goes_on() -> None:
    made = trainer("reverse", 16, 1, None)
    for step in (None, 5):
        run = of(made, 0, 0, step)
        before = run.theta.clone()
        made.advance(3)
        assert torch.equal(run.theta, before) and run.step < made.step


def test_a_lens_is_named_acts_on_its_head_alone_and_what_was_trained_is_none() -> None:
    run = of(trainer("look_up", 16, 1, None), 0)
    allowed = run.net.allowed()
    assert torch.equal(run.own_mask(), causal_mask(10)) and torch.equal(allowed, run.own_mask())
    assert of(trainer("reverse", 16, 1, None)).own_mask() is None
    for mask, tau, scale in ((None, 1.0, True), (allowed, 2.0, True), (allowed, 1.0, False)):
        lens = trained.layer_traces(run, 2, 0, mask, tau, scale)[0]
        assert lens.notes == ("lens",)
        assert torch.equal(lens.X, own_traces(run, 2)[0].X)  # the layer below runs as trained
    assert trained.layer_traces(run, 2, 0, allowed, 1.0, True)[0].notes == ()
    assert math.isclose(of(trainer("look_up", 16, 2, None), 2).divisor, math.sqrt(32)) and of(trainer("look_up", 16, 1, None), 2).tau == 0.5


def test_the_reach_is_that_of_the_full_jacobian_and_0_where_the_task_forbids() -> None:
    run = of(trainer("look_up", 16, 2, None), 0)
    head = own_traces(run, 2)[1]
    found = layer_reach(head, 4, run.tau, run.divisor)

    def output(x):
        scores = ((x @ head.W_q) @ (x @ head.W_k).T / run.divisor).masked_fill(~head.mask, -torch.inf)
        return (scores.softmax(-1) @ (x @ head.W_v))[4]

    full = torch.autograd.functional.jacobian(output, head.X)
    assert (found.norms[0] - full.square().sum((0, 2)).sqrt()).abs().max() < 1e-4
    assert found.leak == 0 and found.norms[0, 5:].abs().max() == 0 and not found.allowed[0, 5:].any()


def test_a_layer_that_is_not_there_is_refused() -> None:
    run = of(trainer("key_value", 16, 1, None))
    with pytest.raises(ValueError, match="layer must be .*1; got 2"):
        trained.layer_traces(run, 2)
    assert {t.key for t in TASKS.values()} == {size[0] for size in SIZES[1:]}
