"""What a layer costs: the paper's Table 1, counted on real layers, and timed on this machine.

Five layers, by these codes everywhere:
    self_attention   every token reads every token
    recurrent        one state, handed from token to token
    convolutional    every token reads itself and the k - 1 before it (contiguous kernel)
    dilated          the same with gaps; in a stack the gaps are 1, k, k^2, ...
    restricted       self-attention to itself and the r - 1 tokens before

All but self-attention look backwards only, so that their rows of the table compare like with like. A layer that is
centred on its token needs about twice the depth to connect every pair in both directions; the orders are the same.

Symbols: n tokens, d channels (the paper's d), k kernel width, r neighbourhood, h heads, T tokens of the T x T weights.
The paper counts the products of numbers that dominate; PyTorch's counter counts a product and its sum as two.
"""
import itertools
import math
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from qkv_core.attention import MultiHeadAttention, scaled_dot_product_attention
from qkv_core.device import resolve
from qkv_core.masks import whole

LAYERS = ("self_attention", "recurrent", "convolutional", "dilated", "restricted")
AXES = ("n", "d")
THEORY = {"self_attention": {"n": 2, "d": 1}, "recurrent": {"n": 1, "d": 2}, "convolutional": {"n": 1, "d": 2},
          "dilated": {"n": 1, "d": 2}, "restricted": {"n": 1, "d": 1}}
TOLERANCE = {"n": 0.1, "d": 0.2}                          # how near a fitted exponent comes to its theory

MAX_N, MAX_D, MAX_K = 1_000_000, 65_536, 1_024            # of the table: arithmetic only, and every number fits int64
MAX_FLOP_N, MAX_FLOP_D = 1_024, 1_024                     # of counted layers: a recurrent one is counted step by step
MAX_REACH_N, MAX_DEPTH = 256, 64                          # of stacks that are differentiated
MAX_SWEEP_K, MAX_SWEEP_R = 16, 64                         # of timed layers: r is at most the smallest n
MAX_ENTRIES = 1 << 26                                     # numbers in one input or weight of a layer that really runs
MAX_WEIGHTS = 1 << 24                                     # entries of measured weights, 64 MB

Progress = Callable[[float], object]


# --- Table 1 ------------------------------------------------------------------------------------------------------


def table_1(n: int, d: int, k: int, r: int) -> pd.DataFrame:
    """Return the paper's Table 1 with its orders as formulas and as numbers; a row each of LAYERS.

    Convolution has two rows, since the path is what tells them apart: n/k with contiguous kernels, log_k n with
    dilated ones.

    Args:
        n: int, 1 to 1,000,000 tokens. d: int, 1 to 65,536 channels. k: int, 1 to 1,024. r: int, 1 to 1,000,000; a
            neighbourhood above n is one of n.
    Returns:
        DataFrame[layer, operations_formula, operations (int: the formula's value), sequential_formula, sequential (int:
        steps that must wait for each other), path_formula, path_order (float: the formula's value), path (float: the
        layers, or steps of the recurrent one, that the longest way from an input to an output really takes; inf where
        a width of 1 never gets there)].
    Raises:
        ValueError: for a size out of range.
    Source: Vaswani et al. 2017, section 4, table 1.
    """
    n, d, k, r = _sizes(n, d, k, r)
    log_k_n = math.log(n) / math.log(k) if k > 1 else (0.0 if n == 1 else math.inf)
    rows = [
        ("self_attention", "n^2 d", n * n * d, "1", 1, "1", 1.0),
        ("recurrent", "n d^2", n * d * d, "n", n, "n", float(n)),
        ("convolutional", "k n d^2", k * n * d * d, "1", 1, "n/k", n / k),
        ("dilated", "k n d^2", k * n * d * d, "1", 1, "log_k n", log_k_n),
        ("restricted", "r n d", r * n * d, "1", 1, "n/r", n / r),
    ]
    table = pd.DataFrame(rows, columns=["layer", "operations_formula", "operations", "sequential_formula", "sequential",
                                        "path_formula", "path_order"])
    table["path"] = [float(path_length(layer, n, k, r)) for layer in table["layer"]]
    return table


