"""The words of the heads page."""

from __future__ import annotations

from qkv_core.text import Msg, frame

QUESTION = Msg(en="What do different heads look at?", es="¿Qué miran las distintas cabezas?")
SOURCE = Msg(
    en="Vaswani et al. (2017), “Attention Is All You Need”, sections 3.2.1 to 3.2.3 and figures 3 to 5; Clark et al. (2019), "
    "“What Does BERT Look At?”. The rules of the hand-written heads are the lab’s own.",
    es="Vaswani et al. (2017), «Attention Is All You Need», secciones 3.2.1 a 3.2.3 y figuras 3 a 5; Clark et al. (2019), "
    "«What Does BERT Look At?». Las reglas de las cabezas escritas a mano son del propio laboratorio.",
)
LEAD = Msg(
    en="A head is one attention with its own :blue[$W_q$], :orange[$W_k$] and :green[$W_v$]. Other matrices, another way of reading "
    "the same sentence.",
    es="Una cabeza es una atención con sus propias :blue[$W_q$], :orange[$W_k$] y :green[$W_v$]. Otras matrices, otra manera de "
    "leer la misma frase.",
)

# where the heads come from

SOURCES_LABEL = Msg(en="Heads", es="Cabezas")
SOURCES = {
    "hand": Msg(en="written by hand", es="escritas a mano"),
    "typed": Msg(en="your own sentence", es="su propia frase"),
    "real": Msg(en="trained (MiniLM)", es="entrenadas (MiniLM)"),
    "trained": Msg(en="trained here", es="entrenadas aquí"),
}
ORIGINS = {
    "hand": Msg(
        en="**Origin: written by hand.** A person wrote the features of every word and the rules of this head; "
        ":blue[$W_q$] and :orange[$W_k$] are those rules, written out. Nothing here was learned from data.",
        es="**Origen: escrita a mano.** Una persona escribió los rasgos de cada palabra y las reglas de esta cabeza; "
        ":blue[$W_q$] y :orange[$W_k$] son esas reglas. Nada de esto se aprendió de datos.",
    ),
    "typed": Msg(
        en="**Origin: written by hand,** for any text: a token is its place in the sentence (or the number of its word), and "
        "nothing is known about what it means.",
        es="**Origen: escrita a mano,** para cualquier texto: un token es su lugar en la frase (o el número de su palabra), y "
        "nada se sabe de su significado.",
    ),
    "real": Msg(
        en="**Origin: trained weights,** all-MiniLM-L6-v2, layer {layer}, head {head} (both counted from 0), run here. The tokens "
        "are its word pieces.",
        es="**Origen: pesos entrenados,** all-MiniLM-L6-v2, capa {layer}, cabeza {head} (contadas desde 0), ejecutados aquí. Los "
        "tokens son sus fragmentos de palabra.",
    ),
}
ORIGIN_TRAINED = Msg(
    en="**Origin: trained here,** in this visit. Task: {task}. Arm: {arm}. Run {run} (seed {seed}), after {step:,} steps; loss on this "
    "example: {loss:.4g}. Layer {layer}, head {head}.",
    es="**Origen: entrenada aquí,** en esta visita. Tarea: {task}. Brazo: {arm}. Entrenamiento {run} (semilla {seed}), tras {step:,} pasos; "
    "pérdida en este ejemplo: {loss:.4g}. Capa {layer}, cabeza {head}.",
)
TO_TRAINING = Msg(en="To the training page", es="A la página de entrenamiento")
FARTHER = Msg(
    en="This net stands still while you are here. Train on, or look back to another step, on the training page.",
    es="Esta red no cambia mientras usted está aquí. Siga entrenando, o vuelva a otro paso, en la página de entrenamiento.",
)
AS_TRAINED = Msg(en="τ, mask and scale as it was trained", es="τ, máscara y escala como se entrenó")
OWN_MASK = Msg(
    en="The task’s own causal mask belongs to the net and always holds.",
    es="La máscara causal propia de la tarea pertenece a la red y siempre se aplica.",
)
ARM = Msg(en="Arm", es="Brazo")
NET_LAYER = Msg(en="Layer", es="Capa")
SENTENCE = Msg(en="Sentence", es="Frase")
HEAD = Msg(en="Head", es="Cabeza")
LAYER = Msg(en="Layer (from 0)", es="Capa (desde 0)")
NUMBER = Msg(en="Head (from 0)", es="Cabeza (desde 0)")
HEADS = {
    "coreference": Msg(en="pronoun → its noun", es="pronombre → su nombre"),
    "predicate": Msg(en="pronoun → predicate", es="pronombre → predicado"),
    "subject": Msg(en="verb → subject", es="verbo → sujeto"),
    "object": Msg(en="verb → object", es="verbo → objeto"),
    "modifier": Msg(en="modifier → noun", es="modificador → nombre"),
    "previous": Msg(en="previous token", es="token anterior"),
    "next": Msg(en="next token", es="token siguiente"),
    "same_word": Msg(en="same word", es="misma palabra"),
}
LAYERS = {
    "one": Msg(en="It stands in the first layer.", es="Está en la primera capa."),
    "two": Msg(
        en="It stands in the second layer and reads what the head “{below}” of the first one wrote.",
        es="Está en la segunda capa y lee lo que escribió la cabeza «{below}» de la primera.",
    ),
}
TYPE_LABEL = Msg(en="Your sentence", es="Su frase")
TYPE_HINT = Msg(en="Type here, in any language", es="Escriba aquí, en cualquier idioma")
TYPE_HELP = Msg(
    en="Words are what stands between spaces; a Chinese or Japanese character and an emoji are each one token. At most {most} "
    "tokens are used. Ctrl + Enter, or a click outside the box, sends it. It stands in the link.",
    es="Las palabras son lo que hay entre espacios; un carácter chino o japonés y un emoji son un token cada uno. Se usan como "
    "mucho {most} tokens. Ctrl + Intro, o un clic fuera del cuadro, lo envía. Queda en el enlace.",
)
TYPE_REAL_LABEL = Msg(en="Your own sentence (empty: the one above)", es="Su propia frase (vacío: la de arriba)")
TYPE_REAL_HELP = Msg(
    en="MiniLM splits it into word pieces, at most {most} with [CLS] and [SEP]; it does not tell capitals from small letters. It "
    "was trained on English.",
    es="MiniLM la divide en fragmentos, como mucho {most} con [CLS] y [SEP]; no distingue mayúsculas de minúsculas. Se entrenó "
    "con inglés.",
)
CUT = Msg(
    en="{found:,} tokens were found; the first {kept} are used.", es="Se han encontrado {found:,} tokens; se usan los {kept} primeros."
)
REASONS = {
    "no_words": Msg(
        en="There are no words yet. Type a sentence above, in any language.",
        es="Todavía no hay palabras. Escriba arriba una frase, en cualquier idioma.",
    ),
    "needs_features": Msg(
        en="This head reads word class, gender, number or role, and nobody wrote those for your words. Nothing is invented here: "
        "choose a head that reads places, or a sentence of the lab.",
        es="Esta cabeza lee clase de palabra, género, número o función, y nadie los escribió para sus palabras. Aquí no se inventa "
        "nada: elija una cabeza que lea lugares, o una frase del laboratorio.",
    ),
    "package_missing": Msg(
        en="The trained weights are an extra of 84 MB and are not installed here. This command, in the folder of the lab, "
        "installs them; then restart the lab.",
        es="Los pesos entrenados son un extra de 84 MB y no están instalados aquí. Esta orden, en la carpeta del laboratorio, los "
        "instala; después reinicie el laboratorio.",
    ),
    "readers_missing": Msg(
        en="The trained weights are here, but not the two libraries that read them. This command installs what is missing; then "
        "restart the lab.",
        es="Los pesos entrenados están, pero faltan las dos bibliotecas que los leen. Esta orden instala lo que falta; después "
        "reinicie el laboratorio.",
    ),
    "file_missing": Msg(
        en="The package of the trained weights is here, but a file is missing from it. This command installs it again, with "
        "`--force-reinstall` after `install`.",
        es="El paquete de los pesos entrenados está, pero le falta un archivo. Esta orden lo instala de nuevo, con "
        "`--force-reinstall` después de `install`.",
    ),
    "file_changed": Msg(
        en="A file of the trained weights is not the one we know (its SHA-256 differs), so it is not used. This command installs it "
        "again, with `--force-reinstall` after `install`.",
        es="Un archivo de los pesos entrenados no es el que conocemos (su SHA-256 difiere), así que no se usa. Esta orden lo "
        "instala de nuevo, con `--force-reinstall` después de `install`.",
    ),
}
NO_RUN = Msg(en="Nothing has been trained in this visit yet", es="Todavía no se ha entrenado nada en esta visita")
REASONS |= {
    "no_run": Msg(
        en="Here you can open the heads of a net that you trained yourself. Go to the training page and press Play, or train a single "
        "step; then come back by the menu. A net lives only as long as your visit, so a link can’t carry it.",
        es="Aquí puede abrir las cabezas de una red entrenada por usted. Vaya a la página de entrenamiento y pulse «Iniciar», o entrene un "
        "solo paso; después vuelva por el menú. Una red vive solo mientras dura su visita, así que un enlace no puede llevarla.",
    ),
    "run_gone": Msg(
        en="Your training had to give its place to another viewer while you were away. Train again; the same settings give the same net.",
        es="Su entrenamiento tuvo que ceder su lugar a otra persona mientras usted no estaba. Entrene de nuevo; los mismos ajustes dan la "
        "misma red.",
    ),
    "not_finite": Msg(
        en="This run diverged: its numbers are infinite, or too large to compute with, so there is no map to show. Choose another run or arm, or look back "
        "to an earlier step on the training page.",
        es="Este entrenamiento divergió: sus números son infinitos, o demasiado grandes para calcular, así que no hay mapa que mostrar. Elija otro "
        "entrenamiento o brazo, o vuelva a un paso anterior en la página de entrenamiento.",
    ),
}
INSTALLS = ("package_missing", "readers_missing", "file_missing", "file_changed")
"""The reasons that a command mends."""
WORKS_TYPED = Msg(en="These work on any text:", es="Estas funcionan con cualquier texto:")
EXTRA = Msg(en="An optional extra", es="Un extra opcional")

