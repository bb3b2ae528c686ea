"""The words of the complexity page. What is said of a layer follows the numbers of the table and of the measurement."""

from __future__ import annotations

import math
from typing import Any

from qkv_core.text import Msg, number

QUESTION = Msg(en="What does it cost?", es="¿Cuánto cuesta?")
SOURCE = Msg(
    en="Vaswani et al. (2017), “Attention Is All You Need”, section 4 and Table 1. The fused kernel: Dao et al. (2022), FlashAttention.",
    es="Vaswani et al. (2017), «Attention Is All You Need», sección 4 y tabla 1. El núcleo fusionado: Dao et al. (2022), FlashAttention.",
)

LAYERS = {
    "self_attention": Msg(en="self-attention", es="autoatención"),
    "recurrent": Msg(en="recurrent", es="recurrente"),
    "convolutional": Msg(en="convolution, contiguous", es="convolución contigua"),
    "dilated": Msg(en="convolution, dilated", es="convolución dilatada"),
    "restricted": Msg(en="restricted attention", es="atención restringida"),
    "multi_head": Msg(en="multi-head, projections included", es="multicabeza, con proyecciones"),
}
CURVES = {
    **{code: LAYERS[code] for code in ("self_attention", "recurrent", "restricted")},
    "convolutional": Msg(en="convolution", es="convolución"),
}
"""Both convolutions cost the same, so one curve stands for both."""
SHORT = {
    **LAYERS,
    "convolutional": Msg(en="conv., contiguous", es="conv. contigua"),
    "dilated": Msg(en="conv., dilated", es="conv. dilatada"),
}
"""For a legend that fits a phone."""

# The answer

LEAD_LESS = Msg(
    en="With **n = {n:,d}** and **d = {d:,d}**, a layer of self-attention takes n² · d = **{ours:,d}** products and "
    "a recurrent one n · d² = **{theirs:,d}**. There are fewer tokens than channels, so self-attention is **{times} times cheaper**.",
    es="Con **n = {n:,d}** y **d = {d:,d}**, una capa de autoatención hace n² · d = **{ours:,d}** productos y "
    "una recurrente n · d² = **{theirs:,d}**. Hay menos tokens que canales, así que la autoatención es **{times} veces más barata**.",
)
LEAD_MORE = Msg(
    en="With **n = {n:,d}** and **d = {d:,d}**, a layer of self-attention takes n² · d = **{ours:,d}** products and "
    "a recurrent one n · d² = **{theirs:,d}**. There are more tokens than channels, so self-attention is **{times} times dearer**.",
    es="Con **n = {n:,d}** y **d = {d:,d}**, una capa de autoatención hace n² · d = **{ours:,d}** productos y "
    "una recurrente n · d² = **{theirs:,d}**. Hay más tokens que canales, así que la autoatención es **{times} veces más cara**.",
)
LEAD_EQUAL = Msg(
    en="With **n = {n:,d}** and **d = {d:,d}**, self-attention and recurrence take the same: n² · d = n · d² = "
    "**{ours:,d}** products a layer. This is the crossover, **n = d**.",
    es="Con **n = {n:,d}** y **d = {d:,d}**, autoatención y recurrencia cuestan lo mismo: n² · d = n · d² = "
    "**{ours:,d}** productos por capa. Este es el punto de cruce, **n = d**.",
)

TOKENS = Msg(en="Tokens n", es="Tokens n")
TOKENS_HELP = Msg(en="How long the sequence is.", es="Qué longitud tiene la secuencia.")
KERNEL = Msg(en="Kernel k", es="Núcleo k")
KERNEL_HELP = Msg(
    en="How many tokens a convolution reads at once. A width of 1 reads only the token itself.",
    es="Cuántos tokens lee una convolución a la vez. Con ancho 1 solo lee el propio token.",
)
REACH = Msg(en="Neighbourhood r", es="Vecindad r")
REACH_HELP = Msg(
    en="How many tokens restricted self-attention reads, itself included.",
    es="Cuántos tokens lee la autoatención restringida, contando el propio.",
)
WIDTH = Msg(
    en="d = h × dₖ = {heads} × {d_k:,d} = {d:,d}, the width of the model.",
    es="d = h × dₖ = {heads} × {d_k:,d} = {d:,d}, el ancho del modelo.",
)

# Table 1

