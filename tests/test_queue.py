"""Heavy computations take turns, in the order of asking, and a place in line is given up by whoever leaves it."""

from __future__ import annotations

import threading
import time

import pytest

from qkv_core.ui.queue import Kept, Line, heavy


def in_background(function) -> threading.Thread:
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread


def until(true) -> None:
    end = time.monotonic() + 10
    while not true():
        assert time.monotonic() < end, "waited 10 s"
        time.sleep(0.005)


def test_a_line_is_served_in_the_order_of_asking_and_one_at_a_time() -> None:
    line, served, inside = Line(), [], []

    def job(name: int) -> None:
        with line.hold():
            inside.append(name)
            assert len(inside) == 1
            served.append(name)
            time.sleep(0.01)
            inside.remove(name)

    with line.hold():
        threads = []
        for name in range(5):
            threads.append(in_background(lambda name=name: job(name)))
            until(lambda: len(line._line) == name + 2)
    for thread in threads:
        thread.join(10)
    assert served == [0, 1, 2, 3, 4]


def test_who_waits_is_told_how_many_stand_before() -> None:
    line, told = Line(), []
    done = threading.Event()

    def holder() -> None:
        with line.hold():
            done.wait(10)

    thread = in_background(holder)
    until(lambda: len(line._line) == 1)

    def waiting(place: int) -> None:
        told.append(place)
        done.set()

    with line.hold(waiting):
        assert told and set(told) == {1}
    thread.join(10)


def test_who_leaves_gives_the_place_up() -> None:
    line = Line()
    release = threading.Event()

    def holder() -> None:
        with line.hold():
            release.wait(10)

    thread = in_background(holder)
    until(lambda: len(line._line) == 1)

    def leave(place: int) -> None:
        raise KeyboardInterrupt  # as Streamlit's own signals, no Exception

    with pytest.raises(KeyboardInterrupt), line.hold(leave):
        pass
    release.set()
    thread.join(10)
    assert not line._line
    with line.hold():
        pass


def test_a_short_job_waits_for_a_slice_of_a_long_one_only() -> None:
    order, asked = [], threading.Event()

    def long() -> None:
        with heavy(long=True) as let_others:
            for slice_ in range(50):
                order.append(slice_)
                asked.wait(10)
                time.sleep(0.005)
                let_others()

    thread = in_background(long)
    until(lambda: order)
    asked.set()
    with heavy():
        order.append("short")
    thread.join(20)
    assert order[-1] == 49 and order.index("short") < 40


def test_two_long_jobs_follow_each_other() -> None:
    order = []

    def long(name: str) -> None:
        with heavy(long=True) as let_others:
            for _ in range(5):
                order.append(name)
                let_others()
                time.sleep(0.002)

    threads = [in_background(lambda name=name: long(name)) for name in "ab"]
    for thread in threads:
        thread.join(10)
    assert order in (["a"] * 5 + ["b"] * 5, ["b"] * 5 + ["a"] * 5)


def test_an_error_in_a_job_frees_its_places() -> None:
    for _ in range(2):
        with pytest.raises(ValueError), heavy(long=True) as let_others:
            let_others()
            raise ValueError
    with heavy():
        pass


def test_the_last_results_are_kept_and_the_oldest_goes() -> None:
    kept = Kept(2)
    assert kept.get("a") is None
    kept.put("a", 1), kept.put("b", 2)
    assert kept.get("a") == 1  # and now "b" is the oldest
    kept.put("c", 3)
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == (1, None, 3)
