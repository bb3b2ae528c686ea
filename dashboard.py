"""The door of the QKV Lab. `streamlit run dashboard.py` and `uvicorn dashboard:app` both open it.

The app's script is qkv_core/ui/main.py, which routes over pages/. Were this file that script, Streamlit would also
serve the files in pages/ by itself, and a cold link to a lesson would open it without frame, language or settings.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # many viewers share few cores; read once, when torch is imported
os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")  # a run alone rounds as in a batch, wherever its weights lie in memory

import streamlit as st

from qkv_core.ui import server

app = st.App(
    "qkv_core/ui/main.py",
    lifespan=server.lifespan,
    middleware=server.middleware(),
    routes=server.routes(),
)
