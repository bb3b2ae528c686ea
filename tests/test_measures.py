"""Entropy, peak and the softmax Jacobian, against closed forms and float64 autograd."""
import math

import pytest
import torch

from qkv_core.measures import effective_keys, entropy, jacobian, jacobian_norm, peak
from tests.reference import assert_close

N = 7


def scores(scale=1.0, rows=101, n=16, seed=0, dtype=torch.float32):
    return (torch.randn(rows, n, generator=torch.Generator().manual_seed(seed)) * scale).to(dtype)


def exact_norm(a):
    """The norm in float64 from all pairs, with 1 - a_i as the sum of the others: nothing cancels at any scale."""
    a = a.double()
    off = (a[..., :, None] * a[..., None, :]) * (1 - torch.eye(a.shape[-1], dtype=torch.float64))
    return (off.sum(-1).square().sum(-1) + off.square().sum((-2, -1))).sqrt()


def autograd_norm(x):
    """The norm of the Jacobian that float64 autograd builds, row by row; at logit scale 10 it cancels as well."""
    return torch.stack([torch.autograd.functional.jacobian(lambda r: torch.softmax(r, -1), row).norm()
                        for row in x.double()])


def short_form(a):
    """The formula that cancels: here to show that the test below can fail."""
    return (a.square().sum(-1) - 2 * a.pow(3).sum(-1) + a.square().sum(-1).square()).clamp(min=0).sqrt()


def relative(got, expected):
    return ((got.double() - expected) / expected).abs().nan_to_num(nan=math.inf).max().item()


def test_uniform_rows_have_the_entropy_ln_n_and_n_effective_keys():
    a = torch.full((2, 3, N), 1 / N)
    assert_close(entropy(a), torch.full((2, 3), math.log(N)), 1e-6)
    assert_close(effective_keys(a), torch.full((2, 3), float(N)), 1e-5)
    assert_close(peak(a), torch.full((2, 3), 1 / N), 1e-7)


def test_a_row_on_one_key_has_entropy_zero_and_one_effective_key():
    a = torch.eye(N)
    assert (entropy(a) == 0).all() and not entropy(a).signbit().any()
    assert (effective_keys(a) == 1).all() and (peak(a) == 1).all()


def test_entropy_by_hand():
    assert_close(entropy(torch.tensor([0.5, 0.25, 0.25, 0.0])), 1.5 * math.log(2), 1e-7)


def test_a_row_with_nothing_to_attend_to_is_zero_in_every_measure():
    a = torch.zeros(2, N)
    for measure in (entropy, effective_keys, peak, jacobian_norm):
        assert_close(measure(a), [0, 0], 0, measure.__name__)
    assert not jacobian(a).any()


def test_entropy_has_a_finite_gradient_where_a_weight_is_zero():
    a = torch.tensor([0.5, 0.5, 0.0], requires_grad=True)
    entropy(a).backward()
    assert a.grad.isfinite().all(), a.grad


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_measured_in_float32(dtype):
    a = torch.full((4096,), 1 / 4096, dtype=dtype)
    assert entropy(a).dtype == torch.float32
    assert_close(entropy(a), math.log(4096), 1e-5)
    assert_close(jacobian_norm(a), math.sqrt((1 - 1 / 4096) / 4096), 1e-8)
    assert_close(jacobian_norm(scores(dtype=dtype).softmax(-1)), autograd_norm(scores(dtype=dtype)), 1e-2)


def test_float64_stays_float64():
    assert {f(scores(dtype=torch.float64).softmax(-1)).dtype for f in (entropy, peak, effective_keys, jacobian,
                                                                       jacobian_norm)} == {torch.float64}


@pytest.mark.parametrize("measure", [entropy, effective_keys, peak, jacobian,
                                     lambda a: jacobian_norm(a, from_scores=False)])
def test_scores_given_as_weights_are_refused(measure):
    with pytest.raises(ValueError, match="weights must lie between 0 and 1; got -3 to 2. Are these scores?"):
        measure(torch.tensor([2.0, -3.0]))


