"""One torch thread and one way to round, as in the app; and the server and browser that the browser tests share."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")

ROOT = Path(__file__).resolve().parents[1]
CHROMIUM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)


@pytest.fixture(scope="session", autouse=True)
def one_torch_thread() -> None:
    import torch

    torch.set_num_threads(1)

    from qkv_core.charts import base

    base.VALIDATES = True  # every picture that a test draws


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """The real app in a process of its own, with its log."""

    def __init__(self, folder: Path, *command: str, cwd: Path = ROOT) -> None:
        self.port = free_port()
        self.log_path = folder / f"server-{self.port}.log"
        self.url = f"http://127.0.0.1:{self.port}"
        command = command or (
            sys.executable, "-m", "streamlit", "run", "dashboard.py", "--server.headless", "true",
            "--server.address", "127.0.0.1", "--server.port", "{port}",
        )  # fmt: skip
        self._log = self.log_path.open("w")
        self.process = subprocess.Popen(
            [part.format(port=self.port) for part in command], cwd=cwd, stdout=self._log, stderr=subprocess.STDOUT
        )
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=2):
                    return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.2)
        self.stop()
        raise RuntimeError(f"the app did not start:\n{self.log()}")

    def log(self) -> str:
        return self.log_path.read_text()

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self._log.close()


IMPATIENT = """
import socket, sys
import uvicorn
sys.path.insert(0, ".")
from qkv_core.ui import outbox
outbox.LIMIT = 100_000
door = socket.create_server(("127.0.0.1", {port}))
door.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16_384)
uvicorn.Server(uvicorn.Config("dashboard:app", ws="websockets-sansio")).run([door])
"""


@pytest.fixture
def impatient(tmp_path: Path) -> Iterator[Server]:
    """The app on a connection that holds little, keeping less than a run of the heads page for a viewer who doesn't take it."""
    running = Server(tmp_path, sys.executable, "-c", IMPATIENT)
    yield running
    running.stop()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("server"))
    yield running
    running.stop()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Debian's Chromium. Without one (or without Playwright) the tests are skipped, except in CI, where that fails."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _no_browser("Playwright is not installed: pip install -r tests/requirements.txt")
    if CHROMIUM is None:
        _no_browser("no Chromium on this machine: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        )
        yield browser
        browser.close()


def _no_browser(why: str) -> None:
    if os.environ.get("CI"):
        pytest.fail(f"CI needs a browser: {why}")
    pytest.skip(why)
