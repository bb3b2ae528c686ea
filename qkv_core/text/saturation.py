"""The words of the saturation page. Its sentences are chosen and filled by what was computed."""

from __future__ import annotations

import math
from typing import Any

from qkv_core.text import Msg, number

QUESTION = Msg(en="Why is a large q·k bad?", es="¿Por qué es malo un q·k grande?")
SOURCE = Msg(
    en="Vaswani et al. (2017), “Attention Is All You Need”, section 3.2.1: “regions where it has extremely small gradients”.",
    es="Vaswani et al. (2017), «Attention Is All You Need», sección 3.2.1: «regiones donde los gradientes son muy pequeños».",
)

# The answer

SPREAD = Msg(
    en="At dₖ = {d_k:,d}, **q · k** spreads with a standard deviation of **{std:.1f}** over {n:,d} draws (theory: "
    "√{d_k:,d} = {theory:.1f}).",
    es="Con dₖ = {d_k:,d}, **q · k** tiene una desviación típica de **{std:.1f}** en {n:,d} extracciones (teoría: "
    "√{d_k:,d} = {theory:.1f}).",
)
ALIKE = Msg(
    en="√dₖ is {root:g} here, so dividing changes nothing: the :yellow[softmax] gives at most **{peak:.1%}** of this row "
    "to one key, and its Jacobian norm is **{norm:.3f}**. Move dₖ up.",
    es="Aquí √dₖ vale {root:g}, así que dividir no cambia nada: el :yellow[softmax] da como máximo un **{peak:.1%}** de esta "
    "fila a una clave, y la norma de su jacobiano es **{norm:.3f}**. Suba dₖ.",
)
CERTAIN = Msg(
    en="{undivided}, the :yellow[softmax] gives **{peak:.1%}** of this row to one key, and a row that certain hardly moves: "
    "the norm of its Jacobian is **{norm}**, {times} times smaller than the {other} it has after dividing by "
    "√dₖ = {root:.1f}.",
    es="{undivided}, el :yellow[softmax] da un **{peak:.1%}** de esta fila a una sola clave, y una fila tan segura apenas se "
    "mueve: la norma de su jacobiano es **{norm}**, {times} veces menor que la de {other} que tiene al dividir por "
    "√dₖ = {root:.1f}.",
)
LESS = Msg(
    en="{undivided}, the :yellow[softmax] gives **{peak:.1%}** of this row to one key, and the row moves less: the norm of "
    "its Jacobian is **{norm}**, {ratio:.1%} of the {other} it has after dividing by √dₖ = {root:.1f}.",
    es="{undivided}, el :yellow[softmax] da un **{peak:.1%}** de esta fila a una sola clave, y la fila se mueve menos: la "
    "norma de su jacobiano es **{norm}**, un {ratio:.1%} de la de {other} que tiene al dividir por √dₖ = {root:.1f}.",
)
MORE = Msg(
    en="{undivided}, the :yellow[softmax] gives **{peak:.1%}** of this row to one key, and yet the row still moves well: the "
    "norm of its Jacobian is **{norm}**, against {other} after dividing by √dₖ = {root:.1f}. The curves below show what happens on average.",
    es="{undivided}, el :yellow[softmax] da un **{peak:.1%}** de esta fila a una sola clave, y aun así la fila se mueve bien: "
    "la norma de su jacobiano es **{norm}**, frente a {other} al dividir por √dₖ = {root:.1f}. Las curvas de abajo muestran lo que ocurre en promedio.",
)
UNDIVIDED = Msg(en="Not divided", es="Sin dividir")
UNDIVIDED_TAU = Msg(en="Not divided, at τ = {tau:.2f}", es="Sin dividir y con τ = {tau:.2f}")
HARDLY = 0.25
"""Below this share of the other arm's Jacobian norm, a row is said to hardly move."""
MANY = 10**6
SHARE = Msg(en="{value:.0%}", es="el {value:.0%}")
LESS_THAN = Msg(en="less than {limit:.1%}", es="menos del {limit:.1%}")
MORE_THAN = Msg(en="more than {n:,d}", es="más de {n:,d}")

# One row

