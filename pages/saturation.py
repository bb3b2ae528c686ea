"""Saturation: what large dot products do to a row of weights, and to the gradient through it."""

import streamlit as st

from qkv_core import saturation as core
from qkv_core import settings
from qkv_core.charts import base
from qkv_core.charts import saturation as charts
from qkv_core.text import saturation as text
from qkv_core.ui import controls, own, show, state
from qkv_core.ui.cached import saturation as cached
from qkv_core.ui.controls import say

shared = state.shared()
d_k, tau, seed, lang = shared.d_k, shared.tau, shared.seed, shared.lang
n, trials = state.get("s_keys"), state.get("s_trials")

row = cached.row(d_k, shared.heads, n, seed, tau, shared.scale)
curve = cached.curve(n, trials, seed, tau)
lab = cached.lab(d_k, shared.heads, n, trials, seed, tau)
same = cached.same(d_k, n, seed, tau)
temperatures = cached.temperatures(d_k, n, trials, seed)
chosen = lab.of(shared.scale)
named = text.divisor(shared.scale, chosen["value"], lang)
names = {arm.code: say(text.DIVIDED[arm.scale]) for arm in row.arms}
ARMS = tuple((code, names[code]) for code in ("unscaled", "scaled"))


def one_row() -> None:
    for place, key in zip(st.columns(2, gap="medium"), ("d_k", "tau")):
        with place:
            controls.shared(key)
    weights_of(row, d_k, "saturation_row")


def weights_of(shown: cached.Row, size: int, key: str) -> None:
    arms = tuple((arm.code, say(text.DIVIDED[arm.scale])) for arm in shown.arms)
    frame = cached.ten_frame(shown, arms, say(text.PEAK_LABEL, key="{key}", weight="{weight}"), show.num)
    show.chart(
        charts.weights,
        frame,
        key=key,
        says=text.row_says(shown, size, tau, lang),
        columns=text.ROW_COLUMNS,
        data=frame.assign(arm=frame["name"], place=frame["key"] + 1)[list(text.ROW_COLUMNS)],
        keys=len(shown.unscaled.weights),
        arms=arms,
        x_title=say(text.KEY),
        y_title=say(text.WEIGHT),
    )


def in_numbers(shown: cached.Row, divided_by: str) -> None:
    head = [say(text.MEASURE)]
    columns = []
    for arm in shown.arms:
        head.append(f"{text.MARKS[arm.code]} {say(text.DIVIDED[arm.scale])}")
        values = (arm.peak, arm.entropy, arm.effective, arm.norm)
        columns.append([text.emphasis(text.cell(value, lang), arm.code == shown.chosen) for value in values])
    labels = [say(text.MEASURES[name]) for name in cached.MEASURES]
    show.small_table(head, list(zip(labels, *columns)), numbers=range(1, len(head)))
    st.caption(say(text.CHOSEN, divisor=divided_by))


def checks() -> None:
    rows = {
        "kernel": (row.kernel, row.slack),
        "jacobian": (row.jacobian, row.slack),
        "norm": (row.norm, row.slack),
        "sums": (row.sums, 1e-6),
        "same": (same.difference, row.slack),
        "draw": (lab.agrees, 1e-5),
    }
    show.checks(*((say(text.CHECKS[key]), *values) for key, values in rows.items()))


def curves() -> None:
    words, keys, repeats = st.columns((2, 1, 1), gap="medium")
    with words:
        st.subheader(say(text.CURVES), anchor=False)
        st.caption(say(text.CURVES_LEAD, trials=trials, n=n, seed=str(seed), tau=tau, level=core.LEVEL))
    with keys:
        controls.steps("s_keys", text.KEYS, help=say(text.KEYS_HELP))
    with repeats:
        controls.steps("s_trials", text.TRIALS, help=say(text.TRIALS_HELP))
    tops = {"peak": 1.0, "entropy": 1.0, "effective": float(n), "jacobian": charts.NORM}
    for place, measure in zip(st.columns(4, gap="medium"), cached.MEASURES):
        with place:
            show.chart(
                charts.curve,
                cached.d_k_line(measure, n, trials, seed, tau, d_k),
                key=f"saturation_{measure}",
                says=say(text.CURVE_SAYS, at=d_k, **text.ends(curve.frame, curve.at, d_k, measure, lang)),
                arms=ARMS,
                title=say(text.MEASURES[measure]),
                x_title=say(text.D_K),
                ticks=cached.D_KS[::2],
                ends=(cached.D_KS[0], cached.D_KS[-1]),
                top=tops[measure],
            )
    show.behind(curve.frame.assign(arm_name=curve.frame["arm"].map(names)), text.CURVE_COLUMNS, key="saturation_curve")


