"""Runs lessons with nobody looking, so that the first to open one finds its pictures, words and numbers ready.

A picture's specification takes tens of milliseconds to build and a lesson has up to sixteen; they depend on the page's
own code, so the page is run as Streamlit runs it, into nowhere. What is kept is what all viewers share: the caches.
"""

from __future__ import annotations

import asyncio
import threading
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamlit import runtime
from streamlit.proto.ClientState_pb2 import ContextInfo
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import RerunData, ScriptRunner, ScriptRunnerEvent, get_script_run_ctx
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.runtime.state import SessionState

MAIN = str(Path(__file__).with_name("main.py"))
NOBODY = "rehearsal"
"""The session of a run that no viewer sees."""
PATIENCE, LONGEST = 10.0, 120.0
"""Seconds for which a run steps aside in all, lest a viewer wait for something that it holds; and after which it is left alone."""
STEP = 0.01


@dataclass(frozen=True)
class Look:
    """What a page's pictures and words depend on, apart from its settings."""

    lang: str = "en"
    dark: bool = False


def others(first: Look) -> list[Look]:
    """The other looks that a viewer may have, the language of the first before the other."""
    looks = [Look(lang, dark) for lang in ("en", "es") for dark in (False, True)]
    return sorted((look for look in looks if look != first), key=lambda look: (look.lang != first.lang, look.dark))


def is_on() -> bool:
    """Is this run a rehearsal?"""
    context = get_script_run_ctx(suppress_warning=True)
    return context is not None and context.session_id == NOBODY


def rehearse(page: str, look: Look, steps_aside: Callable[[], bool] = lambda: False) -> None:
    """Runs a lesson once, with every setting at its default; returns when it has ended.

    steps_aside: asked at each element; while it says so the run waits, at most PATIENCE seconds in all.
    """
    ended, left = threading.Event(), PATIENCE

    def hear(sender: Any, event: ScriptRunnerEvent, **_: Any) -> None:
        nonlocal left
        if event is ScriptRunnerEvent.SHUTDOWN:
            ended.set()
        while event is ScriptRunnerEvent.ENQUEUE_FORWARD_MSG and left > 0 and steps_aside():
            time.sleep(STEP)
            left -= STEP

    loop, scripts = asyncio.new_event_loop(), ScriptCache()
    try:
        runner = ScriptRunner(
            session_id=NOBODY,
            main_script_path=MAIN,
            session_state=SessionState(),
            uploaded_file_mgr=MemoryUploadedFileManager("/rehearsal"),
            script_cache=scripts,
            initial_rerun_data=RerunData(
                query_string=urllib.parse.urlencode({"lang": look.lang}),
                page_name="" if page == "home" else page,
                context_info=ContextInfo(locale=look.lang, color_scheme="dark" if look.dark else "light"),
            ),
            user_info={},
            fragment_storage=MemoryFragmentStorage(),
            pages_manager=PagesManager(MAIN, script_cache=scripts),
            event_loop=loop,
        )
        runner.on_event.connect(hear, weak=False)
        runner.start()
        ended.wait(LONGEST)
    finally:
        loop.close()
        if runtime.exists():
            runtime.get_instance().media_file_mgr.clear_session_refs(NOBODY)
