"""The words of the shapes page."""

from __future__ import annotations

from typing import Any

from qkv_core.text import Msg, number

QUESTION = Msg(en="Where does each axis go?", es="¿Adónde va cada eje?")
SOURCE = Msg(
    en="Vaswani et al. (2017), “Attention Is All You Need”, section 3.2.2",
    es="Vaswani et al. (2017), «Attention Is All You Need», sección 3.2.2",
)

LEAD = Msg(
    en="A tensor of shape **({B}, {T}, {C})** goes in, and one of the same shape comes out. "
    "On the way its {C} channels become {H} heads of {D}, because {C} = {H} × {D}.",
    es="Entra un tensor de forma **({B}, {T}, {C})** y sale otro de la misma forma. "
    "Por el camino, sus {C} canales se convierten en {H} cabezas de {D}, porque {C} = {H} × {D}.",
)
LEAD_ONE_HEAD = Msg(
    en="A tensor of shape **({B}, {T}, {C})** goes in, and one of the same shape comes out. "
    "With one head the {C} channels stay together, D = C.",
    es="Entra un tensor de forma **({B}, {T}, {C})** y sale otro de la misma forma. "
    "Con una sola cabeza, los {C} canales siguen juntos: D = C.",
)
LEAD_BAD = Msg(
    en="{C} channels cannot be dealt out to {H} heads. The path stops where the heads should be split.",
    es="{C} canales no se pueden repartir entre {H} cabezas. El recorrido se detiene donde habría que separarlas.",
)

NOT_REACHED = Msg(
    en="This step needs heads of equal width, and there are none.",
    es="Este paso necesita cabezas de igual ancho, y no las hay.",
)
WRITTEN_OUT = Msg(
    en="Writing the width out, C // H = {D}, does not help:",
    es="Escribir el ancho, C // H = {D}, no sirve de nada:",
)

SIZES = {
    "B": Msg(en="Batch B", es="Lote B"),
    "T": Msg(en="Tokens T", es="Tokens T"),
    "C": Msg(en="Width C", es="Ancho C"),
    "H": Msg(en="Heads H", es="Cabezas H"),
}
SIZES_HELP = {
    "B": Msg(en="How many sequences are computed side by side.", es="Cuántas secuencias se calculan a la vez."),
    "T": Msg(en="How many tokens a sequence has.", es="Cuántos tokens tiene una secuencia."),
    "C": Msg(
        en="How many numbers a token has: the width of the model. This page has its own, so that C and H may clash.",
        es="Cuántos números tiene un token: el ancho del modelo. Esta página usa el suyo, para que C y H puedan chocar.",
    ),
    "H": Msg(
        en="How many heads the channels are dealt out to. Choose one that does not divide C and see what torch says.",
        es="Entre cuántas cabezas se reparten los canales. Elija un valor que no divida a C y vea qué dice torch.",
    ),
}
HEAD_SIZE = Msg(en="Head size D = C / H", es="Ancho de cabeza D = C / H")

TOO_LARGE = Msg(
    en="These sizes need {needed:,.1f} MiB; this page computes at most {limit:,.0f} MiB. One of these is enough:",
    es="Estos tamaños necesitan {needed:,.1f} MiB; esta página calcula como mucho {limit:,.0f} MiB. "
    "Basta con uno de estos cambios:",
)
TOO_LARGE_ALL = Msg(
    en="These sizes need {needed:,.1f} MiB; this page computes at most {limit:,.0f} MiB, "
    "and no single size is to blame. Start again from small ones:",
    es="Estos tamaños necesitan {needed:,.1f} MiB; esta página calcula como mucho {limit:,.0f} MiB, "
    "y la culpa no es de uno solo. Empiece de nuevo con valores pequeños:",
)
SMALL = Msg(en="Back to small sizes", es="Volver a tamaños pequeños")

