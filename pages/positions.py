"""Positions: what tells attention who is where. The sinusoids, their clocks and rotations, a shuffle, and RoPE."""

import streamlit as st

from qkv_core import settings
from qkv_core.text import Msg
from qkv_core.text import positions as words
from qkv_core.ui import controls, show, state
from qkv_core.ui.controls import say

shared = state.shared()
lang, seed = shared.lang, shared.seed
n, d = state.get("p_n"), state.get("p_d")
longest = min(settings.everything()["p_k"].high, n - 1)
held = {
    "p_pos": min(state.get("p_pos"), n - 1),
    "p_k": min(state.get("p_k"), longest),
    "p_pairs": tuple(sorted({min(pair, d // 2 - 1) for pair in state.get("p_pairs")})),
}
if any(state.get(key) != value for key, value in held.items()):
    state.settle(**held)
pos, k, pairs = held.values()
later = pos + k

lead = st.empty()
lead.markdown(say(words.LEAD_FIRST))
with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
    for key, label, hint, options in (
        ("p_n", words.N, words.N_HELP, None),
        ("p_d", words.D, words.D_HELP, None),
        ("p_pos", words.POS, words.POS_HELP, tuple(range(n))),
        ("p_k", words.K, words.K_HELP, tuple(range(1, longest + 1))),
    ):
        with st.container(width=330):
            controls.steps(key, label, help=say(hint), options=options)

# torch arrives only now: the words and the controls are on the screen already
from qkv_core.charts import base  # noqa: E402
from qkv_core.charts import positions as charts  # noqa: E402
from qkv_core.ui.cached import positions as cached  # noqa: E402

dark = show.look().dark
names = (say(words.HERE), say(words.THERE))
first, last = cached.ends(d)
turn = cached.turn(n, d, pos, k, seed)
shuffled = cached.shuffled(state.get("p_order"))
followed, stays = cached.asked_token(shuffled)
order = {"before": " ".join(shuffled.tokens), "after": " ".join(shuffled.after)}
TOLERANCE = cached.TOLERANCE


def difference(value: float) -> str:
    return words.difference(value, lang)


def formulas(parts: tuple[str, ...]) -> None:
    with st.container(horizontal=True, horizontal_alignment="center", vertical_alignment="center", gap="large"):
        for part in parts:
            st.latex(part, width="content")


def pattern() -> None:
    st.subheader(say(words.PATTERN), anchor=False)
    msg = words.PATTERN_SAYS if d > 2 else words.PATTERN_SAYS_TWO
    place = str(later) if later < n else f"{later} {say(words.BEYOND)}"
    show.chart(
        charts.pattern,
        cached.marks(n, d, pos, k, dark),
        key="positions_pattern",
        says=say(msg, n=n, d=d, fast=first, slow=last, pos=pos, later=place),
        columns=words.ROW_COLUMNS,
        data=cached.two_rows(d, pos, k),
        n=n,
        d=d,
        x_title=say(words.DIMENSION),
        y_title=say(words.POSITION),
        value_title=say(words.VALUE),
    )
    left, right = st.columns((3, 2), vertical_alignment="center")
    left.caption(say(words.ONE_PICTURE, cells=n * d, levels=cached.LEVELS))
    with right:
        st.download_button(
            say(words.WHOLE_CSV),
            lambda: cached.whole_csv(n, d),
            file_name=f"qkv_positions_{n}x{d}.csv",
            mime="text/csv",
            key="positions_whole",
            icon=":material/download:",
            on_click="ignore",
        )


def clocks() -> None:
    st.subheader(say(words.CLOCKS), anchor=False)
    frame = cached.clocks(d, pos, k, lang)
    drawn = cached.clock_pairs(d)
    msg = words.CLOCKS_SAYS if d > 2 else words.CLOCKS_ONE
    show.chart(
        charts.clocks,
        frame,
        key="positions_clocks",
        says=say(msg, pos=pos, fast=pos / first, slow=pos / last, shown=len(drawn), m=d // 2),
        columns=words.CLOCK_COLUMNS,
        data=frame.assign(place=frame["hand"].map({"here": pos, "there": later})),
        count=len(drawn),
        names=names,
        degrees_title=say(words.DEGREES),
        pair_title=say(words.PAIR),
    )
    show.checks((say(words.CHECKS["formula"]), cached.by_hand(d, pos), TOLERANCE))


def waves() -> None:
    left, right = st.columns((2, 1), gap="large", vertical_alignment="bottom")
    left.subheader(say(words.WAVES), anchor=False)
    with right:
        controls.numbers("p_pairs", words.PAIRS, help=say(words.PAIRS_HELP))
    shown = {"pair": pairs[-1], "wavelength": cached.wavelength(d, pairs[-1], lang), "turns": cached.turns(n, d, pairs[-1])}
    msg = words.WAVES_SAYS if d > 2 else words.WAVES_SAYS_ONE
    table = cached.wave_table(n, d, pairs)
    titles = {name: (Msg(en=name, es=name), ".6f") for name in table.columns[1:]}
    show.chart(
        charts.waves,
        cached.waves(n, d, pairs, pos, k, lang, getattr(words.WAVE_NAME, lang)),
        key="positions_waves",
        says=say(msg, first=first, last=last, m=d // 2 - 1, n=n, **shown),
        columns={"pos": (words.POSITION, ",d"), **titles},
        data=table,
        rows=len(pairs),
        n=n,
        x_title=say(words.POSITION),
        names=names,
    )
    formulas(words.WAVE_FORMULAS)


def rotation() -> None:
    st.subheader(say(words.ROTATION), anchor=False)
    formulas(words.ROTATION_FORMULAS)
    left, right = st.columns((1, 1), gap="large")
    with left:
        size = len(turn.block)
        labels = tuple(map(str, range(size)))
        texts = [[show.num(value + 0.0, ".2f") for value in line] for line in turn.block]
        show.chart(
            charts.cells,
            base.cells(turn.block, texts, labels, labels),
            key="positions_r",
            says=say(words.ROTATION_SAYS, k=k, shown=size, d=d),
            columns=words.R_COLUMNS,
            symbol="x",
            row_labels=labels,
            col_labels=labels,
            row_title=say(words.R_ROW),
            col_title=say(words.R_COL),
            value_title=say(words.ENTRY),
            limit=1.0,
        )
    with right:
        st.markdown(say(words.APPLIED, pos=pos, later=later, n=n, difference=difference(turn.every.difference)))
        rows = [
            (str(dim), *(show.num(value, ".4f") for value in three), show.num(gap, ".1e")) for dim, *three, gap in turn.rows
        ]
        show.small_table([say(head, pos=pos, later=later) for head in words.TURN_HEAD], rows, numbers=(1, 2, 3, 4))
        show.checks(
            (say(words.CHECKS["rotation"], n=n), turn.every.difference, TOLERANCE),
            (say(words.CHECKS["random"], count=turn.drawn.pairs), turn.drawn.difference, TOLERANCE),
            (say(words.CHECKS["stretch"]), max(turn.every.stretch, turn.drawn.stretch), TOLERANCE),
        )


def dots() -> None:
    st.subheader(say(words.DOTS), anchor=False)
    run = cached.dots(n, d)
    row = run.frame.loc[k]
    show.chart(
        charts.dots,
        cached.dot_marks(n, d, k),
        key="positions_dots",
        says=say(
            words.DOTS_SAYS,
            k=k, spread=difference(run.check.spread), zero=d / 2, pairs=int(row["pairs"]),
            **{name: float(row[name]) for name in ("low", "high", "theory")},
        ),
        columns=words.DOT_COLUMNS,
        data=run.frame,
        n=n,
        x_title=say(words.OFFSET),
        y_title=say(words.DOT),
        names=(say(words.MEASURED), say(words.CLOSED)),
    )  # fmt: skip
    st.markdown(say(words.EXAMPLES))
    rows = [(f"{a}, {b}", show.num(dot, ".4f")) for a, b, dot in cached.examples(n, d, k)]
    show.small_table([say(head) for head in words.EXAMPLE_HEAD], rows, numbers=(1,))
    show.checks(
        (say(words.CHECKS["spread"]), run.check.spread, TOLERANCE), (say(words.CHECKS["theory"]), run.check.difference, TOLERANCE)
    )


@state.fragment
def nearest() -> None:
    st.subheader(say(words.NEAREST), anchor=False)
    st.markdown(say(words.NEAREST_LEAD, k=k))
    controls.steps("p_noise", words.NOISE, help=say(words.NOISE_HELP))
    noise = state.get("p_noise")
    run = cached.nearest(n, d, k, noise, seed)
    show.chart(
        charts.found,
        cached.nearest_marks(run),
        key="positions_nearest",
        says=words.nearest(n, noise, run, lang),
        columns=words.NEAREST_COLUMNS,
        data=run.test.frame,
        n=n,
        x_title=say(words.WANTED),
        y_title=say(words.FOUND),
        names=(say(words.RIGHT), say(words.WRONG)),
    )


def shuffle() -> None:
    st.subheader(say(words.SHUFFLE), anchor=False)
    orders = {token: " ".join(shuffled.tokens[int(i)] for i in token) for token in settings.everything()["p_order"].choices}
    label = Msg(en=words.ORDER("en", before=order["before"]), es=words.ORDER("es", before=order["before"]))
    controls.segments("p_order", label, orders)
    st.caption(say(words.OUTLINED, token=shuffled.tokens[followed]))
    for place, name, check in zip(st.columns(2, gap="large"), ("without", "added"), (shuffled.without, shuffled.added)):
        with place:
            title = say(words.WITHOUT if name == "without" else words.ADDED)
            st.markdown(f"**{title}**")
            outputs(name, title, check)
            if check.difference <= TOLERANCE:
                st.markdown(say(words.SAME, difference=difference(check.difference)))
            else:
                st.markdown(say(words.CHANGED, difference=check.difference, weights=check.weights_difference))
    show.checks(
        (say(words.CHECKS["shuffle"]), shuffled.without.difference, TOLERANCE),
        (say(words.CHECKS["weights"]), shuffled.without.weights_difference, TOLERANCE),
    )
    st.markdown(say(words.CAUSAL, difference=shuffled.causal.difference))


def outputs(name: str, title: str, check) -> None:
    frames = []
    for place, trace, tokens, case in zip(
        st.columns(2, gap="medium"), (check.before, check.after), (shuffled.tokens, shuffled.after), (words.IN_ORDER, words.AFTER)
    ):
        values = trace.output.tolist()
        labels = tuple(str(c + 1) for c in range(len(values[0])))
        texts = [[show.num(value, ".3f") for value in line] for line in values]
        outlined = tokens.index(shuffled.tokens[followed])
        frame = base.cells(values, texts, tokens, labels, chosen=[(outlined, c) for c in range(len(labels))])
        frames.append(frame.assign(case=say(case)))
        with place:
            st.markdown(say(case))
            show.chart(
                charts.cells,
                frame,
                key=f"positions_{name}_{'before' if trace is check.before else 'after'}",
                says=say(words.MATRIX_SAYS, title=f"{title}, {say(case)}", order=", ".join(tokens)),
                caption=False,
                symbol="output",
                row_labels=tokens,
                col_labels=labels,
                value_title=say(words.OUTPUT),
                limit=base.nice_limit(shuffled.limit),
            )
    show.behind(cached.joined(frames), words.MATRIX_COLUMNS, key=f"positions_{name}")


def rope() -> None:
    st.subheader(say(words.ROPE), anchor=False)
    run = cached.rope(n, d, seed)
    left, right = st.columns((3, 2), gap="large")
    with right:
        st.markdown(say(words.ROPE_LEAD, n=n, d=d, seed=str(seed)))
        st.latex(words.ROPE_FORMULA)
        says = say(words.ROPE_SAYS, rope=difference(run.gap["rope"]), added=run.gap["added"])
        st.markdown(says)
        show.checks(
            (say(words.CHECKS["rope"], count=run.check.count), run.check.difference, TOLERANCE),
            (say(words.CHECKS["lengths"]), run.check.norm_difference, TOLERANCE),
        )
    with left:
        arms = {arm: say(words.ROPE_NAMES[arm]) for arm in charts.ARMS}
        show.chart(
            charts.rope,
            run.frame,
            key="positions_rope",
            says=says,
            beside=True,
            columns=words.ROPE_COLUMNS,
            data=run.frame.assign(arm_name=run.frame["arm"].map(arms)),
            n=n,
            x_title=say(words.ROPE_OFFSET),
            y_title=say(words.SCORE),
            names=tuple(arms.values()),
        )


def predict() -> None:
    asked = cached.question(n, d, k)
    a, b = asked.dots
    told = {"first": asked.first, "second": asked.second}
    left, right = st.columns(2, gap="large")
    with left:
        answers = [say(words.APART, k=asked.first), say(words.APART, k=asked.second), say(words.EQUAL)]
        because = words.BECAUSE_DOT_NEAR if asked.answer == 0 else words.BECAUSE_DOT
        show.predict(say(words.ASK_DOT, d=d, **told), answers, asked.answer, say(because, a=a, b=b, **told), key="positions_dot")
    with right:
        added, without = (cached.moved(check, followed) for check in (shuffled.added, shuffled.without))
        kept = added <= TOLERANCE
        show.predict(
            say(words.ASK_STAYS if stays else words.ASK_MOVES, token=shuffled.tokens[followed], **order),
            [say(answer) for answer in words.SHUFFLE_ANSWERS],
            0 if kept else 1,
            say(words.BECAUSE_KEPT if kept else words.BECAUSE_SHUFFLE, added=added, without=difference(without)),
            key="positions_shuffle",
        )


lead.markdown(say(words.LEAD, same=difference(shuffled.without.difference), moved=shuffled.added.difference, **order))
left, right = st.columns((1, 1), gap="large")
with left:
    pattern()
with right:
    clocks()
waves()
rotation()
left, right = st.columns((1, 1), gap="large")
with left:
    dots()
with right:
    nearest()
predict()
shuffle()
rope()
show.try_this("positions", words.TRY)
show.matrices(lambda: cached.tensors(n, d, k, shuffled))
show.code(*cached.CODE)
