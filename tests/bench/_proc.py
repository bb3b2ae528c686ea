"""What the system says of a process: its memory and the processor time it has spent."""

from __future__ import annotations

import os
from pathlib import Path


def status_mib(field: str, pid: int | str = "self") -> float:
    """A memory line of /proc/PID/status, in MiB; nan where there is no such file."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return float("nan")
    return next(int(line.split()[1]) for line in lines if line.startswith(field + ":")) / 1024


def spent(pid: int) -> float:
    """Processor seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
