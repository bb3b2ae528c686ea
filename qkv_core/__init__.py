"""Scaled dot-product attention, written out and readable: the core of the QKV Lab.

Nothing is imported here, so `import qkv_core` costs nothing; import the module of the lesson you want, for
example `from qkv_core.attention import scaled_dot_product_attention`.

Symbols, the same in code, pages and tests: B batch, T tokens (T_q and T_k where they differ), C = d_model width,
h heads, d_k and d_v the sizes of a key and a value, tau temperature.
"""
