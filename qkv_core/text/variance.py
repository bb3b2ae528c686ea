"""The words of the variance page."""

from __future__ import annotations

import math
from typing import Any

from qkv_core.text import Msg, number

EXACT_UP_TO = 8
"""Largest d_k at which the exact density is drawn; above it the normal one can't be told from it by eye."""

QUESTION = Msg(en="Why does q·k grow?", es="¿Por qué crece q·k?")
SOURCE = Msg(
    en="Vaswani et al. (2017), “Attention Is All You Need”, section 3.2.1, footnote 4",
    es="Vaswani et al. (2017), «Attention Is All You Need», sección 3.2.1, nota 4",
)

# the answer

LEAD_FIRST = Msg(
    en="q·k is a sum of dₖ products, and the longer a sum, the wider it spreads.",
    es="q·k es una suma de dₖ productos, y cuanto más larga es una suma, más se dispersa.",
)
LEAD = Msg(
    en="q·k is a sum of dₖ products, and the longer a sum, the wider it spreads. At dₖ = {d_k:,}, over {n:,} pairs, its "
    "standard deviation is **{sd:,.2f}**; theory says √{variance:,.5g} = {expected:,.2f}. Divided by √dₖ = {root:,.4g} it is "
    "**{sd_scaled:,.2f}**.",
    es="q·k es una suma de dₖ productos, y cuanto más larga es una suma, más se dispersa. Con dₖ = {d_k:,}, en {n:,} pares, "
    "su desviación típica es **{sd:,.2f}**; la teoría dice √{variance:,.5g} = {expected:,.2f}. Dividida por √dₖ = {root:,.4g} "
    "es **{sd_scaled:,.2f}**.",
)
LEAD_ONE = Msg(
    en="q·k is a sum of dₖ products. At dₖ = {d_k:,} this one pair gives **{mean:,.2f}**; to see how such numbers spread, at "
    "least two are needed.",
    es="q·k es una suma de dₖ productos. Con dₖ = {d_k:,}, este único par da **{mean:,.2f}**; para ver cuánto se dispersan "
    "esos números hacen falta al menos dos.",
)
LEAD_STILL = Msg(
    en="q·k is a sum of dₖ products, and here every product is the same. At dₖ = {d_k:,} each of the {n:,} pairs gives "
    "**{mean:,.2f}**, and nothing spreads.",
    es="q·k es una suma de dₖ productos, y aquí todos los productos son iguales. Con dₖ = {d_k:,}, cada uno de los {n:,} pares "
    "da **{mean:,.2f}** y nada se dispersa.",
)
PAIRS = Msg(en="Pairs n", es="Pares n")
PAIRS_HELP = Msg(
    en="How many pairs (q, k) are drawn. The interval narrows with √n. A million takes a while; moving any setting stops it.",
    es="Cuántos pares (q, k) se generan. El intervalo se estrecha con √n. Un millón tarda un rato; mover cualquier ajuste "
    "lo detiene.",
)
ROWS = Msg(en="dₖ in the table", es="dₖ de la tabla")
ROWS_HELP = Msg(
    en="Whole numbers apart by commas or spaces, then Enter. The row of the chosen dₖ is always there.",
    es="Números enteros separados por comas o espacios; después, Intro. La fila del dₖ elegido siempre está.",
)
DRAWING = Msg(en="Drawing {n:,} pairs: {share:.0%}", es="Generando {n:,} pares: {share:.0%}")