PATH = Msg(en="The path", es="El recorrido")
PLACES = Msg(en="place of the axis in the shape", es="lugar del eje en la forma")
MEMORY = Msg(en="memory", es="memoria")
STEP = Msg(en="Step", es="Paso")
STEP_HELP = Msg(
    en="Move the slider, use the arrow keys, or click a row of the picture.",
    es="Mueva el control, use las flechas del teclado o pulse una fila de la figura.",
)
PATH_SAYS = Msg(
    en="{n} steps, each one executed: {free} only read the same memory in another way, {computed} make new numbers, "
    "and {copied} only copies.",
    es="{n} pasos, todos ejecutados: {free} solo leen la misma memoria de otro modo, {computed} producen números nuevos "
    "y {copied} solo copia.",
)
PATH_SAYS_FREE = Msg(
    en="{n} steps, each one executed: {free} only read the same memory in another way, {computed} make new numbers, "
    "and none has to copy.",
    es="{n} pasos, todos ejecutados: {free} solo leen la misma memoria de otro modo, {computed} producen números nuevos "
    "y ninguno tiene que copiar.",
)
PATH_LEGEND = Msg(
    en="Σ marks an axis that is summed away; Tₖ are the tokens again, as keys. The bar at the right runs on while the "
    "memory stays the same; it is hollow where the tensor is not contiguous.",
    es="Σ marca un eje que desaparece en una suma; Tₖ son otra vez los tokens, ahora como claves. La barra de la derecha "
    "continúa mientras la memoria es la misma; está hueca donde el tensor no es contiguo.",
)
PATH_SAYS_BAD = Msg(
    en="The first {n} steps do not depend on H and are executed. The split into {H} heads of equal width fails, "
    "so nothing after it exists.",
    es="Los primeros {n} pasos no dependen de H y se ejecutan. La separación en {H} cabezas de igual ancho falla, "
    "así que nada de lo que sigue existe.",
)
STOP = Msg(en="✗ {C} ≠ {H} × D", es="✗ {C} ≠ {H} × D")
PATH_COLUMNS = {
    "n": (Msg(en="step", es="paso"), "d"),
    "tensor": (Msg(en="tensor", es="tensor"), ""),
    "axes": (Msg(en="axes", es="ejes"), ""),
    "shape": (Msg(en="shape", es="forma"), ""),
    "stride": (Msg(en="stride", es="stride"), ""),
    "contiguous": (Msg(en="contiguous", es="contiguo"), ""),
    "numel": (Msg(en="numbers", es="números"), ",d"),
    "bytes": (Msg(en="bytes", es="bytes"), ",d"),
    "storage_bytes": (Msg(en="bytes of its memory", es="bytes de su memoria"), ",d"),
    "parameters": (Msg(en="parameters", es="parámetros"), ",d"),
    "changed": (Msg(en="changed", es="cambia"), ""),
    "preserved": (Msg(en="preserved", es="se conserva"), ""),
}

STEP_NAMES = {
    "x": Msg(en="Input", es="Entrada"),
    "qkv": Msg(en="One projection for all three", es="Una proyección para los tres"),
    "chunk": Msg(en="Cut into q, k and v", es="Cortar en q, k y v"),
    "split": Msg(en="Split the channels into heads", es="Separar los canales en cabezas"),
    "transpose": Msg(en="Bring the heads forward", es="Poner las cabezas delante"),
    "scores": Msg(en="Every query meets every key", es="Cada consulta frente a cada clave"),
    "scaled": Msg(en="Divide by √D", es="Dividir por √D"),
    "weights": Msg(en="Softmax over the keys", es="Softmax sobre las claves"),
    "heads": Msg(en="Mix the values", es="Mezclar los valores"),
    "back": Msg(en="Bring the tokens forward again", es="Devolver los tokens a su sitio"),
    "contiguous": Msg(en="Rewrite memory in reading order", es="Reescribir la memoria en orden de lectura"),
    "concat": Msg(en="Merge the heads", es="Unir las cabezas"),
    "output": Msg(en="Output projection", es="Proyección de salida"),
}
STEP_TITLE = Msg(en="{n}. {name}", es="{n}. {name}")

