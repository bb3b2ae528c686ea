"""Complexity: what a layer costs, by Table 1, counted by PyTorch, and timed on this machine."""

import streamlit as st

from qkv_core import complexity as core
from qkv_core.charts import complexity as charts
from qkv_core.text import complexity as words
from qkv_core.ui import controls, queue, show, state, timing
from qkv_core.ui.cached import complexity as cached
from qkv_core.ui.controls import say

shared = state.shared()
lang, seed, d, heads, d_k = shared.lang, shared.seed, shared.d_model, shared.heads, shared.d_k
n, k, r = (state.get(key) for key in ("x_n", "x_k", "x_r"))
asked, stopped = timing.begin()

table, cross = cached.table(n, d, k, r), core.crossover(n, d)
names = tuple((code, say(msg)) for code, msg in words.LAYERS.items() if code in core.LAYERS)


def sizes() -> None:
    st.markdown(words.lead(cross, lang))
    drawn = (controls.steps, "x_n", words.TOKENS, words.TOKENS_HELP), (controls.steps, "x_k", words.KERNEL, words.KERNEL_HELP), (controls.steps, "x_r", words.REACH, words.REACH_HELP)
    places = st.columns(5, gap="medium")
    for place, (draw, key, label, hint) in zip((places[0], *places[3:]), drawn):
        with place:
            draw(key, label, help=say(hint))
    for place, key in zip(places[1:3], ("d_k", "heads")):
        with place:
            controls.shared(key)
    st.caption(say(words.WIDTH, heads=heads, d_k=d_k, d=d))


def table_1() -> None:
    show.small_table([say(name) for name in words.HEAD], words.rows(table, n, r, lang), numbers=(2,))
    st.caption(say(words.GARBLED))


def crossing() -> None:
    left, right = st.columns((7, 5), gap="large")
    with left:
        st.subheader(say(words.CROSSOVER), anchor=False)
        curves = tuple((code, say(msg)) for code, msg in words.CURVES.items())
        curve = cached.curve(n, d, k, r, curves, say(words.CROSS_LABEL, d=d))
        show.chart(
            charts.operations,
            curve.frame,
            key="complexity_curve",
            says=say(words.CURVE_SAYS, n=n, d=d, k=k, r=r),
            columns=words.CURVE_COLUMNS,
            data=curve.frame[curve.frame["kind"] == "line"],
            names=curves,
            end=curve.end,
            low=curve.low,
            high=curve.high,
            x_title=say(words.CURVE_X),
            y_title=say(words.CURVE_Y),
        )
    with right:
        st.subheader(say(words.IN_WORDS), anchor=False)
        st.markdown("\n".join(f"- {sentence}" for sentence in words.in_words(table, cross, k, r, lang)))
        show.checks((say(words.CHECKS["path"], n=min(n, cached.SHOWN)), cached.paths_off(n, k, r, seed), 0.0))


def paths() -> None:
    st.subheader(say(words.PATHS), anchor=False)
    told = [say(words.PATHS_LEAD, seed=str(seed), n=min(n, cached.SHOWN))]
    if n > cached.SHOWN:
        told.append(say(words.PATHS_CAPPED, n=n, shown=cached.SHOWN))
    st.markdown(show.sentences(*told))
    for place, layer in zip(st.columns(len(cached.STACKS), gap="large"), cached.STACKS):
        with place:
            stack(layer)


def stack(layer: str) -> None:
    found = cached.stack(layer, n, k, r, seed)
    st.markdown(f"**{say(words.PATH_NAME[layer], k=k, r=r)}**")
    not_reached, reached = (say(words.REACHED[value]) for value in (False, True))
    show.chart(
        charts.stack,
        found.frame,
        key=f"complexity_stack_{layer}",
        says=words.path_says(found.first, found.n, found.depth, found.path, lang),
        columns=words.PATH_COLUMNS,
        data=found.frame.assign(said=found.frame["reached"].map({True: reached, False: not_reached})),
        layer=layer,
        n=found.n,
        depth=found.depth,
        x_title=say(words.PATH_X),
        y_title=say(words.PATH_Y),
        said=(not_reached, reached),
    )


def measurement() -> None:
    """The button, what is running, and the viewer's last measurement."""
    st.subheader(say(words.TIMED), anchor=False)
    st.markdown(say(words.TIMED_LEAD, seconds=timing.LIMIT, r=core.MAX_SWEEP_R))
    kept = timing.result()
    if asked:
        st.button(say(words.CANCEL), key="complexity_cancel", on_click=timing.cancel, icon=":material/stop:")
    else:
        label = words.MEASURE_AGAIN if kept else words.MEASURE
        st.button(say(label), key="complexity_measure", on_click=timing.ask, icon=":material/timer:")
    line.append(st.empty())
    if stopped and not asked:
        line[0].info(say(words.STOPPED), icon=":material/info:")
    if kept:
        timings(kept)


