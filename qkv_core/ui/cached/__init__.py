"""What is computed once for all viewers of the same settings: one module a lesson, each function keyed on plain values.

Importing this package imports torch, so main.py does it only after the first words are on the screen. Everything that
`st.cache_resource` returns is shared by all viewers and read-only.
"""

import logging
from importlib import import_module

import torch

from qkv_core import settings
from qkv_core.ui.lessons import ORDER

torch.set_num_threads(1)  # sessions share few cores; with two threads small operations wait at barriers


def warm_up() -> None:
    """Loads what the lessons use and computes each as it first appears, so that the first click finds everything ready."""
    from qkv_core import device

    device.available()
    for name in ORDER:
        try:
            import_module(f"qkv_core.charts.{name}")
            lesson = import_module(f"qkv_core.ui.cached.{name}")
            if hasattr(lesson, "warm_up"):
                lesson.warm_up(settings.defaults())
        except Exception:  # one lesson that fails must not keep the others cold
            logging.getLogger("qkv_lab").exception("warming %s up failed", name)