# the mask

PADDING = Msg(en="Padding tokens at the end", es="Tokens de relleno al final")
PADDING_TYPED = Msg(en="Last tokens that count as padding", es="Últimos tokens que cuentan como relleno")
PADDING_HELP = Msg(
    en="A batch needs sentences of equal length, so short ones are filled up. Only the padding mask hides the filling.",
    es="Un lote necesita frases de igual longitud, así que las cortas se rellenan. Solo la máscara de relleno oculta el relleno.",
)
RADIUS = Msg(en="Radius of the window", es="Radio de la ventana")
PREFIX = Msg(en="Length of the prefix", es="Longitud del prefijo")
PAINT = Msg(en="Paint your own mask", es="Pintar su propia máscara")
PAINT_HELP = Msg(
    en="While this is on, a click on a cell hides it or shows it again, on top of the mask. Off: the painted cells don’t count.",
    es="Mientras está activado, un clic en una celda la oculta o la vuelve a mostrar, además de la máscara. Desactivado: las "
    "celdas pintadas no cuentan.",
)
PAINTED = Msg(
    en="Click a cell to hide it; a second click shows it again. Painted: {n}.",
    es="Pulse una celda para ocultarla; otra pulsación la muestra de nuevo. Pintadas: {n}.",
)
PAINT_ONE = Msg(en="Hide or show the chosen cell", es="Ocultar o mostrar la celda elegida")
PAINT_ROW = Msg(en="Hide the whole row", es="Ocultar toda la fila")
PAINT_NONE = Msg(en="Show all again", es="Mostrar todo de nuevo")
TAU_MARKS = {
    0.2: Msg(en="{tau:g} sharp", es="{tau:g} nítida"),
    1.0: Msg(en="{tau:g} standard", es="{tau:g} estándar"),
    2.5: Msg(en="{tau:g} diffuse", es="{tau:g} difusa"),
}
"""The lesson's marks on the temperature."""
MASKS = frame.OPTIONS["mask"]
NO_PADDING = Msg(
    en="There is no padding yet, so this mask hides nothing: add some with the slider.",
    es="Aún no hay relleno, así que esta máscara no oculta nada: añada con el control deslizante.",
)

# the matrix