NOTES = {
    "x": Msg(
        en="{B} sequences of {T} tokens, each token a row of {C} numbers.",
        es="{B} secuencias de {T} tokens; cada token es una fila de {C} números.",
    ),
    "qkv": Msg(
        en="One weight of {three_C} × {C} turns each row of {C} numbers into {three_C}: q, k and v side by side.",
        es="Una sola matriz de {three_C} × {C} convierte cada fila de {C} números en {three_C}: q, k y v, uno al lado "
        "del otro.",
    ),
    "chunk.strided": Msg(
        en="Nothing is copied: q, k and v look into the same memory, where one row still starts {three_C} numbers "
        "after the one before, so none of them is contiguous.",
        es="No se copia nada: q, k y v miran la misma memoria, donde cada fila sigue empezando {three_C} números "
        "después de la anterior; por eso ninguno es contiguo.",
    ),
    "chunk.contiguous": Msg(
        en="Nothing is copied: q, k and v look into the same memory, and with a single row there is no gap to jump "
        "over, so each counts as contiguous.",
        es="No se copia nada: q, k y v miran la misma memoria y, con una sola fila, no hay hueco que saltar; por eso "
        "cada uno cuenta como contiguo.",
    ),
    "split": Msg(
        en="The {C} channels of a token are read as {H} heads of {D}; no number moves.",
        es="Los {C} canales de un token se leen como {H} cabezas de {D}; ningún número se mueve.",
    ),
    "transpose.reordered": Msg(
        en="Axes 1 and 2 change places by swapping two strides; the memory stays as it was, but reading along the "
        "shape now meets the numbers in another order.",
        es="Los ejes 1 y 2 cambian de lugar intercambiando dos strides; la memoria queda como estaba, pero al leer "
        "según la forma los números aparecen en otro orden.",
    ),
    "transpose.same": Msg(
        en="Axes 1 and 2 change places, but one of them has size 1, so even the reading order stays.",
        es="Los ejes 1 y 2 cambian de lugar, pero uno de ellos mide 1, así que ni siquiera cambia el orden de lectura.",
    ),
    "scores": Msg(
        en="In each head, every query row meets every key row: a dot product of {D} terms for each of the {T} × {T} "
        "pairs.",
        es="En cada cabeza, cada fila de consulta se encuentra con cada fila de clave: un producto escalar de {D} "
        "términos para cada una de las {T} × {T} parejas.",
    ),
    "scaled.divided": Msg(
        en="Every score is divided by √{D} = {root:.4g}; the shape stays.",
        es="Cada puntuación se divide por √{D} = {root:.4g}; la forma no cambia.",
    ),
    "scaled.same": Msg(
        en="√1 = 1, so with heads one number wide the division changes nothing.",
        es="√1 = 1: con cabezas de un solo número, la división no cambia nada.",
    ),
    "weights": Msg(
        en="Each row of {T} scores becomes {T} weights that are not negative and add up to 1.",
        es="Cada fila de {T} puntuaciones se convierte en {T} pesos que no son negativos y suman 1.",
    ),
    "heads": Msg(
        en="Each output row is the weighted mean of the {T} value rows of its head: the key axis is summed away.",
        es="Cada fila de salida es la media ponderada de las {T} filas de valores de su cabeza: el eje de las claves "
        "desaparece en la suma.",
    ),
    "back.strided": Msg(
        en="The token axis returns to place 1 by swapping strides again; a head's numbers now lie apart from the next "
        "head's, and view refuses to merge them.",
        es="El eje de los tokens vuelve al lugar 1 intercambiando otra vez los strides; los números de una cabeza "
        "quedan lejos de los de la siguiente, y view se niega a unirlos.",
    ),
    "back.viewable": Msg(
        en="The token axis returns to place 1 by swapping strides again; the result is not contiguous, yet each head "
        "is one number wide, so view could still merge the heads.",
        es="El eje de los tokens vuelve al lugar 1 intercambiando otra vez los strides; el resultado no es contiguo, "
        "pero cada cabeza mide un solo número, así que view aún podría unirlas.",
    ),
    "back.contiguous": Msg(
        en="The token axis returns to place 1; one of the two axes has size 1, so the result is still contiguous.",
        es="El eje de los tokens vuelve al lugar 1; uno de los dos ejes mide 1, así que el resultado sigue siendo "
        "contiguo.",
    ),
    "contiguous.copied": Msg(
        en="The only step that copies without computing: the same numbers, written out in reading order.",
        es="El único paso que copia sin calcular: los mismos números, escritos en orden de lectura.",
    ),
    "contiguous.free": Msg(
        en="The numbers already lie in reading order, so nothing is copied.",
        es="Los números ya están en orden de lectura, así que no se copia nada.",
    ),
    "concat": Msg(
        en="The {H} heads of {D} are read as {C} channels again; no number moves.",
        es="Las {H} cabezas de {D} se leen otra vez como {C} canales; ningún número se mueve.",
    ),
    "output": Msg(
        en="A matrix of {C} × {C} mixes the heads; the shape is that of the input, so layers can be stacked.",
        es="Una matriz de {C} × {C} mezcla las cabezas; la forma es la de la entrada, así que las capas se pueden "
        "apilar.",
    ),
}

BEFORE = Msg(en="before: `{tensor}`", es="antes: `{tensor}`")
NOW = Msg(en="now: `{tensor}`", es="ahora: `{tensor}`")
AXES = Msg(en="axes", es="ejes")
PROPERTIES = {
    "shape": Msg(en="shape", es="forma"),
    "stride": Msg(en="stride", es="stride"),
    "contiguity": Msg(en="contiguous", es="contiguo"),
    "numel": Msg(en="count", es="cantidad"),
    "values": Msg(en="numbers", es="números"),
    "order": Msg(en="reading order", es="orden de lectura"),
    "storage": Msg(en="memory", es="memoria"),
}
COMPARED = ("values", "order")
"""The properties that can only be told by comparing two tensors."""
YES = Msg(en="yes", es="sí")
NO = Msg(en="no", es="no")
BYTES = Msg(en="bytes", es="bytes")
STORAGE = Msg(en="{bytes:,d} bytes", es="{bytes:,d} bytes")
FOUND = {
    ("values", True): Msg(en="all from before", es="todos los de antes"),
    ("values", False): Msg(en="new ones", es="nuevos"),
    ("order", True): Msg(en="as before", es="como antes"),
    ("order", False): Msg(en="another", es="otro"),
}
CHANGED = Msg(en="**changed**", es="**cambia**")
KEPT = Msg(en="preserved", es="se conserva")
PARAMETERS = Msg(
    en="This step uses **{n:,d}** learned parameters.", es="Este paso usa **{n:,d}** parámetros aprendidos."
)
NO_PARAMETERS = Msg(en="This step has no parameters.", es="Este paso no tiene parámetros.")

