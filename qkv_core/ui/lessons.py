"""The lessons: the groups of the menu, the order they are taught in, and where their words stand.

A lesson that is added here appears in the menu, on the map of the first page and in the chain of "next".
"""

import importlib
from types import ModuleType

LESSONS = {
    "understand": ("home", "triad", "shapes", "positions"),
    "why": ("variance", "saturation"),
    "try": ("heads", "training", "complexity"),
}
ORDER = ("home", "triad", "variance", "saturation", "training", "shapes", "heads", "positions", "complexity")
ICONS = {
    "home": ":material/home:",
    "triad": ":material/hub:",
    "shapes": ":material/deployed_code:",
    "positions": ":material/pin_drop:",
    "variance": ":material/bar_chart:",
    "saturation": ":material/show_chart:",
    "heads": ":material/visibility:",
    "training": ":material/model_training:",
    "complexity": ":material/timer:",
}


def texts(name: str) -> ModuleType:
    """The module that holds the words of a lesson."""
    return importlib.import_module(f"qkv_core.text.{name}")
