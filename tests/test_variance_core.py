"""The laws of Var(q.k), the sampler that illustrates them and the intervals between the two.

Expected values are closed forms, an exact second implementation (quadrature, enumeration, real nn.Linear layers) or
REFERENCE.md. A statistical test states its n and its tolerance in standard errors (se); 4 se is passed by chance in
all but 1 of 16,000 seeds, and the seeds are fixed.
"""

import itertools
import math

import numpy as np
import pytest
import torch

from qkv_core import variance as core
from qkv_core.variance import (DISTRIBUTIONS, Assumptions, Law, dot_product_histogram, dot_products, normal_distance,
                               plain_variance, product_cdf, sample_variance, theory, variance_interval, variance_study,
                               variance_sweep, variance_table)

BROKEN = [Assumptions(mean=1.5), Assumptions(rho=0.6), Assumptions(mean=-0.7, rho=-0.4),
          Assumptions("uniform", rho=0.8), Assumptions("sign", mean=0.5, rho=0.5),
          Assumptions("heavy", mean=0.3, rho=0.5), Assumptions("heavy", rho=1.0)]
EVERY = [Assumptions(name) for name in DISTRIBUTIONS] + BROKEN + [
    Assumptions(linear=True, d_model=96), Assumptions("sign", linear=True, d_model=33, bias=False)]


def relative_se(law: Law, n: int) -> float:
    """Standard error of the sample variance over the variance."""
    return math.sqrt((law.kurtosis - (n - 3) / (n - 1)) / n + law.spread)


# --- the estimator ------------------------------------------------------------------------------------------------


def test_the_estimator_divides_by_n_minus_1():
    x = np.array([3.0, 0.0, 1.0, 2.0])
    assert sample_variance(x.sum(), (x**2).sum(), 4) == pytest.approx(5 / 3)
    assert torch.tensor(x).var().item() == pytest.approx(5 / 3)
    assert np.var(x) == pytest.approx(1.25)              # NumPy's default is the other one


def test_one_pair_has_no_variance_and_no_interval():
    row = variance_table((4,), n_samples=1).iloc[0]
    assert row.theory == 4 and row.n == 1
    assert row[["unscaled", "unscaled_low", "unscaled_high", "scaled"]].isna().all()
    assert variance_sweep(3, n_samples=1)[["unscaled", "scaled"]].isna().all(axis=None)
    assert dot_product_histogram(4, n_samples=1).frame["count"].sum() <= 2


def test_two_pairs_have_the_variance_of_two_numbers():
    a, b = dot_products(8, 2, seed=3).tolist()
    assert variance_table((8,), 2, seed=3).unscaled[0] == pytest.approx((a - b) ** 2 / 2, rel=1e-5)


# --- the laws -----------------------------------------------------------------------------------------------------


