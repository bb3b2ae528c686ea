"""What a slow connection has not taken yet, so that no viewer is given up in silence.

Streamlit keeps at most 500 messages for a viewer, which is two runs of a large page. When there are more, it forgets the
session and leaves the connection open: that page says for ever that it runs, and none of its controls is heard. A phone on
a bad network that moves a slider gets there in seconds.

Here what has not been taken is kept up to a limit in bytes. Beyond it the connection is closed, and a closed connection
cures itself: the browser connects anew, finds its session, and asks for the page as its controls stand. It asks only if it
knows that a run was going on, and the word of that may be among what it did not take; so that is said last.
"""

from __future__ import annotations

import asyncio
import contextlib

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

LIMIT = 4 * 2**20
"""Bytes kept for one viewer: some twenty runs of the largest page."""
TOO_SLOW = 1013
"""The close code "try again later"."""


class Outbox:
    """Stands between the app and each websocket; the app never waits for a slow one."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            return await self.app(scope, receive, send)
        box = _Box(send)
        try:
            return await self.app(scope, receive, box.put)
        finally:
            await box.end()


class _Box:
    def __init__(self, send: Send) -> None:
        self._send = send
        self._kept: asyncio.Queue[Message] = asyncio.Queue()
        self._size = 0
        self._open = True
        self._work = asyncio.create_task(self._pour())

    async def put(self, message: Message) -> None:
        """Takes a message at once. What comes after the end is dropped: the app hears of the end when it next listens."""
        if not self._open:
            return
        if message["type"] == "websocket.close":
            await self.end()
            return await self._send(message)
        self._size += _size(message)
        self._kept.put_nowait(message)
        if self._size > LIMIT:
            await self.end()
            self._work = asyncio.create_task(self._cut())

    async def end(self) -> None:
        self._open, self._kept = False, asyncio.Queue()
        self._work.cancel()
        with contextlib.suppress(asyncio.CancelledError, OSError):
            await self._work

    async def _cut(self) -> None:
        """Waits until the connection takes something again."""
        running = ForwardMsg()
        running.session_status_changed.script_is_running = True
        await self._send({"type": "websocket.send", "bytes": running.SerializeToString()})
        await self._send({"type": "websocket.close", "code": TOO_SLOW, "reason": "too slow"})

    async def _pour(self) -> None:
        try:
            while True:
                message = await self._kept.get()
                await self._send(message)
                self._size -= _size(message)
        finally:
            self._open = False


def _size(message: Message) -> int:
    return len(message.get("bytes") or message.get("text") or b"")
