"""Controls over the settings. Each draws the truth in qkv_core.ui.state and writes it back from its callback.

A setting may have several controls on the screen (in the sidebar and close to the picture): they move together.
Every widget has a key, so changing language changes its label and never its value.
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from qkv_core import settings
from qkv_core.presets import PRESETS
from qkv_core.text import Msg, frame, number
from qkv_core.ui import server, state

_ABSENT = object()


def say(msg: Msg, **values: Any) -> str:
    """A text in the viewer's language."""
    return msg(state.get("lang"), **values)


def shared(key: str, place: str = "page", disabled: bool = False) -> None:
    """The control of one of the frame's settings. `place` keeps the twin on a page apart from the one in the sidebar."""
    shown = state.shared()
    texts = {"d_model": shown.d_model, "low": settings.TAU_LESSON[0], "high": settings.TAU_LESSON[1]}
    hint = say(frame.NOT_USED) if disabled else say(frame.HELP[key], **texts)
    label = frame.LABELS[key]
    if key in ("d_k", "heads", "tau"):
        steps(key, label, help=hint, place=place, disabled=disabled)
    elif key == "seed":
        whole(key, label, help=hint, place=place, disabled=disabled)
    elif key == "lang":
        segments(key, label, frame.SHORT_LANG, help=hint, place=place, hide_label=True)
    else:
        options = _devices() if key == "device" else None
        select(key, label, frame.OPTIONS[key], help=hint, place=place, disabled=disabled, options=options)


def steps(
    key: str,
    label: Msg,
    *,
    help: str | None = None,
    place: str = "page",
    disabled: bool = False,
    options: tuple[Any, ...] | None = None,
    first: int = 0,
) -> None:
    """A slider over the values of a Choice of numbers, a Steps or a Whole setting, each written as the language does.

    options: only these of them; the setting must hold one of them when the slider is drawn. first: what 0 is written as,
    where the page counts from another number than the setting.
    """
    setting = settings.everything()[key]
    if options:
        pass
    elif isinstance(setting, settings.Whole):
        options = tuple(range(setting.low, setting.high + 1))
    else:
        options = setting.choices if isinstance(setting, settings.Choice) else setting.options
    spec = ",d" if all(isinstance(value, int) for value in options) else ",g"
    if isinstance(setting, settings.Steps):
        spec = f".{setting.digits}f"
    lang = state.get("lang")
    st.select_slider(
        say(label),
        options,
        format_func=lambda value: number(value + first, spec, lang),
        help=help,
        disabled=disabled,
        **_bound(key, place),
    )


def whole(key: str, label: Msg, *, help: str | None = None, place: str = "page", disabled: bool = False) -> None:
    """A box for a Whole setting."""
    setting = settings.everything()[key]
    st.number_input(
        say(label), setting.low, setting.high, step=1, help=help, disabled=disabled, **_bound(key, place)
    )


def select(
    key: str,
    label: Msg,
    texts: Mapping[Any, Msg | str],
    *,
    help: str | None = None,
    place: str = "page",
    disabled: bool = False,
    options: tuple[Any, ...] | None = None,
    after: Callable[[], None] | None = None,
) -> None:
    """A list to choose one of a Choice setting's values (or of `options`) from, by their names in `texts`.

    Names may be plain text, also what people typed: a list shows its entries as text and not as markup.
    after: called when another one was chosen, for what follows from it.
    """
    options = options or settings.everything()[key].choices
    st.selectbox(
        say(label),
        options,
        format_func={v: say(texts[v]) if isinstance(texts[v], Msg) else texts[v] for v in options}.get,
        help=help,
        disabled=disabled,
        filter_mode=None,
        **_bound(key, place, after),
    )


def segments(
    key: str,
    label: Msg,
    texts: Mapping[Any, Msg | str],
    *,
    help: str | None = None,
    place: str = "page",
    hide_label: bool = False,
    options: tuple[Any, ...] | None = None,
) -> None:
    """The values of a Choice setting (or `options` of any other) side by side, one pressed. Names may be plain text."""
    options = options or settings.everything()[key].choices
    st.segmented_control(
        say(label),
        options,
        format_func={v: say(texts[v]) if isinstance(texts[v], Msg) else texts[v] for v in options}.get,
        required=True,
        help=None if hide_label else help,
        label_visibility="collapsed" if hide_label else "visible",
        **_bound(key, place),
    )


def toggle(key: str, label: Msg, *, help: str | None = None, place: str = "page") -> None:
    """A switch for a Flag setting."""
    st.toggle(say(label), help=help, **_bound(key, place))


def numbers(key: str, label: Msg, *, help: str | None = None, place: str = "page") -> None:
    """A line of text for a Numbers setting, "16, 64, 256". What can't be used is left out, and named under the line."""
    setting = settings.everything()[key]
    widget, memory = f"{key}_{place}", f"{key}_{place}_refused"
    value = state.get(key)
    shown = ", ".join(map(str, value))
    if st.session_state.get(widget) != shown:
        st.session_state[widget] = shown
    st.text_input(say(label), max_chars=120, help=help, key=widget, on_change=_take_numbers, args=(key, widget, memory))
    refused, then = st.session_state.get(memory, ((), value))
    if refused and then == value:
        given = ", ".join(refused)
        st.text(say(frame.NOT_WHOLE, given=given, low=setting.low, high=setting.high, most=setting.most))


