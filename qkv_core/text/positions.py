"""The words of the positions page. Its sentences are chosen and filled by what was computed."""

from __future__ import annotations

import math
from typing import Any

from qkv_core.text import Msg, number

QUESTION = Msg(en="Who is where?", es="¿Quién está dónde?")
SOURCE = Msg(
    en="Vaswani et al. (2017), “Attention Is All You Need”, section 3.5. RoPE: Su et al. (2021), “RoFormer”, section 3.2.2.",
    es="Vaswani et al. (2017), «Attention Is All You Need», sección 3.5. RoPE: Su et al. (2021), «RoFormer», sección 3.2.2.",
)

# The answer

LEAD_FIRST = Msg(
    en="Attention reads its tokens as a set. A row of sines and cosines, added to each token, says where it stands.",
    es="La atención lee sus tokens como un conjunto. Una fila de senos y cosenos, sumada a cada token, dice dónde está.",
)
LEAD = Msg(
    en="Attention alone can’t tell: shuffle “{before}” to “{after}” and the same outputs come out, shuffled (largest "
    "difference **{same}**). Add to each token a row of sines and cosines that names its place, and outputs move by up to **{moved:.2f}**.",
    es="La atención sola no lo sabe: baraje «{before}» en «{after}» y salen las mismas salidas, barajadas (mayor diferencia "
    "**{same}**). Sume a cada token una fila de senos y cosenos que nombra su lugar y las salidas cambian hasta **{moved:.2f}**.",
)

# Settings

N = Msg(en="Positions n", es="Posiciones n")
N_HELP = Msg(en="How many positions are encoded and compared.", es="Cuántas posiciones se codifican y se comparan.")
D = Msg(en="Width d_model", es="Ancho d_model")
D_HELP = Msg(
    en="How many numbers name a position: half of them sines, half cosines. The paper uses 512. It is this page’s own width.",
    es="Cuántos números nombran una posición: la mitad senos, la mitad cosenos. El artículo usa 512. Es el ancho propio de esta página.",
)
POS = Msg(en="Position pos", es="Posición pos")
POS_HELP = Msg(en="The position that is looked at, from 0.", es="La posición que se observa, desde 0.")
K = Msg(en="Offset k", es="Desplazamiento k")
K_HELP = Msg(
    en="How many positions later the second one is.", es="Cuántas posiciones más adelante está la segunda."
)
PAIRS = Msg(en="Pairs i shown as waves", es="Pares i mostrados como ondas")
PAIRS_HELP = Msg(
    en="Up to four pairs of dimensions. Pair i is the sine in dimension 2i and the cosine in dimension 2i + 1.",
    es="Hasta cuatro pares de dimensiones. El par i es el seno en la dimensión 2i y el coseno en la dimensión 2i + 1.",
)

# The pattern

PATTERN = Msg(en="Every position is a row", es="Cada posición es una fila")
PATTERN_SAYS = Msg(
    en="{n:,d} positions × {d:,d} dimensions. At the left a wave is {fast:.2f} positions long, at the right "
    "{slow:,.0f}. Marked: position {pos} and position {later}.",
    es="{n:,d} posiciones × {d:,d} dimensiones. A la izquierda una onda mide {fast:.2f} posiciones; a la derecha, "
    "{slow:,.0f}. Marcadas: la posición {pos} y la posición {later}.",
)
PATTERN_SAYS_TWO = Msg(
    en="{n:,d} positions × {d:,d} dimensions: one sine and one cosine, which repeat after {slow:,.2f} steps. Marked: "
    "position {pos} and position {later}.",
    es="{n:,d} posiciones × {d:,d} dimensiones: un seno y un coseno, que se repiten tras {slow:,.2f} pasos. Marcadas: la "
    "posición {pos} y la posición {later}.",
)
BEYOND = Msg(en="(below the picture)", es="(más abajo de la imagen)")
ONE_PICTURE = Msg(
    en="All {cells:,d} values are in the picture, {levels} shades; the table holds the two marked rows.",
    es="Los {cells:,d} valores están en la imagen, en {levels} tonos; la tabla contiene las dos filas marcadas.",
)
WHOLE_CSV = Msg(en="All positions as CSV", es="Todas las posiciones en CSV")
DIMENSION = Msg(en="dimension", es="dimensión")
POSITION = Msg(en="position", es="posición")
VALUE = Msg(en="value", es="valor")
HERE = Msg(en="position pos", es="posición pos")
THERE = Msg(en="pos + k", es="pos + k")
PAIR = Msg(en="pair i", es="par i")
WAVELENGTH = Msg(en="wavelength λ", es="longitud de onda λ")
ROW_COLUMNS = {
    "dim": (DIMENSION, "d"),
    "pair": (PAIR, "d"),
    "wavelength": (WAVELENGTH, ",.2f"),
    "here": (Msg(en="PE[pos]", es="PE[pos]"), ".6f"),
    "there": (Msg(en="PE[pos + k]", es="PE[pos + k]"), ".6f"),
}

