"""The training page's program: "The cat sat" learned in two arms from the same seeds, by plain gradient descent."""

from collections.abc import Mapping
from typing import Any

from qkv_core import scripts
from qkv_core.settings import everything
from qkv_core.text import Msg

MOST_D_K, MOST_RUNS = 256, 256
"""Above these the page itself takes less."""

GIVEN = Msg(en="What each token is, and what its output should become.", es="Lo que es cada token, y en qué debe convertirse su salida.")
START = Msg(
    en="The first weights of every run, N(0, 1/C) from its own seed; W_q, W_k and W_v side by side. Both arms start alike.",
    es="Los primeros pesos de cada entrenamiento, N(0, 1/C) con su propia semilla; W_q, W_k y W_v una junto a otra. Ambos brazos empiezan igual.",
)
TRAIN = Msg(
    en="All seeds of an arm at once: they share nothing, so the gradient of the sum of their losses is that of each.",
    es="Todas las semillas de un brazo a la vez: no comparten nada, así que el gradiente de la suma de sus pérdidas es el de cada una.",
)
LOOP = """
for name, (divisor, tau, lr, size) in arms.items():
    W = start.clone()
    W[:, :, :d_k] *= size
    W.requires_grad_(True)
    solved = torch.zeros(len(W), dtype=torch.bool)
    for step in range(1, steps + 1):
        q, k, v = (X @ part for part in ((1 / (divisor * tau)) * W[:, :, :d_k], W[:, :, d_k : 2 * d_k], W[:, :, 2 * d_k :]))
        masked = (q @ k.mT).masked_fill(~allowed, -math.inf)
        weights = torch.where(allowed.any(1, keepdim=True), torch.softmax(masked, -1), 0.0)
        loss = (weights @ v - target).square().mean((1, 2))
        solved |= loss.detach() < 1e-3
        (gradient,) = torch.autograd.grad(loss.sum(), W)
        with torch.no_grad():
            W -= lr * gradient
        if step in (1, steps):
            decided = (weights.amax(-1) > 0.99)[:, allowed.sum(1) > 1].float().mean().nan_to_num()
            print(f"{name}  step {step}  median loss {loss.quantile(0.5):.4g}  decided rows {decided:.1%}  "
                  f"solved {int(solved.sum())} of {len(W)}")
"""


def parts(values: Mapping[str, Any], lang: str):
    kind = values["tr_kind"] if values["tr_kind"] != "layers" else "scale"
    plain = values["tr_task"] == "cat_sat" and values["tr_opt"] == "sgd" and values["tr_heads"] == 1
    drawn = values["tr_start"] == "random" and not values["tr_beat"] and not any(row[0] for row in values["tr_rates"])
    if not plain or not drawn or kind == "heads":
        return  # these take more than a short program
    d_k = min(values["d_k"], MOST_D_K)
    most = max(4, MOST_RUNS * 64 // max(64, d_k))
    seeds = min(values["tr_seeds"], max(s for s in everything()["tr_seeds"].choices if s <= most))
    first = {"scale": values["scale"], "tau": values["tau"], "lr": values["tr_lr"], "init": values["tr_init"]}
    other = {**first, kind: values[f"tr_b_{kind}"]}
    written = [f"({scripts.DIVISORS[arm['scale']]}, {arm['tau']}, {arm['lr']}, {arm['init']})" for arm in (first, other)]
    yield (
        scripts.SETTINGS(lang),
        f"""import math

import torch

d_k, T, C = {d_k}, 3, 4
d_model = d_k
seeds = range({values["seed"]}, {values["seed"] + seeds})
steps = {values["tr_until"]}
# divisor, tau, learning rate, size of the first W_q
arms = {{
    "A": {written[0]},
    "B": {written[1]},
}}""",
    )
    yield (
        GIVEN(lang),
        f"""X = torch.tensor({scripts.rows_of(everything()["t_x"].default)}, dtype=torch.float32)
target = torch.tensor({scripts.rows_of(values["tr_target"])}, dtype=torch.float32)""",
    )
    yield (
        START(lang),
        """start = torch.stack([
    torch.randn(C, 2 * d_k + C, generator=torch.Generator().manual_seed(seed)) * C**-0.5 for seed in seeds
])""",
    )
    yield scripts.mask_part(values["mask"], 1, lang)
    yield TRAIN(lang), LOOP
