"""The words of the frame: menu, shared settings, notices, and the parts that every lesson has."""

from qkv_core.text import Msg

NAME = Msg(en="QKV Lab", es="QKV Lab")

GROUPS = {
    "understand": Msg(en="Understand", es="Comprender"),
    "why": Msg(en="Why divide by √dₖ", es="Por qué dividir por √dₖ"),
    "try": Msg(en="Try it", es="Practicar"),
}

MENU = {
    "home": Msg(en="What are Q, K, V?", es="¿Qué son Q, K, V?"),
    "triad": Msg(en="The functional triad", es="La tríada funcional"),
    "shapes": Msg(en="Anatomy of a tensor", es="Anatomía de un tensor"),
    "positions": Msg(en="Positions", es="Posiciones"),
    "variance": Msg(en="Variance", es="Varianza"),
    "saturation": Msg(en="Saturation", es="Saturación"),
    "heads": Msg(en="Heads", es="Cabezas"),
    "complexity": Msg(en="Complexity", es="Complejidad"),
    "training": Msg(en="Live training", es="Entrenamiento en vivo"),
}

LANGUAGE = Msg(en="Language", es="Idioma")

LABELS = {
    "d_k": Msg(en="Key size dₖ", es="Tamaño de clave dₖ"),
    "heads": Msg(en="Heads h", es="Cabezas h"),
    "tau": Msg(en="Temperature τ", es="Temperatura τ"),
    "mask": Msg(en="Mask", es="Máscara"),
    "scale": Msg(en="Divide the scores by", es="Dividir las puntuaciones por"),
    "seed": Msg(en="Seed", es="Semilla"),
    "device": Msg(en="Device", es="Dispositivo"),
    "lang": LANGUAGE,
}

HELP = {
    "d_k": Msg(
        en="How many numbers a query or a key has. The paper uses 64.",
        es="Cuántos números tiene una consulta o una clave. El artículo usa 64.",
    ),
    "heads": Msg(
        en="How many attentions run side by side. The model width is heads × d_k, here {d_model}.",
        es="Cuántas atenciones trabajan en paralelo. El ancho del modelo es cabezas × d_k, aquí {d_model}.",
    ),
    "tau": Msg(
        en="Scores are divided by τ before the softmax. Below 1 sharpens, above 1 flattens. The lesson uses {low} to {high}.",
        es="Las puntuaciones se dividen por τ antes del softmax. Menos de 1 concentra, más de 1 reparte. "
        "La lección usa de {low} a {high}.",
    ),
    "mask": Msg(
        en="Which keys a query may read. What is masked gets the weight 0.",
        es="Qué claves puede leer una consulta. Lo enmascarado recibe peso 0.",
    ),
    "scale": Msg(
        en="The paper divides by √dₖ. Choose another divisor to see what happens.",
        es="El artículo divide por √dₖ. Elija otro divisor y verá qué ocurre.",
    ),
    "seed": Msg(
        en="Every random number on screen is drawn from this seed: the same seed gives the same picture.",
        es="Todo número aleatorio en pantalla nace de esta semilla: la misma semilla da la misma imagen.",
    ),
    "device": Msg(
        en="Where large samples are drawn. The small matrices on screen are computed on the CPU, where they are faster.",
        es="Dónde se generan las muestras grandes. Las matrices pequeñas se calculan en la CPU, donde van más rápido.",
    ),
    "lang": Msg(en="The language of the lab.", es="El idioma del laboratorio."),
}

NOT_USED = Msg(en="This page does not use it.", es="Esta página no lo usa.")

OPTIONS = {
    "mask": {
        "none": Msg(en="none", es="ninguna"),
        "causal": Msg(en="causal", es="causal"),
        "padding": Msg(en="padding", es="relleno"),
        "window": Msg(en="window", es="ventana"),
        "prefix": Msg(en="prefix", es="prefijo"),
    },
    "scale": {
        "sqrt_dk": Msg(en="√dₖ (the paper)", es="√dₖ (el artículo)"),
        "none": Msg(en="1 (no scale)", es="1 (sin escala)"),
        "dk": Msg(en="dₖ", es="dₖ"),
        "sqrt_dmodel": Msg(en="√d_model", es="√d_model"),
    },
    "device": {
        "auto": Msg(en="auto", es="auto"),
        "cpu": Msg(en="CPU", es="CPU"),
        "cuda": Msg(en="GPU (CUDA)", es="GPU (CUDA)"),
        "mps": Msg(en="GPU (Apple)", es="GPU (Apple)"),
    },
    "lang": {"en": Msg(en="English", es="English"), "es": Msg(en="Español", es="Español")},
}

SHORT_LANG = {"en": Msg(en="EN", es="EN"), "es": Msg(en="ES", es="ES")}

RESET = Msg(en="Reset", es="Restablecer")
RESET_HELP = Msg(
    en="Back to the defaults on this page. The language stays.",
    es="Vuelve a los valores iniciales de esta página. El idioma se conserva.",
)
SHARE = Msg(en="Link", es="Enlace")
SHARE_HELP = Msg(en="A link to exactly this screen", es="Un enlace a esta pantalla exacta")
SHARE_LEAD = Msg(
    en="This address restores the page with every setting. Copy it with the button at its right.",
    es="Esta dirección recupera la página con todos los ajustes. Cópiela con el botón de la derecha.",
)