TABLE = Msg(en="Table 1 of the paper, with your numbers", es="La tabla 1 del artículo, con sus números")
HEAD = (
    Msg(en="layer", es="capa"),
    Msg(en="operations a layer", es="operaciones por capa"),
    Msg(en="here", es="aquí"),
    Msg(en="steps that wait", es="pasos en espera"),
    Msg(en="longest path", es="camino más largo"),
    Msg(en="really takes", es="de hecho requiere"),
    Msg(en="what it means", es="qué significa"),
)
FORMULAS = {
    "n^2 d": "n² · d", "n d^2": "n · d²", "k n d^2": "k · n · d²", "r n d": "r · n · d", "1": "1", "n": "n", "n/k": "n / k",
    "log_k n": "logₖ n", "n/r": "n / r", "4 n^2 d": "4 n² d", "4 n d^2": "4 n d²", "2 k n d^2": "2 k n d²", "8 r n d": "8 r n d",
    "8 n d^2 + 4 n^2 d": "8 n d² + 4 n² d",
}  # fmt: skip
ORDER = Msg(en="O({formula})", es="O({formula})")
VALUE = Msg(en="O({formula}) = {value}", es="O({formula}) = {value}")
TAKES = {
    "layers": (Msg(en="1 layer", es="1 capa"), Msg(en="{n:,.0f} layers", es="{n:,.0f} capas")),
    "steps": (Msg(en="1 step", es="1 paso"), Msg(en="{n:,.0f} steps", es="{n:,.0f} pasos")),
}
NEVER = Msg(en="never gets there", es="nunca llega")
MEANS = {
    "self_attention": Msg(en="every token reads every token at once", es="cada token lee a todos a la vez"),
    "recurrent": Msg(en="each token waits for the one before", es="cada token espera al anterior"),
    "convolutional": Msg(en="k neighbours a layer; far ones need a stack", es="k vecinos por capa; para los lejanos hace falta una pila"),
    "dilated": Msg(en="same cost; gaps grow k times a layer", es="mismo coste; los huecos crecen k veces por capa"),
    "restricted": Msg(en="linear in n, paid with a longer path", es="lineal en n, a cambio de un camino más largo"),
}
MEANS_ALONE = Msg(en="width 1: each token sees only itself", es="ancho 1: cada token solo se ve a sí mismo")
MEANS_WHOLE = Msg(en="r reaches all n tokens: plain self-attention", es="r alcanza los n tokens: autoatención normal")
GARBLED = Msg(
    en="The path of a convolution is often quoted wrongly. With contiguous kernels it is O(n / k), with dilated ones O(logₖ n): section 4 of "
    "the paper says both. “Really takes” counts the layers after which the last output depends on the first input. The constants "
    "that O() hides make the difference.",
    es="El camino de una convolución se cita mal a menudo. Con núcleos contiguos es O(n / k), con dilatados O(logₖ n): la sección 4 del "
    "artículo da ambos. «De hecho requiere» cuenta las capas tras las que la última salida depende de la primera entrada. La "
    "diferencia son las constantes que O() oculta.",
)

