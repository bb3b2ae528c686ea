"""The words of the first page: the formula, what each symbol says about the example, and what to do in class."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any

from qkv_core.presets import Suggestion
from qkv_core.text import Msg, frame, number, vector

QUESTION = Msg(en="What are Q, K and V?", es="¿Qué son Q, K y V?")
SOURCE = Msg(
    en="Vaswani et al. (2017), “Attention Is All You Need”, section 3.2.1, equation (1). The three tokens and their "
    "matrices are the lesson’s own example, written by hand.",
    es="Vaswani et al. (2017), «Attention Is All You Need», sección 3.2.1, ecuación (1). Los tres tokens y sus "
    "matrices son el ejemplo propio de la lección, escrito a mano.",
)
LEAD = Msg(
    en="Every token asks with a **:blue[query Q]**, is found by its **:orange[key K]** and hands over its "
    "**:green[value V]**. Attention compares each query with all keys and mixes the values that fit.",
    es="Cada token pregunta con una **:blue[consulta Q]**, se deja encontrar por su **:orange[clave K]** y entrega su "
    "**:green[valor V]**. La atención compara cada consulta con todas las claves y mezcla los valores que encajan.",
)

# The formula and its symbols

FORMULA = Msg(en="One formula, symbol by symbol", es="Una fórmula, símbolo a símbolo")
SYMBOL = Msg(en="Press a symbol: it explains itself", es="Pulse un símbolo: se explica solo")
SYMBOLS = {
    "q": Msg(en="**:blue[Q]**", es="**:blue[Q]**"),
    "k": Msg(en="**:orange[K]**", es="**:orange[K]**"),
    "v": Msg(en="**:green[V]**", es="**:green[V]**"),
    "scores": Msg(en="**:violet[QKᵀ]**", es="**:violet[QKᵀ]**"),
    "scale": Msg(en="**√dₖ τ**", es="**√dₖ τ**"),
    "mask": Msg(en="**mask**", es="**máscara**"),
    "softmax": Msg(en="**:yellow[softmax]**", es="**:yellow[softmax]**"),
    "output": Msg(en="**output**", es="**salida**"),
}
DIVISORS = {
    "sqrt_dk": SYMBOLS["scale"],
    "none": Msg(en="**1 τ**", es="**1 τ**"),
    "dk": Msg(en="**dₖ τ**", es="**dₖ τ**"),
    "sqrt_dmodel": Msg(en="**√d_model τ**", es="**√d_model τ**"),
}
"""The name of the divisor's symbol under each scale."""
NAMES = {
    "q": Msg(en=":blue[Q, the queries]", es=":blue[Q, las consultas]"),
    "k": Msg(en=":orange[K, the keys]", es=":orange[K, las claves]"),
    "v": Msg(en=":green[V, the values]", es=":green[V, los valores]"),
    "scores": Msg(en=":violet[QKᵀ, the scores]", es=":violet[QKᵀ, las puntuaciones]"),
    "scale": Msg(en=":violet[The scaled scores]", es=":violet[Las puntuaciones escaladas]"),
    "mask": Msg(en=":violet[The masked scores]", es=":violet[Las puntuaciones enmascaradas]"),
    "softmax": Msg(en=":yellow[The weights]", es=":yellow[Los pesos]"),
    "output": Msg(en="The output", es="La salida"),
}
SAYS = {
    "q": Msg(
        en="What each token is looking for. “{token}” asks with **q = {q}**: its row of X times W_q.",
        es="Lo que busca cada token. «{token}» pregunta con **q = {q}**: su fila de X por W_q.",
    ),
    "k": Msg(
        en="What each token can be found by. The key that fits “{token}” best is that of “{best}”: **k = {k}**.",
        es="Por lo que se encuentra cada token. La clave que mejor encaja con «{token}» es la de «{best}»: **k = {k}**.",
    ),
    "v": Msg(
        en="What each token hands over when it is read. “{token}” reads most from {whom}, which gives **v = {v}**.",
        es="Lo que entrega cada token cuando se lee. «{token}» lee sobre todo de {whom}, que da **v = {v}**.",
    ),
    "scores": Msg(
        en="How well a query fits each key: multiply number by number and add up. For “{token}”, q · k is {scores}.",
        es="Cuánto encaja una consulta con cada clave: se multiplica número a número y se suma. Para «{token}», "
        "q · k es {scores}.",
    ),
    "scale": Msg(
        en="Every score is divided by {divisor_name} × τ = {divisor:.2f} × {tau:.2f} = **{product:.2f}**: the best "
        "score of “{token}” goes from {raw:.2f} to {scaled:.2f}. {why}",
        es="Cada puntuación se divide por {divisor_name} × τ = {divisor:.2f} × {tau:.2f} = **{product:.2f}**: la mejor "
        "de «{token}» pasa de {raw:.2f} a {scaled:.2f}. {why}",
    ),
    "mask": Msg(en="{masked}", es="{masked}"),
    "softmax": Msg(
        en="Turns each row of scores into weights: none is negative, and {weights} add up to **{total:.3f}**.",
        es="Convierte cada fila de puntuaciones en pesos: ninguno es negativo, y {weights} suman **{total:.3f}**.",
    ),
    "output": Msg(
        en="What “{token}” takes home, the values mixed by their weights: {mix} = **{output}**.",
        es="Lo que se lleva «{token}», los valores mezclados según sus pesos: {mix} = **{output}**.",
    ),
}
COLOUR = {"scale": "scores", "mask": "scores", "softmax": "weights"}
"""Whose colour the matrix behind a symbol has, where the names differ."""
DIVISOR_NAMES = {"sqrt_dk": "√{d_k}", "none": "1", "dk": "{d_k}", "sqrt_dmodel": "√{d_model}"}
WHY = {
    "sqrt_dk": Msg(
        en="√dₖ keeps the scores of long and short keys comparable; τ sets how sharp the choice is.",
        es="√dₖ hace comparables las puntuaciones de claves largas y cortas; τ fija lo nítida que es la elección.",
    ),
    "none": Msg(
        en="Nothing makes up for the size of the keys here: the variance lesson shows what that does.",
        es="Aquí nada compensa el tamaño de las claves: la lección de la varianza muestra qué provoca.",
    ),
    "dk": Msg(
        en="That is more than the paper’s √dₖ: the scores move closer together and the weights flatten.",
        es="Es más que el √dₖ del artículo: las puntuaciones se acercan y los pesos se reparten.",
    ),
    "sqrt_dmodel": Msg(
        en="One head of width {d_model} has dₖ = {d_k}, so here √d_model and √dₖ are {same}.",
        es="Una sola cabeza de ancho {d_model} tiene dₖ = {d_k}: aquí √d_model y √dₖ son {same}.",
    ),
}
SAME = Msg(en="the same number", es="el mismo número")
DIFFERENT = Msg(en="different numbers", es="números distintos")
NO_MASK = Msg(
    en="No mask is on, so “{token}” may read every token. Choose one in the settings and the formula gets its M.",
    es="No hay máscara, así que «{token}» puede leer todos los tokens. Elija una en los ajustes y la fórmula tendrá su M.",
)
HIDES = Msg(
    en="The {mask} mask hides {hidden} from “{token}”: a hidden score becomes −∞, and its weight exactly {zero:.0%}.",
    es="La máscara ({mask}) oculta {hidden} a «{token}»: una puntuación oculta pasa a −∞ y su peso es exactamente {zero:.0%}.",
)
HIDES_NOTHING = Msg(
    en="The {mask} mask hides nothing from “{token}”. Choose another token to see what it hides there.",
    es="La máscara ({mask}) no oculta nada a «{token}». Elija otro token y verá qué le oculta.",
)
MATRIX_SAYS = Msg(
    en="**{name}**, one row a token; outlined: the row of “{token}”.",
    es="**{name}**, una fila por token; con borde, la fila de «{token}».",
)
MATRIX_TABLE = {
    "row_label": (Msg(en="row", es="fila"), ""),
    "col_label": (Msg(en="column", es="columna"), ""),
    "value": (Msg(en="number", es="número"), ".4f"),
}