def path_length(layer: str, n: int, k: int, r: int) -> float:
    """Return how many layers the last output is from the first input, exactly.

        self_attention  1
        recurrent       n steps: through every cell on the way
        convolutional   ceil((n - 1) / (k - 1)), as a layer reaches k - 1 tokens back
        dilated         the smallest L with k^L >= n: gaps of 1, k, k^2, ... see k^L tokens after L layers
        restricted      ceil((n - 1) / (r - 1))

    Args:
        layer: one of LAYERS. n, k, r: as for `table_1`.
    Returns:
        int >= 1, or math.inf where a width of 1 sees no other token.
    Raises:
        ValueError: for an unknown layer or a size out of range.
    Source: Vaswani et al. 2017, section 4, "maximum path length", with the constants that O() hides.
    """
    _known(layer)
    n, _, k, r = _sizes(n, 1, k, r)
    if n == 1 or layer == "self_attention":
        return 1
    if layer == "recurrent":
        return n
    width = r if layer == "restricted" else k
    if width == 1:
        return math.inf
    if layer != "dilated":
        return -(-(n - 1) // (width - 1))
    layers = 0
    while k ** layers < n:                                  # math.log would be off by one at exact powers
        layers += 1
    return layers


@dataclass(frozen=True)
class Crossover:
    """Which of the two is cheaper a layer, n^2 d against n d^2.

    self_attention, recurrent: their operations. cheaper: "self_attention" exactly when n < d, "recurrent" when n > d,
    "equal" when n = d. ratio: self_attention / recurrent = n / d.
    """
    n: int
    d: int
    self_attention: int
    recurrent: int
    cheaper: str
    ratio: float


def crossover(n: int, d: int) -> Crossover:
    """Return which is cheaper at n tokens of d channels, self-attention or recurrence.

    Args:
        n, d: as for `table_1`.
    Returns:
        Crossover.
    Raises:
        ValueError: for a size out of range.
    Source: Vaswani et al. 2017, section 4: "faster than recurrent layers when the sequence length n is smaller than the
        representation dimensionality d".
    """
    n, d, _, _ = _sizes(n, d, 1, 1)
    ours, theirs = n * n * d, n * d * d
    cheaper = "equal" if ours == theirs else "self_attention" if ours < theirs else "recurrent"
    return Crossover(n, d, ours, theirs, cheaper, ours / theirs)


def crossover_curve(n: int, d: int, k: int, r: int) -> pd.DataFrame:
    """Return the operations a layer at n = 1, 2, 4, ... up to the larger of 4 n and 4 d, and at n and d themselves.

    Args:
        n, d, k, r: as for `table_1`.
    Returns:
        DataFrame[n, layer, operations]; dilated is left out, as it costs what convolutional does.
    Raises:
        ValueError: for a size out of range.
    """
    n, d, k, _ = _sizes(n, d, k, 1)
    end = min(MAX_N, 4 * max(n, d))
    ns = sorted({1 << i for i in range(end.bit_length()) if 1 << i <= end} | {n, d})
    parts = [table_1(m, d, k, r)[["layer", "operations"]].assign(n=m) for m in ns]
    frame = pd.concat(parts, ignore_index=True)[["n", "layer", "operations"]]
    return frame[frame["layer"] != "dilated"].reset_index(drop=True)


# --- the layers ---------------------------------------------------------------------------------------------------


class SelfAttention(nn.Module):
    """softmax(x x^T / sqrt(d)) x: one head without projections, which is what Table 1 counts."""

    def forward(self, x: Tensor) -> Tensor:
        return scaled_dot_product_attention(x, x, x)[0]


class Recurrent(nn.Module):
    """h_t = tanh(x_t W_x + h_(t-1) W_h), as products of its own: PyTorch's flop counter does not look into nn.RNN."""

    def __init__(self, W_x: Tensor, W_h: Tensor):
        super().__init__()
        self.W_x, self.W_h = nn.Parameter(W_x), nn.Parameter(W_h)

    def forward(self, x: Tensor) -> Tensor:
        given = (x @ self.W_x).transpose(0, 1).contiguous()                              # (n, B, d): all inputs at once
        h, states = torch.zeros_like(given[0]), []
        for step in given:                                                               # and then one after another
            h = torch.tanh(step + h @ self.W_h)
            states.append(h)
        return torch.stack(states, 1)                                                    # (B, n, d)


class CausalConvolution(nn.Module):
    """y_t = sum_j x_(t - j g) W_j for j = 0 .. k - 1, gap g; before the first token there are zeros.

    Written as k products: the library's convolution changes its algorithm with the size, which bends a timing.
    """

    def __init__(self, W: Tensor, gap: int = 1):
        super().__init__()
        self.W, self.gap = nn.Parameter(W), gap                                          # (k, d, d)

    def forward(self, x: Tensor) -> Tensor:
        k, n = len(self.W), x.shape[1]
        padded = F.pad(x, (0, 0, (k - 1) * self.gap, 0))
        start = [(k - 1 - j) * self.gap for j in range(k)]
        y = padded[:, start[0]:start[0] + n] @ self.W[0]
        for j in range(1, k):
            y += padded[:, start[j]:start[j] + n] @ self.W[j]
        return y


class RestrictedAttention(nn.Module):
    """Self-attention to the r latest tokens, in blocks of r queries that read 2 r keys, half of them masked.

    A query a time would do half the products, each of them too small for the machine.
    """

    def __init__(self, r: int):
        super().__init__()
        self.r = r

    def forward(self, x: Tensor) -> Tensor:
        B, n, d = x.shape
        r = min(self.r, n)
        blocks = -(-n // r)
        padded = F.pad(x, (0, 0, r, blocks * r - n))                                     # r empty keys before the first
        own = padded[:, r:].unflatten(1, (blocks, r))                                    # (B, blocks, r, d)
        before = padded[:, :-r].unflatten(1, (blocks, r))                                # the block before each
        scores = torch.cat((own @ before.mT, own @ own.mT), -1).mul_(d ** -0.5)          # (B, blocks, r, 2r)
        query, key = torch.arange(r, device=x.device)[:, None], torch.arange(2 * r, device=x.device)
        scores.masked_fill_((key <= query) | (key > query + r), -math.inf)               # key - r counts from the block
        scores[:, 0, :, :r] = -math.inf                                                  # the empty keys
        weights = torch.softmax(scores, -1)
        return (weights[..., :r] @ before + weights[..., r:] @ own).flatten(1, 2)[:, :n]


def build_layer(layer: str, d: int, k: int = 3, r: int = 8, seed: int = 0, gap: int | None = None,
                device: torch.device | str = "cpu") -> nn.Module:
    """Return one real layer, x (B, n, d) -> (B, n, d), with weights N(0, 1/fan_in) of the seed.

    Args:
        layer: one of LAYERS. d, k, r: ints >= 1; at most 67,108,864 weights.
        seed: int, of a generator of its own; on the device, since no number of a timed layer is shown.
        gap: int >= 1 between the taps of "dilated"; k, those of a second layer, when None.
        device: where it lives; "meta" has sizes and no numbers.
    Returns:
        nn.Module, float32.
    Raises:
        ValueError: for an unknown layer or a size out of range.
    """
    _known(layer)
    d, k, r = whole("d", d, 1, MAX_D), whole("k", k, 1, MAX_K), whole("r", r, 1, MAX_N)
    if layer == "self_attention":
        return SelfAttention()
    if layer == "restricted":
        return RestrictedAttention(r)
    if layer == "recurrent":
        W_x, W_h = _normal((2, d, d), d, seed, device)
        return Recurrent(W_x, W_h)
    gap = 1 if layer == "convolutional" else k if gap is None else whole("gap", gap)
    return CausalConvolution(_normal((k, d, d), k * d, seed, device), gap)


def _normal(shape: tuple[int, ...], fan_in: int, seed: int, device: torch.device | str) -> Tensor:
    """Return N(0, 1/fan_in) entries, or their sizes alone on the meta device."""
    if torch.device(device).type == "meta":
        return torch.empty(shape, device="meta")
    if math.prod(shape) > MAX_ENTRIES:
        raise ValueError(f"at most {MAX_ENTRIES} numbers in a tensor; got {' * '.join(map(str, shape))} = "
                         f"{math.prod(shape)}")
    g = torch.Generator(device).manual_seed(seed)
    return torch.randn(shape, generator=g, device=device) / math.sqrt(fan_in)


# --- path lengths, found on real stacks ---------------------------------------------------------------------------


def reach(layer: str, n: int, k: int, r: int, depth: int, seed: int = 0) -> Tensor:
    """Return which inputs the last output depends on after 1, 2, ... `depth` layers, found by differentiating them.

    A real stack of `layer` with random weights and inputs; input j is reached when the gradient of the last output
    with respect to it is not zero. A recurrent layer has steps instead: row L is the state after the last L tokens.

    Args:
        layer: one of LAYERS. n: int, 1 to 256. k, r: ints >= 1, as for `table_1`. depth: int, 1 to 64. seed: int.
    Returns:
        bool tensor (depth, n). A row below one that is all True is not computed anew.
    Raises:
        ValueError: for an unknown layer or a size out of range.
    """
    _known(layer)
    n, depth = whole("n", n, 1, MAX_REACH_N), whole("depth", depth, 1, MAX_DEPTH)
    rows = torch.zeros(depth, n, dtype=torch.bool)
    for i in range(depth):
        rows[i] = rows[i - 1].all() or _reached(layer, n, k, r, i + 1, seed)
    return rows


def measured_path(layer: str, n: int, k: int, r: int, seed: int = 0) -> float:
    """Return the smallest number of layers (steps when recurrent) whose last output depends on the first input.

    Found on real stacks, as `reach` does, by bisection: a deeper stack of these layers never reaches less far.

    Args:
        layer: one of LAYERS. n: int, 1 to 256. k, r: ints >= 1. seed: int.
    Returns:
        int >= 1, or math.inf when n layers do not get there.
    Raises:
        ValueError: for an unknown layer or a size out of range.
    """
    _known(layer)
    n = whole("n", n, 1, MAX_REACH_N)
    low, high = 0, 1                                        # low is too few; high is enough once the first loop ends
    while not _reached(layer, n, k, r, high, seed)[0]:
        if high >= n:
            return math.inf
        low, high = high, min(2 * high, n)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _reached(layer, n, k, r, middle, seed)[0] else (middle, high)
    return high


def _reached(layer: str, n: int, k: int, r: int, rounds: int, seed: int) -> Tensor:
    """Return a bool tensor (n,): the inputs that the last output depends on after so many layers, or steps."""
    d = 4
    x = torch.randn(1, n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).requires_grad_()
    if layer == "recurrent":
        out = build_layer(layer, d, seed=seed).double()(x[:, -rounds:])
    else:
        out = x
        for depth in range(rounds):                         # beyond n a gap reaches only zeros, and k^depth overflows
            out = build_layer(layer, d, k, r, seed + depth, min(k ** min(depth, 20), n)).double()(out)
    return torch.autograd.grad(out[0, -1].sum(), x)[0][0].ne(0).any(-1)


# --- counted ------------------------------------------------------------------------------------------------------


class _NoTracker:
    """Stands in for the counter's module tracker, whose hooks would be called by every thread's modules."""
    parents = ("Global",)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def count_flops(call: Callable[[], object]) -> int:
    """Return what PyTorch's own counter counts while `call` runs: two for each product with its sum, in this thread.

    Args:
        call: callable without arguments.
    Returns:
        int; softmax, tanh and the like are not counted.
    Source: torch.utils.flop_counter.FlopCounterMode.
    """
    counter = FlopCounterMode(display=False)
    counter.mod_tracker = _NoTracker()
    with torch.no_grad(), counter:
        call()
    return counter.get_total_flops()


def flops(n: int, d: int, k: int, r: int, heads: int = 1) -> pd.DataFrame:
    """Return the operations of real layers, counted by PyTorch's own counter and by formula.

    The layers run on the meta device: every operation is called with its sizes, and none does its arithmetic.
    "multi_head" is the whole layer of section 3.2.2: its four projections, which Table 1 leaves out, cost 8 n d^2.

    Args:
        n: int, 1 to 1,024. d: int, 1 to 1,024. k: int, 1 to 1,024. r: int >= 1. heads: int that divides d.
    Returns:
        DataFrame[layer (LAYERS and "multi_head"), formula, closed_form (int), counted (int), difference (counted -
        closed_form), paper (int: Table 1's number), per_paper (counted / paper)]. In the restricted layer's formula n
        is rounded up to a whole number of blocks of r.
    Raises:
        ValueError: for a size out of range, or heads that do not divide d.
    """
    n, d = whole("n", n, 1, MAX_FLOP_N), whole("d", d, 1, MAX_FLOP_D)
    n, d, k, r = _sizes(n, d, k, r)
    padded = -(-n // r) * r
    closed = {
        "self_attention": ("4 n^2 d", 4 * n * n * d),
        "recurrent": ("4 n d^2", 4 * n * d * d),
        "convolutional": ("2 k n d^2", 2 * k * n * d * d),
        "dilated": ("2 k n d^2", 2 * k * n * d * d),
        "restricted": ("8 r n d", 8 * r * padded * d),
        "multi_head": ("8 n d^2 + 4 n^2 d", 8 * n * d * d + 4 * n * n * d),
    }
    paper = table_1(n, d, k, r).set_index("layer")["operations"].to_dict()
    paper["multi_head"] = paper["self_attention"]
    modules = {layer: build_layer(layer, d, k, r, device="meta") for layer in LAYERS}
    modules["multi_head"] = MultiHeadAttention(d, heads).to("meta")
    x = torch.empty(1, n, d, device="meta")
    rows = []
    for layer, (formula, expected) in closed.items():
        counted = count_flops(lambda: modules[layer](x))
        rows.append((layer, formula, expected, counted, counted - expected, paper[layer], counted / paper[layer]))
    return pd.DataFrame(rows, columns=["layer", "formula", "closed_form", "counted", "difference", "paper",
                                       "per_paper"])


# --- timed --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sweep:
    """One line of points: `layer` timed at each of `sizes` tokens (axis "n") or channels ("d"), the other `fixed`.

    batch: sequences at a time. A recurrent layer multiplies one row a step and sequence; too few of them would time
    the reading of W_h and not the products.
    """
    layer: str
    axis: str
    sizes: tuple[int, ...]
    fixed: int
    batch: int = 1


# Sizes for one CPU core: the first so small that its time is nearly c0, which holds the constant of the fit in place; the
# others far above it, yet small enough for the core's caches, and for results that the allocator keeps (above some 512 KB
# each call may pay for fresh pages, and the exponent with it). With 256 and 512 tokens the convolution's line was bent. Few
# and short points have more turns, so that each meets a quiet moment of a busy machine.
SWEEPS = (
    Sweep("self_attention", "n", (16, 160, 288, 448), 96),
    Sweep("self_attention", "d", (16, 192, 384, 640), 96),
    Sweep("recurrent", "n", (4, 32, 64, 96), 64, 12),
    Sweep("recurrent", "d", (16, 192, 256, 320), 8, 4),
    Sweep("convolutional", "n", (8, 288, 576, 960), 64),
    Sweep("convolutional", "d", (32, 96, 160, 256), 96),
    Sweep("dilated", "n", (8, 288, 576, 960), 64),
    Sweep("dilated", "d", (32, 96, 160, 256), 96),
    Sweep("restricted", "n", (32, 320, 608, 896), 96),
    Sweep("restricted", "d", (16, 96, 192, 320), 256),
)
# A GPU does all of the above in the time that it takes to be asked.
GPU_SWEEPS = (
    Sweep("self_attention", "n", (2048, 3072, 4096, 6144, 8192, 12288), 128),
    Sweep("self_attention", "d", (512, 1024, 2048, 3072, 4096), 4096),
    Sweep("recurrent", "n", (32, 64, 96, 128, 192), 1024, 256),
    Sweep("recurrent", "d", (1024, 1536, 2048, 3072, 4096), 8, 1024),
    Sweep("convolutional", "n", (16384, 32768, 65536, 98304, 131072), 256),
    Sweep("convolutional", "d", (512, 768, 1024, 1536, 2048), 16384),
    Sweep("dilated", "n", (16384, 32768, 65536, 98304, 131072), 256),
    Sweep("dilated", "d", (512, 768, 1024, 1536, 2048), 16384),
    Sweep("restricted", "n", (32768, 65536, 98304, 131072, 196608), 128),
    Sweep("restricted", "d", (256, 512, 1024, 1536, 2048), 16384),
)
# A point's turn: at least so many calls, since the first finds the caches full of its predecessor's numbers, and so
# many seconds. Short turns and many rounds find a machine's quiet moments.
_CALLS = 2
_VISIT = 0.0006


def measure(seconds: float = 2.4, k: int = 3, r: int = 32, seed: int = 0, device: str = "cpu",
            sweeps: Sequence[Sweep] | None = None, progress: Progress | None = None) -> pd.DataFrame:
    """Return the time of real layers against n and against d on this machine, with the exponents that fit.

        t = c0 + c1 size^p, c0 >= 0: `fit_power` of the smallest time at each size

    All points take turns, round after round until `seconds` have passed, so that a slow spell of a shared machine
    hits them alike and the smallest time of each is near what it would be alone. The clock is the CPU time of this
    thread, which other programs do not stretch. With more than one torch thread the work is elsewhere, so the clock is
    then the wall's; the number of threads is the program's business and is not touched. On CUDA, events around calls
    after a warm-up.

    Args:
        seconds: float, 0.01 to 60, of wall time in all, warm-up included; the point in progress is finished.
        k: int, 1 to 16. r: int, 1 to 64. seed: int, of weights and inputs.
        device: as for `qkv_core.device.resolve`; one that fails its probe is replaced by the CPU.
        sweeps: Sweeps to run; SWEEPS, or GPU_SWEEPS on a GPU, when None.
        progress: called with the share done, 0 to 1, some 20 times a second. It may raise, which ends the measurement,
            or return False, which ends it with what there is.
    Returns:
        DataFrame, a row a point: [layer, sweep ("n" | "d"), size (of the axis swept), n, d, k, r, batch, samples (calls
        timed), seconds (the smallest), median, fitted (c0 + c1 size^p), exponent, theory, c0, c1, error (root mean
        square of the fit's relative error), clock ("thread" | "wall" | "events"), device, share (of the wall time that
        this thread had a core; nan for other clocks)]. Times are seconds a call. A point that had no turn has samples
        0 and no time, and its sweep no fit (NaN).
    Raises:
        ValueError: for a size, a time or a sweep out of range.
    Source: Vaswani et al. 2017, section 4, table 1, for the theory.
    """
    end, began = time.monotonic() + _seconds(seconds), (time.monotonic(), time.thread_time())
    k, r = whole("k", k, 1, MAX_SWEEP_K), whole("r", r, 1, MAX_SWEEP_R)
    where = resolve(device)
    sweeps = tuple(sweeps or (SWEEPS if where.type == "cpu" else GPU_SWEEPS))
    clock, seconds_of = _clock(where)
    points = [(i, size) for i, sweep in enumerate(_checked_sweeps(sweeps)) for size in sweep.sizes]
    times: list[list[float]] = [[] for _ in points]
    told = _Told(progress, end, seconds)
    with torch.inference_mode():
        calls = []
        for i, size in points:
            if told.stop():
                break
            calls.append(_call(sweeps[i], size, k, r, seed, where))
            calls[-1]()                                     # warm-up: first pages, kernels, caches
        for call, taken in itertools.cycle(zip(calls, times)):
            if told.stop():
                break
            taken += seconds_of(call)
    wall, cpu = time.monotonic() - began[0], time.thread_time() - began[1]
    told.finish()
    share = min(cpu / wall, 1.0) if clock == "thread" else math.nan
    return _measured(sweeps, points, times, k, r, clock, where).assign(share=share)


def exponents(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row a sweep of what `measure` found.

    Args:
        frame: DataFrame of `measure`.
    Returns:
        DataFrame[layer, sweep, exponent, theory, difference (exponent - theory), within (bool: |difference| <=
        TOLERANCE), log_log (slope of the plain line through the logarithms, which takes c0 for a smaller power), c0,
        c1, fixed_share (c0 / the time at the smallest size: what overhead does there), error, samples (fewest calls at
        a point)].
    """
    rows = []
    for (layer, axis), part in frame.groupby(["layer", "sweep"], sort=False):
        one = part.iloc[0]
        smallest = part.loc[part["size"].idxmin(), "seconds"]
        difference = one["exponent"] - one["theory"]
        rows.append((layer, axis, one["exponent"], one["theory"], difference, bool(abs(difference) <= TOLERANCE[axis]),
                     log_log_slope(part["size"], part["seconds"]), one["c0"], one["c1"], one["c0"] / smallest,
                     one["error"], int(part["samples"].min())))
    return pd.DataFrame(rows, columns=["layer", "sweep", "exponent", "theory", "difference", "within", "log_log", "c0",
                                       "c1", "fixed_share", "error", "samples"])


@dataclass(frozen=True)
class PowerFit:
    """t = c0 + c1 x^exponent. error: root mean square of (fit - t) / t over the points. All nan without a fit."""
    exponent: float
    c0: float
    c1: float
    error: float

    def at(self, x: float) -> float:
        """Return the fitted time at x."""
        return self.c0 + self.c1 * x ** self.exponent


def fit_power(sizes: Iterable[float], seconds: Iterable[float]) -> PowerFit:
    """Return the power that times follow, with a constant for what every call costs.

        t = c0 + c1 x^p,   c0, c1 >= 0,   least sum of ((fit - t) / t)^2

    Relative errors, as a timing strays by a share of itself. For each p the two constants follow from a linear problem;
    p is searched on a grid from 0 to 4 and then by golden section.

    Args:
        sizes: at least 3 different numbers > 0. seconds: as many numbers > 0.
    Returns:
        PowerFit; all nan for fewer points, or any that is not a finite number > 0.
    Raises:
        ValueError: for two lists of different lengths.
    """
    xs, ts = [float(x) for x in sizes], [float(t) for t in seconds]
    if len(xs) != len(ts):
        raise ValueError(f"needs a time for each size; got {len(xs)} sizes and {len(ts)} times")
    if len(set(xs)) < 3 or not all(0 < value < math.inf for value in xs + ts):
        return PowerFit(math.nan, math.nan, math.nan, math.nan)
    top = max(xs)
    unit = [x / top for x in xs]                            # x^4 of a large x would leave nothing of c0's digits

    def loss(p: float) -> float:
        return _constants(unit, ts, p)[2]

    best = min((i / 20 for i in range(81)), key=loss)
    p = _golden(loss, max(0.0, best - 0.05), min(4.0, best + 0.05))
    c0, c1, total = _constants(unit, ts, p)
    return PowerFit(p, c0, c1 / top ** p, math.sqrt(total / len(ts)))


def log_log_slope(sizes: Iterable[float], seconds: Iterable[float]) -> float:
    """Return the slope of the least-squares line through (log size, log time), the usual way to read an exponent.

    Args:
        sizes, seconds: as for `fit_power`.
    Returns:
        float; nan for fewer than two sizes or a time that is not a finite number > 0.
    """
    xs, ts = [float(x) for x in sizes], [float(t) for t in seconds]
    if len(set(xs)) < 2 or not all(0 < value < math.inf for value in xs + ts):
        return math.nan
    return statistics.linear_regression([math.log(x) for x in xs], [math.log(t) for t in ts]).slope


def _constants(xs: list[float], ts: list[float], p: float) -> tuple[float, float, float]:
    """Return (c0, c1, loss) of the best c0, c1 >= 0: least squares of c0 a + c1 b = 1 with a = 1/t and b = x^p / t."""
    a, b = [1 / t for t in ts], [x ** p / t for x, t in zip(xs, ts)]
    aa, bb, ab = (math.fsum(u * v for u, v in zip(*pair)) for pair in ((a, a), (b, b), (a, b)))
    sum_a, sum_b = math.fsum(a), math.fsum(b)
    choices = [(sum_a / aa, 0.0), (0.0, sum_b / bb)]        # on an edge one of the two is 0
    det = aa * bb - ab * ab
    if det > 1e-12 * aa * bb:                               # p near 0: both columns are the same
        c0, c1 = (sum_a * bb - sum_b * ab) / det, (sum_b * aa - sum_a * ab) / det
        if c0 >= 0 and c1 >= 0:
            choices = [(c0, c1)]

    def loss(c0: float, c1: float) -> float:
        return math.fsum((c0 * u + c1 * v - 1) ** 2 for u, v in zip(a, b))

    c0, c1 = min(choices, key=lambda c: loss(*c))
    return c0, c1, loss(c0, c1)


def _golden(f: Callable[[float], float], low: float, high: float, within: float = 1e-6) -> float:
    """Return where f is least between low and high, for an f with one dip there."""
    share = (math.sqrt(5) - 1) / 2
    a, b = high - share * (high - low), low + share * (high - low)
    at_a, at_b = f(a), f(b)
    while high - low > within:
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - share * (high - low)
            at_a = f(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + share * (high - low)
            at_b = f(b)
    return (low + high) / 2


class _Told:
    """When to stop: the time is up, or whoever watches says so. It is told at most 20 times a second."""

    def __init__(self, progress: Progress | None, end: float, seconds: float):
        self.progress, self.end, self.seconds = progress, end, seconds
        self.next, self.cancelled = 0.0, False

    def stop(self) -> bool:
        now = time.monotonic()
        if self.progress and not self.cancelled and self.next <= now < self.end:
            self.next = now + 0.05
            self.cancelled = self.progress(max(0.0, 1 - (self.end - now) / self.seconds)) is False
        return self.cancelled or now >= self.end

    def finish(self) -> None:
        if self.progress and not self.cancelled:
            self.progress(1.0)


def _call(sweep: Sweep, size: int, k: int, r: int, seed: int, device: torch.device) -> Callable[[], Tensor]:
    n, d = (size, sweep.fixed) if sweep.axis == "n" else (sweep.fixed, size)
    layer = build_layer(sweep.layer, d, k, r, seed, device=device)
    x = _normal((sweep.batch, n, d), 1, seed, device)
    return lambda: layer(x)


def _clock(device: torch.device) -> tuple[str, Callable[[Callable], list[float]]]:
    """Return the clock's name, and a function that calls something for a while and returns the seconds of each call."""
    if device.type == "cuda":
        return "events", _cuda_seconds
    if device.type == "mps":
        return "wall", lambda call: _clocked(lambda: (call(), torch.mps.synchronize()), time.perf_counter)
    if torch.get_num_threads() > 1:
        return "wall", lambda call: _clocked(call, time.perf_counter)
    return "thread", lambda call: _clocked(call, time.thread_time)


def _clocked(call: Callable, clock: Callable[[], float]) -> list[float]:
    taken, start = [], clock()
    began = start
    while True:
        call()
        now = clock()
        taken.append(now - start)
        start = now
        if now - began >= _VISIT and len(taken) >= _CALLS:
            return taken


def _cuda_seconds(call: Callable) -> list[float]:
    """Return the seconds of eight calls, each between two events of the GPU's own; two more before warm it up."""
    call(), call()
    events = [torch.cuda.Event(enable_timing=True) for _ in range(9)]
    events[0].record()
    for event in events[1:]:
        call()
        event.record()
    torch.cuda.synchronize()
    return [a.elapsed_time(b) / 1e3 for a, b in zip(events, events[1:])]


def _measured(sweeps: tuple[Sweep, ...], points: list[tuple[int, int]], times: list[list[float]], k: int, r: int,
              clock: str, device: torch.device) -> pd.DataFrame:
    best = [min(taken, default=math.nan) for taken in times]
    rows = []
    for i, sweep in enumerate(sweeps):
        here = [j for j, (of, _) in enumerate(points) if of == i]
        fit = fit_power(sweep.sizes, [best[j] for j in here])
        for j, size in zip(here, sweep.sizes):
            n, d = (size, sweep.fixed) if sweep.axis == "n" else (sweep.fixed, size)
            rows.append({
                "layer": sweep.layer, "sweep": sweep.axis, "size": size, "n": n, "d": d, "k": k, "r": r,
                "batch": sweep.batch, "samples": len(times[j]), "seconds": best[j],
                "median": statistics.median(times[j] or [math.nan]), "fitted": fit.at(size), "exponent": fit.exponent,
                "theory": THEORY[sweep.layer][sweep.axis], "c0": fit.c0, "c1": fit.c1, "error": fit.error,
                "clock": clock, "device": device.type})
    return pd.DataFrame(rows)


def _checked_sweeps(sweeps: tuple[Sweep, ...]) -> tuple[Sweep, ...]:
    for sweep in sweeps:
        _known(sweep.layer)
        if sweep.axis not in AXES:
            raise ValueError(f"axis must be one of {', '.join(AXES)}; got {sweep.axis!r}")
        whole("fixed", sweep.fixed, 1, MAX_N), whole("batch", sweep.batch, 1, 4_096)
        sizes = [whole("sizes", size, 1, MAX_N) for size in sweep.sizes]
        if len(set(sizes)) < len(sizes) or len(sizes) < 3:
            raise ValueError(f"sizes must be at least 3 different numbers; got {sweep.sizes!r}")
    return sweeps


# --- memory -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WeightsMemory:
    """What the T x T weights take, beside a kernel that never holds them all.

    weights_formula: 4 h T^2 bytes. weights_bytes: of the weights tensor really made. output_bytes: 4 h T d_k.
    explicit_peak: most bytes allocated at once by attention that returns its weights, beyond q, k and v.
    fused_peak: the same of F.scaled_dot_product_attention. Both nan where they can't be measured.
    difference: largest |output - fused output|. device: where it ran.
    """
    T: int
    heads: int
    d_k: int
    weights_formula: int
    weights_bytes: int
    output_bytes: int
    explicit_peak: float
    fused_peak: float
    difference: float
    device: str


def memory_of_weights(T: int, heads: int = 1, d_k: int = 64, seed: int = 0, device: str = "cpu") -> WeightsMemory:
    """Return what attention allocates with all of its weights, and what the fused kernel does, for the same q, k, v.

    Measured by PyTorch's own record of its allocations: on the CPU those of this thread, on CUDA those of the process,
    where other work would count too. Elsewhere the peaks are nan.

    Args:
        T: int >= 1; heads: int >= 1; heads * T^2 at most 16,777,216 (64 MB of weights). d_k: int, 1 to 1,024.
        seed: int. device: as for `qkv_core.device.resolve`.
    Returns:
        WeightsMemory.
    Raises:
        ValueError: for a size out of range.
    Source: Dao et al. 2022 (FlashAttention), for the kernel.
    """
    T, heads, d_k = whole("T", T, 1, 65_536), whole("heads", heads, 1, 1_024), whole("d_k", d_k, 1, 1_024)
    if heads * T * max(T, d_k) > MAX_WEIGHTS:
        raise ValueError(f"heads * T * (the larger of T and d_k) must be at most {MAX_WEIGHTS}; got {heads} * {T} * "
                         f"{max(T, d_k)} = {heads * T * max(T, d_k)}")
    where = resolve(device)
    g = torch.Generator().manual_seed(seed)
    q, k, v = (torch.randn(1, heads, T, d_k, generator=g).to(where) for _ in range(3))
    with torch.no_grad():
        (output, weights), explicit = peak_bytes(lambda: scaled_dot_product_attention(q, k, v), where)
        fused, fused_peak = peak_bytes(lambda: F.scaled_dot_product_attention(q, k, v), where)
    return WeightsMemory(T, heads, d_k, 4 * heads * T * T, weights.untyped_storage().nbytes(), 4 * heads * T * d_k,
                         explicit, fused_peak, (output - fused).abs().max().item(), where.type)


def memory_curve(heads: int, d_k: int, max_T: int = 131_072) -> pd.DataFrame:
    """Return the bytes for T = 64, 128, ... up to max_T, by formula: no tensor of that size is made.

    Args:
        heads: int, 1 to 1,024. d_k: int, 1 to 1,024. max_T: int, 64 to 1,048,576.
    Returns:
        DataFrame[T, weights_bytes (4 h T^2), fused_bytes (4 h T d_k: the output, all that the kernel keeps), ratio].
    Raises:
        ValueError: for a size out of range.
    """
    heads, d_k = whole("heads", heads, 1, 1_024), whole("d_k", d_k, 1, 1_024)
    max_T = whole("max_T", max_T, 64, 1 << 20)
    Ts = [1 << i for i in range(6, 21) if 1 << i <= max_T]
    frame = pd.DataFrame({"T": Ts, "weights_bytes": [4 * heads * T * T for T in Ts],
                          "fused_bytes": [4 * heads * T * d_k for T in Ts]})
    return frame.assign(ratio=frame["weights_bytes"] / frame["fused_bytes"])


def peak_bytes(call: Callable[[], object], device: torch.device) -> tuple[object, float]:
    """Return what `call` returns, and the most bytes it had allocated at once, its result included.

    Args:
        call: callable without arguments. device: torch.device it works on.
    Returns:
        (result, bytes); nan where this PyTorch or device keeps no record.
    """
    if device.type == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        result = call()
        torch.cuda.synchronize()
        return result, float(torch.cuda.max_memory_allocated() - before)
    return _cpu_peak(call) if device.type == "cpu" else (call(), math.nan)


def _cpu_peak(call: Callable[[], object]) -> tuple[object, float]:
    # The older profiler, since it records one thread: torch.profiler allows one session in the whole process, and other
    # viewers have theirs. It is not a public interface, so its absence must not stop the page.
    try:
        from torch._C._autograd import _disable_profiler_legacy, _enable_profiler_legacy
        from torch._C._profiler import ProfilerConfig, ProfilerState, _ExperimentalConfig

        record = ProfilerConfig(ProfilerState.CPU, False, True, False, False, False, _ExperimentalConfig())
        _enable_profiler_legacy(record)
    except (ImportError, AttributeError, TypeError, RuntimeError):
        return call(), math.nan
    try:
        result = call()
    finally:
        records = _disable_profiler_legacy()
    held = peak = 0
    for thread in records:
        for event in thread:
            if event.kind() == "memory_alloc":              # negative when memory is given back
                held += event.cpu_memory_usage()
                peak = max(peak, held)
    return result, float(peak)


def _sizes(n: int, d: int, k: int, r: int) -> tuple[int, int, int, int]:
    n, d = whole("n", n, 1, MAX_N), whole("d", d, 1, MAX_D)
    return n, d, whole("k", k, 1, MAX_K), min(whole("r", r, 1, MAX_N), n)


def _known(layer: str) -> None:
    if layer not in LAYERS:
        raise ValueError(f"layer must be one of {', '.join(LAYERS)}; got {layer!r}")


def _seconds(value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.01 <= value <= 60:
        raise ValueError(f"seconds must be a number from 0.01 to 60; got {value!r}")
    return float(value)
