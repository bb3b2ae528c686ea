"""The box at the end of every page: its short program, the code that ran, and the page as files.

Its contents are made when it is opened, and a file when its button is pressed: a closed box costs a run next to nothing.
"""

from __future__ import annotations

import dataclasses
import io
import json
import platform
import urllib.parse
import zipfile
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any

import streamlit as st

from qkv_core import handout, scripts, settings
from qkv_core.handout import Block
from qkv_core.notebook import Cell, notebook, program
from qkv_core.text import frame, number
from qkv_core.text import take_home as words
from qkv_core.ui import lessons, show, state
from qkv_core.ui import screen as screens
from qkv_core.ui.controls import say
from qkv_core.ui.screen import Screen

MIME = {
    "html": "text/html",
    "ipynb": "application/x-ipynb+json",
    "py": "text/x-python",
    "zip": "application/zip",
    "npz": "application/octet-stream",
    "pt": "application/octet-stream",
}


@st.fragment
def box() -> None:
    """The closed box, or the open one with its three tabs."""
    opened = st.expander(say(words.BOX), icon=":material/download:", key=state.TAKE_HOME, on_change="rerun")
    if not opened.open:
        return
    screen = screens.of_session()
    with opened:
        short, ran, files = st.tabs([say(words.SCRIPT), say(words.SOURCE), say(words.FILES)])
    values = state.values()
    source = scripts.script(screen.page, values, values["lang"], screen.own).strip("\n")
    with short:
        _short(screen, source)
    with ran:
        _ran(screen)
    with files:
        _files(screen, source)


def _short(screen: Screen, source: str) -> None:
    if not source:
        st.caption(say(words.NO_SCRIPT))
        return
    st.caption(say(words.SCRIPT_LEAD))
    st.code(source, language="python")
    _lesson_files(screen, source, "short")


def _ran(screen: Screen) -> None:
    st.caption(say(frame.CODE_LEAD if screen.code else words.NO_SOURCE))
    for function in screen.code:
        st.code(show.source(function), language="python")


def _files(screen: Screen, source: str) -> None:
    st.caption(say(words.FILES_LEAD))
    st.markdown(f"**{say(words.LESSON)}**")
    with st.container(horizontal=True, gap="small"):
        _button(words.HANDOUT, screen, "html", lambda: page_as_html(screen))
    if source:
        _lesson_files(screen, source, "files")
    if any(drawn for _, drawn in screen.places.values()):
        st.markdown(f"**{say(words.CHARTS)}**")
        with st.container(horizontal=True, gap="small"):
            _button(words.SVG, screen, "zip", lambda: charts_as(screen, "svg"), "svg")
            _button(words.PNG, screen, "zip", lambda: charts_as(screen, "png"), "png")
        st.caption(say(words.TABLES))
    if screen.matrices:
        st.markdown(f"**{say(words.MATRICES)}**")
        with st.container(horizontal=True, gap="small"):
            _button(words.NPZ, screen, "npz", lambda: as_npz(screen))
            _button(words.PT, screen, "pt", lambda: as_pt(screen))


def _lesson_files(screen: Screen, source: str, place: str) -> None:
    with st.container(horizontal=True, gap="small"):
        _button(words.PROGRAM, screen, "py", lambda: program(cells(screen)), place)
        _button(words.NOTEBOOK, screen, "ipynb", lambda: notebook(cells(screen)), place)
        if scripts.OWN_FILE in source:
            _button(words.OWN, screen, "pt", lambda: own_as_pt(screen), place, scripts.OWN_FILE)


def _button(label: Any, screen: Screen, kind: str, make: Callable[[], str | bytes], more: str = "", name: str = "") -> None:
    """A download that is made when it is pressed; `make` runs on another thread and calls nothing of Streamlit."""
    name = name or f"qkv_{screen.page}{f'_{more}' if kind == 'zip' else ''}.{kind}"
    st.download_button(
        say(label),
        make,
        file_name=name,
        mime=MIME[kind],
        key=f"take_{kind}_{more}",
        icon=":material/download:",
        on_click="ignore",
    )


# what follows runs when a button is pressed, and reads the Screen alone


def link(screen: Screen) -> str:
    """The whole address of what is on the screen."""
    parameters = settings.format(screen.values, screen.page, full=True)
    return f"{screen.url}?{urllib.parse.urlencode(parameters)}"


