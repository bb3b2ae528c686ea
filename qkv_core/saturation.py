"""What large scores do to a softmax: the weights, their entropy and the gradient through them, against d_k.

    weights a = softmax(q.k / (divisor tau)),      Jacobian J_ij = da_i / ds_j = a_i (delta_ij - a_j)

Without a divisor the scores spread like sqrt(d_k); one weight takes all and J fades. J does not fade at once: its norm
first *rises* with d_k (to about d_k = 4 for 16 keys) and then collapses.

Every d_k of a curve is seen on the same draw: trial t has one query and n keys of the largest d_k, and a smaller d_k
uses their first entries. A row of the curve therefore depends on the seed, the trials and the keys, and not on which
other d_k were asked for; and its points differ by d_k, not by luck.

Symbols: d_k entries of a query or key, n keys, tau temperature, a weights, H entropy, J softmax Jacobian.
"""

import math
import numbers
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch

from qkv_core import measures
from qkv_core.attention import SCALES, divisor, stable_softmax
from qkv_core.masks import whole
from qkv_core.variance import MAX_D, d_list, seed_of

MAX_KEYS = 1_024
MAX_TRIALS = 20_000
LARGEST = 1e30                # a given q.k; a small tau must not make it overflow float32
MAX_ENTRIES = 1 << 30         # entries of all keys: some 5 seconds of one CPU thread
TRIAL_SCORES = 1 << 16        # scores drawn at once
BLOCK_FLOATS = 1 << 17        # entries of keys drawn at once: half a megabyte
BATCH_SCORES = 1 << 18        # scores measured at once
MAX_FACTOR = 1e24             # below tau of about 1e-24 the weights are at their limit; a larger factor overflows

MEASURES = ("peak", "entropy", "jacobian", "effective")
LEVEL = 0.95                  # of the intervals
NEARLY_ALL = 0.9              # a top weight above this leaves next to nothing for the other keys
Progress = Callable[[float], None]


def saturation_curve(d_ks: Iterable[int], n_keys: int = 16, n_trials: int = 400, seed: int = 0, tau: float = 1.0,
                     progress: Progress | None = None) -> pd.DataFrame:
    """How saturated softmax(q.k / tau) and softmax(q.k / (sqrt(d_k) tau)) are, for each d_k: means over trials.

    One trial is one query and n_keys keys with independent standard normal entries.
        peak       max_i a_i
        entropy    H / ln n,  H = -sum a_i ln a_i        a share: 1 is even, 0 is one key; 0 for one key by definition
        jacobian   ||J||_F = sqrt(sum_ij (a_i (delta_ij - a_j))^2)
        effective  exp(H), the number of equally weighted keys with this entropy

    Args:
        d_ks: entries of q and k, each 1 to 16384; two rows for each, in this order.
        n_keys: n, 1 to 1024. One key has weight 1, entropy 0 and Jacobian 0.
        n_trials: 1 to 20,000. n_trials * n_keys * the largest d_k is at most 2^30.
        seed: 0 to 2^32 - 1.
        tau: temperature, > 0 and finite.
        progress: called with the share done, above 0 to 1; an exception from it cancels the run.
    Returns:
        DataFrame: d_k; arm ("unscaled", divisor 1 | "scaled", divisor sqrt(d_k)); peak; entropy; jacobian; effective;
        then `_low` and `_high` of each of these four, the 95 % interval of its mean (Student's t; nan for one trial;
        it may pass the measure's own limits when there are few trials); n, the trials.
    Raises:
        ValueError: an argument is out of range.
    Source: Vaswani et al. 2017, section 3.2.1, "regions where it has extremely small gradients".
    """
    d_ks = d_list(d_ks)
    divide_by = [[1.0, math.sqrt(d)] for d in d_ks]
    columns = _measure(d_ks, divide_by, n_keys, n_trials, seed, tau, progress)
    del columns["power"], columns["power_low"], columns["power_high"]
    arms = ["unscaled", "scaled"] * len(d_ks)
    return pd.DataFrame({"d_k": np.repeat(d_ks, 2), "arm": arms, **columns, "n": n_trials})


