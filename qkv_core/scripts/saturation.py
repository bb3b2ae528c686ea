"""The saturation page's program: one query over its keys, with each divisor."""

from collections.abc import Mapping
from typing import Any

from qkv_core import scripts
from qkv_core.text import Msg

DRAWN = Msg(
    en="One query and its keys, standard normal, drawn from the seed; their dot products.",
    es="Una consulta y sus claves, normales estándar, generadas con la semilla; sus productos escalares.",
)
ARMS = Msg(
    en="The same products without a divisor, with √dₖ, and with the divisor of the settings.",
    es="Los mismos productos sin divisor, con √dₖ y con el divisor de los ajustes.",
)
MEASURE = Msg(
    en="The weights, and what can be said of a row: its peak, its entropy H as a share of ln n, exp(H) keys, and the norm of "
    "the softmax’s Jacobian, a_i (δ_ij − a_j), in double precision, since 1 − a cancels near 1.",
    es="Los pesos, y lo que se puede decir de una fila: su máximo, su entropía H como parte de ln n, exp(H) claves, y la norma del "
    "jacobiano del softmax, a_i (δ_ij − a_j), en doble precisión, pues 1 − a se cancela cerca de 1.",
)
SHOW = """
for name, divisor in divisors.items():
    scores = raw / (divisor * tau)
    weights = torch.softmax(scores, 0)
    a = torch.softmax(scores.double(), 0)
    H = -torch.special.xlogy(a, a).sum().item()
    norm = (a.diag() - torch.outer(a, a)).norm().item()
    print(name, f"divisor {divisor:.4f}")
    print("  weights ", "  ".join(f"{x:.4f}" for x in weights.tolist()))
    print(f"  peak {weights.max():.4f}, key {weights.argmax() + 1}")
    print(f"  entropy {H / math.log(n):.4f}")
    print(f"  effective keys {math.exp(H):.4f}")
    print(f"  Jacobian norm {norm:.4f}")
"""


def parts(values: Mapping[str, Any], lang: str):
    yield (
        scripts.SETTINGS(lang),
        f"""import math

import torch

d_k, heads, n = {values["d_k"]}, {values["heads"]}, {values["s_keys"]}
tau = {values["tau"]}
seed = {values["seed"]}
d_model = heads * d_k""",
    )
    yield (
        DRAWN(lang),
        """generator = torch.Generator().manual_seed(seed)
q = torch.randn(d_k, generator=generator)
k = torch.randn(n, d_k, generator=generator)
raw = k @ q""",
    )
    chosen = values["scale"]
    more = "" if chosen in ("none", "sqrt_dk") else f', "{chosen}": {scripts.DIVISORS[chosen]}'
    yield ARMS(lang), f'divisors = {{"unscaled": 1.0, "scaled": math.sqrt(d_k){more}}}'
    yield MEASURE(lang), SHOW
