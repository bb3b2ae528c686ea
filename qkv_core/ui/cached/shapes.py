"""What the shapes page shows, computed once for all viewers of the same sizes. Small records; no tensor is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from qkv_core import shapes
from qkv_core.charts.shapes import GLYPHS
from qkv_core.text import shapes as text

ROWS_SHOWN, PLACES_SHOWN = 8, 6
LINES_SHOWN, CELLS_SHOWN = 8, 36
LEGAL_SHOWN = 12


@dataclass(frozen=True)
class Walk:
    """The steps that can be executed (three when H does not divide C), how axes flow between them, and the counts.

    names: the tensor of every row of the path, also of those that could not be made.
    """

    steps: tuple[shapes.ShapeStep, ...]
    flows: tuple[tuple[tuple[int | None, int | None], ...], ...]
    names: tuple[str, ...]
    numbers: dict[str, int | float]
    free: int
    copied: int
    computed: int


@dataclass(frozen=True)
class Order:
    """The two orders of splitting, cell by cell, and what the wrong one does."""

    right: pd.DataFrame
    wrong: pd.DataFrame
    right_code: str
    wrong_code: str
    bare_code: str
    view_error: str | None
    equal: bool
    count: int
    total: int
    share: float
    first: shapes.Misplaced | None
    merge_share: float
    cancels: bool


@dataclass(frozen=True)
class WhatIf:
    """One size changed: parameters and scores before and after."""

    name: str
    now: int
    then: int
    p_now: int
    p_then: int
    s_now: int
    s_then: int

    @property
    def answer(self) -> int:
        """0 only parameters, 1 only scores, 2 both, 3 neither."""
        parameters, scores = self.p_now != self.p_then, self.s_now != self.s_then
        return 2 if parameters and scores else 0 if parameters else 1 if scores else 3


def verdict(B: int, T: int, C: int, H: int) -> str:
    """"large", "heads" (H does not divide C) or "fine"."""
    if shapes.total_bytes(B, T, C, H) > shapes.MAX_BYTES:
        return "large"
    return "heads" if C % H else "fine"


@st.cache_resource(show_spinner=False, max_entries=64)
def walk(B: int, T: int, C: int, H: int, seed: int) -> Walk:
    whole = shapes.shape_walkthrough(B, T, C, H if C % H == 0 else 1, seed)
    steps = whole if C % H == 0 else whole[: shapes.STEP_KEYS.index("split")]  # up to there H plays no part
    numbers = shapes.walkthrough_numbers(B, T, C, H if C % H == 0 else 1)
    flows = tuple(shapes.axis_flow(was.axes, now.axes) for was, now in zip(steps, steps[1:]))
    free = sum(step.shares_memory_with_previous for step in steps)
    copied = sum("order" in step.preserved and "storage" in step.changed and step.key == "contiguous" for step in steps)
    names = tuple(step.tensor for step in whole)
    return Walk(steps, flows, names, numbers, free, copied, len(steps) - free - copied)


@st.cache_resource(show_spinner=False, max_entries=256)
def trace(B: int, T: int, C: int, H: int, seed: int, b: int, t: int, c: int, of: str) -> tuple[shapes.FollowStep, ...]:
    steps = shapes.follow(B, T, C, H if C % H == 0 else 1, seed, b, t, c, of)
    return steps if C % H == 0 else steps[: shapes.STEP_KEYS.index("split")]


@st.cache_resource(show_spinner=False, max_entries=256)
def window(step: shapes.ShapeStep, here: shapes.FollowStep) -> tuple[pd.DataFrame, shapes.MemoryWindow]:
    """The cells of the memory picture, without their words."""
    start = here.offset - sum(i * jump for i, jump in zip(here.index, step.stride))
    storage = step.storage_bytes // 4
    found = shapes.memory_window(
        step.shape, step.stride, start, storage, here.index, LINES_SHOWN, CELLS_SHOWN
    )
    length = found.line_length
    rows = [
        {"start": p // length * length, "place": p % length, "position": p, "part": part, "glyph": GLYPHS[part]}
        for p, part in found.parts
    ]
    return pd.DataFrame(rows), found


@st.cache_resource(show_spinner=False, max_entries=64)
def order(B: int, T: int, C: int, H: int, seed: int) -> Order:
    split, merge = shapes.wrong_view(B, T, C, H, seed), shapes.wrong_merge(B, T, C, H, seed)
    return Order(
        right=_cells(split.expected, split.expected),
        wrong=_cells(split.source, split.expected),
        right_code=split.right_code,
        wrong_code=split.wrong_code,
        bare_code=f"q.view({B}, {H}, {T}, {C // H})",
        view_error=split.view_error,
        equal=split.equal,
        count=split.misplaced_count,
        total=split.misplaced.numel(),
        share=split.misplaced_share,
        first=split.first,
        merge_share=merge.misplaced_share,
        cancels=bool(merge.wrong_round_trip) and not merge.equal,
    )


def _cells(held: Any, expected: Any) -> pd.DataFrame:
    """One row a head and place of the first sequence: the token and channels it holds, and those it should hold."""
    rows = []
    for head in range(min(held.shape[1], ROWS_SHOWN)):
        for place in range(min(held.shape[2], PLACES_SHOWN)):
            got, want = held[0, head, place].tolist(), expected[0, head, place].tolist()
            wrong = got != want
            rows.append(
                {
                    "head": head,
                    "place": place,
                    "token": got[0][0],
                    "label": f"{got[0][0]} ✗" if wrong else str(got[0][0]),
                    "channels": f"{got[0][1]}:{got[-1][1] + 1}",
                    "belongs": f"q[0, {want[0][0]}, {want[0][1]}:{want[-1][1] + 1}]",
                    "wrong": wrong,
                }
            )
    return pd.DataFrame(rows)


@st.cache_resource(show_spinner=False, max_entries=64)
def merge_error(B: int, T: int, C: int, H: int, seed: int) -> shapes.MergeError:
    return shapes.merge_error(B, T, C, H, seed)


@st.cache_resource(show_spinner=False, max_entries=64)
def head_error(B: int, T: int, C: int, H: int) -> shapes.HeadError:
    return shapes.head_error(B, T, C, H)


def legal_near(C: int, H: int) -> tuple[tuple[int, ...], int]:
    """The legal H nearest to the one asked for, ascending, and how many there are in all."""
    legal = shapes.legal_heads(C)
    return tuple(sorted(sorted(legal, key=lambda n: abs(n - H))[:LEGAL_SHOWN])), len(legal)


def nearest_illegal(C: int, H: int) -> int:
    """The H nearest to the one on screen that does not divide C; of two the larger."""
    return min((n for n in range(2, shapes.MAX_H + 1) if C % n), key=lambda n: (abs(n - H), -n))


@st.cache_resource(show_spinner=False, max_entries=64)
def chunk(B: int, T: int, C: int, seed: int) -> tuple[shapes.ChunkPart, ...]:
    return shapes.chunk_equals_slicing(B, T, C, 1, seed)


@st.cache_resource(show_spinner=False, max_entries=64)
def fused(B: int, T: int, C: int, seed: int) -> shapes.FusedCheck:
    return shapes.fused_vs_separate(C, seed, B, T)


@st.cache_resource(show_spinner=False, max_entries=64)
def audit(B: int, T: int, C: int, H: int, seed: int) -> tuple[shapes.AuditRow, ...]:
    return shapes.audit(B, T, C, H, seed)


@st.cache_resource(show_spinner=False, max_entries=64)
def checks(B: int, T: int, C: int, H: int, seed: int) -> shapes.WalkthroughChecks:
    return shapes.walkthrough_checks(B, T, C, H, seed)


@st.cache_resource(show_spinner=False, max_entries=64)
def what_if(B: int, T: int, C: int, H: int, seed: int) -> WhatIf:
    """Another legal H (the next larger, else the next smaller); where there is none, one token more or less."""
    others = sorted((n for n in shapes.legal_heads(C) if n != H), key=lambda n: (n < H, abs(n - H)))
    changes = [*(("H", n) for n in others), ("T", T + 1 if T < shapes.MAX_T else T - 1), ("T", max(T - 1, 1))]
    now = {"B": B, "T": T, "C": C, "H": H}
    name, then = next((name, n) for name, n in changes if verdict(**{**now, name: n}) == "fine")
    p_now, s_now = _size(seed=seed, **now)
    p_then, s_then = _size(seed=seed, **{**now, name: then})
    return WhatIf(name, now[name], then, p_now, p_then, s_now, s_then)


def _size(B: int, T: int, C: int, H: int, seed: int) -> tuple[int, int]:
    rows = audit(B, T, C, H, seed)
    return sum(row.parameters for row in rows), next(row.numel for row in rows if row.symbol == "scores")


def path_table(found: Walk, lang: str) -> pd.DataFrame:
    """One row a step, to read and to take home."""
    names = {key: msg(lang) for key, msg in text.PROPERTIES.items()}
    return pd.DataFrame(
        {
            "n": n,
            "tensor": step.tensor,
            "axes": f"({', '.join(step.axes)})",
            "shape": str(step.shape),
            "stride": str(step.stride),
            "contiguous": (text.YES if step.contiguous else text.NO)(lang),
            "numel": step.numel,
            "bytes": step.bytes,
            "storage_bytes": step.storage_bytes,
            "parameters": step.parameters,
            "changed": ", ".join(names[p] for p in step.changed),
            "preserved": ", ".join(names[p] for p in step.preserved),
        }
        for n, step in enumerate(found.steps, start=1)
    )


def trace_table(found: Walk, followed: tuple[shapes.FollowStep, ...], lang: str) -> pd.DataFrame:
    """Where the followed number is at each step, and what became of it."""
    return pd.DataFrame(
        {
            "n": n,
            "place": text.place(here),
            "offset": here.offset,
            "value": here.value,
            "role": text.ROLES[here.role](lang, n=here.reach_size, reach=here.reach, D=found.numbers["D"]),
        }
        for n, here in enumerate(followed, start=1)
    )


def chunk_table(parts: tuple[shapes.ChunkPart, ...], lang: str) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "slice_code": part.slice_code,
            "storage_offset": part.storage_offset,
            "stride": str(part.stride),
            "largest_difference": part.largest_difference,
            "shared": (text.YES if part.shares_memory else text.NO)(lang),
        }
        for part in parts
    )


def fused_table(found: shapes.FusedCheck) -> pd.DataFrame:
    differences = (found.difference_q, found.difference_k, found.difference_v)
    return pd.DataFrame(
        {"layer": f"{part} = Linear({found.C}, {found.C})", "parameters": count, "difference": difference}
        for part, count, difference in zip("qkv", found.separate_parameters, differences)
    )


def audit_file(rows: tuple[shapes.AuditRow, ...], lang: str) -> str:
    """The audit table as CSV."""
    frame = pd.DataFrame({**vars(row), "purpose": text.PURPOSES[row.purpose](lang)} for row in rows)
    return frame.to_csv(index=False)


def clamp(sizes: tuple[int, ...], asked: tuple[int, ...]) -> tuple[int, ...]:
    """The index nearest to the one asked for that exists in these sizes."""
    return tuple(min(index, size - 1) for index, size in zip(asked, sizes))


def place_in_head(found: Walk, b: int, t: int, c: int) -> dict[str, int]:
    """The numbers of the sentence that places channel c in its head."""
    D = int(found.numbers["D"])
    return {"b": b, "t": t, "c": c, "D": D, "h": c // D, "d": c % D}


def symbol(step: shapes.ShapeStep, here: shapes.FollowStep, of: str) -> str:
    """Whose colour the followed number has at a step."""
    symbols = {"scores": "scores", "scaled": "scores", "weights": "weights", "x": "x"}
    return symbols.get(step.key, of if here.role == "element" else "output")


def check_rows(
    B: int, T: int, C: int, H: int, seed: int, followed: tuple[shapes.FollowStep, ...]
) -> tuple[tuple[str, float, float], ...]:
    """(name, largest difference, tolerance) of everything that can be checked with these sizes."""
    always = (
        ("address", float(sum(not here.verified for here in followed)), 0.0),
        ("chunk", max(part.largest_difference for part in chunk(B, T, C, seed)), 0.0),
        ("fused", fused(B, T, C, seed).largest_difference, 1e-5),
    )
    if C % H:
        return always
    found = checks(B, T, C, H, seed)
    return (
        ("sdpa", found.sdpa_difference, 1e-5),
        ("rows", found.row_sum_difference, 1e-5),
        ("merge", float(not found.merge_identity), 0.0),
        *always,
    )