def test_nan_shows_up_in_the_result():
    assert all(f(torch.tensor([math.nan, 0.5])).isnan().all() for f in (entropy, peak, jacobian, jacobian_norm))


def test_jacobian_is_that_of_autograd():
    x = scores(2.0, rows=1, n=N, dtype=torch.float64)[0]
    expected = torch.autograd.functional.jacobian(lambda r: torch.softmax(r, -1), x)
    assert_close(jacobian(torch.softmax(x, -1)), expected, 1e-15)


def test_jacobian_rows_sum_to_zero_and_its_norm_is_jacobian_norm():
    a = torch.softmax(scores(3.0).reshape(101, 2, 8), -1)
    J = jacobian(a)
    assert J.shape == (101, 2, 8, 8)
    assert_close(J.sum(-1), torch.zeros(101, 2, 8), 1e-7)
    assert_close(J, J.mT, 0)
    assert_close(J.norm(dim=(-2, -1)), jacobian_norm(a), 1e-6)


@pytest.mark.parametrize("scale", [0.0, 0.1, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("n", [2, 16, 101])
@pytest.mark.parametrize("from_scores", [True, False])
def test_jacobian_norm_is_right_to_a_millionth_up_to_logit_scale_ten(scale, n, from_scores):
    x = scores(scale, n=n)
    a = torch.softmax(x.double() if from_scores else x, -1)
    got = jacobian_norm(x if from_scores else a, from_scores)
    assert got.dtype == torch.float32
    worst = relative(got, exact_norm(a))
    assert worst <= 1e-6, f"largest relative difference {worst:.2g}"


@pytest.mark.parametrize("scale", [0.1, 1.0, 3.0])
def test_the_exact_norm_is_that_of_autograd_where_autograd_can_tell(scale):
    x = scores(scale)
    assert relative(exact_norm(torch.softmax(x.double(), -1)), autograd_norm(x)) <= 1e-12


def test_the_short_form_would_fail_that_test():
    a = torch.softmax(scores(10.0), -1)
    assert relative(short_form(a), exact_norm(a)) > 0.1


@pytest.mark.parametrize("gap", [1.0, 10.0, 40.0, 80.0])
def test_two_keys_have_the_norm_2_p_1_minus_p(gap):
    expected = 2 * math.exp(-gap) / (1 + math.exp(-gap)) ** 2
    for got in (jacobian_norm(torch.tensor([0.0, gap]), from_scores=True),
                jacobian_norm(torch.softmax(torch.tensor([0.0, gap]), -1), from_scores=False)):
        assert relative(got, torch.tensor(expected, dtype=torch.float64)) <= 1e-6


def test_equal_keys_have_the_norm_of_a_projection():
    for n in (1, 2, 16):
        assert_close(jacobian_norm(torch.full((n,), 1 / n)), math.sqrt((n - 1) / n ** 2), 1e-7, f"n {n}")


def test_weights_and_scores_are_told_apart_or_named():
    x = scores()
    a = torch.softmax(x, -1)
    assert_close(jacobian_norm(x), jacobian_norm(x, from_scores=True), 0)
    assert_close(jacobian_norm(a), jacobian_norm(a, from_scores=False), 0)
    a[3] = 0                                                # a masked row among weights
    assert_close(jacobian_norm(a), jacobian_norm(a, from_scores=False), 0)
    # The chance resemblance that the keyword is there for.
    zeros = torch.zeros(4)
    assert jacobian_norm(zeros) == 0
    assert_close(jacobian_norm(zeros, from_scores=True), math.sqrt(3) / 4, 1e-7)
    assert_close(jacobian_norm(torch.tensor([3, 3, 1])), jacobian_norm(torch.tensor([3.0, 3, 1])), 0)


def test_masked_scores_count_only_what_is_allowed():
    x = torch.tensor([[1.0, 2.0, -math.inf], [-math.inf] * 3])
    assert_close(jacobian_norm(x, from_scores=True)[0], jacobian_norm(x[0, :2], from_scores=True), 1e-7)
    assert jacobian_norm(x, from_scores=True)[1] == 0
