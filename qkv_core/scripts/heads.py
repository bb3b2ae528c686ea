"""The heads page's program: a hand-written head from its rules to its weights."""

from collections.abc import Mapping
from typing import Any

from qkv_core import scripts
from qkv_core.text import Msg

TOKENS = Msg(
    en="Each token as the features that are 1 in it; all others are 0.",
    es="Cada token como los rasgos que valen 1 en él; los demás valen 0.",
)
RULES = Msg(
    en="The head’s rules: a query with the first feature gives a key with the second so many points.",
    es="Las reglas de la cabeza: una consulta con el primer rasgo da tantos puntos a una clave con el segundo.",
)
HEAD = Msg(
    en="Rules as matrices: W_q says which feature asks for which, W_k shows it, times √dₖ, so that the division gives the points back.",
    es="Reglas como matrices: W_q dice qué rasgo pide cuál, W_k lo muestra, por √dₖ, para que la división devuelva los puntos.",
)
BELOW = Msg(
    en="This head stands on another one, whose output is added to what it reads.",
    es="Esta cabeza se apoya en otra, cuya salida se suma a lo que lee.",
)
PAINTED = Msg(en="Cells hidden by hand, (query, key).", es="Celdas ocultas a mano, (consulta, clave).")
LOADED = Msg(
    en="The weights of MiniLM were downloaded, so q, k and v come from the file “PyTorch (.pt)” of this page: put it beside this program.",
    es="Los pesos de MiniLM se descargaron, así que q, k y v vienen del archivo «PyTorch (.pt)» de esta página: póngalo junto a este programa.",
)
LOADED_NET = Msg(
    en="The net was trained in your visit and stands in no link, so q, k, v and the mask come from the file “PyTorch (.pt)” of this page: "
    "put it beside this program.",
    es="La red se entrenó en su visita y no está en ningún enlace, así que q, k, v y la máscara vienen del archivo «PyTorch (.pt)» de esta "
    "página: póngalo junto a este programa.",
)
PRINT = Msg(en="The weights, a row a query, and the chosen row.", es="Los pesos, una fila por consulta, y la fila elegida.")
SHOW = """
print("weights")
for token, line in zip(tokens, weights.tolist()):
    print("  ".join(f"{x:.4f}" for x in line), repr(token))
best = int(weights[row].argmax())
print(f"row {row}: most from {best}, {weights[row, best]:.4f}")
"""
ATTEND = """
def head(X, rules, divisor, tau, writes=None):
    W_q, W_k, W_v = torch.zeros(C, C), torch.zeros(C, C), torch.eye(C)
    for query, key, points in rules:
        W_q[index[query], index[key]] = points
        W_k[index[key], index[key]] = math.sqrt(d_k)
    if writes is not None:
        W_v = torch.zeros(C, C)
        for source, target in writes:
            W_v[index[source], index[target]] = 1.0
    q, k, v = X @ W_q, X @ W_k, X @ W_v
    masked = (q @ k.T / (divisor * tau)).masked_fill(~allowed, -math.inf)
    weights = torch.where(allowed.any(1, keepdim=True), torch.softmax(masked, 1), 0.0)
    return weights, weights @ v
"""
OWN = Msg(
    en="Every head of one sequence, in double precision.",
    es="Todas las cabezas de una secuencia, en doble precisión.",
)
OWN_SHOW = Msg(
    en="A line a head: its mean largest weight, effective keys (exp of the entropy) and mean distance |i − j|. Then the largest weight of "
    "the chosen head.",
    es="Una línea por cabeza: su mayor peso medio, sus claves efectivas (exp de la entropía) y la distancia media |i − j|. Después, el mayor "
    "peso de la cabeza elegida.",
)
OWN_ATTEND = """
masked = (q @ k.mT / (divisor * tau)).masked_fill(~allowed, -math.inf)
weights = torch.where(allowed.any(1, keepdim=True), torch.softmax(masked, 2), 0.0)
"""
OWN_LINES = """
effective = torch.where(allowed.any(1), torch.special.entr(weights).sum(2).exp(), 0.0)
apart = (torch.arange(weights.shape[1])[:, None] - torch.arange(weights.shape[2])).abs()
columns = weights.amax(2).mean(1), effective.mean(1), (weights * apart).sum(2).mean(1)
for h, row in enumerate(zip(*(column.tolist() for column in columns))):
    print(f"head {h + 1}  " + "  ".join(f"{x:.3f}" for x in row))
i, j = divmod(int(weights[head].argmax()), weights.shape[2])
print(f"head {head + 1}: its largest weight is {weights[head].max():.1%}, from query {i + 1} to key {j + 1}")
"""


def parts(values: Mapping[str, Any], lang: str, own: Any = None):
    sentence = tuple(_sentence(values, lang))
    yield from sentence
    if own is not None:
        if not sentence:
            yield scripts.SETTINGS(lang), f"import math\n\nimport torch\n\ntau = {values['tau']}"
        yield from _own(values, lang, own)


