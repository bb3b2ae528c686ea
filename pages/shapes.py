"""Anatomy of a tensor: where each axis goes, step by step."""

import streamlit as st

from qkv_core import settings
from qkv_core import shapes as core
from qkv_core.charts import shapes as charts
from qkv_core.text import frame
from qkv_core.text import shapes as text
from qkv_core.ui import controls, show, state
from qkv_core.ui.cached import shapes as cached
from qkv_core.ui.controls import say

SIZES = ("B", "T", "C", "H")
AT = ("sh_b", "sh_t", "sh_c")
BOX = 164  # pixels of a box: two stand side by side on a phone


def size_boxes() -> None:
    with st.container(horizontal=True, gap="small"):
        for name in SIZES:
            with st.container(width=BOX):
                controls.whole(name, text.SIZES[name], help=say(text.SIZES_HELP[name]))
        st.metric(say(text.HEAD_SIZE), show.num(C / H, ".4g"), width="content")


def ways_out(prefix: str, name_values: list[tuple[str, int]]) -> None:
    with st.container(horizontal=True, gap="small"):
        for name, value in name_values:
            label = say(text.SET, name=name, value=value)
            st.button(label, key=f"{prefix}_{label}", on_click=state.put, kwargs={name: value})


def too_large() -> None:
    offered = core.fitting(*sizes)
    msg = text.TOO_LARGE if offered else text.TOO_LARGE_ALL
    needed, limit = core.total_bytes(*sizes) / 2**20, core.MAX_BYTES / 2**20
    st.warning(say(msg, needed=needed, limit=limit), icon=":material/memory:")
    ways_out("fit", list(offered.items()))
    if not offered:
        small = {name: settings.everything()[name].default for name in SIZES}
        st.button(say(text.SMALL), key="fit_small", on_click=state.put, kwargs=small)


def head_error(heads: int, prefix: str) -> None:
    error = cached.head_error(B, T, C, heads)
    st.code(f">>> {error.code}\nRuntimeError: {error.message}", language=None, wrap_lines=True)
    used = {"quotient": error.quotient, "remainder": error.remainder, "numel": error.numel, "used": error.numel_used}
    st.markdown(say(text.BAD_REASON, C=C, H=heads, **used))
    near, total = cached.legal_near(C, heads)
    st.caption(say(text.LEGAL if len(near) == total else text.LEGAL_NEAR, C=C, n=len(near), total=total))
    ways_out(prefix, [("H", legal) for legal in near])


def pick() -> None:
    picked = st.session_state["shapes_path"].selection.get("pick") or []
    if picked and "row" in picked[0]:
        state.put(sh_step=int(picked[0]["row"]) + 1)


# Path, chosen step and followed number redraw together, without the rest of the page.
@state.fragment
def walk(sizes: tuple[int, int, int, int], seed: int) -> None:
    found = cached.walk(*sizes, seed)
    asked = tuple(state.get(key) for key in AT)
    at = cached.clamp(sizes, asked)
    if at != asked:
        state.put(**dict(zip(AT, at)))
    of, chosen = state.get("sh_of"), state.get("sh_step") - 1
    name = f"{of}[{', '.join(map(str, at))}]"
    followed = cached.trace(*sizes, seed, *at, of)
    left, right = st.columns((6, 7), gap="large")
    with left:
        path(found, chosen, sizes)
    with right:
        controls.steps("sh_step", text.STEP, help=say(text.STEP_HELP))
        title = text.STEP_NAMES[core.STEP_KEYS[chosen]]
        st.subheader(say(text.STEP_TITLE, n=chosen + 1, name=say(title)), anchor=False)
        if chosen < len(found.steps):
            card(found, followed, chosen, name)
        else:
            not_reached(chosen, sizes)
    st.subheader(say(text.FOLLOW), anchor=False)
    with st.container(horizontal=True, gap="small"):
        with st.container(width=BOX):
            controls.segments("sh_of", text.OF, text.OF_NAMES)
        for key in AT:
            with st.container(width=BOX):
                controls.whole(key, text.AT[key], help=say(text.AT_HELP[key]))
    if at != asked:
        st.caption(say(text.CLAMPED, name=f"`{name}`"))
    lead = text.FOLLOW_LEAD if len(found.steps) == len(found.names) else text.FOLLOW_LEAD_BAD
    st.markdown(say(lead, name=f"`{name}`", **cached.place_in_head(found, *at)))
    left, right = st.columns((6, 7), gap="large")
    with left:
        here = min(chosen, len(found.steps) - 1)
        memory(found.steps[here], followed[here], of)
    with right:
        table = cached.trace_table(found, followed, state.get("lang"))
        show.table(table, text.FOLLOW_COLUMNS, key="shapes_trace", height="content")
    rows = cached.check_rows(*sizes, seed, followed)
    show.checks(*((say(text.CHECKS[key]), difference, limit) for key, difference, limit in rows))


