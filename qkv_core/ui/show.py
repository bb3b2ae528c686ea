"""How a lesson is put on the screen: its question, charts with their data, checks, predictions, code and source."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import streamlit as st

from qkv_core.text import Msg, frame, number
from qkv_core.ui import screen, state
from qkv_core.ui.controls import presets, say

FIGURE_SPACE = "\u2007"
"""As wide as a digit."""

Columns = Mapping[str, tuple[Msg, str]]
"""Column -> its name and the format of its numbers ("" for text)."""


def num(value: float, spec: str = ".4f") -> str:
    """A number as the viewer's language writes it."""
    return number(value, spec, state.get("lang"))


def look() -> Any:
    """How this viewer sees charts."""
    from qkv_core.charts.base import Look

    return Look(dark=st.context.theme.type == "dark", lang=state.get("lang"))


def chart(
    draw: Callable[..., Any],
    frame_: Any,
    *,
    key: str,
    says: str,
    columns: Columns | None = None,
    data: Any = None,
    width: str = "stretch",
    height: Any = "content",
    on_select: Any = "ignore",
    caption: bool = True,
    beside: bool = False,
    alt: str | None = None,
    **labels: Any,
) -> None:
    """Draws `draw(frame, look, **labels)`, the sentence that describes it, and the table behind it.

    The specification is made once for each look and set of labels and sent with the changing data, so a slider redraws
    marks and nothing else.

    Args:
        draw: a pure chart function of qkv_core.charts; labels must be hashable.
        frame_: the data of the marks; a pyarrow table is sent as it is, which is worth it for one that a cache keeps.
        says: a sentence that tells what the picture shows, with computed numbers, printed under the picture. The
            picture's own name for screen readers only points to it: a name that changes is part of the specification,
            and the browser would build the chart anew at each step of a slider.
        columns: the table behind the chart; without it no table is drawn.
        data: another frame for that table, where the marks' own is not what a person wants to read.
        caption: without it `says` is the picture's name for screen readers, changes and all.
        beside: the page itself writes `says` beside the picture, so it is no caption; the picture's name points to it.
        alt: another name for screen readers. What `says` tells should then stand in words beside it.
    """
    if alt is None:
        alt = say(frame.CHART_BESIDE) if beside else say(frame.CHART) if caption else _plain(says)
    names = frame_.column_names if hasattr(frame_, "column_names") else frame_.columns
    labelled = tuple(sorted(labels.items()))
    spec = _spec(draw, look(), labelled, tuple(names))
    screen.of_session().chart = screen.Drawn(key, draw, labelled, tuple(names))
    st.vega_lite_chart(
        frame_, spec, key=key, alt=alt, width=width, height=height, on_select=on_select
    )
    if caption and not beside:
        st.caption(says)
    if columns:
        behind(frame_ if data is None else data, columns, key=key)


@lru_cache(maxsize=512)
def _spec(draw: Callable[..., Any], look_: Any, labels: tuple[tuple[str, Any], ...], columns: tuple[str, ...]) -> Any:
    import pandas as pd

    from qkv_core.charts import base

    return base.spec(draw(pd.DataFrame(columns=list(columns)), look_, **dict(labels)), look_)


def picks(key: str, row: str, col: str) -> Callable[[], None]:
    """The callback of a chart `key` drawn with pick=True: a click on a cell sets the settings `row` and `col`."""

    def picked() -> None:
        cell = st.session_state[key].selection.get("pick") or []
        if cell:
            state.put(**{row: int(cell[0]["row"]), col: int(cell[0]["col"])})

    return picked


def behind(data: Any, columns: Columns, *, key: str) -> None:
    """The data behind a picture: a table to read and the same as a file. Built when it is opened, not before."""
    box = st.expander(say(frame.DATA), icon=":material/table:", key=f"{key}_behind", on_change="rerun")
    if not box.open:
        return
    with box:
        table(data, columns, key=f"{key}_table")
        st.download_button(
            say(frame.DOWNLOAD),
            lambda: data.to_csv(index=False).encode(),
            file_name=f"qkv_{key}.csv",
            mime="text/csv",
            key=f"{key}_csv",
            icon=":material/download:",
            on_click="ignore",
        )


