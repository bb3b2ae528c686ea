"""Anatomy of a tensor: where each axis goes, step by step."""

import pandas as pd
import streamlit as st

from qkv_core import shapes as core
from qkv_core import settings
from qkv_core.charts import shapes as charts
from qkv_core.text import shapes as text
from qkv_core.ui import controls, show, state
from qkv_core.ui.cached import shapes as cached
from qkv_core.ui.controls import say

NAMES = ("B", "T", "C", "H")
AT = ("sh_b", "sh_t", "sh_c")


def sizes_row(C: int, H: int) -> None:
    *boxes, last = st.columns(len(NAMES) + 1, vertical_alignment="top")
    for name, box in zip(NAMES, boxes):
        with box:
            controls.whole(name, text.SIZES[name], help=say(text.SIZES_HELP[name]))
    last.metric(say(text.HEAD_SIZE), show.num(C / H, ".4g"))


def buttons(prefix: str, changes: list[dict[str, int]]) -> None:
    """One button for each set of sizes that would do."""
    with st.container(horizontal=True, gap="small"):
        for change in changes:
            label = ", ".join(say(text.SET, name=name, value=value) for name, value in change.items())
            st.button(label, key=f"{prefix}_{label}", on_click=state.put, kwargs=change)


def too_large(sizes: tuple[int, int, int, int]) -> None:
    offered = core.fitting(*sizes)
    msg = text.TOO_LARGE if offered else text.TOO_LARGE_ALL
    needed, limit = core.total_bytes(*sizes) / 2**20, core.MAX_BYTES / 2**20
    st.warning(say(msg, needed=needed, limit=limit), icon=":material/memory:")
    buttons("fit", [{name: value} for name, value in offered.items()])
    if not offered:
        small = {name: settings.everything()[name].default for name in NAMES}
        st.button(say(text.SMALL), key="fit_small", on_click=state.put, kwargs=small)


def head_error(B: int, T: int, C: int, H: int, prefix: str) -> None:
    """The real error, the reason in numbers, and the way out."""
    error = cached.head_error(B, T, C, H)
    st.code(f">>> {error.code}\nRuntimeError: {error.message}", language=None, wrap_lines=True)
    st.markdown(
        say(
            text.BAD_REASON,
            C=C, H=H, quotient=error.quotient, remainder=error.remainder, numel=error.numel, used=error.numel_used,
        )
    )
    near, total = cached.legal_near(C, H)
    st.caption(say(text.LEGAL if len(near) == total else text.LEGAL_NEAR, C=C, n=len(near), total=total))
    buttons(prefix, [{"H": legal} for legal in near])


def chosen_number(B: int, T: int, C: int) -> tuple[int, int, int, bool]:
    """(b, t, c) inside these sizes, and whether one had to be moved there."""
    asked = tuple(state.get(key) for key in AT)
    kept = tuple(min(value, size - 1) for value, size in zip(asked, (B, T, C)))
    if kept != asked:
        problems = state.problems()
        state.put(**dict(zip(AT, kept)))
        st.session_state[state.PROBLEMS] = problems
    return *kept, kept != asked


def pick() -> None:
    picked = st.session_state["shapes_path"].selection.get("pick") or []
    if picked and "row" in picked[0]:
        state.put(sh_step=int(picked[0]["row"]) + 1)


@state.fragment
def walk(sizes: tuple[int, int, int, int], seed: int) -> None:
    """The path, the step that is chosen, and the number that is followed."""
    B, T, C, H = sizes
    found = cached.walk(*sizes, seed)
    b, t, c, moved = chosen_number(B, T, C)
    of, chosen = state.get("sh_of"), state.get("sh_step") - 1
    trace = cached.trace(*sizes, seed, b, t, c, of)
    left, right = st.columns((6, 7), gap="large")
    with left:
        path(found, sizes, chosen)
    with right:
        controls.steps("sh_step", text.STEP, help=say(text.STEP_HELP))
        if chosen < len(found.steps):
            card(found, trace, chosen, f"{of}[{b}, {t}, {c}]")
        else:
            key = core.STEP_KEYS[chosen]
            st.subheader(say(text.STEP_TITLE, n=chosen + 1, name=say(text.STEP_NAMES[key])), anchor=False)
            st.error(say(text.LEAD_BAD, C=C, H=H), icon=":material/error:")
    st.subheader(say(text.FOLLOW), anchor=False)
    follow(found, trace, min(chosen, len(found.steps) - 1), sizes, (b, t, c), of, moved)


