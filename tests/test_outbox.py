"""Slow connections: nothing is lost up to a limit, and beyond it the connection ends, so that the browser connects anew."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import ConnectionClosed

from qkv_core.ui import outbox
from tests.bench._wire import Viewer
from tests.conftest import Server

SCOPE = {"type": "websocket"}
HELLO, BYE = {"type": "websocket.accept"}, {"type": "websocket.close", "code": 1000}


def told(n: int, size: int = 10) -> dict[str, Any]:
    return {"type": "websocket.send", "bytes": bytes([n]) * size}


class Line:
    """A connection that takes messages only while it is open, as a server's `send` does."""

    def __init__(self) -> None:
        self.took: list[dict[str, Any]] = []
        self.ready = asyncio.Event()
        self.lost = False

    async def send(self, message: dict[str, Any]) -> None:
        await self.ready.wait()
        if self.lost:
            raise OSError("gone")
        self.took.append(message)


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """On a thread of its own: the browser of other tests keeps a loop on this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def served(app: Callable[[Line, Callable[..., Awaitable[None]]], Awaitable[None]]) -> Line:
    """Runs an app behind an outbox; the app gets the line too, to open it or to cut it."""

    async def serve() -> Line:
        line = Line()

        async def asgi(scope: Any, receive: Any, send: Callable[..., Awaitable[None]]) -> None:
            await app(line, send)

        async def nothing() -> dict[str, Any]:
            return {}

        await asyncio.wait_for(outbox.Outbox(asgi)(SCOPE, nothing, line.send), 5)
        return line

    return run(serve())


async def a_while() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_an_app_never_waits_for_a_slow_connection_and_every_message_comes_in_order() -> None:
    async def app(line: Line, send: Callable[..., Awaitable[None]]) -> None:
        await send(HELLO)
        for n in range(200):
            await send(told(n))
        assert line.took == []
        line.ready.set()
        await a_while()
        while len(line.took) < 201:
            await asyncio.sleep(0)

    assert served(app).took == [HELLO, *(told(n) for n in range(200))]


def test_what_was_taken_makes_room_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "LIMIT", 25)

    async def app(line: Line, send: Callable[..., Awaitable[None]]) -> None:
        line.ready.set()
        for n in range(50):
            await send(told(n))
            await a_while()

    assert served(app).took == [told(n) for n in range(50)]


def test_too_much_ends_the_connection_as_soon_as_it_takes_something_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "LIMIT", 25)

    async def app(line: Line, send: Callable[..., Awaitable[None]]) -> None:
        for n in range(10):
            await send(told(n))
        line.ready.set()
        await a_while()
        await send(told(99))
        await a_while()

    last, end = served(app).took
    assert ForwardMsg.FromString(last["bytes"]).session_status_changed.script_is_running
    assert end["code"] == outbox.TOO_SLOW


def test_a_connection_that_is_lost_neither_fails_the_app_nor_keeps_it() -> None:
    async def app(line: Line, send: Callable[..., Awaitable[None]]) -> None:
        line.lost = True
        line.ready.set()
        for n in range(5):
            await send(told(n))
            await a_while()

    assert served(app).took == []


def test_an_app_that_closes_is_heard_at_once_and_nothing_follows() -> None:
    async def app(line: Line, send: Callable[..., Awaitable[None]]) -> None:
        await send(HELLO)
        line.ready.set()
        await a_while()
        await send(BYE)
        await send(told(1))
        await a_while()

    assert served(app).took == [HELLO, BYE]


def test_what_is_no_websocket_passes_by() -> None:
    seen = []

    async def asgi(scope: Any, receive: Any, send: Any) -> None:
        seen.append((receive, send))

    run(outbox.Outbox(asgi)({"type": "http"}, "receive", "send"))
    assert seen == [("receive", "send")]


def test_a_viewer_who_did_not_listen_for_a_while_is_answered_or_let_go_but_never_forgotten(impatient: Server) -> None:
    ask = BackMsg()
    ask.rerun_script.page_name = "heads"
    with Viewer(impatient.port) as viewer:
        viewer.run("heads")
        with pytest.raises(ConnectionClosed) as closed:
            for _ in range(5):
                for _ in range(60):
                    viewer.socket.send(ask.SerializeToString())
                    time.sleep(0.15)
                assert answers(viewer)
    assert closed.value.rcvd.code == outbox.TOO_SLOW
    with Viewer(impatient.port) as again:
        again.run("heads")
    assert "Traceback" not in impatient.log()


def answers(viewer: Viewer) -> int:
    """Listens until nothing more comes."""
    heard = 0
    with contextlib.suppress(TimeoutError):
        while viewer.socket.recv(timeout=3):
            heard += 1
    return heard