KEYS = Msg(en="Keys n", es="Claves n")
KEYS_HELP = Msg(
    en="How many keys the query is compared with, in every picture of this page.",
    es="Con cuántas claves se compara la consulta, en todas las figuras de esta página.",
)
TRIALS = Msg(en="Trials", es="Repeticiones")
TRIALS_HELP = Msg(
    en="Over how many queries, each with its own keys, the curves are averaged. More trials, narrower bands.",
    es="Sobre cuántas consultas, cada una con sus claves, se promedian las curvas. Más repeticiones, bandas más estrechas.",
)
ROW = Msg(en="One query, {n} keys", es="Una consulta, {n} claves")
KEY = Msg(en="key", es="clave")
WEIGHT = Msg(en="weight", es="peso")
NOT_DIVIDED = Msg(en="not divided", es="sin dividir")
DIVIDED = {
    "sqrt_dk": Msg(en="÷ √dₖ", es="÷ √dₖ"),
    "none": NOT_DIVIDED,
    "dk": Msg(en="÷ dₖ", es="÷ dₖ"),
    "sqrt_dmodel": Msg(en="÷ √d_model", es="÷ √d_model"),
}
"""What each scale does to the scores, short enough for a legend."""
DIVISORS = {
    "sqrt_dk": Msg(en="√dₖ", es="√dₖ"),
    "none": Msg(en="1", es="1"),
    "dk": Msg(en="dₖ", es="dₖ"),
    "sqrt_dmodel": Msg(en="√d_model", es="√d_model"),
}
MARKS = {"unscaled": "■", "scaled": "●", "other": "◆"}
PEAK_LABEL = Msg(en="key {key}: {weight}", es="clave {key}: {weight}")
ROW_SAYS = Msg(
    en="Weights of one query over {n} keys at dₖ = {d_k}, τ = {tau:.2f}. Key {key} fits best; it gets {parts}.",
    es="Pesos de una consulta sobre {n} claves con dₖ = {d_k}, τ = {tau:.2f}. La clave {key} es la que mejor encaja; recibe "
    "{parts}.",
)
ROW_PART = Msg(en="{peak:.1%} {how}", es="un {peak:.1%} {how}")
LAST_PART = Msg(en="{parts} and {last}", es="{parts} y {last}")
NUMBERS = Msg(en="In numbers", es="En números")
MEASURE = Msg(en="this row", es="esta fila")
MEASURES = {
    "peak": Msg(en="Largest weight", es="Peso mayor"),
    "entropy": Msg(en="Entropy H (share of ln n)", es="Entropía H (parte de ln n)"),
    "effective": Msg(en="Effective keys (exp H)", es="Claves efectivas (exp H)"),
    "jacobian": Msg(en="Jacobian norm", es="Norma del jacobiano"),
}
LEAST = 1e-4
TINY = Msg(en="< {limit:.4f}", es="< {limit:.4f}")
NAMED = Msg(en="{name} = {value:.4g}", es="{name} = {value:.4g}")
CHOSEN = Msg(
    en="In bold: the divisor in the settings, {divisor}.",
    es="En negrita: el divisor de los ajustes, {divisor}.",
)
ROW_COLUMNS = {
    "arm": (Msg(en="arm", es="caso"), ""),
    "place": (KEY, ",d"),
    "weight": (WEIGHT, ".6f"),
}
CHECKS = {
    "kernel": Msg(en="PyTorch’s attention", es="atención de PyTorch"),
    "jacobian": Msg(en="Jacobian by autograd", es="jacobiano por autograd"),
    "norm": Msg(en="Jacobian norm", es="norma del jacobiano"),
    "sums": Msg(en="row sums", es="sumas de fila"),
    "same": Msg(en="τ · divisor", es="τ · divisor"),
    "draw": Msg(en="curves and divisor table", es="curvas y tabla de divisores"),
}

# The curves

