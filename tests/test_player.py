"""The player and the queue behind it: equal slices for all, places in line, exact steps, and no work for who is gone."""

from __future__ import annotations

import gc
import threading
import time

import pytest

from qkv_core.ui import player as players
from qkv_core.ui.player import Player
from qkv_core.ui.queue import Rooms, Sharing


class Counting:
    """Something that trains: counts its steps, a millisecond each."""

    def __init__(self, cost: float = 0.0, max_steps: int = 1000) -> None:
        self.step, self.max_steps, self.cost, self.rates = 0, max_steps, cost, [(0, (0.1, 0.1))]

    def advance(self, n: int) -> None:
        self.step = min(self.step + n, self.max_steps)

    def advance_for(self, seconds: float, most: int) -> None:
        end, first = time.perf_counter() + seconds, self.step
        while self.step < first + most and (self.step == first or time.perf_counter() < end):
            time.sleep(self.cost)
            self.advance(1)

    def set_lr(self, lr: float, arm: int) -> None:
        rates = list(self.rates[-1][1])
        rates[arm] = lr
        if self.rates[-1][0] == self.step:
            self.rates.pop()
        self.rates.append((self.step, tuple(rates)))


@pytest.fixture
def alone(monkeypatch):
    """A player outside any page, with the rooms to itself."""
    monkeypatch.setattr(players.state, "moves", lambda: 0)
    monkeypatch.setattr(players, "ROOMS", Rooms(most=2, idle=60))
    monkeypatch.setattr(players, "SHARING", Sharing())

    def make(**given) -> Player:
        player = Player()
        player.make = lambda: Counting(**given)
        player.touch()
        return player

    return make


def tick_until_halt(player: Player) -> int:
    for n in range(1, 500):
        if player.tick():
            return n
    raise AssertionError("it never came to a halt")


# sharing

def test_ticks_grow_rarer_with_the_crowd_and_the_page_is_drawn_anew_for_it_but_not_at_once(alone, monkeypatch) -> None:
    assert [players.interval(n) for n in (0, 1, 2, 3, 8, 9, 20, 24, 1000)] == [0.2, 0.2, 0.2, 0.4, 0.8, 1.2, 2.0, 2.0, 2.0]
    player, crowd = alone(max_steps=10**9), [1]
    player.until = 10**8
    monkeypatch.setattr(players.SHARING, "count", lambda: crowd[0])
    player.play()
    assert player.every() == 0.2 and not player.tick()
    crowd[0] = 20
    assert not player.tick()  # somebody may have come for a moment only
    monkeypatch.setattr(players, "STAY", -1.0)
    assert player.tick() and player.running
    assert player.every() == 2.0 and not player.tick()
    crowd[0] = 2
    assert player.tick() and player.every() == 0.2


@pytest.mark.parametrize("then", ["reset", "begin anew"])
def test_a_reset_while_a_tick_waits_for_its_turn_ends_that_tick_quietly(alone, then) -> None:
    player = alone(max_steps=1000, cost=0.001)
    player.play()
    player.tick()
    old = player.trainer

    class Cut(Counting):
        """Is replaced in mid-slice, as by a button pressed on another thread."""

        def advance_for(self, seconds: float, most: int) -> None:
            super().advance_for(seconds, 1)
            player.reset()
            if then != "reset":
                player.play()
                player._ready()

    player.trainer = cut = Cut()
    assert player.tick() is False
    assert cut.step == 1 and player.trainer is not cut and player.trainer is not old and player.step == 0


def test_whoever_ticks_rarely_still_counts() -> None:
    assert players.SHARING._gone > max(players.TICKS.values())