VIEW = Msg(en="Numbers", es="Números")
VIEWS = {
    "weights": Msg(en="weights", es="pesos"),
    "scores": Msg(en="scores", es="puntuaciones"),
    "raw": Msg(en="raw q·k", es="q·k bruto"),
}
DRAW = Msg(en="Picture", es="Figura")
DRAWS = {"matrix": Msg(en="matrix", es="matriz"), "lines": Msg(en="lines", es="líneas")}
ZOOM = Msg(en="Zoom in around the chosen cell", es="Ampliar alrededor de la celda elegida")
QUERIES = Msg(en="queries", es="consultas")
KEYS = Msg(en="keys", es="claves")
INPUT = Msg(en="input", es="entrada")
VALUE = Msg(en="value", es="valor")
QUERY = Msg(en="query", es="consulta")
KEY = Msg(en="key", es="clave")
ROW = Msg(en=":blue[Query]: row", es=":blue[Consulta]: fila")
ROW_HELP = Msg(
    en="A click on a cell, the arrow keys on this slider, or the list beside it: all choose the same row.",
    es="Un clic en una celda, las flechas en este control o la lista de al lado: todos eligen la misma fila.",
)
ROW_LIST = Msg(en=":blue[Query]: word", es=":blue[Consulta]: palabra")
COL_LIST = Msg(en=":orange[Key]", es=":orange[Clave]")
STRONGEST = Msg(en="the strongest", es="la más fuerte")
START_NAME = Msg(en="the start token", es="el token de inicio")
PAD_NAME = Msg(en="padding token {n}", es="el token de relleno {n}")
TOKEN_NAME = Msg(en="token {n}", es="el token {n}")
REPEATED_NAME = Msg(en="{word} ({n})", es="{word} ({n})")
EMPTY_CELL = Msg(en="hidden by the mask", es="oculto por la máscara")

MATRIX_SAYS = {
    "weights": Msg(
        en="{T} queries in rows read {T} keys in columns; each row of weights adds up to 1. The largest weight is {largest:.1%}: "
        "{q} reads {k}.",
        es="{T} consultas en filas leen {T} claves en columnas; cada fila de pesos suma 1. El mayor peso es {largest:.1%}: {q} "
        "lee {k}.",
    ),
    "scores": Msg(
        en="Scores q·k / ({divisor:.4g} · {tau:g}) of {T} queries (rows) with {T} keys (columns). The largest is {largest:.2f}: {q} with {k}.",
        es="Puntuaciones q·k / ({divisor:.4g} · {tau:g}) de {T} consultas (filas) con {T} claves (columnas). La mayor es {largest:.2f}: "
        "{q} con {k}.",
    ),
    "raw": Msg(
        en="Raw scores q·k, before the division, of {T} queries (rows) with {T} keys (columns). The largest is {largest:.2f}: {q} with {k}.",
        es="Puntuaciones brutas q·k, antes de dividir, de {T} consultas (filas) con {T} claves (columnas). La mayor es {largest:.2f}: {q} "
        "con {k}.",
    ),
}
MATRIX_NOTHING = Msg(en="The mask hides everything.", es="La máscara lo oculta todo.")
SMALL_BLANK = Msg(en="Weights below {limit:g} are left blank.", es="Los pesos menores que {limit:g} quedan en blanco.")
CROSSES = Msg(en="×: hidden by the mask.", es="×: oculto por la máscara.")
HATCHED = Msg(en="Hatched: hidden by the mask.", es="Rayado: oculto por la máscara.")
LARGE = Msg(
    en="Drawn as a picture of {T} × {T} dots; a click chooses the row.",
    es="Dibujada como imagen de {T} × {T} puntos; un clic elige la fila.",
)
WINDOWED = Msg(
    en="Zoomed: rows {a} to {b} and columns {c} to {d} of {T}.",
    es="Ampliada: filas {a} a {b} y columnas {c} a {d} de {T}.",
)
LINES_SAYS = Msg(
    en="Lines from {q} to its keys, as wide as their weights. The widest goes to {k}: {share:.1%}.",
    es="Líneas desde {q} hasta sus claves, tan anchas como sus pesos. La más ancha va a {k}: {share:.1%}.",
)
LINES_NONE = Msg(en="No line leaves {q}: the mask hides every key.", es="Ninguna línea sale de {q}: la máscara oculta todas las claves.")

# the row

READS = Msg(en="{q} reads {k}: {share:.1%}", es="{q} lee {k}: {share:.1%}")
READS_TWO = Msg(en="{q} reads {a} and {b} alike: {share:.1%} each", es="{q} lee por igual {a} y {b}: {share:.1%} cada una")
READS_ALIKE = Msg(en="{q} reads {n} keys alike: {share:.1%} each", es="{q} lee por igual {n} claves: {share:.1%} cada una")
READS_NOTHING = Msg(en="{q} reads nothing", es="{q} no lee nada")
READS_TYPED = Msg(en="{i}  {q}   →   {j}  {k}:  {share:.1%}", es="{i}  {q}   →   {j}  {k}:  {share:.1%}")
READS_TYPED_NOTHING = Msg(en="{i}  {q}   →   nothing", es="{i}  {q}   →   nada")
EMPTY_ROW = Msg(
    en="The mask leaves this row nothing to read. By rule its :yellow[weights] and its output are 0, not NaN.",
    es="La máscara no deja a esta fila nada que leer. Por convenio sus :yellow[pesos] y su salida son 0, no NaN.",
)
EMPTY_ROWS = Msg(
    en="{n} of {T} rows have nothing to read: their weights and outputs are 0 by rule, and the checks of row sums leave them out.",
    es="{n} de {T} filas no tienen nada que leer: sus pesos y salidas son 0 por convenio, y las comprobaciones de sumas las omiten.",
)
ENTROPY = Msg(en="Entropy", es="Entropía")
ENTROPY_HELP = Msg(en="In nats; at most ln {n} = {most:.2f} here.", es="En nats; aquí como mucho ln {n} = {most:.2f}.")
EFFECTIVE = Msg(en="Keys it reads, in effect", es="Claves que lee, en efecto")
EFFECTIVE_HELP = Msg(
    en="exp(entropy): so many equal weights would have the same entropy.",
    es="exp(entropía): tantos pesos iguales tendrían la misma entropía.",
)
TOP = Msg(en="Largest weight", es="Mayor peso")
SORTED = Msg(en="Its :yellow[weights], the largest first", es="Sus :yellow[pesos], de mayor a menor")
IN_ORDER = Msg(en="The same in the order of the tokens", es="Los mismos en el orden de los tokens")
WEIGHT = Msg(en="weight", es="peso")
SORTED_SAYS = Msg(
    en="The {n} largest of {T} weights of {q}; together {share:.1%}.",
    es="Los {n} mayores de los {T} pesos de {q}; juntos, {share:.1%}.",
)
ORDER_SAYS = Msg(
    en="The weights of {q} by position: {before:.1%} before it, {own:.1%} on itself, {after:.1%} after it.",
    es="Los pesos de {q} por posición: {before:.1%} antes, {own:.1%} en sí mismo, {after:.1%} después.",
)
ROW_COLUMNS = {
    "position": (Msg(en="position", es="posición"), "d"),
    "key": (Msg(en="key", es="clave"), ""),
    "raw": (Msg(en="q·k", es="q·k"), ".4f"),
    "scaled": (Msg(en="score", es="puntuación"), ".4f"),
    "hidden": (Msg(en="mask", es="máscara"), ""),
    "exp": (Msg(en="exp(score − max)", es="exp(puntuación − máx)"), ".6f"),
    "weight": (Msg(en="weight", es="peso"), ".6f"),
}
SEEN = Msg(en="seen", es="visible")
HIDDEN = Msg(en="hidden", es="oculta")