# The clocks

CLOCKS = Msg(en="A position is what its clocks show", es="Una posición es lo que marcan sus relojes")
CLOCKS_SAYS = Msg(
    en="Each pair (sin, cos) is a point on a circle: a hand that starts at twelve. At position {pos} the fastest has made "
    "**{fast:,.2f}** turns, the slowest **{slow:.4f}**. {shown} of {m} pairs are drawn.",
    es="Cada par (sen, cos) es un punto de un círculo: una aguja que parte de las doce. En la posición {pos} la más rápida "
    "lleva **{fast:,.2f}** vueltas y la más lenta **{slow:.4f}**. Se dibujan {shown} de {m} pares.",
)
CLOCKS_ONE = Msg(
    en="The one pair (sin, cos) is a point on a circle: a hand that starts at twelve. At position {pos} it has made "
    "**{fast:,.2f}** turns.",
    es="El único par (sen, cos) es un punto de un círculo: una aguja que parte de las doce. En la posición {pos} lleva "
    "**{fast:,.2f}** vueltas.",
)
DEGREES = Msg(en="degrees (turns)", es="grados (vueltas)")
CLOCK_COLUMNS = {
    "pair": (PAIR, "d"),
    "place": (POSITION, ",d"),
    "x": (Msg(en="sin", es="sen"), ".6f"),
    "y": (Msg(en="cos", es="cos"), ".6f"),
    "turns": (Msg(en="turns", es="vueltas"), ",.4f"),
    "wavelength": (WAVELENGTH, ",.2f"),
}

# The waves

WAVES = Msg(en="Every dimension is a wave", es="Cada dimensión es una onda")
WAVE_NAME = Msg(
    en="pair {pair}: dimensions {sin} and {cos}, λ = {wavelength}", es="par {pair}: dimensiones {sin} y {cos}, λ = {wavelength}"
)
WAVE_FORMULAS = (
    r"\mathrm{PE}_{pos,\,2i}=\sin(\omega_i\,pos)",
    r"\mathrm{PE}_{pos,\,2i+1}=\cos(\omega_i\,pos)",
    r"\omega_i=10000^{-2i/d}",
    r"\lambda_i=2\pi\cdot 10000^{2i/d}",
)
WAVES_SAYS = Msg(
    en="Wavelengths run from 2π = {first:.2f} positions (pair 0) to {last:,.0f} (pair {m}). Pair {pair} turns once in "
    "**{wavelength}** positions, so these {n:,d} hold {turns:,.2f} of its waves.",
    es="Las longitudes de onda van de 2π = {first:.2f} posiciones (par 0) a {last:,.0f} (par {m}). El par {pair} da una vuelta "
    "en **{wavelength}** posiciones; en estas {n:,d} caben {turns:,.2f} de sus ondas.",
)
WAVES_SAYS_ONE = Msg(
    en="One pair has one wavelength: 2π = **{wavelength}** positions, so these {n:,d} hold {turns:,.2f} of its waves.",
    es="Un solo par tiene una sola longitud de onda: 2π = **{wavelength}** posiciones; en estas {n:,d} caben {turns:,.2f} de sus ondas.",
)

