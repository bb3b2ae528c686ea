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
    a = torch.softmax(raw.double() / (divisor * tau), 0)
    H = torch.special.entr(a).sum().item()
    norm = (a.diag() - torch.outer(a, a)).norm().item()
    print(name, f"divisor {divisor:.4f}")
    print("  weights ", "  ".join(f"{x:.4f}" for x in weights.tolist()))
    print(f"  peak {weights.max():.4f}, key {weights.argmax() + 1}")
    print(f"  entropy {H / math.log(max(n, 2)):.4f}")
    print(f"  effective keys {math.exp(H):.4f}")
    print(f"  Jacobian norm {norm:.4f}")
"""
OWN = Msg(
    en="One query of one head over its keys, and the divisors with the sizes of your tensors.",
    es="Una consulta de una cabeza sobre sus claves, y los divisores con los tamaños de sus tensores.",
)
OWN_ALL = Msg(
    en="The means over all rows of all heads, without the divisor and with √dₖ.",
    es="Las medias en todas las filas de todas las cabezas, sin divisor y con √dₖ.",
)
OWN_MEANS = """
for name, divisor in (("unscaled", 1.0), ("scaled", math.sqrt(d_k))):
    a = torch.softmax(q.double() @ k.double().mT / (divisor * tau), -1)
    squares, cubes = (a**2).sum(-1), (a**3).sum(-1)
    norm = (squares - 2 * cubes + squares**2).clamp(min=0).sqrt()  # of diag(a) - a a^T
    print(name, f"mean peak {a.amax(-1).mean():.3f}  mean Jacobian norm {norm.mean():.4f}")
"""


def parts(values: Mapping[str, Any], lang: str, own: Any = None):
    yield from _drawn(values, lang)
    if own is not None:
        yield from _own(values, lang, own)


def _own(values: Mapping[str, Any], lang: str, own: Any):
    B, heads, T, d_k = own.q.shape
    b, h, i = (min(values[key], size) - 1 for key, size in (("s_ob", B), ("s_oh", heads), ("s_ot", T)))
    yield scripts.own_part(own, "qk", lang)
    yield (
        OWN(lang),
        f"""d_k, heads, n = {d_k}, {heads}, {own.k.shape[2]}
d_model = heads * d_k
raw = k[{b}, {h}] @ q[{b}, {h}, {i}]
{_arms(values["scale"], d_k, heads)}""",
    )
    yield MEASURE(lang), SHOW
    yield OWN_ALL(lang), OWN_MEANS


def _arms(scale: str, d_k: int, heads: int) -> str:
    """The divisors, each once: the chosen one may be √dₖ itself."""
    alike = scale in ("none", "sqrt_dk") or (scale == "dk" and d_k == 1) or (scale == "sqrt_dmodel" and heads == 1)
    more = "" if alike else f', "{scale}": {scripts.DIVISORS[scale]}'
    return f'divisors = {{"unscaled": 1.0, "scaled": math.sqrt(d_k){more}}}'


def _drawn(values: Mapping[str, Any], lang: str):
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
    yield ARMS(lang), _arms(values["scale"], values["d_k"], values["heads"])
    yield MEASURE(lang), SHOW