# The example in miniature

EXAMPLE = Msg(en="Live: “The cat sat”", es="En vivo: «The cat sat»")
TOKEN = Msg(en="Whose query?", es="¿De quién es la consulta?")
TOKENS = {
    "the": Msg(en="The", es="The"),
    "cat": Msg(en="cat", es="cat"),
    "sat": Msg(en="sat", es="sat"),
}
SCORE = Msg(en="q · k", es="q · k")
SCALED = {
    "sqrt_dk": Msg(en="÷ √dₖ τ", es="÷ √dₖ τ"),
    "none": Msg(en="÷ τ", es="÷ τ"),
    "dk": Msg(en="÷ dₖ τ", es="÷ dₖ τ"),
    "sqrt_dmodel": Msg(en="÷ √d τ", es="÷ √d τ"),
}
WEIGHT = Msg(en="weight", es="peso")
KEY = Msg(en="key", es="clave")
QUERY = Msg(en="query", es="consulta")
HIDDEN = Msg(en="masked: weight 0", es="enmascarado: peso 0")
READS = Msg(en="**“{token}” reads {parts}.**", es="**«{token}» lee {parts}.**")
NOTHING_TO_READ = Msg(en="“{token}” has nothing to attend to.", es="«{token}» no tiene nada que atender.")
PART = Msg(en="{share:.1%} from {whom}", es="{share:.1%} de {whom}")
QUOTED = Msg(en="“{word}”", es="«{word}»")
ITSELF = Msg(en="itself", es="sí mismo")
KEYS_READ = Msg(
    en="That is as spread out as reading {keys:.2f} tokens evenly.",
    es="Equivale a leer {keys:.2f} tokens por igual.",
)
AND = Msg(en="and", es="y")
TABLE = {
    "query": (QUERY, ""),
    "key_label": (KEY, ""),
    "raw": (SCORE, ".4f"),
    "scaled": (Msg(en="scaled", es="escalada"), ".4f"),
    "weight": (WEIGHT, ".4f"),
}
CHECK_KERNEL = Msg(en="PyTorch’s kernel", es="núcleo de PyTorch")
CHECK_ROWS = Msg(en="row sums", es="sumas de fila")
CHECK_CELLS = Msg(en="weights in float64", es="pesos en float64")

