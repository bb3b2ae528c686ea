"""Saturation of the softmax against d_k: the curve, the Jacobian norm that must survive it, and the facts read off.

Expected values are REFERENCE.md section 3, autograd in float64, qkv_core.measures, PyTorch's own attention, or closed
forms. A statistical test states its n and its tolerance in standard errors (se) of the mean over trials.
"""

import math

import numpy as np
import pandas as pd
import pytest
import torch
import torch.nn.functional as F

from qkv_core import measures
from qkv_core import saturation as core
from qkv_core.saturation import divisor_lab, noticed, row_measures, same_product, saturation_curve, temperature_curve, ten_keys

REFERENCE = pd.DataFrame(
    [(1, .208, .878, .283, .208, .878, .283),
     (4, .423, .639, .322, .234, .859, .297),
     (16, .684, .326, .280, .242, .853, .303),
     (64, .842, .149, .177, .247, .849, .305),
     (256, .920, .071, .102, .246, .851, .304),
     (1024, .964, .032, .049, .246, .850, .305)],
    columns=["d_k", *(f"{arm}_{name}" for arm in ("unscaled", "scaled") for name in ("peak", "entropy", "jacobian"))])


def measured(scores: torch.Tensor) -> list[torch.Tensor]:
    """row_measures of rows (T, n), given as the keys-first copy that it may overwrite."""
    return list(row_measures(scores.T.clone().contiguous()))


def autograd_norm(scores: torch.Tensor) -> torch.Tensor:
    """Frobenius norms of autograd's float64 Jacobians of rows (T, n)."""
    def softmax(s):
        return torch.softmax(s, -1)

    return torch.stack([torch.autograd.functional.jacobian(softmax, row).norm() for row in scores.double()])


# --- the measures of a row ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", (0.01, 1.0, 3.0, 10.0))
@pytest.mark.parametrize("n", (7, 16))
def test_the_jacobian_norm_is_right_to_one_part_in_a_million(scale, n):
    scores = torch.randn(200, n, generator=torch.Generator().manual_seed(n)) * scale
    assert torch.allclose(measured(scores)[2].double(), autograd_norm(scores), rtol=1e-6, atol=0)


def test_beyond_that_it_errs_by_the_rounding_of_the_gap_between_the_two_best_scores():
    scores = torch.randn(500, 2, generator=torch.Generator().manual_seed(2)) * 30
    gap = (scores[:, 0].double() - scores[:, 1].double()).abs()
    exact = 2 * torch.sigmoid(-gap) * torch.sigmoid(gap)        # autograd's float64 cancels from a gap of 20
    sure = gap < 80                                      # exp(-87) is the smallest float32 of full precision
    error = (measured(scores)[2].double() / exact - 1).abs()
    assert (error <= 5e-7 + gap * 2**-24)[sure].all() and gap[sure].max() > 70


def test_the_short_form_would_not_be():
    scores = torch.randn(200, 16, generator=torch.Generator().manual_seed(0)) * 10
    a = torch.softmax(scores, -1)
    S2, S3 = a.square().sum(-1), a.pow(3).sum(-1)
    short = (S2 - 2 * S3 + S2**2).clamp(min=0).sqrt().double()
    assert ((short - autograd_norm(scores)).abs() / autograd_norm(scores)).max() > 0.5


@pytest.mark.parametrize("scale", (0.0, 1.0, 30.0, 300.0))
def test_the_fused_loop_agrees_with_the_measures(scale):
    scores = torch.randn(300, 11, generator=torch.Generator().manual_seed(1)) * scale
    weights = torch.softmax(scores, -1)
    peak, entropy, jacobian, effective = measured(scores)
    close = dict(rtol=2e-6, atol=1e-7)
    assert torch.allclose(peak, measures.peak(weights), **close)
    assert torch.allclose(entropy * math.log(11), measures.entropy(weights), rtol=1e-5, atol=1e-6)
    assert torch.allclose(jacobian, measures.jacobian_norm(scores, from_scores=True), **close)
    assert torch.allclose(effective, measures.effective_keys(weights), rtol=1e-5)


def test_ties_at_the_top_share_the_weight():
    rows = torch.tensor([[3.0, 3.0, -300.0, 3.0], [0.0] * 4, [5.0, 5.0, 4.0, -1.0]])
    peak, entropy, jacobian, effective = measured(rows)
    assert peak[:2].tolist() == pytest.approx([1 / 3, 1 / 4])
    assert (entropy[:2] * math.log(4)).tolist() == pytest.approx([math.log(3), math.log(4)])
    assert effective[:2].tolist() == pytest.approx([3, 4])
    # m even weights: J = (I - 1/m) / m, so ||J|| = sqrt(m - 1) / m
    assert jacobian[:2].tolist() == pytest.approx([math.sqrt(2) / 3, math.sqrt(3) / 4])
    assert jacobian[2].item() == pytest.approx(autograd_norm(rows[2:]).item(), rel=1e-6)


