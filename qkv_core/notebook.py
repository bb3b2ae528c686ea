"""A lesson as a Jupyter notebook or as a program: its text and its code, cell by cell. Standard library only."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Sequence
from typing import NamedTuple

from qkv_core.scripts import comment


class Cell(NamedTuple):
    """kind: "markdown" or "code"."""

    kind: str
    text: str


def notebook(cells: Sequence[Cell]) -> str:
    """The cells as an .ipynb file (nbformat 4.5). The last line of nothing is run: outputs are empty."""
    made = []
    for i, cell in enumerate(cells):
        name = hashlib.sha256(f"{i} {cell.kind} {cell.text}".encode()).hexdigest()[:12]
        one = {"cell_type": cell.kind, "id": name, "metadata": {}, "source": cell.text.splitlines(keepends=True)}
        if cell.kind == "code":
            one |= {"execution_count": None, "outputs": []}
        made.append(one)
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    whole = {"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def program(cells: Sequence[Cell]) -> str:
    """The cells as one program, in the form that editors split at "# %%"; the text stands as comments."""
    parts = [
        f"# %% [markdown]\n{comment(cell.text)}" if cell.kind == "markdown" else f"# %%\n{cell.text}" for cell in cells
    ]
    text = "\n\n".join(parts) + "\n"
    ast.parse(text)
    return text
