"""Training: two arms from the same seeds on the same batches, live, with and without the scale."""

import streamlit as st

from qkv_core.text import frame
from qkv_core.text import training as text
from qkv_core.ui import controls, experiment, grid, player, show, state
from qkv_core.ui.cached import training as cached
from qkv_core.ui.controls import say

from qkv_core.charts import base  # noqa: I001
from qkv_core.charts import training as charts
from qkv_core.records import SOLVED_ACCURACY, SOLVED_LOSS, SOLVED_STEPS

here = experiment.scene()
play, lang = here.player, state.get("lang")
shown = here.shown
config = shown.config
S = len(config.seeds)
names = text.arm_names(shown.kind, shown.values, shown.rates, lang)
phrases = text.arm_names(shown.kind, shown.values, shown.rates, lang, text.WITH)
ARMS = tuple(zip((a.name for a in config.arms), names, text.roles(shown.kind, shown.values)))


def main_controls() -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        with st.container(width=225):
            text_of = {"help": say(text.TASK_HELP), "after": experiment.take_task}
            controls.select("tr_task", text.TASK, text.TASKS, **text_of)
        with st.container(width=165):
            controls.shared("d_k")
        with st.container(width=185):
            controls.steps("tr_lr", text.LR, help=say(text.LR_HELP))
        with st.container(width=145):
            controls.steps("tr_seeds", text.SEEDS, help=say(text.SEEDS_HELP))
        with st.container(width="content"):
            controls.segments("tr_opt", text.OPTIMIZER, text.OPTIMIZERS)
        with st.container(width=225):
            controls.select("tr_kind", text.KIND, text.KINDS, help=say(text.KIND_HELP))
        with st.container(width=165):
            second_arm(state.get("tr_kind"))


def second_arm(kind: str) -> None:
    if kind == "scale":
        controls.select("tr_b_scale", text.OTHER, text.DIVISORS)
    else:
        controls.steps(f"tr_b_{kind}", text.OTHER)


def transport() -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        player.buttons(play, "tr", blocked=here.changed)
        with st.container(width=235):
            speeds = {v: show.num(v, "d") if v else text.FULL for v in (5, 25, 100, 0)}
            controls.segments("tr_speed", text.SPEED, speeds)
        with st.container(width=250):
            scrubber()
        with st.container(width="content"):
            controls.toggle("tr_log", text.LOG)
        more_settings()


def scrubber() -> None:
    steps = cached.stops(play.step)
    play.drawn_at = at = play.step
    key = f"tr_look_{at}"  # another range is another control: nothing a browser still sends of the old one counts
    with st.container(key="tr_look_back"):
        st.select_slider(
            say(text.LOOK),
            steps,
            value=min(steps, key=lambda step: abs(step - play.seen)),
            format_func=lambda step: text.number(step, ",d", lang),
            key=key,
            help=say(text.LOOK_HELP),
            disabled=play.step == 0 and not play.running,
            on_change=lambda: experiment.see(st.session_state[key], at),
        )


def more_settings() -> None:
    box = st.popover(say(text.MORE), icon=":material/tune:", key="tr_more", on_change="rerun")
    if not box.open:
        return
    with box, st.container(horizontal=True, vertical_alignment="bottom", gap="medium", width=720):
        with st.container(width=200):
            controls.steps("tr_heads", text.HEADS, help=say(text.HEADS_HELP))
        with st.container(width=200):
            controls.select("tr_layers", text.LAYERS, text.LAYER_NAMES)
        with st.container(width=220):
            controls.steps("tr_init", text.INIT, help=say(text.INIT_HELP))
        with st.container(width=240):
            controls.select("tr_start", text.START, text.STARTS)
        with st.container(width=190):
            controls.whole("tr_until", text.UNTIL, help=say(text.UNTIL_HELP))
        with st.container(width=200):
            controls.shared("tau")
        with st.container(width=200):
            controls.shared("mask")
        with st.container(width=220):
            controls.shared("scale")