def test_two_keys_have_the_jacobian_of_the_logistic_curve():
    gap = torch.tensor([0.0, 0.5, 5.0, 20.0, 60.0])      # exact in float32
    a = torch.sigmoid(-gap.double())                     # J = a (1 - a) [[1, -1], [-1, 1]], its norm 2 a (1 - a)
    got = measured(torch.stack([gap, torch.zeros(5)], 1))[2].double()
    assert torch.allclose(got, 2 * a * (1 - a), rtol=1e-6, atol=0)


def test_rows_beyond_float32s_range_stay_finite():
    values = row_measures(torch.tensor([[1e25], [-1e25], [0.0]]))
    assert values.flatten().tolist() == [1, 0, 0, 1]


def test_one_key_has_weight_1_entropy_0_and_no_gradient():
    assert row_measures(torch.randn(1, 5)).tolist() == [[1] * 5, [0] * 5, [0] * 5, [1] * 5]
    curve = saturation_curve((1, 64), n_keys=1, n_trials=5)
    assert (curve.peak == 1).all() and (curve.entropy == 0).all() and (curve.jacobian == 0).all()
    assert math.isnan(noticed(curve).ratio)


# --- the curve ----------------------------------------------------------------------------------------------------


def test_the_curve_is_the_reference_within_4_se():
    curve = saturation_curve(REFERENCE.d_k, n_keys=16, n_trials=4000, seed=0)
    for row in curve.itertuples():
        for name in ("peak", "entropy", "jacobian"):
            expected = REFERENCE.set_index("d_k").loc[row.d_k, f"{row.arm}_{name}"]
            se = (getattr(row, name + "_high") - getattr(row, name)) / 1.96
            # the reference has the same 4000 rows, hence sqrt 2; .0005 is its rounding
            assert abs(getattr(row, name) - expected) <= 4 * math.sqrt(2) * se + 0.0005, (row.d_k, row.arm, name)
            assert se < 0.006


def test_the_prefix_sums_are_the_dot_products_of_the_same_draw():
    n, T, d_ks = 3, 5, [1, 2, 63, 64, 65, 200]
    got = list(core._prefix_scores(d_ks, n, T, torch.Generator().manual_seed(8)))
    generator = torch.Generator().manual_seed(8)
    blocks = [(torch.empty(64, 1, T).normal_(generator=generator), torch.empty(64, n, T).normal_(generator=generator))
              for _ in range(4)]
    q, k = (torch.cat(part).double() for part in zip(*blocks))
    for d, scores in zip(d_ks, got, strict=True):
        assert torch.allclose(scores.double(), (q[:d] * k[:d]).sum(0), atol=1e-5)


def test_the_curve_is_that_of_a_plain_loop_over_the_same_scores():
    n, T, d, seed, tau = 6, 40, 9, 3, 1.7
    (_, scores, _), = core._scores([d], n, T, seed)
    for arm, divisor in (("unscaled", 1), ("scaled", math.sqrt(d))):
        a = torch.softmax(scores[0].T.double() / (divisor * tau), -1)
        jacobians = torch.diag_embed(a) - a[:, :, None] * a[:, None, :]
        norms, entropy = jacobians.norm(dim=(1, 2)), -(a * a.log()).sum(-1)
        row = saturation_curve((d,), n, T, seed, tau).set_index("arm").loc[arm]
        assert row.peak == pytest.approx(a.max(-1).values.mean().item(), rel=1e-6)
        assert row.entropy == pytest.approx(entropy.mean().item() / math.log(n), rel=1e-6)
        assert row.effective == pytest.approx(entropy.exp().mean().item(), rel=1e-6)
        assert row.jacobian == pytest.approx(norms.mean().item(), rel=1e-6)
        assert row.jacobian_high - row.jacobian == pytest.approx(2.0227 * norms.std().item() / math.sqrt(T), rel=1e-3)
        assert row.n == T


def test_a_row_does_not_depend_on_the_other_d_ks_or_on_their_order():
    settings = dict(n_keys=16, n_trials=5000, seed=4)    # two chunks of trials
    many = saturation_curve((64, 1, 100, 64), **settings)
    assert many.d_k.tolist() == [64, 64, 1, 1, 100, 100, 64, 64] and many.arm.tolist() == ["unscaled", "scaled"] * 4
    alone = saturation_curve((64,), **settings)
    numbers = many.columns.drop(["d_k", "arm"])
    for rows in (many.iloc[:2], many.iloc[6:]):
        assert np.allclose(rows[numbers], alone[numbers], rtol=1e-6)


