"""The training engine, against the lesson's numbers, autograd, torch.optim, finite differences and itself run alone.

Where there is a GPU the same assertions run on it too.
"""
import math

import pytest
import torch
from torch import nn

from qkv_core.attention import scaled_dot_product_attention
from qkv_core.training import gradient_step
from qkv_core.triad import cat_sat
from tests.reference import CAT_SAT_TRAINING, assert_close

T, C, D_K, D_V = 3, 5, 7, 2


def lesson(dtype=torch.float64):
    X, W_q, W_k, W_v, target, _ = cat_sat()
    tenths = (x.to(dtype).mul(10).round().div(10) for x in (W_q, W_k, W_v, X, target))   # 0.1, not float32's 0.1
    return tuple(tenths)


def draw(*runs, seed=0, dtype=torch.float64):
    """W_q, W_k, W_v with run axes, X and target without."""
    g = torch.Generator().manual_seed(seed)
    shapes = (*runs, C, D_K), (*runs, C, D_K), (*runs, C, D_V), (T, C), (T, D_V)
    return tuple(torch.randn(shape, generator=g).to(dtype) for shape in shapes)


def loss_of(W_q, W_k, W_v, X, target, tau=1.0, scale=True):
    output, _ = scaled_dot_product_attention(X @ W_q, X @ W_k, X @ W_v, tau=tau, scale=scale)
    return (output - target).square().mean()


# gradient_step

def test_one_step_gives_the_numbers_of_the_lesson():
    W, loss, norms = gradient_step(*lesson(), lr=0.1)
    expected = CAT_SAT_TRAINING
    assert_close(loss, expected["loss"], 1e-9)
    assert_close(torch.stack(norms), [expected["norm_q"], expected["norm_k"], expected["norm_v"]], 1e-9)
    assert_close(gradient_step(*W, *lesson()[3:], lr=0.1)[1], expected["loss_after_1"], 1e-9)


def test_201_steps_give_the_loss_of_the_lesson():
    *W, X, target = lesson()
    for _ in range(201):
        W, _, _ = gradient_step(*W, X, target, lr=0.1)
    assert_close(gradient_step(*W, X, target, lr=0.1)[1], CAT_SAT_TRAINING["loss_after_201"], 1e-9)


def test_with_uniform_weights_the_loss_stays_above_its_bound():
    # tau so high that every weight is 1/3: the best output is the mean of the targets, whatever W_v is.
    *W, X, target = lesson()
    bound = (target - target.mean(0)).square().mean()
    assert_close(bound, CAT_SAT_TRAINING["floor_uniform_weights"], 5e-4)
    for _ in range(2000):
        W, loss, _ = gradient_step(*W, X, target, lr=0.3, tau=1e9)
    assert_close(loss, bound, 1e-6)


@pytest.mark.parametrize("scale", [True, False, 3.0])
@pytest.mark.parametrize("tau", [0.5, 1.0, 2.0])
def test_the_gradient_written_by_hand_is_that_of_autograd(scale, tau):
    *W, X, target = draw()
    leaves = [w.requires_grad_() for w in W]
    loss = loss_of(*leaves, X, target, tau, scale)
    gradients = torch.autograd.grad(loss, leaves)
    stepped, got, norms = gradient_step(*W, X, target, 0.25, tau, scale)
    assert_close(got, loss, 1e-12)
    for before, after, gradient, norm in zip(W, stepped, gradients, norms):
        assert_close((before - after) / 0.25, gradient, 1e-12)
        assert_close(norm, gradient.norm(), 1e-12)