# The rotation

ROTATION = Msg(en="A step of k is one rotation, from anywhere", es="Un paso de k es una rotación, desde cualquier lugar")
ROTATION_FORMULAS = (
    r"\mathrm{PE}_{pos+k}=R_k\,\mathrm{PE}_{pos}",
    r"R_k=\operatorname{diag}(B_0,\dots,B_{d/2-1})",
    r"B_i=\begin{pmatrix}\cos k\omega_i&\sin k\omega_i\\-\sin k\omega_i&\cos k\omega_i\end{pmatrix}",
)
ROTATION_SAYS = Msg(
    en="Rₖ for k = {k}: the first {shown} of {d:,d} rows and columns, a block a pair, zeros elsewhere. Nothing in it depends on the position.",
    es="Rₖ con k = {k}: las primeras {shown} de {d:,d} filas y columnas, un bloque por par y ceros en lo demás. Nada en ella depende "
    "de la posición.",
)
APPLIED = Msg(
    en="Applied to position {pos}, Rₖ gives position {later}. Over all {n:,d} positions the largest difference is **{difference}**.",
    es="Aplicada a la posición {pos}, Rₖ da la posición {later}. Sobre las {n:,d} posiciones, la mayor diferencia es **{difference}**.",
)
R_ROW = Msg(en="row", es="fila")
R_COL = Msg(en="column", es="columna")
ENTRY = Msg(en="entry", es="entrada")
R_COLUMNS = {"row_label": (R_ROW, ""), "col_label": (R_COL, ""), "value": (ENTRY, ".6f")}
TURN_HEAD = (
    DIMENSION,
    Msg(en="PE[{pos}]", es="PE[{pos}]"),
    Msg(en="Rₖ PE[{pos}]", es="Rₖ PE[{pos}]"),
    Msg(en="PE[{later}]", es="PE[{later}]"),
    Msg(en="difference", es="diferencia"),
)

# Dot products

DOTS = Msg(en="A dot product tells the distance, not the place", es="Un producto escalar dice la distancia, no el lugar")
DOTS_SAYS = Msg(
    en="Pairs {k} apart ({pairs:,d} here) give **{low:.4f}** to **{high:.4f}**; the closed form Σ cos(k ωᵢ) gives "
    "{theory:.4f}. At offset 0 it is d/2 = {zero:,.0f}. At any one offset, the smallest and the largest differ by {spread} at most.",
    es="Los pares a distancia {k} (aquí {pairs:,d}) dan de **{low:.4f}** a **{high:.4f}**; la forma cerrada Σ cos(k ωᵢ) da {theory:.4f}. "
    "Con desplazamiento 0 es d/2 = {zero:,.0f}. Con un mismo desplazamiento, el menor y el mayor difieren en {spread} como mucho.",
)
OFFSET = Msg(en="offset", es="desplazamiento")
DOT = Msg(en="dot product", es="producto escalar")
MEASURED = Msg(en="all pairs of positions", es="todos los pares de posiciones")
CLOSED = Msg(en="Σ cos(k ωᵢ)", es="Σ cos(k ωᵢ)")
DOT_COLUMNS = {
    "offset": (OFFSET, ",d"),
    "pairs": (Msg(en="pairs", es="pares"), ",d"),
    "low": (Msg(en="smallest", es="menor"), ".6f"),
    "high": (Msg(en="largest", es="mayor"), ".6f"),
    "theory": (CLOSED, ".6f"),
    "cosine": (Msg(en="cosine", es="coseno"), ".6f"),
}
EXAMPLE_HEAD = (Msg(en="positions", es="posiciones"), Msg(en="dot product", es="producto escalar"))
EXAMPLES = Msg(en="The same distance at different places:", es="La misma distancia en lugares distintos:")

# Nearest position