def shown_settings(screen: Screen) -> list[tuple[str, str]]:
    """The settings that move something on the page, named and written as on the screen."""
    lang, values, used = screen.values["lang"], screen.values, settings.USES[screen.page]
    out = []
    for setting in settings.SHARED:
        if setting.key in used:
            options = frame.OPTIONS.get(setting.key)
            text = options[values[setting.key]](lang) if options else _written(setting, values[setting.key], lang)
            out.append((frame.LABELS[setting.key](lang), text))
    widgets = dict(_widgets(screen))
    for setting in settings.PAGES[screen.page]:
        widget = widgets.get(setting.key)
        if widget is not None and not isinstance(setting, settings.Grid):
            out.append((handout.bare(widget.label), _on_widget(widget, setting, values[setting.key], lang)))
    return out


def _written(setting: settings.Setting, value: Any, lang: str) -> str:
    if isinstance(setting, settings.Steps):
        return number(value, f".{setting.digits}f", lang)
    if setting.key == "seed" or isinstance(value, str | bool) or not isinstance(value, int | float):
        return setting.format(value)
    return number(value, ",d" if isinstance(value, int) else "g", lang)


def _widgets(screen: Screen) -> Iterator[tuple[str, Any]]:
    """The widgets of the page by the setting that they show."""
    for element, _ in screens.blocks(screen, frozenset()):
        widget = getattr(element, element.WhichOneof("type"))
        name = getattr(widget, "id", "").rsplit("-", 1)[-1]
        if isinstance(name, str) and hasattr(widget, "label"):
            yield name.removesuffix("_page"), widget


def _on_widget(widget: Any, setting: settings.Setting, value: Any, lang: str) -> str:
    """The value as the widget writes it, where it writes words."""
    choices = getattr(setting, "choices", ())
    options = [str(getattr(option, "content", option)) for option in getattr(widget, "options", ())]
    if isinstance(value, str) and len(options) == len(choices):
        return handout.bare(options[choices.index(value)])
    if isinstance(setting, settings.Whole) and 0 <= value - setting.low < len(options):
        return handout.bare(options[value - setting.low])
    if isinstance(value, bool):
        return (words.YES if value else words.NO)(lang)
    return _written(setting, value, lang)


def page_as_html(screen: Screen) -> str:
    """The page as one file of HTML."""
    lang = screen.values["lang"]
    texts = lessons.texts(screen.page)
    versions = words.VERSIONS(
        lang, torch=version("torch"), python=platform.python_version(), dtype=getattr(texts, "DTYPE", "float32")
    )
    return handout.document(
        texts.QUESTION(lang),
        list(page_blocks(screen)),
        lang=lang,
        lead=shown_settings(screen),
        settings_title=words.SETTINGS(lang),
        footer=(f"{frame.SOURCE(lang)}: {texts.SOURCE(lang)}", words.MADE(lang, versions=versions)),
        link=(words.LINK(lang), link(screen)),
        left_out=lambda n: words.LEFT_OUT(lang, n=n),
    )


def page_blocks(screen: Screen, pictures: bool = True) -> Iterator[Block]:
    """What is on the screen, in reading order."""
    lang = screen.values["lang"]
    elements = screens.blocks(screen, frozenset({frame.CODE(lang)}))
    made = iter(drawings(screen, elements, "svg") if pictures else ())
    title = ""
    said = {handout.bare(e.markdown.body) for e, _ in elements if e.WhichOneof("type") == "markdown"} | {frame.CHART(lang)}
    for element, drawn in elements:
        kind = element.WhichOneof("type")
        if kind == "heading":
            yield handout.Heading(element.heading.body, 2 if element.heading.tag in ("h1", "h2", "h3") else 3)
        elif kind == "markdown":
            yield from _markdown(element.markdown, title)
            title = ""
        elif kind == "button" and element.button.id.rsplit("-", 1)[-1].startswith("try_"):
            title = f"**{element.button.label}** · "
        elif kind == "text":
            yield handout.Plain(element.text.body)
        elif kind == "code":
            yield handout.Plain(element.code.code_text, code=True)
        elif kind == "alert":
            yield handout.Note(element.alert.body, "bad" if element.alert.format == element.alert.ERROR else "info")
        elif kind == "metric":
            yield handout.Metric(element.metric.label, element.metric.body)
        elif kind == "radio" and element.radio.id.rsplit("-", 1)[-1].startswith("predict_"):
            yield handout.Question(element.radio.label, tuple(element.radio.options))
        elif kind in ("table", "dataframe"):
            head, rows, right = screens.table(element)
            kept = rows if len(rows) <= handout.MAX_ROWS else rows[: handout.MAX_ROWS]
            yield handout.Table(tuple(head), tuple(map(tuple, kept)), right, kind == "table", len(rows))
        elif kind == "vega_lite_chart" and pictures:
            alt = element.vega_lite_chart.alt
            yield handout.Figure(next(made).decode(), "" if alt in said else alt, alt, drawn.key if drawn else "")