def divisor_lab(d_k: int, d_model: int, n_keys: int = 16, n_trials: int = 400, seed: int = 0, tau: float = 1.0,
                progress: Progress | None = None) -> pd.DataFrame:
    """The same draw divided by each of the four named scales: what each does to the scores and to the weights.

        scores s = q.k / (divisor tau),     std = sqrt(mean s^2), since q.k has mean 0;   theory sqrt(d_k)/(divisor tau)
    Only sqrt(d_k) gives 1 at tau = 1 for every d_k: no divisor lets it grow, d_k lets it shrink (weights nearly even),
    and sqrt(d_model) is right for one head only.

    Args:
        d_k: 1 to 16384.
        d_model: C, d_k to 2^20.
        n_keys, n_trials, seed, tau, progress: as in saturation_curve.
    Returns:
        DataFrame, one row a scale: divisor (token: "sqrt_dk", "none", "dk", "sqrt_dmodel"); value (the number); theory
        (std predicted); std; peak; entropy (share of ln n); jacobian; effective; `_low` and `_high` of these five; n,
        the trials. The "none" and "sqrt_dk" rows are those of saturation_curve for this d_k.
    Raises:
        ValueError: an argument is out of range.
    Source: Vaswani et al. 2017, section 3.2.1.
    """
    d_k = whole("d_k", d_k, 1, MAX_D)
    d_model = whole("d_model", d_model, d_k, 1 << 20)
    values = [divisor(name, d_k, d_model) for name in SCALES]
    columns = _measure([d_k], [values], n_keys, n_trials, seed, tau, progress)
    std = {"std" + end: np.sqrt(np.maximum(columns.pop("power" + end), 0.0)) for end in ("", "_low", "_high")}
    spread = [math.sqrt(d_k) / (value * tau) for value in values]
    return pd.DataFrame({"divisor": SCALES, "value": values, "theory": spread, **std, **columns, "n": n_trials})


def temperature_curve(taus: Iterable[float], d_k: int = 64, n_keys: int = 16, n_trials: int = 400, seed: int = 0,
                      progress: Progress | None = None) -> pd.DataFrame:
    """How saturated softmax(q.k / tau) and softmax(q.k / (sqrt(d_k) tau)) are, for each tau: means over trials.

    The draw is that of saturation_curve for the same seed, keys and trials. Only tau * divisor matters, so the
    unscaled arm at tau is the scaled arm at tau / sqrt(d_k): on a logarithmic axis one curve is the other one moved.

    Args:
        taus: temperatures, each > 0 and finite; two rows for each, in this order.
        d_k: 1 to 16384.
        n_keys, n_trials, seed, progress: as in saturation_curve.
    Returns:
        DataFrame: tau; then arm and the rest as in saturation_curve.
    Raises:
        ValueError: an argument is out of range.
    Source: Vaswani et al. 2017, section 3.2.1, equation 1, with tau written in.
    """
    d_k, taus = whole("d_k", d_k, 1, MAX_D), list(taus)
    if not taus:
        raise ValueError("taus must hold at least one temperature; got none")
    factors = [_factor(by, tau) for tau in taus for by in (1.0, math.sqrt(d_k))]
    columns = _measure([d_k], [[1 / factor for factor in factors]], n_keys, n_trials, seed, 1.0, progress)
    del columns["power"], columns["power_low"], columns["power_high"]
    return pd.DataFrame({"tau": np.repeat(taus, 2), "arm": ["unscaled", "scaled"] * len(taus), **columns, "n": n_trials})


# --- one query and its keys, for show -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Arm:
    """One row of weights and what can be said of it, all on the CPU in float32.

    divisor: what q.k was divided by.   scores (n,) = raw / (divisor tau).   weights (n,) = softmax(scores).
    jacobian (n, n): a_i (delta_ij - a_j), symmetric; each row and column sums to 0, as moving all scores alike moves
        nothing.
    jacobian_norm: its Frobenius norm.   peak: the largest weight.   entropy: share of ln n (0 for one key).
    effective: exp(H), in keys.
    """

    divisor: float
    scores: torch.Tensor
    weights: torch.Tensor
    jacobian: torch.Tensor
    jacobian_norm: float
    peak: float
    entropy: float
    effective: float


