"""Which devices there are, which of them really work, and why the others don't.

Nothing is set globally. PyTorch's default for float32 matrix products is full precision; where something turned TF32
on (`torch.set_float32_matmul_precision("high")`), the probe finds the coarse result and refuses the device:
`torch.set_float32_matmul_precision("highest")`, once at start-up, is how a teaching program makes sure.
"""
import functools
from dataclasses import dataclass

import torch

NAMES = ("cpu", "cuda", "mps")


@dataclass(frozen=True)
class DeviceStatus:
    """One device, and whether this program may use it.

    name: one of NAMES.
    usable: True when the probe computed there and the result, read back, was right.
    reason: a code to translate: "ok", "not_built" (this PyTorch has no such backend), "not_found" (no such device
        here), "failed" (it raised), "inexact" (it answered, but wrongly or in coarse precision).
    detail: the device's own name, its error message, or the difference found; not to be translated.
    """
    name: str
    usable: bool
    reason: str
    detail: str = ""


def available() -> tuple[DeviceStatus, ...]:
    """Return the state of each device of NAMES, in that order; a probe runs once in the life of the process.

    Source: the probe is a matrix product and a softmax, compared with the same on the CPU within 1e-5.
    """
    return tuple(_status(name) for name in NAMES)


def choose(name: str = "auto") -> tuple[torch.device, DeviceStatus | None]:
    """Return the device to use for a name, and the state of the one that had to be replaced by the CPU.

    A link may name a device that this machine lacks; it opens on the CPU, and the page says why. "auto" takes the
    first GPU that passes its probe; a machine without one is no news, so the reason is given only for a GPU that is
    there and fails.

    Args:
        name: "auto", "cpu", "cuda" or "mps".
    Returns:
        device: torch.device, always usable.
        reason: DeviceStatus of the device that was passed over, or None.
    Raises:
        ValueError: for any other name.
    """
    if name not in ("auto", *NAMES):
        raise ValueError(f"device must be one of auto, {', '.join(NAMES)}; got {name!r}")
    wanted = [_status(gpu) for gpu in NAMES[1:]] if name == "auto" else [_status(name)]
    for status in wanted:
        if status.usable:
            return torch.device(status.name), None
    broken = [status for status in wanted if name != "auto" or status.reason in ("failed", "inexact")]
    return torch.device("cpu"), broken[0] if broken else None


def resolve(name: str = "auto") -> torch.device:
    """Return the usable device for a name, the CPU where the one asked for is absent or fails its probe.

    Args, Raises: as for `choose`, which also says why.
    """
    return choose(name)[0]


@functools.cache
def _status(name: str) -> DeviceStatus:
    if name == "cuda" and not torch.backends.cuda.is_built() or name == "mps" and not torch.backends.mps.is_built():
        return DeviceStatus(name, False, "not_built", f"PyTorch {torch.__version__}")
    if name == "cuda" and not torch.cuda.is_available() or name == "mps" and not torch.backends.mps.is_available():
        return DeviceStatus(name, False, "not_found")
    try:
        difference = _probe(torch.device(name))
        detail = torch.cuda.get_device_name() if name == "cuda" else ""
    except Exception as error:                              # a driver may raise anything, and must not stop the page
        return DeviceStatus(name, False, "failed", f"{type(error).__name__}: {error}".splitlines()[0])
    if not difference <= 1e-5:                              # NaN is a wrong answer too
        return DeviceStatus(name, False, "inexact", f"{difference:.1e}")
    return DeviceStatus(name, True, "ok", detail)


def _probe(device: torch.device) -> float:
    """Return the largest difference between a small attention's steps there and on the CPU."""
    x = torch.sin(torch.arange(64.0)).view(8, 8)            # mantissas that TF32's ten bits can't hold
    there = x.to(device)
    product, weights = there @ there.T, torch.softmax(there @ there.T, -1)
    pairs = (product.cpu(), x @ x.T), (weights.cpu(), torch.softmax(x @ x.T, -1))
    return max((got - expected).abs().max().item() for got, expected in pairs)
