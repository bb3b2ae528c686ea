"""Why q.k grows: the variance of a dot product against d_k, sampled and predicted.

q.k is a sum of d_k products. With independent entries of mean 0 and variance 1 each product has variance 1, so the sum
has variance d_k, and q.k / sqrt(d_k) has variance 1 again. This module draws the pairs, predicts the variance for those
assumptions *and for each way of breaking them*, and says how far a sample may stray from the prediction.

Every function that draws uses one stream: pairs in chunks of a fixed size, each chunk from a generator of its own, one
coordinate at a time. The first d coordinates of a pair are therefore the same whatever the largest d is: with the same
seed and n, a row of the table, the point of the curve and the histogram are the same sample. Numbers depend on the
fixed chunk sizes below, and on nothing else that a caller can set.

Symbols: d_k entries of a query or key, n pairs, C = d_model, mu mean, rho correlation, kappa kurtosis (3 = normal).
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
import pandas as pd
import torch

from qkv_core.device import resolve
from qkv_core.masks import whole

MAX_PAIRS = 1_000_000
MAX_D = 16_384
MAX_MODEL = 4_096
MAX_ENTRIES = 1 << 30         # pairs times d_k: some 8 seconds of one CPU thread
OWN_CHECKED = 1 << 24         # entries of the matrices that check given tensors
CHUNK = 16_384                # pairs at a time on the CPU: three buffers of 64 KB stay in cache
CHUNK_CUDA = 1 << 20          # a kernel launch costs as much as 100,000 draws
LINEAR_FLOATS = 1 << 20       # entries of one token buffer when real projections are drawn
BLOCK = 64                    # rows of a projection multiplied at once
CUDA_WORTH = 1 << 26          # entries drawn; below this the CPU is as fast and its numbers are the shared ones

Progress = Callable[[float], None]

# Moments 2, 4, 6, 8 of each unit-variance distribution; all four are symmetric, so the odd ones are 0. "heavy" is the
# Laplace distribution: its tail is far heavier than the normal one (kurtosis 6), and all its moments exist, so that an
# interval for the variance exists in every combination below. Student's t with few degrees of freedom would have none.
MOMENTS = {
    "normal": (1.0, 3.0, 15.0, 105.0),
    "uniform": (1.0, 9 / 5, 27 / 7, 9.0),
    "sign": (1.0, 1.0, 1.0, 1.0),
    "heavy": (1.0, 6.0, 90.0, 2520.0),
}
DISTRIBUTIONS = tuple(MOMENTS)


@dataclass(frozen=True)
class Assumptions:
    """What the entries of q and k are.

    q_i = mean + e_i and k_i = mean + rho e_i + sqrt(1 - rho^2) z_i, with e_i and z_i independent, of mean 0 and
    variance 1. So each entry has variance 1 whatever mean and rho are.
    With linear, q = W_q x + b_q and k = W_k y + b_k instead, as two fresh `nn.Linear(d_model, d_k)` would project two
    independent tokens x and y whose entries have mean 0 and variance 1. One pair of layers is drawn from the seed and
    kept; the tokens vary. Weights and biases are uniform within +-1/sqrt(d_model), PyTorch's default.

    Args:
        distribution: of the entries (of the tokens' entries with linear): "normal", "uniform" (within +-sqrt 3),
            "sign" (+-1, each half the time) or "heavy" (Laplace, kurtosis 6); all of variance 1.
        mean: mu of every entry of q and of k, -100 to 100.
        rho: correlation of q_i with k_i, -1 to 1.
        linear: project tokens with default layers. Breaks one assumption at a time: mean and rho must stay 0.
        d_model: C, the width of a token, 1 to 4096; used with linear only.
        bias: whether the layers have a bias, as `nn.Linear` has by default; used with linear only.

    Raises:
        ValueError: a name, a number or a combination outside these.
    """

    distribution: str = "normal"
    mean: float = 0.0
    rho: float = 0.0
    linear: bool = False
    d_model: int = 512
    bias: bool = True

    def __post_init__(self):
        if self.distribution not in MOMENTS:
            raise ValueError(f"distribution must be one of {', '.join(MOMENTS)}; got {self.distribution!r}")
        if not -100 <= self.mean <= 100:          # also refuses nan
            raise ValueError(f"mean must be from -100 to 100; got {self.mean!r}")
        if not -1 <= self.rho <= 1:
            raise ValueError(f"rho must be from -1 to 1; got {self.rho!r}")
        whole("d_model", self.d_model, 1, MAX_MODEL)
        if self.linear and (self.mean or self.rho):
            raise ValueError(f"linear needs mean 0 and rho 0; got mean {self.mean!r} and rho {self.rho!r}")


@dataclass(frozen=True)
class Law:
    """What theory says about q.k.

    mean, variance, kurtosis: of q.k (kurtosis is nan where the variance is 0).
    spread: relative variance of `variance` itself from one draw of the layers to the next; 0 unless linear.
    """

    mean: float
    variance: float
    kurtosis: float
    spread: float = 0.0


def theory(d_k: int, distribution: str | Assumptions = "normal") -> Law:
    """The mean, variance and kurtosis of q.k that hold for these assumptions.

    Independent coordinates, one product X = q_i k_i each, kappa the kurtosis of an entry:
        mean      d_k (mu^2 + rho)
        variance  d_k (1 + 2 mu^2 (1 + rho) + rho^2 (kappa - 2))          = d_k when mu = rho = 0
                    1                  the product of two independent entries
                    2 mu^2 (1 + rho)   the mean lets each entry through by itself: mu (q_i + k_i)
                    rho^2 (kappa - 2)  the part rho q_i^2 that q and k share; rho^2 for normal entries
        kurtosis  3 + (kappa_X - 3) / d_k, with kappa_X the kurtosis of one product: kappa^2 when mu = rho = 0, so
                  3 + 6/d_k for normal entries; from the moments of an entry up to the eighth otherwise
    Default layers (linear), averaged over the layers' own draw, b = 1 with bias and 0 without:
        mean      0
        variance  d_k/9 (1 + 2 b / C)       entries of W have variance 1/(3C), so q_i and k_i have about 1/3
        kurtosis  3 + 6/d_k + (12 + 6 (kappa - 3)) / C, to first order in 1/C
        spread    (1.6 / C + (0.64 + 2 (d_k - 1)) / C^2) / d_k, exact without bias, to first order in 1/C with

    Args:
        d_k: entries of q and k, 1 to 16384.
        distribution: a name, or Assumptions.
    Returns:
        Law.
    Raises:
        ValueError: d_k or the assumptions are out of range.
    Source: Vaswani et al. 2017, section 3.2.1, footnote 4, for the case mu = rho = 0.
    """
    d = whole("d_k", d_k, 1, MAX_D)
    a = _assumptions(distribution)
    if a.linear:
        return _linear_law(d, a)
    kappa = MOMENTS[a.distribution][1]
    one = 1 + 2 * a.mean**2 * (1 + a.rho) + a.rho**2 * (kappa - 2)
    one = one if one > 1e-12 else 0.0             # signs with rho = 1: q.k is the same for every pair
    return Law(d * (a.mean**2 + a.rho), d * one, 3 + (_product_kurtosis(a) - 3) / d if one else math.nan)


def _linear_law(d: int, a: Assumptions) -> Law:
    c, kappa = a.d_model, MOMENTS[a.distribution][1]
    return Law(
        mean=0.0,
        variance=d / 9 * (1 + 2 * a.bias / c),
        kurtosis=3 + 6 / d + (12 + 6 * (kappa - 3)) / c,
        spread=(1.6 / c + (0.64 + 2 * (d - 1)) / c**2) / d,
    )


@lru_cache(maxsize=64)
def _product_kurtosis(a: Assumptions) -> float:
    """Kurtosis of X = q_i k_i, exactly: X - E X as a polynomial in (e, z), squared twice, term by term."""
    s = math.sqrt(1 - a.rho**2)
    centred = {(1, 0): a.mean * (1 + a.rho), (0, 1): a.mean * s, (2, 0): a.rho, (1, 1): s, (0, 0): -a.rho}
    square = _times(centred, centred)
    fourth = _expect(_times(square, square), a.distribution)
    return fourth / _expect(square, a.distribution) ** 2


def _times(left: dict, right: dict) -> dict:
    out = {}
    for ((i, j), x), ((k, l), y) in product(left.items(), right.items()):
        out[i + k, j + l] = out.get((i + k, j + l), 0.0) + x * y
    return out


def _expect(polynomial: dict, distribution: str) -> float:
    even = dict(zip((0, 2, 4, 6, 8), (1.0, *MOMENTS[distribution])))
    return sum(x * even.get(i, 0.0) * even.get(j, 0.0) for (i, j), x in polynomial.items())


# --- drawing ------------------------------------------------------------------------------------------------------


def _fill(out: torch.Tensor, scratch: torch.Tensor, distribution: str, generator: torch.Generator) -> None:
    """Overwrites out with independent entries of mean 0 and variance 1."""
    if distribution == "normal":
        out.normal_(generator=generator)
    elif distribution == "uniform":
        out.uniform_(-math.sqrt(3), math.sqrt(3), generator=generator)
    elif distribution == "sign":
        out.random_(0, 2, generator=generator).mul_(2).sub_(1)
    else:                                         # Laplace by its inverse: sign(u) * -log(1 - |u|) / sqrt 2
        out.uniform_(-1, 1, generator=generator).clamp_(min=-1 + 2**-24)        # -1 itself would give infinity
        torch.sign(out, out=scratch)
        out.abs_().neg_().log1p_().mul_(scratch).mul_(-math.sqrt(0.5))


def _pairs(a: Assumptions, rows: int, max_d: int, generator: torch.Generator, layers) -> Iterator[tuple]:
    """Yields (q_i, k_i), each (rows,), for i = 1..max_d. The two buffers are overwritten at every step."""
    if a.linear:
        yield from _projected_pairs(a, rows, max_d, generator, layers)
        return
    q, k, scratch = (torch.empty(rows, device=generator.device) for _ in range(3))
    for _ in range(max_d):
        _fill(q, scratch, a.distribution, generator)
        _fill(k, scratch, a.distribution, generator)
        if a.rho:
            k.mul_(math.sqrt(1 - a.rho**2)).add_(q, alpha=a.rho)
        if a.mean:
            q.add_(a.mean)
            k.add_(a.mean)
        yield q, k


def _projected_pairs(a: Assumptions, rows: int, max_d: int, generator, layers: torch.Tensor) -> Iterator[tuple]:
    x, y = (torch.empty(a.d_model, rows, device=generator.device) for _ in range(2))        # (C, rows), two tokens
    scratch = torch.empty_like(x) if a.distribution == "heavy" else x
    _fill(x, scratch, a.distribution, generator)
    _fill(y, scratch, a.distribution, generator)
    for start in range(0, max_d, BLOCK):
        W_q, W_k = layers[start : min(start + BLOCK, max_d)].unbind(1)                    # (b, C + 1), bias last
        yield from zip(W_q[:, :-1] @ x + W_q[:, -1:], W_k[:, :-1] @ y + W_k[:, -1:])      # rows of (b, rows)


def _layers(a: Assumptions, max_d: int, seed: int, device: torch.device) -> torch.Tensor | None:
    """W_q and W_k with their biases as last columns, (max_d, 2, C + 1); row i does not depend on max_d."""
    if not a.linear:
        return None
    bound = 1 / math.sqrt(a.d_model)
    W = torch.empty(max_d, 2, a.d_model + 1).uniform_(-bound, bound, generator=torch.Generator().manual_seed(seed))
    if not a.bias:
        W[..., -1] = 0
    return W.to(device)


def _chunks(a: Assumptions, max_d: int, n: int, seed: int, device: torch.device) -> Iterator[tuple[int, Iterator]]:
    """Yields (pairs in this chunk, its (q_i, k_i) for i = 1..max_d), chunk by chunk over n pairs."""
    rows = _chunk_rows(a, device)
    starts = range(0, n, rows)
    seeds = torch.randint(2**32, (1 + len(starts),), generator=torch.Generator().manual_seed(seed)).tolist()
    layers = _layers(a, max_d, seeds[0], device)
    for start, chunk_seed in zip(starts, seeds[1:]):
        size = min(rows, n - start)
        yield size, _pairs(a, size, max_d, torch.Generator(device).manual_seed(chunk_seed), layers)


def _partial_dots(a: Assumptions, max_d: int, n: int, seed: int, device: torch.device,
                  progress: Progress | None) -> Iterator[tuple[int, torch.Tensor]]:
    """Yields (d, sum over i <= d of q_i k_i less its mean) for each chunk of pairs and each d from 1 to max_d.

    Taking the known mean off as the sum grows keeps float32 exact enough where (mu^2 + rho) d is far above the
    standard deviation. The tensor is overwritten at the next step.
    """
    mean = 0.0 if a.linear else a.mean**2 + a.rho
    done = 0
    for size, pairs in _chunks(a, max_d, n, seed, device):
        dots = torch.zeros(size, device=device)
        for d, (q, k) in enumerate(pairs, start=1):
            dots.addcmul_(q, k)
            if mean:
                dots.sub_(mean)
            yield d, dots
        done += size
        if progress:
            progress(done / n)


def _chunk_rows(a: Assumptions, device: torch.device) -> int:
    if a.linear:
        return max(64, LINEAR_FLOATS // a.d_model)
    return CHUNK_CUDA if device.type == "cuda" else CHUNK


@torch.inference_mode()
def _sums(a: Assumptions, d_ks: list[int], n: int, seed: int, device: torch.device, progress: Progress | None,
          powers: tuple[float, ...], keep: dict[int, torch.Tensor] | None = None) -> np.ndarray:
    """Sum and sum of squares of the centred q.k / d^power for each power and each d, (powers, 2, D).

    The sample itself is written into keep[d], (n,), for each d that keep names.
    """
    chunk = torch.zeros(len(powers), 2, len(d_ks), device=device)
    slots = [dict(zip(d_ks, zip(*(row.unbind() for row in arm)))) for arm in chunk]
    total = np.zeros(chunk.shape)
    keep, start = keep or {}, 0
    last = max([*d_ks, *keep])
    for d, dots in _partial_dots(a, last, n, seed, device, progress):
        if d in keep:
            keep[d][start : start + len(dots)] = dots
        for slot, power in zip(slots, powers):
            if d in slot:
                values = dots / d**power if power else dots
                torch.sum(values, 0, out=slot[d][0])
                torch.dot(values, values, out=slot[d][1])
        if d == last:
            start += len(dots)
            total += chunk.double().cpu().numpy()     # chunks are merged in float64
    return total


def sample_variance(total, squares, n: int):
    """The sample variance by the n - 1 estimator; nan for a single sample.

        s^2 = (sum x^2 - (sum x)^2 / n) / (n - 1)
    Dividing by n - 1 makes it right on average. torch.var divides by n - 1 too; numpy.var by n unless told otherwise.

    Args:
        total, squares: sums of x and of x^2, numbers or arrays of one shape. Take x about a value near its mean: the
            difference cancels otherwise.
        n: samples, at least 1.
    Returns:
        float or array of that shape.
    Source: Bessel's correction.
    """
    total, squares = np.asarray(total, dtype=float), np.asarray(squares, dtype=float)
    if n < 2:
        return np.full(total.shape, math.nan)[()]
    return (np.maximum(squares - total**2 / n, 0.0) / (n - 1))[()]


# --- the table and the curve --------------------------------------------------------------------------------------


def variance_table(d_ks: Iterable[int], n_samples: int = 10_000, seed: int = 0,
                   distribution: str | Assumptions = "normal", device: str | torch.device = "cpu",
                   progress: Progress | None = None) -> pd.DataFrame:
    """The variance of q.k and of q.k / sqrt(d_k) over n_samples pairs, beside the theory, one row for each d_k.

        s^2 = sum (x - mean)^2 / (n - 1)             the n - 1 estimator
    The rows share their pairs (row d_k uses the first d_k coordinates of each), so neighbouring rows err in the same
    direction: the errors at d < d' correlate by about d/d'.

    Args:
        d_ks: entries of q and k, each 1 to 16384; a row for each, in this order.
        n_samples: pairs, 1 to 1,000,000. One pair has no variance: its row holds nan (a page shows a dash).
        seed: 0 to 2^32 - 1.
        distribution: a name ("normal", "uniform", "sign", "heavy"), or Assumptions for a mean, a correlation or
            default layers.
        device: "auto", "cpu", "cuda" or "mps". A large run is drawn on a CUDA device (from the GPU's own generator, so
            its numbers differ from the CPU's), anything else on the CPU. `frame.attrs["device"]` says where.
        progress: called with the share done, above 0 to 1, after each chunk; an exception from it cancels the run.
    Returns:
        DataFrame: d_k; theory (variance of q.k that holds for these assumptions); unscaled (sample variance of q.k);
        unscaled_low and unscaled_high (95 % interval, see variance_interval); scaled (sample variance of
        q.k / sqrt(d_k), from the divided values; its theory and interval are those of q.k over d_k); n.
    Raises:
        ValueError: an argument is out of range.
    Source: Vaswani et al. 2017, section 3.2.1, footnote 4.
    """
    return variance_study(d_ks, (), n_samples, seed, distribution, device=device, progress=progress)[0]


def variance_study(d_ks: Iterable[int], histograms_at: Iterable[int] = (), n_samples: int = 10_000, seed: int = 0,
                   distribution: str | Assumptions = "normal", bins: int = 61, device: str | torch.device = "cpu",
                   progress: Progress | None = None) -> tuple[pd.DataFrame, dict[int, "DotHistogram"]]:
    """The table for d_ks and the histogram at each d of histograms_at, from one pass over the pairs.

    The pairs are drawn up to the largest d once, and every smaller d is met on the way. The samples behind the
    histograms are held until they are counted: 4 n bytes for each.

    Args:
        d_ks: as in variance_table; range(1, 1025) is the whole curve with its intervals.
        histograms_at: the d of the histograms, each 1 to 16384; may be empty.
        n_samples, seed, distribution, device, progress: as in variance_table.
        bins: as in dot_product_histogram.
    Returns:
        (DataFrame as variance_table's, {d: DotHistogram}).
    Raises:
        ValueError: an argument is out of range.
    Source: Vaswani et al. 2017, section 3.2.1, footnote 4.
    """
    a, n, seed, d_ks = _assumptions(distribution), _pair_count(n_samples), seed_of(seed), d_list(d_ks)
    at, bins = [whole("each of histograms_at", d, 1, MAX_D) for d in histograms_at], whole("bins", bins, 1, 1000)
    where = _device(device, n * max(*d_ks, *at, 1))
    unique = list(dict.fromkeys(d_ks))
    keep = {d: torch.empty(n) for d in at}
    plain, divided = _sums(a, unique, n, seed, where, progress, powers=(0, 0.5), keep=keep)
    laws = [theory(d, a) for d in unique]
    unscaled = sample_variance(*plain, n)
    low, high = variance_interval(unscaled, n, laws)
    frame = pd.DataFrame({
        "d_k": unique, "theory": [law.variance for law in laws], "unscaled": unscaled,
        "unscaled_low": low, "unscaled_high": high, "scaled": sample_variance(*divided, n), "n": n,
    })
    frame = frame.iloc[[unique.index(d) for d in d_ks]].reset_index(drop=True)
    frame.attrs["device"] = str(where)
    return frame, {d: _histogram(keep.pop(d) + theory(d, a).mean, d, a, bins) for d in at}


def plain_variance(d_k: int, n_samples: int = 10_000, seed: int = 0, distribution: str | Assumptions = "normal",
                   device: str | torch.device = "cpu") -> float:
    """The variance of q.k over the table's own pairs, by brute force: to check the table with.

        s^2 = sum (x - mean)^2 / (n - 1)             two passes over every x = q.k, all in float64
    No running mean, no sums of squares, no merging of chunks, and numpy's estimator instead of ours.

    Args:
        d_k, n_samples, seed, distribution: as in variance_table.
        device: where to draw, however small the run; a table that was drawn on a GPU is checked there.
    Returns:
        float; nan for one pair.
    Raises:
        ValueError: an argument is out of range.
    """
    a, n, seed, d_k = _assumptions(distribution), _pair_count(n_samples), seed_of(seed), whole("d_k", d_k, 1, MAX_D)
    dots = [sum(q.double() * k.double() for q, k in pairs).cpu().numpy()
            for _, pairs in _chunks(a, d_k, n, seed, resolve(str(device)))]
    return float(np.var(np.concatenate(dots), ddof=1)) if n > 1 else math.nan


def variance_sweep(max_d: int, n_samples: int = 10_000, seed: int = 0, distribution: str | Assumptions = "normal",
                   device: str | torch.device = "cpu", progress: Progress | None = None) -> pd.DataFrame:
    """The variance of q.k and of q.k / sqrt(d) for every d from 1 to max_d at once.

    One running sum over the coordinates passes every d on its way, so the whole curve costs little more than its last
    point. All points share their pairs: the curve is smooth because neighbours err together (correlation about d/d'),
    not because each is that precise. Its values are those of variance_table for the same seed and n.

    Args:
        max_d: last d, 1 to 16384.
        n_samples, seed, distribution, device, progress: as in variance_table.
    Returns:
        DataFrame: d_k (1 to max_d); unscaled (sample variance of q.k); scaled (that over d_k, which is the sample
        variance of q.k / sqrt(d_k), since Var(c x) = c^2 Var(x)).
    Raises:
        ValueError: an argument is out of range.
    Source: Vaswani et al. 2017, section 3.2.1, footnote 4.
    """
    a, n, seed, last = _assumptions(distribution), _pair_count(n_samples), seed_of(seed), whole("max_d", max_d, 1, MAX_D)
    where = _device(device, n * last)
    d = np.arange(1, last + 1)
    (plain,) = _sums(a, d.tolist(), n, seed, where, progress, powers=(0,))
    unscaled = sample_variance(*plain, n)
    frame = pd.DataFrame({"d_k": d, "unscaled": unscaled, "scaled": unscaled / d})
    frame.attrs["device"] = str(where)
    return frame


def variance_interval(variance, n: int, laws: Iterable[Law]) -> tuple[np.ndarray, np.ndarray]:
    """The 95 % interval for the true variance around each sample variance of n pairs.

    The sample variance has a relative variance of its own, known from the kurtosis of the law:
        v = (kurtosis - (n - 3)/(n - 1)) / n + spread          for normal entries about (2 + 6/d_k) / n
    and s^2 / variance is taken as a chi-square over its degrees of freedom, 2 / v. That is exact for a normal q.k
    (2/v = n - 1) and right in its first two moments for any other. Over repeated draws it holds the true variance in 94
    to 98 % of cases from n = 5 on; at n = 2 it can't for signs at small d_k, where both values are often the same.

    Args:
        variance: sample variances (n - 1 estimator), array of D.
        n: pairs, at least 1. For n = 1 the interval is nan.
        laws: the D laws, from `theory`.
    Returns:
        (low, high), arrays of D.
    Source: Var(s^2) of an independent sample, e.g. Mood, Graybill and Boes 1974, section VI.2.3; degrees of freedom
        matched after Satterthwaite 1946.
    """
    variance, laws = np.asarray(variance, dtype=float), list(laws)
    if n < 2:
        return np.full(variance.shape, math.nan), np.full(variance.shape, math.nan)
    kurtosis, spread = np.array([(law.kurtosis, law.spread) for law in laws]).T
    certain = np.array([law.variance == 0 for law in laws])       # q.k cannot vary: the interval is a point
    df = 2 / np.where(certain, 1.0, (kurtosis - (n - 3) / (n - 1)) / n + spread)
    low, high = variance * df / _chi_square_quantiles((0.975, 0.025), df)
    return np.where(certain, variance, low), np.where(certain, variance, high)


def _chi_square_quantiles(p: tuple[float, ...], df: np.ndarray) -> np.ndarray:
    """The p-quantiles of chi-square with df degrees of freedom, (P, D), by bisection of its distribution function."""
    half = torch.as_tensor(df, dtype=torch.float64) / 2
    share = torch.tensor(p, dtype=torch.float64)[:, None].expand(-1, len(half))
    low, step = torch.zeros_like(share), half + 10 * half.sqrt() + 20
    for _ in range(64):
        step = step / 2
        low = low + step * (torch.special.gammainc(half, low + step) < share)
    return (2 * (low + step)).numpy()


# --- the histogram ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DotHistogram:
    """The histogram of q.k and of q.k / sqrt(d_k), and how near it is to its predicted normal curve.

    frame: columns left, right (bin edges), arm ("unscaled" | "scaled"), count, density (count / n / width),
        predicted (the normal density of the law's mean and variance, averaged over the bin), exact (the exact density
        averaged over the bin; nan where no closed form is used). Each arm has its own edges, symmetric about the law's
        mean, since one set of bins cannot show both once d_k is large.
    mean, variance, kurtosis: of the sample of q.k (n - 1 estimator; nan for one pair). The variance is the table's.
    law: what theory says.
    outside: share of pairs beyond the outermost edges, shown in no bin; density counts them in n.
    distance: largest difference between the sample's cumulative distribution and the predicted normal one
        (Kolmogorov's), 0 to 1; nan where the law's variance is 0.
    noise: what a sample that is truly normal would exceed in 5 % of draws, 1.358 / sqrt(n). A larger distance shows
        that q.k is not normal here, as for small d_k.
    """

    frame: pd.DataFrame
    d_k: int
    n: int
    mean: float
    variance: float
    kurtosis: float
    law: Law
    outside: float
    distance: float
    noise: float


def dot_products(d_k: int, n_samples: int = 10_000, seed: int = 0, distribution: str | Assumptions = "normal",
                 device: str | torch.device = "cpu") -> torch.Tensor:
    """n_samples values of q.k, the very sample behind the table's row for this d_k, seed and n.

    Args:
        d_k: 1 to 16384.
        n_samples, seed, distribution, device: as in variance_table.
    Returns:
        tensor (n_samples,), float32, on the CPU.
    Raises:
        ValueError: an argument is out of range.
    """
    a, n, seed, d_k = _assumptions(distribution), _pair_count(n_samples), seed_of(seed), whole("d_k", d_k, 1, MAX_D)
    stream = _partial_dots(a, d_k, n, seed, _device(device, n * d_k), progress=None)
    return torch.cat([dots.cpu() for d, dots in stream if d == d_k]) + theory(d_k, a).mean


def dot_product_histogram(d_k: int, n_samples: int = 10_000, seed: int = 0, distribution: str | Assumptions = "normal",
                          bins: int = 61, device: str | torch.device = "cpu") -> DotHistogram:
    """The distribution of q.k and of q.k / sqrt(d_k) over the predicted normal curve.

        predicted: normal with the law's mean and variance, for q.k;   mean / sqrt(d_k), variance / d_k when scaled
    q.k is a sum of d_k products, so it is near normal only when d_k is large. At d_k = 1 it is one product, whose
    density K_0(|x|)/pi goes to infinity at 0 and has kurtosis 9: `exact` holds the true density for independent normal
    entries, `distance` says how far the sample is from normal, and kurtosis 3 + 6/d_k says how fast that fades.

    Args:
        d_k, n_samples, seed, distribution, device: as in variance_table.
        bins: bins in each arm, 1 to 1000, from 4 standard deviations below the law's mean to 4 above.
    Returns:
        DotHistogram.
    Raises:
        ValueError: an argument is out of range.
    Source: Vaswani et al. 2017, section 3.2.1, footnote 4; density of a sum of normal products: Craig 1936.
    """
    a, bins = _assumptions(distribution), whole("bins", bins, 1, 1000)
    return _histogram(dot_products(d_k, n_samples, seed, a, device), d_k, a, bins)


def _histogram(dots: torch.Tensor, d_k: int, a: Assumptions, bins: int) -> DotHistogram:
    law, n = theory(d_k, a), len(dots)
    frames, outside = zip(*(_arm_histogram(dots, law, d_k, arm, bins, a) for arm in ("unscaled", "scaled")))
    deviation = dots.double() - dots.double().mean()
    variance = float(sample_variance(deviation.sum(), deviation.square().sum(), n))
    second = float(deviation.square().mean())
    return DotHistogram(
        frame=pd.concat(frames, ignore_index=True), d_k=d_k, n=n, mean=float(dots.double().mean()), variance=variance,
        kurtosis=float(deviation.pow(4).mean()) / second**2 if second else math.nan, law=law, outside=outside[0],
        distance=normal_distance(dots, law), noise=math.sqrt(-math.log(0.025) / 2 / n),
    )


def _arm_histogram(dots, law: Law, d_k: int, arm: str, bins: int, a: Assumptions) -> tuple[pd.DataFrame, float]:
    unit = 1.0 if arm == "unscaled" else math.sqrt(d_k)
    edges = _edges(law, d_k, bins, a)
    count = torch.histogram((dots / unit).double(), edges / unit).hist
    width = (edges[1] - edges[0]) / unit
    normal = _normal_cdf(edges, law).diff() / width
    exact = product_cdf(edges, d_k).diff() / width if a == Assumptions() else torch.full_like(normal, math.nan)
    frame = pd.DataFrame({
        "left": edges[:-1] / unit, "right": edges[1:] / unit, "arm": arm, "count": count.long(),
        "density": count / len(dots) / width, "predicted": normal, "exact": exact,
    })
    return frame, 1 - float(count.sum()) / len(dots)


def _edges(law: Law, d_k: int, bins: int, a: Assumptions) -> torch.Tensor:
    """Bin edges within 4 standard deviations of the law's mean, symmetric about it.

    Independent signs of mean 0 give whole numbers, 2 apart. Bins of any width would hold now one of them, now two, and
    show a comb that is not there: here each holds equally many, and the outermost edges lie just beyond 4 deviations.
    """
    reach = 4 * math.sqrt(law.variance) or 1.0
    if a != Assumptions("sign"):
        return law.mean + reach * torch.linspace(-1, 1, bins + 1, dtype=torch.float64)
    each = max(1, round(reach / bins))                   # values in a bin; an odd number of them about an even middle
    each += 1 - each % 2 if d_k % 2 == 0 else 0
    half = math.ceil(reach / each / 2) + (d_k + 1) % 2 / 2
    return 2 * each * torch.arange(-half, half + 0.5, dtype=torch.float64)


def normal_distance(dots: torch.Tensor, law: Law) -> float:
    """The largest difference between the cumulative distribution of dots and the normal one of the law.

        D = max_x |F_n(x) - Phi((x - mean) / sqrt(variance))|

    Args:
        dots: tensor (n,).
        law: from `theory`.
    Returns:
        0 to 1; nan where the law's variance is 0.
    Source: Kolmogorov 1933.
    """
    if not law.variance:
        return math.nan
    n = len(dots)
    predicted = _normal_cdf(dots.double().sort().values, law)
    steps = torch.arange(n + 1, dtype=torch.float64) / n
    return float(torch.maximum(steps[1:] - predicted, predicted - steps[:-1]).max())


def _normal_cdf(x: torch.Tensor, law: Law) -> torch.Tensor:
    if not law.variance:
        return (x >= law.mean).double()
    return torch.special.ndtr((x - law.mean) / math.sqrt(law.variance))


def product_cdf(x: torch.Tensor, d_k: int) -> torch.Tensor:
    """P(q.k <= x) for independent standard normal entries, exactly.

    Given k, q.k is normal with variance |k|^2, and |k|^2 is chi-square with d_k degrees of freedom:
        P(q.k <= x) = E[Phi(x / |k|)]
    The mean is a trapezoid sum over log |k|^2, which converges geometrically.

    Args:
        x: tensor of any shape.
        d_k: 1 to 16384.
    Returns:
        tensor of that shape, float64.
    Source: Craig 1936 (the density is |x|^((d-1)/2) K_((d-1)/2)(|x|) / (sqrt(pi) Gamma(d/2) 2^((d-1)/2))).
    """
    t = torch.linspace(-45, 12, 1501, dtype=torch.float64)
    log_v = math.log(d_k) + math.sqrt(2 / d_k) * t
    weight = torch.softmax(d_k / 2 * log_v - log_v.exp() / 2, dim=0)          # density of log v, up to a constant
    return torch.special.ndtr(x.double()[..., None] * (-log_v / 2).exp()) @ weight


# --- checks of what a user or a link asked for --------------------------------------------------------------------


def _assumptions(distribution: str | Assumptions) -> Assumptions:
    return distribution if isinstance(distribution, Assumptions) else Assumptions(distribution)


def _pair_count(n_samples) -> int:
    return whole("n_samples", n_samples, 1, MAX_PAIRS)


def seed_of(seed) -> int:
    """The seed, or a ValueError that names what was expected. Used by every lesson that draws many samples."""
    return whole("seed", seed, 0, 2**32 - 1)     # the CPU generator reads no more than 32 bits of it


def d_list(d_ks) -> list[int]:
    """The sizes d_k as a list of whole numbers from 1 to MAX_D, at least one, or a ValueError."""
    if not isinstance(d_ks, Iterable) or isinstance(d_ks, str):
        raise ValueError(f"d_ks must be a sequence of whole numbers; got {d_ks!r}")
    checked = [whole("each of d_ks", d, 1, MAX_D) for d in d_ks]
    if not checked:
        raise ValueError("d_ks must hold at least one whole number; got none")
    return checked


def _device(device: str | torch.device, entries: int) -> torch.device:
    """Where to draw: the GPU only for a large run, the CPU for everything else and where the GPU fails its probe."""
    name = device.type if isinstance(device, torch.device) else device
    asked = resolve(name)
    if entries > MAX_ENTRIES:
        raise ValueError(f"n_samples times the largest d_k must be at most {MAX_ENTRIES:,}; got {entries:,}")
    return asked if asked.type == "cuda" and entries >= CUDA_WORTH else torch.device("cpu")


@dataclass(frozen=True)
class OwnVariance:
    """The variance of q.k over every pair of given queries and keys, beside what the ideal says.

    n: pairs. d_k: int, the ideal for entries of variance 1. variance: of q.k; scaled: of q.k / sqrt(d_k).
    mean_q, mean_k, var_q, var_k: of all entries. entries: var_q var_k d_k, which independent entries of mean 0 would give.
    heads: for each (b, h) the tuple (variance, entries) of its own pairs. difference: the largest of a head's sum of
    squares to the trace formula, in units of |Q|^2 |K|^2, over every head or, where they are many and wide, some of them.
    """
    n: int
    d_k: int
    variance: float
    scaled: float
    mean_q: float
    mean_k: float
    var_q: float
    var_k: float
    entries: float
    heads: tuple[tuple[float, float], ...]
    difference: float


def own_variance(q: torch.Tensor, k: torch.Tensor) -> OwnVariance:
    """Return the variance of q.k over all pairs of a query and a key of the same head.

        Var(q.k) = mean (q.k)^2 - (mean q.k)^2,   over all B h T_q T_k pairs
        checked by  sum_ij (q_i.k_j)^2 = trace(Q^T Q  K^T K)

    The pairs share their vectors, so this describes the given tensors and is no estimate with an interval.

    Args:
        q: tensor (B, h, T_q, d_k). k: tensor (B, h, T_k, d_k). Finite; worked out in float64.
    Returns:
        OwnVariance.
    Raises:
        ValueError: for other shapes.
    Source: Vaswani et al. 2017, section 3.2.1, footnote 4, is the ideal: Var(q.k) = d_k.
    """
    if q.dim() != 4 or k.dim() != 4 or q.shape[:2] != k.shape[:2] or q.shape[3] != k.shape[3]:
        raise ValueError(f"needs q (B, h, T_q, d_k) and k (B, h, T_k, d_k), got {tuple(q.shape)} and {tuple(k.shape)}")
    d_k = q.shape[-1]
    q, k = q.detach().cpu().double().flatten(0, 1), k.detach().cpu().double().flatten(0, 1)
    n = len(q) * q.shape[1] * k.shape[1]
    sums, squares, differences, heads = [], [], [], []
    step = -(-len(q) * d_k * d_k // OWN_CHECKED)            # the d_k x d_k products of many wide heads take seconds
    for at, (one_q, one_k) in enumerate(zip(q, k)):         # a head at a time: all pairs at once may be 32 million
        dots = one_q @ one_k.T
        sums.append(dots.sum().item())
        squares.append(dots.square().sum().item())
        if at % step == 0:
            trace = ((one_q.T @ one_q) * (one_k.T @ one_k)).sum().item()
            largest = (one_q.square().sum() * one_k.square().sum()).item()      # near 0 the trace is a sum that cancels
            differences.append(abs(squares[-1] - trace) / (largest or 1.0))
        heads.append((dots.var(correction=0).item(), _entries(one_q, one_k)))
    mean, mean_square = math.fsum(sums) / n, math.fsum(squares) / n
    variance = max(mean_square - mean * mean, 0.0)
    return OwnVariance(n, d_k, variance, variance / d_k, q.mean().item(), k.mean().item(), q.var(correction=0).item(),
                       k.var(correction=0).item(), _entries(q, k), tuple(heads),
                       max(differences))


def _entries(q: torch.Tensor, k: torch.Tensor) -> float:
    return (q.var(correction=0) * k.var(correction=0) * q.shape[-1]).item()
