"""The ASGI side of the app: security headers, a count of viewers, a readiness route, and warming torch up.

Import of torch takes one to two seconds. It must not delay the first words of the first page, and the first click on
a lesson should not wait for it either; so a thread imports it after the first page has been sent, or after
`PATIENCE` seconds when nobody comes.
"""

from __future__ import annotations

import contextlib
import gc
import gzip
import json
import os
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import parse_qsl, urlencode

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from qkv_core import settings
from qkv_core.text import frame
from qkv_core.ui import rehearsal
from qkv_core.ui.outbox import Outbox

PATIENCE = 3.0
"""Seconds after start-up at which torch is warmed even if no page has been asked for."""
PAUSE = 0.5
"""Seconds between two lessons that are rehearsed in a language or theme that nobody has asked for yet."""

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

NOTICE = f"""<div id="no-connection" role="alert" hidden></div>
<style>#no-connection {{ position: fixed; inset: 0 0 auto; z-index: 2000000; padding: 16px 24px; font: 18px/1.5 sans-serif;
color: #1c1b1a; background: #fdf3d7; border-bottom: 2px solid #8a5a00 }} #no-connection[hidden] {{ display: none }}</style>
<script>setTimeout(() => {{
  const box = document.getElementById("no-connection");
  const arrived = () => document.querySelector("[data-testid=stMain] h1");
  if (arrived()) return;
  const asked = new URLSearchParams(location.search).get("lang");
  const spanish = (asked || navigator.language).startsWith("es");
  box.textContent = spanish ? {json.dumps(frame.NO_CONNECTION("es"))} : {json.dumps(frame.NO_CONNECTION("en"))};
  box.hidden = false;
  const timer = setInterval(() => {{ if (arrived()) {{ box.hidden = true; clearInterval(timer); }} }}, 300);
}}, 12000)</script>"""
"""Shown where no title has come after 12 s, until one comes. The browser's language decides, or the link's."""

KEPT = {*settings.PAGES, "readyz"}
"""Names at the root that are ours."""

_first_page = threading.Event()
_first_look: dict[str, Any] = {}
_lock, _waiting = threading.Lock(), [0]
_warm = threading.Event()


Headers = list[tuple[bytes, bytes]]


def _without(headers: Any, *names: bytes) -> Headers:
    return [h for h in headers if h[0].lower() not in names]


def _below(base: str, name: str = "") -> str:
    """The path of what the server has below its base path, with a slash at both ends."""
    return "/" + "".join(f"{part}/" for part in (base.strip("/"), name) if part)


