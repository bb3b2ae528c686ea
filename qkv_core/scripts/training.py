"""The training page's program: the task, the net, and the arms, each from the same seeds, as the page trains them."""

from collections.abc import Mapping
from typing import Any

from qkv_core import scripts
from qkv_core.settings import everything
from qkv_core.text import Msg

SETTINGS = Msg(
    en="The settings of the experiment, from step 0 to its first pause, on the CPU. What rounds stands as on the page, so the digits are "
    "the page’s; another machine rounds otherwise, and runs without the scale then drift apart. A learning rate that was moved while it ran "
    "is not here: the page’s link to the run has each change, and a page opened by it shows the program with them until it is played.",
    es="Los ajustes del experimento, del paso 0 a su primera pausa, en la CPU. Se redondea igual que en la página, así que las cifras son "
    "las suyas; otra máquina redondea de otro modo, y los entrenamientos sin escala se separan. No está aquí una tasa de aprendizaje que "
    "se movió durante el entrenamiento: el enlace de la página tiene cada cambio, y la página que se abre con él muestra el programa con "
    "ellos hasta que se inicia.",
)
ROUNDING = Msg(en="as the page rounds, wherever a number lies in memory", es="redondea como la página, dondequiera que esté un número")
FIELDS = {
    "divisor": Msg(en="what the scores are divided by", es="entre qué se dividen las puntuaciones"),
    "tau": Msg(en="the temperature", es="la temperatura"),
    "lr": Msg(en="the learning rate", es="la tasa de aprendizaje"),
    "size": Msg(en="what multiplies the first W_q", es="por cuánto se multiplica la W_q inicial"),
    "h": Msg(en="the heads", es="las cabezas"),
    "layers": Msg(en="the layers", es="las capas"),
}
CAUSAL_TASK = Msg(en="The task itself lets nobody look ahead.", es="La propia tarea no deja mirar hacia delante.")
RATES = Msg(en="Changes of the learning rate: at a step, to these rates.", es="Cambios de la tasa de aprendizaje: en un paso, a estas tasas.")
GIVEN = Msg(en="What each token is, and what its output should become.", es="Lo que es cada token, y en qué debe convertirse su salida.")
START = Msg(
    en="The first weights of a run, N(0, 1/C) from its own seed; W_q, W_k and W_v side by side. All arms start alike.",
    es="Los primeros pesos de un entrenamiento, N(0, 1/C) con su propia semilla; W_q, W_k y W_v una junto a otra. Todos los brazos "
    "empiezan igual.",
)
LESSON = Msg(
    en="The first weights are the lesson’s own matrices W_q, W_k and W_v, side by side.",
    es="Los primeros pesos son las matrices W_q, W_k y W_v de la lección, una junto a otra.",
)
TASKS = {
    "reverse": Msg(
        en="Eight letters; the answer at each place is the letter at the opposite one.",
        es="Ocho letras; la respuesta en cada lugar es la letra del lugar opuesto.",
    ),
    "key_value": Msg(
        en="Six different letters with a digit each, then one of them again: which digit stood with it?",
        es="Seis letras distintas con un dígito cada una y luego una de ellas: ¿qué dígito la acompañaba?",
    ),
    "look_up": Msg(
        en="Nine different letters, then one of them again: which letter came after it?",
        es="Nueve letras distintas y luego una de ellas otra vez: ¿qué letra la seguía?",
    ),
    "agreement": Msg(
        en="“this key near the cats …”, with words as numbers: 0 to 7 nouns (from 4 on plural), 8 this, 9 these, 10 to 12 of, near, behind, "
        "13 the, 14 is, 15 are, 16 the end. The verb follows the first noun.",
        es="«this key near the cats …», con las palabras como números: 0 a 7 nombres (desde 4, plurales), 8 this, 9 these, 10 a 12 of, near, "
        "behind, 13 the, 14 is, 15 are, 16 el final. El verbo sigue al primer nombre.",
    ),
}
BATCHES = Msg(
    en="Batches of 16 steps are drawn together. A token is a row with 1 for each of its symbols and 1 for its place.",
    es="Los lotes de 16 pasos se sortean juntos. Un token es una fila con 1 en cada uno de sus símbolos y 1 en su lugar.",
)
START_NET = Msg(
    en="The first weights of a run from its own seed: what stands for each symbol and place, what reads the answer off, and W_q, W_k and "
    "W_v of each layer side by side.",
    es="Los primeros pesos de un entrenamiento con su propia semilla: lo que representa cada símbolo y lugar, lo que lee la respuesta, y "
    "W_q, W_k y W_v de cada capa una junto a otra.",
)
NET = Msg(
    en="The net: each layer adds its attention to what it read, and the last one asks only for the tokens that must answer. The first "
    "layer reads (hot W_in) W as hot (W_in W), in half the time. A row is decided when one weight is above 0.99; a row with a single key "
    "does not count.",
    es="La red: cada capa suma su atención a lo que leyó, y la última solo pregunta por los tokens que deben responder. La primera capa "
    "lee (hot W_in) W como hot (W_in W), en la mitad de tiempo. Una fila está decidida cuando un peso supera 0,99; una fila con una sola "
    "clave no cuenta.",
)
ATTENTION = Msg(
    en="One attention. A row is decided when one weight is above 0.99; a row with a single key does not count.",
    es="Una atención. Una fila está decidida cuando un peso supera 0,99; una fila con una sola clave no cuenta.",
)
TRAIN = Msg(
    en="All seeds of an arm at once: they share nothing, so the gradient of the sum of their losses is that of each. A run whose loss is no "
    "longer finite stops. Printed are the medians over the runs that are finite, in the first step and the last, and how many runs are solved.",
    es="Todas las semillas de un brazo a la vez: no comparten nada, así que el gradiente de la suma de sus pérdidas es el de cada una. Un "
    "entrenamiento cuya pérdida deja de ser finita se detiene. Se imprimen las medianas de los finitos, en el primer paso y en el último, y "
    "cuántos están resueltos.",
)
ADAM_SAYS = Msg(
    en="Adam follows the mean of the gradients over the root of the mean of their squares, both corrected for their start at 0.",
    es="Adam sigue la media de los gradientes entre la raíz de la media de sus cuadrados, ambas corregidas por su inicio en 0.",
)
SOLVED = {
    True: Msg(en="Solved: a loss below 0.001.", es="Resuelto: una pérdida menor que 0,001."),
    False: Msg(
        en="Solved: on average 95 % right over 8 batches in a row.",
        es="Resuelto: una media de 95 % de aciertos en 8 lotes seguidos.",
    ),
}

