"""The variance page's program: the table, from the very pairs that the page draws."""

from collections.abc import Mapping
from typing import Any

from qkv_core import scripts
from qkv_core.text import Msg

PAIRS = Msg(
    en="The pairs come in chunks, each from a generator of its own, one coordinate at a time. So the first d coordinates of a pair "
    "are the same whatever the largest d is, and this draws the very numbers of the page (on a CPU).",
    es="Los pares llegan por bloques, cada uno con su propio generador, coordenada a coordenada. Así, las primeras d coordenadas de "
    "un par son las mismas sea cual sea la d mayor, y se generan los mismos números que en la página (en una CPU).",
)
ENTRY = {
    "normal": Msg(en="Entries: normal, of mean 0 and variance 1.", es="Entradas: normales, de media 0 y varianza 1."),
    "uniform": Msg(en="Entries: uniform within ±√3, so of variance 1.", es="Entradas: uniformes en ±√3, luego de varianza 1."),
    "sign": Msg(en="Entries: +1 or −1.", es="Entradas: +1 o −1."),
    "heavy": Msg(
        en="Entries: Laplace of variance 1, far heavier in the tails than the normal.",
        es="Entradas: Laplace de varianza 1, con colas mucho más pesadas que la normal.",
    ),
}
FILL = {
    "normal": "    return torch.empty(*shape).normal_(generator=g)",
    "uniform": "    return torch.empty(*shape).uniform_(-math.sqrt(3), math.sqrt(3), generator=g)",
    "sign": "    return torch.empty(*shape).random_(0, 2, generator=g).mul_(2).sub_(1)",
    "heavy": """    u = torch.empty(*shape).uniform_(-1, 1, generator=g).clamp_(min=-1 + 2**-24)
    return u.abs().neg().log1p() * u.sign() * -math.sqrt(0.5)""",
}
COORDINATES = {
    "plain": Msg(en="q_i and k_i of every pair of a chunk.", es="q_i y k_i de todos los pares de un bloque."),
    "broken": Msg(
        en="q_i and k_i of every pair of a chunk, with the mean μ and the correlation ρ of the settings.",
        es="q_i y k_i de todos los pares de un bloque, con la media μ y la correlación ρ de los ajustes.",
    ),
    "linear": Msg(
        en="q = W_q x + b_q and k = W_k y + b_k of two tokens, with the weights of fresh nn.Linear layers, uniform within ±1/√C.",
        es="q = W_q x + b_q y k = W_k y + b_k de dos tokens, con los pesos de capas nn.Linear nuevas, uniformes en ±1/√C.",
    ),
}
MEASURE = Msg(
    en="q·k grows as a running sum over the coordinates and passes every dₖ of the table on its way; it is summed up there with and "
    "without the division by √dₖ. The known mean is taken off, which keeps float32 exact enough.",
    es="q·k crece como suma acumulada sobre las coordenadas y pasa por cada dₖ de la tabla; allí se suma con y sin la división "
    "por √dₖ. Se resta la media conocida, para que float32 sea bastante exacto.",
)
TABLE = Msg(
    en="The variances, dividing by n − 1, beside theory.",
    es="Las varianzas, dividiendo por n − 1, junto a la teoría.",
)
THEORY = {
    "plain": "d",
    "broken": "d * (1 + 2 * mu**2 * (1 + rho) + rho**2 * (kappa - 2))",
    "linear": "d / 9 * (1 + 2 * bias / C)",
}
KAPPA = {"normal": "3", "uniform": "9 / 5", "sign": "1", "heavy": "6"}
OWN = Msg(
    en="q·k of all pairs of a query and a key of the same head: its variance beside dₖ, beside Var(q) · Var(k) · dₖ, and divided "
    "by dₖ. First over all heads, then for the first heads one by one.",
    es="q·k de todos los pares de una consulta y una clave de la misma cabeza: su varianza junto a dₖ, junto a Var(q) · Var(k) · dₖ "
    "y dividida por dₖ. Primero en todas las cabezas y después en las primeras, una a una.",
)
OWN_ROWS = """
def product(q, k):
    return (q.var(correction=0) * k.var(correction=0) * q.shape[-1]).item()


q, k = q.double().flatten(0, 1), k.double().flatten(0, 1)  # (B h, T, d_k)
d_k = q.shape[-1]
dots = q @ k.mT
variance = dots.var(correction=0).item()
print("own  Var(q.k)  d_k  Var(q) Var(k) d_k  Var(q.k / sqrt(d_k))")
print(f"own  {variance:,.4g}  {d_k:,.4g}  {product(q, k):,.4g}  {variance / d_k:,.4g}")
columns = [[one.var(correction=0).item() for one in dots[:12]], [product(*pair) for pair in zip(q[:12], k[:12])]]
columns.append([x / d_k for x in columns[0]])
for column in columns:  # three decimals where they say the numbers of a column, else powers of ten
    spec = ",.3f" if all(x == 0 or 0.01 <= x < 1e7 for x in column) else ".3e"
    column[:] = [f"{x:{spec}}" for x in column]
for at, row in enumerate(zip(*columns)):
    print(f"{at // heads + 1}, {at % heads + 1}  " + "  ".join(row))
"""