def test_at_d_k_1_both_arms_are_one():
    curve = saturation_curve((1,), n_trials=50)
    numbers = curve.columns.drop(["d_k", "arm"])
    assert curve.loc[0, numbers].tolist() == curve.loc[1, numbers].tolist()


def test_tau_times_the_divisor_is_one_number_in_the_curve_too():
    hot = saturation_curve((64,), tau=8.0).set_index("arm").loc["unscaled"]
    plain = saturation_curve((64,), tau=1.0).set_index("arm").loc["scaled"]
    assert np.allclose(hot.drop("d_k").astype(float), plain.drop("d_k").astype(float), rtol=1e-6)


def test_19_intervals_in_20_hold_the_true_mean():
    truth = saturation_curve((4,), n_trials=20_000, seed=10**6).set_index("arm")
    repeats = 500                                        # se of a share of .95 is .0097
    curves = [saturation_curve((4,), n_trials=20, seed=seed).set_index("arm") for seed in range(repeats)]
    for arm in ("unscaled", "scaled"):
        for name in ("peak", "entropy", "jacobian", "effective"):
            mean = truth.loc[arm, name]
            share = sum(c.loc[arm, name + "_low"] <= mean <= c.loc[arm, name + "_high"] for c in curves) / repeats
            assert share == pytest.approx(0.95, abs=4 * 0.0097), (arm, name)


@pytest.mark.parametrize("df, quantile", [(5, 2.5706), (9, 2.2622), (19, 2.0930), (399, 1.9659)])
def test_the_quantile_is_students(df, quantile):
    assert core._t_975(df) == pytest.approx(quantile, rel=2e-3)


def test_one_trial_has_a_mean_but_no_interval():
    curve = saturation_curve((4,), n_trials=1)
    assert curve.peak.notna().all() and curve.peak_low.isna().all() and curve.effective_high.isna().all()


def test_the_same_seed_gives_the_same_numbers_with_or_without_progress():
    before, seen = torch.random.get_rng_state(), []
    first = saturation_curve((4, 32), n_keys=64, n_trials=3000, progress=seen.append)
    assert first.equals(saturation_curve((4, 32), n_keys=64, n_trials=3000))
    assert not first.equals(saturation_curve((4, 32), n_keys=64, n_trials=3000, seed=1))
    assert seen == sorted(seen) and seen[-1] == pytest.approx(1) and len(seen) > 1
    assert torch.equal(before, torch.random.get_rng_state())


def test_a_tau_near_0_is_the_argmax():
    curve = saturation_curve((4,), n_trials=50, tau=1e-300)
    assert (curve.peak == 1).all() and (curve.entropy == 0).all() and (curve.jacobian == 0).all()


def test_the_first_columns_are_those_of_the_contract():
    assert saturation_curve((4,), n_trials=2).columns[:5].tolist() == ["d_k", "arm", "peak", "entropy", "jacobian"]


# --- divisors -----------------------------------------------------------------------------------------------------


def test_only_the_square_root_of_d_k_gives_scores_a_spread_of_1():
    lab = divisor_lab(64, 512, n_trials=4000).set_index("divisor")
    assert lab.index.tolist() == ["sqrt_dk", "none", "dk", "sqrt_dmodel"]
    assert lab.value.tolist() == pytest.approx([8, 1, 64, math.sqrt(512)])
    assert lab.theory.tolist() == pytest.approx([1, 8, 1 / 8, math.sqrt(1 / 8)])
    se = (lab.std_high - lab["std"]) / 1.96
    assert ((lab["std"] - lab.theory).abs() <= 4 * se).all() and (se / lab.theory < 0.01).all()
    assert lab.entropy["dk"] > 0.99 > lab.entropy["sqrt_dk"] > 0.8 > lab.entropy["none"]


def test_the_predicted_spread_counts_the_temperature():
    lab = divisor_lab(16, 16, n_trials=4000, tau=0.5)    # tau halves what both divide by: 2 and 8 instead of 1 and 4
    se = (lab.std_high - lab["std"]) / 1.96
    assert lab.theory.tolist() == pytest.approx([2, 8, 0.5, 2])
    assert ((lab["std"] - lab.theory).abs() <= 4 * se).all()


