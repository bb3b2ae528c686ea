"""Variance: why q.k grows with d_k, measured, predicted, and with the assumptions of the prediction broken."""

import streamlit as st

from qkv_core.text import variance as words
from qkv_core.ui import controls, own, show, state
from qkv_core.ui.controls import say

shared = state.shared()
d_k, lang, linear = shared.d_k, shared.lang, state.get("v_lin")

lead = st.empty()
lead.markdown(say(words.LEAD_FIRST))
with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
    with st.container(width=420):
        controls.shared("d_k")
    with st.container(width=320):
        controls.steps("v_n", words.PAIRS, help=say(words.PAIRS_HELP))
    with st.container(width=300):
        controls.numbers("v_ds", words.ROWS, help=say(words.ROWS_HELP))
line = st.empty()

# torch arrives only now: the words and the controls are on the screen already
from qkv_core.charts import variance as charts  # noqa: E402
from qkv_core.ui import queue  # noqa: E402
from qkv_core.ui.cached import variance as cached  # noqa: E402

asked = {key: state.get(key) for key in ("v_mu", "v_rho", "v_n")}
if linear and asked != (layers := {"v_mu": 0.0, "v_rho": 0.0, "v_n": min(asked["v_n"], cached.LINEAR_PAIRS)}):
    state.settle(**layers)
    asked = layers
mu, rho, n = asked.values()
a = cached.assumptions(state.get("v_dist"), mu, rho, linear, state.get("v_c"), state.get("v_bias"))
telling = queue.telling(line, lambda share: say(words.DRAWING, n=n, share=share))
run = cached.study(n, shared.seed, a, shared.device, *telling)
h, row, names = run.histograms[d_k], run.row(d_k), (say(words.UNSCALED), say(words.SCALED))
where = say(words.WHERE[run.device.split(":")[0]])

lead.markdown(words.lead(h, row.scaled, lang))
left, right = st.columns((6, 5), gap="large")
with left:
    st.subheader(say(words.BELLS if n > 1 else words.BELLS_ONE, n=n), anchor=False)
    show.chart(
        charts.bells,
        cached.bells(run, d_k, names, lang),
        key="variance_bells",
        says=words.spread(h, row.scaled, linear, lang),
        columns=words.BINS,
        data=cached.bins(run, d_k, names),
        x_title=say(words.BELLS_X),
        y_title=say(words.BELLS_Y),
        count_title=say(words.COUNT),
    )
with right:
    st.subheader(say(words.TABLE), anchor=False)
    with st.container(horizontal=True, gap="medium"):
        for name, value in words.figures(h, row.scaled, lang):
            st.metric(name, value, width="content")
    table = cached.table(run, tuple(sorted({*state.get("v_ds"), d_k})))
    show.small_table([say(name) for name in words.HEAD], words.rows(table, d_k, lang), numbers=(1, 2, 3, 4))
    st.markdown(say(words.SCALED_THEORY, value=row.theory / d_k))
    if n > 1:
        st.markdown(say(words.COVERED, inside=cached.inside(table), rows=len(table)))
    st.caption(say(words.ESTIMATOR if n > 1 else words.ESTIMATOR_ONE, n=n, seed=str(shared.seed), where=where))
    if run.device != "cpu":
        st.caption(say(words.GPU))
    show.checks(
        *(
            (say(words.CHECKS[name], d=run.brute_d, last=cached.D_MAX), difference, tolerance)
            for name, (difference, tolerance) in cached.checks(run, d_k).items()
        )
    )

st.subheader(say(words.LAW), anchor=False)
left, middle, right = st.columns((4, 5, 5), gap="large")
with left:
    controls.segments("v_dist", words.TOKENS if linear else words.ENTRIES, words.DISTRIBUTIONS, help=say(words.DISTRIBUTIONS_HELP))
    if not linear:
        controls.steps("v_mu", words.MEAN)
        controls.steps("v_rho", words.RHO)
    controls.toggle("v_lin", words.LINEAR, help=say(words.LINEAR_HELP))
    if linear:
        controls.steps("v_c", words.WIDTH)
        controls.toggle("v_bias", words.BIAS)
        st.caption(say(words.CAPPED, limit=cached.LINEAR_PAIRS))
with middle:
    for formula in words.derivation(d_k, cached.kappa(a), mu, rho, linear, a.d_model, a.bias, lang):
        st.latex(formula)
with right:
    show.small_table(
        [say(name, d_k=d_k) for name in words.MEASURED_HEAD], words.measured(h, row.scaled, n, lang), numbers=(1, 2)
    )
    st.markdown(words.verdict(a.distribution, mu, rho, linear, h.law, d_k, lang))
    if linear and a.bias and n > 1:
        st.caption(say(words.LINEAR_NOTE, mean=h.mean))

st.subheader(say(words.CURVE), anchor=False)
axis = state.get("v_axis")
controls.segments("v_axis", words.AXES, words.AXES_NAMES)
curve = cached.curve(run, d_k, axis)
if len(curve.frame):
    show.chart(
        charts.curve,
        curve.frame,
        key="variance_curve",
        says=words.growth(run.curve, cached.growth(run), cached.inside(run.curve), lang),
        columns=words.CURVE_COLUMNS,
        data=run.curve,
        axis=axis,
        low=curve.low,
        high=curve.high,
        x_title=say(words.CURVE_X),
        y_title=say(words.CURVE_RATIO if axis == "ratio" else words.CURVE_Y),
        names=names,
        tips=(say(words.HEAD[0]), *names, say(words.HEAD[1])),
    )
if curve.left_out:
    st.markdown(say(words.LEFT_OUT, n=curve.left_out) if n > 1 else say(words.NO_CURVE))

left, right = st.columns((1, 1), gap="large")
with left:
    if asked := cached.question(run, d_k):
        show.predict(*words.question(asked, n, lang), key="variance")
with right:
    show.try_this("variance", words.TRY)
show.code(*cached.CODE)


@state.fragment
def own_numbers():
    mine = own.section(words.OWN, words.OWN_LEAD, key="v_own")
    if mine is None or mine[0] is None:
        return
    brought, place = mine
    with place:
        found = own.once("variance", lambda: cached.core.own_variance(brought.q, brought.k))
        with st.container(horizontal=True, gap="large"):
            for name, value in words.own_figures(found, lang):
                st.metric(name, value, width="content")
        for sentence in words.own_says(found, lang):
            st.markdown(sentence)
        show.checks((say(words.OWN_CHECK), found.difference, 1e-9))
        show.small_table([say(name) for name in words.OWN_HEAD], words.own_rows(found, brought.q.shape[1], lang), numbers=(1, 2, 3))
        if len(found.heads) > words.OWN_ROWS:
            st.caption(say(words.OWN_MORE, shown=words.OWN_ROWS, all=len(found.heads)))


own_numbers()
