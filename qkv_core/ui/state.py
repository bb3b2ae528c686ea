"""The settings of one viewer: a single truth in the session, told to every control and to the address.

A control draws the truth and its callback writes it back; the address is written at the end of each run. The address
is read when a session begins, when a link of ours is followed, and when the viewer goes Back or Forward; at any other
time it may lag behind a quick hand on a slider, and the truth stands. Every change is one entry of the browser's
history, so Back undoes it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from qkv_core import settings
from qkv_core.settings import Problem, Shared
from qkv_core.ui import screen

VALUES = "_values"
PAGE = "_page"
PROBLEMS = "_problems"
SEEN = "_seen"
WRITTEN = "_written"
CONNECTION = "_connection"
OWN_LANG = "_own_lang"
PAGES = "_pages"
TAKE_HOME = "take_home"
"""The key of the box with the page's program, which knows whether it is open."""
MOVES = "_moves"
TICKING = "_ticking"
REPLACED = "_replaced"
DRAWN = "_drawn"
IN_HAND = "_in_hand"

STALE, ECHO = 3.0, 10.0
"""Seconds within which what a control showed before can still come back from a browser: by the clock, or with another's value."""
HASTE = 1.0
"""Seconds that a hand needs, at the least, to go from one control to another."""
LATELY = 32
"""How many such values are remembered of a control."""


def begin(page: str) -> None:
    """Settles what the settings are for this run of `page`. Call before any control is drawn."""
    session = st.session_state
    raw = _address()
    _arrived()
    fresh = VALUES not in session
    if fresh:
        session[OWN_LANG] = _browser_language()
        session[VALUES] = {**settings.defaults(), "lang": session[OWN_LANG]}
        session[PROBLEMS] = ()
    moved = not fresh and session[PAGE] != page and bool(raw) and raw != session[SEEN]
    if fresh or moved or _went_back():
        session[WRITTEN] = None  # the browser has gone elsewhere since
        values, problems = settings.parse(raw, page)
        mine = settings.known(page)
        default = {**settings.defaults(), "lang": session[OWN_LANG]}
        others = {key: value for key, value in session[VALUES].items() if key not in mine}
        session[VALUES] = {**default, **others, **values}
        session[PROBLEMS] = problems
    if not fresh and session[PAGE] != page:
        session[MOVES] = moves() + 1
    session[PAGE] = page
    session[SEEN] = raw
    session[CONNECTION] = _connection()


def language_hint() -> str:
    """The language of this run, before the page is known and `begin` has settled it; good enough for a tab's title."""
    asked = st.query_params.get("lang")
    session = st.session_state
    if asked in settings.everything()["lang"].choices and (VALUES not in session or _went_back()):
        return asked
    if VALUES in session:
        return session[VALUES]["lang"]
    return _browser_language()


def get(key: str) -> Any:
    """The value of one setting."""
    return st.session_state[VALUES][key]


def values() -> Mapping[str, Any]:
    """The value of every setting; never changed in place."""
    return st.session_state[VALUES]


def shared() -> Shared:
    """The settings of the frame, frozen."""
    return Shared(**{s.key: get(s.key) for s in settings.SHARED})


def put(**values: Any) -> None:
    """Sets settings, from a callback or before the controls that show them are drawn.

    Raises:
        ValueError: a value is not one that its setting allows.
    """
    for key, value in values.items():
        if not settings.everything()[key].legal(value):
            raise ValueError(f"{key} = {value!r} is not a legal value of this setting")
    st.session_state[VALUES] = {**st.session_state[VALUES], **values}
    st.session_state[PROBLEMS] = ()


def settle(**values: Any) -> None:
    """Replaces settings that can't hold beside others, e.g. a chosen row beyond the last; what the link said stays told."""
    kept = problems()
    put(**values)
    st.session_state[PROBLEMS] = kept


def reset(page: str) -> None:
    """Back to the defaults, for the settings that `page` shows. The language stays."""
    put(**{key: s.default for key, s in settings.known(page).items() if key != "lang"})


def page() -> str:
    """The page on the screen."""
    return st.session_state[PAGE]


def moves() -> int:
    """How often the viewer went from one page to another."""
    return st.session_state.get(MOVES, 0)


def ticks() -> None:
    """Called by a part of a page that redraws itself by the clock and holds no controls."""
    mine = getattr(get_script_run_ctx(), "fragment_ids_this_run", None) or ()
    st.session_state[TICKING] = {*st.session_state.get(TICKING, ()), *mine}


def replaced(widget: str, before: Any, by_us: bool = True) -> None:
    """Remembers what a control showed before we, or its viewer, set it to something else."""
    shown = st.session_state.setdefault(REPLACED, {})
    shown[widget] = (*shown.get(widget, ()), (before, time.monotonic(), by_us))[-LATELY:]


def _showed(widget: str, value: Any, within: float, by_us: bool = False) -> bool:
    """Did a control show this value a moment ago? by_us: only if we set it to something else."""
    now, shown = time.monotonic(), st.session_state.get(REPLACED, {}).get(widget, ())
    return any(value == before and now - at < within and (ours or not by_us) for before, at, ours in shown)


def drew(widget: str, value: Any) -> None:
    """Remembers what a control was drawn with."""
    drawn = st.session_state.setdefault(DRAWN, {})
    if widget in drawn and drawn[widget] != value:
        replaced(widget, drawn[widget], by_us=False)
    drawn[widget] = value