def what_changed() -> None:
    for note in here.wanted.notes:
        st.info(say(text.NOTES[note.code], asked=note.asked, used=note.used), icon=":material/info:")
    for notice in here.trainer.notices if here.trainer else ():
        if notice.code in text.NOTICES:
            st.info(say(text.NOTICES[notice.code], step=notice.step), icon=":material/memory:")
    changes = sum(row[0] > 0 for row in state.get("tr_rates"))
    if changes and here.trainer is None:
        st.info(say(text.REPLAY, until=state.get("tr_until"), n=changes), icon=":material/history:")
    if here.changed:
        with st.container(border=True, key="tr_changed"):
            st.markdown(say(text.CHANGED, step=play.step))
            with st.container(horizontal=True):
                st.button(say(text.CHANGED_GO), key="tr_go", icon=":material/play_arrow:", on_click=experiment.start)
                st.button(say(text.CHANGED_BACK), key="tr_back", icon=":material/undo:", on_click=experiment.keep)


def summary():
    return cached.summary(play, config, here.records())


def big_numbers() -> None:
    counts = cached.counts(here.trainer, config)
    for place, (_, name, _), count, mark in zip(st.columns(len(ARMS), gap="small"), ARMS, counts, text.MARKS):
        with place:
            solved = say(text.OF, solved=count.solved, seeds=count.seeds)
            st.metric(f"{mark} {name}", solved, border=True, help=say(text.INTERVAL_HELP))
            st.caption(say(text.INTERVAL, low=count.low, high=count.high))


def told() -> None:
    """What the run shows so far, in words with its numbers."""
    counts = cached.counts(here.trainer, config)
    if play.step == 0:
        frozen = cached.first(config).frozen[0].mean(-1).tolist()
        msg = text.START_LEAD if frozen[1] > frozen[0] else text.START_ALIKE
        st.markdown(say(msg, first=phrases[0], second=phrases[1], a=frozen[0], b=frozen[1]))
    else:
        st.markdown(text.claim(counts, phrases, play.step, play.running, lang))
    losses = cached.now(summary(), "loss")
    st.markdown(say(text.LOSS_NOW, parts=text.listed(text.LOSS_PART, phrases, losses, "loss", lang)))
    if here.trainer and (lost := text.diverged(counts, here.trainer.diverged(), phrases, lang)):
        st.warning(lost, icon=":material/error_outline:")


def measure(name: str, called: str, *, pixels: int, log: bool = False, share: bool = False, words: bool = False, **more) -> int:
    """One measure over the steps; the numbers it ends at stand under it where `words` says so. How many points are left out."""
    frame, left_out = cached.lines(summary(), name, log, cached.POINTS if name == "loss" else cached.FEW)
    part = text.SHARE_PART if share else text.LINE_PART
    show.chart(
        charts.lines, frame, key=f"tr_{name}", says=text.listed(part, names, cached.now(summary(), name), "value", lang),
        alt=called, caption=words, arms=ARMS, x_title=say(text.STEP_AXIS), log=log, share=share, pixels=pixels, end=play.end,
        **more,
    )  # fmt: skip
    return left_out


def live() -> None:
    """The part that ticks: a slice of training, then what there is to see."""
    state.ticks()
    if play.tick():
        st.rerun()
    left, right = st.columns((13, 8), gap="large")
    with left:
        loss = say(text.LOSS.get(config.task, text.LOSS["other"]))
        left_out = measure("loss", loss, pixels=360, log=state.get("tr_log"), zoom=True, y_title=loss)
        st.caption(say(text.ZOOM))
        if left_out:
            st.caption(say(text.LEFT_OUT, n=left_out))
    with right:
        big_numbers()
        told()
        st.caption(figures())
        if words := player.standing(play):
            st.info(words, icon=":material/hourglass_top:" if play.place else ":material/pause_circle:")
        measure("solved", say(text.SOLVED), pixels=90, share=True, legend=False, title=say(text.SOLVED))


def figures() -> str:
    device = here.trainer.device.type if here.trainer else controls.device_in_use()
    pace = text.pace(play.pace(), lang)
    device_name = say(text.DEVICES.get(device, text.DEVICES["cpu"]))
    return say(
        text.FIGURES, step=play.step, pace=pace, elapsed=play.elapsed, device=device_name, runs=S * len(ARMS),
        low=str(config.seeds[0]), high=str(config.seeds[-1]),
    )  # fmt: skip


def run_controls() -> None:
    heads = max(config.net(arm).heads for arm in config.arms)
    beyond = {key: min(state.get(key), most) for key, most in (("tr_run", S), ("tr_head", heads))}
    if any(state.get(key) != value for key, value in beyond.items()):
        state.settle(**beyond)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        with st.container(width=170):
            controls.whole("tr_run", text.RUN)
        if config.task != "cat_sat":
            with st.container(width=170):
                controls.whole("tr_ex", text.EXAMPLE, help=say(text.EXAMPLE_HELP))
        if heads > 1:
            with st.container(width=170):
                controls.whole("tr_head", text.HEAD)


