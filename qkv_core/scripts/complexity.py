"""The complexity page's program: Table 1 with the numbers of the settings, and the longest way through each layer."""

from collections.abc import Mapping
from typing import Any

from qkv_core import scripts
from qkv_core.text import Msg

PATHS = Msg(
    en="The longest way from the first token to the last, in layers: counted, not estimated.",
    es="El camino más largo del primer token al último, en capas: contado, no estimado.",
)
TABLE = Msg(
    en="Operations of one layer, steps that must wait for each other, and that way.",
    es="Operaciones de una capa, pasos que deben esperarse unos a otros y ese camino.",
)
CROSS = Msg(
    en="Self-attention is cheaper than recurrence exactly while n < d.",
    es="La autoatención es más barata que la recurrencia exactamente mientras n < d.",
)
SHOW = """
rows = {
    "self_attention": (n * n * d, 1, 1),
    "recurrent": (n * d * d, n, n),
    "convolutional": (k * n * d * d, 1, steps(k)),
    "dilated": (k * n * d * d, 1, dilated()),
    "restricted": (min(r, n) * n * d, 1, steps(min(r, n))),
}
for layer, (operations, sequential, path) in rows.items():
    print(f"{layer}  {operations:,d}  {sequential:,d}  {path}")
"""
LAYERS = Msg(
    en="Two of the layers, run for real: one self-attention reaches every token, and k^L tokens are reached by L dilated ones.",
    es="Dos de las capas, ejecutadas de verdad: una autoatención alcanza todos los tokens, y L dilatadas alcanzan k^L.",
)


def parts(values: Mapping[str, Any], lang: str):
    yield (
        scripts.SETTINGS(lang),
        f"""import math

import torch

n, k, r = {values["x_n"]}, {values["x_k"]}, {values["x_r"]}
heads, d_k = {values["heads"]}, {values["d_k"]}
d = heads * d_k""",
    )
    yield (
        PATHS(lang),
        """def steps(width):
    if n == 1:
        return 1
    return math.inf if width == 1 else math.ceil((n - 1) / (width - 1))


def dilated():
    if n == 1 or k == 1:
        return 1 if n == 1 else math.inf
    layers = 0
    while k**layers < n:
        layers += 1
    return layers""",
    )
    yield TABLE(lang), SHOW
    yield CROSS(lang), 'print(f"self-attention / recurrent = {n / d:g}")'
    yield (
        LAYERS(lang),
        """T = min(n, 64)
x = torch.ones(1, 1, T, requires_grad=True)
y, gap = x, 1
while k > 1 and gap < T:
    y = torch.nn.functional.conv1d(torch.nn.functional.pad(y, ((k - 1) * gap, 0)), torch.ones(1, 1, k), dilation=gap)
    gap *= k
y[0, 0, -1].backward()
print("tokens reached by the last one through the dilated stack:", int((x.grad != 0).sum()), "of", T)""",
    )
