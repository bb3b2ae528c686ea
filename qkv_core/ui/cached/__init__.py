"""What is computed once for all viewers of the same settings: one module a lesson, each function keyed on plain values.

Importing this package imports torch, so main.py does it only after the first words are on the screen. Everything that
`st.cache_resource` returns is shared by all viewers and read-only.
"""

import logging
from collections.abc import Callable

import torch

from qkv_core.ui import rehearsal
from qkv_core.ui.lessons import ORDER
from qkv_core.ui.rehearsal import Look

torch.set_num_threads(1)  # sessions share few cores; with two threads small operations wait at barriers


def warm_up(look: Look, steps_aside: Callable[[], bool]) -> None:
    """Loads what the lessons use and runs each as it first appears, so that the first click finds everything ready."""
    from qkv_core import device

    device.available()
    for name in ORDER:
        rehearse(name, look, steps_aside)


def rehearse(page: str, look: Look, steps_aside: Callable[[], bool]) -> None:
    """The same for one lesson; one that fails must not keep the others cold."""
    try:
        rehearsal.rehearse(page, look, steps_aside)
    except Exception:
        logging.getLogger("qkv_lab").exception("warming %s up failed", page)
