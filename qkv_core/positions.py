"""Who is where: attention alone can't tell, and what is added or turned so that it can.

Attention reads its tokens as a set: shuffle them and the same outputs come out, shuffled. The paper adds a vector of
sines and cosines to each token. A step of k positions turns every pair of its channels by a fixed angle, so one matrix
R_k takes PE[pos] to PE[pos + k] from anywhere, and the dot product of two encodings depends on their distance only.
RoPE, the successor, turns q and k themselves by those angles; then q.k has that property.

Symbols: n positions, C = d_model channels in C/2 pairs i = 0 .. C/2 - 1; k offset (in rotation), T tokens, d_k of q and
of k. Angles are computed in float64: position * frequency in float32 would be wrong in the fifth digit at position 512.
"""
import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import torch
from torch import Tensor

from qkv_core.attention import AttentionTrace, attention_trace
from qkv_core.masks import whole
from qkv_core.triad import Triad, project

BASE = 10_000.0
MAX_N = 4_096                 # positions of one encoding
MAX_D = 1_024                 # channels: a rotation of that size is 4 MB
MAX_ALL_PAIRS = 1_024         # positions where every pair of them is compared
MAX_COUNT = 10_000            # random draws of one check


def frequencies(d_model: int, base: float = BASE) -> Tensor:
    """Return how far each pair of channels turns at one step, in radians.

        omega_i = base^(-2i / d_model)

    Args:
        d_model: even int, 2 to 1024.
        base: float > 1.
    Returns:
        float64 tensor (d_model/2,), from 1 downwards.
    Raises:
        ValueError: for a d_model that is odd or out of range, or a base that is not a finite number > 1.
    Source: Vaswani et al. 2017, section 3.5.
    """
    d_model = _even("d_model", d_model)
    if isinstance(base, bool) or not isinstance(base, (int, float)) or not 1 < base < math.inf:
        raise ValueError(f"base must be a finite number > 1; got {base!r}")
    return float(base) ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)


def wavelengths(d_model: int) -> Tensor:
    """Return how many positions each pair of channels takes for one full turn.

        lambda_i = 2 pi 10000^(2i / d_model)

    The paper says "from 2 pi to 10000 2 pi"; the last one is 10000^((d_model - 2)/d_model) 2 pi, a little less.

    Args:
        d_model: even int, 2 to 1024.
    Returns:
        float64 tensor (d_model/2,), from 2 pi upwards.
    Raises:
        ValueError: for a d_model that is odd or out of range.
    Source: Vaswani et al. 2017, section 3.5.
    """
    return 2 * math.pi / frequencies(d_model)


def sinusoidal_encoding(n: int, d_model: int) -> Tensor:
    """Return the paper's position encodings, a row a position.

        PE[pos, 2i]     = sin(pos / 10000^(2i / d_model))
        PE[pos, 2i + 1] = cos(pos / 10000^(2i / d_model))

    Args:
        n: int, 1 to 4096 positions.
        d_model: even int, 2 to 1024: a sine without its cosine has no R_k, so an odd width is refused.
    Returns:
        float32 tensor (n, d_model), each entry correctly rounded from float64.
    Raises:
        ValueError: for an n or a d_model out of range, or an odd d_model.
    Source: Vaswani et al. 2017, section 3.5.
    """
    n = whole("n", n, 1, MAX_N)
    angles = torch.arange(n, dtype=torch.float64)[:, None] * frequencies(d_model)        # (n, C/2)
    return torch.stack((angles.sin(), angles.cos()), -1).flatten(1).float()              # (n, C)


