"""The words of the triad page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from qkv_core.text import Msg, number

QUESTION = Msg(en="How does one token read the others?", es="¿Cómo lee un token a los demás?")
SOURCE = Msg(
    en="Vaswani et al. (2017), “Attention Is All You Need”, sections 3.2.1 and 3.2.3. The matrices of “The cat sat” are "
    "the lesson’s own, written by hand.",
    es="Vaswani et al. (2017), «Attention Is All You Need», secciones 3.2.1 y 3.2.3. Las matrices de «The cat sat» son "
    "las de la lección, escritas a mano.",
)
LEAD = Msg(
    en="Every token asks with a :blue[**query**]. It is compared with the :orange[**key**] of every token; the "
    ":violet[**scores**] become :yellow[**weights**] that add up to 1, and the output is the mix of the "
    ":green[**values**] with those weights.",
    es="Cada token pregunta con una :blue[**consulta**]. Esta se compara con la :orange[**clave**] de cada token; las "
    ":violet[**puntuaciones**] se convierten en :yellow[**pesos**] que suman 1, y la salida es la mezcla de los "
    ":green[**valores**] con esos pesos.",
)

DTYPE = "float64"
"""What the page computes in; the batch at its end says so itself."""

# the input

INPUT = Msg(en="Input", es="Entrada")
INPUTS = {
    "cat": Msg(en="“The cat sat”", es="«The cat sat»"),
    "random": Msg(en="random, from the seed", es="al azar, con la semilla"),
    "own": Msg(en="your own", es="las suyas"),
}
OWN_WAITING = Msg(
    en="Until your numbers are here, “The cat sat” is shown below.",
    es="Mientras no estén sus números, abajo se muestra «The cat sat».",
)
OWN_UNEQUAL = Msg(
    en="This page compares tokens with one another and needs as many queries as keys; yours are {T_q} and {T_k}. “The cat sat” is "
    "shown below; the variance page takes them as they are.",
    es="Esta página compara los tokens entre sí y necesita tantas consultas como claves; las suyas son {T_q} y {T_k}. Abajo se muestra "
    "«The cat sat»; la página de la varianza las admite tal cual.",
)
OWN_SHOWN = Msg(
    en="Your numbers: sequence {b} of {B}, head {h} of {H}; T = {T}, dₖ = {d_k}, dᵥ = {d_v}, and $C$ = {H} · dₖ. X and the W aren’t known: "
    "q, k and v came as they are.",
    es="Sus números: secuencia {b} de {B}, cabeza {h} de {H}; T = {T}, dₖ = {d_k}, dᵥ = {d_v}, y $C$ = {H} · dₖ. X y las W no se conocen: "
    "q, k y v llegaron tal cual.",
)
OWN_PART = Msg(
    en="The page has room for {most} tokens: {first} to {last} of {all} are taken, and they read only one another.",
    es="La página tiene sitio para {most} tokens: se toman del {first} al {last} de {all}, y solo se leen entre ellos.",
)
OWN_COLUMNS = Msg(
    en="Of wide matrices the first {drawn} columns are drawn. Every sum uses all of them.",
    es="De las matrices anchas se dibujan las primeras {drawn} columnas. Toda suma usa todas.",
)
LENGTH = Msg(en="Tokens T", es="Tokens T")
WIDTH = Msg(en="Width C of a token", es="Ancho C de un token")
D_V = Msg(en="Value size dᵥ", es="Tamaño de valor dᵥ")
MASK_SIZE = {
    "padding": Msg(en="Tokens that are padding", es="Tokens de relleno"),
    "window": Msg(en="Radius of the window", es="Radio de la ventana"),
    "prefix": Msg(en="Length of the prefix", es="Longitud del prefijo"),
}
OWN_SIZES = Msg(
    en="These matrices bring their own sizes: T = {T}, C = {C}, dₖ = {d_k}, dᵥ = {d_v}. The dₖ = {shared} of the settings "
    "is used for random input, and for the batch at the end of the page.",
    es="Estas matrices traen sus propios tamaños: T = {T}, C = {C}, dₖ = {d_k}, dᵥ = {d_v}. El dₖ = {shared} de los ajustes "
    "se usa con la entrada al azar y en el lote del final de la página.",
)
DRAWN_SIZES = Msg(
    en="Drawn from seed {seed}: X with variance 1, the W with variance 1/C, so that q, k and v have variance 1.",
    es="Generadas con la semilla {seed}: X con varianza 1, las W con varianza 1/C, de modo que q, k y v tienen varianza 1.",
)
PRECISION = Msg(
    en="Computed in float64, so that the printed digits add up.",
    es="Calculado en float64, para que las cifras impresas cuadren.",
)
FIRST_COLUMNS = Msg(
    en="dₖ = {d_k}: the first {drawn} columns of $W_q$, $W_k$, $Q$ and $K$ are drawn. Every sum uses all {d_k}.",
    es="dₖ = {d_k}: se dibujan las primeras {drawn} columnas de $W_q$, $W_k$, $Q$ y $K$. Toda suma usa las {d_k}.",
)

EDIT = Msg(en="Edit the numbers of $X$, :blue[$W_q$], :orange[$W_k$] and :green[$W_v$]", es="Editar los números de $X$, :blue[$W_q$], :orange[$W_k$] y :green[$W_v$]")
W_DRAWN = Msg(
    en="The matrices :blue[$W_q$], :orange[$W_k$] and :green[$W_v$]", es="Las matrices :blue[$W_q$], :orange[$W_k$] y :green[$W_v$]"
)
EDIT_LEAD = Msg(
    en="Type into a cell; everything below follows. A decimal point and a comma are both read, from −{limit:g} to {limit:g}.",
    es="Escriba en una celda; todo lo de abajo la sigue. Se leen el punto y la coma decimal, entre −{limit:g} y {limit:g}.",
)
EDITED = Msg(en="Changed by hand: {names}.", es="Cambiadas a mano: {names}.")
GRIDS = {"t_x": "X", "t_wq": "W_q", "t_wk": "W_k", "t_wv": "W_v"}
GRID_TITLES = {
    "t_x": "$X$",
    "t_wq": ":blue[$W_q$]",
    "t_wk": ":orange[$W_k$]",
    "t_wv": ":green[$W_v$]",
}

# the matrices

QUERIES = Msg(en="queries", es="consultas")
KEYS = Msg(en="keys", es="claves")
PICK_QUERY = Msg(en=":blue[Query] i (row)", es=":blue[Consulta] i (fila)")
PICK_KEY = Msg(en=":orange[Key] j (column)", es=":orange[Clave] j (columna)")
PICK_HELP = Msg(
    en="A click on a cell of the scores or the weights does the same.",
    es="Un clic en una celda de las puntuaciones o de los pesos hace lo mismo.",
)

PANEL_NAMES = {
    "X": Msg(en="X", es="X"),
    "W_q": Msg(en="W_q", es="W_q"),
    "W_k": Msg(en="W_k", es="W_k"),
    "W_v": Msg(en="W_v", es="W_v"),
    "Q": Msg(en="Q", es="Q"),
    "K": Msg(en="K", es="K"),
    "V": Msg(en="V", es="V"),
    "raw": Msg(en="raw scores", es="puntuaciones brutas"),
    "scaled": Msg(en="scaled scores", es="puntuaciones escaladas"),
    "masked": Msg(en="masked scores", es="puntuaciones enmascaradas"),
    "weights": Msg(en="weights", es="pesos"),
    "sums": Msg(en="row sums", es="sumas de fila"),
    "output": Msg(en="output", es="salida"),
}
CAPTIONS = {
    "X": Msg(en="$X$", es="$X$"),
    "W_q": Msg(en=":blue[$W_q$]", es=":blue[$W_q$]"),
    "W_k": Msg(en=":orange[$W_k$]", es=":orange[$W_k$]"),
    "W_v": Msg(en=":green[$W_v$]", es=":green[$W_v$]"),
    "Q": Msg(en=":blue[$Q$] $= X\\,$:blue[$W_q$]", es=":blue[$Q$] $= X\\,$:blue[$W_q$]"),
    "K": Msg(en=":orange[$K$] $= X\\,$:orange[$W_k$]", es=":orange[$K$] $= X\\,$:orange[$W_k$]"),
    "V": Msg(en=":green[$V$] $= X\\,$:green[$W_v$]", es=":green[$V$] $= X\\,$:green[$W_v$]"),
    "raw": Msg(en=":violet[**raw**] $=$ :blue[$Q$] :orange[$K^{{\\top}}$]", es=":violet[**brutas**] $=$ :blue[$Q$] :orange[$K^{{\\top}}$]"),
    "scaled": Msg(
        en=":violet[**scaled**] = raw / ({divisor:.6g} · {tau:g})", es=":violet[**escaladas**] = brutas / ({divisor:.6g} · {tau:g})"
    ),
    "masked": Msg(en=":violet[**masked**]: {hidden}", es=":violet[**enmascaradas**]: {hidden}"),
    "weights": Msg(en=":yellow[**weights**] = softmax by rows", es=":yellow[**pesos**] = softmax por filas"),
    "sums": Msg(en="**row sum**", es="**suma**"),
    "output": Msg(en="**output** $=$ :yellow[weights] :green[$V$]", es="**salida** $=$ :yellow[pesos] :green[$V$]"),
}
OWN_CAPTIONS = {
    "Q": Msg(en="your :blue[$Q$]", es="su :blue[$Q$]"),
    "K": Msg(en="your :orange[$K$]", es="su :orange[$K$]"),
    "V": Msg(en="your :green[$V$]", es="su :green[$V$]"),
}
"""Where q, k and v came as they are, and were not made from X."""
HIDDEN_NONE = Msg(en="nothing hidden", es="nada oculto")
HIDDEN_SOME = Msg(en="{n} of {all} are −∞", es="{n} de {all} son −∞")
SHAPE = Msg(en=":gray[{rows} × {cols}]", es=":gray[{rows} × {cols}]")
MINUS_INFINITY = "−∞"
PANEL_SAYS = Msg(
    en="{name}: {rows} rows by {cols} columns; the largest entry is {largest:.4f}, in row {row}, column {col}.",
    es="{name}: {rows} filas por {cols} columnas; la mayor entrada es {largest:.4f}, en la fila {row}, columna {col}.",
)
PANEL_EMPTY = Msg(en="{name}: {rows} rows by {cols} columns, all −∞.", es="{name}: {rows} filas por {cols} columnas, todo −∞.")

READS = Msg(en="**{q}** reads {parts}.", es="**{q}** lee {parts}.")
READS_PART = Msg(en="**{share:.1%}** from **{k}**", es="**{share:.1%}** de **{k}**")
READS_REST = Msg(en="{share:.1%} from the other {n}", es="{share:.1%} de los otros {n}")
READS_ONE = Msg(en="**{q}** may read only **{k}**: the whole weight lies there.", es="**{q}** solo puede leer **{k}**: ahí está todo el peso.")
READS_ALIKE = Msg(
    en="**{q}** reads all {n} tokens alike, {share:.1%} each: its scores are equal.",
    es="**{q}** lee por igual los {n} tokens, {share:.1%} cada uno: sus puntuaciones son iguales.",
)
EMPTY_ROW = Msg(
    en="**{q}** may read nothing: the mask hides every key of its row.",
    es="**{q}** no puede leer nada: la máscara oculta todas las claves de su fila.",
)
EMPTY_ROWS = Msg(
    en="{n} of {T} rows have nothing to read, because the mask hides all of their keys. By rule their :yellow[weights] "
    "and outputs are 0, never NaN; their sum can’t be 1, and the checks of row sums leave them out.",
    es="{n} de {T} filas no tienen nada que leer, porque la máscara oculta todas sus claves. Por convenio sus :yellow[pesos] y "
    "salidas son 0, nunca NaN; su suma no puede ser 1, y las comprobaciones de las sumas las omiten.",
)

# one cell

CELL = Msg(en="One weight, term by term: {q} asks, {k} answers", es="Un peso, término a término: {q} pregunta, {k} responde")
PRODUCT = Msg(en="product", es="producto")
CHANNEL = Msg(en="m", es="m")
TERMS_SAY = Msg(
    en="The {n} products q·k of **{q}** and **{k}** add up to **{raw:.6f}**. The largest in size is {largest:.6f}, at m = {at}.",
    es="Los {n} productos q·k de **{q}** y **{k}** suman **{raw:.6f}**. El mayor en tamaño es {largest:.6f}, en m = {at}.",
)
TERMS_LEFT = Msg(
    en="The {drawn} drawn here add up to {part:.6f}, the other {left} to {rest:.6f}; the table holds all of them.",
    es="Los {drawn} dibujados suman {part:.6f}, los otros {left}, {rest:.6f}; la tabla los contiene todos.",
)
STEP = Msg(en="step", es="paso")
COMPUTATION = Msg(en="computation", es="cálculo")
RESULT = Msg(en="result", es="resultado")
STEP_DOT = Msg(en=":violet[score]", es=":violet[puntuación]")
STEP_SCALE = Msg(en="÷ ({divisor} · τ)", es="÷ ({divisor} · τ)")
STEP_MASK = Msg(en="mask", es="máscara")
STEP_MASKED = Msg(en="**{q}** may not read **{k}**", es="**{q}** no puede leer **{k}**")
STEP_SHIFT = Msg(en="− largest of the row", es="− mayor de la fila")
STEP_EXP = Msg(en="exp", es="exp")
STEP_WEIGHT = Msg(en=":yellow[weight]", es=":yellow[peso]")
STEP_SUM = Msg(en="sum", es="suma")
STEP_RULE = Msg(en="nothing to read: 0 by rule", es="nada que leer: 0 por convenio")
DIVISORS = {"sqrt_dk": "√dₖ", "none": "1", "dk": "dₖ", "sqrt_dmodel": "√C"}
SHIFT_WHY = Msg(
    en="Taking away the row’s largest score changes no weight, since it cancels in the fraction; it keeps exp from overflowing.",
    es="Restar la mayor puntuación de la fila no cambia ningún peso, pues se cancela en la fracción; evita que exp se desborde.",
)
ROW = Msg(en="The whole row of {q}", es="La fila completa de {q}")
ROW_COLUMNS = {
    "key": Msg(en="key", es="clave"),
    "raw": Msg(en=":violet[raw]", es=":violet[bruta]"),
    "scaled": Msg(en=":violet[scaled]", es=":violet[escalada]"),
    "exp": Msg(en="exp(scaled − max)", es="exp(escalada − máx)"),
    "weight": Msg(en=":yellow[weight]", es=":yellow[peso]"),
}
TERM_COLUMNS = {
    "m": (Msg(en="m", es="m"), "d"),
    "q": (Msg(en="q", es="q"), ".6f"),
    "k": (Msg(en="k", es="k"), ".6f"),
    "product": (Msg(en="q · k", es="q · k"), ".6f"),
    "so_far": (Msg(en="sum so far", es="suma hasta aquí"), ".6f"),
}
ENTRY_COLUMNS = {
    "matrix": (Msg(en="matrix", es="matriz"), ""),
    "row": (Msg(en="row", es="fila"), ""),
    "column": (Msg(en="column", es="columna"), ""),
    "value": (Msg(en="value", es="valor"), ".6f"),
}

# the output

OUTPUT = Msg(en="The output of {q} is a weighted mean of the values", es="La salida de {q} es una media ponderada de los valores")
OUTPUT_ZERO = Msg(en="The output of {q} is 0", es="La salida de {q} es 0")
SUM_IS_OUTPUT = Msg(en="sum = output", es="suma = salida")
OUTPUT_SAYS = Msg(
    en="The coefficients are the weights {coefficients} = {total:.6f}, none of them negative. So the output lies "
    "inside the convex hull of the values it reads.",
    es="Los coeficientes son los pesos {coefficients} = {total:.6f}, ninguno negativo. Por eso la salida está "
    "dentro de la envolvente convexa de los valores que lee.",
)
OUTPUT_EMPTY = Msg(
    en="Nothing is read, so nothing is mixed: every coefficient is 0, and the output is 0 by rule.",
    es="No se lee nada, así que nada se mezcla: todos los coeficientes son 0 y la salida es 0 por convenio.",
)
HULL_SAYS = Msg(
    en="Each row is one column of V: a dot for every value that **{q}** may read, larger with its weight, and a "
    "diamond for the output. In {inside} of {all} columns the diamond lies between the outermost dots.",
    es="Cada fila es una columna de V: un punto por cada valor que **{q}** puede leer, mayor cuanto más pesa, y un "
    "rombo para la salida. En {inside} de {all} columnas el rombo está entre los puntos extremos.",
)
HULL_X = Msg(en="value", es="valor")
HULL_Y = Msg(en="column of V", es="columna de V")
TOKEN = Msg(en="token", es="token")
WEIGHT = Msg(en="weight", es="peso")
HULL_COLUMNS = {
    "channel": (Msg(en="column", es="columna"), "d"),
    "token": (Msg(en="token", es="token"), ""),
    "x": (Msg(en="value", es="valor"), ".6f"),
    "weight": (Msg(en="weight", es="peso"), ".6f"),
    "piece": (Msg(en="weight × value", es="peso × valor"), ".6f"),
}

# the checks

CHECK_KERNEL = Msg(en="PyTorch’s kernel", es="núcleo de PyTorch")
CHECK_SUMS = Msg(en="row sums of 1", es="sumas de fila 1")
CHECK_CELLS = Msg(en="weights term by term", es="pesos término a término")
CHECK_HULL = Msg(en="convex combination", es="combinación convexa")
CHECK_VALUES = Msg(en="scores and weights after V changed", es="puntuaciones tras cambiar V")

# prediction

ASK_REMOVAL = Msg(
    en="**{q}** reads most from **{best}** ({lost:.1%}), then from **{second}** ({before:.1%}). Suppose a mask hides {best}. "
    "How much does it read from {second} then?",
    es="**{q}** lee sobre todo de **{best}** ({lost:.1%}) y después de **{second}** ({before:.1%}). Suponga que una máscara "
    "oculta {best}. ¿Cuánto lee entonces de {second}?",
)
ANSWER = Msg(en="{share:.1%}", es="{share:.1%}")
BECAUSE_REMOVAL = Msg(
    en="The weights of a row add up to 1, so what is left is shared out again in proportion: {before:.4f} / (1 − {lost:.4f}) = {after:.4f}.",
    es="Los pesos de una fila suman 1, así que lo que queda se reparte de nuevo en proporción: {before:.4f} / (1 − {lost:.4f}) = {after:.4f}.",
)
ASK_VALUES = Msg(
    en="Every number of V is doubled. What happens to the weight with which **{q}** reads **{k}**?",
    es="Se duplica cada número de V. ¿Qué ocurre con el peso con que **{q}** lee **{k}**?",
)
ANSWERS_VALUES = (
    Msg(en="It doubles", es="Se duplica"),
    Msg(en="It stays as it is", es="Queda igual"),
    Msg(en="It falls, since the row must add up to 1", es="Baja, porque la fila debe sumar 1"),
)
BECAUSE_VALUES = Msg(
    en="Computed again with 2V: the largest change of a weight is {weights:g}, of an output {output:.4f}. V stands outside the softmax.",
    es="Calculado de nuevo con 2V: el mayor cambio de un peso es {weights:g}, de una salida {output:.4f}. V está fuera del softmax.",
)

# the roles

ROLES = Msg(en="Values are never compared", es="Los valores nunca se comparan")
ROLES_LEAD = Msg(
    en="Scores are made of :blue[Q] and :orange[K] alone. To see it, one of the three is changed while the other two stay, and "
    "everything is computed again.",
    es="Las puntuaciones se hacen solo con :blue[Q] y :orange[K]. Para verlo, se cambia una de las tres, las otras dos se "
    "quedan, y todo se calcula de nuevo.",
)
HOW = Msg(en="How it is changed", es="Cómo se cambia")
HOWS = {
    "double": Msg(en="doubled", es="se duplica"),
    "negate": Msg(en="sign reversed", es="cambia de signo"),
    "random": Msg(en="new random numbers", es="números nuevos al azar"),
}
ROLE_COLUMNS = {
    "changed": Msg(en="changed", es="cambia"),
    "raw": Msg(en="largest change of a :violet[score]", es="mayor cambio de una :violet[puntuación]"),
    "weights": Msg(en="of a :yellow[weight]", es="de un :yellow[peso]"),
    "output": Msg(en="of an output", es="de una salida"),
}
ROLES_SAY = Msg(
    en="With :green[V] changed, scores and weights move by exactly {raw:g} and {weights:g}; only the output moves, by up to {output:.4f}.",
    es="Al cambiar :green[V], las puntuaciones y los pesos se mueven exactamente {raw:g} y {weights:g}; solo se mueve la salida, hasta {output:.4f}.",
)
ROLES_STILL = Msg(
    en="With :green[V] changed, scores and weights move by exactly {raw:g} and {weights:g}. Here the output doesn’t move either.",
    es="Al cambiar :green[V], las puntuaciones y los pesos se mueven exactamente {raw:g} y {weights:g}. Aquí tampoco se mueve la salida.",
)

# the audit

AUDIT = Msg(en="Every object, its domain, shape and purpose", es="Cada objeto, su dominio, forma y propósito")
AUDIT_COLUMNS = {
    "object": Msg(en="object", es="objeto"),
    "domain": Msg(en="domain", es="dominio"),
    "shape": Msg(en="shape here", es="forma aquí"),
    "purpose": Msg(en="purpose", es="propósito"),
}
AUDIT_ROWS = (
    ("X", "$X$", "$\\mathbb{R}^{T\\times C}$", Msg(en="what each token is: one row a token", es="lo que es cada token: una fila por token")),
    ("W_q", ":blue[$W_q$]", "$\\mathbb{R}^{C\\times d_k}$", Msg(en="learned: makes queries", es="aprendida: forma las consultas")),
    ("W_k", ":orange[$W_k$]", "$\\mathbb{R}^{C\\times d_k}$", Msg(en="learned: makes keys", es="aprendida: forma las claves")),
    ("W_v", ":green[$W_v$]", "$\\mathbb{R}^{C\\times d_v}$", Msg(en="learned: makes values", es="aprendida: forma los valores")),
    ("Q", ":blue[$Q$]", "$\\mathbb{R}^{T\\times d_k}$", Msg(en="what each token looks for", es="lo que busca cada token")),
    ("K", ":orange[$K$]", "$\\mathbb{R}^{T\\times d_k}$", Msg(en="what each token can be found by", es="por lo que se encuentra cada token")),
    ("V", ":green[$V$]", "$\\mathbb{R}^{T\\times d_v}$", Msg(en="what each token hands over; never compared", es="lo que entrega cada token; nunca se compara")),
    ("raw", ":violet[raw]", "$\\mathbb{R}^{T\\times T}$", Msg(en="how well each query fits each key", es="cuánto encaja cada consulta con cada clave")),
    ("scaled", ":violet[scaled]", "$\\mathbb{R}^{T\\times T}$", Msg(en="the same, in a range where softmax is not saturated", es="lo mismo, en un rango donde softmax no se satura")),
    ("masked", ":violet[masked]", "$(\\mathbb{R}\\cup\\{-\\infty\\})^{T\\times T}$", Msg(en="−∞ where a query may not read", es="−∞ donde una consulta no puede leer")),
    ("weights", ":yellow[weights]", "$[0,1]^{T\\times T}$", Msg(en="how much is read of each token; a row adds up to 1, or is 0 when all of it is masked", es="cuánto se lee de cada token; una fila suma 1, o es 0 si está toda enmascarada")),
    ("output", "output", "$\\mathbb{R}^{T\\times d_v}$", Msg(en="what each token has read: a mean of the values", es="lo que ha leído cada token: una media de los valores")),
)  # fmt: skip
AUDIT_SPANISH = {"raw": "brutas", "scaled": "escaladas", "masked": "enmascaradas", "weights": "pesos", "output": "salida"}

# the batch

BATCH = Msg(en="The same in a batch", es="Lo mismo en un lote")
BATCH_LEAD = Msg(
    en="Nothing new happens: B sequences and h heads stand side by side, and each (b, head) does what is shown above. Q, K and V "
    "are drawn from seed {seed}; mask, τ and scale apply, and the scores are divided by {divisor:.6g}.",
    es="No ocurre nada nuevo: B secuencias y h cabezas van en paralelo, y cada (b, cabeza) hace lo que se ve arriba. Q, K y V "
    "se generan con la semilla {seed}; se aplican máscara, τ y escala, y las puntuaciones se dividen por {divisor:.6g}.",
)
BATCH_B = Msg(en="Sequences B", es="Secuencias B")
BATCH_T = Msg(en="Tokens T", es="Tokens T")
BATCH_D_V = Msg(en="Value size dᵥ", es="Tamaño de valor dᵥ")
BATCH_NOTEBOOK = Msg(en="The notebook’s batch: 2, 8, 16, 64, 64", es="El lote del cuaderno: 2, 8, 16, 64, 64")
BATCH_COLUMNS = (
    Msg(en="tensor", es="tensor"),
    Msg(en="axes", es="ejes"),
    Msg(en="shape", es="forma"),
    Msg(en="numbers", es="números"),
    Msg(en="KiB", es="KiB"),
)
BATCH_NAMES = {"q": ":blue[$Q$]", "k": ":orange[$K$]", "v": ":green[$V$]"}
BATCH_SAYS = Msg(
    en="All {rows:,d} rows of weights (B × h × T) were added up: the smallest sum is {low:.7f}, the largest {high:.7f}.",
    es="Se sumaron las {rows:,d} filas de pesos (B × h × T): la menor suma es {low:.7f}; la mayor, {high:.7f}.",
)
BATCH_EMPTY = Msg(
    en="{empty:,d} of {rows:,d} rows have nothing to read and are 0.",
    es="{empty:,d} de {rows:,d} filas no tienen nada que leer y valen 0.",
)

TRY = {
    "lesson": (
        Msg(en="The lesson", es="La lección"),
        Msg(
            en="“The cat sat” as given. Which weight is the largest of all, and which row is the most even?",
            es="«The cat sat» tal cual. ¿Qué peso es el mayor de todos y qué fila es la más pareja?",
        ),
    ),
    "causal": (
        Msg(en="No look ahead", es="Sin mirar adelante"),
        Msg(
            en="The causal mask: the first token can read only itself, so its output is its own value.",
            es="La máscara causal: el primer token solo puede leerse a sí mismo, así que su salida es su propio valor.",
        ),
    ),
    "sharp": (
        Msg(en="A cold softmax", es="Un softmax frío"),
        Msg(
            en="A small τ: the same scores, but the largest of each row takes nearly everything. Compare the exp column.",
            es="Un τ pequeño: las mismas puntuaciones, pero la mayor de cada fila se lleva casi todo. Compare la columna exp.",
        ),
    ),
    "plain": (
        Msg(en="No projections", es="Sin proyecciones"),
        Msg(
            en="All three W are the identity, so Q = K = V = X. The raw scores become symmetric; are the weights?",
            es="Las tres W son la identidad, así que Q = K = V = X. Las puntuaciones brutas se vuelven simétricas; ¿y los pesos?",
        ),
    ),
    "blind": (
        Msg(en="Keys that say nothing", es="Claves que no dicen nada"),
        Msg(
            en="$W_k$ is 0: every score is 0, every weight the same, and each output is the plain mean of V.",
            es="$W_k$ es 0: toda puntuación es 0, todo peso es igual y cada salida es la media simple de V.",
        ),
    ),
    "nothing": (
        Msg(en="Nothing to read", es="Nada que leer"),
        Msg(
            en="Every token is padding. The softmax of nothing would be NaN; the rule gives 0, as PyTorch’s kernel does.",
            es="Todo token es relleno. El softmax de nada sería NaN; el convenio da 0, como el núcleo de PyTorch.",
        ),
    ),
    "unscaled": (
        Msg(en="Random, dₖ = 64, not divided", es="Al azar, dₖ = 64, sin dividir"),
        Msg(
            en="Many products add up to large scores. Then choose √dₖ in the settings and watch the rows soften.",
            es="Muchos productos suman puntuaciones grandes. Elija después √dₖ en los ajustes y vea cómo se suavizan las filas.",
        ),
    ),
}


def six(value: float, lang: str) -> str:
    """A number with six decimals; a very large or very small one with its power of ten."""
    if value == -math.inf:
        return MINUS_INFINITY
    if value and not 1e-6 <= abs(value) < 1e7:
        return number(value, ".3e", lang)
    return number(value, ".6f", lang)


Table = tuple[list[str], list[list[str]]]
"""The names of the columns, and the rows; cells are markdown."""


def chain(cell: Any, q: str, k: str, d_k: int, scale: str, divisor: float, tau: float, lang: str) -> Table:
    """The steps from the products to the weight of one cell (triad.CellArithmetic)."""

    def say(msg: Msg, **values: Any) -> str:
        return msg(lang, **values)

    def s(value: float) -> str:
        return six(value, lang)

    by = f"{number(divisor, '.6g', lang)} · {number(tau, 'g', lang)}"
    products = [s(x) for x in cell.terms.tolist()] if d_k <= 4 else []
    signed = " + ".join(f"({p})" if p.startswith("−") else p for p in products)
    dots = signed if products else f"Σ q[m] · k[m],  m = 1 … {d_k}"
    rows = [
        (say(STEP_DOT), dots, f"**{s(cell.raw)}**"),
        (say(STEP_SCALE, divisor=DIVISORS[scale]), f"{s(cell.raw)} / ({by})", f"**{s(cell.scaled)}**"),
    ]
    if cell.masked:
        rows.append((say(STEP_MASK), say(STEP_MASKED, q=q, k=k), f"**{MINUS_INFINITY}**"))
    else:
        minus = s(cell.row_max) if cell.row_max >= 0 else f"({s(cell.row_max)})"
        rows.append((say(STEP_SHIFT), f"{s(cell.scaled)} − {minus}", f"**{s(cell.scaled - cell.row_max)}**"))
    shift = MINUS_INFINITY if cell.masked else s(cell.scaled - cell.row_max)
    rows.append((say(STEP_EXP), f"exp({shift})", f"**{s(cell.exp)}**"))
    if cell.denominator:
        rows.append((say(STEP_WEIGHT), f"{s(cell.exp)} / {s(cell.denominator)}", f"**{s(cell.weight)}**"))
    else:
        rows.append((say(STEP_WEIGHT), say(STEP_RULE), f"**{s(cell.weight)}**"))
    return [say(STEP), say(COMPUTATION), say(RESULT)], [list(row) for row in rows]


def whole_row(cells: Sequence[Any], j: int, tokens: Sequence[str], lang: str) -> Table:
    """Every key of one query: raw, scaled, exp and weight, and the sums that make it a softmax."""
    rows = []
    for cell in cells:
        scaled = -math.inf if cell.masked else cell.scaled
        line = [tokens[cell.j], *(six(x, lang) for x in (cell.raw, scaled, cell.exp, cell.weight))]
        rows.append([f"**{text}**" for text in line] if cell.j == j else line)
    total = sum(cell.weight for cell in cells)
    rows.append([STEP_SUM(lang), "", "", six(cells[0].denominator, lang), six(total, lang)])
    return [m(lang) for m in ROW_COLUMNS.values()], rows


def reads(tokens: Sequence[str], weights: Sequence[float], visible: Sequence[int], i: int, lang: str) -> str:
    """What query i reads, as a sentence of its weights: the three largest, then the rest."""
    q = tokens[i]
    if not visible:
        return EMPTY_ROW(lang, q=q)
    if len(visible) == 1:
        return READS_ONE(lang, q=q, k=tokens[visible[0]])
    order = sorted(visible, key=lambda j: (-weights[j], j))
    if weights[order[0]] - weights[order[-1]] < 1e-6:
        return READS_ALIKE(lang, q=q, n=len(order), share=weights[order[0]])
    parts = [READS_PART(lang, share=weights[j], k=tokens[j]) for j in order[:3]]
    if len(order) > 3:
        parts.append(READS_REST(lang, share=sum(weights[j] for j in order[3:]), n=len(order) - 3))
    return READS(lang, q=q, parts=", ".join(parts))


def roles(moved: Sequence[Any], lang: str) -> Table:
    """What moved when Q, K and V were changed one at a time (triad.Moved)."""
    names = {"q": ":blue[Q]", "k": ":orange[K]", "v": ":green[V]"}
    rows = [[names[m.changed], *(six(x, lang) for x in (m.raw, m.weights, m.output))] for m in moved]
    return [m(lang) for m in ROLE_COLUMNS.values()], rows


def roles_say(moved: Sequence[Any], lang: str) -> str:
    """The same in a sentence about V."""
    v = moved[2]
    return (ROLES_SAY if v.output else ROLES_STILL)(lang, raw=v.raw, weights=v.weights, output=v.output)


def audit(shapes: dict[str, tuple[int, int]], lang: str) -> Table:
    """Every object of the lesson with its domain, the shape it has here, and what it is for."""
    rows = []
    for name, symbol, domain, purpose in (row for row in AUDIT_ROWS if row[0] in shapes):
        if lang == "es" and name in AUDIT_SPANISH:
            symbol = symbol.replace(name, AUDIT_SPANISH[name])
        rows.append([symbol, domain, f"{shapes[name][0]} × {shapes[name][1]}", purpose(lang)])
    return [m(lang) for m in AUDIT_COLUMNS.values()], rows


def batch_says(shapes: Any, lang: str) -> str:
    """The row sums of a batch (triad.BatchShapes), and how many rows have none."""
    parts = []
    if shapes.row_sum_min is not None:
        rows = shapes.rows - shapes.empty_rows
        parts.append(BATCH_SAYS(lang, rows=rows, low=shapes.row_sum_min, high=shapes.row_sum_max))
    if shapes.empty_rows:
        parts.append(BATCH_EMPTY(lang, empty=shapes.empty_rows, rows=shapes.rows))
    return " ".join(parts)