class SecurityHeaders:
    """Adds the headers above to every answer over HTTP."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                kept = _without(message.get("headers", []), *(name for name, _ in HEADERS))
                message = {**message, "headers": [*kept, *HEADERS]}
            await send(message)

        return await self.app(scope, receive, with_headers)


class LostPages:
    """Sends a browser that asks for a page we do not have to the first lesson, which says so in the viewer's language.

    Streamlit's own answer is a dialog in English.
    """

    def __init__(self, app: ASGIApp, base: str = "") -> None:
        self.app = app
        self.base = _below(base)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = scope.get("path", "").removeprefix(self.base).removeprefix("/")
        asks = scope["type"] == "http" and scope["method"] == "GET" and b"text/html" in dict(scope["headers"]).get(b"accept", b"")
        if not asks or not name or name in KEPT or "/" in name or "." in name or name.startswith("_"):
            return await self.app(scope, receive, send)
        given = parse_qsl(scope["query_string"].decode(errors="replace"), keep_blank_values=True)
        await RedirectResponse("./?" + urlencode([*given, (settings.LOST, name)]))(scope, receive, send)


class Shell:
    """Adds to the page that a browser loads first what it says when nothing follows: a refused websocket sends no words."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = dict(scope.get("headers", ()))
        if scope["type"] != "http" or scope["method"] != "GET" or b"text/html" not in asked.get(b"accept", b""):
            return await self.app(scope, receive, send)
        # asked for whole and plain: a page packed or "not modified" could not be added to
        whole = _without(scope["headers"], b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")
        start: Message = {}
        body = b""

        async def with_notice(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start":
                start = message
                return
            body += message.get("body", b"")
            if message.get("more_body"):
                return
            headers = start.get("headers", [])
            if dict(headers).get(b"content-type", b"").startswith(b"text/html"):
                body = body.replace(b"</body>", NOTICE.encode() + b"</body>")
                headers = _without(headers, b"content-length", b"etag", b"last-modified", b"accept-ranges")
                headers.append((b"content-length", str(len(body)).encode()))
            await send({**start, "headers": headers})
            await send({"type": "http.response.body", "body": body})

        await self.app({**scope, "headers": whole}, receive, with_notice)


class Packed:
    """Sends Streamlit's scripts and styles packed: 5.2 MB become 1.3 MB, which a class on one network feels.

    Streamlit leaves them as they are, since packing each answer anew costs too much; here each file is packed once, on
    another thread, and kept. Their names change with their content, so nothing goes stale.
    """

    def __init__(self, app: ASGIApp, base: str = "") -> None:
        self.app = app
        self.folder = _below(base, "static")
        self.kept: dict[str, tuple[Headers, bytes]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        ours = scope["type"] == "http" and scope["method"] == "GET" and path.startswith(self.folder) and path.endswith((".js", ".css"))
        asked = dict(scope.get("headers", ()))
        if not ours or b"gzip" not in asked.get(b"accept-encoding", b"") or {b"range", b"if-none-match", b"if-modified-since"} & asked.keys():
            return await self.app(scope, receive, send)
        if path not in self.kept and not await self._pack(path, scope, receive, send):
            return
        headers, body = self.kept[path]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _pack(self, path: str, scope: Scope, receive: Receive, send: Send) -> bool:
        """Keeps the packed file. False when there is none, and what the app says of it has been sent."""
        answer: list[Message] = []

        async def keep(message: Message) -> None:
            answer.append(message)

        await self.app(scope, receive, keep)
        start, *parts = answer
        if start["status"] != 200:
            for message in answer:
                await send(message)
            return False
        body = await run_in_threadpool(gzip.compress, b"".join(part.get("body", b"") for part in parts), 6)
        headers = _without(start["headers"], b"content-length", b"accept-ranges")
        packed = ((b"content-encoding", b"gzip"), (b"vary", b"Accept-Encoding"), (b"content-length", str(len(body)).encode()))
        self.kept[path] = ([*headers, *packed], body)
        return True


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


@contextlib.contextmanager
def page_run() -> Iterator[None]:
    """Around each run of a page that somebody waits for."""
    mine = 0 if rehearsal.is_on() else 1
    with _lock:
        _waiting[0] += mine
    try:
        yield
    finally:
        with _lock:
            _waiting[0] -= mine


def someone_waits() -> bool:
    """Is a page being run for a viewer?"""
    return _waiting[0] > 0


def is_busy() -> bool:
    """Are more pages open than this server should carry at a time?"""
    return ViewerCount.active > MAX_VIEWERS


def middleware() -> list[Middleware]:
    base = st.get_option("server.baseUrlPath") or ""
    http = [Middleware(SecurityHeaders), Middleware(LostPages, base=base), Middleware(Shell), Middleware(Packed, base=base)]
    return [*http, Middleware(ViewerCount), Middleware(Outbox)]


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


def first_page_sent(lang: str, dark: bool) -> None:
    """Says that somebody has the words of a page on the screen, so that torch may load now, and how they look."""
    if not _first_page.is_set():
        _first_look.update(lang=lang, dark=dark)
        _first_page.set()


def is_warm() -> bool:
    """Is torch loaded, so that asking it costs nothing?"""
    return _warm.is_set()


def _warm_up() -> None:
    """Loads torch and rehearses each lesson as the first viewer sees it; then, with pauses, as others may."""
    _first_page.wait(PATIENCE)
    from qkv_core.ui import cached  # imports torch, on one thread

    first = rehearsal.Look(**_first_look)
    cached.warm_up(first, someone_waits)
    gc.collect()
    gc.freeze()  # what is imported now lives for good: no collection walks it again
    _warm.set()
    for look in rehearsal.others(first):
        for page in settings.PAGES:
            time.sleep(PAUSE)
            cached.rehearse(page, look, someone_waits)