def notice() -> None:
    st.subheader(say(text.NOTICE), anchor=False)
    told = text.notice(curve.facts, curve.low, curve.high, trials, core.NEARLY_ALL, lang)
    st.markdown("\n".join(f"- {sentence}" for sentence in told))


def predict() -> None:
    asked = cached.asked(curve, d_k)
    (a, b), (a_low, b_low), (a_high, b_high), (peak_a, peak_b) = asked.norms, asked.lows, asked.highs, asked.peaks
    because = say(
        text.BECAUSE,
        a=a, a_low=a_low, a_high=a_high, b=b, b_low=b_low, b_high=b_high, peak_a=peak_a, peak_b=peak_b,
        now=asked.now, then=asked.then,
    )  # fmt: skip
    question = say(text.PREDICT, tau=tau, now=asked.now, then=asked.then)
    show.predict(question, [say(answer) for answer in text.ANSWERS], asked.answer, because, key="saturation")


def temperature() -> None:
    st.subheader(say(text.TEMPERATURE), anchor=False)
    low, high = settings.TAU_LESSON
    msg = text.TEMPERATURE_ALIKE if d_k == 1 else text.TEMPERATURE_LEAD
    st.markdown(say(msg, d_k=d_k, root=row.scaled.divisor, low=low, high=high))
    for place, measure in zip(st.columns(2, gap="medium"), ("peak", "entropy")):
        with place:
            show.chart(
                charts.curve,
                cached.tau_line(measure, n, trials, seed, tau, d_k),
                key=f"saturation_tau_{measure}",
                says=say(text.TAU_SAYS, at=tau, **text.ends(temperatures, curve.at, d_k, measure, lang)),
                arms=ARMS,
                title=say(text.MEASURES[measure]),
                x_title=say(text.TAU),
                ticks=(0.1, 0.2, 0.5, 1.0, 2.5, 5.0),
                ends=(cached.LOW_TAU, cached.HIGH_TAU),
                top=1.0,
                marked=settings.TAU_LESSON,
                marks=False,
            )
    show.behind(temperatures.assign(arm_name=temperatures["arm"].map(names)), text.TAU_COLUMNS, key="saturation_tau")


def identity() -> None:
    st.subheader(say(text.SAME), anchor=False)
    (_, root), (hot, _) = same.first, same.second
    st.markdown(say(text.SAME_LEAD, root=root, tau=tau, hot=hot, product=same.product))
    arms = {code: say(msg) for code, msg in text.SAME_ARMS.items()}
    words = same.frame["arm"].map(arms)
    frame = same.frame.assign(
        name=words, text=[show.num(w, ".6f") for w in same.frame["weight"]], label="", label_y=0.0, left=False
    )
    show.chart(
        charts.weights,
        frame,
        key="saturation_same",
        says=say(text.SAME_SAYS, n=n, difference=text.difference(same.difference, lang), cold=1 / root),
        columns=text.ROW_COLUMNS,
        data=frame.assign(arm=words, place=frame["key"] + 1)[list(text.ROW_COLUMNS)],
        keys=n,
        arms=tuple(arms.items()),
        x_title=say(text.KEY),
        y_title=say(text.WEIGHT),
        pixels=190,
    )


def divisor_lab() -> None:
    st.subheader(say(text.LAB), anchor=False)
    nearest = lab.of(lab.nearest)
    msg = text.LAB_LEAD_ONE if shared.heads == 1 else text.LAB_LEAD
    st.markdown(
        say(
            msg,
            heads=shared.heads, d_k=d_k, d_model=shared.d_model, nearest=say(text.DIVISORS[lab.nearest]),
            std=nearest["std"],
        )
    )  # fmt: skip
    frame = lab.frame.assign(
        chosen=lab.frame["divisor"] == shared.scale,
        name=[say(text.DIVISORS[token]) for token in lab.frame["divisor"]],
        text=[show.num(std, ".3g") for std in lab.frame["std"]],
    )
    says = say(
        text.LAB_SAYS,
        divisor=named, n=n, even=1 / n, **{key: chosen[key] for key in ("std", "theory", "peak")},
    )  # fmt: skip
    left, right = st.columns((5, 6), gap="large")
    with left:
        controls.shared("scale")
        show.chart(
            charts.divisors,
            frame[["place", "std", "std_low", "std_high", "theory", "text", "chosen"]],
            key="saturation_lab",
            says=says,
            beside=True,
            names=tuple(frame["name"]),
            x_title=say(text.STD),
        )
    with right:
        lab_table(frame)
        st.markdown(says)
        show.behind(frame, text.LAB_COLUMNS, key="saturation_lab")


