"""Each lesson as a short program that needs only torch: the maths written out, the settings on screen as constants.

A lesson's module here has `parts(values, lang)`: pairs of a sentence in the viewer's language and the code it is about,
which prints the numbers of the page. Those of OWN also take a viewer's own tensors. Standard library only; nothing is
computed here.
"""

from __future__ import annotations

import importlib
import importlib.util
import struct
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from qkv_core.text import Msg

WIDTH = 100

OWN = ("triad", "variance", "saturation", "heads")
"""The lessons that show a viewer's own q, k, v."""

OWN_FILE = "qkv_own.pt"
"""What a program reads them from where they are more than WRITTEN numbers."""

WRITTEN = 120


class Part(NamedTuple):
    """A few lines of a program and what they are for."""

    text: str
    code: str


def parts(page: str, values: Mapping[str, Any], lang: str, own: Any = None) -> tuple[Part, ...]:
    """The program of a page for these settings; empty where the lesson has none, or none for them.

    Args:
        page: a name of settings.PAGES. values: the value of each setting of the page, by key. lang: of the comments.
        own: bring.Brought, a viewer's own tensors that the page shows; None where it shows none.
    """
    name = f"{__name__}.{page}"
    if importlib.util.find_spec(name) is None:
        return ()
    more = (own,) if page in OWN else ()
    return tuple(Part(text, code.strip("\n")) for text, code in importlib.import_module(name).parts(values, lang, *more))


def script(page: str, values: Mapping[str, Any], lang: str, own: Any = None) -> str:
    """The same as one program, its sentences as comments; "" where there is none."""
    return "\n\n".join(f"{comment(part.text)}\n{part.code}" for part in parts(page, values, lang, own)) + "\n"


def comment(text: str) -> str:
    """A text as comment lines; its own lines are kept."""
    lines = [textwrap.wrap(line, WIDTH - 2, break_on_hyphens=False, break_long_words=False) or [""] for line in text.split("\n")]
    return "\n".join(f"# {line}".rstrip() for wrapped in lines for line in wrapped)


SETTINGS = Msg(en="The settings on the screen.", es="Los ajustes de la pantalla.")

DIVISORS = {"sqrt_dk": "math.sqrt(d_k)", "none": "1.0", "dk": "float(d_k)", "sqrt_dmodel": "math.sqrt(d_model)"}
"""How each scale is computed, in the names of the program."""

MASKS = {
    "none": "torch.ones(T, T, dtype=torch.bool)",
    "causal": "torch.ones(T, T, dtype=torch.bool).tril()",
    "padding": "(torch.arange(T) < T - {n}).repeat(T, 1)",
    "window": "(torch.arange(T)[:, None] - torch.arange(T)).abs() <= {n}",
    "prefix": "torch.ones(T, T, dtype=torch.bool).tril() | (torch.arange(T) < {n})",
}
MASK_SAYS = {
    "none": Msg(en="No mask: every query may read every key.", es="Sin máscara: cada consulta puede leer todas las claves."),
    "causal": Msg(
        en="Causal mask: a query reads itself and what came before it.",
        es="Máscara causal: una consulta se lee a sí misma y a lo anterior.",
    ),
    "padding": Msg(
        en="Padding mask: tokens at the end are filling, and nobody reads them.",
        es="Máscara de relleno: los últimos tokens son relleno y nadie los lee.",
    ),
    "window": Msg(
        en="Window mask: a query reads the keys near its own place.",
        es="Máscara de ventana: una consulta lee las claves cercanas a su lugar.",
    ),
    "prefix": Msg(
        en="Prefix mask: everybody reads the first tokens, and beyond them only backwards.",
        es="Máscara de prefijo: todos leen los primeros tokens y, más allá, solo hacia atrás.",
    ),
}
MASK_AXES = Msg(
    en="Rows are queries, columns are keys, True may attend.",
    es="Las filas son consultas, las columnas son claves; True permite atender.",
)
ATTENTION_SAYS = Msg(
    en="Attention: compare, divide, hide, softmax, mix. A row that may read nothing gets the weights 0.",
    es="Atención: comparar, dividir, ocultar, softmax, mezclar. Una fila que no puede leer nada recibe pesos 0.",
)
ATTENTION = """
raw = q @ k.T
scaled = raw / (divisor * tau)
masked = scaled.masked_fill(~allowed, -math.inf)
weights = torch.where(allowed.any(1, keepdim=True), torch.softmax(masked, 1), 0.0)
output = weights @ v
"""


def mask_part(mask: str, n: int, lang: str) -> Part:
    """The lines that make `allowed`, (T, T)."""
    return Part(f"{MASK_SAYS[mask](lang)} {MASK_AXES(lang)}", f"allowed = {MASKS[mask].format(n=n)}")


def rows_of(matrix: tuple[tuple[float, ...], ...]) -> str:
    """A matrix as a nested list, a row a line."""
    return "[\n" + "".join(f"    {list(row)},\n" for row in matrix) + "]"


OWN_WRITTEN = Msg(
    en="Your own tensors, each (B, h, T, d): sequences, heads, tokens, channels.",
    es="Sus propios tensores, cada uno (B, h, T, d): secuencias, cabezas, tokens, canales.",
)
OWN_LOADED = Msg(
    en="Your own tensors, each (B, h, T, d): sequences, heads, tokens, channels. Put the file “{file}”, which the page gives "
    "beside this program, into the same folder.",
    es="Sus propios tensores, cada uno (B, h, T, d): secuencias, cabezas, tokens, canales. Ponga en la misma carpeta el archivo "
    "«{file}», que la página da junto a este programa.",
)


def own_part(own: Any, names: str, lang: str) -> Part:
    """The lines that make a viewer's own tensors, each (B, h, T, d) in float32: written out where they are few, else read
    from OWN_FILE. names: which of "qkv"."""
    held = {name: getattr(own, name) for name in names}
    if sum(x.numel() for x in held.values()) > WRITTEN:
        taken = ", ".join(f'given["{name}"]' for name in names)
        return Part(OWN_LOADED(lang, file=OWN_FILE), f'given = torch.load("{OWN_FILE}", weights_only=True)\n{", ".join(names)} = {taken}')
    return Part(OWN_WRITTEN(lang), "\n".join(f"{name} = {_tensor(x)}" for name, x in held.items()))


def _tensor(x: Any) -> str:
    rows = (textwrap.fill(f"[{', '.join(_shortest(row))}],", WIDTH, initial_indent="    ", subsequent_indent="     ") for row in x.flatten(0, 2).tolist())
    return "torch.tensor([\n" + "".join(f"{row}\n" for row in rows) + f"]).reshape{tuple(x.shape)}"


def _shortest(row: Iterable[float]) -> Iterable[str]:
    """Each number in the fewest digits that give the same float32."""
    for x in row:
        written = (float(f"{x:.{digits}g}") for digits in range(1, 10))
        yield repr(next(y for y in written if struct.pack("f", y) == struct.pack("f", x)))
