"""The small example: the lesson's numbers, and the proofs that the page shows, each of which must be able to fail."""
import dataclasses
import math

import pytest
import torch

from qkv_core.attention import attention_trace
from qkv_core.masks import causal_mask
from qkv_core.triad import (CatSat, Triad, batch_shapes, cat_sat, cell_arithmetic, convex_check, kernel_difference,
                            output_terms, project, random_batch, random_triad, seed42_dots, seed42_notebook,
                            what_moves, without_key)
from tests.reference import CAT_SAT, SEED_42, SEED_42_DOTS, assert_close

T, C, D_K, D_V = 5, 7, 11, 13


def cat_trace(**options):
    return attention_trace(*project(*cat_sat()[:4]), **options)


def random_trace(seed=0, mask=None, **options):
    return attention_trace(*project(*random_triad(T, C, D_K, D_V, seed)[:4]), mask, **options)


def one_row_empty():
    mask = causal_mask(T)
    mask[2] = False
    return mask


# the given numbers

@pytest.mark.parametrize("quantity, within", [("raw", 5.1e-5), ("scaled", 1e-6), ("weights", 1e-6), ("output", 1e-6)])
def test_the_cat_sat_gives_the_lessons_numbers(quantity, within):
    assert_close(getattr(cat_trace(), quantity), CAT_SAT[quantity], within, quantity)


def test_the_cat_sat_is_float32_labelled_and_fresh_at_each_call():
    one = cat_sat()
    assert isinstance(one, CatSat) and one.tokens == ("The", "cat", "sat")
    assert [tuple(x.shape) for x in one[:5]] == [(3, 4), (4, 4), (4, 4), (4, 4), (3, 4)]
    assert {x.dtype for x in one[:5]} == {torch.float32}
    one.X.zero_()
    assert cat_sat().X.any(), "a change to one copy reached the next"


def test_a_random_triad_has_its_sizes_and_repeats_by_seed():
    one, two, other = (random_triad(T, C, D_K, D_V, seed) for seed in (3, 3, 4))
    assert isinstance(one, Triad) and one.tokens == ("x1", "x2", "x3", "x4", "x5")
    assert [tuple(x.shape) for x in one[:5]] == [(T, C), (C, D_K), (C, D_K), (C, D_V), (T, D_V)]
    assert all(torch.equal(a, b) and a.dtype == torch.float32 for a, b in zip(one[:5], two[:5]))
    assert not any(torch.equal(a, b) for a, b in zip(one[:5], other[:5]))


def test_a_random_triad_leaves_the_global_generator_alone():
    state = torch.random.get_rng_state()
    random_triad(T, C, D_K, D_V, 0), random_batch(2, 3, T, D_K, D_V, 0), seed42_notebook()
    assert torch.equal(torch.random.get_rng_state(), state)


def test_entries_of_q_k_and_v_have_unit_variance():
    # One entry of q, k and v each from 4,000 seeds: independent draws of sum_c X_c W_c with C = 7, whose kurtosis is
    # 3 + 6/C, so the variance has a relative standard error of sqrt((2 + 6/C) / n); 4 of them.
    n = 4_000
    first = torch.tensor([[part[0, 0] for part in project(*random_triad(1, C, 1, 1, seed)[:4])] for seed in range(n)])
    assert_close(first.var(0), [1, 1, 1], 4 * math.sqrt((2 + 6 / C) / n), "variance of q, k, v")


@pytest.mark.parametrize("sizes, name", [((0, 1, 1, 1), "T"), ((1, 0, 1, 1), "C"), ((1, 1, 2.0, 1), "d_k"),
                                         ((1, 1, 1, -1), "d_v")])
def test_sizes_that_are_not_counts_are_refused(sizes, name):
    with pytest.raises(ValueError, match=f"{name} must be a whole number >= 1; got"):
        random_triad(*sizes, seed=0)


def test_projections_that_do_not_fit_are_refused():
    X, W_q, W_k, W_v, *_ = random_triad(T, C, D_K, D_V, 0)
    with pytest.raises(ValueError, match=r"W_v needs C = 7 rows, as X \(5, 7\) has columns; got \(13, 7\)"):
        project(X, W_q, W_k, W_v.T)
    with pytest.raises(ValueError, match="W_q and W_k need the same d_k, got 11 and 13"):
        project(X, W_q, W_v, W_v)


# the notebook's stream

