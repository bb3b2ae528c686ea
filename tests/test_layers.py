"""Who may import what (DESIGN: a file imports only from the columns to its left), and what must never stand in a file."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PLAIN = {"settings", "presets", "handout", "notebook"}
TORCH = {"attention", "bring", "masks", "measures", "device", "tasks", "nets", "triad", "shapes"}
HEAVY = ("torch", "numpy", "pandas", "altair", "streamlit")
FILES = sorted(p for folder in ("qkv_core", "pages") for p in (ROOT / folder).rglob("*.py")) + [ROOT / "dashboard.py"]


def imports(path: Path) -> set[str]:
    """The modules that a file imports anywhere, functions included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def allowed(path: Path) -> set[str]:
    parts = path.relative_to(ROOT).with_suffix("").parts
    if parts[0] in ("pages", "dashboard"):
        return {"streamlit"}
    if parts[1] in ("ui",):
        return {"streamlit", "torch", "pandas", "altair", "numpy"}
    if parts[1] == "charts":
        return {"altair", "pandas", "numpy"}
    if parts[1] in ("text", "scripts") or parts[1] in PLAIN or parts[1] == "__init__":
        return set()
    return {"torch", "numpy"} if parts[1] in TORCH else {"torch", "numpy", "pandas"}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_file_imports_only_what_its_layer_may(path: Path) -> None:
    roots = {name.split(".")[0] for name in imports(path)}
    extra = roots & set(HEAVY) - allowed(path)
    assert not extra, f"{path.relative_to(ROOT)} imports {sorted(extra)}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_core_never_imports_the_app(path: Path) -> None:
    parts = path.relative_to(ROOT).parts
    if parts[0] == "qkv_core" and parts[1] != "ui":
        assert not [name for name in imports(path) if name.startswith(("qkv_core.ui", "pages"))]
    if parts[:2] == ("qkv_core", "charts"):
        assert not [name for name in imports(path) if name.startswith("qkv_core.") and ".charts" not in name and ".text" not in name]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_file_swallows_everything_or_uses_what_was_removed(path: Path) -> None:
    source = path.read_text()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ExceptHandler):
            names = ast.unparse(node.type) if node.type else ""
            assert names and "BaseException" not in names, f"line {node.lineno}"
    for word in ("unsafe_allow_html", "unsafe_allow_javascript", "use_container_width", "add_rows", "st.switch_page"):
        assert word not in source, word
    called = {ast.unparse(node.func) for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)}
    shared = called & {"torch.manual_seed", "torch.random.manual_seed", "np.random.seed", "numpy.random.seed", "random.seed"}
    assert not shared, f"{shared} sets a seed that every viewer shares"


def test_pages_hold_no_prose_no_style_and_no_maths() -> None:
    for path in (ROOT / "pages").glob("*.py"):
        tree = ast.parse(path.read_text())
        documented = [n for n in ast.walk(tree) if isinstance(n, ast.Module | ast.FunctionDef | ast.ClassDef)]
        docstrings = {ast.get_docstring(n, clean=False) for n in documented}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value not in docstrings:
                words = [w for w in node.value.split() if w.isalpha()]
                assert len(words) < 3, f"{path.name}:{node.lineno} prose belongs in qkv_core/text: {node.value!r}"
                assert "<style" not in node.value


def test_importing_the_core_or_the_frame_loads_neither_torch_nor_pandas_nor_altair() -> None:
    code = (
        "import sys, qkv_core, qkv_core.settings, qkv_core.presets, qkv_core.text.frame;"
        "print([m for m in ('torch', 'pandas', 'altair', 'streamlit') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
    code = (
        "import sys, qkv_core.ui.controls, qkv_core.ui.show, qkv_core.ui.state, qkv_core.ui.server;"
        "print([m for m in ('torch', 'altair') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_module_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text())), path.name