def nodes(distribution: str) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights that integrate polynomials up to degree 16 against the distribution exactly."""
    if distribution == "sign":
        return np.array([-1.0, 1.0]), np.array([0.5, 0.5])
    if distribution == "normal":
        x, w = np.polynomial.hermite_e.hermegauss(12)
    elif distribution == "uniform":
        x, w = np.polynomial.legendre.leggauss(12)
        x = x * math.sqrt(3)
    else:
        x, w = np.polynomial.laguerre.laggauss(12)
        x, w = np.concatenate([-x, x]) / math.sqrt(2), np.concatenate([w, w])
    return x, w / w.sum()


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("mean, rho", [*itertools.product((0.0, 0.7, -2.0), (0.0, 0.5, -0.9, 1.0))])
def test_the_law_of_one_product_is_the_one_that_quadrature_gives(distribution, mean, rho):
    x, w = nodes(distribution)
    e, z = np.meshgrid(x, x, indexing="ij")
    weight = np.outer(w, w)
    product = (mean + e) * (mean + rho * e + math.sqrt(1 - rho**2) * z)
    centre = (weight * product).sum()
    second = (weight * (product - centre) ** 2).sum()
    law = theory(1, Assumptions(distribution, mean, rho))
    assert law.mean == pytest.approx(centre, abs=1e-9)
    assert law.variance == pytest.approx(second, abs=1e-9)
    if second > 1e-9:
        assert law.kurtosis == pytest.approx((weight * (product - centre) ** 4).sum() / second**2, rel=1e-8)
    else:
        assert math.isnan(law.kurtosis)


@pytest.mark.parametrize("distribution, kappa", [("normal", 3), ("uniform", 1.8), ("sign", 1), ("heavy", 6)])
@pytest.mark.parametrize("d", (1, 7, 512))
def test_without_mean_and_correlation_the_kurtosis_is_that_of_the_entries_squared_over_d(distribution, kappa, d):
    assert theory(d, distribution) == Law(0, d, pytest.approx(3 + (kappa**2 - 3) / d))


def test_normal_entries_with_a_correlation_have_variance_1_plus_rho_squared_each():
    assert theory(10, Assumptions(rho=0.5)).variance == pytest.approx(12.5)
    assert theory(10, Assumptions(mean=2, rho=0.5)).variance == pytest.approx(10 * (1 + 0.25 + 2 * 4 * 1.5))


@pytest.mark.parametrize("distribution, kappa", [("normal", 3), ("uniform", 1.8), ("sign", 1), ("heavy", 6)])
def test_entries_have_mean_0_variance_1_and_the_kurtosis_of_their_name(distribution, kappa):
    n = 400_000                                          # rho = 1 and d = 1: q.k is one entry squared
    square = dot_products(1, n, seed=1, distribution=Assumptions(distribution, rho=1.0)).double()
    x2, x4, x8 = 1.0, kappa, {"normal": 105, "uniform": 9, "sign": 1, "heavy": 2520}[distribution]
    assert abs(square.mean() - x2) <= 4 * math.sqrt((x4 - x2**2) / n) + 1e-6
    assert abs(square.square().mean() - x4) <= 4 * math.sqrt((x8 - x4**2) / n) + 1e-6
    both = dot_products(1, n, seed=2, distribution=Assumptions(distribution, mean=1.0)).double()
    assert abs(both.mean() - 1) <= 4 * math.sqrt(3 / n)  # E (1 + e)(1 + z) = 1: e and z have mean 0


@pytest.mark.parametrize("a", EVERY, ids=str)
def test_a_sample_of_100_000_agrees_with_its_law_within_4_se(a):
    n, d_ks = 100_000, (1, 3, 32)
    table = variance_table(d_ks, n, seed=5, distribution=a)
    for row in table.itertuples():
        law = theory(row.d_k, a)
        assert row.theory == law.variance
        assert abs(row.unscaled / law.variance - 1) <= 4 * relative_se(law, n) + 1e-5, row
        assert row.scaled == pytest.approx(row.unscaled / row.d_k, rel=1e-5)
        mean = dot_products(row.d_k, n, seed=5, distribution=a).double().mean().item()
        between_layers = row.d_k / 9 / a.d_model**2 if a.linear else 0.0          # Var of b_q . b_k
        assert abs(mean - law.mean) <= 4 * math.sqrt(law.variance / n + between_layers) + 1e-5, row


def test_200_000_pairs_give_d_k_within_4_percent_and_1_after_scaling():
    table = variance_table((1, 4, 16, 64, 256, 1024), 200_000, seed=0)            # 4 % is 6 se at d_k = 1, 12 at 1024
    assert (table.theory == table.d_k).all()
    assert ((table.unscaled / table.d_k - 1).abs() < 0.04).all()
    assert ((table.scaled - 1).abs() < 0.04).all()


def test_signs_with_full_correlation_cannot_vary():
    a = Assumptions("sign", rho=1.0)
    row = variance_table((64,), 1000, distribution=a).iloc[0]
    assert row.theory == row.unscaled == row.unscaled_low == row.unscaled_high == row.scaled == 0
    assert (dot_products(64, 50, distribution=a) == 64).all()
    histogram = dot_product_histogram(64, 1000, distribution=a)
    assert math.isnan(histogram.distance) and histogram.outside == 0


def test_a_mean_far_above_the_spread_does_not_cancel_in_float32():
    a, n = Assumptions(mean=100.0), 20_000               # mean of q.k is 500 standard deviations at d = 1024
    row = variance_table((1024,), n, distribution=a).iloc[0]
    assert abs(row.unscaled / row.theory - 1) <= 4 * relative_se(theory(1024, a), n)


# --- default nn.Linear --------------------------------------------------------------------------------------------


def real_layers(d: int, C: int, bias: bool, draws: int, seed: int):
    """Weights of nn.Linear itself, with the bias as a last column: two tensors (draws, d, C + 1)."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        wide = [torch.nn.Linear(C, d * draws, bias=bias) for _ in range(2)]
    columns = [torch.cat([w.weight, w.bias[:, None] if bias else torch.zeros(d * draws, 1)], 1) for w in wide]
    return [c.detach().double().view(draws, d, C + 1) for c in columns]