CROSSOVER = Msg(en="Where the curves cross", es="Dónde se cruzan las curvas")
CURVE_X = Msg(en="tokens n", es="tokens n")
CURVE_Y = Msg(en="operations a layer", es="operaciones por capa")
CROSS_LABEL = Msg(en="n = d = {d:,d}", es="n = d = {d:,d}")
CURVE_SAYS = Msg(
    en="Operations a layer against n, for d = {d:,d}, k = {k}, r = {r:,d}; both axes logarithmic. :yellow[Self-attention] is the steepest, "
    "and crosses recurrence at n = d = {d:,d}. The upright line is your n = {n:,d}.",
    es="Operaciones por capa frente a n, con d = {d:,d}, k = {k}, r = {r:,d}; ambos ejes logarítmicos. La :yellow[autoatención] es la más "
    "empinada y cruza a la recurrencia en n = d = {d:,d}. La línea vertical es su n = {n:,d}.",
)
CURVE_COLUMNS = {
    "n": (Msg(en="n", es="n"), ",d"),
    "name": (HEAD[0], ""),
    "operations": (HEAD[1], ",d"),
}
IN_WORDS = Msg(en="In words", es="En palabras")
CROSS_LESS = Msg(
    en="**n = d is the crossover.** Below {d:,d} tokens self-attention needs fewer operations than recurrence; your {n:,d} are below.",
    es="**El cruce está en n = d.** Con menos de {d:,d} tokens, la autoatención requiere menos operaciones que la recurrencia; sus {n:,d} están por debajo.",
)
CROSS_MORE = Msg(
    en="**n = d is the crossover.** Below {d:,d} tokens self-attention needs fewer operations than recurrence; your {n:,d} are above.",
    es="**El cruce está en n = d.** Con menos de {d:,d} tokens, la autoatención requiere menos operaciones que la recurrencia; sus {n:,d} están por encima.",
)
CROSS_EQUAL = Msg(
    en="**n = d is the crossover**, and you stand on it: one token more, and recurrence has the smaller number.",
    es="**El cruce está en n = d**, y usted está justo en él: con un token más, la recurrencia tiene el número menor.",
)
WAITS = Msg(
    en="**Steps that wait.** Recurrence takes {n:,d} steps one after another, the others 1: they can do all tokens side by side.",
    es="**Pasos en espera.** La recurrencia da {n:,d} pasos uno tras otro; las demás, 1: pueden tratar todos los tokens en paralelo.",
)
WAITS_ONE = Msg(
    en="**Steps that wait.** With a single token nobody waits for anybody.",
    es="**Pasos en espera.** Con un solo token nadie espera a nadie.",
)
CONVOLVED = Msg(
    en="**A path to every token.** Contiguous kernels of {k} need a stack of {contiguous}, dilated ones {dilated}. "
    "Both cost {k} times a recurrent layer, for each layer of the stack.",
    es="**Un camino a cada token.** Los núcleos contiguos de {k} requieren una pila de {contiguous}; los dilatados, {dilated}. "
    "Ambos cuestan {k} veces una capa recurrente, por cada capa de la pila.",
)
CONVOLVED_NEVER = Msg(
    en="**A path to every token.** A kernel of 1 never reads another token, however deep the stack. The paper’s feed-forward "
    "layer is two of these (section 3.3); reading others is left to attention.",
    es="**Un camino a cada token.** Un núcleo de 1 nunca lee otro token, por honda que sea la pila. La capa feed-forward del "
    "artículo son dos de estos (sección 3.3); leer a los demás queda para la atención.",
)
RESTRICTED = Msg(
    en="**Restricted to {r:,d} tokens**, self-attention costs {times} times less, and its path grows from 1 layer to {takes}.",
    es="**Restringida a {r:,d} tokens**, la autoatención cuesta {times} veces menos, y su camino pasa de 1 capa a {takes}.",
)
RESTRICTED_ALONE = Msg(
    en="**Restricted to 1 token**, each token reads only itself, and no stack of such layers ever reads another.",
    es="**Restringida a 1 token**, cada token solo se lee a sí mismo, y ninguna pila de tales capas llega a leer otro.",
)
RESTRICTED_WHOLE = Msg(
    en="**Restricted to r = {r:,d}** changes nothing here, as n is {n:,d}.",
    es="**Restringirla a r = {r:,d}** no cambia nada aquí, ya que n es {n:,d}.",
)
CHECKS = {
    "path": Msg(en="paths of real stacks, n = {n}", es="caminos de pilas reales, n = {n}"),
    "counted": Msg(en="PyTorch’s counter", es="contador de PyTorch"),
    "bytes": Msg(en="bytes of the weights", es="bytes de los pesos"),
    "fused": Msg(en="fused and explicit output", es="salida fusionada y explícita"),
}

# The paths

PATHS = Msg(en="How far a stack reads back", es="Hasta dónde lee una pila hacia atrás")
PATHS_LEAD = Msg(
    en="Real stacks of causal layers with random weights (seed {seed}), n = {n}, differentiated: a cell is filled where the gradient "
    "of the **last** output with respect to that input is not zero.",
    es="Pilas reales de capas causales con pesos aleatorios (semilla {seed}), n = {n}, derivadas: una celda está llena donde el "
    "gradiente de la **última** salida respecto de esa entrada no es cero.",
)
PATHS_CAPPED = Msg(
    en="Of your {n:,d} tokens the last {shown} are shown.", es="De sus {n:,d} tokens se muestran los {shown} últimos."
)
PATH_NAME = {
    "convolutional": Msg(en="Contiguous, k = {k}", es="Contigua, k = {k}"),
    "dilated": Msg(en="Dilated, k = {k}", es="Dilatada, k = {k}"),
    "restricted": Msg(en="Restricted, r = {r:,d}", es="Restringida, r = {r:,d}"),
}
PATH_X = Msg(en="input token", es="token de entrada")
PATH_Y = Msg(en="layers", es="capas")
PATH_SAYS = Msg(
    en="After 1 layer the last output reads {first:,d} of {n:,d} inputs; after **{takes}** it reads all of them.",
    es="Tras 1 capa, la última salida lee {first:,d} de {n:,d} entradas; tras **{takes}** las lee todas.",
)
PATH_AT_ONCE = Msg(
    en="After **1 layer** the last output reads every input.", es="Tras **1 capa**, la última salida lee todas las entradas."
)
PATH_NEVER = Msg(
    en="The last output reads {first:,d} of {n:,d} inputs after 1 layer and after {depth:,d}: it **never** reads the others.",
    es="La última salida lee {first:,d} de {n:,d} entradas tras 1 capa y tras {depth:,d}: **nunca** lee las demás.",
)
PATH_COLUMNS = {
    "depth": (PATH_Y, ",d"),
    "token": (PATH_X, ",d"),
    "said": (Msg(en="reached", es="alcanzado"), ""),
}
REACHED = {True: Msg(en="yes", es="sí"), False: Msg(en="no", es="no")}

# Counted