# one cell

CELL = Msg(en="One weight, from q and k: {q} asks, {k} answers", es="Un peso, a partir de q y k: {q} pregunta, {k} responde")
CELL_FORMULA = Msg(en="With this row’s own numbers:", es="Con los números de esta fila:")
REST = Msg(en="…", es="…")
CELL_HIDDEN = Msg(
    en="The mask hides this key from this query: its score becomes −∞, exp(−∞) = 0, so the :yellow[weight] is exactly 0.",
    es="La máscara oculta esta clave a esta consulta: su puntuación pasa a −∞, exp(−∞) = 0, así que el :yellow[peso] es exactamente 0.",
)
STRIPS = Msg(
    en=":blue[$q$], :orange[$k$] and their products, coordinate by coordinate",
    es=":blue[$q$], :orange[$k$] y sus productos, coordenada a coordenada",
)
STRIPS_SAYS = Msg(
    en="{n} of the {d_k} products are not 0; they add up to q·k = {raw:.4f}. The largest in size is {largest:.4f}, at coordinate {at}.",
    es="{n} de los {d_k} productos no son 0; suman q·k = {raw:.4f}. El mayor en tamaño es {largest:.4f}, en la coordenada {at}.",
)
STRIPS_NONE = Msg(
    en="All {d_k} products are 0: q·k = 0. Nothing in this key is what the query asks for.",
    es="Los {d_k} productos son 0: q·k = 0. Nada de esta clave es lo que la consulta pide.",
)
COORDINATE = Msg(en="coordinate", es="coordenada")
PRODUCT = Msg(en="product", es="producto")
COORDINATE_NAME = Msg(en="{n}: {name}", es="{n}: {name}")
STRIP_COLUMNS = {
    "m": (Msg(en="m", es="m"), "d"),
    "name": (COORDINATE, ""),
    "q": (Msg(en="q", es="q"), ".4f"),
    "k": (Msg(en="k", es="k"), ".4f"),
    "product": (PRODUCT, ".4f"),
}
RULES = Msg(en="Which rules fired, with their points", es="Qué reglas se han cumplido, con sus puntos")
RULE_COLUMNS = (
    Msg(en="the query is", es="la consulta es"),
    Msg(en="the key is", es="la clave es"),
    Msg(en="points", es="puntos"),
)
RULE_SUM = Msg(en="**sum**", es="**suma**")
RULE_SAYS = Msg(
    en="q·k / √dₖ = {points:.4f}, the sum of the points; with the settings on screen the score is {score:.4f}.",
    es="q·k / √dₖ = {points:.4f}, la suma de los puntos; con los ajustes en pantalla la puntuación es {score:.4f}.",
)
RULE_NONE = Msg(
    en="No rule matches here, so q·k = 0. The weight comes only from what the other keys leave.",
    es="Aquí no se cumple ninguna regla, así que q·k = 0. El peso es solo lo que dejan las otras claves.",
)
RULE_SHARE = Msg(
    en="Points that are not whole: the first layer wrote that feature, as a share of 1.",
    es="Puntos no enteros: ese rasgo lo escribió la primera capa, como parte de 1.",
)
HEAD_RULES = Msg(en="All {n} rules of this head", es="Las {n} reglas de esta cabeza")
ALL_RULE_COLUMNS = {
    "query": (RULE_COLUMNS[0], ""),
    "key": (RULE_COLUMNS[1], ""),
    "points": (RULE_COLUMNS[2], ".0f"),
}
FEATURES_OF = Msg(en="**{word}**: {features}", es="**{word}**: {features}")

# features, by their name without its number

FEATURE = {
    "start": Msg(en="the start token", es="token de inicio"),
    "every": Msg(en="any token", es="cualquier token"),
    "padding": Msg(en="padding", es="relleno"),
    "position": Msg(en="position", es="posición"),
    "place": Msg(en="place", es="lugar"),
    "word": Msg(en="word no.", es="palabra n.º"),
    "determiner": Msg(en="determiner", es="determinante"),
    "noun": Msg(en="noun", es="nombre"),
    "verb": Msg(en="verb", es="verbo"),
    "pronoun": Msg(en="pronoun", es="pronombre"),
    "adjective": Msg(en="adjective", es="adjetivo"),
    "adverb": Msg(en="adverb", es="adverbio"),
    "preposition": Msg(en="preposition", es="preposición"),
    "conjunction": Msg(en="conjunction", es="conjunción"),
    "particle": Msg(en="particle", es="partícula"),
    "masculine": Msg(en="masculine", es="masculino"),
    "feminine": Msg(en="feminine", es="femenino"),
    "neuter": Msg(en="neuter", es="neutro"),
    "singular": Msg(en="singular", es="singular"),
    "plural": Msg(en="plural", es="plural"),
    "living": Msg(en="a living being", es="ser vivo"),
    "thing": Msg(en="a thing", es="cosa"),
    "subject": Msg(en="subject", es="sujeto"),
    "object": Msg(en="object", es="objeto"),
    "predicate": Msg(en="what is said of it", es="lo que se dice de él"),
    "clause": Msg(en="in clause", es="en la oración"),
    "phrase": Msg(en="in phrase", es="en el sintagma"),
    "modifies": Msg(en="modifies phrase", es="modifica al sintagma"),
    "looks": Msg(en="stands for a noun", es="representa a un nombre"),
    "looks_in": Msg(en="stands for a noun, in clause", es="representa a un nombre, en la oración"),
    "verb_of": Msg(en="verb of clause", es="verbo de la oración"),
    "asks_masculine": Msg(en="asks for masculine", es="pide masculino"),
    "asks_feminine": Msg(en="asks for feminine", es="pide femenino"),
    "asks_neuter": Msg(en="asks for neuter", es="pide neutro"),
    "asks_singular": Msg(en="asks for singular", es="pide singular"),
    "asks_plural": Msg(en="asks for plural", es="pide plural"),
    "asks_living": Msg(en="asks for a living being (read in layer 1)", es="pide un ser vivo (leído en la capa 1)"),
    "asks_thing": Msg(en="asks for a thing (read in layer 1)", es="pide una cosa (leído en la capa 1)"),
    "fits_living": Msg(en="said of living beings", es="se dice de seres vivos"),
    "fits_thing": Msg(en="said of things", es="se dice de cosas"),
}