def conditional_variance(W_q, W_k):
    """Var(q.k) over two independent tokens for given layers: ||W_q^T W_k||^2 + |W_k^T b_q|^2 + |W_q^T b_k|^2."""
    A, b_q, b_k = W_q[..., :-1].mT @ W_k[..., :-1], W_q[..., -1:], W_k[..., -1:]
    return (A.square().sum((-1, -2)) + (W_k[..., :-1].mT @ b_q).square().sum((-1, -2))
            + (W_q[..., :-1].mT @ b_k).square().sum((-1, -2)))


@pytest.mark.parametrize("d, C, bias", [(1, 16, True), (5, 16, True), (24, 16, True), (1, 16, False), (24, 16, False)])
def test_the_linear_law_is_the_average_over_real_default_layers(d, C, bias):
    draws = 4000
    variance = conditional_variance(*real_layers(d, C, bias, draws, seed=d))
    law = theory(d, Assumptions(linear=True, d_model=C, bias=bias))
    assert abs(variance.mean() / law.variance - 1) <= 4 * math.sqrt(law.spread / draws)
    slack = 4 * math.sqrt(4 / draws) + (2 / C if bias else 0)    # exact without bias, to first order in 1/C with;
    assert variance.var() / law.variance**2 == pytest.approx(law.spread, rel=slack)    # 4 se if kurtosis is up to 5


@pytest.mark.parametrize("distribution, kappa", [("normal", 3.0), ("heavy", 6.0)])
def test_the_kurtosis_of_the_linear_law_is_right_to_first_order(distribution, kappa):
    d, C = 4, 64
    W_q, W_k = (w[..., :-1] for w in real_layers(d, C, False, 500, seed=1))
    A = W_q.mT @ W_k                                     # fourth moment of x^T A y, entries of kurtosis kappa
    M, N, extra = A.mT @ A, A @ A.mT, kappa - 3
    trace = M.diagonal(dim1=-2, dim2=-1).sum(-1)
    fourth = (3 * (trace**2 + 2 * M.square().sum((-1, -2)) + extra * M.diagonal(dim1=-2, dim2=-1).square().sum(-1))
              + extra * (3 * N.diagonal(dim1=-2, dim2=-1).square().sum(-1) + extra * A.pow(4).sum((-1, -2))))
    law = theory(d, Assumptions(distribution, linear=True, d_model=C, bias=False))
    assert law.kurtosis == pytest.approx((fourth / trace**2).mean().item(), rel=0.05)


@pytest.mark.parametrize("bias", (True, False))
def test_the_sample_through_layers_has_the_variance_of_these_very_layers(bias):
    a, d, n, seed = Assumptions(linear=True, d_model=48, bias=bias), 20, 200_000, 7
    layers = core._layers(a, d, torch.randint(2**32, (1,), generator=torch.Generator().manual_seed(seed)).item(),
                          torch.device("cpu")).double()
    exact = conditional_variance(layers[:, 0], layers[:, 1]).item()
    got = variance_table((d,), n, seed, a).unscaled[0]
    se = math.sqrt((theory(d, a).kurtosis - 1) / n)
    assert abs(got / exact - 1) <= 4 * se
    assert layers.abs().max() <= 1 / math.sqrt(48)


