"""The ASGI side of the app: security headers, a count of viewers, a readiness route, and warming torch up.

Import of torch takes one to two seconds. It must not delay the first words of the first page, and the first click on
a lesson should not wait for it either; so a thread imports it after the first page has been sent, or after
`PATIENCE` seconds when nobody comes.
"""

from __future__ import annotations

import contextlib
import gc
import os
import threading
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qsl, urlencode

import streamlit as st
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from qkv_core import settings

PATIENCE = 3.0
"""Seconds after start-up at which torch is warmed even if no page has been asked for."""

MAX_VIEWERS = int(os.environ.get("QKV_MAX_VIEWERS", "200"))
"""Open pages at a time above which a newcomer is asked to wait; twice as many are refused."""

POLICY = "; ".join(
    (
        "default-src 'self'",
        "img-src 'self' data: blob:",
        "style-src 'self' 'unsafe-inline'",
        "script-src 'self' 'unsafe-inline' blob:",
        "connect-src 'self' ws: wss:",
        "font-src 'self' data:",
        "worker-src 'self' blob:",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
    )
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
)

KEPT = {*settings.PAGES, "readyz"}
"""Names at the root that are ours."""

_first_page = threading.Event()
_warm = threading.Event()


class SecurityHeaders:
    """Adds the headers above to every answer over HTTP."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                names = {name for name, _ in HEADERS}
                kept = [h for h in message.get("headers", []) if h[0].lower() not in names]
                message = {**message, "headers": [*kept, *HEADERS]}
            await send(message)

        return await self.app(scope, receive, with_headers)


class LostPages:
    """Sends a browser that asks for a page we do not have to the first lesson, which says so in the viewer's language.

    Streamlit's own answer is a dialog in English.
    """

    def __init__(self, app: ASGIApp, base: str = "") -> None:
        self.app = app
        self.base = f"/{base.strip('/')}/".replace("//", "/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = scope.get("path", "").removeprefix(self.base).removeprefix("/")
        asks = scope["type"] == "http" and scope["method"] == "GET" and b"text/html" in dict(scope["headers"]).get(b"accept", b"")
        if not asks or not name or name in KEPT or "/" in name or "." in name or name.startswith("_"):
            return await self.app(scope, receive, send)
        given = parse_qsl(scope["query_string"].decode(errors="replace"), keep_blank_values=True)
        await RedirectResponse("./?" + urlencode([*given, (settings.LOST, name)]))(scope, receive, send)


class ViewerCount:
    """Counts open websockets, one a viewer, and refuses those above twice MAX_VIEWERS."""

    active = 0

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            return await self.app(scope, receive, send)
        if ViewerCount.active >= 2 * MAX_VIEWERS:
            await receive()
            return await send({"type": "websocket.close", "code": 1013, "reason": "too many viewers"})
        ViewerCount.active += 1
        try:
            return await self.app(scope, receive, send)
        finally:
            ViewerCount.active -= 1


def is_busy() -> bool:
    """Are more pages open than this server should carry at a time?"""
    return ViewerCount.active > MAX_VIEWERS


def middleware() -> list[Middleware]:
    base = st.get_option("server.baseUrlPath") or ""
    return [Middleware(SecurityHeaders), Middleware(LostPages, base=base), Middleware(ViewerCount)]


def routes() -> list[Route]:
    return [Route("/readyz", _ready), Route("/home", _home)]


async def _home(request: Request) -> RedirectResponse:
    """The first lesson lives at the root; a link that calls it by name finds it too, settings and all."""
    query = request.url.query
    return RedirectResponse("./" + (f"?{query}" if query else ""))


async def _ready(request: Request) -> JSONResponse:
    """200 once torch is loaded and the first click will be quick; 503 before."""
    return JSONResponse({"warm": is_warm(), "viewers": ViewerCount.active}, status_code=200 if is_warm() else 503)


@contextlib.asynccontextmanager
async def lifespan(app: Any) -> AsyncIterator[None]:
    threading.Thread(target=_warm_up, name="warm-up", daemon=True).start()
    yield


def first_page_sent() -> None:
    """Says that somebody has the words of a page on the screen, so that torch may load now."""
    _first_page.set()


def is_warm() -> bool:
    """Is torch loaded, so that asking it costs nothing?"""
    return _warm.is_set()


def _warm_up() -> None:
    _first_page.wait(PATIENCE)
    from qkv_core.ui import cached  # imports torch, on one thread

    cached.warm_up()
    gc.collect()
    gc.freeze()  # what is imported now lives for good: no collection walks it again
    _warm.set()