# notes

NOTICE = Msg(en="What to notice", es="En qué fijarse")
PREDICATE_HIDDEN = Msg(
    en="The mask hides **{what}** from **{q}**, and only that word tells the nouns apart: **{a}** gets {first:.1%}, **{b}** gets {second:.1%}.",
    es="La máscara oculta **{what}** a **{q}**, y solo esa palabra distingue a los nombres: **{a}** recibe {first:.1%}, **{b}** recibe {second:.1%}.",
)
PREDICATE_UNSEEN = Msg(
    en="The mask hides **{what}** from **{q}**: it can’t read what is said of it.",
    es="La máscara oculta **{what}** a **{q}**: no puede leer lo que se dice de él.",
)
PREDICATE_READ = Msg(
    en="In the first layer **{q}** reads **{what}** ({share:.1%}); only then can it choose between the nouns.",
    es="En la primera capa **{q}** lee **{what}** ({share:.1%}); solo entonces puede elegir entre los nombres.",
)
UNDECIDED = Msg(
    en="Nothing that was written about these words decides: **{a}** and **{b}** get {share:.1%} each.",
    es="Nada de lo escrito sobre estas palabras decide: **{a}** y **{b}** reciben {share:.1%} cada una.",
)
EXPECTED = Msg(
    en="This head was written to find **{k}** from **{q}**; here that weight is {share:.1%}.",
    es="Esta cabeza se escribió para encontrar **{k}** desde **{q}**; aquí ese peso es {share:.1%}.",
)
NO_PAIR = Msg(
    en="In this sentence the head finds nothing it was written for; unmatched rows rest on the start token: {share:.1%} of all weight lies there.",
    es="En esta frase la cabeza no encuentra nada de aquello para lo que se escribió; las filas sin pareja descansan en el token de "
    "inicio: ahí está {share:.1%} de todo el peso.",
)
START_SHARE = Msg(
    en="Where no rule matches, the weight rests on the start token: {share:.1%} of all weight lies there.",
    es="Donde no se cumple ninguna regla, el peso descansa en el token de inicio: ahí está {share:.1%} de todo el peso.",
)
OFFSETS = Msg(
    en="Of all weight, {before:.1%} goes to the token just before, {after:.1%} to the one just after, {own:.1%} to the token itself and {first:.1%} to the first token.",
    es="De todo el peso, {before:.1%} va al token justo anterior, {after:.1%} al justo siguiente, {own:.1%} al propio token y {first:.1%} al primer token.",
)
NOTES = {
    "start_hidden": Msg(
        en="Some rows can’t see the start token; where nothing matches, their weight is spread over what they can see.",
        es="Algunas filas no ven el token de inicio; donde nada encaja, su peso se reparte entre lo que sí ven.",
    ),
    "ends_stay": Msg(
        en="Typed text has no start token: where no neighbour can be seen, a token stays with itself.",
        es="El texto escrito no tiene token de inicio: donde no se ve ningún vecino, el token se queda consigo mismo.",
    ),
    "lens": Msg(
        en="τ, mask and scale act as a lens on this one head: the layers below it run as they were trained.",
        es="τ, máscara y escala actúan como una lente sobre esta sola cabeza: las capas inferiores trabajan como se entrenaron.",
    ),
    "no_subject_head": Msg(
        en="Measured and not found: a head that goes from the verb to its subject.",
        es="Medido y no encontrado: una cabeza que vaya del verbo a su sujeto.",
    ),
    "it_does_not_flip": Msg(
        en="Measured: for *it*, no head changes from *animal* to *street* when *tired* becomes *wide*.",
        es="Medido: para *it*, ninguna cabeza pasa de *animal* a *street* cuando *tired* cambia a *wide*.",
    ),
    "spanish_at_chance": Msg(
        en="Measured: Spanish pronouns find their noun no better than by chance. The model was trained on English.",
        es="Medido: los pronombres españoles encuentran su nombre no mejor que al azar. El modelo se entrenó con inglés.",
    ),
}
NET_RIGHT = Msg(
    en="The net answers **{said}** to this example, and that is right.", es="La red responde **{said}** a este ejemplo, y es correcto."
)
NET_WRONG = Msg(
    en="The net answers **{said}** to this example; right is **{right}**.",
    es="La red responde **{said}** a este ejemplo; lo correcto es **{right}**.",
)
NET_ROWS = Msg(
    en="In the last layer only the last token, **{q}**, is asked: the rows above it play no part in the answer.",
    es="En la última capa solo se pregunta al último token, **{q}**: las filas de arriba no intervienen en la respuesta.",
)
NET_CAT_SAT = Msg(
    en="One layer, no word embeddings: the output is compared with the target, and the mean squared error is {loss:.4g}.",
    es="Una capa, sin representaciones de palabras: la salida se compara con el objetivo, y el error cuadrático medio es {loss:.4g}.",
)
NET_NO_MEANING = Msg(
    en="This map means nothing about language: :green[$W_v$] alone can reach the target with almost any weights. It shows the mechanics.",
    es="Este mapa no dice nada del lenguaje: :green[$W_v$] sola puede alcanzar el objetivo con casi cualquier peso. Enseña la mecánica.",
)
NO_RULES = Msg(
    en="Nobody wrote rules or named coordinates for this head: its matrices came out of {step:,} training steps. What a coordinate stands "
    "for is not known, so nothing is said of it.",
    es="Nadie escribió reglas ni puso nombre a las coordenadas de esta cabeza: sus matrices salieron de {step:,} pasos de entrenamiento. "
    "No se sabe qué representa una coordenada, así que nada se dice de ello.",
)
SPANISH_PAIR = Msg(
    en="Spanish leaves the pronoun out, so the query is the verb **{q}**, which stands for it.",
    es="El español omite el pronombre, así que la consulta es el verbo **{q}**, que lo representa.",
)
STEAL = Msg(
    en="Padding takes **{mean:.1%}** of the weight of the real tokens, and {most:.1%} from {q}: nothing hides it. With the padding mask it takes exactly {masked:g}.",
    es="El relleno se lleva **{mean:.1%}** del peso de los tokens reales, y {most:.1%} de {q}: nada lo oculta. Con la máscara de relleno "
    "se lleva exactamente {masked:g}.",
)
STEAL_NONE = Msg(
    en="The padding mask is on: padding takes exactly {mean:g} of the weight.",
    es="La máscara de relleno está puesta: el relleno se lleva exactamente {mean:g} del peso.",
)
REAL_NAMED = Msg(en="Heads named by measurement", es="Cabezas nombradas por medición")
REAL_NAMES = {
    "previous": Msg(en="previous token ({layer}.{head})", es="token anterior ({layer}.{head})"),
    "next": Msg(en="next token ({layer}.{head})", es="token siguiente ({layer}.{head})"),
    "antecedent": Msg(en="she, he → noun ({layer}.{head})", es="she, he → nombre ({layer}.{head})"),
    "parks": Msg(en="parks on [CLS] ({layer}.{head})", es="aparca en [CLS] ({layer}.{head})"),
}