COUNTED = Msg(en="Counted on real layers", es="Contado en capas reales")
COUNTED_LEAD = Msg(
    en="PyTorch’s own counter, on real layers of n = {n:,d} and d = {d:,d}. It counts a product and its sum as two; the paper counts what "
    "dominates, and O() drops constants. For the five layers of the table, the last column is the constant that O() hides.",
    es="El contador del propio PyTorch, en capas reales con n = {n:,d} y d = {d:,d}. Cuenta como dos un producto y su suma; el artículo cuenta lo "
    "que domina, y O() omite las constantes. En las cinco capas de la tabla, la última columna es la constante que O() oculta.",
)
COUNTED_CAPPED = Msg(
    en="Counted at sizes that run quickly: n and d are at most {n:,d} and {d:,d} here.",
    es="Contado con tamaños que se ejecutan deprisa: aquí n y d llegan como máximo a {n:,d} y {d:,d}.",
)
COUNTED_HEAD = (
    HEAD[0],
    Msg(en="formula", es="fórmula"),
    Msg(en="by formula", es="por fórmula"),
    Msg(en="counted", es="contado"),
    Msg(en="difference", es="diferencia"),
    Msg(en="counted / paper", es="contado / artículo"),
)
MULTI_HEAD = Msg(
    en="Table 1 leaves out the four projections of a multi-head layer, 8 n d². Here they are **{share:.0%}** of its {counted:,d} operations.",
    es="La tabla 1 omite las cuatro proyecciones de una capa multicabeza, 8 n d². Aquí son el **{share:.0%}** de sus {counted:,d} operaciones.",
)

# Timed

