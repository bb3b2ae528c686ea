"""The router: page configuration, settings, menu, and around every lesson its question before and its source after.

Nothing here imports torch, pandas or altair, so the frame and the words of a page are on the screen at once.
"""

import logging
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path

import streamlit as st

from qkv_core.text import frame
from qkv_core.ui import controls, lessons, screen, server, state, take_home
from qkv_core.ui.controls import say
from qkv_core.ui.lessons import ICONS, LESSONS, ORDER

ICON = Path(__file__).with_name("icon.png")
"""Our own, so that no browser asks a font host for the picture of a symbol's name."""
STYLE = """<style>
[data-testid=stCaptionContainer] { opacity: 1 }
[data-testid=stCaptionContainer] :is(p, li) { color: color-mix(in srgb, currentColor 78%, transparent) }
.stMarkdownBadge { white-space: normal !important }
</style>"""
"""Streamlit fades captions to 60 %, symbols' colours and all: 2.9:1 for the blue of Q. This keeps 4.5:1 for every word.
And it cuts a badge that is longer than a phone is wide, with its number."""
NOTICES = {
    "unknown": frame.UNKNOWN,
    "repeated": frame.REPEATED,
    "replaced": frame.REPLACED,
    "page": frame.NO_PAGE,
}


def main() -> None:
    with server.page_run():
        page()


def page() -> None:
    st.set_page_config(page_title="QKV Lab", page_icon=ICON, layout="wide")
    st.html(STYLE)
    lang = state.language_hint()
    pages = {
        name: st.Page(
            f"../../pages/{name}.py",
            title=frame.MENU[name](lang),
            url_path=name,
            default=name == "home",
        )
        for name in ORDER
    }
    chosen = st.navigation(list(pages.values()), position="hidden")
    name = next(n for n, page in pages.items() if page is chosen or page.title == chosen.title)
    state.begin(name)
    state.remember_pages(pages)
    controls.settle_device()
    with st.sidebar:
        menu(pages)
        controls.sidebar_settings(name)
        about(name)
    if server.is_busy():
        st.info(say(frame.BUSY))
        st.stop()
    notices()
    lesson(name, chosen)
    state.write_address()
    server.first_page_sent(state.get("lang"), st.context.theme.type == "dark")


def menu(pages: dict) -> None:
    """Name, language and the lessons. Each link carries the settings, so it also opens rightly in a new tab."""
    left, right = st.columns((1, 1), vertical_alignment="center")
    left.markdown(f"**{say(frame.NAME)}**")
    with right:
        controls.shared("lang", place="")
    with st.container(gap="xxsmall"):
        for group, names in LESSONS.items():
            st.caption(say(frame.GROUPS[group]))
            for name in names:
                st.page_link(
                    pages[name],
                    label=say(frame.MENU[name]),
                    icon=ICONS[name],
                    query_params=state.parameters(name),
                    width="stretch",
                )


def notices() -> None:
    """What the link said and could not be used. The viewer's own text is shown as plain text, never as markup."""
    problems = state.problems()
    if not problems:
        return
    with st.container(border=True, key="notices"):
        for problem in problems[:5]:
            msg = NOTICES[problem.reason]
            if problem.key == "device" and problem.given in frame.OPTIONS["device"]:
                msg = frame.DEVICE_ABSENT
            st.text(say(msg, key=problem.key, given=problem.given or say(frame.EMPTY), used=problem.used))
        if len(problems) > 5:
            st.text(say(frame.MORE_PROBLEMS, n=len(problems) - 5))
        st.button(say(frame.DISMISS), key="dismiss", on_click=state.forget_problems)


def lesson(name: str, page: st.Page) -> None:
    """The question, the page, its source and the next lesson."""
    texts = lessons.texts(name)
    st.title(say(texts.QUESTION), anchor=False)
    screen.begin(name)
    try:
        page.run()
    except Exception:  # not BaseException: Streamlit steers reruns and stops with it
        logging.getLogger("qkv_lab").exception("page %s failed", name)
        st.container(key="failed").error(say(frame.FAILED), icon=":material/error:")
    finally:
        screen.end(state.values())
    take_home.box()
    st.divider()
    left, right = st.columns((3, 1), vertical_alignment="center")
    left.caption(f"{say(frame.SOURCE)}: {say(texts.SOURCE)}")
    following = ORDER[(ORDER.index(name) + 1) % len(ORDER)]
    with right:
        state.page_link(following, say(frame.NEXT, title=say(frame.MENU[following])), icon=":material/arrow_forward:")


def about(name: str) -> None:
    """What a screenshot needs to be reproduced."""
    shown = state.shared()
    st.caption(
        say(
            frame.ABOUT_TEXT,
            seed=str(shown.seed),
            device=say(frame.OPTIONS["device"][controls.device_in_use()]),
            dtype=getattr(lessons.texts(name), "DTYPE", "float32"),
            **versions(),
        )
    )


@cache
def versions() -> dict[str, str]:
    """What is installed; read from disk once, without importing any of it."""
    return {"torch": version("torch"), "streamlit": version("streamlit"), "python": platform.python_version()}


main()
