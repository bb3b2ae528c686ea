"""Who may attend to whom: boolean masks, True may attend, rows are queries and columns are keys.

All are made on the CPU; attention moves them to the device of its scores.
"""
import numbers

import torch
from torch import Tensor

MASKS = ("none", "causal", "padding", "window", "prefix")


def causal_mask(T_q: int, T_k: int | None = None) -> Tensor:
    """Return the mask that hides the future: query i may attend to key j when j <= i + (T_k - T_q).

    The triangle is aligned to the *last* key, as when the queries are the newest tokens of a longer text: one query
    and five keys sees all five. (`is_causal` of PyTorch's kernel aligns to the first key, and would show it one.)
    With more queries than keys the first T_q - T_k rows have nothing to attend to.

    Args:
        T_q: int >= 1, queries.
        T_k: int >= 1, keys; T_q when None.
    Returns:
        bool tensor (T_q, T_k).
    Raises:
        ValueError: for a size below 1 or not whole.
    Source: Vaswani et al. 2017, section 3.2.3.
    """
    T_q = whole("T_q", T_q)
    T_k = T_q if T_k is None else whole("T_k", T_k)
    return torch.ones(T_q, T_k, dtype=torch.bool).tril(T_k - T_q)


def padding_mask(lengths, T: int) -> Tensor:
    """Return the mask that hides the padding at the end of each sequence: key j is seen when j < length.

    Args:
        lengths: list, tuple or 1-D integer tensor of B numbers, each 0 to T. Length 0 leaves nothing to attend to.
        T: int >= 1, the padded length.
    Returns:
        bool tensor (B, 1, 1, T), one row for all heads and queries of a sequence.
    Raises:
        ValueError: for lengths that are not whole numbers from 0 to T, or not a flat list.
    Source: batches of unequal sentences; Vaswani et al. 2017, section 5.1, batch by length to need less of it.
    """
    T = whole("T", T)
    values = lengths.tolist() if isinstance(lengths, Tensor) else lengths
    if not isinstance(values, (list, tuple)) or not values:
        raise ValueError(f"lengths must be a flat list of one number a sequence; got {lengths!r}")
    values = [whole(f"lengths[{i}]", value, 0, T) for i, value in enumerate(values)]
    return (torch.arange(T) < torch.tensor(values)[:, None])[:, None, None, :]           # (B, 1, 1, T)


def window_mask(T: int, radius: int) -> Tensor:
    """Return the mask of a local window: query i may attend to key j when |i - j| <= radius.

    Args:
        T: int >= 1.
        radius: int >= 0; 0 is each token alone.
    Returns:
        bool tensor (T, T).
    Raises:
        ValueError: for a size out of range or not whole.
    Source: Vaswani et al. 2017, section 4 (restricted self-attention, neighbourhood of size r).
    """
    T, radius = whole("T", T), whole("radius", radius, 0)
    position = torch.arange(T)
    return (position[:, None] - position).abs() <= radius


def prefix_mask(T: int, prefix: int) -> Tensor:
    """Return the mask of a prefix language model: causal, but everyone sees the first `prefix` keys.

    The prefix is thus read in both directions, and what follows it only backwards.

    Args:
        T: int >= 1.
        prefix: int, 0 to T; 0 is causal, T hides nothing.
    Returns:
        bool tensor (T, T).
    Raises:
        ValueError: for a size out of range or not whole.
    Source: Raffel et al. 2020 (T5), section 3.2.1, figure 3, "causal with prefix".
    """
    T = whole("T", T)
    prefix = whole("prefix", prefix, 0, T)
    return causal_mask(T) | (torch.arange(T) < prefix)


def build_mask(name: str, T: int, padding: int = 1, radius: int = 1, prefix: int = 1) -> Tensor | None:
    """Return the (T, T) mask that a name of MASKS stands for, or None for "none".

    Args:
        name: str, one of MASKS.
        T: int >= 1.
        padding: int, 0 to T: how many of the last tokens are padding, for "padding".
        radius: int >= 0, for "window".
        prefix: int, 0 to T, for "prefix".
    Returns:
        bool tensor (T, T), or None.
    Raises:
        ValueError: for an unknown name, or a size that the mask in question refuses.
    """
    makers = {
        "none": lambda: None,
        "causal": lambda: causal_mask(T),
        "padding": lambda: padding_mask([T - whole("padding", padding, 0, T)], T)[0, 0].repeat(T, 1),
        "window": lambda: window_mask(T, radius),
        "prefix": lambda: prefix_mask(T, prefix),
    }
    if name not in makers:
        raise ValueError(f"mask must be one of {', '.join(MASKS)}; got {name!r}")
    T = whole("T", T)
    return makers[name]()


def whole(name: str, value: int, low: int = 1, high: int | None = None) -> int:
    """Return `value` as an int, if it is a whole number of the range; the check behind every size of the core.

    Args:
        name: str, what the message calls it.
        value: an int of Python, NumPy or a 0-d tensor's `item()`; bool is refused, True is not a size.
        low, high: int, both legal; no upper end when `high` is None.
    Raises:
        ValueError: naming the range and what came.
    """
    if (isinstance(value, numbers.Integral) and not isinstance(value, bool)
            and value >= low and (high is None or value <= high)):
        return int(value)
    wanted = f">= {low}" if high is None else f"from {low} to {high}"
    raise ValueError(f"{name} must be a whole number {wanted}; got {value!r}")
