"""The functional triad: every number from X to the output, one weight term by term, and the same in a batch."""

import streamlit as st

from qkv_core import settings
from qkv_core.text import triad as words
from qkv_core.ui import controls, grid, own, show, state
from qkv_core.ui.controls import say

shared = state.shared()
lang = shared.lang
asked = state.get("t_in")
brought = own.held() if asked == "own" else None
mine = brought if brought and brought.square else None
cat = asked == "cat" or asked == "own" and mine is None

st.markdown(say(words.LEAD))
with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
    with st.container(width=400):
        controls.segments("t_in", words.INPUT, words.INPUTS)
    with st.container(width=220):
        controls.shared("mask")
    with st.container(width=260):
        controls.shared("tau")
    if shared.mask in words.MASK_SIZE:
        with st.container(width=260):
            controls.steps("t_n", words.MASK_SIZE[shared.mask])
    if asked == "random":
        for key, label in (("t_len", words.LENGTH), ("t_c", words.WIDTH), ("t_dv", words.D_V)):
            with st.container(width=220):
                controls.steps(key, label)
        with st.container(width=260):
            controls.shared("d_k")
    about = st.container(width=440) if asked == "cat" else None
if asked == "own":
    own.box()
    if brought is None:
        st.markdown(say(words.OWN_WAITING))
    elif mine is None:
        st.markdown(say(words.OWN_UNEQUAL, T_q=brought.q.shape[-2], T_k=brought.k.shape[-2]))
    else:
        with st.container(horizontal=True, gap="medium"):
            b, h = own.choose(brought.q.shape[:2], "t_ob", "t_oh")
            first = own.window(brought.q.shape[-2], settings.LONGEST, "t_ot")
about = about or st.container()

# torch arrives only now: the words and the controls are on the screen already
from qkv_core.charts import base, triad as charts  # noqa: E402
from qkv_core.ui.cached import triad as cached  # noqa: E402

if cat:
    given = ("cat", *(state.get(key) for key in words.GRIDS))
elif not mine:
    given = ("random", state.get("t_len"), state.get("t_c"), shared.d_k, state.get("t_dv"), shared.seed)
T = 3 if cat else min(mine.q.shape[-2], settings.LONGEST) if mine else state.get("t_len")
beyond = {key: min(state.get(key), last) for key, last in (("t_row", T - 1), ("t_col", T - 1), ("t_n", T))}
if any(state.get(key) != value for key, value in beyond.items()):
    state.settle(**beyond)
how = (shared.tau, shared.mask, state.get("t_n"), shared.scale)
run = cached.own_lesson(mine, b, h, first, settings.LONGEST, *how) if mine else cached.lesson(given, *how)
tokens = run.given.tokens
matrices = (cached.OWN_GIVEN if mine else cached.GIVEN) + cached.STEPS
show.matrices(lambda: {name: run.matrix(name) for name in matrices})
own.on_screen(mine)

if mine:
    B, H, all_tokens, _ = mine.q.shape
    sizes = {"T": run.T, "d_k": run.d_k, "d_v": run.trace.v.shape[1], "b": b + 1, "B": B, "h": h + 1, "H": H}
    origin = say(words.OWN_SHOWN, **sizes)
    if all_tokens > run.T:
        part = say(words.OWN_PART, most=settings.LONGEST, first=first + 1, last=first + run.T, all=all_tokens)
        origin = show.sentences(origin, part)
    if max(run.d_k, run.trace.v.shape[1]) > cached.DRAWN:
        origin = show.sentences(origin, say(words.OWN_COLUMNS, drawn=cached.FIRST))
elif cat:
    sizes = {"T": run.T, "C": run.given.X.shape[1], "d_k": run.d_k, "d_v": run.trace.v.shape[1]}
    origin = say(words.OWN_SIZES, shared=shared.d_k, **sizes)
    edited = [f"${words.GRIDS[name]}$" for name in grid.changed(words.GRIDS)]
    if edited:
        origin = show.sentences(say(words.EDITED, names=", ".join(edited)), origin)