def test_it_is_what_three_linear_layers_and_torch_optim_do():
    *W, X, target = lesson()
    layers = [nn.Linear(4, 4, bias=False, dtype=torch.float64) for _ in range(3)]
    for layer, w in zip(layers, W):
        layer.weight.data = w.mT.clone()                    # Linear keeps the transpose
    optimizer = torch.optim.SGD([layer.weight for layer in layers], lr=0.1)
    for _ in range(20):
        q, k, v = (layer(X) for layer in layers)
        loss = nn.functional.mse_loss(torch.softmax(q @ k.mT / math.sqrt(4), -1) @ v, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        W, got, _ = gradient_step(*W, X, target, lr=0.1)
        assert_close(got, loss, 1e-12)
    for layer, w in zip(layers, W):
        assert_close(w, layer.weight.mT, 1e-12)


def test_finite_differences_agree():
    *W, X, target = draw(seed=1)
    stepped, _, _ = gradient_step(*W, X, target, lr=1.0)
    h = 1e-6
    for m, (row, column) in ((0, (1, 2)), (1, (4, 6)), (2, (0, 1))):
        losses = []
        for sign in (1, -1):
            moved = [w.clone() for w in W]
            moved[m][row, column] += sign * h
            losses.append(loss_of(*moved, X, target))
        slope = (losses[0] - losses[1]) / (2 * h)
        assert_close((W[m] - stepped[m])[row, column], slope, 1e-8)


def test_runs_share_nothing_each_is_the_run_alone():
    *W, X, target = draw(2, 3)
    stepped, loss, norms = gradient_step(*W, X, target, lr=0.1)
    assert loss.shape == (2, 3) and all(n.shape == (2, 3) for n in norms)
    for a in range(2):
        for s in range(3):
            alone, loss_alone, norms_alone = gradient_step(*(w[a, s] for w in W), X, target, lr=0.1)
            assert_close(loss[a, s], loss_alone, 1e-12)
            assert_close(torch.stack([n[a, s] for n in norms]), torch.stack(norms_alone), 1e-12)
            for together, single in zip(stepped, alone):
                assert_close(together[a, s], single, 1e-12)


def test_vmap_over_runs_gives_the_same():
    *W, X, target = draw(4)
    mapped = torch.func.vmap(lambda q, k, v: torch.func.grad(
        lambda w: loss_of_plain(*w, X, target))((q, k, v)))(*W)
    stepped, _, _ = gradient_step(*W, X, target, lr=0.5)
    for before, after, gradient in zip(W, stepped, mapped):
        assert_close((before - after) / 0.5, gradient, 1e-12)


def loss_of_plain(W_q, W_k, W_v, X, target):
    weights = torch.softmax((X @ W_q) @ (X @ W_k).mT / math.sqrt(W_q.shape[-1]), -1)
    return (weights @ (X @ W_v) - target).square().mean()


def test_each_run_may_have_its_own_rate_input_and_target():
    *W, X, target = draw(2)
    Xs, targets = torch.stack((X, 2 * X)), torch.stack((target, -target))
    stepped, loss, _ = gradient_step(*W, Xs, targets, lr=torch.tensor([0.1, 0.7], dtype=torch.float64))
    for r, lr in enumerate((0.1, 0.7)):
        alone, loss_alone, _ = gradient_step(*(w[r] for w in W), Xs[r], targets[r], lr=lr)
        assert_close(loss[r], loss_alone, 1e-12)
        for together, single in zip(stepped, alone):
            assert_close(together[r], single, 1e-12)


def test_the_inputs_are_not_changed_and_no_graph_is_kept():
    *W, X, target = draw()
    before = [w.clone() for w in W]
    leaves = [w.requires_grad_() for w in W]
    stepped, loss, _ = gradient_step(*leaves, X, target, lr=0.1)
    assert all(torch.equal(w, b) for w, b in zip(W, before))
    assert not loss.requires_grad and not any(w.requires_grad for w in stepped)


def test_shapes_that_do_not_fit_are_named():
    *W, X, target = draw()
    with pytest.raises(ValueError, match=r"W_v \(5, 2\), X \(3, 4\)"):
        gradient_step(*W, X[:, :4], target, lr=0.1)
    with pytest.raises(ValueError, match="same leading axes"):
        gradient_step(W[0].expand(2, C, D_K), W[1], W[2], X, target, lr=0.1)
    with pytest.raises(ValueError, match="tau must be a finite number > 0; got 0"):
        gradient_step(*W, X, target, lr=0.1, tau=0)
    with pytest.raises(ValueError, match="scale must be a finite number > 0; got -1"):
        gradient_step(*W, X, target, lr=0.1, scale=-1)
