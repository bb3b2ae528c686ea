"""Attention, against closed forms, the lesson's numbers, PyTorch's fused kernel and finite differences.

Sizes are distinct primes (B 2, h 3, T_q 5, T_k 7, d_k 11, d_v 13), so that no two axes can be confused unseen.
"""
import math

import pytest
import torch
import torch.nn.functional as F

from qkv_core.attention import (SCALES, AttentionTrace, MultiHeadAttention, ScaledDotProductAttention, attention_trace,
                                divisor, nearest_heads, scaled_dot_product_attention, stable_softmax)
from qkv_core.masks import causal_mask, padding_mask, window_mask
from tests.reference import ANATOMY, assert_close

B, H, T_Q, T_K, D_K, D_V = 2, 3, 5, 7, 11, 13
LEADS = [(), (B,), (B, H), (2, 3, 5)]


def draw(*lead, T_q=T_Q, T_k=T_K, d_k=D_K, d_v=D_V, seed=0, dtype=torch.float32):
    g = torch.Generator().manual_seed(seed)
    shapes = (*lead, T_q, d_k), (*lead, T_k, d_k), (*lead, T_k, d_v)
    return tuple(torch.randn(shape, generator=g).to(dtype) for shape in shapes)


def random_mask(*shape, seed=1):
    """Half True, and one row hidden wholly where there is more than one."""
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < 0.5
    if shape[-2] > 1:
        mask[..., 1, :] = False
    return mask


def notebook(q, k, v):
    """What one would write by hand, with loops over rows and keys."""
    output = torch.zeros(q.shape[0], v.shape[1])
    for i in range(q.shape[0]):
        exps = [math.exp(sum(a * b for a, b in zip(q[i].tolist(), k[j].tolist())) / math.sqrt(q.shape[1]))
                for j in range(k.shape[0])]
        for j, e in enumerate(exps):
            output[i] += e / sum(exps) * v[j]
    return output


# stable_softmax

def test_softmax_of_log_numbers_gives_their_shares():
    assert_close(stable_softmax(torch.tensor([1.0, 2.0, 5.0]).log()), [1 / 8, 2 / 8, 5 / 8], 1e-7)


@pytest.mark.parametrize("shift", [-1e4, 0, 1e4, 3e38])
def test_softmax_does_not_overflow_with_large_scores(shift):
    assert_close(stable_softmax(torch.tensor([shift, shift])), [0.5, 0.5], 0)


def test_softmax_works_along_any_axis():
    x = draw(B)[0]
    for dim in (0, 1, 2, -2):
        assert_close(stable_softmax(x, dim), torch.softmax(x, dim), 1e-7, f"dim {dim}")


def test_softmax_of_nothing_allowed_is_zero_with_a_finite_gradient():
    scores = torch.tensor([[-math.inf, -math.inf], [0.0, -math.inf]], requires_grad=True)
    weights = stable_softmax(scores)
    assert_close(weights, [[0, 0], [1, 0]], 0)
    weights.square().sum().backward()
    assert scores.grad.isfinite().all(), scores.grad


