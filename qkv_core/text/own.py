"""The words of the box that takes a viewer's own q, k, v. What was typed or named by the viewer is shown as plain text only."""

from qkv_core.text import Msg

FILE = Msg(en="A file: .npz, .npy, .pt or .safetensors", es="Un archivo: .npz, .npy, .pt o .safetensors")
FILE_HELP = Msg(
    en="Arrays named q, k and v, each (T, d), (h, T, d) or (B, h, T, d); or a single array, which is then q, k and v at once. "
    "Pickles are never loaded.",
    es="Matrices llamadas q, k y v, cada una (T, d), (h, T, d) o (B, h, T, d); o una sola, que es entonces q, k y v a la vez. "
    "Nunca se carga un pickle.",
)
PASTE = Msg(en="Or paste JSON", es="O pegue JSON")
PASTE_USE = Msg(en="Use the pasted numbers", es="Usar los números pegados")
LIMITS = Msg(
    en="At most {T:,d} tokens, d up to {d:,d}, {megabytes:,d} MB and {numbers:,d} numbers. Your numbers stay in this session: "
    "nobody else sees them, they are not stored, and the link can’t carry them.",
    es="Como máximo {T:,d} tokens, d hasta {d:,d}, {megabytes:,d} MB y {numbers:,d} números. Sus números se quedan en esta sesión: "
    "nadie más los ve, no se guardan y el enlace no puede llevarlos.",
)
REMOVE = Msg(en="Remove", es="Quitar")
PRIVATE = Msg(
    en="Your numbers stay in this session; the link can’t carry them.",
    es="Sus números se quedan en esta sesión; el enlace no puede llevarlos.",
)
PASTED = Msg(en="Pasted JSON", es="JSON pegado")
SHAPES = Msg(en="{name}: q {q}, k {k}, v {v}", es="{name}: q {q}, k {k}, v {v}")
NOTES = {
    "alike": Msg(en="One array was given: it is q, k and v at once.", es="Se dio una sola matriz: es q, k y v a la vez."),
    "converted": Msg(en="Converted to float32.", es="Convertido a float32."),
}
BATCH = Msg(en="Sequence b", es="Secuencia b")
HEAD = Msg(en="Head", es="Cabeza")
FIRST = Msg(en="First token", es="Primer token")