def text(key: str, label: Msg, *, hint: Msg, help: str | None = None, place: str = "page") -> None:
    """A box for a Text setting. What is too long is cut, and a line says so; what the box shows is what is used."""
    setting = settings.everything()[key]
    widget, memory = f"{key}_{place}", f"{key}_{place}_long"
    value = state.get(key)
    if st.session_state.get(widget) != value:
        st.session_state[widget] = value
    st.text_area(
        say(label), height=76, key=widget, help=help, placeholder=say(hint), on_change=_take_text, args=(key, widget, memory)
    )
    given, then = st.session_state.get(memory, (0, value))
    if given > setting.most and then == value:
        st.caption(say(frame.TOO_LONG, given=given, most=setting.most))


def _take_text(key: str, widget: str, memory: str) -> None:
    given = st.session_state.get(widget) or ""
    state.put(**{key: settings.everything()[key].clean(given)})
    st.session_state[memory] = (len(given), state.get(key))


def _take_numbers(key: str, widget: str, memory: str) -> None:
    """Reads the line; a setting whose line holds nothing that can be used keeps its value."""
    kept, refused = read_numbers(st.session_state.get(widget) or "", settings.everything()[key])
    if kept:
        state.put(**{key: kept})
    st.session_state[memory] = (refused, state.get(key))


def read_numbers(text: str, setting: settings.Numbers) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The different whole numbers in a typed line, in order, and the parts that are none or too many.

    "1,024" is not read as 1 and 24: no number begins with a 0.
    """
    kept: set[int] = set()
    refused = []
    for part in filter(None, re.split(r"[\s,;]+", text)):
        if re.fullmatch(r"0|[1-9][0-9]{0,8}", part) and setting.low <= int(part) <= setting.high:
            if int(part) in kept or len(kept) < setting.most:
                kept.add(int(part))
                continue
        refused.append(part[: settings.CLIP])
    return tuple(sorted(kept)), tuple(refused)


def sidebar_settings(page: str) -> None:
    """The shared settings, in one column that fits above the fold; what `page` does not use is disabled and says so."""
    uses = settings.USES[page]
    for key in ("d_k", "heads", "tau", "mask", "scale"):
        shared(key, place="", disabled=key not in uses)
    left, right = st.columns(2, vertical_alignment="bottom")
    with left:
        shared("seed", place="", disabled="seed" not in uses)
    with right:
        shared("device", place="", disabled="device" not in uses)
    left, right = st.columns(2)
    with left:
        st.button(
            say(frame.RESET),
            key="reset",
            help=say(frame.RESET_HELP),
            on_click=state.reset,
            args=(page,),
            width="stretch",
        )
    with right:
        _share(page)


@st.fragment
def _share(page: str) -> None:
    """The link to this screen, written when it is asked for: a part of the page may have moved since the last run."""
    box = st.popover(
        say(frame.SHARE),
        icon=":material/link:",
        help=say(frame.SHARE_HELP),
        key="share",
        on_change="rerun",
        width="stretch",
    )
    with box:
        st.caption(say(frame.SHARE_LEAD))
        st.code(link(page), language=None, wrap_lines=True)


def link(page: str, **changes: Any) -> str:
    """The whole address that restores the screen, every value written out."""
    address = (st.context.url or "").split("?")[0]
    return f"{address}?{urllib.parse.urlencode(state.parameters(page, full=True, **changes))}"


def presets(page: str, texts: Mapping[str, tuple[Msg, Msg]], apply: Callable[..., None] = state.put) -> None:
    """Buttons that set the whole page to something worth seeing, each with a line that says what to look for.

    apply: what takes the values, where setting them is not all that a preset of the page does.
    """
    for preset in PRESETS[page]:
        title, note = texts[preset.key]
        button, words = st.columns((2, 5), vertical_alignment="center")
        with button:
            st.button(
                say(title),
                key=f"try_{page}_{preset.key}",
                on_click=apply,
                kwargs=preset.complete(page),
                width="stretch",
            )
        words.markdown(say(note))


def _bound(key: str, place: str, after: Callable[[], None] | None = None) -> dict[str, Any]:
    """The key and callback that tie a widget to a setting; also brings the widget up to date with it."""
    widget = f"{key}_{place}" if place else key
    if (before := st.session_state.get(widget, _ABSENT)) != state.get(key):
        st.session_state[widget] = state.get(key)
        state.replaced(widget, before)
    state.drew(widget, state.get(key))
    return {"key": widget, "on_change": _take, "args": (key, widget, after)}


def _take(key: str, widget: str, after: Callable[[], None] | None = None) -> None:
    """Writes what a widget holds into its setting, if it is legal; an emptied box keeps the last value."""
    value = st.session_state.get(widget)
    if state.is_stale(widget, value) or state.is_echo(widget, value):
        st.session_state[widget] = state.get(key)  # should a person have meant it, the message that says so still counts as a change
        return
    state.moved(widget)
    if settings.everything()[key].legal(value):
        state.put(**{key: value})
        if after:
            after()


def _devices() -> tuple[str, ...]:
    """Only the devices that exist. Before torch is loaded nobody can know: what the link asks for is kept till then."""
    found = {"auto", "cpu", state.get("device")}
    if server.is_warm():
        from qkv_core import device

        found = {"auto", "cpu", *(d.name for d in device.available() if d.usable)}
    return tuple(name for name in settings.everything()["device"].choices if name in found)


def device_in_use() -> str:
    """What large samples run on: the device asked for, and what "automatic" stands for once torch is loaded."""
    asked = state.get("device")
    if asked != "auto" or not server.is_warm():
        return asked
    from qkv_core import device

    return device.resolve("auto").type


def settle_device() -> str | None:
    """Replaces a device that this machine lacks, once that is known; returns the name that was asked for, else None."""
    asked = state.get("device")
    if asked in _devices():
        return None
    kept = state.problems()
    state.put(device="auto")
    st.session_state[state.PROBLEMS] = (*kept, settings.Problem("device", asked, "auto", "replaced"))
    return asked