def test_softmax_shares_the_weight_among_infinite_scores_and_keeps_nan_in_its_row():
    weights = stable_softmax(torch.tensor([[math.inf, 1.0, math.inf], [0.0, math.nan, 0.0], [0.0, 0.0, -math.inf]]))
    assert_close(weights[0], [0.5, 0, 0.5], 0)
    assert weights[1].isnan().all()
    assert_close(weights[2], [0.5, 0.5, 0], 0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_softmax_of_4096_equal_half_precision_scores_is_one_share_each(dtype):
    weights = stable_softmax(torch.full((4096,), 3.0, dtype=dtype))
    assert weights.dtype == dtype
    assert (weights == 1 / 4096).all()
    assert abs(weights.float().sum().item() - 1) <= 1e-3


def test_softmax_takes_integers_as_float32_and_refuses_bool_and_complex():
    assert_close(stable_softmax(torch.tensor([3, 3, 1])), torch.softmax(torch.tensor([3.0, 3, 1]), -1), 1e-7)
    for bad in (torch.tensor([True]), torch.tensor([1j])):
        with pytest.raises(ValueError, match="scores must hold real numbers; got torch"):
            stable_softmax(bad)


def test_softmax_gradient_is_the_finite_difference():
    scores = draw(dtype=torch.float64)[0].requires_grad_()
    assert torch.autograd.gradcheck(stable_softmax, (scores,))


# attention: values

@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize("masked", [False, True])
def test_output_is_that_of_the_fused_kernel(lead, masked):
    q, k, v = draw(*lead)
    mask = random_mask(T_Q, T_K) if masked else None
    output, weights = scaled_dot_product_attention(q, k, v, mask)
    assert output.shape == (*lead, T_Q, D_V) and weights.shape == (*lead, T_Q, T_K)
    assert_close(output, F.scaled_dot_product_attention(q, k, v, mask), 1e-6)


@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize("tau, scale", [(1.0, True), (0.1, True), (5.0, False), (0.7, 3.0), (2, 4)])
@pytest.mark.parametrize("mask", [None, random_mask(T_Q, T_K)], ids=["open", "masked"])
def test_fast_and_written_out_attention_are_the_same(lead, tau, scale, mask):
    q, k, v = draw(*lead)
    trace = attention_trace(q, k, v, mask, tau, scale)
    for grad in (False, True):
        output, weights = scaled_dot_product_attention(q.clone().requires_grad_(grad), k, v, mask, tau, scale)
        assert_close(weights, trace.weights, 2e-6, f"weights, grad {grad}")
        assert_close(output, trace.output, 5e-6, f"output, grad {grad}")


@pytest.mark.parametrize("make", [causal_mask, lambda T_q, T_k: random_mask(T_q, T_k),
                                  lambda T_q, T_k: window_mask(max(T_q, T_k), 3)[:T_q, :T_k],
                                  lambda T_q, T_k: torch.zeros(T_q, T_k, dtype=torch.bool)],
                         ids=["causal", "random", "window", "nothing"])
@pytest.mark.parametrize("T_q, T_k", [(257, 257), (521, 263), (769, 787), (256, 512)])
def test_long_attention_by_blocks_is_the_written_out_one(make, T_q, T_k):
    q, k, v = draw(3, T_q=T_q, T_k=T_k)
    mask = make(T_q, T_k)
    trace = attention_trace(q, k, v, mask, 0.7)
    for grad in (False, True):
        output, weights = scaled_dot_product_attention(q.requires_grad_(grad), k, v, mask, 0.7)
        assert output.requires_grad == grad
        assert (weights[:, ~mask] == 0).all()
        assert_close(weights, trace.weights, 2e-6, f"weights, grad {grad}")
        assert_close(output, trace.output, 5e-6, f"output, grad {grad}")


def test_output_is_that_of_loops_over_every_pair():
    q, k, v = draw()
    assert_close(scaled_dot_product_attention(q, k, v)[0], notebook(q, k, v), 1e-6)


@pytest.mark.parametrize("tau, scale, divide_by", [(1.0, True, math.sqrt(D_K)), (0.5, True, 0.5 * math.sqrt(D_K)),
                                                   (1.0, False, 1.0), (5.0, False, 5.0), (0.1, D_K, 0.1 * D_K)])
def test_tau_and_scale_divide_the_scores(tau, scale, divide_by):
    q, k, v = draw(B, H)
    output, weights = scaled_dot_product_attention(q, k, v, tau=tau, scale=scale)
    assert_close(weights, torch.softmax(q @ k.mT / divide_by, -1), 5e-6)
    assert_close(output, F.scaled_dot_product_attention(q, k, v, scale=1 / divide_by), 1e-5)


def test_only_the_product_of_tau_and_divisor_counts():
    q, k, v = draw()
    one = scaled_dot_product_attention(q, k, v, tau=2.0, scale=3.0)[1]
    assert_close(one, scaled_dot_product_attention(q, k, v, tau=6.0, scale=False)[1], 1e-6)


def test_trace_holds_every_step_in_order():
    q, k, v = draw(B, H)
    mask = random_mask(T_Q, T_K)
    trace = attention_trace(q, k, v, mask, tau=0.7, scale=3.0)
    assert list(vars(trace)) == ["q", "k", "v", "raw", "scaled", "masked", "weights", "output"]
    assert_close(trace.raw, q @ k.mT, 0)
    assert_close(trace.scaled, trace.raw / 2.1, 1e-5)
    assert ((trace.masked == -math.inf) == ~mask).all()
    assert_close(trace.masked[..., mask], trace.scaled[..., mask], 0)
    assert_close(trace.weights @ v, trace.output, 0)
    with pytest.raises(AttributeError):
        trace.raw = q


def test_the_inputs_are_left_as_they_were():
    q, k, v = draw(B, H)
    copies = [x.clone() for x in (q, k, v)]
    mask = random_mask(T_Q, T_K)
    kept = mask.clone()
    scaled_dot_product_attention(q, k, v, mask)
    attention_trace(q, k, v, mask)
    assert all(torch.equal(a, b) for a, b in zip((q, k, v, mask), (*copies, kept)))


@pytest.mark.parametrize("sizes", [dict(T_q=1, T_k=1), dict(T_q=1), dict(T_k=1), dict(d_k=1), dict(d_v=1),
                                   dict(T_q=1, T_k=1, d_k=1, d_v=1)])
@pytest.mark.parametrize("lead", [(), (1, 1)])
def test_sizes_of_one_work(sizes, lead):
    q, k, v = draw(*lead, **sizes)
    output, weights = scaled_dot_product_attention(q, k, v)
    assert_close(output, F.scaled_dot_product_attention(q, k, v), 1e-6)
    if k.shape[-2] == 1:
        assert (weights == 1).all()


# attention: masks

def test_causal_mask_hides_the_future_and_an_inverted_one_does_not():
    q, k, v = draw(T_q=3, T_k=3)
    mask = causal_mask(3)

    def future(mask):
        return scaled_dot_product_attention(q, k, v, mask)[1].triu(1).abs().max().item()

    assert future(mask) == 0
    assert future(~mask) > 0.1, "an inverted mask would go unnoticed"
    assert_close(scaled_dot_product_attention(q, k, v, mask)[1][0], [1, 0, 0], 0)


def test_one_new_token_sees_all_five_keys():
    q, k, v = draw(T_q=1, T_k=5)
    _, weights = scaled_dot_product_attention(q, k, v, causal_mask(1, 5))
    assert (weights > 0).all()
    assert_close(weights, scaled_dot_product_attention(q, k, v)[1], 1e-7)


def test_what_is_masked_has_no_influence():
    q, k, v = draw(B, H)
    mask = random_mask(T_Q, T_K)
    mask[:, 4] = False
    before = scaled_dot_product_attention(q, k, v, mask)[0]
    k[..., 4, :], v[..., 4, :] = 1e3, -1e3
    assert_close(scaled_dot_product_attention(q, k, v, mask)[0], before, 0)


@pytest.mark.parametrize("shape", [(T_Q, T_K), (1, 1, T_Q, T_K), (B, 1, 1, T_K), (B, 1, T_Q, T_K), (1, H, T_Q, 1),
                                   (B, H, T_Q, T_K), (1, 1, 1, 1)])
def test_legal_mask_shapes_mean_their_expansion(shape):
    q, k, v = draw(B, H)
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(2)) < 0.6
    full = mask.expand(B, H, T_Q, T_K)
    for f in (scaled_dot_product_attention, lambda *a: (attention_trace(*a).output, attention_trace(*a).weights)):
        output, weights = f(q, k, v, mask)
        assert (weights[~full] == 0).all()
        assert_close(output, F.scaled_dot_product_attention(q, k, v, full), 1e-6)