CURVES = Msg(en="The same for every key size", es="Lo mismo para cada tamaño de clave")
CURVES_LEAD = Msg(
    en="Means over {trials:,d} queries with {n} keys each, seed {seed}, τ = {tau:.2f}. Bands: {level:.0%} intervals of the mean. "
    "The upright line is your dₖ.",
    es="Medias de {trials:,d} consultas con {n} claves cada una, semilla {seed}, τ = {tau:.2f}. Bandas: intervalos del {level:.0%} "
    "de la media. La línea vertical es su dₖ.",
)
D_K = Msg(en="key size dₖ", es="tamaño de clave dₖ")
TAU = Msg(en="temperature τ", es="temperatura τ")
CURVE_SAYS = Msg(
    en="At dₖ = {at:,d}: **{u}** not divided, **{s}** divided. From left to right: {u_first} → {u_last} and {s_first} → {s_last}.",
    es="Con dₖ = {at:,d}: **{u}** sin dividir, **{s}** dividido. De izquierda a derecha: {u_first} → {u_last} y "
    "{s_first} → {s_last}.",
)
FORMATS = {"peak": ".3f", "entropy": ".3f", "effective": ".2f", "jacobian": ".3f"}
ARM = Msg(en="arm", es="caso")
_TABLE = {
    "peak": (MEASURES["peak"], ".4f"),
    "peak_low": (Msg(en="from", es="desde"), ".4f"),
    "peak_high": (Msg(en="to", es="hasta"), ".4f"),
    "entropy": (MEASURES["entropy"], ".4f"),
    "entropy_low": (Msg(en="from", es="desde"), ".4f"),
    "entropy_high": (Msg(en="to", es="hasta"), ".4f"),
    "effective": (MEASURES["effective"], ".3f"),
    "effective_low": (Msg(en="from", es="desde"), ".3f"),
    "effective_high": (Msg(en="to", es="hasta"), ".3f"),
    "jacobian": (MEASURES["jacobian"], ".4f"),
    "jacobian_low": (Msg(en="from", es="desde"), ".4f"),
    "jacobian_high": (Msg(en="to", es="hasta"), ".4f"),
    "n": (TRIALS, ",d"),
}
CURVE_COLUMNS = {"d_k": (Msg(en="dₖ", es="dₖ"), ",d"), "arm_name": (ARM, ""), **_TABLE}
TAU_COLUMNS = {"tau": (Msg(en="τ", es="τ"), ".3f"), "arm_name": (ARM, ""), **_TABLE}

# What to notice: which sentence is said follows the curve