# Predict, then reveal

PREDICT = Msg(
    en="“{a}” reads {forth:.1%} from “{b}”. How much does “{b}” read from “{a}”?",
    es="«{a}» lee {forth:.1%} de «{b}». ¿Cuánto lee «{b}» de «{a}»?",
)
LESS = Msg(en="less", es="menos")
EQUAL = Msg(en="as much", es="lo mismo")
MORE = Msg(en="more", es="más")
BECAUSE = Msg(
    en="“{b}” reads {back:.1%} from “{a}”. It asks with its own query (q · k is {raw_back:.2f}, against {raw_forth:.2f} "
    "the other way round), and its own row of weights adds up to 1.",
    es="«{b}» lee {back:.1%} de «{a}». Pregunta con su propia consulta (q · k es {raw_back:.2f}, frente a "
    "{raw_forth:.2f} en el otro sentido) y su propia fila de pesos suma 1.",
)
BECAUSE_MASKED = Msg(
    en="“{b}” reads {back:.1%} from “{a}”. The mask decides this one: it hides {hidden}.",
    es="«{b}» lee {back:.1%} de «{a}». Aquí decide la máscara: oculta {hidden}.",
)
HIDDEN_FROM = Msg(en="“{key}” from “{query}”", es="«{key}» a «{query}»")