TIMED = Msg(en="Timed on this machine, now", es="Cronometrado en esta máquina, ahora")
TIMED_LEAD = Msg(
    en="Five real layers run at growing n and at growing d, and t = c₀ + c₁ · sizeᵖ is fitted to their times (c₀ ≥ 0, relative least squares). Does p "
    "come out as the table says? Your k and r are used (r up to {r}). It takes less than {seconds:.0f} seconds. Moving a control stops it.",
    es="Se ejecutan cinco capas reales con n creciente y con d creciente, y se ajusta t = c₀ + c₁ · tamañoᵖ a sus tiempos (c₀ ≥ 0, mínimos cuadrados "
    "relativos). ¿Sale p como dice la tabla? Se usan sus k y r (r hasta {r}). Tarda menos de {seconds:.0f} segundos. Mover un control lo detiene.",
)
MEASURE = Msg(en="Measure", es="Medir")
MEASURE_AGAIN = Msg(en="Measure again", es="Medir otra vez")
CANCEL = Msg(en="Cancel", es="Cancelar")
MEASURING = Msg(en="Measuring on this machine: {share:.0%}", es="Midiendo en esta máquina: {share:.0%}")
STOPPED = Msg(
    en="The measurement was stopped before its end, and nothing of it was kept.",
    es="La medición se detuvo antes de terminar, y no se conservó nada de ella.",
)
CLOCKS = {
    "thread": Msg(en="the CPU time of one thread", es="el tiempo de CPU de un hilo"),
    "wall": Msg(en="the clock on the wall", es="el reloj de pared"),
    "events": Msg(en="events of the GPU after a warm-up", es="eventos de la GPU tras un calentamiento"),
}
DEVICES = {
    "cpu": Msg(en="the CPU", es="la CPU"),
    "cuda": Msg(en="the GPU (CUDA)", es="la GPU (CUDA)"),
    "mps": Msg(en="the GPU (Apple)", es="la GPU (Apple)"),
}
TAKEN = Msg(
    en="Measured at {when} on {device} with {clock}, k = {k}, r = {r}; {samples:,d} calls or more at each point, the quickest counts. This is "
    "your own measurement: it is kept for you alone, until you leave. A link does not carry it, and another machine gives other times.",
    es="Medido a las {when} en {device} con {clock}, k = {k}, r = {r}; al menos {samples:,d} llamadas en cada punto, y cuenta la más rápida. Es "
    "su propia medición: se guarda solo para usted, hasta que salga. Un enlace no la lleva, y otra máquina da otros tiempos.",
)
BUSY = Msg(
    en="The machine was busy: the measurement had {share:.0%} of a core. Exponents then stray more; measure again when it is calm.",
    es="La máquina estaba ocupada: la medición tuvo el {share:.0%} de un núcleo. Entonces los exponentes se desvían más; mida otra vez "
    "con calma.",
)
VERDICT_ALL = Msg(
    en="**All {all} exponents** agree with the table, within ±{n} against n and ±{d} against d.",
    es="**Los {all} exponentes** coinciden con la tabla, con un margen de ±{n} frente a n y ±{d} frente a d.",
)
VERDICT_SOME = Msg(
    en="**{within} of {all} exponents** agree with the table, within ±{n} against n and ±{d} against d. Furthest off: {layer} against {axis}, with "
    "{exponent:.2f} where the table says {theory}. Other work on the machine can do that; measure again to see.",
    es="**{within} de {all} exponentes** coinciden con la tabla, con un margen de ±{n} frente a n y ±{d} frente a d. El que más se aparta: {layer} "
    "frente a {axis}, con {exponent:.2f} donde la tabla dice {theory}. Puede deberse a otro trabajo de la máquina; mida otra vez para verlo.",
)
VERDICT_UNFIT = Msg(
    en="{n} of the {all} sweeps got too few times for a fit. Measure again.",
    es="{n} de los {all} barridos no reunieron tiempos suficientes para un ajuste. Mida otra vez.",
)
OVERHEAD = Msg(
    en="**What overhead does at small sizes.** Every call costs c₀, whatever its size. It weighs most for {layer} at {axis} = {size:,d}: "
    "**{share:.0%}** of the time. A plain line through the logarithms takes it for a smaller power: {slope:.2f} instead of {exponent:.2f}.",
    es="**Qué hace el coste fijo con tamaños pequeños.** Cada llamada cuesta c₀, sea cual sea su tamaño. Donde más pesa es en {layer} con {axis} = {size:,d}: "
    "un **{share:.0%}** del tiempo. Una recta por los logaritmos lo toma por una potencia menor: {slope:.2f} en vez de {exponent:.2f}.",
)
OVERHEAD_PLAIN = Msg(
    en="**What overhead does at small sizes.** Every call costs c₀, whatever its size. It weighs most for {layer} at {axis} = {size:,d}: "
    "**{share:.0%}** of the time. A plain line through the logarithms has the slope {slope:.2f}; the fit says {exponent:.2f}.",
    es="**Qué hace el coste fijo con tamaños pequeños.** Cada llamada cuesta c₀, sea cual sea su tamaño. Donde más pesa es en {layer} con {axis} = {size:,d}: "
    "un **{share:.0%}** del tiempo. Una recta por los logaritmos tiene pendiente {slope:.2f}; el ajuste dice {exponent:.2f}.",
)
OVERHEAD_NONE = Msg(
    en="No constant cost showed in any sweep: c₀ = 0 fits best everywhere.",
    es="No apareció un coste fijo en ningún barrido: c₀ = 0 es lo que mejor ajusta en todos.",
)
TIMED_NAME = {"n": Msg(en="Against n", es="Frente a n"), "d": Msg(en="Against d", es="Frente a d")}
TIMED_X = {"n": Msg(en="tokens n", es="tokens n"), "d": Msg(en="channels d", es="canales d")}
TIMED_Y = Msg(en="time of a call (ms)", es="tiempo de una llamada (ms)")
TIMED_SAYS = {
    "n": Msg(
        en="Points: measured times. Lines: the fits. Steepest: {top}, p = {top_p:.2f}; flattest: {low}, p = {low_p:.2f}.",
        es="Puntos: tiempos medidos. Líneas: los ajustes. La más empinada: {top}, p = {top_p:.2f}; la menos: {low}, p = {low_p:.2f}.",
    ),
}
TIMED_SAYS["d"] = TIMED_SAYS["n"]
TIMED_NOTHING = Msg(en="No times to draw.", es="No hay tiempos que dibujar.")
EXPONENT_HEAD = (
    Msg(en="layer", es="capa"),
    Msg(en="against", es="frente a"),
    Msg(en="table", es="tabla"),
    Msg(en="fitted p", es="p ajustado"),
    Msg(en="within", es="dentro"),
    Msg(en="log-log line", es="recta log-log"),
    Msg(en="c₀ at the smallest", es="c₀ en el menor"),
)
WITHIN = {True: Msg(en="✓ ±{margin}", es="✓ ±{margin}"), False: Msg(en="✗ ±{margin}", es="✗ ±{margin}")}
POINT_COLUMNS = {
    "name": (HEAD[0], ""),
    "sweep": (Msg(en="against", es="frente a"), ""),
    "n": (Msg(en="n", es="n"), ",d"),
    "d": (Msg(en="d", es="d"), ",d"),
    "batch": (Msg(en="sequences", es="secuencias"), ",d"),
    "samples": (Msg(en="calls", es="llamadas"), ",d"),
    "ms": (Msg(en="quickest (ms)", es="más rápida (ms)"), ".4f"),
    "median_ms": (Msg(en="median (ms)", es="mediana (ms)"), ".4f"),
    "fitted_ms": (Msg(en="fit (ms)", es="ajuste (ms)"), ".4f"),
}

# Memory