NOTICE = Msg(en="What to notice", es="En qué fijarse")
FALLS = Msg(en="falls", es="baja")
COLLAPSES = Msg(en="collapses", es="se desploma")
RISE_FALL = Msg(
    en="Not divided, the Jacobian norm first **rises**, from {first:.3f} at dₖ = {first_d:,d} to {top:.3f} at "
    "dₖ = {top_d:,d}, and then **{down}** to {last} at dₖ = {last_d:,d}: {ratio} of its top.",
    es="Sin dividir, la norma del jacobiano primero **sube**, de {first:.3f} con dₖ = {first_d:,d} a {top:.3f} con "
    "dₖ = {top_d:,d}, y después **{down}** hasta {last} con dₖ = {last_d:,d}: {ratio} de su máximo.",
)
ONLY_FALL = Msg(
    en="Not divided, the Jacobian norm is highest, {top:.3f}, at dₖ = {top_d:,d}, and **{down}** from there to {last} "
    "at dₖ = {last_d:,d}: {ratio} of its top. No rise shows.",
    es="Sin dividir, la norma del jacobiano es máxima, {top:.3f}, con dₖ = {top_d:,d}, y desde ahí **{down}** hasta "
    "{last} con dₖ = {last_d:,d}: {ratio} de su máximo. No se ve ninguna subida.",
)
RISE_UNSURE = Msg(
    en="Not divided, the Jacobian norm **{down}** from {top:.3f} at dₖ = {top_d:,d} to {last} at dₖ = {last_d:,d}: "
    "{ratio} of its top. Before that, the mean goes up from {first:.3f}, but within the intervals of {trials:,d} trials.",
    es="Sin dividir, la norma del jacobiano **{down}** de {top:.3f} con dₖ = {top_d:,d} a {last} con dₖ = {last_d:,d}: "
    "{ratio} de su máximo. Antes la media crece desde {first:.3f}, pero dentro de los intervalos de {trials:,d} "
    "repeticiones.",
)
ONLY_RISE = Msg(
    en="Not divided, the Jacobian norm **rises** from {first:.3f} at dₖ = {first_d:,d} to {top:.3f} at dₖ = {top_d:,d}; "
    "up to dₖ = {last_d:,d} no fall shows beyond the intervals.",
    es="Sin dividir, la norma del jacobiano **sube** de {first:.3f} con dₖ = {first_d:,d} a {top:.3f} con dₖ = {top_d:,d}; "
    "hasta dₖ = {last_d:,d} no se ve una bajada más allá de los intervalos.",
)
NO_CHANGE = Msg(
    en="Not divided, the Jacobian norm goes from {first:.3f} to {last}; with {trials:,d} trials the intervals overlap, "
    "so neither a rise nor a fall shows.",
    es="Sin dividir, la norma del jacobiano va de {first:.3f} a {last}; con {trials:,d} repeticiones los intervalos se "
    "solapan, así que no se ve ni subida ni bajada.",
)
PEAK_OVER = Msg(
    en="The largest weight goes from {first:.1%} to {last:.1%}; it first passes {limit:.0%} at dₖ = {over:,d}. "
    "The entropy left at dₖ = {last_d:,d} is {entropy:.1%} of ln n.",
    es="El peso mayor va del {first:.1%} al {last:.1%}; supera por primera vez el {limit:.0%} con dₖ = {over:,d}. "
    "La entropía que queda con dₖ = {last_d:,d} es un {entropy:.1%} de ln n.",
)
PEAK_UNDER = Msg(
    en="The largest weight goes from {first:.1%} to {last:.1%} and never passes {limit:.0%}. The entropy left at "
    "dₖ = {last_d:,d} is {entropy:.1%} of ln n.",
    es="El peso mayor va del {first:.1%} al {last:.1%} y nunca supera el {limit:.0%}. La entropía que queda con "
    "dₖ = {last_d:,d} es un {entropy:.1%} de ln n.",
)
STEADY = Msg(
    en="Divided by √dₖ, the norm stays between {low:.3f} and {high:.3f} and the largest weight between {peak_low:.1%} and "
    "{peak_high:.1%}, for every dₖ here.",
    es="Al dividir por √dₖ, la norma se queda entre {low:.3f} y {high:.3f}, y el peso mayor entre {peak_low:.1%} y "
    "{peak_high:.1%}, para todos los dₖ de aquí.",
)
TIMES = Msg(
    en="At dₖ = {last_d:,d} a divided row has **{times} times** the Jacobian norm of an undivided one. The gradient that "
    "reaches q and k is multiplied by that Jacobian.",
    es="Con dₖ = {last_d:,d}, una fila dividida tiene **{times} veces** la norma del jacobiano de una sin dividir. El "
    "gradiente que llega a q y k se multiplica por ese jacobiano.",
)

# The temperature

TEMPERATURE = Msg(en="The temperature pulls the same lever", es="La temperatura mueve la misma palanca")
TEMPERATURE_LEAD = Msg(
    en="At dₖ = {d_k:,d}, the dashed curve is the solid one moved right by a factor of √dₖ = {root:.4g}. Shaded: the "
    "lesson’s range of τ, {low:.1f} to {high:.1f}. The upright line is your τ.",
    es="Con dₖ = {d_k:,d}, la curva discontinua es la continua desplazada a la derecha por un factor √dₖ = {root:.4g}. "
    "Sombreado: los τ de la lección, de {low:.1f} a {high:.1f}. La línea vertical es su τ.",
)
TEMPERATURE_ALIKE = Msg(
    en="At dₖ = {d_k:,d}, √dₖ = {root:.4g}, and the two curves are one. Shaded: the lesson’s range of τ, {low:.1f} to "
    "{high:.1f}. The upright line is your τ.",
    es="Con dₖ = {d_k:,d}, √dₖ = {root:.4g}, y las dos curvas son una. Sombreado: los τ de la lección, de {low:.1f} a "
    "{high:.1f}. La línea vertical es su τ.",
)
TAU_SAYS = Msg(
    en="At τ = {at:.2f}: **{u}** not divided, **{s}** divided. From left to right: {u_first} → {u_last} and {s_first} → {s_last}.",
    es="Con τ = {at:.2f}: **{u}** sin dividir, **{s}** dividido. De izquierda a derecha: {u_first} → {u_last} y "
    "{s_first} → {s_last}.",
)