def moved(widget: str) -> None:
    """Remembers which control the viewer moved last, and when."""
    st.session_state[IN_HAND] = widget, time.monotonic()


def is_echo(widget: str, value: Any) -> bool:
    """Does a control repeat what it showed a moment ago, in a message that another control has sent?

    A browser sends all controls with each message, and has not yet seen what we set after the message before it. With a
    key held down the second control of a setting would so undo the steps of the first. Where both say something old, as
    when the first goes back and forth, the one in the viewer's hand is believed. Two quick steps of the first that cancel
    out leave a message in which only the second seems to have moved; no hand changes controls that fast. And a browser that
    comes back after its connection has ended says what its controls showed when it ended: nobody could move one meanwhile.
    """
    session = st.session_state
    if session.get(CONNECTION) != _connection() and _showed(widget, value, math.inf):
        return True
    drawn = session.get(DRAWN, {})
    in_hand, at = session.get(IN_HAND, (None, -math.inf))
    if widget != in_hand and time.monotonic() - at < HASTE and _showed(widget, value, STALE, by_us=True):
        return True
    last = widget in drawn and drawn[widget] == value
    if not last and not _showed(widget, value, ECHO):
        return False
    return any(
        other != widget
        and (now := session.get(other, was)) != was
        and (other == in_hand or not _showed(other, now, ECHO))
        for other, was in drawn.items()
    )


def is_stale(widget: str, value: Any) -> bool:
    """Does a redraw by the clock say of a control what it showed before we set it?

    Such a message was on its way while we set the control; taking it as a person's choice would undo what was set. What
    only its viewer changed is never stale: messages keep their order, and one by the clock may be the first to tell.
    """
    mine = getattr(get_script_run_ctx(), "fragment_ids_this_run", None) or ()
    if not mine or not set(mine) <= st.session_state.get(TICKING, set()):
        return False
    return _showed(widget, value, STALE, by_us=True)


def problems() -> tuple[Problem, ...]:
    """What the link that led here said and could not be used, until the viewer changes a setting."""
    return st.session_state[PROBLEMS]


def forget_problems() -> None:
    st.session_state[PROBLEMS] = ()


def parameters(page: str, full: bool = False, **changes: Any) -> dict[str, str]:
    """The parameters of a link to `page` with the settings on screen, or with `changes` to them."""
    values = {**st.session_state[VALUES], **changes}
    return settings.format(values, page, own_lang=st.session_state[OWN_LANG], full=full)


def write_address() -> None:
    """Makes the address say what is on the screen. Writes nothing when it already does, in whatever spelling: a shared
    link with every value stays as it came, and Back from it leads where the viewer was. On a slow line the browser may yet
    have to take an address that we wrote before; then the one that holds is written after it, although the browser has it."""
    wanted = {key: [token] for key, token in parameters(page()).items()}
    address = _address()
    on_its_way = st.session_state.get(WRITTEN)
    if address != wanted and not _says_the_screen(address) or on_its_way not in (None, wanted):
        st.query_params.from_dict(wanted)
        st.session_state[SEEN] = st.session_state[WRITTEN] = wanted


def remember_pages(pages: dict[str, Any]) -> None:
    """Keeps the st.Page of each page for `page_link`."""
    st.session_state[PAGES] = pages


def page_link(name: str, label: str, icon: str | None = None, help: str | None = None, **changes: Any) -> None:
    """A real link to a page with the settings on screen, or with `changes` to them.

    Where everything is at its default the link still carries the version, which tells it from the bare address of a page.
    """
    params = parameters(name, **changes) or {"v": settings.VERSION}
    st.page_link(st.session_state[PAGES][name], label=label, icon=icon, help=help, query_params=params)


def fragment(function: Callable[..., None]) -> Callable[..., None]:
    """A part of a page that redraws alone when one of its own controls moves, and keeps the address in step."""

    def body(*args: Any, **kwargs: Any) -> None:
        with screen.part(values) as alone:
            if alone:
                _arrived()
            function(*args, **kwargs)
        write_address()
        if alone and st.session_state.get(TAKE_HOME) and screen.of_session().moved(values()):
            st.rerun()  # the program on the screen is that of what was before

    body.__qualname__ = function.__qualname__
    body.__module__ = function.__module__
    return st.fragment(body)


def _arrived() -> None:
    """Has the browser taken the address that was written last? Asked before this run writes one."""
    if st.session_state.get(WRITTEN) == _address():
        st.session_state[WRITTEN] = None


def _address() -> dict[str, list[str]]:
    return {key: st.query_params.get_all(key) for key in st.query_params}


def _says_the_screen(address: dict[str, list[str]]) -> bool:
    """Would opening this address give the settings on screen?"""
    values, problems = settings.parse(address, page())
    opened = {**settings.defaults(), "lang": st.session_state[OWN_LANG], **values}
    return not problems and all(opened[key] == get(key) for key in settings.known(page()))


def _browser_language() -> str:
    return "es" if (st.context.locale or "").lower().startswith("es") else "en"


def _connection() -> str | None:
    """What tells one connection of a session's browser from the next."""
    return st.context.headers.get("Sec-WebSocket-Key")


def _went_back() -> bool:
    """Did Back or Forward start this run? Streamlit knows and has no public name for it."""
    context = get_script_run_ctx()
    return bool(getattr(context, "is_history_navigation", False))