def table(data: Any, columns: Columns, *, key: str, height: Any = "auto") -> None:
    """A table whose numbers are written as the language writes them and align on the decimal point."""
    import pandas as pd

    lang = state.get("lang")
    shown = pd.DataFrame(
        {
            name: [
                value if not spec or isinstance(value, str) else number(_plain_number(value), spec, lang)
                for value in data[name]
            ]
            for name, (_, spec) in columns.items()
        }
    )
    config = {
        name: st.column_config.TextColumn(say(title), alignment="right" if spec else "left")
        for name, (title, spec) in columns.items()
    }
    st.dataframe(shown, hide_index=True, column_config=config, key=key, height=height, width="stretch")


def small_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[int] = ()) -> None:
    """A short table to read, all of it on the page; it scrolls in its own box where it is too wide.

    Args:
        head: the names of the columns, all different. Cells and names are our own words and numbers, as markdown.
        numbers: which columns (from 0) hold numbers with the same decimals; they align on the decimal point.
    """
    import pandas as pd

    columns = [list(column) for column in zip(*rows, strict=True)]
    for c in numbers:
        lengths = [len(text.strip("*")) for text in columns[c]]
        columns[c] = [FIGURE_SPACE * (max(lengths) - n) + text for n, text in zip(lengths, columns[c], strict=True)]
    shown = pd.DataFrame(dict(zip(head, columns, strict=True)))
    st.table(shown.set_index(head[0]), width="content")


def _plain_number(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _plain(text: str) -> str:
    """A sentence without its markup, for a screen reader."""
    for mark in ("**", "$", "`"):
        text = text.replace(mark, "")
    return re.sub(r":[a-z]+\[([^\]]*)\]", r"\1", text)


def checks(*rows: tuple[str, float, float]) -> None:
    """Badges: (name, largest difference, tolerance). Green when the difference is within it, red when not or NaN."""
    with st.container(horizontal=True, gap="small"):
        for name, difference, tolerance in rows:
            passed = difference <= tolerance
            text = say(
                frame.CHECK_OK if passed else frame.CHECK_BAD,
                name=name,
                difference=num(difference, ".1e"),
                tolerance=num(tolerance, ".0e"),
            )
            st.badge(
                text, icon=":material/check:" if passed else ":material/error:", color="green" if passed else "red"
            )


def predict(question: str, answers: Sequence[str], right: int, because: str, *, key: str) -> None:
    """A question about the tensors on screen, answered by the viewer first and then by them.

    Args:
        answers: the choices; right: the index of the true one, computed by the caller; because: the reason with its
            numbers, shown after the reveal. A change of any of them asks anew.
    """
    with st.container(border=True):
        st.markdown(f"**{say(frame.PREDICT)}**")
        _predict(question, tuple(answers), right, because, key)


@st.fragment
def _predict(question: str, answers: tuple[str, ...], right: int, because: str, key: str) -> None:
    memory = f"predict_{key}"
    asked = (answers, right, because)
    if st.session_state.get(memory, (None,))[0] != asked:
        st.session_state[memory] = (asked, None)
    guess = st.radio(question, range(len(answers)), index=None, format_func=lambda i: answers[i], key=f"{memory}_guess")
    if st.button(say(frame.REVEAL), key=f"{memory}_go"):
        st.session_state[memory] = (asked, -1 if guess is None else guess)
    told = st.session_state[memory][1]
    if told == -1:
        st.caption(say(frame.GUESS_FIRST))
    elif told is not None:
        good = told == right
        verdict = f"**{say(frame.RIGHT if good else frame.WRONG)}** {because}"
        (st.success if good else st.info)(verdict, icon=":material/check:" if good else ":material/lightbulb:")


def try_this(page: str, texts: Mapping[str, tuple[Msg, Msg]], apply: Callable[..., None] = state.put) -> None:
    """What to try: the presets of the page."""
    st.subheader(say(frame.TRY), anchor=False)
    presets(page, texts, apply)


def code(*functions: Callable[..., Any]) -> None:
    """Names the functions that computed what is on screen. Their source stands in the box at the end of every page."""
    screen.of_session().code = functions


def matrices(tensors: Callable[[], Mapping[str, Any]]) -> None:
    """Offers the tensors of the page as files. `tensors` is called when one is asked for, by name in the order of the lesson;
    it may run on another thread, so it calls nothing of Streamlit."""
    screen.of_session().matrices = tensors


@lru_cache(maxsize=128)
def source(function: Callable[..., Any]) -> str:
    """The source of a function of the running program."""
    return inspect.getsource(function)


def spec_of(drawn: screen.Drawn, look_: Any) -> Any:
    """The specification of a chart for another look than the viewer's."""
    return _spec(drawn.draw, look_, drawn.labels, drawn.columns)


def sentences(*parts: str) -> str:
    return " ".join(parts)