def test_twenty_viewers_who_train_at_once_all_advance_alike() -> None:
    sharing, done, stop = Sharing(), [0] * 20, time.monotonic() + 3.0
    inside = []

    def viewer(me: int) -> None:
        who = object()
        while time.monotonic() < stop:
            begun = time.monotonic()
            with sharing.slice_(who, 0.2, 0.08) as budget:
                inside.append(me)
                assert len(inside) == 1, "two slices at a time"
                time.sleep(budget)
                done[me] += 1
                inside.remove(me)
            time.sleep(max(0.0, 0.2 - (time.monotonic() - begun)))

    threads = [threading.Thread(target=viewer, args=(i,), daemon=True) for i in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert min(done) >= 4, done
    assert min(done) >= max(done) / 2, done


def test_a_slice_is_an_equal_part_of_a_tick() -> None:
    sharing, people = Sharing(), [object() for _ in range(7)]
    for n, who in enumerate(people, 1):
        with sharing.slice_(who, 0.2, 0.08, duty=0.7) as budget:
            assert budget == pytest.approx(min(0.08, 0.14 / n))
    assert sharing.count() == 7
    sharing.leave(people[0])
    assert sharing.count() == 6


def test_who_is_gone_no_longer_counts() -> None:
    sharing = Sharing(gone=0.05)
    with sharing.slice_(object(), 0.2, 0.08):
        pass
    time.sleep(0.08)
    assert sharing.count() == 0


# rooms


class Holder:
    def __init__(self) -> None:
        self.away = False

    def put_away(self) -> None:
        self.away = True


def test_one_too_many_waits_and_is_told_the_place_in_line() -> None:
    rooms, people = Rooms(most=2, idle=60), [Holder() for _ in range(4)]
    assert [rooms.ask(p) for p in people] == [0, 0, 1, 2]
    assert rooms.ask(people[3]) == 2  # asking first does not help
    rooms.leave(people[0])
    assert [rooms.ask(p) for p in people[1:]] == [0, 0, 1]


def test_who_left_the_line_is_not_waited_for() -> None:
    rooms, people = Rooms(most=1, idle=60, gone=0.05), [Holder() for _ in range(3)]
    assert [rooms.ask(p) for p in people] == [0, 1, 2]
    time.sleep(0.08)
    assert rooms.ask(people[2]) == 1


def test_the_longest_idle_gives_way() -> None:
    rooms, people = Rooms(most=2, idle=0.05), [Holder() for _ in range(3)]
    rooms.ask(people[0]), rooms.ask(people[1])
    time.sleep(0.08)
    rooms.ask(people[1])
    assert rooms.ask(people[2]) == 0
    assert [p.away for p in people] == [True, False, False]


def test_a_session_that_ended_frees_its_place() -> None:
    rooms, first = Rooms(most=1, idle=60), Holder()
    rooms.ask(first)
    del first
    gc.collect()
    assert rooms.ask(Holder()) == 0


# the player


def test_it_plays_to_its_goal_exactly_and_then_stands_still(alone) -> None:
    player = alone(cost=0.001)
    player.until = 50
    player.play()
    tick_until_halt(player)
    assert (player.step, player.running, player.told, player.every()) == (50, False, "done", None)
    assert not player.tick() and player.step == 50
    player.play()
    tick_until_halt(player)
    assert player.step == 100


def test_a_press_delivered_twice_is_one_step(alone) -> None:
    player = alone()
    player.step_once(), player.step_once()
    assert player.step == 1
    time.sleep(players.TWICE * 1.2)
    player.step_once()
    assert player.step == 2 and not player.running


def test_buttons_set_and_never_flip(alone) -> None:
    player = alone()
    player.play(), player.play()
    assert player.running
    player.pause(), player.pause()
    assert not player.running


def test_the_speed_is_kept(alone) -> None:
    player = alone()
    player.speed, player.until = 50, 1000
    player.play()
    for _ in range(10):
        time.sleep(0.05)
        player.tick()
    assert 15 <= player.step <= 35, player.step


def test_rates_planned_by_a_link_change_at_their_step_however_the_slices_fall(alone) -> None:
    for cost, seconds in ((0.0, 0.08), (0.001, 0.003)):
        player = alone(cost=cost)
        player._ready()
        player.plan = ((7, (0.2, 0.1)), (7 + 16, (0.3, 0.05)))
        while player.step < 40:
            player._advance(player.trainer, seconds, 40 - player.step)
        assert player.trainer.rates == [(0, (0.1, 0.1)), (7, (0.2, 0.1)), (23, (0.3, 0.05))]


def test_whoever_was_away_finds_the_run_standing(alone, monkeypatch) -> None:
    player = alone()
    player.play()
    player.tick()
    player.trainer.advance(9)
    monkeypatch.setattr(players.state, "moves", lambda: 2)
    player.touch()
    assert (player.running, player.told, player.step >= 9) == (False, "away", True)


def test_no_ticks_for_a_while_or_no_touch_pauses(alone, monkeypatch) -> None:
    for name, value, why in (("GAP", -1.0, "gap"), ("IDLE", -1.0, "idle")):
        with monkeypatch.context() as m:
            m.setattr(players, name, value)
            player = alone()
            player.play()
            assert player.tick() and player.told == why and not player.running


def test_the_last_step_that_is_kept_is_named(alone) -> None:
    player = alone(max_steps=30)
    player.until = 100
    player.play()
    tick_until_halt(player)
    assert (player.step, player.told) == (30, "full")


def test_without_a_room_it_waits_and_trains_nothing(alone) -> None:
    first, second, third = alone(), alone(), alone()
    for player in (first, second, third):
        player.play()
        player.tick()
    assert (first.place, second.place, third.place) == (0, 0, 1) and third.trainer is None
    first.reset()
    third.tick()
    assert third.place == 0 and third.trainer is not None


def test_what_is_put_away_says_how_far_it_was(alone) -> None:
    player = alone()
    player.play()
    player.tick()
    steps = player.step
    player.put_away()
    assert (player.trainer, player.told, player.lost, player.running) == (None, "put_away", steps, False)


def test_looking_back_pauses_and_never_shows_a_step_that_was_not(alone) -> None:
    player = alone()
    player.play()
    player.tick()
    player.see(1)
    assert (player.seen, player.running) == (1, False)
    player.see(10**6)
    assert player.seen == player.step
    player.reset()
    assert player.seen == 0
