"""What a viewer has on the screen, kept as references to what was sent, for a handout or a notebook that is asked for.

Nothing is read or drawn here while a page runs: a message is noted under its place, as the browser does it. The rest
happens when a download is pressed, on another thread, so everything that it needs is held by the Screen itself.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

KEY = "_screen"


@dataclass(frozen=True, eq=False)
class Drawn:
    """A chart as show.chart was asked to draw it: `draw(empty frame with columns, look, **labels)`."""

    key: str
    draw: Callable[..., Any]
    labels: tuple[tuple[str, Any], ...]
    columns: tuple[str, ...]


@dataclass(eq=False)
class Screen:
    """One viewer's page.

    places: path of a message in the page -> (the message, the chart it is, if one). values: the settings, of the last run or
    part of a run. url: of the page, without parameters. code: the functions that ran. matrices: what makes the tensors
    of the page, by name, when they are asked for. own: the viewer's own tensors that the page shows, if any.
    """

    page: str = ""
    url: str = ""
    on: bool = False
    places: dict[tuple[int, ...], tuple[Any, Drawn | None]] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    whole: tuple[Any, ...] = ()
    code: tuple[Callable[..., Any], ...] = ()
    matrices: Callable[[], Mapping[str, Any]] | None = None
    own: Any = None
    chart: Drawn | None = None
    renewed: set[str] = field(default_factory=set)

    def moved(self, values: Mapping[str, Any]) -> bool:
        """Has a part that was drawn alone changed what a program is made of?"""
        return self.whole != (values, self.own)

    def take(self, message: Any) -> None:
        """Notes one message under its place."""
        if not self.on or message.WhichOneof("type") != "delta":
            return
        path = tuple(message.metadata.delta_path)
        if not path or path[0] != 0:
            return
        part = message.delta.fragment_id
        if part and part not in self.renewed:  # this part of the page is drawn again: what it drew before is gone
            self.renewed.add(part)
            for place in [p for p, (old, _) in list(self.places.items()) if old.delta.fragment_id == part]:
                del self.places[place]
        drawn = None
        if message.delta.WhichOneof("type") == "new_element" and message.delta.new_element.WhichOneof("type") == "vega_lite_chart":
            drawn, self.chart = self.chart, None
        self.places[path] = (message, drawn)


class Watch:
    """Stands where a run sends its messages, and notes each before it goes on its way."""

    def __init__(self, send: Callable[[Any], None], screen: Screen) -> None:
        self.send = send
        self.screen = screen

    def __call__(self, message: Any) -> None:
        self.screen.take(message)
        self.send(message)


def of_session() -> Screen:
    """This viewer's screen."""
    if KEY not in st.session_state:
        st.session_state[KEY] = Screen()
    return st.session_state[KEY]


def watch() -> Screen:
    """Notes what this run sends from now on. Streamlit has no public name for it; without one nothing is noted."""
    screen = of_session()
    context = get_script_run_ctx()
    screen.renewed = set()
    if context is not None and hasattr(context, "enqueue"):
        if isinstance(context.enqueue, Watch):
            context.enqueue.screen = screen
        else:
            context.enqueue = Watch(context.enqueue, screen)  # type: ignore[method-assign]
    return screen


def begin(page: str) -> Screen:
    """A page is drawn from its first line."""
    screen = watch()
    screen.places, screen.page, screen.code, screen.matrices, screen.chart = {}, page, (), None, None
    screen.own = None
    screen.url = (st.context.url or "").split("?")[0]
    screen.on = True
    return screen


def end(values: Mapping[str, Any]) -> None:
    """The page is drawn; what follows is the frame's."""
    screen = of_session()
    screen.on = False
    screen.values, screen.whole = values, (values, screen.own)


@contextlib.contextmanager
def part(values: Callable[[], Mapping[str, Any]]) -> Iterator[bool]:
    """A part of the page is drawn, alone (True is handed out) or in a run of the whole page; `values` tells the settings then."""
    screen = of_session()
    alone = not screen.on
    if alone:
        watch()
        screen.on = True
    try:
        yield alone
    finally:
        if alone:
            screen.on = False
            screen.values = values()


def blocks(screen: Screen, skipped: frozenset[str]) -> list[tuple[Any, Drawn | None]]:
    """The elements on the screen in reading order, without those inside a box that is named in `skipped`."""
    hidden: list[tuple[int, ...]] = []
    out = []
    for path, (message, drawn) in sorted(screen.places.items()):
        if any(path[: len(h)] == h for h in hidden):
            continue
        delta = message.delta
        if delta.WhichOneof("type") == "add_block":
            kind = delta.add_block.WhichOneof("type")
            if kind == "popover" or (kind == "expandable" and delta.add_block.expandable.label in skipped):
                hidden.append(path)
        elif delta.WhichOneof("type") == "new_element":
            out.append((delta.new_element, drawn))
    return out


def table(element: Any) -> tuple[list[str], list[list[str]], frozenset[int]]:
    """The names, the cells and the columns of numbers of a table on the screen."""
    import pyarrow

    kind = element.WhichOneof("type")
    shown = getattr(element, kind)
    frame = pyarrow.ipc.open_stream(shown.arrow_data.data).read_all().to_pandas()
    if kind == "table":
        frame = frame.reset_index()
        head, right = [str(name) for name in frame.columns], frozenset()
    else:
        config = json.loads(shown.columns or "{}")
        told = [config.get(str(name), {}) for name in frame.columns]
        head = [entry.get("label") or str(name) for entry, name in zip(told, frame.columns)]
        right = frozenset(i for i, entry in enumerate(told) if entry.get("alignment") == "right")
    rows = [["" if value is None else str(value) for value in row] for row in frame.itertuples(index=False, name=None)]
    return head, rows, right


def rows_of(element: Any) -> list[dict[str, Any]]:
    """The data of a chart on the screen."""
    import pyarrow

    return pyarrow.ipc.open_stream(element.vega_lite_chart.data.data).read_all().to_pylist()
