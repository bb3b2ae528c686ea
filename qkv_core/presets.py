"""Named settings to try on each page. Read-only; the words for them stand in the page's texts, under the same key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from qkv_core import settings


@dataclass(frozen=True)
class Preset:
    """The values that differ from the page's defaults."""

    key: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", MappingProxyType(dict(self.values)))

    def complete(self, page: str) -> dict[str, Any]:
        """Every setting of `page` under this preset; the viewer's language and device are not a preset's business."""
        default = {k: s.default for k, s in settings.known(page).items() if k not in ("lang", "device")}
        return {**default, **self.values}


PRESETS: Mapping[str, tuple[Preset, ...]] = MappingProxyType(
    {
        "home": (),
        "triad": (),
        "variance": (),
        "saturation": (),
        "shapes": (),
    }
)