SAME = Msg(en="τ · √dₖ is one number", es="τ · √dₖ es un solo número")
SAME_LEAD = Msg(
    en="Divide by √dₖ = {root:.4g} at τ = {tau:.2f}, or don’t divide and set τ = {hot:.4g}: the product is **{product:.4g}** "
    "both times, and the weights of the row are the same.",
    es="Divida por √dₖ = {root:.4g} con τ = {tau:.2f}, o no divida y ponga τ = {hot:.4g}: el producto es **{product:.4g}** "
    "en ambos casos, y los pesos de la fila son los mismos.",
)
SAME_SAYS = Msg(
    en="Both settings side by side over the same {n} keys; the largest difference between two stems is {difference}. "
    "Leaving the scale out is a temperature of 1/√dₖ = {cold:.3g}.",
    es="Los dos ajustes, lado a lado, sobre las mismas {n} claves; la mayor diferencia entre dos pesos es {difference}. "
    "Quitar la escala equivale a una temperatura de 1/√dₖ = {cold:.3g}.",
)
SAME_ARMS = {
    "scaled": Msg(en="÷ √dₖ, at τ", es="÷ √dₖ, con τ"),
    "unscaled": Msg(en="not divided, at τ·√dₖ", es="sin dividir, con τ·√dₖ"),
}

# The four divisors

LAB = Msg(en="Which divisor?", es="¿Qué divisor?")
LAB_LEAD = Msg(
    en="The same draw, divided four ways. With {heads} heads, d_model = {heads} × {d_k:,d} = {d_model:,d}. The scores that "
    "spread closest to 1 are those divided by **{nearest}**: {std:.2f}.",
    es="El mismo sorteo, dividido de cuatro maneras. Con {heads} cabezas, d_model = {heads} × {d_k:,d} = {d_model:,d}. Las "
    "puntuaciones con desviación más próxima a 1 son las divididas por **{nearest}**: {std:.2f}.",
)
LAB_LEAD_ONE = Msg(
    en="The same draw, divided four ways. With one head, d_model = dₖ = {d_model:,d}. The scores that spread closest to 1 "
    "are those divided by **{nearest}**: {std:.2f}.",
    es="El mismo sorteo, dividido de cuatro maneras. Con una cabeza, d_model = dₖ = {d_model:,d}. Las puntuaciones con "
    "desviación más próxima a 1 son las divididas por **{nearest}**: {std:.2f}.",
)
LAB_SAYS = Msg(
    en="Your divisor, {divisor}, gives a standard deviation of **{std:.3g}** (theory {theory:.3g}) and a largest "
    "weight of **{peak:.1%}** on average; {n} equal weights would be {even:.1%} each. Large dot: your divisor. Upright "
    "tick: theory.",
    es="Su divisor, {divisor}, da una desviación típica de **{std:.3g}** (teoría {theory:.3g}) y un peso mayor del "
    "**{peak:.1%}** en promedio; {n} pesos iguales serían del {even:.1%} cada uno. Punto grande: su divisor. Raya vertical: "
    "teoría.",
)
STD = Msg(en="standard deviation of the scores", es="desviación típica de las puntuaciones")
LAB_HEAD = (
    Msg(en="divisor", es="divisor"),
    Msg(en="value", es="valor"),
    Msg(en="std of scores", es="desv. típica"),
    Msg(en="largest weight", es="peso mayor"),
    Msg(en="entropy / ln n", es="entropía / ln n"),
    Msg(en="effective keys", es="claves efectivas"),
    Msg(en="Jacobian norm", es="norma del jacobiano"),
)
LAB_COLUMNS = {
    "name": (LAB_HEAD[0], ""),
    "value": (LAB_HEAD[1], ".3f"),
    "theory": (Msg(en="std, theory", es="desv. típica, teoría"), ".4f"),
    "std": (LAB_HEAD[2], ".4f"),
    "std_low": (Msg(en="from", es="desde"), ".4f"),
    "std_high": (Msg(en="to", es="hasta"), ".4f"),
    **_TABLE,
}

# The Jacobian