MEMORY = Msg(en="What the n × n weights take in memory", es="Cuánta memoria ocupan los pesos n × n")
MEMORY_LEAD = Msg(
    en="With h = {heads} and n = {n:,d}, the :yellow[weights] take 4 · h · n² = **{weights}**. The fused kernel never holds them all: it keeps the "
    "output, 4 · h · n · dₖ = **{fused}**. For the same n that is {ratio}. At {long:,d} tokens the weights would take **{long_weights}**, the output {long_fused}.",
    es="Con h = {heads} y n = {n:,d}, los :yellow[pesos] ocupan 4 · h · n² = **{weights}**. El núcleo fusionado nunca los guarda todos: conserva la "
    "salida, 4 · h · n · dₖ = **{fused}**. Para el mismo n, eso es {ratio}. Con {long:,d} tokens los pesos ocuparían **{long_weights}**, y la salida {long_fused}.",
)
RATIO_LESS = Msg(en="{times} times less", es="{times} veces menos")
RATIO_MORE = Msg(en="{times} times more, as n is below dₖ", es="{times} veces más, ya que n es menor que dₖ")
RATIO_SAME = Msg(en="the same, as n = dₖ", es="lo mismo, ya que n = dₖ")
MEMORY_X = Msg(en="tokens n", es="tokens n")
MEMORY_Y = Msg(en="memory", es="memoria")
ARMS = {
    "weights": Msg(en="all weights", es="todos los pesos"),
    "fused": Msg(en="fused kernel", es="fusionado"),
}
MEMORY_SAYS = Msg(
    en="Lines: by formula. Marks: the most bytes that PyTorch held at once beyond q, k and v on the CPU; at {T:,d} tokens, **{explicit}** with all weights and "
    "**{fused}** fused.",
    es="Líneas: por fórmula. Marcas: la mayor cantidad de bytes que PyTorch tuvo a la vez, aparte de q, k y v, en la CPU; con {T:,d} tokens, **{explicit}** con todos los "
    "pesos y **{fused}** fusionado.",
)
MEMORY_UNKNOWN = Msg(
    en="Lines: by formula. This PyTorch keeps no record of its allocations, so nothing was measured.",
    es="Líneas: por fórmula. Este PyTorch no lleva registro de sus reservas de memoria, así que no se midió nada.",
)
MEMORY_CAPPED = Msg(
    en="Measured up to {T:,d} tokens only, so that the page stays quick.",
    es="Medido solo hasta {T:,d} tokens, para que la página siga siendo rápida.",
)
MEMORY_COLUMNS = {
    "T": (Msg(en="n", es="n"), ",d"),
    "weights_bytes": (Msg(en="weights, formula (bytes)", es="pesos, fórmula (bytes)"), ",d"),
    "fused_bytes": (Msg(en="output, formula (bytes)", es="salida, fórmula (bytes)"), ",d"),
    "explicit_peak": (Msg(en="with all weights, measured", es="con todos los pesos, medido"), ",.0f"),
    "fused_peak": (Msg(en="fused, measured", es="fusionado, medido"), ",.0f"),
}

# Predict and try

PREDICT = Msg(
    en="The sequence grows from {n:,d} to {longer:,d} tokens; d stays {d:,d}. How many times the operations does self-attention take then?",
    es="La secuencia crece de {n:,d} a {longer:,d} tokens; d sigue en {d:,d}. ¿Por cuánto se multiplican las operaciones de la autoatención?",
)
TIMES = Msg(en="{n} times", es="por {n}")
BECAUSE = Msg(
    en="It goes from {ours:,d} to {ours_then:,d}, {factor} times as many: each of {grown} times as many tokens reads {grown} times as many. Recurrence only takes "
    "{other} times as many, {theirs_then:,d}. But its longest path grows to {path:,.0f} steps, and that of self-attention stays 1.",
    es="Pasan de {ours:,d} a {ours_then:,d}, {factor} veces más: hay {grown} veces más tokens, y cada uno lee {grown} veces más. La recurrencia solo requiere "
    "{other} veces más, {theirs_then:,d}. Pero su camino más largo crece hasta {path:,.0f} pasos, y el de la autoatención sigue en 1.",
)
TRY = {
    "sentence": (
        Msg(en="A sentence", es="Una frase"),
        Msg(
            en="The paper’s d = 512 and a sentence of 32 tokens: n is far below d. This is where its claim “faster than recurrent layers” lives.",
            es="El d = 512 del artículo y una frase de 32 tokens: n está muy por debajo de d. Ahí vale su «más rápida que las capas recurrentes».",
        ),
    ),
    "even": (
        Msg(en="On the crossover", es="En el cruce"),
        Msg(en="n = d = 512. Move n one step to either side.", es="n = d = 512. Mueva n un paso a cada lado."),
    ),
    "book": (
        Msg(en="A whole book", es="Un libro entero"),
        Msg(
            en="65,536 tokens. Compare self-attention with its restricted row, and look at the memory of the weights.",
            es="65\u202f536 tokens. Compare la autoatención con su fila restringida, y mire la memoria de los pesos.",
        ),
    ),
    "feed_forward": (
        Msg(en="A kernel of 1", es="Un núcleo de 1"),
        Msg(en="The feed-forward layer: what does its path become?", es="La capa feed-forward: ¿qué ocurre con su camino?"),
    ),
    "pairs": (
        Msg(en="A kernel of 2", es="Un núcleo de 2"),
        Msg(
            en="Reading back one token a layer, or doubling: compare the two pictures of stacks.",
            es="Leer un token más por capa, o el doble: compare las dos figuras de pilas.",
        ),
    ),
    "whole": (
        Msg(en="Not so restricted", es="No tan restringida"),
        Msg(en="r = n: restricted self-attention is self-attention.", es="r = n: la autoatención restringida es la autoatención."),
    ),
    "one_head": (
        Msg(en="One narrow head", es="Una cabeza estrecha"),
        Msg(en="d = 64 with 512 tokens: now recurrence is cheaper.", es="d = 64 con 512 tokens: ahora la recurrencia es más barata."),
    ),
}


