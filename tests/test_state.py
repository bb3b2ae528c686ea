"""Which messages about a control are a person's choice, and which repeat what the browser had not yet been told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from qkv_core import settings
from qkv_core.ui import state


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A viewer's session; `session["by"]` are the parts of the page that redraw in this run."""
    values: dict[str, Any] = {"by": []}
    monkeypatch.setattr(state, "st", SimpleNamespace(session_state=values, context=SimpleNamespace(headers={})))
    monkeypatch.setattr(state, "get_script_run_ctx", lambda: SimpleNamespace(fragment_ids_this_run=values["by"]))
    return values


def test_what_the_clock_repeats_after_we_set_a_control_is_stale_and_what_its_viewer_chose_is_not(session: dict[str, Any]) -> None:
    session["by"] = ["clock"]
    state.ticks()
    state.drew("rate", 0.7)
    state.drew("rate", 0.5)  # its viewer moved it
    assert not state.is_stale("rate", 0.7)  # and moves it back: the tick that tells so first is believed
    state.replaced("rate", 0.5)  # a preset sets it
    state.drew("rate", 0.1)
    assert state.is_stale("rate", 0.5)
    session["by"] = []
    assert not state.is_stale("rate", 0.5)  # a whole run: a person's choice


def test_a_second_control_that_repeats_the_past_while_the_first_moves_is_an_echo(session: dict[str, Any]) -> None:
    for tau in (1.0, 1.05, 1.1):
        state.drew("tau", tau)
        state.drew("tau_page", tau)
    session |= {"tau": 1.15, "tau_page": 1.0}
    assert state.is_echo("tau_page", 1.0)
    assert not state.is_echo("tau", 1.15)
    session |= {"tau": 1.1}
    assert not state.is_echo("tau_page", 1.0)  # nothing else moved: somebody moved this one back


def test_a_second_control_that_repeats_what_it_was_last_drawn_with_is_an_echo(session: dict[str, Any]) -> None:
    """A quick hand: the run after 1.65 was cut off before it drew the second control, which we had set meanwhile."""
    for widget in ("tau", "tau_page"):
        state.drew(widget, 1.6)
    state.drew("tau", 1.65)
    session |= {"tau": 1.7, "tau_page": 1.6}
    assert state.is_echo("tau_page", 1.6)
    assert not state.is_echo("tau", 1.7)


def test_of_two_controls_that_say_something_old_the_one_in_hand_is_believed(session: dict[str, Any]) -> None:
    for tau in (1.0, 1.05, 1.1):
        state.drew("tau", tau)
        state.drew("tau_page", tau)
    session |= {"tau": 1.05, "tau_page": 1.0}  # back and forth: both values were shown a moment ago
    state.moved("tau")
    assert state.is_echo("tau_page", 1.0)
    assert not state.is_echo("tau", 1.05)


def test_two_quick_steps_that_cancel_out_do_not_bring_back_the_second_control(
    session: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter((10.0, 10.1, 10.3, 10.3, 12.0, 12.0))
    monkeypatch.setattr(state.time, "monotonic", lambda: next(clock))
    session |= {"_drawn": {"tau": 1.4, "tau_page": 1.4}, "tau": 1.4, "tau_page": 1.35}
    state.moved("tau")
    state.replaced("tau_page", 1.35)
    assert state.is_echo("tau_page", 1.35)  # 1.4, 1.45 and 1.4 again: the message says tau = 1.4, as the last one did
    assert not state.is_echo("tau_page", 1.35)  # two seconds later it is a person's


def test_after_a_new_connection_a_control_that_repeats_the_past_is_an_echo_however_long_it_took_and_a_new_value_is_not(
    session: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr(state.time, "monotonic", lambda: clock[0])
    for tau in (1.0, 1.15, 1.5):
        state.drew("tau", tau)
        state.drew("tau_page", tau)
    clock[0] = 100.0
    session |= {"tau": 1.5, "tau_page": 1.15}
    assert not state.is_echo("tau_page", 1.15)  # somebody moved it back
    state.st.context.headers["Sec-WebSocket-Key"] = "another"
    assert state.is_echo("tau_page", 1.15)
    assert not state.is_echo("tau_page", 1.7)  # moved before the connection ended, and heard only now


class Address(dict):
    """What the browser said of its address in this message; `written` is what we told it."""

    def __init__(self) -> None:
        self.written: list[dict[str, Any]] = []

    def get_all(self, key: str) -> list[str]:
        return self[key]

    def from_dict(self, params: dict[str, Any]) -> None:
        self.written.append(dict(params))
        self.hears(**params)

    def hears(self, **params: list[str]) -> None:
        self.clear()
        self.update(params)


@pytest.fixture
def address(session: dict[str, Any]) -> Address:
    """The address of a viewer of the variance page."""
    state.st.query_params = made = Address()
    session |= {state.VALUES: {**settings.defaults(), "lang": "en"}, state.OWN_LANG: "en", state.PAGE: "variance", state.PROBLEMS: ()}
    return made


def run(address: Address, said: dict[str, list[str]], d_k: int) -> None:
    """A message in which the browser's address is `said` and its viewer has chosen d_k."""
    address.hears(**said)
    state.put(d_k=d_k)
    state.begin("variance")
    state.write_address()


@pytest.mark.parametrize(("first", "said"), [(16, {}), (64, {"d_k": ["16"]})], ids=["another", "the bare one"])
def test_an_address_on_its_way_is_followed_by_the_one_that_holds_although_the_browser_still_has_it(
    address: Address, first: int, said: dict[str, list[str]]
) -> None:
    run(address, said, 16 if said else 64)
    assert address.written == []
    run(address, said, first)
    run(address, said, 80 - first)  # back, before the browser has taken the address
    there, here = {"d_k": ["16"]}, {}
    assert address.written == ([there, here] if first == 16 else [here, there])
    run(address, said, 80 - first)  # it has taken the last one
    run(address, said, 80 - first)
    assert len(address.written) == 2


def test_going_back_to_a_link_with_every_value_writes_nothing_over_it(address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    full = {key: [token] for key, token in settings.format(state.values(), "variance", full=True).items()}
    run(address, full, 64)
    run(address, full, 16)
    assert address.written == [{"d_k": ["16"]}]
    monkeypatch.setattr(state, "_went_back", lambda: True)
    run(address, full, 16)
    assert state.get("d_k") == 64 and len(address.written) == 1