def test_the_notebook_of_seed_42():
    shown = seed42_notebook()
    trace = shown.trace
    assert_close(trace.scaled[0], SEED_42["scaled_row_0"], 5.1e-4, "scaled row 0")
    assert_close(trace.weights[0], SEED_42["weights_row_0"], 5.1e-5, "weights row 0")
    assert_close(trace.weights[3], SEED_42["weights_row_3"], 5.1e-5, "weights row 3")
    assert_close(trace.output[0], SEED_42["output_row_0"], 5.1e-5, "output row 0")
    assert_close(shown.X @ shown.W_q, trace.q, 1e-6)


def test_the_private_stream_is_the_global_one():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(42)
        X = torch.randn(4, 12)
        layers = [torch.nn.Linear(12, 4, bias=False) for _ in range(3)]
    shown = seed42_notebook()
    assert torch.equal(shown.X, X)
    for name, layer in zip(("W_q", "W_k", "W_v"), layers):
        assert torch.equal(getattr(shown, name), layer.weight.T), name


def test_the_dot_products_that_follow_seed_42():
    dots = seed42_dots()
    assert dots.d_k == SEED_42_DOTS["d_k"] and dots.n == 10_000
    assert_close(dots.unscaled, SEED_42_DOTS["unscaled"], 1e-4, "variances")
    assert_close(dots.scaled, SEED_42_DOTS["scaled"], 5.1e-5, "scaled variances")
    assert_close(dots.peak_unscaled, SEED_42_DOTS["peak_unscaled"], 5.1e-5)
    assert_close(dots.peak_scaled, SEED_42_DOTS["peak_scaled"], 5.1e-5)


# one cell

def test_the_cell_cat_to_sat_by_hand():
    cell = cell_arithmetic(cat_trace(), 1, 2, 2.0)
    assert (cell.i, cell.j, cell.masked) == (1, 2, False)
    assert_close(cell.raw, 2.9415, 1e-6)
    assert_close(cell.scaled, 1.47075, 1e-6)
    assert_close(cell.row_max, 2.5095, 1e-6)
    assert_close(cell.exp, math.exp(1.47075 - 2.5095), 1e-6)
    assert_close(cell.weight, 0.230231, 1e-6)


@pytest.mark.parametrize("mask", [None, one_row_empty()], ids=["open", "causal with an empty row"])
@pytest.mark.parametrize("divisor, tau", [(math.sqrt(D_K), 1.0), (1.0, 0.1), (3.0, 5.0), (1.0, 1e-39)])
def test_every_cell_adds_up_to_the_weight_shown(mask, divisor, tau):
    trace = random_trace(mask=mask, tau=tau, scale=divisor)
    for i in range(T):
        cells = [cell_arithmetic(trace, i, j, divisor, tau) for j in range(T)]
        for j, cell in enumerate(cells):
            assert cell.masked == (mask is not None and not mask[i, j])
            assert cell.terms.shape == (D_K,)
            assert_close(cell.terms, trace.q[i] * trace.k[j], 1e-6, "terms")
            assert_close(cell.raw, cell.terms.sum(), 1e-12)
            assert_close(cell.raw, trace.raw[i, j], 1e-5)
            assert cell.difference <= 1e-5, f"cell {i}, {j}: {cell.difference:.3g} from the trace"
            assert cell.weight == (cell.exp / cell.denominator if cell.denominator else 0.0)
        assert_close(sum(cell.exp for cell in cells), cells[0].denominator, 1e-12)
        total = 0.0 if mask is not None and not mask[i].any() else 1.0
        assert_close(sum(cell.weight for cell in cells), total, 1e-12)


def test_an_empty_rows_cell_says_so():
    cell = cell_arithmetic(random_trace(mask=one_row_empty()), 2, 0, math.sqrt(D_K))
    assert cell.masked and cell.row_max == -math.inf
    assert cell.exp == cell.denominator == cell.weight == cell.difference == 0.0


def test_the_arithmetic_with_another_divisor_is_caught():
    trace = cat_trace()
    assert cell_arithmetic(trace, 1, 1, 2.0).difference < 1e-6
    assert cell_arithmetic(trace, 1, 1, 1.0).difference > 0.1
    assert cell_arithmetic(trace, 1, 1, 2.0, tau=2.0).difference > 0.1


@pytest.mark.parametrize("i, j, message", [(3, 0, "i must be a whole number from 0 to 2; got 3"), (-1, 0, "i must"),
                                           (0, 3, "j must be a whole number from 0 to 2; got 3"), (0, 1.0, "j must")])
def test_a_cell_that_is_not_there_is_refused(i, j, message):
    with pytest.raises(ValueError, match=message):
        cell_arithmetic(cat_trace(), i, j, 2.0)


