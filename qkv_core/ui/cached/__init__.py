"""What is computed once for all viewers of the same settings: one module a lesson, each function keyed on plain values.

Importing this package imports torch, so main.py does it only after the first words are on the screen. Everything that
`st.cache_resource` returns is shared by all viewers and read-only.
"""

import torch

torch.set_num_threads(1)  # sessions share few cores; with two threads small operations wait at barriers


def warm_up() -> None:
    """Imports what the lessons use and computes a first attention, so that the first click finds everything ready."""
    import altair  # noqa: F401
    import pandas  # noqa: F401

    from qkv_core import device, triad
    from qkv_core.attention import scaled_dot_product_attention

    device.available()
    example = triad.cat_sat()
    scaled_dot_product_attention(example.X @ example.W_q, example.X @ example.W_k, example.X @ example.W_v)
