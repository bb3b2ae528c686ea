"""A viewer's own q, k, v: the box that takes them, and the session that holds them.

They live in this viewer's session alone: no cache and no link ever sees them, and the raw file is let go once it is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import streamlit as st

from qkv_core import settings
from qkv_core.text import Msg
from qkv_core.text import own as words
from qkv_core.ui import controls, screen, state
from qkv_core.ui.controls import say
from qkv_core.ui.grid import clip

if TYPE_CHECKING:
    from qkv_core.bring import Brought, Refused

HELD = "_own"
REFUSED = "_own_refused"
ASKED = "_own_asked"
"""How many times the box was filled; a new number is a new, empty box, and the old one's file is gone."""

LIMITS = {"T": 64, "d": 1024, "megabytes": 5, "numbers": 1_500_000}
"""Those of qkv_core.bring, which brings torch along; a test compares them."""

PASTED = 200_000
"""Characters that the box for JSON takes."""
EXAMPLE = '{"q": [[1, 0], [0, 1]], "k": [[1, 0], [0, 1]], "v": [[1, 2], [3, 4]]}'


@dataclass(frozen=True, eq=False)
class Held:
    """What a viewer brought, the name of the file it came in ("" when it was pasted), and what pages made of it."""

    tensors: Brought
    name: str
    results: dict[str, Any] = field(default_factory=dict)


def once(name: str, compute: Callable[[], Any]) -> Any:
    """What `compute` makes of the tensors, kept beside them in the session and gone with them."""
    results = st.session_state[HELD].results
    if name not in results:
        results[name] = compute()
    return results[name]


def section(title: Msg, lead: Msg, key: str) -> tuple[Brought | None, Any] | None:
    """A closed box under `title`, opened by the sentence `lead`; None while it is closed, else the tensors, if there are any, and the place to show them."""
    opened = st.expander(say(title), icon=":material/upload_file:", key=key, on_change="rerun")
    if not opened.open:
        on_screen(None)
        return None
    with opened:
        st.caption(say(lead))
        box()
    on_screen(held())
    return held(), opened


def on_screen(tensors: Brought | None) -> None:
    """Tells the box of what can be taken home which own tensors the page shows."""
    screen.of_session().own = tensors


def held() -> Brought | None:
    """This viewer's own tensors, if there are any."""
    kept = st.session_state.get(HELD)
    return kept.tensors if kept else None


def box() -> Brought | None:
    """The box that takes them, or what was taken with a button to remove it. Returns them, None while there are none."""
    with st.container(border=True):
        kept = st.session_state.get(HELD)
        if kept:
            _kept(kept)
        else:
            _ask()
    return held()


def choose(shape: tuple[int, int], batch: str, head: str) -> tuple[int, int]:
    """Sliders of the settings `batch` and `head` (from 1) where there is a choice. Returns both indices, from 0."""
    return index(shape[0], words.BATCH, batch), index(shape[1], words.HEAD, head)


def window(tokens: int, most: int, first: str) -> int:
    """A slider of the setting `first` (from 1) where there are more tokens than `most`. Returns the first one, from 0."""
    return index(max(tokens - most, 0) + 1, words.FIRST, first)


def index(size: int, label: Msg, setting: str) -> int:
    """A slider of a setting (from 1) where there is a choice. Returns the index, from 0."""
    clamp(**{setting: size})
    if size > 1:
        with st.container(width=240):
            controls.steps(setting, label, options=tuple(range(1, size + 1)))
    return state.get(setting) - 1


def clamp(**last: int) -> None:
    """Brings settings down to the last of what there is, so that the address says what is shown."""
    beyond = {key: max(end, settings.everything()[key].low) for key, end in last.items() if state.get(key) > end}
    if beyond:
        state.settle(**beyond)


def _ask() -> None:
    turn = st.session_state.get(ASKED, 0)
    left, right = st.columns(2, gap="large")
    with left:
        st.file_uploader(
            say(words.FILE),
            type=["npz", "npy", "pt", "safetensors"],
            help=say(words.FILE_HELP),
            key=f"own_file_{turn}",
            on_change=_take_file,
            args=(f"own_file_{turn}",),
        )
    with right:
        st.text_area(say(words.PASTE), key=f"own_json_{turn}", height=96, max_chars=PASTED, placeholder=EXAMPLE)
        st.button(say(words.PASTE_USE), key="own_use", on_click=_take_text, args=(f"own_json_{turn}",))
    refused = st.session_state.get(REFUSED)
    if refused:
        code, values = refused
        shown = {key: clip(value) if isinstance(value, str) else value for key, value in values.items()}
        st.text(say(words.REFUSED[code], **shown))
    st.caption(say(words.LIMITS, **LIMITS))


def _kept(kept: Held) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        shapes = {name: f"({', '.join(map(str, getattr(kept.tensors, name).shape))})" for name in ("q", "k", "v")}
        st.text(say(words.SHAPES, name=clip(kept.name) if kept.name else say(words.PASTED), **shapes), width="content")
        st.button(say(words.REMOVE), key="own_remove", icon=":material/delete:", on_click=_drop)
    notes = [say(words.NOTES[note]) for note in kept.tensors.notes if note in words.NOTES]
    st.caption(" ".join((*notes, say(words.PRIVATE))))


def _take_file(widget: str) -> None:
    from qkv_core import bring

    file = st.session_state.get(widget)
    if file is None:
        st.session_state[REFUSED] = None
        return
    try:
        if file.size > bring.MAX_BYTES:
            raise bring.Refused("file_size", got=file.size, most=bring.MAX_BYTES)
        _hold(bring.read(file.name, file.getvalue()), file.name)
    except bring.Refused as fault:
        _refuse(fault)


def _take_text(widget: str) -> None:
    from qkv_core import bring

    try:
        _hold(bring.read_json(st.session_state.get(widget) or ""), "")
    except bring.Refused as fault:
        _refuse(fault)


def _hold(tensors: Brought, name: str) -> None:
    st.session_state[HELD] = Held(tensors, name)
    st.session_state[REFUSED] = None
    st.session_state[ASKED] = st.session_state.get(ASKED, 0) + 1


def _refuse(fault: Refused) -> None:
    st.session_state[REFUSED] = (fault.code, fault.values)


def _drop() -> None:
    st.session_state[HELD] = st.session_state[REFUSED] = None
