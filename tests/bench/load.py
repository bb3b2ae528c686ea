"""A class at once: many viewers train, others read; and one viewer trains for long. Wall-clock, over the app's websocket.

The viewers are threads of the measuring process and share its machine with the server, which a real class does not do:
a real server has more room than this shows.
"""

from __future__ import annotations

import re
import statistics as stats
import threading
import time

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.bench._proc import spent, status_mib
from tests.bench._wire import Viewer
from tests.bench.pages import serving

CLASS = 20
READ = ("", "triad", "variance", "saturation", "shapes", "heads", "positions", "complexity")
TOGETHER = 30.0
"""Seconds for which the class trains."""
THINKS = 0.5
"""Seconds that the reader looks at what came."""
LONG, EARLY = 20_000, 4_000
"""Steps of the long run, and the step from which its memory should stand still."""
STEP = re.compile(r"step \*\*([\d,]+)\*\*")


class Trainee(Viewer):
    """A viewer on the training page whose browser ticks: it asks for a part of the page when the server said it should."""

    def __init__(self, port: int, query: str) -> None:
        super().__init__(port)
        self.step, self.page_hash = 0, ""
        self.ticks: dict[str, tuple[float, float]] = {}
        self.answered: dict[str, float] = {}
        self.run("training", query)

    def press(self, key: str) -> None:
        """Presses a button; `answered` will tell when something with another key was drawn."""
        message = BackMsg()
        message.rerun_script.page_name = "training"
        message.rerun_script.widget_states.widgets.extend(self.widgets.values())
        message.rerun_script.widget_states.widgets.add(id=self.ids[key], trigger_value=True)
        self.answered.clear()
        self.socket.send(message.SerializeToString())

    def live(self, until: float, answer: str = "", enough: int = 0) -> float | None:
        """Ticks and listens until a moment, `enough` steps or the drawing of a widget with the key `answer`; when that was."""
        while (now := time.perf_counter()) < until:
            due = min((at for _, at in self.ticks.values()), default=until)
            try:
                data = self.socket.recv(timeout=max(0.0, min(due, until) - now))
            except TimeoutError:
                self._tick()
                continue
            self._hear(data)
            if answer in self.answered:
                return self.answered[answer]
            if enough and self.step >= enough:
                return time.perf_counter()
        return None

    def _tick(self) -> None:
        now = time.perf_counter()
        for fragment, (interval, at) in self.ticks.items():
            if at <= now:
                message = BackMsg()
                message.rerun_script.fragment_id = fragment
                message.rerun_script.page_script_hash = self.page_hash
                message.rerun_script.is_auto_rerun = True
                message.rerun_script.widget_states.widgets.extend(self.widgets.values())
                self.socket.send(message.SerializeToString())
                self.ticks[fragment] = (interval, now + interval)

    def _hear(self, data: bytes) -> None:
        self.bytes += len(data)
        answer = ForwardMsg.FromString(data)
        kind = answer.WhichOneof("type")
        if kind == "auto_rerun":
            told = answer.auto_rerun
            if self.ticks.get(told.fragment_id, (0.0, 0.0))[0] != told.interval:
                self.ticks[told.fragment_id] = (told.interval, time.perf_counter() + told.interval)
        elif kind == "stop_auto_rerun":
            for fragment in answer.stop_auto_rerun.fragment_ids:
                self.ticks.pop(fragment, None)
        elif kind == "navigation":
            self.page_hash = answer.navigation.page_script_hash
        elif kind == "delta":
            self._remember(answer)
            if found := STEP.search(answer.delta.new_element.markdown.body):
                self.step = int(found[1].replace(",", ""))

    def _remember(self, answer: ForwardMsg) -> None:
        super()._remember(answer)
        element = answer.delta.new_element
        if element.WhichOneof("type") == "button":
            self.answered[element.button.id.rsplit("-", 1)[-1]] = time.perf_counter()