def lab_table(frame) -> None:
    specs = {"value": ".2f", "std": ".3f", "peak": ".3f", "entropy": ".3f", "effective": ".2f", "jacobian": ".3f"}
    rows = [
        [text.emphasis(words, on) for words in (line["name"], *(show.num(line[key], spec) for key, spec in specs.items()))]
        for line in frame.to_dict("records")
        for on in (line["chosen"],)
    ]
    show.small_table([say(title) for title in text.LAB_HEAD], rows, numbers=range(1, len(text.LAB_HEAD)))


def jacobian() -> None:
    st.subheader(say(text.JACOBIAN), anchor=False)
    left, right = st.columns(2, gap="large", vertical_alignment="center")
    left.markdown(say(text.JACOBIAN_LEAD))
    right.latex(text.FORMULA)
    for place, arm in zip(st.columns(2, gap="large"), (row.unscaled, row.beside)):
        with place:
            matrix(arm)


def matrix(arm: cached.Arm) -> None:
    labels = tuple(str(j + 1) for j in range(n))
    texts = [[show.num(round(value, 2) + 0.0, ".2f") for value in line] for line in arm.jacobian]
    norm = text.small(arm.norm, lang)
    st.markdown(say(text.JACOBIAN_TITLE, mark=text.MARKS[arm.code], name=names[arm.code], norm=norm))
    show.chart(
        charts.jacobian,
        base.cells(arm.jacobian, texts, labels, labels, chosen=[(arm.row, arm.col)]),
        key=f"saturation_jacobian_{'left' if arm is row.unscaled else 'right'}",
        says=say(text.JACOBIAN_SAYS, entry=text.small(arm.entry, lang), row=arm.row + 1, col=arm.col + 1),
        columns=text.JACOBIAN_COLUMNS,
        keys=n,
        arm=arm.code,
        row_title=say(text.MOVED),
        col_title=say(text.PUSHED),
        value_title=say(text.ENTRY),
    )


st.markdown(text.lead(d_k, tau, lab.std, n * trials, row, lang))
left, right = st.columns((13, 8), gap="large")
with left:
    one_row()
with right:
    in_numbers(row, named)
    checks()
curves()
left, right = st.columns(2, gap="large")
with left:
    notice()
with right:
    predict()
left, right = st.columns((13, 8), gap="large")
with left:
    temperature()
with right:
    identity()
divisor_lab()
jacobian()
show.try_this("saturation", text.TRY)
show.matrices(lambda: core.ten_keys(d_k, n, seed, tau, chosen["value"]))
show.code(*cached.CODE)


@state.fragment
def own_rows() -> None:
    opened = own.section(text.OWN, text.OWN_LEAD, key="s_own")
    if opened is None or opened[0] is None:
        return
    mine, place = opened
    B, h, T_q, own_d_k = mine.q.shape
    with place:
        with st.container(horizontal=True, gap="medium"):
            at = own.choose((B, h), "s_ob", "s_oh")
            i = own.index(T_q, text.OWN_QUERY, "s_ot")
        found = cached.own_row(mine, *at, i, tau, shared.scale)
        if found is None:
            st.markdown(say(text.OWN_TOO_LARGE))
            return
        weights_of(found, own_d_k, "saturation_own")
        left, right = st.columns(2, gap="large")
        with left:
            in_numbers(found, text.divisor(shared.scale, found.arm(found.chosen).divisor, lang))
        with right:
            means = own.once(f"rows {tau}", lambda: core.own_rows(mine.q, mine.k, tau))
            st.markdown(text.own_says(means, B * h * T_q, lang))
            kept = ("kernel", "jacobian", "norm")
            differences = {name: (getattr(found, name), found.slack) for name in kept} | {"sums": (found.sums, 1e-6)}
            show.checks(*((say(text.CHECKS[name]), *values) for name, values in differences.items()))


own_rows()