def path(found: cached.Walk, chosen: int, sizes: tuple[int, int, int, int]) -> None:
    counts = {"n": len(found.steps), "free": found.free, "computed": found.computed, "copied": found.copied}
    complete = len(found.steps) == len(found.names)
    if complete:
        says = show.sentences(say(text.PATH_SAYS if found.copied else text.PATH_SAYS_FREE, **counts), say(text.PATH_LEGEND))
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
        data=cached.path_table(found, state.get("lang")),
        names=found.names,
        places_title=say(text.PLACES),
        memory_title=say(text.MEMORY),
    )


def card(found: cached.Walk, followed: tuple[core.FollowStep, ...], chosen: int, name: str) -> None:
    step, before = found.steps[chosen], found.steps[chosen - 1] if chosen else None
    st.markdown(say(text.NOTES[step.note_key], **found.numbers))
    st.code(step.code, language="python", wrap_lines=True)
    head, rows = text.properties(step, before, state.get("lang"))
    show.small_table(head, rows)
    st.markdown(say(text.PARAMETERS if step.parameters else text.NO_PARAMETERS, n=step.parameters))
    st.markdown(text.where(followed[chosen], name, state.get("lang")))


def not_reached(chosen: int, sizes: tuple[int, int, int, int]) -> None:
    st.warning(say(text.NOT_REACHED), icon=":material/block:")
    if core.STEP_KEYS[chosen] == "split":
        error = cached.head_error(*sizes)
        st.markdown(say(text.WRITTEN_OUT, D=error.quotient))
        st.code(f">>> {error.floor_code}\nRuntimeError: {error.floor_message}", language=None, wrap_lines=True)


def memory(step: core.ShapeStep, here: core.FollowStep, of: str) -> None:
    cells, window = cached.window(step, here)
    parts = text.parts(step, here, state.get("lang"))
    storage = step.storage_bytes // 4
    jumps = {"last": text.last_axis(step), "jump_last": step.stride[-1], "other": step.axes[-2], "jump_other": step.stride[-2]}
    says = say(text.STRIP_SAYS, storage=storage, length=window.line_length, **jumps)
    cut = say(text.STRIP_CUT, shown=len(cells)) if len(cells) < storage else ""
    st.markdown(f"**{say(text.STRIP, tensor=f'`{here.tensor}`')}**")
    st.caption(say(text.ADDRESS))
    st.code(text.address(here, step.stride, window.start, state.get("lang")), language=None, wrap_lines=True)
    show.chart(
        charts.memory,
        cells.assign(part_name=cells["part"].map(dict(parts))),
        key="shapes_memory",
        says=show.sentences(says, cut),
        columns=text.STRIP_COLUMNS,
        symbol=cached.symbol(step, here, of),
        parts=parts,
        lines=window.lines,
        title=say(text.STRIP_AXIS),
    )