@pytest.mark.parametrize("lead, T, shape", [
    ((5,), 5, (5, 1)),              # batch = length: would pass for a column of (T, T)
    ((5,), 5, (1, 5)),
    ((5,), 5, (5,)),
    ((5, 5), 5, (5, 5, 5)),         # a per-sequence mask that would be taken as one a head
    ((5, 5), 5, (1, 5, 5)),
    ((B, H), 5, (5, 7)),
    ((B, H), 5, (1, 1, 1, 1, 1)),
    ((B, H), 5, (3, 1, 5, 5)),
])
def test_any_other_mask_shape_is_refused_by_both_names(lead, T, shape):
    q, k, v = draw(*lead, T_q=T, T_k=T)
    for f in (scaled_dot_product_attention, attention_trace):
        with pytest.raises(ValueError) as error:
            f(q, k, v, torch.ones(shape, dtype=torch.bool))
        assert str(tuple(shape)) in str(error.value) and str((*lead, T, T)) in str(error.value)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.uint8])
def test_a_mask_that_is_not_bool_is_refused(dtype):
    q, k, v = draw()
    with pytest.raises(ValueError, match=f"mask must be bool, True may attend; got {dtype}"):
        scaled_dot_product_attention(q, k, v, torch.ones(T_Q, T_K, dtype=dtype))