# all heads

ALL = Msg(en="All heads side by side", es="Todas las cabezas, una junto a otra")
ALL_LEAD = {
    "hand": Msg(
        en="The same sentence and settings, {n} heads. Rows are queries, columns are keys, as above. Press a name to open that head.",
        es="La misma frase y los mismos ajustes, {n} cabezas. Las filas son consultas y las columnas claves, como arriba. Pulse un "
        "nombre para abrir esa cabeza.",
    ),
    "typed": Msg(
        en="The {n} heads that read places or words, on your text. Press a name to open that head.",
        es="Las {n} cabezas que leen lugares o palabras, sobre su texto. Pulse un nombre para abrir esa cabeza.",
    ),
    "real": Msg(
        en="The {n} heads of layer {layer}. Rows are queries, columns are keys, as above. Press a number to open that head.",
        es="Las {n} cabezas de la capa {layer}. Las filas son consultas y las columnas claves, como arriba. Pulse un número para "
        "abrir esa cabeza.",
    ),
    "trained": Msg(
        en="Heads in this net, over all its layers: {n}. Rows are queries, columns are keys, as above.",
        es="Cabezas de esta red, en todas sus capas: {n}. Las filas son consultas y las columnas claves, como arriba.",
    ),
}
MEAN = Msg(en="mean of the {n}", es="media de las {n}")
MEAN_NOTE = Msg(
    en="The last picture is the **mean** of the {n} weights, and no head. For {q} it gives at most {mean:.1%} to one key; of the heads, “{name}” gives {most:.1%}.",
    es="La última imagen es la **media** de los {n} pesos, y no una cabeza. Para {q} da como mucho {mean:.1%} a una clave; entre las cabezas, "
    "«{name}» da {most:.1%}.",
)
THUMB_SAYS = Msg(
    en="Weights of {name}: the largest is {largest:.1%}, {q} reads {k}.", es="Pesos de {name}: el mayor es {largest:.1%}, {q} lee {k}."
)
HEAD_NUMBER = Msg(en="head {n}", es="cabeza {n}")

# together

TOGETHER = Msg(en="Putting heads together", es="Juntar las cabezas")
TOGETHER_LEAD = Msg(
    en="The outputs of the {h} heads stand side by side, {h} × {d_v} = {width} numbers a token, and $W_o$ ({width} × {d_model}) mixes them. "
    "That is the same as adding up one part a head:",
    es="Las salidas de las {h} cabezas se ponen una junto a otra, {h} × {d_v} = {width} números por token, y $W_o$ ({width} × {d_model}) las "
    "mezcla. Es lo mismo que sumar una parte por cabeza:",
)
TOGETHER_FORMULA = r"\mathrm{Concat}(\mathrm{head}_1,\dots,\mathrm{head}_h)\,W_o=\sum_{i=1}^{h}\mathrm{head}_i\,W_o^{(i)}"
TOGETHER_DRAWN = Msg(
    en="Nobody trained this $W_o$: it is drawn from seed {seed}, with variance 1/{d_model}.",
    es="Nadie entrenó esta $W_o$: se genera con la semilla {seed}, con varianza 1/{d_model}.",
)
TOGETHER_TRAINED = Msg(
    en="This $W_o$ is the trained one of layer {layer}; its bias, the same for every token, is left out.",
    es="Esta $W_o$ es la entrenada de la capa {layer}; su sesgo, igual para todo token, se omite.",
)
TOGETHER_NETS = Msg(
    en="Heads in this layer: {h}, each with {d_v} of the {width} numbers of a token. These nets have no $W_o$, so in the formula it is the "
    "identity ({width} × {d_model}), and each head fills channels of its own:",
    es="Cabezas de esta capa: {h}, cada una con {d_v} de los {width} números de un token. Estas redes no tienen $W_o$, así que en la fórmula "
    "es la identidad ({width} × {d_model}), y cada cabeza llena sus propios canales:",
)
TOGETHER_ADDED = Msg(en="The layer adds this sum to what it read.", es="La capa suma esto a lo que leyó.")
TOGETHER_LAYERS = Msg(
    en="“{name}” is a head of the second layer; here it stands beside those of the first.",
    es="«{name}» es una cabeza de la segunda capa; aquí está junto a las de la primera.",
)
PARTS = Msg(en="What each head adds to the output of {q}", es="Lo que cada cabeza aporta a la salida de {q}")
PART_SHARE = Msg(en="share of the output", es="parte de la salida")
PARTS_SAYS = Msg(
    en="Shares of the output of {q}, measured along it; they add up to {total:.1%}. The largest part comes from “{name}”: {share:.1%}.",
    es="Partes de la salida de {q}, medidas a lo largo de ella; suman {total:.1%}. La mayor viene de «{name}»: {share:.1%}.",
)
PARTS_ZERO = Msg(
    en="The output of {q} is 0: no head could read anything.", es="La salida de {q} es 0: ninguna cabeza pudo leer nada."
)
PART_COLUMNS = {
    "head": (HEAD, ""),
    "share": (PART_SHARE, ".4f"),
    "norm": (Msg(en="length of the part", es="longitud de la parte"), ".4f"),
    "first": (Msg(en="its first number", es="su primer número"), ".6f"),
    "second": (Msg(en="its second number", es="su segundo número"), ".6f"),
}
OUTPUT_ROW = Msg(en="sum = output", es="suma = salida")

