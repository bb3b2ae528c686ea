"""The variance and saturation lessons against the notebook that a competent author would write."""

import math

import torch

from qkv_core.saturation import saturation_curve
from qkv_core.variance import variance_sweep, variance_table

FOUR = (16, 64, 256, 512)
SIXTY_THREE = range(16, 1024, 16)


def naive_table(d_ks, n: int) -> list[tuple]:
    """A fresh draw for each d_k, one line each, as the lesson's notebook has it."""
    rows = []
    for d in d_ks:
        q, k = torch.randn(n, d), torch.randn(n, d)
        dots = (q * k).sum(-1)
        rows.append((d, dots.var().item(), (dots / math.sqrt(d)).var().item()))
    return rows


def naive_saturation(d_ks, n_keys: int, n_trials: int) -> list[tuple]:
    """Loops over d_k, trials and arms, with autograd's Jacobian."""
    rows = []
    for d in d_ks:
        for divisor in (1.0, math.sqrt(d)):
            peaks, entropies, norms = [], [], []
            for _ in range(n_trials):
                q, k = torch.randn(d), torch.randn(n_keys, d)
                scores = k @ q / divisor
                weights = torch.softmax(scores, -1)
                jacobian = torch.autograd.functional.jacobian(lambda s: torch.softmax(s, -1), scores)
                peaks.append(weights.max().item())
                entropies.append(-torch.special.xlogy(weights, weights).sum().item() / math.log(n_keys))
                norms.append(jacobian.norm().item())
            rows.append((d, divisor, sum(peaks) / n_trials, sum(entropies) / n_trials, sum(norms) / n_trials))
    return rows


def cases() -> list[dict]:
    return [
        dict(name="variance table, d = 16, 64, 256, 512; 10,000 pairs", target=2.1, repeats=9,
             naive=lambda: naive_table(FOUR, 10_000), ours=lambda: variance_table(FOUR, 10_000)),
        dict(name="variance for every d from 1 to 1024; 10,000 pairs", target=500, repeats=5, naive_factor=32,
             naive=lambda: naive_table(range(16, 1025, 32), 10_000), ours=lambda: variance_sweep(1024, 10_000),
             memory_mb=8, warm=lambda: variance_sweep(2, 100), note="naive: every 32nd d, times 32"),
        dict(name="variance table, d = 512; 1,000,000 pairs", target=None, repeats=3,
             naive=lambda: naive_table((512,), 1_000_000), ours=lambda: variance_table((512,), 1_000_000),
             memory_mb=16, warm=lambda: variance_table((2,), 100), note="naive takes 6 GB"),
        dict(name="saturation, 63 values of d_k, 16 keys, 20 trials", target=500, repeats=3,
             memory_mb=8, warm=lambda: saturation_curve((2,), 2, 2),
             naive=lambda: naive_saturation(SIXTY_THREE, 16, 20), ours=lambda: saturation_curve(SIXTY_THREE, 16, 20)),
    ]