REFUSED = {
    "kind": Msg(
        en="This can’t be read: a file must be one of .npz, .npy, .pt, .safetensors; its name is {name}.",
        es="No se puede leer: el archivo debe ser .npz, .npy, .pt o .safetensors; su nombre es {name}.",
    ),
    "file_size": Msg(
        en="Too large: {got:,d} bytes, and {most:,d} are allowed.", es="Demasiado grande: {got:,d} bytes, y se admiten {most:,d}."
    ),
    "unpacked": Msg(
        en="Too large: unpacked, its arrays would take {got:,d} bytes, and {most:,d} are allowed.",
        es="Demasiado grande: desempaquetadas, sus matrices ocuparían {got:,d} bytes, y se admiten {most:,d}.",
    ),
    "unreadable": Msg(
        en="This is no readable .{kind} file: it is damaged, cut short or of another kind.",
        es="No es un archivo .{kind} legible: está dañado, cortado o es de otro tipo.",
    ),
    "pickle": Msg(
        en="This file holds Python objects (a pickle). They are never loaded; save plain tensors.",
        es="Este archivo contiene objetos de Python (un pickle). Nunca se cargan; guarde tensores simples.",
    ),
    "json": Msg(
        en="This is no JSON: the trouble begins in line {line}, column {column}.",
        es="Esto no es JSON: el problema empieza en la línea {line}, columna {column}.",
    ),
    "ragged": Msg(
        en="{name} must be nested lists of numbers, all rows of one length.",
        es="{name} debe ser listas anidadas de números, con todas las filas de igual longitud.",
    ),
    "missing": Msg(
        en="q, k and v are needed, or one array alone. Found: {found}.",
        es="Hacen falta q, k y v, o una sola matriz. Se encontró: {found}.",
    ),
    "dtype": Msg(
        en="{name} must hold real numbers, whole or decimal; it holds {got}.",
        es="{name} debe contener números reales, enteros o decimales; contiene {got}.",
    ),
    "axes": Msg(
        en="{name} must be (T, d), (h, T, d) or (B, h, T, d); its shape is {got}.",
        es="{name} debe ser (T, d), (h, T, d) o (B, h, T, d); su forma es {got}.",
    ),
    "empty": Msg(en="{name} is empty: its shape is {got}.", es="{name} está vacía: su forma es {got}."),
    "too_long": Msg(
        en="{name} is too large: {axis} = {got:,d}, and at most {most:,d} are allowed.",
        es="{name} es demasiado grande: {axis} = {got:,d}, y se admite como máximo {most:,d}.",
    ),
    "numbers": Msg(
        en="Too many: {got:,d} numbers, and {most:,d} are allowed for q, k and v together.",
        es="Demasiados: {got:,d} números, y se admiten {most:,d} para q, k y v juntas.",
    ),
    "not_finite": Msg(
        en="{name} has {got:,d} entries that are NaN or infinite in float32.",
        es="{name} tiene {got:,d} entradas que son NaN o infinitas en float32.",
    ),
    "leading": Msg(
        en="q, k and v need the same B and h; theirs are {q}, {k} and {v}.",
        es="q, k y v necesitan los mismos B y h; los suyos son {q}, {k} y {v}.",
    ),
    "d_k": Msg(
        en="q and k need the same dₖ, their last axis; it is {q:,d} and {k:,d}.",
        es="q y k necesitan el mismo dₖ, su último eje; es {q:,d} y {k:,d}.",
    ),
    "T_k": Msg(
        en="k and v need the same number of tokens; they have {k:,d} and {v:,d}.",
        es="k y v necesitan el mismo número de tokens; tienen {k:,d} y {v:,d}.",
    ),
}
"""By the codes of qkv_core.bring.MESSAGES."""

# the heads page

HEADS = Msg(en="Your own q and k: what does each head read?", es="Sus propias q y k: ¿qué lee cada cabeza?")
HEADS_LEAD = Msg(
    en="Bring q and k from a model of yours: every head of a sequence side by side, tokens by their position. Mask, τ and the divisor of the "
    "settings apply; the sentence above stays as it is.",
    es="Traiga q y k de un modelo suyo: todas las cabezas de una secuencia, una junto a otra, con los tokens por su posición. Se aplican máscara, "
    "τ y el divisor de los ajustes; la frase de arriba no cambia.",
)
HEADS_ONE = Msg(en="head {h}", es="cabeza {h}")
HEADS_SAYS = Msg(
    en="Head {h}, {T_q} queries by {T_k} keys: its largest weight is {weight:.1%}, from query {i} to key {j}.",
    es="Cabeza {h}, {T_q} consultas por {T_k} claves: su mayor peso es {weight:.1%}, de la consulta {i} a la clave {j}.",
)
HEADS_NO_MASK = Msg(
    en="The mask needs as many queries as keys; yours are {T_q} and {T_k}, so none is used.",
    es="La máscara necesita tantas consultas como claves; las suyas son {T_q} y {T_k}, así que no se usa ninguna.",
)
HEADS_TITLES = {
    "row_title": Msg(en="query", es="consulta"),
    "col_title": Msg(en="key", es="clave"),
    "value_title": Msg(en="weight", es="peso"),
    "top_title": Msg(en="strongest key", es="clave más fuerte"),
}
HEADS_COLUMNS = (
    Msg(en="head", es="cabeza"),
    Msg(en="mean largest weight", es="mayor peso medio"),
    Msg(en="effective keys", es="claves efectivas"),
    Msg(en="mean distance |i − j|", es="distancia media |i − j|"),
)
HEADS_CHECK = Msg(en="row sums of 1", es="sumas de fila 1")