def test_the_lab_and_the_curve_are_one_draw():
    lab = divisor_lab(32, 64, tau=0.7, seed=5).set_index("divisor")
    curve = saturation_curve((32,), tau=0.7, seed=5).set_index("arm")
    for divisor, arm in (("none", "unscaled"), ("sqrt_dk", "scaled")):
        for name in ("peak", "entropy", "jacobian", "effective", "jacobian_low"):
            assert lab.loc[divisor, name] == pytest.approx(curve.loc[arm, name], rel=1e-6)


# --- one query and its keys ---------------------------------------------------------------------------------------


def test_ten_keys_agree_with_pytorchs_attention():
    t = ten_keys(64, 10, seed=1, tau=0.8)
    for arm, divisor in ((t.unscaled, 1.0), (t.scaled, 8.0)):
        expected = F.scaled_dot_product_attention(t.q[None], t.k, torch.eye(10), scale=1 / (divisor * 0.8))[0]
        assert arm.divisor == divisor and torch.allclose(arm.weights, expected, atol=1e-6)
        assert torch.allclose(arm.scores, t.k @ t.q / (divisor * 0.8), rtol=1e-6)
        assert arm.weights.sum().item() == pytest.approx(1, abs=1e-6)
        assert arm.peak == pytest.approx(expected.max().item(), rel=1e-5)
        assert arm.effective == pytest.approx(10**arm.entropy, rel=1e-5)


def test_the_jacobian_of_ten_keys_is_autograds():
    t = ten_keys(64, 10, seed=2)
    for arm in (t.unscaled, t.scaled):
        expected = torch.autograd.functional.jacobian(lambda s: torch.softmax(s, -1), arm.scores.double())
        assert torch.allclose(arm.jacobian.double(), expected, rtol=1e-4, atol=1e-7)
        assert torch.equal(arm.jacobian, arm.jacobian.T)
        assert arm.jacobian.sum(0).abs().max() < 1e-7
        assert arm.jacobian_norm == pytest.approx(expected.norm().item(), rel=1e-5)
    assert t.unscaled.peak > t.scaled.peak and t.unscaled.jacobian_norm < t.scaled.jacobian_norm


def test_ten_keys_are_the_same_every_time_and_another_divisor_changes_only_its_arm():
    t, again, other = ten_keys(16, seed=3), ten_keys(16, seed=3), ten_keys(16, seed=3, divide_by=16)
    assert torch.equal(t.q, again.q) and torch.equal(t.k, again.k)
    assert torch.equal(t.scaled.weights, again.scaled.weights)
    assert torch.equal(t.unscaled.weights, other.unscaled.weights)
    assert torch.allclose(other.scaled.scores, t.raw / 16) and t.q.shape == (16,) and t.k.shape == (10, 16)


def test_one_key_takes_all():
    t = ten_keys(8, n_keys=1)
    assert t.scaled.weights.tolist() == [1] and t.scaled.entropy == 0 == t.scaled.jacobian_norm
    assert t.scaled.jacobian.tolist() == [[0]]


@pytest.mark.parametrize("d_k, tau", [(64, 1.0), (48, 0.7), (3, 2.5), (1024, 0.2)])
def test_equal_products_of_tau_and_divisor_give_equal_weights(d_k, tau):
    same = same_product(d_k, tau=tau)
    for setting in (same.first, same.second):
        assert math.prod(setting) == pytest.approx(same.product)
    assert same.first != same.second and same.difference < 1e-6
    assert same.first_weights.sum().item() == pytest.approx(1)


# --- what the curve says ------------------------------------------------------------------------------------------


def test_the_gradient_first_rises_and_then_collapses():
    facts = noticed(saturation_curve((1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024), n_trials=4000))
    assert facts.top_d in (2, 4, 8) and facts.rises and facts.falls
    assert facts.jacobian_first == pytest.approx(0.283, abs=0.005) and facts.jacobian_last < 0.07
    assert facts.ratio == pytest.approx(facts.jacobian_last / facts.jacobian_top)
    assert facts.over_90_d in (128, 256) and facts.scaled_jacobian_last == pytest.approx(0.305, abs=0.005)


def test_facts_are_read_off_the_curve_whatever_its_order():
    frame = saturation_curve((64, 1, 8), n_trials=30)
    facts = noticed(frame)
    raw = frame[frame.arm == "unscaled"].set_index("d_k")
    assert (facts.first_d, facts.last_d) == (1, 64)
    assert facts.jacobian_last == raw.jacobian[64] and facts.jacobian_first == raw.jacobian[1]
    assert facts.peak_last == raw.peak[64] and facts.unscaled_entropy_last == raw.entropy[64]
    assert facts.jacobian_top == raw.jacobian.max() and facts.over_90_d is None