def train_together(port: int, many: int, when: str = "") -> list[dict[str, str]]:
    """So many press Play; meanwhile another opens the pages, moves a slider, and one of the class presses Pause and Play.

    when: said before each line, e.g. that nobody has opened the pages of this server yet.
    """
    end = threading.Event()
    trainees = [Trainee(port, f"tr_until=20000&seed={n}&d_k=16") for n in range(many)]
    pressed: list[float] = []

    def attend(trainee: Trainee, presses: bool) -> None:
        trainee.press("tr_play")
        trainee.live(time.perf_counter() + 5)
        while not end.is_set():
            if presses:
                for key, then in (("tr_pause", "tr_play"), ("tr_play", "tr_pause")):
                    start = time.perf_counter()
                    trainee.press(key)
                    if at := trainee.live(start + 10, then):
                        pressed.append(at - start)
                    trainee.live(time.perf_counter() + 1)
            else:
                trainee.live(time.perf_counter() + 0.5)

    class_ = [threading.Thread(target=attend, args=(t, n == 0)) for n, t in enumerate(trainees)]
    for thread in class_:
        thread.start()
    time.sleep(10)
    begun, first = time.perf_counter(), [t.step for t in trainees]
    opened, moved = [], []
    with Viewer(port) as reader:
        reader.run()
        while time.perf_counter() - begun < TOGETHER:
            for page in READ:
                opened.append(reader.run(page)[1])
                for label in ("32", "16"):
                    time.sleep(THINKS)
                    reader.set("d_k", label)
                    moved.append(reader.run(page)[1])
                time.sleep(THINKS)
    took = time.perf_counter() - begun
    steps = [t.step - was for t, was in zip(trainees, first)]
    end.set()
    for thread in class_:
        thread.join()
    for trainee in trainees:
        trainee.socket.close()
    pace = [n / took for n in steps[1:]]  # the first of the class pauses now and then
    rows = [
        _row(f"{when}{many} train: another opens a page", "under 1,000 ms", opened),
        _row(f"{when}{many} train: another moves a slider of a page", "under 1,000 ms", moved),
        _row(f"{when}{many} train: Pause or Play answered", "under 250 ms", pressed),
    ]
    if pace:
        rows.append({
            "case": f"{many} train: steps a second of each", "target": "all advance",
            "measured": f"{min(pace):.0f} to {max(pace):.0f}", "note": f"wall, {took:.0f} s; 2 x 30 runs each",
        })  # fmt: skip
    return rows


def train_long(port: int, pid: int) -> dict[str, str]:
    """One viewer trains to the cap; the server's memory after 4,000 steps and after 20,000."""
    with Trainee(port, f"tr_until={LONG}&d_k=16") as trainee:
        trainee.press("tr_play")
        trainee.live(time.perf_counter() + 300, enough=EARLY)
        early = status_mib("VmRSS", pid)
        trainee.live(time.perf_counter() + 300, enough=LONG)
        grown = status_mib("VmRSS", pid) - early
        return {
            "case": f"one viewer trains {trainee.step:,} steps: growth of the server's memory",
            "target": "records of at most 36, snapshots", "extra MiB": f"{grown:.1f}", "note": f"since step {EARLY:,}; 60 runs; every step of every run is kept for looking back",
        }  # fmt: skip


def leave(port: int, pid: int) -> dict[str, str]:
    """A closed tab ends the work: processor seconds of the server in the second after a tab was closed while training."""
    with Trainee(port, "tr_until=20000&d_k=16") as trainee:
        trainee.press("tr_play")
        trainee.live(time.perf_counter() + 4)
        before = spent(pid)
        trainee.live(time.perf_counter() + 3)
        busy = (spent(pid) - before) / 3
    time.sleep(2)
    before = spent(pid)
    time.sleep(3)
    return {
        "case": "a tab closed while it trains: the server's work 2 s later", "target": "none",
        "measured": f"{100 * (spent(pid) - before) / 3:.1f} % of a core", "note": f"before: {100 * busy:.0f} %",
    }  # fmt: skip


def _row(case: str, target: str, seconds: list[float]) -> dict[str, str]:
    """p50 and the slowest of twenty, in milliseconds."""
    ordered = sorted(1e3 * s for s in seconds)
    return {
        "case": case, "target": target, "measured": f"p50 {stats.median(ordered):.0f} ms, p95 {ordered[int(0.95 * (len(ordered) - 1))]:.0f} ms",
        "pairs": str(len(ordered)), "note": "wall; the viewers run on the server's machine",
    }  # fmt: skip


def rows() -> list[dict[str, str]]:
    """Finished lines of the table."""
    with serving("dashboard.py") as (port, pid):
        with Viewer(port) as viewer:
            viewer.run()
            time.sleep(6)
        return [
            *train_together(port, 1, "pages never opened before, "), *train_together(port, 1),
            leave(port, pid), *train_together(port, CLASS), train_long(port, pid),
        ]  # fmt: skip