@dataclass(frozen=True, eq=False)
class TenKeys:
    """One query q (d_k,), its keys k (n, d_k), raw = k q (n,), and the same raw scores without and with a divisor."""

    q: torch.Tensor
    k: torch.Tensor
    raw: torch.Tensor
    tau: float
    unscaled: Arm
    scaled: Arm


def ten_keys(d_k: int = 64, n_keys: int = 10, seed: int = 0, tau: float = 1.0,
             divide_by: float | None = None) -> TenKeys:
    """One query over n_keys keys, drawn from the seed: its weights without the divisor and with it.

        unscaled softmax(k q / tau),    scaled softmax(k q / (divisor tau))

    Args:
        d_k: 1 to 16384.
        n_keys: 1 to 1024.
        seed: 0 to 2^32 - 1; the same on every device, since it is drawn on the CPU.
        tau: temperature, > 0 and finite.
        divide_by: divisor of the scaled arm, > 0 and finite; sqrt(d_k) by default.
    Returns:
        TenKeys.
    Raises:
        ValueError: an argument is out of range.
    Source: Vaswani et al. 2017, section 3.2.1, equation 1.
    """
    d_k, n_keys, seed = whole("d_k", d_k, 1, MAX_D), whole("n_keys", n_keys, 1, MAX_KEYS), seed_of(seed)
    divide_by = math.sqrt(d_k) if divide_by is None else divide_by
    generator = torch.Generator().manual_seed(seed)
    q = torch.randn(d_k, generator=generator)
    k = torch.randn(n_keys, d_k, generator=generator)
    return given_keys(q, k, tau, divide_by)


def given_keys(q: torch.Tensor, k: torch.Tensor, tau: float = 1.0, divide_by: float | None = None) -> TenKeys:
    """The same of a query and keys that are given.

    Args:
        q: (d_k,). k: (n, d_k). float32, with finite dot products.
        tau, divide_by: as for `ten_keys`.
    Returns:
        TenKeys.
    Raises:
        ValueError: a dot product of LARGEST or more, or tau or divide_by is not positive.
    """
    divide_by = math.sqrt(len(q)) if divide_by is None else divide_by
    raw = k @ q
    if not (raw.abs() < LARGEST).all():             # also for NaN
        raise ValueError(f"the dot products of q and k must stay below {LARGEST:g}")
    return TenKeys(q, k, raw, tau, unscaled=_arm(raw, 1.0, tau), scaled=_arm(raw, divide_by, tau))


