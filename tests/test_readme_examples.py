"""The README's examples of the library run as they stand and print what they say, and help() tells the whole of a module."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import pydoc
import re
from pathlib import Path

import pytest

README = (Path(__file__).resolve().parents[1] / "README.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.S)
MODULES = ("attention", "triad", "variance", "saturation", "shapes", "heads", "training", "positions", "complexity", "bring", "device")


def told(example: str) -> list[str]:
    """What the example says that each of its lines prints."""
    return re.findall(r"^print\(.*\)  # (.*)$", example, re.M)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: re.findall(r"from qkv_core import (.*)", e)[0])
def test_an_example_of_the_library_runs_and_prints_what_it_says(example: str) -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(example, "README.md", "exec"), {"__name__": "example"})
    assert len(example.strip().splitlines()) <= 5
    assert out.getvalue().splitlines()[: len(told(example))] == told(example)


def test_every_module_of_the_library_has_its_example() -> None:
    for module in MODULES:
        assert any(re.search(rf"import .*\b{module}\b", example) for example in EXAMPLES), module
    assert sum(bool(told(example)) for example in EXAMPLES) >= len(EXAMPLES) - 1


@pytest.mark.parametrize("module", MODULES)
def test_help_stands_alone(module: str) -> None:
    found = importlib.import_module(f"qkv_core.{module}")
    page = pydoc.plain(pydoc.render_doc(found))
    assert found.__doc__ and found.__doc__.splitlines()[0] in page
    for name, thing in vars(found).items():
        mine = getattr(thing, "__module__", None) == found.__name__ and not name.startswith("_")
        if mine and (inspect.isfunction(thing) or inspect.isclass(thing)):
            assert inspect.getdoc(thing), f"{module}.{name}"
            if inspect.isfunction(thing):
                assert inspect.getdoc(thing).splitlines()[0] in page
                assert len(inspect.signature(thing).parameters) <= 4 or re.search(
                    r"Args|Returns?\b|Raises", inspect.getdoc(thing)
                ), f"{module}.{name} says neither what it takes nor what it gives"
