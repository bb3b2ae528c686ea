"""The positions page's program: the encoding, its waves, the rotation, the dot products, and a shuffle."""

from collections.abc import Mapping
from typing import Any

from qkv_core import scripts
from qkv_core.text import Msg

ENCODING = Msg(
    en="The encoding: a row a position, a sine and a cosine a pair of dimensions. Angles in float64, since position times frequency "
    "in float32 would be wrong in the fifth digit at position 512.",
    es="La codificación: una fila por posición, un seno y un coseno por par de dimensiones. Los ángulos en float64: posición por "
    "frecuencia en float32 fallaría en la quinta cifra en la posición 512.",
)
WAVES = Msg(
    en="How many positions each chosen pair takes for one full turn.",
    es="Cuántas posiciones tarda cada par elegido en dar una vuelta completa.",
)
ROTATION = Msg(
    en="R_k has a block a pair, and takes every position k steps on. The first dimensions: PE[pos], R_k PE[pos], PE[pos + k].",
    es="R_k tiene un bloque por par y lleva cada posición k pasos adelante. Las primeras dimensiones: PE[pos], R_k PE[pos], PE[pos + k].",
)
DOTS = Msg(
    en="Dot products of pairs that are k apart, at the beginning, in the middle and at the end, and their closed form.",
    es="Productos escalares de pares a distancia k, al principio, en medio y al final, y su forma cerrada.",
)
SHUFFLE = Msg(
    en="Attention over “The cat sat”: without positions a shuffle only shuffles the outputs; with positions added it changes them.",
    es="Atención sobre «The cat sat»: sin posiciones, barajar solo baraja las salidas; con posiciones sumadas, las cambia.",
)
ROPE = Msg(
    en="RoPE turns q and k by the angles of their places. Scores at one offset then agree; with sinusoids added to q and k they don't.",
    es="RoPE gira q y k los ángulos de sus lugares. Las puntuaciones con un mismo desplazamiento coinciden; con sinusoides sumadas, no.",
)


def parts(values: Mapping[str, Any], lang: str):
    n, d = values["p_n"], values["p_d"]
    pos, k = min(values["p_pos"], n - 1), min(values["p_k"], n - 1)
    pairs = sorted({min(pair, d // 2 - 1) for pair in values["p_pairs"]})
    yield (
        scripts.SETTINGS(lang),
        f"""import math

import torch

n, d = {n}, {d}
pos, k = {pos}, {k}
pairs = {pairs}
order = {[int(i) for i in values["p_order"]]}
seed = {values["seed"]}""",
    )
    yield (
        ENCODING(lang),
        """def omega(d):
    return 10_000.0 ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)


def encoding(n, d):
    angles = torch.arange(n, dtype=torch.float64)[:, None] * omega(d)
    return torch.stack((angles.sin(), angles.cos()), -1).flatten(1).float()


PE = encoding(n + k, d)""",
    )
    yield WAVES(lang), """for i in pairs:
    print(f"pair {i}: {2 * math.pi / omega(d)[i].item():,.2f}")"""
    yield (
        ROTATION(lang),
        """R = torch.zeros(d, d)
even, angle = torch.arange(0, d, 2), k * omega(d)
R[even, even] = R[even + 1, even + 1] = angle.cos().float()
R[even, even + 1] = angle.sin().float()
R[even + 1, even] = -angle.sin().float()
moved = PE[:n] @ R.T
for j, three in enumerate(zip(PE[pos].tolist(), moved[pos].tolist(), PE[pos + k].tolist())):
    if j < 8:
        print(j, *(f"{x:.4f}" for x in three))
print(f"largest difference over {n} positions: {(moved - PE[k:]).abs().max().item():.1e}")""",
    )
    yield (
        DOTS(lang),
        """wide = PE.double()
for a in sorted({0, (n - k) // 2, n - 1 - k}):
    print(f"{a} . {a + k} = {(wide[a] @ wide[a + k]).item():.4f}")
print(f"sum of cos(k omega_i) = {(k * omega(d)).cos().sum().item():.4f}")""",
    )
    yield (
        SHUFFLE(lang),
        """X = torch.tensor([[1, 0.5, 0.2, 0.1], [0.1, 2, 0.8, 0.2], [0.2, 0.1, 1.5, 1.8]])
W_q = torch.tensor([[1, 0, 0.1, 0], [0, 1, 0, 0.2], [0.1, 0, 1, 0], [0, 0.2, 0, 1]])
W_k = torch.tensor([[0.8, 0.1, 0, 0], [0.1, 0.9, 0.2, 0], [0, 0.2, 0.7, 0.1], [0, 0, 0.1, 0.9]])
W_v = torch.tensor([[0.5, 0.5, 0, 0], [0, 0.5, 0.5, 0], [0, 0, 0.5, 0.5], [0.5, 0, 0, 0.5]])


def attention(X):
    q, k, v = X @ W_q, X @ W_k, X @ W_v
    return torch.softmax(q @ k.T / math.sqrt(k.shape[1]), 1) @ v


for name, place in (("without positions", torch.zeros(3, 4)), ("with positions", encoding(3, 4))):
    shuffled = attention(X[order] + place)
    print(name)
    for row in shuffled.tolist():
        print(*(f"{x:.3f}" for x in row))
    print(f"difference to the outputs in order, shuffled: {(shuffled - attention(X + place)[order]).abs().max().item():.1e}")""",
    )
    yield (
        ROPE(lang),
        """q, key = torch.randn(2, 1, d, generator=torch.Generator().manual_seed(seed)).expand(2, n, d)


def rope(x):
    angles = torch.arange(n, dtype=torch.float64)[:, None] * omega(d)
    cos, sin = angles.cos().float(), angles.sin().float()
    a, b = x[:, 0::2], x[:, 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(1)


def spread(q, key):
    scores = q @ key.T / math.sqrt(d)
    return max((s.max() - s.min()).item() for s in (scores.diagonal(-offset) for offset in range(n)))


print(f"RoPE: scores at one offset differ by at most {spread(rope(q), rope(key)):.1e}")
print(f"sinusoids added: by up to {spread(q + PE[:n], key + PE[:n]):.2f}")""",
    )