REPLACED = Msg(
    en="{key} = {given} is not a value of this setting; {used} is used.",
    es="{key} = {given} no es un valor de este ajuste; se usa {used}.",
)
REPEATED = Msg(
    en="{key} stands in the link more than once ({given}); {used} is used.",
    es="{key} aparece más de una vez en el enlace ({given}); se usa {used}.",
)
UNKNOWN = Msg(
    en="{key} is not a setting of the lab and was left out.",
    es="{key} no es un ajuste del laboratorio y se ha omitido.",
)
NO_PAGE = Msg(
    en="There is no page “{given}” here; this is the first lesson.",
    es="Aquí no hay ninguna página «{given}»; esta es la primera lección.",
)
MORE_PROBLEMS = Msg(en="… and {n} more.", es="… y {n} más.")
DEVICE_ABSENT = Msg(
    en="The link asks for {given}, which this machine does not have; {used} is used.",
    es="El enlace pide {given}, que esta máquina no tiene; se usa {used}.",
)
EMPTY = Msg(en="(empty)", es="(vacío)")
DISMISS = Msg(en="Got it", es="Entendido")

UNDO = Msg(en="Undo the last edit", es="Deshacer el último cambio")
ORIGINAL = Msg(en="Back to the original", es="Volver al original")
NOT_A_NUMBER = Msg(
    en="{name}, row {row}, column {col}: “{given}” is not a number from −{limit:g} to {limit:g}. The value {kept} stays.",
    es="{name}, fila {row}, columna {col}: «{given}» no es un número entre −{limit:g} y {limit:g}. Se conserva el valor {kept}.",
)

NOT_WHOLE = Msg(
    en="Left out: {given}. Each must be a whole number from {low:,} to {high:,}, apart by commas or spaces, at most {most} of them.",
    es="Se ha omitido: {given}. Cada valor debe ser un número entero de {low:,} a {high:,}, separado por comas o espacios, "
    "y como mucho {most}.",
)

TOO_LONG = Msg(
    en="{given:,} characters are more than a link can carry: the first {most:,} are kept.",
    es="{given:,} caracteres son más de los que caben en un enlace: se conservan los primeros {most:,}.",
)

WAITING_ONE = Msg(
    en="Another computation is running on this server. Yours is next.",
    es="Hay otro cálculo en marcha en este servidor. El suyo es el siguiente.",
)
WAITING = Msg(
    en="{n} computations stand before yours on this server. It begins by itself.",
    es="Hay {n} cálculos antes que el suyo en este servidor. Empezará solo.",
)

LEFT_EMPTY = Msg(
    en="{name}, row {row}, column {col} was left empty. The value {kept} stays.",
    es="{name}, fila {row}, columna {col} quedó vacía. Se conserva el valor {kept}.",
)

BUSY = Msg(
    en="Many people are here right now, and this server is small. Please try again in a minute, "
    "or run the lab on your own machine: the README says how.",
    es="Ahora mismo hay mucha gente y este servidor es pequeño. Vuelva a intentarlo en un minuto, "
    "o ejecute el laboratorio en su propia máquina: el README explica cómo.",
)

NO_CONNECTION = Msg(
    en="The lab is still waiting for its live connection (a websocket), which some company networks and proxies refuse. "
    "Try another network, or run the lab on your own machine. Whoever runs this server finds the proxy's settings in the README.",
    es="El laboratorio sigue esperando su conexión en vivo (un websocket), que algunas redes de empresa y proxies rechazan. "
    "Pruebe otra red o ejecute el laboratorio en su propia máquina. Quien lleva este servidor encuentra los ajustes del proxy en el README.",
)

ABOUT_TEXT = Msg(
    en="seed {seed} · {device} · {dtype} · torch {torch} · streamlit {streamlit} · Python {python}",
    es="semilla {seed} · {device} · {dtype} · torch {torch} · streamlit {streamlit} · Python {python}",
)

CHART = Msg(en="A chart; the sentence after it says what it shows.", es="Un gráfico; la frase que le sigue dice qué muestra.")
CHART_BESIDE = Msg(en="A chart; the sentence beside it says what it shows.", es="Un gráfico; la frase que está al lado dice qué muestra.")
DATA = Msg(en="The data behind this picture", es="Los datos de esta figura")
DOWNLOAD = Msg(en="Download as CSV", es="Descargar como CSV")
CODE = Msg(en="The code that ran", es="El código que se ejecutó")
CODE_LEAD = Msg(
    en="Read from the running program, so it is the code that computed the numbers above.",
    es="Leído del programa en marcha: es el código que calculó los números de arriba.",
)
TRY = Msg(en="What to try", es="Qué probar")
PREDICT = Msg(en="Predict, then reveal", es="Prediga y compruebe")
REVEAL = Msg(en="Reveal", es="Comprobar")
GUESS_FIRST = Msg(en="Choose an answer first.", es="Elija primero una respuesta.")
RIGHT = Msg(en="Yes.", es="Sí.")
WRONG = Msg(en="Not quite.", es="No del todo.")
CHECK_OK = Msg(en="{name}: difference {difference}", es="{name}: diferencia {difference}")
CHECK_BAD = Msg(
    en="{name}: difference {difference} is above {tolerance}",
    es="{name}: la diferencia {difference} supera {tolerance}",
)
SOURCE = Msg(en="Source", es="Fuente")
NEXT = Msg(en="Next: {title}", es="Siguiente: {title}")
FAILED = Msg(
    en="Something went wrong while this part was computed. The settings are kept; changing one of them tries again.",
    es="Algo falló al calcular esta parte. Los ajustes se conservan; al cambiar alguno se vuelve a intentar.",
)