TRY = {
    "sharp": (
        Msg(en="Sharpen: τ = 0.20", es="Concentrar: τ = 0,20"),
        Msg(en="Which key keeps a weight worth reading?", es="¿Qué clave conserva un peso apreciable?"),
    ),
    "flat": (
        Msg(en="Flatten: τ = 5.00", es="Repartir: τ = 5,00"),
        Msg(en="How far from a third each are the weights?", es="¿Cuánto distan los pesos de un tercio cada uno?"),
    ),
    "past": (
        Msg(en="Hide the future", es="Ocultar el futuro"),
        Msg(en="What is left for the first token to read?", es="¿Qué le queda por leer al primer token?"),
    ),
    "undivided": (
        Msg(en="Don’t divide by √dₖ", es="No dividir por √dₖ"),
        Msg(en="Does the largest weight grow or shrink?", es="¿El peso mayor crece o disminuye?"),
    ),
}

# The map of lessons, and suggestions for a class

MAP = Msg(en="The lessons, and what each one answers", es="Las lecciones y lo que responde cada una")
STEP = Msg(en="Lesson {n}", es="Lección {n}")

CLASS = Msg(en="In class", es="En clase")
CLASS_LEAD = Msg(
    en="Each link opens a lesson with every setting in place. Open it, ask the question, and let the class answer first.",
    es="Cada enlace abre una lección con todos los ajustes en su sitio. Ábralo, haga la pregunta y deje que la clase "
    "responda primero.",
)
IN_CLASS: Mapping[str, tuple[Msg, Msg]] = {
    "first_token": (
        Msg(en="The first token has no past", es="El primer token no tiene pasado"),
        Msg(
            en="Before opening it: what will the first row of weights be, and why must it be so?",
            es="Antes de abrirlo: ¿cómo será la primera fila de pesos y por qué no puede ser otra?",
        ),
    ),
    "temperature": (
        Msg(en="Same scores, two temperatures", es="Mismas puntuaciones, dos temperaturas"),
        Msg(
            en="Which matrices change between the two, and which stay as they are?",
            es="¿Qué matrices cambian entre los dos y cuáles quedan como están?",
        ),
    ),
    "growth": (
        Msg(en="A longer key, a larger score", es="Clave más larga, puntuación mayor"),
        Msg(
            en="dₖ grows {times:.0f} times. How many times does the variance of q · k grow, with and without the scale?",
            es="dₖ crece {times:.0f} veces. ¿Cuántas veces crece la varianza de q · k, con escala y sin ella?",
        ),
    ),
    "same_law": (
        Msg(en="Other numbers, the same law", es="Otros números, la misma ley"),
        Msg(
            en="Two seeds draw different numbers. Which columns move with the seed, and which do not?",
            es="Dos semillas generan números distintos. ¿Qué columnas cambian con la semilla y cuáles no?",
        ),
    ),
    "undivided": (
        Msg(en="Long keys, without and with the scale", es="Claves largas, sin escala y con ella"),
        Msg(
            en="How much does the largest weight take in each? What is left for the other keys to learn from?",
            es="¿Cuánto se lleva el peso mayor en cada caso? ¿Qué queda para que aprendan las demás claves?",
        ),
    ),
    "too_much": (
        Msg(en="Dividing too much", es="Dividir demasiado"),
        Msg(
            en="If √dₖ is good, why not dₖ? Look at how far the weights are from equal.",
            es="Si √dₖ va bien, ¿por qué no dₖ? Mire cuánto se alejan los pesos de ser iguales.",
        ),
    ),
}
VALUE = {
    "d_k": Msg(en="dₖ = {value}", es="dₖ = {value}"),
    "tau": Msg(en="τ = {value:.2f}", es="τ = {value:.2f}"),
    "seed": Msg(en="seed {value}", es="semilla {value}"),
    "mask": Msg(en="{value} mask", es="máscara {value}"),
    "scale": Msg(en="÷ {value}", es="÷ {value}"),
}
SHORT_SCALE = {"sqrt_dk": "√dₖ", "none": "1", "dk": "dₖ", "sqrt_dmodel": "√d_model"}

# The machine, and why to believe it