def own_rows(q: torch.Tensor, k: torch.Tensor, tau: float = 1.0, divide_by: float | None = None) -> dict[str, dict[str, float]]:
    """The means of every measure over all rows of given tensors, without the divisor and with it.

    Args:
        q: (B, h, T_q, d_k). k: (B, h, T_k, d_k). tau, divide_by: as for `ten_keys`.
    Returns:
        {"unscaled" | "scaled": {"peak", "entropy" (share of ln T_k), "jacobian", "effective": float}}, worked out in float64.
    """
    by = {"unscaled": 1.0, "scaled": math.sqrt(q.shape[-1]) if divide_by is None else divide_by}
    sums = {arm: torch.zeros(4, dtype=torch.float64) for arm in by}
    some = max(1, TRIAL_SCORES // (q.shape[2] * k.shape[2]))                        # heads at a time
    for some_q, some_k in zip(q.flatten(0, 1).double().split(some), k.flatten(0, 1).double().split(some)):
        raw = some_k @ some_q.mT                                                    # (heads, T_k, T_q)
        for arm, value in by.items():
            sums[arm] += row_measures(raw / (value * tau)).sum((1, 2))
    rows = q.shape[0] * q.shape[1] * q.shape[2]
    return {arm: dict(zip(("peak", "entropy", "jacobian", "effective"), (total / rows).tolist())) for arm, total in sums.items()}


def _arm(raw: torch.Tensor, divide_by: float, tau: float) -> Arm:
    scores = raw * _factor(divide_by, tau)
    weights = stable_softmax(scores)
    exact = raw.double() * _factor(divide_by, tau)           # four decimals of dozens of keys are more than float32 has
    a = stable_softmax(exact)
    products = weights[:, None] * weights
    others = products - products.diag().diag()
    jacobian = others.sum(1).diag() - others      # the diagonal as a sum of the others: 1 - a_i would cancel near 1
    return Arm(
        divisor=divide_by, scores=scores, weights=weights, jacobian=jacobian,
        jacobian_norm=float(measures.jacobian_norm(exact, from_scores=True)), peak=float(measures.peak(weights)),
        entropy=float(measures.entropy(a)) / _log_n(len(raw)), effective=float(measures.effective_keys(a)),
    )


@dataclass(frozen=True, eq=False)
class SameProduct:
    """Two settings (tau, divisor) with one product, and their weights over the same keys.

    product = tau * divisor of both.   first, second: (tau, divisor).   first_weights, second_weights (n,).
    difference: the largest between the weights; rounding only, about 1e-7.
    """

    product: float
    first: tuple[float, float]
    second: tuple[float, float]
    first_weights: torch.Tensor
    second_weights: torch.Tensor
    difference: float


def same_product(d_k: int = 64, n_keys: int = 10, seed: int = 0, tau: float = 1.0) -> SameProduct:
    """Proof by example that tau and the divisor act only through their product, tau * sqrt(d_k).

        softmax(q.k / (sqrt(d_k) tau)) = softmax(q.k / (1 * (tau sqrt(d_k))))
    The first setting divides by sqrt(d_k) at temperature tau; the second has no divisor and temperature
    tau sqrt(d_k). Leaving the scale out is the same as a temperature of 1 / sqrt(d_k).

    Args:
        d_k, n_keys, seed, tau: as in ten_keys.
    Returns:
        SameProduct.
    Raises:
        ValueError: an argument is out of range.
    Source: Vaswani et al. 2017, section 3.2.1, equation 1, with tau written in.
    """
    first = ten_keys(d_k, n_keys, seed, tau)
    divide_by = first.scaled.divisor
    hot = tau * divide_by
    second = ten_keys(d_k, n_keys, seed, hot).unscaled
    difference = (first.scaled.weights - second.weights).abs().max()
    return SameProduct(hot, (tau, divide_by), (hot, 1.0), first.scaled.weights, second.weights, float(difference))


# --- what the curve says ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Noticed:
    """Facts read off a saturation curve, for sentences whose numbers are computed.

    first_d, last_d: smallest and largest d_k of the curve.
    jacobian_first, jacobian_top, jacobian_last: unscaled norm at first_d, at its largest, at last_d.
    top_d: d_k of the largest unscaled norm.
    rises: whether the norm at top_d is above that at first_d by more than both intervals explain.
    falls: the same for top_d against last_d.
    ratio: jacobian_last / jacobian_top, 0 to 1 (nan where the top is 0, as with one key).
    peak_first, peak_last: unscaled top weight at first_d and last_d.
    over_90_d: first d_k whose unscaled top weight is above .9 (NEARLY_ALL), or None.
    scaled_jacobian_last, scaled_peak_last, scaled_entropy_last, unscaled_entropy_last: at last_d.
    """

    first_d: int
    last_d: int
    top_d: int
    jacobian_first: float
    jacobian_top: float
    jacobian_last: float
    ratio: float
    rises: bool
    falls: bool
    peak_first: float
    peak_last: float
    over_90_d: int | None
    unscaled_entropy_last: float
    scaled_jacobian_last: float
    scaled_peak_last: float
    scaled_entropy_last: float


def noticed(curve: pd.DataFrame) -> Noticed:
    """What the curve shows: where the unscaled Jacobian norm peaks, how far it falls, when one weight has nearly all.

    Args:
        curve: from saturation_curve, at least one d_k.
    Returns:
        Noticed.
    Source: the frame itself.
    """
    ordered = curve.sort_values("d_k", kind="stable")
    raw, scaled = (ordered[ordered["arm"] == arm].reset_index(drop=True) for arm in ("unscaled", "scaled"))
    first, last, top = raw.iloc[0], raw.iloc[-1], raw.loc[raw["jacobian"].idxmax()]
    over = raw.loc[raw["peak"] > NEARLY_ALL, "d_k"]
    end = scaled.iloc[-1]
    return Noticed(
        first_d=int(first.d_k), last_d=int(last.d_k), top_d=int(top.d_k),
        jacobian_first=float(first.jacobian), jacobian_top=float(top.jacobian), jacobian_last=float(last.jacobian),
        ratio=float(last.jacobian / top.jacobian) if top.jacobian else math.nan,
        rises=bool(top.jacobian_low > first.jacobian_high), falls=bool(top.jacobian_low > last.jacobian_high),
        peak_first=float(first.peak), peak_last=float(last.peak),
        over_90_d=int(over.iloc[0]) if len(over) else None,
        unscaled_entropy_last=float(last.entropy), scaled_jacobian_last=float(end.jacobian),
        scaled_peak_last=float(end.peak), scaled_entropy_last=float(end.entropy),
    )


# --- the engine ---------------------------------------------------------------------------------------------------


def row_measures(scores: torch.Tensor) -> torch.Tensor:
    """Peak, entropy, Jacobian norm and effective keys of softmax(scores) over the second axis from the end, fused.

    `qkv_core.measures` written for many rows at once: keys on the axis before the last, so that every pass runs along
    contiguous trials, and in place, so that nothing but the scores is read twice. With e_i = exp(s_i - max), p the top
    weight, R the sum of the other e_i and b_i = e_i / R:
        p = 1 / (1 + R)      H = ln(1 + R) - sum e_i (s_i - max) / (1 + R)      r = R p
        ||J|| = r sqrt(p^2 (1 + 2 B) + B - 2 r sum b^3 + r^2 B^2),     B = sum b^2
    The short form S2 - 2 S3 + S2^2 cancels once a row saturates; here the top weight enters through the others only.
    In float32 the norm is right to 1e-6 for 16 keys and scores of standard deviation up to 10; where only one other key
    counts, its error is the rounding of that gap, gap * 2^-24.

    Args:
        scores: tensor (..., n, T), float32 or float64, finite. **Overwritten.**
    Returns:
        tensor (4, ..., T): peak, entropy as a share of ln n (0 when n = 1), Jacobian norm, exp(entropy).
    Source: tests/test_saturation_core.py ties it to qkv_core.measures, to autograd and to float64.
    """
    z = scores.sub_(scores.amax(-2, keepdim=True))
    top = z == 0
    ties = top.sum(-2) - 1                                       # further keys as high as the top one; b = 1/R each
    e = z.exp().masked_fill_(top, 0.0)
    R = e.sum(-2) + ties
    p = 1 / (1 + R)
    H = R.log1p() - z.mul_(e).sum(-2) * p
    unit = R.clamp(min=torch.finfo(R.dtype).tiny)
    b = e.div_(unit.unsqueeze(-2))
    tied = 1 / R.clamp(min=1)                                    # a tie makes R at least 1
    square = b * b
    B = square.sum(-2) + ties * tied.square()
    cubes = square.mul_(b).sum(-2) + ties * tied.pow(3)
    r = R * p
    J = r * (p.square() * (1 + 2 * B) + B - 2 * r * cubes + (r * B).square()).clamp_(min=0).sqrt()
    return torch.stack([p, H / _log_n(scores.shape[-2]), J, H.exp()])


@torch.inference_mode()
def _measure(d_ks, divide_by, n_keys, n_trials, seed, tau, progress) -> dict[str, np.ndarray]:
    """Columns of means, lows and highs of each measure and of s^2 ("power"), a row for each d_k and divisor of it."""
    n_keys, n_trials = whole("n_keys", n_keys, 1, MAX_KEYS), whole("n_trials", n_trials, 1, MAX_TRIALS)
    if (entries := n_keys * n_trials * max(d_ks)) > MAX_ENTRIES:
        raise ValueError(f"n_keys * n_trials * the largest d_k must be at most {MAX_ENTRIES:,}; got {entries:,}")
    rows = dict(zip(d_ks, divide_by))
    unique = sorted(rows)
    table = _factor(1.0, tau) / torch.tensor([rows[d] for d in unique])                    # (D, arms)
    sums = np.zeros((2, len(MEASURES) + 1, *table.shape))
    for first, scores, before in _scores(unique, n_keys, n_trials, seed_of(seed)):           # (rows, n, T)
        last = first + len(scores)
        values = _values(scores, table[first:last])                                        # (measures, rows, arms, T)
        sums[:, :, first:last] += torch.stack([values.sum(-1), values.square().sum(-1)]).numpy()
        if progress:
            progress((before + scores.shape[-1] * last / len(unique)) / n_trials)
    row = {d: i for i, d in enumerate(unique)}
    return _columns(sums[:, :, [row[d] for d in d_ks]].reshape(2, len(sums[0]), -1), n_trials)


def _values(scores: torch.Tensor, factors: torch.Tensor) -> torch.Tensor:
    power = scores.square().mean(-2).double()[:, None] * factors.double().square()[..., None]    # 1e48 for a tiny tau
    return torch.cat([row_measures(scores[:, None] * factors[..., None, None]).double(), power[None]])


def _scores(d_ks: list[int], n_keys: int, n_trials: int, seed: int) -> Iterator[tuple[int, torch.Tensor, int]]:
    """Yields (index of the first d_k, raw scores (rows, n, T), trials before) over every d_k and every trial."""
    step = max(1, TRIAL_SCORES // n_keys)
    starts = range(0, n_trials, step)
    seeds = torch.randint(2**32, (len(starts),), generator=torch.Generator().manual_seed(seed)).tolist()
    for start, chunk_seed in zip(starts, seeds):
        trials = min(step, n_trials - start)
        rows = max(1, BATCH_SCORES // (n_keys * trials))
        batch, first = [], 0
        for scores in _prefix_scores(d_ks, n_keys, trials, torch.Generator().manual_seed(chunk_seed)):
            batch.append(scores)
            if len(batch) == rows or first + len(batch) == len(d_ks):
                yield first, torch.stack(batch), start
                first, batch = first + len(batch), []


def _prefix_scores(d_ks: list[int], n_keys: int, trials: int, generator: torch.Generator) -> Iterator[torch.Tensor]:
    """Yields q.k over the first d entries, (n, T), for each d in d_ks (ascending), from one draw of whole blocks."""
    block = min(64, max(1, BLOCK_FLOATS // (n_keys * trials)))
    q, k, sums = torch.empty(block, 1, trials), *torch.empty(2, block, n_keys, trials)
    before = torch.zeros(n_keys, trials)
    waiting = iter(d_ks)
    d = next(waiting)
    for start in range(0, d_ks[-1], block):
        q.normal_(generator=generator)
        k.normal_(generator=generator).mul_(q)
        k[0].add_(before)
        torch.cumsum(k, 0, out=sums)                                                       # prefix sums of q_i k_i
        before = sums[-1].clone()
        while d is not None and d <= start + block:
            yield sums[d - start - 1].clone()      # the buffer is overwritten by the next block
            d = next(waiting, None)


def _columns(sums: np.ndarray, n: int) -> dict[str, np.ndarray]:
    mean = sums[0] / n
    half = np.full_like(mean, math.nan)
    if n > 1:
        half = _t_975(n - 1) * np.sqrt(np.maximum(sums[1] - n * mean**2, 0.0) / (n - 1) / n)
    names = (*MEASURES, "power")
    ends = [(name + end, x) for name, low, high in zip(names, mean - half, mean + half)
            for end, x in (("_low", low), ("_high", high))]
    return {**dict(zip(names, mean)), **dict(ends)}


def _t_975(df: int) -> float:
    """The 97.5 % quantile of Student's t by its expansion about the normal one; within 0.2 % from 5 degrees up."""
    z = 1.959963984540054
    return (z + (z**3 + z) / (4 * df) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df**2)
            + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * df**3))


def _log_n(n: int) -> float:
    return math.log(n) if n > 1 else 1.0


def _factor(divide_by: float, tau: float) -> float:
    for name, value in (("divisor", divide_by), ("tau", tau)):
        if isinstance(value, bool) or not isinstance(value, (float, numbers.Real)) or not 0 < value < math.inf:
            raise ValueError(f"{name} must be a finite number > 0; got {value!r}")
    return min(1 / divide_by / tau, MAX_FACTOR)
