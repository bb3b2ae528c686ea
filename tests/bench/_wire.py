"""A viewer without a browser: speaks Streamlit's own websocket protocol, so that a server's answers can be timed."""

from __future__ import annotations

import time
from types import TracebackType

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.sync.client import connect


class Viewer:
    """One session. `run` asks for a page and waits until its script has finished."""

    def __init__(self, port: int) -> None:
        # it doesn't listen while it thinks, so it must not be asked whether it is there
        self.socket = connect(
            f"ws://127.0.0.1:{port}/_stcore/stream", subprotocols=["streamlit"], max_size=None, compression=None,
            ping_interval=None, close_timeout=1,
        ).__enter__()  # fmt: skip
        self.widgets: dict[str, WidgetState] = {}
        self.ids: dict[str, str] = {}
        self.deltas: list[bytes] = []
        self.bytes = 0

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.socket.close()

    def run(self, page: str = "", query: str = "") -> tuple[float, float]:
        """Seconds from the question to the first title, and to the end of the script."""
        message = BackMsg()
        message.rerun_script.page_name = page
        message.rerun_script.query_string = query
        message.rerun_script.widget_states.widgets.extend(self.widgets.values())
        start = time.perf_counter()
        self.socket.send(message.SerializeToString())
        first, self.deltas = float("nan"), []
        while True:
            answer = ForwardMsg()
            data = self.socket.recv(timeout=120)
            self.bytes += len(data)
            answer.ParseFromString(data)
            kind = answer.WhichOneof("type")
            if kind == "delta" and first != first and answer.delta.new_element.WhichOneof("type") == "heading":
                first = time.perf_counter() - start
            if kind == "delta":
                self.deltas.append(data)
                self._remember(answer)
            if kind == "script_finished":
                return first, time.perf_counter() - start

    def set(self, key: str, option: str) -> None:
        """Moves a select slider to the option with this label."""
        wid = self.ids[key]
        self.widgets[wid] = WidgetState(id=wid, string_array_value={"data": [option]})

    def _remember(self, answer: ForwardMsg) -> None:
        """Keeps the id of every widget that has a key: Streamlit ends an id with it."""
        element = answer.delta.new_element
        kind = element.WhichOneof("type")
        wid = getattr(getattr(element, kind), "id", "") if kind else ""
        if wid:
            self.ids[wid.rsplit("-", 1)[-1]] = wid
