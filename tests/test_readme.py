"""The README is true: its commands are the ones CI runs, its files exist, and its table of links is the schema's."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from qkv_core import settings

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()


def test_it_starts_with_a_sentence_a_picture_and_two_commands() -> None:
    title, rest = README.split("\n", 1)
    assert title.startswith("# ")
    sentence, picture, _, run, *_ = [part.strip() for part in re.split(r"\n\s*\n", rest.strip())]
    assert sentence.startswith("**") and sentence.count(".") == 1
    assert picture.startswith("![")
    assert "streamlit run dashboard.py" in run
    commands = re.findall(r"```bash\n(.*?)```", README, re.S)
    assert len(commands) == 2 and all(c.startswith("python3 -m venv .venv && ") for c in commands)
    assert "streamlit run dashboard.py" in commands[0] and "pytest" in commands[1]


def test_every_file_and_picture_it_names_exists() -> None:
    for target in re.findall(r"\]\(([^)h][^)]*)\)", README):
        assert (ROOT / target).exists(), target
    for name in re.findall(r"`((?:qkv_core|pages|tests)/[\w./]+)`", README):
        assert (ROOT / name).exists(), name


def test_the_links_table_is_the_schema() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| .*? \| (.*?) \|$", README, re.M))
    assert list(rows) == [s.key for s in settings.SHARED]
    for setting in settings.SHARED:
        if setting.key != "lang":
            assert setting.parse(rows[setting.key]) == setting.default


@pytest.mark.parametrize("page", settings.PAGES)
def test_every_page_is_described(page: str) -> None:
    assert f"| `/{'' if page == 'home' else page}`" in README


def test_every_requirement_is_pinned_and_nothing_else_is_needed() -> None:
    names = set()
    for file in ("requirements.txt", "tests/requirements.txt"):
        for line in (ROOT / file).read_text().split():
            assert re.fullmatch(r"[a-z0-9-]+==[\w.]+", line), line
            names.add(line.split("==")[0])
    assert names == {
        "streamlit", "torch", "numpy", "altair", "pandas", "vl-convert-python", "latex2mathml",
        "pytest", "playwright", "nbclient", "ipykernel",
    }  # fmt: skip
    assert "torch==2.13.0" in (ROOT / "requirements.txt").read_text()


def test_the_app_sends_no_usage_statistics_and_the_collector_is_off() -> None:
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
    assert config["browser"]["gatherUsageStats"] is False
    assert config["runner"]["postScriptGC"] is False