def _own(values: Mapping[str, Any], lang: str, own: Any):
    B, h, T, d_k = own.q.shape
    b, head = min(values["h_ob"], B) - 1, min(values["h_oh"], h) - 1
    yield scripts.own_part(own, "qk", lang)
    yield (
        OWN(lang),
        f"""q, k = q[{b}].double(), k[{b}].double()  # (h, T, d_k)
head = {head}
T, d_k, d_model = {T}, {d_k}, {h * d_k}
divisor = {scripts.DIVISORS[values["scale"]]}""",
    )
    if own.square:
        n = {"padding": min(values["h_pad"], T), "window": values["h_win"], "prefix": min(values["h_pre"], T)}.get(values["mask"], 0)
        yield scripts.mask_part(values["mask"], n, lang)
    else:
        yield scripts.MASK_SAYS["none"](lang), f"allowed = torch.ones(T, {own.k.shape[2]}, dtype=torch.bool)"
    yield scripts.ATTENTION_SAYS(lang), OWN_ATTEND
    yield OWN_SHOW(lang), OWN_LINES


def _sentence(values: Mapping[str, Any], lang: str):
    from qkv_core import heads, minilm, sentences, typed

    source, pad = values["h_src"], values["h_pad"]
    if source == "trained":
        yield from _trained(values, lang)
        return
    text = values["h_text"] if source != "hand" else ""
    real = source == "real"
    name = f"{lang}_{values['h_sent']}"
    if real:
        if not minilm.available().ready:
            return
        labels = minilm.pieces(text if text.strip() else sentences.SENTENCES[name].text + ".", pad).written
        below, rules, rows = None, (), ()
    elif source == "typed":
        labels = typed.tokenise(text).words
        pad = min(pad, len(labels))
        found = heads.typed_trace(text, values["h_head"]).head
        if found is None:
            return
        below, rules = None, found.rules
        rows = [[found.features[c] for c in line.nonzero().flatten().tolist()] for line in found.X]
    else:
        labels = (*sentences.SENTENCES[name].tokens, *[sentences.PAD] * pad)
        known = heads.HEADS[values["h_head"]]
        X, _ = heads.embed(name, values["h_head"], pad)
        rows = [[known.features[c] for c in line.nonzero().flatten().tolist()] for line in X]
        below, rules = heads.HEADS["predicate"] if known.layer == 2 else None, known.rules
    T = len(labels)
    if not T:
        return
    d_k, d_model = (minilm.D_K, minilm.D_MODEL) if real else (64, 512)
    yield (
        scripts.SETTINGS(lang),
        f"""import math

import torch

tau = {values["tau"]}
d_k, d_model = {d_k}, {d_model}
divisor = {scripts.DIVISORS[values["scale"]]}
row = {min(values["h_row"], T - 1)}
T = {T}""",
    )
    if real:
        yield LOADED(lang), f'''tokens = {list(labels)!r}
given = torch.load("qkv_heads.pt", weights_only=True)
q, k, v = given["q"], given["k"], given["v"]'''
    else:
        listed = "".join(f"    ({label!r}, {' '.join(names)!r}),\n" for label, names in zip(labels, rows, strict=True))
        yield TOKENS(lang), f"given = [\n{listed}]\ntokens = [token for token, _ in given]"
    n = {"padding": pad, "window": values["h_win"], "prefix": min(values["h_pre"], T)}.get(values["mask"], 0)
    yield scripts.mask_part(values["mask"], n, lang)
    cells = sorted(typed.parse_cells(values["h_cells"], T)) if values["h_paint"] else []
    if cells:
        yield PAINTED(lang), f"for i, j in {cells!r}:\n    allowed[i, j] = False"
    if real:
        yield scripts.ATTENTION_SAYS(lang), scripts.ATTENTION
    else:
        present = {name for names in rows for name in names} | {target for _, target in (below.writes if below else ())}
        yield (
            f"{RULES(lang)} {HEAD(lang)}",
            _rules("rules", rules, present)
            + """
C = 64
names = sorted({name for _, words in given for name in words.split()} | {name for rule in rules for name in rule[:2]})
index = {name: c for c, name in enumerate(names)}
X = torch.zeros(T, C)
for i, (_, words) in enumerate(given):
    X[i, [index[name] for name in words.split()]] = 1.0

"""
            + ATTEND,
        )
        if below:
            writes = [pair for pair in below.writes if {*pair} <= present]
            yield BELOW(lang), f"""{_rules("below", below.rules, present)}
_, written = head(X, below, math.sqrt(d_k), 1.0, {writes!r})
X = X + written"""
        yield scripts.ATTENTION_SAYS(lang), "weights, output = head(X, rules, divisor, tau)"
    yield PRINT(lang), SHOW


def _trained(values: Mapping[str, Any], lang: str):
    yield scripts.SETTINGS(lang), f"import math\n\nimport torch\n\ntau = {values['tau']}"
    yield LOADED_NET(lang), f"""given = torch.load("qkv_heads.pt", weights_only=True)
q, k, v, allowed = given["q"], given["k"], given["v"], given["masked"] > -math.inf
T, d_k = q.shape
d_model = int(given["heads"]) * d_k
divisor = {scripts.DIVISORS[values["scale"]]}
tokens = range(1, T + 1)
row = min({values["h_row"]}, T - 1)"""
    yield scripts.ATTENTION_SAYS(lang), scripts.ATTENTION
    yield PRINT(lang), SHOW


def _rules(name: str, rules: tuple, present: set[str]) -> str:
    """The rules that these tokens can fire."""
    lines = "".join(f"    {tuple(rule)!r},\n" for rule in rules if {rule.query, rule.key} <= present)
    return f"{name} = [\n{lines}]"