# mask and leaks

MASK = Msg(en="The mask for PyTorch, in both polarities", es="La máscara para PyTorch, en las dos polaridades")
MASK_LEAD = Msg(
    en="PyTorch’s two functions disagree about True. In the first it means **may attend**, in the second **is left out**.",
    es="Las dos funciones de PyTorch no coinciden sobre True. En la primera significa **puede atender**, en la segunda **queda fuera**.",
)
MASK_SDPA = Msg(en="True = may attend", es="True = puede atender")
MASK_MHA = Msg(en="True = is left out (note the ~)", es="True = queda fuera (observe la ~)")
MASK_NONE = Msg(en="No mask is on, so there is nothing to invert:", es="No hay máscara, así que no hay nada que invertir:")
MASK_EMPTY = Msg(
    en="Rows {rows} have nothing to attend to. The first call gives 0 there, as this page does; the second gives NaN.",
    es="Las filas {rows} no tienen nada que atender. La primera llamada da 0 ahí, como esta página; la segunda da NaN.",
)
LEAK = Msg(en="Leak test: which inputs can change the output of {q}?", es="Prueba de fugas: ¿qué entradas pueden cambiar la salida de {q}?")
LEAK_LEAD = Msg(
    en="The derivative of this output by every input token, by autograd. Where the mask forbids, it must be exactly 0. A token’s own "
    "input always counts: its query comes from it.",
    es="La derivada de esta salida respecto a cada token de entrada, con autograd. Donde la máscara prohíbe debe ser exactamente 0. La "
    "entrada propia siempre cuenta: de ella sale su consulta.",
)
LEAK_TWO = Msg(
    en="Two layers: an output also reaches what its keys could read.",
    es="Dos capas: una salida alcanza también lo que sus claves podían leer.",
)
LEAK_LAYER = Msg(
    en="Layer {layer} stands on others; the inputs here are what this layer reads, one a token.",
    es="La capa {layer} está sobre otras; aquí las entradas son lo que lee esta capa, una por token.",
)
LEAK_AXIS = Msg(en="size of the derivative", es="tamaño de la derivada")
LEAK_SAYS = Msg(
    en="{n} of {T} inputs can change the output of {q}; {hidden} are forbidden, and the largest derivative among them is {leak:g}.",
    es="{n} de {T} entradas pueden cambiar la salida de {q}; {hidden} están prohibidas, y la mayor derivada entre ellas es {leak:g}.",
)
LEAK_SAYS_FREE = Msg(
    en="{n} of {T} inputs can change the output of {q}; the mask forbids none.",
    es="{n} de {T} entradas pueden cambiar la salida de {q}; la máscara no prohíbe ninguna.",
)
LEAK_COLUMNS = {
    "position": (Msg(en="position", es="posición"), "d"),
    "token": (Msg(en="input", es="entrada"), ""),
    "norm": (LEAK_AXIS, ".6f"),
    "may": (Msg(en="mask", es="máscara"), ""),
}
MAY = Msg(en="allowed", es="permitida")
MAY_NOT = Msg(en="forbidden", es="prohibida")

# compare

COMPARE = Msg(en="Compare two settings", es="Comparar dos ajustes")
COMPARE_KIND = Msg(en="What differs", es="Qué cambia")
COMPARE_KINDS = {
    "sentence": Msg(en="the sentence", es="la frase"),
    "head": Msg(en="the head", es="la cabeza"),
    "tau": Msg(en="the temperature", es="la temperatura"),
    "mask": Msg(en="the mask", es="la máscara"),
}
COMPARE_NETS = {**COMPARE_KINDS, "sentence": Msg(en="the example", es="el ejemplo"), "head": Msg(en="the arm or the head", es="el brazo o la cabeza")}
COMPARE_OWN = Msg(en="Each arm as it was trained.", es="Cada brazo como se entrenó.")
COMPARE_LENS = Msg(en="Both arms through the τ, mask and scale on screen.", es="Los dos brazos con la τ, la máscara y la escala en pantalla.")
SECOND = {
    "sentence": Msg(en="Second sentence", es="Segunda frase"),
    "head": Msg(en="Second head", es="Segunda cabeza"),
    "tau": Msg(en="Second temperature τ", es="Segunda temperatura τ"),
    "mask": Msg(en="Second mask", es="Segunda máscara"),
    "text": Msg(en="Second sentence, typed", es="Segunda frase, escrita"),
    "layer": Msg(en="Second layer (from 0)", es="Segunda capa (desde 0)"),
    "number": Msg(en="Second head of the layer (from 0)", es="Segunda cabeza de la capa (desde 0)"),
    "arm": Msg(en="Second arm", es="Segundo brazo"),
    "net_layer": Msg(en="Second layer", es="Segunda capa"),
    "net_head": Msg(en="Second head", es="Segunda cabeza"),
    "example": Msg(en="Second example", es="Segundo ejemplo"),
}
A = Msg(en="A: above on this page", es="A: lo de arriba")
B = Msg(en="B: the second", es="B: lo segundo")
B_MINUS_A = Msg(en="B − A", es="B − A")
ON_SCREEN = Msg(en="A: {what}", es="A: {what}")
OTHER = Msg(en="B: {what}", es="B: {what}")
WHAT_TAU = Msg(en="τ = {tau:.2f}", es="τ = {tau:.2f}")
WHAT_MASK = Msg(en="mask: {mask}", es="máscara: {mask}")
WHAT_PAINTED = Msg(en="mask: {mask}, painted", es="máscara: {mask}, pintada")
WHAT_REAL = Msg(en="layer {layer}, head {head}", es="capa {layer}, cabeza {head}")
WHAT_TRAINED = Msg(en="{arm}, layer {layer}, head {head}", es="{arm}, capa {layer}, cabeza {head}")
WHAT_EXAMPLE = Msg(en="example {n}", es="ejemplo {n}")
WHAT_YOURS = Msg(en="your first sentence", es="su primera frase")
WHAT_YOURS_TOO = Msg(en="your second sentence", es="su segunda frase")
COMPARE_SAYS = Msg(
    en="The largest difference is {largest:.1%}: from {q} to {k}, {a:.1%} in A and {b:.1%} in B.",
    es="La mayor diferencia es {largest:.1%}: de {q} a {k}, {a:.1%} en A y {b:.1%} en B.",
)
COMPARE_SAME = Msg(en="A and B are the same.", es="A y B son iguales.")
COMPARE_TINY = Msg(
    en="A and B are the same to the eye: the largest difference is {largest:.1e}.",
    es="A y B son iguales a la vista: la mayor diferencia es {largest:.1e}.",
)
COMPARE_CHANGED = Msg(en="The tokens differ at position {places}.", es="Los tokens difieren en la posición {places}.")
COMPARE_LENGTHS = Msg(
    en="A has {a} tokens and B has {b}: cells can only be subtracted where both have the same number.",
    es="A tiene {a} tokens y B tiene {b}: solo se pueden restar las celdas cuando ambas tienen el mismo número.",
)
COMPARE_ONE = Msg(en="Weights of {what}.", es="Pesos de {what}.")
DIFFERENCE = Msg(en="difference", es="diferencia")