UNSCALED = Msg(en="q·k", es="q·k")
SCALED = Msg(en="q·k / √dₖ", es="q·k / √dₖ")
BELLS = Msg(en="{n:,} values of q·k, before and after dividing", es="{n:,} valores de q·k, antes y después de dividir")
BELLS_ONE = Msg(en="One value of q·k, before and after dividing", es="Un valor de q·k, antes y después de dividir")
BELLS_X = Msg(en="value", es="valor")
BELLS_Y = Msg(en="density", es="densidad")
COUNT = Msg(en="pairs", es="pares")
SPREAD = Msg(
    en="At dₖ = {d_k:,} the values of q·k lie around {mean:,.2f} with standard deviation σ = {sd:,.2f} (dashed); divided by "
    "√dₖ, around {mean_scaled:,.2f} with σ = {sd_scaled:,.2f} (filled). Both areas are 1.",
    es="Con dₖ = {d_k:,}, los valores de q·k están en torno a {mean:,.2f} con desviación típica σ = {sd:,.2f} (trazos); "
    "divididos por √dₖ, en torno a {mean_scaled:,.2f} con σ = {sd_scaled:,.2f} (relleno). Ambas áreas valen 1.",
)
SPREAD_ONE = Msg(
    en="The only value of q·k is {mean:,.2f}; divided by √dₖ it is {mean_scaled:,.2f}.",
    es="El único valor de q·k es {mean:,.2f}; dividido por √dₖ es {mean_scaled:,.2f}.",
)
NORMAL = Msg(
    en="The thin line is the normal curve with the variance of theory. The sample leaves it by {distance:.1%} at most; by chance "
    "alone it would pass {noise:.1%} in one draw of 20.",
    es="La línea fina es la curva normal con la varianza de la teoría. La muestra se aparta de ella como mucho un {distance:.1%}; "
    "por puro azar pasaría del {noise:.1%} en uno de cada 20 sorteos.",
)
KURTOSIS = Msg(
    en="Its kurtosis is {kurtosis:.2f}, in theory {law:.2f}; a normal one has 3.",
    es="Su curtosis es {kurtosis:.2f}, en teoría {law:.2f}; la de una normal es 3.",
)
ONE_DRAW = Msg(
    en="These two layers are one draw; the theory is about their average.",
    es="Estas dos capas son un sorteo; la teoría habla de su promedio.",
)
EXACT = Msg(
    en="Dotted: the exact density of q·k at dₖ = {d_k}, where it is not yet a bell.",
    es="Puntos: la densidad exacta de q·k con dₖ = {d_k}, que aún no es una campana.",
)
OUTSIDE = Msg(
    en="{outside:.2%} of the pairs lie beyond four standard deviations, outside the picture.",
    es="El {outside:.2%} de los pares está a más de cuatro desviaciones típicas, fuera de la figura.",
)
BINS = {
    "arm": (Msg(en="values", es="valores"), ""),
    "left": (Msg(en="from", es="desde"), ",.3f"),
    "right": (Msg(en="to", es="hasta"), ",.3f"),
    "count": (Msg(en="pairs", es="pares"), ",d"),
    "density": (Msg(en="density", es="densidad"), ".5f"),
    "predicted": (Msg(en="normal density", es="densidad normal"), ".5f"),
    "exact": (Msg(en="exact density", es="densidad exacta"), ".5f"),
}

FIGURES = {
    "theory": Msg(en="theory, dₖ = {d_k:,}", es="teoría, dₖ = {d_k:,}"),
    "unscaled": Msg(en="variance of q·k", es="varianza de q·k"),
    "scaled": Msg(en="variance of q·k / √dₖ", es="varianza de q·k / √dₖ"),
}
TABLE = Msg(en="Variance, measured and predicted", es="Varianza, medida y predicha")
HEAD = (
    Msg(en="dₖ", es="dₖ"),
    Msg(en="theory", es="teoría"),
    Msg(en="q·k", es="q·k"),
    Msg(en="95 % interval", es="intervalo 95 %"),
    Msg(en="q·k / √dₖ", es="q·k / √dₖ"),
)
INTERVAL = Msg(en="{low:,.2f} to {high:,.2f}", es="{low:,.2f} a {high:,.2f}")
DASH = "–"
SCALED_THEORY = Msg(
    en="Theory for the last column: {value:,.4g} in every row; it has no dₖ left.",
    es="Teoría de la última columna: {value:,.4g} en todas las filas; ya no depende de dₖ.",
)
ESTIMATOR = Msg(
    en="Sample variance with the n − 1 estimator over n = {n:,} pairs, seed {seed}, drawn on {where}.",
    es="Varianza muestral con el estimador n − 1 en n = {n:,} pares, semilla {seed}, generados en {where}.",
)
ESTIMATOR_ONE = Msg(
    en="n = 1, seed {seed}, drawn on {where}: the n − 1 estimator divides by 0, so there is no variance and no interval.",
    es="n = 1, semilla {seed}, generado en {where}: el estimador n − 1 divide por 0, así que no hay varianza ni intervalo.",
)
WHERE = {"cpu": Msg(en="the CPU", es="la CPU"), "cuda": Msg(en="the GPU", es="la GPU")}
GPU = Msg(
    en="A GPU draws with its own generator: the same seed gives other pairs than on a CPU, and later digits may differ "
    "between GPUs.",
    es="Una GPU usa su propio generador: la misma semilla da otros pares que en una CPU, y los últimos dígitos pueden variar "
    "de una GPU a otra.",
)
COVERED = Msg(
    en="The theory lies inside **{inside} of the {rows} intervals**. One interval in 20 misses by chance; the rows share their "
    "pairs, so they tend to miss together.",
    es="La teoría está dentro de **{inside} de los {rows} intervalos**. Uno de cada 20 falla por azar; las filas comparten "
    "sus pares, así que tienden a fallar juntas.",
)
CHECKS = {
    "same": Msg(en="table and histogram agree", es="la tabla y el histograma coinciden"),
    "brute": Msg(en="brute force in float64, dₖ = {d}", es="fuerza bruta en float64, dₖ = {d}"),
    "identity": Msg(en="scaled = unscaled / dₖ, all {last:,} dₖ", es="escalada = sin escalar / dₖ, los {last:,} dₖ"),
    "counted": Msg(en="every pair counted once", es="cada par contado una vez"),
}