TRUST = Msg(en="How it is built to be trusted", es="Por qué puede confiar en él")
TRUST_TEXT = Msg(
    en="Every number, picture and sentence is computed from tensors for the settings on screen; none is typed in. "
    "The badges compare them, live, with an independent computation, and turn red when they differ.",
    es="Cada número, figura y frase se calcula a partir de tensores con los ajustes en pantalla; ninguno está escrito a "
    "mano. Las insignias los comparan, en vivo, con un cálculo independiente y se ponen rojas si difieren.",
)
MACHINE = Msg(en="This machine", es="Esta máquina")
DEVICE_COLUMNS = {"device": (Msg(en="device", es="dispositivo"), ""), "state": (Msg(en="state", es="estado"), "")}
REASONS = {
    "ok": Msg(en="ready: its probe computed rightly", es="listo: su prueba calculó bien"),
    "not_built": Msg(en="this PyTorch is built without it", es="este PyTorch no lo incluye"),
    "not_found": Msg(en="none found here", es="no se encontró ninguno"),
    "failed": Msg(en="found, but its probe failed", es="encontrado, pero su prueba falló"),
    "inexact": Msg(en="found, but its probe was inexact", es="encontrado, pero su prueba fue inexacta"),
}

DIVISORS_TEX = {
    "sqrt_dk": r"\sqrt{d_k}\,\tau",
    "none": r"1\cdot\tau",
    "dk": r"d_k\,\tau",
    "sqrt_dmodel": r"\sqrt{d_{\mathrm{model}}}\,\tau",
}


def formula(palette: Any, scale: str, masked: bool, chosen: str) -> str:
    """Equation (1) in KaTeX as it is computed now, one colour a symbol; the chosen symbol stands in a frame.

    Args:
        palette: a charts.palette.Palette. scale: the name of the divisor. masked: is there a mask?
        chosen: q, k, v, scores, scale, mask, softmax or output.
    """
    p = palette

    def symbol(name: str, colour: str, tex: str) -> str:
        edge, fill = (colour, p.panel) if name == chosen else (p.background, p.background)
        return rf"\fcolorbox{{{edge}}}{{{fill}}}{{$\textcolor{{{colour}}}{{{tex}}}$}}"

    q, k, v = (symbol(name, p.symbol(name), name.upper()) for name in "qkv")
    scores = symbol("scores", p.scores, r"QK^{\top}")
    divide = symbol("scale", p.text, DIVISORS_TEX[scale])
    mask = rf"{{+}}{symbol('mask', p.text, 'M')}\mkern-3mu" if masked else ""
    softmax = symbol("softmax", p.weights, r"\mathrm{softmax}")
    output = symbol("output", p.output, r"\mathrm{Attention}")
    first = f"{output}({q},{k},{v})"
    second = rf"{{=}}\mkern2mu{softmax}\mkern-3mu\left(\frac{{{scores}}}{{{divide}}}{mask}\right)\mkern-3mu{v}"
    size = r"\large" if masked else r"\Large"
    return rf"{size} \begin{{gathered}} {first} \\ {second} \end{{gathered}}"  # two lines fit a phone


def explain(symbol: str, example: Any, row: int, tau: float, scale: str, mask: str, lang: str) -> str:
    """What a symbol of the formula says about one token, with the numbers of the example (a cached.home.Example)."""
    e, best = example, example.best[row]
    token, words = e.tokens[row], e.tokens
    d_k, d_model = len(e.q[0]), e.d_model
    sizes = {"d_k": d_k, "d_model": d_model}
    return SAYS[symbol](
        lang,
        token=token,
        best=words[best],
        whom=_whom(e, row, best, lang),
        q=vector(e.q[row], ".2f", lang),
        k=vector(e.k[best], ".2f", lang),
        v=vector(e.v[best], ".2f", lang),
        scores=_join((f"{number(s, '.2f', lang)} ({w})" for s, w in zip(e.raw[row], words, strict=True)), lang),
        divisor_name=DIVISOR_NAMES[scale].format(**sizes),
        divisor=e.divisor,
        tau=tau,
        product=e.divisor * tau,
        raw=e.raw[row][best],
        scaled=e.scaled[row][best],
        why=WHY[scale](lang, **sizes, same=(SAME if d_k == d_model else DIFFERENT)(lang)),
        masked=_masked(e, row, mask, lang),
        weights=_join((number(w, ".3f", lang) for w in e.weights[row]), lang),
        total=sum(e.weights[row]),
        mix=" + ".join(f"{number(w, '.3f', lang)} v({t})" for w, t in zip(e.weights[row], words, strict=True)),
        output=vector(e.output[row], ".2f", lang),
    )