NEAREST = Msg(en="Can a query find its place?", es="¿Puede una consulta encontrar su lugar?")
NOISE = Msg(en="Noise added to the query", es="Ruido sumado a la consulta")
NOISE_HELP = Msg(
    en="Standard deviation of the noise in each dimension. An encoding’s own entries spread by about 0.7.",
    es="Desviación típica del ruido en cada dimensión. Los valores de una codificación se dispersan alrededor de 0,7.",
)
NEAREST_LEAD = Msg(
    en="Each position asks for the one {k} later with the query Rₖ PE[pos] and takes the largest dot product.",
    es="Cada posición busca la que está {k} más adelante con la consulta Rₖ PE[pos] y toma el mayor producto escalar.",
)
NEAREST_SAYS = Msg(
    en="With noise {noise:.1f}, the right one of {n:,d} positions is found in **{right:.1%}** of cases ({tries:,d} tried); the largest error is {error:,d}.",
    es="Con ruido {noise:.1f}, se halla la correcta entre {n:,d} posiciones en el **{right:.1%}** de los casos (probados: {tries:,d}); "
    "el mayor error es {error:,d}.",
)
NEIGHBOURS = Msg(
    en="The second best is always the position next door.",
    es="La segunda mejor es siempre la posición de al lado.",
)
NOT_NEIGHBOURS = Msg(
    en="The second best is the position next door in {neighbours:.1%} of them; the farthest stands {far:,d} away.",
    es="La segunda mejor es la posición de al lado en el {neighbours:.1%} de ellas; la más lejana está a {far:,d}.",
)
WANTED = Msg(en="position looked for", es="posición buscada")
FOUND = Msg(en="position found", es="posición hallada")
RIGHT = Msg(en="right", es="correcta")
WRONG = Msg(en="wrong", es="incorrecta")
NEAREST_COLUMNS = {
    "pos": (POSITION, ",d"),
    "wanted": (WANTED, ",d"),
    "found": (FOUND, ",d"),
    "dot": (DOT, ".4f"),
    "runner_up": (Msg(en="second best", es="segunda mejor"), ",d"),
    "runner_up_dot": (Msg(en="its dot product", es="su producto escalar"), ".4f"),
}

# The shuffle

SHUFFLE = Msg(en="Without positions, order means nothing", es="Sin posiciones, el orden no significa nada")
ORDER = Msg(en="Shuffle “{before}” to", es="Baraje «{before}» en")
WITHOUT = Msg(en="No positions", es="Sin posiciones")
ADDED = Msg(en="Positions added", es="Con posiciones sumadas")
IN_ORDER = Msg(en="output, in order", es="salida, en orden")
AFTER = Msg(en="output, shuffled", es="salida, barajada")
SAME = Msg(
    en="Each token keeps its numbers and only changes its row: the largest difference is **{difference}**.",
    es="Cada token conserva sus números y solo cambia de fila: la mayor diferencia es **{difference}**.",
)
CHANGED = Msg(
    en="The same token in a new place has new numbers: outputs differ by up to **{difference:.3f}**, weights by up to {weights:.3f}.",
    es="El mismo token en otro lugar tiene otros números: las salidas difieren hasta **{difference:.3f}** y los pesos hasta {weights:.3f}.",
)
CAUSAL = Msg(
    en="A causal mask knows about places too. With it, and no positions added, the same shuffle changes outputs by up to **{difference:.3f}**.",
    es="Una máscara causal también sabe de lugares. Con ella, y sin sumar posiciones, el mismo cambio de orden altera las salidas "
    "hasta **{difference:.3f}**.",
)
TOKEN = Msg(en="token", es="token")
CHANNEL = Msg(en="column", es="columna")
OUTPUT = Msg(en="output", es="salida")
OUTLINED = Msg(
    en="Follow the outlined row of “{token}”.", es="Siga la fila enmarcada de «{token}»."
)
MATRIX_SAYS = Msg(en="{title}: a row a token, in the order {order}.", es="{title}: una fila por token, en el orden {order}.")
MATRIX_COLUMNS = {
    "case": (Msg(en="case", es="caso"), ""),
    "row_label": (TOKEN, ""),
    "col_label": (CHANNEL, ""),
    "value": (OUTPUT, ".6f"),
}

# RoPE

