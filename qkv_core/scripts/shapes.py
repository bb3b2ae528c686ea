"""The program of the anatomy: the lines that the core executes, written out for the sizes on screen."""

from collections.abc import Mapping
from typing import Any

from qkv_core.text import Msg

HEADER = Msg(
    en="Each step of the walk. A printed line is a tensor’s name, shape, stride, and whether it is contiguous.",
    es="Cada paso del recorrido. Cada línea impresa da el nombre de un tensor, su forma, su stride y si es contiguo.",
)
NO_HEADS = Msg(
    en="{C} channels can’t be dealt out to {H} heads: this is what torch says.",
    es="{C} canales no se pueden repartir entre {H} cabezas: esto es lo que dice torch.",
)


def parts(values: Mapping[str, Any], lang: str):
    from qkv_core import shapes

    B, T, C, H = sizes = tuple(values[name] for name in ("B", "T", "C", "H"))
    if shapes.total_bytes(*sizes) > shapes.MAX_BYTES:
        return
    if C % H:
        yield (
            NO_HEADS(lang, C=C, H=H),
            f"""import torch

B, T, C, H = {B}, {T}, {C}, {H}
q = torch.zeros(B, T, C)
try:
    q.view(B, T, H, -1)
except RuntimeError as error:
    print(error)""",
        )
        return
    first, *blocks = shapes.script(*sizes, values["seed"]).strip().split("\n\n")
    yield HEADER(lang), first
    for block in blocks:
        title, code = block.split("\n", 1)
        yield title.removeprefix("# "), code