def test_default_linear_gives_q_a_variance_of_a_third_and_scores_of_7_at_64():
    law = theory(64, Assumptions(linear=True))
    assert law.variance == pytest.approx(64 / 9 * (1 + 2 / 512)) and round(law.variance, 1) == 7.1
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layer, x = torch.nn.Linear(512, 64), torch.randn(4096, 512)
    assert layer(x).var().item() == pytest.approx(1 / 3, rel=0.03)
    row = variance_table((64,), 50_000, distribution=Assumptions(linear=True)).iloc[0]
    assert row.unscaled_low <= row.theory <= row.unscaled_high and row.unscaled < 8


# --- the interval -------------------------------------------------------------------------------------------------


def test_the_interval_of_a_normal_sample_is_the_chi_square_one():
    low, high = variance_interval([1.0], 10, [Law(0, 1, 3)])
    assert low[0] == pytest.approx(9 / 19.0228, rel=1e-5) and high[0] == pytest.approx(9 / 2.70039, rel=1e-5)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("d", (1, 4, 64))
def test_19_intervals_in_20_hold_the_true_variance(distribution, d):
    n, repeats = 200, 5000                               # se of a share of .95 is .0031
    a = Assumptions(distribution)
    dots = dot_products(d, n * repeats, seed=11, distribution=a).double().view(repeats, n)
    low, high = variance_interval(dots.var(1).numpy(), n, [theory(d, a)] * repeats)
    # 4 se, and .015 for a sample variance that is skewed otherwise than a chi-square (heavy entries at d = 1)
    assert ((low <= d) & (d <= high)).mean() == pytest.approx(0.95, abs=4 * 0.0031 + 0.015)


def test_the_interval_through_layers_allows_for_the_draw_of_the_layers():
    a, repeats = Assumptions(linear=True, d_model=32), 400          # se of a share of .95 is .011
    truth = theory(16, a).variance
    rows = [variance_table((16,), 2000, seed, a).iloc[0] for seed in range(repeats)]
    share = sum(row.unscaled_low <= truth <= row.unscaled_high for row in rows) / repeats
    assert share == pytest.approx(0.95, abs=4 * 0.011)


# --- one stream ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("a", EVERY, ids=str)
def test_a_row_depends_on_its_own_d_k_only_and_table_curve_and_histogram_share_it(a):
    n, seed = 20_000, 42                                 # more than one chunk of pairs
    table = variance_table((3, 70, 1), n, seed, a)
    assert table.d_k.tolist() == [3, 70, 1]
    alone = variance_table((3,), n, seed, a).unscaled[0]
    tight = dict(rel=1e-6)
    assert alone == pytest.approx(table.unscaled[0], **tight)
    curve = variance_sweep(70, n, seed, a)
    assert curve.d_k.tolist() == list(range(1, 71))
    assert curve.unscaled[[2, 69, 0]].tolist() == pytest.approx(table.unscaled.tolist(), **tight)
    assert curve.scaled.tolist() == pytest.approx((curve.unscaled / curve.d_k).tolist())
    assert dot_product_histogram(3, n, seed, a).variance == pytest.approx(alone, rel=1e-4)
    assert dot_products(70, n, seed, a).double().var().item() == pytest.approx(table.unscaled[1], rel=1e-4)


@pytest.mark.parametrize("a", EVERY, ids=str)
def test_one_pass_gives_the_table_the_curve_and_the_histograms(a):
    n, seed = 20_000, 42                                 # more than one chunk of pairs
    curve, histograms = variance_study(range(1, 33), (1, 16, 64), n, seed, a, bins=31)
    assert curve.equals(variance_table(range(1, 33), n, seed, a)) and list(histograms) == [1, 16, 64]
    for d, histogram in histograms.items():
        alone = dot_product_histogram(d, n, seed, a, bins=31)
        assert histogram.frame.equals(alone.frame) and histogram.variance == pytest.approx(alone.variance)
    assert histograms[16].variance == pytest.approx(curve.unscaled[15], rel=1e-4)


