"""Attention with all of its weights against what a competent notebook would write."""
import math

import torch

from qkv_core.attention import scaled_dot_product_attention
from qkv_core.masks import causal_mask


def notebook(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    weights = torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1)
    return weights @ v, weights


def cases() -> list[dict]:
    T, h, d_k = 1024, 8, 64                                 # the dashboard's default heads and d_k
    g = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, h, T, d_k, generator=g) for _ in range(3))
    mask = causal_mask(T)
    return [
        dict(name=f"attention with all weights, causal, T = {T}, 8 heads", target=2.0, repeats=9,
             naive=lambda: notebook(q, k, v, mask), ours=lambda: scaled_dot_product_attention(q, k, v, mask)),
    ]