def _markdown(markdown: Any, title: str) -> Iterator[Block]:
    body, kind = markdown.body, markdown.element_type
    if kind == markdown.LATEX:
        yield handout.Formula(body.strip().removeprefix("$$").removesuffix("$$").strip())
    elif kind == markdown.DIVIDER or not body.strip():
        return
    elif "-badge[" in body:
        good = body.startswith(":green-badge")
        yield handout.Note(body, "good" if good else "bad" if body.startswith(":red-badge") else "info")
    else:
        yield handout.Prose(title + body, kind == markdown.CAPTION)


def drawings(screen: Screen, elements: list[tuple[Any, screens.Drawn | None]], kind: str) -> list[bytes]:
    """The charts among `elements` as "svg" or "png", in the light theme's colours."""
    from qkv_core.charts import export
    from qkv_core.charts.base import Look

    look, charts = Look(dark=False, lang=screen.values["lang"]), []
    for element, drawn in elements:
        if element.WhichOneof("type") == "vega_lite_chart":
            spec = show.spec_of(drawn, look) if drawn else json.loads(element.vega_lite_chart.spec)
            charts.append((spec, screens.rows_of(element)))
    return export.pictures(kind, charts)


def charts_as(screen: Screen, kind: str) -> bytes:
    """All charts of the screen as files in a zip."""
    out, elements = io.BytesIO(), screens.blocks(screen, frozenset())
    names = [drawn.key if drawn else f"chart_{n}" for n, (e, drawn) in enumerate(elements) if e.WhichOneof("type") == "vega_lite_chart"]
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, picture in zip(names, drawings(screen, elements, kind), strict=True):
            made.writestr(f"{name}.{kind}", picture)
    return out.getvalue()


def cells(screen: Screen) -> list[Cell]:
    """The lesson as text and code: its question, what it says, its program, and what to notice."""
    lang, texts = screen.values["lang"], lessons.texts(screen.page)
    blocks = list(page_blocks(screen, pictures=False))
    lead = next((b.text for b in blocks if isinstance(b, handout.Prose) and not b.small), "")
    out = [Cell("markdown", f"# {texts.QUESTION(lang)}\n\n{handout.plain(lead)}")]
    for part in scripts.parts(screen.page, screen.values, lang, screen.own):
        out += [Cell("markdown", part.text), Cell("code", part.code)]
    lists = [b.text for b in blocks if isinstance(b, handout.Prose) and b.text.startswith("- ")]
    notice = "\n".join((*map(handout.plain, lists), *(f"- {line}" for line in _told(screen))))
    ends = f"{frame.SOURCE(lang)}: {handout.plain(texts.SOURCE(lang))}\n\n{words.LINK(lang)} <{link(screen)}>"
    out.append(Cell("markdown", "\n\n".join(filter(None, (f"## {words.NOTICE(lang)}\n\n{notice}" if notice else "", ends)))))
    return out


def _told(screen: Screen) -> list[str]:
    """What is said of each picture, each once, with the picture's title where it has one."""
    told = {}
    for element, drawn in screens.blocks(screen, frozenset()):
        if element.WhichOneof("type") == "vega_lite_chart" and element.vega_lite_chart.alt:
            title = dict(drawn.labels).get("title", "") if drawn else ""
            told[f"**{title}.** {element.vega_lite_chart.alt}" if title else element.vega_lite_chart.alt] = None
    return list(told)


def tensors(screen: Screen) -> dict[str, Any]:
    """The tensors that the page offers, by name: of a mapping or a record, those of a record within it with both names."""
    return dict(_named(screen.matrices())) if screen.matrices else {}


def _named(record: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    import torch

    if dataclasses.is_dataclass(record):
        record = {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
    for name, value in record.items():
        if isinstance(value, torch.Tensor):
            yield prefix + name, value.detach().cpu()
        elif dataclasses.is_dataclass(value):
            yield from _named(value, f"{prefix}{name}_")
        elif isinstance(value, tuple) and value and isinstance(value[0], tuple):
            yield prefix + name, torch.tensor(value)


def as_npz(screen: Screen) -> bytes:
    import numpy

    out = io.BytesIO()
    numpy.savez(out, **{name: tensor.numpy() for name, tensor in tensors(screen).items()})
    return out.getvalue()


def as_pt(screen: Screen) -> bytes:
    import torch

    out = io.BytesIO()
    torch.save({name: tensor.clone() for name, tensor in tensors(screen).items()}, out)
    return out.getvalue()


def own_as_pt(screen: Screen) -> bytes:
    """The viewer's own q, k, v as the program reads them, each (B, h, T, d)."""
    import torch

    out = io.BytesIO()
    torch.save({name: getattr(screen.own, name).clone() for name in ("q", "k", "v")}, out)
    return out.getvalue()