# the curve

CURVE = Msg(en="The same for every dₖ", es="Lo mismo para cada dₖ")
AXES = Msg(en="Axes", es="Ejes")
AXES_NAMES = {
    "log": Msg(en="logarithmic", es="logarítmicos"),
    "linear": Msg(en="linear", es="lineales"),
    "ratio": Msg(en="measured / theory", es="medida / teoría"),
}
CURVE_X = Msg(en="key size dₖ", es="tamaño de clave dₖ")
CURVE_Y = Msg(en="variance", es="varianza")
CURVE_RATIO = Msg(en="variance of q·k / theory", es="varianza de q·k / teoría")
GREW = Msg(
    en="From dₖ = 1 to {last:,} the variance of q·k grows from {first:,.2f} to {end:,.1f}, as dₖ to the power {slope:.3f}. "
    "Divided by √dₖ, it stays between {low:.3f} and {high:.3f}.",
    es="De dₖ = 1 a {last:,}, la varianza de q·k crece de {first:,.2f} a {end:,.1f}, como dₖ elevado a {slope:.3f}. Dividida "
    "por √dₖ, se queda entre {low:.3f} y {high:.3f}.",
)
BAND = Msg(
    en="The thin lines are the theory, the band is the 95 % interval: it holds the theory at {share:.1%} of the dₖ. All points "
    "use the same pairs, so neighbours err together.",
    es="Las líneas finas son la teoría, la banda es el intervalo del 95 %: contiene la teoría en el {share:.1%} de los dₖ. "
    "Todos los puntos usan los mismos pares, así que los vecinos yerran juntos.",
)
STAYS = Msg(
    en="The variance of q·k is 0 at every dₖ from 1 to {last:,}: it does not grow.",
    es="La varianza de q·k es 0 con cada dₖ de 1 a {last:,}: no crece.",
)
NO_CURVE = Msg(
    en="One pair has no variance at any dₖ: there is nothing to draw. Choose more pairs.",
    es="Un solo par no tiene varianza para ningún dₖ: no hay nada que dibujar. Elija más pares.",
)
LEFT_OUT = Msg(
    en="{n:,} values of dₖ are left out: their variance is 0, which has no place on this axis.",
    es="Se omiten {n:,} valores de dₖ: su varianza es 0, que no cabe en este eje.",
)
CURVE_COLUMNS = {
    "d_k": (Msg(en="dₖ", es="dₖ"), ",d"),
    "theory": (Msg(en="theory", es="teoría"), ",.4f"),
    "unscaled": (Msg(en="q·k", es="q·k"), ",.4f"),
    "unscaled_low": (Msg(en="95 % from", es="95 % desde"), ",.4f"),
    "unscaled_high": (Msg(en="95 % to", es="95 % hasta"), ",.4f"),
    "scaled": (Msg(en="q·k / √dₖ", es="q·k / √dₖ"), ".5f"),
    "n": (Msg(en="pairs n", es="pares n"), ",d"),
}

# the law and its assumptions