def parts(values: Mapping[str, Any], lang: str, own: Any = None):
    yield from _drawn(values, lang)
    if own is not None:
        yield scripts.own_part(own, "qk", lang)
        yield OWN(lang), "heads = q.shape[1]\n" + OWN_ROWS


def _drawn(values: Mapping[str, Any], lang: str):
    d_ks = sorted({*values["v_ds"], values["d_k"]})
    mu, rho, linear, dist = values["v_mu"], values["v_rho"], values["v_lin"], values["v_dist"]
    n = min(values["v_n"], 100_000) if linear else values["v_n"]
    kind = "linear" if linear else "broken" if mu or rho else "plain"
    more = {
        "plain": "",
        "broken": f"\nmu, rho, kappa = {mu}, {rho}, {KAPPA[dist]}",
        "linear": f"\nC, bias = {values['v_c']}, {values['v_bias']}",
    }[kind]
    yield (
        scripts.SETTINGS(lang),
        f"""import math

import torch

d_ks = {d_ks}
n = {n}
seed = {values["seed"]}{more}""",
    )
    rows = "max(64, 2**20 // C)" if linear else "16_384"
    yield (
        PAIRS(lang),
        f"""chunk = {rows}
sizes = [min(chunk, n - start) for start in range(0, n, chunk)]
seeds = torch.randint(2**32, (1 + len(sizes),), generator=torch.Generator().manual_seed(seed)).tolist()""",
    )
    yield ENTRY[dist](lang), f"def draw(g, *shape):\n{FILL[dist]}"
    yield COORDINATES[kind](lang), _coordinates(kind, mu, rho)
    mean = "\n        dots.sub_(mu**2 + rho)" if kind == "broken" else ""
    yield (
        MEASURE(lang),
        f"""sums = {{(d, arm): torch.zeros(2, dtype=torch.float64) for d in d_ks for arm in ("unscaled", "scaled")}}
for size, chunk_seed in zip(sizes, seeds[1:]):
    dots = torch.zeros(size)
    for d, (q, k) in enumerate(coordinates(torch.Generator().manual_seed(chunk_seed), size), start=1):
        dots.addcmul_(q, k){mean}
        if d in d_ks:
            for arm, x in (("unscaled", dots), ("scaled", dots / d**0.5)):
                sums[d, arm] += torch.stack([x.sum(), x.dot(x)])""",
    )
    yield (
        TABLE(lang),
        f"""print("d_k  theory  Var(q.k)  Var(q.k / sqrt(d_k))")
for d in d_ks:
    theory = {THEORY[kind]}
    two = []
    for arm in ("unscaled", "scaled"):
        total, squares = sums[d, arm].tolist()
        two.append(max(squares - total**2 / n, 0.0) / (n - 1) if n > 1 else math.nan)
    print(f"{{d:,d}}  {{theory:,.2f}}  {{two[0]:,.2f}}  {{two[1]:.4f}}")""",
    )


def _coordinates(kind: str, mu: float, rho: float) -> str:
    if kind == "linear":
        return """last = math.ceil(max(d_ks) / 64) * 64
W = torch.empty(last, 2, C + 1).uniform_(-1 / math.sqrt(C), 1 / math.sqrt(C), generator=torch.Generator().manual_seed(seeds[0]))
W[..., -1] *= bias


def coordinates(g, size):
    x, y = draw(g, C, size), draw(g, C, size)
    for start in range(0, last, 64):
        W_q, W_k = W[start : start + 64].unbind(1)
        yield from zip(W_q[:, :-1] @ x + W_q[:, -1:], W_k[:, :-1] @ y + W_k[:, -1:])"""
    lines = ["def coordinates(g, size):", "    for _ in range(max(d_ks)):", "        q, k = draw(g, size), draw(g, size)"]
    if rho:
        lines.append("        k.mul_(math.sqrt(1 - rho**2)).add_(q, alpha=rho)")
    if mu:
        lines.append("        q.add_(mu), k.add_(mu)")
    return "\n".join([*lines, "        yield q, k"])