def order() -> None:
    found = cached.order(*sizes, seed)
    st.subheader(say(text.ORDER), anchor=False)
    st.markdown(say(text.ORDER_LEAD, B=B, H=H, T=T, D=C // H))
    rows, cols = min(H, cached.ROWS_SHOWN), min(T, cached.PLACES_SHOWN)
    look = {"tokens": T, "heads": rows, "row_title": say(text.ORDER_ROWS), "col_title": say(text.ORDER_COLS)}
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(f"**{say(text.RIGHT)}**")
        st.code(found.right_code, language="python", wrap_lines=True)
        says = say(text.RIGHT_SAYS)
        show.chart(charts.origin, found.right, key="shapes_right", says=says, columns=text.ORDER_COLUMNS, **look)
    with right:
        st.markdown(f"**{say(text.WRONG)}**")
        st.code(found.wrong_code, language="python", wrap_lines=True)
        says = text.wrong_says(found, state.get("lang"))
        show.chart(charts.origin, found.wrong, key="shapes_wrong", says=says, columns=text.ORDER_COLUMNS, **look)
    if (rows, cols) != (H, T):
        st.caption(say(text.ORDER_CUT, rows=rows, cols=cols, H=H, T=T))
    left, right = st.columns(2, gap="large")
    with left:
        merge = cached.merge_error(*sizes, seed)
        st.markdown(say(text.MERGE if merge.message else text.MERGE_PASSES, code=f"`{merge.code}`"))
        if merge.message:
            st.code(f"RuntimeError: {merge.message}", language=None, wrap_lines=True)
    with right:
        st.markdown(say(text.BARE_VIEW if found.view_error else text.BARE_VIEW_PASSES, code=f"`{found.bare_code}`"))
        if found.view_error:
            st.code(f"RuntimeError: {found.view_error}", language=None, wrap_lines=True)
    if found.cancels:
        st.markdown(say(text.CANCEL, share=found.merge_share))


def one_projection() -> None:
    left, right = st.columns(2, gap="large")
    with left:
        parts = cached.chunk(B, T, C, seed)
        largest = max(part.largest_difference for part in parts)
        st.subheader(say(text.CHUNK), anchor=False)
        st.markdown(say(text.CHUNK_LEAD, code=f"`{parts[0].chunk_code}`", difference=largest))
        show.table(cached.chunk_table(parts, state.get("lang")), text.CHUNK_COLUMNS, key="shapes_chunk")
    with right:
        found = cached.fused(B, T, C, seed)
        counts = dict(zip("qkv", found.separate_parameters)) | {"fused": found.fused_parameters}
        separate, difference = sum(found.separate_parameters), found.largest_difference
        st.subheader(say(text.FUSED), anchor=False)
        st.markdown(say(text.FUSED_LEAD, C=C, three_C=3 * C, separate=separate, difference=difference, **counts))
        show.table(cached.fused_table(found), text.FUSED_COLUMNS, key="shapes_fused")


def bad_heads() -> None:
    bad = cached.nearest_illegal(C, H)
    st.subheader(say(text.BAD), anchor=False)
    st.markdown(say(text.BAD_LEAD, H=bad, C=C))
    head_error(bad, "other")
    st.button(say(text.TRY_BAD, H=bad), key="bad_h", on_click=state.put, kwargs={"H": bad})


def predict() -> None:
    asked = cached.what_if(*sizes, seed)
    question = say(text.ASK, name=asked.name, now=asked.now, then=asked.then)
    because = say(text.BECAUSE, p_now=asked.p_now, p_then=asked.p_then, s_now=asked.s_now, s_then=asked.s_then)
    show.predict(question, [say(answer) for answer in text.ANSWERS], asked.answer, because, key="shapes")


def audit() -> None:
    rows = cached.audit(*sizes, seed)
    count = {row.symbol: row.parameters for row in rows}
    st.subheader(say(text.AUDIT), anchor=False)
    st.markdown(say(text.AUDIT_LEAD, total=sum(count.values()), qkv=count["W_qkv"], out=count["W_o"]))
    head, lines = text.audit(rows, state.get("lang"))
    show.small_table(head, lines, numbers=(4, 5, 6))
    st.download_button(
        say(frame.DOWNLOAD),
        cached.audit_file(rows, state.get("lang")),
        file_name="qkv_shapes_audit.csv",
        mime="text/csv",
        key="shapes_audit_csv",
        icon=":material/download:",
        on_click="ignore",
    )


sizes = B, T, C, H = tuple(state.get(name) for name in SIZES)
seed = state.get("seed")
verdict = cached.verdict(*sizes)

if verdict == "large":
    size_boxes()
    too_large()
    show.try_this("shapes", text.TRY)
elif verdict == "heads":
    st.markdown(say(text.LEAD_BAD, C=C, H=H))
    size_boxes()
    head_error(H, "legal")
    walk(sizes, seed)
    one_projection()
    show.try_this("shapes", text.TRY)
    show.code(core.head_error, core.shape_walkthrough)
else:
    st.markdown(say(text.LEAD if H > 1 else text.LEAD_ONE_HEAD, B=B, T=T, C=C, H=H, D=C // H))
    size_boxes()
    walk(sizes, seed)
    order()
    one_projection()
    bad_heads()
    predict()
    audit()
    show.try_this("shapes", text.TRY)
    show.matrices(lambda: core.walkthrough_tensors(*sizes, seed))
    show.code(core.shape_walkthrough, core.follow, core.wrong_view, core.head_error)