LAW = Msg(en="Where the law comes from, and how to break it", es="De dónde sale la ley y cómo romperla")
ENTRIES = Msg(en="Entries of q and k, all of variance 1", es="Componentes de q y k, todas de varianza 1")
DISTRIBUTIONS = {
    "normal": Msg(en="normal", es="normal"),
    "uniform": Msg(en="uniform", es="uniforme"),
    "sign": Msg(en="±1", es="±1"),
    "heavy": Msg(en="heavy tail", es="cola pesada"),
}
DISTRIBUTIONS_HELP = Msg(
    en="Normal: the bell. Uniform: from −√3 to √3. ±1: a coin. Heavy tail: Laplace, with kurtosis 6 where the normal has 3.",
    es="Normal: la campana. Uniforme: de −√3 a √3. ±1: una moneda. Cola pesada: Laplace, con curtosis 6 donde la normal tiene 3.",
)
TOKENS = Msg(en="Entries of the tokens, all of variance 1", es="Componentes de los tokens, todas de varianza 1")
MEAN = Msg(en="Mean μ of every entry", es="Media μ de cada componente")
RHO = Msg(en="Correlation ρ of qᵢ with kᵢ", es="Correlación ρ de qᵢ con kᵢ")
LINEAR = Msg(en="Project tokens with a default nn.Linear", es="Proyectar tokens con un nn.Linear por defecto")
LINEAR_HELP = Msg(
    en="q = W_q x + b_q and k = W_k y + b_k, as PyTorch initialises its layers: W and b uniform within ±1/√C. The layers are "
    "drawn once from the seed; the tokens vary.",
    es="q = W_q x + b_q y k = W_k y + b_k, como PyTorch inicializa sus capas: W y b uniformes en ±1/√C. Las capas se generan "
    "una vez con la semilla; los tokens varían.",
)
WIDTH = Msg(en="Token width C", es="Ancho C del token")
BIAS = Msg(en="Layers with a bias", es="Capas con sesgo")
CAPPED = Msg(
    en="Through real layers at most {limit:,} pairs are drawn: each costs two products with a matrix.",
    es="Con capas reales se generan como mucho {limit:,} pares: cada uno cuesta dos productos con una matriz.",
)
VERDICT = {
    "holds": Msg(
        en="Nothing is broken: independent entries, mean 0, variance 1. Each product adds exactly 1 to the variance.",
        es="Nada está roto: componentes independientes, media 0, varianza 1. Cada producto añade exactamente 1 a la varianza.",
    ),
    "shape": Msg(
        en="Another distribution, the same law: only mean 0, variance 1 and independence were used. The shape moves the "
        "kurtosis, here to {kurtosis:.2f} in theory, and so the width of the interval.",
        es="Otra distribución, la misma ley: solo se usaron media 0, varianza 1 e independencia. La forma mueve la curtosis, "
        "aquí a {kurtosis:.2f} en teoría, y con ella el ancho del intervalo.",
    ),
    "mean": Msg(
        en="A mean lets each entry through by itself, μ (qᵢ + kᵢ). The variance is {factor:.4g} dₖ instead of dₖ, and the "
        "centre moves to dₖ μ² = {centre:,.4g}. Dividing by √dₖ takes the growth out of the spread, not out of the centre: "
        "√dₖ μ² = {centre_scaled:,.4g} remains.",
        es="Una media deja pasar cada componente por sí sola, μ (qᵢ + kᵢ). La varianza es {factor:.4g} dₖ en vez de dₖ, y el "
        "centro pasa a dₖ μ² = {centre:,.4g}. Dividir por √dₖ quita el crecimiento de la dispersión, no del centro: queda "
        "√dₖ μ² = {centre_scaled:,.4g}.",
    ),
    "rho": Msg(
        en="q and k share a part. The variance is {factor:.4g} dₖ, and the centre moves to ρ dₖ = {centre:,.4g}: a query that "
        "resembles its key. Dividing by √dₖ leaves ρ √dₖ = {centre_scaled:,.4g}.",
        es="q y k comparten una parte. La varianza es {factor:.4g} dₖ, y el centro pasa a ρ dₖ = {centre:,.4g}: una consulta "
        "que se parece a su clave. Dividir por √dₖ deja ρ √dₖ = {centre_scaled:,.4g}.",
    ),
    "both": Msg(
        en="A mean and a correlation together: the variance is {factor:.4g} dₖ, and the centre moves to dₖ (μ² + ρ) = "
        "{centre:,.4g}. Dividing by √dₖ leaves a centre of {centre_scaled:,.4g}.",
        es="Media y correlación a la vez: la varianza es {factor:.4g} dₖ, y el centro pasa a dₖ (μ² + ρ) = {centre:,.4g}. "
        "Dividir por √dₖ deja un centro de {centre_scaled:,.4g}.",
    ),
    "still": Msg(
        en="With ±1 and ρ = {rho:.0f}, every product is {rho:.0f}: q·k is {centre:,.0f} for every pair, and there is nothing to scale.",
        es="Con ±1 y ρ = {rho:.0f}, cada producto es {rho:.0f}: q·k vale {centre:,.0f} en todos los pares y no hay nada que escalar.",
    ),
    "linear": Msg(
        en="Fresh layers do not give entries of variance 1 but about ⅓, so the variance is {factor:.4g} dₖ, not dₖ. It still "
        "grows with dₖ, and dividing by √dₖ still takes the growth out; what remains is {factor:.4g}, not 1.",
        es="Unas capas nuevas no dan componentes de varianza 1, sino de ⅓ aproximadamente, así que la varianza es {factor:.4g} "
        "dₖ, no dₖ. Sigue creciendo con dₖ, y dividir por √dₖ sigue quitando el crecimiento; lo que queda es {factor:.4g}, no 1.",
    ),
}
MEASURED_HEAD = (
    Msg(en="at dₖ = {d_k:,}", es="con dₖ = {d_k:,}"),
    Msg(en="theory", es="teoría"),
    Msg(en="measured", es="medido"),
)
MEASURED = {
    "mean": Msg(en="mean of q·k", es="media de q·k"),
    "variance": Msg(en="variance of q·k", es="varianza de q·k"),
    "scaled": Msg(en="variance of q·k / √dₖ", es="varianza de q·k / √dₖ"),
    "kurtosis": Msg(en="kurtosis of q·k (normal: 3)", es="curtosis de q·k (normal: 3)"),
}
LINEAR_NOTE = Msg(
    en="The theory averages over all layers; the sample has one pair of layers. Their bias alone gives q·k a mean of "
    "{mean:,.2f} here.",
    es="La teoría promedia sobre todas las capas; la muestra tiene un solo par de capas. Su sesgo, por sí solo, da aquí a "
    "q·k una media de {mean:,.2f}.",
)