def timings(kept: timing.Timing) -> None:
    st.markdown(words.verdict(kept.found, core.TOLERANCE, lang))
    for place, axis in zip(st.columns(len(core.AXES), gap="large"), core.AXES):
        low, high = kept.ends(axis)
        with place:
            st.markdown(f"**{say(words.TIMED_NAME[axis])}**")
            show.chart(
                charts.timed,
                kept.marks(axis, names),
                key=f"complexity_timed_{axis}",
                says=words.timed_says(kept.found, axis, lang),
                names=tuple((code, say(words.SHORT[code])) for code in core.LAYERS),
                low=low,
                high=high,
                x_title=say(words.TIMED_X[axis]),
                y_title=say(words.TIMED_Y),
            )
    left, right = st.columns((6, 5), gap="large")
    with left:
        head = [say(name) for name in words.EXPONENT_HEAD]
        show.small_table(head, words.exponent_rows(kept.found, core.TOLERANCE, lang), numbers=(2, 3, 5, 6))
    with right:
        st.markdown(words.overhead(kept.found, kept.points, lang))
        how = {"device": say(words.DEVICES[kept.device]), "clock": say(words.CLOCKS[kept.clock])}
        if kept.share < timing.BUSY:
            st.markdown(say(words.BUSY, share=kept.share))
        st.caption(say(words.TAKEN, when=kept.when, k=kept.k, r=kept.r, samples=kept.samples, **how))
    data = kept.points.assign(name=kept.points["layer"].map(dict(names)))
    show.behind(data[list(words.POINT_COLUMNS)], words.POINT_COLUMNS, key="complexity_timed")


def count() -> None:
    found = cached.counted(n, d, k, r, heads)
    left, right = st.columns((7, 4), gap="large")
    with left:
        head = [say(name) for name in words.COUNTED_HEAD]
        show.small_table(head, words.counted_rows(found.frame, lang), numbers=(2, 3, 4, 5))
    with right:
        st.markdown(say(words.COUNTED_LEAD, n=found.n, d=found.d))
        st.markdown(say(words.MULTI_HEAD, share=found.share, counted=found.multi_head))
        if (found.n, found.d) != (n, d):
            st.caption(say(words.COUNTED_CAPPED, n=cached.COUNTED_N, d=cached.COUNTED_D))
        show.checks((say(words.CHECKS["counted"]), found.off, 0.0))


def memory() -> None:
    st.subheader(say(words.MEMORY), anchor=False)
    found = cached.memory(n, heads, d_k, seed)
    left, right = st.columns((7, 5), gap="large")
    with right:
        st.markdown(words.memory_lead(found, lang))
        if found.T < n:
            st.caption(say(words.MEMORY_CAPPED, T=found.T))
        show.checks((say(words.CHECKS["bytes"]), found.off, 0.0), (say(words.CHECKS["fused"]), found.fused_off, 1e-5))
    with left:
        show.chart(
            charts.memory,
            found.frame,
            key="complexity_memory",
            says=words.memory_says(found, lang),
            columns=words.MEMORY_COLUMNS,
            data=found.table,
            names=tuple((code, say(msg)) for code, msg in words.ARMS.items()),
            low=cached.FIRST_T,
            high=cached.LONG,
            x_title=say(words.MEMORY_X),
            y_title=say(words.MEMORY_Y),
        )


def predict() -> None:
    q = cached.question(n, d, k, r)
    told = {"n": q.n, "longer": q.longer, "d": q.d, "ours": q.ours, "ours_then": q.ours_then, "theirs_then": q.theirs_then, "path": q.path}
    factors = {"factor": words.times(q.factor, lang), "other": words.times(q.other, lang), "grown": words.times(cached.GROWN, lang)}
    answers = [say(words.TIMES, n=factor) for factor in cached.FACTORS]
    show.predict(say(words.PREDICT, **told), answers, q.answer, say(words.BECAUSE, **told, **factors), key="complexity")


line: list = []
sizes()
table_1()
crossing()
paths()
st.subheader(say(words.COUNTED), anchor=False)
counted = st.container()
measurement()
memory()
left, right = st.columns((1, 1), gap="large")
with left:
    predict()
with right:
    show.try_this("complexity", words.TRY)
show.code(*cached.CODE)
with counted:  # last: the first count in a process takes a second
    count()
if asked:
    progress, waiting = queue.telling(line[0], lambda share: say(words.MEASURING, share=share))
    timing.run(shared.device, seed, k, r, progress, waiting)
    st.rerun()