FOLLOW = Msg(en="Follow one number", es="Seguir un número")
OF = Msg(en="A number of", es="Un número de")
OF_NAMES = {"q": Msg(en="q", es="q"), "k": Msg(en="k", es="k"), "v": Msg(en="v", es="v")}
AT = {
    "sh_b": Msg(en="sequence b", es="secuencia b"),
    "sh_t": Msg(en="token t", es="token t"),
    "sh_c": Msg(en="channel c", es="canal c"),
}
AT_HELP = {
    "sh_b": Msg(en="From 0 to B − 1.", es="De 0 a B − 1."),
    "sh_t": Msg(en="From 0 to T − 1.", es="De 0 a T − 1."),
    "sh_c": Msg(en="From 0 to C − 1.", es="De 0 a C − 1."),
}
CLAMPED = Msg(
    en="The chosen number lay outside these sizes; the nearest one, {name}, is followed.",
    es="El número elegido quedaba fuera de estos tamaños; se sigue el más cercano, {name}.",
)
FOLLOW_LEAD = Msg(
    en="{name} is channel {c} of token {t} in sequence {b}. Since {c} = {h} × {D} + {d}, it belongs to head {h}, place {d}.",
    es="{name} es el canal {c} del token {t} de la secuencia {b}. Como {c} = {h} × {D} + {d}, pertenece a la cabeza {h}, "
    "lugar {d}.",
)
FOLLOW_LEAD_BAD = Msg(
    en="{name} is channel {c} of token {t} in sequence {b}. Which head it belongs to is undecided until H divides C.",
    es="{name} es el canal {c} del token {t} de la secuencia {b}. A qué cabeza pertenece no se sabe hasta que H divida a C.",
)
HERE = Msg(
    en="Your number {name} is at {here}: number **{offset:,d}** of this memory, value {value:.4f}.",
    es="Su número {name} está en {here}: es el número **{offset:,d}** de esta memoria y vale {value:.4f}.",
)
HERE_TOKEN = Msg(
    en="Your number {name} has been used up. Its token's own cell is {here}: number **{offset:,d}** of this memory, "
    "value {value:.4f}.",
    es="Su número {name} ya se ha usado. La celda de su token es {here}: es el número **{offset:,d}** de esta memoria y "
    "vale {value:.4f}.",
)
HERE_SOURCE = Msg(
    en="Your number {name} does not exist yet. At its place stands {here}: number **{offset:,d}** of this memory, "
    "value {value:.4f}.",
    es="Su número {name} aún no existe. En su lugar está {here}: es el número **{offset:,d}** de esta memoria y vale "
    "{value:.4f}.",
)
HERE_WAITING = Msg(
    en="Your number {name} waits: v is not part of this step. Its token's own cell is {here}: number **{offset:,d}** of "
    "this memory, value {value:.4f}.",
    es="Su número {name} espera: v no participa en este paso. La celda de su token es {here}: es el número "
    "**{offset:,d}** de esta memoria y vale {value:.4f}.",
)
ADDRESS = Msg(
    en="The address is the start plus, for each axis, index × stride:",
    es="La dirección es el comienzo más, por cada eje, índice × stride:",
)
ADDRESS_CODE = Msg(en="{start} + {terms} = {offset}   (byte {byte})", es="{start} + {terms} = {offset}   (byte {byte})")
ROLES = {
    "source": Msg(en="all {n:,d} numbers of {reach} make it", es="lo forman los {n:,d} números de {reach}"),
    "element": Msg(en="the number itself", es="el propio número"),
    "term": Msg(en="one of {D} terms in each of {n:,d} scores, {reach}", es="uno de {D} términos en {n:,d} puntuaciones, {reach}"),
    "scaled": Msg(en="the same {n:,d} scores, divided, {reach}", es="las mismas {n:,d} puntuaciones, divididas, {reach}"),
    "normalised": Msg(en="softmax couples rows: {n:,d} weights, {reach}", es="softmax une filas: {n:,d} pesos, {reach}"),
    "waiting": Msg(en="v waits for the weights", es="v espera a los pesos"),
    "mixed": Msg(en="reaches {n:,d} numbers, {reach}", es="llega a {n:,d} números, {reach}"),
    "carried": Msg(en="the same {n:,d} numbers, {reach}", es="los mismos {n:,d} números, {reach}"),
    "spread": Msg(en="W_o spreads it over {n:,d} numbers, {reach}", es="W_o lo reparte entre {n:,d} números, {reach}"),
}
FOLLOW_COLUMNS = {
    "n": (Msg(en="step", es="paso"), "d"),
    "place": (Msg(en="where", es="dónde"), ""),
    "offset": (Msg(en="offset", es="posición"), ",d"),
    "value": (Msg(en="value", es="valor"), ".4f"),
    "role": (Msg(en="what became of it", es="qué fue de él"), ""),
}