# the question

ASK = Msg(
    en="dₖ goes from {small:,} to {large:,}, and nothing is divided. What happens to the standard deviation of these {n:,} q·k?",
    es="dₖ pasa de {small:,} a {large:,} y no se divide nada. ¿Qué ocurre con la desviación típica de estos {n:,} q·k?",
)
ANSWERS = (
    Msg(en="it stays the same", es="sigue igual"),
    Msg(en="it doubles", es="se duplica"),
    Msg(en="it is 4 times as large", es="se multiplica por 4"),
    Msg(en="it is 16 times as large", es="se multiplica por 16"),
)
BECAUSE = Msg(
    en="It goes from {sd_small:,.2f} to {sd_large:,.2f}, {measured:.2f} times as much. The variance grows with dₖ, "
    "{ratio:,} times, and its square root, the standard deviation, with √{ratio:,}. That is why the divisor is √dₖ, not dₖ.",
    es="Pasa de {sd_small:,.2f} a {sd_large:,.2f}, {measured:.2f} veces más. La varianza crece con dₖ, {ratio:,} veces, y su "
    "raíz, la desviación típica, con √{ratio:,}. Por eso el divisor es √dₖ y no dₖ.",
)

TRY = {
    "one": (
        Msg(en="One product: dₖ = 1", es="Un producto: dₖ = 1"),
        Msg(en="Nothing is divided by √1. Is the histogram a bell?", es="√1 no divide nada. ¿Es una campana el histograma?"),
    ),
    "long": (
        Msg(en="Long keys: dₖ = 1,024", es="Claves largas: dₖ = 1024"),
        Msg(en="How wide is the dashed histogram, and how wide the filled one?", es="¿Cuánto mide de ancho el histograma de trazos y cuánto el relleno?"),
    ),
    "few": (
        Msg(en="Only 100 pairs", es="Solo 100 pares"),
        Msg(en="How far from the theory may 100 pairs be? Change the seed and watch the curve move as a whole.", es="¿Cuánto pueden apartarse de la teoría 100 pares? Cambie la semilla y vea moverse toda la curva."),
    ),
    "many": (
        Msg(en="A million pairs", es="Un millón de pares"),
        Msg(en="The interval shrinks with √n. Does the theory stay inside?", es="El intervalo se estrecha con √n. ¿Sigue dentro la teoría?"),
    ),
    "heavy": (
        Msg(en="Heavy tail", es="Cola pesada"),
        Msg(en="Rare large entries: the shape changes. Does the variance?", es="Componentes grandes y raras: cambia la forma. ¿Cambia la varianza?"),
    ),
    "mean": (
        Msg(en="Break it: mean 1", es="Romperla: media 1"),
        Msg(en="Which term of the derivation is new, and how large is it?", es="¿Qué término de la derivación es nuevo y cuánto vale?"),
    ),
    "alike": (
        Msg(en="Break it: k = q", es="Romperla: k = q"),
        Msg(en="A key that equals its query. Where does the dashed histogram go?", es="Una clave igual a su consulta. ¿Adónde va el histograma de trazos?"),
    ),
    "still": (
        Msg(en="No spread at all", es="Sin dispersión"),
        Msg(en="Coins that agree: why is every q·k the same?", es="Monedas que coinciden: ¿por qué todos los q·k son iguales?"),
    ),
    "linear": (
        Msg(en="Real layers: nn.Linear", es="Capas reales: nn.Linear"),
        Msg(en="What PyTorch starts with. Is the variance dₖ?", es="Lo que PyTorch trae al empezar. ¿Es dₖ la varianza?"),
    ),
}

# the viewer's own tensors