def test_proofs_of_one_head_refuse_a_batch():
    trace = attention_trace(*random_batch(2, 3, T, D_K, D_V, 0))
    for f in (lambda: cell_arithmetic(trace, 0, 0, 1.0), lambda: output_terms(trace, 0), lambda: convex_check(trace)):
        with pytest.raises(ValueError, match=r"one head, with scores \(T_q, T_k\); got \(2, 3, 5, 5\)"):
            f()


# the output as a mean

@pytest.mark.parametrize("mask", [None, one_row_empty()], ids=["open", "causal with an empty row"])
def test_what_the_keys_add_sums_to_the_output(mask):
    trace = random_trace(mask=mask)
    for i in range(T):
        terms = output_terms(trace, i)
        assert terms.shape == (T, D_V)
        assert_close(terms.sum(0), trace.output[i], 1e-6)
        for j in range(T):
            assert_close(terms[j], trace.weights[i, j] * trace.v[j], 0)
    with pytest.raises(ValueError, match="i must be a whole number from 0 to 4; got 5"):
        output_terms(trace, T)


@pytest.mark.parametrize("mask", [None, causal_mask(T), one_row_empty()], ids=["open", "causal", "empty row"])
@pytest.mark.parametrize("tau", [0.1, 1.0, 5.0])
def test_every_output_is_a_convex_combination(mask, tau):
    check = convex_check(random_trace(mask=mask, tau=tau))
    assert check.holds
    empty = torch.zeros(T, dtype=torch.bool) if mask is None else ~mask.any(-1)
    assert torch.equal(check.empty, empty)
    assert_close(check.row_sum, (~empty).double(), 1e-6)
    assert (check.min_weight >= 0).all() and (check.outside <= 1e-6).all() and check.difference <= 1e-6


def test_the_cat_sat_is_a_convex_combination():
    assert convex_check(cat_trace()).holds


@pytest.mark.parametrize("spoil", [
    lambda t: dict(output=t.output + 10),                                   # far outside the values
    lambda t: dict(output=t.output + 1e-3),                                 # inside, but not weights @ v
    lambda t: dict(weights=t.weights * 1.01, output=t.output * 1.01),       # rows that sum to more than 1
    lambda t: dict(weights=t.weights.roll(1, -1)),                          # the weights of other keys
    lambda t: dict(weights=2 * torch.eye(T) - t.weights, output=(2 * torch.eye(T) - t.weights) @ t.v),    # negative
    lambda t: dict(weights=2 * torch.eye(T) - t.weights, v=torch.ones(T, 1), output=torch.ones(T, 1)),    # and inside
    lambda t: dict(masked=t.masked.masked_fill(~causal_mask(T), -math.inf)),                 # weight on hidden keys
    lambda t: dict(weights=t.weights * math.nan),
], ids=["outside", "nearby", "sum", "rolled", "negative", "negative and inside", "hidden", "nan"])
def test_the_convex_check_can_fail(spoil):
    trace = random_trace()
    assert not convex_check(dataclasses.replace(trace, **spoil(trace))).holds


def test_an_output_in_an_empty_row_fails_the_convex_check():
    trace = random_trace(mask=one_row_empty())
    output = trace.output.clone()
    output[2] = trace.v.mean(0)
    assert not convex_check(dataclasses.replace(trace, output=output)).holds


# the roles of Q, K and V

@pytest.mark.parametrize("change", ["double", "negate", "random"])
def test_values_take_no_part_in_the_scores(change):
    q, k, v = what_moves(random_trace(), change, seed=1)
    assert [m.changed for m in (q, k, v)] == ["q", "k", "v"]
    assert v.raw == v.weights == 0.0 and v.output > 0.01
    assert min(q.raw, q.weights, q.output, k.raw, k.weights, k.output) > 0.01
    wide = what_moves(attention_trace(*(x.double() for x in project(*cat_sat()[:4]))), change, seed=1)
    assert wide[2].raw == wide[2].weights == 0.0 and wide[2].output > 0.01


def test_what_moves_is_what_the_attention_of_the_changed_matrices_says():
    trace = random_trace(mask=causal_mask(T), tau=0.5, scale=3.0)
    v = what_moves(trace, "double", mask=causal_mask(T), tau=0.5, divisor=3.0)[2]
    assert v.weights == 0.0                                       # with another mask, tau or divisor it would not be
    assert_close(v.output, trace.output.abs().max(), 1e-6)        # 2 V gives twice the output
    with pytest.raises(ValueError, match="change must be one of double, negate, random; got 'halve'"):
        what_moves(trace, "halve")
    with pytest.raises(ValueError, match="one head"):
        what_moves(attention_trace(*random_batch(2, 3, T, D_K, D_V, 0)), "double")