STRIP = Msg(en="The memory of {tensor}", es="La memoria de {tensor}")
PARTS = {
    "element": Msg(en="your number", es="su número"),
    "row": Msg(en="its row ({axis})", es="su fila ({axis})"),
    "column": Msg(en="its column ({axis})", es="su columna ({axis})"),
    "tensor": Msg(en="rest of {tensor}", es="resto de {tensor}"),
    "other": Msg(en="outside {tensor}", es="fuera de {tensor}"),
}
STRIP_AXIS = Msg(en="first number of the line", es="primer número de la línea")
STRIP_SAYS = Msg(
    en="Memory is one long line of {storage:,d} numbers, written here in lines of {length:,d}. "
    "One step along {last} jumps {jump_last:,d}; one step along {other} jumps {jump_other:,d}.",
    es="La memoria es una sola línea de {storage:,d} números, escrita aquí en renglones de {length:,d}. "
    "Un paso a lo largo de {last} salta {jump_last:,d}; un paso a lo largo de {other} salta {jump_other:,d}.",
)
STRIP_CUT = Msg(en="Shown: {shown:,d} of them, around your number.", es="Se muestran {shown:,d}, alrededor de su número.")
STRIP_COLUMNS = {
    "position": (Msg(en="position in memory", es="posición en la memoria"), ",d"),
    "part_name": (Msg(en="what it is", es="qué es"), ""),
}

CHECKS = {
    "sdpa": Msg(en="attention against PyTorch's own", es="atención frente a la de PyTorch"),
    "rows": Msg(en="rows of weights add up to 1", es="las filas de pesos suman 1"),
    "merge": Msg(en="split, then merge gives q back", es="separar y unir devuelve q"),
    "address": Msg(en="raw memory at each address", es="memoria leída en cada dirección"),
    "chunk": Msg(en="chunk = slices", es="chunk = cortes"),
    "fused": Msg(en="one projection = three", es="una proyección = tres"),
}

ORDER = Msg(en="The wrong order looks right", es="El orden equivocado parece correcto")
ORDER_LEAD = Msg(
    en="Both lines give the shape ({B}, {H}, {T}, {D}). Each cell below is what one head holds at one place: "
    "large, the token it came from; small, the channels.",
    es="Ambas líneas dan la forma ({B}, {H}, {T}, {D}). Cada celda es lo que una cabeza guarda en un lugar: "
    "en grande, el token del que procede; en pequeño, los canales.",
)
RIGHT = Msg(en="Right: view, then transpose", es="Correcto: view y después transpose")
WRONG = Msg(en="Wrong: view straight to (B, H, T, D)", es="Equivocado: view directo a (B, H, T, D)")
ORDER_ROWS = Msg(en="head", es="cabeza")
ORDER_COLS = Msg(en="place along T", es="lugar a lo largo de T")
RIGHT_SAYS = Msg(
    en="Read down a column: every head holds its own channels of the same token.",
    es="Léase una columna hacia abajo: cada cabeza guarda sus propios canales del mismo token.",
)
WRONG_SAYS = Msg(
    en="✗ marks a wrong cell: **{share:.0%}** of the numbers ({count:,d} of {total:,d}) are not where they belong. "
    "Head {h}, place {t} holds token {got_t}, channel {got_c} where token {want_t}, channel {want_c} belongs.",
    es="✗ marca una celda equivocada: **{share:.0%}** de los números ({count:,d} de {total:,d}) no están en su sitio. "
    "La cabeza {h}, lugar {t}, guarda el token {got_t}, canal {got_c}, donde corresponde el token {want_t}, "
    "canal {want_c}.",
)
WRONG_SAYS_EQUAL = Msg(
    en="Nothing is out of place: with H = 1 or T = 1 both orders read the memory alike. Such a test would not find the "
    "mistake.",
    es="Nada está fuera de sitio: con H = 1 o T = 1 ambos órdenes leen igual la memoria. Una prueba así no "
    "descubriría el error.",
)
ORDER_CUT = Msg(
    en="Shown: {rows} of {H} heads and {cols} of {T} places, of the first sequence.",
    es="Se muestran {rows} de {H} cabezas y {cols} de {T} lugares, de la primera secuencia.",
)
ORDER_COLUMNS = {
    "head": (Msg(en="head", es="cabeza"), "d"),
    "place": (Msg(en="place", es="lugar"), "d"),
    "token": (Msg(en="token it came from", es="token del que procede"), "d"),
    "channels": (Msg(en="channels", es="canales"), ""),
    "belongs": (Msg(en="belongs there", es="corresponde"), ""),
}
BARE_VIEW = Msg(
    en="A bare {code} refuses, because q is not contiguous. The usual “fix”, `contiguous()` or `reshape`, "
    "silences the error and lets the mistake through:",
    es="Un {code} a secas se niega, porque q no es contiguo. El «arreglo» habitual, `contiguous()` o `reshape`, "
    "acalla el error y deja pasar la equivocación:",
)
BARE_VIEW_PASSES = Msg(
    en="With these sizes even a bare {code} goes through without a word.",
    es="Con estos tamaños, incluso un {code} a secas pasa sin decir nada.",
)
CANCEL = Msg(
    en="**Two wrongs cancel.** Split and merge both in the wrong order and q comes back bit for bit, so a round trip "
    "does not find the mistake. The wrong merge alone misplaces {share:.0%}.",
    es="**Dos errores se anulan.** Si se separa y se une, ambas cosas en el orden equivocado, q vuelve bit a bit; por eso "
    "el viaje de ida y vuelta no descubre el error. La unión equivocada por sí sola descoloca el {share:.0%}.",
)
MERGE = Msg(
    en="**Why contiguous().** After the second transpose, {code} says:",
    es="**Para qué contiguous().** Tras el segundo transpose, {code} dice:",
)
MERGE_PASSES = Msg(
    en="**Why contiguous().** With these sizes {code} goes through even without it: H, T or D is 1.",
    es="**Para qué contiguous().** Con estos tamaños, {code} pasa incluso sin él: H, T o D vale 1.",
)

