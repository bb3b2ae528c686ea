"""The words of the box at the end of every page: its program, the code that ran, and what can be taken home."""

from qkv_core.text import Msg

BOX = Msg(en="The code beside the maths, and taking it home", es="El código junto a las matemáticas, y para llevar")
SCRIPT = Msg(en="A short program", es="Un programa breve")
SOURCE = Msg(en="The code that ran", es="El código que se ejecutó")
FILES = Msg(en="Take it home", es="Para llevar")

SCRIPT_LEAD = Msg(
    en="It needs only PyTorch, holds the settings on the screen, and prints the numbers of this page.",
    es="Solo necesita PyTorch, contiene los ajustes de la pantalla e imprime los números de esta página.",
)
NO_SCRIPT = Msg(
    en="There is no short program for these settings; the next tab has the functions that ran.",
    es="No hay un programa breve para estos ajustes; la pestaña siguiente muestra las funciones que se ejecutaron.",
)
NO_SOURCE = Msg(en="Nothing ran for these settings.", es="Con estos ajustes no se ejecutó nada.")
FILES_LEAD = Msg(
    en="Each file is made when you press its button, from what is on the screen then.",
    es="Cada archivo se crea al pulsar su botón, con lo que haya entonces en la pantalla.",
)

LESSON = Msg(en="The lesson", es="La lección")
CHARTS = Msg(en="The pictures", es="Las figuras")
MATRICES = Msg(en="The matrices", es="Las matrices")
HANDOUT = Msg(en="Handout (HTML, prints on A4)", es="Hoja para clase (HTML, se imprime en A4)")
NOTEBOOK = Msg(en="Notebook (.ipynb)", es="Cuaderno (.ipynb)")
PROGRAM = Msg(en="Program (.py)", es="Programa (.py)")
SVG = Msg(en="SVG (vector)", es="SVG (vectorial)")
PNG = Msg(en="PNG", es="PNG")
NPZ = Msg(en="NumPy (.npz)", es="NumPy (.npz)")
PT = Msg(en="PyTorch (.pt)", es="PyTorch (.pt)")
OWN = Msg(en="Your q, k, v (qkv_own.pt)", es="Sus q, k, v (qkv_own.pt)")
TABLES = Msg(
    en="The data behind each picture can be downloaded as CSV below it.",
    es="Los datos de cada figura se descargan como CSV debajo de ella.",
)

YES = Msg(en="yes", es="sí")
NO = Msg(en="no", es="no")
SETTINGS = Msg(en="Settings", es="Ajustes")
LINK = Msg(en="The same screen, live:", es="La misma pantalla, en vivo:")
LEFT_OUT = Msg(en="… and {n:,} more rows, which the page offers as CSV.", es="… y {n:,} filas más, que la página ofrece como CSV.")
NOTICE = Msg(en="What to notice", es="En qué fijarse")
MADE = Msg(
    en="Made with QKV Lab; every number was computed for the settings above. {versions}",
    es="Hecho con QKV Lab; cada número se calculó con los ajustes de arriba. {versions}",
)
VERSIONS = Msg(
    en="torch {torch}, Python {python}, {dtype}.",
    es="torch {torch}, Python {python}, {dtype}.",
)
