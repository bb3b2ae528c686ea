"""How concentrated a row of attention weights is, and how much it can still move.

Each measure works on the last axis of weights (..., n) and in float32 at least. A row with nothing to attend to (all
0) has entropy 0, peak 0, Jacobian 0 and 0 effective keys.
"""
import torch
from torch import Tensor

from qkv_core.attention import stable_softmax


def entropy(weights: Tensor) -> Tensor:
    """Return the entropy of each row, in nats.

        H = - sum_i a_i ln a_i,   with 0 ln 0 = 0;    0 <= H <= ln n

    Args:
        weights: tensor (..., n), every entry 0 to 1. Its gradient is finite at 0 too.
    Returns:
        tensor (...).
    Raises:
        ValueError: for entries outside 0 to 1, as scores would have.
    Source: Shannon 1948, section 6.
    """
    a = _weights(weights)
    return -(a * torch.where(a > 0, a, 1.0).log()).sum(-1) + 0.0        # + 0.0: a row of one key gives 0, not -0


def effective_keys(weights: Tensor) -> Tensor:
    """Return how many equally weighted keys would have each row's entropy: exp(H), from 1 to n.

    Args:
        weights: tensor (..., n), every entry 0 to 1.
    Returns:
        tensor (...); 0 for a row that is all 0.
    Raises:
        ValueError: for entries outside 0 to 1.
    Source: the perplexity of the row.
    """
    return entropy(weights).exp() * (weights != 0).any(-1)


def peak(weights: Tensor) -> Tensor:
    """Return the largest weight of each row.

    Args:
        weights: tensor (..., n), every entry 0 to 1.
    Returns:
        tensor (...), 1/n to 1, or 0 for a row that is all 0.
    Raises:
        ValueError: for entries outside 0 to 1.
    """
    return _weights(weights).amax(-1)


def jacobian(weights: Tensor) -> Tensor:
    """Return the derivative of each row's softmax by its scores.

        J_ij = da_i / ds_j = a_i (delta_ij - a_j)

    The diagonal a_i (1 - a_i) is written a_i * (sum of the others), which a saturated row does not cancel.

    Args:
        weights: tensor (..., n), rows that sum to 1 (or are all 0).
    Returns:
        tensor (..., n, n), symmetric; its rows sum to 0.
    Raises:
        ValueError: for entries outside 0 to 1.
    Source: Vaswani et al. 2017, section 3.2.1, "regions where it has extremely small gradients".
    """
    a = _weights(weights)
    products = a[..., :, None] * a[..., None, :]
    others = products - torch.diag_embed(products.diagonal(dim1=-2, dim2=-1))
    return torch.diag_embed(others.sum(-1)) - others


def jacobian_norm(weights_or_scores: Tensor, from_scores: bool | None = None) -> Tensor:
    """Return the Frobenius norm of each row's softmax Jacobian, in O(n), without building it.

        ||J||^2 = sum_ij (a_i (delta_ij - a_j))^2

    The short form S2 - 2 S3 + S2^2 cancels once a row saturates. Here p is the top weight, r the *sum of the others*
    (never 1 - p) and b = others / r, and every term is >= 0:

        ||J|| = r sqrt(p^2 + 2 p^2 B + sum b^2 (1 - 2 r b) + r^2 B^2),    B = sum b^2

    So it is right to 1e-6 relative for the weights it is given. A float32 softmax has itself lost about that much at
    logit scale 10 (the shift by the maximum rounds), so scores are taken through float64 where the device has it.

    Args:
        weights_or_scores: tensor (..., n).
        from_scores: True takes the rows as scores, False as weights. None decides: rows that all lie in 0 to 1 and
            each sum to 1 (or are all 0) are weights, anything else scores. Scores may look like weights by chance
            (all 0, or [1, 0]), so code that knows should say.
    Returns:
        tensor (...), from 0 to 1/2 (two keys that share the weight evenly).
    Raises:
        ValueError: for entries outside 0 to 1 when from_scores is False.
    Source: Vaswani et al. 2017, section 3.2.1; tests/test_measures.py shows the cancellation of the short form.
    """
    if from_scores is None:
        from_scores = not _are_weights(weights_or_scores)
    if not from_scores:
        return _jacobian_norm(_weights(weights_or_scores))
    dtype = torch.float64 if weights_or_scores.dtype == torch.float64 else torch.float32
    wide = torch.float32 if weights_or_scores.device.type == "mps" else torch.float64    # Apple GPUs have no float64
    return _jacobian_norm(stable_softmax(weights_or_scores.to(wide))).to(dtype)


def _jacobian_norm(a: Tensor) -> Tensor:
    p, top = a.max(-1, keepdim=True)
    others = a.scatter(-1, top, 0.0)
    r = others.sum(-1, keepdim=True)
    b = others / r.masked_fill(r == 0, 1.0)
    p, r, B = p.squeeze(-1), r.squeeze(-1), b.square().sum(-1)
    inner = (b.square() * (1 - 2 * others)).sum(-1)
    return r * (p.square() * (1 + 2 * B) + inner + (r * B).square()).sqrt()


def _weights(weights: Tensor) -> Tensor:
    a = weights if weights.dtype in (torch.float32, torch.float64) else weights.float()
    low, high = a.detach().aminmax()
    if low < 0 or high > 1 + 1e-3:                          # NaN passes both and shows up in the result
        raise ValueError(f"weights must lie between 0 and 1; got {low:g} to {high:g}. Are these scores?")
    return a


def _are_weights(x: Tensor) -> bool:
    x = x.detach()
    if not x.is_floating_point() or x.min() < 0:
        return False
    total = x.to(torch.promote_types(x.dtype, torch.float32)).sum(-1)
    slack = max(1e-4, 2 * torch.finfo(x.dtype).eps)         # half-precision weights sum to 1 only roughly
    return bool((((total - 1).abs() <= slack) | (total == 0)).all())