def moments():
    run, example = state.get("tr_run") - 1, state.get("tr_ex") - 1
    return [cached.moment(here.trainer, config, arm, run, example, play.seen) for arm in range(len(ARMS))]


def inside() -> None:
    """The maps and the answers of one run; it draws while another part trains."""
    state.ticks()
    seen = moments()
    st.subheader(say(text.MAPS, run=state.get("tr_run"), step=seen[0].step), anchor=False)
    if config.task != "cat_sat":
        st.text(say(text.SEQUENCE, tokens=text.SEPARATOR.join(seen[0].tokens)))
    if seen[0].step != play.seen:
        st.caption(say(text.REPLAYED, step=seen[0].step))
    with st.container(horizontal=True, gap="medium"):
        for (code, name, _), mark, moment in zip(ARMS, text.MARKS, seen):
            maps(code, name, mark, moment)
        with st.container(width="content"):
            show.small_table(*text.answers_table(seen, names, lang))
    places = st.columns(4 if config.task == "cat_sat" else 5, gap="medium")
    shares = ("frozen",) if config.task == "cat_sat" else ("frozen", "accuracy")
    for place, name in zip(places, ("norm_q", "norm_k", "norm_v", *shares)):
        with place:
            share = name in shares
            title = say(text.MEASURES[name])
            measure(name, title, pixels=150, share=share, log=not share, words=True, title=title, legend=False)


def maps(code: str, name: str, mark: str, moment) -> None:
    T = len(moment.tokens)
    words = max(map(len, moment.tokens)) > 3
    cell = 76 if T <= 3 else 62 if words else 30 if T < 10 else 23
    head = min(state.get("tr_head"), moment.weights[0].shape[0]) - 1
    for layer, weights in enumerate(moment.weights):
        with st.container(width=cell * T + 96, gap="xxsmall"):
            title = say(text.MAP_TITLE, mark=mark, name=name)
            st.markdown(show.sentences(title, say(text.LAYER, layer=layer + 1)) if len(moment.weights) > 1 else title)
            values = weights[head].tolist()
            texts = [[show.num(w, ".2f") for w in row] for row in values]
            show.chart(
                base.matrix,
                base.cells(values, texts, moment.tokens, moment.tokens),
                key=f"tr_map_{code}_{layer}",
                says=say(
                    text.MAP_SAYS, seed=str(moment.seed), step=moment.step, decided=cached.decided(weights)
                ),
                alt=f"{name} {layer + 1}",
                symbol="weights",
                row_labels=moment.tokens,
                col_labels=moment.tokens,
                row_title=say(text.QUERIES),
                col_title=say(text.KEYS),
                value_title=say(text.WEIGHT),
                cell=cell,
                row_height=56 if T <= 3 else 26 + 90 // T,  # the picture's height holds the axis too
                numbers=T <= 3,
            )


def predictions() -> None:
    goal = state.get("tr_until")
    answers = [*names[:2], say(text.ANSWER_NONE)]
    counts = cached.counts(here.trainer, config)
    if play.step < goal:
        with st.container(border=True):
            st.markdown(f"**{say(text.PREDICT_FIRST)}**")
            question = say(text.PREDICT, step=goal)
            st.radio(question, range(3), index=None, format_func=lambda i: answers[i], key="predict_training_guess")
            st.caption(say(text.PREDICT_WAIT, step=goal))
        return
    because = text.claim(counts, phrases, play.step, False, lang)
    show.predict(say(text.PREDICT, step=play.step), answers, text.apart(counts), because, key="training")
    a, b = (cached.average_gradient(here.records(), arm) for arm in (0, 1))
    right = 2 if abs(a - b) < 0.1 * max(a, b) else int(b > a)
    told_ = say(text.BECAUSE_GRADIENT, first=phrases[0], second=phrases[1], a=a, b=b)
    choices = [*names[:2], say(text.ANSWER_EQUAL)]
    show.predict(say(text.PREDICT_GRADIENT), choices, right, text.upper(told_), key="training_gradient")


