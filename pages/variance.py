import streamlit as st
from qkv_core.ui import state
st.write(state.shared())
state.page_link("variance","x", d_k=256, mask="causal")
