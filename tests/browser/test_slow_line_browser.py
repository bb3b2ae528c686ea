"""A line that stands still for some seconds while the viewer goes on: afterwards the page is whole, and says one thing."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.driver import visitor
from tests.conftest import Server

pytestmark = pytest.mark.browser

SMALL = 16_384
"""Bytes that the line itself holds, so that what it doesn't take waits in the server."""


class SlowLine:
    """Passes everything on between a browser and a server, in both directions; what the server says only while `flows` is set."""

    def __init__(self, port: int) -> None:
        self.flows = threading.Event()
        self.flows.set()
        self._to = port
        self._door = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._door.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self.flows.set()
        self._door.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                browser, _ = self._door.accept()
                server = socket.socket()
                server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
                server.connect(("127.0.0.1", self._to))
                threading.Thread(target=self._pass, args=(browser, server, False), daemon=True).start()
                threading.Thread(target=self._pass, args=(server, browser, True), daemon=True).start()

    def _pass(self, one: socket.socket, other: socket.socket, from_server: bool) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(SMALL):
                if from_server:
                    self.flows.wait()
                other.sendall(data)
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def line(server: Server) -> Iterator[SlowLine]:
    with contextlib.closing(SlowLine(server.port)) as made:
        yield made


@pytest.mark.parametrize(("path", "steps", "ends"), [("/", 8, "1.00"), ("/heads", 8, "1.00"), ("/saturation", 7, "1.05")])
def test_a_key_that_goes_back_and_forth_while_the_line_stands_still_leaves_one_truth(
    chromium: Any, line: SlowLine, path: str, steps: int, ends: str
) -> None:
    with visitor(chromium, line.url) as v:
        v.open(path)
        v.slider("tau").focus()
        line.flows.clear()
        for step in range(2 * steps if ends == "1.00" else steps):
            v.slider("tau").press("ArrowRight" if step % 8 < 4 else "ArrowLeft", no_wait_after=True)
            v.page.wait_for_timeout(250)
        line.flows.set()
        v.page.wait_for_timeout(1000)
        v.settled()
        v.page.wait_for_timeout(1000)
        v.settled()
        assert (v.shown("tau"), v.parameter("tau")) == (ends, None if ends == "1.00" else ends)
        v.press("tau", "ArrowRight")
        assert v.shown("tau") == v.parameter("tau") == f"{float(ends) + 0.05:.2f}"


def test_a_line_that_stands_still_for_too_long_is_cut_and_the_browser_comes_back_by_itself(chromium: Any, impatient: Server) -> None:
    with contextlib.closing(SlowLine(impatient.port)) as line, visitor(chromium, line.url) as v:
        sockets: list[Any] = []
        v.page.on("websocket", lambda ws: sockets.append(ws))
        v.open("/heads")
        v.slider("tau").focus()
        line.flows.clear()
        for _ in range(10):
            v.slider("tau").press("ArrowRight", no_wait_after=True)
            v.page.wait_for_timeout(400)
        line.flows.set()
        v.page.wait_for_timeout(3000)
        v.settled()
        assert [ws.is_closed() for ws in sockets] == [True, False]
        assert v.shown("tau") == v.parameter("tau") == "1.50"
        v.press("tau", "ArrowLeft")
        assert v.shown("tau") == v.parameter("tau") == "1.45"
    assert "Traceback" not in impatient.log()