@pytest.mark.parametrize("f", [lambda *a: scaled_dot_product_attention(*a)[::-1],
                               lambda *a: (attention_trace(*a).weights, attention_trace(*a).output)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_a_row_with_nothing_to_attend_to_is_zero_forward_and_backward(f, dtype):
    q, k, v = (x.requires_grad_() for x in draw(B, H, dtype=dtype))
    mask = torch.ones(T_Q, T_K, dtype=torch.bool)
    mask[1] = False
    weights, output = f(q, k, v, mask)
    assert (weights[..., 1, :] == 0).all() and (output[..., 1, :] == 0).all()
    others = [0, 2, 3, 4]
    assert_close(weights[..., others, :].sum(-1), torch.ones(B, H, 4), 1e-6)
    (output.float().square().sum() + weights.square().sum()).backward()
    for x in (q, k, v):
        assert x.grad.isfinite().all()
    assert (q.grad[..., 1, :] == 0).all() and q.grad[..., others, :].any()


def test_every_row_hidden_is_all_zero_without_gradient_too():
    output, weights = scaled_dot_product_attention(*draw(), torch.zeros(T_Q, T_K, dtype=torch.bool))
    assert not weights.any() and not output.any()


# attention: temperature and scale

@pytest.mark.parametrize("tau", [1e-300, 1e-39, 1e-3, 0.1, 1.0, 5.0, 1e30, 1e300])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("masked", [False, True])
def test_any_legal_tau_gives_rows_of_one_in_the_order_of_the_scores(tau, dtype, masked):
    q, k, v = draw(B, H, dtype=dtype)
    mask = causal_mask(T_Q, T_K) if masked else None
    for weights in (scaled_dot_product_attention(q, k, v, mask, tau)[1], attention_trace(q, k, v, mask, tau).weights):
        assert weights.isfinite().all()
        assert_close(weights.double().sum(-1), torch.ones(B, H, T_Q), 1e-6)
        raw = q.double() @ k.double().mT
        order = (raw if mask is None else raw.masked_fill(~mask, -math.inf)).argsort(-1)
        assert (weights.gather(-1, order).diff(dim=-1) >= -1e-7).all(), "the order of the scores was reversed"


@pytest.mark.parametrize("tau", [1e-300, 1e-39, 1e-6])
def test_the_limit_of_tau_shares_ties_evenly_even_between_different_keys(tau):
    q = torch.tensor([[1.0, 2.0, 0.3, 0.7]])
    k = torch.tensor([[3.0, 0, 0, 0], [1, 1, 0, 0], [1, 0, 0, 0]])              # scores 3, 3, 1
    v = torch.eye(3)
    for output in (scaled_dot_product_attention(q, k, v, tau=tau)[0], attention_trace(q, k, v, tau=tau).output):
        assert_close(output, [[0.5, 0.5, 0]], 0)


@pytest.mark.parametrize("grad", [False, True])
def test_scores_that_tie_exactly_share_the_weight_exactly(grad):
    # Whole numbers have exact products, so many of the 40 scores tie; scaling before or inside the product, by a
    # factor that is no power of 2, would round the ties apart.
    g = torch.Generator().manual_seed(0)
    q, k = (torch.randint(-3, 4, (n, 12), generator=g).float() for n in (5, 40))
    raw = (q.long() @ k.long().T)
    ties = raw == raw.amax(-1, keepdim=True)
    assert (ties.sum(-1) > 1).any()
    q.requires_grad_(grad)
    for mask in (None, torch.ones(5, 40, dtype=torch.bool)):
        for weights in (scaled_dot_product_attention(q, k, k, mask, 1e-39)[1],
                        attention_trace(q, k, k, mask, 1e-39).weights):
            assert_close(weights, ties / ties.sum(-1, keepdim=True), 1e-7)


def test_infinite_temperature_is_the_mean():
    q, k, v = draw()
    assert_close(scaled_dot_product_attention(q, k, v, tau=1e30)[0], v.mean(0).expand(T_Q, D_V), 1e-6)


@pytest.mark.parametrize("bad", [0, 0.0, -1, -0.1, math.nan, math.inf, True, 1j, "1", None, 10 ** 400])
def test_a_tau_that_is_not_a_positive_number_is_refused_with_its_value(bad):
    for f in (scaled_dot_product_attention, attention_trace):
        with pytest.raises(ValueError, match="tau must be a finite number > 0; got") as error:
            f(*draw(), tau=bad)
        assert repr(bad) in str(error.value)


@pytest.mark.parametrize("bad", [0, -1.0, math.nan, math.inf, "sqrt_dk", None])
def test_a_scale_that_is_not_a_positive_number_is_refused_with_its_value(bad):
    for f in (lambda: scaled_dot_product_attention(*draw(), scale=bad), lambda: ScaledDotProductAttention(bad)):
        with pytest.raises(ValueError, match="scale must be a finite number > 0; got") as error:
            f()
        assert repr(bad) in str(error.value)


def test_the_four_scales_by_name():
    assert [divisor(name, 16, 64) for name in SCALES] == [4.0, 1.0, 16.0, 8.0]
    with pytest.raises(ValueError, match="one of sqrt_dk, none, dk, sqrt_dmodel; got 'sqrt'"):
        divisor("sqrt", 16, 64)
    with pytest.raises(ValueError, match="d_k must be a finite number > 0; got 0"):
        divisor("sqrt_dk", 0, 64)


# attention: dtypes

@pytest.mark.parametrize("dtype, within", [(torch.float16, 1e-3), (torch.bfloat16, 1e-2)])
@pytest.mark.parametrize("mask", [None, causal_mask(T_Q, T_K)], ids=["open", "causal"])
def test_half_precision_goes_in_and_out_and_is_summed_in_float32(dtype, within, mask):
    q, k, v = draw(B, H, dtype=dtype)
    output, weights = scaled_dot_product_attention(q, k, v, mask)
    assert output.dtype == dtype and weights.dtype == torch.float32
    assert_close(weights.sum(-1), torch.ones(B, H, T_Q), 1e-6)
    exact = scaled_dot_product_attention(q.double(), k.double(), v.double(), mask)
    assert_close(weights, exact[1], 1e-6)
    assert_close(output, exact[0], within)
    trace = attention_trace(q, k, v, mask)
    assert trace.output.dtype == dtype and trace.weights.dtype == torch.float32
    assert mask is None or (weights[..., ~mask] == 0).all()


def test_products_beyond_the_range_of_float16_do_not_overflow():
    q = torch.full((1, 4), 200.0, dtype=torch.float16)                          # q.k = 160,000 > 65,504
    k = torch.cat([q, q / 2])
    _, weights = scaled_dot_product_attention(q, k, k)
    assert_close(weights, [[1, 0]], 0)


def test_float64_stays_float64():
    q, k, v = draw(dtype=torch.float64)
    output, weights = scaled_dot_product_attention(q, k, v)
    assert output.dtype == weights.dtype == torch.float64
    assert_close(output, F.scaled_dot_product_attention(q, k, v), 1e-14)


def test_integers_are_taken_as_float32():
    q, k, v = (torch.arange(6).reshape(3, 2) for _ in range(3))
    output, weights = scaled_dot_product_attention(q, k, v)
    assert output.dtype == weights.dtype == attention_trace(q, k, v).output.dtype == torch.float32
    assert_close(output, F.scaled_dot_product_attention(q.float(), k.float(), v.float()), 1e-6)


@pytest.mark.parametrize("changed, message", [
    (dict(k=(T_K, 3)), "same d_k, got 11 and 3"),
    (dict(v=(3, D_V)), "same T_k, got 7 and 3"),
    (dict(q=(2, T_Q, D_K)), "same leading axes: q (2, 5, 11), k (7, 11), v (7, 13)"),
    (dict(q=(D_K,)), "at least two axes, (tokens, channels); got q (11,)"),
    (dict(q=(T_Q, 0), k=(T_K, 0)), "T_k and d_k must be at least 1"),
    (dict(k=(0, D_K), v=(0, D_V)), "T_k and d_k must be at least 1"),
])
def test_sizes_that_do_not_fit_are_refused_by_name(changed, message):
    shapes = dict(q=(T_Q, D_K), k=(T_K, D_K), v=(T_K, D_V)) | changed
    for f in (scaled_dot_product_attention, attention_trace):
        with pytest.raises(ValueError) as error:
            f(*(torch.zeros(shape) for shape in shapes.values()))
        assert message in str(error.value)


def test_mixed_bool_and_complex_inputs_are_refused():
    q, k, v = draw()
    with pytest.raises(ValueError, match="same dtype; got torch.float32, torch.float64, torch.float32"):
        scaled_dot_product_attention(q, k.double(), v)
    with pytest.raises(ValueError, match="q must hold real numbers; got torch.bool"):
        scaled_dot_product_attention(q > 0, k > 0, v > 0)


# attention: gradients

@pytest.mark.parametrize("mask", [None, random_mask(T_Q, T_K)], ids=["open", "with an empty row"])
@pytest.mark.parametrize("f", [scaled_dot_product_attention,
                               lambda *a: (attention_trace(*a).output, attention_trace(*a).weights)])
def test_gradient_is_the_finite_difference(f, mask):
    q, k, v = (x.requires_grad_() for x in draw(B, dtype=torch.float64))
    assert torch.autograd.gradcheck(lambda q, k, v: f(q, k, v, mask, 0.7), (q, k, v))


# modules

def test_the_module_without_parameters_is_the_function():
    q, k, v = draw(B, H)
    mask = random_mask(T_Q, T_K)
    for scale in (True, False, 3.0):
        layer = ScaledDotProductAttention(scale)
        assert not list(layer.parameters()) and f"scale={scale}" in repr(layer)
        for got, expected in zip(layer(q, k, v, mask), scaled_dot_product_attention(q, k, v, mask, scale=scale)):
            assert_close(got, expected, 0)


def tokens(*shape, seed=3):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("mask", [None, causal_mask(5), padding_mask([5, 2], 5), padding_mask([3, 0], 5),
                                  causal_mask(5) & padding_mask([5, 2], 5)],
                         ids=["open", "(T, T)", "(B, 1, 1, T)", "an empty sequence", "(B, 1, T, T)"])
def test_multi_head_attention_is_pytorchs_with_the_same_weights(mask):
    B, T, C, h = 2, 5, 21, 3
    ours, x = MultiHeadAttention(C, h), tokens(2, 5, 21)
    theirs = torch.nn.MultiheadAttention(C, h, bias=False, batch_first=True)
    theirs.load_state_dict({"in_proj_weight": ours.W_qkv.weight, "out_proj.weight": ours.W_o.weight})
    output, weights = ours(x, mask)
    assert output.shape == (B, T, C) and weights.shape == (B, h, T, T)
    hidden = None if mask is None else ~mask.expand(B, h, T, T).reshape(B * h, T, T)     # there True is left out
    expected, expected_weights = theirs(x, x, x, attn_mask=hidden, average_attn_weights=False)
    seen = torch.ones(B, T, dtype=torch.bool) if mask is None else mask.expand(B, h, T, T)[:, 0].any(-1)
    assert_close(output[seen], expected[seen], 1e-6)
    assert_close(weights[:, 0][seen], expected_weights[:, 0][seen], 1e-6)
    assert not output[~seen].any() and not weights.transpose(1, 2)[~seen].any()


def test_multi_head_attention_is_one_attention_a_head():
    C, h = 21, 3
    layer, x = MultiHeadAttention(C, h), tokens(2, 5, 21)
    W_q, W_k, W_v = (W.T for W in layer.W_qkv.weight.chunk(3))
    parts, d_k = [], C // h
    for i in range(h):
        cut = slice(i * d_k, (i + 1) * d_k)
        parts.append(scaled_dot_product_attention(x @ W_q[:, cut], x @ W_k[:, cut], x @ W_v[:, cut], tau=0.5)[0])
    assert_close(layer(x, tau=0.5)[0], torch.cat(parts, -1) @ layer.W_o.weight.T, 1e-6)


def test_the_anatomy_notebook_of_seed_42():
    g = torch.Generator().manual_seed(42)
    x = torch.randn(2, 5, 12, generator=g)
    _, weights = MultiHeadAttention(12, 3, generator=g)(x)
    assert_close(weights[0, 0, 0], ANATOMY["weights_0_0_row_0"], 5.1e-5)


def test_weights_in_training_mode_sum_to_one_and_repeat():
    layer, x = MultiHeadAttention(21, 3).train(), tokens(2, 5, 21)
    first = layer(x)[1]
    assert_close(first.sum(-1), torch.ones(2, 3, 5), 1e-6)
    assert all(torch.equal(layer(x)[1], first) for _ in range(5))


@pytest.mark.parametrize("B, T, C, h", [(1, 1, 1, 1), (1, 5, 7, 7), (3, 1, 6, 2), (2, 5, 7, 1)])
def test_multi_head_attention_with_sizes_of_one(B, T, C, h):
    output, weights = MultiHeadAttention(C, h)(tokens(B, T, C))
    assert output.shape == (B, T, C)
    assert_close(weights.sum(-1), torch.ones(B, h, T), 1e-6)


def test_first_weights_come_from_the_given_generator_and_leave_the_global_one_alone():
    state = torch.random.get_rng_state()
    one, two = MultiHeadAttention(6, 2), MultiHeadAttention(6, 2)
    other = MultiHeadAttention(6, 2, torch.Generator().manual_seed(1))
    assert torch.equal(torch.random.get_rng_state(), state), "the global generator was drawn from"
    assert torch.equal(one.W_qkv.weight, two.W_qkv.weight) and torch.equal(one.W_o.weight, two.W_o.weight)
    assert not torch.equal(one.W_qkv.weight, other.W_qkv.weight)
    assert all(p.abs().max() <= 6 ** -0.5 and p.isfinite().all() for p in one.parameters())
    assert [name for name, _ in one.named_parameters()] == ["W_qkv.weight", "W_o.weight"]


def test_gradients_reach_every_weight():
    layer = MultiHeadAttention(6, 2)
    layer(tokens(2, 5, 6), causal_mask(5))[0].square().sum().backward()
    assert all(p.grad.isfinite().all() and p.grad.any() for p in layer.parameters())


@pytest.mark.parametrize("C, h, legal", [(24, 16, "12 or 24"), (1600, 48, "40 or 50"), (10, 3, "2 or 5"),
                                         (7, 9, "legal heads: 7")])
def test_heads_that_do_not_divide_are_refused_with_the_nearest_that_do(C, h, legal):
    with pytest.raises(ValueError) as error:
        MultiHeadAttention(C, h)
    assert f"d_model = {C}" in str(error.value) and f"heads = {h}" in str(error.value) and legal in str(error.value)


@pytest.mark.parametrize("C, h", [(0, 1), (8, 0), (8, -2), (8, 2.0), (8, True)])
def test_sizes_that_are_not_counts_are_refused(C, h):
    with pytest.raises(ValueError, match="must be a whole number >= 1; got"):
        MultiHeadAttention(C, h)


def test_nearest_heads_of_a_legal_number_is_itself():
    assert nearest_heads(12, 3) == (3,) and nearest_heads(12, 5) == (4, 6) and nearest_heads(12, 99) == (12,)


@pytest.mark.parametrize("shape", [(5, 6), (2, 5, 7), (1, 2, 5, 6)])
def test_an_x_of_another_shape_is_refused(shape):
    with pytest.raises(ValueError, match=r"x must be \(B, T, C\) with C = 6; got"):
        MultiHeadAttention(6, 2)(torch.zeros(shape))


def test_a_three_axis_mask_is_refused_for_heads_even_when_it_would_broadcast():
    with pytest.raises(ValueError, match=r"\(2, 5, 5\).*\(2, 2, 5, 5\)"):
        MultiHeadAttention(6, 2)(tokens(2, 5, 6), torch.ones(2, 5, 5, dtype=torch.bool))


def test_the_trace_is_a_record():
    assert isinstance(attention_trace(*draw()), AttentionTrace)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
def test_a_gpu_gives_the_same_weights():
    q, k, v = draw(B, H)
    mask = random_mask(T_Q, T_K)
    output, weights = scaled_dot_product_attention(q.cuda(), k.cuda(), v.cuda(), mask)
    expected = scaled_dot_product_attention(q, k, v, mask)
    assert_close(weights.cpu(), expected[1], 1e-4)
    assert_close(output.cpu(), expected[0], 1e-4)