BAD = Msg(en="When H does not divide C", es="Cuando H no divide a C")
BAD_LEAD = Msg(
    en="Ask for {H} heads of {C} channels, and torch answers:",
    es="Pida {H} cabezas con {C} canales, y torch responde:",
)
BAD_REASON = Msg(
    en="{C} = {H} × {quotient} + {remainder}: of the {C} channels of a token, {remainder} would be left without a head. "
    "Of the {numel:,d} numbers of q, {used:,d} would find a place.",
    es="{C} = {H} × {quotient} + {remainder}: de los {C} canales de un token, {remainder} se quedarían sin cabeza. "
    "De los {numel:,d} números de q, {used:,d} tendrían sitio.",
)
LEGAL = Msg(en="H that divide C = {C}:", es="H que dividen a C = {C}:")
LEGAL_NEAR = Msg(
    en="The {n} nearest of the {total} H that divide C = {C}:",
    es="Los {n} más cercanos de los {total} H que dividen a C = {C}:",
)
TRY_BAD = Msg(en="Try H = {H}", es="Probar H = {H}")
SET = Msg(en="{name} = {value}", es="{name} = {value}")

CHUNK = Msg(en="chunk is slicing", es="chunk es cortar")
CHUNK_LEAD = Msg(
    en="{code} gives three looks into one memory. Slicing gives the same three: largest difference {difference:.0e}.",
    es="{code} da tres miradas a una misma memoria. Cortar da las mismas tres: diferencia máxima {difference:.0e}.",
)
CHUNK_COLUMNS = {
    "slice_code": (Msg(en="the same by slicing", es="lo mismo cortando"), ""),
    "storage_offset": (Msg(en="starts at", es="empieza en"), ",d"),
    "stride": (Msg(en="stride", es="stride"), ""),
    "largest_difference": (Msg(en="difference", es="diferencia"), ".0e"),
    "shared": (Msg(en="same memory", es="misma memoria"), ""),
}
FUSED = Msg(en="One projection or three", es="Una proyección o tres")
FUSED_LEAD = Msg(
    en="One Linear({C:,d}, {three_C:,d}) has **{fused:,d}** parameters; three Linear({C:,d}, {C:,d}) have "
    "{q:,d} + {k:,d} + {v:,d} = **{separate:,d}**. With the same rows, the outputs differ by {difference:.1e} at most.",
    es="Un Linear({C:,d}, {three_C:,d}) tiene **{fused:,d}** parámetros; tres Linear({C:,d}, {C:,d}) tienen "
    "{q:,d} + {k:,d} + {v:,d} = **{separate:,d}**. Con las mismas filas, las salidas difieren como mucho en "
    "{difference:.1e}.",
)
FUSED_COLUMNS = {
    "layer": (Msg(en="layer", es="capa"), ""),
    "parameters": (Msg(en="parameters", es="parámetros"), ",d"),
    "difference": (Msg(en="output, largest difference", es="salida, diferencia máxima"), ".1e"),
}

