"""A Grid setting as a table that people edit: its cells are text, so a decimal point and a decimal comma both work.

The setting is the truth. An editor starts from it and gathers what is typed; when the setting becomes something else by
another way (a preset, Back, undo), a new editor starts from there. A cell that is no number is named and changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from qkv_core import settings
from qkv_core.text import frame, number, read_number
from qkv_core.ui import state
from qkv_core.ui.controls import say

EDITORS = "_grids"
BEFORE = "_grids_before"
REFUSED = "_grids_refused"
KEPT = 100
"""Edits that can be undone."""

Rows = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Refused:
    """A cell that could not be read: which one, what was typed (clipped), and the number that stays."""

    key: str
    row: int
    col: int
    given: str
    kept: float


@dataclass(frozen=True)
class _Editor:
    version: int
    start: Rows
    lang: str

    def widget(self, key: str) -> str:
        return f"grid_{key}_{self.version}"


def edit(key: str, title: str, row_labels: Sequence[str]) -> None:
    """The editor of the Grid setting `key`, under `title` (our own words, as markdown)."""
    import pandas as pd

    editor = _current(key)
    lang = state.get("lang")
    cells = pd.DataFrame([[cell_text(n, lang) for n in row] for row in editor.start], index=list(row_labels))
    cells.columns = [str(c + 1) for c in range(cells.shape[1])]
    st.markdown(title)
    st.data_editor(
        cells,
        key=editor.widget(key),
        num_rows="fixed",
        width="stretch",
        column_config={name: st.column_config.TextColumn(name, alignment="right", width=64, max_chars=40) for name in cells},
        on_change=_take,
        args=(key,),
    )


def undo_and_original(keys: Sequence[str]) -> None:
    """Two buttons: take back the last edit, and bring back the numbers that were given."""
    with st.container(horizontal=True):
        st.button(
            say(frame.UNDO),
            key=f"undo_{keys[0]}",
            icon=":material/undo:",
            disabled=not _undoable(keys),
            on_click=_undo,
            args=(tuple(keys),),
        )
        original = {key: settings.everything()[key].default for key in keys}
        st.button(
            say(frame.ORIGINAL),
            key=f"original_{keys[0]}",
            icon=":material/history:",
            disabled=not changed(keys),
            on_click=change,
            kwargs=original,
        )


def refused(names: Mapping[str, str], row_labels: Mapping[str, Sequence[str]]) -> None:
    """Names each cell that could not be read, in plain text."""
    for r in st.session_state.get(REFUSED, ()):
        if r.key in names:
            st.text(
                say(
                    frame.NOT_A_NUMBER if r.given.strip() else frame.LEFT_EMPTY,
                    name=names[r.key],
                    row=row_labels[r.key][r.row],
                    col=r.col + 1,
                    given=r.given,
                    limit=settings.everything()[r.key].limit,
                    kept=cell_text(r.kept, state.get("lang")),
                )
            )


def changed(keys: Sequence[str]) -> list[str]:
    """The Grid settings among `keys` that are no longer as they were given."""
    return [key for key in keys if state.get(key) != settings.everything()[key].default]


def change(**values: Rows) -> None:
    """Sets Grid settings and remembers what they were."""
    before = {key: state.get(key) for key, value in values.items() if state.get(key) != value}
    if before:
        st.session_state[BEFORE] = (*st.session_state.get(BEFORE, ()), before)[-KEPT:]
    st.session_state[REFUSED] = ()
    state.put(**values)


def read(start: Rows, edits: Mapping[int, Mapping[str, Any]], key: str) -> tuple[Rows, tuple[Refused, ...]]:
    """The matrix after `edits` (row -> column name from "1" -> text), and the cells that could not be read."""
    setting = settings.everything()[key]
    rows, bad = [list(row) for row in start], []
    for row, changed in edits.items():
        for name, text in changed.items():
            row, col = int(row), int(name) - 1
            value = read_number(text or "")
            if value is None or abs(value) > setting.limit:
                bad.append(Refused(key, row, col, clip(text or ""), start[row][col]))
            else:
                rows[row][col] = setting.nearest(value)
    return tuple(map(tuple, rows)), tuple(bad)


def cell_text(value: float, lang: str) -> str:
    """An entry of a Grid as an address holds it, in the signs of the language."""
    return number(float(value), ".6g", lang)


def clip(text: str) -> str:
    """One line of printable characters, at most as many as a notice repeats."""
    text = "".join(c if c.isprintable() else " " for c in text[: 2 * settings.CLIP])
    return text if len(text) <= settings.CLIP else text[: settings.CLIP - 1] + "…"


def _current(key: str) -> _Editor:
    """The editor whose numbers are those of the setting: the one on screen, or else a new one."""
    editors = st.session_state.setdefault(EDITORS, {})
    editor, value, lang = editors.get(key), state.get(key), state.get("lang")
    if editor is not None and editor.lang == lang and read(editor.start, _typed(editor, key), key) == (value, ()):
        if _as_written(editor, key):
            return editor
    editors[key] = _Editor(editor.version + 1 if editor else 0, value, lang)
    return editors[key]


def _typed(editor: _Editor, key: str) -> Mapping[int, Mapping[str, Any]]:
    return st.session_state.get(editor.widget(key), {}).get("edited_rows", {})


def _as_written(editor: _Editor, key: str) -> bool:
    """Is every typed cell written as the lab writes its number? Otherwise a new editor shows what was understood."""
    texts = [text for row in _typed(editor, key).values() for text in row.values()]
    return all(text == cell_text(read_number(text), editor.lang) for text in texts)


def _take(key: str) -> None:
    editor = st.session_state[EDITORS][key]
    value, bad = read(editor.start, _typed(editor, key), key)
    change(**{key: value})
    st.session_state[REFUSED] = bad


def _undoable(keys: Sequence[str]) -> bool:
    """Is there an edit that would change something? Those that Back has undone already are dropped."""
    steps = st.session_state.get(BEFORE, ())
    while steps and all(state.get(key) == value for key, value in steps[-1].items()):
        steps = steps[:-1]
    st.session_state[BEFORE] = steps
    return bool(steps) and set(steps[-1]) <= set(keys)


def _undo(keys: Sequence[str]) -> None:
    if _undoable(keys):
        *rest, last = st.session_state[BEFORE]
        st.session_state[BEFORE] = tuple(rest)
        st.session_state[REFUSED] = ()
        state.put(**last)
