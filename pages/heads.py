"""Heads: one sentence, many ways of reading it, each computed from matrices that can be opened."""

import streamlit as st

from qkv_core import settings
from qkv_core.charts import heads as charts
from qkv_core.records import SOLVED_ACCURACY, SOLVED_LOSS, SOLVED_STEPS
from qkv_core.text import heads as text
from qkv_core.text import training as training_text
from qkv_core.typed import LIMIT, format_cells, parse_cells
from qkv_core.ui import controls, own_heads, show, state, trained_heads
from qkv_core.ui.cached import heads as cached
from qkv_core.ui.controls import say

shared = state.shared()
lang = shared.lang
source = state.get("h_src")
training = trained_heads.opened() if source == "trained" else None
if training:
    trained_heads.settle(training)
nets = training.net if training else None
arms = training.names(lang) if training else ()


def small(width: int, key: str, label, **kwargs) -> None:
    with st.container(width=width):
        controls.steps(key, label, **kwargs)


def choose() -> None:
    stems = {stem: cached.sentence_text(stem, lang) for stem in settings.SENTENCES}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        with st.container(width="content"):
            controls.segments("h_src", text.SOURCES_LABEL, text.SOURCES)
        if source == "trained":
            if training:
                choose_net()
        elif source != "typed":
            with st.container(width=400 if source == "real" else 470):
                controls.select("h_sent", text.SENTENCE, stems)
        if source == "real":
            small(170, "h_layer", text.LAYER)
            small(240, "h_rhead", text.NUMBER)
        elif source != "trained":
            with st.container(width=300):
                controls.select("h_head", text.HEAD, text.HEADS)
    if source in ("typed", "real"):
        typed = source == "typed"
        label = text.TYPE_LABEL if typed else text.TYPE_REAL_LABEL
        controls.text("h_text", label, hint=text.TYPE_HINT, help=say(text.TYPE_HELP if typed else text.TYPE_REAL_HELP, most=LIMIT))


def choose_net() -> None:
    config = training.config
    sizes = config.net(config.arms[state.get("h_arm") - 1])
    choose_arm("h_arm", text.ARM, after=trained_heads.look_as_trained)
    with st.container(width=190):
        controls.whole("h_run", training_text.RUN)
    if sizes.task:
        with st.container(width=170):
            controls.whole("h_ex", training_text.EXAMPLE, help=say(training_text.EXAMPLE_HELP))
    choose_head("h_tl", "h_th", text.NET_LAYER, text.HEAD, sizes)


def choose_arm(key: str, label, **more) -> None:
    places = dict(enumerate(arms, 1))
    with st.container(width=240):
        controls.select(key, label, places, options=tuple(places), **more)


def choose_head(layer_key: str, head_key: str, layer, head, sizes) -> None:
    for key, label, most in ((layer_key, layer, sizes.layers), (head_key, head, sizes.heads)):
        if most > 1:
            small(170, key, label, options=tuple(range(1, most + 1)))


def settle_mask() -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        with st.container(width=220):
            controls.shared("tau")
        with st.container(width="content", horizontal=True, gap="small"):
            for tau, name in text.TAU_MARKS.items():
                label = say(name, tau=tau)
                st.button(label, key=f"h_tau_{tau}", type="tertiary", on_click=state.put, kwargs={"tau": tau}, disabled=shared.tau == tau)
        for key, width in (("scale", 200), ("mask", 170)):
            with st.container(width=width):
                controls.shared(key)
        small(210, "h_pad", text.PADDING_TYPED if source in ("typed", "trained") else text.PADDING, help=say(text.PADDING_HELP))
        if shared.mask == "window":
            small(230, "h_win", text.RADIUS)
        if shared.mask == "prefix":
            small(230, "h_pre", text.PREFIX)
        with st.container(width="content"):
            controls.toggle("h_paint", text.PAINT, help=say(text.PAINT_HELP))


def set_cells(cells) -> None:
    state.put(h_cells=format_cells(cells, run.T))


def clicked(key: str) -> None:
    found = st.session_state[key].selection.get("pick") or []
    if not found or not (0 <= int(found[0]["row"]) < run.T):
        return
    cell = found[0]
    i, j = int(cell["row"]), int(cell.get("col", -1))
    if state.get("h_paint") and "hide" in cell and j >= 0:
        now = parse_cells(state.get("h_cells"), run.T)
        set_cells(now | {(i, j)} if cell["hide"] else now - {(i, j)})
    else:
        state.put(h_row=i, h_col=j)


