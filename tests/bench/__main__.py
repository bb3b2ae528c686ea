"""Times every case of every module beside this one, prints a table and writes RESULTS.md.

    python -m tests.bench                       everything, and RESULTS.md
    python -m tests.bench statistics attention  these topics, printed only
    python -m tests.bench statistics --write    this topic, and its part of RESULTS.md
    python -m tests.bench --list                what there is

A topic is a module in this folder whose name has no leading underscore. What it measures by itself it returns from
`rows()`, as finished lines of the table: dicts of strings by column. Everything else it returns from `cases()`, a list
of dicts:

    name            what is timed, in words
    target          ratio naive / ours to reach; None where only the memory counts
    naive, ours     callables without arguments. naive may be absent where target is None
    repeats         how many interleaved pairs (default 5)
    naive_factor    naive does 1/naive_factor of the work, for cases that would take minutes (default 1)
    memory_mb       most extra memory `ours` may take, in MiB (default: not measured)
    warm            a tiny version of ours, run before memory is measured so that libraries are loaded (default ours)
    wall            True for wall-clock, where another device computes and this thread only waits (default False)
    steps           steps that one call trains; the note then says steps a second of both (default: none)
    note            a few words for the table (default "")

Timing: one torch thread; thread CPU time, which other programs on a shared machine do not stretch; naive and ours take
turns, so a slow spell hits both, and the ratio shown is the median of the pairs' ratios. `ours` is called until it has
run for 50 ms, since one short call is mostly clock. Ratios are measured, never asserted: a test that fails when the
machine is busy teaches nothing.
Memory: growth of the peak resident set (VmHWM) of a fresh process over its resident set just before.
"""

import argparse
import datetime
import importlib
import os
import pkgutil
import platform
import statistics as stats
import subprocess
import sys
import time
from pathlib import Path

from tests.bench._proc import status_mib

os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")         # rounding as in the app, read when torch is imported

FOLDER = Path(__file__).parent
COLUMNS = ("case", "target", "measured", "pairs", "naive ms", "ours ms", "extra MiB", "note")


def topics() -> list[str]:
    """Names of the modules here, in order."""
    return sorted(m.name for m in pkgutil.iter_modules([str(FOLDER)]) if not m.name.startswith("_"))


def load(topic: str) -> list[dict]:
    """The cases of a topic; none for one that has rows only."""
    module = importlib.import_module(f"tests.bench.{topic}")
    return module.cases() if hasattr(module, "cases") else []


def finished(topic: str) -> list[dict]:
    """The lines that a topic measures by itself."""
    module = importlib.import_module(f"tests.bench.{topic}")
    lines = module.rows() if hasattr(module, "rows") else []
    return [dict.fromkeys(COLUMNS, "") | line for line in lines]


def seconds(call, at_least: float = 0.0, clock=time.thread_time) -> float:
    """Seconds of one call by `clock`, averaged over as many calls as `at_least` seconds need."""
    start, calls = clock(), 0
    while True:
        call()
        calls += 1
        spent = clock() - start
        if spent >= at_least:
            return spent / calls


def ratio(case: dict) -> tuple[float, list[float], list[float]]:
    """Median ratio of the pairs, and the two lists of seconds."""
    case["ours"]()                                       # load libraries and fill caches outside the clock
    naive, ours = [], []
    clock = time.perf_counter if case.get("wall") else time.thread_time
    for _ in range(case.get("repeats", 5)):
        naive.append(seconds(case["naive"], clock=clock) * case.get("naive_factor", 1))
        ours.append(seconds(case["ours"], 0.05, clock))
    return stats.median(a / b for a, b in zip(naive, ours)), naive, ours


def memory_here(topic: str, index: int) -> float:
    """Extra MiB of the case in this process, which has done nothing else."""
    case = load(topic)[index]
    case.get("warm", case["ours"])()
    before = status_mib("VmRSS")
    try:
        Path("/proc/self/clear_refs").write_text("5")     # the peak starts again from here
    except OSError:
        pass
    case["ours"]()
    return status_mib("VmHWM") - before


