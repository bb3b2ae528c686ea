"""The words of the training page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from qkv_core.text import Msg, number, vector

QUESTION = Msg(en="Does it learn, and does the scale matter?", es="¿Aprende, y es importante la escala?")
SOURCE = Msg(
    en="Vaswani et al. (2017), “Attention Is All You Need”, section 3.2.1 and its footnote 4. The experiment is this lab’s own.",
    es="Vaswani et al. (2017), «Attention Is All You Need», sección 3.2.1 y su nota 4. El experimento es propio de este laboratorio.",
)

# the settings

TASK = Msg(en="Task", es="Tarea")
TASKS = {
    "cat_sat": Msg(en="“The cat sat” → a target", es="«The cat sat» → un objetivo"),
    "reverse": Msg(en="reverse 8 letters", es="invertir 8 letras"),
    "key_value": Msg(en="key-value recall", es="recordar clave y valor"),
    "look_up": Msg(en="look-up: A B … A → ?", es="búsqueda: A B … A → ?"),
    "agreement": Msg(en="agreement: is or are?", es="concordancia: ¿is o are?"),
}
TASK_HELP = Msg(
    en="What every run has to learn. A new task brings the learning rate and the optimizer that suit it.",
    es="Lo que debe aprender cada entrenamiento. Una tarea nueva trae la tasa de aprendizaje y el optimizador que le convienen.",
)
RULES = {
    "cat_sat": Msg(
        en="One attention head turns the three tokens of the lesson into the target. A run is **solved** when its mean squared "
        "error is below {loss:g}.",
        es="Una cabeza de atención convierte los tres tokens de la lección en el objetivo. Un entrenamiento está **resuelto** cuando "
        "su error cuadrático medio baja de {loss:g}.",
    ),
    "reverse": Msg(
        en="Letters in, the same letters backwards out. **Solved**: {accuracy:.0%} right over {batches} batches of new examples in a row.",
        es="Entran letras, salen las mismas al revés. **Resuelto**: {accuracy:.0%} de aciertos en {batches} lotes seguidos de ejemplos nuevos.",
    ),
    "key_value": Msg(
        en="Six letters with a digit each, then one of the letters: which digit? **Solved**: {accuracy:.0%} right over {batches} "
        "batches of new examples in a row.",
        es="Seis letras con un dígito cada una y luego una de las letras: ¿qué dígito? **Resuelto**: {accuracy:.0%} de aciertos en "
        "{batches} lotes seguidos de ejemplos nuevos.",
    ),
    "look_up": Msg(
        en="Letters, then one of them again: which one followed it? **Solved**: {accuracy:.0%} right over {batches} batches of new "
        "examples in a row.",
        es="Letras y luego una de ellas otra vez: ¿cuál la seguía? **Resuelto**: {accuracy:.0%} de aciertos en {batches} lotes "
        "seguidos de ejemplos nuevos.",
    ),
    "agreement": Msg(
        en="“this key near the cats …”: *is* or *are*? The verb follows the first noun; the second only misleads. **Solved**: "
        "{accuracy:.0%} right over {batches} batches of new examples in a row.",
        es="«this key near the cats …»: ¿*is* o *are*? El verbo sigue al primer nombre; el segundo solo confunde. **Resuelto**: "
        "{accuracy:.0%} de aciertos en {batches} lotes seguidos de ejemplos nuevos.",
    ),
}
LR = Msg(en="Learning rate", es="Tasa de aprendizaje")
LR_HELP = Msg(en="Acts at once, also while training. The axis is logarithmic.", es="Actúa al instante, también durante el entrenamiento. El eje es logarítmico.")
OPTIMIZER = Msg(en="Optimizer", es="Optimizador")
OPTIMIZERS = {"sgd": Msg(en="SGD", es="SGD"), "adam": Msg(en="Adam", es="Adam")}
SEEDS = Msg(en="Seeds", es="Semillas")
SEEDS_HELP = Msg(
    en="How many runs each arm has. Run n starts from the same random weights in every arm and sees the same batches.",
    es="Cuántos entrenamientos tiene cada brazo. El número n parte de los mismos pesos al azar en todos los brazos y ve los mismos lotes.",
)
KIND = Msg(en="The arms differ in", es="Los brazos difieren en")
KINDS = {
    "scale": Msg(en="the divisor of the scores", es="el divisor"),
    "lr": Msg(en="the learning rate", es="la tasa de aprendizaje"),
    "tau": Msg(en="the temperature τ", es="la temperatura τ"),
    "heads": Msg(en="the number of heads", es="el número de cabezas"),
    "init": Msg(en="the first size of W_q", es="el tamaño inicial de W_q"),
    "layers": Msg(en="the number of layers", es="el número de capas"),
}
KIND_HELP = Msg(
    en="The first arm has the settings of this page. The second differs in this one thing, so that nothing else can be the cause.",
    es="El primer brazo tiene los ajustes de esta página. El segundo difiere solo en esto, así que nada más puede ser la causa.",
)
OTHER = Msg(en="Second arm", es="Segundo brazo")
DIVISORS = {
    "sqrt_dk": Msg(en="√dₖ (the paper)", es="√dₖ (el artículo)"),
    "none": Msg(en="1 (no scale)", es="1 (sin escala)"),
    "dk": Msg(en="dₖ", es="dₖ"),
    "sqrt_dmodel": Msg(en="√d_model", es="√d_model"),
}
SPEED = Msg(en="Steps per second", es="Pasos por segundo")
FULL = Msg(en="max", es="máx.")
LOOK = Msg(en="Look back to step", es="Volver al paso")
LOOK_HELP = Msg(
    en="Every step of the run can be seen again. Moving this pauses the training.",
    es="Se puede volver a ver cada paso. Al mover este control el entrenamiento se detiene.",
)

MORE = Msg(en="More settings", es="Más ajustes")
HEADS = Msg(en="Heads h", es="Cabezas h")
HEADS_HELP = Msg(
    en="The training page has its own: these nets are small, and one head is enough for every task here.",
    es="Esta página tiene las suyas: estas redes son pequeñas y a cada tarea le basta una cabeza.",
)
LAYERS = Msg(en="Layers", es="Capas")
OWN_LAYERS = Msg(en="as the task needs", es="las que pide la tarea")
LAYER_NAMES = {0: OWN_LAYERS, **{n: Msg(en=str(n), es=str(n)) for n in range(1, 5)}}
INIT = Msg(en="First size of W_q", es="Tamaño inicial de W_q")
INIT_HELP = Msg(
    en="Multiplies the random start of W_q. Dividing W_q by √dₖ at the start gives the scores of the scale at step 0, not after it.",
    es="Multiplica el inicio al azar de W_q. Dividir W_q entre √dₖ da al principio las puntuaciones de la escala, pero no después.",
)
START = Msg(en="First weights", es="Pesos iniciales")
STARTS = {
    "random": Msg(en="random, from the seed", es="al azar, de la semilla"),
    "lesson": Msg(en="the lesson’s own matrices", es="las matrices de la lección"),
}
UNTIL = Msg(en="Pause every … steps", es="Pausa cada … pasos")
UNTIL_HELP = Msg(en="Play runs to the next multiple of this.", es="«Iniciar» llega hasta el siguiente múltiplo de este número.")
TARGET = Msg(en="The target of “The cat sat”", es="El objetivo de «The cat sat»")
TARGET_LEAD = Msg(
    en="Three rows of four numbers, one row a token. Type into a cell; a new target begins a new experiment.",
    es="Tres filas de cuatro números, una fila por token. Escriba en una celda; un objetivo nuevo empieza otro experimento.",
)
TARGET_NAME = Msg(en="target", es="objetivo")

BEAT = Msg(en="Try to beat it", es="Intente superarlo")
BEAT_LEAD = Msg(
    en="A third arm, like the second but with a learning rate of your own. Can the class find one that does as well as the first arm?",
    es="Un tercer brazo, como el segundo pero con una tasa de aprendizaje elegida por ustedes. ¿Encuentra la clase una que iguale al primero?",
)
BEAT_ON = Msg(en="Add our own row", es="Añadir nuestra fila")
BEAT_LR = Msg(en="Our learning rate", es="Nuestra tasa de aprendizaje")

BOARD_ARM = Msg(en="arm", es="brazo")
BOARD_FIRST = Msg(en="median step", es="paso mediano")
SEQUENCE = Msg(en="Example: {tokens}", es="Ejemplo: {tokens}")

# what had to give way

NOTES = {
    "d_k": Msg(en="dₖ = {asked} is more than this page trains; {used} is used.", es="dₖ = {asked} es más de lo que entrena esta página; se usa {used}."),
    "heads": Msg(
        en="{asked} heads do not divide the channels of this net; {used} are used.",
        es="{asked} cabezas no dividen los canales de esta red; se usan {used}.",
    ),
    "layers": Msg(
        en="“The cat sat” is a single attention, so its layers can’t differ; the arms differ in the divisor.",
        es="«The cat sat» es una sola atención: sus capas no pueden diferir; los brazos difieren en el divisor.",
    ),
    "lesson": Msg(
        en="The lesson’s own matrices fit “The cat sat” with one head and the smallest of its key sizes only; the start is random.",
        es="Las matrices de la lección solo valen para «The cat sat» con una cabeza y su dₖ propio; el inicio es al azar.",
    ),
    "alone": Msg(
        en="With the lesson’s own start all seeds would be the same run, so there is one.",
        es="Con el inicio de la lección todas las semillas serían el mismo entrenamiento, así que hay uno.",
    ),
    "seeds": Msg(
        en="{asked} seeds at these sizes are more than a CPU takes through a step in time; {used} are trained.",
        es="{asked} semillas con estos tamaños son más de las que una CPU avanza a tiempo; se entrenan {used}.",
    ),
    "alike": Msg(
        en="Both arms are the same now: choose another value for the second.",
        es="Los dos brazos son iguales ahora: elija otro valor para el segundo.",
    ),
}
CHANGED = Msg(
    en="The settings are now another experiment. On screen is still the run of before, at step {step:,}; starting the new one drops it.",
    es="Los ajustes ya son otro experimento. En pantalla sigue el anterior, en el paso {step:,}; al empezar el nuevo se descarta.",
)
CHANGED_GO = Msg(en="Start the new experiment", es="Empezar el nuevo experimento")
CHANGED_BACK = Msg(en="Back to the settings of this run", es="Volver a los ajustes de este")
REPLAY = Msg(
    en="This link replays {until:,} steps from the seed, with {n} changes of the learning rate on the way. Press Play.",
    es="Este enlace repite {until:,} pasos desde la semilla, con {n} cambios de la tasa de aprendizaje. Pulse «Iniciar».",
)
NOTICES = {
    "device_replaced": Msg(en="The device asked for can’t be used here, so the CPU trains.", es="El dispositivo pedido no se puede usar aquí; entrena la CPU."),
    "graph_failed": Msg(
        en="The GPU could not keep the steps as one graph; it trains step by step.",
        es="La GPU no pudo guardar los pasos como un grafo; entrena paso a paso.",
    ),
    "gpu_failed": Msg(
        en="The GPU failed at step {step:,}; the CPU goes on from the same state.",
        es="La GPU falló en el paso {step:,}; la CPU sigue desde el mismo estado.",
    ),
}

# the arms

MARKS = ("●", "■", "◆")
SHORT = {
    "scale": {
        "sqrt_dk": Msg(en="÷ √dₖ", es="÷ √dₖ"),
        "none": Msg(en="not divided", es="sin dividir"),
        "dk": Msg(en="÷ dₖ", es="÷ dₖ"),
        "sqrt_dmodel": Msg(en="÷ √d_model", es="÷ √d_model"),
    },
    "lr": Msg(en="rate {value:g}", es="tasa {value:g}"),
    "tau": Msg(en="τ = {value:.2f}", es="τ = {value:.2f}"),
    "heads": Msg(en="heads: {value}", es="cabezas: {value}"),
    "init": Msg(en="W_q × {value:g}", es="W_q × {value:g}"),
    "layers": Msg(en="layers: {value}", es="capas: {value}"),
}
WITH = {
    "scale": {
        "sqrt_dk": Msg(en="with 1/√dₖ", es="con 1/√dₖ"),
        "none": Msg(en="without the scale", es="sin la escala"),
        "dk": Msg(en="with 1/dₖ", es="con 1/dₖ"),
        "sqrt_dmodel": Msg(en="with 1/√d_model", es="con 1/√d_model"),
    },
    "lr": Msg(en="with rate {value:g}", es="con tasa {value:g}"),
    "tau": Msg(en="with τ = {value:.2f}", es="con τ = {value:.2f}"),
    "heads": Msg(en="with heads = {value}", es="con cabezas = {value}"),
    "init": Msg(en="with W_q × {value:g}", es="con W_q × {value:g}"),
    "layers": Msg(en="with layers = {value}", es="con capas = {value}"),
}
OURS = Msg(en="{name}, our rate {rate:g}", es="{name}, nuestra tasa {rate:g}")


def arm_names(kind: str, values: Sequence[Any], rates: Sequence[float], lang: str, texts: dict[str, Any] = SHORT) -> list[str]:
    """The names of the arms, short for legends, or as part of a sentence with texts=WITH."""
    out = []
    for i, value in enumerate(values):
        if kind == "lr":
            value = rates[i]
        if i == 2 and kind == "lr":
            out.append(texts["lr"](lang, value=rates[2]))
            continue
        msg = texts[kind][value] if kind == "scale" else texts[kind]
        name = msg(lang) if kind == "scale" else msg(lang, value=value)
        out.append(OURS(lang, name=name, rate=rates[2]) if i == 2 else name)
    return out


def roles(kind: str, values: Sequence[Any]) -> tuple[str, ...]:
    """The colours of the arms: an arm without the scale has the colour that it has on every page."""
    swapped = kind == "scale" and values[0] == "none" != values[1]
    return ("unscaled", "scaled", "theory") if swapped else ("scaled", "unscaled", "theory")


# what is claimed

SOLVED_IT = Msg(en="{who} {solved} of {seeds} runs solved it", es="{who}, lo resolvieron {solved} de {seeds}")
SOLVED_TOO = Msg(en="{who} {solved} of {seeds}", es="{who}, {solved} de {seeds}")
AFTER = Msg(en="After {step:,} steps: {claim}.", es="Tras {step:,} pasos: {claim}.")
CLEAR = Msg(
    en="The 95 % intervals of the first two do not touch: the difference is clear.",
    es="Los intervalos del 95 % de los dos primeros no se tocan: la diferencia es clara.",
)
OVERLAP = Msg(
    en="The 95 % intervals of the first two overlap: no clear difference.",
    es="Los intervalos del 95 % de los dos primeros se solapan: no hay diferencia clara.",
)
OVERLAP_YET = Msg(
    en="The 95 % intervals of the first two overlap: no clear difference so far.",
    es="Los intervalos del 95 % de los dos primeros se solapan: por ahora no hay diferencia clara.",
)
ONE_RUN = Msg(
    en="One run an arm shows how it goes, not how often: take more seeds for a claim.",
    es="Un entrenamiento por brazo enseña cómo va, no con qué frecuencia: use más semillas para afirmar algo.",
)
LOSS_NOW = Msg(en="Median loss in the last step: {parts}.", es="Pérdida mediana en el último paso: {parts}.")
LOSS_PART = Msg(en="{who} {loss:.4g}", es="{who} {loss:.4g}")
START_LEAD = Msg(
    en="Nothing is trained yet, and the arms already differ: {second} **{b:.0%}** of the rows are decided (one weight above 99 %) "
    "before the first step, {first} **{a:.0%}**. A decided row passes almost no gradient. Predict below, then press **Play**.",
    es="Aún no se ha entrenado nada y los brazos ya difieren: {second} el **{b:.0%}** de las filas está decidido (un peso mayor que el 99 %) "
    "antes del primer paso; {first}, el **{a:.0%}**. Una fila decidida casi no deja pasar gradiente. Prediga abajo y pulse **Iniciar**.",
)
START_ALIKE = Msg(
    en="Nothing is trained yet: {first} **{a:.0%}** of the rows are decided (one weight above 99 %), {second} **{b:.0%}**. "
    "Predict below, then press **Play**.",
    es="Aún no se ha entrenado nada: {first} está decidido (un peso mayor que el 99 %) el **{a:.0%}** de las filas; {second}, el **{b:.0%}**. "
    "Prediga abajo y pulse **Iniciar**.",
)
DIVERGED_ONE = Msg(
    en="{who} 1 run of {seeds} diverged, at step {first:,}: its loss is no longer a finite number, and it is left out of the pictures.",
    es="{who}, 1 entrenamiento de {seeds} divergió, en el paso {first:,}: su pérdida ya no es un número finito y no se dibuja.",
)
DIVERGED = Msg(
    en="{who} {n} runs of {seeds} diverged, the first at step {first:,}: their loss is no longer a finite number, and they are left out of "
    "the pictures.",
    es="{who}, {n} entrenamientos de {seeds} divergieron, el primero en el paso {first:,}: su pérdida ya no es un número finito y no se dibujan.",
)
LEFT_OUT = Msg(
    en="{n} points are not drawn: too large, or no number at all.",
    es="{n} puntos no se dibujan: son demasiado grandes o no son un número.",
)

SOLVED = Msg(en="Runs that solved it", es="Entrenamientos resueltos")
INTERVAL = Msg(en="{low:.0%} to {high:.0%}", es="de {low:.0%} a {high:.0%}")
INTERVAL_HELP = Msg(en="95 % Wilson interval", es="intervalo de Wilson del 95 %")
OF = Msg(en="{solved} of {seeds}", es="{solved} de {seeds}")
FIGURES = Msg(
    en="step **{step:,}** · {pace} steps/s · {elapsed:.1f} s · {device} · {runs} runs, seeds {low} to {high}",
    es="paso **{step:,}** · {pace} pasos/s · {elapsed:.1f} s · {device} · {runs} entrenamientos, semillas {low} a {high}",
)
DEVICES = {
    "cpu": Msg(en="CPU", es="CPU"),
    "cuda": Msg(en="GPU (CUDA)", es="GPU (CUDA)"),
    "mps": Msg(en="GPU (Apple)", es="GPU (Apple)"),
}

# the pictures

STEP_AXIS = Msg(en="step", es="paso")
LOSS = {
    "cat_sat": Msg(en="loss (mean squared error)", es="pérdida (error cuadrático medio)"),
    "other": Msg(en="loss (cross-entropy)", es="pérdida (entropía cruzada)"),
}
LOG = Msg(en="Logarithmic axis", es="Eje logarítmico")
ZOOM = Msg(
    en="Line: median over the runs. Band: the middle half. Shift + wheel zooms, Shift + drag moves, double click restores.",
    es="Línea: mediana de los entrenamientos. Banda: la mitad central. Mayús + rueda acerca, Mayús + arrastrar mueve, doble clic restablece.",
)
LINE_PART = Msg(en="{name} {value:.3g}", es="{name} {value:.3g}")
SHARE_PART = Msg(en="{name} {value:.0%}", es="{name} {value:.0%}")
MEASURES = {
    "norm_q": Msg(en="Gradient norm of W_q", es="Norma del gradiente de W_q"),
    "norm_k": Msg(en="Gradient norm of W_k", es="Norma del gradiente de W_k"),
    "norm_v": Msg(en="Gradient norm of W_v", es="Norma del gradiente de W_v"),
    "frozen": Msg(en="Rows already decided (> 99 %)", es="Filas ya decididas (> 99 %)"),
    "entropy": Msg(en="Entropy of the weights", es="Entropía de los pesos"),
    "accuracy": Msg(en="Right answers", es="Respuestas correctas"),
}
INSIDE = Msg(en="What happens inside", es="Qué ocurre por dentro")
MAPS = Msg(en="The attention map of run {run}, step {step:,}", es="El mapa de atención del entrenamiento {run}, paso {step:,}")
MAP_TITLE = Msg(en="**{mark} {name}**", es="**{mark} {name}**")
LAYER = Msg(en="layer {layer}", es="capa {layer}")
MAP_SAYS = Msg(
    en="Seed {seed}, step {step:,}: {decided:.0%} of the rows give more than 99 % to one key.",
    es="Semilla {seed}, paso {step:,}: el {decided:.0%} de las filas da más del 99 % a una sola clave.",
)
TO_HEADS = Msg(en="Open these heads down to q, k and v", es="Abrir estas cabezas hasta q, k y v")
QUERIES = Msg(en="queries", es="consultas")
KEYS = Msg(en="keys", es="claves")
WEIGHT = Msg(en="weight", es="peso")
RUN = Msg(en="Run shown", es="Entrenamiento mostrado")
EXAMPLE = Msg(en="Example shown", es="Ejemplo mostrado")
HEAD = Msg(en="Head shown", es="Cabeza mostrada")
EXAMPLE_HELP = Msg(en="Examples that are never trained on.", es="Ejemplos con los que nunca se entrena.")
READABLE = Msg(
    en="How many of the runs that solved it give the two words of the subject at least {least:.0%} of the last row, averaged over {n} "
    "examples: {parts}.",
    es="Cuántos de los que lo resolvieron dan a las dos palabras del sujeto al menos el {least:.0%} de la última fila, en promedio de {n} "
    "ejemplos: {parts}.",
)
READABLE_PART = Msg(en="{who} **{readable}** of {solved}", es="{who}, **{readable}** de {solved}")
NOT_NEEDED = Msg(
    en="The others answer as well: a right answer does not need a map that one can read.",
    es="Los demás también aciertan: para acertar no hace falta un mapa que se pueda leer.",
)
REPLAYED = Msg(
    en="Step {step:,} is the nearest one kept for so long a run.",
    es="El paso {step:,} es el más cercano que se conserva en un entrenamiento tan largo.",
)

ANSWER_HEAD = Msg(en="this example", es="este ejemplo")
GIVEN = Msg(en="given", es="dado")
WANTED = Msg(en="wanted", es="esperado")
ANSWERED = Msg(en="{mark} {name}", es="{mark} {name}")
PROBABILITY = Msg(en="{symbol} ({p:.0%})", es="{symbol} ({p:.0%})")
POSITION = Msg(en="asked: {token}", es="se pregunta: {token}")

DATA_COLUMNS = {
    "step": (STEP_AXIS, ",d"),
    "arm_name": (Msg(en="arm", es="brazo"), ""),
    "loss": (Msg(en="loss, median", es="pérdida, mediana"), ".4g"),
    "loss_low": (Msg(en="lower quarter", es="cuarto inferior"), ".4g"),
    "loss_high": (Msg(en="upper quarter", es="cuarto superior"), ".4g"),
    "norm_q": (Msg(en="gradient W_q", es="gradiente W_q"), ".3g"),
    "norm_k": (Msg(en="gradient W_k", es="gradiente W_k"), ".3g"),
    "norm_v": (Msg(en="gradient W_v", es="gradiente W_v"), ".3g"),
    "frozen": (Msg(en="rows decided", es="filas decididas"), ".1%"),
    "solved": (Msg(en="runs solved", es="resueltos"), ".1%"),
    "seeds": (Msg(en="runs still finite", es="aún finitos"), "d"),
}

# predict

PREDICT = Msg(
    en="At step {step:,}, which arm will have solved more runs?",
    es="En el paso {step:,}, ¿qué brazo habrá resuelto más entrenamientos?",
)
PREDICT_FIRST = Msg(en="Predict, then play", es="Prediga y luego inicie")
PREDICT_WAIT = Msg(
    en="Choose now. The answer can be revealed when the run has reached step {step:,}.",
    es="Elija ahora. La respuesta se podrá comprobar cuando el entrenamiento llegue al paso {step:,}.",
)
ANSWER_MORE = Msg(en="{name}", es="{name}")
ANSWER_NONE = Msg(en="no clear difference (the intervals overlap)", es="sin diferencia clara (los intervalos se solapan)")
PREDICT_GRADIENT = Msg(
    en="Averaged over all steps and runs so far: which arm has the larger gradient of W_q?",
    es="En promedio de todos los pasos y entrenamientos: ¿qué brazo tiene el mayor gradiente de W_q?",
)
ANSWER_EQUAL = Msg(en="about the same (within a tenth)", es="casi lo mismo (a menos de un décimo)")
BECAUSE_GRADIENT = Msg(
    en="{first} {a:.3g}, {second} {b:.3g}. A frozen row passes almost nothing, but the rows that still move do so in jumps.",
    es="{first} {a:.3g}, {second} {b:.3g}. Una fila congelada no deja pasar casi nada, pero las que aún se mueven lo hacen a saltos.",
)

# honest limits

LIMITS = Msg(en="What this does not show", es="Lo que esto no demuestra")
LIMIT = {
    "small": Msg(
        en="At small dₖ there is no clear difference: √dₖ is close to 1. Try the preset.",
        es="Con dₖ pequeño no hay diferencia clara: √dₖ está cerca de 1. Pruebe el ejemplo.",
    ),
    "rates": Msg(
        en="A lower learning rate rescues part of the runs without the scale. The scale makes high rates safe; it is not the only cure.",
        es="Una tasa de aprendizaje menor rescata parte de los entrenamientos sin escala. La escala hace seguras las tasas altas; no es el único remedio.",
    ),
    "gradient": Msg(
        en="Frozen rows do not mean a smaller *average* gradient: the rest jumps. So far the mean norm for W_q is {a:.3g} {first} and "
        "{b:.3g} {second}, so not smaller.",
        es="Filas congeladas no significan un gradiente *medio* menor: el resto da saltos. Hasta ahora la norma media de W_q es {a:.3g} "
        "{first} y {b:.3g} {second}, así que no es menor.",
    ),
    "gradient_smaller": Msg(
        en="In this run the *average* gradient of W_q is {a:.3g} {first} and {b:.3g} {second}, so smaller; on the look-up task it is larger. "
        "The average is not what does the harm: frozen rows and jumpy steps are.",
        es="En este entrenamiento el gradiente *medio* de W_q es {a:.3g} {first} y {b:.3g} {second}, así que es menor; en la búsqueda es mayor. "
        "El daño no viene de la media, sino de las filas congeladas y los pasos a saltos.",
    ),
    "gradient_start": Msg(
        en="Without the scale the *average* gradient need not be smaller: rows are frozen, and the rest jumps. Train, and the means are shown here.",
        es="Sin la escala el gradiente *medio* no tiene por qué ser menor: hay filas congeladas y el resto da saltos. Entrene y aquí verá las medias.",
    ),
    "meaning": Msg(
        en="The map of “The cat sat” carries no meaning: X has rank 3, so W_v alone can reach the target with almost any weights. It shows "
        "mechanics. Reversing, recall and look-up have a rule that the map must find; agreement can be right without a map that one can read.",
        es="El mapa de «The cat sat» no tiene significado: X tiene rango 3, así que W_v sola puede alcanzar el objetivo con casi cualquier peso. "
        "Enseña la mecánica. Invertir, recordar y buscar tienen una regla que el mapa debe hallar; la concordancia puede acertar sin un mapa legible.",
    ),
    "toy": Msg(
        en="These are attention-only toys: no MLP, no norm, no warm-up. Real models have other cures beside the scale.",
        es="Son redes de juguete, solo con atención: sin MLP, sin normalización, sin calentamiento. Los modelos reales tienen otros remedios además de la escala.",
    ),
}

# to take along

TAKE = Msg(en="Take it along", es="Para llevar")
CSV = Msg(en="History (CSV)", es="Historial (CSV)")
WEIGHTS_FILE = Msg(en="Weights (torch)", es="Pesos (torch)")
LINK = Msg(
    en="This address replays the run from its seed up to step {step:,}, changes of the learning rate included.",
    es="Esta dirección repite el entrenamiento desde su semilla hasta el paso {step:,}, con los cambios de la tasa de aprendizaje.",
)
LINK_MANY = Msg(
    en="The learning rate was changed {n} times, more than a link can hold ({most}); this address replays the last rates only.",
    es="La tasa de aprendizaje cambió {n} veces, más de las que caben en un enlace ({most}); esta dirección repite solo las últimas tasas.",
)

CHECKS = {
    "alone": Msg(en="this run alone = this run among {runs}", es="solo = entre {runs}"),
    "sums": Msg(en="rows of the maps sum to 1", es="las filas de los mapas suman 1"),
    "gradient": Msg(en="gradient by hand = autograd", es="gradiente a mano = autograd"),
}

PRESET_NOTE = Msg(
    en="Each of these starts a new experiment at once; the run on screen is dropped.",
    es="Cada uno empieza enseguida un experimento nuevo; el que está en pantalla se descarta.",
)
TRY = {
    "lesson": (
        Msg(en="The lesson’s own example", es="El ejemplo de la lección"),
        Msg(
            en="The hand-written matrices, one run an arm, plain gradient descent. Watch the loss: both learn.",
            es="Las matrices escritas a mano, un entrenamiento por brazo, descenso de gradiente simple. Mire la pérdida: ambos aprenden.",
        ),
    ),
    "small": (
        Msg(en="No difference at small dₖ", es="Sin diferencia con dₖ pequeño"),
        Msg(en="The smallest key size of the lesson: do the intervals overlap?", es="El tamaño de clave de la lección: ¿se solapan los intervalos?"),
    ),
    "large": (
        Msg(en="The same at dₖ = 64", es="Lo mismo con dₖ = 64"),
        Msg(en="Only the key size is another. Look at the rows decided before the first step.", es="Solo cambia el tamaño de clave. Mire las filas decididas antes del primer paso."),
    ),
    "look_up": (
        Msg(en="Look-up needs the scale", es="La búsqueda necesita la escala"),
        Msg(
            en="Two layers must find a rule: the first looks one token back. Without the scale it does not get there.",
            es="Dos capas deben hallar una regla: la primera mira un token atrás. Sin la escala no lo consigue.",
        ),
    ),
    "layers": (
        Msg(en="Two layers find it, one can’t", es="Dos capas lo hallan, una no puede"),
        Msg(en="Both arms have the scale; the second has one layer only. This is the control.", es="Ambos brazos tienen la escala; el segundo tiene una sola capa. Es el control."),
    ),
    "agreement": (
        Msg(en="Right, but not readable", es="Acierta, pero no se lee"),
        Msg(
            en="Does the verb follow the right noun? Most runs answer well; look at the last row of several of them.",
            es="¿Sigue el verbo al nombre correcto? La mayoría acierta; mire la última fila de varios.",
        ),
    ),
    "too_fast": (
        Msg(en="Too fast: it diverges", es="Demasiado rápido: diverge"),
        Msg(en="A learning rate far too high. Diverged runs are counted and don’t stop the others.", es="Una tasa demasiado alta. Los que divergen se cuentan y no detienen a los demás."),
    ),
    "rescue": (
        Msg(en="A lower rate rescues it", es="Una tasa menor lo rescata"),
        Msg(
            en="Key-value recall at a high rate, with and without the scale, and without it at a quarter of the rate.",
            es="Recordar clave y valor con una tasa alta, con escala y sin ella, y sin ella con la cuarta parte de la tasa.",
        ),
    ),
}


# sentences that are put together

SEPARATOR = "  "


def answers_table(moments: Sequence[Any], names: Sequence[str], lang: str) -> tuple[list[str], list[list[str]]]:
    """What the example asks, what is right, and what each arm answers: head and rows of a small table."""
    head = [ANSWER_HEAD(lang), WANTED(lang), *(f"{mark} {name}" for mark, name in zip(MARKS, names))]
    first = moments[0]
    if first.target is not None:
        rows = [
            [token, row_text(first.target[i].tolist(), lang), *(row_text(m.output[i].tolist(), lang) for m in moments)]
            for i, token in enumerate(first.tokens)
        ]
        return head, rows
    asked = first.tokens[-first.rows :]
    return head, [
        [f"{i + 1} · {token}" if len(asked) > 1 else f"{token} → ?", first.answers[i], *(_answer(m, i, lang) for m in moments)]
        for i, token in enumerate(asked)
    ]


def _answer(moment: Any, i: int, lang: str) -> str:
    right = moment.predicted[i] == moment.answers[i]
    said = PROBABILITY(lang, symbol=moment.predicted[i], p=moment.output[i].max().item())
    return f"{'✓' if right else '✗'} {said}"


def board(counts: Sequence[Any], names: Sequence[str], lang: str) -> tuple[list[str], list[list[str]]]:
    """The arms against each other: head and rows of a small table."""
    head = [BOARD_ARM(lang), SOLVED(lang), INTERVAL_HELP(lang), BOARD_FIRST(lang)]
    return head, [
        [
            f"{mark} {name}", OF(lang, solved=c.solved, seeds=c.seeds), INTERVAL(lang, low=c.low, high=c.high),
            "–" if c.first is None else number(c.first, ",.0f", lang),
        ]
        for mark, name, c in zip(MARKS, names, counts)
    ]  # fmt: skip


def upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def claim(counts: Sequence[Any], phrases: Sequence[str], step: int, going: bool, lang: str) -> str:
    """How many runs of each arm solved it, and whether that is a clear difference."""
    parts = [
        (SOLVED_TOO if i else SOLVED_IT)(lang, who=phrase, solved=f"**{count.solved}**", seeds=count.seeds)
        for i, (count, phrase) in enumerate(zip(counts, phrases, strict=True))
    ]
    joined = (", " if lang == "en" else "; ").join(parts)
    said = AFTER(lang, step=step, claim=joined)
    if counts[0].seeds == 1:
        return f"{said} {ONE_RUN(lang)}"
    return f"{said} {verdict(counts, going, lang)}"


def apart(counts: Sequence[Any]) -> int:
    """Which of the first two arms solved clearly more: 0, 1, or 2 where their intervals overlap."""
    a, b = counts[:2]
    return 0 if a.low > b.high else 1 if b.low > a.high else 2


def readable(counts: Sequence[tuple[int, int]], phrases: Sequence[str], least: float, n: int, lang: str) -> str:
    """How many solved runs of each arm have a map that points to the subject; "" where there is no subject or none is solved.

    counts: (readable, solved) of each arm, or nothing.
    """
    parts = [READABLE_PART(lang, who=phrase, readable=few, solved=solved) for (few, solved), phrase in zip(counts, phrases) if solved]
    if not parts:
        return ""
    said = READABLE(lang, least=least, n=n, parts=(", " if lang == "en" else "; ").join(parts))
    return f"{said} {NOT_NEEDED(lang)}" if any(few < solved for few, solved in counts) else said


def verdict(counts: Sequence[Any], going: bool, lang: str) -> str:
    return (CLEAR if apart(counts) < 2 else OVERLAP_YET if going else OVERLAP)(lang)


def diverged(counts: Sequence[Any], lost: Sequence[tuple[str, int, int]], phrases: Sequence[str], lang: str) -> str:
    """Which arms have runs that are no longer finite, how many, and since when; "" when none."""
    out = []
    for count, phrase in zip(counts, phrases, strict=True):
        steps = [step for arm, _, step in lost if arm == count.arm]
        if steps:
            msg = DIVERGED_ONE if len(steps) == 1 else DIVERGED
            fields = {} if len(steps) == 1 else {"n": len(steps)}
            out.append(msg(lang, who=upper(phrase), seeds=count.seeds, first=min(steps), **fields))
    return " ".join(out)


def listed(msg: Msg, names: Sequence[str], values: Sequence[float], field: str, lang: str) -> str:
    """ "a 1, b 2" in the form of `msg`, which has the fields who or name, and `field`."""
    key = "who" if "{who}" in msg.en else "name"
    return (", " if lang == "en" else "; ").join(msg(lang, **{key: n, field: v}) for n, v in zip(names, values, strict=True))


def row_text(values: Sequence[float], lang: str) -> str:
    return vector(values, ".2f", lang)


def pace(value: float, lang: str) -> str:
    return number(value, ",.0f", lang)