OWN = Msg(en="Your own q and k, beside the ideal", es="Sus propias q y k, junto al ideal")
OWN_LEAD = Msg(
    en="Bring q and k from a model of yours, and see whether its dot products spread as the ideal says. The numbers above stay as they are.",
    es="Traiga q y k de un modelo suyo y vea si sus productos escalares se dispersan como dice el ideal. Los números de arriba no cambian.",
)
OWN_MEASURED = Msg(en="Var(q·k), measured", es="Var(q·k), medida")
OWN_IDEAL = Msg(en="dₖ, the ideal", es="dₖ, el ideal")
OWN_ENTRIES = Msg(en="Var(q) · Var(k) · dₖ", es="Var(q) · Var(k) · dₖ")
OWN_SCALED = Msg(en="Var(q·k / √dₖ)", es="Var(q·k / √dₖ)")
OWN_SAYS = Msg(
    en="Over all {n:,d} pairs of a query and a key of the same head, q·k has variance **{variance:,.4g}**: {ratio:,.3g} times the dₖ = {d_k:,d} "
    "of entries with mean 0 and variance 1. Divided by √dₖ it is **{scaled:,.4g}**, where the ideal is 1.",
    es="En los {n:,d} pares de una consulta y una clave de la misma cabeza, q·k tiene varianza **{variance:,.4g}**: {ratio:,.3g} veces el "
    "dₖ = {d_k:,d} de entradas con media 0 y varianza 1. Dividida por √dₖ es **{scaled:,.4g}**; el ideal es 1.",
)
OWN_ENTRIES_SAY = Msg(
    en="Your entries have Var(q) = {var_q:,.4g} and Var(k) = {var_k:,.4g}, with means {mean_q:,.3g} and {mean_k:,.3g}. Were they independent with "
    "mean 0, q·k would have variance Var(q) · Var(k) · dₖ = {entries:,.4g}.",
    es="Sus entradas tienen Var(q) = {var_q:,.4g} y Var(k) = {var_k:,.4g}, con medias {mean_q:,.3g} y {mean_k:,.3g}. Si fueran independientes y "
    "de media 0, q·k tendría varianza Var(q) · Var(k) · dₖ = {entries:,.4g}.",
)
OWN_NEAR = Msg(
    en="What was measured is {share:,.3g} times that: close to it.",
    es="Lo medido es {share:,.3g} veces eso: cerca.",
)
OWN_FAR = Msg(
    en="What was measured is {share:,.3g} times that. Means other than 0, channels of unequal variance, and channels that move together make "
    "such a difference.",
    es="Lo medido es {share:,.3g} veces eso. Las medias distintas de 0, los canales de varianza desigual y los canales que se mueven juntos "
    "causan esa diferencia.",
)
OWN_STILL = Msg(
    en="One of the two doesn’t vary at all, so there is nothing to compare.", es="Una de las dos no varía en absoluto, así que no hay nada que comparar."
)
OWN_HEAD = (
    Msg(en="sequence, head", es="secuencia, cabeza"),
    Msg(en="Var(q·k)", es="Var(q·k)"),
    Msg(en="Var(q) · Var(k) · dₖ", es="Var(q) · Var(k) · dₖ"),
    Msg(en="Var(q·k) / dₖ", es="Var(q·k) / dₖ"),
)
OWN_MORE = Msg(
    en="The first {shown} of {all:,d} heads are listed; the figures count all of them.",
    es="Se listan las primeras {shown} de {all:,d} cabezas; las cifras las cuentan todas.",
)
OWN_CHECK = Msg(en="trace(QᵀQ KᵀK)", es="traza(QᵀQ KᵀK)")