def choose_row() -> None:
    names = cached.choices(run)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        small(250, "h_row", text.ROW, options=tuple(range(run.T)), first=run.first, help=say(text.ROW_HELP))
        with st.container(width=230):
            controls.select("h_row", text.ROW_LIST, names, options=tuple(names), place="list")
        with st.container(width=230):
            controls.select("h_col", text.COL_LIST, {-1: text.STRONGEST, **names}, options=(-1, *names))


def brush() -> None:
    st.caption(say(text.PAINTED, n=len(painted)))
    row = {(i, c) for c in range(run.T)}
    with st.container(horizontal=True):
        st.button(say(text.PAINT_ONE), key="h_one", on_click=set_cells, args=(painted ^ {(i, j)},))
        st.button(say(text.PAINT_ROW), key="h_all", on_click=set_cells, args=(painted | row,))
        st.button(say(text.PAINT_NONE), key="h_none", on_click=set_cells, args=((),), disabled=not painted)


def matrix() -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        with st.container(width="content"):
            controls.segments("h_draw", text.DRAW, text.DRAWS)
        if state.get("h_draw") == "matrix":
            with st.container(width="content"):
                controls.segments("h_view", text.VIEW, text.VIEWS)
            if run.T > cached.TEXT_CELLS:
                with st.container(width="content"):
                    controls.toggle("h_zoom", text.ZOOM)
    if state.get("h_draw") == "lines":
        lines()
    else:
        cells()
    choose_row()
    if state.get("h_paint"):
        brush()
    show.checks(*((say(text.CHECKS[key]), *values) for key, *values in run.checks))


def cells() -> None:
    drawn = cached.picture(ask, view, i, j, lang, state.get("h_zoom"), state.get("h_paint"), show.look())
    says = [cached.matrix_says(ask, view, lang), *cached.legend(run, drawn, view, lang)]
    with st.container(width=max(drawn.width, 340)):
        show.chart(
            drawn.draw,
            drawn.frame,
            key="h_matrix_large" if drawn.large else "h_matrix",
            says=show.sentences(*says),
            on_select=lambda: clicked("h_matrix_large" if drawn.large else "h_matrix"),
            **drawn.labels,
        )


def lines() -> None:
    found = cached.row(run, i)
    q = run.name(i, lang)
    says = say(text.LINES_NONE, q=q) if found.top is None else say(text.LINES_SAYS, q=q, k=run.name(found.top, lang), share=found.share)
    with st.container(width=680):
        show.chart(
            charts.lines,
            cached.lines_frame(run, i, lang),
            key="h_lines",
            says=says,
            on_select=lambda: clicked("h_lines"),
            count=run.T,
            row_title=say(text.QUERIES),
            col_title=say(text.KEYS),
            value_title=say(text.WEIGHT),
        )


def headline() -> None:
    reads = cached.reads(run, i, lang)
    if run.ask.ours:
        st.subheader(reads, anchor=False)
    else:
        st.text(reads)


def one_row() -> None:
    headline()
    found = cached.row(run, i)
    if found.top is None:
        st.markdown(say(text.EMPTY_ROW))
    with st.container(horizontal=True, gap="medium"):
        st.metric(say(text.TOP), show.num(found.share, ".1%"), width="content")
        st.metric(
            say(text.ENTROPY), show.num(found.entropy, ".3f"), width="content",
            help=say(text.ENTROPY_HELP, n=found.keys, most=found.most),
        )  # fmt: skip
        st.metric(say(text.EFFECTIVE), show.num(found.effective, ".2f"), width="content", help=say(text.EFFECTIVE_HELP))
    frame = cached.bars(run, i, lang)
    count = min(run.T, cached.SORTED)
    first = frame[frame["rank"] < count]
    st.markdown(say(text.SORTED))
    show.chart(
        charts.ranked,
        first,
        key="h_ranked",
        says=say(text.SORTED_SAYS, n=count, T=run.T, q=run.name(i, lang), share=float(first["weight"].sum())),
        count=count,
        key_title=say(text.KEY),
        value_title=say(text.WEIGHT),
    )
    st.markdown(say(text.IN_ORDER))
    show.chart(
        charts.bars,
        frame,
        key="h_bars",
        says=say(text.ORDER_SAYS, q=run.name(i, lang), before=found.before, own=found.own, after=found.after),
        columns=text.ROW_COLUMNS,
        data=cached.row_table(run, i, lang),
        labels=cached.axis(run.labels),
        key_title=say(text.KEY),
        value_title=say(text.WEIGHT),
    )