AUDIT = Msg(en="Every object of the layer", es="Todos los objetos de la capa")
AUDIT_LEAD = Msg(
    en="**{total:,d}** parameters: {qkv:,d} make q, k and v, {out:,d} mix the heads. The number of heads does not enter.",
    es="**{total:,d}** parámetros: {qkv:,d} forman q, k y v, {out:,d} mezclan las cabezas. El número de cabezas no "
    "interviene.",
)
AUDIT_COLUMNS = {
    "symbol": (Msg(en="object", es="objeto"), ""),
    "space": (Msg(en="space", es="espacio"), ""),
    "shape": (Msg(en="shape", es="forma"), ""),
    "purpose": (Msg(en="what it is for", es="para qué sirve"), ""),
    "numel": (Msg(en="numbers", es="números"), ",d"),
    "bytes": (Msg(en="bytes", es="bytes"), ",d"),
    "parameters": (Msg(en="parameters", es="parámetros"), ",d"),
}
SYMBOLS = {
    "W_qkv": "$W_{qkv}$",
    "Q": ":blue[Q]",
    "K": ":orange[K]",
    "V": ":green[V]",
    "scores": ":violet[scores]",
    "weights": ":yellow[weights]",
    "W_o": "$W_o$",
}
"""The objects in their colours; the names are those of the code."""
PURPOSES = {
    "input": Msg(en="the tokens come in", es="entran los tokens"),
    "project": Msg(en="makes q, k and v of each token", es="forma q, k y v de cada token"),
    "ask": Msg(en="what each token looks for", es="lo que busca cada token"),
    "offer": Msg(en="what each token offers", es="lo que ofrece cada token"),
    "carry": Msg(en="what each token hands over", es="lo que entrega cada token"),
    "compare": Msg(en="how well each query fits each key", es="cuánto encaja cada consulta con cada clave"),
    "share": Msg(en="how much of each value is read", es="cuánto se lee de cada valor"),
    "mix": Msg(en="what each head has read", es="lo que ha leído cada cabeza"),
    "join": Msg(en="the heads side by side", es="las cabezas, una junto a otra"),
    "recombine": Msg(en="mixes the heads", es="mezcla las cabezas"),
    "result": Msg(en="back in the shape of the input", es="de vuelta en la forma de la entrada"),
}

ASK = Msg(
    en="Suppose {name} goes from {now:,d} to {then:,d}. What changes?",
    es="Suponga que {name} pasa de {now:,d} a {then:,d}. ¿Qué cambia?",
)
ANSWERS = (
    Msg(en="Only the number of parameters", es="Solo la cantidad de parámetros"),
    Msg(en="Only the size of the scores and weights", es="Solo el tamaño de las puntuaciones y los pesos"),
    Msg(en="Both", es="Ambas cosas"),
    Msg(en="Neither", es="Ninguna"),
)
BECAUSE = Msg(
    en="Both were computed just now. Parameters: {p_now:,d} and {p_then:,d}. Scores: {s_now:,d} and {s_then:,d} numbers, "
    "one table of T × T a head and sequence.",
    es="Se acaban de calcular ambos. Parámetros: {p_now:,d} y {p_then:,d}. Puntuaciones: {s_now:,d} y {s_then:,d} números, "
    "una tabla de T × T por cabeza y secuencia.",
)

TRY = {
    "notebook": (
        Msg(en="The notebook's numbers", es="Los números del cuaderno"),
        Msg(
            en="Seed 42 and (2, 5, 12) with 3 heads, from the first step. Move the step slider with the arrow keys.",
            es="Semilla 42 y (2, 5, 12) con 3 cabezas, desde el primer paso. Mueva el paso con las flechas del teclado.",
        ),
    ),
    "one_head": (
        Msg(en="One head", es="Una sola cabeza"),
        Msg(
            en="H has size 1. What do the transposes still do, and is anything copied?",
            es="H mide 1. ¿Qué hacen aún las transposiciones? ¿Se copia algo?",
        ),
    ),
    "thin": (
        Msg(en="Heads one number wide", es="Cabezas de un número"),
        Msg(
            en="H = C. Not contiguous, and yet view could merge the heads: look at step 10.",
            es="H = C. No es contiguo y, aun así, view podría unir las cabezas: mire el paso 10.",
        ),
    ),
    "bad_h": (
        Msg(en="An H that does not fit", es="Un H que no cabe"),
        Msg(
            en="Five heads of twelve channels: the real error, its reason, and the way out.",
            es="Cinco cabezas con doce canales: el error real, su motivo y la salida.",
        ),
    ),
    "paper": (
        Msg(en="The paper: 512 and 8", es="El artículo: 512 y 8"),
        Msg(
            en="C and H of the base model. How far does one step along T jump now?",
            es="C y H del modelo base. ¿Cuánto salta ahora un paso a lo largo de T?",
        ),
    ),
    "one_token": (
        Msg(en="One token", es="Un solo token"),
        Msg(
            en="T has size 1: which mistakes can no longer be seen?",
            es="T mide 1: ¿qué errores dejan de verse?",
        ),
    ),
    "value": (
        Msg(en="Follow a number of v", es="Seguir un número de v"),
        Msg(
            en="It waits for the weights, then reaches one column of its head.",
            es="Espera a los pesos y después llega a una columna de su cabeza.",
        ),
    ),
}