def derivation(d_k: int, kappa: float, mean: float, rho: float, linear: bool, width: int, bias: bool, lang: str) -> list[str]:
    """The law in short lines of TeX, the current number under each term."""

    def n(value: float) -> str:
        return number(value, ",.0f" if abs(value) >= 1000 else ".4g", lang).replace(",", "{,}").replace("\u202f", r"\,").replace("\u2212", "-")

    def under(term: str, value: float) -> str:
        return rf"\underbrace{{{term}}}_{{{n(value)}}}"

    if linear:
        c = width
        first = [r"W, b \sim U\!\left(\pm\tfrac{1}{\sqrt C}\right)", rf"\mathrm{{Var}}(W)=\tfrac{{1}}{{3C}}={n(1 / (3 * c))}"]
        main, extra = d_k / 9, 2 * d_k / 9 / c if bias else 0.0
        second = rf"\mathbb E\,\|W_q^\top W_k\|^2 = C^2\, d_k \left(\tfrac{{1}}{{3C}}\right)^2 = " + under(r"\tfrac{d_k}{9}", main)
        third = rf"2\,\mathbb E\,\|W^\top b\|^2 = 2\,C\, d_k \left(\tfrac{{1}}{{3C}}\right)^2 = " + under(r"\tfrac{2 d_k}{9 C}", extra)
        total = main + extra
        lines = [*first, second] + ([third] if bias else [])
        formula = r"\tfrac{d_k}{9}\left(1+\tfrac{2}{C}\right)" if bias else r"\tfrac{d_k}{9}"
    else:
        through, shared = 2 * mean**2 * (1 + rho), rho**2 * (kappa - 2)
        total = d_k * (1 + through + shared)
        lines = [
            r"q\cdot k=\textstyle\sum_{i=1}^{d_k} q_i k_i",
            r"\mathrm{Var}(q\cdot k)=d_k\,\mathrm{Var}(q_i k_i)",
        ]
        if mean == rho == 0:
            lines.append(
                r"\mathrm{Var}(q_i k_i)=" + under(r"\mathbb E[q_i^2]", 1) + r"\," + under(r"\mathbb E[k_i^2]", 1)
                + "-" + under(r"\mathbb E[q_i k_i]^2", 0) + "=1"
            )  # fmt: skip
            formula = "d_k"
        else:
            terms = [r"1"]
            if mean:
                terms.append(under(r"2\mu^2(1+\rho)" if rho else r"2\mu^2", through))
            if rho:
                terms.append(under(r"\rho^2(\kappa-2)", shared))
            lines.append(r"\mathrm{Var}(q_i k_i)=" + "+".join(terms) + f"={n(1 + through + shared)}")
            if rho:
                lines.append(rf"\kappa=\mathbb E\big[(q_i-\mu)^4\big]={n(kappa)}")
            formula = rf"d_k\cdot {n(1 + through + shared)}"
    lines.append(rf"\mathrm{{Var}}(q\cdot k)={formula}={n(total)}")
    lines.append(
        r"\mathrm{Var}\!\left(\tfrac{q\cdot k}{\sqrt{d_k}}\right)=\tfrac{\mathrm{Var}(q\cdot k)}{d_k}="
        rf"\tfrac{{{n(total)}}}{{{n(d_k)}}}={n(total / d_k)}"
    )
    return lines


def lead(h: Any, scaled: float, lang: str) -> str:
    """The answer in one sentence. h: the histogram record at d_k; scaled: the sample variance of q.k / sqrt(d_k)."""
    if h.n == 1:
        return LEAD_ONE(lang, d_k=h.d_k, mean=h.mean)
    if h.law.variance == 0:
        return LEAD_STILL(lang, d_k=h.d_k, n=h.n, mean=h.mean)
    return LEAD(
        lang,
        d_k=h.d_k,
        n=h.n,
        sd=math.sqrt(h.variance),
        variance=h.law.variance,
        expected=math.sqrt(h.law.variance),
        root=math.sqrt(h.d_k),
        sd_scaled=math.sqrt(scaled),
    )


def spread(h: Any, scaled: float, linear: bool, lang: str) -> str:
    """What both histograms show, how near they are to the curve, and what lies outside."""
    means = {"mean": _no_minus_zero(h.mean), "mean_scaled": _no_minus_zero(h.mean / math.sqrt(h.d_k))}
    if h.n == 1:
        return SPREAD_ONE(lang, **means)
    parts = [SPREAD(lang, d_k=h.d_k, sd=math.sqrt(h.variance), sd_scaled=math.sqrt(scaled), **means)]
    if h.law.variance:
        parts.append(NORMAL(lang, distance=h.distance, noise=h.noise))
        if h.distance > h.noise:
            parts.append(KURTOSIS(lang, kurtosis=h.kurtosis, law=h.law.kurtosis))
            parts += [ONE_DRAW(lang)] if linear else []
    if h.d_k <= EXACT_UP_TO and not h.frame.exact.isna().any():
        parts.append(EXACT(lang, d_k=h.d_k))
    if h.outside:
        parts.append(OUTSIDE(lang, outside=h.outside))
    return " ".join(parts)


def figures(h: Any, scaled: float, lang: str) -> list[tuple[str, str]]:
    """The three numbers that the page is about."""
    values = {"theory": h.law.variance, "unscaled": h.variance if h.n > 1 else math.nan, "scaled": float(scaled)}
    specs = {"theory": ",.0f" if h.law.variance >= 1000 else ".4g", "unscaled": ",.2f", "scaled": ".3f"}
    return [(FIGURES[name](lang, d_k=h.d_k), number(value, specs[name], lang)) for name, value in values.items()]


def _no_minus_zero(value: float) -> float:
    """A number that is written with two decimals, and never as minus zero."""
    return round(value, 2) + 0.0


