"""A lesson that was run with nobody looking is ready for the first who opens it."""

from __future__ import annotations

from unittest.mock import MagicMock

import pytest
from streamlit.runtime import Runtime
from streamlit.runtime.caching.storage.dummy_cache_storage import MemoryCacheStorageManager
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage

from qkv_core import complexity, settings
from qkv_core.ui import rehearsal, server, show
from qkv_core.ui.rehearsal import Look
from tests.app import open_page, words


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> None:
    """As much of a server as a run needs."""
    runtime = MagicMock(spec=Runtime)
    runtime.media_file_mgr = MediaFileManager(MemoryMediaFileStorage("/media"))
    runtime.cache_storage_manager = MemoryCacheStorageManager()
    monkeypatch.setattr(Runtime, "_instance", runtime)


@pytest.mark.parametrize("page", settings.PAGES)
def test_after_a_rehearsal_a_page_builds_no_picture_of_its_own(
    page: str, running: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    show._spec.cache_clear()
    rehearsal.rehearse(page, Look("es"))
    built = show._spec.cache_info().misses
    assert built
    monkeypatch.undo()  # a test's page brings its own server
    at = open_page(page, lang="es")
    assert at.get("vega_lite_chart") and show._spec.cache_info().misses == built


def test_after_a_rehearsal_nothing_is_counted_or_differentiated_again(
    running: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rehearsal.rehearse("complexity", Look())
    monkeypatch.undo()
    for name in ("flops", "reach", "measured_path", "memory_of_weights"):
        monkeypatch.setattr(complexity, name, None)
    assert not open_page("complexity").error


def test_a_rehearsal_for_the_dark_theme_draws_for_the_dark_theme(running: None) -> None:
    show._spec.cache_clear()
    rehearsal.rehearse("home", Look("en", dark=False))
    light = show._spec.cache_info().misses
    rehearsal.rehearse("home", Look("en", dark=True))
    assert show._spec.cache_info().misses == 2 * light
    rehearsal.rehearse("home", Look("en", dark=True))
    assert show._spec.cache_info().misses == 2 * light


def test_a_rehearsal_lets_viewers_pass_and_is_none_itself(running: None, monkeypatch: pytest.MonkeyPatch) -> None:
    waited = []

    def someone_waits() -> bool:
        waited.append(server.someone_waits())
        return len(waited) < 5

    rehearsal.rehearse("home", Look(), someone_waits)
    assert len(waited) > 5 and not any(waited)
    seen = []
    monkeypatch.undo()
    monkeypatch.setattr(server, "is_busy", lambda: seen.append(server.someone_waits()) or False)
    assert "Q, K" in words(open_page("home")) and seen and all(seen)
    assert not server.someone_waits()


def test_a_rehearsal_does_not_step_aside_for_ever(running: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "PATIENCE", 0.1)
    asked = []
    rehearsal.rehearse("home", Look(), lambda: asked.append(1) or True)
    assert 5 <= len(asked) <= 20


def test_the_looks_that_nobody_asked_for_come_after_in_the_first_ones_language() -> None:
    assert rehearsal.others(Look("es", dark=True)) == [Look("es"), Look("en"), Look("en", dark=True)]