def properties(step: Any, before: Any, lang: str) -> tuple[list[str], list[list[str]]]:
    """(head, rows) of a table: the properties of a step beside those of the one before, and which changed."""
    both = (before, step) if before else (step,)

    def mark(kept: bool) -> list[str]:
        return [(KEPT if kept else CHANGED)(lang)] if before else []

    head = ["", *([BEFORE(lang, tensor=before.tensor)] if before else []), NOW(lang, tensor=step.tensor)]
    axes = [f"({', '.join(shown.axes)})" for shown in both]
    rows = [[AXES(lang), *axes, *mark(axes[0] == axes[-1])]]
    for name, title in PROPERTIES.items():
        kept = name in step.preserved
        if name == "values":
            rows.append([BYTES(lang), *(number(shown.bytes, ",d", lang) for shown in both), *rows[-1][3:]])
        if name in COMPARED:
            rows += [[title(lang), "", FOUND[name, kept](lang), *mark(kept)]] if before else []
        else:
            rows.append([title(lang), *(_property(name, shown, lang) for shown in both), *mark(kept)])
    return [*head, *([" "] if before else [])], [[_unbroken(cell) for cell in row] for row in rows]


def _property(name: str, step: Any, lang: str) -> str:
    match name:
        case "contiguity":
            return (YES if step.contiguous else NO)(lang)
        case "numel":
            return number(step.numel, ",d", lang)
        case "storage":
            return STORAGE(lang, bytes=step.storage_bytes)
    return str(getattr(step, name))


def where(here: Any, name: str, lang: str) -> str:
    """Where the followed number is at one step, or its token's cell once it is no number of its own."""
    own = {"source": HERE_SOURCE, "element": HERE, "waiting": HERE_WAITING}
    msg = own.get(here.role, HERE_TOKEN)
    return msg(lang, name=f"`{name}`", here=f"`{place(here)}`", offset=here.offset, value=here.value)


def place(here: Any) -> str:
    """An index as code, e.g. q_heads[1, 1, 2, 3]."""
    return f"{here.tensor}[{', '.join(map(str, here.index))}]"


def address(here: Any, stride: tuple[int, ...], start: int, lang: str) -> str:
    """The sum that leads to the followed number: start + index x stride for each axis."""
    terms = " + ".join(f"{i}×{jump}" for i, jump in zip(here.index, stride))
    return ADDRESS_CODE(lang, start=start, terms=terms, offset=here.offset, byte=here.byte_offset)


def last_axis(step: Any) -> str:
    """The name of a step's last axis; a second T are the tokens as keys."""
    return "Tₖ" if step.axes[-2:] == ("T", "T") else step.axes[-1]


def parts(step: Any, here: Any, lang: str) -> tuple[tuple[str, str], ...]:
    """(code, words) of the parts of the memory picture."""
    axes = {"row": last_axis(step), "column": step.axes[-2]}
    return tuple((code, msg(lang, axis=axes.get(code, ""), tensor=here.tensor)) for code, msg in PARTS.items())


def wrong_says(found: Any, lang: str) -> str:
    """What the wrong order does with these sizes, with the first number that is out of place."""
    if found.equal:
        return WRONG_SAYS_EQUAL(lang)
    (_, head, along, _), got, want = found.first.index, found.first.came_from, found.first.belongs
    return WRONG_SAYS(
        lang,
        share=found.share,
        count=found.count,
        total=found.total,
        h=head,
        t=along,
        got_t=got[0],
        got_c=got[1],
        want_t=want[0],
        want_c=want[1],
    )


def audit(rows: Any, lang: str) -> tuple[list[str], list[list[str]]]:
    """(head, rows) of the audit table, with spaces and symbols as markup."""
    lines = [
        [
            SYMBOLS.get(row.symbol, row.symbol),
            "$" + row.space.replace("R^", r"\mathbb{R}^").replace("×", r"\times ") + "$",
            row.shape,
            PURPOSES[row.purpose](lang),
            *(number(count, ",d", lang) for count in (row.numel, row.bytes, row.parameters)),
        ]
        for row in rows
    ]
    head = [title(lang) for title, _ in AUDIT_COLUMNS.values()]
    return head, [[_unbroken(cell) for cell in line] for line in lines]


def _unbroken(cell: str) -> str:
    """On one line, so that a narrow screen scrolls the table instead of piling up words."""
    return cell.replace(" ", "\u00a0")