def memory(topic: str, index: int) -> float:
    """The same in a fresh process."""
    command = [sys.executable, "-m", "tests.bench", "--memory", topic, str(index)]
    done = subprocess.run(command, cwd=FOLDER.parents[1], capture_output=True, text=True, check=True)
    return float(done.stdout)


def row(topic: str, index: int, case: dict) -> dict:
    """One line of the table."""
    line = dict.fromkeys(COLUMNS, "") | {"case": case["name"], "note": case.get("note", "")}
    if "naive" in case:
        middle, naive, ours = ratio(case)
        target = case["target"]
        line |= {"target": f"{target:g}x" if target else "", "measured": f"{middle:.3g}x", "pairs": str(len(ours)),
                 "naive ms": f"{1e3 * stats.median(naive):.4g}", "ours ms": f"{1e3 * stats.median(ours):.4g}"}
        if "steps" in case:
            pace = [f"{case['steps'] / stats.median(part):,.0f}" for part in (naive, ours)]
            line["note"] = "; ".join(filter(None, (line["note"], f"steps/s: naive {pace[0]}, ours {pace[1]}")))
        if case.get("wall"):
            line["note"] += "; wall" if line["note"] else "wall"
    if "memory_mb" in case:
        line["extra MiB"] = f"{memory(topic, index):.1f} (at most {case['memory_mb']:g})"
    return line


def show(line: dict) -> dict:
    """The same line, printed."""
    print("  ".join(f"{name}: {value}" for name, value in line.items() if value), flush=True)
    return line


def table(rows: list[dict]) -> str:
    """The rows as a Markdown table."""
    lines = [COLUMNS, ("---",) * len(COLUMNS), *([r[c] for c in COLUMNS] for r in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write(topic: str, rows: list[dict]) -> None:
    """Puts the lines of a topic into RESULTS.md, with the machine they were measured on; other topics stay as they are."""
    file = FOLDER / "RESULTS.md"
    head, *parts = file.read_text(encoding="utf-8").split("\n## ") if file.exists() else [""]
    parts = {part.split("\n")[0]: part.strip() for part in parts}
    parts[topic] = f"{topic}\n\n{machine()}\n\n{table(rows)}"
    text = "# Benchmarks\n\nWritten by `python -m tests.bench`; each part says when and where.\n"
    file.write_text(text + "".join(f"\n## {parts[name]}\n" for name in sorted(parts)), encoding="utf-8")


def machine() -> str:
    """Processor, cores and versions; no host name, user or path."""
    import numpy
    import pandas
    import torch

    return (f"{datetime.date.today()}; {os.cpu_count()} cores, {processor()}; {platform.system()}; "
            f"Python {platform.python_version()}, torch {torch.__version__}, numpy {numpy.__version__}, "
            f"pandas {pandas.__version__}; one torch thread. Medians of interleaved pairs, in "
            "thread CPU time where a line doesn't say wall.")


def processor() -> str:
    """The processor's type."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def main() -> None:
    import torch

    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__.splitlines()[0])
    parser.add_argument("topics", nargs="*", help="all by default")
    parser.add_argument("--list", action="store_true", help="name the cases and stop")
    parser.add_argument("--write", action="store_true", help="write RESULTS.md, as a run of all topics does")
    parser.add_argument("--memory", nargs=2, metavar=("TOPIC", "INDEX"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.memory:
        print(memory_here(asked.memory[0], int(asked.memory[1])))
        return
    if unknown := set(asked.topics) - set(topics()):
        parser.error(f"no topic {', '.join(sorted(unknown))}; there are {', '.join(topics())}")
    for topic in asked.topics or topics():
        rows = []
        for index, case in enumerate(load(topic)):
            if asked.list:
                print(f"{topic}: {case['name']}")
                continue
            rows.append(show(row(topic, index, case)))
        if not asked.list:
            rows += map(show, finished(topic))
        if rows and (asked.write or not asked.topics):
            write(topic, rows)


if __name__ == "__main__":
    main()