DRAWS = {
    "reverse": """
    letters = torch.randint(8, (n, 8), generator=g)
    return one_hot(letters, symbols), letters.flip(1)""",
    "key_value": """
    keys = torch.rand(n, 8, generator=g).argsort(1)[:, :6]
    digits = 8 + torch.randint(10, (n, 6), generator=g)
    asked = torch.randint(6, (n, 1), generator=g)
    slots = one_hot(keys, symbols) + one_hot(digits, symbols)
    return torch.cat((slots, one_hot(keys.gather(1, asked), symbols)), 1), digits.gather(1, asked)""",
    "look_up": """
    letters = torch.rand(n, 16, generator=g).argsort(1)[:, :9]
    asked = torch.randint(8, (n, 1), generator=g)
    return one_hot(torch.cat((letters, letters.gather(1, asked)), 1), symbols), letters.gather(1, asked + 1)""",
    "agreement": """
    nouns = torch.randint(8, (n, 2), generator=g)
    between = 10 + torch.randint(3, (n,), generator=g)
    many = (nouns[:, 0] >= 4).long()
    words = (8 + many, nouns[:, 0], between, torch.full((n,), 13), nouns[:, 1], torch.full((n,), 16))
    return one_hot(torch.stack(words, 1), symbols), 14 + many[:, None]""",
}
BATCHES_CODE = """
one_hot = torch.nn.functional.one_hot

def draw(g, n):{draw}

def block_of(seed, block):
    g = torch.Generator().manual_seed((seed * 0x9E3779B97F4A7C15 + (block + 2) * 0xBF58476D1CE4E5B9) % 2**63)
    hot, target = draw(g, 16 * batch)
    place = torch.eye(T).expand(len(hot), T, T)
    return torch.cat((hot, place), 2).view(16, batch * T, symbols + T), target.view(16, batch, answers)
"""
START_NET_CODE = """
def first_weights(seed, size, h, layers):
    g = torch.Generator().manual_seed(seed)
    W = [torch.randn(symbols + T, C, generator=g) * 2**-0.5, torch.randn(C, symbols, generator=g) * C**-0.5]
    for _ in range(layers):
        W.append(torch.randn(C, 2 * h * d_k + C, generator=g) * C**-0.5)
        W[-1][:, :h * d_k] *= size
    return W
"""
NET_CODE = """
def net(W, hot, factor, h):
    (W_in, W_out, *W), decided = W, 0.0
    x = hot @ W_in
    for layer, W_qkv in enumerate(W):
        rows = answers if layer == len(W) - 1 else T
        read, W_qkv = (hot, W_in @ W_qkv) if layer == 0 else (x, W_qkv)
        asked = read.view(S, batch, T, -1)[:, :, -rows:].flatten(1, 2)
        W_q, W_k, W_v = W_qkv.split((h * d_k, h * d_k, C), 2)
        q, k, v = asked @ (factor * W_q), read @ W_k, read @ W_v
        q, k, v = (part.view(S, batch, -1, h, part.shape[2] // h).transpose(2, 3) for part in (q, k, v))
        weights = torch.softmax((q @ k.mT).masked_fill(~allowed[-rows:], -math.inf), 4)  # (S, batch, h, rows, T)
        mixed = (weights @ v).transpose(2, 3).flatten(3)
        x = (x.view(S, batch, T, C)[:, :, -rows:] + mixed).flatten(1, 2)
        counts = (allowed[-rows:].sum(1) > 1).float()
        decided = decided + ((weights.amax(4) > 0.99).float().mean((1, 2)) * (counts / counts.sum() / len(W))).sum(1)
    return (x @ W_out).view(S, batch, answers, symbols), decided
"""
START_CODE = """
def first_weights(seed, size, h):
    W = torch.randn(C, 2 * h * d_k + C, generator=torch.Generator().manual_seed(seed)) * C**-0.5
    W[:, :h * d_k] *= size
    return [W]
"""
ATTENTION_CODE = """
def net(W, X, factor, h):
    W_q, W_k, W_v = W[0].split((h * d_k, h * d_k, C), 2)
    q, k, v = X @ (factor * W_q), X @ W_k, X @ W_v
    q, k, v = (part.view(S, T, h, -1).transpose(1, 2) for part in (q, k, v))
    weights = torch.softmax((q @ k.mT).masked_fill(~allowed, -math.inf), 3)  # (S, h, T, T)
    counts = (allowed.sum(1) > 1).float()
    decided = ((weights.amax(3) > 0.99).float().mean(1) * (counts / counts.sum())).sum(1)
    return (weights @ v).transpose(1, 2).flatten(2), decided
"""
BEGIN = """
S = len(seeds)
for name, ({fields}) in arms.items():
    W = [torch.stack(w).requires_grad_() for w in zip(*({start}))]
    alive, solved = torch.ones(S, dtype=torch.bool), torch.zeros(S, dtype=torch.bool)
    for step in range(steps):
"""
NEXT_BATCH = """
        if step % 16 == 0:
            hot, target = (torch.stack(part, 1) for part in zip(*(block_of(seed, step // 16) for seed in seeds)))
        answer, decided = net(W, hot[step % 16], 1 / (divisor * tau), h)
        wanted = target[step % 16]
        loss = torch.nn.functional.cross_entropy(answer.flatten(0, 2), wanted.flatten(), reduction="none").view(S, -1).mean(1)
        right.append(torch.where(alive, (answer.argmax(3) == wanted).float().mean((1, 2)), math.nan))
        if step >= 7:
            solved |= torch.stack(right[-8:]).mean(0) >= 0.95
"""
GIVEN_LOSS = """
        answer, decided = net(W, X.expand(S, T, C), 1 / (divisor * tau), h)
        loss = (answer - target).square().mean((1, 2))
        solved |= alive & (loss < 1e-3)
"""
GRADIENT = """
        gradients = torch.autograd.grad(loss.sum(), W)
        finite = alive & (sum(g.sum((1, 2)) for g in gradients) + loss.detach()).isfinite()
        if step in (0, steps - 1):
            middle = lambda x: torch.where(alive & x.isfinite(), x, math.nan).nanquantile(0.5)
            print(f"{{name}}  step {{step + 1}}  loss {{middle(loss):.4g}}  decided rows {{middle(decided):.0%}}  "{accuracy}
                  f"solved {{int(solved.sum())}} of {{S}}  diverged {{int((~finite).sum())}}")
        alive = finite
"""
ACCURACY = """
                  f"right {middle(right[-1]):.0%}  \""""