def all_heads() -> None:
    st.subheader(say(text.ALL), anchor=False)
    side = cached.side_by_side(ask.family(), show.look())
    n = len(side.weights)
    st.markdown(say(text.ALL_LEAD[source], n=n, layer=ask.layer))
    with st.container(horizontal=True, gap="small"):
        for thumb in side.thumbs:
            now = all(state.get(key) == value for key, value in thumb.opens.items())
            with st.container(width=cached.THUMB, gap="xxsmall"):
                st.image(thumb.png, alt=thumb.says, width=cached.THUMB)
                key = f"h_open_{thumb.id or 'mean'}"
                st.button(thumb.name, key=key, on_click=state.put, kwargs=thumb.opens, width="stretch", disabled=now)
    if n > 1:
        st.caption(cached.mean_says(side, run, i, lang))
    if source == "real":
        named_heads()


def named_heads() -> None:
    st.markdown(f"**{say(text.REAL_NAMED)}**")
    with st.container(horizontal=True):
        for name, (layer, head) in cached.NAMED.items():
            label = say(text.REAL_NAMES[name], layer=layer, head=head)
            st.button(label, key=f"h_named_{name}", on_click=state.put, kwargs={"h_layer": layer, "h_rhead": head})


def one_cell() -> None:
    st.subheader(say(text.CELL, q=run.name(i, lang), k=run.name(j, lang)), anchor=False)
    left, right = st.columns(2, gap="large")
    table = cached.products(run, i, j, lang)
    with left:
        st.caption(say(text.CELL_FORMULA))
        of_score, of_weight = cached.formula(run, i, j, lang)
        st.latex(of_score)
        if of_weight:
            st.latex(of_weight)
        else:
            st.markdown(say(text.CELL_HIDDEN))
        st.markdown(say(text.STRIPS))
        show.chart(
            charts.strips,
            cached.strips(table, lang),
            key="h_strips",
            says=cached.strips_say(table, lang),
            columns=text.STRIP_COLUMNS,
            data=table,
            d_k=len(table),
            row_labels=("q", "k", say(text.PRODUCT)),
            coordinate_title=say(text.COORDINATE),
            value_title=say(text.VALUE),
        )
    with right:
        if run.head.rules:
            fired()
        else:
            show.small_table(*cached.whole_row(run, i, lang), numbers=(1, 2, 3))
            if ask.net:
                st.caption(say(text.NO_RULES, step=ask.net.step))


def fired() -> None:
    st.markdown(f"**{say(text.RULES)}**")
    rows, points = cached.rules(run, i, j, lang)
    if rows:
        total = [say(text.RULE_SUM), "", show.num(points, ".4f")]
        show.small_table([say(title) for title in text.RULE_COLUMNS], [*rows, total], numbers=(2,))
        score = run.head.trace.scaled[i, j].item()
        st.markdown(say(text.RULE_SAYS, points=points, score=score))
        if points != round(points):
            st.caption(say(text.RULE_SHARE))
    else:
        st.markdown(say(text.RULE_NONE))
    if source == "hand":
        for place in dict.fromkeys((i, j)):
            st.caption(say(text.FEATURES_OF, word=run.name(place, lang), features=cached.features_of(run, place, lang)))
        rules = cached.all_rules(ask.head, lang)
        with st.expander(say(text.HEAD_RULES, n=len(rules))):
            show.table(rules, text.ALL_RULE_COLUMNS, key="h_rules")


def notice() -> None:
    st.subheader(say(text.NOTICE), anchor=False)
    st.markdown("\n".join(f"- {sentence}" for sentence in cached.notices(run, i, lang)))


def predict() -> None:
    asked = cached.prediction(run, i, lang)
    if asked:
        question = say(asked.question, q=run.name(i, lang))
        show.predict(question, asked.answers, asked.right, asked.because, key="heads")