def rotation(offset: int, d_model: int) -> Tensor:
    """Return R_k, the matrix that moves any encoding by k = offset positions.

        PE[pos + k] = PE[pos] R_k^T        R_k has the blocks [[ cos k omega_i, sin k omega_i],
                                                               [-sin k omega_i, cos k omega_i]] on its diagonal

    Args:
        offset: int, -4096 to 4096; a negative one moves back.
        d_model: even int, 2 to 1024.
    Returns:
        float32 tensor (d_model, d_model), orthogonal, each entry correctly rounded from float64.
    Raises:
        ValueError: for an offset or a d_model out of range, or an odd d_model.
    Source: Vaswani et al. 2017, section 3.5: "PE_{pos+k} can be represented as a linear function of PE_pos".
    """
    angles = whole("offset", offset, -MAX_N, MAX_N) * frequencies(d_model)               # (C/2,)
    even = torch.arange(0, 2 * len(angles), 2)
    R = torch.zeros(2 * len(angles), 2 * len(angles))
    R[even, even] = R[even + 1, even + 1] = angles.cos().float()
    R[even, even + 1] = angles.sin().float()
    R[even + 1, even] = -angles.sin().float()
    return R


@dataclass(frozen=True)
class RotationCheck:
    """Whether one matrix moves every position.

    offset, d_model: what was asked. pairs: how many positions (or random pairs) were compared.
    difference: largest |PE[pos] R_k^T - PE[pos + k]| over all of them, float32 throughout.
    worst: the pos where it is.
    stretch: largest | |PE[pos] R_k^T| / |PE[pos]| - 1 |; 0 means that R_k turns and never stretches.
    """
    offset: int | None
    d_model: int
    pairs: int
    difference: float
    worst: int
    stretch: float


def rotation_check(n: int, d_model: int, offset: int) -> RotationCheck:
    """Return how well R_k moves each of n positions, both ends inside an encoding of n + |k| positions.

    Args:
        n: int >= 1 positions that are moved; n + |offset| at most 4096.
        d_model: even int, 2 to 1024.
        offset: int, negative to move back.
    Returns:
        RotationCheck.
    Raises:
        ValueError: for sizes out of range, or an odd d_model.
    Source: Vaswani et al. 2017, section 3.5.
    """
    offset = whole("offset", offset, 1 - MAX_N, MAX_N - 1)
    n = whole("n", n, 1, MAX_N - abs(offset))
    encoding, R = sinusoidal_encoding(n + abs(offset), d_model), rotation(offset, d_model)
    start = max(0, -offset)
    pos = torch.arange(start, start + n)
    by_position, stretch = _moved(encoding, pos, R, offset)
    return RotationCheck(offset, d_model, n, by_position.max().item(), int(pos[by_position.argmax()]), stretch)