SGD = """
        with torch.no_grad():
            for w, g in zip(W, gradients):
                w.add_(torch.where(alive[:, None, None], g, 0.0), alpha=-lr)
"""
ADAM = """
        pace, spread = torch.tensor(lr) * torch.tensor(1 / (1 - 0.9**(step + 1))), (1 - 0.999**(step + 1))**-0.5
        with torch.no_grad():
            for w, g, mean, square in zip(W, gradients, means, squares):
                mean.lerp_(g, 0.1)
                square.mul_(0.999).addcmul_(g, g, value=0.001)
                w -= torch.where(alive[:, None, None], mean * pace / (square.sqrt() * spread + 1e-8), 0.0)
"""


def parts(values: Mapping[str, Any], lang: str):
    from qkv_core.experiment import CAT_SAT, own
    from qkv_core.plan import plan, rate_changes

    c = plan(values).config
    plain, lesson, adam = c.task == CAT_SAT, c.start == "lesson", c.optimizer == "adam"
    nets = [c.net(arm) for arm in c.arms]
    fields = {"divisor": [_divisor(arm.scale, net.heads) for arm, net in zip(c.arms, nets)]}
    fields["tau"] = [own(arm.tau, c.tau) for arm in c.arms]
    fields["lr"] = [own(arm.lr, c.lr) for arm in c.arms]
    if not lesson:
        fields["size"] = [own(arm.init_size, c.init_size) for arm in c.arms]
    fields["h"] = [net.heads for net in nets]
    if not plain:
        fields["layers"] = [net.layers for net in nets]
    rows = "".join(f'    "{name}": ({", ".join(map(str, row))}),\n' for name, row in zip("ABC", zip(*fields.values())))
    yield (
        f"{SETTINGS(lang)}\n{', '.join(fields)}: {', '.join(FIELDS[name](lang) for name in fields)}.",
        f"""import math
import os

os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")  # {ROUNDING(lang)}
import torch

d_k = {c.d_k}
{_sizes(c, nets[0])}
seeds = range({c.seeds[0]}, {c.seeds[-1] + 1})
steps = {min(values["tr_until"], c.max_steps)}
arms = {{
{rows}}}""",
    )
    changes = rate_changes(values, len(c.arms))
    if changes:
        yield RATES(lang), "changes = {\n" + "".join(
            f'    "{name}": {{{", ".join(f"{at}: {rates[i]}" for at, rates in changes)}}},\n' for i, name in enumerate("ABC"[: len(c.arms)])
        ) + "}"
    if plain:
        yield GIVEN(lang), f"""X = torch.tensor({scripts.rows_of(everything()["t_x"].default)}, dtype=torch.float32)
target = torch.tensor({scripts.rows_of(values["tr_target"])}, dtype=torch.float32)"""
    else:
        yield f"{TASKS[c.task](lang)} {BATCHES(lang)}", BATCHES_CODE.format(draw=DRAWS[c.task])
    if lesson:
        yield LESSON(lang), "\n".join(f"W_{x} = torch.tensor({scripts.rows_of(everything()[f't_w{x}'].default)})" for x in "qkv")
    else:
        yield (START if plain else START_NET)(lang), START_CODE if plain else START_NET_CODE
    ahead = not plain and nets[0].task.causal
    said, code = scripts.mask_part("causal" if ahead and c.mask == "none" else c.mask, 1, lang)
    if ahead and c.mask not in ("none", "causal"):
        code += f"\nallowed &= {scripts.MASKS['causal']}"
    yield f"{said} {CAUSAL_TASK(lang)}" if ahead else said, code
    yield (ATTENTION if plain else NET)(lang), ATTENTION_CODE if plain else NET_CODE
    start = "[torch.cat((W_q, W_k, W_v), 1)] for seed in seeds" if lesson else f"first_weights(seed, {', '.join(list(fields)[3:])}) for seed in seeds"
    begin = BEGIN.format(fields=", ".join(fields), start=start).rstrip("\n")
    if not plain:
        begin = _after(begin, "    alive", "    right = []")
    if adam:
        begin = _after(begin, "    alive", "    means, squares = [torch.zeros_like(w) for w in W], [torch.zeros_like(w) for w in W]")
    if changes:
        begin += "\n        lr = changes[name].get(step, lr)"
    pieces = (begin, GIVEN_LOSS if plain else NEXT_BATCH, GRADIENT.format(accuracy="" if plain else ACCURACY), ADAM if adam else SGD)
    yield f"{TRAIN(lang)} {SOLVED[plain](lang)}" + (f" {ADAM_SAYS(lang)}" if adam else ""), "\n".join(piece.strip("\n") for piece in pieces)


def _divisor(scale: Any, heads: int) -> str:
    return f"math.sqrt({heads} * d_k)" if scale == "sqrt_dmodel" else scripts.DIVISORS[scale]


def _sizes(config: Any, net: Any) -> str:
    if net.task is None:
        return "T, C = 3, 4"
    return f"T, C, symbols, answers, batch = {net.T}, {net.C}, {len(net.task.vocabulary)}, {net.answers}, {config.batch}"


def _after(code: str, begins: str, line: str) -> str:
    """Code with a line put behind the one that begins so."""
    at = code.index("\n", code.index(begins))
    return f"{code[:at]}\n{line}{code[at:]}"
