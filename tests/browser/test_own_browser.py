"""A viewer's own file goes through a real browser: it is read, shown, kept out of the address, and removed."""

from __future__ import annotations

from typing import Any

import pytest

from qkv_core.text import triad as words
from tests.browser.driver import visitor
from tests.conftest import Server
from tests.test_bring import npz
from tests.test_own import tensors

pytestmark = pytest.mark.browser

UPLOADER = "[data-testid=stFileUploader]"


def test_a_file_is_uploaded_shown_and_removed_and_another_viewer_sees_nothing(chromium: Any, server: Server) -> None:
    file = {"name": "mine.npz", "mimeType": "application/octet-stream", "buffer": npz(tensors())}
    with visitor(chromium, server.url) as v, visitor(chromium, server.url) as other:
        v.open("/triad?t_in=own")
        v.page.set_input_files(f"{UPLOADER} input[type=file]", file)
        v.page.wait_for_selector(UPLOADER, state="detached", timeout=30_000)
        v.settled()
        assert "mine.npz: q (2, 3, 5, 4), k (2, 3, 5, 4), v (2, 3, 5, 3)" in v.words()
        assert v.parameter("t_in") == "own" and "mine" not in v.page.url
        other.open("/triad?t_in=own")
        assert "mine.npz" not in other.words() and words.OWN_WAITING("en") in other.words()
        v.page.locator(".st-key-own_remove button").click()
        v.page.wait_for_selector(UPLOADER, timeout=30_000)
        v.settled()
        assert words.OWN_WAITING("en") in v.words()
        assert v.trouble == [] and other.trouble == []