def random_rotation_check(d_model: int, count: int = 1_000, seed: int = 0, n: int = 512) -> RotationCheck:
    """Return the same for `count` random pairs (pos, k), each 0 to n - 1, every k with the matrix of its own.

    Args:
        d_model: even int, 2 to 1024. count: int, 1 to 10,000. seed: int. n: int, 1 to 2048.
    Returns:
        RotationCheck with offset None.
    Raises:
        ValueError: for sizes out of range, or an odd d_model.
    """
    count, n = whole("count", count, 1, MAX_COUNT), whole("n", n, 1, MAX_N // 2)
    g = torch.Generator().manual_seed(seed)
    pos, offset = torch.randint(0, n, (2, count), generator=g)
    encoding = sinusoidal_encoding(2 * n - 1, d_model)
    difference, worst, stretch = -1.0, 0, 0.0
    for k in offset.unique().tolist():
        here = pos[offset == k]
        by_position, stretched = _moved(encoding, here, rotation(k, d_model), k)
        stretch = max(stretch, stretched)
        if by_position.max() > difference:
            difference, worst = by_position.max().item(), int(here[by_position.argmax()])
    return RotationCheck(None, d_model, count, difference, worst, stretch)


# --- frames for the pictures --------------------------------------------------------------------------------------


def pattern(n: int, d_model: int) -> pd.DataFrame:
    """Return the encoding as one row a cell, for a heatmap; an image takes `sinusoidal_encoding` itself.

    Args:
        n, d_model: as for `sinusoidal_encoding`; n to 1024.
    Returns:
        DataFrame[pos, dim, value] in reading order, n * d_model rows.
    Raises:
        ValueError: as `sinusoidal_encoding`.
    """
    encoding = sinusoidal_encoding(whole("n", n, 1, MAX_ALL_PAIRS), d_model)
    n, d_model = encoding.shape
    return pd.DataFrame({
        "pos": torch.arange(n).repeat_interleave(d_model).numpy(),
        "dim": torch.arange(d_model).repeat(n).numpy(),
        "value": encoding.flatten().numpy(),
    })


def wavelength_table(d_model: int) -> pd.DataFrame:
    """Return every pair of channels with its frequency and its wavelength.

    Args:
        d_model: even int, 2 to 1024.
    Returns:
        DataFrame[pair, sin_dim, cos_dim, frequency (radians a position), wavelength (positions)], d_model/2 rows.
    Raises:
        ValueError: for a d_model that is odd or out of range.
    Source: Vaswani et al. 2017, section 3.5.
    """
    omega = frequencies(d_model)
    pair = torch.arange(len(omega)).numpy()
    return pd.DataFrame({"pair": pair, "sin_dim": 2 * pair, "cos_dim": 2 * pair + 1, "frequency": omega.numpy(),
                         "wavelength": wavelengths(d_model).numpy()})


def waves(n: int, d_model: int, dims: Sequence[int]) -> pd.DataFrame:
    """Return chosen channels as waves along the positions.

    Args:
        n, d_model: as for `sinusoidal_encoding`.
        dims: 1 to 16 ints, each 0 to d_model - 1; repeats are dropped.
    Returns:
        DataFrame[dim, pair, kind ("sin" | "cos"), wavelength, pos, value], n rows a channel.
    Raises:
        ValueError: for sizes out of range, an odd d_model, or channels that are not there.
    """
    encoding, lambdas = sinusoidal_encoding(n, d_model), wavelengths(d_model).tolist()
    dims = list(dict.fromkeys(whole(f"dims[{i}]", dim, 0, d_model - 1) for i, dim in enumerate(dims)))
    if not 1 <= len(dims) <= 16:
        raise ValueError(f"dims must name 1 to 16 channels; got {len(dims)}")
    pos = torch.arange(n).numpy()
    return pd.concat([
        pd.DataFrame({"dim": dim, "pair": dim // 2, "kind": "cos" if dim % 2 else "sin",
                      "wavelength": lambdas[dim // 2], "pos": pos, "value": encoding[:, dim].numpy()})
        for dim in dims], ignore_index=True)


def clock_hands(pos: int, d_model: int) -> pd.DataFrame:
    """Return one position as the hands of C/2 clocks, each with a face of its own.

    The pair (sin, cos), drawn as (x, y), is a hand that points to twelve at position 0 and turns clockwise; the first
    hand is the fastest. R_k turns hand i by k omega_i.

    Args:
        pos: int, 0 to 4095.
        d_model: even int, 2 to 1024.
    Returns:
        DataFrame[pair, x, y, turns (full turns so far), degrees (clockwise from twelve, 0 to 360), wavelength].
    Raises:
        ValueError: for a pos or a d_model out of range, or an odd d_model.
    """
    pos = whole("pos", pos, 0, MAX_N - 1)
    x, y = sinusoidal_encoding(pos + 1, d_model)[pos].view(-1, 2).unbind(1)
    lambdas = wavelengths(d_model)
    turns = pos / lambdas
    return pd.DataFrame({"pair": torch.arange(len(turns)).numpy(), "x": x.numpy(), "y": y.numpy(),
                         "turns": turns.numpy(), "degrees": (360 * (turns % 1)).numpy(), "wavelength": lambdas.numpy()})


# --- dot products -------------------------------------------------------------------------------------------------


def dot_theory(offset: Tensor, d_model: int) -> Tensor:
    """Return the dot product of two encodings that are `offset` positions apart.

        PE[pos] . PE[pos + k] = sum_i cos(k omega_i),     since sin a sin b + cos a cos b = cos(a - b)

    Args:
        offset: tensor of any shape, in positions.
        d_model: even int, 2 to 1024.
    Returns:
        float64 tensor of that shape; d_model/2 at offset 0, the same for k and -k.
    Raises:
        ValueError: for a d_model that is odd or out of range.
    """
    return (offset.double()[..., None] * frequencies(d_model)).cos().sum(-1)


def dot_by_offset(n: int, d_model: int) -> pd.DataFrame:
    """Return the dot products of all pairs of n positions, gathered by how far apart they are.

    The encodings are the float32 ones; their products are summed in float64.

    Args:
        n: int, 1 to 1024. d_model: even int, 2 to 1024.
    Returns:
        DataFrame[offset (0 to n - 1), pairs (n - offset), low, high (smallest and largest over the pairs), mean,
        theory (the closed form), cosine (mean / (d_model/2): every encoding has the length sqrt(d_model/2))].
    Raises:
        ValueError: for sizes out of range, or an odd d_model.
    """
    encoding = sinusoidal_encoding(whole("n", n, 1, MAX_ALL_PAIRS), d_model).double()
    frame = _by_offset(encoding @ encoding.T)
    frame["theory"] = dot_theory(torch.arange(n), d_model).numpy()
    frame["cosine"] = frame["mean"] / (d_model / 2)
    return frame


@dataclass(frozen=True)
class OffsetCheck:
    """Whether dot products depend on the offset only.

    spread: largest gap between two pairs of the same offset. difference: largest |dot product - closed form|.
    range: largest minus smallest over all offsets, what the other two are small against.
    """
    spread: float
    difference: float
    range: float


def offset_check(frame: pd.DataFrame) -> OffsetCheck:
    """Return the proof from what `dot_by_offset` found.

    Args:
        frame: DataFrame[low, high, theory].
    Returns:
        OffsetCheck.
    """
    off = pd.concat([(frame["low"] - frame["theory"]).abs(), (frame["high"] - frame["theory"]).abs()])
    return OffsetCheck(float((frame["high"] - frame["low"]).max()), float(off.max()),
                       float(frame["high"].max() - frame["low"].min()))


@dataclass(frozen=True, eq=False)
class NearestPosition:
    """Whether a dot product finds the position that is looked for.

    frame: DataFrame[pos, wanted, found, error (|found - wanted|), dot, runner_up, runner_up_dot, neighbour (bool: the
        runner-up stands next to the position wanted)], a row for each pos with 0 <= pos + offset < n.
    right: share of rows with found == wanted. neighbours: share of rows with a neighbour as runner-up.
    largest_error: int, the largest error. margin: smallest dot - runner_up_dot.
    """
    frame: pd.DataFrame
    right: float
    neighbours: float
    largest_error: int
    margin: float


def nearest_position(n: int, d_model: int, offset: int = 0, noise: float = 0.0, seed: int = 0) -> NearestPosition:
    """Return which of n positions a query finds that looks `offset` positions away, by the largest dot product.

        query = PE[pos] R_k^T + noise * N(0, 1),      found = argmax_j query . PE[j]

    Without noise it always finds the right one. The runner-up is a neighbour only where there are enough channels:
    with two, a clock of one hand, the nearest match may be a whole turn away.

    Args:
        n: int, 2 to 1024. d_model: even int, 2 to 1024.
        offset: int, -(n - 1) to n - 1.
        noise: float >= 0, finite, the standard deviation added to each channel (an encoding's own is about 0.7).
        seed: int, of the noise.
    Returns:
        NearestPosition.
    Raises:
        ValueError: for sizes, an offset or a noise out of range, or an odd d_model.
    """
    n = whole("n", n, 2, MAX_ALL_PAIRS)
    offset = whole("offset", offset, 1 - n, n - 1)
    if isinstance(noise, bool) or not isinstance(noise, (int, float)) or not 0 <= noise < math.inf:
        raise ValueError(f"noise must be a finite number >= 0; got {noise!r}")
    encoding = sinusoidal_encoding(n, d_model)
    pos = torch.arange(max(0, -offset), min(n, n - offset))
    wanted = pos + offset
    g = torch.Generator().manual_seed(seed)
    query = encoding[pos] @ rotation(offset, d_model).T + noise * torch.randn(n, d_model, generator=g)[pos]
    top = (query.double() @ encoding.double().T).topk(2)                                 # (m, 2)
    found, second = top.indices.unbind(1)
    error, neighbour = (found - wanted).abs(), (second - wanted).abs() == 1
    columns = {"pos": pos, "wanted": wanted, "found": found, "error": error, "dot": top.values[:, 0],
               "runner_up": second, "runner_up_dot": top.values[:, 1], "neighbour": neighbour}
    frame = pd.DataFrame({name: column.numpy() for name, column in columns.items()})
    return NearestPosition(frame, (error == 0).double().mean().item(), neighbour.double().mean().item(),
                           int(error.max()), (top.values[:, 0] - top.values[:, 1]).min().item())


# --- attention without positions ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ShuffleCheck:
    """What a shuffle of the tokens does to their attention.

    permutation: row i of the shuffled input is row permutation[i] of X. positions: whether encodings were added.
    before, after: AttentionTrace of the tokens in order, and shuffled.
    expected: tensor (T, d_v), the rows of before.output shuffled likewise: P attention(X).
    difference: largest |after.output - expected|. weights_difference: largest |after.weights - P before.weights P^T|.
    Both are 0, but for rounding, when attention reads its tokens as a set.
    """
    permutation: tuple[int, ...]
    positions: bool
    before: AttentionTrace
    after: AttentionTrace
    expected: Tensor
    difference: float
    weights_difference: float


def draw_permutation(T: int, seed: int) -> tuple[int, ...]:
    """Return a random order of T tokens, never the one they have (unless T is 1).

    Args:
        T: int, 1 to 1024. seed: int, of a generator of its own.
    Returns:
        tuple of T ints.
    Raises:
        ValueError: for a T out of range.
    """
    T = whole("T", T, 1, MAX_ALL_PAIRS)
    g = torch.Generator().manual_seed(seed)
    while True:
        drawn = torch.randperm(T, generator=g).tolist()
        if T == 1 or drawn != sorted(drawn):
            return tuple(drawn)


def shuffle_check(lesson: Triad, permutation: Sequence[int], positions: bool, mask: Tensor | None = None,
                  tau: float = 1.0, scale: bool | float = True) -> ShuffleCheck:
    """Return the attention of a lesson's tokens before and after they are shuffled.

        without positions   attention(P X) = P attention(X)                     permutation-equivariant
        with positions      attention(P X + PE) != P attention(X + PE)          where a token stands now matters
    A causal mask, which belongs to places and not to tokens, ends it too.

    Args:
        lesson: Triad of T tokens (`cat_sat()`, `random_triad(...)`); C even when positions are added.
        permutation: T ints, each of 0 to T - 1 once.
        positions: add `sinusoidal_encoding(T, C)` to the tokens as they stand, after the shuffle.
        mask: bool tensor (T, T), True may attend; it stays where it is. tau, scale: as for `attention_trace`.
    Returns:
        ShuffleCheck.
    Raises:
        ValueError: for something that is not a permutation, an odd C with positions, and as `attention_trace`.
    Source: Vaswani et al. 2017, section 3.5: "our model contains no recurrence and no convolution".
    """
    T, C = lesson.X.shape
    order = list(permutation)
    if sorted(order) != list(range(T)):
        raise ValueError(f"permutation must hold each of 0 to {T - 1} once; got {tuple(order)!r}")
    place = sinusoidal_encoding(T, C) if positions else torch.zeros(T, C)
    weights = (lesson.W_q, lesson.W_k, lesson.W_v)
    before = attention_trace(*project(lesson.X + place, *weights), mask, tau, scale)
    after = attention_trace(*project(lesson.X[order] + place, *weights), mask, tau, scale)
    expected = before.output[order]
    return ShuffleCheck(
        tuple(order), bool(positions), before, after, expected, (after.output - expected).abs().max().item(),
        (after.weights - before.weights[order][:, order]).abs().max().item())


# --- RoPE ---------------------------------------------------------------------------------------------------------


def rope(x: Tensor, positions: Sequence[int] | Tensor, base: float = BASE) -> Tensor:
    """Return each row of x turned by the angles of its position.

        (x_2i, x_2i+1) -> (x_2i cos a - x_2i+1 sin a, x_2i sin a + x_2i+1 cos a),      a = position * base^(-2i/d)

    Applied to q and k (never to v) before their product, q_m . k_n then depends on m - n only. Neighbouring channels
    form a pair, as in the paper; some libraries pair channel i with i + d/2, the same up to the order of channels.

    Args:
        x: tensor (..., T, d), d even, 2 to 1024. Integers are taken as float32.
        positions: T numbers, one a row, any finite ones; not only 0, 1, 2.
        base: float > 1.
    Returns:
        tensor (..., T, d) in the dtype of x; angles in float64, products in float32 at least. Lengths are kept.
    Raises:
        ValueError: for an odd d, a number of positions that isn't T, or a position that is not finite.
    Source: Su et al. 2021 (RoFormer), section 3.2.2, equations (14) and (34).
    """
    if x.dim() < 2 or x.is_complex() or x.dtype == torch.bool:
        raise ValueError(f"x must hold real numbers, (..., T, d); got {tuple(x.shape)} of {x.dtype}")
    T, d = x.shape[-2:]
    omega = frequencies(_even("d", d), base)
    place = torch.as_tensor(positions, dtype=torch.float64).cpu()
    if place.shape != (T,) or not place.isfinite().all():
        raise ValueError(f"positions must be {T} finite numbers, one a row of x; got shape {tuple(place.shape)}"
                         f"{'' if place.isfinite().all() else ' with a number that is not finite'}")
    wide = x if x.dtype in (torch.float32, torch.float64) else x.float()
    angles = place[:, None] * omega                                                      # (T, d/2)
    cos, sin = angles.cos().to(wide.dtype).to(x.device), angles.sin().to(wide.dtype).to(x.device)
    a, b = wide[..., 0::2], wide[..., 1::2]
    turned = torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)         # (..., T, d)
    return turned.to(x.dtype) if x.is_floating_point() else turned


@dataclass(frozen=True)
class RopeCheck:
    """Whether turning makes q.k a matter of the offset.

    count: random (pos, k), each with a random q and k of its own.
    difference: largest |score at (pos + k, pos) - score at (k, 0)|, scores q.k / sqrt(d_k) in float32.
    norm_difference: largest | |rope(x)| / |x| - 1 |.
    added_difference: the same as `difference` with sinusoids added to q and k instead of turning: not small.
    moved: largest |score at (pos + k, pos) - score without any turning|, which `difference` is small against.
    """
    count: int
    difference: float
    norm_difference: float
    added_difference: float
    moved: float


def rope_check(d_k: int, count: int = 1_000, seed: int = 0, n: int = 512, base: float = BASE) -> RopeCheck:
    """Return how far scores stray between pairs with equal offset, for `count` random (pos, k), each 0 to n - 1.

    Args:
        d_k: even int, 2 to 1024. count: int, 1 to 10,000. seed: int. n: int, 1 to 2048. base: float > 1.
    Returns:
        RopeCheck.
    Raises:
        ValueError: for sizes out of range, or an odd d_k.
    Source: Su et al. 2021, section 3.2.2, equation (16).
    """
    d_k = _even("d_k", d_k)
    count, n = whole("count", count, 1, MAX_COUNT), whole("n", n, 1, MAX_N // 2)
    g = torch.Generator().manual_seed(seed)
    q, k = torch.randn(2, count, d_k, generator=g)
    pos, offset = torch.randint(0, n, (2, count), generator=g)
    table = sinusoidal_encoding(2 * n - 1, d_k)

    def score(a: Tensor, b: Tensor) -> Tensor:
        return (a * b).sum(-1) / math.sqrt(d_k)                                          # (count,)

    turned_q, turned_k = rope(q, pos + offset, base), rope(k, pos, base)
    there, here = score(turned_q, turned_k), score(rope(q, offset, base), k)
    added = score(q + table[pos + offset], k + table[pos]) - score(q + table[offset], k + table[0])
    lengths = torch.cat((turned_q, turned_k)).norm(dim=-1) / torch.cat((q, k)).norm(dim=-1)
    return RopeCheck(count, (there - here).abs().max().item(), (lengths - 1).abs().max().item(),
                     added.abs().max().item(), (there - score(q, k)).abs().max().item())


def rope_scores(n: int, d_k: int, seed: int = 0, base: float = BASE) -> pd.DataFrame:
    """Return the score of one random q against one random k, at every pair of n positions, gathered by offset.

    Arms: "rope" turns q and k; "added" adds sinusoids to them (the paper adds them one step earlier, to the tokens
    that W_q and W_k project); "none" does neither. Only where low = high does the offset decide.

    Args:
        n: int, 1 to 1024. d_k: even int, 2 to 1024. seed: int. base: float > 1, of "rope".
    Returns:
        DataFrame[arm ("rope" | "added" | "none"), offset (query minus key, 0 to n - 1), pairs, low, high, mean];
        scores are q.k / sqrt(d_k).
    Raises:
        ValueError: for sizes out of range, or an odd d_k.
    """
    n, d_k = whole("n", n, 1, MAX_ALL_PAIRS), _even("d_k", d_k)
    g = torch.Generator().manual_seed(seed)
    q, k = torch.randn(2, 1, d_k, generator=g).expand(2, n, d_k)
    place, table = torch.arange(n), sinusoidal_encoding(n, d_k)
    arms = {"rope": (rope(q, place, base), rope(k, place, base)), "added": (q + table, k + table), "none": (q, k)}
    return pd.concat([_by_offset(a @ b.T / math.sqrt(d_k)).assign(arm=arm) for arm, (a, b) in arms.items()],
                     ignore_index=True)[["arm", "offset", "pairs", "low", "high", "mean"]]


def _by_offset(scores: Tensor) -> pd.DataFrame:
    """Return [offset, pairs, low, high, mean] of the lower diagonals of (n, n): query minus key = 0 .. n - 1."""
    rows = []
    for offset in range(len(scores)):
        same = scores.diagonal(-offset)
        low, high = same.aminmax()
        rows.append((offset, len(same), low.item(), high.item(), same.mean().item()))
    return pd.DataFrame(rows, columns=["offset", "pairs", "low", "high", "mean"])


def _moved(encoding: Tensor, pos: Tensor, R: Tensor, offset: int) -> tuple[Tensor, float]:
    """Return the largest difference at each pos (m,), and how much R stretched the worst of them."""
    here = encoding[pos]
    moved = here @ R.T                                                                   # (m, C)
    stretch = (moved.norm(dim=1) / here.norm(dim=1) - 1).abs().max().item()
    return (moved - encoding[pos + offset]).abs().amax(1), stretch


def _even(name: str, value: int) -> int:
    value = whole(name, value, 2, MAX_D)
    if value % 2:
        raise ValueError(f"{name} must be even, a sine and a cosine for each frequency; got {value}, "
                         f"nearest: {value - 1} or {min(value + 1, MAX_D)}")
    return value