JACOBIAN = Msg(en="What this row can still learn", es="Lo que esta fila aún puede aprender")
FORMULA = r"J_{ij} = \frac{\partial a_i}{\partial s_j} = a_i\,(\delta_{ij} - a_j)"
JACOBIAN_LEAD = Msg(
    en="Each cell says how much weight i moves when score j does. Training reaches q and k only through this matrix; where "
    "it is empty, this row teaches them next to nothing.",
    es="Cada celda dice cuánto se mueve el peso i cuando lo hace la puntuación j. El entrenamiento solo llega a q y k a "
    "través de esta matriz; donde está vacía, esta fila no les enseña casi nada.",
)
JACOBIAN_TITLE = Msg(en="**{mark} {name}**: norm {norm}", es="**{mark} {name}**: norma {norm}")
JACOBIAN_SAYS = Msg(
    en="Largest entry **{entry}**, at row {row}, column {col}: a small push to score {col} moves weight {row} by {entry} of "
    "it. Each row adds up to 0: what one weight wins, the others lose.",
    es="Entrada mayor **{entry}**, en la fila {row}, columna {col}: un pequeño empujón a la puntuación {col} mueve el peso "
    "{row} en {entry} de él. Cada fila suma 0: lo que un peso gana, los demás lo pierden.",
)
MOVED = Msg(en="weight i", es="peso i")
PUSHED = Msg(en="score j", es="puntuación j")
ENTRY = Msg(en="aᵢ (δᵢⱼ − aⱼ)", es="aᵢ (δᵢⱼ − aⱼ)")
JACOBIAN_COLUMNS = {
    "row_label": (MOVED, ""),
    "col_label": (PUSHED, ""),
    "value": (ENTRY, ".6f"),
}

# Predict, then reveal

PREDICT = Msg(
    en="Nothing is divided, τ = {tau:.2f}. dₖ goes from {now:,d} to {then:,d}. What does the mean Jacobian norm do?",
    es="No se divide nada, τ = {tau:.2f}. dₖ pasa de {now:,d} a {then:,d}. ¿Qué hace la norma media del jacobiano?",
)
ANSWERS = (
    Msg(en="It rises", es="Sube"),
    Msg(en="It falls", es="Baja"),
    Msg(en="No change beyond the intervals", es="No cambia más allá de los intervalos"),
)
BECAUSE = Msg(
    en="It is {a:.3f} (between {a_low:.3f} and {a_high:.3f}) at dₖ = {now:,d} and {b:.3f} (between {b_low:.3f} and "
    "{b_high:.3f}) at dₖ = {then:,d}. The mean largest weight goes from {peak_a:.1%} to {peak_b:.1%}.",
    es="Es {a:.3f} (entre {a_low:.3f} y {a_high:.3f}) con dₖ = {now:,d} y {b:.3f} (entre {b_low:.3f} y {b_high:.3f}) con "
    "dₖ = {then:,d}. El peso mayor medio pasa del {peak_a:.1%} al {peak_b:.1%}.",
)

TRY = {
    "one": (
        Msg(en="dₖ = 1", es="dₖ = 1"),
        Msg(en="Where are the two arms one and the same?", es="¿Dónde coinciden los dos casos?"),
    ),
    "top": (
        Msg(en="dₖ = 4", es="dₖ = 4"),
        Msg(
            en="Is the undivided Jacobian norm already smaller than the divided one?",
            es="¿Ya es menor la norma del jacobiano sin dividir que la del dividido?",
        ),
    ),
    "long": (
        Msg(en="dₖ = 1024, not divided", es="dₖ = 1024, sin dividir"),
        Msg(en="How many keys does the row still read?", es="¿Cuántas claves lee todavía la fila?"),
    ),
    "cold": (
        Msg(en="Cold: τ = 0.20", es="Frío: τ = 0,20"),
        Msg(
            en="Does dividing by √dₖ still keep the row from saturating?",
            es="¿Basta aún dividir por √dₖ para que la fila no se sature?",
        ),
    ),
    "swap": (
        Msg(en="dₖ = 16, τ = 4, not divided", es="dₖ = 16, τ = 4, sin dividir"),
        Msg(
            en="The temperature does the divisor’s work. Compare with τ = 1, divided.",
            es="La temperatura hace el trabajo del divisor. Compare con τ = 1, dividido.",
        ),
    ),
    "too_much": (
        Msg(en="Divide by dₖ = 512", es="Dividir por dₖ = 512"),
        Msg(en="How far are the weights from equal?", es="¿Cuánto distan los pesos de ser iguales?"),
    ),
    "width": (
        Msg(en="Divide by √d_model, 16 heads", es="Dividir por √d_model, 16 cabezas"),
        Msg(
            en="A common slip: the width of the model instead of the key’s. What does it do to the row?",
            es="Un desliz frecuente: el ancho del modelo en vez del de la clave. ¿Qué le hace a la fila?",
        ),
    ),
    "many": (
        Msg(en="32 keys", es="32 claves"),
        Msg(en="Do more keys save the undivided row?", es="¿Más claves salvan a la fila sin dividir?"),
    ),
    "few": (
        Msg(en="Only 25 trials", es="Solo 25 repeticiones"),
        Msg(en="What can the bands no longer tell apart?", es="¿Qué dejan de distinguir las bandas?"),
    ),
}