else:
    origin = say(words.DRAWN_SIZES, seed=str(shared.seed))
    if run.d_k > cached.DRAWN:
        origin = show.sentences(origin, say(words.FIRST_COLUMNS, d_k=run.d_k, drawn=cached.FIRST))
about.caption(show.sentences(origin, say(words.PRECISION)))


def row_of_panels(names, i, j):
    hidden = cached.hidden(run, lang)
    with st.container(horizontal=True, gap="small"):
        at = (i, j, names, lang)
        for name, panel in (cached.panels_of(run, *at) if mine else cached.panels(given, *how, *at)).items():
            with st.container(width=panel.width, gap="xxsmall"):
                captions = words.CAPTIONS | words.OWN_CAPTIONS if mine else words.CAPTIONS
                caption = say(captions[name], divisor=run.divisor, tau=run.tau, hidden=hidden)
                st.markdown(f"{caption} {say(words.SHAPE, rows=panel.shape[0], cols=panel.shape[1])}")
                show.chart(
                    base.matrix,
                    panel.frame,
                    key=f"t_panel_{name}",
                    says=cached.panel_says(run, name, lang),
                    caption=False,
                    height=panel.height,
                    on_select=show.picks(f"t_panel_{name}", "t_row", "t_col") if panel.labels["pick"] else "ignore",
                    **panel.labels,
                )


def editors():
    st.caption(say(words.EDIT_LEAD, limit=settings.everything()["t_x"].limit))
    labels = {name: tokens if name == "t_x" else tuple("1234") for name in words.GRIDS}
    with st.container(horizontal=True):
        for name, title in words.GRID_TITLES.items():
            with st.container(width=330, gap="xxsmall"):
                grid.edit(name, title, labels[name])
    grid.refused(words.GRIDS, labels)
    grid.undo_and_original(tuple(words.GRIDS))


if not mine:
    label, icon = (words.EDIT, ":material/edit:") if cat else (words.W_DRAWN, ":material/grid_on:")
    box = st.expander(say(label), icon=icon, key="t_box", on_change="rerun")
    if box.open:
        with box:
            editors() if cat else row_of_panels(cached.W, 0, 0)