def together() -> None:
    st.subheader(say(text.TOGETHER), anchor=False)
    frame, put = cached.parts(run, i, shared.seed, lang)
    width, d_model = put.W_o.shape
    h = len(frame)
    q = run.name(i, lang)
    left, right = st.columns((5, 6), gap="large")
    with left:
        st.markdown(say(text.TOGETHER_NETS if ask.net else text.TOGETHER_LEAD, h=h, d_v=width // h, width=width, d_model=d_model))
        st.latex(text.TOGETHER_FORMULA)
        if not ask.net:
            made = text.TOGETHER_TRAINED if source == "real" else text.TOGETHER_DRAWN
            st.caption(say(made, seed=str(shared.seed), d_model=d_model, layer=ask.layer))
        elif ask.net.net.task:
            st.caption(say(text.TOGETHER_ADDED))
        if source == "hand":
            st.caption(say(text.TOGETHER_LAYERS, name=say(text.HEADS["coreference"])))
        show.checks((say(text.CHECKS["parts"]), put.difference, cached.parts_slack(put)))
    with right:
        st.markdown(f"**{say(text.PARTS, q=q)}**")
        best = frame["share"].idxmax()
        total = float(frame["share"].sum())
        says = say(text.PARTS_SAYS, q=q, total=total, name=frame["head"][best], share=float(frame["share"][best]))
        show.chart(
            charts.parts,
            frame,
            key="h_parts",
            says=says if total else say(text.PARTS_ZERO, q=q),
            columns=text.PART_COLUMNS,
            data=cached.with_sum(frame, put, i, lang),
            names=tuple(frame["head"]),
            x_title=say(text.PART_SHARE),
            ends=cached.part_ends(frame),
        )


def masks_and_leaks() -> None:
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader(say(text.MASK), anchor=False)
        found = cached.polarity(ask.family())
        if found.keep:
            st.markdown(say(text.MASK_LEAD))
            st.code(found.keep, language="python", height=220 if run.T > 8 else "content")
            for title, call in ((text.MASK_SDPA, found.sdpa), (text.MASK_MHA, found.mha)):
                st.caption(say(title))
                st.code(call, language="python", wrap_lines=True)
        else:
            st.markdown(say(text.MASK_NONE))
            st.code(f"{found.sdpa}\n{found.mha}", language="python", wrap_lines=True)
        if found.empty_rows:
            rows = ", ".join(str(r + run.first) for r in found.empty_rows)
            st.markdown(say(text.MASK_EMPTY, rows=rows))
    with right:
        st.subheader(say(text.LEAK, q=run.name(i, lang)), anchor=False)
        leak()


def leak() -> None:
    two = source == "hand" and run.head.layer == 2
    stacked = ask.layered and run.head.layer > run.first
    more = [say(text.LEAK_TWO)] if two else [say(text.LEAK_LAYER, layer=run.head.layer)] if stacked else []
    st.markdown(show.sentences(say(text.LEAK_LEAD), *more))
    frame = cached.reach_frame(run, i, lang)
    show.chart(
        charts.bars,
        frame,
        key="h_leak",
        says=cached.reach_says(run, i, lang),
        columns=text.LEAK_COLUMNS,
        data=cached.reach_table(run, frame),
        labels=cached.axis(run.labels),
        key_title=say(text.INPUT),
        value_title=say(text.LEAK_AXIS),
        symbol="v",
        top=cached.reach_top(frame),
    )
    show.checks((say(text.CHECKS["leak"]), cached.reach(ask, i).leak, 0.0))


def second_controls(kind: str) -> None:
    if kind == "head" and source == "real":
        small(220, "h_layer2", text.SECOND["layer"])
        small(280, "h_rhead2", text.SECOND["number"])
    elif kind == "head" and source == "trained":
        choose_arm("h_arm2", text.SECOND["arm"])
        sizes = training.config.net(training.config.arms[state.get("h_arm2") - 1])
        choose_head("h_tl2", "h_th2", text.SECOND["net_layer"], text.SECOND["net_head"], sizes)
    elif kind == "head":
        with st.container(width=300):
            controls.select("h_head2", text.SECOND["head"], text.HEADS)
    elif kind == "tau":
        small(280, "h_tau2", text.SECOND["tau"])
    elif kind == "mask":
        with st.container(width=220):
            controls.select("h_mask2", text.SECOND["mask"], text.MASKS)
    elif source == "trained":
        with st.container(width=200):
            controls.whole("h_ex2", text.SECOND["example"])
    elif source != "typed":
        with st.container(width=560):
            controls.select("h_sent2", text.SECOND["sentence"], {s: cached.sentence_text(s, lang) for s in settings.SENTENCES})


def compare() -> None:
    st.subheader(say(text.COMPARE), anchor=False)
    kind = state.get("h_cmp")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        with st.container(width="content"):
            kinds = text.COMPARE_NETS if ask.net else text.COMPARE_KINDS
            one = ask.net is not None and ask.net.net.task is None  # "The cat sat" is the only example of its task
            controls.segments("h_cmp", text.COMPARE_KIND, kinds, options=tuple(kinds)[1:] if one else tuple(kinds))
        second_controls(kind)
    if kind == "sentence" and source in ("typed", "real"):
        controls.text("h_text2", text.SECOND["text"], hint=text.TYPE_HINT)
    other = cached.second(ask, kind, lang, state.get, nets)
    found = cached.compare(ask, other)
    if found.b.head is None:
        st.info(say(text.REASONS[found.b.reason]))
        return
    sides = cached.sides(found, lang, show.look())
    names = (
        say(text.ON_SCREEN, what=cached.described(ask, kind, lang, arms=arms)),
        say(text.OTHER, what=cached.described(other, kind, lang, True, arms)),
        say(text.B_MINUS_A),
    )
    with st.container(horizontal=True, gap="medium"):
        for key, name, drawn in zip("abd", names, sides):
            with st.container(width=drawn.width, gap="xxsmall"):
                st.markdown(f"**{name}**")
                show.chart(
                    drawn.draw,
                    drawn.frame,
                    key=f"h_cmp_{key}{'_large' if drawn.large else ''}",
                    says=say(text.COMPARE_ONE, what=name),
                    caption=False,
                    **drawn.labels,
                )
    st.markdown(cached.compare_says(found, lang))
    if kind == "head" and other.net is not ask.net:
        st.caption(say(text.COMPARE_LENS if cached.lens(ask) else text.COMPARE_OWN))


def absent() -> None:
    box = st.container(border=True, key="absent")
    with box:
        if run.reason in text.INSTALLS:
            st.markdown(f"**{say(text.EXTRA)}**")
            st.markdown(say(text.REASONS[run.reason]))
            st.code(cached.available().command, language="bash")
        elif run.reason == "no_run":
            gone = trained_heads.gone()
            if not gone:
                st.markdown(f"**{say(text.NO_RUN)}**")
            st.markdown(say(text.REASONS["run_gone" if gone else "no_run"]))
        else:
            st.markdown(say(text.REASONS[run.reason]))
        if source == "trained":
            state.page_link("training", say(text.TO_TRAINING), icon=":material/model_training:")
        if run.reason == "needs_features":
            st.caption(say(text.WORKS_TYPED))
            with st.container(horizontal=True):
                for name in cached.TYPED:
                    st.button(say(text.HEADS[name]), key=f"h_works_{name}", on_click=state.put, kwargs={"h_head": name})


def about_net() -> None:
    task = ask.net.config.task
    says = [say(training_text.RULES[task], loss=SOLVED_LOSS, accuracy=SOLVED_ACCURACY, batches=SOLVED_STEPS)]
    if ask.net.own_mask() is not None:
        says.append(say(text.OWN_MASK))
    st.caption(show.sentences(*says, say(text.FARTHER)))
    with st.container(horizontal=True, vertical_alignment="center"):
        state.page_link("training", say(text.TO_TRAINING), icon=":material/model_training:")
        if cached.lens(ask):
            st.button(say(text.AS_TRAINED), key="h_as_trained", on_click=trained_heads.look_as_trained)


# Whatever follows the chosen row and cell redraws together, without the controls, the comparison and what to try.
@state.fragment
def reading() -> None:
    global i, j, painted, view
    if cached.asked(shared, state.get, nets) != ask:
        st.rerun()  # a cell was painted, or another head opened: that is the whole page's business
    view = state.get("h_view")
    i, asked_col = (min(state.get(key), run.T - 1) for key in ("h_row", "h_col"))
    if (i, asked_col) != (state.get("h_row"), state.get("h_col")):
        state.settle(h_row=i, h_col=asked_col)
    j = run.col(i, asked_col)
    painted = parse_cells(state.get("h_cells"), run.T)
    left, right = st.columns((15, 11), gap="large")
    with left:
        matrix()
    with right:
        one_row()
    all_heads()
    left, right = st.columns(2, gap="large")
    with left:
        notice()
    with right:
        predict()
    one_cell()
    masks_and_leaks()
    together()


st.markdown(say(text.LEAD))
choose()
settle_mask()
ask = cached.asked(shared, state.get, nets)
run = cached.shown(ask)
if run.head is None:
    absent()
    show.try_this("heads", text.TRY)
else:
    st.caption(cached.origin(run, lang, arms))
    if ask.net:
        about_net()
    if run.family.found > run.T:
        st.caption(say(text.CUT, found=run.family.found, kept=cached.kept(run)))
    if shared.mask == "padding" and not run.family.pad:
        st.caption(say(text.NO_PADDING))
    reading()
    compare()
    show.try_this("heads", text.TRY)
    show.code(*{"real": cached.CODE_REAL, "trained": cached.CODE_TRAINED}.get(source, cached.CODE))
    show.matrices(lambda: cached.tensors(run))
own_heads.section()