# Sentences that follow the data


def small(value: float, lang: str) -> str:
    """A number between 0 and 1 with three digits that count, also when it is tiny."""
    if value == 0 or value >= 0.0995:
        return number(value, ".3f" if value else ".0f", lang)
    return number(value, ".4f" if value >= 0.00095 else ".1e", lang)


def short(value: float, spec: str, lang: str) -> str:
    """A number as `spec` writes it, or its power of ten where only zeros would be left of it."""
    return number(value, ".0e" if 0 < value < 0.0005 else spec, lang)


def difference(value: float, lang: str) -> str:
    return number(value, ".1e" if value else ".0f", lang)


def divisor(scale: str, value: float, lang: str) -> str:
    """The name of a divisor and its number; 1 is its own name."""
    name = DIVISORS[scale](lang)
    return name if scale == "none" else NAMED(lang, name=name, value=value)


def share(value: float, lang: str) -> str:
    return SHARE(lang, value=value) if value >= 0.005 else LESS_THAN(lang, limit=0.005)


def times(larger: float, smaller: float, lang: str) -> str:
    """How many times smaller; beyond a million only that it is more, since float32 may have nothing left."""
    if larger > MANY * smaller:
        return MORE_THAN(lang, n=MANY)
    ratio = larger / smaller
    return number(ratio, ",.0f" if ratio >= 10 else ".1f", lang)


def cell(value: float, lang: str) -> str:
    """A number of the table, which keeps four decimals so that they align; one too small for them is named as such."""
    return TINY(lang, limit=LEAST) if 0 < value < LEAST / 2 else number(value, ".4f", lang)


def emphasis(words: str, on: bool) -> str:
    return f"**{words}**" if on else words


def ends(frame: Any, at: Any, d_k: int, measure: str, lang: str) -> dict[str, str]:
    """A measure of both arms at the settings on screen, and at the first and the last place of an axis, written out.

    Args:
        frame: arm and the measure, in the order of the axis; at(d_k, arm): the row of the curve for these settings.
    """
    out = {}
    for arm, letter in (("unscaled", "u"), ("scaled", "s")):
        values = [value for of, value in zip(frame["arm"], frame[measure], strict=True) if of == arm]
        told = {"": at(d_k, arm)[measure], "_first": values[0], "_last": values[-1]}
        out.update({letter + end: short(float(value), FORMATS[measure], lang) for end, value in told.items()})
    return out


def lead(d_k: int, tau: float, std: float, n: int, row: Any, lang: str) -> str:
    """What the dot products are like, and what the softmax made of the row without the divisor.

    Args:
        std: of the n dot products q.k; row: with unscaled and scaled (peak, norm, divisor).
    """
    raw, scaled = row.unscaled, row.scaled
    spread = SPREAD(lang, d_k=d_k, std=std, n=n, theory=math.sqrt(d_k))
    if d_k == 1:
        return f"{spread} {ALIKE(lang, root=scaled.divisor, peak=raw.peak, norm=raw.norm)}"
    ratio = raw.norm / scaled.norm if scaled.norm else math.nan
    msg = CERTAIN if ratio < HARDLY else LESS if ratio < 1 else MORE
    undivided = UNDIVIDED(lang) if tau == 1 else UNDIVIDED_TAU(lang, tau=tau)
    values = {"norm": small(raw.norm, lang), "other": small(scaled.norm, lang), "undivided": undivided, "times": times(scaled.norm, raw.norm, lang)}
    return f"{spread} {msg(lang, peak=raw.peak, ratio=ratio, root=scaled.divisor, **values)}"