@pytest.mark.parametrize("a", EVERY, ids=str)
def test_the_table_is_what_brute_force_gives_over_the_same_pairs(a):
    n, seed = 20_000, 3
    table = variance_table((1, 32), n, seed, a)
    for row in table.itertuples():
        assert plain_variance(row.d_k, n, seed, a) == pytest.approx(row.unscaled, rel=1e-5)
    assert math.isnan(plain_variance(4, 1))


def test_the_curve_is_that_of_a_plain_loop_over_the_same_pairs():
    n, max_d, seed = 500, 40, 9
    first = torch.randint(2**32, (2,), generator=torch.Generator().manual_seed(seed))[1].item()
    generator = torch.Generator().manual_seed(first)
    q, k = torch.stack([torch.stack([torch.empty(n).normal_(generator=generator) for _ in "qk"])
                        for _ in range(max_d)]).double().unbind(1)            # (max_d, n) each
    expected = [(q[:d] * k[:d]).sum(0).var().item() for d in range(1, max_d + 1)]
    assert variance_sweep(max_d, n, seed).unscaled.tolist() == pytest.approx(expected, rel=1e-5)


def test_neighbouring_points_err_together():
    n, seeds, d, D = 100, 500, 8, 16
    points = np.array([variance_sweep(D, n, seed).unscaled[[d - 1, D - 1]] for seed in range(seeds)])
    expected = d / D * math.sqrt((2 + 6 / d) / (2 + 6 / D))
    assert np.corrcoef(points.T)[0, 1] == pytest.approx(expected, abs=4 / math.sqrt(seeds))


def test_the_same_seed_gives_the_same_bytes_and_leaves_the_global_generator_alone():
    before = torch.random.get_rng_state()
    first, second = (dot_products(16, 1000, seed=0) for _ in range(2))
    assert torch.equal(first, second)
    assert not torch.equal(first, dot_products(16, 1000, seed=1))
    assert variance_table((16,), 1000).equals(variance_table((16,), 1000))
    assert torch.equal(before, torch.random.get_rng_state())


def test_progress_rises_to_1_and_changes_no_number():
    seen = []
    table = variance_table((4, 8), 50_000, progress=seen.append)
    assert seen == sorted(seen) and seen[-1] == 1 and len(seen) > 2
    assert table.equals(variance_table((4, 8), 50_000))


def test_an_exception_from_progress_cancels():
    def stop(share):
        raise InterruptedError(share)

    with pytest.raises(InterruptedError):
        variance_sweep(8, 50_000, progress=stop)


def test_the_columns_are_those_of_the_contract():
    assert variance_table((4,), 10).columns.tolist() == [
        "d_k", "theory", "unscaled", "unscaled_low", "unscaled_high", "scaled", "n"]
    assert variance_sweep(4, 10).columns.tolist() == ["d_k", "unscaled", "scaled"]
    assert variance_table((4,), 10, 0, "sign", "cpu").attrs["device"] == "cpu"


