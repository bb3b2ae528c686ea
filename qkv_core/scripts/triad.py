"""The triad's program: every matrix from X to the output, and one weight term by term."""

from collections.abc import Mapping
from typing import Any

from qkv_core import scripts
from qkv_core.settings import LONGEST
from qkv_core.text import Msg

GRIDS = {"t_x": "X", "t_wq": "W_q", "t_wk": "W_k", "t_wv": "W_v"}
GIVEN = Msg(en="What each token is (a row of X) and the three projections.", es="Lo que es cada token (una fila de X) y las tres proyecciones.")
DRAWN = Msg(
    en="Drawn from the seed, in this order: X ~ N(0, 1), and W ~ N(0, 1/C), so that every entry of q, k and v has variance 1.",
    es="Generado con la semilla, en este orden: X ~ N(0, 1) y W ~ N(0, 1/C), para que cada entrada de q, k y v tenga varianza 1.",
)
PROJECTED = Msg(en="A query, a key and a value for each token.", es="Una consulta, una clave y un valor para cada token.")
PROJECT = """
q = X @ W_q
k = X @ W_k
v = X @ W_v
"""
ALL = Msg(en="Every matrix, and the row sums of the weights.", es="Todas las matrices, y las sumas por fila de los pesos.")
SHOW = """
for name, matrix in {"X": X, "Q": q, "K": k, "V": v, "raw": raw, "scaled": scaled, "masked": masked, "weights": weights,
                     "sums": weights.sum(1, keepdim=True), "output": output}.items():
    print(name)
    for row in matrix.tolist():
        print("  ".join(f"{x:10.4f}" for x in row))
"""
ONE = Msg(
    en="One weight term by term: the products, their sum, the division, exp, and the share of the row.",
    es="Un peso término a término: los productos, su suma, la división, exp y la parte de la fila.",
)
CELL = """
terms = q[i] * k[j]
print("terms", "  ".join(f"{x:.6f}" for x in terms.tolist()))
print(f"raw {raw[i, j]:.6f}")
print(f"scaled {scaled[i, j]:.6f}")
if allowed[i, j]:
    exps = (masked[i] - masked[i].max()).exp()
    print(f"exp {exps[j]:.6f}")
    print(f"sum of the row {exps.sum():.6f}")
print(f"weight {weights[i, j]:.6f}")
"""


OWN = Msg(
    en="One head of one sequence, and at most twelve of its tokens, as on the page.",
    es="Una cabeza de una secuencia, y como máximo doce de sus tokens, como en la página.",
)


def parts(values: Mapping[str, Any], lang: str, own: Any = None):
    return _whole(values, lang) if own is None else _own(values, lang, own)


def _own(values: Mapping[str, Any], lang: str, own: Any):
    B, h, T, d_k = own.q.shape
    first = min(values["t_ot"] - 1, max(T - LONGEST, 0))
    T = min(T, LONGEST)
    b, head, n = min(values["t_ob"], B) - 1, min(values["t_oh"], h) - 1, min(values["t_n"], T)
    yield scripts.SETTINGS(lang), f"""import math

import torch

tau = {values["tau"]}
T, d_k, d_model = {T}, {d_k}, {h * d_k}
divisor = {scripts.DIVISORS[values["scale"]]}
i, j = {min(values["t_row"], T - 1)}, {min(values["t_col"], T - 1)}"""
    yield scripts.own_part(own, "qkv", lang)
    yield OWN(lang), f"q, k, v = (x[{b}, {head}, {first}:{first + T}].double() for x in (q, k, v))"
    yield scripts.mask_part(values["mask"], n, lang)
    yield scripts.ATTENTION_SAYS(lang), scripts.ATTENTION
    yield ALL(lang), SHOW.replace('"X": X, ', "")
    yield ONE(lang), CELL


def _whole(values: Mapping[str, Any], lang: str):
    cat = values["t_in"] != "random"  # the page shows it until somebody's own tensors are there
    T = 3 if cat else values["t_len"]
    row, col, n = min(values["t_row"], T - 1), min(values["t_col"], T - 1), min(values["t_n"], T)
    sizes = "T, d_k, d_model = 3, 4, 4" if cat else (
        f"T, C, d_k, d_v = {T}, {values['t_c']}, {values['d_k']}, {values['t_dv']}\nd_model = C\nseed = {values['seed']}"
    )
    tokens = '["The", "cat", "sat"]' if cat else '[f"x{i + 1}" for i in range(T)]'
    yield (
        scripts.SETTINGS(lang),
        f"""import math

import torch

tau = {values["tau"]}
{sizes}
divisor = {scripts.DIVISORS[values["scale"]]}
tokens = {tokens}
i, j = {row}, {col}""",
    )
    if cat:
        lines = [f"{name} = torch.tensor({scripts.rows_of(values[key])}, dtype=torch.float64)" for key, name in GRIDS.items()]
        yield GIVEN(lang), "\n".join(lines)
    else:
        yield (
            DRAWN(lang),
            """generator = torch.Generator().manual_seed(seed)
X = torch.randn(T, C, generator=generator).double()
W_q, W_k, W_v = ((torch.randn(C, d, generator=generator) / math.sqrt(C)).double() for d in (d_k, d_k, d_v))""",
        )
    yield PROJECTED(lang), PROJECT
    yield scripts.mask_part(values["mask"], n, lang)
    yield scripts.ATTENTION_SAYS(lang), scripts.ATTENTION
    yield ALL(lang), SHOW
    yield ONE(lang), CELL