def test_a_curve_of_one_point_neither_rises_nor_falls():
    facts = noticed(saturation_curve((64,), n_trials=30))
    assert not facts.rises and not facts.falls and facts.ratio == 1 and facts.top_d == 64


# --- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call, words", [
    (lambda: saturation_curve(()), "at least one"),
    (lambda: saturation_curve(64), "sequence of whole numbers; got 64"),
    (lambda: saturation_curve((0,)), "each of d_ks .*got 0"),
    (lambda: saturation_curve((4,), n_keys=0), "n_keys .*got 0"),
    (lambda: saturation_curve((4,), n_trials=2.5), "n_trials .*got 2.5"),
    (lambda: saturation_curve((16_384,), 1024, 20_000), "at most 1,073,741,824"),
    (lambda: saturation_curve((4,), seed=-1), "seed .*got -1"),
    (lambda: saturation_curve((4,), tau=0), "tau must be a finite number > 0; got 0"),
    (lambda: saturation_curve((4,), tau=math.nan), "tau .*got nan"),
    (lambda: ten_keys(divide_by=-1.0), "divisor .*got -1.0"),
    (lambda: ten_keys(tau=math.inf), "tau .*got inf"),
    (lambda: divisor_lab(64, 32), "d_model .*64 .*got 32"),
])
def test_a_mistake_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


# --- the temperature axis -----------------------------------------------------------------------------------------


def test_the_temperature_axis_meets_the_curve_of_d_k_at_each_tau():
    taus = (0.2, 1.0, 2.5)
    axis = temperature_curve(taus, 64, n_keys=10, n_trials=50, seed=3)
    assert list(axis["tau"]) == [0.2, 0.2, 1.0, 1.0, 2.5, 2.5] and list(axis["arm"]) == ["unscaled", "scaled"] * 3
    for tau in taus:
        curve = saturation_curve([64], n_keys=10, n_trials=50, seed=3, tau=tau)
        here = axis[axis["tau"] == tau].reset_index(drop=True)
        pd.testing.assert_frame_equal(here.drop(columns="tau"), curve.drop(columns="d_k"), rtol=1e-5, atol=1e-7)


def test_the_unscaled_axis_is_the_scaled_one_moved_by_the_root_of_d_k():
    axis = temperature_curve([0.25, 2.0], 64, n_keys=10, n_trials=50, seed=3)            # 2 / sqrt(64) = 0.25
    moved, unmoved = axis.iloc[1], axis.iloc[2]
    assert (moved.arm, unmoved.arm) == ("scaled", "unscaled")
    assert all(abs(moved[name] - unmoved[name]) <= 1e-6 for name in ("peak", "entropy", "jacobian"))


@pytest.mark.parametrize("taus", ([], [0.0], [1.0, -1.0], [math.nan], [math.inf], ["1"]))
def test_the_temperature_axis_refuses_what_is_no_temperature(taus):
    with pytest.raises(ValueError, match="tau"):
        temperature_curve(taus, 4, n_trials=2)


def test_given_keys_are_the_drawn_ones_when_they_are_the_same_and_too_large_ones_are_refused():
    drawn = ten_keys(64, 10, 3, 0.7)
    given = core.given_keys(drawn.q, drawn.k, 0.7)
    assert torch.equal(given.scaled.weights, drawn.scaled.weights) and given.scaled.jacobian_norm == drawn.scaled.jacobian_norm
    for bad in (1e35, math.nan):
        with pytest.raises(ValueError, match="must stay below"):
            core.given_keys(torch.full((4,), bad), torch.ones(3, 4))


def test_the_means_over_all_rows_of_given_tensors_are_those_of_each_row():
    g = torch.Generator().manual_seed(8)
    q, k = torch.randn(2, 3, 5, 11, generator=g), torch.randn(2, 3, 7, 11, generator=g)
    found = core.own_rows(q, k, 0.5)
    for arm, by in (("unscaled", 1.0), ("scaled", math.sqrt(11))):
        weights = torch.softmax((q.double() @ k.double().mT) / (by * 0.5), -1)
        assert found[arm]["peak"] == pytest.approx(measures.peak(weights).mean().item())
        assert found[arm]["entropy"] == pytest.approx((measures.entropy(weights) / math.log(7)).mean().item())
        assert found[arm]["jacobian"] == pytest.approx(measures.jacobian_norm(weights).mean().item(), rel=1e-6)
        assert found[arm]["effective"] == pytest.approx(measures.effective_keys(weights).mean().item())
