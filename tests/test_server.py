"""The server side, over real HTTP: headers, readiness, lost pages, a clean log, and both ways to start."""

from __future__ import annotations

import gzip
import json
import re
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from qkv_core import settings
from qkv_core.ui import server as app_server
from tests.conftest import Server


class KeepRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: object) -> None:
        return None


def get(url: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    opener = urllib.request.build_opener(KeepRedirects)
    try:
        with opener.open(urllib.request.Request(url, headers=headers), timeout=20) as answer:
            return answer.status, {k.lower(): v for k, v in answer.headers.items()}, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, {k.lower(): v for k, v in error.headers.items()}, error.read()


@pytest.mark.parametrize("path", ["/", "/variance", "/_stcore/health", "/static/nothing.js"])
def test_every_answer_forbids_outside_hosts(server: Server, path: str) -> None:
    _, headers, _ = get(server.url + path)
    policy = headers["content-security-policy"]
    assert "default-src 'self'" in policy and "http:" not in policy and "https:" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"


def test_readiness_turns_green_when_torch_is_loaded_although_nobody_came(server: Server) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        status, _, body = get(f"{server.url}/readyz")
        if status == 200:
            break
        assert status == 503
        time.sleep(0.3)
    assert status == 200 and json.loads(body)["warm"] is True


def test_a_page_that_does_not_exist_leads_a_browser_to_the_first_lesson_with_its_settings(server: Server) -> None:
    status, headers, _ = get(f"{server.url}/nope?d_k=8", accept="text/html")
    assert (status, headers["location"]) == (307, "./?d_k=8&page=nope")


@pytest.mark.parametrize("page", settings.PAGES)
def test_our_own_pages_are_never_taken_for_lost(server: Server, page: str) -> None:
    status, headers, _ = get(f"{server.url}/{page}?d_k=8", accept="text/html")
    if page == "home":
        assert (status, headers["location"]) == (307, "./?d_k=8")
    else:
        assert status == 200


def test_a_browser_gets_a_page_that_can_explain_a_refused_connection_and_never_a_stale_one(server: Server) -> None:
    _, first, body = get(f"{server.url}/variance", accept="text/html", **{"accept-encoding": "gzip"})
    assert body.count(b'id="no-connection"') == 1 and body.rstrip().endswith(b"</html>")
    assert int(first["content-length"]) == len(body) and not {"content-encoding", "etag", "last-modified"} & first.keys()
    status, _, again = get(f"{server.url}/variance", accept="text/html", **{"if-modified-since": "Mon, 30 Nov 2099 00:00:00 GMT"})
    assert status == 200 and again == body


def test_files_of_the_frame_come_packed_to_who_can_unpack_them_and_plain_to_others(server: Server) -> None:
    _, _, page = get(server.url, accept="text/html")
    script = re.search(rb'src="\./(static/js/index[^"]+)"', page).group(1).decode()
    _, plain_headers, plain = get(f"{server.url}/{script}")
    for _ in range(2):  # packed anew, and kept
        _, headers, packed = get(f"{server.url}/{script}", **{"accept-encoding": "gzip"})
        assert gzip.decompress(packed) == plain and len(packed) < len(plain) / 2
        assert headers["content-encoding"] == "gzip" and int(headers["content-length"]) == len(packed)
        assert headers["content-type"] == plain_headers["content-type"] and "immutable" in headers["cache-control"]
    assert "content-encoding" not in plain_headers
    assert get(f"{server.url}/static/js/nothing.js", **{"accept-encoding": "gzip"})[0] == get(f"{server.url}/static/js/nothing.js")[0]


def test_the_server_counts_its_viewers_and_has_a_limit() -> None:
    assert app_server.MAX_VIEWERS > 0
    assert not app_server.is_busy()


def test_uvicorn_opens_the_same_app(tmp_path: Path) -> None:
    running = Server(
        tmp_path, sys.executable, "-m", "uvicorn", "dashboard:app", "--host", "127.0.0.1", "--port", "{port}"
    )
    try:
        status, headers, body = get(running.url + "/variance")
        assert status == 200 and b"<html" in body and "content-security-policy" in headers
    finally:
        running.stop()
