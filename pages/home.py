"""The first page: the formula whose symbols explain themselves, the example in small, the map, and the class."""

import streamlit as st

from qkv_core.presets import IN_CLASS
from qkv_core.text import frame, home as words
from qkv_core.ui import controls, lessons, show, state
from qkv_core.ui.controls import say

shared, symbol = state.shared(), state.get("home_symbol")
row = list(words.TOKENS).index(state.get("home_token"))
now = {"tau": shared.tau, "mask": shared.mask, "scale": shared.scale}

st.markdown(say(words.LEAD))
left, right = st.columns((1, 1), gap="large")
with left:
    st.subheader(say(words.FORMULA), anchor=False)
    st.latex(words.formula(show.look().palette, shared.scale, shared.mask != "none", symbol))
    controls.segments("home_symbol", words.SYMBOL, {**words.SYMBOLS, "scale": words.DIVISORS[shared.scale]})

# torch arrives only now: the words and the formula are on the screen already
from qkv_core.charts import home as charts  # noqa: E402
from qkv_core.ui.cached import home as cached  # noqa: E402

example = cached.example(**now)
cells = cached.cells(**now, lang=shared.lang)
with left:
    st.markdown(words.explain(symbol, example, row, **now, lang=shared.lang))
    frame_, limit = cached.matrix(symbol, row, **now, lang=shared.lang)
    told = example.tokens[cached.told_row(symbol, row, example)]
    matrix_says = say(words.MATRIX_SAYS, name=say(words.NAMES[symbol]), token=told)
    st.markdown(matrix_says)
    show.chart(
        charts.matrix,
        frame_,
        key="home_matrix",
        says=matrix_says,
        beside=True,
        columns=words.MATRIX_TABLE,
        data=frame_[list(words.MATRIX_TABLE)],
        width="content",
        symbol=words.COLOUR.get(symbol, symbol),
        row_labels=example.tokens,
        col_labels=cached.column_labels(symbol, example),
        limit=limit,
    )
with right:
    st.subheader(say(words.EXAMPLE), anchor=False)
    controls.segments("home_token", words.TOKEN, words.TOKENS)
    reads = words.reads(example, row, shared.lang)
    st.markdown(reads)
    show.chart(
        charts.reading,
        cells[cells["row"] == row],
        key="home_reading",
        says=reads,
        beside=True,
        columns=words.TABLE,
        data=cells[list(words.TABLE)],
        tokens=example.tokens,
        score=say(words.SCORE),
        scaled=say(words.SCALED[shared.scale]),
        weight=say(words.WEIGHT),
        key_title=say(words.KEY),
        hidden=say(words.HIDDEN),
    )
    one, two = st.columns(2)
    with one:
        controls.shared("tau")
    with two:
        controls.shared("mask")
    show.checks(
        (say(words.CHECK_KERNEL), example.kernel, 1e-5),
        (say(words.CHECK_ROWS), example.row_sum, 1e-6),
        (say(words.CHECK_CELLS), example.cells, 1e-5),
    )

left, right = st.columns((1, 1), gap="large")
with left:
    show.predict(*words.question(example, row, shared.lang), key="home")
with right:
    show.try_this("home", words.TRY)

st.subheader(say(words.MAP), anchor=False)
following = [name for name in lessons.ORDER if name != "home"]
for start in range(0, len(following), 4):
    for n, (place, name) in enumerate(zip(st.columns(4), following[start : start + 4], strict=False), start + 1):
        with place.container(border=True, height="stretch"):
            st.caption(say(words.STEP, n=n))
            st.markdown(f"**{say(lessons.texts(name).QUESTION)}**")
            state.page_link(name, say(frame.MENU[name]), icon=lessons.ICONS[name])

st.subheader(say(words.CLASS), anchor=False)
st.caption(say(words.CLASS_LEAD))
places = st.columns(3) + st.columns(3)
for place, idea in zip(places, IN_CLASS, strict=True):
    with place.container(border=True, height="stretch"):
        st.markdown(words.ask(idea, shared.lang))
        for link in idea.links:
            state.page_link(
                idea.page,
                words.link(idea.page, link.values, shared.lang),
                icon=lessons.ICONS[idea.page],
                **link.complete(idea.page),
            )

left, right = st.columns((1, 1), gap="large")
with left:
    st.subheader(say(words.TRUST), anchor=False)
    st.markdown(say(words.TRUST_TEXT))
    show.code(*cached.CODE)
    show.matrices(lambda: example)
with right:
    st.subheader(say(words.MACHINE), anchor=False)
    show.table(cached.devices(shared.lang), words.DEVICE_COLUMNS, key="home_devices")
    st.caption(words.versions())