# --- the histogram ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("a", [Assumptions(), Assumptions("heavy", mean=1.0, rho=0.3)], ids=str)
def test_the_histogram_counts_every_pair_and_its_curve_is_the_normal_one(a):
    d, n, bins = 16, 10_000, 40
    h = dot_product_histogram(d, n, distribution=a, bins=bins)
    for arm, unit in (("unscaled", 1.0), ("scaled", 4.0)):
        f = h.frame[h.frame.arm == arm]
        width = f.right - f.left
        assert len(f) == bins and f["count"].sum() + round(h.outside * n) == n
        assert (f.density * width * n).tolist() == pytest.approx(f["count"].tolist())
        assert (f.predicted * width).sum() == pytest.approx(math.erf(4 / math.sqrt(2)))
        middle, sd = h.law.mean / unit, math.sqrt(h.law.variance) / unit
        centre = (f.left + f.right) / 2
        normal = np.exp(-((centre - middle) ** 2) / (2 * sd**2)) / (sd * math.sqrt(2 * math.pi))
        assert f.predicted.tolist() == pytest.approx(normal.tolist(), abs=0.01 / sd)
        assert f.left.iloc[0] - middle == pytest.approx(-(f.right.iloc[-1] - middle))
    assert h.law == theory(d, a) and h.noise == pytest.approx(1.3581 / math.sqrt(n), rel=1e-4)
    assert h.frame.exact.isna().all() == (a != Assumptions())


@pytest.mark.parametrize("d", (1, 2, 3, 15, 64, 1024))
@pytest.mark.parametrize("bins", (15, 61))
def test_bins_of_signs_hold_equally_many_of_the_values_they_can_take(d, bins):
    n = 10_000
    f = dot_product_histogram(d, n, distribution="sign", bins=bins).frame
    f = f[f.arm == "unscaled"]
    values = np.arange(-d, d + 1, 2)                     # a sum of d signs
    held = [((left < values) & (values < right)).sum() for left, right in zip(f.left, f.right)]
    inside = [h for h, left, right in zip(held, f.left, f.right) if -d <= left and right <= d]
    assert len(set(inside)) <= 1
    assert f.left.tolist() == pytest.approx((-f.right[::-1]).tolist())
    assert f["count"].sum() >= 0.999 * n and f.right.iloc[-1] >= 4 * math.sqrt(d)
    assert len(f) <= 2 * bins or d < 64


def test_the_exact_distribution_at_d_2_is_the_double_exponential():
    x = torch.linspace(-9, 9, 37)
    expected = torch.where(x < 0, x.exp() / 2, 1 - (-x).exp() / 2)
    assert torch.allclose(product_cdf(x, 2), expected.double(), atol=1e-7)


@pytest.mark.parametrize("d", (1, 2, 5, 64, 1024))
def test_the_exact_distribution_has_variance_d_and_is_symmetric(d):
    x = torch.linspace(-60, 60, 6_001, dtype=torch.float64) * math.sqrt(d)
    p = product_cdf(x, d).diff()
    middle = (x[1:] + x[:-1]) / 2
    assert p.sum().item() == pytest.approx(1) and torch.allclose(p, p.flip(0), atol=1e-12)
    assert (p * middle**2).sum().item() == pytest.approx(d, rel=1e-4)
    assert (p * middle**4).sum().item() / d**2 == pytest.approx(3 + 6 / d, rel=1e-3)


@pytest.mark.parametrize("d", (1, 3, 64))
def test_a_sample_follows_the_exact_distribution(d):
    dots = dot_products(d, 50_000, seed=1).sort().values
    steps = torch.arange(1, 50_001, dtype=torch.float64) / 50_000
    largest = (product_cdf(dots[::50], d) - steps[::50]).abs().max()
    assert largest < 1.95 / math.sqrt(50_000)            # a true sample exceeds it in 1 of 1000 seeds


def test_one_product_is_visibly_not_normal_and_many_are():
    one, many = dot_product_histogram(1), dot_product_histogram(1024)
    assert one.distance > 3 * one.noise and one.kurtosis > 6
    assert many.distance < many.noise and abs(many.kurtosis - 3) < 0.2                # 4 se = 4 sqrt(24 / 10,000)


def test_the_distance_is_kolmogorovs():
    law = Law(0, 1, 3)
    assert normal_distance(torch.tensor([0.0]), law) == pytest.approx(0.5)
    assert normal_distance(torch.tensor([10.0, 10.0]), law) == pytest.approx(1.0)