# prediction and checks

ASK_CAUSAL = Msg(
    en="The mask becomes causal: no query sees what comes after it. Which key does {q} read most then?",
    es="La máscara pasa a ser causal: ninguna consulta ve lo que viene después. ¿Qué clave lee más {q} entonces?",
)
ASK_NONE = Msg(
    en="The mask is taken away: every query sees all keys. Which one does {q} read most then?",
    es="Se quita la máscara: cada consulta ve todas las claves. ¿Cuál lee más {q} entonces?",
)
ALIKE = Msg(en="{a} and {b}, alike", es="{a} y {b}, por igual")
BECAUSE = Msg(
    en="Now {a} has {before:.1%} of the weight; then {b} has {after:.1%}.",
    es="Ahora {a} tiene {before:.1%} del peso; entonces {b} tiene {after:.1%}.",
)
BECAUSE_NOTHING = Msg(
    en="Now it reads nothing; then {b} has {after:.1%} of the weight.", es="Ahora no lee nada; entonces {b} tiene {after:.1%} del peso."
)
CHECKS = {
    "sums": Msg(en="every row sums to 1", es="cada fila suma 1"),
    "kernel": Msg(en="output: PyTorch’s fused kernel", es="salida: el núcleo fusionado de PyTorch"),
    "hidden": Msg(en="hidden weights are 0", es="los pesos ocultos son 0"),
    "points": Msg(en="scores = points of the rules", es="puntuaciones = puntos de las reglas"),
    "net": Msg(en="weights: the net’s own pass", es="pesos: la pasada de la propia red"),
    "parts": Msg(en="the parts add up to the output", es="las partes suman la salida"),
    "leak": Msg(en="nothing leaks", es="no hay fugas"),
}

# what to try

TRY = {
    "tired": (
        Msg(en="… too tired", es="… demasiado cansado"),
        Msg(
            en="English: *it* finds the animal. Spanish: *parecía* does. Row 8, head “pronoun → its noun”.",
            es="En español *parecía* encuentra al animal; en inglés lo hace *it*. Fila 8, cabeza «pronombre → su nombre».",
        ),
    ),
    "wide": (
        Msg(en="… too wide", es="… demasiado ancho"),
        Msg(
            en="One word changes at the end, and the same query finds the other noun.",
            es="Cambia una palabra al final, y la misma consulta encuentra el otro nombre.",
        ),
    ),
    "causal": (
        Msg(en="Causal hides the answer", es="Causal oculta la respuesta"),
        Msg(
            en="The adjective comes after the query. Compare both sentences: now nothing differs in that row.",
            es="El adjetivo viene después de la consulta. Compare las dos frases: ahora nada difiere en esa fila.",
        ),
    ),
    "sharp": (
        Msg(en="Temperature: lowest", es="Temperatura: mínima"),
        Msg(en="All weight goes to the best match, however small its lead.", es="Todo el peso va a la mejor coincidencia, por poca que sea su ventaja."),
    ),
    "flat": (
        Msg(en="Temperature: highest", es="Temperatura: máxima"),
        Msg(en="Same scores, divided by more: every key gets a share.", es="Las mismas puntuaciones, divididas por más: cada clave recibe una parte."),
    ),
    "unscaled": (
        Msg(en="Scale off, dₖ = 64", es="Sin escala, dₖ = 64"),
        Msg(
            en="Scores eight times as large: the runner-up vanishes, and with it every gradient.",
            es="Puntuaciones ocho veces mayores: el segundo desaparece, y con él todo gradiente.",
        ),
    ),
    "padding": (
        Msg(en="Padding steals weight", es="El relleno roba peso"),
        Msg(
            en="The head “next token” with padding and no mask. Read the percentage under the matrix; then choose the padding mask.",
            es="La cabeza «token siguiente» con relleno y sin máscara. Lea el porcentaje bajo la matriz; después elija la máscara de relleno.",
        ),
    ),
    "paint": (
        Msg(en="Paint the answer away", es="Tapar la respuesta"),
        Msg(
            en="One painted cell hides the noun from its pronoun. Click it to show it again.",
            es="Una celda pintada oculta el nombre a su pronombre. Púlsela para mostrarlo de nuevo.",
        ),
    ),
    "nothing": (
        Msg(en="A row with nothing", es="Una fila sin nada"),
        Msg(en="Every key of one row is painted over: what are its weights?", es="Todas las claves de una fila están tapadas: ¿cuáles son sus pesos?"),
    ),
    "undecided": (
        Msg(en="Nobody can tell", es="No se puede saber"),
        Msg(
            en="“… didn’t fit in the suitcase because it was too big”: what was written about the words does not decide.",
            es="«… no cabía en el maletín porque era demasiado grande»: lo escrito sobre las palabras no decide.",
        ),
    ),
    "typed": (
        Msg(en="Your own sentence", es="Su propia frase"),
        Msg(
            en="Any text, in any writing. Heads that read places work on it; type over it.",
            es="Cualquier texto, en cualquier escritura. Las cabezas que leen lugares funcionan con él; escriba encima.",
        ),
    ),
    "real": (
        Msg(en="A trained head: she → girl", es="Una cabeza entrenada: she → girl"),
        Msg(
            en="MiniLM, layer 1, head 3. It needs the optional extra; the page says how to install it.",
            es="MiniLM, capa 1, cabeza 3. Necesita el extra opcional; la página dice cómo instalarlo. Las frases en inglés van mejor.",
        ),
    ),
    "trained": (
        Msg(en="A head trained by you", es="Una cabeza entrenada por usted"),
        Msg(
            en="The net of the training page, at the step where you left it, arm beside arm. Without one, the page says how to get it.",
            es="La red de la página de entrenamiento, en el paso en que la dejó, brazo junto a brazo. Sin ella, la página dice cómo obtenerla.",
        ),
    ),
}