ROPE = Msg(en="The successor: turn q and k instead (RoPE)", es="El sucesor: girar q y k (RoPE)")
ROPE_FORMULA = r"(R_m q)\cdot(R_n k)=q\cdot R_{n-m}\,k"
ROPE_LEAD = Msg(
    en="RoPE adds nothing to the token. It turns :blue[q] and :orange[k] by the angles of their own places, so their product keeps only the "
    "difference. Here one random q meets one random k at all pairs of {n:,d} places, dₖ = {d:,d}, seed {seed}.",
    es="RoPE no suma nada al token. Gira :blue[q] y :orange[k] los ángulos de sus propios lugares, y su producto solo conserva la diferencia. "
    "Aquí un q aleatorio se cruza con un k aleatorio en todos los pares de {n:,d} lugares, dₖ = {d:,d}, semilla {seed}.",
)
ROPE_SAYS = Msg(
    en="At one offset, scores differ by at most **{rope}** when q and k are turned, and by up to **{added:.2f}** when sines and cosines are "
    "added to them: there the place counts too.",
    es="Con un mismo desplazamiento, las puntuaciones difieren como mucho en **{rope}** si se giran q y k, y hasta en **{added:.2f}** si se les "
    "suman senos y cosenos: ahí también cuenta el lugar.",
)
ROPE_NAMES = {
    "rope": Msg(en="turned (RoPE)", es="girados (RoPE)"),
    "added": Msg(en="sinusoids added", es="sinusoides sumadas"),
    "none": Msg(en="neither", es="nada"),
}
ROPE_OFFSET = Msg(en="query’s position minus key’s", es="posición de la consulta menos la de la clave")
SCORE = Msg(en="q·k / √dₖ", es="q·k / √dₖ")
ROPE_COLUMNS = {
    "arm_name": (Msg(en="arm", es="caso"), ""),
    "offset": (OFFSET, ",d"),
    "low": (Msg(en="smallest", es="menor"), ".6f"),
    "high": (Msg(en="largest", es="mayor"), ".6f"),
    "pairs": (Msg(en="pairs", es="pares"), ",d"),
}

CHECKS = {
    "formula": Msg(en="PE[pos] entry by entry", es="PE[pos] entrada a entrada"),
    "rotation": Msg(en="Rₖ on all {n:,d} positions", es="Rₖ sobre las {n:,d} posiciones"),
    "random": Msg(en="{count:,d} random (pos, k)", es="{count:,d} (pos, k) aleatorios"),
    "stretch": Msg(en="Rₖ keeps lengths", es="Rₖ conserva longitudes"),
    "spread": Msg(en="same offset, same product", es="igual distancia, igual producto"),
    "theory": Msg(en="Σ cos(k ωᵢ)", es="Σ cos(k ωᵢ)"),
    "shuffle": Msg(en="attention(P X) = P attention(X)", es="atención(P X) = P atención(X)"),
    "weights": Msg(en="weights likewise", es="los pesos, igual"),
    "rope": Msg(en="{count:,d} random (q, k, pos, offset)", es="{count:,d} (q, k, pos, desplazamiento) aleatorios"),
    "lengths": Msg(en="RoPE keeps lengths", es="RoPE conserva longitudes"),
}

# Predictions