def beat() -> None:
    st.subheader(say(text.BEAT), anchor=False)
    st.markdown(say(text.BEAT_LEAD))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        with st.container(width="content"):
            controls.toggle("tr_beat", text.BEAT_ON)
        if state.get("tr_beat"):
            with st.container(width=320):
                controls.steps("tr_c_lr", text.BEAT_LR)
    if len(ARMS) > 2:
        counts = cached.counts(here.trainer, config)
        show.small_table(*text.board(counts, names, lang))


def limits() -> None:
    st.subheader(say(text.LIMITS), anchor=False)
    gradient = say(text.LIMIT["gradient_start"])
    if play.step and shown.kind == "scale":
        a, b = (cached.average_gradient(here.records(), arm) for arm in (0, 1))
        smaller = "gradient_smaller" if b < 0.9 * a else "gradient"
        gradient = say(text.LIMIT[smaller], first=phrases[0], second=phrases[1], a=a, b=b)
    told_ = [say(text.LIMIT["small"]), say(text.LIMIT["rates"]), gradient, say(text.LIMIT["meaning"]), say(text.LIMIT["toy"])]
    st.markdown("\n".join(f"- {sentence}" for sentence in told_))


def target() -> None:
    box = st.expander(say(text.TARGET), icon=":material/edit:", key="tr_target_box", on_change="rerun")
    if box.open:
        with box:
            st.caption(say(text.TARGET_LEAD))
            tokens = ("The", "cat", "sat")
            with st.container(width=460):
                grid.edit("tr_target", say(text.TARGET_NAME), tokens)
            grid.refused({"tr_target": say(text.TARGET_NAME)}, {"tr_target": tokens})
            grid.undo_and_original(("tr_target",))


def take_along() -> None:
    st.subheader(say(text.TAKE), anchor=False)
    trainer = here.trainer
    with st.container(horizontal=True):
        for key, label, make, name in (
            ("csv", text.CSV, cached.history, "qkv_training.csv"),
            ("weights", text.WEIGHTS_FILE, cached.weights_file, "qkv_training.pt"),
        ):
            st.download_button(
                say(label), lambda make=make: cached.in_turn(make, trainer), file_name=name, key=f"tr_{key}",
                icon=":material/download:", on_click="ignore", disabled=play.step == 0,
            )  # fmt: skip
    if play.step and not play.running:
        address, changes = experiment.link(here)
        msg = text.LINK if changes <= experiment.PLANNED else text.LINK_MANY
        st.caption(say(msg, step=play.step, n=changes, most=experiment.PLANNED))
        st.code(address, language=None, wrap_lines=True)


def checks() -> None:
    done = cached.checks(here.trainer, config, state.get("tr_run") - 1, play.seen, config.d_k, config.tau)
    show.checks(
        (say(text.CHECKS["alone"], runs=S * len(ARMS)), done.alone, done.tolerance),
        (say(text.CHECKS["sums"]), done.sums, 1e-5),
        (say(text.CHECKS["gradient"]), done.gradient, 1e-9),
    )


main_controls()
transport()
what_changed()
every = play.every()
st.fragment(live, run_every=every)()
run_controls()
st.fragment(inside, run_every=2 * every if every else None)()
rule = say(text.RULES[config.task], loss=SOLVED_LOSS, accuracy=SOLVED_ACCURACY, batches=SOLVED_STEPS)
st.markdown(rule)
if not play.running:
    if said := text.readable(cached.readable(here.trainer), phrases, cached.READABLE, cached.EXAMPLES, lang):
        st.markdown(said)
    if play.step:
        state.page_link(
            "heads", say(text.TO_HEADS), icon=":material/visibility:", h_src="trained", h_arm=1, h_run=state.get("tr_run"),
            h_ex=state.get("tr_ex"), h_tl=1, h_th=state.get("tr_head"), h_row=config.net(config.arms[0]).T - 1, h_col=-1,
        )  # fmt: skip
    checks()
    show.behind(cached.table(summary(), names, config), text.DATA_COLUMNS, key="tr_table")
left, right = st.columns(2, gap="large")
with left:
    predictions()
    beat()
with right:
    limits()
if config.task == "cat_sat":
    target()
take_along()
st.subheader(say(frame.TRY), anchor=False)
st.caption(say(text.PRESET_NOTE))
controls.presets("training", text.TRY, experiment.preset)
show.code(*cached.CODE)