def reads(example: Any, row: int, lang: str) -> str:
    """Who one token reads from, and how much, the largest share first; masked tokens are not read."""
    token = example.tokens[row]
    shares = [(w, j) for j, w in enumerate(example.weights[row]) if example.allowed[row][j]]
    if not shares:
        return NOTHING_TO_READ(lang, token=token)
    parts = (
        PART(lang, share=w, whom=_whom(example, row, j, lang))
        for w, j in sorted(shares, key=lambda s: (-s[0], s[1]))
    )
    return READS(lang, token=token, parts=_join(parts, lang)) + " " + KEYS_READ(lang, keys=example.keys_read[row])


def question(example: Any, row: int, lang: str) -> tuple[str, tuple[str, ...], int, str]:
    """Question, answers, the index of the right one and the reason: does b read from a as much as a from b?"""
    e, other = example, (row + 1) % len(example.tokens)
    a, b = e.tokens[row], e.tokens[other]
    forth, back = e.weights[row][other], e.weights[other][row]
    shown = [round(1000 * share) for share in (back, forth)]
    right = 1 + (shown[0] > shown[1]) - (shown[0] < shown[1])
    pairs = ((row, other), (other, row))
    hidden = [HIDDEN_FROM(lang, key=e.tokens[j], query=e.tokens[i]) for i, j in pairs if not e.allowed[i][j]]
    numbers = {"a": a, "b": b, "forth": forth, "back": back}
    if hidden:
        because = BECAUSE_MASKED(lang, **numbers, hidden=_join(hidden, lang))
    else:
        because = BECAUSE(lang, **numbers, raw_back=e.raw[other][row], raw_forth=e.raw[row][other])
    return PREDICT(lang, **numbers), tuple(m(lang) for m in (LESS, EQUAL, MORE)), right, because


def value(key: str, setting: Any, lang: str) -> str:
    """One value of a shared setting, as the label of a link."""
    if key == "scale":
        return VALUE[key](lang, value=SHORT_SCALE[setting])
    named = frame.OPTIONS.get(key, {}).get(setting)
    return VALUE[key](lang, value=named(lang) if named else setting)


def ask(idea: Suggestion, lang: str) -> str:
    """What a suggestion for a class is called, and the question to ask."""
    title, question_ = IN_CLASS[idea.key]
    d_ks = [link.values.get("d_k", 1) for link in idea.links]
    return f"**{title(lang)}.** {question_(lang, times=max(d_ks) / min(d_ks))}"


def link(page: str, values: Mapping[str, Any], lang: str) -> str:
    """The label of a link that sets these values on a page."""
    return f"{frame.MENU[page](lang)} · {', '.join(value(key, setting, lang) for key, setting in values.items())}"


@cache
def versions() -> str:
    """The versions of what computes and draws, as installed here."""
    installed = (f"{name} {version(name)}" for name in ("torch", "streamlit", "altair", "pandas"))
    return " · ".join((*installed, f"Python {platform.python_version()}"))


def _masked(example: Any, row: int, mask: str, lang: str) -> str:
    token = example.tokens[row]
    if mask == "none":
        return NO_MASK(lang, token=token)
    hidden = [QUOTED(lang, word=w) for w, ok in zip(example.tokens, example.allowed[row], strict=True) if not ok]
    name = frame.OPTIONS["mask"][mask](lang)
    if not hidden:
        return HIDES_NOTHING(lang, mask=name, token=token)
    return HIDES(lang, mask=name, token=token, hidden=_join(hidden, lang), zero=0.0)


def _whom(example: Any, row: int, other: int, lang: str) -> str:
    return ITSELF(lang) if row == other else QUOTED(lang, word=example.tokens[other])


def _join(parts: Any, lang: str) -> str:
    *most, last = parts
    return f"{', '.join(most)} {AND(lang)} {last}" if most else last