OWN = Msg(en="Your own q and k: how saturated are their rows?", es="Sus propias q y k: ¿cómo de saturadas están sus filas?")
OWN_LEAD = Msg(
    en="Bring q and k from a model of yours, and see the weights of any of its queries, with the scale and without it. The pictures above stay "
    "as they are; τ and the divisor of the settings apply.",
    es="Traiga q y k de un modelo suyo y vea los pesos de cualquiera de sus consultas, con la escala y sin ella. Las figuras de arriba no "
    "cambian; se aplican τ y el divisor de los ajustes.",
)
OWN_QUERY = Msg(en="Query i", es="Consulta i")
OWN_TOO_LARGE = Msg(
    en="The dot products of this head are too large for a softmax in float32; nothing is drawn.",
    es="Los productos escalares de esta cabeza son demasiado grandes para un softmax en float32; no se dibuja nada.",
)
OWN_ALL = Msg(
    en="Over all {rows:,d} rows of your tensors the mean largest weight is **{raw:.3f}** not divided and **{scaled:.3f}** divided by √dₖ; the mean "
    "Jacobian norm is {raw_norm} and {scaled_norm}.",
    es="En las {rows:,d} filas de sus tensores, el mayor peso medio es **{raw:.3f}** sin dividir y **{scaled:.3f}** dividido por √dₖ; la norma "
    "media del jacobiano es {raw_norm} y {scaled_norm}.",
)


def own_says(means: Any, rows: int, lang: str) -> str:
    """All rows of a viewer's own tensors (saturation.own_rows) in a sentence."""
    raw, scaled = means["unscaled"], means["scaled"]
    norms = {"raw_norm": small(raw["jacobian"], lang), "scaled_norm": small(scaled["jacobian"], lang)}
    return OWN_ALL(lang, rows=rows, raw=raw["peak"], scaled=scaled["peak"], **norms)


def row_says(row: Any, d_k: int, tau: float, lang: str) -> str:
    parts = [ROW_PART(lang, peak=arm.peak, how=DIVIDED[arm.scale](lang)) for arm in row.arms]
    told = LAST_PART(lang, parts=", ".join(parts[:-1]), last=parts[-1])
    return ROW_SAYS(lang, n=len(row.unscaled.weights), d_k=d_k, tau=tau, key=row.unscaled.key + 1, parts=told)


def notice(facts: Any, low: Any, high: Any, trials: int, limit: float, lang: str) -> tuple[str, ...]:
    """What to notice on the curve, a sentence a fact. low, high: ends of the scaled arm's means, by measure."""
    values = {
        "first": facts.jacobian_first, "top": facts.jacobian_top, "ratio": share(facts.ratio, lang),
        "last": short(facts.jacobian_last, ".3f", lang),
        "first_d": facts.first_d, "top_d": facts.top_d, "last_d": facts.last_d, "trials": trials,
        "down": (COLLAPSES if facts.ratio < 0.5 else FALLS)(lang),
    }  # fmt: skip
    if facts.falls and facts.rises:
        jacobian = RISE_FALL
    elif facts.falls:
        jacobian = ONLY_FALL if facts.top_d == facts.first_d else RISE_UNSURE
    else:
        jacobian = ONLY_RISE if facts.rises else NO_CHANGE
    peak = PEAK_UNDER if facts.over_90_d is None else PEAK_OVER
    told = [
        jacobian(lang, **values),
        peak(
            lang, first=facts.peak_first, last=facts.peak_last, limit=limit, over=facts.over_90_d, last_d=facts.last_d,
            entropy=facts.unscaled_entropy_last,
        ),
        STEADY(
            lang, low=low["jacobian"], high=high["jacobian"], peak_low=low["peak"], peak_high=high["peak"]
        ),
    ]  # fmt: skip
    if facts.jacobian_last and facts.scaled_jacobian_last > facts.jacobian_last:
        ratio = times(facts.scaled_jacobian_last, facts.jacobian_last, lang)
        told.append(TIMES(lang, last_d=facts.last_d, times=ratio))
    return tuple(told)