def path(found: cached.Walk, sizes: tuple[int, int, int, int], chosen: int) -> None:
    complete = len(found.steps) == len(core.STEP_KEYS)
    if complete:
        msg = text.PATH_SAYS if found.copied else text.PATH_SAYS_FREE
        says = say(msg, n=len(found.steps), free=found.free, computed=found.computed, copied=found.copied)
    else:
        says = say(text.PATH_SAYS_BAD, n=len(found.steps), H=sizes[3])
    stop = "" if complete else say(text.STOP, C=sizes[2], H=sizes[3])
    show.chart(
        charts.path,
        charts.path_frame(found.steps, found.flows, chosen, len(found.names), stop),
        key="shapes_path",
        says=says,
        on_select=pick,
        columns=text.PATH_COLUMNS,
        data=path_table(found),
        names=found.names,
        places_title=say(text.PLACES),
        memory_title=say(text.MEMORY),
    )


def path_table(found: cached.Walk) -> pd.DataFrame:
    names = {key: say(msg) for key, msg in text.PROPERTIES.items()}
    return pd.DataFrame(
        {
            "n": n,
            "tensor": step.tensor,
            "axes": f"({', '.join(step.axes)})",
            "shape": str(step.shape),
            "stride": str(step.stride),
            "contiguous": say(text.YES if step.contiguous else text.NO),
            "numel": step.numel,
            "bytes": step.bytes,
            "storage_bytes": step.storage_bytes,
            "parameters": step.parameters,
            "changed": ", ".join(names[p] for p in step.changed),
            "preserved": ", ".join(names[p] for p in step.preserved),
        }
        for n, step in enumerate(found.steps, start=1)
    )


def card(found: cached.Walk, trace: tuple[core.FollowStep, ...], chosen: int, name: str) -> None:
    """One step: what ran, what it made of the tensor, and where the followed number is."""
    step, before = found.steps[chosen], found.steps[chosen - 1] if chosen else None
    st.subheader(say(text.STEP_TITLE, n=chosen + 1, name=say(text.STEP_NAMES[step.key])), anchor=False)
    st.markdown(say(text.NOTES[step.note_key], **found.numbers))
    st.code(step.code, language="python", wrap_lines=True)
    st.markdown(properties(step, before))
    if step.parameters:
        st.markdown(say(text.PARAMETERS, n=step.parameters))
    st.markdown(where(trace[chosen], name))


def properties(step: core.ShapeStep, before: core.ShapeStep | None) -> str:
    """The properties of a step beside those of the one before, as a table in markup."""
    head = ["", *([say(text.BEFORE, tensor=before.tensor)] if before else []), say(text.NOW, tensor=step.tensor)]
    rows = [head + ([""] if before else [])]
    rows.append(["---"] * len(rows[0]))
    for name, title in text.PROPERTIES.items():
        if before is None and name in ("values", "order"):
            continue
        now = cell(name, step, name in step.preserved)
        if before is None:
            rows.append([say(title), now])
            continue
        mark = say(text.CHANGED if name in step.changed else text.KEPT)
        was = "" if name in ("values", "order") else cell(name, before, True)
        rows.append([say(title), was, now, mark])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def cell(name: str, step: core.ShapeStep, kept: bool) -> str:
    match name:
        case "shape":
            return f"({', '.join(step.axes)}) = **{step.shape}**"
        case "stride":
            return f"**{step.stride}**"
        case "contiguity":
            return say(text.YES if step.contiguous else text.NO)
        case "numel":
            return say(text.COUNT, n=step.numel, bytes=step.bytes)
        case "storage":
            return say(text.STORAGE, bytes=step.storage_bytes)
    return say(text.FOUND[name, kept])