# --- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call, words", [
    (lambda: variance_table((0,)), "each of d_ks .*1 to 16384; got 0"),
    (lambda: variance_table((4.5,)), "got 4.5"),
    (lambda: variance_table(()), "at least one"),
    (lambda: variance_table(64), "sequence of whole numbers; got 64"),
    (lambda: variance_table((4,), 0), "n_samples .*1 to 1000000; got 0"),
    (lambda: variance_table((4,), 1_000_001), "n_samples .*got 1000001"),
    (lambda: variance_table((16_384,), 1_000_000), "at most 1,073,741,824; got 16,384,000,000"),
    (lambda: variance_table((4,), seed=-1), "seed .*got -1"),
    (lambda: variance_table((4,), distribution="cauchy"), "normal, uniform, sign, heavy; got 'cauchy'"),
    (lambda: variance_table((4,), device="tpu"), "device .*got 'tpu'"),
    (lambda: variance_sweep(True), "max_d .*got True"),
    (lambda: Assumptions(mean=math.nan), "mean .*got nan"),
    (lambda: Assumptions(rho=1.1), "rho .*-1 to 1; got 1.1"),
    (lambda: Assumptions(linear=True, rho=0.5), "linear needs mean 0 and rho 0"),
    (lambda: Assumptions(d_model=0), "d_model .*got 0"),
    (lambda: dot_product_histogram(4, bins=0), "bins .*got 0"),
    (lambda: variance_study((4,), (0,)), "each of histograms_at .*got 0"),
    (lambda: variance_study((4,), (4,), bins=0), "bins .*got 0"),
])
def test_a_mistake_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
def test_a_large_run_on_a_gpu_follows_the_same_law():
    n = 1_000_000
    table = variance_table((1, 64, 256), n, device="cuda")
    assert table.attrs["device"].startswith("cuda")
    for row in table.itertuples():
        assert abs(row.unscaled / row.theory - 1) <= 4 * relative_se(theory(row.d_k), n)
    small = variance_table((4,), 100, device="cuda")
    assert small.attrs["device"] == "cpu" and small.equals(variance_table((4,), 100))


def test_the_variance_of_given_tensors_is_that_of_all_their_pairs() -> None:
    g = torch.Generator().manual_seed(5)
    q, k = torch.randn(2, 3, 5, 11, generator=g) + 0.5, 2 * torch.randn(2, 3, 7, 11, generator=g)
    found = core.own_variance(q, k)
    dots = torch.tensor([[float(a.double() @ b.double()) for a in q[i, h] for b in k[i, h]] for i in range(2) for h in range(3)])
    assert found.n == dots.numel() == 210 and found.d_k == 11
    assert found.variance == pytest.approx(dots.double().var(correction=0).item(), rel=1e-6)
    assert found.scaled == pytest.approx(found.variance / 11)
    assert [variance for variance, _ in found.heads] == pytest.approx(dots.double().var(1, correction=0).tolist(), rel=1e-6)
    assert found.entries == pytest.approx(11 * q.double().var(correction=0).item() * k.double().var(correction=0).item())
    assert found.difference < 1e-12


def test_given_tensors_that_keep_the_assumptions_have_the_ideal_variance() -> None:
    # n = 64 x 64 queries and keys a head, 16 heads; the se of the variance is below 2 % here
    g = torch.Generator().manual_seed(6)
    found = core.own_variance(*(torch.randn(1, 16, 64, 64, generator=g) for _ in range(2)))
    assert found.variance == pytest.approx(64, rel=0.08) and found.entries == pytest.approx(64, rel=0.08)
    one = core.own_variance(torch.ones(1, 1, 1, 4), torch.ones(1, 1, 1, 4))
    assert (one.n, one.variance, one.entries) == (1, 0, 0)
    apart = core.own_variance(torch.tensor([[[[1e8, 1.0, 1e8]]]]), torch.tensor([[[[1e8, 1.0, -1e8]]]]))
    assert apart.difference < 1e-9, "products that cancel are no fault"
    with pytest.raises(ValueError, match="needs q"):
        core.own_variance(torch.ones(2, 4), torch.ones(2, 4))