@state.fragment
def one_cell():
    i, j = state.get("t_row"), state.get("t_col")
    q, k = tokens[i], tokens[j]
    row_of_panels(tuple(name for name in matrices if name in cached.GIVEN and (cat or name not in cached.W)), i, j)

    choices = {"texts": dict(enumerate(tokens)), "options": tuple(range(T)), "help": say(words.PICK_HELP)}
    with st.container(horizontal=True, vertical_alignment="center", gap="large"):
        with st.container(width="content"):
            controls.segments("t_row", words.PICK_QUERY, **choices)
        with st.container(width="content"):
            controls.segments("t_col", words.PICK_KEY, **choices)
        reads = words.reads(tokens, run.trace.weights[i].tolist(), run.visible(i), i, lang)
        st.subheader(reads, anchor=False, width="content")
    row_of_panels(cached.STEPS, i, j)
    if run.proof.empty.any():
        st.markdown(say(words.EMPTY_ROWS, n=int(run.proof.empty.sum()), T=T))
    show.checks(
        (say(words.CHECK_KERNEL), run.kernel, run.reach),
        (say(words.CHECK_SUMS), run.sums, 1e-9),
        (say(words.CHECK_HULL), run.outside, run.reach),
        (say(words.CHECK_CELLS), run.cells, run.tolerance),
    )
    show.behind(cached.long_table(run, matrices, lang), words.ENTRY_COLUMNS, key="t_entries")

    cells = cached.row_arithmetic(run, i)
    st.subheader(say(words.CELL, q=q, k=k), anchor=False)
    left, right = st.columns(2, gap="large")
    with left:
        strip = cached.strip_of_terms(run, i, j, lang)
        with st.container(width=strip.width):
            show.chart(
                charts.strips,
                strip.frame,
                key="t_terms",
                says=cached.terms_say(run, i, j, lang),
                columns=words.TERM_COLUMNS,
                data=cached.terms(run, i, j),
                height=strip.height,
                col_title=say(words.CHANNEL),
                **strip.labels,
            )
    with right:
        show.small_table(*words.chain(cells[j], q, k, run.d_k, shared.scale, run.divisor, run.tau, lang), numbers=(2,))
        st.caption(say(words.SHIFT_WHY))
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(f"**{say(words.ROW, q=q)}**")
        show.small_table(*words.whole_row(cells, j, tokens, lang), numbers=(1, 2, 3, 4))
    with right:
        show.predict(*cached.prediction(run, i, j, lang), key="triad")

    st.subheader(say(words.OUTPUT if run.visible(i) else words.OUTPUT_ZERO, q=q), anchor=False)
    left, right = st.columns(2, gap="large")
    with left:
        strip = cached.strip_of_output(run, i, lang)
        with st.container(width=strip.width):
            show.chart(
                charts.strips,
                strip.frame,
                key="t_pieces",
                says=cached.output_says(run, i, lang),
                columns=words.HULL_COLUMNS,
                data=cached.pieces(run, i),
                height=strip.height,
                col_title=say(words.HULL_Y),
                **strip.labels,
            )
    with right:
        if run.visible(i):
            show.chart(
                charts.hull,
                cached.hull(run, i, lang),
                key="t_hull",
                says=cached.hull_says(run, i, lang),
                channels=cached.columns_drawn(run),
                x_title=say(words.HULL_X),
                y_title=say(words.HULL_Y),
                token_title=say(words.TOKEN),
                weight_title=say(words.WEIGHT),
                labels=T <= 4,
            )


one_cell()

st.subheader(say(words.ROLES), anchor=False)
st.markdown(say(words.ROLES_LEAD))
controls.segments("t_how", words.HOW, words.HOWS)
change = (state.get("t_how"), shared.seed)
moved = cached.moves_of(run, *change) if mine else cached.moves(given, *how, *change)
show.small_table(*words.roles(moved, lang), numbers=(1, 2, 3))
st.markdown(words.roles_say(moved, lang))
show.checks((say(words.CHECK_VALUES), max(moved[2].raw, moved[2].weights), 0.0))

st.subheader(say(words.AUDIT), anchor=False)
show.small_table(*words.audit({name: tuple(run.matrix(name).shape) for name, *_ in words.AUDIT_ROWS if name in matrices}, lang))

show.try_this("triad", words.TRY)
show.code(*cached.CODE)

st.subheader(say(words.BATCH), anchor=False)
with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
    for name, label in (("t_b", words.BATCH_B), ("t_bt", words.BATCH_T), ("t_bdv", words.BATCH_D_V)):
        with st.container(width=240):
            controls.steps(name, label)
    for name in ("heads", "d_k"):
        with st.container(width=240):
            controls.shared(name, place="batch")
    st.button(
        say(words.BATCH_NOTEBOOK),
        key="t_notebook",
        on_click=state.put,
        kwargs={"t_b": 2, "heads": 8, "t_bt": 16, "d_k": 64, "t_bdv": 64},
    )
shapes, divisor, tolerance = cached.batch(
    state.get("t_b"), shared.heads, state.get("t_bt"), shared.d_k, state.get("t_bdv"), shared.seed,
    shared.tau, shared.mask, state.get("t_n"), shared.scale,
)  # fmt: skip
st.markdown(say(words.BATCH_LEAD, seed=str(shared.seed), divisor=divisor))
show.small_table(*cached.batch_table(shapes, lang), numbers=(3, 4))
st.markdown(words.batch_says(shapes, lang))
show.checks(
    (say(words.CHECK_KERNEL), shapes.difference, tolerance),
    (say(words.CHECK_SUMS), cached.worst_sum(shapes), 1e-5),
)
