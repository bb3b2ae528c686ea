"""Heavy computations, one at a time for the whole process, in the order of asking.

Two cores serve a class. Short jobs take turns; a long job holds the one place for long jobs, gives the turn to whoever
waits after each of its slices, and so delays a short job by a slice and no more. Whoever waits is told the place in
line. Waiting and every turn are moments at which Streamlit may end the run, because its viewer moved a control or
left: the place in line is then given up.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from qkv_core.text import frame
from qkv_core.ui.controls import say

Waiting = Callable[[int], None]
"""Told how many stand before the caller; called about three times a second."""

PATIENCE = 0.3
"""Seconds between two such calls."""


class Line:
    """A lock that goes to whoever has waited longest."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._line: deque[object] = deque()

    @contextmanager
    def hold(self, waiting: Waiting | None = None) -> Iterator[None]:
        me = object()
        with self._changed:
            self._line.append(me)
        try:
            while (place := self._first_in_time(me)) > 0:
                if waiting:
                    waiting(place)
            yield
        finally:
            with self._changed:
                self._line.remove(me)
                self._changed.notify_all()

    def _first_in_time(self, me: object) -> int:
        """How many still stand before me after a moment's wait."""
        with self._changed:
            self._changed.wait_for(lambda: self._line[0] is me, PATIENCE)
            return self._line.index(me)


_LONG, _TURN = Line(), Line()


@contextmanager
def heavy(waiting: Waiting | None = None, long: bool = False) -> Iterator[Callable[[], None]]:
    """Waits for the turn to compute. What it hands over lets those who wait go first: a long job calls it between slices."""
    with ExitStack() as place, ExitStack() as turn:
        if long:
            place.enter_context(_LONG.hold(waiting))

        def let_others() -> None:
            turn.close()
            turn.enter_context(_TURN.hold())

        turn.enter_context(_TURN.hold(waiting))
        yield let_others


class Sharing:
    """Slices of computing for those who come back tick after tick: one at a time, and equal parts of a tick for all.

    gone: seconds without a slice after which somebody no longer counts.
    """

    def __init__(self, gone: float = 1.5) -> None:
        self._gone, self._seen, self._lock = gone, dict[int, float](), threading.Lock()

    def count(self) -> int:
        """How many share at this moment."""
        with self._lock:
            self._forget()
            return len(self._seen)

    @contextmanager
    def slice_(self, who: object, tick: float, longest: float, duty: float = 0.7) -> Iterator[float]:
        """Waits for the turn and hands over the seconds to compute: an equal part of `duty` of a tick, `longest` at most."""
        with self._lock:
            self._seen[id(who)] = time.monotonic()
            self._forget()
            budget = min(longest, duty * tick / len(self._seen))
        with _TURN.hold():
            yield budget

    def leave(self, who: object) -> None:
        with self._lock:
            self._seen.pop(id(who), None)

    def _forget(self) -> None:
        now = time.monotonic()
        self._seen = {key: at for key, at in self._seen.items() if now - at <= self._gone}


class Rooms:
    """Places for what takes memory: at most `most` at a time, the longest idle one gives way, the others wait in line.

    Whoever holds a place has a method `put_away()`, which frees what it holds. idle: seconds without asking after
    which a place may be given to another; gone: seconds without asking after which a place in line is lost.
    """

    def __init__(self, most: int, idle: float, gone: float = 3.0) -> None:
        self.most, self.idle, self.gone = most, idle, gone
        self._holders = dict[int, tuple[weakref.ref, float]]()
        self._line = dict[int, float]()
        self._lock = threading.Lock()

    def ask(self, who: Any) -> int:
        """0 when `who` has a place from now on, else how many stand before, oneself included."""
        me, now = id(who), time.monotonic()
        with self._lock:
            self._holders = {key: held for key, held in self._holders.items() if held[0]() is not None}
            self._line = {key: at for key, at in self._line.items() if key == me or now - at <= self.gone}
            if me not in self._holders:
                self._line[me] = now
                place = list(self._line).index(me) + 1
                if place > self.most - len(self._holders) and not (place == 1 and self._make_room(now)):
                    return place
                del self._line[me]
            self._holders[me] = (weakref.ref(who), now)
            return 0

    def leave(self, who: Any) -> None:
        with self._lock:
            self._holders.pop(id(who), None)
            self._line.pop(id(who), None)

    def count(self) -> int:
        with self._lock:
            return sum(held[0]() is not None for held in self._holders.values())

    def _make_room(self, now: float) -> bool:
        key, (holder, at) = min(self._holders.items(), key=lambda item: item[1][1])
        if now - at < self.idle:
            return False
        del self._holders[key]
        if (idler := holder()) is not None:
            idler.put_away()
        return True


class Kept:
    """The last results of a function, by key, for all viewers: a cache for what reports its progress while it runs.

    `st.cache_data` replays what was drawn inside it and refuses a progress bar from outside. Results are read-only.
    """

    def __init__(self, most: int) -> None:
        self._most, self._results, self._lock = most, OrderedDict[Hashable, Any](), threading.Lock()

    def get(self, key: Hashable) -> Any | None:
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
            return self._results.get(key)

    def put(self, key: Hashable, result: Any) -> Any:
        with self._lock:
            self._results[key] = result
            while len(self._results) > self._most:
                self._results.popitem(last=False)
        return result


def telling(line: Any, drawing: Callable[[float], str]) -> tuple[Callable[[float], None], Waiting]:
    """How a job tells its viewer, in the placeholder `line`, how far it is, and before that how many stand before it.

    A job of one slice shows no bar: it is over before anyone could read it.
    """

    def progress(share: float) -> None:
        if share < 1:
            line.progress(share, text=drawing(share))
        else:
            line.empty()

    def waiting(place: int) -> None:
        line.info(say(frame.WAITING_ONE) if place == 1 else say(frame.WAITING, n=place), icon=":material/hourglass_top:")

    return progress, waiting