ASK_DOT = Msg(
    en="Two positions {first} apart, or two positions {second} apart: whose dot product is larger, at d_model = {d:,d}?",
    es="Dos posiciones a distancia {first} o dos a distancia {second}: ¿qué producto escalar es mayor, con d_model = {d:,d}?",
)
APART = Msg(en="{k} apart", es="a distancia {k}")
EQUAL = Msg(en="they are equal", es="son iguales")
BECAUSE_DOT = Msg(
    en="{first} apart: {a:.4f}; {second} apart: {b:.4f}. Nearer is not always larger: each pair adds a cosine, and a cosine comes back.",
    es="A distancia {first}: {a:.4f}; a distancia {second}: {b:.4f}. Más cerca no siempre es mayor: cada par aporta un coseno, y un coseno vuelve.",
)
BECAUSE_DOT_NEAR = Msg(
    en="{first} apart: {a:.4f}; {second} apart: {b:.4f}. Here the nearer pair is more alike.",
    es="A distancia {first}: {a:.4f}; a distancia {second}: {b:.4f}. Aquí el par más cercano se parece más.",
)
ASK_STAYS = Msg(
    en="Positions are added, and “{before}” becomes “{after}”. “{token}” stays where it was. What happens to its output?",
    es="Se suman posiciones y «{before}» pasa a «{after}». «{token}» se queda donde estaba. ¿Qué le ocurre a su salida?",
)
ASK_MOVES = Msg(
    en="Positions are added, and “{before}” becomes “{after}”. “{token}” moves. What happens to its output?",
    es="Se suman posiciones y «{before}» pasa a «{after}». «{token}» cambia de lugar. ¿Qué le ocurre a su salida?",
)
SHUFFLE_ANSWERS = (
    Msg(en="it keeps its numbers", es="conserva sus números"),
    Msg(en="its numbers change", es="cambian sus números"),
)
BECAUSE_SHUFFLE = Msg(
    en="Its largest change is {added:.3f}: the keys and values that it reads stand elsewhere now. Without positions it is {without}.",
    es="Su mayor cambio es {added:.3f}: las claves y los valores que lee están ahora en otro lugar. Sin posiciones es {without}.",
)
BECAUSE_KEPT = Msg(
    en="Its largest change is {added:.3f}, and without positions {without}.",
    es="Su mayor cambio es {added:.3f}, y sin posiciones {without}.",
)

TRY = {
    "paper": (
        Msg(en="The paper’s width", es="El ancho del artículo"),
        Msg(
            en="512 positions in 512 dimensions. Right of the middle the rows hardly change: those hands turn that slowly.",
            es="512 posiciones en 512 dimensiones. A la derecha del centro las filas apenas cambian: así de despacio giran esas agujas.",
        ),
    ),
    "one_clock": (
        Msg(en="One clock only", es="Un solo reloj"),
        Msg(
            en="Two dimensions: after six steps the hand is nearly back, and looks closer than a neighbour.",
            es="Dos dimensiones: tras seis pasos la aguja casi ha vuelto y parece más cerca que una vecina.",
        ),
    ),
    "turn": (
        Msg(en="A long step", es="Un paso largo"),
        Msg(
            en="From the first position to the last with one matrix; the slow hands tell them apart.",
            es="De la primera posición a la última con una sola matriz; las agujas lentas las distinguen.",
        ),
    ),
    "noisy": (
        Msg(en="Noise", es="Ruido"),
        Msg(en="With few dimensions, noise makes queries miss.", es="Con pocas dimensiones, el ruido hace fallar las consultas."),
    ),
    "wide_noisy": (
        Msg(en="Noise, more dimensions", es="Ruido, más dimensiones"),
        Msg(
            en="The same noise with many dimensions: compare the share that is found.",
            es="El mismo ruido con muchas dimensiones: compare la parte que se encuentra.",
        ),
    ),
    "swap": (
        Msg(en="Back to front", es="De atrás adelante"),
        Msg(
            en="“cat” stays in the middle, and its row is exactly where it was.",
            es="«cat» sigue en el centro, y su fila queda justo donde estaba.",
        ),
    ),
}


RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def difference(value: float, lang: str) -> str:
    """A difference as people write it, 1.2 × 10⁻⁷; 0 is 0."""
    if value == 0 or not math.isfinite(value):
        return number(value, ".0f", lang)
    digits, power = f"{value:.1e}".split("e")
    return f"{number(float(digits), '.1f', lang)}\u00a0×\u00a010{str(int(power)).translate(RAISED)}"


def nearest(n: int, noise: float, run: Any, lang: str) -> str:
    """How the nearest-position test went."""
    test = run.test
    first = NEAREST_SAYS(lang, noise=noise, right=test.right, tries=run.tries, n=n, error=test.largest_error)
    if test.neighbours == 1:
        return f"{first} {NEIGHBOURS(lang)}"
    return f"{first} {NOT_NEIGHBOURS(lang, neighbours=test.neighbours, far=run.far)}"