def where(here: core.FollowStep, name: str) -> str:
    own = {"source": text.HERE_SOURCE, "element": text.HERE, "waiting": text.HERE_WAITING}
    place = f"`{here.tensor}[{', '.join(map(str, here.index))}]`"
    return say(own.get(here.role, text.HERE_TOKEN), name=f"`{name}`", here=place, offset=here.offset, value=here.value)


def follow(
    found: cached.Walk,
    trace: tuple[core.FollowStep, ...],
    chosen: int,
    sizes: tuple[int, int, int, int],
    at: tuple[int, int, int],
    of: str,
    moved: bool,
) -> None:
    B, T, C, H = sizes
    b, t, c = at
    name = f"`{of}[{b}, {t}, {c}]`"
    first, *others = st.columns((2, 2, 2, 2, 3), vertical_alignment="bottom")
    with first:
        controls.segments("sh_of", text.OF, text.OF_NAMES)
    for key, column in zip(AT, others):
        with column:
            controls.whole(key, text.AT[key], help=say(text.AT_HELP[key]))
    if moved:
        st.caption(say(text.CLAMPED, name=name))
    if C % H:
        st.markdown(say(text.FOLLOW_LEAD_BAD, name=name, b=b, t=t, c=c))
    else:
        D = found.numbers["D"]
        st.markdown(say(text.FOLLOW_LEAD, name=name, b=b, t=t, c=c, h=c // D, d=c % D, D=D))
    left, right = st.columns((6, 7), gap="large")
    with left:
        strip(found.steps[chosen], trace[chosen], of)
    with right:
        show.table(trace_table(found, trace), text.FOLLOW_COLUMNS, key="shapes_trace", height="content")


def trace_table(found: cached.Walk, trace: tuple[core.FollowStep, ...]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "n": n,
            "place": f"{here.tensor}[{', '.join(map(str, here.index))}]",
            "offset": here.offset,
            "value": here.value,
            "role": say(text.ROLES[here.role], n=here.reach_size, reach=here.reach, D=found.numbers["D"]),
        }
        for n, here in enumerate(trace, start=1)
    )


def strip(step: core.ShapeStep, here: core.FollowStep, of: str) -> None:
    """Flat memory around the followed number, and the sum that leads to it."""
    cells, window = cached.window(step, here)
    axes = {"row": step.axes[-1], "column": step.axes[-2], "element": "", "tensor": "", "other": ""}
    parts = tuple((code, say(msg, axis=axes[code], tensor=here.tensor)) for code, msg in text.PARTS.items())
    storage = step.storage_bytes // 4
    says = say(
        text.STRIP_SAYS,
        storage=storage,
        length=window.line_length,
        last=step.axes[-1],
        jump_last=step.stride[-1],
        other=step.axes[-2],
        jump_other=step.stride[-2],
    )
    if len(cells) < storage:
        says += " " + say(text.STRIP_CUT, shown=len(cells))
    st.markdown(f"**{say(text.STRIP, tensor=f'`{here.tensor}`')}**")
    terms = " + ".join(f"{i}×{jump}" for i, jump in zip(here.index, step.stride))
    start = here.offset - sum(i * jump for i, jump in zip(here.index, step.stride))
    st.caption(say(text.ADDRESS))
    st.code(
        say(text.ADDRESS_CODE, start=start, terms=terms, offset=here.offset, byte=here.byte_offset),
        language=None,
        wrap_lines=True,
    )
    symbols = {"scores": "scores", "scaled": "scores", "weights": "weights", "x": "x"}
    own = of if here.role == "element" else "output"
    show.chart(
        charts.memory,
        cells.assign(part_name=[dict(parts)[part] for part in cells["part"]]),
        key="shapes_memory",
        says=says,
        columns=text.STRIP_COLUMNS,
        symbol=symbols.get(step.key, own),
        parts=parts,
        lines=window.lines,
        title=say(text.STRIP_AXIS),
    )


def checks(sizes: tuple[int, int, int, int], seed: int) -> None:
    B, T, C, H = sizes
    at = (min(state.get(key), size - 1) for key, size in zip(AT, sizes))
    trace = cached.trace(*sizes, seed, *at, state.get("sh_of"))
    rows = [
        ("address", sum(not here.verified for here in trace), 0.0),
        ("chunk", max(part.largest_difference for part in cached.chunk(B, T, C, seed)), 0.0),
        ("fused", cached.fused(B, T, C, seed).largest_difference, 1e-5),
    ]
    if C % H == 0:
        found = cached.checks(*sizes, seed)
        rows = [
            ("sdpa", found.sdpa_difference, 1e-5),
            ("rows", found.row_sum_difference, 1e-5),
            ("merge", float(not found.merge_identity), 0.0),
            *rows,
        ]
    show.checks(*((say(text.CHECKS[key]), float(difference), limit) for key, difference, limit in rows))


def order(sizes: tuple[int, int, int, int], seed: int) -> None:
    """The right and the wrong split side by side, and why the mistake is hard to see."""
    B, T, C, H = sizes
    found = cached.order(*sizes, seed)
    st.subheader(say(text.ORDER), anchor=False)
    st.markdown(say(text.ORDER_LEAD, B=B, H=H, T=T, D=C // H))
    shown = {"rows": min(H, cached.ROWS_SHOWN), "cols": min(T, cached.PLACES_SHOWN)}
    labels = {
        "tokens": T, "heads": shown["rows"], "row_title": say(text.ORDER_ROWS), "col_title": say(text.ORDER_COLS),
        "columns": text.ORDER_COLUMNS,
    }
    if found.equal:
        wrong_says = say(text.WRONG_SAYS_EQUAL)
    else:
        (_, h, t, _), got, want = found.first.index, found.first.came_from, found.first.belongs
        wrong_says = say(
            text.WRONG_SAYS,
            share=found.share, count=found.count, total=found.total, h=h, t=t,
            got_t=got[0], got_c=got[1], want_t=want[0], want_c=want[1],
        )
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(f"**{say(text.RIGHT)}**")
        st.code(found.right_code, language="python", wrap_lines=True)
        show.chart(charts.origin, found.right, key="shapes_right", says=say(text.RIGHT_SAYS), **labels)
    with right:
        st.markdown(f"**{say(text.WRONG)}**")
        st.code(found.wrong_code, language="python", wrap_lines=True)
        show.chart(charts.origin, found.wrong, key="shapes_wrong", says=wrong_says, **labels)
    if shown["rows"] < H or shown["cols"] < T:
        st.caption(say(text.ORDER_CUT, H=H, T=T, **shown))
    with left:
        merge = cached.merge_error(*sizes, seed)
        st.markdown(say(text.MERGE if merge.message else text.MERGE_PASSES, code=f"`{merge.code}`"))
        if merge.message:
            st.code(f"RuntimeError: {merge.message}", language=None, wrap_lines=True)
    with right:
        bare = text.BARE_VIEW if found.view_error else text.BARE_VIEW_PASSES
        st.markdown(say(bare, code=f"`{found.bare_code}`"))
        if found.view_error:
            st.code(f"RuntimeError: {found.view_error}", language=None, wrap_lines=True)
    if found.cancels:
        st.markdown(say(text.CANCEL, share=found.merge_share))


def one_projection(B: int, T: int, C: int, seed: int) -> None:
    """chunk beside slicing, and one projection beside three."""
    left, right = st.columns(2, gap="large")
    with left:
        parts = cached.chunk(B, T, C, seed)
        st.subheader(say(text.CHUNK), anchor=False)
        largest = max(part.largest_difference for part in parts)
        st.markdown(say(text.CHUNK_LEAD, code=f"`{parts[0].chunk_code}`", difference=largest))
        rows = [
            {
                "slice_code": part.slice_code,
                "storage_offset": part.storage_offset,
                "stride": str(part.stride),
                "largest_difference": part.largest_difference,
                "shared": say(text.YES if part.shares_memory else text.NO),
            }
            for part in parts
        ]
        show.table(pd.DataFrame(rows), text.CHUNK_COLUMNS, key="shapes_chunk")
    with right:
        found = cached.fused(B, T, C, seed)
        q, k, v = found.separate_parameters
        st.subheader(say(text.FUSED), anchor=False)
        st.markdown(
            say(
                text.FUSED_LEAD,
                C=C, three_C=3 * C, fused=found.fused_parameters, q=q, k=k, v=v, separate=q + k + v,
                difference=found.largest_difference,
            )
        )
        rows = [
            {"layer": f"{name} = Linear({C}, {C})", "parameters": count, "difference": difference}
            for name, count, difference in (
                ("q", q, found.difference_q),
                ("k", k, found.difference_k),
                ("v", v, found.difference_v),
            )
        ]
        show.table(pd.DataFrame(rows), text.FUSED_COLUMNS, key="shapes_fused")


def audit(sizes: tuple[int, int, int, int], seed: int) -> None:
    rows = cached.audit(*sizes, seed)
    count = {row.symbol: row.parameters for row in rows}
    st.subheader(say(text.AUDIT), anchor=False)
    st.markdown(say(text.AUDIT_LEAD, total=sum(count.values()), qkv=count["W_qkv"], out=count["W_o"]))
    lines = [f"| {say(text.AUDIT_HEAD)} |", "|---|---|---|---|---:|"]
    for row in rows:
        learned = show.num(row.parameters, ",d") if row.parameters else ""
        lines.append(
            f"| {symbol(row.symbol)} | {space(row.space)} | {space(row.space_numbers)} | {say(text.PURPOSES[row.purpose])} "
            f"| {learned} |"
        )
    st.markdown("\n".join(lines))
    frame = pd.DataFrame({**vars(row), "purpose": say(text.PURPOSES[row.purpose])} for row in rows)
    show.behind(frame, text.AUDIT_COLUMNS, key="shapes_audit")


def symbol(name: str) -> str:
    colour = {"Q": "q", "K": "k", "V": "v", "scores": "scores", "weights": "weights"}.get(name, "")
    tex = {"W_qkv": "$W_{qkv}$", "W_o": "$W_o$"}.get(name, name)
    return show.coloured(colour, tex)


def space(text_: str) -> str:
    return "$" + text_.replace("R^", r"\mathbb{R}^").replace("×", r"\times ") + "$"


def program(sizes: tuple[int, int, int, int], seed: int) -> None:
    source = core.script(*sizes, seed)
    with st.expander(say(text.PROGRAM), icon=":material/terminal:"):
        st.caption(say(text.PROGRAM_LEAD))
        st.code(source, language="python")
        st.download_button(
            say(text.PROGRAM_SAVE), source, file_name="qkv_shapes.py", mime="text/x-python", key="shapes_program",
            icon=":material/download:", on_click="ignore",
        )


sizes = B, T, C, H = tuple(state.get(name) for name in NAMES)
seed = state.get("seed")
verdict = cached.verdict(*sizes)

lead = text.LEAD_BAD if verdict == "heads" else text.LEAD_ONE_HEAD if H == 1 else text.LEAD
st.markdown(say(lead, B=B, T=T, C=C, H=H, D=C // H))
sizes_row(C, H)

if verdict == "large":
    too_large(sizes)
else:
    if verdict == "heads":
        head_error(*sizes, prefix="legal")
    walk(sizes, seed)
    checks(sizes, seed)
    if verdict == "fine":
        order(sizes, seed)
    one_projection(B, T, C, seed)
    if verdict == "fine":
        st.subheader(say(text.BAD), anchor=False)
        bad = cached.nearest_illegal(C, H)
        st.markdown(say(text.BAD_LEAD, H=bad, C=C))
        head_error(B, T, C, bad, prefix="other")
        st.button(say(text.TRY_BAD, H=bad), key="bad_h", on_click=state.put, kwargs={"H": bad})
        asked = cached.what_if(*sizes, seed)
        show.predict(
            say(text.ASK, name=asked.name, now=asked.now, then=asked.then),
            [say(answer) for answer in text.ANSWERS],
            asked.answer,
            say(text.BECAUSE, p_now=asked.p_now, p_then=asked.p_then, s_now=asked.s_now, s_then=asked.s_then),
            key="shapes",
        )
        audit(sizes, seed)
show.try_this("shapes", text.TRY)
if verdict == "fine":
    program(sizes, seed)
show.code(core.shape_walkthrough, core.follow, core.wrong_view, core.head_error)