def times(ratio: float, lang: str) -> str:
    """A factor >= 1, without decimals that nobody reads."""
    return number(ratio, ",.0f" if ratio >= 100 or float(ratio).is_integer() else ".3g", lang)


def size(amount: float, lang: str) -> str:
    """Bytes, in the unit that suits them."""
    if math.isnan(amount):
        return number(amount, ".3g", lang)
    power = 0 if amount < 1024 else min(int(math.log2(amount) // 10), 5)
    value = amount / 1024**power
    spec = ",.0f" if value >= 100 or float(value).is_integer() else ".3g"
    return f"{number(value, spec, lang)}\u00a0{('B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB')[power]}"


def lead(c: Any, lang: str) -> str:
    """The crossover at the settings on screen, in a sentence."""
    msg = {"self_attention": LEAD_LESS, "recurrent": LEAD_MORE, "equal": LEAD_EQUAL}[c.cheaper]
    return msg(lang, n=c.n, d=c.d, ours=c.self_attention, theirs=c.recurrent, times=times(max(c.ratio, 1 / c.ratio), lang))


def takes(path: float, layer: str, lang: str) -> str:
    """How many layers, or steps, the longest way takes."""
    if math.isinf(path):
        return NEVER(lang)
    one, many = TAKES["steps" if layer == "recurrent" else "layers"]
    return one(lang) if path == 1 else many(lang, n=path)


def means(layer: str, path: float, n: int, r: int, lang: str) -> str:
    if math.isinf(path):
        return MEANS_ALONE(lang)
    if layer == "restricted" and r >= n:
        return MEANS_WHOLE(lang)
    return MEANS[layer](lang)


def rows(table: Any, n: int, r: int, lang: str) -> list[list[str]]:
    """Table 1 as it is read; the fewest operations are bold."""
    least = table["operations"].min()
    out = []
    for row in table.itertuples():
        here = number(row.operations, ",d", lang)
        formula = FORMULAS[row.path_formula]
        order = "∞" if math.isinf(row.path_order) else number(row.path_order, ",.0f" if row.path_order >= 100 or float(row.path_order).is_integer() else ",.1f", lang)
        path = ORDER(lang, formula=formula) if formula == "1" else VALUE(lang, formula=formula, value=order)
        steps = ORDER(lang, formula="1") if row.sequential_formula == "1" else VALUE(lang, formula="n", value=number(row.sequential, ",d", lang))
        out.append([
            LAYERS[row.layer](lang), ORDER(lang, formula=FORMULAS[row.operations_formula]), f"**{here}**" if row.operations == least else here,
            steps, path, takes(row.path, row.layer, lang), means(row.layer, row.path, n, r, lang),
        ])  # fmt: skip
    return [[cell.replace(" ", "\u00a0") for cell in cells] for cells in out]


def in_words(table: Any, c: Any, k: int, r: int, lang: str) -> list[str]:
    """What the table says at these settings, a sentence a row."""
    path = dict(zip(table["layer"], table["path"]))
    operations = dict(zip(table["layer"], table["operations"]))
    cross = {"self_attention": CROSS_LESS, "recurrent": CROSS_MORE, "equal": CROSS_EQUAL}[c.cheaper]
    told = [cross(lang, n=c.n, d=c.d), WAITS(lang, n=c.n) if c.n > 1 else WAITS_ONE(lang)]
    if k == 1:
        told.append(CONVOLVED_NEVER(lang))
    else:
        ways = {name: takes(path[code], code, lang) for name, code in (("contiguous", "convolutional"), ("dilated", "dilated"))}
        told.append(CONVOLVED(lang, k=k, **ways))
    if r >= c.n:
        told.append(RESTRICTED_WHOLE(lang, r=r, n=c.n))
    elif math.isinf(path["restricted"]):
        told.append(RESTRICTED_ALONE(lang))
    else:
        ratio = operations["self_attention"] / operations["restricted"]
        told.append(RESTRICTED(lang, r=r, times=times(ratio, lang), takes=takes(path["restricted"], "restricted", lang)))
    return told


def path_says(first: int, n: int, depth: int, path: float, lang: str) -> str:
    """What a picture of a stack shows."""
    if math.isinf(path):
        return PATH_NEVER(lang, first=first, n=n, depth=depth)
    if path == 1:
        return PATH_AT_ONCE(lang)
    return PATH_SAYS(lang, first=first, n=n, takes=takes(path, "dilated", lang))


def counted_rows(counts: Any, lang: str) -> list[list[str]]:
    return [
        [
            LAYERS[row.layer](lang), FORMULAS[row.formula], number(row.closed_form, ",d", lang), number(row.counted, ",d", lang),
            number(row.difference, ",d", lang), number(row.per_paper, ",.2f", lang),
        ]
        for row in counts.itertuples()
    ]  # fmt: skip


def exponent_rows(found: Any, tolerance: dict[str, float], lang: str) -> list[list[str]]:
    return [
        [
            LAYERS[row.layer](lang), row.sweep, number(row.theory, "d", lang), number(row.exponent, ".2f", lang),
            WITHIN[bool(row.within)](lang, margin=number(tolerance[row.sweep], "g", lang)), number(row.log_log, ".2f", lang),
            number(row.fixed_share, ".0%", lang),
        ]
        for row in found.itertuples()
    ]  # fmt: skip


def verdict(found: Any, tolerance: dict[str, float], lang: str) -> str:
    """How many of the exponents agree with the table, and which one is furthest off."""
    fitted = found[found["exponent"].notna()]
    margins = {axis: number(value, "g", lang) for axis, value in tolerance.items()}
    told = []
    if len(fitted) < len(found):
        told.append(VERDICT_UNFIT(lang, n=len(found) - len(fitted), all=len(found)))
    if len(fitted):
        within = int(fitted["within"].sum())
        if within == len(found):
            return VERDICT_ALL(lang, all=len(found), **margins)
        off = fitted["difference"].abs() / fitted["sweep"].map(tolerance)
        worst = fitted.loc[off.idxmax()]
        told.append(
            VERDICT_SOME(
                lang, within=within, all=len(found), layer=LAYERS[worst["layer"]](lang), axis=worst["sweep"],
                exponent=float(worst["exponent"]), theory=str(worst["theory"]), **margins,
            )
        )  # fmt: skip
    return " ".join(told)


def overhead(found: Any, points: Any, lang: str) -> str:
    """What the constant of the fit does at the smallest sizes; empty without a fit."""
    fitted = found[found["fixed_share"].notna()]
    if not len(fitted):
        return ""
    worst = fitted.loc[fitted["fixed_share"].idxmax()]
    if worst["fixed_share"] <= 0:
        return OVERHEAD_NONE(lang)
    sweep = points[(points["layer"] == worst["layer"]) & (points["sweep"] == worst["sweep"])]
    msg = OVERHEAD if worst["log_log"] < worst["exponent"] - 0.005 else OVERHEAD_PLAIN
    return msg(
        lang, layer=LAYERS[worst["layer"]](lang), axis=worst["sweep"], size=int(sweep["size"].min()), share=float(worst["fixed_share"]),
        slope=float(worst["log_log"]), exponent=float(worst["exponent"]),
    )  # fmt: skip


def timed_says(found: Any, axis: str, lang: str) -> str:
    fitted = found[(found["sweep"] == axis) & found["exponent"].notna()]
    if not len(fitted):
        return TIMED_NOTHING(lang)
    top, low = fitted.loc[fitted["exponent"].idxmax()], fitted.loc[fitted["exponent"].idxmin()]
    return TIMED_SAYS[axis](
        lang, top=LAYERS[top["layer"]](lang), top_p=float(top["exponent"]), low=LAYERS[low["layer"]](lang), low_p=float(low["exponent"])
    )


def memory_lead(m: Any, lang: str) -> str:
    ratio = m.n / m.d_k
    msg = RATIO_LESS if ratio > 1 else RATIO_MORE if ratio < 1 else RATIO_SAME
    return MEMORY_LEAD(
        lang, heads=m.heads, n=m.n, weights=size(m.weights, lang), fused=size(m.fused, lang), ratio=msg(lang, times=times(max(ratio, 1 / ratio), lang)),
        long=m.long, long_weights=size(m.long_weights, lang), long_fused=size(m.long_fused, lang),
    )  # fmt: skip


def memory_says(m: Any, lang: str) -> str:
    if math.isnan(m.explicit_peak) or math.isnan(m.fused_peak):
        return MEMORY_UNKNOWN(lang)
    return MEMORY_SAYS(lang, T=m.T, explicit=size(m.explicit_peak, lang), fused=size(m.fused_peak, lang))
