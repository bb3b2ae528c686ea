"""The first page's program: "The cat sat" read once."""

from collections.abc import Mapping
from typing import Any

from qkv_core import scripts
from qkv_core.scripts import triad
from qkv_core.settings import everything
from qkv_core.text import Msg

GIVEN = Msg(en="Three tokens, a row each, and three projections written by hand.", es="Tres tokens, una fila cada uno, y tres proyecciones escritas a mano.")
PROJECT = Msg(en="A query, a key and a value for each token.", es="Una consulta, una clave y un valor para cada token.")
PRINT = Msg(en="Every matrix, and whom each token reads.", es="Todas las matrices, y a quién lee cada token.")
SHOW = """
for name, matrix in {"Q": q, "K": k, "V": v, "raw": raw, "scaled": scaled, "masked": masked}.items():
    print(name)
    for row in matrix.tolist():
        print("  ".join(f"{x:8.2f}" for x in row))
print("weights")
for token, row in zip(tokens, weights.tolist()):
    print(token, "  ".join(f"{x:7.1%}" for x in row))
print("output")
for row in output.tolist():
    print("  ".join(f"{x:8.2f}" for x in row))
"""


def parts(values: Mapping[str, Any], lang: str):
    yield (
        scripts.SETTINGS(lang),
        f"""import math

import torch

tau = {values["tau"]}
tokens = ["The", "cat", "sat"]
T, d_k, d_model = 3, 4, 4
divisor = {scripts.DIVISORS[values["scale"]]}""",
    )
    grids = {name: everything()[key].default for key, name in triad.GRIDS.items()}
    yield GIVEN(lang), "\n".join(f"{name} = torch.tensor({scripts.rows_of(rows)}, dtype=torch.float32)" for name, rows in grids.items())
    yield PROJECT(lang), triad.PROJECT
    yield scripts.mask_part(values["mask"], 1, lang)
    yield scripts.ATTENTION_SAYS(lang), scripts.ATTENTION
    yield PRINT(lang), SHOW
