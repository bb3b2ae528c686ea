"""The floor for a page: a script that sends the very same elements again, computing nothing, and one new number.

Started by `pages.py` with QKV_ELEMENTS naming a file of recorded messages.
"""

import os
import pickle

import streamlit as st
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner import get_script_run_ctx


@st.cache_resource
def recorded() -> list[ForwardMsg]:
    with open(os.environ["QKV_ELEMENTS"], "rb") as file:
        return [ForwardMsg.FromString(data) for data in pickle.load(file)]


context = get_script_run_ctx()
st.set_page_config(layout="wide")
for message in recorded():
    copy = ForwardMsg()
    copy.CopyFrom(message)
    copy.metadata.active_script_hash = context.page_script_hash
    copy.delta.fragment_id = ""
    context.enqueue(copy)
number = st.sidebar.select_slider("probe", [2**i for i in range(11)], key="probe")
st.text(f"number {number}")