@pytest.mark.parametrize("mask", [None, causal_mask(T), one_row_empty()], ids=["open", "causal", "empty row"])
def test_without_a_key_the_others_share_its_weight_in_proportion(mask):
    trace = random_trace(mask=mask)
    for i in range(T):
        for j in range(T):
            left = trace.weights[i].clone()
            left[j] = 0.0
            expected = left / left.sum() if left.sum() > 0 else left
            assert_close(without_key(trace, i, j), expected, 1e-6)
    with pytest.raises(ValueError, match="j must be a whole number from 0 to 4; got 5"):
        without_key(trace, 0, T)


# the kernel and the batch

@pytest.mark.parametrize("mask", [None, causal_mask(T), one_row_empty()], ids=["open", "causal", "empty row"])
@pytest.mark.parametrize("tau, divisor", [(1.0, None), (0.1, 4.0), (5.0, 1.0)])
def test_the_kernel_agrees(mask, tau, divisor):
    q, k, v = random_batch(2, 3, T, D_K, D_V, 0)
    assert kernel_difference(q, k, v, mask, tau, divisor) <= 1e-5
    assert kernel_difference(q[0, 0], k[0, 0], v[0, 0], mask, tau, divisor) <= 1e-5


def test_the_kernel_badge_turns_red_when_our_attention_is_wrong(monkeypatch):
    from qkv_core import triad
    right = triad.scaled_dot_product_attention
    monkeypatch.setattr(triad, "scaled_dot_product_attention", lambda q, k, v, m, t, s: right(q, k, v, m, 2 * t, s))
    assert kernel_difference(*random_batch(2, 3, T, D_K, D_V, 0)) > 0.05


def test_batch_shapes_are_those_of_the_formula():
    B, h = 2, 3
    batch = batch_shapes(B, h, T, D_K, D_V, seed=0)
    expected = {"q": (B, h, T, D_K), "k": (B, h, T, D_K), "v": (B, h, T, D_V), "raw": (B, h, T, T),
                "scaled": (B, h, T, T), "masked": (B, h, T, T), "weights": (B, h, T, T), "output": (B, h, T, D_V)}
    assert {t.name: t.shape for t in batch.tensors} == expected
    for t in batch.tensors:
        assert t.numel == math.prod(t.shape) and t.bytes == 4 * t.numel and len(t.axes) == 4, t.name
    assert {t.name: t.axes for t in batch.tensors}["weights"] == ("B", "h", "T_q", "T_k")
    assert batch.rows == B * h * T and batch.empty_rows == 0
    assert abs(batch.row_sum_min - 1) <= 1e-6 and abs(batch.row_sum_max - 1) <= 1e-6 and batch.difference <= 1e-5


def test_rows_with_nothing_to_attend_to_are_counted_and_left_out_of_the_row_sums():
    batch = batch_shapes(2, 3, T, D_K, D_V, seed=0, mask=one_row_empty(), tau=0.5, divisor=2.0)
    assert batch.empty_rows == 2 * 3
    assert abs(batch.row_sum_min - 1) <= 1e-6 and batch.difference <= 1e-5
    none = batch_shapes(1, 1, T, D_K, D_V, seed=0, mask=torch.zeros(T, T, dtype=torch.bool))
    assert none.empty_rows == none.rows == T and none.row_sum_min is None and none.row_sum_max is None


def test_a_random_batch_repeats_by_seed_and_checks_its_sizes():
    one, two = random_batch(2, 3, T, D_K, D_V, 5), random_batch(2, 3, T, D_K, D_V, 5)
    assert all(torch.equal(a, b) for a, b in zip(one, two))
    with pytest.raises(ValueError, match="h must be a whole number >= 1; got 0"):
        random_batch(2, 0, T, D_K, D_V, 5)


def test_nothing_asks_an_apple_gpu_for_float64(monkeypatch):
    """T05: the proofs work in float64 on the CPU only, whatever device the trace is on."""
    moves = []
    monkeypatch.setattr(torch.Tensor, "cpu", lambda x, real=torch.Tensor.cpu: moves.append("cpu") or real(x))
    monkeypatch.setattr(torch.Tensor, "double",
                        lambda x, real=torch.Tensor.double: moves.append("double") or real(x))
    trace = cat_trace()
    assert moves == [] and {x.dtype for x in vars(trace).values()} == {torch.float32}
    cell_arithmetic(trace, 0, 0, 2.0), convex_check(trace)
    assert moves and all(moves[n - 1] == "cpu" for n, move in enumerate(moves) if move == "double")