def rows(table: Any, d_k: int, lang: str) -> list[list[str]]:
    """The table as it is read; the row of the chosen d_k is bold."""

    def n(value: float, spec: str) -> str:
        return number(float(value), spec, lang)

    out = []
    for r in table.itertuples():
        interval = DASH if math.isnan(r.unscaled) else INTERVAL(lang, low=r.unscaled_low, high=r.unscaled_high)
        cells = [number(r.d_k, ",d", lang), n(r.theory, ",.2f"), n(r.unscaled, ",.2f"), interval, n(r.scaled, ".4f")]
        out.append([f"**{cell}**" for cell in cells] if r.d_k == d_k else cells)
    return out


def measured(h: Any, scaled: float, n: int, lang: str) -> list[list[str]]:
    """The moments of q.k at the chosen d_k, predicted and measured."""
    pairs = {
        "mean": (h.law.mean, h.mean),
        "variance": (h.law.variance, h.variance),
        "scaled": (h.law.variance / h.d_k, float(scaled)),
        "kurtosis": (h.law.kurtosis, h.kurtosis if n > 1 else math.nan),
    }
    return [[MEASURED[name](lang), *(number(value, ",.3f", lang) for value in values)] for name, values in pairs.items()]


def verdict(distribution: str, mean: float, rho: float, linear: bool, law: Any, d_k: int, lang: str) -> str:
    """Which assumption is broken, and what then holds."""
    if linear:
        which = "linear"
    elif law.variance == 0:
        which = "still"
    elif mean or rho:
        which = "both" if mean and rho else "mean" if mean else "rho"
    else:
        which = "holds" if distribution == "normal" else "shape"
    return VERDICT[which](
        lang,
        factor=law.variance / d_k,
        centre=law.mean,
        centre_scaled=law.mean / math.sqrt(d_k),
        kurtosis=law.kurtosis,
        rho=rho,
    )


def growth(curve: Any, slope: float, inside: int, lang: str) -> str:
    """What the curve shows. curve: the table for every d_k; slope: its power; inside: intervals that hold the theory."""
    known = curve.dropna()
    if known.empty or math.isnan(slope):
        return STAYS(lang, last=len(curve))
    grew = GREW(
        lang,
        last=len(curve),
        first=known.unscaled.iloc[0],
        end=known.unscaled.iloc[-1],
        slope=slope,
        low=known.scaled.min(),
        high=known.scaled.max(),
    )
    return f"{grew} {BAND(lang, share=inside / len(curve))}"


def question(asked: Any, n: int, lang: str) -> tuple[str, list[str], int, str]:
    """The question about two histograms of the run, its answers, the right one and why."""
    why = BECAUSE(
        lang,
        sd_small=asked.sd_small,
        sd_large=asked.sd_large,
        measured=asked.measured,
        ratio=asked.large // asked.small,
    )
    return ASK(lang, small=asked.small, large=asked.large, n=n), [m(lang) for m in ANSWERS], asked.nearest, why


NEAR = 0.1
"""Relative: what is called close."""
OWN_ROWS = 12


def own_says(found: Any, lang: str) -> list[str]:
    """What a viewer's own tensors (variance.OwnVariance) show, a sentence or two each."""
    told = [OWN_SAYS(lang, n=found.n, variance=found.variance, ratio=found.variance / found.d_k, d_k=found.d_k, scaled=found.scaled)]
    moments = {name: getattr(found, name) for name in ("var_q", "var_k", "mean_q", "mean_k", "entries")}
    entries = OWN_ENTRIES_SAY(lang, **moments)
    if not found.entries:
        return [*told, f"{entries} {OWN_STILL(lang)}"]
    share = found.variance / found.entries
    return [*told, f"{entries} {(OWN_NEAR if abs(share - 1) <= NEAR else OWN_FAR)(lang, share=share)}"]


def own_figures(found: Any, lang: str) -> list[tuple[str, str]]:
    """The figures of a viewer's own tensors: name and number."""
    values = ((OWN_MEASURED, found.variance), (OWN_IDEAL, found.d_k), (OWN_ENTRIES, found.entries), (OWN_SCALED, found.scaled))
    return [(name(lang), number(value, ",.4g", lang)) for name, value in values]


def own_rows(found: Any, heads: int, lang: str) -> list[list[str]]:
    """A row a head, the first ones. heads: how many there are in a sequence."""
    shown = found.heads[:OWN_ROWS]
    names = [f"{at // heads + 1}, {at % heads + 1}" for at in range(len(shown))]
    columns = ([v for v, _ in shown], [e for _, e in shown], [v / found.d_k for v, _ in shown])
    written = [[number(x, spec, lang) for x in column] for column in columns for spec in (_spec(column),)]
    return [list(row) for row in zip(names, *written, strict=True)]


def _spec(column: list[float]) -> str:
    """Three decimals where they say the numbers of a column, else powers of ten."""
    return ",.3f" if all(x == 0 or 0.01 <= x < 1e7 for x in column) else ".3e"
