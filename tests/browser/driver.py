"""A person at the browser: opens pages, moves sliders, and waits until the app has answered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

DESK = {"width": 1920, "height": 1080}
PHONE = {"width": 390, "height": 844}

PROBES = ("/_stcore/health", "/_stcore/host-config")
"""Streamlit's own search for its base address: on a deep link it asks below the page's path first."""


QUIET = """([quiet, most]) => new Promise(done => {
    const end = () => { watcher.disconnect(); clearTimeout(timer); clearTimeout(limit); done(); };
    const watcher = new MutationObserver(() => { clearTimeout(timer); timer = setTimeout(end, quiet); });
    watcher.observe(document.body, {childList: true, subtree: true});
    let timer = setTimeout(end, quiet);
    const limit = setTimeout(end, most);
})"""
"""Ends when nothing was added to or taken from the document for `quiet` milliseconds, or after `most` (a page that plays never rests)."""


class Visitor:
    """One browser tab with what went wrong in it."""

    def __init__(self, page: Any, url: str) -> None:
        self.page = page
        self.url = url
        self.trouble: list[str] = []
        self.outside: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.trouble.append(str(error)))
        page.on("request", self._request)
        page.on("response", self._response)

    def _console(self, message: Any) -> None:
        if message.type == "error" and "404" not in message.text:
            self.trouble.append(message.text)

    def _request(self, request: Any) -> None:
        if not request.url.startswith((self.url, self.url.replace("http", "ws"), "data:", "blob:")):
            self.outside.append(request.url)

    def _response(self, response: Any) -> None:
        if response.status >= 400 and not response.url.endswith(PROBES):
            self.trouble.append(f"{response.status} {response.url}")

    def open(self, path: str = "/") -> Visitor:
        self.page.goto(self.url + path)
        self.page.wait_for_selector(".st-key-d_k input[type=range]", state="attached")
        return self.settled()

    def settled(self) -> Visitor:
        """Waits until the script has run and what it sent is drawn: the browser loads sliders and charts after the script has ended."""
        self.page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]", timeout=60_000)
        self.page.evaluate(QUIET, [300, 5000])
        self.page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]", timeout=60_000)
        return self

    def slider(self, key: str) -> Any:
        return self.page.locator(f".st-key-{key} input[type=range]").first

    def press(self, key: str, *names: str) -> Visitor:
        """Presses keys on a slider, waiting for the answer to each."""
        for name in names:
            self.slider(key).focus()
            before = self.shown(key)
            self.slider(key).press(name)
            self.page.wait_for_function(
                "([selector, before]) => document.querySelector(selector)?.getAttribute('aria-valuetext') !== before",
                arg=[f".st-key-{key} input[type=range]", before],
            )
            self.settled()
        return self

    def shown(self, key: str) -> str:
        return self.slider(key).get_attribute("aria-valuetext")

    def parameter(self, key: str) -> str | None:
        found = re.search(rf"[?&]{key}=([^&#]*)", self.page.url)
        return found and found.group(1)

    def words(self) -> str:
        return self.page.locator("[data-testid=stMain]").inner_text()

    def follow(self, label: str) -> Visitor:
        self.page.locator("[data-testid=stSidebar]").get_by_role("link", name=label, exact=True).click()
        return self.settled()

    def language(self, lang: str) -> Visitor:
        self.page.locator(".st-key-lang").get_by_role("radio", name=lang.upper()).click(force=True)
        return self.settled()


@contextmanager
def visitor(
    browser: Any, url: str, *, size: dict[str, int] = DESK, locale: str = "en-US", scheme: str = "light"
) -> Iterator[Visitor]:
    context = browser.new_context(viewport=size, locale=locale, color_scheme=scheme)
    context.set_default_timeout(60_000)
    try:
        yield Visitor(context.new_page(), url)
    finally:
        context.close()
